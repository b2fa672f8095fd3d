//! The vertices that each bone moves: those of skins that it pulls at most, and those of rigid meshes that it carries.

use super::survey::Survey;
use crate::scene::{Pose, Scene};
use glam::DVec3;
use std::collections::{HashMap, HashSet};

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
        let seen = survey.at_rest(into).to(&survey.at_rest(bone));
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
        let pulls = pulls(scene, survey, node);
        for pull in pulls.iter().flatten().filter(|p| p.share >= OWNED) {
            if pull.local.is_finite() {
                flesh.points.entry(pull.bone).or_default().push(pull.local);
            }
        }
        let middle = placed.iter().sum::<DVec3>() / placed.len().max(1) as f64;
        let mut enclosed = 0.0;
        for triangle in &mesh.triangles {
            let [a, b, c] = triangle.map(|i| placed[i as usize] - middle);
            let normal = (b - a).cross(c - a);
            enclosed += a.dot(normal) / 6.0;
            for corner in triangle {
                for pull in &pulls[*corner as usize] {
                    *area.entry(pull.bone).or_default() += pull.share * normal.length() / 6.0;
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

/// A bone has the vertices that follow it by at least this much. Less than half, since a ring of vertices at a joint belongs
/// to both limbs, and coarse skins have no other rings.
const OWNED: f64 = 0.35;

/// The vertices of skins, and of meshes on bones, that follow each of `bodies` or a bone that it carries: in their rigid
/// frames, at the evaluated pose.
pub(crate) fn vertices(scene: &Scene, pose: &Pose, bodies: &HashSet<usize>) -> HashMap<usize, Vec<DVec3>> {
    let mut found: HashMap<usize, Vec<DVec3>> = HashMap::new();
    let body_of = |bone: usize| {
        std::iter::successors(Some(bone), |&b| scene.nodes[b].parent).find(|b| bodies.contains(b))
    };
    for node in (0..scene.nodes.len()).filter(|&n| scene.skinned_mesh(n).is_some()) {
        let Some((mesh, skin)) = scene.skinned_mesh(node) else { continue };
        let owners: Vec<Option<usize>> = skin.joints.iter().map(|&bone| body_of(bone)).collect();
        for pull in mesh.influences.iter().filter(|i| i.weight >= OWNED) {
            let joint = pull.joint as usize;
            let Some(Some(body)) = owners.get(joint).copied() else { continue };
            let placed = (*pose.world(skin.joints[joint]) * skin.to_bone(joint))
                .transform_point3(mesh.positions[pull.vertex as usize]);
            let at = pose.placement(body);
            found.entry(body).or_default().push(at.rotation.conjugate() * (placed - at.position));
        }
    }
    let bones: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
    for node in (0..scene.nodes.len()).filter(|&n| scene.nodes[n].skin.is_none() && !bodies.contains(&n)) {
        let above = std::iter::successors(scene.nodes[node].parent, |&p| scene.nodes[p].parent);
        let Some(body) = above.into_iter().find(|p| bones.contains(p)).and_then(body_of) else { continue };
        let at = pose.placement(body);
        let placed = pose.vertices(scene, node);
        found
            .entry(body)
            .or_default()
            .extend(placed.iter().map(|p| at.rotation.conjugate() * (*p - at.position)));
    }
    found
}

/// A bone's hold on a vertex.
struct Pull {
    bone: usize,
    share: f64,
    /// The vertex in the bone's rigid frame.
    local: DVec3,
}

/// The bones of every vertex of a node's mesh.
fn pulls(scene: &Scene, survey: &Survey, node: usize) -> Vec<Vec<Pull>> {
    let placed = &survey.vertices[&node];
    let mut pulls: Vec<Vec<Pull>> = placed.iter().map(|_| Vec::new()).collect();
    let Some((mesh, skin)) = scene.skinned_mesh(node) else {
        if let Some(bone) = survey.carrier(scene, node) {
            let at = survey.at_rest(bone);
            for (own, p) in pulls.iter_mut().zip(placed) {
                own.push(Pull { bone, share: 1.0, local: at.rotation.conjugate() * (*p - at.position) });
            }
        }
        return pulls;
    };
    for i in &mesh.influences {
        let (vertex, joint) = (i.vertex as usize, i.joint as usize);
        let Some(&bone) = skin.joints.get(joint) else { continue };
        // As bound, so that it does not matter how the first frame bends the joint.
        let local = survey.stretch[&bone] * skin.to_bone(joint).transform_point3(mesh.positions[vertex]);
        pulls[vertex].push(Pull { bone, share: i.weight, local });
    }
    pulls
}

/// Limbs are about this thick, as a share of their length.
const THICKNESS: f64 = 0.3;

/// Without any surface (a compressed mesh, a host that gives none): every bone is a bar to each of its children, and the
/// last of a chain as long as the one before it.
fn guess(scene: &Scene, survey: &Survey) -> Flesh {
    let mut flesh = Flesh { guessed: true, ..Flesh::default() };
    let mut length: HashMap<usize, f64> = HashMap::new();
    for &bone in &survey.bones {
        let at = survey.at_rest(bone);
        let children = survey.bones.iter().filter(|&&b| scene.nodes[b].parent == Some(bone));
        let mut tips: Vec<DVec3> = children.map(|&c| at.to(&survey.at_rest(c)).position).collect();
        tips.retain(|t| t.length() > 1e-6 * survey.size);
        if tips.is_empty()
            && let Some(parent) = scene.nodes[bone].parent.filter(|p| survey.is_bone(*p))
        {
            let along = at.rotation.conjugate() * (at.position - survey.at_rest(parent).position);
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
