//! One body in a step: how it moves freely, and how it yields to the forces of its joints.
//!
//! Forces act throughout the step, at the body's attitude in the middle of it. With `v`, `w` velocity and spin, `P` the
//! world angular momentum, `I` the inertia, `f` the force at lever `r`:
//!
//! ```text
//!     x1 = x0 + h v',  v' = (1 - s) v0 + s v1          v1 = v0 + h f / m
//!     q1 = turn(c) q0, c  = h I'^-1 (P0 + s h r' x f)  P1 = P0 + h r' x f,     r' = (1 - s) r0 + s r1
//! ```
//!
//! `turn` is Cayley's, `I'` the inertia half way round. With s = 1/2 this is the midpoint rule: it keeps momentum and
//! angular momentum of jointed bodies to the digit and lets no energy drift, at any length of the step: what the joints'
//! forces give to one body they take from the other (Gonzalez 1999). A body that is pulled so hard that it would swing
//! within the step (`h^2 f r` beyond its inertia) cannot be shown swinging, and keeping that energy would only make it
//! shiver: there s grows towards 1, which lets it settle.
//!
//! `r'` and `I'` hang on where the body ends. They are taken from a guess and held while forces are sought, so that
//! bodies answer to forces in proportion; the torque's slope as the lever turns on from the guess (`slope`) is part of
//! that proportion.
//!
//! A body with an actuator moves by its exact response (see [`crate::dynamics::response`]) and yields by it, too: less
//! the stiffer it is.

use crate::actuator::Memory;
use crate::assemble::Mobility;
use crate::dynamics::top::Axes;
use crate::rig::Solid;
use crate::simulate::SolidState;
use glam::{DMat3, DQuat, DVec3};

/// What a body's free motion gave way by: displacement and velocity per constant acceleration, for position and
/// orientation; `h^2 / 2` and `h` without an actuator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Yield {
    /// s^2 and s.
    pub shift: (f64, f64),
    /// s^2 and s.
    pub turn: (f64, f64),
    /// No actuator turns it and no air slows its spin.
    pub coasts: bool,
}

/// A stiff actuator takes a push back within the step, or even turns it round; impulses at the end of a step still move it by
/// this share of how far forces throughout the step do.
const STIFFEST: f64 = 0.25;

/// And never by less than this: a mobility of nothing is another kind of body.
const LEAST_SHARE: f64 = 1e-9;

impl Yield {
    /// Nothing but inertia.
    pub fn free(h: f64) -> Yield {
        Yield { shift: (0.5 * h * h, h), turn: (0.5 * h * h, h), coasts: false }
    }

    /// The driven mobility: what shares of its free velocity change an impulse leaves it with after a step of `h` seconds, in
    /// position and orientation. 1 without an actuator.
    #[inline(always)]
    pub fn driven(&self, h: f64) -> [f64; 2] {
        [self.shift, self.turn]
            .map(|(way, rate)| (rate / h).max(STIFFEST * (2.0 * way / (h * h))).max(LEAST_SHARE))
    }
}

/// A body during a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mover {
    position: DVec3,
    orientation: DQuat,
    momentum: DVec3,
    per_mass: f64,
    moments: DVec3,
    per_moments: DVec3,
    /// Free displacement and turn (Cayley vector).
    shift: DVec3,
    turn: DVec3,
    yields: Yield,
    /// Weight of the end of the step.
    pub late: f64,
    h: f64,
    /// The answer to a torque, held: `turned = base + mobility.turn * torque`.
    base: DVec3,
    mobility: Mobility,
    /// How far it had turned when that was held (Cayley vector).
    held: DVec3,
    /// Where it ends.
    turned: DVec3,
    pub end_position: DVec3,
    pub end_orientation: DQuat,
}

/// Cayley vectors reach infinity at half a turn; a step turns by less.
const LONGEST_CAYLEY: f64 = 8.0;

impl Mover {
    /// A body that went from `before`, turned like these axes, to `free` in `h` seconds without its joints.
    #[inline(always)]
    pub fn new(
        (before, axes): (&SolidState, &DMat3),
        free: &SolidState,
        solid: &Solid,
        yields: Yield,
        late: f64,
        h: f64,
    ) -> Mover {
        let moves = solid.simulate.position() && !before.fixed();
        let turns = solid.simulate.orientation() && !before.fixed();
        let per_moments = if turns { solid.per_inertia } else { DVec3::ZERO };
        let sway = (late - 0.5) * h;
        let mut yields = yields;
        yields.shift.0 += sway * yields.shift.1;
        yields.turn.0 += sway * yields.turn.1;
        yields.coasts &= turns;
        let mut shift = free.position - before.position;
        if moves && sway != 0.0 {
            shift += (free.velocity - before.velocity) * sway;
        }
        let axes = Axes::of(*axes, per_moments);
        let turn = match yields.coasts {
            true => axes.scale(before.momentum, per_moments) * h,
            false => cayley(free.orientation * before.orientation.conjugate()),
        };
        let per_mass = if moves { 1.0 / solid.mass } else { 0.0 };
        let shifts = yields.shift.0 * per_mass;
        // A guess of where it ends: it goes on as it did in the step before.
        let trend = |memory: &Memory, now: DVec3| match memory.step_before > 0.0 {
            true => (now - memory.momentum_before) * (0.5 * h / memory.step_before),
            false => DVec3::ZERO,
        };
        let half = before.velocity + trend(&before.force, before.velocity * solid.mass) * per_mass;
        let spin = before.momentum + trend(&before.torque, before.momentum);
        let (mut guess, mut turned) = (before.position + half * h, axes.scale(spin, per_moments) * h);
        if !moves {
            guess = free.position;
        }
        if !turns {
            turned = turn;
        }
        Mover {
            position: before.position,
            orientation: before.orientation,
            momentum: before.momentum,
            per_mass,
            moments: solid.inertia,
            per_moments,
            shift,
            turn,
            yields,
            late,
            h,
            base: turn,
            mobility: Mobility { shift: shifts, turn: DMat3::ZERO },
            held: turned,
            turned,
            end_position: guess,
            end_orientation: turn_quat(turned) * before.orientation,
        }
    }

