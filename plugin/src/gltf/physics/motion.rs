//! A node that is a body: whether physics moves it, and its mass.

use super::collider::{Form, Lump, ROUGH, shape_of};
use super::{Dialect, KHR_BODY, OMI_BODY, Reader, number, numbers, vector};
use glam::{DMat3, DQuat, DVec3};
use serde_json::Value;
use sinew_core::setup::{Behaviour, Body, Shape};

/// Off-diagonal shares of an inertia tensor below this are rounding.
const ROUNDING: f64 = 1e-5;

/// What a node's extensions say of its motion.
pub(super) struct Motion<'a> {
    pub dialect: Dialect,
    /// Whether physics moves it; otherwise it holds still, or moves as keyed.
    pub is_dynamic: bool,
    values: &'a Value,
}

impl<'a> Motion<'a> {
    /// The motion in a node's extensions, when it is a body.
    pub fn of(extensions: &'a Value) -> Option<Motion<'a>> {
        let khronos = &extensions[KHR_BODY]["motion"];
        if khronos.is_object() {
            let is_dynamic = khronos["isKinematic"] != Value::Bool(true);
            return Some(Motion { dialect: Dialect::Khronos, is_dynamic, values: khronos });
        }
        // Before 2024 the type stood in the extension itself, and "dynamic" was "rigid".
        let omi = &extensions[OMI_BODY];
        let values = if omi["motion"].is_object() { &omi["motion"] } else { omi };
        let is_dynamic = match values["type"].as_str()? {
            "dynamic" | "rigid" => true,
            "trigger" => return None,
            _ => false,
        };
        Some(Motion { dialect: Dialect::Omi, is_dynamic, values })
    }
}

impl Reader<'_> {
    /// The body on a node, when physics moves it. Behaviour is the caller's to decide.
    pub(super) fn body(&mut self, node: usize, motion: &Motion<'_>, lumps: Vec<Lump>) -> Option<Body> {
        let values = motion.values;
        let velocity = vector(&values["linearVelocity"]).map(DVec3::from_array);
        let spin = vector(&values["angularVelocity"]).map(DVec3::from_array);
        if !motion.is_dynamic {
            if [velocity, spin].into_iter().flatten().any(|v| v != DVec3::ZERO) {
                self.note(
                    "velocities of kinematic bodies are left out: they hold still or move as keyed",
                    node,
                );
            }
            return None;
        }
        if !self.can_move(node) {
            self.note("a sheared matrix cannot be moved by curves: left as it is", node);
            return None;
        }
        self.check_values(node, values);
        if let Some(mass) = number(&values["mass"]).filter(|m| *m <= 0.0) {
            self.note(
                match mass < 0.0 {
                    true => "a mass below 0 means nothing: it holds still or moves as keyed",
                    false => "a mass of 0 means infinite: it holds still or moves as keyed",
                },
                node,
            );
            return None;
        }
        if number(&values["gravityFactor"]).is_some_and(|g| g != 1.0) {
            self.note("gravityFactor is left out: gravity is the same for all", node);
        }
        let mut body = Body::new(self.reference(node));
        let mass = number(&values["mass"]);
        body.mass = match motion.dialect {
            Dialect::Omi => mass.or(Some(1.0)),
            Dialect::Khronos => mass,
        };
        let frame = self.pose.placement(node);
        self.form(&mut body, node, lumps);
        // OMI's default of 0, 0, 0 and "not said" cannot be told apart: then the shapes say.
        let is_said = |c: &DVec3| motion.dialect == Dialect::Khronos || *c != DVec3::ZERO;
        let center = vector(&values["centerOfMass"]).map(DVec3::from_array).filter(is_said);
        if let Some(center) = center {
            let stretched = self.pose.world(node).matrix3 * center;
            body.center = Some((frame.rotation.inverse() * stretched).to_array());
        }
        if let Some(moments) = self.moments(node, values) {
            body.inertia = Some(moments);
        }
        // Khronos means the node's own axes, OMI (as Godot writes it) the world's.
        let turn = if motion.dialect == Dialect::Khronos { frame.rotation } else { DQuat::IDENTITY };
        body.velocity = velocity.map(|v| (turn * v).to_array());
        body.spin = spin.map(|v| (turn * v).to_array());
        Some(body)
    }

