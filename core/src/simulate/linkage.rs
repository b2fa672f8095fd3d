//! Bodies that joints hold together, apart from all others: each linkage is solved by itself, so that what one does has no
//! effect on the digits of another, and several at a time.

use super::State;
use super::constrain::{Constraints, MOST_ANSWERING, Part, Rate, Room, Yield, constrain};
use super::state::at_start;
use crate::assemble::Mobility;
use crate::assemble::Square;
use crate::joint::{End, Kind};
use crate::rig::{Colliders, Drive, Rig};
use crate::setup::{Parts, Tier};
use glam::DVec3;
use std::ops::Range;
use std::time::Duration;

/// All linkages of a rig.
#[derive(Clone, Debug, Default)]
pub struct Linkages {
    pub all: Vec<Linkage>,
    /// Of each solid: its linkage and its number there.
    of: Vec<Option<(u32, u32)>>,
    /// Which solids have joints, and which an actuator that turns them against their parents.
    jointed: Vec<bool>,
    posed: Vec<bool>,
    /// How far each joint was open after the last step: scene units and rad.
    open: Vec<(f64, f64)>,
    most_answering: usize,
    /// Rooms that are nobody's at the moment, by the sizes of linkages. The last that was used is the first to be used again.
    free: Vec<Vec<Spare>>,
}

/// What a linkage needs in a step, and does not between steps: those of one size take turns.
#[derive(Clone, Debug)]
struct Spare {
    room: Room,
    state: State,
    drives: Vec<Drive>,
}

/// One linkage.
#[derive(Clone, Debug)]
pub struct Linkage {
    /// Its part of the rig, and a state to match, which are only there in a step; `None` for a rig that has no other linkage:
    /// then it is the whole.
    part: Option<(Rig, State, Vec<Drive>)>,
    /// Whose rooms fit.
    size: usize,
    /// Its solids, joints and targets, by their numbers in the rig, in order.
    pub solids: Vec<u32>,
    joints: Vec<u32>,
    targets: Vec<u32>,
    /// Where its solids and its targets are, if each lie side by side, as those of most figures do: then it works on these
    /// themselves instead of on copies.
    lies: Option<[Range<usize>; 2]>,
    constraints: Constraints,
    /// Its state is that of this step.
    taken: bool,
    /// Contacts know how it answers.
    answers: bool,
}

/// What a step is about: settings and free answers of all bodies, from when to when, and how long (s).
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub drives: &'a [Drive],
    pub yields: &'a [Yield],
    pub from: f64,
    pub to: f64,
    pub h: f64,
}

/// Parts of a rig that only joints connect: which linkage each solid and each joint is of.
fn connected(rig: &Rig) -> (Vec<Option<u32>>, Vec<Option<u32>>, usize) {
    let mut islands = super::islands::Islands::default();
    islands.begin(rig.solids.len());
    let solids_of = |j: usize| {
        rig.joints[j].ends.iter().filter_map(|e| match e {
            End::Solid(s) => Some(*s as u32),
            _ => None,
        })
    };
    for j in 0..rig.joints.len() {
        if let [a, b] = solids_of(j).collect::<Vec<_>>()[..] {
            islands.join(a, b);
        }
        // Rows between a body and its parent.
        if let (Kind::Pose(s), Some(a)) = (&rig.joints[j].kind, solids_of(j).next()) {
            islands.join(a, *s as u32);
        }
    }
    for (i, solid) in rig.solids.iter().enumerate() {
        // What is carried goes along when its carrier is put elsewhere.
        if let (false, crate::rig::Frame::Solid(s)) = (solid.simulate == Parts::Both, solid.hold.1) {
            islands.join(i as u32, s as u32);
        }
    }
    let mut number = vec![None; rig.solids.len()];
    let mut count = 0;
    let joints = (0..rig.joints.len())
        .map(|j| {
            let root = islands.of(solids_of(j).next()?) as usize;
            Some(*number[root].get_or_insert_with(|| {
                count += 1;
                count as u32 - 1
            }))
        })
        .collect();
    let solids = (0..rig.solids.len()).map(|i| number[islands.of(i as u32) as usize]).collect();
    (solids, joints, count)
}

