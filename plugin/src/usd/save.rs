//! A document on disk.
//!
//! By default a new layer that has the input as its sublayer and besides it only what changed: muting it, or deleting
//! the file, brings the shot back as it was. Asked for, everything in one layer, or the input itself with the changes
//! in its root layer. A `.usdz` is always whole: the root layer with the changes, and all that it refers to.

use super::edits::Edits;
use super::operate;
use super::stage::{self, Opened, said};
use super::{Backend, Document, Home, Tolerance, spline, text, verify};
use crate::document::Saved;
use crate::error::Error;
use crate::files::{self, Staging};
use glam::DMat4;
use openusd::gf;
use openusd::sdf::{self, AbstractData, Value};
use sinew_core::curve::Segments;
use sinew_core::scene::{Clip, Pose};
use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::{Component, Path, PathBuf};

/// How a stage is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    /// A new layer over the input.
    #[default]
    Layer,
    /// One layer with everything.
    Flat,
    /// The input's own root layer.
    InPlace,
}

/// Fields of a root layer that say what the stage is; a layer over it must say the same.
const OF_THE_STAGE: [&str; 10] = [
    "defaultPrim",
    "upAxis",
    "metersPerUnit",
    "kilogramsPerUnit",
    "timeCodesPerSecond",
    "framesPerSecond",
    "startTimeCode",
    "endTimeCode",
    "expressionVariables",
    "colorConfiguration",
];

impl Document {
    /// Writes to a `.usda`, `.usdc`, `.usd` or `.usdz` file. Returns what is worth knowing. On any error nothing is
    /// written.
    pub fn save(&self, path: &Path, how: Destination) -> Result<Saved, Error> {
        let mut staging = Staging::default();
        let saved = self.stage(path, how, &mut staging)?;
        staging.commit().map_err(|e| Error::from(e).in_file(&path.display().to_string()))?;
        Ok(saved)
    }

    /// Stages it. Written in place, it takes the place of what a link leads to, and only if nobody else has changed that since
    /// it was read.
    pub fn stage(&self, path: &Path, how: Destination, staging: &mut Staging) -> Result<Saved, Error> {
        let name = path.display().to_string();
        stage::apart(&name, || self.try_stage(path, how, staging))
    }

    fn try_stage(&self, path: &Path, how: Destination, staging: &mut Staging) -> Result<Saved, Error> {
        let folder = files::folder_of(path);
        let folder = folder
            .canonicalize()
            .map_err(|e| Error::io(format!("cannot open the folder {}", folder.display()), e))?;
        let target = folder.join(path.file_name().ok_or_else(|| Error::input("the path names no file"))?);
        let target = match how {
            Destination::InPlace => target.canonicalize().unwrap_or(target),
            _ => target,
        };
        let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let is_package = ending == "usdz";
        let is_own = target == self.origin.file;
        if how == Destination::InPlace && !is_own {
            return Err(Error::input("to write in place, the path must be the scene's own"));
        }
        if is_own && how != Destination::InPlace {
            return Err(Error::input("is the scene itself; save under another name, or in place"));
        }
        if self.changes.splines.is_some()
            && self.origin.backend == Backend::BuiltIn
            && (ending != "usda" || how != Destination::Layer)
        {
            return Err(Error::input(
                "splines go into a layer over the scene that ends in .usda; everything else with them takes OpenUSD",
            ));
        }
        let how = if self.origin.memory.is_some() { Destination::Flat } else { how };
        let opened = self.origin.open()?;
        // Of those that are there: a new layer over itself would be all that is left of them.
        let is_target = |layer: &Path| layer.canonicalize().is_ok_and(|file| file == target);
        let own = opened.stage.layer_identifiers();
        let is_layer = own.iter().any(|name| is_target(Path::new(name)));
        if !is_own && (is_layer || self.root_file(&opened).is_some_and(|file| is_target(&file))) {
            return Err(Error::input(
                "is a layer of the scene itself, which would be lost; save under another name",
            ));
        }
        let mut warnings = Vec::new();
        let (edits, range) = self.edits(&opened, &mut warnings)?;
        opened.remarks()?;
        let (splined, spline_keys) = edits.splines();
        let saved = |remarks: Vec<String>| Saved { remarks, splined, spline_keys };
        if self.origin.backend == Backend::OpenUsd {
            warnings.extend(self.save_elsewhere(&opened, edits, range, how, &target, staging)?);
            return Ok(saved(warnings));
        }
        if is_package {
            refuse_splines(&opened)?;
            self.author(&opened, edits, range)?;
            self.put(&target, &self.package(&opened)?, staging)?;
            return Ok(saved(warnings));
        }
        let bytes = match how {
            Destination::Layer => {
                let mut data = sdf::Data::new();
                sdf::Data::create_spec(&mut data, sdf::Path::abs_root(), sdf::SpecType::PseudoRoot);
                self.over(&opened, &mut data, relative(&folder, &self.origin.file), range);
                edits.write(&mut data, Some(&opened.stage))?;
                bytes(&data, &ending)?
            }
            Destination::Flat => {
                refuse_splines(&opened)?;
                self.author(&opened, edits, range)?;
                let flat = super::flatten::flattened(&opened)?;
                let made = bytes(&flat, &ending)?;
                verify::check(&made, &flat)?;
                verify::check_stage(&made, &opened)?;
                made
            }
            Destination::InPlace => self.in_place(&opened, edits, range)?,
        };
        self.put(&target, &bytes, staging)?;
        Ok(saved(warnings))
    }

