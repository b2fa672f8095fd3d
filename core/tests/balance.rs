//! Muscles hold what hangs on them: an arm held out straight stays there, however soft it is.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::{Rig, Setting, compile};
use sinew_core::rotation;
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{
    Behaviour, Between, Body, Group, Joint, JointKind, Keyable, Keys, Limit, Parts, Pin, Preset, Setup, Space,
};
use sinew_core::simulate::run;

/// Links of a metre and a kilogram along x, keyed to stay; the first in the world, each other against the one before.
fn arm(links: usize, alpha: f64) -> Rig {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut clip = Clip { name: "Keys".into(), channels: Vec::new() };
    let mut setup = Setup::default();
    setup.world.substeps = 4;
    setup.bake.frames = Some([0.0, 96.0]);
    for i in 0..links {
        let translation = if i == 0 { DVec3::ZERO } else { DVec3::X };
        let local = Local::Channels(Channels { translation, ..Channels::default() });
        scene.nodes.push(Node { name: format!("N{i}"), parent: i.checked_sub(1), local, ..Node::default() });
        let still = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let curve = Curve::new(Kind::Rotation, 4, vec![0.0, 4.0], still, Segments::Linear).unwrap();
        clip.channels.push(Channel { node: i, property: Property::Rotation, curve });
        let mut body = Body::new(format!("N{i}"));
        (body.mass, body.inertia, body.center) = (Some(1.0), Some([0.1; 3]), Some([0.5, 0.0, 0.0]));
        body.actuator.alpha = Some(alpha.into());
        (body.actuator.max_force, body.actuator.max_torque) =
            (Some(Limit::Unlimited), Some(Limit::Unlimited));
        if i > 0 {
            (body.guide.space, body.guide.follow) = (Space::Parent, Parts::Orientation);
            let between = [format!("N{}", i - 1), format!("N{i}")];
            setup.joints.push(Joint::new(JointKind::Universal, [&between[0], &between[1]]));
        }
        setup.bodies.push(body);
    }
    scene.clips.push(clip);
    compile(&scene, &setup, scene.clips.first()).unwrap().rig
}

#[test]
fn an_arm_held_out_straight_stays_there() {
    for links in [2, 4] {
        for alpha in [0.5, 0.1, 0.02] {
            let (motion, _) = run(&arm(links, alpha), |_, _| true);
            let mut off = 0.0_f64;
            for i in 0..links {
                for s in motion.solid(i) {
                    off = off.max(rotation::distance(s.node.rotation, s.keys.rotation).to_degrees());
                }
                // Each muscle holds n links at a mean lever of half of them: n^2 / 2 metres times a kilogram's weight.
                let n = (links - i) as f64;
                let torque = motion.frame(96)[i].torque.z;
                let error = torque / (9.81 * 0.5 * n * n) - 1.0;
                assert!(i == 0 || error.abs() < 1e-3, "{links} links, {alpha}, body {i}: {torque}");
            }
            println!("{links} links, alpha {alpha}: {off:.4} degrees off");
            assert!(off < 0.02, "{links} links, {alpha}: {off}");
        }
    }
}

/// A helping hand moves nothing that does not fall: what it carries, muscles do not hold up as well.
#[test]
fn a_helping_hand_moves_nothing_that_does_not_fall() {
    for balance in [0.0, 0.5, 1.0] {
        let mut rig = arm(3, 0.1);
        rig.set(0, Setting::Balance, balance);
        let (motion, _) = run(&rig, |_, _| true);
        for i in 0..3 {
            let off =
                motion.solid(i).map(|s| rotation::distance(s.node.rotation, s.keys.rotation).to_degrees());
            let off = off.fold(0.0, f64::max);
            assert!(off < 0.02, "balance {balance}, body {i}: {off} degrees");
        }
    }
}

