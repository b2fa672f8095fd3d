use super::*;
use proptest::prelude::*;
use std::f64::consts::{PI, TAU};

fn place(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

/// A unit sphere of `2 · around · (rings - 1)` triangles, split along a meridian as a texture would.
fn sphere(around: u32, rings: u32) -> Surface {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for ring in 0..=rings {
        for i in 0..=around {
            let (down, turn) =
                (PI * f64::from(ring) / f64::from(rings), TAU * f64::from(i % around) / f64::from(around));
            let radius = if ring % rings == 0 { 0.0 } else { down.sin() };
            vertices.push(place(radius * turn.cos(), down.cos(), -radius * turn.sin()));
        }
    }
    for ring in 0..rings {
        for i in 0..around {
            let (a, b) = (ring * (around + 1) + i, (ring + 1) * (around + 1) + i);
            triangles.extend([[a, b, b + 1], [a, b + 1, a + 1]]);
        }
    }
    Surface::new(vertices, &triangles).unwrap()
}

/// Corners (0, 0) to (2, 1), looking up z.
fn sheet() -> Surface {
    let vertices = (0..6).map(f64::from).map(|i| place(i % 3.0, (i / 3.0).floor(), 0.0)).collect();
    Surface::new(vertices, &[[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]]).unwrap()
}

fn cube() -> Surface {
    let vertices =
        (0..8).map(|i| place(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2))).collect();
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles: Vec<[u32; 3]> =
        faces.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
    Surface::new(vertices, &triangles).unwrap()
}

/// How a joint gets to the surface, and how many steps of Newton's method that takes.
fn steps(surface: &Surface, mut point: DVec3) -> usize {
    for step in 0..100 {
        let found = surface.nearest(point);
        let error: Vec<f64> = found.held[..found.count].iter().map(|h| h.dot(point - found.point)).collect();
        if (point - found.point).length() < 1e-12 {
            return step;
        }
        for (h, e) in found.held.iter().zip(error) {
            point -= *h * e;
        }
    }
    100
}

#[test]
fn a_sheet_answers_the_projection_and_its_normal() {
    for z in [-1.0, -1e-6, 0.0, 1e-6, 1.0] {
        let found = sheet().nearest(place(0.7, 0.6, z));
        assert!((found.point - place(0.7, 0.6, 0.0)).length() < 1e-15);
        assert_eq!((found.held[0], found.count), (DVec3::Z, 1));
    }
}

#[test]
fn only_beyond_a_border_everything_is_held() {
    for (point, at, out) in [
        (place(0.5, -0.2, 0.3), place(0.5, 0.0, 0.0), -DVec3::Y),
        (place(2.5, 0.5, 0.0), place(2.0, 0.5, 0.0), DVec3::X),
        (place(1.0, 1.1, -0.2), place(1.0, 1.0, 0.0), DVec3::Y),
        (place(3.0, 2.0, 0.1), place(2.0, 1.0, 0.0), place(1.0, 1.0, 0.0).normalize()),
    ] {
        let found = sheet().nearest(point);
        assert!((found.point - at).length() < 1e-15 && (found.held[1] - out).length() < 1e-15, "{found:?}");
        assert_eq!((found.held[0], found.count), (DVec3::Z, 3));
    }
    // On the border and over it, and on the sides of triangles inside.
    for point in [place(0.5, 0.0, 0.3), place(2.0, 1.0, 1.0), place(1.0, 0.5, 0.2), place(0.5, 0.5, 0.0)] {
        assert_eq!(sheet().nearest(point).count, 1);
    }
}

#[test]
fn seams_cracks_and_slivers_are_no_borders() {
    let closed = sphere(24, 21);
    assert!(closed.triangles.iter().all(|t| t.border == [false; 3]));
    // A sliver of three vertices on a line between two triangles.
    let vertices =
        vec![DVec3::ZERO, place(2.0, 0.0, 0.0), place(1.0, 0.0, 0.0), place(1.0, 1.0, 0.2), -DVec3::Y];
    let surface = Surface::new(vertices, &[[0, 2, 3], [2, 1, 3], [0, 1, 2], [1, 0, 4]]).unwrap();
    assert_eq!(surface.triangles.len(), 3);
    assert_eq!(surface.nearest(place(0.7, 0.0, 0.5)).count, 1);
    assert_eq!(surface.nearest(place(0.7, 0.0, -0.5)).count, 1);
}

#[test]
fn a_point_sliding_on_a_sphere_turns_without_jerks() {
    let surface = sphere(24, 22);
    assert_eq!(surface.triangles.len(), 1008);
    let turn = glam::DQuat::from_rotation_z(0.4) * glam::DQuat::from_rotation_x(0.3);
    let step = TAU / 20000.0;
    // On the surface and off it by as much as a solver leaves.
    for off in [0.0, 1e-12, 1e-9, 1e-6, -1e-6, 1e-5] {
        let held = |i: i32| {
            let (sin, cos) = (step * f64::from(i)).sin_cos();
            let found = surface.nearest(turn * place(cos, 0.0, sin));
            surface.nearest(found.point + found.held[0] * off).held[0]
        };
        let most = (0..20000).map(|i| (held(i + 1) - held(i)).length()).fold(0.0, f64::max);
        assert!(most < 3.0 * step, "{off}: {} times as fast as on a sphere", most / step);
        assert!((0..20000).all(|i| {
            held(i).dot(turn * place((step * f64::from(i)).cos(), 0.0, (step * f64::from(i)).sin())) > 0.99
        }));
    }
}

