use super::*;
use proptest::prelude::*;

fn key(time: f64, value: f64, arriving: [f64; 2], leaving: [f64; 2]) -> BezierKey {
    let handle = |[dt, dv]: [f64; 2]| Handle { dt, dv };
    BezierKey { time, value, arriving: handle(arriving), leaving: handle(leaving), next: Between::Bezier }
}

fn pair(a: f64, da: f64, b: f64, db: f64) -> Bezier {
    Bezier::new(vec![key(1.0, 2.0, [0.0; 2], [a, da]), key(3.0, 5.0, [-b, db], [0.0; 2])]).unwrap()
}

#[test]
fn handles_of_a_third_are_a_plain_cubic_exactly() {
    let b = pair(2.0 / 3.0, 1.0, 2.0 / 3.0, 0.5);
    let c = b.to_curve(0.0).unwrap();
    assert_eq!(c.times(), [1.0, 3.0]);
    for k in 0..=40 {
        let t = 0.5 + 0.075 * f64::from(k);
        assert!((c.scalar(t) - b.evaluate(t)).abs() < 1e-14);
        let mut d = [0.0];
        c.derivative(t, &mut d);
        assert!((d[0] - b.derivative(t)).abs() < 1e-13);
    }
}

#[test]
fn a_handle_longer_than_the_interval_is_cut_to_it() {
    // Blender's rule: each on its own, slope kept.
    let (long, cut) = (pair(5.0, 10.0, 0.5, 0.0), pair(2.0, 4.0, 0.5, 0.0));
    for k in 0..=20 {
        let t = 1.0 + 0.1 * f64::from(k);
        assert_eq!(long.evaluate(t), cut.evaluate(t));
    }
    // Both as long as the interval still give one value per time, with an upright middle.
    let both = pair(2.0, 0.0, 2.0, 0.0);
    assert!((both.evaluate(2.0) - 3.5).abs() < 1e-4);
    assert!(both.evaluate(1.99) < 3.5 && both.evaluate(2.01) > 3.5);
}

#[test]
fn hosts_handles_mean_the_same_curve() {
    let next = Between::Bezier;
    let ours = key(2.0, 1.0, [-0.5, 0.25], [0.25, 0.75]);
    let same = |other: BezierKey| {
        assert!((other.arriving.dt + 0.5).abs() < 1e-15 && (other.arriving.dv - 0.25).abs() < 1e-15);
        assert!((other.leaving.dt - 0.25).abs() < 1e-15 && (other.leaving.dv - 0.75).abs() < 1e-15);
        assert_eq!((other.time, other.value), (ours.time, ours.value));
    };
    same(BezierKey::blender([2.0, 1.0], [1.5, 1.25], [2.25, 1.75], next));
    same(BezierKey::maya([2.0, 1.0], [1.5, -0.75], [0.75, 2.25], next));
    let polar = |x: f64, y: f64| [libm::atan2(y, x), (x * x + y * y).sqrt()];
    same(BezierKey::maya_weighted([2.0, 1.0], polar(0.5, -0.25), polar(0.25, 0.75), next));
    same(BezierKey::usd([2.0, 1.0], [0.5, -0.5], [0.25, 3.0], next));
}

#[test]
fn constant_and_straight_segments_and_holding() {
    let mut keys = vec![key(0.0, 1.0, [0.0; 2], [0.3, 9.0]), key(1.0, 3.0, [-0.3, 9.0], [0.3, 9.0])];
    keys.push(key(2.0, 0.0, [-0.3, 9.0], [0.0; 2]));
    keys[0].next = Between::Constant;
    keys[1].next = Between::Linear;
    let b = Bezier::new(keys).unwrap();
    assert_eq!([-1.0, 0.5, 1.0, 1.5, 2.0, 9.0].map(|t| b.evaluate(t)), [1.0, 1.0, 3.0, 1.5, 0.0, 0.0]);
    assert_eq!([-1.0, 0.5, 1.0, 1.5, 2.0].map(|t| b.derivative(t)), [0.0, 0.0, -3.0, -3.0, 0.0]);
    let c = b.to_curve(1e-6).unwrap();
    for t in [-1.0, 0.5, 0.9999, 1.0, 1.5, 2.0, 9.0] {
        assert!((c.scalar(t) - b.evaluate(t)).abs() < 1e-12, "at {t}");
    }
}

