//! Killed anywhere, and several at once.

use super::*;
use sinew_tests::scratch;

/// How many kills there are.
fn kills() -> usize {
    std::env::var("SINEW_FAULTS").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}

/// Calls at which a bake is killed.
const CALLS: [&str; 9] =
    ["openat", "write", "fsync", "/^rename", "/^link", "/^unlink", "flock", "/chmod", "close"];

/// What a bake gives: the arguments, and the files that count.
struct Kind {
    output: &'static str,
    arguments: Vec<&'static str>,
}

fn kinds() -> Vec<Kind> {
    let bake = |output: &'static str| Kind { output, arguments: vec!["bake", "hop.gltf", "-o", output] };
    let in_place =
        Kind { output: "hop.gltf", arguments: vec!["bake", "hop.gltf", "--in-place", "--replace"] };
    vec![bake("o.gltf"), bake("o.glb"), bake("o.usda"), bake("o.usdz"), in_place]
}

/// The document with all that it refers to, or what is missing of it.
fn whole(folder: &Path, output: &str) -> Result<Vec<Vec<u8>>, String> {
    let path = folder.join(output);
    let mut files = vec![fs::read(&path).map_err(|e| e.to_string())?];
    if output.ends_with(".gltf") {
        for buffer in json_of(&path)["buffers"].as_array().unwrap() {
            let name = buffer["uri"].as_str().unwrap();
            files.push(fs::read(folder.join(name)).map_err(|e| format!("{name}: {e}"))?);
        }
    }
    Ok(files)
}

#[test]
fn a_killed_bake_leaves_the_old_or_the_new_and_a_retry_cleans_up() {
    let mut dice = Dice(1);
    for kind in kinds() {
        let folder = scratch::folder("kill");
        let with = |frames: &'static str| {
            [&kind.arguments[..], &["--every-frame", "--frames", "0", frames]].concat()
        };
        let fresh = |frames| {
            fs::remove_dir_all(folder.path()).unwrap();
            fs::create_dir(folder.path()).unwrap();
            hop(folder.path());
            sinew(&with(frames), folder.path()).success().unwrap();
            (whole(folder.path(), kind.output).unwrap(), contents(folder.path()))
        };
        let (new, _) = fresh("40");
        let (old, old_files) = fresh("20");
        // In place, the new one is of the old one.
        let new = match kind.output {
            "hop.gltf" => {
                sinew(&with("40"), folder.path()).success().unwrap();
                whole(folder.path(), kind.output).unwrap()
            }
            _ => new,
        };
        for _ in 0..kills().div_ceil(5) {
            fs::remove_dir_all(folder.path()).unwrap();
            fs::create_dir(folder.path()).unwrap();
            old_files.iter().for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
            let call = CALLS[dice.roll(CALLS.len())];
            let most = if ["openat", "write", "close"].contains(&call) { 40 } else { 4 };
            let fault = format!("{call}:signal=SIGKILL:when={}", 1 + dice.roll(most));
            let Some(_) = failing(&[&fault], &with("40"), folder.path()) else { return };
            let found = whole(folder.path(), kind.output).unwrap_or_else(|e| panic!("{fault}: {e}"));
            assert!(found == old || found == new, "{}, {fault}: mixed", kind.output);
            // The retry is not in the way of what was left, and leaves nothing of it.
            sinew(&with("40"), folder.path()).success().unwrap_or_else(|e| panic!("{fault}: {e}"));
            assert_eq!(strays(folder.path()), [""; 0], "{fault}");
            assert_eq!(
                contents(folder.path()).len(),
                old_files.len(),
                "{fault}: {:?}",
                contents(folder.path()).keys()
            );
        }
    }
}

#[test]
fn of_several_writers_one_wins_whole() {
    let folder = scratch::folder("writers");
    hop(folder.path());
    let frames = ["10", "20", "30", "40"];
    let bake = |frames| {
        sinew(&["bake", "hop.gltf", "-o", "o.gltf", "--every-frame", "--frames", "0", frames], folder.path())
    };
    let each: Vec<_> = frames
        .iter()
        .map(|f| {
            bake(f).success().unwrap();
            whole(folder.path(), "o.gltf").unwrap()
        })
        .collect();
    for _ in 0..kills().div_ceil(8) {
        std::thread::scope(|scope| {
            let all: Vec<_> = frames.iter().map(|f| scope.spawn(|| bake(f))).collect();
            all.into_iter().for_each(|one| drop(one.join().unwrap().success().unwrap()));
        });
        let found = whole(folder.path(), "o.gltf").unwrap();
        assert!(each.contains(&found), "a mixture");
        assert_eq!(strays(folder.path()), [""; 0]);
        assert_eq!(contents(folder.path()).len(), 4, "{:?}", contents(folder.path()).keys());
    }
}

#[test]
fn processes_of_the_same_number_do_not_meet() {
    let folder = scratch::folder("namespace");
    hop(folder.path());
    let alone = |more: &[&str]| {
        let bake = ["bake", "hop.gltf", "-o", "o.glb"];
        Program::new("unshare")
            .args(["--pid", "--fork"])
            .args(more)
            .arg(command())
            .args(bake)
            .folder(folder.path())
            .run()
            .unwrap()
    };
    if alone(&[]).code != Some(0) {
        skip::rightly("this machine does not let a test have a namespace of processes");
        return;
    }
    for _ in 0..kills().div_ceil(10) {
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..2).map(|_| scope.spawn(|| alone(&[]))).collect();
            all.into_iter().for_each(|one| drop(one.join().unwrap().success().unwrap()));
        });
    }
    // One that is killed is not in the way of the next, which has its number again.
    let killed = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:signal=SIGKILL:when=1"];
    alone(&killed);
    alone(&[]).success().unwrap();
    assert_eq!(strays(folder.path()), [""; 0]);
}
