//! The iteration: one Newton step at a time, each of which leaves a whole, jointed character.

use super::Problem;
use super::filter::Filter;
use super::knot::Room;
use super::state::{Kind, Layout, SIDES, State, Values, sides};
use super::system::{Direction, Errors, System};

/// How far a refinement has come.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// Not done yet.
    Running,
    /// Everything holds.
    Converged,
    /// Everything holds but these keys, which cannot be reached at their price: by index, and how far each is missed, in its row's own unit.
    KeysMissed(Vec<(usize, f64)>),
    /// No step makes it better.
    Stalled,
}

/// What one iteration saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// The largest free row and hold.
    pub physics: f64,
    /// The largest of all errors, at the barrier of the moment.
    pub error: f64,
    /// Effort, closeness and ease.
    pub objective: f64,
    /// The barrier.
    pub barrier: f64,
    /// The share of the step that was taken.
    pub step: f64,
    /// Whether the exact Hessian was used.
    pub exact: bool,
}

/// A problem on its way.
#[derive(Clone, Debug)]
pub struct Refinement {
    problem: Problem,
    layout: Layout,
    state: State,
    trial: State,
    values: Values,
    tried: Values,
    room: Room,
    system: System,
    direction: Direction,
    filter: Filter,
    mu: f64,
    tolerance: f64,
    damping: f64,
    exact: bool,
    /// Whether the last step changed next to nothing.
    settled: bool,
    status: Status,
    done: Vec<Iteration>,
}

/// No joint turns by more than this in one iteration, rad.
const LARGEST_TURN: f64 = 0.8;

/// The free rows and holds from which on the exact Hessian is taken; all other rows may be ten times as far off.
const NEAR: f64 = 1.0;

/// Equations that are off by less than this in all are near enough for the Lagrangian to decide.
const FAR_OFF: f64 = 1.0;

/// A step is the last if it changes the objective by less than this share of it.
const SETTLED: f64 = 1e-6;

/// What a key may be missed by, of its row's unit, before it counts as missed.
const MISSED: f64 = 1e-6;

impl Refinement {
    /// Begins with the problem's input. `tolerance`: of rows, gradient and products of limits and their prices.
    pub fn new(problem: Problem, tolerance: f64) -> Refinement {
        let layout = Layout::new(&problem);
        let (mut values, mut room) = (Values::default(), Room::default());
        let mut state = State::start(&problem, &layout, &mut values, &mut room);
        let mu = match layout.limits {
            0 => 0.1 * tolerance,
            limits => (state.objective(&problem, &layout) / limits as f64).clamp(0.1 * tolerance, 0.1),
        };
        state.start_prices(&problem, &layout, &values, mu);
        let mut filter = Filter::default();
        filter.reset(state.merit(&problem, &layout, &values, mu).0);
        // Gauss-Newton leans on the input; where nothing does, it wanders.
        let exact = problem.closeness.iter().all(|c| *c == 0.0);
        Refinement {
            system: System::new(&problem, &layout),
            trial: state.clone(),
            tried: values.clone(),
            direction: Direction::default(),
            damping: 0.0,
            settled: false,
            exact,
            status: Status::Running,
            done: Vec::new(),
            problem,
            layout,
            state,
            values,
            room,
            filter,
            mu,
            tolerance,
        }
    }

    /// What is being refined.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// How far it has come.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// What every iteration saw.
    pub fn iterations(&self) -> &[Iteration] {
        &self.done
    }

    /// The configurations of all knots.
    pub fn motion(&self) -> &[Vec<f64>] {
        &self.state.q
    }

    /// Effort, closeness and ease of what has been found.
    pub fn objective(&self) -> f64 {
        self.state.objective(&self.problem, &self.layout)
    }

    /// What acts at each freedom at a knot, in its unit; 0 where physics does not hold.
    pub fn forces(&self, knot: usize) -> &[f64] {
        &self.values.forces[knot * self.layout.n..(knot + 1) * self.layout.n]
    }

    /// The contact forces at a knot, in weights: three for each contact, along its axes.
    pub fn contact_forces(&self, knot: usize) -> &[f64] {
        &self.state.l[self.layout.forces(knot)]
    }

    /// The largest force at a free row at each knot: what would have to be pulled by nobody, in the rows' units.
    pub fn residuals(&self) -> Vec<f64> {
        let free = |k: &usize| self.problem.drives[*k].effort.is_none();
        let largest = |i: usize| {
            let forces = self.forces(i);
            (0..self.layout.n).filter(free).fold(0.0_f64, |m, k| m.max(forces[k].abs()))
        };
        (0..self.problem.knots())
            .map(|i| if self.layout.physical.contains(&i) { largest(i) } else { 0.0 })
            .collect()
    }

