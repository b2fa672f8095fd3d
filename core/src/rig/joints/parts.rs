//! The parts that a joint of the set-up becomes: what its kind holds, then limits, rests and springs of what it leaves free.

use super::super::compile::Compiler;
use super::Site;
use super::spring::{self, Way};
use crate::joint::{Kind, Spring, Track};
use crate::rig::Value;
use crate::setup::{Direction, Joint, JointKind, SetupError};
use glam::DVec3;
use std::sync::Arc;

/// A part of a joint, as [`crate::joint::Joint`] has it.
pub(super) struct Part {
    pub kind: Kind,
    pub rest: Value,
    pub spring: Option<Spring>,
    pub track: Option<Arc<Track>>,
}

impl Part {
    fn new(kind: Kind) -> Part {
        Part { kind, rest: Value::constant(0.0), spring: None, track: None }
    }

    fn held(kind: Kind, (rest, spring): (Value, Option<Spring>)) -> Part {
        Part { rest, spring, ..Part::new(kind) }
    }
}

/// How far one turn of a screw carries that does not say, scene units.
const PITCH: f64 = 0.01;

impl Compiler<'_> {
    /// All parts of a joint.
    pub(super) fn parts(&self, wanted: &Joint, site: &Site, place: &str) -> Result<Vec<Part>, SetupError> {
        let mut parts = self.kind(wanted, site, place)?;
        if let Some(give) = &wanted.give {
            let spring = spring::give(give, self.mpu, &format!("{place}.give"))?;
            parts.iter_mut().for_each(|part| part.spring.clone_from(&spring));
        }
        let ways = [(&wanted.slide, Way::Slides, "slide"), (&wanted.turn_deg, Way::Turns, "turn_deg")];
        for (direction, way, name) in ways {
            if let Some(d) = direction {
                self.direction(d, way, &format!("{place}.{name}"), &mut parts)?;
            }
        }
        if let Some(swing) = &wanted.swing_deg {
            let place = format!("{place}.swing_deg");
            parts.extend(spring::cone(swing, &place)?.map(|half| Part::new(Kind::Cone(half))));
            let upright = spring::upright(swing, self.mpu, &place)?;
            parts.extend(upright.map(|s| Part { spring: Some(s), ..Part::new(Kind::Upright) }));
        }
        Ok(parts)
    }

    /// Limits and rest along, or about, the main axis.
    fn direction(
        &self,
        d: &Direction,
        way: Way,
        place: &str,
        parts: &mut Vec<Part>,
    ) -> Result<(), SetupError> {
        let limits = spring::limits(d, way, place)?;
        let rest = spring::rest(d, way, self.mpu, place)?;
        let (range, hold): (fn([f64; 2]) -> Kind, Kind) = match way {
            Way::Slides => (|[least, most]| Kind::Slide { axis: 0, least, most }, Kind::SlideTo),
            Way::Turns => (|[least, most]| Kind::Turn { least, most }, Kind::TurnTo),
        };
        // What is held firmly stays where it is held, and that is within the limits.
        let firm = rest.as_ref().is_some_and(|(_, spring)| spring.is_none());
        parts.extend(limits.filter(|_| !firm).map(|l| Part::new(range(l))));
        parts.extend(rest.map(|r| Part::held(hold, r)));
        Ok(())
    }

    /// What the kind itself holds.
    fn kind(&self, wanted: &Joint, site: &Site, place: &str) -> Result<Vec<Part>, SetupError> {
        let apart = (site.frames[1].position - site.frames[0].position).length();
        let length = wanted.length.unwrap_or(apart);
        if !(length.is_finite() && length >= 0.0) {
            return Err(SetupError::new(format!("{place}.length"), format!("{length} must be 0 or more")));
        }
        let one = |kind: Kind| Ok(vec![Part::new(kind)]);
        match wanted.kind {
            JointKind::Universal => one(Kind::UNIVERSAL),
            JointKind::Pin => one(Kind::PIN),
            JointKind::Cylindrical => one(Kind::CYLINDRICAL),
            JointKind::Prismatic => one(Kind::PRISMATIC),
            JointKind::BallSocket => one(Kind::BALL_SOCKET),
            JointKind::SmoothContact => one(Kind::SMOOTH_CONTACT),
            JointKind::Plane => one(Kind::PLANE),
            JointKind::Fixed => one(Kind::FIXED),
            // No distance has no direction: a point on a point.
            JointKind::Distance | JointKind::Rope | JointKind::InsideSphere if length < 1e-9 => {
                one(Kind::UNIVERSAL)
            }
            JointKind::Distance => one(Kind::Distance { least: length, most: length }),
            JointKind::Rope | JointKind::InsideSphere => one(Kind::Distance { least: 0.0, most: length }),
            JointKind::Screw => {
                let pitch = wanted.pitch.unwrap_or(PITCH);
                if !(pitch.is_finite() && pitch.abs() > 1e-12) {
                    let why = format!("{pitch} carries nowhere; give a length, or take \"pin\"");
                    return Err(SetupError::new(format!("{place}.pitch"), why));
                }
                Ok(vec![Part::new(Kind::CYLINDRICAL), Part::new(Kind::Thread(pitch))])
            }
            JointKind::Segment => {
                let [from, to] = [wanted.points[0], wanted.points[1]].map(DVec3::from_array);
                let most = (to - from).length();
                if !(most.is_finite() && most > 1e-12) {
                    let why = "are one point; give two, or take \"universal\"";
                    return Err(SetupError::new(format!("{place}.points"), why));
                }
                let range = Kind::Slide { axis: 0, least: 0.0, most };
                Ok(vec![Part::new(Kind::BALL_SOCKET), Part::new(range)])
            }
            JointKind::Curve => {
                let points: Vec<DVec3> = wanted.points.iter().copied().map(DVec3::from_array).collect();
                if points.iter().any(|p| !p.is_finite()) || points.iter().all(|p| *p == points[0]) {
                    let why = "make no curve; give two or more different ones of finite numbers";
                    return Err(SetupError::new(format!("{place}.points"), why));
                }
                let seen = points.iter().map(|p| site.seen(site.first.position + site.first.rotation * *p));
                let track = Arc::new(Track::curve(seen.collect(), wanted.closed));
                Ok(vec![Part { track: Some(track), ..Part::new(Kind::Track) }])
            }
            JointKind::Surface => {
                let track = Some(Arc::new(self.surface(wanted, site, place)?));
                Ok(vec![Part { track, ..Part::new(Kind::Track) }])
            }
            JointKind::InsideBox => {
                let size = wanted.size.unwrap_or_default();
                if let Some(side) = size.iter().find(|s| !(s.is_finite() && **s >= 0.0)) {
                    return Err(SetupError::new(
                        format!("{place}.size"),
                        format!("{side} must be 0 or more"),
                    ));
                }
                let range =
                    |axis: usize| Kind::Slide { axis, least: -0.5 * size[axis], most: 0.5 * size[axis] };
                Ok((0..3).map(|axis| Part::new(range(axis))).collect())
            }
        }
    }

    /// The surface of a node's mesh, as it is at the first frame.
    fn surface(&self, wanted: &Joint, site: &Site, place: &str) -> Result<Track, SetupError> {
        let place = format!("{place}.mesh");
        let node = super::super::resolve_node(
            self.scene,
            &self.names,
            wanted.mesh.as_deref().unwrap_or_default(),
            &place,
        )?;
        let (label, n) = (self.scene.label(node), &self.scene.nodes[node]);
        if n.skin.is_some() {
            let why = format!("the mesh of {label} bends with its skin; name a rigid one");
            return Err(SetupError::new(place, why));
        }
        let Some(mesh) = n.mesh.map(|m| &self.scene.meshes[m]) else {
            return Err(SetupError::new(place, format!("{label} has no mesh; name a node that has one")));
        };
        let world = self.pose.world(node);
        let vertices = mesh.positions.iter().map(|p| site.seen(world.transform_point3(*p))).collect();
        Track::surface(vertices, mesh.triangles.clone())
            .map_err(|why| SetupError::new(place, format!("the mesh of {label} is no surface: {why}")))
    }
}

impl Site {
    /// A point of the world as seen from the first frame.
    fn seen(&self, point: DVec3) -> DVec3 {
        self.frames[0].rotation.conjugate() * (point - self.frames[0].position)
    }
}
