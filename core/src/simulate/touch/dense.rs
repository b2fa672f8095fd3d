//! Contacts of limbs, swept over without their bodies: what an impulse along one row changes of the velocity along each is
//! one matrix, `G = J P J^T`, with P how the linkages answer (see [`super::linked`]).
//!
//! A foot on the floor moves everything that hangs on it. Sweeps that visit a contact would turn its impulses into the motion
//! of a dozen bodies, six by six, and those back into velocities at every other contact. Contacts of a figure are few, and
//! sweeps many: the matrix is made once, and a visit adds columns of it. Rows of a contact are its points along the normal, two
//! directions of friction across it, and, where it is broad, the turn about it. The sweeps are those of [`super::row`], and so
//! are their results, but for rounding.

use super::body::Twist;
use super::linked::Coupling;
use super::row::{Group, Moved, Row};
use super::sweeps::{Goal, Swept};
use glam::DVec3;

/// Of more rows than this the matrix would cost more than it saves.
const MOST_ROWS: usize = 96;

/// Columns are as long as so many registers hold.
const WIDTH: usize = 4;

/// One row: the force and torque on either body per impulse, which are also what its velocity is measured along.
#[derive(Clone, Copy, Debug)]
struct Line {
    bodies: [u32; 2],
    along: [(DVec3, DVec3); 2],
    /// Impulses move the second body, too: it is no floor.
    both: bool,
}

/// The rows of the contacts of an island, and what impulses along them do.
#[derive(Clone, Debug, Default)]
pub struct Dense {
    lines: Vec<Line>,
    /// Numbers in a column.
    height: usize,
    /// G, column by column.
    columns: Vec<f64>,
    /// Velocities along the rows: at present, when the last sweep began, and the direction of the search.
    rates: Vec<f64>,
    from: Vec<f64>,
    along: Vec<f64>,
    /// What one impulse does to the bodies.
    answers: Vec<Moved>,
}

impl Dense {
    /// Room for islands of so many bodies.
    pub fn with_room(bodies: usize) -> Dense {
        let numbers = || Vec::with_capacity(MOST_ROWS);
        Dense {
            lines: Vec::with_capacity(MOST_ROWS),
            height: 0,
            columns: Vec::with_capacity(MOST_ROWS * MOST_ROWS),
            rates: numbers(),
            from: numbers(),
            along: numbers(),
            answers: Vec::with_capacity(bodies.min(2 * MOST_ROWS)),
        }
    }

    /// Takes up the contacts of an island, whose bodies move as `moved` without them, and has these know how bodies answer;
    /// whether they are few enough.
    pub fn take(
        &mut self,
        groups: &mut [Group],
        rows: &mut [Row],
        moved: &[Moved],
        coupling: &Coupling,
    ) -> bool {
        self.lines.clear();
        let mut at = 0;
        for g in groups.iter() {
            if g.rolls() || self.lines.len() + g.rows + g.turns() > MOST_ROWS {
                return false;
            }
            let [n, t, s] = g.axes;
            let bodies = g.bodies;
            let both = moved[bodies[1] as usize].moves() || coupling.has(bodies[1]);
            for row in &rows[at..at + g.rows] {
                self.lines.push(Line { bodies, along: [(-n, -row.arms[0]), (n, row.arms[1])], both });
            }
            let across = [(t, DVec3::ZERO), (s, DVec3::ZERO), (DVec3::ZERO, n)];
            for (rub, about) in across.into_iter().take(g.turns()) {
                self.lines.push(Line { bodies, along: g.push_across(rub, about), both });
            }
            at += g.rows;
        }
        if self.answers.capacity() < moved.len() {
            return false;
        }
        pulp::Arch::new().dispatch(Filling(self, moved, coupling));
        self.hand_out(groups, rows);
        self.begin(groups, rows, moved);
        true
    }

    /// Makes the matrix: a column is what one impulse does along all rows.
    #[inline(always)]
    fn fill(&mut self, moved: &[Moved], coupling: &Coupling) {
        let count = self.lines.len();
        self.height = count.next_multiple_of(WIDTH);
        self.columns.clear();
        self.columns.resize(self.height * count, 0.0);
        self.answers.clear();
        self.answers.extend_from_slice(moved);
        for j in 0..count {
            let Line { bodies, along, .. } = self.lines[j];
            for m in &mut self.answers {
                m.now = Twist::default();
            }
            let (mut x, mut y) = (Twist::default(), Twist::default());
            coupling.push_two(bodies, &self.answers, along, [&mut x, &mut y]);
            self.answers[bodies[0] as usize].now = x;
            self.answers[bodies[1] as usize].now = y;
            coupling.push_others(bodies, &mut self.answers, along);
            let (height, answers) = (self.height, &self.answers[..]);
            for (i, line) in self.lines.iter().enumerate().skip(j) {
                let rate = match line.both {
                    true => line.rate(answers),
                    false => line.first_rate(answers),
                };
                self.columns[j * height + i] = rate;
                self.columns[i * height + j] = rate;
            }
        }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.columns[column * self.height + row]
    }

