//! What animators can ask of figures besides strength: pins, less detail, several figures in a scene.

use super::{Judge, MEAN_ANGLE, SLIPS, SUNK, automatic_of, baked, compare, open, slip};
use crate::figures::Figure;
use glam::DVec3;
use sinew_core::rig::compile;
use sinew_core::scene::{Channels, Local, Node, Scene, Skin};
use sinew_core::setup::{Joint, JointKind, Keyable, Preset, choose_clip};
use sinew_tests::made::character::Character;

/// Feet that stand in the keys are pinned: weak figures slip much less on them than without.
#[test]
fn pinned_feet_stand_however_weak_the_figure_is() {
    let mut judge = Judge::default();
    let made = Figure::made(&Character::quadruped(), "Idle");
    for figure in std::iter::once(made).chain(Figure::sample("Fox.glb", "Survey")) {
        let Figure { label, scene, clip } = &figure;
        let keys = figure.keys();
        for preset in [Preset::Reactive, Preset::Limp] {
            let mut setup = automatic_of(scene, clip);
            setup.use_preset(preset);
            let pinned = setup.bodies.iter().filter(|b| !b.pins.is_empty()).count();
            let (contacts, with) = slip(scene, keys, &baked(scene, &setup, keys));
            setup.bodies.iter_mut().for_each(|b| b.pins.clear());
            let (_, without) = slip(scene, keys, &baked(scene, &setup, keys));
            println!("  {label} {}: {pinned} limbs pinned, {contacts} vertices stand", preset.name());
            println!("    slip {with:.5} of the size with pins, {without:.5} without");
            judge.hear(&format!("{label} {}", preset.name()), with, SLIPS, "of the size");
            judge.hear("  beside what it slips without", with / without.max(0.1 * SLIPS), 0.5, "of that");
        }
    }
}

/// Asked for half of its limbs a fox keeps its legs, which stand, and loses the rest: it still walks, on its floor.
#[test]
fn with_less_detail_a_figure_moves_alike_and_has_fewer_bodies() {
    let mut judge = Judge::default();
    let made = ["Walk", "Idle"].map(|clip| Figure::made(&Character::quadruped(), clip));
    let fox = ["Walk", "Survey"].into_iter().filter_map(|clip| Figure::sample("Fox.glb", clip));
    for figure in made.into_iter().chain(fox) {
        let Figure { label, scene, clip } = &figure;
        let keys = figure.keys();
        let mut setup = automatic_of(scene, clip);
        let [whole, half] = [1.0, 0.5].map(|detail| {
            setup.world.detail = detail;
            compile(scene, &setup, Some(keys)).unwrap().rig.solids.len()
        });
        let differs = compare(scene, keys, &baked(scene, &setup, keys));
        judge.hear(&format!("{label} at half detail"), differs.mean, MEAN_ANGLE, "degrees in the mean");
        judge.hear("  lowest vertex", differs.sunk, SUNK, "of the size");
        judge.hear("  bodies", half as f64, 0.8 * whole as f64, "of them");
    }
}

/// The scene twice over, the second one so far off.
fn twice(scene: &Scene, away: DVec3) -> Scene {
    let mut both = scene.clone();
    let (nodes, meshes) = (scene.nodes.len(), scene.meshes.len());
    let above = 2 * nodes;
    let mut copy = |n: &Node| Node {
        name: format!("{} of Ben", n.name),
        parent: Some(n.parent.map_or(above, |p| p + nodes)),
        mesh: n.mesh.map(|m| m + meshes),
        skin: n.skin.map(|s| s + scene.skins.len()),
        ..n.clone()
    };
    both.nodes.extend(scene.nodes.iter().map(&mut copy));
    let local = Local::Channels(Channels { translation: away, ..Channels::default() });
    both.nodes.push(Node { name: "Ben".into(), local, ..Node::default() });
    both.meshes.extend(scene.meshes.clone());
    let skin = |s: &Skin| Skin { joints: s.joints.iter().map(|j| j + nodes).collect(), ..s.clone() };
    both.skins.extend(scene.skins.iter().map(skin));
    for clip in &mut both.clips {
        let more = clip.channels.to_vec();
        clip.channels.extend(more.into_iter().map(|mut c| {
            c.node += nodes;
            c
        }));
    }
    both
}

/// Two foxes in a scene are two figures, each with its own groups: what one is set to the other is not. A rope between the two
/// holds.
#[test]
fn two_figures_in_a_scene_have_settings_of_their_own() {
    let made = (Figure::made(&Character::quadruped(), "Idle"), "Neck");
    let fox = Figure::sample("Fox.glb", "Survey").map(|f| (f, "b_Neck"));
    for (figure, neck) in std::iter::once(made).chain(fox) {
        println!("  {}:", figure.label);
        two_of_them(&figure, neck);
    }
}

