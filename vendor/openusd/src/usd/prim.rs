//! Stage-composed prim handle — a value-type wrapper around `(stage, path)`
//! that mirrors C++ `UsdPrim`, plus the [`VariantSets`] handle reached through
//! it. The property handles it returns, [`Attribute`] and [`Relationship`],
//! live in sibling modules.
//!
//! Each handle is freely [`Clone`], holds no borrow on the composition
//! cache, and re-acquires state from the [`Stage`] per call. They are
//! returned by [`Stage`]'s authoring methods so callers can chain
//! composed-scene edits without dropping to the Sdf tier.
//!
//! # Fluent setters
//!
//! Setters take `self` by value and return `Self`. Chaining writes is a
//! single statement that ends with the final handle bound:
//!
//! ```no_run
//! use openusd::{sdf, usd};
//!
//! let stage = usd::Stage::builder().in_memory("anon.usda").unwrap();
//! let mesh = stage
//!     .define_prim("/World/Mesh").unwrap()
//!     .set_type_name("Mesh").unwrap()
//!     .set_kind("component").unwrap();
//! let radius = mesh
//!     .create_attribute("radius", "double").unwrap()
//!     .set(sdf::Value::Double(1.0)).unwrap();
//! # let _ = radius;
//! ```
//!
//! Each setter does its own short `borrow_mut` on the composition cache and
//! routes invalidation through [`crate::pcp::Changes`], so only the prim
//! indices observably affected by the write are dropped.

use std::collections::HashSet;
use std::sync::Arc;

use super::{
    ApplyApiError, Attribute, EditTarget, EditTargetArc, LoadPolicy, PrimDefinition, PrimStatus, PrimTypeInfo,
    Relationship, SchemaRegistry, SpecSite, Stage, StageAuthoringError, VersionFilter,
};
use crate::tf::Token;
use crate::{Result, pcp, sdf};

/// Which property names [`Prim::properties_of_type`] walks, and whether a
/// schema declaration may answer for a name no layer authors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PropertySource {
    /// Every composed property name. A name with no composed spec is one only
    /// a schema declares, so the declaration decides its kind.
    Composed,
    /// Only the names layers author, each classified by its composed spec.
    Authored,
}

/// Stage-composed prim handle. Mirrors C++ `UsdPrim`.
///
/// Two handles are equal when they name the same path on the same stage
/// instance, as C++ `UsdPrim`s compare, so a prim works as a key across
/// stages. An instance proxy is its own path in the instance's namespace, so
/// the proxies of one prototype prim are distinct keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prim {
    stage: Stage,
    path: sdf::Path,
}

impl Prim {
    pub(crate) fn new(stage: &Stage, path: sdf::Path) -> Self {
        Self {
            stage: stage.clone(),
            path,
        }
    }

    /// Composed namespace path of the prim.
    pub fn path(&self) -> &sdf::Path {
        &self.path
    }

    /// The prim's namespace parent on the same stage, or `None` for the
    /// pseudo-root. Mirrors C++ `UsdPrim::GetParent`. The parent of an
    /// instance proxy is the next prim up in the instance's namespace.
    pub fn parent(&self) -> Option<Prim> {
        self.path.parent().map(|path| Prim::new(&self.stage, path))
    }

    /// The stage this handle is anchored to.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Edit target that authors into the source layer of this prim's strongest
    /// `arc` composition arc (C++ `UsdEditTarget(UsdPrim, ...)`). Delegates to
    /// [`Stage::edit_target_for_node`](Stage::edit_target_for_node).
    pub fn edit_target_for_arc(&self, arc: EditTargetArc) -> Result<EditTarget, StageAuthoringError> {
        self.stage.edit_target_for_node(&self.path, arc)
    }

    /// Set the prim's `typeName` field on the edit target's layer.
    pub fn set_type_name(self, name: impl Into<String>) -> Result<Self, StageAuthoringError> {
        let name = name.into();
        self.edit(|spec| {
            spec.set_type_name(name);
            Ok(())
        })
    }

    /// Set the prim's `active` flag.
    pub fn set_active(self, active: bool) -> Result<Self, StageAuthoringError> {
        self.edit(|spec| {
            spec.set_active(active);
            Ok(())
        })
    }

    /// Set the prim's `kind` metadata.
    pub fn set_kind(self, kind: impl Into<String>) -> Result<Self, StageAuthoringError> {
        let kind = kind.into();
        self.edit(|spec| {
            spec.set_kind(kind);
            Ok(())
        })
    }

    /// Set the prim's `hidden` flag.
    pub fn set_hidden(self, hidden: bool) -> Result<Self, StageAuthoringError> {
        self.edit(|spec| {
            spec.set_hidden(hidden);
            Ok(())
        })
    }

    /// Set the prim's `instanceable` flag.
    pub fn set_instanceable(self, instanceable: bool) -> Result<Self, StageAuthoringError> {
        self.edit(|spec| {
            spec.set_instanceable(instanceable);
            Ok(())
        })
    }

    /// Add an applied API schema name to this prim's `apiSchemas` metadata.
    ///
    /// This is the registry-free authoring operation behind C++
    /// `UsdPrim::AddAppliedSchema`: it edits the current edit target's
    /// `apiSchemas` list op in place rather than replacing existing list-op
    /// opinions, and authors `name` whatever it is. Reach for
    /// [`apply_api`](Self::apply_api) to have the registry check it first.
    ///
    /// The prim must exist on the stage: a handle for a path nothing defines
    /// is rejected as [`StageAuthoringError::PrimNotValid`], so applying never
    /// conjures a prim. The `over` carrying the opinion is authored on the
    /// edit target when the target holds no spec for the prim, as C++
    /// `_CreatePrimSpecForEditing` does, so a prim defined only on a weaker
    /// layer takes the opinion on the current target.
    pub fn add_applied_schema(self, name: impl Into<String>) -> Result<Self, StageAuthoringError> {
        let name = name.into();
        self.edit(|spec| {
            spec.add_applied_schema(name)?;
            Ok(())
        })
    }

    /// Apply an API schema to this prim, checking it against the registry
    /// first. Mirrors C++ `UsdPrim::ApplyAPI` (`_ApplySingleApplyAPI` /
    /// `_ApplyMultipleApplyAPI`).
    ///
    /// `name` carries the instance for a multiple-apply schema, as it does
    /// everywhere else applied names appear (`CollectionAPI:render`). The check
    /// is the one C++ makes here: the schema must be an applied API schema, and
    /// must be given an instance name exactly when it is multiple-apply. The
    /// restrictions a schema places on *where* it may be applied are advisory
    /// and are not enforced — ask [`can_apply_api`](Self::can_apply_api) for
    /// those.
    ///
    /// A name the registry does not know carries no rules to break, so it is
    /// authored as-is; that is what keeps applying schemas working while no
    /// schema data is registered. The authoring itself, including the prim
    /// validity it demands, is
    /// [`add_applied_schema`](Self::add_applied_schema).
    pub fn apply_api(self, name: impl Into<Token>) -> Result<Self, StageAuthoringError> {
        let name = name.into();
        self.stage.schema_registry().check_applied_name(&name)?;
        self.add_applied_schema(name)
    }

