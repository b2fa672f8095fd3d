//! Names of a set-up as nodes of a scene.

use crate::scene::{Local, Scene};
use crate::setup::{self, Setup, SetupError};
use std::collections::HashMap;

/// The node that a set-up means by a name or `#index`; `names` from [`Scene::by_name`].
pub fn resolve_node(
    scene: &Scene,
    names: &HashMap<&str, Vec<usize>>,
    name: &str,
    place: &str,
) -> Result<usize, SetupError> {
    if let Some(index) = name.strip_prefix('#').and_then(|n| n.parse::<usize>().ok()) {
        return match index < scene.nodes.len() {
            true => Ok(index),
            false => Err(SetupError::new(
                place,
                format!("the scene has no node {name}; it has {}", scene.nodes.len()),
            )),
        };
    }
    match names.get(name).map(Vec::as_slice) {
        Some([only]) => Ok(*only),
        Some([a, b, ..]) => Err(SetupError::new(
            place,
            format!(
                "the scene has several nodes called \"{name}\"; write \"#{a}\" or \"#{b}\" for the one you mean"
            ),
        )),
        _ => {
            let meant =
                setup::nearest(name, scene.nodes.iter().map(|n| n.name.as_str()).filter(|n| !n.is_empty()));
            let remedy = meant
                .map_or("see `sinew inspect` for the names".into(), |m| format!("did you mean \"{m}\"?"));
            Err(SetupError::new(place, format!("the scene has no node called \"{name}\"; {remedy}")))
        }
    }
}

/// The set-up body of each node that has one.
pub(super) fn resolve_bodies(scene: &Scene, setup: &Setup) -> Result<HashMap<usize, usize>, SetupError> {
    let names = scene.by_name();
    let mut bodies = HashMap::new();
    for (b, body) in setup.bodies.iter().enumerate() {
        let place = format!("bodies[{b}].node");
        let node = resolve_node(scene, &names, &body.node, &place)?;
        if let Some(other) = bodies.insert(node, b) {
            return Err(SetupError::new(
                place,
                format!("{} is already bodies[{other}]; keep one", scene.label(node)),
            ));
        }
        if body.behaviour.simulated() && matches!(scene.nodes[node].local, Local::Matrix(_)) {
            return Err(SetupError::new(
                place,
                format!(
                    "{} has a sheared matrix, which no curve can move; simulate its parent, or apply the shear to the mesh",
                    scene.label(node)
                ),
            ));
        }
    }
    Ok(bodies)
}
