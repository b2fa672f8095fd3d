//! Composed USD stage.
//!
//! A [`Stage`] loads a root layer file and all its dependencies, then provides
//! composed access to the scene graph by merging opinions across layers
//! according to USD's [LIVERPS] strength ordering:
//!
//! 1. **L**ocal opinions (root layer stack / sublayers) — strongest
//! 2. **I**nherit arcs
//! 3. **V**ariant set arcs
//! 4. **R**eference arcs
//! 5. **P**ayload arcs
//! 6. **S**pecialize arcs — weakest
//!
//! The strength ordering applies recursively within each composition context.
//! When building prim and property stacks:
//!
//! - Local opinions are evaluated first
//! - Inherit arcs follow
//! - Variant sets are applied next
//! - References are processed
//! - Payloads are composed
//! - Specialize arcs provide fallback values
//!
//! # Configuration
//!
//! Use [`StageBuilder`] to customize stage behavior before opening:
//!
//! - [`StageBuilder::resolver`] sets a custom
//!   [`ar::Resolver`](crate::ar::Resolver) for mapping asset paths to files.
//! - [`StageBuilder::variant_fallbacks`] provides a
//!   [`VariantFallbackMap`](crate::pcp::VariantFallbackMap) with preferred
//!   selections for variant sets that have no authored opinion.
//! - [`StageBuilder::load`] controls whether payload arcs are
//!   loaded during stage population.
//! - [`StageBuilder::mask`] limits the prim working set exposed by
//!   stage queries and traversal.
//!
//! [LIVERPS]: https://docs.nvidia.com/learn-openusd/latest/creating-composition-arcs/strength-ordering/what-is-liverps.html

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use bitflags::bitflags;

use crate::tf::Token;
use crate::{Result, ar, pcp, sdf};

use super::composition::{self, PendingEdit, StageComposition};

use super::interp::{self, InterpolationType};
use super::sink::{PendingChange, Provenance, StageSink, StageSinkId, keep_ancestors};
use super::{PrimTypeId, PrimTypeInfo, SchemaRegistry, Schematics, StagePopulationMask};

bitflags! {
    /// Resolved stage-level status bits for a prim.
    #[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
    pub struct PrimStatus: u32 {
        /// The prim and all ancestors are active.
        const ACTIVE = 1 << 0;
        /// The prim is loaded according to the stage's current load behavior.
        const LOADED = 1 << 1;
        /// The prim and all ancestors have defining specifiers.
        const DEFINED = 1 << 2;
        /// The prim or an ancestor has a `class` specifier.
        const ABSTRACT = 1 << 3;
        /// The prim is instanceable and has at least one composition arc.
        const INSTANCE = 1 << 4;
        /// The prim is part of the contiguous model hierarchy.
        const MODEL = 1 << 5;
        /// The prim lies within a prototype's namespace (`/__Prototype_N`).
        const IN_PROTOTYPE = 1 << 6;
    }
}

impl PrimStatus {
    /// The bits a prim composes from its parent's status and its own opinions
    /// (C++ `Usd_PrimData::_ComposeAndCacheFlags`), answered together: the
    /// three the default traversal requires and the one it rejects.
    const INHERITED: PrimStatus = PrimPredicate::INHERITED_REQUIRED.union(PrimPredicate::INHERITED_REJECTED);

    /// The pseudo-root's status, which every root prim composes from: active,
    /// loaded and defined, as C++ `Usd_PrimData` sets it.
    const ROOT: PrimStatus = PrimStatus::ACTIVE.union(PrimStatus::LOADED).union(PrimStatus::DEFINED);
}

/// Predicate used to filter prim traversal by resolved status bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrimPredicate {
    required: PrimStatus,
    rejected: PrimStatus,
    /// When `false` (the default), traversal does not descend into an instance
    /// prim's subtree — its contents are reached through the prototype
    /// (`Prim::prototype`). When `true`, instance subtrees are traversed
    /// directly (the "instance proxy" view, spec 11.3.3).
    traverse_instance_proxies: bool,
}

impl PrimPredicate {
    /// Status bits inherited from a prim's ancestors. Missing any of these on a
    /// parent guarantees that no descendant can have them either, enabling
    /// subtree pruning during traversal.
    const INHERITED_REQUIRED: PrimStatus = PrimStatus::ACTIVE.union(PrimStatus::LOADED).union(PrimStatus::DEFINED);

    /// Status bits that, once set on an ancestor, are inherited by every descendant.
    const INHERITED_REJECTED: PrimStatus = PrimStatus::ABSTRACT;

    /// Match every composed prim, descending into instance subtrees so the
    /// full composed namespace is visited regardless of instancing.
    pub const ALL: Self = Self {
        required: PrimStatus::empty(),
        rejected: PrimStatus::empty(),
        traverse_instance_proxies: true,
    };

    /// OpenUSD-style default traversal predicate.
    ///
    /// Matches prims that are active, loaded, defined, and not abstract.
    pub const DEFAULT: Self = Self::new(Self::INHERITED_REQUIRED, Self::INHERITED_REJECTED);

    /// The default region, but descending into instance subtrees (instance
    /// proxies). Schema and connection readers gather every prim of interest
    /// across the stage and so must reach instanced content; public traversal
    /// stops at instances and reaches their contents through the prototype, but
    /// prototypes are not yet materialized as separately traversable roots.
    pub const DEFAULT_PROXIES: Self = Self {
        required: Self::INHERITED_REQUIRED,
        rejected: Self::INHERITED_REJECTED,
        traverse_instance_proxies: true,
    };

    /// Creates a predicate with required and rejected status bits. Instance
    /// subtrees are not traversed; see [`Self::with_instance_proxies`].
    pub const fn new(required: PrimStatus, rejected: PrimStatus) -> Self {
        Self {
            required,
            rejected,
            traverse_instance_proxies: false,
        }
    }

    /// Returns a copy that descends into instance subtrees (instance proxies)
    /// when `enabled`, instead of stopping at instance prims (spec 11.3.3).
    pub fn with_instance_proxies(mut self, enabled: bool) -> Self {
        self.traverse_instance_proxies = enabled;
        self
    }

    /// Returns `true` if `status` satisfies the predicate.
    pub const fn matches(self, status: PrimStatus) -> bool {
        status.contains(self.required) && !status.intersects(self.rejected)
    }

    /// Returns the set of status bits this predicate actually consults.
    fn consulted_bits(self) -> PrimStatus {
        let mut bits = self.required.union(self.rejected);
        // Stopping at instances requires knowing which prims are instances.
        if !self.traverse_instance_proxies {
            bits = bits.union(PrimStatus::INSTANCE);
        }
        bits
    }

    /// This predicate restricted to its inherited bits. It descends and
    /// prunes exactly like the original while also visiting the prims the
    /// original declines for non-inherited bits (e.g. a `MODEL` rejection,
    /// which excludes a model prim whose non-model descendants still
    /// match), so a traversal under it visits a depth-first order with only
    /// whole subtrees skipped, over a superset of the original's prims. A
    /// projection equal to the original means the original's own traversal
    /// already has that gap-free shape.
    pub(crate) fn inherited_projection(self) -> Self {
        Self {
            required: self.required.intersection(Self::INHERITED_REQUIRED),
            rejected: self.rejected.intersection(Self::INHERITED_REJECTED),
            traverse_instance_proxies: self.traverse_instance_proxies,
        }
    }

    /// Returns `true` if no descendant can satisfy this predicate.
    fn prunes_descendants(self, status: PrimStatus) -> bool {
        !self.inherited_projection().matches(status)
    }
}

impl Default for PrimPredicate {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Initial payload loading behavior for a stage.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum InitialLoadSet {
    /// Load all payload arcs during stage population.
    #[default]
    LoadAll,
    /// Leave payload arcs unloaded during stage population.
    LoadNone,
}

/// How deeply a [`Stage::load`] call expands payloads. Mirrors C++
/// `UsdLoadPolicy`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum LoadPolicy {
    /// Load the requested prim, its ancestors, and every descendant payload
    /// recursively. C++ `UsdLoadWithDescendants`.
    #[default]
    WithDescendants,
    /// Load only the requested prim (and its ancestors); a descendant with
    /// no rule of its own is excluded. C++ `UsdLoadWithoutDescendants`.
    WithoutDescendants,
}

/// Identifies which layer in a [`Stage`] receives authored opinions, and how
/// stage-namespace paths map into that layer's namespace.
///
/// Subset of C++ `UsdEditTarget`. Like C++, it pairs a target layer with a
/// `PcpMapFunction` (`mapping`) that translates a scene (stage-namespace) path
/// into the spec (layer-namespace) path actually authored. For a plain local
/// target the mapping is the identity, so authoring writes to the target layer
/// using the composed path verbatim. A variant target (see
/// [`for_local_direct_variant`](Self::for_local_direct_variant)) carries a
/// mapping that inserts the `{set=sel}` segment so child opinions land inside
/// the variant. An arc target (see
/// [`Stage::edit_target_for_node`](Stage::edit_target_for_node)) carries the
/// referencing/inheriting arc's `map_to_root`, so authoring writes into the
/// arc's source layer.
#[derive(Debug, Clone, PartialEq)]
pub struct EditTarget {
    /// Canonical identifier of the layer this target writes to. Stored as a
    /// string (not a [`pcp::LayerId`]) so the constructor needs no graph and the
    /// target stays valid across layer remove/re-add; it is resolved to the
    /// graph handle at author time.
    layer_identifier: String,
    /// Maps the layer (spec) namespace to the stage (scene) namespace — the
    /// same orientation as [`pcp::Node`](crate::pcp::Node)'s `map_to_root`.
    /// Authoring queries it in reverse via
    /// [`map_to_spec_path`](Self::map_to_spec_path). Identity for a local
    /// target, so the default authoring path is unchanged.
    mapping: pcp::MapFunction,
    /// Identity of the stage's root layer stack this target was constructed
    /// against, or `None` for a stage-agnostic target
    /// ([`for_layer`](Self::for_layer) /
    /// [`for_local_direct_variant`](Self::for_local_direct_variant)). A `Some`
    /// target applied to a stage with a different identity is rejected by
    /// [`set_edit_target`](Stage::set_edit_target), so an arc target built
    /// against one stage's composition can't silently retarget another's.
    layer_stack: Option<pcp::LayerStackIdentifier>,
    /// The value identity of the layer stack this target authors into, captured
    /// from the target node when known
    /// ([`edit_target_for_node`](Stage::edit_target_for_node); boxed to keep
    /// the struct small), or `None` for a target whose stack the namespace
    /// editor infers from layer membership ([`for_layer`](Self::for_layer) /
    /// [`for_local_direct_variant`](Self::for_local_direct_variant)). An arc
    /// target records it so a relocate synthesized for it lands in the right
    /// stack even when the referenced asset is also a root sublayer — a case
    /// membership alone cannot disambiguate. Carried by value — not as a
    /// graph-local `LayerStackId` — because an `EditTarget` transfers between
    /// stages with equal composition inputs, whose graphs number their stacks
    /// independently; the captured (possibly contextual) stack then resolves by
    /// content wherever the target is installed.
    authoring_stack: Option<Box<pcp::StackIdentity>>,
}

/// Composition arc kind selecting which arc on a prim an arc-based
/// [`EditTarget`] writes into (C++ `UsdEditTarget::Reference` / `Inherit` /
/// `Specialize` / `Payload`). Built via
/// [`Stage::edit_target_for_node`](Stage::edit_target_for_node) or
/// [`Prim::edit_target_for_arc`](super::Prim::edit_target_for_arc).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditTargetArc {
    /// A reference arc.
    Reference,
    /// A payload arc (the payload must be loaded to contribute a node).
    Payload,
    /// An inherit arc.
    Inherit,
    /// A specialize arc.
    Specialize,
}

impl EditTargetArc {
    /// Whether this selector matches a composed node's arc type.
    fn matches(self, arc: pcp::ArcType) -> bool {
        matches!(
            (self, arc),
            (EditTargetArc::Reference, pcp::ArcType::Reference)
                | (EditTargetArc::Payload, pcp::ArcType::Payload)
                | (EditTargetArc::Inherit, pcp::ArcType::Inherit)
                | (EditTargetArc::Specialize, pcp::ArcType::Specialize)
        )
    }
}

impl EditTarget {
    /// Edit target pointing at the layer with the given identifier, with an
    /// identity path mapping (scene path == spec path).
    pub fn for_layer(layer_identifier: impl Into<String>) -> Self {
        Self {
            layer_identifier: layer_identifier.into(),
            mapping: pcp::MapFunction::identity(),
            layer_stack: None,
            authoring_stack: None,
        }
    }

    /// Edit target that routes authoring into a local variant. `var_sel_path`
    /// is the variant-selection prim path (e.g. `/Prim{set=sel}`) on the
    /// target layer; child prim and property opinions authored at the stripped
    /// scene path (`/Prim/child`) land at `/Prim{set=sel}child` in the layer.
    ///
    /// Mirrors C++ `UsdEditTarget::ForLocalDirectVariant`. Paths outside the
    /// variant prim map to themselves, so authoring elsewhere is unaffected.
    pub fn for_local_direct_variant(
        layer_identifier: impl Into<String>,
        var_sel_path: impl sdf::IntoPath,
    ) -> Result<Self, sdf::PathParseError> {
        let var_sel_path = sdf::try_into_path(var_sel_path)?;
        let stripped = var_sel_path.strip_all_variant_selections();
        Ok(Self {
            layer_identifier: layer_identifier.into(),
            mapping: pcp::MapFunction::from_pair_identity(var_sel_path, stripped),
            layer_stack: None,
            authoring_stack: None,
        })
    }

    /// The identifier of the layer this target writes to.
    pub fn layer_identifier(&self) -> &str {
        &self.layer_identifier
    }

    /// The namespace mapping this target translates through — layer (spec)
    /// namespace to stage (scene) namespace, with the arc's composed time
    /// offset (C++ `UsdEditTarget::GetMapFunction`).
    pub fn map_function(&self) -> &pcp::MapFunction {
        &self.mapping
    }

    /// Maps a scene (stage-namespace) path to the spec (layer-namespace) path
    /// authoring should write at. Returns `None` when `scene_path` falls
    /// outside the mapping's co-domain (C++ returns an empty `SdfPath`).
    ///
    /// Mirrors C++ `UsdEditTarget::MapToSpecPath`. First the path is mapped in
    /// the target-to-source direction. Then any relationship/connection target
    /// path embedded in a `[..]` bracket is re-mapped the same way, and the
    /// whole result is rejected (`None`) when that embedded target falls outside
    /// the co-domain — for a restricted arc mapping, a target naming a prim the
    /// arc does not reach cannot be authored. The re-mapped target is stripped of
    /// variant selections, which a target path never carries.
    pub fn map_to_spec_path(&self, scene_path: &sdf::Path) -> Option<sdf::Path> {
        let mapped = self.mapping.map_target_to_source(scene_path)?;
        match scene_path.embedded_target_path() {
            None => Some(mapped),
            Some(target) => {
                let mapped_target = self.map_to_spec_target_path(&target)?;
                mapped.replace_embedded_target(&mapped_target)
            }
        }
    }

    /// Maps a target-valued path — a relationship target, attribute
    /// connection, inherit, or specialize — from scene namespace into this
    /// target's layer namespace. Target paths never carry variant selections,
    /// so the mapped result is stripped of them; under a variant target this
    /// maps a path to itself. `None` when the path falls outside the mapping's
    /// co-domain.
    pub(super) fn map_to_spec_target_path(&self, scene_path: &sdf::Path) -> Option<sdf::Path> {
        Some(
            self.mapping
                .map_target_to_source(scene_path)?
                .strip_all_variant_selections(),
        )
    }

    /// Maps a stage (scene) time to the source (layer) time a time sample
    /// authored through this target should be keyed at.
    ///
    /// An arc target captures the arc's composed time offset (e.g. a reference
    /// with `(offset = 10)`), which maps a source-layer time to the composed
    /// stage time. Authoring keys the sample in the source layer, so the stage
    /// time is run through the inverse offset. A local or variant target carries
    /// the identity offset, so this is a no-op there.
    pub fn map_to_spec_time(&self, stage_time: f64) -> f64 {
        self.spec_time_offset().apply(stage_time)
    }

    /// Maps a stage (scene) value authored on the object at `object_path` (a
    /// prim or one of its properties) to the one the write should put in the
    /// source layer, retiming every `timecode` it holds and mapping every path
    /// expression (C++ `_StageValueToFieldXf` and `_PathExprToField`).
    ///
    /// A `timecode` is a time coordinate in the same frame as the key a sample
    /// is authored at, so it runs through the same inverse offset and likewise
    /// reads back unchanged once composition re-applies the arc's offset. A
    /// `pathExpression`, wherever it sits — the value itself, an element, a
    /// dictionary entry, a time sample — is made absolute against the owning
    /// prim, then each pattern prefix and reference path is mapped
    /// target-to-source through this target's namespace mapping; an atom the
    /// mapping cannot reach becomes the empty expression, and a `%_` or
    /// `%:name` reference keeps its empty path. Any other value passes
    /// through, as does everything through a local or variant target, which
    /// carries the identity offset and mapping.
    pub fn map_to_spec_value(&self, object_path: &sdf::Path, value: impl Into<sdf::Value>) -> sdf::Value {
        let mut value = value.into();
        self.spec_time_offset().apply_to_value(&mut value);
        if !value.holds_path_expressions() {
            return value;
        }
        let anchor_prim = object_path.prim_path();
        value.map_path_expressions(&mut |expr| {
            expr.make_absolute(&anchor_prim)
                .map_paths(|path| self.mapping.map_target_to_source(path))
        })
    }

    /// The offset that maps a stage time into the time frame of the layer this
    /// target authors into — the inverse of the arc's composed offset (C++
    /// `_StageValueToFieldXf::GetLayerOffset`).
    fn spec_time_offset(&self) -> sdf::LayerOffset {
        self.mapping.time_offset().inverse()
    }

    /// Whether this target names no layer, so it can author nothing (C++
    /// `UsdEditTarget::IsNull`). The default target of a stage with no layers.
    pub fn is_null(&self) -> bool {
        self.layer_identifier.is_empty()
    }

    /// Whether this target names a layer and carries a mapping that maps
    /// something (C++ `UsdEditTarget::IsValid`). Validity does not guarantee the
    /// layer is present in any particular stage — [`Stage::set_edit_target`]
    /// performs that check.
    pub fn is_valid(&self) -> bool {
        !self.is_null() && !self.mapping.is_null()
    }

    /// Composes this (stronger) target over a `weaker` one, returning a target
    /// on this target's layer whose mapping routes a scene path through the
    /// weaker context first, then this refinement (C++
    /// `UsdEditTarget::ComposeOver`). A null target composes to the other.
    ///
    /// This expresses a deeper edit relative to a broader one — e.g. a variant
    /// refinement (`/Source{set=sel}`) over a reference target
    /// (`/Source ↔ /World/MyPrim`) yields a target that authors a stage write at
    /// `/World/MyPrim/Child` into `/Source{set=sel}Child`.
    ///
    /// Both targets should belong to the same stage (or be stage-agnostic); the
    /// result carries that shared stage identity. Composing targets bound to
    /// different stages would mix unrelated namespaces, so it yields a null
    /// target instead — keeping the cross-stage guard intact rather than
    /// producing a target one stage would wrongly accept.
    pub fn compose_over(&self, weaker: &EditTarget) -> EditTarget {
        if self.is_null() {
            return weaker.clone();
        }
        if weaker.is_null() {
            return self.clone();
        }
        if matches!((&self.layer_stack, &weaker.layer_stack), (Some(a), Some(b)) if a != b) {
            return EditTarget {
                layer_identifier: String::new(),
                mapping: pcp::MapFunction::null(),
                layer_stack: None,
                authoring_stack: None,
            };
        }
        EditTarget {
            layer_identifier: self.layer_identifier.clone(),
            mapping: weaker.mapping.compose(&self.mapping),
            layer_stack: self.layer_stack.clone().or_else(|| weaker.layer_stack.clone()),
            // A refinement (a variant) over an arc inherits the arc's authoring
            // stack: the deeper target's stack when it has one, else the weaker's.
            authoring_stack: self.authoring_stack.clone().or_else(|| weaker.authoring_stack.clone()),
        }
    }
}

/// RAII guard that scopes a [`Stage`] edit-target switch, restoring the
/// previous target when dropped. Created by
/// [`Stage::edit_context`](Stage::edit_context); mirrors C++ `UsdEditContext`.
///
/// ```no_run
/// # use openusd::usd::{Stage, EditTarget};
/// # fn f(stage: &Stage) -> openusd::Result<()> {
/// let root = stage.root_layer().identifier().to_string();
/// {
///     let _ctx = stage.edit_context(EditTarget::for_layer(root))?;
///     stage.define_prim("/World")?; // authored into the root layer
/// } // previous edit target restored here
/// # Ok(())
/// # }
/// ```
///
/// The guard is neither `Clone` nor `Copy`, mirroring C++'s deleted copy and
/// assignment. Note that [`Stage::set_default_prim`](Stage::set_default_prim)
/// always targets the root layer, so wrapping it in an `EditContext` has no
/// effect.
pub struct EditContext<'a> {
    stage: &'a Stage,
    saved: EditTarget,
}

impl Drop for EditContext<'_> {
    fn drop(&mut self) {
        // The saved target was valid when the guard was created, so restoring it
        // needs no validation. `replace_edit_target` notifies the change so a
        // listener tracking the edit target stays current (C++ `UsdEditContext`
        // notifies on both enter and restore).
        self.stage.replace_edit_target(self.saved.clone());
    }
}

