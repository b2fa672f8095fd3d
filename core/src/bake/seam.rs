//! What is between the end of a looped curve and its start.

use super::Wanted;
use crate::curve::{Curve, Kind, Segments};
use crate::cycle::{Gap, RESTS};
use crate::rotation;
use glam::DQuat;

/// Widens a gap by that of a curve. `travels`: it ends elsewhere by what its samples travel.
pub(super) fn widen(gap: &mut Gap, w: &Wanted, curve: &Curve, times: &[f64], travels: bool, name: &str) {
    let width = curve.width();
    let row = |numbers: &[f64], last: bool| {
        let from = if last { numbers.len() - width } else { 0 };
        numbers[from..from + width].to_vec()
    };
    let [a, b] = [false, true].map(|last| row(curve.values(), last));
    let before = gap.angle_deg.max(gap.distance / w.size);
    let length = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
    // A cycle of rotations may come back with the other sign.
    let dot: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
    let sign = if curve.kind() == Kind::Rotation && dot < 0.0 { -1.0 } else { 1.0 };
    let velocity = match curve.segments() {
        Segments::Cubic { arriving, leaving } => {
            let [m0, m1] = [row(leaving, false), row(arriving, true)];
            let apart: Vec<f64> = m0.iter().zip(&m1).map(|(m0, m1)| sign * m1 - m0).collect();
            let mut rate = vec![0.0; width];
            let rates = times.iter().map(|&t| {
                curve.derivative(t, &mut rate);
                length(&rate)
            });
            // A quaternion changes half as fast as what it turns.
            let rests = if curve.kind() == Kind::Rotation { 0.5 * RESTS } else { RESTS * w.size / w.scale };
            Some(length(&apart) / rates.fold(rests, f64::max))
        }
        _ => None,
    };
    match curve.kind() {
        Kind::Rotation => {
            let angle =
                rotation::distance(DQuat::from_slice(&a).normalize(), DQuat::from_slice(&b).normalize());
            gap.widen(angle, 0.0, velocity);
        }
        Kind::Vector => {
            let [x, y] = [false, true].map(|last| row(&w.values, last));
            let apart = (0..width).map(|i| b[i] - a[i] - if travels { y[i] - x[i] } else { 0.0 });
            gap.widen(0.0, length(&apart.collect::<Vec<_>>()) * w.scale, velocity);
        }
    }
    if gap.angle_deg.max(gap.distance / w.size) > before {
        gap.node = Some(name.to_owned());
    }
}
