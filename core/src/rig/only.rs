//! Which of the simulated bodies are written back.

use super::Solid;
use crate::scene::Scene;
use crate::setup::{Setup, SetupError, nearest};
use std::collections::HashMap;

/// Marks the solids that `bake.only` names; all of them where it names none. `bodies`: set-up body by node.
pub fn choose(
    scene: &Scene,
    setup: &Setup,
    bodies: &HashMap<usize, usize>,
    solids: &mut [Solid],
) -> Result<(), SetupError> {
    let only = &setup.bake.only;
    solids.iter_mut().for_each(|s| s.baked = only.is_empty());
    for (i, wish) in only.iter().enumerate() {
        let mut found = false;
        for solid in solids.iter_mut() {
            let groups = &setup.bodies[bodies[&solid.node]].groups;
            let named = fits(wish, &scene.nodes[solid.node].name) || *wish == format!("#{}", solid.node);
            if named || groups.iter().any(|g| fits(wish, g)) {
                (solid.baked, found) = (true, true);
            }
        }
        if !found {
            let names = solids.iter().map(|s| scene.nodes[s.node].name.as_str());
            let names = names.chain(setup.groups.iter().map(|g| g.name.as_str()));
            let remedy = match (nearest(wish, names), scene.find(wish)) {
                (_, Some(_)) => "it is in the scene, but not simulated; give it a body".to_string(),
                (Some(m), None) => format!("did you mean \"{m}\"?"),
                (None, None) => "see `sinew inspect` for the names".to_string(),
            };
            return Err(SetupError::new(
                format!("bake.only[{i}]"),
                format!("nothing that is simulated is called \"{wish}\"; {remedy}"),
            ));
        }
    }
    Ok(())
}

/// Whether a name is what a wish says, `*` standing for any letters.
pub(super) fn fits(wish: &str, name: &str) -> bool {
    let mut parts = wish.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_letters() {
        for (wish, name) in [
            ("Tail", "Tail"),
            ("Tail*", "Tail"),
            ("*.L", "Ear.L"),
            ("b_*_0?", "b_x_0?"),
            ("*", ""),
            ("a*b*c", "aXbYbZc"),
        ] {
            assert!(fits(wish, name), "{wish} {name}");
        }
        for (wish, name) in
            [("Tail", "Tail.1"), ("", "x"), ("*.L", "Ear.R"), ("ab*ba", "aba"), ("a*b*c", "acb")]
        {
            assert!(!fits(wish, name), "{wish} {name}");
        }
    }
}