#[test]
fn bad_keys_are_named() {
    assert_eq!(Bezier::new(vec![]), Err(CurveError::Empty));
    let bad = |k: BezierKey| Bezier::new(vec![key(0.0, 0.0, [0.0; 2], [0.0; 2]), k]).unwrap_err();
    assert!(matches!(bad(key(0.0, 0.0, [0.0; 2], [0.0; 2])), CurveError::Order { key: 1, .. }));
    assert!(matches!(bad(key(1.0, f64::NAN, [0.0; 2], [0.0; 2])), CurveError::NotFinite { key: 1, .. }));
    assert!(matches!(
        bad(key(1.0, 0.0, [0.0, f64::INFINITY], [0.0; 2])),
        CurveError::NotFinite { key: 1, .. }
    ));
}

proptest! {
    #[test]
    fn the_value_lies_on_the_bezier(a in 0.0..=2.0, da in -3.0..3.0, b in 0.0..=2.0, db in -3.0..3.0, s in 0.0..1.0) {
        // de Casteljau at s gives a time and the value there.
        let x = [1.0, 1.0 + a, 3.0 - b, 3.0];
        let v = [2.0, 2.0 + da, 5.0 + db, 5.0];
        let casteljau = |p: [f64; 4]| {
            let mix = |a: f64, b: f64| a + (b - a) * s;
            let (p, q, r) = (mix(p[0], p[1]), mix(p[1], p[2]), mix(p[2], p[3]));
            mix(mix(p, q), mix(q, r))
        };
        let (time, value) = (casteljau(x), casteljau(v));
        let curve = pair(a, da, b, db);
        let steepness = curve.derivative(time).abs();
        prop_assume!(steepness < 1e4);
        prop_assert!((curve.evaluate(time) - value).abs() < 1e-14 * (100.0 + steepness * 100.0));
    }

    #[test]
    fn the_slope_matches_finite_differences(a in 0.05..2.5, da in -3.0..3.0, b in 0.05..2.5, db in -3.0..3.0, t in 1.02..2.98) {
        let curve = pair(a, da, b, db);
        let step = 1e-6;
        let d = |t: f64| (curve.evaluate(t + step) - curve.evaluate(t - step)) / (2.0 * step);
        // Where the slope itself changes fast a difference says little.
        prop_assume!((d(t + 1e-3) - d(t - 1e-3)).abs() < 1.0);
        prop_assert!((curve.derivative(t) - d(t)).abs() < 1e-6 * (1.0 + d(t).abs()));
    }

    #[test]
    fn plain_keys_stay_within_the_tolerance(
        a in 0.0..2.5, da in -3.0..3.0, b in 0.0..2.5, db in -3.0..3.0,
        tolerance in prop_oneof![Just(1e-2), Just(1e-4)],
    ) {
        let curve = pair(a, da, b, db);
        let plain = curve.to_curve(tolerance).unwrap();
        for k in 0..=500 {
            let t = 1.0 + 2.0 * f64::from(k) / 500.0;
            let gap = (plain.scalar(t) - curve.evaluate(t)).abs();
            prop_assert!(gap <= 1.5 * tolerance, "{gap} at {t}");
        }
    }

    #[test]
    fn any_finite_handles_give_finite_values(
        numbers in prop::collection::vec(prop_oneof![Just(0.0), Just(1e300), Just(-1e300), Just(1e-300), -1.0..1.0], 4),
        h in prop_oneof![Just(1e-300), Just(1.0), Just(1e300)],
        u in 0.0..=1.0,
    ) {
        let n = &numbers;
        let keys = vec![key(0.0, 1.0, [0.0; 2], [n[0], n[1]]), key(h, -1.0, [n[2], n[3]], [0.0; 2])];
        let curve = Bezier::new(keys).unwrap();
        prop_assert!(curve.evaluate(u * h).is_finite());
        prop_assert!(curve.derivative(u * h).is_finite());
    }
}
