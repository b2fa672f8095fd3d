//! A scene from elsewhere as a new stage: its own units, Y up, 24 time codes per second or what the scene has.
//!
//! Every node is a prim of a name that USD allows. A mesh is on its node's own prim, unless another mesh is below that.
//! The joints of all skins become one skeleton for each node that they hang on; what is attached to a joint is put beside the
//! skeleton and moves as it did. Curves that are straight between keys keep these; others are sampled at every frame.

use super::edits::Edits;
use super::save::bytes;
use super::{Destination, Document, stage};
use crate::document::{Camera, Foreign, renamed};
use crate::error::Error;
use crate::files::{self, Staging};
use crate::gltf::ReadOptions;
use glam::{DAffine3, DMat4, DVec3};
use openusd::gf;
use openusd::sdf::{self, AbstractData, Value};
use sinew_core::curve::{Curve, Segments};
use sinew_core::scene::{Channels, Clip, Local, Mesh, Pose, Property, Scene};
use sinew_core::setup::Setup;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// The prim around everything.
const ROOT: &str = "/Root";

impl Document {
    /// Stages a scene from elsewhere. Returns what is lost.
    pub(crate) fn stage_scene(
        foreign: &Foreign<'_>,
        path: &Path,
        staging: &mut Staging,
    ) -> Result<Vec<String>, Error> {
        let name = path.display().to_string();
        let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let is_package = ending == "usdz";
        let first = if is_package { "usdc" } else { &ending };
        let mut exporter = Exporter::new(foreign);
        let layer = stage::apart(&name, || exporter.layer(first))?;
        let warnings = std::mem::take(&mut exporter.warnings);
        if foreign.setup.is_none() && !is_package {
            staging.write(path, &layer).map_err(|e| Error::from(e).in_file(&name))?;
            return Ok(warnings);
        }
        // Physics is written into a stage, and a package is made of one: so it is put down first, for as long as it takes.
        let room = |e| Error::io("there is no room to write it", e).in_file(&name);
        let scratch = files::scratch().map_err(room)?;
        let stem = path.file_stem().map_or("scene".into(), |s| s.to_string_lossy().into_owned());
        let aside = scratch.path().join(format!("{stem}.{first}"));
        std::fs::write(&aside, &layer).map_err(room)?;
        let mut document = Document::open(&aside, &ReadOptions::default())?;
        if let Some(setup) = &foreign.setup {
            let names = document.names_by_path();
            let by_node: HashMap<String, String> = exporter
                .paths
                .iter()
                .enumerate()
                .filter_map(|(n, path)| Some((exporter.reference(n), names.get(path.as_ref()?)?.clone())))
                .collect();
            let mut setup = renamed(setup.clone(), &|n| by_node.get(n).cloned())
                .map_err(|e| Error::input(e.to_string()).in_file(&name))?;
            setup.clip = document.scene.clips.first().map(|c| c.name.clone());
            document.set_physics(&setup);
        }
        let mut said = document.stage(path, Destination::Flat, staging)?.remarks;
        said.splice(0..0, warnings);
        Ok(said)
    }
}

struct Exporter<'a> {
    foreign: &'a Foreign<'a>,
    scene: &'a Scene,
    clip: Option<&'a Clip>,
    rate: f64,
    /// The prim, or the skeleton and joint, of each node.
    paths: Vec<Option<String>>,
    /// Nodes that are joints.
    joints: HashSet<usize>,
    warnings: Vec<String>,
}

impl<'a> Exporter<'a> {
    fn new(foreign: &'a Foreign<'a>) -> Self {
        let scene = foreign.scene;
        let mut joints: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
        // What lies between two joints is one too: a skeleton has no gaps.
        for node in 0..scene.nodes.len() {
            let above: Vec<usize> = std::iter::successors(Some(node), |&n| scene.nodes[n].parent).collect();
            let top = above.iter().rposition(|n| joints.contains(n));
            if joints.contains(&node) {
                joints.extend(above[..=top.unwrap_or(0)].iter().copied());
            }
        }
        let clip = foreign.clip.and_then(|c| scene.clips.get(c));
        let rate = clip.map_or(scene.frames_per_second, sinew_core::rig::frame_rate);
        Exporter {
            foreign,
            scene,
            clip,
            rate,
            paths: vec![None; scene.nodes.len()],
            joints,
            warnings: Vec::new(),
        }
    }

