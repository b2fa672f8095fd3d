//! Layer DAG: the loaded layers and their sublayer structure.
//!
//! [`LayerGraph`] owns every [`sdf::Layer`] a stage depends on and the sublayer
//! edges between them, keyed by the stable [`LayerId`]. It is the Rust
//! analog of C++ `PcpLayerStack` for the layer-ownership half of composition;
//! the composition index itself lives in [`IndexCache`](super::index_cache::IndexCache).
//!
//! Holding layers here (rather than inside the cache) lets a [`Stage`] borrow
//! the layer data and the composition index independently. Composition reads
//! the graph through a shared `&LayerGraph` parameter, so every per-prim build
//! stays a pure function of `(graph, context, cached indices)`.
//!
//! A composed sublayer stack (the depth-first pre-order walk of a root's sublayer
//! edges, with offsets composed) is interned in the
//! [`LayerStackRegistry`](super::layer_stack::LayerStackRegistry) of the
//! [`layer_stack`](super::layer_stack) module and addressed by a [`LayerStackId`];
//! only composition roots get an instance, so a sublayer-only layer participates
//! through its root's members rather than its own stack. The edges are always
//! derived from each layer's `subLayers` metadata by
//! [`recompute_sublayers`](LayerGraph::recompute_sublayers): both an ordinary
//! `subLayers` authoring edit and the public
//! [`Stage::insert_layer`](crate::usd::Stage::insert_layer) /
//! [`remove_layer`](crate::usd::Stage::remove_layer) route through it, so
//! editing `subLayers` updates the edges and the metadata stays the single
//! source of truth — no DFS on every query, and no edge that fails to persist on
//! save.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::mem;

use crate::ar::ResolvedPath;
use crate::sdf::expr;
use crate::sdf::schema::FieldKey;
use crate::sdf::{self, LayerOffset, Path, RelocateList, Value};
use crate::tf;

use super::compose_site::{EvaluatedExpression, evaluate_expression};
use super::diagnostics::Diagnostics;
use super::layer_stack::{ExprVarId, LayerStackId, LayerStackRegistry, StackMarks, StackVarsDelta, VarsSource};
use super::mapping::MapFunction;
use super::prim_index::Demand;
use super::relocates::{analyze_relocate_occurrences, chain_through_relocates, validate_layer_relocates};
use super::{CompositionDiagnostic, ExpressionContext, effective_time_codes_per_second};

/// A cheap, `Copy` handle identifying a layer within a `LayerGraph`.
///
/// Graph-assigned (interned) as layers are added, not derived from content, so
/// it is unique by construction — no hashing and no collision. It is opaque:
/// resolve it back to an identifier with
/// [`Stage::layer_identifier`](crate::usd::Stage::layer_identifier). Authoring
/// callers address layers by identifier string instead; this handle is what
/// composition introspection (the [`PrimIndex`](super::PrimIndex) nodes) hands
/// back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LayerId(u32);

impl LayerId {
    /// A sentinel never assigned to a real layer, for degenerate fallbacks (an
    /// empty layer stack's synthetic root, an unresolvable edit target).
    pub(crate) const INVALID: LayerId = LayerId(u32::MAX);

    /// Wraps a raw graph-assigned index. Only [`LayerGraph`] mints ids in
    /// production; tests use it to build synthetic handles.
    pub(crate) const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// Whether this names a real layer rather than [`INVALID`](Self::INVALID).
    pub(crate) const fn is_valid(self) -> bool {
        self.0 != Self::INVALID.0
    }
}

/// Stable identity of a stage's root layer stack, by composition input.
///
/// The Rust analog of C++ `PcpLayerStackIdentifier`, which keys a
/// `PcpLayerStack` by `(rootLayer, sessionLayer, pathResolverContext)`. Two
/// stages opened from the same root and session under a resolver with the same
/// [`identity`](crate::ar::Resolver::identity) are the same composition input,
/// so their identifiers compare equal. Used to tag a stage-bound
/// [`EditTarget`](crate::usd::EditTarget) so one built against a stage's
/// composition is rejected by an unrelated stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerStackIdentifier {
    /// Canonical identifier of the root layer.
    pub root_layer: String,
    /// Canonical identifier of the strongest session layer, if any.
    pub session_layer: Option<String>,
    /// The resolver's [`identity`](crate::ar::Resolver::identity) token — the
    /// configuration the stack's asset paths resolve under.
    pub resolver: String,
}

/// A composed layer stack by value — the transferable counterpart of the
/// graph-local `LayerStackId`, the value form of C++ `PcpLayerStackIdentifier`
/// with its recursive `expressionVariablesOverrideSource`. An arc-based edit
/// target carries one so the stack resolves by content on whichever equal-input
/// stage installs it, where the numeric handles differ. Total over every stack,
/// the root included, so capture and resolve sites need no root special case.
/// Captured by `LayerGraph::stack_identity` and resolved by
/// `LayerGraph::resolve_stack_identity`.
#[derive(Debug, Clone, PartialEq)]
pub enum StackIdentity {
    /// The stage root layer stack.
    Root,
    /// A reference/payload target stack: the target root layer's canonical
    /// identifier plus its variable source chain — each element the canonical
    /// identifier of a source stack's target root, ordered outermost (seeded by
    /// the stage root stack) first, with an empty chain meaning the root
    /// source.
    Target {
        /// Canonical identifier of the target root layer.
        root: String,
        /// Canonical identifiers of the variable source chain's target roots,
        /// outermost first.
        source_chain: Vec<String>,
    },
}

/// A layer's resolved sublayer edges in declared order: each child paired with
/// the effective layer offset for that hop (the authored `subLayerOffset` with
/// the time-codes-per-second retiming folded in, per spec 10.3.1.1 / 12.3.2).
type SublayerEdges = Vec<(LayerId, LayerOffset)>;

/// A single layer in the [`LayerGraph`].
pub(crate) struct LayerNode {
    /// The loaded layer (identifier + backing data + authoring surface).
    pub layer: sdf::Layer,
    /// This layer's context-free [`SublayerEdges`]: its `subLayers` resolved against
    /// the empty expression-variable set, so literal sublayers resolve and `${VAR}`
    /// sublayers drop out. Shared by every stack with no expression sublayer, where
    /// the members are context-independent; a stack with an expression sublayer
    /// re-resolves its subtree against the stack's variables in
    /// [`compose_stack_edges`](LayerGraph::compose_stack_edges) instead, so these are
    /// not duplicated per stack instance.
    pub children: SublayerEdges,
    /// Whether this layer authors at least one expression-valued (`${VAR}`)
    /// `subLayers` entry — a purely local property of its own `subLayers`, not its
    /// composed subtree. Recomputed by
    /// [`build_sublayer_edges`](LayerGraph::build_sublayer_edges), it lets
    /// [`has_expr_sublayer`](LayerGraph::has_expr_sublayer) decide whether a stack's
    /// members depend on the expression-variable context by reading a bool per
    /// member rather than re-decoding `subLayers`.
    pub has_expr_sublayer: bool,
    /// The structurally valid authored `layerRelocates` pairs `(source, target)`
    /// in this layer's own namespace. Stack queries apply duplicate-source and
    /// conflict rules for the ambient layer stack. Empty when the layer authors
    /// none.
    pub relocates: RelocateList,
}

impl LayerNode {
    /// A node wrapping `layer`, with no edges and no relocates. The sublayer
    /// edges, expression-sublayer flag, and relocates are filled in by
    /// [`LayerGraph::recompute_sublayers`].
    fn new(layer: sdf::Layer) -> Self {
        Self {
            layer,
            children: Vec::new(),
            has_expr_sublayer: false,
            relocates: Vec::new(),
        }
    }
}

/// The loaded layers and their sublayer DAG.
///
/// Corresponds to a simplified C++ `PcpLayerStack`: it owns the layers but not
/// the composed prim indices. Composition queries reach a layer by its
/// [`LayerId`] in O(1).
pub(crate) struct LayerGraph {
    /// Every layer, keyed by id.
    nodes: HashMap<LayerId, LayerNode>,
    /// Exact `identifier → id` index, so a layer is resolved by its canonical
    /// identifier (the public authoring surface) in O(1), and a re-added
    /// identifier collapses onto its existing id.
    by_identifier: HashMap<String, LayerId>,
    /// `real path → id` for every layer whose resolved location differs from
    /// its identifier — one found through a resolver search directory keeps
    /// the search path as its identifier — so the layer also answers to the
    /// spelling its file has (C++ `Sdf_LayerRegistry`'s by-real-path index,
    /// consulted by `SdfLayer::Find` after the identifier). The first layer
    /// interned at a real path keeps it.
    by_real_path: HashMap<String, LayerId>,
    /// Next id to mint. Monotonic for the life of the graph, so a removed id is
    /// never reused for a different layer within a session.
    next_id: u32,
    /// All layer ids in collection order. Iteration order is deterministic, so
    /// identifier listing and sublayer-stack composition are stable. The
    /// first [`session_layer_count`](Self::session_layer_count) entries are the
    /// session layers collected at open, in strength order; the session root is
    /// `order[0]`. Root-stack membership derives from a sublayer walk rooted
    /// there, not from this prefix, so a session sublayer loaded at runtime
    /// composes without joining it.
    order: Vec<LayerId>,
    /// Number of open-time session layers at the front of [`order`](Self::order).
    session_layer_count: usize,
    /// The root layer's id (the first non-session layer), if any.
    root: Option<LayerId>,
    /// The muted layers that are loaded, by id — the muted set proper, excluded
    /// when materializing the stacks (C++ `PcpLayerStack::_BuildLayerStack`). A
    /// muted layer and its whole sublayer subtree are pruned from every stack
    /// while staying interned, so unmute is a rebuild. Keyed by identity, so
    /// every spelling of one layer — its identifier, or the real path of one
    /// found through a search directory — mutes, unmutes and reads as the same
    /// entry. Never holds the root layer, which cannot be muted ("would lead to
    /// empty layer stacks"). Empty by default, leaving composition unchanged.
    muted: HashSet<LayerId>,
    /// Canonical identifiers muted while no loaded layer answers to them (C++
    /// `Pcp_MutedLayers` keeps every request as a string; here a request that
    /// names a loaded layer goes straight into [`muted`](Self::muted)). A path
    /// is reduced to this canonical form by
    /// [`canonical_muted_id`](Self::canonical_muted_id) (the resolver, anchored
    /// against the root layer), so a not-yet-loaded reference/payload target
    /// matches the identifier it will be interned under, and the entry moves to
    /// `muted` the moment such a layer is interned
    /// ([`resolve_muted_ids`](Self::resolve_muted_ids)).
    pending_mutes: HashSet<String>,
    /// Whether any node keeps structurally valid authored relocates. The indexer
    /// reads this to gate its relocate passes without rescanning.
    has_relocates: bool,
    /// The diagnostics this graph owns outright — see [`GraphDiagnostics`].
    /// The per-stack sublayer buckets are not here: they belong to
    /// [`SublayerState`], which replaces a stack's diagnostics and its pending
    /// demands together.
    diagnostics: GraphDiagnostics,
    /// Loads layers: the resolver that anchors relative asset paths (its
    /// [`identity`](Resolver::identity) is the resolver component of the stack's
    /// [`layer_stack_id`](Self::layer_stack_id)) and the format registry.
    /// Composition opens a reference/payload target on demand through it.
    registry: sdf::LayerRegistry,
    /// Anchored asset paths whose on-demand open failed, each mapped to what
    /// went wrong ([`LoadFailure`]). Consulted at the reference/payload demand
    /// point so a target that cannot be opened is reported
    /// [`MalformedLayer`](CompositionDiagnostic::MalformedLayer) once (with the arc's site
    /// context and the failure's reason) rather than re-demanded every pass —
    /// without it the demanding prim's index would never cache — and at
    /// sublayer-demand derivation
    /// ([`file_stack_discoveries`](Self::file_stack_discoveries)), which
    /// regenerates a failed entry's per-referrer diagnostic instead of a
    /// demand. Written only at the stage's load barrier through `&mut self`;
    /// read during composition, and cleared when an edit changes the layers so
    /// a now-readable asset is retried.
    failed_loads: HashMap<String, LoadFailure>,
    /// Every composed layer stack against this graph — the stage root stack, plus
    /// each reference/payload target's stack under whatever variable sources have
    /// reached it (see [`LayerStackRegistry`]). The graph composes a stack's members
    /// (it owns the layers) through [`build_stack_members`](Self::build_stack_members)
    /// and hands them to the registry, which owns the storage and interning. A
    /// [`LayerStackId`] is an index into it.
    stacks: LayerStackRegistry,
    /// The sublayer-resolution subsystem: what the `subLayers` walks derive and
    /// carry beyond the composed edges themselves (see [`SublayerState`]).
    sublayers: SublayerState,
    /// The sublayer-DAG-root stacks minted once at finalize
    /// ([`mint_eager_target_stacks`](Self::mint_eager_target_stacks)),
    /// permanently marked in every sweep: their layers stay open for the
    /// graph's life and nothing else re-mints them.
    eager_stacks: Vec<LayerStackId>,
}

/// The diagnostic buckets a [`LayerGraph`] replaces on its own rebuilds.
///
/// Two buckets rather than one because they refresh independently: an edge
/// rebuild replaces the cycles, a relocate recompute replaces the relocates,
/// and a relocate-only edit must not disturb the other. Sublayer diagnostics
/// are absent by the same reasoning — theirs is a *per-stack* lifetime that
/// [`SublayerState`] refreshes alongside that stack's pending demands.
#[derive(Debug, Default)]
struct GraphDiagnostics {
    /// Sublayer cycles reachable from the root layer, replaced wholesale by
    /// [`build_sublayer_edges`](LayerGraph::build_sublayer_edges) on every edge
    /// rebuild so a fixed cycle stops being reported.
    cycles: Diagnostics,
    /// Validated-relocate diagnostics, replaced wholesale by
    /// [`recompute_relocates`](LayerGraph::recompute_relocates) on every
    /// relocate rebuild.
    relocates: Diagnostics,
}

impl GraphDiagnostics {
    /// Both buckets, cycles first. A cycle is why a relocate went unvalidated
    /// far more often than the reverse, so it reads first.
    fn iter(&self) -> impl Iterator<Item = &CompositionDiagnostic> {
        self.cycles.iter().chain(&self.relocates)
    }
}

/// The [`LayerGraph`]'s sublayer-resolution subsystem: everything the
/// `subLayers` walks derive beyond the composed edges themselves — the shared
/// path-resolution memo, the context-free misses, the pending load demands,
/// and the per-stack diagnostics. One invariant ties the mutable pieces
/// together: a stack's re-resolution supersedes its earlier discoveries
/// ([`replace_stack`](Self::replace_stack)), so demands and diagnostics always
/// reflect each stack's latest rebuild.
#[derive(Default)]
struct SublayerState {
    /// Whether any node authors an expression-valued (`${VAR}`) `subLayers` entry.
    /// A false value lets [`LayerGraph::has_expr_sublayer`] short-circuit to
    /// `false` for the overwhelmingly common stage with no expression sublayers,
    /// so `LayerGraph::build_stack_members` never scans a stack for them.
    /// Recomputed with the per-node flags by
    /// `LayerGraph::recompute_expr_sublayer_flags`.
    any_expr: bool,
    /// Memoized sublayer-path resolution, `parent layer → (authored sub-path →
    /// resolved identifier)`, keyed by the entry's authored spelling (`./x` and
    /// `x` are different entries: the resolver anchors the first and treats the
    /// second as a search path). `LayerGraph::resolve_edges` anchors each
    /// relative `subLayers` entry against its parent through the resolver — a
    /// filesystem canonicalize — and re-runs the whole walk on every
    /// `LayerGraph::build_sublayer_edges`, i.e. every `subLayers` edit. Only a
    /// stable identifier is memoized — an absolute one naming an interned
    /// layer, which nothing removes — so it is computed once and reused, and
    /// looked up live with [`LayerGraph::id_of`]. A search-path or unresolved
    /// entry is never memoized: its identifier follows the filesystem beside
    /// its parent, so `LayerGraph::resolve_sublayer` derives it afresh on every
    /// rebuild, as C++ `_BuildLayerStack` derives every entry.
    resolution: HashMap<LayerId, HashMap<String, String>>,
    /// Sublayer entries that resolved to no loaded layer under the empty
    /// context, keyed by the authoring parent — the table a stack on the
    /// context-free `collect_plain` fast path consults to record load demands
    /// without re-decoding `subLayers` (its edges are exactly the context-free
    /// ones). Rebuilt wholesale by [`set_plain_misses`](Self::set_plain_misses)
    /// per edge build; a stack with an expression sublayer records its
    /// unresolved entries directly from its contextual re-resolution instead.
    // TODO(perf): a permanently missing literal keeps this table non-empty, so
    // every plain-stack rebuild re-scans its members to regenerate the
    // diagnostic; a per-parent presence flag on `LayerNode` would shortcut
    // stacks with no unresolved entries.
    unresolved_plain: HashMap<LayerId, Vec<String>>,
    /// The [`SublayerDemand`]s the last stack recompose or mint discovered,
    /// awaiting the stage's load barrier
    /// ([`LayerGraph::take_sublayer_demands`]). A plain `Vec` mutated through
    /// `&mut self`, like the cache's pending arc demands; each stack's entries
    /// reflect its latest rebuild ([`replace_stack`](Self::replace_stack)).
    pending_demands: Vec<SublayerDemand>,
    /// Per-stack sublayer diagnostics: `${VAR}` expression failures
    /// ([`CompositionDiagnostic::InvalidExpression`] with the sublayer context) and the
    /// per-referrer load failures of unresolved entries
    /// ([`CompositionDiagnostic::UnresolvedSublayer`] / [`CompositionDiagnostic::MalformedSublayer`]). Each
    /// stack's bucket is replaced on its contextual re-resolution — load
    /// failures re-derived from `LayerGraph::failed_loads` — so a fixed
    /// expression or a removed entry stops being reported; the load barrier
    /// appends a freshly discovered failure between rebuilds
    /// ([`record_error`](Self::record_error)). Keyed by stack in mint order, so
    /// the [`diagnostics`](Self::diagnostics) listing is deterministic.
    errors: BTreeMap<LayerStackId, Diagnostics>,
}

