//! Adding a baked clip to a document.
//!
//! New numbers go behind everything there is: to the end of the BIN chunk, or into a buffer of our own. One
//! bufferView holds the clip's data; equal key times share one accessor. What the source clip has besides is
//! carried by copying its channels and samplers, which goes on pointing to the same accessors. All checks come
//! before the first change, so a refused clip leaves the document as it was.

use super::Document;
use super::animation;
use super::buffer::{Buffer, Home};
use super::entry::Entry;
use super::recycle::Room;
use crate::error::{Error, quote};
use serde_json::{Map, Value, json};
use sinew_core::curve::Segments;
use sinew_core::scene::{Channel, Channels, Clip, Local, Property};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A clip to write into a document.
#[derive(Clone, Copy, Debug)]
pub struct ClipToAdd<'a> {
    /// Its name; empty for none.
    pub name: &'a str,
    /// The clip whose channels are carried along where `channels` has none for the same node and property.
    pub source: Option<usize>,
    /// Put it in place of the clip of that name, or else of the source, instead of appending it.
    pub replace: bool,
    /// The curves. At most one per node and property.
    pub channels: &'a [Channel],
}

/// A channel as it will stand in the file, in single precision.
struct Track {
    node: usize,
    property: Property,
    times: Vec<f32>,
    output: Vec<f32>,
    interpolation: &'static str,
}

/// What is taken over from the source clip.
#[derive(Default)]
struct Carried {
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

impl Document {
    /// Adds a clip and returns its index. The scene gets it too.
    ///
    /// Fails, changing nothing, when a curve does not fit its node and property, a number is not finite in
    /// single precision, times are negative or coincide in it, or a curve is on a node whose matrix is sheared.
    pub fn add_clip(&mut self, bake: &ClipToAdd<'_>) -> Result<usize, Error> {
        self.try_add(bake).map_err(|e| e.at(&format!("clip {}", quote(bake.name))).in_file(&self.file))
    }

    fn try_add(&mut self, bake: &ClipToAdd<'_>) -> Result<usize, Error> {
        let clips = self.scene.clips.len();
        if let Some(source) = bake.source.filter(|&s| s >= clips) {
            return Err(Error::input(format!("its source is clip {source}, but the file has {clips}")));
        }
        let tracks = self.tracks(bake.channels)?;
        let plain = self.matrices_to_channels(&tracks)?;
        let carried = self.carried(bake.source, &tracks)?;
        if tracks.is_empty() && carried.channels.is_empty() {
            return Err(Error::input("it has no curves; bake at least one channel"));
        }
        let named = || self.scene.find_clip(bake.name).filter(|_| !bake.name.is_empty());
        let replaced = if bake.replace { named().or(bake.source) } else { None };

        for (node, channels) in plain {
            self.replace_matrix(node, &channels)?;
        }
        let animation = self.animation(bake.name, &tracks, carried, replaced)?;
        let clip = self.scene_clip(bake);
        let animations = array(&mut self.json, "animations")?;
        match replaced {
            Some(at) => {
                animations[at] = animation;
                self.scene.clips[at] = clip;
                Ok(at)
            }
            None => {
                animations.push(animation);
                self.scene.clips.push(clip);
                Ok(clips)
            }
        }
    }

    /// The channels in single precision, checked.
    fn tracks(&self, channels: &[Channel]) -> Result<Vec<Track>, Error> {
        let mut seen = HashSet::new();
        let mut tracks = Vec::with_capacity(channels.len());
        for channel in channels {
            let nodes = self.scene.nodes.len();
            if channel.node >= nodes {
                let what = format!("a curve is on node {}, but the file has {nodes}", channel.node);
                return Err(Error::input(what));
            }
            let word = animation::path(channel.property);
            let place = format!("{word} of node {}", animation::label(&self.scene, channel.node));
            if !seen.insert((channel.node, channel.property)) {
                return Err(Error::input("is given twice; one curve per node and property").at(&place));
            }
            let track = self.check_width(channel).and_then(|()| track(channel));
            tracks.push(track.map_err(|e| e.at(&place))?);
        }
        Ok(tracks)
    }

