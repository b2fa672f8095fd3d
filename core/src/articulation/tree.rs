//! The tree: links in an order in which parents come first, each on one joint.
//!
//! There are few kinds of joints, and the others are made of them: a floating base is a translation and a ball with a link
//! without mass between them, a universal joint two hinges.

use crate::scene::Placement;
use glam::DVec3;

/// How a joint moves its link against its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// Not at all.
    Fixed,
    /// About the first axis of its frame.
    Hinge,
    /// Along the first axis of its frame.
    Slider,
    /// About its point.
    Ball,
    /// About a point that is moved along the parent by keys: that point is given, not a freedom.
    CarriedBall,
    /// Along all three axes.
    Translation,
}

impl JointKind {
    /// How many freedoms it has.
    pub fn freedoms(self) -> usize {
        match self {
            JointKind::Fixed => 0,
            JointKind::Hinge | JointKind::Slider => 1,
            JointKind::Ball | JointKind::CarriedBall | JointKind::Translation => 3,
        }
    }

    /// How many numbers say where it is.
    pub fn coordinates(self) -> usize {
        match self {
            JointKind::Fixed => 0,
            JointKind::Hinge | JointKind::Slider => 1,
            JointKind::Ball => 4,
            JointKind::CarriedBall => 7,
            JointKind::Translation => 3,
        }
    }
}

/// What a link weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mass {
    /// kg.
    pub mass: f64,
    /// Principal moments, kg unit^2.
    pub inertia: DVec3,
    /// Centre of mass and principal axes, in the link's frame.
    pub centre: Placement,
}

/// One link and the joint that it is on.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The link that it is on, which comes before it; `None` for the world.
    pub parent: Option<usize>,
    /// How it moves.
    pub kind: JointKind,
    /// The joint's frame in the parent's link frame. At coordinates of 0 the link's frame is the joint's.
    pub place: Placement,
    /// What it weighs; `None` for nothing.
    pub mass: Option<Mass>,
    /// The body that it is, by the caller's own count.
    pub body: Option<usize>,
}

/// A tree of links.
#[derive(Clone, Debug, PartialEq)]
pub struct Articulation {
    pub(super) links: Vec<Link>,
    /// First freedom of each link, and one more.
    pub(super) first: Vec<usize>,
    /// First coordinate of each link, and one more.
    pub(super) at: Vec<usize>,
    /// The link of every freedom.
    pub(super) link_of: Vec<usize>,
    /// Of each link, the freedoms that move it: its own and those of what it is on, ascending.
    pub(super) movers: Vec<Vec<usize>>,
}

impl Articulation {
    /// A tree of these links.
    ///
    /// # Panics
    /// If a link comes before its parent.
    pub fn new(links: Vec<Link>) -> Articulation {
        let (mut first, mut at, mut link_of, mut movers) = (vec![0], vec![0], Vec::new(), Vec::new());
        for (i, link) in links.iter().enumerate() {
            let mut by: Vec<usize> = match link.parent {
                Some(p) => {
                    assert!(p < i, "link {i} comes before its parent");
                    let of_parent: &Vec<usize> = &movers[p];
                    of_parent.clone()
                }
                None => Vec::new(),
            };
            let from = link_of.len();
            link_of.resize(from + link.kind.freedoms(), i);
            by.extend(from..link_of.len());
            movers.push(by);
            first.push(link_of.len());
            at.push(at[i] + link.kind.coordinates());
        }
        Articulation { links, first, at, link_of, movers }
    }

    /// The links, parents first.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// How many freedoms it has: the length of rates and forces.
    pub fn freedoms(&self) -> usize {
        self.link_of.len()
    }

    /// How many numbers a configuration has.
    pub fn coordinates(&self) -> usize {
        self.at[self.links.len()]
    }

    /// The freedoms of a link's own joint.
    pub fn freedoms_of(&self, link: usize) -> std::ops::Range<usize> {
        self.first[link]..self.first[link + 1]
    }

    /// The coordinates of a link's own joint.
    pub fn coordinates_of(&self, link: usize) -> std::ops::Range<usize> {
        self.at[link]..self.at[link + 1]
    }

    /// The freedoms that move a link, ascending.
    pub fn movers(&self, link: usize) -> &[usize] {
        &self.movers[link]
    }

    /// The link that a freedom is of.
    pub fn link_of(&self, freedom: usize) -> usize {
        self.link_of[freedom]
    }

    /// The link of a body.
    pub fn link_of_body(&self, body: usize) -> Option<usize> {
        self.links.iter().position(|l| l.body == Some(body))
    }

    /// What all of it weighs, kg.
    pub fn total_mass(&self) -> f64 {
        self.links.iter().filter_map(|l| l.mass).map(|m| m.mass).sum()
    }

    /// Adds up over what hangs on each link, itself among it.
    pub(crate) fn sum_up<T: Copy + std::ops::AddAssign>(&self, values: &mut [T]) {
        for i in (0..self.links.len()).rev() {
            if let Some(p) = self.links[i].parent {
                let of = values[i];
                values[p] += of;
            }
        }
    }
}
