//! Where two shapes touch, or are about to: a few points with a common normal, in the axes of the shapes, so that the
//! gap can be asked for again wherever they have moved to.

use crate::scene::Placement;
use glam::{DMat3, DVec3};

/// Most points of one manifold: the corners of a face.
pub const MOST_POINTS: usize = 4;

/// What the normal turns with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Facing {
    /// A face of the first shape.
    #[default]
    First,
    /// A face of the second.
    Second,
    /// Neither: it points from one point to the other, as between two balls.
    Between,
}

/// One point of a manifold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// On the first shape, in its axes: on its surface, or inside it by `round[0]`.
    pub first: DVec3,
    /// On the second shape.
    pub second: DVec3,
    /// Radii about the two points.
    pub round: [f64; 2],
}

/// The points at which a pair of shapes touches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manifold {
    /// From the first shape to the second, in the axes of the one that it turns with (in the world for neither).
    pub normal: DVec3,
    /// What it turns with.
    pub facing: Facing,
    points: [Point; MOST_POINTS],
    count: usize,
}

/// One point in the world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meeting {
    /// From the first to the second.
    pub normal: DVec3,
    /// Half way between the two surfaces.
    pub point: DVec3,
    /// Distance of the surfaces, below 0 where they overlap.
    pub gap: f64,
}

impl Manifold {
    /// Without any points.
    pub fn new(normal: DVec3, facing: Facing) -> Manifold {
        Manifold { normal, facing, ..Manifold::default() }
    }

    /// One point.
    pub fn single(normal: DVec3, facing: Facing, point: Point) -> Manifold {
        let mut one = Manifold::new(normal, facing);
        one.push(point);
        one
    }

    /// Adds a point; there must be room.
    pub fn push(&mut self, point: Point) {
        self.points[self.count] = point;
        self.count += 1;
    }

    /// The points there are.
    #[inline(always)]
    pub fn points(&self) -> &[Point] {
        &self.points[..self.count]
    }

    /// The same seen from the other shape.
    pub fn swapped(mut self) -> Manifold {
        self.swap();
        self
    }

    /// Sees it from the other shape.
    pub fn swap(&mut self) {
        self.normal = -self.normal;
        self.facing = match self.facing {
            Facing::First => Facing::Second,
            Facing::Second => Facing::First,
            Facing::Between => Facing::Between,
        };
        for p in &mut self.points[..self.count] {
            *p = Point { first: p.second, second: p.first, round: [p.round[1], p.round[0]] };
        }
    }

    /// Where a point is with the shapes at `a` and `b`.
    #[inline(always)]
    pub fn meet(&self, point: &Point, a: &Placement, b: &Placement) -> Meeting {
        self.face().meet(point, a, b)
    }

    /// Its normal alone.
    #[inline(always)]
    pub fn face(&self) -> Face {
        Face { normal: self.normal, facing: self.facing }
    }
}

/// The normal of a manifold, and what it turns with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Face {
    /// From the first shape to the second, in the axes of the one that it turns with (in the world for neither).
    pub normal: DVec3,
    /// What it turns with.
    pub facing: Facing,
}

impl Face {
    /// Where a point is with the shapes at `a` and `b`.
    #[inline(always)]
    pub fn meet(&self, point: &Point, a: &Placement, b: &Placement) -> Meeting {
        self.meet_by(point, [a.position, b.position], |v| a.rotation * v, |v| b.rotation * v)
    }

    /// The same with their axes known.
    #[inline(always)]
    pub fn meet_turned(&self, point: &Point, a: (DVec3, &DMat3), b: (DVec3, &DMat3)) -> Meeting {
        self.meet_by(point, [a.0, b.0], |v| *a.1 * v, |v| *b.1 * v)
    }

    #[inline(always)]
    fn meet_by(
        &self,
        point: &Point,
        at: [DVec3; 2],
        turn_first: impl Fn(DVec3) -> DVec3,
        turn_second: impl Fn(DVec3) -> DVec3,
    ) -> Meeting {
        let first = at[0] + turn_first(point.first);
        let second = at[1] + turn_second(point.second);
        let apart = second - first;
        let (normal, along) = match self.facing {
            Facing::First => {
                let n = turn_first(self.normal);
                (n, n.dot(apart))
            }
            Facing::Second => {
                let n = turn_second(self.normal);
                (n, n.dot(apart))
            }
            Facing::Between => {
                let length = apart.length();
                match length > 1e-12 * (point.round[0] + point.round[1]) && length > 0.0 {
                    true => (apart / length, length),
                    false => (self.normal, 0.0),
                }
            }
        };
        let gap = along - point.round[0] - point.round[1];
        // A face goes on beside its point: what slides over it takes the place of contact along.
        let middle = match self.facing {
            Facing::Second => first + normal * (point.round[0] + 0.5 * gap),
            _ => second - normal * (point.round[1] + 0.5 * gap),
        };
        Meeting { normal, point: middle, gap }
    }
}
