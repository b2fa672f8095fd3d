//! Schema view-type foundation.
//!
//! [`SchemaBase`] is the root of the schema-view hierarchy (C++
//! `UsdSchemaBase`). Every schema — typed (`IsA`) or applied (API) — is a
//! lightweight value-type view over a single [`Prim`] and implements this
//! trait, directly or through the intermediate trait a generator mints to
//! carry each schema's own accessors. [`Typed`] and [`APISchemaBase`] are the
//! roots a generated chain hangs off, one per side of the typed / API split.
//! The domain schema crate builds its typed property accessors on top of
//! [`SchemaBase::prim`].

use crate::sdf;

use super::{Prim, Stage};

/// How a schema relates to its prim (C++ `UsdSchemaKind`).
///
/// Each concrete schema view declares its kind as
/// [`SchemaBase::KIND`]; the classification queries on that trait derive
/// from it. [`SchemaRegistry`](super::SchemaRegistry) reads the same
/// classification out of a family manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaKind {
    /// Abstract base that is never instantiated and is not `UsdTyped`
    /// (e.g. `SchemaBase` itself, or `APISchemaBase`).
    AbstractBase,
    /// Abstract typed schema — a non-instantiable `IsA` base (e.g.
    /// `Boundable`).
    AbstractTyped,
    /// Concrete typed schema — an instantiable prim type whose `typeName`
    /// names it (e.g. `Sphere`, `GenerativeProcedural`).
    ConcreteTyped,
    /// API schema that is not applied to a prim's `apiSchemas` list.
    NonAppliedApi,
    /// Single-apply API schema (applied once, no instance name).
    SingleApplyApi,
    /// Multiple-apply API schema (applied per instance name).
    MultipleApplyApi,
}

/// Common surface shared by every schema view type (C++ `UsdSchemaBase`).
///
/// A schema wraps a [`Prim`] and exposes that prim's opinions through typed
/// accessors. This trait carries the part every schema shares — the
/// underlying prim, the handles derived from it, and the schema's
/// classification — so intermediate schema traits and concrete schemas can
/// build their accessors on one foundation.
///
/// A schema is constructed by wrapping a [`Prim`] (each schema view is a
/// `struct Foo(Prim)` newtype). Wrapping is unchecked, mirroring the C++
/// `UsdSchemaBase(prim)` constructor; a type-gated constructor (the analog of
/// C++ `UsdSchema::Get`) belongs on each schema view.
///
/// The registry-backed members of C++ `UsdSchemaBase`
/// (`GetSchemaClassPrimDefinition`, `GetSchemaAttributeNames`) are reached
/// through the prim instead, against [`SchemaRegistry`](super::SchemaRegistry).
pub trait SchemaBase {
    /// This schema's kind (C++ `UsdSchemaBase::schemaKind` /
    /// `GetSchemaKind`). Read it at the type level (`Sphere::KIND`) or
    /// generically (`S::KIND`); the classification queries below derive from
    /// it. Required, with no default: a concrete view's kind is almost never
    /// `AbstractBase`, so every schema declares its own.
    const KIND: SchemaKind;

    /// The prim this schema is a view of (C++ `UsdSchemaBase::GetPrim`). The
    /// one method each schema implements; everything else derives from it.
    fn prim(&self) -> &Prim;

    /// Composed namespace path of the prim (C++ `UsdSchemaBase::GetPath`).
    fn path(&self) -> &sdf::Path {
        self.prim().path()
    }

    /// The stage the prim is anchored to.
    fn stage(&self) -> &Stage {
        self.prim().stage()
    }

    /// Whether this is an instantiable prim type (C++ `IsConcrete`).
    fn is_concrete(&self) -> bool {
        Self::KIND.is_concrete()
    }

    /// Whether this schema is an `IsA` (typed) schema (C++ `IsTyped`).
    fn is_typed(&self) -> bool {
        Self::KIND.is_typed()
    }

