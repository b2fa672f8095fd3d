//! Bodies with joints among contacts: what pushes one of a linkage moves others.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::body::Twist;
use super::row::{Couple, Group, Moved, Row};
use crate::assemble::Square;
use crate::simulate::linkage::Linkages;
use glam::DVec3;

/// How the bodies of an island that have joints answer to pushes.
#[derive(Clone, Debug, Default)]
pub struct Coupling {
    /// Of each body of the island.
    links: Vec<Link>,
    /// Bodies of the island, linkage by linkage.
    members: Vec<u32>,
    /// What a push on one does to another, linkage by linkage, by the one pushed.
    blocks: Vec<Square>,
    /// Linkage and number in the island of those that have joints; the solids of one linkage.
    found: Vec<(u32, u32)>,
    solids: Vec<u32>,
}

/// A body's place among those of its linkage.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Where they begin among the members, and how many they are: none if it has no joints.
    first: u32,
    count: u32,
    /// Which of them it is.
    at: u32,
    /// Where their blocks begin.
    base: u32,
}

/// A force and a torque, or a velocity and a spin.
type Six = [f64; 6];

#[inline(always)]
fn six(force: DVec3, torque: DVec3) -> Six {
    [force.x, force.y, force.z, torque.x, torque.y, torque.z]
}

/// What a push does: added to a motion.
#[inline(always)]
fn answer(block: &Square, push: &Six, moved: &mut Twist) {
    let mut sum = [0.0; 6];
    for k in 0..6 {
        for i in 0..6 {
            sum[i] += block[k][i] * push[k];
        }
    }
    moved.velocity += DVec3::new(sum[0], sum[1], sum[2]);
    moved.spin += DVec3::new(sum[3], sum[4], sum[5]);
}

impl Coupling {
    /// Room for islands of so many bodies, and so many of one linkage.
    pub fn with_room(bodies: usize, linked: usize) -> Coupling {
        Coupling {
            links: Vec::with_capacity(bodies),
            members: Vec::with_capacity(bodies),
            blocks: Vec::with_capacity(linked * linked),
            found: Vec::with_capacity(bodies),
            solids: Vec::with_capacity(linked),
        }
    }

    /// Of an island: `members` are its bodies, those below `solids` simulated.
    pub fn make(&mut self, members: &[u32], solids: u32, linkages: &mut Linkages) {
        self.links.clear();
        self.members.clear();
        self.found.clear();
        if !linkages.any_answers() {
            return;
        }
        self.links.resize(members.len(), Link::default());
        for (local, &b) in members.iter().enumerate().filter(|(_, b)| **b < solids) {
            if let Some(k) = linkages.of(b as usize).filter(|k| linkages.answers(*k)) {
                self.found.push((k, local as u32));
            }
        }
        self.found.sort_unstable();
        let (mut from, mut base) = (0, 0);
        while from < self.found.len() {
            let k = self.found[from].0;
            let count = self.found[from..].iter().take_while(|f| f.0 == k).count();
            let first = self.members.len() as u32;
            self.solids.clear();
            for (at, &(_, local)) in self.found[from..from + count].iter().enumerate() {
                self.links[local as usize] =
                    Link { first, count: count as u32, at: at as u32, base: base as u32 };
                self.members.push(local);
                self.solids.push(members[local as usize]);
            }
            // All of them are written: none needs to be cleared.
            let next = base + count * count;
            if self.blocks.len() < next {
                self.blocks.resize(next, [[0.0; 6]; 6]);
            }
            linkages.couple(k, &mut self.solids, &mut self.blocks[base..next]);
            (from, base) = (from + count, next);
        }
    }

    /// Nothing has joints.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether a body of the island has joints that it answers for.
    pub fn has(&self, local: u32) -> bool {
        self.link(local).count > 0
    }

    /// A body's place; of none if nothing answers.
    #[inline(always)]
    fn link(&self, local: u32) -> Link {
        self.links.get(local as usize).copied().unwrap_or_default()
    }

    #[inline(always)]
    fn block(&self, pushed: Link, moved: u32) -> &Square {
        &self.blocks[(pushed.base + pushed.at * pushed.count + moved) as usize]
    }

