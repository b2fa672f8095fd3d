//! Box against box: the axis along which they are furthest apart (or overlap least) among the faces' normals and the
//! products of edges (Gottschalk 1996), then the face that looks that way clips the other's.

use super::few::{Corner, few};
use crate::contact::manifold::{Facing, Manifold, Point};
use crate::scene::Placement;
use glam::{DMat3, DVec3};

/// An edge's axis must beat the faces' by this share of the smaller box: faces give steadier points.
const FACES_FIRST: f64 = 0.01;

pub fn box_box(ha: DVec3, a: &Placement, hb: DVec3, b: &Placement, reach: f64) -> Option<Manifold> {
    let (axes_a, axes_b) = (DMat3::from_quat(a.rotation), DMat3::from_quat(b.rotation));
    let to_a = axes_a.transpose();
    let r = to_a * axes_b; // columns: b's axes in a's
    let d = to_a * (b.position - a.position);
    let size = [r.x_axis.abs(), r.y_axis.abs(), r.z_axis.abs()];
    // Separations along a's axes...
    let over_a = ha + size[0] * hb.x + size[1] * hb.y + size[2] * hb.z;
    let apart_a = d.abs() - over_a;
    // ...and along b's.
    let along_b = DVec3::new(d.dot(r.x_axis), d.dot(r.y_axis), d.dot(r.z_axis));
    let over_b = hb + DVec3::new(size[0].dot(ha), size[1].dot(ha), size[2].dot(ha));
    let apart_b = along_b.abs() - over_b;
    let (axis_a, most_a) = widest(apart_a);
    let (axis_b, most_b) = widest(apart_b);
    if most_a > reach || most_b > reach {
        return None;
    }
    let slack = FACES_FIRST * ha.min_element().min(hb.min_element());
    let faces = most_a.max(most_b);
    let mut edge = (f64::NEG_INFINITY, 0, 0, DVec3::ZERO);
    for i in 0..3 {
        let (i1, i2) = ((i + 1) % 3, (i + 2) % 3);
        for j in 0..3 {
            let (j1, j2) = ((j + 1) % 3, (j + 2) % 3);
            let col = r.col(j);
            let square = 1.0 - col[i] * col[i];
            if square < 1e-6 {
                continue; // along each other: a face tells
            }
            let per = 1.0 / square.sqrt();
            // e_i x b_j
            let mut axis = DVec3::ZERO;
            axis[i1] = -col[i2];
            axis[i2] = col[i1];
            let along = d.dot(axis);
            let over = ha[i1] * axis[i1].abs()
                + ha[i2] * axis[i2].abs()
                + hb[j1] * size[j2][i]
                + hb[j2] * size[j1][i];
            let apart = (along.abs() - over) * per;
            if apart > reach {
                return None;
            }
            if apart > edge.0 {
                edge = (apart, i, j, axis * if along < 0.0 { -per } else { per });
            }
        }
    }
    if edge.0 > faces + slack {
        let (_, i, j, normal) = edge;
        return Some(edges(ha, hb, &r, d, (i, j), normal));
    }
    if most_a >= most_b - slack {
        let side = if d[axis_a] < 0.0 { -1.0 } else { 1.0 };
        let manifold = face(ha, hb, &r, d, axis_a, side, reach);
        Some(manifold)
    } else {
        // The same with b looking at a.
        let back = r.transpose();
        let to = -(back * d);
        let side = if to[axis_b] < 0.0 { -1.0 } else { 1.0 };
        Some(face(hb, ha, &back, to, axis_b, side, reach).swapped())
    }
}

fn widest(v: DVec3) -> (usize, f64) {
    if v.x >= v.y && v.x >= v.z {
        (0, v.x)
    } else if v.y >= v.z {
        (1, v.y)
    } else {
        (2, v.z)
    }
}