impl SublayerState {
    /// Replaces `stack`'s discoveries — its pending demands and its error
    /// bucket — with a fresh re-resolution's. The supersession invariant: a
    /// stale demand or diagnostic could name an entry a mute or edit just
    /// removed, so both always reflect the stack's latest rebuild.
    fn replace_stack(&mut self, stack: LayerStackId, demands: Vec<SublayerDemand>, errors: Diagnostics) {
        self.pending_demands.retain(|demand| demand.stack != stack);
        self.pending_demands.extend(demands);
        if errors.is_empty() {
            self.errors.remove(&stack);
        } else {
            self.errors.insert(stack, errors);
        }
    }

    /// Appends a diagnostic to `stack`'s bucket — the load barrier's channel
    /// for a failure discovered between rebuilds; the stack's next
    /// re-resolution re-derives or drops it
    /// ([`replace_stack`](Self::replace_stack)).
    fn record_error(&mut self, stack: LayerStackId, error: CompositionDiagnostic) {
        self.errors.entry(stack).or_default().report(error);
    }

    /// Marks the stack of every pending demand live for a sweep: the load
    /// barrier is about to read those stacks' variables, so a demanded stack
    /// always survives the sweep it is marked for.
    fn mark_demanded(&self, marks: &mut StackMarks) {
        for demand in &self.pending_demands {
            marks.mark(demand.stack);
        }
    }

    /// Drops the diagnostic buckets of stacks a sweep removed, so
    /// [`diagnostics`](Self::diagnostics) and the failure requeue never
    /// resurrect a reclaimed stack.
    fn retire_stacks(&mut self, removed: &[LayerStackId]) {
        for id in removed {
            self.errors.remove(id);
        }
    }

    /// Drains the pending demands for the stage's load barrier.
    fn take_demands(&mut self) -> Vec<SublayerDemand> {
        mem::take(&mut self.pending_demands)
    }

    /// Replaces the per-parent table of context-free unresolved entries from
    /// one edge build's misses.
    fn set_plain_misses(&mut self, misses: Vec<(LayerId, String)>) {
        self.unresolved_plain.clear();
        for (parent, evaluated) in misses {
            self.unresolved_plain.entry(parent).or_default().push(evaluated);
        }
    }

    /// Every per-stack diagnostic, in stack mint order.
    fn diagnostics(&self) -> impl Iterator<Item = &CompositionDiagnostic> {
        self.errors.values().flatten()
    }
}

/// What a [`mute_layer`](LayerGraph::mute_layer) or
/// [`unmute_layer`](LayerGraph::unmute_layer) actually changed, returned only
/// when the muted set changed.
pub(crate) struct MuteChange {
    /// The identity whose muted state toggled: a loaded layer's interned
    /// identifier, or the canonical identifier a not-yet-loaded layer is muted
    /// under. The stage notifies it, not the spelling the caller passed, so a
    /// listener mirroring the muted set stays in sync (C++ reports the canonical
    /// id it toggled).
    pub(crate) changed: String,
    /// Layers whose cached prim indices the change can invalidate (see
    /// [`mute_fanout`](LayerGraph::mute_fanout)).
    pub(crate) affected: HashSet<LayerId>,
}

/// The layer stack a reference/payload arc to an external target should compose
/// against, the result of [`LayerGraph::external_stack_id`]. Centralizes the
/// stack-selection decision so the indexer and the load barrier do not each
/// re-encode it.
pub(crate) enum ExternalStack {
    /// The stack is composed and ready; compose the arc against this handle.
    Ready(LayerStackId),
    /// No instance exists yet for this `(target, source)`; the arc must record a
    /// [`Demand`](super::Demand) so the load barrier mints it (and opens any
    /// `${VAR}` sublayers the context resolves), after which the query re-runs.
    Demand,
}

/// A composed stack's unresolved `subLayers` entry — `${VAR}`-selected or
/// literal — naming a layer not yet in the graph. Recorded while a stack's
/// members are composed (a [`rebuild_sublayer_stacks`](LayerGraph::rebuild_sublayer_stacks)
/// pass or a mint) and drained by the stage's load barrier
/// ([`take_sublayer_demands`](LayerGraph::take_sublayer_demands)), which opens
/// the layer under the demanding stack's composed expression variables and
/// recomposes — the sublayer analog of a reference/payload [`Demand`].
#[derive(Debug, Clone)]
pub(crate) struct SublayerDemand {
    /// The layer whose `subLayers` entry did not resolve: the anchor for the
    /// entry's relative path, and the referrer diagnostics name.
    pub(crate) parent: LayerId,
    /// The stack the entry composes into. Its composed expression variables are
    /// the context the demanded layer's own sublayers resolve under, and the
    /// barrier dedups open attempts per `(identifier, stack)`.
    pub(crate) stack: LayerStackId,
    /// The entry's evaluated asset path (the authored path for a literal).
    pub(crate) evaluated: String,
}

/// What [`LayerGraph::recompute_sublayers`] found: the layers whose composed
/// state shifted (the cache-eviction scope) and the per-stack composed
/// expression-variable changes the rebuild emitted. Change processing
/// (`pcp::Changes::apply`) consumes both; the mute and load paths use only
/// [`affected`](Self::affected) — a mute's blanket fanout already covers any
/// variable shift, and a load never changes a stack's composed variables (they
/// read only the root layer and seed, both already present).
pub(crate) struct SublayerRecompute {
    /// The layers whose composed edges or relocate pairs changed, unioned with
    /// the edited set.
    pub(crate) affected: HashSet<LayerId>,
    /// The stacks whose composed expression variables (or their source)
    /// changed, in dependency order.
    pub(crate) vars_deltas: Vec<StackVarsDelta>,
}

/// Why a prior on-demand open of an asset failed, memoized in
/// [`failed_loads`](LayerGraph::failed_loads) so composition stops retrying
/// the asset and every referrer's diagnostic can be re-derived from it. An
/// [`Unreadable`](Self::Unreadable) failure is terminal until an edit clears
/// the memo; an [`Unresolved`](Self::Unresolved) one blocks nothing once the
/// asset resolves again (the file has since appeared).
#[derive(Debug, Clone)]
pub(crate) enum LoadFailure {
    /// The asset path did not resolve to a physical location.
    Unresolved,
    /// It resolved but could not be read or parsed.
    Unreadable(String),
}

impl LoadFailure {
    /// The per-referrer sublayer diagnostic for this failure: the entry
    /// `asset_path`, authored by `introduced_by`, names an asset that did not
    /// resolve or could not be read.
    pub(crate) fn sublayer_error(&self, asset_path: &str, introduced_by: &str) -> CompositionDiagnostic {
        match self {
            LoadFailure::Unresolved => CompositionDiagnostic::UnresolvedSublayer {
                asset_path: asset_path.to_string(),
                introduced_by: introduced_by.to_string(),
            },
            LoadFailure::Unreadable(reason) => CompositionDiagnostic::MalformedSublayer {
                asset_path: asset_path.to_string(),
                introduced_by: introduced_by.to_string(),
                reason: reason.clone(),
            },
        }
    }
}

/// What a sublayer-edge resolution pass discovers beyond the edges themselves,
/// tagged by the authoring parent so the consumer can drop what a muted branch
/// keeps out of the composed stack. The default sink records demands only —
/// the shape the context-free pass wants, whose empty context legitimately
/// fails every expression and must record neither the failures nor their names
/// as dependencies.
#[derive(Default)]
struct EdgeSink {
    /// Unresolved entries as `(parent, evaluated path)`.
    demands: Vec<(LayerId, String)>,
    /// The buckets only a stack's contextual re-resolution fills, or `None` to
    /// skip recording them.
    contextual: Option<ContextualSink>,
}

/// The [`EdgeSink`] buckets a stack's contextual re-resolution fills beyond
/// the load demands: `${VAR}` evaluation diagnostics and the variable names
/// those evaluations read — successes and failures alike, an undefined name
/// being a dependency too.
#[derive(Default)]
struct ContextualSink {
    /// Expression diagnostics as `(parent, diagnostic)`. Tagged staging state:
    /// the key is needed until `drain` keeps only the entries whose parent
    /// composes into the stack's members, which is where they become a
    /// [`Diagnostics`].
    diagnostics: Vec<(LayerId, CompositionDiagnostic)>,
    /// Variable names the `${VAR}` evaluations requested, as `(parent, name)`.
    used_vars: Vec<(LayerId, String)>,
}

impl EdgeSink {
    /// A sink for a stack's contextual re-resolution: demands, diagnostics, and
    /// used variable names.
    fn contextual() -> Self {
        Self {
            demands: Vec::new(),
            contextual: Some(ContextualSink::default()),
        }
    }

    /// Splits the sink into stack-stamped demands, bare diagnostics, and the
    /// deduplicated used-variable names, keeping only entries whose parent
    /// composes into `members`.
    fn drain(
        self,
        stack: LayerStackId,
        members: &HashSet<LayerId>,
    ) -> (Vec<SublayerDemand>, Diagnostics, HashSet<String>) {
        let demands = self
            .demands
            .into_iter()
            .filter(|(parent, _)| members.contains(parent))
            .map(|(parent, evaluated)| SublayerDemand {
                parent,
                stack,
                evaluated,
            })
            .collect();
        let ContextualSink { diagnostics, used_vars } = self.contextual.unwrap_or_default();
        let errors = diagnostics
            .into_iter()
            .filter(|(parent, _)| members.contains(parent))
            .map(|(_, diagnostic)| diagnostic)
            .collect();
        let used_vars = used_vars
            .into_iter()
            .filter(|(parent, _)| members.contains(parent))
            .map(|(_, name)| name)
            .collect();
        (demands, errors, used_vars)
    }
}

impl LayerGraph {
    /// Builds the graph from collected layers in strength order (session layers
    /// first, then the root layer and the rest). The recoverable layer-stack
    /// errors it detects (sublayer cycles, invalid relocates) are stored on the
    /// graph and read back through [`errors`](Self::errors).
    /// An empty graph that opens layers through `registry`. Layers join via
    /// [`ensure_layer`](Self::ensure_layer); [`finalize`](Self::finalize) wires
    /// the sublayer DAG once they are all added. The stage builds a graph this way
    /// so it can attach a change sink to each layer as it joins;
    /// [`from_layers`](Self::from_layers) is the all-at-once convenience.
    pub(crate) fn new(registry: sdf::LayerRegistry) -> Self {
        Self {
            nodes: HashMap::new(),
            by_identifier: HashMap::new(),
            by_real_path: HashMap::new(),
            next_id: 0,
            order: Vec::new(),
            session_layer_count: 0,
            root: None,
            pending_mutes: HashSet::new(),
            muted: HashSet::new(),
            has_relocates: false,
            diagnostics: GraphDiagnostics::default(),
            registry,
            failed_loads: HashMap::new(),
            stacks: LayerStackRegistry::default(),
            sublayers: SublayerState::default(),
            eager_stacks: Vec::new(),
        }
    }

    /// Set the session/root layers and wire the sublayer DAG from each layer's
    /// authored `subLayers` metadata (resolving relocates), after the layers have
    /// been added. `root` is the stage root layer's id and `session_layer_count`
    /// the number of distinct session layers at the front of the collection. The
    /// post-add half of construction, shared by [`from_layers`](Self::from_layers)
    /// and the stage builder, which adds layers one at a time.
    ///
    /// `session_count` counts only the distinct session-region layers that
    /// survive into [`order`](Self::order), so [`session_layers`](Self::session_layers)
    /// (which slices the prefix) never over-reads when the caller passed duplicate
    /// identifiers (the same dependency reached through both the session and root
    /// collections). `root` is captured at the original root slot rather than
    /// derived from `order`, so a root identifier that already appeared in the
    /// session collection still points at the right layer.
    pub(crate) fn finalize(&mut self, session_layer_count: usize, root: Option<LayerId>) {
        self.session_layer_count = session_layer_count;
        self.root = root;
        // A full pass returns no scoped set; finalize re-resolves every stack.
        // The first composition's vars deltas are discarded too — nothing is
        // cached yet, so there is nothing to invalidate against them.
        let _ = self.build_sublayer_edges(None);
        self.mint_eager_target_stacks();
        self.recompute_relocates();
    }

    /// Adds `layer` as a node, minting a fresh [`LayerId`] and recording it in
    /// [`by_identifier`](Self::by_identifier) and [`order`](Self::order).
    /// Returns `(id, fresh)`: an identifier already present is left untouched
    /// (its existing node, children, and relocates survive) and reported as not
    /// fresh, so a re-added layer collapses onto its existing id.
    fn intern(&mut self, mut layer: sdf::Layer) -> (LayerId, bool) {
        debug_assert_eq!(
            self.registry.in_memory_identifier(layer.identifier()),
            layer.identifier(),
            "a layer joins the graph under its canonical identifier"
        );
        if let Some(&id) = self.by_identifier.get(layer.identifier()) {
            return (id, false);
        }
        // A second identifier for a file already interned names that layer (C++
        // `Sdf_LayerRegistry::_Layers::Insert` collides on real path): the new
        // identifier becomes an alias of the existing id.
        if let Some(id) = self.id_of(layer.real_path()) {
            self.by_identifier.insert(layer.identifier().to_string(), id);
            return (id, false);
        }
        let id = LayerId::from_raw(self.next_id);
        self.next_id += 1;
        self.by_identifier.insert(layer.identifier().to_string(), id);
        if layer.real_path() != layer.identifier() {
            self.by_real_path.entry(layer.real_path().to_string()).or_insert(id);
        }
        // A layer's content is composed fresh as it joins the graph, so any
        // change record left by prior write-through edits must not survive to
        // be drained by a later transaction the stage runs on it.
        layer.discard_changes();
        self.nodes.insert(id, LayerNode::new(layer));
        self.order.push(id);
        (id, true)
    }

