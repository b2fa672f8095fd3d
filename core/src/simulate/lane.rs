//! A lane: what one thread needs to step clusters.

use super::balance::Balance;
use super::carriers::Carriers;
use super::cluster::{Cluster, Clusters};
use super::constrain::Yield;
use super::help::Help;
use super::linkage::Linkages;
use super::shift::Shift;
use super::state::at_start;
use super::step::step_cluster;
use super::stretch::Leg;
use super::touch::Touch;
use super::{SolidState, State, Touched};
use crate::actuator::{Kept, Saturation};
use crate::rig::{Drive, Rig};
use std::sync::Arc;

/// Scratch of one thread.
#[derive(Clone, Debug)]
pub struct Lane {
    pub drives: Vec<Drive>,
    pub responses: Vec<Kept>,
    pub limits: Vec<f64>,
    pub air: super::air::Air,
    pub linkages: Linkages,
    pub balance: Balance,
    pub help: Help,
    pub touch: Option<Touch>,
    /// How bodies gave way to their actuators in their free motion.
    pub yields: Vec<Yield>,
    /// How the actuators of each body, force and torque, are kept to their limits in this step.
    pub saturation: Vec<[Saturation; 2]>,
    /// Whose drives a blow had softened in the step before.
    pub softened: Vec<bool>,
    /// The bodies before they moved.
    pub before: Vec<SolidState>,
    /// Room to go back to the start of a step.
    kept: State,
    pub notes: Notes,
    /// What it takes clusters through several steps with; `None` while it does.
    steps: Option<Box<Shift>>,
}

/// What a lane has done.
#[derive(Clone, Debug)]
pub struct Notes {
    /// Contacts of the clusters that have taken their step.
    pub done: Vec<Touched>,
    /// These clusters.
    pub pieces: Vec<Piece>,
}

impl Notes {
    /// Room for those of a rig, in a state like this.
    pub fn with_room(rig: &Rig, state: &State) -> Notes {
        Notes {
            done: Vec::with_capacity(state.touched.capacity()),
            pieces: Vec::with_capacity(rig.solids.len() + 1),
        }
    }
}

/// A cluster that has taken its step, and how many strikes, halvings and contacts were noted by then.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub cluster: u32,
    pub noted: [usize; 3],
}

impl Lane {
    /// Scratch for a rig.
    pub fn new(rig: &Rig, carriers: Option<&Arc<Carriers>>) -> Lane {
        let start = at_start(rig);
        let linkages = Linkages::new(rig);
        let balance = Balance::new(rig);
        Lane {
            saturation: vec![[Saturation::Alone; 2]; rig.solids.len()],
            drives: (0..rig.solids.len()).map(|i| rig.drive(i, rig.range.start())).collect(),
            responses: vec![Kept::default(); rig.solids.len()],
            limits: vec![f64::INFINITY; rig.trackers.len()],
            air: super::air::Air::new(rig),
            help: Help::new(rig, |i| balance.lead(i)),
            balance,
            touch: carriers.map(|c| Touch::new(rig, c.clone(), &linkages)),
            steps: Some(Box::new(Shift::new(rig, &linkages, carriers))),
            linkages,
            yields: vec![Yield::default(); rig.solids.len()],
            softened: vec![false; rig.solids.len()],
            before: start.solids.clone(),
            notes: Notes::with_room(rig, &start),
            kept: start,
        }
    }

    /// Remembers a cluster, but for its bodies: `before` has these.
    pub fn keep(&mut self, rig: &Rig, state: &State, cluster: &Cluster<'_>) {
        self.kept.time = state.time;
        copy(rig, state, &mut self.kept, cluster, false);
        self.kept.touched.clone_from(&state.touched);
        self.kept.parted.clone_from(&state.parted);
    }

    /// Goes back to there.
    pub fn go_back(&mut self, rig: &Rig, state: &mut State, cluster: &Cluster<'_>) {
        state.time = self.kept.time;
        copy(rig, &self.kept, state, cluster, false);
        cluster.solids.iter().for_each(|i| state.solids[*i as usize] = self.before[*i as usize]);
        state.touched.clone_from(&self.kept.touched);
        state.parted.clone_from(&self.kept.parted);
    }
}

/// Copies what a cluster has from one state to another: its bodies, too, with `solids`.
pub fn copy(rig: &Rig, from: &State, to: &mut State, cluster: &Cluster<'_>, solids: bool) {
    for &i in cluster.solids {
        let i = i as usize;
        if solids {
            to.solids[i] = from.solids[i];
        }
        to.still[i] = from.still[i];
        to.pace[i] = from.pace[i];
        to.released[i] = from.released[i];
        for t in [rig.solids[i].position_target, rig.solids[i].rotation_target].into_iter().flatten() {
            to.targets[t] = from.targets[t];
        }
    }
    for &j in cluster.joints {
        to.joints[j as usize] = from.joints[j as usize];
    }
}

impl Lane {
    /// Takes clusters through these steps one after the other; in a state of its own, if they are to come `from` somewhere
    /// else.
    pub fn run(
        &mut self,
        rig: &Rig,
        state: &mut State,
        clusters: &Clusters,
        (order, from): (&[u32], Option<&State>),
        legs: &[Leg],
    ) {
        let start = state.time;
        let several = clusters.count() > 1;
        self.notes.pieces.clear();
        for &c in order {
            let cluster = clusters.get(c as usize);
            if let Some(from) = from {
                copy(rig, from, state, &cluster, true);
            }
            state.time = start;
            if several {
                state.touched.clear();
                state.touched.extend_from_slice(clusters.touched(c as usize));
            }
            match (legs, self.steps.take()) {
                ([_, _, ..], Some(mut steps)) => {
                    steps.take_through(rig, state, self, (clusters, c as usize), legs);
                    self.steps = Some(steps);
                }
                (_, steps) => {
                    self.steps = steps;
                    legs.iter().for_each(|leg| self.step(rig, state, &cluster, leg.dt));
                }
            }
            if several {
                self.notes.done.append(&mut state.touched);
                let noted = [state.strikes.len(), state.halved.len(), self.notes.done.len()];
                self.notes.pieces.push(Piece { cluster: c, noted });
            }
        }
        state.time = start;
    }

    /// Takes one cluster through a step.
    fn step(&mut self, rig: &Rig, state: &mut State, cluster: &Cluster<'_>, dt: f64) {
        if !state.touched.is_sorted_by_key(|t| (t.colliders, t.nth)) {
            state.touched.sort_unstable_by_key(|t| (t.colliders, t.nth));
        }
        let rests = self.touch.as_ref().is_some_and(|t| t.rests(rig, state, cluster));
        if rests {
            let h = dt * rig.world.time_scale.at(state.time);
            cluster.solids.iter().for_each(|s| state.still[*s as usize] += h);
            return;
        }
        if let Some(t) = &mut self.touch {
            t.enter(cluster);
        }
        self.linkages.enter(cluster.linkages);
        step_cluster(rig, state, self, cluster, dt);
        self.linkages.leave(cluster.linkages);
        if let (Some(t), false) = (&mut self.touch, cluster.alone) {
            t.leave(cluster);
        }
    }
}
