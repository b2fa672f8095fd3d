//! The bones of a body at rest.

use super::plan::{Feet, Naming, Plan};
use super::pose::Placed;
use glam::{DQuat, DVec3};

/// What of the skin follows a bone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flesh {
    /// Nothing.
    None,
    /// A capsule of that radius from head to tail.
    Capsule(f64),
    /// A box around head and tail that stands on the floor.
    Sole {
        /// Half its width.
        half: f64,
        /// From the floor to the bone's head.
        high: f64,
    },
}

/// A bone at rest, in the world.
#[derive(Clone, Debug)]
pub struct Bone {
    /// Its name.
    pub name: String,
    /// The bone that it hangs on, which comes before it.
    pub parent: Option<usize>,
    /// Where it begins.
    pub head: DVec3,
    /// Where it ends.
    pub tail: DVec3,
    /// What of the skin follows it.
    pub flesh: Flesh,
}

impl Bone {
    /// How it is turned at rest: its y goes from head to tail, as in Blender.
    pub fn rest_turn(&self) -> DQuat {
        DQuat::from_rotation_arc(DVec3::Y, (self.tail - self.head).normalize())
    }
}

/// A leg: bones, which way its knee points, and when in a cycle it is set down, 0 to 1.
#[derive(Clone, Debug)]
pub struct Leg {
    pub upper: usize,
    pub lower: usize,
    pub foot: usize,
    pub pole: DVec3,
    pub phase: f64,
}

/// An arm or a wing, from the shoulder out; `side` is 1 on the left.
#[derive(Clone, Debug)]
pub struct Arm {
    pub bones: Vec<usize>,
    pub side: f64,
}

/// All bones, and which of them are what.
#[derive(Clone, Debug, Default)]
pub struct Skeleton {
    /// Parents first.
    pub bones: Vec<Bone>,
    pub(super) legs: Vec<Leg>,
    pub(super) arms: Vec<Arm>,
    pub(super) wings: Vec<Arm>,
    /// From the hips to the chest.
    pub(super) trunk: Vec<usize>,
    pub(super) neck: Vec<usize>,
    pub(super) tail: Vec<usize>,
    pub(super) fingers: Vec<usize>,
    /// The bone that is moved along.
    pub(super) mover: usize,
}

/// A bone's name in parts: what it is, and its side.
fn called(naming: Naming, count: usize, part: &str, side: f64) -> String {
    match naming {
        Naming::Numbered => format!("bone_{count}"),
        Naming::Prefixed if side > 0.0 => format!("Left{part}"),
        Naming::Prefixed if side < 0.0 => format!("Right{part}"),
        Naming::Prefixed => part.into(),
        Naming::Suffixed if side > 0.0 => format!("{}.L", part.to_lowercase()),
        Naming::Suffixed if side < 0.0 => format!("{}.R", part.to_lowercase()),
        Naming::Suffixed => part.to_lowercase(),
    }
}

impl Skeleton {
    /// The bones of that body.
    pub fn new(plan: &Plan) -> Skeleton {
        let mut made = Skeleton::default();
        let girth = trunk_girth(plan);
        let ankle = 0.095 * plan.leg;
        let high = plan.aloft + if plan.leg_pairs > 0 { plan.leg + ankle } else { girth };
        let root = (plan.feet == Feet::OnRoot || plan.tiny_lead)
            .then(|| made.add(plan, "Root", 0.0, None, [DVec3::ZERO, DVec3::Y * 0.1], Flesh::None));
        let along = if plan.upright { DVec3::Y } else { DVec3::Z };
        let start = DVec3::Y * high - if plan.upright { DVec3::ZERO } else { 0.5 * plan.trunk * DVec3::Z };
        made.add_trunk(plan, root, start, along, girth);
        made.add_head(plan, along, girth);
        made.add_limbs(plan, root, ankle, girth);
        made
    }

    /// What a bone hangs on, in the world.
    pub(super) fn above(&self, bone: usize, placed: &[Placed]) -> Placed {
        match self.bones[bone].parent {
            Some(parent) => placed[parent],
            None => Placed { at: DVec3::ZERO, turned: DQuat::IDENTITY },
        }
    }

    fn add(
        &mut self,
        plan: &Plan,
        part: &str,
        side: f64,
        parent: Option<usize>,
        [head, tail]: [DVec3; 2],
        flesh: Flesh,
    ) -> usize {
        let name = called(plan.naming, self.bones.len(), part, side);
        self.bones.push(Bone { name, parent, head, tail, flesh });
        self.bones.len() - 1
    }

