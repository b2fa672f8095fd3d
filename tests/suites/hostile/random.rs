//! Set-ups and flags at random, extreme and valid.

use super::*;
use sinew_tests::program::Program;
use sinew_tests::{built, repository, scratch};

/// A set-up for the scene of this suite.
fn setup(dice: &mut Dice) -> Value {
    let mut bodies = Vec::new();
    for node in ["Cube", "Hook", "Hip", "Knee"] {
        let behaviour = *dice.pick(&["free", "guided", "static", "animated"]);
        let mut body = json!({ "node": node, "behaviour": behaviour });
        if behaviour == "free" || behaviour == "guided" {
            body["mass"] = json!(dice.wide(1e-9, 1e9));
            let shape = match dice.roll(4) {
                0 => json!({ "kind": "sphere", "radius": dice.wide(1e-3, 10.0) }),
                1 => {
                    json!({ "kind": "capsule", "radius": dice.wide(1e-3, 10.0), "length": *dice.pick(&[0.0, 1e-9, 1.0]) })
                }
                _ => json!({ "kind": "box", "size": [dice.wide(1e-3, 10.0), dice.wide(1e-3, 10.0), 1] }),
            };
            body["shape"] = shape;
            let mut contact = json!({ "bounce": dice.roll(2), "friction": dice.wide(1e-3, 1e4) });
            if dice.roll(3) == 0 {
                contact["coating"] = json!({});
            }
            body["contact"] = contact;
            if dice.roll(2) == 0 {
                let speed = dice.wide(1.0, 1e6);
                body["velocity"] = json!([speed, -speed, 0]);
            }
        }
        bodies.push(body);
    }
    let names = ["Cube", "Hook", "Hip", "Knee", "world"];
    let kinds = ["pin", "ball", "hinge", "slider", "universal", "fixed", "spring", "distance"];
    let joints: Vec<Value> = (0..dice.roll(4))
        .map(|_| json!({ "kind": *dice.pick(&kinds), "between": [*dice.pick(&names), *dice.pick(&names)] }))
        .collect();
    json!({ "sinew": 1, "world": { "floor": 0, "substeps": 1 + dice.roll(8),
        "gravity": [0, -dice.wide(1e-3, 1e4), 0] }, "bodies": bodies, "joints": joints, "bake": { "frames": [0, 12] } })
}

#[test]
fn set_ups_at_random_give_numbers_or_a_sentence() {
    let folder = scratch::folder("physics");
    let mut dice = Dice(3);
    let path = put(folder.path(), "scene.gltf", scene().to_string());
    let (mut done, mut refused) = (0, 0);
    for _ in 0..count("SINEW_SETUPS", 200) {
        let file = put(folder.path(), "setup.json", setup(&mut dice).to_string());
        match bake(&path, Some(&file), few()) {
            Outcome::Done(_) => done += 1,
            Outcome::Refused(_) => refused += 1,
        }
    }
    println!("{done} baked, {refused} refused");
    assert!(done > refused / 20, "{done} baked, {refused} refused");
}

#[test]
fn flags_at_random_end_with_a_code_of_ours() {
    let folder = scratch::folder("flags");
    let mut dice = Dice(5);
    let scenes = ["ball.gltf", "limit.gltf", "chain.gltf", "damping.gltf"];
    let flags: [&[&str]; 24] = [
        &["--frames", "0", "0"],
        &["--frames", "0", "12"],
        &["--frames", "5", "3"],
        &["--layer", "both"],
        &["--layer", "additive"],
        &["--loop"],
        &["--every-frame"],
        &["--on", "2"],
        &["--on", "0"],
        &["--hold", "3"],
        &["--hold", "NaN"],
        &["--tolerance", "0"],
        &["--tolerance", "1e300"],
        &["--only", "*"],
        &["--only", "Nobody"],
        &["--preset", "limp"],
        &["--looseness", "0.5"],
        &["--detail", "0"],
        &["--detail", "-1"],
        &["--threads", "1"],
        &["--threads", "0"],
        &["--auto"],
        &["--replace"],
        &["--clip", "#9"],
    ];
    for _ in 0..count("SINEW_FLAGS", 60) {
        let scene = repository::root().join("examples/scenes").join(dice.pick(&scenes));
        let output = folder.path().join(dice.pick(&["o.glb", "o.gltf", "o.usda", "o.usdz"]));
        let mut arguments = vec!["bake", scene.to_str().unwrap(), "--json", "-o", output.to_str().unwrap()];
        let mut few = false;
        for _ in 0..dice.roll(4) {
            let flag = dice.pick(&flags);
            // A flag of one value is given once.
            if !arguments.contains(&flag[0]) {
                few |= flag[0] == "--frames";
                arguments.extend(*flag);
            }
        }
        if !few {
            arguments.extend(["--frames", "0", "12"]);
        }
        let done = Program::new(built::command().unwrap()).args(&arguments).run().unwrap();
        assert!(matches!(done.code, Some(0..=5)), "{arguments:?}: {done:?}");
        if done.code != Some(2) {
            serde_json::from_str::<Value>(&done.stdout)
                .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {done:?}"));
        }
        if matches!(done.code, Some(0 | 1)) {
            Program::new(built::command().unwrap())
                .arg("inspect")
                .arg(&output)
                .run()
                .unwrap()
                .success()
                .unwrap();
        }
    }
}
