//! Sessions: a simulation that the host plays with. Steps and reads allocate nothing.

use crate::axes::Axes;
use crate::guard::guard;
use crate::input;
use crate::job::no_body;
use crate::live::{self, Opaque};
use crate::output::{self, Out};
use crate::result::{Fault, SINEW_BAD_SETUP, SINEW_OUT_OF_RANGE, sinew_result};
use crate::scene::sinew_scene;
use crate::setup::sinew_setup;
use sinew_core::motion::Sample;
use sinew_core::rig::{Setting, compile};
use sinew_core::setup::{choose_clip, nearest};
use sinew_core::simulate;
use std::ffi::c_char;
use std::sync::Arc;

/// A live simulation. Functions that take it as `const` may run on several threads at once; the others need it for
/// themselves. Different sessions are independent.
pub struct sinew_session {
    _private: [u8; 0],
}

impl Opaque for sinew_session {
    type Inner = Session;
    const NAME: &'static str = "session";
}

/// A simulation, in the axes of its scene.
pub struct Session {
    pub(crate) inner: simulate::Session,
    pub(crate) axes: Axes,
}

/// Share of the distance to the target that one relaxation time makes up.
pub const SINEW_SETTING_ALPHA: i32 = 0;
/// Damping B: 1 is critical.
pub const SINEW_SETTING_DAMPING: i32 = 1;
/// Seconds.
pub const SINEW_SETTING_RELAXATION_TIME: i32 = 2;
/// Newtons; infinity for no limit.
pub const SINEW_SETTING_MAX_FORCE: i32 = 3;
/// Newton metres; infinity for no limit.
pub const SINEW_SETTING_MAX_TORQUE: i32 = 4;
/// How quickly a lasting push is made up for, 1/s.
pub const SINEW_SETTING_COMPENSATION: i32 = 5;
/// Share of the target's velocity that is matched, 0 to 1.
pub const SINEW_SETTING_KEEP_UP: i32 = 6;
/// 0 is the keys, 1 is physics.
pub const SINEW_SETTING_BLEND: i32 = 7;
/// Farthest distance of the target, scene units.
pub const SINEW_SETTING_BASE_DISTANCE: i32 = 8;
/// Farthest angle of the target, degrees.
pub const SINEW_SETTING_BASE_ANGLE: i32 = 9;
/// Share of what the keys' own accelerations need that is pulled as they come, 0 to 1.
pub const SINEW_SETTING_ANTICIPATION: i32 = 10;

/// In the flags of `sinew_session_targets`: something guides the position.
pub const SINEW_TARGET_POSITION: u32 = 1;
/// In the flags of `sinew_session_targets`: something guides the orientation.
pub const SINEW_TARGET_ORIENTATION: u32 = 2;

/// Begins a live simulation at the first frame. `setup` may be NULL for an automatic one. The new session goes to
/// `out` and is the caller's, to be freed with `sinew_session_free`. It keeps nothing of scene and set-up.
///
/// Thread: any, scene and set-up `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_create(
    scene: *const sinew_scene,
    setup: *const sinew_setup,
    out: *mut *mut sinew_session,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        // SAFETY: the promises of the crate.
        let out = unsafe { Out::new(out, "out") }?;
        let setup = match setup.is_null() {
            true => scene.automatic(None)?.0,
            false => scene.adapt(live::get(setup)?.read()?.clone())?,
        };
        let data = scene.data();
        let clip = choose_clip(data, setup.clip.as_deref())?.map(|c| c.1);
        let rig = compile(data, &setup, clip)?.rig;
        if rig.solids.is_empty() {
            let text = "nothing is simulated: no body is \"guided\" or \"free\"; key something or add a body";
            return Err(Fault::new(SINEW_BAD_SETUP, text));
        }
        let inner = simulate::Session::new(Arc::new(rig));
        out.set(live::insert(Session { inner, axes: scene.axes }));
        Ok(())
    })
}

