//! Crowds: many contacts between things without joints, visited four at a time.
//!
//! Contacts that share no body that moves can be visited at once, each in a lane of its own. They are gathered in the
//! order that one by one they would be visited in, so that loads are still handed on from the top down. What is found is
//! what [`super::row`] finds, but for the order.
//!
//! Lanes are the same numbers whatever registers hold them: nothing is fused, and nothing added up across lanes but in
//! their order.

use super::body::Twist;
use super::contact::{Contact, Spot};
use super::lanes::{Four, Lanes, Three, Triple, both, both_vectors, put};
use super::row::{Moved, inverse};
use super::sweeps::{Goal, Swept};
use glam::DVec3;
use pulp::{Simd, WithSimd};

/// Batches that contacts may still be put into, of as many points each.
const OPEN: usize = 8;

const LANES: usize = 4;

/// How a body moves: its velocity and what an impulse does to that, and its spin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
struct Motion {
    velocity: Four,
    spin: Four,
}

/// How a sweep changed that: from where, and the direction of the search.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    from: Motion,
    along: Motion,
}

/// Four contacts; see [`super::row::Group`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Batch {
    bodies: [[u32; LANES]; 2],
    /// Its rows, and the turns about the normals, if it has any.
    first: u32,
    rows: u32,
    turns: Option<u32>,
    /// Lanes that have a contact.
    filled: u32,
    /// The normal and two directions across it.
    axes: [Triple; 3],
    levers: [Triple; 2],
    /// Spins per impulse along the two directions.
    spins: [[Triple; 2]; 2],
    across: [Four; 3],
    grip: Four,
    slide: Four,
    most_load: Four,
    rub: [Four; 2],
    by: [Four; 2],
    along: [Four; 2],
}

/// A point of each; see [`super::row::Row`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Points {
    arms: [Triple; 2],
    spins: [Triple; 2],
    wanted: Four,
    give: Four,
    per_normal: Four,
    normal: Four,
    impulse: Four,
    by: Four,
    along: Four,
}

/// Turns about the normals of contacts with several points.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Turns {
    spins: [Triple; 2],
    breadth: Four,
    per_twist: Four,
    per_breadth_squared: Four,
    off_per_twist: Four,
    twist: Four,
    by: Four,
    along: Four,
}

/// Scratch for a crowd.
#[derive(Clone, Debug, Default)]
pub struct Crowd {
    /// Of the bodies of the island, and one that is nobody's.
    motions: Vec<Motion>,
    courses: Vec<Course>,
    batches: Vec<Batch>,
    points: Vec<Points>,
    turns: Vec<Turns>,
    noted: Vec<Four>,
    /// Batch and lane of each contact, in the order they were added.
    places: Vec<(u32, u32)>,
    /// By number of points.
    open: [Vec<u32>; LANES],
}

fn set(to: &mut Triple, lane: usize, v: DVec3) {
    (to[0][lane], to[1][lane], to[2][lane]) = (v.x, v.y, v.z);
}

impl Crowd {
    /// Room for so many bodies and contacts.
    pub fn with_room(bodies: usize, contacts: usize) -> Crowd {
        Crowd {
            motions: Vec::with_capacity(bodies + 1),
            courses: Vec::with_capacity(bodies + 1),
            batches: Vec::with_capacity(contacts / 2),
            points: Vec::with_capacity(contacts),
            turns: Vec::with_capacity(contacts / 2),
            noted: Vec::with_capacity(contacts / 2),
            places: Vec::with_capacity(contacts),
            open: std::array::from_fn(|_| Vec::with_capacity(OPEN)),
        }
    }

    /// Begins an island.
    pub fn begin(&mut self) {
        self.batches.clear();
        self.points.clear();
        self.turns.clear();
        self.places.clear();
        self.open.iter_mut().for_each(Vec::clear);
    }

