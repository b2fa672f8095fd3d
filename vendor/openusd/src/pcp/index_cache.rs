//! Lazily-built cache of per-prim composition indices.
//!
//! The [`IndexCache`] is the primary interface between [`Stage`](crate::usd::Stage)
//! and the composition engine. It caches one [`PrimEntry`] per composed prim —
//! the [`PrimIndex`] plus the [`CompositionContext`] its children inherit — so
//! ancestor composition is never recomputed.
//!
//! Relocates (`layerRelocates`) are composed by the indexer as `ArcType::Relocate`
//! nodes; the cache applies each node's layer-stack relocates while folding the
//! child-name list (`compute_prim_child_names`), renaming or hiding relocated
//! sources and exposing targets in place.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem;

use crate::sdf;
use crate::sdf::schema::{ChildrenKey, FieldKey};
use crate::sdf::{LayerOffset, Path, SpecType, Value};
use crate::tf::Token;

use super::asset_resolve::{self, AssetSite};
use super::clip::{ClipCache, ClipQuery, ResolvedClipSet};
use super::clip_manifest;
use super::diagnostics::Diagnostics;
use super::index_store::{IndexStore, PrimRevision, ScopedInvalidation, ValueScope};
use super::instancing::PrototypeRegistry;
use super::layer_graph::{LayerGraph, LayerStackIdentifier};
use super::layer_stack::StackMarks;
use super::load_rules::LoadRules;
use super::population_mask::PopulationMask;
use super::prim_graph::ArcType;
use super::prim_index::{
    CompositionContext, Demand, NodeRuns, PrimIndex, PropertyTargetKind, SiteScope, TargetMemo,
    TargetMemoKey,
};
use super::prim_indexer::ExprVarDeps;
use super::prim_resolve::{
    self, Composed, Composing, Folded, InvalidTargetKind, Series, Supplied, composes_over_weaker, composition_rewrites,
};
use super::relocates::{apply_child_relocates, chain_through_relocates, effective_relocates};
use super::value_resolve::{
    self, ClipProbe, OpinionResolver, OpinionSite, Resolution, ResolveMode, ResolveNode, ResolveSourceKind,
    ResolvedSite, SampleField, SelectedSite, Step, TimedValue, ValueState, Withheld,
};
use super::{
    CompositionDiagnostic, IncompleteClipManifest, LayerId, MapFunction, QueryError, StackIdentity, VariantFallbackMap,
};

/// What [`IndexCache::edit_target_node_info`] reports for an arc node: the target
/// layer's identifier, the node's spec-to-scene mapping, and the value identity
/// of the layer stack it composes in, so an edit target resolves the same
/// (possibly contextual) stack wherever it is installed.
type EditTargetNodeInfo = (String, MapFunction, StackIdentity);

/// Lazily-built composition graph.
///
/// Caches a [`PrimEntry`] per composed prim. When a prim is queried for the
/// first time, its index is built using the parent's cached context (if
/// available). During depth-first traversal, parents are always composed before
/// children, so the context chain is always populated.
///
/// An optional [`VariantFallbackMap`] provides fallback selections for variant
/// sets that have no authored opinion. Authored selections always take priority;
/// fallbacks are tried in order, and a set with no applicable fallback stays
/// unselected.
///
/// Recoverable composition errors are retained in
/// [`Self::composition_errors`], while operational failures are returned to the
/// caller.
pub struct IndexCache {
    /// The per-prim composition index storage and its dependency map (see
    /// [`IndexStore`]). The instancing pass and the builder reach composed
    /// indices through [`Self::cached`] and the store's accessors.
    store: IndexStore,
    /// Variant fallback selections tried when no authored selection exists.
    variant_fallbacks: VariantFallbackMap,
    /// Per-path payload-inclusion policy (C++ `UsdStageLoadRules`), seeded at
    /// construction from the stage's
    /// [`InitialLoadSet`](crate::usd::InitialLoadSet) and mutated at runtime
    /// through [`Self::set_load_rules`]. `IndexCache::build_index` consults it
    /// per path, via [`Self::is_loaded`].
    pub(super) load_rules: LoadRules,
    /// The prims this stage exposes (C++ `UsdStagePopulationMask`), fixed when
    /// the stage opens. Index building never consults it — it gates queries
    /// through [`Self::mask_includes`] and keys instancing through
    /// [`Self::scoped_mask`], so a build stays a pure function of its
    /// `&`-inputs.
    pub(super) population_mask: PopulationMask,
    /// Value-clip resolution and its layer cache ([`ClipCache`], spec 12.3.4) —
    /// an independently-owned entity that the clip orchestration methods
    /// ([`resolve_clip_value`](Self::resolve_clip_value) and friends) delegate
    /// per-anchor clip work to once they have ensured the relevant indices.
    clip_cache: ClipCache,
    /// Shared-prototype registry for scene-graph instancing (spec 11.3.3),
    /// internal machinery driven by the instancing glue in
    /// [`super::instancing`] (a second `impl IndexCache`). Callers go through
    /// the cache's facade methods (`is_instance` / `prototype_of` /
    /// `is_prototype` / …), never this field. Affected entries are dropped by
    /// [`Self::invalidate_prototypes`] on a prim-level change, or through
    /// [`Self::invalidate_layers`] on a layer-stack edit.
    pub(super) prototypes: PrototypeRegistry,
    /// Memoized instance-proxy / prototype-descendant redirections (spec
    /// 11.3.3): a prim path mapped to the path that actually composes it
    /// ([`effective_path`](Self::effective_path) walks the namespace to find an
    /// enclosing instance, which is otherwise repeated on every descendant
    /// query). A non-redirected prim caches an identity entry, so the common
    /// non-instanced case skips the walk too. An entry holds only while the
    /// prototype registry that produced it is unchanged: it is cleared wholesale
    /// when prototypes are invalidated ([`Self::invalidate_prototypes`]), and the
    /// subtree under a freshly
    /// minted `/__Prototype_N` is dropped at registration (a synthetic
    /// descendant queried before the mint cached an identity that must now
    /// redirect into the prototype namespace).
    //
    // TODO(rayon): a per-prim parallel composition driver would share this map
    // read-mostly; the entries are write-once until invalidation, so a
    // concurrent reader needs only a shared snapshot rather than a lock on the
    // hot path. Keep population off the critical section when that lands.
    pub(super) redirected_prims: HashMap<Path, Path>,
    /// Memoized population eligibility (see [`Self::is_populated`]): whether the
    /// mask exposes a prim, it exists, and it and every ancestor are active.
    /// Defined recursively over the parent, so the memo turns a per-query
    /// O(depth) ancestor walk into O(1) amortized. Retired alongside
    /// `redirected_prims` by [`Self::invalidate_population`].
    pub(super) populated_prims: HashMap<Path, bool>,
    /// Advanced whenever the composed population may differ — see
    /// [`Self::invalidate_population`]. Distinct from
    /// [`revision`](Self::revision), which every edit batch advances: a
    /// value-only edit changes what an attribute resolves to but cannot change
    /// which prims exist, so it must not retire the memos above or a completed
    /// population walk.
    population_epoch: u64,
    /// Advanced once per change batch that authored a schema-identity opinion —
    /// see [`Self::type_opinion_epoch`].
    type_opinion_epoch: u64,
    /// One-shot errors from layer collection that the [`LayerGraph`](super::layer_graph::LayerGraph)
    /// cannot regenerate (e.g. `UnresolvedSublayer`). Set once at construction;
    /// never cleared, since nothing recomputes them.
    collection_diagnostics: Diagnostics,
    /// Transient diagnostics produced by on-demand target / property-stack
    /// queries (invalid external targets, inconsistent property types).
    ///
    /// Retired at the change-generation boundary
    /// ([`retire_query_errors`](Self::retire_query_errors)), so they
    /// never outlive the edit that fixed what they report; the next query
    /// re-derives whatever still holds. A repeatable query re-derives the same
    /// diagnostic on every call — the walk that produces it is the one the
    /// caller asked for — which the collection folds back into one report.
    query_diagnostics: Diagnostics,
    /// Paths whose [`ensure_index`](Self::ensure_index) call is still on the
    /// stack. Pre-caching an inherit/specialize target (and that target's own
    /// targets) re-enters `ensure_index`; a cyclic class hierarchy (e.g. two
    /// prims that inherit each other) would otherwise recurse forever before any
    /// of them is cached. Re-entry for an in-progress path
    /// returns early, so the cycle-closing arc simply finds no cached target and
    /// drops out of composition.
    in_progress: HashSet<Path>,
    /// [`Demand`]s a build raised for a target layer that is not yet loaded,
    /// returned up from the indexer (via `BuildOutput`) and accumulated here
    /// across the builds run in a pass. [`Stage::with_cache`](crate::usd::Stage)
    /// drains it, opens the layers, and recomposes. A plain `Vec` mutated through
    /// `&mut self` — pcp keeps no interior mutability. `pub(super)` so the
    /// instancing pass can detect a demand fired mid-redirect (see
    /// [`effective_path`](Self::effective_path)).
    pub(super) pending_loads: Vec<Demand>,
}

/// A prim's own contribution to its inherited status: the inputs C++
/// `Usd_PrimData::_ComposeAndCacheFlags` reads from the prim itself before
/// combining them with its parent's flags, which [`IndexCache::own_status`]
/// answers in one borrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnStatus {
    /// The prim's composed `active`, `true` when unauthored.
    pub active: bool,
    /// Whether the prim's specifier defines it (`def` or `class`).
    pub defining: bool,
    /// Whether the prim's specifier is `class`.
    pub class: bool,
    /// Whether the load rules include the prim's own payload: `true` for a
    /// prim without one, and under no rules at all.
    pub payload_included: bool,
}

/// The resolved source of an attribute's value at a time code, the cacheable
/// half of [`IndexCache::value_at`]. A cached view
/// ([`Stage::attribute_query`](crate::usd::Stage::attribute_query)) resolves
/// this once — paying the opinion walk and the one sample-map clone — then
/// replays it across many time codes.
pub(crate) enum AttributeValueSource {
    /// A time-independent value: a `default` opinion (local or fallback), or
    /// `None` when the attribute is unauthored, masked out, or blocked. The
    /// same value resolves at every time code.
    ///
    /// `Static(None)` is the default source — "this attribute resolves to
    /// nothing" — which is what a query on a prim the stage does not hold
    /// returns.
    Static(Option<Value>),
    /// A time-sampled source — the matched map, its node's layer offset, and
    /// where it was authored. The map is in the node's layer time frame and is
    /// replayed per query through
    /// [`sdf::LayerOffset::sample_in_stage_time`], which both selects the
    /// samples and returns the value in stage time.
    ///
    /// The site travels with the map so a replayed read resolves an `asset`
    /// value exactly as a direct one does. Only the interpolated value is
    /// resolved, never the whole map: an expression authored at one time must
    /// not be reported by a read that selected another
    /// ([`IndexCache::resolve_asset_values`]).
    ///
    /// The site's graph handles stay valid for as long as this source does. A
    /// stale handle would panic rather than mislead, but stack reclamation
    /// retires only a stack no cached entry owns, and a live entry owns every
    /// stack in its arena — so the handles are valid exactly while the prim's
    /// [`PrimRevision`] stamp still validates, which is what gates the replay.
    TimeSamples {
        samples: sdf::TimeSampleMap,
        offset: LayerOffset,
        site: AssetSite,
    },
    /// The value is resolved per time code through [`IndexCache::value_at`]
    /// rather than snapshotted: value clips select a different clip layer per
    /// time (spec 12.3.4), and a composing value can draw on a source that
    /// does, so neither can be replayed from one answer.
    PerTime,
}

impl Default for AttributeValueSource {
    fn default() -> Self {
        Self::Static(None)
    }
}

/// An [`AttributeValueSource`] with the stamp that says how long replaying it
/// stays correct — what [`IndexCache::resolve_value_source`] hands back.
///
/// A cached view (`usd::AttributeQuery`) keeps all four together and replays the
/// source only while the stamp still validates; resolving and stamping happen in
/// one borrow, so no edit can land between the answer and the token that guards
/// it.
///
/// The default — no value, no revision — is what a query on a prim the stage
/// does not hold resolves to (`Stage::masked`): such a prim composes no index,
/// so there is nothing to validate against and nothing to memoize.
#[derive(Default)]
pub(crate) struct StampedValueSource {
    /// The composed prim the source resolved from. For an instance proxy this
    /// is the prototype prim that answered, not the queried path.
    pub prim: Path,
    /// [`prim`](Self::prim)'s revision, or `None` when no index is cached
    /// there. A `None` stamp can never validate, so its source must not be
    /// memoized.
    pub revision: Option<PrimRevision>,
    /// The population epoch to re-check, set only when the answer came from a
    /// prim other than the queried one — the redirection that reached it is
    /// itself memoized per epoch.
    pub redirect_epoch: Option<u64>,
    /// The resolved source.
    pub source: AttributeValueSource,
}

/// Collapses the spec sentinels for "no value" ([`Value::ValueBlock`] and
/// [`Value::None`]) to `None`, passing any real value through as `Some`. An
/// authored block stops fall-through to weaker sources yet presents as absent.
pub(super) fn block_to_none(value: Value) -> Option<Value> {
    match value {
        Value::ValueBlock | Value::None => None,
        other => Some(other),
    }
}

/// The property-kind rule a spec stack applies: the strongest spec's kind
/// (attribute vs relationship) defines the property, and a weaker spec of the
/// other kind is inconsistent (C++ `PcpErrorInconsistentPropertyType`) — it is
/// dropped from the stack and reported.
///
/// Driven by both walks that build a property stack, so the rule is stated once.
#[derive(Default)]
struct DefiningKind {
    defining: Option<(SpecType, String, Path)>,
}

impl DefiningKind {
    /// Offers one spec to the rule. `None` admits it to the stack; `Some`
    /// rejects it and carries the conflict to report.
    fn admit(
        &mut self,
        spec_type: SpecType,
        layer: &str,
        path: &Path,
        prop_path: &Path,
        prim_path: &Path,
    ) -> Option<CompositionDiagnostic> {
        match &self.defining {
            None => {
                self.defining = Some((spec_type, layer.to_string(), path.clone()));
                None
            }
            Some((def_type, def_layer, def_path)) if *def_type != spec_type => {
                Some(CompositionDiagnostic::InconsistentPropertyType {
                    property: prop_path.clone(),
                    defining_layer: def_layer.clone(),
                    defining_path: def_path.clone(),
                    defining_is_attribute: *def_type == SpecType::Attribute,
                    conflicting_layer: layer.to_string(),
                    conflicting_path: path.clone(),
                    conflicting_is_attribute: spec_type == SpecType::Attribute,
                    composing: prim_path.clone(),
                })
            }
            Some(_) => None,
        }
    }
}

/// The clip tier of one value-resolution walk: the sets that can source the
/// property, and the cache fields consulting them needs while the site walk
/// holds the store.
struct ClipTier<'a> {
    /// The anchor prims carrying clip sets — the property's own prim and each
    /// ancestor, nearest first, so a nearer set overrides one on an ancestor
    /// (spec 12.3.4.5).
    ///
    /// Composed on the first site that consults clips rather than ahead of the
    /// walk, so a read a stronger opinion answers raises none of the diagnostics
    /// composing them would. Once that site is reached every clip-bearing
    /// ancestor composes, since a nearer set overriding a further one is decided
    /// per property rather than per anchor.
    anchors: Option<Vec<(Path, Vec<ResolvedClipSet>)>>,
    /// The `(anchor, set)` positions already offered to the resolver.
    ///
    /// One layer stack can reach the walk through several nodes — a variant
    /// branch beside its own root, an arc grafted twice — and a set introduced
    /// in that stack applies at each of them. A set is one source and answers
    /// the same wherever it is reached, so it is consulted at the strongest site
    /// it matches and not again.
    offered: HashSet<(usize, usize)>,
    store: &'a IndexStore,
    cache: &'a mut ClipCache,
    query_diagnostics: &'a mut Diagnostics,
}

impl<'a> ClipTier<'a> {
    fn new(store: &'a IndexStore, cache: &'a mut ClipCache, query_diagnostics: &'a mut Diagnostics) -> Self {
        Self {
            anchors: None,
            offered: HashSet::new(),
            store,
            cache,
            query_diagnostics,
        }
    }

    /// Offers every clip set introduced at `site` to `resolver`, nearest anchor
    /// first, until one answers.
    fn visit<R: OpinionResolver>(
        &mut self,
        graph: &LayerGraph,
        prim: &Path,
        suffix: &str,
        site: &OpinionSite<'_>,
        resolver: &mut R,
    ) -> Result<Step, QueryError> {
        self.compose_anchors(graph, prim)?;
        let Self {
            anchors,
            offered,
            cache,
            query_diagnostics,
            ..
        } = self;
        for (anchor_index, (anchor, sets)) in anchors.as_deref().unwrap_or_default().iter().enumerate() {
            for (set_index, set) in sets.iter().enumerate() {
                if !set.source.applies_at(site.node, site.layer) || !offered.insert((anchor_index, set_index)) {
                    continue;
                }
                // Record what the set reads before it is consulted, so a clip
                // that fails to open — or names no layer yet — is still a
                // dependency the cache can be invalidated through.
                cache.register_set_sources(graph, anchor, set);
                let step = {
                    let mut probe = ClipProbe {
                        cache,
                        graph,
                        diagnostics: query_diagnostics,
                        set,
                        query: ClipQuery {
                            anchor,
                            attr_prim: prim,
                            suffix,
                        },
                    };
                    resolver.on_clips(&mut probe, site)
                };
                // A set that answered has spoken for this site, so no other
                // set introduced here is consulted for the same value.
                let step = step?;
                if step.leaves_site() {
                    return Ok(step);
                }
            }
        }
        Ok(Step::Continue)
    }

