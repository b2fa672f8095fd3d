//! Joints as an animator writes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that holds two objects together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Joint {
    /// What messages call it. Default: the names of what it joins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it holds and what it leaves free.
    pub kind: JointKind,
    /// The two objects, by name or `#index`; `world` for the ground. Objects that are not simulated hold still, or
    /// move as keyed, whatever pulls at them.
    pub between: [String; 2],
    /// The node at whose origin the joint is, or one node for each side: where these are apart, the joint is open
    /// and closes. Default: the origin of the second object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// Its main axis, in the world, as the scene is at the first frame. Default: the x axis of `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// `distance` and `rope`: the length, scene units. Default: the distance at the first frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
}

/// Where a joint is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum At {
    /// At one node's origin.
    Node(String),
    /// At one node's origin on each side.
    Nodes([String; 2]),
}

/// What a joint holds and what it leaves free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JointKind {
    /// A point on a point: a ball joint.
    Universal,
    /// A hinge about the main axis.
    Pin,
    /// Turns about and slides along the main axis.
    Cylindrical,
    /// Slides along the main axis.
    Prismatic,
    /// A point on the line of the main axis.
    BallSocket,
    /// A point on the plane across the main axis.
    SmoothContact,
    /// Face on face, across the main axis.
    Plane,
    /// Nothing moves.
    Fixed,
    /// A rod between two points.
    Distance,
    /// At most so far apart.
    Rope,
}
