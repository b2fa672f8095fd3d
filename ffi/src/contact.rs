//! What touches what: points for drawing, and strikes for the timeline.

use crate::axes::Axes;
use crate::guard::guard;
use crate::job::{self, Job, sinew_job};
use crate::live;
use crate::result::{Fault, SINEW_OUT_OF_RANGE, sinew_result};
use crate::session::{self, sinew_session};
use crate::{options, versioned};
use sinew_core::motion::{self, Contact, Strike};
use sinew_core::rig::Rig;

/// A point at which one thing bears on another. Of several shapes on one node each has points of its own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_contact {
    /// `sizeof(sinew_contact)`.
    pub struct_size: u32,
    /// One node, by index; of the same two nodes always the same one.
    pub node_a: u32,
    /// The other.
    pub node_b: u32,
    /// 0.
    pub reserved: u32,
    /// Where, in the world and the host's axes, scene units.
    pub point: [f64; 3],
    /// Direction from the first to the second.
    pub normal: [f64; 3],
    /// Force along the normal, newtons: the mean of the last sub-step.
    pub load: f64,
    /// Friction on the second, newtons. It belongs to several points together, and is told with the first of them.
    pub friction: [f64; 3],
}

versioned!(sinew_contact {
    struct_size,
    node_a: u32,
    node_b: u32,
    reserved: u32,
    point: [f64; 3],
    normal: [f64; 3],
    load: f64,
    friction: [f64; 3],
});

/// Two things began to touch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_strike {
    /// `sizeof(sinew_strike)`.
    pub struct_size: u32,
    /// One node, by index; of the same two nodes always the same one.
    pub node_a: u32,
    /// The other.
    pub node_b: u32,
    /// 0.
    pub reserved: u32,
    /// When, in seconds: between frames, not only at them.
    pub time: f64,
    /// The same in frames; frame 0 is time 0.
    pub frame: f64,
    /// Where, in the world and the host's axes, scene units.
    pub point: [f64; 3],
    /// Direction from the first to the second.
    pub normal: [f64; 3],
    /// Impulse on the second in the sub-step of the strike, friction included, newton seconds; of soft things only the
    /// beginning of the push. The first got the opposite.
    pub impulse: [f64; 3],
    /// Speed at which they closed in, scene units per second.
    pub speed: f64,
}

versioned!(sinew_strike {
    struct_size,
    node_a: u32,
    node_b: u32,
    reserved: u32,
    time: f64,
    frame: f64,
    point: [f64; 3],
    normal: [f64; 3],
    impulse: [f64; 3],
    speed: f64,
});

/// Points at which something bears on something else where the session is; their indices count from 0 and change with
/// every step. None at the first frame, before which no step was taken.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_contact_count(
    session: *const sinew_session,
    out: *mut u32,
) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { session::answer(session, out, |s| Ok(s.inner.state().touched.len() as u32)) }
}

/// One of these points. Set `contact->struct_size` first. Allocates nothing.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_contact_info(
    session: *const sinew_session,
    index: u32,
    contact: *mut sinew_contact,
) -> sinew_result {
    guard(|| {
        let session = live::get(session)?;
        let session = session.read()?;
        let (rig, state) = (session.inner.rig(), session.inner.state());
        let all = motion::contacts(rig, state);
        let found = at(all, index, "contact")?.outward(rig, session.axes);
        // SAFETY: the promises of the crate.
        unsafe { options::write(contact, &found) }
    })
}

/// What began to touch in the frame (or the single step) that led to where the session is; their indices count from 0,
/// and the order is that of the sub-steps.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_strike_count(
    session: *const sinew_session,
    out: *mut u32,
) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { session::answer(session, out, |s| Ok(s.inner.state().strikes.len() as u32)) }
}

