//! Clips out of animations: samplers to curves (glTF 2.0, section 3.11 and appendix C).
//!
//! A channel that targets no node, or something other than the four node properties (an extension), is carried
//! when the file is written and not read; a warning names it. A node and property keyed twice in one clip is
//! against the specification, yet such files play everywhere, each player taking one of them: the first is
//! taken here, with a warning, rather than refusing the file.

use super::accessor::{Component, Data};
use super::entry::Entry;
use crate::error::{Error, quote};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Clip, Property, Scene};
use std::collections::HashSet;

/// Reads every clip; `scene` has its nodes already, for their names.
pub(super) fn read(
    root: &Entry<'_>,
    data: &Data<'_>,
    scene: &Scene,
    warnings: &mut Vec<String>,
) -> Result<Vec<Clip>, Error> {
    let read_one = |animation: &Entry<'_>| {
        let samplers = animation.list("samplers", "sampler")?;
        let mut clip = Clip { name: animation.name().to_owned(), channels: Vec::new() };
        let mut seen = HashSet::new();
        for channel in animation.list("channels", "channel")? {
            let sampler = channel.need_index("sampler", "sampler", samplers.len())?;
            let (node, property) = match target(&channel, scene.nodes.len())? {
                Ok(target) => target,
                Err(why) => {
                    let amiss = check_carried(&samplers[sampler], data)?;
                    warnings.push(format!(
                        "{}: {why}; it is carried along unchanged, not read{}",
                        channel.place(),
                        if amiss { ", though not all of its keys are finite numbers" } else { "" }
                    ));
                    continue;
                }
            };
            let place = || format!("{}, node {}", channel.place(), label(scene, node));
            if !seen.insert((node, property)) {
                warnings.push(format!(
                    "{}: the {} of this node is keyed by an earlier channel of the same animation, which is the \
                     one taken",
                    place(),
                    path(property)
                ));
                continue;
            }
            let curve = curve(&samplers[sampler], data, property).map_err(|e| e.at(&place()))?;
            clip.channels.push(Channel { node, property, curve });
        }
        Ok(clip)
    };
    root.list("animations", "animation")?.iter().map(read_one).collect()
}

/// Refuses a channel that is only carried along and whose accessors are not there; whether its keys are not all finite numbers.
fn check_carried(sampler: &Entry<'_>, data: &Data<'_>) -> Result<bool, Error> {
    let mut amiss = false;
    for key in ["input", "output"] {
        let accessor = data.describe(sampler.need_index(key, "accessor", data.count())?)?;
        // What cannot be read as numbers may be some other thing that its extension knows.
        amiss |= data.numbers(&accessor).is_ok_and(|all| all.iter().any(|v| !v.is_finite()));
    }
    Ok(amiss)
}

/// How messages call a node: its name, or its number without one.
pub(super) fn label(scene: &Scene, node: usize) -> String {
    match scene.nodes.get(node) {
        Some(n) if !n.name.is_empty() => quote(&n.name),
        _ => node.to_string(),
    }
}

/// The word for a property in the file.
pub(super) fn path(property: Property) -> &'static str {
    match property {
        Property::Translation => "translation",
        Property::Rotation => "rotation",
        Property::Scale => "scale",
        Property::Weights => "weights",
    }
}

/// The node and property of a channel, or why it has none that we read.
pub(super) fn target(channel: &Entry<'_>, nodes: usize) -> Result<Result<(usize, Property), String>, Error> {
    let Some(target) = channel.object("target")? else {
        return Err(channel.fault("`target` is missing"));
    };
    let property = match target.text("path")? {
        Some("translation") => Property::Translation,
        Some("rotation") => Property::Rotation,
        Some("scale") => Property::Scale,
        Some("weights") => Property::Weights,
        Some(other) => {
            let extensions = target.get("extensions").and_then(|e| e.as_object());
            let name = extensions.and_then(|e| e.keys().next()).map(|k| format!(" of {}", quote(k)));
            return Ok(Err(format!("it targets {}{}", quote(other), name.unwrap_or_default())));
        }
        None => return Err(target.fault("`path` is missing")),
    };
    match target.index("node", "node", nodes)? {
        Some(node) => Ok(Ok((node, property))),
        None => Ok(Err("it targets no node".to_owned())),
    }
}

