//! What every body hangs on: the nearest body above it, or, where keys let it wander there, the limb that it ends.
//!
//! Feet and hands on IK bones are keyed beside the limbs that reach for them: below the armature, or below a root. What tells
//! their limb is that they stay at one point of it in all clips, near its flesh.

use super::flesh::Flesh;
use super::survey::Survey;
use crate::scene::Scene;
use glam::DVec3;
use std::collections::HashMap;

/// What a bone that is a body hangs on.
pub(super) struct Link {
    pub(super) bone: usize,
    /// The bone of the body that it hangs on; none for what leads.
    pub(super) on: Option<usize>,
    /// Whether that is no ancestor.
    pub(super) beside: bool,
    /// Whether keys move it along that.
    pub(super) slides: bool,
}

/// A bone whose origin wanders on what it hangs on by more than this part of the figure's size is held at a point that moves.
const SLIDES: f64 = 0.001;

/// A bone that wanders on the body above it by more than this part of the figure's size may be held by another...
const LOOSE: f64 = 0.01;
/// ...on which it wanders by less than this part of the size in the mean,
const STAYS: f64 = 0.05;
/// and by less than this share of what it does on that above,
const BETTER: f64 = 0.5;
/// at a point that is within this part of the size of the other's flesh.
const NEAR: f64 = 0.08;

/// How much a distance from the flesh counts beside as much wandering.
const APART: f64 = 0.25;

/// Finds what each of `bodies`, which come parents first, hangs on. What a body hangs on comes before it.
pub(super) fn hang(scene: &Scene, survey: &Survey, flesh: &Flesh, bodies: &[usize]) -> Vec<Link> {
    let mut on: HashMap<usize, Option<usize>> = HashMap::new();
    for &bone in bodies {
        on.insert(bone, survey.above(scene, bone).find(|p| on.contains_key(p)));
    }
    let above = on.clone();
    let leads = leads(survey, flesh, bodies, &on);
    for &bone in bodies.iter().filter(|b| !leads.contains(b)) {
        let own = above[&bone].map(|p| survey.wanders(p, bone));
        if own.is_some_and(|(_, most, _)| most <= LOOSE * survey.size) {
            continue;
        }
        let below = |c: usize| std::iter::successors(Some(c), |c| on[c]).any(|c| c == bone);
        let fits =
            |&&c: &&usize| survey.figure(c) == survey.figure(bone) && Some(c) != above[&bone] && !below(c);
        let mut best: Option<(f64, usize)> = None;
        for &host in bodies.iter().filter(fits) {
            let (mean, _, point) = survey.wanders(host, bone);
            let near = from_flesh(flesh, host, point);
            let stays = mean < STAYS * survey.size && near < NEAR * survey.size;
            let better = own.is_none_or(|(of_own, _, _)| mean < BETTER * of_own);
            let score = mean + APART * near;
            if stays && better && best.is_none_or(|(least, _)| score < least) {
                best = Some((score, host));
            }
        }
        if let Some((_, host)) = best {
            on.insert(bone, Some(host));
        }
    }
    let mut links: Vec<Link> = Vec::with_capacity(bodies.len());
    let mut placed = std::collections::HashSet::new();
    while links.len() < bodies.len() {
        for &bone in bodies {
            if placed.contains(&bone) || on[&bone].is_some_and(|p| !placed.contains(&p)) {
                continue;
            }
            let slides = on[&bone].is_some_and(|p| survey.wanders(p, bone).1 > SLIDES * survey.size);
            links.push(Link { bone, on: on[&bone], beside: on[&bone] != above[&bone], slides });
            placed.insert(bone);
        }
    }
    links
}

/// What leads each figure: of the bodies that hang on none, the one that has most flesh below it.
fn leads(survey: &Survey, flesh: &Flesh, bodies: &[usize], on: &HashMap<usize, Option<usize>>) -> Vec<usize> {
    let mut below: HashMap<usize, f64> = HashMap::new();
    for &bone in bodies {
        let top = std::iter::successors(Some(bone), |b| on[b]).last().unwrap_or(bone);
        *below.entry(top).or_default() += flesh.share(bone);
    }
    let lead = |figure: usize| {
        let tops = bodies.iter().filter(|b| on[b].is_none() && survey.figure(**b) == figure);
        let more = |a: &usize, b: &usize| if below[b] > below[a] { *b } else { *a };
        tops.copied().reduce(|a, b| more(&a, &b))
    };
    (0..survey.figures).filter_map(lead).collect()
}

/// How far a point of a bone's frame is from its flesh, and from its origin if that is nearer.
fn from_flesh(flesh: &Flesh, bone: usize, point: DVec3) -> f64 {
    let near = |p: &DVec3| (*p - point).length_squared();
    flesh.points(bone).iter().map(near).fold(point.length_squared(), f64::min).sqrt()
}
