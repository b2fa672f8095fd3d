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

/// Numbers of a seed, one after the other.
pub struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    /// The numbers of that seed.
    pub fn new(seed: u64) -> Dice {
        Dice { seed, thrown: 0 }
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.thrown += 1;
        unit(self.seed.wrapping_mul(1009).wrapping_add(self.thrown) & 0xffff_ffff_ffff)
    }

    /// In [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A whole number, both ends included.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        (low + (self.unit() * (high + 1 - low) as f64) as usize).min(high)
    }

    /// Whether what happens so often happens.
    pub fn happens(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Any of them.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.whole(0, all.len() - 1)]
    }
}
