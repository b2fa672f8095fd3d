//! All clusters of a step, or of several, by as many lanes side by side as there are threads.
//!
//! Each lane has clusters of about the same cost. The first works on the state itself. Others have a state of their own,
//! into which their clusters are copied and from which they come back; what they note is put into the clusters' order.

use super::carriers::Carriers;
use super::cluster::Clusters;
use super::lane::{Lane, Notes, Piece, copy};
use super::linkage::Linkages;
use super::state::{Halved, at_start};
use super::stretch::Leg;
use super::{State, Strike, Touched};
use crate::contact::Bounds;
use crate::rig::Rig;
use rayon::prelude::*;
use std::sync::Arc;

/// Below this cost a step is over before another thread has begun.
const WORTH: usize = 400;

/// So many bodies are copied by one thread.
const CHUNK: usize = 256;

/// The clusters, and room to step them.
#[derive(Clone, Debug)]
pub struct Shift {
    pub clusters: Clusters,
    /// Room to go back to the start.
    start: State,
    /// Clusters to be stepped.
    order: Vec<u32>,
    /// Those that were, each with its lane and what had been noted there before it.
    pieces: Vec<(Piece, usize, [usize; 3])>,
    strikes: Vec<Strike>,
    halved: Vec<Halved>,
    done: Vec<Touched>,
    /// Of the lane that this is a part of, while it has the lane: what that had noted, and who went further than it knew.
    notes: Notes,
    beyond: Vec<(u32, Bounds)>,
}

impl Shift {
    /// Room for the clusters of a rig.
    pub fn new(rig: &Rig, linkages: &Linkages, carriers: Option<&Arc<Carriers>>) -> Shift {
        let start = at_start(rig);
        Shift {
            clusters: Clusters::new(rig, linkages, carriers.cloned()),
            order: Vec::with_capacity(rig.solids.len() + 1),
            pieces: Vec::with_capacity(rig.solids.len() + 1),
            strikes: Vec::with_capacity(start.strikes.capacity()),
            halved: Vec::with_capacity(start.halved.capacity()),
            done: Vec::with_capacity(start.touched.capacity()),
            notes: Notes::with_room(rig, &start),
            beyond: Vec::with_capacity(16),
            start,
        }
    }

    /// Takes up those that are new, or all; what they cost together.
    fn take_up(&mut self, only_new: bool) -> usize {
        let Shift { clusters, order, .. } = self;
        order.clear();
        order.extend((0..clusters.count() as u32).filter(|c| !only_new || clusters.is_new(*c as usize)));
        order.iter().map(|c| clusters.cost(*c as usize)).sum()
    }

    /// Takes one cluster of `others` through several steps, by itself. `lane` is this one's.
    pub fn take_through(
        &mut self,
        rig: &Rig,
        state: &mut State,
        lane: &mut Lane,
        (others, cluster): (&Clusters, usize),
        legs: &[Leg],
    ) {
        self.clusters.enter(others, cluster);
        self.change_over(lane);
        for leg in legs {
            let leg = std::slice::from_ref(leg);
            self.clusters.find(rig, state, leg, false, false);
            self.run(rig, state, lane, &mut [], leg);
            state.time = leg[0].end;
            self.clusters.went_beyond(others, &mut self.beyond);
        }
        self.change_over(lane);
    }

    /// Puts what a lane has noted aside, or back.
    fn change_over(&mut self, lane: &mut Lane) {
        std::mem::swap(&mut self.notes, &mut lane.notes);
        if let Some(touch) = &mut lane.touch {
            std::mem::swap(&mut self.beyond, &mut touch.went);
        }
    }

    /// Takes all clusters through these steps.
    pub fn run(
        &mut self,
        rig: &Rig,
        state: &mut State,
        lane: &mut Lane,
        others: &mut [(State, Lane)],
        legs: &[Leg],
    ) {
        let start = state.time;
        lane.notes.done.clear();
        if self.clusters.count() <= 1 {
            let order = if self.clusters.count() == 1 { &[0_u32][..] } else { &[] };
            lane.run(rig, state, &self.clusters, (order, None), legs);
            if let Some(touch) = &mut lane.touch {
                self.clusters.note(&touch.went);
                touch.went.clear();
            }
            return;
        }
        self.remember(rig, state, !others.is_empty());
        std::mem::swap(&mut self.start.touched, &mut state.touched);
        let (strikes, halved) = (state.strikes.len(), state.halved.len());
        let mut again = false;
        loop {
            let cost = self.take_up(again) * legs.len();
            let helpers = if cost < WORTH { 0 } else { others.len() };
            self.step_clusters(rig, state, lane, &mut others[..helpers], legs);
            let Some(touch) = &mut lane.touch else { break };
            again = !touch.went.is_empty() && self.clusters.merge(rig, &self.start, legs, &touch.went);
            touch.went.clear();
            if !again {
                break;
            }
            let clusters = &self.clusters;
            for c in (0..clusters.count()).filter(|c| clusters.is_new(*c)) {
                copy(rig, &self.start, state, &clusters.get(c), true);
            }
            if let Some(touch) = &lane.touch {
                touch.forget_parting(&self.start, state, |body| {
                    clusters.has(body) && clusters.is_new(clusters.of_solid(body))
                });
            }
            let stays = |c: u32| clusters.of_collider(c).is_none_or(|of| !clusters.is_new(of as usize));
            lane.notes.done.retain(|t| t.colliders.iter().all(|c| stays(*c)));
            retain_from(&mut state.strikes, strikes, |s| s.colliders.iter().all(|c| stays(*c)));
            retain_from(&mut state.halved, halved, |h| !clusters.is_new(clusters.of_solid(h.cause.solid())));
            state.time = start;
        }
        std::mem::swap(&mut state.touched, &mut lane.notes.done);
    }