    /// Whether this schema is an API schema (C++ `IsAPISchema`).
    fn is_api_schema(&self) -> bool {
        Self::KIND.is_api_schema()
    }

    /// Whether this is an applied API schema (C++ `IsAppliedAPISchema`).
    fn is_applied_api_schema(&self) -> bool {
        Self::KIND.is_applied_api_schema()
    }

    /// Whether this is a multiple-apply API schema
    /// (C++ `IsMultipleApplyAPISchema`).
    fn is_multiple_apply_api_schema(&self) -> bool {
        Self::KIND.is_multiple_apply_api_schema()
    }
}

/// The base of every typed (`IsA`) schema (C++ `UsdTyped`): a schema whose
/// identifier a prim's `typeName` may carry. Generated schema traits derive
/// from it and generated concrete views implement it; it declares nothing of
/// its own, so a bound on it says only "this view stands for a prim type".
pub trait Typed: SchemaBase {}

/// The base of every API schema (C++ `UsdAPISchemaBase`), applied or not.
pub trait APISchemaBase: SchemaBase {}

impl SchemaKind {
    /// Whether a schema of this kind is an `IsA` (typed) schema, which a
    /// prim's `typeName` may name.
    pub fn is_typed(self) -> bool {
        matches!(self, SchemaKind::AbstractTyped | SchemaKind::ConcreteTyped)
    }

    /// Whether a schema of this kind is a prim type a stage can instantiate.
    pub fn is_concrete(self) -> bool {
        matches!(self, SchemaKind::ConcreteTyped)
    }

    /// Whether a schema of this kind is an API schema, applied or not.
    pub fn is_api_schema(self) -> bool {
        matches!(
            self,
            SchemaKind::NonAppliedApi | SchemaKind::SingleApplyApi | SchemaKind::MultipleApplyApi
        )
    }

    /// Whether a schema of this kind is applied to a prim, and so appears in
    /// its `apiSchemas`.
    pub fn is_applied_api_schema(self) -> bool {
        matches!(self, SchemaKind::SingleApplyApi | SchemaKind::MultipleApplyApi)
    }

    /// Whether a schema of this kind is applied under an instance name.
    pub fn is_multiple_apply_api_schema(self) -> bool {
        matches!(self, SchemaKind::MultipleApplyApi)
    }

    /// The token a manifest's `schemaKind` attribute uses, matching the
    /// spellings C++ writes into `plugInfo.json`.
    pub fn as_str(&self) -> &'static str {
        match self {
            SchemaKind::AbstractBase => "abstractBase",
            SchemaKind::AbstractTyped => "abstractTyped",
            SchemaKind::ConcreteTyped => "concreteTyped",
            SchemaKind::NonAppliedApi => "nonAppliedAPI",
            SchemaKind::SingleApplyApi => "singleApplyAPI",
            SchemaKind::MultipleApplyApi => "multipleApplyAPI",
        }
    }

    /// Parses the token spelling produced by [`as_str`](Self::as_str).
    pub fn from_token(text: &str) -> Option<SchemaKind> {
        Some(match text {
            "abstractBase" => SchemaKind::AbstractBase,
            "abstractTyped" => SchemaKind::AbstractTyped,
            "concreteTyped" => SchemaKind::ConcreteTyped,
            "nonAppliedAPI" => SchemaKind::NonAppliedApi,
            "singleApplyAPI" => SchemaKind::SingleApplyApi,
            "multipleApplyAPI" => SchemaKind::MultipleApplyApi,
            _ => return None,
        })
    }
}

/// Every schema unwraps to its underlying [`Prim`], so `Prim::from(schema)`
/// and `let prim: Prim = schema.into()` work uniformly. The prim is cloned
/// out — a cheap `Rc` bump on the stage plus a path clone.
impl<T: SchemaBase> From<T> for Prim {
    fn from(schema: T) -> Self {
        schema.prim().clone()
    }
}
