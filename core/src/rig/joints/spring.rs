//! Springs, limits and strengths of a joint: numbers of the set-up in scene units, and refused where they make no sense.
//!
//! N/m and N s/m are kg/s^2 and kg/s, whatever the unit of length; N m/rad and N m s/rad have a length squared in them,
//! newtons one length.

use super::super::compile::{check, curve_error};
use crate::joint::{Holds, Spring};
use crate::rig::Value;
use crate::setup::{Direction, Give, Joint, Keyable, SetupError, Swing};

/// Degrees of the set-up in rad.
const DEGREE: f64 = std::f64::consts::PI / 180.0;

/// Whether a direction slides or turns: its units.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Slides,
    Turns,
}

impl Way {
    /// Of rest and limits: scene units or rad per unit of the set-up.
    pub(super) fn unit(self) -> f64 {
        if self == Way::Turns { DEGREE } else { 1.0 }
    }

    /// Of stiffness and damping.
    fn stiffness(self, mpu: f64) -> f64 {
        if self == Way::Turns { 1.0 / (mpu * mpu) } else { 1.0 }
    }

    /// Of a force or torque.
    fn force(self, mpu: f64) -> f64 {
        if self == Way::Turns { 1.0 / (mpu * mpu) } else { 1.0 / mpu }
    }

    /// A spring of one pair on this way.
    fn spring(self, pair: Option<[Value; 2]>, strength: f64) -> Spring {
        match self {
            Way::Slides => Spring { slide: pair, turn: None, strength },
            Way::Turns => Spring { slide: None, turn: pair, strength },
        }
    }
}

/// What holds a direction at rest, if anything does: where, and by what spring; without one it is held firmly.
pub(super) fn rest(
    d: &Direction,
    way: Way,
    mpu: f64,
    place: &str,
) -> Result<Option<(Value, Option<Spring>)>, SetupError> {
    let strength = most(d.strength, way.force(mpu), &format!("{place}.strength"))?;
    let springs = d.stiffness.is_some() || d.damping.is_some();
    if d.rest.is_none() && !springs {
        if d.strength.is_some() {
            let why = "is that of a spring or a hold, and there is none; give \"rest\" or \"stiffness\", too";
            return Err(SetupError::new(format!("{place}.strength"), why));
        }
        return Ok(None);
    }
    let middle = Keyable::Constant(0.0);
    let rest = d.rest.as_ref().unwrap_or(&middle);
    let at = format!("{place}.rest");
    if let Some(bad) = rest.values().into_iter().find(|v| !v.is_finite()) {
        return Err(SetupError::new(at, format!("{bad} is no place; give a finite number")));
    }
    if let (Some([least, most]), false) = (d.limits, springs)
        && let Some(out) = rest.values().into_iter().find(|v| *v < least || *v > most)
    {
        return Err(SetupError::new(at, format!("{out} is beyond the limits {least} and {most}")));
    }
    let rest = Value::scaled(rest, way.unit()).map_err(curve_error(at))?;
    let spring = match springs {
        true => {
            let pair =
                pair(d.stiffness.as_ref(), d.damping.as_ref(), way, mpu, [place, "stiffness", "damping"])?;
            Some(way.spring(Some(pair), strength))
        }
        false if strength.is_finite() => Some(way.spring(None, strength)),
        false => None,
    };
    Ok(Some((rest, spring)))
}

/// Least and most of a direction, in scene units or rad.
pub(super) fn limits(d: &Direction, way: Way, place: &str) -> Result<Option<[f64; 2]>, SetupError> {
    let Some([least, most]) = d.limits else { return Ok(None) };
    let place = format!("{place}.limits");
    if !(least.is_finite() && most.is_finite() && least <= most) {
        let why = format!("{least} and {most} must be finite, the smaller one first");
        return Err(SetupError::new(place, why));
    }
    if way == Way::Turns && most - least > 360.0 {
        let why = format!("{least} to {most} is more than a turn and limits nothing; remove them");
        return Err(SetupError::new(place, why));
    }
    Ok(Some([least * way.unit(), most * way.unit()]))
}

