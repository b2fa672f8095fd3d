//! Set-ups that cannot work are refused by name, and those that hardly can are warned of; nothing panics.

use crate::{Stage, block};
use glam::{DQuat, DVec3};
use proptest::prelude::*;
use sinew_core::scene::Mesh;
use sinew_core::setup::{Behaviour, Coating, Part, Shape};

fn thing(behaviour: Behaviour, shape: Shape) -> Stage {
    let mut stage = Stage::empty();
    stage.node("Thing", None, DVec3::ZERO, Some(block(DVec3::ONE)));
    stage.body("Thing", behaviour, shape);
    stage
}

#[test]
fn numbers_out_of_range_are_named() {
    let refused = |change: &dyn Fn(&mut sinew_core::setup::Contact)| {
        let mut stage = thing(Behaviour::Free, Shape::Auto {});
        change(&mut stage.setup.bodies[0].contact);
        // Also where nothing would touch.
        stage.setup.world.collisions = false;
        stage.refused()
    };
    let cases = [
        (refused(&|c| c.friction = Some(-0.1)), "contact.friction: -0.1"),
        (refused(&|c| c.friction = Some(f64::NAN)), "contact.friction: NaN"),
        (refused(&|c| c.grip = Some(0.2)), "contact.grip: 0.2 is less than the friction of what slides, 0.5"),
        (refused(&|c| c.bounce = Some(1.5)), "contact.bounce: 1.5"),
        (refused(&|c| c.bounce = Some(f64::NAN)), "contact.bounce: NaN"),
        (refused(&|c| c.rolling = Some(-1.0)), "contact.rolling: -1"),
        (refused(&|c| c.touches = Some(vec!["gruond".into()])), "nothing is in a layer \"gruond\""),
        (
            refused(&|c| c.coating = Some(Coating { thickness: Some(0.0), ..Coating::default() })),
            "contact.coating.thickness: 0 must be above 0",
        ),
        (
            refused(&|c| c.coating = Some(Coating { damping: Some(2.0), ..Coating::default() })),
            "contact.coating.damping: 2",
        ),
    ];
    for (said, wanted) in cases {
        assert!(said.contains("bodies[0] \"Thing\"") && said.contains(wanted), "{said}");
    }
    let mut stage = thing(Behaviour::Free, Shape::Auto {});
    stage.setup.bodies[0].contact.ignores = vec!["Thign".into()];
    assert!(stage.refused().contains("did you mean \"Thing\"?"));
    stage.setup.bodies[0].contact.ignores.clear();
    stage.setup.bodies[0].contact.layers = (0..64).map(|i| format!("layer {i}")).collect();
    assert!(stage.refused().contains("64 layers"));
}

#[test]
fn shapes_that_cannot_be_are_named() {
    let part = |shape: Shape| Part { shape, at: [0.0; 3], turn_deg: [0.0; 3] };
    let sphere = |r: f64| Shape::Sphere { radius: Some(r) };
    let grid = |heights: Vec<Vec<f64>>, size| Shape::HeightField { heights, size: Some(size) };
    let cases = [
        (Behaviour::Free, sphere(0.0), "sizes must be above 0"),
        (Behaviour::Static, sphere(f64::NAN), "sizes must be above 0"),
        (Behaviour::Static, sphere(f64::INFINITY), "sizes must be above 0"),
        (Behaviour::Static, Shape::Cone { radius: Some(1.0), length: Some(-1.0) }, "sizes must be above 0"),
        (Behaviour::Static, Shape::Cone { radius: Some(1.0), length: None }, "give both"),
        (Behaviour::Free, Shape::Cone { radius: None, length: None }, "has no tip"),
        (Behaviour::Static, Shape::Cone { radius: None, length: None }, "has no tip"),
        (Behaviour::Free, Shape::Plane {}, "\"Thing\" is simulated"),
        (Behaviour::Guided, grid(vec![vec![0.0; 2]; 2], [1.0; 2]), "\"Thing\" is simulated"),
        (Behaviour::Static, grid(vec![vec![0.0; 2]], [1.0; 2]), "two rows or more"),
        (Behaviour::Static, grid(vec![vec![0.0; 2], vec![0.0; 3]], [1.0; 2]), "as many heights"),
        (Behaviour::Static, grid(vec![vec![0.0, f64::NAN]; 2], [1.0; 2]), "finite"),
        (Behaviour::Static, grid(vec![vec![0.0; 2]; 2], [1.0, 0.0]), "above 0"),
        (Behaviour::Static, Shape::HeightField { heights: vec![], size: None }, "no height field"),
        (Behaviour::Free, Shape::Compound { parts: vec![] }, "at least one"),
        (Behaviour::Static, Shape::Compound { parts: vec![] }, "at least one"),
        (Behaviour::Free, Shape::Compound { parts: vec![part(Shape::Plane {})] }, "simulated"),
        (Behaviour::Free, Shape::Compound { parts: vec![part(sphere(-1.0))] }, "shape.parts[0].shape"),
        (
            Behaviour::Static,
            Shape::Compound { parts: vec![Part { at: [f64::NAN; 3], ..part(sphere(1.0)) }] },
            "finite",
        ),
    ];
    for (behaviour, shape, wanted) in cases {
        let said = thing(behaviour, shape.clone()).refused();
        assert!(said.contains("bodies[0] \"Thing\"") && said.contains(wanted), "{shape:?}: {said}");
    }
}

