//! A broken or roughly posed file in, the same file put together by its joints out.

use super::bake_file::{check_output, check_places, check_plot, same_file};
use super::clip_names::free_clip_name;
use super::{JobError, LoadedSetup, Progress, SetupSource, Stage, Status, default_output, load_setup};
use crate::document::Document;
use crate::files::Staging;
use crate::gltf::{ClipToAdd, ReadOptions};
use crate::usd::{self, Destination};
use serde::Serialize;
use sinew_core::assemble::{Ending, Goal};
use sinew_core::bake;
use sinew_core::joint::openings;
use sinew_core::rig::{Rig, Setting, Value, compile};
use sinew_core::rotation;
use sinew_core::setup::{BakedKeys, Setup, SetupError, choose_clip};
use sinew_core::simulate::{Together, together};
use std::path::PathBuf;

/// What to put together, and how.
#[derive(Clone, Debug, Default)]
pub struct AssembleRequest {
    /// The scene.
    pub scene: PathBuf,
    /// Where the result goes. Default: [`default_output`].
    pub output: Option<PathBuf>,
    /// Where the set-up comes from.
    pub setup: SetupSource,
    /// The clip that is put together.
    pub clip: Option<String>,
    /// Name of the new clip.
    pub name: Option<String>,
    /// Change the nodes' own transforms, even if there is a clip.
    pub pose: bool,
    /// Find the nearest pose. Clips always get it: what lies nearest to smooth keys is smooth.
    pub nearest: bool,
    /// Where to draw what was done, if at all.
    pub plot: Option<PathBuf>,
    /// How to read the scene.
    pub read: ReadOptions,
}

/// What an assembly did.
#[derive(Clone, Debug, Serialize)]
pub struct AssemblyReport {
    /// How it ended.
    pub status: Status,
    /// Version of the program.
    pub version: &'static str,
    /// The scene's file.
    pub scene: String,
    /// Where the set-up came from.
    pub setup: String,
    /// The clip that was put together; `None` for a pose.
    pub clip: Option<String>,
    /// The clip that was made; `None` for a pose.
    pub name: Option<String>,
    /// Where it was written.
    pub output: String,
    /// Where the picture was written, if it was.
    pub plot: Option<String>,
    /// Frames put together.
    pub frames: usize,
    /// Frames at which joints contradict each other.
    pub open_frames: usize,
    /// Rounds of the solver in all.
    pub rounds: usize,
    /// Per body.
    pub bodies: Vec<BodyMoved>,
    /// Per joint.
    pub joints: Vec<JointClosed>,
    /// Keys written; 0 for a pose.
    pub keys: usize,
    /// What is worth knowing.
    pub warnings: Vec<String>,
}

/// How far one body was moved.
#[derive(Clone, Debug, Serialize)]
pub struct BodyMoved {
    /// The node, as a set-up calls it.
    pub node: String,
    /// Farthest from where the scene has it, scene units.
    pub max_moved: f64,
    /// The same for its orientation, degrees.
    pub max_turned_deg: f64,
}

/// How far one joint was open, and is.
#[derive(Clone, Debug, Serialize)]
pub struct JointClosed {
    /// Its name.
    pub name: String,
    /// Largest opening of any frame before, scene units.
    pub opening_before: f64,
    /// Largest angle before, degrees.
    pub angle_before_deg: f64,
    /// Largest opening left, scene units.
    pub max_opening: f64,
    /// Largest angle left, degrees.
    pub max_angle_deg: f64,
}

/// Joints that stay open by more than this share of the largest body, or this angle (rad), are named.
const OPEN: f64 = 1e-6;

/// Openings below this share of the largest body are closed.
const CLOSED: f64 = 1e-9;

