//! A keyed file in, the same file with a new clip out.

use super::contact_file::{check_contacts, contact_file};
use super::{
    ClipNames, JobError, LoadedSetup, Outcome, Progress, Report, SetupSource, Stage, load_setup_with,
    simulate,
};
use crate::document::Document;
use crate::files::{Staging, check_place};
use crate::gltf::ReadOptions;
use crate::usd::{self, Destination};
use sinew_core::motion::Motion;
use sinew_core::scene::Scene;
use sinew_core::setup::{BakedKeys, BakedLayer, HardKey, Impulse, Preset, Root, Setup, Wish};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What to bake, and how. What is `None` or false is left to the set-up.
#[derive(Clone, Debug, Default)]
pub struct BakeRequest {
    /// The scene.
    pub scene: PathBuf,
    /// Where the result goes. Default: [`default_output`].
    pub output: Option<PathBuf>,
    /// Where the set-up comes from.
    pub setup: SetupSource,
    /// The clip that guides.
    pub clip: Option<String>,
    /// Name of the new clip.
    pub name: Option<String>,
    /// Put the new clip in the place of the one of its name, or of the source.
    pub replace: bool,
    /// Allow the output to be the scene's own file.
    pub in_place: bool,
    /// USD: everything in one layer, instead of a new layer over the scene.
    pub flatten: bool,
    /// USD: few keys as splines, instead of a sample at every frame.
    pub splines: bool,
    /// What is known of figures, for a set-up that is made from the keys.
    pub wish: Wish,
    /// Preset for every actuator.
    pub preset: Option<Preset>,
    /// Who holds figures up.
    pub root: Option<Root>,
    /// How many of the limbs are simulated, 0 to 1.
    pub detail: Option<f64>,
    /// Threads to simulate on.
    pub threads: Option<usize>,
    /// First and last frame.
    pub frames: Option<[f64; 2]>,
    /// Which keys the bake has.
    pub keys: Option<BakedKeys>,
    /// Largest distance of fitted keys from the simulation, scene units.
    pub tolerance: Option<f64>,
    /// The same for rotations, degrees.
    pub tolerance_deg: Option<f64>,
    /// Make a seamless cycle of it.
    pub looped: bool,
    /// Nodes and groups that get new curves; empty for what the set-up says.
    pub only: Vec<String>,
    /// The whole motion, its difference to the keys, or both.
    pub layer: Option<BakedLayer>,
    /// How loose everything is, 0 to 1, whatever the preset.
    pub looseness: Option<f64>,
    /// Blows without an object, besides those of the set-up.
    pub hits: Vec<Impulse>,
    /// Frames whose pose must be hit, besides those of the set-up.
    pub hard_keys: Vec<f64>,
    /// Hold every pose for so many frames.
    pub every: Option<u32>,
    /// Frame from which on all stays as it is.
    pub hold: Option<f64>,
    /// Where a picture of the bake goes, as SVG. Default: nowhere.
    pub plot: Option<PathBuf>,
    /// Where a picture of it in motion goes, its keys behind it, as SVG that plays. Default: nowhere.
    pub playblast: Option<PathBuf>,
    /// Where every point of contact goes, frame by frame, as JSON. Default: nowhere.
    pub contacts: Option<PathBuf>,
    /// Simulate a second time with uneven substeps (or even ones, where the set-up has uneven ones), report how
    /// far apart the two are, and show both in the picture.
    pub compare_steps: bool,
    /// How to read the scene.
    pub read: ReadOptions,
}

impl BakeRequest {
    /// Puts what the request says over what the set-up says. The clip is [`load_setup_with`]'s to choose.
    pub fn overrule(&self, setup: &mut Setup) {
        if let Some(preset) = self.preset {
            setup.use_preset(preset);
        }
        if let Some(looseness) = self.looseness {
            setup.use_looseness(looseness);
        }
        setup.hits.extend_from_slice(&self.hits);
        setup.hard_keys.extend(self.hard_keys.iter().map(|frame| HardKey { frame: *frame, of: Vec::new() }));
        setup.world.detail = self.detail.unwrap_or(setup.world.detail);
        setup.world.solver.threads = self.threads.or(setup.world.solver.threads);
        setup.bake.name = self.name.clone().or(setup.bake.name.take());
        setup.bake.frames = self.frames.or(setup.bake.frames);
        setup.bake.tolerance = self.tolerance.or(setup.bake.tolerance);
        setup.bake.keys = self.keys.unwrap_or(setup.bake.keys);
        setup.bake.tolerance_deg = self.tolerance_deg.or(setup.bake.tolerance_deg);
        setup.bake.looped |= self.looped;
        if !self.only.is_empty() {
            setup.bake.only.clone_from(&self.only);
        }
        setup.bake.layer = self.layer.unwrap_or(setup.bake.layer);
        setup.bake.every = self.every.or(setup.bake.every);
        setup.bake.hold = self.hold.or(setup.bake.hold);
    }
}

