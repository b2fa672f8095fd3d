//! The unknowns of a refinement, and what follows from them.

use super::knot::{Around, Room, turnings};
use super::measure::{At, turn_distance};
use super::system::Direction;
use super::{Problem, Row};
use crate::articulation::{JointKind, Posed, Turning};
use glam::{DMat3, DVec3};

/// Sides of a friction pyramid.
pub(super) const SIDES: usize = 4;

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is 0.
    Hold,
    /// It is not below 0.
    Bound,
    /// It is pulled to 0.
    Key,
}

/// One row of the problem's holds, bounds and keys.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub knot: usize,
    pub row: Row,
    pub kind: Kind,
    /// Its first number among those of all rows.
    pub first: usize,
}

/// What does not change while a problem is solved.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub n: usize,
    pub unknown: std::ops::Range<usize>,
    pub physical: std::ops::Range<usize>,
    /// First contact of each knot, and one more.
    pub contacts: Vec<usize>,
    pub rows: Vec<Placed>,
    /// Numbers of all rows.
    pub numbers: usize,
    /// How many limits there are.
    pub limits: usize,
}

impl Layout {
    pub fn new(problem: &Problem) -> Layout {
        let n = problem.tree.freedoms();
        let (unknown, physical) = (problem.unknown(), problem.physical());
        let mut contacts = vec![0];
        for (i, c) in problem.contacts.iter().enumerate() {
            contacts.push(contacts[i] + if physical.contains(&i) { c.len() } else { 0 });
        }
        let holds = problem.holds.iter().map(|(k, r)| (*k, *r, Kind::Hold));
        let bounds = problem.bounds.iter().map(|(k, r)| (*k, *r, Kind::Bound));
        let keys = problem.keys.iter().map(|k| (k.knot, k.row, Kind::Key));
        let mut rows: Vec<Placed> = Vec::new();
        let mut numbers = 0;
        let all = holds.chain(bounds).chain(keys);
        for (knot, row, kind) in all.filter(|(k, _, _)| unknown.contains(k)) {
            rows.push(Placed { knot, row, kind, first: numbers });
            numbers += row.count();
        }
        let count = |kind: Kind| rows.iter().filter(|r| r.kind == kind).map(|r| r.row.count()).sum::<usize>();
        let limited = problem.drives.iter().filter(|d| d.effort.is_some() && d.limited).count();
        let limits = 2 * limited * physical.len()
            + SIDES * contacts[problem.knots()]
            + count(Kind::Bound)
            + 2 * count(Kind::Key);
        Layout { n, unknown, physical, contacts, rows, numbers, limits }
    }

    /// The numbers of a knot's contact forces.
    pub fn forces(&self, knot: usize) -> std::ops::Range<usize> {
        3 * self.contacts[knot]..3 * self.contacts[knot + 1]
    }
}

/// The unknowns, and their prices.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Poses.
    pub q: Vec<Vec<f64>>,
    /// What drives do, in their units, knot by knot.
    pub t: Vec<f64>,
    /// Prices of the equations of motion.
    pub y: Vec<f64>,
    /// Prices of the upper and the lower limit of each drive.
    pub z: [Vec<f64>; 2],
    /// Contact forces.
    pub l: Vec<f64>,
    /// Prices of the sides of their cones.
    pub zl: Vec<f64>,
    /// Prices of rows; of a bound the negative of its own.
    pub row_y: Vec<f64>,
    /// Slack of a bound; how far a key is missed, above.
    pub over: Vec<f64>,
    /// How far a key is missed, below.
    pub under: Vec<f64>,
}

/// What follows from the unknowns.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub posed: Vec<Posed>,
    pub turnings: Vec<Vec<Turning>>,
    /// What acts at each freedom, knot by knot.
    pub forces: Vec<f64>,
    /// All numbers of rows.
    pub rows: Vec<f64>,
}

