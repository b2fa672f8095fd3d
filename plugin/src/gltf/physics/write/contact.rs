//! Materials and filters of colliders.

use super::Writer;
use super::tree::at;
use serde_json::{Value, json};
use sinew_core::setup::Contact;

impl Writer<'_> {
    /// How a body touches, said so that it need not be told what else the set-up says.
    pub(super) fn contact_of(&self, node: usize, body: usize) -> Contact {
        let mut contact = self.setup.bodies[body].contact.clone();
        let touches = self.rig.colliders.all.iter().any(|c| c.node == node);
        contact.collide = (!touches).then_some(false);
        contact
    }

    /// Adds to a collider what it is made of and what it touches.
    pub(super) fn contact(&mut self, contact: &Contact, collider: &mut Value) {
        let family = self.dialect.extension();
        if contact.friction.is_some() || contact.grip.is_some() || contact.bounce.is_some() {
            let mut material = json!({});
            let friction = contact.friction.or(contact.grip.map(|_| 0.5));
            for (key, value) in [
                ("staticFriction", contact.grip.or(friction)),
                ("dynamicFriction", friction),
                ("restitution", contact.bounce),
            ] {
                if let Some(value) = value {
                    *at(&mut material, key) = json!(value);
                }
            }
            *at(collider, "physicsMaterial") = json!(self.listed(family, "physicsMaterials", material));
        }
        let mut filter = json!({});
        if !contact.layers.is_empty() {
            *at(&mut filter, "collisionSystems") = json!(contact.layers);
        }
        if contact.collide == Some(false) {
            *at(&mut filter, "collideWithSystems") = json!([]);
        } else if let Some(touches) = &contact.touches {
            *at(&mut filter, "collideWithSystems") = json!(touches);
        }
        if filter != json!({}) {
            *at(collider, "collisionFilter") = json!(self.listed(family, "collisionFilters", filter));
        }
    }

    /// Notes what materials and filters have no words for.
    pub(super) fn note_contact(&mut self, node: usize, contact: &Contact) {
        for (what, there) in [
            ("`rolling` is left out", contact.rolling.is_some()),
            ("`ignores` are left out: filters are by system", !contact.ignores.is_empty()),
            ("`coating` is left out", contact.coating.is_some()),
        ] {
            if there {
                self.note_body(what, node);
            }
        }
    }
}
