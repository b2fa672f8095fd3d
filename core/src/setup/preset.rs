//! Ways to be strong, and the full set of actuator values after preset and overrides.

use super::{Actuator, Keyable, Limit, Setup};
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
}

impl Preset {
    /// All of them, in order of strength.
    pub const ALL: [Preset; 4] = [Preset::Subtle, Preset::Reactive, Preset::Limp, Preset::Ragdoll];

    /// As written in a set-up file.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Subtle => "subtle",
            Preset::Reactive => "reactive",
            Preset::Limp => "limp",
            Preset::Ragdoll => "ragdoll",
        }
    }

    /// The preset of that name.
    pub fn from_name(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|p| p.name() == name)
    }

    /// Its values.
    pub fn values(self) -> Resolved {
        // The relaxation time is one frame at 24 per second; alpha then sets the frequency.
        let relaxation_time = 1.0 / 24.0;
        let (rad_per_s, damping, weights, compensation, keep_up) = match self {
            Preset::Subtle => (48.0, 1.0, None, 10.0, 1.0),
            Preset::Reactive => (20.0, 0.8, Some(8.0), 4.0, 0.8),
            Preset::Limp => (7.0, 0.4, Some(2.0), 1.0, 0.3),
            Preset::Ragdoll => (0.0, 1.0, Some(0.0), 0.0, 0.0),
        };
        let product: f64 = rad_per_s * relaxation_time;
        let limit = |w: Option<f64>| w.map_or(Limit::Unlimited, |w| Limit::Weights(w.into()));
        Resolved {
            alpha: (product * product / 2.0).into(),
            damping: damping.into(),
            relaxation_time: relaxation_time.into(),
            max_force: limit(weights),
            max_torque: limit(weights),
            anticipation: 0.0.into(),
            balance: 0.0.into(),
            compensation: compensation.into(),
            keep_up: keep_up.into(),
            blend: 1.0.into(),
            start_balanced: self != Preset::Ragdoll,
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
        for actuator in self.bodies.iter_mut().map(|b| &mut b.actuator) {
            actuator.preset = preset;
            let knows = actuator.anticipation.as_ref().is_some_and(|a| a.first() > 0.0);
            match preset {
                _ if !knows => {}
                Preset::Subtle => actuator.anticipation = Some(1.0.into()),
                Preset::Reactive => {}
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
    /// The preset's values, with what is written here on top.
    pub fn resolve(&self) -> Resolved {
        let base = self.preset.values();
        let keyable = |own: &Option<Keyable>, preset: Keyable| own.clone().unwrap_or(preset);
        // As if it weighed as much as what it moves: pull and damping both grow by that factor, and the damping's share of
        // critical is counted against the root of the pull.
        let carries = self.carries.unwrap_or(1.0);
        let stronger = |limit: Limit| match limit {
            Limit::Weights(w) => Limit::Weights(w.times(carries)),
            other => other,
        };
        Resolved {
            alpha: keyable(&self.alpha, base.alpha).times(carries),
            damping: keyable(&self.damping, base.damping).times(carries.sqrt()),
            relaxation_time: keyable(&self.relaxation_time, base.relaxation_time),
            max_force: stronger(self.max_force.clone().unwrap_or(base.max_force)),
            max_torque: stronger(self.max_torque.clone().unwrap_or(base.max_torque)),
            anticipation: keyable(&self.anticipation, base.anticipation),
            balance: keyable(&self.balance, base.balance),
            compensation: keyable(&self.compensation, base.compensation),
            keep_up: keyable(&self.keep_up, base.keep_up),
            blend: keyable(&self.blend, base.blend),
            start_balanced: self.start_balanced.unwrap_or(base.start_balanced),
        }
    }
}
