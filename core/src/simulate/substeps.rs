//! Substeps of unequal length, the same for a frame whichever way one comes to it.
//!
//! An adaptive step is not under anyone's control, so a method must give the same motion for any steps (Lamouret
//! 1995, 4.2). These stand for the worst of them: each substep weighs between 0.1 and 1, by a hash of the frame
//! and its number, and the weights of a frame are scaled to fill it.

/// The shortest weight; the longest is 1.
const LEAST_WEIGHT: f64 = 0.1;

/// Where each substep of `frame` ends, as a share of the frame: increasing, the last is exactly 1.
pub fn uneven(frame: usize, substeps: u32) -> impl Iterator<Item = f64> {
    let whole: f64 = (0..substeps).map(|i| weight(frame, i)).sum();
    let mut so_far = 0.0;
    (0..substeps).map(move |i| {
        so_far += weight(frame, i);
        if i + 1 == substeps { 1.0 } else { so_far / whole }
    })
}

/// Between [`LEAST_WEIGHT`] and 1, by splitmix64.
fn weight(frame: usize, substep: u32) -> f64 {
    let mut z = ((frame as u64) << 32 | u64::from(substep)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let share = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
    LEAST_WEIGHT + (1.0 - LEAST_WEIGHT) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_filled_and_its_steps_differ() {
        let mut ratio = 1.0_f64;
        for frame in 1..200 {
            let ends: Vec<f64> = uneven(frame, 4).collect();
            let lengths: Vec<f64> =
                ends.iter().scan(0.0, |at, &e| Some(e - std::mem::replace(at, e))).collect();
            assert!(ends.len() == 4 && ends[3] == 1.0 && lengths.iter().all(|l| *l > 0.0), "{ends:?}");
            let longest = lengths.iter().copied().fold(0.0, f64::max);
            ratio = ratio.max(longest / lengths.iter().copied().fold(1.0, f64::min));
            assert_ne!(ends, uneven(frame + 1, 4).collect::<Vec<_>>());
        }
        assert!(ratio > 5.0 && ratio < 10.0, "{ratio}");
        assert_eq!(uneven(3, 1).collect::<Vec<_>>(), [1.0]);
    }
}
