//! The shapes that bodies have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body's shape; sizes left out are fitted to the node's mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// Mass: of the mesh itself when it is closed, else of the tightest of box, ball, capsule and cylinder. Touches: as
    /// the primitive that the mesh is, else its hull if it is convex, else convex parts; an obstacle as its triangles.
    Auto {},
    /// The mesh itself; a simulated body's must be closed, and touches with its hull or with convex parts.
    Mesh {},
    /// The convex hull of the mesh; of a bone, the hull of the skin's vertices that follow it.
    Hull {},
    /// The mesh cut into convex parts.
    Parts {},
    /// A box along the node's axes.
    Box {
        /// Edge lengths.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<[f64; 3]>,
    },
    /// A ball.
    Sphere {
        /// Radius.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        radius: Option<f64>,
    },
    /// A cylinder with round ends, along the node's longest axis (Y when given).
    Capsule {
        /// Radius.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        radius: Option<f64>,
        /// Length between the centres of the round ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<f64>,
    },
    /// A cylinder, along the node's longest axis (Y when given).
    Cylinder {
        /// Radius.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        radius: Option<f64>,
        /// Length between the flat ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<f64>,
    },
    /// A cone about the node's origin, its tip towards Y; fitted to a mesh, along whichever axis the mesh has its tip.
    Cone {
        /// Radius of the base.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        radius: Option<f64>,
        /// Length from the base to the tip.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<f64>,
    },
    /// Everything below the node's XZ plane, without end. For `static` and `animated` bodies.
    Plane {},
    /// Ground: heights over the node's XZ plane, or the mesh if it is one. For `static` and `animated` bodies.
    HeightField {
        /// Rows along Z of heights along X, scene units; at least two of each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        heights: Vec<Vec<f64>>,
        /// Extent along X and Z, scene units, the node in the middle.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<[f64; 2]>,
    },
    /// Several shapes as one. Where two overlap, the mass counts twice.
    Compound {
        /// The shapes.
        parts: Vec<Part>,
    },
}

impl Default for Shape {
    fn default() -> Self {
        Shape::Auto {}
    }
}

/// One shape of a compound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The shape.
    pub shape: Shape,
    /// Where its origin is, in the node's axes, scene units.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at: [f64; 3],
    /// How it is turned: about X, then about Y, then about Z, degrees.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn_deg: [f64; 3],
}

fn is_zero(v: &[f64; 3]) -> bool {
    *v == [0.0; 3]
}
