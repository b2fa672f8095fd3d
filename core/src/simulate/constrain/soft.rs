//! Springs in joints, solved with them: as exact as an actuator of its own, and firm when they are stiff.
//!
//! Along one row, with `e` the error, `m` the inertia that the row moves, `a` the acceleration of everything else, the
//! spring obeys `e'' = -k e - c e' + a`. Its exact answer over the step (see [`crate::dynamics::response`]) says where it
//! would end, `e*` and `v*`, and how far an unknown extra force `f` of other joints moves it: `g f / m` instead of
//! `h^2 f / 2 m`. Both hold when the row is given the compliance
//!
//! ```text
//!     e + y l = t,     y = (h^2 / 2m) (1 - p) / p,     p t = e* - (1 - p) e_free,     p = 1 - 2 g / h^2
//! ```
//!
//! which vanishes for a stiff spring (a firm joint) and grows without bounds for a soft one (a mere force). The same
//! with `b` for `g` and `h` for `h^2 / 2` gives its impulse on velocities.

// Rows are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::{Constraints, Part};
use crate::assemble::Mobility;
use crate::dynamics::response::Response;
use crate::dynamics::top::Axes;
use crate::joint::{End, Kind, Measure, Rows, SIGNS, Side};
use crate::rig::{Drive, Rig};
use crate::solve::MOST;
use glam::{DMat3, DVec3};

/// One row of a spring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Soft {
    /// p and p t, for positions.
    hold: f64,
    aim: f64,
    /// The same for velocities.
    rate_hold: f64,
    rate_aim: f64,
    /// Row displacement per constant force of a free body, and velocity per impulse.
    shift: f64,
    kick: f64,
    /// The most it pulls beyond what it anticipates, and whether it does so already.
    strength: f64,
    ahead: f64,
    spent: bool,
    /// The law it was made of, and the share of it that it pulls by: less where a muscle is at its limit.
    law: Felt,
    share: f64,
}

/// A muscle at its limit pulls within this share of it, below and above.
const SATURATED_WITHIN: [f64; 2] = [0.03, 0.01];

/// Springs that answer at more than this (1/s) do so at once; beyond it numbers end.
const FIRM: f64 = 1e12;

/// Springs that go through more than this of their swing in a step (rad) are damped.
const SWINGS: f64 = 2.0;

/// So many springs are answered for at a time.
const SIDE_BY_SIDE: usize = 4;

/// Softer rows than this are forces.
const LEAST_HOLD: f64 = 1e-9;

impl Default for Soft {
    /// A firm row.
    fn default() -> Self {
        Soft {
            hold: 1.0,
            aim: 0.0,
            rate_hold: 1.0,
            rate_aim: 0.0,
            shift: 0.0,
            kick: 0.0,
            strength: f64::INFINITY,
            ahead: 0.0,
            spent: false,
            law: Felt::default(),
            share: 1.0,
        }
    }
}

impl Soft {
    /// What is left of the row's equation, times p.
    #[inline]
    pub fn residual(&self, error: f64, multiplier: f64) -> f64 {
        if self.spent {
            return 0.0;
        }
        self.hold * error + self.shift * (1.0 - self.hold) * multiplier - self.aim
    }

    /// One over p.
    #[inline]
    pub fn unscale(&self) -> f64 {
        1.0 / self.hold
    }

    /// The compliance y; what pulls its utmost bears nothing more.
    #[inline]
    pub fn give(&self) -> f64 {
        if self.spent { f64::INFINITY } else { self.shift * (1.0 - self.hold) / self.hold }
    }

    /// The same for velocities, and what the row's rate is to be.
    #[inline]
    pub fn rate(&self) -> (f64, f64) {
        (self.kick * (1.0 - self.rate_hold) / self.rate_hold, self.rate_aim / self.rate_hold)
    }

    /// Cuts what is beyond its strength; whether that is new.
    pub fn spend(&mut self, multiplier: &mut f64) -> bool {
        let most = self.most(*multiplier);
        if self.spent || most == *multiplier {
            return false;
        }
        *multiplier = most;
        self.spent = true;
        true
    }