    /// Stages the bytes of a file; those of our own must still be what was read.
    pub(super) fn put(&self, target: &Path, bytes: &[u8], staging: &mut Staging) -> Result<(), Error> {
        match &self.origin.witness {
            Some(witness) if target == self.origin.file => Ok(staging.write_over(target, bytes, witness)?),
            _ => Ok(staging.write(target, bytes)?),
        }
    }

    /// Says in a new layer what the root layer says of the stage, and names its sublayer.
    pub(super) fn over(
        &self,
        opened: &Opened,
        data: &mut dyn AbstractData,
        sublayer: String,
        range: Option<[f64; 2]>,
    ) {
        let root = sdf::Path::abs_root();
        let below = opened.stage.root_layer();
        for field in OF_THE_STAGE {
            if let Ok(Some(value)) = below.data().try_field(&root, field) {
                data.set_field(&root, field, value.into_owned());
            }
        }
        data.set_field(&root, "subLayers", Value::StringVec(vec![sublayer]));
        data.set_field(&root, "subLayerOffsets", Value::LayerOffsetVec(vec![sdf::LayerOffset::default()]));
        self.widen(data, range);
    }

    /// Makes the stage as long as what was written.
    pub(super) fn widen(&self, data: &mut dyn AbstractData, range: Option<[f64; 2]>) {
        let Some([first, last]) = range.filter(|r| r[1] > r[0]) else { return };
        let [first, last] = self.units.range.map_or([first, last], |r| [r[0].min(first), r[1].max(last)]);
        let root = sdf::Path::abs_root();
        data.set_field(&root, "startTimeCode", Value::Double(first));
        data.set_field(&root, "endTimeCode", Value::Double(last));
    }

    /// The bytes of the root layer with the changes in it, in the format that the file is in, whatever its name. Of text only
    /// the lines of what changed are new.
    fn in_place(&self, opened: &Opened, edits: Edits, range: Option<[f64; 2]>) -> Result<Vec<u8>, Error> {
        let old = std::fs::read(&self.origin.file).map_err(|e| Error::io("cannot read it", e))?;
        if let Ok(text) = std::str::from_utf8(&old)
            && let Ok(before) = openusd::usda::parse(text)
        {
            self.author(opened, edits, range)?;
            let root = opened.stage.root_layer();
            let spliced = text::splice(text, &before, root.data()).map(String::into_bytes);
            if let Some(made) = spliced.filter(|made| verify::check(made, root.data()).is_ok()) {
                return Ok(made);
            }
            refuse_splines(opened)?;
            let made = bytes(root.data(), "usda")?;
            verify::check(&made, root.data())?;
            return Ok(made);
        }
        refuse_splines(opened)?;
        self.author(opened, edits, range)?;
        let root = opened.stage.root_layer();
        let made = bytes(root.data(), "usdc")?;
        verify::check(&made, root.data())?;
        Ok(made)
    }

