//! Joints in a step: the bodies move as if free, then impulses along the joints put them together (RATTLE).
//!
//! Positions: impulses along the rows of the START of the step, found so that the joints are closed at its end; one
//! factorisation and a few solves with it. Rows rebuilt at every iterate, as Faure's pseudocode does, would lose
//! angular momentum; these keep it to rounding. Velocities: impulses along the rows of the end, so that no joint is
//! opening there. Both are internal forces and change neither momentum of the whole.

use super::{SolidState, State, Workspace};
use crate::assemble::{Assembly, Body, Ending, Goal, Outcome};
use crate::joint::End;
use crate::rig::{Frame, Rig};
use crate::rotation;
use crate::scene::Placement;
use glam::DVec3;

/// Scratch for the joints of a rig.
#[derive(Clone, Debug)]
pub struct Constraints {
    assembly: Assembly,
    bodies: Vec<Body>,
    before: Vec<SolidState>,
    /// Displacement and rotation vector of each body by the joints so far.
    pushed: Vec<(DVec3, DVec3)>,
    /// Scene time for which rows and factor stand, with the bodies where they are in `bodies`: the end of a step is
    /// mostly the start of the next.
    stands_at: Option<f64>,
    /// Whether a joint has slack, so that its rows depend on where bodies are heading.
    slack: bool,
}

/// Solves per step; the openings shrink by a factor of ten to a thousand with each.
const MOST_SOLVES: usize = 12;

/// Openings below this share of the bodies' size, and angles below this (rad), are closed.
const CLOSED: f64 = 1e-8;

impl Constraints {
    /// Room for a rig's joints.
    pub fn new(rig: &Rig) -> Constraints {
        let bodies = rig
            .solids
            .iter()
            .map(|s| Body {
                placement: Placement::IDENTITY,
                per_mass: if s.simulate.position() { 1.0 / s.mass } else { 0.0 },
                per_inertia: if s.simulate.orientation() { s.per_inertia } else { DVec3::ZERO },
            })
            .collect();
        Constraints {
            assembly: Assembly::new(&rig.joints, rig.solids.len()),
            bodies,
            before: Vec::with_capacity(rig.solids.len()),
            pushed: vec![(DVec3::ZERO, DVec3::ZERO); rig.solids.len()],
            stands_at: None,
            slack: rig.joints.iter().any(|j| j.kind.firm() != j.kind),
        }
    }

    /// How far each joint was open after the last step: scene units and rad.
    pub fn open(&self) -> &[(f64, f64)] {
        self.assembly.open()
    }

    /// Remembers where the bodies are before they move.
    pub fn begin(&mut self, state: &State) {
        self.before.clear();
        self.before.extend_from_slice(&state.solids);
    }
}

/// Puts the bodies, which have moved freely for `h` seconds to scene time `to`, together. Returns whether that worked.
pub fn constrain(rig: &Rig, state: &mut State, work: &mut Workspace, from: f64, to: f64, h: f64) -> bool {
    let Some(c) = &mut work.constraints else { return true };
    if h <= 0.0 {
        return true;
    }
    let stands = c.stands_at == Some(from)
        && !c.slack
        && c.bodies.iter().zip(&c.before).all(|(body, before)| body.placement == before.placement());
    c.stands_at = None;
    if !stands {
        for (body, before) in c.bodies.iter_mut().zip(&c.before) {
            body.placement = before.placement();
        }
        let free: &[SolidState] = &state.solids;
        c.assembly.measure_ahead(
            &rig.joints,
            |end| place(rig, end, &c.before, from),
            |end| place(rig, end, free, to),
        );
        c.assembly.factor(&c.bodies);
    }
    c.pushed.fill((DVec3::ZERO, DVec3::ZERO));

    // positions
    let size = rig.solids.iter().fold(0.0_f64, |m, s| m.max(s.radius));
    let mut closed = false;
    for solve in 0..=MOST_SOLVES {
        let open = c.assembly.aim(&rig.joints, |end| place(rig, end, &state.solids, to));
        closed = open.0 <= CLOSED * size && open.1 <= CLOSED;
        if closed || solve == MOST_SOLVES || !(open.0 + open.1).is_finite() {
            break;
        }
        let push = c.assembly.correct(&c.bodies);
        for (i, &(moved, turned)) in push.iter().enumerate() {
            c.pushed[i].0 += moved;
            c.pushed[i].1 += turned;
            let s = &mut state.solids[i];
            s.position += moved;
            s.orientation = rotation::renormalize(rotation::exp(turned) * s.orientation);
        }
    }
    let per_h = 1.0 / h;
    for (i, s) in state.solids.iter_mut().enumerate() {
        let (solid, before) = (&rig.solids[i], &c.before[i]);
        let (moved, turned) = c.pushed[i];
        s.velocity += moved * per_h;
        let axes = crate::dynamics::top::Axes::new(before.orientation, solid.inertia);
        s.momentum += axes.scale(turned, solid.inertia) * per_h;
    }

    // velocities
    for (body, s) in c.bodies.iter_mut().zip(&state.solids) {
        body.placement = s.placement();
    }
    c.assembly.measure_ahead(
        &rig.joints,
        |end| place(rig, end, &state.solids, to),
        |end| place(rig, end, &state.solids, to),
    );
    c.assembly.factor(&c.bodies);
    c.assembly.aim_at_rates(&rig.joints, |end| match end {
        End::World => (DVec3::ZERO, DVec3::ZERO),
        End::Keys(p) => rig.paths[p].velocity(to),
        End::Solid(i) => {
            let (s, solid) = (&state.solids[i], &rig.solids[i]);
            let w = crate::dynamics::top::angular_velocity(s.orientation, s.momentum, solid.per_inertia);
            (s.velocity, w)
        }
    });
    let push = c.assembly.correct(&c.bodies);
    for (i, &(change, spin)) in push.iter().enumerate() {
        let (s, solid) = (&mut state.solids[i], &rig.solids[i]);
        s.velocity += change;
        s.momentum += crate::dynamics::top::angular_momentum(s.orientation, spin, solid.inertia);
    }
    let mut finite = true;
    for (s, before) in state.solids.iter_mut().zip(&c.before) {
        let sum = s.position + s.velocity + s.momentum;
        if !(sum.x + sum.y + sum.z + s.orientation.length_squared()).is_finite() {
            *s = SolidState { quarantined: true, velocity: DVec3::ZERO, momentum: DVec3::ZERO, ..*before };
            finite = false;
        }
    }
    if finite {
        c.stands_at = Some(to);
    }
    closed && finite
}