    fn check_width(&self, channel: &Channel) -> Result<(), Error> {
        let expected = animation::width(channel.property).or_else(|| self.morph_targets(channel.node));
        let found = channel.curve.width();
        match expected {
            None => Err(Error::input("the node has no mesh with morph targets to weigh")),
            Some(expected)
                if found != expected || channel.curve.kind() != animation::kind(channel.property) =>
            {
                Err(Error::input(format!(
                    "the curve has {found} numbers per key, where {expected} are needed"
                )))
            }
            Some(_) => Ok(()),
        }
    }

    /// How many morph targets a node's mesh has.
    fn morph_targets(&self, node: usize) -> Option<usize> {
        let mesh = self.json.get("meshes")?.get(self.scene.nodes[node].mesh?)?;
        mesh.get("primitives")?.get(0)?.get("targets")?.as_array().map(Vec::len).filter(|&n| n > 0)
    }

    /// Nodes with a matrix that a curve is on: the specification wants channels there.
    fn matrices_to_channels(&self, tracks: &[Track]) -> Result<Vec<(usize, Channels)>, Error> {
        let mut out = Vec::new();
        let moves = |t: &&Track| t.property != Property::Weights;
        let nodes: HashSet<usize> = tracks.iter().filter(moves).map(|t| t.node).collect();
        for node in nodes {
            let has_matrix = self.json["nodes"][node].get("matrix").is_some();
            match self.scene.nodes[node].local {
                Local::Channels(channels) if has_matrix => out.push((node, channels)),
                Local::Channels(_) => {}
                Local::Matrix(_) => {
                    return Err(Error::input(format!(
                        "node {} has a sheared matrix, which no curve can move; freeze its transform",
                        animation::label(&self.scene, node)
                    )));
                }
            }
        }
        Ok(out)
    }

    fn replace_matrix(&mut self, node: usize, channels: &Channels) -> Result<(), Error> {
        let object = array(&mut self.json, "nodes")?.get_mut(node).and_then(Value::as_object_mut);
        let object = object.ok_or_else(|| Error::input(format!("node {node} is not an object")))?;
        object.shift_remove("matrix");
        object.insert("translation".into(), json!(channels.translation.to_array()));
        object.insert("rotation".into(), json!(channels.rotation.to_array()));
        object.insert("scale".into(), json!(channels.scale.to_array()));
        Ok(())
    }

    /// Channels of the source that no track takes the place of, with their samplers, also those we do not read.
    fn carried(&self, source: Option<usize>, tracks: &[Track]) -> Result<Carried, Error> {
        let Some(source) = source else { return Ok(Carried::default()) };
        let animations = Entry::root(&self.json)?.list("animations", "animation")?;
        let samplers = animations[source].list("samplers", "sampler")?;
        let raw = |key: &str, i: usize| &self.json["animations"][source][key][i];
        let mut taken: HashSet<(usize, Property)> = tracks.iter().map(|t| (t.node, t.property)).collect();
        let mut carried = Carried::default();
        let mut moved: HashMap<usize, usize> = HashMap::new();
        for (i, channel) in animations[source].list("channels", "channel")?.iter().enumerate() {
            // A target met twice was never valid: only the first, which was read, goes on.
            let dropped = match animation::target(channel, self.scene.nodes.len())? {
                Ok(target) => !taken.insert(target),
                Err(_) => tracks.iter().any(|t| points_to(raw("channels", i), t)),
            };
            if dropped {
                continue;
            }
            let old = channel.need_index("sampler", "sampler", samplers.len())?;
            let new = *moved.entry(old).or_insert_with(|| {
                carried.samplers.push(raw("samplers", old).clone());
                carried.samplers.len() - 1
            });
            let mut copy = raw("channels", i).clone();
            copy["sampler"] = json!(new);
            carried.channels.push(copy);
        }
        Ok(carried)
    }

