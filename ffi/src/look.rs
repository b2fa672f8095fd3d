//! What is in a scene: nodes, clips, curves. All of this only reads.

use crate::build::{SINEW_NONE, node_at};
use crate::curve::{self, Places, sinew_curve_info};
use crate::guard::guard;
use crate::live;
use crate::output::{self, Out};
use crate::result::{Fault, SINEW_BAD_INPUT, SINEW_OUT_OF_RANGE, sinew_result};
use crate::scene::{Scene, sinew_scene};
use crate::{input, options};
use sinew_core::scene::{Clip, Local};
use sinew_core::setup::nearest;
use std::ffi::c_char;

/// Nodes of the scene; their indices count from 0.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_node_count(scene: *const sinew_scene, out: *mut u32) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { answer(scene, out, |scene| Ok(scene.data().nodes.len() as u32)) }
}

/// Copies a node's name, which may be empty (see "Texts").
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_node_name(
    scene: *const sinew_scene,
    node: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        let name = &node_at(scene.data(), node as usize)?.name;
        // SAFETY: the promises of the crate.
        unsafe { output::text(name, buffer, capacity, length) }
    })
}

/// The index of a node's parent; `SINEW_NONE` for a root.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_node_parent(
    scene: *const sinew_scene,
    node: u32,
    out: *mut u32,
) -> sinew_result {
    let parent =
        |scene: &Scene| Ok(node_at(scene.data(), node as usize)?.parent.map_or(SINEW_NONE, |p| p as u32));
    // SAFETY: the promises of the crate.
    unsafe { answer(scene, out, parent) }
}

/// A node's rest transform relative to its parent, in the host's axes: ten numbers (translation xyz, rotation xyzw,
/// scale xyz) to `out`, which has room for `capacity`.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`,
/// `SINEW_BAD_INPUT` (the node has a matrix that no such numbers make), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_node_transform(
    scene: *const sinew_scene,
    node: u32,
    out: *mut f64,
    capacity: usize,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        // SAFETY: the promises of the crate.
        let place = unsafe { output::required(out, capacity, 10, "out") }?;
        let Local::Channels(c) = node_at(scene.data(), node as usize)?.local else {
            let label = scene.data().label(node as usize);
            let text =
                format!("node {label} has a sheared matrix, which has no translation, rotation and scale");
            return Err(Fault::new(SINEW_BAD_INPUT, text));
        };
        let axes = scene.axes;
        let q = c.rotation;
        let (t, v) = (axes.outward(c.translation.to_array()), axes.outward([q.x, q.y, q.z]));
        let s = axes.scale(c.scale.to_array());
        if let Some(place) = place {
            place.fill([t[0], t[1], t[2], v[0], v[1], v[2], q.w, s[0], s[1], s[2]]);
        }
        Ok(())
    })
}

/// The index of the node of that name; of the first, when a name is used twice.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT` (there is none), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_node_find(
    scene: *const sinew_scene,
    name: *const c_char,
    name_length: usize,
    out: *mut u32,
) -> sinew_result {
    let find = |scene: &Scene| {
        // SAFETY: the promises of the crate.
        let name = unsafe { input::name(name, name_length, "name") }?;
        let data = scene.data();
        let missing = || not_found("node", name, data.nodes.iter().map(|n| n.name.as_str()));
        data.find(name).map(|i| i as u32).ok_or_else(missing)
    };
    // SAFETY: the promises of the crate.
    unsafe { answer(scene, out, find) }
}

/// Clips of the scene; their indices count from 0.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_clip_count(scene: *const sinew_scene, out: *mut u32) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { answer(scene, out, |scene| Ok(scene.data().clips.len() as u32)) }
}

/// Copies a clip's name, which may be empty (see "Texts").
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_clip_name(
    scene: *const sinew_scene,
    clip: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        // SAFETY: the promises of the crate.
        unsafe { output::text(&clip_at(&scene, clip)?.name, buffer, capacity, length) }
    })
}

/// The index of the clip of that name.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT` (there is none), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_clip_find(
    scene: *const sinew_scene,
    name: *const c_char,
    name_length: usize,
    out: *mut u32,
) -> sinew_result {
    let find = |scene: &Scene| {
        // SAFETY: the promises of the crate.
        let name = unsafe { input::name(name, name_length, "name") }?;
        let data = scene.data();
        let missing = || not_found("clip", name, data.clips.iter().map(|c| c.name.as_str()));
        data.find_clip(name).map(|i| i as u32).ok_or_else(missing)
    };
    // SAFETY: the promises of the crate.
    unsafe { answer(scene, out, find) }
}

/// Times of a clip's first and last key, in seconds; both 0 without keys.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_clip_range(
    scene: *const sinew_scene,
    clip: u32,
    out_first: *mut f64,
    out_last: *mut f64,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        // SAFETY: the promises of the crate.
        let (first, last) = unsafe { (Out::new(out_first, "out_first")?, Out::new(out_last, "out_last")?) };
        let range = clip_at(&scene, clip)?.range().unwrap_or((0.0, 0.0));
        first.set(range.0);
        last.set(range.1);
        Ok(())
    })
}

/// Curves of a clip; their indices count from 0.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_curve_count(
    scene: *const sinew_scene,
    clip: u32,
    out: *mut u32,
) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { answer(scene, out, |scene| Ok(clip_at(scene, clip)?.channels.len() as u32)) }
}

/// What a curve of a clip has. Set `info->struct_size` first.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_curve_info(
    scene: *const sinew_scene,
    clip: u32,
    curve: u32,
    info: *mut sinew_curve_info,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        let found = curve::info(curve::at(&clip_at(&scene, clip)?.channels, curve as usize)?);
        // SAFETY: the promises of the crate.
        unsafe { options::write(info, &found) }
    })
}

/// Copies a curve's keys, in the host's axes. `times` has room for `key_capacity` numbers, `values`, `arriving` and
/// `leaving` for that times the curve's width; each may be NULL. Tangents of a curve that is not cubic are zeros.
///
/// Thread: any, `const`. Errors: `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_curve_read(
    scene: *const sinew_scene,
    clip: u32,
    curve: u32,
    key_capacity: usize,
    times: *mut f64,
    values: *mut f64,
    arriving: *mut f64,
    leaving: *mut f64,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        let channel = curve::at(&clip_at(&scene, clip)?.channels, curve as usize)?;
        // SAFETY: the promises of the crate.
        unsafe { curve::copy(channel, scene.axes, key_capacity, Places { times, values, arriving, leaving }) }
    })
}

/// Answers a question about a scene with one value.
///
/// # Safety
/// The promises of the crate for outputs.
unsafe fn answer<T>(
    scene: *const sinew_scene,
    out: *mut T,
    ask: impl FnOnce(&Scene) -> Result<T, Fault>,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        // SAFETY: the same promises.
        let out = unsafe { Out::new(out, "out") }?;
        out.set(ask(&scene)?);
        Ok(())
    })
}

fn clip_at(scene: &Scene, clip: u32) -> Result<&Clip, Fault> {
    let clips = &scene.data().clips;
    clips.get(clip as usize).ok_or_else(|| {
        Fault::new(SINEW_OUT_OF_RANGE, format!("there is no clip {clip}; the scene has {}", clips.len()))
    })
}

fn not_found<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Fault {
    let hint = nearest(name, known.filter(|n| !n.is_empty())).map_or_else(
        || format!("list them with sinew_scene_{what}_name"),
        |n| format!("did you mean \"{n}\"?"),
    );
    Fault::new(SINEW_BAD_INPUT, format!("the scene has no {what} called \"{name}\"; {hint}"))
}
