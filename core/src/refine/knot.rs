//! Discrete inverse dynamics at one knot: what acts at each freedom, from three poses and the contact forces, with its first and
//! second derivatives.
//!
//! Body by body, with momenta `p = m dx / h` and `P` ([`Turning`]) before and after the knot, and `s` the seconds that it stands for:
//!
//! ```text
//!     wrench = [ P+ - P- ; p+ - p- ] / s - [ 0 ; m g ] - contacts        at the body's centre
//!     F_j    = S_j . sum of the wrenches of all that hangs on joint j
//! ```
//!
//! Derivatives follow from `dS_j / dq_k = S_k x S_j`: six by six matrices per body are summed up the tree as inertias are. Second
//! derivatives are those of `phi . F = sum of V_b . wrench_b`, `V_b` the motion of body `b` at the rates `phi`.

use super::{Contact, End, Problem};
use crate::articulation::{Force, Motion, Posed, Spatial, Turning, related, skew};
use glam::{DMat3, DVec3};

/// The three poses around a knot, and what turns between them; nothing where the motion begins or ends.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub problem: &'a Problem,
    pub knot: usize,
    pub now: &'a Posed,
    pub before: Option<(&'a Posed, &'a [Turning])>,
    pub after: Option<(&'a Posed, &'a [Turning])>,
    /// Contact forces in weights, three for each contact.
    pub forces: &'a [f64],
}

/// The links' angular momenta from one pose to the next; those without mass have none.
pub(super) fn turnings(problem: &Problem, from: &Posed, to: &Posed, step: f64, turnings: &mut Vec<Turning>) {
    turnings.clear();
    for (i, link) in problem.tree.links().iter().enumerate() {
        let inertia = link.mass.map_or(DVec3::ZERO, |m| m.inertia);
        turnings.push(Turning::new(from.centres[i].rotation, to.centres[i].rotation, inertia, step));
    }
}

/// Room for one knot's matrices.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    wrenches: Vec<Force>,
    by: [Vec<Spatial>; 3],
    motions: Vec<Motion>,
    turned: Vec<Motion>,
    bent: Vec<Spatial>,
    carried: Vec<Force>,
}

/// `[-x] v` and `v`: how a point moves with a motion.
fn point_matrix(x: DVec3) -> [DMat3; 2] {
    [-skew(x), DMat3::IDENTITY]
}

/// `D_a^T m D_b` with the point matrices of two points.
fn at_points(a: DVec3, m: DMat3, b: DVec3) -> Spatial {
    let ([pa, _], [pb, _]) = (point_matrix(a), point_matrix(b));
    let left = pa.transpose() * m;
    Spatial { aa: left * pb, al: left, la: m * pb, ll: m }
}

/// `g . (w_k x v_l)` for the motion `l` (rows) of a point and the turn of `k` (columns).
fn point_second(x: DVec3, g: DVec3) -> Spatial {
    let s = skew(g);
    Spatial { aa: skew(x) * s, la: s, ..Spatial::ZERO }
}

fn turn_only(aa: DMat3) -> Spatial {
    Spatial { aa, ..Spatial::ZERO }
}

