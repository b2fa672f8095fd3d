//! Ways to be strong, and the full set of actuator values after preset and overrides.

use super::{AS_WRITTEN, Actuator, Keyable, Limit, Setup, Weight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named starting point for an actuator.
///
/// Each is chosen by the frequency `sqrt(2 alpha) / relaxation_time` at which it answers, since that is what one
/// sees: a body settles in about four over that frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Stays on the keys and takes off the corners. Answers at 48 rad/s: settled within two frames.
    Subtle,
    /// Follows with weight and gives way when pushed. Answers at 20 rad/s, holds eight times its weight.
    #[default]
    Reactive,
    /// Follows with more weight: drags, overshoots and settles. Answers at 13 rad/s, holds five times its weight.
    Weighty,
    /// Relaxed: swings freely and comes back late. Answers at 10 rad/s, holds three and a half times its weight.
    Loose,
    /// Barely holds itself up, swings past. Answers at 7 rad/s, holds twice its weight.
    Limp,
    /// Has no strength at all: falls as its joints let it.
    Ragdoll,
}

/// An actuator with every value decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// See [`Actuator::alpha`].
    pub alpha: Keyable,
    /// See [`Actuator::damping`].
    pub damping: Keyable,
    /// See [`Actuator::relaxation_time`].
    pub relaxation_time: Keyable,
    /// See [`Actuator::max_force`].
    pub max_force: Limit,
    /// See [`Actuator::max_torque`].
    pub max_torque: Limit,
    /// See [`Actuator::anticipation`].
    pub anticipation: Keyable,
    /// See [`Actuator::balance`].
    pub balance: Keyable,
    /// See [`Actuator::compensation`].
    pub compensation: Keyable,
    /// See [`Actuator::keep_up`].
    pub keep_up: Keyable,
    /// See [`Actuator::blend`].
    pub blend: Keyable,
    /// See [`Actuator::start_balanced`].
    pub start_balanced: bool,
    /// How much of what hangs on it it knows to hold up.
    pub weight: Weight,
}

impl Preset {
    /// All of them, in order of strength.
    pub const ALL: [Preset; 6] =
        [Preset::Subtle, Preset::Reactive, Preset::Weighty, Preset::Loose, Preset::Limp, Preset::Ragdoll];

    /// Where it is on the slider from the keys (0) to a ragdoll (1).
    pub fn looseness(self) -> f64 {
        match self {
            Preset::Subtle => 0.1,
            Preset::Reactive => AS_WRITTEN,
            Preset::Weighty => 0.45,
            Preset::Loose => 0.6,
            Preset::Limp => 0.8,
            Preset::Ragdoll => 1.0,
        }
    }

    /// As written in a set-up file.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Subtle => "subtle",
            Preset::Reactive => "reactive",
            Preset::Weighty => "weighty",
            Preset::Loose => "loose",
            Preset::Limp => "limp",
            Preset::Ragdoll => "ragdoll",
        }
    }

    /// The preset of that name.
    pub fn from_name(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|p| p.name() == name)
    }

    /// Frequency (rad/s), damping, strength in weights, compensation (1/s) and keep-up.
    fn numbers(self) -> [f64; 5] {
        match self {
            Preset::Subtle => [48.0, 1.0, f64::INFINITY, 10.0, 1.0],
            Preset::Reactive => [20.0, 0.8, 8.0, 4.0, 0.8],
            Preset::Weighty => [13.0, 0.7, 5.0, 3.0, 0.6],
            Preset::Loose => [10.0, 0.55, 3.5, 2.0, 0.45],
            Preset::Limp => [7.0, 0.4, 2.0, 1.0, 0.3],
            Preset::Ragdoll => [0.0, 1.0, 0.0, 0.0, 0.0],
        }
    }

    /// Its values.
    pub fn values(self) -> Resolved {
        Preset::values_at(self.looseness())
    }

    /// Values at a point of the slider: a preset's own, or straight between those on both sides. Tighter than the first
    /// they are its own, as fast as that is nearer to the keys; at 0 they are the keys.
    pub fn values_at(looseness: f64) -> Resolved {
        let l = looseness.clamp(0.0, 1.0);
        let first = Preset::ALL[0];
        let [rad_per_s, damping, weights, compensation, keep_up] =
            match Preset::ALL.iter().rev().find(|p| p.looseness() <= l) {
                None => {
                    let mut numbers = first.numbers();
                    numbers[0] *= first.looseness() / l.max(1e-3);
                    numbers
                }
                Some(&below) => {
                    let above = Preset::ALL.into_iter().find(|p| p.looseness() > l).unwrap_or(below);
                    let between = (above.looseness() - below.looseness()).max(f64::MIN_POSITIVE);
                    let share = ((l - below.looseness()) / between).clamp(0.0, 1.0);
                    let (a, b) = (below.numbers(), above.numbers());
                    std::array::from_fn(|k| match share == 0.0 {
                        true => a[k],
                        false => a[k] + (b[k] - a[k]) * share,
                    })
                }
            };
        // The relaxation time is one frame at 24 per second; alpha then sets the frequency.
        let relaxation_time = 1.0 / 24.0;
        let product: f64 = rad_per_s * relaxation_time;
        let limit = match weights.is_finite() {
            true => Limit::Weights(weights.into()),
            false => Limit::Unlimited,
        };
        Resolved {
            alpha: (product * product / 2.0).into(),
            damping: damping.into(),
            relaxation_time: relaxation_time.into(),
            max_force: limit.clone(),
            max_torque: limit,
            anticipation: 0.0.into(),
            balance: 0.0.into(),
            compensation: compensation.into(),
            keep_up: keep_up.into(),
            blend: (if l == 0.0 { 0.0 } else { 1.0 }).into(),
            start_balanced: l < 1.0,
            weight: Weight::LEARNT,
        }
    }
}

