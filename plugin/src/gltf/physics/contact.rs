//! How a collider touches: its material and its filter.

use super::{KHR_BODY, OMI_BODY, Reader, index, number};
use serde_json::Value;
use sinew_core::setup::{Body, Contact};
use std::collections::HashSet;

impl Reader<'_> {
    /// What the collider on a node says of touching.
    pub(super) fn contact(&mut self, node: usize) -> Contact {
        let extensions = self.extensions(node);
        let khronos = &extensions[KHR_BODY]["collider"];
        let (collider, family) = match khronos.is_object() {
            true => (khronos, KHR_BODY),
            false => (&extensions[OMI_BODY]["collider"], OMI_BODY),
        };
        let root = &self.json["extensions"][family];
        let of =
            |list: &str, key: &str| index(&collider[key]).map(|i| &root[list][i]).filter(|v| v.is_object());
        let (material, filter) =
            (of("physicsMaterials", "physicsMaterial"), of("collisionFilters", "collisionFilter"));
        let mut contact = Contact::default();
        if let Some(material) = material {
            let positive = |key: &str| number(&material[key]).filter(|v| *v >= 0.0);
            contact.friction = positive("dynamicFriction");
            contact.grip = positive("staticFriction").map(|s| s.max(contact.friction.unwrap_or(0.5)));
            contact.grip = contact.grip.filter(|g| contact.friction != Some(*g));
            contact.bounce = positive("restitution").map(|b| b.min(1.0));
            let combines =
                |key: &str, ours: [&str; 2]| material[key].as_str().is_some_and(|m| !ours.contains(&m));
            if combines("frictionCombine", ["average", "average"])
                || combines("restitutionCombine", ["average", "maximum"])
            {
                self.note(
                    "combine modes are left out: of two that touch, frictions have their mean, and the larger restitution counts",
                    node,
                );
            }
        }
        if let Some(filter) = filter {
            let names = |key: &str| {
                let list = filter[key].as_array()?;
                Some(list.iter().filter_map(|v| v.as_str().map(String::from)).collect::<Vec<_>>())
            };
            contact.layers = names("collisionSystems").unwrap_or_default();
            contact.layers.dedup();
            contact.touches = names("collideWithSystems");
            if let (None, Some(not)) = (&contact.touches, names("notCollideWithSystems")) {
                contact.touches = Some(self.systems(&not));
            }
            if contact.touches.as_ref().is_some_and(Vec::is_empty) {
                (contact.touches, contact.collide) = (None, Some(false));
            }
        }
        contact
    }

    /// Every collision system of the document but these.
    fn systems(&self, but: &[String]) -> Vec<String> {
        let lists = [KHR_BODY, OMI_BODY]
            .into_iter()
            .flat_map(|f| self.json["extensions"][f]["collisionFilters"].as_array().into_iter().flatten());
        let mut found: Vec<String> = Vec::new();
        for name in lists.filter_map(|f| f["collisionSystems"].as_array()).flatten().filter_map(Value::as_str)
        {
            if !found.iter().any(|f| f == name) && !but.iter().any(|b| b == name) {
                found.push(name.into());
            }
        }
        found
    }
}

/// Leaves out of `touches` what nothing is in: a set-up refuses such names.
pub(super) fn clean(bodies: &mut [Body]) {
    let layers: HashSet<String> = bodies.iter().flat_map(|b| b.contact.layers.iter().cloned()).collect();
    for contact in bodies.iter_mut().map(|b| &mut b.contact) {
        if let Some(touches) = &mut contact.touches {
            touches.retain(|name| layers.contains(name));
        }
    }
}
