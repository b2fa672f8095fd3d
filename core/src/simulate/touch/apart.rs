//! Pushing out what still overlaps at the end of a step: places only, no velocities.
//!
//! Few things are pushed one after the other, each from where the others put it. Of a crowd, which is gone over again and
//! again for hardly anything, points are taken as planes: see [`Wedge`].

use super::Touch;
use super::body::Body;
use crate::contact::{Face, Point};
use crate::scene::Placement;
use crate::simulate::state::Cause;
use glam::{DMat3, DQuat, DVec3};

/// Overlaps up to this share of the smaller thing stay: nothing sees them, and correcting them for ever would shiver.
const ALLOWED: f64 = 2e-5;

/// Sweeps end when nothing overlapped by more than this share.
const ENOUGH: f64 = 1e-4;

/// Crowds are done with a little more after a few, or with some more after so many: the next step goes on.
const MANY: usize = 1000;
const FEW: usize = 3;
const LITTLE: f64 = 2e-3;
const SO_MANY: usize = 8;
const SOME: f64 = 1e-2;

/// A step that leaves more than this share is too long.
const TOO_DEEP: f64 = 0.02;

const MOST_SWEEPS: usize = 40;

/// A body, as far as pushing needs it: crowds are gone over again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pushed {
    /// Its number among all.
    pub body: u32,
    /// In which sweep it was pushed last, counted from one.
    stirred: u32,
    pub end: Placement,
    pub axes: DMat3,
    pub light: f64,
    pub lithe: DMat3,
}

impl Pushed {
    fn new(number: u32, body: &Body) -> Pushed {
        let axes = DMat3::from_quat(body.end.rotation);
        let Body { end, light, lithe, .. } = *body;
        Pushed { body: number, stirred: 0, end, axes, light, lithe }
    }

    /// What it yields at a lever, along a normal.
    #[inline(always)]
    fn yields(&self, lever: DVec3, n: DVec3) -> f64 {
        let arm = lever.cross(n);
        self.light + arm.dot(self.lithe * arm)
    }

    /// Pushes move it, and turn it.
    fn turns(&self) -> bool {
        self.light > 0.0 && self.lithe != DMat3::ZERO
    }

    /// Moves it by a push at a lever.
    #[inline]
    fn give_way(&mut self, push: DVec3, lever: DVec3) {
        self.displace(push * self.light, self.lithe * lever.cross(push));
    }

    #[inline]
    fn displace(&mut self, way: DVec3, turn: DVec3) {
        self.end.position += way;
        if turn != DVec3::ZERO {
            let half = turn * 0.5;
            let q = DQuat::from_xyzw(half.x, half.y, half.z, 1.0);
            self.end.rotation = (q * self.end.rotation).normalize();
            self.axes = DMat3::from_quat(self.end.rotation);
        }
    }
}

/// A contact, the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub bodies: [u32; 2],
    pub points: (u32, u32),
    pub face: Face,
    pub softness: f64,
    pub size: f64,
}

/// A point of a crowd that overlaps, or nearly so, with a normal and levers that stay as they are: how deep it is goes with
/// how its bodies shift and turn, and pushes may be taken back.
#[derive(Clone, Copy, Debug)]
struct Wedge {
    bodies: [u32; 2],
    normal: DVec3,
    /// Levers across the normal, and the turns that they give per push.
    arms: [DVec3; 2],
    turns: [DVec3; 2],
    /// How deep it is when nothing has been pushed, less what may stay.
    over: f64,
    per: f64,
    /// One over the smaller thing's extent.
    per_size: f64,
    push: f64,
}

/// By how much a body of a crowd is pushed.
#[derive(Clone, Copy, Debug)]
struct Shift {
    way: DVec3,
    turn: DVec3,
    light: f64,
}

/// Scratch for pushing out.
#[derive(Clone, Debug, Default)]
pub struct Apart {
    pub(super) bodies: Vec<Pushed>,
    pub(super) pairs: Vec<Pair>,
    pub(super) points: Vec<Point>,
    wedges: Vec<Wedge>,
    shifts: Vec<Shift>,
}

