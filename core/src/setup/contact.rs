//! How an object touches others: whether, with which friction, and with a soft skin or none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an object touches others. Of two that touch count the geometric mean of their frictions and the larger bounce.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Contact {
    /// Whether anything touches it. Default: yes for a body with a mesh of its own or a shape with a size, no for bones
    /// and empties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collide: Option<bool>,
    /// Coulomb's coefficient while it slides, 0 or more. Default 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub friction: Option<f64>,
    /// The same while it does not slide yet, at least `friction`. Default: as `friction`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grip: Option<f64>,
    /// Share of the speed of a hit with which it parts again, 0 to 1. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounce: Option<f64>,
    /// Rolling friction: the length by which the pressure is ahead of a rolling thing, m. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling: Option<f64>,
    /// Layers that it is in, by names of your own; at most 63 in a set-up. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// Layers that it touches. Two objects touch where each touches a layer of the other. Default: everything, and also
    /// what is in no layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touches: Option<Vec<String>>,
    /// Layers that it passes through, whatever it touches otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<String>,
    /// Nodes that it never touches, by name or `#index`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignores: Vec<String>,
    /// Height of the floor for it, scene units, in place of the world's: what keys take below that, or bring so near to it that it
    /// would catch, has a lower one. Default: the world's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// A soft skin. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coating: Option<Coating>,
}

impl Contact {
    /// Whether nothing is written here.
    pub fn is_default(&self) -> bool {
        *self == Contact::default()
    }
}

/// A soft skin: an elastic layer on the rigid shape, inside its surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Coating {
    /// How deep it is, scene units; a push goes no further. Default: a fifth of the shape's smallest extent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thickness: Option<f64>,
    /// Pressure per depth, Pa/m. Default: what lets the body sink in by a twentieth of the thickness under its own weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stiffness: Option<f64>,
    /// Share of critical damping, 0 to 1. Default 0.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
}
