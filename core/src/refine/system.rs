//! The Newton system of one iteration: everything but the poses is eliminated knot by knot, what is left is a band in time.

use super::Problem;
use super::knot::Room;
use super::state::{Kind, Layout, SIDES, State, Values, closeness, side_slopes, sides};
use crate::solve::band::{Band, add_four, add_one};
use glam::DVec3;

/// Weight of an equation whose price is followed step by step (proximal multipliers).
const FIRM: f64 = 1e2;

/// What a step changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    /// Poses, all unknown knots.
    pub q: Vec<f64>,
    pub t: Vec<f64>,
    pub y: Vec<f64>,
    pub z: [Vec<f64>; 2],
    pub l: Vec<f64>,
    pub zl: Vec<f64>,
    pub row_y: Vec<f64>,
    pub over: Vec<f64>,
    pub under: Vec<f64>,
    /// Slope of the objective with its barriers.
    pub slope: f64,
}

/// How far a state is from the solution.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Errors {
    /// The largest of free rows, holds.
    pub physics: f64,
    /// The largest of all rows.
    pub rows: f64,
    /// The gradient, against what it is summed of.
    pub gradient: f64,
    /// The largest product of a limit and its price, less the barrier's.
    pub products: f64,
}

impl Errors {
    pub fn worst(&self) -> f64 {
        self.rows.max(self.gradient).max(self.products)
    }
}

/// One knot's matrices.
#[derive(Clone, Debug, Default)]
struct Block {
    /// Derivatives of what acts at freedoms: rows of `wide`.
    slopes: Vec<f64>,
    wide: usize,
    /// Contact forces with poses (rows of 3 n), and with each other (factored).
    cross: Vec<f64>,
    own: Vec<f64>,
    gradient: Vec<f64>,
    /// Per freedom: weight, and price with the row as it is.
    weight: Vec<f64>,
    push: Vec<f64>,
}

/// Room for the system.
#[derive(Clone, Debug)]
pub(super) struct System {
    blocks: Vec<Block>,
    /// Derivatives of every number of every row: n each.
    row_slopes: Vec<f64>,
    row_weight: Vec<f64>,
    row_push: Vec<f64>,
    band: Band,
    factor: Band,
    gradient: Vec<f64>,
    shift: f64,
}

impl System {
    pub fn new(problem: &Problem, layout: &Layout) -> System {
        let n = layout.n;
        let mut blocks = vec![Block::default(); problem.knots()];
        for i in layout.physical.clone() {
            let contacts = layout.forces(i).len();
            let wide = 3 * n + contacts;
            blocks[i] = Block {
                slopes: vec![0.0; n * wide],
                wide,
                cross: vec![0.0; contacts * 3 * n],
                own: vec![0.0; contacts * contacts],
                gradient: vec![0.0; contacts],
                weight: vec![0.0; n],
                push: vec![0.0; n],
            };
        }
        let band = Band::new(n, layout.unknown.len());
        System {
            blocks,
            row_slopes: vec![0.0; layout.numbers * n],
            row_weight: vec![0.0; layout.numbers],
            row_push: vec![0.0; layout.numbers],
            factor: band.clone(),
            gradient: vec![0.0; band.rows()],
            band,
            shift: 0.0,
        }
    }

    /// The derivatives of everything.
    pub fn differentiate(
        &mut self,
        problem: &Problem,
        layout: &Layout,
        state: &State,
        values: &Values,
        room: &mut Room,
    ) {
        for i in layout.physical.clone() {
            let block = &mut self.blocks[i];
            values.around(problem, layout, state, i).slopes(room, &mut block.slopes, block.wide);
        }
        self.row_slopes.fill(0.0);
        let n = layout.n;
        for placed in &layout.rows {
            let count = placed.row.count();
            let to = &mut self.row_slopes[placed.first * n..(placed.first + count) * n];
            placed.row.slope(values.at(problem, state, placed.knot), |k, v| {
                for a in 0..count {
                    to[a * n + k] += v[a];
                }
            });
        }
    }

    /// The columns of a knot's three poses that are unknown, and the first of them in the band.
    fn columns(layout: &Layout, knot: usize) -> (std::ops::Range<usize>, usize) {
        let n = layout.n;
        let first = (1 + layout.unknown.start).saturating_sub(knot);
        let last = (layout.unknown.end + 1 - knot).min(3);
        let at = (knot + first - 1 - layout.unknown.start) * n;
        (first * n..last * n, at)
    }

