//! Stage-composed attribute handle — a value-type wrapper around
//! `(stage, path)` that mirrors C++ `UsdAttribute`.
//!
//! Like [`Prim`], the handle is freely [`Clone`], holds no borrow on the
//! composition cache, and re-acquires state from the [`Stage`] per call. Its
//! fluent setters take `self` by value and return `Self`, so writes chain in a
//! single statement that ends with the final handle bound.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use super::authoring::PropertySpecKind;
use super::{
    Prim, PrimTypeInfo, ResolveInfo, ResolveInfoSource, SpecSite, Stage, StageAuthoringError, StageEdit, TimeCode,
    TypeConflict, authoring, interp,
};
use crate::Result;
use crate::gf;
use crate::pcp;
use crate::pcp::AttributeValueSource;
use crate::sdf;
use crate::tf;

/// An attribute to author, and everything it is authored with.
///
/// Creating an attribute, declaring it and giving it a value are one edit of
/// the target layer: nothing reaches the stage until [`build`](Self::build),
/// which is where the value is validated against the declaration that wins.
///
/// [`custom`](Self::custom) and [`variability`](Self::variability) are C++
/// `UsdPrim::CreateAttribute`'s arguments of those names: the declaration to
/// stamp where the attribute is new to the stage. One a schema declares, or
/// one a stronger layer already authored, keeps the declaration it has.
///
/// A builder from [`Prim`] or [`Stage`] commits on its own; one from a
/// [`PrimEdit`](super::PrimEdit) or a [`StageEdit`](super::StageEdit) joins
/// that transaction instead.
#[derive(Debug)]
pub struct AttributeBuilder<'a> {
    /// The stage and the property path to author at, or what naming them hit.
    /// The failure is carried so the setters need not answer for it.
    site: Result<(Stage, sdf::Path), StageAuthoringError>,
    type_name: sdf::ValueTypeName,
    variability: sdf::Variability,
    custom: bool,
    /// The value opinion to author in the same edit.
    value: Option<BuilderValue>,
    /// The metadata fields to author in the same edit, in the order given.
    metadata: Vec<(&'static str, sdf::Value)>,
    /// The transaction to join, where the builder came from one.
    batch: Option<&'a StageEdit>,
}

/// The value opinion an [`AttributeBuilder`] authors with its attribute.
#[derive(Debug)]
enum BuilderValue {
    /// A value, and when it is for.
    Set(sdf::Value, Option<super::TimeCode>),
    /// A block of every weaker value opinion.
    Block,
}

impl<'a> AttributeBuilder<'a> {
    /// An attribute of `type_name` at `site`, declared as C++ declares one a
    /// caller says nothing more about.
    pub(super) fn new(site: Result<(Stage, sdf::Path), StageAuthoringError>, type_name: sdf::ValueTypeName) -> Self {
        AttributeBuilder {
            site,
            type_name,
            variability: sdf::Variability::Varying,
            custom: true,
            value: None,
            metadata: Vec::new(),
            batch: None,
        }
    }

    /// The same attribute, authored as part of `batch` rather than on its own.
    pub(super) fn in_batch(mut self, batch: &'a StageEdit) -> Self {
        self.batch = Some(batch);
        self
    }

    /// Whether the attribute is the caller's own rather than a schema's
    /// (C++ `custom`). A schema's property is not.
    pub fn custom(mut self, custom: bool) -> Self {
        self.custom = custom;
        self
    }

    /// Whether the attribute may vary over time (C++ `SdfVariability`).
    pub fn variability(mut self, variability: sdf::Variability) -> Self {
        self.variability = variability;
        self
    }

    /// The default value to author with it.
    ///
    /// Recorded rather than written: the value is checked against the
    /// declaration at [`build`](Self::build), which is the only place that
    /// knows which declaration won.
    pub fn set(self, value: impl Into<sdf::Value>) -> Self {
        self.set_at(value, None)
    }

    /// The value to author at `time`, or the default where `time` is `None`.
    pub fn set_at(mut self, value: impl Into<sdf::Value>, time: impl Into<Option<super::TimeCode>>) -> Self {
        self.value = Some(BuilderValue::Set(value.into(), time.into()));
        self
    }

    /// Blocks every weaker value opinion in the same edit, as
    /// [`Attribute::block`] does: the edit target's own samples are erased and
    /// its `default` becomes a value block. Replaces a value given through
    /// [`set`](Self::set), which authoring a [`sdf::Value::ValueBlock`] does
    /// not match, since that leaves the target's samples standing.
    pub fn block(mut self) -> Self {
        self.value = Some(BuilderValue::Block);
        self
    }

    /// A metadata field to author in the same edit: [`Attribute::set_metadata`]
    /// as part of the creating edit, on the same terms. A field with a
    /// dedicated setter is refused at [`build`](Self::build).
    pub fn metadata(mut self, key: &'static str, value: impl Into<sdf::Value>) -> Self {
        match authoring::check_reserved(sdf::SpecType::Attribute, key) {
            Ok(()) => self.metadata.push((key, value.into())),
            // The first failure is the one `build` reports.
            Err(err) if self.site.is_ok() => self.site = Err(err),
            Err(_) => {}
        }
        self
    }

    /// The value type the attribute will have once built: the composed
    /// declaration a value write is validated against.
    ///
    /// A schema that declares the attribute answers first, then the strongest
    /// authored spec across the composed layers, and only for an attribute
    /// nothing declares the type this builder was given. The edit target's own
    /// spec takes no part: a weaker target holding `float[]` under a stronger
    /// `float` reports `float`.
    ///
    /// `None` for a builder already holding a failure, such as a property path
    /// that does not parse: it has no declaration to report, and
    /// [`build`](Self::build) returns the failure.
    ///
    // TODO(perf): `build` resolves the same spec plan again. Keeping the plan
    // this computed on the builder would let a caller that checks the type
    // before building pay for it once.
    pub fn declared_type(&self) -> Result<Option<sdf::ValueTypeName>, StageAuthoringError> {
        let Ok((stage, path)) = &self.site else {
            return Ok(None);
        };
        let ensure = authoring::plan_property_spec(stage, path, sdf::SpecType::Attribute, Some(self.declaration()))?;
        Attribute::new(stage, path.clone()).composed_type(&ensure).map(Some)
    }

    /// What the attribute is declared as where it is new to the stage.
    fn declaration(&self) -> authoring::PropertyDeclaration {
        authoring::PropertyDeclaration::Attribute {
            type_name: self.type_name.clone(),
            variability: self.variability,
            custom: self.custom,
        }
    }

    /// Authors the attribute and hands back the handle that reads and edits
    /// it, as one edit of the target layer.
    ///
    /// A builder that came from a [`PrimEdit`](super::PrimEdit) or a
    /// [`StageEdit`](super::StageEdit) is queued into that transaction instead,
    /// and the handle reads nothing until the transaction commits.
    pub fn build(mut self) -> Result<Attribute, StageAuthoringError> {
        let batch = self.batch.take();
        if let Some(batch) = batch {
            batch.holds_target()?;
        }
        let planned = self.plan()?;
        let (stage, path) = match batch {
            Some(batch) => batch.queue(planned)?,
            None => planned.commit()?,
        };
        Ok(Attribute::new(&stage, path))
    }

    /// Resolves everything the write depends on against composed state, so all
    /// the transaction has left to do is stamp the spec and write.
    fn plan(self) -> Result<authoring::PlannedProperty, StageAuthoringError> {
        let declaration = self.declaration();
        let (stage, path) = self.site?;
        let metadata = self
            .metadata
            .into_iter()
            .map(|(key, value)| (key, stage.map_to_spec_value(&path, value)))
            .collect();

        // A value write stamps the spec itself, so declaring and setting is
        // the one edit rather than two.
        let attribute = Attribute::new(&stage, path);
        let value = match self.value {
            None => authoring::AttributeWrite::Declare(authoring::plan_property_spec(
                &stage,
                &attribute.path,
                sdf::SpecType::Attribute,
                Some(declaration),
            )?),
            Some(BuilderValue::Set(value, time)) => {
                let plan = attribute.plan_authoring(value, time, Some(declaration))?;
                authoring::AttributeWrite::Set(Box::new(plan))
            }
            Some(BuilderValue::Block) => {
                let plan = attribute.plan_authoring(sdf::Value::ValueBlock, None, Some(declaration))?;
                authoring::AttributeWrite::Block(Box::new(plan))
            }
        };
        let Attribute { path, .. } = attribute;
        Ok(authoring::PlannedProperty::new(
            stage,
            path,
            authoring::PropertyWrite::Attribute { value, metadata },
        ))
    }
}

