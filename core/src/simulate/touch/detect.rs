//! Which contacts a step has: pairs whose ways come near each other, and the points at which they would meet.

use super::body::Body;
use super::contact::{Contact, Crossing};
use super::soft::softness;
use super::{Touch, World};
use crate::contact::{Facing, Manifold, Point, fall, near, never_hides, pose};
use crate::rig::{Collider, Rig};
use crate::scene::Placement;
use crate::shape::Geometry;
use crate::simulate::State;
use crate::simulate::carriers::{around, below};
use crate::simulate::cluster::{Cluster, NEAR};
use glam::DVec3;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::math::Pose;
use parry3d_f64::query::{ShapeCastOptions, cast_shapes, gjk};
use parry3d_f64::shape::{Shape, Triangle};

/// Surfaces that end the step nearer than this share of the smaller thing, where it hardly moves, may come to touch by what
/// others do; see [`NEAR`].
const CLOSE: f64 = 0.02;

/// A pair that moves against each other by more than this share of the smaller thing might pass through: where the two
/// first meet is sought along the way.
const FAST: f64 = 0.2;

/// The same for what bounces: it leaves by the normal that it meets with.
const BOUNCING: f64 = 0.01;

impl Touch {
    /// Has a body that is not simulated move on, by its keys if it has any.
    pub(super) fn follow_keys(&mut self, world: &World<'_>, body: u32) {
        let keyed = self.carriers.keyed.get((body - self.carriers.solids) as usize);
        if let Some(&path) = keyed {
            self.bodies[body as usize] = Body::keyed(world.rig, path, world.from, world.to, world.h);
        }
    }

    /// Notes where bodies go that nothing was thought to come near.
    pub(super) fn watch(&mut self, rig: &Rig, state: &State, cluster: &Cluster<'_>) {
        // Where they began they were thought to be, and nobody asks of those that are all there are.
        for &s in cluster.solids.iter().filter(|_| !cluster.alone) {
            for &c in self.carriers.of(s) {
                let collider = &rig.colliders.all[c as usize];
                let now = around(collider, &state.solids[s as usize].placement());
                self.been[c as usize] = self.been[c as usize].with(&now.loosened(0.5 * NEAR * collider.size));
            }
        }
    }

    /// Puts the box around the way of a collider into `bounds`; whether it is where it was thought to be.
    fn bound(&mut self, world: &World<'_>, c: u32) -> bool {
        let collider = &world.rig.colliders.all[c as usize];
        let body = &self.bodies[self.carriers.body_of[c as usize] as usize];
        let around = |at: &Placement| around(collider, at);
        let mut all = around(&body.from);
        if body.to != body.from {
            all = all.with(&around(&body.to));
        }
        if body.end != body.to {
            all = all.with(&around(&body.end));
        }
        let far =
            (body.to.position - body.from.position).length() + body.spun * self.carriers.radii[c as usize];
        self.tight[c as usize] = match &collider.geometry {
            // Most of a figure is well above it.
            Geometry::HalfSpace(_) => below(&body.from.then(&collider.place))
                .with(&below(&body.to.then(&collider.place)))
                .loosened(0.5 * CLOSE * self.carriers.largest + far),
            _ => all.loosened(0.5 * CLOSE * collider.size + far),
        };
        let all = all.loosened(0.5 * NEAR * collider.size);
        self.bounds[c as usize] = all;
        let been = &mut self.been[c as usize];
        *been = been.with(&all);
        world.cluster.guesses[c as usize].holds(&all)
    }

