//! Who is down from when to when, read off the input: what is low and slow bears the weight.
//!
//! A foot is a body that touches, with its neighbours that do (a foot and its toes). Its sole are the points of its shapes that are
//! lowest in the flattest pose of a stance, and all of a stance's places are those of that one pose: places of several poses would
//! contradict each other. Where a walk is on the spot, the ground moves; then the figure is taken along against it.

use super::{Contact, Measure, Row};
use crate::articulation::{Articulation, JointKind, Linkage, Posed};
use crate::rig::{Carrier, Rig};
use crate::scene::Placement;
use glam::{DMat3, DVec3};

/// A stretch in which a foot bears on the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Stance {
    /// The body, by index in the rig.
    pub solid: usize,
    /// First and last knot.
    pub knots: [usize; 2],
}

/// Everything about who is down.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    pub contacts: Vec<Vec<Contact>>,
    pub holds: Vec<(usize, Row)>,
    pub bounds: Vec<(usize, Row)>,
    pub stances: Vec<Stance>,
}

/// The input, as the schedule is read off it.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub rig: &'a Rig,
    pub linkage: &'a Linkage,
    pub posed: &'a [Posed],
    pub step: f64,
    pub up: DVec3,
    /// Units per second squared.
    pub gravity: f64,
}

/// Of the leg's length: what is lower than this over its own lowest may be down.
const LOW: f64 = 0.08;
/// Of sqrt(g leg): what is slower than this may be down.
const SLOW: f64 = 0.2;
/// Of the ground's speed: what goes with the ground faster than this may be down.
const ALONG: f64 = 0.2;
/// Stances of fewer knots are none.
const SHORT: usize = 4;
/// What friction is taken where the set-up has next to none, for feet that keys drag over the floor.
const FRICTION: f64 = 0.8;
/// Arm of a foot's turn, of the leg's length.
const ARM: f64 = 0.1;

/// Height of a link's lowest point at every knot, and that point in the link's frame.
type Lows = Vec<(f64, DVec3)>;

/// A point of a link that touches, and where it goes.
struct Sole {
    link: usize,
    at: DVec3,
    down: Vec<bool>,
}

