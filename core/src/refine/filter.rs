//! Which steps are taken (Wächter and Biegler 2006): what equations are off by, or the objective, must get better than in
//! every pair of them that was left behind.

/// Pairs that must not come back.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pairs: Vec<(f64, f64)>,
    least: f64,
    most: f64,
}

const MARGIN: f64 = 1e-5;
const ARMIJO: f64 = 1e-4;

impl Filter {
    /// Forgets everything; `off` is what equations are off by now.
    pub fn reset(&mut self, off: f64) {
        self.pairs.clear();
        self.least = 1e-4 * off.max(1.0);
        self.most = 1e4 * off.max(1.0);
    }

    /// Whether a trial of length `share` is taken, from `now` to `then`, with this slope of the objective; if it is, what it leaves
    /// behind is remembered.
    pub fn takes(&mut self, now: (f64, f64), then: (f64, f64), slope: f64, share: f64) -> bool {
        if !(then.0.is_finite() && then.1.is_finite()) || then.0 > self.most {
            return false;
        }
        // What doubles cannot tell apart is no worse.
        let rounding = 1e-14 * now.1.abs().max(1.0);
        if self.pairs.iter().any(|p| then.0 >= p.0 && then.1 >= p.1 + rounding) {
            return false;
        }
        let switching =
            slope < 0.0 && share * libm::pow(-slope, 2.3) > libm::pow(now.0, 1.1) && now.0 <= self.least;
        let armijo = then.1 <= now.1 + ARMIJO * share * slope + rounding;
        if switching {
            return armijo;
        }
        let better = then.0 <= (1.0 - MARGIN) * now.0 || then.1 <= now.1 - MARGIN * now.0 + rounding;
        if better {
            self.pairs.push(((1.0 - MARGIN) * now.0, now.1 - MARGIN * now.0));
        }
        better
    }
}