    /// The batch of contacts with `count` points that has room for one between these bodies.
    fn batch(&mut self, bodies: [u32; 2], moves: [bool; 2], count: usize) -> usize {
        let open = &mut self.open[count - 1];
        let batches = &mut self.batches;
        let shares = |b: &Batch| {
            let has = |body: u32| b.bodies.iter().any(|side| side[..b.filled as usize].contains(&body));
            moves[0] && has(bodies[0]) || moves[1] && has(bodies[1])
        };
        if let Some(k) = open.iter().position(|b| !shares(&batches[*b as usize])) {
            let at = open[k] as usize;
            batches[at].filled += 1;
            if batches[at].filled as usize == LANES {
                open.remove(k);
            }
            return at;
        }
        if open.len() == OPEN {
            open.remove(0);
        }
        open.push(batches.len() as u32);
        let turns = (count > 1).then_some(self.turns.len() as u32);
        self.turns.extend(turns.map(|_| Turns::default()));
        batches.push(Batch {
            first: self.points.len() as u32,
            rows: count as u32,
            turns,
            filled: 1,
            most_load: [f64::INFINITY; LANES],
            ..Batch::default()
        });
        self.points.resize(self.points.len() + count, Points::default());
        batches.len() - 1
    }

    /// Adds a contact between bodies of the island.
    pub fn add(&mut self, bodies: [u32; 2], contact: &Contact, spots: &[Spot], moved: &[Moved]) {
        let [a, b] = bodies.map(|i| &moved[i as usize]);
        let at = self.batch(bodies, [a, b].map(Moved::moves), spots.len());
        let batch = &mut self.batches[at];
        let lane = batch.filled as usize - 1;
        self.places.push((at as u32, lane as u32));
        let [n, t, s] = contact.axes;
        for (k, spot) in spots.iter().enumerate() {
            let row = &mut self.points[batch.first as usize + k];
            let arms = spot.levers.map(|l| l.cross(n));
            let spins = [a.per_inertia * arms[0], b.per_inertia * arms[1]];
            let normal = a.per_mass + b.per_mass + arms[0].dot(spins[0]) + arms[1].dot(spins[1]) + spot.give;
            for e in 0..2 {
                set(&mut row.arms[e], lane, arms[e]);
                set(&mut row.spins[e], lane, spins[e]);
            }
            row.wanted[lane] = spot.wanted.speed;
            row.give[lane] = spot.give;
            row.per_normal[lane] = if normal > 0.0 { 1.0 / normal } else { 0.0 };
            row.normal[lane] = normal;
            row.impulse[lane] = spot.impulse;
        }
        let (mut tt, mut ts, mut ss) = (0.0, 0.0, 0.0);
        for (e, m) in [a, b].into_iter().enumerate() {
            let lever = contact.levers[e];
            let arms = [lever.cross(t), lever.cross(s)];
            let spins = [m.per_inertia * arms[0], m.per_inertia * arms[1]];
            tt += m.per_mass + arms[0].dot(spins[0]);
            ts += arms[1].dot(spins[0]);
            ss += m.per_mass + arms[1].dot(spins[1]);
            batch.bodies[e][lane] = bodies[e];
            set(&mut batch.levers[e], lane, lever);
            set(&mut batch.spins[e][0], lane, spins[0]);
            set(&mut batch.spins[e][1], lane, spins[1]);
        }
        for (to, of) in batch.across.iter_mut().zip(inverse(tt, ts, ss)) {
            to[lane] = of;
        }
        for (to, of) in batch.axes.iter_mut().zip([n, t, s]) {
            set(to, lane, of);
        }
        (batch.grip[lane], batch.slide[lane]) = contact.friction;
        (batch.rub[0][lane], batch.rub[1][lane]) = (t.dot(contact.rub), s.dot(contact.rub));
        if let Some(k) = batch.turns {
            let turns = &mut self.turns[k as usize];
            let spins = [a.per_inertia * n, b.per_inertia * n];
            let about = n.dot(spins[0]) + n.dot(spins[1]);
            let breadth = contact.breadth;
            set(&mut turns.spins[0], lane, spins[0]);
            set(&mut turns.spins[1], lane, spins[1]);
            turns.breadth[lane] = breadth;
            turns.off_per_twist[lane] = about;
            if about > 0.0 && breadth > 0.0 {
                turns.per_twist[lane] = 1.0 / about;
                turns.per_breadth_squared[lane] = (breadth * breadth).recip();
                turns.off_per_twist[lane] = breadth * about;
            }
            turns.twist[lane] = contact.twist;
        }
    }

