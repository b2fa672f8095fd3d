//! A body's mass properties: given, from its mesh, or a guess for a node that has none.

use super::form;
use crate::scene::{Mesh, Pose, Scene};
use crate::setup::{Body, SetupError, Shape};
use crate::shape::{self, Closed, Kind, MassProperties, Primitive};
use glam::{DMat3, DVec3};

/// Density of water, and nearly of living things, kg/m^3.
const DEFAULT_DENSITY: f64 = 1000.0;

/// Mass properties of `body` on `node` (`children`: [`Scene::children`]; `skin`: the vertices that follow a bone) in the axes of its placement, at the pose's evaluated time; and a note on
/// how they were found.
#[allow(clippy::too_many_arguments)]
pub fn mass(
    scene: &Scene,
    pose: &Pose,
    children: &[Vec<usize>],
    node: usize,
    body: &Body,
    place: &str,
    metres_per_unit: f64,
    skin: &[DVec3],
) -> Result<(MassProperties, String), SetupError> {
    let positive = |name: &str, v: Option<f64>| match v {
        Some(v) if !(v.is_finite() && v > 0.0) => {
            Err(SetupError::new(format!("{place}.{name}"), format!("{v} must be above 0")))
        }
        _ => Ok(()),
    };
    positive("mass", body.mass)?;
    positive("density", body.density)?;
    let density =
        body.density.unwrap_or(DEFAULT_DENSITY) * (metres_per_unit * metres_per_unit * metres_per_unit);
    let (mut m, how) = from_shape(scene, pose, children, node, &body.shape, density, place, skin)?;
    if let Some(mass) = body.mass {
        m = m.with_mass(mass);
    }
    if let Some(moments) = body.inertia {
        let v = DVec3::from_array(moments);
        let triangle = v.x + v.y >= v.z && v.y + v.z >= v.x && v.z + v.x >= v.y;
        if !(v.is_finite() && v.min_element() > 0.0 && triangle) {
            return Err(SetupError::new(
                format!("{place}.inertia"),
                format!(
                    "{moments:?} are no moments of inertia: all above 0, none larger than the sum of the other two"
                ),
            ));
        }
        m.inertia = DMat3::from_diagonal(v / (metres_per_unit * metres_per_unit));
    }
    if let Some(center) = body.center {
        m.center = DVec3::from_array(center);
        if !m.center.is_finite() {
            return Err(SetupError::new(format!("{place}.center"), "is not a point"));
        }
    }
    let moments = m.principal().0;
    if !(m.mass.is_finite() && m.mass > 0.0 && moments.is_finite() && moments.min_element() > 0.0) {
        return Err(SetupError::new(
            place,
            format!(
                "{} has no volume to take a mass from; give \"mass\", or a \"shape\" with a size",
                scene.label(node)
            ),
        ));
    }
    Ok((m, how))
}

