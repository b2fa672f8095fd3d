//! The shapes of soft bodies over a motion, as morph targets.

use super::morph::{keys, mix};
use crate::coating::{Placed, deform, field};
use crate::motion::Motion;
use crate::rig::{Carrier, Collider, Rig};
use crate::scene::{Clip, Placement, Pose, Scene};
use crate::setup::{Bake, BakedDeformation, BakedKeys};
use crate::shape::Geometry;
use glam::{DMat3, DVec3};
use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::math::{Pose as Isometry, Rotation};

/// Default tolerance as a share of the mesh's extent.
const DEFAULT_TOLERANCE_SHARE: f64 = 1e-3;

/// Share of the tolerance that dropping keys may use up; the choice of targets has the rest.
const FOR_KEYS: f64 = 0.4;

/// How the mesh of one node changes.
#[derive(Clone, Debug)]
pub struct Deformation {
    /// The scene's node.
    pub node: usize,
    /// Displacements of the mesh's vertices, in its axes and order.
    pub targets: Vec<Vec<DVec3>>,
    /// Key times, s.
    pub times: Vec<f64>,
    /// Keys times targets; straight in between.
    pub weights: Vec<f64>,
    /// Frames at which it is pressed.
    pub frames: usize,
    /// The largest distance of a vertex at a frame from its place, scene units; keys not counted.
    pub error: f64,
}

/// What coatings make of the meshes of `rig` over a motion. Empty where nothing soft is pressed, or `options` want none.
pub fn deformations(
    scene: &Scene,
    clip: Option<&Clip>,
    rig: &Rig,
    motion: &Motion,
    options: &Bake,
) -> Vec<Deformation> {
    let soft = match options.deformation {
        BakedDeformation::None => Vec::new(),
        BakedDeformation::Morph => soft(scene, rig, options),
    };
    if soft.is_empty() {
        return Vec::new();
    }
    let mut solid_of_node = vec![None; scene.nodes.len()];
    for (s, solid) in rig.solids.iter().enumerate() {
        solid_of_node[solid.node] = Some(s);
    }
    let mut pose = Pose::new(scene, clip);
    let mut found: Vec<Found> = soft.iter().map(|_| Found::default()).collect();
    for (f, &time) in motion.times().iter().enumerate() {
        let samples = motion.frame(f);
        pose.evaluate_with(time, |node| {
            solid_of_node[node].map(|s| (samples[s].node, rig.solids[s].simulate))
        });
        let places: Vec<Placement> = rig
            .colliders
            .all
            .iter()
            .map(|c| {
                let carrier = match c.carrier {
                    Carrier::Solid(s) => samples[s].node.then(&rig.solids[s].offset),
                    Carrier::Keys(p) => rig.in_world(time, rig.paths[p].placement(time)),
                    Carrier::World => Placement::IDENTITY,
                };
                carrier.then(&c.place)
            })
            .collect();
        for (soft, found) in soft.iter().zip(&mut found) {
            let seen = Seen { node: pose.placement(soft.node), stretch: pose.stretch(soft.node) };
            found.add(f, soft, &seen, rig, scene, &places);
        }
    }
    let times = motion.times();
    soft.iter().zip(found).filter_map(|(s, f)| f.finish(s, scene, times, options)).collect()
}

/// A mesh with soft colliders.
struct Soft {
    node: usize,
    mesh: usize,
    /// All colliders that move with it, rigid ones as well.
    own: Vec<usize>,
}

/// The meshes that soft colliders are the skin of: that of their node, or of the next above that has one.
fn soft(scene: &Scene, rig: &Rig, options: &Bake) -> Vec<Soft> {
    let mesh_node = |c: &Collider| {
        let mut at = Some(c.node).filter(|n| *n < scene.nodes.len());
        while let Some(node) = at {
            let n = &scene.nodes[node];
            if let Some(mesh) = n.mesh.filter(|&m| n.skin.is_none() && !scene.meshes[m].triangles.is_empty())
            {
                return Some((node, mesh));
            }
            at = n.parent.filter(|_| rig.solid_of_node(node).is_none());
        }
        None
    };
    let mut all: Vec<Soft> = Vec::new();
    for (i, collider) in rig.colliders.all.iter().enumerate() {
        let baked = match collider.carrier {
            Carrier::Solid(s) => rig.solids[s].baked,
            Carrier::Keys(_) | Carrier::World => options.only.is_empty(),
        };
        let Some((node, mesh)) = mesh_node(collider).filter(|_| baked) else { continue };
        match all.iter_mut().find(|s| s.node == node) {
            Some(soft) => soft.own.push(i),
            None => all.push(Soft { node, mesh, own: vec![i] }),
        }
    }
    all.retain(|s| s.own.iter().any(|&i| rig.colliders.all[i].coating.is_some()));
    all
}

/// A node at a frame.
struct Seen {
    node: Placement,
    /// From the mesh's axes to the node's.
    stretch: DMat3,
}

