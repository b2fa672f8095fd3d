//! When the forces of a step cannot be found: bodies are assembled where they have come to on their own (Faure 1998).
//!
//! Rows are taken anew at every round, so this closes joints however far a step has carried them; what it costs is
//! energy, and with joints of several bodies a share of the angular momentum. It is for the one step in a thousand.

use super::{Constraints, Part, place};
use crate::assemble::Goal;
use crate::dynamics::top;
use crate::joint::End;
use crate::rig::Rig;
use crate::rotation;
use crate::scene::Placement;
use crate::solve::MOST;

/// Rounds of closing; and those that are taken whatever the limits of a step: joints torn open would stay so.
const MOST_ROUNDS: usize = 30;
const LEAST_ROUNDS: usize = 3;

impl Constraints {
    /// Assembles the bodies; whether joints are closed.
    pub(super) fn force(&mut self, rig: &Rig, state: &mut Part<'_>, to: f64, h: f64) -> bool {
        for (i, body) in self.bodies.iter_mut().enumerate() {
            let (shift, _) = self.room.movers[i].free();
            let before = &self.room.before[i];
            // Contacts have pushed it meanwhile.
            let (force, torque) = self.room.pushes[i];
            let gains = self.room.movers[i].gains(force, torque);
            state.solids[i].velocity += gains.0;
            state.solids[i].momentum += gains.1;
            let turned = match self.room.yields[i].coasts {
                true => {
                    let spun = before.momentum + gains.1 * 0.5;
                    top::turn(before.orientation, spun, rig.solids[i].per_inertia, h)
                }
                false => state.solids[i].orientation,
            };
            let position = before.position + shift + force * self.room.movers[i].mobility().shift;
            body.placement = Placement { position, rotation: turned };
        }
        for (j, hold) in self.holds.iter().enumerate() {
            self.assembly.hold(&rig.joints, j, hold.to, hold.on);
            if rig.joints[j].anchor.is_some() {
                self.assembly.anchor(j, rig.joints[j].first_frame(&rig.paths, to));
            }
            self.assembly.grab(j, state.joints[j].grabbed.unwrap_or(rig.joints[j].frames[1]));
        }
        self.free.iter_mut().zip(&self.bodies).for_each(|(free, body)| *free = body.placement);
        let goal = Goal {
            opening: super::CLOSED * self.link,
            angle: super::CLOSED,
            rounds: MOST_ROUNDS,
            nearest: false,
        };
        let keyed = |end: End| place(rig, end, &[], to);
        let (mut rounds, clock, limited) = (0, self.clock, rig.solver.limited);
        let go_on = || {
            rounds += 1;
            !limited || rounds <= LEAST_ROUNDS || rounds <= rig.solver.rounds && clock.has_time()
        };
        let outcome = self.assembly.close(&rig.joints, &mut self.bodies, &keyed, &goal, |_, _, _| {}, go_on);
        for (i, s) in state.solids.iter_mut().enumerate() {
            if !self.jointed[i] || s.fixed() {
                continue;
            }
            let (from, at) = (&self.free[i], &self.bodies[i].placement);
            s.velocity += (at.position - from.position) / h;
            let turned = rotation::log(at.rotation * from.rotation.conjugate());
            let before = &self.room.before[i];
            if self.room.yields[i].coasts {
                s.momentum = before.momentum
                    + self.room.movers[i].gains(self.room.pushes[i].0, self.room.pushes[i].1).1;
            }
            s.momentum += top::angular_momentum(at.rotation, turned / h, rig.solids[i].inertia);
            (s.position, s.orientation) = (at.position, at.rotation);
        }
        // Rates are settled where the bodies are.
        for (i, body) in self.bodies.iter().enumerate() {
            self.room.axes[i] = glam::DMat3::from_quat(body.placement.rotation);
        }
        for (j, hold) in self.holds.iter_mut().enumerate() {
            for e in 0..2 {
                if let Some(body) = self.system.structure.ends[j][e] {
                    let Placement { position, rotation } = self.bodies[body].placement;
                    hold.end[e] = hold.side(true, e, position, (&self.room.axes[body], rotation));
                }
            }
            self.room.open[j] = self.assembly.open()[j];
            self.room.multipliers[j] = [0.0; MOST];
            state.joints[j].multipliers = [0.0; MOST];
        }
        outcome.reached()
    }
}
