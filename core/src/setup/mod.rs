//! The animator's physics: which objects are simulated, how they are guided, how strong their actuators are.
//!
//! This is the content of a set-up file (`NAME.sinew.json`), and what the C ABI edits. Everything has a default,
//! and [`automatic`] makes a whole set-up from a scene with keys and nothing else. Lengths are in scene units,
//! seconds, kilograms; angles that people type are in degrees and say so in their names.

mod automatic;
mod bake;
mod character;
mod contact;
pub(crate) mod detail;
mod hard_key;
mod hit;
mod joint;
mod keyable;
mod looseness;
mod pin;
mod preset;
mod read;
mod release;
mod shape;
mod solver;
pub(crate) mod through;
mod vessel;
mod write;

pub use crate::character::Wish;
pub use automatic::{Choice, automatic, automatic_with, choose_clip, explain, remarks};
pub use bake::{Bake, BakedDeformation, BakedKeys, BakedLayer};
pub use contact::{Coating, Contact};
pub use hard_key::HardKey;
pub use hit::{Hit, Impulse};
pub use joint::{At, Direction, Give, Joint, JointFrame, JointKind, Swing};
pub use keyable::{Between, Keyable, Keys};
pub use looseness::{AS_WRITTEN, Weight};
pub use pin::Pin;
pub use preset::{Preset, Resolved, Root};
pub use read::{SetupError, from_json, nearest, schema, to_json};
pub use release::Release;
pub use shape::{Part, Shape};
pub use solver::{Solver, Tier};
pub use vessel::Vessel;
pub use write::{to_text, to_text_with_sliders};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the set-up format that this program writes and reads.
pub const VERSION: u32 = 1;

/// A whole set-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// For editors: where the schema is. Not read.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Version of this format; 1.
    pub sinew: u32,
    /// Clip that guides, by name or `#index`. Default: the first clip that moves something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<String>,
    /// How loose everything is, from 0, the keys, to 1, a ragdoll, unless a body says otherwise. Default: by their presets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looseness: Option<f64>,
    /// Gravity, fields, time.
    #[serde(default)]
    pub world: World,
    /// Named groups; each multiplies the settings of its members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// The objects that physics knows of.
    #[serde(default)]
    pub bodies: Vec<Body>,
    /// What holds them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joints: Vec<Joint>,
    /// Poses that must be hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hard_keys: Vec<HardKey>,
    /// Blows without an object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<Impulse>,
    /// What is written back.
    #[serde(default)]
    pub bake: Bake,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            schema: None,
            sinew: VERSION,
            clip: None,
            looseness: None,
            world: World::default(),
            groups: Vec::new(),
            bodies: Vec::new(),
            joints: Vec::new(),
            hard_keys: Vec::new(),
            hits: Vec::new(),
            bake: Bake::default(),
        }
    }
}

/// Gravity, fields and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct World {
    /// Acceleration of gravity, m/s^2. Default 0, -9.81, 0.
    pub gravity: [f64; 3],
    /// Multiplies gravity; keyable. Default 1.
    pub gravity_scale: Keyable,
    /// Metres per scene unit, for gravity and densities. Default 1; 0.01 for a scene made in centimetres.
    pub metres_per_unit: f64,
    /// Wind and drag.
    pub fields: Vec<Field>,
    /// How fast physics runs beside the keys: 0.5 makes falls and swings take twice as long. Keyable. Default 1.
    pub time_scale: Keyable,
    /// Simulation steps per frame, at least 1. Default 4. More is finer; the motion hardly changes.
    pub substeps: u32,
    /// Makes the steps within a frame unequal, repeatably: a bake that changes hinges on its steps. Default false.
    pub uneven_substeps: bool,
    /// Simulation steps per second, instead of `substeps`: the motion is then the same at every frame rate, which only
    /// looks at it. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_per_second: Option<f64>,
    /// Frames per second of the bake. Default: the scene's, or 24 where a format has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_per_second: Option<f64>,
    /// How joints are solved.
    #[serde(skip_serializing_if = "Solver::is_default")]
    pub solver: Solver,
    /// Whether bodies touch each other. Default true.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub collisions: bool,
    /// Height of a floor without end, scene units. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// What carries everything that is simulated, if not all of its motion shall be felt. Default: the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<Vessel>,
    /// How many of the limbs that joints hold are simulated, 0 to 1; the lightest stay as keyed on what carries them.
    /// Default 1.
    #[serde(skip_serializing_if = "is_one")]
    pub detail: f64,
}

