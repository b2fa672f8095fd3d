//! Jobs: a scene and a set-up in, curves and poses out.

use crate::axes::Axes;
use crate::callback::{Listener, sinew_callbacks};
use crate::curve::{self, Places, sinew_curve_info};
use crate::guard::guard;
use crate::live::{self, Opaque};
use crate::output::{self, Out};
use crate::result::{Fault, SINEW_INVALID_ARGUMENT, SINEW_OUT_OF_RANGE, sinew_result};
use crate::scene::sinew_scene;
use crate::setup::sinew_setup;
use crate::{input, options, versioned};
use sinew_core::setup::{BakedLayer, Preset};
use sinew_plugin::job::{BakeRequest, Outcome, Report, Status, simulate};
use std::ffi::c_char;

/// A finished job. Never changes: all functions may run on several threads at once.
pub struct sinew_job {
    _private: [u8; 0],
}

impl Opaque for sinew_job {
    type Inner = Job;
    const NAME: &'static str = "job";
}

/// What came out of a job, in the axes of its scene.
pub struct Job {
    pub(crate) outcome: Outcome,
    pub(crate) name_is_chosen: bool,
    /// Nodes of the scene, to know it again.
    pub(crate) nodes: usize,
    pub(crate) axes: Axes,
}

/// Everything is as asked.
pub const SINEW_STATUS_DONE: i32 = 0;
/// There is a result, but something that the report's warnings name fell short.
pub const SINEW_STATUS_FELL_SHORT: i32 = 1;

/// As the set-up says.
pub const SINEW_PRESET_NONE: i32 = 0;
/// Stays on the keys and takes off the corners.
pub const SINEW_PRESET_SUBTLE: i32 = 1;
/// Follows with weight and gives way when pushed.
pub const SINEW_PRESET_REACTIVE: i32 = 2;
/// Barely holds itself up, swings past.
pub const SINEW_PRESET_LIMP: i32 = 3;
/// No strength at all: it falls as its joints let it.
pub const SINEW_PRESET_RAGDOLL: i32 = 4;
/// Follows with more weight than reactive: drags, overshoots and settles.
pub const SINEW_PRESET_WEIGHTY: i32 = 5;
/// Relaxed, between weighty and limp: swings freely and comes back late.
pub const SINEW_PRESET_LOOSE: i32 = 6;

/// Keys on every frame instead of few.
pub const SINEW_EVERY_FRAME: u32 = 1;
/// `first_frame` and `last_frame` count.
pub const SINEW_FRAMES: u32 = 2;
/// The host stores curves in single precision: keys are chosen so that the tolerance holds after rounding. Always
/// so for scenes from files.
pub const SINEW_SINGLE: u32 = 4;
/// The range is one turn of a cycle: it is simulated until it repeats, and its end meets its start in pose and velocity.
pub const SINEW_LOOP: u32 = 128;
/// `hold_frame` counts.
pub const SINEW_HOLD: u32 = 256;
/// `looseness` says how loose everything is.
pub const SINEW_LOOSENESS: u32 = 8192;

/// As the set-up says.
pub const SINEW_LAYER_NONE: i32 = 0;
/// The whole motion.
pub const SINEW_LAYER_FULL: i32 = 1;
/// What the motion adds to the keys: translations to be added, rotations to be multiplied from the right.
pub const SINEW_LAYER_ADDITIVE: i32 = 2;
/// Both, as two clips. A job's curves are then those of the whole motion; `sinew_scene_add_job` adds both clips.
pub const SINEW_LAYER_BOTH: i32 = 3;

/// What a job is to do. All zeros for what the set-up says.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_job_options {
    /// `sizeof(sinew_job_options)`.
    pub struct_size: u32,
    /// `SINEW_EVERY_FRAME`, `SINEW_FRAMES`, `SINEW_SINGLE`, `SINEW_LOOP`, `SINEW_HOLD`, `SINEW_LOOSENESS`, added up.
    pub flags: u32,
    /// `SINEW_PRESET_...` for every actuator.
    pub preset: i32,
    /// 0.
    pub reserved: u32,
    /// First frame, when `flags` has `SINEW_FRAMES`. Frame 0 is time 0.
    pub first_frame: f64,
    /// Last frame, likewise.
    pub last_frame: f64,
    /// Largest distance of the keys from the simulation, scene units; 0 as the set-up says.
    pub tolerance: f64,
    /// The guiding clip, by name or `#index`. NULL as the set-up says.
    pub clip: *const c_char,
    /// Bytes of `clip`.
    pub clip_length: usize,
    /// Name for the new clip. NULL as the set-up says.
    pub name: *const c_char,
    /// Bytes of `name`.
    pub name_length: usize,
    /// The largest angle of the keys from the simulation, degrees; 0 as the set-up says.
    pub tolerance_deg: f64,
    /// Frame from which on all stays as it is, when `flags` has `SINEW_HOLD`.
    pub hold_frame: f64,
    /// Frames that every pose is held; 0 as the set-up says.
    pub every: u32,
    /// `SINEW_LAYER_...`.
    pub layer: i32,
    /// Nodes and groups that get new curves, one per line, `*` for any letters. NULL as the set-up says.
    pub only: *const c_char,
    /// Bytes of `only`.
    pub only_length: usize,
    /// How loose everything is, from 0, the keys, to 1, a ragdoll, when `flags` has `SINEW_LOOSENESS`.
    pub looseness: f64,
}

