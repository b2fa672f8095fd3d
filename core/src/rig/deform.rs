//! Obstacles that change their shape: meshes on bones that follow their keys, and meshes whose scale is keyed. They are
//! cut into pieces that hardly do ([`shape::cut`]), each of which goes its own way with its true velocity.

use super::Carrier;
use super::compile::Compiler;
use super::form::Piece;
use super::touch::Carried;
use crate::guide::Path;
use crate::scene::Placement;
use crate::setup::{Behaviour, Body, SetupError, Shape};
use crate::shape::{self, Cut, Geometry, Moments, RigidPiece};
use glam::DVec3;

/// Vertices may be this far from where the keys put them, as a share of the mesh's extent: finer than an eye sees.
const NEAR: f64 = 0.0025;

/// Most pieces of a mesh: as many as a scene of many things has colliders.
const MOST_PIECES: usize = 256;

/// Moments that a mesh is cut by, spread evenly over its keys.
const MOMENTS: usize = 32;

/// A piece that goes nowhere further than this share of the mesh's extent stands still.
const STILL: f64 = 1e-9;

impl Compiler<'_> {
    /// Whether a node shows a skin that nothing simulated carries, and that its body touches with.
    pub(super) fn is_shown_by_bones(&self, node: usize, body: &Body) -> bool {
        !body.behaviour.simulated()
            && matches!(body.shape, Shape::Auto {} | Shape::Mesh {})
            && self.scene.skinned_mesh(node).is_some_and(|(m, _)| !m.triangles.is_empty())
    }

    /// The pieces of a mesh that changes its shape as keyed; `None` for all else.
    pub(super) fn deforming(
        &mut self,
        node: usize,
        body: &Body,
        place: &str,
    ) -> Result<Option<Carried>, SetupError> {
        let skinned = self.is_shown_by_bones(node, body);
        if !skinned && !self.is_scaled(node, body) {
            return Ok(None);
        }
        let simulated = |n: usize| {
            std::iter::successors(Some(n), |&p| self.scene.nodes[p].parent)
                .find_map(|p| self.solid_of_node.get(&p).copied())
        };
        if skinned {
            let bones = self.scene.skinned_mesh(node).map_or(&[][..], |(_, s)| &s.joints);
            if let Some(s) = bones.iter().find_map(|b| simulated(*b)) {
                return Err(SetupError::new(
                    place,
                    format!(
                        "is shown by bones that are simulated, as {} is: give those a shape each, and remove this body",
                        self.solids[s].label
                    ),
                ));
            }
        } else if simulated(node).is_some() {
            return Ok(None);
        }
        if self.vessel.is_some() {
            let why = "changes its shape, and cannot in a \"space\" of the world's own yet; give it a shape that stays";
            return Err(SetupError::new(place, why));
        }
        Ok(Some(self.deformed(node, body, skinned, place)))
    }

    /// Whether keys really scale what a node shows.
    fn is_scaled(&self, node: usize, body: &Body) -> bool {
        let asked = body.behaviour == Behaviour::Animated
            && matches!(body.shape, Shape::Auto {} | Shape::Mesh {})
            && self.pose.scales(node)
            && super::mass::own_mesh(self.scene, node).is_some_and(|m| !m.triangles.is_empty());
        if !asked {
            return false;
        }
        // Many programs write keys for scales that never change.
        let (first, size) = (self.pose.stretch(node), self.pose.world(node).matrix3);
        let size = size.x_axis.length() + size.y_axis.length() + size.z_axis.length();
        let mut pose = self.pose.clone();
        let differs = |t: &f64| {
            pose.evaluate(*t);
            let change = (pose.stretch(node) - first).to_cols_array();
            change.iter().any(|c| c.abs() > 1e-5 * size)
        };
        self.moments(node).iter().any(differs)
    }

    /// First and last frame, counted from the first one, between which keys are.
    fn keyed_frames(&self, breaks: &[f64]) -> (usize, usize) {
        let last = match self.range.turns {
            1 => self.range.most_frames() - 1,
            turns => (self.range.frames() - 1) * turns,
        };
        let frame = |t: f64| (t - self.start) * self.frames_per_second;
        match (breaks.first(), breaks.last()) {
            (Some(&a), Some(&b)) => {
                let from = frame(a).floor().clamp(0.0, last as f64) as usize;
                (from, frame(b).ceil().clamp(from as f64, last as f64) as usize)
            }
            _ => (0, 0),
        }
    }

    /// Moments (s) to cut a node's mesh by, the first frame among them.
    fn moments(&self, node: usize) -> Vec<f64> {
        let (breaks, _) = self.pose.vertex_breaks(self.scene, node);
        let (from, to) = self.keyed_frames(&breaks);
        let count = (to - from).min(MOMENTS - 1);
        let at = |k: usize| self.range.time(from + (to - from) * k / count.max(1));
        (0..=count).map(at).collect()
    }

    fn deformed(&mut self, node: usize, body: &Body, skinned: bool, place: &str) -> Carried {
        let scene = self.scene;
        let mut pose = self.pose.clone();
        let mut vertices = |t: f64| {
            pose.evaluate(t);
            pose.vertices(scene, node)
        };
        let moves = body.behaviour == Behaviour::Animated;
        let (breaks, steps) = self.pose.vertex_breaks(scene, node);
        let times = if moves { self.moments(node) } else { vec![self.start] };
        if !moves && !breaks.is_empty() {
            self.warnings.push(format!(
                "{place} is static, but has keys: it is seen to move, and touches where it is at the first frame; take \"animated\""
            ));
        }
        let none = Carried { how: String::new(), pieces: Vec::new() };
        let points: Vec<Vec<DVec3>> = times.iter().map(|t| vertices(*t)).collect();
        if !points.iter().flatten().all(|p| p.is_finite()) {
            return none;
        }
        let low = points[0].iter().fold(DVec3::INFINITY, |m, p| m.min(*p));
        let high = points[0].iter().fold(DVec3::NEG_INFINITY, |m, p| m.max(*p));
        let extent = (high - low).max_element();
        let moments =
            Moments { triangles: with_area(scene, node, &points), goes_with: dominant(scene, node), points };
        let cut = shape::cut(moments, NEAR * extent, MOST_PIECES);
        let frames = if moves { self.keyed_frames(&breaks) } else { (0, 0) };
        let (ways, stray) = self.ways(&cut, frames, steps, &mut vertices);
        let mut pieces = Vec::with_capacity(cut.pieces.len());
        for (piece, way) in cut.pieces.iter().zip(ways) {
            let Some(geometry) = Geometry::triangles(piece.rest.clone(), piece.triangles.clone(), false)
            else {
                continue;
            };
            let (carrier, at) = match way {
                Way::Stands(at) => (Carrier::World, at),
                Way::Goes(path) => {
                    self.paths.push(path);
                    (Carrier::Keys(self.paths.len() - 1), Placement::IDENTITY)
                }
            };
            pieces.push((carrier, Piece { at, geometry, size: extent }));
        }
        let by = if skinned { "skin" } else { "scale" };
        if stray > 2.0 * NEAR * extent {
            self.warnings.push(format!(
                "{place} changes its shape by more than {} pieces can: it touches up to {stray:.4} from where it is seen; take a simpler shape if it matters",
                pieces.len()
            ));
        }
        let how = match pieces.len() {
            1 => format!("the mesh, as its {by} moves it"),
            n => format!("{n} pieces that move with its {by}, within {stray:.4}"),
        };
        Carried { how, pieces }
    }

    /// The ways of the pieces of a cut between two frames, and how far their vertices stray from them.
    fn ways(
        &self,
        cut: &Cut,
        (from, to): (usize, usize),
        steps: bool,
        vertices: &mut impl FnMut(f64) -> Vec<DVec3>,
    ) -> (Vec<Way>, f64) {
        let mut stray = 0.0_f64;
        let mut placed = |t: f64| -> Vec<Placement> {
            let mut points = vertices(t);
            cut.extend(&mut points);
            let fit = |p: &RigidPiece| {
                let (place, off) = p.fit(&points);
                stray = stray.max(off);
                place
            };
            cut.pieces.iter().map(fit).collect()
        };
        let first = placed(self.range.time(from));
        let mut samples = vec![Vec::with_capacity(to - from); cut.pieces.len()];
        let mut begin = first.clone();
        for frame in from..to {
            let [start, end] = [frame, frame + 1].map(|f| self.range.time(f));
            let share = |u: f64| start + (end - start) * u;
            let (b, c, next) = (placed(share(1.0 / 3.0)), placed(share(2.0 / 3.0)), placed(end));
            // A key that steps has two sides.
            let left = if steps { placed(share(1.0 - 1e-9)) } else { next.clone() };
            for (k, of_piece) in samples.iter_mut().enumerate() {
                of_piece.push(([start, end], [begin[k], b[k], c[k], left[k]]));
            }
            begin = next;
        }
        let way = |(samples, (first, piece)): (Vec<Sampled>, (&Placement, &RigidPiece))| {
            let reach = piece.rest.iter().map(|r| r.length()).fold(0.0, f64::max);
            let still = |p: &Placement| {
                let turned = crate::rotation::distance(p.rotation, first.rotation) * reach;
                (p.position - first.position).length() + turned <= STILL * reach
            };
            match samples.iter().all(|(_, at)| at.iter().all(still)) {
                true => Way::Stands(*first),
                false => Way::Goes(Path::through(&samples, 0.1 * reach)),
            }
        };
        (samples.into_iter().zip(first.iter().zip(&cut.pieces)).map(way).collect(), stray)
    }
}

