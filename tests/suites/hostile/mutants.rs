//! Bytes changed at random: what comes of them is refused or baked, and nothing else.

use super::*;
use sinew_tests::scratch;

/// What numbers become.
const NUMBERS: [&str; 12] = [
    "1e308",
    "-1",
    "NaN",
    "4294967296",
    "18446744073709551615",
    "5e-324",
    "0",
    "-0.0",
    "1e-40",
    "3.0",
    "\"x\"",
    "null",
];

/// One of the sound files, changed in a few places.
fn mutate(bytes: &[u8], dice: &mut Dice, is_text: bool) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(out.len());
        match dice.roll(7) {
            0 => out[at] ^= 1 << dice.roll(8),
            1 => out.truncate(at),
            2 => out.insert(at, dice.next() as u8),
            3 => {
                let end = (at + 1 + dice.roll(64)).min(out.len());
                let part = out[at..end].to_vec();
                let times = 1 + dice.roll(40);
                out.splice(at..at, part.repeat(times));
            }
            4 => drop(out.drain(at..(at + 1 + dice.roll(32)).min(out.len()))),
            5 if is_text => {
                // A number, wherever the next one is.
                let is_digit = |b: &u8| b.is_ascii_digit();
                if let Some(from) = out[at..].iter().position(is_digit).map(|i| at + i) {
                    let end = out[from..].iter().position(|b| !is_digit(b)).map_or(out.len(), |i| from + i);
                    out.splice(from..end, dice.pick(&NUMBERS).bytes());
                }
            }
            _ => {
                let end = (at + 4).min(out.len());
                let value = *dice.pick(&[0_u32, 1, u32::MAX, 0x7f80_0000, 0x7fc0_0000, 0x8000_0000]);
                out[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
            }
        }
        if out.is_empty() {
            return out;
        }
    }
    out
}

/// The same scene in every format.
fn sound(folder: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let scene_file = put(folder, "sound.gltf", scene().to_string());
    let mut all = vec![("gltf", fs::read(&scene_file).unwrap())];
    for ending in ["glb", "usda", "usdc", "usdz"] {
        let output = folder.join(format!("sound.{ending}"));
        let request = BakeRequest { scene: scene_file.clone(), output: Some(output.clone()), ..few() };
        bake_file(&request, &mut |_| true).unwrap();
        all.push((ending, fs::read(output).unwrap()));
    }
    all
}

#[test]
fn changed_bytes_are_baked_or_refused() {
    let folder = scratch::folder("mutants");
    let mut dice = Dice(7);
    let (mut done, mut refused) = (0, 0);
    let files = sound(folder.path());
    let each = count("SINEW_MUTANTS", 600).div_ceil(6);
    for (ending, bytes) in &files {
        for _ in 0..each {
            let mutant = mutate(bytes, &mut dice, ["gltf", "usda"].contains(ending));
            let path = put(folder.path(), &format!("mutant.{ending}"), mutant);
            match bake(&path, None, few()) {
                Outcome::Done(_) => done += 1,
                Outcome::Refused(_) => refused += 1,
            }
        }
    }
    let setup = json!({ "sinew": 1, "world": { "gravity": [0, -9.81, 0], "floor": 0, "substeps": 4 },
        "bodies": [{ "node": "Cube", "behaviour": "free", "mass": 2.0, "shape": { "kind": "box", "size": [1, 1, 1] } },
            { "node": "Hip", "actuator": { "preset": "limp" } }],
        "joints": [{ "kind": "pin", "between": ["Cube", "Hook"] }], "bake": { "frames": [0, 8] } });
    let path = put(folder.path(), "sound.gltf", scene().to_string());
    for _ in 0..each {
        let mutant = mutate(setup.to_string().as_bytes(), &mut dice, true);
        let file = put(folder.path(), "mutant.json", mutant);
        match bake(&path, Some(&file), few()) {
            Outcome::Done(_) => done += 1,
            Outcome::Refused(_) => refused += 1,
        }
    }
    println!("{done} baked, {refused} refused");
    assert!(done > 0 && refused > 0);
    let left =
        fs::read_dir(folder.path()).unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    assert_eq!(left.filter(|n| n.starts_with('.')).collect::<Vec<_>>(), [""; 0]);
}
