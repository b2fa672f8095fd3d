//! The joint of a set-up that is nearest to the limits and drives of a file.
//!
//! A direction that is locked is what makes the kind; one that is held elsewhere, bounded or driven becomes a field of
//! a kind that leaves it free.

use super::drive::Drive;
use super::limit::{Limits, Soft, Way};
use sinew_core::setup::{Direction, Give, JointKind, Swing};

/// A joint, in the axes of its node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Nearest {
    pub kind: JointKind,
    /// Which of the node's axes is the main one; the next ones, in turn, are the joint's y and z.
    pub axis: usize,
    pub length: Option<f64>,
    /// Sides of the box, and where its middle is.
    pub size: Option<([f64; 3], [f64; 3])>,
    pub slide: Option<Direction>,
    pub turn_deg: Option<Direction>,
    pub swing_deg: Option<Swing>,
    pub give: Option<Give>,
}

/// A tilt that is free about one of two axes; a set-up's cone ends below 180.
const FREE_TILT_DEG: f64 = 179.9;

/// The nearest joint, and what of the limits it leaves out; `None` when nothing of it can be held.
pub(crate) fn nearest(limits: &Limits, drives: &[Drive]) -> (Option<Nearest>, Vec<&'static str>) {
    let mut notes = limits.notes.clone();
    let Some((kind, axis, is_exact)) = kind(limits, drives) else {
        notes.push("a joint that holds no place and no distance is left out");
        return (None, notes);
    };
    if !is_exact {
        notes.push("the joint becomes the nearest kind there is, which holds less or more than its limits");
    }
    let mut found = Nearest {
        kind,
        axis,
        length: limits.distance.filter(|_| is_distance(kind)).map(|d| d.0[1]),
        size: (kind == JointKind::InsideBox).then(|| size(limits)),
        slide: None,
        turn_deg: None,
        swing_deg: None,
        give: give(limits, kind, axis, &mut notes),
    };
    let mut used = Used::default();
    if frees_slide(kind) {
        used.linear[axis] = true;
        found.slide = direction(&limits.linear[axis], driven(drives, true, axis), 1.0);
    }
    if kind == JointKind::InsideBox {
        used.linear = [true; 3];
    }
    if frees_turn(kind) {
        used.angular[axis] = true;
        let mut way = limits.angular[axis];
        way.range = way.range.or(limits.turn.map(|m| [-m, m]));
        found.turn_deg = direction(&way, driven(drives, false, axis), 1_f64.to_degrees());
    }
    if frees_swing(kind) {
        let cone = cone(limits, axis, &mut notes);
        let spring = swing_spring(drives, axis, &mut notes);
        for other in [(axis + 1) % 3, (axis + 2) % 3] {
            used.angular[other] = true;
        }
        if cone.is_some() || spring.is_some() {
            let (stiffness, damping) = spring.map_or((None, None), |(k, d)| (Some(k.into()), d));
            found.swing_deg = Some(Swing { cone, stiffness, damping: damping.map(Into::into) });
        }
        if limits.turn.is_some() {
            notes.push("a limit of all rotations together becomes a cone and a range of turning");
        }
    } else if limits.turn.is_some() || limits.cone.is_some() {
        notes.push("ranges that the joint's kind has no place for are left out");
    }
    used.note_rest(limits, drives, &mut notes);
    (Some(found), notes)
}

/// Directions that a field of the set-up speaks for.
#[derive(Default)]
struct Used {
    linear: [bool; 3],
    angular: [bool; 3],
}

impl Used {
    fn note_rest(&self, limits: &Limits, drives: &[Drive], notes: &mut Vec<&'static str>) {
        let of = |ways: &[Way; 3], used: &[bool; 3]| {
            (0..3).any(|i| !used[i] && !ways[i].is_locked() && !ways[i].is_free())
        };
        if of(&limits.linear, &self.linear) || of(&limits.angular, &self.angular) {
            notes.push("ranges that the joint's kind has no place for are left out");
        }
        let spoken = |d: &Drive| if d.is_linear { self.linear[d.axis] } else { self.angular[d.axis] };
        if drives.iter().any(|d| !spoken(d)) {
            notes.push("drives along what the joint holds, or its kind has no place for, are left out");
        }
    }
}

