//! Scene + Setup -> Rig: names become indices, keys become paths, and everything that cannot work is refused
//! here by name, so that the simulation itself has nothing left to fail on but numbers.

use super::mass::mass;
use super::names::{resolve_bodies, resolve_node};
use super::{ColliderNote, Frame, GroupFactors, Rig, Setting, Settings, Solid, Value, order, range};
use crate::curve::CurveError;
use crate::cycle;
use crate::guide::path::Accuracy;
use crate::guide::{Path, Tracker, WaitLink, deadlock};
use crate::scene::{Clip, Placement, Pose, Scene};
use crate::setup::{
    self, Behaviour, Body, Keyable, Limit, Parts, Resolved, Setup, SetupError, Space, Targets, Timing,
};
use glam::DVec3;
use std::collections::{HashMap, HashSet};

/// A rig, and what compiling it found worth saying.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The rig.
    pub rig: Rig,
    /// Per solid, how its mass was found.
    pub mass_notes: Vec<String>,
    /// Per body that touches, how its collider was found.
    pub collider_notes: Vec<ColliderNote>,
    /// What will work, but perhaps not as meant.
    pub warnings: Vec<String>,
}

/// Compiles `setup` on `scene` under the clip that guides (`None`: the rest pose).
pub fn compile(scene: &Scene, setup: &Setup, clip: Option<&Clip>) -> Result<Compiled, SetupError> {
    setup.bake.check()?;
    let bodies = resolve_bodies(scene, setup)?;
    let reduced = setup::detail::reduce(scene, setup, &bodies)?;
    let setup = reduced.setup.as_ref();
    let splined = setup::through::respline(scene, setup, clip, &bodies)?;
    let clip = splined.as_ref().or(clip);
    // Targets that the clock does not move alone may be late.
    let until_arrival = setup.bodies.iter().any(|b| {
        b.behaviour == Behaviour::Guided && (b.guide.timing != Timing::Timed || !b.guide.waits.is_empty())
    });
    let mut range = range(scene, setup, clip, until_arrival)?;
    let mut warnings = Vec::new();
    let cyclic = cycle::keys(scene, setup, clip, &mut range, &mut warnings)?;
    let clip = cyclic.as_ref().or(clip);
    let mut pose = Pose::new(scene, clip);
    pose.evaluate(range.start());
    let mut compiler = Compiler {
        scene,
        setup,
        pose: &pose,
        children: scene.children(),
        names: scene.by_name(),
        start: range.start(),
        range,
        frames_per_second: range.frames_per_second,
        mpu: setup.world.metres_per_unit,
        paths: Vec::new(),
        trackers: Vec::new(),
        solids: Vec::new(),
        solid_of_node: HashMap::new(),
        notes: Vec::new(),
        warnings,
        skins: skins(scene, setup, &pose, &bodies),
        vessel: None,
        idle: reduced.idle,
        firm: Vec::new(),
    };
    compiler.vessel = compiler.board()?;
    let mpu = compiler.mpu;
    if !(mpu.is_finite() && mpu > 0.0) {
        return Err(SetupError::new("world.metres_per_unit", format!("{mpu} must be above 0")));
    }
    let mut groups = compiler.groups()?;
    let hung = order::hung(scene, setup, &bodies)?;
    for (node, b) in order::figure_by_figure(scene, setup, &bodies, &hung)? {
        compiler.solid(node, b, hung.get(&node).copied())?;
    }
    groups.append(&mut compiler.firm);
    let world = compiler.world()?;
    let waits = compiler.waits(&bodies)?;
    let mut joints = compiler.joints()?;
    let pins = compiler.pins(&bodies, &joints, &groups)?;
    joints.extend(pins);
    let impulses = compiler.impulses()?;
    let (colliders, collider_notes) = compiler.colliders(&bodies)?;
    let Compiler { mut solids, paths, trackers, notes, warnings, vessel, .. } = compiler;
    super::only::choose(scene, setup, &bodies, &mut solids)?;
    for solid in &mut solids {
        solid.keyed = solid.settings.keyed() || solid.groups.iter().any(|&g: &usize| groups[g].keyed());
    }
    let solver = super::joints::solver(&setup.world.solver, &joints)?;
    let mut rig = Rig {
        solver,
        solids,
        paths: paths.into(),
        trackers,
        waits,
        joints,
        colliders,
        hands: Vec::new(),
        impulses,
        groups,
        world,
        range,
        vessel: vessel.map(|v| v.1),
    };
    if range.turns > 1 {
        rig.repeat_settings();
    }
    Ok(Compiled { rig, mass_notes: notes, collider_notes, warnings })
}

