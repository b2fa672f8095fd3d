//! Which collider becomes of which mesh, and where it is.

use crate::{Stage, block, lathe, mapped, one, together};
use glam::{DQuat, DVec3};
use proptest::prelude::*;
use sinew_core::rig::{Carrier, Collider};
use sinew_core::rotation::exp;
use sinew_core::scene::{Mesh, Placement};
use sinew_core::setup::{Behaviour, Part, Shape};
use sinew_core::shape::{Geometry, Kind, MassProperties, Primitive, closed, hull, of_mesh, parts};
use std::f64::consts::PI;

fn ball(sides: usize, r: f64) -> Mesh {
    let rings: Vec<(f64, f64)> = (0..=sides / 2)
        .map(|i| {
            let a = PI * i as f64 / (sides / 2) as f64;
            (r * a.sin(), -r * a.cos())
        })
        .collect();
    lathe(sides, &rings)
}

/// An L of two boxes in one closed mesh.
fn corner() -> Mesh {
    let outline = [(0.0, 0.0), (2.0, 0.0), (2.0, 0.5), (0.5, 0.5), (0.5, 2.0), (0.0, 2.0)];
    let mut mesh = Mesh::default();
    for z in [-0.5, 0.5] {
        mesh.positions.extend(outline.iter().map(|(x, y)| DVec3::new(*x, *y, z)));
    }
    for i in 0..6_u32 {
        let j = (i + 1) % 6;
        mesh.triangles.extend([[i, j, j + 6], [i, j + 6, i + 6]]);
    }
    for [a, b, c] in [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]] {
        mesh.triangles.extend([[a, c, b], [a + 6, b + 6, c + 6]]);
    }
    mesh
}

/// Where a point of the node is on the collider: its place, in the frame of the solid.
fn extent(c: &Collider) -> (DVec3, DVec3) {
    let at = parry3d_f64::math::Pose::from_parts(c.place.position, c.place.rotation);
    let b = c.geometry.shape().compute_aabb(&at);
    (b.mins, b.maxs)
}

#[test]
fn samples_are_what_they_look_like() {
    let cylinder = lathe(24, &[(0.5, -1.0), (0.5, 1.0)]);
    let mut capsule = vec![];
    for i in 0..=8 {
        let a = PI / 2.0 * f64::from(i) / 8.0;
        capsule.push((0.5 * a.sin(), -1.0 - 0.5 * a.cos()));
    }
    for i in 0..=8 {
        let a = PI / 2.0 * f64::from(i) / 8.0;
        capsule.push((0.5 * a.cos(), 1.0 + 0.5 * a.sin()));
    }
    let turn = exp(DVec3::new(0.3, 0.8, -0.4));
    let cases = [
        (ball(24, 0.4), "ball"),
        (ball(16, 0.4), "ball"),
        (block(DVec3::new(1.0, 2.0, 3.0)), "box"),
        (mapped(block(DVec3::new(1.0, 2.0, 3.0)), |p| turn * p + DVec3::X), "box"),
        (cylinder.clone(), "cylinder"),
        (mapped(cylinder, |p| turn * p), "cylinder"),
        (lathe(24, &capsule), "capsule"),
        (lathe(6, &[(0.5, -1.0), (0.5, 1.0)]), "hull"),
        (lathe(12, &[(0.5, -1.0), (0.0, 1.0)]), "hull"),
    ];
    for (mesh, wanted) in cases {
        assert_ne!(closed(&mesh.positions, &mesh.triangles), sinew_core::shape::Closed::No, "{wanted}");
        let made = one(Behaviour::Free, Shape::Auto {}, mesh);
        let how = &made.collider_notes[0].how;
        assert!(how.starts_with(wanted), "{wanted}: {how}");
        assert_eq!(made.rig.colliders.all.len(), 1, "{how}");
        assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    }
    let made = one(Behaviour::Free, Shape::Auto {}, corner());
    assert!(made.collider_notes[0].how.contains("convex parts"), "{}", made.collider_notes[0].how);
    assert!(made.rig.colliders.all.len() >= 2);
}