/// Errors raised by [`Stage`]'s authoring methods.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageAuthoringError {
    /// A path argument failed to parse.
    #[error(transparent)]
    Parse(#[from] sdf::PathParseError),

    /// No prim composes at the path, so there is nothing to author against:
    /// a prim-handle setter never conjures a prim (C++ `UsdPrim` setters on
    /// an invalid prim).
    #[error("no prim composes at {path}")]
    PrimNotValid {
        /// The path nothing composes at.
        path: sdf::Path,
    },

    /// The path lies inside an instancing prototype (`/__Prototype_N`), a
    /// composed namespace nothing authors into (C++ `_ValidateEditPrim`:
    /// "authoring to an instancing prototype is not allowed").
    #[error("authoring to an instancing prototype is not allowed: {path}")]
    PrototypeEdit {
        /// The prototype path the edit named.
        path: sdf::Path,
    },

    /// The path is an instance proxy — a view into a prototype through an
    /// instance — so an opinion authored there would compose nowhere
    /// (C++ `_ValidateEditPrim`: "authoring to an instance proxy is not
    /// allowed").
    #[error("authoring to an instance proxy is not allowed: {path}")]
    InstanceProxyEdit {
        /// The instance-proxy path the edit named.
        path: sdf::Path,
    },

    /// The layer at the current edit target rejected the authoring call.
    #[error(transparent)]
    Layer(sdf::AuthoringError),

    /// A value does not fit the attribute's declared type, or the declaration
    /// itself is unusable — whether the composed declaration said so, before
    /// the write, or the edit target's own, as the spec was written. Every
    /// path into this error lifts the layer tier's
    /// [`AuthoringError::ValueType`](sdf::AuthoringError::ValueType) here, so
    /// there is one variant to match.
    #[error(transparent)]
    ValueType(#[from] sdf::ValueTypeError),

    /// The edit-target layer declares the attribute as a type that does not
    /// agree with the composed one, so writing the composed-type value would
    /// leave the layer inconsistent with its own declaration.
    #[error(transparent)]
    LocalTypeConflict(Box<TypeConflict>),

    /// The edit target, or a declaration it would copy, holds a property of
    /// the other kind at the path: an attribute where a relationship was asked
    /// for, or the reverse.
    #[error("{path} is a {found} spec where a {expected} spec was expected")]
    SpecKindMismatch {
        /// The property path.
        path: sdf::Path,
        /// The kind the call needed.
        expected: sdf::SpecType,
        /// The kind found instead.
        found: sdf::SpecType,
    },

    /// The field is authored only through its dedicated, validated setter,
    /// never through the generic metadata calls.
    #[error("field {field} is authored through its own setter, not as metadata")]
    ReservedField {
        /// The refused field.
        field: &'static str,
    },

    /// A [`sdf::LayerSink`] rejected the staged edit from its
    /// [`before_commit`](sdf::LayerSink::before_commit), so the whole edit rolled
    /// back.
    #[error(transparent)]
    Rejected(#[from] sdf::sink::Error),

    /// A composed-stage query needed to route or validate the authoring call failed.
    #[error(transparent)]
    Composition(#[from] pcp::QueryError),

    /// The prim's schemas reject the API schema being applied.
    #[error(transparent)]
    Schema(#[from] super::ApplyApiError),

    /// A name argument is not a legal identifier for what it names.
    #[error("invalid {what} {name:?}: must be a valid identifier")]
    InvalidIdentifier {
        /// The offending name.
        name: String,
        /// What the name was for.
        what: &'static str,
    },

    /// The named layer is not present in this stage's layer graph.
    #[error("layer {layer:?} is not in the stage")]
    LayerNotFound {
        /// The offending layer's identifier.
        layer: String,
    },

    /// The layer's identifier is not the spelling the stage's resolver gives
    /// a layer of that name
    /// ([`in_memory_identifier`](ar::Resolver::in_memory_identifier)), so no
    /// asset path authored in the stage would reach the layer under it.
    #[error(
        "layer identifier {identifier:?} is not canonical under the stage's resolver, which spells it {expected:?}"
    )]
    IncompatibleLayerIdentifier {
        /// The layer's identifier.
        identifier: String,
        /// The spelling the stage's resolver gives it.
        expected: String,
    },

    /// The edit target moved while a [`StageEdit`](super::StageEdit) was open.
    /// Every queued property resolved its spec path, its value and its sample
    /// time through the target the batch planned against, so committing them
    /// through another one would write them somewhere else.
    #[error("the edit target moved while the batch was open")]
    EditTargetMoved,

    /// A [`StageEdit`](super::StageEdit) was given the same property twice.
    /// Each queued property resolves its declaration before the batch opens, so
    /// a second plan for one property would be resolved against a stage the
    /// first has not changed yet.
    #[error("property {path} appears more than once in the batch")]
    DuplicateProperty {
        /// The repeated property's path.
        path: sdf::Path,
    },

    /// A [`Stage::batch_edit`] named the same layer more than once. Each layer in
    /// a batch is opened with a single mutable edit view, so a repeat would alias
    /// it.
    #[error("layer {layer:?} appears more than once in the batch")]
    DuplicateLayer {
        /// The repeated layer's identifier.
        layer: String,
    },

    /// No composition arc of the requested kind authors a spec on the prim, so
    /// no arc-based edit target can be built for it.
    #[error("prim {path} has no {arc:?} arc to author into")]
    NoArcNode {
        /// The prim path the arc target was requested for.
        path: sdf::Path,
        /// The arc kind that was requested.
        arc: EditTargetArc,
    },

    /// The edit target was built against a different stage's composition and
    /// cannot be applied here.
    #[error("edit target belongs to a different stage")]
    EditTargetWrongStage,

    /// An arc edit target's captured authoring stack cannot be resolved on this
    /// stage: a layer in its source chain failed to load, so the (possibly
    /// contextual) stack it authors into cannot be composed here. Authoring
    /// into a substitute stack would land opinions in the wrong members, so the
    /// call fails instead.
    #[error("edit target authoring stack unavailable: layer {layer:?} cannot be loaded")]
    EditTargetStackUnavailable {
        /// Identifier of the source-chain layer that could not be loaded.
        layer: String,
    },

    /// The path being authored falls outside the current edit target's
    /// mapping co-domain, so it cannot be translated to a layer-local spec
    /// path. The local and variant edit targets map every path (their mapping
    /// carries an identity catch-all), so this arises for arc-based targets
    /// with a restricted domain — authoring a path the arc does not reach, or
    /// replaying a [`Diff`](super::Diff) one of whose paths the target cannot express.
    #[error("path {path} is outside the current edit target")]
    OutsideEditTarget {
        /// The path that could not be mapped, in the namespace it was
        /// presented in (composed stage namespace, or the diff's own layer
        /// namespace for [`Stage::apply_diff`]).
        path: sdf::Path,
    },

    /// Stage-level metadata (the time-code range and rates) resolves only from
    /// the root and session layers (session over root), so it can be authored
    /// only when the current edit target is one of them. Mirrors C++
    /// `UsdStage`, which authors into the edit-target layer when it is the root
    /// or session layer and warns otherwise — authoring elsewhere would write
    /// an opinion stage-metadata resolution never reads.
    #[error("stage metadata can only be authored on the root or session layer, not edit-target layer {layer:?}")]
    StageMetadataTarget {
        /// The current edit target's layer identifier.
        layer: String,
    },
}

/// The payload of [`StageAuthoringError::LocalTypeConflict`]: which
/// declaration composition found and which the edit-target layer holds.
#[derive(Debug, thiserror::Error)]
#[error("{path} composes as {effective} but the edit-target layer declares it {local}")]
pub struct TypeConflict {
    /// The attribute path.
    pub path: sdf::Path,
    /// The composed declaration the value was validated against.
    pub effective: Token,
    /// The edit-target layer's own declaration.
    pub local: Token,
}

/// Lifts a value-type failure to its own stage variant and keeps every other
/// layer failure under [`Layer`](StageAuthoringError::Layer).
impl From<sdf::AuthoringError> for StageAuthoringError {
    fn from(error: sdf::AuthoringError) -> Self {
        match error {
            sdf::AuthoringError::ValueType(error) => Self::ValueType(error),
            other => Self::Layer(other),
        }
    }
}

impl From<sdf::DataError> for StageAuthoringError {
    fn from(error: sdf::DataError) -> Self {
        Self::Layer(error.into())
    }
}

impl From<sdf::SpecError> for StageAuthoringError {
    fn from(error: sdf::SpecError) -> Self {
        Self::Layer(error.into())
    }
}

impl From<sdf::EditError> for StageAuthoringError {
    fn from(error: sdf::EditError) -> Self {
        match error {
            sdf::EditError::Author(e) => Self::from(e),
            sdf::EditError::Rejected(e) => Self::Rejected(e),
        }
    }
}

/// Shared state behind a [`Stage`] handle.
///
/// Owns the loaded layer stack and the composed-scene state. Composition
/// indices are built lazily and cached in the [`IndexCache`](crate::pcp::IndexCache).
/// Reached through [`Stage`]'s [`Deref`](std::ops::Deref); every mutation
/// goes through a per-field cell so it works from any cloned handle.
///
/// `pub` only to satisfy the `Deref` impl on the public `Stage` (a private
/// `Target` would be an E0446 leak); the enclosing `stage` module is
/// private and this type is not re-exported, so it is not externally
/// nameable, and all its fields are private.
pub struct StageInner {
    /// The composed state — layer graph, composition cache, and the queue of
    /// edits awaiting a recompose — behind the operations that name which side
    /// of the pending drain each access sits on.
    composition: StageComposition,
    /// Initial payload loading behavior for this stage.
    initial_load_set: InitialLoadSet,
    /// The population epoch of the last completed prototype-discovery pass, or
    /// `None` when none has completed. Stage population is what fills the
    /// prototype registry, so a query addressing the `/__Prototype_N` namespace
    /// runs [`Stage::discover_prototypes`] whenever this no longer matches the
    /// cache's epoch. See [`Stage::resolve_prototype_path`].
    prototypes_discovered: Cell<Option<u64>>,
    /// Stage-level interpolation mode for time-sampled attributes
    /// (AOUSD §12.5). Defaults to [`InterpolationType::Linear`] per
    /// spec.
    interpolation_type: Cell<InterpolationType>,
    /// Where authored opinions land. Defaults to the root layer.
    edit_target: RefCell<EditTarget>,
    /// This stage's root layer stack identity (root + session + resolver
    /// identity). Computed once at open and stable for the stage's life — the
    /// root and session layers and the resolver never change after
    /// construction. Stamped onto stage-bound edit targets and read by the
    /// cross-stage guard, both without recomputing.
    layer_stack_id: pcp::LayerStackIdentifier,
    /// Installed stage-tier change sinks (C++ `UsdNotice` registrations,
    /// generalized), fanned out after each recompose and on lifecycle changes.
    /// Empty by default, so the no-sink path allocates nothing extra.
    ///
    /// Held under a shared borrow for the duration of a fan-out, so a sink may
    /// re-author the stage (a re-entrant fan-out takes its own shared borrow), but
    /// must not add or remove sinks from within a callback — that would borrow the
    /// set mutably while the fan-out holds it shared, and panic.
    sinks: RefCell<sdf::sink::Set<dyn StageSink>>,
    /// The [`Provenance`] a stage authoring method publishes for the commit
    /// currently underway, read by the aggregator as it records into
    /// [`StageComposition`]'s queue. `None` for a direct edit, which the drain
    /// resolves from local-layer membership.
    edit_provenance: RefCell<Option<Provenance>>,
    /// The transaction id of the layer commit currently draining, cached from its
    /// [`PendingLayerChange`](sdf::PendingLayerChange) by the aggregator's
    /// `before_commit` so the matching `after_commit`
    /// ([`record_pending`](Stage::record_pending)) can stamp it onto the queued
    /// edit, which [`process_pending`](Stage::process_pending) then groups by. The
    /// id is minted once per atomic transaction by `sdf::edit_layers`, so a
    /// stage-authored batch and a direct [`layer_mut`](Stage::layer_mut) edit are
    /// each one transaction without the stage tracking any boundary of its own.
    current_generation: Cell<u64>,
    /// The schemas this stage resolves fallback values against. Pinned at open,
    /// so the definitions a prim reads never shift under it.
    schema_registry: Arc<SchemaRegistry>,
    /// Which prim is of which schema type, so a fallback read does not recompose
    /// `typeName` and `apiSchemas` every time. The registry holds the composed
    /// definitions themselves; this only remembers which one each path resolved
    /// to, and is dropped wholesale when composition moves on.
    prim_types: RefCell<PrimTypeMemo>,
}

/// Which of a prim's composed answers a stage query reads. C++ keeps a
/// prim's source index (`Usd_PrimData::GetSourcePrimIndex`) apart from the
/// index its opinions are read through (`GetPrimIndex`), and the two differ
/// only for a prototype root, whose opinions read empty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// Children, validity, flags and instancing, from the source index.
    Source,
    /// Values, metadata, properties and stacks, which a prototype root lacks.
    Opinions,
}

impl Reads {
    /// What a spec query at `path` reads: a property is one of its prim's
    /// opinions, and the prim's own spec is part of its source.
    fn spec_of(path: &sdf::Path) -> Self {
        match path.is_property_path() {
            true => Reads::Opinions,
            false => Reads::Source,
        }
    }
}

/// Per-prim schema type handles, valid as of one pair of composition epochs.
///
/// This is the stage-local half of prim type resolution: the registry caches
/// definitions by type identity, and this remembers which identity each prim
/// currently has.
///
/// Two epochs stamp it, because a prim's identity moves in two unrelated ways.
/// Authoring `typeName`, `apiSchemas`, or the stage's `fallbackPrimTypes` moves
/// it directly, which is the type-opinion epoch; and any structural change —
/// a reference, a variant switch, muting, a load rule, a prim removal — can
/// change which opinion wins without authoring a type field at all, which is
/// exactly what the population epoch already tracks. Neither covers the other,
/// and a value-only edit advances neither, which is the point.
///
/// A move of either drops the whole memo — cheap, since re-deriving one prim's
/// identity is two composed reads, and it keeps the map bounded by the prims
/// queried since the last one.
#[derive(Default, PartialEq, Eq, Clone, Copy)]
struct TypeEpochs {
    /// See [`pcp::IndexCache::type_opinion_epoch`].
    opinions: u64,
    /// See [`pcp::IndexCache::population_epoch`].
    population: u64,
}

#[derive(Default)]
struct PrimTypeMemo {
    epochs: TypeEpochs,
    types: HashMap<sdf::Path, Arc<PrimTypeInfo>>,
}

impl PrimTypeMemo {
    /// The remembered type of a prim, if it was resolved under the epochs still
    /// in effect.
    fn lookup(&self, epochs: TypeEpochs, path: &sdf::Path) -> Option<Arc<PrimTypeInfo>> {
        if self.epochs != epochs {
            return None;
        }
        self.types.get(path).cloned()
    }

    /// Remembers a prim's type, discarding everything resolved under earlier
    /// epochs.
    fn remember(&mut self, epochs: TypeEpochs, path: sdf::Path, info: Arc<PrimTypeInfo>) {
        if self.epochs != epochs {
            self.types.clear();
            self.epochs = epochs;
        }
        self.types.insert(path, info);
    }
}

/// A composed USD stage.
///
/// A cheap reference-counted handle to the shared `StageInner` (mirroring
/// C++ `UsdStageRefPtr`). Cloning bumps the refcount; the composed handles
/// ([`Prim`](super::Prim) and friends) hold a clone, so they can be stored
/// and outlive the call that produced them. Provides composed access to
/// prims, properties, and metadata.
#[derive(Clone)]
pub struct Stage(Rc<StageInner>);

impl composition::CompositionHooks for Stage {
    fn attach_layer_sink(&self, id: pcp::LayerId, layer: &mut sdf::Layer) {
        layer.add_sink(StageAggregator {
            stage: self.downgrade(),
            layer_id: id,
            prior_default_prim: Cell::new(None),
        });
    }

    fn wants_notice(&self) -> bool {
        !self.sinks.borrow().is_empty()
    }

    fn notify(&self, notice: composition::CompositionNotice) {
        let change = notice
            .payload
            .committed_change(&notice.layer_identifier, &notice.provenance, notice.generation);
        for sink in self.sinks.borrow().iter() {
            sink.after_commit(self, &change);
        }
    }
}

impl Stage {
    /// Drain the layer edits recorded by the aggregators and drive one
    /// composition recompose per snapshot, delivering each composed
    /// [`CommittedChange`](super::CommittedChange) to the stage sinks. The
    /// deferred counterpart to a layer commit: an aggregator records the edit
    /// while the layer graph is borrowed, and this runs once that borrow is
    /// released — after each authoring call, and before any composed read.
    ///
    /// The public re-entry boundary for reconciliation; the drain itself, and
    /// the quiescence rule it runs under, belong to
    /// [`StageComposition`].
    pub(crate) fn process_pending(&self) {
        self.composition.process_pending(self);
    }
}

/// Two handles are equal when they share one stage instance, as C++
/// `UsdStageRefPtr`s compare by pointer. Two stages that compose the same
/// content are still different stages.
impl PartialEq for Stage {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stage {}

/// Hashes the stage instance, consistent with its [`PartialEq`].
impl Hash for Stage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Rc::as_ptr(&self.0).hash(state);
    }
}

impl std::ops::Deref for Stage {
    type Target = StageInner;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl fmt::Debug for Stage {
    /// The root layer stack identity names the stage; the composition state
    /// behind it is elided.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage")
            .field("layer_stack_id", &self.layer_stack_id)
            .finish_non_exhaustive()
    }
}

/// A non-owning handle to a [`Stage`] (C++ `UsdStageWeakPtr`).
///
/// Holds no strong reference, so it does not keep the stage alive. Obtain one
/// with [`Stage::downgrade`] and recover a strong handle with
/// [`WeakStage::upgrade`]. Capture this — not a [`Stage`] clone — inside a
/// change listener that must retain stage access across calls, so the listener
/// does not form a reference cycle that leaks the stage.
#[derive(Clone)]
pub struct WeakStage(Weak<StageInner>);

impl WeakStage {
    /// Recover a strong [`Stage`] handle, or `None` if every strong handle has
    /// been dropped.
    pub fn upgrade(&self) -> Option<Stage> {
        self.0.upgrade().map(Stage)
    }
}

/// Resets [`StageInner::edit_provenance`] to `None` on drop, so the provenance a
/// stage edit publishes for its aggregator is cleared on every exit — including a
/// panicking sink — and never leaks into a later commit.
struct ClearEditProvenance<'a>(&'a RefCell<Option<Provenance>>);

impl Drop for ClearEditProvenance<'_> {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// The [`sdf::LayerSink`] a [`Stage`] installs on every layer it owns (through
/// [`intern_layer`](composition::StageComposition::intern_layer)) to bridge the low tier of the change
/// pipeline to the high tier: it records each commit into
/// [`StageComposition`]'s pending queue for a composed recompose, and forwards the
/// staged pre-commit edit to the stage's [`StageSink`]s. It holds a
/// [`WeakStage`] so it forms no reference cycle (the stage owns the layer, which
/// owns this sink).
struct StageAggregator {
    stage: WeakStage,
    layer_id: pcp::LayerId,
    /// The layer's `defaultPrim` token as `before_commit` saw it, for the
    /// matching `after_commit` to hand to the composition queue.
    ///
    /// Composition classification runs after the commit, by which point the
    /// pre-edit values are gone, and it needs this one to fan a `defaultPrim`
    /// edit out the way C++ `PcpChanges` does. One sink is installed per layer,
    /// and `sdf::edit_layers` runs every `before_commit` ahead of any
    /// `after_commit`, so sink-local scratch stays correct across a multi-layer
    /// transaction — and a vetoed commit simply leaves a value the next
    /// `before_commit` overwrites.
    prior_default_prim: Cell<Option<Token>>,
}

impl sdf::LayerSink for StageAggregator {
    fn before_commit(&self, change: &sdf::PendingLayerChange<'_>) -> Result<(), sdf::sink::Error> {
        // Only a commit that staged something on the pseudo-root can have touched
        // the field, and the overlay answers that in one probe — the change list
        // is a flat vector, so scanning it would cost a walk per commit. A
        // pseudo-root edit that left `defaultPrim` alone reads a value nothing
        // consumes, which is cheaper than finding out. An absent field, an
        // unreadable one, and a non-token value all record `None`: no prior prim,
        // the conservative fanout.
        let prior = change
            .overlay
            .keys()
            .any(sdf::Path::is_abs_root)
            .then(|| sdf::PseudoRootSpecRef::get(change.base)?.default_prim())
            .flatten();
        self.prior_default_prim.set(prior);
        if let Some(stage) = self.stage.upgrade() {
            // Cache this transaction's id (minted by `sdf::edit_layers`) for the
            // matching `after_commit`'s `record_pending` to read; `before_commit`
            // fires for a layer before its `after_commit`, and every layer of a
            // transaction shares one id, so the cache is correct for each.
            stage.current_generation.set(change.generation);
            stage.forward_before_commit(change);
        }
        Ok(())
    }

    fn after_commit(&self, _layer: &str, changes: &sdf::ChangeList) {
        let prior = self.prior_default_prim.take();
        if let Some(stage) = self.stage.upgrade() {
            stage.record_pending(self.layer_id, changes.clone(), prior);
        }
    }
}

impl Stage {
    /// Opens a stage from a root layer file using the [`ar::DefaultResolver`].
    ///
    /// An error opening the root layer fails. Recoverable composition errors in
    /// transitive dependencies are available through
    /// [`Stage::composition_errors`].
    pub fn open(root_path: &str) -> Result<Self> {
        Self::builder().open(root_path)
    }

    /// Creates a [`StageBuilder`] for configuring how the stage is opened.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use openusd::usd;
    ///
    /// let stage = usd::Stage::builder().open("scene.usda").unwrap();
    /// ```
    pub fn builder() -> StageBuilder {
        StageBuilder::new()
    }