    /// How far a state is from a solution, for a barrier of `mu`. Derivatives must be those of the state.
    pub fn errors(
        &self,
        problem: &Problem,
        layout: &Layout,
        state: &State,
        values: &Values,
        mu: f64,
    ) -> Errors {
        let n = layout.n;
        let mut found = Errors::default();
        let size = self.gradient.len();
        let (mut sum, mut parts) = (vec![0.0; size], vec![0.0; size]);
        let mut products =
            |slack: f64, price: f64| found.products = found.products.max((slack * price - mu).abs());
        let mut others: f64 = 0.0;
        for i in layout.physical.clone() {
            let block = &self.blocks[i];
            let (columns, at) = System::columns(layout, i);
            let mut of_forces = vec![0.0; block.gradient.len()];
            for (k, drive) in problem.drives.iter().enumerate() {
                let row = &block.slopes[k * block.wide..(k + 1) * block.wide];
                let index = i * n + k;
                let (t, y) = (state.t[index], state.y[index]);
                let off = (values.forces[index] - t).abs();
                found.rows = found.rows.max(off);
                if drive.effort.is_none() {
                    found.physics = found.physics.max(off);
                }
                for (c, &v) in row[columns.clone()].iter().enumerate() {
                    sum[at + c] += v * y;
                    parts[at + c] += (v * y).abs();
                }
                of_forces.iter_mut().zip(&row[3 * n..]).for_each(|(s, v)| *s += v * y);
                if let Some(effort) = drive.effort {
                    let mut g = 2.0 * problem.share(i) * effort * t - y;
                    if drive.limited {
                        let z = [state.z[0][index], state.z[1][index]];
                        g += z[0] - z[1];
                        products(1.0 - t, z[0]);
                        products(1.0 + t, z[1]);
                    }
                    others = others.max(g.abs());
                }
            }
            for (c, contact) in problem.contacts[i].iter().enumerate() {
                let index = layout.contacts[i] + c;
                let l = &state.l[3 * index..3 * index + 3];
                let slopes = side_slopes(contact.friction);
                for (side, s) in sides(contact.friction, l).into_iter().enumerate() {
                    let z = state.zl[SIDES * index + side];
                    products(s, z);
                    (0..3).for_each(|a| of_forces[3 * c + a] -= z * slopes[side][a]);
                }
                for a in 0..3 {
                    let g = of_forces[3 * c + a] + 2.0 * problem.share(i) * problem.ease * l[a];
                    others = others.max(g.abs());
                }
            }
        }
        for placed in &layout.rows {
            let at = (placed.knot - layout.unknown.start) * n;
            for r in placed.first..placed.first + placed.row.count() {
                let (c, y) = (values.rows[r], state.row_y[r]);
                let off = match placed.kind {
                    Kind::Hold => c,
                    Kind::Bound => {
                        products(state.over[r], -y);
                        c - state.over[r]
                    }
                    Kind::Key => {
                        products(state.over[r], problem.price - y);
                        products(state.under[r], problem.price + y);
                        c - state.over[r] + state.under[r]
                    }
                };
                found.rows = found.rows.max(off.abs());
                if placed.kind == Kind::Hold {
                    found.physics = found.physics.max(off.abs());
                }
                for (k, &v) in self.row_slopes[r * n..(r + 1) * n].iter().enumerate() {
                    sum[at + k] += v * y;
                    parts[at + k] += (v * y).abs();
                }
            }
        }
        for i in layout.unknown.clone() {
            let at = (i - layout.unknown.start) * n;
            closeness(problem, &state.q[i], i, |link, g, _| {
                for (a, k) in problem.tree.freedoms_of(link).enumerate() {
                    sum[at + k] += g[a];
                    parts[at + k] += g[a].abs();
                }
            });
        }
        let largest = |v: &[f64]| v.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let scale = largest(&parts);
        found.gradient = others.max(if scale > 0.0 { largest(&sum) / scale.max(1e-3) } else { 0.0 });
        found
    }

    /// The direction of the next step, with the exact Hessian or without its second derivatives of rows. `None` where no shift makes it
    /// positive.
    #[allow(clippy::too_many_arguments)]
    pub fn solve(
        &mut self,
        problem: &Problem,
        layout: &Layout,
        state: &State,
        values: &Values,
        room: &mut Room,
        mu: f64,
        exact: bool,
        damping: f64,
        direction: &mut Direction,
    ) -> bool {
        self.band.clear();
        self.gradient.fill(0.0);
        for i in layout.physical.clone() {
            self.add_knot(problem, layout, state, values, room, mu, exact, i);
        }
        self.add_rows(problem, layout, state, values, mu, exact);
        self.add_closeness(problem, layout, state, exact);
        if !self.factor(damping) {
            return false;
        }
        direction.q.clear();
        direction.q.extend(self.gradient.iter().map(|g| -g));
        self.factor.solve(&mut direction.q);
        self.recover(problem, layout, state, values, mu, direction);
        true
    }

