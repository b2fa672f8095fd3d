//! How well a pile is kept apart, measured from where its bodies are and not taken from the engine's word.

use crate::pile::{Form, Pile, SETTLED};
use glam::{DQuat, DVec3};
use parry3d_f64::math::Pose;
use parry3d_f64::query::contact;
use parry3d_f64::shape::{Ball, Cuboid, Shape};
use serde_json::Value;
use sinew_core::scene::Placement;

/// Follows a run of a pile, frame by frame.
pub struct Watch {
    shapes: Vec<Box<dyn Shape>>,
    /// How far each body reaches from its centre, m.
    reach: Vec<f64>,
    walls: Vec<(Cuboid, DVec3)>,
    order: Vec<usize>,
    before: Vec<Placement>,
    dt: f64,
    room: f64,
    frames: usize,
    /// How deep two bodies, or one and a wall, are in each other at most, m: at the end, when settled, over all frames.
    pub deepest: [f64; 3],
    /// The way of the fastest body's centre over the last frame, by its time, m/s.
    pub speed: f64,
    /// Mean square of the speeds of all bodies when settled, (m/s)^2, times the settled frames so far.
    squares: f64,
    /// Bodies whose centre is in the floor or a wall, beyond it, or nowhere: then the other figures mean nothing.
    pub lost: usize,
}

fn shape(form: &Form) -> Box<dyn Shape> {
    match *form {
        Form::Ball(radius) => Box::new(Ball::new(radius)),
        Form::Box(half) => Box::new(Cuboid::new(half)),
    }
}

/// Whether one thing overlaps any of the others.
pub fn overlaps(one: (&Placement, &Form), mut others: impl Iterator<Item = (Placement, Form)>) -> bool {
    let (at, own) = (pose(one.0), shape(one.1));
    let reach = |s: &dyn Shape| s.compute_local_bounding_sphere().radius();
    others.any(|(p, form)| {
        let other = shape(&form);
        p.position.distance(one.0.position) < reach(&*own) + reach(&*other)
            && matches!(contact(&at, &*own, &pose(&p), &*other, 0.0), Ok(Some(_)))
    })
}

fn pose(p: &Placement) -> Pose {
    Pose::from_parts(p.position, p.rotation)
}

impl Watch {
    /// A pile at its start.
    pub fn new(pile: &Pile) -> Watch {
        let shapes: Vec<Box<dyn Shape>> = pile.bodies.iter().map(|(_, form)| shape(form)).collect();
        let reach = shapes.iter().map(|s| s.compute_local_bounding_sphere().radius()).collect();
        Watch {
            order: (0..shapes.len()).collect(),
            shapes,
            reach,
            walls: pile.walls.iter().map(|&(half, at)| (Cuboid::new(half), at)).collect(),
            before: pile.start(),
            dt: pile.dt,
            room: pile.room,
            frames: 0,
            deepest: [0.0; 3],
            speed: 0.0,
            squares: 0.0,
            lost: 0,
        }
    }

    /// The next frame.
    pub fn see(&mut self, now: &[Placement]) {
        let speed = |(n, b): (&Placement, &Placement)| (n.position - b.position).length() / self.dt;
        let speeds = || now.iter().zip(&self.before).map(speed);
        self.speed = speeds().fold(0.0, f64::max);
        let settled = SETTLED.contains(&self.frames);
        if settled {
            self.squares += speeds().map(|v| v * v).sum::<f64>() / now.len() as f64;
        }
        self.frames += 1;
        let inside = |p: DVec3| p.is_finite() && p.z > 0.0 && p.truncate().abs().max_element() < self.room;
        self.lost = now.iter().filter(|p| !inside(p.position)).count();
        self.before.copy_from_slice(now);
        let depth = self.depth(now);
        let [_, rest, all] = self.deepest;
        self.deepest = [depth, if settled { rest.max(depth) } else { rest }, all.max(depth)];
    }

    /// The figures, for a row of results.
    pub fn figures(&self) -> [(&'static str, Value); 6] {
        let [end, settled, run] = self.deepest;
        let mean = self.squares / SETTLED.len() as f64;
        [
            ("deepest", end.into()),
            ("deepest_settled", settled.into()),
            ("deepest_run", run.into()),
            ("speed", self.speed.into()),
            ("rms_speed", libm::sqrt(mean).into()),
            ("lost", self.lost.into()),
        ]
    }

    fn depth(&mut self, now: &[Placement]) -> f64 {
        let (shapes, reach) = (&self.shapes, &self.reach);
        let lowest = |i: usize| now[i].position.x - reach[i];
        self.order.sort_by(|&a, &b| lowest(a).total_cmp(&lowest(b)));
        let mut deepest = 0.0_f64;
        for (k, &a) in self.order.iter().enumerate() {
            let (at, far) = (pose(&now[a]), now[a].position.x + reach[a]);
            for &b in self.order[k + 1..].iter().take_while(|&&b| lowest(b) < far) {
                let near = reach[a] + reach[b];
                if now[a].position.distance_squared(now[b].position) < near * near
                    && let Ok(Some(c)) = contact(&at, &*shapes[a], &pose(&now[b]), &*shapes[b], 0.0)
                {
                    deepest = deepest.max(-c.dist);
                }
            }
            for (wall, center) in &self.walls {
                let off = (now[a].position - center).abs() - wall.half_extents;
                let there = Pose::from_parts(*center, DQuat::IDENTITY);
                if off.max_element() < reach[a]
                    && let Ok(Some(c)) = contact(&at, &*shapes[a], &there, wall, 0.0)
                {
                    deepest = deepest.max(-c.dist);
                }
            }
        }
        deepest
    }
}
