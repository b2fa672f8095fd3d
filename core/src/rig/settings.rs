//! Actuator settings as numbers that may change over time, and what the simulation makes of them.

use crate::curve::{Curve, CurveError};
use crate::guide::Reach;
use crate::setup::Keyable;

/// A constant, or a curve over time (s).
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    constant: f64,
    curve: Option<Curve>,
    /// Start and length (s) of what is repeated for ever; without end where nothing is.
    cycle: (f64, f64),
}

/// Nothing is repeated.
const ONCE: (f64, f64) = (0.0, f64::INFINITY);

impl Value {
    /// The same throughout.
    pub fn constant(constant: f64) -> Value {
        Value { constant, curve: None, cycle: ONCE }
    }

    /// From the set-up.
    pub fn new(keyable: &Keyable) -> Result<Value, CurveError> {
        Ok(Value { constant: keyable.first(), curve: keyable.curve()?, cycle: ONCE })
    }

    /// From the set-up, every value multiplied by `factor`.
    pub fn scaled(keyable: &Keyable, factor: f64) -> Result<Value, CurveError> {
        Value::new(&keyable.clone().times(factor))
    }

    /// At `time` (s).
    #[inline]
    pub fn at(&self, time: f64) -> f64 {
        match &self.curve {
            None => self.constant,
            Some(curve) if time < self.cycle.0 + self.cycle.1 => curve.scalar(time),
            Some(curve) => curve.scalar(self.turned_back(time)),
        }
    }

    /// The time in the first turn that a later one repeats. Apart from the rest, whose cost it would share.
    #[cold]
    fn turned_back(&self, time: f64) -> f64 {
        let (start, length) = self.cycle;
        start + (time - start) % length
    }

    /// Has it do over and over what it does from a start and for a length (s).
    pub fn repeat(&mut self, cycle: (f64, f64)) {
        self.cycle = cycle;
    }

    /// Whether it changes over time.
    pub fn keyed(&self) -> bool {
        self.curve.is_some()
    }

    /// When it may bend (s); empty for a constant.
    pub fn times(&self) -> &[f64] {
        self.curve.as_ref().map_or(&[], Curve::times)
    }
}

/// What can be set on an actuator, by name, live or keyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Setting {
    /// Share of the distance per relaxation time.
    Alpha = 0,
    /// B, 1 is critical.
    Damping = 1,
    /// Seconds.
    RelaxationTime = 2,
    /// kg unit/s^2.
    MaxForce = 3,
    /// kg unit^2/s^2.
    MaxTorque = 4,
    /// 1/s.
    Compensation = 5,
    /// Share of the target's velocity that is matched.
    KeepUp = 6,
    /// 0 keys .. 1 physics.
    Blend = 7,
    /// Scene units.
    BaseDistance = 8,
    /// Radians.
    BaseAngle = 9,
    /// Share of what the keys' own accelerations need that is pulled ahead of them.
    Anticipation = 10,
    /// Share of a helping hand that keeps a figure above its feet.
    Balance = 11,
}

impl Setting {
    /// All of them, in order.
    pub const ALL: [Setting; 12] = [
        Setting::Alpha,
        Setting::Damping,
        Setting::RelaxationTime,
        Setting::MaxForce,
        Setting::MaxTorque,
        Setting::Compensation,
        Setting::KeepUp,
        Setting::Blend,
        Setting::BaseDistance,
        Setting::BaseAngle,
        Setting::Anticipation,
        Setting::Balance,
    ];

    /// Its name, as in the set-up file where it has one there.
    pub fn name(self) -> &'static str {
        match self {
            Setting::Alpha => "alpha",
            Setting::Damping => "damping",
            Setting::RelaxationTime => "relaxation_time",
            Setting::MaxForce => "max_force",
            Setting::MaxTorque => "max_torque",
            Setting::Compensation => "compensation",
            Setting::KeepUp => "keep_up",
            Setting::Blend => "blend",
            Setting::BaseDistance => "base_distance",
            Setting::BaseAngle => "base_angle",
            Setting::Anticipation => "anticipation",
            Setting::Balance => "balance",
        }
    }

    /// The smallest and largest value that makes sense, both allowed.
    pub fn range(self) -> (f64, f64) {
        match self {
            // Below this the spring is as good as absent, and squares would underflow.
            Setting::RelaxationTime => (1e-6, f64::MAX),
            Setting::BaseDistance | Setting::BaseAngle => (1e-12, f64::MAX),
            Setting::KeepUp | Setting::Blend | Setting::Anticipation | Setting::Balance => (0.0, 1.0),
            Setting::MaxForce | Setting::MaxTorque => (0.0, f64::INFINITY),
            Setting::Alpha | Setting::Damping | Setting::Compensation => (0.0, f64::MAX),
        }
    }
}