    /// Resolves every layer's `subLayers` into [`LayerNode::children`] — the
    /// context-free edges — folding the per-hop time-codes-per-second retiming into
    /// each edge offset. Replaces [`cycles`](GraphDiagnostics::cycles) with the
    /// sublayer-cycle errors reachable from the root layer (C++
    /// `PcpErrorSublayerCycle`).
    ///
    /// A layer stack's expression variables come from its root layer, not its
    /// sublayers (C++ `PcpExpressionVariables`), so `children` carry no
    /// expression-variable context: each layer's `subLayers` resolve independently
    /// against the empty variable set, a literal sublayer resolving and an
    /// expression (`${VAR}`) sublayer dropping out. Expression sublayers are
    /// resolved per-stack against the stack's variables in
    /// [`compose_stack_edges`](Self::compose_stack_edges); the shared context-free
    /// `children` feed only the stacks that have none.
    ///
    /// Returns the affected layer set for a scoped edit (the layers whose composed
    /// edges changed, unioned with `edited`) so the caller can scope cache eviction
    /// to the same stacks the re-resolution touched — `None` for a full pass —
    /// together with the [`StackVarsDelta`]s the stack rebuild emitted.
    fn build_sublayer_edges(
        &mut self,
        edited: Option<&HashSet<LayerId>>,
    ) -> (Option<HashSet<LayerId>>, Vec<StackVarsDelta>) {
        // Refresh the expression-sublayer flags first, so the stack rebuild below
        // reads them through `has_expr_sublayer` for its `collect_plain` fast-path
        // gate.
        self.recompute_expr_sublayer_flags();
        // Edges are resolved into a side buffer so the immutable `resolve_edges`
        // borrow does not clash with the per-node mutation that applies them.
        let mut all_edges: Vec<(LayerId, SublayerEdges)> = Vec::with_capacity(self.nodes.len());
        // Take the resolution cache out so `resolve_edges` (which borrows `self`
        // immutably) can fill it; it carries forward across rebuilds, so a
        // `subLayers` edit only resolves paths it has not seen before.
        let mut resolution = mem::take(&mut self.sublayers.resolution);

        // Each layer's context-free edges depend only on its own `subLayers`
        // resolved against the empty variable set, so one per-layer pass builds them
        // all. The demand-only sink collects the entries that resolved to no loaded
        // layer; they become the per-parent table plain stacks consult for load
        // demands ([`SublayerState::unresolved_plain`]).
        let empty = HashMap::new();
        let mut plain_sink = EdgeSink::default();
        for &id in &self.order {
            let edges = self.resolve_edges(id, &empty, &mut resolution, Some(&mut plain_sink));
            all_edges.push((id, edges));
        }
        self.sublayers.resolution = resolution;
        self.sublayers.set_plain_misses(plain_sink.demands);

        // Apply the composed edges. A full pass (`None`, at finalize or after a load
        // that can extend a stack with a newly opened member) re-resolves every
        // stack, so the edges are assigned outright. For an edit, the layers whose
        // composed edges actually changed — folded together with the authored layers
        // (`edited`) — scope the stack re-resolution to the affected instances: the
        // edge diff catches a layer whose own `subLayers` resolution changed, while
        // `edited` catches an authored `${VAR}` sublayer or `expressionVariables` edit
        // that shifts a stack's members without changing its plain edges.
        let affected = match edited {
            None => {
                for (id, edges) in all_edges {
                    self.nodes.get_mut(&id).expect("edge source exists").children = edges;
                }
                None
            }
            Some(edited) => {
                let mut changed: HashSet<LayerId> = HashSet::new();
                for (id, edges) in all_edges {
                    let node = self.nodes.get_mut(&id).expect("edge source exists");
                    if node.children != edges {
                        node.children = edges;
                        changed.insert(id);
                    }
                }
                changed.extend(edited);
                Some(changed)
            }
        };

        let vars_deltas = self.rebuild_sublayer_stacks(affected.as_ref());
        self.recompute_cycle_diagnostics();
        (affected, vars_deltas)
    }

    /// Resolves `id`'s `subLayers` into `(child, effective offset)` edges,
    /// evaluating each expression (`${VAR}`) path against `context` — the stack's
    /// single expression-variable set, or the empty set for the shared context-free
    /// [`LayerNode::children`]. Reads only `id`'s own `subLayers`/`subLayerOffsets`;
    /// `id`'s own `expressionVariables` do not contribute — only the stack root's do
    /// (C++ `PcpExpressionVariables`), and the caller has already folded them into
    /// `context`. `sink`, when given, receives what the resolution drops: entries
    /// that resolved to no loaded layer (load-demand candidates), and — when it
    /// carries the contextual buckets — `${VAR}` evaluation diagnostics and the
    /// variable names those evaluations read.
    fn resolve_edges(
        &self,
        id: LayerId,
        context: &HashMap<String, Value>,
        resolution: &mut HashMap<LayerId, HashMap<String, String>>,
        mut sink: Option<&mut EdgeSink>,
    ) -> SublayerEdges {
        let root_path = Path::abs_root();
        let node = &self.nodes[&id];
        let Ok(Value::StringVec(sub_paths)) = node
            .layer
            .data()
            .get_field(&root_path, FieldKey::SubLayers.as_str())
            .map(|v| v.into_owned())
        else {
            return Vec::new();
        };
        let offsets: Vec<LayerOffset> = node
            .layer
            .data()
            .get_field(&root_path, FieldKey::SubLayerOffsets.as_str())
            .ok()
            .and_then(|v| match v.into_owned() {
                Value::LayerOffsetVec(v) => Some(v),
                _ => None,
            })
            .unwrap_or_default();

        let parent_tcps = effective_time_codes_per_second(&node.layer);
        let mut edges = Vec::with_capacity(sub_paths.len());
        for (i, sub_path) in sub_paths.into_iter().enumerate() {
            let sub_path = if expr::is_expression(&sub_path) {
                // Evaluate through the shared expression seam, recording — when
                // the sink carries the contextual buckets — a failure as an
                // `InvalidExpression` diagnostic with the sublayer context (C++
                // `_BuildLayerStack`) and the variable names the evaluation
                // read. A successful expression-language `None` selects no
                // sublayer and stays silent; either outcome resolves to no edge.
                let mut expr_errors = Diagnostics::default();
                let mut expr_used = HashSet::new();
                let record = sink.as_deref_mut().is_some_and(|s| s.contextual.is_some());
                let outcome = evaluate_expression(
                    &sub_path,
                    context,
                    ExpressionContext::Sublayer,
                    node.layer.identifier(),
                    &root_path,
                    record.then_some(&mut expr_errors),
                    record.then_some(&mut expr_used),
                );
                if let Some(contextual) = sink.as_deref_mut().and_then(|s| s.contextual.as_mut()) {
                    contextual
                        .diagnostics
                        .extend(expr_errors.into_iter().map(|diagnostic| (id, diagnostic)));
                    contextual
                        .used_vars
                        .extend(expr_used.into_iter().map(|name| (id, name)));
                }
                match outcome {
                    EvaluatedExpression::Value(resolved) => resolved,
                    EvaluatedExpression::None | EvaluatedExpression::Failed => continue,
                }
            } else {
                sub_path
            };
            let Ok(sub_id) = self.resolve_sublayer(id, &sub_path, resolution) else {
                // No loaded layer at the entry's anchored (or bare) identifier:
                // record a load-demand candidate for the stacks whose members
                // include `id`, so the stage's load barrier can open it. An
                // empty entry names nothing to open and stays skipped.
                if !sub_path.is_empty()
                    && let Some(sink) = sink.as_deref_mut()
                {
                    sink.demands.push((id, sub_path));
                }
                continue;
            };
            let ratio = parent_tcps / effective_time_codes_per_second(&self.nodes[&sub_id].layer);
            let effective = offsets
                .get(i)
                .copied()
                .unwrap_or_default()
                .sanitized()
                .concatenate(&LayerOffset::scale_only(ratio));
            edges.push((sub_id, effective));
        }
        edges
    }

    /// Resolves an authored `subLayers` entry `sub_path` against its parent layer
    /// `parent` to the interned sublayer (the memoizing form of
    /// [`find_relative`](Self::find_relative) for the per-rebuild
    /// [`resolve_edges`](Self::resolve_edges) walk), or `Err` with the anchored
    /// canonical identifier the entry would intern under. The anchored
    /// identifier — the asset USD resolves the relative entry to — is tried
    /// first; only when no layer is interned there does it fall back to the bare
    /// authored string, so a filesystem-backed parent never resolves to an
    /// unrelated layer interned under the bare string, while an in-memory layer
    /// keyed under that literal name (no filesystem anchor) still resolves. The
    /// resolver receives the authored spelling, so a leading `./` keeps its
    /// file-relative meaning; the bare fallback looks up the resolver's
    /// [`in_memory_identifier`](crate::ar::Resolver::in_memory_identifier)
    /// for it.
    ///
    /// An identifier is memoized in `cache` once it is stable — made from an
    /// entry the resolver does not call
    /// [context dependent](crate::ar::Resolver::is_context_dependent_path), and
    /// naming an interned layer, which nothing removes — so the resolver's
    /// filesystem canonicalize runs once per such `(parent, sub_path)`. A
    /// search-path or unresolved entry is anchored afresh on every rebuild, as
    /// C++ `_BuildLayerStack` derives every entry: its identifier follows the
    /// filesystem beside its parent (see [`SublayerState::resolution`]).
    fn resolve_sublayer(
        &self,
        parent: LayerId,
        sub_path: &str,
        cache: &mut HashMap<LayerId, HashMap<String, String>>,
    ) -> Result<LayerId, String> {
        if let Some(anchored) = cache.get(&parent).and_then(|paths| paths.get(sub_path)) {
            return self
                .anchored_or_bare(anchored, sub_path)
                .ok_or_else(|| anchored.clone());
        }
        let anchored = self
            .registry
            .create_identifier_anchored(sub_path, self.real_path(parent));
        let Some(sub_id) = self.anchored_or_bare(&anchored, sub_path) else {
            return Err(anchored);
        };
        if !self.registry.is_context_dependent_path(sub_path) {
            cache.entry(parent).or_default().insert(sub_path.to_string(), anchored);
        }
        Ok(sub_id)
    }

    /// Replaces [`cycles`](GraphDiagnostics::cycles) with the sublayer cycles
    /// reachable from the root layer through non-muted edges. Run after an edge
    /// rebuild and after a mute change, since muting a layer breaks any cycle
    /// running through it.
    fn recompute_cycle_diagnostics(&mut self) {
        let mut errors = Diagnostics::default();
        // Detect over the same edges the root stack's members are built from,
        // one scan per region root — the session root's subtree and the root
        // layer's: a region with an expression sublayer resolves against the
        // stack's single variable set — the root instance's stored composed
        // variables, which `rebuild_sublayer_stacks` refreshed just before this
        // runs — so a `${VAR}` sublayer pointing back at an ancestor is caught;
        // otherwise the context-free `children` are the region's edges.
        //
        // TODO(perf): a stage with an expression sublayer recomputes the stack
        // edges here after `rebuild_sublayer_stacks` already resolved them for
        // the members; threading the edge map through both would remove the
        // duplication.
        let region_roots: Vec<LayerId> = self
            .session_layers()
            .first()
            .copied()
            .into_iter()
            .chain(self.root)
            .collect();
        for root in region_roots {
            let mut ancestors: HashSet<LayerId> = HashSet::new();
            if self.has_expr_sublayer(root) {
                let mut resolution = mem::take(&mut self.sublayers.resolution);
                let stack_vars = self.stacks.expression_variables(LayerStackId::ROOT);
                let edges = self.compose_stack_edges(root, stack_vars, &mut resolution, None);
                self.sublayers.resolution = resolution;
                self.detect_cycles(
                    root,
                    |id| edges.get(&id).map_or(&[][..], |e| e.as_slice()),
                    &mut ancestors,
                    &mut errors,
                );
            } else {
                let nodes = &self.nodes;
                self.detect_cycles(
                    root,
                    |id| nodes.get(&id).map_or(&[][..], |n| n.children.as_slice()),
                    &mut ancestors,
                    &mut errors,
                );
            }
        }
        // A sublayer reached twice off-path (a diamond), or from both region
        // roots, reaches the same cycle twice; the `(root_layer, seen_layer)`
        // pair is the whole diagnostic, so it is reported once.
        self.diagnostics.cycles = errors;
    }

    /// Refreshes the registry's composed stacks from the current edges. Run after
    /// any edge mutation so [`layer_stack`](Self::layer_stack) and its callers read
    /// up-to-date members, keeping every [`LayerStackId`] stable so a handle held by
    /// a surviving prim index stays valid.
    ///
    /// The stage root stack (registry instance 0) and every already-interned target
    /// stack — plain and contextual — are re-resolved in place. A reference/payload
    /// target a `subLayers` edit cannot have minted yet is left for the demand path
    /// ([`intern_external`](Self::intern_external)). Work stays proportional to the
    /// composed stacks rather than the sum over every layer (O(n²) for a deep
    /// chain): a sublayer-only layer participates through its root's stack, never its
    /// own.
    ///
    /// Returns one [`StackVarsDelta`] per stack whose composed expression
    /// variables (or their source) changed, in ascending stack order — dependency
    /// order, so a consumer processing them in sequence sees a source's delta
    /// before the deltas it cascaded into (the C++ step-5 propagation to stacks
    /// whose override source resolves here).
    fn rebuild_sublayer_stacks(&mut self, affected: Option<&HashSet<LayerId>>) -> Vec<StackVarsDelta> {
        // Re-resolve the muted identifiers to ids first, so a layer muted before
        // it was loaded takes effect the moment a later edit interns it and
        // rebuilds the stacks.
        self.resolve_muted_ids();

        // One delta per stack whose composed expression variables (or their
        // source) changed this pass — the return value, and the membership the
        // targets loop consults to cascade: a stack seeds from its key source's
        // referent, so a change there must rebuild it even when the edit touched
        // none of its own layers. A source referent always precedes the stacks
        // keyed by it, so the single ascending-index pass below reads every seed
        // after its referent was refreshed.
        let mut vars_deltas: Vec<StackVarsDelta> = Vec::new();

        // The stage root stack (session layers at identity offset minus a muted
        // session subtree, then the root layer and its sublayers) is rebuilt on a
        // full pass, or when an edited layer is one of its members — an edit
        // elsewhere leaves it unchanged. A not-yet-built root (finalize) always
        // rebuilds.
        let rebuild_root = match affected {
            None => true,
            Some(affected) => self
                .stacks
                .member_set(LayerStackId::ROOT)
                .is_none_or(|members| !members.is_disjoint(affected)),
        };
        if rebuild_root {
            // Both regions of the stage root stack — the session root's sublayer
            // subtree and the root layer's — expand against the stack's single
            // composed expression-variable context (C++ `PcpExpressionVariables`):
            // the root layer's own variables overlaid by the session root's own,
            // the session winning, a muted session root contributing none. The
            // root layer itself is never muted (the Stage API rejects it). Each
            // region is a member walk from its region root, so a runtime
            // `subLayers` edit or `${VAR}` re-selection re-resolves session
            // membership exactly like root membership, and an unresolved entry
            // in either region files a load demand through the sink.
            let session_vars = self.session_expression_variables();
            let stack_vars = match self.root {
                Some(root) => self.composed_stack_vars(root, &session_vars),
                None => session_vars,
            };
            let mut sink = EdgeSink::contextual();
            let mut resolution = mem::take(&mut self.sublayers.resolution);
            let mut root_members: Vec<(LayerId, LayerOffset)> = Vec::new();
            if let Some(&session_root) = self.session_layers().first() {
                root_members.extend(self.stack_members_uncached(
                    session_root,
                    &stack_vars,
                    &mut resolution,
                    Some(&mut sink),
                ));
            }
            if let Some(root) = self.root {
                root_members.extend(self.stack_members_uncached(root, &stack_vars, &mut resolution, Some(&mut sink)));
            }
            self.sublayers.resolution = resolution;
            if let Some(delta) = self.stacks.set_root(root_members, stack_vars) {
                vars_deltas.push(delta);
            }
            self.file_stack_discoveries(LayerStackId::ROOT, sink);
        }

        // Re-resolve each already-interned target stack whose composition an
        // edited layer can reach; a full pass (`None`) re-resolves them all. A
        // target rebuilds when an edited layer is its target root (checked
        // explicitly because a muted root's member set is empty — disjoint from
        // everything — while its layer data still feeds the stack's composed
        // variables), a member, or when its seed shifted: its key source's
        // referent changed this pass. The seed is read live from that referent,
        // already refreshed by this pass's ascending order.
        for (id, root, source) in self.stacks.targets() {
            let rebuild = match affected {
                None => true,
                Some(affected) => {
                    affected.contains(&root)
                        || self
                            .stacks
                            .member_set(id)
                            .is_some_and(|members| !members.is_disjoint(affected))
                        || vars_deltas.iter().any(|delta| delta.stack == source.referent())
                }
            };
            if !rebuild {
                continue;
            }
            let seed_vars = self.stacks.expression_variables(source.referent()).clone();
            let mut sink = EdgeSink::contextual();
            let (members, expr_vars) = self.build_stack_members(root, &seed_vars, Some(&mut sink));
            if let Some(delta) = self.stacks.set_composed(id, members, expr_vars) {
                vars_deltas.push(delta);
            }
            self.file_stack_discoveries(id, sink);
        }
        vars_deltas
    }