pub(super) struct Compiler<'a> {
    pub(super) scene: &'a Scene,
    pub(super) setup: &'a Setup,
    pub(super) pose: &'a Pose<'a>,
    pub(super) children: Vec<Vec<usize>>,
    pub(super) names: HashMap<&'a str, Vec<usize>>,
    pub(super) start: f64,
    pub(super) range: super::Range,
    pub(super) frames_per_second: f64,
    pub(super) mpu: f64,
    pub(super) paths: Vec<Path>,
    pub(super) trackers: Vec<Tracker>,
    pub(super) solids: Vec<Solid>,
    pub(super) solid_of_node: HashMap<usize, usize>,
    pub(super) notes: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// Vertices that follow bones, where shapes are made of them.
    skins: HashMap<usize, Vec<DVec3>>,
    /// The node that carries the simulation.
    pub(super) vessel: Option<(usize, super::Vessel)>,
    /// Joints of the set-up that hold nothing, since there is less detail.
    pub(super) idle: HashSet<usize>,
    /// Factors that bodies have of their own, numbered after those of groups.
    firm: Vec<GroupFactors>,
}

/// The vertices that follow each body that is a bone, in its rigid frame; none where no shape asks for them.
fn skins(
    scene: &Scene,
    setup: &Setup,
    pose: &Pose,
    bodies: &HashMap<usize, usize>,
) -> HashMap<usize, Vec<DVec3>> {
    let asks = |b: &Body| matches!(b.shape, setup::Shape::Hull {} | setup::Shape::Compound { .. });
    match scene.skins.is_empty() || !setup.bodies.iter().any(asks) {
        true => HashMap::new(),
        false => crate::character::vertices(scene, pose, &bodies.keys().copied().collect()),
    }
}

/// A key whose numbers are no curve, said with its place.
pub(super) fn curve_error(place: impl Into<String>) -> impl FnOnce(CurveError) -> SetupError {
    move |e| SetupError::new(place, e.to_string())
}