/// Stage-composed attribute handle. Mirrors C++ `UsdAttribute`.
///
/// Authored through [`Stage::create_attribute`] / [`Prim::create_attribute`],
/// or through an [`AttributeBuilder`] where it is declared as something other
/// than the defaults; the setters below edit an attribute that already exists.
///
/// Two handles are equal when they name the same path on the same stage
/// instance, as C++ `UsdAttribute`s compare.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    stage: Stage,
    path: sdf::Path,
}

impl Attribute {
    pub(crate) fn new(stage: &Stage, path: sdf::Path) -> Self {
        Self {
            stage: stage.clone(),
            path,
        }
    }

    /// Composed namespace path of the attribute (e.g. `/World/Mesh.points`).
    pub fn path(&self) -> &sdf::Path {
        &self.path
    }

    /// The attribute's name within its prim, namespaces included (e.g.
    /// `inputs:diffuseColor`), or `""` when the handle addresses no property. Mirrors
    /// C++ `UsdObject::GetName`.
    pub fn name(&self) -> &str {
        self.path.split_property().map_or("", |(_, name)| name)
    }

    /// The stage this handle is anchored to.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Handle to the owning prim.
    pub fn prim(&self) -> Prim {
        Prim::new(&self.stage, self.path.prim_path())
    }

    /// Set the attribute's `variability` field. Always authors an explicit
    /// opinion so weaker layers don't bubble up through composition; use
    /// the Sdf-tier `Spec::remove` directly if you instead want to clear the
    /// local opinion entirely.
    pub fn set_variability(self, v: sdf::Variability) -> Result<Self, StageAuthoringError> {
        self.edit(|spec| {
            spec.set(sdf::FieldKey::Variability.as_str(), sdf::Value::Variability(v));
            Ok(())
        })
    }

    /// Set the attribute's `custom` flag. Always authors an explicit
    /// opinion (see [`Attribute::set_variability`] for the rationale).
    pub fn set_custom(self, custom: bool) -> Result<Self, StageAuthoringError> {
        self.edit(|spec| {
            spec.set(sdf::FieldKey::Custom.as_str(), sdf::Value::Bool(custom));
            Ok(())
        })
    }

    /// Set the attribute's default value. The convenience spelling of
    /// `set_at(value, None)`; mirrors C++ `UsdAttribute::Set(value)`.
    pub fn set(self, value: impl Into<sdf::Value>) -> Result<Self, StageAuthoringError> {
        self.set_at(value, None)
    }

    /// Set the attribute's value at `time`. Mirrors C++
    /// `UsdAttribute::Set(value, time)`.
    ///
    /// The value is validated against the composed declaration — exactly, no
    /// coercion, a block always passing — and the edit-target layer's own
    /// declaration must agree with the composed one (§6.5.1 of the core spec:
    /// a `color3f` value may land in a local `float3`, not in a local
    /// `point3f` or `double`), so a layer never holds a value of a kind it
    /// does not declare. The value is then written as validated, never
    /// recast against the local declaration. A spec the target lacks is
    /// stamped first from the declaration composition finds — the schema's,
    /// else the strongest authored spec's (C++
    /// `UsdStage::_CreatePropertySpecForEditing`).
    ///
    /// `time` is `None` to author the default value, or `Some(tc)` (a
    /// [`usd::TimeCode`](super::TimeCode), which a bare `TimeCode` coerces
    /// into) to author a time sample. A numeric time is in stage (composed)
    /// time: when the current edit target is an arc with a non-identity layer
    /// offset, the sample is keyed at the inverse-mapped source-layer time (C++
    /// `UsdEditTarget::MapToSpecTime`), so it reads back at `time` once
    /// composition re-applies the offset.
    ///
    /// A `timecode` value is a time coordinate in that same frame, so it is
    /// inverse-mapped alongside the key it is authored at, and a relative
    /// `pathExpression` is anchored against the owning prim and mapped into
    /// the target's namespace (C++ `_StageValueToFieldXf`); both read back
    /// unchanged.
    pub fn set_at(
        self,
        value: impl Into<sdf::Value>,
        time: impl Into<Option<super::TimeCode>>,
    ) -> Result<Self, StageAuthoringError> {
        let plan = self.plan_authoring(value.into(), time.into(), None)?;
        self.stage
            .with_target_layer_at(&self.path, |layer, spec_path| plan.write(layer.data_mut(), &spec_path))?;
        Ok(self)
    }

    /// Block opinions from weaker layers: every local value opinion is
    /// removed and `default` becomes a value block, so nothing weaker resolves
    /// through (C++ `UsdAttribute::Block`, which is `Clear` followed by a
    /// block). The spec is prepared like a write — stamped when the target
    /// lacks it, its local declaration read fallibly — and the `timeSamples`
    /// field is erased whole, without decoding samples the block discards.
    pub fn block(self) -> Result<Self, StageAuthoringError> {
        let plan = self.plan_authoring(sdf::Value::ValueBlock, None, None)?;
        self.stage
            .with_target_layer_at(&self.path, |layer, spec_path| plan.block(layer.data_mut(), &spec_path))?;
        Ok(self)
    }

    /// Remove every local value opinion — `default` and the whole
    /// `timeSamples` field — from the edit target (C++ `UsdAttribute::Clear`),
    /// so weaker layers' opinions resolve again. A target holding no spec is
    /// left alone, and the sample field is erased without decoding it.
    pub fn clear(self) -> Result<Self, StageAuthoringError> {
        self.edit_existing(|spec| {
            spec.clear_default();
            spec.erase(sdf::FieldKey::TimeSamples.as_str());
            Ok(())
        })
    }

    /// Remove the local `default` opinion (C++ `UsdAttribute::ClearDefault`);
    /// a target holding no spec is left alone.
    pub fn clear_default(self) -> Result<Self, StageAuthoringError> {
        self.edit_existing(|spec| {
            spec.clear_default();
            Ok(())
        })
    }

    /// Remove the local opinion at `time` (C++ `UsdAttribute::ClearAtTime`):
    /// the `default` for `None`, otherwise the one sample keyed at the
    /// inverse-mapped time, through the fallible sample-map update, so a
    /// malformed map is an error. A missing sample, a
    /// whole-field block and a target holding no spec are left alone.
    pub fn clear_at(self, time: impl Into<Option<super::TimeCode>>) -> Result<Self, StageAuthoringError> {
        let Some(time) = time.into() else {
            return self.clear_default();
        };
        let spec_time = self.stage.map_to_spec_time(time.value());
        self.edit_existing(|spec| {
            spec.erase_time_sample(spec_time)?;
            Ok(())
        })
    }

    /// Redeclare the attribute's value type on the edit target (C++
    /// `UsdAttribute::SetTypeName`). It authors at the edit target like every
    /// setter: a schema- or weaker-defined attribute with no local spec gets
    /// one stamped from its declaration first, and a handle nothing defines
    /// is an error. The local spec's values must fit the new type, on the
    /// terms [`sdf::AttributeSpecMut::set_type_name`] states.
    pub fn set_type_name(self, type_name: impl Into<sdf::ValueTypeName>) -> Result<Self, StageAuthoringError> {
        let type_name = type_name.into();
        self.edit(|spec| Ok(spec.set_type_name(type_name)?))
    }

    /// Set the `colorSpace` token.
    pub fn set_color_space(self, color_space: impl Into<String>) -> Result<Self, StageAuthoringError> {
        let color_space = color_space.into();
        self.edit(|spec| {
            spec.set_color_space(color_space);
            Ok(())
        })
    }

