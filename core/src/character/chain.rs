//! Limbs in chains, so that one slider drives one arm: named after what they are, and soft where they only follow.

use super::kind::Kind;
use super::name::{End, Name, Part, Side};
use super::survey::Survey;
use super::{Character, form};
use crate::scene::Scene;
use std::collections::HashMap;

/// Limbs that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// "spine", "left arm", "tail".
    pub name: String,
    /// Whether it only hangs and follows: tails, ears, hair, straps.
    pub loose: bool,
    /// Whether it is an arm that nothing stands on: it swings with what the body does.
    pub hangs: bool,
    /// Other chains that it comes close to in the clip, itself among them: they do not touch.
    pub near: Vec<String>,
}

/// An unnamed chain of at least so many limbs that ends in the air and has no twin follows.
const LONG: usize = 3;

/// Such limbs are at most this thick, as a part of the thickest.
const THIN: f64 = 0.35;

/// Chains that come closer than this part of the figure do not touch.
const NEAR: f64 = 0.02;

/// Finds the chains of a figure.
pub(super) fn find(scene: &Scene, survey: &Survey, figure: &mut Character) {
    let names: Vec<Name> = figure.limbs.iter().map(|l| Name::new(&scene.nodes[l.node].name)).collect();
    let thick = |i: usize| figure.limbs[i].form.core().1;
    let thickest = (0..names.len()).map(thick).fold(0.0, f64::max);
    let children = |i: usize| figure.limbs.iter().filter(move |l| l.parent == Some(i)).count();
    let paired: Vec<usize> =
        form::pairs(scene, &figure.limbs).into_iter().flat_map(|(a, b)| [a, b]).collect();
    let mut called: Vec<(String, bool)> = Vec::new();
    for (i, bone) in names.iter().enumerate() {
        let above = figure.limbs[i].parent.map(|p| (p, called[p].clone()));
        let own = title(bone, figure.kinds[figure.limbs[i].figure]);
        let (name, loose) = match (own, above) {
            (Some((_, true)), Some((_, (name, true)))) => (name, true),
            (Some((name, loose)), _) => (name, loose),
            (None, Some((p, (name, loose)))) if children(p) == 1 || loose => (name, loose),
            (None, Some(_)) => (scene.nodes[figure.limbs[i].node].name.to_lowercase(), false),
            (None, None) => ("body".into(), false),
        };
        called.push((name, loose));
    }
    // Chains that nobody named: thin, long, without a twin, and ending in the air.
    for end in (0..names.len()).filter(|&i| children(i) == 0) {
        let up: Vec<usize> = std::iter::successors(Some(end), |&l| figure.limbs[l].parent)
            .take_while(|&l| l == end || children(l) == 1)
            .filter(|&l| figure.limbs[l].parent.is_some())
            .collect();
        let plain = up
            .iter()
            .all(|l| names[*l].part().is_none() && !paired.contains(l) && thick(*l) < THIN * thickest);
        if up.len() >= LONG && plain && up.len() + 2 < names.len() {
            up.iter().for_each(|&l| called[l].1 = true);
        }
    }
    let mut known: HashMap<String, usize> = HashMap::new();
    for (i, (name, loose)) in called.into_iter().enumerate() {
        let name = if name.is_empty() { format!("bone {}", figure.limbs[i].node) } else { name };
        let name = match figure.names.get(figure.limbs[i].figure) {
            Some(whose) => format!("{whose} {name}"),
            None => name,
        };
        let chain = *known.entry(name.clone()).or_insert_with(|| {
            figure.chains.push(Chain { name, loose, hangs: false, near: Vec::new() });
            figure.chains.len() - 1
        });
        figure.limbs[i].chain = chain;
    }
    for (c, chain) in figure.chains.iter_mut().enumerate() {
        let mut own = figure.limbs.iter().zip(&names).filter(|(l, _)| l.chain == c);
        let stands = own.clone().any(|(l, _)| l.form.hull.is_some());
        chain.hangs = !stands && own.any(|(_, name)| name.part() == Some(Part::Arm));
    }
    find_near(survey, figure);
}