    /// How a set-up refers to a node.
    fn reference(&self, node: usize) -> String {
        self.scene.reference(&self.scene.by_name(), node)
    }

    fn layer(&mut self, ending: &str) -> Result<Vec<u8>, Error> {
        let mut edits = Edits::default();
        edits.define(ROOT, if self.scene.skins.is_empty() { "Xform" } else { "SkelRoot" });
        let mut taken: HashSet<String> = HashSet::new();
        for node in self.scene.parents_first() {
            if self.joints.contains(&node) {
                continue;
            }
            self.node(node, &mut taken, &mut edits);
        }
        let skeletons = self.skeletons(&mut taken, &mut edits);
        self.bind(&skeletons, &mut edits);
        let mut data = sdf::Data::new();
        sdf::Data::create_spec(&mut data, sdf::Path::abs_root(), sdf::SpecType::PseudoRoot);
        self.stage(&mut data);
        edits.write(&mut data, None)?;
        bytes(&data, ending)
    }

    fn stage(&self, data: &mut dyn AbstractData) {
        let root = sdf::Path::abs_root();
        let mut set = |field: &str, value: Value| data.set_field(&root, field, value);
        set("defaultPrim", Value::Token(ROOT.trim_start_matches('/').into()));
        set("upAxis", Value::Token("Y".into()));
        set("metersPerUnit", Value::Double(self.foreign.metres));
        set("timeCodesPerSecond", Value::Double(self.rate));
        set("framesPerSecond", Value::Double(self.rate));
        if let Some((start, end)) = self.clip.and_then(Clip::range) {
            set("startTimeCode", Value::Double(self.code(start)));
            set("endTimeCode", Value::Double(self.code(end)));
        }
    }

    fn code(&self, seconds: f64) -> f64 {
        let code = seconds * self.rate;
        if (code - code.round()).abs() < 1e-5 { code.round() } else { code }
    }

