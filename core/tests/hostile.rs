//! Scenes and set-ups that nobody would make: refused with words, or simulated and baked to finite curves.

use glam::{DQuat, DVec3};
use proptest::prelude::*;
use sinew_core::bake::bake;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::compile;
use sinew_core::scene::{Channel, Channels, Clip, Local, Mesh, Node, Property, Scene};
use sinew_core::setup::{self, Joint, JointKind, Setup, automatic};
use sinew_core::simulate::{Session, run};
use std::sync::Arc;

/// Numbers from the corners of f64, and ordinary ones.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0_f64,
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, 1e-300, 1e300, -1e300, 1e15, 1e-9, 5e-324]),
    ]
}

/// As above, with what is no number.
fn anything() -> impl Strategy<Value = f64> {
    prop_oneof![6 => number(), 1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY])]
}

fn vector() -> impl Strategy<Value = DVec3> {
    (number(), number(), number()).prop_map(|(x, y, z)| DVec3::new(x, y, z))
}

fn curve(property: Property) -> impl Strategy<Value = Option<Curve>> {
    let width = if property == Property::Rotation { 4 } else { 3 };
    let kind = if property == Property::Rotation { Kind::Rotation } else { Kind::Vector };
    let gaps = prop::collection::vec(prop_oneof![3 => 0.01..1.0_f64, 1 => Just(1e-9), 1 => Just(30.0)], 1..5);
    let values = prop::collection::vec(number(), 5 * width * 3);
    (gaps, values, 0..3u8).prop_map(move |(gaps, v, shape)| {
        let times: Vec<f64> = gaps
            .iter()
            .scan(-0.5, |t, g| {
                *t += g;
                Some(*t)
            })
            .collect();
        let n = times.len() * width;
        let segments = match shape {
            0 => Segments::Step,
            1 => Segments::Linear,
            _ => Segments::Cubic { arriving: v[n..2 * n].to_vec(), leaving: v[2 * n..3 * n].to_vec() },
        };
        Curve::new(kind, width, times, v[..n].to_vec(), segments).ok()
    })
}

type NodeParts = (Option<usize>, DVec3, DVec3, [Option<Curve>; 3]);

fn node() -> impl Strategy<Value = NodeParts> {
    let curves = (curve(Property::Translation), curve(Property::Rotation), curve(Property::Scale));
    let keep = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    (prop::option::of(0..8usize), vector(), vector(), curves, keep).prop_map(
        |(parent, t, s, (a, b, c), (ka, kb, kc))| {
            (parent, t, s, [a.filter(|_| ka), b.filter(|_| kb), c.filter(|_| kc)])
        },
    )
}

fn scene() -> impl Strategy<Value = Scene> {
    prop::collection::vec(node(), 1..6).prop_map(|parts| {
        let mut scene = Scene { name: "wild".into(), frames_per_second: 24.0, ..Scene::default() };
        scene.meshes.push(Mesh {
            name: "card".into(),
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y],
            triangles: vec![[0, 1, 2]],
            ..Mesh::default()
        });
        let mut clip = Clip { name: "Keys".into(), channels: Vec::new() };
        for (i, (parent, translation, scale, curves)) in parts.into_iter().enumerate() {
            let local = Local::Channels(Channels { translation, rotation: DQuat::IDENTITY, scale });
            // Only earlier nodes are parents: readers refuse cycles.
            let parent = parent.filter(|p| *p < i);
            scene.nodes.push(Node { name: format!("N{i}"), parent, local, mesh: Some(0), ..Node::default() });
            for (property, curve) in
                [Property::Translation, Property::Rotation, Property::Scale].into_iter().zip(curves)
            {
                clip.channels.extend(curve.map(|curve| Channel { node: i, property, curve }));
            }
        }
        scene.clips.push(clip);
        scene
    })
}

/// Puts numbers into the automatic set-up wherever one fits.
fn spoil(setup: &mut Setup, v: &[f64]) {
    let n = |i: usize| v[i % v.len()];
    for (i, body) in setup.bodies.iter_mut().enumerate() {
        let k = 16 * i;
        body.mass = Some(n(k)).filter(|_| n(k) > -5.0);
        body.velocity = Some([n(k + 1), n(k + 2), n(k + 3)]).filter(|_| n(k + 1) > 0.0);
        body.spin = Some([n(k + 4), n(k + 5), n(k + 6)]).filter(|_| n(k + 4) > 0.0);
        body.actuator.alpha = Some(n(k + 7).into()).filter(|_| n(k + 7) > -2.0);
        body.actuator.damping = Some(n(k + 8).into()).filter(|_| n(k + 8) > -2.0);
        body.actuator.compensation = Some(n(k + 9).into()).filter(|_| n(k + 9) > -2.0);
        body.guide.base_distance = Some(n(k + 10).into()).filter(|_| n(k + 10) > -2.0);
        body.guide.timing = [setup::Timing::Timed, setup::Timing::Path][i % 2];
    }
    setup.world.gravity = [n(0), n(1), n(2)];
    setup.world.time_scale = n(3).abs().into();
    setup.bake.frames = Some([0.0, 12.0]);
}