/// `ball.gltf` becomes `ball.sinew.gltf` beside it, and `shot.usdc`, as any USD, a layer `shot.sinew.usda`.
pub fn default_output(scene: &Path) -> PathBuf {
    if usd::is_usd(scene) {
        return scene.with_extension("sinew.usda");
    }
    let extension = scene.extension().map_or("glb".into(), |e| e.to_string_lossy().into_owned());
    scene.with_extension(format!("sinew.{extension}"))
}

/// Whether a file's name is that of a scene.
pub fn is_scene(file: &Path) -> bool {
    let ending = file.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    matches!(ending.as_deref(), Some("gltf" | "glb" | "usd" | "usda" | "usdc" | "usdz"))
}

/// Refuses a name that says no format, before any work is done.
pub(super) fn check_output(output: &Path) -> Result<(), JobError> {
    if is_scene(output) {
        return Ok(());
    }
    Err(JobError::Use(format!(
        "{} must end in .gltf, .glb, .usda, .usdc, .usd or .usdz, which chooses the format",
        output.display()
    )))
}

/// Refuses a picture under a name of something else: it must not take the place of a scene.
pub(super) fn check_plot(plot: Option<&Path>) -> Result<(), JobError> {
    match plot {
        Some(plot) if plot.extension().is_none_or(|e| e != "svg") => Err(JobError::Use(format!(
            "a picture is an .svg file; give it another name than {}, such as {}",
            plot.display(),
            plot.with_extension("svg").display()
        ))),
        _ => Ok(()),
    }
}