    /// Has it end there, for a guess: so far on, and turned by a rotation vector.
    pub fn guess(&mut self, shift: DVec3, turned: DVec3) {
        if self.per_mass > 0.0 {
            self.end_position = self.position + shift;
        }
        if self.per_moments != DVec3::ZERO {
            self.turned = turned.clamp_length_max(LONGEST_CAYLEY);
            self.end_orientation = turn_quat(self.turned) * self.orientation;
        }
    }

    /// Holds lever and inertia of where it is now; `slope` is that of the torque as it turns, counted if it is more than
    /// a share `steep` of the inertia.
    #[inline(always)]
    pub fn hold(&mut self, slope: Option<&DMat3>, steep: f64) {
        let y = self.yields.turn.0;
        if self.per_moments == DVec3::ZERO || y == 0.0 {
            self.base = self.turn;
            return;
        }
        self.held = self.turned;
        let axes = Axes::between(self.orientation, self.end_orientation, self.per_moments);
        let per_inertia = axes.matrix(self.per_moments);
        let free = if self.yields.coasts { per_inertia * self.momentum * self.h } else { self.turn };
        self.base = free;
        self.mobility.turn = per_inertia * y;
        let largest = |m: &DMat3| m.x_axis.abs().max(m.y_axis.abs()).max(m.z_axis.abs()).max_element();
        if let Some(slope) = slope.filter(|slope| largest(slope) * self.swiftness() > steep) {
            let even = (*slope + slope.transpose()) * 0.5;
            let inertia = axes.matrix(self.moments) * (1.0 / y);
            let stiff = inertia + even;
            // A body that is pushed rather than pulled turns away from the force: without its slope it yields enough.
            if is_positive(&stiff, &inertia) {
                self.mobility.turn = stiff.inverse();
                self.base = free - self.mobility.turn * (even * (free - self.turned));
            }
        }
    }

    /// Moves it by `force` and `torque`.
    #[inline(always)]
    pub fn follow(&mut self, force: DVec3, torque: DVec3) {
        self.turned = self.base + self.mobility.turn * torque;
        self.place(force);
    }

    /// How far it is from where it is to where `force` and `torque` would have it, and by which rotation vector, to first order.
    #[inline(always)]
    pub fn leaves_for(&self, force: DVec3, torque: DVec3) -> (DVec3, DVec3) {
        let by = self.base + self.mobility.turn * torque - self.turned;
        // Of Cayley vectors.
        let turn = (by + self.turned.cross(by) * 0.5) / (1.0 + 0.25 * self.turned.length_squared());
        (self.position + self.shift + force * self.mobility.shift - self.end_position, turn)
    }

    #[inline(always)]
    fn place(&mut self, force: DVec3) {
        if self.turned.length_squared() > LONGEST_CAYLEY * LONGEST_CAYLEY {
            self.turned = self.turned.clamp_length_max(LONGEST_CAYLEY);
        }
        self.end_position = self.position + self.shift + force * self.mobility.shift;
        self.end_orientation = turn_quat(self.turned) * self.orientation;
    }

    /// How far from where it is now lever and inertia were held (Cayley vector).
    #[inline(always)]
    pub fn missed(&self) -> f64 {
        (self.turned - self.held).length()
    }

    /// How it yields, per force and per torque, over the step.
    #[inline(always)]
    pub fn mobility(&self) -> Mobility {
        self.mobility
    }

    /// The most it turns per torque, without any slope.
    #[inline(always)]
    pub fn swiftness(&self) -> f64 {
        self.per_moments.max_element() * self.yields.turn.0
    }

    /// Velocity and momentum that `force` and `torque`, constant over the step, add.
    #[inline(always)]
    pub fn gains(&self, force: DVec3, torque: DVec3) -> (DVec3, DVec3) {
        let turn = if self.per_moments == DVec3::ZERO { 0.0 } else { self.yields.turn.1 };
        (force * (self.yields.shift.1 * self.per_mass), torque * turn)
    }

    /// Free displacement and turn, without joints.
    pub fn free(&self) -> (DVec3, DVec3) {
        (self.shift, self.turn)
    }
}

/// Whether what is left of an inertia keeps at least half of itself every way.
#[inline(always)]
fn is_positive(stiff: &DMat3, inertia: &DMat3) -> bool {
    let m = *stiff - *inertia * 0.5;
    let minor = m.x_axis.x * m.y_axis.y - m.x_axis.y * m.y_axis.x;
    m.x_axis.x > 0.0 && minor > 0.0 && m.determinant() > 0.0
}

/// The Cayley vector of a rotation: its axis, twice the tangent of half its angle long.
#[inline(always)]
fn cayley(q: DQuat) -> DVec3 {
    let q = if q.w < 0.0 { -q } else { q };
    (DVec3::new(q.x, q.y, q.z) * (2.0 / q.w.max(1e-3))).clamp_length_max(LONGEST_CAYLEY)
}

/// The rotation of a Cayley vector.
#[inline(always)]
fn turn_quat(c: DVec3) -> DQuat {
    let half = c * 0.5;
    let per = 1.0 / (1.0 + half.length_squared()).sqrt();
    DQuat::from_xyzw(half.x * per, half.y * per, half.z * per, per)
}
