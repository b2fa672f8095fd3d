//! Putting articulated solids together by linearised displacement constraints (Faure 1998).
//!
//! Every joint has an error vector `g` (how far it is open) and rows `J`. The smallest correction in the metric of
//! mass that closes all joints to first order is `W J^T l` with `(J W J^T) l = -g`, W the inverse masses; it is
//! applied and repeated. Corrections are forces between bodies, so they move neither the common centre of mass nor,
//! to first order, turn the whole; a body of infinite mass (a handle, a keyed node, the world) stays.
//!
//! The matrix couples joints that share a body. It is factored directly, in an order chosen once; see
//! [`crate::solve`].
//!
//! Where joints contradict each other no pose closes them, and `least_squares` finds the one that shares the openings.
//! Where many poses close them, `nearest` finds the one nearest to the start.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

mod least_squares;
mod nearest;
mod structure;
mod tree;

pub use structure::{Mobility, Structure};
pub use tree::{Room as TreeRoom, Square, Tree};

use crate::joint::{Aim, End, Joint, Kind, Measure, Rows, Side};
use crate::rotation;
use crate::scene::Placement;
use crate::solve::{BlockMatrix, MOST, Solver, Tier};
use glam::DVec3;

/// A solid as assembly sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Centre of mass and principal axes.
    pub placement: Placement,
    /// 1/kg; 0 for a body that nothing moves.
    pub per_mass: f64,
    /// One over each principal moment; 0 for a body that nothing turns.
    pub per_inertia: DVec3,
}

/// How good is good enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Largest opening, scene units.
    pub opening: f64,
    /// Largest angle, rad.
    pub angle: f64,
    /// Most rounds of closing; least squares and the nearest pose have their own.
    pub rounds: usize,
    /// Not just a closed pose near the start, but the nearest one in the metric of mass.
    pub nearest: bool,
}

impl Default for Goal {
    fn default() -> Self {
        Goal { opening: 1e-9, angle: 1e-9, rounds: 50, nearest: false }
    }
}

impl Goal {
    /// Whether openings and angles as large as these are small enough.
    pub fn is_met(&self, (opening, angle): (f64, f64)) -> bool {
        opening <= self.opening && angle <= self.angle
    }
}

/// What kind of pose an assembly ended at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All joints are closed.
    Closed,
    /// All joints are closed, and no closed pose around is nearer to the start.
    Nearest,
    /// Joints contradict each other: the sum of their squared errors is the least around.
    LeastSquares,
    /// Joints are open, and rounds ran out before the least of their errors was found.
    GaveUp,
}

/// How an assembly ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Rounds done.
    pub rounds: usize,
    /// Largest opening left, scene units.
    pub opening: f64,
    /// Largest angle left, rad.
    pub angle: f64,
    /// What kind of pose this is.
    pub ending: Ending,
}

impl Outcome {
    /// Whether the joints are closed.
    pub fn reached(&self) -> bool {
        matches!(self.ending, Ending::Closed | Ending::Nearest)
    }
}

/// The largest turn of one round (rad): beyond it the linearisation says nothing (the paper's value).
const LARGEST_TURN_RAD: f64 = 0.8;

/// A round must bring the errors below this share of the round before, or constraints contradict each other.
const PROGRESS: f64 = 0.999;

/// Rounds of joints that move their own two bodies each.
const PAIRWISE_ROUNDS: usize = 500;

/// The structure of a set of joints and the room to solve it. Solving allocates nothing.
#[derive(Clone, Debug)]
pub struct Assembly {
    structure: Structure,
    /// What each joint is held to, and whether it holds at all.
    aims: Vec<Aim>,
    held: Vec<bool>,
    /// First frames: as they were, or where keys have moved them.
    firsts: Vec<Placement>,
    /// Second frames: as they were, or as grabbed.
    seconds: Vec<Placement>,
    mobility: Vec<Mobility>,
    rows: Vec<Rows>,
    matrix: BlockMatrix,
    factor: Solver,
    tier: Tier,
    /// How far each joint was open when last looked at: scene units and rad.
    open: Vec<(f64, f64)>,
    /// What the rows have to make up for.
    wanted: Vec<[f64; MOST]>,
    multipliers: Vec<[f64; MOST]>,
    push: Vec<(DVec3, DVec3)>,
    /// The pose with the least errors so far.
    best: Vec<Placement>,
    /// Where bodies were before a step that may be taken back.
    kept: Vec<Placement>,
}

impl Assembly {
    /// Analyses the joints between `bodies` solids, to be solved directly. Keyed nodes and the world couple nothing.
    pub fn new(joints: &[Joint], bodies: usize) -> Assembly {
        Assembly::with(Tier::Direct, joints, bodies)
    }

