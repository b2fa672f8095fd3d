//! The `gltf` crate, which other people wrote, as a judge: nodes, skins, meshes and curves are what it reads, in files that
//! others made, in those of the examples, and in what we write.
//!
//! It takes no part in the product: it knows fewer extensions, keeps neither what it does not know nor double precision, and
//! trusts hostile files.

use crate::samples::{characters, open, raw};
use glam::{DMat4, DVec3, DVec4};
use gltf::accessor::DataType;
use gltf::animation::Interpolation;
use gltf::animation::util::ReadOutputs;
use gltf::mesh::Mode;
use sinew_core::curve::Segments;
use sinew_core::scene::{Local, Property, Scene};
use sinew_plugin::gltf::{Document, ReadOptions};
use std::path::{Path, PathBuf};

/// What was compared, and whether there was a judge.
#[derive(Debug, Default)]
struct Compared {
    curves: usize,
    triangles: usize,
    refused: Vec<String>,
}

/// Judges one file, which is read as `scene`.
fn compare(path: &Path, scene: &Scene, compared: &mut Compared) {
    let bytes = std::fs::read(path).unwrap();
    let judge = match gltf::Gltf::from_slice(&bytes) {
        Ok(judge) => judge.document,
        Err(e) => return compared.refused.push(format!("{}: {e}", path.display())),
    };
    let (_, buffers) = raw(path);
    let data = |buffer: gltf::Buffer<'_>| buffers.get(buffer.index()).map(Vec::as_slice);
    assert_eq!(judge.nodes().len(), scene.nodes.len());
    for (node, ours) in judge.nodes().zip(&scene.nodes) {
        let what = format!("{}, node {}", path.display(), node.index());
        assert_eq!(node.name().unwrap_or(""), ours.name, "{what}");
        assert_eq!(node.mesh().map(|m| m.index()), ours.mesh, "{what}");
        assert_eq!(node.skin().map(|s| s.index()), ours.skin, "{what}");
        for child in node.children() {
            assert_eq!(scene.nodes[child.index()].parent, Some(node.index()), "{what}");
        }
        let columns = node.transform().matrix().map(|column| column.map(f64::from));
        let expected = DMat4::from_cols_array_2d(&columns);
        let matrix = match ours.local {
            Local::Matrix(m) => m,
            Local::Channels(c) => DMat4::from_scale_rotation_translation(c.scale, c.rotation, c.translation),
        };
        let largest = expected.to_cols_array().iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        assert!(matrix.abs_diff_eq(expected, 1e-5 * largest), "{what}: {matrix} {expected}");
    }
    let parents = judge.nodes().map(|n| n.children().count()).sum::<usize>();
    assert_eq!(parents, scene.nodes.iter().filter(|n| n.parent.is_some()).count(), "{}", path.display());
    for (skin, ours) in judge.skins().zip(&scene.skins) {
        let joints: Vec<usize> = skin.joints().map(|j| j.index()).collect();
        assert_eq!(joints, ours.joints);
        let bound = skin.reader(data).read_inverse_bind_matrices();
        for (expected, ours) in bound.into_iter().flatten().zip(&ours.inverse_bind) {
            let expected = DMat4::from_cols_array_2d(&expected.map(|c| c.map(f64::from)));
            assert!(DMat4::from(*ours).abs_diff_eq(expected, 1e-6), "{}", path.display());
        }
    }
    for mesh in judge.meshes() {
        let plain = |p: &gltf::Primitive<'_>| {
            let positions = p.get(&gltf::Semantic::Positions);
            // Its reader takes all positions for floats, and what is compressed for nothing.
            let floats = positions.is_some_and(|a| a.data_type() == DataType::F32 && a.view().is_some());
            p.mode() == Mode::Triangles && floats
        };
        if !mesh.primitives().all(|p| plain(&p)) {
            continue;
        }
        let ours = &scene.meshes[mesh.index()];
        let mut theirs: Vec<DVec3> = Vec::new();
        for primitive in mesh.primitives() {
            let reader = primitive.reader(data);
            let points: Vec<DVec3> =
                reader.read_positions().unwrap().map(|p| DVec3::from_array(p.map(f64::from))).collect();
            match reader.read_indices() {
                Some(indices) => theirs.extend(indices.into_u32().map(|i| points[i as usize])),
                None => theirs.extend(&points),
            }
        }
        let ours: Vec<DVec3> =
            ours.triangles.as_flattened().iter().map(|v| ours.positions[*v as usize]).collect();
        assert_eq!(ours, theirs, "{}, mesh {}", path.display(), mesh.index());
        compared.triangles += ours.len() / 3;
    }
    assert_eq!(judge.animations().len(), scene.clips.len());
    for (animation, clip) in judge.animations().zip(&scene.clips) {
        assert_eq!(animation.name().unwrap_or(""), clip.name);
        for channel in animation.channels() {
            let target = channel.target();
            let property = match target.property() {
                gltf::animation::Property::Translation => Property::Translation,
                gltf::animation::Property::Rotation => Property::Rotation,
                gltf::animation::Property::Scale => Property::Scale,
                gltf::animation::Property::MorphTargetWeights => Property::Weights,
            };
            let node = target.node().index();
            let what = format!("{}, \"{}\", {property:?} of node {node}", path.display(), clip.name);
            // Of channels with the same target the first counts.
            let first = animation
                .channels()
                .find(|c| c.target().node().index() == node && c.target().property() == target.property());
            if first.is_some_and(|f| f.index() != channel.index()) {
                continue;
            }
            let curve = clip.curve(node, property).unwrap_or_else(|| panic!("{what}: no curve"));
            let reader = channel.reader(data);
            let times: Vec<f64> = reader.read_inputs().unwrap().map(f64::from).collect();
            assert_eq!(curve.times(), times, "{what}");
            let wide = |v: f32| f64::from(v);
            let mut values: Vec<f64> = match reader.read_outputs().unwrap() {
                ReadOutputs::Translations(v) | ReadOutputs::Scales(v) => v.flatten().map(wide).collect(),
                ReadOutputs::Rotations(v) => v.into_f32().flatten().map(wide).collect(),
                ReadOutputs::MorphTargetWeights(v) => v.into_f32().map(wide).collect(),
            };
            // Turns are of length one here, but where they are woven with tangents.
            if property == Property::Rotation && !matches!(curve.segments(), Segments::Cubic { .. }) {
                for turn in values.chunks_exact_mut(4) {
                    let unit = DVec4::from_slice(turn).normalize();
                    turn.copy_from_slice(&unit.to_array());
                }
            }
            let ours: Vec<f64> = match (curve.segments(), channel.sampler().interpolation()) {
                (Segments::Step, Interpolation::Step) | (Segments::Linear, Interpolation::Linear) => {
                    curve.values().to_vec()
                }
                (Segments::Cubic { arriving, leaving }, Interpolation::CubicSpline) => {
                    let width = curve.width();
                    (0..times.len())
                        .flat_map(|k| {
                            [arriving, curve.values(), leaving].map(|of| &of[k * width..(k + 1) * width])
                        })
                        .flatten()
                        .copied()
                        .collect()
                }
                (ours, theirs) => panic!("{what}: {ours:?} is not {theirs:?}"),
            };
            assert_eq!(ours.len(), values.len(), "{what}");
            // Integers become reals in single precision there.
            let off = ours.iter().zip(&values).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(off <= 1e-7, "{what}: {off:e}");
            compared.curves += 1;
        }
    }
}

/// Judges a file that we wrote.
pub fn assert_agrees(path: &Path) {
    let document = Document::open(path, &ReadOptions::default()).unwrap();
    compare(path, document.scene(), &mut Compared::default());
}

#[test]
fn the_gltf_crate_reads_the_same() {
    let mut compared = Compared::default();
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/scenes");
    let mut all: Vec<PathBuf> = std::fs::read_dir(scenes).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "gltf" || e == "glb"));
    all.sort();
    assert!(all.len() > 20, "{} examples", all.len());
    let made = sinew_tests::scratch::folder("judged");
    all.extend(sinew_tests::sample::gltf_files(made.path()));
    all.extend(characters());
    for path in &all {
        if let Some(document) = open(path) {
            compare(path, document.scene(), &mut compared);
        }
    }
    println!("{} files: {} curves, {} triangles", all.len(), compared.curves, compared.triangles);
    assert!(compared.curves > 50 && compared.triangles > 50, "{compared:?}");
    // It checks more than it reads, or knows less than there is: an extension that is required, a path that one adds.
    for refusal in &compared.refused {
        println!("refused by it: {refusal}");
    }
    assert!(compared.refused.len() * 4 < all.len(), "{:?}", compared.refused);
}
