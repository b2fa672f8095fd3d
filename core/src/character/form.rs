//! The shape of a limb: a capsule along it, a box where that fits clearly better, or the hull of its vertices where it stands
//! on a floor. All in the bone's rigid frame.
//!
//! A few vertices of a limb always belong to its neighbours, so shapes hold most of the vertices and not all of them.

use super::Limb;
use super::flesh::Flesh;
use super::name::{Name, Part, Side};
use super::survey::Survey;
use crate::rotation;
use crate::scene::{Placement, Scene};
use crate::shape::{self, Hull, Kind, MassProperties, Primitive};
use glam::{DMat3, DQuat, DVec3};
use std::collections::HashMap;

/// A primitive and where it is on its bone.
#[derive(Clone, Debug)]
pub struct Form {
    /// Sizes, scene units; a capsule runs along y.
    pub kind: Kind,
    /// Its middle and axes in the bone's rigid frame.
    pub at: Placement,
    /// The hull of its vertices in the bone's rigid frame, which stands for the primitive where it stands on a floor.
    pub hull: Option<Hull>,
}

impl Default for Form {
    fn default() -> Self {
        Form { kind: Kind::Sphere(1.0), at: Placement::IDENTITY, hull: None }
    }
}

/// This part of the vertices is within a capsule's radius, and within a box's sides.
const WITHIN: f64 = 0.9;

/// Feet, hands and heads become boxes when a capsule is this much larger; other bones when it is this much larger.
const CLEARLY: f64 = 1.25;
const GROSSLY: f64 = 2.0;

/// A bone without flesh that others hang on is a ball of this radius, as a part of the figure: smaller ones make no firm link.
const PEG: f64 = 0.025;

/// No shape is thinner than this part of the figure.
const THINNEST: f64 = 0.004;

impl Form {
    fn primitive(&self) -> Primitive {
        Primitive { center: DVec3::ZERO, kind: self.kind }
    }

    /// Cubic scene units.
    pub fn volume(&self) -> f64 {
        self.hull.as_ref().map_or_else(|| self.primitive().volume(), Hull::volume)
    }

    /// From end to end, scene units.
    pub(super) fn length(&self) -> f64 {
        let ([a, b], thick) = self.core();
        (b - a).length() + 2.0 * thick
    }

    /// In the bone's frame, at a density of 1.
    pub fn mass_properties(&self) -> MassProperties {
        let solid = self.hull.as_ref().and_then(|h| shape::of_mesh(&h.points, &h.triangles, 1.0));
        if let Some(solid) = solid {
            return solid;
        }
        self.primitive().mass_properties(1.0).moved(self.at.position, self.at.rotation)
    }

    /// How far it reaches towards `direction` (of the bone's frame), from the bone's origin.
    pub fn reach(&self, direction: DVec3) -> f64 {
        if let Some(hull) = &self.hull {
            return hull.points.iter().map(|p| p.dot(direction)).fold(f64::NEG_INFINITY, f64::max);
        }
        let d = self.at.rotation.conjugate() * direction;
        let own = match self.kind {
            Kind::Box(s) => (s * 0.5 * d.abs()).element_sum(),
            Kind::Sphere(r) => r,
            Kind::Capsule(_, r, l) | Kind::Cylinder(_, r, l) | Kind::Cone(_, r, l) => {
                r + 0.5 * l.abs() * d.y.abs()
            }
        };
        self.at.position.dot(direction) + own
    }

    /// The point of it that is farthest towards `direction`, about, in the bone's frame.
    pub(super) fn lowest(&self, direction: DVec3) -> DVec3 {
        let far = |a: DVec3, b: DVec3| if b.dot(direction) > a.dot(direction) { b } else { a };
        match &self.hull {
            Some(hull) => hull.points.iter().copied().reduce(far).unwrap_or_default(),
            None => {
                let (ends, radius) = self.core();
                far(ends[0], ends[1]) + direction * radius
            }
        }
    }