/// A joint of any kind and fields; `tame` ones have what their kind takes, so that most are not refused.
fn joint(v: &[f64], at: usize, tame: bool, between: [&str; 2]) -> Joint {
    use JointKind::*;
    let kinds = [
        Universal,
        Pin,
        Cylindrical,
        Prismatic,
        Screw,
        BallSocket,
        SmoothContact,
        Plane,
        Fixed,
        Distance,
        Rope,
        Segment,
        Curve,
        Surface,
        InsideSphere,
        InsideBox,
    ];
    let n = |i: usize| v[(at + i) % v.len()];
    let pick = |i: usize| (n(i).abs().min(1e6) * 1000.0) as usize;
    let kind = kinds[pick(0) % kinds.len()];
    // Numbers that nobody refuses.
    let mild = |i: usize| if n(i).is_finite() { n(i).clamp(-50.0, 50.0) } else { 1.0 };
    let any = |i: usize| if tame { mild(i) } else { n(i) };
    let size = |i: usize| if tame { mild(i).abs() + 0.01 } else { n(i) };
    let wants = |i: usize, kinds: &[JointKind]| match tame {
        true => kinds.contains(&kind) && !pick(i).is_multiple_of(3),
        false => pick(i).is_multiple_of(4),
    };
    let must =
        |i: usize, kinds: &[JointKind]| if tame { kinds.contains(&kind) } else { pick(i).is_multiple_of(4) };
    let keyed = |i: usize| match pick(i) % 3 {
        0 => setup::Keyable::Keys(setup::Keys {
            keys: vec![[0.0, size(i)], [0.2, size(i + 1)]],
            between: setup::Between::Linear,
        }),
        _ => size(i).into(),
    };
    let direction = |i: usize| setup::Direction {
        limits: (pick(i).is_multiple_of(2) && !(tame && matches!(kind, Segment | InsideBox | InsideSphere)))
            .then(|| if tame { [-size(i), size(i + 1)] } else { [n(i), n(i + 1)] }),
        rest: (pick(i + 1).is_multiple_of(2)).then(|| 0.0.into()),
        stiffness: (pick(i + 2).is_multiple_of(2)).then(|| keyed(i + 2)),
        damping: (pick(i + 3).is_multiple_of(2)).then(|| keyed(i + 3)),
        strength: (pick(i + 1).is_multiple_of(4)).then(|| size(i + 4)),
    };
    let turns = [
        Pin,
        Cylindrical,
        Plane,
        Universal,
        BallSocket,
        SmoothContact,
        Distance,
        Rope,
        Segment,
        Curve,
        InsideBox,
    ];
    let swings =
        [Universal, BallSocket, SmoothContact, Distance, Rope, Segment, Curve, InsideBox, InsideSphere];
    let on = setup::Keyable::Keys(setup::Keys {
        keys: vec![[0.0, 1.0], [0.1, 0.0], [0.3, 1.0]],
        between: setup::Between::Step,
    });
    Joint {
        axis: (pick(1).is_multiple_of(3) && !(tame && kind == Segment)).then(|| [any(1), 1.0, any(2)]),
        length: wants(2, &[Distance, Rope, InsideSphere]).then(|| size(3)),
        pitch: wants(3, &[Screw]).then(|| size(4)),
        size: must(4, &[InsideBox]).then(|| [size(1), size(2), size(3)]),
        points: match must(5, &[Segment, Curve]) {
            true => vec![[any(1), any(2), 0.0], [any(3), any(4), 1.0]],
            false => Vec::new(),
        },
        closed: wants(6, &[Curve]),
        mesh: must(1, &[Surface]).then(|| between[0].to_string()),
        slide: wants(2, &[Cylindrical, Prismatic, BallSocket, Segment, InsideBox]).then(|| direction(5)),
        turn_deg: wants(3, &turns).then(|| direction(9)),
        swing_deg: wants(4, &swings).then(|| setup::Swing {
            cone: (pick(5).is_multiple_of(2)).then(|| [size(6), size(7)]),
            stiffness: (pick(6).is_multiple_of(2)).then(|| keyed(6)),
            damping: None,
        }),
        give: (pick(7).is_multiple_of(4)).then(|| setup::Give {
            stiffness: Some(keyed(8)),
            damping: (pick(8).is_multiple_of(2)).then(|| keyed(9)),
            turn_stiffness: None,
            turn_damping: None,
        }),
        break_force: (pick(9).is_multiple_of(3)).then(|| size(10)),
        on: (pick(10).is_multiple_of(3)).then_some(on),
        grab: pick(10).is_multiple_of(2) && must(11, &[Universal, Pin, Fixed, Cylindrical]),
        ..Joint::new(kind, between)
    }
}