    #[allow(clippy::too_many_arguments)]
    fn add_knot(
        &mut self,
        problem: &Problem,
        layout: &Layout,
        state: &State,
        values: &Values,
        room: &mut Room,
        mu: f64,
        exact: bool,
        i: usize,
    ) {
        let n = layout.n;
        let share = problem.share(i);
        let (columns, at) = System::columns(layout, i);
        let Block { slopes, wide, cross, own, gradient, weight, push } = &mut self.blocks[i];
        let wide = *wide;
        for (k, drive) in problem.drives.iter().enumerate() {
            let index = i * n + k;
            let t = state.t[index];
            let off = values.forces[index] - t;
            (weight[k], push[k]) = match drive.effort {
                None => (FIRM, state.y[index] + FIRM * off),
                Some(effort) => {
                    let (g, d) = drive_terms(effort * share, drive.limited, t, state, index, mu);
                    (d, g + d * off)
                }
            };
        }
        let start = columns.start;
        for c in columns.clone() {
            let to = &mut self.band.column(at + c - start)[..columns.end - c];
            let mut four = [(0, 0.0); 4];
            let mut filled = 0;
            for k in 0..n {
                let v = slopes[k * wide + c];
                if v == 0.0 {
                    continue;
                }
                four[filled] = (k, v * weight[k]);
                filled += 1;
                if filled == 4 {
                    add_four(to, four.map(|f| f.1), four.map(|f| &slopes[f.0 * wide + c..]));
                    filled = 0;
                }
            }
            for &(k, s) in &four[..filled] {
                add_one(to, s, &slopes[k * wide + c..(k + 1) * wide]);
            }
        }
        for k in 0..n {
            let row = &slopes[k * wide..(k + 1) * wide];
            add_one(&mut self.gradient[at..at + columns.len()], push[k], &row[columns.clone()]);
        }
        // Contact forces.
        let m = gradient.len();
        cross.fill(0.0);
        own.fill(0.0);
        gradient.fill(0.0);
        for k in 0..n {
            let row = &slopes[k * wide..(k + 1) * wide];
            for (a, &v) in row[3 * n..].iter().enumerate().filter(|(_, v)| **v != 0.0) {
                gradient[a] += v * push[k];
                add_one(&mut cross[a * 3 * n..(a + 1) * 3 * n], v * weight[k], &row[..3 * n]);
                add_one(&mut own[a * m..(a + 1) * m], v * weight[k], &row[3 * n..]);
            }
        }
        for (c, contact) in problem.contacts[i].iter().enumerate() {
            let index = layout.contacts[i] + c;
            let l = &state.l[3 * index..3 * index + 3];
            for a in 0..3 {
                gradient[3 * c + a] += 2.0 * share * problem.ease * l[a];
                own[(3 * c + a) * m + 3 * c + a] += 2.0 * share * problem.ease;
            }
            let side_slopes = side_slopes(contact.friction);
            for (side, s) in sides(contact.friction, l).into_iter().enumerate() {
                let (z, d) = (state.zl[SIDES * index + side], side_slopes[side]);
                for a in 0..3 {
                    gradient[3 * c + a] -= mu / s * d[a];
                    for b in 0..3 {
                        own[(3 * c + a) * m + 3 * c + b] += z / s * d[a] * d[b];
                    }
                }
            }
        }
        if exact {
            let prices = &state.y[i * n..(i + 1) * n];
            let band = &mut self.band;
            values.around(problem, layout, state, i).curvature(room, prices, |row, column, v| {
                if row >= 3 * n {
                    cross[(row - 3 * n) * 3 * n + column] += v;
                } else if columns.contains(&row) && columns.contains(&column) {
                    band.column(at + column - start)[row - column] += v;
                }
            });
        }
        // Eliminated: own = L L^T, cross = L^-1 cross, gradient = L^-1 gradient.
        for a in 0..m {
            for b in 0..=a {
                let dot: f64 = (0..b).map(|k| own[a * m + k] * own[b * m + k]).sum();
                let left = own[a * m + b] - dot;
                own[a * m + b] = if a == b { left.max(1e-300).sqrt() } else { left / own[b * m + b] };
            }
            let (before, now) = cross.split_at_mut(a * 3 * n);
            let now = &mut now[..3 * n];
            for b in 0..a {
                add_one(now, -own[a * m + b], &before[b * 3 * n..(b + 1) * 3 * n]);
                gradient[a] -= own[a * m + b] * gradient[b];
            }
            let per = 1.0 / own[a * m + a];
            now.iter_mut().for_each(|v| *v *= per);
            gradient[a] *= per;
        }
        for c in columns.clone() {
            let to = &mut self.band.column(at + c - start)[..columns.end - c];
            let row = |a: usize| &cross[a * 3 * n + c..(a + 1) * 3 * n];
            let mut a = 0;
            while a + 4 <= m {
                let of = [row(a), row(a + 1), row(a + 2), row(a + 3)];
                add_four(to, of.map(|o| -o[0]), of);
                a += 4;
            }
            (a..m).for_each(|a| add_one(to, -row(a)[0], row(a)));
        }
        for a in 0..m {
            let row = &cross[a * 3 * n..(a + 1) * 3 * n][columns.clone()];
            add_one(&mut self.gradient[at..at + columns.len()], -gradient[a], row);
        }
    }

