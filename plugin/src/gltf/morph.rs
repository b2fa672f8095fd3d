//! Adding morph targets to a node's mesh.
//!
//! New targets go behind those the mesh has, with weights of zero, so that whatever was shown before is shown still:
//! keyed weights of other clips get zeros for them. A mesh that other nodes show as well is copied for this one.
//! As with clips, no byte that was there is changed, and all checks come before the first change.

use super::Document;
use super::accessor::Data;
use super::animation;
use super::clip::array;
use super::entry::Entry;
use crate::error::Error;
use glam::{DQuat, DVec3};
use serde_json::{Value, json};
use sinew_core::bake::Deformation;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Mesh, Property};
use std::collections::HashMap;

/// Decoded bytes permitted here, as if from a document of that size: the file was read once already.
const BUDGET: usize = 1 << 24;

/// Where a primitive's vertices are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Source {
    position: usize,
    count: usize,
    /// Accessor of the normals, where targets should have some.
    normal: Option<usize>,
    /// Its first vertex among the scene's; `None` for points and lines, which stay as they are.
    base: Option<usize>,
}

/// What is known before anything is changed.
struct Plan {
    mesh: usize,
    shared: bool,
    /// Targets that there are.
    old: usize,
    primitives: Vec<Source>,
    /// A normal for each of the scene's vertices, where there is one.
    normals: Vec<Option<DVec3>>,
    /// Weights that other clips key: animation, channel, and the numbers with zeros put in.
    keyed: Vec<(usize, usize, Vec<f32>)>,
}

impl Document {
    /// Adds the targets of a deformation and returns the curve of its weights, for a clip to come. What the clip
    /// `source` keys of weights that there were goes along, at every one of `frames` (s).
    pub fn add_deformation(
        &mut self,
        deformation: &Deformation,
        source: Option<usize>,
        frames: &[f64],
    ) -> Result<Channel, Error> {
        let node = deformation.node;
        let place = format!("morph targets of node {}", animation::label(&self.scene, node));
        let plan = self.plan(node, &deformation.targets).map_err(|e| e.at(&place).in_file(&self.file))?;
        let old = plan.old;
        let resting = self.resting_weights(node, plan.mesh, old);
        let before = source.and_then(|s| self.scene.clips.get(s)?.curve(node, Property::Weights).cloned());
        self.put(node, plan, &deformation.targets).map_err(|e| e.at(&place).in_file(&self.file))?;

        let new = deformation.targets.len();
        let curve = |width: usize, times: &[f64], values: Vec<f64>| {
            Curve::new(Kind::Vector, width, times.to_vec(), values, Segments::Linear)
                .map_err(|e| Error::input(e.to_string()).at(&place).in_file(&self.file))
        };
        let own = curve(new, &deformation.times, deformation.weights.clone())?;
        let times = if before.is_some() { frames } else { &deformation.times };
        let mut values = Vec::with_capacity(times.len() * (old + new));
        let (mut front, mut back) = (resting, vec![0.0; new]);
        for &time in times {
            if let Some(before) = &before {
                before.evaluate(time, &mut front);
            }
            own.evaluate(time, &mut back);
            values.extend(front.iter().chain(&back));
        }
        Ok(Channel { node, property: Property::Weights, curve: curve(old + new, times, values)? })
    }