/// Opens, assembles and saves. `progress` returns whether to go on; a cancelled job writes nothing.
pub fn assemble_file(
    request: &AssembleRequest,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<AssemblyReport, JobError> {
    let output = request.output.clone().unwrap_or_else(|| default_output(&request.scene));
    if same_file(&output, &request.scene) {
        let output = output.display();
        return Err(JobError::Use(format!("{output} is the scene itself; give another name with -o")));
    }
    check_output(&output)?;
    check_plot(request.plot.as_deref())?;
    check_places(std::iter::once(&output).chain(&request.plot))?;
    let mut tell = |p: Progress| if progress(p) { Ok(()) } else { Err(JobError::Cancelled) };
    tell(Progress::begin(Stage::Open))?;
    let mut document = Document::open(&request.scene, &request.read)?;
    let LoadedSetup { mut setup, name: setup_name, warnings: of_setup } =
        load_setup(&request.scene, &document, &request.setup, request.clip.as_deref())?;
    let bad = |error: SetupError| JobError::Setup { file: setup_name.clone(), error };
    if usd::is_usd(&output) {
        setup.bake.keys = BakedKeys::EveryFrame;
    }

    tell(Progress::begin(Stage::Compile))?;
    let chosen = match request.pose {
        true => None,
        false => choose_clip(document.scene(), setup.clip.as_deref()).map_err(bad)?,
    };
    if chosen.is_none() {
        setup.bake.frames = Some([0.0, 0.0]);
    }
    let clip = chosen.map(|c| c.1);
    let compiled = compile(document.scene(), &setup, clip).map_err(bad)?;
    let mut rig = compiled.rig;
    if rig.joints.is_empty() {
        let why = "there are none, so nothing holds the scene together; add joints to the set-up file";
        return Err(bad(SetupError::new("joints", why)));
    }
    show_all(&mut rig);
    let size = rig.solids.iter().fold(0.0_f64, |m, s| m.max(s.radius));
    let nearest = request.nearest || clip.is_some();
    let goal = Goal { opening: (CLOSED * size).max(1e-300), nearest, ..Goal::default() };
    let done = together(&rig, &goal, |done, of| tell(Progress { stage: Stage::Simulate, done, of }).is_ok())
        .ok_or(JobError::Cancelled)?;

    tell(Progress::begin(Stage::Bake))?;
    let mut warnings = document.warnings().to_vec();
    warnings.extend(of_setup.into_iter().chain(compiled.warnings));
    let fell_short = notice(&rig, &done, size, &mut warnings);
    let near = done.endings.iter().filter(|e| nearest && **e == Ending::Closed).count();
    if near > 0 {
        let of = done.endings.len();
        warnings.push(format!(
            "at {near} of {of} frames the joints are closed, but perhaps not at the nearest pose"
        ));
    }
    let mut report = AssemblyReport {
        status: if fell_short { Status::FellShort } else { Status::Done },
        version: env!("CARGO_PKG_VERSION"),
        scene: request.scene.display().to_string(),
        setup: setup_name.clone(),
        clip: chosen.map(|(i, c)| if c.name.is_empty() { format!("#{i}") } else { c.name.clone() }),
        name: None,
        output: output.display().to_string(),
        plot: request.plot.as_ref().map(|p| p.display().to_string()),
        frames: done.motion.frames(),
        open_frames: done.endings.iter().filter(|e| is_open(**e)).count(),
        rounds: done.rounds,
        bodies: bodies(&rig, &done),
        joints: joints(&rig, &done),
        keys: 0,
        warnings,
    };
    match chosen {
        None => {
            let pose = bake::pose(document.scene(), &rig, &done.motion)?;
            let pose: Vec<_> = pose.into_iter().map(|(n, c)| (n, c.translation, c.rotation)).collect();
            document.set_pose(&pose)?;
        }
        Some((source, clip)) => {
            let name = clip_name(request, &setup, &document, &clip.name)?;
            let baked = bake::bake(
                document.scene(),
                Some(clip),
                &rig,
                &done.motion,
                &setup.bake,
                document.is_single(),
            )?;
            let channels = &baked.channels;
            document.add_clip(&ClipToAdd { name: &name, source: Some(source), replace: false, channels })?;
            (report.name, report.keys) = (Some(name), baked.keys);
        }
    }
    tell(Progress::begin(Stage::Save))?;
    let mut staging = Staging::default();
    if let Some(plot) = &request.plot {
        let what = report.name.as_deref().unwrap_or("assembled");
        let title = format!("{}: {what}", document.scene().name);
        let picture = crate::plot::draw_assembly(&title, &rig, &done.motion);
        staging.write(plot, picture.as_bytes())?;
    }
    report.warnings.extend(document.stage(&output, Destination::Layer, None, &mut staging)?.remarks);
    tell(Progress { stage: Stage::Save, done: 1, of: 1 })?;
    staging.commit()?;
    Ok(report)
}

/// A share of physics below one would mix the broken keys back in.
fn show_all(rig: &mut Rig) {
    (0..rig.solids.len()).for_each(|i| rig.set(i, Setting::Blend, 1.0));
    rig.groups.iter_mut().for_each(|g| g.blend = Value::constant(1.0));
}

fn clip_name(
    request: &AssembleRequest,
    setup: &Setup,
    document: &Document,
    source: &str,
) -> Result<String, JobError> {
    let chosen = request.name.as_ref().or(setup.bake.name.as_ref());
    let name = match (chosen, source) {
        (Some(name), _) => name.clone(),
        (None, "") => "assembled".into(),
        (None, source) => format!("{source} (assembled)"),
    };
    free_clip_name(document.scene(), &name, chosen.is_some(), false)
        .ok_or_else(|| JobError::Use(format!("the scene already has a clip \"{name}\"; give another --name")))
}

fn is_open(ending: Ending) -> bool {
    matches!(ending, Ending::LeastSquares | Ending::GaveUp)
}

/// Adds what fell short to the warnings; whether anything did.
fn notice(rig: &Rig, done: &Together, size: f64, warnings: &mut Vec<String>) -> bool {
    let fight: Vec<String> = joints(rig, done)
        .iter()
        .filter(|j| j.max_opening > OPEN * size || j.max_angle_deg > OPEN.to_degrees())
        .map(|j| format!("\"{}\" by {:.6} and {:.3} deg", j.name, j.max_opening, j.max_angle_deg))
        .collect();
    if !fight.is_empty() {
        warnings.push(format!(
            "joints contradict each other and share what stays open: {}; check lengths, or let a body in between move",
            fight.join(", ")
        ));
    }
    let lost = done.endings.iter().position(|e| *e == Ending::GaveUp);
    if let Some(frame) = lost {
        warnings.push(format!(
            "at frame {} no pose was found at which the openings are least; pose it closer to how it shall be",
            rig.range.first + frame as f64
        ));
    }
    !fight.is_empty() || lost.is_some()
}

fn bodies(rig: &Rig, done: &Together) -> Vec<BodyMoved> {
    let one = |i: usize| {
        let mut body = BodyMoved { node: rig.solids[i].name.clone(), max_moved: 0.0, max_turned_deg: 0.0 };
        for s in done.motion.solid(i) {
            let moved = (s.node.position - s.keys.position).length();
            let turned = rotation::distance(s.node.rotation, s.keys.rotation).to_degrees();
            body.max_moved = body.max_moved.max(moved);
            body.max_turned_deg = body.max_turned_deg.max(turned);
        }
        body
    };
    (0..rig.solids.len()).map(one).collect()
}

fn joints(rig: &Rig, done: &Together) -> Vec<JointClosed> {
    let before = openings(&rig.joints, &done.open_before);
    let after = openings(&rig.joints, done.motion.open_joints());
    before
        .into_iter()
        .zip(after)
        .map(|(before, after)| JointClosed {
            name: before.name,
            opening_before: before.opening,
            angle_before_deg: before.angle.to_degrees(),
            max_opening: after.opening,
            max_angle_deg: after.angle.to_degrees(),
        })
        .collect()
}
