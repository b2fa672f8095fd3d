//! Skins that meet: one surface for both, a bulge around it, the volume kept.

use super::mesh::{Mesh, ball_mesh, box_mesh};
use super::{STIFFNESS, at, collider, turned};
use glam::{DQuat, DVec3};
use parry3d_f64::query::PointQuery;
use parry3d_f64::shape::Triangle;
use proptest::prelude::*;
use sinew_core::coating::{Placed, deform, field};
use sinew_core::rig::Collider;
use sinew_core::scene::Placement;
use sinew_core::shape::{Geometry, of_mesh};

fn deformed(mesh: &Mesh, own: &Collider, partners: &[Placed<'_>]) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; mesh.0.len()];
    deform(&[(own, Placement::IDENTITY)], partners, &mesh.0, &mesh.1, &mut out);
    out
}

fn volume(positions: &[DVec3], mesh: &Mesh) -> f64 {
    of_mesh(positions, &mesh.1, 1.0).unwrap().mass
}

fn inside_of(place: &Placement, points: &[DVec3]) -> Vec<DVec3> {
    points.iter().map(|p| place.rotation.conjugate() * (*p - place.position)).collect()
}

#[test]
fn a_squashed_ball_is_flat_where_it_stands_and_keeps_its_volume() {
    let mesh = ball_mesh(1.0, 5);
    let ball = collider(Geometry::ball(1.0), Some(STIFFNESS));
    let floor = collider(Geometry::half_space(), None);
    for depth in [0.005, 0.02, 0.1, 0.2] {
        let out = deformed(&mesh, &ball, &[(&floor, at(DVec3::Y * (depth - 1.0)))]);
        let lowest = out.iter().fold(0.0_f64, |m, p| m.min(p.y));
        assert!((lowest - (depth - 1.0)).abs() < 1e-8, "{lowest}");
        let (before, after) = (volume(&mesh.0, &mesh), volume(&out, &mesh));
        let lost = volume_without_bulge(&mesh, depth - 1.0) / before - 1.0;
        println!("depth {depth}: volume {:.2e}, without bulge {lost:.2e}", after / before - 1.0);
        assert!((after / before - 1.0).abs() < 5e-6);
        // The bulge is outside the ball, and high above the floor nothing moves at all.
        let highest = out.iter().fold(0.0_f64, |m, p| m.max(p.length() - 1.0));
        assert!(highest > 0.01 * depth && highest < depth, "{depth}: {highest}");
        for (p, q) in mesh.0.iter().zip(&out).filter(|(p, _)| p.y - (depth - 1.0) > 0.6) {
            assert_eq!(p, q);
        }
    }
}

fn volume_without_bulge(mesh: &Mesh, floor: f64) -> f64 {
    let cut: Vec<DVec3> = mesh.0.iter().map(|p| p.with_y(p.y.max(floor))).collect();
    volume(&cut, mesh)
}

#[test]
fn the_surfaces_of_two_soft_balls_coincide() {
    let (r, q) = (1.0, 0.7);
    let (mesh_a, mesh_b) = (ball_mesh(r, 5), ball_mesh(q, 5));
    for (ka, kb) in [(1e4, 1e4), (1e4, 4e4)] {
        let (a, b) = (collider(Geometry::ball(r), Some(ka)), collider(Geometry::ball(q), Some(kb)));
        let place =
            turned(DVec3::new(0.9, 1.0, 0.7).normalize() * (r + q - 0.2), DQuat::from_rotation_x(0.4));
        let of_a = deformed(&mesh_a, &a, &[(&b, place)]);
        let seen = Placement::IDENTITY;
        let of_b = deformed(&mesh_b, &b, &[(&a, place.to(&seen))]);
        for (mesh, out) in [(&mesh_a, &of_a), (&mesh_b, &of_b)] {
            let change = volume(out, mesh) / volume(&mesh.0, mesh) - 1.0;
            println!("volume {change:.2e}");
            assert!(change.abs() < 1e-5, "{change:e}");
        }
        // Both in a's frame. Where both were pressed, k d is the same for both.
        let of_b: Vec<DVec3> = of_b.iter().map(|p| place.position + place.rotation * *p).collect();
        let rest_b: Vec<DVec3> = mesh_b.0.iter().map(|p| place.position + place.rotation * *p).collect();
        let distances = |p: DVec3| {
            (field(&a.geometry, p).distance, field(&b.geometry, inside_of(&place, &[p])[0]).distance)
        };
        let on = |rest: &[DVec3], out: &[DVec3]| {
            let (mut worst, mut passed): (f64, f64) = (0.0, 0.0);
            for (p, o) in rest.iter().zip(out).filter(|(p, o)| p != o) {
                let ((da, db), (ra, rb)) = (distances(*o), distances(*p));
                let off = (ka * da - kb * db) / (ka + kb);
                if ra.min(rb) < -1e-3 {
                    worst = worst.max(off.abs());
                }
                passed = passed.max(if rest.len() == mesh_a.0.len() && ra.abs() < 1e-9 { off } else { -off });
            }
            (worst, passed)
        };
        let (worst_a, over_a) = on(&mesh_a.0, &of_a);
        let (worst_b, over_b) = on(&rest_b, &of_b);
        println!(
            "off the surface by {worst_a:.1e} and {worst_b:.1e}; beyond it by {over_a:.1e} and {over_b:.1e}"
        );
        assert!(worst_a < 3e-9 && worst_b < 3e-9);
        assert!(over_a < 3e-9 * q && over_b < 3e-9 * q);
        // And as meshes: the skin of one is on triangles of the other.
        let facing: Vec<Triangle> = mesh_b
            .1
            .iter()
            .map(|t| t.map(|i| i as usize))
            .filter(|t| t.iter().all(|&i| distances(rest_b[i]).0 < 0.0))
            .map(|[i, j, k]| Triangle::new(of_b[i], of_b[j], of_b[k]))
            .collect();
        let mut gap: f64 = 0.0;
        for (o, _) in of_a.iter().zip(&mesh_a.0).filter(|(_, p)| distances(**p).1 < -0.05) {
            let near = facing.iter().map(|t| t.distance_to_local_point(*o, true));
            gap = gap.max(near.fold(f64::INFINITY, f64::min));
        }
        println!("gap {gap:.1e}");
        assert!(gap < 1e-3 * q, "{gap}");
    }
}

#[test]
fn the_skin_leaves_the_rim_with_the_slope_it_arrives_with() {
    // A fine arc of the ball across the rim, in a plane: heights over the rest surface by the distance from the floor.
    let ball = collider(Geometry::ball(1.0), Some(STIFFNESS));
    let floor = collider(Geometry::half_space(), None);
    let depth = 0.1;
    let rim = (1.0_f64 - depth).acos();
    let mut mesh = ball_mesh(1.0, 4);
    let first = mesh.0.len();
    let angles: Vec<f64> = (-20..=20).map(|i| rim + f64::from(i) * 1e-4).collect();
    mesh.0.extend(angles.iter().map(|a| DVec3::new(a.sin(), -a.cos(), 0.0)));
    let out = deformed(&mesh, &ball, &[(&floor, at(DVec3::Y * (depth - 1.0)))]);
    let arc = &out[first..];
    let slope = |i: usize| {
        let d = arc[i + 1] - arc[i];
        d.y.atan2(d.x)
    };
    let (inside, outside) = (slope(18), slope(22));
    // Undeformed it would leave at the rim's angle, 0.45 rad.
    assert!(inside.abs() < 1e-3 && (outside - inside).abs() < 0.1 * rim, "{inside} {outside} {rim}");
}

#[test]
fn a_soft_box_keeps_its_volume_between_two_walls() {
    let half = DVec3::new(0.5, 0.4, 0.5);
    let mesh = box_mesh(half, 24);
    let block = collider(Geometry::cuboid(half), Some(STIFFNESS));
    let floor = collider(Geometry::half_space(), None);
    let ceiling = turned(DVec3::Y * 0.37, DQuat::from_rotation_x(std::f64::consts::PI));
    let out = deformed(&mesh, &block, &[(&floor, at(DVec3::Y * -0.38)), (&floor, ceiling)]);
    let change = volume(&out, &mesh) / volume(&mesh.0, &mesh) - 1.0;
    println!("volume {change:.2e}");
    assert!(change.abs() < 1e-3, "{change:.2e}");
    for p in &out {
        assert!(p.y > -0.38 - 1e-9 && p.y < 0.37 + 1e-9, "{p}");
    }
}

#[test]
fn a_rigid_thing_and_far_away_things_leave_no_trace() {
    let mesh = ball_mesh(1.0, 3);
    let (soft, hard) = (collider(Geometry::ball(1.0), Some(STIFFNESS)), collider(Geometry::ball(1.0), None));
    let floor = collider(Geometry::half_space(), None);
    assert_eq!(deformed(&mesh, &hard, &[(&floor, at(DVec3::Y * -0.9))]), mesh.0);
    assert_eq!(deformed(&mesh, &soft, &[(&floor, at(DVec3::Y * -1.01))]), mesh.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// No vertex ends inside a rigid partner, and a small move of it moves vertices by little.
    #[test]
    fn deformation_is_continuous_and_out_of_the_way(
        kind in 0..3usize, depth in 0.01..0.2, x in -1.0..1.0, y in -1.0..1.0_f64, z in -1.0..1.0, second in 0.0..0.15,
    ) {
        let mesh = ball_mesh(1.0, 3);
        let ball = collider(Geometry::ball(1.0), Some(STIFFNESS));
        let (shape, reach) = match kind {
            0 => (Geometry::ball(0.8), 0.8),
            1 => (Geometry::capsule(0.6, 0.5), 0.5),
            _ => (Geometry::cuboid(DVec3::splat(0.6)), 0.6),
        };
        let (partner, floor) = (collider(shape, None), collider(Geometry::half_space(), None));
        let up = DVec3::new(x, 0.5 + y.abs(), z).normalize();
        let turn = DQuat::from_rotation_arc(DVec3::X, up);
        let around = |e: f64| {
            let place = turned(up * (1.0 + reach - depth + e) + DVec3::X * e, turn);
            (place, deformed(&mesh, &ball, &[(&partner, place), (&floor, at(DVec3::Y * (second - 1.0)))]))
        };
        let (place, before) = around(0.0);
        for p in &before {
            prop_assert!(field(&partner.geometry, inside_of(&place, &[*p])[0]).distance > -1e-3, "{p} is inside");
            prop_assert!(p.y > second - 1.0 - 1e-3);
        }
        let (_, after) = around(1e-5);
        let jump = before.iter().zip(&after).fold(0.0_f64, |m, (p, q)| m.max((*p - *q).length()));
        prop_assert!(jump < 1e-3, "{jump}");
    }
}
