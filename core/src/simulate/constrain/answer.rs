//! How bodies with joints move in a step without contacts, and how they answer to impulses at contacts.
//!
//! Contacts are found and solved before joints are closed exactly, and need to know what joints will do. To first order
//! that is linear in velocities. With `v` those at the end of the step without joints, `W` what bodies yield, J the rows of
//! the joints and y their compliance (nothing but for springs, see [`super::soft`]):
//!
//! ```text
//!     J v' + y q = a,   v' = v + W (p + J^T q)
//!     v' = v0 + P p,    P = W - W J^T A^-1 J W,    A = J W J^T + y
//! ```
//!
//! with `p` the impulses of contacts. Few bodies touch at a time: P is made for these alone, six columns each.
//! Ends of ranges take part where bodies are heading beyond them, and actuators at their utmost pull as much as that, whatever
//! contacts do. Which these are is found without contacts first, and looked at again with them.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::closing::FAR_INSIDE;
use super::{CLOSED, Constraints, Part, Room};
use crate::assemble::{Mobility, Square};
use crate::dynamics::top::Axes;
use crate::joint::{End, Kind, Measure, Rows};
use crate::rig::{Drive, Rig};
use crate::solve::MOST;
use glam::DVec3;

/// Velocity and spin.
pub type Rate = (DVec3, DVec3);

/// Scratch for answers.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Of every body at the end of the step: without joints, and with them but without contacts.
    alone: Vec<Rate>,
    rates: Vec<Rate>,
    /// And with both.
    pub(super) after: Vec<Rate>,
    /// Impulses of the joints without contacts, and with them.
    alone_held: Vec<[f64; MOST]>,
    held: Vec<[f64; MOST]>,
    /// Along so many rows of each.
    held_rows: Vec<usize>,
    /// They are those of this step.
    pub(super) is_known: bool,
    /// Which ranges are at their end.
    caught: Vec<bool>,
    /// Impulses of actuators at their utmost.
    spent: Vec<[f64; MOST]>,
}

impl Answer {
    pub(super) fn new(solids: usize, joints: usize) -> Answer {
        let none = vec![(DVec3::ZERO, DVec3::ZERO); solids];
        Answer {
            alone: none.clone(),
            rates: none.clone(),
            after: none,
            alone_held: vec![[0.0; MOST]; joints],
            held: vec![[0.0; MOST]; joints],
            held_rows: vec![0; joints],
            is_known: false,
            caught: vec![false; joints],
            spent: vec![[0.0; MOST]; joints],
        }
    }

    /// A body stands, as far as joints know.
    pub(super) fn forget(&mut self, body: usize) {
        self.alone[body] = (DVec3::ZERO, DVec3::ZERO);
    }

    /// The impulse along a row of a joint, with contacts; none along rows that it had not when impulses were found.
    #[inline(always)]
    pub(super) fn impulse(&self, joint: usize, row: usize) -> f64 {
        if row < self.held_rows[joint] { self.held[joint][row] + self.spent[joint][row] } else { 0.0 }
    }
}

/// How often ranges are caught or let go, and actuators found to be at their utmost.
const MOST_CHANGES: usize = 3;

impl Constraints {
    /// Finds how the bodies, which have moved freely for `h` seconds to scene time `to`, move with their joints. `yields`
    /// tells what a body yields by, and its velocity and spin without joints.
    pub fn expect(
        &mut self,
        rig: &Rig,
        state: &mut Part<'_>,
        drives: &[Drive],
        (from, to): (f64, f64),
        h: f64,
        yields: impl Fn(usize) -> (Mobility, Rate),
    ) {
        pulp::Arch::new().dispatch(Expecting { c: self, rig, state, drives, from, to, h, yields });
    }

