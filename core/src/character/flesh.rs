//! The vertices that each bone moves: those of skins that it pulls at most, and those of rigid meshes that it carries.

use super::survey::Survey;
use crate::scene::Scene;
use glam::DVec3;
use std::collections::HashMap;

/// Vertices and surface by bone.
#[derive(Default)]
pub(super) struct Flesh {
    /// By bone, in its rigid frame.
    points: HashMap<usize, Vec<DVec3>>,
    /// By bone, its part of the whole surface, 0 to 1.
    share: HashMap<usize, f64>,
    /// What the surfaces enclose, cubic scene units.
    pub(super) volume: f64,
    /// Whether there was no surface, and bones were given some by their lengths.
    pub(super) guessed: bool,
}

impl Flesh {
    pub(super) fn points(&self, bone: usize) -> &[DVec3] {
        self.points.get(&bone).map_or(&[], Vec::as_slice)
    }

    pub(super) fn share(&self, bone: usize) -> f64 {
        self.share.get(&bone).copied().unwrap_or(0.0)
    }

    /// Gives one bone's vertices to another, which carries it.
    pub(super) fn merge(&mut self, bone: usize, into: usize, survey: &Survey) {
        let Some(points) = self.points.remove(&bone) else { return };
        let seen = survey.first(into).to(&survey.first(bone));
        self.points.entry(into).or_default().extend(points.into_iter().map(|p| super::placed(&seen, p)));
        let share = self.share.remove(&bone).unwrap_or(0.0);
        *self.share.entry(into).or_default() += share;
    }
}

/// Gathers the vertices of every bone.
pub(super) fn gather(scene: &Scene, survey: &Survey) -> Flesh {
    let mut flesh = Flesh::default();
    let mut area: HashMap<usize, f64> = HashMap::new();
    let mut nodes: Vec<usize> = survey.vertices.keys().copied().collect();
    nodes.sort_unstable();
    for node in nodes {
        let Some(mesh) = scene.nodes[node].mesh.map(|m| &scene.meshes[m]) else { continue };
        let placed = &survey.vertices[&node];
        let owner = owners(scene, survey, node);
        for (vertex, bone) in owner.iter().enumerate() {
            let Some(bone) = bone else { continue };
            let at = survey.first(*bone);
            let local = match scene.skinned_mesh(node) {
                // As bound, so that it does not matter how the first frame bends the joint.
                Some((mesh, skin)) => {
                    let joint = skin.joints.iter().position(|j| j == bone).unwrap_or(0);
                    survey.stretch[bone] * skin.to_bone(joint).transform_point3(mesh.positions[vertex])
                }
                None => at.rotation.conjugate() * (placed[vertex] - at.position),
            };
            if local.is_finite() {
                flesh.points.entry(*bone).or_default().push(local);
            }
        }
        let middle = placed.iter().sum::<DVec3>() / placed.len().max(1) as f64;
        let mut enclosed = 0.0;
        for triangle in &mesh.triangles {
            let [a, b, c] = triangle.map(|i| placed[i as usize] - middle);
            let normal = (b - a).cross(c - a);
            enclosed += a.dot(normal) / 6.0;
            for corner in triangle {
                if let Some(bone) = owner[*corner as usize] {
                    *area.entry(bone).or_default() += normal.length() / 6.0;
                }
            }
        }
        flesh.volume += enclosed.abs();
    }
    let whole: f64 = area.values().sum();
    if whole > 0.0 && whole.is_finite() {
        flesh.share = area.into_iter().map(|(bone, a)| (bone, a / whole)).collect();
        return flesh;
    }
    guess(scene, survey)
}

/// The bone of every vertex of a node's mesh.
fn owners(scene: &Scene, survey: &Survey, node: usize) -> Vec<Option<usize>> {
    let count = survey.vertices[&node].len();
    let Some((mesh, skin)) = scene.skinned_mesh(node) else {
        return vec![survey.carrier(scene, node); count];
    };
    let mut strongest = vec![(0.0, None); count];
    for pull in &mesh.influences {
        let (vertex, bone) = (pull.vertex as usize, skin.joints.get(pull.joint as usize));
        if pull.weight > strongest[vertex].0 {
            strongest[vertex] = (pull.weight, bone.copied());
        }
    }
    strongest.into_iter().map(|s| s.1).collect()
}

/// Limbs are about this thick, as a share of their length.
const THICKNESS: f64 = 0.3;

/// Without any surface (a compressed mesh, a host that gives none): every bone is a bar to each of its children, and the
/// last of a chain as long as the one before it.
fn guess(scene: &Scene, survey: &Survey) -> Flesh {
    let mut flesh = Flesh { guessed: true, ..Flesh::default() };
    let mut length: HashMap<usize, f64> = HashMap::new();
    for &bone in &survey.bones {
        let at = survey.first(bone);
        let children = survey.bones.iter().filter(|&&b| scene.nodes[b].parent == Some(bone));
        let mut tips: Vec<DVec3> = children.map(|&c| at.to(&survey.first(c)).position).collect();
        tips.retain(|t| t.length() > 1e-6 * survey.size);
        if tips.is_empty()
            && let Some(parent) = scene.nodes[bone].parent.filter(|p| survey.is_bone(*p))
        {
            let along = at.rotation.conjugate() * (at.position - survey.first(parent).position);
            tips.push(along.normalize_or(DVec3::Y) * length.get(&parent).copied().unwrap_or(along.length()));
        }
        let longest = tips.iter().fold(0.0, |m: f64, t| m.max(t.length()));
        length.insert(bone, longest);
        for tip in tips.iter().filter(|t| t.length() > 0.0) {
            let (y, z) = tip.normalize().any_orthonormal_pair();
            let half = 0.5 * THICKNESS * tip.length();
            let corners = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
            for end in [DVec3::ZERO, *tip] {
                let around = corners.map(|(a, b)| end + (y * a + z * b) * half);
                flesh.points.entry(bone).or_default().extend(around);
            }
            flesh.volume += tip.length() * 4.0 * half * half;
        }
    }
    let fleshy = flesh.points.len().max(1) as f64;
    flesh.share = flesh.points.keys().map(|&b| (b, 1.0 / fleshy)).collect();
    flesh
}
