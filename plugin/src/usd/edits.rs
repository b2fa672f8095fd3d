//! What is to be written into a layer, in plain words, and writing it.

use super::Tolerance;
use super::stage::said;
use crate::error::Error;
use openusd::sdf::{self, AbstractData, Value};
use openusd::usd::Stage;

/// Changes to a layer, in order.
#[derive(Clone, Default)]
pub(super) struct Edits {
    list: Vec<Edit>,
    /// Nodes that move by splines, and how far these are off.
    splined: Vec<(usize, Tolerance)>,
}

#[derive(Clone)]
enum Edit {
    /// A prim that is there already, somewhere.
    Over(String),
    /// A new prim of that type.
    Define(String, String),
    Apply(String, String),
    Unapply(String, String),
    Attribute {
        prim: String,
        name: String,
        kind: String,
        uniform: bool,
        values: Values,
    },
    Targets(String, String, Vec<String>),
    /// Of an attribute that was written before.
    Metadata(String, String, &'static str, Value),
}

/// Values of an attribute.
#[derive(Clone)]
pub(super) enum Values {
    One(Value),
    /// Time codes and values.
    Many(Vec<(f64, Value)>),
    Spline(Value),
}

impl Edits {
    /// Adds others behind these.
    pub fn append(&mut self, mut others: Edits) {
        self.list.append(&mut others.list);
        self.splined.append(&mut others.splined);
    }

    pub fn over(&mut self, prim: &str) {
        self.list.push(Edit::Over(prim.to_owned()));
    }

    pub fn define(&mut self, prim: &str, kind: &str) {
        self.list.push(Edit::Define(prim.to_owned(), kind.to_owned()));
    }

    pub fn apply(&mut self, prim: &str, schema: &str) {
        self.list.push(Edit::Apply(prim.to_owned(), schema.to_owned()));
    }

    /// Takes a schema away that a weaker layer applies.
    pub fn unapply(&mut self, prim: &str, schema: &str) {
        self.list.push(Edit::Unapply(prim.to_owned(), schema.to_owned()));
    }

    /// A value of that type, the same at all times.
    pub fn set(&mut self, prim: &str, name: &str, kind: &str, value: impl Into<Value>) {
        self.push(prim, name, kind, false, Values::One(value.into()));
    }

    /// The same for an attribute that no sample may change.
    pub fn set_uniform(&mut self, prim: &str, name: &str, kind: &str, value: impl Into<Value>) {
        self.push(prim, name, kind, true, Values::One(value.into()));
    }

    /// Values over time; one that never changes becomes a default.
    pub fn set_samples(&mut self, prim: &str, name: &str, kind: &str, samples: Vec<(f64, Value)>) {
        self.push(prim, name, kind, false, Values::Many(samples));
    }

    /// A spline, as the library has it.
    pub fn set_spline(&mut self, prim: &str, name: &str, kind: &str, spline: Value) {
        self.push(prim, name, kind, false, Values::Spline(spline));
    }

    /// Notes that a node moves by splines, and how far these are off, in metres.
    pub fn note_splined(&mut self, node: usize, off: Tolerance) {
        self.splined.push((node, off));
    }

    /// Nodes that move by splines and how far these are off, and how many keys all splines have together.
    pub fn splines(&self) -> (Vec<(usize, Tolerance)>, usize) {
        let keys = |edit: &Edit| match edit {
            Edit::Attribute { values: Values::Spline(Value::Dictionary(spline)), .. } => {
                match spline.get("knots") {
                    Some(Value::ValueVec(knots)) => knots.len(),
                    _ => 0,
                }
            }
            _ => 0,
        };
        (self.splined.clone(), self.list.iter().map(keys).sum())
    }

    fn push(&mut self, prim: &str, name: &str, kind: &str, uniform: bool, values: Values) {
        let (prim, name, kind) = (prim.to_owned(), name.to_owned(), kind.to_owned());
        self.list.push(Edit::Attribute { prim, name, kind, uniform, values });
    }

    pub fn target(&mut self, prim: &str, name: &str, targets: &[&str]) {
        let targets = targets.iter().map(|t| (*t).to_owned()).collect();
        self.list.push(Edit::Targets(prim.to_owned(), name.to_owned(), targets));
    }

    /// A field of an attribute that was set before.
    pub fn metadata(&mut self, prim: &str, name: &str, field: &'static str, value: Value) {
        self.list.push(Edit::Metadata(prim.to_owned(), name.to_owned(), field, value));
    }

    /// Writes them into a layer's data. Types that an attribute has there, or in `stage`, win over those given.
    pub fn write(self, data: &mut dyn AbstractData, stage: Option<&Stage>) -> Result<(), Error> {
        for edit in self.list {
            let place = edit.place();
            edit.write(data, stage).map_err(|what| Error::input(what).at(&place))?;
        }
        Ok(())
    }
}

impl Edit {
    fn place(&self) -> String {
        match self {
            Edit::Over(p) | Edit::Define(p, _) | Edit::Apply(p, _) | Edit::Unapply(p, _) => format!("<{p}>"),
            Edit::Attribute { prim, name, .. }
            | Edit::Targets(prim, name, _)
            | Edit::Metadata(prim, name, ..) => format!("<{prim}.{name}>"),
        }
    }