/// Numbers per key, where the property says; weights have as many as there are targets.
pub(super) fn width(property: Property) -> Option<usize> {
    match property {
        Property::Translation | Property::Scale => Some(3),
        Property::Rotation => Some(4),
        Property::Weights => None,
    }
}

/// Whether a property's values add or turn.
pub(super) fn kind(property: Property) -> Kind {
    if property == Property::Rotation { Kind::Rotation } else { Kind::Vector }
}

/// The curve of a sampler.
fn curve(sampler: &Entry<'_>, data: &Data<'_>, property: Property) -> Result<Curve, Error> {
    let input = data.describe(sampler.need_index("input", "accessor", data.count())?)?;
    if input.width != 1 || input.component != Component::F32 {
        return Err(Error::input(format!("key times must be SCALAR of floats; see {}", input.entry.place())));
    }
    let output = data.describe(sampler.need_index("output", "accessor", data.count())?)?;
    check_output(&output, property)?;
    let per_key = match sampler.text("interpolation")? {
        None | Some("LINEAR" | "STEP") => 1,
        Some("CUBICSPLINE") => 3,
        Some(other) => {
            return Err(Error::input(format!(
                "`interpolation` {} is none of STEP, LINEAR and CUBICSPLINE",
                quote(other)
            )));
        }
    };
    // Weights: the accessor is SCALAR and its count says how many weights a key has.
    let keys = input.count;
    let groups = keys.saturating_mul(per_key);
    let fits = match property {
        Property::Weights => output.count.is_multiple_of(groups),
        _ => output.count == groups,
    };
    if !fits {
        let times = if per_key == 3 { "three values (tangent, value, tangent)" } else { "one value" };
        return Err(Error::input(format!(
            "{} has {} elements for {keys} keys, where each key needs {times}",
            output.entry.place(),
            output.count
        )));
    }
    let width = width(property).unwrap_or((output.count / groups) as usize);
    let times = data.numbers(&input)?;
    let numbers = data.numbers(&output)?;
    let (values, segments) = match sampler.text("interpolation")? {
        Some("STEP") => (numbers, Segments::Step),
        Some("CUBICSPLINE") => {
            let (arriving, values, leaving) = unweave(&numbers, width);
            (values, Segments::Cubic { arriving, leaving })
        }
        _ => (numbers, Segments::Linear),
    };
    Curve::new(kind(property), width, times, values, segments).map_err(|e| Error::input(e.to_string()))
}

fn check_output(output: &super::accessor::Accessor<'_>, property: Property) -> Result<(), Error> {
    let expected = width(property).unwrap_or(1);
    if output.width != expected {
        return Err(Error::input(format!(
            "{} has {} numbers per element, where {} needs {expected}",
            output.entry.place(),
            output.width,
            path(property)
        )));
    }
    let normalised = output.normalized && output.component != Component::U32;
    let real = output.component == Component::F32 || normalised;
    if matches!(property, Property::Rotation | Property::Weights) && !real {
        return Err(Error::input(format!(
            "{} must hold floats or normalized 8 or 16 bit integers",
            output.entry.place()
        )));
    }
    Ok(())
}

/// Arriving tangents, values and leaving tangents from their interleaved form.
fn unweave(numbers: &[f64], width: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    for key in numbers.chunks_exact(3 * width) {
        for (part, chunk) in parts.iter_mut().zip(key.chunks_exact(width)) {
            part.extend_from_slice(chunk);
        }
    }
    let [arriving, values, leaving] = parts;
    (arriving, values, leaving)
}
