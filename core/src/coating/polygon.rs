//! The overlap of two flat-faced solids, exactly: faces cut by faces, and forces integrated over the pieces.

use super::patch::{Layers, Spot};
use crate::rig::Collider;
use crate::scene::Placement;
use crate::shape::Geometry;
use glam::DVec3;

/// Corners of a piece at most: the four of a face, and one more for each plane that cuts it, twice over.
const CORNERS: usize = 24;

/// Faces of an overlap at most: six of each box.
const FACES: usize = 12;

/// Planes closer than this share of the smaller solid are one.
const COPLANAR: f64 = 1e-9;

/// A convex polygon in space.
#[derive(Clone, Copy)]
struct Polygon {
    corners: [DVec3; CORNERS],
    count: usize,
    normal: DVec3,
}

/// Everything on the side of `point` that `normal` does not look to.
#[derive(Clone, Copy)]
struct Plane {
    point: DVec3,
    normal: DVec3,
}

impl Plane {
    fn height(&self, p: DVec3) -> f64 {
        (p - self.point).dot(self.normal)
    }
}

impl Polygon {
    const NONE: Polygon = Polygon { corners: [DVec3::ZERO; CORNERS], count: 0, normal: DVec3::ZERO };

    fn rectangle(center: DVec3, x: DVec3, y: DVec3, normal: DVec3) -> Polygon {
        let mut polygon = Polygon { count: 4, normal, ..Polygon::NONE };
        polygon.corners[..4].copy_from_slice(&[
            center - x - y,
            center + x - y,
            center + x + y,
            center - x + y,
        ]);
        polygon
    }

    fn corners(&self) -> &[DVec3] {
        &self.corners[..self.count]
    }

    /// Leaves of it what is below a plane (Sutherland and Hodgman).
    fn cut(&mut self, plane: &Plane) {
        let whole = *self;
        self.count = 0;
        let corners = whole.corners();
        for (i, &p) in corners.iter().enumerate() {
            let q = corners[(i + 1) % corners.len()];
            let (hp, hq) = (plane.height(p), plane.height(q));
            if hp <= 0.0 {
                self.push(p);
            }
            if (hp < 0.0 && hq > 0.0) || (hp > 0.0 && hq < 0.0) {
                self.push(p + (q - p) * (hp / (hp - hq)));
            }
        }
        if self.count < 3 {
            self.count = 0;
        }
    }

    fn push(&mut self, p: DVec3) {
        if self.count < CORNERS {
            self.corners[self.count] = p;
            self.count += 1;
        }
    }

    /// Twice its area, as a vector along its normal or against it.
    fn double_area(&self) -> DVec3 {
        let c = self.corners();
        (2..c.len()).map(|i| (c[i - 1] - c[0]).cross(c[i] - c[0])).sum()
    }
}

/// A collider with flat faces: a box, or a half space and how much of its plane matters.
struct Flat {
    faces: [Polygon; 6],
    count: usize,
    center: DVec3,
    endless: bool,
}

impl Flat {
    /// `near`: the middle of the other solid, and a length that it does not reach beyond.
    fn new(collider: &Collider, pose: &Placement, near: (DVec3, f64)) -> Option<Flat> {
        let mut faces = [Polygon::NONE; 6];
        match &collider.geometry {
            Geometry::Box(cuboid) => {
                let half = cuboid.half_extents;
                let axes = DVec3::AXES.map(|a| pose.rotation * a);
                for (k, face) in faces.iter_mut().enumerate() {
                    let (axis, side) = (k / 2, if k % 2 == 0 { -1.0 } else { 1.0 });
                    let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
                    let normal = axes[axis] * side;
                    let center = pose.position + normal * half[axis];
                    *face = Polygon::rectangle(center, axes[i] * half[i], axes[j] * half[j] * side, normal);
                }
                Some(Flat { faces, count: 6, center: pose.position, endless: false })
            }
            Geometry::HalfSpace(plane) => {
                let normal = pose.rotation * plane.normal;
                let (x, y) = normal.any_orthonormal_pair();
                let center = near.0 - normal * (near.0 - pose.position).dot(normal);
                // x, y, normal must be right-handed for the corners to go round the same way as a box's.
                let y = if x.cross(y).dot(normal) < 0.0 { -y } else { y };
                faces[0] = Polygon::rectangle(center, x * near.1, y * near.1, normal);
                Some(Flat { faces, count: 1, center, endless: true })
            }
            _ => None,
        }
    }

    fn faces(&self) -> &[Polygon] {
        &self.faces[..self.count]
    }

    fn planes(&self) -> impl Iterator<Item = Plane> {
        self.faces().iter().map(|f| Plane { point: f.corners[0], normal: f.normal })
    }
}

/// A solid's faces as far as they bound the overlap.
struct Bounds {
    pieces: [Polygon; FACES],
    count: usize,
}

/// How far a box reaches from its middle.
fn reach(collider: &Collider) -> Option<f64> {
    match &collider.geometry {
        Geometry::Box(cuboid) => Some(cuboid.half_extents.length()),
        _ => None,
    }
}

