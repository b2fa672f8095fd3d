//! The linear system of all joints of a linkage, `(J W J^T + y) q = b`: filled, factored and solved.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use crate::assemble::{Mobility, Square, Structure, Tree, TreeRoom};
use crate::joint::{Joint, Rows};
use crate::solve::{BlockMatrix, MOST, SIDES, Sides, Solver, Tier};

/// The system, and the room to solve it.
#[derive(Clone, Debug)]
pub struct System {
    /// Which joints share which bodies.
    pub structure: Structure,
    slack: Slack,
    tree: Option<Tree>,
    /// It is the tree that was prepared.
    by_tree: bool,
    pub(super) matrix: BlockMatrix,
    pub(super) factor: Solver,
    /// Which joints solving for some bodies needs, and their right sides.
    reach: Vec<bool>,
    sides: Vec<Sides>,
}

/// How much each row gives way, y.
#[derive(Clone, Debug, Default)]
struct Slack {
    gives: Vec<[f64; MOST]>,
    /// Any of them does.
    gave: bool,
}

/// What a system works in. Nothing of it outlasts a step: systems of the same size may take turns with one.
#[derive(Clone, Debug, Default)]
pub struct Solving {
    slack: Slack,
    tree: TreeRoom,
}

/// Of more bodies than this, answers to pushes are more than they help: they grow with the square.
pub const MOST_ANSWERING: usize = 128;

impl System {
    /// Analyses joints between so many bodies.
    pub fn new(joints: &[Joint], bodies: usize, tier: Tier) -> System {
        let structure = Structure::new(joints, bodies);
        let matrix = BlockMatrix::new(joints.len(), structure.pairs.clone());
        System {
            slack: Slack { gives: vec![[0.0; MOST]; joints.len()], gave: false },
            tree: (tier == Tier::Direct).then(|| Tree::new(&structure, bodies, MOST_ANSWERING)).flatten(),
            by_tree: false,
            factor: Solver::new(tier, &matrix, &structure.ends),
            reach: vec![false; joints.len()],
            sides: vec![[[0.0; SIDES]; MOST]; joints.len()],
            matrix,
            structure,
        }
    }

    /// Of how many bodies its tree is, if it has one.
    pub fn tree_size(&self) -> usize {
        self.tree.as_ref().map_or(0, Tree::count)
    }

    /// Works in another room, of a system of the same size.
    pub fn exchange(&mut self, room: &mut Solving) {
        std::mem::swap(&mut self.slack, &mut room.slack);
        if let Some(tree) = &mut self.tree {
            tree.exchange(&mut room.tree);
        }
    }

    /// Has all rows be firm, until told otherwise.
    #[inline(always)]
    pub fn harden(&mut self) {
        if std::mem::take(&mut self.slack.gave) {
            self.slack.gives.fill([0.0; MOST]);
        }
    }

    /// Has a row give way, by any amount: of infinitely much it bears nothing.
    #[inline(always)]
    pub fn soften(&mut self, joint: usize, row: usize, give: f64) {
        self.slack.gives[joint][row] = give;
        self.slack.gave = true;
    }

    /// Makes what solving needs.
    #[inline(always)]
    pub fn prepare(&mut self, rows: &[Rows], mobility: &[Mobility]) {
        self.by_tree = self.tree.as_mut().is_some_and(|tree| tree.prepare(rows, mobility, &self.slack.gives));
        if self.by_tree {
            return;
        }
        self.structure.fill(&mut self.matrix, rows, mobility);
        if self.slack.gave {
            let gives = self.slack.gives.iter();
            for (block, (gives, rows)) in self.matrix.diagonal.iter_mut().zip(gives.zip(rows)) {
                for r in 0..rows.count {
                    block[r][r] =
                        if gives[r] == f64::INFINITY { block[r][r] * 1e12 } else { block[r][r] + gives[r] };
                }
            }
        }
        self.factor.prepare(&self.matrix);
    }

    /// Solves for the multipliers that bring about what is `wanted`. Iterating ends early when `go_on` says no.
    #[inline(always)]
    pub fn solve(
        &mut self,
        wanted: &[[f64; MOST]],
        multipliers: &mut [[f64; MOST]],
        go_on: impl FnMut() -> bool,
    ) {
        match &mut self.tree {
            Some(tree) if self.by_tree => tree.solve(wanted, multipliers),
            _ => {
                self.factor.solve_anew(&self.matrix, wanted, multipliers, go_on);
            }
        }
    }

    /// The tree, if that is what was prepared.
    #[inline(always)]
    pub fn tree(&mut self) -> Option<&mut Tree> {
        self.tree.as_mut().filter(|_| self.by_tree)
    }

    /// What pushes on each of `bodies` do to each: into `out`, by the one pushed and the one moved.
    pub fn couple(&mut self, rows: &[Rows], mobility: &[Mobility], bodies: &[u32], out: &mut [Square]) {
        if let Some(tree) = self.tree.as_mut().filter(|_| self.by_tree) {
            tree.couple(mobility, bodies, out);
            return;
        }
        let System { structure, factor, reach, sides, .. } = self;
        let Some(factor) = factor.direct() else { return };
        reach.fill(false);
        let is_at = |j: usize, b: u32| structure.ends[j].contains(&Some(b as usize));
        for j in 0..reach.len() {
            reach[j] = rows[j].count > 0 && bodies.iter().any(|b| is_at(j, *b));
        }
        factor.mark_reach(reach);
        for (n, &b) in bodies.iter().enumerate() {
            for j in (0..reach.len()).filter(|j| reach[*j]) {
                sides[j] = [[0.0; SIDES]; MOST];
                if is_at(j, b) {
                    pushed(&rows[j], &structure.ends[j], b, &mobility[b as usize], &mut sides[j]);
                }
            }
            factor.solve_sides(sides, reach);
            for (m, &c) in bodies.iter().enumerate() {
                let yields = &mobility[c as usize];
                let mut block = [[0.0; 6]; 6];
                for j in (0..reach.len()).filter(|j| reach[*j] && is_at(*j, c)) {
                    let mut own = [[0.0; SIDES]; MOST];
                    pushed(&rows[j], &structure.ends[j], c, yields, &mut own);
                    for r in 0..rows[j].count {
                        for s in 0..6 {
                            for k in 0..6 {
                                block[s][k] -= own[r][k] * sides[j][r][s];
                            }
                        }
                    }
                }
                if m == n {
                    for k in 0..3 {
                        block[k][k] += yields.shift;
                        let turn = yields.turn.col(k);
                        (0..3).for_each(|i| block[3 + k][3 + i] += turn[i]);
                    }
                }
                out[n * bodies.len() + m] = block;
            }
        }
    }
}

/// The rates of a joint's rows per force and torque on one of its bodies.
#[inline(always)]
fn pushed(rows: &Rows, ends: &[Option<usize>; 2], body: u32, mobility: &Mobility, sides: &mut Sides) {
    for e in (0..2).filter(|e| ends[*e] == Some(body as usize)) {
        for r in 0..rows.count {
            let row = rows.row(e, r);
            let (shift, turn) = (row.linear * mobility.shift, mobility.turn * row.angular);
            for k in 0..3 {
                sides[r][k] += shift[k];
                sides[r][3 + k] += turn[k];
            }
        }
    }
}