impl Compiler<'_> {
    /// The vertices of skins that follow a bone.
    pub(super) fn skin(&self, node: usize) -> &[DVec3] {
        self.skins.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The path of something in the world, as the simulation sees it.
    pub(super) fn path(&mut self, node: usize, sample: impl Fn(f64) -> Placement) -> usize {
        let (breaks, steps) = self.pose.breaks(node);
        match self.vessel.clone() {
            None => self.path_between(node, (breaks, steps), sample),
            Some((carrier, vessel)) => {
                let (own, jumps) = self.pose.breaks(carrier);
                let mut all = [breaks, own].concat();
                all.sort_by(f64::total_cmp);
                all.dedup();
                self.path_between(node, (all, steps || jumps), move |t| vessel.into_space(t).then(&sample(t)))
            }
        }
    }

    pub(super) fn path_between(
        &mut self,
        node: usize,
        (breaks, steps): (Vec<f64>, bool),
        sample: impl Fn(f64) -> Placement,
    ) -> usize {
        let keys = self.pose.keys(node);
        let at_breaks: Vec<Placement> = breaks.iter().map(|&t| sample(t)).collect();
        let extent = at_breaks.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(lo, hi), p| {
            (lo.min(p.position), hi.max(p.position))
        });
        // A ten-millionth of how far it goes: far below the f32 that files store.
        let size = (extent.1 - extent.0).length().max(1e-6);
        let accuracy = Accuracy { position: 1e-7 * size, rotation: 1e-6 };
        self.paths.push(Path::compile(&breaks, &at_breaks, keys, accuracy, steps, sample));
        self.paths.len() - 1
    }

    /// Compiles a body; `hung` is what it hangs on, if that is not its nearest simulated ancestor.
    fn solid(&mut self, node: usize, b: usize, hung: Option<usize>) -> Result<(), SetupError> {
        let (scene, pose) = (self.scene, self.pose);
        let body = &self.setup.bodies[b];
        let place = format!("bodies[{b}] {}", scene.label(node));
        let (properties, how) =
            mass(scene, pose, &self.children, node, body, &place, self.mpu, self.skin(node))?;
        let (inertia, axes) = properties.principal();
        // A solid that only turns is held at its node's origin, so that is what it turns about.
        let center = if body.simulate == Parts::Orientation { DVec3::ZERO } else { properties.center };
        let offset = Placement { position: center, rotation: axes };
        let above = std::iter::successors(scene.nodes[node].parent, |&p| scene.nodes[p].parent);
        let carrier = hung.into_iter().chain(above).find_map(|p| self.solid_of_node.get(&p).copied());
        // The keyed pose as seen from the nearest simulated ancestor, else from the parent.
        let in_world = move |t: f64| pose.placement_at(node, t).then(&offset);
        let hold = match carrier {
            Some(s) => {
                let (of, its) = (self.solids[s].node, self.solids[s].offset);
                (self.relative_path(node, offset, of, its), Frame::Solid(s))
            }
            None => (self.path(node, in_world), Frame::World),
        };
        let (guide_path, frame) = match (body.guide.space, carrier, scene.nodes[node].parent) {
            (Space::Parent, Some(_), _) => hold,
            (Space::Parent, None, Some(parent)) => {
                let theirs = self.path(parent, move |t| pose.placement_at(parent, t));
                (self.relative_path(node, offset, parent, Placement::IDENTITY), Frame::Keys(theirs))
            }
            (_, Some(_), _) if body.behaviour == Behaviour::Guided => {
                (self.path(node, in_world), Frame::World)
            }
            _ => hold,
        };

        let solid = self.solids.len();
        let (position_target, rotation_target) = self.targets(body, &place, solid, guide_path)?;
        let resolved = body.actuator.resolve(self.setup.looseness);
        let settings = self.settings(body, &place, &properties, &self.paths[guide_path])?;
        let mut groups = Vec::with_capacity(body.groups.len());
        for name in &body.groups {
            let Some(g) = self.setup.groups.iter().position(|g| g.name == *name) else {
                let meant = setup::nearest(name, self.setup.groups.iter().map(|g| g.name.as_str()));
                let remedy =
                    meant.map_or("add it to \"groups\"".into(), |m| format!("did you mean \"{m}\"?"));
                return Err(SetupError::new(
                    format!("{place}.groups"),
                    format!("there is no group \"{name}\"; {remedy}"),
                ));
            };
            if groups.contains(&g) {
                let twice = format!("\"{name}\" is there twice; keep one");
                return Err(SetupError::new(format!("{place}.groups"), twice));
            }
            groups.push(g);
        }
        if let Some(factors) = self.firmness(body, &place, guide_path)? {
            groups.push(self.setup.groups.len() + self.firm.len());
            self.firm.push(factors);
        }
        let (velocity, spin) = match body.behaviour == Behaviour::Guided && body.guide.timing != Timing::Timed
        {
            true => (DVec3::ZERO, DVec3::ZERO), // the paper's objects start from rest
            false => self.keyed_velocity(hold),
        };
        let start = self.starting(body, in_world(self.start).position, (velocity, spin));
        if !(start.0.is_finite() && start.1.is_finite()) {
            return Err(SetupError::new(place, "the starting velocity or spin is not a finite number"));
        }
        self.solids.push(Solid {
            node,
            label: scene.label(node),
            name: scene.reference(&self.names, node),
            mass: properties.mass,
            inertia,
            per_inertia: inertia.recip(),
            radius: properties.radius,
            offset,
            simulate: body.simulate,
            hold,
            frame,
            position_target,
            rotation_target,
            settings: Box::new(settings),
            groups,
            keyed: false,
            start,
            start_balanced: resolved.start_balanced,
            weight: resolved.weight,
            stance: body.actuator.stance == Some(true),
            hit: self.hit(body, &place)?,
            release: self.release(body, &place)?,
            baked: true,
        });
        self.solid_of_node.insert(node, solid);
        self.notes.push(how);
        Ok(())
    }

    /// The path of a node's solid as seen from another's: of what lies between the two alone where that is an ancestor's and
    /// nothing above scales unevenly, since a deep hierarchy would otherwise be asked all over at every key of every ancestor.
    pub(super) fn relative_path(
        &mut self,
        node: usize,
        offset: Placement,
        other: usize,
        its: Placement,
    ) -> usize {
        let (pose, scene) = (self.pose, self.scene);
        let mut above = std::iter::successors(scene.nodes[node].parent, |&p| scene.nodes[p].parent);
        if !above.any(|p| p == other) {
            let ((mut breaks, steps), (others, jumps)) = (pose.breaks(node), pose.breaks(other));
            breaks.extend(others);
            breaks.sort_by(f64::total_cmp);
            breaks.dedup();
            return self.path_between(node, (breaks, steps || jumps), move |t| {
                let theirs = pose.placement_at(other, t).then(&its);
                theirs.to(&pose.placement_at(node, t).then(&offset))
            });
        }
        if let Some(factor) = pose.even_scale(other) {
            return self.path_between(node, pose.breaks_below(Some(other), node), move |t| {
                let mut seen = pose.placement_below(Some(other), node, t);
                seen.position *= factor;
                its.to(&seen.then(&offset))
            });
        }
        self.path_between(node, pose.breaks(node), move |t| {
            let theirs = pose.placement_at(other, t).then(&its);
            theirs.to(&pose.placement_at(node, t).then(&offset))
        })
    }

    /// Velocity and spin of a keyed pose in the world at the start, from its path in a frame.
    fn keyed_velocity(&self, (path, frame): (usize, Frame)) -> (DVec3, DVec3) {
        // A file's first key may be a rounding after the frame that it is meant for.
        let begins = self.paths[path].start();
        let late = begins - self.start;
        let time = if late > 0.0 && late < ROUNDING * begins.abs() { begins } else { self.start };
        let own = self.paths[path].velocity(time);
        let Frame::Solid(carrier) = frame else { return own };
        let hold = self.solids[carrier].hold;
        let (velocity, spin) = self.keyed_velocity(hold);
        let turn = keyed(&self.paths, &self.solids, hold, self.start).rotation;
        let lever = turn * self.paths[path].placement(self.start).position;
        (velocity + spin.cross(lever) + turn * own.0, spin + turn * own.1)
    }

    fn targets(
        &mut self,
        body: &Body,
        place: &str,
        solid: usize,
        path: usize,
    ) -> Result<(Option<usize>, Option<usize>), SetupError> {
        if body.behaviour != Behaviour::Guided {
            return Ok((None, None));
        }
        let guide = &body.guide;
        let position = guide.follow.position() && body.simulate.position();
        let orientation = guide.follow.orientation() && body.simulate.orientation();
        let catch_up = guide.catch_up.unwrap_or(2.0);
        if !(catch_up.is_finite() && catch_up >= 1.0) {
            return Err(SetupError::new(
                format!("{place}.guide.catch_up"),
                format!("{catch_up} must be 1 or more"),
            ));
        }
        let mut speeds = Vec::with_capacity(guide.speeds.len());
        for s in &guide.speeds {
            let at = self.key_time(path, s.key, &format!("{place}.guide.speeds"))?;
            if !(s.speed.is_finite() && s.speed >= 0.0) {
                return Err(SetupError::new(
                    format!("{place}.guide.speeds"),
                    format!("speed {} must be 0 or more", s.speed),
                ));
            }
            speeds.push((at, s.speed));
        }
        speeds.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(pair) = speeds.windows(2).find(|p| p[0].0 == p[1].0) {
            return Err(SetupError::new(
                format!("{place}.guide.speeds"),
                format!("the key at {:.3} s has two speeds; keep one", pair[0].0),
            ));
        }
        if guide.timing == Timing::Speeds && !position {
            return Err(SetupError::new(
                format!("{place}.guide.timing"),
                "\"speeds\" are of a position, and the position is not guided; take \"path\" or \"timed\"",
            ));
        }
        let idle = [
            (guide.timing != Timing::Speeds && !speeds.is_empty(), "guide.speeds", "speeds"),
            (guide.timing != Timing::Timed && guide.catch_up.is_some(), "guide.catch_up", "timed"),
            (guide.timing != Timing::Timed && body.actuator.keep_up.is_some(), "actuator.keep_up", "timed"),
        ];
        for (_, field, timing) in idle.into_iter().filter(|i| i.0) {
            self.warnings.push(format!("{place}.{field} has no effect without \"timing\": \"{timing}\""));
        }
        if guide.timing == Timing::Speeds && speeds.is_empty() {
            return Err(SetupError::new(
                format!("{place}.guide.speeds"),
                "\"timing\": \"speeds\" needs preferred speeds: [{\"key\": 0, \"speed\": 1.0}, ...]",
            ));
        }
        let tracker = |position, orientation| Tracker {
            path,
            solid,
            position,
            orientation,
            timing: guide.timing,
            catch_up,
            speeds: speeds.clone(),
        };
        let mut add = |t: Tracker| {
            self.trackers.push(t);
            self.trackers.len() - 1
        };
        Ok(match (position, orientation) {
            (true, true) if guide.targets == Targets::Together => {
                let shared = add(tracker(true, true));
                (Some(shared), Some(shared))
            }
            _ => {
                (position.then(|| add(tracker(true, false))), orientation.then(|| add(tracker(false, true))))
            }
        })
    }

    pub(super) fn key_time(&self, path: usize, key: usize, place: &str) -> Result<f64, SetupError> {
        let keys = &self.paths[path].keys;
        keys.get(key).copied().ok_or_else(|| {
            SetupError::new(
                place,
                format!("there is no key {key}; the node has {} (counted from 0)", keys.len()),
            )
        })
    }

    fn settings(
        &self,
        body: &Body,
        place: &str,
        properties: &crate::shape::MassProperties,
        path: &Path,
    ) -> Result<Settings, SetupError> {
        if let Some(c) = body.actuator.carries.filter(|c| !(c.is_finite() && *c >= 1.0)) {
            return Err(SetupError::new(
                format!("{place}.actuator.carries"),
                format!("{c} must be 1 or more"),
            ));
        }
        let slider = [
            ("looseness".to_string(), self.setup.looseness),
            (format!("{place}.actuator.looseness"), body.actuator.looseness),
        ];
        for (place, looseness) in slider {
            if let Some(l) = looseness.filter(|l| !(0.0..=1.0).contains(l)) {
                return Err(SetupError::new(place, format!("{l} must be from 0, the keys, to 1, a ragdoll")));
            }
        }
        if let Some(f) = &body.actuator.frequency {
            check(&format!("{place}.actuator.frequency"), f, 0.0, MOST_HERTZ)?;
        }
        let r: Resolved = body.actuator.resolve(self.setup.looseness);
        let place =
            |s: Setting| format!("{place}.{}.{}", if s as u32 >= 8 { "guide" } else { "actuator" }, s.name());
        let value = |s: Setting, v: &Keyable, unit: f64| {
            let (lo, hi) = s.range();
            check(&place(s), v, lo, hi)?;
            Value::scaled(v, unit).map_err(curve_error(place(s)))
        };
        // Weight in kg unit/s^2 under standard gravity, whatever the scene's gravity is: strength is the body's.
        let weight = properties.mass * 9.81 / self.mpu;
        let limit = |s: Setting, l: &Limit, unit: f64, weights: f64| match l {
            Limit::Unlimited => Ok(Value::constant(f64::INFINITY)),
            Limit::Absolute(v) => value(s, v, unit),
            Limit::Weights(v) => value(s, v, weights),
        };
        let stiffness = 2.0 * r.alpha.first() / (r.relaxation_time.first() * r.relaxation_time.first());
        let base_distance = match &body.guide.base_distance {
            Some(v) => value(Setting::BaseDistance, v, 1.0)?,
            None => Value::constant(default_distance(body, properties.radius, path, stiffness.sqrt())),
        };
        let degree = std::f64::consts::PI / 180.0;
        let default_angle = if body.guide.timing == Timing::Timed { 120.0 } else { 45.0 };
        let base_angle = body.guide.base_angle_deg.clone().unwrap_or(Keyable::Constant(default_angle));
        Ok(Settings::new([
            value(Setting::Alpha, &r.alpha, 1.0)?,
            value(Setting::Damping, &r.damping, 1.0)?,
            value(Setting::RelaxationTime, &r.relaxation_time, 1.0)?,
            limit(Setting::MaxForce, &r.max_force, 1.0 / self.mpu, weight)?,
            limit(
                Setting::MaxTorque,
                &r.max_torque,
                1.0 / (self.mpu * self.mpu),
                weight * properties.radius,
            )?,
            value(Setting::Compensation, &r.compensation, 1.0)?,
            value(Setting::KeepUp, &r.keep_up, 1.0)?,
            value(Setting::Blend, &r.blend, 1.0)?,
            base_distance,
            value(Setting::BaseAngle, &base_angle, degree)?,
            value(Setting::Anticipation, &r.anticipation, 1.0)?,
            value(Setting::Balance, &r.balance, 1.0)?,
        ]))
    }

    fn waits(&mut self, bodies: &HashMap<usize, usize>) -> Result<Vec<WaitLink>, SetupError> {
        let names = self.scene.by_name();
        let mut links = Vec::new();
        for (solid, s) in self.solids.iter().enumerate() {
            let b = bodies[&s.node];
            for (w, wait) in self.setup.bodies[b].guide.waits.iter().enumerate() {
                let place = format!("bodies[{b}] {}.guide.waits[{w}]", s.label);
                let other = resolve_node(self.scene, &names, &wait.for_node, &place)?;
                let target_of = |solid: Option<&usize>| solid.and_then(|&s| self.targets_of(s).next());
                let Some(awaited) = target_of(self.solid_of_node.get(&other)) else {
                    return Err(SetupError::new(
                        place,
                        format!("{} is not guided, so nobody can wait for it", self.scene.label(other)),
                    ));
                };
                let at = self.key_time(self.solids[solid].hold.0, wait.at_key, &place)?;
                let passes = self.key_time(self.trackers[awaited].path, wait.passes_key, &place)?;
                for waiting in self.targets_of(solid) {
                    links.push(WaitLink { waiting, at, awaited, passes });
                }
            }
        }
        let stuck = deadlock(&links, self.trackers.len());
        if let Some(l) = stuck.first() {
            let label = |t: usize| self.solids[self.trackers[t].solid].label.clone();
            return Err(SetupError::new(
                "guide.waits",
                format!(
                    "{} and {} wait for each other and would never move on; remove one of the waits at {} s",
                    label(l.waiting),
                    label(l.awaited),
                    l.at
                ),
            ));
        }
        Ok(links)
    }

    fn targets_of(&self, solid: usize) -> impl Iterator<Item = usize> + use<'_> {
        let s = &self.solids[solid];
        let second = s.rotation_target.filter(|t| Some(*t) != s.position_target);
        s.position_target.into_iter().chain(second)
    }
}

