//! One body in a step: how it moves freely, and how it yields to the forces of its joints.
//!
//! Forces act throughout the step, at the body's attitude in the middle of it. With `v`, `w` velocity and spin, `P` the
//! world angular momentum, `f` the force at lever `r`:
//!
//! ```text
//!     x1 = x0 + h v',  v' = (1 - s) v0 + s v1          v1 = v0 + h f / m
//!     q1 = turn(c) q0, c  = h ((1 - s) w0 + s w1)      P1 = P0 + h r' x f,     r' = (1 - s) r0 + s r1
//! ```
//!
//! all vectors of the spin in the axes of the start (Simo and Wong 1991), `turn` Cayley's. With s = 1/2 the step keeps
//! energy, momentum and angular momentum of jointed bodies to the digit, at any length (Gonzalez 1999): what the joints'
//! forces give to one body they take from the other. A body that is pulled so hard that it would swing within the
//! step (`h^2 f r` beyond its inertia) cannot be shown swinging, and keeping that energy would only make it shiver: there
//! s grows towards 1, which lets it settle.
//!
//! A body with an actuator moves by its exact response (see [`crate::dynamics::response`]) and yields by it, too: less
//! the stiffer it is.

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

impl Yield {
    /// Nothing but inertia.
    pub fn free(h: f64) -> Yield {
        Yield { shift: (0.5 * h * h, h), turn: (0.5 * h * h, h), coasts: false }
    }
}

/// A body during a step.
#[derive(Clone, Copy, Debug)]
pub struct Mover {
    position: DVec3,
    orientation: DQuat,
    momentum: DVec3,
    per_mass: f64,
    /// World inertia at the start, and its inverse; zero for what does not turn.
    inertia: DMat3,
    per_inertia: DMat3,
    /// Free displacement and turn (Cayley vector).
    shift: DVec3,
    turn: DVec3,
    yields: Yield,
    /// Weight of the end of the step.
    pub late: f64,
    h: f64,
    /// What joints do to it: force, torque, and the slope of the torque as it turns.
    pub force: DVec3,
    pub torque: DVec3,
    pub slope: DMat3,
    /// Where it ends.
    pub turned: DVec3,
    pub end_position: DVec3,
    pub end_orientation: DQuat,
}

/// A turn changes by at most this much per round (rad): beyond it the slope says nothing.
const LARGEST_CHANGE_RAD: f64 = 0.8;

/// Cayley vectors reach infinity at half a turn; a step turns by less.
const LONGEST_CAYLEY: f64 = 8.0;

impl Mover {
    /// A body that went from `before` to `free` in `h` seconds without its joints.
    pub fn new(before: &SolidState, free: &SolidState, solid: &Solid, yields: Yield, late: f64, h: f64) -> Mover {
        let moves = solid.simulate.position() && !before.quarantined;
        let turns = solid.simulate.orientation() && !before.quarantined;
        let axes = Axes::new(before.orientation, solid.inertia);
        let per_inertia = if turns { axes.matrix(solid.per_inertia) } else { DMat3::ZERO };
        let sway = (late - 0.5) * h;
        let mut yields = yields;
        yields.shift.0 += sway * yields.shift.1;
        yields.turn.0 += sway * yields.turn.1;
        let coasts = yields.coasts && turns;
        yields.coasts = coasts;
        let turn = if coasts {
            per_inertia * before.momentum * h
        } else {
            cayley(free.orientation * before.orientation.conjugate())
        };
        let mut shift = free.position - before.position;
        if moves {
            shift += (free.velocity - before.velocity) * sway;
        }
        Mover {
            position: before.position,
            orientation: before.orientation,
            momentum: before.momentum,
            per_mass: if moves { 1.0 / solid.mass } else { 0.0 },
            inertia: if turns { axes.matrix(solid.inertia) } else { DMat3::IDENTITY },
            per_inertia,
            shift,
            turn,
            yields,
            late,
            h,
            force: DVec3::ZERO,
            torque: DVec3::ZERO,
            slope: DMat3::ZERO,
            turned: turn,
            end_position: before.position + shift,
            end_orientation: free.orientation,
        }
    }

    /// Forgets the forces of the round before.
    #[inline]
    pub fn let_go(&mut self) {
        (self.force, self.torque, self.slope) = (DVec3::ZERO, DVec3::ZERO, DMat3::ZERO);
    }

    /// A force at a lever (of the middle), whose end turns with the body; with `steep`, the torque's slope, too.
    #[inline]
    pub fn pull(&mut self, force: DVec3, lever: DVec3, end_lever: DVec3, steep: bool) {
        self.force += force;
        self.torque += lever.cross(force);
        if steep {
            // d (r x f) = (dc x r) x f = r (f . dc) - (r . f) dc
            let r = end_lever * self.late;
            let along = r.dot(force);
            self.slope.x_axis += DVec3::new(along, 0.0, 0.0) - r * force.x;
            self.slope.y_axis += DVec3::new(0.0, along, 0.0) - r * force.y;
            self.slope.z_axis += DVec3::new(0.0, 0.0, along) - r * force.z;
        }
    }

