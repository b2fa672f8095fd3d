//! Which bones are of one figure: those that a skin holds together, and those that hang on them. A scene can have several
//! figures, each with its own size, chains and groups.

use super::survey::Survey;
use super::{Character, Limb};
use crate::scene::Scene;
use std::collections::HashMap;

/// The number of each bone's figure, counted from 0 in the order of `bones`, parents first.
pub(super) fn number(scene: &Scene, bones: &[usize]) -> HashMap<usize, usize> {
    let mut above: HashMap<usize, usize> = bones.iter().map(|&b| (b, b)).collect();
    fn top(above: &HashMap<usize, usize>, mut bone: usize) -> usize {
        while above[&bone] != bone {
            bone = above[&bone];
        }
        bone
    }
    let mut unite = |a: usize, b: usize| {
        let [a, b] = [top(&above, a), top(&above, b)];
        above.insert(a.max(b), a.min(b));
    };
    for skin in &scene.skins {
        skin.joints.windows(2).for_each(|pair| unite(pair[0], pair[1]));
    }
    let is_bone: std::collections::HashSet<usize> = bones.iter().copied().collect();
    for &bone in bones {
        let mut parents = std::iter::successors(scene.nodes[bone].parent, |&p| scene.nodes[p].parent);
        if let Some(parent) = parents.find(|p| is_bone.contains(p)) {
            unite(bone, parent);
        }
    }
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let mut of = HashMap::new();
    for &bone in bones {
        let next = numbers.len();
        of.insert(bone, *numbers.entry(top(&above, bone)).or_insert(next));
    }
    of
}

/// What figures are called, where there are several: after what carries their first bone, or that bone.
pub(super) fn names(scene: &Scene, survey: &Survey, figure: &Character) -> Vec<String> {
    let lead = |number: usize| {
        let is = |l: &&Limb| l.parent.is_none() && survey.figure(l.node) == number;
        figure.limbs.iter().find(is).map(|l| l.node)
    };
    let carrier = |node: usize| scene.nodes[node].parent.map(|p| scene.nodes[p].name.clone());
    let own = |node: usize| Some(scene.nodes[node].name.clone());
    for name in [&carrier as &dyn Fn(usize) -> Option<String>, &own] {
        let names: Vec<String> =
            (0..survey.figures).map(|n| lead(n).and_then(name).unwrap_or_default()).collect();
        let once = |n: &String| !n.is_empty() && names.iter().filter(|m| *m == n).count() == 1;
        if names.iter().all(once) {
            return names;
        }
    }
    (1..=survey.figures).map(|n| format!("figure {n}")).collect()
}
