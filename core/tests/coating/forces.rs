//! Spots add up to the integral of the pressure.

use super::{STIFFNESS, at, collider, turned};
use glam::{DQuat, DVec3};
use parry3d_f64::shape::SharedShape;
use proptest::prelude::*;
use sinew_core::coating::{Spot, field, force, patch};
use sinew_core::rig::Collider;
use sinew_core::scene::Placement;
use sinew_core::shape::Geometry;
use std::f64::consts::PI;

fn spots(a: (&Collider, Placement), b: (&Collider, Placement)) -> Vec<Spot> {
    let mut out = Vec::new();
    patch(a.0, &a.1, b.0, &b.1, &mut out);
    out
}

/// The volume that two shapes share and its centre, by counting points of a fine grid
/// where the spots are.
fn counted(a: (&Collider, Placement), b: (&Collider, Placement), spots: &[Spot]) -> (f64, DVec3) {
    const N: [usize; 3] = [100, 400, 100];
    let deepest = spots.iter().fold(0.0, |m: f64, s| m.max(s.depth));
    let (low, high) = spots
        .iter()
        .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), s| (l.min(s.point), h.max(s.point)));
    // Gauss's points stay away from the rim, by less than a quarter of the region.
    let (about, half) = ((low + high) * 0.5, (high - low) * 0.8 + deepest);
    let inside = |c: &(&Collider, Placement), p: DVec3| {
        field(&c.0.geometry, c.1.rotation.conjugate() * (p - c.1.position)).distance < 0.0
    };
    let cell = half * 2.0 / DVec3::new(N[0] as f64, N[1] as f64, N[2] as f64);
    let (mut count, mut sum) = (0.0, DVec3::ZERO);
    for i in 0..N[0] {
        for j in 0..N[1] {
            for k in 0..N[2] {
                let p = about - half + cell * DVec3::new(i as f64 + 0.5, j as f64 + 0.5, k as f64 + 0.5);
                if inside(&a, p) && inside(&b, p) {
                    count += 1.0;
                    sum += p;
                }
            }
        }
    }
    (count * cell.x * cell.y * cell.z, sum / count)
}

fn relative(found: f64, expected: f64) -> f64 {
    ((found - expected) / expected).abs()
}

/// The cap of a ball of radius r, d high.
fn cap(r: f64, d: f64) -> f64 {
    PI * d * d * (r - d / 3.0)
}

#[test]
fn a_ball_on_a_plane_presses_with_the_volume_of_its_cap() {
    let plane = |k| collider(Geometry::half_space(), k);
    let ball = |r, k| collider(Geometry::ball(r), k);
    let mut worst: f64 = 0.0;
    for (r, d) in [(0.5, 1e-5), (0.5, 0.01), (0.5, 0.1), (2.0, 0.3), (0.1, 0.05)] {
        for (soft_ball, soft_plane, k) in [
            (Some(STIFFNESS), None, STIFFNESS),
            (None, Some(STIFFNESS), STIFFNESS),
            (Some(STIFFNESS), Some(3.0 * STIFFNESS), 0.75 * STIFFNESS),
        ] {
            let (ball, plane) = (ball(r, soft_ball), plane(soft_plane));
            let turn = DQuat::from_rotation_x(0.4);
            let pose = at(turn * DVec3::new(0.3, r - d, -0.2));
            let s = spots((&plane, turned(DVec3::ZERO, turn)), (&ball, pose));
            assert!(s.len() <= 40, "{}", s.len());
            let (f, moment) = force(&s, pose.position);
            let up = turn * DVec3::Y;
            worst = worst.max(relative(f.dot(up), k * cap(r, d)));
            assert!(f.cross(up).length() < 1e-12 * f.length());
            assert!(moment.length() < 1e-6 * r * f.length(), "{moment}");
            let other = force(&spots((&ball, pose), (&plane, turned(DVec3::ZERO, turn))), pose.position).0;
            assert!((f + other).length() < 1e-9 * f.length(), "not equal and opposite: {f} {other}");
        }
    }
    println!("worst {worst:.2e}");
    assert!(worst < 4e-3, "{worst:.2e}");
}

