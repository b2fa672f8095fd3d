//! The floor that a clip stands on: the height to which its lowest shapes come again and again; and what it drags over that.

use super::Character;
use super::survey::Survey;
use glam::DVec3;

/// Moments at which something is this near to the lowest height, as a part of the figure's size, are moments of standing.
const STANDS: f64 = 0.03;

/// A clip that stands for less than this part of its moments is in the air.
const OFTEN: f64 = 0.25;

/// Finds the floor: the lowest that any shape comes, if the figure is about that low often enough.
pub(super) fn stand(survey: &Survey, figure: &mut Character) {
    let moments = survey.places(figure.limbs[0].node).len();
    let lowest = |t: usize| {
        let low = figure.limbs.iter().map(|l| {
            let at = &survey.places(l.node)[t];
            at.position.y - l.form.reach(at.rotation.conjugate() * DVec3::NEG_Y)
        });
        low.fold(f64::INFINITY, f64::min)
    };
    let lows: Vec<f64> = (0..moments).map(lowest).collect();
    let floor = lows.iter().copied().fold(f64::INFINITY, f64::min);
    let stands = lows.iter().filter(|l| **l - floor < STANDS * figure.size).count();
    if floor.is_finite() && stands as f64 >= OFTEN * moments as f64 {
        figure.floor = Some(floor);
        drag(survey, figure, floor);
    }
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
