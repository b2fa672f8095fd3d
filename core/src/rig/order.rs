//! In which order bodies are compiled: what carries them comes first.

use super::names::resolve_node;
use crate::scene::Scene;
use crate::setup::{Setup, SetupError, Space};
use std::collections::HashMap;

/// The nodes whose bodies are guided against another than their nearest simulated ancestor, with that of the other.
pub(super) fn hung(
    scene: &Scene,
    setup: &Setup,
    bodies: &HashMap<usize, usize>,
) -> Result<HashMap<usize, usize>, SetupError> {
    let names = scene.by_name();
    let mut hung = HashMap::new();
    let mut all: Vec<(usize, usize)> = bodies.iter().map(|(&node, &b)| (b, node)).collect();
    all.sort_unstable();
    for (b, node) in all {
        let body = &setup.bodies[b];
        let Some(parent) = &body.guide.parent else { continue };
        let place = format!("bodies[{b}] {}.guide.parent", scene.label(node));
        if body.guide.space != Space::Parent {
            return Err(SetupError::new(place, "means nothing without \"space\": \"parent\"; remove one"));
        }
        let other = resolve_node(scene, &names, parent, &place)?;
        // What is not simulated, for want of detail, has its nearest simulated ancestor stand for it.
        let simulated = |n: &usize| bodies.get(n).is_some_and(|&b| setup.bodies[b].behaviour.simulated());
        let above = std::iter::successors(Some(other), |&p| scene.nodes[p].parent).find(simulated);
        hung.extend(above.map(|above| (node, above)));
    }
    Ok(hung)
}

/// The simulated nodes with their bodies, parents first; what hangs on one that hangs on none comes before the next of these, so
/// that the numbers of a figure lie side by side. `hung`: what hangs on another than its nearest simulated ancestor.
pub(super) fn figure_by_figure(
    scene: &Scene,
    setup: &Setup,
    bodies: &HashMap<usize, usize>,
    hung: &HashMap<usize, usize>,
) -> Result<Vec<(usize, usize)>, SetupError> {
    let simulated = |node: &usize| bodies.get(node).is_some_and(|&b| setup.bodies[b].behaviour.simulated());
    let ancestors = |node: usize| std::iter::successors(scene.nodes[node].parent, |&p| scene.nodes[p].parent);
    let mut figure: HashMap<usize, usize> = HashMap::new();
    let mut all: Vec<(usize, (usize, usize))> = Vec::with_capacity(bodies.len());
    for node in scene.parents_first().into_iter().filter(simulated) {
        // What it hangs on comes before it, and what that hangs on.
        let mut waiting = vec![node];
        while let Some(&next) = waiting.last() {
            let above = ancestors(next).find(&simulated);
            let on = hung.get(&next).copied().or(above);
            match [on, above].into_iter().flatten().find(|n| !figure.contains_key(n)) {
                _ if figure.contains_key(&next) => drop(waiting.pop()),
                Some(first) if waiting.contains(&first) => {
                    let why = format!(
                        "{} hangs on {}, and that on it; remove one \"parent\"",
                        scene.label(next),
                        scene.label(first)
                    );
                    return Err(SetupError::new("guide.parent", why));
                }
                Some(first) => waiting.push(first),
                None => {
                    let own = on.map_or(all.len(), |on| figure[&on]);
                    figure.insert(next, own);
                    all.push((own, (next, bodies[&next])));
                }
            }
        }
    }
    all.sort_by_key(|(figure, _)| *figure);
    Ok(all.into_iter().map(|(_, solid)| solid).collect())
}
