//! Muscles hold what hangs on them, so that nothing sags while it moves.
//!
//! A body that is guided against its parent holds, at its joint, the weight of itself and of all that is guided against it
//! in turn: `T = -(c - p) x M g`, with `c` and `M` of everything beyond the joint at `p`. What leads such a tree holds all of
//! it by force, and by torque about its own centre of mass. That much of what acts on them actuators need not find out
//! (`compensation`): it goes into their corrections as the pose changes.
//!
//! In the same way a body needs, to move as it is keyed, the force and torque that everything beyond its joint needs for
//! that: `T = sum of (x - p) x m a + d(I w)/dt`. As much of it as actuators anticipate they pull in the step itself.

use super::State;
use super::ahead::{Ahead, Span};
use crate::joint::{End, Joint, Kind};
use crate::rig::{Drive, Frame, Rig};
use crate::scene::Placement;
use crate::setup::Timing;
use glam::DVec3;

/// Who holds whom, and room to add up what hangs on each.
#[derive(Clone, Debug, Default)]
pub struct Balance {
    /// Of each solid that is guided against its parent: that, and the joint between the two in the solid's frame.
    holds: Vec<Option<(u32, Placement)>>,
    /// Has solids guided against it and is not itself.
    leads: Vec<bool>,
    /// Is guided against its parent without a joint, and nothing hangs on it: it has no muscle, but sees its keys coming.
    alone: Vec<bool>,
    /// Mass beyond each solid's joint, and its moment.
    beyond: Vec<(f64, DVec3)>,
    /// Force and torque that keys need of everything beyond each solid's joint, the torque about the first of all.
    needs: Vec<(DVec3, DVec3)>,
    ahead: Ahead,
}

impl Balance {
    /// Of a rig; empty where nothing is guided against its parent.
    pub fn new(rig: &Rig) -> Balance {
        let count = rig.solids.len();
        let mut holds = vec![None; count];
        let mut leads = vec![false; count];
        for joint in &rig.joints {
            if let (Kind::Pose(solid), [End::Solid(parent), _]) = (joint.kind, joint.ends) {
                let ends = [joint.ends, [joint.ends[1], joint.ends[0]]];
                let pair = |j: &&Joint| !matches!(j.kind, Kind::Pose(_)) && ends.contains(&j.ends);
                let Some(held) = rig.joints.iter().find(pair) else { continue };
                let side = usize::from(held.ends[1] == End::Solid(solid));
                holds[solid] = Some((parent as u32, held.frames[side]));
                leads[parent] = true;
            }
        }
        if !leads.contains(&true) {
            return Balance::default();
        }
        (0..count).filter(|i| holds[*i].is_some()).for_each(|i| leads[i] = false);
        let chases = |i: usize| {
            let solid = &rig.solids[i];
            solid.position_target.is_some() && matches!(solid.frame, Frame::Solid(_))
        };
        let alone = (0..count).map(|i| chases(i) && holds[i].is_none() && !leads[i]).collect();
        Balance {
            holds,
            leads,
            alone,
            beyond: vec![(0.0, DVec3::ZERO); count],
            needs: vec![(DVec3::ZERO, DVec3::ZERO); count],
            ahead: Ahead::new(count),
        }
    }

    /// Whether a solid is a muscle's, or leads some.
    #[inline]
    pub fn knows(&self, solid: usize) -> bool {
        self.holds.get(solid).is_some_and(|h| h.is_some() || self.leads[solid])
    }

    /// Whether a solid can see its keys coming.
    fn sees(&self, solid: usize) -> bool {
        self.knows(solid) || self.alone.get(solid).is_some_and(|a| *a)
    }

    /// What leads the tree that a solid is of, if it is of one.
    pub fn lead(&self, solid: usize) -> Option<usize> {
        let mut lead = solid;
        while let Some((parent, _)) = self.holds.get(lead).copied().flatten() {
            lead = parent as usize;
        }
        self.leads.get(lead).copied().unwrap_or(false).then_some(lead)
    }

    /// What a solid is guided against, and the joint between the two in the solid's frame.
    pub fn joint(&self, solid: usize) -> Option<(usize, Placement)> {
        self.holds.get(solid).copied().flatten().map(|(parent, joint)| (parent as usize, joint))
    }

    /// Has the muscles of these solids, parents before children, begin to hold what hangs on them.
    pub fn begin(&mut self, rig: &Rig, state: &mut State, solids: &[u32]) {
        let start = state.time;
        for &i in solids {
            if self.knows(i as usize) {
                let s = &mut state.solids[i as usize];
                (s.force.correction, s.torque.correction) = (DVec3::ZERO, DVec3::ZERO);
            }
        }
        let knows = |i: usize| f64::from(u8::from(rig.drive(i, start).compensation > 0.0));
        let stiffness = |i: usize| rig.drive(i, start).stiffness * rig.solids[i].inertia.max_element();
        let leads: Vec<Option<usize>> = (0..rig.solids.len()).map(|i| self.lead(i)).collect();
        let helped = |i: usize| leads[i].map_or(0.0, |lead| rig.drive(lead, start).balance);
        self.hold(rig, state, solids, knows, helped, stiffness);
    }

