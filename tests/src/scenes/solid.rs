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

impl Solid {
    /// The same, stretched along the axes.
    pub fn stretched(mut self, by: DVec3) -> Solid {
        self.positions.iter_mut().for_each(|p| *p *= by);
        // Planes lean the other way than what lies in them.
        self.normals.iter_mut().for_each(|n| *n = (*n / by).normalize());
        self
    }

    /// Both, as one mesh.
    pub fn with(mut self, other: &Solid) -> Solid {
        let base = self.positions.len() as u16;
        self.positions.extend(&other.positions);
        self.normals.extend(&other.normals);
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|i| base + i)));
        self
    }

    /// What stands in x and y, laid down: y becomes z.
    pub fn laid(mut self) -> Solid {
        for v in self.positions.iter_mut().chain(&mut self.normals) {
            *v = DVec3::new(v.x, -v.z, v.y);
        }
        self
    }

    /// The same elsewhere.
    pub fn moved(mut self, by: DVec3) -> Solid {
        self.positions.iter_mut().for_each(|p| *p += by);
        self
    }
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

/// A cylinder around the origin along z, with so many sides.
pub fn cylinder(radius: f64, length: f64, sides: usize) -> Solid {
    let turn = |i: usize| std::f64::consts::TAU * i as f64 / sides as f64;
    let outline: Vec<[f64; 2]> =
        (0..sides).map(|i| [radius * turn(i).cos(), radius * turn(i).sin()]).collect();
    piece(&outline, length)
}

/// A flat piece in the plane of x and y, `thickness` along z around it. The outline is convex.
pub fn piece(outline: &[[f64; 2]], thickness: f64) -> Solid {
    let mut outline = outline.to_vec();
    let next = |i: usize| (i + 1) % outline.len();
    let area: f64 = (0..outline.len())
        .map(|i| outline[i][0] * outline[next(i)][1] - outline[next(i)][0] * outline[i][1])
        .sum();
    // Faces look outward when it goes round counter-clockwise as seen from +z.
    if area < 0.0 {
        outline.reverse();
    }
    let corner = |[x, y]: [f64; 2], side: f64| DVec3::new(x, y, 0.5 * thickness * side);
    let mut solid = Solid::default();
    let mut face = |corners: &[DVec3], normal: DVec3| {
        let base = solid.positions.len() as u16;
        solid.positions.extend(corners);
        solid.normals.extend(corners.iter().map(|_| normal));
        solid.triangles.extend((2..corners.len() as u16).map(|i| [base, base + i - 1, base + i]));
    };
    let top: Vec<DVec3> = outline.iter().map(|p| corner(*p, 1.0)).collect();
    let bottom: Vec<DVec3> = outline.iter().rev().map(|p| corner(*p, -1.0)).collect();
    face(&top, DVec3::Z);
    face(&bottom, -DVec3::Z);
    for (i, from) in outline.iter().enumerate() {
        let to = outline[(i + 1) % outline.len()];
        let along = corner(to, 0.0) - corner(*from, 0.0);
        let quad = [corner(*from, -1.0), corner(to, -1.0), corner(to, 1.0), corner(*from, 1.0)];
        face(&quad, along.cross(DVec3::Z).normalize());
    }
    solid
}
