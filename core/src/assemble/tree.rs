//! Joints of bodies that hang on each other like a tree, solved body by body.
//!
//! Where several joints lie side by side between the same two bodies, as the ball, the muscle and the ends of the range of a
//! limb do, a matrix with a block per joint couples every one of them with all those of the neighbours. A tree needs none
//! of that: what hangs on a body is, for the rest, one answer of six by six (Featherstone 1983, with forces along rows
//! instead of joint coordinates, so that rows may be soft and come and go). With `J` the rows between body i and its
//! parent p, y their compliance, q their forces, b what is wanted:
//!
//! ```text
//!     J_i v_i + J_p v_p + y q = b,    v_i = W'_i (J_i^T q + g_i),    S = J_i W'_i J_i^T + y = L D L^T
//!     p feels  g_p += G^T t,  K_p += G^T D^-1 G,    t = (L D)^-1 (b - J_i W'_i g_i),  G = L^-1 J_p,    W'_p = (W_p^-1 + K_p)^-1
//! ```
//!
//! from the leaves to the root, and back: `q = L^-T (t - D^-1 G v_p)`. A push somewhere else than below i reaches it through its
//! parent alone, `v_i = F_i v_p` with `F_i = -(L^-1 J_i W'_i)^T D^-1 G`: so answers of far apart bodies are products along the way
//! (Wensing, Featherstone and Orin 2012).

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

mod ball;
mod link;

use super::{Mobility, Structure};
use crate::joint::{Row, Rows};
use crate::solve::MOST;
use ball::Ball;
use glam::{DMat3, DVec3};
use link::Link;
use pulp::{Arch, Simd, WithSimd};

/// Force and torque, or velocity and spin.
type Six = [f64; 6];
/// Six of these, row by row.
pub type Square = [Six; 6];

/// Rows between two bodies: a ball, a muscle, and both ends of what a limb can do.
const MOST_ROWS: usize = 8;

/// Chooses code by the number of rows; nothing is done for none.
macro_rules! by_count {
    ($count:expr, $m:ident => $body:expr) => {
        match $count {
            0 => {}
            1 => by_count!(@ $m 1, $body),
            2 => by_count!(@ $m 2, $body),
            3 => by_count!(@ $m 3, $body),
            4 => by_count!(@ $m 4, $body),
            5 => by_count!(@ $m 5, $body),
            6 => by_count!(@ $m 6, $body),
            7 => by_count!(@ $m 7, $body),
            _ => by_count!(@ $m 8, $body),
        }
    };
    (@ $m:ident $n:literal, $body:expr) => {{
        const $m: usize = $n;
        $body
    }};
}
/// Bodies that hang on each other. Solving allocates nothing.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Parents before children.
    nodes: Vec<Node>,
    /// Joints between a body and its parent, node by node, and which of their ends the body is.
    joints: Vec<(u32, u8)>,
    /// Joints that are no part of the tree: they close loops, or hold others than the root to something that moves by itself.
    strays: Vec<u32>,
    node_of: Vec<u32>,
    /// Which nodes lie between the root and some bodies, in order.
    reached: Vec<u32>,
    place: Vec<u32>,
    /// Which nodes are these bodies.
    asked: Vec<bool>,
    room: Room,
}

/// What was prepared last. Nothing of it lasts: trees of as many bodies may take turns with one.
#[derive(Clone, Debug, Default)]
pub struct Room {
    links: Vec<Link>,
    balls: Vec<Ball>,
    /// Answers of bodies to each other.
    answers: Vec<Square>,
}

#[derive(Clone, Debug)]
struct Node {
    body: usize,
    parent: Option<usize>,
    joints: (usize, usize),
    /// All that hangs on it comes before this one.
    until: usize,
}