    /// Whether [`apply_api`](Self::apply_api) would be accepted, and the whole
    /// of what the schema demands besides. Mirrors C++ `UsdPrim::CanApplyAPI`,
    /// whose `whyNot` this returns as the error.
    ///
    /// Beyond the shape `apply_api` enforces, this honours the prim itself and
    /// the restrictions a schema declares: the instance names a multiple-apply
    /// schema allows, and the prim types `apiSchemaCanOnlyApplyTo` limits it
    /// to — the latter satisfied by a type that derives from one of them,
    /// through [`is_a`](Self::is_a).
    pub fn can_apply_api(&self, name: impl Into<Token>) -> Result<(), ApplyApiError> {
        let name = name.into();
        let registry = self.stage.schema_registry();
        let checked = registry.check_applied_name(&name)?;
        // The `IsValid()` gate of C++ `_CanApplySingleApplyAPI` /
        // `_CanApplyMultipleApplyAPI`, reported as the `whyNot` it is.
        if !self.stage.has_spec(&self.path)? {
            return Err(ApplyApiError::PrimNotValid {
                path: self.path.clone(),
            });
        }
        let Some((info, instance)) = checked else {
            return Ok(());
        };
        let schema = info.identifier();
        let allowed = info.can_only_apply_to(instance.as_ref());

        if let Some(instance) = instance
            && !registry.is_allowed_instance_name(schema, &instance)
        {
            return Err(ApplyApiError::InstanceNameNotAllowed {
                schema: schema.clone(),
                instance,
            });
        }

        if !allowed.is_empty() {
            // The prim's type answers for every candidate, so it is resolved
            // before the scan.
            let type_info = self.stage.prim_type_info_composed(&self.path)?;
            if !allowed.iter().any(|t| registry.is_a(type_info.schema_type_name(), t)) {
                return Err(ApplyApiError::PrimTypeNotAllowed {
                    schema: name,
                    allowed: allowed.to_vec(),
                });
            }
        }
        Ok(())
    }

    /// Composed value of a prim-level metadata field decoded to `T`, falling
    /// back to what the prim's schemas declare. Mirrors C++
    /// `UsdObject::GetMetadata(name, &value)` for a prim.
    ///
    /// The read counterpart of [`set_metadata`](Self::set_metadata), and the
    /// prim-level sibling of [`Attribute::get_metadata`]. Decode to the field's
    /// type (`get_metadata::<String>("documentation")`) or to [`sdf::Value`]
    /// for the raw value. Dictionary-valued fields come back merged key-by-key
    /// across layers, as value resolution composes them (spec 12.2.5).
    ///
    /// A field the accessors resolve by their own rule rather than plain
    /// composition — `kind`, `specifier`, `typeName` — is better read through
    /// that accessor ([`kind`](Self::kind) and friends), which tolerates an
    /// authored value of the wrong type where a generic decode reports it.
    ///
    /// TODO: a schema-declared dictionary should compose *under* the authored
    /// one (C++ `VtDictionaryOver`) rather than being shadowed by it; the same
    /// generalization is missing from [`Attribute::get_metadata`].
    pub fn get_metadata<T>(&self, key: &str) -> Result<Option<T>>
    where
        T: TryFrom<sdf::Value>,
        T::Error: Into<crate::Error>,
    {
        if let Some(authored) = self.stage.field::<sdf::Value>(&self.path, key)? {
            return super::decode_value(Some(authored));
        }
        // Schema metadata parses untyped, so a declaration may hold a variant
        // the caller did not ask for; that is "not declared", not an error.
        let definition = self.prim_definition()?;
        Ok(definition
            .metadata(key)
            .cloned()
            .and_then(|value| T::try_from(value).ok()))
    }

    /// Author a prim-level metadata field (e.g. `assetInfo`, `customData`,
    /// `kind`). Mirrors C++ `UsdObject::SetMetadata` for a prim.
    ///
    /// `key` is `&'static str` so the change-tracking layer can record it
    /// without copying; pass a `pub const FOO: &str = "..."` token rather than
    /// a runtime-built string.
    ///
    /// `value` is in stage time, so any `timecode` it holds is mapped into the
    /// edit target's own time frame (C++ `_StageValueToFieldXf`).
    pub fn set_metadata(self, key: &'static str, value: impl Into<sdf::Value>) -> Result<Self, StageAuthoringError> {
        let value = self.stage.map_to_spec_value(&self.path, value);
        self.update_metadata(key, |_| Some(value))
    }

    /// Remove a prim-level metadata field's opinion from the edit-target layer.
    /// Mirrors C++ `UsdObject::ClearMetadata` for a prim.
    ///
    /// Only the local opinion goes away; one on a weaker layer still composes.
    pub fn clear_metadata(self, key: &'static str) -> Result<Self, StageAuthoringError> {
        self.update_metadata(key, |_| None)
    }

