//! Figures without a set-up: one figure each, the same in all clips, of plausible weight, on a floor that does no harm.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod floor;
mod hangs;
mod turns;
mod weighs;

use glam::{DQuat, DVec3};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Channels, Clip, Local, Mesh, Node, Property, Scene, Skin};

/// A skeleton of boxes.
pub(crate) struct Figure {
    pub(crate) scene: Scene,
}

impl Figure {
    /// Without any bone; `frames_per_second` 30.
    pub(crate) fn new() -> Figure {
        let corners =
            (0..8).map(|i| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) - 0.5);
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = faces.iter().flat_map(|f| [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]).collect();
        let mut scene = Scene { frames_per_second: 30.0, ..Scene::default() };
        scene.meshes.push(Mesh { positions: corners.collect(), triangles, ..Mesh::default() });
        scene.skins.push(Skin::default());
        Figure { scene }
    }

    /// A bone at `at` on its parent, with a box of a size around a middle, if it has one.
    pub(crate) fn bone(
        &mut self,
        name: &str,
        parent: Option<usize>,
        at: [f64; 3],
        shown: Option<([f64; 3], [f64; 3])>,
    ) -> usize {
        let local =
            |translation, scale| Local::Channels(Channels { translation, scale, ..Channels::default() });
        let bone = self.scene.nodes.len();
        let here = local(DVec3::from_array(at), DVec3::ONE);
        self.scene.nodes.push(Node { name: name.into(), parent, local: here, ..Node::default() });
        self.scene.skins[0].joints.push(bone);
        if let Some((size, middle)) = shown {
            let local = local(DVec3::from_array(middle), DVec3::from_array(size));
            self.scene.nodes.push(Node { parent: Some(bone), mesh: Some(0), local, ..Node::default() });
        }
        bone
    }

    /// A clip of so many frames of 1/30 s.
    pub(crate) fn clip(&mut self, name: &str) {
        self.scene.clips.push(Clip { name: name.into(), channels: Vec::new() });
    }

    /// Keys a bone's rotation in the last clip, as a rotation vector at each frame.
    pub(crate) fn turn(&mut self, node: usize, frames: usize, way: impl Fn(f64) -> DVec3) {
        let values = (0..frames).flat_map(|k| sinew_core::rotation::exp(way(k as f64)).to_array()).collect();
        self.key(node, Property::Rotation, Kind::Rotation, frames, values);
    }

    /// Keys a bone's translation in the last clip at each frame.
    pub(crate) fn go(&mut self, node: usize, frames: usize, way: impl Fn(f64) -> DVec3) {
        let values = (0..frames).flat_map(|k| way(k as f64).to_array()).collect();
        self.key(node, Property::Translation, Kind::Vector, frames, values);
    }

    fn key(&mut self, node: usize, property: Property, kind: Kind, frames: usize, values: Vec<f64>) {
        let times = (0..frames).map(|k| k as f64 / 30.0).collect();
        let width = if kind == Kind::Rotation { 4 } else { 3 };
        let curve = Curve::new(kind, width, times, values, Segments::Linear).unwrap();
        self.scene.clips.last_mut().unwrap().channels.push(Channel { node, property, curve });
    }

    /// Everything so many times larger.
    pub(crate) fn scaled(&self, factor: f64) -> Scene {
        let mut scene = self.scene.clone();
        for node in scene.nodes.iter_mut().filter(|n| n.parent.is_none()) {
            let Local::Channels(c) = &mut node.local else { continue };
            (c.translation, c.scale) = (c.translation * factor, c.scale * factor);
        }
        scene
    }
}

/// A leg whose foot is keyed beside it: hips, thigh and shin of `length` each, and a foot below the root that goes where the shin
/// ends. `swing(k)` bends thigh and shin at frame k. `away` is how far the foot is from there.
pub(crate) struct Leg {
    pub(crate) figure: Figure,
    pub(crate) hips: usize,
    pub(crate) bones: [usize; 3],
}

impl Leg {
    pub(crate) fn new() -> Leg {
        let mut figure = Figure::new();
        let root = figure.bone("Root", None, [0.0; 3], None);
        let hips = figure.bone("Body", Some(root), [0.0, 1.0, 0.0], Some(([0.4, 0.4, 0.3], [0.0, 0.1, 0.0])));
        let bar = Some(([0.12, 0.45, 0.12], [0.0, -0.225, 0.0]));
        let thigh = figure.bone("UpperLeg.L", Some(hips), [0.0, -0.1, 0.0], bar);
        let shin = figure.bone("LowerLeg.L", Some(thigh), [0.0, -0.45, 0.0], bar);
        let sole = Some(([0.1, 0.06, 0.25], [0.0, 0.0, 0.06]));
        let foot = figure.bone("Foot.L", Some(root), [0.0; 3], sole);
        Leg { figure, hips, bones: [thigh, shin, foot] }
    }

    /// Adds a clip in which the leg swings, and the foot goes with it but for `away(k)`.
    pub(crate) fn clip(
        &mut self,
        name: &str,
        frames: usize,
        swing: impl Fn(f64) -> [f64; 2],
        away: impl Fn(f64) -> DVec3,
    ) {
        let [thigh, shin, foot] = self.bones;
        self.figure.clip(name);
        self.figure.turn(thigh, frames, |k| DVec3::X * swing(k)[0]);
        self.figure.turn(shin, frames, |k| DVec3::X * swing(k)[1]);
        let end = |k: f64| {
            let [a, b] = swing(k);
            let down = |angle: f64| DQuat::from_rotation_x(angle) * DVec3::NEG_Y * 0.45;
            DVec3::new(0.0, 0.9, 0.0) + down(a) + down(a + b)
        };
        self.figure.go(foot, frames, |k| end(k) + away(k));
        self.figure.turn(foot, frames, |k| DVec3::X * 0.2 * (0.3 * k).sin());
    }
}
