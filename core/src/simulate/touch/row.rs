//! Contacts as the solver sees them, and sweeps over many (projected Gauss-Seidel, Jean and Moreau 1992).
//!
//! A sweep visits every contact once. At each of its points it takes the speed of parting and finds the normal impulse
//! that brings it to what is wanted, only ever pushing. Friction is one for all points of a contact: a force across the
//! normal at their middle and a turn about it, cut to what Coulomb allows. Each point with a friction of its own would let
//! them pull against each other, and what they use up so no longer holds a box on a slope.

use super::body::{Body, Twist};
use super::contact::{Contact, Spot};
use super::dense::Dense;
use super::linked::Coupling;
use glam::{DMat3, DVec3};

/// A body, as far as sweeps need it.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    pub now: Twist,
    pub per_mass: f64,
    pub per_inertia: DMat3,
}

impl Moved {
    pub fn new(body: &Body) -> Moved {
        Moved { now: body.free, per_mass: body.per_mass, per_inertia: body.per_inertia }
    }

    /// Whether impulses move it.
    pub fn moves(&self) -> bool {
        self.per_mass > 0.0 || self.per_inertia != DMat3::ZERO
    }
}

/// What contacts do to a body in all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gained {
    /// Impulse, and angular impulse.
    pub kick: DVec3,
    pub twist: DVec3,
    /// The same, each by the share of the step that it has left to move the body.
    pub push: DVec3,
    pub turn: DVec3,
}

/// Adds what a contact does to its bodies.
pub fn hand_out(contact: &Contact, spots: &[Spot], bodies: [u32; 2], gained: &mut [Gained]) {
    let n = contact.axes[0];
    let (mut load, mut late) = (0.0, 0.0);
    let mut turns = [(DVec3::ZERO, DVec3::ZERO); 2];
    for spot in spots {
        load += spot.impulse;
        late += spot.impulse * spot.wanted.late;
        for (turn, lever) in turns.iter_mut().zip(spot.levers) {
            let twist = lever.cross(n) * spot.impulse;
            *turn = (turn.0 + twist, turn.1 + twist * spot.wanted.late);
        }
    }
    let rub = contact.rub;
    let about = n * contact.twist + contact.roll;
    let (kick, mean) = (rub + n * load, if load > 0.0 { late / load } else { 0.5 });
    let push = rub * mean + n * late;
    for (e, sign) in [(0, -1.0), (1, 1.0)] {
        let gained = &mut gained[bodies[e] as usize];
        let twist = contact.levers[e].cross(rub) + about;
        gained.kick += kick * sign;
        gained.push += push * sign;
        gained.twist += (twist + turns[e].0) * sign;
        gained.turn += (twist * mean + turns[e].1) * sign;
    }
}

/// One point: its normal direction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Levers across the normal, and the spins that they give per impulse.
    pub arms: [DVec3; 2],
    spins: [DVec3; 2],
    wanted: f64,
    give: f64,
    per_normal: f64,
    pub impulse: f64,
    /// What the last sweep changed, and the direction of the search.
    by: f64,
    along: f64,
}

/// One contact: its points and their friction.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The two bodies, by their numbers in the island.
    pub bodies: [u32; 2],
    pub axes: [DVec3; 3],
    pub levers: [DVec3; 2],
    /// Inverse of what tangential impulses do, and of what a turn about the normal does.
    pub across: [f64; 3],
    per_twist: f64,
    grip: f64,
    slide: f64,
    breadth: f64,
    per_breadth_squared: f64,
    off_per_twist: f64,
    /// The load by which friction is cut, at most.
    most_load: f64,
    noted_load: f64,
    pub rows: usize,
    /// Tangential impulses, and the turn about the normal.
    pub rub: [f64; 2],
    pub twist: f64,
    /// Rolling friction: the length by which pressure is ahead, and its angular impulse across the normal.
    rolling: f64,
    pub roll: DVec3,
    /// What the last sweep changed of all these, and the direction of the search.
    by: [f64; 3],
    along: [f64; 3],
    roll_by: DVec3,
    roll_along: DVec3,
}

/// Two directions across a unit vector.
#[inline]
pub fn across(n: DVec3) -> [DVec3; 3] {
    let (t, s) = n.any_orthonormal_pair();
    [n, t, s]
}