    /// Read-modify-write a prim-level metadata field on the edit-target layer.
    /// `f` receives the field's current opinion on that layer (`None` when it
    /// is unauthored locally) and returns the value to author, or `None` to
    /// remove the local opinion.
    ///
    /// Reading the local opinion rather than the composed value keeps opinions
    /// on weaker layers from being flattened into the edit target. This matters
    /// for dictionary-valued metadata such as `assetInfo` / `customData`, which
    /// value resolution merges key-by-key across layers (spec 12.2.5): a caller
    /// that merges one nested key should leave the rest to composition.
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
        super::authoring::check_reserved(sdf::SpecType::Prim, key)?;
        // The local opinion is read, and `f` decided, ahead of any transaction:
        // only a write needs a prim to author against, and only a write
        // composes to find one.
        let local = self.stage.local_field(&self.path, key)?;
        let Some(value) = f(local) else {
            // Erasing reaches only a prim spec this layer already holds, so a
            // prim it says nothing about stays absent from it — and the
            // pseudo-root, whose fields are the layer's own metadata rather
            // than any prim's, is no more clearable here than it is
            // authorable.
            self.stage.with_target_layer_at(&self.path, |layer, path| {
                if let Some(mut spec) = sdf::PrimSpecMut::get(layer.data_mut(), path) {
                    spec.erase(key);
                }
                Ok(())
            })?;
            return Ok(self);
        };
        self.edit(|spec| {
            spec.set(key, value);
            Ok(())
        })
    }

    /// Author an attribute spec named `name` under this prim (C++
    /// `UsdPrim::CreateAttribute`); see [`Stage::create_attribute`] for the
    /// contract, under which `type_name`, `variability = Varying` and
    /// `custom = true` apply only to an attribute nothing declares yet. To say
    /// something else, take an [`attribute_builder`](Self::attribute_builder).
    /// A prim nothing composes is [`StageAuthoringError::PrimNotValid`], so the
    /// property never conjures its prim.
    pub fn create_attribute(
        &self,
        name: impl Into<Token>,
        type_name: impl Into<sdf::ValueTypeName>,
    ) -> Result<Attribute, StageAuthoringError> {
        self.attribute_builder(name, type_name).build()
    }

    /// The same authoring, with what the attribute is declared as — and the
    /// value it starts with — left to the caller. Everything the builder
    /// carries is authored as one edit of the target layer.
    pub fn attribute_builder(
        &self,
        name: impl Into<Token>,
        type_name: impl Into<sdf::ValueTypeName>,
    ) -> super::AttributeBuilder<'static> {
        super::AttributeBuilder::new(self.property_target(name.into()), type_name.into())
    }

    /// Author a relationship spec named `name` under this prim (C++
    /// `UsdPrim::CreateRelationship`), under the same prim-validity rule as
    /// [`create_attribute`](Self::create_attribute).
    pub fn create_relationship(&self, name: impl Into<Token>) -> Result<Relationship, StageAuthoringError> {
        self.relationship_builder(name).build()
    }

    /// The same authoring, with the declaration left to the caller.
    pub fn relationship_builder(&self, name: impl Into<Token>) -> super::RelationshipBuilder<'static> {
        super::RelationshipBuilder::new(self.property_target(name.into()))
    }

    /// Where a property named `name` on this prim would be authored: the stage
    /// and the path, or what naming them hit.
    ///
    /// A builder carries the failure rather than reporting it, so that naming
    /// a property and declaring it read as one expression.
    fn property_target(&self, name: Token) -> Result<(Stage, sdf::Path), StageAuthoringError> {
        let path = self.path.append_property(&name)?;
        self.require_valid()?;
        Ok((self.stage.clone(), path))
    }

    /// Author a relationship `name` with the given target paths, declared
    /// `custom = false` as a schema's own property is where nothing else
    /// declares it. Declaration and targets reach the stage as one edit.
    pub fn author_relationship_targets(
        &self,
        name: &str,
        targets: impl IntoIterator<Item: sdf::IntoPath>,
    ) -> Result<Relationship, StageAuthoringError> {
        self.relationship_builder(name)
            .custom(false)
            .set_targets(targets)
            .build()
    }

    /// Append `value` to the `uniform token[]` attribute named `name` on this
    /// prim, preserving insertion order. Reads the composed default across
    /// layers (so weaker-layer opinions get materialised into the edit target's
    /// new value), de-duplicates, and writes back via `create_attribute`.
    ///
    /// Returns `true` when `value` was appended, `false` when it was already
    /// present (or the attribute is bound to a non-token-array variant that
    /// can't be flattened).
    ///
    /// Useful for ordered token stacks like `xformOpOrder` or `apiSchemas`.
    pub fn append_to_uniform_token_array(&self, name: &str, value: impl Into<String>) -> Result<bool> {
        let value = value.into();
        let attr_path = self.path.append_property(name)?;
        self.require_valid()?;
        let existing: Vec<String> = match self.stage.field::<sdf::Value>(&attr_path, sdf::FieldKey::Default)? {
            Some(sdf::Value::TokenVec(v)) => v.into_iter().map(Into::into).collect(),
            Some(sdf::Value::StringVec(v)) => v,
            Some(sdf::Value::TokenListOp(op)) => op.flatten().into_iter().map(Into::into).collect(),
            Some(sdf::Value::StringListOp(op)) => op.flatten(),
            _ => Vec::new(),
        };
        if existing.iter().any(|t| t == &value) {
            return Ok(false);
        }
        let mut updated = existing;
        updated.push(value);
        self.stage
            .attribute_builder(attr_path, "token[]")
            .custom(false)
            .variability(sdf::Variability::Uniform)
            .set(sdf::Value::token_vec(updated))
            .build()?;
        Ok(true)
    }

    /// Names of the value-clip sets composed onto this prim, sorted by name
    /// (spec 12.3.4, C++ `clipSetNames`). Reads the composed `clips`
    /// dictionary across layers; returns an empty vector when none are
    /// authored.
    ///
    /// This is read-only introspection — clip values are resolved through
    /// [`Attribute::get_at`]. The strength order the `clipSets` list-op
    /// carries is [`ClipsAPI::clip_sets`](super::ClipsAPI::clip_sets), and is
    /// not applied to these names.
    pub fn clip_set_names(&self) -> Result<Vec<String>> {
        let Some(sdf::Value::Dictionary(sets)) = self.stage.field::<sdf::Value>(&self.path, sdf::FieldKey::Clips)?
        else {
            return Ok(Vec::new());
        };
        let mut names: Vec<String> = sets.into_keys().collect();
        names.sort();
        Ok(names)
    }

    /// Returns `true` when one or more value-clip sets are composed onto this
    /// prim (spec 12.3.4).
    pub fn has_clips(&self) -> Result<bool> {
        Ok(!self.clip_set_names()?.is_empty())
    }

    /// Composed `typeName`, if set. Mirrors C++ `UsdPrim::GetTypeName`.
    ///
    /// `typeName` is a token; a value of any other type is treated as untyped
    /// (`None`), matching C++ reading the field as an empty `TfToken`.
    pub fn type_name(&self) -> Result<Option<Token>> {
        Ok(self.type_name_composed()?)
    }

    /// [`type_name`](Self::type_name) at the composition tier, for the type
    /// resolution that folds the failure into its own error.
    pub(crate) fn type_name_composed(&self) -> Result<Option<Token>, pcp::QueryError> {
        Ok(self
            .stage
            .field::<sdf::Value>(&self.path, sdf::FieldKey::TypeName)?
            .and_then(|v| v.try_as_token()))
    }

    /// Composed specifier, if one resolves. Mirrors C++ `UsdPrim::GetSpecifier`.
    pub fn specifier(&self) -> Result<Option<sdf::Specifier>> {
        Ok(self
            .stage
            .field::<sdf::Specifier>(&self.path, sdf::FieldKey::Specifier)?)
    }

    /// Composed `kind` metadata, if authored. Mirrors C++ `UsdPrim::GetKind`.
    ///
    /// `kind` is a token; a value of any other type is treated as unauthored
    /// (`None`), matching C++ reading the field as an empty `TfToken`.
    pub fn kind(&self) -> Result<Option<Token>> {
        Ok(self
            .stage
            .field::<sdf::Value>(&self.path, sdf::FieldKey::Kind)?
            .and_then(|v| v.try_as_token()))
    }

    /// Returns this prim's composed `customData` dictionary, if authored.
    /// Mirrors C++ `UsdObject::GetCustomData`.
    pub fn custom_data(&self) -> Result<Option<sdf::Value>> {
        Ok(self.stage.field::<sdf::Value>(&self.path, sdf::FieldKey::CustomData)?)
    }

    /// The API schemas that apply to this prim, strongest first. Mirrors C++
    /// `UsdPrim::GetAppliedSchemas`.
    ///
    /// This is the prim definition's list, so it includes the schemas a typed
    /// schema or an applied schema builds in, not only the ones authored in
    /// `apiSchemas`. Multi-apply instances appear as-is (e.g.
    /// `PhysicsLimitAPI:rotZ`). Use
    /// [`authored_api_schemas`](Self::authored_api_schemas) for the authored
    /// list alone.
    pub fn api_schemas(&self) -> Result<Vec<Token>> {
        let info = self.prim_type_info()?;
        let mut names = info.prim_definition().applied_api_schemas().to_vec();

        // An authored name the registry does not know composes into no
        // definition, but it is still what the prim asks for. Reporting it
        // keeps the answer from depending on how much of the scene's schema
        // data this build happens to have: C++ drops such a name, which it can
        // afford because its registry is always fully populated.
        // TODO(perf): both lists come off one `PrimTypeInfo`, which every prim
        // of this identity shares, so the union could be composed once there
        // and handed back as a slice rather than rebuilt on each call.
        let composed: HashSet<&Token> = names.iter().collect();
        let unknown: Vec<Token> = info
            .id()
            .applied_api_schemas()
            .iter()
            .filter(|name| !composed.contains(*name))
            .cloned()
            .collect();

        names.extend(unknown);
        Ok(names)
    }

    /// The instance names of every application of `schema` to this prim, in
    /// the order [`api_schemas`](Self::api_schemas) reports them: a prim
    /// carrying `CollectionAPI:render` and `CollectionAPI:proxy` answers
    /// `render` and `proxy` for `CollectionAPI`. `schema` is a bare schema
    /// identifier, so an instance-qualified name matches nothing.
    ///
    /// An application naming no instance contributes nothing, so a
    /// single-apply schema answers empty. C++
    /// `UsdAPISchemaBase::_GetMultipleApplyInstanceNames` reports an empty
    /// instance name for one instead, which here would name a view whose
    /// properties resolve under no instance at all.
    // TODO: C++ keeps that function on `UsdAPISchemaBase` as a protected static
    // keyed by the schema's own type, which the faithful home here would mirror
    // as a provided method on the `APISchemaBase` trait over a schema-identifier
    // const on `SchemaBase` — retiring the identifier the emitter threads
    // through every generated view, and with it the chance of pairing a view
    // with the wrong constant.
    pub fn api_schema_instance_names(&self, schema: &str) -> Result<Vec<Token>> {
        Ok(self
            .api_schemas()?
            .iter()
            .filter_map(|applied| {
                let instance = applied.strip_prefix(schema)?.strip_prefix(':')?;
                (!instance.is_empty()).then(|| Token::from(instance))
            })
            .collect())
    }

    /// The prim's composed `apiSchemas` list op, flattened across all
    /// contributing opinions. Mirrors C++ `UsdPrim::GetAppliedSchemas` before
    /// the prim definition folds in built-ins.
    pub fn authored_api_schemas(&self) -> Result<Vec<Token>> {
        Ok(self.authored_api_schemas_composed()?)
    }

    /// [`authored_api_schemas`](Self::authored_api_schemas) at the composition
    /// tier, for the type resolution that folds the failure into its own error.
    pub(crate) fn authored_api_schemas_composed(&self) -> Result<Vec<Token>, pcp::QueryError> {
        self.stage
            .masked_opinions(&self.path, |g, cache| cache.api_schemas(g, &self.path))
    }

    /// `true` when this prim's type is `schema`, or derives from it. Mirrors
    /// C++ `UsdPrim::IsA`.
    ///
    /// Derivation is read from the stage's
    /// [`SchemaRegistry`](super::SchemaRegistry), so a query against an
    /// abstract ancestor (`Boundable`, `Imageable`) answers for the concrete
    /// types under it, and a type resolved through `fallbackPrimTypes` answers
    /// for the type it resolved to.
    ///
    /// The question is asked of the prim's schema type, which is empty unless a
    /// registered type backs it. So a prim whose `typeName` this registry does
    /// not know is nothing — including the very name it authors.
    pub fn is_a(&self, schema: impl Into<Token>) -> Result<bool> {
        let info = self.prim_type_info()?;
        Ok(self
            .stage
            .schema_registry()
            .is_a(info.schema_type_name(), &schema.into()))
    }

    /// `true` when `name` is in the prim's composed `apiSchemas` (pass the full
    /// instance name for multi-apply schemas). Mirrors C++ `UsdPrim::HasAPI`.
    pub fn has_api_schema(&self, name: impl Into<Token>) -> Result<bool> {
        let name = name.into();
        Ok(self.api_schemas()?.iter().any(|s| s.as_str() == name.as_str()))
    }

    /// The registered concrete schema backing this prim's type, or `None` when
    /// none does.
    ///
    /// `None` covers every prim while the stage's registry carries no schema
    /// data, a `typeName` that registry has never heard of, and a `typeName`
    /// naming an abstract schema — only a concrete type backs a prim, so only
    /// one is reported here.
    ///
    /// Deriving the type costs composed reads, so a registry with nothing in it
    /// answers `None` without paying them.
    pub fn schema_type(&self) -> Result<Option<Token>> {
        if self.stage.schema_registry().is_empty() {
            return Ok(None);
        }
        let schema_type = self.prim_type_info()?.schema_type_name().clone();
        Ok(Some(schema_type).filter(|name| !name.as_str().is_empty()))
    }

    /// Whether this prim is any version of `family` that `filter` accepts.
    /// Mirrors C++ `UsdPrim::IsInFamily`.
    ///
    /// This is [`is_a`](Self::is_a) asked of a whole family rather than one
    /// identifier, so a caller does not have to name every version a schema has
    /// shipped under (`DomeLight`, `DomeLight_1`, …).
    pub fn is_in_family(&self, family: impl Into<Token>, filter: VersionFilter) -> Result<bool> {
        Ok(self.version_in_family(family, filter)?.is_some())
    }

    /// The version of `family` this prim is, or `None` when it is none of them.
    /// Mirrors C++ `UsdPrim::GetVersionIfIsInFamily`.
    ///
    /// `family` names a family, not a schema: `DomeLight_1` is an identifier
    /// within the `DomeLight` family and places a prim in no family of its own,
    /// exactly as C++'s family-taking overload treats it.
    ///
    /// The newest accepted version the prim satisfies wins, which is the order
    /// [`SchemaRegistry::schema_infos_in_family`](super::SchemaRegistry::schema_infos_in_family)
    /// answers in.
    pub fn version_in_family(&self, family: impl Into<Token>, filter: VersionFilter) -> Result<Option<u32>> {
        let family = family.into();
        let registry = self.stage.schema_registry();
        if let Some(schema_type) = self.schema_type()? {
            return Ok(registry.version_in_family(&schema_type, &family, filter));
        }

        // No registered schema backs the type, so the name it authors is all
        // there is to place it by — the arm that resolves a versioned family
        // while no schema data is registered.
        let Some((authored_family, version)) = self
            .type_name()?
            .as_ref()
            .and_then(SchemaRegistry::parse_allowed_identifier)
        else {
            return Ok(None);
        };
        Ok((authored_family == family && filter.accepts(version)).then_some(version))
    }

    /// Whether this prim has any version of the applied API schema `family`
    /// that `filter` accepts. Mirrors C++ `UsdPrim::HasAPIInFamily`.
    ///
    /// `instance` narrows a multiple-apply schema to one instance; without it
    /// any instance counts, as C++ matching on the `Schema:` prefix does.
    pub fn has_api_in_family(
        &self,
        family: impl Into<Token>,
        filter: VersionFilter,
        instance: Option<&Token>,
    ) -> Result<bool> {
        Ok(self.api_version_in_family(family, filter, instance)?.is_some())
    }

    /// The version of the applied API schema `family` this prim has, or `None`.
    /// Mirrors C++ `UsdPrim::GetVersionIfHasAPIInFamily`.
    ///
    /// A registered schema answers from the composed prim definition, so the
    /// version reported is the one that actually contributes properties rather
    /// than every version the prim names. A name no registered schema backs was
    /// never composed at all, so it answers from what the prim authors, under
    /// the family its own name gives it.
    ///
    /// `family` names a family, not a schema, as it does for
    /// [`version_in_family`](Self::version_in_family).
    pub fn api_version_in_family(
        &self,
        family: impl Into<Token>,
        filter: VersionFilter,
        instance: Option<&Token>,
    ) -> Result<Option<u32>> {
        let family = family.into();
        let registry = self.stage.schema_registry();
        let type_info = self.prim_type_info()?;

        // A version composition rejected — one conflicting with a stronger
        // built-in of the same family — is absent from the definition's list
        // (C++ `GetAppliedSchemas`).
        let composed = type_info
            .prim_definition()
            .applied_api_schemas()
            .iter()
            .filter_map(|name| {
                let (info, applied_instance) = registry.check_applied_name(name).ok().flatten()?;
                Some((info.family().clone(), info.version(), applied_instance))
            });

        let unregistered = type_info.id().applied_api_schemas().iter().filter_map(|name| {
            let (schema, applied_instance) = SchemaRegistry::type_name_and_instance(name);
            if registry.schema_info(&schema).is_some() {
                return None;
            }
            let (schema_family, version) = SchemaRegistry::parse_allowed_identifier(&schema)?;
            Some((schema_family, version, applied_instance))
        });

        // The newest accepted version among the matches answers.
        Ok(composed
            .chain(unregistered)
            .filter(|(schema_family, version, applied_instance)| {
                schema_family == &family
                    && filter.accepts(*version)
                    && instance.is_none_or(|wanted| applied_instance.as_ref() == Some(wanted))
            })
            .map(|(_, version, _)| version)
            .max())
    }

    /// The prim's schema type — its composed `typeName` and `apiSchemas`, and
    /// the definition they compose to. Mirrors C++ `UsdPrim::GetPrimTypeInfo`.
    ///
    /// Shared with every prim of the same type, and valid for as long as the
    /// stage's [`SchemaRegistry`](super::SchemaRegistry) lives.
    pub fn prim_type_info(&self) -> Result<Arc<PrimTypeInfo>> {
        self.stage.prim_type_info(&self.path)
    }

    /// What this prim's schemas declare: their properties, and the fallback
    /// values those properties take when nothing is authored. Mirrors C++
    /// `UsdPrim::GetPrimDefinition`.
    pub fn prim_definition(&self) -> Result<Arc<PrimDefinition>> {
        Ok(self.prim_type_info()?.prim_definition().clone())
    }

    /// `true` if the prim and all ancestors are active. Missing `active`
    /// opinions default to `true` and a non-existent prim is inactive, mirroring
    /// C++ `UsdPrim::IsActive`. A prim the population mask excludes, or one
    /// below an inactive prim, is not on this stage at all, and reads back as
    /// the gate's "no answer" value, which
    /// for a `bool` query is `false` — ask [`is_valid`](Self::is_valid) to tell
    /// the two apart.
    pub fn is_active(&self) -> Result<bool> {
        Ok(self
            .stage
            .masked(&self.path, |g, cache| cache.is_active(g, &self.path))?)
    }

    /// Composed `instanceable` flag (spec 11.3.1). Mirrors C++
    /// `UsdPrim::IsInstanceable`; an unauthored flag resolves to `false`.
    pub fn is_instanceable(&self) -> Result<bool> {
        Ok(self
            .stage
            .field::<bool>(&self.path, sdf::FieldKey::Instanceable)?
            .unwrap_or(false))
    }

    /// `true` if the prim is loaded — active, and no payload-carrying prim at
    /// or above it (per the stage's runtime load rules) is excluded. Mirrors
    /// C++ `UsdPrim::IsLoaded`.
    pub fn is_loaded(&self) -> Result<bool> {
        Ok(self
            .stage
            .prim_status_masked(&self.path, PrimStatus::LOADED)?
            .contains(PrimStatus::LOADED))
    }

    /// Loads this prim's payload, its ancestors', and — under
    /// [`LoadPolicy::WithDescendants`] — every descendant's (C++
    /// `UsdPrim::Load`).
    ///
    /// A prim inside a `/__Prototype_N` prototype namespace is silently
    /// ignored; see [`Stage::load`].
    pub fn load(&self, policy: LoadPolicy) {
        self.stage.load_path(&self.path, policy);
    }

    /// Unloads this prim's payload and everything beneath it (C++
    /// `UsdPrim::Unload`). Same prototype-namespace leniency as
    /// [`load`](Self::load).
    pub fn unload(&self) {
        self.stage.unload_path(&self.path);
    }

    /// `true` if the prim and all ancestors have defining specifiers (`def` or
    /// `class`). `over`, missing specs, and missing specifier opinions are not
    /// defining. Mirrors C++ `UsdPrim::IsDefined`.
    pub fn is_defined(&self) -> Result<bool> {
        Ok(self
            .stage
            .prim_status_masked(&self.path, PrimStatus::DEFINED)?
            .contains(PrimStatus::DEFINED))
    }

    /// `true` if the prim or any ancestor resolves to `class`. Mirrors C++
    /// `UsdPrim::IsAbstract`.
    pub fn is_abstract(&self) -> Result<bool> {
        Ok(self
            .stage
            .prim_status_masked(&self.path, PrimStatus::ABSTRACT)?
            .contains(PrimStatus::ABSTRACT))
    }

    /// `true` if the prim index contains at least one composition arc.
    pub fn has_composition_arc(&self) -> Result<bool> {
        Ok(self
            .stage
            .masked_opinions(&self.path, |g, cache| cache.has_composition_arc(g, &self.path))?)
    }

    /// `true` if this prim is an instance (spec 11.3.3): `instanceable` resolves
    /// true and the prim has a composition arc. Mirrors C++ `UsdPrim::IsInstance`.
    ///
    /// A `/__Prototype_N` root is never an instance even when `instanceable`
    /// composes true on it, which is routine for a published asset; the
    /// composition cache resolves that rule.
    pub fn is_instance(&self) -> Result<bool> {
        Ok(self
            .stage
            .masked(&self.path, |g, cache| cache.is_instance(g, &self.path))?)
    }

    /// `true` if the prim is in the contiguous model hierarchy: its `kind` is
    /// a `model` kind, and every ancestor below the pseudo-root is a `group`
    /// kind. Mirrors C++ `UsdPrim::IsModel`.
    ///
    /// Which kinds are models and groups is what the stage's
    /// [`kind::Registry`](crate::kind::Registry) says, so a kind a schema
    /// family declares counts as its base kind does. The pseudo-root is a
    /// model and a group, and so is a prototype root. An instance proxy
    /// answers as the prototype prim it stands in for, so what is above the
    /// instance does not reach it.
    pub fn is_model(&self) -> Result<bool> {
        Ok(self.model_flags()?.model)
    }

    /// `true` if the prim is a model whose `kind` is a `group` kind, the only
    /// models that may hold other models. Mirrors C++ `UsdPrim::IsGroup`.
    pub fn is_group(&self) -> Result<bool> {
        Ok(self.model_flags()?.group)
    }

    /// `true` if the prim is a model whose `kind` is a `component` kind.
    /// Mirrors C++ `UsdPrim::IsComponent`.
    pub fn is_component(&self) -> Result<bool> {
        Ok(self.model_flags()?.component)
    }

    /// `true` if the prim's `kind` is a `subcomponent` kind, wherever the prim
    /// sits. Mirrors C++ `UsdPrim::IsSubComponent`.
    pub fn is_subcomponent(&self) -> Result<bool> {
        let kinds = self.stage.schema_registry().kinds();
        Ok(self.kind()?.is_some_and(|kind| kinds.is_subcomponent(&kind)))
    }

    /// Returns the shared prototype path (`/__Prototype_N`) for this prim if it
    /// is an instance, else `None` (spec 11.3.3). Mirrors C++
    /// `UsdPrim::GetPrototype`.
    pub fn prototype(&self) -> Result<Option<sdf::Path>> {
        Ok(self
            .stage
            .masked(&self.path, |g, cache| cache.prototype_of(g, &self.path))?)
    }

    /// Returns the instance prims sharing this prototype root (a
    /// `/__Prototype_N` prim), sorted by namespace path. Mirrors C++
    /// `UsdPrim::GetInstances`.
    ///
    /// Each instance is named by the path whose index composes it, so a nested
    /// prototype reports its prim inside the enclosing prototype rather than the
    /// proxies standing for it — as C++ does, resolving each registered prim
    /// index into the prototype it belongs to.
    ///
    /// No population filtering is applied to the results: only a prim the stage
    /// populated can register (see `IndexCache::is_populated`), so every
    /// instance here is one the mask exposes.
    pub fn instances(&self) -> Result<Vec<sdf::Path>> {
        self.stage.resolve_prototype_path(&self.path)?;
        Ok(self.stage.cache().instances_of(&self.path))
    }

    /// Returns `true` if this prim is a prototype root (`/__Prototype_N`).
    /// Mirrors C++ `UsdPrim::IsPrototype`.
    pub fn is_prototype(&self) -> Result<bool> {
        self.stage.resolve_prototype_path(&self.path)?;
        Ok(self.stage.cache().is_prototype(&self.path))
    }

    /// Returns `true` if this prim lies within a prototype's namespace — the
    /// `/__Prototype_N` root itself included, as in C++, where
    /// `UsdPrim::IsPrototype` is `IsInPrototype` narrowed to a root prim.
    /// Mirrors C++ `UsdPrim::IsInPrototype`.
    ///
    /// A composed prim is required, not just a path in the namespace: C++ can
    /// only ask this of a prim it instantiated, so a path under a registered
    /// root that composes to nothing answers `false`.
    pub fn is_in_prototype(&self) -> Result<bool> {
        self.stage.resolve_prototype_path(&self.path)?;
        let in_namespace = self.stage.cache().is_in_prototype(&self.path);
        Ok(in_namespace && self.is_valid()?)
    }

    /// `true` if this prim is an instance proxy — a descendant of an instance
    /// prim, in the instance's own namespace, standing in for a prim in the
    /// shared prototype (spec 11.3.3). Mirrors C++ `UsdPrim::IsInstanceProxy`.
    pub fn is_instance_proxy(&self) -> Result<bool> {
        Ok(self
            .stage
            .masked(&self.path, |g, cache| cache.is_instance_proxy(g, &self.path))?)
    }

    /// Returns the prim in the shared prototype this instance proxy stands in
    /// for (a `/__Prototype_N/...` prim), or `None` when this prim is not an
    /// instance proxy (spec 11.3.3). Mirrors C++ `UsdPrim::GetPrimInPrototype`.
    pub fn prim_in_prototype(&self) -> Result<Option<Prim>> {
        let path = self
            .stage
            .masked(&self.path, |g, cache| cache.prim_in_prototype(g, &self.path))?;
        Ok(path.map(|p| Prim::new(&self.stage, p)))
    }

    /// Where the prim stands in the model hierarchy.
    ///
    /// The pseudo-root and a prototype root are groups whatever they author,
    /// as C++ `Usd_PrimData::_ComposeAndCacheFlags` sets them, so the walk
    /// from a prototype's descendant ends at its root. An instance proxy has
    /// the flags of the prototype prim it stands in for, the prim C++ reads
    /// them from. Any other prim, an instance included, is a model only when
    /// its own `kind` is a model kind and every ancestor's is a group kind.
    // TODO(perf): each call reads `kind` on the prim and on every ancestor.
    // C++ caches the three flags per prim and recomposes the prim when `kind`
    // changes; a memo here needs an epoch a `kind` edit advances, which no
    // existing epoch does.
    fn model_flags(&self) -> Result<ModelFlags> {
        const GROUP: ModelFlags = ModelFlags {
            model: true,
            group: true,
            component: false,
        };
        if self.path.is_abs_root() {
            return Ok(GROUP);
        }
        if !self.stage.has_spec(&self.path)? {
            return Ok(ModelFlags::default());
        }
        if self.stage.cache().is_prototype(&self.path) {
            return Ok(GROUP);
        }
        if let Some(in_prototype) = self.prim_in_prototype()? {
            return in_prototype.model_flags();
        }

        let kinds = self.stage.schema_registry().kinds();
        let Some(kind) = self.kind()?.filter(|kind| kinds.is_model(kind)) else {
            return Ok(ModelFlags::default());
        };
        for ancestor in self.path.strict_ancestors_below_root() {
            if self.stage.cache().is_prototype(&ancestor) {
                break;
            }
            let kind = Prim::new(&self.stage, ancestor).kind()?;
            if !kind.is_some_and(|kind| kinds.is_group(&kind)) {
                return Ok(ModelFlags::default());
            }
        }
        Ok(ModelFlags {
            model: true,
            group: kinds.is_group(&kind),
            component: kinds.is_component(&kind),
        })
    }

    /// Every spec that contributes a prim spec to this prim, strongest first,
    /// each with the cumulative layer offset that reaches it. Mirrors C++
    /// `UsdPrim::GetPrimStack`.
    pub fn prim_stack(&self) -> Result<Vec<SpecSite>> {
        Ok(self
            .stage
            .masked_opinions(&self.path, |g, c| c.prim_stack(g, &self.path))?)
    }

    /// Returns a handle to this prim's composition index (C++
    /// `UsdPrim::GetPrimIndex`), through which the composition graph and composed
    /// child names + prohibited names are reachable. See
    /// [`PrimIndexRef`](crate::usd::PrimIndexRef).
    pub fn prim_index(&self) -> PrimIndexRef {
        PrimIndexRef::new(&self.stage, self.path.clone())
    }

    /// Returns an [`Attribute`] handle for the property `name` under this prim.
    /// Mirrors C++ `UsdPrim::GetAttribute`. This is a value-type wrapper; it
    /// neither authors a spec nor asserts the attribute is composed. An invalid
    /// property name yields a handle whose path falls back to the prim, which
    /// resolves as empty.
    pub fn attribute(&self, name: impl Into<Token>) -> Attribute {
        Attribute::new(&self.stage, self.property_path(name))
    }

    /// Returns a [`Relationship`] handle for the property `name` under this
    /// prim. Mirrors C++ `UsdPrim::GetRelationship`. See [`Self::attribute`]
    /// for the handle's non-authoring, non-validating contract.
    pub fn relationship(&self, name: impl Into<Token>) -> Relationship {
        Relationship::new(&self.stage, self.property_path(name))
    }

    /// Returns the names of this prim's children on the stage, in
    /// strongest-layer order and filtered by the stage's population mask. An
    /// inactive prim has none. The name-only counterpart of
    /// [`children`](Self::children).
    pub fn child_names(&self) -> Result<Vec<Token>> {
        Ok(self
            .stage
            .masked(&self.path, |g, cache| cache.populated_children(g, &self.path))?)
    }

    /// Returns this prim's children on the stage, in strongest-layer order and
    /// filtered by the stage's population mask. An inactive prim has none, and
    /// an instance lists its instance proxies. Mirrors C++
    /// `UsdPrim::GetFilteredChildren` under
    /// `UsdTraverseInstanceProxies(UsdPrimAllPrimsPredicate)`.
    pub fn children(&self) -> Result<Vec<Prim>> {
        Ok(self
            .child_names()?
            .into_iter()
            .filter_map(|name| self.path.append_path(name.as_str()).ok())
            .map(|path| Prim::new(&self.stage, path))
            .collect())
    }

    /// Returns every property name of this prim — the ones layers author and
    /// the ones its schemas declare. Mirrors C++ `UsdPrim::GetPropertyNames`.
    ///
    /// The union is sorted into element order and then reordered by the prim's
    /// composed `propertyOrder`, so the result does not depend on which half a
    /// name came from. Use [`authored_property_names`](Self::authored_property_names)
    /// to scan only what layers actually author.
    pub fn property_names(&self) -> Result<Vec<Token>> {
        let mut names = self.authored_names_unordered()?;

        // A schema-declared property is part of the prim's surface whether or
        // not a layer authors a spec for it, since it still resolves a type and
        // a fallback value.
        let info = self.prim_type_info()?;
        let declared = info.prim_definition().property_names();
        if !declared.is_empty() {
            let authored: HashSet<Token> = names.iter().cloned().collect();
            names.extend(declared.iter().filter(|name| !authored.contains(*name)).cloned());
            names.sort_by(|a, b| sdf::element_cmp(a, b));
        }

        self.apply_property_order(&mut names)?;
        Ok(names)
    }

    /// Returns the property names layers author on this prim, in composed
    /// order and then reordered by the prim's composed `propertyOrder`.
    /// Mirrors C++ `UsdPrim::GetAuthoredPropertyNames`, which sorts the names
    /// into dictionary order before applying `propertyOrder`; these keep the
    /// order composition folds them in (see [`sdf::element_cmp`]).
    ///
    /// This is the set to scan when the question is "what did someone write?" —
    /// enumerating a schema's declarations would answer a different one.
    pub fn authored_property_names(&self) -> Result<Vec<Token>> {
        let mut names = self.authored_names_unordered()?;
        self.apply_property_order(&mut names)?;
        Ok(names)
    }

    /// The property names layers author on this prim, in composed order, with
    /// the prim's `propertyOrder` yet to be applied.
    fn authored_names_unordered(&self) -> Result<Vec<Token>> {
        Ok(self
            .stage
            .masked_opinions(&self.path, |g, cache| cache.prim_properties(g, &self.path))?)
    }

    /// Reorders `names` by the prim's composed `propertyOrder`, where it
    /// authors one (C++ `UsdPrim::ApplyPropertyOrder`).
    fn apply_property_order(&self, names: &mut Vec<Token>) -> Result<()> {
        if let Some(order) = self
            .stage
            .field::<sdf::Value>(&self.path, sdf::FieldKey::PropertyOrder)?
            .and_then(sdf::Value::try_as_token_vec)
        {
            sdf::apply_ordering(names, &order);
        }
        Ok(())
    }

    /// Returns handles to the composed attributes of this prim. Mirrors C++
    /// `UsdPrim::GetAttributes`.
    pub fn attributes(&self) -> Result<Vec<Attribute>> {
        self.attributes_in_namespace("")
    }

    /// Returns handles to the attributes layers author on this prim. Mirrors
    /// C++ `UsdPrim::GetAuthoredAttributes`.
    pub fn authored_attributes(&self) -> Result<Vec<Attribute>> {
        self.authored_attributes_in_namespace("")
    }

    /// Returns handles to the composed attributes of this prim whose names sit
    /// under `namespace`, in the order [`attributes`](Self::attributes) lists
    /// them. The attribute half of C++ `UsdPrim::GetPropertiesInNamespace`.
    ///
    /// `namespace` is one or more `:`-joined identifiers, with or without a
    /// trailing `:`: both `"primvars"` and `"primvars:"` list `primvars:st`,
    /// and neither lists an attribute named `primvars` or `primvarsFoo`. An
    /// empty namespace lists every attribute.
    pub fn attributes_in_namespace(&self, namespace: &str) -> Result<Vec<Attribute>> {
        Ok(self
            .properties_of_type(PropertySource::Composed, sdf::SpecType::Attribute, namespace)?
            .into_iter()
            .map(|path| Attribute::new(&self.stage, path))
            .collect())
    }

    /// Returns handles to the attributes layers author on this prim under
    /// `namespace`, read as [`attributes_in_namespace`](Self::attributes_in_namespace)
    /// reads it. The attribute half of C++
    /// `UsdPrim::GetAuthoredPropertiesInNamespace`.
    pub fn authored_attributes_in_namespace(&self, namespace: &str) -> Result<Vec<Attribute>> {
        Ok(self
            .properties_of_type(PropertySource::Authored, sdf::SpecType::Attribute, namespace)?
            .into_iter()
            .map(|path| Attribute::new(&self.stage, path))
            .collect())
    }

    /// Returns handles to the composed relationships of this prim. Mirrors C++
    /// `UsdPrim::GetRelationships`.
    pub fn relationships(&self) -> Result<Vec<Relationship>> {
        Ok(self
            .properties_of_type(PropertySource::Composed, sdf::SpecType::Relationship, "")?
            .into_iter()
            .map(|path| Relationship::new(&self.stage, path))
            .collect())
    }

    /// Returns handles to the relationships layers author on this prim. Mirrors
    /// C++ `UsdPrim::GetAuthoredRelationships`.
    pub fn authored_relationships(&self) -> Result<Vec<Relationship>> {
        Ok(self
            .properties_of_type(PropertySource::Authored, sdf::SpecType::Relationship, "")?
            .into_iter()
            .map(|path| Relationship::new(&self.stage, path))
            .collect())
    }

    /// Returns `true` when the stage holds a prim at this path. Mirrors C++
    /// `UsdPrim::IsValid` for a handle obtained from
    /// [`Stage::prim`](crate::usd::Stage::prim): a path with no contributing
    /// spec yields a handle that is not valid, and so does one the stage's
    /// population does not reach — outside the population mask, or below an
    /// inactive prim.
    pub fn is_valid(&self) -> Result<bool> {
        Ok(self.stage.has_spec(&self.path)?)
    }

    /// The gate every prim-handle write shares (C++ `UsdPrim` setters on an
    /// invalid prim): a prim nothing composes cannot take an opinion, so
    /// authoring through a handle never conjures a prim. A prim the stage will
    /// not compose but a caller still means to type is defined through
    /// [`Stage::define_typed_prim`] instead.
    fn require_valid(&self) -> Result<(), StageAuthoringError> {
        if self.stage.has_spec(&self.path)? {
            return Ok(());
        }
        Err(StageAuthoringError::PrimNotValid {
            path: self.path.clone(),
        })
    }

    /// The property paths of `source` under `namespace` whose spec type
    /// matches `ty`, in composed order.
    ///
    /// The namespace narrows the ordered names, so a property keeps the place
    /// the whole list gave it, and only the names it leaves are asked for
    /// their spec type, all under one cache borrow.
    fn properties_of_type(&self, source: PropertySource, ty: sdf::SpecType, namespace: &str) -> Result<Vec<sdf::Path>> {
        let mut names = match source {
            PropertySource::Composed => self.property_names()?,
            PropertySource::Authored => self.authored_property_names()?,
        };
        names.retain(|name| in_namespace(name, namespace));
        let info = self.prim_type_info()?;
        let definition = info.prim_definition();

        Ok(self.stage.masked_opinions(&self.path, |graph, cache| {
            let mut paths = Vec::new();
            for name in &names {
                let path = self.property_path(name);
                let composed = if path.is_empty() {
                    None
                } else {
                    cache.spec_type(graph, &path)?
                };
                let spec_type = match (composed, source) {
                    (Some(spec_type), _) => Some(spec_type),
                    // A property the prim only inherits from its schema has no
                    // composed spec, so its kind comes from the declaration.
                    (None, PropertySource::Composed) => definition.property(name).map(|property| property.spec_type()),
                    // Nothing a schema declares is authored, so a name with no
                    // composed spec belongs to neither kind.
                    (None, PropertySource::Authored) => None,
                };
                if spec_type == Some(ty) {
                    paths.push(path);
                }
            }
            Ok(paths)
        })?)
    }

    /// Property path for `name` under this prim. An invalid name yields the
    /// empty path, so the returned handle resolves nothing — the analog of
    /// C++'s invalid `UsdProperty` handle.
    fn property_path(&self, name: impl Into<Token>) -> sdf::Path {
        self.path.append_property(name).unwrap_or_default()
    }

    /// Returns the variant sets composed onto this prim. Mirrors C++
    /// `UsdPrim::GetVariantSets`.
    pub fn variant_sets(&self) -> VariantSets {
        VariantSets::new(&self.stage, self.path.clone())
    }

    /// Run `f` on this prim's spec on the edit target's layer — an `over`
    /// authored there, with `over` ancestors, when the layer holds none (C++
    /// `_CreatePrimSpecForEditing`, behind every prim-handle write) — and
    /// return `self` for chaining. The layer records whatever fields `f`
    /// writes. A prim nothing composes is
    /// [`StageAuthoringError::PrimNotValid`]; a spec of another kind at the
    /// path is reported by [`sdf::PrimSpec::over`].
    // TODO: a variant-selection leaf (`/Prim{set=sel}`, the spec path under a
    // variant edit target) is rejected by `PrimSpec::over`, where C++
    // `SdfCreatePrimInLayer` authors inside the variant.
    fn edit<F>(self, f: F) -> Result<Self, StageAuthoringError>
    where
        F: FnOnce(&mut sdf::PrimSpecMut<'_>) -> Result<(), StageAuthoringError>,
    {
        self.require_valid()?;
        self.stage.with_target_layer_at(&self.path, |layer, path| {
            let mut spec = sdf::PrimSpec::over(layer.data_mut(), path)?;
            f(&mut spec)
        })?;
        Ok(self)
    }
}

