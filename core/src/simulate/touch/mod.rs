//! What touching does to bodies in a step.
//!
//! Bodies have moved freely. `detect` finds where their ways bring them together, `contact` what is wanted of each point,
//! `row` the impulses, island by island; then bodies are moved on by them, and `apart` pushes out what still overlaps.
//! Impulses change velocities, and through them ways; pushing out changes places only, and gives nothing any speed.

mod apart;
mod body;
mod contact;
mod crowd;
mod dense;
mod detect;
mod ease;
mod lanes;
mod linked;
mod rest;
mod row;
mod soft;
mod solve;
mod struck;
mod sweeps;
mod tie;

use super::State;
use super::carriers::Carriers;
use super::cluster::Cluster;
use super::hit::Blow;
use super::islands::Islands;
use super::lane::Lane;
use super::linkage::{Given, Linkages};
use super::state::Cause;
use crate::coating::Spot;
use crate::contact::{Bounds, Library, Manifold, Sweep};
use crate::rig::{Drive, Rig};
use apart::Apart;
use body::Body;
use contact::Contact;
use crowd::Crowd;
use dense::Dense;
use ease::Ease;
use glam::DVec3;
use linked::Coupling;
use row::{Course, Gained, Group, Moved, Row};
use std::sync::Arc;
use tie::Tie;

/// A point at which something bore on something else in the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touched {
    /// The two colliders, the lower number first.
    pub colliders: [u32; 2],
    /// Its number among the points of the two.
    pub nth: u32,
    /// The point, in the axes of the first one's body.
    pub place: DVec3,
    /// The point and the normal, from the first to the second, in the world.
    pub point: DVec3,
    /// See there.
    pub normal: DVec3,
    /// Force along the normal, mean over the step.
    pub load: f64,
    /// Friction on the second, world, of the whole contact: its first point has it.
    pub rub: DVec3,
    /// And its turn about the normal.
    pub twist: f64,
}

/// Two things began to touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strike {
    /// The two colliders, the lower number first.
    pub colliders: [u32; 2],
    /// Scene time (s), between frames.
    pub time: f64,
    /// Where, world.
    pub point: DVec3,
    /// From the first to the second.
    pub normal: DVec3,
    /// Impulse on the second in the step of the strike, world.
    pub impulse: DVec3,
    /// Speed at which they closed in, units/s.
    pub speed: f64,
}

