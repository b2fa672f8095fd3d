//! The broad phase: which bounding boxes overlap. They are sorted along the axis on which they are spread most, and each
//! is compared with those that begin before it ends.

use glam::DVec3;

/// A box along the axes of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Least coordinates.
    pub low: DVec3,
    /// Largest coordinates.
    pub high: DVec3,
}

impl Bounds {
    /// Both.
    pub fn with(&self, other: &Bounds) -> Bounds {
        Bounds { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Larger by `margin` on every side.
    pub fn loosened(&self, margin: f64) -> Bounds {
        Bounds { low: self.low - margin, high: self.high + margin }
    }

    /// Whether all of `other` is inside.
    pub fn holds(&self, other: &Bounds) -> bool {
        self.low.cmple(other.low).all() && self.high.cmpge(other.high).all()
    }

    /// Whether they overlap.
    #[inline(always)]
    pub fn meets(&self, other: &Bounds) -> bool {
        self.low.cmple(other.high).all() && self.high.cmpge(other.low).all()
    }
}

/// Beyond this, a box has no end: a half space.
const ENDLESS: f64 = 1e15;

/// Room for sorting.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    sorted: Vec<(f64, u32)>,
    ordered: Vec<Bounds>,
    endless: Vec<u32>,
}

impl Sweep {
    /// Room for so many boxes.
    pub fn with_capacity(boxes: usize) -> Sweep {
        Sweep {
            sorted: Vec::with_capacity(boxes),
            ordered: Vec::with_capacity(boxes),
            endless: Vec::with_capacity(boxes),
        }
    }

    /// Puts the pairs of overlapping boxes that `may` meet into `pairs`, the lower number first, in order.
    pub fn pairs(&mut self, bounds: &[Bounds], may: impl Fn(u32, u32) -> bool, pairs: &mut Vec<(u32, u32)>) {
        pairs.clear();
        self.sorted.clear();
        self.endless.clear();
        let (mut sum, mut squares) = (DVec3::ZERO, DVec3::ZERO);
        for (i, b) in bounds.iter().enumerate() {
            if (b.high - b.low).max_element() < ENDLESS {
                let middle = (b.low + b.high) * 0.5;
                sum += middle;
                squares += middle * middle;
                self.sorted.push((0.0, i as u32));
            } else {
                self.endless.push(i as u32);
            }
        }
        let spread = squares * self.sorted.len() as f64 - sum * sum;
        let axis = if spread.x >= spread.y && spread.x >= spread.z {
            0
        } else if spread.y >= spread.z {
            1
        } else {
            2
        };
        for s in &mut self.sorted {
            s.0 = bounds[s.1 as usize].low[axis];
        }
        self.sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.ordered.clear();
        self.ordered.extend(self.sorted.iter().map(|s| bounds[s.1 as usize]));
        let mut add = |i: u32, j: u32| {
            let (i, j) = (i.min(j), i.max(j));
            if may(i, j) {
                pairs.push((i, j));
            }
        };
        for (k, box_k) in self.ordered.iter().enumerate() {
            let end = box_k.high[axis];
            for (l, box_l) in self.ordered.iter().enumerate().skip(k + 1) {
                if box_l.low[axis] > end {
                    break;
                }
                if box_k.meets(box_l) {
                    add(self.sorted[k].1, self.sorted[l].1);
                }
            }
        }
        for (k, &i) in self.endless.iter().enumerate() {
            for &(_, j) in &self.sorted {
                if bounds[i as usize].meets(&bounds[j as usize]) {
                    add(i, j);
                }
            }
            for &j in &self.endless[k + 1..] {
                add(i, j);
            }
        }
        pairs.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_overlapping_pair_is_found_once(
            boxes in prop::collection::vec((prop::array::uniform3(-5.0..5.0_f64), prop::array::uniform3(0.0..2.0_f64)), 0..40),
        ) {
            let mut bounds: Vec<Bounds> = boxes.iter().map(|(at, size)| {
                let at = DVec3::from_array(*at);
                Bounds { low: at, high: at + DVec3::from_array(*size) }
            }).collect();
            bounds.push(Bounds { low: DVec3::splat(-1e300), high: DVec3::new(1e300, 0.5, 1e300) });
            let mut found = Vec::new();
            Sweep::default().pairs(&bounds, |_, _| true, &mut found);
            let mut all = Vec::new();
            for i in 0..bounds.len() {
                for j in i + 1..bounds.len() {
                    if bounds[i].meets(&bounds[j]) {
                        all.push((i as u32, j as u32));
                    }
                }
            }
            prop_assert_eq!(found, all);
        }
    }
}