    fn plan(&self, node: usize, targets: &[Vec<DVec3>]) -> Result<Plan, Error> {
        let mesh = self.scene.nodes.get(node).and_then(|n| n.mesh);
        let mesh = mesh.ok_or_else(|| Error::input("the node has no mesh"))?;
        let vertices = self.scene.meshes[mesh].positions.len();
        if targets.is_empty() || targets.iter().any(|t| t.len() != vertices) {
            return Err(Error::input(format!("each needs a displacement for all {vertices} vertices")));
        }
        if let Some(d) = targets.iter().flatten().find(|d| !d.as_vec3().is_finite()) {
            return Err(Error::input(format!("{d} is not finite in single precision")));
        }
        let root = Entry::root(&self.json)?;
        let data = Data::new(&root, &self.buffers, BUDGET)?;
        let entry = &root.list("meshes", "mesh")?[mesh];
        let mut bases: HashMap<usize, usize> = HashMap::new();
        let mut normals = vec![None; vertices];
        let (mut primitives, mut old, mut next) = (Vec::new(), None, 0);
        for primitive in entry.list("primitives", "primitive")? {
            let has = primitive.list("targets", "target")?;
            if old.is_some_and(|o| o != has.len()) {
                return Err(primitive.fault("has other morph targets than the first primitive"));
            }
            old = Some(has.len());
            let attributes = primitive.object("attributes")?;
            let of = |name: &str| match &attributes {
                Some(a) => a.index(name, "accessor", data.count()),
                None => Ok(None),
            };
            let Some(position) = of("POSITION")? else {
                return Err(primitive.fault("has no POSITION to displace"));
            };
            let count = data.describe(position)?.count as usize;
            let solid = primitive.size("mode")?.unwrap_or(4) >= 4;
            let base = solid.then(|| {
                *bases.entry(position).or_insert_with(|| {
                    next += count;
                    next - count
                })
            });
            // Readers take targets for alike: normals in all of them, or in none.
            let alike = has.iter().all(|t| t.get("NORMAL").is_some());
            let normal = of("NORMAL")?.filter(|_| alike);
            if let (Some(base), Some(normal)) = (base, normal) {
                let numbers = data.numbers(&data.describe(normal)?)?;
                for (to, n) in normals[base..].iter_mut().zip(numbers.chunks_exact(3)).take(count) {
                    to.get_or_insert(DVec3::from_slice(n));
                }
            }
            primitives.push(Source { position, count, normal, base });
        }
        if next != vertices {
            return Err(entry.fault("its primitives do not add up to its vertices"));
        }
        let old = old.unwrap_or(0);
        let shared = self.scene.nodes.iter().enumerate().any(|(i, n)| i != node && n.mesh == Some(mesh));
        let keyed = self.keyed_weights(&root, &data, node, old, targets.len())?;
        Ok(Plan { mesh, shared, old, primitives, normals, keyed })
    }

    /// The weights of a node that clips key, with zeros for new targets.
    fn keyed_weights(
        &self,
        root: &Entry<'_>,
        data: &Data<'_>,
        node: usize,
        old: usize,
        new: usize,
    ) -> Result<Vec<(usize, usize, Vec<f32>)>, Error> {
        let mut keyed = Vec::new();
        if old == 0 {
            return Ok(keyed);
        }
        for (a, clip) in root.list("animations", "animation")?.iter().enumerate() {
            let samplers = clip.list("samplers", "sampler")?;
            for (c, channel) in clip.list("channels", "channel")?.iter().enumerate() {
                if animation::target(channel, self.scene.nodes.len())? != Ok((node, Property::Weights)) {
                    continue;
                }
                let sampler = &samplers[channel.need_index("sampler", "sampler", samplers.len())?];
                let output = data.describe(sampler.need_index("output", "accessor", data.count())?)?;
                let numbers = data.numbers(&output)?;
                let wider = numbers
                    .chunks(old)
                    .flat_map(|key| key.iter().map(|&w| w as f32).chain(std::iter::repeat_n(0.0, new)));
                keyed.push((a, c, wider.collect()));
            }
        }
        Ok(keyed)
    }

    fn resting_weights(&self, node: usize, mesh: usize, old: usize) -> Vec<f64> {
        let of = |value: &Value| {
            let list = value.get("weights")?.as_array()?;
            Some(list.iter().filter_map(Value::as_f64).collect::<Vec<f64>>())
        };
        let mut weights =
            of(&self.json["nodes"][node]).or_else(|| of(&self.json["meshes"][mesh])).unwrap_or_default();
        weights.resize(old, 0.0);
        weights
    }