    /// Sweeps over the crowd until it has settled, with the registers that the processor has.
    pub fn settle(&mut self, moved: &mut [Moved], goal: Goal) {
        self.take(moved);
        #[cfg(target_arch = "x86_64")]
        match pulp::x86::V3::try_new() {
            Some(simd) => Simd::vectorize(simd, Settling(self, goal)),
            None => pulp::Scalar256b.vectorize(Settling(self, goal)),
        }
        #[cfg(not(target_arch = "x86_64"))]
        pulp::Scalar256b.vectorize(Settling(self, goal));
        let of = |v: &Four| DVec3::new(v[0], v[1], v[2]);
        for (m, motion) in moved.iter_mut().zip(&self.motions) {
            m.now = Twist { velocity: of(&motion.velocity), spin: of(&motion.spin) };
        }
    }

    /// Takes up how bodies move without contacts.
    fn take(&mut self, moved: &[Moved]) {
        let motion = |m: &Moved| {
            let (v, w) = (m.now.velocity, m.now.spin);
            Motion { velocity: [v.x, v.y, v.z, m.per_mass], spin: [w.x, w.y, w.z, 0.0] }
        };
        self.motions.clear();
        self.motions.extend(moved.iter().map(motion));
        self.motions.push(Motion::default());
        let nobody = moved.len() as u32;
        for batch in &mut self.batches {
            batch.bodies.iter_mut().for_each(|side| side[batch.filled as usize..].fill(nobody));
        }
        self.courses.clear();
        self.courses.resize(self.motions.len(), Course::default());
    }

    /// Tells a contact, in the order they were added, what came of it.
    pub fn tell(&self, nth: usize, contact: &mut Contact, points: &mut [Spot]) {
        let (at, lane) = self.places[nth];
        let (batch, lane) = (&self.batches[at as usize], lane as usize);
        let [_, t, s] = contact.axes;
        contact.rub = t * batch.rub[0][lane] + s * batch.rub[1][lane];
        contact.twist = batch.turns.map_or(0.0, |k| self.turns[k as usize].twist[lane]);
        for (spot, row) in contact.spots_mut(points).iter_mut().zip(&self.points[batch.first as usize..]) {
            spot.impulse = row.impulse[lane];
        }
    }
}

struct Settling<'a>(&'a mut Crowd, Goal);

impl WithSimd for Settling<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Settling(crowd, goal) = self;
        crowd.start(simd);
        goal.reach(With(crowd, simd));
    }
}

/// A crowd and what it is swept with.
struct With<'a, S: Simd>(&'a mut Crowd, S);

impl<S: Simd> Swept for With<'_, S> {
    #[inline(always)]
    fn sweep(&mut self, share: f64) -> (f64, f64) {
        let With(crowd, simd) = self;
        for (course, motion) in crowd.courses.iter_mut().zip(&crowd.motions) {
            course.from = *motion;
        }
        let (mut off, mut changed) = (Lanes::all(*simd, 0.0), Lanes::all(*simd, 0.0));
        let share = Lanes::all(*simd, share);
        for batch in &mut crowd.batches {
            let points = &mut crowd.points[batch.first as usize..][..batch.rows as usize];
            let turns = match batch.turns {
                Some(k) => Some(&mut crowd.turns[k as usize]),
                None => None,
            };
            batch.visit(points, turns, &mut crowd.motions, share, &mut off, &mut changed);
        }
        let (off, changed) = (off.each(), changed.each());
        (off.into_iter().fold(0.0, f64::max), changed.into_iter().sum())
    }

    #[inline(always)]
    fn go_on(&mut self, share: f64) {
        let With(crowd, simd) = self;
        let share = Lanes::all(*simd, share);
        for (motion, course) in crowd.motions.iter_mut().zip(&mut crowd.courses) {
            for (now, from, along) in [
                (&mut motion.velocity, &course.from.velocity, &mut course.along.velocity),
                (&mut motion.spin, &course.from.spin, &mut course.along.spin),
            ] {
                let is = Lanes::of(*simd, now);
                let more = share * Lanes::of(*simd, along);
                put(more + (is - Lanes::of(*simd, from)), along);
                put(is + more, now);
            }
        }
    }

    fn note_loads(&mut self) {
        let crowd = &mut *self.0;
        crowd.noted.clear();
        crowd.noted.extend(crowd.batches.iter().map(|b| {
            let rows = &crowd.points[b.first as usize..][..b.rows as usize];
            std::array::from_fn(|lane| rows.iter().map(|r| r.impulse[lane]).sum())
        }));
    }

    fn freeze_friction(&mut self) {
        self.0.batches.iter_mut().zip(&self.0.noted).for_each(|(b, noted)| b.most_load = *noted);
    }
}