    /// Writes the changes into the root layer, in memory.
    fn author(&self, opened: &Opened, edits: Edits, range: Option<[f64; 2]>) -> Result<(), Error> {
        let name = opened.stage.root_layer().identifier().to_owned();
        let mut failed = None;
        {
            let layer = opened.stage.layer_mut(&name);
            let mut layer = layer.ok_or_else(|| Error::input("its root layer cannot be written"))?;
            let done = layer.edit(|edit| {
                let data = edit.data_mut();
                failed = edits.write(data, None).err();
                self.widen(data, range);
                Ok(())
            });
            done.map_err(|e| Error::input(said(&e)))?;
        }
        failed.map_or(Ok(()), Err)
    }

    /// Packs the stage, changed in memory, into an archive, which is read again.
    fn package(&self, opened: &Opened) -> Result<Vec<u8>, Error> {
        let room = |e| Error::io("there is no room to write it", e);
        let scratch = files::scratch().map_err(room)?;
        let target = scratch.path().join("package.usdz");
        let root = opened.stage.root_layer().identifier().to_owned();
        let stem = self.origin.file.file_stem().map_or("scene".into(), |s| s.to_string_lossy().into_owned());
        let inner = if root.trim_end_matches(']').ends_with(".usda") { "usda" } else { "usdc" };
        let packed = openusd::usd_utils::create_new_usdz_package(
            &opened.stage,
            &root,
            &target,
            Some(&format!("{stem}.{inner}")),
        );
        packed.map_err(|e| unwritten(&e))?;
        verify::check_file(&target, opened)?;
        std::fs::read(&target).map_err(room)
    }

    /// All that changed, and the time codes that it spans.
    pub(super) fn edits(
        &self,
        opened: &Opened,
        warnings: &mut Vec<String>,
    ) -> Result<(Edits, Option<[f64; 2]>), Error> {
        let mut edits = Edits::default();
        let mut range = None;
        if let Some((index, nodes)) = &self.changes.clip {
            let clip = &self.scene.clips[*index];
            let times = self.times(clip, nodes);
            self.moves(opened, clip, nodes, &times, &mut edits, warnings)?;
            range = times.first().zip(times.last()).map(|(a, b)| [self.units.code(*a), self.units.code(*b)]);
        }
        if !self.changes.pose.is_empty() {
            let still = Clip::default();
            self.moves(opened, &still, &self.changes.pose, &[0.0], &mut edits, warnings)?;
        }
        for deformation in &self.changes.deformations {
            self.deform(opened, deformation, &mut edits, warnings)?;
        }
        if let Some(setup) = &self.changes.physics {
            warnings.extend(self.physics_edits(opened, setup, &mut edits)?);
        }
        Ok((edits, range))
    }

    /// Times (s) at which a clip is written: its keys, every whole time code where it bends in between, and the moment
    /// before a key where it steps.
    fn times(&self, clip: &Clip, nodes: &BTreeSet<usize>) -> Vec<f64> {
        let mut codes: Vec<f64> = Vec::new();
        for channel in clip.channels.iter().filter(|c| nodes.contains(&c.node)) {
            let own: Vec<f64> = channel.curve.times().iter().map(|t| self.units.code(*t)).collect();
            match channel.curve.segments() {
                Segments::Linear => {}
                // Linear in between, a step must be steep: the smallest step that other programs keep apart.
                Segments::Step => codes.extend(own.iter().skip(1).map(|c| c - 1.0 / 1024.0)),
                Segments::Cubic { .. } => {
                    let (a, b) = (own[0].ceil() as i64, own[own.len() - 1].floor() as i64);
                    codes.extend((a..=b).map(|c| c as f64));
                }
            }
            codes.extend(own);
        }
        codes.sort_by(f64::total_cmp);
        codes.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
        codes.into_iter().map(|c| self.units.seconds(c)).collect()
    }

