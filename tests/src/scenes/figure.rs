//! Figures of boxes on bones, and how they walk: one on two legs, one on four. They go along x and are as high as their kind.
//!
//! Hips go straight on, feet stand still in the world and swing in between, and knees are where two bars of given lengths
//! meet: the law of cosines.

use super::maker::Maker;
use super::solid::{self, Solid};
use super::{CREAM, RATE, seconds};
use glam::{DQuat, DVec3};
use sinew_core::rotation;
use std::f64::consts::TAU;

/// A bone: its name, the one it hangs on, where it begins there, and the box that it moves: middle and size.
struct Bone {
    name: String,
    on: Option<usize>,
    at: DVec3,
    form: [DVec3; 2],
}

/// A leg: the bones of its bars and foot, from hip to sole.
struct Leg {
    bones: [usize; 3],
    /// From the first bone's origin to the second's, and from there to the third's.
    bars: [f64; 2],
    /// Which way the knee points: 1 is forward.
    knee: f64,
    /// When in a cycle it is set down, 0 to 1.
    phase: f64,
}

/// How a figure goes.
#[derive(Clone, Copy)]
pub struct Gait {
    /// m/s along x; 0 stands.
    pub speed: f64,
    /// A cycle, s.
    pub period: f64,
    /// Part of a cycle in which a foot stands.
    pub stands: f64,
    /// How high feet are lifted, m.
    pub lift: f64,
}

/// A figure that can be put into a scene.
pub struct Figure {
    bones: Vec<Bone>,
    legs: Vec<Leg>,
    /// Bones that swing about z as the leg of that number does backward, by so much, rad.
    swings: Vec<(usize, usize, f64)>,
    /// How much lower hips are while it walks than when its legs are straight.
    bent: f64,
}

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

impl Figure {
    fn bone(&mut self, name: &str, on: Option<usize>, at: DVec3, middle: DVec3, size: DVec3) -> usize {
        self.bones.push(Bone { name: name.into(), on, at, form: [middle, size] });
        self.bones.len() - 1
    }

    fn empty(bent: f64) -> Figure {
        Figure { bones: Vec::new(), legs: Vec::new(), swings: Vec::new(), bent }
    }

    /// One metre and seventy on two legs. Names of bones end in `mark`, so that several fit into a scene.
    pub fn upright(mark: &str) -> Figure {
        let mut f = Figure::empty(0.05);
        let name = |n: &str| format!("{n}{mark}");
        let hips = f.bone(&name("Hips"), None, v(0.0, 0.92, 0.0), v(0.0, 0.04, 0.0), v(0.2, 0.18, 0.3));
        let spine =
            f.bone(&name("Spine"), Some(hips), v(0.0, 0.13, 0.0), v(0.0, 0.1, 0.0), v(0.18, 0.2, 0.28));
        let chest =
            f.bone(&name("Chest"), Some(spine), v(0.0, 0.2, 0.0), v(0.0, 0.14, 0.0), v(0.2, 0.28, 0.34));
        f.bone(&name("Head"), Some(chest), v(0.0, 0.3, 0.0), v(0.02, 0.13, 0.0), v(0.2, 0.24, 0.18));
        for (side, z, leg) in [("Left", -1.0, 1), ("Right", 1.0, 0)] {
            let part = |n: &str| name(&format!("{side}{n}"));
            let upper = f.bone(
                &part("UpperArm"),
                Some(chest),
                v(0.0, 0.24, 0.225 * z),
                v(0.0, -0.14, 0.0),
                v(0.09, 0.3, 0.09),
            );
            let fore = f.bone(
                &part("ForeArm"),
                Some(upper),
                v(0.0, -0.28, 0.0),
                v(0.0, -0.13, 0.0),
                v(0.075, 0.26, 0.075),
            );
            f.bone(&part("Hand"), Some(fore), v(0.0, -0.26, 0.0), v(0.0, -0.08, 0.0), v(0.09, 0.16, 0.04));
            f.swings.extend([(upper, leg, 0.9), (fore, leg, 0.0)]);
        }
        for (side, z, phase) in [("Left", -1.0, 0.0), ("Right", 1.0, 0.5)] {
            let part = |n: &str| name(&format!("{side}{n}"));
            let thigh = f.bone(
                &part("UpLeg"),
                Some(hips),
                v(0.0, -0.02, 0.1 * z),
                v(0.0, -0.21, 0.0),
                v(0.14, 0.4, 0.14),
            );
            let shin =
                f.bone(&part("Leg"), Some(thigh), v(0.0, -0.42, 0.0), v(0.0, -0.21, 0.0), v(0.11, 0.4, 0.11));
            let foot = f.bone(
                &part("Foot"),
                Some(shin),
                v(0.0, -0.42, 0.0),
                v(0.06, -0.02, 0.0),
                v(0.26, 0.08, 0.1),
            );
            f.legs.push(Leg { bones: [thigh, shin, foot], bars: [0.42, 0.42], knee: 1.0, phase });
        }
        f
    }