    /// Author a generic metadata field on the attribute spec. Mirrors C++
    /// `UsdAttribute::SetMetadata(name, value)`.
    ///
    /// Used for fields the schema layers on top of the core attribute
    /// metadata (e.g. UsdSkel's `weight` on `inbetweens:NAME`, UsdGeom's
    /// `elementSize` / `interpolation` on primvars). The dedicated setters
    /// above (`set_variability`, `set_custom`, `set_color_space`) cover the
    /// common cases — reach for this one when the schema requires a custom
    /// field key not represented by [`sdf::FieldKey`].
    ///
    /// `key` is `&'static str` so the change-tracking layer can record it
    /// without copying; pass a `pub const FOO: &str = "..."` token rather than
    /// a runtime-built string.
    ///
    /// `value` is in stage time, so any `timecode` it holds is mapped into the
    /// edit target's own time frame, and any path expression into its
    /// namespace (C++ `_StageValueToFieldXf`).
    ///
    /// A field with a dedicated setter — `default`, `timeSamples`,
    /// `typeName`, `connectionPaths`, `variability`, `custom` — is refused as
    /// [`ReservedField`](StageAuthoringError::ReservedField): those setters
    /// validate what they write, and this call must not bypass them.
    pub fn set_metadata(self, key: &'static str, value: impl Into<sdf::Value>) -> Result<Self, StageAuthoringError> {
        authoring::check_reserved(sdf::SpecType::Attribute, key)?;
        let value = self.stage.map_to_spec_value(&self.path, value);
        self.edit(|spec| {
            spec.set(key, value);
            Ok(())
        })
    }

    /// Remove a metadata field's opinion from the attribute's spec on the
    /// edit-target layer. Mirrors C++ `UsdObject::ClearMetadata`.
    ///
    /// Only the local opinion goes away; one on a weaker layer still composes.
    /// Erasing reaches only an attribute spec the layer already holds, so a
    /// property it says nothing about stays absent from it.
    pub fn clear_metadata(self, key: &'static str) -> Result<Self, StageAuthoringError> {
        authoring::check_reserved(sdf::SpecType::Attribute, key)?;
        self.edit_existing(|spec| {
            spec.erase(key);
            Ok(())
        })
    }