    /// Tells the contacts what single impulses of theirs do.
    fn hand_out(&self, groups: &mut [Group], rows: &mut [Row]) {
        let (mut at, mut own) = (0, 0);
        for g in groups {
            for row in &mut rows[own..own + g.rows] {
                row.yield_by(self.at(at, at));
                at += 1;
            }
            own += g.rows;
            let across = [self.at(at, at), self.at(at, at + 1), self.at(at + 1, at + 1)];
            g.yield_by(across, if g.turns() == 3 { self.at(at + 2, at + 2) } else { 0.0 });
            at += g.turns();
        }
    }

    /// Velocities along the rows, with the impulses that contacts begin with.
    fn begin(&mut self, groups: &[Group], rows: &[Row], moved: &[Moved]) {
        self.rates.clear();
        self.rates.extend(self.lines.iter().map(|l| l.rate(moved)));
        self.rates.resize(self.height, 0.0);
        self.from.clear();
        self.from.resize(self.height, 0.0);
        self.along.clear();
        self.along.resize(self.height, 0.0);
        let (mut at, mut own) = (0, 0);
        for g in groups {
            for row in &rows[own..own + g.rows] {
                self.add(at, row.impulse);
                at += 1;
            }
            own += g.rows;
            for by in [g.rub[0], g.rub[1], g.twist].into_iter().take(g.turns()) {
                self.add(at, by);
                at += 1;
            }
        }
    }

    /// Adds what an impulse along a row does.
    #[inline(always)]
    pub fn add(&mut self, row: usize, by: f64) {
        if by != 0.0 {
            let column = &self.columns[row * self.height..][..self.height];
            for (rates, column) in self.rates.chunks_exact_mut(WIDTH).zip(column.chunks_exact(WIDTH)) {
                (0..WIDTH).for_each(|k| rates[k] += column[k] * by);
            }
        }
    }

    /// Adds what impulses along two rows, one after the other, do.
    #[inline(always)]
    pub fn add_two(&mut self, row: usize, by: [f64; 2]) {
        let (x, y) = self.columns[row * self.height..][..2 * self.height].split_at(self.height);
        let columns = x.chunks_exact(WIDTH).zip(y.chunks_exact(WIDTH));
        for (rates, (x, y)) in self.rates.chunks_exact_mut(WIDTH).zip(columns) {
            (0..WIDTH).for_each(|k| rates[k] += x[k] * by[0] + y[k] * by[1]);
        }
    }

    /// The velocity along a row.
    #[inline(always)]
    pub fn rate(&self, row: usize) -> f64 {
        self.rates[row]
    }
}

impl Line {
    #[inline(always)]
    fn rate(&self, moved: &[Moved]) -> f64 {
        let (y, (p, q)) = (&moved[self.bodies[1] as usize].now, &self.along[1]);
        self.first_rate(moved) + (p.dot(y.velocity) + q.dot(y.spin))
    }

    /// What the first body has of it.
    #[inline(always)]
    fn first_rate(&self, moved: &[Moved]) -> f64 {
        let (x, (f, g)) = (&moved[self.bodies[0] as usize].now, &self.along[0]);
        f.dot(x.velocity) + g.dot(x.spin)
    }
}

/// Makes the matrix, compiled for the vectors that the processor has.
struct Filling<'a>(&'a mut Dense, &'a [Moved], &'a Coupling);

impl pulp::WithSimd for Filling<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.0.fill(self.1, self.2);
    }
}

/// Sweeps over such contacts, compiled for the vectors that the processor has. Nothing is fused or reordered: the numbers are
/// the same on all.
pub struct Densely<'a> {
    pub groups: &'a mut [Group],
    pub rows: &'a mut [Row],
    pub dense: &'a mut Dense,
    pub goal: Goal,
}

impl pulp::WithSimd for Densely<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let goal = self.goal;
        goal.reach(self);
    }
}

impl Swept for Densely<'_> {
    #[inline(always)]
    fn sweep(&mut self, share: f64) -> (f64, f64) {
        let Densely { groups, rows, dense, .. } = self;
        dense.from.copy_from_slice(&dense.rates);
        let (mut most, mut changed, mut at, mut own) = (0.0_f64, 0.0, 0, 0);
        for g in groups.iter_mut() {
            let to = own + g.rows;
            most = most.max(g.visit_densely(&mut rows[own..to], dense, at, share, &mut changed));
            (own, at) = (to, at + g.rows + g.turns());
        }
        (most, changed)
    }

    #[inline(always)]
    fn go_on(&mut self, share: f64) {
        let Dense { rates, from, along, .. } = &mut *self.dense;
        for ((now, from), along) in rates.iter_mut().zip(&*from).zip(along) {
            let more = *along * share;
            *along = more + (*now - from);
            *now += more;
        }
    }

    fn note_loads(&mut self) {
        super::row::note_loads(self.groups, self.rows);
    }

    fn freeze_friction(&mut self) {
        super::row::freeze_friction(self.groups);
    }
}