/// Scratch for the contacts of a rig.
#[derive(Clone, Debug)]
pub struct Touch {
    carriers: Arc<Carriers>,
    /// The bodies of the cluster at hand, with what it may meet that is not simulated; and their colliders, in order.
    active: Vec<u32>,
    near: Vec<u32>,
    /// In which cluster each body was taken up last, counted from the beginning.
    stamps: Vec<u64>,
    stamp: u64,
    /// Where the colliders of the cluster have been, and those that went where nobody thought they would.
    been: Vec<Bounds>,
    pub went: Vec<(u32, Bounds)>,
    /// What struck a figure in the step that is taken again for it.
    pub blow: Option<Blow>,
    /// How far each collider's furthest point was turned when the step ended, and how far it was moved in all, at most.
    moves: Vec<(f64, f64)>,
    bodies: Vec<Body>,
    bounds: Vec<Bounds>,
    /// The same with less room: what it may touch of its own accord.
    tight: Vec<Bounds>,
    ordered: Vec<Bounds>,
    sweep: Sweep,
    pairs: Vec<(u32, u32)>,
    found: Vec<Manifold>,
    library: Library,
    contacts: Vec<Contact>,
    points: Vec<contact::Spot>,
    /// Spots of coatings.
    spots: Vec<Spot>,
    /// A body whose coating, or that of what it touches, is pressed in so fast that the step is too long.
    deepens: Option<u32>,
    /// Manifolds at the end of a pass that it had not known of, by pair.
    extras: Vec<([u32; 2], Manifold)>,
    /// Of the pairs that were inside each other at the start: a simulated body, and which still are.
    inside: Vec<u32>,
    overlaps: Vec<bool>,
    /// A body that bounced once in this step and would do so again.
    bounced: Option<u32>,
    islands: Islands,
    /// Contacts by island.
    order: Vec<(u32, u32)>,
    groups: Vec<Group>,
    rows: Vec<Row>,
    /// The same of an island with very many.
    crowd: Crowd,
    /// Joints by island, and their rows in one.
    joints: Vec<(u32, u32)>,
    ties: Vec<Tie>,
    /// How the bodies of an island answer whose linkages can tell.
    coupling: Coupling,
    /// What impulses at their contacts do to each other.
    dense: Dense,
    /// Which solids have joints.
    jointed: Vec<bool>,
    moved: Vec<Moved>,
    courses: Vec<Course>,
    /// What contacts did to these.
    gained: Vec<Gained>,
    /// Number of a body in its island, and the bodies of all islands one after the other.
    local: Vec<u32>,
    members: Vec<u32>,
    apart: Apart,
    ease: Ease,
    /// How deep each contact of a crowd lies, and which it is.
    depths: Vec<(u32, u32)>,
    /// Of each island, whether it moves.
    awake: Vec<bool>,
    /// At which share of the step each body bounced.
    blows: Vec<f64>,
    /// Impulse on each body, and angular impulse.
    kicks: Vec<DVec3>,
    twists: Vec<DVec3>,
    /// And what pushing them apart took of their angular momentum.
    spares: Vec<DVec3>,
    /// Gravity and fields are the same at all times.
    steady: bool,
    /// Whether anything bounces, does so by much, or is keyed until it is touched: what nothing does need not be looked for.
    any_bounces: bool,
    any_lively: bool,
    any_wakes: bool,
    any_hits: bool,
    /// Whether anything has rolling friction.
    any_rolls: bool,
}

/// What does not change while contacts are solved.
struct World<'a> {
    rig: &'a Rig,
    cluster: &'a Cluster<'a>,
    state: &'a State,
    drives: &'a [Drive],
    from: f64,
    to: f64,
    h: f64,
}

impl Touch {
    /// Room for a rig's contacts.
    pub fn new(rig: &Rig, carriers: Arc<Carriers>, linkages: &Linkages) -> Touch {
        let all = &rig.colliders.all;
        let solids = rig.solids.len();
        let mut jointed = vec![false; solids];
        for end in rig.joints.iter().flat_map(|j| j.ends) {
            if let crate::joint::End::Solid(s) = end {
                jointed[s] = true;
            }
        }
        let bodies = carriers.count();
        let mut islands = Islands::default();
        islands.begin(solids);
        let of_node = |node: usize| {
            let mut with = all.iter().zip(&carriers.body_of).filter(|(c, _)| c.node == node);
            with.find(|(_, b)| **b < carriers.solids).map(|(_, b)| *b)
        };
        let pairs = rig.colliders.inside.iter();
        let inside = pairs.map(|(a, b)| of_node(*a).or(of_node(*b)).unwrap_or(bodies as u32 - 1)).collect();
        let nowhere = Bounds { low: DVec3::ZERO, high: DVec3::ZERO };
        // Room for what a scene of this size usually has; a crowd makes more room once.
        let some = 4 * all.len();
        Touch {
            carriers,
            active: Vec::with_capacity(bodies),
            near: Vec::with_capacity(all.len()),
            stamps: vec![0; bodies],
            stamp: 0,
            been: vec![nowhere; all.len()],
            went: Vec::with_capacity(16),
            blow: None,
            moves: vec![(0.0, 0.0); all.len()],
            bodies: vec![Body::STILL; bodies],
            bounds: vec![nowhere; all.len()],
            tight: vec![nowhere; all.len()],
            ordered: Vec::with_capacity(all.len()),
            sweep: Sweep::with_capacity(all.len()),
            pairs: Vec::with_capacity(some),
            found: Vec::with_capacity(some),
            library: Library::default(),
            contacts: Vec::with_capacity(some),
            points: Vec::with_capacity(4 * some),
            spots: Vec::with_capacity(64),
            deepens: None,
            extras: Vec::with_capacity(some),
            inside,
            overlaps: vec![false; rig.colliders.inside.len()],
            bounced: None,
            islands,
            order: Vec::with_capacity(some),
            groups: Vec::with_capacity(some),
            rows: Vec::with_capacity(4 * some),
            crowd: Crowd::with_room(bodies, some),
            joints: Vec::with_capacity(rig.joints.len()),
            ties: Vec::with_capacity(6 * rig.joints.len()),
            coupling: Coupling::with_room(bodies, linkages.most_answering()),
            dense: if linkages.any_answers() { Dense::with_room(bodies) } else { Dense::default() },
            jointed,
            moved: Vec::with_capacity(bodies),
            courses: Vec::with_capacity(bodies),
            gained: Vec::with_capacity(bodies),
            local: vec![u32::MAX; bodies],
            members: Vec::with_capacity(bodies),
            apart: Apart::with_room(bodies, some),
            ease: Ease::with_room(bodies, some),
            depths: Vec::with_capacity(some),
            awake: vec![true; solids],
            blows: vec![f64::NAN; bodies],
            kicks: vec![DVec3::ZERO; bodies],
            twists: vec![DVec3::ZERO; bodies],
            spares: vec![DVec3::ZERO; bodies],
            steady: rig.world.is_steady(),
            any_bounces: all.iter().any(|c| c.material.bounce > 0.0),
            any_lively: all.iter().any(|c| c.material.bounce > solve::LIVELY),
            any_rolls: all.iter().any(|c| c.material.rolling > 0.0),
            any_hits: rig.solids.iter().any(|s| s.hit.is_some()),
            any_wakes: rig.solids.iter().any(|s| s.release.is_some_and(|r| r.touched.is_some())),
        }
    }

