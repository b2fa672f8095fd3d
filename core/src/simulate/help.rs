//! A helping hand that keeps figures from falling over: it carries their weight, and keeps their centre of mass above their
//! feet as the keys have it there.
//!
//! What it does to one limb it does to all, by their mass, so it bends and turns nothing: with `x` and `v` of the centre of
//! mass, `x*` and `v*` of the keyed one moved along with the feet that stand, all limbs of the figure get the acceleration
//! `b (w^2 (x* - x) + 2 w (v* - v) - g)`, where `b` is the animator's share. In the air, where pins hold nothing, nobody helps.

use super::State;
use crate::joint::{End, Joint};
use crate::rig::{Drive, Rig, Value};
use glam::DVec3;

/// How quickly it brings a figure back above its feet, rad/s.
const RAD_PER_S: f64 = 6.0;

/// A figure: what leads it, its limbs, and what pins can hold of it.
#[derive(Clone, Debug)]
struct Figure {
    lead: u32,
    limbs: Vec<u32>,
    mass: f64,
    feet: Vec<(u32, Option<Value>)>,
}

/// The figures of a rig, and how their limbs are helped in this step.
#[derive(Clone, Debug, Default)]
pub struct Help {
    figures: Vec<Figure>,
    accelerations: Vec<DVec3>,
    /// The share of each limb's weight that is carried.
    carried: Vec<f64>,
}

impl Help {
    /// Of a rig: bodies that are guided against others, with what leads them.
    pub fn new(rig: &Rig, leads: impl Fn(usize) -> Option<usize>) -> Help {
        let mut figures: Vec<Figure> = Vec::new();
        for i in 0..rig.solids.len() {
            let Some(lead) = leads(i).map(|l| l as u32) else { continue };
            let known = figures.iter().position(|f| f.lead == lead).unwrap_or_else(|| {
                figures.push(Figure { lead, limbs: Vec::new(), mass: 0.0, feet: Vec::new() });
                figures.len() - 1
            });
            let figure = &mut figures[known];
            figure.limbs.push(i as u32);
            figure.mass += rig.solids[i].mass;
            let pin =
                |j: &&Joint| j.of == usize::MAX && matches!(j.ends, [End::Keys(_), End::Solid(s)] if s == i);
            figure.feet.extend(rig.joints.iter().filter(pin).map(|j| (i as u32, j.holds.on.clone())));
        }
        let count = if figures.is_empty() { 0 } else { rig.solids.len() };
        Help { figures, accelerations: vec![DVec3::ZERO; count], carried: vec![0.0; count] }
    }

    /// How a limb is helped, if it is.
    #[inline]
    pub fn on(&self, solid: usize) -> Option<DVec3> {
        self.accelerations.get(solid).copied().filter(|a| *a != DVec3::ZERO)
    }

    /// The share of a limb's weight that is carried.
    #[inline]
    pub fn carries(&self, solid: usize) -> f64 {
        self.carried.get(solid).copied().unwrap_or(0.0)
    }

    /// Finds out how the figures among `solids`, which are in order, are to be helped from one moment to another (s of scene
    /// time, `h` s long).
    pub fn find(
        &mut self,
        rig: &Rig,
        state: &State,
        solids: &[u32],
        drives: &[Drive],
        [from, to, h]: [f64; 3],
    ) {
        for figure in &self.figures {
            let share = drives[figure.lead as usize].balance;
            if solids.binary_search(&figure.lead).is_err() {
                continue;
            }
            let helps = share > 0.0 && h > 0.0;
            let help = if helps { figure.help(rig, state, [from, to, h]) } else { None };
            for &limb in &figure.limbs {
                self.accelerations[limb as usize] = help.unwrap_or(DVec3::ZERO) * share;
                self.carried[limb as usize] = help.map_or(0.0, |_| share);
            }
        }
    }
}

impl Figure {
    /// `None` in the air.
    fn help(&self, rig: &Rig, state: &State, [from, to, h]: [f64; 3]) -> Option<DVec3> {
        let stands = |on: &Option<Value>| on.as_ref().is_none_or(|v| v.at(from) > 0.5);
        let mut moved = DVec3::ZERO;
        let mut standing = 0.0;
        for (foot, _) in self.feet.iter().filter(|f| stands(&f.1)) {
            let foot = *foot as usize;
            moved += state.solids[foot].position - rig.keyed(foot, from).position;
            standing += 1.0;
        }
        if standing == 0.0 && !self.feet.is_empty() {
            return None;
        }
        let moved = if standing > 0.0 { moved / standing } else { DVec3::ZERO };
        let (mut off, mut slow) = (DVec3::ZERO, DVec3::ZERO);
        for &l in &self.limbs {
            let (i, mass) = (l as usize, rig.solids[l as usize].mass);
            let [now, then] = [from, to].map(|t| rig.keyed(i, t).position);
            off += (now - state.solids[i].position) * mass;
            slow += ((then - now) / h - state.solids[i].velocity) * mass;
        }
        let gravity = rig.world.gravity * rig.world.gravity_scale.at(from);
        let (off, slow) = (off / self.mass + moved, slow / self.mass);
        Some(off * (RAD_PER_S * RAD_PER_S) + slow * (2.0 * RAD_PER_S) - gravity)
    }
}
