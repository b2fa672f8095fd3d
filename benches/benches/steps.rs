//! Solid-steps per second on one core: guided by both position and orientation, and free.

use sinew_benches::{crowd, least};
use sinew_core::rig::compile;
use sinew_core::setup::{Behaviour, Timing, automatic};
use sinew_core::simulate::{State, Workspace, step};

fn main() {
    let steps = std::env::var("STEPS").map_or(400, |s| s.parse().unwrap_or(400));
    let only = std::env::args().nth(1).filter(|a| !a.starts_with('-'));
    let scene = crowd(10_000, 12, 10.0);
    for (name, timing, behaviour) in [
        ("guided, timed", Timing::Timed, Behaviour::Guided),
        ("guided, path", Timing::Path, Behaviour::Guided),
        ("free", Timing::Timed, Behaviour::Free),
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
            "{name:14} {:6} solids: {:7.1} us per step, {rate:5.2} million solid-steps per second",
            rig.solids.len(),
            time.as_secs_f64() * 1e6
        );
    }
}
