//! A keyed file in, the same file with its motion refined as a new clip out.

use super::bake_file::{check_output, default_output, same_file};
use super::clip_names::free_clip_name;
use super::{JobError, LoadedSetup, SetupSource, Status, load_setup_with};
use crate::document::Document;
use crate::gltf::{ClipToAdd, ReadOptions};
use crate::usd::{self, Destination};
use serde::Serialize;
use sinew_core::bake::bake;
use sinew_core::refine::{Hit, Options, Refined, refine};
use sinew_core::rig::{Rig, compile};
use sinew_core::setup::{BakedKeys, BakedLayer, SetupError, Wish, choose_clip};
use std::path::PathBuf;
use std::time::Instant;

/// What to refine, and how.
#[derive(Clone, Debug, Default)]
pub struct RefineRequest {
    /// The scene.
    pub scene: PathBuf,
    /// Where the result goes. Default: as that of a bake.
    pub output: Option<PathBuf>,
    /// Where the set-up comes from.
    pub setup: SetupSource,
    /// The clip.
    pub clip: Option<String>,
    /// Name of the new clip.
    pub name: Option<String>,
    /// First and last frame.
    pub frames: Option<[f64; 2]>,
    /// What is known of figures, for a set-up that is made from the keys.
    pub wish: Wish,
    /// How near the keys it stays, 0 to 1; `None` for the middle.
    pub stay_close: Option<f64>,
    /// Keys that must be hit.
    pub hits: Vec<KeyToHit>,
    /// How to read the scene.
    pub read: ReadOptions,
}

/// A node that must be where its keys have it at a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyToHit {
    /// The node's name.
    pub node: String,
    /// The frame.
    pub frame: f64,
}

