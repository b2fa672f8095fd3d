//! Actuators of limited strength (Lamouret 1995, sections 2.1 and 3.2), one step at a time.
//!
//! ```text
//!     force   F = 2 m alpha (x_target - x) / Dt^2 - 2 m beta (v - u) / Dt,         beta = B sqrt(2 alpha)
//!     torque  T = 2 J (alpha W - beta (w - u)) / Dt + w x J w,   W = rotation to the target / Dt
//! ```
//!
//! with `u` the share of the target's velocity that the animator wants matched (0 in the paper). The paper prints
//! the gyroscopic term with a minus; its own integrator needs the plus for the body to come straight round.
//!
//! Observed external action (eq. 7-10): what changed the momentum beyond the actuator's own doing, filtered with
//! `1 - exp(-g h)`, is held against it. Muscles learn it from their own pull ([`Lesson`]). Order: main force, add the correction, then truncate.
//!
//! Each step is the exact solution for its step (see [`crate::dynamics::response`]); the limit holds for the mean
//! force over the step, so that a stiff actuator near its target is not cut by the first instant of a step that it
//! ends at rest. A truncated actuator pulls with constant force for that step, as in the paper.

use crate::dynamics::response::Response;
use crate::dynamics::top::{self, Axes};
use crate::rig::Drive;
use crate::rotation;
use glam::{DQuat, DVec3};

/// What an actuator remembers: its own last action and the correction it has learnt. One for force, one for torque.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// Mean action over the last step (force or torque).
    pub action: DVec3,
    /// Filtered correction.
    pub correction: DVec3,
    /// What a muscle has learnt of it from its own pull.
    pub learnt: DVec3,
    /// What a muscle pulled towards its target in the step before the last.
    pub pulled: DVec3,
    /// What it is known to hold up, of which the correction has its share.
    pub weight: DVec3,
    /// What the keys' accelerations need of it in this step, as far as it anticipates them.
    pub ahead: DVec3,
    /// Momentum when the last step began.
    pub momentum_before: DVec3,
    /// Length of the last step (s); 0 before the first.
    pub step_before: f64,
    /// Whether the last action was truncated.
    pub saturated: bool,
    /// By how much less than its whole law it pulled for that, where joints had their say.
    pub eased: f64,
    /// Strongest action since the frame began, for those who look once a frame.
    pub strongest: DVec3,
    /// Whether any action since the frame began was truncated.
    pub was_saturated: bool,
}

impl Memory {
    /// Forgets the strongest action: a frame begins.
    #[inline]
    pub fn begin_frame(&mut self) {
        (self.strongest, self.was_saturated) = (DVec3::ZERO, false);
    }

    /// Takes note of the last action.
    #[inline]
    pub fn note(&mut self) {
        if self.action.length_squared() > self.strongest.length_squared() {
            self.strongest = self.action;
        }
        self.was_saturated |= self.saturated;
    }

    /// What it pulls with besides going after its target.
    #[inline]
    pub fn held(&self) -> DVec3 {
        self.correction + self.ahead
    }

    /// The same of an actuator that pulls by this share of its law; what is anticipated is beyond its limit.
    #[inline]
    fn held_by(&self, share: f64) -> DVec3 {
        self.correction * share + self.ahead
    }

    /// Cuts the action to `most` beyond what is anticipated; whether it was more.
    #[inline]
    fn limit(&mut self, most: f64) -> bool {
        let beyond = self.action - self.ahead;
        let strength = beyond.length();
        let cut = strength > most;
        if cut {
            self.action = self.ahead + beyond * (most / strength);
        }
        cut
    }

    /// The share of its law with which the action of the last step, pulled by `share` of it, would be within its limit;
    /// `None` if it was, or was at it.
    pub fn saturates(&self, share: f64, most: f64) -> Option<f64> {
        let strength = (self.action - self.ahead).length();
        let [below, above] = SATURATED_WITHIN;
        let right = strength <= most * (1.0 + above) && (share == 1.0 || strength >= most * (1.0 - below));
        let next = (share * most / strength).min(1.0);
        (!right && next != share && next.is_finite()).then_some(next)
    }

    /// Looks at what the last step did to the momentum and takes `share` of it into the correction; then the next
    /// step of `h` seconds begins.
    #[inline]
    pub fn observe(&mut self, momentum: DVec3, share: f64, h: f64) {
        if self.step_before > 0.0 && share > 0.0 {
            let external = (momentum - self.momentum_before) * (1.0 / self.step_before) - self.action;
            self.correction += (-external - self.correction) * share;
        }
        self.momentum_before = momentum;
        self.step_before = h;
    }

