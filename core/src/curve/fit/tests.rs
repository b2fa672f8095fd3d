use super::*;
use glam::DVec3;
use proptest::prelude::*;
use std::f64::consts::TAU;

const FPS: f64 = 24.0;

fn frames(n: u32) -> Vec<f64> {
    (0..n).map(|k| f64::from(k) / FPS).collect()
}

fn sampled(times: &[f64], motion: impl Fn(f64) -> DVec3) -> Vec<f64> {
    times.iter().flat_map(|&t| motion(t).to_array()).collect()
}

fn turned(times: &[f64], motion: impl Fn(f64) -> DVec3) -> Vec<f64> {
    times.iter().flat_map(|&t| rotation::exp(motion(t)).to_array()).collect()
}

/// Writes the keys as f32, reads them again, and measures the largest error at the samples.
fn error_after_a_file(fit: &Fit, times: &[f64], samples: &[f64]) -> f64 {
    let narrow = |numbers: &[f64]| numbers.iter().map(|&v| f64::from(v as f32)).collect::<Vec<_>>();
    let c = &fit.curve;
    let Segments::Cubic { arriving, leaving } = c.segments() else { panic!("a fit is cubic") };
    let segments = Segments::Cubic { arriving: narrow(arriving), leaving: narrow(leaving) };
    let read = Curve::new(c.kind(), c.width(), narrow(c.times()), narrow(c.values()), segments).unwrap();
    let mut found = vec![0.0; c.width()];
    let mut worst = 0.0_f64;
    for (t, sample) in times.iter().zip(samples.chunks_exact(c.width())) {
        read.evaluate(*t, &mut found);
        worst = worst.max(match c.kind() {
            Kind::Vector => found.iter().zip(sample).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
            Kind::Rotation => {
                rotation::distance(DQuat::from_slice(&found), DQuat::from_slice(sample).normalize())
            }
        });
    }
    worst
}

fn damped(t: f64) -> f64 {
    libm::exp(-0.4 * t) * libm::cos(TAU * t)
}

#[test]
fn a_constant_becomes_one_key_and_a_line_two() {
    let times = frames(250);
    let fit_of =
        |motion: fn(f64) -> DVec3| fit(Kind::Vector, 3, &times, &sampled(&times, motion), 1e-4).unwrap();
    let constant = fit_of(|_| DVec3::new(0.1, -5.0, 3e5));
    assert_eq!(constant.curve.times(), [0.0]);
    let line = fit_of(|t| DVec3::new(3.0 * t, 1.0 - t, 0.25));
    assert_eq!(line.samples, [0, 249]);
    assert!((line.curve.velocity(5.0) - DVec3::new(3.0, -1.0, 0.0)).length() < 1e-6);
    let still = turned(&times, |_| DVec3::new(0.3, 0.2, 0.1));
    assert_eq!(fit(Kind::Rotation, 4, &times, &still, 1e-5).unwrap().samples, [0]);
}

#[test]
fn one_and_two_samples_are_enough() {
    let one = fit(Kind::Vector, 1, &[2.0], &[7.0], 0.0).unwrap();
    assert_eq!((one.curve.scalar(0.0), one.max_error), (7.0, 0.0));
    let two = fit(Kind::Vector, 1, &[2.0, 3.0], &[7.0, 8.0], 0.0).unwrap();
    assert_eq!((two.curve.scalar(2.5), two.max_error), (7.5, 0.0));
}

#[test]
fn a_cubic_motion_is_found_again_with_two_keys() {
    let times = frames(100);
    let cubic = |t: f64| DVec3::new(t * t * t - 4.0 * t * t, 2.0 - t * t, t);
    let options = FitOptions { tolerance: 1e-9, single: false, cyclic: false };
    // Bending pulls a parabola by less than this; a cubic's fourth derivative is zero.
    let found = fit_with(
        Kind::Vector,
        3,
        &times,
        &sampled(&times, cubic),
        &FitOptions { tolerance: 1e-3, ..options },
    );
    assert_eq!(found.unwrap().samples, [0, 99]);
}

#[test]
fn few_keys_for_typical_motions() {
    let times = frames(250);
    let keys = |tolerance, motion: &dyn Fn(f64) -> DVec3| {
        fit(Kind::Vector, 3, &times, &sampled(&times, motion), tolerance).unwrap().samples.len()
    };
    // With h the key distance a C1 cubic misses by about |x''''| h^4 / 384 at best a little less; these limits
    // are what that asks for and a tenth.
    assert!(keys(1e-3, &|t| DVec3::X * damped(t)) <= 38);
    assert!(keys(1e-3, &|t| DVec3::new(libm::cos(TAU * t / 5.0), 0.0, libm::sin(TAU * t / 5.0))) <= 15);
}