    #[inline(always)]
    fn expect_in_step(
        &mut self,
        rig: &Rig,
        state: &mut Part<'_>,
        drives: &[Drive],
        (from, to): (f64, f64),
        h: f64,
        yields: impl Fn(usize) -> (Mobility, Rate),
    ) {
        self.set_up(rig, state, drives, (from, to), h);
        for i in 0..rig.solids.len() {
            if self.jointed[i] {
                (self.room.mobility[i], self.room.answer.alone[i]) = yields(i);
            }
        }
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            // What pushed in the step before is likely to push again.
            self.room.answer.caught[j] = joint.kind.one_sided() && state.joints[j].multipliers[0] < 0.0;
            self.room.answer.spent[j] = [0.0; MOST];
            if !hold.on || joint.kind.one_sided() && !self.room.answer.caught[j] {
                self.room.rows[j].clear();
            } else if !hold.is_soft {
                self.take_start(rig, j); // those of springs are there
            }
        }
        self.expect_rates(rig, to, h);
        for _ in 0..MOST_CHANGES {
            if !self.reconsider(rig, to, h) {
                break;
            }
        }
        self.room.answer.is_known = true;
    }

    /// Has the movers guess that bodies end where they were found to go.
    pub(super) fn guess(&mut self, rig: &Rig, h: f64) {
        for (i, mover) in self.room.movers.iter_mut().enumerate() {
            let before = &self.room.before[i];
            if self.jointed[i] && !before.fixed() {
                let (velocity, spin) = self.room.answer.after[i];
                // These are still those of the start.
                let per_inertia = rig.solids[i].per_inertia;
                let spun = Axes::of(self.room.axes[i], per_inertia).scale(before.momentum, per_inertia);
                mover.guess((before.velocity + velocity) * (0.5 * h), (spun + spin) * (0.5 * h));
            }
        }
    }

    /// The rows of a joint at the start of the step.
    #[inline(always)]
    fn take_start(&mut self, rig: &Rig, j: usize) {
        let (hold, joint) = (&self.holds[j], &rig.joints[j]);
        let [a, b] = &hold.start;
        match hold.point {
            true => self.room.rows[j].hold_point(a.lever, b.lever, b.point - a.point),
            false => self.room.rows[j].set(joint, a, b, &hold.to, Measure::Products),
        }
    }

    /// Velocities of all bodies with the rows there are.
    #[inline(always)]
    fn expect_rates(&mut self, rig: &Rig, to: f64, h: f64) {
        self.system.harden();
        self.room.answer.rates.copy_from_slice(&self.room.answer.alone);
        for (j, rows) in self.room.rows.iter().enumerate() {
            if self.room.answer.spent[j] == [0.0; MOST] {
                continue;
            }
            for (e, body) in self.system.structure.ends[j].iter().enumerate() {
                let Some(body) = *body else { continue };
                let mut push = (DVec3::ZERO, DVec3::ZERO);
                rows.push(e, &self.room.answer.spent[j], &mut push);
                yield_to(&mut self.room.answer.rates[body], &self.room.mobility[body], push);
            }
        }
        for (j, joint) in rig.joints.iter().enumerate() {
            let (rows, hold) = (&self.room.rows[j], &self.holds[j]);
            // No closures where all is compiled for vectors: they would not be.
            let mut moving = [(DVec3::ZERO, DVec3::ZERO); 2];
            for e in 0..2 {
                moving[e] = match self.system.structure.ends[j][e] {
                    Some(i) => self.room.answer.rates[i],
                    None => match joint.ends[e] {
                        End::Keys(p) => rig.paths[p].velocity(to),
                        End::Hand(h) => rig.hands[h].velocity(to),
                        _ => continue,
                    },
                };
            }
            let rates = rows.rates(&moving);
            let slid = if joint.anchor.is_some() && rows.point { self.slid(rig, j, to) } else { DVec3::ZERO };
            for r in 0..rows.count {
                let mut wanted = -rates[r];
                match joint.kind {
                    _ if joint.anchor.is_some() && r < 3 => wanted += slid[r],
                    Kind::SlideTo | Kind::TurnTo => wanted += (hold.to.rest - hold.from.rest) / h,
                    // What is past its end is put right later, without any speed.
                    _ if joint.kind.one_sided() => wanted -= rows.error[r].min(0.0) / h,
                    _ => {}
                }
                if hold.is_soft {
                    if self.room.answer.spent[j][r] != 0.0 {
                        self.system.soften(j, r, f64::INFINITY);
                        wanted = 0.0;
                    } else {
                        let (give, aim) = self.room.softs[j][r].rate();
                        self.system.soften(j, r, give);
                        wanted = aim - rates[r];
                    }
                }
                self.room.wanted[j][r] = wanted;
            }
        }
        self.system.prepare(&self.room.rows, &self.room.mobility);
        self.system.solve(&self.room.wanted, &mut self.room.change, || true);
        if let Some(tree) = self.system.tree() {
            for (i, rate) in self.room.answer.rates.iter_mut().enumerate() {
                let Some((velocity, spin)) = tree.moved(i) else { continue };
                *rate = (rate.0 + velocity, rate.1 + spin);
            }
        } else {
            self.room.forces.fill((DVec3::ZERO, DVec3::ZERO));
            self.system.structure.spread(&self.room.rows, &self.room.change, &mut self.room.forces);
            for (i, rate) in self.room.answer.rates.iter_mut().enumerate() {
                yield_to(rate, &self.room.mobility[i], self.room.forces[i]);
            }
        }
        self.room.answer.after.copy_from_slice(&self.room.answer.rates);
        self.room.answer.held.copy_from_slice(&self.room.change);
        self.room.answer.alone_held.copy_from_slice(&self.room.change);
        self.room
            .answer
            .held_rows
            .iter_mut()
            .zip(&self.room.rows)
            .for_each(|(held, rows)| *held = rows.count);
    }

    /// Catches ranges that bodies are heading beyond, lets go of those that would pull, and keeps actuators to their
    /// strength, with bodies moving at `after` and joints giving the impulses in `held`; whether there were any.
    fn change_caught(&mut self, rig: &Rig, h: f64) -> bool {
        if !self.any_range && !self.any_soft {
            return false;
        }
        let mut changed = false;
        for (j, joint) in rig.joints.iter().enumerate() {
            let (hold, held) = (&self.holds[j], &self.room.answer.held[j]);
            if !hold.on {
                continue;
            }
            if joint.kind.one_sided() {
                if self.room.answer.caught[j] {
                    if held[0] > 0.0 {
                        self.room.answer.caught[j] = false;
                        self.room.rows[j].clear();
                        changed = true;
                    }
                    continue;
                }
                let [a, b] = &hold.start;
                let moving = joint.ends.map(|end| match end {
                    End::Solid(i) => self.room.answer.after[i],
                    _ => (DVec3::ZERO, DVec3::ZERO),
                });
                if hold.inside.least(a, b) > FAR_INSIDE * h * (moving[1].1 - moving[0].1).length() {
                    continue;
                }
                let rows = Rows::between(joint, a, b, &hold.to, Measure::Products);
                if rows.count > 0 && rows.error[0].min(0.0) + rows.rates(&moving)[0] * h > CLOSED * self.link
                {
                    self.room.rows[j] = rows;
                    self.room.answer.caught[j] = true;
                    changed = true;
                }
            } else if hold.is_soft {
                for r in 0..self.room.rows[j].count {
                    let spent = &mut self.room.answer.spent[j][r];
                    let pull = held[r] / h;
                    let most = self.room.softs[j][r].most(pull);
                    if *spent == 0.0 && most != pull {
                        // Nothing at all would look like an actuator that is not spent.
                        *spent = if most == 0.0 { f64::MIN_POSITIVE } else { most * h };
                        changed = true;
                    }
                }
            }
        }
        changed
    }

    /// Looks again at what is caught and what is spent, now that contacts have been found; whether anything changed, and
    /// with it how bodies move without contacts and answer to them.
    pub fn reconsider(&mut self, rig: &Rig, to: f64, h: f64) -> bool {
        let changed = self.change_caught(rig, h);
        if changed {
            self.expect_rates(rig, to, h);
        }
        changed
    }

    /// Velocity and spin of a body at the end of the step without contacts.
    pub fn expected(&self, body: usize) -> Rate {
        self.room.answer.rates[body]
    }

    /// What pushes on each of `bodies` do to each: into `out`, by the one pushed and the one moved.
    pub fn couple(&mut self, bodies: &[u32], out: &mut [Square]) {
        self.system.couple(&self.room.rows, &self.room.mobility, bodies, out);
    }

    /// Finds what impulses on bodies do to all of them.
    pub fn answer(&mut self, impulse: impl Fn(usize) -> Rate) {
        self.respond(impulse);
        for (after, at) in self.room.answer.after.iter_mut().zip(&self.room.answer.rates) {
            *after = (at.0 + after.0, at.1 + after.1);
        }
        for (j, held) in self.room.answer.held.iter_mut().enumerate() {
            *held = self.room.answer.alone_held[j];
            (0..self.room.rows[j].count).for_each(|r| held[r] += self.room.change[j][r]);
        }
    }

    /// Finds by how much pushes on bodies move all of them, with the rows and the matrix there are: into `after`.
    pub(super) fn respond(&mut self, push: impl Fn(usize) -> Rate) {
        if let Some(tree) = self.system.tree() {
            let Room { forces, wanted, change, answer, .. } = &mut self.room;
            forces.iter_mut().enumerate().for_each(|(i, force)| *force = push(i));
            wanted.fill([0.0; MOST]);
            tree.respond(forces, wanted, change);
            for (i, moved) in answer.after.iter_mut().enumerate() {
                *moved = tree.moved(i).unwrap_or_default();
            }
            return;
        }
        for (i, moved) in self.room.answer.after.iter_mut().enumerate() {
            *moved = (DVec3::ZERO, DVec3::ZERO);
            yield_to(moved, &self.room.mobility[i], push(i));
        }
        for (j, rows) in self.room.rows.iter().enumerate() {
            let moving = self.system.structure.ends[j]
                .map(|end| end.map_or((DVec3::ZERO, DVec3::ZERO), |i| self.room.answer.after[i]));
            let rates = rows.rates(&moving);
            (0..rows.count).for_each(|r| self.room.wanted[j][r] = -rates[r]);
        }
        self.system.solve(&self.room.wanted, &mut self.room.change, || true);
        self.room.forces.fill((DVec3::ZERO, DVec3::ZERO));
        self.system.structure.spread(&self.room.rows, &self.room.change, &mut self.room.forces);
        for (i, moved) in self.room.answer.after.iter_mut().enumerate() {
            yield_to(moved, &self.room.mobility[i], self.room.forces[i]);
        }
    }

    /// Velocity and spin of a body at the end of the step with the impulses of [`Self::answer`].
    pub fn answered(&self, body: usize) -> Rate {
        self.room.answer.after[body]
    }
}

/// What joints do in a step, compiled for the vectors that the processor has; see [`super::constrain`].
struct Expecting<'a, 'b, F> {
    c: &'a mut Constraints,
    rig: &'a Rig,
    state: &'a mut Part<'b>,
    drives: &'a [Drive],
    from: f64,
    to: f64,
    h: f64,
    yields: F,
}

impl<F: Fn(usize) -> (Mobility, Rate)> pulp::WithSimd for Expecting<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Expecting { c, rig, state, drives, from, to, h, yields } = self;
        c.expect_in_step(rig, state, drives, (from, to), h, yields);
    }
}

/// Adds what a push does.
#[inline(always)]
fn yield_to(rate: &mut Rate, mobility: &Mobility, push: Rate) {
    rate.0 += push.0 * mobility.shift;
    rate.1 += mobility.turn * push.1;
}
