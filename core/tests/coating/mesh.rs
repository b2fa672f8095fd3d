//! Meshes to press.

use glam::DVec3;
use std::collections::HashMap;

/// Vertices and triangles.
pub type Mesh = (Vec<DVec3>, Vec<[u32; 3]>);

/// An icosahedron, each triangle cut in four `times` times, on a ball.
pub fn ball_mesh(radius: f64, times: usize) -> Mesh {
    let g = (1.0 + 5.0_f64.sqrt()) / 2.0;
    let mut p: Vec<DVec3> = Vec::new();
    for (a, b) in [(1.0, g), (-1.0, g), (1.0, -g), (-1.0, -g)] {
        p.extend([DVec3::new(0.0, a, b), DVec3::new(a, b, 0.0), DVec3::new(b, 0.0, a)]);
    }
    p.iter_mut().for_each(|p| *p = p.normalize());
    let near = |i: usize, j: usize| i != j && (p[i] - p[j]).length() < 1.1;
    let mut t: Vec<[u32; 3]> = Vec::new();
    for i in 0..12 {
        for j in i + 1..12 {
            for k in j + 1..12 {
                if near(i, j) && near(j, k) && near(i, k) {
                    let out = (p[j] - p[i]).cross(p[k] - p[i]).dot(p[i]) > 0.0;
                    let [i, j, k] = [i as u32, j as u32, k as u32];
                    t.push(if out { [i, j, k] } else { [i, k, j] });
                }
            }
        }
    }
    for _ in 0..times {
        let mut middles: HashMap<(u32, u32), u32> = HashMap::new();
        let mut finer = Vec::new();
        for [a, b, c] in t {
            let [ab, bc, ca] = [(a, b), (b, c), (c, a)].map(|(i, j)| {
                *middles.entry((i.min(j), i.max(j))).or_insert_with(|| {
                    p.push((p[i as usize] + p[j as usize]).normalize());
                    p.len() as u32 - 1
                })
            });
            finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
        }
        t = finer;
    }
    (p.into_iter().map(|p| p * radius).collect(), t)
}

/// A box of `n` by `n` squares a side, corners shared.
pub fn box_mesh(half: DVec3, n: i32) -> Mesh {
    let mut places: HashMap<[i32; 3], u32> = HashMap::new();
    let (mut p, mut t) = (Vec::new(), Vec::new());
    for axis in 0..3 {
        for side in [0, n] {
            let mut vertex = |i: i32, j: i32| {
                let mut at = [0; 3];
                (at[axis], at[(axis + 1) % 3], at[(axis + 2) % 3]) = (side, i, j);
                *places.entry(at).or_insert_with(|| {
                    let unit = DVec3::new(f64::from(at[0]), f64::from(at[1]), f64::from(at[2]));
                    p.push((unit * (2.0 / f64::from(n)) - 1.0) * half);
                    p.len() as u32 - 1
                })
            };
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let c = [vertex(i, j), vertex(i + 1, j), vertex(i + 1, j + 1), vertex(i, j + 1)];
                let [a, b, c, d] = if side == 0 { [c[0], c[3], c[2], c[1]] } else { c };
                t.extend([[a, b, c], [a, c, d]]);
            }
        }
    }
    (p, t)
}