impl Linkages {
    /// Room for a rig's joints.
    pub fn new(rig: &Rig) -> Linkages {
        let (solids, joints, count) = connected(rig);
        let mut of = vec![None; rig.solids.len()];
        let (mut jointed, mut posed) = (vec![false; rig.solids.len()], vec![false; rig.solids.len()]);
        for joint in &rig.joints {
            if let Kind::Pose(s) = joint.kind {
                posed[s] = true;
            }
            for end in joint.ends {
                if let End::Solid(s) = end {
                    jointed[s] = true;
                }
            }
        }
        let those = |all: &[Option<u32>], k: usize| -> Vec<u32> {
            (0..all.len() as u32).filter(|i| all[*i as usize] == Some(k as u32)).collect()
        };
        let mut all: Vec<Linkage> = (0..count)
            .map(|k| {
                let (solids, joints) = (those(&solids, k), those(&joints, k));
                let whole = count == 1;
                for (n, s) in solids.iter().enumerate() {
                    of[*s as usize] = Some((k as u32, if whole { *s } else { n as u32 }));
                }
                Linkage::new(rig, solids, joints, whole)
            })
            .collect();
        let most_answering = all.iter().filter(|l| l.answers).map(|l| l.solids.len()).max().unwrap_or(0);
        let (mut sizes, mut free) = (Vec::new(), Vec::new());
        for linkage in all.iter_mut().filter(|l| l.part.is_some()) {
            let size = (linkage.constraints.size(), linkage.targets.len());
            linkage.size = sizes.iter().position(|s| *s == size).unwrap_or_else(|| {
                sizes.push(size);
                free.push(Vec::new());
                sizes.len() - 1
            });
            // All may come to be in one cluster: there is a room for each.
            let spare = linkage.leave();
            free[linkage.size].extend(spare);
        }
        let open = vec![(0.0, 0.0); rig.joints.len()];
        Linkages { all, of, jointed, posed, open, most_answering, free }
    }

    /// Whether a body has joints.
    #[inline]
    pub fn holds(&self, solid: usize) -> bool {
        self.jointed[solid]
    }

    /// The linkage of a body.
    pub fn of(&self, solid: usize) -> Option<u32> {
        self.of[solid].map(|(k, _)| k)
    }

    /// Whether a body's actuator turns it against its parent.
    #[inline]
    pub fn poses(&self, solid: usize) -> bool {
        self.posed[solid]
    }

    /// How far each joint was open after the last step.
    pub fn open(&self) -> &[(f64, f64)] {
        &self.open
    }

    /// They are open by so much now.
    pub fn note_open(&mut self, open: &[(f64, f64)]) {
        self.open.copy_from_slice(open);
    }

    /// What joints of one are open after the last step.
    pub fn copy_open(&mut self, k: u32, other: &Linkages) {
        for j in &self.all[k as usize].joints {
            self.open[*j as usize] = other.open[*j as usize];
        }
    }

    /// Rounds of closing that the last step took, at most.
    pub fn rounds(&self) -> usize {
        self.all.iter().map(|l| l.constraints.clock.rounds()).max().unwrap_or(0)
    }

    /// Has steps with a time limit ask `now` for the time.
    pub fn ask_time(&mut self, now: fn() -> Duration) {
        self.all.iter_mut().for_each(|l| l.constraints.clock.ask(now));
    }

    /// Adds a force and a torque on a body throughout the step.
    #[inline]
    pub fn push(&mut self, solid: usize, force: DVec3, torque: DVec3) {
        if let Some((k, n)) = self.of[solid] {
            self.all[k as usize].constraints.push(n as usize, force, torque);
        }
    }

    /// Those of a cluster are about to be stepped: they get rooms.
    pub fn enter(&mut self, linkages: &[u32]) {
        for &k in linkages {
            let linkage = &mut self.all[k as usize];
            if let Some((_, state, drives)) = &mut linkage.part {
                let spare = self.free[linkage.size].pop().expect("as many rooms as linkages");
                (*state, *drives) = (spare.state, spare.drives);
                linkage.constraints.enter(spare.room);
            }
        }
    }

    /// They have been: others may have the rooms.
    pub fn leave(&mut self, linkages: &[u32]) {
        for &k in linkages.iter().rev() {
            let linkage = &mut self.all[k as usize];
            if let Some(spare) = linkage.leave() {
                self.free[linkage.size].push(spare);
            }
        }
    }