/// A wider search: `PROPTEST_CASES=60000 cargo test --release -p sinew-core --test hostile`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_scene_or_setting_makes_it_panic_or_bake_what_is_no_number(
        scene in scene(),
        numbers in prop::collection::vec(anything(), 40),
        spoiled in any::<bool>(),
        joined in any::<bool>(),
        tame in any::<bool>(),
    ) {
        let Ok(mut setup) = automatic(&scene, None) else { return Ok(()) };
        setup.bake.frames = Some([0.0, 12.0]);
        if spoiled {
            spoil(&mut setup, &numbers);
        }
        if joined && setup.bodies.len() > 1 {
            for (k, pair) in setup.bodies.windows(2).enumerate() {
                setup.joints.push(joint(&numbers, 7 * k, tame, [&pair[0].node, &pair[1].node]));
            }
        }
        let clip = scene.clips.first();
        let rig = match compile(&scene, &setup, clip) {
            Ok(compiled) => compiled.rig,
            Err(e) => {
                prop_assert!(!e.place.is_empty() && !e.problem.is_empty());
                return Ok(());
            }
        };
        let (motion, _) = run(&rig, |_, _| true);
        if let Ok(baked) = bake(&scene, clip, &rig, &motion, &setup.bake, true) {
            for channel in &baked.channels {
                prop_assert!(channel.curve.values().iter().all(|v| v.is_finite()));
            }
        }
        // A live session takes any step and any jump.
        let mut session = Session::new(Arc::new(rig));
        for dt in numbers.iter().filter(|d| **d > 0.0 && d.is_finite()).take(5) {
            session.step(*dt);
        }
        session.seek(0.2);
    }

    #[test]
    fn no_joint_makes_it_panic_or_leave_all_bounds(
        numbers in prop::collection::vec(anything(), 60),
        tame in prop::bool::weighted(0.8),
        dt in 0.001..0.1_f64,
    ) {
        let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
        let mut setup = Setup::default();
        setup.bake.frames = Some([0.0, 24.0]);
        scene.meshes.push(Mesh {
            name: "card".into(),
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y],
            triangles: vec![[0, 1, 2]],
            ..Mesh::default()
        });
        for i in 0..4 {
            let at = Channels { translation: DVec3::X * f64::from(i), ..Channels::default() };
            let name = format!("Box {i}");
            let local = Local::Channels(at);
            scene.nodes.push(Node { name: name.clone(), local, mesh: Some(0), ..Node::default() });
            let mut body = setup::Body::new(name);
            body.behaviour = setup::Behaviour::Free;
            body.shape = setup::Shape::Box { size: Some([0.8, 0.2, 0.3]) };
            body.mass = Some(1.0 + f64::from(i));
            setup.bodies.push(body);
        }
        for (k, between) in [["world", "Box 0"], ["Box 0", "Box 1"], ["Box 1", "Box 2"], ["Box 1", "Box 3"]].iter().enumerate() {
            // One that is refused does not spoil the others.
            setup.joints.push(joint(&numbers, 13 * k, tame, *between));
            if let Err(e) = compile(&scene, &setup, None) {
                prop_assert!(!e.place.is_empty() && !e.problem.is_empty());
                setup.joints.pop();
            }
        }
        let rig = compile(&scene, &setup, None).unwrap().rig;
        let mut session = Session::new(Arc::new(rig));
        for _ in 0..60 {
            session.step(dt);
        }
        prop_assert_eq!(session.state().quarantined(), None);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = setup::from_json(&text);
    }

    #[test]
    fn no_altered_setup_makes_the_reader_panic(at in 0..3000usize, byte in 32..127u8, cut in 0..3000usize) {
        let mut setup = Setup::default();
        setup.bodies.push(setup::Body::new("A"));
        let mut text = setup::to_json(&setup).into_bytes();
        let n = text.len();
        text[at % n] = byte;
        text.truncate(1 + cut % (2 * n));
        if let Err(e) = setup::from_json(&String::from_utf8_lossy(&text)) {
            prop_assert!(!e.to_string().is_empty());
        }
    }
}