#[test]
fn meshes_without_an_area_touch_nothing() {
    let mut stage = thing(Behaviour::Static, Shape::Auto {});
    let flat = Mesh {
        positions: vec![DVec3::ZERO, DVec3::X, DVec3::X * 2.0],
        triangles: vec![[0, 1, 2], [1, 1, 2]],
        ..Mesh::default()
    };
    stage.scene.meshes[0] = flat;
    let made = stage.compile().unwrap();
    assert!(made.rig.colliders.all.is_empty());
    assert!(made.warnings[0].contains("\"Thing\" touches nothing"), "{:?}", made.warnings);
    // Points all at one place, and points nowhere.
    stage.setup.bodies[0].shape = Shape::Sphere { radius: None };
    for at in [DVec3::ONE, DVec3::NAN, DVec3::splat(f64::INFINITY)] {
        stage.scene.meshes[0].positions = vec![at; 3];
        assert!(stage.compile().unwrap().warnings[0].contains("\"Thing\" touches nothing"), "{at}");
    }
    stage.setup.bodies[0].shape = Shape::Auto {};
    stage.scene.nodes[0].mesh = None;
    assert!(stage.compile().unwrap().warnings[0].contains("static and has no shape"));
}

#[test]
fn a_static_thing_that_has_keys_is_warned_of() {
    let mut stage = thing(Behaviour::Static, Shape::Auto {});
    stage.key(0, DVec3::X);
    assert!(stage.compile().unwrap().warnings[0].contains("take \"animated\""));
}

#[test]
fn what_is_a_point_beside_another_passes_through_it_with_a_warning() {
    let mut stage = thing(Behaviour::Static, Shape::Box { size: Some([1e15, 1.0, 1.0]) });
    stage.node("Grain", None, DVec3::ZERO, None);
    stage.body("Grain", Behaviour::Free, Shape::Box { size: Some([1.0; 3]) });
    let words = "\"Thing\" and \"Grain\" pass through each other";
    assert!(stage.compile().unwrap().warnings.iter().any(|w| w.contains(words)));
    stage.setup.bodies[0].shape = Shape::Box { size: Some([1e9, 1.0, 1.0]) };
    assert!(!stage.compile().unwrap().warnings.iter().any(|w| w.contains(words)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_mesh_makes_it_panic(
        points in prop::collection::vec([-1.0..1.0, -1.0..1.0, -1.0..1.0], 1..30),
        corners in prop::collection::vec(0_usize..1000, 0..90),
        // Grids make flat, straight and doubled sets.
        grid in prop::sample::select(vec![0.0, 0.5, 1.0, 2.0]),
        scale in prop::sample::select(vec![1.0, 1e-9, 1e9, 0.0, -1.0]),
        flat in prop::sample::select(vec![1.0, 0.0, 1e-12]),
        kind in 0_usize..6,
        behaviour in prop::sample::select(vec![Behaviour::Free, Behaviour::Static, Behaviour::Animated]),
    ) {
        let rounded = |v: f64| if grid > 0.0 { (v / grid).round() * grid } else { v };
        let positions: Vec<DVec3> =
            points.iter().map(|p| DVec3::new(rounded(p[0]), rounded(p[1]) * flat, rounded(p[2])) * scale).collect();
        let triangles = corners.chunks_exact(3).map(|c| [c[0], c[1], c[2]].map(|i| (i % positions.len()) as u32)).collect();
        let shape = [
            Shape::Auto {}, Shape::Mesh {}, Shape::Hull {}, Shape::Parts {}, Shape::Cone { radius: None, length: None },
            Shape::HeightField { heights: vec![], size: None },
        ][kind].clone();
        let mut stage = thing(behaviour, shape);
        stage.setup.bodies[0].mass = Some(1.0);
        stage.scene.meshes[0] = Mesh { positions, triangles, ..Mesh::default() };
        stage.place(0, DQuat::IDENTITY, DVec3::new(1.0, -2.0, 1.0));
        stage.node("Ball", None, DVec3::ZERO, None);
        stage.body("Ball", Behaviour::Free, Shape::Sphere { radius: Some(0.3) });
        if let Ok(made) = stage.compile() {
            for c in &made.rig.colliders.all {
                prop_assert!(c.size > 0.0 && c.place.position.is_finite() && c.place.rotation.is_finite());
            }
        }
    }
}