/// Keys on every other sample could meet all samples of anything, by swinging between them.
#[test]
fn rough_motions_do_not_swing_between_their_samples() {
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    let times = frames(60);
    let mut at = 0.0;
    let samples: Vec<f64> = times
        .iter()
        .map(|_| {
            at += random();
            at
        })
        .collect();
    for tolerance in [1e-3, 1e-2, 0.1] {
        let found = fit(Kind::Vector, 1, &times, &samples, tolerance).unwrap();
        for j in 1..times.len() - 2 {
            let (outer, inner) = (samples[j - 1] + samples[j + 2], samples[j] + samples[j + 1]);
            let likely = 0.5 * inner + (inner - outer) / 16.0;
            let value = found.curve.scalar(0.5 * (times[j] + times[j + 1]));
            let most = tolerance + 0.101 * (outer - inner).abs();
            let keys = found.samples.len();
            assert!((value - likely).abs() < most, "{value}, not {likely} after {j} of {keys} keys");
        }
    }
}

#[test]
fn a_bounce_on_a_frame_becomes_one_broken_key() {
    // Two parabolas that meet with a jump in velocity on frame 30.
    let times = frames(61);
    let motion = |t: f64| {
        let u = if t < 1.25 { t } else { t - 1.25 };
        DVec3::new(t, 0.5 * 9.81 * u * (1.25 - u), 0.0)
    };
    let found = fit(Kind::Vector, 3, &times, &sampled(&times, motion), 1e-3).unwrap();
    assert_eq!(found.samples, [0, 30, 60]);
    let Segments::Cubic { arriving, leaving } = found.curve.segments() else { panic!("a fit is cubic") };
    assert!((arriving[4] + 0.5 * 9.81 * 1.25).abs() < 1e-2, "{}", arriving[4]);
    assert!((leaving[4] - 0.5 * 9.81 * 1.25).abs() < 1e-2, "{}", leaving[4]);
}

#[test]
fn a_bounce_between_frames_needs_two_keys() {
    let times = frames(61);
    let motion = |t: f64| {
        let u = if t < 1.23 { t } else { t - 1.23 };
        DVec3::new(t, 0.5 * 9.81 * u * (1.23 - u), 0.0)
    };
    let found = fit(Kind::Vector, 3, &times, &sampled(&times, motion), 1e-3).unwrap();
    assert!(found.samples.len() <= 4, "{:?}", found.samples);
}

#[test]
fn the_curve_stays_near_a_smooth_source_between_samples() {
    let times = frames(250);
    let motion = |t: f64| DVec3::new(damped(t), 0.4 * libm::sin(3.0 * t), 0.2 * damped(t + 0.4));
    for tolerance in [1e-2, 1e-3, 1e-4] {
        let found = fit(Kind::Vector, 3, &times, &sampled(&times, motion), tolerance).unwrap();
        let turns = fit(Kind::Rotation, 4, &times, &turned(&times, motion), tolerance).unwrap();
        for k in 0..2490 {
            let t = f64::from(k) / (10.0 * FPS);
            let gap = found.curve.vector(t).distance(motion(t));
            assert!(gap < 3.0 * tolerance, "{gap} at {t}");
            let gap = rotation::distance(turns.curve.quaternion(t), rotation::exp(motion(t)));
            assert!(gap < 3.0 * tolerance, "{gap} at {t}");
        }
    }
}

#[test]
fn a_zigzag_does_not_overshoot_between_its_keys() {
    let times = frames(40);
    let samples: Vec<f64> = (0..40).map(|k| if k % 2 == 0 { 1.0 } else { -1.0 }).collect();
    for tolerance in [0.0, 1e-3, 0.1, 0.5] {
        // Doubles: with times rounded to f32 no curve can do better than 1e-6 here.
        let options = FitOptions { tolerance, single: false, cyclic: false };
        let found = fit_with(Kind::Vector, 1, &times, &samples, &options).unwrap();
        assert!(found.max_error <= tolerance);
        for k in 0..390 {
            let value = found.curve.scalar(f64::from(k) / (10.0 * FPS));
            assert!(
                value.abs() < 1.3 + tolerance,
                "{value} at {k} within {tolerance}: {} keys",
                found.samples.len()
            );
        }
    }
}

#[test]
fn a_tangent_too_steep_for_an_f32_does_not_hang() {
    // Its error is infinite, however many keys there are.
    let times = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let samples = [0.0, 3e38, -3e38, -3e38, -3e38, -3e38];
    assert!(fit(Kind::Vector, 1, &times, &samples, 1e37).unwrap().max_error <= 1e37);
    assert!(fit(Kind::Vector, 1, &times, &samples, 0.0).unwrap().max_error < 1e32);
}

#[test]
fn both_ends_are_met_exactly() {
    let times = frames(100);
    let samples = sampled(&times, |t| DVec3::new(damped(t), t, 0.0));
    let options = FitOptions { tolerance: 1e-2, single: false, cyclic: false };
    let found = fit_with(Kind::Vector, 3, &times, &samples, &options).unwrap();
    assert_eq!(found.curve.values()[..3], samples[..3]);
    assert_eq!(found.curve.values()[found.curve.values().len() - 3..], samples[297..]);
}

