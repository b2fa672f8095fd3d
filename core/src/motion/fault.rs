//! Faults: what a simulation did that nobody keyed and nothing struck. A motion that has one is not handed out in silence.
//!
//! Every limb is held against its keys by its maxima: how far it is off, how fast its whole figure moves, and how it trembles.
//! What is released, has no strength of its own, or was struck by something outside its figure has a right to be anywhere.

use super::Motion;
use crate::joint::End;
use crate::rig::{Rig, Setting};
use crate::scene::Placement;
use glam::DVec3;
use serde::Serialize;

/// What went wrong with one body, at its worst.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fault {
    /// The node, as a set-up calls it.
    pub node: String,
    /// Frame, counted from the first.
    pub frame: usize,
    /// What.
    pub kind: FaultKind,
    /// How much: shares of the figure's height, or multiples of the keys'.
    pub amount: f64,
}

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// It is far from its keys, in figure heights (of a single object: in sizes of its path).
    Displaced,
    /// It trembles or pops: its squared jerk, in multiples of its keys'.
    Jerk,
    /// Its figure has many times the kinetic energy of its keys, frame after frame.
    Energy,
}

/// Further from its keys than this share of its figure's height, a limb is torn off them.
const MOST_DISPLACED: f64 = 0.6;

/// A single object cuts corners and eases over jumps of its keys: it is off by more than all of its way.
const MOST_DISPLACED_ALONE: f64 = 1.5;

/// More squared jerk than this many times the keys' is a tremor or a pop.
const MOST_JERK: f64 = 3.0;

/// A tremor below this share of the figure's height, frame by frame, is not seen.
const UNSEEN_TREMOR: f64 = 5e-4;

/// More kinetic energy than this many times the most that the keys have...
const MOST_ENERGY: f64 = 10.0;

/// ...for so many frames is no swing.
const ENERGY_FRAMES: usize = 3;

/// And less than falling by this share of the figure's height gives is not worth a word.
const LEAST_FALL: f64 = 0.25;

/// An actuator that holds less than this many times the weight of what it moves is not asked to stay on its keys...
const HOLDS_WEIGHTS: f64 = 1.0;

/// ...nor is what is led by an actuator that lets go of its weight, or answers, with all that hangs on it, at less than this, rad/s:
/// it is limp.
const LIMP_RAD_PER_S: f64 = 10.0;

/// ...nor is a group that was turned down below this share of its strength.
const HELD_SHARE: f64 = 0.3;

/// Bodies that joints and carriers hold together.
struct Figure {
    solids: Vec<usize>,
    /// Largest extent of its keys at the first frame, and of its paths where it is a single body.
    height: f64,
    /// When something outside of it first struck it, s.
    struck: f64,
}

impl Fault {
    /// In words, with what to do.
    pub fn text(&self, first_frame: f64) -> String {
        let Fault { node, amount, .. } = self;
        let frame = first_frame + self.frame as f64;
        match self.kind {
            FaultKind::Displaced => format!(
                "{node} is {:.0} % of its figure's height off its keys at frame {frame:.0}, and nothing struck it; make it stronger, lighter, or raise world.steps_per_second",
                100.0 * amount
            ),
            FaultKind::Jerk => format!(
                "{node} jerks {amount:.1} times as hard as its keys, worst at frame {frame:.0}; raise world.steps_per_second, or look at what it touches there"
            ),
            FaultKind::Energy => format!(
                "{node} and what hangs on it move with {amount:.0} times the energy of their keys from frame {frame:.0} on; raise world.steps_per_second, or give the lightest of them more mass"
            ),
        }
    }
}