    /// Notes what is said, but not as numbers that can be.
    fn check_values(&mut self, node: usize, values: &Value) {
        let said = |key: &str| !values[key].is_null();
        if ["mass", "gravityFactor"].iter().any(|k| said(k) && number(&values[*k]).is_none()) {
            self.note(
                "mass or gravityFactor is not a number that can be: taken as if it were not said",
                node,
            );
        }
        let vectors = ["linearVelocity", "angularVelocity", "centerOfMass", "inertiaDiagonal"];
        if vectors.iter().any(|k| said(k) && vector(&values[*k]).is_none()) {
            self.note("a velocity, centre or inertia is not three numbers that can be: taken as if it were not said", node);
        }
    }

    /// Shape and material from a body's colliders.
    fn form(&mut self, body: &mut Body, node: usize, mut lumps: Vec<Lump>) {
        if lumps.iter().any(|l| l.shape == Shape::Plane {}) {
            self.note("a plane on something that moves is left out", node);
            lumps.retain(|l| l.shape != Shape::Plane {});
        }
        for lump in lumps.iter().filter(|l| l.is_rough) {
            self.note(ROUGH, lump.node);
        }
        let Some(largest) = lumps.iter().reduce(|m, l| if l.filled.mass > m.filled.mass { l } else { m })
        else {
            return;
        };
        body.shape = shape_of(&lumps);
        body.contact = self.contact(largest.node);
        if lumps.iter().any(|l| self.contact(l.node) != body.contact) {
            self.note("colliders of one body differ in material or filter: those of the largest count", node);
        }
    }

    /// A collider that belongs to nothing that physics moves, as a body of its own.
    pub(super) fn obstacle(&mut self, node: usize, behaviour: Behaviour) -> Option<Body> {
        let n = &self.scene.nodes[node];
        let own = n.mesh.filter(|_| n.skin.is_none());
        let shape = match self.form_and_taper(node).0? {
            Form::Plane => Shape::Plane {},
            Form::Mesh(mesh, true) if own == Some(mesh) => Shape::Hull {},
            Form::Mesh(mesh, false) if own == Some(mesh) => Shape::Mesh {},
            form => {
                let lump = self.lump(node, node, form)?;
                if lump.is_rough {
                    self.note(ROUGH, node);
                }
                shape_of(&[lump])
            }
        };
        let contact = self.contact(node);
        Some(Body { behaviour, shape, contact, ..Body::new(self.reference(node)) })
    }

    /// The moments of inertia that a motion gives, where a body can have them.
    fn moments(&mut self, node: usize, values: &Value) -> Option<[f64; 3]> {
        let given = DVec3::from_array(vector(&values["inertiaDiagonal"])?);
        if given == DVec3::ZERO {
            return None;
        }
        let turn = numbers(&values["inertiaOrientation"]).map(DQuat::from_array);
        let turn =
            turn.filter(|q| q.length() > 0.5).map_or(DMat3::IDENTITY, |q| DMat3::from_quat(q.normalize()));
        let (v, off) = diagonal(&(turn * DMat3::from_diagonal(given) * turn.transpose()));
        if off > ROUNDING {
            self.note("inertiaOrientation is left out: only the part about the node's axes counts", node);
        }
        let possible = v.x + v.y >= v.z && v.y + v.z >= v.x && v.z + v.x >= v.y && v.min_element() > 0.0;
        if !possible {
            self.note(
                "inertiaDiagonal is that of no solid thing (or locks an axis): taken from the shape",
                node,
            );
        }
        possible.then(|| v.to_array())
    }
}

/// The diagonal of a tensor, and the largest other element as a share of it.
fn diagonal(m: &DMat3) -> (DVec3, f64) {
    let diagonal = DVec3::new(m.x_axis.x, m.y_axis.y, m.z_axis.z);
    let off = [m.y_axis.x, m.z_axis.x, m.z_axis.y].into_iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    (diagonal, off / diagonal.max_element())
}