/// The motions of four bodies, and what impulses do to them.
struct Gathered<S: Simd> {
    velocity: Three<S>,
    spin: Three<S>,
    per_mass: Lanes<S>,
}

impl<S: Simd> Gathered<S> {
    #[inline(always)]
    fn take(simd: S, motions: &[Motion], bodies: &[u32; LANES]) -> Gathered<S> {
        let [a, b, c, d] = *bodies;
        let [a, b, c, d] =
            [&motions[a as usize], &motions[b as usize], &motions[c as usize], &motions[d as usize]];
        let [x, y, z, per_mass] = Lanes::turned([
            Lanes::of(simd, &a.velocity),
            Lanes::of(simd, &b.velocity),
            Lanes::of(simd, &c.velocity),
            Lanes::of(simd, &d.velocity),
        ]);
        let velocity = Three { x, y, z };
        let [x, y, z, _] = Lanes::turned([
            Lanes::of(simd, &a.spin),
            Lanes::of(simd, &b.spin),
            Lanes::of(simd, &c.spin),
            Lanes::of(simd, &d.spin),
        ]);
        Gathered { velocity, spin: Three { x, y, z }, per_mass }
    }

    #[inline(always)]
    fn put_back(self, simd: S, motions: &mut [Motion], bodies: &[u32; LANES]) {
        let Three { x, y, z } = self.velocity;
        let velocities = Lanes::turned([x, y, z, self.per_mass]);
        let Three { x, y, z } = self.spin;
        let spins = Lanes::turned([x, y, z, Lanes::all(simd, 0.0)]);
        for lane in 0..LANES {
            let motion = &mut motions[bodies[lane] as usize];
            put(velocities[lane], &mut motion.velocity);
            put(spins[lane], &mut motion.spin);
        }
    }
}

impl Crowd {
    /// Applies what contacts start with.
    #[inline(always)]
    fn start<S: Simd>(&mut self, simd: S) {
        for batch in &self.batches {
            let mut a = Gathered::take(simd, &self.motions, &batch.bodies[0]);
            let mut b = Gathered::take(simd, &self.motions, &batch.bodies[1]);
            let n = Three::of(simd, &batch.axes[0]);
            let (t, s) = (Three::of(simd, &batch.axes[1]), Three::of(simd, &batch.axes[2]));
            let mut load = Lanes::all(simd, 0.0);
            for row in &self.points[batch.first as usize..][..batch.rows as usize] {
                let impulse = Lanes::of(simd, &row.impulse);
                load = load + impulse;
                a.spin = a.spin - Three::of(simd, &row.spins[0]) * impulse;
                b.spin = b.spin + Three::of(simd, &row.spins[1]) * impulse;
            }
            let [p, q] = both(simd, &batch.rub);
            let all = n * load + (t * p + s * q);
            a.velocity = a.velocity - all * a.per_mass;
            b.velocity = b.velocity + all * b.per_mass;
            a.spin = a.spin - spin(simd, &batch.spins[0], [p, q]);
            b.spin = b.spin + spin(simd, &batch.spins[1], [p, q]);
            if let Some(k) = batch.turns {
                let turns = &self.turns[k as usize];
                let twist = Lanes::of(simd, &turns.twist);
                a.spin = a.spin - Three::of(simd, &turns.spins[0]) * twist;
                b.spin = b.spin + Three::of(simd, &turns.spins[1]) * twist;
            }
            a.put_back(simd, &mut self.motions, &batch.bodies[0]);
            b.put_back(simd, &mut self.motions, &batch.bodies[1]);
        }
    }
}

/// What impulses across the normals do to spins.
#[inline(always)]
fn spin<S: Simd>(simd: S, spins: &[Triple; 2], by: [Lanes<S>; 2]) -> Three<S> {
    let [t, s] = both_vectors(simd, spins);
    t * by[0] + s * by[1]
}