impl Values {
    pub fn evaluate(&mut self, problem: &Problem, layout: &Layout, state: &State, room: &mut Room) {
        let knots = problem.knots();
        self.posed.resize(knots, Posed::default());
        self.turnings.resize(knots - 1, Vec::new());
        self.forces.resize(knots * layout.n, 0.0);
        self.rows.resize(layout.numbers, 0.0);
        for (q, posed) in state.q.iter().zip(&mut self.posed) {
            problem.tree.place(q, posed);
        }
        for i in 0..knots - 1 {
            let (from, to) = (&self.posed[i], &self.posed[i + 1]);
            turnings(problem, from, to, problem.steps[i], &mut self.turnings[i]);
        }
        let mut forces = std::mem::take(&mut self.forces);
        for i in layout.physical.clone() {
            let own = &mut forces[i * layout.n..(i + 1) * layout.n];
            self.around(problem, layout, state, i).forces(room, own);
        }
        self.forces = forces;
        for placed in &layout.rows {
            let value = placed.row.value(self.at(problem, state, placed.knot));
            for a in 0..placed.row.count() {
                self.rows[placed.first + a] = value[a];
            }
        }
    }

    pub fn at<'a>(&'a self, problem: &'a Problem, state: &'a State, knot: usize) -> At<'a> {
        At { tree: &problem.tree, q: &state.q[knot], posed: &self.posed[knot] }
    }

    pub fn around<'a>(
        &'a self,
        problem: &'a Problem,
        layout: &Layout,
        state: &'a State,
        knot: usize,
    ) -> Around<'a> {
        let side = |pose: usize, turn: usize| (&self.posed[pose], self.turnings[turn].as_slice());
        Around {
            problem,
            knot,
            now: &self.posed[knot],
            before: (knot > 0).then(|| side(knot - 1, knot - 1)),
            after: (knot + 1 < problem.knots()).then(|| side(knot + 1, knot)),
            forces: &state.l[layout.forces(knot)],
        }
    }
}

/// Least and most of a pyramid's sides for a contact force: they are positive inside.
pub(super) fn sides(friction: f64, l: &[f64]) -> [f64; SIDES] {
    let most = friction * l[0];
    [most + l[1], most - l[1], most + l[2], most - l[2]]
}

/// The derivatives of those.
pub(super) fn side_slopes(friction: f64) -> [DVec3; SIDES] {
    [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)].map(|(a, b)| DVec3::new(friction, a, b))
}

/// The distance of a knot's pose from the input, half of its square with every freedom's price: by joint, gradient and Hessian to `to`.
pub(super) fn closeness(
    problem: &Problem,
    q: &[f64],
    knot: usize,
    mut to: impl FnMut(usize, DVec3, DMat3),
) -> f64 {
    let (tree, share) = (&problem.tree, problem.share(knot));
    let mut by = vec![0.0; tree.freedoms()];
    tree.difference(&problem.input[knot], q, &mut by);
    let mut sum = 0.0;
    for (i, link) in tree.links().iter().enumerate() {
        let own = tree.freedoms_of(i);
        if own.is_empty() || problem.closeness[own.start] == 0.0 {
            continue;
        }
        let price = 2.0 * share * problem.closeness[own.start];
        let r = own.clone().enumerate().fold(DVec3::ZERO, |mut r, (a, k)| {
            r[a] = by[k];
            r
        });
        sum += 0.5 * price * r.length_squared();
        let (gradient, hessian) = match link.kind {
            JointKind::Ball | JointKind::CarriedBall => turn_distance(r),
            _ => (r, DMat3::IDENTITY),
        };
        to(i, gradient * price, hessian * price);
    }
    sum
}

impl State {
    /// Where the search begins: the input's poses, the weight spread over what bears it, drives at most half way to their limits.
    pub fn start(problem: &Problem, layout: &Layout, values: &mut Values, room: &mut Room) -> State {
        let knots = problem.knots();
        let size = knots * layout.n;
        let mut state = State {
            q: problem.input.clone(),
            t: vec![0.0; size],
            y: vec![0.0; size],
            z: [vec![0.0; size], vec![0.0; size]],
            l: vec![0.0; 3 * layout.contacts[knots]],
            zl: vec![0.0; SIDES * layout.contacts[knots]],
            row_y: vec![0.0; layout.numbers],
            over: vec![0.0; layout.numbers],
            under: vec![0.0; layout.numbers],
        };
        for i in layout.physical.clone() {
            let forces = &mut state.l[layout.forces(i)];
            let per = 3.0 / forces.len().max(1) as f64;
            forces.chunks_exact_mut(3).for_each(|l| l[0] = per);
        }
        values.evaluate(problem, layout, &state, room);
        for i in layout.physical.clone() {
            for (k, drive) in problem.drives.iter().enumerate().filter(|(_, d)| d.effort.is_some()) {
                let force = values.forces[i * layout.n + k];
                state.t[i * layout.n + k] = if drive.limited { force.clamp(-0.5, 0.5) } else { force };
            }
        }
        state
    }

