//! Steps with a time limit on the star of `examples/scenes/drag` (56 bodies, 261 scalars): what they take, and how far
//! joints open, as keyed and with a hand that pulls a second arm where it cannot go; and what beginning a drag costs.

use glam::{DQuat, DVec3};
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::Placement;
use sinew_core::setup::{Setup, Solver, Tier, choose_clip};
use sinew_core::simulate::{Drag, Grip, Session};
use sinew_plugin::gltf::{Document, ReadOptions};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Mean length of a link of the star, scene units.
const LINK: f64 = 0.22;

const TIERS: [Tier; 3] = [Tier::Direct, Tier::Iterative, Tier::Pairwise];

fn main() -> Result<(), Box<dyn Error>> {
    let rig = star()?;
    let end = rig.solids.iter().position(|s| s.name == "Arm 3 link 11").unwrap_or(0);
    for (held, tier) in [false, true].into_iter().flat_map(|h| TIERS.map(|t| (h, t))) {
        for microseconds in [None, Some(1000.0), Some(300.0), Some(100.0)] {
            let mut session = Session::new(Arc::new(rig.clone()));
            session.set_solver(&Solver { tier, microseconds, ..Solver::default() })?;
            let began = Instant::now();
            let mut drag = Some(session.drag_begin(end, Grip::default())?);
            let begin = began.elapsed();
            let start = session.drag_hand(drag.unwrap_or(Drag(0)))?.position;
            if let Some(over) = drag.take_if(|_| !held) {
                session.drag_end(over)?;
            }
            let (mut times, mut open) = (Vec::new(), 0.0_f64);
            for step in 0..400 {
                let t = f64::from(step) / 96.0;
                let position =
                    start + DVec3::new(0.5 * t.sin(), 0.3 * (2.0 * t).sin(), 0.4 * (1.0 - t.cos()));
                if let Some(drag) = drag {
                    session.drag_move(drag, Placement { position, rotation: DQuat::IDENTITY })?;
                }
                let began = Instant::now();
                session.step(1.0 / 96.0);
                times.push(began.elapsed());
                open = session.open_joints().iter().fold(open, |m, o| m.max(o.0));
            }
            times.sort_unstable();
            let us = |time: Duration| time.as_secs_f64() * 1e6;
            println!(
                "{} {tier:?}, limit {:>5} us: median {:7.1} us, 9 of 10 below {:7.1} us, joints open {:.1e} of a link; \
                 begin {:.0} us",
                if held { "torn" } else { "keyed" },
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
