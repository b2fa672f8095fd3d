//! How bones pull at the vertices of a mesh out of the host's memory.

use crate::axes::Axes;
use crate::build::{data, node_at};
use crate::guard::guard;
use crate::input;
use crate::live;
use crate::result::{Fault, SINEW_OUT_OF_RANGE, sinew_result};
use crate::scene::sinew_scene;
use glam::{DAffine3, DVec3};
use sinew_core::scene::Influence;

/// Says how bones pull at the vertices of a node's mesh, so that bones get the shape of what follows them. Of the node,
/// mesh and skin must be there. `count` pulls, each a vertex, the place of a bone in the skin's list, and a weight above
/// 0; those of a vertex are scaled to sum to 1. `bind` is sixteen numbers per bone of the skin, column after column: from
/// the mesh's space to the bone's as they were bound, as glTF's inverse bind matrices; NULL where bones are bound at the
/// mesh's origin. All is copied, and setting the mesh or the skin again forgets it.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene
/// is from a file), handle errors. The scene is then as before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_set_weights(
    scene: *mut sinew_scene,
    node: u32,
    vertices: *const u32,
    joints: *const u32,
    weights: *const f64,
    count: usize,
    bind: *const f64,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene.cast_const())?;
        let mut scene = scene.write()?;
        let axes = scene.axes;
        let data = data(&mut scene)?;
        let node = node_at(data, node as usize)?;
        let name = node.name.clone();
        let (Some(mesh), Some(skin)) = (node.mesh, node.skin) else {
            let text = format!("node \"{name}\" has no mesh or no skin; set both before the weights");
            return Err(Fault::argument(text));
        };
        let bones = data.skins[skin].joints.len();
        // SAFETY: the promises of the crate; sixteen numbers per bone, or NULL for none.
        let (vertices, joints, weights, bind) = unsafe {
            (
                input::array(vertices, count, "vertices")?,
                input::array(joints, count, "joints")?,
                input::array(weights, count, "weights")?,
                input::array(bind, if bind.is_null() { 0 } else { 16 * bones }, "bind")?,
            )
        };
        let inverse_bind =
            bind.chunks_exact(16).map(|m| matrix(axes, m, &name)).collect::<Result<Vec<_>, _>>()?;
        let positions = data.meshes[mesh].positions.len();
        let mut influences = Vec::with_capacity(count);
        for ((&vertex, &joint), &weight) in vertices.iter().zip(joints).zip(weights) {
            if vertex as usize >= positions || joint as usize >= bones {
                let text = format!(
                    "bone {joint} pulls at vertex {vertex} of node \"{name}\", which has {bones} bones and {positions} vertices"
                );
                return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
            }
            if !(weight.is_finite() && weight > 0.0) {
                let text =
                    format!("a weight of vertex {vertex} of node \"{name}\" is {weight}; it must be above 0");
                return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
            }
            influences.push(Influence { vertex, joint, weight });
        }
        data.meshes[mesh].influences = in_order(influences);
        data.skins[skin].inverse_bind = inverse_bind;
        Ok(())
    })
}

/// Vertex by vertex, the weights of each summing to 1.
fn in_order(mut influences: Vec<Influence>) -> Vec<Influence> {
    influences.sort_by_key(|i| (i.vertex, i.joint));
    for of_vertex in influences.chunk_by_mut(|a, b| a.vertex == b.vertex) {
        let sum: f64 = of_vertex.iter().map(|i| i.weight).sum();
        of_vertex.iter_mut().for_each(|i| i.weight /= sum);
    }
    influences
}

/// A matrix of the host, in the axes inside: both spaces that it leads between are turned.
fn matrix(axes: Axes, columns: &[f64], name: &str) -> Result<DAffine3, Fault> {
    if !columns.iter().all(|v| v.is_finite()) {
        return Err(Fault::argument(format!(
            "a bind matrix of node \"{name}\" has a number that is not finite"
        )));
    }
    let column = |i: usize| DVec3::new(columns[4 * i], columns[4 * i + 1], columns[4 * i + 2]);
    let outside = DAffine3::from_cols(column(0), column(1), column(2), column(3));
    let turned = |v: DVec3| DVec3::from_array(axes.inward(v.to_array()));
    let seen = |v: DVec3| turned(outside.transform_vector3(DVec3::from_array(axes.outward(v.to_array()))));
    Ok(DAffine3::from_cols(seen(DVec3::X), seen(DVec3::Y), seen(DVec3::Z), turned(outside.translation)))
}