    /// The animation's JSON, its data stored.
    fn animation(
        &mut self,
        name: &str,
        tracks: &[Track],
        carried: Carried,
        replaced: Option<usize>,
    ) -> Result<Value, Error> {
        let Carried { mut samplers, mut channels } = carried;
        let room = replaced.map(|at| self.make_room(at, &samplers)).transpose()?;
        let outputs = self.store(tracks, room.unwrap_or_default())?;
        for (track, (input, output)) in tracks.iter().zip(outputs) {
            let target = json!({ "node": track.node, "path": animation::path(track.property) });
            channels.push(json!({ "sampler": samplers.len(), "target": target }));
            samplers.push(json!({ "input": input, "interpolation": track.interpolation, "output": output }));
        }
        // What else the replaced clip says of itself (extras, extensions) stays.
        let mut animation = match replaced {
            Some(at) => self.json["animations"][at].as_object().cloned().unwrap_or_default(),
            None => Map::new(),
        };
        match name {
            "" => animation.shift_remove("name"),
            name => animation.insert("name".into(), json!(name)),
        };
        animation.insert("channels".into(), Value::Array(channels));
        animation.insert("samplers".into(), Value::Array(samplers));
        Ok(Value::Object(animation))
    }

    /// Stores times and values; returns the accessors of each track's input and output.
    fn store(&mut self, tracks: &[Track], room: Room) -> Result<Vec<(usize, usize)>, Error> {
        if tracks.is_empty() {
            return Ok(Vec::new());
        }
        let view = room.view.unwrap_or(array(&mut self.json, "bufferViews")?.len());
        let first = array(&mut self.json, "accessors")?.len();
        let place = |n: usize| match n.checked_sub(room.accessors.len()) {
            None => room.accessors[n],
            Some(behind) => first + behind,
        };
        let mut bytes: Vec<u8> = Vec::new();
        let mut accessors = Vec::new();
        let mut inputs: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut places = Vec::with_capacity(tracks.len());
        for track in tracks {
            let times: Vec<u8> = track.times.iter().flat_map(|t| t.to_le_bytes()).collect();
            let input = *inputs.entry(times).or_insert_with_key(|times| {
                let mut accessor = float_accessor(view, bytes.len(), "SCALAR", track.times.len());
                // In single precision, as validators compare them with the data.
                accessor["min"] = json!([f64::from(track.times[0])]);
                accessor["max"] = json!([f64::from(track.times[track.times.len() - 1])]);
                bytes.extend_from_slice(times);
                accessors.push(accessor);
                place(accessors.len() - 1)
            });
            let (kind, width) = match track.property {
                Property::Translation | Property::Scale => ("VEC3", 3),
                Property::Rotation => ("VEC4", 4),
                Property::Weights => ("SCALAR", 1),
            };
            accessors.push(float_accessor(view, bytes.len(), kind, track.output.len() / width));
            bytes.extend(track.output.iter().flat_map(|v| v.to_le_bytes()));
            places.push((input, place(accessors.len() - 1)));
        }
        let (buffer, offset) = self.grow(&bytes)?;
        let mut entry = json!({ "buffer": buffer, "byteOffset": offset, "byteLength": bytes.len() });
        if offset == 0 {
            entry.as_object_mut().map(|o| o.shift_remove("byteOffset"));
        }
        put(array(&mut self.json, "bufferViews")?, view, entry);
        let all = array(&mut self.json, "accessors")?;
        accessors.into_iter().enumerate().for_each(|(n, accessor)| put(all, place(n), accessor));
        Ok(places)
    }

    /// Appends bytes to the buffer that is ours to grow, and says which one it is and where they begin.
    pub(super) fn grow(&mut self, bytes: &[u8]) -> Result<(usize, usize), Error> {
        let index = match self.growing() {
            Some(index) => index,
            None => {
                array(&mut self.json, "buffers")?.push(json!({ "byteLength": 0 }));
                self.buffers.push(Buffer { home: Home::New, bytes: Arc::default(), length: 0 });
                self.buffers.len() - 1
            }
        };
        let buffer = &mut self.buffers[index];
        let data = Arc::make_mut(&mut buffer.bytes);
        let offset = data.len().next_multiple_of(4);
        data.resize(offset, 0);
        data.extend_from_slice(bytes);
        buffer.length = data.len();
        array(&mut self.json, "buffers")?[index]["byteLength"] = json!(self.buffers[index].length);
        Ok((index, offset))
    }