fn is_distance(kind: JointKind) -> bool {
    matches!(kind, JointKind::Distance | JointKind::Rope)
}

/// Whether a kind leaves sliding along its main axis free.
pub(crate) fn frees_slide(kind: JointKind) -> bool {
    use JointKind::*;
    matches!(kind, Cylindrical | Prismatic | BallSocket | Screw | Segment)
}

/// Whether a kind leaves turning about its main axis free.
pub(crate) fn frees_turn(kind: JointKind) -> bool {
    use JointKind::*;
    matches!(kind, Pin | Cylindrical | Screw | Plane) || frees_swing(kind)
}

/// Whether a kind leaves tilting its main axis free.
pub(crate) fn frees_swing(kind: JointKind) -> bool {
    use JointKind::*;
    matches!(kind, Universal | BallSocket | SmoothContact | Segment)
}

/// The kind that locks what the limits lock, its main axis, and whether that is all they lock.
fn kind(limits: &Limits, drives: &[Drive]) -> Option<(JointKind, usize, bool)> {
    let locked = |ways: &[Way; 3]| ways.map(|w| w.is_locked());
    let (linear, angular) = (locked(&limits.linear), locked(&limits.angular));
    let count = |of: &[bool; 3]| of.iter().filter(|l| **l).count();
    let first = |of: &[bool; 3], value: bool| of.iter().position(|l| *l == value).unwrap_or(0);
    let turns = count(&angular);
    Some(match count(&linear) {
        3 => match turns {
            3 => (JointKind::Fixed, 0, true),
            2 => (JointKind::Pin, first(&angular, false), true),
            // One locked rotation is a turn that is held.
            1 => (JointKind::Universal, first(&angular, true), true),
            _ => (JointKind::Universal, twist_axis(limits, drives), true),
        },
        2 => {
            let along = first(&linear, false);
            match turns {
                3 => (JointKind::Prismatic, along, true),
                2 if !angular[along] => (JointKind::Cylindrical, along, true),
                _ => (JointKind::BallSocket, along, turns == 0 || (turns == 1 && angular[along])),
            }
        }
        1 => {
            let across = first(&linear, true);
            let tilts = (0..3).any(|i| i != across && !angular[i]);
            match tilts {
                false => (JointKind::Plane, across, true),
                true => (JointKind::SmoothContact, across, turns == usize::from(angular[across])),
            }
        }
        _ => match limits.distance {
            Some(([least, most], _)) if least == most => (JointKind::Distance, 0, turns == 0),
            Some(([least, _], _)) => (JointKind::Rope, 0, turns == 0 && least == 0.0),
            None if limits.linear.iter().all(|w| w.range.is_some()) => (JointKind::InsideBox, 0, turns == 0),
            None => return None,
        },
    })
}

/// The axis to turn about where all rotations are free: that of the cone, or of the one axis that is bounded or
/// driven, or the one that is neither.
fn twist_axis(limits: &Limits, drives: &[Drive]) -> usize {
    if let Some((axis, _)) = limits.cone {
        return axis;
    }
    let busy = [0, 1, 2].map(|i| !limits.angular[i].is_free() || driven(drives, false, i).is_some());
    match busy.iter().filter(|b| **b).count() {
        1 => busy.iter().position(|b| *b).unwrap_or(0),
        2 => busy.iter().position(|b| !*b).unwrap_or(0),
        _ => 0,
    }
}

fn driven(drives: &[Drive], is_linear: bool, axis: usize) -> Option<&Drive> {
    drives.iter().rfind(|d| d.is_linear == is_linear && d.axis == axis)
}

/// A direction that the kind leaves free; `unit` is what the file's unit is in that of set-ups.
fn direction(way: &Way, drive: Option<&Drive>, unit: f64) -> Option<Direction> {
    let mut found = Direction { limits: way.range.map(|r| r.map(|v| v * unit)), ..Direction::default() };
    if let Some(hold) = way.hold {
        found.rest = Some((hold * unit).into());
        found.stiffness = way.soft.map(|s| s.stiffness.into());
        found.damping = way.soft.map(|s| s.damping).filter(|d| *d > 0.0).map(Into::into);
    } else if let Some(drive) = drive {
        found.rest = drive.target.map(|t| (t * unit).into());
        found.stiffness = drive.target.map(|_| drive.stiffness.into());
        found.damping = (drive.damping > 0.0).then(|| drive.damping.into());
        found.strength = drive.most;
    }
    (found != Direction::default()).then_some(found)
}

