//! A figure of a rig, over the range of its keys, as a problem; and what becomes of it.

use super::stance::{Input, Stance};
use super::{Drive, End, Iteration, Key, Measure, Problem, Refinement, Row, Status};
use crate::articulation::{Linkage, NoTree, Posed, linkages};
use crate::motion::Motion;
use crate::rig::Rig;
use crate::scene::Placement;
use glam::DVec3;

/// What is wanted of a refinement.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How near the keys it stays, 0 to 1.
    pub stay_close: f64,
    /// Places that must be hit.
    pub hits: Vec<Hit>,
    /// Most iterations.
    pub iterations: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { stay_close: 0.5, hits: Vec::new(), iterations: 100 }
    }
}

/// A place that the origin of a body's node must be at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The body, by index in the rig.
    pub solid: usize,
    /// When, s.
    pub time: f64,
    /// Where; `None`: where its keys have it.
    pub to: Option<DVec3>,
}

/// Why a figure is not refined.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// There is no figure.
    #[error("there is no figure to refine: no two simulated bodies are joined together")]
    NoFigure,
    /// A figure is no tree.
    #[error("{0}")]
    NoTree(#[from] NoTree),
    /// Too few frames.
    #[error("{0} frames are too few to refine; give five or more")]
    Short(usize),
    /// Nobody is down, and the keys do not fall.
    #[error(
        "nothing holds {figure} up from frame {from:.0} to {to:.0}: no foot is low and still there, and the keys do not fall either; is one down there?"
    )]
    HeldByNobody {
        /// The figure's root.
        figure: String,
        /// First frame.
        from: f64,
        /// Last frame.
        to: f64,
    },
}

/// One figure, refined.
#[derive(Clone, Debug)]
pub struct Refined {
    /// The root's name.
    pub figure: String,
    /// How it ended.
    pub status: Status,
    /// What every iteration saw.
    pub iterations: Vec<Iteration>,
    /// The largest force that nobody pulls with, before and after, at each knot, in weights (torques in weights times legs).
    pub before: Vec<f64>,
    /// The same after.
    pub after: Vec<f64>,
    /// Which of the places wanted its keys are, in their order.
    pub hits: Vec<usize>,
    /// Who is down when.
    pub stances: Vec<Stance>,
    /// Knots per frame.
    pub knots_per_frame: usize,
    /// Root mean square of what joints are turned by, rad, and the most.
    pub change: (f64, f64),
    /// The strongest drive, of its strength.
    pub strongest: f64,
    /// The most that the centre of mass in a flight is off the parabola that its time allows, in the keys: units, and the factor of
    /// time that the keys' own rise would need.
    pub flight: Option<(f64, f64)>,
    /// How fast the ground goes by under a figure that walks on the spot, units/s; `None` for one that travels.
    pub on_the_spot: Option<DVec3>,
}

/// A shot, refined.
#[derive(Clone, Debug)]
pub struct Shot {
    /// All bodies at all frames; what is in no figure is as keyed.
    pub motion: Motion,
    /// Figure by figure.
    pub figures: Vec<Refined>,
}

/// Of weights, legs and radians.
const TOLERANCE: f64 = 1e-6;

/// Steps between knots are no longer than this, s.
const STEP: f64 = 1.0 / 48.0;

