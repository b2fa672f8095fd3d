//! What is drawn of each body, taken out of a motion.

use glam::DVec3;
use sinew_core::motion::{Motion, Sample};
use sinew_core::rig::Rig;
use sinew_core::rotation;
use sinew_core::scene::Placement;
use sinew_core::setup::Timing;

/// Curves have no more points than this: more than a page has pixels.
const MOST_POINTS: usize = 4000;

/// Points of the key curve between frames, so that corners between frames show.
const KEY_POINTS_PER_FRAME: usize = 4;

/// Paths less wide than this share of their length are a line on the page, and values over time say more.
const NEARLY_STRAIGHT: f64 = 0.03;

/// Points of a curve that are compared with another curve.
const MOST_COMPARED: usize = 600;

/// One body over time. Lists but `keys`, `key_dots` and `also` are parallel, one entry per drawn frame.
pub struct Track {
    /// The node.
    pub node: usize,
    /// The node's name.
    pub name: String,
    /// Whether its target follows the keys' own times.
    pub timed: bool,
    /// Whether only its orientation is simulated.
    pub turns_only: bool,
    /// `(time, place)` under the keys, finely.
    pub keys: Vec<(f64, DVec3)>,
    /// The same at the keys themselves; empty for a body that nothing guides.
    pub key_dots: Vec<(f64, DVec3)>,
    /// `(time, place)` as simulated.
    pub points: Vec<(f64, DVec3)>,
    /// Which of these came after a strike since the one before: there the way has a corner.
    pub corners: Vec<bool>,
    /// Where the target was.
    pub targets: Vec<DVec3>,
    /// `(time, degrees)` off the keys.
    pub angle: Vec<(f64, f64)>,
    /// N, or N m for a body that only turns.
    pub effort: Vec<f64>,
    /// The strongest that may be.
    pub limit: Vec<f64>,
    /// Whether it was that.
    pub saturated: Vec<bool>,
    /// `(time, place)` of the motion to compare with.
    pub also: Vec<(f64, DVec3)>,
}

impl Track {
    /// Everywhere it is drawn.
    pub fn places(&self) -> impl Iterator<Item = DVec3> {
        self.points.iter().chain(&self.keys).map(|p| p.1)
    }
}

/// An axis of the scene.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    const ALL: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

    /// The coordinate of a point.
    pub fn of(self, p: DVec3) -> f64 {
        p.to_array()[self as usize]
    }

    /// One along it.
    pub fn unit(self) -> DVec3 {
        DVec3::AXES[self as usize]
    }

    /// As people call it.
    pub fn name(self) -> &'static str {
        ["x", "y", "z"][self as usize]
    }

    /// From where one sees this axis across the page and `up` along it.
    pub fn seen_with(self, up: Axis) -> &'static str {
        match (self, up) {
            (Axis::X, Axis::Y) => "from the front",
            (_, Axis::Y) => "from the side",
            _ => "from above",
        }
    }
}

/// The tracks of the `most` bodies that depart most from their keys, in the rig's order, and how many are left
/// out.
pub fn tracks(rig: &Rig, motion: &Motion, also: Option<&Motion>, most: usize) -> (Vec<Track>, usize) {
    let mut chosen: Vec<usize> = (0..rig.solids.len()).collect();
    if chosen.len() > most {
        let apart = |s: &Sample| {
            let turned = rotation::distance(s.node.rotation, s.keys.rotation);
            (s.node.position - s.keys.position).length() + turned
        };
        let departs: Vec<f64> =
            chosen.iter().map(|&i| motion.solid(i).map(apart).fold(0.0, f64::max)).collect();
        chosen.sort_by(|&a, &b| departs[b].total_cmp(&departs[a]).then(a.cmp(&b)));
        chosen.truncate(most);
        chosen.sort_unstable();
    }
    let left_out = rig.solids.len() - chosen.len();
    (chosen.into_iter().map(|i| track(rig, motion, also, i)).collect(), left_out)
}

/// One frame in so many is drawn.
pub fn stride(motion: &Motion) -> usize {
    motion.frames().div_ceil(MOST_POINTS).max(1)
}