    /// Classifies one stack composition's [`EdgeSink`] discoveries and files
    /// them into the sublayer subsystem
    /// ([`SublayerState::replace_stack`], which supersedes the stack's earlier
    /// demands and diagnostics). Each unresolved entry becomes one of three
    /// things: nothing when its parent is anonymous (nothing anchors the
    /// entry, so there is no asset to open) or its target muted (membership
    /// pruning would drop the opened layer right back out — the sublayer
    /// analog of the indexer's muted-arc-target check; an unmute rebuilds the
    /// stack, which re-derives the entry), a regenerated per-referrer
    /// diagnostic when its identifier already failed to open (the barrier
    /// would refuse it; an edit clears the failure and the next rebuild
    /// demands again), or a demand. A resolve failure holds only while the
    /// asset stays unresolvable: once the resolver finds it again, the entry
    /// demands rather than reporting — the sublayer analog of the arc demand
    /// gate's retry.
    fn file_stack_discoveries(&mut self, stack: LayerStackId, sink: EdgeSink) {
        let members = self.stacks.member_set(stack).expect("a filed stack is minted");
        let (demands, mut errors, used_vars) = sink.drain(stack, members);
        // The names this composition's `${VAR}` entries read replace the stack's
        // recorded sublayer dependencies, superseding a fixed or removed entry's.
        self.stacks.set_sublayer_var_deps(stack, used_vars);
        let muted = self.has_muted_layers();
        let mut pending = Vec::new();
        // Canonical identifiers already reported for a parent this pass, so a
        // second authored spelling of one entry reports once, like open-time
        // collection.
        let mut seen: HashSet<(LayerId, String)> = HashSet::new();
        for demand in demands {
            // An anonymous parent has no location to resolve the entry
            // against; the entry stays a graph-only lookup, satisfied when a
            // matching in-memory layer joins.
            if self.nodes[&demand.parent].layer.is_anonymous() {
                continue;
            }
            if muted
                && self
                    .muted_asset_id(&demand.evaluated, self.anchor_location(Some(demand.parent)).as_ref())
                    .is_some()
            {
                continue;
            }
            if !self.failed_loads.is_empty() {
                // An unresolved entry's identifier is derived afresh each
                // rebuild (nothing memoizes it): under the resolver's
                // look-here-first rule it is the bare search path until the
                // asset appears beside its parent, and the anchored one from
                // then on (C++ `_BuildLayerStack` derives every entry per
                // rebuild). A recorded resolve failure is retried once the
                // resolver finds the asset; any other failure is regenerated
                // per referrer.
                let anchored = self
                    .registry
                    .create_identifier_anchored(&demand.evaluated, self.real_path(demand.parent));
                match self.failed_loads.get(&anchored) {
                    Some(LoadFailure::Unresolved) if self.registry.resolve(&anchored).is_some() => {
                        self.failed_loads.remove(&anchored);
                    }
                    Some(failure) => {
                        if seen.insert((demand.parent, anchored.clone())) {
                            errors.report(failure.sublayer_error(&demand.evaluated, self.identifier(demand.parent)));
                        }
                        continue;
                    }
                    None => {}
                }
            }
            pending.push(demand);
        }
        self.sublayers.replace_stack(stack, pending, errors);
    }

    /// Appends a sublayer diagnostic to `stack`'s bucket
    /// ([`SublayerState::record_error`]) — the load barrier's channel for a
    /// failure discovered between rebuilds.
    pub(crate) fn record_sublayer_error(&mut self, stack: LayerStackId, error: CompositionDiagnostic) {
        self.sublayers.record_error(stack, error);
    }

    /// Drains the pending [`SublayerDemand`]s the last recompose or mint
    /// discovered. The stage's load barrier resolves them
    /// (`StageComposition::resolve_sublayer_demands`), opening each demanded
    /// layer under its stack's composed variables and recomposing.
    pub(crate) fn take_sublayer_demands(&mut self) -> Vec<SublayerDemand> {
        self.sublayers.take_demands()
    }

    /// The sublayer load-failure diagnostics re-derived as fresh
    /// [`SublayerDemand`]s, for the stage's load barrier after an edit clears
    /// the failure memo ([`clear_failed_loads`](Self::clear_failed_loads)): a
    /// bucket's unresolved or malformed sublayer entry carries exactly its
    /// demand's ingredients, so a repaired asset reloads even when the edit
    /// itself rebuilds no stack. A retry that fails re-records the identical
    /// diagnostic, so requeueing is idempotent.
    pub(crate) fn requeue_failed_sublayers(&self) -> Vec<SublayerDemand> {
        let mut demands = Vec::new();
        for (&stack, bucket) in &self.sublayers.errors {
            for error in bucket {
                let (asset_path, introduced_by) = match error {
                    CompositionDiagnostic::UnresolvedSublayer {
                        asset_path,
                        introduced_by,
                    }
                    | CompositionDiagnostic::MalformedSublayer {
                        asset_path,
                        introduced_by,
                        ..
                    } => (asset_path, introduced_by),
                    _ => continue,
                };
                let Some(parent) = self.id_of(introduced_by) else {
                    continue;
                };
                demands.push(SublayerDemand {
                    parent,
                    stack,
                    evaluated: asset_path.clone(),
                });
            }
        }
        demands
    }

    /// Whether enough registry churn accumulated since the last sweep for
    /// another to be worthwhile ([`LayerStackRegistry::ripe_for_sweep`]) —
    /// the creation-churn half of the stage's sweep trigger, polled at the
    /// edit seams before [`sweep_stacks`](Self::sweep_stacks).
    pub(crate) fn sweep_ripe(&self) -> bool {
        self.stacks.ripe_for_sweep()
    }

    /// Removes every layer-stack instance `marks` did not reach — extended
    /// here with the stacks pending sublayer demands reference and the
    /// eagerly minted sublayer-DAG roots, and closed over variable-source
    /// ancestry by the registry ([`LayerStackRegistry::sweep`]) — and retires
    /// the removed stacks' sublayer diagnostics with them, so
    /// [`errors`](Self::errors) and
    /// [`requeue_failed_sublayers`](Self::requeue_failed_sublayers) never
    /// resurrect a reclaimed stack. The next arc deriving a reclaimed key
    /// composes a fresh instance through the ordinary demand path, re-deriving
    /// its diagnostics if the problem still exists.
    pub(crate) fn sweep_stacks(&mut self, mut marks: StackMarks) {
        self.sublayers.mark_demanded(&mut marks);
        for &id in &self.eager_stacks {
            marks.mark(id);
        }
        let removed = self.stacks.sweep(marks);
        self.sublayers.retire_stacks(&removed);
    }

    /// Mints a root-sourced stack instance for every sublayer-DAG root that lacks
    /// one — a reference/payload target interned eagerly by `from_layers` rather
    /// than through the demand path. The stacks are keyed `{root, Root}` and
    /// seeded by the root stack's composed variables: a stack whose variable
    /// source is the root composes under the root stack's set (C++
    /// `PcpLayerStackIdentifier` with no explicit override source), so a
    /// var-authoring stage root reaches into every such target. Run once at
    /// [`finalize`](Self::finalize): a production target loads after finalize and
    /// is minted by [`intern_external`](Self::intern_external) under its own
    /// context, so it never reaches here, and an edit-time recompose never
    /// re-mints a never-queried instance for a contextual-only target. The
    /// minted ids are recorded as permanent sweep marks
    /// ([`sweep_stacks`](Self::sweep_stacks)): the layers stay open for the
    /// graph's life, and this one-shot mint is the only holder of their
    /// composed view and its open-time diagnostics.
    fn mint_eager_target_stacks(&mut self) {
        let sublayered: HashSet<LayerId> = self
            .order
            .iter()
            .flat_map(|&id| self.nodes[&id].children.iter().map(|&(child, _)| child))
            .collect();
        let dag_roots: Vec<LayerId> = self
            .order
            .iter()
            .copied()
            .filter(|&id| !sublayered.contains(&id) && Some(id) != self.root)
            .collect();
        for root in dag_roots {
            let (id, _) = self.intern_target_stack(root, VarsSource::Root);
            self.eager_stacks.push(id);
        }
    }

