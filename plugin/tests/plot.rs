//! Pictures of any motion: the same bytes every time, well-formed whatever the names, nothing that is no number.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::motion::Motion;
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{Behaviour, Body, Parts, Setup, Shape, automatic};
use sinew_core::simulate::run;
use sinew_plugin::plot::{draw, draw_playblast};

/// Nodes that go from the origin to a place each, in two seconds.
fn scene(ends: &[(&str, DVec3)]) -> Scene {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut channels = Vec::new();
    for (node, (name, end)) in ends.iter().enumerate() {
        let values = [DVec3::ZERO, *end].iter().flat_map(|p| p.to_array()).collect();
        let curve = Curve::new(Kind::Vector, 3, vec![0.0, 2.0], values, Segments::Linear).unwrap();
        channels.push(Channel { node, property: Property::Translation, curve });
        scene.nodes.push(Node { name: (*name).into(), ..Node::default() });
    }
    scene.clips = vec![Clip { name: "Keys".into(), channels }];
    scene
}

fn simulate(scene: &Scene, edit: impl FnOnce(&mut Setup)) -> (Rig, Motion) {
    let mut setup = automatic(scene, None).unwrap();
    edit(&mut setup);
    let rig = compile(scene, &setup, scene.clips.first()).unwrap().rig;
    let motion = run(&rig, |_, _| true).0;
    (rig, motion)
}

fn picture(scene: &Scene, edit: impl FnOnce(&mut Setup)) -> String {
    let (rig, motion) = simulate(scene, edit);
    let svg = draw("title", &rig, &motion, None);
    assert_eq!(svg, draw("title", &rig, &motion, None), "not the same bytes");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for odd in ["NaN", "inf", "-0 ", "\"-0\""] {
        assert!(!svg.contains(odd), "{odd} in {svg}");
    }
    svg
}

#[test]
fn the_side_that_shows_most_is_taken() {
    let seen = |end: DVec3| picture(&scene(&[("A", end), ("B", DVec3::ZERO)]), |_| ());
    assert!(seen(DVec3::new(3.0, 2.0, 0.1)).contains("from the front: x and y"));
    assert!(seen(DVec3::new(0.1, 2.0, 3.0)).contains("from the side: z and y"));
    assert!(seen(DVec3::new(3.0, 0.1, 2.0)).contains("from above: x and z"));
    assert!(!seen(DVec3::new(3.0, 0.0, 0.0)).contains("path seen"), "a straight path needs no panel");
}

#[test]
fn names_cannot_break_the_picture() {
    let svg = picture(&scene(&[("</svg><script>&\"'\u{7}", DVec3::X)]), |_| ());
    assert!(svg.contains("&lt;/svg&gt;&lt;script&gt;&amp;") && !svg.contains("<script"));
    assert_eq!(svg.matches("</svg>").count(), 1);
}

#[test]
fn at_most_eight_bodies_are_drawn_and_the_rest_is_counted() {
    let ends: Vec<(String, DVec3)> =
        (0..11).map(|i| (format!("body {i}"), DVec3::new(f64::from(i), 1.0, 0.0))).collect();
    let ends: Vec<(&str, DVec3)> = ends.iter().map(|(n, e)| (n.as_str(), *e)).collect();
    let svg = picture(&scene(&ends), |_| ());
    assert!(svg.contains("and 3 more"));
    // The fastest depart most from their keys.
    assert!(svg.contains(">body 10<") && !svg.contains(">body 0<"), "{svg}");
}

#[test]
fn motions_at_the_edge_have_pictures() {
    let one = scene(&[("A", DVec3::X)]);
    let still = scene(&[("A", DVec3::ZERO)]);
    picture(&one, |s| s.bake.frames = Some([3.0, 3.0]));
    picture(&still, |_| ());
    picture(&scene(&[("A", DVec3::splat(1e12))]), |_| ());
    picture(&one, |s| s.bodies[0].behaviour = Behaviour::Free);
    let turning = picture(&one, |s| s.bodies[0].simulate = Parts::Orientation);
    assert!(turning.contains("angle off the keys"));
    let svg = picture(&scene(&[("A", DVec3::X), ("B", DVec3::Y)]), |s| {
        s.bodies.truncate(1);
        s.bodies.push(Body::new("B"));
    });
    assert!(svg.contains("% of its limit"));
}

#[test]
fn another_motion_is_dots() {
    let scene = scene(&[("A", DVec3::X)]);
    let (rig, motion) = simulate(&scene, |_| ());
    let svg = draw("title", &rig, &motion, Some(("other", &motion)));
    let plain = draw("title", &rig, &motion, None);
    assert!(svg.contains(">other<"));
    assert!(svg.matches("<circle").count() >= plain.matches("<circle").count() + motion.frames());
}

/// A ball thrown along x over a floor, on which it bounces, rolls and comes to lie.
fn thrown(bounce: f64) -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let at = Channels { translation: DVec3::new(0.0, 1.1, 0.0), ..Channels::default() };
    scene.nodes.push(Node { name: "Floor".into(), ..Node::default() });
    scene.nodes.push(Node { name: "Ball".into(), local: Local::Channels(at), ..Node::default() });
    let mut setup = Setup::default();
    setup.bake.frames = Some([0.0, 48.0]);
    let (mut floor, mut ball) = (Body::new("Floor"), Body::new("Ball"));
    (floor.behaviour, floor.shape) = (Behaviour::Static, Shape::Plane {});
    (ball.behaviour, ball.shape) = (Behaviour::Free, Shape::Sphere { radius: Some(0.1) });
    (ball.velocity, ball.contact.bounce) = (Some([1.0, 0.0, 0.0]), Some(bounce));
    setup.bodies = vec![floor, ball];
    (scene, setup)
}

