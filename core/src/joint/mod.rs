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
//! What goes beyond the table is a kind of its own: ranges of a free direction, springs along it, threads, curves and
//! surfaces. A joint of the set-up with several of these becomes several joints here, which share its name.

mod angles;
mod opening;
mod rows;
mod side;
mod track;

pub use opening::{Opening, openings};
pub use rows::{Aim, Measure, Row, Rows};
pub(crate) use rows::{SIGNS, inverse_left_jacobian};
pub use side::Side;
pub use track::Track;

use crate::guide::Path;
use crate::rig::Value;
use crate::scene::Placement;
use glam::DVec3;
use std::sync::Arc;

/// What a joint holds on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The world.
    World,
    /// A simulated body, by its index in the rig.
    Solid(usize),
    /// A node that follows its keys, by the index of its path: it moves, and nothing moves it.
    Keys(usize),
    /// Something that a live session moves by hand, by its index.
    Hand(usize),
}

/// A compiled joint.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// How messages call it.
    pub name: String,
    /// The joint of the set-up that it is (a part of).
    pub of: usize,
    /// What it joins.
    pub ends: [End; 2],
    /// Its frames, each in the frame of its end.
    pub frames: [Placement; 2],
    /// The path along which keys move the origin of the first frame in its end, where they do. Of [`Kind::UNIVERSAL`] only.
    pub anchor: Option<usize>,
    /// What may not change.
    pub kind: Kind,
    /// For [`Kind::SlideTo`] and [`Kind::TurnTo`]: where it is held, scene units or rad.
    pub rest: Value,
    /// Holds like a spring instead of firmly.
    pub spring: Option<Spring>,
    /// For [`Kind::Track`].
    pub track: Option<Arc<Track>>,
    /// When it holds, and what it bears.
    pub holds: Holds,
}

/// When a joint holds, and what it bears.
#[derive(Clone, Debug, PartialEq)]
pub struct Holds {
    /// Above one half: it holds.
    pub on: Option<Value>,
    /// When switched on, it holds the two as they are then.
    pub grab: bool,
    /// Breaks above this force (kg unit/s^2).
    pub most_force: f64,
    /// Breaks above this torque (kg unit^2/s^2).
    pub most_torque: f64,
}

impl Default for Holds {
    fn default() -> Self {
        Holds { on: None, grab: false, most_force: f64::INFINITY, most_torque: f64::INFINITY }
    }
}

/// A spring in place of a firm hold, in scene units.
#[derive(Clone, Debug, PartialEq)]
pub struct Spring {
    /// Along translations: stiffness and damping; `None` holds firmly.
    pub slide: Option<[Value; 2]>,
    /// About rotations.
    pub turn: Option<[Value; 2]>,
    /// The most it pulls.
    pub strength: f64,
}

impl Joint {
    /// A joint that holds firmly and always.
    pub fn new(name: impl Into<String>, ends: [End; 2], frames: [Placement; 2], kind: Kind) -> Joint {
        Joint {
            name: name.into(),
            of: 0,
            ends,
            frames,
            anchor: None,
            kind,
            rest: Value::constant(0.0),
            spring: None,
            track: None,
            holds: Holds::default(),
        }
    }

    /// Its first frame in its end at `time`: keys may move it.
    pub fn first_frame(&self, paths: &[Path], time: f64) -> Placement {
        let keyed = self.anchor.map(|p| paths[p].placement(time).position);
        Placement { position: keyed.unwrap_or(self.frames[0].position), ..self.frames[0] }
    }

    /// How fast keys move the origin of its first frame in its end at `time`, units/s.
    pub fn anchor_velocity(&self, paths: &[Path], time: f64) -> DVec3 {
        self.anchor.map_or(DVec3::ZERO, |p| paths[p].velocity(time).0)
    }

    /// Where its ends' frames are, with its ends at these placements.
    pub fn sides(&self, ends: &[Placement; 2]) -> [Side; 2] {
        [Side::new(&ends[0], &self.frames[0]), Side::new(&ends[1], &self.frames[1])]
    }
}

/// Of so many bodies, those that joints hold together with one, itself among them.
pub fn together(bodies: usize, joints: &[Joint], one: usize) -> Vec<bool> {
    let mut found = vec![false; bodies];
    found[one] = true;
    let mut more = true;
    while std::mem::take(&mut more) {
        for joint in joints {
            if let [End::Solid(a), End::Solid(b)] = joint.ends
                && found[a] != found[b]
            {
                (found[a], found[b], more) = (true, true, true);
            }
        }
    }
    found
}

/// What a joint keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Locked directions: t_i, t_j, t_k, r_i, r_j, r_k. Rotations are none, r_j and r_k, or all.
    Directions([bool; 6]),
    /// The distance of the origins lies between the two, scene units; equal for a rod, 0 and a length for a rope.
    Distance {
        /// At least.
        least: f64,
        /// At most.
        most: f64,
    },
    /// The translation along an axis lies between the two, scene units.
    Slide {
        /// 0 for i, 1 for j, 2 for k.
        axis: usize,
        /// At least.
        least: f64,
        /// At most.
        most: f64,
    },
    /// The turn about the main axis lies between the two (rad).
    Turn {
        /// At least.
        least: f64,
        /// At most.
        most: f64,
    },
    /// The main axis tilts about j and k within an ellipse of these half angles (rad).
    Cone([f64; 2]),
    /// The translation along the main axis is `rest`.
    SlideTo,
    /// The turn about the main axis is `rest`.
    TurnTo,
    /// The main axes are parallel: for springs that bring a tilt back.
    Upright,
    /// The translation along the main axis per turn about it, scene units.
    Thread(f64),
    /// The second origin is on a curve or surface of the first end.
    Track,
    /// The second frame turns with the first as a target says: the three rotations of an actuator in its parent's space,
    /// by the index of the body it moves.
    Pose(usize),
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

    /// Whether it only pushes one way: a rope, or the end of a range.
    pub fn one_sided(self) -> bool {
        match self {
            Kind::Distance { least, most } | Kind::Slide { least, most, .. } | Kind::Turn { least, most } => {
                least < most
            }
            Kind::Cone(_) => true,
            _ => false,
        }
    }

    /// How many of its rows are translations; they come first.
    pub fn translations(self) -> usize {
        match self {
            Kind::Directions(locked) => locked[..3].iter().filter(|l| **l).count(),
            Kind::Distance { .. } | Kind::Slide { .. } | Kind::SlideTo | Kind::Thread(_) => 1,
            Kind::Track => 3,
            Kind::Turn { .. } | Kind::Cone(_) | Kind::TurnTo | Kind::Upright | Kind::Pose(_) => 0,
        }
    }
}