impl Group {
    /// A contact between bodies of the island; its points go to `rows`.
    pub fn new(
        bodies: [u32; 2],
        contact: &Contact,
        spots: &[Spot],
        moved: &[Moved],
        rows: &mut Vec<Row>,
    ) -> Group {
        let [a, b] = bodies.map(|i| &moved[i as usize]);
        let [n, t, s] = contact.axes;
        for spot in spots {
            let arms = spot.levers.map(|l| l.cross(n));
            let spins = [a.per_inertia * arms[0], b.per_inertia * arms[1]];
            let normal = a.per_mass + b.per_mass + arms[0].dot(spins[0]) + arms[1].dot(spins[1]) + spot.give;
            rows.push(Row {
                arms,
                spins,
                wanted: spot.wanted.speed,
                give: spot.give,
                per_normal: if normal > 0.0 { 1.0 / normal } else { 0.0 },
                impulse: spot.impulse,
                by: 0.0,
                along: 0.0,
            });
        }
        let levers = contact.levers;
        let column = |d: DVec3| {
            let one =
                |m: &Moved, lever: DVec3| d * m.per_mass + (m.per_inertia * lever.cross(d)).cross(lever);
            one(a, levers[0]) + one(b, levers[1])
        };
        let (kt, ks) = (column(t), column(s));
        let across = inverse(t.dot(kt), t.dot(ks), s.dot(ks));
        let about = n.dot(a.per_inertia * n) + n.dot(b.per_inertia * n);
        let (grip, slide) = contact.friction;
        Group {
            bodies,
            axes: contact.axes,
            levers,
            across,
            per_twist: if about > 0.0 && contact.breadth > 0.0 { 1.0 / about } else { 0.0 },
            off_per_twist: contact.breadth * about,
            grip,
            slide,
            breadth: contact.breadth,
            per_breadth_squared: if contact.breadth > 0.0 {
                (contact.breadth * contact.breadth).recip()
            } else {
                0.0
            },
            most_load: f64::INFINITY,
            noted_load: f64::INFINITY,
            rows: spots.len(),
            rub: [t.dot(contact.rub), s.dot(contact.rub)],
            twist: contact.twist,
            rolling: contact.rolling,
            roll: DVec3::ZERO,
            by: [0.0; 3],
            along: [0.0; 3],
            roll_by: DVec3::ZERO,
            roll_along: DVec3::ZERO,
        }
    }

    /// Takes into account that bodies have joints.
    pub fn link(&mut self, rows: &mut [Row], moved: &[Moved], coupling: &Coupling) {
        if !self.bodies.iter().any(|b| coupling.has(*b)) {
            return;
        }
        let [n, t, s] = self.axes;
        for row in rows {
            let along = [(-n, -row.arms[0]), (n, row.arms[1])];
            let normal = coupling.yields(self.bodies, moved, along, along);
            row.yield_by(normal);
        }
        let at = |d: DVec3| self.push_across(d, DVec3::ZERO);
        let yields = |p: DVec3, q: DVec3| coupling.yields(self.bodies, moved, at(p), at(q));
        let across = [yields(t, t), yields(t, s), yields(s, s)];
        let about = self.push_across(DVec3::ZERO, n);
        self.yield_by(across, coupling.yields(self.bodies, moved, about, about));
    }

    /// Whether friction holds it back from rolling.
    pub fn rolls(&self) -> bool {
        self.rolling > 0.0
    }

    /// How many directions its friction has: two across the normal, and the turn about it where it is broad.
    #[inline(always)]
    pub fn turns(&self) -> usize {
        if self.breadth > 0.0 { 3 } else { 2 }
    }

    /// Knows what impulses across the normal do along and across each other, and what a turn about it does.
    pub fn yield_by(&mut self, [tt, ts, ss]: [f64; 3], about: f64) {
        self.across = inverse(tt, ts, ss);
        self.per_twist = if about > 0.0 && self.breadth > 0.0 { 1.0 / about } else { 0.0 };
        self.off_per_twist = self.breadth * about;
    }

    /// Force and torque on the two bodies, of friction and of what turns them against each other.
    #[inline(always)]
    pub fn push_across(&self, rub: DVec3, about: DVec3) -> [(DVec3, DVec3); 2] {
        [(-rub, -(self.levers[0].cross(rub) + about)), (rub, self.levers[1].cross(rub) + about)]
    }

    /// Tells the contact what came of it, by rows that begin with its own; returns how many those are.
    pub fn tell(&self, rows: &[Row], contact: &mut Contact, points: &mut [Spot]) -> usize {
        (contact.rub, contact.twist, contact.roll) = (self.rub_in_world(), self.twist, self.roll);
        for (spot, row) in contact.spots_mut(points).iter_mut().zip(rows) {
            spot.impulse = row.impulse;
        }
        self.rows
    }