#[test]
fn a_collider_lies_where_the_mesh_does() {
    let turn = exp(DVec3::new(0.3, 0.8, -0.4));
    let mesh = mapped(block(DVec3::new(1.0, 2.0, 3.0)), |p| p + DVec3::new(0.5, 1.0, -2.0));
    for shape in [Shape::Auto {}, Shape::Hull {}, Shape::Mesh {}, Shape::Box { size: None }] {
        let mut stage = Stage::empty();
        let node = stage.node("Thing", None, DVec3::new(10.0, 0.0, 0.0), Some(mesh.clone()));
        stage.place(node, turn, DVec3::new(2.0, -1.0, 0.5));
        stage.body("Thing", Behaviour::Free, shape.clone());
        let rig = stage.compile().unwrap().rig;
        let c = &rig.colliders.all[0];
        assert_eq!(c.carrier, Carrier::Solid(0), "{shape:?}");
        let at = rig.keyed(0, 0.0).then(&c.place);
        // In the node's own unscaled axes, the box is where the scaled mesh is.
        let node = Placement { position: DVec3::new(10.0, 0.0, 0.0), rotation: turn };
        let seen = Collider { place: node.to(&at), ..c.clone() };
        let (lo, hi) = extent(&seen);
        assert!((lo - DVec3::new(0.0, -2.0, -1.75)).length() < 1e-9, "{shape:?} {lo}");
        assert!((hi - DVec3::new(2.0, 0.0, -0.25)).length() < 1e-9, "{shape:?} {hi}");
        assert!((c.size - 1.5).abs() < 1e-9, "{shape:?} {}", c.size);
    }
}

#[test]
fn obstacles_are_exact() {
    let how = |behaviour, shape, mesh| one(behaviour, shape, mesh).collider_notes[0].how.clone();
    assert!(how(Behaviour::Static, Shape::Auto {}, block(DVec3::ONE)).starts_with("box"));
    assert!(how(Behaviour::Static, Shape::Auto {}, ball(16, 1.0)).starts_with("convex mesh"));
    assert!(how(Behaviour::Static, Shape::Auto {}, corner()).contains("triangles"));
    assert!(how(Behaviour::Animated, Shape::Mesh {}, block(DVec3::ONE)).contains("12 triangles"));
    let made = one(Behaviour::Static, Shape::Plane {}, block(DVec3::ONE));
    assert!(matches!(made.rig.colliders.all[0].geometry, Geometry::HalfSpace(_)));
    assert!(made.rig.solids.is_empty());
}

#[test]
fn a_height_field_is_as_high_as_it_says() {
    let mut stage = Stage::empty();
    stage.node("Ground", None, DVec3::Y, None);
    let heights = vec![vec![0.0, 1.0, 0.0], vec![2.0, 3.0, 1.0]];
    stage.body("Ground", Behaviour::Static, Shape::HeightField { heights, size: Some([4.0, 2.0]) });
    let rig = stage.compile().unwrap().rig;
    let c = &rig.colliders.all[0];
    assert_eq!(c.carrier, Carrier::World);
    let (lo, hi) = extent(c);
    assert_eq!((lo, hi), (DVec3::new(-2.0, 1.0, -1.0), DVec3::new(2.0, 4.0, 1.0)));
}

#[test]
fn an_open_card_and_a_wire_have_a_hull() {
    let card = Mesh {
        positions: [DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y, DVec3::Y]
            .iter()
            .map(|p| exp(DVec3::ONE) * *p)
            .collect(),
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        ..Mesh::default()
    };
    let made = one(Behaviour::Free, Shape::Auto {}, card.clone());
    let c = &made.rig.colliders.all[0];
    assert!(c.size > 0.001 && c.size < 0.05, "{}", c.size);
    let wire: Vec<DVec3> = (0..5).map(|i| DVec3::ONE * f64::from(i)).collect();
    assert!(hull(&wire).unwrap().volume() > 0.0);
    assert!(hull(&[DVec3::ONE; 4]).is_none());
    assert!(hull(&[DVec3::NAN, DVec3::X, DVec3::Y]).is_none());
    let floor = one(Behaviour::Static, Shape::Auto {}, card);
    assert!(matches!(floor.rig.colliders.all[0].geometry, Geometry::Surface(_)));
}

#[test]
fn what_stands_below_a_body_is_carried_by_it() {
    let mut stage = Stage::empty();
    let cart = stage.node("Cart", None, DVec3::new(1.0, 2.0, 3.0), Some(block(DVec3::ONE)));
    stage.node("Horn", Some(cart), DVec3::X * 2.0, Some(block(DVec3::splat(0.2))));
    let wall = stage.node("Wall", None, DVec3::X * 9.0, Some(block(DVec3::ONE)));
    stage.key(wall, DVec3::X * 12.0);
    stage.body("Cart", Behaviour::Free, Shape::Auto {});
    stage.body("Horn", Behaviour::Animated, Shape::Auto {});
    stage.body("Wall", Behaviour::Animated, Shape::Auto {});
    let rig = stage.compile().unwrap().rig;
    let [cart, horn, wall] = &rig.colliders.all[..] else { panic!() };
    assert_eq!((cart.carrier, horn.carrier), (Carrier::Solid(0), Carrier::Solid(0)));
    assert!((horn.place.position - DVec3::X * 2.0).length() < 1e-12);
    let Carrier::Keys(path) = wall.carrier else { panic!("{:?}", wall.carrier) };
    assert!((rig.paths[path].placement(1.0).position - DVec3::X * 12.0).length() < 1e-9);
    assert!(!rig.colliders.may_touch(0, 1) && rig.colliders.may_touch(1, 2));
}

