//! What UsdPhysics says of a stage, prim by prim, as plain data in the stage's units.
//!
//! Nothing in it makes a file unreadable: what makes no sense counts as not there. What no set-up has a place for is
//! noted.

use crate::error::Error;
use crate::usd::mesh::{self, Solid};
use crate::usd::read::{Read, type_of};
use crate::usd::stage::{Opened, said};
use crate::usd::value::{finite, holds, loose, targets, word, words};
use glam::{DQuat, DVec3};
use openusd::usd::Prim;
use std::collections::{HashMap, HashSet};

/// Forces beyond this mean "without end": some programs write the largest float for it.
const ENDLESS: f64 = 1e37;

/// What nothing has less than none of.
const NOT_BELOW_ZERO: [&str; 8] = [
    "mass",
    "density",
    "dynamicFriction",
    "staticFriction",
    "restitution",
    "stiffness",
    "damping",
    "maxForce",
];

/// The physics of a stage.
#[derive(Clone, Debug, Default)]
pub(in crate::usd) struct Facts {
    /// The first physics scene: its path, and direction and size of gravity where it says them.
    pub scene: Option<SceneFact>,
    pub bodies: Vec<BodyFact>,
    pub colliders: Vec<ColliderFact>,
    pub joints: Vec<JointFact>,
    pub groups: Vec<GroupFact>,
    /// Nodes that never touch.
    pub pairs: Vec<[usize; 2]>,
    /// What is left out, and of which prim.
    pub notes: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug)]
pub(in crate::usd) struct SceneFact {
    pub path: String,
    pub direction: Option<DVec3>,
    pub magnitude: Option<f64>,
    /// What of a set-up no prim says; see `patch`.
    pub setup: Option<String>,
    pub bodies: Vec<String>,
    pub joints: Vec<String>,
}

#[derive(Clone, Debug)]
pub(in crate::usd) struct BodyFact {
    pub node: usize,
    pub path: String,
    pub is_kinematic: bool,
    /// In the space of the prim's parent, units and degrees per second.
    pub velocity: Option<DVec3>,
    pub spin: Option<DVec3>,
    pub mass: MassFact,
    pub patch: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::usd) struct MassFact {
    pub mass: Option<f64>,
    pub density: Option<f64>,
    pub center: Option<DVec3>,
    pub inertia: Option<DVec3>,
    pub axes: Option<DQuat>,
}

#[derive(Clone, Debug)]
pub(in crate::usd) struct ColliderFact {
    pub node: usize,
    pub path: String,
    pub solid: Option<(Solid, usize)>,
    pub approximation: String,
    pub mass: MassFact,
    pub material: Option<MaterialFact>,
    pub patch: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::usd) struct MaterialFact {
    pub friction: f64,
    pub grip: f64,
    pub bounce: f64,
    pub density: Option<f64>,
}

#[derive(Clone, Debug)]
pub(in crate::usd) struct GroupFact {
    pub path: String,
    pub includes: Vec<String>,
    pub excludes: Vec<String>,
    pub filtered: Vec<String>,
    pub inverts: bool,
}

#[derive(Clone, Debug)]
pub(in crate::usd) struct JointFact {
    pub path: String,
    pub kind: String,
    pub is_on: bool,
    /// Nodes of the two bodies; `None` for the world.
    pub ends: [Option<usize>; 2],
    /// Whether an end names a prim that is no node.
    pub is_lost: bool,
    /// Whether an end names a prim that is not there.
    pub is_astray: bool,
    pub positions: [DVec3; 2],
    pub rotations: [DQuat; 2],
    pub axis: usize,
    /// Least and most of the own axis, or of a distance, or the two angles of a cone.
    pub limits: [Option<f64>; 2],
    /// By direction: `transX` and so on.
    pub bounds: HashMap<String, [f64; 2]>,
    pub drives: Vec<DriveFact>,
    pub break_force: Option<f64>,
    pub break_torque: Option<f64>,
    pub collides: bool,
    pub patch: Option<String>,
}

#[derive(Clone, Debug)]
pub(in crate::usd) struct DriveFact {
    pub direction: String,
    pub by_acceleration: bool,
    pub target: f64,
    pub velocity: f64,
    pub stiffness: f64,
    pub damping: f64,
    pub most: Option<f64>,
}