#[test]
fn a_ball_on_a_ball_presses_with_the_volume_of_their_lens() {
    let mut worst: f64 = 0.0;
    for (r, q, d) in [(0.5, 0.5, 0.05), (1.0, 0.3, 0.1), (0.2, 2.0, 0.01)] {
        let (a, b) = (collider(Geometry::ball(r), Some(1e4)), collider(Geometry::ball(q), Some(3e4)));
        let way = DVec3::new(1.0, 2.0, -0.5).normalize();
        let between = r + q - d;
        let s = spots((&a, at(DVec3::ONE)), (&b, at(DVec3::ONE + way * between)));
        let lens = PI
            * (r + q - between).powi(2)
            * (between * between + 2.0 * between * (r + q) - 3.0 * (r - q).powi(2))
            / (12.0 * between);
        let f = force(&s, DVec3::ZERO).0;
        worst = worst.max(relative(f.dot(way), 7.5e3 * lens));
        // The softer one gives way three times as far; the fields are equal where the spots are.
        for spot in &s {
            let da = (spot.point - DVec3::ONE).length() - r;
            let db = (spot.point - DVec3::ONE - way * between).length() - q;
            assert!((da - 3.0 * db).abs() < 0.2 * d, "{da} {db}");
        }
    }
    println!("worst {worst:.2e}");
    assert!(worst < 2e-3, "{worst:.2e}");
}

#[test]
fn a_box_on_a_plane_presses_exactly() {
    let plane = collider(Geometry::half_space(), None);
    let half = DVec3::new(0.5, 0.2, 0.3);
    let block = collider(Geometry::cuboid(half), Some(STIFFNESS));
    let s = spots((&plane, Placement::IDENTITY), (&block, at(DVec3::new(3.0, 0.2 - 0.01, 1.0))));
    let (f, moment) = force(&s, DVec3::new(3.0, 0.0, 1.0));
    assert!(relative(f.y, STIFFNESS * 0.6 * 0.01) < 1e-12 && moment.length() < 1e-9, "{f} {moment}");
    assert_eq!(s.len(), 6);
    // Standing on an edge, 45 degrees: a prism of depth d has a triangle of d^2 for its end.
    let turn = DQuat::from_rotation_z(PI / 4.0);
    let low = turn * DVec3::new(-0.5, -0.2, 0.0);
    let pose = turned(DVec3::new(0.0, -low.y - 0.03, 0.0), turn);
    let s = spots((&plane, Placement::IDENTITY), (&block, pose));
    let (f, moment) = force(&s, DVec3::new(low.x, 0.0, 0.0));
    assert!(relative(f.y, STIFFNESS * 0.6 * 0.03 * 0.03) < 1e-12, "{f}");
    assert!(moment.length() < 1e-9, "{moment}");
    // On a corner: a pyramid.
    let corner = DQuat::from_rotation_arc(DVec3::NEG_ONE.normalize(), DVec3::NEG_Y);
    let low = corner * -half;
    let pose = turned(DVec3::Y * (-low.y - 0.05), corner);
    let f = force(&spots((&plane, Placement::IDENTITY), (&block, pose)), DVec3::ZERO).0;
    // Edges of d sqrt(3) along the three axes: a sixth of their product.
    let pyramid = (0.05 * 3.0_f64.sqrt()).powi(3) / 6.0;
    assert!(relative(f.y, STIFFNESS * pyramid) < 1e-9, "{f} {}", STIFFNESS * pyramid);
}