versioned!(sinew_job_options {
    struct_size,
    flags: u32,
    preset: i32,
    reserved: u32,
    first_frame: f64,
    last_frame: f64,
    tolerance: f64,
    clip: *const c_char,
    clip_length: usize,
    name: *const c_char,
    name_length: usize,
    tolerance_deg: f64,
    hold_frame: f64,
    every: u32,
    layer: i32,
    only: *const c_char,
    only_length: usize,
    looseness: f64,
});

/// Fills in the defaults. `struct_size` is `sizeof(sinew_job_options)`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_options_init(
    options: *mut sinew_job_options,
    struct_size: usize,
) -> sinew_result {
    // SAFETY: writable over `struct_size` bytes (promises of the crate).
    guard(|| unsafe { options::init(options, struct_size) })
}

/// Simulates a scene and bakes curves, from the first frame to the last. `setup` may be NULL for an automatic one,
/// `options` and `callbacks` for none. The finished job goes to `out` and is the caller's, to be freed with
/// `sinew_job_free`. The scene is not changed; see `sinew_scene_add_job`.
///
/// Thread: any, scene and set-up `const`; callbacks run on the calling thread. Errors: `SINEW_INVALID_ARGUMENT`,
/// `SINEW_OUT_OF_RANGE`, `SINEW_BAD_SETUP`, `SINEW_BAD_INPUT`, `SINEW_CANCELLED`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_run(
    scene: *const sinew_scene,
    setup: *const sinew_setup,
    options: *const sinew_job_options,
    callbacks: *const sinew_callbacks,
    out: *mut *mut sinew_job,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        // SAFETY: the promises of the crate.
        let (out, options, listener) =
            unsafe { (Out::new(out, "out")?, options::read(options)?, Listener::new(callbacks)?) };
        // SAFETY: the promises of the crate, for texts inside the options.
        let (clip, name, only) = unsafe {
            (
                input::maybe(options.clip, options.clip_length, "clip")?,
                input::maybe(options.name, options.name_length, "name")?,
                input::maybe(options.only, options.only_length, "only")?,
            )
        };
        let known =
            SINEW_EVERY_FRAME | SINEW_FRAMES | SINEW_SINGLE | SINEW_LOOP | SINEW_HOLD | SINEW_LOOSENESS;
        known_flags(options.flags, known)?;
        let request = BakeRequest {
            name: name.map(str::to_owned),
            preset: preset(options.preset)?,
            looseness: looseness(options.flags, options.looseness)?,
            frames: frames(options.flags, options.first_frame, options.last_frame)?,
            keys: (options.flags & SINEW_EVERY_FRAME != 0)
                .then_some(sinew_core::setup::BakedKeys::EveryFrame),
            tolerance: tolerance(options.tolerance, "tolerance")?,
            tolerance_deg: tolerance(options.tolerance_deg, "tolerance_deg")?,
            looped: options.flags & SINEW_LOOP != 0,
            only: lines(only),
            layer: layer(options.layer)?,
            every: Some(options.every).filter(|n| *n > 0),
            hold: hold(options.flags, options.hold_frame)?,
            ..Default::default()
        };
        let (mut setup, called) = match setup.is_null() {
            true => {
                let (setup, warnings) = scene.automatic(clip)?;
                listener.warn(&warnings);
                (setup, "automatic set-up")
            }
            false => {
                let given = live::get(setup)?;
                let mut setup = scene.adapt(given.read()?.clone())?;
                setup.clip = clip.map(str::to_owned).or(setup.clip);
                (setup, "set-up")
            }
        };
        request.overrule(&mut setup);
        let single = scene.is_single() || options.flags & SINEW_SINGLE != 0;
        let outcome = simulate(scene.data(), &setup, called, single, &mut |p| listener.progress(p))?;
        listener.warn(&outcome.report.warnings);
        out.set(live::insert(Job {
            outcome,
            name_is_chosen: setup.bake.name.is_some(),
            nodes: scene.data().nodes.len(),
            axes: scene.axes,
        }));
        Ok(())
    })
}