/// Adds the spots of two flat-faced colliders; whether they are such.
pub fn spots(
    (a, pose_a): (&Collider, &Placement),
    (b, pose_b): (&Collider, &Placement),
    layers: &Layers,
    out: &mut Vec<Spot>,
) -> bool {
    let (ra, rb) = (reach(a), reach(b));
    let Some(size) = ra.into_iter().chain(rb).reduce(f64::min) else { return false };
    let near_a = (pose_a.position, 2.0 * ra.unwrap_or(size));
    let near_b = (pose_b.position, 2.0 * rb.unwrap_or(size));
    let (Some(flat_a), Some(flat_b)) = (Flat::new(a, pose_a, near_b), Flat::new(b, pose_b, near_a)) else {
        return false;
    };
    let Some((bounds, normal)) = overlap(&flat_a, &flat_b, COPLANAR * size) else { return true };
    let pieces = &bounds.pieces[..bounds.count];
    // Along the normal the overlap lies between faces that look up and faces that look down: over each pair of one
    // and one its height is linear, and three points integrate force and moment exactly.
    let least = 1e-14 * size * size;
    for top in pieces.iter().filter(|p| p.normal.dot(normal) > 1e-9) {
        for bottom in pieces.iter().filter(|p| p.normal.dot(normal) < -1e-9) {
            let mut cell = *top;
            let corners = bottom.corners();
            for (i, &p) in corners.iter().enumerate() {
                let edge = corners[(i + 1) % corners.len()] - p;
                // The bottom goes round the other way, seen from above.
                cell.cut(&Plane { point: p, normal: normal.cross(edge) });
            }
            let c = cell.corners();
            for i in 2..c.len() {
                let area = 0.5 * (c[i - 1] - c[0]).cross(c[i] - c[0]).dot(normal);
                if area > least {
                    triangle([c[0], c[i - 1], c[i]], area, bottom, normal, layers, out);
                }
            }
        }
    }
    true
}

/// Three spots of a triangle on top, over a face at the bottom.
fn triangle(
    corners: [DVec3; 3],
    area: f64,
    bottom: &Polygon,
    normal: DVec3,
    layers: &Layers,
    out: &mut Vec<Spot>,
) {
    let slope = bottom.normal.dot(normal);
    for k in 0..3 {
        // Weights 2/3, 1/6, 1/6: exact for quadratics.
        let p = (corners[0] + corners[1] + corners[2]) / 6.0 + corners[k] * 0.5;
        let depth = (p - bottom.corners[0]).dot(bottom.normal) / slope;
        if depth > 0.0 {
            out.push(layers.spot(p, normal, depth, area / 3.0));
        }
    }
}

/// The faces of what two solids share, and the normal from the first to the second.
fn overlap(a: &Flat, b: &Flat, slack: f64) -> Option<(Bounds, DVec3)> {
    let mut bounds = Bounds { pieces: [Polygon::NONE; FACES], count: 0 };
    let mut leans = [Lean::default(); 2];
    for (own, other, first) in [(a, b, true), (b, a, false)] {
        for face in own.faces() {
            let mut piece = *face;
            for plane in other.planes() {
                // Of two faces in one plane only the first solid's bounds the overlap.
                let height = plane.height(face.corners[0]);
                let same = face.normal.dot(plane.normal) > 1.0 - 1e-12 && height.abs() <= slack;
                match (same, first) {
                    (true, true) => {}
                    (true, false) => piece.count = 0,
                    (false, _) => piece.cut(&plane),
                }
            }
            let area = 0.5 * piece.double_area().dot(face.normal);
            if piece.count > 0 && area > 0.0 && bounds.count < FACES {
                bounds.pieces[bounds.count] = piece;
                bounds.count += 1;
                leans[usize::from(!first)].add(face.normal, area);
            }
        }
    }
    let normal = match (a.endless, b.endless) {
        (true, _) => a.faces[0].normal,
        (_, true) => -b.faces[0].normal,
        _ => leans[0].toward() - leans[1].toward(),
    };
    // One inside the other looks nowhere: then away from its middle.
    let normal = normal.try_normalize().or_else(|| (b.center - a.center).try_normalize())?;
    (bounds.count > 0).then_some((bounds, normal))
}

/// Which way the faces of one solid look that bound the overlap.
#[derive(Clone, Copy, Default)]
struct Lean {
    sum: DVec3,
    area: f64,
    largest: f64,
}

impl Lean {
    /// Large faces by far: the narrow sides of a shallow overlap hardly turn a normal, and none of it jumps.
    fn add(&mut self, normal: DVec3, area: f64) {
        self.sum += normal * (area * area * area);
        self.area += area;
        self.largest = self.largest.max(area);
    }

    /// The way it looks, by how sure of it the solid is: one face knows, an edge does not.
    fn toward(&self) -> DVec3 {
        let Some(way) = self.sum.try_normalize() else { return DVec3::ZERO };
        let doubt = 1.0 - self.largest / self.area + 1e-2;
        way / (doubt * doubt)
    }
}
