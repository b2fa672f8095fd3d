//! A lane: what one thread needs to step clusters, and the lanes of a workspace side by side.
//!
//! The first lane works on the state itself. Others have a state of their own, into which their clusters are copied and
//! from which they come back; which lane takes which cluster has no effect on the result.

use super::balance::Balance;
use super::carriers::Carriers;
use super::cluster::{Cluster, Clusters};
use super::constrain::Yield;
use super::help::Help;
use super::linkage::Linkages;
use super::state::{MOST_HALVED, at_start};
use super::step::step_cluster;
use super::touch::Touch;
use super::{SolidState, State, Touched, Workspace};
use crate::actuator::Kept;
use crate::rig::{Drive, Rig};
use rayon::prelude::*;
use std::ops::Range;
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
    /// The bodies before they moved.
    pub before: Vec<SolidState>,
    /// Room to go back to the start of a step.
    kept: State,
    /// Contacts of the clusters that have taken their step.
    done: Vec<Touched>,
    /// Its clusters.
    clusters: Range<usize>,
}

impl Lane {
    /// Scratch for a rig.
    pub fn new(rig: &Rig, carriers: Option<&Arc<Carriers>>) -> Lane {
        let start = at_start(rig);
        let linkages = Linkages::new(rig);
        let balance = Balance::new(rig);
        Lane {
            drives: (0..rig.solids.len()).map(|i| rig.drive(i, rig.range.start())).collect(),
            responses: vec![Kept::default(); rig.solids.len()],
            limits: vec![f64::INFINITY; rig.trackers.len()],
            air: super::air::Air::new(rig),
            help: Help::new(rig, |i| balance.lead(i)),
            balance,
            touch: carriers.map(|c| Touch::new(rig, c.clone(), &linkages)),
            linkages,
            yields: vec![Yield::default(); rig.solids.len()],
            before: start.solids.clone(),
            done: Vec::with_capacity(start.touched.capacity()),
            kept: start,
            clusters: 0..0,
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
fn copy(rig: &Rig, from: &State, to: &mut State, cluster: &Cluster<'_>, solids: bool) {
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

/// Below this cost a step is over before another thread has begun.
const WORTH: usize = 400;

impl Workspace {
    /// Steps all clusters.
    pub(super) fn run(&mut self, rig: &Rig, state: &mut State, dt: f64) {
        let start = state.time;
        let several = self.clusters.count() > 1;
        let (lane, others) = (&mut self.lane, &mut self.others);
        lane.done.clear();
        others.iter_mut().for_each(|(_, l)| l.done.clear());
        if !several {
            lane.clusters = 0..self.clusters.count();
            lane.run(rig, state, &self.clusters, |_| true, dt);
            return;
        }
        // Room to go back to, should clusters prove to be one.
        self.start.solids.clone_from(&state.solids);
        self.start.targets.clone_from(&state.targets);
        self.start.joints.clone_from(&state.joints);
        self.start.still.clone_from(&state.still);
        self.start.pace.clone_from(&state.pace);
        self.start.released.clone_from(&state.released);
        self.start.parted.clone_from(&state.parted);
        std::mem::swap(&mut self.start.touched, &mut state.touched);
        let (strikes, halved) = (state.strikes.len(), state.halved.len());
        let mut again = false;
        loop {
            let clusters = &self.clusters;
            let wanted = |c: usize| !again || clusters.is_new(c);
            let all = clusters.count();
            let cost: usize = (0..all).filter(|c| wanted(*c)).map(|c| clusters.cost(c)).sum();
            let lanes = if cost < WORTH { 1 } else { 1 + others.len() };
            share_out(lane, others, clusters, wanted, cost, lanes);
            for (own, l) in others[..lanes - 1].iter_mut() {
                own.time = start;
                own.parted.clone_from(&state.parted);
                own.strikes.clear();
                own.halved.clear();
                for c in l.clusters.clone().filter(|c| wanted(*c)) {
                    copy(rig, state, own, &clusters.get(c), true);
                }
            }
            match lanes {
                1 => lane.run(rig, state, clusters, wanted, dt),
                _ => {
                    let others = &mut others[..lanes - 1];
                    rayon::join(
                        || lane.run(rig, state, clusters, wanted, dt),
                        || others.par_iter_mut().for_each(|(own, l)| l.run(rig, own, clusters, wanted, dt)),
                    );
                }
            }
            for (own, l) in others[..lanes - 1].iter_mut() {
                for c in l.clusters.clone().filter(|c| wanted(*c)) {
                    let cluster = clusters.get(c);
                    copy(rig, own, state, &cluster, true);
                    cluster.linkages.iter().for_each(|k| lane.linkages.copy_open(*k, &l.linkages));
                }
                for (all, own) in state.parted.iter_mut().zip(&own.parted) {
                    *all |= *own;
                }
                state.strikes.append(&mut own.strikes);
                state.halved.append(&mut own.halved);
                state.halved.truncate(MOST_HALVED);
                lane.done.append(&mut l.done);
                if let (Some(t), Some(o)) = (&mut lane.touch, &mut l.touch) {
                    t.went.append(&mut o.went);
                }
            }
            let Some(touch) = &mut lane.touch else { break };
            again = !touch.went.is_empty() && self.clusters.merge(rig, &self.start, &touch.went);
            touch.went.clear();
            if !again {
                break;
            }
            let clusters = &self.clusters;
            for c in (0..clusters.count()).filter(|c| clusters.is_new(*c)) {
                copy(rig, &self.start, state, &clusters.get(c), true);
            }
            let stays = |c: u32| clusters.of_collider(c).is_none_or(|of| !clusters.is_new(of as usize));
            lane.done.retain(|t| t.colliders.iter().all(|c| stays(*c)));
            retain_from(&mut state.strikes, strikes, |s| s.colliders.iter().all(|c| stays(*c)));
            retain_from(&mut state.halved, halved, |h| !clusters.is_new(clusters.of_solid(h.cause.solid())));
            state.time = start;
        }
        std::mem::swap(&mut state.touched, &mut lane.done);
    }
}

/// Keeps all before `first`, and of the others those that stay.
fn retain_from<T>(all: &mut Vec<T>, first: usize, stays: impl Fn(&T) -> bool) {
    let mut at = 0;
    all.retain(|x| {
        at += 1;
        at <= first || stays(x)
    });
}

/// Gives each of the first `lanes` clusters of about the same cost, one after the other, so that they keep them from step
/// to step.
fn share_out(
    lane: &mut Lane,
    others: &mut [(State, Lane)],
    clusters: &Clusters,
    wanted: impl Fn(usize) -> bool,
    cost: usize,
    lanes: usize,
) {
    let mut next = 0;
    let mut spent = 0;
    let mut take = |k: usize| {
        let first = next;
        while next < clusters.count() && (k + 1 == lanes || spent * lanes < cost * (k + 1)) {
            spent += if wanted(next) { clusters.cost(next) } else { 0 };
            next += 1;
        }
        first..next
    };
    lane.clusters = take(0);
    for (k, (_, l)) in others.iter_mut().enumerate() {
        l.clusters = if k + 1 < lanes { take(k + 1) } else { 0..0 };
    }
}

impl Lane {
    /// Steps its clusters, those that are wanted.
    fn run(
        &mut self,
        rig: &Rig,
        state: &mut State,
        clusters: &Clusters,
        wanted: impl Fn(usize) -> bool,
        dt: f64,
    ) {
        let start = state.time;
        let several = clusters.count() > 1;
        for c in self.clusters.clone().filter(|c| wanted(*c)) {
            let cluster = clusters.get(c);
            state.time = start;
            if several {
                state.touched.clear();
                state.touched.extend_from_slice(clusters.touched(c));
            }
            if !state.touched.is_sorted_by_key(|t| (t.colliders, t.nth)) {
                state.touched.sort_unstable_by_key(|t| (t.colliders, t.nth));
            }
            let rests = self.touch.as_ref().is_some_and(|t| t.rests(rig, state, &cluster));
            if rests {
                let h = dt * rig.world.time_scale.at(start);
                cluster.solids.iter().for_each(|s| state.still[*s as usize] += h);
            } else {
                if let Some(t) = &mut self.touch {
                    t.enter(&cluster);
                }
                self.linkages.enter(cluster.linkages);
                step_cluster(rig, state, self, &cluster, dt);
                self.linkages.leave(cluster.linkages);
                if let (Some(t), true) = (&mut self.touch, several) {
                    t.leave(&cluster);
                }
            }
            if several {
                self.done.append(&mut state.touched);
            }
        }
        state.time = start;
    }
}