    /// Half a metre high on four legs, with a tail.
    pub fn four_legged() -> Figure {
        let mut f = Figure::empty(0.05);
        let hips = f.bone("Hips", None, v(-0.3, 0.46, 0.0), v(0.06, 0.0, 0.0), v(0.26, 0.2, 0.18));
        let spine = f.bone("Spine", Some(hips), v(0.2, 0.02, 0.0), v(0.1, 0.0, 0.0), v(0.2, 0.19, 0.17));
        let chest = f.bone("Chest", Some(spine), v(0.2, 0.0, 0.0), v(0.12, 0.0, 0.0), v(0.26, 0.24, 0.2));
        let neck = f.bone("Neck", Some(chest), v(0.22, 0.08, 0.0), v(0.06, 0.07, 0.0), v(0.14, 0.18, 0.11));
        f.bone("Head", Some(neck), v(0.1, 0.16, 0.0), v(0.1, 0.02, 0.0), v(0.28, 0.14, 0.13));
        let mut tail = hips;
        for i in 1..=3 {
            let at = if i == 1 { v(-0.07, 0.06, 0.0) } else { v(-0.16, 0.0, 0.0) };
            tail = f.bone(&format!("Tail{i}"), Some(tail), at, v(-0.08, 0.0, 0.0), v(0.16, 0.06, 0.06));
        }
        for (side, z) in [("Left", -1.0), ("Right", 1.0)] {
            for (on, parts, at, knee) in [
                (chest, ["UpperArm", "ForeArm", "Hand"], v(0.14, -0.06, 0.09 * z), -1.0),
                (hips, ["UpLeg", "Leg", "Foot"], v(0.0, -0.04, 0.09 * z), 1.0),
            ] {
                let low = 0.42 - 0.05;
                let [upper, lower, foot] = parts.map(|p| format!("{side}{p}"));
                let bar = 0.5 * low;
                let long = v(0.07, bar, 0.06);
                let a = f.bone(&upper, Some(on), at, v(0.0, -0.5 * bar, 0.0), long);
                let b = f.bone(&lower, Some(a), v(0.0, -bar, 0.0), v(0.0, -0.5 * bar, 0.0), long * 0.8);
                let c = f.bone(&foot, Some(b), v(0.0, -bar, 0.0), v(0.02, -0.02, 0.0), v(0.11, 0.06, 0.07));
                // Feet that are across from each other go together: a trot.
                let phase = if (z > 0.0) == (knee > 0.0) { 0.0 } else { 0.5 };
                f.legs.push(Leg { bones: [a, b, c], bars: [bar, bar], knee, phase });
            }
        }
        f
    }

