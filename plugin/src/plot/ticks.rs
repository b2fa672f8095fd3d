//! Ranges that leave air around the data, and round numbers within them.

/// The smallest and largest of `values` with a share of their distance added at both ends. Numbers that are not
/// finite are passed over; a range without extent gets one.
pub fn padded(values: impl Iterator<Item = f64>, share: f64) -> (f64, f64) {
    let (low, high) = values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    let size = high - low;
    // A millionth of its size is rounding, not motion.
    let least = low.abs().max(high.abs()) * 1e-6;
    let pad = if size > least { size * share } else { least.max(0.5) };
    (low - pad, high + pad)
}

/// Round numbers in `range`, about `wanted` of them, and how many decimals they need.
pub fn round((low, high): (f64, f64), wanted: f64) -> (Vec<f64>, usize) {
    let size = high - low;
    if !(size.is_finite() && size > 0.0) {
        return (Vec::new(), 0);
    }
    let (mut ten, mut decimals) = (1.0_f64, 0_usize);
    while ten * wanted > size && decimals < 300 {
        ten /= 10.0;
        decimals += 1;
    }
    while ten * 10.0 * wanted <= size {
        ten *= 10.0;
        decimals = decimals.saturating_sub(1);
    }
    let step = [5.0, 2.0, 1.0].map(|m| m * ten).into_iter().find(|s| s * wanted <= size).unwrap_or(ten);
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    // Beyond 2^53 neighbouring numbers cannot be told apart.
    if first.abs().max(last.abs()) > 9e15 {
        return (Vec::new(), 0);
    }
    ((first as i64..=last as i64).map(|i| i as f64 * step).collect(), decimals)
}

/// A tick in figures: plain while that is short.
pub fn label(v: f64, decimals: usize) -> String {
    match v {
        0.0 if decimals > 5 => "0".into(),
        _ if decimals > 5 || v.abs() >= 1e6 => format!("{v:.1e}"),
        _ => format!("{v:.decimals$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let (ticks, decimals) = round((0.0, 1.0), 5.0);
        assert_eq!((ticks, decimals), (vec![0.0, 0.2, 0.4, 0.2 * 3.0, 0.8, 1.0], 1));
        assert_eq!(round((-30.0, 70.0), 5.0), (vec![-20.0, 0.0, 20.0, 40.0, 60.0], 0));
        assert_eq!(round((0.011, 0.019), 4.0).1, 3);
    }

    #[test]
    fn every_range_gives_a_sensible_number_of_them() {
        for size in [1e-200, 1e-9, 0.3, 1.0, 7.77, 999.0, 1e12] {
            let n = round((0.0, size), 5.0).0.len();
            assert!((3..=14).contains(&n), "{n} for {size:e}");
        }
        for range in [(0.0, 0.0), (1.0, f64::NAN), (0.0, f64::INFINITY), (1e300, 2e300), (1e20, 1e20 + 1e5)] {
            assert!(round(range, 5.0).0.len() < 20);
        }
    }

    #[test]
    fn labels_stay_short() {
        let labels = [label(0.25, 2), label(-3.0, 0), label(0.0, 9), label(4e-8, 8), label(2.5e7, 0)];
        assert_eq!(labels, ["0.25", "-3", "0", "4.0e-8", "2.5e7"]);
    }

    #[test]
    fn still_data_gets_room() {
        assert_eq!(padded([3.0, 3.0].into_iter(), 0.1), (2.5, 3.5));
        assert_eq!(padded([f64::NAN].into_iter(), 0.1), (0.0, 1.0));
    }
}
