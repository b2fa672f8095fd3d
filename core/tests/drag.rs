//! Dragging bodies of a live session by hand: firmly, with a strength, in motion and in a still pose.

use glam::{DQuat, DVec3};
use sinew_core::rig::compile;
use sinew_core::scene::{Channels, Local, Node, Placement, Scene};
use sinew_core::setup::{At, Behaviour, Body, Joint, JointKind, Parts, Setup, Shape};
use sinew_core::simulate::{Drag, DragError, Grip, Point, Session, SolidState};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

const LINKS: usize = 6;

/// Rods one metre long along x, hanging from the world at the origin.
fn chain() -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: 60.0, ..Scene::default() };
    let mut setup = Setup::default();
    setup.world.collisions = false;
    setup.bake.frames = Some([0.0, 60.0]);
    let at = |x: f64| Local::Channels(Channels { translation: DVec3::X * x, ..Channels::default() });
    for i in 0..LINKS {
        let x = i as f64;
        scene.nodes.push(Node { name: format!("Rod {i}"), local: at(x + 0.5), ..Node::default() });
        scene.nodes.push(Node { name: format!("End {i}"), local: at(x), ..Node::default() });
        let mut body = Body::new(format!("Rod {i}"));
        body.behaviour = Behaviour::Free;
        body.shape = Shape::Box { size: Some([1.0, 0.2, 0.1]) };
        body.mass = Some(1.0);
        setup.bodies.push(body);
        let left = if i == 0 { "world".to_string() } else { format!("Rod {}", i - 1) };
        setup.joints.push(Joint {
            at: Some(At::Node(format!("End {i}"))),
            ..Joint::new(JointKind::Universal, [&left, &format!("Rod {i}")])
        });
    }
    (scene, setup)
}

fn session() -> Session {
    let (scene, setup) = chain();
    Session::new(Arc::new(compile(&scene, &setup, None).expect("the set-up compiles").rig))
}

/// A point of a body's node, in the world; these nodes stand where their bodies do.
fn point(session: &Session, solid: usize, local: DVec3) -> DVec3 {
    let node = session.sample(solid).node;
    node.position + node.rotation * local
}

fn at(position: DVec3) -> Placement {
    Placement { position, rotation: DQuat::IDENTITY }
}

/// The largest opening of the set-up's own joints.
fn open(session: &Session) -> f64 {
    session.open_joints()[..LINKS].iter().fold(0.0, |m, o| m.max(o.0))
}

fn finite(session: &Session) -> bool {
    let sound = |s: &SolidState| (s.position + s.velocity + s.momentum).is_finite() && !s.quarantined;
    session.state().solids.iter().all(sound)
}

const TIP: DVec3 = DVec3::new(0.5, 0.0, 0.0);

fn tip() -> Grip {
    Grip { at: Point::Node(TIP), ..Grip::default() }
}

#[test]
fn the_dragged_point_is_at_the_hand_and_the_rest_stays_joined() {
    let mut session = session();
    let last = LINKS - 1;
    let drag = session.drag_begin(last, tip()).unwrap();
    let start = point(&session, last, TIP);
    let (mut worst, mut opened) = (0.0_f64, 0.0_f64);
    for frame in 1..=180 {
        let t = f64::from(frame) / 60.0;
        let target = start + DVec3::new(-2.0 * (1.0 - (2.0 * t).cos()), (3.0 * t).sin(), 0.5 * t.sin());
        session.drag_move(drag, at(target)).unwrap();
        session.step_frame();
        let hand = session.drag_hand(drag).unwrap().position;
        assert!((hand - target).length() < 1e-12, "the hand is there after a frame");
        worst = worst.max((point(&session, last, TIP) - hand).length());
        opened = opened.max(open(&session));
    }
    println!("off the hand by {worst:.1e}, joints open {opened:.1e}");
    assert!(worst < 1e-6 && opened < 1e-6, "{worst} {opened}");
    assert!(session.state().solids.iter().all(|s| s.velocity.length() < 30.0));
}