    /// The clip as the scene has it.
    fn scene_clip(&self, bake: &ClipToAdd<'_>) -> Clip {
        let source = bake.source.map_or(&[][..], |s| &self.scene.clips[s].channels);
        let baked: HashSet<_> = bake.channels.iter().map(|c| (c.node, c.property)).collect();
        let kept = source.iter().filter(|c| !baked.contains(&(c.node, c.property)));
        let mut channels: Vec<Channel> = kept.cloned().collect();
        channels.extend_from_slice(bake.channels);
        Clip { name: bake.name.to_owned(), channels }
    }
}

/// A top-level array, made when absent.
pub(super) fn array<'a>(json: &'a mut Value, key: &str) -> Result<&'a mut Vec<Value>, Error> {
    let list = json.as_object_mut().and_then(|o| o.entry(key).or_insert_with(|| json!([])).as_array_mut());
    list.ok_or_else(|| Error::input(format!("`{key}` must be an array")))
}

/// Puts an entry where one was, or behind the last.
fn put(list: &mut Vec<Value>, at: usize, entry: Value) {
    match list.get_mut(at) {
        Some(place) => *place = entry,
        None => list.push(entry),
    }
}

fn float_accessor(view: usize, offset: usize, kind: &str, count: usize) -> Value {
    json!({ "bufferView": view, "byteOffset": offset, "componentType": 5126, "count": count, "type": kind })
}

/// Whether a channel of KHR_animation_pointer points to what a track animates.
fn points_to(channel: &Value, track: &Track) -> bool {
    let pointer = channel.pointer("/target/extensions/KHR_animation_pointer/pointer").and_then(Value::as_str);
    pointer.is_some_and(|p| p == format!("/nodes/{}/{}", track.node, animation::path(track.property)))
}

/// A channel in the layout and precision of the file.
fn track(channel: &Channel) -> Result<Track, Error> {
    let curve = &channel.curve;
    let times: Vec<f32> = curve.times().iter().map(|&t| t as f32).collect();
    if curve.start() < 0.0 {
        return Err(Error::input(format!(
            "a key is at {} s; glTF has no time before zero, so shift the clip",
            curve.start()
        )));
    }
    if let Some(k) = (1..times.len()).find(|&k| times[k] <= times[k - 1]) {
        return Err(Error::input(format!(
            "keys {} and {k} at {} s coincide in single precision; space the keys wider",
            k - 1,
            curve.times()[k]
        )));
    }
    let single = |numbers: &[f64]| numbers.iter().map(|&v| v as f32).collect::<Vec<f32>>();
    let width = curve.width();
    let (interpolation, output) = match curve.segments() {
        Segments::Step => ("STEP", single(curve.values())),
        Segments::Linear => ("LINEAR", single(curve.values())),
        // The specification wants two keys of a cubic; one key holds whatever it is called.
        Segments::Cubic { .. } if times.len() == 1 => ("LINEAR", single(curve.values())),
        Segments::Cubic { arriving, leaving } => {
            let key = |k: usize| {
                let part = move |numbers: &[f64]| single(&numbers[k * width..(k + 1) * width]);
                [part(arriving), part(curve.values()), part(leaving)].concat()
            };
            ("CUBICSPLINE", (0..times.len()).flat_map(key).collect())
        }
    };
    if let Some(at) = times.iter().position(|t| !t.is_finite()) {
        return Err(Error::input(format!("the time of key {at} is not a finite number in single precision")));
    }
    if let Some(at) = output.iter().position(|v| !v.is_finite()) {
        let key = at * times.len() / output.len();
        return Err(Error::input(format!("key {key} is not a finite number in single precision")));
    }
    Ok(Track { node: channel.node, property: channel.property, times, output, interpolation })
}
