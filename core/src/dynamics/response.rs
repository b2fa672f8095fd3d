//! The exact answer of a damped spring to a target that moves evenly during the step.
//!
//! A guided coordinate obeys (Lamouret 1995, eq. 2, with `k = 2 alpha / Dt^2`, `c = 2 beta / Dt` plus drag)
//!
//! ```text
//!     x'' = k (target - x) - c x' + other = -k x - c x' + b0 + b1 s,      s = time since the step began,
//! ```
//!
//! with x measured from where the step begins. Its solution is linear in what it starts from:
//!
//! ```text
//!     x(s) = b v + g b0 + h b1         b: impulse response, g = integral of b, h = integral of g,
//!     v(s) = b' v + b b0 + g b1
//! ```
//!
//! The paper integrates the same force with a scheme that takes it constant over the step, which swings and
//! explodes when the step is long beside the spring; with the exact answer the curve is the same for every
//! sequence of steps, which is what its section 4.2 asks for. With k = c = 0 this is the paper's Newton scheme
//! (eq. 11, 12): a parabola.
//!
//! The functions are computed by their power series over a fraction of the step, then doubled, without branches
//! for under- and over-damping and without cancellation near the critical case.

/// The response functions at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Displacement per unit of starting velocity, s.
    pub b: f64,
    /// Velocity per unit of starting velocity.
    pub b_rate: f64,
    /// Displacement per unit of constant acceleration, s^2. Also velocity per unit of ramp.
    pub g: f64,
    /// Displacement per unit of acceleration ramp, s^3.
    pub h: f64,
}

/// Within this share of the step's natural time, this many terms of the series leave an error under 1e-17:
/// 0.5^17 / 17! with a margin for the damping term.
const SERIES_REACH: f64 = 0.5;

const TERMS: usize = 16;

/// One over 1, 2, 3...
const PER: [f64; TERMS + 3] = {
    let mut per = [0.0; TERMS + 3];
    let mut n = 0;
    while n < per.len() {
        per[n] = 1.0 / (n + 1) as f64;
        n += 1;
    }
    per
};

/// So many leave as little of a shorter share: `share^n / (n + 1)!` under 1e-17.
#[inline(always)]
fn terms(share: f64) -> usize {
    match share {
        s if s > 0.25 => TERMS,
        s if s > 0.1 => 12,
        s if s > 0.03 => 10,
        _ => 8,
    }
}

/// More halvings than this never help: a spring that settles within 2^-60 of the step is at its target.
const MOST_DOUBLINGS: i32 = 60;

impl Response {
    /// For stiffness `k` (1/s^2, at least 0), damping `c` (1/s, at least 0) and a step of `dt` (s).
    pub fn new(k: f64, c: f64, dt: f64) -> Response {
        let [response] = Response::several([k], [c], dt);
        response
    }

    /// Of several springs side by side: each term of a series waits for the one before, but not for the others'.
    #[inline(always)]
    pub fn several<const N: usize>(k: [f64; N], c: [f64; N], dt: f64) -> [Response; N] {
        if k == [0.0; N] && c == [0.0; N] {
            return [Response::free(dt); N];
        }
        let mut share = 0.0_f64;
        for i in 0..N {
            share = share.max((k[i].sqrt() + c[i]) * dt);
        }
        let mut doublings = 0;
        while share > SERIES_REACH && doublings < MOST_DOUBLINGS {
            share *= 0.5;
            doublings += 1;
        }
        let mut s = dt * libm::ldexp(1.0, -doublings);

        // b = sum of u_n, u_n = a_n s^n, with u_0 = 0, u_1 = s, (n+2)(n+1) u_{n+2} = -c s (n+1) u_{n+1} - k s^2 u_n.
        let (damps, pulls) = (c.map(|c| c * s), k.map(|k| k * s * s));
        let (mut earlier, mut latest) = ([0.0; N], [s; N]);
        let (mut b, mut b_rate, mut g, mut h) = ([0.0; N], [0.0; N], [0.0; N], [0.0; N]);
        for n in 0..terms(share) {
            for i in 0..N {
                let next = -(damps[i] * latest[i] + pulls[i] * earlier[i] * PER[n]) * PER[n + 1];
                b[i] += next;
                b_rate[i] += next * (n + 2) as f64;
                g[i] += next * PER[n + 2];
                h[i] += next * (PER[n + 2] * PER[n + 3]);
                (earlier[i], latest[i]) = (latest[i], next);
            }
        }
        let mut all: [Response; N] = std::array::from_fn(|i| Response {
            b: s + b[i],
            b_rate: 1.0 + b_rate[i] / s,
            g: s * (0.5 * s + g[i]),
            h: s * s * (s / 6.0 + h[i]),
        });
        // a(s) = 1 - k g is the response to a starting displacement, a' = -k b.
        let mut a: [f64; N] = std::array::from_fn(|i| 1.0 - k[i] * all[i].g);
        for _ in 0..doublings {
            for i in 0..N {
                let Response { b, b_rate, g, h } = all[i];
                let a_rate = -k[i] * b;
                all[i] = Response {
                    b: a[i] * b + b * b_rate,
                    b_rate: a_rate * b + b_rate * b_rate,
                    g: a[i] * g + b * b + g,
                    h: a[i] * h + b * g + g * s + h,
                };
                a[i] = a[i] * a[i] + b * a_rate;
            }
            s *= 2.0;
        }
        all
    }

