//! Joints among contacts: what touches one body of a chain moves them all.
//!
//! Joints are closed exactly after contacts (`constrain`), with the impulses found here as forces. For these to be right,
//! joints take part in the sweeps, row by row, as velocities: firm ones keep their rate, springs and actuators give way by
//! what they are, `K` and `C` taken at the end of the step.

use super::World;
use super::body::Body;
use super::row::Moved;
use crate::joint::{End, Joint, Kind, Measure, Rows, Side};
use crate::scene::Placement;
use crate::simulate::constrain::aim;
use glam::DVec3;

/// One row of a joint.
#[derive(Clone, Copy, Debug)]
pub struct Tie {
    /// The bodies, by their numbers in the island; what no impulse moves has none.
    bodies: [u32; 2],
    linear: [DVec3; 2],
    angular: [DVec3; 2],
    spins: [DVec3; 2],
    wanted: f64,
    give: f64,
    per: f64,
    least: f64,
    most: f64,
    impulse: f64,
    pub last: f64,
    along: f64,
}

const NONE: u32 = u32::MAX;

impl Tie {
    /// Puts the rows of joint `j` into `ties`; `number` tells a body's number in the island.
    pub fn add(
        world: &World<'_>,
        j: usize,
        bodies: &[Body],
        number: impl Fn(usize) -> u32,
        moved: &[Moved],
        ties: &mut Vec<Tie>,
    ) {
        let (rig, state, h) = (world.rig, world.state, world.h);
        let (joint, memory) = (&rig.joints[j], &state.joints[j]);
        if memory.broken || joint.holds.on.as_ref().is_some_and(|on| on.at(world.to) <= 0.5) {
            return;
        }
        let place = |end: End| match end {
            End::World => Placement::IDENTITY,
            End::Solid(s) => bodies[s].from,
            End::Keys(p) => rig.paths[p].placement(world.from),
            End::Hand(k) => rig.hands[k].at(world.from),
        };
        let first = place(joint.ends[0]);
        let a = Side::new(&first, &joint.first_frame(&rig.paths, world.from));
        let b = Side::new(&place(joint.ends[1]), &memory.grabbed.unwrap_or(joint.frames[1]));
        let aims = [false, true]
            .map(|end| aim(rig, joint, &state.targets, if end { world.to } else { world.from }, end));
        let rows = Rows::between(joint, &a, &b, &aims[1], Measure::Products);
        let numbers = joint.ends.map(|end| match end {
            End::Solid(s) => number(s),
            _ => NONE,
        });
        // What is held to moves by itself.
        let rates = joint.ends.map(|end| match end {
            End::Keys(p) => rig.paths[p].velocity(world.to),
            End::Hand(k) => rig.hands[k].velocity(world.to),
            _ => (DVec3::ZERO, DVec3::ZERO),
        });
        let one_sided = joint.kind.one_sided();
        let slid = first.rotation * joint.anchor_velocity(&rig.paths, world.to);
        for r in 0..rows.count {
            let on = [0, 1].map(|e| rows.row(e, r));
            let mut tie = Tie {
                bodies: numbers,
                linear: on.map(|o| o.linear),
                angular: on.map(|o| o.angular),
                spins: [DVec3::ZERO; 2],
                wanted: -(on[0].rate(rates[0].0, rates[0].1) + on[1].rate(rates[1].0, rates[1].1)),
                give: 0.0,
                per: 0.0,
                least: f64::NEG_INFINITY,
                most: f64::INFINITY,
                impulse: memory.multipliers[r] * h,
                last: 0.0,
                along: 0.0,
            };
            let mut yields = 0.0;
            for e in 0..2 {
                if numbers[e] != NONE {
                    let m = &moved[numbers[e] as usize];
                    tie.spins[e] = m.per_inertia * tie.angular[e];
                    yields += tie.linear[e].length_squared() * m.per_mass + tie.angular[e].dot(tie.spins[e]);
                }
            }
            if yields <= 0.0 {
                continue;
            }
            if let Some((k, c, strength)) = spring(world, joint, r) {
                let damped = c + h * k;
                if damped <= 0.0 {
                    continue;
                }
                tie.wanted -= rows.error[r] * k / damped;
                tie.give = 1.0 / (h * damped);
                (tie.least, tie.most) = (-strength * h, strength * h);
            } else if one_sided {
                (tie.most, tie.wanted) = (0.0, tie.wanted - rows.error[r] / h);
            } else if matches!(joint.kind, Kind::SlideTo | Kind::TurnTo) {
                tie.wanted += (aims[1].rest - aims[0].rest) / h;
            } else if joint.anchor.is_some() && r < 3 {
                tie.wanted += slid[r];
            }
            tie.impulse = tie.impulse.max(tie.least).min(tie.most);
            tie.per = 1.0 / (yields + tie.give);
            ties.push(tie);
        }
    }