/// Start and end of a frame (s), and where a piece is at its start, a third, two thirds and the end.
type Sampled = ([f64; 2], [Placement; 4]);

/// What becomes of a piece.
enum Way {
    Stands(Placement),
    Goes(Path),
}

/// The triangles that have an area at some moment.
fn with_area(scene: &crate::scene::Scene, node: usize, points: &[Vec<DVec3>]) -> Vec<[u32; 3]> {
    let Some(mesh) = scene.nodes[node].mesh.map(|m| &scene.meshes[m]) else { return Vec::new() };
    let area = |p: &[DVec3], t: &[u32; 3]| {
        let [a, b, c] = t.map(|i| p[i as usize]);
        let longest = (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
        (b - a).cross(c - a).length() > 1e-12 * longest
    };
    mesh.triangles.iter().filter(|t| points.iter().any(|p| area(p, t))).copied().collect()
}

/// The bone that pulls most at each vertex; empty without a skin.
fn dominant(scene: &crate::scene::Scene, node: usize) -> Vec<u32> {
    let Some((mesh, _)) = scene.skinned_mesh(node) else { return Vec::new() };
    let mut most = vec![(0.0, u32::MAX); mesh.positions.len()];
    for pull in &mesh.influences {
        if let Some(m) = most.get_mut(pull.vertex as usize).filter(|m| pull.weight > m.0) {
            *m = (pull.weight, pull.joint);
        }
    }
    most.into_iter().map(|m| m.1).collect()
}
