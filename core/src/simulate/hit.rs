//! Hits: a figure that is struck goes soft around the blow for a moment, and recovers.
//!
//! A muscle of natural frequency `w` (critically damped, with everything beyond its joint) that is given the spin `W` by a blow
//! is bent by `W / (e w)` at most. At the frequencies that follow keys, 2 to 6 Hz, a blow that would make a man stagger bends
//! him by 2 degrees. So for a moment his muscles are slowed down to `w = W / (e theta)`, with a `theta` that grows with the
//! blow, but less than in proportion ([`GROWS`]), and that the joints of a spine share; then they quicken again along a line of
//! the logarithm. What muscles know of weight and of the keys' accelerations stays, so that nothing sags, and legs hold what
//! stands on them. How hard a blow is tells the spin `p / sqrt(M I)` that an impulse `p` can give to the whole figure.

use super::State;
use super::balance::Balance;
use crate::rig::Rig;
use glam::DVec3;

/// How a blow has softened the muscle of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softened {
    /// Scene time of the blow (s).
    pub since: f64,
    /// To which share of its natural frequency it was slowed down.
    pub share: f64,
    /// How long it stays so, and until it is itself again, s.
    pub holds: f64,
    /// See there.
    pub seconds: f64,
}

impl Softened {
    /// Nothing has struck it yet.
    pub const NOT: Softened = Softened { since: f64::NEG_INFINITY, share: 1.0, holds: 0.0, seconds: 0.0 };

    /// The share of its natural frequency at `time` (s).
    #[inline]
    pub fn at(&self, time: f64) -> f64 {
        let gone = time - self.since;
        if !(self.share < 1.0 && gone < self.seconds) {
            return 1.0;
        }
        let back = ((gone - self.holds) / (self.seconds - self.holds)).max(0.0);
        libm::pow(self.share, 1.0 - back)
    }

    /// Whether a blow is still being recovered from.
    #[inline]
    fn recovers(&self, time: f64) -> bool {
        time - self.since < self.seconds
    }
}

/// A blow at a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blow {
    /// The body.
    pub solid: u32,
    /// Where, world.
    pub point: DVec3,
    /// World, kg units/s.
    pub impulse: DVec3,
}

/// How long a muscle stays as soft as it was made, as a share of the time to bend so far at the spin of the blow, and of the
/// time until it is itself again, at least and at most.
const HOLDS: f64 = 0.5;
const HOLDS_OF_ALL: [f64; 2] = [0.15, 0.45];

/// A blow that can give this spin to the whole figure, rad/s: 5 kg at 5 m/s to a man...
const USUAL: f64 = 0.65;

/// ...bends his spine by this angle, and any other limb, rad...
const SPINE_BENDS: f64 = 0.36;
const LIMB_BENDS: f64 = 0.3;

/// ...and lets the root give way at this frequency, Hz.
const ROOT_HZ: f64 = 0.2;

/// A harder blow bends by this power of its spin.
const GROWS: f64 = 0.15;

/// A weaker one by more than in proportion, so that what brushes by changes nothing...
const FADES: f64 = 1.5;
/// ...below this share of it nothing at all.
const LEAST: f64 = 0.12;

/// No muscle is slowed down to less than this, Hz.
const SLOWEST_HZ: f64 = 0.1;

/// What has more of a figure's mass beyond its joint is its trunk.
const TRUNK: f64 = 0.25;

/// Mass and inertia of everything beyond a body's joint, about it; of a lead, of the whole about its centre of mass.
fn beyond(rig: &Rig, state: &State, balance: &Balance, limbs: &[u32], of: usize) -> (DVec3, f64, f64) {
    let hangs = |k: usize| {
        let mut up = Some(k);
        while let Some(u) = up.filter(|u| *u != of) {
            up = balance.joint(u).map(|j| j.0);
        }
        up.is_some()
    };
    let all = || limbs.iter().map(|k| *k as usize).filter(|k| hangs(*k));
    let mass: f64 = all().map(|k| rig.solids[k].mass).sum();
    let about = match balance.joint(of) {
        Some((_, joint)) => state.solids[of].placement().then(&joint).position,
        None => all().map(|k| state.solids[k].position * rig.solids[k].mass).sum::<DVec3>() / mass,
    };
    let inertia = all().map(|k| {
        let own = rig.solids[k].inertia;
        0.5 * (own.x + own.y + own.z)
            + rig.solids[k].mass * (state.solids[k].position - about).length_squared()
    });
    (about, mass, inertia.sum())
}

/// The bodies from a struck one up to what leads its figure.
fn chain(balance: &Balance, struck: usize) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(Some(struck), |&b| balance.joint(b).map(|j| j.0))
}

/// How hard a blow is for its figure, beside a usual one; `None` if it does nothing to it, or nothing new.
pub fn strength(rig: &Rig, state: &State, balance: &Balance, solids: &[u32], blow: &Blow) -> Option<f64> {
    let lead = balance.lead(blow.solid as usize)?;
    rig.solids[lead].hit?;
    if state.solids[lead].held || state.solids[lead].softened.recovers(state.time) {
        return None;
    }
    let (_, mass, inertia) = beyond(rig, state, balance, solids, lead);
    Some(blow.impulse.length() / ((mass * inertia).sqrt() * USUAL)).filter(|s| *s >= LEAST)
}