/// One of these strikes. Set `strike->struct_size` first. Allocates nothing.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_strike_info(
    session: *const sinew_session,
    index: u32,
    strike: *mut sinew_strike,
) -> sinew_result {
    guard(|| {
        let session = live::get(session)?;
        let session = session.read()?;
        let (rig, state) = (session.inner.rig(), session.inner.state());
        let all = motion::strikes(rig, state);
        let found = at(all, index, "strike")?.outward(rig, session.axes);
        // SAFETY: the promises of the crate.
        unsafe { options::write(strike, &found) }
    })
}

/// Points at which something bears on something else at a frame of a job, counted from its first; their indices count
/// from 0.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_contact_count(
    job: *const sinew_job,
    frame: usize,
    out: *mut u32,
) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { job::answer(job, out, |job| Ok(contacts(job, frame)?.len() as u32)) }
}

/// One of these points. Set `contact->struct_size` first.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_contact_info(
    job: *const sinew_job,
    frame: usize,
    index: u32,
    contact: *mut sinew_contact,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        let all = contacts(&job, frame)?.iter();
        let found = at(all, index, "contact")?.outward(&job.outcome.compiled.rig, job.axes);
        // SAFETY: the promises of the crate.
        unsafe { options::write(contact, &found) }
    })
}

/// Everything that began to touch in a job, in the order of time; their indices count from 0.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_strike_count(job: *const sinew_job, out: *mut u32) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { job::answer(job, out, |job| Ok(job.outcome.motion.strikes().len() as u32)) }
}

/// One of these strikes. Set `strike->struct_size` first.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_strike_info(
    job: *const sinew_job,
    index: u32,
    strike: *mut sinew_strike,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        let all = job.outcome.motion.strikes().iter();
        let found = at(all, index, "strike")?.outward(&job.outcome.compiled.rig, job.axes);
        // SAFETY: the promises of the crate.
        unsafe { options::write(strike, &found) }
    })
}

fn contacts(job: &Job, frame: usize) -> Result<&[Contact], Fault> {
    let motion = &job.outcome.motion;
    if frame >= motion.frames() {
        let text = format!("there is no frame {frame}; {} were simulated", motion.frames());
        return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
    }
    Ok(motion.contacts(frame))
}

fn at<T>(mut all: impl ExactSizeIterator<Item = T>, index: u32, what: &str) -> Result<T, Fault> {
    let count = all.len();
    all.nth(index as usize).ok_or_else(|| {
        Fault::new(SINEW_OUT_OF_RANGE, format!("there is no {what} {index}; the count here is {count}"))
    })
}

/// What the header calls it, in the host's axes and SI units.
trait Outward {
    type Header;
    fn outward(&self, rig: &Rig, axes: Axes) -> Self::Header;
}

impl Outward for Contact {
    type Header = sinew_contact;

    fn outward(&self, rig: &Rig, axes: Axes) -> sinew_contact {
        let metres = rig.world.metres_per_unit;
        sinew_contact {
            struct_size: size_of::<sinew_contact>() as u32,
            node_a: self.nodes[0] as u32,
            node_b: self.nodes[1] as u32,
            reserved: 0,
            point: axes.outward(self.point.to_array()),
            normal: axes.outward(self.normal.to_array()),
            load: self.load * metres,
            friction: axes.outward((self.friction * metres).to_array()),
        }
    }
}

impl Outward for Strike {
    type Header = sinew_strike;

    fn outward(&self, rig: &Rig, axes: Axes) -> sinew_strike {
        sinew_strike {
            struct_size: size_of::<sinew_strike>() as u32,
            node_a: self.nodes[0] as u32,
            node_b: self.nodes[1] as u32,
            reserved: 0,
            time: self.time,
            frame: self.time * rig.range.frames_per_second,
            point: axes.outward(self.point.to_array()),
            normal: axes.outward(self.normal.to_array()),
            impulse: axes.outward((self.impulse * rig.world.metres_per_unit).to_array()),
            speed: self.speed,
        }
    }
}
