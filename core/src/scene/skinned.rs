//! Where a skin puts the vertices of a mesh: linear blend skinning, as glTF and its like define it.

use super::{Mesh, Pose, Scene, Skin};
use glam::{DAffine3, DVec3};

impl Scene {
    /// The mesh that a skin deforms at a node, and that skin; `None` where there is no skin or nothing for it to pull at.
    pub fn skinned_mesh(&self, node: usize) -> Option<(&Mesh, &Skin)> {
        let n = &self.nodes[node];
        let (mesh, skin) = (&self.meshes[n.mesh?], &self.skins[n.skin?]);
        (!mesh.influences.is_empty()).then_some((mesh, skin))
    }
}

impl Pose<'_> {
    /// The vertices of a node's mesh in the world at the evaluated time: where its skin puts them, `v = sum of w W B p`
    /// with `B` into the bone and `W` out of it, or where the node does. Empty without a mesh.
    pub fn vertices(&self, scene: &Scene, node: usize) -> Vec<DVec3> {
        let Some(mesh) = scene.nodes[node].mesh.map(|m| &scene.meshes[m]) else { return Vec::new() };
        let own = self.world(node);
        let mut placed: Vec<DVec3> = mesh.positions.iter().map(|p| own.transform_point3(*p)).collect();
        let Some((mesh, skin)) = scene.skinned_mesh(node) else { return placed };
        let bones: Vec<DAffine3> =
            skin.joints.iter().enumerate().map(|(j, &bone)| *self.world(bone) * skin.to_bone(j)).collect();
        for of_one in mesh.influences.chunk_by(|a, b| a.vertex == b.vertex) {
            let vertex = of_one[0].vertex as usize;
            let Some(rest) = mesh.positions.get(vertex) else { continue };
            let mut sum = DVec3::ZERO;
            for pull in of_one {
                if let Some(bone) = bones.get(pull.joint as usize) {
                    sum += bone.transform_point3(*rest) * pull.weight;
                }
            }
            placed[vertex] = sum;
        }
        placed
    }

    /// Times (s) at which the way of a node's vertices may bend or jump: keys of all that moves or scales them, in order;
    /// and whether any of them steps.
    pub fn vertex_breaks(&self, scene: &Scene, node: usize) -> (Vec<f64>, bool) {
        let (mut times, mut steps) = self.breaks_with_scale(node);
        if let Some((_, skin)) = scene.skinned_mesh(node) {
            for &bone in &skin.joints {
                let (of_bone, its_steps) = self.breaks_with_scale(bone);
                times.extend(of_bone);
                steps |= its_steps;
            }
        }
        times.sort_by(f64::total_cmp);
        times.dedup();
        (times, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Channels, Influence, Local, Node};
    use glam::DQuat;
    use std::f64::consts::FRAC_PI_2;

    /// A bone at the origin and one at x = 1 that is turned by a right angle about z, and three vertices at x = 2.
    #[test]
    fn vertices_are_blended_between_bones() {
        let at = |x: f64, turn: f64, parent: Option<usize>| Node {
            parent,
            local: Local::Channels(Channels {
                translation: DVec3::X * x,
                rotation: DQuat::from_rotation_z(turn),
                ..Channels::default()
            }),
            ..Node::default()
        };
        let pull = |vertex, joint, weight| Influence { vertex, joint, weight };
        let mesh = Mesh {
            positions: vec![DVec3::X * 2.0; 4],
            influences: vec![pull(0, 0, 1.0), pull(1, 1, 1.0), pull(2, 0, 0.25), pull(2, 1, 0.75)],
            ..Mesh::default()
        };
        let skin = Skin {
            joints: vec![0, 1],
            inverse_bind: vec![DAffine3::IDENTITY, DAffine3::from_translation(-DVec3::X)],
        };
        let shown = Node { mesh: Some(0), skin: Some(0), ..at(7.0, 0.0, None) };
        let scene = Scene {
            nodes: vec![at(0.0, 0.0, None), at(1.0, FRAC_PI_2, Some(0)), shown],
            meshes: vec![mesh],
            skins: vec![skin],
            ..Scene::default()
        };
        let mut pose = Pose::new(&scene, None);
        pose.evaluate(0.0);
        let (straight, turned) = (DVec3::X * 2.0, DVec3::new(1.0, 1.0, 0.0));
        // The last one has no bone, and stays with the node.
        let wanted = [straight, turned, straight * 0.25 + turned * 0.75, DVec3::X * 9.0];
        for (found, wanted) in pose.vertices(&scene, 2).iter().zip(wanted) {
            assert!((*found - wanted).length() < 1e-12, "{found} is not {wanted}");
        }
    }
}
