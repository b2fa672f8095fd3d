//! A scene in memory and a set-up: compile, simulate, bake.

use super::limits::Limits;
use super::{JobError, JointReport, LoopReport, Progress, Report, Stage, Status, Timings};
use sinew_core::bake::{Baked, Deformation, bake_while, deformations};
use sinew_core::cycle::{self, Gap};
use sinew_core::joint::openings;
use sinew_core::motion::{Fault, Motion, faults, halvings, report, touching};
use sinew_core::rig::{Compiled, Rig, compile};
use sinew_core::rotation;
use sinew_core::scene::{Clip, Property, Scene};
use sinew_core::setup::{Setup, SetupError, choose_clip};
use sinew_core::simulate::{End, run};
use std::time::Instant;

/// What came out of a simulation.
#[derive(Debug)]
pub struct Outcome {
    /// The clip that guided.
    pub source: Option<usize>,
    /// Name for the new clip: as the set-up says, or the source's with " (Sinew)".
    pub name: String,
    /// The compiled rig.
    pub compiled: Compiled,
    /// Every frame.
    pub motion: Motion,
    /// Curves for the host.
    pub baked: Baked,
    /// Shapes of soft bodies.
    pub deformations: Vec<Deformation>,
    /// What happened; output and the timings of reading and writing are the caller's to fill in.
    pub report: Report,
}

