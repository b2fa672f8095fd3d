//! Skeletons: their joints as nodes, their animation as curves, and what they bind.
//!
//! A joint's rest, and its animation, is its transform in its parent joint. Joints without a parent are in the
//! skeleton prim. A mesh is bound by `skel:skeleton`, `skel:joints`, `primvars:skel:*`, each of which a prim has from the
//! nearest ancestor that says it. At bind a point of the mesh is at `geomBindTransform`, a joint at its bind transform.

use super::motion::{self, Moving};
use super::read::{Builder, type_of};
use super::stage::{Opened, said};
use super::value::{self, Samples};
use super::{Home, SkeletonHome};
use crate::error::Error;
use crate::gltf::decompose;
use glam::{DAffine3, DMat4, DQuat, DVec3};
use openusd::usd::{Prim, Stage};
use sinew_core::scene::{Channels, Influence, Local, Skin};
use std::collections::HashMap;

/// More joints than this are no skeleton.
const MOST_JOINTS: usize = 1_000_000;

/// The matrices of an array attribute, as many as there are joints; `None` without.
fn matrices(prim: &Prim, name: &str, joints: usize) -> Result<Option<Vec<DMat4>>, Error> {
    let Some(numbers) = value::read(prim, name)? else { return Ok(None) };
    if numbers.len() != joints * 16 {
        let what = format!("has {} matrices for {joints} joints", numbers.len() / 16);
        return Err(Error::input(what).at(&format!("<{}.{name}>", prim.path().as_str())));
    }
    Ok(Some(numbers.chunks_exact(16).map(DMat4::from_cols_slice).collect()))
}

/// Adds the joints of a skeleton below its node.
pub(super) fn read(prim: &Prim, node: usize, builder: &mut Builder) -> Result<(), Error> {
    let place = format!("<{}>", prim.path().as_str());
    let joints = value::words(prim, "joints")?.unwrap_or_default();
    if joints.len() > MOST_JOINTS {
        return Err(Error::input(format!("{} joints are more than a skeleton has", joints.len())).at(&place));
    }
    let index: HashMap<&str, usize> = joints.iter().enumerate().map(|(i, j)| (j.as_str(), i)).collect();
    if index.len() != joints.len() {
        return Err(
            Error::input("a joint is named twice in `joints`; every joint has a path of its own").at(&place)
        );
    }
    let parent = |joint: &str| -> Option<usize> {
        let mut path = joint;
        while let Some((above, _)) = path.rsplit_once('/') {
            if let Some(&i) = index.get(above) {
                return Some(i);
            }
            path = above;
        }
        None
    };
    let parents: Vec<Option<usize>> = joints.iter().map(|j| parent(j)).collect();
    if let Some(late) = (0..joints.len()).find(|&i| parents[i].is_some_and(|p| p >= i)) {
        let what = format!("the joint \"{}\" comes before its parent; parents come first", joints[late]);
        return Err(Error::input(what).at(&place));
    }
    let bind = matrices(prim, "bindTransforms", joints.len())?;
    let rest = matrices(prim, "restTransforms", joints.len())?;
    // Without a rest, that of the bind.
    let rest = rest.or_else(|| {
        let bind = bind.as_ref()?;
        Some((0..joints.len()).map(|i| parents[i].map_or(bind[i], |p| bind[p].inverse() * bind[i])).collect())
    });
    let rest = rest.unwrap_or_else(|| vec![DMat4::IDENTITY; joints.len()]);
    let animation = animation(prim)?;
    let source = animation.as_ref().map(|a| a.path().as_str().to_owned());
    let tracks = animation.map(|a| Tracks::read(&a)).transpose()?.flatten();
    let mut nodes = Vec::with_capacity(joints.len());
    let home = builder.read.skeletons.len();
    let units = builder.read.units;
    for (i, joint) in joints.iter().enumerate() {
        let row = tracks.as_ref().and_then(|t| t.rows.get(joint.as_str()).copied());
        let moving = match (&tracks, row) {
            (Some(tracks), Some(row)) => tracks.moving(row, &units),
            _ => Ok(resting(&rest[i], &units)),
        };
        let moving =
            moving.map_err(|e| Error::input(e.to_string()).at(&format!("{place}, joint \"{joint}\"")))?;
        let above = parents[i].map_or(node, |p: usize| nodes[p]);
        let full = format!("{}/{joint}", prim.path().as_str());
        let short = joint.rsplit('/').next().unwrap_or(joint).to_owned();
        nodes.push(builder.node(Home::Joint(home, i), full, short, Some(above), moving));
    }
    builder.read.skeletons.push(SkeletonHome {
        path: prim.path().as_str().to_owned(),
        joints,
        nodes,
        bind: bind.unwrap_or_default(),
        source,
    });
    Ok(())
}

