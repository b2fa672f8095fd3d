//! Characters with the set-up that Sinew makes for them, on one thread: how many times faster than real time they are
//! simulated, at 60 steps per second of motion.
//!
//! `cargo bench -p sinew-benches --bench characters -- FILE.glb ...` prints a line for every clip of every file; without
//! files there is nothing to do.

use sinew_benches::clock::timed;
use sinew_core::rig::compile;
use sinew_core::setup::automatic;
use sinew_core::simulate::{State, Workspace, step};
use sinew_plugin::gltf::{Document, ReadOptions};
use std::error::Error;
use std::path::Path;

/// Steps per second.
const RATE: f64 = 60.0;
const REPETITIONS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    for file in std::env::args().skip(1).filter(|a| !a.starts_with('-')) {
        let document = Document::open(Path::new(&file), &ReadOptions::default())?;
        let scene = document.scene();
        for (index, clip) in scene.clips.iter().enumerate() {
            let mut setup = automatic(scene, Some(&format!("#{index}")))?;
            setup.world.frames_per_second = Some(RATE);
            setup.world.substeps = 1;
            setup.world.solver.threads = Some(1);
            let rig = compile(scene, &setup, Some(clip))?.rig;
            let Some((from, to)) = clip.range() else { continue };
            let steps = ((to - from) * RATE).round().max(1.0) as usize;
            let mut least = f64::INFINITY;
            for _ in 0..REPETITIONS {
                let (mut state, mut work) = (State::new(&rig), Workspace::new(&rig));
                least = least.min(timed(|| {
                    (0..steps).for_each(|_| step(&rig, &mut state, &mut work, 1.0 / RATE));
                }));
            }
            println!(
                "{} \"{}\": {} bodies, {:.3} ms per step, {:.0} times real time{}",
                scene.name,
                clip.name,
                rig.solids.len(),
                least * 1e3 / steps as f64,
                steps as f64 / RATE / least,
                if setup.world.floor.is_some() { ", on a floor" } else { "" },
            );
        }
    }
    Ok(())
}