    /// Depth-first cycle scan recording [`CompositionDiagnostic::SublayerCycle`] for any edge
    /// that re-enters a layer already on the path from the root. Runs on an
    /// explicit work stack so a deep chain does not overflow the native stack; an
    /// `Exit` frame pops the layer back out of the `ancestors` path after its
    /// subtree. `children_of` supplies a layer's resolved edges — the shared
    /// context-free [`LayerNode::children`], or a stack's expression-resolved edges
    /// — and a sublayer diamond re-scans off-path rather than looking like a cycle.
    fn detect_cycles<'e>(
        &self,
        root: LayerId,
        children_of: impl Fn(LayerId) -> &'e [(LayerId, LayerOffset)],
        ancestors: &mut HashSet<LayerId>,
        errors: &mut Diagnostics,
    ) {
        enum Step {
            Enter(LayerId),
            Exit(LayerId),
        }
        let mut work = vec![Step::Enter(root)];
        while let Some(step) = work.pop() {
            let id = match step {
                Step::Exit(id) => {
                    ancestors.remove(&id);
                    continue;
                }
                Step::Enter(id) => id,
            };
            ancestors.insert(id);
            work.push(Step::Exit(id));
            // Iterate forward to record cycle errors in declared order, gathering
            // the non-cycle children; they are pushed reversed so they pop in
            // declared order.
            let mut to_visit = Vec::new();
            for &(child, _) in children_of(id) {
                // A muted child is pruned from every stack, so a cycle through it
                // never composes and is not reported.
                if self.is_muted(child) {
                    continue;
                }
                if ancestors.contains(&child) {
                    errors.report(CompositionDiagnostic::SublayerCycle {
                        root_layer: self.nodes[&id].layer.identifier().to_string(),
                        seen_layer: self.nodes[&child].layer.identifier().to_string(),
                    });
                    continue;
                }
                to_visit.push(child);
            }
            for &child in to_visit.iter().rev() {
                work.push(Step::Enter(child));
            }
        }
    }

    /// Read-only access to a layer node.
    pub(crate) fn get(&self, id: LayerId) -> Option<&LayerNode> {
        self.nodes.get(&id)
    }

    /// Mutable access to a layer node, for routed authoring writes.
    pub(crate) fn get_mut(&mut self, id: LayerId) -> Option<&mut LayerNode> {
        self.nodes.get_mut(&id)
    }

    /// Borrow the layers named by `ids` together, in `ids` order, skipping any
    /// id with no live layer. Used to open a transaction on each layer of a
    /// batched edit so they commit all-or-nothing.
    pub(crate) fn layers_mut(&mut self, ids: &[LayerId]) -> Vec<(LayerId, &mut sdf::Layer)> {
        let want: HashSet<LayerId> = ids.iter().copied().collect();
        let mut by_id: HashMap<LayerId, &mut sdf::Layer> = self
            .nodes
            .iter_mut()
            .filter(|(id, _)| want.contains(id))
            .map(|(id, node)| (*id, &mut node.layer))
            .collect();
        ids.iter()
            .filter_map(|id| by_id.remove(id).map(|layer| (*id, layer)))
            .collect()
    }

    /// The layer with the given id. Panics if the id is unknown.
    pub(crate) fn layer(&self, id: LayerId) -> &sdf::Layer {
        &self.nodes[&id].layer
    }

    /// The identifier of the layer with the given id. Panics if unknown.
    pub(crate) fn identifier(&self, id: LayerId) -> &str {
        self.nodes[&id].layer.identifier()
    }

    /// The identifier of the layer with the given id, or `None` when the id
    /// names no layer in this graph — the presence-checking counterpart of
    /// [`identifier`](Self::identifier), for a caller holding an id that may
    /// have outlived its layer.
    pub(crate) fn try_identifier(&self, id: LayerId) -> Option<&str> {
        self.nodes.get(&id).map(|node| node.layer.identifier())
    }

    /// The resolved physical location of the layer with the given id — the
    /// anchor for the relative asset paths it authors (C++
    /// `SdfLayer::GetRealPath`). Equals the identifier except for a package,
    /// whose real path is its package-relative default layer, and a layer found
    /// through a resolver search directory, whose identifier is the search path.
    /// Panics if unknown.
    pub(crate) fn real_path(&self, id: LayerId) -> &str {
        self.nodes[&id].layer.real_path()
    }

    /// The registry that opens reference/payload targets on demand.
    pub(crate) fn layer_registry(&self) -> &sdf::LayerRegistry {
        &self.registry
    }

    /// The location that anchors the relative asset paths authored in the layer
    /// `anchor`: its resolved [`real_path`](Self::real_path), recorded when the
    /// loader opened it. Returns `None` when there is no anchor layer or it is
    /// anonymous (no resolvable location, C++ `SdfLayer::GetRealPath` is
    /// empty).
    pub(crate) fn anchor_location(&self, anchor: Option<LayerId>) -> Option<ResolvedPath> {
        self.nodes[&anchor?].layer.anchor_location()
    }

    /// Records that an on-demand open of `asset_path` failed, so composition
    /// stops demanding it and reports it — [`MalformedLayer`](CompositionDiagnostic::MalformedLayer)
    /// at a reference/payload arc, a per-referrer sublayer diagnostic at each
    /// stack rebuild. Called from the stage's load barriers.
    pub(crate) fn mark_load_failed(&mut self, asset_path: &str, failure: LoadFailure) {
        self.failed_loads.insert(asset_path.to_string(), failure);
    }

    /// Forgets each recorded resolve failure whose asset the resolver now
    /// finds, returning whether there was one.
    pub(crate) fn forget_resolvable_failures(&mut self) -> bool {
        let before = self.failed_loads.len();
        let registry = &self.registry;
        self.failed_loads.retain(|asset_path, failure| {
            !matches!(failure, LoadFailure::Unresolved) || registry.resolve(asset_path).is_none()
        });
        self.failed_loads.len() != before
    }

    /// The layer stack a reference/payload arc to external `root` should compose
    /// against, given the arc-carrying stack `context`. Every target stack is
    /// keyed by the source of the arc-carrying stack's composed expression
    /// variables (C++ `primIndex.cpp` builds the target identifier from
    /// `GetExpressionVariables().GetSource()`), so this is a plain
    /// `(root, source)` lookup on its interned id. Read-only: the indexer runs
    /// against `&LayerGraph` and cannot mint, so a not-yet-built stack returns
    /// [`ExternalStack::Demand`] for the load barrier to resolve through
    /// [`intern_external`](Self::intern_external).
    pub(crate) fn external_stack_id(&self, root: LayerId, context: LayerStackId) -> ExternalStack {
        self.resolve_target_stack(root, self.stacks.vars_source(context))
    }

    /// The `(root, source)` resolve policy shared by the read path
    /// ([`external_stack_id`](Self::external_stack_id)) and the mint path
    /// ([`intern_target_stack`](Self::intern_target_stack)): collapse to the
    /// root stack when the identity is the root stack's own
    /// ([`collapses_to_root`](Self::collapses_to_root)), else the interned
    /// `(root, source)` instance, else [`ExternalStack::Demand`]. A key whose
    /// instance a sweep reclaimed simply misses the lookup, so it demands and
    /// re-mints like a key never composed — `${VAR}`-selected sublayers
    /// reopened by the barrier and all.
    fn resolve_target_stack(&self, root: LayerId, source: VarsSource) -> ExternalStack {
        if self.collapses_to_root(root, source) {
            return ExternalStack::Ready(LayerStackId::ROOT);
        }
        match self.stacks.lookup_target(root, source) {
            Some(id) => ExternalStack::Ready(id),
            None => ExternalStack::Demand,
        }
    }

    /// Whether an arc to `root` under the variable source `source` composes
    /// against the stage root stack itself — pure key equality with the root
    /// stack's identity (C++ `PcpLayerStackIdentifier` with the root's null
    /// override source): the target is the stage root layer, no session layers
    /// separate the two, and the variables' source is the root. A carried
    /// [`VarsSource::Instance`] — a back-reference through a stack that authored
    /// its own variables — instead mints a contextual instance rooted at the
    /// stage root layer, keeping the outer variables in force.
    fn collapses_to_root(&self, root: LayerId, source: VarsSource) -> bool {
        self.session_layer_count == 0 && self.root == Some(root) && source == VarsSource::Root
    }

    /// Builds and interns the layer stack for a reference/payload arc to `root`
    /// demanded under the context of the stack `context` (the `&mut self`
    /// counterpart to [`external_stack_id`](Self::external_stack_id)), returning
    /// its handle and whether a new instance was created so the load barrier can
    /// drive a re-run. Idempotent. Called from the load barrier once the target
    /// and the sublayers its context resolves have been interned.
    pub(crate) fn intern_external(&mut self, root: LayerId, context: LayerStackId) -> (LayerStackId, bool) {
        self.intern_target_stack(root, self.stacks.vars_source(context))
    }

    /// Whether the load barrier must (re)open `root`'s sublayers for a
    /// reference/payload demanded under the context of the stack `context`: the
    /// inherited context selects a contextual stack that is not yet built, so its
    /// `${VAR}` sublayers — possibly nested below a literal sublayer an earlier
    /// context left unopened — need loading. A context-free arc, a target with no
    /// `${VAR}` sublayer (a keying-only demand the barrier interns without
    /// reloading), or a context already built needs no reopen.
    ///
    /// The stage's own root layer is never reopened: its stack is already loaded,
    /// and the layer may be in-memory or carry unsaved edits a disk re-read would
    /// discard. A back-reference to it interns from the loaded graph, and any
    /// `${VAR}` sublayer its carried context newly selects loads through the
    /// mint's [`SublayerDemand`]s instead.
    //
    // TODO: retire this whole-tree reopen in favor of `SublayerDemand` coverage —
    // the demand-driven loader opens a context's unresolved selections
    // individually (nested-below-literal ones converge across recompose rounds),
    // which should make the reload redundant once that coverage is proven.
    pub(crate) fn needs_contextual_open(&self, root: LayerId, context: LayerStackId) -> bool {
        self.root != Some(root)
            && !self.stacks.expression_variables(context).is_empty()
            && self.has_expr_sublayer(root)
            && matches!(self.external_stack_id(root, context), ExternalStack::Demand)
    }

    /// The value identity of the stack `id`, for capture into an arc-based edit
    /// target: the root stack as [`StackIdentity::Root`], a target stack as its
    /// root's identifier plus its variable source chain's identifiers, walked
    /// key source by key source down to the root stack and reversed to
    /// outermost-first.
    pub(crate) fn stack_identity(&self, id: LayerStackId) -> StackIdentity {
        let Some((root, mut source)) = self.stacks.target_key(id) else {
            return StackIdentity::Root;
        };
        let mut chain = Vec::new();
        while let VarsSource::Instance(referent) = source {
            let (referent_root, next) = self
                .stacks
                .target_key(referent)
                .expect("a canonical source referent is a target stack");
            chain.push(referent_root);
            source = next;
        }
        chain.reverse();
        StackIdentity::Target {
            root: self.identifier(root).to_string(),
            source_chain: self.identifiers_of(chain),
        }
    }

    /// Resolves a captured [`StackIdentity`] to a stack handle on this graph,
    /// walking the source chain outside-in so the same content derives the same
    /// source-keyed identities the capturing graph held — including on a
    /// different stage with equal composition inputs, where the numeric handles
    /// number differently.
    ///
    /// Read-only, like the arc path: the first chain element whose layer is not
    /// loaded or whose stack is not yet composed comes back as `Err` with the
    /// [`Demand`] the load barrier must satisfy, and the caller re-runs the
    /// walk after each load until it resolves or loading stops progressing.
    /// Minting is left to the barrier so a `${VAR}`-selected sublayer the
    /// context resolves is opened before the stack is interned (the barrier's
    /// contextual-open check), and a walk that ultimately fails interns
    /// nothing.
    pub(crate) fn resolve_stack_identity(&self, identity: &StackIdentity) -> Result<LayerStackId, Demand> {
        let StackIdentity::Target { root, source_chain } = identity else {
            return Ok(LayerStackId::ROOT);
        };
        let mut context = LayerStackId::ROOT;
        for identifier in source_chain.iter().chain([root]) {
            let stack = self
                .id_of(identifier)
                .map(|layer| self.external_stack_id(layer, context));
            let Some(ExternalStack::Ready(id)) = stack else {
                return Err(Demand {
                    asset_path: identifier.clone(),
                    context,
                    recheck: false,
                });
            };
            context = id;
        }
        Ok(context)
    }

    /// The single mint policy for an external target stack: resolve through the
    /// shared policy ([`resolve_target_stack`](Self::resolve_target_stack)) and,
    /// on [`ExternalStack::Demand`], compose the members and variables under the
    /// source referent's composed set and intern a fresh instance. Distinct
    /// sources to the same target intern distinct instances even when their
    /// composed maps and members are equal — the source is the identity, so
    /// sharing would collapse sites C++ keeps apart.
    fn intern_target_stack(&mut self, root: LayerId, source: VarsSource) -> (LayerStackId, bool) {
        if let ExternalStack::Ready(id) = self.resolve_target_stack(root, source) {
            return (id, false);
        }
        let seed_vars = self.stacks.expression_variables(source.referent()).clone();
        // A mint can itself discover unloaded selections — a `${VAR}` sublayer
        // the fresh context resolves to a layer nothing else has opened — so it
        // files demands like a rebuild does.
        let mut sink = EdgeSink::contextual();
        let (members, expr_vars) = self.build_stack_members(root, &seed_vars, Some(&mut sink));
        let id = self.stacks.intern_target(root, source, members, expr_vars);
        self.file_stack_discoveries(id, sink);
        (id, true)
    }

    /// Whether any layer in `root`'s plain sublayer subtree authors an
    /// expression-valued `${VAR}` `subLayers` entry — the only sublayer whose
    /// resolution depends on the expression-variable context inherited across a
    /// reference/payload arc. The load barrier reads this to decide whether a
    /// demanded context must (re)open the target's sublayers
    /// ([`needs_contextual_open`](Self::needs_contextual_open)), and
    /// [`stack_members_uncached`](Self::stack_members_uncached) to gate a stack
    /// onto the context-free `collect_plain` fast path. The whole subtree is
    /// scanned so an expression sublayer nested below the target root — under a
    /// literal sublayer — is still caught.
    ///
    /// The walk reads the current [`LayerNode::children`] rather than a registry
    /// stack's interned members: those members can predate the edit driving a stack
    /// rebuild (they are replaced only after every stack is recomposed), so scanning
    /// them would miss a freshly added expression branch and wrongly gate the stack
    /// onto `collect_plain`. The children (and the per-node flags) are already
    /// rebuilt by [`build_sublayer_edges`](Self::build_sublayer_edges) before the
    /// rebuild reads this. Muted layers (and any subtree reached only through them)
    /// are skipped, matching the composed members: an expression sublayer that
    /// mutes out contributes nothing, so a demand for a target that only reaches
    /// one skips the reopen. [`SublayerState::any_expr`] short-circuits the
    /// common stage with no expression sublayer at all to `O(1)`.
    //
    // TODO(perf): this runs a fresh subtree walk (allocating a work stack + visited
    // set) per empty-seed stack rebuilt in `rebuild_sublayer_stacks` once any layer
    // authors an expression sublayer. A transitive per-node "subtree authors one"
    // flag computed with the local flags would make it an `O(1)` field read.
    pub(crate) fn has_expr_sublayer(&self, root: LayerId) -> bool {
        if !self.sublayers.any_expr {
            return false;
        }
        let mut work = vec![root];
        let mut visited = HashSet::new();
        while let Some(id) = work.pop() {
            if self.is_muted(id) || !visited.insert(id) {
                continue;
            }
            let Some(node) = self.nodes.get(&id) else { continue };
            if node.has_expr_sublayer {
                return true;
            }
            work.extend(node.children.iter().map(|&(child, _)| child));
        }
        false
    }

    /// Recomputes the exact [`LayerNode::has_expr_sublayer`] flags and their
    /// graph-level union [`SublayerState::any_expr`] from each
    /// layer's own `subLayers`. Run on every edge rebuild so an edit that adds or
    /// removes the last expression `subLayers` entry is reflected exactly.
    //
    // TODO(perf): this re-decodes each layer's `subLayers`, which `resolve_edges`
    // already decodes (and already runs `is_expression` over) in the same
    // `build_sublayer_edges` pass. Returning the flag from `resolve_edges` and
    // folding it in as `children` are applied would drop this second decode.
    fn recompute_expr_sublayer_flags(&mut self) {
        let root_path = Path::abs_root();
        let mut any = false;
        for node in self.nodes.values_mut() {
            let has = matches!(
                node.layer.data().get_field(&root_path, FieldKey::SubLayers.as_str()),
                Ok(subs) if matches!(&*subs, Value::StringVec(paths) if paths.iter().any(|p| expr::is_expression(p)))
            );
            node.has_expr_sublayer = has;
            any |= has;
        }
        self.sublayers.any_expr = any;
    }

    /// The cached composer for a rebuild: composes the stack's expression
    /// variables ([`composed_stack_vars`](Self::composed_stack_vars)), then
    /// expands members against them via the [`stack_members_uncached`] policy
    /// with the graph's shared sublayer-resolution cache threaded through, so a
    /// `subLayers` edit only re-canonicalizes paths it has not seen before.
    /// Returns both so the caller stores them on the stack instance together.
    /// Read-only queries call [`stack_members_uncached`] directly with a scratch
    /// cache ([`sublayer_stack`]).
    ///
    /// [`stack_members_uncached`]: Self::stack_members_uncached
    /// [`sublayer_stack`]: Self::sublayer_stack
    fn build_stack_members(
        &mut self,
        root: LayerId,
        seed_vars: &HashMap<String, Value>,
        sink: Option<&mut EdgeSink>,
    ) -> (Vec<(LayerId, LayerOffset)>, HashMap<String, Value>) {
        let stack_vars = self.composed_stack_vars(root, seed_vars);
        let mut resolution = mem::take(&mut self.sublayers.resolution);
        let members = self.stack_members_uncached(root, &stack_vars, &mut resolution, sink);
        self.sublayers.resolution = resolution;
        (members, stack_vars)
    }

    /// The composed expression variables of a stack rooted at `root` under
    /// `seed_vars`: the root layer's own `expressionVariables` overlaid by the
    /// seed, the seed winning (C++ `PcpExpressionVariables`). The loader
    /// validated the `expressionVariables` read at open time; this
    /// composition-time read of the same already-loaded layer cannot abort, so
    /// an unreadable field degrades to no variables.
    fn composed_stack_vars(&self, root: LayerId, seed_vars: &HashMap<String, Value>) -> HashMap<String, Value> {
        expr::stack_expression_variables(self.nodes[&root].layer.data(), seed_vars).unwrap_or_default()
    }

    /// The single member-expansion policy for every "stack rooted at `root` under
    /// the composed variables `stack_vars`" query, cached
    /// ([`build_stack_members`](Self::build_stack_members)) or on demand
    /// ([`sublayer_stack`](Self::sublayer_stack)): resolves `root`'s subtree and
    /// composes offsets, pruning muted layers, sharing [`collect_sublayers`].
    ///
    /// A stack with no expression sublayer ([`has_expr_sublayer`](Self::has_expr_sublayer)
    /// false) walks the shared context-free [`LayerNode::children`], resolved once
    /// per `subLayers` edit. A stack with one re-resolves its subtree against
    /// `stack_vars` ([`compose_stack_edges`](Self::compose_stack_edges)) so every
    /// `${VAR}` sublayer resolves the same way throughout the stack (C++
    /// `PcpExpressionVariables`). `resolution` memoizes sublayer path
    /// canonicalization — the graph's cache on a rebuild, a scratch map on a read
    /// query.
    fn stack_members_uncached(
        &self,
        root: LayerId,
        stack_vars: &HashMap<String, Value>,
        resolution: &mut HashMap<LayerId, HashMap<String, String>>,
        sink: Option<&mut EdgeSink>,
    ) -> Vec<(LayerId, LayerOffset)> {
        if !self.has_expr_sublayer(root) {
            let members = self.collect_plain(root);
            // A plain stack's edges are the context-free ones, so its
            // unresolved entries are exactly the recorded per-parent table;
            // scanning the members costs nothing on the common fully-resolved
            // stage, where the table is empty.
            if let Some(sink) = sink.filter(|_| !self.sublayers.unresolved_plain.is_empty()) {
                for &(member, _) in &members {
                    if let Some(entries) = self.sublayers.unresolved_plain.get(&member) {
                        sink.demands
                            .extend(entries.iter().map(|evaluated| (member, evaluated.clone())));
                    }
                }
            }
            return members;
        }
        let edges = self.compose_stack_edges(root, stack_vars, resolution, sink);
        let muted = &self.muted;
        let mut members = Vec::new();
        let mut ancestors = HashSet::new();
        collect_sublayers(
            root,
            LayerOffset::IDENTITY,
            &mut members,
            &mut ancestors,
            |id| muted.contains(&id),
            |id| edges.get(&id).map_or(&[][..], |e| e.as_slice()),
        );
        members
    }

    /// Resolves the sublayer edges of the stack rooted at `root` against
    /// `stack_vars`, the stack's single composed expression-variable set, into a
    /// per-`LayerId` edge map. Every `${VAR}` sublayer in the stack resolves
    /// against that one set (C++ `PcpExpressionVariables`); a sublayer's own
    /// `expressionVariables` contribute nothing. Unlike the shared context-free
    /// [`LayerNode::children`], these edges carry the stack's variables.
    /// `resolution` memoizes sublayer path canonicalization.
    fn compose_stack_edges(
        &self,
        root: LayerId,
        stack_vars: &HashMap<String, Value>,
        resolution: &mut HashMap<LayerId, HashMap<String, String>>,
        mut sink: Option<&mut EdgeSink>,
    ) -> HashMap<LayerId, SublayerEdges> {
        let mut edges: HashMap<LayerId, SublayerEdges> = HashMap::new();
        let mut visited: HashSet<LayerId> = HashSet::new();
        let mut work = vec![root];
        while let Some(id) = work.pop() {
            if !visited.insert(id) {
                continue;
            }
            let resolved = self.resolve_edges(id, stack_vars, resolution, sink.as_deref_mut());
            for &(child, _) in resolved.iter().rev() {
                work.push(child);
            }
            edges.insert(id, resolved);
        }
        edges
    }

    /// The session layer's own `expressionVariables` — the overrides the root stage
    /// stack composes over the stage root layer's own (C++ `PcpExpressionVariables`
    /// reads the root and session layers, not their sublayers). Seeds the root
    /// layer's `${VAR}` sublayer resolution (see
    /// [`rebuild_sublayer_stacks`](Self::rebuild_sublayer_stacks)). Empty when the
    /// session root authors none, the common case that keeps the root on the
    /// sessionless path.
    ///
    /// The session root is the first session layer; a muted session root contributes
    /// nothing, matching the members the root stack drops. The session root is
    /// `order[0]`, the top of the session region, so muting drops it exactly when it
    /// is itself muted.
    fn session_expression_variables(&self) -> HashMap<String, Value> {
        match self.session_layers().first() {
            Some(&session_root) if !self.is_muted(session_root) => {
                expr::read_expression_variables(self.nodes[&session_root].layer.data())
                    .map(|dict| dict.into_owned())
                    .unwrap_or_default()
            }
            _ => HashMap::new(),
        }
    }

    /// The stage root stack's expression variables read regardless of muting: the
    /// stage root layer's own overlaid by the session root's own (session wins). The
    /// structural walk [`expression_ancestry_edges`](Self::expression_ancestry_edges)
    /// resolves the root stage stack's `${VAR}` sublayers against this one set (both
    /// regions of a single stack, C++ `PcpExpressionVariables`), so muting a layer
    /// leaves the walk's edges unchanged: the ancestor set is identical before a mute
    /// and after the matching unmute. The composition context a muted session root
    /// drops out of is [`stack_expression_variables`](Self::stack_expression_variables).
    fn root_stack_structural_vars(&self) -> HashMap<String, Value> {
        let session = match self.session_layers().first() {
            Some(&session_root) => expr::read_expression_variables(self.nodes[&session_root].layer.data())
                .map(|dict| dict.into_owned())
                .unwrap_or_default(),
            None => HashMap::new(),
        };
        match self.root {
            Some(root) => {
                expr::stack_expression_variables(self.nodes[&root].layer.data(), &session).unwrap_or_default()
            }
            None => session,
        }
    }

    /// The composed expression variables of the layer stack `id` (C++
    /// `PcpExpressionVariables`, stored on the stack like C++
    /// `PcpLayerStack::GetExpressionVariables`): its root layer's own
    /// `expressionVariables` overlaid by the inherited overrides — the arc's seed
    /// for a target, the session root's own for the stage root stack. This is the
    /// single set the stack's `${VAR}` sublayer paths, reference/payload asset
    /// paths, and value-time asset attributes all resolve against; a sublayer of
    /// the root contributes nothing. The same value the stack's members were
    /// resolved with ([`build_stack_members`](Self::build_stack_members)), so
    /// membership and asset-path resolution never diverge. Panics on an unminted
    /// handle — composition only reads stacks the graph has built.
    pub(crate) fn stack_expression_variables(&self, id: LayerStackId) -> &HashMap<String, Value> {
        self.stacks.expression_variables(id)
    }

    /// The context-free members of the stack rooted at `root`, composing offsets and
    /// pruning muted layers over the shared [`LayerNode::children`]. The fast path
    /// [`stack_members_uncached`](Self::stack_members_uncached) takes when the stack
    /// has no expression sublayer ([`has_expr_sublayer`](Self::has_expr_sublayer)).
    fn collect_plain(&self, root: LayerId) -> Vec<(LayerId, LayerOffset)> {
        let muted = &self.muted;
        let nodes = &self.nodes;
        let mut members = Vec::new();
        let mut ancestors = HashSet::new();
        collect_sublayers(
            root,
            LayerOffset::IDENTITY,
            &mut members,
            &mut ancestors,
            |id| muted.contains(&id),
            |id| nodes.get(&id).map_or(&[][..], |n| n.children.as_slice()),
        );
        members
    }

    /// Whether a prior on-demand open of `asset_path` failed.
    pub(crate) fn load_failed(&self, asset_path: &str) -> bool {
        self.failed_loads.contains_key(asset_path)
    }

    /// What a prior on-demand open of `asset_path` recorded as its failure, or
    /// `None` if it never failed.
    pub(crate) fn load_failure(&self, asset_path: &str) -> Option<&LoadFailure> {
        self.failed_loads.get(asset_path)
    }

    /// Forgets every recorded load failure so a now-readable asset is demanded
    /// again, returning whether any were recorded. Called when an edit changes
    /// the layers.
    pub(crate) fn clear_failed_loads(&mut self) -> bool {
        if self.failed_loads.is_empty() {
            return false;
        }
        self.failed_loads.clear();
        true
    }

    /// Whether any layer keeps structurally valid authored relocates.
    pub(crate) fn has_relocates(&self) -> bool {
        self.has_relocates
    }

    /// Number of layers in the graph.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the graph has no layers.
    #[allow(dead_code)]
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of session layers.
    pub(crate) fn session_layer_count(&self) -> usize {
        self.session_layer_count
    }

    /// The open-time session-layer ids in strength order; the session root is
    /// first. The session region's composed membership is a sublayer walk from
    /// that root (see `rebuild_sublayer_stacks`), so a session sublayer loaded
    /// at runtime is a root-stack member without appearing here.
    pub(crate) fn session_layers(&self) -> &[LayerId] {
        &self.order[..self.session_layer_count]
    }

    /// The root layer's id (the first non-session layer), if any.
    pub(crate) fn root_id(&self) -> Option<LayerId> {
        self.root
    }

    /// Whether `stack` resolves to a member set containing `layer` — the test
    /// both the dependency registration walk and its lookup apply to decide
    /// whether a node's site belongs to an edited layer.
    pub(crate) fn stack_contains(&self, stack: LayerStackId, layer: LayerId) -> bool {
        self.layer_stack(stack).iter().any(|&(member, _)| member == layer)
    }

    /// The root layer (the first non-session layer), if any. Per spec 12.2.7,
    /// pseudo-root layer metadata resolves from this layer alone.
    pub(crate) fn root_layer(&self) -> Option<&sdf::Layer> {
        self.root.map(|id| self.layer(id))
    }

    /// All layer ids in collection order (session layers first).
    pub(crate) fn all_ids(&self) -> &[LayerId] {
        &self.order
    }

    /// Pseudo-root stage metadata, composing session-layer opinions over the
    /// root layer (strongest first).
    ///
    /// Unlike [`root_layer_field`](Self::root_layer_field) — root-layer-only for
    /// the spec 12.2.7 fields such as `defaultPrim` — general stage metadata
    /// (e.g. `renderSettingsPrimPath`) honors a session-layer override, matching
    /// C++ `UsdStage::GetMetadata`. A [`Value::ValueBlock`] in a stronger layer
    /// blocks weaker opinions.
    pub(crate) fn stage_metadata(&self, field: &str) -> Result<Option<Value>, sdf::DataError> {
        let root = Path::abs_root();
        // Walk session layers then the root layer so the session opinion wins,
        // skipping muted session layers (the root is never muted).
        let layer_ids = self
            .session_layers()
            .iter()
            .copied()
            .chain(self.root_id())
            .filter(|&id| !self.is_muted(id))
            .collect::<Vec<_>>();
        for id in layer_ids {
            let layer = self.layer(id);
            match layer.data().try_field(&root, field)? {
                Some(value) if matches!(value.as_ref(), Value::ValueBlock) => return Ok(None),
                Some(value) => return Ok(Some(value.into_owned())),
                None => {}
            }
        }
        Ok(None)
    }

    /// Pseudo-root layer metadata from the root layer only.
    ///
    /// Session-layer and sublayer opinions are intentionally ignored here,
    /// matching spec 12.2.7.
    pub(crate) fn root_layer_field(&self, field: &str) -> Result<Option<Value>, sdf::DataError> {
        let root = Path::abs_root();
        let Some(root_layer) = self.root_layer() else {
            return Ok(None);
        };
        let Some(value) = root_layer.data().try_field(&root, field)? else {
            return Ok(None);
        };
        if matches!(value.as_ref(), Value::ValueBlock) {
            return Ok(None);
        }
        Ok(Some(value.into_owned()))
    }

    /// The `defaultPrim` token authored on `layer`, if any. Raw metadata: the
    /// caller decides which layer to ask and what the token means (see
    /// [`sdf::default_prim_path`](crate::sdf::default_prim_path)).
    /// `None` for an id naming no layer here, like
    /// [`try_identifier`](Self::try_identifier): a queued edit reaches this
    /// holding an id that may have outlived its layer.
    pub(crate) fn default_prim_token(&self, layer: LayerId) -> Option<tf::Token> {
        self.nodes.get(&layer)?.layer.pseudo_root()?.default_prim()
    }

    /// The `defaultPrim` metadata from the root layer, if set.
    ///
    /// When session layers are present, `defaultPrim` is read from the first
    /// non-session layer (the root layer), matching C++ behavior.
    pub(crate) fn default_prim(&self) -> Option<tf::Token> {
        self.default_prim_token(self.root_id()?)
    }

    /// Layer identifiers in collection order (root-stack first).
    pub(crate) fn identifiers(&self) -> Vec<String> {
        self.identifiers_of(self.order.iter().copied())
    }

    /// Maps a sequence of layer ids to their identifiers, in order.
    pub(crate) fn identifiers_of(&self, ids: impl IntoIterator<Item = LayerId>) -> Vec<String> {
        ids.into_iter().map(|id| self.identifier(id).to_string()).collect()
    }

    /// The identifiers of the stage's root layer stack (session layers, the root
    /// layer, and its sublayers) in strength order. Backs C++
    /// `UsdStage::GetLayerStack`.
    pub(crate) fn root_layer_stack_identifiers(&self) -> Vec<String> {
        self.identifiers_of(self.root_layer_stack().iter().map(|&(id, _)| id))
    }

    /// The layer ids + effective offsets of the root-sourced sublayer stack rooted
    /// at `root_layer` (spec 10.3.1.1) — its sublayer edges resolved under the
    /// layer's own `expressionVariables` overlaid by the stage root stack's
    /// composed set (a stack with no explicit override source composes under the
    /// root's, C++ `PcpExpressionVariables`), the depth-first pre-order walk with
    /// offsets composed through nested sublayers. A layer that sublayers itself
    /// transitively is a cycle and is skipped; an off-path duplicate is expanded
    /// again. Empty for an unknown layer.
    ///
    /// The query goes through the same expansion policy as a rebuilt stack
    /// ([`stack_members_uncached`](Self::stack_members_uncached)): it reads the
    /// registry's interned `{root_layer, Root}` instance when one exists, and
    /// otherwise composes on demand with a scratch resolution cache — so a
    /// sublayer diamond whose shared layer resolves `${VAR}` differently per arm
    /// expands per ancestry here exactly as it does in the interned members. A
    /// variable a layer inherits only from a parent that sublayers it is not in
    /// scope — those members appear in the parent's stack, not in the layer's own.
    pub(crate) fn sublayer_stack(&self, root_layer: LayerId) -> Cow<'_, [(LayerId, LayerOffset)]> {
        if let Some(id) = self.stacks.lookup_target(root_layer, VarsSource::Root) {
            return Cow::Borrowed(self.stacks.members(id));
        }
        if !self.nodes.contains_key(&root_layer) {
            return Cow::Borrowed(&[]);
        }
        // Only a `${VAR}` sublayer reads the stack's variables — the layer's own
        // seeded by the root stack's composed set; the plain fast path never
        // touches them. A true `has_expr_sublayer` implies an edge build ran,
        // which minted the root stack first, so its composed set is present.
        let stack_vars = if self.has_expr_sublayer(root_layer) {
            let seed = self.stacks.expression_variables(LayerStackId::ROOT);
            self.composed_stack_vars(root_layer, seed)
        } else {
            HashMap::new()
        };
        let mut resolution = HashMap::new();
        Cow::Owned(self.stack_members_uncached(root_layer, &stack_vars, &mut resolution, None))
    }

    /// The stage's root layer stack (registry instance 0): session layers (identity
    /// offset) followed by the root layer and its sublayers with their effective
    /// offsets (spec 10.3.1). The set of layers a top-level prim index scans for
    /// local opinions.
    pub(crate) fn root_layer_stack(&self) -> &[(LayerId, LayerOffset)] {
        self.stacks.members(LayerStackId::ROOT)
    }

    /// Resolves a [`LayerStackId`] back to its members (the `(layer id, effective
    /// offset)` pairs in strength order) from the registry. Empty for a stack whose
    /// root is unknown or muted.
    pub(crate) fn layer_stack(&self, id: LayerStackId) -> &[(LayerId, LayerOffset)] {
        self.stacks.members(id)
    }

    /// The members of `id`'s stack, or `None` when the registry no longer holds
    /// the instance — the presence-aware read for introspection over a handle
    /// that may be a stale view (a node cloned out of a dropped index whose
    /// stack a sweep reclaimed).
    pub(crate) fn try_layer_stack(&self, id: LayerStackId) -> Option<&[(LayerId, LayerOffset)]> {
        self.stacks.try_members(id)
    }

    /// The strongest (representative) layer of the stack `id` — its
    /// [`layer_stack`](Self::layer_stack)'s first member — or [`LayerId::INVALID`]
    /// when the stack is empty (an unknown or muted root).
    pub(crate) fn layer_stack_root(&self, id: LayerStackId) -> LayerId {
        self.stacks.members(id).first().map_or(LayerId::INVALID, |&(li, _)| li)
    }

    /// Rebuilds the sublayer edges and relocate data from the current layer
    /// data, refreshing both [`cycles`](GraphDiagnostics::cycles) and
    /// [`relocates`](GraphDiagnostics::relocates). Called after a
    /// `subLayers`/`subLayerOffsets` edit, where the graph's edges may be stale.
    ///
    /// `edited` names the layers whose root metadata the edit authored; together
    /// with the edges the rebuild finds changed, it scopes the stack re-resolution
    /// to the instances the change can affect. Pass `None` for a load, where a
    /// newly opened layer can join a stack the changed-edge set cannot name, so
    /// every stack is re-resolved.
    ///
    /// Returns the affected layer set the caller drops cached indices against — the
    /// layers whose composed edges shifted (unioned with `edited`) plus those whose
    /// relocate pairs changed, so eviction covers exactly the stacks the rebuild
    /// re-resolved; empty when `edited` is `None` apart from the relocate set (a
    /// full pass scopes nothing) — together with the [`StackVarsDelta`]s the stack
    /// rebuild emitted, which only an `expressionVariables` edit's change
    /// processing consumes.
    pub(crate) fn recompute_sublayers(&mut self, edited: Option<&HashSet<LayerId>>) -> SublayerRecompute {
        let (affected, vars_deltas) = self.build_sublayer_edges(edited);
        let mut affected = affected.unwrap_or_default();
        affected.extend(self.recompute_relocates());
        SublayerRecompute { affected, vars_deltas }
    }

    /// The variable names whose value differs between the interned
    /// expression-variable contexts `old` and `new` — how change processing
    /// resolves a [`StackVarsDelta`]'s before/after pair into the C++
    /// changed-name predicate
    /// (`PcpChanges::_DidChangeLayerStackExpressionVariables`).
    pub(crate) fn changed_var_names(&self, old: ExprVarId, new: ExprVarId) -> HashSet<String> {
        self.stacks.changed_var_names(old, new)
    }

    /// The variable names the stack's `${VAR}` `subLayers` entries read when its
    /// members were last composed. A variable edit hitting one of these can swap
    /// the stack's membership, so change processing treats it as significant for
    /// every prim using the stack (C++ `GetExpressionVariableDependencies`).
    pub(crate) fn stack_sublayer_var_deps(&self, id: LayerStackId) -> &HashSet<String> {
        self.stacks.sublayer_var_deps(id)
    }

    /// Re-derives every node's structurally valid relocate pairs from its
    /// current layer data, replacing [`relocates`](GraphDiagnostics::relocates)
    /// with the recoverable relocate diagnostics (C++
    /// `PcpErrorInvalidAuthoredRelocates` and conflict diagnostics). Run once at
    /// construction and again whenever a `subLayers`/`layerRelocates` edit
    /// lands.
    ///
    /// Returns the layers whose cached relocate pairs changed, so a mute toggle
    /// can fan out to the prims reading them (see
    /// [`recompose_for_mute_with_fanout`](Self::recompose_for_mute_with_fanout))
    /// without a separate before/after snapshot. Validation reads only authored
    /// layer data, so each layer's new pairs are moved out of `relocates` into
    /// the node cache.
    pub(crate) fn recompute_relocates(&mut self) -> HashSet<LayerId> {
        let (mut relocates, errors) = validate_layer_relocates(self);
        self.has_relocates = false;
        let mut changed = HashSet::new();
        for &id in &self.order {
            let pairs = relocates.remove(&id).unwrap_or_default();
            self.has_relocates |= !pairs.is_empty();
            let node = self.nodes.get_mut(&id).expect("layer node exists");
            if node.relocates != pairs {
                changed.insert(id);
            }
            node.relocates = pairs;
        }
        self.diagnostics.relocates = errors;
        changed
    }

    /// The current layer-graph diagnostics — sublayer cycles
    /// ([`cycles`](GraphDiagnostics::cycles)), relocate errors
    /// ([`relocates`](GraphDiagnostics::relocates)), then per-stack sublayer
    /// errors ([`SublayerState::diagnostics`]). Always reflects the
    /// present graph state: a fixed cycle, relocate, expression, or removed
    /// entry stops appearing and a recompute never duplicates one, since each
    /// bucket is replaced on rebuild.
    pub(crate) fn errors(&self) -> Diagnostics {
        let mut held: Diagnostics = self.diagnostics.iter().cloned().collect();
        // A parent composing into several stacks derives the same per-referrer
        // diagnostic into each stack's bucket, which the collection folds back
        // into one.
        held.extend(self.sublayers.diagnostics().cloned());
        held
    }

    /// The ordered layer-id stacks, one per sublayer stack (one rooted at each
    /// layer) plus the stage root stack. Used to scope relocate conflicts and
    /// duplicate-source strength to a single layer stack (C++
    /// `Pcp_ComputeRelocationsForLayerStack`).
    pub(crate) fn relocate_conflict_scopes(&self) -> Vec<Vec<LayerId>> {
        let mut scopes: Vec<Vec<LayerId>> = self
            .order
            .iter()
            .map(|&id| self.sublayer_stack(id).iter().map(|&(layer, _)| layer).collect())
            .collect();
        scopes.push(self.root_layer_stack().iter().map(|&(id, _)| id).collect());
        scopes
    }

    /// The relocation source for `target` if a layer in `ambient` relocates a
    /// prim onto it (C++ `GetIncrementalRelocatesTargetToSource`). The strongest
    /// layer wins a collision; a deletion relocate has no target and is skipped.
    pub(crate) fn relocation_source(&self, ambient: LayerStackId, target: &Path) -> Option<Path> {
        self.incremental_relocate_entries(ambient)
            .into_iter()
            .find_map(|(source, relocate_target, _)| {
                (!relocate_target.is_empty() && relocate_target == *target).then_some(source)
            })
    }

    /// The relocation [`MapFunction`] applying at `path` in the layer stack
    /// `ambient` (C++ `PcpLayerStack::GetExpressionForRelocatesAtPath`): every
    /// relocate whose source lies at or below `path`, chained, plus the `(/, /)`
    /// identity catch-all. `None` when no relocate affects `path`. `exclude_source`
    /// drops the relocate whose source is exactly that path.
    pub(crate) fn relocates_expression_at(
        &self,
        ambient: LayerStackId,
        path: &Path,
        exclude_source: Option<&Path>,
    ) -> Option<MapFunction> {
        let mut pairs: Vec<(Path, Path)> = self
            .combined_relocates(ambient)
            .into_iter()
            .filter(|(source, target)| !target.is_empty() && source.has_prefix(path) && Some(source) != exclude_source)
            .collect();
        if pairs.is_empty() {
            return None;
        }
        pairs.push((Path::abs_root(), Path::abs_root()));
        Some(MapFunction::new(pairs))
    }

    /// The stack-effective relocates of `ambient`, strongest layer first, after
    /// duplicate-source and conflict dropping (C++ `GetIncrementalRelocates*`).
    /// Not chained.
    fn incremental_relocate_entries(&self, ambient: LayerStackId) -> Vec<(Path, Path, LayerId)> {
        let mut entries: Vec<(Path, Path, LayerId)> = Vec::new();
        for &(layer, _) in self.layer_stack(ambient).iter() {
            let Some(node) = self.nodes.get(&layer) else {
                continue;
            };
            for (source, target) in &node.relocates {
                entries.push((source.clone(), target.clone(), layer));
            }
        }
        let pairs: RelocateList = entries
            .iter()
            .map(|(source, target, _)| (source.clone(), target.clone()))
            .collect();
        let status = analyze_relocate_occurrences(&pairs);
        entries
            .into_iter()
            .zip(status)
            .filter_map(|(entry, status)| status.is_active().then_some(entry))
            .collect()
    }

    /// Chains the per-layer authored relocates of `ambient` into a single
    /// source→target map (C++ `GetRelocatesSourceToTarget`): a target that is
    /// itself a relocation source follows on to the final target, and a relocate
    /// authored *under* another's target contributes a combined
    /// pre-relocation-source → final-target pair so a single map application
    /// reaches the final location through nested relocates.
    pub(crate) fn combined_relocates(&self, ambient: LayerStackId) -> RelocateList {
        let mut pairs: RelocateList = self
            .incremental_relocate_entries(ambient)
            .into_iter()
            .map(|(source, target, _)| (source, target))
            .collect();
        let snapshot = pairs.clone();
        for (source, target) in pairs.iter_mut() {
            if target.is_empty() {
                continue;
            }
            *target = chain_through_relocates(target, &snapshot, Some(source));
        }

        // Nested relocates: a relocate `s2 → t2` whose source `s2` lies under
        // another's target `t1` (from `s1 → t1`) means content moved to `t1` is
        // moved on. Express that as a pair from the pre-relocation source
        // (`s1` + the suffix of `s2` below `t1`) straight to `t2`, so one map
        // application covers the whole chain. Iterated to a fixpoint over chains
        // of any depth; bounded by the relocate count.
        // TODO(perf): this is O(relocates⁴) with the linear `.any` membership
        // scans (a `HashSet<Path>` of seen sources would cut it); relocate counts
        // are tiny in practice, and the per-ambient cache TODO at
        // `IndexCache::compose_property_paths` would amortize it away.
        for _ in 0..pairs.len() {
            let mut added: Vec<(Path, Path)> = Vec::new();
            for (s1, t1) in &pairs {
                if t1.is_empty() {
                    continue;
                }
                for (s2, t2) in &pairs {
                    if s2 == s1 {
                        continue;
                    }
                    let Some(combined) = s2.replace_prefix(t1, s1) else {
                        continue;
                    };
                    // `combined == s2` is already excluded by the `pairs`
                    // membership check (`s2` is in `pairs`).
                    if !pairs.iter().any(|(s, _)| *s == combined) && !added.iter().any(|(s, _)| *s == combined) {
                        added.push((combined, t2.clone()));
                    }
                }
            }
            if added.is_empty() {
                break;
            }
            pairs.extend(added);
        }
        pairs
    }

    /// Whether a layer in `ambient` authors a relocate whose SOURCE is `source`
    /// (the salted-earth prohibition test). Includes deletion relocates.
    pub(crate) fn is_relocation_source(&self, ambient: LayerStackId, source: &Path) -> bool {
        self.relocation_source_layer(ambient, source).is_some()
    }

    /// Identifier of the strongest layer in `ambient` that authors a relocate
    /// whose SOURCE is `source`, or `None`.
    pub(crate) fn relocation_source_layer(&self, ambient: LayerStackId, source: &Path) -> Option<&str> {
        self.incremental_relocate_entries(ambient)
            .into_iter()
            .find_map(|(relocate_source, _, layer)| {
                (relocate_source == *source).then(|| self.layer(layer).identifier())
            })
    }

    /// Ensures `layer` is present as a graph node, returning `(id, fresh)` where
    /// `fresh` is `true` when the layer newly joined the graph. An already-loaded
    /// layer (matched by identifier) is left untouched (its existing children and
    /// relocates survive, since the same layer may be sublayered from several
    /// places) and reported as not fresh; an absent one joins with a freshly
    /// minted id. Callers key one-time per-layer setup (e.g. attaching a change
    /// aggregator) off `fresh` so a re-added identifier is not set up twice.
    ///
    /// The node must exist before a `subLayers` edit naming its asset path is
    /// rebuilt, so that [`build_sublayer_edges`](Self::build_sublayer_edges)'s
    /// [`find_relative`](Self::find_relative) resolves the path to it.
    pub(crate) fn ensure_layer(&mut self, layer: sdf::Layer) -> (LayerId, bool) {
        self.intern(layer)
    }

    /// The id of the layer interned under exactly `identifier` (the canonical,
    /// resolver-produced form), or failing that the layer whose resolved real
    /// path is `identifier`, or `None` (C++ `SdfLayer::Find`: by identifier,
    /// then by real path). An authored relative path must be anchored to its
    /// canonical identifier first (see [`find_relative`](Self::find_relative));
    /// this is the registry lookup the anchored path then resolves through, and
    /// the authoring surface keys a layer this way. The real-path alias is what
    /// lets a layer found through a search directory — interned under the
    /// search path — be named by the file it resolved to.
    pub(crate) fn id_of(&self, identifier: &str) -> Option<LayerId> {
        self.by_identifier
            .get(identifier)
            .or_else(|| self.by_real_path.get(identifier))
            .copied()
    }

    /// The layer interned under the resolver-anchored identifier `anchored`,
    /// or — when nothing is interned there — under the authored `asset_path`'s
    /// [`in_memory_identifier`](crate::ar::Resolver::in_memory_identifier).
    /// Anchoring wins so a relative path against a filesystem-backed layer never
    /// resolves to an unrelated layer interned under the bare string, while an
    /// in-memory layer keyed under that literal name (no filesystem anchor) still
    /// resolves. The shared lookup behind [`find_relative`](Self::find_relative)
    /// and [`resolve_sublayer`](Self::resolve_sublayer).
    fn anchored_or_bare(&self, anchored: &str, asset_path: &str) -> Option<LayerId> {
        self.id_of(anchored)
            .or_else(|| self.id_of(&self.registry.in_memory_identifier(asset_path)))
    }

    /// Resolves `asset_path` as authored in `anchor`, anchoring it through the
    /// resolver to a canonical identifier, then looking that up exactly (C++
    /// `SdfLayer::FindRelativeToLayer`). The resolver owns anchoring and
    /// canonicalization, so a `..` path or a symlinked leaf resolves to the same
    /// canonical identifier the load path (`LayerRegistry::open_sublayers`)
    /// interned the layer under — the lookup is an exact registry hit that agrees
    /// with the load path by construction.
    ///
    /// The anchored identifier — the asset USD resolves a relative path to — is
    /// tried first. Only when no layer is interned there does it fall back to the
    /// bare authored string, which lets an in-memory layer keyed under that
    /// literal name (with no filesystem location to anchor against) resolve.
    /// Anchoring first means a relative path against a filesystem-backed layer
    /// never resolves to an unrelated layer that merely happens to be interned
    /// under the bare string.
    pub(crate) fn find_relative(&self, asset_path: &str, anchor: LayerId) -> Option<LayerId> {
        self.resolve_relative(asset_path, anchor).ok()
    }

    /// The resolution behind [`find_relative`](Self::find_relative), keeping
    /// the miss: returns the interned layer, or `Err` with the anchored
    /// canonical identifier the asset would intern under — the form the
    /// on-demand loader opens a sublayer demand at, and the key load failures
    /// and open attempts are recorded by.
    pub(crate) fn resolve_relative(&self, asset_path: &str, anchor: LayerId) -> Result<LayerId, String> {
        let anchored = self
            .registry
            .create_identifier_anchored(asset_path, self.real_path(anchor));
        self.anchored_or_bare(&anchored, asset_path).ok_or(anchored)
    }

    /// [`resolve_sublayer`](Self::resolve_sublayer) for a demanded sublayer
    /// entry at the load barrier, over the graph's own memo
    /// ([`SublayerState::resolution`]): the entry resolves to the layer the
    /// barrier already interned, or yields the anchored identifier to open.
    pub(crate) fn refresh_demanded_sublayer(&mut self, parent: LayerId, sub_path: &str) -> Result<LayerId, String> {
        let mut resolution = mem::take(&mut self.sublayers.resolution);
        let resolved = self.resolve_sublayer(parent, sub_path, &mut resolution);
        self.sublayers.resolution = resolution;
        resolved
    }

    /// Mutes the layer with the given identifier so it contributes no opinions to
    /// composition (C++ `PcpCache::RequestLayerMuting`), recomposing the
    /// muting-dependent graph state. Returns what changed (see [`MuteChange`]), or
    /// `None` when nothing did: the identifier was already muted, or it resolves to
    /// the root layer, which cannot be muted ("would lead to empty layer stacks").
    ///
    /// The layer need not be loaded; the canonical identifier is stored and takes
    /// effect the moment a later edit interns a matching layer (see
    /// [`rebuild_sublayer_stacks`](Self::rebuild_sublayer_stacks), which
    /// re-materializes the interned muted ids).
    pub(crate) fn mute_layer(&mut self, identifier: String) -> Option<MuteChange> {
        let canonical = self.canonical_muted_id(&identifier, self.anchor_location(self.root).as_ref());
        if self.is_root_identifier(&canonical) {
            return None;
        }
        let changed = match self.id_of(&canonical) {
            Some(id) => self.muted.insert(id).then(|| self.identity(id))?,
            None => self.pending_mutes.insert(canonical.clone()).then_some(canonical)?,
        };
        let affected = self.recompose_for_mute_with_fanout(&changed);
        Some(MuteChange { changed, affected })
    }

    /// Unmutes the layer with the given identifier, restoring its opinions and
    /// recomposing. Returns what changed (see [`MuteChange`]), or `None` when the
    /// identifier was not muted. The identifier is canonicalized the same way
    /// muting canonicalized it and resolved to the layer's identity, so any
    /// spelling of one layer unmutes it, whichever spelling muted it.
    pub(crate) fn unmute_layer(&mut self, identifier: &str) -> Option<MuteChange> {
        let canonical = self.canonical_muted_id(identifier, self.anchor_location(self.root).as_ref());
        let changed = match self.id_of(&canonical) {
            Some(id) if self.muted.remove(&id) => self.identity(id),
            _ => self.pending_mutes.take(&canonical)?,
        };
        let affected = self.recompose_for_mute_with_fanout(&changed);
        Some(MuteChange { changed, affected })
    }

    /// The identity a loaded layer is muted under: its interned identifier.
    fn identity(&self, id: LayerId) -> String {
        self.nodes[&id].layer.identifier().to_string()
    }

    /// Recomposes the muting-dependent graph state for a just-changed muted set
    /// and returns the layers whose cached prim indices the toggle of the layer
    /// with canonical identifier `canonical` can invalidate: the structural
    /// [`mute_fanout`](Self::mute_fanout) plus any layer whose cached relocate
    /// pairs the recompose changed.
    ///
    /// Relocate extraction omits muted layers and refreshes diagnostics in the
    /// graph. Any layer whose cached relocate pairs change is added to the
    /// fanout so dependent prims rebuild against the current stack state.
    fn recompose_for_mute_with_fanout(&mut self, canonical: &str) -> HashSet<LayerId> {
        let mut affected = self.mute_fanout(canonical);
        affected.extend(self.recompose_for_mute());
        affected
    }

    /// The interned layers a (un)mute of the layer with canonical identifier
    /// `canonical` can invalidate: the layer itself and every layer whose
    /// `subLayers` subtree contains it. Empty when no loaded layer has that
    /// identifier — muting a not-yet-loaded layer changes no composed index.
    ///
    /// A composed prim index is affected by toggling the layer exactly when one
    /// of its nodes resolves against a layer stack containing it, and a sublayer
    /// stack contains a layer iff its root layer does, so the set's members are
    /// the stack roots whose nodes a dependent index would list. Both the
    /// identifier lookup and the subtree edges are independent of the muted set,
    /// so the set is identical whether computed before muting or after unmuting.
    ///
    /// The stage root layer stack is the one stack that is not a single sublayer
    /// subtree: it glues the session layers (and their subtrees) onto the root
    /// layer's subtree. A toggle anywhere in it can change every prim that
    /// composes locally against it, and such a prim always retains the root layer
    /// in its composition (the root layer is never muted), so when a session
    /// layer is in the set the root layer is added as the anchor a dependent
    /// index is found through.
    fn mute_fanout(&self, canonical: &str) -> HashSet<LayerId> {
        let Some(id) = self.id_of(canonical) else {
            return HashSet::new();
        };
        let mut affected = self.ancestors_including(id);
        if let Some(root) = self.root
            && self.session_layers().iter().any(|s| affected.contains(s))
        {
            affected.insert(root);
        }
        affected
    }

    /// Every layer whose `subLayers` subtree contains `target`, including
    /// `target` itself. Derived from the sublayer edges, which `subLayers`
    /// metadata is the single source of truth for and which muting never alters,
    /// so the result does not depend on the current muted set. A `${VAR}` sublayer
    /// is absent from the context-free [`LayerNode::children`], so the edges only a
    /// stack's variables resolve are supplied by
    /// [`expression_ancestry_edges`](Self::expression_ancestry_edges).
    fn ancestors_including(&self, target: LayerId) -> HashSet<LayerId> {
        let mut found = HashSet::from([target]);
        let expr_edges = self.expression_ancestry_edges();
        // The sublayer DAG holds one node per loaded layer, so growing the set to
        // a fixpoint — add any layer with a child already in it, until it stops
        // growing — is cheaper than materializing a reverse-edge index.
        let mut growing = true;
        while growing {
            growing = false;
            for (&id, node) in &self.nodes {
                if found.contains(&id) {
                    continue;
                }
                let reaches = node.children.iter().any(|&(child, _)| found.contains(&child))
                    || expr_edges
                        .get(&id)
                        .is_some_and(|children| children.iter().any(|c| found.contains(c)));
                if reaches {
                    found.insert(id);
                    growing = true;
                }
            }
        }
        found
    }

    /// The sublayer edges only a stack's expression variables resolve, keyed by the
    /// parent layer — the supplement the context-free [`LayerNode::children`] omit, so
    /// [`ancestors_including`](Self::ancestors_including) still finds a stack root whose
    /// `${VAR}` sublayer selects the target. Each stack's subtree is resolved against
    /// its own variables (the root stack's structural variables for the stage root
    /// stack's root and session regions, a seed for a target), read regardless of
    /// muting so the ancestor set is identical across the interned stacks before a
    /// mute and after the matching unmute.
    fn expression_ancestry_edges(&self) -> HashMap<LayerId, Vec<LayerId>> {
        let mut edges: HashMap<LayerId, Vec<LayerId>> = HashMap::new();
        if !self.sublayers.any_expr {
            return edges;
        }
        // The roots of every stack whose subtree can hold an expression edge: the
        // stage root stack — both its root region and its session region, each
        // resolved against the structural root-stack variables so a session
        // sublayer sees the stage root's variables too — and every interned
        // target stack, resolved against its stored composed set (the same set
        // its `${VAR}` sublayer edges resolved against on the last rebuild).
        let structural = self.root_stack_structural_vars();
        let mut specs: Vec<(LayerId, &HashMap<String, Value>)> = Vec::new();
        if let Some(root) = self.root {
            specs.push((root, &structural));
        }
        if let Some(&session_root) = self.session_layers().first() {
            specs.push((session_root, &structural));
        }
        specs.extend(
            self.stacks
                .targets()
                .into_iter()
                .map(|(id, root, _)| (root, self.stacks.expression_variables(id))),
        );
        let mut resolution = HashMap::new();
        for (root, vars) in specs {
            if !self.has_expr_sublayer(root) {
                continue;
            }
            for (parent, resolved) in self.compose_stack_edges(root, vars, &mut resolution, None) {
                edges
                    .entry(parent)
                    .or_default()
                    .extend(resolved.into_iter().map(|(child, _)| child));
            }
        }
        edges
    }

    /// Seeds the muted set from `identifiers` (open-time muting), then recomposes
    /// once — cheaper than a `mute_layer` per identifier, which would recompose on
    /// each. Canonicalizes each against the root layer and drops any that names the
    /// root (which cannot be muted); the spellings of one layer collapse onto its
    /// identity, so [`muted_layers`](Self::muted_layers) lists each muted layer
    /// once.
    pub(crate) fn set_muted_identifiers(&mut self, identifiers: impl IntoIterator<Item = String>) {
        let root_anchor = self.anchor_location(self.root);
        for identifier in identifiers {
            let canonical = self.canonical_muted_id(&identifier, root_anchor.as_ref());
            if self.is_root_identifier(&canonical) {
                continue;
            }
            match self.id_of(&canonical) {
                Some(id) => {
                    self.muted.insert(id);
                }
                None => {
                    self.pending_mutes.insert(canonical);
                }
            }
        }
        self.recompose_for_mute();
    }

    /// Whether the layer named by this identifier is muted, matching by canonical
    /// identifier anchored against the root layer (C++ `PcpCache::IsLayerMuted`),
    /// so any spelling of one layer reads alike — including, for a loaded layer,
    /// its identifier and its real path (see [`id_of`](Self::id_of)).
    pub(crate) fn is_layer_muted(&self, identifier: &str) -> bool {
        self.has_muted_layers()
            && self
                .muted_entry(&self.canonical_muted_id(identifier, self.anchor_location(self.root).as_ref()))
                .is_some()
    }

    /// The identity under which the layer with canonical identifier `canonical`
    /// is muted — a loaded layer's interned identifier, or the pending canonical
    /// identifier of one not yet loaded — or `None` when it is not muted. Every
    /// mute query resolves through here, so the identifier and real-path
    /// spellings of a loaded layer (see [`id_of`](Self::id_of)) read alike.
    fn muted_entry(&self, canonical: &str) -> Option<String> {
        let loaded = self.id_of(canonical).filter(|id| self.muted.contains(id));
        loaded
            .map(|id| self.identity(id))
            .or_else(|| self.pending_mutes.contains(canonical).then(|| canonical.to_string()))
    }

    /// Whether any layer is muted at all. A cheap gate so the per-arc mute check
    /// skips its anchoring work on the common unmuted stage.
    pub(crate) fn has_muted_layers(&self) -> bool {
        !self.muted.is_empty() || !self.pending_mutes.is_empty()
    }

    /// The muted-set identifier matched by the reference/payload target
    /// `asset_path`, anchored against `anchor` (the layer that authored the arc),
    /// or `None` when it names no muted layer. Matched by the canonical identifier
    /// the target would be interned under (C++ `Pcp_MutedLayers::IsLayerMuted`,
    /// anchored against the containing layer; see
    /// [`Indexer::arc_target_muted`](super::prim_indexer)). Unlike
    /// [`is_muted`](Self::is_muted), this matches before the layer is interned, so
    /// the on-demand loader can recognize a muted target and skip opening it, and
    /// the returned identifier is the muted-set entry an unmute toggles, so a
    /// not-yet-loaded target can record it as its unmute-fanout trace.
    pub(crate) fn muted_asset_id(&self, asset_path: &str, anchor: Option<&ResolvedPath>) -> Option<String> {
        if !self.has_muted_layers() {
            return None;
        }
        self.muted_entry(&self.canonical_muted_id(asset_path, anchor))
    }

    /// The layers of every composed stack — the effectively-present set the stage
    /// filters muted collection diagnostics against (see
    /// [`retain_contributing`](Self::retain_contributing)). Read from
    /// the composed stacks (muting has pruned their muted subtrees), so it is a
    /// pure function of the muted set and the live stacks. Like the rest of the
    /// lazily composed state, the set reflects the composition performed so far:
    /// reclamation removes an unreferenced stack's members, and recomposition
    /// re-derives them.
    fn effective_layers(&self) -> HashSet<LayerId> {
        self.stacks.member_layers()
    }

    /// Keeps only the collection diagnostics that still describe the composed
    /// state once muting is applied. The loader reports every load failure raw,
    /// unaware of muting, so a sublayer failure under a muted branch has to be
    /// filtered out here rather than discarded at load; unmuting restores it
    /// because the raw copy was never dropped.
    ///
    /// Whether anything can be suppressed is this graph's own knowledge — an
    /// unmuted stage suppresses nothing, and muting only ever reaches sublayer
    /// diagnostics — so the effective-layer set is built only once something in
    /// `diagnostics` could be affected by it.
    pub(crate) fn retain_contributing(&self, mut diagnostics: Diagnostics) -> Diagnostics {
        if !self.has_muted_layers() || !diagnostics.iter().any(|d| sublayer_source(d).is_some()) {
            return diagnostics;
        }
        let effective = self.effective_layers();
        diagnostics.retain(|diagnostic| self.sublayer_diagnostic_contributes(diagnostic, &effective));
        diagnostics
    }

    /// Whether one diagnostic survives the muting filter. A non-sublayer
    /// diagnostic always does. A missing or unreadable sublayer survives only
    /// when its referencing layer is `effective` (a member of some composed
    /// stack) and the sublayer it names is not itself muted; otherwise muting
    /// prunes it and the raw diagnostic is spurious. The `effective` set is a
    /// pure function of the muted set and the live stacks (see
    /// [`effective_layers`](Self::effective_layers)).
    fn sublayer_diagnostic_contributes(
        &self,
        diagnostic: &CompositionDiagnostic,
        effective: &HashSet<LayerId>,
    ) -> bool {
        let Some((asset_path, introduced_by)) = sublayer_source(diagnostic) else {
            return true;
        };
        let Some(referrer) = self.id_of(introduced_by) else {
            return true;
        };
        effective.contains(&referrer)
            && self
                .muted_asset_id(asset_path, self.anchor_location(Some(referrer)).as_ref())
                .is_none()
    }

    /// The muted layers — a loaded one by its identifier, a pending one by the
    /// canonical identifier it was muted under — sorted for a deterministic
    /// result.
    pub(crate) fn muted_layers(&self) -> Vec<String> {
        let mut ids: Vec<String> = self
            .muted
            .iter()
            .map(|&id| self.identity(id))
            .chain(self.pending_mutes.iter().cloned())
            .collect();
        ids.sort();
        ids
    }

    /// Whether the layer with this id is muted, i.e. excluded from every stack.
    /// A muted layer contributes nothing to composition — not its opinions, its
    /// stage metadata, or its diagnostics.
    pub(crate) fn is_muted(&self, id: LayerId) -> bool {
        self.muted.contains(&id)
    }

    /// Refreshes every muting-dependent piece of graph state after the muted set
    /// changes: the sublayer stacks (rebuilding re-resolves the muted ids), the
    /// sublayer-cycle diagnostics (a cycle through a muted layer no longer
    /// composes), and the relocates, whose validation and conflict scopes both
    /// drop muted layers. Returns the layers whose cached relocate pairs changed
    /// (from [`recompute_relocates`](Self::recompute_relocates)).
    fn recompose_for_mute(&mut self) -> HashSet<LayerId> {
        // A mute toggles the muted set rather than the sublayer edges, so the
        // edge-diff scoping `build_sublayer_edges` uses does not apply; re-resolve
        // every instance (an unmuted layer rejoins stacks whose members no longer
        // list it, which a member-set scope would miss). `rebuild_sublayer_stacks`
        // refreshes the muted set and recomputes the root's session-seeded members,
        // so muting a session layer that supplies a root `${VAR}` sublayer's variable
        // re-resolves that sublayer out of (or into, among interned layers) the root
        // stack. The vars deltas a mute can emit are discarded, and that costs
        // neither invalidation nor notice.
        //
        // Only a session-layer toggle can move any stack's composed *values*: a
        // stack's variables come from its own root layer overlaid by the
        // referrer's (`expr::stack_expression_variables`), sublayers contribute
        // none, and a muted root still feeds its own — so
        // `session_expression_variables` is the single muting-sensitive input,
        // and the stage root layer can never be muted. `mute_fanout` answers such
        // a toggle with the root layer, which every prim composing against the
        // root layer stack retains, and `drop_index_victims` retires the
        // prototypes those drops touch. So the asset-path channel `Changes::apply`
        // publishes for a composed-variable move could name only indices the mute
        // has already dropped.
        let _ = self.rebuild_sublayer_stacks(None);
        self.recompute_cycle_diagnostics();
        self.recompute_relocates()
    }

    /// Moves every pending mute that now names a loaded layer into
    /// [`muted`](Self::muted), at the start of every stack rebuild, so a layer
    /// muted before it was loaded takes effect the moment a later edit interns
    /// it. The root is never present: its identifier is rejected before any
    /// entry is recorded (see [`is_root_identifier`](Self::is_root_identifier)).
    fn resolve_muted_ids(&mut self) {
        // TODO: reclaim a muted layer's memory. C++ drops its references; here
        // the node stays interned so unmute is a rebuild and nothing is freed.
        if self.pending_mutes.is_empty() {
            return;
        }
        let promoted: Vec<(String, LayerId)> = self
            .pending_mutes
            .iter()
            .filter_map(|canonical| self.id_of(canonical).map(|id| (canonical.clone(), id)))
            .collect();
        for (canonical, id) in promoted {
            self.pending_mutes.remove(&canonical);
            self.muted.insert(id);
        }
    }

    /// Whether `canonical` names the root layer, which cannot be muted ("would
    /// lead to empty layer stacks"). The single authority for rejecting a request
    /// to mute the root, regardless of the spelling the caller supplied.
    fn is_root_identifier(&self, canonical: &str) -> bool {
        self.root.is_some_and(|root| self.id_of(canonical) == Some(root))
    }

    /// The canonical identifier a muted-layer path resolves to (C++
    /// `Pcp_MutedLayers::_GetCanonicalLayerId`). A path is reduced to the
    /// identifier its layer is interned under (see [`intern`](Self::intern)): with
    /// no filesystem `anchor` — an in-memory or anonymous root — a relative path
    /// has nothing to resolve against and an added layer keeps its bare
    /// identifier, so the path passes through. Every other path is canonicalized
    /// through the registry against `anchor`, the form a filesystem asset is
    /// interned under; an anonymous identifier passes through there too (the
    /// registry keeps an `anon:` id as its own canonical form).
    ///
    /// `anchor` is the layer the path is anchored against: the root layer for the
    /// mute/unmute/query API, the arc's authoring layer for a reference/payload
    /// target. Keying the muted set on this makes two spellings of one layer
    /// collapse to a single entry and lets a not-yet-loaded target match the
    /// identifier it will be interned under. The result is a pure function of
    /// `(path, anchor)`, independent of which layers are currently loaded — so the
    /// same physical layer never keys under different strings by load order.
    fn canonical_muted_id(&self, path: &str, anchor: Option<&ResolvedPath>) -> String {
        if anchor.is_none() {
            return path.to_string();
        }
        self.registry.create_identifier(path, anchor)
    }
}

