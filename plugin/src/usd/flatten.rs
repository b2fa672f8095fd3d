//! A stage in one layer, with the values that clips have.

use super::save::unwritten;
use super::stage::{Opened, said};
use crate::error::Error;
use openusd::sdf::{self, AbstractData, Value};
use openusd::usd::{Attribute, TimeCode};

/// Everything that a stage composes, in one layer.
pub(super) fn flattened(opened: &Opened) -> Result<sdf::Data, Error> {
    let flat = opened.stage.flatten().map_err(|e| unwritten(&e))?;
    let from = flat.data();
    let mut data = sdf::Data::new();
    for path in from.spec_paths() {
        let Some(kind) = from.spec_type(&path) else { continue };
        data.create_spec(path.clone(), kind);
        for field in from.list_fields(&path).unwrap_or_default() {
            if let Some(value) = from.try_field(&path, &field).map_err(|e| unwritten(&e))? {
                data.set_field(&path, &field, value.into_owned());
            }
        }
    }
    // The library leaves out what comes from clips.
    for prim in opened.prims()? {
        let bad = |e: openusd::Error| Error::input(said(&e)).at(&format!("<{}>", prim.path().as_str()));
        for attribute in prim.authored_attributes().map_err(bad)? {
            let path = attribute.path();
            let key = sdf::FieldKey::TimeSamples.as_str();
            if data.has_spec(path) && !data.has_field(path, key) {
                let samples = samples(&attribute).map_err(bad)?;
                if !samples.is_empty() {
                    data.set_field(path, key, Value::TimeSamples(samples));
                }
            }
        }
    }
    Ok(data)
}

/// An attribute's samples over time, those of clips too.
pub(super) fn samples(attribute: &Attribute) -> Result<Vec<(f64, Value)>, openusd::Error> {
    if let Some(map) = attribute.time_samples()? {
        return Ok(map.into_iter().collect());
    }
    let mut found = Vec::new();
    for time in attribute.time_sample_times()? {
        if let Some(value) = attribute.get_at::<Value>(TimeCode::new(time))? {
            found.push((time, value));
        }
    }
    Ok(found)
}
