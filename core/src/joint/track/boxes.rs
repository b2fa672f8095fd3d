//! A tree of bounding boxes, to look only at the things near a point.
//!
//! Things are halved by the middles of their boxes along the longest side, so the tree is as deep as the logarithm of
//! their number, whatever their places are.

use glam::DVec3;

/// Things in one leaf: looking at a few costs less than a level more.
const LEAF: usize = 3;

/// Boxes around numbered things, around groups of them, and so on to one around all.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Boxes {
    /// Each before the nodes below it.
    nodes: Vec<Node>,
    /// Things in the order of the leaves.
    order: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq)]
struct Node {
    low: DVec3,
    high: DVec3,
    below: Below,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Below {
    /// From where to where in the order.
    Things(u32, u32),
    /// The first child is the next node; here is the second one.
    Second(u32),
}

impl Boxes {
    /// From the lowest and the highest corner of each thing's box.
    pub(super) fn new(bounds: &[[DVec3; 2]]) -> Boxes {
        let mut boxes = Boxes { nodes: Vec::new(), order: (0..bounds.len() as u32).collect() };
        if !bounds.is_empty() {
            boxes.grow(bounds, 0, bounds.len());
        }
        boxes
    }

    fn grow(&mut self, bounds: &[[DVec3; 2]], from: usize, to: usize) {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for &thing in &self.order[from..to] {
            let [l, h] = bounds[thing as usize];
            (low, high) = (low.min(l), high.max(h));
        }
        let index = self.nodes.len();
        self.nodes.push(Node { low, high, below: Below::Things(from as u32, to as u32) });
        if to - from <= LEAF {
            return;
        }
        let axis = (high - low).max_position();
        let middle = |thing: u32| bounds[thing as usize].iter().map(|corner| 0.5 * corner[axis]).sum::<f64>();
        // Things in the same place go by number: one tree, whatever sorts them.
        self.order[from..to].sort_unstable_by(|a, b| middle(*a).total_cmp(&middle(*b)).then(a.cmp(b)));
        let half = usize::midpoint(from, to);
        self.grow(bounds, from, half);
        self.nodes[index].below = Below::Second(self.nodes.len() as u32);
        self.grow(bounds, half, to);
    }

    /// Shows `look` every thing that may be nearer to `point` than the nearest one so far, whose squared distance
    /// `look` answers each time.
    pub(super) fn visit(&self, point: DVec3, mut look: impl FnMut(usize) -> f64) {
        if let Some(top) = self.nodes.first() {
            let mut least = f64::INFINITY;
            self.descend(0, top.apart(point), point, &mut least, &mut look);
        }
    }

    fn descend(
        &self,
        index: usize,
        apart: f64,
        point: DVec3,
        least: &mut f64,
        look: &mut impl FnMut(usize) -> f64,
    ) {
        if apart >= *least {
            return;
        }
        match self.nodes[index].below {
            Below::Things(from, to) => {
                for &thing in &self.order[from as usize..to as usize] {
                    *least = look(thing as usize);
                }
            }
            Below::Second(second) => {
                let (one, other) = (index + 1, second as usize);
                let (a, b) = (self.nodes[one].apart(point), self.nodes[other].apart(point));
                let [near, far] = if b < a { [(other, b), (one, a)] } else { [(one, a), (other, b)] };
                self.descend(near.0, near.1, point, least, look);
                self.descend(far.0, far.1, point, least, look);
            }
        }
    }
}

impl Node {
    /// Squared distance; zero inside.
    fn apart(&self, point: DVec3) -> f64 {
        (self.low - point).max(point - self.high).max(DVec3::ZERO).length_squared()
    }
}