/// The worst fault of each kind of every figure, in the rig's order.
pub fn faults(rig: &Rig, motion: &Motion) -> Vec<Fault> {
    let mut found = Vec::new();
    if motion.frames() < 2 {
        return found;
    }
    for figure in figures(rig, motion) {
        // Where what leads it lets go, all of it may go.
        let mass: f64 = figure.solids.iter().map(|k| rig.solids[*k].mass).sum();
        let leads = |i: usize| std::iter::successors(Some(i), |i| rig.carrier(*i)).last().unwrap_or(i);
        let is_limp = |i: usize| {
            let stiffness = rig.drive(i, rig.range.start()).stiffness * rig.solids[i].mass / mass;
            let lets_go = rig.solids[i].weight.share.is_some_and(|share| share < 1.0);
            lets_go || stiffness < LIMP_RAD_PER_S * LIMP_RAD_PER_S
        };
        let holds = |i: &usize| is_held(rig, *i) && is_held(rig, leads(*i)) && !is_limp(leads(*i));
        let solids: Vec<usize> = figure.solids.iter().copied().filter(holds).collect();
        if solids.is_empty() || figure.height.is_nan() || figure.height <= 0.0 {
            continue;
        }
        let until = motion.times().iter().position(|t| *t >= figure.struck).unwrap_or(motion.frames());
        found.extend(displaced(rig, motion, &figure, &solids, until));
        if figure.struck.is_infinite() {
            found.extend(jerk(rig, motion, &figure, &solids));
        }
        found.extend(energy(rig, motion, &figure, &solids, until));
    }
    found
}

/// Whether a body is to stay on its keys.
fn is_held(rig: &Rig, i: usize) -> bool {
    let solid = &rig.solids[i];
    let guided = solid.position_target.is_some() || solid.rotation_target.is_some();
    let timed = [solid.position_target, solid.rotation_target]
        .into_iter()
        .flatten()
        .all(|t| rig.trackers[t].timing == crate::setup::Timing::Timed);
    let start = rig.range.start();
    let drive = rig.drive(i, start);
    let weight = solid.mass * rig.world.gravity.length();
    let strong = match solid.position_target {
        Some(_) => drive.max_force >= HOLDS_WEIGHTS * weight,
        None => drive.max_torque > 0.0,
    };
    let turned_down = solid.groups.iter().any(|&g| {
        let strength = &rig.groups[g].strength;
        strength.keyed() || strength.at(start) < HELD_SHARE
    });
    let keyed = Setting::ALL.iter().any(|s| solid.settings.value(*s).keyed());
    guided && timed && strong && drive.stiffness > 0.0 && !turned_down && !keyed && solid.release.is_none()
}

fn figures(rig: &Rig, motion: &Motion) -> Vec<Figure> {
    let count = rig.solids.len();
    let mut of: Vec<usize> = (0..count).collect();
    fn top(of: &[usize], mut i: usize) -> usize {
        while of[i] != i {
            i = of[i];
        }
        i
    }
    let mut unite = |a: usize, b: usize| {
        let [a, b] = [top(&of, a), top(&of, b)];
        of[a.max(b)] = a.min(b);
    };
    for i in 0..count {
        if let Some(c) = rig.carrier(i) {
            unite(i, c);
        }
    }
    for joint in &rig.joints {
        if let [End::Solid(a), End::Solid(b)] = joint.ends {
            unite(a, b);
        }
    }
    let tops: Vec<usize> = (0..count).map(|i| top(&of, i)).collect();
    // The floor strikes nobody: one walks on it.
    let floors: Vec<usize> = rig.colliders.all.iter().filter(|c| c.name == "floor").map(|c| c.node).collect();
    let mut all: Vec<Figure> = Vec::new();
    for first in (0..count).filter(|i| tops[*i] == *i) {
        let solids: Vec<usize> = (0..count).filter(|i| tops[*i] == first).collect();
        let nodes: Vec<usize> = solids.iter().map(|i| rig.solids[*i].node).collect();
        let struck = motion
            .strikes()
            .iter()
            .filter(|s| s.nodes.iter().any(|n| !nodes.contains(n) && !floors.contains(n)))
            .filter(|s| s.nodes.iter().any(|n| nodes.contains(n)))
            .map(|s| s.time)
            .fold(f64::INFINITY, f64::min);
        all.push(Figure { height: height(rig, motion, &solids), solids, struck });
    }
    all
}

/// From one end of a figure's keys to the other, the sizes of its bodies included; of a single body, of its way, too.
fn height(rig: &Rig, motion: &Motion, solids: &[usize]) -> f64 {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let frames = if solids.len() == 1 { motion.frames() } else { 1 };
    for f in 0..frames {
        for &i in solids {
            let (keys, radius) = (&motion.frame(f)[i].keys, rig.solids[i].radius);
            let end = keys.position + keys.rotation * far_end(rig, i);
            for at in [keys.position - radius, keys.position + radius, end] {
                (low, high) = (low.min(at), high.max(at));
            }
        }
    }
    (high - low).max_element()
}

