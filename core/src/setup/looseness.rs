//! One slider from the keys to a ragdoll.
//!
//! Looseness 0 is the keys, 1 has no strength at all; presets are named points between. What has a tone of its own (a limb
//! whose `frequency` is given) is as it is written at [`AS_WRITTEN`]:
//!
//! - Below, the shares of the keys' torque and velocity that it does not know, `1 - anticipation` and `1 - keep_up`, shrink in
//!   proportion: less drag of the same kind.
//! - Above, it gets slower along a line of the logarithm, knows less and less of its keys, is damped less, and lets go of its
//!   weight by an angle that grows by the same factor at every step of the slider ([`Weight::sag`]).
//! - What carries the figure, root and legs (`stance`), lets go last, from [`STANCE_FROM`] on; at 1 all strength is gone.

use super::{Keyable, Limit, Resolved};

/// At this point of the slider a tone is as it is written.
pub const AS_WRITTEN: f64 = 0.3;

/// Here all but the last strength is gone...
const LOOSEST: f64 = 0.9;

/// ...and frequencies are this share of what they were.
const SLOWEST: f64 = 0.2;

/// Damping ratio there.
const SWINGING: f64 = 0.4;

/// Root and legs begin to let go here.
const STANCE_FROM: f64 = 0.7;

/// Learning of loads fades between these.
const LEARNS: [f64; 2] = [0.6, 0.9];

/// What is tighter than this has no limit to its strength: it would be cut just where it is fastest.
const UNLIMITED_BELOW: f64 = 0.15;

/// Sag under its own weight: this angle (degrees) times `SAG_GROWS^n - 1`, n counted in tenths of the slider.
const SAG_DEG: f64 = 0.2;
const SAG_GROWS: f64 = 2.2;

/// How a root's weight is let go: an exponential of this steepness.
const WEIGHT_STEEPNESS: f64 = 4.0;

/// How much of its weight a muscle knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// Share of it, 0 to 1; `None`: by how quickly it notices a lasting push (`compensation`).
    pub share: Option<f64>,
    /// As much of the rest as lets it sag by this angle, rad.
    pub sag: f64,
}

impl Weight {
    /// By its compensation.
    pub const LEARNT: Weight = Weight { share: None, sag: 0.0 };
}

/// Loosens a tone, as written at [`AS_WRITTEN`], to another point of the slider. `stance`: it carries its figure.
pub(super) fn loosen(tone: &mut Resolved, looseness: f64, stance: bool) {
    let l = looseness.clamp(0.0, 1.0);
    let unknown = |value: &Keyable, times: f64| value.map(|v| 1.0 - (1.0 - v) * times);
    tone.weight = Weight { share: Some(1.0), sag: 0.0 };
    if l <= AS_WRITTEN {
        let times = l / AS_WRITTEN;
        tone.anticipation = unknown(&tone.anticipation, times);
        tone.keep_up = unknown(&tone.keep_up, times);
        if l == 0.0 {
            tone.blend = 0.0.into();
        }
        if l < UNLIMITED_BELOW {
            (tone.max_force, tone.max_torque) = (Limit::Unlimited, Limit::Unlimited);
        }
        return;
    }
    let from = if stance { STANCE_FROM } else { AS_WRITTEN };
    let way = ((l - from) / (LOOSEST - from)).clamp(0.0, 1.0);
    let slower = libm::pow(SLOWEST, way);
    tone.alpha = tone.alpha.clone().times(slower * slower);
    tone.anticipation = tone.anticipation.clone().times(1.0 - way);
    tone.keep_up = tone.keep_up.clone().times(1.0 - way);
    tone.damping = tone.damping.map(|z| z + (z.min(SWINGING) - z) * way);
    let learns = ((LEARNS[1] - l) / (LEARNS[1] - LEARNS[0])).clamp(0.0, 1.0);
    tone.compensation = tone.compensation.clone().times(learns);
    tone.weight = match stance {
        true => {
            let let_go = ((l - from) / (1.0 - from)).max(0.0);
            let steep = libm::exp(WEIGHT_STEEPNESS);
            let share = 1.0 - (libm::exp(WEIGHT_STEEPNESS * let_go) - 1.0) / (steep - 1.0);
            Weight { share: Some(share), sag: 0.0 }
        }
        false => {
            let tenths = (l - AS_WRITTEN) / 0.1;
            let sag = (SAG_DEG * (libm::pow(SAG_GROWS, tenths) - 1.0)).to_radians();
            Weight { share: Some(1.0), sag }
        }
    };
    // The last of its strength goes with the last tenth.
    let left = ((1.0 - l) / (1.0 - LOOSEST)).clamp(0.0, 1.0);
    if left < 1.0 {
        tone.alpha = tone.alpha.clone().times(left);
        tone.max_force = weaker(&tone.max_force, left);
        tone.max_torque = weaker(&tone.max_torque, left);
        if left == 0.0 {
            tone.start_balanced = false;
            tone.weight = Weight { share: Some(0.0), sag: 0.0 };
        }
    }
}