impl Default for World {
    fn default() -> Self {
        World {
            gravity: [0.0, -9.81, 0.0],
            gravity_scale: Keyable::Constant(1.0),
            metres_per_unit: 1.0,
            fields: Vec::new(),
            time_scale: Keyable::Constant(1.0),
            substeps: 4,
            uneven_substeps: false,
            steps_per_second: None,
            frames_per_second: None,
            solver: Solver::default(),
            collisions: true,
            floor: None,
            space: None,
            detail: 1.0,
        }
    }
}

/// Something in the air.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Field {
    /// Moving air: pushes each body by its size and density, so light things fly and heavy ones lean.
    Wind {
        /// Velocity of the air, m/s.
        velocity: [f64; 3],
        /// Multiplies the velocity; keyable.
        #[serde(default = "one")]
        strength: Keyable,
        /// Density of the air, kg/m^3.
        #[serde(default = "air_density")]
        air_density: f64,
        /// Where it blows. Default everywhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        region: Option<Region>,
    },
    /// Slows everything alike, whatever its mass.
    Drag {
        /// Share of the velocity lost per second, 1/s; keyable.
        rate: Keyable,
        /// The same for spin, 1/s. Default: as `rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spin_rate: Option<Keyable>,
        /// Where it acts. Default everywhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        region: Option<Region>,
    },
}

/// A ball in which a field acts: full strength at the centre, fading smoothly to nothing at the radius.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Centre, world units.
    pub center: [f64; 3],
    /// Radius, world units, above 0.
    pub radius: f64,
}

fn is_one(x: &f64) -> bool {
    *x == 1.0
}

fn one() -> Keyable {
    Keyable::Constant(1.0)
}

/// Air at sea level and 15 degrees Celsius (ISO 2533), kg/m^3.
fn air_density() -> f64 {
    1.225
}

/// A group multiplies the settings of its members. A body may be in several: the factors multiply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name that bodies refer to.
    pub name: String,
    /// Multiplies alpha, the force limit and the torque limit. Default 1.
    #[serde(default = "one")]
    pub strength: Keyable,
    /// Multiplies the damping B. Default 1.
    #[serde(default = "one")]
    pub damping: Keyable,
    /// Multiplies the compensation. Default 1.
    #[serde(default = "one")]
    pub compensation: Keyable,
    /// Multiplies the blend between keys and physics. Default 1.
    #[serde(default = "one")]
    pub blend: Keyable,
}

impl Group {
    /// A group that multiplies strength and nothing else.
    pub fn new(name: impl Into<String>, strength: f64) -> Group {
        Group {
            name: name.into(),
            strength: strength.into(),
            damping: one(),
            compensation: one(),
            blend: one(),
        }
    }
}

/// One object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The scene's node, by name, or `#index` where a name is missing or used twice.
    pub node: String,
    /// Who rules its motion.
    #[serde(default)]
    pub behaviour: Behaviour,
    /// Which parts of its motion are simulated; the rest stays as keyed, relative to its parent.
    #[serde(default)]
    pub simulate: Parts,
    /// Shape, for mass, inertia, wind and contact.
    #[serde(default)]
    pub shape: Shape,
    /// kg/m^3, used when no mass is given. Default 1000, like water and most living things.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// kg. Wins over density.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Moments of inertia about the node's axes through the centre of mass, kg m^2. Default: from the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inertia: Option<[f64; 3]>,
    /// Centre of mass in the node's frame, scene units. Default: from the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub center: Option<[f64; 3]>,
    /// Starting velocity, m/s. Default: what the keys have at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub velocity: Option<[f64; 3]>,
    /// Starting spin, rad/s about world axes. Default: what the keys have at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin: Option<[f64; 3]>,
    /// The target on the keys.
    #[serde(default)]
    pub guide: Guide,
    /// The strength that pulls to the target.
    #[serde(default)]
    pub actuator: Actuator,
    /// Groups it is a member of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// How it touches others.
    #[serde(default, skip_serializing_if = "Contact::is_default")]
    pub contact: Contact,
    /// Keyed until physics takes over. Default: physics has it from the first frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// How the figure that it leads takes a blow. Default: like a statue; figures of automatic set-ups give way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit: Option<Hit>,
    /// When it is held to its keys in the world: feet that stand, hands that hold on. In the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
}