    /// The ends of its middle line in the bone's frame, and its thickness about that.
    pub(super) fn core(&self) -> ([DVec3; 2], f64) {
        let (axis, half, radius) = match self.kind {
            Kind::Box(s) => {
                let long = (0..3).fold(0, |m, i| if s[i] > s[m] { i } else { m });
                let radius = 0.25 * (s.element_sum() - s[long]);
                (DVec3::AXES[long], (0.5 * s[long] - radius).max(0.0), radius)
            }
            Kind::Sphere(r) => (DVec3::Y, 0.0, r),
            Kind::Capsule(_, r, l) | Kind::Cylinder(_, r, l) | Kind::Cone(_, r, l) => {
                (DVec3::Y, 0.5 * l.abs(), r)
            }
        };
        let along = self.at.rotation * (axis * half);
        let ends = [self.at.position - along, self.at.position + along];
        let off = |p: &DVec3| {
            let way = ends[1] - ends[0];
            let u = ((*p - ends[0]).dot(way) / way.length_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            (*p - ends[0] - way * u).length()
        };
        let beyond = self.hull.iter().flat_map(|h| &h.points).map(off).fold(radius, f64::max);
        (ends, beyond)
    }
}

/// Fits a shape to every limb, and makes pairs alike.
pub(super) fn fit_all(scene: &Scene, survey: &Survey, flesh: &Flesh, limbs: &mut [Limb]) {
    for limb in 0..limbs.len() {
        let node = limbs[limb].node;
        let children = limbs.iter().filter(|l| l.parent == Some(limb));
        let tips: Vec<DVec3> =
            children.map(|c| survey.at_rest(node).to(&survey.at_rest(c.node)).position).collect();
        let blocky = matches!(Name::new(&scene.nodes[node].name).part(), Some(Part::End | Part::Head))
            || tips.is_empty();
        limbs[limb].form = fit(flesh.points(node), &tips, blocky, survey.size);
    }
    pair(scene, limbs);
    if !flesh.guessed {
        stand_on_vertices(survey, flesh, limbs);
    }
}

/// Limbs that come this near to the lowest vertex, as a part of the figure's size, at this share of all moments touch with their
/// hulls: a capsule around a foot would stand below its sole.
const LOW: f64 = 0.06;
const OFTEN: f64 = 0.2;

fn stand_on_vertices(survey: &Survey, flesh: &Flesh, limbs: &mut [Limb]) {
    let hulls: Vec<Option<Hull>> = limbs.iter().map(|l| shape::hull(flesh.points(l.node))).collect();
    let lows: Vec<Vec<f64>> =
        limbs.iter().zip(&hulls).map(|(l, h)| lows(survey, l.node, h.as_ref())).collect();
    let moments = lows[0].len();
    let lowest: Vec<f64> =
        (0..moments).map(|t| lows.iter().map(|l| l[t]).fold(f64::INFINITY, f64::min)).collect();
    for ((limb, low), hull) in limbs.iter_mut().zip(&lows).zip(hulls) {
        let near = low.iter().zip(&lowest).filter(|(low, all)| **low < **all + LOW * survey.size).count();
        if near as f64 >= OFTEN * moments as f64 {
            limb.form.hull = hull.filter(|h| h.thinnest() > THINNEST * survey.size);
        }
    }
}

/// How low a bone's flesh comes at every moment of all clips.
fn lows(survey: &Survey, node: usize, hull: Option<&Hull>) -> Vec<f64> {
    let low = |at: &Placement| {
        let down = at.rotation.conjugate() * DVec3::NEG_Y;
        let reach =
            hull.iter().flat_map(|h| &h.points).map(|p| p.dot(down)).fold(f64::NEG_INFINITY, f64::max);
        at.position.y - reach
    };
    survey.ever(node).iter().map(low).collect()
}

fn fit(points: &[DVec3], tips: &[DVec3], blocky: bool, size: f64) -> Form {
    let thinnest = THINNEST * size;
    // A limb reaches from its joint to those of what hangs on it, wherever its vertices are.
    let mut reached = points.to_vec();
    if !points.is_empty() {
        reached.extend(tips.iter().copied().chain([DVec3::ZERO]).filter(|_| !tips.is_empty()));
    }
    let solid = shape::hull(&reached).and_then(|h| shape::of_mesh(&h.points, &h.triangles, 1.0));
    let Some(solid) = solid.filter(|s| s.mass > 0.0 && s.center.is_finite()) else {
        // Flat, or nothing at all: a ball where the vertices are.
        let middle = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
        let middle = if middle.is_finite() { middle } else { DVec3::ZERO };
        let far = points.iter().fold(0.0, |m: f64, p| m.max((*p - middle).length()));
        let at = Placement { position: middle, rotation: DQuat::IDENTITY };
        return Form { kind: Kind::Sphere((0.5 * far).max(PEG * size)), at, hull: None };
    };
    let own = DMat3::from_quat(solid.principal().1);
    // Along its own axes, or along the bone to what hangs on it: whichever is tighter.
    let mut axes: Vec<DVec3> = vec![own.x_axis, own.y_axis, own.z_axis];
    axes.extend(tips.iter().filter_map(|t| t.try_normalize()));
    let capsules = axes.iter().map(|axis| capsule(points, &reached, solid.center, *axis, thinnest));
    let tighter = |a: Form, b: Form| if b.volume() < a.volume() { b } else { a };
    let Some(capsule) = capsules.reduce(tighter) else { return Form::default() };
    let block = block(points, DQuat::from_mat3(&own).normalize(), thinnest);
    let much = if blocky { CLEARLY } else { GROSSLY };
    if capsule.volume() > much * block.volume() { block } else { capsule }
}

/// The value below which a part of them is.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part).round() as usize]
}

