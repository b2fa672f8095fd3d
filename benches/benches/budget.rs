//! Steps with a time limit on the star of `examples/scenes/drag` (56 bodies, 261 scalars), dragged by a hand: what they
//! take, and how far joints open; and what beginning a drag costs.

use glam::{DQuat, DVec3};
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::Placement;
use sinew_core::setup::{Setup, Solver, Tier, choose_clip};
use sinew_core::simulate::{Grip, Session};
use sinew_plugin::gltf::{Document, ReadOptions};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Mean length of a link of the star, scene units.
const LINK: f64 = 0.22;

fn main() -> Result<(), Box<dyn Error>> {
    let rig = star()?;
    let end = rig.solids.iter().position(|s| s.name == "Arm 3 link 11").unwrap_or(0);
    for tier in [Tier::Direct, Tier::Iterative, Tier::Pairwise] {
        for microseconds in [None, Some(1000.0), Some(300.0), Some(100.0), Some(30.0)] {
            let mut session = Session::new(Arc::new(rig.clone()));
            session.set_solver(&Solver { tier, microseconds, ..Solver::default() })?;
            let began = Instant::now();
            let drag = session.drag_begin(end, Grip::default())?;
            let begin = began.elapsed();
            let start = session.drag_hand(drag)?.position;
            let (mut times, mut open) = (Vec::new(), 0.0_f64);
            for step in 0..240 {
                let t = f64::from(step) / 60.0;
                let position =
                    start + DVec3::new(0.5 * t.sin(), 0.3 * (2.0 * t).sin(), 0.4 * (1.0 - t.cos()));
                session.drag_move(drag, Placement { position, rotation: DQuat::IDENTITY })?;
                let began = Instant::now();
                session.step(1.0 / 60.0);
                times.push(began.elapsed());
                open = session.open_joints().iter().fold(open, |m, o| m.max(o.0));
            }
            times.sort_unstable();
            let us = |time: Duration| time.as_secs_f64() * 1e6;
            println!(
                "{tier:?}, limit {:>5} us: median {:7.1} us, 9 of 10 below {:7.1} us, joints open {:.1e} of a link; \
                 begin {:.0} us",
                microseconds.map_or("no".into(), |m| m.to_string()),
                us(times[times.len() / 2]),
                us(times[times.len() * 9 / 10]),
                open / LINK,
                us(begin),
            );
        }
    }
    Ok(())
}

fn star() -> Result<Rig, Box<dyn Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/scenes/drag.gltf");
    let document = Document::open(&file, &ReadOptions::default())?;
    let setup: Setup = serde_json::from_str(&std::fs::read_to_string(file.with_extension("sinew.json"))?)?;
    let clip = choose_clip(document.scene(), setup.clip.as_deref())?.map(|c| c.1);
    Ok(compile(document.scene(), &setup, clip)?.rig)
}