    /// The tangential impulse in the world.
    pub fn rub_in_world(&self) -> DVec3 {
        self.axes[1] * self.rub[0] + self.axes[2] * self.rub[1]
    }

    /// Visits the contact once, after it has gone on by `share`; returns by how much its velocities were off.
    #[inline(always)]
    fn visit(
        &mut self,
        rows: &mut [Row],
        moved: &mut [Moved],
        share: f64,
        changed: &mut f64,
        couple: impl Couple,
    ) -> f64 {
        let [a, b] = self.bodies.map(|i| i as usize);
        let [n, t, s] = self.axes;
        // What is pushed in all, for those that are no part of the contact.
        let mut pushes = [(DVec3::ZERO, DVec3::ZERO); 2];
        let (mut x, mut y) = (moved[a].now, moved[b].now);
        let mut off = 0.0_f64;
        let mut load = 0.0;
        for row in rows {
            let parting = n.dot(y.velocity - x.velocity) + row.arms[1].dot(y.spin) - row.arms[0].dot(x.spin);
            let (by, lacked) = row.press(parting, share);
            load += row.impulse;
            *changed += by * by;
            if by != 0.0 {
                off = off.max(lacked);
                couple.normal(self, row, moved, by, &mut x, &mut y);
                pushes[1] = (pushes[1].0 + n * by, pushes[1].1 + row.arms[1] * by);
                pushes[0].1 -= row.arms[0] * by;
            }
        }
        self.rub_on(share);
        if self.rolling > 0.0 {
            let more = self.roll_along * share;
            self.roll_along = more + self.roll_by;
            self.roll_by = DVec3::ZERO;
            self.roll += more;
        }
        let load = load.min(self.most_load);
        if load > 0.0 || self.rub != [0.0; 2] || self.twist != 0.0 {
            let v = y.at(self.levers[1]) - x.at(self.levers[0]);
            let [dp, dq] = self.rub_against([t.dot(v), s.dot(v)], load, changed);
            let rub = t * dp + s * dq;
            let mut about = DVec3::ZERO;
            if self.per_twist > 0.0 {
                about = n * self.twist_against(n.dot(y.spin - x.spin), load, changed, &mut off);
            }
            if self.rolling > 0.0 {
                let spin = y.spin - x.spin;
                let across = spin - n * n.dot(spin);
                if let Some(d) = across.try_normalize() {
                    let per = d.dot((moved[a].per_inertia + moved[b].per_inertia) * d);
                    let roll = self.roll - across * (1.0 / per.max(1e-300));
                    let roll = roll.clamp_length_max(self.rolling * load);
                    self.roll_by = roll - self.roll;
                    about += self.roll_by;
                    self.roll = roll;
                }
            }
            couple.rub(self, moved, rub, about, &mut x, &mut y);
            let across = self.push_across(rub, about);
            pushes[1] = (pushes[1].0 + across[1].0, pushes[1].1 + across[1].1);
            pushes[0].1 += across[0].1;
            off = off.max((dp.abs() + dq.abs()) * couple.looseness(self, moved));
        }
        pushes[0].0 = -pushes[1].0;
        (moved[a].now, moved[b].now) = (x, y);
        couple.spread(self, moved, pushes);
        off
    }

    /// The same among contacts whose rows are known without their bodies, its own from `first` on.
    #[inline(always)]
    pub fn visit_densely(
        &mut self,
        rows: &mut [Row],
        dense: &mut Dense,
        first: usize,
        share: f64,
        changed: &mut f64,
    ) -> f64 {
        let (mut off, mut load) = (0.0_f64, 0.0);
        for (k, row) in rows.iter_mut().enumerate() {
            let (by, lacked) = row.press(dense.rate(first + k), share);
            load += row.impulse;
            *changed += by * by;
            off = off.max(lacked);
            dense.add(first + k, by);
        }
        self.rub_on(share);
        let (load, at) = (load.min(self.most_load), first + rows.len());
        if load > 0.0 || self.rub != [0.0; 2] || self.twist != 0.0 {
            let across = [dense.rate(at), dense.rate(at + 1)];
            let rub = self.rub_against(across, load, changed);
            if self.per_twist > 0.0 {
                let twist = self.twist_against(dense.rate(at + 2), load, changed, &mut off);
                dense.add(at + 2, twist);
            }
            dense.add_two(at, rub);
            off = off.max((rub[0].abs() + rub[1].abs()) * self.looseness());
        }
        off
    }