#[test]
fn bones_and_empties_touch_nothing_unless_told_to() {
    let mut stage = Stage::empty();
    stage.node("Bone", None, DVec3::ZERO, None);
    stage.body("Bone", Behaviour::Free, Shape::Auto {});
    assert!(stage.compile().unwrap().rig.colliders.all.is_empty());
    stage.setup.bodies[0].contact.collide = Some(true);
    assert_eq!(stage.compile().unwrap().rig.colliders.all.len(), 1);
    stage.setup.bodies[0].contact.collide = None;
    stage.setup.bodies[0].shape = Shape::Sphere { radius: Some(0.1) };
    assert_eq!(stage.compile().unwrap().rig.colliders.all.len(), 1);
    stage.setup.world.collisions = false;
    assert!(stage.compile().unwrap().rig.colliders.all.is_empty());
}

#[test]
fn a_skin_gives_way_to_its_own_weight_by_a_twentieth() {
    let mut stage = Stage::empty();
    stage.node("Ball", None, DVec3::ZERO, None);
    let body = stage.body("Ball", Behaviour::Free, Shape::Sphere { radius: Some(0.5) });
    body.contact.coating = Some(sinew_core::setup::Coating::default());
    body.mass = Some(3.0);
    let rig = stage.compile().unwrap().rig;
    let coating = rig.colliders.all[0].coating.unwrap();
    assert!((coating.thickness - 0.2).abs() < 1e-12 && coating.damping == 0.3);
    let depth: f64 = 0.05 * 0.2;
    let force = coating.stiffness * PI * 0.5 * depth * depth;
    assert!((force - 3.0 * 9.81).abs() < 1e-9, "{force}");
    // The same thing in centimetres.
    stage.setup.world.metres_per_unit = 0.01;
    stage.setup.bodies[0].shape = Shape::Sphere { radius: Some(50.0) };
    let rig = stage.compile().unwrap().rig;
    let c = &rig.colliders.all[0];
    assert!((c.coating.unwrap().stiffness * 1e4 / coating.stiffness - 1.0).abs() < 1e-9);
    assert!((c.size - 100.0).abs() < 1e-9);
}

fn far_apart(a: &MassProperties, b: &MassProperties) -> f64 {
    let inertia = (a.inertia - b.inertia).to_cols_array().iter().fold(0.0_f64, |m, e| m.max(e.abs()));
    let scale = b.inertia.to_cols_array().iter().fold(0.0_f64, |m, e| m.max(e.abs()));
    (a.mass / b.mass - 1.0).abs().max((a.center - b.center).length()).max(inertia / scale)
}