    /// Has them go on with the pose as it is now; each by as much as `share` says of its settings, or as it knows of its
    /// weight: all but what lets it sag, against its `stiffness` (torque per rad), by an angle.
    pub fn hold(
        &mut self,
        rig: &Rig,
        state: &mut State,
        solids: &[u32],
        share: impl Fn(usize) -> f64,
        helped: impl Fn(usize) -> f64,
        stiffness: impl Fn(usize) -> f64,
    ) {
        if self.holds.is_empty() {
            return;
        }
        let gravity = rig.world.gravity * rig.world.gravity_scale.at(state.time);
        for &i in solids {
            let mass = rig.solids[i as usize].mass;
            self.beyond[i as usize] = (mass, state.solids[i as usize].position * mass);
        }
        for &i in solids.iter().rev() {
            let Some((parent, _)) = self.holds[i as usize] else { continue };
            let (mass, moment) = self.beyond[i as usize];
            let all = &mut self.beyond[parent as usize];
            *all = (all.0 + mass, all.1 + moment);
        }
        for &i in solids {
            let i = i as usize;
            let solid = &rig.solids[i];
            let (mass, moment) = self.beyond[i];
            let s = &mut state.solids[i];
            let about = |p: DVec3| (moment / mass - p).cross(gravity * -mass);
            // What a helping hand carries they need not.
            let about = |p: DVec3| about(p) * (1.0 - helped(i));
            let (force, torque) = match self.holds[i] {
                Some((_, joint)) => (DVec3::ZERO, about(s.placement().then(&joint).position)),
                None if self.leads[i] => (
                    if solid.position_target.is_some() {
                        gravity * (-mass * (1.0 - helped(i)))
                    } else {
                        DVec3::ZERO
                    },
                    if solid.rotation_target.is_some() { about(s.position) } else { DVec3::ZERO },
                ),
                None => continue,
            };
            if !solid.start_balanced {
                continue;
            }
            let share = solid.weight.share.unwrap_or_else(|| share(i));
            let sags = solid.weight.sag * stiffness(i);
            let torque = match sags > 0.0 {
                true => torque * (1.0 - sags / torque.length().max(sags)),
                false => torque,
            };
            for (memory, weight) in [(&mut s.force, force), (&mut s.torque, torque)] {
                memory.correction += (weight - memory.weight) * share;
                memory.weight = weight;
            }
        }
    }

    /// Has them pull as much of what their keys need in a step as they anticipate.
    pub fn anticipate(&mut self, rig: &Rig, state: &mut State, solids: &[u32], drives: &[Drive], step: Span) {
        let wanted = |i: &u32| self.sees(*i as usize) && drives[*i as usize].anticipation > 0.0;
        if self.holds.is_empty() || step.h <= 0.0 {
            return;
        }
        if !solids.iter().any(wanted) {
            for &i in solids.iter().filter(|i| self.sees(**i as usize)) {
                let s = &mut state.solids[i as usize];
                (s.force.ahead, s.torque.ahead) = (DVec3::ZERO, DVec3::ZERO);
            }
            return;
        }
        // Near by, so that places far from the origin cost no digits.
        let origin = state.solids[solids[0] as usize].position;
        for &i in solids {
            let i = i as usize;
            let (force, torque) = if self.sees(i) { self.ahead.needs(rig, i, step) } else { continue };
            self.needs[i] = (force, torque + (state.solids[i].position - origin).cross(force));
        }
        for &i in solids.iter().rev() {
            let Some((parent, _)) = self.holds[i as usize] else { continue };
            let (force, torque) = self.needs[i as usize];
            let all = &mut self.needs[parent as usize];
            *all = (all.0 + force, all.1 + torque);
        }
        for &i in solids {
            let i = i as usize;
            let solid = &rig.solids[i];
            let timed = |t: Option<usize>| t.is_some_and(|t| rig.trackers[t].timing == Timing::Timed);
            let share = drives[i].anticipation;
            let s = &mut state.solids[i];
            let (force, torque) = if self.sees(i) { self.needs[i] } else { continue };
            let about = |p: DVec3| torque - (p - origin).cross(force);
            (s.force.ahead, s.torque.ahead) = match self.holds[i] {
                Some((_, joint)) => (DVec3::ZERO, about(s.placement().then(&joint).position)),
                None => (force, about(s.position)),
            };
            s.force.ahead *= if timed(solid.position_target) { share } else { 0.0 };
            s.torque.ahead *= if timed(solid.rotation_target) { share } else { 0.0 };
        }
    }
}