    /// Remembers where the bodies of one are before they move.
    pub fn begin(&mut self, k: u32, state: &State) {
        let Linkage { part, solids, constraints, taken, lies, .. } = &mut self.all[k as usize];
        *taken = false;
        match (part, lies) {
            (None, _) => constraints.begin(state.solids.iter().copied()),
            (_, Some([at, _])) => constraints.begin(state.solids[at.clone()].iter().copied()),
            _ => constraints.begin(solids.iter().map(|s| state.solids[*s as usize])),
        }
    }

    /// Whether contacts know how any answers.
    pub fn any_answers(&self) -> bool {
        self.most_answering > 0
    }

    /// Most bodies of one linkage that answers.
    pub fn most_answering(&self) -> usize {
        self.most_answering
    }

    /// Whether contacts know how one answers.
    pub fn answers(&self, k: u32) -> bool {
        self.all[k as usize].answers
    }

    /// Finds how the bodies of one move with their joints; `yields` tells what a body yields by, and its velocity and spin
    /// without joints.
    pub fn expect(
        &mut self,
        k: u32,
        rig: &Rig,
        state: &mut State,
        given: Given<'_>,
        yields: impl Fn(usize) -> (Mobility, Rate),
    ) {
        let linkage = &mut self.all[k as usize];
        linkage.take(rig, state, given);
        let (span, h, whole) = ((given.from, given.to), given.h, linkage.part.is_none());
        let (constraints, solids, rig, mut part, drives) = linkage.works_on(rig, state, given.drives);
        match whole {
            true => constraints.expect(rig, &mut part, drives, span, h, yields),
            false => constraints.expect(rig, &mut part, drives, span, h, |n| yields(solids[n] as usize)),
        }
    }

    /// Velocity and spin of a body at the end of the step without contacts, if it has joints that answer.
    pub fn expected(&self, solid: usize) -> Option<Rate> {
        let (k, n) = self.of[solid].filter(|(k, _)| self.answers(*k))?;
        Some(self.all[k as usize].constraints.expected(n as usize))
    }

    /// What pushes on each of some bodies of one linkage do to each, by the one pushed and the one moved.
    pub fn couple(&mut self, k: u32, solids: &mut [u32], out: &mut [Square]) {
        solids.iter_mut().for_each(|s| *s = self.of[*s as usize].map_or(0, |(_, n)| n));
        self.all[k as usize].constraints.couple(solids, out);
    }

    /// Finds what impulses on bodies of one do to all of them.
    pub fn answer(&mut self, k: u32, impulse: impl Fn(usize) -> Rate) {
        let Linkage { part, solids, constraints, .. } = &mut self.all[k as usize];
        match part {
            None => constraints.answer(impulse),
            Some(_) => constraints.answer(|n| impulse(solids[n] as usize)),
        }
    }

    /// Looks again at what joints of one do, now that contacts have been found; whether that is something else.
    pub fn reconsider(&mut self, k: u32, rig: &Rig, to: f64, h: f64) -> bool {
        let Linkage { part, constraints, .. } = &mut self.all[k as usize];
        let own = part.as_ref().map_or(rig, |(own_rig, _, _)| own_rig);
        constraints.reconsider(own, to, h)
    }

    /// Velocity and spin of a body at the end of the step with these.
    pub fn answered(&self, solid: usize) -> Option<Rate> {
        self.of[solid].map(|(k, n)| self.all[k as usize].constraints.answered(n as usize))
    }

    /// Puts the bodies of one, which have moved freely, together. Whether that worked; with `whatever` it takes, it does
    /// unless its joints contradict each other.
    pub fn close(&mut self, k: u32, rig: &Rig, state: &mut State, given: Given<'_>, whatever: bool) -> bool {
        let linkage = &mut self.all[k as usize];
        linkage.take(rig, state, given);
        let (span, h) = ((given.from, given.to), given.h);
        let (constraints, _, rig, mut part, drives) = linkage.works_on(rig, state, given.drives);
        let closed = constrain(constraints, rig, &mut part, drives, span, h, whatever);
        linkage.give_back(state);
        let Linkage { part, joints, constraints, .. } = linkage;
        let Some((_, own, _)) = part else {
            self.open.copy_from_slice(constraints.open());
            return closed;
        };
        own.joints.iter().zip(&*joints).for_each(|(j, g)| state.joints[*g as usize] = *j);
        for (open, g) in constraints.open().iter().zip(&*joints) {
            self.open[*g as usize] = *open;
        }
        closed
    }