    /// Returns composition errors encountered while composing this stage.
    ///
    /// Unique by structural equality: one failure reads once, however many
    /// owners hold it and however many passes found it. Two prims failing the
    /// same way at the same site are therefore one entry, so the length counts
    /// distinct failures rather than affected prims.
    ///
    /// Combines the layer graph's current diagnostics (sublayer cycles and
    /// invalid relocates, always reflecting present graph state) with the
    /// cache's per-prim build errors. Prim indices are built lazily, so the
    /// per-prim half is a snapshot of errors discovered by stage queries
    /// performed so far.
    ///
    /// A muted branch's missing/unreadable sublayer, which the loader recorded raw,
    /// is filtered out here against the current composed state — the referring layer
    /// contributes nothing, or the sublayer itself is muted — so muting suppresses
    /// the diagnostic and unmuting restores it, without the one-shot error ever
    /// being discarded.
    pub fn composition_errors(&self) -> Vec<pcp::CompositionDiagnostic> {
        self.process_pending();
        self.composition.settled_errors()
    }

    /// Returns the current edit target — the layer that authoring methods
    /// write into.
    pub fn edit_target(&self) -> EditTarget {
        self.edit_target.borrow().clone()
    }

    /// Whether `target` is still the stage's edit target, borrowing it rather
    /// than cloning it to compare.
    pub(super) fn holds_edit_target(&self, target: &EditTarget) -> bool {
        *self.edit_target.borrow() == *target
    }

    /// Maps a stage time to the spec time the current edit target writes a
    /// time sample at, borrowing the target rather than cloning it. See
    /// [`EditTarget::map_to_spec_time`].
    pub(super) fn map_to_spec_time(&self, stage_time: f64) -> f64 {
        self.edit_target.borrow().map_to_spec_time(stage_time)
    }

    /// Maps a stage value authored on the object at `object_path` to the one
    /// the current edit target authors, borrowing the target rather than
    /// cloning it. See [`EditTarget::map_to_spec_value`].
    pub(super) fn map_to_spec_value(&self, object_path: &sdf::Path, value: impl Into<sdf::Value>) -> sdf::Value {
        self.edit_target.borrow().map_to_spec_value(object_path, value)
    }

    /// The current edit target's layer identifier and the spec path
    /// `scene_path` maps to on it, read under a short borrow of the target
    /// (which owns a heap `MapFunction`) so no layer borrow overlaps it.
    /// `OutsideEditTarget` when the mapping does not reach `scene_path`.
    fn target_spec_path(&self, scene_path: &sdf::Path) -> Result<(String, sdf::Path), StageAuthoringError> {
        let target = self.edit_target.borrow();
        let spec_path = target
            .map_to_spec_path(scene_path)
            .ok_or_else(|| StageAuthoringError::OutsideEditTarget {
                path: scene_path.clone(),
            })?;
        Ok((target.layer_identifier.clone(), spec_path))
    }

    /// Refuses an edit that instancing makes meaningless
    /// (C++ `_ValidateEditPrimAtPath`): an opinion authored at a prototype
    /// path or beneath an instance composes nowhere it can be seen. Only a
    /// target on a local layer that maps the prim to itself is checked; one
    /// that maps it elsewhere — a reference arc's layer, say — is trusted
    /// to have been set up to author the site it names, as C++ trusts it.
    /// `identifier` names the target's layer.
    fn validate_edit_prim(&self, scene_path: &sdf::Path, identifier: &str) -> Result<(), StageAuthoringError> {
        let prim = scene_path.prim_path();
        let maps_to_self = self.edit_target.borrow().map_to_spec_path(&prim).as_ref() == Some(&prim);
        if !maps_to_self || !self.is_local_layer(identifier) {
            return Ok(());
        }
        // The prototype namespace is reserved, so its spelling alone convicts
        // (C++ `Usd_InstanceCache::IsPathInPrototype`).
        if pcp::is_prototype_namespace(&prim) {
            return Err(StageAuthoringError::PrototypeEdit { path: prim });
        }
        // Anything beneath an instance is a proxy, whether or not a prim
        // composes there yet (C++ `_IsObjectDescendantOfInstance`).
        if self
            .with_cache(|g, cache| cache.enclosing_instance(g, &prim))?
            .is_some()
        {
            return Err(StageAuthoringError::InstanceProxyEdit { path: prim });
        }
        Ok(())
    }

    /// Refuses a property write on a prim the stage's population excludes: one
    /// outside the population mask or below an inactive prim, where C++ holds
    /// no `UsdPrim` to author through. A prim nothing composes yet passes at
    /// any depth, so an edit target can author inside a variant the stage has
    /// not selected.
    pub(super) fn require_included(&self, scene_path: &sdf::Path) -> Result<(), StageAuthoringError> {
        let prim = scene_path.prim_path();
        if self.with_cache(|g, c| c.population_excludes(g, &prim))? {
            return Err(StageAuthoringError::PrimNotValid { path: prim });
        }
        Ok(())
    }

    /// Whether the layer `identifier` names is in the stage's root layer stack
    /// (C++ `UsdStage::HasLocalLayer`).
    fn is_local_layer(&self, identifier: &str) -> bool {
        let layers = self.layers();
        layers
            .id_of(identifier)
            .is_some_and(|id| layers.root_layer_stack().iter().any(|&(member, _)| member == id))
    }

    /// Read the current edit target's layer at the spec path `scene_path`
    /// maps to, outside any transaction and under a short borrow of the layer
    /// graph: what a write consults before it opens its transaction.
    // TODO(perf): a planned write maps `scene_path` here and again in
    // `with_target_layer_at`; carrying the resolved site in the plan would
    // spare the second mapping.
    fn read_target_layer<T>(
        &self,
        scene_path: &sdf::Path,
        read: impl FnOnce(&sdf::Layer, &sdf::Path) -> T,
    ) -> Result<T, StageAuthoringError> {
        let (identifier, spec_path) = self.target_spec_path(scene_path)?;
        let layers = self.layers();
        let id = layers
            .id_of(&identifier)
            .ok_or(StageAuthoringError::LayerNotFound { layer: identifier })?;
        Ok(read(layers.layer(id), &spec_path))
    }

    /// The kind of spec the current edit target's layer holds at the mapped
    /// `scene_path`, or `None` when it holds none: the first step of
    /// [`plan_property_spec`](super::authoring::plan_property_spec).
    pub(super) fn local_spec_type(&self, scene_path: &sdf::Path) -> Result<Option<sdf::SpecType>, StageAuthoringError> {
        self.read_target_layer(scene_path, |layer, path| layer.data().spec_type(path))
    }

    /// The opinion the current edit target's layer holds for `key` at the
    /// mapped `scene_path`, or `None` when it holds none. Fallible so an
    /// undecodable local field surfaces instead of reading back as absent.
    pub(super) fn local_field(
        &self,
        scene_path: &sdf::Path,
        key: &str,
    ) -> Result<Option<sdf::Value>, StageAuthoringError> {
        let value = self.read_target_layer(scene_path, |layer, path| {
            layer
                .data()
                .try_field(path, key)
                .map(|value| value.map(|value| value.into_owned()))
        })?;
        Ok(value?)
    }

    /// This stage's cached root layer stack identity, stamped onto stage-bound
    /// edit targets so one built against this stage's composition is rejected by
    /// an unrelated stage.
    fn layer_stack_id(&self) -> &pcp::LayerStackIdentifier {
        &self.layer_stack_id
    }

    /// An [`EditTarget`] tagged with this stage's identity, so it is rejected by
    /// another stage's [`set_edit_target`](Self::set_edit_target).
    fn bound_target(&self, layer_identifier: String, mapping: pcp::MapFunction) -> EditTarget {
        EditTarget {
            layer_identifier,
            mapping,
            layer_stack: Some(self.layer_stack_id().clone()),
            authoring_stack: None,
        }
    }

    /// Edit target for the stage's root layer, with an identity mapping. The
    /// target installed by default when a stage is opened.
    pub fn edit_target_root(&self) -> EditTarget {
        let identifier = self
            .layers()
            .root_layer()
            .map(|l| l.identifier().to_string())
            .unwrap_or_default();
        self.bound_target(identifier, pcp::MapFunction::identity())
    }

    /// Edit target for the stage's strongest session layer, or `None` when the
    /// stage has no session layer.
    pub fn edit_target_session(&self) -> Option<EditTarget> {
        let layers = self.layers();
        let &id = layers.session_layers().first()?;
        Some(self.bound_target(layers.identifier(id).to_string(), pcp::MapFunction::identity()))
    }

    /// Edit target that authors into the source layer of the strongest `arc`
    /// composition arc on `prim_path` (C++ `UsdEditTarget(UsdPrim, ...)`).
    ///
    /// Builds (or reuses) the prim's composition index, finds the strongest node
    /// of the requested arc kind that authors a spec, and captures that node's
    /// target layer and namespace mapping, so authoring a composed path lands at
    /// the corresponding spec path in the arc's source layer. Returns
    /// [`StageAuthoringError::NoArcNode`] when `prim_path` has no such arc (an
    /// unloaded payload contributes no node).
    ///
    /// When `prim_path` is an instance proxy, the target addresses the shared
    /// prototype: its mapping is expressed in the `/__Prototype_N` namespace
    /// (not the proxy's), so authoring goes through prototype-namespace paths and
    /// affects every instance. A proxy-namespace path does not reach the arc
    /// source — it falls outside the mapping's explicit domain — so author
    /// through the prototype path obtained from
    /// [`Prim::prototype`](super::Prim::prototype).
    ///
    /// The captured mapping carries the arc's composed time offset, so a time
    /// sample authored through the target is retimed into the source layer by
    /// [`EditTarget::map_to_spec_time`].
    pub fn edit_target_for_node(
        &self,
        prim_path: &sdf::Path,
        arc: EditTargetArc,
    ) -> Result<EditTarget, StageAuthoringError> {
        // Composes the prim (loading any reference/payload target on demand) so
        // the arc lookup reads the current, fully-resolved composition.
        let info = self.with_cache(|graph, cache| cache.edit_target_node_info(graph, prim_path, |a| arc.matches(a)))?;
        let (layer_identifier, mapping, stack_info) = info.ok_or_else(|| StageAuthoringError::NoArcNode {
            path: prim_path.clone(),
            arc,
        })?;
        let mut target = self.bound_target(layer_identifier, mapping);
        // Record the node's own layer stack so the namespace editor authors into
        // it exactly, rather than inferring it from layer membership.
        target.authoring_stack = Some(Box::new(stack_info));
        Ok(target)
    }

    /// Replace the current edit target. Subsequent authoring calls write to
    /// the new target's layer.
    ///
    /// Validates that `target.layer_identifier()` names a layer in this stage so
    /// a bad target surfaces here, not on some later unrelated authoring call.
    /// An arc target built against a different stage is rejected with
    /// [`StageAuthoringError::EditTargetWrongStage`].
    pub fn set_edit_target(&self, target: EditTarget) -> Result<(), StageAuthoringError> {
        if target
            .layer_stack
            .as_ref()
            .is_some_and(|id| id != self.layer_stack_id())
        {
            return Err(StageAuthoringError::EditTargetWrongStage);
        }
        if self.layers().id_of(target.layer_identifier()).is_none() {
            return Err(StageAuthoringError::LayerNotFound {
                layer: target.layer_identifier().to_string(),
            });
        }

        self.replace_edit_target(target);
        Ok(())
    }

    /// Store `target` as the edit target, notifying sinks via
    /// [`StageSink::edit_target_changed`] when it differs from the current one.
    /// The shared core of
    /// [`set_edit_target`](Self::set_edit_target) and the [`EditContext`] restore;
    /// it performs no validation. The notification is skipped while the thread is
    /// unwinding — an [`EditContext`] may restore during a panic, where a
    /// listener panic would abort the process.
    fn replace_edit_target(&self, target: EditTarget) {
        let mut changed = false;
        self.edit_target.replace_with(|current| {
            changed = *current != target;
            target
        });
        if changed && !std::thread::panicking() {
            for sink in self.sinks.borrow().iter() {
                sink.edit_target_changed(self);
            }
        }
    }