/// Refines every figure of a rig over its range, from its keys. `go_on` is asked before every iteration.
pub fn refine(rig: &Rig, options: &Options, go_on: &mut dyn FnMut(usize) -> bool) -> Result<Shot, Refused> {
    let linkages = linkages(rig)?;
    if linkages.is_empty() {
        return Err(Refused::NoFigure);
    }
    let frames = rig.range.frames();
    if frames < 5 {
        return Err(Refused::Short(frames));
    }
    let times: Vec<f64> = (0..frames).map(|f| rig.range.time(f)).collect();
    let keyed = |time: f64| (0..rig.solids.len()).map(|s| rig.keyed(s, time)).collect::<Vec<_>>();
    let mut places: Vec<Vec<Placement>> = times.iter().map(|t| keyed(*t)).collect();
    let mut figures = Vec::new();
    for linkage in &linkages {
        let figure = Figure::new(rig, linkage, options)?;
        let mut refinement = Refinement::new(figure.problem.clone(), TOLERANCE);
        let before = refinement.residuals();
        while refinement.iterations().len() < options.iterations
            && go_on(refinement.iterations().len())
            && *refinement.advance() == Status::Running
        {}
        figure.put(linkage, &refinement, &times, &mut places);
        figures.push(figure.report(&refinement, before));
    }
    Ok(Shot { motion: Motion::of_places(rig, times, &places), figures })
}

/// A linkage as a problem.
struct Figure {
    problem: Problem,
    per_frame: usize,
    start: f64,
    step: f64,
    ground: DVec3,
    leg: f64,
    stances: Vec<Stance>,
    hits: Vec<usize>,
    flight: Option<(f64, f64)>,
    name: String,
}

impl Figure {
    fn new(rig: &Rig, linkage: &Linkage, options: &Options) -> Result<Figure, Refused> {
        let tree = &linkage.tree;
        let frames = rig.range.frames();
        let frame = 1.0 / rig.range.frames_per_second;
        let per_frame = (frame / STEP - 1e-9).ceil().max(1.0) as usize;
        let (step, start) = (frame / per_frame as f64, rig.range.start());
        let count = (frames - 1) * per_frame + 1;
        let time = |k: usize| start + k as f64 * step;
        let mut input: Vec<Vec<f64>> =
            (0..count).map(|k| linkage.configuration(rig, time(k), |s| rig.keyed(s, time(k)))).collect();
        let posed = |input: &[Vec<f64>]| -> Vec<Posed> {
            let one = |q: &Vec<f64>| {
                let mut posed = Posed::default();
                tree.place(q, &mut posed);
                posed
            };
            input.iter().map(one).collect()
        };
        let gravity = rig.world.gravity * rig.world.gravity_scale.at(start);
        let (up, strength) = match gravity.length() {
            0.0 => (DVec3::Y, 9.81 / rig.world.metres_per_unit),
            g => (-gravity / g, g),
        };
        let still = posed(&input);
        let seen = Input { rig, linkage, posed: &still, step, up, gravity: strength };
        let (leg, ground) = (seen.leg(), seen.ground());
        if ground != DVec3::ZERO {
            // Walking on the spot is walking while the ground goes by.
            let root = tree.coordinates_of(0);
            for (k, q) in input.iter_mut().enumerate() {
                let at = DVec3::from_slice(&q[root.clone()]) - ground * (k as f64 * step);
                at.write_to_slice(&mut q[root.clone()]);
            }
        }
        let moving = posed(&input);
        let schedule = Input { posed: &moving, ..seen }.schedule(ground);
        let weight = tree.total_mass() * strength;
        let name = rig.solids[linkage.solids[0].0].name.clone();
        let mut figure = Figure {
            problem: Problem {
                drives: drives(rig, linkage, weight, leg),
                closeness: closeness(linkage, leg, options.stay_close),
                tree: tree.clone(),
                gravity,
                steps: vec![step; count - 1],
                contacts: schedule.contacts,
                weight,
                ease: 1e-3,
                holds: schedule.holds,
                bounds: schedule.bounds,
                keys: Vec::new(),
                price: PRICE,
                ends: [End::Free, End::Free],
                input,
            },
            per_frame,
            start,
            step,
            ground,
            leg,
            stances: schedule.stances,
            hits: Vec::new(),
            flight: None,
            name,
        };
        figure.check(rig, &moving, up, strength)?;
        figure.aim(rig, linkage, options);
        Ok(figure)
    }