    /// Has a muscle pull by less of its law where that would be more than it can, and by more again where it could; whether
    /// that is new. A constant pull instead, which is what `spend` has of a spring, would fling a light body past its target
    /// within the step: the secant of the cut law falls to nothing there.
    #[inline(always)]
    pub fn ease(&mut self, multiplier: f64, h: f64, more: bool) -> bool {
        let pull = (multiplier - self.ahead).abs();
        let [below, above] = SATURATED_WITHIN;
        let least = if more && self.share < 1.0 { self.strength * (1.0 - below) } else { 0.0 };
        if self.spent || pull <= self.strength * (1.0 + above) && pull >= least {
            return false;
        }
        let share = (self.share * self.strength / pull).min(1.0);
        if share == self.share || !share.is_finite() {
            return false;
        }
        let whole = self.law;
        let Felt { k, c, forward, yielding, ahead, .. } = whole;
        let known = ahead * yielding;
        let eased = Felt { k: k * share, c: c * share, forward: (forward - known) * share + known, ..whole };
        let firm = if eased.is_firm() { 0.0 } else { eased.k };
        let (soft, _) = eased.answer(Response::new(firm, eased.damping(h), h), h);
        *self = Soft { law: whole, share, ..soft };
        true
    }

    /// Whether a muscle is at its limit.
    pub fn is_eased(&self) -> bool {
        self.spent || self.share < 1.0
    }

    /// Cuts the pull of several rows at right angles to one strength, whatever its direction; whether that is new.
    pub fn spend_together(rows: &mut [Soft], multipliers: &mut [f64; MOST]) -> bool {
        let pull = multipliers[..rows.len()].iter().map(|l| l * l).sum::<f64>().sqrt();
        let mut pulling = rows.iter().filter(|row| !row.spent);
        let Some(strength) = pulling.next().map(|row| row.strength).filter(|most| pull > *most) else {
            return false;
        };
        let share = strength / pull;
        multipliers[..rows.len()].iter_mut().for_each(|l| *l *= share);
        rows.iter_mut().for_each(|row| row.spent = true);
        true
    }

    /// What it would pull with if its body had no other joints and only so far to go, `free` being where the row ends
    /// without it.
    fn alone(&self, end: f64, free: f64) -> f64 {
        if self.shift > 0.0 { (end - free) / self.shift } else { 0.0 }
    }

    /// As much of a pull as it can. Not `clamp`: what is ahead may be beyond all numbers until the body is taken out.
    pub fn most(&self, pull: f64) -> f64 {
        pull.max(self.ahead - self.strength).min(self.ahead + self.strength)
    }

    /// Whether it pulls its utmost.
    pub fn is_spent(&self) -> bool {
        self.spent
    }
}

/// What a row of a spring is up to in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Felt {
    /// The error at the start, where it ends without the spring, and how fast it grows; what its aim does to that.
    error: f64,
    free: f64,
    rate: f64,
    aim_rate: f64,
    /// Acceleration per force along the row.
    yielding: f64,
    /// Stiffness and damping per inertia, and what else the spring pulls with.
    k: f64,
    c: f64,
    forward: f64,
    strength: f64,
    ahead: f64,
}

impl Felt {
    /// The rows as springs, and what each would pull with alone.
    #[inline(always)]
    fn answers(felt: &[Felt], h: f64, soft: &mut [Soft; MOST]) -> [f64; MOST] {
        let mut alone = [0.0; MOST];
        // Muscles have three, and registers four.
        for (n, felt) in felt.chunks(SIDE_BY_SIDE).enumerate() {
            let (mut k, mut c) = ([0.0; SIDE_BY_SIDE], [0.0; SIDE_BY_SIDE]);
            for (i, f) in felt.iter().enumerate() {
                (k[i], c[i]) = (if f.is_firm() { 0.0 } else { f.k }, f.damping(h));
            }
            let answers = Response::several(k, c, h);
            for (i, f) in felt.iter().enumerate() {
                let r = n * SIDE_BY_SIDE + i;
                (soft[r], alone[r]) = f.answer(answers[i], h);
            }
        }
        alone
    }

    fn is_firm(&self) -> bool {
        self.k > FIRM * FIRM
    }