/// Depth-first pre-order walk of a sublayer subtree, composing each hop's offset
/// and pruning muted layers, the shared traversal behind every composed stack.
/// `children_of` supplies a layer's resolved sublayer edges — the shared
/// context-free [`LayerNode::children`], or a stack's expression-resolved edges —
/// so both build paths stay locked together. Runs on an explicit work stack so a
/// deep chain does not overflow the native stack; an `Exit` frame pops the layer
/// back out of the `ancestors` path after its subtree. A layer that sublayers
/// itself transitively is a cycle and is skipped; an off-path duplicate (a sublayer
/// diamond) is expanded again.
fn collect_sublayers<'a>(
    root: LayerId,
    effective: LayerOffset,
    members: &mut Vec<(LayerId, LayerOffset)>,
    ancestors: &mut HashSet<LayerId>,
    is_muted: impl Fn(LayerId) -> bool,
    children_of: impl Fn(LayerId) -> &'a [(LayerId, LayerOffset)],
) {
    enum Step {
        Enter(LayerId, LayerOffset),
        Exit(LayerId),
    }
    let mut work = vec![Step::Enter(root, effective)];
    while let Some(step) = work.pop() {
        let (id, effective) = match step {
            Step::Exit(id) => {
                ancestors.remove(&id);
                continue;
            }
            Step::Enter(id, effective) => (id, effective),
        };
        // A muted layer contributes nothing: skip it and its whole subtree.
        if is_muted(id) {
            continue;
        }
        members.push((id, effective));
        ancestors.insert(id);
        work.push(Step::Exit(id));
        for &(child, edge_offset) in children_of(id).iter().rev() {
            if !ancestors.contains(&child) {
                work.push(Step::Enter(child, effective.concatenate(&edge_offset)));
            }
        }
    }
}

