//! Numbers out of accessors: every component type, strides, normalised integers, sparse substitution
//! (glTF 2.0, section 3.6.2).
//!
//! Nothing is allocated before the bytes behind it are known to be there, and the sum of what is decoded is
//! bounded: accessors may overlap and be referred to any number of times, so a small file could otherwise ask
//! for terabytes. Fails on any range outside its buffer, on types the specification does not have, and on data
//! that exists only in compressed form.

use super::buffer::{Buffer, MESHOPT};
use super::entry::Entry;
use crate::error::{Error, quote};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// Decoded bytes permitted per byte of input. Bytes become doubles (8 times), strips become three indices per
/// one, and exporters share accessors between clips; 32 leaves room above that.
const GROWTH: u64 = 32;

/// Decoded bytes permitted to any file however small: a sparse accessor may rightly be mostly zeros.
const FLOOR: u64 = 16 << 20;

/// Component types by their number in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn of(entry: &Entry<'_>) -> Result<Component, Error> {
        match entry.need_size("componentType")? {
            5120 => Ok(Component::I8),
            5121 => Ok(Component::U8),
            5122 => Ok(Component::I16),
            5123 => Ok(Component::U16),
            5125 => Ok(Component::U32),
            5126 => Ok(Component::F32),
            other => Err(entry.fault(format!("`componentType` {other} is none of 5120 to 5126"))),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Component::I8 | Component::U8 => 1,
            Component::I16 | Component::U16 => 2,
            Component::U32 | Component::F32 => 4,
        }
    }

    /// The number in the first bytes of `b`, which has enough of them.
    fn decode(self, b: &[u8]) -> f64 {
        match self {
            Component::I8 => f64::from(b[0] as i8),
            Component::U8 => f64::from(b[0]),
            Component::I16 => f64::from(i16::from_le_bytes([b[0], b[1]])),
            Component::U16 => f64::from(u16::from_le_bytes([b[0], b[1]])),
            Component::U32 => f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            Component::F32 => f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        }
    }

    /// A raw integer as the real number it stands for (glTF 2.0, section 3.11).
    pub fn normalise(self, raw: f64) -> f64 {
        match self {
            Component::I8 => (raw / 127.0).max(-1.0),
            Component::U8 => raw / 255.0,
            Component::I16 => (raw / 32767.0).max(-1.0),
            Component::U16 => raw / 65535.0,
            Component::U32 | Component::F32 => raw,
        }
    }
}

/// What an accessor says of itself.
#[derive(Clone)]
pub(super) struct Accessor<'a> {
    pub entry: Entry<'a>,
    pub component: Component,
    pub normalized: bool,
    /// Numbers per element: 1 for SCALAR to 16 for MAT4.
    pub width: usize,
    pub count: u64,
}

/// The accessors, views and buffers of one document, and what may still be decoded.
pub(super) struct Data<'a> {
    accessors: Vec<Entry<'a>>,
    views: Vec<Entry<'a>>,
    buffers: &'a [Buffer],
    left: Cell<u64>,
}

/// A view's bytes and how far apart its elements stand.
struct Span<'a> {
    bytes: &'a [u8],
    stride: usize,
}

impl Span<'_> {
    /// All numbers of `count` elements of `width`, of `B` bytes each. The bytes are there.
    fn gather<const B: usize>(&self, count: usize, width: usize, read: impl Fn([u8; B]) -> f64) -> Vec<f64> {
        let mut out = Vec::with_capacity(count * width);
        for e in 0..count {
            let element = &self.bytes[e * self.stride..][..width * B];
            out.extend(element.as_chunks::<B>().0.iter().map(|b| read(*b)));
        }
        out
    }
}