/// Frees a session. NULL is fine.
///
/// Thread: any. Errors: `SINEW_BAD_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_session_free(session: *mut sinew_session) -> sinew_result {
    guard(|| live::remove(session))
}

/// Changes a setting (`SINEW_SETTING_...`) of a body from now on: steps go on from where the body is. Seeking
/// afterwards, to whatever time, simulates from the first frame with it, as a bake would; so a player that changes
/// settings should either step or seek, not both.
///
/// Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE` (no such body or setting, or the value makes no sense; the
/// text says what does), handle errors.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_session_set(
    session: *mut sinew_session,
    body: u32,
    setting: i32,
    value: f64,
) -> sinew_result {
    change(session, |session| {
        let known = usize::try_from(setting).ok().and_then(|i| Setting::ALL.get(i));
        let setting = known.ok_or_else(|| {
            let text =
                format!("setting is {setting}, which this library does not know; see SINEW_SETTING_...");
            Fault::new(SINEW_OUT_OF_RANGE, text)
        })?;
        session.set(body, *setting, value)
    })
}

/// As `sinew_session_set`, with the setting's name as in a set-up file, such as `alpha` or `base_angle_deg`.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT` (no such name; the text proposes one), and those of
/// `sinew_session_set`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_set_named(
    session: *mut sinew_session,
    body: u32,
    setting: *const c_char,
    setting_length: usize,
    value: f64,
) -> sinew_result {
    change(session, |session| {
        // SAFETY: the promises of the crate.
        let name = unsafe { input::name(setting, setting_length, "setting") }?;
        let found = Setting::ALL.into_iter().find(|s| setting_name(*s) == name);
        let setting = found.ok_or_else(|| {
            let known = Setting::ALL.map(setting_name);
            let hint = nearest(name, known.into_iter()).map_or_else(
                || format!("there are {}", known.join(", ")),
                |n| format!("did you mean \"{n}\"?"),
            );
            Fault::argument(format!("there is no setting \"{name}\"; {hint}"))
        })?;
        session.set(body, setting, value)
    })
}

/// The shortest step, in seconds. Divided by less, numbers leave all bounds.
const SHORTEST: f64 = 1e-9;

/// Advances by `dt` seconds in one step, up to a second. Allocates nothing. After steps other than whole frames the
/// motion is no longer that of a job, until a seek.
///
/// Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_session_step(session: *mut sinew_session, dt: f64) -> sinew_result {
    change(session, |session| {
        if !(SHORTEST..=1.0).contains(&dt) {
            let text = format!("dt is {dt}; it must be from {SHORTEST} to 1 second");
            return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
        }
        session.inner.step(dt);
        Ok(())
    })
}

/// Advances by one frame in the set-up's sub-steps: the same bits as a job has there. A state is kept now and then
/// for seeking back, which is the only thing that allocates.
///
/// Thread: one at a time. Errors: handle errors.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_session_step_frame(session: *mut sinew_session) -> sinew_result {
    change(session, |session| {
        session.inner.step_frame();
        Ok(())
    })
}

/// The longest seek: a day of frames at 60 per second would take minutes, and more is a mistake.
const MOST_FRAMES: f64 = 5_184_000.0;

/// Goes to `time`, in seconds. The same bits whichever way one came: the past is simulated in whole frames, from
/// kept states where there are some. Times before the first frame are the first frame.
///
/// Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_session_seek(session: *mut sinew_session, time: f64) -> sinew_result {
    change(session, |session| {
        let range = session.inner.rig().range;
        let frames = (time - range.start()) * range.frames_per_second;
        if !(time.is_finite() && frames <= MOST_FRAMES) {
            let text =
                format!("time is {time}; it must be finite and at most {MOST_FRAMES} frames from the start");
            return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
        }
        session.inner.seek(time);
        Ok(())
    })
}

/// The session's time, in seconds.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_time(session: *const sinew_session, out: *mut f64) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { answer(session, out, |session| Ok(session.inner.time())) }
}