fn capsule(points: &[DVec3], reached: &[DVec3], center: DVec3, axis: DVec3, thinnest: f64) -> Form {
    let along = |p: DVec3| (p - center).dot(axis);
    let mut out: Vec<f64> = points.iter().map(|p| (*p - center - axis * along(*p)).length()).collect();
    let radius = quantile(&mut out, WITHIN).max(thinnest);
    let (lo, hi) = reached
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), p| (lo.min(along(*p)), hi.max(along(*p))));
    let length = (hi - lo - 2.0 * radius).max(0.0);
    let rotation = rotation::exp(turn_to(DVec3::Y, axis));
    Form {
        kind: Kind::Capsule(1, radius, length),
        at: Placement { position: center + axis * (0.5 * (lo + hi)), rotation },
        hull: None,
    }
}

/// The rotation vector that takes one direction to another the shortest way.
fn turn_to(from: DVec3, to: DVec3) -> DVec3 {
    let across = from.cross(to);
    let angle = libm::atan2(across.length(), from.dot(to));
    across.try_normalize().map_or(from.any_orthonormal_vector() * angle, |axis| axis * angle)
}

fn block(points: &[DVec3], rotation: DQuat, thinnest: f64) -> Form {
    let seen: Vec<DVec3> = points.iter().map(|p| rotation.conjugate() * *p).collect();
    let (mut lo, mut hi) = (DVec3::ZERO, DVec3::ZERO);
    for i in 0..3 {
        let mut values: Vec<f64> = seen.iter().map(|p| p[i]).collect();
        let beyond = 0.25 * (1.0 - WITHIN);
        (lo[i], hi[i]) = (quantile(&mut values, beyond), quantile(&mut values, 1.0 - beyond));
    }
    let size = (hi - lo).max(DVec3::splat(2.0 * thinnest));
    Form {
        kind: Kind::Box(size),
        at: Placement { position: rotation * (0.5 * (lo + hi)), rotation },
        hull: None,
    }
}

/// Gives the two of a pair the same sizes: the mean of both, where they are about the same.
fn pair(scene: &Scene, limbs: &mut [Limb]) {
    for (a, b) in pairs(scene, limbs) {
        let mean = |x: f64, y: f64| 0.5 * (x + y);
        let kind = match (limbs[a].form.kind, limbs[b].form.kind) {
            (Kind::Capsule(_, r, l), Kind::Capsule(_, s, m)) => Kind::Capsule(1, mean(r, s), mean(l, m)),
            (Kind::Sphere(r), Kind::Sphere(s)) => Kind::Sphere(mean(r, s)),
            (Kind::Box(s), Kind::Box(t)) if (s - t).abs().max_element() < 0.2 * s.max_element() => {
                Kind::Box((s + t) * 0.5)
            }
            _ => continue,
        };
        let before = limbs[a].form.volume().max(limbs[b].form.volume());
        let after = Form { kind, hull: None, at: limbs[a].form.at }.volume();
        if after > 0.6 * before {
            (limbs[a].form.kind, limbs[b].form.kind) = (kind, kind);
        }
    }
}

/// Left and right limbs of the same name and depth, as indices: the left one first.
pub(super) fn pairs(scene: &Scene, limbs: &[Limb]) -> Vec<(usize, usize)> {
    let depth = |i: usize| std::iter::successors(Some(i), |&l| limbs[l].parent).count();
    let mut found: HashMap<(String, usize), [Vec<usize>; 2]> = HashMap::new();
    for (i, limb) in limbs.iter().enumerate() {
        let name = Name::new(&scene.nodes[limb.node].name);
        let Some(side) = name.side() else { continue };
        let key = (name.without_side().join(" "), depth(i));
        found.entry(key).or_default()[usize::from(side == Side::Right)].push(i);
    }
    let mut pairs: Vec<(usize, usize)> = found
        .into_values()
        .filter(|[left, right]| left.len() == right.len())
        .flat_map(|[left, right]| left.into_iter().zip(right))
        .collect();
    pairs.sort_unstable();
    pairs
}