    /// A spring that swings to and fro within a step cannot be shown swinging; what it stores would only come back as noise.
    /// It settles instead, the stiffer the more, as if damped critically.
    #[inline(always)]
    fn damping(&self, h: f64) -> f64 {
        let (c, swings) = (self.c.min(FIRM), self.k.sqrt() * h);
        match swings > SWINGS {
            _ if self.is_firm() => 0.0,
            true => c.max(2.0 * self.k.sqrt() * (1.0 - SWINGS / swings)),
            false => c,
        }
    }

    #[inline(always)]
    fn answer(&self, answer: Response, h: f64) -> (Soft, f64) {
        let Felt { error, free, rate, aim_rate, yielding, k, forward, strength, ahead, .. } = *self;
        let firm = self.is_firm();
        let answer = if firm { Response { b: 0.0, b_rate: 0.0, g: 0.0, h: 0.0 } } else { answer };
        let half = 0.5 * h * h;
        let other = (free - error - h * rate) / half;
        let push = if firm { 0.0 } else { other + forward - k * error };
        let end = if firm { 0.0 } else { error + rate * answer.b + push * answer.g };
        let end_rate = if firm { 0.0 } else { rate * answer.b_rate + push * answer.b };
        let hold_share = (1.0 - answer.g / half).clamp(LEAST_HOLD, 1.0);
        let rate_share = (1.0 - answer.b / h).clamp(LEAST_HOLD, 1.0);
        let soft = Soft {
            hold: hold_share,
            aim: end - (1.0 - hold_share) * free,
            rate_hold: rate_share,
            rate_aim: end_rate - (1.0 - rate_share) * (rate + h * other) + rate_share * aim_rate,
            shift: half * yielding,
            kick: yielding,
            strength,
            ahead,
            // What moves nothing pulls at nothing: a hand along the arm of a body that only turns.
            spent: yielding == 0.0,
            law: *self,
            share: 1.0,
        };
        (soft, soft.alone(end, free))
    }
}

