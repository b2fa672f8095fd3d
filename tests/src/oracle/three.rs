//! three.js evaluates a file's curves, and ours are held against them: at every key, half-way between keys, at two
//! more places in between, and outside the keys.

use super::script;
use crate::scatter;
use serde_json::{Map, Value, json};
use sinew_core::curve::{Curve, Kind};
use sinew_core::scene::{Channel, Clip, Property, Scene};
use std::path::Path;

/// How far apart the two are: numbers of a rotation in absolute terms, others as a fraction of the largest number
/// in their channel.
#[derive(Clone, Debug, Default)]
pub struct Deviation {
    /// The largest one found.
    pub worst: f64,
    /// Clip, node, property and time of it; empty when everything agreed to the last bit.
    pub place: String,
    /// Values compared.
    pub samples: usize,
}

/// Compares all clips of `scene` with what three.js finds in the file at `path`. An error when three.js
/// cannot read the file or the two disagree about which channels there are.
pub fn compare(path: &Path, scene: &Scene) -> Result<Deviation, String> {
    let asked: Vec<Value> = scene.clips.iter().map(|clip| Value::Object(question(clip))).collect();
    let request = json!({ "file": path, "clips": asked }).to_string();
    let done = script("three_evaluate.mjs").input(request).run()?.success()?;
    let answer: Value = serde_json::from_str(&done.stdout).map_err(|e| format!("three.js answered {e}"))?;
    if let Some(reason) = answer["refused"].as_str() {
        return Err(format!("three.js cannot read the file: {reason}"));
    }
    let clips = answer["clips"].as_array().ok_or("three.js gave no clips")?;
    if clips.len() != scene.clips.len() {
        return Err(format!("we read {} clips and three.js {}", scene.clips.len(), clips.len()));
    }
    let mut deviation = Deviation::default();
    for (clip, theirs) in scene.clips.iter().zip(clips) {
        same_channels(clip, theirs)?;
        for channel in &clip.channels {
            deviation.add(scene, clip, channel, &theirs[label(channel)])?;
        }
    }
    Ok(deviation)
}

impl Deviation {
    /// Itself when nothing is further off than `tolerance`, else a message that says where.
    pub fn within(self, tolerance: f64) -> Result<Deviation, String> {
        if self.worst <= tolerance {
            return Ok(self);
        }
        Err(format!("off by {:.1e} in {}", self.worst, self.place))
    }

    fn add(&mut self, scene: &Scene, clip: &Clip, channel: &Channel, theirs: &Value) -> Result<(), String> {
        let place = || {
            let node = scene.label(channel.node);
            format!("clip \"{}\", node {node}, {:?}", clip.name, channel.property)
        };
        let theirs: Vec<Vec<f64>> = serde_json::from_value(theirs.clone())
            .map_err(|e| format!("three.js has no numbers for {}: {e}", place()))?;
        let times = moments(&channel.curve);
        if theirs.len() != times.len() {
            return Err(format!("three.js has {} values of {} for {}", theirs.len(), times.len(), place()));
        }
        let magnitude = magnitude(&channel.curve, &theirs);
        let mut ours = vec![0.0; channel.curve.width()];
        for (time, theirs) in times.iter().zip(&theirs) {
            if theirs.len() != ours.len() {
                return Err(format!(
                    "three.js has {} numbers, we {} in {}",
                    theirs.len(),
                    ours.len(),
                    place()
                ));
            }
            channel.curve.evaluate(*time, &mut ours);
            let distance = distance(channel.curve.kind(), &ours, theirs) / magnitude;
            self.samples += 1;
            if distance.is_nan() || distance > self.worst {
                self.worst = distance;
                self.place = format!("{} at {time} s: {ours:?}, three.js {theirs:?}", place());
            }
        }
        Ok(())
    }
}

/// What to ask three.js about a clip: times by channel.
fn question(clip: &Clip) -> Map<String, Value> {
    clip.channels.iter().map(|channel| (label(channel), json!(moments(&channel.curve)))).collect()
}

fn label(channel: &Channel) -> String {
    let path = match channel.property {
        Property::Translation => "translation",
        Property::Rotation => "rotation",
        Property::Scale => "scale",
        Property::Weights => "weights",
    };
    format!("{}/{path}", channel.node)
}

fn same_channels(clip: &Clip, theirs: &Value) -> Result<(), String> {
    let theirs = theirs.as_object().ok_or("three.js gave a clip without channels")?;
    let mut ours: Vec<String> = clip.channels.iter().map(label).collect();
    let mut theirs: Vec<String> = theirs.keys().cloned().collect();
    ours.sort();
    theirs.sort();
    if ours == theirs {
        return Ok(());
    }
    let missing: Vec<_> = theirs.iter().filter(|c| !ours.contains(c)).collect();
    let extra: Vec<_> = ours.iter().filter(|c| !theirs.contains(c)).collect();
    Err(format!("clip \"{}\": channels we lack {missing:?}, that three.js lacks {extra:?}", clip.name))
}

/// The times (s) to compare at.
fn moments(curve: &Curve) -> Vec<f64> {
    let keys = curve.times();
    let mut moments = vec![curve.start() - 1.0, curve.end() + 1.0];
    moments.extend(keys);
    for (k, pair) in keys.windows(2).enumerate() {
        let fractions = [0.5, scatter::unit(2 * k as u64), scatter::unit(2 * k as u64 + 1)];
        moments.extend(fractions.map(|u| pair[0] + u * (pair[1] - pair[0])));
    }
    moments
}

fn magnitude(curve: &Curve, theirs: &[Vec<f64>]) -> f64 {
    if curve.kind() == Kind::Rotation {
        return 1.0;
    }
    let largest = curve.values().iter().chain(theirs.iter().flatten()).fold(0.0, |m: f64, v| m.max(v.abs()));
    // A channel of zeros: any difference at all is then far over any tolerance, and none is zero.
    largest.max(f64::MIN_POSITIVE)
}

/// Largest difference of a component; a quaternion and its negative are the same rotation.
fn distance(kind: Kind, a: &[f64], b: &[f64]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let sign = if kind == Kind::Rotation && dot < 0.0 { -1.0 } else { 1.0 };
    a.iter().zip(b).map(|(a, b)| (a - sign * b).abs()).fold(0.0, |m, d| if d <= m { m } else { d })
}