#[cfg(test)]
mod tests {
    use super::super::contact::{Contact, Spot};
    use super::super::row::{Course, start};
    use super::super::sweeps::OneByOne;
    use super::*;
    use glam::DMat3;
    use proptest::prelude::*;

    const BODIES: usize = 3;

    fn vector(size: f64) -> impl Strategy<Value = DVec3> {
        (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(move |(x, y, z)| DVec3::new(x, y, z) * size)
    }

    /// How three limbs that hang together answer: any matrix times itself, and a little mass each.
    fn coupling(numbers: &[f64]) -> Coupling {
        let n = 6 * BODIES;
        let at = |r: usize, c: usize| {
            let product: f64 = (0..n).map(|k| numbers[r * n + k] * numbers[c * n + k]).sum();
            product * 0.1 + if r == c { 0.5 } else { 0.0 }
        };
        let block =
            |i: usize, j: usize| std::array::from_fn(|r| std::array::from_fn(|c| at(6 * i + r, 6 * j + c)));
        let blocks = (0..BODIES * BODIES).map(|k| block(k / BODIES, k % BODIES)).collect();
        Coupling::of_one(blocks, BODIES as u32)
    }

    proptest! {
        /// Limbs on a floor, the last body: the sweeps over their bodies and those over the matrix find the same impulses.
        #[test]
        fn sweeps_without_bodies_find_what_sweeps_with_them_do(
            numbers in prop::collection::vec(-1.0..1.0_f64, 36 * BODIES * BODIES),
            levers in prop::collection::vec(vector(0.3), 8),
            speeds in prop::collection::vec(vector(1.0), 2 * BODIES),
            breadth in prop::sample::select(vec![0.0, 0.1]),
        ) {
            let coupling = coupling(&numbers);
            let mut moved: Vec<Moved> = (0..BODIES)
                .map(|i| Moved {
                    now: Twist { velocity: speeds[2 * i] - DVec3::Y, spin: speeds[2 * i + 1] },
                    per_mass: 1.0,
                    per_inertia: DMat3::IDENTITY,
                })
                .collect();
            moved.push(Moved { now: Twist::default(), per_mass: 0.0, per_inertia: DMat3::ZERO });
            let (mut groups, mut rows) = (Vec::new(), Vec::new());
            for k in 0..4 {
                let contact = Contact::on_floor(levers[2 * k], breadth);
                let spots = [Spot::on_floor(levers[2 * k]), Spot::on_floor(levers[2 * k + 1])];
                let bodies = [(k % BODIES) as u32, BODIES as u32];
                groups.push(Group::new(bodies, &contact, &spots[..1 + k % 2], &moved, &mut rows));
            }
            let goal = Goal { settled: 1e-12, moves: false, linked: true, most: 60 };

            let (mut other_groups, mut other_rows, mut other) = (groups.clone(), rows.clone(), moved.clone());
            let mut at = 0;
            for g in &mut other_groups {
                g.link(&mut other_rows[at..at + g.rows], &other, &coupling);
                at += g.rows;
            }
            start(&other_groups, &other_rows, &mut other, &coupling);
            let mut courses = vec![Course::default(); other.len()];
            pulp::Arch::new().dispatch(OneByOne {
                ties: &mut [],
                groups: &mut other_groups,
                rows: &mut other_rows,
                moved: &mut other,
                courses: &mut courses,
                coupling: &coupling,
                goal,
            });

            let mut dense = Dense::with_room(BODIES + 1);
            prop_assert!(dense.take(&mut groups, &mut rows, &moved, &coupling));
            pulp::Arch::new().dispatch(Densely {
                groups: &mut groups,
                rows: &mut rows,
                dense: &mut dense,
                goal,
            });
            let most = other_rows.iter().fold(1e-3_f64, |m, r| m.max(r.impulse));
            for (a, b) in rows.iter().zip(&other_rows) {
                prop_assert!((a.impulse - b.impulse).abs() < 1e-8 * most, "{} {}", a.impulse, b.impulse);
            }
            for (a, b) in groups.iter().zip(&other_groups) {
                prop_assert!((a.rub_in_world() - b.rub_in_world()).length() < 1e-8 * most);
                prop_assert!((a.twist - b.twist).abs() < 1e-8 * most);
            }
        }
    }
}