/// `true` when a non-empty `payload` opinion is composed at `prim` — the
/// per-prim check behind [`Prim::is_loaded`].
pub(super) fn has_payload(stage: &Stage, prim: &sdf::Path) -> Result<bool> {
    Ok(stage.masked_opinions(prim, |g, cache| cache.has_payload(g, prim))?)
}

/// A prim's place in the model hierarchy: the three answers C++
/// `Usd_PrimData` keeps as prim flags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ModelFlags {
    model: bool,
    group: bool,
    component: bool,
}

/// Whether the property `name` sits under `namespace`: the name continues past
/// the namespace, and the namespace ends at one of the name's `:` delimiters
/// (C++ `UsdPrim::_GetPropertiesInNamespace`). A trailing `:` on the namespace
/// is that delimiter, and an empty namespace holds every name.
fn in_namespace(name: &str, namespace: &str) -> bool {
    if namespace.is_empty() {
        return true;
    }
    let terminator = namespace.len() - usize::from(namespace.ends_with(':'));
    name.starts_with(namespace) && name.as_bytes().get(terminator) == Some(&b':')
}

/// A handle to a single prim's composition index, the analog of C++
/// `PcpPrimIndex` reached via `UsdPrim::GetPrimIndex`.
///
/// Our [`pcp::PrimIndex`] is only the composition graph (its nodes hold layer
/// *indices*, not the layers); the cache owns the layer data. This handle pairs
/// the stage with the prim's path so the introspection that needs both — the
/// composed child names — is reachable here, alongside the raw graph via
/// [`graph`](Self::graph). Like [`Prim`], it is a cheap value handle: each query
/// borrows the cache briefly. Composition diagnostics remain available through
/// [`Stage::composition_errors`].
///
/// Its queries answer at the composition tier, where the stage's population
/// plays no part: a prim the population mask excludes, or one below an inactive
/// prim, composes here though the stage does not hold it.
#[derive(Clone)]
pub struct PrimIndexRef {
    stage: Stage,
    path: sdf::Path,
}

