//! The compiled scene: indices instead of names, masses, paths, and settings with their curves. Immutable while
//! it is simulated, shared between threads; a live change makes a new one.

mod apart;
mod collider;
mod compile;
mod deform;
mod firm;
mod floor;
mod form;
mod hand;
mod hit;
mod joints;
mod mass;
mod names;
mod only;
mod order;
mod pin;
mod range;
mod release;
mod settings;
mod touch;
mod vessel;
mod world;

pub use collider::{Carrier, Coating, Collider, Colliders, Material};
pub use compile::{Compiled, compile};
pub use hand::Hand;
pub use hit::{Hit, Impulse};
pub use joints::solver;
pub use names::resolve_node;
pub use range::{Range, frame_rate, range};
pub use release::Release;
pub use settings::{Drive, GroupFactors, Setting, Settings, Value};
pub use touch::ColliderNote;
pub use vessel::Vessel;

use crate::guide::{Path, Tracker, WaitLink};
use crate::joint::Joint;
use crate::scene::Placement;
use crate::setup::{Parts, Region, Tier, Weight};
use glam::DVec3;
use std::sync::Arc;

/// A compiled scene and set-up.
#[derive(Clone, Debug)]
pub struct Rig {
    /// The simulated bodies, parents before children.
    pub solids: Vec<Solid>,
    /// Paths that trackers, frames and keys refer to.
    pub paths: Arc<Vec<Path>>,
    /// Targets.
    pub trackers: Vec<Tracker>,
    /// Waits between targets.
    pub waits: Vec<WaitLink>,
    /// What holds solids together.
    pub joints: Vec<Joint>,
    /// What touches.
    pub colliders: Colliders,
    /// Hands of a live session.
    pub hands: Vec<Hand>,
    /// Blows without an object.
    pub impulses: Vec<Impulse>,
    /// Factors of the groups that solids are members of.
    pub groups: Vec<GroupFactors>,
    /// Gravity, fields, time.
    pub world: World,
    /// How joints are solved.
    pub solver: Solver,
    /// What is simulated and sampled.
    pub range: Range,
    /// What carries the simulation, where not all of its motion is felt.
    pub vessel: Option<Vessel>,
}

/// One simulated body.
#[derive(Clone, Debug)]
pub struct Solid {
    /// The scene's node.
    pub node: usize,
    /// How messages call it.
    pub label: String,
    /// How a set-up and reports call it: its name, or `#index` where that is missing or used twice.
    pub name: String,
    /// kg.
    pub mass: f64,
    /// Principal moments, kg unit^2.
    pub inertia: DVec3,
    /// One over each of them.
    pub per_inertia: DVec3,
    /// Radius of a ball of the same volume, scene units.
    pub radius: f64,
    /// The solid's frame (centre of mass, principal axes) in the node's.
    pub offset: Placement,
    /// Which parts are simulated; the others are held on `hold`.
    pub simulate: Parts,
    /// The keyed pose, which also holds the parts that are not simulated: a path in the frame of the nearest simulated
    /// ancestor, or in the world.
    pub hold: (usize, Frame),
    /// Frame of the guide's path.
    pub frame: Frame,
    /// Target of the position, if it is guided.
    pub position_target: Option<usize>,
    /// Target of the orientation, if it is guided.
    pub rotation_target: Option<usize>,
    /// Actuator settings; boxed, since a step reads everything here but these.
    pub settings: Box<Settings>,
    /// Groups it is a member of.
    pub groups: Vec<usize>,
    /// Whether a setting or a factor changes over time.
    pub keyed: bool,
    /// Starting velocity (units/s) and spin (rad/s, world).
    pub start: (DVec3, DVec3),
    /// Whether gravity is made up for from the first step.
    pub start_balanced: bool,
    /// How much of what hangs on it its muscle knows to hold up.
    pub weight: Weight,
    /// It carries its figure, as roots and legs do.
    pub stance: bool,
    /// How the figure that it leads takes a blow.
    pub hit: Option<Hit>,
    /// Keyed until physics takes over.
    pub release: Option<Release>,
    /// Whether its motion is written back.
    pub baked: bool,
}

/// What a path is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Nothing.
    World,
    /// A simulated body, by its index.
    Solid(usize),
    /// A node that follows its keys, by the index of its path.
    Keys(usize),
}

/// How joints are solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solver {
    /// What solves them.
    pub tier: Tier,
    /// Most rounds per step.
    pub rounds: usize,
    /// Most iterations per round, for the iterative tier.
    pub iterations: usize,
    /// Most time per step.
    pub budget: Option<std::time::Duration>,
    /// How often a step that fails is halved.
    pub halvings: usize,
    /// How many threads take part, at least 1.
    pub threads: usize,
    /// A limit was asked for: a step that meets it ends with its joints as they are, and is not halved.
    pub limited: bool,
}