    /// Scope a temporary edit-target switch. Sets `target` as the current edit
    /// target and returns an [`EditContext`] guard that restores the previous
    /// target when dropped — including on early return via `?`. Mirrors C++
    /// `UsdEditContext`.
    ///
    /// Returns an error (leaving the current target unchanged) when `target`
    /// fails the same validation as [`set_edit_target`](Self::set_edit_target).
    pub fn edit_context(&self, target: EditTarget) -> Result<EditContext<'_>, StageAuthoringError> {
        let saved = self.edit_target.borrow().clone();
        self.set_edit_target(target)?;
        Ok(EditContext { stage: self, saved })
    }

    /// Author a `def` prim spec at `path` on the edit target's layer and
    /// return a [`Prim`](super::Prim) handle (C++ `UsdStage::DefinePrim` with no
    /// type). The returned handle lets callers chain field setters (`set_type_name`,
    /// `set_active`, `set_kind`, …) and child-property authoring
    /// (`create_attribute`, `create_relationship`) on a prim the stage
    /// composes. One it will not compose — outside its population mask, below
    /// an inactive prim, or inside a variant it has not selected — takes no
    /// setter, and gets its type through
    /// [`define_typed_prim`](Self::define_typed_prim).
    pub fn define_prim(&self, path: impl sdf::IntoPath) -> Result<super::Prim, StageAuthoringError> {
        self.define_typed_prim(path, "")
    }

    /// Author a `def` prim spec typed `type_name` at `path` on the edit
    /// target's layer, in one write, and return a [`Prim`](super::Prim) handle
    /// (C++ `UsdStage::DefinePrim(path, typeName)`). An existing spec is upgraded
    /// to a `def` and retyped; an empty `type_name` leaves its type alone,
    /// which is [`define_prim`](Self::define_prim).
    pub fn define_typed_prim(
        &self,
        path: impl sdf::IntoPath,
        type_name: impl Into<String>,
    ) -> Result<super::Prim, StageAuthoringError> {
        let path = sdf::try_into_path(path)?;
        let type_name = type_name.into();
        self.with_target_layer_at(&path, |layer, layer_path| {
            // The layer records the spec add and any auto-created ancestor
            // `over`s; an idempotent call (an existing def of that type)
            // records nothing because deriving the change skips the no-op
            // write.
            sdf::PrimSpec::new(layer.data_mut(), layer_path, sdf::Specifier::Def, type_name)?;
            Ok(())
        })?;
        Ok(super::Prim::new(self, path))
    }

    /// Ensure a prim spec exists at `path` and return a [`Prim`](super::Prim)
    /// handle. Mirrors C++ `UsdStage::OverridePrim`. If a spec already exists at
    /// `path` its specifier is left untouched — `override_prim` does not
    /// downgrade an existing `def` or `class` to `over`. Chain fluent
    /// setters on the returned handle to author additional fields.
    pub fn override_prim(&self, path: impl sdf::IntoPath) -> Result<super::Prim, StageAuthoringError> {
        let path = sdf::try_into_path(path)?;
        self.with_target_layer_at(&path, |layer, layer_path| {
            sdf::PrimSpec::over(layer.data_mut(), layer_path)?;
            Ok(())
        })?;
        Ok(super::Prim::new(self, path))
    }
    /// Author an attribute spec at a property path on the edit target's layer,
    /// following C++ `UsdPrim::CreateAttribute`'s contract: an attribute
    /// already at the edit target is returned untouched, whatever type it
    /// declares; otherwise the declaration composition finds — the schema's,
    /// else the strongest authored spec's — is stamped. Only an attribute
    /// nothing declares is created with `type_name`, variability `Varying`
    /// and `custom = true`, the supplied type being checked (an empty spelling
    /// is rejected) only in that case. A
    /// relationship at the path is
    /// [`SpecKindMismatch`](StageAuthoringError::SpecKindMismatch), and a prim
    /// the stage does not hold — outside the population mask or below an
    /// inactive prim — is [`PrimNotValid`](StageAuthoringError::PrimNotValid).
    pub fn create_attribute(
        &self,
        path: impl sdf::IntoPath,
        type_name: impl Into<sdf::ValueTypeName>,
    ) -> Result<super::Attribute, StageAuthoringError> {
        self.attribute_builder(path, type_name).build()
    }

    /// The same authoring, with what the attribute is declared as — and the
    /// value it starts with — left to the caller. Everything the builder
    /// carries is authored as one edit of the target layer.
    pub fn attribute_builder(
        &self,
        path: impl sdf::IntoPath,
        type_name: impl Into<sdf::ValueTypeName>,
    ) -> super::AttributeBuilder<'static> {
        super::AttributeBuilder::new(self.property_site(path), type_name.into())
    }

    /// Author a relationship spec at a property path on the edit target's
    /// layer, following C++ `UsdPrim::CreateRelationship`'s contract: a
    /// relationship already at the edit target is returned untouched;
    /// otherwise the declaration composition finds — the schema's, else the
    /// strongest authored spec's — is stamped. Only a relationship nothing
    /// declares is created `custom` and uniform, as C++ generic property
    /// authoring does; a
    /// [`relationship_builder`](Self::relationship_builder) says otherwise. An
    /// attribute at the path is
    /// [`SpecKindMismatch`](StageAuthoringError::SpecKindMismatch), and a prim
    /// the stage does not hold is
    /// [`PrimNotValid`](StageAuthoringError::PrimNotValid).
    pub fn create_relationship(&self, path: impl sdf::IntoPath) -> Result<super::Relationship, StageAuthoringError> {
        self.relationship_builder(path).build()
    }

    /// The same authoring, with the declaration left to the caller.
    pub fn relationship_builder(&self, path: impl sdf::IntoPath) -> super::RelationshipBuilder<'static> {
        super::RelationshipBuilder::new(self.property_site(path))
    }

    /// The stage and property path a builder authors at, or what naming them
    /// hit: the stage-tier counterpart of `Prim::property_target`.
    fn property_site(&self, path: impl sdf::IntoPath) -> Result<(Stage, sdf::Path), StageAuthoringError> {
        Ok((self.clone(), sdf::try_into_path(path)?))
    }

    /// Author several properties as one transaction.
    ///
    /// `f` receives the transaction: [`StageEdit`](super::StageEdit) offers the
    /// same authoring entry points this stage does, and the property builders
    /// they hand out queue their property rather than committing it. The queue
    /// is stamped and written together when `f` returns — all of it, or on any
    /// error none of it — and `f`'s own value comes back once it commits, so
    /// the handle a caller wants returns through it.
    ///
    /// Reads inside `f` see the stage as it stands, not what the batch has
    /// queued. A builder taken from the stage or a [`Prim`](super::Prim) still
    /// commits on its own, so where a builder came from is what decides whether
    /// it is part of the transaction.
    ///
    /// The batch is tied to the edit target it opened on, and moving that
    /// target inside `f` is [`StageAuthoringError::EditTargetMoved`]: a queued
    /// property has already resolved its spec path, its value and its sample
    /// time through the target it was planned against.
    ///
    /// The error is the closure's own: any type a [`StageAuthoringError`]
    /// converts into, so a caller layered on the stage reports its failures
    /// through the same transaction. A closure that ends in a bare `Ok` names
    /// the type, as `Ok::<_, StageAuthoringError>(..)`.
    ///
    /// ```
    /// # use openusd::usd;
    /// # fn main() -> openusd::Result<()> {
    /// let stage = usd::Stage::builder().in_memory("anon.usda")?;
    /// stage.define_prim("/Cylinder")?;
    ///
    /// let radius = stage.edit(|edit| {
    ///     let cylinder = edit.prim("/Cylinder")?;
    ///     cylinder.attribute_builder("height", "double").set(2.0).build()?;
    ///     cylinder.attribute_builder("radius", "double").set(1.0).build()
    /// })?;
    ///
    /// assert_eq!(radius.get::<f64>()?, Some(1.0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn edit<T, E>(&self, f: impl FnOnce(&super::StageEdit) -> Result<T, E>) -> Result<T, E>
    where
        E: From<StageAuthoringError>,
    {
        let edit = super::StageEdit::new(self);
        let value = f(&edit)?;
        edit.commit()?;
        Ok(value)
    }

    /// Remove the prim spec at `path` (and its descendant specs) from the
    /// current edit target's layer. Mirrors C++ `UsdStage::RemovePrim`.
    ///
    /// Returns `true` when a spec was present and removed, `false` when the
    /// edit-target layer had nothing at `path`. The removal is authored on the
    /// current [`EditTarget`], delivers a `CommittedChange` to sinks, and invalidates
    /// the affected composition subtree — a prim removed from the edit-target
    /// layer drops out of the composed stage when no weaker layer still defines
    /// it.
    pub fn remove_prim(&self, path: impl sdf::IntoPath) -> Result<bool, StageAuthoringError> {
        let path = sdf::try_into_path(path)?;
        if path.is_property_path() {
            return Err(sdf::AuthoringError::InvalidPath {
                path,
                reason: "remove_prim expects a prim path, got a property path",
            }
            .into());
        }
        self.remove_spec(&path)
    }

    /// Remove the property spec (attribute or relationship) at `path` from the
    /// current edit target's layer. Mirrors C++ `UsdPrim::RemoveProperty`.
    ///
    /// Returns `true` when a spec was present and removed, `false` when the
    /// edit-target layer had nothing at `path`. The removal is authored on the
    /// current [`EditTarget`], delivers a `CommittedChange` to sinks, and invalidates
    /// the owning prim.
    pub fn remove_property(&self, path: impl sdf::IntoPath) -> Result<bool, StageAuthoringError> {
        let path = sdf::try_into_path(path)?;
        if !path.is_property_path() {
            return Err(sdf::AuthoringError::InvalidPath {
                path,
                reason: "remove_property expects a property path, got a prim path",
            }
            .into());
        }
        self.remove_spec(&path)
    }

    /// Erase the spec at `path` on the current edit target's layer, routing
    /// through [`with_target_layer_at`](Self::with_target_layer_at) so the edit
    /// target mapping, change recording, invalidation, and notice all run. The
    /// returned `bool` reflects whether the erase recorded any change, which is
    /// exactly whether a spec was present. Shared by [`remove_prim`](Self::remove_prim)
    /// and [`remove_property`](Self::remove_property).
    ///
    /// Runs without the instancing validation of `with_target_layer_at`, as
    /// C++ `_RemovePrim` / `_RemoveProperty` do: stripping a layer's stale
    /// opinion beneath an instance or at a prototype path is what removal is
    /// for.
    fn remove_spec(&self, path: &sdf::Path) -> Result<bool, StageAuthoringError> {
        let (identifier, spec_path) = self.target_spec_path(path)?;
        self.edit_target_layer(identifier, spec_path, |layer, layer_path| {
            layer.remove_spec(&layer_path)?;
            Ok(())
        })
    }

    /// Author `defaultPrim` on the stage's root layer.
    ///
    /// `defaultPrim` is a layer-level field that resolves from the root
    /// layer only (AOUSD §12.2.7), so this method always writes to the root
    /// layer regardless of the current [`EditTarget`]. Mirrors C++
    /// `UsdStage::SetDefaultPrim` which routes through `GetRootLayer()`.
    ///
    /// `name` must name a prim, in either spelling — `"World"`, `"World/Char"`,
    /// or `"/World/Char"`. See [`sdf::LayerEdit::set_default_prim`].
    pub fn set_default_prim(&self, name: impl Into<String>) -> Result<(), StageAuthoringError> {
        let name = name.into();
        self.with_root_layer(|layer| {
            // The layer records the `defaultPrim` change, and deriving it skips
            // cache invalidation when the value isn't changing.
            layer.set_default_prim(name)?;
            Ok(())
        })
    }

    /// Authors the root layer's `customLayerData` dictionary. Mirrors C++
    /// `UsdStage::GetRootLayer()->SetCustomLayerData()`: the write targets the
    /// root layer regardless of the current [`EditTarget`], pairing with
    /// [`Stage::custom_layer_data`].
    pub fn set_custom_layer_data(&self, value: impl Into<sdf::Value>) -> Result<(), StageAuthoringError> {
        let value = value.into();
        self.with_root_layer(|layer| {
            layer
                .pseudo_root_mut()?
                .set(sdf::FieldKey::CustomLayerData.as_str(), value);
            Ok(())
        })
    }

    /// A non-owning [`WeakStage`] handle to this stage (C++
    /// `UsdStage::GetWeakPtr`-style). Capture this inside a change listener that
    /// must retain stage access, so the listener does not leak the stage.
    pub fn downgrade(&self) -> WeakStage {
        WeakStage(Rc::downgrade(&self.0))
    }

    /// Install a [`StageSink`] (C++ `TfNotice::Register`, generalized) and
    /// return its [`StageSinkId`] for a later [`remove_sink`](Self::remove_sink).
    /// The sink stays installed until removed or the stage drops. A bare
    /// `Fn(&Stage, &CommittedChange)` closure is a sink, so this takes either a
    /// full sink type or a closure observer.
    ///
    /// Sinks observe each recompose ([`after_commit`](StageSink::after_commit))
    /// and lifecycle changes, fired after composition is invalidated and the
    /// stage borrows are released, so a sink may read or re-author the stage — but
    /// must not add or remove sinks from within a callback. A sink that retains
    /// stage access should capture a [`WeakStage`] from
    /// [`downgrade`](Self::downgrade), not a [`Stage`] clone (which would leak the
    /// stage through a reference cycle). To observe a single layer's edits
    /// regardless of composition, install an [`sdf::LayerSink`] on the layer
    /// instead.
    pub fn add_sink<S: StageSink + 'static>(&self, sink: S) -> StageSinkId {
        // Deliver any edit already committed (e.g. a direct `layer_mut` commit
        // awaiting drain) to the current set before this sink joins, so a sink
        // only ever observes edits committed after it was installed.
        self.process_pending();
        self.sinks.borrow_mut().add(Box::new(sink))
    }

    /// Remove the sink with the given [`StageSinkId`]; the inverse of
    /// [`add_sink`](Self::add_sink). A no-op if it was already removed.
    pub fn remove_sink(&self, id: StageSinkId) {
        // Deliver any already-committed edit to the full set, including this sink,
        // before it leaves — so it sees every edit committed while it was installed.
        self.process_pending();
        self.sinks.borrow_mut().remove(id);
    }

    /// The id of the layer the current edit target writes to, or
    /// [`StageAuthoringError::LayerNotFound`] when that layer is no longer in
    /// the stage. Resolves the edit-target identifier to its graph id, the
    /// shared step of the stage-metadata and diff-replay authoring paths.
    pub(super) fn edit_target_layer_id(&self) -> Result<pcp::LayerId, StageAuthoringError> {
        let identifier = self.edit_target.borrow().layer_identifier.clone();
        self.composition
            .authoring_graph()
            .id_of(&identifier)
            .ok_or(StageAuthoringError::LayerNotFound { layer: identifier })
    }

    /// Authors `startTimeCode` on the current edit target's layer, which must
    /// be the root or session layer; any other target fails with
    /// [`StageAuthoringError::StageMetadataTarget`].
    /// Mirrors C++ `UsdStage::SetStartTimeCode`.
    pub fn set_start_time_code(&self, time: f64) -> Result<(), StageAuthoringError> {
        self.with_stage_metadata_layer(|layer| layer.set_start_time_code(time))
    }

    /// Authors `endTimeCode` on the current edit target's layer, which must be
    /// the root or session layer; any other target fails with
    /// [`StageAuthoringError::StageMetadataTarget`].
    /// Mirrors C++ `UsdStage::SetEndTimeCode`.
    pub fn set_end_time_code(&self, time: f64) -> Result<(), StageAuthoringError> {
        self.with_stage_metadata_layer(|layer| layer.set_end_time_code(time))
    }

    /// Authors `timeCodesPerSecond` on the current edit target's layer, which
    /// must be the root or session layer; any other target fails with
    /// [`StageAuthoringError::StageMetadataTarget`].
    /// Mirrors C++ `UsdStage::SetTimeCodesPerSecond`.
    pub fn set_time_codes_per_second(&self, rate: f64) -> Result<(), StageAuthoringError> {
        self.with_stage_metadata_layer(|layer| layer.set_time_codes_per_second(rate))
    }

    /// Authors `framesPerSecond` on the current edit target's layer, which
    /// must be the root or session layer; any other target fails with
    /// [`StageAuthoringError::StageMetadataTarget`].
    /// Mirrors C++ `UsdStage::SetFramesPerSecond`.
    pub fn set_frames_per_second(&self, rate: f64) -> Result<(), StageAuthoringError> {
        self.with_stage_metadata_layer(|layer| layer.set_frames_per_second(rate))
    }

    /// Authors `expressionVariables` on the current edit target's layer, which
    /// must be the root or session layer; any other target fails with
    /// [`StageAuthoringError::StageMetadataTarget`].
    /// The dictionary supplies the values `${VAR}` expressions in sublayer asset
    /// paths and reference/payload targets resolve against; replacing it
    /// recomposes every prim whose composition reads the edited layer stack.
    pub fn set_expression_variables(&self, vars: HashMap<String, sdf::Value>) -> Result<(), StageAuthoringError> {
        self.with_stage_metadata_layer(|layer| layer.set_expression_variables(vars))
    }

    /// Map `scene_path` through the current edit target, borrow the target's
    /// layer, and hand both the layer and the mapped spec path to `f`, then
    /// drive cache invalidation from the [`sdf::ChangeList`] the closure
    /// returns.
    ///
    /// The closure receives the spec (layer-namespace) path; under a local
    /// target this equals `scene_path`, under a variant target it carries the
    /// `{set=sel}` segment. The closure must author at, and record its
    /// `ChangeList` against, that spec path — `did_change` consumes paths in
    /// layer namespace.
    ///
    /// Callers must drop any typed spec view inside the closure — the closure
    /// can't return a borrow from `&mut layer`. The returned [`sdf::ChangeList`]
    /// describes what was authored; an empty list means "no mutation
    /// happened" and skips invalidation.
    ///
    /// On an authoring error [`Layer::edit`](sdf::Layer::edit) has already rolled
    /// the layer back — the staged edits vanish and the backend is untouched — so
    /// the cache stays valid and no invalidation is needed.
    pub(super) fn with_target_layer_at<F>(&self, scene_path: &sdf::Path, f: F) -> Result<bool, StageAuthoringError>
    where
        F: FnOnce(&mut sdf::LayerEdit<'_>, sdf::Path) -> Result<(), StageAuthoringError>,
    {
        let (identifier, spec_path) = self.target_spec_path(scene_path)?;
        self.validate_edit_prim(scene_path, &identifier)?;
        self.edit_target_layer(identifier, spec_path, f)
    }

    /// [`with_target_layer_at`](Self::with_target_layer_at) for several paths
    /// at once: map each through the current edit target, borrow the target's
    /// layer, and hand it and the mapped spec paths — in the order the scene
    /// paths were given — to `f`.
    ///
    /// The edit target names one layer whatever path it maps, so the whole
    /// batch is one layer transaction, one change list, and one invalidation
    /// pass. An empty batch borrows nothing and reports no change.
    pub(super) fn with_target_layer_at_each<F>(
        &self,
        scene_paths: &[sdf::Path],
        f: F,
    ) -> Result<bool, StageAuthoringError>
    where
        F: FnOnce(&mut sdf::LayerEdit<'_>, Vec<sdf::Path>) -> Result<(), StageAuthoringError>,
    {
        if scene_paths.is_empty() {
            return Ok(false);
        }
        let identifier = self.edit_target.borrow().layer_identifier.clone();
        let mut spec_paths = Vec::with_capacity(scene_paths.len());
        // Properties of one prim are validated once between them: the check is
        // a composed query up the prim's ancestors, and a batch is usually
        // several properties of the same prim.
        let mut validated: Option<sdf::Path> = None;
        for scene_path in scene_paths {
            let prim = scene_path.prim_path();
            if validated.as_ref() != Some(&prim) {
                self.validate_edit_prim(scene_path, &identifier)?;
                validated = Some(prim);
            }
            spec_paths.push(self.target_spec_path(scene_path)?.1);
        }
        self.edit_target_layer(identifier, spec_paths, f)
    }

    /// Borrow the layer `identifier` names, hand it and `authored` — whatever
    /// the closure needs to say where it writes — to `f`,
    /// then drive cache invalidation from the closure's change list: the
    /// transaction behind [`with_target_layer_at`](Self::with_target_layer_at),
    /// once the target mapping and the instancing validation are done.
    fn edit_target_layer<P, F>(&self, identifier: String, authored: P, f: F) -> Result<bool, StageAuthoringError>
    where
        F: FnOnce(&mut sdf::LayerEdit<'_>, P) -> Result<(), StageAuthoringError>,
    {
        // The target is read under a short borrow released before the layer
        // borrow below. The mapping is cloned out (rather than borrowed across
        // the authoring call) because the sinks it ultimately feeds can
        // re-author and re-target the stage; clone it only when a sink is
        // installed to consume it, keeping the common no-sink authoring path
        // allocation-free.
        let notify = !self.sinks.borrow().is_empty();
        let mapping = notify.then(|| self.edit_target.borrow().mapping.clone());
        let edited = {
            let mut layers = self.composition.authoring_graph_mut();
            let layer_id = layers
                .id_of(&identifier)
                .ok_or(StageAuthoringError::LayerNotFound { layer: identifier })?;
            let node = layers.get_mut(layer_id).expect("id_of returned a live id");
            self.edit_layer(&mut node.layer, mapping.as_ref(), |layer| f(layer, authored))
        };
        // `edit_layer` reports whether the edit produced a composition change.
        self.process_pending();
        edited
    }

    /// Borrow the stage's root layer, hand it to `f`, then drive cache
    /// invalidation from the closure's [`sdf::ChangeList`]. See
    /// [`Stage::with_target_layer_at`] for the contract. Unlike that method,
    /// this ignores the edit target and its mapping — `defaultPrim` is a
    /// root-layer field authored at `abs_root` verbatim.
    fn with_root_layer<F>(&self, f: F) -> Result<(), StageAuthoringError>
    where
        F: FnOnce(&mut sdf::LayerEdit<'_>) -> Result<(), sdf::AuthoringError>,
    {
        let layer_id = self
            .composition
            .authoring_graph()
            .root_id()
            .ok_or(StageAuthoringError::OutsideEditTarget {
                path: sdf::Path::abs_root(),
            })?;
        self.author_on_layer(layer_id, None, f)
    }

    /// Author stage-level metadata on the current edit target's layer, but only
    /// when that layer is the stage's root or session layer — the layers stage
    /// metadata resolves from (session over root). Mirrors C++ `UsdStage`'s
    /// edit-target-aware stage-metadata authoring; returns
    /// [`StageAuthoringError::StageMetadataTarget`] when the edit target is any
    /// other layer, where the opinion would never resolve.
    ///
    /// The closure authors at `abs_root` verbatim; the edit target's namespace
    /// mapping is irrelevant for layer-wide metadata.
    fn with_stage_metadata_layer<F>(&self, f: F) -> Result<(), StageAuthoringError>
    where
        F: FnOnce(&mut sdf::LayerEdit<'_>) -> Result<(), sdf::AuthoringError>,
    {
        let layer_id = self.edit_target_layer_id()?;
        {
            let layers = self.composition.authoring_graph();
            if layers.root_id() != Some(layer_id) && !layers.session_layers().contains(&layer_id) {
                return Err(StageAuthoringError::StageMetadataTarget {
                    layer: layers.identifier(layer_id).to_string(),
                });
            }
        }
        self.author_on_layer(layer_id, None, f)
    }

    /// Stage a batch across `layer_ids` as one atomic transaction, then drive
    /// cache invalidation from the change lists it records — or, for a dry run
    /// (`commit = false`), stage and discard without committing or firing any
    /// sink. The shared transaction core behind
    /// [`author_on_layer`](Self::author_on_layer) (single-layer) and the
    /// namespace editor's mapped relocate batch (which authors across the edit
    /// target's own layer stack: the structural moves land in the target layer
    /// while the synthesized relocates spread across that stack's layers, all
    /// committing together). `apply` commits, `can_apply` dry-runs, both sharing
    /// `f` so an error surfaces identically.
    ///
    /// `mapping` is the edit target's namespace mapping, recorded with a committed
    /// edit so the composed change keeps full path precision; a non-identity
    /// mapping publishes [`Provenance::EditTarget`] so the edit is attributed to
    /// its variant or arc target. `None` (or an identity mapping) authors at
    /// stage-namespace paths verbatim. `f` receives the realized layer ids (those
    /// `layer_ids` with a live layer, dropping any that vanished) paired in order
    /// with their [`sdf::LayerEdit`]s. The closure's error type is free (any
    /// `E: From<sdf::sink::Error>`) so the caller can surface its own validation
    /// errors through the same transaction. Returns whether the transaction
    /// changed anything: the commit's change flag, or `false` for a dry run.
    ///
    /// A commit may enter with edits already queued, appends its own
    /// transaction to that queue, and drains everything afterwards — including
    /// when the transaction itself failed, so a failed commit can still deliver
    /// the notifications its predecessors earned. A dry run neither queues nor
    /// drains, so a caller whose validation reads composed state settles before
    /// calling; and its rollback discards each layer's whole staged overlay, not
    /// only what the dry run wrote, so the batch assumes its layers carry no
    /// uncommitted direct edits.
    pub(super) fn author_layers_txn<E>(
        &self,
        layer_ids: &[pcp::LayerId],
        mapping: Option<&pcp::MapFunction>,
        commit: bool,
        f: impl FnOnce(&[pcp::LayerId], &mut [sdf::LayerEdit<'_>]) -> Result<(), E>,
    ) -> Result<bool, E>
    where
        E: From<sdf::sink::Error>,
    {
        let result = {
            // The borrow states the mode's drain contract: a commit may arrive
            // with edits queued and appends to them, while a dry run validates
            // against composed state and so takes the settled borrow, whose
            // backstop catches a caller that stopped settling first.
            let mut graph = if commit {
                self.composition.authoring_graph_mut()
            } else {
                self.composition.settled_graph_mut()
            };
            let mut layers: Vec<(pcp::LayerId, &mut sdf::Layer)> = graph.layers_mut(layer_ids).into_iter().collect();
            // The realized ids, aligned with the edits below: `layers_mut` drops any
            // id with no live layer, so the closure keys on these rather than the
            // requested `layer_ids` to stay paired with each `LayerEdit`.
            let ids: Vec<pcp::LayerId> = layers.iter().map(|(id, _)| *id).collect();
            let mut batch: Vec<&mut sdf::Layer> = layers.iter_mut().map(|(_, layer)| &mut **layer).collect();
            if commit {
                let provenance = mapping
                    .filter(|m| !m.is_identity())
                    .map(|m| Provenance::EditTarget(m.clone()));
                self.edit_provenance.replace(provenance);
                let _clear = ClearEditProvenance(&self.edit_provenance);
                sdf::edit_layers(&mut batch, |edits| f(&ids, edits))
            } else {
                sdf::dry_run_layers(&mut batch, |edits| f(&ids, edits)).map(|()| false)
            }
        };
        if commit {
            self.process_pending();
        }
        result
    }

    /// The handle for the layer stack the mapped edit `target_layer` writes
    /// into — the stack a relocate synthesized for that target must land in. An
    /// arc target carries its authoring stack's value identity from
    /// construction, so it resolves exactly (the referenced asset's stack even
    /// when that asset is also a root sublayer); a target without one (a local
    /// or variant target) is inferred from layer membership — the root stack
    /// when `target_layer` belongs to it, else the sublayer stack rooted at it.
    /// Per spec §10.3.2.6, relocates take effect in the stack where the
    /// bringing-in arc is authored, so this is where the editor seeds and
    /// authors the mapped relocate plan; resolve it to member layer ids with
    /// [`LayerGraph::layer_stack`](crate::pcp::LayerGraph::layer_stack).
    ///
    /// Fails with [`StageAuthoringError::EditTargetStackUnavailable`] when a
    /// layer in the captured identity's source chain cannot be loaded here —
    /// authoring into a substitute stack would seed the relocate plan from the
    /// wrong members and expression variables.
    pub(super) fn mapped_target_stack_id(
        &self,
        target_layer: pcp::LayerId,
    ) -> Result<pcp::LayerStackId, StageAuthoringError> {
        let authoring = self.edit_target.borrow().authoring_stack.clone();
        self.composition
            .resolve_authoring_stack(target_layer, authoring, self)
            .map_err(|layer| StageAuthoringError::EditTargetStackUnavailable { layer })
    }

    /// Run `f` as one committed atomic transaction on the single layer
    /// `layer_id`. The [`StageAuthoringError`]-typed, single-layer convenience
    /// over [`author_layers_txn`](Self::author_layers_txn) shared by
    /// [`with_root_layer`](Self::with_root_layer),
    /// [`with_stage_metadata_layer`](Self::with_stage_metadata_layer), and
    /// [`apply_diff`](Stage::apply_diff). A multi-edit replay that fails midway
    /// rolls back wholesale, leaving the layer and cache untouched.
    pub(super) fn author_on_layer<F>(
        &self,
        layer_id: pcp::LayerId,
        mapping: Option<&pcp::MapFunction>,
        f: F,
    ) -> Result<(), StageAuthoringError>
    where
        F: FnOnce(&mut sdf::LayerEdit<'_>) -> Result<(), sdf::AuthoringError>,
    {
        self.author_layers_txn(&[layer_id], mapping, true, |_ids, edits| {
            let edit = edits
                .first_mut()
                .expect("the caller resolved `layer_id` against this graph, so it is live");
            f(edit).map_err(StageAuthoringError::from)
        })
        .map(|_changed| ())
    }

    /// Run `f` as one atomic [`Layer::edit`](sdf::Layer::edit) on `layer`: commit
    /// and return the recorded change list on success, or roll the layer back on
    /// error (`f`'s authoring error, or a sink veto).
    ///
    /// Committing fires the layer's sinks — including the stage's aggregator
    /// (installed when its layer interned), which records the edit into
    /// [`StageComposition`]'s pending queue for [`process_pending`](Self::process_pending)
    /// to recompose. A [`before_commit`](sdf::LayerSink::before_commit) rejection
    /// surfaces as [`StageAuthoringError::Rejected`]. `mapping` is the edit
    /// target's namespace mapping; a non-local target publishes
    /// [`Provenance::EditTarget`] and a local/root one [`Provenance::LocalStack`]
    /// through [`edit_provenance`](StageInner::edit_provenance) for the aggregator
    /// to tag the recorded edit with.
    fn edit_layer<F>(
        &self,
        layer: &mut sdf::Layer,
        mapping: Option<&pcp::MapFunction>,
        f: F,
    ) -> Result<bool, StageAuthoringError>
    where
        F: FnOnce(&mut sdf::LayerEdit<'_>) -> Result<(), StageAuthoringError>,
    {
        // Publish the provenance for the aggregator firing inside `edit`'s commit,
        // under a guard that clears it on the way out — including if the edit
        // panics — so a later commit never inherits a stale provenance. Only a
        // remapping arc or variant target (a non-identity mapping) is `EditTarget`;
        // an identity-mapped or unmapped target authors at the layer's own paths,
        // so it is left unset for the drain to resolve from local-layer membership
        // (`LocalStack` for a local layer, `DirectLayerEdit` for a non-local one).
        let provenance = mapping
            .filter(|m| !m.is_identity())
            .map(|m| Provenance::EditTarget(m.clone()));
        self.edit_provenance.replace(provenance);
        let _clear = ClearEditProvenance(&self.edit_provenance);
        // The stage's own closure error rides through the layer transaction, so
        // a stage-only failure inside it rolls the layer back like a layer one.
        sdf::edit_layers(&mut [layer], |edits| f(&mut edits[0]))
    }

    /// The layer ids of the root (local) layer stack, strongest first — the
    /// layers a namespace edit authors into to move or delete a composed object.
    pub(super) fn root_stack_layer_ids(&self) -> Vec<pcp::LayerId> {
        self.layers().root_layer_stack().iter().map(|&(id, _)| id).collect()
    }

    /// Fan out a layer's staged pre-commit edit to the installed
    /// [`StageSink`]s' [`before_commit`](StageSink::before_commit), bridging one
    /// [`sdf::PendingLayerChange`] to the stage-tier [`PendingChange`]. Called by
    /// the [`StageAggregator`] from inside the layer's commit seam, while the
    /// layer graph is borrowed for the edit — so it reads only
    /// [`sinks`](StageInner::sinks) and [`edit_provenance`](StageInner::edit_provenance),
    /// never the graph or cache. A no-op when no sink is installed.
    fn forward_before_commit(&self, change: &sdf::PendingLayerChange<'_>) {
        let sinks = self.sinks.borrow();
        if sinks.is_empty() {
            return;
        }
        // Borrow the provenance's mapping into the event rather than cloning it: a
        // `before_commit` sink observes and must not re-enter authoring (which is
        // what would re-borrow `edit_provenance`), so holding the borrow across the
        // fan-out is safe and avoids a per-commit `MapFunction` clone.
        let provenance = self.edit_provenance.borrow();
        let pending = PendingChange {
            layer_identifier: change.layer_identifier,
            base: change.base,
            change_list: change.change_list,
            mapping: provenance.as_ref().and_then(|p| p.mapping()),
            generation: change.generation,
        };
        for sink in sinks.iter() {
            sink.before_commit(self, &pending);
        }
    }

    /// Record a committed layer edit for [`process_pending`](Self::process_pending),
    /// tagged with the [`Provenance`] staged for it (read from
    /// [`edit_provenance`](StageInner::edit_provenance); `None` for a direct
    /// edit). Called by the per-layer aggregator sink (installed by
    /// installed when its layer interned) as a layer commits — while the layer graph
    /// is borrowed for the edit, which is why it appends to the independent
    /// [`StageComposition`]'s pending queue rather than recomposing inline.
    pub(super) fn record_pending(
        &self,
        layer_id: pcp::LayerId,
        changes: sdf::ChangeList,
        prior_default_prim: Option<Token>,
    ) {
        let provenance = self.edit_provenance.take();
        self.composition.record_pending(PendingEdit {
            generation: self.current_generation.get(),
            layer: layer_id,
            changes,
            provenance,
            prior_default_prim,
        });
    }

    /// Returns the number of layers loaded so far (including session layers).
    ///
    /// Layers behind references and payloads load on demand as composition
    /// reaches their arcs, so this is the count loaded by the queries performed
    /// so far — it grows as more of the stage is visited, mirroring C++
    /// `UsdStage::GetUsedLayers`. The root layer stack is always fully loaded.
    pub fn layer_count(&self) -> usize {
        self.layers().len()
    }

    /// Returns `true` when the composition cache currently holds a prim
    /// index at `path`. Useful for verifying surgical invalidation and
    /// for callers that want to observe cache occupancy.
    pub fn is_indexed(&self, path: &sdf::Path) -> bool {
        self.cache().is_indexed(path)
    }

    /// Total number of cached prim indices.
    pub fn indexed_count(&self) -> usize {
        self.cache().indexed_count()
    }

    /// Returns the identifiers of the layers loaded so far, in collection order
    /// (session and root layer stack first, then arc-target layers in the order
    /// composition opened them).
    ///
    /// Reference and payload target layers load on demand, so this lists the
    /// layers reached by the queries performed so far rather than the full
    /// transitive closure (C++ `UsdStage::GetUsedLayers`). Traverse the stage
    /// to force every reachable layer to load.
    pub fn layer_identifiers(&self) -> Vec<String> {
        self.layers().identifiers()
    }

    /// Returns the identifiers of the stage's root layer stack — the session
    /// layers, the root layer, and its sublayers, in strength order. Mirrors
    /// C++ `UsdStage::GetLayerStack` (with `includeSessionLayers = true`).
    ///
    /// Unlike [`layer_identifiers`](Self::layer_identifiers), which lists the
    /// loaded layers including those reached across reference/payload arcs, this
    /// is only the local layer stack a top-level prim scans for direct opinions.
    pub fn layer_stack(&self) -> Vec<String> {
        self.layers().root_layer_stack_identifiers()
    }

    /// Returns `true` if the stage has a session layer.
    pub fn has_session_layer(&self) -> bool {
        self.layers().session_layer_count() > 0
    }

    /// Borrows the stage's root layer (C++ `UsdStage::GetRootLayer`). Panics if
    /// the stage has no root layer (only possible for a degenerate empty graph,
    /// which `StageBuilder` never produces).
    ///
    /// The returned [`Ref`] borrows the layer graph, and a `&self` authoring
    /// call (`insert_layer`, `define_prim`, …) takes `self.layers` mutably,
    /// so a live `Ref` held across one panics with a `RefCell` double-borrow. In
    /// particular `stage.insert_layer(stage.root_layer().identifier(), …)`
    /// panics — the `Ref` temporary lives to the end of the statement. Bind the
    /// identifier first so the borrow is released:
    ///
    /// ```no_run
    /// # use openusd::{sdf, usd};
    /// # fn f(stage: &usd::Stage, layer: sdf::Layer) {
    /// let id = stage.root_layer().identifier().to_owned();
    /// stage.insert_layer(&id, 0, layer, sdf::LayerOffset::IDENTITY).unwrap();
    /// # }
    /// ```
    pub fn root_layer(&self) -> Ref<'_, sdf::Layer> {
        Ref::map(self.layers(), |layers| {
            layers.root_layer().expect("stage has a root layer")
        })
    }

    /// Borrow the stage's layer named `identifier`, or `None` if no such layer is
    /// in the stage. `identifier` is matched by canonical identifier.
    pub fn layer(&self, identifier: &str) -> Option<Ref<'_, sdf::Layer>> {
        Ref::filter_map(self.layers(), |layers| {
            let id = layers.id_of(identifier)?;
            layers.get(id).map(|node| &node.layer)
        })
        .ok()
    }

    /// Borrow the stage's layer named `identifier` mutably, or `None` if no such
    /// layer is in the stage — an advanced escape hatch for editing a layer
    /// directly, or installing an [`sdf::LayerSink`] on it with
    /// [`Layer::add_sink`](sdf::Layer::add_sink). Prefer the stage's authoring
    /// methods, which integrate the edit into composition before they return.
    ///
    /// An edit committed through the returned layer is recorded and integrated
    /// lazily, on the next stage access: both the graph and the index cache drain
    /// any pending edit before they are observed, so a structural edit (sublayers,
    /// offsets, relocates) never leaves [`sub_layers`](Self::sub_layers) and
    /// friends reading stale topology. A direct edit to a non-local (referenced or
    /// payload) layer reports its [`CommittedChange`](super::CommittedChange) paths
    /// in that layer's own namespace, flagged
    /// [`Provenance::DirectLayerEdit`](super::Provenance::DirectLayerEdit). Holds
    /// the layer graph borrowed for the guard's lifetime; drop it before any other
    /// stage call.
    pub fn layer_mut(&self, identifier: &str) -> Option<RefMut<'_, sdf::Layer>> {
        RefMut::filter_map(self.layers_mut(), |layers| {
            let id = layers.id_of(identifier)?;
            layers.get_mut(id).map(|node| &mut node.layer)
        })
        .ok()
    }

    /// Edit several of the stage's layers as one atomic transaction, then drive a
    /// single composition recompose — the public door for multi-layer authoring
    /// of a stage's layers.
    ///
    /// `layers` names the layers to edit by canonical identifier; `f` receives one
    /// [`LayerEdit`](sdf::LayerEdit) per name, in the same order, so `edits[i]`
    /// authors `layers[i]`. The batch is all-or-nothing: an authoring error from
    /// `f`, a [`sdf::LayerSink`] veto, or a panic rolls every layer back, leaving
    /// none partially applied; the layers commit together and the composed scene
    /// is coherent on return. Returns whether the batch produced a composition
    /// change.
    ///
    /// For a single layer, prefer the stage's typed authoring methods (which route
    /// through the current [`EditTarget`]) or [`layer_mut`](Self::layer_mut).
    /// Returns [`StageAuthoringError::LayerNotFound`] if a name is not in the stage
    /// and [`StageAuthoringError::DuplicateLayer`] if a name is repeated. On any
    /// error the stage is left untouched.
    pub fn batch_edit(
        &self,
        layers: &[&str],
        f: impl FnOnce(&mut [sdf::LayerEdit<'_>]) -> Result<(), StageAuthoringError>,
    ) -> Result<bool, StageAuthoringError> {
        let mut ids = Vec::with_capacity(layers.len());
        {
            let graph = self.layers();
            for &identifier in layers {
                let id = graph
                    .id_of(identifier)
                    .ok_or_else(|| StageAuthoringError::LayerNotFound {
                        layer: identifier.to_string(),
                    })?;
                if ids.contains(&id) {
                    return Err(StageAuthoringError::DuplicateLayer {
                        layer: identifier.to_string(),
                    });
                }
                ids.push(id);
            }
        }
        self.author_layers_txn(&ids, None, true, |realized, edits| {
            // `edits[i]` authors `layers[i]` is this method's public contract, so
            // the realized ids must still line up with the requested ones.
            debug_assert_eq!(realized.len(), ids.len(), "batch_edit realized every layer");
            f(edits)
        })
    }

    /// The identifiers of the layers contributing to `parent`'s sublayer stack,
    /// in strength order (the parent first). Empty when `parent` is not in the
    /// stage. `parent` is matched by its canonical identifier.
    pub fn sub_layers(&self, parent: &str) -> Vec<String> {
        let graph = self.layers();
        let Some(parent_id) = graph.id_of(parent) else {
            return Vec::new();
        };
        graph.identifiers_of(graph.sublayer_stack(parent_id).iter().map(|&(id, _)| id))
    }

    /// Mutes the layer with the given identifier so it contributes no opinions to
    /// composition — as if absent from every layer stack it participates in —
    /// while staying registered so [`unmute_layer`](Self::unmute_layer) restores
    /// it (C++ `UsdStage::MuteLayer` → `PcpCache::RequestLayerMuting`). Muting
    /// prunes the layer's whole sublayer subtree, not just the one layer.
    ///
    /// The layer need not be loaded: muting an identifier the stage does not
    /// (yet) contain records it and takes effect if such a layer is later
    /// encountered. A loaded layer answers to its identifier and to the file it
    /// resolved to (a layer found through a resolver search directory keeps the
    /// search path as its identifier), and either spelling mutes, unmutes or
    /// queries the same layer. The session layer can be muted; the root layer
    /// cannot (it "would lead to empty layer stacks", matching C++), so a
    /// request to mute it is ignored and `is_layer_muted` stays false for the
    /// root.
    ///
    /// This implements Pcp/Stage-level muting. Sdf-level layer muting
    /// (`SdfLayer::SetMuted`, a process-global data swap) is a separate feature
    /// and is not implemented.
    pub fn mute_layer(&self, identifier: impl Into<String>) {
        if let Some((changed, resynced)) = self
            .composition
            .apply_mute(|graph| graph.mute_layer(identifier.into()), self)
        {
            self.notify_muting_changed(&changed, true, resynced);
        }
    }

    /// Unmutes the layer with the given identifier, restoring its opinions to
    /// composition (C++ `UsdStage::UnmuteLayer`).
    pub fn unmute_layer(&self, identifier: &str) {
        if let Some((changed, resynced)) = self
            .composition
            .apply_mute(|graph| graph.unmute_layer(identifier), self)
        {
            self.notify_muting_changed(&changed, false, resynced);
        }
    }

    /// Loads `path`'s payload — and its ancestors', if not already loaded —
    /// per `policy` (C++ `UsdStage::Load`). Loading an already-loaded path is
    /// legal and simply costs nothing (see [`load_rules`](Self::load_rules)'s
    /// no-op guarantee). `path` need not currently resolve to a composed
    /// prim, since loading a not-yet-visible descendant is the common case.
    ///
    /// A `path` that normalizes into a `/__Prototype_N` prototype's namespace
    /// is silently ignored: load rules are always authored in real-namespace
    /// terms, so a rule on a synthetic prototype path would never be
    /// consulted. C++ drops such a path too, but reports a coding error first.
    /// Nor is `path` checked for being present and active on the stage, which
    /// C++ does reject: such a subtree never composes whatever its load rule
    /// says, so the rule simply sits inert in the table.
    pub fn load(&self, path: impl sdf::IntoPath, policy: LoadPolicy) -> Result<(), sdf::PathParseError> {
        self.load_path(&sdf::try_into_path(path)?, policy);
        Ok(())
    }

    /// [`load`](Self::load) for an already-validated path.
    pub(super) fn load_path(&self, path: &sdf::Path, policy: LoadPolicy) {
        let Some(path) = Self::normalize_load_target(path) else {
            return;
        };
        let victims = self.composition.install_load_rules(
            move |rules| match policy {
                LoadPolicy::WithDescendants => rules.load_with_descendants(path),
                LoadPolicy::WithoutDescendants => rules.load_without_descendants(path),
            },
            self,
        );
        self.notify_load_rules_changed(victims);
    }

    /// Unloads `path`'s payload and everything beneath it (C++
    /// `UsdStage::Unload`). Same leniency as [`load`](Self::load) for a
    /// prototype-namespace path.
    pub fn unload(&self, path: impl sdf::IntoPath) -> Result<(), sdf::PathParseError> {
        self.unload_path(&sdf::try_into_path(path)?);
        Ok(())
    }

    /// [`unload`](Self::unload) for an already-validated path.
    pub(super) fn unload_path(&self, path: &sdf::Path) {
        let Some(path) = Self::normalize_load_target(path) else {
            return;
        };
        let victims = self
            .composition
            .install_load_rules(move |rules| rules.unload(path), self);
        self.notify_load_rules_changed(victims);
    }

    /// Loads every path in `to_load` (with `policy`) and unloads every path
    /// in `to_unload`, applying every edit to one clone of the rules and
    /// recomposing once for the whole batch (C++ `UsdStage::LoadAndUnload`).
    /// Every `to_unload` path is applied before
    /// any `to_load` path, matching C++'s own "unloads first, then loads" —
    /// so a path in both sets ends up loaded, and unloading an ancestor while
    /// loading one of its descendants in the same call still leaves the
    /// descendant reachable (the ancestor resolves to
    /// [`pcp::Rule::Only`](crate::pcp::Rule::Only), not excluded, via
    /// [`pcp::LoadRules::effective_rule`]'s lookahead).
    pub fn load_and_unload(
        &self,
        to_load: impl IntoIterator<Item = (impl sdf::IntoPath, LoadPolicy)>,
        to_unload: impl IntoIterator<Item: sdf::IntoPath>,
    ) -> Result<(), sdf::PathParseError> {
        // Convert (and fail) before any rule is edited, so a bad path in
        // either set leaves the stage untouched.
        let to_unload: Vec<sdf::Path> = to_unload
            .into_iter()
            .map(|path| Ok(Self::normalize_load_target(&sdf::try_into_path(path)?)))
            .filter_map(Result::transpose)
            .collect::<Result<_, sdf::PathParseError>>()?;
        let to_load: Vec<(sdf::Path, LoadPolicy)> = to_load
            .into_iter()
            .map(
                |(path, policy)| Ok(Self::normalize_load_target(&sdf::try_into_path(path)?).map(|path| (path, policy))),
            )
            .filter_map(Result::transpose)
            .collect::<Result<_, sdf::PathParseError>>()?;
        let victims = self.composition.install_load_rules(
            |rules| {
                for path in to_unload {
                    rules.unload(path);
                }
                for (path, policy) in to_load {
                    match policy {
                        LoadPolicy::WithDescendants => rules.load_with_descendants(path),
                        LoadPolicy::WithoutDescendants => rules.load_without_descendants(path),
                    }
                }
            },
            self,
        );
        self.notify_load_rules_changed(victims);
        Ok(())
    }

    /// A clone of the stage's current load rules (C++
    /// `UsdStage::GetLoadRules`).
    pub fn load_rules(&self) -> pcp::LoadRules {
        self.cache().load_rules().clone()
    }

    /// Replaces the stage's load rules wholesale, recomposing every cached
    /// index the change could affect (C++ `UsdStage::SetLoadRules`) — the
    /// same bounded invalidation [`load`](Self::load)/[`unload`](Self::unload)
    /// use, not a blunt whole-stage drop, since the affected set is already
    /// provably sufficient (see [`pcp::LoadRules`]'s module documentation).
    pub fn set_load_rules(&self, rules: pcp::LoadRules) {
        let victims = self.composition.install_load_rules(|current| *current = rules, self);
        self.notify_load_rules_changed(victims);
    }

    /// Every prim below `root` (inclusive) that carries a payload arc, loaded
    /// or not, excluding inactive prims (C++ `UsdStage::FindLoadable`).
    ///
    /// Discovering a payload nested several levels deep requires actually
    /// reading its target layer — there is no way to know a layer's content
    /// without loading it — so this call transiently installs
    /// [`pcp::LoadRules::all`] to make every payload discoverable, walks the
    /// tree, and then restores the stage's original load rules. Neither swap
    /// fires [`StageSink::load_rules_changed`], and [`load_rules`](Self::load_rules)
    /// reads back the original table afterward, so the *rules* are not
    /// observable — but if `root`'s current rules are not already the
    /// all-inclusive default, each swap can still evict cached prim indices
    /// (matching whatever `set_load_rules` would do for that same transition),
    /// which a cached value view stamped on one of them will notice.
    ///
    /// This also has a real, permanent side effect worth calling out: every
    /// payload-target layer under `root` is left loaded in the layer
    /// registry afterward, even though the load *rules* are restored — this
    /// codebase has no layer-eviction mechanism yet, so there is no way to
    /// discover a payload's content without leaving its layer resident.
    /// C++'s own `FindLoadable` equally must traverse (and thus compose)
    /// every candidate subtree.
    // TODO(perf): when the stage's current rules are not already
    // `LoadRules::all()`, the install and the restore each evict the whole
    // store (the root rule itself changes), so a stage opened with
    // `InitialLoadSet::LoadNone` pays two full-store recomposes per call. A
    // scratch cache the walk composes into, left uncommitted, would avoid
    // this, but is a larger change than this method currently needs.
    pub fn find_loadable(&self, root: impl sdf::IntoPath) -> Result<Vec<sdf::Path>> {
        let root = sdf::try_into_path(root)?.prim_path();
        let _guard = LoadRulesGuard {
            stage: self,
            original: self.load_rules(),
        };
        self.composition.swap_load_rules(pcp::LoadRules::all(), self);
        let mut found = Vec::new();
        self.walk_loadable(&root, &mut found)?;
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Every prim currently included by the load rules — i.e. carrying a
    /// payload arc whose own rule currently resolves loaded (C++
    /// `UsdStage::GetLoadSet`). Unlike [`load_rules`](Self::load_rules), this
    /// reports the actual composed state, not the raw authored rules.
    pub fn load_set(&self) -> Result<Vec<sdf::Path>> {
        Ok(self
            .find_loadable(sdf::Path::abs_root())?
            .into_iter()
            .filter(|path| self.is_path_loaded(path))
            .collect())
    }

    /// Collects every active, payload-carrying prim at or below `path` into
    /// `found` — the walk behind [`find_loadable`](Self::find_loadable). An
    /// explicit work stack, not native recursion, so a pathologically deep
    /// prim hierarchy cannot overflow the call stack — matching
    /// [`traverse`](Self::traverse)'s own approach to the same style of
    /// whole-tree walk.
    fn walk_loadable(&self, path: &sdf::Path, found: &mut Vec<sdf::Path>) -> Result<()> {
        let mut stack = vec![path.clone()];
        while let Some(path) = stack.pop() {
            let prim = super::Prim::new(self, path.clone());
            if !prim.is_active()? {
                continue;
            }
            if super::prim::has_payload(self, &path)? {
                found.push(path.clone());
            }
            for child in prim.children()? {
                stack.push(child.path().clone());
            }
        }
        Ok(())
    }

    /// Reduces `path` to an absolute prim path (`prim_path` strips a property
    /// suffix and `strip_all_variant_selections` collapses any variant
    /// segment — [`pcp::LoadRules`]' table requires genuinely prim-only
    /// paths), then drops a path in the reserved `/__Prototype_N` namespace,
    /// where load rules are never consulted (see [`pcp::LoadRules`]'s
    /// instancing notes) — silently, where C++ reports a coding error before
    /// dropping it (`UsdStage::_IsValidForUnload`, which likewise rejects the
    /// relative path this absolutizes). The test is syntactic, so it
    /// does not depend on whether that prototype has been registered yet.
    ///
    /// A cheap early exit for `load`/`unload`/`load_and_unload` — the real
    /// enforcement of the same invariant lives in `IndexCache::set_load_rules`,
    /// the single choke point every mutation (including a caller-supplied
    /// [`set_load_rules`](Self::set_load_rules) table this normalization never
    /// sees) passes through.
    fn normalize_load_target(path: &sdf::Path) -> Option<sdf::Path> {
        let path = sdf::Path::abs_root().make_absolute(&path.prim_path().strip_all_variant_selections());
        (!pcp::is_prototype_namespace(&path)).then_some(path)
    }

    /// Fires [`StageSink::load_rules_changed`] with the paths the edit
    /// invalidated, reduced to the subtrees they stand for, after the cache
    /// borrow is released. A no-op edit invalidates nothing and reports nothing.
    fn notify_load_rules_changed(&self, mut resynced: Vec<sdf::Path>) {
        let sinks = self.sinks.borrow();
        if resynced.is_empty() || sinks.is_empty() {
            return;
        }
        keep_ancestors(&mut resynced);
        for sink in sinks.iter() {
            sink.load_rules_changed(self, &resynced);
        }
    }

    /// `true` if `path`'s own payload is included by the stage's load rules —
    /// the per-ancestor check behind [`Prim::is_loaded`](super::Prim::is_loaded).
    pub(crate) fn is_path_loaded(&self, path: &sdf::Path) -> bool {
        self.cache().is_loaded(path)
    }

    /// Fires [`StageSink::layer_muting_changed`] for the toggled identifier and
    /// the paths the toggle invalidated, reduced the same way, after the graph
    /// and cache borrows are released. Unlike the load-rules notice an empty set
    /// still fires: the muted set changed whether or not anything was cached
    /// against the layer.
    ///
    /// TODO(perf): a mute that reaches the root layer hands over every cached
    /// index, so this reduction is `keep_ancestors` at its worst case — see the
    /// `sdf::PathTable` covering set noted there.
    fn notify_muting_changed(&self, changed: &str, muted: bool, mut resynced: Vec<sdf::Path>) {
        let sinks = self.sinks.borrow();
        if sinks.is_empty() {
            return;
        }
        keep_ancestors(&mut resynced);
        for sink in sinks.iter() {
            sink.layer_muting_changed(self, changed, muted, &resynced);
        }
    }

    /// Whether the layer with the given identifier is currently muted.
    pub fn is_layer_muted(&self, identifier: &str) -> bool {
        self.layers().is_layer_muted(identifier)
    }

    /// The currently muted layer identifiers, sorted for a deterministic result.
    pub fn muted_layers(&self) -> Vec<String> {
        self.layers().muted_layers()
    }

    /// Returns the stage's initial payload loading behavior, as requested at
    /// open time (`StageBuilder::load`). The live, runtime-mutable policy is
    /// [`load_rules`](Self::load_rules).
    pub fn initial_load_set(&self) -> InitialLoadSet {
        self.initial_load_set
    }

    /// Returns the population mask this stage was opened with (C++
    /// `UsdStage::GetPopulationMask`, which likewise returns by value).
    ///
    /// The mask lives on the composition cache, where it also keys instancing
    /// (see [`StagePopulationMask`]), so this hands back a copy rather than a
    /// borrow into it.
    pub fn mask(&self) -> StagePopulationMask {
        self.cache().population_mask().clone()
    }

    /// Borrows the stage's strongest session layer, if one was provided (C++
    /// `UsdStage::GetSessionLayer`).
    ///
    /// Like [`root_layer`](Self::root_layer), the returned [`Ref`] borrows the
    /// layer graph. Drop it before calling an authoring method that mutably
    /// borrows the graph.
    pub fn session_layer(&self) -> Option<Ref<'_, sdf::Layer>> {
        Ref::filter_map(self.layers(), |layers| {
            let id = *layers.session_layers().first()?;
            Some(layers.layer(id))
        })
        .ok()
    }

    /// Returns the `defaultPrim` metadata from the root layer, if set.
    ///
    /// When a session layer is present, `defaultPrim` is still read from
    /// the root layer (not the session layer), matching C++ behavior.
    pub fn default_prim(&self) -> Option<Token> {
        self.with_cache(|g, _| Ok(g.default_prim())).unwrap_or_default()
    }

    /// Returns composed pseudo-root stage metadata, honoring a session-layer
    /// opinion over the root layer, and falling back to the default a
    /// registered family declares for a field that applies to layers where no
    /// layer authors it
    /// (C++ `UsdStage::GetMetadata`, with `SdfSchema::GetFallback` behind it).
    ///
    /// Distinct from [`Stage::field`] on [`sdf::Path::abs_root`], which reads
    /// root-layer-only metadata for the spec 12.2.7 fields like `defaultPrim`.
    /// Returns the raw [`sdf::Value`]; the caller coerces it.
    pub fn stage_metadata(&self, field: impl AsRef<str>) -> Result<Option<sdf::Value>> {
        let field = field.as_ref();
        if let Some(authored) = self.with_cache(|g, _| Ok(g.stage_metadata(field)?))? {
            return Ok(Some(authored));
        }
        Ok(self
            .schema_registry()
            .metadata_field(&Token::from(field))
            .filter(|declared| declared.applies_to().contains(super::MetadataTargets::LAYERS))
            .and_then(|declared| declared.fallback().cloned()))
    }

    /// The stage's `startTimeCode`, or `0.0` when unauthored. The session
    /// layer's opinion wins over the root layer (via [`Stage::stage_metadata`]).
    /// Mirrors C++ `UsdStage::GetStartTimeCode`.
    pub fn start_time_code(&self) -> f64 {
        self.metadata_double(sdf::FieldKey::StartTimeCode).unwrap_or(0.0)
    }

    /// The stage's `endTimeCode`, or `0.0` when unauthored. The session layer's
    /// opinion wins over the root layer. Mirrors C++ `UsdStage::GetEndTimeCode`.
    pub fn end_time_code(&self) -> f64 {
        self.metadata_double(sdf::FieldKey::EndTimeCode).unwrap_or(0.0)
    }

    /// Whether the stage authors both `startTimeCode` and `endTimeCode`.
    /// Mirrors C++ `UsdStage::HasAuthoredTimeCodeRange`.
    pub fn has_authored_time_code_range(&self) -> bool {
        self.metadata_double(sdf::FieldKey::StartTimeCode).is_some()
            && self.metadata_double(sdf::FieldKey::EndTimeCode).is_some()
    }

    /// The stage's `timeCodesPerSecond`. Falls back to the authored
    /// `framesPerSecond`, then to `24.0`, when unauthored. The session layer's
    /// opinion wins over the root layer. Mirrors C++
    /// `UsdStage::GetTimeCodesPerSecond`.
    pub fn time_codes_per_second(&self) -> f64 {
        self.metadata_double(sdf::FieldKey::TimeCodesPerSecond)
            .or_else(|| self.metadata_double(sdf::FieldKey::FramesPerSecond))
            .unwrap_or(24.0)
    }

    /// The stage's `framesPerSecond`, or `24.0` when unauthored. The session
    /// layer's opinion wins over the root layer. Mirrors C++
    /// `UsdStage::GetFramesPerSecond`.
    pub fn frames_per_second(&self) -> f64 {
        self.metadata_double(sdf::FieldKey::FramesPerSecond).unwrap_or(24.0)
    }

    /// Reads a composed stage-metadata field as a `double`, honoring the
    /// session-over-root resolution of [`Stage::stage_metadata`]. `None` when
    /// unauthored or stored with a non-`double` value.
    fn metadata_double(&self, field: sdf::FieldKey) -> Option<f64> {
        self.stage_metadata(field.as_str())
            .ok()
            .flatten()
            .and_then(|v| v.try_as_double())
    }

    /// Returns the stage-level interpolation mode applied when resolving a
    /// value at a time code (see [`Attribute::get`](super::Attribute::get)).
    /// AOUSD §12.5 defaults this to [`InterpolationType::Linear`].
    pub fn interpolation_type(&self) -> InterpolationType {
        self.interpolation_type.get()
    }

    /// Override the stage-level interpolation mode at runtime.
    /// Cheap — no recomputation, the next value resolution reads the new mode.
    pub fn set_interpolation_type(&self, mode: InterpolationType) {
        self.interpolation_type.set(mode);
    }

    /// Returns the `timeSamples` map value resolution answers from, retimed to
    /// stage time, or `None` when the source that answers is not a `timeSamples`
    /// opinion.
    ///
    /// These are the samples the source
    /// [`Attribute::get_at`](super::Attribute::get_at) reads from, so a stronger
    /// `default` hiding a weaker layer's samples yields `None` here too. A winning value-clip set answers with a schedule rather than a map
    /// and likewise yields `None`; its times reach
    /// [`Self::time_sample_times`].
    ///
    /// This returns the samples uninterpolated. Read through
    /// [`Attribute::get`](super::Attribute::get) with a time code when you
    /// need the stage's [`InterpolationType`] applied to a specific time.
    pub fn time_samples(&self, attr_path: impl sdf::IntoPath) -> Result<Option<sdf::TimeSampleMap>> {
        let attr_path = &sdf::try_into_path(attr_path)?;
        Ok(self.masked_opinions(attr_path, |g, c| c.time_samples(g, attr_path))?)
    }

    /// Returns the sample times of whichever source value resolution answers
    /// from, or `None` when none has samples. Resolves the times without cloning
    /// the sample values.
    ///
    /// Wider than [`Self::time_samples`], which reports only a `timeSamples`
    /// source's map: a winning value-clip set contributes its times here.
    pub fn time_sample_times(&self, attr_path: impl sdf::IntoPath) -> Result<Option<Vec<f64>>> {
        let attr_path = sdf::try_into_path(attr_path)?;
        Ok(self.masked_opinions(&attr_path, |g, c| c.time_sample_times(g, &attr_path))?)
    }

    /// Returns the number of composed `timeSamples` for an attribute, zero when
    /// none are authored. Resolves the count without cloning the sample values.
    pub fn num_time_samples(&self, attr_path: impl sdf::IntoPath) -> Result<usize> {
        let attr_path = sdf::try_into_path(attr_path)?;
        Ok(self.masked_opinions(&attr_path, |g, c| c.num_time_samples(g, &attr_path))?)
    }

    /// Whether an attribute's value may vary over time, the introspection behind
    /// [`Attribute::value_might_be_time_varying`](super::Attribute::value_might_be_time_varying).
    /// Reports `true` when the winning value source has more than one composed
    /// sample, and conservatively when that source is a value-clip set with more
    /// than one active clip — those clips can each contribute a different value
    /// even where the discrete sample count collapses to one (spec 12.3.4).
    pub fn value_might_be_time_varying(&self, attr_path: impl sdf::IntoPath) -> Result<bool> {
        let attr_path = sdf::try_into_path(attr_path)?;
        Ok(self.masked_opinions(&attr_path, |g, c| c.value_might_be_time_varying(g, &attr_path))?)
    }

    /// Evaluate an attribute's value at `time`, or at the default time when it
    /// is `None`, under the stage's current [`InterpolationType`]. The
    /// crate-internal resolution engine behind
    /// [`Attribute::get`](super::Attribute::get).
    ///
    /// Resolution visits the prim's contributing sites strongest-first,
    /// probing `timeSamples` (interpolated per §12.5) then `default` at each,
    /// so a stronger layer's `default` hides a weaker layer's samples. Value
    /// clips (§12.3.4) sit between the root layer stack's own opinions and
    /// anything reached across an arc.
    ///
    /// Answers [`pcp::TimedValue::Fallback`] when the attribute is
    /// unauthored, its `default` is blocked, or the stage does not hold the
    /// queried prim, and [`pcp::TimedValue::NoValue`] when
    /// a blocked sample or a clip answers at `time` without a value.
    ///
    /// `accepts` makes it a typed read, which at the default time passes over
    /// a `default` of a kind the requested type does not accept
    /// ([`pcp::IndexCache::value_at`]).
    pub(crate) fn resolve_at(
        &self,
        attr_path: impl sdf::IntoPath,
        time: Option<f64>,
        accepts: Option<fn(sdf::ValueKind) -> bool>,
    ) -> Result<pcp::TimedValue> {
        let attr_path = sdf::try_into_path(attr_path)?;
        let interp_type = self.interpolation_type.get();
        let interp = |samples: &sdf::TimeSampleMap, t: f64| interp::evaluate(samples, t, interp_type);
        Ok(self.masked_opinions(&attr_path, |g, c| c.value_at(g, &attr_path, time, &interp, accepts))?)
    }

    /// Resolves the cacheable value source for an attribute, the source half of
    /// [`Self::resolve_at`], paired with the stamp it stays replayable under.
    /// Backs [`AttributeQuery`](super::AttributeQuery), which snapshots both and
    /// replays the source across time codes. Resolves to
    /// [`AttributeValueSource::Static`](pcp::AttributeValueSource::Static)
    /// `None` with no stamp when the attribute's prim is outside the population
    /// mask.
    pub(crate) fn resolve_value_source(&self, attr_path: &sdf::Path) -> Result<pcp::StampedValueSource> {
        Ok(self.masked_opinions(attr_path, |g, c| c.resolve_value_source(g, attr_path))?)
    }

    /// Every spec contributing to the property at `path`, strongest first, with
    /// the clip layers participating at `time` when one is named. Backs
    /// [`Attribute::property_stack`](super::Attribute::property_stack) and
    /// [`property_stack_at`](super::Attribute::property_stack_at).
    pub(crate) fn property_stack(&self, path: &sdf::Path, time: Option<f64>) -> Result<Vec<super::SpecSite>> {
        Ok(self.masked_opinions(path, |g, c| c.property_stack(g, path, time))?)
    }

    /// Resolves where an attribute's value comes from, without producing the
    /// value. Backs [`Attribute::resolve_info`](super::Attribute::resolve_info).
    pub(crate) fn resolve_info(&self, attr_path: &sdf::Path, mode: pcp::ResolveMode) -> Result<pcp::Resolution> {
        let stage_id = self.layer_stack_id().clone();
        // The same policy [`Self::resolve_at`] reads through, so a timed query
        // decides which samples answer exactly as the value read does.
        let interp_type = self.interpolation_type.get();
        let interp = |samples: &sdf::TimeSampleMap, t: f64| interp::evaluate(samples, t, interp_type);
        Ok(self.masked_opinions(attr_path, |g, c| c.resolve_info(g, &stage_id, attr_path, mode, &interp))?)
    }

    /// The epochs a memoized prim type stays valid under, read together from
    /// one settled cache borrow.
    fn type_epochs(&self) -> TypeEpochs {
        let cache = self.cache();
        TypeEpochs {
            opinions: cache.type_opinion_epoch(),
            population: cache.population_epoch(),
        }
    }

    /// The current population epoch, which advances whenever the composed
    /// population may differ.
    pub(crate) fn population_epoch(&self) -> u64 {
        self.cache().population_epoch()
    }

    /// The stamp a cached answer about `path` is rechecked against: the prim's
    /// revision (`None` when no index is cached there) and the population epoch
    /// a redirection to it was memoized under.
    ///
    /// Read from one settled cache borrow, which the caller settles for
    /// ([`process_pending`](Self::process_pending)) rather than draining here: a
    /// caller checking this against a memo it has borrowed must not have a sink
    /// fire underneath that borrow.
    pub(crate) fn value_stamp(&self, path: &sdf::Path) -> (Option<pcp::PrimRevision>, u64) {
        let cache = self.composition.settled_cache();
        (cache.prim_revision(path), cache.population_epoch())
    }

    /// The schemas this stage resolves against (C++
    /// `UsdStage::GetSchemaRegistry` is a global; here it is per stage).
    pub fn schema_registry(&self) -> &Arc<SchemaRegistry> {
        &self.schema_registry
    }

    /// The schema type of the prim at `path` (C++ `UsdPrim::GetPrimTypeInfo`).
    ///
    /// Derived from the prim's composed `typeName` and `apiSchemas`, and shared
    /// with every other prim resolving to the same pair. A prim with neither —
    /// including one the stage does not hold — gets the registry's empty type.
    pub fn prim_type_info(&self, path: impl sdf::IntoPath) -> Result<Arc<PrimTypeInfo>> {
        Ok(self.prim_type_info_composed(path)?)
    }

    /// [`prim_type_info`](Self::prim_type_info) at the composition tier, for
    /// the internal readers and authoring routers that fold the failure into
    /// their own error.
    pub(crate) fn prim_type_info_composed(
        &self,
        path: impl sdf::IntoPath,
    ) -> Result<Arc<PrimTypeInfo>, pcp::QueryError> {
        let path = sdf::try_into_path(path)?;
        let epochs = self.type_epochs();
        if let Some(info) = self.prim_types.borrow().lookup(epochs, &path) {
            return Ok(info);
        }

        // Keyed on the authored list, not the composed one: the composed list
        // is what the definition this identity selects reports back
        // (C++ `_ComposeAuthoredAppliedSchemas`).
        let prim = super::Prim::new(self, path.prim_path());
        let mut id = PrimTypeId::new(prim.type_name_composed()?, prim.authored_api_schemas_composed()?);
        if let Some(mapped) = self.fallback_prim_type(id.type_name())? {
            id = id.with_mapped_type_name(mapped);
        }
        let info = self.schema_registry.prim_type_info(id);
        self.prim_types.borrow_mut().remember(epochs, path, info.clone());
        Ok(info)
    }

    /// The registered type to use in place of `type_name`, when the stage's
    /// root layer names one and the registry does not know the authored type
    /// (C++ `Usd_PrimTypeInfoCache::ComputeInvalidPrimTypeToFallbackMap`).
    ///
    /// `fallbackPrimTypes` maps each such type to an ordered list of
    /// substitutes; the first the registry knows wins, so an asset written
    /// against a newer schema still resolves against what this build has.
    fn fallback_prim_type(&self, type_name: &Token) -> Result<Option<Token>, pcp::QueryError> {
        const FALLBACK_PRIM_TYPES: &str = "fallbackPrimTypes";

        if type_name.as_str().is_empty() || self.schema_registry.is_concrete_type(type_name) {
            return Ok(None);
        }
        let Some(sdf::Value::Dictionary(fallbacks)) =
            self.field::<sdf::Value>(sdf::Path::abs_root(), FALLBACK_PRIM_TYPES)?
        else {
            return Ok(None);
        };
        let Some(candidates) = fallbacks
            .get(type_name.as_str())
            .cloned()
            .and_then(sdf::Value::try_as_token_vec)
        else {
            return Ok(None);
        };
        Ok(candidates
            .into_iter()
            .find(|candidate| self.schema_registry.is_concrete_type(candidate)))
    }

    /// Returns a [`Prim`](super::Prim) handle anchored to `path`. Mirrors C++
    /// `UsdStage::GetPrimAtPath`. The handle is a value-type `(stage, path)`
    /// wrapper; `Ok` does not assert that a prim is composed at the path
    /// (query the handle to find out) — `Err` means `path` failed to parse.
    pub fn prim(&self, path: impl sdf::IntoPath) -> Result<super::Prim, sdf::PathParseError> {
        Ok(super::Prim::new(self, sdf::try_into_path(path)?.prim_path()))
    }

    /// Returns an [`Attribute`](super::Attribute) handle anchored to `path`.
    /// Mirrors C++ `UsdStage::GetAttributeAtPath`. Like [`Self::prim`], the
    /// `Ok` handle asserts nothing about composed scene content; query it to
    /// resolve a value.
    pub fn attribute(&self, path: impl sdf::IntoPath) -> Result<super::Attribute, sdf::PathParseError> {
        Ok(super::Attribute::new(self, sdf::try_into_path(path)?))
    }

    /// Returns a [`Relationship`](super::Relationship) handle anchored to `path`.
    /// Mirrors C++ `UsdStage::GetRelationshipAtPath`.
    pub fn relationship(&self, path: impl sdf::IntoPath) -> Result<super::Relationship, sdf::PathParseError> {
        Ok(super::Relationship::new(self, sdf::try_into_path(path)?))
    }

    /// Returns an [`AttributeQuery`](super::AttributeQuery) for the attribute at
    /// `path` — a cached value source for repeated time-code reads. The
    /// `Stage`-anchored spelling of [`Attribute::query`](super::Attribute::query).
    pub fn attribute_query(&self, path: impl sdf::IntoPath) -> Result<super::AttributeQuery, sdf::PathParseError> {
        Ok(super::AttributeQuery::new(&self.attribute(path)?))
    }

    /// Returns the composed list of root prim names (children of the pseudo-root).
    pub fn root_prims(&self) -> Result<Vec<Token>> {
        let root = sdf::Path::abs_root();
        Ok(self.with_cache(|g, c| c.populated_children(g, &root))?)
    }

    // `has_spec` / `spec_type` below are low-level composed-spec infrastructure
    // (the post-composition analog of `SdfAbstractData::HasSpec` /
    // `GetSpecType`), shared by the composed handles and the stage's own status
    // queries. The public, C++-shaped scene queries live on the handles:
    // children / property names on `Prim` (`GetChildren` / `GetPropertyNames`),
    // targets / connections on `Relationship` / `Attribute` (`GetTargets` /
    // `GetConnections`). The handles reach the cache through [`Self::cache`]
    // and [`Self::masked`], which applies the stage's population; child lists
    // come from [`pcp::IndexCache::populated_children`].

    /// Returns `true` if any layer has a spec at the given composed path.
    ///
    /// For property paths (e.g. `/Prim.attr`), checks whether the property
    /// exists in any layer contributing to the owning prim's composition index.
    /// A property is one of the prim's opinions, so a prototype root has none.
    pub(crate) fn has_spec(&self, path: &sdf::Path) -> Result<bool, pcp::QueryError> {
        self.query_at(path, true, Reads::spec_of(path), |g, c| c.has_spec(g, path))
    }

    /// Returns the spec type at a composed path from the strongest contributing layer.
    pub(crate) fn spec_type(&self, path: impl sdf::IntoPath) -> Result<Option<sdf::SpecType>, pcp::QueryError> {
        let path = sdf::try_into_path(path)?;
        self.query_at(&path, true, Reads::spec_of(&path), |g, c| c.spec_type(g, &path))
    }

    /// Resolves a composed field value by walking the prim index from strongest
    /// to weakest. The post-composition analog of `SdfLayer::GetField` /
    /// `SdfAbstractData::Get`, for fields the typed accessors do not expose;
    /// C++ has no `UsdStage::GetField`. Prefer the typed handles
    /// ([`Attribute::get`], the `Prim::*` accessors, and the `Stage::*`
    /// accessors) where one covers the field — they delegate here.
    ///
    /// For prim paths, walks the prim index nodes. For property paths (containing
    /// a `.`), uses the owning prim's index to determine layer order, then queries
    /// the property spec directly in each layer.
    ///
    /// Returns the composed value: strongest-opinion-wins for plain fields,
    /// with spec 12.2's field-class rules — list-op folding, dictionary
    /// merging, path-expression `%_` composition,
    /// `specifier`/`variability`/`custom` — applied where they hold.
    /// A prototype root reads no field but `specifier`, which is `def` (C++
    /// reads the root through an empty prim index, and `_GetPrimSpecifierImpl`
    /// answers `def` for it).
    ///
    /// `None` if no layer provides a value. A [`sdf::Value::ValueBlock`]
    /// blocks the opinions weaker than it: the composed result is whatever
    /// the stronger opinions alone produce, or `None` when the block is the
    /// strongest opinion.
    ///
    /// The return type is generic: use `sdf::Value` to get the raw enum, or a
    /// concrete type (e.g. `bool`, `f64`, `String`) to convert automatically
    /// via [`TryFrom<sdf::Value>`].
    ///
    /// Accepts both [`sdf::FieldKey`] and `&str` as the field name.
    ///
    /// [`Attribute::get`]: super::Attribute::get
    pub fn field<T>(&self, path: impl sdf::IntoPath, field: impl AsRef<str>) -> Result<Option<T>, pcp::QueryError>
    where
        T: TryFrom<sdf::Value>,
        T::Error: Into<pcp::QueryError>,
    {
        let path = sdf::try_into_path(path)?;
        let field = field.as_ref();
        let mut raw = self.masked_opinions(&path, |g, c| c.resolve_field(g, &path, field))?;
        // A prototype root reads no opinions, but is always defined (C++
        // `_GetPrimSpecifierImpl`).
        if raw.is_none() && field == sdf::FieldKey::Specifier.as_str() && self.cache().is_prototype(&path) {
            raw = Some(sdf::Value::Specifier(sdf::Specifier::Def));
        }
        super::decode_value(raw)
    }

    /// Runs a composed query at `path` under the stage's population: when the
    /// population does not reach the path's owning prim — the mask excludes
    /// it, or an ancestor is inactive (C++ populates neither) — resolves to
    /// `T::default()` without composing that prim; otherwise runs `query` with
    /// a short mutable cache borrow. This is the query runner the composed
    /// handles ([`Prim`](super::Prim) / [`Attribute`](super::Attribute) /
    /// [`Relationship`](super::Relationship)) build their scene queries on.
    pub(crate) fn masked<T: Default>(
        &self,
        path: &sdf::Path,
        query: impl FnMut(&pcp::LayerGraph, &mut pcp::IndexCache) -> Result<T, pcp::QueryError>,
    ) -> Result<T, pcp::QueryError> {
        self.query_at(path, true, Reads::Source, query)
    }

    /// Runs a query that reads a prim's opinions, under the stage's population
    /// like [`Self::masked`]. A prototype root answers `T::default()`. C++
    /// reads its opinions through an empty prim index
    /// (`Usd_PrimData::GetPrimIndex`), while its children, validity and flags
    /// come from the index the cache composed for it.
    pub(crate) fn masked_opinions<T: Default>(
        &self,
        path: &sdf::Path,
        query: impl FnMut(&pcp::LayerGraph, &mut pcp::IndexCache) -> Result<T, pcp::QueryError>,
    ) -> Result<T, pcp::QueryError> {
        self.query_at(path, true, Reads::Opinions, query)
    }

    /// [`Self::masked_opinions`] outside the stage's population, for the
    /// composition-tier reads that answer for a prim the stage does not hold.
    pub(crate) fn opinions<T: Default>(
        &self,
        path: &sdf::Path,
        query: impl FnMut(&pcp::LayerGraph, &mut pcp::IndexCache) -> Result<T, pcp::QueryError>,
    ) -> Result<T, pcp::QueryError> {
        self.query_at(path, false, Reads::Opinions, query)
    }

    /// The runner behind [`Self::masked`], [`Self::masked_opinions`] and
    /// [`Self::opinions`]: answers `T::default()` without running `query`
    /// when `gated` is set and the population does not reach the path's prim
    /// (see [`pcp::IndexCache::population_reaches`]), or when `reads` is
    /// [`Reads::Opinions`] and that prim is a prototype root.
    fn query_at<T: Default>(
        &self,
        path: &sdf::Path,
        gated: bool,
        reads: Reads,
        mut query: impl FnMut(&pcp::LayerGraph, &mut pcp::IndexCache) -> Result<T, pcp::QueryError>,
    ) -> Result<T, pcp::QueryError> {
        let prim = path.prim_path();
        // Before the borrow, not inside it: a prototype path is unanswerable
        // until stage population has registered its root, and completing that
        // is itself a composed walk.
        self.resolve_prototype_path(&prim)?;
        self.with_cache(move |g, c| {
            let hidden =
                (gated && !c.population_reaches(g, &prim)?) || (reads == Reads::Opinions && c.is_prototype(&prim));
            if hidden { Ok(T::default()) } else { query(g, c) }
        })
    }

    /// Completes stage population before a query on `prim` is answered, when
    /// `prim` addresses the reserved `/__Prototype_N` namespace.
    ///
    /// The registry that namespace belongs to is filled by composing
    /// instances, so a prototype path is unanswerable until the prims that
    /// share it have been populated — C++ has already done that by the time
    /// `Open` returns, while composition here is demand-driven. Whether the
    /// queried root happens to be registered decides the *result*, never
    /// whether discovery runs: an edit that adds an instance to a prototype
    /// that already exists advances the epoch while leaving the root looking
    /// known.
    ///
    /// Nothing happens for an ordinary stage path, which is every path on a
    /// stage that never asks about a prototype.
    pub(super) fn resolve_prototype_path(&self, prim: &sdf::Path) -> Result<(), pcp::QueryError> {
        if !pcp::is_prototype_namespace(prim) {
            return Ok(());
        }
        self.ensure_prototypes_discovered()
    }

    /// Completes stage population unless it is already current for the live
    /// population epoch.
    fn ensure_prototypes_discovered(&self) -> Result<(), pcp::QueryError> {
        if self.prototypes_discovered.get() == Some(self.population_epoch()) {
            return Ok(());
        }
        self.discover_prototypes()
    }

    /// Registers every prototype the stage's population contains (C++'s
    /// open-time `_ComposePrimIndexesInParallel` plus `Usd_InstanceChanges`,
    /// paid on demand instead).
    ///
    /// The walk is the same shape as [`Self::walk_loadable`] and is built from
    /// the same primitives [`Self::traverse`] uses, so mask, activeness, and
    /// the stop at instances cannot drift from ordinary traversal. It descends
    /// only into populated prims, so nothing below an inactive one is composed
    /// or loaded, stops at each instance, whose subtree belongs to its
    /// prototype, and then walks each newly registered prototype's namespace
    /// the same way to reach nested instances.
    ///
    /// The pass must be *epoch-stable*. It runs through many separate
    /// [`Self::with_cache`] calls; each settles its own layer loading, but the
    /// traversal as a whole does not, so a demand raised late can install a
    /// layer whose invalidation drops prototypes and child names the walk
    /// already consumed — a demanded layer that introduces relocates, or one
    /// whose own `${VAR}` sublayer resolves afterwards, both reach
    /// `IndexCache::invalidate_layers`. Restarting whenever the epoch moved is
    /// what keeps the stamped result a snapshot of one coherent population.
    /// That terminates for the same reason the loader's own fixpoints do: a
    /// restart means a demanded layer was installed, and each pass settles at
    /// least one previously unsettled target, of which there are finitely many.
    //
    // TODO(perf): the walk composes — and, under `InitialLoadSet::LoadAll`,
    // loads — the whole populated namespace, so one cheap read of a
    // `/__Prototype_N` path pays for the entire stage; any structural edit
    // advances the epoch and re-arms it. C++ pays the same cost, but eagerly
    // and once per recompose; the generalization here is an incremental pass
    // keyed on the change set, registering only the subtrees an edit could have
    // made instanceable.
    // TODO(rayon): distinct prototype namespaces in the fixpoint are
    // independent subtrees, so their passes can run concurrently once
    // materialization does (see `IndexCache::materialize_prototype`).
    fn discover_prototypes(&self) -> Result<(), pcp::QueryError> {
        loop {
            let epoch = self.population_epoch();
            let mut roots: Vec<sdf::Path> = Vec::new();
            let mut visited: HashSet<sdf::Path> = HashSet::new();
            self.register_instances_below(&sdf::Path::abs_root(), &mut roots)?;
            // A prototype's own namespace can hold further instances, and each
            // of those mints a prototype to walk in turn. The visited set
            // bounds the fixpoint however the composition nests.
            while let Some(root) = roots.pop() {
                if visited.insert(root.clone()) {
                    self.register_instances_below(&root, &mut roots)?;
                }
            }
            if self.population_epoch() == epoch {
                self.prototypes_discovered.set(Some(epoch));
                return Ok(());
            }
        }
    }

    /// Registers every instance in the subtree below `root`, collecting the
    /// prototype roots they resolve to into `roots`. One pass of
    /// [`Self::discover_prototypes`]'s walk.
    fn register_instances_below(&self, root: &sdf::Path, roots: &mut Vec<sdf::Path>) -> Result<(), pcp::QueryError> {
        let mut stack = vec![root.clone()];
        while let Some(path) = stack.pop() {
            // One settled pass per prim, straight against the cache. Going
            // through the composed handles instead would re-enter
            // [`Self::resolve_prototype_path`] the moment the walk reached a
            // prototype namespace, so the walk sits below that gate rather than
            // guarding against itself.
            let step = self.with_cache(|g, c| match c.prototype_of(g, &path)? {
                Some(prototype) => Ok(Err(prototype)),
                None => Ok(Ok(c.populated_children(g, &path)?)),
            })?;
            match step {
                // An instance's subtree belongs to its prototype, so stop here
                // and walk that namespace in its own right.
                Err(prototype) => roots.push(prototype),
                // Reversed, as `traverse` does, so the walk visits children in
                // namespace order and prototypes mint in stage order. A prim
                // that is not populated has none.
                Ok(children) => {
                    for name in children.iter().rev() {
                        if let Ok(child) = path.append_path(name.as_str()) {
                            stack.push(child);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns a handle to a prim's composition index (C++
    /// `UsdPrim::GetPrimIndex`). The handle is a cheap `(stage, path)` value;
    /// each of its queries borrows the cache briefly, so it can be held and
    /// reused freely.
    pub fn prim_index(&self, prim: impl sdf::IntoPath) -> Result<super::PrimIndexRef, sdf::PathParseError> {
        Ok(super::PrimIndexRef::new(self, sdf::try_into_path(prim)?))
    }

    /// Resolves a layer id — as carried by a composition
    /// [`Node`](pcp::Node) (`layer_id`, `layer_stack`) — to its identifier.
    /// Unlike [`Self::layer_stack`], this covers every loaded layer, including
    /// those reached across reference/payload arcs.
    pub fn layer_identifier(&self, id: pcp::LayerId) -> Option<String> {
        self.layers().try_identifier(id).map(str::to_string)
    }

    /// The raw `(layer id, sublayer offset)` members of `node`'s layer stack, in
    /// strength order (C++ `PcpNodeRef::GetLayerStack`'s layers and offsets). A
    /// composition [`Node`](pcp::Node) references its layer stack by handle and
    /// leaves the members to the cache, so this resolves them through the stage's
    /// layer graph for composition introspection. The offsets are the authored
    /// sublayer offsets; the arc time offset is read separately from the node's
    /// `map_to_root`. Returns `None` for a stale view — a node cloned out of an
    /// index the stage has since dropped, whose stack reclamation removed; a
    /// recomposition mints a successor under a fresh id, never the stale
    /// handle's.
    pub fn node_layer_stack(&self, node: &pcp::Node) -> Option<Vec<(pcp::LayerId, sdf::LayerOffset)>> {
        self.layers().try_layer_stack(node.layer_stack_id()).map(<[_]>::to_vec)
    }

    /// Returns the root layer's `customLayerData` dictionary, if authored.
    /// Mirrors C++ `UsdStage::GetRootLayer()->GetCustomLayerData()`: layer
    /// metadata is read from the root layer alone, not composed across the
    /// layer stack.
    pub fn custom_layer_data(&self) -> Result<Option<sdf::Value>> {
        Ok(self.field::<sdf::Value>(sdf::Path::abs_root(), sdf::FieldKey::CustomLayerData)?)
    }

    /// Returns every prototype root (`/__Prototype_N`) this stage's population
    /// contains, in registration order (C++ `UsdStage::GetPrototypes`).
    ///
    /// Completing the population is what makes the answer whole: the registry
    /// fills as instances compose, so a stage that has composed nothing knows
    /// no prototypes until this call has walked it. Only a prim the mask
    /// exposes can register, so no filtering is applied here.
    pub fn prototypes(&self) -> Result<Vec<sdf::Path>> {
        self.ensure_prototypes_discovered()?;
        Ok(self.cache().prototypes())
    }

    /// Returns the resolved stage status bits for a prim.
    pub fn prim_status(&self, prim: impl sdf::IntoPath) -> Result<PrimStatus> {
        self.prim_status_masked(&sdf::try_into_path(prim)?.prim_path(), PrimStatus::all())
    }

    /// Computes only the status bits set in `mask`, with the inherited four
    /// ([`PrimStatus::INHERITED`]) answered together whenever any is asked,
    /// since one composition down the ancestor chain yields them all. Bits
    /// outside `mask` are otherwise left unset. Used by traversal so unused
    /// checks (e.g. INSTANCE, MODEL for default traversal) are skipped.
    pub(super) fn prim_status_masked(&self, prim: &sdf::Path, mask: PrimStatus) -> Result<PrimStatus> {
        let status = self.masked(prim, |g, c| {
            let mut status = PrimStatus::empty();
            if mask.intersects(PrimStatus::INHERITED) {
                let chain: Vec<sdf::Path> = prim.ancestors_below_root().collect();
                status = chain.iter().rev().try_fold(PrimStatus::ROOT, |parent, ancestor| {
                    Self::status_below(c, g, parent, ancestor)
                })?;
            }
            if mask.contains(PrimStatus::INSTANCE) {
                status.set(PrimStatus::INSTANCE, c.is_instance(g, prim)?);
            }
            Ok(status)
        })?;
        self.with_own_status(prim, status, mask)
    }

    /// [`prim_status_masked`](Self::prim_status_masked) for a prim whose
    /// parent's inherited bits are `parent`: its own compose from them in one
    /// step.
    fn child_status_masked(&self, prim: &sdf::Path, parent: PrimStatus, mask: PrimStatus) -> Result<PrimStatus> {
        let status = self.masked(prim, |g, c| {
            let mut status = PrimStatus::empty();
            if mask.intersects(PrimStatus::INHERITED) {
                status = Self::status_below(c, g, parent, prim)?;
            }
            if mask.contains(PrimStatus::INSTANCE) {
                status.set(PrimStatus::INSTANCE, c.is_instance(g, prim)?);
            }
            Ok(status)
        })?;
        self.with_own_status(prim, status, mask)
    }

    /// `prim`'s inherited bits below a parent whose are `parent`, from the
    /// prim's own opinions as C++ `Usd_PrimData::_ComposeAndCacheFlags`
    /// combines them: active and defined require the parent's, abstract is
    /// the parent's or the prim's own `class`, and loaded requires an active
    /// prim below a loaded parent whose own payload, if any, the load rules
    /// include. A prim nothing composes has no status.
    fn status_below(
        cache: &mut pcp::IndexCache,
        graph: &pcp::LayerGraph,
        parent: PrimStatus,
        prim: &sdf::Path,
    ) -> Result<PrimStatus, pcp::QueryError> {
        let Some(own) = cache.own_status(graph, prim)? else {
            return Ok(PrimStatus::empty());
        };
        let active = parent.contains(PrimStatus::ACTIVE) && own.active;
        let mut status = PrimStatus::empty();
        status.set(PrimStatus::ACTIVE, active);
        status.set(
            PrimStatus::LOADED,
            active && parent.contains(PrimStatus::LOADED) && own.payload_included,
        );
        status.set(
            PrimStatus::DEFINED,
            parent.contains(PrimStatus::DEFINED) && own.defining,
        );
        status.set(PrimStatus::ABSTRACT, parent.contains(PrimStatus::ABSTRACT) || own.class);
        Ok(status)
    }

    /// `status` with the bits `mask` asks for that neither `prim`'s ancestors
    /// nor its own composition decide.
    fn with_own_status(&self, prim: &sdf::Path, mut status: PrimStatus, mask: PrimStatus) -> Result<PrimStatus> {
        if mask.intersects(PrimStatus::MODEL | PrimStatus::IN_PROTOTYPE) {
            let prim = super::Prim::new(self, prim.clone());
            if mask.contains(PrimStatus::MODEL) {
                status.set(PrimStatus::MODEL, prim.is_model()?);
            }
            if mask.contains(PrimStatus::IN_PROTOTYPE) {
                status.set(PrimStatus::IN_PROTOTYPE, prim.is_in_prototype()?);
            }
        }
        Ok(status)
    }

    /// Borrows the stage's composition cache, first draining any pending layer
    /// edits so the cache reflects every commit before it is read.
    pub(crate) fn cache(&self) -> Ref<'_, pcp::IndexCache> {
        self.process_pending();
        self.composition.settled_cache()
    }

    /// Inserts `layer` as a sublayer of `parent` at `pos`. `parent` is matched
    /// by its canonical identifier.
    ///
    /// `parent`'s `subLayers` / `subLayerOffsets` metadata is the single source
    /// of truth: this authors `layer`'s identifier and `offset` there, then
    /// rebuilds the graph edges and invalidates composition through the same
    /// change pipeline an ordinary `subLayers` edit uses. The sublayer therefore
    /// persists on save.
    ///
    /// `layer` joins the stage under its own identifier, which must be the
    /// spelling the stage's resolver gives a layer of that name; an anonymous
    /// identifier always is.
    ///
    /// Returns [`StageAuthoringError::LayerNotFound`] if `parent` is not in the
    /// stage, [`StageAuthoringError::IncompatibleLayerIdentifier`] if the
    /// stage's resolver spells `layer`'s identifier another way, and
    /// [`StageAuthoringError::Layer`] if `parent` is read-only. In
    /// every case the graph is left untouched — `layer` only joins it once the
    /// parent edit succeeds, so a failed insert never leaves an orphan node.
    ///
    /// If `layer` authors its own `subLayers` naming layers not yet loaded,
    /// the recompose records them as sublayer demands and the load barrier
    /// opens them from disk, with one that fails to resolve surfacing as an
    /// [`UnresolvedSublayer`](pcp::CompositionDiagnostic::UnresolvedSublayer) diagnostic — the
    /// same treatment the root layer's sublayers get at open.
    pub fn insert_layer(
        &self,
        parent: &str,
        pos: usize,
        layer: sdf::Layer,
        offset: sdf::LayerOffset,
    ) -> Result<(), StageAuthoringError> {
        let identifier = layer.identifier().to_string();
        // Author the parent's metadata first; the child node is added only after
        // this succeeds (the authored asset path is a plain string, so the node
        // need not exist yet — only the later rebuild's edge resolution needs it).
        let edited = {
            let mut layers = self.composition.authoring_graph_mut();
            let parent_id = layers.id_of(parent).ok_or_else(|| StageAuthoringError::LayerNotFound {
                layer: parent.to_string(),
            })?;
            let expected = layers.layer_registry().in_memory_identifier(&identifier);
            if expected != identifier {
                return Err(StageAuthoringError::IncompatibleLayerIdentifier {
                    expected: expected.into_owned(),
                    identifier,
                });
            }
            let node = layers.get_mut(parent_id).expect("id_of returned a live id");
            self.edit_layer(&mut node.layer, None, |l| {
                l.pseudo_root_mut()
                    .map(|mut root| root.insert_sublayer(pos, identifier, offset))
                    .map_err(StageAuthoringError::from)
            })
        };
        // Add the child node only once the parent edit succeeded, so a failed
        // insert never leaves an orphan node. Interning attaches
        // the aggregator (skipping a duplicate identifier that collapses onto an
        // already-loaded node), the same path opening a stage uses.
        if edited.is_ok() {
            self.composition.intern_layer(layer, self);
        }
        self.process_pending();
        edited.map(|_| ())
    }

    /// Removes the sublayer `child` from `parent`'s `subLayers` and its aligned
    /// `subLayerOffsets` entry, then rebuilds the graph edges and invalidates
    /// composition through the change pipeline. `parent` is matched by its
    /// canonical identifier; `child` may be either a canonical identifier (as
    /// returned by [`sub_layers`](Self::sub_layers)) or the as-authored asset
    /// path — both are resolved to the same layer, and the authored `subLayers`
    /// entry pointing at that layer is the one removed, even when the entry is a
    /// relative path that differs from the canonical identifier.
    ///
    /// Returns `Ok(true)` if a sublayer was removed, `Ok(false)` if `child` is
    /// not a sublayer of `parent`, [`StageAuthoringError::LayerNotFound`] if
    /// `parent` is not in the stage, and [`StageAuthoringError::Layer`] if
    /// `parent` is read-only.
    pub fn remove_layer(&self, parent: &str, child: &str) -> Result<bool, StageAuthoringError> {
        let edited = {
            let mut layers = self.composition.authoring_graph_mut();
            let parent_id = layers.id_of(parent).ok_or_else(|| StageAuthoringError::LayerNotFound {
                layer: parent.to_string(),
            })?;
            // Resolve `child` to a layer id (an exact canonical identifier, or an
            // asset path authored relative to `parent`), then find the authored
            // `subLayers` entry that resolves to the same layer. An entry is
            // authored relative to `parent`, so anchoring it the way the load path
            // interned the sublayer makes the entry's canonical id comparable to
            // `child_id` even when the entry string differs from the canonical id.
            let authored = layers.find_relative(child, parent_id).and_then(|child_id| {
                let subs = layers.get(parent_id)?.layer.pseudo_root()?.sublayers()?.clone();
                subs.into_iter()
                    .find(|entry| layers.find_relative(entry, parent_id) == Some(child_id))
            });
            authored.map(|entry| {
                let node = layers.get_mut(parent_id).expect("parent_id is a live id");
                self.edit_layer(&mut node.layer, None, move |l| {
                    l.pseudo_root_mut()
                        .map(|mut root| root.remove_sublayer(&entry))
                        .map(|_| ())
                        .map_err(StageAuthoringError::from)
                })
            })
        };
        // A removed entry changes `subLayers`, so a non-empty change set means a
        // sublayer was removed; no authored entry means nothing to remove.
        match edited {
            Some(edited) => {
                // `edit_layer` reports whether the edit changed anything.
                self.process_pending();
                edited
            }
            None => Ok(false),
        }
    }

    /// Borrows the stage's layer graph, first draining any pending layer edits so
    /// the graph reflects every commit before it is read — a structural edit
    /// (sublayers, offsets, relocates) leaves the topology stale until then. The
    /// drain is a no-op when nothing is pending.
    pub(crate) fn layers(&self) -> Ref<'_, pcp::LayerGraph> {
        self.process_pending();
        self.composition.settled_graph()
    }

    /// Borrows the stage's layer graph mutably, behind the guard
    /// [`layer_mut`](Self::layer_mut) hands out for direct authoring. Drains
    /// pending edits first so the graph is current before it is re-authored; the
    /// commit's own aggregator records the new change list for the next drain.
    fn layers_mut(&self) -> RefMut<'_, pcp::LayerGraph> {
        self.process_pending();
        self.composition.settled_graph_mut()
    }

    /// Drains, then runs a composed query against the settled stage through
    /// [`StageComposition::query`](composition::StageComposition::query), which
    /// owns the query/load fixpoint.
    pub(crate) fn with_cache<T>(
        &self,
        query: impl FnMut(&pcp::LayerGraph, &mut pcp::IndexCache) -> Result<T, pcp::QueryError>,
    ) -> Result<T, pcp::QueryError> {
        self.process_pending();
        self.composition.query(query, self)
    }

    /// Anchors an `asset` an attribute's schema fallback supplied, against the
    /// location the schematics that authored it was resolved from.
    ///
    /// This has no C++ counterpart, and is a deliberate extension rather than a
    /// gap being closed: `UsdStage::_GetAssetPathContext` yields no context for
    /// a fallback-sourced value, and `UsdSchemaRegistry` opens each
    /// `generatedSchema.usda` with `SdfLayer::OpenAsAnonymous`, so C++ has no
    /// location to anchor against in the first place. It stays opt-in — a
    /// family whose schematics layer resolved from nowhere — an anonymous one,
    /// as C++ always has — reads back exactly as C++ leaves it, since resolving
    /// an unanchored relative path
    /// would canonicalize it against the process working directory and invent a
    /// location the author never named.
    ///
    /// No variable scope is supplied: a schema layer belongs to no layer stack,
    /// so an expression-valued fallback is left unevaluated and unresolved, and
    /// reports nothing — there are no variables in scope for it to be wrong
    /// about. With nothing to evaluate, nothing can fail either, so the error
    /// sink has nothing to collect.
    ///
    /// A value holding no asset paths passes through untouched, so the caller
    /// need only gate on the type when it has its own reason to.
    pub(crate) fn resolve_schema_asset(&self, source: &Schematics, value: sdf::Value) -> sdf::Value {
        let Some(anchor) = source.resolved_location() else {
            return value;
        };
        let registry = self.composition.layer_registry();
        let mut failures = Vec::new();
        let value = sdf::resolve_asset_paths(&registry, Some(anchor), None, value, &mut failures);
        debug_assert!(
            failures.is_empty(),
            "a schema fallback evaluates nothing, so nothing can fail"
        );
        value
    }

    /// Whether the composed prim at `path` satisfies `predicate`.
    pub fn prim_matches(&self, path: &sdf::Path, predicate: PrimPredicate) -> Result<bool> {
        Ok(predicate.matches(self.prim_status_masked(path, predicate.consulted_bits())?))
    }

    /// Traverses composed prims depth-first, visiting prims that match `predicate`.
    ///
    /// Pass [`PrimPredicate::DEFAULT`] for OpenUSD's usual traversal region
    /// (active, loaded, defined, non-abstract). Descendants are pruned when
    /// inherited status bits make it impossible for them to match, such as below
    /// unloaded, undefined, or abstract prims when the predicate excludes those
    /// regions. An inactive prim has no descendants on the stage. A predicate
    /// that admits it, [`PrimPredicate::ALL`] included, visits the prim and
    /// nothing below it (C++ `UsdPrimRange` under `UsdPrimAllPrimsPredicate`).
    pub fn traverse(&self, predicate: PrimPredicate, mut visitor: impl FnMut(&sdf::Path)) -> Result<()> {
        let needed = predicate.consulted_bits();
        // Each prim carries its parent's status and the population epoch it
        // was read under. While the population is unchanged the prim composes
        // its inherited bits from that status and its own opinions, as C++
        // `Usd_PrimData` does; after a change it walks its ancestors afresh.
        let mut stack = vec![(sdf::Path::abs_root(), None)];

        while let Some((path, parent)) = stack.pop() {
            let epoch = self.population_epoch();
            let status = if path.is_abs_root() {
                PrimStatus::ROOT
            } else {
                let status = match parent {
                    Some((parent_epoch, parent)) if parent_epoch == epoch => {
                        self.child_status_masked(&path, parent, needed)?
                    }
                    _ => self.prim_status_masked(&path, needed)?,
                };
                if predicate.matches(status) {
                    visitor(&path);
                }
                if predicate.prunes_descendants(status) {
                    continue;
                }
                // Stop at instance prims unless instance proxies are requested;
                // the instance's subtree is the prototype's (spec 11.3.3).
                if !predicate.traverse_instance_proxies && status.contains(PrimStatus::INSTANCE) {
                    continue;
                }
                status
            };

            let children = self.masked(&path, |g, cache| cache.populated_children(g, &path))?;
            // Push in reverse so first child is visited first.
            for name in children.iter().rev() {
                if let Ok(child) = path.append_path(name.as_str()) {
                    stack.push((child, Some((epoch, status))));
                }
            }
        }

        Ok(())
    }
}

/// Restores a stage's load rules on drop — the RAII half of
/// [`Stage::find_loadable`]'s transient `LoadRules::all()` swap, so the
/// original rules are reinstalled even if the walk between construction and
/// drop returns early on error.
struct LoadRulesGuard<'a> {
    stage: &'a Stage,
    original: pcp::LoadRules,
}

impl Drop for LoadRulesGuard<'_> {
    fn drop(&mut self) {
        self.stage
            .composition
            .swap_load_rules(mem::take(&mut self.original), self.stage);
    }
}

/// Builder for configuring and opening a [`Stage`].
///
/// Created via [`Stage::builder`]. Configures the [`sdf::LayerRegistry`] layers
/// load through (resolver + file formats) and composition options.
pub struct StageBuilder {
    registry: sdf::LayerRegistry,
    variant_fallbacks: pcp::VariantFallbackMap,
    session_layer: Option<String>,
    initial_load_set: InitialLoadSet,
    population_mask: StagePopulationMask,
    interpolation_type: InterpolationType,
    muted: HashSet<String>,
    schema_registry: Option<Arc<SchemaRegistry>>,
}

#[derive(Default)]
struct CollectedLayers {
    layers: Vec<sdf::Layer>,
    diagnostics: pcp::Diagnostics,
}

impl StageBuilder {
    fn new() -> Self {
        Self {
            registry: sdf::LayerRegistry::default(),
            variant_fallbacks: pcp::VariantFallbackMap::new(),
            session_layer: None,
            initial_load_set: InitialLoadSet::LoadAll,
            population_mask: StagePopulationMask::all(),
            interpolation_type: InterpolationType::default(),
            muted: HashSet::new(),
            schema_registry: None,
        }
    }

    /// Sets the [`LayerRegistry`](sdf::LayerRegistry) the stage loads layers
    /// through — its resolver and (in the future) registered file formats.
    pub fn registry(mut self, registry: sdf::LayerRegistry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets a custom asset resolver, wrapping it in a [`sdf::LayerRegistry`]
    /// over the built-in formats. A convenience over
    /// [`registry`](Self::registry).
    pub fn resolver<R: ar::Resolver + 'static>(mut self, resolver: R) -> Self {
        self.registry = sdf::LayerRegistry::new(Box::new(resolver));
        self
    }

    /// Sets the stage-level interpolation mode for time-sampled
    /// attribute queries through [`Attribute::get`](super::Attribute::get).
    /// Default per AOUSD §12.5 is [`InterpolationType::Linear`].
    pub fn interpolation_type(mut self, mode: InterpolationType) -> Self {
        self.interpolation_type = mode;
        self
    }

    /// Sets the schemas the stage resolves fallback values against.
    ///
    /// Defaults to [`SchemaRegistry::global`](SchemaRegistry::global), the
    /// process-wide registry. Supply one built through
    /// [`SchemaRegistry::builder`](SchemaRegistry::builder) to give a stage
    /// schemas the process does not have; that carries the core `usd` family
    /// too, and
    /// [`SchemaRegistryBuilder::empty`](super::SchemaRegistryBuilder::empty)
    /// is what gives a stage none. The registry is pinned for the stage's
    /// life.
    pub fn schema_registry(mut self, registry: Arc<SchemaRegistry>) -> Self {
        self.schema_registry = Some(registry);
        self
    }

    /// Sets the session layer for the stage.
    ///
    /// The session layer provides the strongest opinions in the composition,
    /// stronger than even the root layer. It is typically used for temporary,
    /// non-persistent overrides such as variant selections, visibility toggles,
    /// or LOD settings.
    ///
    /// The session layer and its sublayers are collected and prepended to the
    /// layer stack before the root layer.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use openusd::usd;
    ///
    /// let stage = usd::Stage::builder()
    ///     .session_layer("session.usda")
    ///     .open("scene.usda")
    ///     .unwrap();
    ///
    /// assert!(stage.has_session_layer());
    /// ```
    pub fn session_layer(mut self, path: impl Into<String>) -> Self {
        self.session_layer = Some(path.into());
        self
    }

    /// Mutes the given layer identifiers at open time, so they contribute no
    /// opinions to the stage's first composition (see
    /// [`Stage::mute_layer`]). The root layer cannot be muted and a request to
    /// mute it is ignored. C++ has no open-time mute; this mirrors how
    /// [`variant_fallbacks`](Self::variant_fallbacks) and the population mask are
    /// threaded into the initial build.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use openusd::usd;
    ///
    /// let stage = usd::Stage::builder()
    ///     .mute(["override.usda"])
    ///     .open("scene.usda")
    ///     .unwrap();
    /// ```
    pub fn mute(mut self, identifiers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.muted.extend(identifiers.into_iter().map(Into::into));
        self
    }

    /// Sets the variant fallback map for the stage.
    ///
    /// When a prim has a variant set but no authored selection, the
    /// composition engine tries each fallback in order. The first fallback
    /// matching an existing variant in the set is used; if none match, the
    /// first variant in the set is used as default.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use openusd::usd;
    /// use openusd::pcp::VariantFallbackMap;
    ///
    /// let fallbacks = VariantFallbackMap::new()
    ///     .add("shadingComplexity", ["full", "simple"]);
    ///
    /// let stage = usd::Stage::builder()
    ///     .variant_fallbacks(fallbacks)
    ///     .open("scene.usda")
    ///     .unwrap();
    /// ```
    pub fn variant_fallbacks(mut self, fallbacks: pcp::VariantFallbackMap) -> Self {
        self.variant_fallbacks = fallbacks;
        self
    }

    /// Sets the initial payload loading behavior.
    pub fn load(mut self, load_set: InitialLoadSet) -> Self {
        self.initial_load_set = load_set;
        self
    }

    /// Sets the stage population mask.
    pub fn mask(mut self, mask: StagePopulationMask) -> Self {
        self.population_mask = mask;
        self
    }

    /// Opens a stage from a root layer file.
    ///
    /// Session layers (if any) are prepended at the front of the layer stack
    /// so they hold the strongest opinions.
    pub fn open(self, root_path: &str) -> Result<Stage> {
        // One cache scope spans the open. A packaged root is opened once for
        // its default-layer lookup, its probes and its entry reads.
        let _scope = ar::CacheScope::begin();
        // The stage root stack is one layer stack whose single expression-variable
        // context (C++ `PcpExpressionVariables`) — the root layer's own variables
        // overlaid by the session root's own — resolves the `${VAR}` sublayers of
        // both the session region and the root region. Compose it once, up front,
        // and collect both regions against it: a session sublayer can then reference
        // a variable authored on the stage root layer (and a root sublayer one on the
        // session), and composition later resolves each `${VAR}` sublayer to the same
        // layer this collection opened.
        let root = self.registry.prepare_root(root_path, None)?;
        let session = self.prepare_session()?;
        let root_stack_vars = self.root_stack_expression_variables(&root, session.as_ref())?;
        let session = session
            .map(|session| self.collect_layers(session, &root_stack_vars))
            .transpose()?
            .unwrap_or_default();
        let root = self.collect_layers(root, &root_stack_vars)?;
        let session_layer_count = session.layers.len();
        let layers = session.layers.into_iter().chain(root.layers).collect();
        let diagnostics = session.diagnostics.into_iter().chain(root.diagnostics).collect();
        Ok(self.make_stage(layers, session_layer_count, diagnostics))
    }

    /// Create an in-memory stage backed by a single writable anonymous root
    /// layer. Mirrors C++ `UsdStage::CreateInMemory`.
    ///
    /// If a session layer was configured on the builder, it is loaded from
    /// disk and prepended just like in [`StageBuilder::open`].
    ///
    /// # Example
    ///
    /// ```
    /// use openusd::usd;
    ///
    /// let stage = usd::Stage::builder()
    ///     .in_memory("anon.usda")
    ///     .unwrap();
    /// stage.define_prim("/World").unwrap().set_type_name("Xform").unwrap();
    /// ```
    pub fn in_memory(self, identifier: impl Into<String>) -> Result<Stage> {
        let identifier = identifier.into();
        // The anonymous root layer authors no `expressionVariables`, so the root
        // stack context reduces to the session root's own — which
        // `open_prepared_stack` composes from the empty ancestor anyway.
        let session = self
            .prepare_session()?
            .map(|session| self.collect_layers(session, &HashMap::new()))
            .transpose()?
            .unwrap_or_default();
        let session_layer_count = session.layers.len();
        let layers: Vec<sdf::Layer> = session
            .layers
            .into_iter()
            .chain(std::iter::once(sdf::Layer::new_anonymous(identifier)))
            .collect();
        Ok(self.make_stage(layers, session_layer_count, session.diagnostics))
    }

    /// The configured session layer read ahead of its stack, or `None` when
    /// the builder has none.
    fn prepare_session(&self) -> Result<Option<sdf::PreparedLayer>> {
        Ok(self
            .session_layer
            .as_deref()
            .map(|path| self.registry.prepare_root(path, None))
            .transpose()?)
    }

    /// Opens the sublayer stack of `root`, a root layer
    /// [`LayerRegistry::prepare_root`] read.
    ///
    /// References and payloads are not followed here — composition opens those
    /// target layers on demand (see [`Stage::with_cache`]), so the population
    /// mask prunes them naturally: a culled prim is never composed, so its arc
    /// targets are never demanded. A missing sublayer is recorded as an
    /// [`UnresolvedSublayer`](pcp::CompositionDiagnostic::UnresolvedSublayer) collection error
    /// rather than aborting the open; one under a muted branch is filtered out
    /// later, once the muted-aware graph exists (see
    /// [`StageBuilder::make_stage`](Self::make_stage)).
    fn collect_layers(
        &self,
        root: sdf::PreparedLayer,
        ancestor_expr_vars: &HashMap<String, sdf::Value>,
    ) -> Result<CollectedLayers> {
        let diagnostics = RefCell::new(pcp::Diagnostics::default());
        // `ancestor_expr_vars` are the expression variables the enclosing context
        // contributes: the session layers' composed set for the root stack, empty
        // for the session stack itself (nothing sublayers it).
        let layers = self.registry.open_prepared_stack(
            root,
            ancestor_expr_vars,
            false,
            &|error| {
                diagnostics.borrow_mut().report(error.into());
                Ok(())
            },
            &|_| false,
        )?;
        Ok(CollectedLayers {
            layers,
            diagnostics: diagnostics.into_inner(),
        })
    }

    /// Whether the builder's requested mutes name `identifier`, each spelling
    /// canonicalized against the root layer at `root` the way the graph's
    /// muted set is (C++ `Pcp_MutedLayers::_GetCanonicalLayerId`): resolved
    /// to the identifier its layer interns under. Any spelling of one layer
    /// therefore matches. Lets collection test an interned identifier for
    /// muting before the graph exists.
    fn mutes(&self, root: &ar::ResolvedPath, identifier: &str) -> bool {
        self.muted
            .iter()
            .any(|m| self.registry.create_identifier(m, Some(root)) == identifier)
    }

    /// The stage root stack's single expression-variable context (C++
    /// `PcpExpressionVariables`): the stage root layer's own `expressionVariables`
    /// overlaid by the session root's own (session wins), a muted session root
    /// contributing none. Read shallowly from the two root layers — their sublayers
    /// contribute nothing — since it is the fixed context both the session region's
    /// and the root region's `${VAR}` sublayers resolve against.
    fn root_stack_expression_variables(
        &self,
        root: &sdf::PreparedLayer,
        session: Option<&sdf::PreparedLayer>,
    ) -> Result<HashMap<String, sdf::Value>> {
        let mut vars = sdf::expr::read_expression_variables(root.data.as_ref())?.into_owned();
        if let Some(session) = session
            && !self.mutes(&root.resolved, &session.identifier)
        {
            let session_own = sdf::expr::read_expression_variables(session.data.as_ref())?.into_owned();
            sdf::expr::compose_over(&mut vars, &session_own);
        }
        Ok(vars)
    }

    /// Assemble a [`Stage`] from already-collected layers. Shared
    /// construction tail for [`StageBuilder::open`] and
    /// [`StageBuilder::in_memory`]; any new `Stage` field must be wired in
    /// here once. Crate-visible so tests can assemble a multi-layer stage
    /// (references, sublayers) from hand-built [`sdf::Layer`]s.
    pub(crate) fn make_stage(
        self,
        layers: Vec<sdf::Layer>,
        session_layer_count: usize,
        collection_diagnostics: pcp::Diagnostics,
    ) -> Stage {
        let load_rules = match self.initial_load_set {
            InitialLoadSet::LoadAll => pcp::LoadRules::all(),
            InitialLoadSet::LoadNone => pcp::LoadRules::none(),
        };
        // The root layer stack's identity, from the collected inputs: the root is
        // the first non-session layer, the session layer the first of any. The
        // graph below is populated layer by layer, so this is read from the inputs
        // rather than the (initially empty) graph.
        let layer_stack_id = pcp::LayerStackIdentifier {
            root_layer: layers
                .get(session_layer_count)
                .map(|l| l.identifier().to_string())
                .unwrap_or_default(),
            session_layer: (session_layer_count > 0).then(|| layers[0].identifier().to_string()),
            resolver: self.registry.identity(),
        };
        // The root layer is the strongest authoring target by default; an empty
        // stack names no layer, so the target resolves to nothing at author time.
        let edit_target = EditTarget {
            layer_stack: Some(layer_stack_id.clone()),
            ..EditTarget::for_layer(layer_stack_id.root_layer.clone())
        };
        // Every sublayer load failure the collect pass reported, keyed for the
        // graph's failure memo below: the finalize drain then regenerates each
        // broken entry's per-stack diagnostic without re-attempting an open the
        // loader already ran.
        let failure_seeds: Vec<(String, String, pcp::LoadFailure)> = collection_diagnostics
            .iter()
            .filter_map(|error| match error {
                pcp::CompositionDiagnostic::UnresolvedSublayer {
                    asset_path,
                    introduced_by,
                } => Some((asset_path.clone(), introduced_by.clone(), pcp::LoadFailure::Unresolved)),
                pcp::CompositionDiagnostic::MalformedSublayer {
                    asset_path,
                    introduced_by,
                    reason,
                } => Some((
                    asset_path.clone(),
                    introduced_by.clone(),
                    pcp::LoadFailure::Unreadable(reason.clone()),
                )),
                _ => None,
            })
            .collect();
        // The graph keeps its own regenerable diagnostics (sublayer cycles,
        // invalid relocates); the cache holds only the one-shot collection errors.
        // `Stage::composition_errors` concatenates the two.
        let stage = Stage(Rc::new(StageInner {
            composition: StageComposition::new(
                pcp::LayerGraph::new(self.registry),
                pcp::IndexCache::new(
                    self.variant_fallbacks,
                    load_rules,
                    self.population_mask,
                    collection_diagnostics,
                ),
            ),
            initial_load_set: self.initial_load_set,
            prototypes_discovered: Cell::new(None),
            interpolation_type: Cell::new(self.interpolation_type),
            edit_target: RefCell::new(edit_target),
            layer_stack_id,
            sinks: RefCell::default(),
            edit_provenance: RefCell::new(None),
            current_generation: Cell::new(0),
            schema_registry: self.schema_registry.unwrap_or_else(|| SchemaRegistry::global().clone()),
            prim_types: RefCell::default(),
        }));
        stage
            .composition
            .initialize(layers, session_layer_count, self.muted, failure_seeds, &stage);
        stage
    }
}

#[cfg(test)]
impl Stage {
    /// The number of installed [`StageSink`]s, for tests asserting a wrapper's
    /// recording sink is installed and later removed.
    pub(crate) fn sink_count(&self) -> usize {
        self.sinks.borrow().iter().count()
    }
}
