//! Puts an example scene together as one self-contained glTF document with one clip.

use super::solid::{self, Solid};
use base64::Engine;
use glam::{DQuat, DVec3};
use serde_json::{Value, json};

/// A document in the making.
pub(super) struct Maker {
    clip: String,
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    materials: Vec<Value>,
    meshes: Vec<Value>,
    nodes: Vec<Value>,
    skins: Vec<Value>,
    roots: Vec<usize>,
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

const FLOAT: u32 = 5126;
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_BYTE: u32 = 5121;

/// Scenes with more nodes than this are written with a line for each, to stay small.
const MOST_NODES_AT_LENGTH: usize = 40;

impl Maker {
    pub fn new(clip: &str) -> Maker {
        Maker {
            clip: clip.to_owned(),
            bytes: Vec::new(),
            views: Vec::new(),
            accessors: Vec::new(),
            materials: Vec::new(),
            meshes: Vec::new(),
            nodes: Vec::new(),
            skins: Vec::new(),
            roots: Vec::new(),
            samplers: Vec::new(),
            channels: Vec::new(),
        }
    }

    /// A ball; with two colours, one half each, so that one sees it turn.
    pub fn ball(&mut self, radius: f64, colours: &[[f64; 3]]) -> usize {
        // A ball of one colour is a mark in a figure and may be coarse.
        let solid = solid::ball(radius, colours.len());
        let upper = |t: &[u16; 3]| t.iter().map(|i| solid.positions[usize::from(*i)].x).sum::<f64>() > 0.0;
        let parts: Vec<Vec<[u16; 3]>> = match colours.len() {
            1 => vec![solid.triangles.clone()],
            _ => {
                let (a, b) = solid.triangles.iter().copied().partition::<Vec<_>, _>(upper);
                vec![a, b]
            }
        };
        self.mesh(&solid, &parts, colours)
    }

    /// A box around its node.
    pub fn block(&mut self, size: DVec3, colour: [f64; 3]) -> usize {
        let solid = solid::block(size, DVec3::ZERO);
        self.mesh(&solid, std::slice::from_ref(&solid.triangles), &[colour])
    }

    /// A box that begins at its node and lies along x.
    pub fn long_block(&mut self, size: DVec3, colour: [f64; 3]) -> usize {
        let solid = solid::block(size, DVec3::X * size.x * 0.5);
        self.mesh(&solid, std::slice::from_ref(&solid.triangles), &[colour])
    }

    /// A box that hangs from its node.
    pub fn hanging_block(&mut self, size: DVec3, colour: [f64; 3]) -> usize {
        self.of_one_colour(&solid::block(size, -DVec3::Y * size.y * 0.5), colour)
    }

    /// An egg around its node, with these half axes.
    pub fn egg(&mut self, half: DVec3, colour: [f64; 3]) -> usize {
        self.of_one_colour(&solid::ball(1.0, 1).stretched(half), colour)
    }

    /// A level piece with this convex outline in x and z.
    pub fn laid_piece(&mut self, outline: &[[f64; 2]], thickness: f64, colour: [f64; 3]) -> usize {
        self.of_one_colour(&solid::piece(outline, thickness).laid(), colour)
    }

    /// A link of a snake: from its node along x, broad, with pointed ends.
    pub fn scale(&mut self, length: f64, width: f64, colour: [f64; 3]) -> usize {
        let half = DVec3::new(0.55 * length, 0.5 * width, 0.5 * width);
        self.of_one_colour(&solid::ball(1.0, 1).stretched(half).moved(DVec3::X * 0.5 * length), colour)
    }

    /// Any closed mesh.
    pub fn of_one_colour(&mut self, solid: &Solid, colour: [f64; 3]) -> usize {
        self.mesh(solid, std::slice::from_ref(&solid.triangles), &[colour])
    }

