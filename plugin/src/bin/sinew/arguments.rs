//! What can be typed.

use crate::stop::Limits;
use clap::{Args, Parser, Subcommand, ValueEnum};
use sinew_core::setup::{self, Wish};
use sinew_plugin::gltf::{PhysicsDialect, ReadOptions};
use sinew_plugin::job::{AssembleRequest, BakeRequest, PhysicsRequest, SetupSource};
use sinew_plugin::usd::Backend;
use std::path::{Path, PathBuf};

/// Gives keyed animation weight: simulates muscles of limited strength that chase the keys, and bakes the result as a new clip.
///
/// Exit codes: 0 done, 1 done but something fell short (the warnings say what), 2 bad use, 3 bad input, 4 reading or
/// writing failed, 5 cancelled, or stopped by a limit; 130 when Ctrl-C is pressed twice.
#[derive(Parser)]
#[command(name = "sinew", version, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    /// Stop after so many seconds, with nothing written.
    #[arg(long, global = true, value_name = "SECONDS", value_parser = positive)]
    pub max_seconds: Option<f64>,
    /// Stop when so many bytes of memory are used, with nothing written.
    #[arg(long, global = true, value_name = "BYTES")]
    pub max_memory: Option<usize>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Simulate a scene and write it with a new clip.
    Bake(Box<Bake>),
    /// Close the joints of a broken or roughly posed scene: every frame of a clip, or the pose.
    ///
    /// Nothing is simulated.
    Assemble(Assemble),
    /// Find a motion near the keys for which physics holds, for the whole shot at once, and write it as a new clip.
    ///
    /// Nothing is simulated. Experimental: docs/refine.md says what works.
    Refine(crate::refine::Refine),
    /// Show what is in a scene and what would be simulated.
    Inspect(Inspect),
    /// Write the automatic set-up as a file to edit, or write a set-up into the scene as physics.
    Setup(Setup),
    /// Print the version.
    Version {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What every reading command takes.
#[derive(Args)]
pub struct Input {
    /// The scene: .gltf, .glb, .usda, .usdc, .usd or .usdz.
    pub scene: PathBuf,
    /// The clip to follow, by name or #index [default: the set-up's, else the first that moves something].
    #[arg(long, value_name = "NAME")]
    pub clip: Option<String>,
    /// Set-up file [default: NAME.sinew.json beside the scene, else the physics in the scene, else automatic].
    #[arg(long, value_name = "FILE", conflicts_with = "auto")]
    pub setup: Option<PathBuf>,
    /// Ignore NAME.sinew.json: use the physics in the scene, else the automatic set-up.
    #[arg(long)]
    pub auto: bool,
    /// A second folder, besides the scene's own, that buffers, images and layers may be read from.
    #[arg(long, value_name = "FOLDER")]
    pub asset_root: Option<PathBuf>,
    #[command(flatten)]
    pub usd: Usd,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What is known of figures, in place of what would be guessed. For set-ups made from the keys.
#[derive(Args)]
pub struct Figure {
    /// What each figure weighs, without what it holds, kg [default: by what it is and how large].
    #[arg(long, value_name = "KG")]
    mass: Option<f64>,
    /// How tall the tallest figure is, m [default: by what it is].
    #[arg(long, value_name = "METRES")]
    height: Option<f64>,
}

impl Figure {
    pub fn wish(&self) -> Wish {
        Wish { mass: self.mass, height: self.height, unit: None }
    }
}

/// How USD is read and written.
#[derive(Args)]
pub struct Usd {
    /// What composes and writes USD.
    #[arg(long = "usd-backend", value_name = "WHO", default_value = "built-in")]
    backend: UsdBackend,
}

#[derive(Clone, Copy, ValueEnum)]
enum UsdBackend {
    /// Sinew itself.
    BuiltIn,
    /// The studio's own OpenUSD, over its bridge (see docs/usd.md).
    Openusd,
}

impl Usd {
    fn backend(&self) -> Backend {
        match self.backend {
            UsdBackend::BuiltIn => Backend::BuiltIn,
            UsdBackend::Openusd => Backend::OpenUsd,
        }
    }
}

#[derive(Args)]
pub struct Inspect {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub figure: Figure,
}

#[derive(Args)]
pub struct Bake {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub figure: Figure,
    /// Where to write the result; the extension chooses the format [default: NAME.sinew.EXT beside the scene, .usda for USD].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Name of the new clip [default: the source's with " (Sinew)"].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Replace the clip of that name, or else the source clip.
    #[arg(long)]
    pub replace: bool,
    /// Overwrite the scene itself.
    #[arg(long, conflicts_with = "output")]
    pub in_place: bool,
    /// USD: write everything into one layer instead of a new layer over the scene.
    #[arg(long, conflicts_with = "in_place")]
    pub flatten: bool,
    /// USD: write splines with few keys instead of a sample on every frame.
    #[arg(long)]
    pub splines: bool,
    /// A named point between the keys and a ragdoll, for every actuator.
    #[arg(long)]
    pub preset: Option<Preset>,
    /// How loose everything is: any point from 0, the keys, to 1, a ragdoll; presets are at 0.1 (subtle), 0.3 (reactive), 0.45
    /// (weighty), 0.6 (loose), 0.8 (limp) and 1 (ragdoll).
    #[arg(long, value_name = "0..1", value_parser = share, conflicts_with = "preset")]
    pub looseness: Option<f64>,
    /// A blow without an object: a bone, a frame, a direction in the world (x, -z, or 1:0.5:0) and newton seconds; 5 kg that
    /// come at 5 m/s have 25. May be given several times.
    #[arg(long, value_name = "BONE,FRAME,DIRECTION,NS", value_parser = hit, allow_hyphen_values = true)]
    pub hit: Vec<setup::Impulse>,
    /// A frame whose pose must be hit, whatever pulls at it. May be given several times.
    #[arg(long = "hard-key", value_name = "FRAME", allow_negative_numbers = true)]
    pub hard_key: Vec<f64>,
    /// What holds characters up [default: as in the set-up].
    #[arg(long)]
    pub root: Option<Root>,
    /// Share of the limbs that are simulated, 0 to 1; the lightest, outermost ones stay as keyed [default: as in the set-up].
    #[arg(long, value_name = "SHARE")]
    pub detail: Option<f64>,
    /// Number of threads; the result is the same with any number [default: as in the set-up, else one per core].
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// First and last frame [default: the clip's].
    #[arg(long, num_args = 2, value_names = ["FIRST", "LAST"], allow_negative_numbers = true)]
    pub frames: Option<Vec<f64>>,
    /// Which keys to write [default: cubic].
    #[arg(long, conflicts_with = "every_frame")]
    pub keys: Option<Keys>,
    /// The same as --keys every-frame.
    #[arg(long)]
    pub every_frame: bool,
    /// How far the baked curves may be from the simulation, in scene units.
    #[arg(long, value_name = "UNITS")]
    pub tolerance: Option<f64>,
    /// The same for rotations, in degrees.
    #[arg(long, value_name = "DEGREES")]
    pub tolerance_deg: Option<f64>,
    /// Treat the range as one cycle: simulate until it repeats, and bake a cycle whose end meets its start.
    #[arg(long = "loop")]
    pub looped: bool,
    /// Write new curves for this node or group only; * matches anything. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// The whole motion, a clip to add to the keys, or both [default: full].
    #[arg(long)]
    pub layer: Option<Layer>,
    /// Hold every pose for N frames; 2 is animation on twos.
    #[arg(long, value_name = "N")]
    pub on: Option<u32>,
    /// Freeze everything from this frame on.
    #[arg(long, value_name = "FRAME")]
    pub hold: Option<f64>,
    /// Draw paths, curves and effort as an SVG.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Draw the bake in motion, its keys as a ghost behind it, as an SVG that plays in any browser.
    #[arg(long, value_name = "FILE")]
    pub playblast: Option<PathBuf>,
    /// Write every contact point of every frame as JSON.
    #[arg(long, value_name = "FILE")]
    pub contacts: Option<PathBuf>,
    /// Simulate again with uneven substeps and report how far apart the two are; dots in the picture.
    #[arg(long)]
    pub compare_steps: bool,
}

#[derive(Args)]
pub struct Assemble {
    #[command(flatten)]
    pub input: Input,
    /// Where to write the result; the extension chooses the format [default: NAME.sinew.EXT beside the scene, .usda for USD].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Name of the new clip [default: the source's with " (assembled)"].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Change the nodes' own transforms instead of adding a clip, as is done where there are no clips.
    #[arg(long, conflicts_with_all = ["name", "clip"])]
    pub pose: bool,
    /// Find the nearest pose, weighted by mass, rather than any near one; clips always get it.
    #[arg(long)]
    pub nearest: bool,
    /// Draw it before and after as an SVG.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

#[derive(Args)]
pub struct Setup {
    /// The scene: .gltf, .glb, .usda, .usdc, .usd or .usdz.
    #[arg(required_unless_present = "schema")]
    pub scene: Option<PathBuf>,
    /// The clip to follow, by name or #index [default: the first that moves something].
    #[arg(long, value_name = "NAME")]
    pub clip: Option<String>,
    /// Where to write it [default: NAME.sinew.json beside the scene].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing set-up.
    #[arg(long)]
    pub force: bool,
    /// Write the scene with its set-up in it as physics; the extension chooses the format, and from USD to USD it is a layer.
    /// Also --to-usd.
    #[arg(long, alias = "to-usd", value_name = "FILE", requires = "scene", conflicts_with_all = ["output", "force"])]
    pub into: Option<PathBuf>,
    /// Which glTF extensions to write.
    #[arg(long, value_name = "FAMILY", default_value = "khr", requires = "into")]
    pub physics: Physics,
    /// The set-up to write [default: NAME.sinew.json beside the scene, else the physics in it, else automatic].
    #[arg(long, value_name = "FILE", requires = "into")]
    pub setup: Option<PathBuf>,
    #[command(flatten)]
    pub figure: Figure,
    #[command(flatten)]
    pub usd: Usd,
    /// Print the set-up instead of writing it; with --into, print a report.
    #[arg(long)]
    pub json: bool,
    /// Print the JSON Schema of set-up files.
    #[arg(long, conflicts_with = "scene")]
    pub schema: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Preset {
    /// Stays on the keys and rounds their corners.
    Subtle,
    /// Follows with weight and gives way when pushed.
    Reactive,
    /// Follows with more weight: drags, overshoots and settles.
    Weighty,
    /// Relaxed: swings freely and comes back late.
    Loose,
    /// Barely holds itself up and overshoots.
    Limp,
    /// Has no strength: falls as far as its joints allow.
    Ragdoll,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Keys {
    /// Few keys with tangents, within the tolerance.
    Cubic,
    /// Few keys with straight lines between them, within the tolerance.
    Linear,
    /// One on every frame.
    EveryFrame,
    /// What Blender's importer of glTF, which drops tangents, shows as it is: linear.
    Blender,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Root {
    /// Their keys.
    Guided,
    /// Their pinned feet and their muscles.
    Planted,
    /// Nothing: they fall.
    Free,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Layer {
    /// A clip that plays on its own.
    Full,
    /// A clip to add on top of the keys.
    Additive,
    /// Both clips.
    Both,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Physics {
    /// KHR_physics_rigid_bodies and KHR_implicit_shapes.
    Khr,
    /// OMI_physics_body, OMI_physics_shape, OMI_physics_joint and OMI_physics_gravity.
    Omi,
}

impl Arguments {
    /// What the job may use.
    pub fn limits(&self) -> Limits {
        Limits { seconds: self.max_seconds, memory: self.max_memory }
    }

    /// The scene, where there is one.
    pub fn scene(&self) -> Option<&Path> {
        match &self.command {
            Command::Bake(a) => Some(&a.input.scene),
            Command::Assemble(a) => Some(&a.input.scene),
            Command::Refine(a) => Some(&a.input.scene),
            Command::Inspect(a) => Some(&a.input.scene),
            Command::Setup(a) => a.scene.as_deref(),
            Command::Version { .. } => None,
        }
    }

    /// Places of a set-up whose values flags gave, and these flags.
    pub fn flags(&self) -> Vec<(&'static str, &'static str)> {
        let clip = |clip: &Option<String>| clip.as_ref().map(|_| ("clip", "--clip"));
        match &self.command {
            Command::Bake(a) => [
                clip(&a.input.clip),
                a.name.as_ref().map(|_| ("bake.name", "--name")),
                a.detail.map(|_| ("world.detail", "--detail")),
                a.threads.map(|_| ("world.solver.threads", "--threads")),
                a.frames.as_ref().map(|_| ("bake.frames", "--frames")),
                a.tolerance.map(|_| ("bake.tolerance", "--tolerance")),
                a.tolerance_deg.map(|_| ("bake.tolerance_deg", "--tolerance-deg")),
                a.looped.then_some(("bake.loop", "--loop")),
                (!a.only.is_empty()).then_some(("bake.only", "--only")),
                a.layer.map(|_| ("bake.layer", "--layer")),
                a.on.map(|_| ("bake.every", "--on")),
                a.hold.map(|_| ("bake.hold", "--hold")),
            ]
            .into_iter()
            .flatten()
            .collect(),
            Command::Assemble(a) => clip(&a.input.clip).into_iter().collect(),
            Command::Refine(a) => clip(&a.input.clip).into_iter().chain(a.flags()).collect(),
            Command::Inspect(a) => clip(&a.input.clip).into_iter().collect(),
            Command::Setup(a) => clip(&a.clip).into_iter().collect(),
            Command::Version { .. } => Vec::new(),
        }
    }

    /// Whether JSON was asked for.
    pub fn json(&self) -> bool {
        match &self.command {
            Command::Bake(a) => a.input.json,
            Command::Assemble(a) => a.input.json,
            Command::Refine(a) => a.input.json,
            Command::Inspect(a) => a.input.json,
            Command::Setup(a) => a.json,
            Command::Version { json } => *json,
        }
    }
}

impl Input {
    pub fn source(&self) -> SetupSource {
        match (&self.setup, self.auto) {
            (Some(file), _) => SetupSource::File(file.clone()),
            (None, true) => SetupSource::Automatic,
            (None, false) => SetupSource::Beside,
        }
    }

    pub fn read(&self) -> ReadOptions {
        ReadOptions { asset_root: self.asset_root.clone(), usd_backend: self.usd.backend() }
    }
}

impl Setup {
    /// The request to write it into `output`.
    pub fn request(&self, scene: &Path, output: &Path) -> PhysicsRequest {
        PhysicsRequest {
            scene: scene.into(),
            output: output.into(),
            setup: self.setup.clone().map_or(SetupSource::Beside, SetupSource::File),
            wish: self.figure.wish(),
            clip: self.clip.clone(),
            dialect: match self.physics {
                Physics::Khr => PhysicsDialect::Khronos,
                Physics::Omi => PhysicsDialect::Omi,
            },
            read: self.read(),
        }
    }

    pub fn read(&self) -> ReadOptions {
        ReadOptions { usd_backend: self.usd.backend(), ..ReadOptions::default() }
    }
}

impl Assemble {
    pub fn request(&self) -> AssembleRequest {
        AssembleRequest {
            scene: self.input.scene.clone(),
            output: self.output.clone(),
            setup: self.input.source(),
            clip: self.input.clip.clone(),
            name: self.name.clone(),
            pose: self.pose,
            nearest: self.nearest,
            plot: self.plot.clone(),
            read: self.input.read(),
        }
    }
}

impl Bake {
    pub fn request(&self) -> BakeRequest {
        BakeRequest {
            scene: self.input.scene.clone(),
            output: if self.in_place { Some(self.input.scene.clone()) } else { self.output.clone() },
            setup: self.input.source(),
            clip: self.input.clip.clone(),
            name: self.name.clone(),
            replace: self.replace,
            in_place: self.in_place,
            flatten: self.flatten,
            splines: self.splines,
            wish: self.figure.wish(),
            preset: self.preset.map(|p| match p {
                Preset::Subtle => setup::Preset::Subtle,
                Preset::Reactive => setup::Preset::Reactive,
                Preset::Weighty => setup::Preset::Weighty,
                Preset::Loose => setup::Preset::Loose,
                Preset::Limp => setup::Preset::Limp,
                Preset::Ragdoll => setup::Preset::Ragdoll,
            }),
            looseness: self.looseness,
            hits: self.hit.clone(),
            hard_keys: self.hard_key.clone(),
            root: self.root.map(|r| match r {
                Root::Guided => setup::Root::Guided,
                Root::Planted => setup::Root::Planted,
                Root::Free => setup::Root::Free,
            }),
            detail: self.detail,
            threads: self.threads,
            frames: self.frames.as_ref().map(|f| [f[0], f[1]]),
            keys: match (self.keys, self.every_frame) {
                (Some(Keys::EveryFrame), _) | (None, true) => Some(setup::BakedKeys::EveryFrame),
                (Some(Keys::Linear | Keys::Blender), _) => Some(setup::BakedKeys::Linear),
                (Some(Keys::Cubic), _) => Some(setup::BakedKeys::Fitted),
                (None, false) => None,
            },
            tolerance: self.tolerance,
            tolerance_deg: self.tolerance_deg,
            looped: self.looped,
            only: self.only.clone(),
            layer: self.layer.map(|l| match l {
                Layer::Full => setup::BakedLayer::Full,
                Layer::Additive => setup::BakedLayer::Additive,
                Layer::Both => setup::BakedLayer::Both,
            }),
            every: self.on,
            hold: self.hold,
            plot: self.plot.clone(),
            playblast: self.playblast.clone(),
            contacts: self.contacts.clone(),
            compare_steps: self.compare_steps,
            read: self.input.read(),
        }
    }
}

/// A number above 0.
fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err("must be above 0".into()) }
}

/// A number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("must be from 0 to 1".into()) }
}

/// A blow: BONE,FRAME,DIRECTION,NEWTON_SECONDS. Names may have commas.
fn hit(text: &str) -> Result<setup::Impulse, String> {
    let mut parts = text.rsplitn(4, ',');
    let [Some(strength), Some(towards), Some(frame), Some(node)] = std::array::from_fn(|_| parts.next())
    else {
        return Err("must be BONE,FRAME,DIRECTION,NEWTON_SECONDS, as in Chest,24,-z,30".into());
    };
    let number = |text: &str, what: &str| match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("{what} \"{text}\" is not a number")),
    };
    let (frame, strength) = (number(frame, "the frame")?, number(strength, "newton seconds")?);
    let [x, y, z] = direction(towards)?;
    let length = (x * x + y * y + z * z).sqrt();
    if length.is_nan() || length <= 0.0 {
        return Err(format!("the direction \"{towards}\" has no length"));
    }
    let impulse = [x, y, z].map(|v| v * strength / length);
    Ok(setup::Impulse { node: node.into(), frame, impulse })
}

/// An axis, such as x or -z, or three numbers with colons between.
fn direction(text: &str) -> Result<[f64; 3], String> {
    let wrong = || {
        format!("the direction \"{text}\" is neither x, y, z, -x, -y, -z nor three numbers such as 1:0:-0.5")
    };
    let text = text.trim();
    let (sign, axis) =
        text.strip_prefix('-').map_or((1.0, text.strip_prefix('+').unwrap_or(text)), |t| (-1.0, t));
    match axis {
        "x" | "X" => return Ok([sign, 0.0, 0.0]),
        "y" | "Y" => return Ok([0.0, sign, 0.0]),
        "z" | "Z" => return Ok([0.0, 0.0, sign]),
        _ => {}
    }
    let numbers: Vec<f64> =
        text.split(':').map(|n| n.trim().parse::<f64>()).collect::<Result<_, _>>().map_err(|_| wrong())?;
    match numbers[..] {
        [x, y, z] if numbers.iter().all(|n| n.is_finite()) => Ok([x, y, z]),
        _ => Err(wrong()),
    }
}