#[test]
fn signs_of_quaternions_do_not_matter() {
    let times = frames(80);
    let mut samples = turned(&times, |t| DVec3::new(t, libm::sin(t), 0.0));
    let plain = fit(Kind::Rotation, 4, &times, &samples, 1e-3).unwrap();
    samples.chunks_exact_mut(4).step_by(3).skip(1).flatten().for_each(|c| *c = -*c);
    let flipped = fit(Kind::Rotation, 4, &times, &samples, 1e-3).unwrap();
    assert_eq!(plain, flipped);
}

#[test]
fn wide_channels_fit_like_narrow_ones() {
    let times = frames(120);
    let samples: Vec<f64> =
        times.iter().flat_map(|&t| (0..10).map(move |i| libm::sin(t * (1.0 + 0.1 * f64::from(i))))).collect();
    let found = fit(Kind::Vector, 10, &times, &samples, 1e-3).unwrap();
    assert!(found.samples.len() < 30, "{}", found.samples.len());
    assert!(error_after_a_file(&found, &times, &samples) <= 1e-3);
}

#[test]
fn bad_samples_are_named() {
    let times = frames(4);
    let error = |times: &[f64], samples: &[f64], tolerance| {
        fit(Kind::Vector, 1, times, samples, tolerance).unwrap_err()
    };
    let sample = |what, sample| CurveError::Sample { what, sample };
    assert_eq!(error(&times, &[0.0, 1.0, f64::NAN, 0.0], 0.1), sample("a value", 2));
    assert_eq!(error(&times, &[0.0, 1e39, 0.0, 0.0], 0.1), sample("a value", 1));
    assert_eq!(error(&[0.0, f64::INFINITY], &[0.0; 2], 0.1), sample("a time", 1));
    assert_eq!(error(&[1.0, 1.0 + 1e-9], &[0.0; 2], 0.1), CurveError::Order { key: 1, time: 1.0 + 1e-9 });
    assert!(matches!(error(&times, &[0.0; 4], f64::NAN), CurveError::Tolerance { .. }));
    assert!(matches!(error(&times, &[0.0; 5], 0.1), CurveError::Length { found: 5, expected: 4, .. }));
    assert_eq!(error(&[], &[], 0.1), CurveError::Empty);
    let zero = fit(Kind::Rotation, 4, &times[..1], &[0.0; 4], 0.1).unwrap_err();
    assert_eq!(zero, CurveError::ZeroQuaternion { key: 0 });
}

fn uneven_times() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.01..0.2, 1..80)
        .prop_map(|steps| steps.iter().scan(-1.0, |t, h| Some(std::mem::replace(t, *t + h))).collect())
}

proptest! {
    #[test]
    fn the_error_bound_holds_after_a_file(
        (times, noise) in uneven_times().prop_flat_map(|t| {
            let n = t.len() * 4;
            (Just(t), prop::collection::vec(-1.0..1.0, n))
        }),
        roughness in prop_oneof![Just(0.0), Just(1e-4), Just(0.5)],
        tolerance in prop_oneof![Just(1e-4), Just(1e-2), Just(0.3)],
        rotation: bool,
    ) {
        let smooth = |t: f64, i: usize| libm::sin(3.0 * t + i as f64) + 1.5 * f64::from(i == 3);
        let samples: Vec<f64> = (0..times.len() * 4)
            .map(|j| smooth(times[j / 4], j % 4) + roughness * noise[j])
            .collect();
        let kind = if rotation { Kind::Rotation } else { Kind::Vector };
        let found = fit(kind, 4, &times, &samples, tolerance);
        prop_assume!(!matches!(found, Err(CurveError::ZeroQuaternion { .. })));
        let found = found.unwrap();
        prop_assert!(found.max_error <= tolerance);
        let error = error_after_a_file(&found, &times, &samples);
        prop_assert!((error - found.max_error).abs() <= 1e-9, "{error} {}", found.max_error);
        for (key, &sample) in found.samples.iter().enumerate() {
            prop_assert_eq!(found.curve.times()[key], f64::from(times[sample] as f32));
        }
    }

    #[test]
    fn any_finite_samples_fit(
        values in prop::collection::vec(prop_oneof![Just(0.0), Just(3e38), Just(-3e38), Just(1e-40), -1.0..1.0], 1..30),
        times in prop::collection::vec(prop_oneof![Just(1e-30), Just(1e30), Just(1.0)], 30),
        tolerance in prop_oneof![Just(0.0), Just(1e-30), Just(1e-3), Just(1e37)],
    ) {
        let mut times: Vec<f64> = times.iter().scan(0.0, |t, h| { *t += h; Some(*t) }).collect();
        times.dedup_by(|b, a| *b as f32 <= *a as f32);
        let n = times.len().min(values.len());
        let found = fit(Kind::Vector, 1, &times[..n], &values[..n], tolerance).unwrap();
        prop_assert!(!found.max_error.is_nan());
        prop_assert!(found.curve.values().iter().all(|v| v.is_finite()));
    }
}
