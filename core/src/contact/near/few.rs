//! Four of many corners: those that hold as well as all of them would.

use crate::contact::manifold::MOST_POINTS;

/// A corner of the area in which two faces touch: where on the face, and how far above it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Corner {
    pub u: f64,
    pub v: f64,
    pub gap: f64,
    /// Which one it was.
    pub number: usize,
}

/// At most four of the corners: the deepest, the furthest from it, and the two that span most area to either side.
pub fn few(corners: &mut [Corner]) -> &[Corner] {
    let n = corners.len();
    if n <= MOST_POINTS {
        return corners;
    }
    let best = |corners: &[Corner], from: usize, score: &dyn Fn(&Corner) -> f64| {
        (from..n).fold(from, |b, i| if score(&corners[i]) > score(&corners[b]) { i } else { b })
    };
    let deepest = best(corners, 0, &|c| -c.gap);
    corners.swap(0, deepest);
    let a = corners[0];
    let far = best(corners, 1, &|c| (c.u - a.u) * (c.u - a.u) + (c.v - a.v) * (c.v - a.v));
    corners.swap(1, far);
    let b = corners[1];
    let area = move |c: &Corner| (b.u - a.u) * (c.v - a.v) - (b.v - a.v) * (c.u - a.u);
    let left = best(corners, 2, &area);
    corners.swap(2, left);
    let right = best(corners, 3, &|c| -area(c));
    corners.swap(3, right);
    &corners[..MOST_POINTS]
}