impl Body {
    /// A guided body on a node, everything else by default.
    pub fn new(node: impl Into<String>) -> Self {
        Body {
            node: node.into(),
            behaviour: Behaviour::default(),
            simulate: Parts::default(),
            shape: Shape::default(),
            density: None,
            mass: None,
            inertia: None,
            center: None,
            velocity: None,
            spin: None,
            guide: Guide::default(),
            actuator: Actuator::default(),
            groups: Vec::new(),
            contact: Contact::default(),
            release: None,
            hit: None,
            pins: Vec::new(),
        }
    }
}

/// Who rules an object's motion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// The keys. It is not simulated; what it touches, it pushes.
    Animated,
    /// Nobody: an obstacle, where it is at the first frame. It is not simulated.
    Static,
    /// Actuators pull it to the keys.
    #[default]
    Guided,
    /// Only gravity and fields, starting with the motion that the keys have.
    Free,
}

impl Behaviour {
    /// Whether physics moves it.
    pub fn simulated(self) -> bool {
        matches!(self, Behaviour::Guided | Behaviour::Free)
    }
}

/// Position, orientation, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parts {
    /// Position and orientation.
    #[default]
    Both,
    /// Position only.
    Position,
    /// Orientation only.
    Orientation,
}

impl Parts {
    /// Whether position is among them.
    pub fn position(self) -> bool {
        self != Parts::Orientation
    }

    /// Whether orientation is among them.
    pub fn orientation(self) -> bool {
        self != Parts::Position
    }
}

/// The target on the keys, and how it moves along them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Guide {
    /// What is guided. Parts that are simulated and not guided are free.
    pub follow: Parts,
    /// Whether the keys are chased where they are in the world, or relative to the (simulated) parent.
    pub space: Space,
    /// `parent`: the body in whose frame the keys are chased, if not the nearest simulated ancestor. For feet and hands on IK
    /// bones, which hang beside the limb that they end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What moves the target along the keys.
    pub timing: Timing,
    /// The farthest the target may be from the object, scene units. Default: from the object's size and the
    /// speed of its keys. Small is precise, large is smooth (`path`) or lets fast keys run ahead (`timed`). Keyable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_distance: Option<Keyable>,
    /// The same for orientation, degrees. Default 120 for `timed`, else 45. Keyable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_angle_deg: Option<Keyable>,
    /// Whether position and orientation share one target or each has its own.
    pub targets: Targets,
    /// How the path runs between the keys.
    pub through: Through,
    /// `timed`: how much faster than the keys the target may run to make up for time lost, at least 1. Default 2;
    /// 1 never catches up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<f64>,
    /// `speeds`: preferred speeds at keys, straight in between.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub speeds: Vec<SpeedAtKey>,
    /// Keys at which this target waits for another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// `timed`: keys that are followed more or less closely than others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyStrength>,
}

/// In whose frame the keys are chased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// The world: where the keys would have put it.
    #[default]
    World,
    /// The nearest simulated ancestor, or else the parent: the keyed pose, carried along.
    Parent,
}

/// What moves the target along the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// The keys' own times, held back by the base distance when the object is blocked.
    #[default]
    Timed,
    /// The object: the target stays the base distance ahead, whatever the time (Lamouret 1995).
    Path,
    /// Like `path`, at the preferred speeds.
    Speeds,
}

/// Whether position and orientation share a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// One target: orientation keys are reached where the position keys are.
    #[default]
    Together,
    /// One each, at its own pace, as in the paper.
    Apart,
}

/// How the path runs between keys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Through {
    /// As the animator's curves say.
    Keyed {},
    /// A Catmull-Rom spline through the keys.
    CatmullRom {},
    /// A Kochanek-Bartels spline through the keys.
    Tcb {
        /// -1 round .. 1 tight.
        #[serde(default)]
        tension: f64,
        /// -1 corner .. 1 inverted corner.
        #[serde(default)]
        continuity: f64,
        /// -1 after .. 1 before the key.
        #[serde(default)]
        bias: f64,
    },
}