#[test]
fn a_hand_turns_what_it_holds() {
    let mut session = session();
    let drag = session.drag_begin(LINKS - 1, Grip { orientation: true, ..tip() }).unwrap();
    let start = point(&session, LINKS - 1, TIP);
    let (mut worst, mut opened) = (0.0_f64, 0.0_f64);
    for frame in 1..=120 {
        let t = f64::from(frame) / 60.0;
        let rotation = DQuat::from_rotation_y(1.2 * t) * DQuat::from_rotation_x(2.0 * t.sin());
        let target = Placement { position: start - DVec3::X * (t * 2.0).min(2.5), rotation };
        session.drag_move(drag, target).unwrap();
        session.step_frame();
        let node = session.sample(LINKS - 1).node;
        worst = worst.max(node.rotation.angle_between(rotation).min(node.rotation.angle_between(-rotation)));
        worst = worst.max((point(&session, LINKS - 1, TIP) - target.position).length());
        opened = opened.max(open(&session));
    }
    println!("off by {worst:.1e}, joints open {opened:.1e}");
    assert!(worst < 1e-6 && opened < 1e-6, "{worst} {opened}");
    // Half a turn takes some frames, and ends where it should.
    let node = session.sample(LINKS - 1).node;
    let rotation = DQuat::from_rotation_z(3.0) * node.rotation;
    session.drag_move(drag, Placement { position: point(&session, LINKS - 1, TIP), rotation }).unwrap();
    (0..5).for_each(|_| session.step_frame());
    let off = session.sample(LINKS - 1).node.rotation.dot(rotation).abs();
    assert!(off > 1.0 - 1e-9, "{off}");
}

#[test]
fn a_limited_hand_pulls_with_its_strength_and_no_more() {
    // A single free body without weight: all it feels is the hand.
    let (mut scene, mut setup) = chain();
    scene.nodes.truncate(2);
    setup.bodies.truncate(1);
    setup.joints.clear();
    setup.world.gravity = [0.0; 3];
    let rig = compile(&scene, &setup, None).expect("the set-up compiles").rig;
    let mut free = Session::new(Arc::new(rig));
    let drag = free.drag_begin(0, Grip { strength: Some(7.0), ..Grip::default() }).unwrap();
    free.drag_move(drag, at(DVec3::new(60.5, 80.0, 0.0))).unwrap();
    (0..60).for_each(|_| free.step_frame());
    let speed = free.state().solids[0].velocity;
    assert!((speed - DVec3::new(4.2, 5.6, 0.0)).length() < 0.05, "{speed}");

    // A chain that cannot get there.
    let mut session = session();
    let grip = Grip { strength: Some(200.0), orientation: true, ..tip() };
    let drag = session.drag_begin(LINKS - 1, grip).unwrap();
    let (mut fastest, mut opened) = (0.0_f64, 0.0_f64);
    for frame in 0..300 {
        let far = DVec3::new(100.0, 100.0 * (f64::from(frame) * 0.02).sin(), 0.0);
        session.drag_move(drag, at(far)).unwrap();
        session.step_frame();
        opened = opened.max(open(&session));
        fastest = session.state().solids.iter().fold(fastest, |m, s| m.max(s.velocity.length()));
    }
    println!("100 m away: open {opened:.1e}, fastest {fastest:.1} units/s");
    assert!(finite(&session) && opened < 1e-5, "{opened}");
    assert!(fastest < 60.0, "{fastest}");
    assert!(session.state().solids[LINKS - 1].position.length() < LINKS as f64);

    // And near enough it brings the tip along, but for the weight.
    for _ in 0..240 {
        session.drag_move(drag, at(DVec3::new(3.0, 1.0, 0.5))).unwrap();
        session.step_frame();
    }
    let off = (point(&session, LINKS - 1, TIP) - DVec3::new(3.0, 1.0, 0.5)).length();
    println!("near: {off:.1e} off");
    assert!(off < 0.02, "{off}");
}