impl Setup {
    /// Gives every body this preset. What sees its keys coming does so by as much as the preset lets it.
    pub fn use_preset(&mut self, preset: Preset) {
        if preset == Preset::Ragdoll {
            // What has no strength holds on to nothing, and lies on the floor that there is.
            for body in &mut self.bodies {
                body.pins.clear();
                body.contact.floor = None;
            }
        }
        self.looseness = None;
        for actuator in self.bodies.iter_mut().map(|b| &mut b.actuator) {
            (actuator.preset, actuator.looseness) = (preset, None);
            if actuator.frequency.is_some() {
                continue;
            }
            let knows = actuator.anticipation.as_ref().is_some_and(|a| a.first() > 0.0);
            match preset {
                _ if !knows => {}
                Preset::Subtle => actuator.anticipation = Some(1.0.into()),
                Preset::Reactive | Preset::Weighty | Preset::Loose => {}
                Preset::Limp => (actuator.anticipation, actuator.keep_up) = (Some(0.3.into()), None),
                Preset::Ragdoll => (actuator.anticipation, actuator.keep_up) = (None, None),
            }
            // Limits are made for a strength that gives way: of what does not, or has none, they would be all that is seen.
            if matches!(preset, Preset::Subtle | Preset::Ragdoll) {
                (actuator.max_force, actuator.max_torque) = (None, None);
            }
        }
    }
}

impl Setup {
    /// Has everything be as loose as this, 0 to 1, whatever its preset.
    pub fn use_looseness(&mut self, looseness: f64) {
        self.looseness = Some(looseness);
        self.bodies.iter_mut().for_each(|b| b.actuator.looseness = None);
    }
}

/// Who holds a figure up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// Its keys, at full strength.
    Guided,
    /// What it stands on, by the pins of its feet.
    Planted,
    /// Nothing.
    Free,
}

impl Setup {
    /// Gives the groups `root` (of several figures `NAME root`) the strength that goes with it; what is free has no pins.
    /// Whether there is such a group.
    pub fn use_root(&mut self, root: Root) -> bool {
        let held = if root == Root::Guided { 1.0 } else { 0.0 };
        let is_root = |name: &str| name == "root" || name.ends_with(" root");
        let mut found = false;
        for group in self.groups.iter_mut().filter(|g| is_root(&g.name)) {
            group.strength = held.into();
            found = true;
        }
        if found && root == Root::Free {
            self.bodies.iter_mut().for_each(|b| b.pins.clear());
        }
        found
    }
}

impl Actuator {
    /// Its point of the slider; `looseness` is the set-up's, where this has none of its own.
    pub fn point(&self, looseness: Option<f64>) -> f64 {
        self.looseness.or(looseness).unwrap_or(self.preset.looseness())
    }

    /// The values at its point of the slider, with what is written here on top; `looseness` is the set-up's, where this has
    /// none of its own.
    pub fn resolve(&self, looseness: Option<f64>) -> Resolved {
        let looseness = self.looseness.or(looseness);
        let base = match (&self.frequency, looseness) {
            // A tone is loosened as a whole, below.
            (Some(_), _) => Preset::Reactive.values(),
            (None, Some(l)) => Preset::values_at(l),
            (None, None) => self.preset.values(),
        };
        let keyable = |own: &Option<Keyable>, preset: Keyable| own.clone().unwrap_or(preset);
        let relaxation_time = keyable(&self.relaxation_time, base.relaxation_time);
        // 2 alpha / Dt^2 = (2 pi f)^2.
        let from_frequency = |f: &Keyable| {
            let period = relaxation_time.first();
            f.map(|hz| 0.5 * (std::f64::consts::TAU * hz * period).powi(2))
        };
        let alpha = match &self.frequency {
            Some(f) => from_frequency(f),
            None => keyable(&self.alpha, base.alpha),
        };
        let mut all = Resolved {
            alpha,
            damping: keyable(&self.damping, base.damping),
            relaxation_time,
            max_force: self.max_force.clone().unwrap_or(base.max_force),
            max_torque: self.max_torque.clone().unwrap_or(base.max_torque),
            anticipation: keyable(&self.anticipation, base.anticipation),
            balance: keyable(&self.balance, base.balance),
            compensation: keyable(&self.compensation, base.compensation),
            keep_up: keyable(&self.keep_up, base.keep_up),
            blend: keyable(&self.blend, base.blend),
            start_balanced: self.start_balanced.unwrap_or(base.start_balanced),
            weight: base.weight,
        };
        if self.frequency.is_some() {
            super::looseness::loosen(&mut all, self.point(looseness), self.stance == Some(true));
        }
        // As if it weighed as much as what it moves: pull and damping both grow by that factor, and the damping's share of
        // critical is counted against the root of the pull.
        let carries = self.carries.unwrap_or(1.0);
        let stronger = |limit: Limit| match limit {
            Limit::Weights(w) => Limit::Weights(w.times(carries)),
            other => other,
        };
        Resolved {
            alpha: all.alpha.times(carries),
            damping: all.damping.times(carries.sqrt()),
            max_force: stronger(all.max_force),
            max_torque: stronger(all.max_torque),
            ..all
        }
    }
}