#[test]
fn boxes_on_boxes_press_with_the_volume_they_share() {
    let a = collider(Geometry::cuboid(DVec3::new(0.6, 0.2, 0.5)), Some(STIFFNESS));
    let b = collider(Geometry::cuboid(DVec3::new(0.4, 0.3, 0.3)), None);
    // Stacked and turned; over the edge; a corner on an edge.
    for (place, turn) in [
        (DVec3::new(0.0, 0.48, 0.0), DQuat::from_rotation_y(0.5)),
        (DVec3::new(0.5, 0.48, 0.3), DQuat::from_rotation_y(0.2)),
        (DVec3::new(0.1, 0.55, 0.1), DQuat::from_rotation_z(0.3) * DQuat::from_rotation_y(0.6)),
        (DVec3::new(0.8, 0.45, 0.0), DQuat::from_rotation_z(0.7)),
    ] {
        let pair = ((&a, Placement::IDENTITY), (&b, turned(place, turn)));
        let s = spots(pair.0, pair.1);
        let (f, moment) = force(&s, DVec3::ZERO);
        let (volume, center) = counted(pair.0, pair.1, &s);
        assert!(relative(f.length(), STIFFNESS * volume) < 0.02, "{} {}", f.length(), STIFFNESS * volume);
        let off = (moment - center.cross(f)).length() / f.length();
        assert!(off < 0.01, "the line of force is off by {off}");
        assert!(s.len() <= 60, "{}", s.len());
    }
}

#[test]
fn equal_boxes_in_a_stack_press_straight_up() {
    let block = collider(Geometry::cuboid(DVec3::splat(0.5)), Some(STIFFNESS));
    for slip in [0.0, 1e-12, 1e-6, -1e-3, 0.05] {
        let s = spots((&block, Placement::IDENTITY), (&block, at(DVec3::new(slip, 0.99, 0.0))));
        let f = force(&s, DVec3::ZERO).0;
        assert!(relative(f.y, 0.5 * STIFFNESS * 0.01 * (1.0 - slip.abs())) < 1e-6, "{slip}: {f}");
        assert!(f.x.hypot(f.z) < 1e-5 * f.y, "{slip}: {f}");
    }
}

#[test]
fn a_capsule_on_a_plane_presses_with_the_volume_of_its_segment() {
    let plane = collider(Geometry::half_space(), None);
    let mut worst: f64 = 0.0;
    for (half, r, d) in [(1.0, 0.3, 0.02), (0.2, 0.3, 0.1), (3.0, 0.1, 0.04)] {
        let capsule = collider(Geometry::capsule(half, r), Some(STIFFNESS));
        let pose = turned(DVec3::Y * (r - d), DQuat::from_rotation_y(0.7) * DQuat::from_rotation_z(PI / 2.0));
        let s = spots((&plane, Placement::IDENTITY), (&capsule, pose));
        let segment = r * r * ((r - d) / r).acos() - (r - d) * (2.0 * r * d - d * d).sqrt();
        let f = force(&s, DVec3::ZERO).0;
        worst = worst.max(relative(f.y, STIFFNESS * (segment * 2.0 * half + cap(r, d))));
        assert!(s.len() <= 40, "{}", s.len());
    }
    println!("worst {worst:.2e}");
    assert!(worst < 4e-3, "{worst:.2e}");
}

#[test]
fn a_cylinder_standing_on_a_plane_presses_with_its_disc() {
    let plane = collider(Geometry::half_space(), Some(STIFFNESS));
    let drum = collider(Geometry::Convex(SharedShape::cylinder(0.5, 0.4)), None);
    let s = spots((&plane, Placement::IDENTITY), (&drum, at(DVec3::Y * 0.48)));
    let f = force(&s, DVec3::ZERO).0;
    let error = relative(f.y, STIFFNESS * PI * 0.16 * 0.02);
    assert!(error < 0.01, "{error:.2e}");
}