    fn write(self, data: &mut dyn AbstractData, stage: Option<&Stage>) -> Result<(), String> {
        match self {
            Edit::Over(prim) => {
                sdf::PrimSpecMut::over(data, prim.as_str()).map_err(|e| said(&e))?;
            }
            Edit::Define(prim, kind) => {
                sdf::PrimSpecMut::new(data, prim.as_str(), sdf::Specifier::Def, kind)
                    .map_err(|e| said(&e))?;
            }
            Edit::Apply(prim, schema) => {
                let mut spec = sdf::PrimSpecMut::over(data, prim.as_str()).map_err(|e| said(&e))?;
                spec.add_applied_schema(schema).map_err(|e| said(&e))?;
            }
            Edit::Unapply(prim, schema) => unapply(data, &prim, &schema)?,
            Edit::Attribute { prim, name, kind, uniform, values } => {
                attribute(data, stage, &prim, &name, &kind, uniform, values)?;
            }
            Edit::Metadata(prim, name, field, value) => {
                data.set_field(&property(&prim, &name)?, field, value)
            }
            Edit::Targets(prim, name, targets) => {
                let path = property(&prim, &name)?;
                if data.has_spec(&path) {
                    let paths = targets.iter().map(|t| sdf::Path::new(t)).collect::<Result<_, _>>();
                    let list = sdf::PathListOp::explicit::<Vec<sdf::Path>>(paths.map_err(|e| said(&e))?);
                    data.set_field(&path, sdf::FieldKey::TargetPaths.as_str(), Value::PathListOp(list));
                } else {
                    sdf::PrimSpecMut::over(data, prim.as_str()).map_err(|e| said(&e))?;
                    let made = sdf::RelationshipSpecMut::new(data, path, sdf::Variability::Uniform, false);
                    let mut spec = made.map_err(|e| said(&e))?;
                    spec.set_target_paths(targets.iter().map(String::as_str)).map_err(|e| said(&e))?;
                }
            }
        }
        Ok(())
    }
}

fn property(prim: &str, name: &str) -> Result<sdf::Path, String> {
    let path = sdf::Path::new(prim).map_err(|e| said(&e))?;
    path.append_property(name).map_err(|e| said(&e))
}

fn unapply(data: &mut dyn AbstractData, prim: &str, schema: &str) -> Result<(), String> {
    sdf::PrimSpecMut::over(data, prim).map_err(|e| said(&e))?;
    let path = sdf::Path::new(prim).map_err(|e| said(&e))?;
    let key = sdf::FieldKey::ApiSchemas.as_str();
    let mut list = match data.try_field(&path, key).map_err(|e| said(&e))?.map(|v| v.into_owned()) {
        Some(Value::TokenListOp(list)) => list,
        _ => sdf::TokenListOp::default(),
    };
    let other = |t: &openusd::tf::Token| t.as_str() != schema;
    list.explicit_items.retain(other);
    list.prepended_items.retain(other);
    list.appended_items.retain(other);
    list.added_items.retain(other);
    if !list.explicit {
        list.deleted_items.push(schema.into());
    }
    data.set_field(&path, key, Value::TokenListOp(list));
    Ok(())
}

fn attribute(
    data: &mut dyn AbstractData,
    stage: Option<&Stage>,
    prim: &str,
    name: &str,
    kind: &str,
    uniform: bool,
    values: Values,
) -> Result<(), String> {
    let path = property(prim, name)?;
    let key = sdf::FieldKey::TypeName.as_str();
    let own = data.try_field(&path, key).ok().flatten().and_then(|v| super::value::text(&v));
    let composed = || {
        let found = stage?.attribute(&path).ok()?.type_name().ok()??;
        Some(found.as_str().to_owned())
    };
    let kind = own.clone().or_else(composed).unwrap_or_else(|| kind.to_owned());
    let declared =
        sdf::ValueTypeName::find(&kind).ok_or_else(|| format!("its type \"{kind}\" is not known"))?;
    let fit = |v: Value| declared.coerce(v).map_err(|e| said(&e));
    if own.is_none() {
        sdf::PrimSpecMut::over(data, prim).map_err(|e| said(&e))?;
        let variability = if uniform { sdf::Variability::Uniform } else { sdf::Variability::Varying };
        let is_ours = name.starts_with("sinew:");
        sdf::AttributeSpecMut::new(data, path.clone(), kind.as_str(), variability, is_ours)
            .map_err(|e| said(&e))?;
    }
    let (default, samples) = (sdf::FieldKey::Default.as_str(), sdf::FieldKey::TimeSamples.as_str());
    let values = match values {
        Values::Many(all) if all.windows(2).all(|w| w[0].1 == w[1].1) => {
            let Some((_, first)) = all.into_iter().next() else { return Ok(()) };
            Values::One(first)
        }
        other => other,
    };
    match values {
        Values::One(value) => {
            data.erase_field(&path, samples);
            data.set_field(&path, default, fit(value)?);
        }
        Values::Many(all) => {
            let all = all.into_iter().map(|(t, v)| Ok((t, fit(v)?))).collect::<Result<Vec<_>, String>>()?;
            data.set_field(&path, samples, Value::TimeSamples(all));
        }
        Values::Spline(spline) => {
            data.erase_field(&path, samples);
            data.set_field(&path, "spline", spline);
        }
    }
    Ok(())
}