    /// A free path below `parent` for a node.
    fn free(&self, parent: &str, node: usize, taken: &mut HashSet<String>) -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        let mut base: String = self.scene.nodes[node].name.chars().map(letter).collect();
        if base.is_empty() {
            base = format!("Node{node}");
        }
        if base.starts_with(|c: char| c.is_ascii_digit()) {
            base.insert(0, '_');
        }
        let mut path = format!("{parent}/{base}");
        for n in 2.. {
            if taken.insert(path.clone()) {
                break;
            }
            path = format!("{parent}/{base}_{n}");
        }
        path
    }

    fn node(&mut self, node: usize, taken: &mut HashSet<String>, edits: &mut Edits) {
        let scene = self.scene;
        // Below a joint there are no prims: the nearest node above that is none.
        let mut above = scene.nodes[node].parent;
        let mut carried = Vec::new();
        while let Some(n) = above.filter(|n| self.joints.contains(n)) {
            carried.push(n);
            above = scene.nodes[n].parent;
        }
        let parent = above.and_then(|p| self.paths[p].clone()).unwrap_or_else(|| ROOT.to_owned());
        let path = self.free(&parent, node, taken);
        let mesh = scene.nodes[node].mesh.map(|m| &scene.meshes[m]).filter(|m| !m.triangles.is_empty());
        let is_alone = !self.has_mesh_below(node);
        let camera = self.foreign.cameras.get(&node);
        let kind = match (mesh, camera) {
            (Some(_), _) if is_alone => "Mesh",
            (_, Some(_)) => "Camera",
            _ => "Xform",
        };
        edits.define(&path, kind);
        match carried.is_empty() {
            true => self.transform(node, &path, edits),
            false => self.carried(node, &carried, &path, edits),
        }
        if let Some(mesh) = mesh {
            let on = if kind == "Mesh" { path.clone() } else { format!("{path}/Mesh") };
            if kind != "Mesh" {
                edits.define(&on, "Mesh");
                taken.insert(on.clone());
            }
            write_mesh(mesh, &on, edits);
        }
        if let Some(camera) = camera.filter(|_| kind == "Camera") {
            write_camera(camera, &path, edits);
        }
        self.paths[node] = Some(path);
    }

    /// Whether another node below has a mesh: surfaces below surfaces are not allowed.
    fn has_mesh_below(&self, node: usize) -> bool {
        let above =
            |n: usize| std::iter::successors(self.scene.nodes[n].parent, |&p| self.scene.nodes[p].parent);
        (0..self.scene.nodes.len()).any(|n| self.scene.nodes[n].mesh.is_some() && above(n).any(|p| p == node))
    }

    /// Translation, orientation and scale with their own keys; a sheared matrix as it is.
    fn transform(&self, node: usize, path: &str, edits: &mut Edits) {
        let c = match self.scene.nodes[node].local {
            Local::Channels(c) => c,
            Local::Matrix(m) => {
                edits.set(
                    path,
                    "xformOp:transform",
                    "matrix4d",
                    Value::Matrix4d(gf::Matrix4d(m.to_cols_array())),
                );
                let order = Value::TokenVec(vec!["xformOp:transform".into()]);
                edits.set_uniform(path, "xformOpOrder", "token[]", order);
                return;
            }
        };
        let curve = |property| self.clip.and_then(|clip| clip.curve(node, property));
        let mut order = Vec::new();
        let mut part =
            |name: &str, kind: &str, property, rest: Value, make: &dyn Fn(&[f64]) -> Value, plain: bool| {
                match curve(property) {
                    Some(curve) => edits.set_samples(path, name, kind, self.samples(curve, make)),
                    None if plain => return,
                    None => edits.set(path, name, kind, rest),
                }
                order.push(openusd::tf::Token::from(name));
            };
        let vector = |v: &[f64]| Value::Vec3d(gf::vec3d(v[0], v[1], v[2]));
        let quaternion = |q: &[f64]| Value::Quatd(gf::quatd(q[3], q[0], q[1], q[2]));
        part(
            "xformOp:translate",
            "double3",
            Property::Translation,
            vector(&c.translation.to_array()),
            &vector,
            false,
        );
        part(
            "xformOp:orient",
            "quatd",
            Property::Rotation,
            quaternion(&c.rotation.to_array()),
            &quaternion,
            false,
        );
        part(
            "xformOp:scale",
            "double3",
            Property::Scale,
            vector(&c.scale.to_array()),
            &vector,
            c.scale == DVec3::ONE,
        );
        edits.set_uniform(path, "xformOpOrder", "token[]", Value::TokenVec(order));
    }

    /// Time codes and values of a curve.
    fn samples(&self, curve: &Curve, make: &dyn Fn(&[f64]) -> Value) -> Vec<(f64, Value)> {
        let mut codes: Vec<f64> = curve.times().iter().map(|t| self.code(*t)).collect();
        match curve.segments() {
            Segments::Linear => {}
            Segments::Step => {
                let before: Vec<f64> = codes.iter().skip(1).map(|c| c - 1.0 / 1024.0).collect();
                codes.extend(before);
            }
            Segments::Cubic { .. } => {
                let (a, b) = (codes[0].ceil() as i64, codes[codes.len() - 1].floor() as i64);
                codes.extend((a..=b).map(|c| c as f64));
            }
        }
        codes.sort_by(f64::total_cmp);
        codes.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
        let at = |code: &f64| {
            let mut value = vec![0.0; curve.width()];
            curve.evaluate(code / self.rate, &mut value);
            (*code, make(&value))
        };
        codes.iter().map(at).collect()
    }

    /// What is attached to joints: the whole way to the prim above, sampled at every frame.
    fn carried(&mut self, node: usize, chain: &[usize], path: &str, edits: &mut Edits) {
        let mut pose = Pose::new(self.scene, self.clip);
        let codes: Vec<f64> = match self.clip.and_then(Clip::range) {
            Some((a, b)) => {
                (self.code(a).floor() as i64..=self.code(b).ceil() as i64).map(|c| c as f64).collect()
            }
            None => vec![0.0],
        };
        let samples = codes.iter().map(|code| {
            pose.evaluate(code / self.rate);
            let whole =
                chain.iter().fold(pose.local(node).affine(), |inner, &n| pose.local(n).affine() * inner);
            (*code, Value::Matrix4d(gf::Matrix4d(DMat4::from(whole).to_cols_array())))
        });
        let samples = samples.collect();
        edits.set_samples(path, "xformOp:transform", "matrix4d", samples);
        edits.set_uniform(path, "xformOpOrder", "token[]", Value::TokenVec(vec!["xformOp:transform".into()]));
        self.warnings.push(format!(
            "{} hangs on a joint of a skeleton, below which USD has no prims: it is put beside it and moves as it did",
            self.scene.label(node)
        ));
    }

    /// A skeleton for each node that joints hang on: its path and the joints in order.
    fn skeletons(&mut self, taken: &mut HashSet<String>, edits: &mut Edits) -> Vec<(String, Vec<usize>)> {
        let scene = self.scene;
        let mut groups: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        let mut root_of: HashMap<usize, Option<usize>> = HashMap::new();
        for node in scene.parents_first().into_iter().filter(|n| self.joints.contains(n)) {
            let parent = scene.nodes[node].parent;
            let root = match parent.filter(|p| self.joints.contains(p)) {
                Some(p) => root_of[&p],
                None => parent,
            };
            root_of.insert(node, root);
            groups.entry(root).or_default().push(node);
        }
        let mut made = Vec::new();
        for (root, joints) in groups {
            let parent = root.and_then(|r| self.paths[r].clone()).unwrap_or_else(|| ROOT.to_owned());
            let mut path = format!("{parent}/Skeleton");
            for n in 2.. {
                if taken.insert(path.clone()) {
                    break;
                }
                path = format!("{parent}/Skeleton{n}");
            }
            self.skeleton(&path, &joints, edits);
            made.push((path, joints));
        }
        made
    }

    fn skeleton(&mut self, path: &str, joints: &[usize], edits: &mut Edits) {
        edits.define(path, "Skeleton");
        let mut names: HashMap<usize, String> = HashMap::new();
        let mut taken = HashSet::new();
        for &node in joints {
            let parent = self.scene.nodes[node].parent.and_then(|p| names.get(&p).cloned());
            let below = self.free(&parent.map_or(String::new(), |p| format!("/{p}")), node, &mut taken);
            let name = below.trim_start_matches('/').to_owned();
            self.paths[node] = Some(format!("{path}/{name}"));
            names.insert(node, name);
        }
        let tokens = joints.iter().map(|n| names[n].as_str().into()).collect();
        edits.set_uniform(path, "joints", "token[]", Value::TokenVec(tokens));
        let matrix = |a: DAffine3| gf::Matrix4d(DMat4::from(a).to_cols_array());
        let rest = joints.iter().map(|&n| matrix(self.scene.nodes[n].local.affine())).collect();
        edits.set_uniform(path, "restTransforms", "matrix4d[]", Value::Matrix4dVec(rest));
        // Bound where the first skin that has the joint says so.
        let bound = |n: &usize| {
            let skin =
                self.scene.skins.iter().find_map(|s| Some(s.to_bone(s.joints.iter().position(|j| j == n)?)));
            matrix(skin.map_or(DAffine3::IDENTITY, |a| a.inverse()))
        };
        let bind = joints.iter().map(bound).collect();
        edits.set_uniform(path, "bindTransforms", "matrix4d[]", Value::Matrix4dVec(bind));
        let Some(clip) = self.clip else { return };
        let mut codes: Vec<f64> = Vec::new();
        for channel in clip.channels.iter().filter(|c| joints.contains(&c.node)) {
            codes.extend(self.samples(&channel.curve, &|_| Value::Bool(true)).iter().map(|s| s.0));
        }
        codes.sort_by(f64::total_cmp);
        codes.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
        if codes.is_empty() {
            return;
        }
        let animation = format!("{path}/Animation");
        edits.define(&animation, "SkelAnimation");
        let tokens = joints.iter().map(|n| names[n].as_str().into()).collect();
        edits.set_uniform(&animation, "joints", "token[]", Value::TokenVec(tokens));
        let mut pose = Pose::new(self.scene, self.clip);
        let (mut places, mut turns, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for code in codes {
            pose.evaluate(code / self.rate);
            let local: Vec<Channels> = joints.iter().map(|&n| *pose.local(n)).collect();
            let float = |v: DVec3| gf::vec3f(v.x as f32, v.y as f32, v.z as f32);
            let half =
                |v: DVec3| gf::vec3h(gf::f16::from_f64(v.x), gf::f16::from_f64(v.y), gf::f16::from_f64(v.z));
            let turn = |c: &Channels| {
                let q = c.rotation;
                gf::quatf(q.w as f32, q.x as f32, q.y as f32, q.z as f32)
            };
            places.push((code, Value::Vec3fVec(local.iter().map(|c| float(c.translation)).collect())));
            turns.push((code, Value::QuatfVec(local.iter().map(turn).collect())));
            sizes.push((code, Value::Vec3hVec(local.iter().map(|c| half(c.scale)).collect())));
        }
        edits.set_samples(&animation, "translations", "float3[]", places);
        edits.set_samples(&animation, "rotations", "quatf[]", turns);
        edits.set_samples(&animation, "scales", "half3[]", sizes);
        edits.apply(path, "SkelBindingAPI");
        edits.target(path, "skel:animationSource", &[&animation]);
    }

    /// Binds skinned meshes.
    fn bind(&mut self, skeletons: &[(String, Vec<usize>)], edits: &mut Edits) {
        for (node, found) in self.scene.nodes.iter().enumerate() {
            let (Some(mesh), Some(skin), Some(path)) = (found.mesh, found.skin, self.paths[node].clone())
            else {
                continue;
            };
            let (mesh, skin) = (&self.scene.meshes[mesh], &self.scene.skins[skin]);
            if mesh.influences.is_empty() || mesh.triangles.is_empty() {
                continue;
            }
            let on = if self.has_mesh_below(node) { format!("{path}/Mesh") } else { path };
            let home = skeletons.iter().find(|(_, joints)| skin.joints.iter().all(|j| joints.contains(j)));
            let Some((skeleton, joints)) = home else {
                self.warnings.push(format!(
                    "{}: its skin spans several skeletons and is left out",
                    self.scene.label(node)
                ));
                continue;
            };
            let mut of_vertex: Vec<Vec<(i32, f32)>> = vec![Vec::new(); mesh.positions.len()];
            for i in &mesh.influences {
                let joint =
                    skin.joints.get(i.joint as usize).and_then(|j| joints.iter().position(|k| k == j));
                if let Some(joint) = joint {
                    of_vertex[i.vertex as usize].push((joint as i32, i.weight as f32));
                }
            }
            let most = of_vertex.iter().map(Vec::len).max().unwrap_or(0).max(1);
            let padded = |v: &Vec<(i32, f32)>| {
                let mut v = v.clone();
                v.resize(most, (0, 0.0));
                v
            };
            let flat: Vec<(i32, f32)> = of_vertex.iter().flat_map(padded).collect();
            edits.apply(&on, "SkelBindingAPI");
            edits.target(&on, "skel:skeleton", &[skeleton]);
            let indices = Value::IntVec(flat.iter().map(|f| f.0).collect());
            let weights = Value::FloatVec(flat.iter().map(|f| f.1).collect());
            edits.set(&on, "primvars:skel:jointIndices", "int[]", indices);
            edits.set(&on, "primvars:skel:jointWeights", "float[]", weights);
            for name in ["primvars:skel:jointIndices", "primvars:skel:jointWeights"] {
                edits.metadata(&on, name, "elementSize", Value::Int(most as i32));
                edits.metadata(&on, name, "interpolation", Value::Token("vertex".into()));
            }
            // Where the mesh was at bind, beside the bind of the joints: the same for all of them, or it cannot be said.
            let first = skin.joints.iter().position(|j| joints.contains(j)).unwrap_or(0);
            let owner = self.scene.skins.iter().find(|s| s.joints.contains(&skin.joints[first]));
            let bind =
                owner.and_then(|s| Some(s.to_bone(s.joints.iter().position(|j| *j == skin.joints[first])?)));
            let geom = bind.map_or(DAffine3::IDENTITY, |b| b.inverse() * skin.to_bone(first));
            let value = Value::Matrix4d(gf::Matrix4d(DMat4::from(geom).to_cols_array()));
            edits.set(&on, "primvars:skel:geomBindTransform", "matrix4d", value);
        }
    }
}

