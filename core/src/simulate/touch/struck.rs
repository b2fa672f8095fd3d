//! Contacts that are blows to a figure.

use super::{Touch, World};
use crate::simulate::balance::Balance;
use crate::simulate::hit::{Blow, strength};

/// What comes at a figure is a blow if at least this share of the speed at which they meet is its own.
const COMES: f64 = 0.5;

/// What pushes up more than this (cosine) bears it.
const BEARS: f64 = 0.7;

/// A body of another figure has at least this share of that one's mass behind it.
const BEHIND: f64 = 0.05;

impl Touch {
    /// A blow at a figure that gives way to it, if one of the contacts is one.
    pub(super) fn struck(&self, world: &World<'_>, balance: &Balance) -> Option<Blow> {
        if !self.any_hits {
            return None;
        }
        let gravity = world.rig.world.gravity.normalize_or_zero();
        self.contacts.iter().find_map(|c| {
            let spots = c.spots(&self.points).iter().filter(|s| s.impulse > 0.0);
            let hardest = spots.max_by(|x, y| y.meeting.total_cmp(&x.meeting))?;
            let speed = -hardest.meeting;
            (speed > 0.0).then_some(())?;
            [0, 1].into_iter().find_map(|side| {
                let [own, other] = [c.bodies[side], c.bodies[1 - side]];
                let lead = balance.lead(own as usize).filter(|_| own < self.carriers.solids)?;
                world.rig.solids[lead].hit?;
                // From the other to its own.
                let towards = if side == 0 { -c.axes[0] } else { c.axes[0] };
                let comes = self.bodies[other as usize].start.at(hardest.levers[1 - side]).dot(towards);
                if comes < COMES * speed || towards.dot(-gravity) > BEARS {
                    return None;
                }
                let mass = self.behind(world, balance, own, other)?;
                let whole = figure(world, balance, lead);
                let impulse = towards * (speed * mass * whole / (mass + whole));
                let blow = Blow { solid: own, point: hardest.point, impulse };
                strength(world.rig, world.state, balance, world.cluster.solids, &blow).map(|_| blow)
            })
        })
    }

    /// The mass that a blow has behind it; `None` if what strikes is of the same figure, or stands.
    fn behind(&self, world: &World<'_>, balance: &Balance, own: u32, other: u32) -> Option<f64> {
        let solids = &world.rig.solids;
        let Some(solid) = solids.get(other as usize) else {
            // What is keyed has any strength; it is taken to be as heavy as what it strikes.
            return Some(solids[own as usize].mass);
        };
        match balance.lead(other as usize) {
            None => Some(solid.mass),
            lead if lead == balance.lead(own as usize) => None,
            Some(lead) => Some(solid.mass.max(BEHIND * figure(world, balance, lead))),
        }
    }
}

/// The mass of a figure.
fn figure(world: &World<'_>, balance: &Balance, lead: usize) -> f64 {
    let limbs = world.cluster.solids.iter().filter(|s| balance.lead(**s as usize) == Some(lead));
    limbs.map(|s| world.rig.solids[*s as usize].mass).sum()
}
