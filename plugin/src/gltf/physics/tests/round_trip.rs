//! Whatever a set-up says that files can say comes back from them.

use super::write::{DIALECTS, Meaning, meaning, rig, scene, written};
use super::*;
use glam::DQuat;
use proptest::prelude::*;
use sinew_core::setup::{At, Direction, Give, Joint, JointFrame, JointKind, Keyable, Swing};

fn same(a: &[(String, f64)], b: &[(String, f64)]) -> Result<(), String> {
    let names = |of: &[(String, f64)]| of.iter().map(|n| n.0.clone()).collect::<Vec<_>>();
    if names(a) != names(b) {
        return Err(format!("{a:?}\n{b:?}"));
    }
    let far = |(a, b): &(&(String, f64), &(String, f64))| (a.1 - b.1).abs() > 1e-9 * (1.0 + a.1.abs());
    a.iter().zip(b).find(far).map_or(Ok(()), |(a, b)| Err(format!("{} was {} and is {}", a.0, a.1, b.1)))
}

fn keyable() -> impl Strategy<Value = Keyable> {
    (0.5..50.0).prop_map(Keyable::Constant)
}

fn direction(most: f64) -> impl Strategy<Value = Option<Direction>> {
    let limits = prop::option::of((0.1 * most..most, 0.1 * most..most).prop_map(|(a, b)| [-a, b]));
    let spring = (keyable(), prop::option::of(keyable()), prop::option::of(1.0..9.0));
    let rest = (0.01 * most..0.1 * most).prop_map(Keyable::Constant);
    (limits, prop::option::of((rest, prop::option::of(spring)))).prop_map(|(limits, held)| {
        let mut made = Direction { limits, ..Direction::default() };
        if let Some((rest, spring)) = held {
            made.rest = Some(rest);
            if let Some((stiffness, damping, strength)) = spring {
                (made.stiffness, made.damping, made.strength) = (Some(stiffness), damping, strength);
            }
        }
        Some(made).filter(|m| *m != Direction::default())
    })
}

fn swing() -> impl Strategy<Value = Option<Swing>> {
    let cone = prop_oneof![
        Just(None),
        (5.0..170.0).prop_map(|a| Some([a, a])),
        (5.0..170.0, 5.0..170.0).prop_map(|(a, b)| Some([a, b]))
    ];
    (cone, prop::option::of((keyable(), prop::option::of(keyable())))).prop_map(|(cone, spring)| {
        let (stiffness, damping) = spring.map_or((None, None), |(k, d)| (Some(k), d));
        Some(Swing { cone, stiffness, damping }).filter(|s| *s != Swing::default())
    })
}

fn give(places: bool, turns: bool) -> impl Strategy<Value = Option<Give>> {
    let soft = |there: bool| {
        let soft = prop::option::of((keyable(), prop::option::of(keyable())));
        soft.prop_map(move |s| s.filter(|_| there).map_or((None, None), |(k, d)| (Some(k), d)))
    };
    (soft(places), soft(turns)).prop_map(|((stiffness, damping), (turn_stiffness, turn_damping))| {
        let there = stiffness.is_some() || turn_stiffness.is_some();
        there.then_some(Give { stiffness, damping, turn_stiffness, turn_damping })
    })
}

fn place() -> impl Strategy<Value = (Option<At>, Option<[f64; 3]>, Option<[JointFrame; 2]>)> {
    let mark =
        || prop::sample::select(vec!["A", "A mark", "B mark", "C", "C mark", "D"]).prop_map(String::from);
    let at = prop_oneof![
        Just(None),
        mark().prop_map(|n| Some(At::Node(n))),
        (mark(), mark()).prop_map(|(n, m)| Some(At::Nodes([n, m]))),
    ];
    // Directions of the world, and those of nodes, which need no node of their own.
    let turns = vec![DQuat::IDENTITY, DQuat::from_euler(glam::EulerRot::XYZ, 0.1, 0.2, 0.3)];
    let axis = (prop::sample::select(turns), 0_usize..3).prop_map(|(q, i)| (q * DVec3::AXES[i]).to_array());
    let frame = || {
        let turn = [(); 3].map(|()| -1.0..1.0);
        ([(); 3].map(|()| -2.0..2.0), turn).prop_map(|(position, t)| JointFrame {
            position,
            rotation: DQuat::from_euler(glam::EulerRot::XYZ, t[0], t[1], t[2]).to_array(),
        })
    };
    prop_oneof![
        (at.clone(), prop::option::of(axis)).prop_map(|(at, axis)| (at, axis, None)),
        (frame(), frame()).prop_map(|(a, b)| (None, None, Some([a, b]))),
    ]
}

fn joint() -> impl Strategy<Value = Joint> {
    use JointKind::*;
    let kinds = vec![
        Universal,
        Pin,
        Cylindrical,
        Prismatic,
        BallSocket,
        SmoothContact,
        Plane,
        Fixed,
        Distance,
        Rope,
        InsideBox,
    ];
    let between = prop::sample::select(vec![
        ["A", "B"],
        ["B", "D"],
        ["C", "A"],
        ["A", "C"],
        ["world", "D"],
        ["D", "world"],
        ["B", "A"],
    ]);
    (prop::sample::select(kinds), between, prop::option::of("[a-z]{3}"), place()).prop_flat_map(
        |(kind, between, name, (at, axis, frames))| {
            let slides = matches!(kind, Cylindrical | Prismatic | BallSocket);
            let swings = matches!(kind, Universal | BallSocket | SmoothContact);
            let turns = swings || matches!(kind, Pin | Cylindrical | Plane);
            let holds_turns = matches!(kind, Pin | Cylindrical | Prismatic | Plane | Fixed);
            let gives = kind != InsideBox;
            let fields = (direction(2.0), direction(170.0), swing(), give(gives, holds_turns), 0.5..3.0);
            fields.prop_map(move |(slide, turn_deg, swing_deg, give, length)| Joint {
                name: name.clone(),
                at: at.clone(),
                axis,
                frames,
                length: matches!(kind, Distance | Rope)
                    .then_some(length)
                    .filter(|l| *l < 2.5 || frames.is_none()),
                size: (kind == InsideBox).then_some([length, 1.0, 2.0]),
                slide: slide.filter(|_| slides),
                turn_deg: turn_deg.filter(|_| turns),
                swing_deg: swing_deg.filter(|_| swings),
                give,
                ..Joint::new(kind, between)
            })
        },
    )
}

