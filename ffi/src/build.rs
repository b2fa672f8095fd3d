//! A scene out of the host's memory: nodes, meshes, skins, clips, curves.

use crate::axes::Axes;
use crate::curve::{self, sinew_curve};
use crate::guard::guard;
use crate::live;
use crate::output::Out;
use crate::result::{Fault, SINEW_NOT_SUPPORTED, SINEW_OUT_OF_RANGE, sinew_result};
use crate::scene::{Scene, Source, sinew_scene};
use crate::{input, options, versioned};
use glam::{DQuat, DVec3};
use sinew_core::scene::{Channels, Clip, Local, Mesh, Node, Skin};
use std::ffi::c_char;

/// No node, no parent.
pub const SINEW_NONE: u32 = u32::MAX;

/// How the host sees the world. All zeros for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_scene_options {
    /// `sizeof(sinew_scene_options)`.
    pub struct_size: u32,
    /// `SINEW_UP_Y` or `SINEW_UP_Z`. Positions, rotations and scales, in and out, are in these axes. Vectors inside
    /// a set-up are always Y up, since a set-up serves every host.
    pub up_axis: i32,
    /// Metres per unit of length, for automatic set-ups. 0: guessed from the size of the meshes.
    pub metres_per_unit: f64,
    /// Frames per second that the host plays at. 0: guessed from the spacing of the keys.
    pub frames_per_second: f64,
}

versioned!(sinew_scene_options { struct_size, up_axis: i32, metres_per_unit: f64, frames_per_second: f64 });

/// Fills in the defaults. `struct_size` is `sizeof(sinew_scene_options)`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_options_init(
    options: *mut sinew_scene_options,
    struct_size: usize,
) -> sinew_result {
    // SAFETY: writable over `struct_size` bytes (promises of the crate).
    guard(|| unsafe { options::init(options, struct_size) })
}

/// Makes an empty scene for a host that has no file. `name` is for messages, `options` may be NULL. The new scene
/// goes to `out` and is the caller's, to be freed with `sinew_scene_free`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_create(
    name: *const c_char,
    name_length: usize,
    options: *const sinew_scene_options,
    out: *mut *mut sinew_scene,
) -> sinew_result {
    guard(|| {
        // SAFETY: the promises of the crate.
        let (out, name, options) = unsafe {
            (Out::new(out, "out")?, input::text(name, name_length, "name")?, options::read(options)?)
        };
        let known = |value: f64, what: &str| match value {
            0.0 => Ok(None),
            v => positive(v, what).map(Some),
        };
        let frames_per_second = known(options.frames_per_second, "frames_per_second")?;
        let scene = sinew_core::scene::Scene {
            name: name.to_string(),
            frames_per_second: frames_per_second.unwrap_or(24.0),
            ..Default::default()
        };
        out.set(live::insert(Scene {
            source: Source::Host(scene),
            axes: Axes::new(options.up_axis)?,
            metres_per_unit: known(options.metres_per_unit, "metres_per_unit")?,
            frame_rate_is_known: frames_per_second.is_some(),
        }));
        Ok(())
    })
}

/// Sets the frames per second that the host plays at.
///
/// Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene is from a file), handle
/// errors.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_scene_set_frame_rate(
    scene: *mut sinew_scene,
    frames_per_second: f64,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene.cast_const())?;
        let mut scene = scene.write()?;
        data(&mut scene)?.frames_per_second = positive(frames_per_second, "frames_per_second")?;
        scene.frame_rate_is_known = true;
        Ok(())
    })
}

/// Adds a node. `parent` is the index of an earlier node, or `SINEW_NONE`. `transform` is ten numbers: translation
/// xyz, rotation xyzw, scale xyz, relative to the parent and applied scale first; NULL for none. Its index goes to
/// `out`, which may be NULL; indices count from 0.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene
/// is from a file), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_add_node(
    scene: *mut sinew_scene,
    name: *const c_char,
    name_length: usize,
    parent: u32,
    transform: *const f64,
    out: *mut u32,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene.cast_const())?;
        let mut scene = scene.write()?;
        let axes = scene.axes;
        let data = data(&mut scene)?;
        // SAFETY: the promises of the crate; ten numbers, or NULL for none.
        let (out, name, transform) = unsafe {
            (
                Out::maybe(out, "out")?,
                input::text(name, name_length, "name")?,
                input::array(transform, if transform.is_null() { 0 } else { 10 }, "transform")?,
            )
        };
        let parent = (parent != SINEW_NONE).then_some(parent as usize);
        if let Some(parent) = parent {
            node_at(data, parent)?;
        }
        let index = u32::try_from(data.nodes.len()).ok().filter(|i| *i != SINEW_NONE).ok_or_else(|| {
            Fault::new(SINEW_OUT_OF_RANGE, "the scene has as many nodes as the interface can number")
        })?;
        let local = Local::Channels(channels(axes, transform, name)?);
        data.nodes.push(Node { name: name.to_string(), parent, local, ..Default::default() });
        out.set(index);
        Ok(())
    })
}