impl Facts {
    /// Reads them.
    pub fn read(opened: &Opened, read: &Read) -> Result<Facts, Error> {
        let mut facts = Facts::default();
        let nodes: HashMap<&str, usize> = read.prims.iter().map(|p| (p.path.as_str(), p.node)).collect();
        let prims = opened.prims()?;
        let there: HashSet<&str> = prims.iter().map(|p| p.path().as_str()).collect();
        for prim in &prims {
            facts.prim(prim, &nodes, &there)?;
            facts.faults(prim)?;
        }
        Ok(facts)
    }

    fn prim(
        &mut self,
        prim: &Prim,
        nodes: &HashMap<&str, usize>,
        there: &HashSet<&str>,
    ) -> Result<(), Error> {
        let path = prim.path().as_str();
        let bad = |e: openusd::Error| Error::input(said(&e)).at(&format!("<{path}>"));
        let kind = type_of(prim)?;
        let schemas = prim.api_schemas().map_err(bad)?;
        let has = |name: &str| schemas.iter().any(|s| s.as_str() == name);
        if schemas.iter().any(|s| s.as_str().starts_with("Physx")) {
            self.note("settings of PhysX are left out", path);
        }
        match kind.as_str() {
            "PhysicsScene" => self.scene_of(prim)?,
            "PhysicsCollisionGroup" => self.group(prim)?,
            _ if kind.starts_with("Physics") && kind.ends_with("Joint") => {
                self.joint(prim, &kind, nodes, there)?
            }
            _ => {}
        }
        if let Some(&node) = nodes.get(path) {
            let patch = word(prim, "sinew:body")?;
            if has("PhysicsRigidBodyAPI") && holds(prim, "physics:rigidBodyEnabled", true)? {
                let motion = |name: &str| -> Result<Option<DVec3>, Error> {
                    let v = loose(prim, name)?;
                    Ok((v.len() == 3)
                        .then(|| DVec3::from_slice(&v))
                        .filter(|v| v.is_finite() && *v != DVec3::ZERO))
                };
                self.bodies.push(BodyFact {
                    node,
                    path: path.to_owned(),
                    is_kinematic: holds(prim, "physics:kinematicEnabled", false)?,
                    velocity: motion("physics:velocity")?,
                    spin: motion("physics:angularVelocity")?,
                    mass: mass(prim)?,
                    patch: patch.clone(),
                });
                if holds(prim, "physics:startsAsleep", false)? {
                    self.note("startsAsleep is left out: bodies are awake from the first frame", path);
                }
            }
            if has("PhysicsCollisionAPI") && holds(prim, "physics:collisionEnabled", true)? {
                self.colliders.push(ColliderFact {
                    node,
                    path: path.to_owned(),
                    solid: mesh::solid(prim, &kind)?,
                    approximation: word(prim, "physics:approximation")?.unwrap_or_else(|| "none".into()),
                    mass: mass(prim)?,
                    material: material(prim)?,
                    patch,
                });
            }
            if has("PhysicsFilteredPairsAPI") {
                for target in targets(prim, "physics:filteredPairs")? {
                    match nodes.get(target.as_str()) {
                        Some(&other) => self.pairs.push([node, other]),
                        None => {
                            self.note("a filtered pair with something that has no place is left out", path)
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes numbers that mean nothing, which are left out.
    fn faults(&mut self, prim: &Prim) -> Result<(), Error> {
        let path = prim.path().as_str();
        let names =
            prim.authored_property_names().map_err(|e| Error::input(said(&e)).at(&format!("<{path}>")))?;
        for name in names.iter().map(|n| n.as_str()) {
            if !["physics:", "drive:", "limit:"].iter().any(|space| name.starts_with(space)) {
                continue;
            }
            let (numbers, last) = (loose(prim, name)?, name.rsplit(':').next().unwrap_or(name));
            let place = format!("{path}.{name}");
            if numbers.iter().any(|v| v.is_nan()) {
                self.note("what is not a number (nan) is left out, as if it were not said", &place);
            } else if NOT_BELOW_ZERO.contains(&last) && numbers.iter().any(|v| *v < 0.0) {
                self.note("what must not be below 0 and is, is left out, as if it were not said", &place);
            }
        }
        Ok(())
    }

    /// Forgets what the namespace `sinew:` adds.
    pub fn forget(&mut self) {
        self.bodies.iter_mut().for_each(|b| b.patch = None);
        self.colliders.iter_mut().for_each(|c| c.patch = None);
        self.joints.iter_mut().for_each(|j| j.patch = None);
        if let Some(scene) = &mut self.scene {
            (scene.setup, scene.bodies, scene.joints) = (None, Vec::new(), Vec::new());
        }
    }

    pub fn note(&mut self, what: &'static str, path: &str) {
        self.notes.push((what, path.to_owned()));
    }

    fn scene_of(&mut self, prim: &Prim) -> Result<(), Error> {
        let path = prim.path().as_str();
        if self.scene.is_some() {
            self.note("a second physics scene is left out: the first one counts", path);
            return Ok(());
        }
        let direction = loose(prim, "physics:gravityDirection")?;
        let direction = (direction.len() == 3).then(|| DVec3::from_slice(&direction));
        self.scene = Some(SceneFact {
            path: path.to_owned(),
            direction: direction.filter(|d| d.is_finite() && *d != DVec3::ZERO),
            // Minus infinity is the earth's.
            magnitude: finite(prim, "physics:gravityMagnitude")?.filter(|m| *m >= 0.0),
            setup: word(prim, "sinew:setup")?,
            bodies: words(prim, "sinew:bodies")?.unwrap_or_default(),
            joints: words(prim, "sinew:joints")?.unwrap_or_default(),
        });
        Ok(())
    }

    fn group(&mut self, prim: &Prim) -> Result<(), Error> {
        let all = |name: &str| -> Result<Vec<String>, Error> {
            Ok(targets(prim, name)?.iter().map(|p| p.as_str().to_owned()).collect())
        };
        self.groups.push(GroupFact {
            path: prim.path().as_str().to_owned(),
            includes: all("collection:colliders:includes")?,
            excludes: all("collection:colliders:excludes")?,
            filtered: all("physics:filteredGroups")?,
            inverts: holds(prim, "physics:invertFilteredGroups", false)?,
        });
        if word(prim, "physics:mergeGroup")?.is_some_and(|m| !m.is_empty()) {
            self.note("mergeGroup is left out: groups of one name are not merged", prim.path().as_str());
        }
        Ok(())
    }

    fn joint(
        &mut self,
        prim: &Prim,
        kind: &str,
        nodes: &HashMap<&str, usize>,
        there: &HashSet<&str>,
    ) -> Result<(), Error> {
        let path = prim.path().as_str();
        let mut ends = [None; 2];
        let (mut is_lost, mut is_astray) = (false, false);
        for (i, end) in ends.iter_mut().enumerate() {
            let found = targets(prim, &format!("physics:body{i}"))?;
            if let Some(target) = found.first() {
                *end = nodes.get(target.as_str()).copied();
                is_lost |= end.is_none();
                is_astray |= !there.contains(target.as_str());
            }
        }
        let position = |i: usize| -> Result<DVec3, Error> {
            let v = loose(prim, &format!("physics:localPos{i}"))?;
            Ok((v.len() == 3).then(|| DVec3::from_slice(&v)).filter(|v| v.is_finite()).unwrap_or_default())
        };
        let rotation = |i: usize| -> Result<DQuat, Error> {
            let v = loose(prim, &format!("physics:localRot{i}"))?;
            let q =
                (v.len() == 4).then(|| DQuat::from_slice(&v)).filter(|q| q.is_finite() && q.length() > 1e-6);
            Ok(q.map_or(DQuat::IDENTITY, DQuat::normalize))
        };
        let axis = match word(prim, "physics:axis")?.as_deref() {
            Some("Y") => 1,
            Some("Z") => 2,
            _ => 0,
        };
        let pair = match kind {
            "PhysicsSphericalJoint" => ["physics:coneAngle0Limit", "physics:coneAngle1Limit"],
            "PhysicsDistanceJoint" => ["physics:minDistance", "physics:maxDistance"],
            _ => ["physics:lowerLimit", "physics:upperLimit"],
        };
        let mut bounds = HashMap::new();
        let mut drives = Vec::new();
        for schema in prim.api_schemas().map_err(|e| Error::input(said(&e)).at(&format!("<{path}>")))? {
            if let Some(way) = schema.as_str().strip_prefix("PhysicsLimitAPI:") {
                let end = |name: &str, default: f64| -> Result<f64, Error> {
                    let v = loose(prim, &format!("limit:{way}:physics:{name}"))?;
                    Ok(v.first().copied().filter(|v| !v.is_nan()).unwrap_or(default))
                };
                bounds.insert(way.to_owned(), [end("low", f64::NEG_INFINITY)?, end("high", f64::INFINITY)?]);
            }
            if let Some(way) = schema.as_str().strip_prefix("PhysicsDriveAPI:") {
                let number = |name: &str| finite(prim, &format!("drive:{way}:physics:{name}"));
                drives.push(DriveFact {
                    direction: way.to_owned(),
                    by_acceleration: word(prim, &format!("drive:{way}:physics:type"))?.as_deref()
                        == Some("acceleration"),
                    target: number("targetPosition")?.unwrap_or(0.0),
                    velocity: number("targetVelocity")?.unwrap_or(0.0),
                    stiffness: number("stiffness")?.filter(|v| *v >= 0.0).unwrap_or(0.0),
                    damping: number("damping")?.filter(|v| *v >= 0.0).unwrap_or(0.0),
                    most: number("maxForce")?.filter(|v| (0.0..ENDLESS).contains(v)),
                });
            }
        }
        self.joints.push(JointFact {
            path: path.to_owned(),
            kind: kind.to_owned(),
            is_on: holds(prim, "physics:jointEnabled", true)?,
            ends,
            is_lost,
            is_astray,
            positions: [position(0)?, position(1)?],
            rotations: [rotation(0)?, rotation(1)?],
            axis,
            limits: [finite(prim, pair[0])?, finite(prim, pair[1])?],
            bounds,
            drives,
            break_force: finite(prim, "physics:breakForce")?.filter(|v| (0.0..ENDLESS).contains(v)),
            break_torque: finite(prim, "physics:breakTorque")?.filter(|v| (0.0..ENDLESS).contains(v)),
            collides: holds(prim, "physics:collisionEnabled", false)?,
            patch: word(prim, "sinew:joint")?,
        });
        Ok(())
    }
}

/// What a prim says of its mass; the schema need not be applied, as files made by hand often forget.
fn mass(prim: &Prim) -> Result<MassFact, Error> {
    let positive =
        |name: &str| -> Result<Option<f64>, Error> { Ok(finite(prim, name)?.filter(|v| *v > 0.0)) };
    let three = |name: &str| -> Result<Option<DVec3>, Error> {
        let v = loose(prim, name)?;
        Ok((v.len() == 3).then(|| DVec3::from_slice(&v)).filter(|v| v.is_finite()))
    };
    let axes = loose(prim, "physics:principalAxes")?;
    let axes =
        (axes.len() == 4).then(|| DQuat::from_slice(&axes)).filter(|q| q.is_finite() && q.length() > 1e-6);
    Ok(MassFact {
        mass: positive("physics:mass")?,
        density: positive("physics:density")?,
        center: three("physics:centerOfMass")?,
        inertia: three("physics:diagonalInertia")?.filter(|v| *v != DVec3::ZERO),
        axes: axes.map(DQuat::normalize),
    })
}

/// The physics material that is bound to a prim, or to the nearest ancestor that binds one.
fn material(prim: &Prim) -> Result<Option<MaterialFact>, Error> {
    for name in ["material:binding:physics", "material:binding"] {
        let mut at = Some(prim.clone());
        while let Some(here) = at {
            if let Some(path) = targets(&here, name)?.first() {
                let found = prim.stage().prim(path).map_err(|e| Error::input(said(&e)))?;
                let schemas = found.api_schemas().map_err(|e| Error::input(said(&e)))?;
                if schemas.iter().any(|s| s.as_str() == "PhysicsMaterialAPI") {
                    let number = |name: &str| -> Result<f64, Error> {
                        Ok(finite(&found, name)?.filter(|v| *v >= 0.0).unwrap_or(0.0))
                    };
                    return Ok(Some(MaterialFact {
                        friction: number("physics:dynamicFriction")?,
                        grip: number("physics:staticFriction")?,
                        bounce: number("physics:restitution")?.min(1.0),
                        density: Some(number("physics:density")?).filter(|d| *d > 0.0),
                    }));
                }
                break;
            }
            at = here.parent();
        }
    }
    Ok(None)
}
