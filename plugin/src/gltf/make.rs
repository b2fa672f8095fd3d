//! A document of a scene that came from elsewhere: hierarchy, meshes, skins, cameras, one clip.
//!
//! Numbers become single precision. Of a vertex's bones the four that pull most are kept.

use super::{Document, PhysicsDialect, ReadOptions};
use crate::document::{Camera, Foreign};
use crate::error::Error;
use glam::{DAffine3, DMat4};
use serde_json::{Value, json};
use sinew_core::curve::Segments;
use sinew_core::scene::{Channel, Clip, Local, Mesh, Property, Scene};
use sinew_core::setup::Setup;
use std::collections::HashMap;

/// Collects bytes and the views and accessors on them.
#[derive(Default)]
struct Bytes {
    data: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Bytes {
    fn add(&mut self, bytes: &[u8], target: Option<u32>, accessor: Value) -> usize {
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        let mut view = json!({ "buffer": 0, "byteOffset": self.data.len(), "byteLength": bytes.len() });
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.data.extend_from_slice(bytes);
        self.views.push(view);
        let mut accessor = accessor;
        accessor["bufferView"] = json!(self.views.len() - 1);
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn floats(&mut self, numbers: impl IntoIterator<Item = f64>, kind: &str, target: Option<u32>) -> usize {
        let floats: Vec<f32> = numbers.into_iter().map(|v| v as f32).collect();
        let width = match kind {
            "SCALAR" => 1,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        let bytes: Vec<u8> = floats.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut accessor = json!({ "componentType": 5126, "count": floats.len() / width, "type": kind });
        if matches!(kind, "SCALAR" | "VEC3") {
            let fold = |from: f32, f: fn(f32, f32) -> f32| -> Vec<f32> {
                (0..width).map(|i| floats.iter().skip(i).step_by(width).fold(from, |m, v| f(m, *v))).collect()
            };
            accessor["min"] = json!(fold(f32::INFINITY, f32::min));
            accessor["max"] = json!(fold(f32::NEG_INFINITY, f32::max));
        }
        self.add(&bytes, target, accessor)
    }
}

/// What a buffer view is for, in glTF's numbers.
const VERTICES: Option<u32> = Some(34962);
const INDICES: Option<u32> = Some(34963);

impl Document {
    /// A document of a scene from elsewhere. Returns what is lost, too.
    pub(crate) fn of_scene(foreign: &Foreign<'_>, name: &str) -> Result<(Document, Vec<String>), Error> {
        let scene = foreign.scene;
        let mut bytes = Bytes::default();
        let mut warnings = Vec::new();
        let meshes: Vec<Value> = scene.meshes.iter().map(|m| mesh(m, &mut bytes)).collect();
        let skins: Vec<Value> = scene
            .skins
            .iter()
            .map(|s| {
                let matrices = (0..s.joints.len()).flat_map(|j| DMat4::from(s.to_bone(j)).to_cols_array());
                json!({ "joints": s.joints, "inverseBindMatrices": bytes.floats(matrices, "MAT4", None) })
            })
            .collect();
        let cameras: Vec<usize> =
            (0..scene.nodes.len()).filter(|n| foreign.cameras.contains_key(n)).collect();
        let index: HashMap<usize, usize> = cameras.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        let children = scene.children();
        let mut nodes: Vec<Value> = (0..scene.nodes.len()).map(|n| node(scene, n, &children)).collect();
        for (n, found) in scene.nodes.iter().enumerate() {
            if let Some(m) = found.mesh.filter(|m| has_surface(&scene.meshes[*m])) {
                nodes[n]["mesh"] = json!(surface_index(scene, m));
                if let Some(skin) = found.skin.filter(|_| !scene.meshes[m].influences.is_empty()) {
                    nodes[n]["skin"] = json!(skin);
                }
            }
            if let Some(i) = index.get(&n) {
                nodes[n]["camera"] = json!(i);
            }
        }
        let roots: Vec<usize> = (0..scene.nodes.len()).filter(|&n| scene.nodes[n].parent.is_none()).collect();
        let clip = foreign.clip.and_then(|c| scene.clips.get(c));
        let animations: Vec<Value> =
            clip.and_then(|c| animation(c, &mut bytes, &mut warnings)).into_iter().collect();
        let mut json = json!({ "asset": { "version": "2.0", "generator": "Sinew" } });
        let mut put = |key: &str, list: Vec<Value>| {
            if !list.is_empty() {
                json[key] = Value::Array(list);
            }
        };
        put("nodes", nodes);
        put("meshes", meshes.into_iter().filter(|m| !m.is_null()).collect());
        put("skins", skins);
        put("cameras", cameras.iter().map(|n| camera(&foreign.cameras[n])).collect());
        put("animations", animations);
        put("accessors", bytes.accessors);
        put("bufferViews", bytes.views);
        if !bytes.data.is_empty() {
            json["buffers"] = json!([{ "byteLength": bytes.data.len() }]);
        }
        if !roots.is_empty() {
            json["scenes"] = json!([{ "nodes": roots }]);
            json["scene"] = json!(0);
        }
        let text = serde_json::to_vec(&json).map_err(|e| Error::input(e.to_string()))?;
        let glb = super::glb::join(&text, (!bytes.data.is_empty()).then_some(&bytes.data[..]), &[])?;
        let mut document = Document::from_bytes(&glb, name, None, &ReadOptions::default())?;
        if let Some(setup) = &foreign.setup {
            // The clip that the set-up is for may be another than the one that was written.
            let written = document.scene.clips.first().map(|c| c.name.clone());
            let setup = Setup { clip: written, ..setup.clone() };
            let said = document.set_physics(&setup, PhysicsDialect::Khronos);
            warnings.extend(said.map_err(|e| Error::input(e.to_string()).in_file(name))?);
        }
        Ok((document, warnings))
    }

    /// The cameras of the document, by node.
    pub(crate) fn cameras(&self) -> HashMap<usize, Camera> {
        let list = &self.json["cameras"];
        let of = |node: usize| {
            let camera = &list[self.json["nodes"][node]["camera"].as_u64()? as usize];
            let number = |of: &Value, key: &str| of[key].as_f64();
            let (perspective, flat) = (&camera["perspective"], &camera["orthographic"]);
            if perspective.is_object() {
                return Some(Camera {
                    angle: number(perspective, "yfov"),
                    sides: [number(perspective, "aspectRatio").unwrap_or(1.5), 1.0],
                    range: [
                        number(perspective, "znear")?,
                        number(perspective, "zfar").unwrap_or(f64::INFINITY),
                    ],
                });
            }
            Some(Camera {
                angle: None,
                sides: [number(flat, "xmag")?, number(flat, "ymag")?],
                range: [number(flat, "znear")?, number(flat, "zfar")?],
            })
        };
        (0..self.scene.nodes.len()).filter_map(|n| Some((n, of(n)?))).collect()
    }
}

fn has_surface(mesh: &Mesh) -> bool {
    !mesh.triangles.is_empty() && !mesh.positions.is_empty()
}

/// The index of a mesh among those that have a surface.
fn surface_index(scene: &Scene, mesh: usize) -> usize {
    scene.meshes[..mesh].iter().filter(|m| has_surface(m)).count()
}

/// A mesh; null without a surface.
fn mesh(mesh: &Mesh, bytes: &mut Bytes) -> Value {
    if !has_surface(mesh) {
        return Value::Null;
    }
    let position = bytes.floats(mesh.positions.iter().flat_map(|p| p.to_array()), "VEC3", VERTICES);
    let corners: Vec<u8> = mesh.triangles.iter().flatten().flat_map(|i| i.to_le_bytes()).collect();
    let count = mesh.triangles.len() * 3;
    let indices =
        bytes.add(&corners, INDICES, json!({ "componentType": 5125, "count": count, "type": "SCALAR" }));
    let mut attributes = json!({ "POSITION": position });
    if !mesh.influences.is_empty() {
        let (joints, weights) = four(mesh);
        let words: Vec<u8> = joints.iter().flat_map(|j| j.to_le_bytes()).collect();
        let count = mesh.positions.len();
        let accessor = json!({ "componentType": 5123, "count": count, "type": "VEC4" });
        attributes["JOINTS_0"] = json!(bytes.add(&words, VERTICES, accessor));
        attributes["WEIGHTS_0"] = json!(bytes.floats(weights, "VEC4", VERTICES));
    }
    json!({ "name": mesh.name, "primitives": [{ "attributes": attributes, "indices": indices }] })
}

/// Joints and weights of every vertex, four each.
fn four(mesh: &Mesh) -> (Vec<u16>, Vec<f64>) {
    let mut of_vertex: Vec<Vec<(f64, u32)>> = vec![Vec::new(); mesh.positions.len()];
    mesh.influences.iter().for_each(|i| of_vertex[i.vertex as usize].push((i.weight, i.joint)));
    let (mut joints, mut weights) = (Vec::new(), Vec::new());
    for mut pulls in of_vertex {
        pulls.sort_by(|a, b| b.0.total_cmp(&a.0));
        pulls.truncate(4);
        // A vertex that nothing pulls at follows the first bone: glTF wants weights that sum to 1.
        if pulls.is_empty() {
            pulls.push((1.0, 0));
        }
        let sum: f64 = pulls.iter().map(|p| p.0).sum();
        for k in 0..4 {
            let (weight, joint) = pulls.get(k).copied().unwrap_or((0.0, 0));
            joints.push(joint as u16);
            weights.push(weight / sum);
        }
    }
    (joints, weights)
}

fn node(scene: &Scene, n: usize, children: &[Vec<usize>]) -> Value {
    let mut value = json!({ "name": scene.nodes[n].name });
    match &scene.nodes[n].local {
        Local::Channels(c) => {
            value["translation"] = json!(c.translation.to_array());
            value["rotation"] = json!(c.rotation.to_array());
            value["scale"] = json!(c.scale.to_array());
        }
        Local::Matrix(m) => value["matrix"] = json!(DMat4::from(DAffine3::from_mat4(*m)).to_cols_array()),
    }
    if !children[n].is_empty() {
        value["children"] = json!(children[n]);
    }
    value
}

fn camera(camera: &Camera) -> Value {
    let [near, far] = camera.range;
    let near = near.max(1e-4);
    match camera.angle {
        Some(angle) => {
            let mut lens =
                json!({ "yfov": angle, "aspectRatio": camera.sides[0] / camera.sides[1], "znear": near });
            if far.is_finite() && far > near && far < 1e9 {
                lens["zfar"] = json!(far);
            }
            json!({ "type": "perspective", "perspective": lens })
        }
        None => {
            let far = if far.is_finite() && far > near { far } else { near + 1e6 };
            let lens =
                json!({ "xmag": camera.sides[0], "ymag": camera.sides[1], "znear": near, "zfar": far });
            json!({ "type": "orthographic", "orthographic": lens })
        }
    }
}

/// The animation of a clip, from time 0 on: glTF has no time before that.
fn animation(clip: &Clip, bytes: &mut Bytes, warnings: &mut Vec<String>) -> Option<Value> {
    let start = clip.range().map_or(0.0, |r| r.0).min(0.0);
    if start < 0.0 {
        warnings.push(format!(
            "the clip begins {:.3} s before time 0, which glTF has not: it is moved there",
            -start
        ));
    }
    let mut samplers = Vec::new();
    let mut channels = Vec::new();
    for Channel { node, property, curve } in &clip.channels {
        let (path, kind) = match property {
            Property::Translation => ("translation", "VEC3"),
            Property::Rotation => ("rotation", "VEC4"),
            Property::Scale => ("scale", "VEC3"),
            Property::Weights => continue,
        };
        let width = curve.width();
        let values = curve.values();
        // In single precision, as glTF has them, keys may coincide: then the last of them counts.
        let times: Vec<f32> = curve.times().iter().map(|t| (t - start) as f32).collect();
        let kept: Vec<usize> =
            (0..times.len()).filter(|&k| times.get(k + 1).is_none_or(|next| *next > times[k])).collect();
        let pick = |of: &[f64]| -> Vec<f64> {
            kept.iter().flat_map(|k| of[k * width..(k + 1) * width].to_vec()).collect()
        };
        let (word, output): (&str, Vec<f64>) = match curve.segments() {
            Segments::Step => ("STEP", pick(values)),
            // The specification wants two keys of a cubic; one key holds whatever it is called.
            Segments::Cubic { arriving, leaving } if kept.len() > 1 => {
                let key = |k: &usize| {
                    let part = |of: &[f64]| of[k * width..(k + 1) * width].to_vec();
                    [part(arriving), part(values), part(leaving)].concat()
                };
                ("CUBICSPLINE", kept.iter().flat_map(key).collect())
            }
            Segments::Linear | Segments::Cubic { .. } => ("LINEAR", pick(values)),
        };
        let input = bytes.floats(kept.iter().map(|k| f64::from(times[*k])), "SCALAR", None);
        let output = bytes.floats(output, kind, None);
        samplers.push(json!({ "input": input, "output": output, "interpolation": word }));
        channels.push(json!({ "sampler": samplers.len() - 1, "target": { "node": node, "path": path } }));
    }
    (!channels.is_empty()).then(|| json!({ "name": clip.name, "samplers": samplers, "channels": channels }))
}
