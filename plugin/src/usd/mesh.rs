//! Meshes, and the simple shapes of UsdGeom as meshes: for mass, size and what touches.

use super::units::Units;
use super::value::{self, scalar, word};
use crate::error::Error;
use glam::DVec3;
use openusd::usd::Prim;
use sinew_core::scene::Mesh;
use std::f64::consts::TAU;

/// Corners of what is round, around; half as many from pole to pole.
const AROUND: u32 = 24;

/// A simple shape, in the stage's units, its axis along y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Solid {
    Cube(f64),
    Sphere(f64),
    /// Radius, and length between the centres of the ends.
    Capsule(f64, f64),
    /// Radius, length.
    Cylinder(f64, f64),
    Cone(f64, f64),
    /// Width along x and length along y of a plane whose normal is z.
    Plane(f64, f64),
}

/// The simple shape of a prim and the axis it is along (for a plane: across), if it is one.
pub(super) fn solid(prim: &Prim, kind: &str) -> Result<Option<(Solid, usize)>, Error> {
    let or = |name: &str, default: f64| -> Result<f64, Error> { Ok(scalar(prim, name)?.unwrap_or(default)) };
    let axis = match word(prim, "axis")?.as_deref() {
        Some("X") => 0,
        Some("Y") => 1,
        _ => 2,
    };
    Ok(Some(match kind {
        "Cube" => (Solid::Cube(or("size", 2.0)?), 1),
        "Sphere" => (Solid::Sphere(or("radius", 1.0)?), 1),
        "Capsule" | "Capsule_1" => {
            let radius = match kind {
                "Capsule" => or("radius", 0.5)?,
                _ => 0.5 * (or("radiusTop", 0.5)? + or("radiusBottom", 0.5)?),
            };
            (Solid::Capsule(radius, or("height", 1.0)?), axis)
        }
        "Cylinder" | "Cylinder_1" => {
            let radius = match kind {
                "Cylinder" => or("radius", 1.0)?,
                _ => 0.5 * (or("radiusTop", 1.0)? + or("radiusBottom", 1.0)?),
            };
            (Solid::Cylinder(radius, or("height", 2.0)?), axis)
        }
        "Cone" => (Solid::Cone(or("radius", 1.0)?, or("height", 2.0)?), axis),
        "Plane" => (Solid::Plane(or("width", 2.0)?, or("length", 2.0)?), axis),
        _ => return Ok(None),
    }))
}

/// From a shape along y to one along that axis, without a mirror.
pub(super) fn along(axis: usize, p: DVec3) -> DVec3 {
    match axis {
        0 => DVec3::new(p.y, p.z, p.x),
        1 => p,
        _ => DVec3::new(p.z, p.x, p.y),
    }
}

/// The mesh of a prim; `None` when it has no surface.
pub(super) fn read(
    prim: &Prim,
    kind: &str,
    units: &Units,
    warnings: &mut Vec<String>,
) -> Result<Option<Mesh>, Error> {
    let name = prim.path().name().unwrap_or_default().to_owned();
    let mut mesh = match kind {
        "Mesh" => polygons(prim, warnings)?,
        _ => match solid(prim, kind)? {
            Some((solid, axis)) => made(solid, axis),
            None => return Ok(None),
        },
    };
    mesh.positions.iter_mut().for_each(|p| *p *= units.metres);
    mesh.name = name;
    Ok(Some(mesh))
}

/// The triangles of a polygon mesh, each polygon as a fan.
fn polygons(prim: &Prim, warnings: &mut Vec<String>) -> Result<Mesh, Error> {
    let place = |name: &str| format!("<{}.{name}>", prim.path().as_str());
    let mut mesh = Mesh::default();
    let Some(points) = value::samples(&prim.attribute("points"))? else { return Ok(mesh) };
    if points.moves() {
        warnings
            .push(format!("{}: points that move count as they are at their first sample", place("points")));
    }
    mesh.positions = points.values[0].chunks_exact(3).map(DVec3::from_slice).collect();
    if mesh.positions.len() > u32::MAX as usize {
        return Err(Error::input("more than four thousand million points").at(&place("points")));
    }
    let corners = value::indices(prim, "faceVertexIndices", mesh.positions.len())?.unwrap_or_default();
    let counts = value::indices(prim, "faceVertexCounts", corners.len() + 1)?.unwrap_or_default();
    let sum: usize = counts.iter().sum();
    if sum != corners.len() {
        let what = format!("they sum to {sum}, but there are {} corners in faceVertexIndices", corners.len());
        return Err(Error::input(what).at(&place("faceVertexCounts")));
    }
    let flips = word(prim, "orientation")?.as_deref() == Some("leftHanded");
    let mut begin = 0;
    for count in counts {
        let face = &corners[begin..begin + count];
        begin += count;
        for k in 2..count {
            let [a, b, c] = [face[0], face[k - 1], face[k]].map(|i| i as u32);
            mesh.triangles.push(if flips { [a, c, b] } else { [a, b, c] });
        }
    }
    Ok(mesh)
}