    /// A skin: of each bone its node, where it is at rest in the world, what of the skin follows it, in its own axes, and
    /// its colour. Bones at rest are not turned. It is shown by a node of its own.
    pub fn skin(&mut self, name: &str, bones: &[(usize, DVec3, Solid, [f64; 3])]) {
        let mut all = Solid::default();
        let (mut joints, mut parts, mut colours) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (_, at, solid, colour)) in bones.iter().enumerate() {
            let first = all.triangles.len();
            let moved = solid.positions.iter().map(|p| *p + *at).collect();
            all = all.with(&Solid {
                positions: moved,
                normals: solid.normals.clone(),
                triangles: solid.triangles.clone(),
            });
            joints.extend(solid.positions.iter().flat_map(|_| [i as u8, 0, 0, 0]));
            let own = all.triangles[first..].to_vec();
            match colours.iter().position(|c| c == colour) {
                Some(known) => {
                    let part: &mut Vec<[u16; 3]> = &mut parts[known];
                    part.extend(own)
                }
                None => {
                    colours.push(*colour);
                    parts.push(own);
                }
            }
        }
        let count = all.positions.len();
        let mesh = self.mesh(&all, &parts, &colours);
        let joints = self.accessor("VEC4", UNSIGNED_BYTE, count, joints, Some(34962));
        let weights =
            self.floats("VEC4", (0..count).flat_map(|_| [1.0, 0.0, 0.0, 0.0]).collect(), Some(34962));
        for primitive in self.meshes[mesh]["primitives"].as_array_mut().into_iter().flatten() {
            primitive["attributes"]["JOINTS_0"] = json!(joints);
            primitive["attributes"]["WEIGHTS_0"] = json!(weights);
        }
        let back = bones.iter().flat_map(|(_, at, ..)| {
            let mut m = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
            m[12..15].copy_from_slice(&(-*at).to_array());
            m
        });
        let back = self.floats("MAT4", back.collect(), None);
        let bones: Vec<usize> = bones.iter().map(|b| b.0).collect();
        self.skins.push(json!({"joints": bones, "inverseBindMatrices": back}));
        self.roots.push(self.nodes.len());
        self.nodes.push(json!({"name": name, "mesh": mesh, "skin": self.skins.len() - 1}));
    }

    fn mesh(&mut self, solid: &Solid, parts: &[Vec<[u16; 3]>], colours: &[[f64; 3]]) -> usize {
        let positions = self.floats("VEC3", flat(&solid.positions), Some(34962));
        let normals = self.floats("VEC3", flat(&solid.normals), Some(34962));
        let mut primitives = Vec::new();
        for (triangles, [r, g, b]) in parts.iter().zip(colours) {
            let data = triangles.iter().flatten().flat_map(|i| i.to_le_bytes()).collect();
            let indices = self.accessor("SCALAR", UNSIGNED_SHORT, triangles.len() * 3, data, Some(34963));
            primitives.push(json!({
                "attributes": {"POSITION": positions, "NORMAL": normals},
                "indices": indices,
                "material": self.materials.len(),
            }));
            self.materials.push(json!({
                "pbrMetallicRoughness": {
                    "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6,
                },
            }));
        }
        self.meshes.push(json!({"primitives": primitives}));
        self.meshes.len() - 1
    }

    /// A node, at rest at `translation` from its parent.
    pub fn node(
        &mut self,
        name: &str,
        mesh: Option<usize>,
        translation: DVec3,
        parent: Option<usize>,
    ) -> usize {
        let index = self.nodes.len();
        let mut node = json!({"name": name, "translation": translation.to_array()});
        if let Some(mesh) = mesh {
            node["mesh"] = json!(mesh);
        }
        self.nodes.push(node);
        match parent {
            Some(parent) => match self.nodes[parent]["children"].as_array_mut() {
                Some(children) => children.push(json!(index)),
                None => self.nodes[parent]["children"] = json!([index]),
            },
            None => self.roots.push(index),
        }
        index
    }

    /// Turns a node at rest.
    pub fn turned(&mut self, node: usize, rotation: DQuat) {
        self.nodes[node]["rotation"] = json!(rotation.to_array());
    }