impl Tree {
    /// Of joints between so many bodies, if several lie side by side: without these, blocks of joints are smaller than those
    /// of bodies. With room for the answers of all to each if there are at most `answering`.
    pub fn new(structure: &Structure, bodies: usize, answering: usize) -> Option<Tree> {
        let ends = &structure.ends;
        let mut at = vec![Vec::new(); bodies];
        for (j, [a, b]) in ends.iter().enumerate() {
            for (e, body) in [a, b].into_iter().enumerate() {
                if let Some(body) = *body {
                    at[body].push((j, e));
                }
            }
        }
        let mut joints = Vec::new();
        let mut nodes: Vec<Node> = Vec::new();
        let mut node_of = vec![u32::MAX; bodies];
        let is_held = |body: usize| at[body].iter().any(|(j, e)| ends[*j][1 - e].is_none());
        let side_by_side =
            |a: usize, b: usize| at[a].iter().filter(|(j, e)| ends[*j][1 - e] == Some(b)).count();
        // What is held by something that moves by itself is a root; then the first of what is left.
        let roots = (0..bodies).filter(|b| is_held(*b)).chain(0..bodies);
        for root in roots.filter(|b| !at[*b].is_empty()) {
            if node_of[root] != u32::MAX {
                continue;
            }
            let first = nodes.len();
            node_of[root] = first as u32;
            nodes.push(Node { body: root, parent: None, joints: (0, 0), until: 0 });
            // Whom most joints tie comes first: a single one may be a hand that lets go again.
            while let Some((_, parent, body)) = (first..nodes.len())
                .flat_map(|n| at[nodes[n].body].iter().map(move |(j, e)| (n, ends[*j][1 - e])))
                .filter_map(|(n, end)| end.map(|body| (n, body)))
                .filter(|(_, body)| node_of[*body] == u32::MAX)
                .map(|(n, body)| (side_by_side(nodes[n].body, body), n, body))
                .max_by_key(|(count, n, body)| (*count, std::cmp::Reverse((*n, *body))))
            {
                node_of[body] = nodes.len() as u32;
                nodes.push(Node { body, parent: Some(parent), joints: (0, 0), until: 0 });
            }
        }
        // Limb by limb: then most answers are products as they are, see `couple_all`.
        let mut nodes = limb_by_limb(&nodes);
        nodes.iter().enumerate().for_each(|(n, node)| node_of[node.body] = n as u32);
        for n in 0..nodes.len() {
            let first = joints.len();
            let over = nodes[n].parent.map(|p| nodes[p].body);
            for &(j, e) in at[nodes[n].body].iter().filter(|(j, e)| ends[*j][1 - e] == over) {
                joints.push((j as u32, e as u8));
            }
            nodes[n].joints = (first, joints.len());
        }
        let mut in_tree = vec![false; ends.len()];
        joints.iter().for_each(|(j, _)| in_tree[*j as usize] = true);
        let ties = nodes.iter().filter(|n| n.joints.0 < n.joints.1).count();
        if joints.len() <= ties {
            return None;
        }
        let strays = (0..ends.len()).filter(|j| !in_tree[*j]).map(|j| j as u32).collect();
        let count = nodes.len();
        let answers = if count <= answering { count * (count + 1) / 2 } else { 0 };
        Some(Tree {
            reached: Vec::with_capacity(count),
            place: vec![u32::MAX; count],
            asked: vec![false; count],
            room: Room {
                links: vec![Link::default(); count],
                balls: vec![Ball::default(); count],
                answers: vec![[[0.0; 6]; 6]; answers],
            },
            nodes,
            joints,
            strays,
            node_of,
        })
    }

    /// How many bodies it is of.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Works in another room, of a tree of as many bodies.
    pub fn exchange(&mut self, room: &mut Room) {
        std::mem::swap(&mut self.room, room);
    }

