//! What keys need: the accelerations of bodies that move as they are keyed.
//!
//! Keys are looked at a little before and after the middle of a step. How little does not hang on the step: keys with
//! corners, which would need a blow at a moment, are taken round them as any living thing would take them.

use crate::dynamics::top::Axes;
use crate::rig::{Frame, Rig};
use crate::rotation;
use crate::scene::Placement;
use glam::DVec3;

/// So far ahead keys are seen, s.
const SIGHT_S: f64 = 1.0 / 60.0;

/// Where keys have bodies before, in the middle of, and after a step.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    looks: Vec<[(f64, Placement); 3]>,
    /// Spans of their paths.
    spans: Vec<[usize; 3]>,
}

/// When a step begins and ends in scene time, and how long it is in physical time, s.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub from: f64,
    pub to: f64,
    pub h: f64,
}

impl Ahead {
    /// Room for so many solids.
    pub fn new(solids: usize) -> Ahead {
        Ahead { looks: vec![[(f64::NAN, Placement::IDENTITY); 3]; solids], spans: vec![[0; 3]; solids] }
    }

    /// Force and torque about its centre that a solid's keys need of it in a step. What carries it has best been asked
    /// before.
    pub fn needs(&mut self, rig: &Rig, i: usize, step: Span) -> (DVec3, DVec3) {
        let (range, solid) = (&rig.range, &rig.solids[i]);
        let middle = 0.5 * (step.from + step.to);
        // Before the first frame nothing is known, and after the last nothing is needed; loops go on.
        let end = if range.turns > 1 { f64::INFINITY } else { range.start() + range.length() };
        let times = [middle - SIGHT_S, middle, middle + SIGHT_S].map(|t| t.clamp(range.start(), end));
        let (path, frame) = (&rig.paths[solid.hold.0], solid.hold.1);
        for (k, time) in times.into_iter().enumerate() {
            self.spans[i][k] = path.seek(self.spans[i][k], time);
            let own = path.at(self.spans[i][k], time);
            let placed = match frame {
                Frame::World => own,
                Frame::Keys(p) => rig.paths[p].placement(time).then(&own),
                Frame::Solid(s) if self.looks[s][k].0 == time => self.looks[s][k].1.then(&own),
                Frame::Solid(s) => rig.keyed(s, time).then(&own),
            };
            self.looks[i][k] = (time, placed);
        }
        let (early, late) = (times[1] - times[0], times[2] - times[1]);
        let jumps = path.jumps_between(self.spans[i][0], self.spans[i][2]);
        if jumps || !(early > 0.0 && late > 0.0 && early + late > SIGHT_S) {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let [(_, a), (_, b), (_, c)] = &self.looks[i];
        let (v0, v1) = ((b.position - a.position) / early, (c.position - b.position) / late);
        let w0 = rotation::log(b.rotation * a.rotation.conjugate()) / early;
        let w1 = rotation::log(c.rotation * b.rotation.conjugate()) / late;
        // Physics may take longer than the keys.
        let pace = (step.to - step.from) / step.h;
        let per_s = 2.0 * pace * pace / (early + late);
        let axes = Axes::new(b.rotation, solid.inertia);
        let spin = (w0 + w1) * (0.5 * pace);
        let torque =
            axes.scale((w1 - w0) * per_s, solid.inertia) + spin.cross(axes.scale(spin, solid.inertia));
        ((v1 - v0) * (per_s * solid.mass), torque)
    }
}