    /// Scales a node at rest, alike along all axes.
    pub fn scaled(&mut self, node: usize, scale: f64) {
        self.nodes[node]["scale"] = json!([scale, scale, scale]);
    }

    /// Straight keys on a translation.
    pub fn translate(&mut self, node: usize, times: &[f64], places: &[DVec3]) {
        let values = self.floats("VEC3", flat(places), None);
        self.channel(node, "translation", times, values);
    }

    /// Keys on a rotation, the short way round in between.
    pub fn rotate(&mut self, node: usize, times: &[f64], turns: &[DQuat]) {
        let values = self.floats("VEC4", turns.iter().flat_map(|q| q.to_array()).collect(), None);
        self.channel(node, "rotation", times, values);
    }

    fn channel(&mut self, node: usize, path: &str, times: &[f64], output: usize) {
        let input = self.floats("SCALAR", times.to_vec(), None);
        self.channels.push(json!({"sampler": self.samplers.len(), "target": {"node": node, "path": path}}));
        self.samplers.push(json!({"input": input, "output": output, "interpolation": "LINEAR"}));
    }

    fn floats(&mut self, kind: &str, values: Vec<f64>, target: Option<u32>) -> usize {
        let width = match kind {
            "SCALAR" => 1,
            "VEC3" => 3,
            "MAT4" => 16,
            _ => 4,
        };
        let stored: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        let data = stored.iter().flat_map(|v| v.to_le_bytes()).collect();
        let index = self.accessor(kind, FLOAT, values.len() / width, data, target);
        if width < 4 {
            // Required for key times and positions.
            let bound = |pick: fn(f32, f32) -> f32| -> Vec<f32> {
                let of = |c: usize| stored.iter().skip(c).step_by(width).copied().reduce(pick);
                (0..width).filter_map(of).collect()
            };
            self.accessors[index]["min"] = json!(bound(f32::min));
            self.accessors[index]["max"] = json!(bound(f32::max));
        }
        index
    }

    fn accessor(&mut self, kind: &str, code: u32, count: usize, data: Vec<u8>, target: Option<u32>) -> usize {
        let start = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(start, 0);
        let mut view = json!({"buffer": 0, "byteOffset": start, "byteLength": data.len()});
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.bytes.extend(data);
        self.views.push(view);
        let view = self.views.len() - 1;
        self.accessors.push(json!({"bufferView": view, "componentType": code, "type": kind, "count": count}));
        self.accessors.len() - 1
    }

    /// The whole file.
    pub fn finish(self) -> String {
        let data = base64::engine::general_purpose::STANDARD.encode(&self.bytes);
        let many = self.nodes.len() > MOST_NODES_AT_LENGTH;
        let mut document = json!({
            "asset": {"version": "2.0", "generator": "Sinew example scenes"},
            "scene": 0,
            "scenes": [{"nodes": self.roots}],
            "nodes": if many { json!("NODES") } else { json!(self.nodes) },
            "meshes": self.meshes,
            "materials": self.materials,
            "animations": [{"name": self.clip, "samplers": self.samplers, "channels": self.channels}],
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{
                "byteLength": self.bytes.len(), "uri": format!("data:application/octet-stream;base64,{data}"),
            }],
        });
        if !self.skins.is_empty() {
            document["skins"] = json!(self.skins);
        }
        // A clip must move something.
        if self.channels.is_empty() {
            document.as_object_mut().expect("it is an object").remove("animations");
        }
        let mut text = serde_json::to_string_pretty(&document).expect("plain values become text");
        if many {
            let lines: Vec<String> = self.nodes.iter().map(|n| format!("    {n}")).collect();
            text = text.replace("\"NODES\"", &format!("[\n{}\n  ]", lines.join(",\n")));
        }
        text.push('\n');
        text
    }
}

fn flat(points: &[DVec3]) -> Vec<f64> {
    points.iter().flat_map(|p| p.to_array()).collect()
}