impl PrimIndexRef {
    pub(super) fn new(stage: &Stage, path: sdf::Path) -> Self {
        Self {
            stage: stage.clone(),
            path,
        }
    }

    /// Returns this prim's composition graph (C++ `UsdPrim::GetPrimIndex`),
    /// building it if needed. A clone, since the cache owns the cached index.
    ///
    /// The clone is a weak snapshot: its nodes name their layer stacks by
    /// handle without keeping them alive, so once the stage drops this prim's
    /// index and reclamation removes a stack, resolving that node's members
    /// (e.g. [`Stage::node_layer_stack`](super::Stage::node_layer_stack))
    /// reports `None`.
    pub fn graph(&self) -> Result<pcp::PrimIndex> {
        Ok(self.graph_composed()?)
    }

    /// [`graph`](Self::graph) at the composition tier, for the namespace
    /// editor's validation walks.
    pub(crate) fn graph_composed(&self) -> Result<pcp::PrimIndex, pcp::QueryError> {
        self.stage
            .opinions(&self.path, |g, c| Ok(c.index(g, &self.path)?.clone()))
    }

    /// Composes this prim's child names together with the names prohibited at it
    /// — children relocated away (renamed or deleted) that cannot be
    /// re-introduced — returned as `(children, prohibited)` (C++
    /// `PcpPrimIndex::ComputePrimChildNames`).
    pub fn child_names(&self) -> Result<(Vec<Token>, Vec<Token>)> {
        Ok(self
            .stage
            .opinions(&self.path, |g, c| c.compute_prim_child_names(g, &self.path))?)
    }

