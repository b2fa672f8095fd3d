//! Joints as an animator writes them.

use super::Keyable;
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
    /// Its frames, one in each object's own space, instead of `at` and `axis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<[JointFrame; 2]>,
    /// Whether the point of the first object at which it holds the second moves as keyed: for bones that stretch or slide. Of
    /// `universal` joints between two nodes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keyed_anchor: bool,
    /// Its main axis, in the world, as the scene is at the first frame. Default: the x axis of `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// `distance` and `rope`: the length; `inside_sphere`: the radius; scene units. Default: the distance at the first
    /// frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
    /// `screw`: how far one turn carries, scene units; negative for a left-handed thread. Default 0.01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pitch: Option<f64>,
    /// `inside_box`: the sides of the box along the joint's axes, scene units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<[f64; 3]>,
    /// `segment` and `curve`: the points it runs through, in the first object's space, scene units. Two make a segment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<[f64; 3]>,
    /// `curve`: whether it runs back to its first point.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// `surface`: the node whose mesh it is; it moves with the first object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// Sliding along the main axis, scene units: limits, rest, spring. `screw`: limits only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slide: Option<Direction>,
    /// Turning about the main axis, degrees: limits, rest, spring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_deg: Option<Direction>,
    /// Tilting the main axis, for joints that leave all rotations free: how far, and what brings it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swing_deg: Option<Swing>,
    /// Makes what the joint holds give way like a spring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub give: Option<Give>,
    /// Breaks under more than this, N.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_force: Option<f64>,
    /// Breaks under more than this, N m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_torque: Option<f64>,
    /// Whether the two touch each other, too. Default: what is joined passes through each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collide: bool,
    /// Whether it holds: 1, or 0 to let go. Keyable. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Keyable>,
    /// When it is switched on, it holds the two as they are then, instead of pulling them to where they were at the
    /// first frame.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grab: bool,
}

impl Joint {
    /// A joint of a kind at the origin of the second object, everything else by default.
    pub fn new(kind: JointKind, between: [&str; 2]) -> Joint {
        Joint {
            name: None,
            kind,
            between: between.map(String::from),
            at: None,
            frames: None,
            keyed_anchor: false,
            axis: None,
            length: None,
            pitch: None,
            size: None,
            points: Vec::new(),
            closed: false,
            mesh: None,
            slide: None,
            turn_deg: None,
            swing_deg: None,
            give: None,
            break_force: None,
            break_torque: None,
            collide: false,
            on: None,
            grab: false,
        }
    }
}

/// A frame in the space of an object.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JointFrame {
    /// Its origin, scene units.
    #[serde(default)]
    pub position: [f64; 3],
    /// Its rotation, a quaternion x, y, z, w. The main axis is its x axis.
    #[serde(default = "no_rotation")]
    pub rotation: [f64; 4],
}

fn no_rotation() -> [f64; 4] {
    [0.0, 0.0, 0.0, 1.0]
}

/// What happens along, or about, the main axis where the joint leaves it free. Degrees where it turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Least and most, from where the two frames meet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<[f64; 2]>,
    /// Where it is held: exactly, or by the spring if there is one. Keyable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Keyable>,
    /// Of the spring to `rest`: N/m, or N m/rad. Keyable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stiffness: Option<Keyable>,
    /// Of the spring: N s/m, or N m s/rad. Keyable. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damping: Option<Keyable>,
    /// The most that the spring, or the hold, pulls: N, or N m. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<f64>,
}

/// How far the main axis tilts, and what brings it back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Swing {
    /// Half the opening of the cone about y and about z: an ellipse. Each above 0 and below 180.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cone: Option<[f64; 2]>,
    /// Of the spring to the middle, N m/rad. Keyable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stiffness: Option<Keyable>,
    /// N m s/rad. Keyable. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damping: Option<Keyable>,
}

/// How what a joint holds gives way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Give {
    /// N/m. Keyable. Default: does not give way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stiffness: Option<Keyable>,
    /// N s/m. Keyable. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damping: Option<Keyable>,
    /// N m/rad, for rotations that it holds. Keyable. Default: does not give way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_stiffness: Option<Keyable>,
    /// N m s/rad. Keyable. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_damping: Option<Keyable>,
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
    /// Turns about the main axis and slides along it by as much as it turns.
    Screw,
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
    /// A point between two points of the first object.
    Segment,
    /// A point on a curve of the first object.
    Curve,
    /// A point on the surface of the first object.
    Surface,
    /// A point inside a ball around the joint.
    InsideSphere,
    /// A point inside a box around the joint.
    InsideBox,
}