    /// Read-modify-write a metadata field on the attribute's spec at the edit
    /// target. `f` receives the field's current opinion on that layer (`None`
    /// when it is unauthored locally) and returns the value to author, or
    /// `None` to remove the local opinion.
    ///
    /// The attribute-level sibling of [`Prim::update_metadata`]: reading the
    /// local opinion rather than the composed value keeps opinions on weaker
    /// layers from being flattened into the edit target, which matters for the
    /// dictionary-valued fields value resolution merges key-by-key across
    /// layers (spec 12.2.5), such as UsdShade's `sdrMetadata`.
    ///
    /// The read is fallible so an undecodable local field surfaces instead of
    /// reading back as absent and being overwritten.
    ///
    /// Both sides of `f` are in the target layer's own time frame, since it
    /// reads and writes that one layer: a `timecode` arrives as the layer holds
    /// it and is authored back the same way.
    ///
    /// `key` is `&'static str` for the same change-tracking reason as
    /// [`set_metadata`](Self::set_metadata).
    pub fn update_metadata<F>(self, key: &'static str, f: F) -> Result<Self, StageAuthoringError>
    where
        F: FnOnce(Option<sdf::Value>) -> Option<sdf::Value>,
    {
        authoring::check_reserved(sdf::SpecType::Attribute, key)?;
        // Resolved before the transaction, consulted only when there is a
        // value to author: an erase never stamps a spec.
        let ensure = authoring::plan_property_spec(&self.stage, &self.path, sdf::SpecType::Attribute, None);
        self.stage.with_target_layer_at(&self.path, |layer, path| {
            let local = layer.data_mut().try_field(&path, key)?.map(Cow::into_owned);
            // Erasing reaches only an attribute spec this layer already holds,
            // so a property it says nothing about stays absent from it.
            let Some(value) = f(local) else {
                return authoring::edit_existing_spec(layer.data_mut(), path, Self::KIND, Self::view, |spec| {
                    spec.erase(key);
                    Ok(())
                });
            };
            authoring::apply_plan(layer.data_mut(), &path, Self::KIND, &ensure?)?;
            authoring::edit_spec(layer.data_mut(), path, Self::KIND, Self::view, |spec| {
                spec.set(key, value);
                Ok(())
            })
        })?;
        Ok(self)
    }

    /// Author the attribute's `connectionPaths` — the `.connect` targets
    /// that wire this attribute to other properties. Mirrors C++
    /// `UsdAttribute::SetConnections` / `UsdShadeInput::ConnectToSource`.
    ///
    /// Each path is a full property path including its namespace, e.g.
    /// `</Mat/Tex.outputs:rgb>` or `</Mat.inputs:diffuseColor>`. Replaces
    /// any previously authored connections (the list op is written
    /// `explicit`). This is the primitive every UsdShade input/output
    /// connection is built on.
    pub fn set_connections(self, targets: impl IntoIterator<Item: sdf::IntoPath>) -> Result<Self, StageAuthoringError> {
        let targets: Vec<sdf::Path> = targets.into_iter().map(sdf::try_into_path).collect::<Result<_, _>>()?;
        self.edit(|spec| Ok(spec.set_connection_paths(targets)?))
    }

    /// Wire this attribute to a single `source` property, replacing any
    /// existing connections. The connectable shorthand for
    /// [`set_connections`](Attribute::set_connections) over one source; mirrors
    /// C++ `UsdShadeInput` / `UsdShadeOutput::ConnectToSource`. Chains after
    /// [`create_attribute`](Prim::create_attribute) / a UsdShade
    /// `create_input` / `create_output`, since the connection is authored on
    /// this (the consuming) property's spec.
    pub fn connect_to(self, source: &Attribute) -> Result<Self, StageAuthoringError> {
        self.set_connections([source.path().clone()])
    }

    /// Add a single connection target at the default USD list position.
    /// No-op if already present (skips cache invalidation in that case).
    /// Joins the prepended-items list op, matching C++
    /// `UsdAttribute::AddConnection`'s default back-of-prepend position.
    pub fn add_connection(self, target: impl sdf::IntoPath) -> Result<Self, StageAuthoringError> {
        self.add_connection_at(sdf::try_into_path(target)?, true)
    }

    /// Add a single connection target to the prepended list op. No-op if
    /// already present. This is the explicit spelling of the default USD
    /// `AddConnection` position.
    pub fn add_connection_prepended(self, target: impl sdf::IntoPath) -> Result<Self, StageAuthoringError> {
        self.add_connection_at(sdf::try_into_path(target)?, true)
    }

    /// Add a single connection target to the appended list op. No-op if
    /// already present. Use this when the new target should compose behind
    /// prepended opinions from this layer.
    pub fn add_connection_appended(self, target: impl sdf::IntoPath) -> Result<Self, StageAuthoringError> {
        self.add_connection_at(sdf::try_into_path(target)?, false)
    }

    fn add_connection_at(self, target: sdf::Path, prepend: bool) -> Result<Self, StageAuthoringError> {
        // Dedup against the composed result, not just the local edit-target
        // op. Otherwise adding a weaker-layer target would author a stronger
        // duplicate and could accidentally reorder it.
        if self.connections_composed()?.iter().any(|p| p == &target) {
            return Ok(self);
        }
        self.edit(move |spec| {
            spec.add_connection_path(target, prepend)?;
            Ok(())
        })
    }

    /// Remove a single connection target. Returns `Ok(true)` if it was
    /// present. Takes `&self` (returns `bool`, not `Self`, so it doesn't
    /// chain). Mirrors C++ `UsdAttribute::RemoveConnection`.
    pub fn remove_connection(&self, target: impl sdf::IntoPath) -> Result<bool, StageAuthoringError> {
        let target = sdf::try_into_path(target)?;
        // The target may exist only through weaker layers. Check the composed
        // list first so this call can author a delete opinion even when the
        // edit-target layer has no local connection item to remove.
        if !self.connections_composed()?.iter().any(|p| p == &target) {
            return Ok(false);
        }
        // A delete list-op still needs a property spec to carry it, stamped
        // as any other write stamps it.
        let mut removed = false;
        authoring::author::<Self>(&self.stage, &self.path, |spec| {
            removed = spec.delete_connection_path(&target)?;
            Ok(())
        })?;
        Ok(removed)
    }

    /// Clear all authored `connectionPaths` on the edit target (C++
    /// `UsdAttribute::ClearConnections`). A target holding no spec is left
    /// alone, and the layer records a change only when an opinion went away.
    pub fn clear_connections(self) -> Result<Self, StageAuthoringError> {
        self.edit_existing(|spec| {
            spec.clear_connection_paths();
            Ok(())
        })
    }

    /// `true` when any connection opinion is authored — including an
    /// explicit-empty list op (`.connect = []`), the canonical way to
    /// block weaker-layer connections. Mirrors C++
    /// `UsdAttribute::HasAuthoredConnections`.
    pub fn has_authored_connections(&self) -> Result<bool> {
        Ok(self
            .stage
            .field::<sdf::Value>(&self.path, sdf::FieldKey::ConnectionPaths)?
            .is_some())
    }

    /// Composed `connectionPaths`, with list-op edits folded across every
    /// contributing layer (prepend / append / add / delete). Returns an empty
    /// vec when no connection is authored, the path is not a property, or the
    /// stage does not hold the owning prim. Mirrors C++
    /// `UsdAttribute::GetConnections`.
    pub fn connections(&self) -> Result<Vec<sdf::Path>> {
        Ok(self.connections_composed()?)
    }

    /// [`connections`](Self::connections) at the composition tier, for the
    /// authoring paths that dedup against the composed list.
    fn connections_composed(&self) -> Result<Vec<sdf::Path>, pcp::QueryError> {
        self.stage
            .masked_opinions(&self.path, |g, cache| cache.connection_paths(g, &self.path))
    }

    /// Composes this attribute's connection paths together with the paths its
    /// list-op deletes, returned as `(connections, deleted)` (C++
    /// `PcpBuildFilteredTargetIndex` and its `deletedPaths` out-param). Both are
    /// empty when the stage does not hold the owning prim.
    pub fn compute_connections(&self) -> Result<(Vec<sdf::Path>, Vec<sdf::Path>)> {
        Ok(self.stage.masked_opinions(&self.path, |g, cache| {
            cache.compute_attribute_connection_paths(g, &self.path)
        })?)
    }

    /// Composed `variability` for this attribute (spec 12.2.3: the weakest
    /// authored opinion wins). Mirrors C++ `UsdAttribute::GetVariability`.
    ///
    /// A schema that declares this attribute wins outright: variability is part
    /// of the declaration, so an authored opinion cannot make a `uniform`
    /// attribute animate.
    pub fn variability(&self) -> Result<Option<sdf::Variability>> {
        if let Some(declared) = self.declared_variability()? {
            return Ok(Some(declared));
        }
        Ok(self
            .stage
            .field::<sdf::Variability>(&self.path, sdf::FieldKey::Variability)?)
    }

    /// The variability this attribute's schema declares, if a schema declares
    /// the attribute at all.
    ///
    /// A schema that omits the field declares the default, so this is a
    /// property of the declaration existing — not of the field being authored.
    fn declared_variability(&self) -> Result<Option<sdf::Variability>, pcp::QueryError> {
        let Some((info, name)) = self.declaring_property()? else {
            return Ok(None);
        };
        Ok(info
            .prim_definition()
            .property(&name)
            .map(|property| property.variability()))
    }

    /// `true` when this attribute is composed as `custom` (spec 12.2.4: true if
    /// *any* opinion in the stack is true). Mirrors C++ `UsdProperty::IsCustom`;
    /// an unauthored `custom` field resolves to `false`.
    ///
    /// A property a schema declares is never custom — that is what `custom`
    /// means — so an authored `custom` opinion on one is ignored.
    pub fn is_custom(&self) -> Result<bool> {
        if self.declaring_property()?.is_some() {
            return Ok(false);
        }
        Ok(self
            .stage
            .field::<bool>(&self.path, sdf::FieldKey::Custom)?
            .unwrap_or(false))
    }

    /// `true` when an attribute is composed at this path — an authored spec,
    /// or a declaration from the owning prim's schema. Mirrors C++
    /// `UsdAttribute::IsDefined`.
    ///
    /// The composed spec answers first and a schema declaration answers for a
    /// path no layer authors, so a relationship composed where a schema
    /// declares an attribute is not one.
    pub fn is_defined(&self) -> Result<bool> {
        let spec_type = match self.stage.spec_type(&self.path)? {
            Some(spec_type) => Some(spec_type),
            None => self.declared_spec_type()?,
        };
        Ok(spec_type == Some(sdf::SpecType::Attribute))
    }

    /// Composed value type (the `typeName` field) as a registered type name
    /// (C++ `UsdAttribute::GetTypeName`): `None` when nothing declares one, or
    /// the declared spelling is not in the type table. The spelling itself is
    /// metadata, `get_metadata::<tf::Token>(sdf::FieldKey::TypeName)`.
    ///
    /// A schema that declares this attribute wins outright, as it does for
    /// [`variability`](Self::variability): the value type is part of the
    /// declaration, so an authored `typeName` cannot redeclare a schema
    /// attribute as a different type. Composition answers only for an
    /// attribute no schema declares.
    pub fn type_name(&self) -> Result<Option<sdf::ValueTypeName>> {
        Ok(self
            .declared_type_token()?
            .and_then(|token| sdf::ValueTypeName::find(token.as_str())))
    }

    /// The semantic role of the composed value type (C++
    /// `UsdAttribute::GetRoleName`): `Some(Role::Color)` for a `color3f`,
    /// `None` for a foundational type or an attribute with no registered type.
    pub fn role(&self) -> Result<Option<sdf::Role>> {
        Ok(self.type_name()?.and_then(|type_name| type_name.role()))
    }

    /// The `typeName` token as declared — by the schema first, else by the
    /// strongest composed opinion — whatever its spelling. The read behind
    /// [`type_name`](Self::type_name), [`role`](Self::role) and the value
    /// checks; it never feeds spec creation.
    fn declared_type_token(&self) -> Result<Option<tf::Token>, pcp::QueryError> {
        if let Some(declared) =
            authoring::schema_property_field(&self.stage, &self.path, sdf::FieldKey::TypeName.as_str())?
        {
            return Ok(declared.try_as_token());
        }
        Ok(self
            .stage
            .field::<sdf::Value>(&self.path, sdf::FieldKey::TypeName)?
            .and_then(sdf::Value::try_as_token))
    }

    /// The composed value type an attribute authored under `ensure` has: the
    /// declaration the plan stamps, which composition already chose, or the
    /// composed declaration where the edit target holds the spec and the plan
    /// stamps nothing.
    fn composed_type(&self, ensure: &authoring::EnsurePlan) -> Result<sdf::ValueTypeName, StageAuthoringError> {
        match ensure.attribute_type() {
            Some(declared) => Ok(declared.clone()),
            None => Ok(sdf::ValueTypeName::from(
                self.declared_type_token()?.ok_or(sdf::ValueTypeError::Empty)?,
            )),
        }
    }

    /// The read phase of a value write (see [`AttributeAuthoringPlan`]): the
    /// value validated against the composed declaration, the spec plan, and
    /// the value and time mapped for the edit target. Runs outside any
    /// transaction, so every composition query happens here.
    ///
    /// The spec plan resolves first because a plan that stamps a spec has
    /// already found the declaration to stamp it from, which is the composed
    /// declaration the value is checked against; only a target that holds the
    /// spec already leaves the plan with nothing to say about the type, and
    /// that one case reads it.
    fn plan_authoring(
        &self,
        value: sdf::Value,
        time: Option<super::TimeCode>,
        fallback: Option<authoring::PropertyDeclaration>,
    ) -> Result<AttributeAuthoringPlan, StageAuthoringError> {
        let ensure = authoring::plan_property_spec(&self.stage, &self.path, sdf::SpecType::Attribute, fallback)?;
        let effective = if value.is_value_block() {
            None
        } else {
            let declared = self.composed_type(&ensure)?;
            declared.validate(&value)?;
            Some(declared)
        };
        let value = self.stage.map_to_spec_value(&self.path, value);
        let spec_time = time.map(|time| self.stage.map_to_spec_time(time.value()));
        Ok(AttributeAuthoringPlan {
            effective,
            ensure,
            value,
            spec_time,
        })
    }

    /// Composed default value decoded to `T`. The convenience spelling of
    /// `get_at(None)`; mirrors C++ `UsdAttribute::Get`.
    ///
    /// `T` is any [`sdf::FromValue`]: a scalar (`get::<f32>()`), an array
    /// (`get::<Vec<f32>>()`), a token enum, or [`sdf::Value`] itself
    /// (`get::<sdf::Value>()`) for the raw value.
    pub fn get<T>(&self) -> Result<Option<T>>
    where
        T: sdf::FromValue,
        T::Error: Into<crate::Error>,
    {
        self.get_at(None)
    }

    /// Composed value at `time` decoded to `T`. Mirrors C++
    /// `UsdAttribute::Get(value, time)`.
    ///
    /// `time` is `None` to read the default value, or `Some(tc)` (a
    /// [`usd::TimeCode`](super::TimeCode), which a bare `TimeCode` coerces
    /// into) to resolve a time sample under the stage's [`InterpolationType`].
    ///
    /// When no layer authors a value, the attribute's schema supplies its
    /// fallback; [`resolve_info`](Self::resolve_info) reports which answered.
    ///
    /// The read is typed as C++'s is, and never casts. At the default time an
    /// opinion of a kind `T` does not accept is passed over for a weaker one,
    /// and then for the fallback. At a numeric time the strongest source
    /// answers whatever its kind. Either way, a winning value of a kind `T`
    /// does not accept reads as `None`, and failing to convert a value of a
    /// kind it accepts is an error.
    ///
    /// [`InterpolationType`]: super::InterpolationType
    pub fn get_at<T>(&self, time: impl Into<Option<super::TimeCode>>) -> Result<Option<T>>
    where
        T: sdf::FromValue,
        T::Error: Into<crate::Error>,
    {
        super::decode_value(self.value_at::<T>(time)?)
    }

    /// The composed value at `time` that a read of `T` decodes, undecoded:
    /// the opinion [`get_at`](Self::get_at) selects for `T`, and `None` where
    /// that read finds no value of a kind `T` accepts.
    ///
    /// For a caller that transforms the value before decoding it, such as an
    /// array that is reindexed, and has to transform the same opinion a typed
    /// read would return.
    pub fn value_at<T: sdf::FromValue>(&self, time: impl Into<Option<super::TimeCode>>) -> Result<Option<sdf::Value>> {
        let time = time.into().map(|time| time.value());
        let value = self.stage.resolve_at(&self.path, time, Some(T::accepts_kind))?;
        Ok(self
            .finish_composition(value)?
            .filter(|value| T::accepts_kind(sdf::ValueKind::from(value))))
    }

    /// Closes what the authored sources composed against the schema tier,
    /// which owns the weakest opinion an attribute has.
    ///
    /// The authored sources are as far as composition reaches in `pcp`, so a
    /// value that outlived them — a path expression still holding a `%_`, a
    /// dictionary — comes back with its composition open, and a property none
    /// of them answered comes back with none at all. The fallback is the last
    /// opinion to fold into either (C++
    /// `UsdStage::_ResolveInfoResolver::ProcessFallback`), and a reference no
    /// opinion answers then resolves to the empty expression rather than
    /// leaving a `%_` in a resolved value — including one the fallback itself
    /// holds.
    ///
    /// A value withheld at the queried time, such as a blocked sample, is no
    /// value at all: C++ `UsdAttribute::Get` fails there rather than reading
    /// the fallback.
    fn finish_composition(&self, value: pcp::TimedValue) -> Result<Option<sdf::Value>> {
        let mut composing = match value {
            pcp::TimedValue::Value(value) => pcp::Composing::resumed(value),
            pcp::TimedValue::NoValue => return Ok(None),
            pcp::TimedValue::Fallback => pcp::Composing::new(),
        };
        if (composing.is_empty() || composing.is_open())
            && let Some(fallback) = self.fallback_value()?
        {
            composing.fold_rooted(fallback);
        }
        Ok(composing.close())
    }

    /// The value this attribute's schema declares when nothing is authored
    /// (C++ `UsdPrimDefinition::GetAttributeFallbackValue`).
    ///
    /// Resolved against the stage's
    /// [`SchemaRegistry`](super::SchemaRegistry), from the owning
    /// prim's composed `typeName` and `apiSchemas`. `None` when no schema
    /// declares this attribute, or declares it without a fallback.
    ///
    /// An `asset` fallback is anchored against the schematics that declared
    /// it, at wherever that layer resolved from.
    pub fn fallback_value(&self) -> Result<Option<sdf::Value>> {
        let Some((info, name)) = authoring::schema_definition(&self.stage, &self.path)? else {
            return Ok(None);
        };
        let Some(property) = info.prim_definition().property(&name) else {
            return Ok(None);
        };
        let Some(value) = property.attribute_fallback() else {
            return Ok(None);
        };
        // Anchoring passes a non-asset value through untouched, so this gates
        // only to keep the ordinary read off the composition borrow it takes.
        if !value.is_asset_valued() {
            return Ok(Some(value));
        }
        Ok(Some(self.stage.resolve_schema_asset(property.fallback_source(), value)))
    }

    /// Whether the declaring schema supplies a value to fall back on.
    ///
    /// Reads the filtered fallback, not the raw field: a composed schema
    /// property can retract an inherited fallback by authoring a value block,
    /// which leaves the field present but supplies nothing.
    fn has_schema_fallback(&self) -> Result<bool, pcp::QueryError> {
        let Some((info, name)) = authoring::schema_definition(&self.stage, &self.path)? else {
            return Ok(false);
        };
        Ok(info.prim_definition().attribute_fallback(&name).is_some())
    }

    /// The spec type the owning prim's schema declares for this property, or
    /// `None` when no schema declares it.
    fn declared_spec_type(&self) -> Result<Option<sdf::SpecType>, pcp::QueryError> {
        let Some((info, name)) = authoring::schema_definition(&self.stage, &self.path)? else {
            return Ok(None);
        };
        Ok(info
            .prim_definition()
            .property(&name)
            .map(|property| property.spec_type()))
    }

    /// The schema of the prim this attribute hangs off, with the attribute's
    /// own name, but `None` unless a schema actually declares this property.
    fn declaring_property(&self) -> Result<Option<(Arc<PrimTypeInfo>, tf::Token)>, pcp::QueryError> {
        let Some((info, name)) = authoring::schema_definition(&self.stage, &self.path)? else {
            return Ok(None);
        };
        Ok(info.prim_definition().has_property(&name).then_some((info, name)))
    }

    /// `true` when a layer authors a value for this attribute, as a `default`,
    /// time samples or value clips (C++ `UsdAttribute::HasAuthoredValue`). A
    /// block is not a value, and neither is the schema fallback.
    pub fn has_authored_value(&self) -> Result<bool> {
        Ok(self.resolve_info()?.has_authored_value())
    }

    /// `true` when the attribute resolves a value from any source, the schema
    /// fallback included (C++ `UsdAttribute::HasValue`). A block over an
    /// attribute with no fallback leaves it with none.
    pub fn has_value(&self) -> Result<bool> {
        Ok(self.resolve_info()?.source() != ResolveInfoSource::None)
    }

    /// `true` when a layer authors the metadata field `key` on this attribute
    /// (C++ `UsdObject::HasAuthoredMetadata`). What the attribute's schema
    /// declares for the field is not an authored opinion.
    pub fn has_authored_metadata(&self, key: &str) -> Result<bool> {
        Ok(self.stage.field::<sdf::Value>(&self.path, key)?.is_some())
    }

    /// Where the value [`get`](Self::get) returns comes from, without producing
    /// it (C++ `UsdAttribute::GetResolveInfo`).
    ///
    /// Reports the *proximal* source: the one that answers without naming a
    /// time. That is not necessarily what [`get`](Self::get) returns, which
    /// resolves at the default time — use
    /// [`resolve_info_at`](Self::resolve_info_at) to ask about a specific time.
    pub fn resolve_info(&self) -> Result<ResolveInfo> {
        self.build_resolve_info(pcp::ResolveMode::Proximal)
    }

    /// Where the value at `time` comes from, without producing it.
    ///
    /// `time` is `None` for the default time — matching
    /// [`get_at`](Self::get_at) — or `Some(tc)` for a numeric one.
    pub fn resolve_info_at(&self, time: impl Into<Option<TimeCode>>) -> Result<ResolveInfo> {
        self.build_resolve_info(pcp::ResolveMode::at(time.into().map(|time| time.value())))
    }

    /// Adds the schema tier `pcp` knows nothing about to the authored source it
    /// resolved: a blocked or absent authored value falls through to the
    /// prim definition's fallback (spec §12.3.6).
    fn build_resolve_info(&self, mode: pcp::ResolveMode) -> Result<ResolveInfo> {
        let resolved = self.stage.resolve_info(&self.path, mode)?;
        let source = match resolved.source {
            pcp::ResolveSourceKind::None => match self.has_schema_fallback()? {
                true => ResolveInfoSource::Fallback,
                false => ResolveInfoSource::None,
            },
            kind => source_of(kind),
        };
        // A schema fallback and an absent value come from no composition node
        // and no spec, even when a block at one is what sent resolution there.
        let (node, spec, weaker) = match source {
            ResolveInfoSource::Fallback | ResolveInfoSource::None => (None, None, Vec::new()),
            _ => (resolved.node, resolved.spec, resolved.weaker),
        };
        // A contributor answered the same walk the reported source did, from
        // whichever tier it was found in, so each link is that much of a
        // resolve info and chains no further.
        let mut weaker: Vec<_> = weaker
            .into_iter()
            .map(|site| ResolveInfo {
                source: source_of(site.kind),
                node: Some(site.node),
                spec: site.spec,
                weaker: Vec::new(),
                composes_over_varying: false,
                value_is_blocked: false,
                has_authored_opinion: true,
            })
            .collect();
        // A composition the layer opinions left open ends at the schema tier,
        // so the fallback that closed it is the chain's last link — authored by
        // no layer, and so naming no node and no spec.
        if resolved.open && self.has_schema_fallback()? {
            weaker.push(ResolveInfo {
                source: ResolveInfoSource::Fallback,
                node: None,
                spec: None,
                weaker: Vec::new(),
                composes_over_varying: false,
                value_is_blocked: false,
                has_authored_opinion: false,
            });
        }
        Ok(ResolveInfo {
            source,
            node,
            spec,
            weaker,
            composes_over_varying: resolved.varies,
            value_is_blocked: resolved.value == pcp::ValueState::Blocked,
            has_authored_opinion: resolved.authored,
        })
    }

    /// Retrieves the composed default [`sdf::Value`] and casts it to `T` via the
    /// registered coercions ([`sdf::Value::cast`]).
    ///
    /// Unlike [`get`](Attribute::get) — a strict fetch that requires the exact
    /// held variant (`get::<String>()` reads a `Value::String` but not a
    /// `Value::Token`) — `cast` *converts* the value to `T` (numeric scalars
    /// range-checked, `token` ↔ `string`, vector/quaternion precision) and
    /// returns an error if no conversion to `T` applies. `None` when no layer
    /// authored an opinion.
    pub fn cast<T: sdf::FromValueCast>(&self) -> Result<Option<T>> {
        match self.get::<sdf::Value>()? {
            Some(value) => Ok(Some(value.cast::<T>()?)),
            None => Ok(None),
        }
    }

    /// Composed value of a generic metadata field on the attribute decoded to
    /// `T`, falling back to what the attribute's schema declares. Mirrors C++
    /// `UsdObject::GetMetadata(name, &value)`.
    ///
    /// The read counterpart of [`Attribute::set_metadata`]; used for the
    /// schema-layered fields it authors (UsdGeom's `interpolation` /
    /// `elementSize` on primvars, UsdSkel's inbetween `weight`, …). Decode to
    /// the field's type (`get_metadata::<i32>("elementSize")`) or to
    /// [`sdf::Value`] for the raw value.
    pub fn get_metadata<T>(&self, key: &str) -> Result<Option<T>>
    where
        T: TryFrom<sdf::Value>,
        T::Error: Into<crate::Error>,
    {
        // `typeName`, `variability` and `custom` each resolve by their own rule
        // rather than plain strongest-opinion composition, and reading them
        // generically has to give the same answer as the accessor that owns the
        // rule (C++ `_GetSpecialPropMetadataImpl`).
        if let Some(special) = self.special_metadata(key)? {
            return Ok(T::try_from(special).ok());
        }
        if let Some(authored) = self.stage.field::<sdf::Value>(&self.path, key)? {
            return super::decode_value(Some(authored));
        }
        // Schema metadata parses untyped, so a declaration may hold a variant
        // the caller did not ask for; that is "not declared", not an error.
        Ok(authoring::schema_property_field(&self.stage, &self.path, key)?.and_then(|value| T::try_from(value).ok()))
    }

    /// The value of a field whose resolution is not plain composition, or
    /// `None` when `key` is an ordinary metadata field.
    fn special_metadata(&self, key: &str) -> Result<Option<sdf::Value>> {
        if key == sdf::FieldKey::TypeName.as_str() {
            return Ok(self.declared_type_token()?.map(sdf::Value::Token));
        }
        if key == sdf::FieldKey::Variability.as_str() {
            return Ok(self.variability()?.map(sdf::Value::Variability));
        }
        if key == sdf::FieldKey::Custom.as_str() {
            return Ok(Some(sdf::Value::Bool(self.is_custom()?)));
        }
        Ok(None)
    }

    /// The `timeSamples` map [`get_at`](Self::get_at) resolves the value from,
    /// retimed to stage time, or `None` when the source that answers is not a
    /// `timeSamples` opinion.
    ///
    /// A winning value-clip set answers with a schedule rather than a map, so it
    /// reports `None` here; its times reach
    /// [`time_sample_times`](Self::time_sample_times).
    pub fn time_samples(&self) -> Result<Option<sdf::TimeSampleMap>> {
        self.stage.time_samples(&self.path)
    }

    /// Builds an [`AttributeQuery`] for this attribute — a cached value source
    /// for repeated time-code reads. Mirrors C++ `UsdAttributeQuery(attr)`.
    /// Prefer this over calling [`get_at`](Attribute::get_at) in a loop when
    /// sampling one attribute at many time codes, since the query resolves the
    /// value source once.
    pub fn query(&self) -> AttributeQuery {
        AttributeQuery::new(self)
    }

    /// The authored sample times in ascending order, or empty when none are
    /// authored. Mirrors C++ `UsdAttribute::GetTimeSamples`.
    ///
    /// The times belong to whichever source [`get_at`](Self::get_at) resolves
    /// the value from, retimed to stage time. A source that answers with a
    /// constant contributes none, so a `default` that hides a weaker layer's
    /// samples leaves this empty.
    pub fn time_sample_times(&self) -> Result<Vec<f64>> {
        Ok(self.stage.time_sample_times(&self.path)?.unwrap_or_default())
    }

    /// The authored sample times within `interval`, in ascending order.
    /// Mirrors C++ `UsdAttribute::GetTimeSamplesInInterval`.
    ///
    /// Each end of the interval is closed or open as the [`gf::Interval`]
    /// says, and a range converts into one: for samples authored at
    /// `{0, 5, 10}`, `time_samples_in_interval(2.0..=8.0)` returns `[5.0]`,
    /// `time_samples_in_interval(0.0..=5.0)` returns `[0.0, 5.0]`, and
    /// `time_samples_in_interval(0.0..5.0)` returns `[0.0]`.
    ///
    /// TODO(perf): the interval is applied after every sample time has been
    /// resolved. C++ `_SamplesInIntervalResolver` clips each contributing
    /// source to the interval, mapped through that source's layer offset,
    /// before gathering, and stops the walk once a source holds the sample
    /// bracketing the interval's start; carrying the interval into
    /// `IndexCache::time_sample_times` would do the same here.
    pub fn time_samples_in_interval(&self, interval: impl Into<gf::Interval>) -> Result<Vec<f64>> {
        let interval = interval.into();
        let mut times = self.time_sample_times()?;
        times.retain(|t| interval.contains(*t));
        Ok(times)
    }

    /// The authored sample times of every attribute in `attributes`, as one
    /// ascending list without repeats. Mirrors C++
    /// `UsdAttribute::GetUnionedTimeSamples`.
    ///
    /// These are the times a consumer sampling several attributes together
    /// steps through — the components of a joint transform, the ops of a
    /// transform stack. The attributes may belong to different stages.
    pub fn unioned_time_samples(attributes: &[Attribute]) -> Result<Vec<f64>> {
        Self::unioned_time_samples_in_interval(attributes, f64::NEG_INFINITY..=f64::INFINITY)
    }

    /// The authored sample times of every attribute in `attributes` within
    /// `interval`, as one ascending list without repeats. Mirrors C++
    /// `UsdAttribute::GetUnionedTimeSamplesInInterval`.
    pub fn unioned_time_samples_in_interval(
        attributes: &[Attribute],
        interval: impl Into<gf::Interval>,
    ) -> Result<Vec<f64>> {
        let interval = interval.into();
        let mut times = Vec::new();
        for attribute in attributes {
            times.extend(attribute.time_samples_in_interval(interval)?);
        }
        times.sort_by(|a, b| sdf::compare_sample_times(*a, *b));
        times.dedup_by(|a, b| sdf::compare_sample_times(*a, *b).is_eq());
        Ok(times)
    }

    /// The number of authored time samples, zero when none. Mirrors C++
    /// `UsdAttribute::GetNumTimeSamples`.
    pub fn num_time_samples(&self) -> Result<usize> {
        self.stage.num_time_samples(&self.path)
    }

    /// The pair of authored sample times bracketing `time`, or `None` when no
    /// samples are authored. Mirrors C++
    /// `UsdAttribute::GetBracketingTimeSamples`: the pair collapses to one
    /// repeated time at or beyond an end sample, or when `time` lands exactly
    /// on a sample; otherwise `lower < time < upper`. The two-sample primitive
    /// behind motion-blur and shutter sampling.
    pub fn bracketing_time_samples(&self, time: impl Into<super::TimeCode>) -> Result<Option<(f64, f64)>> {
        let time = time.into();
        let times = self.time_sample_times()?;
        Ok(interp::bracketing_time_samples(&times, time.value()))
    }

    /// `true` when the value may change over time, the fast check behind
    /// motion-blur and animation queries. Mirrors C++
    /// `UsdAttribute::ValueMightBeTimeVarying`: `true` when more than one sample
    /// is composed, and conservatively when a participating value-clip set has
    /// more than one active clip (spec 12.3.4) — those clips can each serve a
    /// different value even where the reported sample count collapses to one.
    pub fn value_might_be_time_varying(&self) -> Result<bool> {
        self.stage.value_might_be_time_varying(&self.path)
    }

    /// Every spec that authors an opinion for this attribute, strongest first,
    /// each with the cumulative layer offset that reaches it. Mirrors C++
    /// `UsdProperty::GetPropertyStack` at the default time.
    ///
    /// Meant for debugging and introspection: the makeup of a stack can itself
    /// vary with time, so a repeated value read should use
    /// [`Stage::attribute_query`](super::Stage::attribute_query) rather than a
    /// retained stack.
    pub fn property_stack(&self) -> Result<Vec<SpecSite>> {
        self.stage.property_stack(&self.path, None)
    }

    /// [`property_stack`](Self::property_stack) at a numeric time, which also
    /// lists the value-clip layer each participating clip set supplies the
    /// property from there.
    ///
    /// That clip layer is the one the value would come from: the active clip
    /// when it authors samples for the property, and the set's manifest
    /// otherwise — including where `interpolateMissingClipValues` fills the gap
    /// from surrounding clips, matching C++. Each participating set contributes
    /// one site, since a stack collects every contributor rather than stopping
    /// at the one that answers.
    ///
    /// Only offered for a numeric time: clips contribute no `default`, so the
    /// default-time stack is [`property_stack`](Self::property_stack).
    pub fn property_stack_at(&self, time: TimeCode) -> Result<Vec<SpecSite>> {
        self.stage.property_stack(&self.path, Some(time.value()))
    }

    /// Borrow the attribute spec at `self.path` on the edit target's layer,
    /// apply `f`, and return `self` for chaining. The layer records whatever
    /// fields `f` writes.
    ///
    /// When the edit target has no spec, one is stamped first from the
    /// declaration composition finds — the schema's, else the strongest
    /// authored spec's (C++ `UsdStage::_CreatePropertySpecForEditing`) — so a
    /// property that reads back a fallback can also be authored. Returns
    /// `InvalidPath` when nothing declares the attribute at all.
    fn edit<F>(self, f: F) -> Result<Self, StageAuthoringError>
    where
        F: FnOnce(&mut sdf::AttributeSpecMut<'_>) -> Result<(), StageAuthoringError>,
    {
        authoring::author::<Self>(&self.stage, &self.path, f)?;
        Ok(self)
    }

    /// Runs `f` on this attribute's spec at the edit target's layer when the
    /// layer holds one, and does nothing when it holds none: the path every
    /// clear takes, so removing an opinion never stamps a spec to remove it
    /// from. A relationship at the path is an error.
    fn edit_existing<F>(self, f: F) -> Result<Self, StageAuthoringError>
    where
        F: FnOnce(&mut sdf::AttributeSpecMut<'_>) -> Result<(), StageAuthoringError>,
    {
        authoring::edit_existing::<Self>(&self.stage, &self.path, f)?;
        Ok(self)
    }
}

/// The read phase of a value write ([`Attribute::set_at`],
/// [`Attribute::block`]), resolved before the transaction: the composed
/// declaration the value was validated against (`None` only for a block,
/// which every declaration takes), the spec plan, and the value and time
/// already mapped for the edit target. The transaction closure receives only
/// this, which is what keeps a composition query out of it.
#[derive(Debug)]
pub(super) struct AttributeAuthoringPlan {
    effective: Option<sdf::ValueTypeName>,
    ensure: authoring::EnsurePlan,
    value: sdf::Value,
    spec_time: Option<f64>,
}

impl AttributeAuthoringPlan {
    /// The write phase, inside the transaction: apply the spec plan, read the
    /// edit-target spec's own declaration fallibly (a missing `typeName` is
    /// rejected, never repaired), and unless the value is a block require it
    /// to agree with the composed declaration (§6.5.1 of the core spec).
    /// Returns the spec ready for the raw write.
    fn prepare<'a>(
        &self,
        data: &'a mut dyn sdf::AbstractData,
        path: &sdf::Path,
    ) -> Result<sdf::AttributeSpecMut<'a>, StageAuthoringError> {
        authoring::apply_plan(data, path, sdf::SpecType::Attribute, &self.ensure)?;
        let spec = sdf::AttributeSpecMut::get(data, path.clone())
            .ok_or_else(|| authoring::missing_spec(path, sdf::SpecType::Attribute))?;
        let local = spec.declared_type()?.ok_or(sdf::ValueTypeError::Empty)?;
        if let Some(effective) = &self.effective
            && !effective.agrees_with(&local)
        {
            return Err(StageAuthoringError::LocalTypeConflict(Box::new(TypeConflict {
                path: path.clone(),
                effective: effective.as_token(),
                local: local.as_token(),
            })));
        }
        Ok(spec)
    }

    /// The write itself, once [`prepare`](Self::prepare) has the spec: the
    /// default opinion, or the sample at the time the plan mapped.
    pub(super) fn write(self, data: &mut dyn sdf::AbstractData, path: &sdf::Path) -> Result<(), StageAuthoringError> {
        let mut spec = self.prepare(data, path)?;
        match self.spec_time {
            None => spec.set_default_raw(self.value),
            Some(time) => spec.set_time_sample_raw(time, self.value)?,
        }
        Ok(())
    }

    /// The block, once [`prepare`](Self::prepare) has the spec: the
    /// `timeSamples` field erased whole, without decoding the samples it
    /// discards, and `default` made a value block.
    pub(super) fn block(self, data: &mut dyn sdf::AbstractData, path: &sdf::Path) -> Result<(), StageAuthoringError> {
        let mut spec = self.prepare(data, path)?;
        spec.erase(sdf::FieldKey::TimeSamples.as_str());
        spec.set_default_raw(sdf::Value::ValueBlock);
        Ok(())
    }
}

/// Cached value query for one attribute. Mirrors C++ `UsdAttributeQuery`.
///
/// [`Attribute::get_at`] re-resolves the attribute's value source — the opinion
/// walk down the composition graph — on every call. When the same attribute is
/// sampled at many time codes (motion blur, baking, a playback scrub), an
/// `AttributeQuery` resolves that source once and replays it, so each
/// [`get_at`](AttributeQuery::get_at) is just an interpolation rather than a
/// fresh composition.
///
/// The cached source is stamped with the composed prim it was resolved from: a
/// timed [`get_at`](AttributeQuery::get_at) reuses it until an edit moves that
/// prim, at which point the next query rebuilds it — so the handle stays correct
/// across authoring without the caller re-creating it, and an edit elsewhere on
/// the stage leaves it standing.
///
/// The fast path covers attributes resolved from `default` opinions or
/// `timeSamples`. An attribute resolved through value clips (spec 12.3.4) is
/// time-dependent at the source level, so the query transparently falls back to
/// the full resolution path for it; results stay correct, without the speedup.
pub struct AttributeQuery {
    attr: Attribute,
    cached: RefCell<Option<CachedSource>>,
}

impl Clone for AttributeQuery {
    /// Clones the attribute handle but not the resolved-source memo: the clone
    /// resolves its source lazily on first use, like a fresh query.
    fn clone(&self) -> Self {
        Self::new(&self.attr)
    }
}

/// A resolved value source paired with the stamp it stays replayable under: the
/// composed prim it came from and that prim's composition revision, plus the
/// population epoch when the answer was reached through an instance-proxy
/// redirection. Stale as soon as either stops matching the stage.
struct CachedSource {
    prim: sdf::Path,
    revision: pcp::PrimRevision,
    redirect_epoch: Option<u64>,
    source: AttributeValueSource,
}

impl CachedSource {
    /// Whether the memo still describes what `stage` would resolve now: the prim
    /// it resolved from carries the same revision, and — for an answer reached
    /// by redirection — the epoch that redirection was memoized under still
    /// stands.
    ///
    /// Reads a settled stage, so the caller settles before borrowing the memo
    /// this is called on.
    fn is_current(&self, stage: &Stage) -> bool {
        let (revision, population) = stage.value_stamp(&self.prim);
        revision == Some(self.revision) && self.redirect_epoch.is_none_or(|epoch| epoch == population)
    }
}

#[cfg(test)]
impl AttributeQuery {
    /// Whether a memoized source is present and still valid — what a test asks
    /// to tell "the answer was replayed" from "the answer was recomposed", which
    /// the returned value alone cannot distinguish.
    pub(crate) fn memo_is_current(&self) -> bool {
        let stage = self.attr.stage();
        stage.process_pending();
        self.cached
            .borrow()
            .as_ref()
            .is_some_and(|cached| cached.is_current(stage))
    }
}

impl AttributeQuery {
    /// Builds a query for `attr`. The value source resolves lazily on the first
    /// timed [`get_at`](Self::get_at). Mirrors C++ `UsdAttributeQuery`'s
    /// attribute constructor.
    pub fn new(attr: &Attribute) -> Self {
        Self {
            attr: attr.clone(),
            cached: RefCell::new(None),
        }
    }

