//! Colliders: which shapes a scene's things touch with, what they are made of, and which of them may touch.

use crate::scene::Placement;
use crate::shape::Geometry;

/// What a collider is fixed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A simulated body.
    Solid(usize),
    /// A node that follows its keys, by the index of its path: nothing pushes it away.
    Keys(usize),
    /// A node that stands still.
    World,
}

/// One shape on one node.
#[derive(Clone, Debug)]
pub struct Collider {
    /// The scene's node.
    pub node: usize,
    /// How a set-up and reports call that.
    pub name: String,
    /// What it is fixed to.
    pub carrier: Carrier,
    /// Where, in the carrier's frame (a solid's is its centre of mass and principal axes; the world's is the world).
    pub place: Placement,
    /// Its shape.
    pub geometry: Geometry,
    /// What it is made of.
    pub material: Material,
    /// Its smallest extent, scene units: what penetrations and margins are measured by.
    pub size: f64,
    /// The groups that it is a member of, as bits.
    pub member: u64,
    /// The groups that it touches, as bits. Two colliders touch where each touches a group of the other.
    pub touches: u64,
    /// Soft skin, if it has one.
    pub coating: Option<Coating>,
}

/// How a surface slides and bounces. Of two that touch: the geometric mean of frictions, the larger bounce.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Coulomb's coefficient while sliding.
    pub friction: f64,
    /// And while it does not slide yet: at least the other.
    pub grip: f64,
    /// Share of the approaching speed with which things part again, 0 to 1.
    pub bounce: f64,
    /// Rolling friction: the length by which the pressure is ahead of a rolling thing, scene units.
    pub rolling: f64,
}

/// An elastic layer (Gascuel 1993).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coating {
    /// How deep it is, scene units: a push can go no further.
    pub thickness: f64,
    /// Pressure per unit of depth, kg / (unit s)^2 per unit: N/m^3 in metres.
    pub stiffness: f64,
    /// Share of critical damping of the parting, 0 to 1.
    pub damping: f64,
}

/// Everything that touches.
#[derive(Clone, Debug, Default)]
pub struct Colliders {
    /// The shapes, those of one node together.
    pub all: Vec<Collider>,
    /// Pairs of nodes that never touch (sorted, the lower first): joined bodies, and what a set-up keeps apart.
    pub apart: Vec<(usize, usize)>,
    /// Pairs of nodes that are inside each other at the start (sorted, the lower first): they touch once they have come
    /// apart.
    pub inside: Vec<(usize, usize)>,
}

impl Colliders {
    /// Which pair of those inside each other at the start two colliders are.
    pub fn inside(&self, a: usize, b: usize) -> Option<usize> {
        if self.inside.is_empty() {
            return None;
        }
        let (a, b) = (self.all[a].node, self.all[b].node);
        self.inside.binary_search(&(a.min(b), a.max(b))).ok()
    }

    /// Whether two colliders are for touching each other at all.
    pub fn may_touch(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.all[a], &self.all[b]);
        let moves = matches!(a.carrier, Carrier::Solid(_)) || matches!(b.carrier, Carrier::Solid(_));
        moves
            && a.node != b.node
            && a.carrier != b.carrier
            && a.member & b.touches != 0
            && b.member & a.touches != 0
            && self.apart.binary_search(&(a.node.min(b.node), a.node.max(b.node))).is_err()
    }
}
