//! Closed meshes with normals.

use glam::DVec3;
use std::collections::HashMap;

/// Corners, their normals, and triangles.
#[derive(Default)]
pub struct Solid {
    pub positions: Vec<DVec3>,
    pub normals: Vec<DVec3>,
    pub triangles: Vec<[u16; 3]>,
}

/// A ball: an icosahedron whose faces were split in four, so many times.
pub fn ball(radius: f64, splits: usize) -> Solid {
    let t = (1.0 + 5.0_f64.sqrt()) / 2.0;
    let mut corners: Vec<DVec3> = [[-1.0, t, 0.0], [1.0, t, 0.0], [-1.0, -t, 0.0], [1.0, -t, 0.0]]
        .into_iter()
        .flat_map(|[a, b, c]| [[a, b, c], [c, a, b], [b, c, a]])
        .map(|p| DVec3::from_array(p).normalize())
        .collect();
    // Every three corners that are neighbours are a face, outward.
    let edge = corners.iter().skip(1).map(|c| (*c - corners[0]).length()).fold(f64::INFINITY, f64::min);
    let near = |a: usize, b: usize, c: &[DVec3]| ((c[a] - c[b]).length() - edge).abs() < 1e-9;
    let mut faces = Vec::new();
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                if near(a, b, &corners) && near(b, c, &corners) && near(a, c, &corners) {
                    let out = (corners[b] - corners[a]).cross(corners[c] - corners[a]).dot(corners[a]) > 0.0;
                    faces.push(if out { [a, b, c] } else { [a, c, b] });
                }
            }
        }
    }
    for _ in 0..splits {
        let mut middles: HashMap<(usize, usize), usize> = HashMap::new();
        let mut finer = Vec::with_capacity(faces.len() * 4);
        for [a, b, c] in faces {
            let mut middle = |i: usize, j: usize| {
                *middles.entry((i.min(j), i.max(j))).or_insert_with(|| {
                    corners.push((corners[i] + corners[j]).normalize());
                    corners.len() - 1
                })
            };
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
        }
        faces = finer;
    }
    Solid {
        positions: corners.iter().map(|c| *c * radius).collect(),
        normals: corners,
        triangles: faces.into_iter().map(|f| f.map(|i| i as u16)).collect(),
    }
}

/// A box around `center`.
pub fn block(size: DVec3, center: DVec3) -> Solid {
    let mut solid = Solid::default();
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let unit = |i: usize| DVec3::from_array(std::array::from_fn(|c| f64::from(c == i % 3)));
            let normal = unit(axis) * side;
            let (u, v) = (unit(axis + 1), unit(axis + 2) * side);
            let base = solid.positions.len() as u16;
            for (a, b) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                solid.positions.push(center + (normal + u * a + v * b) * size * 0.5);
                solid.normals.push(normal);
            }
            solid.triangles.extend([[base, base + 1, base + 2], [base, base + 2, base + 3]]);
        }
    }
    solid
}
