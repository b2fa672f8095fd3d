//! Shapes of bodies: a collider's form, where it is in the body, and what it would weigh.

use super::{Dialect, KHR_BODY, KHR_SHAPE, OMI_BODY, OMI_SHAPE, Reader, index, number, vector};
use glam::{DMat3, DQuat, DVec3, EulerRot};
use serde_json::Value;
use sinew_core::scene::Placement;
use sinew_core::setup::{Part, Shape};
use sinew_core::shape::{Kind, MassProperties, Primitive, tightest};
use std::collections::HashMap;

/// Directions closer to an axis than this lie on it: rotations in files have six digits.
const ALONG: f64 = 1e-5;

/// One collider of a body, in the frame of the body.
pub(crate) struct Lump {
    /// The node that it is on.
    pub node: usize,
    /// Its kind and sizes; a set-up's capsules and cylinders stand along y.
    pub shape: Shape,
    /// Filled with density 1, so that mass is volume.
    pub filled: MassProperties,
    /// Where its middle is, and how it is turned.
    pub at: Placement,
    /// Whether it stands for a mesh that a set-up cannot name.
    pub is_rough: bool,
}

/// What is said of such a mesh.
pub(crate) const ROUGH: &str =
    "a mesh as the collider of another node counts as the tightest of box, ball, capsule and cylinder";

/// The shape of a body with these colliders, of which there is at least one.
pub(crate) fn shape_of(lumps: &[Lump]) -> Shape {
    if let [only] = lumps
        && only.at.position.length() <= 1e-9
        && only.at.rotation == DQuat::IDENTITY
    {
        return only.shape.clone();
    }
    let part = |l: &Lump| {
        let (z, y, x) = l.at.rotation.to_euler(EulerRot::ZYX);
        let turn_deg = match l.at.rotation == DQuat::IDENTITY {
            true => [0.0; 3],
            false => [x, y, z].map(f64::to_degrees),
        };
        Part { shape: l.shape.clone(), at: l.at.position.to_array(), turn_deg }
    };
    Shape::Compound { parts: lumps.iter().map(part).collect() }
}

/// What a collider is.
pub(crate) enum Form {
    /// Along y, at the origin.
    Primitive(Kind),
    /// The mesh of that index, and whether its hull is meant.
    Mesh(usize, bool),
    /// Everything below y = 0.
    Plane,
}