fn two_of_them(figure: &Figure, neck: &str) {
    let alone = &figure.scene;
    let (index, keys) = choose_clip(alone, Some(&figure.clip)).unwrap().unwrap();
    let single = automatic_of(alone, &figure.clip);
    let scene = twice(alone, DVec3::X * 150.0);
    let clip = &scene.clips[index];
    let mut setup = automatic_of(&scene, &figure.clip);
    assert_eq!(setup.groups.len(), 2 * single.groups.len(), "{:?}", setup.groups);
    assert_eq!(setup.world.metres_per_unit, single.world.metres_per_unit);
    let of_ben = |name: &str| name.contains("Ben");
    assert_eq!(setup.groups.iter().filter(|g| of_ben(&g.name)).count(), single.groups.len());
    // Ben has no strength in his head and neck; the other is as he is alone.
    let limp = |g: &&mut sinew_core::setup::Group| of_ben(&g.name) && g.name.ends_with("head");
    setup.groups.iter_mut().find(limp).unwrap().strength = Keyable::Constant(0.01);
    let both = baked(&scene, &setup, clip);
    let one = compare(alone, keys, &baked(alone, &single, keys));
    let angles = |clip: &sinew_core::scene::Clip, node: usize, time: f64| {
        let pose = sinew_core::scene::Pose::new(&scene, Some(clip));
        pose.placement_below(scene.nodes[node].parent, node, time).rotation
    };
    let head = scene.nodes.iter().position(|n| n.name.starts_with(neck)).unwrap();
    let off = |node: usize| {
        (0..30)
            .map(|k| f64::from(k) * 0.1)
            .map(|t| {
                sinew_core::rotation::distance(angles(clip, node, t), angles(&both, node, t)).to_degrees()
            })
            .fold(0.0, f64::max)
    };
    let [first, second] = [head, head + alone.nodes.len()].map(off);
    println!("  necks are up to {first:.2} and {second:.2} degrees off; alone {:.2} on the whole", one.mean);
    assert!(first < 5.0 && second > 10.0, "{first} {second}");
    // A rope from neck to neck, shorter than they are apart in the end if nothing held them.
    let names = [head, head + alone.nodes.len()].map(|n| scene.nodes[n].name.clone());
    let mut rope = Joint::new(JointKind::Rope, [&names[0], &names[1]]);
    rope.at = Some(sinew_core::setup::At::Nodes(names));
    rope.length = Some(140.0);
    setup.joints.push(rope);
    let tied = baked(&scene, &setup, clip);
    let pose = sinew_core::scene::Pose::new(&scene, Some(&tied));
    let apart = |t: f64| {
        (pose.placement_at(head, t).position - pose.placement_at(head + alone.nodes.len(), t).position)
            .length()
    };
    let most = (5..30).map(|k| apart(f64::from(k) * 0.1)).fold(0.0, f64::max);
    println!("  a rope of 140 between the two lets them be {most:.2} apart");
    assert!(most < 140.0 * 1.005, "{most}");
}

/// A figure whose bones have a human's names has a human's knees, whatever its walk uses of them: they bend far back, and not
/// forward.
#[test]
fn a_human_by_its_names_has_knees_that_bend_one_way() {
    let document = open(&sinew_tests::repository::root().join("examples/scenes/stairs.gltf"));
    let setup = automatic_of(document.scene(), "Walk");
    for side in ["Left", "Right"] {
        let between = [format!("{side}UpLeg"), format!("{side}Leg")];
        let knee = setup.joints.iter().find(|j| j.between == between).unwrap();
        let [on_parent, on_limb] =
            knee.frames.unwrap().map(|f| glam::DQuat::from_array(f.rotation).normalize());
        let cone = knee.swing_deg.as_ref().and_then(|s| s.cone).unwrap();
        // Bones at rest are not turned, and the figure goes along x: backward is about -z.
        let within = |back: f64| {
            let bent = sinew_core::rotation::exp(DVec3::Z * -back.to_radians());
            let seen = on_parent.conjugate() * bent * on_limb;
            let seen = if seen.w < 0.0 { -seen } else { seen };
            let twist = 2.0 * seen.x.atan2(seen.w);
            let tilt = sinew_core::rotation::log(seen * sinew_core::rotation::exp(DVec3::X * -twist));
            (tilt.y.to_degrees() / cone[0]).powi(2) + (tilt.z.to_degrees() / cone[1]).powi(2) <= 1.0
        };
        assert!(within(5.0) && within(90.0) && within(130.0), "{side}: {cone:?}");
        assert!(!within(-15.0), "{side} bends forward: {cone:?}");
    }
}