    /// Friction goes on by `share` of what it changed by.
    #[inline(always)]
    fn rub_on(&mut self, share: f64) {
        let more = [share * self.along[0], share * self.along[1], share * self.along[2]];
        self.along = [more[0] + self.by[0], more[1] + self.by[1], more[2] + self.by[2]];
        self.by = [0.0; 3];
        self.rub = [self.rub[0] + more[0], self.rub[1] + more[1]];
        self.twist += more[2];
    }

    /// Finds the friction that stops the velocities across the normal, as far as Coulomb allows; by how much it changes.
    #[inline(always)]
    fn rub_against(&mut self, [vt, vs]: [f64; 2], load: f64, changed: &mut f64) -> [f64; 2] {
        let [tt, ts, ss] = self.across;
        let mut p = self.rub[0] - (tt * vt + ts * vs);
        let mut q = self.rub[1] - (ts * vt + ss * vs);
        let square = p * p + q * q;
        let most = self.grip * load;
        if square > most * most {
            let cut = self.slide * load / square.sqrt();
            p *= cut;
            q *= cut;
        }
        let (dp, dq) = (p - self.rub[0], q - self.rub[1]);
        self.rub = [p, q];
        (self.by[0], self.by[1]) = (dp, dq);
        *changed += dp * dp + dq * dq;
        [dp, dq]
    }

    /// The same for the spin about it.
    #[inline(always)]
    fn twist_against(&mut self, spin: f64, load: f64, changed: &mut f64, off: &mut f64) -> f64 {
        let most = self.slide * load * self.breadth;
        let twist = (self.twist - spin * self.per_twist).max(-most).min(most);
        let about = twist - self.twist;
        self.twist = twist;
        self.by[2] = about;
        *changed += about * about * self.per_breadth_squared;
        *off = off.max(about.abs() * self.off_per_twist);
        about
    }

    /// Velocity across per impulse, about.
    #[inline(always)]
    pub fn looseness(&self) -> f64 {
        let most = self.across[0].max(self.across[2]);
        if most > 0.0 { 1.0 / most } else { 0.0 }
    }
}

impl Row {
    /// Knows how fast the two part per impulse.
    pub fn yield_by(&mut self, normal: f64) {
        let all = normal + self.give;
        self.per_normal = if all > 0.0 { 1.0 / all } else { 0.0 };
    }

    /// Goes on by `share`, then finds the impulse that brings the speed of parting to what is wanted: by how much it changes,
    /// and by how much the speed was off.
    #[inline(always)]
    fn press(&mut self, parting: f64, share: f64) -> (f64, f64) {
        let more = share * self.along;
        self.along = more + self.by;
        self.impulse += more;
        let lacking = self.wanted - parting - self.give * self.impulse;
        let impulse = (self.impulse + lacking * self.per_normal).max(0.0);
        self.by = impulse - self.impulse;
        if self.by == 0.0 {
            return (0.0, 0.0);
        }
        self.impulse = impulse;
        // Divisions are dear, and few need one.
        (self.by, if impulse > 0.0 { lacking.abs() } else { self.by.abs() / self.per_normal })
    }
}

/// Inverse of a symmetric matrix of two rows; nothing, where it has none.
pub fn inverse(tt: f64, ts: f64, ss: f64) -> [f64; 3] {
    let det = tt * ss - ts * ts;
    let per = if det > 1e-12 * tt * ss { 1.0 / det } else { 0.0 };
    [ss * per, -ts * per, tt * per]
}

/// How bodies answer to impulses of a contact: by their own mass, or with what joints tie them to.
pub trait Couple: Copy {
    /// The two after a normal impulse at one point.
    fn normal(self, g: &Group, row: &Row, moved: &[Moved], by: f64, x: &mut Twist, y: &mut Twist);

    /// The two after friction, and a turn.
    fn rub(self, g: &Group, moved: &[Moved], rub: DVec3, about: DVec3, x: &mut Twist, y: &mut Twist);

    /// Everything else after the force and torque on the two.
    fn spread(self, g: &Group, moved: &mut [Moved], pushes: [(DVec3, DVec3); 2]);

    /// Velocity across per impulse, about.
    fn looseness(self, g: &Group, moved: &[Moved]) -> f64;

    /// All after the impulses that a contact has.
    fn push(self, g: &Group, moved: &mut [Moved], rows: &[Row]);
}