    /// Every spec that contributes a prim spec to this prim, strongest first,
    /// each with the cumulative layer offset that reaches it (the `primStack`
    /// of C++ `PcpPrimIndex`).
    pub fn prim_stack(&self) -> Result<Vec<SpecSite>> {
        Ok(self.stage.opinions(&self.path, |g, c| c.prim_stack(g, &self.path))?)
    }

    /// Composes the variant selections in effect on this prim, as `(set,
    /// selection)` pairs sorted by set name (C++
    /// `PcpPrimIndex::ComposeAuthoredVariantSelections`).
    pub fn variant_selections(&self) -> Result<Vec<(String, String)>> {
        Ok(self
            .stage
            .opinions(&self.path, |g, c| c.variant_selections(g, &self.path))?)
    }

    /// Every spec contributing to the property `name` of this prim, strongest
    /// first (the property stack of C++ `PcpCache::ComputePropertyIndex`).
    pub fn property_stack(&self, name: impl Into<Token>) -> Result<Vec<SpecSite>> {
        let path = self.property_path(name);
        Ok(self.stage.opinions(&path, |g, c| c.property_stack(g, &path, None))?)
    }

    /// The spec type of the strongest spec of the property `name`, or `None`
    /// when no layer authors it.
    pub fn property_type(&self, name: impl Into<Token>) -> Result<Option<sdf::SpecType>> {
        let path = self.property_path(name);
        Ok(self.stage.opinions(&path, |g, c| c.spec_type(g, &path))?)
    }