impl Constraints {
    /// Makes the springs of the step.
    #[inline(always)]
    pub(super) fn soften(&mut self, rig: &Rig, state: &Part<'_>, drives: &[Drive], h: f64) {
        let time = state.time;
        // Of every body: what it yields, and how it moves now. Both are made anew before they are used for anything else.
        for (i, s) in self.room.before.iter().enumerate().filter(|(i, _)| self.jointed[*i]) {
            let (body, per_inertia) = (&self.bodies[i], rig.solids[i].per_inertia);
            self.room.mobility[i] = Mobility::along(body.per_mass, &self.room.axes[i], body.per_inertia);
            self.room.forces[i] =
                (s.velocity, Axes::of(self.room.axes[i], per_inertia).scale(s.momentum, per_inertia));
        }
        for (j, joint) in rig.joints.iter().enumerate() {
            if !self.holds[j].is_soft || !self.holds[j].on {
                continue;
            }
            let hold = &self.holds[j];
            let [a, b] = &hold.start;
            // They are made anew before they are used.
            let rows = &mut self.room.rows[j];
            rows.set(joint, a, b, &hold.from, Measure::Products);
            // What it is held to moves, and so do ends that follow keys: both change the error by themselves.
            let (aimed, _) = Rows::errors_between(joint, a, b, &hold.to);
            let ends = self.system.structure.ends[j];
            let later = match ends {
                [Some(_), Some(_)] => aimed,
                ends => {
                    let sides: [&Side; 2] = std::array::from_fn(|e| match ends[e] {
                        Some(_) => &hold.start[e],
                        None => &hold.end[e],
                    });
                    Rows::errors_between(joint, sides[0], sides[1], &hold.to).0
                }
            };
            // And of either end: where it goes without joints.
            let mut moving = [None; 2];
            for e in 0..2 {
                if let Some(body) = ends[e] {
                    let free = self.room.movers[body].free();
                    moving[e] = Some((&self.room.mobility[body], self.room.forces[body], free));
                }
            }
            let translations = joint.kind.translations();
            let mut felt = [Felt::default(); MOST];
            // Of a muscle, which turns the one against the other: by how much they turn, how fast, and how they yield.
            let (mut turned, mut spun, mut turns) = (DVec3::ZERO, DVec3::ZERO, DMat3::ZERO);
            for (e, moving) in moving.iter().enumerate().filter(|_| hold.muscle) {
                let Some((mobility, (_, spin), (_, turn))) = *moving else { continue };
                (turned, spun) = (turned + turn * SIGNS[e], spun + spin * SIGNS[e]);
                turns += mobility.turn;
            }
            // And in the axes of its body, what it pulls with.
            let (ahead, held) = match joint.kind {
                Kind::Pose(solid) => {
                    let (back, torque) = (b.turned.conjugate(), &state.solids[solid].torque);
                    (back * torque.ahead, back * torque.held())
                }
                _ => (DVec3::ZERO, DVec3::ZERO),
            };
            for r in 0..rows.count {
                let aim_rate = (rows.error[r] - aimed[r]) / h;
                let carried = (rows.error[r] - later[r]) / h;
                let mut free = rows.error[r] - carried * h;
                let mut rate = -carried;
                let mut yielding = 0.0;
                if hold.muscle {
                    let row = rows.on[1][r].angular;
                    (free, rate) = (free + row.dot(turned), rate + row.dot(spun));
                    yielding = row.dot(turns * row);
                } else {
                    for (e, moving) in moving.iter().enumerate() {
                        let Some((mobility, (velocity, spin), (shift, turn))) = *moving else { continue };
                        let row = &rows.row(e, r);
                        free += row.rate(shift, turn);
                        rate += row.rate(velocity, spin);
                        yielding += row.rate(row.linear * mobility.shift, mobility.turn * row.angular);
                    }
                }
                let (k, c, forward, strength) = match joint.kind {
                    Kind::Pose(solid) => {
                        let drive = &drives[solid];
                        let inertia = rig.solids[solid].inertia.to_array()[r];
                        // The paper's torque is that of the body alone; the row moves its parent, too.
                        let share = inertia * yielding;
                        let forward =
                            drive.damping * share * (1.0 - drive.keep_up) * aim_rate - held[r] * yielding;
                        (drive.stiffness * share, drive.damping * share, -forward, drive.max_torque)
                    }
                    _ => {
                        let Some(spring) = &joint.spring else { continue };
                        let pair = if r < translations { &spring.slide } else { &spring.turn };
                        match pair {
                            Some([k, c]) => {
                                (k.at(time) * yielding, c.at(time) * yielding, 0.0, spring.strength)
                            }
                            None => (f64::INFINITY, 0.0, 0.0, spring.strength),
                        }
                    }
                };
                let error = rows.error[r];
                let ahead = if r < 3 { ahead[r] } else { 0.0 };
                felt[r] = Felt { error, free, rate, aim_rate, yielding, k, c, forward, strength, ahead };
            }
            let soft = &mut self.room.softs[j];
            let mut alone = Felt::answers(&felt[..rows.count], h, soft);
            // A hand far off pulls its utmost from the start: rounds need not find out that nothing reaches it.
            if matches!(joint.ends[0], End::Hand(_))
                && Soft::spend_together(&mut soft[..rows.count], &mut alone)
            {
                self.room.multipliers[j] = alone;
            }
        }
    }

    /// The mean torque of the actuators that turn bodies against their parents, noted where they are looked for.
    pub(super) fn note_pulls(&self, rig: &Rig, state: &mut Part<'_>, h: f64) {
        for (j, joint) in rig.joints.iter().enumerate() {
            if let Kind::Pose(solid) = joint.kind {
                let (along, kick) = (&self.room.multipliers[j], &self.room.wanted[j]);
                let pull = DVec3::new(along[0] + kick[0] / h, along[1] + kick[1] / h, along[2] + kick[2] / h);
                let pull = self.holds[j].end[1].turned * pull;
                let memory = &mut state.solids[solid].torque;
                memory.action = pull;
                memory.saturated = self.room.softs[j][..3].iter().any(Soft::is_eased);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strength_beyond_all_numbers_cuts_nothing() {
        let soft = Soft { ahead: f64::INFINITY, strength: f64::INFINITY, ..Soft::default() };
        assert_eq!(soft.most(2.0), 2.0);
        let soft = Soft { ahead: 1.0, strength: 3.0, ..Soft::default() };
        assert_eq!([-9.0, 0.5, 9.0].map(|pull| soft.most(pull)), [-2.0, 0.5, 4.0]);
    }
}