/// Crossed, leaning and half off an edge: against counting.
#[test]
fn slanted_contacts_press_with_the_volume_they_share() {
    let plane = collider(Geometry::half_space(), None);
    let capsule = collider(Geometry::capsule(0.5, 0.2), Some(STIFFNESS));
    let ball = collider(Geometry::ball(0.4), Some(STIFFNESS));
    let block = collider(Geometry::cuboid(DVec3::new(0.5, 0.5, 0.5)), None);
    let drum = collider(Geometry::Convex(SharedShape::cylinder(0.3, 0.3)), Some(STIFFNESS));
    let leaning = turned(DVec3::new(0.0, 0.28, 0.0), DQuat::from_rotation_z(1.3));
    let lying = turned(DVec3::new(0.0, 0.65, 0.1), DQuat::from_rotation_z(PI / 2.0));
    let crossed = turned(DVec3::new(0.1, 0.36, 0.0), DQuat::from_rotation_x(1.5));
    let tipped = turned(DVec3::new(0.0, 0.36, 0.0), DQuat::from_rotation_z(0.3));
    let cases = [
        ("a leaning capsule", (&plane, Placement::IDENTITY), (&capsule, leaning)),
        ("a capsule on a box", (&block, Placement::IDENTITY), (&capsule, lying)),
        (
            "crossed capsules",
            (&capsule, turned(DVec3::ZERO, DQuat::from_rotation_z(1.5))),
            (&capsule, crossed),
        ),
        ("a ball over the edge", (&block, Placement::IDENTITY), (&ball, at(DVec3::new(0.45, 0.82, 0.1)))),
        ("a ball beyond the edge", (&block, Placement::IDENTITY), (&ball, at(DVec3::new(0.7, 0.7, 0.1)))),
        ("a tipped drum", (&plane, Placement::IDENTITY), (&drum, tipped)),
        ("a ball on a drum", (&drum, Placement::IDENTITY), (&ball, at(DVec3::new(0.1, 0.65, 0.0)))),
    ];
    for (name, a, b) in cases {
        let s = spots(a, b);
        let (f, moment) = force(&s, DVec3::ZERO);
        let (volume, center) = counted(a, b, &s);
        let k = s[0].stiffness;
        let off = (moment - center.cross(f)).length() / f.length();
        println!(
            "{name}: {} spots, force {:.2} %, line {off:.4}",
            s.len(),
            100.0 * (f.length() / (k * volume) - 1.0)
        );
        assert!(relative(f.length(), k * volume) < 0.05, "{name}: {} {}", f.length(), k * volume);
        assert!(off < 0.02, "{name}: the line of force is off by {off}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_global_rejects: 100_000, ..ProptestConfig::default() })]
    /// A small move changes force and moment by little, wherever it begins: nothing pops.
    #[test]
    fn forces_change_smoothly(
        kind_a in 0..4usize, kind_b in 0..3usize,
        x in -0.4..0.4, y in 0.5..0.75, z in -0.4..0.4, p in -1.0..1.0, q in -1.0..1.0, r in -1.0..1.0,
    ) {
        let shape = |kind: usize| match kind {
            0 => Geometry::ball(0.4),
            1 => Geometry::cuboid(DVec3::new(0.4, 0.3, 0.5)),
            2 => Geometry::capsule(0.3, 0.3),
            _ => Geometry::half_space(),
        };
        let (a, b) = (collider(shape(kind_a), Some(STIFFNESS)), collider(shape(kind_b), Some(STIFFNESS)));
        let pose = |e: f64| turned(
            DVec3::new(x + e, y + 0.7 * e, z - 0.4 * e),
            DQuat::from_rotation_x(p + e) * DQuat::from_rotation_y(q) * DQuat::from_rotation_z(r),
        );
        let pressed = |e: f64| spots((&a, Placement::IDENTITY), (&b, pose(e)));
        // Deeper than a layer can be, the nearest way out is a matter of chance.
        prop_assume!(pressed(0.0).iter().all(|s| s.depth < 0.2));
        let (before, after) = (force(&pressed(0.0), DVec3::ZERO), force(&pressed(1e-6), DVec3::ZERO));
        // Areas are below one: a millionth of a move is worth about a millionth of the stiffness.
        let jump = (after.0 - before.0).length() + (after.1 - before.1).length();
        prop_assert!(jump < 1e-5 * STIFFNESS, "{kind_a} {kind_b}: {jump}");
    }
}