impl Apart {
    /// Room for so many bodies and contacts.
    pub fn with_room(bodies: usize, contacts: usize) -> Apart {
        Apart {
            bodies: Vec::with_capacity(bodies),
            pairs: Vec::with_capacity(contacts),
            points: Vec::with_capacity(4 * contacts),
            wedges: Vec::with_capacity(4 * contacts),
            shifts: Vec::with_capacity(bodies),
        }
    }
}

impl Touch {
    /// Moves bodies out of each other, but for those with joints, until hardly anything overlaps.
    pub(super) fn push_apart(&mut self) -> Result<(), Cause> {
        for &b in &self.active {
            self.spares[b as usize] = DVec3::ZERO;
            self.bodies[b as usize].looked = self.bodies[b as usize].end.position;
        }
        self.take_pairs(false);
        let crowd = self.contacts.len() > MANY;
        let mut deepest = if crowd { self.push_crowd() } else { (f64::INFINITY, 0) };
        for sweep in 0..MOST_SWEEPS {
            if deepest.0 < if crowd { SOME } else { ENOUGH } {
                break;
            }
            deepest = self.push_once(sweep as u32);
        }
        for pushed in self.apart.bodies.iter().filter(|p| p.stirred > 0) {
            self.bodies[pushed.body as usize].end = pushed.end;
        }
        too_deep(deepest)
    }

    /// Takes up the contacts of bodies with joints, or all others. What touches a body with joints waits until these are
    /// closed: then both give way.
    pub(super) fn take_pairs(&mut self, jointed: bool) {
        let Apart { bodies, pairs, points, .. } = &mut self.apart;
        bodies.clear();
        pairs.clear();
        points.clear();
        let mut number = |b: u32| {
            let local = &mut self.local[b as usize];
            if *local == u32::MAX {
                *local = bodies.len() as u32;
                bodies.push(Pushed::new(b, &self.bodies[b as usize]));
            }
            *local
        };
        for c in &self.contacts {
            if jointed != c.bodies.iter().any(|b| self.bodies[*b as usize].jointed) {
                continue;
            }
            let first = points.len() as u32;
            points.extend(c.spots(&self.points).iter().filter(|s| s.press.is_none()).map(|s| s.at));
            pairs.push(Pair {
                bodies: c.bodies.map(&mut number),
                points: (first, points.len() as u32),
                face: c.face,
                softness: c.softness,
                size: c.size,
            });
        }
        for (of, manifold, size) in self.ease.seen.iter().filter(|_| jointed) {
            let first = points.len() as u32;
            points.extend_from_slice(manifold.points());
            pairs.push(Pair {
                bodies: of.map(&mut number),
                points: (first, points.len() as u32),
                face: manifold.face(),
                softness: 0.0,
                size: *size,
            });
        }
        bodies.iter().for_each(|b| self.local[b.body as usize] = u32::MAX);
    }