/// The same arm, each joint swung to and fro by 10 degrees once a second, without gravity. Muscles are strong enough for what
/// hangs on them: a rod about its end, 1/3 of its mass times its length squared. The last link may have no joint, and chase its
/// place on the one before.
fn swung(anticipation: f64, loose_end: bool) -> f64 {
    let links = 4_usize;
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut clip = Clip { name: "Keys".into(), channels: Vec::new() };
    let mut setup = Setup::default();
    setup.world.gravity = [0.0; 3];
    setup.world.steps_per_second = Some(240.0);
    setup.bake.frames = Some([0.0, 72.0]);
    for i in 0..links {
        let translation = if i == 0 { DVec3::ZERO } else { DVec3::X };
        let local = Local::Channels(Channels { translation, ..Channels::default() });
        scene.nodes.push(Node { name: format!("N{i}"), parent: i.checked_sub(1), local, ..Node::default() });
        let times: Vec<f64> = (0..=3 * 240).map(|k| f64::from(k) / 240.0).collect();
        let turn =
            |t: f64| DVec3::Z * (10_f64.to_radians() * (2.0 * std::f64::consts::PI * t + i as f64).sin());
        let values = times.iter().flat_map(|t| rotation::exp(turn(*t)).to_array()).collect();
        let curve = Curve::new(Kind::Rotation, 4, times, values, Segments::Linear).unwrap();
        clip.channels.push(Channel { node: i, property: Property::Rotation, curve });
        let mut body = Body::new(format!("N{i}"));
        (body.mass, body.inertia, body.center) = (Some(1.0), Some([0.1; 3]), Some([0.5, 0.0, 0.0]));
        (body.actuator.max_force, body.actuator.max_torque) =
            (Some(Limit::Unlimited), Some(Limit::Unlimited));
        body.actuator.carries = Some(((links - i) as f64).powi(3) / 3.0 / 0.1);
        (body.actuator.keep_up, body.actuator.anticipation) = (Some(1.0.into()), Some(anticipation.into()));
        if i > 0 {
            body.guide.space = Space::Parent;
        }
        if loose_end && i + 1 == links {
            body.actuator.carries = None;
        } else if i > 0 {
            body.guide.follow = Parts::Orientation;
            let between = [format!("N{}", i - 1), format!("N{i}")];
            setup.joints.push(Joint::new(JointKind::Universal, [&between[0], &between[1]]));
        }
        setup.bodies.push(body);
    }
    scene.clips.push(clip);
    let rig = compile(&scene, &setup, scene.clips.first()).unwrap().rig;
    let (motion, _) = run(&rig, |_, _| true);
    let off = |i: usize| {
        motion
            .solid(i)
            .map(|s| rotation::distance(s.node.rotation, s.keys.rotation).to_degrees())
            .fold(0.0, f64::max)
    };
    (0..links).map(off).fold(0.0, f64::max)
}

/// What sees its keys coming pulls what they need, and stays on them however soft it is.
#[test]
fn what_anticipates_its_keys_does_not_lag() {
    let [lags, knows, half] = [0.0, 1.0, 0.5].map(|a| swung(a, false));
    println!("{lags:.3} degrees off without, {half:.3} with half, {knows:.3} with all");
    assert!(lags > 5.0, "{lags} degrees: keys that need something");
    assert!(knows < 0.03 * lags, "{knows} of {lags} degrees");
    assert!((0.3..0.7).contains(&(half / lags)), "half of it is half the way: {half} of {lags}");
}

/// The same of what chases its place on its parent: what is left is how it begins, when it has not seen anything yet.
#[test]
fn what_no_joint_holds_anticipates_too() {
    let [lags, knows] = [0.0, 1.0].map(|a| swung(a, true));
    println!("{lags:.3} degrees off without, {knows:.3} with all");
    assert!(lags > 3.0, "{lags} degrees: keys that need something");
    assert!(knows < 0.25 * lags, "{knows} of {lags} degrees");
}

/// A post on a foot that is pinned: its muscle alone lets it fall, and a helping hand keeps it up, as high as it is keyed.
#[test]
fn a_helping_hand_carries_what_its_muscles_do_not() {
    let fallen = |balance: f64| {
        let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
        let mut clip = Clip { name: "Keys".into(), channels: Vec::new() };
        let mut setup = Setup::default();
        setup.world.collisions = false;
        setup.bake.frames = Some([0.0, 96.0]);
        setup.groups.push(Group::new("root", 0.0));
        for (i, (name, translation)) in [("Hips", DVec3::Y), ("Foot", DVec3::NEG_Y)].into_iter().enumerate() {
            let local = Local::Channels(Channels { translation, ..Channels::default() });
            scene.nodes.push(Node { name: name.into(), parent: i.checked_sub(1), local, ..Node::default() });
            let still = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
            let curve = Curve::new(Kind::Rotation, 4, vec![0.0, 4.0], still, Segments::Linear).unwrap();
            clip.channels.push(Channel { node: i, property: Property::Rotation, curve });
            let mut body = Body::new(name);
            (body.mass, body.inertia) = (Some(if i == 0 { 10.0 } else { 1.0 }), Some([0.1; 3]));
            if i == 1 {
                (body.guide.space, body.guide.follow) = (Space::Parent, Parts::Orientation);
                body.pins.push(Pin::new(0.0, 4.0));
                setup.joints.push(Joint::new(JointKind::Universal, ["Hips", "Foot"]));
                body.actuator.preset = Preset::Limp;
            } else {
                body.groups.push("root".into());
                body.actuator.balance = Some(balance.into());
                // Pushed, so that it falls one way and not the other.
                body.velocity = Some([0.3, 0.0, 0.0]);
            }
            setup.bodies.push(body);
        }
        scene.clips.push(clip);
        let (motion, _) = run(&compile(&scene, &setup, scene.clips.first()).unwrap().rig, |_, _| true);
        motion.frame(96)[0].keys.position.y - motion.frame(96)[0].node.position.y
    };
    let [alone, half, helped] = [0.0, 0.5, 1.0].map(fallen);
    println!("falls by {alone:.3} m alone, {half:.3} with half a hand, {helped:.5} with one");
    assert!(alone > 0.3 && helped.abs() < 0.01 && half < alone, "{alone} {half} {helped}");
}

