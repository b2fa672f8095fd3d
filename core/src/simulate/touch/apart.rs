//! Pushing out what still overlaps at the end of a step: places only, no velocities.

use super::Touch;
use super::body::Body;
use crate::rig::Rig;
use crate::simulate::State;
use crate::simulate::cluster::Cluster;
use crate::simulate::linkage::Linkages;
use crate::simulate::state::Cause;
use glam::DVec3;

/// Overlaps up to this share of the smaller thing stay: nothing sees them, and correcting them for ever would shiver.
const ALLOWED: f64 = 2e-5;

/// The same of bodies with joints, which moving them opens again.
const ALLOWED_JOINTED: f64 = 1e-4;

/// Sweeps end when nothing overlapped by more than this share.
const ENOUGH: f64 = 1e-4;

/// Crowds are done with a little more after a few: the next step goes on.
const MANY: usize = 1000;
const FEW: usize = 3;
const LITTLE: f64 = 2e-3;

/// A step that leaves more than this share is too long.
const TOO_DEEP: f64 = 0.02;

const MOST_SWEEPS: usize = 40;

/// Rounds of pushing bodies with joints out and closing these again.
const MOST_ROUNDS: usize = 4;

impl Touch {
    /// Moves bodies out of each other, but for those with joints, until hardly anything overlaps.
    pub(super) fn push_apart(&mut self) -> Result<(), Cause> {
        for &b in &self.active {
            (self.spares[b as usize], self.stirred[b as usize]) = (DVec3::ZERO, 0);
            self.bodies[b as usize].looked = self.bodies[b as usize].end.position;
        }
        self.ends_of.clear();
        self.ends_of.extend(self.contacts.iter().map(|c| c.bodies));
        let mut deepest = (0.0, 0);
        for sweep in 0..MOST_SWEEPS {
            deepest = self.push_once(false, sweep as u32);
            if deepest.0 < ENOUGH || self.contacts.len() > MANY && sweep >= FEW && deepest.0 < LITTLE {
                break;
            }
        }
        too_deep(deepest)
    }

    /// Moves bodies with joints, which these have put together, out of what they touch, and has the joints closed again,
    /// until hardly anything overlaps.
    pub(super) fn push_jointed(
        &mut self,
        rig: &Rig,
        state: &mut State,
        linkages: &mut Linkages,
        cluster: &Cluster<'_>,
    ) -> Result<(), Cause> {
        if !self.contacts.iter().any(|c| c.bodies.iter().any(|b| self.bodies[*b as usize].jointed)) {
            return Ok(());
        }
        let mut deepest = (0.0, 0);
        for _ in 0..MOST_ROUNDS {
            for &i in cluster.solids {
                self.bodies[i as usize].end = state.solids[i as usize].placement();
            }
            self.active.iter().for_each(|b| self.stirred[*b as usize] = 0);
            deepest = self.push_once(true, 0);
            if deepest.0 == 0.0 {
                break;
            }
            for &i in cluster.solids {
                let (end, s) = (self.bodies[i as usize].end, &mut state.solids[i as usize]);
                (s.position, s.orientation) = (end.position, end.rotation);
            }
            cluster.linkages.iter().for_each(|k| linkages.close_places(*k, rig, state));
        }
        too_deep(deepest)
    }

    /// Visits every contact once; the deepest overlap there was, as a share of the smaller thing, and a body in it. With
    /// `jointed`, those of bodies with joints, and only those move them.
    ///
    /// Only what the sweep before moved can overlap more than then.
    fn push_once(&mut self, jointed: bool, sweep: u32) -> (f64, u32) {
        let mut deepest = (0.0_f64, 0);
        for (i, ends) in self.ends_of.iter().enumerate() {
            if ends.iter().all(|b| self.stirred[*b as usize] < sweep) {
                continue;
            }
            let c = &self.contacts[i];
            // What touches a body with joints waits until these are closed: then both give way.
            if jointed != c.bodies.iter().any(|b| self.bodies[*b as usize].jointed) {
                continue;
            }
            for spot in c.spots(&self.points) {
                if spot.press.is_some() {
                    continue;
                }
                let [a, b] = c.bodies.map(|b| &self.bodies[b as usize]);
                let met = c.face.meet(&spot.at, &a.end, &b.end);
                let over = -met.gap - c.softness;
                if over <= if jointed { ALLOWED_JOINTED } else { ALLOWED } * c.size {
                    continue;
                }
                let n = met.normal;
                let levers = [met.point - a.end.position, met.point - b.end.position];
                let yields = |body: &Body, lever: DVec3| {
                    let arm = lever.cross(n);
                    body.light + arm.dot(body.lithe * arm)
                };
                let all = yields(a, levers[0]) + yields(b, levers[1]);
                if all <= 0.0 {
                    continue;
                }
                if over / c.size > deepest.0 {
                    deepest = (over / c.size, self.simulated(c.bodies));
                }
                let turns = a.turns() && b.turns() && a.light > 0.0 && b.light > 0.0;
                let rates = b.after.velocity - a.after.velocity;
                let push = n * ((over - 0.5 * ALLOWED * c.size) / all);
                if turns && !jointed {
                    // Moved apart, they would have another angular momentum about each other: their spin has it.
                    let spare = rates.cross(push) * 0.5;
                    c.bodies.iter().for_each(|b| self.spares[*b as usize] += spare);
                }
                for (e, sign) in [(0, -1.0), (1, 1.0)] {
                    let body = &mut self.bodies[c.bodies[e] as usize];
                    if body.light > 0.0 {
                        self.stirred[c.bodies[e] as usize] = sweep + 1;
                    }
                    let push = push * sign;
                    let turn = body.lithe * levers[e].cross(push);
                    body.displace(push * body.light, turn);
                }
            }
        }
        deepest
    }
}

fn too_deep((deepest, body): (f64, u32)) -> Result<(), Cause> {
    if deepest < TOO_DEEP { Ok(()) } else { Err(Cause::Overlap(body)) }
}
