//! All clusters of a step, by as many lanes side by side as there are threads.
//!
//! Each lane has clusters of about the same cost. The first works on the state itself. Others have a state of their own,
//! into which their clusters are copied and from which they come back; what they note is put into the clusters' order.

use super::cluster::Clusters;
use super::lane::{Lane, Piece, copy};
use super::state::{Halved, MOST_HALVED};
use super::{State, Strike, Touched, Workspace};
use crate::rig::Rig;
use rayon::prelude::*;

/// Below this cost a step is over before another thread has begun.
const WORTH: usize = 400;

/// So many bodies are copied by one thread.
const CHUNK: usize = 256;

/// Scratch.
#[derive(Clone, Debug, Default)]
pub struct Shift {
    /// Clusters to be stepped.
    order: Vec<u32>,
    /// Those that were, each with its lane and what had been noted there before it.
    pieces: Vec<(Piece, usize, [usize; 3])>,
    strikes: Vec<Strike>,
    halved: Vec<Halved>,
    done: Vec<Touched>,
}

impl Shift {
    /// Room for the clusters of a rig, and what they note in a state like this.
    pub fn with_room(rig: &Rig, state: &State) -> Shift {
        Shift {
            order: Vec::with_capacity(rig.solids.len() + 1),
            pieces: Vec::with_capacity(rig.solids.len() + 1),
            strikes: Vec::with_capacity(state.strikes.capacity()),
            halved: Vec::with_capacity(2 * MOST_HALVED),
            done: Vec::with_capacity(state.touched.capacity()),
        }
    }

    /// Takes up those that are new, or all; what they cost together.
    fn take_up(&mut self, clusters: &Clusters, only_new: bool) -> usize {
        let all = 0..clusters.count();
        self.order.clear();
        self.order.extend(all.filter(|c| !only_new || clusters.is_new(*c)).map(|c| c as u32));
        self.order.iter().map(|c| clusters.cost(*c as usize)).sum()
    }
}