    /// Finds the contacts.
    pub(super) fn detect(&mut self, world: &World<'_>) {
        for k in 0..self.active.len() {
            let body = &mut self.bodies[self.active[k] as usize];
            body.looked = body.end.position;
            body.strays = body.end != body.to;
        }
        let mut foreseen = true;
        for k in 0..self.near.len() {
            foreseen &= self.bound(world, self.near[k]);
        }
        let mut pairs = std::mem::take(&mut self.pairs);
        if foreseen {
            let meet = |p: &&(u32, u32)| self.bounds[p.0 as usize].meets(&self.bounds[p.1 as usize]);
            pairs.clear();
            pairs.extend(world.cluster.pairs.iter().filter(meet));
        } else {
            self.look_everywhere(world, &mut pairs);
        }
        self.contacts.clear();
        self.points.clear();
        self.overlaps.fill(false);
        for &(a, b) in &pairs {
            // Many are near each other for what others may do to them, but too far to touch.
            if self.tight[a as usize].meets(&self.tight[b as usize]) {
                self.pair(world, [a, b]);
            }
        }
        self.pairs = pairs;
    }

    /// Finds the pairs of a cluster whose members go where nobody thought they would: they may meet each other, and
    /// anything that is not simulated.
    fn look_everywhere(&mut self, world: &World<'_>, pairs: &mut Vec<(u32, u32)>) {
        let carriers = self.carriers.clone();
        for body in carriers.solids..carriers.count() as u32 {
            if self.stamps[body as usize] != self.stamp {
                self.stamps[body as usize] = self.stamp;
                self.active.push(body);
                self.near.extend_from_slice(carriers.of(body));
                self.follow_keys(world, body);
            }
        }
        for &c in carriers.unmoved() {
            self.bound(world, c);
        }
        self.near.sort_unstable();
        self.ordered.clear();
        self.ordered.extend(self.near.iter().map(|c| self.bounds[*c as usize]));
        let near = &self.near;
        let may = |a: u32, b: u32| carriers.may_touch(world.rig, near[a as usize], near[b as usize]);
        self.sweep.pairs(&self.ordered, may, pairs);
        pairs.iter_mut().for_each(|p| *p = (near[p.0 as usize], near[p.1 as usize]));
    }

    /// Works out what is wanted of the contacts.
    pub(super) fn plan(&mut self, world: &World<'_>) {
        for c in &self.contacts {
            if c.rests(&self.points, world.h) {
                for b in c.bodies {
                    let body = &mut self.bodies[b as usize];
                    body.rests = body.light > 0.0;
                }
            }
        }
        let colliders = &world.rig.colliders.all;
        for c in &mut self.contacts {
            let bodies = c.bodies.map(|b| &self.bodies[b as usize]);
            let [x, y] = c.colliders.map(|c| colliders[c as usize].material.bounce);
            c.plan(&mut self.points, bodies, x.max(y), world.h);
        }
    }

    /// How far two colliders move against each other without contacts, at most.
    fn moved(&self, pair: [u32; 2], bodies: [&Body; 2]) -> f64 {
        let way = |body: &Body| body.to.position - body.from.position;
        let sweep = |e: usize| bodies[e].spun * self.carriers.radii[pair[e] as usize];
        (way(bodies[1]) - way(bodies[0])).length() + sweep(0) + sweep(1)
    }

    /// How far a collider ends from where contacts were looked for, at most.
    fn astray(&self, c: u32, body: &Body) -> f64 {
        let turned = Body::chord(body.to.rotation, body.end.rotation) * self.carriers.radii[c as usize];
        (body.end.position - body.to.position).length() + turned
    }