#[test]
fn beginning_and_ending_changes_nothing_at_once_and_leaks_nothing() {
    let mut session = session();
    (0..20).for_each(|_| session.step_frame());
    let (joints, hands) = (session.rig().joints.len(), session.rig().hands.len());
    for k in 0..200 {
        let before = session.state().solids.clone();
        let memory = session.state().joints[..LINKS].to_vec();
        let grip = Grip {
            strength: (k % 2 == 0).then_some(50.0),
            orientation: k % 3 == 0,
            at: Point::World(point(&session, k % LINKS, DVec3::ZERO)),
        };
        let drag = session.drag_begin(k % LINKS, grip).unwrap();
        assert_eq!(before, session.state().solids, "beginning moves nothing");
        assert_eq!(memory, session.state().joints[..LINKS]);
        assert_eq!(session.state().joints.len(), session.rig().joints.len());
        let mut hand = session.drag_hand(drag).unwrap();
        hand.position += DVec3::new(0.0, 0.01, 0.01);
        session.drag_move(drag, hand).unwrap();
        session.step_frame();
        session.step(0.004);
        let before = session.state().solids.clone();
        session.drag_end(drag).unwrap();
        assert_eq!(before, session.state().solids, "ending moves nothing");
        assert_eq!(session.drag_end(drag), Err(DragError::Ended(drag)));
        session.step_frame();
        let jump = before
            .iter()
            .zip(&session.state().solids)
            .fold(0.0_f64, |m, (a, b)| m.max((a.position + a.velocity / 60.0 - b.position).length()));
        assert!(jump < 0.1 && finite(&session) && open(&session) < 1e-6, "{k}: {jump}");
    }
    assert_eq!((session.rig().joints.len(), session.rig().hands.len()), (joints, hands));
    assert_eq!(session.state().joints.len(), joints);
    assert!(session.drags().is_empty());
}

#[test]
fn seeking_ends_drags_and_gives_the_same_bits_as_ever() {
    let (mut one, mut other) = (session(), session());
    one.seek(0.5);
    other.seek(0.25);
    let drags: Vec<Drag> = (0..3).map(|i| other.drag_begin(i, Grip::default()).unwrap()).collect();
    other.drag_move(drags[1], at(DVec3::new(1.0, 1.0, 1.0))).unwrap();
    (0..5).for_each(|_| other.step_frame());
    other.seek(0.5);
    assert_eq!(one.state(), other.state());
    assert!(other.drags().is_empty() && other.rig().hands.is_empty());
    assert_eq!(other.drag_move(drags[1], at(DVec3::ZERO)), Err(DragError::Ended(drags[1])));
    // Settings changed while dragging are those of a session that never was dragged.
    let drag = other.drag_begin(1, Grip::default()).unwrap();
    assert!(!drags.contains(&drag));
    for session in [&mut one, &mut other] {
        session.set(0, sinew_core::rig::Setting::Blend, 0.5);
        session.seek(0.7);
    }
    assert_eq!(one.state(), other.state());
}

#[test]
fn two_hands_pull_a_chain_between_them() {
    let mut session = session();
    let middle = session.drag_begin(2, tip()).unwrap();
    let end = session.drag_begin(LINKS - 1, tip()).unwrap();
    for frame in 1..=120 {
        let t = f64::from(frame) / 60.0;
        session.drag_move(middle, at(DVec3::new(3.0 - 0.8 * t, 0.4 * t, 0.0))).unwrap();
        session.drag_move(end, at(DVec3::new(6.0 - 1.9 * t, -0.3 * t, 0.2 * t))).unwrap();
        session.step_frame();
        for (solid, drag) in [(2, middle), (LINKS - 1, end)] {
            let off = (point(&session, solid, TIP) - session.drag_hand(drag).unwrap().position).length();
            assert!(off < 1e-6, "{frame}: {off}");
        }
        assert!(open(&session) < 1e-6);
    }
    // The first may go while the second stays.
    session.drag_end(middle).unwrap();
    (0..60).for_each(|_| session.step_frame());
    let off = (point(&session, LINKS - 1, TIP) - session.drag_hand(end).unwrap().position).length();
    assert!(off < 1e-6, "{off}");
}

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A clock on which everything between two looks takes ten microseconds.
fn ticking() -> Duration {
    NOW.with(|now| {
        now.set(now.get() + 10);
        Duration::from_micros(now.get())
    })
}