/// Where a limb ends, from its joint: about as far beyond its centre of mass as that is from the joint.
fn far_end(rig: &Rig, i: usize) -> DVec3 {
    2.0 * rig.solids[i].offset.position
}

fn displaced(rig: &Rig, motion: &Motion, figure: &Figure, solids: &[usize], until: usize) -> Option<Fault> {
    let mut worst: Option<Fault> = None;
    let most = if figure.solids.len() == 1 { MOST_DISPLACED_ALONE } else { MOST_DISPLACED };
    for f in 0..until {
        for &i in solids {
            let s = &motion.frame(f)[i];
            let end = far_end(rig, i);
            let at = |place: &Placement, point: DVec3| place.position + place.rotation * point;
            let off = [DVec3::ZERO, end].map(|p| at(&s.node, p).distance(at(&s.keys, p)));
            let amount = off[0].max(off[1]) / figure.height;
            if amount > most && worst.as_ref().is_none_or(|w| amount > w.amount) {
                let node = rig.solids[i].name.clone();
                worst = Some(Fault { node, frame: f, kind: FaultKind::Displaced, amount });
            }
        }
    }
    worst
}

fn jerk(rig: &Rig, motion: &Motion, figure: &Figure, solids: &[usize]) -> Option<Fault> {
    let until = motion.frames();
    let third = |at: &dyn Fn(usize) -> DVec3, f: usize| {
        (at(f) - at(f - 3) + (at(f - 2) - at(f - 1)) * 3.0).length_squared()
    };
    let (mut of_keys, mut of_bake, mut worst) = (0.0, 0.0, (0.0, 0, 0));
    for &i in solids {
        let node = |f: usize| motion.frame(f)[i].node.position;
        let keys = |f: usize| motion.frame(f)[i].keys.position;
        for f in 3..until {
            let (own, keyed) = (third(&node, f), third(&keys, f));
            (of_bake, of_keys) = (of_bake + own, of_keys + keyed);
            if own > worst.0 {
                worst = (own, i, f);
            }
        }
    }
    let samples = (solids.len() * until.saturating_sub(3)) as f64;
    // Third differences of what goes to and fro are eight times as large as it.
    let unseen = (8.0 * UNSEEN_TREMOR * figure.height).powi(2) * samples;
    let amount = of_bake / (of_keys + unseen);
    (amount > MOST_JERK).then(|| Fault {
        node: rig.solids[worst.1].name.clone(),
        frame: worst.2,
        kind: FaultKind::Jerk,
        amount,
    })
}

fn energy(rig: &Rig, motion: &Motion, figure: &Figure, solids: &[usize], until: usize) -> Option<Fault> {
    // From frame to frame, of keys and bake alike.
    let of = |f: usize, keys: bool| -> f64 {
        let moved = |i: usize| {
            let [a, b] = [&motion.frame(f - 1)[i], &motion.frame(f)[i]];
            let way =
                if keys { b.keys.position - a.keys.position } else { b.node.position - a.node.position };
            0.5 * rig.solids[i].mass * (way / (motion.times()[f] - motion.times()[f - 1])).length_squared()
        };
        solids.iter().map(|i| moved(*i)).sum()
    };
    let mass: f64 = solids.iter().map(|i| rig.solids[*i].mass).sum();
    let keyed = (1..until).map(|f| of(f, true)).fold(0.0, f64::max);
    let least = mass * rig.world.gravity.length() * LEAST_FALL * figure.height;
    let bound = MOST_ENERGY * keyed.max(least);
    let mut run = 0;
    for f in 1..until {
        let amount = of(f, false);
        run = if amount > bound { run + 1 } else { 0 };
        if run == ENERGY_FRAMES {
            let node = rig.solids[solids[0]].name.clone();
            let amount = amount / keyed.max(least);
            return Some(Fault { node, frame: f + 1 - ENERGY_FRAMES, kind: FaultKind::Energy, amount });
        }
    }
    None
}