    /// Adds the contacts of one pair of colliders.
    fn pair(&mut self, world: &World<'_>, pair: [u32; 2]) {
        let of = pair.map(|c| &world.rig.colliders.all[c as usize]);
        let numbers = pair.map(|c| self.carriers.body_of[c as usize]);
        let bodies = numbers.map(|b| &self.bodies[b as usize]);
        let size = of[0].size.min(of[1].size);
        let sweep = |e: usize| bodies[e].spun * self.carriers.radii[pair[e] as usize];
        let moved = self.moved(pair, bodies);
        // Keys beyond all numbers put things nowhere.
        if !moved.is_finite() {
            return;
        }
        let mut moment = 0.0;
        let mut struck = false;
        let bounces = bounces(of);
        if moved > slow(of) {
            match first_meeting(of, bodies) {
                Some(share) => (moment, struck) = (share, share > 0.0),
                None => moment = 1.0, // side by side at the end, at most
            }
        }
        let strays = bodies[0].strays || bodies[1].strays;
        let keep = (CLOSE * size + moved).min(NEAR * size);
        let at = [0, 1].map(|e| match moment {
            0.0 => bodies[e].from,
            1.0 if strays => bodies[e].end,
            1.0 => bodies[e].to,
            share => bodies[e].part_way(share),
        });
        let places = of.map(|c| c.place);
        let placed =
            [0, 1].map(|e| if places[e] == Placement::IDENTITY { at[e] } else { at[e].then(&places[e]) });
        let reach = match moment > 0.0 {
            true => NEAR * size + sweep(0) + sweep(1),
            false if strays => NEAR * size + moved,
            false => keep + moved,
        };
        self.found.clear();
        let first = (&of[0].geometry, &placed[0]);
        near(first, (&of[1].geometry, &placed[1]), reach, &mut self.library, &mut self.found);
        let softness = softness(of);
        if let Some(k) = world.rig.colliders.inside(pair[0] as usize, pair[1] as usize)
            && !world.state.parted[k]
        {
            let over = |m: &Manifold| m.points().iter().any(|p| m.meet(p, &placed[0], &placed[1]).gap < 0.0);
            self.overlaps[k] |= self.found.iter().any(over);
            return;
        }
        for manifold in &self.found {
            // Most shapes are where their bodies are.
            let turned = places.map(|p| p != Placement::IDENTITY);
            let whole = if turned[0] || turned[1] { &in_bodies(manifold, of) } else { manifold };
            let mut contact = None;
            for point in whole.points() {
                let meet = |at: [&Placement; 2]| whole.meet(point, at[0], at[1]);
                let mut before = meet([&bodies[0].from, &bodies[1].from]);
                let mut after = meet([&bodies[0].to, &bodies[1].to]);
                before.gap += softness;
                after.gap += softness;
                let mut nearest = after.gap;
                if strays {
                    let end = meet([&bodies[0].end, &bodies[1].end]).gap + softness;
                    // A bounce sent it here, and it would bounce again.
                    if bounces && end < 0.0 && after.gap > 0.0 {
                        self.bounced = Some(self.simulated(numbers));
                    }
                    nearest = nearest.min(end);
                }
                if nearest <= keep || struck && softness == 0.0 {
                    let now = if moment == 0.0 { before } else { meet([&at[0], &at[1]]) };
                    let gaps = [before.gap, after.gap];
                    let struck = (struck && softness == 0.0).then_some(moment);
                    let ends = if struck.is_some() { [now.point; 2] } else { [before.point, after.point] };
                    let first = self.points.len();
                    contact
                        .get_or_insert_with(|| {
                            Contact::new(pair, numbers, of, whole.face(), now.normal, size, first)
                        })
                        .note(
                            &mut self.points,
                            point,
                            bodies,
                            &now,
                            Crossing { gaps, struck, rests: false },
                            ends,
                        );
                }
            }
            self.contacts.extend(contact);
        }
        // Where they were found to end inside each other, too.
        let first = self.extras.partition_point(|e| e.0 < pair);
        for (_, whole) in self.extras[first..].iter().take_while(|e| e.0 == pair) {
            let mut contact = None;
            for point in whole.points() {
                let before = whole.meet(point, &bodies[0].from, &bodies[1].from);
                let after = whole.meet(point, &bodies[0].to, &bodies[1].to);
                let when = Crossing { gaps: [before.gap, after.gap], struck: None, rests: false };
                let first = self.points.len();
                contact
                    .get_or_insert_with(|| {
                        Contact::new(pair, numbers, of, whole.face(), before.normal, size, first)
                    })
                    .note(&mut self.points, point, bodies, &before, when, [before.point, after.point]);
            }
            self.contacts.extend(contact);
        }
        if softness > 0.0 {
            self.press(world, pair, softness);
        }
    }