    /// Closes the joints of one again, after its bodies were moved a little: places only.
    pub fn close_places(&mut self, k: u32, rig: &Rig, state: &mut State) {
        let linkage = &mut self.all[k as usize];
        linkage.take_solids(state);
        let (constraints, _, rig, mut part, _) = linkage.works_on(rig, state, &[]);
        constraints.close_places(rig, &mut part);
        linkage.give_back(state);
    }

    /// Moves the bodies of one by pushes on some of them, as its joints let it, and closes these again: places only.
    pub fn displace(&mut self, k: u32, rig: &Rig, state: &mut State, push: impl Fn(usize) -> Rate) {
        let linkage = &mut self.all[k as usize];
        linkage.take_solids(state);
        let whole = linkage.part.is_none();
        let (constraints, solids, rig, mut part, _) = linkage.works_on(rig, state, &[]);
        match whole {
            true => constraints.displace(rig, &mut part, push),
            false => constraints.displace(rig, &mut part, |n| push(solids[n] as usize)),
        }
        linkage.give_back(state);
    }

    /// Puts all together where they stand, without any motion.
    pub fn assemble(&mut self, rig: &Rig, state: &mut State) {
        for k in 0..self.all.len() as u32 {
            self.enter(&[k]);
            let Linkage { part, solids, constraints, .. } = &mut self.all[k as usize];
            match part {
                None => constraints.put_state_together(rig, state),
                Some((own_rig, own, _)) => {
                    own.time = state.time;
                    own.solids.iter_mut().zip(&*solids).for_each(|(s, g)| *s = state.solids[*g as usize]);
                    constraints.put_state_together(own_rig, own);
                    own.solids.iter().zip(&*solids).for_each(|(s, g)| state.solids[*g as usize] = *s);
                }
            }
            self.leave(&[k]);
        }
    }
}

impl Linkage {
    /// Gives its room away, if it is one of several.
    fn leave(&mut self) -> Option<Spare> {
        let (_, state, drives) = self.part.as_mut()?;
        let (state, drives) = (std::mem::take(state), std::mem::take(drives));
        Some(Spare { room: self.constraints.leave(), state, drives })
    }

    /// Takes the state of the step, once.
    fn take(&mut self, rig: &Rig, state: &State, given: Given<'_>) {
        if std::mem::replace(&mut self.taken, true) {
            return;
        }
        self.take_solids(state);
        let Linkage { part, solids, joints, targets, constraints, lies, .. } = self;
        let Some((own_rig, own, own_drives)) = part else {
            constraints.room.yields.copy_from_slice(given.yields);
            return;
        };
        own_rig.hands.clone_from(&rig.hands);
        own.joints.iter_mut().zip(&*joints).for_each(|(j, g)| *j = state.joints[*g as usize]);
        if let Some([at, _]) = lies {
            constraints.room.yields.copy_from_slice(&given.yields[at.clone()]);
            return;
        }
        for (n, s) in solids.iter().map(|s| *s as usize).enumerate() {
            own_drives[n] = given.drives[s];
            constraints.room.yields[n] = given.yields[s];
        }
        own.targets.iter_mut().zip(&*targets).for_each(|(t, g)| *t = state.targets[*g as usize]);
    }

    /// Copies its solids, unless it works on the state itself.
    fn take_solids(&mut self, state: &State) {
        if let (Some((_, own, _)), None) = (&mut self.part, &self.lies) {
            own.solids.iter_mut().zip(&self.solids).for_each(|(s, g)| *s = state.solids[*g as usize]);
        }
    }

    /// Puts them back.
    fn give_back(&self, state: &mut State) {
        if let (Some((_, own, _)), None) = (&self.part, &self.lies) {
            own.solids.iter().zip(&self.solids).for_each(|(s, g)| state.solids[*g as usize] = *s);
        }
    }