    /// Composes the anchors on the first call, leaving them in place after.
    ///
    /// Only a prim that authors clip metadata can carry a set, and the presence
    /// flag is monotone down the namespace, so an ancestor that reports none
    /// ends the walk: nothing above it can carry one either.
    fn compose_anchors(&mut self, graph: &LayerGraph, prim: &Path) -> Result<(), QueryError> {
        if self.anchors.is_some() {
            return Ok(());
        }
        let mut anchors = Vec::new();
        for anchor in prim.ancestors_below_root() {
            if !self.store.context_at(&anchor).is_some_and(|ctx| ctx.may_have_clips) {
                break;
            }
            let index = self.store.cached(&anchor);
            if !index.authors_clips() {
                continue;
            }
            let mut errors = Diagnostics::default();
            let sets = index.resolve_clip_sets(graph, &mut errors)?;
            self.query_diagnostics.extend(errors);
            if !sets.is_empty() {
                anchors.push((anchor, sets));
            }
        }
        self.anchors = Some(anchors);
        Ok(())
    }
}

/// Folds a source's value into a composition a walk is reading the *shape* of,
/// and reports what it did to it.
///
/// The value is owned only where the answer depends on keeping it: a value
/// nothing weaker can change closes the composition, and a walk that asks only
/// how far to read never copies one — which is every source of an ordinary
/// dense value. A walk that wants the composed value itself folds it in
/// through [`Composing::fold`] instead.
fn probe_source(composing: &mut Composing, value: Cow<'_, Value>, site: &OpinionSite<'_>) -> Folded {
    if composing.is_empty() && !composes_over_weaker(&value) {
        return Folded::Closed;
    }
    composing.fold(value.into_owned(), &site.query_path, &site.node.map_to_root)
}

/// Resolves an attribute's value (the resolver behind
/// [`IndexCache::value_at`]).
///
/// Each tier it reaches folds into one [`Composing`] value, so a source whose
/// value can still take a weaker opinion does not end the walk: a path
/// expression's `%_` draws on whatever answers next, be that a weaker layer's
/// `default`, its samples, or a value clip. C++ composes the same way, walking
/// the chain of resolve infos it built in one pass.
struct ValueAtResolver<'a> {
    /// The stage time to resolve at, or `None` for the default time — which
    /// reaches neither of the time-varying tiers, since the walk skips them.
    time: Option<f64>,
    interp: &'a dyn Fn(&sdf::TimeSampleMap, f64) -> Option<Value>,
    composing: Composing,
    /// The site the strongest source came from, which anchors an `asset` in the
    /// composed value. `None` where it holds no asset path, and where a value
    /// clip answered first, since the clip tier anchors its own values.
    anchor: Option<SelectedSite>,
    /// Whether a time-varying source answered without a value. It decides
    /// the answer only where nothing stronger composed one.
    withheld: bool,
    /// The kinds a typed read accepts. At the default time an initial
    /// `default` of any other kind is passed over. `None` for an untyped read.
    accepts: Option<fn(sdf::ValueKind) -> bool>,
}

impl ValueAtResolver<'_> {
    /// Folds a source's value in and reports how far the walk goes on.
    ///
    /// `anchors` says whether the site can resolve an `asset` in the value.
    /// Only the strongest source is asked: a weaker one composes into a value
    /// whose provenance is already settled.
    fn fold(&mut self, value: Value, site: &OpinionSite<'_>, anchors: bool) -> Step {
        if self.composing.is_empty() {
            // Building the site copies two strings, so only a value that turns
            // out to hold asset paths asks for one.
            self.anchor = (anchors && value.is_asset_valued()).then(|| site.select());
        }
        self.composing
            .fold(value, &site.query_path, &site.node.map_to_root)
            .step()
    }
}

impl OpinionResolver for ValueAtResolver<'_> {
    fn on_time_samples(&mut self, samples: &sdf::TimeSampleMap, site: &OpinionSite<'_>) -> Step {
        let Some(time) = self.time else {
            return Step::Continue;
        };
        let Some(value) = site
            .offset
            .sample_in_stage_time(samples, time, self.interp)
            .and_then(block_to_none)
        else {
            // The map answers the walk by being here, but supplies no value at
            // this time, so nothing weaker is read either.
            self.withheld = true;
            return Step::Stop;
        };
        self.fold(value, site, true)
    }

    fn on_default(&mut self, value: Cow<'_, Value>, site: &OpinionSite<'_>) -> Step {
        // At the default time a typed read passes over an opinion of a kind it
        // does not accept and reads on, as C++ `UsdAttribute::Get<T>` does. Only
        // the initial value is chosen this way. A value that composes is kept
        // whatever its kind, and once composition has started every weaker
        // input goes to the composer, which may turn it into the composed kind.
        if self.time.is_none()
            && self.composing.is_empty()
            && let Some(accepts) = self.accepts
            && !accepts(sdf::ValueKind::from(value.as_ref()))
            && !composes_over_weaker(&value)
        {
            return Step::Continue;
        }
        let mut value = value.into_owned();
        // The opinion is authored in the layer's own time frame, so a time code
        // in it reaches the stage through that layer's offset (spec 12.3.2.1).
        site.offset.apply_to_value(&mut value);
        self.fold(value, site, true)
    }

    fn on_withheld(&mut self, kind: Withheld, _site: &OpinionSite<'_>) -> Step {
        match kind {
            // Only samples were withheld: resolution carries on to this site's
            // own `default` and then to weaker sources.
            Withheld::TimeSamplesFieldBlock => Step::Continue,
            // A blocked `default` withholds the value from everything weaker,
            // leaving whatever stronger sources composed so far.
            Withheld::DefaultBlock => Step::Stop,
        }
    }

    fn on_clips(&mut self, probe: &mut ClipProbe<'_>, site: &OpinionSite<'_>) -> Result<Step, QueryError> {
        let Some(time) = self.time else {
            return Ok(Step::Continue);
        };
        let answer = probe.answer_at(time, self.interp)?;
        if matches!(answer.value_state(), ValueState::Absent) {
            return Ok(Step::Continue);
        }
        // A set that owns the property answers even where it supplies no value,
        // so nothing weaker contributes.
        let Some(value) = answer.into_value().and_then(block_to_none) else {
            self.withheld = true;
            return Ok(Step::Stop);
        };
        // The clip tier resolves the assets in what it hands back, so the
        // composed value needs no anchor of its own from here.
        Ok(self.fold(value, site, false))
    }
}

/// Resolves the cacheable value source for an attribute (the resolver behind
/// [`IndexCache::resolve_value_source`]).
struct SourceResolver<'a> {
    graph: &'a LayerGraph,
    source: Option<AttributeValueSource>,
    /// The site the strongest `default` was found at, whose composed value the
    /// cached source holds. `None` when samples or clips won, or when nothing
    /// was authored.
    default_site: Option<SelectedSite>,
    /// What the `default` opinions found so far compose to, which decides
    /// whether the walk reads on — an opinion the composition ignores does not
    /// end it, and the sources it goes on to draw on decide the answer.
    composing: Composing,
}

impl SourceResolver<'_> {
    /// Records the site a `default` answered at, which is the strongest one:
    /// a weaker source is reached only because that value composes, and the
    /// composition is read from where it began.
    fn select(&mut self, site: &OpinionSite<'_>) {
        self.default_site.get_or_insert_with(|| site.select());
    }
}

impl OpinionResolver for SourceResolver<'_> {
    /// TODO(perf): the asset site copies two strings for every sampled
    /// attribute, where the per-time read builds one only for a value that turns
    /// out to hold asset paths. The samples are not yet interpolated here, so
    /// the same guard does not apply; carrying the site's `layer` and stack id
    /// instead and resolving them when a replayed value first needs them would
    /// pay the copies only where they are read.
    fn on_time_samples(&mut self, samples: &sdf::TimeSampleMap, site: &OpinionSite<'_>) -> Step {
        // A map is replayed from one snapshot only where the samples are what
        // resolution reports: a value composition rewrites — one that draws on
        // weaker sources, or whose paths reach the stage through this node — is
        // resolved per time instead, as is anything a stronger composing value
        // draws on. Scanning the map costs what cloning it does, which this is
        // about to pay anyway.
        if !self.composing.is_empty() || samples.iter().any(|(_, value)| composition_rewrites(value)) {
            self.source = Some(AttributeValueSource::PerTime);
            return Step::Stop;
        }
        self.source = Some(AttributeValueSource::TimeSamples {
            samples: samples.clone(),
            offset: site.offset,
            site: site.asset_site(self.graph),
        });
        Step::Stop
    }

    /// A `default` answers with the value composed from the site it won at, so
    /// only that site is recorded and the value is read from it below.
    ///
    /// A composing one reads on: what it draws on decides whether the composed
    /// value can be snapshotted at all, and only a weaker source that varies
    /// with time rules that out.
    fn on_default(&mut self, value: Cow<'_, Value>, site: &OpinionSite<'_>) -> Step {
        self.select(site);
        probe_source(&mut self.composing, value, site).step()
    }

    fn on_withheld(&mut self, kind: Withheld, site: &OpinionSite<'_>) -> Step {
        match matches!(kind, Withheld::DefaultBlock) {
            true => {
                self.select(site);
                Step::Stop
            }
            false => Step::Continue,
        }
    }

    fn on_clips(&mut self, probe: &mut ClipProbe<'_>, _site: &OpinionSite<'_>) -> Result<Step, QueryError> {
        // Participation alone decides: clip values are time-dependent, so the
        // query replays them through `value_at` per time code — whether the set
        // answers or a stronger composing `default` draws on it.
        match probe.introspection()? {
            Some(_) => {
                self.source = Some(AttributeValueSource::PerTime);
                Ok(Step::Stop)
            }
            None => Ok(Step::Continue),
        }
    }
}

/// Resolves an attribute's composed sample times and whether its winning source
/// can vary over time (the resolver behind [`IndexCache::time_sample_times`] and
/// [`IndexCache::time_sample_summary`]).
///
/// A composed value is a function of time, so this asks its question of one: a
/// source can block at one time, compose at another and be passed over at a
/// third, and only a per-time series says which. Every source folds into
/// [`SampleSeries`], and the times it answers with are that series'.
struct SampleTimesResolver {
    /// What the sources so far compose to over time. Its finite times are the
    /// answer, and whether any of them is still open decides how far the walk
    /// reads.
    series: Series<Composed>,
    /// Whether a source has answered, which the empty series cannot say: a
    /// participating clip set with no discrete times contributes no entry.
    answered: bool,
    /// The winning source's sample map, retimed into stage time. Only filled
    /// for [`Want::Map`], and only when a `timeSamples` opinion won on its own:
    /// a clip set answers with a schedule rather than a map, and a composed
    /// value is held by no authored map at all (see
    /// [`IndexCache::time_samples`]).
    map: Option<sdf::TimeSampleMap>,
    /// Whether the winning source is a clip set whose schedule alone can vary
    /// the value.
    clip_may_vary: bool,
    /// The sample count, where it is read without the times themselves.
    count: Option<usize>,
    /// How much of the winning source the caller reads.
    want: Want,
    /// Whether the walk follows a composing value to the sources it draws on.
    /// A map query does not: those samples belong to no one authored map.
    chains: bool,
}

/// How much of the winning `timeSamples` source a sample query needs, so the
/// walk retimes and clones only what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// The sample count alone. An offset maps times one-for-one, so nothing has
    /// to be retimed to answer it.
    Count,
    /// The retimed sample times.
    Times,
    /// The retimed sample map, values included.
    Map,
}

impl SampleTimesResolver {
    /// The times the composed value can change at, ascending.
    fn times(&self) -> Vec<f64> {
        self.series.times().collect()
    }

    /// How many times it can change at.
    fn count(&self) -> usize {
        self.count.unwrap_or_else(|| self.series.times().count())
    }

    /// Folds a source's series in and reports how far the walk reads on.
    fn fold(&mut self, source: Series<Supplied>) -> Step {
        self.series.fold(&source);
        match self.chains && self.series.is_open() {
            true => Step::NextSite,
            false => Step::Stop,
        }
    }
}

impl OpinionResolver for SampleTimesResolver {
    fn on_time_samples(&mut self, samples: &sdf::TimeSampleMap, site: &OpinionSite<'_>) -> Step {
        // A map supplying no value is not a value source, so it contributes no
        // times — the same judgement the value read and the resolve info make of
        // it. It still answers, blocking weaker sources.
        if !value_resolve::samples_supply_any_value(samples) {
            self.answered = true;
            return Step::Stop;
        }
        // A map that composes nothing draws on nothing weaker, so with nothing
        // composed before it its samples are the whole answer: counting them
        // needs no series, and the map is one an authored spec holds. Whether a
        // *stronger* composition would read these values is a different
        // question, and not this one.
        let composes = samples.iter().any(|(_, value)| composes_over_weaker(value));
        if !composes && self.series.is_empty() {
            if self.want == Want::Count {
                self.answered = true;
                self.count = Some(samples.len());
                return Step::Stop;
            }
            if self.want == Want::Map {
                let mut map = samples.clone();
                site.offset.apply_to_samples(&mut map);
                self.map = Some(map);
            }
        }
        self.answered = true;
        let root = |value| prim_resolve::rooted_at(value, site);
        let source = Series::sampled(
            samples
                .iter()
                .map(|(time, value)| (site.offset.apply(*time), Supplied::classify(value, &root))),
        );
        self.fold(source)
    }

    /// A `default` holds at every time, so it contributes no sample times of
    /// its own — but a composing one draws on sources that do.
    fn on_default(&mut self, value: Cow<'_, Value>, site: &OpinionSite<'_>) -> Step {
        let root = |value| prim_resolve::rooted_at(value, site);
        self.fold(Series::held(Supplied::classify(&value, &root)))
    }

    fn on_clips(&mut self, probe: &mut ClipProbe<'_>, _site: &OpinionSite<'_>) -> Result<Step, QueryError> {
        // TODO(perf): the count-only consumers materialize every clip's stage
        // times to read the length. `ClipSet::stage_sample_times` builds the
        // vector; a count-only form over the same per-clip times would answer
        // `num_time_samples` and `value_might_be_time_varying` without it.
        let Some(clips) = probe.introspection()? else {
            return Ok(Step::Continue);
        };
        self.answered = true;
        self.clip_may_vary = clips.may_vary;
        // A clip set supplies a value per stage time like any other source, read
        // from the samples its times were read from.
        Ok(self.fold(Series::sampled(clips.supplied)))
    }
}

/// Collects where value resolution found its answer (the resolver behind
/// [`IndexCache::resolve_info`]).
struct InfoResolver<'a> {
    graph: &'a LayerGraph,
    stage: &'a LayerStackIdentifier,
    /// The stage time the query names, if any. A numeric query evaluates the
    /// samples that answer *there*; without one the map is judged as a whole.
    time: Option<f64>,
    /// The stage's interpolation policy, so a numeric query decides which
    /// samples answer exactly as the value read does.
    interp: &'a dyn Fn(&sdf::TimeSampleMap, f64) -> Option<Value>,
    resolution: Resolution,
    /// Whether the query asks what composed into the value. A proximal one does
    /// not — it answers which source would answer — so it records no link, as
    /// C++'s nullary `GetResolveInfo` builds no chain. It still reads past a
    /// composing source, to learn whether one it draws on varies with time.
    chains: bool,
    /// What the sources found so far compose to, which decides whether the walk
    /// reads on: only a value a weaker source could still change has a chain.
    composing: Composing,
}

impl InfoResolver<'_> {
    /// Records a source that answered and reports how far the walk goes on.
    ///
    /// The strongest source is the one reported. A weaker one is reached only
    /// because the value composes, so it becomes a link — where it composed in
    /// rather than merely answered — and, if it varies with time, says that the
    /// composed value varies with it.
    ///
    /// The spec is the caller's, since a value clip answers from a layer the
    /// site it was reached at does not name.
    fn answer(
        &mut self,
        kind: ResolveSourceKind,
        site: &OpinionSite<'_>,
        spec: Option<SpecSiteRecord>,
        value: Option<Cow<'_, Value>>,
    ) -> Step {
        if matches!(self.resolution.source, ResolveSourceKind::None) {
            self.resolution.source = kind;
            self.resolution.node = Some(ResolveNode::capture(self.graph, site.node, self.stage));
            self.resolution.spec = spec;
            self.resolution.value = ValueState::Present;
            return self.compose(value, site).step();
        }
        // Only a composing value reads this far, so a source that varies with
        // time varies the composed value with it (C++ records the same of a
        // query that names no time, as
        // `_defaultCanComposeOverWeakerTimeVaryingSources`).
        self.resolution.varies |= matches!(kind, ResolveSourceKind::TimeSamples | ResolveSourceKind::ValueClips);
        let folded = self.compose(value, site);
        if folded.composed() && self.chains {
            let node = ResolveNode::capture(self.graph, site.node, self.stage);
            self.resolution.weaker.push(ResolvedSite { kind, node, spec });
        }
        folded.step()
    }

    /// Folds a source's value in, so the walk knows whether anything weaker
    /// still composes into it.
    ///
    /// The value is owned only where it is kept: a source that closes the
    /// composition — which is every source of an ordinary dense value — ends
    /// the walk without being copied.
    fn compose(&mut self, value: Option<Cow<'_, Value>>, site: &OpinionSite<'_>) -> Folded {
        match value {
            Some(value) => probe_source(&mut self.composing, value, site),
            None => Folded::Blocked,
        }
    }
}