/// Frees a job. NULL is fine.
///
/// Thread: any. Errors: `SINEW_BAD_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_job_free(job: *mut sinew_job) -> sinew_result {
    guard(|| live::remove(job))
}

/// How a job ended: `SINEW_STATUS_DONE` or `SINEW_STATUS_FELL_SHORT`.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_status(job: *const sinew_job, out: *mut i32) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { answer(job, out, |job| Ok(status(&job.outcome.report))) }
}

/// Copies the report as JSON (see "Texts"), as `sinew bake --json` prints it.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_report(
    job: *const sinew_job,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let text = json(&job.read()?.outcome.report)?;
        // SAFETY: the promises of the crate.
        unsafe { output::text(&text, buffer, capacity, length) }
    })
}

/// Baked curves, of the whole motion, or of `SINEW_LAYER_ADDITIVE` where only that was asked for; their indices count
/// from 0.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_curve_count(job: *const sinew_job, out: *mut u32) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { answer(job, out, |job| Ok(job.outcome.baked.shown().len() as u32)) }
}

/// What a baked curve has. Set `info->struct_size` first.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_curve_info(
    job: *const sinew_job,
    curve: u32,
    info: *mut sinew_curve_info,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        let found = curve::info(curve::at(job.outcome.baked.shown(), curve as usize)?);
        // SAFETY: the promises of the crate.
        unsafe { options::write(info, &found) }
    })
}

/// Copies a baked curve's keys, in the host's axes and relative to the node's parent. `times` has room for
/// `key_capacity` numbers, `values`, `arriving` and `leaving` for that times the curve's width; each may be NULL.
/// Tangents of a curve that is not cubic are zeros.
///
/// Thread: any, `const`. Errors: `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_curve_read(
    job: *const sinew_job,
    curve: u32,
    key_capacity: usize,
    times: *mut f64,
    values: *mut f64,
    arriving: *mut f64,
    leaving: *mut f64,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        let channel = curve::at(job.outcome.baked.shown(), curve as usize)?;
        // SAFETY: the promises of the crate.
        unsafe { curve::copy(channel, job.axes, key_capacity, Places { times, values, arriving, leaving }) }
    })
}

/// Frames simulated.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_frame_count(job: *const sinew_job, out: *mut usize) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { answer(job, out, |job| Ok(job.outcome.motion.frames())) }
}

/// Bodies simulated; their indices count from 0, parents before children.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_body_count(job: *const sinew_job, out: *mut u32) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { answer(job, out, |job| Ok(job.outcome.motion.solids() as u32)) }
}

/// The node of a body, by index.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_body_node(
    job: *const sinew_job,
    body: u32,
    out: *mut u32,
) -> sinew_result {
    let node = |job: &Job| {
        let solids = &job.outcome.compiled.rig.solids;
        solids.get(body as usize).map(|s| s.node as u32).ok_or_else(|| no_body(body, solids.len()))
    };
    // SAFETY: the promises of the crate.
    unsafe { answer(job, out, node) }
}

/// Copies the times of the frames, in seconds: as many numbers as there are frames. `capacity` counts numbers.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_times(
    job: *const sinew_job,
    times: *mut f64,
    capacity: usize,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        let found = job.outcome.motion.times();
        // SAFETY: the promises of the crate.
        if let Some(place) = unsafe { output::required(times, capacity, found.len(), "times") }? {
            place.fill(found.iter().copied());
        }
        Ok(())
    })
}

/// Copies where every body's node is at every frame, in the world and the host's axes: seven numbers (position xyz,
/// quaternion xyzw) per body, bodies in order, frame after frame. `capacity` counts numbers.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_poses(
    job: *const sinew_job,
    poses: *mut f64,
    capacity: usize,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        let motion = &job.outcome.motion;
        let needed = motion.frames() * motion.solids() * 7;
        // SAFETY: the promises of the crate.
        if let Some(place) = unsafe { output::required(poses, capacity, needed, "poses") }? {
            let samples = (0..motion.frames()).flat_map(|f| motion.frame(f));
            place.fill(samples.flat_map(|s| job.axes.pose(&s.node)));
        }
        Ok(())
    })
}

/// Copies at which frames bodies were at the limit of their strength: one number per body, 1 when its actuator was at a
/// limit since the frame before and else 0, bodies in order, frame after frame. `capacity` counts numbers.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_saturated(
    job: *const sinew_job,
    saturated: *mut u32,
    capacity: usize,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        let motion = &job.outcome.motion;
        let needed = motion.frames() * motion.solids();
        // SAFETY: the promises of the crate.
        if let Some(place) = unsafe { output::required(saturated, capacity, needed, "saturated") }? {
            let samples = (0..motion.frames()).flat_map(|f| motion.frame(f));
            place.fill(samples.map(|s| u32::from(s.saturated)));
        }
        Ok(())
    })
}

