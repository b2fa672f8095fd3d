//! A motion of joints as a new SkelAnimation, bound by an over on the skeleton. The old animation stays as it is; its
//! blend shapes come along, since a skeleton has one animation.

use super::edits::Edits;
use super::stage::said;
use super::value;
use super::{Document, SkeletonHome};
use crate::error::Error;
use openusd::gf;
use openusd::sdf::{self, Value};
use openusd::usd::Stage;
use sinew_core::scene::{Channels, Pose};

/// Called so, below its skeleton.
const NAME: &str = "SinewAnimation";

/// What of an old animation the new one takes over as it is.
const CARRIED: [(&str, &str); 2] = [("blendShapes", "token[]"), ("blendShapeWeights", "float[]")];

impl Document {
    /// Writes the animation of a skeleton at these times (s).
    pub(super) fn animate(
        &self,
        skeleton: &SkeletonHome,
        pose: &mut Pose<'_>,
        times: &[f64],
        stage: &Stage,
        edits: &mut Edits,
    ) -> Result<(), Error> {
        let path = free_name(stage, &skeleton.path)?;
        edits.define(&path, "SkelAnimation");
        let joints = skeleton.joints.iter().map(|j| j.as_str().into()).collect();
        edits.set_uniform(&path, "joints", "token[]", Value::TokenVec(joints));
        let (mut places, mut turns, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        let mut last: Vec<Channels> = Vec::new();
        for &time in times {
            pose.evaluate(time);
            let mut now: Vec<Channels> = skeleton.nodes.iter().map(|&n| *pose.local(n)).collect();
            for (c, before) in now.iter_mut().zip(&last) {
                if c.rotation.dot(before.rotation) < 0.0 {
                    c.rotation = -c.rotation;
                }
            }
            let code = self.units.code(time);
            let each = |f: &dyn Fn(&Channels) -> gf::Vec3f| now.iter().map(f).collect::<Vec<_>>();
            let metres = self.units.metres;
            let place = each(&|c| {
                let t = c.translation / metres;
                gf::vec3f(t.x as f32, t.y as f32, t.z as f32)
            });
            let turn = |c: &Channels| {
                let q = c.rotation;
                gf::quatf(q.w as f32, q.x as f32, q.y as f32, q.z as f32)
            };
            let half = |v: f64| gf::f16::from_f64(v);
            let size = |c: &Channels| gf::vec3h(half(c.scale.x), half(c.scale.y), half(c.scale.z));
            places.push((code, Value::Vec3fVec(place)));
            turns.push((code, Value::QuatfVec(now.iter().map(turn).collect())));
            sizes.push((code, Value::Vec3hVec(now.iter().map(size).collect())));
            last = now;
        }
        edits.set_samples(&path, "translations", "float3[]", places);
        edits.set_samples(&path, "rotations", "quatf[]", turns);
        edits.set_samples(&path, "scales", "half3[]", sizes);
        if let Some(source) = &skeleton.source {
            carry(stage, source, &path, edits)?;
        }
        edits.over(&skeleton.path);
        edits.apply(&skeleton.path, "SkelBindingAPI");
        edits.target(&skeleton.path, "skel:animationSource", &[&path]);
        Ok(())
    }
}

/// A path below the skeleton that no prim has.
fn free_name(stage: &Stage, skeleton: &str) -> Result<String, Error> {
    for n in 1.. {
        let name = if n == 1 { format!("{skeleton}/{NAME}") } else { format!("{skeleton}/{NAME}{n}") };
        let prim = stage.prim(name.as_str()).map_err(|e| Error::input(said(&e)))?;
        if !prim.is_valid().map_err(|e| Error::input(said(&e)))? {
            return Ok(name);
        }
    }
    Err(Error::input("no name is free for its animation"))
}

/// Copies what the new animation takes over.
fn carry(stage: &Stage, from: &str, to: &str, edits: &mut Edits) -> Result<(), Error> {
    let prim = stage.prim(from).map_err(|e| Error::input(said(&e)))?;
    for (name, kind) in CARRIED {
        let attribute = prim.attribute(name);
        let bad = |e: openusd::Error| Error::input(said(&e)).at(&value::place(&attribute));
        if !attribute.has_authored_value().map_err(bad)? {
            continue;
        }
        match attribute.time_samples().map_err(bad)? {
            Some(samples) if !samples.is_empty() => edits.set_samples(to, name, kind, samples),
            _ => match attribute.get::<sdf::Value>().map_err(bad)? {
                Some(v) if kind.starts_with("token") => edits.set_uniform(to, name, kind, v),
                Some(v) => edits.set(to, name, kind, v),
                None => {}
            },
        }
    }
    Ok(())
}