#[test]
fn a_still_pose_follows_the_hand_within_its_budget() {
    let mut session = session();
    (0..10).for_each(|_| session.step_frame());
    let time = session.time();
    let drag = session.drag_begin(LINKS - 1, tip()).unwrap();
    let enough = Duration::from_secs(10);
    for k in 1..=20 {
        let u = f64::from(k) / 20.0;
        let target = DVec3::new(6.0 - 3.0 * u, 2.0 * u, u);
        let pulled = session.pose_drag(drag, at(target), enough).unwrap();
        let off = (point(&session, LINKS - 1, TIP) - target).length();
        assert!(off < 1e-6 && pulled.open.0 < 1e-6 && pulled.from_hands.0 < 1e-6, "{k}: {off} {pulled:?}");
    }
    assert_eq!(session.time(), time);
    assert!(session.state().solids.iter().all(|s| s.velocity == DVec3::ZERO && s.momentum == DVec3::ZERO));

    // Out of reach: joints stay closed, and the chain points at the hand.
    let far = DVec3::new(0.0, 50.0, 0.0);
    let pulled = session.pose_drag(drag, at(far), enough).unwrap();
    let found = point(&session, LINKS - 1, TIP);
    println!("out of reach: {pulled:?}, tip at {found}");
    assert!(pulled.open.0 < 1e-6 && pulled.from_hands.0 > 43.0 && finite(&session), "{pulled:?}");
    assert!((found - DVec3::Y * LINKS as f64).length() < 0.5, "{found}");

    // Within a budget that allows next to nothing, and then step by step.
    session.ask_time(ticking);
    let target = DVec3::new(3.0, 3.0, 1.0);
    let mut rounds = 0;
    for _ in 0..100 {
        let began = NOW.with(Cell::get);
        let pulled = session.pose_drag(drag, at(target), Duration::from_micros(200)).unwrap();
        let took = NOW.with(Cell::get) - began;
        assert!(took <= 240, "{took} us");
        rounds += pulled.rounds;
        if pulled.from_hands.0 < 1e-6 {
            break;
        }
    }
    let off = (point(&session, LINKS - 1, TIP) - target).length();
    println!("in small parts: {rounds} rounds, {off:.1e} off");
    assert!(off < 1e-6, "{off}");
    // It moves again afterwards.
    session.drag_end(drag).unwrap();
    (0..60).for_each(|_| session.step_frame());
    assert!(finite(&session) && open(&session) < 1e-6);
}

/// A rod that only turns, about its middle, without weight.
fn turning_rod() -> Session {
    let (mut scene, mut setup) = chain();
    scene.nodes.truncate(2);
    setup.bodies.truncate(1);
    setup.joints.clear();
    setup.world.gravity = [0.0; 3];
    setup.bodies[0].simulate = Parts::Orientation;
    Session::new(Arc::new(compile(&scene, &setup, None).expect("the set-up compiles").rig))
}

/// Where the middle of that rod is.
const PIVOT: DVec3 = DVec3::new(0.5, 0.0, 0.0);

/// The angle between the rod and the way to a target, rad.
fn off_target(session: &Session, target: DVec3) -> f64 {
    (point(session, 0, TIP) - PIVOT).angle_between(target - PIVOT)
}