    /// Takes the rows of all joints, what bodies yield and what rows give (all of it: the row bears nothing). Whether it can
    /// solve them: that needs a tree, and bodies that move every way but for the root.
    pub fn prepare(&mut self, rows: &[Rows], mobility: &[Mobility], gives: &[[f64; MOST]]) -> bool {
        if self.strays.iter().any(|j| rows[*j as usize].count > 0) {
            return false;
        }
        Arch::new().dispatch(Preparing(self, rows, mobility, gives))
    }

    /// Solves for the forces along the rows that bring about what is wanted.
    pub fn solve(&mut self, wanted: &[[f64; MOST]], forces: &mut [[f64; MOST]]) {
        Arch::new().dispatch(Solving(self, wanted, forces, |_| None));
    }

    /// Solves for those that let nothing open when bodies are pushed: by a force and a torque each.
    pub fn respond(&mut self, pushes: &[(DVec3, DVec3)], none: &[[f64; MOST]], forces: &mut [[f64; MOST]]) {
        Arch::new().dispatch(Solving(self, none, forces, |body| Some(pushes[body])));
    }

    /// How a body moves by what was solved last, if it is of the tree.
    #[inline(always)]
    pub fn moved(&self, body: usize) -> Option<(DVec3, DVec3)> {
        let m = &self.room.links.get(self.node_of[body] as usize)?.moved;
        Some((DVec3::new(m[0], m[1], m[2]), DVec3::new(m[3], m[4], m[5])))
    }

    /// What pushes on each of `bodies` do to each: into `out`, by the one pushed and the one moved.
    pub fn couple(&mut self, mobility: &[Mobility], bodies: &[u32], out: &mut [Square]) {
        Arch::new().dispatch(Coupling(self, mobility, bodies, out));
    }

    #[inline(always)]
    fn take(&mut self, rows: &[Rows], mobility: &[Mobility], gives: &[[f64; MOST]]) -> bool {
        self.room.links.iter_mut().for_each(|l| l.holds = [[0.0; 6]; 6]);
        for (n, &Node { body, parent, joints, .. }) in self.nodes.iter().enumerate().rev() {
            let (above, below) = self.room.links.split_at_mut(n);
            let link = &mut below[0];
            let Mobility { shift, turn } = &mobility[body];
            let tied = &self.joints[joints.0..joints.1];
            let moves = *shift > 0.0 && *turn != DMat3::ZERO;
            link.on_ball = moves && parent.is_some() && self.room.balls[n].take(tied, rows, gives, turn);
            if let (true, Some(p)) = (link.on_ball, parent) {
                link.weigh(*shift, turn);
                self.room.balls[n].factor(&link.holds, &mut above[p].holds);
                continue;
            }
            if moves {
                link.yield_with(*shift, turn);
            } else if *shift == 0.0 && *turn == DMat3::ZERO && parent.is_none() {
                link.yields = [[0.0; 6]; 6];
            } else {
                return false;
            }
            let mut give = [0.0; MOST_ROWS];
            link.count = 0;
            for &(j, e) in tied {
                let own = &rows[j as usize];
                if link.count + own.count > MOST_ROWS {
                    return false;
                }
                link.add((j, own), e as usize, &gives[j as usize], &mut give);
            }
            let holds = parent.map(|p| &mut above[p].holds);
            by_count!(link.count, M => link.factor::<M>(&give, holds));
        }
        true
    }

