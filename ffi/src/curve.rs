//! Curves across the border: read from the host's arrays, copied out into them.

use crate::axes::Axes;
use crate::result::{Fault, SINEW_BAD_INPUT, SINEW_OUT_OF_RANGE, SINEW_TOO_SMALL};
use crate::{input, options, output, versioned};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Property, Scene};

/// Three numbers per key, scene units.
pub const SINEW_TRANSLATION: i32 = 0;
/// Unit quaternion xyzw.
pub const SINEW_ROTATION: i32 = 1;
/// Three factors.
pub const SINEW_SCALE: i32 = 2;
/// One weight per morph target. Carried, not simulated.
pub const SINEW_WEIGHTS: i32 = 3;

/// Each key holds until the next.
pub const SINEW_STEP: i32 = 0;
/// Straight; rotations take the short way round.
pub const SINEW_LINEAR: i32 = 1;
/// Cubic Hermite with tangents per second, as glTF's CUBICSPLINE.
pub const SINEW_CUBIC: i32 = 2;

/// A curve that the host gives.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_curve {
    /// `sizeof(sinew_curve)`.
    pub struct_size: u32,
    /// The node, by index.
    pub node: u32,
    /// `SINEW_TRANSLATION`, `SINEW_ROTATION`, `SINEW_SCALE` or `SINEW_WEIGHTS`.
    pub property: i32,
    /// `SINEW_STEP`, `SINEW_LINEAR` or `SINEW_CUBIC`.
    pub interpolation: i32,
    /// Numbers per key. 0: as the property has; weights need it.
    pub width: u32,
    /// 0.
    pub reserved: u32,
    /// Keys, at least one.
    pub key_count: usize,
    /// Key times in seconds, strictly increasing.
    pub times: *const f64,
    /// `width` numbers per key.
    pub values: *const f64,
    /// Cubic only: `width` numbers per key, the derivative on the earlier side, per second.
    pub arriving: *const f64,
    /// Cubic only: `width` numbers per key, the derivative on the later side, per second.
    pub leaving: *const f64,
}

versioned!(sinew_curve {
    struct_size,
    node: u32,
    property: i32,
    interpolation: i32,
    width: u32,
    reserved: u32,
    key_count: usize,
    times: *const f64,
    values: *const f64,
    arriving: *const f64,
    leaving: *const f64,
});

/// What a curve has, without its keys. Set `struct_size` before asking.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_curve_info {
    /// `sizeof(sinew_curve_info)`.
    pub struct_size: u32,
    /// The node, by index.
    pub node: u32,
    /// `SINEW_TRANSLATION`, `SINEW_ROTATION`, `SINEW_SCALE` or `SINEW_WEIGHTS`.
    pub property: i32,
    /// `SINEW_STEP`, `SINEW_LINEAR` or `SINEW_CUBIC`.
    pub interpolation: i32,
    /// Numbers per key.
    pub width: u32,
    /// 0.
    pub reserved: u32,
    /// Keys.
    pub key_count: usize,
}

versioned!(sinew_curve_info {
    struct_size,
    node: u32,
    property: i32,
    interpolation: i32,
    width: u32,
    reserved: u32,
    key_count: usize,
});