impl Solver {
    /// The linear solver of one round.
    pub fn method(&self) -> crate::solve::Tier {
        match self.tier {
            Tier::Direct => crate::solve::Tier::Direct,
            Tier::Iterative => crate::solve::Tier::Iterative(crate::solve::Budget {
                iterations: self.iterations,
                ..crate::solve::Budget::default()
            }),
            Tier::Pairwise => crate::solve::Tier::Pairwise,
        }
    }
}

/// Gravity, fields and time, in scene units.
#[derive(Clone, Debug)]
pub struct World {
    /// Scene units per second squared.
    pub gravity: DVec3,
    /// Multiplies gravity.
    pub gravity_scale: Value,
    /// Multiplies the time that physics sees.
    pub time_scale: Value,
    /// Wind and drag.
    pub fields: Vec<Field>,
    /// Metres per scene unit: for what is reported in newtons.
    pub metres_per_unit: f64,
}

/// A compiled field.
#[derive(Clone, Debug)]
pub enum Field {
    /// Air that moves.
    Wind {
        /// Scene units per second at strength 1.
        velocity: DVec3,
        /// Multiplies the velocity.
        strength: Value,
        /// kg per cubic scene unit.
        air_density: f64,
        /// Where.
        region: Option<Region>,
    },
    /// Loss of velocity per second.
    Drag {
        /// 1/s.
        rate: Value,
        /// 1/s, of spin.
        spin_rate: Value,
        /// Where.
        region: Option<Region>,
    },
}

impl World {
    /// Whether gravity and fields are the same at all times.
    pub fn is_steady(&self) -> bool {
        let steady = |f: &Field| match f {
            Field::Wind { strength, .. } => !strength.keyed(),
            Field::Drag { rate, spin_rate, .. } => !rate.keyed() && !spin_rate.keyed(),
        };
        !self.gravity_scale.keyed() && self.fields.iter().all(steady)
    }
}

impl Rig {
    /// The effective actuator of a solid at `time` (s): its settings times its groups' factors.
    pub fn drive(&self, solid: usize, time: f64) -> Drive {
        let s = &self.solids[solid];
        let factors = s.groups.iter().map(|&g| &self.groups[g]);
        s.settings.drive(factors, time)
    }

    /// Share of physics (0 keys .. 1 physics) in what is seen of a solid at `time` (s), groups multiplied in.
    pub fn blend(&self, solid: usize, time: f64) -> f64 {
        let s = &self.solids[solid];
        let groups = s.groups.iter().map(|&g| self.groups[g].blend.at(time));
        groups.fold(s.settings.value(Setting::Blend).at(time), |all, g| all * g).clamp(0.0, 1.0)
    }

    /// Where the keys put a solid at `time` (s).
    pub fn keyed(&self, solid: usize, time: f64) -> Placement {
        compile::keyed(&self.paths, &self.solids, self.solids[solid].hold, time)
    }

    /// The simulated ancestor that carries a solid.
    pub fn carrier(&self, solid: usize) -> Option<usize> {
        match self.solids[solid].hold.1 {
            Frame::Solid(c) => Some(c),
            Frame::World | Frame::Keys(_) => None,
        }
    }

    /// The solid on a node.
    pub fn solid_of_node(&self, node: usize) -> Option<usize> {
        self.solids.iter().position(|s| s.node == node)
    }

    /// Makes everything that is keyed over time begin anew with every turn of a loop.
    fn repeat_settings(&mut self) {
        let cycle = (self.range.start(), self.range.length());
        let world = &mut self.world;
        world.gravity_scale.repeat(cycle);
        world.time_scale.repeat(cycle);
        for field in &mut world.fields {
            match field {
                Field::Wind { strength, .. } => strength.repeat(cycle),
                Field::Drag { rate, spin_rate, .. } => {
                    rate.repeat(cycle);
                    spin_rate.repeat(cycle);
                }
            }
        }
        for g in &mut self.groups {
            for v in [&mut g.strength, &mut g.damping, &mut g.compensation, &mut g.blend] {
                v.repeat(cycle);
            }
        }
        for setting in Setting::ALL {
            self.solids.iter_mut().for_each(|s| s.settings.value_mut(setting).repeat(cycle));
        }
        for joint in &mut self.joints {
            let spring =
                joint.spring.iter_mut().flat_map(|s| [&mut s.slide, &mut s.turn]).flatten().flatten();
            spring.chain([&mut joint.rest]).chain(&mut joint.holds.on).for_each(|v| v.repeat(cycle));
        }
    }

    /// A copy of one setting changed to a constant, for live sessions.
    pub fn set(&mut self, solid: usize, setting: Setting, value: f64) {
        let s = &mut self.solids[solid];
        *s.settings.value_mut(setting) = Value::constant(value);
        let groups = &self.groups;
        s.keyed = s.settings.keyed() || s.groups.iter().any(|&g| groups[g].keyed());
    }
}