    /// Looks at pairs that have moved against each other, where they ended: corners and faces that were not the nearest
    /// at the start may be now. A body that is inside another there without a contact that knows.
    pub(super) fn overlooks(&mut self, world: &World<'_>) -> Option<u32> {
        let mut overlooked = None;
        for &b in &self.active {
            let body = &self.bodies[b as usize];
            let turned = Body::chord(body.from.rotation, body.end.rotation);
            let way = (body.end.position - body.from.position).length();
            for &c in self.carriers.of(b) {
                let turned = turned * self.carriers.radii[c as usize];
                self.moves[c as usize] = (turned, way + turned);
            }
        }
        let mut at = 0;
        for k in 0..self.pairs.len() {
            let (a, b) = self.pairs[k];
            let pair = [a, b];
            let [x, y] = pair.map(|c| self.carriers.sizes[self.carriers.body_of[c as usize] as usize]);
            let moves = pair.map(|c| self.moves[c as usize]);
            if moves[0].1 + moves[1].1 < STALE * x.min(y) {
                continue;
            }
            while at < self.contacts.len() && self.contacts[at].colliders < pair {
                at += 1;
            }
            let of = pair.map(|c| &world.rig.colliders.all[c as usize]);
            let bodies = pair.map(|c| &self.bodies[self.carriers.body_of[c as usize] as usize]);
            let size = of[0].size.min(of[1].size);
            let way = |body: &Body| body.end.position - body.from.position;
            if (way(bodies[1]) - way(bodies[0])).length() + moves[0].0 + moves[1].0 < STALE * size
                || softness(of) > 0.0
                || world.rig.colliders.inside(a as usize, b as usize).is_some()
            {
                continue;
            }
            // What was looked at along its way, and ended about there.
            if never_hides(&of[0].geometry, &of[1].geometry)
                && self.moved(pair, bodies) <= slow(of)
                && self.astray(a, bodies[0]) + self.astray(b, bodies[1]) < CLOSE * size
            {
                continue;
            }
            if self.misses(world, pair, at, 0.0) {
                overlooked = Some(self.simulated(pair.map(|c| self.carriers.body_of[c as usize])));
            }
        }
        self.extras.sort_unstable_by_key(|e| e.0);
        overlooked
    }

    /// Whether a pair is nearer than `margin`, a share of the smaller thing, where it ended without a contact that knows; its
    /// contacts begin at `at`.
    fn misses(&mut self, world: &World<'_>, pair: [u32; 2], at: usize, margin: f64) -> bool {
        let missed = if self.contacts.len() > MANY { MISSED_BY_MANY } else { MISSED };
        let of = pair.map(|c| &world.rig.colliders.all[c as usize]);
        let bodies = pair.map(|c| &self.bodies[self.carriers.body_of[c as usize] as usize]);
        let size = of[0].size.min(of[1].size);
        let placed = [0, 1].map(|e| bodies[e].end.then(&of[e].place));
        self.found.clear();
        let first = (&of[0].geometry, &placed[0]);
        let margin = margin * size;
        near(first, (&of[1].geometry, &placed[1]), margin, &mut self.library, &mut self.found);
        let deepest = |m: &Manifold, at: [&Placement; 2]| {
            m.points().iter().fold(f64::INFINITY, |d, p| d.min(m.meet(p, at[0], at[1]).gap))
        };
        let ends = [&bodies[0].end, &bodies[1].end];
        let known = self.contacts[at..].iter().take_while(|c| c.colliders == pair);
        let known = known
            .flat_map(|c| c.spots(&self.points).iter().map(|s| c.face.meet(&s.at, ends[0], ends[1]).gap));
        let known = known.fold(margin, f64::min);
        let before = self.extras.len();
        for m in &self.found {
            if deepest(m, [&placed[0], &placed[1]]) < known - missed * size {
                self.extras.push((pair, in_bodies(m, of)));
            }
        }
        self.extras.len() > before
    }

