//! Who struck whom, how hard, and who lay on something: a summary of the contacts of a motion.

use super::{Contact, Motion};
use crate::rig::{Carrier, Rig};
use glam::DVec3;
use serde::Serialize;
use std::collections::HashMap;

/// What touched during a motion. Places and speeds in scene units, the rest in SI.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Touching {
    /// Everything that began to touch, in the order of time.
    pub strikes: Vec<Struck>,
    /// Per simulated node that has a shape to touch with, in the rig's order.
    pub bodies: Vec<Touch>,
}

/// Two nodes began to touch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Struck {
    /// Seconds, between frames.
    pub time: f64,
    /// The same in frames; frame 0 is time 0.
    pub frame: f64,
    /// One node, as a set-up calls it.
    pub a: String,
    /// The other.
    pub b: String,
    /// Where.
    pub point: [f64; 3],
    /// From `a` to `b`.
    pub normal: [f64; 3],
    /// How hard, friction included, N s.
    pub impulse_ns: f64,
    /// The same as a vector: what `b` got. `a` got the opposite.
    pub impulse_on_b_ns: [f64; 3],
    /// Speed at which they closed in.
    pub speed: f64,
}

/// One body's summary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Touch {
    /// The node, as a set-up calls it.
    pub node: String,
    /// How often it began to touch something.
    pub strikes: usize,
    /// The hardest of these.
    pub hardest: Option<Hardest>,
    /// Share of the frames at which something bore on it, 0 to 1.
    pub touching: f64,
}

/// The hardest strike of a body.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hardest {
    /// N s.
    pub impulse_ns: f64,
    /// Seconds.
    pub time: f64,
    /// The same in frames.
    pub frame: f64,
    /// The other node.
    pub with: String,
}

/// One point of contact at a frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// One node, as a set-up calls it.
    pub a: String,
    /// The other.
    pub b: String,
    /// Where, scene units.
    pub point: [f64; 3],
    /// From `a` to `b`.
    pub normal: [f64; 3],
    /// Force along the normal, N.
    pub load_n: f64,
    /// Friction on `b`, N: of several points together, told with the first of them.
    pub friction_n: [f64; 3],
}

/// What a set-up calls the nodes that touch.
fn names(rig: &Rig) -> HashMap<usize, &str> {
    rig.colliders.all.iter().map(|c| (c.node, c.name.as_str())).collect()
}

/// Summary of a motion's contacts.
pub fn touching(rig: &Rig, motion: &Motion) -> Touching {
    let (metres, names) = (rig.world.metres_per_unit, names(rig));
    let name = |node: usize| names.get(&node).map_or_else(String::new, |n| (*n).to_owned());
    let frame = |time: f64| time * rig.range.frames_per_second;
    let strikes = motion.strikes().iter().map(|s| Struck {
        time: s.time,
        frame: frame(s.time),
        a: name(s.nodes[0]),
        b: name(s.nodes[1]),
        point: s.point.to_array(),
        normal: s.normal.to_array(),
        impulse_ns: s.impulse.length() * metres,
        impulse_on_b_ns: (s.impulse * metres).to_array(),
        speed: s.speed,
    });
    // Bodies by node, in the rig's order; each node once, however many shapes it has.
    let mut nodes: Vec<(usize, usize)> = Vec::new();
    for c in &rig.colliders.all {
        if let Carrier::Solid(solid) = c.carrier {
            nodes.push((solid, c.node));
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    let place: HashMap<usize, usize> = nodes.iter().enumerate().map(|(i, n)| (n.1, i)).collect();
    let touch =
        |&(_, node): &(usize, usize)| Touch { node: name(node), strikes: 0, hardest: None, touching: 0.0 };
    let mut bodies: Vec<Touch> = nodes.iter().map(touch).collect();
    for s in motion.strikes() {
        let impulse_ns = s.impulse.length() * metres;
        for (of, with) in [(s.nodes[0], s.nodes[1]), (s.nodes[1], s.nodes[0])] {
            let Some(&i) = place.get(&of) else { continue };
            let body = &mut bodies[i];
            body.strikes += 1;
            if body.hardest.as_ref().is_none_or(|h| impulse_ns > h.impulse_ns) {
                let (time, with) = (s.time, name(with));
                body.hardest = Some(Hardest { impulse_ns, time, frame: frame(time), with });
            }
        }
    }
    // Of each body, the frames at which it was touched, and the last of them.
    let mut touched = vec![(0_usize, None); bodies.len()];
    for f in 0..motion.frames() {
        for i in motion.contacts(f).iter().flat_map(|c| c.nodes).filter_map(|n| place.get(&n)) {
            if touched[*i].1 != Some(f) {
                touched[*i] = (touched[*i].0 + 1, Some(f));
            }
        }
    }
    for (body, (frames, _)) in bodies.iter_mut().zip(touched) {
        body.touching = frames as f64 / motion.frames().max(1) as f64;
    }
    Touching { strikes: strikes.collect(), bodies }
}

/// The points of contact at each frame.
pub fn points(rig: &Rig, motion: &Motion) -> Vec<Vec<Point>> {
    let (metres, names) = (rig.world.metres_per_unit, names(rig));
    let name = |node: usize| names.get(&node).map_or_else(String::new, |n| (*n).to_owned());
    let newtons = |force: DVec3| (force * metres).to_array();
    let point = |c: &Contact| Point {
        a: name(c.nodes[0]),
        b: name(c.nodes[1]),
        point: c.point.to_array(),
        normal: c.normal.to_array(),
        load_n: c.load * metres,
        friction_n: newtons(c.friction),
    };
    (0..motion.frames()).map(|f| motion.contacts(f).iter().map(point).collect()).collect()
}
