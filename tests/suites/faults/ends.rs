//! Everything ends: with a result, with a sentence, or when it is told to.

use super::*;
use base64::Engine;
use sinew_tests::scratch;
use std::process::{Child, Command, Stdio};

/// A cube above a cube below a post, with a set-up beside it.
fn cubes(folder: &Path, setup: &Value) -> PathBuf {
    let corners = (0..8).flat_map(|i: u32| [i & 1, i >> 1 & 1, i >> 2 & 1].map(|bit| bit as f32 - 0.5));
    let triangles: [u16; 36] = [
        0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3,
        7, 5,
    ];
    let mut data: Vec<u8> = corners.flat_map(f32::to_le_bytes).collect();
    data.extend(triangles.iter().flat_map(|t| t.to_le_bytes()));
    let uri = format!("data:;base64,{}", base64::engine::general_purpose::STANDARD.encode(&data));
    let scene = json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0, 2] }],
        "nodes": [{ "name": "Body", "mesh": 0, "translation": [0, 2, 0], "children": [1] },
            { "name": "Head", "mesh": 0, "translation": [0.505, -1, 0] }, { "name": "Post" }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 1 }] }],
        "buffers": [{ "byteLength": 168, "uri": uri }],
        "bufferViews": [{ "buffer": 0, "byteLength": 96 }, { "buffer": 0, "byteOffset": 96, "byteLength": 72 }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3", "min": [-0.5, -0.5, -0.5], "max": [0.5, 0.5, 0.5] },
            { "bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR" }]
    });
    fs::write(folder.join("cubes.sinew.json"), setup.to_string()).unwrap();
    fs::write(folder.join("cubes.gltf"), scene.to_string()).unwrap();
    folder.join("cubes.gltf")
}

#[test]
fn a_ball_with_a_soft_skin_comes_to_its_end() {
    let folder = scratch::folder("soft");
    cubes(
        folder.path(),
        &json!({ "sinew": 1, "world": { "floor": 0 }, "bodies": [
        { "node": "Body", "behaviour": "free", "shape": { "kind": "capsule", "radius": 0.5, "length": 0 }, "contact": { "coating": {} } },
        { "node": "Post", "behaviour": "static", "shape": { "kind": "box", "size": [4, 1, 4] } }], "bake": { "frames": [0, 48] } }),
    );
    let done = sinew(&["bake", "cubes.gltf", "-o", "o.glb"], folder.path());
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
}

#[test]
fn a_body_without_joints_touches_what_hangs_on_one() {
    let folder = scratch::folder("cone");
    cubes(
        folder.path(),
        &json!({ "sinew": 1, "world": { "floor": 0 },
        "bodies": [{ "node": "Body", "behaviour": "free" }, { "node": "Head", "simulate": "orientation" }],
        "joints": [{ "kind": "universal", "between": ["Head", "Post"], "swing_deg": { "cone": [30, 30] } }],
        "bake": { "frames": [0, 48] } }),
    );
    let done = sinew(&["bake", "cubes.gltf", "-o", "o.glb"], folder.path());
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
}

#[test]
fn one_frame_has_a_layer_too() {
    let folder = scratch::folder("frame");
    hop(folder.path());
    sinew(&["bake", "hop.gltf", "--frames", "0", "0", "--layer", "both", "-o", "o.glb"], folder.path())
        .success()
        .unwrap();
}

#[test]
fn a_crowd_of_joints_between_the_same_two_is_refused() {
    let folder = scratch::folder("crowd");
    let joint = json!({ "kind": "pin", "between": ["Body", "Post"] });
    cubes(
        folder.path(),
        &json!({ "sinew": 1, "bodies": [{ "node": "Body", "behaviour": "free" }],
        "joints": vec![joint; 1000], "bake": { "frames": [0, 48] } }),
    );
    let done = sinew(&["bake", "cubes.gltf", "-o", "o.glb"], folder.path()).code_is(3).unwrap();
    assert!(
        done.stderr.contains("joints[32]") && done.stderr.contains("between Body and Post"),
        "{}",
        done.stderr
    );
}

#[test]
fn without_threads_the_result_is_the_same() {
    let folder = scratch::folder("threads");
    for scene in ["bridge.gltf", "dominoes.gltf"] {
        let scene = example(scene);
        let bake =
            |output| ["bake", scene.to_str().unwrap(), "--frames", "0", "5", "--threads", "2", "-o", output];
        sinew(&bake("with.glb"), folder.path());
        for fault in ["clone3:error=EAGAIN:when=1+", "clone3:error=EAGAIN:when=2+"] {
            let Some(done) = failing(&[fault], &bake("without.glb"), folder.path()) else { return };
            assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
            let read = |name| fs::read(folder.path().join(name)).unwrap();
            assert!(read("with.glb") == read("without.glb"), "{}", scene.display());
        }
    }
}

#[test]
fn a_log_that_nobody_reads_is_no_reason_to_stop() {
    let folder = scratch::folder("log");
    let scene = example("bridge.gltf");
    // Held up so that there is something to say.
    let line = "exec strace -f -qq -o /dev/null -e inject=openat:delay_enter=700000:when=3..9 \"$0\" bake \"$1\" --frames 0 20 -o o.glb";
    for closed in ["2>/dev/full", "2>&-", "2>&1 | true"] {
        let script = match closed.contains('|') {
            true => format!("({}) {closed}; test -f o.glb", line.replace("exec ", "")),
            false => format!("{line} {closed}"),
        };
        let done = Program::new("sh")
            .args(["-c", &script])
            .arg(command())
            .arg(&scene)
            .folder(folder.path())
            .run()
            .unwrap();
        assert!(matches!(done.code, Some(0 | 1)), "{closed}: {done:?}");
        fs::remove_file(folder.path().join("o.glb")).unwrap();
    }
}

