//! Meshes: the triangles of all primitives of a mesh, merged. Points and lines are left out.
//!
//! A mesh of which some part exists only compressed (Draco, meshopt) keeps its bounding box, which the accessor
//! states in the clear, and a warning says so.

use super::accessor::{Accessor, Component, Data};
use super::entry::Entry;
use super::skin;
use crate::error::Error;
use glam::DVec3;
use sinew_core::scene::Mesh;
use std::collections::HashMap;

const DRACO: &str = "KHR_draco_mesh_compression";

/// A primitive's share of a mesh.
enum Part {
    Triangles,
    /// Compressed by the extension of that name.
    Bounds(&'static str),
}

/// Collects one mesh.
struct Builder<'a, 'd> {
    data: &'d Data<'a>,
    mesh: Mesh,
    /// Where an accessor's positions begin: primitives often share one.
    bases: HashMap<usize, usize>,
    low: DVec3,
    high: DVec3,
}

/// Reads every mesh.
pub(super) fn read(
    root: &Entry<'_>,
    data: &Data<'_>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Mesh>, Error> {
    root.list("meshes", "mesh")?.iter().map(|entry| read_one(entry, data, warnings)).collect()
}

fn read_one(entry: &Entry<'_>, data: &Data<'_>, warnings: &mut Vec<String>) -> Result<Mesh, Error> {
    let mesh = Mesh { name: entry.name().to_owned(), ..Mesh::default() };
    let (low, high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let mut builder = Builder { data, mesh, bases: HashMap::new(), low, high };
    let mut compressed = None;
    for primitive in entry.list("primitives", "primitive")? {
        if let Some(Part::Bounds(name)) = builder.add(&primitive)? {
            compressed = Some(name);
        }
    }
    let Builder { mut mesh, mut low, mut high, .. } = builder;
    if let Some(name) = compressed {
        for &p in &mesh.positions {
            (low, high) = (low.min(p), high.max(p));
        }
        mesh.triangles.clear();
        mesh.influences.clear();
        mesh.positions = if low.is_finite() && high.is_finite() { vec![low, high] } else { Vec::new() };
        let what = if mesh.positions.is_empty() { "nothing" } else { "only its bounding box" };
        warnings.push(format!(
            "{}: compressed by {name}, which is not read here; {what} is known of its shape, and it is written \
             back unchanged",
            entry.place()
        ));
    }
    Ok(mesh)
}

impl Builder<'_, '_> {
    /// Adds a primitive; `None` when it has no triangles.
    fn add(&mut self, primitive: &Entry<'_>) -> Result<Option<Part>, Error> {
        let mode = primitive.size("mode")?.unwrap_or(4);
        if mode > 6 {
            return Err(primitive.fault(format!("`mode` {mode} is none of 0 to 6")));
        }
        if mode < 4 {
            return Ok(None);
        }
        let Some(attributes) = primitive.object("attributes")? else {
            return Err(primitive.fault("`attributes` is missing"));
        };
        let Some(position) = attributes.index("POSITION", "accessor", self.data.count())? else {
            return Ok(None);
        };
        let indices = primitive.index("indices", "accessor", self.data.count())?;
        let accessor = self.data.describe(position)?;
        if accessor.width != 3 || accessor.component == Component::U32 {
            return Err(attributes.fault("POSITION must be VEC3 of floats or of 8 or 16 bit integers"));
        }
        if let Some(name) = self.compression(primitive, &accessor, indices)? {
            self.bound(&accessor)?;
            return Ok(Some(Part::Bounds(name)));
        }
        let base = match self.bases.get(&position) {
            Some(&base) => base,
            None => {
                let base = self.positions(position, &accessor)?;
                skin::influences(&attributes, self.data, base, accessor.count, &mut self.mesh.influences)?;
                base
            }
        };
        let count = accessor.count as usize;
        match indices {
            Some(indices) => {
                let corners = self.indices(primitive, indices, count)?;
                self.triangles(primitive, mode, base, corners.len(), |i| corners[i])?;
            }
            None => self.triangles(primitive, mode, base, count, |i| i)?,
        }
        Ok(Some(Part::Triangles))
    }

    fn compression(
        &self,
        primitive: &Entry<'_>,
        position: &Accessor<'_>,
        indices: Option<usize>,
    ) -> Result<Option<&'static str>, Error> {
        let mut accessors = vec![position.clone()];
        if let Some(indices) = indices {
            accessors.push(self.data.describe(indices)?);
        }
        let draco = primitive.object("extensions")?.is_some_and(|e| e.get(DRACO).is_some());
        for accessor in &accessors {
            if draco && accessor.entry.get("bufferView").is_none() {
                return Ok(Some(DRACO));
            }
            if let Some(name) = self.data.compression(accessor)? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Widens the bounds by what an accessor states, if it does.
    fn bound(&mut self, accessor: &Accessor<'_>) -> Result<(), Error> {
        let real = |raw: [f64; 3]| {
            let component = accessor.component;
            DVec3::from_array(if accessor.normalized { raw.map(|v| component.normalise(v)) } else { raw })
        };
        if let (Some(low), Some(high)) = (accessor.entry.numbers("min")?, accessor.entry.numbers("max")?) {
            self.low = self.low.min(real(low)).min(real(high));
            self.high = self.high.max(real(low)).max(real(high));
        }
        Ok(())
    }

    /// Appends an accessor's positions and says where they begin.
    fn positions(&mut self, index: usize, accessor: &Accessor<'_>) -> Result<usize, Error> {
        let numbers = self.data.numbers(accessor)?;
        if let Some(bad) = numbers.iter().position(|v| !v.is_finite()) {
            return Err(accessor.entry.fault(format!("position {} is not a finite number", bad / 3)));
        }
        let base = self.mesh.positions.len();
        if base + numbers.len() / 3 > u32::MAX as usize {
            return Err(accessor.entry.fault("the mesh has more than four thousand million positions"));
        }
        self.mesh.positions.extend(numbers.chunks_exact(3).map(DVec3::from_slice));
        self.bases.insert(index, base);
        Ok(base)
    }

    /// The index list of a primitive, each below `count`.
    fn indices(&self, primitive: &Entry<'_>, index: usize, count: usize) -> Result<Vec<usize>, Error> {
        let accessor = self.data.describe(index)?;
        let unsigned = matches!(accessor.component, Component::U8 | Component::U16 | Component::U32);
        if accessor.width != 1 || !unsigned || accessor.normalized {
            return Err(primitive.fault(format!(
                "indices must be SCALAR of unsigned integers, not normalized; see {}",
                accessor.entry.place()
            )));
        }
        let corners: Vec<usize> = self.data.numbers(&accessor)?.into_iter().map(|v| v as usize).collect();
        match corners.iter().find(|&&c| c >= count) {
            Some(c) => Err(primitive.fault(format!("an index is {c}, but there are {count} positions"))),
            None => Ok(corners),
        }
    }

    /// Appends the triangles of `count` corners, wound as section 3.7.2.1 says.
    fn triangles(
        &mut self,
        primitive: &Entry<'_>,
        mode: u64,
        base: usize,
        count: usize,
        corner: impl Fn(usize) -> usize,
    ) -> Result<(), Error> {
        let (number, step) = if mode == 4 { (count / 3, 3) } else { (count.saturating_sub(2), 1) };
        self.data.spend(primitive, number as u64 * 12)?;
        // Below u32::MAX: `positions` checked it.
        let at = |i: usize| (base + corner(i)) as u32;
        let triangle = |t: usize| match mode {
            5 => [at(t), at(t + 1 + t % 2), at(t + 2 - t % 2)],
            6 => [at(t + 1), at(t + 2), at(0)],
            _ => [at(t * step), at(t * step + 1), at(t * step + 2)],
        };
        self.mesh.triangles.extend((0..number).map(triangle));
        Ok(())
    }
}
