//! The scene in a document: version, hierarchy, skins, and through the neighbouring modules meshes and clips.
//!
//! Fails when an index is out of range, a node has two parents or is its own ancestor, or the document is not
//! glTF 2. Everything that is merely not understood becomes a warning.

use super::accessor::Data;
use super::buffer::Buffer;
use super::entry::Entry;
use super::{animation, mesh, skin, transform};
use crate::error::{Error, quote};
use serde_json::Value;
use sinew_core::scene::{Node, Scene};

/// glTF states no frame rate; 24 is film's, and the host may choose another.
const FRAMES_PER_SECOND: f64 = 24.0;

/// Extensions that change what we read and that we heed.
const UNDERSTOOD: [&str; 11] = [
    "KHR_mesh_quantization",
    "KHR_draco_mesh_compression",
    "KHR_meshopt_compression",
    "EXT_meshopt_compression",
    "KHR_animation_pointer",
    "KHR_physics_rigid_bodies",
    "KHR_implicit_shapes",
    "OMI_physics_body",
    "OMI_physics_shape",
    "OMI_physics_joint",
    "OMI_physics_gravity",
];

/// Beginnings of extension names that concern only how things look.
const LOOKS: [&str; 8] = [
    "KHR_materials_",
    "KHR_texture_",
    "KHR_lights_",
    "KHR_xmp",
    "EXT_texture_",
    "EXT_lights_",
    "MSFT_texture_",
    "ADOBE_materials_",
];

/// Reads the scene. `json_bytes` is the size of the text that `json` came from.
pub(super) fn scene(
    json: &Value,
    json_bytes: usize,
    name: &str,
    buffers: &[Buffer],
    warnings: &mut Vec<String>,
) -> Result<Scene, Error> {
    let root = Entry::root(json)?;
    check_version(&root)?;
    note_required(&root, warnings)?;
    let data = Data::new(&root, buffers, json_bytes)?;
    let mut scene = Scene { name: name.to_owned(), frames_per_second: FRAMES_PER_SECOND, ..Scene::default() };
    scene.meshes = mesh::read(&root, &data, warnings)?;
    let entries = root.list("nodes", "node")?;
    let skins = root.list("skins", "skin")?;
    scene.nodes = nodes(&entries, scene.meshes.len(), skins.len())?;
    let scenes = root.list("scenes", "scene")?;
    for scene in &scenes {
        scene.indices("nodes", "node", entries.len())?;
    }
    root.index("scene", "scene", scenes.len())?;
    let cameras = root.list("cameras", "camera")?.len();
    entries.iter().try_for_each(|e| e.index("camera", "camera", cameras).map(drop))?;
    scene.skins = skins.iter().map(|s| skin::read(s, &data, entries.len())).collect::<Result<_, Error>>()?;
    skin::check(&entries, &mut scene, warnings);
    scene.clips = animation::read(&root, &data, &scene, warnings)?;
    Ok(scene)
}

fn check_version(root: &Entry<'_>) -> Result<(), Error> {
    let Some(asset) = root.object("asset")? else {
        return Err(Error::input("`asset` is missing; is this a glTF file?"));
    };
    let version = asset.text("version")?.unwrap_or("");
    let least = asset.text("minVersion")?.unwrap_or("2.0");
    if !version.starts_with("2.") || least != "2.0" {
        return Err(asset.fault(format!(
            "version {} (at least {}) cannot be read; export as glTF 2.0",
            quote(version),
            quote(least)
        )));
    }
    Ok(())
}

/// Warns of required extensions that may change what the scene means.
fn note_required(root: &Entry<'_>, warnings: &mut Vec<String>) -> Result<(), Error> {
    let Some(required) = root.get("extensionsRequired") else { return Ok(()) };
    let Some(required) = required.as_array() else {
        return Err(Error::input("`extensionsRequired` must be an array"));
    };
    for name in required {
        let Some(name) = name.as_str() else {
            return Err(Error::input("`extensionsRequired` must hold names"));
        };
        if !UNDERSTOOD.contains(&name) && !LOOKS.iter().any(|look| name.starts_with(look)) {
            warnings.push(format!(
                "the file requires the extension {}, which is not known here: it is carried along unchanged, \
                 and the motion is computed without it",
                quote(name)
            ));
        }
    }
    Ok(())
}

fn nodes(entries: &[Entry<'_>], meshes: usize, skins: usize) -> Result<Vec<Node>, Error> {
    let mut nodes = Vec::with_capacity(entries.len());
    for entry in entries {
        nodes.push(Node {
            name: entry.name().to_owned(),
            parent: None,
            local: transform::read(entry)?,
            mesh: entry.index("mesh", "mesh", meshes)?,
            skin: entry.index("skin", "skin", skins)?,
            hidden: is_hidden(entry),
        });
    }
    for (i, entry) in entries.iter().enumerate() {
        for child in entry.indices("children", "node", entries.len())? {
            if let Some(other) = nodes[child].parent {
                return Err(entries[child].fault(format!(
                    "is a child of both {} and {}; a node has one parent",
                    entries[other].place(),
                    entry.place()
                )));
            }
            nodes[child].parent = Some(i);
        }
    }
    check_cycles(entries, &nodes)?;
    hide_below(&mut nodes);
    Ok(nodes)
}

/// What is below something hidden is, too: each is looked at once, however long chains are.
fn hide_below(nodes: &mut [Node]) {
    let mut below: Vec<usize> = (0..nodes.len()).filter(|n| nodes[*n].hidden).collect();
    if below.is_empty() {
        return;
    }
    let mut children = vec![Vec::new(); nodes.len()];
    for (n, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            children[parent].push(n);
        }
    }
    while let Some(hidden) = below.pop() {
        for &child in &children[hidden] {
            if !nodes[child].hidden {
                nodes[child].hidden = true;
                below.push(child);
            }
        }
    }
}

/// Whether KHR_node_visibility hides a node.
fn is_hidden(entry: &Entry<'_>) -> bool {
    let visibility = entry.get("extensions").and_then(|e| e.get("KHR_node_visibility"));
    visibility.and_then(|v| v.get("visible")).and_then(serde_json::Value::as_bool) == Some(false)
}

/// Every node must reach a root. Each chain is walked once: what is known to end is not walked again.
fn check_cycles(entries: &[Entry<'_>], nodes: &[Node]) -> Result<(), Error> {
    let mut visited_from = vec![usize::MAX; nodes.len()];
    for start in 0..nodes.len() {
        let mut at = Some(start);
        while let Some(node) = at {
            if visited_from[node] == start {
                return Err(entries[node].fault("is its own ancestor; break the cycle in `children`"));
            }
            if visited_from[node] != usize::MAX {
                break;
            }
            visited_from[node] = start;
            at = nodes[node].parent;
        }
    }
    Ok(())
}