/// What a refinement did.
#[derive(Clone, Debug, Serialize)]
pub struct RefineReport {
    /// How it ended.
    pub status: Status,
    /// Version of the program.
    pub version: &'static str,
    /// The scene's file.
    pub scene: String,
    /// Where the set-up came from.
    pub setup: String,
    /// The clip that was refined.
    pub clip: String,
    /// The clip that was made.
    pub name: String,
    /// Where it was written.
    pub output: String,
    /// Frames per second.
    pub frames_per_second: f64,
    /// First frame.
    pub first_frame: f64,
    /// Frames refined.
    pub frames: usize,
    /// Figure by figure.
    pub figures: Vec<FigureRefined>,
    /// Keys written.
    pub keys: usize,
    /// What is worth knowing.
    pub warnings: Vec<String>,
    /// Seconds that refining took.
    pub refine_s: f64,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct FigureRefined {
    /// Its root.
    pub figure: String,
    /// `converged`, `keys_missed`, `stalled`, or `stopped` at the most iterations.
    pub ended: &'static str,
    /// Iterations taken.
    pub iterations: usize,
    /// The most that nobody pulls with in the keys, per cent of the weight.
    pub physics_before_percent: f64,
    /// The same after.
    pub physics_after_percent: f64,
    /// The same at each frame, before and after.
    pub physics_by_frame_percent: Vec<[f64; 2]>,
    /// What joints are turned by against the keys: root mean square, and the most, degrees.
    pub turned_deg: [f64; 2],
    /// The strongest muscle, per cent of its strength.
    pub strongest_percent: f64,
    /// Keys that could not be reached.
    pub keys_missed: Vec<KeyMissed>,
    /// Who is down when.
    pub stances: Vec<StanceFound>,
    /// How fast the ground was taken to go by, units/s, of a figure that walks on the spot.
    pub ground_speed: Option<f64>,
}

/// A key that could not be reached.
#[derive(Clone, Debug, Serialize)]
pub struct KeyMissed {
    /// The node.
    pub node: String,
    /// The frame.
    pub frame: f64,
    /// How far it is missed, scene units.
    pub by: f64,
}

/// A node that bears on the ground for a time.
#[derive(Clone, Debug, Serialize)]
pub struct StanceFound {
    /// The node.
    pub node: String,
    /// First and last frame.
    pub frames: [f64; 2],
}

/// Opens, refines, bakes and saves. Where it did not converge the best motion is written, and the status says so.
pub fn refine_file(request: &RefineRequest) -> Result<RefineReport, JobError> {
    let output = request.output.clone().unwrap_or_else(|| default_output(&request.scene));
    if same_file(&output, &request.scene) {
        let why = format!("{} is the scene itself; give another name with -o", output.display());
        return Err(JobError::Use(why));
    }
    check_output(&output)?;
    let mut document = Document::open(&request.scene, &request.read)?;
    let LoadedSetup { mut setup, name: setup_name, mut warnings } =
        load_setup_with(&request.scene, &document, &request.setup, request.clip.as_deref(), &request.wish)?;
    let bad = |error: SetupError| JobError::Setup { file: setup_name.clone(), error };
    setup.bake.frames = request.frames.or(setup.bake.frames);
    setup.bake.name = request.name.clone().or(setup.bake.name.take());
    setup.bake.layer = BakedLayer::Full;
    setup.bake.looped = false;
    if usd::is_usd(&output) {
        // As in a bake: USD has no cubics.
        setup.bake.keys = BakedKeys::EveryFrame;
    }
    let scene = document.scene();
    let clip = choose_clip(scene, setup.clip.as_deref()).map_err(bad)?;
    let (source, clip) = (clip.map(|c| c.0), clip.map(|c| c.1));
    let compiled = compile(scene, &setup, clip).map_err(bad)?;
    let rig = &compiled.rig;
    let hits = request.hits.iter().map(|h| hit(rig, h)).collect::<Result<Vec<_>, _>>()?;
    let mut options = Options { hits, ..Options::default() };
    options.stay_close = request.stay_close.unwrap_or(options.stay_close);
    let began = Instant::now();
    let shot =
        refine(rig, &options, &mut |_| true).map_err(|e| bad(SetupError::new("refine", e.to_string())))?;
    let refine_s = began.elapsed().as_secs_f64();
    warnings.extend(compiled.warnings.iter().cloned());
    let figures: Vec<FigureRefined> = shot.figures.iter().map(|f| figure(rig, f, &options)).collect();
    let mut fell_short = false;
    for (found, figure) in shot.figures.iter().zip(&figures) {
        fell_short |= figure.ended != "converged";
        warnings.extend(remarks(found, figure));
    }
    let single = document.is_single() && !usd::is_usd(&output);
    let baked = bake(scene, clip, rig, &shot.motion, &setup.bake, single)?;
    let clip_name = clip.map_or(String::new(), |c| c.name.clone());
    let wish = setup.bake.name.clone().unwrap_or_else(|| match clip_name.as_str() {
        "" => "Refined".to_string(),
        name => format!("{name} (refined)"),
    });
    let name = free_clip_name(scene, &wish, setup.bake.name.is_some(), false).ok_or_else(|| {
        JobError::Use(format!("the scene already has a clip \"{wish}\"; give another --name"))
    })?;
    let (first_frame, frames, rate) = (rig.range.first, shot.motion.frames(), rig.range.frames_per_second);
    let index =
        document.add_clip(&ClipToAdd { name: &name, source, replace: false, channels: &baked.channels })?;
    let saved = document.save(&output, Destination::Layer, Some(index))?;
    warnings.extend(document.warnings().iter().cloned().chain(saved.remarks));
    Ok(RefineReport {
        status: if fell_short { Status::FellShort } else { Status::Done },
        version: env!("CARGO_PKG_VERSION"),
        scene: request.scene.display().to_string(),
        setup: setup_name,
        clip: clip_name,
        name,
        output: output.display().to_string(),
        frames_per_second: rate,
        first_frame,
        frames,
        figures,
        keys: baked.keys,
        warnings,
        refine_s,
    })
}

/// The body of a key that must be hit.
fn hit(rig: &Rig, wanted: &KeyToHit) -> Result<Hit, JobError> {
    let solid = rig.solids.iter().position(|s| s.name == wanted.node).ok_or_else(|| {
        let names: Vec<&str> = rig.solids.iter().map(|s| s.name.as_str()).collect();
        JobError::Use(format!(
            "no simulated body is called \"{}\"; there are {}",
            wanted.node,
            names.join(", ")
        ))
    })?;
    if !(rig.range.first..=rig.range.last).contains(&wanted.frame) {
        return Err(JobError::Use(format!(
            "frame {} of {} is not refined; give one from {} to {}",
            wanted.frame, wanted.node, rig.range.first, rig.range.last
        )));
    }
    Ok(Hit { solid, time: wanted.frame / rig.range.frames_per_second, to: None })
}

fn figure(rig: &Rig, found: &Refined, options: &Options) -> FigureRefined {
    use sinew_core::refine::Status as Ended;
    let frame = |knot: usize| rig.range.first + knot as f64 / found.knots_per_frame as f64;
    let most = |v: &[f64]| 100.0 * v.iter().fold(0.0_f64, |m, x| m.max(*x));
    let by_frame = |v: &[f64]| -> Vec<f64> {
        let around = |k: usize| {
            let half = found.knots_per_frame / 2;
            most(&v[k.saturating_sub(half)..(k + half + 1).min(v.len())])
        };
        (0..v.len()).step_by(found.knots_per_frame).map(around).collect()
    };
    let (before, after) = (by_frame(&found.before), by_frame(&found.after));
    let missed = match &found.status {
        Ended::KeysMissed(missed) => missed.as_slice(),
        _ => &[],
    };
    FigureRefined {
        figure: found.figure.clone(),
        ended: match &found.status {
            Ended::Converged => "converged",
            Ended::KeysMissed(_) => "keys_missed",
            Ended::Stalled => "stalled",
            Ended::Running => "stopped",
        },
        iterations: found.iterations.len(),
        physics_before_percent: most(&found.before),
        physics_after_percent: most(&found.after),
        physics_by_frame_percent: before.into_iter().zip(after).map(|(a, b)| [a, b]).collect(),
        turned_deg: [found.change.0.to_degrees(), found.change.1.to_degrees()],
        strongest_percent: 100.0 * found.strongest,
        keys_missed: missed
            .iter()
            .map(|&(key, by)| {
                let hit = &options.hits[found.hits[key]];
                let frame = hit.time * rig.range.frames_per_second;
                KeyMissed { node: rig.solids[hit.solid].name.clone(), frame, by }
            })
            .collect(),
        stances: found
            .stances
            .iter()
            .map(|s| StanceFound { node: rig.solids[s.solid].name.clone(), frames: s.knots.map(frame) })
            .collect(),
        ground_speed: found.on_the_spot.map(|g| g.length()),
    }
}

/// What fell short, and what is odd about the keys, in words.
fn remarks(found: &Refined, figure: &FigureRefined) -> Vec<String> {
    let mut said = Vec::new();
    if matches!(figure.ended, "stalled" | "stopped") {
        said.push(format!(
            "{} did not converge: after {} iterations physics is off by {:.2} % of its weight; the best motion was kept; fewer frames, or a higher --stay-close, may help",
            figure.figure, figure.iterations, figure.physics_after_percent
        ));
    }
    for key in &figure.keys_missed {
        said.push(format!(
            "key {:.0} of {} cannot be reached: {:.4} units short; a stronger limb, or more time, would",
            key.frame, key.node, key.by
        ));
    }
    if let Some((off, time)) = found.flight {
        said.push(format!(
            "{} rises {off:.3} units more in a flight than its time allows; the keys need {time:.1} times the time",
            figure.figure
        ));
    }
    said
}
