//! Shapes of bodies as colliders.

use super::tree::at;
use super::{Dialect, KHR_BODY, KHR_SHAPE, OMI_BODY, OMI_SHAPE, Physics, Writer};
use crate::gltf::physics::collider::Form;
use glam::{DMat3, DQuat, DVec3, EulerRot};
use serde_json::{Value, json};
use sinew_core::scene::{Mesh, Placement};
use sinew_core::setup::{Body, Contact, Shape};
use sinew_core::shape::{self, Kind, Primitive};
use std::collections::{HashMap, HashSet};

impl Writer<'_> {
    /// Keeps the colliders that are there, in the family to write, and removes those of bodies whose shape the set-up
    /// gives otherwise. Returns the bodies that need no other shape.
    pub(super) fn colliders(&mut self, before: Option<&Physics>) -> HashSet<usize> {
        let bodies: HashMap<&str, &Body> =
            before.iter().flat_map(|p| &p.setup.bodies).map(|b| (b.node.as_str(), b)).collect();
        let mine: HashMap<usize, usize> =
            self.simulated.iter().chain(&self.obstacles).map(|(n, b)| (*n, *b)).collect();
        let is_kept = |(node, body): (&usize, &usize)| {
            let wanted = &self.setup.bodies[*body];
            let is_guess = fitted(&wanted.shape) && self.mesh(*node).is_none();
            let read = bodies.get(self.reader.reference(*node).as_str());
            let contact = self.contact_of(*node, *body);
            let is_same = |b: &&&Body| b.shape == wanted.shape && b.contact == contact;
            (!is_guess && read.filter(is_same).is_some()).then_some(*node)
        };
        let kept: HashSet<usize> = mine.iter().filter_map(is_kept).collect();
        for (node, lumps) in self.reader.colliders().into_iter().filter(|(n, _)| kept.contains(n)) {
            let volume: f64 = lumps.iter().map(|l| l.filled.mass).sum();
            let center = lumps.iter().map(|l| l.filled.center * l.filled.mass).sum::<DVec3>() / volume;
            self.centers.insert(node, center);
        }
        for node in 0..self.scene.nodes.len() {
            let extensions = self.reader.extensions(node);
            let khronos = extensions[KHR_BODY]["collider"].is_object();
            let omi = extensions[OMI_BODY]["collider"].is_object() || extensions[OMI_SHAPE].is_object();
            if !khronos && !omi {
                continue;
            }
            let body = self.owner[node].filter(|b| self.simulated.contains_key(b));
            let stays = match self.obstacles.contains_key(&node) {
                true => kept.contains(&node),
                false => body.is_none_or(|b| kept.contains(&b) && self.reader.owner[node] == Some(b)),
            };
            let has = if self.dialect == Dialect::Khronos { khronos } else { omi };
            if stays && has && khronos != omi {
                continue;
            }
            let (form, is_tapered) =
                if stays && !has { self.reader.form_and_taper(node) } else { (None, false) };
            if stays && !has && form.is_none() {
                continue;
            }
            if !stays || !has || self.dialect == Dialect::Khronos {
                self.drop_collider(node, Dialect::Omi);
            }
            if !stays || !has || self.dialect == Dialect::Omi {
                self.drop_collider(node, Dialect::Khronos);
            }
            if let Some(form) = form {
                let contact = self.reader.contact(node);
                self.collide(node, &form, &contact);
            }
            if is_tapered {
                let label = format!("node {}", self.scene.label(node));
                self.notes.add("tapered shapes are written with their mean radius", label);
            }
        }
        kept
    }

    fn drop_collider(&mut self, node: usize, of: Dialect) {
        match of {
            Dialect::Khronos => _ = self.take(node, KHR_BODY, "collider"),
            Dialect::Omi => {
                self.take_extension(node, OMI_SHAPE);
                self.take(node, OMI_BODY, "collider");
            }
        }
    }

    /// The mesh that a body's mass comes from.
    fn mesh(&self, node: usize) -> Option<(usize, &Mesh)> {
        let n = &self.scene.nodes[node];
        let mesh = n.mesh.filter(|_| n.skin.is_none())?;
        Some((mesh, self.scene.meshes.get(mesh)?)).filter(|m| !m.1.positions.is_empty())
    }

    /// Whether the shape that is written has its middle elsewhere than at the node.
    pub(super) fn is_off_center(&self, node: usize, body: usize) -> bool {
        let shape = &self.setup.bodies[body].shape;
        let is_fitted = fitted(shape) && self.mesh(node).is_some() || matches!(shape, Shape::Compound { .. });
        self.centers.get(&node).map_or(is_fitted, |c| c.length() > 1e-9)
    }

    /// Writes the shape of a body.
    pub(super) fn shape(&mut self, node: usize, body: usize) {
        let shape = self.setup.bodies[body].shape.clone();
        let contact = self.contact_of(node, body);
        self.note_contact(node, &contact);
        self.shape_at(node, &shape, &Placement::IDENTITY, &contact);
    }

    fn shape_at(&mut self, node: usize, wanted: &Shape, place: &Placement, contact: &Contact) {
        let is_solid = self.simulated.contains_key(&node);
        match wanted {
            Shape::Compound { parts } => {
                for part in parts {
                    let turn = part.turn_deg.map(f64::to_radians);
                    let rotation = DQuat::from_euler(EulerRot::ZYX, turn[2], turn[1], turn[0]);
                    let at = Placement { position: DVec3::from_array(part.at), rotation };
                    self.shape_at(node, &part.shape, &place.then(&at), contact);
                }
                return;
            }
            Shape::Plane {} if self.dialect == Dialect::Omi => {
                return self.note_body("`shape` is left out: OMI_physics_shape has no planes", node);
            }
            Shape::Plane {} => return self.collide(node, &Form::Plane, contact),
            Shape::HeightField { heights, .. } if !heights.is_empty() => {
                return self.note_body("`shape` is left out: files have no height fields", node);
            }
            _ => {}
        }
        let Some((mesh, points)) = self.mesh(node) else {
            // A guess by the distance of its children would be another one with new nodes below it.
            let ball = self.rig.solids.iter().find(|s| s.node == node).map(|s| Kind::Sphere(s.radius));
            if let Some(kind) = given(wanted).or(ball) {
                self.primitive(node, &Primitive { center: DVec3::ZERO, kind }, place, contact);
            }
            return;
        };
        let stretch = self.reader.pose.stretch(node);
        let points: Vec<DVec3> = points.positions.iter().map(|p| stretch * *p).collect();
        let fitted = match (given(wanted), wanted) {
            (Some(kind), _) => Primitive { center: DVec3::ZERO, kind },
            (None, Shape::Box { .. }) => shape::fit_box(&points),
            (None, Shape::Sphere { .. }) => shape::fit_sphere(&points),
            (None, Shape::Capsule { .. }) => shape::fit_capsule(&points),
            (None, Shape::Cylinder { .. }) => shape::fit_cylinder(&points),
            (None, Shape::Cone { .. }) => {
                shape::fit_cone(&points).unwrap_or_else(|| shape::fit_cylinder(&points))
            }
            (None, _) => {
                if *wanted == (Shape::Parts {}) {
                    self.note_body("`shape` is written as the mesh: files have no parts of one", node);
                }
                // What moves is solid; what is in its way may be hollow.
                let is_hull = is_solid || *wanted == Shape::Hull {};
                return self.collide(node, &Form::Mesh(mesh, is_hull), contact);
            }
        };
        self.primitive(node, &fitted, place, contact);
    }

    /// A collider on the body's own node, or on a new one below it where it lies elsewhere or along another axis.
    fn primitive(&mut self, node: usize, form: &Primitive, on: &Placement, contact: &Contact) {
        let (kind, turn) = match form.kind {
            Kind::Capsule(axis, r, l) => (Kind::Capsule(1, r, l), upright(axis)),
            Kind::Cylinder(axis, r, l) => (Kind::Cylinder(1, r, l), upright(axis)),
            Kind::Cone(axis, r, l) if l < 0.0 => {
                (Kind::Cone(1, r, -l), DQuat::from_rotation_arc(DVec3::Y, -DVec3::AXES[axis]))
            }
            Kind::Cone(axis, r, l) => (Kind::Cone(1, r, l), upright(axis)),
            kind => (kind, DQuat::IDENTITY),
        };
        let frame = self.reader.pose.placement(node);
        let place = on.then(&Placement { position: form.center, rotation: turn });
        let linear = DMat3::from_quat(frame.rotation.inverse()) * self.reader.pose.world(node).matrix3;
        let linear = linear * DMat3::from_quat(place.rotation);
        let scale = DVec3::new(linear.x_axis.length(), linear.y_axis.length(), linear.z_axis.length());
        let kind = unscaled(kind, scale);
        let at = match place == Placement::IDENTITY {
            true => Some(node),
            false => {
                let name = format!("{} shape", self.scene.nodes[node].name);
                self.add_node(Some(node), &name, &frame.then(&place))
            }
        };
        match at.filter(|_| scale.min_element() > 0.0) {
            Some(at) => self.collide(at, &Form::Primitive(kind), contact),
            None => self.note_body("`shape` is left out: the node is flat", node),
        }
        let is_even = (scale.max_element() - scale.min_element()) <= 1e-4 * scale.max_element();
        if !is_even && !matches!(kind, Kind::Box(_)) {
            self.note_body(
                "`shape` is written on a node that is scaled unevenly: it counts with mean sizes",
                node,
            );
        }
    }

    /// Writes a collider of a form onto a node.
    fn collide(&mut self, node: usize, form: &Form, contact: &Contact) {
        let mut collider = match (self.dialect, form) {
            (Dialect::Khronos, Form::Mesh(mesh, is_hull)) => {
                let has = |n: &usize| self.scene.nodes.get(*n).is_some_and(|n| n.mesh == Some(*mesh));
                let of = Some(node).filter(has).or_else(|| (0..self.scene.nodes.len()).find(has));
                json!({ "geometry": { "node": of.unwrap_or(node), "convexHull": is_hull } })
            }
            (Dialect::Khronos, form) => {
                let shape = match form {
                    Form::Primitive(kind) => sizes(*kind, Dialect::Khronos),
                    _ => json!({ "type": "plane", "plane": {} }),
                };
                json!({ "geometry": { "shape": self.listed(KHR_SHAPE, "shapes", shape) } })
            }
            (Dialect::Omi, form) => {
                let shape = match form {
                    Form::Mesh(mesh, is_hull) => {
                        let kind = if *is_hull { "convex" } else { "trimesh" };
                        json!({ "type": kind, kind: { "mesh": mesh } })
                    }
                    Form::Primitive(kind) => sizes(*kind, Dialect::Omi),
                    Form::Plane => return,
                };
                json!({ "shape": self.listed(OMI_SHAPE, "shapes", shape) })
            }
        };
        self.contact(contact, &mut collider);
        *at(self.extension(node, self.dialect.extension()), "collider") = collider;
    }
}