/// Answers a question about a job with one value.
///
/// # Safety
/// The promises of the crate for outputs.
pub(crate) unsafe fn answer<T>(
    job: *const sinew_job,
    out: *mut T,
    ask: impl FnOnce(&Job) -> Result<T, Fault>,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        // SAFETY: the same promises.
        let out = unsafe { Out::new(out, "out") }?;
        out.set(ask(&job)?);
        Ok(())
    })
}

pub(crate) fn no_body(body: u32, bodies: usize) -> Fault {
    Fault::new(SINEW_OUT_OF_RANGE, format!("there is no body {body}; {bodies} are simulated"))
}

pub(crate) fn status(report: &Report) -> i32 {
    match report.status {
        Status::Done => SINEW_STATUS_DONE,
        Status::FellShort => SINEW_STATUS_FELL_SHORT,
    }
}

pub(crate) fn json(report: &Report) -> Result<String, Fault> {
    serde_json::to_string_pretty(report)
        .map_err(|e| Fault::new(SINEW_INVALID_ARGUMENT, format!("the report cannot be written: {e}")))
}

/// A point of the slider, where the flags say that there is one.
pub(crate) fn looseness(flags: u32, looseness: f64) -> Result<Option<f64>, Fault> {
    if flags & SINEW_LOOSENESS == 0 {
        return Ok(None);
    }
    if (0.0..=1.0).contains(&looseness) {
        return Ok(Some(looseness));
    }
    let text = format!("looseness is {looseness}; give a number from 0, the keys, to 1, a ragdoll");
    Err(Fault::new(SINEW_OUT_OF_RANGE, text))
}

pub(crate) fn preset(preset: i32) -> Result<Option<Preset>, Fault> {
    match preset {
        SINEW_PRESET_NONE => Ok(None),
        SINEW_PRESET_SUBTLE => Ok(Some(Preset::Subtle)),
        SINEW_PRESET_REACTIVE => Ok(Some(Preset::Reactive)),
        SINEW_PRESET_LIMP => Ok(Some(Preset::Limp)),
        SINEW_PRESET_RAGDOLL => Ok(Some(Preset::Ragdoll)),
        SINEW_PRESET_WEIGHTY => Ok(Some(Preset::Weighty)),
        SINEW_PRESET_LOOSE => Ok(Some(Preset::Loose)),
        other => {
            let text = format!("preset is {other}, which this library does not know; see SINEW_PRESET_...");
            Err(Fault::new(SINEW_OUT_OF_RANGE, text))
        }
    }
}

pub(crate) fn frames(flags: u32, first: f64, last: f64) -> Result<Option<[f64; 2]>, Fault> {
    if flags & SINEW_FRAMES == 0 {
        return Ok(None);
    }
    Ok(Some([input::finite(first, "first_frame")?, input::finite(last, "last_frame")?]))
}

pub(crate) fn hold(flags: u32, frame: f64) -> Result<Option<f64>, Fault> {
    match flags & SINEW_HOLD {
        0 => Ok(None),
        _ => Ok(Some(input::finite(frame, "hold_frame")?)),
    }
}

pub(crate) fn layer(layer: i32) -> Result<Option<BakedLayer>, Fault> {
    match layer {
        SINEW_LAYER_NONE => Ok(None),
        SINEW_LAYER_FULL => Ok(Some(BakedLayer::Full)),
        SINEW_LAYER_ADDITIVE => Ok(Some(BakedLayer::Additive)),
        SINEW_LAYER_BOTH => Ok(Some(BakedLayer::Both)),
        other => {
            let text = format!("layer is {other}, which this library does not know; see SINEW_LAYER_...");
            Err(Fault::new(SINEW_OUT_OF_RANGE, text))
        }
    }
}

/// Names that stand one to a line.
pub(crate) fn lines(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default().lines().filter(|l| !l.is_empty()).map(str::to_owned).collect()
}

pub(crate) fn tolerance(tolerance: f64, name: &str) -> Result<Option<f64>, Fault> {
    match tolerance.is_finite() && tolerance >= 0.0 {
        true => Ok(Some(tolerance).filter(|t| *t > 0.0)),
        false => {
            let text = format!("{name} is {tolerance}; it must be 0 (as the set-up says) or more");
            Err(Fault::new(SINEW_OUT_OF_RANGE, text))
        }
    }
}

pub(crate) fn known_flags(flags: u32, known: u32) -> Result<(), Fault> {
    match flags & !known {
        0 => Ok(()),
        unknown => Err(Fault::argument(format!("flags has {unknown:#x}, which this function does not know"))),
    }
}