    /// Writes how nodes move under a clip.
    fn moves(
        &self,
        opened: &Opened,
        clip: &Clip,
        nodes: &BTreeSet<usize>,
        times: &[f64],
        edits: &mut Edits,
        warnings: &mut Vec<String>,
    ) -> Result<(), Error> {
        let mut pose = Pose::new(&self.scene, Some(clip));
        let prims: Vec<usize> = nodes
            .iter()
            .filter_map(|&n| if let Home::Prim(i) = self.homes[n] { Some(i) } else { None })
            .collect();
        let mut frames: Vec<Vec<(f64, DMat4)>> = vec![Vec::with_capacity(times.len()); prims.len()];
        for &time in times {
            pose.evaluate(time);
            for (frames, &i) in frames.iter_mut().zip(&prims) {
                let home = &self.prims[i];
                // Of a prim of several nodes only the last one moves otherwise.
                let local = pose.local(home.node).affine();
                let root = self.scene.nodes[home.node].parent.is_none();
                frames.push((self.units.code(time), DMat4::from(self.units.affine_back(&local, root))));
            }
        }
        for (frames, &i) in frames.iter().zip(&prims) {
            let home = &self.prims[i];
            let (path, stack, outer) = (&home.path, &home.stack, home.outer);
            // A tolerance of the world means less under a scaled parent.
            let parent = self.scene.nodes[home.node].parent.map(|p| pose.world(p).matrix3);
            let scale =
                parent.map_or(1.0, |m| m.x_axis.length().max(m.y_axis.length()).max(m.z_axis.length()));
            let tolerance = self.changes.splines.as_ref().and_then(|s| s.get(&home.node)).map(|t| {
                Tolerance { place: t.place / (self.units.metres * scale.max(f64::MIN_POSITIVE)), ..*t }
            });
            let said = tolerance
                .filter(|_| frames.len() > 1)
                .and_then(|t| spline::write(path, stack, outer, frames, t, edits));
            let said = said.map(|(said, off)| {
                let off = Tolerance { place: off.place * self.units.metres * scale, ..off };
                edits.note_splined(home.node, off);
                said
            });
            warnings.extend(said.or_else(|| operate::write(path, stack, outer, frames, edits)));
        }
        let skeletons: BTreeSet<usize> = nodes
            .iter()
            .filter_map(|&n| if let Home::Joint(s, _) = self.homes[n] { Some(s) } else { None })
            .collect();
        for s in skeletons {
            // Every joint is in the new animation: those that were not simulated move as keyed.
            let all: BTreeSet<usize> = self.skeletons[s].nodes.iter().copied().collect();
            let times = if times.len() > 1 { self.joined(clip, &all, times) } else { times.to_vec() };
            self.animate(&self.skeletons[s], &mut pose, &times, &opened.stage, edits)?;
        }
        Ok(())
    }

    /// Times of a clip's curves on nodes, with others, inside the span of those.
    fn joined(&self, clip: &Clip, nodes: &BTreeSet<usize>, with: &[f64]) -> Vec<f64> {
        let (first, last) = (with[0], with[with.len() - 1]);
        let mut all = self.times(clip, nodes);
        all.retain(|t| (first..=last).contains(t));
        all.extend_from_slice(with);
        all.sort_by(f64::total_cmp);
        all.dedup_by(|a, b| (*a - *b).abs() * self.units.rate < 1e-6);
        all
    }

    /// Writes the shapes of a soft body as points.
    fn deform(
        &self,
        opened: &Opened,
        deformation: &sinew_core::bake::Deformation,
        edits: &mut Edits,
        warnings: &mut Vec<String>,
    ) -> Result<(), Error> {
        let Home::Prim(i) = self.homes[deformation.node] else { return Ok(()) };
        let prim = &self.prims[i];
        if prim.kind != "Mesh" {
            warnings.push(format!(
                "<{}>: is a {}, which has no points to press in; its shape is not written, make it a Mesh",
                prim.path, prim.kind
            ));
            return Ok(());
        }
        let Some(mesh) = self.scene.nodes[deformation.node].mesh.map(|m| &self.scene.meshes[m]) else {
            return Ok(());
        };
        let count = deformation.targets.len();
        let mut samples = Vec::with_capacity(deformation.times.len());
        for (k, &time) in deformation.times.iter().enumerate() {
            let weights = &deformation.weights[k * count..(k + 1) * count];
            let point = |v: usize| {
                let moved = deformation.targets.iter().zip(weights).map(|(t, w)| t[v] * *w);
                let p = moved.fold(mesh.positions[v], |a, b| a + b) / self.units.metres;
                gf::vec3f(p.x as f32, p.y as f32, p.z as f32)
            };
            samples.push((
                self.units.code(time),
                Value::Vec3fVec((0..mesh.positions.len()).map(point).collect()),
            ));
        }
        let attribute = opened.stage.attribute(format!("{}.extent", prim.path).as_str());
        let has_extent = attribute.is_ok_and(|a| a.has_authored_value().unwrap_or(false));
        if has_extent {
            let extent = samples.iter().map(|(t, v)| (*t, extent(v))).collect();
            edits.set_samples(&prim.path, "extent", "float3[]", extent);
        }
        edits.set_samples(&prim.path, "points", "point3f[]", samples);
        Ok(())
    }
}