impl Default for Through {
    fn default() -> Self {
        Through::Keyed {}
    }
}

/// A preferred speed at a key.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeedAtKey {
    /// Key number, from 0.
    pub key: usize,
    /// Scene units per second, 0 or more.
    pub speed: f64,
}

/// How closely a key is followed. Straight from key to key; those that are not named have a strength of 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyStrength {
    /// Key number, from 0.
    pub key: usize,
    /// Multiplies the strength there, 0 or more. Default 1.
    #[serde(default = "whole", skip_serializing_if = "is_one")]
    pub strength: f64,
    /// Whether it is reached whatever it takes. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hard: bool,
}

fn whole() -> f64 {
    1.0
}

impl KeyStrength {
    /// A key of that number with that strength.
    pub fn new(key: usize, strength: f64) -> KeyStrength {
        KeyStrength { key, strength, hard: false }
    }
}

/// "Wait at key `at_key` until the target of `for` has passed key `passes_key`."
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Key of this guide, from 0.
    pub at_key: usize,
    /// Node of the other guide.
    #[serde(rename = "for")]
    pub for_node: String,
    /// Key of the other guide, from 0.
    pub passes_key: usize,
}

/// The strength that pulls a body to its target. What is left out comes from the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Actuator {
    /// Where the values below start from. Default `reactive`.
    pub preset: Preset,
    /// How loose it is, from 0, the keys, to 1, a ragdoll: a number instead of the preset, which is a named point on the same
    /// slider (`subtle` 0.1, `reactive` 0.3, `weighty` 0.45, `loose` 0.6, `limp` 0.8, `ragdoll` 1). Default: the set-up's
    /// `looseness`, else the preset's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looseness: Option<f64>,
    /// Natural frequency at which it answers, with everything that hangs on it, Hz: what `alpha` and `relaxation_time` say,
    /// in other words, and instead of them. A looseness of 0.3 is as written. Keyable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Keyable>,
    /// Whether it carries its figure, as roots and legs do: looseness takes it last, from 0.7 on. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stance: Option<bool>,
    /// Share of the distance to the target that one relaxation time makes up, 0 or more; 0 does not pull. Keyable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Keyable>,
    /// B: 1 is critical, less swings past the target, more creeps up to it. Keyable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damping: Option<Keyable>,
    /// Relaxation time of the controller, s; has nothing to do with the step. Keyable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relaxation_time: Option<Keyable>,
    /// The strongest pull.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_force: Option<Limit>,
    /// The strongest turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_torque: Option<Limit>,
    /// How quickly a lasting push such as gravity is noticed and made up for, 1/s; 0 never. Keyable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compensation: Option<Keyable>,
    /// How much of the target's own velocity is matched: 0 trails fast keys as in the paper, 1 keeps up. `timed`
    /// only. Keyable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_up: Option<Keyable>,
    /// How much of what the keys' own accelerations need is pulled as they come, from 0 to 1, of a body that is guided
    /// against its parent or leads such: 0 lags and swings past like a puppet, 1 knows what comes next, and can be soft
    /// without trailing. `timed` only. Keyable. Default 0; figures have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anticipation: Option<Keyable>,
    /// How much a helping hand carries a figure and keeps it above its feet, from 0 to 1; of the body that leads it.
    /// Keyable. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<Keyable>,
    /// 0 is the keys, 1 is physics. Keyable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blend: Option<Keyable>,
    /// Start with gravity already made up for, so that nothing sags at the first frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_balanced: Option<bool>,
    /// How many times its own inertia it has to move, 1 or more: what hangs on its joint. It is stronger by as much, so
    /// that it answers as quickly as it would alone. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carries: Option<f64>,
}

/// How strong an actuator may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// No limit.
    Unlimited,
    /// Newtons (force) or newton metres (torque). Keyable.
    Absolute(Keyable),
    /// Multiples of the body's weight under 9.81 m/s^2 (torque: weight times the body's radius). Keyable.
    Weights(Keyable),
}