    #[inline(always)]
    fn push(&self, by: f64, moved: &mut [Moved]) {
        for e in 0..2 {
            if self.bodies[e] != NONE {
                let m = &mut moved[self.bodies[e] as usize];
                m.now.velocity += self.linear[e] * (by * m.per_mass);
                m.now.spin += self.spins[e] * by;
            }
        }
    }

    #[inline(always)]
    fn visit(&mut self, moved: &mut [Moved]) -> f64 {
        let mut rate = 0.0;
        for e in 0..2 {
            if self.bodies[e] != NONE {
                let now = &moved[self.bodies[e] as usize].now;
                rate += self.linear[e].dot(now.velocity) + self.angular[e].dot(now.spin);
            }
        }
        let lacking = self.wanted - rate - self.give * self.impulse;
        let impulse = (self.impulse + lacking * self.per).max(self.least).min(self.most);
        let by = impulse - self.impulse;
        self.impulse = impulse;
        self.push(by, moved);
        by.abs() / self.per
    }
}

/// Stiffness, damping and strength of a row that is a spring or an actuator.
fn spring(world: &World<'_>, joint: &Joint, r: usize) -> Option<(f64, f64, f64)> {
    if let Kind::Pose(solid) = joint.kind {
        let drive = &world.drives[solid];
        let inertia = world.rig.solids[solid].inertia.to_array()[r];
        return Some((drive.stiffness * inertia, drive.damping * inertia, drive.max_torque));
    }
    let spring = joint.spring.as_ref()?;
    let pair = if r < joint.kind.translations() { &spring.slide } else { &spring.turn };
    let [k, c] = pair.as_ref()?;
    Some((k.at(world.from), c.at(world.from), spring.strength))
}

/// Applies what joints start with.
pub fn start(ties: &[Tie], moved: &mut [Moved]) {
    ties.iter().for_each(|t| t.push(t.impulse, moved));
}

/// Visits all rows; returns by how much their rates were off at most.
#[inline(always)]
pub fn sweep(ties: &mut [Tie], moved: &mut [Moved]) -> f64 {
    ties.iter_mut().fold(0.0, |most, t| t.visit(moved).max(most))
}

/// Notes where a sweep begins.
#[inline(always)]
pub fn note(ties: &mut [Tie]) {
    ties.iter_mut().for_each(|t| t.last = t.impulse);
}

/// What sweeps change, as a square.
#[inline(always)]
pub fn changed(ties: &[Tie]) -> f64 {
    ties.iter().map(|t| (t.impulse - t.last) * (t.impulse - t.last)).sum()
}

/// Goes on along what earlier sweeps changed; bodies do so in [`super::row::go_on`].
#[inline(always)]
pub fn go_on(ties: &mut [Tie], share: f64) {
    for t in ties.iter_mut() {
        let more = share * t.along;
        t.along = more + t.impulse - t.last;
        t.impulse += more;
    }
}