    /// Pushes the bodies of a crowd out of each other, but for a little; the deepest overlap that may be left, as a share of
    /// the smaller thing, and a body in it.
    fn push_crowd(&mut self) -> (f64, u32) {
        let Apart { bodies, pairs, points, wedges, shifts } = &mut self.apart;
        shifts.clear();
        shifts.extend(bodies.iter().map(|b| Shift { way: DVec3::ZERO, turn: DVec3::ZERO, light: b.light }));
        wedges.clear();
        for pair in pairs.iter() {
            let [a, b] = pair.bodies.map(|b| &bodies[b as usize]);
            for point in &points[pair.points.0 as usize..pair.points.1 as usize] {
                let met = pair.face.meet_turned(point, (a.end.position, &a.axes), (b.end.position, &b.axes));
                let over = -met.gap - pair.softness;
                if over < -LITTLE * pair.size {
                    continue;
                }
                let n = met.normal;
                let arms = [a, b].map(|p| (met.point - p.end.position).cross(n));
                let turns = [a.lithe * arms[0], b.lithe * arms[1]];
                let all = a.light + b.light + arms[0].dot(turns[0]) + arms[1].dot(turns[1]);
                if all > 0.0 {
                    let (over, per_size) = (over - 0.5 * ALLOWED * pair.size, 1.0 / pair.size);
                    let (per, push) = (1.0 / all, 0.0);
                    wedges.push(Wedge {
                        bodies: pair.bodies,
                        normal: n,
                        arms,
                        turns,
                        over,
                        per,
                        per_size,
                        push,
                    });
                }
            }
        }
        let mut deepest = (0.0, 0);
        for sweep in 0..SO_MANY {
            deepest = (0.0, 0);
            for w in wedges.iter_mut() {
                let [i, j] = w.bodies.map(|b| b as usize);
                let (a, b) = (shifts[i], shifts[j]);
                let parts = w.normal.dot(b.way - a.way) + w.arms[1].dot(b.turn) - w.arms[0].dot(a.turn);
                let over = w.over - parts;
                let push = (w.push + over * w.per).max(0.0);
                let by = push - w.push;
                if by == 0.0 {
                    continue;
                }
                if over * w.per_size > deepest.0 {
                    deepest =
                        (over * w.per_size, w.bodies[usize::from(bodies[i].body >= self.carriers.solids)]);
                }
                w.push = push;
                shifts[i].way = a.way - w.normal * (by * a.light);
                shifts[i].turn = a.turn - w.turns[0] * by;
                shifts[j].way = b.way + w.normal * (by * b.light);
                shifts[j].turn = b.turn + w.turns[1] * by;
            }
            if deepest.0 < if sweep >= FEW { LITTLE } else { ENOUGH } {
                break;
            }
        }
        for w in wedges.iter().filter(|w| w.push > 0.0) {
            let [a, b] = w.bodies.map(|b| &bodies[b as usize]);
            if a.turns() && b.turns() {
                let spare = spare(&self.bodies, [a.body, b.body], w.normal * w.push);
                self.spares[a.body as usize] += spare;
                self.spares[b.body as usize] += spare;
            }
        }
        for (body, shift) in bodies.iter_mut().zip(shifts) {
            if shift.way != DVec3::ZERO || shift.turn != DVec3::ZERO {
                body.stirred = 1;
                body.displace(shift.way, shift.turn);
            }
        }
        (deepest.0, bodies.get(deepest.1 as usize).map_or(0, |b| b.body))
    }

    /// Visits every contact once; the deepest overlap there was, as a share of the smaller thing, and a body in it.
    ///
    /// Only what the sweep before moved can overlap more than then.
    fn push_once(&mut self, sweep: u32) -> (f64, u32) {
        let Apart { bodies, pairs, points, .. } = &mut self.apart;
        let mut deepest = (0.0_f64, 0);
        for pair in pairs.iter() {
            let [i, j] = pair.bodies.map(|b| b as usize);
            if bodies[i].stirred < sweep && bodies[j].stirred < sweep {
                continue;
            }
            for point in &points[pair.points.0 as usize..pair.points.1 as usize] {
                let (a, b) = (&bodies[i], &bodies[j]);
                let met = pair.face.meet_turned(point, (a.end.position, &a.axes), (b.end.position, &b.axes));
                let over = -met.gap - pair.softness;
                if over <= ALLOWED * pair.size {
                    continue;
                }
                let n = met.normal;
                let levers = [met.point - a.end.position, met.point - b.end.position];
                let all = a.yields(levers[0], n) + b.yields(levers[1], n);
                if all <= 0.0 {
                    continue;
                }
                let [first, second] = [a.body, b.body];
                if over / pair.size > deepest.0 {
                    deepest = (over / pair.size, if first < self.carriers.solids { first } else { second });
                }
                let push = n * ((over - 0.5 * ALLOWED * pair.size) / all);
                if a.turns() && b.turns() {
                    let spare = spare(&self.bodies, [first, second], push);
                    self.spares[first as usize] += spare;
                    self.spares[second as usize] += spare;
                }
                for (body, push, lever) in [(i, -push, levers[0]), (j, push, levers[1])] {
                    let body = &mut bodies[body];
                    if body.light > 0.0 || body.lithe != DMat3::ZERO {
                        body.stirred = sweep + 1;
                    }
                    body.give_way(push, lever);
                }
            }
        }
        deepest
    }
}

/// Moved apart by a push, two would have another angular momentum about each other: the spin of each has half of that.
#[inline]
fn spare(bodies: &[Body], pair: [u32; 2], push: DVec3) -> DVec3 {
    let [a, b] = pair.map(|b| bodies[b as usize].after.velocity);
    (b - a).cross(push) * 0.5
}

pub(super) fn too_deep((deepest, body): (f64, u32)) -> Result<(), Cause> {
    if deepest < TOO_DEEP { Ok(()) } else { Err(Cause::Overlap(body)) }
}
