//! The order in which blocks are eliminated, chosen once per structure: minimum degree, or approximate minimum degree
//! (Amestoy, Davis and Duff 1996), whichever fills in fewer blocks.
//!
//! The block with the fewest neighbours left goes first, and its neighbours become neighbours of each other. Ties go
//! to the block that has waited longest since it last changed: a chain is worked off from both ends in turns, which
//! fills nothing in and lets the processor do both ends at once. On a net this is several times faster than going
//! along the tree. Last, the lower index decides, so that the order, and with it every bit, is always the same.
//! On larger nets the approximate order, which looks at whole groups of blocks, fills in less; where both are alike, ours is
//! taken.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// An elimination order, and for every block (in that order's positions) the later positions it is coupled to once all
/// earlier ones are eliminated.
type Elimination = (Vec<usize>, Vec<Vec<usize>>);

/// The elimination of a symmetric structure, given by its neighbours, that couples the fewest blocks.
pub fn eliminate(neighbours: &[Vec<usize>]) -> Elimination {
    let blocks = |e: &Elimination| e.1.iter().map(Vec::len).sum::<usize>();
    let exact = minimum_degree(neighbours);
    // Nothing has fewer blocks than what fills nothing in.
    if 2 * blocks(&exact) == neighbours.iter().map(Vec::len).sum::<usize>() {
        return exact;
    }
    let approximate = approximate_minimum_degree(neighbours).map(|order| fill_in(neighbours, order));
    approximate.filter(|a| blocks(a) < blocks(&exact)).unwrap_or(exact)
}

/// Approximate minimum degree; `None` where it declines.
fn approximate_minimum_degree(neighbours: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut first = vec![0_isize];
    let mut rows: Vec<isize> = Vec::new();
    for (i, list) in neighbours.iter().enumerate() {
        // With the diagonal, which counts as present, and sorted.
        let begin = rows.len();
        rows.extend(list.iter().chain([&i]).map(|&j| j as isize));
        rows[begin..].sort_unstable();
        first.push(rows.len() as isize);
    }
    let (order, ..) = amd::order(neighbours.len() as isize, &first, &rows, &amd::Control::default()).ok()?;
    Some(order.into_iter().map(|i| i as usize).collect())
}

/// What is coupled when blocks are eliminated in this order: every block hands what it is coupled to on to the first of
/// them.
fn fill_in(neighbours: &[Vec<usize>], order: Vec<usize>) -> Elimination {
    let mut position = vec![0; order.len()];
    order.iter().enumerate().for_each(|(p, &i)| position[i] = p);
    let mut coupled: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
    for (p, &i) in order.iter().enumerate() {
        let mut list = std::mem::take(&mut coupled[p]);
        list.extend(neighbours[i].iter().map(|&j| position[j]));
        list.retain(|&q| q > p);
        list.sort_unstable();
        list.dedup();
        if let Some(&next) = list.first() {
            coupled[next].extend_from_slice(&list);
        }
        coupled[p] = list;
    }
    (order, coupled)
}

/// Minimum degree.
fn minimum_degree(neighbours: &[Vec<usize>]) -> Elimination {
    let n = neighbours.len();
    let mut graph: Vec<BTreeSet<usize>> = neighbours.iter().map(|l| l.iter().copied().collect()).collect();
    for (i, set) in graph.iter_mut().enumerate() {
        set.remove(&i);
    }
    // Neighbours left, blocks eliminated when that last changed, index.
    let mut waiting: BinaryHeap<Reverse<(usize, usize, usize)>> =
        (0..n).map(|i| Reverse((graph[i].len(), 0, i))).collect();
    let mut position = vec![usize::MAX; n];
    let mut order = Vec::with_capacity(n);
    let mut coupled = Vec::with_capacity(n);
    while let Some(Reverse((degree, _, i))) = waiting.pop() {
        // Entries whose degree has changed since are stale: a newer one is in the heap.
        if position[i] != usize::MAX || degree != graph[i].len() {
            continue;
        }
        position[i] = order.len();
        order.push(i);
        let around: Vec<usize> = std::mem::take(&mut graph[i]).into_iter().collect();
        for (k, &a) in around.iter().enumerate() {
            graph[a].remove(&i);
            for &b in &around[k + 1..] {
                graph[a].insert(b);
                graph[b].insert(a);
            }
        }
        for &a in &around {
            waiting.push(Reverse((graph[a].len(), order.len(), a)));
        }
        coupled.push(around);
    }
    for list in &mut coupled {
        for b in list.iter_mut() {
            *b = position[*b];
        }
        list.sort_unstable();
    }
    (order, coupled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_fills_nothing_in() {
        let n = 50_usize;
        let chain: Vec<Vec<usize>> =
            (0..n).map(|i| [i.wrapping_sub(1), i + 1].into_iter().filter(|&j| j < n).collect()).collect();
        let (order, coupled) = minimum_degree(&chain);
        assert_eq!(coupled.iter().map(Vec::len).sum::<usize>(), n - 1);
        assert_eq!(order[..6], [0, 49, 1, 48, 2, 47], "both ends in turns");
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..n).collect::<Vec<_>>());
    }

    #[test]
    fn a_star_leaves_its_centre_for_last() {
        let star: Vec<Vec<usize>> = (0..9).map(|i| if i == 0 { (1..9).collect() } else { vec![0] }).collect();
        let (order, coupled) = minimum_degree(&star);
        assert!(order.iter().position(|&i| i == 0).unwrap() >= 7);
        assert_eq!(coupled.iter().map(Vec::len).sum::<usize>(), 8);
    }

    /// Neighbours on a grid of so many by so many.
    fn grid(a: usize, b: usize) -> Vec<Vec<usize>> {
        let near = |i: usize| {
            let (r, c) = (i / b, i % b);
            let around = [(r > 0).then(|| i - b), (c > 0).then(|| i - 1)];
            let after = [(c + 1 < b).then_some(i + 1), (r + 1 < a).then_some(i + b)];
            around.into_iter().chain(after).flatten().collect()
        };
        (0..a * b).map(near).collect()
    }

    #[test]
    fn an_order_alone_says_what_fills_in() {
        for structure in [grid(1, 30), grid(5, 7), grid(9, 9)] {
            let (order, coupled) = minimum_degree(&structure);
            assert_eq!(fill_in(&structure, order.clone()), (order, coupled));
        }
    }

    #[test]
    fn the_order_that_fills_in_least_is_taken() {
        let blocks = |e: &Elimination| e.1.iter().map(Vec::len).sum::<usize>();
        let mut better = 0;
        for n in 2..24 {
            let structure = grid(n, n + 3);
            let exact = minimum_degree(&structure);
            let order = approximate_minimum_degree(&structure).unwrap();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..structure.len()), "an order of all blocks");
            let approximate = fill_in(&structure, order);
            better += usize::from(blocks(&approximate) < blocks(&exact));
            let taken = eliminate(&structure);
            assert_eq!(blocks(&taken), blocks(&exact).min(blocks(&approximate)));
            assert!(blocks(&taken) < blocks(&exact) || taken == exact, "ties go to ours");
        }
        assert!(better > 0, "some net is better off with the approximate order");
    }
}