/// Half angles of the cone (rad).
pub(super) fn cone(swing: &Swing, place: &str) -> Result<Option<[f64; 2]>, SetupError> {
    let Some(cone) = swing.cone else { return Ok(None) };
    match cone.iter().find(|half| !(**half > 0.0 && **half < 180.0)) {
        Some(half) => {
            Err(SetupError::new(format!("{place}.cone"), format!("{half} must be above 0 and below 180")))
        }
        None => Ok(Some(cone.map(|half| half * DEGREE))),
    }
}

/// The spring that brings a tilt back.
pub(super) fn upright(swing: &Swing, mpu: f64, place: &str) -> Result<Option<Spring>, SetupError> {
    let (stiffness, damping) = (swing.stiffness.as_ref(), swing.damping.as_ref());
    if stiffness.is_none() && damping.is_none() {
        return Ok(None);
    }
    let pair = pair(stiffness, damping, Way::Turns, mpu, [place, "stiffness", "damping"])?;
    Ok(Some(Way::Turns.spring(Some(pair), f64::INFINITY)))
}

/// The springs in place of what a joint holds.
pub(super) fn give(give: &Give, mpu: f64, place: &str) -> Result<Option<Spring>, SetupError> {
    let one = |k: &Option<Keyable>, c: &Option<Keyable>, way: Way, names: [&str; 3]| match k {
        None => Ok(None),
        Some(k) => pair(Some(k), c.as_ref(), way, mpu, names).map(Some),
    };
    let names = [place, "stiffness", "damping"];
    let slide = one(&give.stiffness, &give.damping, Way::Slides, names)?;
    let names = [place, "turn_stiffness", "turn_damping"];
    let turn = one(&give.turn_stiffness, &give.turn_damping, Way::Turns, names)?;
    Ok((slide.is_some() || turn.is_some()).then_some(Spring { slide, turn, strength: f64::INFINITY }))
}

/// When a joint holds, and what it bears.
pub(super) fn holds(wanted: &Joint, mpu: f64, place: &str) -> Result<Holds, SetupError> {
    let on = match &wanted.on {
        None => None,
        Some(on) => {
            let place = format!("{place}.on");
            check(&place, on, 0.0, 1.0)?;
            Some(Value::new(on).map_err(curve_error(place))?)
        }
    };
    let (force, torque) = (Way::Slides.force(mpu), Way::Turns.force(mpu));
    Ok(Holds {
        on,
        grab: wanted.grab,
        most_force: most(wanted.break_force, force, &format!("{place}.break_force"))?,
        most_torque: most(wanted.break_torque, torque, &format!("{place}.break_torque"))?,
    })
}

/// Stiffness and damping.
fn pair(
    stiffness: Option<&Keyable>,
    damping: Option<&Keyable>,
    way: Way,
    mpu: f64,
    [place, k, c]: [&str; 3],
) -> Result<[Value; 2], SetupError> {
    let one = |value: Option<&Keyable>, name: &str| match value {
        None => Ok(Value::constant(0.0)),
        Some(v) => {
            let place = format!("{place}.{name}");
            check(&place, v, 0.0, f64::MAX)?;
            Value::scaled(v, way.stiffness(mpu)).map_err(curve_error(place))
        }
    };
    Ok([one(stiffness, k)?, one(damping, c)?])
}

/// A largest force or torque; none has no end.
fn most(value: Option<f64>, unit: f64, place: &str) -> Result<f64, SetupError> {
    match value {
        None => Ok(f64::INFINITY),
        Some(v) if v.is_finite() && v > 0.0 => Ok(v * unit),
        Some(v) => Err(SetupError::new(place, format!("{v} must be above 0"))),
    }
}
