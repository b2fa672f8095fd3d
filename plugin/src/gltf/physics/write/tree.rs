//! Changing the JSON: extensions of nodes, lists of the document, and new nodes.

use super::Writer;
use glam::{DQuat, DVec3};
use serde_json::{Map, Value, json};
use sinew_core::scene::{Channels, Local, Node, Placement};

/// What `value` has under `key`, made if need be. What is no object becomes one.
pub(super) fn at<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    &mut value[key]
}

/// Removes what `value` has under `key`.
pub(super) fn take(value: &mut Value, key: &str) -> Option<Value> {
    value.as_object_mut()?.shift_remove(key)
}

impl Writer<'_> {
    /// The extension of that name on a node, made if need be.
    pub(super) fn extension(&mut self, node: usize, name: &str) -> &mut Value {
        at(at(&mut self.json["nodes"][node], "extensions"), name)
    }

    /// Removes a part of a node's extension, and what is empty without it.
    pub(super) fn take(&mut self, node: usize, name: &str, key: &str) -> Option<Value> {
        let extensions = self.json["nodes"][node].get_mut("extensions")?;
        let taken = take(extensions.get_mut(name)?, key)?;
        if extensions[name].as_object().is_some_and(Map::is_empty) {
            self.take_extension(node, name);
        }
        Some(taken)
    }

    /// Removes a whole extension of a node.
    pub(super) fn take_extension(&mut self, node: usize, name: &str) -> Option<Value> {
        let node = &mut self.json["nodes"][node];
        let taken = take(node.get_mut("extensions")?, name)?;
        if node["extensions"].as_object().is_some_and(Map::is_empty) {
            take(node, "extensions");
        }
        Some(taken)
    }

    /// The index of `value` in a list of the document's extension; equal ones are shared.
    pub(super) fn listed(&mut self, extension: &str, key: &str, value: Value) -> usize {
        let list = at(at(at(&mut self.json, "extensions"), extension), key);
        if !list.is_array() {
            *list = json!([]);
        }
        let Some(list) = list.as_array_mut() else { return 0 };
        list.iter().position(|v| *v == value).unwrap_or_else(|| {
            list.push(value);
            list.len() - 1
        })
    }

    /// Adds a node without a mesh at a place in the world; `None` when its parent is flat and has no such place.
    pub(super) fn add_node(&mut self, parent: Option<usize>, name: &str, place: &Placement) -> Option<usize> {
        let (translation, rotation) = match parent {
            None => (place.position, place.rotation),
            Some(p) => {
                let world = self.reader.pose.world(p);
                let back = world.inverse();
                // As poses compose: the parent's own rotation, whatever its scale.
                let turn = sinew_core::rotation::of_linear(world.matrix3).unwrap_or(DQuat::IDENTITY);
                (back.transform_point3(place.position), turn.conjugate() * place.rotation)
            }
        };
        if !(translation.is_finite() && rotation.is_finite()) {
            return None;
        }
        let name = self.free_name(name);
        let rotation = rotation.normalize();
        let mut node = json!({ "name": name });
        if translation != DVec3::ZERO {
            node["translation"] = json!(translation.to_array());
        }
        if rotation != DQuat::IDENTITY {
            node["rotation"] = json!(rotation.to_array());
        }
        let index = self.scene.nodes.len() + self.added.len();
        self.json["nodes"].as_array_mut()?.push(node);
        let siblings = match parent {
            Some(p) => Some(at(&mut self.json["nodes"][p], "children")),
            None => {
                let scene = self.json["scene"].as_u64().map_or(0, |s| s as usize);
                self.json.get_mut("scenes").and_then(|s| s.get_mut(scene)).map(|s| at(s, "nodes"))
            }
        };
        if let Some(siblings) = siblings {
            match siblings.as_array_mut() {
                Some(list) => list.push(json!(index)),
                None => *siblings = json!([index]),
            }
        }
        let local = Local::Channels(Channels { translation, rotation, scale: DVec3::ONE });
        self.added.push(Node { name, parent, local, ..Node::default() });
        Some(index)
    }

    /// A name that no node has, so that a set-up can call it by that.
    fn free_name(&self, wanted: &str) -> String {
        let is_taken =
            |name: &str| self.reader.names.contains_key(name) || self.added.iter().any(|n| n.name == name);
        let numbered = (2_u32..).map(|i| format!("{wanted} {i}"));
        let mut names = std::iter::once(wanted.to_string()).chain(numbered);
        names.find(|n| !is_taken(n)).unwrap_or_else(|| wanted.to_string())
    }
}
