//! Slots: bones at which a file keeps several things of which one is meant to be shown, a sword or an axe or a staff.

use super::name::{Name, Part};
use crate::scene::Scene;
use glam::DVec3;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Of the rigid meshes that bones carry, those that are in the place of a larger one at the same slot.
pub(super) fn alternatives(
    scene: &Scene,
    is_bone: &HashSet<usize>,
    rigid: &[usize],
    vertices: &HashMap<usize, Vec<DVec3>>,
) -> Vec<usize> {
    let bones = |node: usize| {
        std::iter::successors(scene.nodes[node].parent, |&p| scene.nodes[p].parent)
            .filter(|p| is_bone.contains(p))
    };
    let mut slots: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &node in rigid {
        let mut above = bones(node);
        if let Some(slot) = above.next().filter(|&bone| is_slot(scene, bone, above.next())) {
            slots.entry(slot).or_default().push(node);
        }
    }
    let mut out = Vec::new();
    for (_, nodes) in slots {
        let mut boxes: Vec<(usize, [DVec3; 2])> =
            nodes.iter().filter_map(|&n| Some((n, bounds(vertices.get(&n)?)?))).collect();
        let extent = |b: &[DVec3; 2]| (b[1] - b[0]).length();
        boxes.sort_by(|a, b| extent(&b.1).total_cmp(&extent(&a.1)).then(a.0.cmp(&b.0)));
        let mut kept: Vec<[DVec3; 2]> = Vec::new();
        for (node, own) in boxes {
            let meets = |k: &[DVec3; 2]| own[0].cmple(k[1]).all() && k[0].cmple(own[1]).all();
            match kept.iter().any(meets) {
                true => out.push(node),
                false => kept.push(own),
            }
        }
    }
    out
}

/// Whether a bone is one, by its name or as what a hand holds.
fn is_slot(scene: &Scene, bone: usize, above: Option<usize>) -> bool {
    let name = |n: usize| Name::new(&scene.nodes[n].name);
    let held = above.is_some_and(|p| name(p).has(&["hand", "wrist", "palm"]));
    match name(bone).part() {
        Some(Part::Prop) => true,
        None => held,
        _ => false,
    }
}

fn bounds(points: &[DVec3]) -> Option<[DVec3; 2]> {
    let finite = points.iter().copied().filter(|p| p.is_finite());
    finite.map(|p| [p, p]).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
}
