//! Characters by code: a skeleton, a skin and clips, written as .glb, the same bytes every time.
//!
//! A [`Plan`] says how a body is built, [`Skeleton`] puts its bones, [`Take`]s say what it does; `gait` walks it, `act` has it
//! jump, roll and strike, `reach` bends legs so that feet are where they stand, `skin` gives every bone its flesh, and `glb`
//! writes it all down. Bodies stand on the floor at height 0, look along +z, and have their left side at +x. Lengths are
//! metres until [`Character::units_per_metre`] makes them units of the file.
//!
//! [`Character::all`] are those that suites name; [`Character::random`] makes as many others as one asks for.

mod act;
mod gait;
mod glb;
mod plan;
mod pose;
mod random;
mod reach;
mod skeleton;
mod skin;
mod take;

pub(super) use glb::container;
pub use plan::{Feet, Naming, Plan};
pub use skeleton::{Bone, Flesh, Skeleton};
pub use skin::Skin;
pub use take::{Action, Take};

use glam::{DQuat, DVec3};
use pose::Pose;
use std::path::{Path, PathBuf};

/// A body and what it does.
#[derive(Clone, Debug)]
pub struct Character {
    /// Name of the file, without its ending.
    pub name: String,
    /// How it is built.
    pub plan: Plan,
    /// Its clips, in order.
    pub takes: Vec<Take>,
    /// Units of the file in a metre: 1 for metres, 100 for centimetres.
    pub units_per_metre: f64,
    /// Keys lie on these frames.
    pub frames_per_second: f64,
}

impl Character {
    fn new(name: &str, plan: Plan, actions: &[Action]) -> Character {
        let takes = actions.iter().map(|a| Take::of(*a)).collect();
        Character { name: name.into(), plan, takes, units_per_metre: 1.0, frames_per_second: 24.0 }
    }

    /// Everybody that suites name.
    pub fn all() -> Vec<Character> {
        vec![
            Character::biped(),
            Character::dancer(),
            Character::quadruped(),
            Character::wolf(),
            Character::knight(),
            Character::snake(),
            Character::bird(),
        ]
    }

    /// A human in metres that does everything: on the spot, along, one frame short, and blocked in steps.
    pub fn biped() -> Character {
        let mut made = Character::new("biped", Plan::biped(), &Action::ON_LEGS);
        made.takes.push(Take { name: "WalkAlong".into(), travels: true, turns: 3, ..Take::of(Action::Walk) });
        made.takes.push(Take { name: "RunAlong".into(), travels: true, turns: 4, ..Take::of(Action::Run) });
        made.takes.push(Take { name: "Blocking".into(), held: Some(8), ..Take::of(Action::Attack) });
        made.takes.push(Take { name: "WalkOpen".into(), one_short: true, ..Take::of(Action::Walk) });
        made
    }

    /// A human with fingers and a sword in hand, named as Rigify does, in centimetres, at 30 frames per second.
    pub fn dancer() -> Character {
        let plan = Plan { fingers: 5, prop: true, naming: Naming::Suffixed, ..Plan::biped() };
        let actions = [Action::Idle, Action::Attack, Action::Walk, Action::Roll];
        Character {
            units_per_metre: 100.0,
            frames_per_second: 30.0,
            ..Character::new("dancer", plan, &actions)
        }
    }

    /// A fox in centimetres whose feet hang on its shins.
    pub fn quadruped() -> Character {
        let mut made = Character::new(
            "quadruped",
            Plan::quadruped(),
            &[Action::Idle, Action::Walk, Action::Run, Action::Attack],
        );
        made.takes.push(Take { name: "WalkAlong".into(), travels: true, turns: 4, ..Take::of(Action::Walk) });
        Character { units_per_metre: 100.0, ..made }
    }

    /// The same with feet that hang on the armature and are keyed to follow the shins, as rigs with IK export them.
    pub fn wolf() -> Character {
        let plan = Plan { feet: Feet::OnRoot, naming: Naming::Suffixed, ears: true, ..Plan::quadruped() };
        let mut made = Character::new("wolf", plan, &[Action::Walk, Action::Run, Action::Jump, Action::Idle]);
        made.takes.push(Take { name: "RunOpen".into(), one_short: true, ..Take::of(Action::Run) });
        made
    }

    /// A stout knight, led by a bone with a five-hundredth of its mass, feet on the root, sword in hand.
    pub fn knight() -> Character {
        let actions = [Action::Idle, Action::Walk, Action::Run, Action::Jump, Action::Roll, Action::Attack];
        Character::new("knight", Plan::knight(), &actions)
    }

    /// A snake on the floor.
    pub fn snake() -> Character {
        Character::new("snake", Plan::snake(), &[Action::Slither, Action::Idle])
    }

    /// A bird in the air.
    pub fn bird() -> Character {
        Character::new("bird", Plan::bird(), &[Action::Fly, Action::Idle])
    }

    /// Its bones at rest, metres.
    pub fn skeleton(&self) -> Skeleton {
        Skeleton::new(&self.plan)
    }

    /// What is seen of it at rest, metres.
    pub fn skin(&self) -> Skin {
        Skin::new(&self.skeleton())
    }

    /// Place, in units of the file, and turn of every bone on its parent at rest.
    pub fn rest(&self) -> Vec<(DVec3, DQuat)> {
        let skeleton = self.skeleton();
        let rest = Pose::rest(&skeleton);
        (0..skeleton.bones.len()).map(|b| glb::local(&skeleton, &rest, b, self.units_per_metre)).collect()
    }

    /// The same on every frame of a take.
    pub fn keys(&self, take: &Take) -> Vec<Vec<(DVec3, DQuat)>> {
        let skeleton = self.skeleton();
        let poses = act::poses(&self.plan, &skeleton, take, self.frames_per_second);
        let bones = 0..skeleton.bones.len();
        let locals = |pose: &Pose| -> Vec<(DVec3, DQuat)> {
            bones.clone().map(|b| glb::local(&skeleton, pose, b, self.units_per_metre)).collect()
        };
        poses.iter().map(locals).collect()
    }

    /// The whole file.
    pub fn to_glb(&self) -> Vec<u8> {
        glb::write(self)
    }

    /// Writes it into `folder`, as its name with `.glb`.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join(format!("{}.glb", self.name));
        std::fs::write(&path, self.to_glb()).expect("the scratch folder can be written");
        path
    }
}