    /// Refuses what nothing holds up, and notes flights that are too short for their rise.
    fn check(&mut self, rig: &Rig, posed: &[Posed], up: DVec3, gravity: f64) -> Result<(), Refused> {
        let tree = &self.problem.tree;
        let centre: Vec<f64> = posed.iter().map(|p| up.dot(p.centre_of_mass(tree))).collect();
        let free: Vec<bool> = self.problem.contacts.iter().map(Vec::is_empty).collect();
        let frame = |k: usize| rig.range.first + k as f64 / self.per_frame as f64;
        let held_by_nobody = |a: usize, b: usize| Refused::HeldByNobody {
            figure: self.name.clone(),
            from: frame(a),
            to: frame(b),
        };
        if gravity > 0.0 && free.iter().all(|f| *f) {
            return Err(held_by_nobody(0, free.len() - 1));
        }
        let mut from = None;
        let mut flight: Option<(f64, f64)> = None;
        for k in 0..=free.len() {
            match (from, free.get(k).copied().unwrap_or(false)) {
                (None, true) => from = Some(k),
                (Some(a), false) => {
                    from = None;
                    let b = k - 1;
                    let seconds = (b - a) as f64 * self.step;
                    if b < a + 2 {
                        continue;
                    }
                    let middle = (a + b) / 2;
                    // What the keys do in the middle of it, over its chord; and what a thrown body would.
                    let chord = centre[a] + (centre[b] - centre[a]) * (middle - a) as f64 / (b - a) as f64;
                    let (rise, thrown) = (centre[middle] - chord, gravity * seconds * seconds / 8.0);
                    if thrown - rise > HANGS * self.leg {
                        return Err(held_by_nobody(a, b));
                    }
                    let off = rise - thrown;
                    if off > 0.05 * self.leg && flight.is_none_or(|f| f.0 < off) {
                        flight = Some((off, (rise / thrown).sqrt()));
                    }
                }
                _ => {}
            }
        }
        self.flight = flight;
        Ok(())
    }

    /// Keys that must be hit.
    fn aim(&mut self, rig: &Rig, linkage: &Linkage, options: &Options) {
        for (index, hit) in options.hits.iter().enumerate() {
            let Some(&(solid, link)) = linkage.solids.iter().find(|s| s.0 == hit.solid) else { continue };
            let knot = ((hit.time - self.start) / self.step).round().max(0.0) as usize;
            let knot = knot.min(self.problem.knots() - 1);
            // The node's origin, in the link's frame.
            let centre = self.problem.tree.links()[link].mass.map_or(Placement::IDENTITY, |m| m.centre);
            let back = rig.solids[solid].offset.to(&Placement::IDENTITY);
            let at = centre.then(&back).position;
            let mut posed = Posed::default();
            self.problem.tree.place(&self.problem.input[knot], &mut posed);
            let keyed = posed.links[link].position + posed.links[link].rotation * at;
            let to = hit.to.map_or(keyed, |to| to - self.ground * (knot as f64 * self.step));
            let measure = Measure::Point { link, at, to };
            self.hits.push(index);
            self.problem.keys.push(Key { knot, row: Row { measure, scale: 1.0 / self.leg } });
        }
    }

    /// Puts the figure's bodies where they were found.
    fn put(&self, linkage: &Linkage, found: &Refinement, times: &[f64], places: &mut [Vec<Placement>]) {
        let mut posed = Posed::default();
        for (f, places) in places.iter_mut().enumerate() {
            let knot = (f * self.per_frame).min(self.problem.knots() - 1);
            let q = match f + 1 == times.len() {
                // The last frame may be shorter than the others: where it is in between, turns are.
                true => self.between(found, times[f]),
                false => found.motion()[knot].clone(),
            };
            self.problem.tree.place(&q, &mut posed);
            let by = self.ground * (times[f] - self.start);
            for &(solid, link) in &linkage.solids {
                let mut place = posed.centres[link];
                place.position += by;
                places[solid] = place;
            }
        }
    }

