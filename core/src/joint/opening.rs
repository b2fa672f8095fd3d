//! How far joints are open, as a set-up has them: all parts of one together.

use super::{Joint, Kind};

/// How far one joint of a set-up is open.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// The joint of the set-up.
    pub of: usize,
    /// Its name.
    pub name: String,
    /// Scene units.
    pub opening: f64,
    /// Rad.
    pub angle: f64,
}

/// Merges openings of a rig's joints (scene units and rad, in their order), the largest of its parts for each joint of
/// the set-up. Springs are never open, and muscles are no joints.
pub fn openings(joints: &[Joint], open: &[(f64, f64)]) -> Vec<Opening> {
    let mut all: Vec<Opening> = Vec::new();
    for (joint, &(opening, angle)) in joints.iter().zip(open) {
        if matches!(joint.kind, Kind::Pose(_)) {
            continue;
        }
        let (opening, angle) = if joint.spring.is_some() { (0.0, 0.0) } else { (opening, angle) };
        match all.last_mut().filter(|last| last.of == joint.of) {
            Some(last) => {
                last.opening = last.opening.max(opening);
                last.angle = last.angle.max(angle);
            }
            None => all.push(Opening { of: joint.of, name: joint.name.clone(), opening, angle }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::End;
    use crate::joint::Spring;
    use crate::scene::Placement;

    #[test]
    fn parts_of_a_joint_are_one() {
        let part = |of: usize, kind: Kind, soft: bool| Joint {
            of,
            spring: soft.then_some(Spring { slide: None, turn: None, strength: 1.0 }),
            ..Joint::new(format!("{of}"), [End::World; 2], [Placement::IDENTITY; 2], kind)
        };
        let joints = [
            part(0, Kind::PIN, false),
            part(0, Kind::Turn { least: 0.0, most: 1.0 }, false),
            part(0, Kind::TurnTo, true),
            part(1, Kind::FIXED, true),
            part(usize::MAX, Kind::Pose(0), false),
        ];
        let merged = openings(&joints, &[(1.0, 0.1), (0.0, 0.5), (7.0, 7.0), (7.0, 7.0), (7.0, 7.0)]);
        let seen: Vec<_> = merged.iter().map(|o| (o.name.as_str(), o.opening, o.angle)).collect();
        assert_eq!(seen, [("0", 1.0, 0.5), ("1", 0.0, 0.0)]);
    }
}
