//! USD in and out: `.usda`, `.usdc`, `.usdz`.
//!
//! A [`Document`] is what a stage says, read once into plain data: the scene, and for every node the prim or joint that
//! it comes from. Stages themselves live on one thread and are opened anew for writing. In the order that data flows:
//!
//! `origin` says where a stage comes from and who composes it; `guard` looks at bytes and `stage` opens them, inside the
//! scene's folder; `value` decodes attributes, `units` converts;
//! `xform` reads transform operations and `motion` makes curves of them; `mesh`, `skel`, `camera` and `read` make the scene;
//! `physics` makes a set-up of UsdPhysics, and writes one as it. For writing, `operate` says a motion in a prim's own
//! operations, `spline` in splines, `animate` in a skeleton's animation; `edits` are put into a layer, `text` puts them into one that is text and leaves the rest as
//! it is, `flatten` makes one layer of all, `verify` reads again what was made, and `save` puts layers on disk, `save_elsewhere` by a
//! studio's own OpenUSD.
//! `export` makes a new stage of a scene that came from elsewhere.

mod animate;
mod camera;
mod edits;
mod export;
mod flatten;
mod guard;
mod mesh;
mod motion;
mod operate;
mod origin;
mod physics;
mod read;
mod save;
mod save_elsewhere;
mod skel;
mod spline;
mod stage;
mod text;
mod units;
mod value;
mod verify;
mod xform;

use crate::document::Camera;
use crate::error::Error;
use crate::gltf::{ClipToAdd, ReadOptions};
use glam::{DMat4, DQuat, DVec3};
use origin::Origin;
use sinew_core::bake::Deformation;
use sinew_core::scene::{Clip, Local, Scene};
use sinew_core::setup::Setup;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use units::Units;
use xform::Stack;

pub use origin::Backend;
pub use save::Destination;
pub use spline::Tolerance;

/// Whether a file of that name is USD.
pub fn is_usd(path: &Path) -> bool {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    matches!(ending.as_deref(), Some("usd" | "usda" | "usdc" | "usdz"))
}

/// Whether bytes are a file of USD.
pub fn are_usd(bytes: &[u8]) -> bool {
    [&b"#usda"[..], b"PXR-USDC", b"PK\x03\x04"].iter().any(|head| bytes.starts_with(head))
}

/// Where a node comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// A prim, by its index.
    Prim(usize),
    /// The outer part of a prim whose operations need several nodes.
    Helper,
    /// A joint: of which skeleton, and which of it.
    Joint(usize, usize),
}

/// A prim that is a node.
#[derive(Clone, Debug)]
struct PrimHome {
    path: String,
    kind: String,
    stack: Stack,
    /// Operations that are nodes above its own.
    outer: usize,
    node: usize,
    /// Whether it is inside an instance, where nothing can be written.
    is_proxy: bool,
}

/// A skeleton.
#[derive(Clone, Debug)]
struct SkeletonHome {
    path: String,
    joints: Vec<String>,
    /// The node of each joint.
    nodes: Vec<usize>,
    /// Where joints were bound, in the stage's units.
    bind: Vec<DMat4>,
    /// The animation that moves it.
    source: Option<String>,
}

/// What is to be written.
#[derive(Clone, Debug, Default)]
struct Changes {
    /// The clip, and the nodes whose curves are new.
    clip: Option<(usize, BTreeSet<usize>)>,
    /// Nodes whose rest is new.
    pose: BTreeSet<usize>,
    deformations: Vec<Deformation>,
    physics: Option<Setup>,
    /// How near splines must be, by node; without, time samples are written.
    splines: Option<HashMap<usize, Tolerance>>,
}

/// A stage: the scene read from it, and what was changed since.
#[derive(Clone, Debug)]
pub struct Document {
    file: String,
    origin: Origin,
    scene: Scene,
    units: Units,
    homes: Vec<Home>,
    prims: Vec<PrimHome>,
    skeletons: Vec<SkeletonHome>,
    physics: physics::Facts,
    cameras: HashMap<usize, Camera>,
    warnings: Vec<String>,
    changes: Changes,
}