    fn add_rows(
        &mut self,
        problem: &Problem,
        layout: &Layout,
        state: &State,
        values: &Values,
        mu: f64,
        exact: bool,
    ) {
        let n = layout.n;
        for placed in &layout.rows {
            let at = (placed.knot - layout.unknown.start) * n;
            let mut along = DVec3::ZERO;
            for a in 0..placed.row.count() {
                let r = placed.first + a;
                let (c, y) = (values.rows[r], state.row_y[r]);
                let (over, under) = (state.over[r], state.under[r]);
                let (weight, push) = match placed.kind {
                    Kind::Hold => (FIRM, y + FIRM * c),
                    Kind::Bound => {
                        let weight = -y / over;
                        (weight, weight * (c - over) - mu / over)
                    }
                    Kind::Key => {
                        let (zp, zn) = (problem.price - y, problem.price + y);
                        let weight = 1.0 / (over / zp + under / zn + 1.0 / FIRM);
                        (weight, y + weight * (c - mu / zp + mu / zn))
                    }
                };
                (self.row_weight[r], self.row_push[r]) = (weight, push);
                along[a] = y;
                let slope = &self.row_slopes[r * n..(r + 1) * n];
                for (k, &v) in slope.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                    self.gradient[at + k] += v * push;
                    add_one(&mut self.band.column(at + k)[..n - k], v * weight, &slope[k..]);
                }
            }
            if exact && along != DVec3::ZERO {
                let band = &mut self.band;
                placed.row.curvature(values.at(problem, state, placed.knot), along, |l, k, v| {
                    band.column(at + l)[k - l] += v;
                });
            }
        }
    }

    fn add_closeness(&mut self, problem: &Problem, layout: &Layout, state: &State, exact: bool) {
        for i in layout.unknown.clone() {
            let at = (i - layout.unknown.start) * layout.n;
            closeness(problem, &state.q[i], i, |link, g, h| {
                let own = problem.tree.freedoms_of(link);
                for (a, k) in own.clone().enumerate() {
                    self.gradient[at + k] += g[a];
                    for (b, l) in own.clone().enumerate().skip(a) {
                        let whole = exact || a == b;
                        self.band.column(at + k)[l - k] += if whole { h.col(a)[b] } else { 0.0 };
                    }
                }
            });
        }
    }

    /// Factors the band, shifted as little as it takes.
    fn factor(&mut self, damping: f64) -> bool {
        let least = 1e-12 * self.band.largest_diagonal();
        let mut shift = damping;
        for _ in 0..40 {
            self.factor.copy_from(&self.band);
            if self.factor.factor(shift) {
                self.shift = if shift > damping { shift } else { 0.0 };
                return true;
            }
            shift = match shift > damping {
                true => shift * 8.0,
                false => damping + (self.shift / 3.0).max(least),
            };
        }
        false
    }

    /// What was eliminated.
    fn recover(
        &self,
        problem: &Problem,
        layout: &Layout,
        state: &State,
        values: &Values,
        mu: f64,
        d: &mut Direction,
    ) {
        let n = layout.n;
        let same = |to: &mut Vec<f64>, of: &[f64]| {
            to.clear();
            to.resize(of.len(), 0.0);
        };
        same(&mut d.t, &state.t);
        same(&mut d.y, &state.y);
        same(&mut d.z[0], &state.t);
        same(&mut d.z[1], &state.t);
        same(&mut d.l, &state.l);
        same(&mut d.zl, &state.zl);
        same(&mut d.row_y, &state.row_y);
        same(&mut d.over, &state.row_y);
        same(&mut d.under, &state.row_y);
        d.slope = 0.0;
        for i in layout.physical.clone() {
            let share = problem.share(i);
            let block = &self.blocks[i];
            let (columns, at) = System::columns(layout, i);
            let moved = &d.q[at..at + columns.len()];
            let m = block.gradient.len();
            // L^T dl = -(gradient + cross dq).
            let dot = |row: &[f64]| row[columns.clone()].iter().zip(moved).map(|(a, b)| a * b).sum::<f64>();
            let forces = &mut d.l[layout.forces(i)];
            for a in (0..m).rev() {
                let left = -(block.gradient[a] + dot(&block.cross[a * 3 * n..(a + 1) * 3 * n]));
                let sum: f64 = (a + 1..m).map(|b| block.own[b * m + a] * forces[b]).sum();
                forces[a] = (left - sum) / block.own[a * m + a];
            }
            for (k, drive) in problem.drives.iter().enumerate() {
                let index = i * n + k;
                let row = &block.slopes[k * block.wide..(k + 1) * block.wide];
                let change =
                    dot(row) + row[3 * n..].iter().zip(forces.iter()).map(|(a, b)| a * b).sum::<f64>();
                let price = block.push[k] + block.weight[k] * change;
                d.y[index] = price - state.y[index];
                let Some(effort) = drive.effort else { continue };
                let t = state.t[index];
                let (g, w) = drive_terms(effort * share, drive.limited, t, state, index, mu);
                let dt = (price - g) / w;
                d.t[index] = dt;
                d.slope += g * dt;
                if drive.limited {
                    let (up, low) = (1.0 - t, 1.0 + t);
                    d.z[0][index] = mu / up - state.z[0][index] * (1.0 - dt / up);
                    d.z[1][index] = mu / low - state.z[1][index] * (1.0 + dt / low);
                }
            }
            for (c, contact) in problem.contacts[i].iter().enumerate() {
                let index = layout.contacts[i] + c;
                let (l, dl) = (&state.l[3 * index..3 * index + 3], &d.l[3 * index..3 * index + 3]);
                for a in 0..3 {
                    d.slope += 2.0 * share * problem.ease * l[a] * dl[a];
                }
                let changed = sides(contact.friction, dl);
                for (side, s) in sides(contact.friction, l).into_iter().enumerate() {
                    let z = state.zl[SIDES * index + side];
                    d.zl[SIDES * index + side] = mu / s - z - z / s * changed[side];
                    d.slope -= mu / s * changed[side];
                }
            }
        }
        for placed in &layout.rows {
            let at = (placed.knot - layout.unknown.start) * n;
            for r in placed.first..placed.first + placed.row.count() {
                let slope = &self.row_slopes[r * n..(r + 1) * n];
                let change: f64 = slope.iter().zip(&d.q[at..at + n]).map(|(a, b)| a * b).sum();
                let (c, y) = (values.rows[r], state.row_y[r]);
                let (over, under) = (state.over[r], state.under[r]);
                let price = self.row_push[r] + self.row_weight[r] * change;
                d.row_y[r] = price - y;
                match placed.kind {
                    Kind::Hold => {}
                    Kind::Bound => {
                        d.over[r] = c - over + change;
                        d.slope -= mu / over * d.over[r];
                    }
                    Kind::Key => {
                        let (zp, zn, dy) = (problem.price - y, problem.price + y, d.row_y[r]);
                        d.over[r] = mu / zp - over + over / zp * dy;
                        d.under[r] = mu / zn - under - under / zn * dy;
                        d.slope += (problem.price - mu / over) * d.over[r]
                            + (problem.price - mu / under) * d.under[r];
                    }
                }
            }
        }
        for i in layout.unknown.clone() {
            let at = (i - layout.unknown.start) * n;
            closeness(problem, &state.q[i], i, |link, g, _| {
                for (a, k) in problem.tree.freedoms_of(link).enumerate() {
                    d.slope += g[a] * d.q[at + k];
                }
            });
        }
    }
}

/// Gradient and weight of a drive's own price and barrier.
fn drive_terms(effort: f64, limited: bool, t: f64, state: &State, index: usize, mu: f64) -> (f64, f64) {
    let (mut g, mut w) = (2.0 * effort * t, 2.0 * effort);
    if limited {
        let (up, low) = (1.0 - t, 1.0 + t);
        g += mu / up - mu / low;
        w += state.z[0][index] / up + state.z[1][index] / low;
    }
    (g, w)
}
