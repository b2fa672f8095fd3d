//! Volume integrals over a closed triangle mesh, exact: the mesh is a signed sum of tetrahedra from a point
//! near it, and each integral over a tetrahedron is a polynomial of its corners.

use super::MassProperties;
use glam::{DMat3, DVec3};
use std::collections::HashMap;

/// Whether a mesh bounds a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Every edge is shared by two triangles in opposite directions, and the volume is positive.
    Yes,
    /// As above, with all triangles facing inwards.
    InsideOut,
    /// There are open or doubled edges.
    No,
}

/// Whether the triangles bound a volume. Vertices at the same place count as one: formats split them at seams.
pub fn closed(positions: &[DVec3], triangles: &[[u32; 3]]) -> Closed {
    if triangles.len() < 4 {
        return Closed::No;
    }
    let mut place = HashMap::with_capacity(positions.len());
    let welded: Vec<usize> = positions
        .iter()
        .map(|p| {
            // `+ 0.0` makes -0.0 and 0.0 one place.
            let key = (p + DVec3::ZERO).to_array().map(f64::to_bits);
            let next = place.len();
            *place.entry(key).or_insert(next)
        })
        .collect();
    let mut balance: HashMap<(usize, usize), i32> = HashMap::with_capacity(triangles.len() * 3 / 2);
    for t in triangles {
        let [a, b, c] = t.map(|i| welded[i as usize]);
        if a == b || b == c || c == a {
            continue; // a triangle without area has no edges that matter
        }
        for (from, to) in [(a, b), (b, c), (c, a)] {
            let (key, sign) = if from < to { ((from, to), 1) } else { ((to, from), -1) };
            *balance.entry(key).or_insert(0) += sign;
        }
    }
    if balance.values().any(|&b| b != 0) {
        return Closed::No;
    }
    match integrate(positions, triangles).0 {
        v if v > 0.0 => Closed::Yes,
        v if v < 0.0 => Closed::InsideOut,
        _ => Closed::No,
    }
}

/// Mass properties of a closed mesh filled with `density`; `None` when it encloses no volume. Meshes that face
/// inwards give the same as outward ones.
pub fn of_mesh(positions: &[DVec3], triangles: &[[u32; 3]], density: f64) -> Option<MassProperties> {
    let (volume, first, second, origin) = integrate(positions, triangles);
    let (volume, first, second) =
        if volume < 0.0 { (-volume, -first, second * -1.0) } else { (volume, first, second) };
    if !(volume > 0.0 && volume.is_finite()) {
        return None;
    }
    let center = first / volume;
    // Second moments about the centre, then I = trace(C) 1 - C.
    let outer = DMat3::from_cols(center * center.x, center * center.y, center * center.z);
    let covariance = (second - outer * volume) * density;
    let trace = covariance.x_axis.x + covariance.y_axis.y + covariance.z_axis.z;
    let inertia = DMat3::from_diagonal(DVec3::splat(trace)) - covariance;
    Some(MassProperties {
        mass: volume * density,
        center: center + origin,
        inertia,
        radius: libm::cbrt(volume * 3.0 / (4.0 * std::f64::consts::PI)),
    })
}

/// Volume, first and second moments about the bounding box's centre, and that centre. Integrating from nearby
/// keeps the digits of a small mesh far from the origin.
fn integrate(positions: &[DVec3], triangles: &[[u32; 3]]) -> (f64, DVec3, DMat3, DVec3) {
    let lo = positions.iter().fold(DVec3::splat(f64::INFINITY), |m, p| m.min(*p));
    let hi = positions.iter().fold(DVec3::splat(f64::NEG_INFINITY), |m, p| m.max(*p));
    let origin = (lo + hi) * 0.5;
    let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for t in triangles {
        let [a, b, c] = t.map(|i| positions[i as usize] - origin);
        let six_volumes = a.cross(b).dot(c);
        let sum = a + b + c;
        volume += six_volumes / 6.0;
        first += sum * (six_volumes / 24.0);
        // Integral of x x^T over the tetrahedron (0, a, b, c): det/120 (a a^T + b b^T + c c^T + s s^T).
        for p in [a, b, c, sum] {
            second += DMat3::from_cols(p * p.x, p * p.y, p * p.z) * (six_volumes / 120.0);
        }
    }
    (volume, first, second, origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation::exp;
    use glam::DQuat;

    /// A box with its own four vertices per face, as formats write it.
    fn crate_mesh(size: DVec3, turn: DQuat, at: DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for axis in 0..3 {
            for side in [-1.0, 1.0] {
                let mut n = DVec3::ZERO;
                n[axis] = side;
                let u = DVec3::AXES[(axis + 1) % 3];
                let v = n.cross(u);
                let base = positions.len() as u32;
                for (i, j) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                    positions.push(at + turn * ((n + u * i + v * j) * size * 0.5));
                }
                triangles.extend([[base, base + 1, base + 2], [base, base + 2, base + 3]]);
            }
        }
        (positions, triangles)
    }

    #[test]
    fn a_box_far_away_and_turned_has_the_closed_form() {
        let size = DVec3::new(1.0, 2.0, 3.0);
        let turn = exp(DVec3::new(0.4, -0.7, 0.2));
        let at = DVec3::new(1000.0, -2000.0, 500.0);
        let (p, mut t) = crate_mesh(size, turn, at);
        let m = of_mesh(&p, &t, 500.0).unwrap();
        assert!((m.mass - 3000.0).abs() < 1e-8);
        assert!((m.center - at).length() < 1e-9);
        let s = size * size;
        let expected = DVec3::new(s.y + s.z, s.z + s.x, s.x + s.y) * (3000.0 / 12.0);
        let r = DMat3::from_quat(turn);
        let expected = r * DMat3::from_diagonal(expected) * r.transpose();
        let error = (m.inertia - expected).to_cols_array().iter().fold(0.0_f64, |m, e| m.max(e.abs()));
        assert!(error < 1e-6, "{error}");
        t.iter_mut().for_each(|t| t.swap(0, 1));
        let inside_out = of_mesh(&p, &t, 500.0).unwrap();
        assert!((inside_out.mass - m.mass).abs() < 1e-9);
    }

    #[test]
    fn closedness_sees_holes_and_facing() {
        let (p, mut t) = crate_mesh(DVec3::ONE, DQuat::IDENTITY, DVec3::ZERO);
        assert_eq!(closed(&p, &t), Closed::Yes);
        t.iter_mut().for_each(|t| t.swap(0, 1));
        assert_eq!(closed(&p, &t), Closed::InsideOut);
        t.pop();
        assert_eq!(closed(&p, &t), Closed::No);
    }
}