    /// A cluster begins its step.
    pub fn enter(&mut self, cluster: &Cluster<'_>) {
        self.stamp += 1;
        self.active.clear();
        self.near.clear();
        for &s in cluster.solids {
            self.stamps[s as usize] = self.stamp;
            self.active.push(s);
            self.near.extend_from_slice(self.carriers.of(s));
        }
        for c in cluster.pairs.iter().flat_map(|p| [p.0, p.1]) {
            let body = self.carriers.body_of[c as usize];
            if body >= self.carriers.solids && self.stamps[body as usize] != self.stamp {
                self.stamps[body as usize] = self.stamp;
                self.active.push(body);
                self.near.extend_from_slice(self.carriers.of(body));
            }
        }
        for &c in &self.near {
            self.been[c as usize] = cluster.guesses[c as usize];
        }
    }

    /// A cluster has taken its step: which of its colliders went where nobody thought they would.
    pub fn leave(&mut self, cluster: &Cluster<'_>) {
        for &c in &self.near {
            let simulated = self.carriers.body_of[c as usize] < self.carriers.solids;
            if simulated && self.been[c as usize] != cluster.guesses[c as usize] {
                self.went.push((c, self.been[c as usize]));
            }
        }
    }

    /// Notes which pairs of the cluster that were inside each other at the start have come apart.
    fn part_ways(&self, state: &mut State) {
        for ((parted, body), over) in state.parted.iter_mut().zip(&self.inside).zip(&self.overlaps) {
            *parted |= !over && self.stamps[*body as usize] == self.stamp;
        }
    }

    /// Of some bodies that take their steps again from `start`: what came apart meanwhile has not.
    pub fn forget_parting(&self, start: &State, state: &mut State, again: impl Fn(u32) -> bool) {
        for ((parted, before), &body) in state.parted.iter_mut().zip(&start.parted).zip(&self.inside) {
            if body < self.carriers.solids && again(body) {
                *parted = *before;
            }
        }
    }

    /// A simulated body of a contact.
    fn simulated(&self, bodies: [u32; 2]) -> u32 {
        if bodies[0] < self.carriers.solids { bodies[0] } else { bodies[1] }
    }
}

