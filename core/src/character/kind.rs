//! What a figure is, as far as names and posture tell: a human, something on four legs, another animal, or a thing.

use super::Limb;
use super::name::{Name, Part, Side};
use super::survey::Survey;
use crate::scene::Scene;
use glam::DVec3;

/// What a figure is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Two arms, two legs, upright: people, robots and monsters of their build.
    Human,
    /// Front and hind legs, or arms and legs without standing upright.
    FourLegged,
    /// Legs, but no arms.
    Legged,
    /// None of these.
    #[default]
    Thing,
}

/// What stands upright has its shoulders above its hips by at least this share of their distance in the mean of all clips.
const UPRIGHT: f64 = 0.6;

/// The kind of the figure with that number.
pub(super) fn of(scene: &Scene, survey: &Survey, limbs: &[Limb], figure: usize) -> Kind {
    let own = || limbs.iter().filter(move |l| l.figure == figure);
    let name = |l: &Limb| Name::new(&scene.nodes[l.node].name);
    // The first of each limb: shoulders and hips.
    let roots = |part: Part, side: Side| {
        own().find(|l| {
            let n = name(l);
            n.part() == Some(part) && n.side() == Some(side) && !n.has(&["wing"])
        })
    };
    let pair = |part: Part| Some([roots(part, Side::Left)?, roots(part, Side::Right)?]);
    let Some(legs) = pair(Part::Leg) else { return Kind::Thing };
    let ends = own().filter(|l| name(l).part() == Some(Part::Leg)).filter_map(|l| name(l).end());
    let ends: Vec<_> = ends.collect();
    let several = ends.iter().any(|e| *e != ends[0]);
    let Some(arms) = pair(Part::Arm).filter(|_| !several) else {
        return if several { Kind::FourLegged } else { Kind::Legged };
    };
    let places = |l: &Limb| survey.ever(l.node).iter().map(|p| p.position);
    let mean = |pair: [&Limb; 2]| -> Vec<DVec3> {
        places(pair[0]).zip(places(pair[1])).map(|(a, b)| 0.5 * (a + b)).collect()
    };
    let (shoulders, hips) = (mean(arms), mean(legs));
    let up = shoulders.iter().zip(&hips).map(|(s, h)| (*s - *h).normalize_or_zero().y);
    let upright = up.sum::<f64>() / shoulders.len().max(1) as f64;
    if upright > UPRIGHT { Kind::Human } else { Kind::FourLegged }
}
