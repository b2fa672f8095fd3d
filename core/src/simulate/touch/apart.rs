//! Pushing out what still overlaps at the end of a step: places only, no velocities.

use super::Touch;
use super::body::Body;
use glam::DVec3;

/// Overlaps up to this share of the smaller thing stay: nothing sees them, and correcting them for ever would shiver.
const ALLOWED: f64 = 2e-5;

/// A step that leaves more than this share is too long.
const TOO_DEEP: f64 = 0.02;

const MOST_SWEEPS: usize = 8;

impl Touch {
    /// Moves bodies out of each other; whether hardly anything overlaps then.
    pub(super) fn push_apart(&mut self) -> bool {
        let mut deepest = 0.0_f64;
        self.spares.clear();
        self.spares.resize(self.bodies.len(), DVec3::ZERO);
        for _ in 0..MOST_SWEEPS {
            deepest = 0.0;
            for c in &self.contacts {
                for point in c.manifold.points() {
                    let [a, b] = c.bodies.map(|b| &self.bodies[b as usize]);
                    let met = c.manifold.meet(point, &a.end, &b.end);
                    let over = -met.gap;
                    if over <= ALLOWED * c.size {
                        continue;
                    }
                    let n = met.normal;
                    let levers = [met.point - a.end.position, met.point - b.end.position];
                    // What joints move is pushed out by velocities, see `contact`: moving it here would tear them.
                    let yields = |body: &Body, lever: DVec3| {
                        if body.jointed {
                            return 0.0;
                        }
                        let arm = lever.cross(n);
                        body.light + arm.dot(body.lithe * arm)
                    };
                    let all = yields(a, levers[0]) + yields(b, levers[1]);
                    if all <= 0.0 {
                        continue;
                    }
                    deepest = deepest.max(over / c.size);
                    let turns = a.turns() && b.turns() && a.light > 0.0 && b.light > 0.0;
                    let rates = b.after.velocity - a.after.velocity;
                    let push = n * ((over - 0.5 * ALLOWED * c.size) / all);
                    if turns {
                        // Moved apart, they would have another angular momentum about each other: their spin has it.
                        let spare = rates.cross(push) * 0.5;
                        c.bodies.iter().for_each(|b| self.spares[*b as usize] += spare);
                    }
                    for (e, sign) in [(0, -1.0), (1, 1.0)] {
                        let body = &mut self.bodies[c.bodies[e] as usize];
                        if body.jointed {
                            continue;
                        }
                        let push = push * sign;
                        let turn = body.lithe * levers[e].cross(push);
                        body.displace(push * body.light, turn);
                    }
                }
            }
            if deepest == 0.0 {
                break;
            }
        }
        deepest < TOO_DEEP
    }
}