    /// Makes room to go back to, should clusters prove to be one. Many bodies, several threads copy.
    fn remember(&mut self, rig: &Rig, state: &State, several: bool) {
        let Shift { start, clusters, .. } = self;
        start.time = state.time;
        start.parted.clone_from(&state.parted);
        if clusters.is_part() {
            (0..clusters.count()).for_each(|c| copy(rig, state, start, &clusters.get(c), true));
            return;
        }
        if several && start.solids.len() == state.solids.len() {
            let into = start.solids.par_chunks_mut(CHUNK).zip(state.solids.par_chunks(CHUNK));
            into.for_each(|(to, from)| to.copy_from_slice(from));
        } else {
            start.solids.clone_from(&state.solids);
        }
        start.targets.clone_from(&state.targets);
        start.joints.clone_from(&state.joints);
        start.still.clone_from(&state.still);
        start.pace.clone_from(&state.pace);
        start.released.clone_from(&state.released);
    }

    /// Steps the clusters that were taken up, with the help of other lanes.
    fn step_clusters(
        &mut self,
        rig: &Rig,
        state: &mut State,
        lane: &mut Lane,
        others: &mut [(State, Lane)],
        legs: &[Leg],
    ) {
        let Shift { clusters, start, order, pieces, .. } = self;
        if others.is_empty() {
            lane.run(rig, state, clusters, (order, None), legs);
            return;
        }
        for (own, l) in others.iter_mut() {
            own.time = start.time;
            own.parted.clone_from(&state.parted);
            own.strikes.clear();
            own.halved.clear();
            l.notes.done.clear();
        }
        let noted = [state.strikes.len(), state.halved.len(), lane.notes.done.len()];
        let lanes = 1 + others.len();
        let share = |k: usize| shared_out(clusters, order, k, lanes);
        rayon::join(
            || lane.run(rig, state, clusters, (share(0), None), legs),
            || {
                others.par_iter_mut().enumerate().for_each(|(k, (own, l)): (usize, &mut (State, Lane))| {
                    l.run(rig, own, clusters, (share(k + 1), Some(start)), legs);
                });
            },
        );
        // What lanes noted, in the order of the clusters.
        pieces.clear();
        let mut gather = |which: usize, of: &[Piece], mut before: [usize; 3]| {
            for piece in of {
                pieces.push((*piece, which, before));
                before = piece.noted;
            }
        };
        gather(0, &lane.notes.pieces, noted);
        others.iter().enumerate().for_each(|(k, (_, l))| gather(1 + k, &l.notes.pieces, [0; 3]));
        pieces.sort_unstable_by_key(|(piece, ..)| piece.cluster);
        self.strikes.clear();
        self.halved.clear();
        self.done.clear();
        for (Piece { cluster, noted }, which, before) in pieces {
            let (own, l) = match which.checked_sub(1) {
                None => (&*state, &*lane),
                Some(k) => (&others[k].0, &others[k].1),
            };
            self.strikes.extend_from_slice(&own.strikes[before[0]..noted[0]]);
            self.halved.extend_from_slice(&own.halved[before[1]..noted[1]]);
            self.done.extend_from_slice(&l.notes.done[before[2]..noted[2]]);
            if let Some(k) = which.checked_sub(1) {
                let (cluster, (own, l)) = (clusters.get(*cluster as usize), &others[k]);
                copy(rig, own, state, &cluster, true);
                cluster.linkages.iter().for_each(|k| lane.linkages.copy_open(*k, &l.linkages));
            }
        }
        replace_from(&mut state.strikes, noted[0], &mut self.strikes);
        replace_from(&mut state.halved, noted[1], &mut self.halved);
        replace_from(&mut lane.notes.done, noted[2], &mut self.done);
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