/// Times of files are single numbers: this part of one is no time at all.
const ROUNDING: f64 = 1e-6;

/// Where the keys put a solid in the world: its path, in the frame of its keyed carrier.
pub(super) fn keyed(paths: &[Path], solids: &[Solid], (path, frame): (usize, Frame), time: f64) -> Placement {
    let own = paths[path].placement(time);
    match frame {
        Frame::World => own,
        Frame::Keys(p) => paths[p].placement(time).then(&own),
        Frame::Solid(s) => keyed(paths, solids, solids[s].hold, time).then(&own),
    }
}

/// A base distance for a guide that has none: `path` guides look a body's width ahead; `timed` ones leave room
/// for the lag of the fastest keys, so that the leash only holds when something is in the way.
fn default_distance(body: &Body, radius: f64, path: &Path, rad_per_s: f64) -> f64 {
    let width = 2.0 * radius;
    if body.guide.timing != Timing::Timed {
        return width.max(1e-9);
    }
    let lag = 4.0 * path.fastest().0 / rad_per_s.max(1e-6);
    (4.0 * width).max(lag).max(1e-9)
}

/// Refuses numbers outside `[lo, hi]` by place.
pub(super) fn check(place: &str, v: &Keyable, lo: f64, hi: f64) -> Result<(), SetupError> {
    let bad = v.values().into_iter().find(|x| !(*x >= lo && *x <= hi) || x.is_nan());
    match bad {
        None => Ok(()),
        Some(x) if hi == f64::MAX || hi == f64::INFINITY => Err(SetupError::new(
            place,
            format!("{x} is out of range; give {} or more", if lo == 0.0 { 0.0 } else { lo }),
        )),
        Some(x) => Err(SetupError::new(place, format!("{x} is out of range; give {lo} to {hi}"))),
    }
}

/// Faster than this no actuator answers within numbers, Hz.
const MOST_HERTZ: f64 = 1e6;
