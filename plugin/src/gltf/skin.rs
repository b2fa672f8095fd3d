//! Skins: the bones, how they were bound, and which of them pull at which vertices.
//!
//! Fails on accessors of a wrong type or count, and on weights that are no numbers. Bones that a skin does not have
//! become a warning: viewers differ on them, and all that hangs on them here is the shape of bodies.

use super::accessor::{Accessor, Component, Data};
use super::entry::Entry;
use crate::error::Error;
use glam::{DAffine3, DMat4};
use sinew_core::scene::{Influence, Scene, Skin};

/// Reads one skin.
pub(super) fn read(entry: &Entry<'_>, data: &Data<'_>, nodes: usize) -> Result<Skin, Error> {
    let joints = entry.indices("joints", "node", nodes)?;
    let Some(matrices) = entry.index("inverseBindMatrices", "accessor", data.count())? else {
        return Ok(Skin { joints, inverse_bind: Vec::new() });
    };
    let accessor = data.describe(matrices)?;
    if accessor.width != 16 || accessor.component != Component::F32 {
        return Err(entry.fault("`inverseBindMatrices` must be MAT4 of floats"));
    }
    if accessor.count < joints.len() as u64 {
        return Err(entry.fault(format!(
            "there are {} `inverseBindMatrices` for {} joints",
            accessor.count,
            joints.len()
        )));
    }
    // Compressed bytes are not read here; the bones are then taken as bound where they are not, so better as none.
    if data.compression(&accessor)?.is_some() {
        return Ok(Skin { joints, inverse_bind: Vec::new() });
    }
    let numbers = data.numbers(&accessor)?;
    if let Some(bad) = numbers.iter().position(|v| !v.is_finite()) {
        return Err(accessor.entry.fault(format!("matrix {} is not made of finite numbers", bad / 16)));
    }
    let matrices = numbers.chunks_exact(16).take(joints.len());
    let inverse_bind = matrices.map(|m| DAffine3::from_mat4(DMat4::from_cols_slice(m))).collect();
    Ok(Skin { joints, inverse_bind })
}

/// Appends what the `JOINTS_n` and `WEIGHTS_n` of a primitive say of its `count` vertices, the first of which is number
/// `base` of the mesh. Weights are made to sum to 1, since quantised ones hardly ever do.
pub(super) fn influences(
    attributes: &Entry<'_>,
    data: &Data<'_>,
    base: usize,
    count: u64,
    out: &mut Vec<Influence>,
) -> Result<(), Error> {
    let mut sets = Vec::new();
    for n in 0.. {
        let index = |name: &str| attributes.index(&format!("{name}_{n}"), "accessor", data.count());
        let (joints, weights) = match (index("JOINTS")?, index("WEIGHTS")?) {
            (Some(joints), Some(weights)) => (data.describe(joints)?, data.describe(weights)?),
            (None, None) => break,
            _ => {
                return Err(
                    attributes.fault(format!("JOINTS_{n} and WEIGHTS_{n} come together; one is missing"))
                );
            }
        };
        let unsigned = matches!(joints.component, Component::U8 | Component::U16);
        if joints.width != 4 || !unsigned || joints.normalized {
            return Err(attributes.fault(format!("JOINTS_{n} must be VEC4 of 8 or 16 bit integers")));
        }
        let real = weights.component == Component::F32
            || matches!(weights.component, Component::U8 | Component::U16) && weights.normalized;
        if weights.width != 4 || !real {
            return Err(
                attributes.fault(format!("WEIGHTS_{n} must be VEC4 of floats or of normalized integers"))
            );
        }
        for (name, accessor) in [("JOINTS", &joints), ("WEIGHTS", &weights)] {
            if accessor.count != count {
                let has = accessor.count;
                return Err(attributes.fault(format!("{name}_{n} has {has} elements for {count} positions")));
            }
        }
        if data.compression(&joints)?.is_some() || data.compression(&weights)?.is_some() {
            return Ok(());
        }
        sets.push((data.numbers(&joints)?, weights_of(&weights, data)?));
    }
    for vertex in 0..count as usize {
        let begin = out.len();
        let mut sum = 0.0;
        for (joints, weights) in &sets {
            for k in 4 * vertex..4 * vertex + 4 {
                if weights[k] > 0.0 {
                    sum += weights[k];
                    // Within u32 both: `positions` checked the one, the other is 16 bits wide.
                    let (vertex, joint) = ((base + vertex) as u32, joints[k] as u32);
                    out.push(Influence { vertex, joint, weight: weights[k] });
                }
            }
        }
        out[begin..].iter_mut().for_each(|i| i.weight /= sum);
    }
    Ok(())
}

fn weights_of(accessor: &Accessor<'_>, data: &Data<'_>) -> Result<Vec<f64>, Error> {
    let weights = data.numbers(accessor)?;
    match weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        None => Ok(weights),
        Some(bad) => Err(accessor.entry.fault(format!("a weight of vertex {} is not 0 or more", bad / 4))),
    }
}

/// Drops the influences of meshes whose skins do not have the bones that they name, with a warning for each.
pub(super) fn check(entries: &[Entry<'_>], scene: &mut Scene, warnings: &mut Vec<String>) {
    for (entry, node) in entries.iter().zip(&scene.nodes) {
        let (Some(mesh), Some(skin)) = (node.mesh, node.skin) else { continue };
        let bones = scene.skins[skin].joints.len();
        let influences = &mut scene.meshes[mesh].influences;
        if let Some(bad) = influences.iter().find(|i| i.joint as usize >= bones) {
            warnings.push(format!(
                "{}: vertex {} is pulled by bone {}, but its skin has {bones}; no bone gets its shape from this mesh",
                entry.place(),
                bad.vertex,
                bad.joint
            ));
            influences.clear();
        }
    }
}