    fn add_trunk(&mut self, plan: &Plan, root: Option<usize>, start: DVec3, along: DVec3, girth: f64) {
        let mut parent = root;
        if plan.tiny_lead {
            // A capsule as long as it is thick has 4.2 cubes of its radius; the trunk about 3.1 of its girth squared times its
            // length, and with limbs and head the whole is 2.5 times that.
            let small = (0.002 * 2.5 * 3.1 * girth * girth * plan.trunk / 10.0).cbrt();
            let ends = [start, start + along * 2.0 * small];
            parent = Some(self.add(plan, "Body", 0.0, parent, ends, Flesh::Capsule(small)));
        }
        self.mover = self.bones.len() - usize::from(plan.tiny_lead);
        let lengths = std::iter::once(0.25).chain((0..plan.spine).map(|_| 0.75 / plan.spine as f64));
        let mut at = start;
        for (i, share) in lengths.enumerate() {
            let to = at + along * share * plan.trunk;
            let name = match i {
                0 => "Hips".to_owned(),
                i if i == plan.spine && plan.leg_pairs > 0 => "Chest".to_owned(),
                i => format!("Spine{i}"),
            };
            // Widest at the chest; snakes and fish get thin behind.
            let wide = girth * if plan.upright && i == 0 { 0.95 } else { 1.0 };
            let bone = self.add(plan, &name, 0.0, parent, [at, to], Flesh::Capsule(wide));
            self.trunk.push(bone);
            (parent, at) = (Some(bone), to);
        }
    }

    fn add_head(&mut self, plan: &Plan, along: DVec3, girth: f64) {
        let chest = *self.trunk.last().expect("a trunk has bones");
        let up = match plan.leg_pairs {
            0 => along,
            _ if plan.upright => DVec3::Y,
            _ => DVec3::new(0.0, 0.75, 0.66).normalize(),
        };
        let head = if plan.upright { 0.4 * plan.trunk * plan.stout } else { 0.3 * plan.trunk.min(1.0) };
        let mut parent = chest;
        let mut at = self.bones[chest].tail;
        for i in 0..plan.neck {
            let to = at + up * if plan.upright { 0.2 } else { 0.35 } * plan.trunk / plan.neck as f64;
            let name = if plan.neck == 1 { "Neck".to_owned() } else { format!("Neck{}", i + 1) };
            parent = self.add(plan, &name, 0.0, Some(parent), [at, to], Flesh::Capsule(0.45 * girth));
            self.neck.push(parent);
            at = to;
        }
        if plan.head {
            let look = if plan.upright { DVec3::Y } else { DVec3::Z };
            let ends = [at, at + look * head];
            // What lies on the floor has no room for a thicker head.
            let thick = if plan.leg_pairs > 0 { 0.38 * head } else { girth };
            parent = self.add(plan, "Head", 0.0, Some(parent), ends, Flesh::Capsule(thick));
            self.neck.push(parent);
            for side in [1.0, -1.0].into_iter().filter(|_| plan.ears) {
                let root = at + look * 0.4 * head + DVec3::new(0.25 * side, 0.35, 0.0) * head;
                let ends = [root, root + DVec3::new(0.15 * side, 0.5, 0.0) * head];
                self.add(plan, "Ear", side, Some(parent), ends, Flesh::Capsule(0.07 * head));
            }
        }
        if plan.prop && !plan.arms {
            let ends = [at, at + DVec3::Z * 0.5 * plan.trunk];
            self.add(plan, "Horn", 0.0, Some(parent), ends, Flesh::Capsule(0.03 * plan.trunk));
        }
        let back = if plan.upright { DVec3::new(0.0, -0.5, -0.87) } else { DVec3::new(0.0, 0.1, -0.99) };
        let mut on = self.trunk[0];
        let mut at = self.bones[on].head + back * 0.6 * girth;
        for i in 0..plan.tail {
            let to = at + back * 0.29 * plan.trunk;
            let thin = 0.35 * girth * (1.0 - 0.6 * i as f64 / plan.tail as f64);
            on = self.add(plan, &format!("Tail{}", i + 1), 0.0, Some(on), [at, to], Flesh::Capsule(thin));
            self.tail.push(on);
            at = to;
        }
    }

