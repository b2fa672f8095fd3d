//! What falls, jumps and strikes out: thrown by its keys, it stays near them.

use super::{Judge, automatic_of, baked, compare};
use crate::figures::Figure;
use sinew_tests::made::character::Character;

/// Clips; how far joints may be off their keys, degrees, and bones that no joint holds off their places, as a part of the size.
/// The robot's `Punch` turns an upper arm by 124 degrees from one frame to the next.
const ROBOT: [(&str, f64, f64); 3] = [("Death", 30.0, 0.05), ("Jump", 18.0, 0.03), ("Punch", 30.0, 0.06)];
pub const BIPED: [(&str, f64, f64); 3] = [("Jump", 12.0, 0.03), ("Roll", 12.0, 0.03), ("Attack", 12.0, 0.03)];

#[test]
fn what_is_thrown_stays_near_its_keys() {
    // Its ears and tail are thrown, and soft.
    let mut all = vec![(Figure::made(&Character::wolf(), "Jump"), 45.0, 0.03)];
    let robot = |(clip, most, place)| Figure::sample("RobotExpressive.glb", clip).map(|f| (f, most, place));
    all.extend(ROBOT.into_iter().filter_map(robot));
    near_when_thrown(all);
}

pub fn near_when_thrown(all: Vec<(Figure, f64, f64)>) {
    let mut judge = Judge::default();
    for (figure, most, place) in all {
        let (scene, keys) = (&figure.scene, figure.keys());
        let differs = compare(scene, keys, &baked(scene, &automatic_of(scene, &figure.clip), keys));
        judge.hear(&figure.label, differs.most, most, "degrees");
        judge.hear(&figure.label, differs.root, place, "of the size");
    }
}