impl Batch {
    /// Visits the contacts once, after they have gone on by `share`: see [`super::row`].
    #[inline(always)]
    fn visit<S: Simd>(
        &mut self,
        points: &mut [Points],
        turns: Option<&mut Turns>,
        motions: &mut [Motion],
        share: Lanes<S>,
        off: &mut Lanes<S>,
        changed: &mut Lanes<S>,
    ) {
        let simd = share.simd();
        let zero = Lanes::all(simd, 0.0);
        let mut a = Gathered::take(simd, motions, &self.bodies[0]);
        let mut b = Gathered::take(simd, motions, &self.bodies[1]);
        let n = Three::of(simd, &self.axes[0]);
        let mut load = zero;
        for row in points {
            let by = Lanes::of(simd, &row.by);
            let more = share * Lanes::of(simd, &row.along);
            put(more + by, &mut row.along);
            let impulse = Lanes::of(simd, &row.impulse) + more;
            let arms = both_vectors(simd, &row.arms);
            let parting = n.dot(b.velocity - a.velocity) + (arms[1].dot(b.spin) - arms[0].dot(a.spin));
            let lacking = Lanes::of(simd, &row.wanted) - parting - Lanes::of(simd, &row.give) * impulse;
            let becomes = (impulse + lacking * Lanes::of(simd, &row.per_normal)).or_more(zero);
            let by = becomes - impulse;
            put(by, &mut row.by);
            put(becomes, &mut row.impulse);
            load = load + becomes;
            *changed = *changed + by * by;
            *off = off.or_more(by.abs() * Lanes::of(simd, &row.normal));
            a.velocity = a.velocity - n * (by * a.per_mass);
            b.velocity = b.velocity + n * (by * b.per_mass);
            a.spin = a.spin - Three::of(simd, &row.spins[0]) * by;
            b.spin = b.spin + Three::of(simd, &row.spins[1]) * by;
        }
        let load = load.or_less(Lanes::of(simd, &self.most_load));
        let slide = Lanes::of(simd, &self.slide) * load;
        let (t, s) = (Three::of(simd, &self.axes[1]), Three::of(simd, &self.axes[2]));
        let levers = both_vectors(simd, &self.levers);
        let v = (b.velocity + b.spin.cross(levers[1])) - (a.velocity + a.spin.cross(levers[0]));
        let (vt, vs) = (t.dot(v), s.dot(v));
        let mut rub = [zero; 2];
        for (k, rub) in rub.iter_mut().enumerate() {
            let more = share * Lanes::of(simd, &self.along[k]);
            put(more + Lanes::of(simd, &self.by[k]), &mut self.along[k]);
            *rub = Lanes::of(simd, &self.rub[k]) + more;
        }
        let (tt, ts) = (Lanes::of(simd, &self.across[0]), Lanes::of(simd, &self.across[1]));
        let ss = Lanes::of(simd, &self.across[2]);
        let (p, q) = (rub[0] - (tt * vt + ts * vs), rub[1] - (ts * vt + ss * vs));
        let square = p * p + q * q;
        let most = Lanes::of(simd, &self.grip) * load;
        let cut = square.if_more(most * most, slide / square.sqrt(), Lanes::all(simd, 1.0));
        let (p, q) = (p * cut, q * cut);
        let by = [p - rub[0], q - rub[1]];
        put(p, &mut self.rub[0]);
        put(q, &mut self.rub[1]);
        put(by[0], &mut self.by[0]);
        put(by[1], &mut self.by[1]);
        *changed = *changed + (by[0] * by[0] + by[1] * by[1]);
        *off = off.or_more((by[0].abs() + by[1].abs()) * (a.per_mass + b.per_mass));
        let push = t * by[0] + s * by[1];
        a.velocity = a.velocity - push * a.per_mass;
        b.velocity = b.velocity + push * b.per_mass;
        a.spin = a.spin - spin(simd, &self.spins[0], by);
        b.spin = b.spin + spin(simd, &self.spins[1], by);
        if let Some(turns) = turns {
            let more = share * Lanes::of(simd, &turns.along);
            put(more + Lanes::of(simd, &turns.by), &mut turns.along);
            let twist = Lanes::of(simd, &turns.twist) + more;
            let most = slide * Lanes::of(simd, &turns.breadth);
            let free = twist - n.dot(b.spin - a.spin) * Lanes::of(simd, &turns.per_twist);
            let becomes = free.or_more(zero - most).or_less(most);
            let by = becomes - twist;
            put(becomes, &mut turns.twist);
            put(by, &mut turns.by);
            *changed = *changed + by * by * Lanes::of(simd, &turns.per_breadth_squared);
            *off = off.or_more(by.abs() * Lanes::of(simd, &turns.off_per_twist));
            a.spin = a.spin - Three::of(simd, &turns.spins[0]) * by;
            b.spin = b.spin + Three::of(simd, &turns.spins[1]) * by;
        }
        a.put_back(simd, motions, &self.bodies[0]);
        b.put_back(simd, motions, &self.bodies[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1, by splitmix64.
    struct Scatter(u64);

    impl Scatter {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        }

        fn four(&mut self) -> Four {
            std::array::from_fn(|_| self.next())
        }

        fn triple(&mut self) -> Triple {
            std::array::from_fn(|_| self.four())
        }
    }

    /// Contacts of no bodies in particular, each batch between eight that the next one has, too.
    fn any() -> Crowd {
        let mut any = Scatter(5);
        let mut motion = || {
            let mut velocity = any.four();
            velocity[3] = velocity[3].abs();
            Motion { velocity, spin: [any.next(), any.next(), any.next(), 0.0] }
        };
        let motions = (0..9).map(|_| motion()).collect();
        let mut crowd = Crowd { motions, courses: vec![Course::default(); 9], ..Crowd::default() };
        for k in 0..40_u32 {
            let rows = 1 + k % 4;
            let first = crowd.points.len() as u32;
            for _ in 0..rows {
                crowd.points.push(Points {
                    arms: [any.triple(), any.triple()],
                    spins: [any.triple(), any.triple()],
                    wanted: any.four(),
                    give: any.four().map(|x| 0.01 * x.abs()),
                    per_normal: any.four().map(|x| 0.1 * x.abs()),
                    normal: any.four().map(f64::abs),
                    impulse: any.four().map(f64::abs),
                    ..Points::default()
                });
            }
            let turns = (rows > 1).then_some(crowd.turns.len() as u32);
            crowd.turns.extend(turns.map(|_| Turns {
                spins: [any.triple(), any.triple()],
                breadth: any.four().map(f64::abs),
                per_twist: any.four().map(|x| 0.1 * x.abs()),
                per_breadth_squared: any.four().map(f64::abs),
                off_per_twist: any.four().map(f64::abs),
                twist: any.four(),
                ..Turns::default()
            }));
            crowd.batches.push(Batch {
                bodies: [[k % 8, (k + 1) % 8, (k + 2) % 8, (k + 3) % 8], [(k + 4) % 8, (k + 5) % 8, 8, 8]],
                first,
                rows,
                turns,
                filled: 4,
                axes: std::array::from_fn(|_| any.triple()),
                levers: [any.triple(), any.triple()],
                spins: std::array::from_fn(|_| [any.triple(), any.triple()]),
                across: std::array::from_fn(|_| any.four().map(|x| 0.1 * x)),
                grip: [0.6; 4],
                slide: [0.5; 4],
                most_load: [f64::INFINITY; 4],
                rub: [any.four(), any.four()],
                ..Batch::default()
            });
        }
        crowd
    }

    #[test]
    fn any_registers_give_the_same_digits() {
        let goal = Goal { settled: 0.0, moves: true, linked: false, most: 30 };
        let mut plain = any();
        pulp::Scalar256b.vectorize(Settling(&mut plain, goal));
        let bits = |c: &Crowd| -> Vec<u64> {
            let motions = c.motions.iter().flat_map(|m| [m.velocity, m.spin]);
            let impulses = c.points.iter().map(|p| p.impulse).chain(c.batches.iter().flat_map(|b| b.rub));
            motions.chain(impulses).flatten().map(f64::to_bits).collect()
        };
        assert!(plain.motions.iter().all(|m| m.velocity.iter().all(|v| v.is_finite())));
        assert!(plain.points.iter().any(|p| p.impulse[0] == 0.0) && plain.motions != any().motions);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            let mut wide = any();
            Simd::vectorize(simd, Settling(&mut wide, goal));
            assert_eq!(bits(&plain), bits(&wide));
        }
    }
}