    /// The attribute this query is anchored to.
    pub fn attribute(&self) -> &Attribute {
        &self.attr
    }

    /// Composed default value decoded to `T`. The convenience spelling of
    /// `get_at(None)`; mirrors C++ `UsdAttributeQuery::Get()`.
    pub fn get<T>(&self) -> Result<Option<T>>
    where
        T: sdf::FromValue,
        T::Error: Into<crate::Error>,
    {
        self.get_at(None)
    }

    /// Composed value at `time` decoded to `T`. Mirrors C++
    /// `UsdAttributeQuery::Get(value, time)`.
    ///
    /// `time` is `None` to read the default value, or `Some(tc)` (a
    /// [`TimeCode`], which a bare `TimeCode` coerces into) to resolve a time
    /// sample under the stage's [`InterpolationType`](super::InterpolationType).
    /// A timed read reuses the cached value source; the default read delegates
    /// to the attribute, since a `default` opinion is resolved from a separate
    /// field. Both are typed as [`Attribute::get_at`] is.
    pub fn get_at<T>(&self, time: impl Into<Option<TimeCode>>) -> Result<Option<T>>
    where
        T: sdf::FromValue,
        T::Error: Into<crate::Error>,
    {
        match time.into() {
            // The untimed read goes through the attribute, which resolves the
            // `default` field and the schema fallback behind it.
            None => self.attr.get_at::<T>(None),
            Some(time) => super::decode_accepted(self.attr.finish_composition(self.value_at(time.value())?)?),
        }
    }