fn resting(rest: &DMat4, units: &super::units::Units) -> Moving {
    let rest = match decompose(*rest) {
        Some(c) => Local::Channels(units.channels(&c, false)),
        None => Local::Matrix(DMat4::from(units.affine(&DAffine3::from_mat4(*rest), false))),
    };
    Moving { rest, curves: Vec::new() }
}

/// The nearest of a prim and its ancestors that says `name`, and what it targets.
fn inherited(prim: &Prim, name: &str) -> Result<Option<Prim>, Error> {
    let mut at = Some(prim.clone());
    while let Some(prim) = at {
        if let Some(path) = value::targets(&prim, name)?.first() {
            return prim.stage().prim(path).map(Some).map_err(|e| Error::input(said(&e)));
        }
        at = prim.parent();
    }
    Ok(None)
}

/// The animation that moves a skeleton.
fn animation(skeleton: &Prim) -> Result<Option<Prim>, Error> {
    let Some(found) = inherited(skeleton, "skel:animationSource")? else { return Ok(None) };
    Ok(if type_of(&found)? == "SkelAnimation" { Some(found) } else { None })
}

/// Animation of joints: arrays over time.
struct Tracks {
    /// Which row of the arrays each joint has.
    rows: HashMap<String, usize>,
    translations: Samples,
    rotations: Samples,
    scales: Samples,
    /// Time codes of all samples; empty where nothing moves.
    times: Vec<f64>,
}

impl Tracks {
    /// `None` for an animation that lacks one of its three parts, which USD does not play either.
    fn read(prim: &Prim) -> Result<Option<Tracks>, Error> {
        let joints = value::words(prim, "joints")?.unwrap_or_default();
        let part = |name: &str, width: usize| -> Result<Option<Samples>, Error> {
            let Some(samples) = value::samples(&prim.attribute(name))? else { return Ok(None) };
            for (time, values) in samples.times.iter().zip(&samples.values) {
                if values.len() != joints.len() * width {
                    let what = format!(
                        "has {} values at time code {time} for {} joints",
                        values.len() / width,
                        joints.len()
                    );
                    return Err(Error::input(what).at(&format!("<{}.{name}>", prim.path().as_str())));
                }
            }
            Ok(Some(samples))
        };
        let (Some(translations), Some(rotations), Some(scales)) =
            (part("translations", 3)?, part("rotations", 4)?, part("scales", 3)?)
        else {
            return Ok(None);
        };
        let all = [&translations, &rotations, &scales];
        let mut times: Vec<f64> =
            all.iter().filter(|s| s.moves()).flat_map(|s| s.times.iter().copied()).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let rows = joints.into_iter().enumerate().map(|(i, j)| (j, i)).collect();
        Ok(Some(Tracks { rows, translations, rotations, scales, times }))
    }

    fn moving(
        &self,
        row: usize,
        units: &super::units::Units,
    ) -> Result<Moving, sinew_core::curve::CurveError> {
        let times = if self.times.is_empty() { vec![0.0] } else { self.times.clone() };
        let part = |of: &Samples, width: usize, t: f64| of.row(row, width, t);
        let at = |t: &f64| {
            let rotation = DQuat::from_slice(&part(&self.rotations, 4, *t));
            let rotation = if rotation.length() < 1e-12 { DQuat::IDENTITY } else { rotation.normalize() };
            let c = Channels {
                translation: DVec3::from_slice(&part(&self.translations, 3, *t)),
                rotation,
                scale: DVec3::from_slice(&part(&self.scales, 3, *t)),
            };
            units.channels(&c, false)
        };
        let channels: Vec<Channels> = times.iter().map(at).collect();
        let seconds: Vec<f64> = times.iter().map(|t| units.seconds(*t)).collect();
        motion::linear(&seconds, &channels)
    }
}

/// Binds meshes to skeletons: skins, and influences of their vertices.
pub(super) fn bind(opened: &Opened, builder: &mut Builder) -> Result<(), Error> {
    if builder.read.skeletons.is_empty() {
        return Ok(());
    }
    let meshes: Vec<(String, usize)> = builder
        .read
        .prims
        .iter()
        .filter(|p| builder.read.scene.nodes[p.node].mesh.is_some())
        .map(|p| (p.path.clone(), p.node))
        .collect();
    for (path, node) in meshes {
        bind_one(&opened.stage, &path, node, builder)?;
    }
    Ok(())
}

