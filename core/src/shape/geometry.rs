//! What touches: the shapes of colliders, in the axes of their own place.

use super::{Hull, Kind, Primitive};
use crate::quiet;
use crate::scene::Placement;
use glam::{DQuat, DVec3};
use parry3d_f64::shape::{
    Ball, Capsule, Cone, ConvexPolyhedron, Cuboid, Cylinder, HalfSpace, HeightField, Shape, SharedShape,
    TriMesh, TriMeshFlags,
};
use parry3d_f64::utils::Array2;
use std::f64::consts::FRAC_1_SQRT_2;

/// A shape that can touch others. Several on one body make a compound.
#[derive(Clone)]
pub enum Geometry {
    /// A ball about the origin.
    Ball(Ball),
    /// A box about the origin, along the axes.
    Box(Cuboid),
    /// A round-ended cylinder about the origin, along y.
    Capsule(Capsule),
    /// Everything below y = 0.
    HalfSpace(HalfSpace),
    /// Any other convex shape: a cylinder or cone along y, a hull.
    Convex(SharedShape),
    /// Triangles or a height field: for what nothing pushes away.
    Surface(SharedShape),
}

impl Geometry {
    /// As the library of shapes sees it.
    pub fn shape(&self) -> &dyn Shape {
        match self {
            Geometry::Ball(s) => s,
            Geometry::Box(s) => s,
            Geometry::Capsule(s) => s,
            Geometry::HalfSpace(s) => s,
            Geometry::Convex(s) | Geometry::Surface(s) => &**s,
        }
    }

    /// A ball.
    pub fn ball(radius: f64) -> Geometry {
        Geometry::Ball(Ball::new(radius))
    }

    /// A box, by half its edges.
    pub fn cuboid(half: DVec3) -> Geometry {
        Geometry::Box(Cuboid::new(half))
    }

    /// A capsule along y, by half the length between the centres of its ends.
    pub fn capsule(half: f64, radius: f64) -> Geometry {
        Geometry::Capsule(Capsule::new_y(half, radius))
    }

    /// Everything below y = 0.
    pub fn half_space() -> Geometry {
        Geometry::HalfSpace(HalfSpace::new(DVec3::Y))
    }

    /// A primitive, and its place in the axes that the primitive is given in.
    pub fn primitive(primitive: &Primitive) -> (Geometry, Placement) {
        let (geometry, rotation) = match primitive.kind {
            Kind::Box(size) => (Geometry::cuboid(size * 0.5), DQuat::IDENTITY),
            Kind::Sphere(r) => (Geometry::ball(r), DQuat::IDENTITY),
            Kind::Capsule(axis, r, l) => (Geometry::capsule(l * 0.5, r), y_to(axis)),
            Kind::Cylinder(axis, r, l) => {
                (Geometry::Convex(SharedShape::new(Cylinder::new(l * 0.5, r))), y_to(axis))
            }
            Kind::Cone(axis, r, l) => {
                let over = if l < 0.0 { DQuat::from_xyzw(1.0, 0.0, 0.0, 0.0) } else { DQuat::IDENTITY };
                (Geometry::Convex(SharedShape::new(Cone::new(l.abs() * 0.5, r))), y_to(axis) * over)
            }
        };
        (geometry, Placement { position: primitive.center, rotation })
    }

    /// A convex hull; `None` where its triangles do not make a body.
    pub fn hull(hull: &Hull) -> Option<Geometry> {
        let points = hull.points.clone();
        let made = quiet::attempt(|| ConvexPolyhedron::from_convex_mesh(points, &hull.triangles));
        Some(Geometry::Convex(SharedShape::new(made??)))
    }

    /// Triangles, which have an outside only where they are a closed mesh that winds counter-clockwise.
    pub fn triangles(points: Vec<DVec3>, triangles: Vec<[u32; 3]>, closed: bool) -> Option<Geometry> {
        let seams = match closed {
            true => TriMeshFlags::FIX_INTERNAL_EDGES | TriMeshFlags::ORIENTED,
            false => TriMeshFlags::FIX_INTERNAL_EDGES_TWO_SIDED,
        };
        let mesh = TriMesh::with_flags(points, triangles, seams).ok()?;
        Some(Geometry::Surface(SharedShape::new(mesh)))
    }

    /// Heights over the xz plane, rows along z; at least two rows of at least two, all as long as the first. `size`: its
    /// extent along x and z.
    pub fn height_field(heights: &[Vec<f64>], size: [f64; 2]) -> Geometry {
        let heights = Array2::from_fn(heights.len(), heights[0].len(), |z, x| heights[z][x]);
        let scale = DVec3::new(size[0], 1.0, size[1]);
        Geometry::Surface(SharedShape::new(HeightField::new(heights, scale)))
    }
}

/// The turn that takes y to an axis.
fn y_to(axis: usize) -> DQuat {
    match axis {
        0 => DQuat::from_xyzw(0.0, 0.0, -FRAC_1_SQRT_2, FRAC_1_SQRT_2),
        2 => DQuat::from_xyzw(FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2),
        _ => DQuat::IDENTITY,
    }
}

impl std::fmt::Debug for Geometry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Geometry::Ball(_) => "Ball",
            Geometry::Box(_) => "Box",
            Geometry::Capsule(_) => "Capsule",
            Geometry::HalfSpace(_) => "HalfSpace",
            Geometry::Convex(_) => "Convex",
            Geometry::Surface(_) => "Surface",
        })
    }
}
