//! What touching does to bodies in a step.
//!
//! Bodies have moved freely. `detect` finds where their ways bring them together, `contact` what is wanted of each point,
//! `row` the impulses, island by island; then bodies are moved on by them, and `apart` pushes out what still overlaps.
//! Impulses change velocities, and through them ways; pushing out changes places only, and gives nothing any speed.

mod apart;
mod body;
mod contact;
mod detect;
mod islands;
mod rest;
mod row;
mod soft;
mod solve;
mod tie;

use super::constrain::Yield;
use super::{SolidState, State, Workspace};
use crate::coating::Spot;
use crate::contact::{Bounds, Library, Manifold, Sweep};
use crate::rig::{Carrier, Drive, Rig};
use body::Body;
use contact::Contact;
use glam::DVec3;
use islands::Islands;
use row::{Group, Moved, Row};
use tie::Tie;

/// A point at which something bore on something else in the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touched {
    /// The two colliders, the lower number first.
    pub colliders: [u32; 2],
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
    /// Of each collider: its body (solids first, then what is keyed, the world last), and how far its furthest point is
    /// from that body's centre.
    body_of: Vec<u32>,
    radii: Vec<f64>,
    /// Of each body: the extent of its smallest collider.
    sizes: Vec<f64>,
    /// Every collider may touch every other, but for those on the same body and those that nothing moves.
    plain: bool,
    /// By which chord each body has turned when it ended.
    turned: Vec<f64>,
    /// Paths of the bodies that follow keys.
    keyed: Vec<usize>,
    /// Solids before they moved, and how they give way.
    before: Vec<SolidState>,
    pub(super) yields: Vec<Yield>,
    bodies: Vec<Body>,
    bounds: Vec<Bounds>,
    sweep: Sweep,
    pairs: Vec<(u32, u32)>,
    found: Vec<Manifold>,
    library: Library,
    contacts: Vec<Contact>,
    points: Vec<contact::Spot>,
    /// Spots of coatings.
    spots: Vec<Spot>,
    /// Coatings are pressed in so fast that the step is too long.
    deepens: bool,
    /// Manifolds at the end of a pass that it had not known of, by pair.
    extras: Vec<([u32; 2], Manifold)>,
    /// Which of the pairs that were inside each other at the start still are.
    overlaps: Vec<bool>,
    /// What bounced once in this step would do so again.
    bounced: bool,
    islands: Islands,
    /// Contacts by island, and where each begins.
    order: Vec<(u32, u32)>,
    groups: Vec<Group>,
    rows: Vec<Row>,
    /// Joints by island, and their rows in one.
    joints: Vec<(u32, u32)>,
    ties: Vec<Tie>,
    /// Which solids have joints.
    jointed: Vec<bool>,
    moved: Vec<Moved>,
    /// Number of a body in its island, and the bodies of all islands one after the other.
    local: Vec<u32>,
    members: Vec<u32>,
    /// Of each contact its bodies; and in which sweep each body was pushed out last.
    ends_of: Vec<[u32; 2]>,
    stirred: Vec<u32>,
    /// Of each island, whether it moves.
    awake: Vec<bool>,
    /// Angular impulse on each body.
    twists: Vec<DVec3>,
    /// And what pushing them apart took of their angular momentum.
    spares: Vec<DVec3>,
}

/// What does not change while contacts are solved.
struct World<'a> {
    rig: &'a Rig,
    state: &'a State,
    drives: &'a [Drive],
    from: f64,
    to: f64,
    h: f64,
}