impl Workspace {
    /// Steps all clusters.
    pub(super) fn run(&mut self, rig: &Rig, state: &mut State, dt: f64) {
        let start = state.time;
        self.lane.done.clear();
        if self.clusters.count() <= 1 {
            let order = if self.clusters.count() == 1 { &[0_u32][..] } else { &[] };
            self.lane.run(rig, state, &self.clusters, (order, None), dt);
            return;
        }
        // Room to go back to, should clusters prove to be one.
        self.start.time = start;
        if self.others.is_empty() || self.start.solids.len() != state.solids.len() {
            self.start.solids.clone_from(&state.solids);
        } else {
            let into = self.start.solids.par_chunks_mut(CHUNK).zip(state.solids.par_chunks(CHUNK));
            into.for_each(|(to, from)| to.copy_from_slice(from));
        }
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
            let cost = self.shift.take_up(&self.clusters, again);
            self.step_clusters(rig, state, if cost < WORTH { 1 } else { 1 + self.others.len() }, dt);
            let Some(touch) = &mut self.lane.touch else { break };
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
            self.lane.done.retain(|t| t.colliders.iter().all(|c| stays(*c)));
            retain_from(&mut state.strikes, strikes, |s| s.colliders.iter().all(|c| stays(*c)));
            retain_from(&mut state.halved, halved, |h| !clusters.is_new(clusters.of_solid(h.cause.solid())));
            state.time = start;
        }
        std::mem::swap(&mut state.touched, &mut self.lane.done);
    }

    /// Steps the clusters that were taken up, in so many lanes.
    fn step_clusters(&mut self, rig: &Rig, state: &mut State, lanes: usize, dt: f64) {
        let Workspace { clusters, lane, others, start, shift, .. } = self;
        if lanes == 1 {
            lane.run(rig, state, clusters, (&shift.order, None), dt);
            return;
        }
        let others = &mut others[..lanes - 1];
        for (own, l) in others.iter_mut() {
            own.time = start.time;
            own.parted.clone_from(&state.parted);
            own.strikes.clear();
            own.halved.clear();
            l.done.clear();
        }
        let noted = [state.strikes.len(), state.halved.len(), lane.done.len()];
        let order = &shift.order;
        let share = |k: usize| shared_out(clusters, order, k, lanes);
        rayon::join(
            || lane.run(rig, state, clusters, (share(0), None), dt),
            || {
                others.par_iter_mut().enumerate().for_each(|(k, (own, l)): (usize, &mut (State, Lane))| {
                    l.run(rig, own, clusters, (share(k + 1), Some(start)), dt);
                });
            },
        );
        // What lanes noted, in the order of the clusters.
        shift.pieces.clear();
        let mut gather = |which: usize, pieces: &[Piece], mut before: [usize; 3]| {
            for piece in pieces {
                shift.pieces.push((*piece, which, before));
                before = piece.noted;
            }
        };
        gather(0, &lane.pieces, noted);
        others.iter().enumerate().for_each(|(k, (_, l))| gather(1 + k, &l.pieces, [0; 3]));
        shift.pieces.sort_unstable_by_key(|(piece, ..)| piece.cluster);
        shift.strikes.clear();
        shift.halved.clear();
        shift.done.clear();
        for (Piece { cluster, noted }, which, before) in &shift.pieces {
            let (own, l) = match which.checked_sub(1) {
                None => (&*state, &*lane),
                Some(k) => (&others[k].0, &others[k].1),
            };
            shift.strikes.extend_from_slice(&own.strikes[before[0]..noted[0]]);
            shift.halved.extend_from_slice(&own.halved[before[1]..noted[1]]);
            shift.done.extend_from_slice(&l.done[before[2]..noted[2]]);
            if let Some(k) = which.checked_sub(1) {
                let (cluster, (own, l)) = (clusters.get(*cluster as usize), &others[k]);
                copy(rig, own, state, &cluster, true);
                cluster.linkages.iter().for_each(|k| lane.linkages.copy_open(*k, &l.linkages));
            }
        }
        replace_from(&mut state.strikes, noted[0], &mut shift.strikes);
        replace_from(&mut state.halved, noted[1], &mut shift.halved);
        replace_from(&mut lane.done, noted[2], &mut shift.done);
        state.halved.truncate(MOST_HALVED);
        for (own, l) in others {
            for (all, own) in state.parted.iter_mut().zip(&own.parted) {
                *all |= *own;
            }
            if let (Some(t), Some(o)) = (&mut lane.touch, &mut l.touch) {
                t.went.append(&mut o.went);
            }
        }
    }
}

/// The part of a lane: clusters one after the other, of about the same cost as those of others, so that lanes keep theirs from
/// step to step.
fn shared_out<'a>(clusters: &Clusters, order: &'a [u32], lane: usize, lanes: usize) -> &'a [u32] {
    let cost = |c: &u32| clusters.cost(*c as usize);
    let all: usize = order.iter().map(cost).sum();
    let until = |k: usize| {
        let mut spent = 0;
        let goes_on = |c: &&u32| {
            let goes_on = k == lanes || spent * lanes < all * k;
            spent += cost(c);
            goes_on
        };
        order.iter().take_while(goes_on).count()
    };
    let from = if lane == 0 { 0 } else { until(lane) };
    &order[from..until(lane + 1).max(from)]
}

/// Keeps all before `first`, and has others follow.
fn replace_from<T>(all: &mut Vec<T>, first: usize, others: &mut Vec<T>) {
    all.truncate(first);
    all.append(others);
}

/// Keeps all before `first`, and of the others those that stay.
fn retain_from<T>(all: &mut Vec<T>, first: usize, stays: impl Fn(&T) -> bool) {
    let mut at = 0;
    all.retain(|x| {
        at += 1;
        at <= first || stays(x)
    });
}