/// The spin that a blow gives to what is beyond a body's joint, rad/s, and the mass of that.
fn given(
    rig: &Rig,
    state: &State,
    balance: &Balance,
    solids: &[u32],
    blow: &Blow,
    body: usize,
) -> (f64, f64) {
    let (joint, mass, inertia) = beyond(rig, state, balance, solids, body);
    ((blow.point - joint).cross(blow.impulse).length() / inertia, mass)
}

/// How much faster than the trunk a limb turns against it when the trunk is struck: its joint is taken along, `d` from the root,
/// and its centre of mass, `c` from the joint, stays behind: `1 + d m c / I`.
fn lashes(rig: &Rig, state: &State, balance: &Balance, solids: &[u32], limb: usize, lead: usize) -> f64 {
    let (joint, mass, inertia) = beyond(rig, state, balance, solids, limb);
    let away = (state.solids[lead].position - joint).length();
    let behind = (state.solids[limb].position - joint).length();
    1.0 + away * mass * behind / inertia
}

/// The same of the joints of the spine, from the struck body down, in a figure of that mass.
fn spine<'a>(
    rig: &'a Rig,
    state: &'a State,
    balance: &'a Balance,
    solids: &'a [u32],
    blow: &'a Blow,
    whole: f64,
) -> impl Iterator<Item = f64> + 'a {
    let joints = chain(balance, blow.solid as usize).filter(|&b| balance.joint(b).is_some());
    let spins = joints.map(move |b| given(rig, state, balance, solids, blow, b));
    spins.filter(move |g| g.1 >= TRUNK * whole).map(|g| g.0)
}

/// Has a figure give way to a blow.
pub fn give_way(rig: &Rig, state: &mut State, balance: &Balance, solids: &[u32], blow: Blow) {
    let Some(hard) = strength(rig, state, balance, solids, &blow) else { return };
    let struck = blow.solid as usize;
    let Some(lead) = balance.lead(struck) else { return };
    let Some(hit) = rig.solids[lead].hit else { return };
    let now = state.time;
    let bends = hit.amount * libm::pow(hard, if hard >= 1.0 { GROWS } else { FADES });
    let (_, whole, all) = beyond(rig, state, balance, solids, lead);
    let joints = spine(rig, state, balance, solids, &blow, whole).count();
    let whole_spin = hard * USUAL;
    let spine_spin = match joints {
        0 => whole_spin,
        _ => spine(rig, state, balance, solids, &blow, whole).fold(0.0, f64::max),
    };
    let spine_bends = bends * SPINE_BENDS / joints.max(1) as f64;
    let holds = HOLDS * spine_bends / spine_spin.max(f64::MIN_POSITIVE);
    let holds = holds.clamp(HOLDS_OF_ALL[0] * hit.seconds, HOLDS_OF_ALL[1] * hit.seconds);
    for &i in solids {
        let i = i as usize;
        let solid = &rig.solids[i];
        let on_chain = chain(balance, struck).any(|b| b == i);
        // A trunk that is of one piece with its root bends at the hips.
        let hip = joints == 0 && solid.stance && balance.joint(i).is_some_and(|j| j.0 == lead);
        if balance.lead(i) != Some(lead) || solid.stance && !on_chain && !hip {
            continue;
        }
        let (_, mass, inertia) = beyond(rig, state, balance, solids, i);
        let stiffness = rig.drive(i, now).stiffness;
        let (rad_per_s, own) = if i == lead {
            (std::f64::consts::TAU * ROOT_HZ / hit.amount, stiffness * solid.mass / mass)
        } else if hip {
            (whole_spin / spine_bends, stiffness * solid.inertia.max_element() / all)
        } else {
            let (spin, bend) = match (on_chain, mass >= TRUNK * whole) {
                (true, true) => (given(rig, state, balance, solids, &blow, i).0, spine_bends),
                (true, false) => (given(rig, state, balance, solids, &blow, i).0, bends * LIMB_BENDS),
                (false, _) => (spine_spin * lashes(rig, state, balance, solids, i, lead), bends * LIMB_BENDS),
            };
            (spin / bend, stiffness * solid.inertia.max_element() / inertia)
        };
        let rad_per_s = match i == lead {
            true => rad_per_s,
            false => (rad_per_s / std::f64::consts::E).max(std::f64::consts::TAU * SLOWEST_HZ),
        };
        let share = rad_per_s / own.sqrt();
        // A lead notes the blow in any case.
        if share < 1.0 || i == lead {
            let (share, seconds) = (share.min(1.0), hit.seconds);
            state.solids[i].softened = Softened { since: now, share, holds, seconds };
        }
    }
}

/// Has the figures among `solids` give way to blows without an object that fall in the `dt` seconds to come.
pub fn strike_in_time(rig: &Rig, state: &mut State, balance: &Balance, solids: &[u32], dt: f64) {
    let from = rig.range.in_first_turn(state.time);
    for blow in rig.impulses.iter().filter(|b| b.time > from - 1e-9 && b.time < from + dt - 1e-9) {
        if solids.contains(&(blow.solid as u32)) {
            let point = state.solids[blow.solid].position;
            let blow = Blow { solid: blow.solid as u32, point, impulse: blow.impulse };
            give_way(rig, state, balance, solids, blow);
        }
    }
}