    /// The configuration at a time.
    fn between(&self, found: &Refinement, time: f64) -> Vec<f64> {
        let tree = &self.problem.tree;
        let at = ((time - self.start) / self.step).max(0.0);
        let knot = (at.floor() as usize).min(self.problem.knots() - 2);
        let (a, b) = (&found.motion()[knot], &found.motion()[knot + 1]);
        let mut by = vec![0.0; tree.freedoms()];
        tree.difference(a, b, &mut by);
        by.iter_mut().for_each(|v| *v *= (at - knot as f64).min(1.0));
        let mut q = a.clone();
        tree.integrate(a, &by, &mut q);
        q
    }

    fn report(self, found: &Refinement, before: Vec<f64>) -> Refined {
        let tree = &self.problem.tree;
        let mut by = vec![0.0; tree.freedoms()];
        let (mut sum, mut count, mut most) = (0.0, 0, 0.0_f64);
        let mut strongest = 0.0_f64;
        for (k, q) in found.motion().iter().enumerate() {
            tree.difference(&self.problem.input[k], q, &mut by);
            for (link, _) in tree.links().iter().enumerate().filter(|(_, l)| l.body.is_some()) {
                let turn = tree.freedoms_of(link).map(|f| by[f] * by[f]).sum::<f64>();
                (sum, count, most) = (sum + turn, count + 1, most.max(turn.sqrt()));
            }
            for (f, _) in self.problem.drives.iter().enumerate().filter(|(_, d)| d.limited) {
                strongest = strongest.max(found.forces(k)[f].abs());
            }
        }
        Refined {
            figure: self.name,
            status: found.status().clone(),
            iterations: found.iterations().to_vec(),
            before,
            after: found.residuals(),
            hits: self.hits,
            stances: self.stances,
            knots_per_frame: self.per_frame,
            change: ((sum / f64::from(count.max(1))).sqrt(), most),
            strongest,
            flight: self.flight,
            on_the_spot: (self.ground != DVec3::ZERO).then_some(self.ground),
        }
    }
}

/// Of a leg: keys that stay this much above where a thrown body would be have nobody who holds them up.
const HANGS: f64 = 0.25;

/// The most that a key may cost, per leg that it is missed by.
const PRICE: f64 = 1.0;

/// Who acts where: nobody at the root, muscles everywhere else as strong as their set-up says.
fn drives(rig: &Rig, linkage: &Linkage, weight: f64, leg: f64) -> Vec<Drive> {
    let tree = &linkage.tree;
    let mut drives = Vec::with_capacity(tree.freedoms());
    for (i, link) in tree.links().iter().enumerate() {
        let own = tree.freedoms_of(i);
        let root = link.parent.is_none() || link.parent == Some(0);
        let one = match (root, link.body) {
            (false, Some(body)) => {
                let most = rig.drive(body, rig.range.start()).max_torque;
                let limited = most.is_finite();
                let unit = if limited { most } else { weight * leg };
                // What has no strength hangs limp.
                let effort = (most > 1e-9 * weight * leg).then_some(1.0);
                Drive { unit: if effort.is_some() { unit } else { weight * leg }, effort, limited }
            }
            (true, Some(_)) => Drive { unit: weight * leg, effort: None, limited: false },
            _ => Drive { unit: weight, effort: None, limited: false },
        };
        drives.extend(own.map(|_| one));
    }
    drives
}

/// What it costs to leave the input: per square radian and second, and per square leg.
fn closeness(linkage: &Linkage, leg: f64, stay_close: f64) -> Vec<f64> {
    let tree = &linkage.tree;
    let price = libm::pow(100.0, 2.0 * stay_close - 1.0);
    let of = |k: usize| if tree.link_of(k) == 0 { price / (leg * leg) } else { price };
    (0..tree.freedoms()).map(of).collect()
}