/// Gives a node a mesh, for its mass and shape: `vertex_count` positions of three numbers in the node's frame, and
/// `triangle_count` triangles of three vertex indices. Without triangles only the extent of the positions counts.
/// All is copied.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene
/// is from a file), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_set_mesh(
    scene: *mut sinew_scene,
    node: u32,
    positions: *const f64,
    vertex_count: usize,
    triangles: *const u32,
    triangle_count: usize,
) -> sinew_result {
    // SAFETY: the promises of the crate.
    guard(|| unsafe { set_mesh(scene, node, positions, vertex_count, (triangles, triangle_count)) })
}

/// As `sinew_scene_set_mesh`, with positions in single precision.
///
/// Thread: one at a time. Errors: as `sinew_scene_set_mesh`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_set_mesh_f32(
    scene: *mut sinew_scene,
    node: u32,
    positions: *const f32,
    vertex_count: usize,
    triangles: *const u32,
    triangle_count: usize,
) -> sinew_result {
    // SAFETY: the promises of the crate.
    guard(|| unsafe { set_mesh(scene, node, positions, vertex_count, (triangles, triangle_count)) })
}

/// # Safety
/// The promises of the crate for arrays.
unsafe fn set_mesh<N: Copy + Into<f64>>(
    scene: *mut sinew_scene,
    node: u32,
    positions: *const N,
    vertex_count: usize,
    (triangles, triangle_count): (*const u32, usize),
) -> Result<(), Fault> {
    let scene = live::get(scene.cast_const())?;
    let mut scene = scene.write()?;
    let axes = scene.axes;
    let data = data(&mut scene)?;
    let node = node as usize;
    let name = node_at(data, node)?.name.clone();
    // SAFETY: three numbers per vertex and per triangle; a product that overflows is no array in memory.
    let (positions, triangles) = unsafe {
        (
            input::array(positions, vertex_count.saturating_mul(3), "positions")?,
            input::array(triangles, triangle_count.saturating_mul(3), "triangles")?,
        )
    };
    let point = |p: &[N]| DVec3::from_array(axes.inward([p[0].into(), p[1].into(), p[2].into()]));
    let mut positions: Vec<DVec3> = positions.chunks_exact(3).map(point).collect();
    if let Some(i) = positions.iter().position(|p| !p.is_finite()) {
        return Err(Fault::argument(format!("position {i} of node \"{name}\" is not a finite number")));
    }
    if let Some(i) = triangles.iter().find(|i| **i as usize >= positions.len()) {
        let text = format!("a triangle of node \"{name}\" has vertex {i}, but there are {}", positions.len());
        return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
    }
    if triangles.is_empty() && !positions.is_empty() {
        let (low, high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let corners = positions.iter().fold((low, high), |(lo, hi), p| (lo.min(*p), hi.max(*p)));
        positions = vec![corners.0, corners.1];
    }
    let triangles = triangles.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect();
    let mesh = Mesh { name, positions, triangles, ..Mesh::default() };
    match data.nodes[node].mesh {
        Some(at) => data.meshes[at] = mesh,
        None => {
            data.nodes[node].mesh = Some(data.meshes.len());
            data.meshes.push(mesh);
        }
    }
    Ok(())
}

/// Says that a node's mesh is deformed by bones: `joint_count` node indices. Bones are simulated differently from
/// objects; nothing is skinned here.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene
/// is from a file), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_set_skin(
    scene: *mut sinew_scene,
    node: u32,
    joints: *const u32,
    joint_count: usize,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene.cast_const())?;
        let mut scene = scene.write()?;
        let data = data(&mut scene)?;
        let node = node as usize;
        node_at(data, node)?;
        // SAFETY: the promises of the crate.
        let joints = unsafe { input::array(joints, joint_count, "joints") }?;
        let joints: Vec<usize> = joints.iter().map(|j| *j as usize).collect();
        for &joint in &joints {
            node_at(data, joint)?;
        }
        match data.nodes[node].skin {
            Some(at) => data.skins[at] = Skin { joints, ..Skin::default() },
            None => {
                data.nodes[node].skin = Some(data.skins.len());
                data.skins.push(Skin { joints, ..Skin::default() });
            }
        }
        Ok(())
    })
}