fn body(node: &'static str) -> impl Strategy<Value = Body> {
    let vector = || prop::option::of([(); 3].map(|()| -3.0..3.0));
    // An uneven scale does not go with round things.
    let is_even = node != "B";
    let shape = prop_oneof![
        Just(Shape::Auto {}),
        [(); 3].map(|()| 0.1..3.0).prop_map(|s| Shape::Box { size: Some(s) }),
        (0.1..2.0).prop_map(move |r| match is_even {
            true => Shape::Sphere { radius: Some(r) },
            false => Shape::Auto {},
        }),
        (0.1..2.0, 0.1..2.0).prop_map(move |(r, l)| match is_even {
            true => Shape::Capsule { radius: Some(r), length: Some(l) },
            false => Shape::Cylinder { radius: Some(r), length: Some(l) },
        }),
    ];
    let mass = prop_oneof![
        Just((None, None)),
        (0.1..9.0).prop_map(|m| (Some(m), None)),
        (10.0..900.0).prop_map(|d| (None, Some(d)))
    ];
    let inertia = prop::option::of([(); 3].map(|()| 1.0..1.9));
    (shape, mass, inertia, vector(), vector(), vector()).prop_map(
        move |(shape, (mass, density), inertia, center, velocity, spin)| Body {
            behaviour: Behaviour::Free,
            shape,
            mass,
            density,
            inertia,
            center,
            velocity,
            spin,
            ..Body::new(node)
        },
    )
}

fn setup() -> impl Strategy<Value = Setup> {
    let joints = prop::collection::vec(joint(), 0..4);
    let units = prop::sample::select(vec![1.0, 0.01]);
    (body("A"), body("B"), body("D"), joints, units, [(); 3].map(|()| -9.0..9.0)).prop_map(
        |(a, b, d, joints, metres_per_unit, gravity)| {
            let mut setup = Setup { bodies: vec![a, b, d], joints, ..Setup::default() };
            setup.world.metres_per_unit = metres_per_unit;
            setup.world.gravity = gravity;
            setup
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_maps_comes_back(setup in setup()) {
        let before = document(&scene());
        for dialect in DIALECTS {
            let (after, read, warnings) = written(&scene(), &setup, dialect);
            let (was, is) = (rig(&before, &setup), rig(&after, &read));
            prop_assert_eq!(was.solids.len(), is.solids.len());
            for (was, is) in was.solids.iter().zip(&is.solids) {
                prop_assert_eq!(&was.name, &is.name);
                let numbers = |s: &sinew_core::rig::Solid| {
                    // Principal axes have no signs; the tensor is in the node's frame.
                    let axes = DMat3::from_quat(s.offset.rotation);
                    let tensor = axes * DMat3::from_diagonal(s.inertia) * axes.transpose();
                    let all = [vec![s.mass], tensor.to_cols_array().to_vec(), s.offset.position.to_array().to_vec(),
                        s.start.0.to_array().to_vec(), s.start.1.to_array().to_vec()].concat();
                    all.into_iter().map(|v| (s.name.clone(), v)).collect::<Vec<_>>()
                };
                prop_assert_eq!(same(&numbers(was), &numbers(is)), Ok(()));
            }
            if dialect == Dialect::Omi {
                prop_assert!((was.world.gravity - is.world.gravity).length() < 1e-9 * was.world.gravity.length());
            }
            // In the order of the nodes that they are on: each finds its own.
            prop_assert_eq!(setup.joints.len(), read.joints.len(), "{:?}", warnings);
            let mut left: Vec<Meaning> = read.joints.iter().map(|j| meaning(&after, &read, j)).collect();
            for joint in &setup.joints {
                let wanted = meaning(&before, &setup, joint);
                let is = |m: &Meaning| m.kind == wanted.kind && m.ends == wanted.ends
                    && same(&wanted.numbers, &m.numbers).is_ok();
                let found = left.iter().position(is);
                prop_assert!(found.is_some(), "{dialect:?}: {wanted:?}\nis none of {left:#?}");
                left.remove(found.unwrap());
            }
            let only_ellipses = warnings.iter().all(|w| {
                w.contains("ellipse") || (dialect == Dialect::Khronos && w.contains("gravity"))
                    || w.contains("holds whatever pulls")
                    || w.contains("scaled unevenly")
            });
            prop_assert!(only_ellipses, "{warnings:?}");
        }
    }

    #[test]
    fn writing_again_changes_nothing(setup in setup()) {
        for dialect in DIALECTS {
            let (once, read, _) = written(&scene(), &setup, dialect);
            let (twice, again, _) = written(once.json(), &read, dialect);
            prop_assert_eq!(once.json(), twice.json());
            prop_assert_eq!(read, again);
        }
    }
}