    #[inline(always)]
    fn solve_rows(
        &mut self,
        wanted: &[[f64; MOST]],
        forces: &mut [[f64; MOST]],
        push: impl Fn(usize) -> Option<(DVec3, DVec3)>,
    ) {
        for &(j, _) in &self.joints {
            forces[j as usize] = [0.0; MOST];
        }
        for (link, node) in self.room.links.iter_mut().zip(&self.nodes) {
            link.pushed = match push(node.body) {
                Some((force, torque)) => six(Row { linear: force, angular: torque }),
                None => [0.0; 6],
            };
        }
        for (n, node) in self.nodes.iter().enumerate().rev() {
            let (above, below) = self.room.links.split_at_mut(n);
            let (link, pushed) = (&mut below[0], node.parent.map(|p| &mut above[p].pushed));
            let pushed = match pushed {
                Some(pushed) if link.on_ball => {
                    self.room.balls[n].down(&link.holds, wanted, &link.pushed, pushed);
                    continue;
                }
                pushed => pushed,
            };
            link.moved = times(&link.yields, &link.pushed);
            by_count!(link.count, M => link.down::<M>(wanted, pushed));
        }
        for (n, node) in self.nodes.iter().enumerate() {
            let (above, below) = self.room.links.split_at_mut(n);
            let (link, moved) = (&mut below[0], node.parent.map(|p| &above[p].moved));
            if let (true, Some(moved)) = (link.on_ball, moved) {
                self.room.balls[n].up(&link.holds, &link.pushed, moved, &mut link.moved, forces);
                continue;
            }
            by_count!(link.count, M => link.up::<M>(moved, forces));
        }
    }

    #[inline(always)]
    fn couple_all(&mut self, mobility: &[Mobility], bodies: &[u32], out: &mut [Square]) {
        self.place.fill(u32::MAX);
        self.asked.fill(false);
        for &b in bodies.iter().filter(|b| self.node_of[**b as usize] != u32::MAX) {
            self.asked[self.node_of[b as usize] as usize] = true;
            let mut at = Some(self.node_of[b as usize] as usize);
            while let Some(n) = at.filter(|n| self.place[*n] == u32::MAX) {
                self.place[n] = 0;
                at = self.nodes[n].parent;
            }
        }
        self.reached.clear();
        for n in (0..self.nodes.len()).filter(|n| self.place[*n] == 0) {
            self.reached.push(n as u32);
        }
        for (i, &n) in self.reached.iter().enumerate() {
            self.place[n as usize] = i as u32;
        }
        let index = |i: usize, j: usize| i * (i + 1) / 2 + j;
        for i in 0..self.reached.len() {
            let n = self.reached[i] as usize;
            let link = &self.room.links[n];
            let (before, own) = self.room.answers.split_at_mut(index(i, 0));
            // Of the others, only those that were asked for, and those it hangs on, lead to an answer.
            let counts = |j: usize| {
                let m = self.reached[j] as usize;
                self.asked[m] || n < self.nodes[m].until
            };
            let parent = self.nodes[n].parent.map(|p| self.place[p] as usize);
            if let (true, Some(p)) = (link.on_ball, parent) {
                let ball = &self.room.balls[n];
                for j in (0..i).filter(|j| counts(*j)) {
                    own[j] = match j <= p {
                        true => ball.carry(&before[index(p, j)]),
                        false => ball.carry(&transposed(&before[index(j, p)])),
                    };
                }
                own[i] = ball.alone();
                let through = ball.carry(&transposed(&own[p]));
                for r in 0..6 {
                    (0..6).for_each(|c| own[i][r][c] += through[r][c]);
                }
                continue;
            }
            let (mut passes, mut alone) = ([[0.0; 6]; 6], link.yields);
            by_count!(link.count, M => link.pass::<M>(&mut passes, &mut alone));
            own[i] = alone;
            let Some(p) = parent else {
                own[..i].fill([[0.0; 6]; 6]); // of another tree
                continue;
            };
            for j in (0..i).filter(|j| counts(*j)) {
                own[j] = match j <= p {
                    true => product(&passes, &before[index(p, j)]),
                    false => product(&passes, &transposed(&before[index(j, p)])),
                };
            }
            let through = own[p];
            for r in 0..6 {
                for c in 0..6 {
                    own[i][r][c] += dot(&through[r], &passes[c]);
                }
            }
        }
        let place = |body: u32| Some(*self.place.get(self.node_of[body as usize] as usize)? as usize);
        for (a, &pushed) in bodies.iter().enumerate() {
            for (b, &moved) in bodies.iter().enumerate() {
                let (Some(i), Some(j)) = (place(pushed), place(moved)) else {
                    // No joint is on it: it moves by itself, and nothing with it.
                    out[a * bodies.len() + b] =
                        if a == b { alone(&mobility[pushed as usize]) } else { [[0.0; 6]; 6] };
                    continue;
                };
                out[a * bodies.len() + b] = match j <= i {
                    true => self.room.answers[index(i, j)],
                    false => transposed(&self.room.answers[index(j, i)]),
                };
            }
        }
    }
}