#[test]
fn a_report_that_is_lost_is_an_error() {
    let folder = scratch::folder("full");
    hop(folder.path());
    for line in [
        "setup hop.gltf --json",
        "bake hop.gltf -o o.glb --json",
        "bake hop.gltf -o o.glb",
        "inspect hop.gltf --json",
        "setup --schema",
        "version",
    ] {
        let script = format!("exec \"$0\" {line} >/dev/full");
        let done =
            Program::new("sh").args(["-c", &script]).arg(command()).folder(folder.path()).run().unwrap();
        done.code_is(4).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
    // Somebody who has seen enough is none.
    let script = "\"$0\" inspect hop.gltf | true; exit ${PIPESTATUS[0]}";
    Program::new("bash")
        .args(["-c", script])
        .arg(command())
        .folder(folder.path())
        .run()
        .unwrap()
        .success()
        .unwrap();
}

/// A bake that takes for ever.
fn endless(folder: &Path, more: &[&str]) -> Child {
    let scene = example("ball_pit.gltf");
    let mut bake = Command::new(command());
    bake.args(["bake", scene.to_str().unwrap(), "--frames", "0", "200000", "-o", "o.glb"]).args(more);
    bake.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn send(signal: &str, to: &Child) {
    assert!(Command::new("kill").args([signal, &to.id().to_string()]).status().unwrap().success());
}

/// Waits until the process listens to signals: until it has a thread for them.
fn wait_for_threads(child: &Child) {
    let threads = || fs::read_dir(format!("/proc/{}/task", child.id())).map_or(0, Iterator::count);
    while threads() < 2 {
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_bake_that_is_told_to_stop_stops_and_leaves_nothing() {
    let folder = scratch::folder("stop");
    for signal in ["-INT", "-TERM"] {
        let mut bake = endless(folder.path(), &[]);
        wait_for_threads(&bake);
        send(signal, &bake);
        assert_eq!(bake.wait().unwrap().code(), Some(5), "{signal}");
        assert!(contents(folder.path()).is_empty());
    }
    // Held up in a call of the system, where it hears nothing itself.
    hop(folder.path());
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:delay_enter=4000000:when=1"]);
    let traced = traced.arg(command()).args(["bake", "hop.gltf", "-o", "o.glb"]).current_dir(folder.path());
    let mut traced = traced.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while strays(folder.path()).is_empty() {
        if traced.try_wait().unwrap().is_some() {
            skip::rightly("this machine does not let strace trace");
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", traced.id())).unwrap();
    let bake = children.split_whitespace().next().unwrap();
    assert!(Command::new("kill").args(["-TERM", bake]).status().unwrap().success());
    assert_eq!(traced.wait().unwrap().code(), Some(5));
    assert_eq!((strays(folder.path()).len(), contents(folder.path()).len()), (0, 2));
}

#[test]
fn limits_of_time_and_memory_end_a_bake_with_a_sentence() {
    let folder = scratch::folder("limits");
    let scene = example("ball_pit.gltf");
    let bake = ["bake", scene.to_str().unwrap(), "--frames", "0", "200000", "-o", "o.glb", "--json"];
    for (flag, value) in [("--max-seconds", "0.3"), ("--max-memory", "4000000")] {
        let done = sinew(&[&bake[..], &[flag, value]].concat(), folder.path()).code_is(5).unwrap();
        let said: Value = serde_json::from_str(&done.stdout).unwrap();
        assert!(said["error"].as_str().unwrap().contains(flag) && done.stderr.contains(flag), "{done:?}");
        assert!(contents(folder.path()).is_empty());
    }
    for (flag, value) in [("--max-seconds", "-1"), ("--max-seconds", "NaN"), ("--max-memory", "-1")] {
        let given = format!("{flag}={value}");
        sinew(&[&bake[..], &[given.as_str()]].concat(), folder.path()).code_is(2).unwrap();
    }
}

#[test]
fn frames_for_which_there_is_no_memory_are_refused() {
    let folder = scratch::folder("memory");
    let chain = example("chain.gltf");
    let script = "ulimit -v 1500000; exec \"$0\" bake \"$1\" --frames 0 900000 -o o.glb";
    let done = Program::new("sh")
        .args(["-c", script])
        .arg(command())
        .arg(&chain)
        .folder(folder.path())
        .run()
        .unwrap();
    let done = done.code_is(2).unwrap();
    assert!(done.stderr.contains("not enough memory for 900001 frames"), "{}", done.stderr);
}

#[test]
fn progress_never_exceeds_what_there_is() {
    use sinew_plugin::job::{BakeRequest, bake_file};
    let folder = scratch::folder("progress");
    for scene in ["ball.gltf", "limit.gltf"] {
        let request = BakeRequest {
            scene: example(scene),
            output: Some(folder.path().join("o.glb")),
            ..BakeRequest::default()
        };
        bake_file(&request, &mut |p| {
            assert!(p.done <= p.of, "{scene}: {p:?}");
            true
        })
        .unwrap();
    }
}