    fn put(&mut self, node: usize, plan: Plan, targets: &[Vec<DVec3>]) -> Result<(), Error> {
        let bent = bent(&self.scene.meshes[plan.mesh], &plan.normals, targets);
        let mesh = match plan.shared {
            true => self.copy_mesh(node, plan.mesh)?,
            false => plan.mesh,
        };
        // Accessors of what primitives share are shared.
        let mut made: HashMap<Source, Vec<Value>> = HashMap::new();
        let mut numbers: Vec<f32> = Vec::new();
        let mut accessors: Vec<Value> = Vec::new();
        let first = array(&mut self.json, "accessors")?.len();
        let view = array(&mut self.json, "bufferViews")?.len();
        for source in &plan.primitives {
            made.entry(*source).or_insert_with(|| {
                let mut add = |all: Option<&[DVec3]>| {
                    let deltas: Vec<[f32; 3]> = match (all, source.base) {
                        (Some(all), Some(base)) => {
                            all[base..base + source.count].iter().map(|d| d.as_vec3().to_array()).collect()
                        }
                        _ => vec![[0.0; 3]; source.count],
                    };
                    accessors.push(vectors(view, numbers.len() * 4, &deltas));
                    numbers.extend(deltas.iter().flatten());
                    first + accessors.len() - 1
                };
                let target = |(positions, normals): (&Vec<DVec3>, &Vec<DVec3>)| {
                    let mut target = json!({ "POSITION": add(Some(positions)) });
                    if source.normal.is_some() {
                        target["NORMAL"] = json!(add(Some(normals)));
                    }
                    target
                };
                targets.iter().zip(&bent).map(target).collect()
            });
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
        let (buffer, offset) = self.grow(&bytes)?;
        array(&mut self.json, "bufferViews")?.push(json!({
            "buffer": buffer, "byteOffset": offset, "byteLength": bytes.len(), "byteStride": 12, "target": 34962
        }));
        array(&mut self.json, "accessors")?.extend(accessors);
        self.list_targets(node, mesh, &plan, &made, targets.len())?;
        self.widen_weights(node, &plan, targets.len())
    }

    /// A copy of a mesh for one node alone.
    fn copy_mesh(&mut self, node: usize, mesh: usize) -> Result<usize, Error> {
        let meshes = array(&mut self.json, "meshes")?;
        let copy = meshes[mesh].clone();
        meshes.push(copy);
        let new = meshes.len() - 1;
        array(&mut self.json, "nodes")?[node]["mesh"] = json!(new);
        let copy = self.scene.meshes[mesh].clone();
        self.scene.meshes.push(copy);
        self.scene.nodes[node].mesh = Some(new);
        Ok(new)
    }

    /// Appends the targets to the primitives, with names and resting weights where the file has them.
    fn list_targets(
        &mut self,
        node: usize,
        mesh: usize,
        plan: &Plan,
        made: &HashMap<Source, Vec<Value>>,
        new: usize,
    ) -> Result<(), Error> {
        let zeros = |weights: Option<&mut Value>| {
            if let Some(list) = weights.and_then(Value::as_array_mut) {
                list.extend(std::iter::repeat_n(json!(0.0), new));
            }
        };
        zeros(array(&mut self.json, "nodes")?[node].get_mut("weights"));
        let entry = &mut array(&mut self.json, "meshes")?[mesh];
        zeros(entry.get_mut("weights"));
        for (source, primitive) in
            plan.primitives.iter().zip(entry["primitives"].as_array_mut().into_iter().flatten())
        {
            let list = primitive.as_object_mut().map(|o| o.entry("targets").or_insert_with(|| json!([])));
            if let Some(list) = list.and_then(Value::as_array_mut) {
                list.extend(made[source].iter().cloned());
            }
        }
        // Names for some targets would be names for the wrong ones.
        let extras = entry.as_object_mut().map(|o| o.entry("extras").or_insert_with(|| json!({})));
        if let Some(extras) = extras.and_then(Value::as_object_mut) {
            if plan.old == 0 {
                extras.insert("targetNames".into(), json!([]));
            }
            let names = extras.get_mut("targetNames").and_then(Value::as_array_mut);
            if let Some(names) = names.filter(|n| n.len() == plan.old) {
                names.extend((0..new).map(|i| json!(format!("Sinew {}", plan.old + i + 1))));
            }
        }
        Ok(())
    }

    /// Puts zeros for new targets into what clips key.
    fn widen_weights(&mut self, node: usize, plan: &Plan, new: usize) -> Result<(), Error> {
        for (animation, channel, numbers) in &plan.keyed {
            let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
            let (buffer, offset) = self.grow(&bytes)?;
            let views = array(&mut self.json, "bufferViews")?;
            views.push(json!({ "buffer": buffer, "byteOffset": offset, "byteLength": bytes.len() }));
            let view = views.len() - 1;
            let accessors = array(&mut self.json, "accessors")?;
            accessors.push(json!({
                "bufferView": view, "componentType": 5126, "count": numbers.len(), "type": "SCALAR"
            }));
            let output = accessors.len() - 1;
            // A sampler of its own: another channel may use the old one.
            let clip = &mut array(&mut self.json, "animations")?[*animation];
            let old = clip["channels"][*channel]["sampler"].as_u64().unwrap_or(0) as usize;
            let mut sampler = clip["samplers"][old].clone();
            sampler["output"] = json!(output);
            let samplers = clip["samplers"].as_array_mut();
            let samplers = samplers.ok_or_else(|| Error::input("a clip has no samplers"))?;
            samplers.push(sampler);
            let at = samplers.len() - 1;
            clip["channels"][*channel]["sampler"] = json!(at);
        }
        for clip in &mut self.scene.clips {
            for channel in &mut clip.channels {
                if channel.node == node && channel.property == Property::Weights {
                    let wider = widened(&channel.curve, new);
                    channel.curve = wider.map_err(|e| Error::input(e.to_string()))?;
                }
            }
        }
        Ok(())
    }
}

/// A curve with `new` zeros behind each key's numbers.
fn widened(curve: &Curve, new: usize) -> Result<Curve, sinew_core::curve::CurveError> {
    let width = curve.width();
    let wider = |numbers: &[f64]| -> Vec<f64> {
        numbers.chunks(width).flat_map(|k| k.iter().copied().chain(std::iter::repeat_n(0.0, new))).collect()
    };
    let segments = match curve.segments() {
        Segments::Cubic { arriving, leaving } => {
            Segments::Cubic { arriving: wider(arriving), leaving: wider(leaving) }
        }
        other => other.clone(),
    };
    Curve::new(curve.kind(), width + new, curve.times().to_vec(), wider(curve.values()), segments)
}

/// How normals turn with each target: each as its vertex's faces do. Vertices at one place with one normal are one;
/// formats split them at seams of textures.
fn bent(mesh: &Mesh, normals: &[Option<DVec3>], targets: &[Vec<DVec3>]) -> Vec<Vec<DVec3>> {
    let mut groups: HashMap<[u64; 6], usize> = HashMap::new();
    let bits = |v: DVec3| (v + DVec3::ZERO).to_array().map(f64::to_bits);
    let group: Vec<usize> = mesh
        .positions
        .iter()
        .zip(normals)
        .map(|(p, n)| {
            let ([a, b, c], [d, e, f]) = (bits(*p), bits(n.unwrap_or(DVec3::ZERO)));
            let next = groups.len();
            *groups.entry([a, b, c, d, e, f]).or_insert(next)
        })
        .collect();
    let faces = |displaced: &[DVec3]| {
        let mut sums = vec![DVec3::ZERO; groups.len()];
        for t in &mesh.triangles {
            let [i, j, k] = t.map(|i| i as usize);
            let at = |v: usize| mesh.positions[v] + displaced[v];
            let area = (at(j) - at(i)).cross(at(k) - at(i));
            [i, j, k].iter().for_each(|&v| sums[group[v]] += area);
        }
        sums
    };
    if normals.iter().all(Option::is_none) {
        return vec![Vec::new(); targets.len()];
    }
    let rest = faces(&vec![DVec3::ZERO; mesh.positions.len()]);
    let turned = |target: &Vec<DVec3>| {
        let now = faces(target);
        let turn = |v: usize| {
            let n = normals[v]?;
            let (from, to) = (rest[group[v]].try_normalize()?, now[group[v]].try_normalize()?);
            // Faces that did not move leave no rounding behind.
            (from != to).then(|| DQuat::from_rotation_arc(from, to) * n - n)
        };
        (0..normals.len()).map(|v| turn(v).unwrap_or(DVec3::ZERO)).collect()
    };
    targets.iter().map(turned).collect()
}

/// An accessor of vectors with their bounds, which positions must have.
fn vectors(view: usize, offset: usize, vectors: &[[f32; 3]]) -> Value {
    let bound = |pick: fn(f32, f32) -> f32, from: f32| {
        let mut all = [from; 3];
        vectors.iter().for_each(|v| (0..3).for_each(|k| all[k] = pick(all[k], v[k])));
        all.map(f64::from)
    };
    json!({
        "bufferView": view, "byteOffset": offset, "componentType": 5126, "count": vectors.len(), "type": "VEC3",
        "min": bound(f32::min, f32::INFINITY), "max": bound(f32::max, f32::NEG_INFINITY)
    })
}