    /// Nothing pulls and nothing drags.
    pub fn free(dt: f64) -> Response {
        Response { b: dt, b_rate: 1.0, g: dt * dt / 2.0, h: dt * dt * dt / 6.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Underdamped, critical and overdamped closed forms of the impulse response and its derivative.
    fn closed_form(k: f64, c: f64, t: f64) -> (f64, f64) {
        let half = c / 2.0;
        let disc = half * half - k;
        let decay = (-half * t).exp();
        if disc < -1e-9 * k {
            let w = (-disc).sqrt();
            let (s, co) = (w * t).sin_cos();
            (decay * s / w, decay * (co - half / w * s))
        } else if disc > 1e-9 * k {
            let w = disc.sqrt();
            // exp(-half t) sinh(w t) / w without overflow.
            let (fast, slow) = ((-(half + w) * t).exp(), (-(half - w) * t).exp());
            ((slow - fast) / (2.0 * w), (slow * (w - half) + fast * (w + half)) / (2.0 * w))
        } else {
            (t * decay, decay * (1.0 - half * t))
        }
    }

    proptest! {
        #[test]
        fn the_series_agrees_with_the_closed_forms(w in 0.01..500.0_f64, zeta in 0.0..4.0_f64, dt in 1e-4..0.2_f64) {
            prop_assume!((zeta - 1.0).abs() > 1e-3 || zeta == 1.0);
            let (k, c) = (w * w, 2.0 * zeta * w);
            let r = Response::new(k, c, dt);
            let (b, b_rate) = closed_form(k, c, dt);
            prop_assert!((r.b - b).abs() < 1e-9 * dt, "{} {}", r.b, b);
            prop_assert!((r.b_rate - b_rate).abs() < 1e-9, "{} {}", r.b_rate, b_rate);
            // The momentum balance of the oscillator: b' + c b + k g = 1.
            prop_assert!((r.b_rate + c * r.b + k * r.g - 1.0).abs() < 1e-9 * (1.0 + c * dt));
            // And of the ramp: b + c g + k h = dt.
            prop_assert!((r.b + c * r.g + k * r.h - dt).abs() < 1e-9 * dt * (1.0 + c * dt));
        }

        #[test]
        fn two_half_steps_are_one_step(w in 0.0..80.0_f64, zeta in 0.0..3.0_f64, dt in 1e-3..0.1_f64, u in 0.01..0.99_f64) {
            let (k, c) = (w * w, 2.0 * zeta * w);
            let whole = Response::new(k, c, dt);
            let (v0, b0, b1) = (0.7, -3.0, 11.0);
            let first = Response::new(k, c, dt * u);
            let x = first.b * v0 + first.g * b0 + first.h * b1;
            let v = first.b_rate * v0 + first.b * b0 + first.g * b1;
            let second = Response::new(k, c, dt * (1.0 - u));
            let b0_then = b0 + b1 * dt * u - k * x;
            let x_end = x + second.b * v + second.g * b0_then + second.h * b1;
            let v_end = second.b_rate * v + second.b * b0_then + second.g * b1;
            prop_assert!((x_end - (whole.b * v0 + whole.g * b0 + whole.h * b1)).abs() < 1e-12);
            prop_assert!((v_end - (whole.b_rate * v0 + whole.b * b0 + whole.g * b1)).abs() < 1e-11);
        }
    }

    #[test]
    fn a_spring_far_stiffer_than_the_step_lands_on_its_target() {
        let r = Response::new(1e12, 2e6, 0.04);
        assert!((1e12 * r.g - 1.0).abs() < 1e-6);
        assert!(r.b.abs() < 1e-6 && r.b_rate.abs() < 1e-6);
    }

    #[test]
    fn several_side_by_side_are_what_each_is_alone() {
        let (k, c, dt) = ([0.0, 2e4, 0.5, 900.0], [0.0, 3.0, 80.0, 60.0], 1.0 / 24.0);
        for (i, r) in Response::several(k, c, dt).into_iter().enumerate() {
            let alone = Response::new(k[i], c[i], dt);
            let near = |a: f64, b: f64, size: f64| (a - b).abs() < 1e-13 * size;
            assert!(near(r.b, alone.b, dt) && near(r.b_rate, alone.b_rate, 1.0), "{i}");
            assert!(near(r.g, alone.g, dt * dt) && near(r.h, alone.h, dt * dt * dt), "{i}");
        }
    }

    #[test]
    fn nothing_pulling_is_a_parabola() {
        assert_eq!(
            Response::new(0.0, 0.0, 0.25),
            Response { b: 0.25, b_rate: 1.0, g: 0.03125, h: 0.25f64.powi(3) / 6.0 }
        );
        let nearly = Response::new(1e-30, 0.0, 0.25);
        assert!((nearly.g - 0.03125).abs() < 1e-17);
    }
}