    /// The same, to be solved by some tier. Pairs take more rounds, and look neither for the least errors of joints that
    /// contradict each other nor for the nearest pose.
    pub fn with(tier: Tier, joints: &[Joint], bodies: usize) -> Assembly {
        let structure = Structure::new(joints, bodies);
        let matrix = BlockMatrix::new(joints.len(), structure.pairs.clone());
        let factor = Solver::new(tier, &matrix, &structure.ends);
        Assembly {
            structure,
            aims: vec![Aim::default(); joints.len()],
            held: joints.iter().map(holds_firmly).collect(),
            firsts: joints.iter().map(|j| j.frames[0]).collect(),
            seconds: joints.iter().map(|j| j.frames[1]).collect(),
            mobility: vec![Mobility::NONE; bodies],
            rows: vec![Rows::default(); joints.len()],
            matrix,
            factor,
            tier,
            open: vec![(0.0, 0.0); joints.len()],
            wanted: vec![[0.0; MOST]; joints.len()],
            multipliers: vec![[0.0; MOST]; joints.len()],
            push: vec![(DVec3::ZERO, DVec3::ZERO); bodies],
            best: vec![Placement::IDENTITY; bodies],
            kept: vec![Placement::IDENTITY; bodies],
        }
    }

    /// Says what a joint is held to, and whether it holds. Springs never do: a pose is closed without them.
    pub fn hold(&mut self, joints: &[Joint], j: usize, aim: Aim, holds: bool) {
        self.aims[j] = aim;
        self.held[j] = holds && holds_firmly(&joints[j]);
    }

    /// Says where a joint's first frame is, in its end.
    pub fn anchor(&mut self, j: usize, first: Placement) {
        self.firsts[j] = first;
    }

    /// Says where a joint's second frame is, in its end.
    pub fn grab(&mut self, j: usize, second: Placement) {
        self.seconds[j] = second;
    }

    /// Has even a spring hold, or nothing.
    pub fn hold_firmly(&mut self, j: usize, holds: bool) {
        self.held[j] = holds;
    }

    /// Measures every joint: rows and errors at the given placements, which are then to be made up for. Returns the
    /// largest opening and angle.
    pub fn measure(&mut self, joints: &[Joint], place: impl Fn(End) -> Placement) -> (f64, f64) {
        let mut worst = (0.0_f64, 0.0_f64);
        for (j, joint) in joints.iter().enumerate() {
            self.open[j] = (0.0, 0.0);
            self.rows[j].clear();
            if !self.held[j] {
                continue;
            }
            let ends = joint.ends.map(&place);
            let sides = (Side::new(&ends[0], &self.firsts[j]), Side::new(&ends[1], &self.seconds[j]));
            let rows = Rows::between(joint, &sides.0, &sides.1, &self.aims[j], Measure::Angles);
            if joint.kind.one_sided() && rows.error[0] <= 0.0 {
                continue; // within its range
            }
            let (opening, angle) = rows.opening(joint.kind);
            self.open[j] = (opening, angle);
            worst = (worst.0.max(opening), worst.1.max(angle));
            self.wanted[j] = rows.error.map(|e| -e);
            self.rows[j] = rows;
        }
        worst
    }

    /// How far each joint was open when last looked at: scene units and rad.
    pub fn open(&self) -> &[(f64, f64)] {
        &self.open
    }

    /// Aims at taking away the rates at which joints open: `rate(end)` is velocity and angular velocity of an end.
    pub fn aim_at_rates(&mut self, joints: &[Joint], rate: impl Fn(End) -> (DVec3, DVec3)) {
        for (j, joint) in joints.iter().enumerate() {
            let rates = joint.ends.map(&rate);
            let rows = &self.rows[j];
            self.wanted[j] = std::array::from_fn(|r| {
                let of = |e: usize| rows.on[e][r].rate(rates[e].0, rates[e].1);
                if r < rows.count { -(of(0) + of(1)) } else { 0.0 }
            });
        }
    }

    /// Factors the matrix of the rows measured last.
    pub fn factor(&mut self, bodies: &[Body]) {
        self.fill(bodies);
        self.factor.prepare(&self.matrix);
    }

    /// Makes the matrix `J W J^T` of the rows measured last.
    fn fill(&mut self, bodies: &[Body]) {
        for (m, b) in self.mobility.iter_mut().zip(bodies) {
            *m = Mobility::of(b.per_mass, b.placement.rotation, b.per_inertia);
        }
        self.structure.fill(&mut self.matrix, &self.rows, &self.mobility);
    }

    /// The corrections of all bodies, displacement and rotation vector, that do what was aimed at, to first order,
    /// with the factor at hand.
    pub fn correct(&mut self, bodies: &[Body]) -> &[(DVec3, DVec3)] {
        self.multipliers.fill([0.0; MOST]);
        self.factor.solve(&self.matrix, &self.wanted, &mut self.multipliers, || true);
        self.spread(bodies);
        &self.push
    }

