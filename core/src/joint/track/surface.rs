//! The nearest place on the surface of a triangle mesh, and its normal.

use super::boxes::Boxes;
use super::{Nearest, direction};
use glam::DVec3;
use std::collections::BTreeMap;

/// Twice the area of a triangle over its longest side squared, below which it has no area.
const NO_AREA: f64 = 1e-12;

/// Nearer to the surface than this part of the mean side, the smooth normal fades in.
const FADE: f64 = 0.01;

/// The smooth normal stays within 60 degrees of the triangle's own: at least this cosine.
const UPRIGHT: f64 = 0.5;

/// The corners at the ends of the side opposite each corner.
const SIDES: [[usize; 2]; 3] = [[1, 2], [2, 0], [0, 1]];

/// The surface of a mesh.
///
/// The distance to a mesh has a gradient with jumps: on the surface it is the normal of a triangle, and a point that
/// slides over an edge would jerk. So the direction held is
///
/// - on the surface, the smooth normal: between the vertices' normals, which are those of the triangles around them
///   weighted by their angles (Thürmer and Wüthrich 1998; Bærentzen and Aanæs 2005 show that they tell the sides);
/// - further off than a hundredth of the mean side, the direction of the nearest place, which is the exact gradient of
///   the signed distance: one step of Newton's method gets to the surface from however far;
/// - between these, a smooth mix.
///
/// The error is always the way to the nearest place along that direction. Where the direction is at an angle `a` to the
/// gradient, a step along it leaves `sin² a` of the distance: a few thousandths on a mesh with bends of ten degrees,
/// half over the sides of a cube, and three quarters at worst over a triangle, as the smooth normal is kept within 60
/// degrees of the triangle's. The directions jump only at bends sharper than 120 degrees (over the side of such a blade
/// steps may be slower, too) and where two places are equally near. They point to the side from which the triangles
/// wind counter-clockwise.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Surface {
    corners: Vec<Corner>,
    triangles: Vec<Triangle>,
    boxes: Boxes,
    /// How near to the surface the smooth normal fades in (m).
    fade: f64,
}

#[derive(Clone, Debug, PartialEq)]
struct Corner {
    at: DVec3,
    /// Unit, or zero where the triangles around cancel out.
    normal: DVec3,
    /// Unit, out of the surface, or zero where there is no border.
    out: DVec3,
}

#[derive(Clone, Debug, PartialEq)]
struct Triangle {
    corners: [u32; 3],
    normal: DVec3,
    /// Whether the side opposite each corner is a border.
    border: [bool; 3],
}

/// The nearest place so far.
struct Best {
    triangle: usize,
    /// How much of each corner; exactly zero for those opposite the side it is on.
    weights: [f64; 3],
    distance_squared: f64,
}

impl Surface {
    pub(super) fn new(vertices: Vec<DVec3>, triangles: &[[u32; 3]]) -> Result<Surface, String> {
        if let Some(i) = vertices.iter().position(|v| !v.is_finite()) {
            return Err(format!(
                "vertex {i} of the surface is at {}, which is no place; move it",
                vertices[i]
            ));
        }
        if let Some((i, v)) = triangles
            .iter()
            .enumerate()
            .find_map(|(i, t)| t.iter().find(|v| **v as usize >= vertices.len()).map(|v| (i, *v)))
        {
            let n = vertices.len();
            return Err(format!(
                "triangle {i} of the surface has vertex {v}, but there are only {n} (from 0)"
            ));
        }
        let (mut corners, names) = weld(&vertices);
        let welded = triangles.iter().map(|t| t.map(|v| names[v as usize]));
        let welded: Vec<[u32; 3]> = welded.filter(|[a, b, c]| a != b && b != c && c != a).collect();
        // Triangles without area count here: they fill the crack between those on either side.
        let mut uses = BTreeMap::new();
        for side in welded.iter().flat_map(|t| SIDES.map(|[i, j]| name(t[i], t[j]))) {
            *uses.entry(side).or_insert(0) += 1;
        }
        let (mut kept, mut sides) = (Vec::new(), 0.0);
        for t in welded {
            let at = t.map(|v| corners[v as usize].at);
            let side = SIDES.map(|[i, j]| at[j] - at[i]);
            let cross = side[0].cross(side[1]);
            let longest = side.iter().map(|s| s.length_squared()).fold(0.0, f64::max);
            let (Some(normal), true) = (direction(cross), cross.length() > NO_AREA * longest) else {
                continue;
            };
            let border = SIDES.map(|[i, j]| uses.get(&name(t[i], t[j])) == Some(&1));
            for (k, [i, j]) in SIDES.into_iter().enumerate() {
                sides += side[k].length();
                let (one, other) = (side[j], -side[i]);
                let angle = libm::atan2(one.cross(other).length(), one.dot(other));
                corners[t[k] as usize].normal += normal * angle;
                if border[k] {
                    let out = side[k].cross(normal).normalize_or_zero();
                    corners[t[i] as usize].out += out;
                    corners[t[j] as usize].out += out;
                }
            }
            kept.push(Triangle { corners: t, normal, border });
        }
        if kept.is_empty() {
            return Err(match triangles.len() {
                0 => "the surface has no triangles; add at least one".to_string(),
                n => {
                    format!("none of the {n} triangles of the surface has an area; check its mesh and scale")
                }
            });
        }
        for corner in &mut corners {
            corner.normal = corner.normal.normalize_or_zero();
            corner.out = corner.out.normalize_or_zero();
        }
        let bounds: Vec<[DVec3; 2]> = kept
            .iter()
            .map(|t| t.corners.map(|v| corners[v as usize].at))
            .map(|[a, b, c]| [a.min(b).min(c), a.max(b).max(c)])
            .collect();
        let fade = FADE * sides / (3 * kept.len()) as f64;
        Ok(Surface { corners, triangles: kept, boxes: Boxes::new(&bounds), fade })
    }