/// Puts a rig together where it stands, without any motion: scenes are posed roughly.
pub fn assemble(rig: &Rig, solids: &mut [SolidState], time: f64) {
    if rig.joints.is_empty() {
        return;
    }
    let mut c = Constraints::new(rig);
    let start: Vec<Placement> = solids.iter().map(SolidState::placement).collect();
    c.put_together(rig, time, &start, &start, &Goal::default());
    for (body, s) in c.bodies.iter().zip(solids.iter_mut()) {
        if body.placement.position.is_finite() && body.placement.rotation.is_finite() {
            (s.position, s.orientation) = (body.placement.position, body.placement.rotation);
        }
    }
}

/// Parts that are not simulated follow what carries them, and joints what follows: so often at most.
const MOST_HOLDS: usize = 30;

impl Constraints {
    /// Puts the bodies together at `time`, beginning at `start`; the pose nearest to `reference` where the goal says
    /// nearest. [`Self::open`] then tells what is open.
    pub(super) fn put_together(
        &mut self,
        rig: &Rig,
        time: f64,
        start: &[Placement],
        reference: &[Placement],
        goal: &Goal,
    ) -> Outcome {
        self.bodies.iter_mut().zip(start).for_each(|(b, p)| b.placement = *p);
        let keyed = |end: End| place(rig, end, &[], time);
        let mut rounds = 0;
        for _ in 0..MOST_HOLDS {
            let (joints, bodies) = (&rig.joints, &mut self.bodies);
            let mut outcome = match goal.nearest {
                true => self.assembly.approach(joints, bodies, reference, keyed, goal),
                false => self.assembly.assemble(joints, bodies, keyed, goal, |_, _, _| {}),
            };
            rounds += outcome.rounds;
            outcome.rounds = rounds;
            let held = self.hold(rig, time);
            let open = self.measure(rig, time);
            if outcome.reached() && !goal.is_met(open) {
                outcome.ending = Ending::GaveUp; // unless the next time does it
            }
            (outcome.opening, outcome.angle) = open;
            if !held || outcome.ending != Ending::GaveUp {
                return outcome;
            }
        }
        let (opening, angle) = self.measure(rig, time);
        Outcome { rounds, opening, angle, ending: Ending::GaveUp }
    }

    /// Where the bodies are.
    pub(super) fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// Measures the joints with the bodies at `places`.
    pub(super) fn measure_at(&mut self, rig: &Rig, time: f64, places: &[Placement]) {
        self.bodies.iter_mut().zip(places).for_each(|(b, p)| b.placement = *p);
        self.measure(rig, time);
    }

    fn measure(&mut self, rig: &Rig, time: f64) -> (f64, f64) {
        let bodies = &self.bodies;
        self.assembly.measure(&rig.joints, |end| match end {
            End::Solid(s) => bodies[s].placement,
            other => place(rig, other, &[], time),
        })
    }

    /// Puts the parts that are not simulated where their carriers have them; whether any moved.
    fn hold(&mut self, rig: &Rig, time: f64) -> bool {
        let mut moved = false;
        for (i, solid) in rig.solids.iter().enumerate() {
            let (path, frame) = solid.hold;
            let point = rig.paths[path].placement(time);
            let point = match frame {
                Frame::World => point,
                Frame::Solid(s) => self.bodies[s].placement.then(&point),
                Frame::Keys(p) => rig.paths[p].placement(time).then(&point),
            };
            let place = &mut self.bodies[i].placement;
            let before = *place;
            if !solid.simulate.position() {
                place.position = point.position;
            }
            if !solid.simulate.orientation() {
                place.rotation = point.rotation;
            }
            moved |= *place != before;
        }
        moved
    }
}

fn place(rig: &Rig, end: End, solids: &[SolidState], time: f64) -> Placement {
    match end {
        End::World => Placement::IDENTITY,
        End::Solid(s) => solids[s].placement(),
        End::Keys(p) => rig.paths[p].placement(time),
    }
}