fn weaker(limit: &Limit, times: f64) -> Limit {
    match limit {
        Limit::Unlimited if times > 0.0 => Limit::Unlimited,
        Limit::Unlimited => Limit::Weights(0.0.into()),
        Limit::Absolute(v) => Limit::Absolute(v.clone().times(times)),
        Limit::Weights(v) => Limit::Weights(v.clone().times(times)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Actuator, Preset};

    fn arm() -> Actuator {
        Actuator {
            frequency: Some(3.0.into()),
            damping: Some(0.9.into()),
            keep_up: Some(0.5.into()),
            anticipation: Some(0.4.into()),
            ..Actuator::default()
        }
    }

    #[test]
    fn a_tone_is_as_written_where_the_slider_says_so() {
        let all = arm().resolve(Some(AS_WRITTEN));
        let hertz = (2.0 * all.alpha.first()).sqrt() / all.relaxation_time.first() / std::f64::consts::TAU;
        assert!((hertz - 3.0).abs() < 1e-12, "{hertz}");
        assert_eq!((all.keep_up.first(), all.anticipation.first()), (0.5, 0.4));
        assert_eq!(arm().resolve(None), all, "reactive is that point");
    }

    /// Towards a ragdoll nothing gets stronger, knows more of its keys, or sags less.
    #[test]
    fn the_slider_goes_one_way() {
        for stance in [false, true] {
            let at = |l: f64| Actuator { stance: Some(stance), ..arm() }.resolve(Some(l));
            for k in 0..100 {
                let (a, b) = (at(f64::from(k) / 100.0), at(f64::from(k + 1) / 100.0));
                let falls = |x: &Keyable, y: &Keyable| y.first() <= x.first() + 1e-12;
                assert!(falls(&a.alpha, &b.alpha) && falls(&a.keep_up, &b.keep_up), "{k}");
                assert!(
                    falls(&a.anticipation, &b.anticipation) && falls(&a.compensation, &b.compensation),
                    "{k}"
                );
                assert!(b.weight.share <= a.weight.share && (b.weight.sag >= a.weight.sag || k == 99), "{k}");
            }
            assert_eq!(at(0.0).blend.first(), 0.0);
            assert_eq!((at(1.0).alpha.first(), at(1.0).weight.share), (0.0, Some(0.0)));
        }
    }

    #[test]
    fn presets_are_points_of_the_slider_for_things_without_a_tone_too() {
        for preset in Preset::ALL {
            assert_eq!(preset.values(), Preset::values_at(preset.looseness()), "{}", preset.name());
        }
        let mut before = f64::INFINITY;
        for k in 1..=100 {
            let alpha = Preset::values_at(f64::from(k) / 100.0).alpha.first();
            assert!(alpha <= before, "{k}");
            before = alpha;
        }
    }
}