proptest! {
    #[test]
    fn a_cone_weighs_as_its_mesh(r in 0.2..2.0_f64, l in 0.2..3.0_f64, axis in 0_usize..3, down: bool) {
        let sides = 400;
        let sign = if down { -1.0 } else { 1.0 };
        let mesh = lathe(sides, &[(r, -l / 2.0), (0.0, l / 2.0)]);
        // y to the axis: turns of the three axes keep what is left and right.
        let turned = |p: DVec3| match axis { 0 => DVec3::new(sign * p.y, p.z, sign * p.x), 1 => DVec3::new(p.x, sign * p.y, sign * p.z), _ => DVec3::new(sign * p.z, p.x, sign * p.y) };
        let points: Vec<DVec3> = mesh.positions.iter().map(|p| turned(*p)).collect();
        let exact = of_mesh(&points, &mesh.triangles, 7.0).unwrap();
        let cone = Primitive { center: DVec3::ZERO, kind: Kind::Cone(axis, r, sign * l) };
        prop_assert!(far_apart(&cone.mass_properties(7.0), &exact) < 2e-3);
        let fitted = sinew_core::shape::fit_cone(&points).unwrap();
        prop_assert!((fitted.volume() / cone.volume() - 1.0).abs() < 1e-9, "{:?}", fitted);
        prop_assert!(points.iter().all(|p| fitted.off_surface(*p) < 1e-9));
        // The collider lies where the mesh does.
        let (geometry, place) = Geometry::primitive(&cone);
        let at = parry3d_f64::math::Pose::from_parts(place.position, place.rotation);
        let tip = turned(DVec3::Y * l / 2.0);
        let near = |p: DVec3| geometry.shape().contains_point(&at, p * 0.99);
        prop_assert!(near(tip) && !geometry.shape().contains_point(&at, tip * 1.01));
        prop_assert!(!near(-tip + tip.normalize().any_orthonormal_vector() * r * 1.05));
    }

    #[test]
    fn a_compound_weighs_as_its_mesh(
        size in [0.1..2.0, 0.1..2.0, 0.1..2.0], at in [-3.0..3.0, -3.0..3.0, -3.0..3.0],
        turn in [-180.0..180.0, -180.0..180.0, -180.0..180.0], other in [0.1..2.0, 0.1..2.0, 0.1..2.0],
    ) {
        let shape = Shape::Compound { parts: vec![
            Part { shape: Shape::Box { size: Some(size) }, at, turn_deg: turn },
            Part { shape: Shape::Box { size: Some(other) }, at: [0.0; 3], turn_deg: [0.0; 3] },
        ] };
        let mut stage = Stage::empty();
        stage.node("Thing", None, DVec3::ZERO, None);
        stage.body("Thing", Behaviour::Free, shape);
        let made = stage.compile().unwrap();
        let rad = |i: usize| f64::to_radians(turn[i]);
        let turned = exp(DVec3::Z * rad(2)) * exp(DVec3::Y * rad(1)) * exp(DVec3::X * rad(0));
        let part = mapped(block(DVec3::from_array(size)), |p| turned * p + DVec3::from_array(at));
        let mesh = together(part, &block(DVec3::from_array(other)));
        let exact = of_mesh(&mesh.positions, &mesh.triangles, 1000.0).unwrap();
        let solid = &made.rig.solids[0];
        prop_assert!((solid.mass / exact.mass - 1.0).abs() < 1e-9);
        prop_assert!((solid.offset.position - exact.center).length() < 1e-9);
        let moments = exact.principal().0;
        let sorted = |v: DVec3| { let mut a = v.to_array(); a.sort_by(f64::total_cmp); DVec3::from_array(a) };
        prop_assert!((sorted(solid.inertia) / sorted(moments) - 1.0).abs().max_element() < 1e-8);
        prop_assert_eq!(made.rig.colliders.all.len(), 2);
        // The corner of the turned part is on its collider, seen from the solid's frame.
        let c = &made.rig.colliders.all[0];
        let corner = solid.offset.to(&Placement { position: mesh.positions[7], rotation: DQuat::IDENTITY }).position;
        let own = c.place.rotation.conjugate() * (corner - c.place.position);
        prop_assert!((own - DVec3::from_array(size) * 0.5).length() < 1e-9, "{}", own);
    }

    #[test]
    fn a_hull_holds_its_points(points in prop::collection::vec([-1.0..1.0, -1.0..1.0, -1.0..1.0], 1..60), flat in 0.0..1.0_f64) {
        // Half of them flat or nearly so, and far from the origin.
        let squash = if flat < 0.5 { 0.0 } else { flat * 1e-7 };
        let points: Vec<DVec3> = points.iter().map(|p| DVec3::new(p[0], p[1] * squash, p[2]) + DVec3::splat(100.0)).collect();
        if let Some(h) = hull(&points) {
            prop_assert!(h.volume() > 0.0 && h.thinnest() > 0.0);
            for t in &h.triangles {
                let [a, b, c] = t.map(|i| h.points[i as usize]);
                let n = (b - a).cross(c - a).normalize_or_zero();
                for p in &points {
                    prop_assert!((*p - a).dot(n) < 1e-6, "{}", (*p - a).dot(n));
                }
            }
        }
    }
}

#[test]
fn parts_make_up_the_mesh() {
    let mesh = corner();
    let whole = of_mesh(&mesh.positions, &mesh.triangles, 1.0).unwrap().mass;
    let found = parts(&mesh.positions, &mesh.triangles);
    let sum: f64 = found.iter().map(|h| h.volume()).sum();
    assert!((sum / whole - 1.0).abs() < 0.05, "{sum} of {whole} in {}", found.len());
    let hollow = |p: DVec3| {
        found.iter().any(|h| {
            h.triangles.iter().all(|t| {
                let [a, b, c] = t.map(|i| h.points[i as usize]);
                (p - a).dot((b - a).cross(c - a)) <= 0.0
            })
        })
    };
    assert!(!hollow(DVec3::new(1.2, 1.2, 0.0)), "the notch stays open");
    assert!(hollow(DVec3::new(1.5, 0.25, 0.0)) && hollow(DVec3::new(0.25, 1.5, 0.0)));
}