#[test]
fn strikes_mark_the_time_and_the_path() {
    let (scene, setup) = thrown(0.5);
    let rig = compile(&scene, &setup, None).unwrap().rig;
    let motion = run(&rig, |_, _| true).0;
    let svg = draw("title", &rig, &motion, None);
    assert_eq!(svg, draw("title", &rig, &motion, None), "not the same bytes");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    assert!(svg.contains(">strike<") && svg.contains(">touched<"), "{svg}");
    // The first strike is the hardest; times are as wide as 816 px from 64 on: where its tick stands.
    let time = motion.strikes()[0].time;
    let x = format!("M{} ", (640.0 + 8160.0 * time / 2.0).round() / 10.0);
    let ticks: Vec<&str> =
        svg.lines().filter(|l| l.contains("class=\"thin struck\"") && l.contains(&x)).collect();
    assert!(!ticks.is_empty(), "no tick at {x} in {svg}");
    // As large as it gets, on both panels; the others are smaller.
    assert_eq!(
        svg.matches("r=\"3.6\" fill=\"#0072b2\"").count(),
        2 + 1,
        "two strikes and the path's end: {svg}"
    );
    let dots =
        motion.strikes().iter().filter(|s| s.impulse.length() > 0.01 * motion.strikes()[0].impulse.length());
    let count = dots.count();
    assert!(count > 3, "{count}");
    let small = svg.matches("<circle cx=").count();
    assert!(small >= 2 * count, "{small} dots for {count} strikes");

    // Nothing touches, nothing is marked.
    let (scene, mut setup) = thrown(0.5);
    setup.world.collisions = false;
    let rig = compile(&scene, &setup, None).unwrap().rig;
    let motion = run(&rig, |_, _| true).0;
    let svg = draw("title", &rig, &motion, None);
    assert!(
        !svg.contains(">strike<") && !svg.contains(">touched<") && !svg.contains("class=\"thin struck\"")
    );
}

#[test]
fn many_touches_leave_a_picture_small() {
    let (scene, mut setup) = thrown(0.0);
    setup.bake.frames = Some([0.0, 4000.0]);
    let rig = compile(&scene, &setup, None).unwrap().rig;
    let motion = run(&rig, |_, _| true).0;
    assert!((0..motion.frames()).map(|f| motion.contacts(f).len()).sum::<usize>() > 3000);
    let svg = draw("title", &rig, &motion, None);
    let normals = svg.matches("class=\"thin struck\"").count();
    assert!(normals < 250, "{normals} marks");
}

/// Values of an attribute that an animation gives the elements of a colour, one list for each.
fn played(svg: &str, colour: &str, attribute: &str) -> Vec<Vec<f64>> {
    let of_colour = svg.lines().filter(|l| l.contains(&format!("\"{colour}\"")));
    let start = format!("attributeName=\"{attribute}\"");
    of_colour
        .filter_map(|l| l.split(&start).nth(1)?.split("values=\"").nth(1)?.split('"').next())
        .map(|values| values.split(';').map(|v| v.parse().unwrap()).collect())
        .collect()
}

#[test]
fn a_playblast_shows_keys_and_bake_at_every_frame_from_the_side_of_the_motion() {
    // Two seconds at 24 frames per second, away from the usual eye.
    let (rig, motion) = simulate(&scene(&[("Ball", DVec3::new(0.0, 0.0, 3.0))]), |_| ());
    let svg = draw_playblast("title", &rig, &motion);
    assert_eq!(svg, draw_playblast("title", &rig, &motion), "not the same bytes");
    for odd in ["NaN", "inf", "-0 ", "\"-0\""] {
        assert!(!svg.contains(odd), "{odd} in {svg}");
    }
    let pause = (0.8 * 24.0_f64).round() as usize;
    for colour in ["#8a8f98", "#4a9ed6"] {
        let across = played(&svg, colour, "cx");
        let [across] = across.as_slice() else { panic!("one ball in {colour}: {svg}") };
        assert_eq!(across.len(), motion.frames() + pause, "a value for every frame, and the last one held");
        assert!(across[motion.frames() - 1] - across[0] > 500.0, "it goes to the right: {across:?}");
        assert!(across[motion.frames()..].iter().all(|x| *x == across[motion.frames() - 1]));
    }
    // The bake starts from rest behind its keys.
    let (keys, bake) = (&played(&svg, "#8a8f98", "cx")[0], &played(&svg, "#4a9ed6", "cx")[0]);
    assert!(bake[12] < keys[12] - 1.0, "{} {}", bake[12], keys[12]);
}

#[test]
fn a_playblast_of_nothing_that_moves_is_still_a_picture() {
    let (rig, motion) = simulate(&scene(&[("A", DVec3::ZERO)]), |s| s.bake.frames = Some([0.0, 0.0]));
    let svg = draw_playblast("<title>", &rig, &motion);
    assert!(svg.contains("&lt;title&gt;") && !svg.contains("NaN") && svg.ends_with("</svg>\n"), "{svg}");
}