fn write_mesh(mesh: &Mesh, path: &str, edits: &mut Edits) {
    let point = |p: &DVec3| gf::vec3f(p.x as f32, p.y as f32, p.z as f32);
    let points: Vec<gf::Vec3f> = mesh.positions.iter().map(point).collect();
    let (low, high) = mesh
        .positions
        .iter()
        .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(a, b), p| (a.min(*p), b.max(*p)));
    edits.set(path, "points", "point3f[]", Value::Vec3fVec(points));
    edits.set(path, "extent", "float3[]", Value::Vec3fVec(vec![point(&low), point(&high)]));
    edits.set(path, "faceVertexCounts", "int[]", Value::IntVec(vec![3; mesh.triangles.len()]));
    let corners = mesh.triangles.iter().flatten().map(|i| *i as i32).collect();
    edits.set(path, "faceVertexIndices", "int[]", Value::IntVec(corners));
    edits.set_uniform(path, "subdivisionScheme", "token", Value::Token("none".into()));
}

/// A picture 24 mm high: USD's cameras are by focal length and aperture, both in tenths of a unit.
const APERTURE: f64 = 24.0;

fn write_camera(camera: &Camera, path: &str, edits: &mut Edits) {
    let [wide, high] = camera.sides;
    let mut float = |name: &str, value: f64| edits.set(path, name, "float", Value::Float(value as f32));
    match camera.angle {
        Some(angle) => {
            let focal = 0.5 * APERTURE / (0.5 * angle).tan();
            float("focalLength", focal);
            float("verticalAperture", APERTURE);
            float("horizontalAperture", APERTURE * wide / high);
        }
        // Both sides whole, in tenths of a metre.
        None => {
            float("verticalAperture", 2.0 * high * 10.0);
            float("horizontalAperture", 2.0 * wide * 10.0);
        }
    }
    let projection = if camera.angle.is_some() { "perspective" } else { "orthographic" };
    edits.set(path, "projection", "token", Value::Token(projection.into()));
    let range = Value::Vec2f(gf::vec2f(camera.range[0] as f32, camera.range[1].min(1e9) as f32));
    edits.set(path, "clippingRange", "float2", range);
}

impl Document {
    /// Stages the scene as glTF: hierarchy, meshes, skins, cameras, physics and the clip that was made. Returns what is
    /// lost.
    pub(crate) fn stage_as_gltf(
        &self,
        path: &Path,
        clip: Option<usize>,
        setup: Option<Setup>,
        staging: &mut Staging,
    ) -> Result<Vec<String>, Error> {
        let name = path.display().to_string();
        let foreign = Foreign { scene: &self.scene, clip, cameras: self.cameras.clone(), setup, metres: 1.0 };
        let (document, mut warnings) = crate::gltf::Document::of_scene(&foreign, &name)?;
        if !self.changes.deformations.is_empty() {
            warnings.push(
                "shapes of soft bodies are not written as glTF from USD: write USD, or bake from glTF".into(),
            );
        }
        document.stage(path, staging)?;
        Ok(warnings)
    }
}