    /// `true` when more than one time sample is authored — the cached-source
    /// counterpart of [`Attribute::value_might_be_time_varying`]. Mirrors C++
    /// `UsdAttributeQuery::ValueMightBeTimeVarying`.
    pub fn value_might_be_time_varying(&self) -> Result<bool> {
        self.attr.value_might_be_time_varying()
    }

    /// The authored sample times in ascending order, or empty when none are
    /// authored. Mirrors C++ `UsdAttributeQuery::GetTimeSamples`.
    // TODO(perf): walks the attribute's sources again on every call. The
    // cached source already knows where the samples are, so it could answer
    // the times itself, as C++ `UsdAttributeQuery::GetTimeSamples` does from
    // its resolve info; that is what would let a consumer holding a query per
    // attribute enumerate sample times without a walk per attribute per call.
    pub fn time_sample_times(&self) -> Result<Vec<f64>> {
        self.attr.time_sample_times()
    }

    /// Resolves the value at stage `time` through the cached source, rebuilding
    /// it when the stamp it was resolved under no longer holds.
    fn value_at(&self, time: f64) -> Result<pcp::TimedValue> {
        let stage = self.attr.stage();
        // Settle before the memo is borrowed, not while: draining commits queued
        // edits and fires the stage sinks, and a sink that reads this very query
        // would find the memo already borrowed.
        stage.process_pending();

        // Reuse a cached source whose stamp still stands.
        if let Some(cached) = self.cached.borrow().as_ref()
            && cached.is_current(stage)
        {
            return self.evaluate(&cached.source, time);
        }

        // Miss: resolve the source once and evaluate it. An empty source is as
        // final as any other — a query on a `/__Prototype_N` path completes
        // stage population before it is answered
        // (`Stage::resolve_prototype_path`), so nothing composes into that
        // namespace afterwards without an edit.
        let resolved = stage.resolve_value_source(self.attr.path())?;
        let value = self.evaluate(&resolved.source, time)?;
        // The stamp travels with the source out of the resolving borrow, so an
        // edit a sink authored while the pending queue drained cannot slip
        // between the answer and the token guarding it. Without a stamp — no
        // index is cached at the answering prim, so nothing can say when the
        // answer expires — the source is used once and not memoized.
        if let Some(revision) = resolved.revision {
            self.cached.replace(Some(CachedSource {
                prim: resolved.prim,
                revision,
                redirect_epoch: resolved.redirect_epoch,
                source: resolved.source,
            }));
        }
        Ok(value)
    }