/// How far the main axis may tilt about the joint's y and z, degrees.
fn cone(limits: &Limits, axis: usize, notes: &mut Vec<&'static str>) -> Option<[f64; 2]> {
    let around = match limits.cone {
        Some((about, most)) if about == axis => Some(most),
        Some(_) => {
            notes.push("a cone about another axis than the joint's is left out");
            None
        }
        None => limits.turn,
    };
    if let Some(most) = around.map(f64::to_degrees) {
        return (most < 180.0).then_some([most, most]);
    }
    let ranges = [(axis + 1) % 3, (axis + 2) % 3].map(|i| limits.angular[i].range);
    if ranges == [None, None] {
        return None;
    }
    if ranges.into_iter().flatten().any(|[least, most]| least != -most) {
        notes.push("a cone is as wide to both sides: it is as wide as the wider one");
    }
    let wide = |range: Option<[f64; 2]>| {
        let most = range.map_or(FREE_TILT_DEG, |[least, most]| least.abs().max(most.abs()).to_degrees());
        most.min(FREE_TILT_DEG)
    };
    notes.push("ranges of tilting about two axes become a cone with an ellipse for a base");
    Some(ranges.map(wide))
}

/// What brings the main axis back to the middle: stiffness and damping.
fn swing_spring(drives: &[Drive], axis: usize, notes: &mut Vec<&'static str>) -> Option<(f64, Option<f64>)> {
    let both = [(axis + 1) % 3, (axis + 2) % 3].map(|i| driven(drives, false, i));
    let spring = both[0].or(both[1])?;
    let same = |a: &Drive, b: &Drive| (a.stiffness, a.damping) == (b.stiffness, b.damping);
    if !matches!(both, [Some(a), Some(b)] if same(a, b)) {
        notes.push("drives that tilt an axis differ: the first counts all around");
    }
    if both.iter().flatten().any(|d| d.target.is_some_and(|t| t != 0.0) || d.most.is_some()) {
        notes.push(
            "drives that tilt an axis bring it back to the middle, however strong: no target, no maxForce",
        );
    }
    Some((spring.stiffness, Some(spring.damping).filter(|d| *d > 0.0)))
}

/// Sides of the box that bounds all three ways, and its middle.
fn size(limits: &Limits) -> ([f64; 3], [f64; 3]) {
    let ranges = limits.linear.map(|w| w.range.unwrap_or_default());
    (ranges.map(|r| r[1] - r[0]), ranges.map(|r| 0.5 * (r[0] + r[1])))
}

/// How what is locked gives way: the softest of the places, and of the rotations.
fn give(limits: &Limits, kind: JointKind, axis: usize, notes: &mut Vec<&'static str>) -> Option<Give> {
    let locked = |w: &&Way| w.is_locked();
    let places: Vec<Option<Soft>> = match limits.distance.filter(|_| is_distance(kind)) {
        Some((_, soft)) => vec![soft],
        None => limits.linear.iter().filter(locked).map(|w| w.soft).collect(),
    };
    // A turn that is held is a field of its own.
    let held = |i: usize| !(frees_turn(kind) && i == axis);
    let turns = (0..3).filter(|&i| held(i)).map(|i| &limits.angular[i]);
    let turns: Vec<Option<Soft>> = turns.filter(locked).map(|w| w.soft).collect();
    let mut softest = |of: &[Option<Soft>]| {
        if of.windows(2).any(|w| w[0] != w[1]) {
            notes.push("what a joint holds gives way alike: by the softest of its limits");
        }
        let less = |a: Soft, b: Soft| if b.stiffness < a.stiffness { b } else { a };
        of.iter().flatten().copied().reduce(less)
    };
    let (place, turn) = (softest(&places), softest(&turns));
    let damping = |s: Option<Soft>| s.map(|s| s.damping).filter(|d| *d > 0.0).map(Into::into);
    let given = Give {
        stiffness: place.map(|s| s.stiffness.into()),
        damping: damping(place),
        turn_stiffness: turn.map(|s| s.stiffness.into()),
        turn_damping: damping(turn),
    };
    (place.is_some() || turn.is_some()).then_some(given)
}