/// The settings of one actuator.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    values: [Value; 12],
}

impl Settings {
    /// From values in the order of [`Setting::ALL`].
    pub fn new(values: [Value; 12]) -> Settings {
        Settings { values }
    }

    /// One value.
    pub fn value(&self, setting: Setting) -> &Value {
        &self.values[setting as usize]
    }

    /// One value, to change.
    pub fn value_mut(&mut self, setting: Setting) -> &mut Value {
        &mut self.values[setting as usize]
    }

    /// Whether any changes over time.
    pub fn keyed(&self) -> bool {
        self.values.iter().any(Value::keyed)
    }

    /// What the simulation needs of them at `time`, with groups multiplied in.
    pub fn drive<'a>(&self, groups: impl Iterator<Item = &'a GroupFactors>, time: f64) -> Drive {
        let at = |s: Setting| self.value(s).at(time);
        let (mut strength, mut damping, mut compensation) = (1.0, 1.0, 1.0);
        for g in groups {
            strength *= g.strength.at(time);
            damping *= g.damping.at(time);
            compensation *= g.compensation.at(time);
        }
        let alpha = (at(Setting::Alpha) * strength).max(0.0);
        let relaxation = at(Setting::RelaxationTime);
        let beta = at(Setting::Damping) * damping * (2.0 * alpha).sqrt();
        Drive {
            stiffness: 2.0 * alpha / (relaxation * relaxation),
            damping: 2.0 * beta / relaxation,
            max_force: limit(at(Setting::MaxForce), strength),
            max_torque: limit(at(Setting::MaxTorque), strength),
            compensation: at(Setting::Compensation) * compensation,
            keep_up: at(Setting::KeepUp),
            anticipation: at(Setting::Anticipation) * (strength / LETS_GO).min(1.0),
            balance: at(Setting::Balance),
            reach: Reach::new(at(Setting::BaseDistance), at(Setting::BaseAngle)),
        }
    }
}

/// The damping ratio of what is slowed down grows by this power of how much.
const SLOW_IS_DAMPED: f64 = 0.2;

impl Drive {
    /// Answers at this share of its natural frequency. The slower, the better damped: what grows stiffer while it is bent would
    /// swing past otherwise.
    #[inline]
    pub fn slow_down(&mut self, share: f64) {
        self.stiffness *= share * share;
        self.damping *= share / libm::pow(share, SLOW_IS_DAMPED);
    }
}

/// Groups weaker than this let go: of what they see coming, and of their pins.
pub(super) const LETS_GO: f64 = 0.1;

/// An infinite limit stays infinite however weak its group is, until that lets go: infinity times zero has no value.
fn limit(value: f64, strength: f64) -> f64 {
    if strength == 0.0 { 0.0 } else { value * strength }
}

/// What a group multiplies.
#[derive(Clone, Debug)]
pub struct GroupFactors {
    /// Alpha and both limits.
    pub strength: Value,
    /// B.
    pub damping: Value,
    /// Compensation.
    pub compensation: Value,
    /// Blend.
    pub blend: Value,
}

impl GroupFactors {
    /// Whether any changes over time.
    pub fn keyed(&self) -> bool {
        [&self.strength, &self.damping, &self.compensation, &self.blend].iter().any(|v| v.keyed())
    }
}

/// An actuator at a moment, as the step uses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// `2 alpha / Dt^2`, 1/s^2.
    pub stiffness: f64,
    /// `2 beta / Dt`, 1/s, with `beta = B sqrt(2 alpha)`.
    pub damping: f64,
    /// Strongest pull, kg unit/s^2.
    pub max_force: f64,
    /// Strongest turn, kg unit^2/s^2.
    pub max_torque: f64,
    /// Filter of observed external action, 1/s.
    pub compensation: f64,
    /// Share of the target's velocity that is matched.
    pub keep_up: f64,
    /// Share of what the keys' own accelerations need that is pulled ahead of them.
    pub anticipation: f64,
    /// Share of a helping hand that keeps a figure above its feet.
    pub balance: f64,
    /// Base distance and angle.
    pub reach: Reach,
}