impl OpinionResolver for InfoResolver<'_> {
    fn on_time_samples(&mut self, samples: &sdf::TimeSampleMap, site: &OpinionSite<'_>) -> Step {
        self.resolution.authored = true;
        // The sample that answers is read once, and interpolated exactly as the
        // value read interpolates it, so an introspection query and the read
        // cannot disagree about whether the map answered. A proximal query
        // names no time to read a sample at, and judges the map as a whole.
        let value = self
            .time
            .map(|time| site.offset.sample_in_stage_time(samples, time, self.interp));
        let supplies = match &value {
            Some(value) => value.is_some(),
            None => value_resolve::samples_supply_any_value(samples),
        };
        // A map that supplies no value here is not a value source: the read
        // falls through to the schema tier, and reporting `TimeSamples` would
        // disagree with it. It still answers the walk, blocking weaker sources.
        if !supplies {
            // Only the source that answers is blocked; a stronger one this
            // would have composed into keeps the value it has.
            if matches!(self.resolution.source, ResolveSourceKind::None) {
                self.resolution.value = ValueState::Blocked;
            }
            return Step::Stop;
        }
        let spec = Some(site.spec_record(self.graph));
        self.answer(
            ResolveSourceKind::TimeSamples,
            site,
            spec,
            value.flatten().map(Cow::Owned),
        )
    }

    fn on_default(&mut self, value: Cow<'_, Value>, site: &OpinionSite<'_>) -> Step {
        self.resolution.authored = true;
        let spec = Some(site.spec_record(self.graph));
        self.answer(ResolveSourceKind::Default, site, spec, Some(value))
    }

    fn on_withheld(&mut self, kind: Withheld, _site: &OpinionSite<'_>) -> Step {
        // A blocked `default` answers, withholding the value: resolution reverts
        // to whatever follows the authored tiers. A blocked `timeSamples` field
        // withholds samples alone, so the walk carries on and this site's own
        // `default`, or a weaker opinion, may still answer. Either way the
        // opinion is on record.
        self.resolution.authored = true;
        match kind {
            Withheld::DefaultBlock => {
                // Only the source that answers is blocked; a stronger one this
                // composed into keeps the value it has.
                if matches!(self.resolution.source, ResolveSourceKind::None) {
                    self.resolution.value = ValueState::Blocked;
                }
                Step::Stop
            }
            Withheld::TimeSamplesFieldBlock => Step::Continue,
        }
    }

    /// The samples are authored even though a default-time walk resolves from
    /// `default` alone, so the opinion is recorded without becoming the source.
    fn on_unresolved_samples(&mut self, _site: &OpinionSite<'_>) {
        self.resolution.authored = true;
    }

    /// Whether any layer authored an opinion is part of what a resolve info
    /// answers, so this walk reads the samples it resolves past.
    fn wants_unresolved_samples(&self) -> bool {
        true
    }

    fn on_clips(&mut self, probe: &mut ClipProbe<'_>, site: &OpinionSite<'_>) -> Result<Step, QueryError> {
        // A set that sources the property does not necessarily supply a value:
        // at a numeric time it may be inactive or blocked, and without one it
        // may carry nothing for the property anywhere. Both forms decide that
        // the way the value read does.
        let answer = match self.time {
            Some(time) => Some(probe.answer_at(time, self.interp)?),
            None => None,
        };
        let state = match &answer {
            Some(answer) => answer.value_state(),
            None => probe.answer_untimed()?,
        };
        if matches!(state, ValueState::Absent) {
            return Ok(Step::Continue);
        }
        // The set answers here. It becomes the reported source only where it
        // supplied a value: a clip that owns the property but blocks it there
        // sends the read to the schema tier, and naming the clip would disagree
        // with that — C++ reports the clip either way.
        self.resolution.authored = true;
        if matches!(self.resolution.source, ResolveSourceKind::None) {
            self.resolution.value = state;
        }
        if !matches!(state, ValueState::Present) {
            return Ok(Step::Stop);
        }
        // The site the set was reached at authors the `clips` metadata, not
        // the value: the spec to report is the one a property stack lists,
        // which is the clip layer itself. An untimed query selects no clip,
        // so it names none.
        // TODO(perf): this re-derives what the answer already knew — the
        // active entry, the clip path and the manifest — and for a
        // synthesized manifest that is not yet complete it regenerates one,
        // reopening every clip asset. A probe form returning the answer and
        // its site together would fold both passes.
        let spec = match self.time {
            Some(time) => probe.spec_record_at(time, site.offset)?,
            None => None,
        };
        let value = answer.and_then(|answer| answer.into_value()).map(Cow::Owned);
        Ok(self.answer(ResolveSourceKind::ValueClips, site, spec, value))
    }
}

/// Collects the spec sites contributing to a property, strongest first (the
/// resolver behind [`IndexCache::property_stack`]).
///
/// Unlike the value resolvers this never stops the walk and never claims a
/// site: every contributing spec is wanted, which is also why a site that
/// authors a value does not suppress a clip at the same anchor.
struct StackResolver<'a> {
    graph: &'a LayerGraph,
    prop_path: &'a Path,
    prim_path: &'a Path,
    /// The stage time the stack was asked for, when it named one. Value clips
    /// contribute nothing at the default time, so only a numeric query lists
    /// them.
    time: Option<f64>,
    sites: Vec<SpecSiteRecord>,
    conflicts: Diagnostics,
    defining: DefiningKind,
}

/// One spec contributing to a composed property or prim, resolved out of the
/// graph's arena handles (C++ `SdfPropertySpecHandle` / `SdfPrimSpecHandle`
/// paired with its cumulative layer offset).
///
/// The resolved counterpart of the internal `SpecSite`, which holds handles
/// only meaningful inside the owning graph. C++ splits the offset-bearing stack
/// queries from the plain ones for compatibility; a site here always carries
/// its offset, so there is one spelling to keep in step.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecSiteRecord {
    /// Canonical identifier of the layer holding the spec.
    pub layer: String,
    /// The spec's path within that layer, which under a reference or variant
    /// differs from the composed stage path.
    pub path: Path,
    /// The cumulative offset from the stage's root layer to this one, composing
    /// the arc's offset with the layer's own sublayer offset.
    pub offset: LayerOffset,
}

impl SpecSiteRecord {
    /// The record for a spec `graph` holds, naming its layer as every query
    /// that reports a site names it.
    pub(crate) fn in_graph(graph: &LayerGraph, layer: LayerId, path: Path, offset: LayerOffset) -> Self {
        Self {
            layer: graph.identifier(layer).to_string(),
            path,
            offset,
        }
    }
}

impl OpinionResolver for StackResolver<'_> {
    fn on_site(&mut self, site: &OpinionSite<'_>) -> Step {
        let Some(spec_type) = self.graph.layer(site.layer).data().spec_type(&site.query_path) else {
            return Step::Continue;
        };
        let layer = self.graph.identifier(site.layer);
        match self
            .defining
            .admit(spec_type, layer, &site.query_path, self.prop_path, self.prim_path)
        {
            None => self.sites.push(site.spec_record(self.graph)),
            Some(conflict) => self.conflicts.report(conflict),
        }
        Step::Continue
    }

    /// Every contributing spec is wanted, so a withheld value neither answers
    /// nor truncates the stack.
    fn on_withheld(&mut self, _kind: Withheld, _site: &OpinionSite<'_>) -> Step {
        Step::Continue
    }

    /// A site that authors a spec may also introduce a clip set, and the stack
    /// wants both.
    fn claims_sites(&self) -> bool {
        false
    }

    /// A clip set that sources the property at the queried time contributes the
    /// clip layer it sources it from, on top of whatever spec this site authors.
    /// The offset is the site's own, since a set is only reached at the layer
    /// that introduced it (C++ reports `sourceLayer`'s offset for the same
    /// reason).
    fn on_clips(&mut self, probe: &mut ClipProbe<'_>, site: &OpinionSite<'_>) -> Result<Step, QueryError> {
        let Some(time) = self.time else {
            return Ok(Step::Continue);
        };
        if let Some(record) = probe.spec_record_at(time, site.offset)? {
            self.sites.push(record);
        }
        Ok(Step::Continue)
    }
}

#[cfg(test)]
impl IndexCache {
    /// Every cached prim's stamp, for a test asserting how far an edit restaled.
    pub(super) fn prim_revisions(&self) -> Vec<(Path, PrimRevision)> {
        self.store.revisions()
    }
}

impl IndexCache {
    /// Creates a new composition cache. The layer data lives in a separate
    /// [`LayerGraph`] owned by the [`Stage`](crate::usd::Stage) and passed to each
    /// query. `collection_diagnostics` are the one-shot errors from layer collection
    /// the graph cannot regenerate (e.g. `UnresolvedSublayer`); per-prim build
    /// errors join them as indices are composed. The regenerable layer-graph
    /// diagnostics (sublayer cycles, invalid relocates) live on the
    /// [`LayerGraph`] and are read through [`LayerGraph::errors`].
    pub(crate) fn new(
        variant_fallbacks: VariantFallbackMap,
        load_rules: LoadRules,
        population_mask: PopulationMask,
        collection_diagnostics: Diagnostics,
    ) -> Self {
        Self {
            store: IndexStore::default(),
            variant_fallbacks,
            load_rules,
            population_mask,
            clip_cache: ClipCache::default(),
            prototypes: PrototypeRegistry::default(),
            redirected_prims: HashMap::new(),
            populated_prims: HashMap::new(),
            population_epoch: 0,
            type_opinion_epoch: 0,
            collection_diagnostics,
            query_diagnostics: Diagnostics::default(),
            in_progress: HashSet::new(),
            pending_loads: Vec::new(),
        }
    }

    /// Hands the [`Demand`]s the builds run so far raised (for target layers not
    /// yet loaded) to `buf`, taking `buf`'s storage in exchange. The stage's
    /// query loop passes a buffer it reuses across passes, so the two queues
    /// ping-pong without reallocating: it opens the returned layers and
    /// recomposes until a pass demands nothing.
    pub(crate) fn swap_pending_loads(&mut self, buf: &mut Vec<Demand>) {
        mem::swap(&mut self.pending_loads, buf);
    }

    /// Whether work done since the demand queue held `pending_before`
    /// entries is waiting on a layer: it demanded one that is not loaded. A
    /// demand that only asks the barrier to look again for a target already
    /// reported unresolved leaves the work complete.
    pub(super) fn awaits_load(&self, pending_before: usize) -> bool {
        self.pending_loads[pending_before..]
            .iter()
            .any(|demand| !demand.recheck)
    }

    /// Marks every layer stack the cache holds live for a registry sweep
    /// (`LayerGraph::sweep_stacks`): each cached prim index's nodes and the
    /// contexts of pending arc-load demands, whose stacks the load barrier is
    /// about to read.
    pub(crate) fn mark_live_stacks(&self, marks: &mut StackMarks) {
        self.store.mark_live_stacks(marks);
        for demand in &self.pending_loads {
            marks.mark(demand.context);
        }
    }

    /// Whether some stack lost its last cache owner since the last sweep —
    /// the signal that schedules reclamation at the stage's next edit seam.
    /// Unthresholded: a single deletion, mute, or unload that orphans a stack
    /// must retire it (and its diagnostics) promptly.
    pub(crate) fn ownership_lost(&self) -> bool {
        self.store.ownership_lost()
    }

    /// Clears the ownership-loss flag after a sweep consumed it.
    pub(crate) fn reset_ownership_lost(&mut self) {
        self.store.reset_ownership_lost();
    }

    /// The [`PrimRevision`] stamped on the cached prim at `path`, or `None` when
    /// no index is cached there — which no cached answer validates against.
    pub(crate) fn prim_revision(&self, path: &Path) -> Option<PrimRevision> {
        self.store.revision_at(path)
    }

    /// Retires the cached answers of the prims a change round named: each is
    /// stamped with a fresh [`PrimRevision`], and the resolved-target memos the
    /// round restaled are dropped with it.
    ///
    /// The graph is untouched — these prims still compose the way they did, they
    /// merely resolve different values — so nothing is evicted. A named path
    /// with no cached entry costs a lookup and nothing else.
    pub(super) fn restale_values(&mut self, graph: &LayerGraph, items: Vec<(Path, ScopedInvalidation)>) {
        // The property-derived diagnostics of every prim whose composed property
        // set the round may have moved. Gathered first so the recomputation below
        // runs against fully restaled entries.
        let mut refresh: Vec<Path> = Vec::new();
        for (path, item) in items {
            match item.scope {
                ValueScope::Prim => {
                    self.store.restale(&path, &item.target_keys);
                    if item.properties {
                        refresh.push(path);
                    }
                }
                ValueScope::Subtree => {
                    self.store.restale_subtree(&path, &item.target_keys);
                    if item.properties {
                        refresh.extend(self.store.subtree_paths(&path));
                    }
                }
            }
        }
        for path in refresh {
            self.refresh_property_type_conflicts(graph, &path);
        }
    }

    /// Recomputes `path`'s inconsistent-property-type conflicts after an edit
    /// that may have changed which property specs it composes, replacing what
    /// the previous composition recorded.
    ///
    /// A prim the round left uncached needs nothing: its next build reports from
    /// scratch. Recomposing the property names can fail (a demanded layer that
    /// is not loaded), in which case the entry keeps what it had rather than
    /// being left silently empty — the next build or query reports again.
    fn refresh_property_type_conflicts(&mut self, graph: &LayerGraph, path: &Path) {
        if !self.is_indexed(path) {
            return;
        }
        let Ok(names) = self.composed_property_names(graph, path) else {
            return;
        };
        self.report_property_type_conflicts(graph, path, &names);
    }

    /// Invalidates what a change to the clip or manifest layer `identifier`
    /// reaches: the synthesized manifests generated from its content, and the
    /// composed values of every prim under an anchor whose clip sets read it.
    /// Returns those anchor prims.
    ///
    /// A layer that feeds no clip set invalidates nothing here, so an ordinary
    /// layer edit — or an unrelated layer joining the graph — costs one lookup
    /// and clears no diagnostic. The clip diagnostics are retired when it does
    /// match, since a clip that could not be read may now be readable.
    ///
    /// The anchors are returned for a caller to report: each stands for its
    /// whole subtree, the same reach the restale took, since a clip set sources
    /// values anywhere below its anchor.
    pub(crate) fn invalidate_clip_source(&mut self, identifier: &str) -> Vec<Path> {
        let anchors = self.clip_cache.invalidate_layer(identifier);
        if anchors.is_empty() {
            return anchors;
        }
        for anchor in &anchors {
            self.store.restale_subtree(anchor, &BTreeSet::new());
        }
        self.retire_query_errors();
        anchors
    }

    /// Whether any clip set has recorded the layers it reads, so asking about a
    /// layer could answer anything. A stage with no value clips never does.
    pub(crate) fn has_clip_sources(&self) -> bool {
        self.clip_cache.has_clip_sources()
    }

    /// Discards the transient query diagnostics
    /// ([`query_diagnostics`](Self::query_diagnostics)).
    ///
    /// They are re-derived on the next query and must not outlive the mutation
    /// that fixed what they report — an edit that drops no index still reaches
    /// here, which is the only retirement point a value-time asset expression's
    /// failure has: nothing records it as a dependency, so no invalidation is
    /// keyed to it. Its own seam, because a mutation that invalidates nothing
    /// cached can still repair a diagnostic.
    pub(super) fn retire_query_errors(&mut self) {
        self.query_diagnostics.clear();
    }

    /// The current population epoch. A caller that completed a walk over the
    /// populated namespace stamps this and re-runs when it no longer matches
    /// (`Stage::discover_prototypes`).
    pub(crate) fn population_epoch(&self) -> u64 {
        self.population_epoch
    }

    /// The current type-opinion epoch, which advances once per change batch that
    /// authored `typeName`, `apiSchemas`, or the root's `fallbackPrimTypes`.
    ///
    /// A memo of composed schema identities stamps this *and*
    /// [`population_epoch`](Self::population_epoch): those fields are what the
    /// identity is composed from, and every structural change that can move
    /// which opinion wins already advances the population epoch. Neither epoch
    /// alone covers the other.
    pub(crate) fn type_opinion_epoch(&self) -> u64 {
        self.type_opinion_epoch
    }

    /// Records that a change batch moved a schema-identity opinion.
    pub(super) fn bump_type_opinion_epoch(&mut self) {
        self.type_opinion_epoch = self
            .type_opinion_epoch
            .checked_add(1)
            .expect("type opinion epoch exhausted");
    }

    /// Records that the composed population may now differ — a prim may have
    /// appeared or vanished, changed activeness, or moved in namespace — by
    /// advancing [`population_epoch`](Self::population_epoch) and retiring the
    /// memos derived from it.
    ///
    /// Its own seam, separate from [`Self::retire_query_errors`], because the two
    /// cover different equivalence classes: an edit that changes only a value
    /// leaves every prim, its ancestry, and its activeness exactly where they
    /// were, so the redirection and eligibility memos — and a completed
    /// population walk — all stay good.
    ///
    /// Called by each operation that can change population, before it drops
    /// anything: `Changes::apply` for a pass that touches any tier but the
    /// property one, [`Self::invalidate_layers`], [`Self::invalidate_muting`],
    /// `set_load_rules`, and [`Self::drop_load_failed_indices`], where a
    /// repaired target can reveal scene the failed one hid. Deliberately not
    /// hung off the invalidation's victim set, which can be empty for an edit
    /// that still changes what would compose — nothing cached reads the edited
    /// layer yet, while a memo recording a prim's absence very much does.
    pub(super) fn invalidate_population(&mut self) {
        self.population_epoch += 1;
        self.clear_population_memos();
    }

    /// Retires the memos that record where a prim composes and whether the
    /// population admits it. Separate from the epoch because dropping a
    /// prototype invalidates exactly these — every redirection into the
    /// namespace it owned — without saying anything about the stage's
    /// population having moved.
    pub(super) fn clear_population_memos(&mut self) {
        self.populated_prims.clear();
        self.redirected_prims.clear();
    }

    /// Returns the recoverable composition errors encountered so far: the
    /// one-shot collection errors, the current per-prim build errors, and the
    /// transient query errors.
    pub(crate) fn composition_errors(&self) -> Diagnostics {
        self.collection_diagnostics
            .iter()
            .chain(self.store.errors())
            .chain(&self.query_diagnostics)
            .cloned()
            .collect()
    }

