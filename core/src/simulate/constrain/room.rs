//! Where the joints of a linkage are worked out. Nothing of it outlasts a step: linkages of the same size that are not stepped
//! at the same time take turns with one room, which then is in the nearest memory for all of them.

use super::answer::Answer;
use super::mover::{Mover, Yield};
use super::soft::Soft;
use super::system::Solving;
use crate::assemble::Mobility;
use crate::joint::Rows;
use crate::simulate::SolidState;
use crate::solve::MOST;
use glam::{DMat3, DVec3};

/// Scratch of a step.
#[derive(Clone, Debug, Default)]
pub struct Room {
    pub(super) before: Vec<SolidState>,
    pub(super) movers: Vec<Mover>,
    pub(super) mobility: Vec<Mobility>,
    /// Springs, row by row.
    pub(super) softs: Vec<[Soft; MOST]>,
    pub(super) rows: Vec<Rows>,
    pub(super) multipliers: Vec<[f64; MOST]>,
    pub(super) wanted: Vec<[f64; MOST]>,
    pub(super) memo: Memo,
    /// What a solution changes of the multipliers.
    pub(super) change: Vec<[f64; MOST]>,
    /// The matrix times that.
    pub(super) product: Vec<[f64; MOST]>,
    /// The multipliers that left least open, and how much, where limits may end a step early.
    pub(super) best: (f64, Vec<[f64; MOST]>),
    pub(super) forces: Vec<(DVec3, DVec3)>,
    pub(super) open: Vec<(f64, f64)>,
    /// How hard each body is pulled apart by its joints: force times lever.
    pub(super) stretches: Vec<f64>,
    /// How their torque changes as bodies turn.
    pub(super) slopes: Vec<DMat3>,
    /// Axes of the bodies at the end of the step.
    pub(super) axes: Vec<DMat3>,
    /// How bodies gave way to their actuators in the free motion.
    pub yields: Vec<Yield>,
    /// How bodies answer to contacts.
    pub(super) answer: Answer,
    /// Forces and torques of contacts on bodies with joints, throughout the step; whether there are any.
    pub(super) pushes: Vec<(DVec3, DVec3)>,
    pub(super) pushed: bool,
    /// While it is nobody's, what goes with it for solving.
    pub(super) solving: Solving,
}

/// What the round before wanted, what the solver made of it, and by how much multipliers changed.
#[derive(Clone, Debug, Default)]
pub struct Memo {
    pub(super) wanted: Vec<[f64; MOST]>,
    pub(super) change: Vec<[f64; MOST]>,
    pub(super) step: Vec<[f64; MOST]>,
}

impl Memo {
    fn new(joints: usize) -> Memo {
        let none = vec![[0.0; MOST]; joints];
        Memo { wanted: none.clone(), change: none.clone(), step: none }
    }
}

impl Room {
    /// For so many bodies and joints.
    pub fn new(solids: usize, joints: usize) -> Room {
        let still = vec![(DVec3::ZERO, DVec3::ZERO); solids];
        let none = vec![[0.0; MOST]; joints];
        Room {
            before: Vec::with_capacity(solids),
            movers: vec![Mover::default(); solids],
            mobility: vec![Mobility::NONE; solids],
            softs: vec![[Soft::default(); MOST]; joints],
            rows: vec![Rows::default(); joints],
            multipliers: none.clone(),
            wanted: none.clone(),
            memo: Memo::new(joints),
            change: none.clone(),
            product: none.clone(),
            best: (f64::INFINITY, none),
            forces: still.clone(),
            open: vec![(0.0, 0.0); joints],
            stretches: vec![0.0; solids],
            slopes: vec![DMat3::ZERO; solids],
            axes: vec![DMat3::IDENTITY; solids],
            yields: vec![Yield::default(); solids],
            answer: Answer::new(solids, joints),
            pushes: still,
            pushed: false,
            solving: Solving::default(),
        }
    }
}
