//! What a joint of a set-up holds, bounds and pulls, as limits and drives: the way back of `nearest`.

use crate::gltf::physics::nearest::{frees_slide, frees_swing, frees_turn};
use serde_json::{Value, json};
use sinew_core::setup::{Direction, Joint, JointKind, Keyable};

/// A joint's description, and what of the joint it cannot say.
pub(crate) struct Described {
    pub value: Value,
    pub notes: Vec<&'static str>,
}

/// How a joint lies in its nodes, and what the units of set-ups are in those of the file.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// Which of the nodes' axes is the main one; the next ones, in turn, are the joint's y and z.
    pub axis: usize,
    /// Length of distances, ropes and segments, scene units.
    pub length: f64,
    /// Metres per scene unit. The file takes scene units for metres: for the same motion its forces are in kg unit/s^2
    /// and its torques in kg unit^2/s^2, while N/m stay what they are.
    pub metres_per_unit: f64,
}

/// Limits and drives of a joint. `None` for kinds that limits cannot make.
pub(crate) fn describe(joint: &Joint, frame: Frame) -> Option<Described> {
    let mut to = Describer { frame, limits: Vec::new(), drives: Vec::new(), notes: Vec::new() };
    let give = joint.give.as_ref();
    let torque = 1.0 / frame.metres_per_unit.powi(2);
    let mut soft = |k: Option<&Keyable>, d: Option<&Keyable>, unit: f64| {
        let stiffness = to.value(k)?;
        Some((stiffness * unit, to.value(d).unwrap_or(0.0) * unit))
    };
    let place = soft(give.and_then(|g| g.stiffness.as_ref()), give.and_then(|g| g.damping.as_ref()), 1.0);
    let turn = soft(
        give.and_then(|g| g.turn_stiffness.as_ref()),
        give.and_then(|g| g.turn_damping.as_ref()),
        torque,
    );
    use JointKind::*;
    let (linear, angular): (&[usize], &[usize]) = match joint.kind {
        Universal => (&[0, 1, 2], &[]),
        Pin => (&[0, 1, 2], &[1, 2]),
        Cylindrical | Screw => (&[1, 2], &[1, 2]),
        Prismatic => (&[1, 2], &[0, 1, 2]),
        BallSocket | Segment => (&[1, 2], &[]),
        SmoothContact => (&[0], &[]),
        Plane => (&[0], &[1, 2]),
        Fixed => (&[0, 1, 2], &[0, 1, 2]),
        Distance | Rope | InsideSphere | InsideBox => (&[], &[]),
        Curve | Surface => return None,
    };
    to.limit("linearAxes", linear, [0.0, 0.0], place);
    to.limit("angularAxes", angular, [0.0, 0.0], turn);
    match joint.kind {
        Distance => to.limit("linearAxes", &[0, 1, 2], [frame.length, frame.length], place),
        Rope | InsideSphere => to.limit("linearAxes", &[0, 1, 2], [0.0, frame.length], place),
        Segment => to.limit("linearAxes", &[0], [0.0, frame.length], None),
        InsideBox => {
            let size = joint.size.unwrap_or_default();
            (0..3).for_each(|i| to.limit("linearAxes", &[i], [-0.5 * size[i], 0.5 * size[i]], place));
        }
        _ => {}
    }
    if let Some(slide) = joint.slide.as_ref().filter(|_| frees_slide(joint.kind)) {
        to.direction(slide, true);
    }
    if let Some(turn) = joint.turn_deg.as_ref().filter(|_| frees_turn(joint.kind)) {
        to.direction(turn, false);
    }
    to.swing(joint, torque);
    to.note_rest(joint);
    let mut value = json!({ "limits": to.limits });
    if !to.drives.is_empty() {
        value["drives"] = json!(to.drives);
    }
    to.notes.dedup();
    Some(Described { value, notes: to.notes })
}

struct Describer {
    frame: Frame,
    limits: Vec<Value>,
    drives: Vec<Value>,
    notes: Vec<&'static str>,
}

impl Describer {
    /// The node's axis that is the joint's x, y or z.
    fn axis(&self, of_joint: usize) -> usize {
        (self.frame.axis + of_joint) % 3
    }