    /// What pushes on two bodies do to these.
    #[inline(always)]
    pub fn push_two(
        &self,
        bodies: [u32; 2],
        moved: &[Moved],
        pushes: [(DVec3, DVec3); 2],
        twists: [&mut Twist; 2],
    ) {
        let (a, b) = (self.link(bodies[0]), self.link(bodies[1]));
        let [x, y] = twists;
        self.push_one(a, &moved[bodies[0] as usize], pushes[0], x);
        self.push_one(b, &moved[bodies[1] as usize], pushes[1], y);
        if a.count > 0 && b.count > 0 && a.base == b.base {
            answer(self.block(a, b.at), &six(pushes[0].0, pushes[0].1), y);
            answer(self.block(b, a.at), &six(pushes[1].0, pushes[1].1), x);
        }
    }

    /// What a push on a body does to it.
    #[inline(always)]
    fn push_one(&self, own: Link, alone: &Moved, push: (DVec3, DVec3), to: &mut Twist) {
        if own.count > 0 {
            answer(self.block(own, own.at), &six(push.0, push.1), to);
        } else {
            to.velocity += push.0 * alone.per_mass;
            to.spin += alone.per_inertia * push.1;
        }
    }

    /// What pushes on two bodies do to the others.
    #[inline(always)]
    pub fn push_others(&self, bodies: [u32; 2], moved: &mut [Moved], pushes: [(DVec3, DVec3); 2]) {
        for e in 0..2 {
            let (own, push) = (self.link(bodies[e]), six(pushes[e].0, pushes[e].1));
            let others = &self.members[own.first as usize..(own.first + own.count) as usize];
            for (at, &other) in others.iter().enumerate() {
                if other != bodies[0] && other != bodies[1] {
                    answer(self.block(own, at as u32), &push, &mut moved[other as usize].now);
                }
            }
        }
    }

    /// How fast the two part at a contact per impulse: their motion along some directions, from rest.
    pub fn yields(
        &self,
        bodies: [u32; 2],
        moved: &[Moved],
        pushes: [(DVec3, DVec3); 2],
        along: [(DVec3, DVec3); 2],
    ) -> f64 {
        let (mut x, mut y) = (Twist::default(), Twist::default());
        self.push_two(bodies, moved, pushes, [&mut x, &mut y]);
        along[0].0.dot(x.velocity)
            + along[0].1.dot(x.spin)
            + along[1].0.dot(y.velocity)
            + along[1].1.dot(y.spin)
    }
}

impl Couple for &Coupling {
    #[inline(always)]
    fn normal(self, g: &Group, row: &Row, moved: &[Moved], by: f64, x: &mut Twist, y: &mut Twist) {
        let n = g.axes[0] * by;
        let pushes = [(-n, row.arms[0] * -by), (n, row.arms[1] * by)];
        self.push_two(g.bodies, moved, pushes, [x, y]);
    }

    #[inline(always)]
    fn rub(self, g: &Group, moved: &[Moved], rub: DVec3, about: DVec3, x: &mut Twist, y: &mut Twist) {
        self.push_two(g.bodies, moved, g.push_across(rub, about), [x, y]);
    }

    #[inline(always)]
    fn spread(self, g: &Group, moved: &mut [Moved], pushes: [(DVec3, DVec3); 2]) {
        self.push_others(g.bodies, moved, pushes);
    }

    #[inline(always)]
    fn looseness(self, g: &Group, _: &[Moved]) -> f64 {
        g.looseness()
    }

    #[inline(always)]
    fn push(self, g: &Group, moved: &mut [Moved], rows: &[Row]) {
        let n = g.axes[0];
        let mut pushes = g.push_across(g.rub_in_world(), n * g.twist);
        for row in rows {
            let by = row.impulse;
            pushes[0] = (pushes[0].0 - n * by, pushes[0].1 - row.arms[0] * by);
            pushes[1] = (pushes[1].0 + n * by, pushes[1].1 + row.arms[1] * by);
        }
        let [a, b] = g.bodies.map(|i| i as usize);
        let (mut x, mut y) = (moved[a].now, moved[b].now);
        self.push_two(g.bodies, moved, pushes, [&mut x, &mut y]);
        (moved[a].now, moved[b].now) = (x, y);
        self.push_others(g.bodies, moved, pushes);
    }
}

#[cfg(test)]
impl Coupling {
    /// Of bodies of one linkage, which are all of an island but the last, and how they answer.
    pub fn of_one(blocks: Vec<Square>, count: u32) -> Coupling {
        let link = |at: u32| Link { first: 0, count, at, base: 0 };
        Coupling {
            links: (0..count).map(link).chain([Link::default()]).collect(),
            members: (0..count).collect(),
            blocks,
            ..Coupling::default()
        }
    }
}
