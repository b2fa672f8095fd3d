use super::super::CurveError;
use super::*;
use proptest::prelude::*;

fn times() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.05..1.0, 1..7)
        .prop_map(|steps| steps.iter().scan(0.0, |t, h| Some(std::mem::replace(t, *t + h))).collect())
}

fn curve_of(kind: Kind, width: usize, tangent: f64) -> impl Strategy<Value = Curve> {
    times().prop_flat_map(move |times| {
        let n = times.len() * width;
        let numbers = move |size: f64| prop::collection::vec(-size..size, n);
        (Just(times), numbers(1.0), numbers(tangent), numbers(tangent), 0..3).prop_filter_map(
            "a rotation key is zero",
            move |(times, values, arriving, leaving, segments)| {
                let segments = match segments {
                    0 => Segments::Step,
                    1 => Segments::Linear,
                    _ => Segments::Cubic { arriving, leaving },
                };
                Curve::new(kind, width, times, values, segments).ok()
            },
        )
    })
}

/// Any vector curve of one to six keys within about five seconds.
pub(in crate::curve) fn vector_curve(width: usize) -> impl Strategy<Value = Curve> {
    curve_of(Kind::Vector, width, 3.0)
}

/// Any rotation curve of one to six keys within about five seconds.
pub(in crate::curve) fn rotation_curve() -> impl Strategy<Value = Curve> {
    curve_of(Kind::Rotation, 4, 2.0)
}

/// The specification's own words for the cubic: four terms, `t_d` times the tangents.
fn cubic_by_the_book(u: f64, h: f64, a: f64, m0: f64, b: f64, m1: f64) -> f64 {
    (2.0 * u.powi(3) - 3.0 * u.powi(2) + 1.0) * a
        + h * (u.powi(3) - 2.0 * u.powi(2) + u) * m0
        + (-2.0 * u.powi(3) + 3.0 * u.powi(2)) * b
        + h * (u.powi(3) - u.powi(2)) * m1
}

/// The specification's slerp: `sin` weights of the arc between, the sign of the dot product.
fn slerp_by_the_book(a: DQuat, b: DQuat, u: f64) -> DQuat {
    let d = a.dot(b);
    let angle = libm::acos(d.abs());
    let (s0, s1) = (libm::sin(angle * (1.0 - u)), d.signum() * libm::sin(angle * u));
    (a * s0 + b * s1) * (1.0 / libm::sin(angle))
}

proptest! {
    #[test]
    fn values_are_those_of_the_specification(curve in vector_curve(2), t in -0.2..5.0) {
        let mut out = [0.0; 2];
        curve.evaluate(t, &mut out);
        let times = curve.times();
        let n = times.len();
        for (i, found) in out.into_iter().enumerate() {
            let v = |k: usize| curve.values()[k * 2 + i];
            let expected = if t < times[0] {
                v(0)
            } else if t >= times[n - 1] {
                v(n - 1)
            } else {
                let k = (0..n - 1).find(|&k| t < times[k + 1]).unwrap();
                let h = times[k + 1] - times[k];
                let u = (t - times[k]) / h;
                match curve.segments() {
                    Segments::Step => v(k),
                    Segments::Linear => (1.0 - u) * v(k) + u * v(k + 1),
                    Segments::Cubic { arriving, leaving } => {
                        cubic_by_the_book(u, h, v(k), leaving[k * 2 + i], v(k + 1), arriving[(k + 1) * 2 + i])
                    }
                }
            };
            prop_assert!((found - expected).abs() < 4e-15, "{found} {expected}");
        }
    }

    #[test]
    fn rotations_are_those_of_the_specification(curve in rotation_curve(), u in 0.0..1.0) {
        let n = curve.times().len();
        for k in 1..n {
            let (t0, t1) = (curve.times()[k - 1], curve.times()[k]);
            let h = t1 - t0;
            let q = |k: usize| DQuat::from_slice(&curve.values()[k * 4..]);
            let found = curve.quaternion(t0 + u * h);
            let u = (t0 + u * h - t0) / h;
            let expected = match curve.segments() {
                Segments::Step => q(k - 1),
                Segments::Linear => {
                    let d = q(k - 1).dot(q(k)).abs();
                    prop_assume!(d < 0.9999 && d > 1e-9);
                    slerp_by_the_book(q(k - 1), q(k), u)
                }
                Segments::Cubic { arriving, leaving } => {
                    let part = |i: usize| {
                        let at = |numbers: &[f64], k: usize| numbers[k * 4 + i];
                        let v = curve.values();
                        cubic_by_the_book(u, h, at(v, k - 1), at(leaving, k - 1), at(v, k), at(arriving, k))
                    };
                    let p = DQuat::from_xyzw(part(0), part(1), part(2), part(3));
                    prop_assume!(p.length() > 1e-2);
                    p.normalize()
                }
            };
            // Not only the same rotation: the same quaternion.
            let gap = (found - expected).length();
            prop_assert!(gap < 2e-12, "{gap}");
        }
    }

    #[test]
    fn a_cursor_changes_no_bit(
        curve in vector_curve(3),
        times in prop::collection::vec(-0.5..6.0, 1..40),
        cursor in 0usize..9,
        forward: bool,
    ) {
        let mut times = times;
        times.extend_from_slice(curve.times());
        if forward {
            times.sort_by(f64::total_cmp);
        }
        let mut cursor = cursor;
        let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
        for t in times {
            curve.evaluate(t, &mut a);
            curve.evaluate_from(&mut cursor, t, &mut b);
            prop_assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits));
        }
    }

    #[test]
    fn finite_keys_give_finite_values(
        base in prop_oneof![Just(0.0), Just(1.0), Just(-1e308), Just(1e-310)],
        gap in prop_oneof![Just(5e-324), Just(1e-300), Just(1e-16), Just(1.0), Just(1.7e308)],
        values in prop::collection::vec(extreme(), 8),
        tangents in prop::collection::vec(extreme(), 16),
        kind in prop_oneof![Just(Kind::Vector), Just(Kind::Rotation)],
        segments in 0..3,
        u in 0.0..=1.0,
    ) {
        let times: Vec<f64> = vec![base, f64::max(base + gap, f64::next_up(base))];
        let segments = match segments {
            0 => Segments::Step,
            1 => Segments::Linear,
            _ => Segments::Cubic { arriving: tangents[..8].to_vec(), leaving: tangents[8..].to_vec() },
        };
        let Ok(curve) = Curve::new(kind, 4, times.clone(), values, segments) else { return Ok(()) };
        for t in [times[0], times[1], times[0] + u * gap, f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0] {
            let mut out = [0.0; 4];
            curve.evaluate(t, &mut out);
            prop_assert!(out.iter().all(|v| v.is_finite()), "{out:?} at {t}");
            if kind == Kind::Rotation {
                let length = DQuat::from_array(out).length();
                prop_assert!((length - 1.0).abs() < 1e-14, "{length} at {t}");
                prop_assert!(curve.angular_velocity(t).is_finite());
            }
            curve.derivative(t, &mut out);
            prop_assert!(out.iter().all(|v| v.is_finite()), "{out:?} at {t}");
        }
    }
}

