//! Whether what was written says what was meant: bytes are read again, and every spec and field is compared.

use super::stage::{self, Opened, said};
use crate::error::Error;
use crate::files::scratch;
use crate::gltf::ReadOptions;
use openusd::sdf::{self, AbstractData, ChildrenKey, Value};
use openusd::usd::{Attribute, Prim};
use openusd::{usda, usdc};
use std::path::Path;

/// Fields that list what is below: the specs themselves say that.
const CHILDREN: [ChildrenKey; 9] = [
    ChildrenKey::ConnectionChildren,
    ChildrenKey::ExpressionChildren,
    ChildrenKey::MapperArgChildren,
    ChildrenKey::MapperChildren,
    ChildrenKey::PrimChildren,
    ChildrenKey::PropertyChildren,
    ChildrenKey::RelationshipTargetChildren,
    ChildrenKey::VariantChildren,
    ChildrenKey::VariantSetChildren,
];

pub(super) fn is_list_of_children(field: &str) -> bool {
    CHILDREN.iter().any(|key| key.as_str() == field)
}

/// Whether two values, or two without one, say the same.
pub(super) fn same(a: &Option<Value>, b: &Option<Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => alike(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Whether two values say the same: dictionaries in any order, zeros of any sign, and what is no number is alike as such.
fn alike(a: &Value, b: &Value) -> bool {
    let alike_each =
        |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b));
    match (a, b) {
        (Value::Dictionary(a), Value::Dictionary(b))
        | (Value::UnregisteredDictionary(a), Value::UnregisteredDictionary(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| alike(a, b)))
        }
        (Value::TimeSamples(a), Value::TimeSamples(b)) => alike_samples(a, b),
        (Value::ValueVec(a), Value::ValueVec(b)) => alike_each(a, b),
        // The second where a number of many is none.
        _ => a == b || without_signs_of_zeros(a) == without_signs_of_zeros(b),
    }
}

fn alike_samples(a: &[(f64, Value)], b: &[(f64, Value)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((t, a), (u, b))| t == u && alike(a, b))
}

fn without_signs_of_zeros(value: &Value) -> String {
    let mut said = format!("{value:?}");
    for end in [",", ")", "]", " "] {
        said = said.replace(&format!("-0.0{end}"), &format!("0.0{end}"));
    }
    said
}

/// Why nothing is written.
fn lost(what: &str) -> Error {
    Error::input(format!(
        "it would not be read back as it is, so nothing was written ({what}); write a layer over the scene instead"
    ))
}

/// Fails where bytes of a layer do not say what `meant` says, naming the spec.
pub(super) fn check(bytes: &[u8], meant: &dyn AbstractData) -> Result<(), Error> {
    let written: Box<dyn AbstractData> = if bytes.starts_with(b"PXR-USDC") {
        Box::new(usdc::CrateData::open(bytes.to_vec(), true).map_err(|e| lost(&said(&e)))?)
    } else {
        let text = std::str::from_utf8(bytes).map_err(|e| lost(&said(&e)))?;
        Box::new(usda::parse(text).map_err(|e| lost(&said(&e)))?)
    };
    match difference(&*written, meant) {
        Some((path, what)) => Err(lost(&what).at(&format!("<{}>", path.as_str()))),
        None => Ok(()),
    }
}

/// The first spec that two layers do not have alike, and what of it.
pub(super) fn difference(a: &dyn AbstractData, b: &dyn AbstractData) -> Option<(sdf::Path, String)> {
    let mut paths = a.spec_paths();
    paths.extend(b.spec_paths());
    paths.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    paths.dedup();
    for path in paths {
        let (one, two) = (a.spec_type(&path), b.spec_type(&path));
        if one != two {
            return Some((
                path,
                if one.is_none() { "it is missing" } else { "it is something else" }.to_owned(),
            ));
        }
        let mut fields = a.list_fields(&path).unwrap_or_default();
        fields.extend(b.list_fields(&path).unwrap_or_default());
        fields.sort();
        fields.dedup();
        for field in fields.into_iter().filter(|f| !is_list_of_children(f)) {
            let get = |data: &dyn AbstractData| {
                data.try_field(&path, &field).ok().flatten().map(|v| v.into_owned())
            };
            if !same(&get(a), &get(b)) {
                return Some((path, format!("`{field}` differs")));
            }
        }
    }
    None
}

/// Fails where a layer with everything in it is not the stage that was meant, naming the prim or attribute.
pub(super) fn check_stage(bytes: &[u8], meant: &Opened) -> Result<(), Error> {
    let room = scratch().map_err(|e| Error::io("there is no room to read it again", e))?;
    let name = if bytes.starts_with(b"PXR-USDC") { "flat.usdc" } else { "flat.usda" };
    let file = room.path().join(name);
    std::fs::write(&file, bytes).map_err(|e| Error::io("there is no room to read it again", e))?;
    check_file(&file, meant)
}

/// The same for a file: a package, or a layer without others.
pub(super) fn check_file(file: &Path, meant: &Opened) -> Result<(), Error> {
    let file = file.canonicalize().map_err(|e| Error::io("what was made cannot be read", e))?;
    let made = stage::open(&file, &ReadOptions::default()).map_err(|e| lost(&e.to_string()))?;
    let (old, new) = (meant.prims()?, made.prims()?);
    if let Some(prim) =
        old.iter().find(|p| !new.iter().any(|n| n.path() == p.path())).filter(|_| old.len() != new.len())
    {
        return Err(lost("it is missing").at(&format!("<{}>", prim.path().as_str())));
    }
    for (a, b) in old.iter().zip(&new) {
        let place = |what: &str| format!("<{}{what}>", a.path().as_str());
        if a.path() != b.path() {
            return Err(lost("it is missing").at(&place("")));
        }
        if let Some((what, why)) = differs(a, b).map_err(|e| lost(&said(&e)).at(&place("")))? {
            return Err(lost(why).at(&place(&what)));
        }
    }
    Ok(())
}

/// What of a prim differs: nothing, a property, or the prim itself.
fn differs(a: &Prim, b: &Prim) -> Result<Option<(String, &'static str)>, openusd::Error> {
    if a.type_name()? != b.type_name()? || a.api_schemas()? != b.api_schemas()? {
        return Ok(Some((String::new(), "it is something else")));
    }
    for attribute in a.authored_attributes()? {
        let twin = b.attribute(attribute.name());
        let name = format!(".{}", attribute.name());
        if attribute.type_name()? != twin.type_name()? {
            return Ok(Some((name, "its type differs")));
        }
        // Paths of assets are written anew.
        let is_asset = attribute.type_name()?.is_some_and(|t| t.as_str().starts_with("asset"));
        if !is_asset && !same_values(&attribute, &twin)? {
            return Ok(Some((name, "its values differ")));
        }
    }
    for relationship in a.authored_relationships()? {
        let twin = b.relationship(relationship.name());
        if relationship.targets()? != twin.targets()? {
            return Ok(Some((format!(".{}", relationship.name()), "its targets differ")));
        }
    }
    Ok(None)
}

/// Whether two attributes have the same default and the same samples.
fn same_values(a: &Attribute, b: &Attribute) -> Result<bool, openusd::Error> {
    Ok(same(&a.get::<Value>()?, &b.get::<Value>()?)
        && alike_samples(&super::flatten::samples(a)?, &super::flatten::samples(b)?))
}
