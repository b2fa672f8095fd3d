//! A mesh cut into convex parts (Mamou's volumetric approximate decomposition, on voxels).

use super::{Hull, hull};
use crate::quiet;
use glam::DVec3;
use parry3d_f64::transformation::vhacd::{VHACD, VHACDParameters};

/// Voxels along the longest edge.
const RESOLUTION: u32 = 48;

/// Cutting stops where a part's hull is larger than the part by less than this share of the whole.
const CONCAVITY: f64 = 0.01;

/// About as many parts as this: more make every contact slower.
const MOST_PARTS: u32 = 16;

/// Convex parts that together make up the mesh, about; empty when it encloses nothing that can be cut.
pub fn parts(points: &[DVec3], triangles: &[[u32; 3]]) -> Vec<Hull> {
    if triangles.is_empty() || !points.iter().all(|p| p.is_finite()) {
        return Vec::new();
    }
    let lo = points.iter().fold(DVec3::INFINITY, |m, p| m.min(*p));
    let hi = points.iter().fold(DVec3::NEG_INFINITY, |m, p| m.max(*p));
    let (middle, size) = ((lo + hi) * 0.5, (hi - lo).max_element());
    if !(size > 0.0 && size.is_finite()) {
        return Vec::new();
    }
    // Voxels are counted in whole numbers: a mesh of any size is cut as one of size 1.
    let unit: Vec<DVec3> = points.iter().map(|p| (*p - middle) / size).collect();
    let wanted = VHACDParameters {
        resolution: RESOLUTION,
        concavity: CONCAVITY,
        max_convex_hulls: MOST_PARTS,
        ..VHACDParameters::default()
    };
    // The library takes hulls of slices without asking whether they have a volume.
    let cut = quiet::attempt(|| {
        VHACD::decompose(&wanted, &unit, triangles, true).compute_primitive_intersections(&unit, triangles)
    });
    let Some(cut) = cut else { return Vec::new() };
    cut.iter()
        .filter_map(|part| hull(part))
        .map(|part| Hull { points: part.points.iter().map(|p| middle + *p * size).collect(), ..part })
        .collect()
}