    /// Iterates until it is done, or so many times.
    pub fn run(&mut self, most: usize) -> &Status {
        for _ in 0..most {
            if *self.advance() != Status::Running {
                break;
            }
        }
        &self.status
    }

    /// One iteration.
    pub fn advance(&mut self) -> &Status {
        if self.status != Status::Running {
            return &self.status;
        }
        let (problem, layout) = (&self.problem, &self.layout);
        self.system.differentiate(problem, layout, &self.state, &self.values, &mut self.room);
        let final_mu = 0.1 * self.tolerance;
        let mut errors = self.errors();
        loop {
            if errors.worst() <= self.tolerance && self.mu <= final_mu && self.settled {
                self.status = self.ended();
                return &self.status;
            }
            if self.mu <= final_mu || errors.worst() > 10.0 * self.mu {
                break;
            }
            self.mu = (0.2 * self.mu).min(libm::pow(self.mu, 1.5)).max(final_mu);
            let off = self.state.merit(&self.problem, &self.layout, &self.values, self.mu).0;
            self.filter.reset(off);
            errors = self.errors();
        }
        self.exact |= errors.physics < NEAR && self.driven_rows() < 10.0 * NEAR;
        let exact = self.exact;
        let taken = self.step(exact);
        let objective = self.state.objective(&self.problem, &self.layout);
        self.settled = taken == 1.0 && self.direction.slope.abs() <= SETTLED * objective.max(self.tolerance);
        self.done.push(Iteration {
            physics: errors.physics,
            error: errors.worst(),
            objective,
            barrier: self.mu,
            step: taken,
            exact,
        });
        if taken == 0.0 {
            // Where all rows hold, keys that are missed say more than that they are missed a little more than they need be.
            let holds = errors.rows <= self.tolerance;
            self.status = match self.ended() {
                Status::KeysMissed(keys) if holds => Status::KeysMissed(keys),
                _ => Status::Stalled,
            };
        }
        &self.status
    }

    fn errors(&self) -> Errors {
        self.system.errors(&self.problem, &self.layout, &self.state, &self.values, self.mu)
    }

    /// The largest error of rows that are no keys.
    fn driven_rows(&self) -> f64 {
        let off = |i: &usize| (self.values.forces[*i] - self.state.t[*i]).abs();
        let n = self.layout.n;
        let range = self.layout.physical.start * n..self.layout.physical.end * n;
        range.map(|i| off(&i)).fold(0.0, f64::max)
    }

    fn ended(&self) -> Status {
        let mut missed = Vec::new();
        for (key, placed) in self.layout.rows.iter().filter(|r| r.kind == Kind::Key).enumerate() {
            let range = placed.first..placed.first + placed.row.count();
            let by = range.map(|r| self.values.rows[r] * self.values.rows[r]).sum::<f64>().sqrt();
            if by > MISSED * 10.0 && by / placed.row.scale > MISSED {
                missed.push((key, by / placed.row.scale));
            }
        }
        if missed.is_empty() { Status::Converged } else { Status::KeysMissed(missed) }
    }

    /// Takes a step; the share of it that was taken, 0 for none.
    fn step(&mut self, exact: bool) -> f64 {
        for _ in 0..6 {
            let solved = self.system.solve(
                &self.problem,
                &self.layout,
                &self.state,
                &self.values,
                &mut self.room,
                self.mu,
                exact,
                self.damping,
                &mut self.direction,
            );
            if solved && let Some(taken) = self.search(exact) {
                self.damping = if self.damping > 1e-10 { self.damping / 4.0 } else { 0.0 };
                return taken;
            }
            self.damping = (self.damping * 10.0).max(1e-6);
        }
        0.0
    }

    /// Looks along the direction for a state that the filter takes.
    ///
    /// An exact step goes straight for the solution, off the curved equations by its square, so that the objective may rise where
    /// the Lagrangian falls (the Maratos effect). Near the solution a fall of the Lagrangian is enough (Ulbrich 2004).
    fn search(&mut self, exact: bool) -> Option<f64> {
        let keep = (1.0 - self.mu).max(0.99);
        let (most, prices) = self.room_to_limits(keep);
        let most = most.min(LARGEST_TURN / self.largest_turn().max(LARGEST_TURN));
        let now = self.state.merit(&self.problem, &self.layout, &self.values, self.mu);
        let bent = self.state.priced(&self.layout, &self.values, &self.state, &self.direction);
        let falls = self.direction.slope - bent;
        let near = exact && now.0 < FAR_OFF && falls < 0.0;
        let mut share = most;
        for _ in 0..14 {
            self.apply(share, prices);
            self.tried.evaluate(&self.problem, &self.layout, &self.trial, &mut self.room);
            let then = self.trial.merit(&self.problem, &self.layout, &self.tried, self.mu);
            let straight = near && then.0 < FAR_OFF && {
                let after = self.trial.priced(&self.layout, &self.tried, &self.state, &self.direction);
                then.1 + after <= now.1 + bent + 1e-4 * share * falls + 1e-14
            };
            if straight || self.filter.takes(now, then, self.direction.slope, share) {
                std::mem::swap(&mut self.state, &mut self.trial);
                std::mem::swap(&mut self.values, &mut self.tried);
                return Some(share);
            }
            share *= 0.5;
        }
        None
    }