    /// Composes the target paths of the relationship `name` together with the
    /// paths its list-op deletes, as `(targets, deleted)` (C++
    /// `PcpCache::ComputeRelationshipTargetPaths`).
    pub fn relationship_target_paths(&self, name: impl Into<Token>) -> Result<(Vec<sdf::Path>, Vec<sdf::Path>)> {
        let path = self.property_path(name);
        Ok(self
            .stage
            .opinions(&path, |g, c| c.compute_relationship_target_paths(g, &path))?)
    }

    /// Composes the connection paths of the attribute `name` together with the
    /// paths its list-op deletes, as `(connections, deleted)` (C++
    /// `PcpCache::ComputeAttributeConnectionPaths`).
    pub fn attribute_connection_paths(&self, name: impl Into<Token>) -> Result<(Vec<sdf::Path>, Vec<sdf::Path>)> {
        let path = self.property_path(name);
        Ok(self
            .stage
            .opinions(&path, |g, c| c.compute_attribute_connection_paths(g, &path))?)
    }

    /// The path of the property `name` on this prim, or the empty path for an
    /// invalid name, which composes nothing.
    fn property_path(&self, name: impl Into<Token>) -> sdf::Path {
        self.path.append_property(name).unwrap_or_default()
    }

    /// Composes the names of the properties this prim's layers author, in the
    /// order composition folds them (C++
    /// `PcpPrimIndex::ComputePrimPropertyNames`). The prim's `propertyOrder`
    /// plays no part in composing them; [`Prim::authored_property_names`]
    /// applies it.
    pub fn property_names(&self) -> Result<Vec<Token>> {
        Ok(self
            .stage
            .opinions(&self.path, |g, c| c.prim_properties(g, &self.path))?)
    }
}