/// Fails where a layer that is to be written anew has a spline: that would be lost.
fn refuse_splines(opened: &Opened) -> Result<(), Error> {
    for name in opened.stage.layer_identifiers() {
        let Some(layer) = opened.stage.layer(&name) else { continue };
        let data = layer.data();
        let has_spline =
            |p: &sdf::Path| data.list_fields(p).is_some_and(|fields| fields.iter().any(|f| f == "spline"));
        if let Some(path) = data.spec_paths().into_iter().find(|p| p.is_property_path() && has_spline(p)) {
            let what = "is keyed by a spline, which would be lost; write a layer over the scene instead, or bake it to time samples";
            return Err(Error::input(what).at(&format!("<{}>", path.as_str())));
        }
    }
    Ok(())
}

/// Why a stage cannot be written whole. A value that cannot be decoded is not always damaged: the library does not know empty
/// lists of words or of assets in a crate file.
pub(super) fn unwritten(error: &dyn std::error::Error) -> Error {
    let what = said(error);
    let remedy = match what.contains("failed to decode") {
        true => "; if it is an empty list of words, write a layer over the scene, or have OpenUSD write it",
        false => "",
    };
    Error::input(what + remedy)
}

/// The two corners around points.
fn extent(points: &Value) -> Value {
    let Value::Vec3fVec(points) = points else { return Value::Vec3fVec(Vec::new()) };
    let fold = |f: fn(f32, f32) -> f32, from: f32| {
        points.iter().fold([from; 3], |m, p| [f(m[0], p.x), f(m[1], p.y), f(m[2], p.z)])
    };
    let (low, high) = (fold(f32::min, f32::INFINITY), fold(f32::max, f32::NEG_INFINITY));
    Value::Vec3fVec(vec![gf::vec3f(low[0], low[1], low[2]), gf::vec3f(high[0], high[1], high[2])])
}

/// A layer's bytes in the format of that ending.
pub(super) fn bytes(data: &dyn AbstractData, ending: &str) -> Result<Vec<u8>, Error> {
    let id = match ending {
        "usda" => "usda",
        "usdc" | "usd" => "usdc",
        _ => {
            return Err(Error::input(
                "the name must end in .usda, .usdc, .usd or .usdz, which says what to write",
            ));
        }
    };
    let format =
        sdf::LayerRegistry::find_by_id(id).ok_or_else(|| Error::input("that format cannot be written"))?;
    let mut out = Cursor::new(Vec::new());
    format.write(data, &mut out).map_err(|e| unwritten(&e))?;
    Ok(out.into_inner())
}

/// The way from a folder to a file, both absolute, as asset paths are written.
pub(super) fn relative(folder: &Path, file: &Path) -> String {
    let parts = |p: &Path| -> Vec<PathBuf> { p.components().map(|c| PathBuf::from(c.as_os_str())).collect() };
    let (from, to) = (parts(folder), parts(file));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let is_prefix = |p: &Path| matches!(p.components().next(), Some(Component::Prefix(_)));
    if same == 0 || (is_prefix(folder) && same < 2) {
        return file.to_string_lossy().replace('\\', "/");
    }
    let up = from.len() - same;
    let mut out = if up == 0 { ".".to_owned() } else { vec![".."; up].join("/") };
    for part in &to[same..] {
        out.push('/');
        out.push_str(&part.to_string_lossy());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sublayers_are_named_relative_to_the_folder_of_the_new_layer() {
        let way = |a: &str, b: &str| relative(Path::new(a), Path::new(b));
        assert_eq!(way("/a/b", "/a/b/shot.usda"), "./shot.usda");
        assert_eq!(way("/a/b/out", "/a/b/shot.usda"), "../shot.usda");
        assert_eq!(way("/a/c", "/a/b/shot.usda"), "../b/shot.usda");
    }
}
