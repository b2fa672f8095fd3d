//! Moving nodes of a document: their own translations and rotations, and nothing else.

use super::Document;
use super::animation;
use super::clip::array;
use crate::error::Error;
use glam::{DQuat, DVec3};
use serde_json::{Value, json};
use sinew_core::scene::Local;

impl Document {
    /// Gives nodes new translations and rotations, in the JSON and in the scene. A matrix that is not sheared becomes
    /// channels; what does not change is not written.
    ///
    /// Fails, changing nothing, when there is no such node, its matrix is sheared, or a number is not finite in single
    /// precision.
    pub fn set_pose(&mut self, pose: &[(usize, DVec3, DQuat)]) -> Result<(), Error> {
        self.try_set_pose(pose).map_err(|e| e.in_file(&self.file))
    }

    fn try_set_pose(&mut self, pose: &[(usize, DVec3, DQuat)]) -> Result<(), Error> {
        let nodes = self.scene.nodes.len();
        for &(node, translation, rotation) in pose {
            let place = match node < nodes {
                true => format!("node {}", animation::label(&self.scene, node)),
                false => return Err(Error::input(format!("there is no node {node}; the file has {nodes}"))),
            };
            if !(translation.as_vec3().is_finite() && rotation.as_quat().is_finite()) {
                return Err(Error::input("its place is not a finite number in single precision").at(&place));
            }
            if matches!(self.scene.nodes[node].local, Local::Matrix(_)) {
                let what = "has a sheared matrix, which cannot be moved and turned; freeze its transform";
                return Err(Error::input(what).at(&place));
            }
        }
        for &(node, translation, rotation) in pose {
            let Local::Channels(channels) = &mut self.scene.nodes[node].local else { continue };
            let (moved, turned) = (channels.translation != translation, channels.rotation != rotation);
            if !moved && !turned {
                continue;
            }
            (channels.translation, channels.rotation) = (translation, rotation);
            let channels = *channels;
            let object = array(&mut self.json, "nodes")?.get_mut(node).and_then(Value::as_object_mut);
            let object = object.ok_or_else(|| Error::input(format!("node {node} is not an object")))?;
            let had_matrix = object.shift_remove("matrix").is_some();
            if moved || had_matrix {
                object.insert("translation".into(), json!(translation.to_array()));
            }
            if turned || had_matrix {
                object.insert("rotation".into(), json!(rotation.to_array()));
            }
            if had_matrix {
                object.insert("scale".into(), json!(channels.scale.to_array()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gltf::ReadOptions;

    const NODES: &str = r#"{"asset": {"version": "2.0"}, "nodes": [
        {"name": "Plain", "scale": [2, 2, 2]},
        {"name": "Sheared", "matrix": [1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}]}"#;

    #[test]
    fn a_pose_that_cannot_be_set_changes_nothing() {
        let mut document =
            Document::from_bytes(NODES.as_bytes(), "n.gltf", None, &ReadOptions::default()).unwrap();
        let before = document.json().clone();
        let fine = (0, DVec3::X, DQuat::IDENTITY);
        for (bad, says) in [
            ((1, DVec3::X, DQuat::IDENTITY), "sheared"),
            ((2, DVec3::X, DQuat::IDENTITY), "no node 2"),
            ((0, DVec3::X * 1e60, DQuat::IDENTITY), "finite"),
        ] {
            let error = document.set_pose(&[fine, bad]).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert_eq!(*document.json(), before);
        }
        document.set_pose(&[fine]).unwrap();
        assert_eq!(
            document.json()["nodes"][0],
            json!({"name": "Plain", "scale": [2, 2, 2], "translation": [1.0, 0.0, 0.0]})
        );
    }
}