    /// The most that a joint turns along the direction, rad.
    fn largest_turn(&self) -> f64 {
        let tree = &self.problem.tree;
        let turns = |k: usize| {
            use crate::articulation::JointKind::{Ball, CarriedBall, Hinge};
            matches!(tree.links()[tree.link_of(k)].kind, Ball | CarriedBall | Hinge)
        };
        let all = self.direction.q.chunks_exact(self.layout.n).flat_map(|knot| knot.iter().enumerate());
        all.filter(|(k, _)| turns(*k)).fold(0.0_f64, |m, (_, d)| m.max(d.abs()))
    }

    /// How much of the direction can be taken before a limit is met, and before a price is.
    fn room_to_limits(&self, keep: f64) -> (f64, f64) {
        let (s, d, layout) = (&self.state, &self.direction, &self.layout);
        let (mut most, mut prices) = (1.0_f64, 1.0_f64);
        let until = |room: f64, change: f64| if change < 0.0 { -keep * room / change } else { 1.0 };
        for i in layout.physical.clone() {
            for (k, drive) in self.problem.drives.iter().enumerate() {
                if drive.effort.is_some() && drive.limited {
                    let at = i * layout.n + k;
                    let up = until(1.0 - s.t[at], -d.t[at]);
                    most = most.min(up).min(until(1.0 + s.t[at], d.t[at]));
                    let z = until(s.z[0][at], d.z[0][at]);
                    prices = prices.min(z).min(until(s.z[1][at], d.z[1][at]));
                }
            }
            for (c, contact) in self.problem.contacts[i].iter().enumerate() {
                let at = layout.contacts[i] + c;
                let (now, by) =
                    (sides(contact.friction, &s.l[3 * at..]), sides(contact.friction, &d.l[3 * at..]));
                for side in 0..SIDES {
                    most = most.min(until(now[side], by[side]));
                    let z = SIDES * at + side;
                    prices = prices.min(until(s.zl[z], d.zl[z]));
                }
            }
        }
        for placed in &layout.rows {
            for r in placed.first..placed.first + placed.row.count() {
                match placed.kind {
                    Kind::Hold => {}
                    Kind::Bound => {
                        most = most.min(until(s.over[r], d.over[r]));
                        prices = prices.min(until(-s.row_y[r], -d.row_y[r]));
                    }
                    Kind::Key => {
                        let price = self.problem.price;
                        most = most.min(until(s.over[r], d.over[r])).min(until(s.under[r], d.under[r]));
                        prices = prices.min(until(price - s.row_y[r], -d.row_y[r]));
                        prices = prices.min(until(price + s.row_y[r], d.row_y[r]));
                    }
                }
            }
        }
        (most, prices)
    }

    /// The state so far along the direction.
    fn apply(&mut self, share: f64, prices: f64) {
        let (from, to, d, layout) = (&self.state, &mut self.trial, &self.direction, &self.layout);
        let add = |to: &mut [f64], from: &[f64], by: &[f64], share: f64| {
            for (t, (f, b)) in to.iter_mut().zip(from.iter().zip(by)) {
                *t = f + share * b;
            }
        };
        let n = layout.n;
        let mut by = vec![0.0; n];
        for (at, i) in layout.unknown.clone().enumerate() {
            by.iter_mut().zip(&d.q[at * n..(at + 1) * n]).for_each(|(b, d)| *b = share * d);
            self.problem.tree.integrate(&from.q[i], &by, &mut to.q[i]);
        }
        add(&mut to.t, &from.t, &d.t, share);
        add(&mut to.y, &from.y, &d.y, share);
        add(&mut to.l, &from.l, &d.l, share);
        add(&mut to.over, &from.over, &d.over, share);
        add(&mut to.under, &from.under, &d.under, share);
        add(&mut to.z[0], &from.z[0], &d.z[0], prices);
        add(&mut to.z[1], &from.z[1], &d.z[1], prices);
        add(&mut to.zl, &from.zl, &d.zl, prices);
        add(&mut to.row_y, &from.row_y, &d.row_y, prices);
        for placed in layout.rows.iter().filter(|p| p.kind == Kind::Hold) {
            for r in placed.first..placed.first + placed.row.count() {
                to.row_y[r] = from.row_y[r] + share * d.row_y[r];
            }
        }
    }
}
