//! What a clip holds still in the world: feet on the floor, and hands and feet that stay where they are while the body moves
//! on. That is where something holds them, and where they are pinned.

use super::name::{Name, Part};
use super::survey::Survey;
use super::{Character, Limb, placed};
use crate::scene::{Placement, Scene};
use glam::DVec3;

/// What goes slower than this is still, in sizes of the figure per second: less than feet slip in most clips that are keyed
/// by hand.
const STILL: f64 = 0.03;

/// Shorter moments are no stand, s.
const SHORTEST_S: f64 = 0.15;

/// What touches the floor is within this part of the figure's size of it.
const TOUCHES: f64 = 0.015;

/// What is not on the floor holds on to something if the body moves at least this far meanwhile, as a part of its size.
const MOVES_ON: f64 = 0.1;

/// Finds when each limb is held still, in seconds from the clip's first moment. After the floor is known.
pub(super) fn hold(scene: &Scene, survey: &Survey, figure: &mut Character) {
    for i in 0..figure.limbs.len() {
        let limb = &figure.limbs[i];
        let ends =
            Name::new(&scene.nodes[limb.node].name).part() == Some(Part::End) || limb.form.hull.is_some();
        if ends && !limb.drags && limb.parent.is_some() {
            figure.limbs[i].still = stands(survey, figure, i);
        }
    }
}

fn stands(survey: &Survey, figure: &Character, i: usize) -> Vec<[f64; 2]> {
    let limb = &figure.limbs[i];
    let places = survey.places(limb.node);
    let slow = |t: usize| {
        points(limb).iter().all(|p| {
            (placed(&places[t + 1], *p) - placed(&places[t], *p)).length() < STILL * figure.size * survey.step
        })
    };
    let mut found = Vec::new();
    let mut t = 0;
    while t + 1 < places.len() {
        let first = t;
        while t + 1 < places.len() && slow(t) {
            t += 1;
        }
        let long = (t - first) as f64 * survey.step >= SHORTEST_S;
        if long && (on_floor(figure, limb, &places[first..=t]) || moves_on(survey, figure, i, first, t)) {
            found.push([first, t].map(|k| k as f64 * survey.step));
        }
        t = t.max(first + 1);
    }
    found
}

/// Points of a limb that are all still when it is.
fn points(limb: &Limb) -> [DVec3; 3] {
    let ([a, b], _) = limb.form.core();
    [DVec3::ZERO, a, b]
}

fn on_floor(figure: &Character, limb: &Limb, places: &[Placement]) -> bool {
    let Some(floor) = figure.floor else { return false };
    places.iter().all(|at| {
        let low = at.position.y - limb.form.reach(at.rotation.conjugate() * DVec3::NEG_Y);
        low < floor + TOUCHES * figure.size
    })
}

/// Whether what leads the figure goes on meanwhile.
fn moves_on(survey: &Survey, figure: &Character, i: usize, first: usize, last: usize) -> bool {
    let lead = std::iter::successors(Some(i), |&l| figure.limbs[l].parent).last().unwrap_or(i);
    let places = &survey.places(figure.limbs[lead].node)[first..=last];
    places.iter().any(|p| (p.position - places[0].position).length() > MOVES_ON * figure.size)
}