    /// Whether bodies whose ways contacts have bent far come near something that no contact knows, or so many of them might;
    /// of a crowd, whether they run into it.
    pub(super) fn strays(&mut self, world: &World<'_>) -> bool {
        let strayed = self.active.iter().filter(|b| self.strayed(**b)).count();
        if strayed == 0 {
            return false;
        }
        let crowd = self.contacts.len() > MANY;
        if strayed > FEW || !crowd && world.cluster.linkages.is_empty() {
            return true;
        }
        let margin = if crowd { 0.0 } else { CLOSE };
        for k in 0..self.active.len() {
            let body = self.active[k];
            if !self.strayed(body) {
                continue;
            }
            for n in 0..self.carriers.of(body).len() {
                let c = self.carriers.of(body)[n];
                if !self.bound(world, c) || self.runs_into(world, c, margin) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether a collider that has strayed is nearer to another than `margin`, a share of the smaller thing, where it ended,
    /// without a contact that knows.
    fn runs_into(&mut self, world: &World<'_>, c: u32, margin: f64) -> bool {
        for k in 0..self.near.len() {
            let pair = [c.min(self.near[k]), c.max(self.near[k])];
            let near = self.bounds[pair[0] as usize].meets(&self.bounds[pair[1] as usize]);
            let firm = || softness(pair.map(|c| &world.rig.colliders.all[c as usize])) == 0.0;
            if near && self.carriers.may_touch(world.rig, pair[0], pair[1]) {
                let known = world.rig.colliders.inside(pair[0] as usize, pair[1] as usize).is_some();
                let at = self.contacts.partition_point(|c| c.colliders < pair);
                if !known && firm() && self.misses(world, pair, at, margin) {
                    self.extras.sort_unstable_by_key(|e| e.0);
                    return true;
                }
            }
        }
        false
    }
}

/// A pair that moves against each other by more than this share of the smaller thing is looked at again at the end.
const STALE: f64 = 0.02;

/// An overlap that no contact knew of, as a share of the smaller thing. Of a crowd, which is not pushed apart to more than
/// that, the next step will know soon enough.
const MISSED: f64 = 1e-3;
const MISSED_BY_MANY: f64 = 1e-2;
const MANY: usize = 1000;

/// So many that have strayed are looked at one by one.
const FEW: usize = 32;

fn bounces(of: [&Collider; 2]) -> bool {
    of[0].material.bounce.max(of[1].material.bounce) > 0.0
}

/// What moves further than this against each other might pass through, or bounce askew.
fn slow(of: [&Collider; 2]) -> f64 {
    (if bounces(of) { BOUNCING } else { FAST }) * of[0].size.min(of[1].size)
}

/// A manifold in the axes of the bodies instead of the shapes.
pub(super) fn in_bodies(manifold: &Manifold, of: [&Collider; 2]) -> Manifold {
    let places = of.map(|c| c.place);
    let normal = match manifold.facing {
        Facing::First => places[0].rotation * manifold.normal,
        Facing::Second => places[1].rotation * manifold.normal,
        Facing::Between => manifold.normal,
    };
    let mut moved = Manifold::new(normal, manifold.facing);
    for p in manifold.points() {
        let first = places[0].position + places[0].rotation * p.first;
        let second = places[1].position + places[1].rotation * p.second;
        moved.push(Point { first, second, ..*p });
    }
    moved
}

/// At which share of the step two shapes first meet on their ways; `None` if they do not.
///
/// Turning is taken in parts: in each the shapes go straight, as they are turned in its middle.
fn first_meeting(of: [&Collider; 2], bodies: [&Body; 2]) -> Option<f64> {
    let turn = |b: &Body| {
        2.0 * DVec3::from_slice(&(b.to.rotation * b.from.rotation.conjugate()).to_array()[..3]).length()
    };
    let parts = ((turn(bodies[0]) + turn(bodies[1])) / PART).ceil().clamp(1.0, 16.0) as usize;
    for part in 0..parts {
        let share = |x: f64| (part as f64 + x) / parts as f64;
        let shape = |e: usize| {
            let place = of[e].place;
            if parts == 1 {
                let (from, to) = (bodies[e].from.then(&place), bodies[e].to.then(&place));
                return (from, to.position - from.position);
            }
            let from = bodies[e].part_way(share(0.0)).then(&place);
            let to = bodies[e].part_way(share(1.0)).then(&place);
            let middle = bodies[e].part_way(share(0.5)).then(&place);
            (Placement { position: from.position, ..middle }, to.position - from.position)
        };
        let ((at_a, way_a), (at_b, way_b)) = (shape(0), shape(1));
        let (a, b) = (&of[0].geometry, &of[1].geometry);
        let met = match fall((a, &at_a), (b, &at_b), way_b - way_a) {
            Some(when) => when,
            None => cast((&pose(&at_a), way_a, a.shape()), (&pose(&at_b), way_b, b.shape())),
        };
        if let Some(when) = met {
            return Some(share(when));
        }
    }
    None
}

/// At which share of their straight ways two shapes first meet.
fn cast(
    (at_a, way_a, a): (&Pose, DVec3, &dyn Shape),
    (at_b, way_b, b): (&Pose, DVec3, &dyn Shape),
) -> Option<f64> {
    if let (Some(x), Some(y)) = (a.as_support_map(), b.as_support_map())
        && !(a.as_ball().is_some() && b.as_ball().is_some())
    {
        // As the library does it, but for how deep those are inside each other that are from the start: for that it
        // makes room anew each time.
        let (between, way) = (at_a.inv_mul(at_b), at_a.rotation.inverse() * (way_b - way_a));
        let met = gjk::directional_distance(&between, x, y, way, &mut gjk::VoronoiSimplex::new());
        return met.map(|m| m.0).filter(|when| *when <= 1.0);
    }
    if a.as_trimesh().is_some() || a.as_heightfield().is_some() {
        return cast_on_surface((at_a, a), (at_b, b), way_b - way_a);
    }
    if b.as_trimesh().is_some() || b.as_heightfield().is_some() {
        return cast_on_surface((at_b, b), (at_a, a), way_a - way_b);
    }
    let options = ShapeCastOptions {
        max_time_of_impact: 1.0,
        stop_at_penetration: true,
        compute_impact_geometry_on_penetration: false,
        ..ShapeCastOptions::default()
    };
    let hit = cast_shapes(at_a, way_a, a, at_b, way_b, b, options).ok()??;
    Some(hit.time_of_impact)
}

/// The same of a surface that stands and a shape that goes some way, triangle by triangle.
fn cast_on_surface(
    (at, surface): (&Pose, &dyn Shape),
    (from, shape): (&Pose, &dyn Shape),
    way: DVec3,
) -> Option<f64> {
    let other = shape.as_support_map()?;
    let (between, way) = (at.inv_mul(from), at.rotation.inverse() * way);
    let start = shape.compute_aabb(&between);
    let end = Aabb::new(start.mins + way, start.maxs + way);
    let bounds = Aabb::new(start.mins.min(end.mins), start.maxs.max(end.maxs));
    let mut first = f64::INFINITY;
    let mut meet = |triangle: &Triangle| {
        let met = gjk::directional_distance(&between, triangle, other, way, &mut gjk::VoronoiSimplex::new());
        first = met.map_or(first, |m| first.min(m.0));
    };
    if let Some(mesh) = surface.as_trimesh() {
        mesh.bvh().intersect_aabb(&bounds).for_each(|t| meet(&mesh.triangle(t)));
    } else if let Some(field) = surface.as_heightfield() {
        field.map_elements_in_local_aabb(&bounds, &mut |_, triangle| meet(triangle));
    }
    (first <= 1.0).then_some(first)
}

/// Turns beyond this (rad) are taken in parts.
const PART: f64 = 0.4;
