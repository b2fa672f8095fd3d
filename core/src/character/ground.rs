//! The floor that a figure stands on, the same in all of its clips; and what the clip that guides drags over it, or takes below it.

use super::survey::Survey;
use super::{Character, Limb};
use crate::scene::Placement;
use glam::DVec3;

/// Moments at which something is this near to a height, as a part of the figure's size, are moments of standing at it.
const STANDS: f64 = 0.03;

/// A figure that stands for less than this part of the moments of all clips is in the air.
const OFTEN: f64 = 0.25;

/// A figure stands at 0 if it does so at rest, unless its clips go deeper by more than this part of its size.
const DEEPER: f64 = 0.1;

/// The floor gives way to what strength brings this near to it, as a part of the figure's size: a paw that is a little late would
/// trip.
const SLACK: f64 = 0.02;

/// Finds the floor: height 0, if the figure stands there at rest or in its clips; or where its lowest shapes are most often.
pub(super) fn stand(survey: &Survey, figure: &mut Character) {
    let moments = survey.ever(figure.limbs[0].node).len();
    let lowest = |at: &dyn Fn(&Limb) -> Placement| {
        figure.limbs.iter().map(|l| low(l, &at(l))).fold(f64::INFINITY, f64::min)
    };
    let at_rest = lowest(&|l| survey.at_rest(l.node));
    let mut lows: Vec<f64> = (0..moments).map(|t| lowest(&|l| survey.ever(l.node)[t])).collect();
    lows.sort_by(f64::total_cmp);
    let near = STANDS * figure.size;
    // The height from which most are within reach, the lowest of these.
    let within = |k: usize| lows.partition_point(|l| *l <= lows[k] + near) - k;
    let first = (0..moments).fold(0, |best, k| if within(k) > within(best) { k } else { best });
    let often = within(first) as f64 >= OFTEN * moments as f64;
    let usual = Some(lows[first + within(first) / 2]).filter(|_| often);
    let zero = |height: f64| height.abs() < near;
    let floor = match usual {
        Some(usual) if zero(usual) || zero(at_rest) && usual.abs() < DEEPER * figure.size => Some(0.0),
        None if zero(at_rest) => Some(0.0),
        usual => usual,
    };
    figure.floor = floor.filter(|f| f.is_finite());
    if let Some(floor) = figure.floor {
        drag(survey, figure, floor);
        for limb in &mut figure.limbs {
            let lows = survey.places(limb.node).iter().map(|at| low(limb, at));
            let lowest = lows.fold(f64::INFINITY, f64::min) - SLACK * figure.size;
            limb.floor = Some(lowest).filter(|l| *l < floor);
        }
    }
}

/// How low a limb is with its bone there.
fn low(limb: &Limb, at: &Placement) -> f64 {
    at.position.y - limb.form.reach(at.rotation.conjugate() * DVec3::NEG_Y)
}

/// What touches the floor is within this part of the figure's size of it.
const TOUCHES: f64 = 0.01;

/// Feet that go faster than this over the floor, in sizes of the figure per second, do not stand on it.
const DRAGS: f64 = 0.1;

/// Finds the limbs that the clip drags over the floor.
fn drag(survey: &Survey, figure: &mut Character, floor: f64) {
    for limb in &mut figure.limbs {
        let places = survey.places(limb.node);
        let (mut way, mut time) = (0.0, 0.0);
        for pair in places.windows(2) {
            // The lowest point, and how far it goes while it is low.
            let down = pair[0].rotation.conjugate() * DVec3::NEG_Y;
            let low = limb.form.lowest(down);
            let [from, to] = [0, 1].map(|k| super::placed(&pair[k], low));
            if from.y.max(to.y) < floor + TOUCHES * figure.size {
                way += (to - from).reject_from(DVec3::Y).length();
                time += survey.step;
            }
        }
        limb.drags = way > DRAGS * figure.size * time;
    }
}