impl<'a> Data<'a> {
    /// `json_bytes` is the size of the JSON text, which counts as input too.
    pub fn new(root: &Entry<'a>, buffers: &'a [Buffer], json_bytes: usize) -> Result<Data<'a>, Error> {
        // Buffers may share a file, and each byte counts once.
        let distinct: HashMap<_, _> =
            buffers.iter().map(|b| (Arc::as_ptr(&b.bytes), b.bytes.len() as u64)).collect();
        let input = distinct.values().sum::<u64>();
        let left = (input + json_bytes as u64).saturating_mul(GROWTH).saturating_add(FLOOR);
        Ok(Data {
            accessors: root.list("accessors", "accessor")?,
            views: root.list("bufferViews", "bufferView")?,
            buffers,
            left: Cell::new(left),
        })
    }

    /// How many accessors there are.
    pub fn count(&self) -> usize {
        self.accessors.len()
    }

    /// Takes `bytes` from what may still be decoded.
    pub fn spend(&self, entry: &Entry<'_>, bytes: u64) -> Result<(), Error> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(entry.fault(format!(
                "asks for {bytes} more bytes decoded, out of proportion to the file's size; its counts are \
                 wrong or its data is referred to too many times"
            ))),
        }
    }

    /// An accessor's description. `index` must be in range.
    pub fn describe(&self, index: usize) -> Result<Accessor<'a>, Error> {
        let entry = self.accessors[index].clone();
        let component = Component::of(&entry)?;
        let width = match entry.text("type")? {
            Some("SCALAR") => 1,
            Some("VEC2") => 2,
            Some("VEC3") => 3,
            Some("VEC4" | "MAT2") => 4,
            Some("MAT3") => 9,
            Some("MAT4") => 16,
            other => {
                let what = format!("`type` is {}, which glTF does not have", quote(other.unwrap_or("")));
                return Err(entry.fault(what));
            }
        };
        let count = entry.need_size("count")?;
        if count == 0 {
            return Err(entry.fault("`count` is zero; an accessor needs at least one element"));
        }
        Ok(Accessor { component, normalized: entry.flag("normalized")?, width, count, entry })
    }

    /// The name of the compression when some of an accessor's bytes exist only compressed.
    pub fn compression(&self, accessor: &Accessor<'_>) -> Result<Option<&'static str>, Error> {
        let mut views = vec![accessor.entry.index("bufferView", "bufferView", self.views.len())?];
        if let Some(sparse) = accessor.entry.object("sparse")? {
            for part in ["indices", "values"] {
                if let Some(part) = sparse.object(part)? {
                    views.push(part.index("bufferView", "bufferView", self.views.len())?);
                }
            }
        }
        for view in views.into_iter().flatten().map(|v| &self.views[v]) {
            let buffer = view.need_index("buffer", "buffer", self.buffers.len())?;
            if !self.buffers[buffer].has_bytes()
                && let Some(name) = meshopt(view)?
            {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// The bytes of the view that `entry` names, from `entry`'s own offset on, enough for `count` elements.
    fn span(&self, entry: &Entry<'_>, view: usize, count: u64, element: usize) -> Result<Span<'a>, Error> {
        let view = &self.views[view];
        let buffer = view.need_index("buffer", "buffer", self.buffers.len())?;
        let Buffer { bytes, length, .. } = &self.buffers[buffer];
        if !self.buffers[buffer].has_bytes() {
            return Err(match meshopt(view)? {
                Some(name) => entry.fault(format!(
                    "its data exists only compressed by {name}, which is not read here; export without that \
                     compression, or with a fallback buffer"
                )),
                None => entry.fault(format!("buffer {buffer} has no `uri` and no data")),
            });
        }
        let start = view.size("byteOffset")?.unwrap_or(0);
        let size = view.need_size("byteLength")?;
        let range = start.checked_add(size).filter(|&end| end <= *length as u64);
        if range.is_none() {
            return Err(view.fault(format!(
                "{size} bytes from {start} on do not lie inside buffer {buffer}, which has {length}"
            )));
        }
        // Zero is not permitted, yet some write it where they mean that elements are packed.
        let stride = view.size("byteStride")?.filter(|&s| s != 0).unwrap_or(element as u64);
        if stride < element as u64 {
            return Err(view.fault(format!(
                "`byteStride` {stride} is less than the {element} bytes of an element of {}",
                entry.place()
            )));
        }
        let offset = entry.size("byteOffset")?.unwrap_or(0);
        let end =
            (count - 1).checked_mul(stride).and_then(|n| n.checked_add(element as u64)?.checked_add(offset));
        if end.is_none_or(|end| end > size) {
            return Err(entry.fault(format!(
                "{count} elements from byte {offset} on do not fit into {}, which has {size} bytes",
                view.place()
            )));
        }
        // All of these are within `length`, hence within usize.
        let (from, to) = ((start + offset) as usize, (start + size) as usize);
        Ok(Span { bytes: &bytes[from..to], stride: stride as usize })
    }

    /// All numbers of an accessor, `width` per element, normalised integers as the reals they stand for.
    pub fn numbers(&self, accessor: &Accessor<'_>) -> Result<Vec<f64>, Error> {
        let Accessor { entry, component, normalized, width, count } = accessor;
        let element = component.bytes() * width;
        let base = entry.index("bufferView", "bufferView", self.views.len())?;
        let base = base.map(|view| self.span(entry, view, *count, element)).transpose()?;
        let sparse = entry.object("sparse")?;
        let total = count.checked_mul(*width as u64).unwrap_or(u64::MAX);
        self.spend(entry, total.saturating_mul(8))?;
        let mut out = match base {
            Some(span) => {
                let (count, width) = (*count as usize, *width);
                match component {
                    Component::I8 => span.gather(count, width, |[b]| f64::from(b as i8)),
                    Component::U8 => span.gather(count, width, |[b]| f64::from(b)),
                    Component::I16 => span.gather(count, width, |b| f64::from(i16::from_le_bytes(b))),
                    Component::U16 => span.gather(count, width, |b| f64::from(u16::from_le_bytes(b))),
                    Component::U32 => span.gather(count, width, |b| f64::from(u32::from_le_bytes(b))),
                    Component::F32 => span.gather(count, width, |b| f64::from(f32::from_le_bytes(b))),
                }
            }
            None => vec![0.0; total as usize],
        };
        if let Some(sparse) = sparse {
            self.substitute(accessor, &sparse, &mut out)?;
        }
        if *normalized {
            out.iter_mut().for_each(|v| *v = component.normalise(*v));
        }
        Ok(out)
    }

    /// Puts the sparse values in their places.
    fn substitute(&self, accessor: &Accessor<'_>, sparse: &Entry<'_>, out: &mut [f64]) -> Result<(), Error> {
        let Accessor { component, width, count, .. } = accessor;
        let given = sparse.need_size("count")?;
        if given == 0 || given > *count {
            return Err(sparse.fault(format!("`count` is {given}, not between 1 and the accessor's {count}")));
        }
        let part = |name: &'static str| {
            sparse.object(name)?.ok_or_else(|| sparse.fault(format!("`{name}` is missing")))
        };
        let (indices, values) = (part("indices")?, part("values")?);
        let kind = Component::of(&indices)?;
        if !matches!(kind, Component::U8 | Component::U16 | Component::U32) {
            return Err(indices.fault("`componentType` must be an unsigned integer"));
        }
        let view = |part: &Entry<'_>| part.need_index("bufferView", "bufferView", self.views.len());
        let at = self.span(&indices, view(&indices)?, given, kind.bytes())?;
        let from = self.span(&values, view(&values)?, given, component.bytes() * width)?;
        self.spend(sparse, given.saturating_mul(8))?;
        let mut last = None;
        for k in 0..given as usize {
            // Exact: at most a u32.
            let place = kind.decode(&at.bytes[k * at.stride..]) as u64;
            if place >= *count || last.is_some_and(|last| place <= last) {
                return Err(indices.fault(format!(
                    "index {k} is {place}; they must increase and stay below the accessor's {count}"
                )));
            }
            last = Some(place);
            let value = &from.bytes[k * from.stride..];
            for c in 0..*width {
                out[place as usize * width + c] = component.decode(&value[c * component.bytes()..]);
            }
        }
        Ok(())
    }
}

/// The meshopt extension that a view carries.
fn meshopt(view: &Entry<'_>) -> Result<Option<&'static str>, Error> {
    let Some(extensions) = view.object("extensions")? else { return Ok(None) };
    Ok(MESHOPT.into_iter().find(|name| extensions.get(name).is_some()))
}
