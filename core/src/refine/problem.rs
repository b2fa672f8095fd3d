//! What is to be refined, and what must hold.

use super::Row;
use crate::articulation::{Articulation, Force};
use glam::{DMat3, DVec3};

/// Who acts at one freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// The force or torque that counts as 1. Of a limited drive its strength; of a free one what residuals are measured by.
    pub unit: f64,
    /// Price of its square, per second; `None`: nothing acts here.
    pub effort: Option<f64>,
    /// Whether it can be no stronger than its unit.
    pub limited: bool,
}

/// A point of a link that bears on something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The link.
    pub link: usize,
    /// The point, in the link's frame.
    pub at: DVec3,
    /// Normal of what it bears on, and two directions across, in the world.
    pub axes: DMat3,
    /// The most that each of the two components across may be, per force along the normal.
    pub friction: f64,
}

/// A row that is pulled towards 0 at a bounded price.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The knot.
    pub knot: usize,
    /// What is to be 0.
    pub row: Row,
}

/// How a motion begins, or ends.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// As it likes: the pose is unknown, and there is no physics at the knot itself.
    Free,
    /// In the input's pose, at any velocity.
    Pose,
    /// In the input's pose, and with these momenta outside, link by link: angular about the link's centre, and linear.
    Moving(Vec<Force>),
}

/// What is to be refined.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What moves.
    pub tree: Articulation,
    /// Units per second squared.
    pub gravity: DVec3,
    /// Seconds between knots.
    pub steps: Vec<f64>,
    /// The configuration at every knot, one more than there are steps.
    pub input: Vec<Vec<f64>>,
    /// Who acts at each freedom.
    pub drives: Vec<Drive>,
    /// Price of the squared distance from the input, per second, for each freedom.
    pub closeness: Vec<f64>,
    /// What bears on something at each knot.
    pub contacts: Vec<Vec<Contact>>,
    /// The force that counts as 1 at contacts: the weight.
    pub weight: f64,
    /// Price of the squared contact forces, per second.
    pub ease: f64,
    /// What must be 0, by knot.
    pub holds: Vec<(usize, Row)>,
    /// What must not be below 0, by knot.
    pub bounds: Vec<(usize, Row)>,
    /// What is pulled to 0.
    pub keys: Vec<Key>,
    /// The most that a key may cost per unit that it is missed by.
    pub price: f64,
    /// Beginning and end.
    pub ends: [End; 2],
}

impl Problem {
    /// How many knots there are.
    pub fn knots(&self) -> usize {
        self.input.len()
    }

    /// The knots whose poses are unknown.
    pub fn unknown(&self) -> std::ops::Range<usize> {
        let fixed = |e: &End| usize::from(*e != End::Free);
        fixed(&self.ends[0])..self.knots() - fixed(&self.ends[1])
    }

    /// The knots at which physics holds.
    pub fn physical(&self) -> std::ops::Range<usize> {
        let given = |e: &End| usize::from(!matches!(e, End::Moving(_)));
        given(&self.ends[0])..self.knots() - given(&self.ends[1])
    }

    /// Seconds before and after a knot; 0 where there is nothing.
    pub fn around(&self, knot: usize) -> [f64; 2] {
        let before = knot.checked_sub(1).map_or(0.0, |k| self.steps[k]);
        [before, self.steps.get(knot).copied().unwrap_or(0.0)]
    }

    /// Seconds that a knot stands for.
    pub fn share(&self, knot: usize) -> f64 {
        let [before, after] = self.around(knot);
        0.5 * (before + after)
    }
}