/// Ways that contacts bend may lead into others; so often they are followed.
const MOST_PASSES: usize = 3;

/// Has the bodies of a cluster, which have moved freely for `h` seconds to scene time `to`, keep out of each other. Says
/// why if that did not work.
pub fn touch(
    rig: &Rig,
    state: &mut State,
    lane: &mut Lane,
    cluster: &Cluster<'_>,
    (from, to): (f64, f64),
    h: f64,
    whatever: bool,
) -> Result<(), Cause> {
    let Some(t) = &mut lane.touch else { return Ok(()) };
    if cluster.pairs.is_empty() && !rig.solver.limited {
        t.watch(rig, state, cluster);
        t.overlaps.fill(false);
        t.part_ways(state);
        return Ok(());
    }
    for &i in cluster.solids {
        let i = i as usize;
        let (before, free) = (&lane.before[i], &state.solids[i]);
        let foretold = lane.linkages.of(i).is_some_and(|k| lane.linkages.answers(k));
        t.bodies[i] = Body::solid(&rig.solids[i], before, free, &lane.yields[i], (t.jointed[i], foretold), h);
    }
    for &k in cluster.linkages {
        if lane.linkages.answers(k) {
            let given = Given { drives: &lane.drives, yields: &lane.yields, from, to, h };
            let bodies = &t.bodies;
            lane.linkages.expect(k, rig, state, given, |s| bodies[s].alone());
        }
    }
    let world = World { rig, cluster, state, drives: &lane.drives, from, to, h };
    for &i in cluster.solids {
        if let Some(rate) = lane.linkages.expected(i as usize) {
            t.bodies[i as usize].expect(rate, h);
        }
    }
    for k in cluster.solids.len()..t.active.len() {
        t.follow_keys(&world, t.active[k]);
    }
    (t.bounced, t.deepens) = (None, None);
    t.extras.clear();
    let mut passes = 0;
    loop {
        t.detect(&world);
        if let Some(b) = t.bounced.filter(|_| !whatever) {
            return Err(Cause::Bounces(b));
        }
        if let Some(b) = t.deepens.filter(|_| !whatever) {
            return Err(Cause::Coating(b));
        }
        t.start_from(&state.touched, h);
        t.plan(&world);
        t.solve(&world, &mut lane.linkages);
        if let Some(b) = t.wakes(&world) {
            return Err(Cause::Wakes(b));
        }
        t.blow = t.struck(&world, &lane.balance);
        if let Some(blow) = &t.blow {
            return Err(Cause::Struck(blow.solid));
        }
        if let Some(b) = t.stopped_short(&world).or_else(|| t.bounces_twice(&world)).filter(|_| !whatever) {
            return Err(Cause::Bounces(b));
        }
        let overlooks = t.overlooks(&world);
        if overlooks.is_none() && !t.strays(&world) {
            break;
        }
        passes += 1;
        if passes == MOST_PASSES {
            match overlooks.filter(|_| !whatever) {
                Some(b) => return Err(Cause::Astray(b)),
                None => break,
            }
        }
    }
    let mut outcome = t.push_apart();
    if outcome.is_ok() && !whatever && t.active.iter().any(|b| t.strayed(*b)) {
        // What was pushed far may be inside something else now.
        outcome = t.overlooks(&world).map_or(Ok(()), |b| Err(Cause::Overlap(b)));
    }
    t.arrive(state, cluster, (from, to), h);
    t.rest(rig, state, &lane.before, cluster, h);
    if !cluster.linkages.is_empty() {
        t.hand_over(&mut lane.linkages, h);
    }
    outcome
}

/// Has bodies with joints, which are closed now, keep out of what they touch. Says why if that did not work.
pub fn settle(rig: &Rig, state: &mut State, lane: &mut Lane, cluster: &Cluster<'_>) -> Result<(), Cause> {
    match &mut lane.touch {
        Some(t) if !cluster.linkages.is_empty() && !cluster.pairs.is_empty() => {
            t.push_jointed(rig, state, &mut lane.linkages, cluster)
        }
        _ => Ok(()),
    }
}