#[allow(clippy::too_many_arguments)]
fn from_shape(
    scene: &Scene,
    pose: &Pose,
    children: &[Vec<usize>],
    node: usize,
    wanted: &Shape,
    density: f64,
    place: &str,
    skin: &[DVec3],
) -> Result<(MassProperties, String), SetupError> {
    if let Some(given) = given(wanted, place)? {
        return Ok((given.mass_properties(density), "size given".into()));
    }
    match wanted {
        Shape::Plane {} | Shape::HeightField { .. } => {
            return Err(SetupError::new(
                format!("{place}.shape"),
                format!(
                    "{} is simulated, and a plane or a height field has no mass; make it \"static\" or \"animated\", or take another shape",
                    scene.label(node)
                ),
            ));
        }
        Shape::Compound { parts } => {
            let mut whole: Option<MassProperties> = None;
            for (i, part) in parts.iter().enumerate() {
                let place = format!("{place}.shape.parts[{i}]");
                let at = form::placed(part, &place)?;
                let own = from_shape(scene, pose, children, node, &part.shape, density, &place, skin)?.0;
                let own = own.moved(at.position, at.rotation);
                whole = Some(whole.map_or(own, |w| w.and(own)));
            }
            let Some(whole) = whole else {
                return Err(SetupError::new(
                    format!("{place}.shape.parts"),
                    "is empty; give at least one shape",
                ));
            };
            let how = if parts.len() == 1 {
                "one shape, placed".into()
            } else {
                format!("{} shapes as one", parts.len())
            };
            return Ok((whole, how));
        }
        _ => {}
    }
    let Some(mesh) = own_mesh(scene, node) else {
        if matches!(wanted, Shape::Hull {})
            && let Some(solid) =
                shape::hull(skin).and_then(|h| shape::of_mesh(&h.points, &h.triangles, density))
        {
            return Ok((solid, "hull of the skin that follows it".into()));
        }
        if matches!(wanted, Shape::Mesh {} | Shape::Hull {} | Shape::Parts {} | Shape::Cone { .. }) {
            return Err(SetupError::new(
                format!("{place}.shape"),
                format!("{} has no mesh", scene.label(node)),
            ));
        }
        let radius = reach(scene, pose, children, node);
        let ball = Primitive { center: DVec3::ZERO, kind: Kind::Sphere(radius) };
        return Ok((
            ball.mass_properties(density),
            "no mesh: a ball by the distance of its neighbours".into(),
        ));
    };
    let stretch = pose.stretch(node);
    let points: Vec<DVec3> = mesh.positions.iter().map(|p| stretch * *p).collect();
    let fitted =
        |p: Primitive, what: &str| Ok((p.mass_properties(density), format!("{what} fitted to the mesh")));
    match wanted {
        Shape::Box { .. } => fitted(shape::fit_box(&points), "box"),
        Shape::Sphere { .. } => fitted(shape::fit_sphere(&points), "ball"),
        Shape::Capsule { .. } => fitted(shape::fit_capsule(&points), "capsule"),
        Shape::Cylinder { .. } => fitted(shape::fit_cylinder(&points), "cylinder"),
        Shape::Cone { .. } => match shape::fit_cone(&points) {
            Some(cone) => fitted(cone, "cone"),
            None => Err(SetupError::new(
                format!("{place}.shape"),
                "the mesh has no tip along an axis; give \"radius\" and \"length\"",
            )),
        },
        Shape::Hull {} => {
            let whole = shape::hull(&points).and_then(|h| shape::of_mesh(&h.points, &h.triangles, density));
            whole.map(|m| (m, "hull of the mesh".into())).ok_or_else(|| {
                SetupError::new(
                    format!("{place}.shape"),
                    format!("the mesh of {} is a single point; give a shape with a size", scene.label(node)),
                )
            })
        }
        _ => {
            let closed = !mesh.triangles.is_empty() && shape::closed(&points, &mesh.triangles) != Closed::No;
            if let Some(m) = closed.then(|| shape::of_mesh(&points, &mesh.triangles, density)).flatten() {
                return Ok((m, "closed mesh, exact".into()));
            }
            if matches!(wanted, Shape::Mesh {}) {
                return Err(SetupError::new(
                    format!("{place}.shape"),
                    format!("the mesh of {} is not closed; close it, or take \"auto\"", scene.label(node)),
                ));
            }
            let p = shape::tightest(&points);
            let what = match p.kind {
                Kind::Box(_) => "open mesh: box",
                Kind::Sphere(_) => "open mesh: ball",
                Kind::Capsule(..) => "open mesh: capsule",
                Kind::Cylinder(..) => "open mesh: cylinder",
                Kind::Cone(..) => "open mesh: cone",
            };
            fitted(p, what)
        }
    }
}

/// The primitive of a set-up that gives all its sizes.
pub(super) fn given(shape: &Shape, place: &str) -> Result<Option<Primitive>, SetupError> {
    let kind = match *shape {
        Shape::Box { size: Some(s) } => Kind::Box(DVec3::from_array(s)),
        Shape::Sphere { radius: Some(r) } => Kind::Sphere(r),
        Shape::Capsule { radius: Some(r), length: Some(l) } => Kind::Capsule(1, r, l),
        Shape::Cylinder { radius: Some(r), length: Some(l) } => Kind::Cylinder(1, r, l),
        Shape::Cone { radius: Some(r), length: Some(l) } => Kind::Cone(1, r, l),
        Shape::Capsule { radius, length }
        | Shape::Cylinder { radius, length }
        | Shape::Cone { radius, length }
            if radius.is_some() != length.is_some() =>
        {
            return Err(SetupError::new(
                format!("{place}.shape"),
                "give both \"radius\" and \"length\", or neither",
            ));
        }
        _ => return Ok(None),
    };
    let p = Primitive { center: DVec3::ZERO, kind };
    let sizes = match kind {
        Kind::Box(s) => s.min_element(),
        Kind::Sphere(r) => r,
        Kind::Capsule(_, r, l) => {
            if l >= 0.0 {
                r
            } else {
                l
            }
        }
        Kind::Cylinder(_, r, l) | Kind::Cone(_, r, l) => r.min(l),
    };
    if !(sizes > 0.0 && p.volume().is_finite()) {
        return Err(SetupError::new(format!("{place}.shape"), "sizes must be above 0"));
    }
    Ok(Some(p))
}

/// The mesh that a node shows itself: not one that a skin puts elsewhere.
pub(super) fn own_mesh(scene: &Scene, node: usize) -> Option<&Mesh> {
    let n = &scene.nodes[node];
    n.mesh.filter(|_| n.skin.is_none()).map(|m| &scene.meshes[m]).filter(|m| !m.positions.is_empty())
}

/// A quarter of the mean distance to the children (limbs are about half as thick as they are long), or to the parent, or to nothing: a size for bones and empties.
pub(super) fn reach(scene: &Scene, pose: &Pose, children: &[Vec<usize>], node: usize) -> f64 {
    let at = |i: usize| pose.world(i).translation;
    let mut lengths: Vec<f64> =
        children[node].iter().map(|&i| (at(i) - at(node)).length()).filter(|l| *l > 0.0).collect();
    if lengths.is_empty() {
        lengths.extend(scene.nodes[node].parent.map(|p| (at(p) - at(node)).length()).filter(|l| *l > 0.0));
    }
    match lengths.len() {
        0 => 0.5,
        n => 0.25 * lengths.iter().sum::<f64>() / n as f64,
    }
}