/// Compiles, simulates and bakes. `setup_name` is what messages call the set-up. `single`: curves will be stored
/// as f32. `progress` returns whether to go on.
pub fn simulate(
    scene: &Scene,
    setup: &Setup,
    setup_name: &str,
    single: bool,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, JobError> {
    let bad = |error: SetupError| JobError::Setup { file: setup_name.to_string(), error };
    let limits = Limits::now();
    let mut tell = |p: Progress| match limits.is_late() {
        true => Err(limits.late()),
        false if progress(p) => Ok(()),
        false => Err(JobError::Cancelled),
    };
    let mut timings = Timings::default();

    tell(Progress::begin(Stage::Compile))?;
    let began = Instant::now();
    let clip = choose_clip(scene, setup.clip.as_deref()).map_err(bad)?;
    let (source, clip) = (clip.map(|c| c.0), clip.map(|c| c.1));
    let compiled = compile(scene, setup, clip).map_err(bad)?;
    let rig = &compiled.rig;
    let mut warnings = compiled.warnings.clone();
    if rig.solids.is_empty() {
        let why = match setup.bodies.is_empty() {
            true => {
                "there is nothing to simulate: no body is named, and nothing moves in the clip; add bodies (see `sinew setup`)"
            }
            false => {
                "every body is \"animated\", so there is nothing to simulate; make one \"guided\" or \"free\""
            }
        };
        return Err(bad(SetupError::new("bodies", why)));
    }
    timings.compile_s = began.elapsed().as_secs_f64();
    limits.check(rig).map_err(bad)?;

    let began = Instant::now();
    let mut played = play(rig, &mut tell)?;
    let mut compiled = compiled;
    let mut steps = None;
    for finer in FINER {
        if played.faults.is_empty() {
            break;
        }
        // What went wrong is simulated again with shorter steps, and what came out best is kept.
        let Some(again) = more_steps(setup, &compiled.rig, finer) else { break };
        let refined = compile(scene, &again, clip).map_err(bad)?;
        let other = play(&refined.rig, &mut tell)?;
        if worst(&other.faults) < worst(&played.faults) {
            (played, compiled, steps) = (other, refined, again.world.steps_per_second);
        }
    }
    let rig = &compiled.rig;
    if let Some(steps) = steps {
        warnings.push(format!(
            "simulated again at {steps} steps per second, because the first try went wrong; set world.steps_per_second to keep that"
        ));
    }
    let Played { motion, end, turn, faults } = played;
    timings.simulate_s = began.elapsed().as_secs_f64();

    tell(Progress::begin(Stage::Bake))?;
    let began = Instant::now();
    let mut stopped = None;
    let baked = bake_while(scene, clip, rig, &motion, (&setup.bake, single), &mut || {
        stopped = tell(Progress::begin(Stage::Bake)).err();
        stopped.is_none()
    });
    if let Some(why) = stopped {
        return Err(why);
    }
    let baked = baked?;
    let deformations = deformations(scene, clip, rig, &motion, &setup.bake);
    timings.bake_s = began.elapsed().as_secs_f64();

    let bodies = report(rig, &motion);
    let mut fell_short = notice(rig, &motion, end, &mut warnings);
    fell_short |= !faults.is_empty();
    warnings.extend(faults.iter().map(|f| f.text(rig.range.first)));
    let looped = turn.zip(baked.seam.clone()).map(|((turns, first, before, repeats), after)| {
        if !repeats {
            fell_short = true;
            warnings.push(restless(turns, &before));
        }
        LoopReport { turns, first, before, after }
    });
    if let Some((node, degrees)) = clip.filter(|_| setup.bake.looped).and_then(|c| cut(c, rig)) {
        fell_short = true;
        warnings.push(format!(
            "this clip is no cycle: {} ends {degrees:.0} deg from where it begins, so that the loop has a cut; bake it without --loop, or give the frames of a cycle",
            scene.label(node)
        ));
    }
    let clip_name = clip.map_or(String::new(), |c| c.name.clone());
    let name = setup.bake.name.clone().unwrap_or_else(|| match clip_name.as_str() {
        "" => "Sinew".to_string(),
        name => format!("{name} (Sinew)"),
    });
    let report = Report {
        status: if fell_short { Status::FellShort } else { Status::Done },
        version: env!("CARGO_PKG_VERSION"),
        scene: scene.name.clone(),
        setup: setup_name.to_string(),
        clip: match (source, clip_name.is_empty()) {
            (Some(i), true) => format!("#{i}"),
            _ => clip_name,
        },
        name: name.clone(),
        additive: None,
        output: None,
        plot: None,
        playblast: None,
        contacts_file: None,
        frames_per_second: rig.range.frames_per_second,
        first_frame: rig.range.first,
        frames: motion.frames(),
        bodies,
        joints: joints(rig, &motion),
        contacts: touching(rig, &motion),
        halvings: halvings(rig, &motion),
        faults,
        keys: baked.keys,
        samples: baked.samples,
        max_fit_error: baked.max_error,
        max_fit_error_deg: baked.max_error_deg,
        straight_error: baked.straight_error,
        straight_error_deg: baked.straight_error_deg,
        looped,
        steps_apart: None,
        warnings,
        hints: hints(setup, clip, rig.range.frames_per_second),
        timings,
    };
    Ok(Outcome { source, name, compiled, motion, baked, deformations, report })
}

/// One simulation: its motion, how it ended, of a loop its turns, and what went wrong.
struct Played {
    motion: Motion,
    end: End,
    turn: Option<(usize, Gap, Gap, bool)>,
    faults: Vec<Fault>,
}

/// A motion with faults is simulated again with this many times as many steps, one after the other.
const FINER: [f64; 2] = [2.0, 4.0];

fn play(rig: &Rig, tell: &mut dyn FnMut(Progress) -> Result<(), JobError>) -> Result<Played, JobError> {
    let mut stopped = None;
    let mut told = |done: usize, of: usize| {
        stopped = tell(Progress { stage: Stage::Simulate, done, of: of.saturating_sub(1) }).err();
        stopped.is_none()
    };
    let mut turn = None;
    let (motion, end) = match rig.range.turns {
        1 => run(rig, &mut told),
        _ => {
            let Some(done) = cycle::run(rig, &mut told) else {
                return Err(stopped.unwrap_or(JobError::Cancelled));
            };
            turn = Some((done.turns, done.first, done.before, done.repeats));
            (done.motion, End::Done)
        }
    };
    if let Some(why) = stopped {
        return Err(why);
    }
    let faults = faults(rig, &motion);
    Ok(Played { motion, end, turn, faults })
}

/// The set-up with `finer` times as many steps; `None` where steps are limited in time, and more would only be worse.
fn more_steps(setup: &Setup, rig: &Rig, finer: f64) -> Option<Setup> {
    if rig.solver.limited {
        return None;
    }
    let mut again = setup.clone();
    let steps = rig.range.steps_per_second.unwrap_or(rig.range.frames_per_second);
    again.world.steps_per_second = Some(steps * finer);
    Some(again)
}

/// How bad faults are: how many, and then how much.
fn worst(faults: &[Fault]) -> f64 {
    let most = faults.iter().map(|f| f.amount).fold(0.0, f64::max);
    if faults.is_empty() { 0.0 } else { faults.len() as f64 + most / (1.0 + most) }
}

/// The warning about a loop that does not come to repeat itself.
fn restless(turns: usize, gap: &Gap) -> String {
    format!(
        "the motion does not repeat: after {turns} turns {} still ends {:.2} deg and {:.4} from where it began; the difference is spread over the turn; more damping or strength lets it settle",
        gap.node.as_deref().unwrap_or("a body"),
        gap.angle_deg,
        gap.distance
    )
}

/// A clip whose ends are further apart than this is no cycle, degrees.
const CUT_DEG: f64 = 30.0;

/// The node whose keys end farthest from where they begin, in a loop that is none, and by how much, degrees.
fn cut(clip: &Clip, rig: &Rig) -> Option<(usize, f64)> {
    let ends = [rig.range.start(), rig.range.start() + rig.range.length()];
    let turned = clip.channels.iter().filter(|c| c.property == Property::Rotation).map(|c| {
        let [a, b] = ends.map(|t| c.curve.quaternion(t));
        (c.node, rotation::distance(a, b).to_degrees())
    });
    let solid = |node: usize| rig.solid_of_node(node).is_some();
    let all = turned.filter(|(node, degrees)| *degrees > CUT_DEG && solid(*node));
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// What might have been meant instead.
fn hints(setup: &Setup, clip: Option<&Clip>, frames_per_second: f64) -> Vec<String> {
    let whole = !setup.bake.looped && setup.bake.frames.is_none();
    let is_cycle = |c: &&Clip| cycle::is_cycle(&c.channels, 1.0 / frames_per_second);
    match clip.filter(|_| whole).filter(is_cycle) {
        Some(_) => vec![
            "this clip is a cycle, and its bake ends elsewhere than it begins: did you mean --loop?".into(),
        ],
        None => Vec::new(),
    }
}

/// Adds what fell short to the warnings; whether anything did.
fn notice(rig: &Rig, motion: &Motion, end: End, warnings: &mut Vec<String>) -> bool {
    let mut fell_short = false;
    if let End::NotArrived { solid } = end {
        fell_short = true;
        warnings.push(format!(
            "{} had not arrived at its last key after {} frames; raise its strength, speed or base distance, or give the range",
            rig.solids[solid].label,
            motion.frames()
        ));
    }
    let size = rig.solids.iter().fold(0.0_f64, |m, s| m.max(s.radius));
    let joints = joints(rig, motion);
    for (joint, frame) in joints.iter().filter_map(|j| j.broke_at_frame.map(|f| (j, f))) {
        warnings.push(format!("the joint \"{}\" broke at frame {frame}", joint.name));
    }
    let open: Vec<String> = joints
        .iter()
        .filter(|j| j.max_opening > OPEN * size || j.max_angle_deg > OPEN.to_degrees())
        .map(|j| format!("\"{}\" by {:.3} and {:.1} deg", j.name, j.max_opening, j.max_angle_deg))
        .collect();
    if !open.is_empty() {
        fell_short = true;
        warnings.push(format!(
            "joints stay open: {}; they contradict each other, or what is not simulated pulls them apart",
            open.join(", ")
        ));
    }
    for &(solid, frame) in motion.quarantined() {
        fell_short = true;
        warnings.push(format!(
            "{} left all bounds of numbers at frame {frame} and was stopped there; check its mass, forces and velocities",
            rig.solids[solid].label
        ));
    }
    fell_short
}

/// Joints that open by more than this share of the largest body, or this angle (rad), are open to the eye.
const OPEN: f64 = 1e-3;

fn joints(rig: &Rig, motion: &Motion) -> Vec<JointReport> {
    let broke = |of: usize| motion.broken().iter().find(|b| b.0 == of).map(|b| rig.range.first + b.1 as f64);
    openings(&rig.joints, motion.open_joints())
        .into_iter()
        .map(|joint| JointReport {
            name: joint.name,
            max_opening: joint.opening,
            max_angle_deg: joint.angle.to_degrees(),
            broke_at_frame: broke(joint.of),
        })
        .collect()
}