/// No joints.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Couple for Alone {
    #[inline(always)]
    fn normal(self, g: &Group, row: &Row, moved: &[Moved], by: f64, x: &mut Twist, y: &mut Twist) {
        let ([a, b], n) = (g.bodies.map(|i| i as usize), g.axes[0]);
        x.velocity -= n * (by * moved[a].per_mass);
        x.spin -= row.spins[0] * by;
        y.velocity += n * (by * moved[b].per_mass);
        y.spin += row.spins[1] * by;
    }

    #[inline(always)]
    fn rub(self, g: &Group, moved: &[Moved], rub: DVec3, about: DVec3, x: &mut Twist, y: &mut Twist) {
        let [a, b] = g.bodies.map(|i| i as usize);
        x.velocity -= rub * moved[a].per_mass;
        x.spin -= moved[a].per_inertia * (g.levers[0].cross(rub) + about);
        y.velocity += rub * moved[b].per_mass;
        y.spin += moved[b].per_inertia * (g.levers[1].cross(rub) + about);
    }

    #[inline(always)]
    fn spread(self, _: &Group, _: &mut [Moved], _: [(DVec3, DVec3); 2]) {}

    #[inline(always)]
    fn looseness(self, g: &Group, moved: &[Moved]) -> f64 {
        moved[g.bodies[0] as usize].per_mass + moved[g.bodies[1] as usize].per_mass
    }

    #[inline(always)]
    fn push(self, g: &Group, moved: &mut [Moved], rows: &[Row]) {
        let [a, b] = g.bodies.map(|i| i as usize);
        let n = g.axes[0];
        let (mut x, mut y) = (moved[a].now, moved[b].now);
        let (per_a, per_b) = (moved[a].per_mass, moved[b].per_mass);
        let mut load = 0.0;
        for row in rows {
            load += row.impulse;
            x.spin -= row.spins[0] * row.impulse;
            y.spin += row.spins[1] * row.impulse;
        }
        let across = g.rub_in_world();
        let all = across + n * load;
        x.velocity -= all * per_a;
        y.velocity += all * per_b;
        x.spin -= moved[a].per_inertia * (g.levers[0].cross(across) + n * g.twist);
        y.spin += moved[b].per_inertia * (g.levers[1].cross(across) + n * g.twist);
        (moved[a].now, moved[b].now) = (x, y);
    }
}

/// Notes the loads of now: friction may hold no more than these allow, once it must not grow any more.
pub fn note_loads(groups: &mut [Group], rows: &[Row]) {
    let mut at = 0;
    for group in groups {
        group.noted_load = rows[at..at + group.rows].iter().map(|r| r.impulse).sum();
        at += group.rows;
    }
}

/// Has friction hold no more than the loads that were noted allow, whatever these become.
pub fn freeze_friction(groups: &mut [Group]) {
    groups.iter_mut().for_each(|g| g.most_load = g.noted_load);
}

/// Visits all contacts, which go on by `share` first, see [`go_on`]; returns by how much velocities were off at most, and
/// what impulses changed by, as a square.
#[inline(always)]
pub fn sweep(
    groups: &mut [Group],
    rows: &mut [Row],
    moved: &mut [Moved],
    share: f64,
    couple: impl Couple,
) -> (f64, f64) {
    let (mut most, mut changed, mut at) = (0.0_f64, 0.0, 0);
    for group in groups.iter_mut() {
        let to = at + group.rows;
        most = most.max(group.visit(&mut rows[at..to], moved, share, &mut changed, couple));
        at = to;
    }
    (most, changed)
}

/// Applies what contacts start with.
pub fn start(groups: &[Group], rows: &[Row], moved: &mut [Moved], couple: impl Couple) {
    let mut at = 0;
    for group in groups {
        let own = &rows[at..at + group.rows];
        couple.push(group, moved, own);
        at += group.rows;
    }
}

/// How a sweep changed the motion of a body: from where, and the direction of the search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Course {
    pub from: Twist,
    along: Twist,
}

/// Goes on along what earlier sweeps changed, `share` of it (Silcowitz, Niebe and Erleben 2010: Fletcher and Reeves'
/// conjugate gradients with a sweep as the gradient). 0 begins anew.
///
/// Bodies do so at once, each impulse when it is next visited: motions are linear in these, and many contacts are gone over
/// once for both.
#[inline(always)]
pub fn go_on(moved: &mut [Moved], courses: &mut [Course], share: f64) {
    for (m, c) in moved.iter_mut().zip(courses) {
        let more = Twist { velocity: c.along.velocity * share, spin: c.along.spin * share };
        c.along.velocity = more.velocity + (m.now.velocity - c.from.velocity);
        c.along.spin = more.spin + (m.now.spin - c.from.spin);
        m.now.velocity += more.velocity;
        m.now.spin += more.spin;
    }
}