    /// Puts it into a scene, at `start`, going on for so many frames; keys on every second. Returns its nodes by name.
    pub fn add(&self, m: &mut Maker, skin: &str, colour: [f64; 3], start: DVec3, gait: Gait, frames: usize) {
        let mut nodes: Vec<usize> = Vec::new();
        let mut rest: Vec<DVec3> = Vec::new();
        for bone in &self.bones {
            let on = bone.on.map(|p| nodes[p]);
            let at = if on.is_some() { bone.at } else { bone.at + start };
            nodes.push(m.node(&bone.name, None, at, on));
            rest.push(bone.on.map_or(at, |p| rest[p] + at));
        }
        let keyed: Vec<f64> = (0..=frames).step_by(2).map(|f| f as f64).collect();
        let times = seconds(&keyed);
        let hips = |t: f64| {
            let bob = 0.01 * (2.0 * TAU * t / gait.period).cos() * f64::from(u8::from(gait.speed > 0.0));
            let low = if gait.speed > 0.0 { self.bent } else { 0.01 };
            self.bones[0].at + start + v(gait.speed * t, bob - low, 0.0)
        };
        m.translate(nodes[0], &times, &times.iter().map(|t| hips(*t)).collect::<Vec<_>>());
        let about_z = |angle: f64| rotation::exp(DVec3::Z * angle);
        let mut back: Vec<Vec<f64>> = Vec::new();
        for leg in &self.legs {
            // Bones between hips and leg are not turned.
            let from_hips = rest[leg.bones[0]] - rest[0];
            let turns: Vec<[f64; 3]> =
                times.iter().map(|t| leg.turns(hips(*t) + from_hips, rest[leg.bones[2]], gait, *t)).collect();
            for (k, bone) in leg.bones.iter().enumerate() {
                let turns: Vec<DQuat> = turns.iter().map(|t| about_z(t[k])).collect();
                m.rotate(nodes[*bone], &times, &turns);
            }
            back.push(turns.iter().map(|t| t[0] + 0.5 * t[1]).collect());
        }
        for (bone, leg, share) in &self.swings {
            let swing = |s: &f64| about_z(if *share > 0.0 { share * s } else { 0.25 });
            m.rotate(nodes[*bone], &times, &back[*leg].iter().map(swing).collect::<Vec<_>>());
        }
        let parts: Vec<(usize, DVec3, Solid, [f64; 3])> = self
            .bones
            .iter()
            .enumerate()
            .map(|(i, b)| {
                let pale = b.name.contains("Hand") || b.name.contains("Head") || b.name.contains("Foot");
                (nodes[i], rest[i], solid::block(b.form[1], b.form[0]), if pale { CREAM } else { colour })
            })
            .collect();
        m.skin(skin, &parts);
    }
}

impl Leg {
    /// How its bones are turned on their parents at `t` s, rad about z, with its upper end at `hip` and its ankle at `rest`
    /// when it stands straight at the start.
    fn turns(&self, hip: DVec3, rest: DVec3, gait: Gait, t: f64) -> [f64; 3] {
        let ankle = self.ankle(rest, gait, t);
        let (dx, dy) = (ankle.x - hip.x, ankle.y - hip.y);
        let [a, b] = self.bars;
        let d = (dx * dx + dy * dy).sqrt().clamp((a - b).abs() + 1e-6, a + b - 1e-6);
        let toward = dx.atan2(-dy);
        let upper = toward + self.knee * ((a * a + d * d - b * b) / (2.0 * a * d)).clamp(-1.0, 1.0).acos();
        let knee = v(hip.x + a * upper.sin(), hip.y - a * upper.cos(), 0.0);
        let lower = (ankle.x - knee.x).atan2(knee.y - ankle.y);
        [upper, lower - upper, -lower]
    }

    /// Where its ankle is: it stands, or is on its way to where it stands next.
    fn ankle(&self, rest: DVec3, gait: Gait, t: f64) -> DVec3 {
        if gait.speed == 0.0 {
            return rest;
        }
        let cycles = t / gait.period + self.phase;
        let (turn, share) = (cycles.floor(), cycles - cycles.floor());
        let stride = gait.speed * gait.period;
        // It is set down half a stand before the hips are above it.
        let stood = |n: f64| rest.x + stride * (n - self.phase + 0.5 * gait.stands);
        if share < gait.stands {
            return v(stood(turn), rest.y, rest.z);
        }
        let u = (share - gait.stands) / (1.0 - gait.stands);
        let smooth = u * u * (3.0 - 2.0 * u);
        let x = stood(turn) + stride * smooth;
        v(x, rest.y + gait.lift * (0.5 - 0.5 * (TAU * u).cos()), rest.z)
    }
}

/// So many seconds are so many frames.
pub fn frames(s: f64) -> usize {
    (s * RATE).round() as usize
}