/// Opens, simulates, bakes and saves. `progress` returns whether to go on; a cancelled job writes nothing.
pub fn bake_file(
    request: &BakeRequest,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, JobError> {
    let output = request.output.clone().unwrap_or_else(|| default_output(&request.scene));
    if !request.in_place && same_file(&output, &request.scene) {
        return Err(JobError::Use(format!(
            "{} is the scene itself; give another name with -o, or --in-place to overwrite it",
            output.display()
        )));
    }
    check_output(&output)?;
    check_plot(request.plot.as_deref())?;
    check_plot(request.playblast.as_deref())?;
    check_contacts(request.contacts.as_deref(), &request.scene, &request.setup)?;
    let beside = [&request.plot, &request.playblast, &request.contacts];
    check_places(std::iter::once(&output).chain(beside.into_iter().flatten()))?;
    if !progress(Progress::begin(Stage::Open)) {
        return Err(JobError::Cancelled);
    }
    let began = Instant::now();
    let mut document = Document::open(&request.scene, &request.read)?;
    let LoadedSetup { mut setup, name: setup_name, warnings } =
        load_setup_with(&request.scene, &document, &request.setup, request.clip.as_deref(), &request.wish)?;
    let open_s = began.elapsed().as_secs_f64();

    request.overrule(&mut setup);
    if request.root.is_some_and(|root| !setup.use_root(root)) {
        let why = format!(
            "{setup_name} has no group \"root\", which says how firmly figures are held; name one that their first bones are in, or drop \"root\""
        );
        return Err(JobError::Use(why));
    }
    let to_usd = usd::is_usd(&output);
    if request.splines && !(to_usd && matches!(document, Document::Usd(_))) {
        return Err(JobError::Use("splines are for scenes from USD, written as USD".into()));
    }
    if to_usd {
        // USD has no cubics: a sample at every frame is exact there, and few keys would not be.
        setup.bake.keys = BakedKeys::EveryFrame;
        if setup.bake.layer != BakedLayer::Full {
            return Err(JobError::Use(
                "USD has no clips to be added to keys: bake the whole motion, which is a layer that can be muted".into(),
            ));
        }
    }
    if let Some([first, _]) = setup.bake.frames.filter(|f| f[0] < 0.0 && !to_usd) {
        return Err(JobError::Use(format!(
            "the range starts at frame {first}, but glTF has no time before 0; start at 0"
        )));
    }
    let mut outcome =
        simulate(document.scene(), &setup, &setup_name, document.is_single() && !to_usd, progress)?;
    if request.detail.is_some_and(|d| d < 1.0) {
        let wanted = setup.bodies.iter().filter(|b| b.behaviour.simulated()).count();
        if outcome.compiled.rig.solids.len() >= wanted {
            outcome.report.warnings.push(
                "--detail left nothing out: only limbs with a mass of their own that end a chain can be left to their keys, and not if they are pinned, released or held by something else"
                    .into(),
            );
        }
    }
    let other_steps = match request.compare_steps {
        true => Some(other_steps(document.scene(), &setup, &setup_name, progress)?),
        false => None,
    };
    let (chosen, wish) = (setup.bake.name.is_some(), outcome.name.clone());
    let names = ClipNames::choose(document.scene(), &outcome, &wish, chosen, request.replace);
    let names = names.map_err(|taken| {
        JobError::Use(format!(
            "the scene already has a clip \"{taken}\"; give another --name, or --replace to put the new one in its place"
        ))
    })?;

    if !progress(Progress::begin(Stage::Save)) {
        return Err(JobError::Cancelled);
    }
    let began = Instant::now();
    if let (true, Document::Usd(document)) = (request.splines, &mut document) {
        document.use_splines(tolerances(&outcome, &setup));
    }
    let shown = names.add(&mut document, &outcome, request.replace)?;
    let how = match (request.in_place, request.flatten) {
        (true, _) => Destination::InPlace,
        (false, true) => Destination::Flat,
        (false, false) => Destination::Layer,
    };
    let mut staging = Staging::default();
    let title = format!("{}: {}", document.scene().name, names.shown());
    if let Some(file) = &request.playblast {
        let picture = crate::plot::draw_playblast(&title, &outcome.compiled.rig, &outcome.motion);
        staging.write(file, picture.as_bytes())?;
    }
    if let Some(plot) = &request.plot {
        let also = other_steps
            .as_ref()
            .map(|m| (if setup.world.uneven_substeps { "even substeps" } else { "uneven substeps" }, m));
        let picture = crate::plot::draw(&title, &outcome.compiled.rig, &outcome.motion, also);
        staging.write(plot, picture.as_bytes())?;
    }
    if let Some(file) = &request.contacts {
        let strikes = &outcome.report.contacts.strikes;
        let text = contact_file(&outcome.compiled.rig, &outcome.motion, strikes)
            .map_err(|e| JobError::Io { file: file.clone(), error: e.into() })?;
        staging.write(file, text.as_bytes())?;
    }
    // The scene comes last: whoever sees it finds what goes with it.
    let saved = document.stage(&output, how, Some(shown), &mut staging)?;
    if !progress(Progress { stage: Stage::Save, done: 1, of: 1 }) {
        return Err(JobError::Cancelled);
    }
    staging.commit()?;
    if !saved.splined.is_empty() {
        // A spline has as many keys as it needs; what has none is as it was baked.
        let others =
            outcome.baked.channels.iter().filter(|c| !saved.splined.iter().any(|(node, _)| *node == c.node));
        outcome.report.keys = saved.spline_keys + others.map(|c| c.curve.times().len()).sum::<usize>();
        for (_, off) in &saved.splined {
            outcome.report.max_fit_error = outcome.report.max_fit_error.max(off.place);
            outcome.report.max_fit_error_deg = outcome.report.max_fit_error_deg.max(off.degrees);
        }
    }
    let report = &mut outcome.report;
    report.timings.open_s = open_s;
    report.timings.save_s = began.elapsed().as_secs_f64();
    names.shown().clone_into(&mut report.name);
    report.additive = names.additive;
    report.scene = request.scene.display().to_string();
    report.output = Some(output.display().to_string());
    report.plot = request.plot.as_ref().map(|p| p.display().to_string());
    report.playblast = request.playblast.as_ref().map(|p| p.display().to_string());
    report.contacts_file = request.contacts.as_ref().map(|p| p.display().to_string());
    report.steps_apart = other_steps.as_ref().map(|other| farthest_apart(&outcome.motion, other));
    report.warnings.splice(0..0, document.warnings().iter().cloned().chain(warnings));
    report.warnings.extend(saved.remarks);
    Ok(outcome.report)
}

/// Refuses places that cannot be written, before any work is done. One's own scene may be behind a link.
pub(super) fn check_places<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<(), JobError> {
    for file in files {
        check_place(file)?;
        check_place(&file.canonicalize().unwrap_or_else(|_| file.clone()))?;
    }
    Ok(())
}

/// How near keys must be to what was simulated, by node, where they are fitted after baking.
fn tolerances(outcome: &Outcome, setup: &Setup) -> HashMap<usize, usd::Tolerance> {
    let rig = &outcome.compiled.rig;
    let all = sinew_core::bake::tolerances(rig, &setup.bake).into_iter().zip(&rig.solids);
    all.map(|(t, s)| (s.node, usd::Tolerance { place: t.place, degrees: t.degrees })).collect()
}

/// The same simulation with the other kind of substeps.
fn other_steps(
    scene: &Scene,
    setup: &Setup,
    setup_name: &str,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Motion, JobError> {
    let mut other = setup.clone();
    other.world.uneven_substeps = !setup.world.uneven_substeps;
    Ok(simulate(scene, &other, setup_name, true, progress)?.motion)
}

/// The largest distance between two motions of the same bodies at a frame that both have, scene units.
fn farthest_apart(a: &Motion, b: &Motion) -> f64 {
    let frames = (0..a.frames().min(b.frames())).flat_map(|f| a.frame(f).iter().zip(b.frame(f)));
    frames.map(|(a, b)| (a.node.position - b.node.position).length()).fold(0.0, f64::max)
}

pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