    /// `W J^T` of the multipliers, as displacements and rotation vectors. Returns its square in the metric of mass.
    fn spread(&mut self, bodies: &[Body]) -> f64 {
        self.push.fill((DVec3::ZERO, DVec3::ZERO));
        self.structure.spread(&self.rows, &self.multipliers, &mut self.push);
        let mut square = 0.0;
        for (push, b) in self.push.iter_mut().zip(bodies) {
            let m = Mobility::of(b.per_mass, b.placement.rotation, b.per_inertia);
            let moved = (push.0 * m.shift, m.turn * push.1);
            square += push.0.dot(moved.0) + push.1.dot(moved.1);
            *push = moved;
        }
        square
    }

    /// Moves `bodies` until the joints are closed, or as good as they can be. `keyed` is where ends that are no solids
    /// are. The errors after every round of closing are told to `round`.
    pub fn assemble(
        &mut self,
        joints: &[Joint],
        bodies: &mut [Body],
        keyed: impl Fn(End) -> Placement,
        goal: &Goal,
        round: impl FnMut(usize, f64, f64),
    ) -> Outcome {
        let reference = if goal.nearest { poses(bodies) } else { Vec::new() };
        let outcome = self.close(joints, bodies, &keyed, goal, round, || true);
        match goal.nearest && outcome.reached() && self.tier != Tier::Pairwise {
            true => {
                let near = self.approach(joints, bodies, &reference, keyed, goal);
                Outcome { rounds: outcome.rounds + near.rounds, ..near }
            }
            false => outcome,
        }
    }

    /// [`Self::assemble`] without looking for the nearest pose, while `go_on` says so: then the bodies are where the errors
    /// were least.
    pub fn close(
        &mut self,
        joints: &[Joint],
        bodies: &mut [Body],
        keyed: &impl Fn(End) -> Placement,
        goal: &Goal,
        mut round: impl FnMut(usize, f64, f64),
        mut go_on: impl FnMut() -> bool,
    ) -> Outcome {
        let pairs = self.tier == Tier::Pairwise;
        let most = if pairs { goal.rounds.max(PAIRWISE_ROUNDS) } else { goal.rounds };
        let (mut previous, mut least) = (f64::INFINITY, f64::INFINITY);
        keep(&mut self.best, bodies);
        let mut rounds = 0;
        loop {
            let open = self.look(joints, bodies, keyed);
            round(rounds, open.0, open.1);
            if goal.is_met(open) {
                return Outcome { rounds, opening: open.0, angle: open.1, ending: Ending::Closed };
            }
            let size = self.size();
            // Comparisons are false for what is no number, which ends this, too.
            if size < least {
                least = size;
                keep(&mut self.best, bodies);
            }
            let stuck = !(size < previous * PROGRESS || (rounds < 10 || pairs) && size.is_finite());
            let in_time = go_on();
            if stuck || rounds >= most || !in_time {
                restore(bodies, &self.best);
                if pairs || !in_time {
                    let (opening, angle) = self.look(joints, bodies, keyed);
                    return Outcome { rounds, opening, angle, ending: Ending::GaveUp };
                }
                return self.least_squares(joints, bodies, keyed, goal, rounds, go_on);
            }
            previous = size;
            self.factor(bodies);
            self.correct(bodies);
            for (body, &(moved, turned)) in bodies.iter_mut().zip(&self.push) {
                // A turn that is cut takes its share of the displacement with it.
                body.shift(moved, turned, (LARGEST_TURN_RAD / turned.length()).min(1.0));
            }
            rounds += 1;
        }
    }

    /// Measures every joint with the bodies where they are.
    fn look(&mut self, joints: &[Joint], bodies: &[Body], keyed: &impl Fn(End) -> Placement) -> (f64, f64) {
        self.measure(joints, |end| match end {
            End::Solid(s) => bodies[s].placement,
            other => keyed(other),
        })
    }

    /// Root of the sum of the squared errors measured last; scene units and radians count alike.
    fn size(&self) -> f64 {
        self.rows.iter().flat_map(|r| &r.error[..r.count]).map(|e| e * e).sum::<f64>().sqrt()
    }
}

impl Body {
    /// Moves and turns it by a share of a correction.
    fn shift(&mut self, moved: DVec3, turned: DVec3, share: f64) {
        self.placement.position += moved * share;
        self.placement.rotation = (rotation::exp(turned * share) * self.placement.rotation).normalize();
    }
}

/// Whether a pose without motion has to close it.
fn holds_firmly(joint: &Joint) -> bool {
    joint.spring.is_none() && !matches!(joint.kind, Kind::Pose(_))
}

fn poses(bodies: &[Body]) -> Vec<Placement> {
    bodies.iter().map(|b| b.placement).collect()
}

fn keep(kept: &mut [Placement], bodies: &[Body]) {
    kept.iter_mut().zip(bodies).for_each(|(k, b)| *k = b.placement);
}

fn restore(bodies: &mut [Body], kept: &[Placement]) {
    bodies.iter_mut().zip(kept).for_each(|(b, k)| b.placement = *k);
}