impl Touch {
    /// Room for a rig's contacts; `None` where nothing can touch.
    pub fn new(rig: &Rig) -> Option<Touch> {
        let all = &rig.colliders.all;
        if !all.iter().any(|c| matches!(c.carrier, Carrier::Solid(_))) || all.len() < 2 {
            return None;
        }
        let solids = rig.solids.len();
        let mut keyed: Vec<usize> = Vec::new();
        let mut body_of: Vec<u32> = Vec::with_capacity(all.len());
        for c in all {
            body_of.push(match c.carrier {
                Carrier::Solid(s) => s as u32,
                Carrier::Keys(p) => {
                    let k = keyed.iter().position(|k| *k == p).unwrap_or_else(|| {
                        keyed.push(p);
                        keyed.len() - 1
                    });
                    (solids + k) as u32
                }
                Carrier::World => u32::MAX,
            });
        }
        let bodies = solids + keyed.len() + 1;
        body_of.iter_mut().filter(|b| **b == u32::MAX).for_each(|b| *b = bodies as u32 - 1);
        let radius = |c: &crate::rig::Collider| match matches!(c.carrier, Carrier::World) {
            true => 0.0,
            false => {
                let ball = c.geometry.shape().compute_local_bounding_sphere();
                (c.place.position + c.place.rotation * ball.center()).length() + ball.radius()
            }
        };
        let mut jointed = vec![false; solids];
        for end in rig.joints.iter().flat_map(|j| j.ends) {
            if let crate::joint::End::Solid(s) = end {
                jointed[s] = true;
            }
        }
        let mut sizes = vec![f64::INFINITY; bodies];
        for (c, &b) in all.iter().zip(&body_of) {
            let size = &mut sizes[b as usize];
            *size = size.min(c.size);
        }
        let alike = |c: &crate::rig::Collider| c.member == all[0].member && c.touches == all[0].touches;
        let alone = |c: &crate::rig::Collider| match c.carrier {
            Carrier::Solid(s) => rig.solids[s].node == c.node,
            _ => true,
        };
        // Room for what a scene of this size usually has; a crowd makes more room once.
        let some = 4 * all.len();
        Some(Touch {
            plain: all.iter().all(|c| alike(c) && alone(c)) && all[0].member & all[0].touches != 0,
            turned: Vec::with_capacity(bodies),
            sizes,
            radii: all.iter().map(radius).collect(),
            body_of,
            keyed,
            before: Vec::with_capacity(solids),
            yields: vec![Yield::default(); solids],
            bodies: Vec::with_capacity(bodies),
            bounds: Vec::with_capacity(all.len()),
            sweep: Sweep::with_capacity(all.len()),
            pairs: Vec::with_capacity(some),
            found: Vec::with_capacity(some),
            library: Library::default(),
            contacts: Vec::with_capacity(some),
            points: Vec::with_capacity(4 * some),
            spots: Vec::with_capacity(64),
            deepens: false,
            extras: Vec::with_capacity(some),
            overlaps: Vec::with_capacity(rig.colliders.inside.len()),
            bounced: false,
            islands: Islands::with_capacity(solids),
            order: Vec::with_capacity(some),
            groups: Vec::with_capacity(some),
            rows: Vec::with_capacity(4 * some),
            joints: Vec::with_capacity(rig.joints.len()),
            ties: Vec::with_capacity(6 * rig.joints.len()),
            jointed,
            moved: Vec::with_capacity(bodies),
            local: vec![u32::MAX; bodies],
            members: Vec::with_capacity(bodies),
            ends_of: Vec::with_capacity(some),
            stirred: Vec::with_capacity(bodies),
            awake: Vec::with_capacity(solids),
            twists: Vec::with_capacity(bodies),
            spares: Vec::with_capacity(bodies),
        })
    }

    /// Remembers where the bodies are before they move.
    pub fn begin(&mut self, state: &State) {
        self.before.clear();
        self.before.extend_from_slice(&state.solids);
    }

    /// The bodies before they moved.
    pub fn before(&self) -> &[SolidState] {
        &self.before
    }
}

/// Ways that contacts bend may lead into others; so often they are followed.
const MOST_PASSES: usize = 3;

/// Has the bodies, which have moved freely for `h` seconds to scene time `to`, keep out of each other. Returns whether
/// that worked.
pub fn touch(
    rig: &Rig,
    state: &mut State,
    work: &mut Workspace,
    (from, to): (f64, f64),
    h: f64,
    whatever: bool,
) -> bool {
    let Some(t) = &mut work.touch else { return true };
    if h <= 0.0 {
        return true;
    }
    let world = World { rig, state, drives: &work.drives, from, to, h };
    t.bodies.clear();
    for (i, solid) in rig.solids.iter().enumerate() {
        t.bodies.push(Body::solid(solid, &t.before[i], &state.solids[i], &t.yields[i], t.jointed[i], h));
    }
    for &path in &t.keyed {
        t.bodies.push(Body::keyed(rig, path, from, to, h));
    }
    t.bodies.push(Body::STILL);
    (t.bounced, t.deepens) = (false, false);
    t.extras.clear();
    let mut passes = 0;
    loop {
        t.detect(&world);
        if (t.bounced || t.deepens) && !whatever {
            return false;
        }
        t.start_from(&state.touched, h);
        t.plan(&world);
        t.solve(&world);
        if !whatever && t.stopped_short(&world) {
            return false;
        }
        let overlooks = t.overlooks(&world);
        if !t.strayed() && !overlooks {
            break;
        }
        passes += 1;
        if passes == MOST_PASSES {
            if whatever || !overlooks {
                break;
            }
            return false;
        }
    }
    let deepest = t.push_apart();
    t.arrive(state, (from, to), h);
    t.rest(rig, state, h);
    if let Some(c) = &mut work.constraints {
        t.hand_over(c, h);
    }
    deepest
}

/// Has bodies with joints, which are closed now, keep out of what they touch. Returns whether that worked.
pub fn settle(rig: &Rig, state: &mut State, work: &mut Workspace) -> bool {
    match (&mut work.touch, &mut work.constraints) {
        (Some(t), Some(c)) => t.push_jointed(rig, state, c),
        _ => true,
    }
}
