//! How many keys typical motions become, and how long that takes: `cargo run --release --example fit_keys`.

use glam::DVec3;
use sinew_core::curve::{Kind, fit};
use sinew_core::rotation;
use std::time::Instant;

/// A motion by sample index and time (s).
type Motion = Box<dyn Fn(usize, f64) -> DVec3>;

fn main() {
    let times: Vec<f64> = (0..250).map(|k| f64::from(k) / 24.0).collect();
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let noise: Vec<DVec3> = times.iter().map(|_| DVec3::new(random(), random(), random())).collect();
    let vectors: [(&str, Motion); 7] = [
        ("constant", Box::new(|_, _| DVec3::new(0.1, 0.2, 0.3))),
        ("straight line", Box::new(|_, t| DVec3::new(t, 1.0 - 0.5 * t, 3.0))),
        ("damped oscillation, 1 Hz", Box::new(|_, t| damped(t) * DVec3::new(1.0, 0.3, -0.2))),
        ("bounces between frames", Box::new(|_, t| DVec3::new(0.4 * t, bounce(t, 0.97), 0.0))),
        ("bounces on frames", Box::new(|_, t| DVec3::new(0.4 * t, bounce(t, 1.0), 0.0))),
        ("circle, 5 s", Box::new(|_, t| DVec3::new(libm::cos(1.2566 * t), 0.0, libm::sin(1.2566 * t)))),
        ("noise", Box::new(move |k, _| noise[k])),
    ];
    println!(
        "{:30} {:>9} {:>5} {:>10} {:>9}",
        "250 samples at 24 fps", "tolerance", "keys", "max error", "us"
    );
    for (name, motion) in &vectors {
        let samples: Vec<f64> =
            times.iter().enumerate().flat_map(|(k, &t)| motion(k, t).to_array()).collect();
        for tolerance in [1e-2, 1e-3, 1e-4] {
            report(name, Kind::Vector, 3, &times, &samples, tolerance);
        }
    }
    let turns: [(&str, Motion); 3] = [
        ("swing (rotation)", Box::new(|_, t| DVec3::new(damped(t), 0.0, 0.2 * damped(t + 0.3)))),
        ("spin and sway (rotation)", Box::new(|_, t| DVec3::new(0.3 * libm::sin(2.0 * t), 2.0 * t, 0.0))),
        ("tumble (rotation)", Box::new(|_, t| DVec3::new(libm::sin(3.0 * t), 2.0 * libm::cos(1.3 * t), t))),
    ];
    for (name, motion) in &turns {
        let samples: Vec<f64> = times.iter().flat_map(|&t| rotation::exp(motion(0, t)).to_array()).collect();
        for tolerance in [1e-2, 1e-3, 1e-4] {
            report(name, Kind::Rotation, 4, &times, &samples, tolerance);
        }
    }
}

fn damped(t: f64) -> f64 {
    libm::exp(-0.4 * t) * libm::cos(std::f64::consts::TAU * t)
}

/// Arcs of one, then shorter, times `period` seconds with three quarters of the speed kept at each bounce.
fn bounce(t: f64, period: f64) -> f64 {
    let (mut start, mut length) = (0.0, period);
    while t > start + length && length > 0.1 {
        start += length;
        length *= 0.75;
    }
    let u = t - start;
    if u > length { 0.0 } else { 0.5 * 9.81 * u * (length - u) }
}

fn report(name: &str, kind: Kind, width: usize, times: &[f64], samples: &[f64], tolerance: f64) {
    let run = || fit(kind, width, times, samples, tolerance).expect("finite samples in order");
    let result = run();
    let best = (0..200).map(|_| {
        let start = Instant::now();
        std::hint::black_box(run());
        start.elapsed().as_secs_f64() * 1e6
    });
    let best = best.fold(f64::INFINITY, f64::min);
    let keys = result.curve.times().len();
    println!("{name:30} {tolerance:9.0e} {keys:5} {:10.1e} {best:9.1}", result.max_error);
}