    fn places(&self, triangle: &Triangle) -> [DVec3; 3] {
        triangle.corners.map(|v| self.corners[v as usize].at)
    }

    pub(super) fn nearest(&self, point: DVec3) -> Nearest {
        let point = if point.is_finite() { point } else { self.places(&self.triangles[0])[0] };
        let mut best = Best { triangle: 0, weights: [1.0, 0.0, 0.0], distance_squared: f64::INFINITY };
        self.boxes.visit(point, |triangle| {
            best.look(
                triangle,
                self.places(&self.triangles[triangle]),
                self.triangles[triangle].normal,
                point,
            );
            best.distance_squared
        });
        let triangle = &self.triangles[best.triangle];
        let at = mix(self.places(triangle), best.weights);
        let normals = triangle.corners.map(|v| self.corners[v as usize].normal);
        let smooth = upright(mix(normals, best.weights), triangle.normal);
        let away = point - at;
        let out = self.out(triangle, best.weights);
        if away.dot(out) > 0.0 {
            let out = direction(out.reject_from_normalized(smooth));
            let out = out.unwrap_or_else(|| smooth.any_orthonormal_vector());
            return Nearest { point: at, held: [smooth, out, smooth.cross(out)], count: 3 };
        }
        let held = match direction(away) {
            Some(away_unit) => {
                let x = (away.length() / self.fade).min(1.0);
                let gradient = if away_unit.dot(smooth) < 0.0 { -away_unit } else { away_unit };
                // The two are never opposite, so there is always something left to make unit length.
                smooth.lerp(gradient, x * x * (3.0 - 2.0 * x)).normalize_or(smooth)
            }
            None => smooth,
        };
        let across = held.any_orthonormal_vector();
        Nearest { point: at, held: [held, across, held.cross(across)], count: 1 }
    }

    /// The direction out of the surface where a place is on its border, else zero.
    fn out(&self, triangle: &Triangle, weights: [f64; 3]) -> DVec3 {
        if let Some(k) = (0..3).find(|k| SIDES[*k].iter().all(|i| weights[*i] == 0.0)) {
            return self.corners[triangle.corners[k] as usize].out;
        }
        let at = self.places(triangle);
        match (0..3).find(|k| weights[*k] == 0.0 && triangle.border[*k]) {
            Some(k) => (at[SIDES[k][1]] - at[SIDES[k][0]]).cross(triangle.normal).normalize_or_zero(),
            None => DVec3::ZERO,
        }
    }
}

impl Best {
    fn look(&mut self, triangle: usize, at: [DVec3; 3], normal: DVec3, point: DVec3) {
        let mut offer = |weights: [f64; 3]| {
            let distance_squared = (mix(at, weights) - point).length_squared();
            if distance_squared < self.distance_squared {
                *self = Best { triangle, weights, distance_squared };
            }
        };
        // The sides are tried even where the point is over the inside: of a needle, rounding may think so wrongly.
        let mut inside = [0.0; 3];
        for (k, [i, j]) in SIDES.into_iter().enumerate() {
            let (side, from) = (at[j] - at[i], point - at[i]);
            let along = (from.dot(side) / side.length_squared()).clamp(0.0, 1.0);
            let mut weights = [0.0; 3];
            (weights[i], weights[j]) = (1.0 - along, along);
            offer(weights);
            inside[k] = side.cross(from).dot(normal);
        }
        if inside.iter().all(|area| *area > 0.0) {
            let all: f64 = inside.iter().sum();
            offer(inside.map(|area| area / all));
        }
    }
}

/// One corner for each place, and the corner of each vertex.
fn weld(vertices: &[DVec3]) -> (Vec<Corner>, Vec<u32>) {
    let (mut corners, mut known) = (Vec::new(), BTreeMap::new());
    let names = vertices.iter().map(|v| {
        // Adding zero takes the sign off a negative one.
        let key = (*v + DVec3::ZERO).to_array().map(f64::to_bits);
        *known.entry(key).or_insert_with(|| {
            corners.push(Corner { at: *v, normal: DVec3::ZERO, out: DVec3::ZERO });
            corners.len() as u32 - 1
        })
    });
    let names = names.collect();
    (corners, names)
}

/// A side by its ends, whichever way it goes.
fn name(a: u32, b: u32) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

fn mix([a, b, c]: [DVec3; 3], weights: [f64; 3]) -> DVec3 {
    a * weights[0] + b * weights[1] + c * weights[2]
}

/// `smooth` at unit length, turned towards `normal` if it is too far from it.
fn upright(smooth: DVec3, normal: DVec3) -> DVec3 {
    let Some(unit) = direction(smooth) else { return normal };
    if unit.dot(normal) >= UPRIGHT {
        return unit;
    }
    match direction(unit.reject_from_normalized(normal)) {
        Some(flat) => normal * UPRIGHT + flat * (1.0 - UPRIGHT * UPRIGHT).sqrt(),
        None => normal,
    }
}

#[cfg(test)]
mod tests;