    /// Prices of limits, slacks and misses for a barrier of `mu`.
    pub fn start_prices(&mut self, problem: &Problem, layout: &Layout, values: &Values, mu: f64) {
        for z in &mut self.z {
            z.fill(0.0);
        }
        for i in layout.physical.clone() {
            for (k, _) in problem.drives.iter().enumerate().filter(|(_, d)| d.effort.is_some() && d.limited) {
                let at = i * layout.n + k;
                let t = self.t[at];
                self.z[0][at] = mu / (1.0 - t);
                self.z[1][at] = mu / (1.0 + t);
            }
            for (c, contact) in problem.contacts[i].iter().enumerate() {
                let at = layout.contacts[i] + c;
                let s = sides(contact.friction, &self.l[3 * at..]);
                for (side, s) in s.into_iter().enumerate() {
                    self.zl[SIDES * at + side] = mu / s;
                }
            }
        }
        for placed in &layout.rows {
            for r in placed.first..placed.first + placed.row.count() {
                let c = values.rows[r];
                match placed.kind {
                    Kind::Hold => {}
                    Kind::Bound => {
                        self.over[r] = c.max(1e-2);
                        self.row_y[r] = -mu / self.over[r];
                    }
                    Kind::Key => {
                        let least = mu / problem.price;
                        (self.over[r], self.under[r]) = (c.max(0.0) + least, (-c).max(0.0) + least);
                    }
                }
            }
        }
    }

    /// Effort, closeness and ease.
    pub fn objective(&self, problem: &Problem, layout: &Layout) -> f64 {
        let mut sum = 0.0;
        for i in layout.physical.clone() {
            let share = problem.share(i);
            for (k, drive) in problem.drives.iter().enumerate() {
                let t = self.t[i * layout.n + k];
                sum += share * drive.effort.unwrap_or(0.0) * t * t;
            }
            let l = &self.l[layout.forces(i)];
            sum += share * problem.ease * l.iter().map(|l| l * l).sum::<f64>();
        }
        for i in layout.unknown.clone() {
            sum += closeness(problem, &self.q[i], i, |_, _, _| {});
        }
        sum
    }

    /// Sum of what equations are off by, and the objective with its barriers.
    pub fn merit(&self, problem: &Problem, layout: &Layout, values: &Values, mu: f64) -> (f64, f64) {
        let (mut off, mut value) = (0.0, self.objective(problem, layout));
        let mut barrier = 0.0;
        for i in layout.physical.clone() {
            for (k, drive) in problem.drives.iter().enumerate() {
                let at = i * layout.n + k;
                let t = self.t[at];
                off += (values.forces[at] - t).abs();
                if drive.limited && drive.effort.is_some() {
                    barrier += libm::log((1.0 - t) * (1.0 + t));
                }
            }
            for (c, contact) in problem.contacts[i].iter().enumerate() {
                let s = sides(contact.friction, &self.l[3 * (layout.contacts[i] + c)..]);
                barrier += s.into_iter().map(libm::log).sum::<f64>();
            }
        }
        for placed in &layout.rows {
            for r in placed.first..placed.first + placed.row.count() {
                let c = values.rows[r];
                match placed.kind {
                    Kind::Hold => off += c.abs(),
                    Kind::Bound => {
                        off += (c - self.over[r]).abs();
                        barrier += libm::log(self.over[r]);
                    }
                    Kind::Key => {
                        off += (c - self.over[r] + self.under[r]).abs();
                        barrier += libm::log(self.over[r]) + libm::log(self.under[r]);
                        value += problem.price * (self.over[r] + self.under[r]);
                    }
                }
            }
        }
        (off, value - mu * barrier)
    }

    /// What all equations are off by, at the prices that `from` has after a whole step along `by`.
    pub fn priced(&self, layout: &Layout, values: &Values, from: &State, by: &Direction) -> f64 {
        let range = layout.physical.start * layout.n..layout.physical.end * layout.n;
        let mut sum: f64 = range.map(|i| (from.y[i] + by.y[i]) * (values.forces[i] - self.t[i])).sum();
        for placed in &layout.rows {
            for r in placed.first..placed.first + placed.row.count() {
                let off = values.rows[r] - self.over[r] + self.under[r];
                sum += (from.row_y[r] + by.row_y[r]) * off;
            }
        }
        sum
    }
}