/// The variant sets composed onto a prim. Mirrors C++ `UsdVariantSets`,
/// reached through [`Prim::variant_sets`].
//
// TODO: grow this to cover the rest of `UsdVariantSets`
// (`GetNames` / `HasVariantSet` / `GetVariantSet` / `SetSelection`). Until it
// carries more than `get_all_variant_selections`, the newtype earns its keep
// only as the C++ API shape; if those methods don't materialize, fold the one
// query back onto `Prim`.
#[derive(Clone)]
pub struct VariantSets {
    stage: Stage,
    prim: sdf::Path,
}

impl VariantSets {
    pub(super) fn new(stage: &Stage, prim: sdf::Path) -> Self {
        Self {
            stage: stage.clone(),
            prim,
        }
    }

    /// Returns the variant selections composed onto the prim, as `(set,
    /// selection)` pairs sorted by set name. Mirrors C++
    /// `UsdVariantSets::GetAllVariantSelections`. These are the effective
    /// selections — authored, fallback, or default — read from the variant
    /// selection sites that actually contribute to the prim.
    pub fn get_all_variant_selections(&self) -> Result<Vec<(String, String)>> {
        Ok(self
            .stage
            .masked_opinions(&self.prim, |g, c| c.variant_selections(g, &self.prim))?)
    }
}