/// The chain that a bone is of by its name in a figure of that kind, and whether that is a loose one.
fn title(name: &Name, kind: Kind) -> Option<(String, bool)> {
    let side = match name.side() {
        Some(Side::Left) => "left ",
        Some(Side::Right) => "right ",
        None => "",
    };
    let (what, loose) = match name.part()? {
        // A hip that has a side and an end is a leg's.
        Part::Spine if kind != Kind::Human && name.side().is_some() && name.end() == Some(End::Hind) => {
            ("hind leg", false)
        }
        Part::Spine => return Some(("spine".into(), false)),
        Part::Head => return Some(("head".into(), false)),
        Part::Arm | Part::Leg if kind != Kind::Human && name.end() == Some(End::Front) => {
            ("front leg", false)
        }
        Part::Arm | Part::Leg if kind != Kind::Human && name.end() == Some(End::Hind) => ("hind leg", false),
        Part::Arm => ("arm", false),
        Part::Leg => ("leg", false),
        Part::Loose => ("tail", true),
        Part::End | Part::Digit | Part::Twist | Part::Helper | Part::Prop => return None,
    };
    if loose {
        return Some((name.without_side().first().map_or(what.into(), |_| loose_name(name, side)), true));
    }
    Some((format!("{side}{what}"), false))
}

/// A loose chain is called after what it is: "tail", "left ear".
fn loose_name(name: &Name, side: &str) -> String {
    let words = name.without_side();
    let what = words.iter().find(|w| Name::new(w).part() == Some(Part::Loose)).copied().unwrap_or("tail");
    format!("{side}{what}")
}

fn find_near(survey: &Survey, figure: &mut Character) {
    let moments = survey.places(figure.limbs[0].node).len();
    let count = figure.chains.len();
    let mut near = vec![false; count * count];
    (0..count).for_each(|c| near[c * count + c] = true);
    for (i, a) in figure.limbs.iter().enumerate() {
        for b in &figure.limbs[..i] {
            // Figures that come near each other touch.
            if near[a.chain * count + b.chain] || a.figure != b.figure {
                continue;
            }
            let ((ends_a, ra), (ends_b, rb)) = (a.form.core(), b.form.core());
            let (places_a, places_b) = (survey.places(a.node), survey.places(b.node));
            let close = (0..moments).any(|t| {
                let at =
                    |p: &crate::scene::Placement, ends: [glam::DVec3; 2]| ends.map(|e| super::placed(p, e));
                apart(at(&places_a[t], ends_a), at(&places_b[t], ends_b)) < ra + rb + NEAR * survey.size
            });
            near[a.chain * count + b.chain] |= close;
            near[b.chain * count + a.chain] |= close;
        }
    }
    let names: Vec<String> = figure.chains.iter().map(|c| c.name.clone()).collect();
    for (c, chain) in figure.chains.iter_mut().enumerate() {
        chain.near = (0..count).filter(|d| near[c * count + d]).map(|d| names[d].clone()).collect();
    }
}

/// How far two segments are apart (Ericson 2005, section 5.1.9).
fn apart([p1, q1]: [glam::DVec3; 2], [p2, q2]: [glam::DVec3; 2]) -> f64 {
    let (d1, d2, r) = (q1 - p1, q2 - p2, p1 - p2);
    let (a, e, f) = (d1.length_squared(), d2.length_squared(), d2.dot(r));
    let part = |x: f64, of: f64| if of > 0.0 { (x / of).clamp(0.0, 1.0) } else { 0.0 };
    let (c, b) = (d1.dot(r), d1.dot(d2));
    let mut s = part(b * f - c * e, a * e - b * b);
    let t = part(b * s + f, e);
    s = part(b * t - c, a);
    (p1 + d1 * s - p2 - d2 * t).length()
}