impl Reader<'_> {
    /// The colliders of every body, by its node; those that belong to none are at their own.
    pub(crate) fn colliders(&mut self) -> HashMap<usize, Vec<Lump>> {
        let mut found: HashMap<usize, Vec<Lump>> = HashMap::new();
        for node in 0..self.scene.nodes.len() {
            let extensions = self.extensions(node);
            let (omi, khronos) = (&extensions[OMI_BODY], &extensions[KHR_BODY]);
            let is_trigger =
                omi["trigger"].is_object() || omi["type"] == "trigger" || khronos["trigger"].is_object();
            let has_volume = extensions["OMI_physics_gravity"].is_object();
            let solid = khronos["collider"].is_object()
                || omi["collider"].is_object()
                || extensions[OMI_SHAPE].is_object();
            for (what, there) in
                [("triggers are left out", is_trigger), ("gravity in a volume is left out", has_volume)]
            {
                if there {
                    self.note(what, node);
                }
            }
            if is_trigger || !solid {
                continue;
            }
            let body = self.owner[node].unwrap_or(node);
            let lumps = found.entry(body).or_default();
            if let Some(lump) = self.form_of(node).and_then(|form| self.lump(body, node, form)) {
                lumps.push(lump);
            }
        }
        found
    }

    /// The form of a node's collider. What has none that is known is noted.
    fn form_of(&mut self, node: usize) -> Option<Form> {
        let (form, is_tapered) = self.form_and_taper(node);
        if is_tapered {
            self.note("tapered shapes count with their mean radius", node);
        }
        if self.has_wrong_size(node) {
            self.note("a size that is not a number is taken as if it were not said", node);
        }
        if form.is_none() {
            self.note("a shape that is not known here, or has no size, is left out", node);
        }
        form
    }

    /// Whether the shape of a node's collider has a size that is not numbers.
    fn has_wrong_size(&self, node: usize) -> bool {
        fn wrong(value: &Value) -> bool {
            match value {
                Value::Array(items) => items.iter().any(wrong),
                Value::Object(map) => {
                    map.iter().any(|(key, v)| !["extras", "extensions"].contains(&key.as_str()) && wrong(v))
                }
                Value::Number(n) => n.as_f64().is_none(),
                Value::Bool(_) => false,
                _ => true,
            }
        }
        let (root, own) = (&self.json["extensions"], self.extensions(node));
        let khronos =
            index(&own[KHR_BODY]["collider"]["geometry"]["shape"]).map(|i| &root[KHR_SHAPE]["shapes"][i]);
        let omi = index(&own[OMI_BODY]["collider"]["shape"]).or_else(|| index(&own[OMI_SHAPE]["shape"]));
        let shape = khronos.or_else(|| omi.map(|i| &root[OMI_SHAPE]["shapes"][i]));
        let sizes = shape.and_then(|s| s["type"].as_str().map(|kind| &s[kind]));
        sizes.is_some_and(|sizes| !sizes.is_null() && wrong(sizes))
    }

    /// The form of a node's collider, and whether its ends differ in radius.
    pub(crate) fn form_and_taper(&self, node: usize) -> (Option<Form>, bool) {
        let root = &self.json["extensions"];
        let extensions = self.extensions(node);
        let khronos = &extensions[KHR_BODY]["collider"];
        let (shape, dialect) = if khronos.is_object() {
            // The geometry was once the collider itself.
            let geometry = if khronos["geometry"].is_object() { &khronos["geometry"] } else { khronos };
            let of_node = self.node(&geometry["node"]).and_then(|n| self.scene.nodes[n].mesh);
            if let Some(mesh) = index(&geometry["mesh"]).or(of_node) {
                return (Some(Form::Mesh(mesh, geometry["convexHull"] == true)), false);
            }
            (index(&geometry["shape"]).map(|i| &root[KHR_SHAPE]["shapes"][i]), Dialect::Khronos)
        } else {
            let omi = index(&extensions[OMI_BODY]["collider"]["shape"]);
            let shape = omi.or_else(|| index(&extensions[OMI_SHAPE]["shape"]));
            (shape.map(|i| &root[OMI_SHAPE]["shapes"][i]), Dialect::Omi)
        };
        shape.map_or((None, false), |shape| form(shape, dialect))
    }

    /// A collider in the frame of its body.
    pub(crate) fn lump(&mut self, body: usize, node: usize, form: Form) -> Option<Lump> {
        self.lump_turned(body, node, form, &DMat3::IDENTITY)
    }

    /// The same, turned within its node.
    pub(crate) fn lump_turned(&mut self, body: usize, node: usize, form: Form, turn: &DMat3) -> Option<Lump> {
        let frame = self.pose.placement(body);
        let world = *self.pose.world(node);
        let back = frame.rotation.inverse();
        let origin = back * (world.translation - frame.position);
        let linear = DMat3::from_quat(back) * world.matrix3 * *turn;
        let kind = match form {
            Form::Mesh(mesh, _) => {
                let points = &self.scene.meshes.get(mesh).filter(|m| !m.positions.is_empty())?.positions;
                let points: Vec<DVec3> = points.iter().map(|p| linear * *p + origin).collect();
                let fitted = tightest(&points);
                let filled = fitted.mass_properties(1.0);
                // Its own mesh is weighed exactly, where it is closed.
                if body == node && self.scene.nodes[body].mesh == Some(mesh) {
                    return Some(Lump {
                        node,
                        shape: Shape::Auto {},
                        filled,
                        at: Placement::IDENTITY,
                        is_rough: false,
                    });
                }
                let rotation = match fitted.kind {
                    Kind::Capsule(axis, ..) | Kind::Cylinder(axis, ..) if axis != 1 => {
                        DQuat::from_rotation_arc(DVec3::Y, DVec3::AXES[axis])
                    }
                    _ => DQuat::IDENTITY,
                };
                let at = Placement { position: fitted.center, rotation };
                return Some(Lump { node, shape: shape(fitted.kind), filled, at, is_rough: true });
            }
            Form::Plane if body == node => {
                let filled = Primitive { center: DVec3::ZERO, kind: Kind::Sphere(1.0) }.mass_properties(1.0);
                return Some(Lump {
                    node,
                    shape: Shape::Plane {},
                    filled,
                    at: Placement::IDENTITY,
                    is_rough: false,
                });
            }
            Form::Plane => return None,
            Form::Primitive(kind) => kind,
        };
        let scale = DVec3::new(linear.x_axis.length(), linear.y_axis.length(), linear.z_axis.length());
        let turn =
            DMat3::from_cols(linear.x_axis / scale.x, linear.y_axis / scale.y, linear.z_axis / scale.z);
        let across = (scale.x * scale.z).sqrt();
        let even = |a: f64, b: f64| (a - b).abs() <= 1e-4 * (a + b);
        let (kind, is_even) = match kind {
            Kind::Box(s) => (Kind::Box(s * scale), true),
            Kind::Sphere(r) => {
                let mean = (scale.x * scale.y * scale.z).cbrt();
                (Kind::Sphere(r * mean), even(scale.x, scale.y) && even(scale.y, scale.z))
            }
            Kind::Capsule(axis, r, l) => (
                Kind::Capsule(axis, r * across, l * scale.y),
                even(scale.x, scale.y) && even(scale.y, scale.z),
            ),
            Kind::Cylinder(axis, r, l) => {
                (Kind::Cylinder(axis, r * across, l * scale.y), even(scale.x, scale.z))
            }
            Kind::Cone(axis, r, l) => (Kind::Cone(axis, r * across, l * scale.y), even(scale.x, scale.z)),
        };
        if !is_even {
            self.note("shapes that are scaled unevenly keep their kind, with mean sizes", node);
        }
        let mut filled = Primitive { center: DVec3::ZERO, kind }.mass_properties(1.0);
        filled.inertia = turn * filled.inertia * turn.transpose();
        filled.center = origin + turn * filled.center;
        if !(filled.mass > 0.0 && filled.mass.is_finite() && filled.inertia.is_finite() && origin.is_finite())
        {
            self.note("a shape that is not known here, or has no size, is left out", node);
            return None;
        }
        let on_axis = |v: DVec3| 1.0 - v.abs().max_element() < ALONG;
        let (kind, is_plain) = match kind {
            Kind::Sphere(_) => (kind, true),
            Kind::Box(s) if on_axis(turn.x_axis) && on_axis(turn.y_axis) => {
                (Kind::Box(turned(&turn, s)), true)
            }
            Kind::Box(_) => (kind, false),
            Kind::Capsule(..) | Kind::Cylinder(..) => (kind, 1.0 - turn.y_axis.y.abs() < ALONG),
            Kind::Cone(..) => (kind, 1.0 - turn.y_axis.y < ALONG),
        };
        let mut rotation = DQuat::IDENTITY;
        if !is_plain {
            // None of these has a left and a right.
            let mirrored = turn.determinant() < 0.0;
            let x = if mirrored { -turn.x_axis } else { turn.x_axis };
            rotation = DQuat::from_mat3(&DMat3::from_cols(x, turn.y_axis, turn.z_axis)).normalize();
        }
        Some(Lump {
            node,
            shape: shape(kind),
            filled,
            at: Placement { position: origin, rotation },
            is_rough: false,
        })
    }
}

