//! Joints: two frames, one on each solid, and what may not change between them (Faure 1998, section 3.1).
//!
//! A joint has six directions, three of translation and three of rotation, along the axes of its first frame; `i` is
//! its main axis. Locking some of them makes the paper's table:
//!
//! ```text
//!                     t_i t_j t_k  r_i r_j r_k
//!     universal        x   x   x    -   -   -      a point on a point: a ball joint
//!     pin              x   x   x    -   x   x      a hinge about i
//!     cylindrical      -   x   x    -   x   x      turns about and slides along i
//!     prismatic        -   x   x    x   x   x      slides along i
//!     ball-socket      -   x   x    -   -   -      a point on the line i
//!     smooth contact   x   -   -    -   -   -      a point on the plane across i
//!     fixed            x   x   x    x   x   x
//!     plane            x   -   -    -   x   x      face on face
//! ```
//!
//! and a distance between the two origins, exact (a rod) or at most (a rope), makes the rest.

mod rows;

pub(crate) use rows::inverse_left_jacobian;
pub use rows::{Row, Rows};

use crate::scene::Placement;

/// What a joint holds on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The world.
    World,
    /// A simulated body, by its index in the rig.
    Solid(usize),
    /// A node that follows its keys, by the index of its path: it moves, and nothing moves it.
    Keys(usize),
}

/// A compiled joint.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// How messages call it.
    pub name: String,
    /// What it joins.
    pub ends: [End; 2],
    /// Its frames, each in the frame of its end.
    pub frames: [Placement; 2],
    /// What may not change.
    pub kind: Kind,
}

/// What a joint keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Locked directions: t_i, t_j, t_k, r_i, r_j, r_k.
    Directions([bool; 6]),
    /// The distance of the origins lies between the two, scene units; equal for a rod, 0 and a length for a rope.
    Distance {
        /// At least.
        least: f64,
        /// At most.
        most: f64,
    },
}

impl Kind {
    /// A point on a point.
    pub const UNIVERSAL: Kind = Kind::Directions([true, true, true, false, false, false]);
    /// A hinge about i.
    pub const PIN: Kind = Kind::Directions([true, true, true, false, true, true]);
    /// Turns about and slides along i.
    pub const CYLINDRICAL: Kind = Kind::Directions([false, true, true, false, true, true]);
    /// Slides along i.
    pub const PRISMATIC: Kind = Kind::Directions([false, true, true, true, true, true]);
    /// A point on the line i.
    pub const BALL_SOCKET: Kind = Kind::Directions([false, true, true, false, false, false]);
    /// A point on the plane across i.
    pub const SMOOTH_CONTACT: Kind = Kind::Directions([true, false, false, false, false, false]);
    /// Nothing moves.
    pub const FIXED: Kind = Kind::Directions([true; 6]);
    /// Face on face.
    pub const PLANE: Kind = Kind::Directions([true, false, false, false, true, true]);

    /// The same without slack: a rope as a rod of its length.
    pub fn firm(self) -> Kind {
        match self {
            Kind::Distance { most, .. } => Kind::Distance { least: most, most },
            other => other,
        }
    }
}