fn track(rig: &Rig, motion: &Motion, also: Option<&Motion>, i: usize) -> Track {
    let solid = &rig.solids[i];
    let stride = stride(motion);
    let drawn = || motion.times().iter().copied().zip(motion.solid(i)).step_by(stride);
    let target = solid.position_target.or(solid.rotation_target);
    let turns_only = !solid.simulate.position();
    let metres = rig.world.metres_per_unit;
    let (effort, limit) = drawn()
        .map(|(time, s)| {
            let drive = rig.drive(i, time);
            match turns_only {
                true => (s.torque.length() * metres * metres, drive.max_torque * metres * metres),
                false => (s.force.length() * metres, drive.max_force * metres),
            }
        })
        .unzip();

    // The path is that of the centre of mass; the node is what an animator sees.
    let path = &rig.paths[solid.hold.0];
    let back = solid.offset.to(&Placement::IDENTITY);
    let place = |t: f64| rig.keyed(i, t).then(&back).position;
    let mut times: Vec<f64> = Vec::new();
    if target.is_some() {
        let (start, end) = (path.start(), path.end());
        let fine = (motion.frames().min(MOST_POINTS) * KEY_POINTS_PER_FRAME).max(1);
        times.extend((0..=fine).map(|k| start + (end - start) * k as f64 / fine as f64));
        // Both sides of a key: stepped keys have two.
        times.extend(path.keys.iter().flat_map(|&t| [t - 1e-9, t]).filter(|t| *t >= start));
        times.sort_by(f64::total_cmp);
    }
    let key_dots = path.keys.iter().take(MOST_POINTS).map(|&t| (t, place(t))).filter(|_| target.is_some());
    let mut corners: Vec<bool> = drawn().map(|_| false).collect();
    let moments: Vec<f64> = drawn().map(|d| d.0).collect();
    for s in motion.strikes().iter().filter(|s| s.nodes.contains(&solid.node)) {
        if let Some(corner) = corners.get_mut(moments.partition_point(|t| *t < s.time)) {
            *corner = true;
        }
    }
    Track {
        node: solid.node,
        name: solid.name.clone(),
        timed: target.is_some_and(|t| rig.trackers[t].timing == Timing::Timed),
        turns_only,
        keys: times.into_iter().map(|t| (t, place(t))).collect(),
        key_dots: key_dots.collect(),
        points: drawn().map(|(t, s)| (t, s.node.position)).collect(),
        corners,
        targets: drawn().filter_map(|(_, s)| s.target_position).collect(),
        angle: drawn()
            .map(|(t, s)| (t, rotation::distance(s.node.rotation, s.keys.rotation).to_degrees()))
            .collect(),
        effort,
        limit,
        saturated: drawn().map(|(_, s)| s.saturated).collect(),
        also: also.map_or_else(Vec::new, |m| {
            m.times()
                .iter()
                .copied()
                .zip(m.solid(i))
                .step_by(stride)
                .map(|(t, s)| (t, s.node.position))
                .collect()
        }),
    }
}

/// The axes across and up that show most of the paths; `None` when they are (nearly) straight along one axis, or
/// still.
pub fn view(tracks: &[Track]) -> Option<(Axis, Axis)> {
    let spread = spread(tracks);
    let mut order = Axis::ALL;
    order.sort_by(|a, b| b.of(spread).total_cmp(&a.of(spread)));
    let (first, second) = (order[0], order[1]);
    if second.of(spread) <= NEARLY_STRAIGHT * first.of(spread) {
        return None;
    }
    let up = |axis| first == axis || second == axis;
    Some(match (up(Axis::X), up(Axis::Y)) {
        (true, true) => (Axis::X, Axis::Y),
        (false, true) => (Axis::Z, Axis::Y),
        _ => (Axis::X, Axis::Z),
    })
}

/// The axis along which positions depart most from the keys: from where the keys are at that time, or where the
/// keys' times do not count from the nearest point of their path. `None` when only orientations are simulated.
pub fn telling_axis(tracks: &[Track]) -> Option<Axis> {
    if tracks.iter().all(|t| t.turns_only) {
        return None;
    }
    let mut most = DVec3::ZERO;
    for t in tracks.iter().filter(|t| !t.turns_only && !t.keys.is_empty()) {
        let some = |n: usize| n.div_ceil(MOST_COMPARED);
        let keys: Vec<(f64, DVec3)> = t.keys.iter().step_by(some(t.keys.len())).copied().collect();
        for (time, place) in t.points.iter().step_by(some(t.points.len())) {
            let nearest = || {
                let distance = |k: &&(f64, DVec3)| (k.1 - *place).length_squared();
                keys.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
            };
            let at_that_time = || keys.get(keys.partition_point(|k| k.0 <= *time).saturating_sub(1));
            let keyed = if t.timed { at_that_time() } else { nearest() };
            most = most.max(keyed.map_or(DVec3::ZERO, |k| (*place - k.1).abs()));
        }
    }
    let spread = spread(tracks);
    // Less than a hundredth of the way is no departure: then the axis along which it goes.
    let telling = if most.max_element() > 0.01 * spread.max_element() { most } else { spread };
    let mut order = Axis::ALL;
    order.sort_by(|a, b| b.of(telling).total_cmp(&a.of(telling)));
    Some(order[0])
}

/// How far the paths reach along each axis.
fn spread(tracks: &[Track]) -> DVec3 {
    let places = tracks.iter().flat_map(|t| t.places()).filter(|p| p.is_finite());
    let (low, high) =
        places.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)));
    (high - low).max(DVec3::ZERO)
}