/// Adds an empty clip. Its index goes to `out`, which may be NULL.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_NOT_SUPPORTED` (the scene is from a file),
/// handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_add_clip(
    scene: *mut sinew_scene,
    name: *const c_char,
    name_length: usize,
    out: *mut u32,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene.cast_const())?;
        let mut scene = scene.write()?;
        let data = data(&mut scene)?;
        // SAFETY: the promises of the crate.
        let (out, name) = unsafe { (Out::maybe(out, "out")?, input::text(name, name_length, "name")?) };
        data.clips.push(Clip { name: name.to_string(), channels: Vec::new() });
        out.set(data.clips.len() as u32 - 1);
        Ok(())
    })
}

/// Adds a curve to a clip: one per node and property. All is copied.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT` (the keys make no curve),
/// `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene is from a file), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_add_curve(
    scene: *mut sinew_scene,
    clip: u32,
    curve: *const sinew_curve,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene.cast_const())?;
        let mut scene = scene.write()?;
        let axes = scene.axes;
        let data = data(&mut scene)?;
        // SAFETY: the promises of the crate.
        let channel = unsafe { curve::read(curve, axes, data) }?;
        let label = data.label(channel.node);
        let clips = data.clips.len();
        let clip = data.clips.get_mut(clip as usize).ok_or_else(|| {
            Fault::new(SINEW_OUT_OF_RANGE, format!("there is no clip {clip}; the scene has {clips}"))
        })?;
        if clip.curve(channel.node, channel.property).is_some() {
            return Err(Fault::argument(format!(
                "node {label} already has a curve on this property in the clip \"{}\"; one is allowed",
                clip.name
            )));
        }
        clip.channels.push(channel);
        Ok(())
    })
}

/// The host's own scene, to change.
pub(crate) fn data(scene: &mut Scene) -> Result<&mut sinew_core::scene::Scene, Fault> {
    match &mut scene.source {
        Source::Host(data) => Ok(data),
        Source::Document(_) => Err(Fault::new(
            SINEW_NOT_SUPPORTED,
            "a scene opened from glTF is not edited; build one with sinew_scene_create",
        )),
    }
}

/// The node of that index.
pub(crate) fn node_at(data: &sinew_core::scene::Scene, node: usize) -> Result<&Node, Fault> {
    data.nodes.get(node).ok_or_else(|| {
        Fault::new(SINEW_OUT_OF_RANGE, format!("there is no node {node}; the scene has {}", data.nodes.len()))
    })
}

fn positive(value: f64, what: &str) -> Result<f64, Fault> {
    match value.is_finite() && value > 0.0 {
        true => Ok(value),
        false => Err(Fault::new(SINEW_OUT_OF_RANGE, format!("{what} is {value}; it must be above 0"))),
    }
}

fn channels(axes: Axes, transform: &[f64], name: &str) -> Result<Channels, Fault> {
    let &[tx, ty, tz, qx, qy, qz, qw, sx, sy, sz] = transform else { return Ok(Channels::default()) };
    if !transform.iter().all(|v| v.is_finite()) {
        return Err(Fault::argument(format!(
            "the transform of node \"{name}\" has a number that is not finite"
        )));
    }
    let [x, y, z] = axes.inward([qx, qy, qz]);
    let rotation = DQuat::from_xyzw(x, y, z, qw);
    if rotation.length() < 1e-12 {
        return Err(Fault::argument(format!(
            "the rotation of node \"{name}\" is a quaternion of length zero"
        )));
    }
    Ok(Channels {
        translation: DVec3::from_array(axes.inward([tx, ty, tz])),
        // A unit quaternion keeps its bits.
        rotation: if (rotation.length() - 1.0).abs() < 1e-15 { rotation } else { rotation.normalize() },
        scale: DVec3::from_array(axes.scale([sx, sy, sz])),
    })
}