/// The points of b's face that looks at a's face `axis`, clipped by the latter's sides.
fn face(ha: DVec3, hb: DVec3, r: &DMat3, d: DVec3, axis: usize, side: f64, reach: f64) -> Manifold {
    let mut normal = DVec3::ZERO;
    normal[axis] = side;
    // b's face most against the normal.
    let looks = DVec3::new(r.x_axis[axis], r.y_axis[axis], r.z_axis[axis]) * side;
    let (j, _) = widest(looks.abs());
    let sign = if looks[j] > 0.0 { -1.0 } else { 1.0 };
    let (j1, j2) = ((j + 1) % 3, (j + 2) % 3);
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let center = d + r.col(j) * (sign * hb[j]);
    let (p, q) = (r.col(j1) * hb[j1], r.col(j2) * hb[j2]);
    let corners = [center - p - q, center + p - q, center + p + q, center - p + q];
    let mut polygon = [Corner::default(); 8];
    for (k, c) in corners.iter().enumerate() {
        polygon[k] = Corner { u: c[u], v: c[v], gap: c[axis] * side - ha[axis], number: k };
    }
    let mut count = clip(&mut polygon, 4, ha[u], ha[v]);
    if count == 0 {
        // Beside the face: near enough to come over it.
        for (k, c) in corners.iter().enumerate() {
            polygon[k] = Corner { u: c[u], v: c[v], gap: c[axis] * side - ha[axis], number: k };
        }
        count = clip(&mut polygon, 4, ha[u] + reach, ha[v] + reach);
    }
    let mut near = 0;
    for k in 0..count {
        if polygon[k].gap <= reach {
            polygon[near] = polygon[k];
            near += 1;
        }
    }
    let back = r.transpose();
    let mut manifold = Manifold::new(normal, Facing::First);
    for corner in few(&mut polygon[..near]) {
        let mut first = DVec3::ZERO;
        (first[u], first[v], first[axis]) = (corner.u, corner.v, side * ha[axis]);
        let second = back * (first + normal * corner.gap - d);
        manifold.push(Point { first, second, round: [0.0; 2] });
    }
    manifold
}

/// Cuts a convex polygon to |u| <= hu, |v| <= hv (Sutherland and Hodgman 1974); returns its corners' count.
fn clip(polygon: &mut [Corner; 8], count: usize, hu: f64, hv: f64) -> usize {
    let mut from = *polygon;
    let mut n = count;
    for side in 0..4_u32 {
        let inside = |c: &Corner| match side {
            0 => hu - c.u,
            1 => hu + c.u,
            2 => hv - c.v,
            _ => hv + c.v,
        };
        let mut kept = 0;
        let mut to = [Corner::default(); 8];
        for k in 0..n {
            let (now, next) = (from[k], from[if k + 1 == n { 0 } else { k + 1 }]);
            let (x, y) = (inside(&now), inside(&next));
            if x >= 0.0 && kept < 8 {
                to[kept] = now;
                kept += 1;
            }
            if (x < 0.0) != (y < 0.0) && kept < 8 {
                let s = x / (x - y);
                let mix = |p: f64, q: f64| p + (q - p) * s;
                to[kept] = Corner {
                    u: mix(now.u, next.u),
                    v: mix(now.v, next.v),
                    gap: mix(now.gap, next.gap),
                    number: now.number,
                };
                kept += 1;
            }
        }
        (from, n) = (to, kept);
    }
    *polygon = from;
    n
}

/// The nearest points of two edges, along axis `i` of a and `j` of b.
fn edges(ha: DVec3, hb: DVec3, r: &DMat3, d: DVec3, (i, j): (usize, usize), normal: DVec3) -> Manifold {
    // The edge of a furthest along the normal, the edge of b furthest against it.
    let mut p = ha * normal.signum();
    p[i] = 0.0;
    let looks = r.transpose() * normal;
    let mut q = -(hb * looks.signum());
    q[j] = 0.0;
    let (along_a, along_b) = (DVec3::AXES[i], r.col(j));
    let q_in_a = d + *r * q;
    let between = q_in_a - p;
    let c = along_a.dot(along_b);
    let (x, y) = (between.dot(along_a), between.dot(along_b));
    let per = 1.0 / (1.0 - c * c);
    let s = ((x - c * y) * per).clamp(-ha[i], ha[i]);
    let t = ((c * x - y) * per).clamp(-hb[j], hb[j]);
    let first = p + along_a * s;
    let mut second = q;
    second[j] = t;
    Manifold::single(normal, Facing::First, Point { first, second, round: [0.0; 2] })
}