    fn limit(&mut self, key: &str, axes: &[usize], range: [f64; 2], soft: Option<(f64, f64)>) {
        if axes.is_empty() {
            return;
        }
        let mut axes: Vec<usize> = axes.iter().map(|&a| self.axis(a)).collect();
        axes.sort_unstable();
        let mut limit = json!({ key: axes, "min": range[0], "max": range[1] });
        if let Some((stiffness, damping)) = soft {
            limit["stiffness"] = json!(stiffness);
            limit["damping"] = json!(damping);
        }
        self.limits.push(limit);
    }

    /// The constant, or the first of the keys.
    fn value(&mut self, of: Option<&Keyable>) -> Option<f64> {
        if matches!(of, Some(Keyable::Keys(_))) {
            self.notes.push("keys over time are left out: the value of the first is written");
        }
        of.map(Keyable::first)
    }

    /// What happens along, or about, the main axis.
    fn direction(&mut self, of: &Direction, is_linear: bool) {
        let mpu = self.frame.metres_per_unit;
        // Of lengths or angles, of stiffness and damping, of strength.
        let (unit, spring, strength) =
            if is_linear { (1.0, 1.0, 1.0 / mpu) } else { (1_f64.to_radians(), mpu.powi(-2), mpu.powi(-2)) };
        let key = if is_linear { "linearAxes" } else { "angularAxes" };
        if let Some(limits) = of.limits {
            self.limit(key, &[0], limits.map(|v| v * unit), None);
        }
        let rest = self.value(of.rest.as_ref()).map(|r| r * unit);
        let stiffness = self.value(of.stiffness.as_ref()).map(|k| k * spring);
        let damping = self.value(of.damping.as_ref()).map(|d| d * spring);
        match (rest, stiffness, damping) {
            (Some(rest), None, _) => {
                self.limit(key, &[0], [rest, rest], None);
                if of.strength.is_some() {
                    self.notes
                        .push("`strength` of a hold without a spring is left out: it holds whatever pulls");
                }
            }
            (_, None, None) => {}
            (_, stiffness, damping) => {
                let target = stiffness.map(|k| (rest.unwrap_or(0.0), k));
                self.drive(is_linear, 0, target, damping, of.strength.map(|s| s * strength));
            }
        }
    }

    fn drive(
        &mut self,
        is_linear: bool,
        axis: usize,
        target: Option<(f64, f64)>,
        damping: Option<f64>,
        most: Option<f64>,
    ) {
        let kind = if is_linear { "linear" } else { "angular" };
        let mut drive = json!({ "type": kind, "mode": "force", "axis": self.axis(axis) });
        if let Some((target, stiffness)) = target {
            drive["positionTarget"] = json!(target);
            drive["stiffness"] = json!(stiffness);
        }
        for (key, value) in [("damping", damping), ("maxForce", most)] {
            if let Some(value) = value {
                drive[key] = json!(value);
            }
        }
        self.drives.push(drive);
    }

    /// How far the main axis tilts, and what brings it back.
    fn swing(&mut self, joint: &Joint, torque: f64) {
        let Some(swing) = joint.swing_deg.as_ref().filter(|_| frees_swing(joint.kind)) else { return };
        match swing.cone.map(|c| c.map(f64::to_radians)) {
            Some([y, z]) if y == z => self.limit("angularAxes", &[1, 2], [0.0, y], None),
            Some([y, z]) => {
                self.limit("angularAxes", &[1], [-y, y], None);
                self.limit("angularAxes", &[2], [-z, z], None);
                self.notes.push("a cone with an ellipse for a base is written as two ranges of tilting");
            }
            None => {}
        }
        let damping = self.value(swing.damping.as_ref()).map(|d| d * torque);
        let stiffness = self.value(swing.stiffness.as_ref()).map(|k| k * torque);
        if stiffness.is_some() || damping.is_some() {
            for axis in [1, 2] {
                self.drive(false, axis, stiffness.map(|k| (0.0, k)), damping, None);
            }
        }
    }

    /// Notes what limits and drives have no words for.
    fn note_rest(&mut self, joint: &Joint) {
        for (what, there) in [
            ("`pitch` is left out: a screw is written as cylindrical", joint.kind == JointKind::Screw),
            ("`break_force` is left out: it holds whatever pulls", joint.break_force.is_some()),
            ("`break_torque` is left out: it holds whatever pulls", joint.break_torque.is_some()),
            ("keys of `on` are left out: it holds all the time", matches!(joint.on, Some(Keyable::Keys(_)))),
            ("`grab` is left out: it holds the two where its frames meet", joint.grab),
        ] {
            if there {
                self.notes.push(what);
            }
        }
    }
}
