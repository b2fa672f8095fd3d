//! Chains with joints: milliseconds per step of 1/240 s, hanging from the horizontal, one core.

use glam::DVec3;
use sinew_benches::least;
use sinew_core::rig::compile;
use sinew_core::scene::{Channels, Local, Node, Scene};
use sinew_core::setup::{At, Behaviour, Body, Joint, JointKind, Setup, Shape};
use sinew_core::simulate::{State, Workspace, step};

fn main() {
    for kind in [JointKind::Universal, JointKind::Pin] {
        for links in [10, 20, 100, 300] {
            let (scene, setup) = chain(links, kind);
            let rig = match compile(&scene, &setup, None) {
                Ok(compiled) => compiled.rig,
                Err(e) => unreachable!("{e}"),
            };
            let mut state = State::new(&rig);
            let mut work = Workspace::new(&rig);
            let steps = 60;
            let mut open = 0.0_f64;
            let time = least(5, || {
                for _ in 0..steps {
                    step(&rig, &mut state, &mut work, 1.0 / 240.0);
                    open = work.open_joints().iter().fold(open, |m, o| m.max(o.0));
                }
            });
            let per_step = time.as_secs_f64() * 1e3 / f64::from(steps);
            println!("{kind:?}, {links:4} links: {per_step:7.4} ms per step, joints open {open:.1e}");
        }
    }
}

fn chain(links: usize, kind: JointKind) -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut setup = Setup::default();
    setup.world.collisions = false;
    setup.bake.frames = Some([0.0, 24.0]);
    let at = |x: f64| Local::Channels(Channels { translation: DVec3::X * x, ..Channels::default() });
    for i in 0..links {
        let x = i as f64 * 0.1;
        scene.nodes.push(Node { name: format!("Link {i}"), local: at(x + 0.05), ..Node::default() });
        scene.nodes.push(Node { name: format!("End {i}"), local: at(x), ..Node::default() });
        let mut body = Body::new(format!("Link {i}"));
        body.behaviour = Behaviour::Free;
        body.shape = Shape::Capsule { radius: Some(0.02), length: Some(0.06) };
        setup.bodies.push(body);
        let before = if i == 0 { "world".into() } else { format!("Link {}", i - 1) };
        setup.joints.push(Joint {
            at: Some(At::Node(format!("End {i}"))),
            axis: (kind == JointKind::Pin).then_some([0.0, 0.0, 1.0]),
            ..Joint::new(kind, [&before, &format!("Link {i}")])
        });
    }
    (scene, setup)
}
