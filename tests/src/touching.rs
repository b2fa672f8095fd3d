//! How deep the things of a baked scene are inside each other, frame by frame, by another program's measure: places
//! come from the baked clip, distances from the library of shapes. Scenes in files are baked at 24 frames per second.

use glam::DVec3;
use parry3d_f64::bounding_volume::BoundingVolume;
use parry3d_f64::math::Pose;
use parry3d_f64::query::contact;
use parry3d_f64::shape::Shape;
use sinew_core::contact::pose;
use sinew_core::rig::{Carrier, Collider, Rig, compile};
use sinew_core::scene::{Clip, Pose as Posed, Scene};
use sinew_core::setup::from_json;
use sinew_plugin::gltf::{Document, ReadOptions};
use std::fmt;
use std::path::Path;

/// Frames per second of the scenes in files.
const RATE: f64 = 24.0;

/// Two things at the moment at which they are deepest in each other.
#[derive(Clone, Debug, Default)]
pub struct Deepest {
    /// Share of the smaller one's smallest extent; of the coatings' thickness where there are some.
    pub share: f64,
    /// Scene units.
    pub depth: f64,
    /// Frame of the bake.
    pub frame: usize,
    /// Their names.
    pub pair: [String; 2],
}

impl fmt::Display for Deepest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.pair;
        match self.share {
            0.0 => write!(f, "never"),
            share => write!(f, "{share:.1e} ({:.1e}) at frame {}: {a}, {b}", self.depth, self.frame),
        }
    }
}

/// The deepest of two rigid things and the deepest with a coating between, over all frames of the last clip of `baked`.
pub fn deepest(scene: &Path, baked: &Path, frames: usize) -> Result<[Deepest; 2], String> {
    let open = |p: &Path| Document::open(p, &ReadOptions::default()).map_err(|e| e.to_string());
    let (source, written) = (open(scene)?, open(baked)?);
    let text = std::fs::read_to_string(scene.with_extension("sinew.json")).map_err(|e| e.to_string())?;
    let setup = from_json(&text).map_err(|e| e.to_string())?;
    let rig = compile(source.scene(), &setup, source.scene().clips.first()).map_err(|e| e.to_string())?.rig;
    deepest_of(&rig, written.scene(), written.scene().clips.last(), RATE, frames)
}

/// The same of a clip over a scene in memory.
pub fn deepest_of(
    rig: &Rig,
    scene: &Scene,
    clip: Option<&Clip>,
    rate: f64,
    frames: usize,
) -> Result<[Deepest; 2], String> {
    let places = Posed::new(scene, clip);
    let colliders = &rig.colliders;
    let mut worst = [Deepest::default(), Deepest::default()];
    for frame in 0..frames {
        let time = frame as f64 / rate;
        let at: Vec<Pose> = colliders.all.iter().map(|c| place(rig, c, &places, time)).collect();
        let boxes: Vec<_> =
            colliders.all.iter().zip(&at).map(|(c, at)| c.geometry.shape().compute_aabb(at)).collect();
        for a in 0..at.len() {
            for b in a + 1..at.len() {
                if !boxes[a].intersects(&boxes[b]) || !colliders.may_touch(a, b) {
                    continue;
                }
                let (x, y) = (&colliders.all[a], &colliders.all[b]);
                let depth = depth(&at[a], x.geometry.shape(), &at[b], y.geometry.shape())?;
                let soft = |c: &Collider| c.coating.map_or(0.0, |c| c.thickness);
                let (skin, size) = (soft(x) + soft(y), x.size.min(y.size));
                let share = depth / if skin > 0.0 { skin } else { size };
                let worst = &mut worst[usize::from(skin > 0.0)];
                if share > worst.share {
                    *worst = Deepest { share, depth, frame, pair: [x.name.clone(), y.name.clone()] };
                }
            }
        }
    }
    Ok(worst)
}

fn place(rig: &Rig, collider: &Collider, places: &Posed<'_>, time: f64) -> Pose {
    let carrier = match collider.carrier {
        Carrier::Solid(s) => {
            let solid = &rig.solids[s];
            places.placement_at(solid.node, time).then(&solid.offset)
        }
        Carrier::Keys(p) => rig.paths[p].placement(time),
        Carrier::World => return pose(&collider.place),
    };
    pose(&carrier.then(&collider.place))
}

fn depth(p: &Pose, first: &dyn Shape, q: &Pose, second: &dyn Shape) -> Result<f64, String> {
    // `contact` is wrong for half spaces; above one, the lowest point tells.
    let above = |plane: &Pose, other: &dyn Shape, at: &Pose| {
        let up = plane.rotation * DVec3::Y;
        let other = other.as_support_map().ok_or("no support map")?;
        Ok::<f64, String>(up.dot(plane.translation - other.support_point(at, -up)))
    };
    if first.as_halfspace().is_some() {
        above(p, second, q)
    } else if second.as_halfspace().is_some() {
        above(q, first, p)
    } else {
        let found = contact(p, first, q, second, 0.0).map_err(|e| e.to_string())?;
        Ok(found.map_or(0.0, |c| -c.dist))
    }
}
