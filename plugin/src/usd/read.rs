//! The scene of a stage: which prims are nodes, what they are called, how they move.
//!
//! Every prim that has a place is a node: transforms, scopes, shapes, cameras, lights, prims without a type; so is
//! every joint of a skeleton. Materials, physics prims, animations and settings are not. A prim is called by its own name where
//! that is the only one of it, else by its path; a joint likewise, its path being that of its skeleton and its own.

use super::motion::{self, Made, Moving};
use super::stage::{Opened, said};
use super::units::Units;
use super::xform;
use super::{Home, PrimHome, SkeletonHome, camera, mesh, skel};
use crate::document::Camera;
use crate::error::Error;
use openusd::sdf;
use openusd::usd::Prim;
use sinew_core::scene::{Channel, Clip, Node, Scene};
use std::collections::HashMap;

/// Types that have no place, with all that is below them.
const APART: [&str; 9] = [
    "Material",
    "Shader",
    "NodeGraph",
    "GeomSubset",
    "SkelAnimation",
    "BlendShape",
    "PackedJointAnimation",
    "Backdrop",
    "SpatialAudio",
];

/// What was read.
pub(super) struct Read {
    pub scene: Scene,
    pub units: Units,
    /// Where each node comes from.
    pub homes: Vec<Home>,
    pub prims: Vec<PrimHome>,
    pub skeletons: Vec<SkeletonHome>,
    pub cameras: HashMap<usize, Camera>,
    pub warnings: Vec<String>,
}

/// A scene under construction.
pub(super) struct Builder {
    pub read: Read,
    /// The last node of each prim, by path.
    pub node_of: HashMap<String, usize>,
    /// Full names of nodes, by which they are called where the short ones are not unique.
    full: Vec<String>,
    short: Vec<String>,
    channels: Vec<Channel>,
}

/// Reads the scene of a stage; `name` becomes its name and that of its clip.
pub(super) fn read(opened: &Opened, name: &str) -> Result<Read, Error> {
    let mut warnings = Vec::new();
    let units = Units::of(&opened.stage, &mut warnings)?;
    let scene = Scene { name: name.to_owned(), frames_per_second: units.rate, ..Scene::default() };
    let read = Read {
        scene,
        units,
        homes: Vec::new(),
        prims: Vec::new(),
        skeletons: Vec::new(),
        cameras: HashMap::new(),
        warnings,
    };
    let mut builder =
        Builder { read, node_of: HashMap::new(), full: Vec::new(), short: Vec::new(), channels: Vec::new() };
    for prim in placed(opened)? {
        builder.prim(&prim)?;
    }
    skel::bind(opened, &mut builder)?;
    Ok(builder.finish(name))
}

/// The prims that have a place, parents first.
fn placed(opened: &Opened) -> Result<Vec<Prim>, Error> {
    let mut apart: Option<sdf::Path> = None;
    let mut found = Vec::new();
    for prim in opened.prims()? {
        if apart.as_ref().is_some_and(|a| prim.path().has_prefix(a)) {
            continue;
        }
        let kind = type_of(&prim)?;
        if APART.contains(&kind.as_str()) || kind.starts_with("Render") {
            apart = Some(prim.path().clone());
        } else if !kind.starts_with("Physics") {
            found.push(prim);
        }
    }
    Ok(found)
}

/// A prim's type; empty without.
pub(super) fn type_of(prim: &Prim) -> Result<String, Error> {
    let found =
        prim.type_name().map_err(|e| Error::input(said(&e)).at(&format!("<{}>", prim.path().as_str())))?;
    Ok(found.map_or_else(String::new, |t| t.as_str().to_owned()))
}

impl Builder {
    /// Adds a prim's nodes, its mesh, and the joints of a skeleton.
    fn prim(&mut self, prim: &Prim) -> Result<(), Error> {
        let place = format!("<{}>", prim.path().as_str());
        let mut stack = xform::read(prim, &mut self.read.warnings)?;
        // What is no Xformable stays where its parent is, whatever it says.
        if matches!(type_of(prim)?.as_str(), "" | "Scope") && stack != xform::Stack::default() {
            self.read.warnings.push(format!(
                "{place}: has transform operations and no type that has a place, so they do not count; make it an Xform"
            ));
            stack = xform::Stack::default();
        }
        let parent = prim.path().strict_ancestors().find_map(|p| self.node_of.get(p.as_str()).copied());
        let parent = if stack.resets { None } else { parent };
        let made = motion::nodes(&stack.ops, &self.read.units, parent.is_none());
        let Made { nodes, outer, is_lossy } = made.map_err(|e| Error::input(e.to_string()).at(&place))?;
        if is_lossy {
            self.read.warnings.push(format!(
                "{place}: its matrix is sheared and moves, which no curve can say; the shear is left out"
            ));
        }
        let helpers = nodes.len() - 1;
        let mut above = parent;
        for (i, moving) in nodes.into_iter().enumerate() {
            let is_last = i == helpers;
            let (home, full) = match is_last {
                true => (Home::Prim(self.read.prims.len()), prim.path().as_str().to_owned()),
                false => (Home::Helper, format!("{}~{}", prim.path().as_str(), i + 1)),
            };
            let short =
                if is_last { prim.path().name().unwrap_or_default().to_owned() } else { full.clone() };
            above = Some(self.node(home, full, short, above, moving));
        }
        let Some(node) = above else { return Ok(()) };
        let kind = type_of(prim)?;
        let is_proxy = prim.is_instance_proxy().map_err(|e| Error::input(said(&e)).at(&place))?;
        self.read.prims.push(PrimHome {
            path: prim.path().as_str().to_owned(),
            kind: kind.clone(),
            stack,
            outer,
            node,
            is_proxy,
        });
        self.node_of.insert(prim.path().as_str().to_owned(), node);
        if let Some(mesh) = mesh::read(prim, &kind, &self.read.units, &mut self.read.warnings)? {
            self.read.scene.nodes[node].mesh = Some(self.read.scene.meshes.len());
            self.read.scene.meshes.push(mesh);
        }
        if kind == "Camera" {
            self.read.cameras.insert(node, camera::read(prim, &self.read.units)?);
        }
        if kind == "Skeleton" {
            skel::read(prim, node, self)?;
        }
        Ok(())
    }

    /// Adds one node.
    pub fn node(
        &mut self,
        home: Home,
        full: String,
        short: String,
        parent: Option<usize>,
        moving: Moving,
    ) -> usize {
        let node = self.read.scene.nodes.len();
        self.read.scene.nodes.push(Node { parent, local: moving.rest, ..Node::default() });
        let curves = moving.curves.into_iter();
        self.channels.extend(curves.map(|(property, curve)| Channel { node, property, curve }));
        self.read.homes.push(home);
        self.full.push(full);
        self.short.push(short);
        node
    }

    /// Names the nodes and makes the clip.
    fn finish(mut self, name: &str) -> Read {
        let mut count: HashMap<&str, usize> = HashMap::new();
        self.short.iter().for_each(|s| *count.entry(s).or_default() += 1);
        for (i, node) in self.read.scene.nodes.iter_mut().enumerate() {
            // "world" is the ground in set-ups.
            let short = &self.short[i];
            let is_clear = count[short.as_str()] == 1 && !short.is_empty() && short != "world";
            node.name = if is_clear { short.clone() } else { self.full[i].clone() };
        }
        if !self.channels.is_empty() {
            self.read.scene.clips.push(Clip { name: name.to_owned(), channels: self.channels });
        }
        self.read
    }
}