/// The host's curve, checked.
///
/// # Safety
/// The promises of the crate.
pub(crate) unsafe fn read(curve: *const sinew_curve, axes: Axes, scene: &Scene) -> Result<Channel, Fault> {
    if curve.is_null() {
        return Err(Fault::argument("the curve is NULL"));
    }
    // SAFETY: the same promises.
    let c = unsafe { options::read(curve) }?;
    let node = c.node as usize;
    crate::build::node_at(scene, node)?;
    let (property, width) = match c.property {
        SINEW_TRANSLATION => (Property::Translation, 3),
        SINEW_ROTATION => (Property::Rotation, 4),
        SINEW_SCALE => (Property::Scale, 3),
        SINEW_WEIGHTS => (Property::Weights, c.width as usize),
        other => return Err(unknown("property", other)),
    };
    if (c.width != 0 && c.width as usize != width) || width == 0 {
        let text = format!("the curve's width is {} where {} is needed", c.width, width.max(1));
        return Err(Fault::argument(text));
    }
    let numbers = c.key_count.saturating_mul(width);
    // SAFETY: one time and `width` numbers per key, as promised.
    let (times, values) =
        unsafe { (input::array(c.times, c.key_count, "times")?, input::array(c.values, numbers, "values")?) };
    let segments = match c.interpolation {
        SINEW_STEP => Segments::Step,
        SINEW_LINEAR => Segments::Linear,
        SINEW_CUBIC => {
            // SAFETY: likewise.
            let (arriving, leaving) = unsafe {
                (input::array(c.arriving, numbers, "arriving")?, input::array(c.leaving, numbers, "leaving")?)
            };
            Segments::Cubic {
                arriving: axes.keys_inward(property, arriving),
                leaving: axes.keys_inward(property, leaving),
            }
        }
        other => return Err(unknown("interpolation", other)),
    };
    let kind = if property == Property::Rotation { Kind::Rotation } else { Kind::Vector };
    let values = axes.keys_inward(property, values);
    let curve = Curve::new(kind, width, times.to_vec(), values, segments).map_err(|e| {
        Fault::new(SINEW_BAD_INPUT, format!("{property:?} of node {}: {e}", scene.label(node)))
    })?;
    Ok(Channel { node, property, curve })
}

fn unknown(what: &str, value: i32) -> Fault {
    Fault::new(SINEW_OUT_OF_RANGE, format!("the curve's {what} is {value}, which this library does not know"))
}

/// What a curve has.
pub(crate) fn info(channel: &Channel) -> sinew_curve_info {
    sinew_curve_info {
        struct_size: 0,
        node: channel.node as u32,
        property: match channel.property {
            Property::Translation => SINEW_TRANSLATION,
            Property::Rotation => SINEW_ROTATION,
            Property::Scale => SINEW_SCALE,
            Property::Weights => SINEW_WEIGHTS,
        },
        interpolation: match channel.curve.segments() {
            Segments::Step => SINEW_STEP,
            Segments::Linear => SINEW_LINEAR,
            Segments::Cubic { .. } => SINEW_CUBIC,
        },
        width: channel.curve.width() as u32,
        reserved: 0,
        key_count: channel.curve.times().len(),
    }
}

/// Where a curve's numbers go; NULL for what is not wanted.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub(crate) times: *mut f64,
    pub(crate) values: *mut f64,
    pub(crate) arriving: *mut f64,
    pub(crate) leaving: *mut f64,
}

/// Copies a curve out. Tangents of a curve that has none are zeros.
///
/// # Safety
/// The promises of the crate: `times` has room for `key_capacity` numbers, the others for that times the width.
pub(crate) unsafe fn copy(
    channel: &Channel,
    axes: Axes,
    key_capacity: usize,
    to: Places,
) -> Result<(), Fault> {
    let curve = &channel.curve;
    let (keys, width) = (curve.times().len(), curve.width());
    if key_capacity < keys {
        let text = format!("there is room for {key_capacity} keys and the curve has {keys}");
        return Err(Fault::new(SINEW_TOO_SMALL, text));
    }
    let numbers = keys * width;
    // SAFETY: the same promises.
    let (times, values, arriving, leaving) = unsafe {
        (
            output::buffer(to.times, keys, keys, "times")?,
            output::buffer(to.values, numbers, numbers, "values")?,
            output::buffer(to.arriving, numbers, numbers, "arriving")?,
            output::buffer(to.leaving, numbers, numbers, "leaving")?,
        )
    };
    let zeros = vec![0.0; numbers];
    let (tangent_in, tangent_out) = match curve.segments() {
        Segments::Cubic { arriving, leaving } => (arriving, leaving),
        _ => (&zeros, &zeros),
    };
    if let Some(times) = times {
        times.fill(curve.times().iter().copied());
    }
    for (place, numbers) in [(values, curve.values()), (arriving, tangent_in), (leaving, tangent_out)] {
        if let Some(place) = place {
            place.fill(axes.keys_outward(channel.property, numbers));
        }
    }
    Ok(())
}

/// The curve of that index.
pub(crate) fn at(channels: &[Channel], index: usize) -> Result<&Channel, Fault> {
    channels.get(index).ok_or_else(|| {
        Fault::new(SINEW_OUT_OF_RANGE, format!("there is no curve {index}; there are {}", channels.len()))
    })
}