/// What was found of one mesh so far.
#[derive(Default)]
struct Found {
    /// The mesh's axes to the node's at the first pressed frame: displacements are measured in these.
    stretch: Option<DMat3>,
    rows: Vec<(usize, Vec<DVec3>)>,
}

impl Found {
    fn add(
        &mut self,
        frame: usize,
        soft: &Soft,
        seen: &Seen,
        rig: &Rig,
        scene: &Scene,
        places: &[Placement],
    ) {
        let all = &rig.colliders.all;
        let touches =
            |&j: &usize| soft.own.iter().any(|&i| rig.colliders.may_touch(i, j) && near(all, places, i, j));
        let partners: Vec<usize> = (0..all.len()).filter(|j| !soft.own.contains(j)).filter(touches).collect();
        if partners.is_empty() || seen.stretch.determinant().abs() < 1e-12 {
            return;
        }
        let placed = |i: usize| -> Placed<'_> { (&all[i], seen.node.to(&places[i])) };
        let own: Vec<Placed<'_>> = soft.own.iter().map(|&i| placed(i)).collect();
        let partners: Vec<Placed<'_>> = partners.into_iter().map(placed).collect();
        let mesh = &scene.meshes[soft.mesh];
        let rest: Vec<DVec3> = mesh.positions.iter().map(|p| seen.stretch * *p).collect();
        let mut out = vec![DVec3::ZERO; rest.len()];
        deform(&own, &partners, &rest, &mesh.triangles, &mut out);
        if out == rest {
            return;
        }
        // A scale that changes: measured as in the first pressed frame, so that all frames mix.
        let first = *self.stretch.get_or_insert(seen.stretch);
        let same = if first == seen.stretch { DMat3::IDENTITY } else { first * seen.stretch.inverse() };
        out.iter_mut().zip(&rest).for_each(|(o, r)| *o = same * (*o - *r));
        self.rows.push((frame, out));
    }

    fn finish(self, soft: &Soft, scene: &Scene, times: &[f64], options: &Bake) -> Option<Deformation> {
        let stretch = self.stretch?;
        let positions = &scene.meshes[soft.mesh].positions;
        let places = || positions.iter().map(|p| stretch * *p);
        let low = places().fold(DVec3::INFINITY, DVec3::min);
        let high = places().fold(DVec3::NEG_INFINITY, DVec3::max);
        let tolerance = options.tolerance.unwrap_or(DEFAULT_TOLERANCE_SHARE * (high - low).max_element());
        // Vertices that never move take no part.
        let moves: Vec<usize> =
            (0..positions.len()).filter(|&v| self.rows.iter().any(|(_, r)| r[v] != DVec3::ZERO)).collect();
        let rows: Vec<Vec<DVec3>> =
            self.rows.iter().map(|(_, r)| moves.iter().map(|&v| r[v]).collect()).collect();
        let mut mixed = mix(&rows, tolerance);
        let n = mixed.targets.len();
        if n == 0 {
            return None;
        }
        // Frames at which nothing presses are at rest.
        let mut weights = vec![0.0; times.len() * n];
        for (k, (frame, _)) in self.rows.iter().enumerate() {
            weights[frame * n..(frame + 1) * n].copy_from_slice(&mixed.weights[k * n..(k + 1) * n]);
        }
        mixed.weights = weights;
        let kept = match options.keys {
            BakedKeys::Fitted | BakedKeys::Linear => keys(&mixed, times, tolerance * FOR_KEYS),
            BakedKeys::EveryFrame => (0..times.len()).collect(),
        };
        let back = stretch.inverse();
        let whole = |target: &Vec<DVec3>| {
            let mut all = vec![DVec3::ZERO; positions.len()];
            moves.iter().zip(target).for_each(|(&v, d)| all[v] = back * *d);
            all
        };
        Some(Deformation {
            node: soft.node,
            targets: mixed.targets.iter().map(whole).collect(),
            times: kept.iter().map(|&k| times[k]).collect(),
            weights: kept.iter().flat_map(|&k| mixed.weights[k * n..(k + 1) * n].iter().copied()).collect(),
            frames: self.rows.len(),
            error: mixed.error,
        })
    }
}

/// Whether two colliders may overlap, by the boxes around them.
fn near(all: &[Collider], places: &[Placement], i: usize, j: usize) -> bool {
    let bounds = |k: usize| -> Aabb {
        let (r, p) = (places[k].rotation, places[k].position);
        let pose = Isometry::from_parts(p, Rotation::from_xyzw(r.x, r.y, r.z, r.w));
        all[k].geometry.shape().compute_aabb(&pose)
    };
    let endless = |k: usize| matches!(all[k].geometry, Geometry::HalfSpace(_));
    let above = |plane: usize, other: usize| {
        let around = bounds(other);
        let at = places[plane].rotation.conjugate() * (around.center() - places[plane].position);
        field(&all[plane].geometry, at).distance < around.half_extents().length()
    };
    match (endless(i), endless(j)) {
        (true, true) => true,
        (true, false) => above(i, j),
        (false, true) => above(j, i),
        (false, false) => bounds(i).intersects(&bounds(j)),
    }
}
