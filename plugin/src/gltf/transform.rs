//! A node's rest transform: channels as given, or a matrix taken apart into channels where that is exact.

use super::entry::Entry;
use crate::error::Error;
use glam::{DMat3, DMat4, DQuat, DVec3};
use sinew_core::rotation;
use sinew_core::scene::{Channels, Local};

/// How far from square two axes of a matrix may stand and still be called unsheared: single precision rounds
/// each component by 6e-8, and the sum of three products by a few times that.
const SQUARE: f64 = 1e-6;

/// How far the last row may be from 0 0 0 1 before a matrix is called projective.
const AFFINE: f64 = 1e-4;

/// Reads `matrix`, or `translation`, `rotation` and `scale`.
pub(super) fn read(node: &Entry<'_>) -> Result<Local, Error> {
    if let Some(m) = node.numbers::<16>("matrix")? {
        let m = DMat4::from_cols_array(&m);
        let row = m.row(3) - glam::DVec4::W;
        if row.abs().max_element() > AFFINE {
            return Err(
                node.fault("the last row of `matrix` must be 0 0 0 1; freeze the transform and export again")
            );
        }
        return Ok(decompose(m).map_or(Local::Matrix(m), Local::Channels));
    }
    let mut channels = Channels::default();
    if let Some(t) = node.numbers("translation")? {
        channels.translation = DVec3::from_array(t);
    }
    if let Some(r) = node.numbers("rotation")? {
        let length = DQuat::from_array(r).length();
        if length < 1e-12 {
            return Err(node.fault("`rotation` has length zero, which is no rotation"));
        }
        channels.rotation = DQuat::from_array(r.map(|c| c / length));
    }
    if let Some(s) = node.numbers("scale")? {
        channels.scale = DVec3::from_array(s);
    }
    Ok(Local::Channels(channels))
}

/// Translation, rotation and scale of an affine matrix, `None` when it is sheared. A mirror becomes a negative
/// x scale; axes of length zero are completed to a frame.
pub(crate) fn decompose(m: DMat4) -> Option<Channels> {
    let axes = [m.x_axis, m.y_axis, m.z_axis].map(|c| c.truncate());
    let mut scale = axes.map(DVec3::length);
    let largest = scale.into_iter().fold(0.0, f64::max);
    let mut unit =
        [0, 1, 2].map(|i| if scale[i] > 1e-12 * largest { axes[i] / scale[i] } else { DVec3::ZERO });
    let dot = |i: usize, j: usize| unit[i].dot(unit[j]).abs();
    if dot(0, 1) > SQUARE || dot(1, 2) > SQUARE || dot(2, 0) > SQUARE {
        return None;
    }
    complete(&mut unit);
    if unit[0].dot(unit[1].cross(unit[2])) < 0.0 {
        unit[0] = -unit[0];
        scale[0] = -scale[0];
    }
    let rotation = rotation::of_linear(DMat3::from_cols(unit[0], unit[1], unit[2]))?;
    Some(Channels { translation: m.w_axis.truncate(), rotation, scale: DVec3::from_array(scale) })
}

/// Fills axes that are zero so that the three make a right-handed frame.
fn complete(unit: &mut [DVec3; 3]) {
    let missing: Vec<usize> = (0..3).filter(|&i| unit[i] == DVec3::ZERO).collect();
    match missing[..] {
        [] => {}
        [i] => unit[i] = unit[(i + 1) % 3].cross(unit[(i + 2) % 3]).normalize(),
        [i, j] => {
            // The three indices sum to three.
            let k = 3 - i - j;
            let (a, b) = ((k + 1) % 3, (k + 2) % 3);
            unit[a] = unit[k].any_orthonormal_vector();
            unit[b] = unit[k].cross(unit[a]);
        }
        _ => *unit = [DVec3::X, DVec3::Y, DVec3::Z],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_unsheared_matrix_comes_back_exactly(
            v in prop::array::uniform3(-1.8..1.8), t in prop::array::uniform3(-9.0..9.0),
            s in prop::array::uniform3(prop_oneof![Just(0.0), -3.0..3.0, 1e-4..1e-3]),
        ) {
            let scale = DVec3::from_array(s);
            let given = Channels { translation: DVec3::from_array(t), rotation: rotation::exp(DVec3::from_array(v)), scale };
            // As a file would hold it, in single precision.
            let m = DMat4::from_cols_array(&DMat4::from(given.affine()).to_cols_array().map(|c| f64::from(c as f32)));
            let found = decompose(m).unwrap();
            prop_assert!((found.rotation.length() - 1.0).abs() < 1e-12);
            let back = DMat4::from(found.affine());
            for (a, b) in back.to_cols_array().iter().zip(m.to_cols_array()) {
                prop_assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{back:?} {m:?}");
            }
        }

        #[test]
        fn shear_is_never_thrown_away(k in 1e-4..2.0) {
            let mut m = DMat4::IDENTITY;
            m.y_axis.x = k;
            prop_assert!(decompose(m).is_none());
        }
    }
}