    /// The same for a muscle, which feels its neighbours' pulls through its joints: answering to these would have them
    /// swing each other up. It goes by what it pulls itself, as if at rest, and only by what lasts: see [`Lesson`].
    /// `off` tells how far off its target a pull has it, in radians or its body's radii.
    #[inline]
    pub fn observe_own(&mut self, momentum: DVec3, lesson: Lesson, off: impl Fn(DVec3) -> f64, h: f64) {
        if self.step_before > 0.0 && lesson.share > 0.0 {
            let pull = self.action - self.ahead - self.correction;
            let forgotten =
                if pull.dot(self.learnt) < 0.0 { self.learnt * lesson.forgets } else { DVec3::ZERO };
            let change = (pull - self.pulled).length() / self.step_before;
            let learnt = pull * lesson.takes(off(pull), change / pull.length()) - forgotten;
            (self.learnt, self.correction) = (self.learnt + learnt, self.correction + learnt);
            self.pulled = pull;
        }
        self.momentum_before = momentum;
        self.step_before = h;
    }
}

/// A muscle this far off its target, in radians or its body's radii, is not pulled by a load but has something in its way.
const FAR: f64 = 0.3;

/// A pull that changes by more than this share of itself in the time of the filter is no load either: a load's shrinks at the
/// filter's own pace as it is learnt.
const CHANGES: f64 = 0.6;

/// How a muscle learns in one step what it has to hold against.
///
/// Its pull towards the target, summed up, becomes its correction, as eq. 9 has it at rest. What is held off its target by an
/// obstacle would sum up all its strength, and swing far past when the obstacle is gone (windup). So it learns the less
/// the farther it is off and the faster its pull changes; and once it is past its target, pulling against what it has
/// learnt, that is forgotten as quickly as the actuator answers (a resetting integrator: Clegg 1958).
#[derive(Clone, Copy, Debug)]
pub struct Lesson {
    /// Compensation, 1/s.
    pub per_s: f64,
    /// The share of what lasts that is learnt in the step.
    pub share: f64,
    /// The share of what turned out wrong that is forgotten.
    pub forgets: f64,
}

impl Lesson {
    /// The share of a pull that is learnt, `off` its target and changing by so much of itself per second.
    #[inline]
    fn takes(self, off: f64, changes_per_s: f64) -> f64 {
        let (far, quick) = (off / FAR, changes_per_s / (CHANGES * self.per_s));
        let takes = self.share / ((1.0 + far * far) * (1.0 + quick * quick));
        // Without a pull there is nothing to divide by, nor to learn.
        if takes.is_nan() { 0.0 } else { takes }
    }
}

/// What else acts on a solid during a step, and where its target is.
#[derive(Clone, Copy, Debug)]
pub struct Pull {
    /// From the body to the target at the start of the step: metres, or a rotation vector.
    pub error: DVec3,
    /// Mean velocity of the target over the step.
    pub target_velocity: DVec3,
    /// Velocity that the damping is measured against.
    pub matched_velocity: DVec3,
}

/// What a body's last step computed from settings and step length alone, kept while these do not change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// Response of the position.
    pub position: Cached,
    /// Response of the orientation.
    pub rotation: Cached,
    filter: (f64, f64, f64),
    forgets: (f64, f64, f64),
}

impl Kept {
    /// The share of an observed external action that the correction takes in one step: `1 - exp(-g h)`.
    #[inline]
    pub fn share(&mut self, compensation: f64, h: f64) -> f64 {
        if (self.filter.0, self.filter.1) != (compensation, h) {
            self.filter = (compensation, h, 1.0 - libm::exp(-compensation * h));
        }
        self.filter.2
    }

    /// What a muscle learns from in one step.
    #[inline]
    pub fn lesson(&mut self, drive: &Drive, h: f64) -> Lesson {
        if (self.forgets.0, self.forgets.1) != (drive.stiffness, h) {
            self.forgets = (drive.stiffness, h, 1.0 - libm::exp(-drive.stiffness.sqrt() * h));
        }
        let share = self.share(drive.compensation, h);
        Lesson { per_s: drive.compensation, share, forgets: self.forgets.2 }
    }
}

/// Response functions with the stiffness, damping and step they were made for.
#[derive(Clone, Copy, Debug)]
pub struct Cached {
    made_for: (f64, f64, f64),
    response: Response,
}

impl Default for Cached {
    fn default() -> Self {
        Cached { made_for: (0.0, 0.0, 0.0), response: Response::free(0.0) }
    }
}

impl Cached {
    /// The response for these, computed anew only when one of them changed.
    #[inline]
    pub fn get(&mut self, k: f64, c: f64, h: f64) -> Response {
        if self.made_for != (k, c, h) {
            *self = Cached { made_for: (k, c, h), response: Response::new(k, c, h) };
        }
        self.response
    }

    /// Displacement and velocity per constant acceleration over the last step, s^2 and s.
    #[inline]
    pub fn yields(&self) -> (f64, f64) {
        (self.response.g, self.response.b)
    }
}

/// How an actuator is kept to its limit in a step.
///
/// A body by itself has its action cut at once, and pulls with constant force for that step. With joints one knows only
/// afterwards what was asked of the actuator, and constant force would fling a light root that leads heavy limbs past its
/// target within a step. So it is taken again with its whole law, spring, damping and correction, scaled down (the
/// secant of the cut law): the mean action is the limit, and still falls to nothing at the target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Saturation {
    /// Nothing else moves its body.
    #[default]
    Alone,
    /// Joints have their say: it pulls by this share of its law, 0 to 1.
    Joined(f64),
}