impl Document {
    /// Reads a `.usda`, `.usdc`, `.usdz` or `.usd` file and all that it composes.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Document, Error> {
        let file = path.display().to_string();
        let mut warnings = Vec::new();
        let origin = Origin::file(path, options, &mut warnings)?;
        let mut document = Document::of_origin(origin, file)?;
        document.warnings.splice(0..0, warnings);
        Ok(document)
    }

    /// Reads a `.usda`, `.usdc` or `.usdz` file from memory. `name` is what messages call it and gives the scene its name.
    /// Only data inside it can be used: other files are refused.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Document, Error> {
        Document::of_origin(Origin::memory(bytes, name).map_err(|e| e.in_file(name))?, name.to_owned())
    }

    /// Reads a stage that the host has in memory, by its number in the stage cache of UsdUtils. What Sinew itself put on
    /// it before does not count.
    pub fn open_stage(id: i64, options: &ReadOptions) -> Result<Document, Error> {
        let file = format!("stage {id}");
        Document::of_origin(Origin::stage(id, options).map_err(|e| e.in_file(&file))?, file)
    }

    fn of_origin(origin: Origin, file: String) -> Result<Document, Error> {
        stage::apart(&file, || Document::of_stage(&origin.open()?, &file, &origin))
    }

    /// Reads an open stage.
    fn of_stage(opened: &stage::Opened, file: &str, origin: &Origin) -> Result<Document, Error> {
        let called = if origin.stage.is_some() { opened.root_elsewhere().unwrap_or(file) } else { file };
        let stem =
            Path::new(called).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let mut read = read::read(opened, &stem)?;
        let physics = physics::Facts::read(opened, &read)?;
        let mut remarks = opened.remarks()?;
        remarks.append(&mut read.warnings);
        read.warnings = remarks;
        Ok(Document {
            file: file.to_owned(),
            origin: origin.clone(),
            scene: read.scene,
            units: read.units,
            homes: read.homes,
            prims: read.prims,
            skeletons: read.skeletons,
            physics,
            cameras: read.cameras,
            warnings: read.warnings,
            changes: Changes::default(),
        })
    }

    /// Whether it is a stage in the host's memory.
    pub fn is_of_host(&self) -> bool {
        self.origin.stage.is_some()
    }

    /// The scene as read, with the clips added since: in metres, Y up, its clip called like the file.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// What was not understood or is amiss, and what that means, each naming its object.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// First and last time code of the stage, where it says: frames, since the scene has as many a second.
    pub fn range(&self) -> Option<[f64; 2]> {
        self.units.range
    }

    /// What a set-up calls the prim or joint of that path; `None` where there is none.
    pub fn node_of_path(&self, path: &str) -> Option<&str> {
        let node = self.homes.iter().enumerate().find_map(|(node, home)| match *home {
            Home::Prim(i) => (self.prims[i].path == path).then_some(node),
            Home::Joint(s, j) => {
                let skeleton = &self.skeletons[s];
                let rest = path.strip_prefix(skeleton.path.as_str())?.strip_prefix('/')?;
                (rest == skeleton.joints[j]).then_some(node)
            }
            Home::Helper => None,
        })?;
        Some(&self.scene.nodes[node].name)
    }

    /// The path of a node's prim, or of its skeleton and joint.
    pub fn path_of_node(&self, node: usize) -> Option<String> {
        match *self.homes.get(node)? {
            Home::Prim(i) => Some(self.prims[i].path.clone()),
            Home::Joint(s, j) => Some(format!("{}/{}", self.skeletons[s].path, self.skeletons[s].joints[j])),
            Home::Helper => None,
        }
    }

    /// Takes a clip to be written: a stage has one timeline, so the last one counts. The scene gets it too.
    ///
    /// Fails, changing nothing, when a curve is on a node that cannot be written: one inside an instance, or one whose
    /// matrix is sheared.
    pub fn add_clip(&mut self, bake: &ClipToAdd<'_>) -> Result<usize, Error> {
        for channel in bake.channels {
            self.check(channel.node).map_err(|e| e.in_file(&self.file))?;
        }
        let nodes: BTreeSet<usize> = bake.channels.iter().map(|c| c.node).collect();
        if nodes.is_empty() {
            return Err(Error::input("it has no curves; bake at least one channel").in_file(&self.file));
        }
        let mut clip = Clip { name: bake.name.to_owned(), channels: bake.channels.to_vec() };
        let taken = clip.keyed();
        let source = bake.source.and_then(|s| self.scene.clips.get(s));
        let carried = source.into_iter().flat_map(|s| &s.channels);
        clip.channels.extend(carried.filter(|c| !taken.contains(&(c.node, c.property))).cloned());
        self.scene.clips.push(clip);
        let index = self.scene.clips.len() - 1;
        self.changes.clip = Some((index, nodes));
        Ok(index)
    }

    /// Takes the shapes of a soft body, to be written as points.
    pub fn add_deformation(&mut self, deformation: &Deformation) -> Result<(), Error> {
        self.check(deformation.node).map_err(|e| e.in_file(&self.file))?;
        self.changes.deformations.push(deformation.clone());
        Ok(())
    }

    /// Gives nodes new translations and rotations. Fails, changing nothing, where one cannot be moved.
    pub fn set_pose(&mut self, pose: &[(usize, DVec3, DQuat)]) -> Result<(), Error> {
        for &(node, translation, rotation) in pose {
            self.check(node).map_err(|e| e.in_file(&self.file))?;
            if !(translation.is_finite() && rotation.is_finite()) {
                let place = format!("node {}", self.scene.label(node));
                return Err(Error::input("its place is not a finite number").at(&place).in_file(&self.file));
            }
        }
        for &(node, translation, rotation) in pose {
            if let Local::Channels(c) = &mut self.scene.nodes[node].local {
                (c.translation, c.rotation) = (translation, rotation);
                self.changes.pose.insert(node);
            }
        }
        Ok(())
    }

    /// Has the curves of prims written as splines, within these tolerances by node. Joints of skeletons have none in USD.
    pub fn use_splines(&mut self, tolerances: HashMap<usize, Tolerance>) {
        self.changes.splines = Some(tolerances);
    }

    /// Takes a set-up to be written as UsdPhysics.
    pub fn set_physics(&mut self, setup: &Setup) {
        self.changes.physics = Some(setup.clone());
    }

    /// Whether a node can be written.
    fn check(&self, node: usize) -> Result<(), Error> {
        let Some(found) = self.scene.nodes.get(node) else {
            return Err(Error::input(format!(
                "there is no node {node}; the scene has {}",
                self.scene.nodes.len()
            )));
        };
        let place = self.path_of_node(node).map_or_else(|| self.scene.label(node), |p| format!("<{p}>"));
        if let Home::Prim(i) = self.homes[node]
            && self.prims[i].is_proxy
        {
            let what = "is inside an instance, where nothing can be written; set instanceable = false on the instance";
            return Err(Error::input(what).at(&place));
        }
        if matches!(found.local, Local::Matrix(_)) {
            let what = "has a sheared matrix, which no curve can move; freeze its transform";
            return Err(Error::input(what).at(&place));
        }
        Ok(())
    }

    /// Names by path, for set-ups that use paths.
    pub(crate) fn names_by_path(&self) -> HashMap<String, String> {
        let nodes = 0..self.scene.nodes.len();
        nodes.filter_map(|n| Some((self.path_of_node(n)?, self.scene.nodes[n].name.clone()))).collect()
    }
}