/// Times of the first and last frame in seconds, and frames per second.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_range(
    session: *const sinew_session,
    out_first: *mut f64,
    out_last: *mut f64,
    out_frames_per_second: *mut f64,
) -> sinew_result {
    guard(|| {
        let session = live::get(session)?;
        let session = session.read()?;
        // SAFETY: the promises of the crate.
        let (first, last, rate) = unsafe {
            (
                Out::new(out_first, "out_first")?,
                Out::new(out_last, "out_last")?,
                Out::new(out_frames_per_second, "out_frames_per_second")?,
            )
        };
        let range = session.inner.rig().range;
        first.set(range.start());
        last.set(range.time(range.frames().saturating_sub(1)));
        rate.set(range.frames_per_second);
        Ok(())
    })
}

/// Bodies simulated; their indices count from 0, parents before children.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_body_count(
    session: *const sinew_session,
    out: *mut u32,
) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { answer(session, out, |session| Ok(session.bodies() as u32)) }
}

/// The node of a body, by index.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_body_node(
    session: *const sinew_session,
    body: u32,
    out: *mut u32,
) -> sinew_result {
    let node = |session: &Session| {
        let solids = &session.inner.rig().solids;
        solids.get(body as usize).map(|s| s.node as u32).ok_or_else(|| no_body(body, solids.len()))
    };
    // SAFETY: the promises of the crate.
    unsafe { answer(session, out, node) }
}

/// The body on a node, by index.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE` (the node is not simulated), handle
/// errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_body_of_node(
    session: *const sinew_session,
    node: u32,
    out: *mut u32,
) -> sinew_result {
    let body = |session: &Session| {
        session.inner.rig().solid_of_node(node as usize).map(|s| s as u32).ok_or_else(|| {
            Fault::new(
                SINEW_OUT_OF_RANGE,
                format!("node {node} is not simulated; make it a body of the set-up"),
            )
        })
    };
    // SAFETY: the promises of the crate.
    unsafe { answer(session, out, body) }
}

/// Copies where every body's node is, in the world and the host's axes: seven numbers (position xyz, quaternion
/// xyzw) per body. `capacity` counts numbers. Allocates nothing.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_poses(
    session: *const sinew_session,
    poses: *mut f64,
    capacity: usize,
) -> sinew_result {
    guard(|| {
        let session = live::get(session)?;
        let session = session.read()?;
        // SAFETY: the promises of the crate.
        let place = unsafe { output::required(poses, capacity, session.bodies() * 7, "poses") }?;
        if let Some(place) = place {
            place.fill(session.samples().flat_map(|s| session.axes.pose(&s.node)));
        }
        Ok(())
    })
}

/// Copies where every body's target is, for drawing, in the world and the host's axes: seven numbers per body
/// (position xyz of the target of the centre of mass, quaternion xyzw), and to `flags` one number per body, which
/// parts have a target (`SINEW_TARGET_...`). Where there is none, the body's own keys are given. `capacity` counts
/// numbers, `flags_capacity` bodies; `flags` may be NULL. Allocates nothing.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_targets(
    session: *const sinew_session,
    targets: *mut f64,
    capacity: usize,
    flags: *mut u32,
    flags_capacity: usize,
) -> sinew_result {
    guard(|| {
        let session = live::get(session)?;
        let session = session.read()?;
        let bodies = session.bodies();
        // SAFETY: the promises of the crate.
        let (targets, flags) = unsafe {
            (
                output::required(targets, capacity, bodies * 7, "targets")?,
                output::buffer(flags, flags_capacity, bodies, "flags")?,
            )
        };
        let target = |s: Sample| {
            let mut at = s.keys;
            at.position = s.target_position.unwrap_or(at.position);
            at.rotation = s.target_rotation.unwrap_or(at.rotation);
            session.axes.pose(&at)
        };
        if let Some(targets) = targets {
            targets.fill(session.samples().flat_map(target));
        }
        if let Some(flags) = flags {
            flags.fill(session.samples().map(|s| {
                let part = |has: bool, flag: u32| if has { flag } else { 0 };
                part(s.target_position.is_some(), SINEW_TARGET_POSITION)
                    | part(s.target_rotation.is_some(), SINEW_TARGET_ORIENTATION)
            }));
        }
        Ok(())
    })
}