#[cfg(test)]
impl LayerGraph {
    /// Mints the layer stack each demand resolves against, once its target
    /// layer is interned: `id_of` the demanded asset, then
    /// [`intern_external`](Self::intern_external) under the demand's context.
    /// The demand drain the test harnesses run in place of the stage's load
    /// barrier (whose own mint loop additionally re-checks contextual opens for
    /// targets that joined mid-pass); their fixtures load every layer up front,
    /// so a demand for a loaded target only ever needs interning, and one for
    /// a target no fixture holds is an asset that does not resolve. Returns
    /// whether anything changed, a new instance or a first recorded failure,
    /// so the caller re-runs the composition pass that recorded the demands.
    pub(crate) fn intern_demanded(&mut self, demands: &[Demand]) -> bool {
        let mut progressed = false;
        for demand in demands {
            match self.id_of(demand.asset_path.as_str()) {
                Some(root) => progressed |= self.intern_external(root, demand.context).1,
                None if !self.load_failed(&demand.asset_path) => {
                    self.mark_load_failed(&demand.asset_path, LoadFailure::Unresolved);
                    progressed = true;
                }
                None => {}
            }
        }
        progressed
    }

    /// Whether the registry still holds the stack's instance, for tests
    /// asserting reclamation and re-minting.
    pub(crate) fn stack_is_live(&self, id: LayerStackId) -> bool {
        self.stacks.member_set(id).is_some()
    }

    /// The number of stack instances the registry currently holds, for tests
    /// asserting reclamation keeps the registry bounded.
    pub(crate) fn live_stack_count(&self) -> usize {
        self.stacks.instance_count()
    }

    /// The number of per-stack sublayer diagnostic buckets, for tests
    /// asserting reclamation retires diagnostics with their stacks.
    pub(crate) fn diagnostic_bucket_count(&self) -> usize {
        self.sublayers.errors.len()
    }
}

/// The asset path a sublayer load diagnostic names and the identifier of the
/// layer that authored it, or `None` for any other diagnostic.
fn sublayer_source(diagnostic: &CompositionDiagnostic) -> Option<(&String, &String)> {
    match diagnostic {
        CompositionDiagnostic::UnresolvedSublayer {
            asset_path,
            introduced_by,
        }
        | CompositionDiagnostic::MalformedSublayer {
            asset_path,
            introduced_by,
            ..
        } => Some((asset_path, introduced_by)),
        _ => None,
    }
}