    /// Moves it by the forces it feels: one round of Newton's method for the turn.
    #[inline]
    pub fn yield_to_forces(&mut self) {
        self.end_position = self.position + self.shift + self.force * (self.yields.shift.0 * self.per_mass);
        let (h, s) = (self.h, self.late);
        let change = if self.yields.coasts {
            // Momentum at the end, in the axes of the start.
            let after = turn_back(self.turned, self.momentum + self.torque * h);
            let wanted = self.momentum * (1.0 - s) + after * s;
            let wrong = self.inertia * self.turned - wanted * h;
            let spin = cross_matrix(after) * (-h * s);
            (self.inertia + spin + self.slope * (h * h * s)).inverse() * wrong
        } else if self.yields.turn.0 > 0.0 && self.per_inertia != DMat3::ZERO {
            let y = self.yields.turn.0;
            let wrong = self.inertia * (self.turned - self.turn) - self.torque * y;
            (self.inertia + self.slope * y).inverse() * wrong
        } else {
            self.turned - self.turn
        };
        let length = change.length();
        let change = if length > LARGEST_CHANGE_RAD { change * (LARGEST_CHANGE_RAD / length) } else { change };
        self.turned = (self.turned - change).clamp_length_max(LONGEST_CAYLEY);
        self.end_orientation = turn_quat(self.turned) * self.orientation;
    }

    /// How it yields, per force and per torque, over the step; `steep` counts the slope of the torque.
    #[inline]
    pub fn mobility(&self, steep: bool) -> Mobility {
        let y = self.yields.turn.0;
        let mut turn = self.per_inertia * y;
        if steep && y > 0.0 && self.per_inertia != DMat3::ZERO {
            let even = (self.slope + self.slope.transpose()) * (0.5 * y);
            let stiff = self.inertia + even;
            // A body that is pushed rather than pulled turns away from the force: without its slope it yields enough.
            if is_positive(&stiff, &self.inertia) {
                turn = stiff.inverse() * y;
            }
        }
        Mobility { shift: self.yields.shift.0 * self.per_mass, turn }
    }

    /// Whether it yields by its inertia alone.
    pub fn is_plain(&self) -> bool {
        let half = 0.5 * self.h * self.h;
        let plain = |y: f64| y == half;
        (self.per_mass == 0.0 || plain(self.yields.shift.0))
            && (self.per_inertia == DMat3::ZERO || plain(self.yields.turn.0))
    }

    /// Velocity and momentum that `force` and `torque`, constant over the step, add.
    pub fn gains(&self, force: DVec3, torque: DVec3) -> (DVec3, DVec3) {
        let turn = if self.per_inertia == DMat3::ZERO { 0.0 } else { self.yields.turn.1 };
        (force * (self.yields.shift.1 * self.per_mass), torque * turn)
    }

    /// Free displacement and turn, without joints.
    pub fn free(&self) -> (DVec3, DVec3) {
        (self.shift, self.turn)
    }
}

/// Whether what is left of an inertia keeps at least half of itself every way.
fn is_positive(stiff: &DMat3, inertia: &DMat3) -> bool {
    let m = *stiff - *inertia * 0.5;
    let minor = m.x_axis.x * m.y_axis.y - m.x_axis.y * m.y_axis.x;
    m.x_axis.x > 0.0 && minor > 0.0 && m.determinant() > 0.0
}

fn cross_matrix(v: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, v.z, -v.y), DVec3::new(-v.z, 0.0, v.x), DVec3::new(v.y, -v.x, 0.0))
}

/// The Cayley vector of a rotation: its axis, twice the tangent of half its angle long.
fn cayley(q: DQuat) -> DVec3 {
    let q = if q.w < 0.0 { -q } else { q };
    (DVec3::new(q.x, q.y, q.z) * (2.0 / q.w.max(1e-3))).clamp_length_max(LONGEST_CAYLEY)
}

/// The rotation of a Cayley vector.
#[inline]
fn turn_quat(c: DVec3) -> DQuat {
    let half = c * 0.5;
    let per = 1.0 / (1.0 + half.length_squared()).sqrt();
    DQuat::from_xyzw(half.x * per, half.y * per, half.z * per, per)
}

/// `v` turned back by a Cayley vector.
#[inline]
fn turn_back(c: DVec3, v: DVec3) -> DVec3 {
    let half = c * -0.5;
    let once = half.cross(v);
    v + (once + half.cross(once)) * (2.0 / (1.0 + half.length_squared()))
}
