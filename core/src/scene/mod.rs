//! What the host gave: nodes, meshes, skins, clips, frame rate. Plain data, replaced and never edited in place
//! once a job has begun. Formats are read into this by the plugin crate; live hosts fill it through the C ABI.

mod pose;
mod skinned;

pub use pose::{Placement, Pose};

use crate::curve::Curve;
use glam::{DAffine3, DMat4, DQuat, DVec3};
use std::collections::{HashMap, HashSet};

/// A whole scene in SI units, Y up.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Name for messages: the file's stem, or what the host calls it.
    pub name: String,
    /// Nodes; a parent may stand before or after its children.
    pub nodes: Vec<Node>,
    /// Meshes, referred to by nodes.
    pub meshes: Vec<Mesh>,
    /// Skins, referred to by nodes.
    pub skins: Vec<Skin>,
    /// Animation clips.
    pub clips: Vec<Clip>,
    /// Frames per second that the host plays at; glTF does not say, and 24 is taken.
    pub frames_per_second: f64,
}

/// One node of the hierarchy.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Name as in the file; may be empty and need not be unique. [`Scene::label`] is for messages.
    pub name: String,
    /// Index of the parent node, `None` for a root.
    pub parent: Option<usize>,
    /// Rest transform relative to the parent.
    pub local: Local,
    /// Index into [`Scene::meshes`].
    pub mesh: Option<usize>,
    /// Index into [`Scene::skins`]: the mesh is deformed by it and does not follow this node.
    pub skin: Option<usize>,
    /// Whether it is not shown: its mesh has no part in shapes and masses.
    pub hidden: bool,
}

/// A node's rest transform: separate channels, or a matrix (which no curve may target).
#[derive(Clone, Copy, Debug)]
pub enum Local {
    /// Translation, rotation, scale.
    Channels(Channels),
    /// Any affine matrix, shear included.
    Matrix(DMat4),
}

impl Default for Local {
    fn default() -> Self {
        Local::Channels(Channels::default())
    }
}

/// The three animatable parts of a transform, applied scale first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channels {
    /// Metres.
    pub translation: DVec3,
    /// Unit quaternion.
    pub rotation: DQuat,
    /// Factors per axis; may be negative or zero.
    pub scale: DVec3,
}

impl Default for Channels {
    fn default() -> Self {
        Channels { translation: DVec3::ZERO, rotation: DQuat::IDENTITY, scale: DVec3::ONE }
    }
}

impl Channels {
    /// The affine map of these channels.
    pub fn affine(&self) -> DAffine3 {
        DAffine3::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }
}

impl Local {
    /// The affine map of this rest transform.
    pub fn affine(&self) -> DAffine3 {
        match self {
            Local::Channels(c) => c.affine(),
            Local::Matrix(m) => DAffine3::from_mat4(*m),
        }
    }
}

/// A triangle mesh in its node's space; only what mass, shape and drawing need.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// Name for messages.
    pub name: String,
    /// Vertex positions, metres.
    pub positions: Vec<DVec3>,
    /// Triangles as indices into `positions`. Empty when only the bounds are known (compressed meshes): then
    /// `positions` holds the two corners of the bounding box.
    pub triangles: Vec<[u32; 3]>,
    /// Which bones pull at which vertices, vertex by vertex; the weights of a vertex sum to 1. Empty for a rigid mesh.
    pub influences: Vec<Influence>,
}

/// One bone's pull at one vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Influence {
    /// Index into [`Mesh::positions`].
    pub vertex: u32,
    /// Index into [`Skin::joints`] of the skin that the mesh is shown with.
    pub joint: u32,
    /// Its share, above 0.
    pub weight: f64,
}

/// The bones of a skin.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Node indices.
    pub joints: Vec<usize>,
    /// From the mesh's space to each bone's, as they were bound. Bones without one are bound at the mesh's origin.
    pub inverse_bind: Vec<DAffine3>,
}

impl Skin {
    /// From the mesh's space to that of the bone at this index.
    pub fn to_bone(&self, joint: usize) -> DAffine3 {
        self.inverse_bind.get(joint).copied().unwrap_or(DAffine3::IDENTITY)
    }
}

/// A named set of curves, each on one channel of one node.
#[derive(Clone, Debug, Default)]
pub struct Clip {
    /// Name as in the file; may be empty.
    pub name: String,
    /// The curves. At most one per node and property.
    pub channels: Vec<Channel>,
}

/// One curve on one property of one node.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Node index.
    pub node: usize,
    /// Which property.
    pub property: Property,
    /// Values over time (s).
    pub curve: Curve,
}

/// What a channel animates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Property {
    /// Three components, metres.
    Translation,
    /// Unit quaternion xyzw.
    Rotation,
    /// Three factors.
    Scale,
    /// One weight per morph target. Carried, not simulated.
    Weights,
}

impl Clip {
    /// First and last key time (s) over all curves; `None` without keys.
    pub fn range(&self) -> Option<(f64, f64)> {
        self.channels
            .iter()
            .map(|c| (c.curve.start(), c.curve.end()))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Nodes and properties that have a curve. For asking about many nodes.
    pub fn keyed(&self) -> HashSet<(usize, Property)> {
        self.channels.iter().map(|c| (c.node, c.property)).collect()
    }

    /// The curve on a node's property, if there is one.
    pub fn curve(&self, node: usize, property: Property) -> Option<&Curve> {
        self.channels.iter().find(|c| c.node == node && c.property == property).map(|c| &c.curve)
    }
}

impl Scene {
    /// How messages call a node: its name in quotes, or its index when it has none.
    pub fn label(&self, node: usize) -> String {
        match self.nodes.get(node) {
            Some(n) if !n.name.is_empty() => format!("\"{}\"", n.name),
            _ => format!("number {node}"),
        }
    }

    /// Nodes by name: every index that has it, in order. For looking up many names.
    pub fn by_name(&self) -> HashMap<&str, Vec<usize>> {
        let mut names: HashMap<&str, Vec<usize>> = HashMap::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate().filter(|(_, n)| !n.name.is_empty()) {
            names.entry(node.name.as_str()).or_default().push(i);
        }
        names
    }

    /// How a set-up refers to a node: by name where that is clear, else by `#index`. `names` from [`Self::by_name`].
    pub fn reference(&self, names: &HashMap<&str, Vec<usize>>, node: usize) -> String {
        let name = &self.nodes[node].name;
        let clear = !name.starts_with('#') && names.get(name.as_str()).is_some_and(|n| n.len() == 1);
        if clear { name.clone() } else { format!("#{node}") }
    }

    /// The node of that name. The first one, when a name is used twice.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|n| n.name == name)
    }

    /// The clip of that name.
    pub fn find_clip(&self, name: &str) -> Option<usize> {
        self.clips.iter().position(|c| c.name == name)
    }

    /// The children of every node.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            if let Some(p) = node.parent {
                children[p].push(i);
            }
        }
        children
    }

    /// Node indices with every parent before its children. Assumes there is no cycle: readers check that.
    pub fn parents_first(&self) -> Vec<usize> {
        let children = self.children();
        let mut order = Vec::with_capacity(self.nodes.len());
        order.extend((0..self.nodes.len()).filter(|&i| self.nodes[i].parent.is_none()));
        let mut next = 0;
        while next < order.len() {
            order.extend_from_slice(&children[order[next]]);
            next += 1;
        }
        order
    }
}