    fn add_limbs(&mut self, plan: &Plan, root: Option<usize>, ankle: f64, girth: f64) {
        let chest = *self.trunk.last().expect("a trunk has bones");
        for side in [1.0, -1.0] {
            if plan.arms && plan.upright {
                self.add_arm(plan, chest, side, girth);
            }
            if plan.wings {
                self.add_wing(plan, chest, side);
            }
        }
        for pair in 0..plan.leg_pairs {
            let is_front = plan.leg_pairs > 1 && pair + 1 == plan.leg_pairs && !plan.wings;
            let nearest = pair * (self.trunk.len() - 1) / (plan.leg_pairs - 1).max(1);
            // Of a body with a leader all legs hang on that.
            let on = if plan.tiny_lead && pair == 0 { self.mover } else { self.trunk[nearest] };
            let at = self.bones[self.trunk[nearest]].head;
            let (parts, pole) = match (is_front, pair) {
                (true, _) => (["UpperArm", "ForeArm", "Hand"].map(String::from), -DVec3::Z),
                (false, 0) => (["UpLeg", "Leg", "Foot"].map(String::from), DVec3::Z),
                (false, k) => (["UpLeg", "Leg", "Foot"].map(|p| format!("Mid{k}{p}")), DVec3::Z),
            };
            for side in [1.0, -1.0] {
                let hip = DVec3::new(0.8 * girth * side, at.y, at.z);
                let low = DVec3::new(hip.x, plan.aloft + ankle, hip.z);
                let knee = hip.midpoint(low) + pole * 0.03 * plan.leg;
                let capsule = |share: f64| Flesh::Capsule(share * plan.leg * plan.stout);
                let upper = self.add(plan, &parts[0], side, Some(on), [hip, knee], capsule(0.08));
                let lower = self.add(plan, &parts[1], side, Some(upper), [knee, low], capsule(0.06));
                let hangs = match plan.feet {
                    Feet::OnShin => Some(lower),
                    Feet::OnRoot => root,
                    Feet::Loose => None,
                };
                let toe = low + DVec3::new(0.0, -0.6 * ankle, 0.2 * plan.leg);
                let sole = Flesh::Sole { half: 0.055 * plan.leg * plan.stout, high: ankle };
                let foot = self.add(plan, &parts[2], side, hangs, [low, toe], sole);
                let phase = if (side > 0.0) == (pair % 2 == 0) { 0.0 } else { 0.5 };
                self.legs.push(Leg { upper, lower, foot, pole, phase });
            }
        }
    }

    fn add_arm(&mut self, plan: &Plan, chest: usize, side: f64, girth: f64) {
        let top = self.bones[chest].tail - DVec3::Y * 0.15 * plan.trunk;
        let capsule = |share: f64| Flesh::Capsule(share * plan.leg * plan.stout);
        let joint = top + DVec3::X * side * (girth + 0.05 * plan.leg * plan.stout);
        let inner = top + DVec3::X * side * 0.3 * girth;
        let shoulder = self.add(plan, "Shoulder", side, Some(chest), [inner, joint], capsule(0.055));
        let down = DVec3::new(0.2 * side, -0.98, 0.0).normalize();
        let mut bones = vec![shoulder];
        let mut at = joint;
        for (part, long, thick) in [("UpperArm", 0.34, 0.055), ("ForeArm", 0.31, 0.045), ("Hand", 0.12, 0.04)]
        {
            let to = at + down * long * plan.leg;
            let on = *bones.last().expect("it has a shoulder");
            bones.push(self.add(plan, part, side, Some(on), [at, to], capsule(thick)));
            at = to;
        }
        let hand = bones[3];
        for finger in 0..plan.fingers {
            let name = ["Thumb", "Index", "Middle", "Ring", "Pinky"][finger % 5];
            let aside = DVec3::Z * (0.03 - 0.015 * finger as f64) * plan.leg;
            let (mut on, mut from) = (hand, at + aside);
            for joint in 1..=2 {
                let to = from + down * 0.05 * plan.leg;
                on = self.add(plan, &format!("{name}{joint}"), side, Some(on), [from, to], capsule(0.009));
                self.fingers.push(on);
                from = to;
            }
        }
        if plan.prop && side < 0.0 {
            let ends = [at, at + DVec3::Z * 0.8 * plan.leg];
            self.add(plan, "Sword", 0.0, Some(hand), ends, Flesh::Capsule(0.02 * plan.leg));
        }
        self.arms.push(Arm { bones, side });
    }

    fn add_wing(&mut self, plan: &Plan, chest: usize, side: f64) {
        let mut at = self.bones[chest].head + DVec3::X * side * 0.1 * plan.trunk;
        let mut on = chest;
        let mut bones = Vec::new();
        for i in 1..=3 {
            let to = at + DVec3::X * side * 0.8 * plan.trunk;
            let thin = Flesh::Capsule((0.09 - 0.02 * f64::from(i)) * plan.trunk);
            on = self.add(plan, &format!("Wing{i}"), side, Some(on), [at, to], thin);
            bones.push(on);
            at = to;
        }
        self.wings.push(Arm { bones, side });
    }
}

fn trunk_girth(plan: &Plan) -> f64 {
    match (plan.leg_pairs, plan.upright) {
        // As thick as a piece is long, or a stick would be cut into slices.
        (0, _) => (0.17 * plan.trunk * plan.stout).min(0.4 * plan.trunk / (plan.spine + 1) as f64),
        (_, true) => 0.24 * plan.trunk * plan.stout,
        (_, false) => 0.17 * plan.trunk * plan.stout,
    }
}
