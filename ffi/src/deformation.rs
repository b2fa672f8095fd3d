//! How soft skins are pressed in: shapes of meshes, and how much of each at which time.

use crate::guard::guard;
use crate::job::{Job, sinew_job};
use crate::live;
use crate::output::{self, Out};
use crate::result::{Fault, SINEW_OUT_OF_RANGE, sinew_result};
use crate::{options, versioned};
use sinew_core::bake::Deformation;

/// What the deformation of a mesh has, without its numbers. Set `struct_size` before asking.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_deformation_info {
    /// `sizeof(sinew_deformation_info)`.
    pub struct_size: u32,
    /// The node whose mesh it is, by index.
    pub node: u32,
    /// Shapes that are added to the mesh.
    pub target_count: u32,
    /// Vertices of the mesh.
    pub vertex_count: u32,
    /// Keys of the weights.
    pub key_count: usize,
}

versioned!(sinew_deformation_info {
    struct_size,
    node: u32,
    target_count: u32,
    vertex_count: u32,
    key_count: usize,
});

/// Number of meshes that soft skins deform. It goes to `out`.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_deformation_count(job: *const sinew_job, out: *mut u32) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        // SAFETY: the promises of the crate.
        unsafe { Out::new(out, "out") }?.set(job.outcome.deformations.len() as u32);
        Ok(())
    })
}

/// What a deformation has. Set `info->struct_size` first.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_deformation_info(
    job: *const sinew_job,
    deformation: u32,
    info: *mut sinew_deformation_info,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        let found = at(&job, deformation)?;
        let answer = sinew_deformation_info {
            struct_size: size_of::<sinew_deformation_info>() as u32,
            node: found.node as u32,
            target_count: found.targets.len() as u32,
            vertex_count: found.targets.first().map_or(0, Vec::len) as u32,
            key_count: found.times.len(),
        };
        // SAFETY: the promises of the crate.
        unsafe { options::write(info, &answer) }
    })
}

/// Copies a deformation: to `targets` three numbers per vertex and target, target after target, by which the vertex is
/// away from its place in the mesh's own axes (the host's, as the mesh was given); to `times` the seconds of the keys, to
/// `weights` one number per target and key, key after key, straight in between. Capacities count numbers; each place may
/// be NULL.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_job_deformation_read(
    job: *const sinew_job,
    deformation: u32,
    targets: *mut f64,
    targets_capacity: usize,
    times: *mut f64,
    times_capacity: usize,
    weights: *mut f64,
    weights_capacity: usize,
) -> sinew_result {
    guard(|| {
        let job = live::get(job)?;
        let job = job.read()?;
        let found = at(&job, deformation)?;
        let numbers = 3 * found.targets.iter().map(Vec::len).sum::<usize>();
        // SAFETY: the promises of the crate.
        let (targets, times, weights) = unsafe {
            (
                output::buffer(targets, targets_capacity, numbers, "targets")?,
                output::buffer(times, times_capacity, found.times.len(), "times")?,
                output::buffer(weights, weights_capacity, found.weights.len(), "weights")?,
            )
        };
        if let Some(targets) = targets {
            let moved = found.targets.iter().flatten();
            targets.fill(moved.flat_map(|d| job.axes.outward(d.to_array())));
        }
        if let Some(times) = times {
            times.fill(found.times.iter().copied());
        }
        if let Some(weights) = weights {
            weights.fill(found.weights.iter().copied());
        }
        Ok(())
    })
}

fn at(job: &Job, index: u32) -> Result<&Deformation, Fault> {
    let all = &job.outcome.deformations;
    all.get(index as usize).ok_or_else(|| {
        Fault::new(SINEW_OUT_OF_RANGE, format!("there is no deformation {index}; there are {}", all.len()))
    })
}