impl Input<'_> {
    fn tree(&self) -> &Articulation {
        &self.linkage.tree
    }

    /// Height of the centre of mass over the lowest point, at the first knot: about a leg.
    pub fn leg(&self) -> f64 {
        let centre = self.up.dot(self.posed[0].centre_of_mass(self.tree()));
        let lowest = |(solid, link): &(usize, usize)| self.lowest(*solid, &self.posed[0].centres[*link]);
        let heights = self.linkage.solids.iter().filter_map(lowest).map(|p| self.up.dot(p));
        (centre - heights.fold(centre, f64::min)).max(1e-6)
    }

    /// Points of a solid's shapes that are lowest, looking down from around; in the world.
    fn lowest_around(&self, solid: usize, place: &Placement) -> Vec<DVec3> {
        let side = self.up.any_orthonormal_vector();
        let other = self.up.cross(side);
        let looks = (0..8).map(|k| {
            let (sin, cos) = libm::sincos(k as f64 * std::f64::consts::FRAC_PI_4);
            (side * cos + other * sin) * 0.5 - self.up
        });
        let mut found: Vec<DVec3> = Vec::new();
        for look in std::iter::once(-self.up).chain(looks) {
            found.extend(self.support(solid, place, look));
        }
        found
    }

    fn lowest(&self, solid: usize, place: &Placement) -> Option<DVec3> {
        self.support(solid, place, -self.up)
    }

    /// The point of a solid's shapes that is farthest along a direction.
    fn support(&self, solid: usize, place: &Placement, along: DVec3) -> Option<DVec3> {
        let own = self.rig.colliders.all.iter().filter(|c| c.carrier == Carrier::Solid(solid));
        let points = own.filter_map(|c| {
            let at = place.then(&c.place);
            let shape = c.geometry.shape().as_support_map()?;
            let local = shape.local_support_point(at.rotation.conjugate() * along);
            Some(at.position + at.rotation * local)
        });
        points.max_by(|a, b| a.dot(along).total_cmp(&b.dot(along)))
    }

    /// How fast a point of a link moves at a knot.
    fn velocity(&self, link: usize, at: DVec3, knot: usize) -> DVec3 {
        let (a, b) = (knot.saturating_sub(1), (knot + 1).min(self.posed.len() - 1));
        let place = |k: usize| self.point(link, at, k);
        (place(b) - place(a)) / ((b - a).max(1) as f64 * self.step)
    }

    fn point(&self, link: usize, at: DVec3, knot: usize) -> DVec3 {
        self.posed[knot].links[link].position + self.posed[knot].links[link].rotation * at
    }

    /// Height of a link's lowest point at every knot, with that point in the link's frame.
    fn lows(&self, solid: usize, link: usize) -> Option<Lows> {
        let one = |p: &Posed| {
            let point = self.lowest(solid, &p.centres[link])?;
            let place = p.links[link];
            Some((self.up.dot(point), place.rotation.conjugate() * (point - place.position)))
        };
        self.posed.iter().map(one).collect()
    }

    /// The velocity of the ground, where the figure walks on the spot.
    pub fn ground(&self) -> DVec3 {
        let leg = self.leg();
        let flat = |v: DVec3| v - self.up * self.up.dot(v);
        let root = |k: usize| flat(self.posed[k].centre_of_mass(self.tree()));
        if (root(self.posed.len() - 1) - root(0)).length() > 0.3 * leg {
            return DVec3::ZERO;
        }
        let mut low: Vec<DVec3> = Vec::new();
        let bodies: Vec<_> =
            self.linkage.solids.iter().filter_map(|&(s, l)| Some((l, self.lows(s, l)?))).collect();
        let floor = bodies.iter().flat_map(|b| &b.1).map(|h| h.0).fold(f64::INFINITY, f64::min);
        for (link, lows) in &bodies {
            for (knot, (_, at)) in lows.iter().enumerate().filter(|(_, h)| h.0 - floor < LOW * leg) {
                low.push(flat(self.velocity(*link, *at, knot)));
            }
        }
        let mean = |of: &[DVec3]| of.iter().sum::<DVec3>() / of.len().max(1) as f64;
        let (mut ground, mut share) = (mean(&low), 0.0);
        for _ in 0..5 {
            let with: Vec<DVec3> =
                low.iter().copied().filter(|v| v.dot(ground) > ALONG * ground.length_squared()).collect();
            ground = mean(&with);
            share = with.len() as f64 / low.len().max(1) as f64;
        }
        // Most of what is low goes with a ground that moves; where it does not, it was a swing.
        let moves = share > 0.5 && ground.length() > SLOW * (self.gravity * leg).sqrt();
        if moves { ground } else { DVec3::ZERO }
    }

    /// Who is down when. `ground` is how fast the ground moved under the figure before it was taken along against it.
    pub fn schedule(&self, ground: DVec3) -> Schedule {
        let leg = self.leg();
        let knots = self.posed.len();
        let mut schedule = Schedule { contacts: vec![Vec::new(); knots], ..Schedule::default() };
        let bodies: Vec<(usize, usize, Lows)> =
            self.linkage.solids.iter().filter_map(|&(s, l)| Some((s, l, self.lows(s, l)?))).collect();
        let floor = bodies.iter().flat_map(|b| &b.2).map(|h| h.0).fold(f64::INFINITY, f64::min);
        let mut feet: Vec<Vec<usize>> = Vec::new();
        let mut down: Vec<Vec<bool>> = Vec::new();
        for (_, link, lows) in &bodies {
            let own = lows.iter().map(|h| h.0).fold(f64::INFINITY, f64::min);
            let is_down = |k: usize| {
                let (height, at) = lows[k];
                own - floor < LOW * leg && height - own < LOW * leg && self.rests(*link, at, k, ground, leg)
            };
            down.push(clean((0..knots).map(is_down).collect()));
        }
        // What keys slide along what it hangs on goes its own way: that alone stands.
        for b in 0..bodies.len() {
            let carries = bodies.iter().enumerate().any(|(o, other)| {
                let link = &self.tree().links()[other.1];
                let slides = link.kind == JointKind::CarriedBall && link.parent == Some(bodies[b].1);
                slides && down[o].iter().any(|d| *d)
            });
            if carries {
                down[b].fill(false);
            }
        }
        // Bodies that touch and are joined are one foot.
        for (b, (_, link, _)) in bodies.iter().enumerate().filter(|(b, _)| down[*b].iter().any(|d| *d)) {
            let parent = self.tree().links()[*link].parent;
            let on = feet.iter_mut().find(|f| f.iter().any(|o| Some(bodies[*o].1) == parent));
            match on {
                Some(foot) => foot.push(b),
                None => feet.push(vec![b]),
            }
        }
        for foot in &feet {
            let any: Vec<bool> = (0..knots).map(|k| foot.iter().any(|b| down[*b][k])).collect();
            for [from, to] in stretches(&any) {
                // The flattest pose: least speed, and height.
                let flat = |k: &usize| {
                    let one = |b: &usize| {
                        let (_, link, lows) = &bodies[*b];
                        let speed = self.velocity(*link, lows[*k].1, *k).length();
                        speed + 5.0 * (lows[*k].0 - floor) * (self.gravity / leg).sqrt()
                    };
                    foot.iter().map(one).sum::<f64>()
                };
                let anchor = (from..=to).min_by(|a, b| flat(a).total_cmp(&flat(b))).unwrap_or(from);
                for b in foot {
                    let (solid, link, lows) = &bodies[*b];
                    let own: Vec<bool> =
                        (0..knots).map(|k| down[*b][k] && (from..=to).contains(&k)).collect();
                    if own.iter().any(|d| *d) {
                        self.stand(&mut schedule, *solid, *link, &own, anchor, ground, leg, lows);
                    }
                }
            }
        }
        for (solid, link, lows) in
            bodies.iter().filter(|b| feet.iter().flatten().any(|f| bodies[*f].1 == b.1))
        {
            let held = |k: usize| {
                schedule.stances.iter().any(|s| s.solid == *solid && (s.knots[0]..=s.knots[1]).contains(&k))
            };
            let level = lows.iter().map(|h| h.0).fold(f64::INFINITY, f64::min);
            for k in (0..knots).filter(|k| !held(*k)) {
                let measure = Measure::Height { link: *link, at: lows[k].1, normal: self.up, level };
                schedule.bounds.push((k, Row { measure, scale: 1.0 / leg }));
            }
        }
        schedule
    }

    /// Whether a point goes with the ground.
    fn rests(&self, link: usize, at: DVec3, knot: usize, ground: DVec3, leg: f64) -> bool {
        let velocity = self.velocity(link, at, knot);
        match ground == DVec3::ZERO {
            true => velocity.length() < SLOW * (self.gravity * leg).sqrt(),
            false => (velocity + ground).dot(ground) > ALONG * ground.length_squared(),
        }
    }

    /// A body that is down at the knots of `own`, with all its places as at `anchor`.
    #[allow(clippy::too_many_arguments)]
    fn stand(
        &self,
        schedule: &mut Schedule,
        solid: usize,
        link: usize,
        own: &[bool],
        anchor: usize,
        ground: DVec3,
        leg: f64,
        lows: &[(f64, DVec3)],
    ) {
        let knots = own.len();
        let place = self.posed[anchor].links[link];
        let low = lows[anchor].0;
        let mut soles: Vec<Sole> = Vec::new();
        for point in self.lowest_around(solid, &self.posed[anchor].centres[link]) {
            let at = place.rotation.conjugate() * (point - place.position);
            let near = soles.iter().any(|s| (s.at - at).length() < 0.02 * leg);
            if near || self.up.dot(point) - low > 0.5 * LOW * leg {
                continue;
            }
            let is_down = |k: usize| {
                let height = self.up.dot(self.point(link, at, k) - point);
                own[k] && height < 0.5 * LOW * leg && self.rests(link, at, k, ground, leg)
            };
            soles.push(Sole { link, at, down: clean((0..knots).map(is_down).collect()) });
        }
        if soles.iter().all(|s| s.down.iter().all(|d| !d)) {
            // Too far from flat for a sole: its lowest point alone.
            soles = vec![Sole { link, at: lows[anchor].1, down: own.to_vec() }];
        }
        let friction = self.rig.colliders.all.iter().find(|c| c.carrier == Carrier::Solid(solid));
        let friction = friction.map_or(FRICTION, |c| c.material.friction).max(0.25 * FRICTION);
        let side = self.up.any_orthonormal_vector();
        let axes = DMat3::from_cols(self.up, side, self.up.cross(side));
        let scale = 1.0 / (self.gravity * self.step * self.step);
        let (mut first, mut last) = (usize::MAX, 0);
        for k in 0..knots {
            let there: Vec<&Sole> = soles.iter().filter(|s| s.down[k]).collect();
            if there.is_empty() {
                continue;
            }
            (first, last) = (first.min(k), last.max(k));
            // A point pushes while it is still before and after.
            let still = |s: &&&Sole| (k == 0 || s.down[k - 1]) && (k + 1 == knots || s.down[k + 1]);
            let pushing = there.iter().filter(still);
            // A pyramid within the cone.
            let within = friction * std::f64::consts::FRAC_1_SQRT_2;
            schedule.contacts[k].extend(pushing.map(|s| Contact {
                link: s.link,
                at: s.at,
                axes,
                friction: within,
            }));
            let middle = there.iter().map(|s| s.at).sum::<DVec3>() / there.len() as f64;
            let to = place.position + place.rotation * middle;
            let mut hold = |measure, scale| schedule.holds.push((k, Row { measure, scale }));
            hold(Measure::Point { link, at: middle, to }, scale);
            match there.len() {
                1 => {}
                2 => {
                    let axis = (there[1].at - there[0].at).normalize();
                    let across = (place.rotation * axis).any_orthonormal_vector();
                    let across = [across, (place.rotation * axis).cross(across)];
                    hold(Measure::Aim { link, axis, across }, scale * ARM * leg);
                }
                _ => hold(Measure::Turn { link, to: place.rotation }, scale * ARM * leg),
            }
        }
        if first <= last {
            schedule.stances.push(Stance { solid, knots: [first, last] });
        }
    }
}

/// Single knots are as their neighbours, and what is too short is not.
fn clean(mut down: Vec<bool>) -> Vec<bool> {
    for k in 1..down.len().saturating_sub(1) {
        if down[k - 1] == down[k + 1] {
            down[k] = down[k - 1];
        }
    }
    for [from, to] in stretches(&down) {
        if to + 1 - from < SHORT {
            down[from..=to].fill(false);
        }
    }
    down
}

/// First and last of every stretch of `true`.
fn stretches(down: &[bool]) -> Vec<[usize; 2]> {
    let mut found: Vec<[usize; 2]> = Vec::new();
    for (k, _) in down.iter().enumerate().filter(|(_, d)| **d) {
        match found.last_mut() {
            Some(last) if last[1] + 1 == k => last[1] = k,
            _ => found.push([k, k]),
        }
    }
    found
}