impl Around<'_> {
    fn per_share(&self) -> f64 {
        1.0 / self.problem.share(self.knot)
    }

    /// Mass per second of each neighbour and share: the factors of `x-` and `x+` in the force, per mass.
    fn factors(&self) -> [f64; 2] {
        let [before, after] = self.problem.around(self.knot);
        let one = |h: f64| if h > 0.0 { self.per_share() / h } else { 0.0 };
        [one(before), one(after)]
    }

    fn contacts(&self) -> &[Contact] {
        &self.problem.contacts[self.knot]
    }

    /// Where a contact is, and the force on the link.
    fn contact(&self, c: usize) -> (usize, DVec3, DVec3) {
        let contact = &self.contacts()[c];
        let place = self.now.links[contact.link];
        let force = contact.axes * DVec3::from_slice(&self.forces[3 * c..]) * self.problem.weight;
        (contact.link, place.position + place.rotation * contact.at, force)
    }

    /// Linear force on a link's centre, and the torque about it.
    fn needed(&self, link: usize, mass: f64) -> (DVec3, DVec3) {
        let [before, after] = self.factors();
        let x = self.now.centres[link].position;
        let per = self.per_share();
        let given = |end: usize| match &self.problem.ends[end] {
            End::Moving(momenta) => momenta[link] * per,
            _ => Force::default(),
        };
        let mut sum = Force::default();
        match self.before {
            Some((posed, turned)) => {
                sum.force += (posed.centres[link].position - x) * (mass * before);
                sum.torque -= turned[link].momentum * per;
            }
            None => sum -= given(0),
        }
        match self.after {
            Some((posed, turned)) => {
                sum.force += (posed.centres[link].position - x) * (mass * after);
                sum.torque += turned[link].momentum * per;
            }
            None => sum += given(1),
        }
        (sum.force - self.problem.gravity * mass, sum.torque)
    }

    /// What acts at each freedom, in its unit.
    pub fn forces(&self, room: &mut Room, to: &mut [f64]) {
        let tree = &self.problem.tree;
        self.wrenches(room);
        tree.sum_up(&mut room.wrenches);
        for (k, f) in to.iter_mut().enumerate() {
            let wrench = &room.wrenches[tree.link_of(k)];
            *f = self.now.axes[k].dot(wrench) / self.problem.drives[k].unit;
        }
    }

    fn wrenches(&self, room: &mut Room) {
        room.wrenches.clear();
        for (i, link) in self.problem.tree.links().iter().enumerate() {
            room.wrenches.push(link.mass.map_or(Force::default(), |m| {
                let (force, torque) = self.needed(i, m.mass);
                Force::at(self.now.centres[i].position, force, torque)
            }));
        }
        for c in 0..self.contacts().len() {
            let (link, p, force) = self.contact(c);
            room.wrenches[link] -= Force::at(p, force, DVec3::ZERO);
        }
    }

    /// The derivatives of the wrenches by the motions of their bodies before, at and after the knot.
    fn wrench_slopes(&self, room: &mut Room) {
        let [before, after] = self.factors();
        let per = self.per_share();
        room.by.iter_mut().for_each(|b| b.clear());
        for (i, link) in self.problem.tree.links().iter().enumerate() {
            let mut by = [Spatial::ZERO; 3];
            if let Some(m) = link.mass {
                let x = self.now.centres[i].position;
                let (force, _) = self.needed(i, m.mass);
                // The torque about the origin of a force at x: its lever moves, and the force changes.
                let near = -m.mass * (before + after);
                by[1] = at_points(x, DMat3::IDENTITY * near, x);
                let lever = -skew(force);
                by[1] += Spatial { aa: lever * -skew(x), al: lever, ..Spatial::ZERO };
                for (side, ends, c, sign) in [(0, self.before, before, -1.0), (2, self.after, after, 1.0)] {
                    let Some((posed, turned)) = ends else { continue };
                    let t = &turned[i];
                    let (far, close) = if side == 0 { (t.by_from, t.by_to) } else { (t.by_to, t.by_from) };
                    by[side] = at_points(x, DMat3::IDENTITY * (m.mass * c), posed.centres[i].position);
                    by[side] += turn_only(far * (sign * per));
                    by[1] += turn_only(close * (sign * per));
                }
            }
            room.by.iter_mut().zip(by).for_each(|(all, one)| all.push(one));
        }
        for c in 0..self.contacts().len() {
            let (link, p, force) = self.contact(c);
            let s = skew(force);
            room.by[1][link] += Spatial { aa: s * -skew(p), al: s, ..Spatial::ZERO };
        }
    }

    /// The derivatives of [`Self::forces`]: rows of `wide` numbers, by the freedoms before, at and after the knot, then by the
    /// contact forces.
    pub fn slopes(&self, room: &mut Room, to: &mut [f64], wide: usize) {
        let tree = &self.problem.tree;
        let n = tree.freedoms();
        to.fill(0.0);
        self.wrenches(room);
        self.wrench_slopes(room);
        tree.sum_up(&mut room.wrenches);
        let sides = [self.before.map(|b| b.0), Some(self.now), self.after.map(|a| a.0)];
        for (side, posed) in sides.into_iter().enumerate() {
            let Some(posed) = posed else { continue };
            tree.sum_up(&mut room.by[side]);
            related(tree, &room.by[side], &self.now.axes, &posed.axes, |j, k, v| {
                to[j * wide + side * n + k] += v;
            });
        }
        for j in 0..n {
            let link = tree.link_of(j);
            for &k in tree.movers(link).iter().take_while(|k| tree.link_of(**k) != link) {
                let turned = self.now.axes[k].cross(&self.now.axes[j]);
                to[j * wide + n + k] += turned.dot(&room.wrenches[link]);
            }
        }
        for (c, contact) in self.contacts().iter().enumerate() {
            let (link, p, _) = self.contact(c);
            for &j in tree.movers(link) {
                let moved = self.now.axes[j].at(p);
                for a in 0..3 {
                    to[j * wide + 3 * n + 3 * c + a] = -moved.dot(contact.axes.col(a)) * self.problem.weight;
                }
            }
        }
        for (j, row) in to.chunks_exact_mut(wide).enumerate().take(n) {
            let per = 1.0 / self.problem.drives[j].unit;
            row.iter_mut().for_each(|v| *v *= per);
        }
    }

    /// Second derivatives of `prices . forces` by all freedoms around the knot: `to(row, column, value)` for every pair once, row at
    /// least column, counted as in [`Self::slopes`]; then by freedoms of the knot (columns) and contact forces (rows).
    pub fn curvature(&self, room: &mut Room, prices: &[f64], mut to: impl FnMut(usize, usize, f64)) {
        let tree = &self.problem.tree;
        let n = tree.freedoms();
        let axes = &self.now.axes;
        let rates: Vec<f64> = prices.iter().zip(&self.problem.drives).map(|(p, d)| p / d.unit).collect();
        self.wrenches(room);
        self.wrench_slopes(room);
        let mut motions = std::mem::take(&mut room.motions);
        self.now.motions(tree, &rates, &mut motions);
        let [before, after] = self.factors();
        let per = self.per_share();
        let count = tree.links().len();
        // Second derivatives by each body's own motions, with its V held.
        let mut own = [vec![Spatial::ZERO; count], vec![Spatial::ZERO; count], vec![Spatial::ZERO; count]];
        let mut across = [vec![Spatial::ZERO; count], vec![Spatial::ZERO; count]];
        for (i, link) in tree.links().iter().enumerate() {
            let Some(m) = link.mass else { continue };
            let x = self.now.centres[i].position;
            let (spin, speed) = (motions[i].angular, motions[i].at(x));
            let (force, _) = self.needed(i, m.mass);
            own[1][i] = point_second(x, force.cross(spin) - speed * (m.mass * (before + after)));
            for (side, ends, c, sign) in [(0, self.before, before, -per), (2, self.after, after, per)] {
                let Some((posed, turned)) = ends else { continue };
                let there = posed.centres[i].position;
                let bent = turned[i].curvature(spin);
                let (far, near) = if side == 0 { (0, 1) } else { (1, 0) };
                own[side][i] = point_second(there, speed * (m.mass * c)) + turn_only(bent[far][far] * sign);
                own[1][i] += turn_only(bent[near][near] * sign);
                across[side / 2][i] =
                    at_points(x, skew(spin) * (-m.mass * c), there) + turn_only(bent[near][far] * sign);
            }
        }
        for c in 0..self.contacts().len() {
            let (link, p, force) = self.contact(c);
            own[1][link] += point_second(p, -force.cross(motions[link].angular));
        }
        // Before and after: V is held there, and S turns with what is before it.
        for (side, ends) in [(0, self.before), (2, self.after)] {
            let Some((posed, _)) = ends else { continue };
            let carried = &mut room.carried;
            carried.clear();
            carried.extend((0..count).map(|i| room.by[side][i].transpose().force(&motions[i])));
            tree.sum_up(carried);
            tree.sum_up(&mut own[side]);
            self.each_pair(|l, k| {
                let link = tree.link_of(k);
                let (sl, sk) = (&posed.axes[l], &posed.axes[k]);
                sl.dot(&own[side][link].force(sk)) + sl.cross(sk).dot(&carried[link])
            })
            .for_each(|(l, k, v)| to(side * n + k, side * n + l, v));
        }
        let turned = &mut room.turned;
        turned.clear();
        turned.extend((0..n).map(|k| axes[k].cross(&motions[tree.link_of(k)])));
        // At the knot with a neighbour.
        for (side, ends) in [(0, self.before), (2, self.after)] {
            let Some((posed, _)) = ends else { continue };
            let bent = &mut room.bent;
            bent.clear();
            for i in 0..count {
                let v = motions[i].cross_matrix().transpose();
                bent.push(across[side / 2][i] - v.after(&room.by[side][i]));
            }
            tree.sum_up(bent);
            let mut summed = room.by[side].clone();
            tree.sum_up(&mut summed);
            let mut add = |now: usize, there: usize, v: f64| match side {
                0 => to(n + now, there, v),
                _ => to(2 * n + there, n + now, v),
            };
            related(tree, bent, axes, &posed.axes, &mut add);
            related(tree, &summed, turned, &posed.axes, |now, there, v| add(now, there, -v));
        }
        // At the knot itself.
        let mut bent = std::mem::take(&mut room.bent);
        bent.clear();
        let carried = &mut room.carried;
        carried.clear();
        for i in 0..count {
            let v = motions[i].cross_matrix();
            let by = &room.by[1][i];
            let stiff = by.transpose().after(&v);
            bent.push(own[1][i] - room.wrenches[i].cross_form().after(&v) - stiff - v.transpose().after(by));
            carried.push(by.transpose().force(&motions[i]));
        }
        tree.sum_up(&mut bent);
        tree.sum_up(carried);
        tree.sum_up(&mut room.wrenches);
        tree.sum_up(&mut room.by[1]);
        let (carried, wrenches, by, turned) = (&room.carried, &room.wrenches, &room.by[1], &room.turned);
        self.each_pair(|l, k| {
            let link = tree.link_of(k);
            let (sl, sk) = (&axes[l], &axes[k]);
            sl.dot(&bent[link].force(sk))
                - turned[k].dot(&by[link].force(sl))
                - turned[l].dot(&by[link].force(sk))
                + sl.cross(sk).dot(&carried[link])
                - sl.cross(&turned[k]).dot(&wrenches[link])
        })
        .for_each(|(l, k, v)| to(n + k, n + l, v));
        room.bent = bent;
        // Contact forces with the knot.
        for (c, contact) in self.contacts().iter().enumerate() {
            let (link, p, _) = self.contact(c);
            for &k in tree.movers(link) {
                let relative = motions[link] - motions[tree.link_of(k)];
                let moved = axes[k].cross(&relative).at(p) + motions[link].angular.cross(axes[k].at(p));
                for a in 0..3 {
                    to(3 * n + 3 * c + a, n + k, -moved.dot(contact.axes.col(a)) * self.problem.weight);
                }
            }
        }
        room.motions = motions;
    }

    /// `second(l, k)` for every pair of freedoms that move something in common, `l <= k`; of two of one joint the mean of both orders.
    fn each_pair<'a>(
        &'a self,
        second: impl Fn(usize, usize) -> f64 + 'a,
    ) -> impl Iterator<Item = (usize, usize, f64)> + 'a {
        let tree = &self.problem.tree;
        let pairs = (0..tree.freedoms()).flat_map(move |k| {
            tree.movers(tree.link_of(k)).iter().take_while(move |l| **l <= k).map(move |&l| (l, k))
        });
        pairs.map(move |(l, k)| {
            let same = tree.link_of(l) == tree.link_of(k);
            (l, k, if same { 0.5 * (second(l, k) + second(k, l)) } else { second(l, k) })
        })
    }
}
