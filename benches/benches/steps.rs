//! Solid-steps per second on one core: guided by both position and orientation, and free.

use sinew_benches::{crowd, least};
use sinew_core::rig::compile;
use sinew_core::setup::{Behaviour, Shape, Timing, automatic};
use sinew_core::simulate::{State, Workspace, step};

fn main() {
    let steps = 400;
    let only = std::env::args().nth(1).filter(|a| !a.starts_with('-'));
    let scene = crowd(10_000, 12, 10.0);
    let ball = Shape::Sphere { radius: Some(0.2) };
    let brick = Shape::Box { size: Some([0.1, 0.2, 0.5]) };
    for (name, timing, behaviour, shape) in [
        ("guided balls, timed", Timing::Timed, Behaviour::Guided, ball),
        ("guided bricks, timed", Timing::Timed, Behaviour::Guided, brick.clone()),
        ("guided bricks, path", Timing::Path, Behaviour::Guided, brick.clone()),
        ("free bricks", Timing::Timed, Behaviour::Free, brick),
    ] {
        if only.as_ref().is_some_and(|o| !name.contains(o.as_str())) {
            continue;
        }
        let mut setup = match automatic(&scene, None) {
            Ok(setup) => setup,
            Err(e) => unreachable!("{e}"),
        };
        for body in &mut setup.bodies {
            body.guide.timing = timing;
            body.behaviour = behaviour;
            body.shape = shape.clone();
        }
        let rig = match compile(&scene, &setup, scene.clips.first()) {
            Ok(compiled) => compiled.rig,
            Err(e) => unreachable!("{e}"),
        };
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        let time = least(steps, || step(&rig, &mut state, &mut work, 1.0 / 96.0));
        let rate = rig.solids.len() as f64 / time.as_secs_f64() / 1e6;
        println!(
            "{name:20} {:6} solids: {:7.1} us per step, {rate:5.2} million solid-steps per second",
            rig.solids.len(),
            time.as_secs_f64() * 1e6
        );
    }
}