/// The edges of a box that lies along the axes, after quarter turns.
fn turned(turn: &DMat3, size: DVec3) -> DVec3 {
    let rounded = |v: DVec3| v.abs().round();
    DMat3::from_cols(rounded(turn.x_axis), rounded(turn.y_axis), rounded(turn.z_axis)) * size
}

fn shape(kind: Kind) -> Shape {
    match kind {
        Kind::Box(size) => Shape::Box { size: Some(size.to_array()) },
        Kind::Sphere(radius) => Shape::Sphere { radius: Some(radius) },
        Kind::Capsule(_, r, l) => Shape::Capsule { radius: Some(r), length: Some(l) },
        Kind::Cylinder(_, r, l) => Shape::Cylinder { radius: Some(r), length: Some(l) },
        Kind::Cone(_, r, l) => Shape::Cone { radius: Some(r), length: Some(l) },
    }
}

/// What a shape of the document is, and whether its ends differ in radius.
///
/// A capsule's `height` is between the centres of its ends in KHR_implicit_shapes, and in OMI_physics_shape since it
/// has `radiusTop` and `radiusBottom`; before, with one `radius`, it was from tip to tip. The oldest files have sizes
/// beside the type instead of in an object named after it.
fn form(shape: &Value, dialect: Dialect) -> (Option<Form>, bool) {
    let Some(kind) = shape["type"].as_str() else { return (None, false) };
    let is_flat = !shape[kind].is_object();
    let sizes = if is_flat { shape } else { &shape[kind] };
    let khronos = dialect == Dialect::Khronos;
    let size = |key: &str| number(&sizes[key]);
    let tip_to_tip = !khronos && (size("radius").is_some() || (is_flat && size("height").is_some()));
    let radius = size("radius").unwrap_or(if khronos && kind != "sphere" { 0.25 } else { 0.5 });
    let (top, bottom) = (size("radiusTop").unwrap_or(radius), size("radiusBottom").unwrap_or(radius));
    let mean = 0.5 * (top + bottom);
    let form = match kind {
        "box" => Form::Primitive(Kind::Box(DVec3::from_array(vector(&sizes["size"]).unwrap_or([1.0; 3])))),
        "sphere" => Form::Primitive(Kind::Sphere(radius)),
        "capsule" if tip_to_tip => {
            let length = size("height").unwrap_or(2.0) - 2.0 * mean;
            Form::Primitive(Kind::Capsule(1, mean, length.max(0.0)))
        }
        "capsule" => {
            let height = size("height").unwrap_or(if khronos { 0.5 } else { 1.0 });
            Form::Primitive(Kind::Capsule(1, mean, height))
        }
        "cylinder" if top == 0.0 && bottom > 0.0 => {
            let height = size("height").unwrap_or(if khronos { 0.5 } else { 2.0 });
            return (Some(Form::Primitive(Kind::Cone(1, bottom, height))).filter(|_| height > 0.0), false);
        }
        "plane" => return (Some(Form::Plane), false),
        "cylinder" => {
            let height = size("height").unwrap_or(if khronos { 0.5 } else { 2.0 });
            Form::Primitive(Kind::Cylinder(1, mean, height))
        }
        "convex" | "trimesh" => match index(&sizes["mesh"]) {
            Some(mesh) => Form::Mesh(mesh, kind == "convex"),
            None => return (None, false),
        },
        _ => return (None, false),
    };
    let has_size = match form {
        Form::Primitive(Kind::Box(s)) => s.min_element() > 0.0,
        Form::Primitive(Kind::Sphere(r)) => r > 0.0,
        Form::Primitive(Kind::Capsule(_, r, l)) => r > 0.0 && l >= 0.0,
        Form::Primitive(Kind::Cylinder(_, r, l) | Kind::Cone(_, r, l)) => r > 0.0 && l > 0.0,
        Form::Mesh(..) | Form::Plane => true,
    };
    (has_size.then_some(form), top != bottom && matches!(kind, "capsule" | "cylinder"))
}