#[test]
fn what_only_turns_is_turned_by_where_it_is_held() {
    // A pull of 0.05 at an arm of 0.5 against the moment of inertia of the box.
    let mut session = turning_rod();
    let drag = session.drag_begin(0, Grip { strength: Some(0.05), ..tip() }).unwrap();
    session.drag_move(drag, at(PIVOT + DVec3::new(10.0, 2.0, 0.0))).unwrap();
    (0..30).for_each(|_| session.step_frame());
    let turned = off_target(&session, PIVOT + DVec3::X);
    let exact = 0.5 * (0.05 * 0.5 / ((1.0 + 0.04) / 12.0)) * 0.25;
    assert!((turned - exact).abs() < 0.03 * exact, "{turned} is not {exact}");

    // With and without a strength, near, far, all round, and straight along the arm.
    for strength in [None, Some(50.0)] {
        let mut session = turning_rod();
        let drag = session.drag_begin(0, Grip { strength, ..tip() }).unwrap();
        let targets = [
            DVec3::new(0.0, 0.5, 0.0),
            DVec3::new(-0.3, 0.4, 0.1),
            DVec3::new(-3.0, 0.1, 2.0),
            DVec3::Z * 40.0,
        ];
        for target in targets.map(|t| PIVOT + t) {
            session.drag_move(drag, at(target)).unwrap();
            (0..90).for_each(|_| session.step_frame());
            let off = off_target(&session, target);
            assert!(off < 1e-3, "{strength:?} {target}: {off}");
            assert_eq!(session.sample(0).node.position, PIVOT, "it only turns");
        }
        for far in [1e6, 1e9] {
            session.drag_move(drag, at(DVec3::new(far, -far, 0.0))).unwrap();
            (0..5).for_each(|_| session.step_frame());
            assert!(finite(&session), "{strength:?} {far}");
        }
        session.drag_end(drag).unwrap();
    }

    // In a still pose, as near as it can come.
    let mut session = turning_rod();
    let drag = session.drag_begin(0, tip()).unwrap();
    let target = PIVOT + DVec3::new(0.4, 0.8, -0.3);
    let pulled = session.pose_drag(drag, at(target), Duration::from_secs(10)).unwrap();
    assert!(off_target(&session, target) < 1e-6 && pulled.from_hands.0 < 1e-6, "{pulled:?}");
}

#[test]
fn nonsense_is_refused_and_the_hugest_pull_is_survived() {
    let (scene, mut setup) = chain();
    setup.bodies[0].simulate = Parts::Orientation;
    setup.bodies[1].simulate = Parts::Position;
    setup.joints.truncate(0);
    let mut session = Session::new(Arc::new(compile(&scene, &setup, None).expect("compiles").rig));
    // What only turns has nothing to be pulled by at its pivot.
    let said = session.drag_begin(0, Grip::default()).unwrap_err().to_string();
    assert!(said.contains("Rod 0") && said.contains("simulate"), "{said}");
    assert!(session.drag_begin(0, Grip { orientation: true, ..Grip::default() }).is_ok());
    let said = session.drag_begin(1, Grip { orientation: true, ..Grip::default() }).unwrap_err().to_string();
    assert!(said.contains("Rod 1") && said.contains("orientation"), "{said}");

    let mut session = self::session();
    assert!(matches!(session.drag_begin(99, Grip::default()), Err(DragError::NoBody { .. })));
    for at in [DVec3::NAN, DVec3::INFINITY, DVec3::splat(1e300)] {
        for at in [Point::Node(at), Point::World(at)] {
            assert!(session.drag_begin(0, Grip { at, ..Grip::default() }).is_err());
        }
    }
    for strength in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(session.drag_begin(0, Grip { strength: Some(strength), ..Grip::default() }).is_err());
    }
    assert!(session.rig().hands.is_empty());
    let drag = session.drag_begin(LINKS - 1, tip()).unwrap();
    let before = session.drag_hand(drag).unwrap();
    for position in [DVec3::NAN, DVec3::NEG_INFINITY, DVec3::splat(1e200)] {
        assert!(session.drag_move(drag, at(position)).is_err());
        assert!(session.pose_drag(drag, at(position), Duration::from_millis(1)).is_err());
    }
    for rotation in [DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DQuat::from_xyzw(f64::NAN, 0.0, 0.0, 1.0)] {
        assert!(session.drag_move(drag, Placement { rotation, ..before }).is_err());
    }
    assert_eq!(session.drag_hand(drag).unwrap(), before);
    assert!(session.drag_end(Drag(77)).is_err());

    // A firm hand a thousand kilometres off: torn, but sound, and back when it comes back.
    for far in [1e6, 1e9] {
        session.drag_move(drag, at(DVec3::new(far, -far, 0.0))).unwrap();
        (0..5).for_each(|_| session.step_frame());
        assert!(finite(&session), "{far}");
    }
    let _ = session.pose_drag(drag, at(DVec3::new(4.0, 1.0, 0.0)), Duration::from_secs(10)).unwrap();
    session.step_frame();
    assert!(finite(&session));
    session.drag_end(drag).unwrap();
    session.seek(0.1);
    assert!(finite(&session) && open(&session) < 1e-6);
}