fn bind_one(stage: &Stage, path: &str, node: usize, builder: &mut Builder) -> Result<(), Error> {
    let prim = stage.prim(path).map_err(|e| Error::input(said(&e)))?;
    let Some(skeleton) = inherited(&prim, "skel:skeleton")? else { return Ok(()) };
    let at = builder.read.skeletons.iter().position(|s| s.path == skeleton.path().as_str());
    let Some(at) = at else { return Ok(()) };
    let from = |name: &str| -> Result<Option<Prim>, Error> {
        let mut at = Some(prim.clone());
        while let Some(p) = at {
            if p.attribute(name).has_authored_value().map_err(|e| Error::input(said(&e)))? {
                return Ok(Some(p));
            }
            at = p.parent();
        }
        Ok(None)
    };
    let (Some(on), Some(weights_on)) =
        (from("primvars:skel:jointIndices")?, from("primvars:skel:jointWeights")?)
    else {
        return Ok(());
    };
    let bound = &builder.read.skeletons[at];
    let order: Vec<usize> = match from("skel:joints")? {
        Some(p) => {
            let names = value::words(&p, "skel:joints")?.unwrap_or_default();
            let find = |name: &String| {
                bound.joints.iter().position(|j| j == name).ok_or_else(|| {
                    let what = format!("names the joint \"{name}\", which <{}> does not have", bound.path);
                    Error::input(what).at(&format!("<{path}.skel:joints>"))
                })
            };
            names.iter().map(find).collect::<Result<_, _>>()?
        }
        None => (0..bound.joints.len()).collect(),
    };
    let geom = value::read(&prim, "primvars:skel:geomBindTransform")?.filter(|m| m.len() == 16);
    let geom = geom.map_or(DMat4::IDENTITY, |m| DMat4::from_cols_slice(&m));
    let units = builder.read.units;
    let to_bone = |j: usize| {
        let bind = bound.bind.get(j).copied().unwrap_or(DMat4::IDENTITY);
        units.affine(&DAffine3::from_mat4(bind.inverse() * geom), false)
    };
    let skin = Skin {
        joints: order.iter().map(|&j| bound.nodes[j]).collect(),
        inverse_bind: order.iter().map(|&j| to_bone(j)).collect(),
    };
    if skin.inverse_bind.iter().any(|a| !a.is_finite()) {
        return Err(Error::input("a bind transform is flat, so nothing can be bound to it")
            .at(&format!("<{}>", bound.path)));
    }
    let Some(mesh) = builder.read.scene.nodes[node].mesh else { return Ok(()) };
    let vertices = builder.read.scene.meshes[mesh].positions.len();
    let influences = influences(&on, &weights_on, vertices, order.len())?;
    if !influences.is_empty() {
        builder.read.scene.meshes[mesh].influences = influences;
        builder.read.scene.nodes[node].skin = Some(builder.read.scene.skins.len());
        builder.read.scene.skins.push(skin);
    }
    Ok(())
}

/// Which joints pull at which vertices; the weights of a vertex sum to 1.
fn influences(on: &Prim, weights_on: &Prim, vertices: usize, joints: usize) -> Result<Vec<Influence>, Error> {
    let name = "primvars:skel:jointIndices";
    let place = format!("<{}.{name}>", on.path().as_str());
    let indices = value::indices(on, name, joints.max(1))?.unwrap_or_default();
    let weights = value::read(weights_on, "primvars:skel:jointWeights")?.unwrap_or_default();
    if indices.len() != weights.len() {
        let what = format!("has {} indices, but there are {} jointWeights", indices.len(), weights.len());
        return Err(Error::input(what).at(&place));
    }
    let attribute = on.attribute(name);
    let bad = |e: openusd::Error| Error::input(said(&e)).at(&place);
    let word = attribute.get_metadata::<openusd::sdf::Value>("interpolation").map_err(bad)?;
    let is_rigid = word.as_ref().and_then(value::text).as_deref() == Some("constant");
    let per = match is_rigid {
        true => indices.len(),
        false if vertices > 0 && indices.len() % vertices == 0 => indices.len() / vertices,
        false => {
            let what = format!("has {} indices, which {vertices} points cannot share evenly", indices.len());
            return Err(Error::input(what).at(&place));
        }
    };
    if per == 0 || vertices.saturating_mul(per) > 400_000_000 {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for vertex in 0..vertices {
        let begin = if is_rigid { 0 } else { vertex * per };
        let sum: f64 = weights[begin..begin + per].iter().filter(|w| **w > 0.0).sum();
        for k in begin..begin + per {
            if weights[k] > 0.0 {
                let (vertex, joint) = (vertex as u32, indices[k] as u32);
                out.push(Influence { vertex, joint, weight: weights[k] / sum });
            }
        }
    }
    Ok(out)
}
