//! What a set-up says of touching, and the colliders that become of it. Scenes are made here.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod apart;
mod automatic;
mod deforming;
mod forms;
mod refused;

use glam::{DQuat, DVec3};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::{Compiled, compile};
use sinew_core::scene::{Channel, Channels, Clip, Local, Mesh, Node, Property, Scene};
use sinew_core::setup::{Behaviour, Body, Setup, SetupError, Shape};
use std::f64::consts::PI;

/// A closed mesh of bands around y: one ring of `sides` vertices per (radius, height), tips where the radius is 0.
pub fn lathe(sides: usize, profile: &[(f64, f64)]) -> Mesh {
    let mut mesh = Mesh::default();
    for (r, y) in profile {
        for i in 0..sides {
            let a = 2.0 * PI * i as f64 / sides as f64;
            mesh.positions.push(DVec3::new(r * a.cos() + 0.0, *y, r * a.sin() + 0.0));
        }
    }
    let at = |ring: usize, i: usize| (ring * sides + i % sides) as u32;
    for ring in 0..profile.len() - 1 {
        for i in 0..sides {
            let [a, b, c, d] = [at(ring, i), at(ring, i + 1), at(ring + 1, i + 1), at(ring + 1, i)];
            mesh.triangles.extend([[a, c, b], [a, d, c]]);
        }
    }
    for i in 1..sides - 1 {
        mesh.triangles.push([at(0, 0), at(0, i), at(0, i + 1)]);
        let top = profile.len() - 1;
        mesh.triangles.push([at(top, 0), at(top, i + 1), at(top, i)]);
    }
    // Tips are one vertex: rings without a radius are written exactly alike.
    for p in &mut mesh.positions {
        if DVec3::new(p.x, 0.0, p.z).length() < 1e-9 {
            (p.x, p.z) = (0.0, 0.0);
        }
    }
    mesh
}

/// A box of that size.
pub fn block(size: DVec3) -> Mesh {
    let corner = |i: u32| {
        let sign = |bit: u32| if i >> bit & 1 == 0 { -0.5 } else { 0.5 };
        size * DVec3::new(sign(0), sign(1), sign(2))
    };
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    Mesh {
        positions: (0..8).map(corner).collect(),
        triangles: quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect(),
        ..Mesh::default()
    }
}

/// Two meshes as one.
pub fn together(mut a: Mesh, b: &Mesh) -> Mesh {
    let base = a.positions.len() as u32;
    a.positions.extend(&b.positions);
    a.triangles.extend(b.triangles.iter().map(|t| t.map(|i| i + base)));
    a
}

/// The mesh with its vertices moved.
pub fn mapped(mut mesh: Mesh, to: impl Fn(DVec3) -> DVec3) -> Mesh {
    mesh.positions.iter_mut().for_each(|p| *p = to(*p));
    mesh
}

/// A scene under construction: nodes with meshes, and a clip that keeps it alive for a second.
pub struct Stage {
    /// The scene.
    pub scene: Scene,
    /// Its set-up.
    pub setup: Setup,
}

impl Stage {
    /// Nothing yet.
    pub fn empty() -> Stage {
        let clip = Clip { name: "Keys".into(), channels: Vec::new() };
        let scene = Scene { frames_per_second: 24.0, clips: vec![clip], ..Scene::default() };
        let mut setup = Setup::default();
        setup.bake.frames = Some([0.0, 24.0]);
        Stage { scene, setup }
    }

    /// A node with a mesh.
    pub fn node(&mut self, name: &str, parent: Option<usize>, at: DVec3, mesh: Option<Mesh>) -> usize {
        let mesh = mesh.map(|m| {
            self.scene.meshes.push(m);
            self.scene.meshes.len() - 1
        });
        let local = Local::Channels(Channels { translation: at, ..Channels::default() });
        self.scene.nodes.push(Node { name: name.into(), parent, local, mesh, ..Node::default() });
        self.scene.nodes.len() - 1
    }

    /// Turns and scales a node.
    pub fn place(&mut self, node: usize, rotation: DQuat, scale: DVec3) {
        let Local::Channels(c) = &mut self.scene.nodes[node].local else { unreachable!() };
        (c.rotation, c.scale) = (rotation, scale);
    }

    /// Keys from where the node is to elsewhere within a second.
    pub fn key(&mut self, node: usize, to: DVec3) {
        let Local::Channels(c) = self.scene.nodes[node].local else { unreachable!() };
        let values = [c.translation, to].iter().flat_map(|p| p.to_array()).collect();
        let curve = Curve::new(Kind::Vector, 3, vec![0.0, 1.0], values, Segments::Linear).unwrap();
        self.scene.clips[0].channels.push(Channel { node, property: Property::Translation, curve });
    }

    /// A body on a node.
    pub fn body(&mut self, node: &str, behaviour: Behaviour, shape: Shape) -> &mut Body {
        self.setup.bodies.push(Body { behaviour, shape, ..Body::new(node) });
        self.setup.bodies.last_mut().unwrap()
    }

    /// What becomes of it.
    pub fn compile(&self) -> Result<Compiled, SetupError> {
        compile(&self.scene, &self.setup, self.scene.clips.first())
    }

    /// Why nothing does.
    pub fn refused(&self) -> String {
        self.compile().err().map(|e| e.to_string()).unwrap()
    }
}

/// A scene of one body, compiled.
pub fn one(behaviour: Behaviour, shape: Shape, mesh: Mesh) -> Compiled {
    let mut stage = Stage::empty();
    stage.node("Thing", None, DVec3::ZERO, Some(mesh));
    stage.body("Thing", behaviour, shape);
    stage.compile().unwrap()
}
