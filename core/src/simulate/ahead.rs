//! What keys need: the accelerations of bodies that move as they are keyed.
//!
//! Keys are looked at in the middle of the step before, of this step and of the next: what changes from one to the next is
//! what the step between has to give. Keys with corners so ask for much in little time, as they would of a living thing.

use crate::dynamics::top::Axes;
use crate::rig::{Frame, Rig};
use crate::rotation;
use crate::scene::Placement;
use glam::DVec3;

/// Where keys have bodies, remembered from step to step.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    /// Of each solid the three moments, and the span of its path.
    looks: Vec<[(f64, Placement); 3]>,
    spans: Vec<usize>,
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
        Ahead { looks: vec![[(f64::NAN, Placement::IDENTITY); 3]; solids], spans: vec![0; solids] }
    }

    /// Where a solid is keyed at the moments of a step. What carries it has been looked at before.
    fn look(&mut self, rig: &Rig, i: usize, times: [f64; 3]) -> [Placement; 3] {
        let before = self.looks[i];
        let (path, frame) = rig.solids[i].hold;
        for (k, time) in times.into_iter().enumerate() {
            self.looks[i][k] = match before.iter().find(|(t, _)| *t == time) {
                Some(known) => *known,
                None => {
                    let span = rig.paths[path].seek(self.spans[i], time);
                    self.spans[i] = span;
                    let own = rig.paths[path].at(span, time);
                    let placed = match frame {
                        Frame::World => own,
                        Frame::Keys(p) => rig.paths[p].placement(time).then(&own),
                        Frame::Solid(s) if self.looks[s][k].0 == time => self.looks[s][k].1.then(&own),
                        Frame::Solid(_) => rig.keyed(i, time),
                    };
                    (time, placed)
                }
            };
        }
        self.looks[i].map(|(_, p)| p)
    }

    /// Force and torque about its centre that a solid's keys need of it in a step.
    pub fn needs(&mut self, rig: &Rig, i: usize, step: Span) -> (DVec3, DVec3) {
        let range = &rig.range;
        let half = 0.5 * (step.to - step.from);
        // Before the first frame nothing is known, and after the last nothing is needed; loops go on.
        let end = if range.turns > 1 { f64::INFINITY } else { range.start() + range.length() };
        let times = [step.from - half, step.from + half, step.to + half].map(|t| t.clamp(range.start(), end));
        let path = &rig.paths[rig.solids[i].hold.0];
        let [a, b, c] = self.look(rig, i, times);
        let (early, late) = (times[1] - times[0], times[2] - times[1]);
        if path.jumps_between(path.seek(self.spans[i], times[0]), self.spans[i])
            || !(early > 0.0 && late > 0.0)
        {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let (v0, v1) = ((b.position - a.position) / early, (c.position - b.position) / late);
        let w0 = rotation::log(b.rotation * a.rotation.conjugate()) / early;
        let w1 = rotation::log(c.rotation * b.rotation.conjugate()) / late;
        // Physics may take longer than the keys.
        let pace = (step.to - step.from) / step.h;
        let solid = &rig.solids[i];
        let axes = Axes::new(b.rotation, solid.inertia);
        let spin = (w0 + w1) * (0.5 * pace);
        let torque = axes.scale((w1 - w0) * (pace / step.h), solid.inertia)
            + spin.cross(axes.scale(spin, solid.inertia));
        ((v1 - v0) * (pace / step.h * solid.mass), torque)
    }
}