/// The mesh of a simple shape.
fn made(solid: Solid, axis: usize) -> Mesh {
    let mut mesh = Mesh::default();
    match solid {
        Solid::Cube(size) => {
            let h = 0.5 * size;
            let corner = |i: u32| DVec3::new(sign(i & 1), sign(i & 2), sign(i & 4)) * h;
            mesh.positions = (0..8).map(corner).collect();
            for [a, b, c, d] in
                [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
            {
                mesh.triangles.extend([[a, b, c], [a, c, d]]);
            }
            return mesh;
        }
        Solid::Plane(width, length) => {
            let (w, l) = (0.5 * width, 0.5 * length);
            // Across z as given; turned so that y points along the axis, then as the others.
            mesh.positions =
                [[-w, 0.0, l], [w, 0.0, l], [w, 0.0, -l], [-w, 0.0, -l]].map(DVec3::from_array).to_vec();
            mesh.triangles = vec![[0, 1, 2], [0, 2, 3]];
        }
        Solid::Sphere(r) => lathe(&mut mesh, &arc(r, 0.0, 0.0)),
        Solid::Capsule(r, h) => lathe(&mut mesh, &arc(r, -0.5 * h, 0.5 * h)),
        Solid::Cylinder(r, h) => {
            lathe(&mut mesh, &[[0.0, -0.5 * h], [r, -0.5 * h], [r, 0.5 * h], [0.0, 0.5 * h]])
        }
        Solid::Cone(r, h) => lathe(&mut mesh, &[[0.0, -0.5 * h], [r, -0.5 * h], [0.0, 0.5 * h]]),
    }
    mesh.positions.iter_mut().for_each(|p| *p = along(axis, *p));
    mesh
}

fn sign(bit: u32) -> f64 {
    if bit == 0 { -1.0 } else { 1.0 }
}

/// Half a circle from the lower pole around `low` to the upper one around `high`, as radius and height.
fn arc(r: f64, low: f64, high: f64) -> Vec<[f64; 2]> {
    let half = AROUND / 4;
    let at = |i: u32, middle: f64| {
        let (s, c) = sin_cos(TAU * f64::from(i) / f64::from(AROUND));
        [r * s, middle - r * c]
    };
    let lower = (0..=half).map(|i| at(i, low));
    let upper = (half..=2 * half).map(|i| at(i, high)).skip(usize::from(low == high));
    let mut all: Vec<[f64; 2]> = lower.chain(upper).collect();
    let last = all.len() - 1;
    (all[0][0], all[last][0]) = (0.0, 0.0);
    all
}

/// The same digits on every platform: glam is built so.
fn sin_cos(angle: f64) -> (f64, f64) {
    let v = glam::DVec2::from_angle(angle);
    (v.y, v.x)
}

/// Turns a profile of radius and height around y. Its ends are on the axis.
fn lathe(mesh: &mut Mesh, profile: &[[f64; 2]]) {
    let rings = profile.len() - 2;
    mesh.positions.push(DVec3::Y * profile[0][1]);
    for &[r, y] in &profile[1..=rings] {
        for i in 0..AROUND {
            let (s, c) = sin_cos(TAU * f64::from(i) / f64::from(AROUND));
            mesh.positions.push(DVec3::new(r * c, y, -r * s));
        }
    }
    mesh.positions.push(DVec3::Y * profile[rings + 1][1]);
    let top = mesh.positions.len() as u32 - 1;
    let at = |ring: u32, i: u32| 1 + ring * AROUND + i % AROUND;
    for i in 0..AROUND {
        mesh.triangles.push([0, at(0, i + 1), at(0, i)]);
        for ring in 0..rings as u32 - 1 {
            let [a, b, c, d] = [at(ring, i), at(ring, i + 1), at(ring + 1, i + 1), at(ring + 1, i)];
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
        mesh.triangles.push([at(rings as u32 - 1, i), at(rings as u32 - 1, i + 1), top]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six times the volume inside triangles, by the divergence theorem.
    fn volume(mesh: &Mesh) -> f64 {
        let at = |i: u32| mesh.positions[i as usize];
        mesh.triangles.iter().map(|t| at(t[0]).dot(at(t[1]).cross(at(t[2])))).sum::<f64>() / 6.0
    }

    #[test]
    fn solids_are_closed_and_face_outwards() {
        let pi = std::f64::consts::PI;
        for (solid, exact, share) in [
            (Solid::Cube(2.0), 8.0, 1e-12),
            (Solid::Sphere(1.0), 4.0 / 3.0 * pi, 0.03),
            (Solid::Capsule(0.5, 1.0), pi * 0.25 * (1.0 + 4.0 / 6.0), 0.03),
            (Solid::Cylinder(1.0, 2.0), 2.0 * pi, 0.03),
            (Solid::Cone(1.0, 2.0), 2.0 / 3.0 * pi, 0.03),
        ] {
            for axis in 0..3 {
                let found = volume(&made(solid, axis));
                assert!((found - exact).abs() <= share * exact, "{solid:?} {axis}: {found}, not {exact}");
            }
        }
    }
}