impl Saturation {
    /// The share of its law by which an actuator pulls.
    #[inline]
    fn share(self) -> f64 {
        match self {
            Saturation::Alone => 1.0,
            Saturation::Joined(share) => share,
        }
    }
}

/// A saturated action is right within this share of its limit, below and above.
const SATURATED_WITHIN: [f64; 2] = [0.03, 0.01];

/// Moves a mass for `h` seconds: returns the displacement and the new velocity, and stores the action.
///
/// `other` is the acceleration of everything else, `drag` (1/s) the rate at which velocity is lost against air that
/// moves with `wind`. Without `pull` the mass is free.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn move_mass(
    pull: Option<Pull>,
    drive: &Drive,
    memory: &mut Memory,
    cached: &mut Cached,
    saturation: Saturation,
    mass: f64,
    velocity: DVec3,
    (other, drag, wind): (DVec3, f64, DVec3),
    h: f64,
) -> (DVec3, DVec3) {
    let air = other + wind * drag;
    let Some(p) = pull else {
        memory.action = DVec3::ZERO;
        let r = cached.get(0.0, drag, h);
        return (velocity * r.b + air * r.g, velocity * r.b_rate + air * r.b);
    };
    let share = saturation.share();
    let (k, c) = (drive.stiffness * share, drive.damping * share);
    let r = cached.get(k, c + drag, h);
    let b0 = p.error * k + p.matched_velocity * c + air + memory.held_by(share) * (1.0 / mass);
    let b1 = p.target_velocity * k;
    let moved = velocity * r.b + b0 * r.g + b1 * r.h;
    let after = velocity * r.b_rate + b0 * r.b + b1 * r.g;
    let per_h = 1.0 / h;
    let external = other + (wind - moved * per_h) * drag;
    memory.action = ((after - velocity) * per_h - external) * mass;
    memory.saturated = match saturation {
        Saturation::Alone => memory.limit(drive.max_force),
        Saturation::Joined(_) => false,
    };
    if !memory.saturated {
        return (moved, after);
    }
    let constant = air + memory.action / mass;
    let r = Response::new(0.0, drag, h);
    (velocity * r.b + constant * r.g, velocity * r.b_rate + constant * r.b)
}

/// Turns a body for `h` seconds: returns the new orientation and world angular momentum, and stores the action.
///
/// `spin_drag` (1/s) is the rate at which spin is lost. Without `pull` the body is free.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn turn_body(
    pull: Option<Pull>,
    drive: &Drive,
    memory: &mut Memory,
    cached: &mut Cached,
    saturation: Saturation,
    (inertia, per_inertia): (DVec3, DVec3),
    (orientation, momentum): (DQuat, DVec3),
    spin_drag: f64,
    h: f64,
) -> (DQuat, DVec3) {
    let Some(p) = pull else {
        memory.action = DVec3::ZERO;
        return coast(orientation, momentum, per_inertia, spin_drag, h);
    };
    let axes = Axes::new(orientation, inertia);
    let w = axes.scale(momentum, per_inertia);
    let share = saturation.share();
    let (k, c) = (drive.stiffness * share, drive.damping * share);
    let r = cached.get(k, c + spin_drag, h);
    let mut b0 = p.error * k + p.matched_velocity * c;
    let held = memory.held_by(share);
    if held != DVec3::ZERO {
        b0 += axes.scale(held, per_inertia);
    }
    let b1 = p.target_velocity * k;
    let turned = w * r.b + b0 * r.g + b1 * r.h;
    let w_after = w * r.b_rate + b0 * r.b + b1 * r.g;
    let q_after = rotation::renormalize(rotation::exp(turned) * orientation);
    let after = top::angular_momentum(q_after, w_after, inertia);
    let per_h = 1.0 / h;
    memory.action = (after - momentum) * per_h;
    if spin_drag > 0.0 {
        memory.action += axes.scale(turned * per_h, inertia) * spin_drag;
    }
    memory.saturated = match saturation {
        Saturation::Alone => memory.limit(drive.max_torque),
        Saturation::Joined(_) => false,
    };
    if !memory.saturated {
        return (q_after, after);
    }
    // Kick, drift, kick: of second order, and exact for a constant torque about a principal axis.
    let kick = memory.action * (0.5 * h);
    let (q, drifted) = coast(orientation, momentum + kick, per_inertia, spin_drag, h);
    (q, drifted + kick)
}

/// Free rotation, with spin lost at `spin_drag`.
#[inline]
fn coast(orientation: DQuat, momentum: DVec3, per_inertia: DVec3, spin_drag: f64, h: f64) -> (DQuat, DVec3) {
    if spin_drag == 0.0 {
        return (top::turn(orientation, momentum, per_inertia, h), momentum);
    }
    // Half of the loss before the turn, half after it.
    let half = libm::exp(-0.5 * spin_drag * h);
    (top::turn(orientation, momentum * half, per_inertia, h), momentum * (half * half))
}
