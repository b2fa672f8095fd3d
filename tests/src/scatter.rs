//! Numbers that look random and are the same in every run: a failure happens again.

/// The `n`th of a sequence in [0, 1) (splitmix64).
pub fn unit(n: u64) -> f64 {
    let mut z = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // 53 bits: all that an f64 below 1 can hold without rounding up to it.
    ((z ^ (z >> 31)) >> 11) as f64 / 2f64.powi(53)
}

/// `count` numbers in [-1, 1), another row for each `seed`.
pub fn signed(seed: u64, count: usize) -> Vec<f64> {
    (0..count as u64).map(|n| 2.0 * unit(seed * 1_000_003 + n) - 1.0).collect()
}

/// `count` unit quaternions xyzw, another row for each `seed`.
pub fn rotations(seed: u64, count: usize) -> Vec<f64> {
    let mut numbers = signed(seed, 4 * count);
    for q in numbers.chunks_exact_mut(4) {
        let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
        q.iter_mut().for_each(|c| *c /= length);
    }
    numbers
}