/// How a body on no joint yields.
fn alone(mobility: &Mobility) -> Square {
    let mut block = [[0.0; 6]; 6];
    for k in 0..3 {
        block[k][k] = mobility.shift;
        (0..3).for_each(|i| block[3 + k][3 + i] = mobility.turn.col(k)[i]);
    }
    block
}

/// The same tree with all that hangs on a node right after it.
fn limb_by_limb(nodes: &[Node]) -> Vec<Node> {
    let mut order = Vec::with_capacity(nodes.len());
    let mut place = vec![0; nodes.len()];
    let mut next: Vec<usize> = (0..nodes.len()).rev().filter(|n| nodes[*n].parent.is_none()).collect();
    while let Some(n) = next.pop() {
        place[n] = order.len();
        order.push(Node { parent: nodes[n].parent.map(|p| place[p]), ..nodes[n].clone() });
        next.extend((0..nodes.len()).rev().filter(|m| nodes[*m].parent == Some(n)));
    }
    for n in (0..order.len()).rev() {
        order[n].until = order[n].until.max(n + 1);
        if let Some(p) = order[n].parent {
            order[p].until = order[p].until.max(order[n].until);
        }
    }
    order
}

#[inline(always)]
fn six(row: Row) -> Six {
    let (l, a) = (row.linear, row.angular);
    [l.x, l.y, l.z, a.x, a.y, a.z]
}

#[inline(always)]
fn dot(a: &Six, b: &Six) -> f64 {
    (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
}

/// A symmetric matrix times a vector.
#[inline(always)]
fn times(m: &Square, v: &Six) -> Six {
    let mut sum = [0.0; 6];
    for k in 0..6 {
        // Half of a row is nothing: points do not turn, and turns do not move.
        if v[k] != 0.0 {
            (0..6).for_each(|i| sum[i] += m[k][i] * v[k]);
        }
    }
    sum
}

#[inline(always)]
fn product(a: &Square, b: &Square) -> Square {
    let mut all = [[0.0; 6]; 6];
    for r in 0..6 {
        let mut row = [0.0; 6];
        for k in 0..6 {
            for c in 0..6 {
                row[c] += a[r][k] * b[k][c];
            }
        }
        all[r] = row;
    }
    all
}

#[inline(always)]
fn transposed(m: &Square) -> Square {
    let mut all = [[0.0; 6]; 6];
    for r in 0..6 {
        (0..6).for_each(|c| all[r][c] = m[c][r]);
    }
    all
}

/// Compiled for several widths of registers. Nothing is fused or reordered: the numbers are the same on all.
struct Preparing<'a>(&'a mut Tree, &'a [Rows], &'a [Mobility], &'a [[f64; MOST]]);

impl WithSimd for Preparing<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        self.0.take(self.1, self.2, self.3)
    }
}

struct Solving<'a, F>(&'a mut Tree, &'a [[f64; MOST]], &'a mut [[f64; MOST]], F);

impl<F: Fn(usize) -> Option<(DVec3, DVec3)>> WithSimd for Solving<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.0.solve_rows(self.1, self.2, self.3);
    }
}

struct Coupling<'a>(&'a mut Tree, &'a [Mobility], &'a [u32], &'a mut [Square]);

impl WithSimd for Coupling<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.0.couple_all(self.1, self.2, self.3);
    }
}

#[cfg(test)]
mod tests;