    /// Drops the one-shot collection errors that also appear in `superseded` —
    /// open-time loader copies of diagnostics the layer graph has taken
    /// ownership of as per-stack regenerable errors, which would otherwise
    /// double-report and outlive a later fix. Collection keeps what the loader
    /// alone knows, e.g. a failure under a branch muted at open, which the
    /// graph derives no diagnostic for.
    pub(crate) fn discard_collection_errors(&mut self, superseded: &[CompositionDiagnostic]) {
        self.collection_diagnostics.retain(|error| !superseded.contains(error));
    }

    #[cfg(test)]
    fn take_composition_errors(&mut self) -> Vec<CompositionDiagnostic> {
        let held = self.composition_errors().into_vec();
        self.collection_diagnostics.clear();
        self.query_diagnostics.clear();
        self.store.clear_errors();
        held
    }

    /// Runs the shared value-resolution walk for the property at `prim +
    /// suffix` under `mode`, handing `resolver` every opinion it reaches in
    /// strength order until the resolver stops.
    ///
    /// The single transcription of value-resolution strength order: the
    /// per-time read, the cached source, the sample times, the sample summary
    /// and the property stack are all resolvers over this one walk, so they
    /// cannot disagree about which source answers.
    fn resolve_property<R: OpinionResolver>(
        &mut self,
        graph: &LayerGraph,
        prim: &Path,
        suffix: &str,
        mode: ResolveMode,
        resolver: &mut R,
    ) -> Result<(), QueryError> {
        // Clips are consulted only where they can exist: without the presence
        // flag the walk visits the spec stack alone, and never composes an
        // ancestor's `clips` metadata.
        let consults_clips = mode.consults_clips() && self.may_have_clips(prim);
        if consults_clips {
            // The clip tier composes each anchor prim's clip sets out of that
            // prim's index while the site walk holds the store, so the indices
            // are made ready first. Composing the sets stays inside the walk,
            // which also decides how far up the chain it needs to look.
            for anchor in prim.ancestors_below_root() {
                self.ensure_index(graph, &anchor)?;
                if !self.may_have_clips(&anchor) {
                    break;
                }
            }
        }
        let Self {
            store,
            clip_cache,
            query_diagnostics,
            ..
        } = self;
        let mut clips = ClipTier::new(store, clip_cache, query_diagnostics);
        let scope = match consults_clips {
            true => SiteScope::EveryLayer,
            false => SiteScope::SpecStack,
        };
        let index = store.cached(prim);
        // Whether a `timeSamples` field block has withheld samples from every
        // weaker site (a `ValueBlock` blocks weaker opinions for any field).
        let mut samples_blocked = false;

        // TODO(perf): the query path is rebuilt per site though it depends only
        // on the node, and under `EveryLayer` it is built even for the layers the
        // spec gate below rejects. `live_sites` is node-major in both scopes, so
        // yielding a node with its layers would build it once per node.
        for (node, layer, offset) in index.live_sites(graph, scope) {
            let site = OpinionSite {
                node,
                layer,
                offset,
                query_path: PrimIndex::query_path(node, Some(suffix)).into_owned(),
            };

            if resolver.on_site(&site).stop() {
                return Ok(());
            }
            // Whether this site authored a value opinion. A site supplies one
            // value, so a resolver that claims what it finds does not also read
            // a clip set introduced here (C++'s `foundOpinion`).
            let mut found_opinion = false;
            let data = graph.layer(layer).data();
            // The wider walk reaches layers that author no spec for this prim,
            // so that a clip introduced there is still consulted; one lookup
            // rules the field probes out at those.
            if node.has_specs() && data.has_spec(&node.path) {
                // At the default time the field is read only for a resolver
                // that reports what it walked past; the value read skips it.
                let probes_samples = mode.visits_time_samples() || resolver.wants_unresolved_samples();
                if !samples_blocked
                    && probes_samples
                    && let Some(value) = data.try_field(&site.query_path, FieldKey::TimeSamples.as_str())?
                {
                    // What the field holds decides whether there is an opinion
                    // here at all; the mode then decides what to do with it.
                    let field = SampleField::classify(&value);
                    found_opinion = matches!(field, SampleField::Map(_));
                    // A block withholds samples from every weaker site whatever
                    // the query asked for, so the flag only ever latches on.
                    samples_blocked |= matches!(field, SampleField::Blocked);
                    let step = match (field, mode.visits_time_samples()) {
                        (SampleField::Unusable, _) => Step::Continue,
                        // A default-time walk resolves from `default` alone, so
                        // the opinion is only reported as the authored one it is;
                        // this site's `default` is still probed below.
                        (_, false) => {
                            resolver.on_unresolved_samples(&site);
                            Step::Continue
                        }
                        (SampleField::Map(samples), true) => resolver.on_time_samples(samples, &site),
                        (SampleField::Blocked, true) => resolver.on_withheld(Withheld::TimeSamplesFieldBlock, &site),
                    };
                    match step {
                        Step::Stop => return Ok(()),
                        // This site has answered; a weaker source, if the
                        // answer still takes one, comes from the next site.
                        Step::NextSite => continue,
                        Step::Continue => {}
                    }
                }
                if let Some(value) = data.try_field(&site.query_path, FieldKey::Default.as_str())? {
                    found_opinion = true;
                    let step = match value_resolve::is_block(&value) {
                        true => resolver.on_withheld(Withheld::DefaultBlock, &site),
                        false => resolver.on_default(value, &site),
                    };
                    match step {
                        Step::Stop => return Ok(()),
                        Step::NextSite => continue,
                        Step::Continue => {}
                    }
                }
            }
            if consults_clips
                && !(found_opinion && resolver.claims_sites())
                && clips.visit(graph, prim, suffix, &site, resolver)?.stop()
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Resolves where an attribute's value comes from, without producing the
    /// value (C++ `UsdStage::_GetResolveInfo`). `mode` selects the walk:
    /// [`Proximal`](ResolveMode::Proximal) reports the source that would answer
    /// without naming a time, while a timed mode reports the one that answers
    /// there.
    pub(crate) fn resolve_info(
        &mut self,
        graph: &LayerGraph,
        stage: &LayerStackIdentifier,
        attr_path: &Path,
        mode: ResolveMode,
        interp: &dyn Fn(&sdf::TimeSampleMap, f64) -> Option<Value>,
    ) -> Result<Resolution, QueryError> {
        let Some((prim, suffix)) = self.ensure_attr_index(graph, attr_path)? else {
            // Nothing authored, nothing blocked: what a prim the stage does
            // not hold resolves to, so the gated path needs no special case.
            return Ok(Resolution::default());
        };
        let mut resolver = InfoResolver {
            graph,
            stage,
            time: match mode {
                ResolveMode::Numeric(time) => Some(time),
                ResolveMode::Proximal | ResolveMode::Default => None,
            },
            interp,
            resolution: Resolution::default(),
            chains: !matches!(mode, ResolveMode::Proximal),
            composing: Composing::new(),
        };
        // TODO(perf): a value read and a resolve info over one attribute run
        // the walk twice and compose the same value twice. A composed-value-
        // with-provenance cache would fold the two.
        self.resolve_property(graph, &prim, &suffix, mode, &mut resolver)?;
        let InfoResolver {
            mut resolution,
            composing,
            chains: resolver_chains,
            ..
        } = resolver;
        // What the layer opinions could not finish is the schema tier's to
        // answer, and `usd` reports that tier as the chain's last link — which
        // a query that asks for no chain does not want either.
        resolution.open = resolver_chains && composing.is_open();
        Ok(resolution)
    }

    /// Resolves an attribute's value at `time`, honoring value clips
    /// (spec 12.3.4), or at the default time when `time` is `None` — which
    /// answers from `default` opinions alone, since neither samples nor clips
    /// supply one. Runs [`Self::resolve_property`], so the source it answers
    /// from is the one every other value query reports.
    ///
    /// `interp` applies the stage's interpolation policy to a sample map at a
    /// given time; it is supplied by the caller so this layer stays free of any
    /// interpolation policy.
    ///
    /// A value that composes comes back with its composition still open: the
    /// layer stack is the weakest tier `pcp` has, and `usd` closes what it
    /// composed over the schema fallback
    /// ([`prim_resolve::close_composition`]). A time-varying source that
    /// answers without a value is [`TimedValue::NoValue`], which the fallback
    /// does not answer.
    ///
    /// `accepts` makes it a typed read (C++ `UsdAttribute::Get<T>`): at the
    /// default time an initial `default` of a kind it rejects is passed over
    /// for a weaker one. The chosen value is finalized at its own site, and
    /// whether the type accepts its kind is the decoder's to check.
    pub(crate) fn value_at(
        &mut self,
        graph: &LayerGraph,
        attr_path: &Path,
        time: Option<f64>,
        interp: &dyn Fn(&sdf::TimeSampleMap, f64) -> Option<Value>,
        accepts: Option<fn(sdf::ValueKind) -> bool>,
    ) -> Result<TimedValue, QueryError> {
        let Some((prim, suffix)) = self.ensure_attr_index(graph, attr_path)? else {
            return Ok(TimedValue::Fallback);
        };
        let mut resolver = ValueAtResolver {
            time,
            interp,
            composing: Composing::new(),
            anchor: None,
            withheld: false,
            accepts,
        };
        self.resolve_property(graph, &prim, &suffix, ResolveMode::at(time), &mut resolver)?;
        let ValueAtResolver {
            composing,
            anchor,
            withheld,
            ..
        } = resolver;
        let value = match &anchor {
            Some(anchor) => self.resolve_asset_at(graph, composing.into_open(), anchor),
            None => composing.into_open(),
        };
        Ok(match value {
            Some(value) => TimedValue::Value(value),
            None if withheld => TimedValue::NoValue,
            None => TimedValue::Fallback,
        })
    }

    /// Resolves the cacheable value source for an attribute (the source half of
    /// [`Self::value_at`]), so a [`Stage::attribute_query`] can replay it across
    /// time codes. A source no snapshot can stand in for — value clips, or a
    /// value that composes — resolves as
    /// [`AttributeValueSource::PerTime`], and the query falls back to
    /// `value_at` per call.
    ///
    /// [`Stage::attribute_query`]: crate::usd::Stage::attribute_query
    pub(crate) fn resolve_value_source(
        &mut self,
        graph: &LayerGraph,
        attr_path: &Path,
    ) -> Result<StampedValueSource, QueryError> {
        let Some((prim, suffix)) = self.ensure_attr_index(graph, attr_path)? else {
            return Ok(self.stamp_source(AttributeValueSource::Static(None), attr_path, None));
        };
        let mut resolver = SourceResolver {
            graph,
            source: None,
            default_site: None,
            composing: Composing::new(),
        };
        self.resolve_property(graph, &prim, &suffix, ResolveMode::Proximal, &mut resolver)?;
        let source = match resolver.source {
            Some(source) => source,
            // A winning `default` composes from the site the walk selected; with
            // no site nothing was authored, which is the same static `None`.
            None => match resolver.default_site {
                Some(site) => AttributeValueSource::Static(self.default_at(graph, &prim, &suffix, &site)?),
                None => AttributeValueSource::Static(None),
            },
        };
        Ok(self.stamp_source(source, attr_path, Some(prim)))
    }

    /// Pairs a freshly resolved `source` with the stamp a cached view replays it
    /// under, read in the same borrow that produced it so no edit can slip
    /// between the answer and its validity token.
    ///
    /// `prim` is the composed prim the walk resolved from, or `None` when it
    /// never reached one (the attribute has no spec anywhere) — that answer
    /// still depends on the queried prim's composition, so it is stamped against
    /// the queried path's own entry, and stays unmemoizable while none is
    /// cached.
    fn stamp_source(&self, source: AttributeValueSource, attr_path: &Path, prim: Option<Path>) -> StampedValueSource {
        let queried = attr_path.prim_path();
        let prim = prim.unwrap_or_else(|| queried.clone());
        // The redirect that took an instance proxy to its prototype is memoized
        // per population epoch (`redirected_prims`), so a stamp anchored at a
        // path the query did not name must re-check that epoch too.
        let redirect_epoch = (prim != queried).then(|| self.population_epoch());
        StampedValueSource {
            revision: self.prim_revision(&prim),
            prim,
            redirect_epoch,
            source,
        }
    }

    /// The `default` a walk answered with at `site`, read back for a caller
    /// that recorded the site rather than the value.
    ///
    /// Composed across the nodes from the strongest opinion, which is what
    /// `site` names; `site` also anchors any `asset` in the result.
    fn default_at(
        &mut self,
        graph: &LayerGraph,
        prim: &Path,
        suffix: &str,
        site: &SelectedSite,
    ) -> Result<Option<Value>, QueryError> {
        let value = self
            .cached(prim)
            .resolve_strongest(FieldKey::Default.as_str(), graph, Some(suffix))?;
        Ok(self.resolve_asset_at(graph, value, site).and_then(block_to_none))
    }

    /// Resolves an attribute's composed sample times, retimed to stage time and
    /// including value-clip contributions (spec 12.3.4). `None` when no source
    /// has samples or the prim is masked out.
    ///
    /// Reports the times of whichever source [`Self::value_at`] resolves the
    /// value from, because both run [`Self::resolve_property`]. A winning
    /// `default` is a constant, so it contributes none — unless it composes,
    /// where the times are those of the source it draws on, which is where the
    /// composed value changes.
    pub(crate) fn time_sample_times(
        &mut self,
        graph: &LayerGraph,
        attr_path: &Path,
    ) -> Result<Option<Vec<f64>>, QueryError> {
        let resolved = self.sample_times(graph, attr_path, Want::Times)?;
        Ok(resolved.answered.then(|| resolved.times()))
    }

    /// Resolves an attribute's composed `timeSamples` map, retimed to stage
    /// time. `None` when the source that answers is not a `timeSamples`
    /// opinion.
    ///
    /// Reports the map of whichever source [`Self::value_at`] resolves the value
    /// from, because both run [`Self::resolve_property`]: a stronger `default`
    /// hides a weaker layer's samples here exactly as it does in the read.
    ///
    /// Two source shapes own no map and report `None`: a value-clip set, which
    /// answers with a schedule, and a composing `default`, whose value is
    /// assembled from sources rather than held anywhere. Both reach
    /// [`Self::time_sample_times`] for their times and
    /// [`Self::value_at`] for a value per time code.
    pub(crate) fn time_samples(
        &mut self,
        graph: &LayerGraph,
        attr_path: &Path,
    ) -> Result<Option<sdf::TimeSampleMap>, QueryError> {
        Ok(self.sample_times(graph, attr_path, Want::Map)?.map)
    }

    /// Resolves the number of composed sample times for an attribute, including
    /// value-clip contributions, without retiming the times themselves. Zero
    /// when no source has samples or the prim is masked out.
    pub(crate) fn num_time_samples(&mut self, graph: &LayerGraph, attr_path: &Path) -> Result<usize, QueryError> {
        Ok(self.time_sample_summary(graph, attr_path)?.0)
    }

    /// Whether an attribute's value may vary over time, the introspection behind
    /// [`Attribute::value_might_be_time_varying`]. True when the winning value
    /// source has more than one composed sample, or when that source is a value-
    /// clip set whose schedule alone can vary the value
    /// ([`ClipSet::may_be_time_varying`]).
    ///
    /// [`Attribute::value_might_be_time_varying`]: crate::usd::Attribute::value_might_be_time_varying
    pub(crate) fn value_might_be_time_varying(
        &mut self,
        graph: &LayerGraph,
        attr_path: &Path,
    ) -> Result<bool, QueryError> {
        let (count, clip_may_vary) = self.time_sample_summary(graph, attr_path)?;
        Ok(count > 1 || clip_may_vary)
    }

    /// The composed sample-time count for an attribute plus, when the winning
    /// source is a value-clip set, whether that set's schedule can vary the
    /// value ([`ClipSet::may_be_time_varying`]). Shared by
    /// [`Self::num_time_samples`] and [`Self::value_might_be_time_varying`].
    /// `(0, false)` when no source has samples or the prim is masked out.
    fn time_sample_summary(&mut self, graph: &LayerGraph, attr_path: &Path) -> Result<(usize, bool), QueryError> {
        let resolved = self.sample_times(graph, attr_path, Want::Count)?;
        Ok((resolved.count(), resolved.clip_may_vary))
    }

    /// The composed sample times of whichever source [`Self::value_at`] would
    /// resolve from, plus whether that source is a clip set whose schedule alone
    /// can vary the value.
    fn sample_times(
        &mut self,
        graph: &LayerGraph,
        attr_path: &Path,
        want: Want,
    ) -> Result<SampleTimesResolver, QueryError> {
        let mut resolver = SampleTimesResolver {
            series: Series::default(),
            answered: false,
            map: None,
            clip_may_vary: false,
            count: None,
            want,
            chains: want != Want::Map,
        };
        let Some((prim, suffix)) = self.ensure_attr_index(graph, attr_path)? else {
            return Ok(resolver);
        };
        self.resolve_property(graph, &prim, &suffix, ResolveMode::Proximal, &mut resolver)?;
        Ok(resolver)
    }

    /// Ensures `anchor`'s index is composed and resolves its value-clip sets —
    /// the shared preamble for the clip orchestration walks. Returns an owned
    /// list so the cached-index borrow is released before the per-anchor
    /// [`ClipCache`] query takes `&mut self.clip_cache`.
    ///
    /// TODO(perf): the sets are recomposed per query rather than memoized, so a
    /// `${VAR}` in a set's asset paths is re-parsed and re-evaluated on every
    /// clip read. A per-(prim, revision) cache of the returned `Vec` at this seam
    /// would bound both.
    fn clip_sets_for(&mut self, graph: &LayerGraph, anchor: &Path) -> Result<Vec<ResolvedClipSet>, QueryError> {
        self.ensure_index(graph, anchor)?;
        let mut errors = Diagnostics::default();
        let sets = self.cached(anchor).resolve_clip_sets(graph, &mut errors)?;
        self.query_diagnostics.extend(errors);
        Ok(sets)
    }

    /// Generates a manifest layer for the clip set named `clip_set` composed on
    /// `prim` (C++ `UsdClipsAPI::GenerateClipManifest`), declaring every
    /// attribute the set's clips carry time samples for. `write_blocks` authors
    /// a value block at each clip's activation time for the attributes that clip
    /// has no samples for.
    ///
    /// `None` for the pseudo-root or when no set of that name resolves on
    /// `prim`. The manifest is a fresh anonymous layer: it is not installed on
    /// the set, so authoring `manifestAssetPath` after exporting it is the
    /// caller's to do.
    ///
    /// Errors when a clip the schedule names cannot be read. An authored
    /// manifest that silently omits a clip's attributes would stop value
    /// resolution sourcing them at all, so the incomplete result is refused
    /// rather than returned — unlike synthesis during value resolution, which
    /// degrades to the clips it can read.
    pub(crate) fn generate_clip_manifest(
        &mut self,
        graph: &LayerGraph,
        prim: &Path,
        clip_set: &str,
        write_blocks: bool,
    ) -> Result<Option<sdf::Layer>, QueryError> {
        if prim.is_abs_root() {
            return Ok(None);
        }
        // An instance proxy's clips are composed on the shared prototype, so
        // read them from there — the same redirect every other query entry
        // point applies.
        let prim = &self.effective_path(graph, prim)?;
        let sets = self.clip_sets_for(graph, prim)?;
        let Some(resolved) = sets.into_iter().find(|resolved| resolved.set.name == clip_set) else {
            return Ok(None);
        };
        let (manifest, unread) = self.clip_cache.generate_manifest(
            graph,
            &resolved,
            prim,
            clip_manifest::CLIP_MANIFEST_TAG,
            write_blocks,
        )?;
        if let Some(error) = unread.iter().next() {
            return Err(IncompleteClipManifest::new(clip_set, prim.clone(), error.clone()).into());
        }
        Ok(Some(manifest))
    }

    /// Redirects `attr_path` through [`Self::effective_path`] and ensures the
    /// owning prim's index is composed, returning the owned prim path and
    /// property suffix for a subsequent [`Self::cached`] lookup. `None` when no
    /// spec exists at the path (absent or masked out).
    fn ensure_attr_index(
        &mut self,
        graph: &LayerGraph,
        attr_path: &Path,
    ) -> Result<Option<(Path, String)>, QueryError> {
        let attr_path = &self.effective_path(graph, attr_path)?;
        if !self.has_spec_at(graph, attr_path)? {
            return Ok(None);
        }
        let prim = attr_path.prim_path();
        let suffix = attr_path.property_suffix().to_owned();
        self.ensure_index(graph, &prim)?;
        Ok(Some((prim, suffix)))
    }

    /// Read-only access to the cached indices and the dependency map they are
    /// registered in — the pair change-driven invalidation reads.
    pub(super) fn store(&self) -> &IndexStore {
        &self.store
    }

    /// Whether value resolution has to consult value clips for `path`: clip
    /// metadata is authored there or on an ancestor.
    ///
    /// Read off the composed context, which accumulates the answer down the
    /// namespace, so this asks one prim rather than walking the chain.
    fn may_have_clips(&self, path: &Path) -> bool {
        self.store.context_at(path).is_some_and(|ctx| ctx.may_have_clips)
    }

    /// Returns `true` if a composed prim index is currently cached at `path`.
    pub fn is_indexed(&self, path: &Path) -> bool {
        self.store.is_indexed(path)
    }

    /// Borrows the cached index at `path`.
    ///
    /// Callers use this where composition has already guaranteed the index is
    /// present (a prim's index is built before any query that reads it, and
    /// children build after their parents). When the build was left uncached
    /// because it demanded a not-yet-loaded layer, an empty index is returned:
    /// the query reads empty results and the stage's query loop discards them,
    /// recomposing once the demanded layer is loaded. Absence is therefore always
    /// the transient demanded-layer case — never a logic error — under the
    /// loop's guarantee that a demanded build is retried.
    pub(super) fn cached(&self, path: &Path) -> &PrimIndex {
        self.store.cached(path)
    }

    /// Number of cached prim indices.
    pub fn indexed_count(&self) -> usize {
        self.store.len()
    }

    /// Caches a fully composed `index` at `path` with the `context` its children
    /// inherit, its recoverable build `errors`, and the per-stack
    /// expression-variable names its build read (`expr_var_deps`), registering
    /// its dependencies (see [`IndexStore::insert`]). Shared by the ordinary
    /// [`build_index`](Self::build_index) path and the materialized-prototype path
    /// (which has no spec to build from, so it passes no errors and no variable
    /// dependencies — a variable edit evicts a prototype through its instances'
    /// registrations).
    pub(super) fn cache_index(
        &mut self,
        graph: &LayerGraph,
        path: &Path,
        index: PrimIndex,
        context: CompositionContext,
        errors: Diagnostics,
        expr_var_deps: ExprVarDeps,
    ) {
        self.store.insert(graph, path, index, context, errors, expr_var_deps);
    }

    /// The composition context for a namespace-root prim: empty except for the
    /// stage's variant fallbacks. Used to seed the root of an ordinary build and
    /// of a materialized prototype. `load_payloads` is left at its `Default`
    /// value — [`build_index`](Self::build_index) always overwrites it with a
    /// per-path decision before the context is ever consumed, so the value
    /// seeded here is never read.
    pub(super) fn root_parent_context(&self) -> CompositionContext {
        CompositionContext {
            variant_fallbacks: self.variant_fallbacks.clone(),
            ..Default::default()
        }
    }

    /// Drop a single prim's cached entry (its index, child context, and build
    /// errors) along with its dependency registrations.
    ///
    /// The transient query errors are left alone: dropping an index is not by
    /// itself an invalidation — a lazy prototype materialization drops one
    /// mid-query — and [`Self::retire_query_errors`] is what retires them, at every
    /// edit seam.
    pub(super) fn drop_index(&mut self, path: &Path) {
        self.store.remove(path);
    }

    /// Drops every cached index that recorded a failed target, a
    /// [`MalformedLayer`](CompositionDiagnostic::MalformedLayer) or an
    /// [`UnresolvedLayer`](CompositionDiagnostic::UnresolvedLayer). Each
    /// recomposes and demands the target afresh. The arc to a failed target
    /// was dropped, so these indices carry no dependency on it and an
    /// ordinary layer-stack invalidation misses them; the stage calls this
    /// when a target may have become loadable: an edit cleared the graph's
    /// recorded load failures, or an asset that did not resolve now does.
    pub(crate) fn drop_load_failed_indices(&mut self) {
        let failed = self.store.paths_with_failed_layer();
        if failed.is_empty() {
            return;
        }
        // The prims beneath one composed without the target too, and
        // recompose with it.
        for path in failed {
            self.store.remove_subtree(&path);
        }
        self.retire_query_errors();
        // A target that failed to read hid whatever it would have composed, so
        // repairing it can reveal prims — and instances — the population never
        // saw.
        self.invalidate_population();
    }

    /// Spec-tier change consumer (C++ `Pcp_RescanForSpecs`) for one change round's
    /// inert spec adds and removes, each a `(layer, path)` site. The store
    /// refreshes every affected index's `has_specs` flags in place per site,
    /// partitioning the indices into those refreshed in place and those it cannot
    /// refresh; the latter are dropped for rebuild. The refresh keeps the spec
    /// run it scanned for each touched node, and each in-place-refreshed index
    /// splices those runs into its memoized spec stack once, however many of this
    /// round's sites reached it — so a layer no site named is never re-probed.
    /// The transient query errors are retired by [`Self::retire_query_errors`] at
    /// the edit seam; they may reference a dropped prim.
    ///
    /// An added or removed spec can change whether a prim exists, so the caller
    /// must already have advanced the population epoch for these sites.
    /// `Changes::apply` has: the same `did_change_specs` paths reach
    /// [`Self::invalidate_prototypes`] in its change set, which owns the seam.
    /// Returns every composed prim the rescan reached, refreshed or dropped. A
    /// spec appearing or disappearing at a site one of them reads is a change in
    /// whether that prim contributes an opinion at all — a referenced site the
    /// arc had culled as empty now composes — so the caller reports them as
    /// resynced. Which of the two partitions a prim landed in says how the cache
    /// caught up, not whether a consumer must.
    ///
    /// A node an arc introduced that gains or loses its specs enters or leaves
    /// its prim's instance key (C++ `Pcp_ChildNodeInstanceableChanged`). The
    /// key an instance registered under then differs from the one its index
    /// gives, and a prototype seeded from that instance carries a node its
    /// other instances do not share. The rescan retires the prototype of every
    /// registered instance and prototype root it reached that way, and the
    /// retired roots join the returned paths.
    pub(super) fn rescan_specs(&mut self, graph: &LayerGraph, sites: &[(LayerId, Path)]) -> Vec<Path> {
        let mut refreshed: HashMap<Path, NodeRuns> = HashMap::new();
        let mut rebuild: HashSet<Path> = HashSet::new();
        let mut rekeyed: HashSet<Path> = HashSet::new();
        for (layer, path) in sites {
            self.store
                .refresh_specs(graph, *layer, path, &mut refreshed, &mut rebuild, &mut rekeyed);
        }
        for prim in &rebuild {
            self.store.remove(prim);
        }
        // An index condemned after an earlier site had already refreshed it kept
        // its runs out of the map, so the two sets are disjoint by construction.
        let touched = self.store.splice_spec_stacks(graph, refreshed);
        // Only a registered instance or a prototype root has a key to go stale;
        // any other prim's flip is caught up by the refresh alone.
        let rekeyed: Vec<Path> = rekeyed
            .into_iter()
            .filter(|prim| self.prototypes.is_registered(prim))
            .collect();
        let retired = if rekeyed.is_empty() {
            Vec::new()
        } else {
            self.invalidate_prototypes(&rekeyed)
        };
        rebuild.into_iter().chain(touched).chain(retired).collect()
    }

    /// Drop a prim's cached index and every namespace descendant. Used by
    /// [`change::Changes`](super::change::Changes) when a significant change
    /// touches `prefix` — the topology may have changed for the entire subtree,
    /// so every dependent index is invalidated. The transient query errors are
    /// left to [`Self::retire_query_errors`], as in [`Self::drop_index`].
    pub(super) fn drop_index_subtree(&mut self, prefix: &Path) {
        self.store.remove_subtree(prefix);
    }

    /// Invalidates the cache after a layer-set change restructures only some
    /// prims: retires the query diagnostics and drops just the cached indices
    /// that read one of the `affected` layers,
    /// via [`drop_indices_touching_layers`](Self::drop_indices_touching_layers).
    /// Used for a layer-muting toggle, a
    /// `subLayers`/offset/relocate/`timeCodesPerSecond`/`expressionVariables` edit
    /// (see [`Changes::apply`](super::change::Changes::apply)), and a demanded
    /// layer that introduces relocates; in each case the graph's precomputed
    /// layer-stack state is rebuilt by the mutation first, so the cache is all that
    /// remains. Drops exactly the cached indices whose composition reads an
    /// `affected` layer, leaving the rest warm.
    ///
    /// Reports nothing, unlike its siblings: no caller of this path publishes a
    /// notice today. Widening it is the first half of the deferred demand-notice
    /// work — see the `TODO` beside `Payload::finish` in `usd::composition`.
    pub(crate) fn invalidate_layers(&mut self, affected: &HashSet<LayerId>) {
        self.retire_query_errors();
        self.invalidate_population();
        self.drop_indices_touching_layers(affected);
    }

    /// Invalidates the cache after a layer-muting toggle of the layer with
    /// canonical identifier `canonical`: retires the query diagnostics, then
    /// drops the cached indices the toggle can restructure (see
    /// [`Dependencies::indices_for_mute_toggle`](super::dependencies::Dependencies::indices_for_mute_toggle))
    /// — those reading one of the `affected` layers, plus those that only skipped
    /// the target and recorded `canonical` because it interned no reachable layer.
    /// Unmuting such a target drops the referrer's stale index so it recomposes and
    /// the load barrier finally opens the now-unmuted target.
    ///
    /// Returns everything the toggle dropped — the indices above and the
    /// prototype roots retired with them — for a caller to report as-is.
    pub(crate) fn invalidate_muting(&mut self, affected: &HashSet<LayerId>, canonical: &str) -> Vec<Path> {
        self.retire_query_errors();
        self.invalidate_population();
        let victims = self.store.dependencies().indices_for_mute_toggle(affected, canonical);
        self.drop_index_victims(victims)
    }

    /// Drop every cached prim index whose composition reads one of the `affected`
    /// layers (per [`Dependencies::indices_for_layers`](super::dependencies::Dependencies::indices_for_layers))
    /// — together with its namespace descendants and any prototype the drops touch —
    /// leaving indices that read none of them cached. Editing a layer can only
    /// restructure prims that compose against a layer stack containing it (C++
    /// `PcpChanges` layer-stack fanout), so the rest of the cache stays warm.
    fn drop_indices_touching_layers(&mut self, affected: &HashSet<LayerId>) {
        if affected.is_empty() {
            return;
        }
        let victims = self.store.dependencies().indices_for_layers(affected);
        self.drop_index_victims(victims);
    }

    /// Drops each victim prim index and the prototypes its drop touches — the tail
    /// shared by [`drop_indices_touching_layers`](Self::drop_indices_touching_layers),
    /// [`invalidate_muting`](Self::invalidate_muting),
    /// [`set_load_rules`](Self::set_load_rules), and the `expressionVariables`
    /// delta path (`change::apply_vars_deltas`).
    ///
    /// Returns everything the drop invalidated: `victims` and the prototype roots
    /// retired with them, which no walk over `victims` could reach (see
    /// [`invalidate_prototypes`](Self::invalidate_prototypes)).
    pub(super) fn drop_index_victims(&mut self, mut victims: Vec<Path>) -> Vec<Path> {
        if victims.is_empty() {
            return victims;
        }
        // Evict prototypes whose instances or roots are among the victims, as the
        // prim-tier path in [`Changes::apply`](super::change::Changes::apply) does.
        let retired = self.invalidate_prototypes(&victims);
        for path in &victims {
            self.drop_index_subtree(path);
        }
        victims.extend(retired);
        victims
    }

    /// Returns `true` if any layer has a spec at the given composed path.
    ///
    /// For property paths (e.g. `/Prim.attr`), checks whether the property
    /// exists in any layer contributing to the owning prim's composition index.
    pub fn has_spec(&mut self, graph: &LayerGraph, path: &Path) -> Result<bool, QueryError> {
        let path = &self.effective_path(graph, path)?;
        self.has_spec_at(graph, path)
    }

    /// Whether `path` and every ancestor below the pseudo-root resolve active
    /// (C++ `UsdPrim::IsActive`). An unauthored `active` defaults to `true`, so
    /// an ancestor blocks only by authoring `false`; a prim with no composed
    /// spec is inactive, since nothing exists to be active.
    ///
    /// Mask-independent — the population mask is the stage's policy, applied by
    /// the query gate before this is ever reached — and existence-aware, which
    /// is what separates it from [`Self::is_populated`].
    pub(crate) fn is_active(&mut self, graph: &LayerGraph, path: &Path) -> Result<bool, QueryError> {
        if path.is_abs_root() {
            return Ok(true);
        }
        if !self.has_spec(graph, path)? {
            return Ok(false);
        }
        for ancestor in path.ancestors_below_root() {
            if !self.active_locally(graph, &ancestor)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `path`'s own contribution to its inherited status, or `None` for a
    /// path nothing composes: the inputs a caller combines with the parent's
    /// status as C++ `Usd_PrimData::_ComposeAndCacheFlags` does, read in one
    /// borrow after one redirection onto the index that composes the prim.
    pub(crate) fn own_status(&mut self, graph: &LayerGraph, path: &Path) -> Result<Option<OwnStatus>, QueryError> {
        let at = &self.effective_path(graph, path)?;
        if !self.has_spec_at(graph, at)? {
            return Ok(None);
        }
        let active = self.active_at(graph, at)?;
        let specifier = self.specifier_at(graph, at)?;
        // No rule anywhere means every path resolves loaded (`LoadRules`'
        // documented default). The rules are keyed by the prim's own path,
        // not by the index it reads through.
        let payload_included = self.load_rules().is_empty() || !self.has_payload_at(graph, at)? || self.is_loaded(path);
        Ok(Some(OwnStatus {
            active,
            defining: matches!(specifier, Some(sdf::Specifier::Def | sdf::Specifier::Class)),
            class: specifier == Some(sdf::Specifier::Class),
            payload_included,
        }))
    }

    /// The composed specifier at `path`, a path already redirected onto the
    /// index that composes it. A prototype root is `def` whatever its source
    /// says, as C++ `Usd_PrimData` sets it (`_GetPrimSpecifierImpl`).
    fn specifier_at(&mut self, graph: &LayerGraph, path: &Path) -> Result<Option<sdf::Specifier>, QueryError> {
        if self.is_prototype(path) {
            return Ok(Some(sdf::Specifier::Def));
        }
        Ok(self
            .resolve_field_at(graph, path, FieldKey::Specifier.as_str())?
            .map(sdf::Specifier::try_from)
            .transpose()?)
    }

    /// Whether a non-empty `payload` opinion composes at `path` (C++
    /// `PcpPrimIndex::HasAnyPayloads`).
    pub(crate) fn has_payload(&mut self, graph: &LayerGraph, path: &Path) -> Result<bool, QueryError> {
        let path = &self.effective_path(graph, path)?;
        self.has_payload_at(graph, path)
    }

    /// [`has_payload`](Self::has_payload) for a path already redirected onto
    /// the index that composes it. A prototype root reads no opinions and has
    /// none.
    fn has_payload_at(&mut self, graph: &LayerGraph, path: &Path) -> Result<bool, QueryError> {
        if self.is_prototype(path) {
            return Ok(false);
        }
        Ok(match self.resolve_field_at(graph, path, FieldKey::Payload.as_str())? {
            Some(Value::Payload(payload)) => payload_has_target(&payload),
            Some(Value::PayloadListOp(op)) => op.reduced().flatten().iter().any(payload_has_target),
            _ => false,
        })
    }

    /// This prim's own composed `active` opinion, defaulting to `true`. The
    /// per-prim read [`Self::is_active`] walks and [`Self::is_populated`] takes
    /// for the prim it is deciding, its ancestors having been decided already.
    fn active_locally(&mut self, graph: &LayerGraph, path: &Path) -> Result<bool, QueryError> {
        let path = &self.effective_path(graph, path)?;
        self.active_at(graph, path)
    }

    /// [`active_locally`](Self::active_locally) for a path already redirected
    /// onto the index that composes it, for a caller holding that redirection.
    ///
    /// A prototype root is active whatever its source index says, as C++
    /// `Usd_PrimData` sets it: the instance-local opinion that activated the
    /// instance is inert in the prototype, so the source can read `false`.
    pub(super) fn active_at(&mut self, graph: &LayerGraph, path: &Path) -> Result<bool, QueryError> {
        if self.is_prototype(path) {
            return Ok(true);
        }
        match self.resolve_field_at(graph, path, FieldKey::Active.as_str())? {
            Some(value) => Ok(bool::try_from(value)?),
            None => Ok(true),
        }
    }

    /// Resolves a value over the composition nodes of a property's owning prim,
    /// strongest first, reading each contributing layer live. `path` must be a
    /// property path: it is re-anchored onto each node's prim (crossing the
    /// `.` separator) and `probe` is called with that node's layer and the
    /// re-anchored property path; the first `Some` wins.
    ///
    /// Reading live — rather than from a property-keyed index — keeps results
    /// correct after a property spec is authored, since authoring a property
    /// never reshapes the owning prim's composition graph (the prim index
    /// stays valid).
    fn find_property_node<T>(
        &mut self,
        graph: &LayerGraph,
        path: &Path,
        mut probe: impl FnMut(&sdf::Layer, &Path) -> Option<T>,
    ) -> Result<Option<T>, QueryError> {
        let prim_path = path.prim_path();
        self.ensure_index(graph, &prim_path)?;
        let Some(index) = self.store.index_at(&prim_path) else {
            return Ok(None);
        };
        for node in index.nodes() {
            let Some(prop_path) = path.replace_prefix(&prim_path, &node.path) else {
                continue;
            };
            for &(layer, _) in graph.layer_stack(node.layer_stack_id()).iter() {
                if let Some(found) = probe(graph.layer(layer), &prop_path) {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// Like [`Self::has_spec`], but assumes `path` has already been redirected
    /// through [`Self::effective_path`]. Callers that redirected the path
    /// themselves (e.g. [`Self::value_at`]) use this to avoid redirecting twice.
    pub(super) fn has_spec_at(&mut self, graph: &LayerGraph, path: &Path) -> Result<bool, QueryError> {
        if path.is_property_path() {
            return Ok(self
                .find_property_node(graph, path, |layer, p| layer.data().has_spec(p).then_some(()))?
                .is_some());
        }
        self.ensure_index(graph, path)?;
        Ok(self.store.index_at(path).is_some_and(|idx| !idx.is_empty()))
    }

    /// Returns the spec type at a composed path from the strongest contributing layer.
    ///
    /// For a property path the type is read live from the owning prim's
    /// composition nodes (see [`Self::find_property_node`]) rather than from a
    /// property-keyed index, so a property spec added after this path was first
    /// queried is picked up instead of a stale cached `None`.
    pub fn spec_type(&mut self, graph: &LayerGraph, path: &Path) -> Result<Option<SpecType>, QueryError> {
        let path = &self.effective_path(graph, path)?;
        if path.is_property_path() {
            return self.find_property_node(graph, path, |layer, p| layer.data().spec_type(p));
        }
        self.ensure_index(graph, path)?;
        let Some(index) = self.store.index_at(path) else {
            return Ok(None);
        };
        for node in index.nodes() {
            for &(layer, _) in graph.layer_stack(node.layer_stack_id()).iter() {
                if let Some(ty) = graph.layer(layer).data().spec_type(&node.path) {
                    return Ok(Some(ty));
                }
            }
        }
        Ok(None)
    }

    /// Returns `true` if the composed prim index contains any non-local arc.
    pub(crate) fn has_composition_arc(&mut self, graph: &LayerGraph, path: &Path) -> Result<bool, QueryError> {
        self.ensure_index(graph, path)?;
        Ok(self
            .store
            .index_at(path)
            .is_some_and(|index| index.has_composition_arc()))
    }

    /// Captures the target layer identifier and namespace mapping of the
    /// strongest node on `prim_path` whose arc satisfies `matches`, for building
    /// an arc-based edit target (C++ `UsdEditTarget(UsdPrim, ...)`).
    ///
    /// Considers only nodes that author a spec and are not permission-denied, in
    /// strength order. Returns `None` when none match. The mapping is the node's
    /// `map_to_root`, and for a node whose site sits inside a variant it is
    /// composed over the node-path qualifier pair `{site → stripped site}` (C++
    /// `_ComposeMappingForNode`) — map functions never carry variant selections,
    /// so the qualifier must be re-attached for the edit target to author at the
    /// variant-qualified spec path. Oriented spec → scene, queried in reverse for
    /// authoring.
    ///
    /// An instance-proxy path redirects to its shared prototype (the same
    /// [`effective_path`](Self::effective_path) redirection value resolution
    /// uses), so the arc captured is the prototype's, not an instance-local
    /// opinion that composition discards. The returned mapping is therefore
    /// oriented in the prototype's namespace, not the proxy's.
    pub(crate) fn edit_target_node_info(
        &mut self,
        graph: &LayerGraph,
        prim_path: &Path,
        matches: impl Fn(ArcType) -> bool,
    ) -> Result<Option<EditTargetNodeInfo>, QueryError> {
        let prim_path = self.effective_path(graph, prim_path)?.prim_path();
        self.ensure_index(graph, &prim_path)?;
        let Some(index) = self.store.index_at(&prim_path) else {
            return Ok(None);
        };
        Ok(index.nodes().find_map(|node| {
            (matches(node.arc) && node.has_specs()).then(|| {
                // A node inside a variant stores its specs at the qualified site
                // path; compose the qualifier onto the map so the edit target
                // reaches it (C++ `_ComposeMappingForNode`). The qualifier pair
                // adapts the storage location only, so the arc map's root
                // identity survives the composition — composing would otherwise
                // drop it, since the pair itself carries none — keeping paths
                // outside the arc's explicit domain visible to the target, as
                // they are for every other arc whose map has the root identity.
                let mapping = if node.path.contains_prim_variant_selection() {
                    let composed = node.map_to_root.compose(&MapFunction::from_pair(
                        node.path.clone(),
                        node.path.strip_all_variant_selections(),
                    ));
                    if node.map_to_root.has_root_identity() {
                        composed.with_root_identity()
                    } else {
                        composed
                    }
                } else {
                    node.map_to_root.clone()
                };
                // The layer stack the node composes in, captured by value identity
                // so the edit target authors into it exactly rather than
                // re-inferring it from layer membership — a contextual instance's
                // `${VAR}`-resolved members reach a relocate plan unchanged. The
                // value form resolves on any equal-input stage, where a graph-local
                // handle would name an unrelated instance.
                (
                    graph.identifier(node.layer_id()).to_string(),
                    mapping,
                    graph.stack_identity(node.layer_stack_id()),
                )
            })
        }))
    }

    /// Resolves a field value from the strongest opinion across all composition nodes.
    ///
    /// Layer metadata authored on the pseudo-root is resolved directly from
    /// the root layer and does not compose with sublayers or arcs. The
    /// pseudo-root's `primChildren` field remains a child-list query and is
    /// handled by normal composition.
    pub fn resolve_field(&mut self, graph: &LayerGraph, path: &Path, field: &str) -> Result<Option<Value>, QueryError> {
        let path = &self.effective_path(graph, path)?;
        self.resolve_field_at(graph, path, field)
    }

    /// [`resolve_field`](Self::resolve_field) for a path already redirected onto
    /// the index that composes it — the half a caller holding that redirection
    /// reuses rather than resolving it again.
    fn resolve_field_at(&mut self, graph: &LayerGraph, path: &Path, field: &str) -> Result<Option<Value>, QueryError> {
        if path.is_abs_root() && field != ChildrenKey::PrimChildren.as_str() {
            return Ok(graph.root_layer_field(field)?);
        }

        if path.is_property_path() {
            let prim_path = path.prim_path();
            let prop_suffix = path.property_suffix();
            self.ensure_index(graph, &prim_path)?;
            let value = self.cached(&prim_path).resolve_field(field, graph, Some(prop_suffix))?;
            Ok(self.anchor_asset_paths(graph, &prim_path, field, Some(prop_suffix), value))
        } else {
            self.ensure_index(graph, path)?;
            let value = self.cached(path).resolve_field(field, graph, None)?;
            Ok(self.anchor_asset_paths(graph, path, field, None, value))
        }
    }

    /// [`Self::anchor_asset_paths`] for a value whose authoring site the shared
    /// value-resolution walk already selected, so no search for it is needed.
    fn resolve_asset_at(&mut self, graph: &LayerGraph, value: Option<Value>, site: &SelectedSite) -> Option<Value> {
        // Building the site copies two strings, so only a value that turns out
        // to hold asset paths asks for one.
        let asset_site = value
            .as_ref()
            .filter(|value| value.is_asset_valued())
            .map(|_| AssetSite::in_graph(graph, site.layer_stack, site.layer, &site.query_path));
        value.map(|value| self.resolve_asset_values(graph, value, asset_site.as_ref()))
    }

    /// Fills the resolved path on any `asset` / `asset[]` value just resolved,
    /// taking its provenance from the strongest opinion for `field` — the
    /// default-sourced case of C++ `UsdStage::_GetAssetPathContext`. Non-asset
    /// values pass through; asset paths nested inside a dictionary value are not
    /// recursed into, only top-level `asset` / `asset[]` fields are resolved.
    ///
    /// A read that resolved through the shared value-resolution walk knows the
    /// site already and uses [`Self::resolve_asset_at`] instead; this is for a
    /// plain metadata read, which has no walk to take it from.
    fn anchor_asset_paths(
        &mut self,
        graph: &LayerGraph,
        prim_path: &Path,
        field: &str,
        prop_suffix: Option<&str>,
        value: Option<Value>,
    ) -> Option<Value> {
        // Only an asset-valued field needs provenance, and finding it walks the
        // prim's opinions — so the type is checked before the walk.
        let site = value
            .as_ref()
            .filter(|value| value.is_asset_valued())
            .and_then(|_| self.store.index_at(prim_path))
            .and_then(|index| index.strongest_opinion(field, graph, prop_suffix));
        value.map(|value| self.resolve_asset_values(graph, value, site.as_ref()))
    }

    /// Fills the evaluated and resolved paths on an `asset` value authored at
    /// `site`, recording any expression failure in the cache's query
    /// diagnostics — the error channel a value query has, since it answers
    /// through a value rather than a diagnostic.
    ///
    /// The seam every composed value source shares: a `default` opinion reaches
    /// it through [`Self::anchor_asset_paths`], a time-sampled one through the
    /// provenance its resolver carries out, and a value replayed from a cached
    /// [`AttributeValueSource::TimeSamples`] through the stage. A clip resolves
    /// against its own layer inside the clip cache instead, and merges its
    /// diagnostics here through [`Self::record_clip_diagnostics`].
    pub(crate) fn resolve_asset_values(&mut self, graph: &LayerGraph, value: Value, site: Option<&AssetSite>) -> Value {
        let mut errors = Diagnostics::default();
        let resolved = asset_resolve::resolve_values(graph, value, site, &mut errors);
        self.query_diagnostics.extend(errors);
        resolved
    }

    /// Returns the composed `apiSchemas` list for a prim: the items of the
    /// generic list-op fold over the field.
    pub fn api_schemas(&mut self, graph: &LayerGraph, path: &Path) -> Result<Vec<Token>, QueryError> {
        let path = self.effective_path(graph, &path.prim_path())?;
        self.ensure_index(graph, &path)?;
        match self
            .cached(&path)
            .resolve_field(FieldKey::ApiSchemas.as_str(), graph, None)?
        {
            Some(Value::TokenListOp(op)) => Ok(op.explicit_items),
            _ => Ok(Vec::new()),
        }
    }

    /// Resolves the `clipSets` strength-ordering list-op on the prim at `path`,
    /// folding the list-op edits across every contributing layer (spec 12.2.6).
    /// `None` when `clipSets` is unauthored (clip sets fall back to name order).
    pub fn clip_sets_list_op(
        &mut self,
        graph: &LayerGraph,
        path: &Path,
    ) -> Result<Option<sdf::StringListOp>, QueryError> {
        let path = self.effective_path(graph, &path.prim_path())?;
        self.ensure_index(graph, &path)?;
        self.cached(&path).clip_sets_list_op(graph)
    }

    /// Returns the composed `connectionPaths` list for an attribute path,
    /// folding list-op edits (prepend / append / add / delete) across every
    /// contributing layer. Non-property paths trivially return an empty list.
    pub fn connection_paths(&mut self, graph: &LayerGraph, path: &Path) -> Result<Vec<Path>, QueryError> {
        self.property_targets(graph, path, FieldKey::ConnectionPaths)
    }

    /// Returns the composed raw `targetPaths` list for a relationship path,
    /// folding list-op edits (prepend / append / add / delete) across every
    /// contributing layer. Non-property paths trivially return an empty list.
    ///
    /// These are the raw targets (the resolved `targetPaths` list op, spec
    /// 12.4); target forwarding — recursively chasing relationship-to-
    /// relationship chains — is not applied here.
    pub fn relationship_targets(&mut self, graph: &LayerGraph, path: &Path) -> Result<Vec<Path>, QueryError> {
        self.property_targets(graph, path, FieldKey::TargetPaths)
    }

    /// Returns the forwarded `targetPaths` for a relationship (spec 12.4):
    /// a target that resolves to a relationship is replaced, recursively, by
    /// that relationship's own forwarded targets. Every other target is kept
    /// as-is — prim paths, attribute paths, and any target that does not
    /// resolve to a relationship (a dangling or unloaded path). This matches
    /// C++ `UsdRelationship::GetForwardedTargets`, which forwards only through
    /// live relationships. Cycles are broken (each relationship is followed
    /// once) and duplicates collapse, keeping first occurrence.
    ///
    /// The walk uses an explicit stack rather than recursion (mirroring
    /// [`crate::usd::ConnectionGraph::resolve_chain`]) so a deep relationship
    /// chain cannot overflow the call stack.
    ///
    /// A target on a prim the stage does not hold — outside the population
    /// mask, or below an inactive prim — is kept as-is without composing that
    /// prim, as C++ keeps a target whose `GetPrimAtPath` is invalid.
    pub fn forwarded_relationship_targets(&mut self, graph: &LayerGraph, path: &Path) -> Result<Vec<Path>, QueryError> {
        let mut out = Vec::new();
        let mut emitted = HashSet::new();
        let mut followed = HashSet::new();
        followed.insert(path.clone());

        // Seed with the queried relationship's raw targets. Targets are pushed
        // reversed so the strongest (first) target is popped and resolved
        // first, preserving authored order in `out`.
        let mut stack: Vec<Path> = self.relationship_targets(graph, path)?.into_iter().rev().collect();
        while let Some(target) = stack.pop() {
            // Only property targets can be relationships; a prim-path target is
            // always terminal. Classify property targets by composed spec type,
            // once the population is known to reach the prim. A prototype root
            // has no properties at the stage tier (C++ reads it through an
            // empty prim index), so a target on one is terminal too.
            let is_relationship = target.is_property_path() && {
                let prim = target.prim_path();
                self.population_reaches(graph, &prim)?
                    && !self.is_prototype(&prim)
                    && matches!(self.spec_type(graph, &target)?, Some(SpecType::Relationship))
            };
            if is_relationship {
                if !followed.insert(target.clone()) {
                    continue; // already followed — break the cycle
                }
                stack.extend(self.relationship_targets(graph, &target)?.into_iter().rev());
            } else if emitted.insert(target.clone()) {
                out.push(target);
            }
        }
        Ok(out)
    }

    /// Composes a path-list-op property field (`connectionPaths` or
    /// `targetPaths`) by folding list-op edits across every contributing layer
    /// and mapping targets through composition arcs into the stage namespace.
    /// Both fields follow generic list-op value resolution (spec 12.2.6).
    fn property_targets(&mut self, graph: &LayerGraph, path: &Path, field: FieldKey) -> Result<Vec<Path>, QueryError> {
        self.compose_property_paths(graph, path, field, false)
    }

    /// Composes a path-list-op property field into stage namespace. With
    /// `deleted` it returns the field's deleted entries (the `delete`-op paths);
    /// otherwise the resolved targets/connections. On an instance proxy both
    /// resolve against the shared prototype's subtree and map the
    /// prototype-namespace results back to the queried instance (spec 11.3.4
    /// under 11.3.3).
    fn compose_property_paths(
        &mut self,
        graph: &LayerGraph,
        path: &Path,
        field: FieldKey,
        deleted: bool,
    ) -> Result<Vec<Path>, QueryError> {
        if !path.is_property_path() {
            return Ok(Vec::new());
        }
        let prim = path.prim_path();
        let prop_suffix = path.property_suffix().to_owned();
        let anchor = self.redirect_anchor(graph, &prim)?;

        let resolved_prim = match &anchor {
            Some((origin, canonical)) => prim.replace_prefix(origin, canonical).unwrap_or_else(|| prim.clone()),
            None => prim.clone(),
        };
        self.ensure_index(graph, &resolved_prim)?;

        // A property whose prim composes in place (no instance redirect), read by
        // the non-deleted walk, resolves into its own namespace, so its targets
        // can memoize on the prim's own entry. Instance proxies map results back
        // per instance and the deleted-paths walk is rare, so both resolve live.
        // Whether the result is actually cacheable also turns on it not reading
        // cross-prim instance state, decided once `compute_instance_targets` runs.
        let is_connection = matches!(field, FieldKey::ConnectionPaths);
        let memo_candidate = !deleted && anchor.is_none();
        let memo_key = memo_candidate.then(|| TargetMemoKey {
            kind: if is_connection {
                PropertyTargetKind::Connection
            } else {
                PropertyTargetKind::Relationship
            },
            property_suffix: prop_suffix.clone(),
        });
        if let Some(key) = &memo_key
            && let Some(hit) = self.store.target_memo(&resolved_prim, key)
        {
            let TargetMemo { targets, errors } = hit.clone();
            // Re-surface the cached errors: an unrelated index invalidation may
            // have cleared `query_diagnostics` since, so push any it now lacks.
            self.query_diagnostics.extend(errors);
            return Ok(targets);
        }

        // A connection/relationship target authored in a class that translates but
        // names a different instance of that class is dropped from that class
        // node's contribution (C++ `_TargetInClassAndTargetsInstance`). The cache
        // precomputes the cross-prim instance set; the per-node target walk
        // consults it so a valid stronger opinion for the same path survives.
        let (instance_targets, read_cross_prim) = if deleted {
            (HashSet::new(), false)
        } else {
            self.compute_instance_targets(graph, &resolved_prim, field, &prop_suffix)?
        };

        // The resolved-targets walk translates each target through its
        // contributing node's map (relocates folded in), so it needs no separate
        // relocate-chaining. The deleted-paths walk has no per-node origin, so it
        // still chains every entry through the prim's effective relocates.
        let index = self.cached(&resolved_prim);
        let (mut targets, invalid) = if deleted {
            (
                index.resolve_path_list_op_deleted(field, graph, Some(&prop_suffix))?,
                Vec::new(),
            )
        } else {
            index.resolve_path_list_op_validated(field, graph, Some(&prop_suffix), &instance_targets)?
        };
        if deleted && graph.has_relocates() {
            let relocates = effective_relocates(graph, &resolved_prim, self.store.entries());
            for target in &mut targets {
                *target = chain_through_relocates(target, &relocates, None);
            }
        }

        // Targets dropped during composition are reported in authored order, the
        // `invalid` list already honoring list-op composition (a target shadowed
        // by a stronger explicit, or retracted by a delete, is not reported).
        let mut errs = Diagnostics::default();
        for inv in invalid {
            errs.report(match inv.kind {
                InvalidTargetKind::External => CompositionDiagnostic::InvalidExternalTargetPath {
                    is_connection,
                    target: inv.target,
                    property: inv.property,
                    layer: graph.identifier(inv.layer).to_string(),
                    arc: inv.arc,
                    arc_root: inv.arc_root,
                    composing: prim.clone(),
                },
                InvalidTargetKind::Instance => CompositionDiagnostic::InvalidInstanceTargetPath {
                    is_connection,
                    target: inv.target,
                    property: inv.property,
                    layer: graph.identifier(inv.layer).to_string(),
                    composing: prim.clone(),
                },
            });
        }

        // Targets resolved in the shared prototype's namespace map back to the
        // queried instance (spec 11.3.4 under 11.3.3).
        if let Some((origin, target_prefix)) = &anchor {
            for target in &mut targets {
                if let Some(remapped) = target.replace_prefix(target_prefix, origin) {
                    *target = remapped;
                }
            }
        }
        // Cache the in-place result for repeat queries, the errors travelling with
        // it so a later cache hit can re-surface them. A resolution that read
        // cross-prim instance state is excluded: a target prim's later
        // instance-status change is not tracked by this property's invalidation,
        // so it must resolve live. The deleted walk and instance proxies (no
        // `memo_key`) just append to the transient channel.
        if let Some(key) = memo_key.filter(|_| !read_cross_prim) {
            let memo = TargetMemo {
                targets: targets.clone(),
                errors: errs.clone(),
            };
            self.store.set_target_memo(&resolved_prim, key, memo);
        }
        self.query_diagnostics.extend(errs);
        Ok(targets)
    }

    /// Computes the cross-prim set of connection/relationship targets authored in
    /// a class (an inherit node) that name a *different* instance of that class
    /// (C++ `_TargetInClassAndTargetsInstance`), keyed by the `(target, property)`
    /// node-namespace pair the target walk matches on.
    ///
    /// This is the purely structural fact "is this class target an instance
    /// target"; list-op composition (delete / explicit shadowing) and the actual
    /// dropping/reporting are left to `resolve_path_list_op_validated`, which
    /// consults this set per node contribution. A target inside the class itself
    /// (`connectionPathInsideInheritedClass`) is never an instance target.
    ///
    /// Each candidate target prim is composed at the path that actually composes
    /// it ([`Self::effective_path`]), so a target inside an instance is checked
    /// against its shared prototype's subtree.
    ///
    /// Returns the set paired with whether any candidate was gathered — i.e.
    /// whether the resolution read cross-prim instance state by composing target
    /// prims. The target memo is unsafe in that case (a target prim's later
    /// instance-status change is not tracked by the property's own value-tier
    /// restale), so the caller skips memoization when it is `true`.
    fn compute_instance_targets(
        &mut self,
        graph: &LayerGraph,
        resolved_prim: &Path,
        field: FieldKey,
        prop_suffix: &str,
    ) -> Result<(HashSet<(Path, Path)>, bool), QueryError> {
        // Phase 1: gather candidates that translate, releasing the index borrow
        // before the cross-prim composition in phase 2.
        let mut candidates: Vec<InstanceCandidate> = Vec::new();
        let mut seen: HashSet<(Path, Path)> = HashSet::new();
        {
            let index = self.cached(resolved_prim);
            for (id, node) in index.nodes_with_ids() {
                if node.arc != ArcType::Inherit || !node.has_specs() {
                    continue;
                }
                let class_path = index.graph().path_at_introduction(id);
                // The selection-free form for the within-class test below: a
                // class defined inside a variant has a qualified introduction
                // path, while target paths compare selection-free.
                let class_prefix = class_path.strip_all_variant_selections();
                let members = graph.layer_stack(node.layer_stack_id());
                let class_layers: Vec<LayerId> = members.iter().map(|(l, _)| *l).collect();
                // The node's map to the root namespace (C++ `PcpNodeRef::GetMapToRoot`).
                let map = &node.map_to_root;
                let property = Path::new(&format!("{}{prop_suffix}", node.path))?;
                for &(layer, _) in members.iter() {
                    let Some(value) = graph.layer(layer).data().try_field(&property, field.as_str())? else {
                        continue;
                    };
                    let list_op = match value.into_owned() {
                        Value::PathListOp(op) => op,
                        Value::PathVec(paths) => sdf::PathListOp::explicit(paths),
                        _ => continue,
                    };
                    for path in list_op.iter() {
                        let target = property.make_absolute(path);
                        // A target inside the class itself is a normal within-class
                        // target (C++ `connectionPathInsideInheritedClass`); only a
                        // target that translates can name an instance. A relative
                        // target anchors at the class node's qualified site, so
                        // both sides compare selection-free.
                        if target
                            .prim_path()
                            .strip_all_variant_selections()
                            .has_prefix(&class_prefix)
                        {
                            continue;
                        }
                        if !seen.insert((target.clone(), property.clone())) {
                            continue;
                        }
                        let Some(translated) = map.translate_to_target(&target) else {
                            continue;
                        };
                        candidates.push(InstanceCandidate {
                            target,
                            property: property.clone(),
                            translated,
                            class_layers: class_layers.clone(),
                            class_path: class_path.clone(),
                        });
                    }
                }
            }
        }

        // Phase 2: compose each target prim for the cross-prim inherit check.
        // A non-empty candidate set means the result read another prim's instance
        // status, so the caller must not memoize it.
        let read_cross_prim = !candidates.is_empty();
        let mut instance_targets: HashSet<(Path, Path)> = HashSet::new();
        for c in candidates {
            // A target naming a prim inside an instance stands for a prim in that
            // instance's shared prototype, so the class check reads the index
            // that composes it (spec 11.3.3).
            let target_prim = self.effective_path(graph, &c.translated.prim_path())?;
            self.ensure_index(graph, &target_prim)?;
            if target_prim_inherits_class(self.cached(&target_prim), graph, &c.class_layers, &c.class_path) {
                instance_targets.insert((c.target, c.property));
            }
        }
        Ok((instance_targets, read_cross_prim))
    }

    /// Composes a relationship's target paths together with the paths its
    /// list-op deletes, returned as `(targets, deleted)` (C++
    /// `PcpBuildFilteredTargetIndex` and its `deletedPaths` out-param). Both are
    /// mapped into stage namespace; a non-property path yields two empty lists.
    pub fn compute_relationship_target_paths(
        &mut self,
        graph: &LayerGraph,
        path: &Path,
    ) -> Result<(Vec<Path>, Vec<Path>), QueryError> {
        self.compute_target_paths(graph, path, FieldKey::TargetPaths)
    }

    /// Composes an attribute's connection paths together with the paths its
    /// list-op deletes (the connection analog of
    /// [`Self::compute_relationship_target_paths`]).
    pub fn compute_attribute_connection_paths(
        &mut self,
        graph: &LayerGraph,
        path: &Path,
    ) -> Result<(Vec<Path>, Vec<Path>), QueryError> {
        self.compute_target_paths(graph, path, FieldKey::ConnectionPaths)
    }

    /// Composes both the resolved and the deleted entries of a path-list-op
    /// property field. TODO(perf): C++ surfaces both from a single target-index
    /// build; this composes the field twice.
    fn compute_target_paths(
        &mut self,
        graph: &LayerGraph,
        path: &Path,
        field: FieldKey,
    ) -> Result<(Vec<Path>, Vec<Path>), QueryError> {
        let targets = self.compose_property_paths(graph, path, field, false)?;
        let deleted = self.compose_property_paths(graph, path, field, true)?;
        Ok((targets, deleted))
    }

    /// Returns the composed list of child names for a prim path (C++
    /// `PcpPrimIndex::ComputePrimChildNames`'s `nameOrder` out-param).
    pub fn prim_children(&mut self, graph: &LayerGraph, path: &Path) -> Result<Vec<Token>, QueryError> {
        let names = self.compute_prim_child_names(graph, path)?.0;
        // Filtered here, where the list is produced, so no caller can compose a
        // child list the population mask has not been applied to — C++ masks
        // inside `_ComposeChildren` for the same reason. Activeness is applied
        // by [`Self::populated_children`].
        Ok(self.filter_child_names(path, names))
    }

    /// Composes a prim's child names alongside the names prohibited at it (C++
    /// `PcpPrimIndex::ComputePrimChildNames` / `_ComposePrimChildNames`, whose
    /// `nameOrder` and `prohibitedNames` out-params this returns as a pair).
    ///
    /// The composition graph is walked weakest-to-strongest. At each contributing
    /// node, the relocates authored in that node's layer stack are applied to the
    /// names contributed so far (`relocates::apply_child_relocates`) — a child renamed
    /// within the same parent keeps the source's position, a child relocated to a
    /// different parent is removed, and a child relocated in from elsewhere is
    /// appended in the normative element order (spec §8.2) — and then the node's own `primChildren` /
    /// `primOrder` compose over the running order (mirroring C++
    /// `_ComposePrimChildNamesAtNode`). Every relocation source becomes a
    /// prohibited name, removed from the final order.
    ///
    /// Within a node, the contributing layers fold weakest-first: each appends
    /// its not-yet-seen names in authored order, then its `primOrder` opinion
    /// reshuffles the running list, so several sublayers can contribute partial
    /// orderings. The recursive build already grafts inherit/specialize/reference
    /// targets with their subtrees, so a single structural walk covers class
    /// children. On an instance prim, locally-authored children are dropped (spec
    /// 11.3.3) so the children come only from the composition arcs.
    pub fn compute_prim_child_names(
        &mut self,
        graph: &LayerGraph,
        path: &Path,
    ) -> Result<(Vec<Token>, Vec<Token>), QueryError> {
        let path = self.effective_path(graph, path)?;
        self.ensure_index(graph, &path)?;

        // An instance prim's children come only from its composition arcs;
        // opinions authored at the instance's own namespace — the local root and
        // the ancestral arcs the instance is nested under — are discarded
        // (spec 11.3.3). The instance prim's own index is otherwise left intact.
        let drop_local = self.is_instance(graph, &path)?;

        let index = self.cached(&path);
        // The instance-local partition is keyed by the prim's own namespace depth
        // ([`PrimIndex::instance_local_nodes`]); empty when not dropping locals.
        let local = if drop_local {
            let depth = path.prim_element_count() as u16;
            index.instance_local_nodes(depth, depth)
        } else {
            Vec::new()
        };

        let has_relocates = graph.has_relocates();
        let mut name_order: Vec<Token> = Vec::new();
        let mut name_set: HashSet<Token> = HashSet::new();
        let mut prohibited: HashSet<Token> = HashSet::new();

        // Contributing nodes are walked in reverse strength order (weak-to-
        // strong) — the order in which C++ `_ComposePrimChildNames` finishes each
        // node, visiting every descendant before its ancestor. A non-contributing
        // node (inert or culled) is skipped (C++ `_ComposePrimChildNamesAtNode`'s
        // `CanContributeSpecs` guard): an inert relocate placeholder or salted-
        // earth source must not inject names or relocates at its site.
        let nodes = index
            .nodes_with_ids()
            .filter(|(id, node)| !(node.is_inert() || node.is_culled() || drop_local && local[id.idx()]))
            .map(|(_, node)| node)
            .rev();

        for node in nodes {
            // Apply this node's layer-stack relocates to the names contributed so
            // far, then compose the node's own children on top. A relocation
            // source is always a namespace child introduced by a composition arc
            // (a strictly weaker node), so by the time this node's relocates run
            // the source name is already in `name_order`; the relocates therefore
            // correctly run before this node's own `primChildren` fold.
            //
            // The pairs are chained within the node's layer stack
            // (`combined_relocates`, C++ `GetRelocatesSourceToTarget`): a same-
            // parent chain `A -> B`, `B -> C` resolves `A` straight to `C`, so the
            // intermediate `B` (a prohibited source) does not survive as the final
            // name. TODO(perf): `combined_relocates` rescans and re-allocates the
            // node's layer-stack relocates on every contributing node (here and in
            // the indexer's arc-map fold), gated on `has_relocates`. Precompute it
            // once per distinct ambient, keyed by `LayerStackId` on the composed
            // stack instance, so this becomes a lookup (C++ caches these on
            // `PcpLayerStack`).
            if has_relocates {
                let pairs = graph.combined_relocates(node.layer_stack_id());
                apply_child_relocates(&node.path, &pairs, &mut name_order, &mut name_set, &mut prohibited);
            }
            // The node's contributing layers fold weakest-first; `layer_stack()`
            // is strongest-first, so it is reversed here. Only the layer index is
            // needed (the offset `layers()` folds in is irrelevant to name
            // composition), so the borrowed slice is reversed in place.
            for &(layer, _) in graph.layer_stack(node.layer_stack_id()).iter().rev() {
                let layer_data = graph.layer(layer);
                append_unseen_names(
                    layer_data,
                    &node.path,
                    ChildrenKey::PrimChildren,
                    &mut name_order,
                    &mut name_set,
                );
                if let Ok(Value::TokenVec(order)) = layer_data
                    .data()
                    .get_field(&node.path, FieldKey::PrimOrder.as_str())
                    .map(|v| v.into_owned())
                {
                    sdf::apply_ordering(&mut name_order, &order);
                }
            }
        }

        // Names relocated away cannot reappear here (C++ removes the prohibited
        // set from the composed order after the walk).
        if !prohibited.is_empty() {
            name_order.retain(|name| !prohibited.contains(name));
        }
        let mut prohibited: Vec<Token> = prohibited.into_iter().collect();
        // Order the prohibited set the same way as the child names (spec §8.2),
        // so the two outputs of this function stay consistent.
        prohibited.sort_by(|a, b| sdf::element_cmp(a.as_str(), b.as_str()));
        Ok((name_order, prohibited))
    }

    /// Returns the composed list of property names for a prim path.
    ///
    /// Merges `propertyChildren` weakest-to-strongest. `propertyOrder` is not
    /// applied: USD value resolution ignores `reorder properties` (C++
    /// `_ComposePrimPropertyNames` passes a null order field in USD mode), so
    /// composed property order follows authoring order alone.
    pub fn prim_properties(&mut self, graph: &LayerGraph, path: &Path) -> Result<Vec<Token>, QueryError> {
        let path = &self.effective_path(graph, path)?;
        self.composed_property_names(graph, path)
    }

    /// Reports a [`CompositionDiagnostic::InconsistentPropertyType`] for each
    /// composed property of `prim_path` whose specs mix attribute and
    /// relationship kinds (C++ `PcpErrorInconsistentPropertyType`).
    ///
    /// Run from the index build, so a conflict is visible after composition even
    /// when nobody asks for a property stack, and recorded on the entry the
    /// build produced: the conflict is a fact about that composed prim and
    /// lasts exactly as long as it does. A
    /// [`property_stack`](Self::property_stack) query detects the same conflict
    /// again from its own walk and reports it into the transient channel; the
    /// two owners are folded through one collection, so the diagnostic reads
    /// once however many passes found it.
    fn report_property_type_conflicts(&mut self, graph: &LayerGraph, prim_path: &Path, names: &[Token]) {
        let Some(index) = self.store.index_at(prim_path) else {
            return;
        };
        let mut conflicts = Diagnostics::default();
        for name in names {
            let Ok(prop_path) = prim_path.append_property(name) else {
                continue;
            };
            conflicts.extend(Self::property_type_conflicts(graph, index, prim_path, &prop_path));
        }
        let cached = self.store.replace_property_errors(prim_path, conflicts);
        debug_assert!(
            cached,
            "property conflicts recorded against an uncached prim: {prim_path}"
        );
    }

    /// Walks a property's specs strongest-first across the prim's composition
    /// graph, returning its `(layer identifier, spec path)` stack and the
    /// inconsistent-spec-type errors. The first spec's kind (attribute vs
    /// relationship) is the defining type; weaker specs of the other kind are
    /// inconsistent (C++ `PcpErrorInconsistentPropertyType`) — dropped from the
    /// stack and reported. `prop_path` is the property in `prim_path`'s namespace.
    ///
    /// Reads the memoized prim spec stack as the candidate set: a property spec
    /// requires its owning prim spec, so every layer that authors the property
    /// also authors the prim spec the stack records. Inert and culled nodes are
    /// skipped (matching the structural node walk); permission-denied sites stay.
    fn property_type_conflicts(
        graph: &LayerGraph,
        index: &PrimIndex,
        prim_path: &Path,
        prop_path: &Path,
    ) -> Diagnostics {
        let mut conflicts = Diagnostics::default();
        let mut defining = DefiningKind::default();
        for (site, node) in index.live_spec_sites() {
            let Some(p) = prop_path.replace_prefix(prim_path, node.path()) else {
                continue;
            };
            let Some(spec_type) = graph.layer(site.layer).data().spec_type(&p) else {
                continue;
            };
            let layer_id = graph.identifier(site.layer);
            if let Some(conflict) = defining.admit(spec_type, layer_id, &p, prop_path, prim_path) {
                conflicts.report(conflict);
            }
        }
        conflicts
    }

    /// Returns the composed [`PrimIndex`] for a prim, building it if needed (C++
    /// `UsdPrim::GetPrimIndex` / `PcpCache::ComputePrimIndex`). The borrow is
    /// tied to the cache, so callers reach it through the borrowing
    /// [`PrimIndexRef`](crate::usd::PrimIndexRef) view.
    pub fn index(&mut self, graph: &LayerGraph, path: &Path) -> Result<&PrimIndex, QueryError> {
        let path = self.effective_path(graph, &path.prim_path())?;
        self.ensure_index(graph, &path)?;
        Ok(self.cached(&path))
    }

    /// Returns the prim stack: each `(layer identifier, spec path)` site that
    /// contributes a prim spec, strongest first (C++ `UsdPrim::GetPrimStack`).
    ///
    /// Projects the live spec sites; permission-denied sites are kept — they still
    /// author a spec, so the structural introspection lists them, unlike value
    /// resolution.
    pub fn prim_stack(&mut self, graph: &LayerGraph, path: &Path) -> Result<Vec<SpecSiteRecord>, QueryError> {
        let path = self.effective_path(graph, &path.prim_path())?;
        self.ensure_index(graph, &path)?;
        let index = self.cached(&path);
        let stack = index
            .live_spec_sites()
            .map(|(site, node)| SpecSiteRecord {
                layer: graph.identifier(site.layer).to_string(),
                path: node.path().clone(),
                offset: site.offset,
            })
            .collect();
        Ok(stack)
    }

    /// Returns the property stack for a property path: each `(layer identifier,
    /// spec path)` site that authors a property spec, strongest first. Backs
    /// C++ `UsdProperty::GetPropertyStack`. A non-property path yields an empty
    /// stack.
    ///
    /// `time` selects the walk: `None` collects the graph specs alone, while a
    /// numeric time also lists the clip layer each participating value-clip set
    /// sources the property from there.
    pub fn property_stack(
        &mut self,
        graph: &LayerGraph,
        path: &Path,
        time: Option<f64>,
    ) -> Result<Vec<SpecSiteRecord>, QueryError> {
        let path = self.effective_path(graph, path)?;
        if !path.is_property_path() {
            return Ok(Vec::new());
        }
        let prim_path = path.prim_path();
        let suffix = path.property_suffix().to_owned();
        self.ensure_index(graph, &prim_path)?;
        let mode = match time {
            None => ResolveMode::Default,
            Some(time) => ResolveMode::Numeric(time),
        };
        let mut resolver = StackResolver {
            graph,
            prop_path: &path,
            prim_path: &prim_path,
            time,
            sites: Vec::new(),
            conflicts: Diagnostics::default(),
            defining: DefiningKind::default(),
        };
        self.resolve_property(graph, &prim_path, &suffix, mode, &mut resolver)?;
        let StackResolver { sites, conflicts, .. } = resolver;
        // The walk re-derives these on every call, and the prim build detects
        // the same conflicts from its own pass; the channel keeps one copy of
        // each, so the diagnostic reads once however often it is found.
        self.query_diagnostics.extend(conflicts);
        Ok(sites)
    }

    /// Returns the variant selections composed onto a prim, as `(set,
    /// selection)` pairs sorted by set name. Backs C++
    /// `UsdVariantSets::GetAllVariantSelections`. These are the effective
    /// selections — authored, fallback, or default — read from the variant
    /// selection sites composed into the index, so they match the variant
    /// branches that actually contribute opinions.
    pub fn variant_selections(&mut self, graph: &LayerGraph, path: &Path) -> Result<Vec<(String, String)>, QueryError> {
        let path = self.effective_path(graph, &path.prim_path())?;
        self.ensure_index(graph, &path)?;
        Ok(self.cached(&path).variant_selections())
    }

    // ------------------------------------------------------------------
    // Core composition
    // ------------------------------------------------------------------

    /// Ensures the prim index for `path` is built and cached.
    ///
    /// When LIVRPS composition produces an empty index (no layer has a direct
    /// spec at the composed path), parent composition nodes are checked for
    /// child specs at their respective paths. This handles prims that only
    /// exist through ancestor inherit, specialize, or reference arcs.
    ///
    /// Two paths are deliberately left uncached, so an absent entry means
    /// either: a build that demanded a not-yet-loaded layer (the stage's load
    /// loop recomposes it), and a path in the reserved `/__Prototype_N`
    /// namespace with no prototype registered there. The latter names no scene
    /// — C++ hands back an invalid prim for it — and composing the synthetic
    /// path in place would cache an empty index that a later mint would have to
    /// evict.
    pub(super) fn ensure_index(&mut self, graph: &LayerGraph, path: &Path) -> Result<(), QueryError> {
        if path.is_empty() || self.is_indexed(path) || self.in_unregistered_prototype(path) {
            return Ok(());
        }
        // Composing a prim whose ancestor is still mid-build cannot seed from that
        // ancestor's opinions. This happens only when pre-caching an
        // inherit/specialize target that is a namespace descendant of an
        // in-progress ancestor (a prim inheriting its own descendant). The
        // descendant may be more than one level down (`/A` inheriting `/A/B/C`),
        // so every strict ancestor is checked, not just the parent. Defer without
        // caching an under-seeded result; a later query composes it correctly once
        // the ancestor is cached, and the cycle-closing arc finds no cached target.
        if path.strict_ancestors().any(|a| self.in_progress.contains(&a)) {
            return Ok(());
        }
        // A re-entrant call for a path already mid-build is a class-hierarchy
        // cycle reached through inherit/specialize pre-caching. Bail out: the
        // outer build finishes, and the cycle-closing arc finds no cached target.
        if !self.in_progress.insert(path.clone()) {
            return Ok(());
        }
        let result = self.build_index(graph, path);
        self.in_progress.remove(path);
        result
    }

    /// Builds and caches the index for `path`, assuming `path` is already
    /// recorded in [`in_progress`](Self::in_progress) (see [`ensure_index`](Self::ensure_index)).
    fn build_index(&mut self, graph: &LayerGraph, path: &Path) -> Result<(), QueryError> {
        // An already-cached path must not rebuild through here: the builder's
        // cache-hit path reports empty expression-variable dependencies (the
        // cached entry's registration is authoritative), so re-registering
        // would wipe the prim's recorded `${VAR}` reads. `ensure_index`'s
        // `is_indexed` check upholds this.
        debug_assert!(
            !self.is_indexed(path),
            "build_index on a cached path would re-register empty expression-variable deps",
        );
        // Snapshot the demand queue so a reference/payload arc to a not-yet-loaded
        // layer — demanded by this build or by a pre-cached ancestor below — is
        // detected after the build and keeps the incomplete index out of the cache.
        let pending_before = self.pending_loads.len();
        // Compose ancestors first so the parent's `CompositionContext` (and
        // its `within_instance` flag, spec 11.3.3) is available. Composition
        // is a pure function of the layer stack, path, and parent context, so
        // building ancestors eagerly only fixes the parent context — it does
        // not change any prim's resolved opinions.
        if let Some(parent) = path.parent()
            && !parent.is_abs_root()
            && !self.is_indexed(&parent)
        {
            self.precache_path(graph, &parent);
        }

        let parent_ctx = path
            .parent()
            .and_then(|p| self.store.context_at(&p))
            .cloned()
            .unwrap_or_else(|| self.root_parent_context());
        // Computed per path, not inherited from the parent context: two
        // siblings can have different load rules, and a rule authored on an
        // ancestor doesn't by itself determine this path's own decision (see
        // `LoadRules::effective_rule`'s lookahead).
        let load_payloads = self.is_loaded(path);

        // TODO(rayon): `build_with_cache` is a pure function of `graph`,
        // `&parent_ctx`, and the store's entries, so sibling prims compose
        // independently and this is the natural per-prim `par_iter` boundary.
        // The blocker is the shared store the inherit/specialize targets read
        // mid-build — parallelizing the driver needs a concurrent map or a
        // topological (targets-first) build order.
        let (mut index, mut build_errors, pending_loads, mut expr_var_deps) =
            PrimIndex::build_with_cache(path, graph, &parent_ctx, self.store.entries(), load_payloads)?;
        self.pending_loads.extend(pending_loads);
        // A reference/payload arc demanded a layer that is not yet loaded — here,
        // or in a pre-cached ancestor that then seeded this build incompletely —
        // so this index is incomplete: leave `path` uncached for the stage's query
        // loop to load and recompose. Returning before `cache_index` keeps a
        // partial index — and the transient errors composed without the missing
        // layer — out of the cache entirely.
        if self.awaits_load(pending_before) {
            return Ok(());
        }
        // Retain recoverable composition errors recorded during the build (e.g.
        // an unresolvable arc). An invalid opinion at a
        // relocation source is reported "while composing" this prim, so stamp its
        // path — the indexer may have recorded it deep in a sub-index build whose
        // own site path differs.
        //
        // Rebuilt through the collection, since stamping can make two
        // diagnostics from different sub-builds equal and only a re-insertion
        // applies uniqueness to the stamped values.
        build_errors = build_errors
            .into_iter()
            .map(|mut error| {
                match &mut error {
                    CompositionDiagnostic::OpinionAtRelocationSource { composing, .. }
                    | CompositionDiagnostic::ProhibitedRelocationSource { composing, .. } => *composing = path.clone(),
                    CompositionDiagnostic::ArcCycle(info) => info.composing = path.clone(),
                    _ => {}
                }
                error
            })
            .collect();
        // `build_errors` accumulates every error for this prim and is carried
        // into the prim's cache entry at the end, replacing any prior entry, so
        // a rebuild never duplicates and a fixed prim drops its stale errors.

        // Inside an instance, local opinions on descendants are discarded
        // (spec 11.3.3): the subtree is composed purely from the arcs the
        // instance brings in. This is enforced at composition time — the indexer
        // marks the local root site inert for any prim whose parent context is
        // `within_instance`, so the local arcs are never followed — rather than
        // pruned afterwards, which would leave the nodes those local arcs spawned.

        // Inside an instance, the ancestral arcs the instance prim is nested
        // under contribute opinions at the instance's own namespace that must
        // not leak into the shared subtree (spec 11.3.3). The indexer already
        // inerted the local root for an instance descendant; this inerts those
        // outer arcs too (the C++ `!HasTransitiveDirectDependency` nodes),
        // leaving only the arcs introduced at the instance and their subtrees.
        // Runs before deriving instance state below so the
        // suppressed opinions are already inert.
        if let Some(depth) = parent_ctx.instance_depth {
            index.mark_instance_local_inert(path.prim_element_count() as u16, depth);
        }

        // This prim is an instance when its composition declares
        // `instanceable = true` and has an instanceable node; its descendants then
        // inherit `within_instance`. A nested instance therefore re-arms the
        // flag for its own subtree. Computed from the freshly built index so it
        // agrees with a later `Prim::is_instance`, avoiding re-entering
        // `ensure_index` for `path`.
        let is_instance = index.has_instanceable_node(path.prim_element_count() as u16)
            && matches!(
                index.resolve_field(FieldKey::Instanceable.as_str(), graph, None)?,
                Some(Value::Bool(true))
            );

        // The child-context selection resolution can evaluate a `${VAR}`
        // selection no indexing-time task did — one authored here for a set
        // declared only on a descendant — so its reads merge into this prim's
        // dependency map before it registers.
        let (mut child_context, context_deps) = index.context_for_children(graph, &parent_ctx);
        expr_var_deps.merge(context_deps);
        // A nested instance re-arms the depth to its own (deeper) level, so an
        // inner instance's descendants drop opinions above its instanceable arc
        // rather than the outer instance's.
        child_context.instance_depth = if is_instance {
            Some(path.prim_element_count() as u16)
        } else {
            parent_ctx.instance_depth
        };
        self.cache_index(graph, path, index, child_context, build_errors, expr_var_deps);
        // Report inconsistent property types at prim composition (C++
        // `PcpErrorInconsistentPropertyType`) so the conflict is visible without
        // anyone asking for a property stack. Composed property names read back
        // through the store, so this runs after the entry is cached and reports
        // onto it.
        // TODO(perf): this composes property names on every prim build to find a
        // rare conflict; gate it on a cheaper signal (e.g. a node carrying both
        // attribute and relationship specs) before scanning.
        let names = self.composed_property_names(graph, path)?;
        self.report_property_type_conflicts(graph, path, &names);
        Ok(())
    }

    /// Ensures a path and all its ancestors are cached (built on the fly if needed).
    fn precache_path(&mut self, graph: &LayerGraph, path: &Path) {
        let mut to_build = Vec::new();
        let mut p = Some(path.clone());
        while let Some(pp) = p {
            if pp.is_abs_root() || self.is_indexed(&pp) {
                break;
            }
            to_build.push(pp.clone());
            p = pp.parent();
        }
        for pp in to_build.into_iter().rev() {
            let _ = self.ensure_index(graph, &pp);
        }
    }

    /// Composes a prim's property names across its composition index, folding
    /// `propertyChildren` weakest-to-strongest (C++ `_ComposePrimPropertyNames`).
    ///
    /// Nodes are visited weakest first (the reverse of strength order), and
    /// within each node its contributing layers weakest first; each layer appends
    /// its not-yet-seen names in authored order, so a name keeps its weakest
    /// position. `propertyOrder` is not applied — USD value resolution ignores
    /// `reorder properties` — so composed property order follows authoring order
    /// alone. The recursive build already grafts inherit/specialize/reference
    /// targets with their subtrees, so this single structural walk covers class
    /// properties with no separate target rediscovery.
    fn composed_property_names(&mut self, graph: &LayerGraph, path: &Path) -> Result<Vec<Token>, QueryError> {
        self.ensure_index(graph, path)?;

        let index = self.cached(path);
        let mut result: Vec<Token> = Vec::new();
        let mut seen: HashSet<Token> = HashSet::new();

        // Fold weakest-to-strongest across both nodes and, within each node, its
        // layers: contributing nodes in reverse strength order, and `layer_stack()`
        // (strongest first) reversed in place. `seen` dedups names in O(1) while
        // `result` preserves the weakest-position order.
        for node in index.nodes().rev() {
            for &(layer, _) in graph.layer_stack(node.layer_stack_id()).iter().rev() {
                let layer_data = graph.layer(layer);
                append_unseen_names(
                    layer_data,
                    &node.path,
                    ChildrenKey::PropertyChildren,
                    &mut result,
                    &mut seen,
                );
            }
        }

        Ok(result)
    }
}

/// Appends a layer's not-yet-seen `field` children (`primChildren` /
/// `propertyChildren`) to `order` in authored order, recording each in `seen`.
/// A name already present keeps its weaker position. Shared by the prim- and
/// property-name folds (C++ `PcpComposeSiteChildNames`'s append step).
fn append_unseen_names(
    layer: &sdf::Layer,
    path: &Path,
    field: ChildrenKey,
    order: &mut Vec<Token>,
    seen: &mut HashSet<Token>,
) {
    if let Ok(Value::TokenVec(names)) = layer.data().get_field(path, field.as_str()).map(|v| v.into_owned()) {
        for name in names {
            if seen.insert(name.clone()) {
                order.push(name);
            }
        }
    }
}

/// A class-node target that translates, gathered by
/// [`IndexCache::compute_instance_targets`] for the cross-prim instance check.
struct InstanceCandidate {
    /// The authored target, in the authoring (class) node's namespace.
    target: Path,
    /// The owning property, in the authoring node's namespace.
    property: Path,
    /// The target translated to the root namespace (C++
    /// `PcpTranslatePathFromNodeToRoot`).
    translated: Path,
    /// The class node's layer-stack layers, for the cross-prim instance check.
    class_layers: Vec<LayerId>,
    /// The class path, in the node's namespace (the inherit's introduction path).
    class_path: Path,
}

/// Whether `index` (a composed target prim) inherits the class at `class_path`
/// from the same `class_layers` layer stack (C++
/// `_TargetInClassAndTargetsInstance`'s node scan): the target names an instance
/// of the class.
fn target_prim_inherits_class(
    index: &PrimIndex,
    graph: &LayerGraph,
    class_layers: &[LayerId],
    class_path: &Path,
) -> bool {
    index.all_nodes().any(|n| {
        n.arc == ArcType::Inherit
            && graph
                .layer_stack(n.layer_stack_id())
                .iter()
                .map(|(l, _)| *l)
                .eq(class_layers.iter().copied())
            && n.path.has_prefix(class_path)
    })
}

/// Whether `payload` names a target, by asset path or prim path.
fn payload_has_target(payload: &sdf::Payload) -> bool {
    !payload.asset_path.is_empty() || !payload.prim_path.is_empty()
}