/// An arm of one link on a root that is held, and a weight at its hand until it is let go at 2 s: how far the arm is off its
/// keys at every frame, degrees, downwards.
fn laden(kg: f64) -> Vec<f64> {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut clip = Clip { name: "Keys".into(), channels: Vec::new() };
    let mut setup = Setup::default();
    setup.world.collisions = false;
    setup.world.steps_per_second = Some(240.0);
    setup.bake.frames = Some([0.0, 96.0]);
    for (i, name) in ["Trunk", "Arm", "Load"].into_iter().enumerate() {
        let local = Local::Channels(Channels { translation: DVec3::X * i as f64, ..Channels::default() });
        let parent = (i == 1).then_some(0);
        scene.nodes.push(Node { name: name.into(), parent, local, ..Node::default() });
        let mut body = Body::new(name);
        (body.mass, body.inertia) = (Some(1.0), Some([0.1; 3]));
        if i < 2 {
            let still = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
            let curve = Curve::new(Kind::Rotation, 4, vec![0.0, 4.0], still, Segments::Linear).unwrap();
            clip.channels.push(Channel { node: i, property: Property::Rotation, curve });
            (body.actuator.max_force, body.actuator.max_torque) =
                (Some(Limit::Unlimited), Some(Limit::Unlimited));
        }
        match i {
            0 => body.actuator.carries = Some(1000.0),
            1 => {
                (body.guide.space, body.guide.follow) = (Space::Parent, Parts::Orientation);
                body.center = Some([0.5, 0.0, 0.0]);
                body.actuator.carries = Some(4.0);
                setup.joints.push(Joint::new(JointKind::Universal, ["Trunk", "Arm"]));
            }
            _ => {
                (body.mass, body.behaviour) = (Some(kg), Behaviour::Free);
                let mut grip = Joint::new(JointKind::Universal, ["Arm", "Load"]);
                let keys = vec![[0.0, 1.0], [2.0, 0.0]];
                grip.on = Some(Keyable::Keys(Keys { keys, between: Between::Step }));
                setup.joints.push(grip);
            }
        }
        setup.bodies.push(body);
    }
    scene.clips.push(clip);
    let rig = compile(&scene, &setup, scene.clips.first()).unwrap().rig;
    let arm = rig.solids.iter().position(|s| s.label.contains("Arm")).unwrap();
    let (motion, _) = run(&rig, |_, _| true);
    motion
        .solid(arm)
        .map(|s| -rotation::log(s.node.rotation * s.keys.rotation.conjugate()).z.to_degrees())
        .collect()
}

/// A load that lasts is learnt, as long as it does not pull the arm far off; and one that is gone is forgotten at once.
#[test]
fn a_load_is_learnt_while_it_lasts_and_forgotten_when_it_is_gone() {
    for kg in [0.5, 3.0, 20.0] {
        let off = laden(kg);
        let most =
            |from: usize, to: usize, way: f64| off[from..to].iter().fold(0.0_f64, |m, o| m.max(o * way));
        let (sags, holds, past) = (most(0, 48, 1.0), most(46, 48, 1.0), most(48, 96, -1.0));
        let left = most(48 + 18, 96, 1.0).max(most(48 + 18, 96, -1.0));
        println!(
            "{kg} kg: sags by {sags:.2} degrees, {holds:.2} after 2 s; {past:.2} past, {left:.3} left 0.75 s after"
        );
        assert!(kg > 1.0 || holds < 0.2 * sags, "{kg} kg: {holds} of {sags} degrees");
        assert!(past < sags && left < 1.0, "{kg} kg: {past} past, {left} left of {sags} degrees");
    }
}