#[test]
fn the_normal_fades_into_the_gradient() {
    let surface = cube();
    let at = place(0.9, 0.7, 1.0);
    let held = |z: f64| surface.nearest(at + DVec3::Z * z).held[0];
    assert!(held(0.0).z < 0.98);
    assert_eq!(held(surface.fade), DVec3::Z);
    let heights = (-200..=200).map(|i| 0.01 * surface.fade * f64::from(i)).collect::<Vec<_>>();
    for pair in heights.windows(2) {
        assert!((held(pair[1]) - held(pair[0])).length() < 0.02);
    }
}

#[test]
fn what_is_no_surface_is_said() {
    let corners = || vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X * 2.0];
    let text = |vertices, triangles: &[[u32; 3]]| Surface::new(vertices, triangles).unwrap_err();
    assert_eq!(text(corners(), &[]), "the surface has no triangles; add at least one");
    assert!(text(corners(), &[[0, 1, 3], [0, 0, 2]]).starts_with("none of the 2 triangles"));
    assert!(text(corners(), &[[0, 1, 2], [0, 1, 4]]).starts_with("triangle 1 of the surface has vertex 4"));
    assert!(text(vec![DVec3::NAN; 3], &[[0, 1, 2]]).starts_with("vertex 0"));
    let kept = Surface::new(corners(), &[[0, 1, 3], [0, 1, 2]]).unwrap();
    assert_eq!(kept.triangles.len(), 1);
}

#[test]
fn far_triangles_are_not_looked_at() {
    let surface = sphere(100, 100);
    let mut looks = 0;
    for i in 0..100 {
        let point = place((0.7 * f64::from(i)).cos(), 0.01 * f64::from(i), (0.7 * f64::from(i)).sin()) * 1.05;
        let mut best = Best { triangle: 0, weights: [1.0, 0.0, 0.0], distance_squared: f64::INFINITY };
        surface.boxes.visit(point, |t| {
            looks += 1;
            best.look(t, surface.places(&surface.triangles[t]), surface.triangles[t].normal, point);
            best.distance_squared
        });
    }
    assert!(looks < 100 * 60, "{looks} looks for 100 points among {}", surface.triangles.len());
}

/// Nearest place on a triangle by Ericson's regions (Real-Time Collision Detection, 5.1.5), another way than ours.
fn on_triangle(p: DVec3, [a, b, c]: [DVec3; 3]) -> DVec3 {
    let (ab, ac) = (b - a, c - a);
    let [(d1, d2), (d3, d4), (d5, d6)] = [a, b, c].map(|x| (ab.dot(p - x), ac.dot(p - x)));
    let (va, vb, vc) = (d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2);
    match () {
        () if d1 <= 0.0 && d2 <= 0.0 => a,
        () if d3 >= 0.0 && d4 <= d3 => b,
        () if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 => a + ab * (d1 / (d1 - d3)),
        () if d6 >= 0.0 && d5 <= d6 => c,
        () if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 => a + ac * (d2 / (d2 - d6)),
        () if va <= 0.0 && d4 >= d3 && d5 >= d6 => b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))),
        () => a + (ab * vb + ac * vc) / (va + vb + vc),
    }
}

fn somewhere(reach: f64) -> impl Strategy<Value = DVec3> {
    (-reach..reach, -reach..reach, -reach..reach).prop_map(|(x, y, z)| place(x, y, z))
}

proptest! {
    #[test]
    fn no_place_is_nearer(
        vertices in prop::collection::vec(somewhere(1.0), 20),
        triangles in prop::collection::vec([0..20_u32, 0..20, 0..20], 1..60),
        point in somewhere(1.5),
    ) {
        let Ok(surface) = Surface::new(vertices, &triangles) else { return Ok(()) };
        let found = (surface.nearest(point).point - point).length();
        let all = surface.triangles.iter().map(|t| (on_triangle(point, surface.places(t)) - point).length());
        prop_assert!((found - all.fold(f64::INFINITY, f64::min)).abs() < 1e-11);
    }

    #[test]
    fn a_point_gets_to_the_surface(point in somewhere(1.5)) {
        prop_assert!(steps(&sphere(24, 22), point) <= 8);
        prop_assert!(steps(&sheet(), point) <= 2);
        // Right angles are the sharpest bends that a smooth normal is asked for in earnest.
        prop_assert!(steps(&cube(), point) <= 60);
    }

    #[test]
    fn off_the_surface_the_error_is_the_distance(point in somewhere(2.0)) {
        let surface = cube();
        let found = surface.nearest(point);
        let away = point - found.point;
        prop_assume!(away.length() > surface.fade);
        prop_assert!((found.held[0].dot(away).abs() - away.length()).abs() < 1e-14);
        let inside = point.min_element() > 0.0 && point.max_element() < 1.0;
        prop_assert_eq!(found.held[0].dot(away) < 0.0, inside);
    }
}