/// Whether a shape takes its sizes from elsewhere.
fn fitted(shape: &Shape) -> bool {
    !matches!(shape, Shape::Compound { .. } | Shape::Plane {}) && given(shape).is_none()
}

/// The form of a shape that gives its sizes.
fn given(shape: &Shape) -> Option<Kind> {
    match *shape {
        Shape::Box { size } => size.map(|s| Kind::Box(DVec3::from_array(s))),
        Shape::Sphere { radius } => radius.map(Kind::Sphere),
        Shape::Capsule { radius, length } => Some(Kind::Capsule(1, radius?, length?)),
        Shape::Cylinder { radius, length } => Some(Kind::Cylinder(1, radius?, length?)),
        Shape::Cone { radius, length } => Some(Kind::Cone(1, radius?, length?)),
        _ => None,
    }
}

/// The rotation that takes y to the axis of that index.
fn upright(axis: usize) -> DQuat {
    match axis {
        1 => DQuat::IDENTITY,
        _ => DQuat::from_rotation_arc(DVec3::Y, DVec3::AXES[axis]),
    }
}

/// Sizes on a node that scales them by so much; the way back of reading.
fn unscaled(kind: Kind, scale: DVec3) -> Kind {
    let across = (scale.x * scale.z).sqrt();
    match kind {
        Kind::Box(s) => Kind::Box(s / scale),
        Kind::Sphere(r) => Kind::Sphere(r / (scale.x * scale.y * scale.z).cbrt()),
        Kind::Capsule(axis, r, l) => Kind::Capsule(axis, r / across, l / scale.y),
        Kind::Cylinder(axis, r, l) => Kind::Cylinder(axis, r / across, l / scale.y),
        Kind::Cone(axis, r, l) => Kind::Cone(axis, r / across, l / scale.y),
    }
}

/// A shape of the document. A capsule's height is between the centres of its ends in KHR_implicit_shapes, and from tip
/// to tip with OMI's one radius, which Godot reads.
fn sizes(kind: Kind, dialect: Dialect) -> Value {
    let round = |name: &str, r: f64, l: f64| match dialect {
        Dialect::Khronos => {
            json!({ "type": name, name: { "radiusTop": r, "radiusBottom": r, "height": l } })
        }
        Dialect::Omi => {
            let height = if name == "capsule" { l + 2.0 * r } else { l };
            json!({ "type": name, name: { "radius": r, "height": height } })
        }
    };
    match kind {
        Kind::Box(s) => json!({ "type": "box", "box": { "size": s.to_array() } }),
        Kind::Sphere(r) => json!({ "type": "sphere", "sphere": { "radius": r } }),
        Kind::Capsule(_, r, l) => round("capsule", r, l),
        Kind::Cylinder(_, r, l) => round("cylinder", r, l),
        Kind::Cone(_, r, l) => json!({
            "type": "cylinder", "cylinder": { "radiusTop": 0.0, "radiusBottom": r, "height": l }
        }),
    }
}
