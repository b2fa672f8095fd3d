//! Which fields a kind of joint takes: what it does not use is refused, with what to do instead.

use crate::setup::{Joint, JointKind, SetupError};

/// Refuses fields that the kind does not use, and those that exclude each other.
pub(super) fn check(wanted: &Joint, place: &str) -> Result<(), SetupError> {
    use JointKind::*;
    let kind = wanted.kind;
    let name = name(kind);
    let refuse = |field: &str, why: String| Err(SetupError::new(format!("{place}.{field}"), why));
    if wanted.frames.is_some() && (wanted.at.is_some() || wanted.axis.is_some()) {
        let field = if wanted.at.is_some() { "at" } else { "axis" };
        return refuse("frames", format!("stand in place of \"{field}\"; remove one of the two"));
    }
    let given = [
        (wanted.length.is_some(), "length", matches!(kind, Distance | Rope | InsideSphere)),
        (wanted.pitch.is_some(), "pitch", kind == Screw),
        (wanted.size.is_some(), "size", kind == InsideBox),
        (!wanted.points.is_empty(), "points", matches!(kind, Segment | Curve)),
        (wanted.closed, "closed", kind == Curve),
        (wanted.mesh.is_some(), "mesh", kind == Surface),
        (wanted.axis.is_some(), "axis", kind != Segment),
    ];
    if let Some((_, field, _)) = given.iter().find(|(given, _, taken)| *given && !taken) {
        return refuse(
            field,
            format!("means nothing to a \"{name}\" joint; remove it, or take another kind"),
        );
    }
    let missing = [
        (wanted.size.is_none() && kind == InsideBox, "size", "give the three sides of the box"),
        (wanted.mesh.is_none() && kind == Surface, "mesh", "name the node whose mesh it is"),
        (wanted.points.len() != 2 && kind == Segment, "points", "give its two ends"),
        (wanted.points.len() < 2 && kind == Curve, "points", "give the two or more that it runs through"),
    ];
    if let Some((_, field, cure)) = missing.iter().find(|m| m.0) {
        return refuse(field, format!("is what makes a \"{name}\" joint; {cure}"));
    }
    if wanted.keyed_anchor && kind != Universal {
        let why = format!("a \"{name}\" joint does not move its anchor; take \"universal\", or remove it");
        return refuse("keyed_anchor", why);
    }
    if wanted.keyed_anchor && (wanted.grab || wanted.give.is_some()) {
        let field = if wanted.grab { "grab" } else { "give" };
        return refuse("keyed_anchor", format!("goes with no \"{field}\"; remove one of the two"));
    }
    if let Some(slide) = &wanted.slide {
        if !frees_slide(kind) {
            return refuse("slide", format!("a \"{name}\" joint does not slide along an axis; remove it"));
        }
        let spring = [&slide.rest, &slide.stiffness, &slide.damping].iter().any(|v| v.is_some());
        if kind == Screw && (spring || slide.strength.is_some()) {
            return refuse("slide", "a screw slides as it turns; give \"turn_deg\" what drives it".into());
        }
        if slide.limits.is_some() && matches!(kind, Segment | InsideBox | InsideSphere) {
            return refuse("slide.limits", format!("a \"{name}\" joint has its own; remove them"));
        }
    }
    if let Some(turn) = &wanted.turn_deg {
        if !frees_turn(kind) {
            return refuse("turn_deg", format!("a \"{name}\" joint does not turn; remove it"));
        }
        if kind == Screw && turn.limits.is_some() {
            return refuse("turn_deg.limits", "a screw turns many times; limit its \"slide\" instead".into());
        }
    }
    if wanted.swing_deg.is_some() && !frees_swing(kind) {
        return refuse(
            "swing_deg",
            format!("a \"{name}\" joint does not tilt its axis; remove it, or take \"universal\""),
        );
    }
    if wanted.grab && !meets(kind) {
        return refuse(
            "grab",
            format!(
                "is for joints that hold two points together, not for \"{name}\"; take \"universal\" or \"fixed\""
            ),
        );
    }
    if let Some(give) = &wanted.give {
        let turns = give.turn_stiffness.is_some() || give.turn_damping.is_some();
        if turns && !matches!(kind, Pin | Cylindrical | Prismatic | Screw | Plane | Fixed) {
            return refuse("give.turn_stiffness", format!("a \"{name}\" joint holds no rotation; remove it"));
        }
        let alone = [
            (give.damping.is_some() && give.stiffness.is_none(), "give.damping", "stiffness"),
            (
                give.turn_damping.is_some() && give.turn_stiffness.is_none(),
                "give.turn_damping",
                "turn_stiffness",
            ),
        ];
        if let Some((_, field, other)) = alone.iter().find(|a| a.0) {
            return refuse(field, format!("damps what does not give way; give \"{other}\", too"));
        }
    }
    Ok(())
}

/// Whether a kind leaves sliding along its main axis free.
fn frees_slide(kind: JointKind) -> bool {
    use JointKind::*;
    matches!(kind, Cylindrical | Prismatic | BallSocket | Screw | Segment | InsideBox | InsideSphere)
}

/// Whether a kind leaves turning about its main axis free.
fn frees_turn(kind: JointKind) -> bool {
    use JointKind::*;
    matches!(kind, Pin | Cylindrical | Screw | Plane) || frees_swing(kind)
}

/// Whether a kind leaves tilting its main axis free.
fn frees_swing(kind: JointKind) -> bool {
    use JointKind::*;
    !matches!(kind, Pin | Cylindrical | Prismatic | Screw | Plane | Fixed)
}

/// Whether two points that are together are at the middle of what the kind allows.
fn meets(kind: JointKind) -> bool {
    use JointKind::*;
    !matches!(kind, Distance | Rope | Segment | Curve | Surface | InsideSphere | InsideBox)
}

/// As the set-up writes it.
fn name(kind: JointKind) -> String {
    let mut name = String::new();
    for c in format!("{kind:?}").chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    name
}