/// Copies how hard every body's actuator pulled at most since the frame (or the single step) began, for drawing, in the world and the host's axes: six
/// numbers per body (force xyz in newtons, torque xyz in newton metres), and to `saturated` one number per body,
/// 1 when it was at its limit and else 0. `capacity` counts numbers, `saturated_capacity` bodies; `saturated` may be
/// NULL. Allocates nothing.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_forces(
    session: *const sinew_session,
    forces: *mut f64,
    capacity: usize,
    saturated: *mut u32,
    saturated_capacity: usize,
) -> sinew_result {
    guard(|| {
        let session = live::get(session)?;
        let session = session.read()?;
        let bodies = session.bodies();
        // SAFETY: the promises of the crate.
        let (forces, saturated) = unsafe {
            (
                output::required(forces, capacity, bodies * 6, "forces")?,
                output::buffer(saturated, saturated_capacity, bodies, "saturated")?,
            )
        };
        let metres = session.inner.rig().world.metres_per_unit;
        let action = |s: Sample| {
            let [fx, fy, fz] = session.axes.outward((s.force * metres).to_array());
            let [tx, ty, tz] = session.axes.outward((s.torque * metres * metres).to_array());
            [fx, fy, fz, tx, ty, tz]
        };
        if let Some(forces) = forces {
            forces.fill(session.samples().flat_map(action));
        }
        if let Some(saturated) = saturated {
            saturated.fill(session.samples().map(|s| u32::from(s.saturated)));
        }
        Ok(())
    })
}

impl Session {
    fn bodies(&self) -> usize {
        self.inner.rig().solids.len()
    }

    fn samples(&self) -> impl Iterator<Item = Sample> {
        (0..self.bodies()).map(|i| self.inner.sample(i))
    }

    /// `value` in the units of the interface.
    fn set(&mut self, body: u32, setting: Setting, value: f64) -> Result<(), Fault> {
        let solid = body as usize;
        if solid >= self.bodies() {
            return Err(no_body(body, self.bodies()));
        }
        let metres = self.inner.rig().world.metres_per_unit;
        let inside = match setting {
            Setting::MaxForce => value / metres,
            Setting::MaxTorque => value / (metres * metres),
            Setting::BaseAngle => value.to_radians(),
            _ => value,
        };
        let (least, most) = setting.range();
        if !(inside >= least && inside <= most) {
            let name = setting_name(setting);
            let text = match most < f64::MAX {
                true => format!("{name} is {value}; it must be from {least} to {most}"),
                false if least > 0.0 => format!("{name} is {value}; it must be above 0"),
                false => format!("{name} is {value}; it must be 0 or more"),
            };
            return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
        }
        self.inner.set(solid, setting, inside);
        Ok(())
    }
}

/// The name as in a set-up file, which says degrees where it means them.
fn setting_name(setting: Setting) -> &'static str {
    match setting {
        Setting::BaseAngle => "base_angle_deg",
        other => other.name(),
    }
}

/// Changes a session.
pub fn change(
    session: *mut sinew_session,
    body: impl FnOnce(&mut Session) -> Result<(), Fault>,
) -> sinew_result {
    guard(|| {
        let session = live::get(session.cast_const())?;
        let mut session = session.write()?;
        body(&mut session)
    })
}

/// Answers a question about a session with one value.
///
/// # Safety
/// The promises of the crate for outputs.
pub(crate) unsafe fn answer<T>(
    session: *const sinew_session,
    out: *mut T,
    ask: impl FnOnce(&Session) -> Result<T, Fault>,
) -> sinew_result {
    guard(|| {
        let session = live::get(session)?;
        let session = session.read()?;
        // SAFETY: the same promises.
        let out = unsafe { Out::new(out, "out") }?;
        out.set(ask(&session)?);
        Ok(())
    })
}
