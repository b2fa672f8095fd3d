//! Measures how well other engines keep piles apart, and figures on their aims: `overlaps RESULTS`.
//!
//! Rows of results with `poses` name a file beside them that holds where the bodies were after every frame (of figures:
//! evenly over the time they take): x, y, z and the quaternion w, x, y, z of each, little-endian doubles. The rows get the
//! figures instead.

use glam::{DQuat, DVec3};
use serde_json::Value;
use sinew_benches::figure::{self, COPIES, Figures, SECONDS, Watched};
use sinew_benches::overlap::Watch;
use sinew_benches::pile::{self, Pile};
use sinew_core::scene::Placement;
use std::path::Path;
use std::process::ExitCode;

/// Doubles of a pose.
const POSE: usize = 7;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("usage: overlaps RESULTS");
        return ExitCode::from(2);
    };
    match measure(Path::new(&directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{directory}: {e}");
            ExitCode::FAILURE
        }
    }
}

fn measure(directory: &Path) -> std::io::Result<()> {
    let piles = pile::all();
    let crowds = COPIES.map(figure::figures);
    for entry in std::fs::read_dir(directory)? {
        let file = entry?.path();
        if file.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let mut rows: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        for row in rows.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            let Some(poses) = row.get("poses").and_then(Value::as_str) else { continue };
            let bytes = std::fs::read(directory.join(poses))?;
            let scene = row["scene"].as_str().unwrap_or_default();
            if let Some(pile) = piles.iter().find(|p| scene == p.name) {
                row.extend(dropped(pile, &bytes).figures().map(|(key, figure)| (key.into(), figure)));
            } else if let Some(figures) = crowds.iter().find(|f| scene.starts_with(&(f.name() + "_"))) {
                row.extend(guided(figures, &bytes).figures().map(|(key, figure)| (key.into(), figure)));
            } else {
                continue;
            }
            row.remove("poses");
        }
        std::fs::write(&file, rows.to_string())?;
    }
    Ok(())
}

/// Where the bodies were, frame after frame.
fn placements(bytes: &[u8]) -> Vec<Placement> {
    let numbers: Vec<f64> = bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let place = |p: &[f64; POSE]| Placement {
        position: DVec3::new(p[0], p[1], p[2]),
        rotation: DQuat::from_xyzw(p[4], p[5], p[6], p[3]).normalize(),
    };
    numbers.as_chunks::<POSE>().0.iter().map(place).collect()
}

fn dropped(pile: &Pile, bytes: &[u8]) -> Watch {
    let mut watch = Watch::new(pile);
    placements(bytes).chunks_exact(pile.bodies.len()).for_each(|frame| watch.see(frame));
    watch
}

fn guided(figures: &Figures, bytes: &[u8]) -> Watched {
    let mut watched = Watched::default();
    let all = placements(bytes);
    let frames = all.chunks_exact(figures.bodies.len());
    let apart = SECONDS / frames.len() as f64;
    for (k, frame) in frames.enumerate() {
        watched.see(figures, (k + 1) as f64 * apart, frame);
    }
    watched
}