    /// Evaluates an already-resolved value source at stage `time`.
    fn evaluate(&self, source: &AttributeValueSource, time: f64) -> Result<pcp::TimedValue> {
        let stage = self.attr.stage();
        match source {
            AttributeValueSource::Static(value) => Ok(match value {
                Some(value) => pcp::TimedValue::Value(value.clone()),
                None => pcp::TimedValue::Fallback,
            }),
            AttributeValueSource::TimeSamples { samples, offset, site } => {
                // The map answers even where its sample is blocked, so a missing
                // value is withheld, not unauthored.
                let Some(value) = offset.sample_in_stage_time(samples, time, |map, layer_time| {
                    interp::evaluate(map, layer_time, stage.interpolation_type())
                }) else {
                    return Ok(pcp::TimedValue::NoValue);
                };
                // Only the interpolated result is anchored and evaluated, not
                // the held map: resolving every sample here would report a
                // malformed expression authored at a time this read never
                // selected. A non-asset value skips the cache borrow entirely,
                // which is what keeps an ordinary animated read off this path.
                if !value.is_asset_valued() {
                    return Ok(pcp::TimedValue::Value(value));
                }
                // `with_cache` takes an `FnMut`, so the closure cannot consume
                // `value`.
                let resolved = stage.with_cache(|g, c| Ok(c.resolve_asset_values(g, value.clone(), Some(site))))?;
                Ok(pcp::TimedValue::Value(resolved))
            }
            AttributeValueSource::PerTime => stage.resolve_at(self.attr.path(), Some(time), None),
        }
    }
}

/// The public source for a tier the shared walk resolves from, and `None`
/// where it found none.
///
/// The schema fallback is not one of them: it is the tier `usd` adds under the
/// layers, and only [`Attribute::build_resolve_info`] knows when it answered.
fn source_of(kind: pcp::ResolveSourceKind) -> ResolveInfoSource {
    match kind {
        pcp::ResolveSourceKind::Default => ResolveInfoSource::Default,
        pcp::ResolveSourceKind::TimeSamples => ResolveInfoSource::TimeSamples,
        pcp::ResolveSourceKind::ValueClips => ResolveInfoSource::ValueClips,
        pcp::ResolveSourceKind::None => ResolveInfoSource::None,
    }
}