fn extreme() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(1.0),
        Just(-1.0),
        Just(1.7e308),
        Just(-1.7e308),
        Just(1e200),
        Just(1e-310),
        -1.0..1.0
    ]
}

#[test]
fn keys_are_met_exactly_and_held_outside() {
    let times = vec![0.5, 1.25, 4.0];
    let values = vec![0.1, -7.3, 1e9];
    for segments in [
        Segments::Step,
        Segments::Linear,
        Segments::Cubic { arriving: vec![3.0, -2.0, 9.0], leaving: vec![0.3, 11.0, -4.0] },
    ] {
        let c = Curve::new(Kind::Vector, 1, times.clone(), values.clone(), segments).unwrap();
        for (t, v) in times.iter().zip(&values) {
            assert_eq!(c.scalar(*t), *v);
        }
        assert_eq!((c.scalar(-1.0), c.scalar(9.0)), (0.1, 1e9));
    }
}

#[test]
fn one_key_holds_everywhere() {
    for segments in
        [Segments::Step, Segments::Linear, Segments::Cubic { arriving: vec![5.0], leaving: vec![6.0] }]
    {
        let c = Curve::new(Kind::Vector, 1, vec![2.0], vec![7.0], segments).unwrap();
        assert_eq!([1.0, 2.0, 3.0].map(|t| c.scalar(t)), [7.0; 3]);
    }
}

#[test]
fn a_constant_curve_is_constant_to_the_bit() {
    let v = 0.1 + 0.2;
    for segments in [Segments::Linear, Segments::Cubic { arriving: vec![0.0; 2], leaving: vec![0.0; 2] }] {
        let c = Curve::new(Kind::Vector, 1, vec![0.0, 3.0], vec![v; 2], segments).unwrap();
        assert!((0..100).all(|i| c.scalar(0.03 * f64::from(i)) == v));
    }
}

#[test]
fn half_turns_and_opposite_signs_interpolate() {
    let half_turn = [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]].concat();
    let c = Curve::new(Kind::Rotation, 4, vec![0.0, 1.0], half_turn, Segments::Linear).unwrap();
    let quarter = DQuat::from_xyzw(0.5f64.sqrt(), 0.0, 0.0, 0.5f64.sqrt());
    assert!((c.quaternion(0.5) - quarter).length() < 1e-15);
    // q and -q are the same rotation: nothing turns in between.
    let q = rotation::exp(DVec3::new(0.4, 0.1, -0.9));
    let c = Curve::new(
        Kind::Rotation,
        4,
        vec![0.0, 1.0],
        [q.to_array(), (-q).to_array()].concat(),
        Segments::Linear,
    )
    .unwrap();
    assert!((c.quaternion(0.5) - q).length() < 1e-15);
    // Cubic from q to -q with flat tangents meets zero in the middle and holds there.
    let flat = || vec![0.0; 8];
    let c = Curve::new(
        Kind::Rotation,
        4,
        vec![0.0, 1.0],
        [q.to_array(), (-q).to_array()].concat(),
        Segments::Cubic { arriving: flat(), leaving: flat() },
    )
    .unwrap();
    assert_eq!(c.quaternion(0.5), c.quaternion(0.0));
    assert_eq!(c.angular_velocity(0.5), DVec3::ZERO);
}

#[test]
fn a_huge_quaternion_key_is_a_rotation_and_a_zero_one_is_refused() {
    let c = Curve::new(Kind::Rotation, 4, vec![0.0], vec![1e300, 0.0, 0.0, -1e300], Segments::Step).unwrap();
    assert!((c.quaternion(0.0).length() - 1.0).abs() < 1e-15);
    let zero = Curve::new(Kind::Rotation, 4, vec![0.0], vec![0.0; 4], Segments::Step);
    assert_eq!(zero, Err(CurveError::ZeroQuaternion { key: 0 }));
}