    /// What it works on, with its own numbers: its constraints, its solids by their numbers in the rig, its part of the rig,
    /// of the state and of the settings.
    #[allow(clippy::type_complexity)]
    fn works_on<'a>(
        &'a mut self,
        rig: &'a Rig,
        state: &'a mut State,
        drives: &'a [Drive],
    ) -> (&'a mut Constraints, &'a [u32], &'a Rig, Part<'a>, &'a [Drive]) {
        let Linkage { part, solids, constraints, lies, .. } = self;
        let (rig, part, drives) = match (part, lies) {
            (None, _) => (rig, Part::whole(state), drives),
            (Some((rig, own, _)), Some([at, on])) => {
                let part = Part {
                    time: state.time,
                    solids: &mut state.solids[at.clone()],
                    targets: &state.targets[on.clone()],
                    joints: &mut own.joints,
                };
                (&*rig, part, drives.get(at.clone()).unwrap_or_default())
            }
            (Some((rig, own, drives)), None) => {
                own.time = state.time;
                (&*rig, Part::whole(own), &drives[..])
            }
        };
        (constraints, solids, rig, part, drives)
    }

    fn new(rig: &Rig, solids: Vec<u32>, joints: Vec<u32>, whole: bool) -> Linkage {
        let answers =
            rig.solver.tier == Tier::Direct && !rig.solver.limited && solids.len() <= MOST_ANSWERING;
        if whole {
            let constraints = Constraints::new(rig);
            let targets = Vec::new();
            return Linkage {
                part: None,
                solids,
                joints,
                targets,
                lies: None,
                constraints,
                taken: false,
                answers,
                size: 0,
            };
        }
        let number = |s: usize| solids.binary_search(&(s as u32)).ok();
        let mut part = Rig {
            solids: solids.iter().map(|s| rig.solids[*s as usize].clone()).collect(),
            paths: rig.paths.clone(),
            trackers: Vec::new(),
            waits: Vec::new(),
            joints: joints.iter().map(|j| rig.joints[*j as usize].clone()).collect(),
            colliders: Colliders::default(),
            hands: rig.hands.clone(),
            impulses: Vec::new(),
            groups: rig.groups.clone(),
            world: rig.world.clone(),
            range: rig.range,
            vessel: None,
            // Of a step's time, its share.
            solver: crate::rig::Solver {
                budget: rig.solver.budget.map(|b| b.mul_f64(joints.len() as f64 / rig.joints.len() as f64)),
                ..rig.solver
            },
        };
        for joint in &mut part.joints {
            for end in &mut joint.ends {
                if let End::Solid(s) = end {
                    *end = End::Solid(number(*s).expect("joints are of one linkage"));
                }
            }
            if let Kind::Pose(s) = &mut joint.kind {
                *s = number(*s).expect("a body and its parent are of one linkage");
            }
        }
        let mut targets = Vec::new();
        for (n, solid) in part.solids.iter_mut().enumerate() {
            // A target of position and orientation has one number for both.
            let shared = solid.position_target == solid.rotation_target;
            let mut take = |target: &mut Option<usize>| {
                if let Some(t) = target {
                    targets.push(*t as u32);
                    part.trackers.push(crate::guide::Tracker { solid: n, ..rig.trackers[*t].clone() });
                    *t = targets.len() - 1;
                }
            };
            take(&mut solid.position_target);
            match shared {
                true => solid.rotation_target = solid.position_target,
                false => take(&mut solid.rotation_target),
            }
            // Frames are other bodies', perhaps of no linkage: joints do not ask for them, but for what is held there.
            for frame in [&mut solid.frame, &mut solid.hold.1] {
                if let crate::rig::Frame::Solid(s) = frame {
                    *frame = number(*s).map_or(crate::rig::Frame::World, crate::rig::Frame::Solid);
                }
            }
        }
        let constraints = Constraints::new(&part);
        let state = at_start(&part);
        let drives = (0..solids.len()).map(|n| part.drive(n, part.range.start())).collect();
        let part = Some((part, state, drives));
        let lies = side_by_side(&solids).zip(side_by_side(&targets)).map(|(at, on)| [at, on]);
        Linkage { part, solids, joints, targets, lies, constraints, taken: false, answers, size: 0 }
    }
}

/// The range that some numbers, in order, are all of.
fn side_by_side(numbers: &[u32]) -> Option<Range<usize>> {
    let first = numbers.first().map_or(0, |n| *n as usize);
    let all = first..first + numbers.len();
    numbers.iter().map(|n| *n as usize).eq(all.clone()).then_some(all)
}
