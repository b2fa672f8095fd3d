//! What touches: the shapes of colliders, in the axes of their own place.

use glam::DVec3;
use parry3d_f64::shape::{Ball, Capsule, Cuboid, HalfSpace, Shape, SharedShape};

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
