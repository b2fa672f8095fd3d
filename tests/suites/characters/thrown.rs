//! A robot that falls, jumps and strikes out: thrown by its keys, it stays near them.

use super::{Judge, automatic_of, baked, compare, open};
use sinew_core::setup::choose_clip;
use sinew_tests::sample;

/// Clips of RobotExpressive; how far joints may be off their keys, degrees, and bones that no joint holds off their places, as a
/// part of the size. `Punch` turns an upper arm by 124 degrees from one frame to the next.
const CLIPS: [(&str, f64, f64); 3] = [("Death", 5.0, 0.015), ("Jump", 9.0, 0.03), ("Punch", 12.0, 0.06)];

#[test]
fn what_is_thrown_stays_near_its_keys() {
    let Some(path) = sample::file("gltf/RobotExpressive.glb") else { return };
    let document = open(&path);
    let scene = document.scene();
    let mut judge = Judge::default();
    for (clip, most, place) in CLIPS {
        let keys = choose_clip(scene, Some(clip)).unwrap().unwrap().1;
        let differs = compare(scene, keys, &baked(scene, &automatic_of(scene, clip), keys));
        judge.hear(clip, differs.most, most, "degrees");
        judge.hear(clip, differs.root, place, "of the size");
    }
}
