//! Per-prim composition index (`PcpPrimIndex` equivalent).
//!
//! A [`PrimIndex`] records the strength-ordered list of layer specs that
//! contribute opinions to a single composed prim. See the
//! [module-level docs](super) for the full composition overview.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::{iter, mem};

use crate::sdf::expr;
use crate::sdf::schema::{ChildrenKey, FieldKey};
use crate::sdf::{self, LayerOffset, Path, Value};

use super::compose_site::evaluate_expression;
use super::diagnostics::Diagnostics;
use super::index_store::PrimRevision;
use super::layer_stack::LayerStackId;
#[cfg(test)]
use super::mapping::MapFunction;
use super::prim_graph::{ArcType, Node, NodeFlags, NodeId, PrimIndexGraph, RelocateKind, SpecSite};
use super::prim_indexer::{BuildResult, ExprVarDeps};
use super::{ExpressionContext, LayerGraph, LayerId, VariantFallbackMap};

/// How much of the composition graph a value-resolution walk visits
/// ([`PrimIndex::live_sites`]) — C++ `Usd_Resolver`'s `skipEmptyNodes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SiteScope {
    /// Only the layers authoring a spec for this prim. Every opinion a walk can
    /// answer from lives at one of these, so this is what a walk that reads
    /// nothing but authored opinions visits.
    SpecStack,
    /// Every layer of every contributing node. A value-clip set is introduced by
    /// `clips` metadata on an *ancestor* prim, so it can apply at a node whose
    /// layers author no spec for this prim at all — a walk that consults clips
    /// has to reach those sites too.
    EveryLayer,
}

/// Composition index for a single prim.
///
/// Holds the composition tree as a node arena plus a strength-order
/// projection. Value resolution walks [`nodes`](Self::nodes) (strongest first)
/// and takes the first opinion found; tree structure is reached through
/// [`root`](Self::root) / [`children`](Self::children).
#[derive(Debug, Clone, Default)]
pub struct PrimIndex {
    /// Composition graph: node arena plus strength-order projection.
    graph: PrimIndexGraph,
    /// Strength-ordered prim spec stack: one [`SpecSite`] per `(node, layer)`
    /// that authors a spec at its node's path, strongest first, so value
    /// resolution and the `prim_stack` / `property_stack` introspection read this
    /// precomputed list. Built by [`finalize_spec_stack`](Self::finalize_spec_stack)
    /// and kept current by the spec-tier change refresh, which splices in the runs
    /// of the nodes a changed site touched ([`respec_nodes`](Self::respec_nodes))
    /// rather than rebuilding the whole thing; read through the filtered
    /// [`live_spec_sites`](Self::live_spec_sites) view. It is a resolution-time
    /// artifact, kept off [`PrimIndexGraph`] so the indexer's structural seed
    /// clone does not carry it.
    spec_stack: Vec<SpecSite>,
    /// Whether any contributing node authors `clips` or `clipSets` at its own
    /// path. Computed alongside [`spec_stack`](Self::spec_stack), whose walk
    /// visits exactly the sites a clip opinion can live at.
    authors_clips: bool,
    /// Arena handles sorted by node path: the spec-tier refresh's site index.
    /// Every node sitting at a given path forms one contiguous run, found by
    /// binary search in [`nodes_at`](Self::nodes_at), so
    /// [`refresh_has_specs_at`](Self::refresh_has_specs_at) reaches a changed
    /// site's nodes without scanning the whole arena. A permutation of handles
    /// like the graph's strength order, holding [`NodeId`]s only — it clones no
    /// paths, so it stays cheap against the heap-backed [`Path`](crate::sdf::Path).
    /// Built once per composition by [`build_path_order`](Self::build_path_order)
    /// and carried with the index; the spec-tier refresh changes only flags, never
    /// structure, so it stays valid across an in-place refresh. Lists every arena
    /// node — inert, culled, and the synthetic root — so the refresh sees each
    /// site's full candidate set. Like [`spec_stack`](Self::spec_stack), it is kept
    /// off [`PrimIndexGraph`] so the indexer's seed clone does not carry it.
    path_order: Vec<NodeId>,
}

/// The cache's per-prim composition record: the composed [`PrimIndex`], the
/// [`CompositionContext`] its children inherit, and the recoverable diagnostics
/// its composition produced.
///
/// [`IndexCache`](super::index_cache::IndexCache) stores one of these per
/// composed prim in a single [`sdf::PathTable`], so a prim's index, its child
/// context, and its errors are inserted and dropped together as one unit. The
/// builder and relocate evaluation receive the table to read already-composed
/// indices; they touch only [`index`](Self::index).
pub(crate) struct PrimEntry {
    /// The composed prim index.
    pub index: PrimIndex,
    /// The context propagated from this prim to its children.
    pub context: CompositionContext,
    /// Recoverable composition errors recorded while building [`index`](Self::index),
    /// replaced wholesale on each rebuild so they always reflect the current
    /// composition.
    pub errors: Diagnostics,
    /// Diagnostics derived from this prim's composed *property set* rather than
    /// from its graph — the inconsistent-property-type conflicts.
    ///
    /// Separate from [`errors`](Self::errors) because the two are refreshed by
    /// different edits. A property spec appearing or vanishing changes the
    /// composed property set while leaving the graph — and so the index —
    /// standing, and these are replaced wholesale at that point; a rebuild
    /// replaces both.
    pub property_errors: Diagnostics,
    /// Lazily-memoized resolved property targets — cached composed query output,
    /// not authored data — keyed by property kind and suffix. Filled on the first
    /// [`relationship_targets`] / [`connection_paths`] query for a property whose
    /// prim composes in place and whose resolution is a pure function of this
    /// prim's own opinions, and dropped with the entry; a `targetPaths` /
    /// `connectionPaths` edit clears the affected keys through the value tier
    /// ([`ScopedInvalidation`](super::index_store::ScopedInvalidation), which carries
    /// them alongside the restale). Instance proxies, the
    /// deleted-paths walk, and a resolution that consults cross-prim instance
    /// state resolve live and are never cached.
    ///
    /// [`relationship_targets`]: super::index_cache::IndexCache::relationship_targets
    /// [`connection_paths`]: super::index_cache::IndexCache::connection_paths
    pub resolved_targets: HashMap<TargetMemoKey, TargetMemo>,
    /// Validity token for answers resolved from this prim's composed state.
    ///
    /// Written only by [`IndexStore`](super::index_store::IndexStore), which
    /// mints every value and stamps a fresh one wherever it inserts an entry or
    /// mutates one in place. See [`PrimRevision`].
    pub(super) revision: PrimRevision,
}

/// Which path-list-op field a [`TargetMemo`] resolved. Narrower than
/// [`FieldKey`] so the memo map admits only the two fields that carry targets,
/// not arbitrary fields like `timeSamples`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum PropertyTargetKind {
    /// A relationship's `targetPaths`.
    Relationship,
    /// An attribute's `connectionPaths`.
    Connection,
}

/// Key into a prim's [`resolved_targets`](PrimEntry::resolved_targets) memo: the
/// property kind plus its suffix within the prim (e.g. `.binding`), so a
/// relationship and a same-named connection never share an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TargetMemoKey {
    pub kind: PropertyTargetKind,
    pub property_suffix: String,
}

/// One property's memoized resolved-target list plus the recoverable errors its
/// resolution surfaced, re-surfaced on a cache hit. See
/// [`resolved_targets`](PrimEntry::resolved_targets).
#[derive(Clone)]
pub(crate) struct TargetMemo {
    pub targets: Vec<Path>,
    pub errors: Diagnostics,
}

/// Outcome of [`PrimIndex::refresh_has_specs_at`]: what the spec-tier rescan
/// must do with the index after refreshing the affected nodes' `has_specs`.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SpecRefresh {
    /// A contributing (non-culled) node at the site was refreshed in place.
    pub contributing: bool,
    /// The index must be rebuilt rather than refreshed in place: a culled node at
    /// the site gained a spec (un-cull and graft the target's subtree), or a
    /// contributing arc target lost its last spec (cull it like an always-empty
    /// target).
    pub needs_rebuild: bool,
    /// A node an arc introduced gained its first spec or lost its last. Such a
    /// node enters or leaves an instance's key (C++
    /// `Pcp_ChildNodeInstanceableChanged`).
    pub arc_specs_changed: bool,
}

/// The spec runs a change round refreshed on one index: one entry per node the
/// round scanned, holding the run of spec-stack entries that node now
/// contributes (empty for a node that lost its last spec).
///
/// Keyed by node and free of repeats, so both readers find a node by binary
/// search: [`PrimIndex::refresh_has_specs_at`] to record a scan, skipping one an
/// earlier site in the round already made, and [`PrimIndex::respec_nodes`] to
/// claim a node's run as the strength-order walk reaches it.
#[derive(Debug, Default)]
pub(crate) struct NodeRuns(Vec<(NodeId, Vec<SpecSite>)>);

impl NodeRuns {
    /// Records the run `node` contributes, in node order, and borrows it back.
    /// `run` is called only when the round has not scanned `node` yet; a node it
    /// already holds answers `None`, since that run is the same run either way —
    /// every edit in the round is committed before any of it is scanned.
    fn record_with(&mut self, node: NodeId, run: impl FnOnce() -> Vec<SpecSite>) -> Option<&[SpecSite]> {
        let at = self.0.binary_search_by_key(&node.idx(), |(id, _)| id.idx()).err()?;
        self.0.insert(at, (node, run()));
        Some(&self.0[at].1)
    }

    /// Takes the run recorded for `node`, or `None` when the round left that
    /// node alone. Runs are keyed by arena handle, which the strength order
    /// permutes, so the walk claims each one by lookup.
    fn take(&mut self, node: NodeId) -> Option<Vec<SpecSite>> {
        let at = self.0.binary_search_by_key(&node.idx(), |(id, _)| id.idx()).ok()?;
        Some(self.0.remove(at).1)
    }

    /// Whether no run is left to place — the round touched no node of this
    /// index, or the walk has claimed every one it recorded.
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A reference/payload arc's demand for a not-yet-loaded target layer or
/// not-yet-interned target stack, carried out of the indexer (in
/// [`BuildOutput`](super::prim_indexer::BuildOutput)) to the stage's load
/// barrier. The bare asset path alone loses the authoring context the barrier
/// needs: the arc-carrying stack's composed expression variables must overlay
/// the target's own when the target's `subLayers` paths are evaluated, so the
/// right sublayer loads (a `${VAR}` inherited across the arc resolves against
/// the referrer's value, not only the target's local one). The demanding node's
/// stack handle carries that context completely — the barrier reads the
/// composed map and its variable source off the instance.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    /// Anchored asset path of the demanded reference/payload target.
    pub asset_path: String,
    /// The demanding node's layer stack, whose composed expression variables are
    /// the arc's full inherited context.
    pub context: LayerStackId,
    /// Whether the build composed without waiting for the target: a target
    /// that failed to resolve before is reported unresolved, and this asks
    /// the barrier to look for it once more. The index such a build produced
    /// is complete as it stands; one from a build that waits is not.
    pub recheck: bool,
}

impl PrimIndex {
    /// Returns `true` if no layers contribute opinions for this prim.
    ///
    /// A prim with no opinions still owns the synthetic, inert tree root, and
    /// may own culled arc nodes kept only for structure, so emptiness is the
    /// absence of any node that contributes to value resolution. A node carrying
    /// its full site stack but authoring no spec at its path (an ancestral site
    /// cloned to a child with no local opinion) likewise contributes nothing.
    pub fn is_empty(&self) -> bool {
        !self
            .graph
            .iter()
            .any(|node| !node.is_inert() && !node.is_culled() && node.has_specs())
    }

    /// Returns `true` if any node that contributes opinions was introduced by a
    /// composition arc. Inert placeholders (the synthetic root, class
    /// placeholders, and the inert relocation-source / implied-relocate nodes),
    /// culled arc nodes (empty targets), and spec-less full-stack nodes do not
    /// count: they add no shared content, so a prim that only references an empty
    /// target — or only carries an inert relocate placeholder — is not treated as
    /// composed for instancing.
    pub(crate) fn has_composition_arc(&self) -> bool {
        self.arena()
            .iter()
            .any(|node| node.arc != ArcType::Root && !node.is_inert() && !node.is_culled() && node.has_specs())
    }

    /// Iterates the nodes in strength order (strongest first).
    ///
    /// This is the order value resolution uses: it walks the strength-order
    /// projection, so specializes appear last (spec 10.4.1) regardless of where
    /// they sit in the arena. Inert and culled nodes are skipped — they
    /// contribute no opinions. The iterator is cheap and re-creatable; call it
    /// again for another pass rather than collecting.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Node> + Clone {
        self.all_nodes().filter(|node| !node.is_culled())
    }

    /// Iterates every retained node in strength order, including culled arc
    /// nodes (an arc whose target authors no spec). Skips inert nodes — the
    /// synthetic root and the non-contributing class placeholders implied-class
    /// propagation adds. Used for composition introspection and change tracking,
    /// where the full arc structure matters even where it contributes no
    /// opinions; value resolution uses [`nodes`](Self::nodes) instead.
    pub fn all_nodes(&self) -> impl DoubleEndedIterator<Item = &Node> + Clone {
        self.ordered_nodes().filter(|node| !node.is_inert())
    }

    /// Iterates the nodes whose sites must be tracked as dependencies of this
    /// prim. Like [`all_nodes`](Self::all_nodes) but also surfaces inert
    /// relocation-source nodes: their source site contributes no opinions yet an
    /// edit there must recompose the relocated prim, so change tracking needs the
    /// reverse-map entry.
    pub(crate) fn dependency_nodes(&self) -> impl Iterator<Item = &Node> {
        self.ordered_nodes().filter(|node| tracks_dependency(node))
    }

    /// Handles of the nodes at site `(layer, path)` whose dependency
    /// registration this index would have made — the lookup counterpart of
    /// [`Dependencies::add`](super::dependencies::Dependencies)'s registration
    /// walk, and the set a change at that site must translate through.
    ///
    /// Appends handles rather than nodes so a caller can hand each straight to
    /// [`translate_dependency_path`](Self::translate_dependency_path), which
    /// borrows the whole index to climb parents, and so one scratch vector
    /// serves a whole change round.
    ///
    /// Ordered strongest-first, matching the node range C++ rescans
    /// (`PcpPrimIndex::GetNodeRange`). The site index is in path order, whose
    /// ties fall in arena order — a different permutation.
    pub(crate) fn dependency_nodes_at(
        &self,
        prim_path: &Path,
        layer: LayerId,
        path: &Path,
        graph: &LayerGraph,
        out: &mut Vec<NodeId>,
    ) {
        out.clear();
        // The strength rank doubles as the membership test: the registration
        // walk iterates the strength projection, so a node the projection omits
        // was never registered and must not be re-found here.
        //
        // TODO(perf): scans the strength order per candidate. A site carrying
        // several nodes is rare and each run is short, so a rank table on the
        // graph would cost more than it saves here.
        let rank = |id: NodeId| self.graph.strength_order.iter().position(|&s| s == id);
        out.extend(self.nodes_at(path).iter().copied().filter(|&id| {
            let node = &self.graph.nodes[id.idx()];
            registers_site(node, prim_path) && graph.stack_contains(node.layer_stack_id(), layer) && rank(id).is_some()
        }));
        out.sort_by_cached_key(|&id| rank(id).expect("filtered to ranked nodes"));
    }

    /// The composed path a change at `changed` lands on for the node `node` —
    /// this index's answer to C++ `_ProcessDependentNode`'s path translation.
    /// `None` when the node's namespace cannot carry the path at all, which is
    /// that function's `pathWasTranslated` gate: an unmappable path has no image
    /// here, so there is nothing to invalidate.
    ///
    /// A [`Propagated`](RelocateKind::Propagated) relocate holds the identity
    /// map, so the path first steps out into the parent's namespace and keeps
    /// climbing while the parents are placeholders too; every other node —
    /// a [`Direct`](RelocateKind::Direct) relocate included, whose own map
    /// carries the rename — maps through `map_to_root` directly.
    pub(crate) fn translate_dependency_path(&self, node: NodeId, changed: &Path) -> Option<Path> {
        let mut id = node;
        let mut path = Cow::Borrowed(changed);
        while self.node(id).relocate_kind() == Some(RelocateKind::Propagated) {
            let placeholder = self.node(id);
            let parent = placeholder.parent?;
            path = Cow::Owned(path.replace_prefix(&placeholder.path, &self.node(parent).path)?);
            id = parent;
        }
        self.node(id).map_to_root().translate_to_target(&path)
    }

    /// Layer ids of reference/payload target roots this prim's composition
    /// resolved to but skipped because they were muted. Their arcs grafted no
    /// node, so these are the dependency on a muted target that toggling the mute
    /// must fan out to (see
    /// [`NonSiteDeps::muted_external`](super::prim_graph::NonSiteDeps)).
    pub(crate) fn muted_external_targets(&self) -> &[LayerId] {
        self.graph.non_site_deps().map_or(&[][..], |d| &d.muted_external)
    }

    /// Canonical identifiers of reference/payload targets this prim's composition
    /// resolved to but skipped because they were muted before ever loading. Their
    /// targets never interned, so — unlike
    /// [`muted_external_targets`](Self::muted_external_targets) — there is no
    /// [`LayerId`] to fan an unmute out by; the change machinery keys the fanout on
    /// these identifiers instead (see
    /// [`NonSiteDeps::muted_unloaded`](super::prim_graph::NonSiteDeps)).
    pub(crate) fn muted_unloaded_targets(&self) -> &[String] {
        self.graph.non_site_deps().map_or(&[][..], |d| &d.muted_unloaded)
    }

    /// Layers whose `defaultPrim` this prim's composition consulted, because a
    /// reference or payload named no target prim. Editing that field on one of
    /// them must recompose this prim, and when the layer had no default the arc
    /// grafted no node, so this is the dependency's only trace (see
    /// [`NonSiteDeps::default_prim`](super::prim_graph::NonSiteDeps)).
    pub(crate) fn default_prim_layers(&self) -> &[LayerId] {
        self.graph.non_site_deps().map_or(&[][..], |d| &d.default_prim)
    }

    /// Iterates the spec stack's live contributing sites — those whose node is
    /// neither inert nor culled, the same structural filter
    /// [`nodes`](Self::nodes) applies — each paired with its resolved node. The
    /// single home for that filter, shared by every spec-stack consumer.
    pub(crate) fn live_spec_sites(&self) -> impl Iterator<Item = (&SpecSite, &Node)> {
        self.spec_stack.iter().filter_map(|site| {
            let node = self.node(site.node);
            (!node.is_inert() && !node.is_culled()).then_some((site, node))
        })
    }

    /// Iterates the `(node, layer, offset)` sites value resolution walks, in
    /// strength order, at the breadth `scope` asks for.
    ///
    /// [`EveryLayer`](SiteScope::EveryLayer) yields a superset of
    /// [`SpecStack`](SiteScope::SpecStack) in the same relative order, adding
    /// the layers that author no spec for this prim.
    ///
    /// The two read different sources for that: `SpecStack` replays the
    /// memoized [`spec_stack`](Self::spec_stack) while `EveryLayer` walks the
    /// nodes live, so they agree only while the memo is current — which
    /// [`rescan_specs`](super::IndexCache::rescan_specs) keeps it after a
    /// spec-tier edit.
    pub(crate) fn live_sites<'a>(
        &'a self,
        graph: &'a LayerGraph,
        scope: SiteScope,
    ) -> impl Iterator<Item = (&'a Node, LayerId, LayerOffset)> {
        let specs = (scope == SiteScope::SpecStack).then(|| {
            self.live_spec_sites()
                .map(|(site, node)| (node, site.layer, site.offset))
        });
        let every = (scope == SiteScope::EveryLayer).then(|| {
            self.nodes().flat_map(|node| {
                let arc_offset = node.map_to_root.time_offset();
                graph
                    .layer_stack(node.layer_stack)
                    .iter()
                    .map(move |&(layer, sub)| (node, layer, arc_offset.concatenate(&sub)))
            })
        });
        specs.into_iter().flatten().chain(every.into_iter().flatten())
    }

    /// Iterates every node in strength order, unfiltered — the shared projection
    /// the filtered public node iterators build on.
    fn ordered_nodes(&self) -> impl DoubleEndedIterator<Item = &Node> + Clone {
        let nodes = &self.graph.nodes;
        self.graph.strength_order.iter().map(move |id| &nodes[id.idx()])
    }

    /// Iterates `(handle, node)` pairs in strength order. Used by the subtree
    /// graft, which needs each node's [`NodeId`] to rebuild parent links. The
    /// inert synthetic root is skipped, so a grafted target's real roots become
    /// orphans that re-parent under the destination's own root.
    pub(crate) fn nodes_with_ids(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> {
        let nodes = &self.graph.nodes;
        self.graph
            .strength_order
            .iter()
            .map(move |&id| (id, &nodes[id.idx()]))
            .filter(|(_, node)| !node.is_inert())
    }

    /// Returns the node arena in insertion (structural) order, indexed by
    /// [`NodeId`]. Use [`nodes`](Self::nodes) for strength-ordered resolution.
    pub(crate) fn arena(&self) -> &[Node] {
        &self.graph.nodes
    }

    /// Returns the underlying composition graph. The task-queue indexer clones a
    /// parent prim's graph as the seed for its child's index (C++
    /// `_BuildInitialPrimIndexFromAncestor`).
    pub(crate) fn graph(&self) -> &PrimIndexGraph {
        &self.graph
    }

    /// Returns the root of the composition tree, or `None` when empty.
    ///
    /// The root is the synthetic, inert node created first during the build;
    /// every contributing node descends from it.
    pub fn root(&self) -> Option<NodeId> {
        self.graph.root.is_valid().then_some(self.graph.root)
    }

    /// Recomputes `has_specs` from live layer data for every node sitting at
    /// site `(layer, path)`, reporting what the caller must do next and keeping
    /// each refreshed node's spec-stack run in `runs`.
    ///
    /// The spec-tier change rescan (C++ `Pcp_RescanForSpecs`) calls this after
    /// an inert spec add or remove, which flips only whether a site contributes
    /// an opinion — never the graph structure — so a contributing node's flag is
    /// refreshed in place without rebuilding or re-finalizing strength order. A
    /// node matches when its site path is `path` and `layer` is one of its
    /// contributing layers; its refreshed flag is whether any layer in its stack
    /// still authors a spec there, read off the run rather than asked separately.
    ///
    /// The runs are the point: recomputing the flag scans the node's layer stack
    /// for the members authoring a spec, which is what the memoized spec stack
    /// holds for that node, so the matches are kept for
    /// [`respec_nodes`](Self::respec_nodes). That scan is complete where the flag
    /// alone stops at the first member answering yes; the splice pays it back,
    /// except on the branch that ends in `needs_rebuild`, where the index is
    /// dropped and its runs go with it — a cost that grows with the stack's
    /// depth. `runs` accumulates across a change round's sites for one index, and
    /// a node already in it is left alone — its run is final, since every edit in
    /// the round is committed before classification runs.
    ///
    /// Two transitions are the exception, both handled by rebuilding rather than
    /// flipping in place ([`SpecRefresh::needs_rebuild`]): a *culled* node that
    /// gains a spec (un-culling it must graft the target's subtree), and a
    /// contributing arc target that loses its last spec (it must cull to match an
    /// always-empty target, so a later re-add takes the un-cull path).
    //
    // Reaches the site's nodes through the [`path_order`](Self::path_order) site
    // index ([`nodes_at`](Self::nodes_at)), so its cost scales with the number of
    // nodes at the site.
    //
    // Each node's `layer_stack` handle is resolved against the live `graph`,
    // which is sound because this rescan runs only on the spec-tier
    // (non-significant) change path: an inert spec add/remove never edits
    // `subLayers`, so the resolved members equal the node's composition-time
    // stack. A path that rebuilds sublayer stacks goes through the significant
    // branch, which drops the cached index instead of refreshing it.
    pub(crate) fn refresh_has_specs_at(
        &mut self,
        layer: LayerId,
        path: &Path,
        graph: &LayerGraph,
        runs: &mut NodeRuns,
    ) -> SpecRefresh {
        let mut refresh = SpecRefresh::default();
        // `to_vec` copies the small candidate run of handles, releasing the
        // `path_order` borrow so the loop can mutate `graph.nodes` in place.
        for id in self.nodes_at(path).to_vec() {
            let node = &mut self.graph.nodes[id.idx()];
            let stack = node.layer_stack;
            if !graph.layer_stack(stack).iter().any(|&(li, _)| li == layer) {
                continue;
            }
            refresh.contributing |= !node.is_culled();
            // A node an earlier site in this round already refreshed keeps that
            // answer: every edit is committed before classification runs, so the
            // first scan saw the finished state. Several edited members of one
            // stack are the common shape, and each is a site of its own.
            let Some(run) = runs.record_with(id, || {
                let mut run = Vec::new();
                push_node_run(graph, node, id, &mut run, None);
                run
            }) else {
                continue;
            };
            let has_specs = !run.is_empty();
            if node.is_culled() {
                // An empty arc target the spec just filled in: rebuild so the
                // arc un-culls and grafts the target's subtree.
                refresh.needs_rebuild |= has_specs && !node.has_specs;
            } else {
                // An arc target that just lost its last spec must re-cull to
                // match an always-empty target, so a later re-add takes the
                // un-cull rebuild path. The local root and inert placeholders
                // never cull.
                let lost_last_spec = node.has_specs && !has_specs;
                let cullable = node.arc != ArcType::Root && !node.is_inert();
                refresh.needs_rebuild |= lost_last_spec && cullable;
            }
            refresh.arc_specs_changed |= node.arc != ArcType::Root && node.has_specs != has_specs;
            node.has_specs = has_specs;
        }
        refresh
    }

    /// Arena handles of every node sitting at `path`, in path order (empty when
    /// none) — the spec-tier refresh's candidate set. Binary-searches the
    /// [`path_order`](Self::path_order) projection for the contiguous run of nodes
    /// at the site.
    fn nodes_at(&self, path: &Path) -> &[NodeId] {
        let nodes = &self.graph.nodes;
        let lo = self.path_order.partition_point(|&id| nodes[id.idx()].path < *path);
        let hi = self.path_order.partition_point(|&id| nodes[id.idx()].path <= *path);
        &self.path_order[lo..hi]
    }

    /// Installs the spec stack and clip flag this index composes, replacing
    /// whatever it held. Run by the index builder, the single composition seam.
    fn finalize_spec_stack(&mut self, graph: &LayerGraph) {
        let (stack, authors_clips) = self.build_spec_stack(graph);
        self.spec_stack = stack;
        self.authors_clips = authors_clips;
    }

    /// Replaces the spec-stack entries of the nodes a spec-tier refresh touched,
    /// keeping every other node's entries as they stand.
    ///
    /// `runs` is what [`refresh_has_specs_at`](Self::refresh_has_specs_at)
    /// collected for this index across the change round: the run each refreshed
    /// node now contributes, empty for one that lost its last spec. A single pass
    /// over the strength order takes each node's contiguous run from whichever
    /// side owns it — the walk [`build_spec_stack`](Self::build_spec_stack)
    /// makes, differing only in where each run comes from — so the result lands
    /// ordered. The old stack is consumed as a prefix per node, since it was
    /// built by that same walk; `runs` is keyed by arena handle, which the
    /// strength order permutes, so a refreshed node's run is claimed by lookup
    /// rather than in sequence. Nothing here reads a layer, there being no
    /// [`LayerGraph`] to read one from, so the spec tier re-probes only the
    /// layers a change named.
    ///
    /// `authors_clips` is carried across untouched. A clip field appearing or
    /// disappearing is a *presence* change, which the classifier calls
    /// significant and answers by dropping the index, so it never reaches this
    /// path; and a node cannot gain or lose its last spec through a clip-bearing
    /// layer without that same presence change.
    /// [`spec_stack_matches_rebuild`](Self::spec_stack_matches_rebuild) holds the
    /// carried flag against a freshly computed one, so the reasoning is checked
    /// rather than trusted.
    pub(crate) fn respec_nodes(&mut self, mut runs: NodeRuns) {
        if runs.is_empty() {
            return;
        }
        let old_len = self.spec_stack.len();
        let mut old = mem::take(&mut self.spec_stack).into_iter().peekable();
        let mut stack = Vec::with_capacity(old_len);
        for &id in &self.graph.strength_order {
            let old_run = iter::from_fn(|| old.next_if(|site| site.node == id));
            match runs.take(id) {
                // The refresh rescanned this node, so what it found stands in
                // for every entry the node held.
                Some(run) => {
                    old_run.for_each(drop);
                    stack.extend(run);
                }
                None => stack.extend(old_run),
            }
        }
        let stranded_old = old.count();
        debug_assert_eq!(stranded_old, 0, "spec stack held entries for an unordered node");
        debug_assert!(runs.is_empty(), "a refreshed node is missing from the strength order");
        self.spec_stack = stack;
    }

    /// The [`spec stack`](SpecSite) and clip flag this index composes from live
    /// layer data: the strength-ordered list of `(node, layer)` sites that author
    /// a spec at their node's path, each with the layer's time offset folded to
    /// root (the C++ `PcpPrimIndex` spec stack). Value resolution
    /// ([`opinions`](Self::opinions)) and the `prim_stack` / `property_stack`
    /// introspection read the memo as their precomputed candidate sites.
    ///
    /// A site is recorded where the layer authors the prim spec at the node's
    /// path (`has_spec`). A property spec requires its owning prim spec, so this
    /// is also the candidate set for property reads; an orphan property spec (one
    /// whose owning prim spec is absent, reachable only through malformed backend
    /// data) is not represented.
    ///
    /// The walk visits every strength-ordered node, gated on
    /// [`has_specs`](super::prim_graph::Node::has_specs) — a node with no spec on
    /// any member contributes nothing — and leaves the stack *unfiltered* by the
    /// inert / culled flags: those are flipped after the graph is finalized (an
    /// instance-local inerting, often on a clone), so a pre-filtered stack would
    /// go stale. Consumers apply the live flag filter through
    /// [`live_spec_sites`](Self::live_spec_sites). The clip probes run only while
    /// `authors_clips` is still false: one site answering yes settles the prim,
    /// and the rest of the walk asks no more.
    ///
    /// The folded offset is stable across the spec-tier refresh and across
    /// [`rebase_root`](Self::rebase_root): the spec tier never edits
    /// subLayers/offsets (those drop the index), and a rebase re-anchors only the
    /// path side of each map, leaving `map_to_root().time_offset()` intact.
    ///
    /// TODO(perf): re-reads `has_spec` per member, duplicating the indexer's own
    /// `has_specs` pass — the build could emit the spec-authoring layers it
    /// already scans, and the clip probes with them, which every stage pays
    /// whether or not it uses value clips.
    fn build_spec_stack(&self, graph: &LayerGraph) -> (Vec<SpecSite>, bool) {
        let mut stack = Vec::new();
        let mut authors_clips = false;
        for &id in &self.graph.strength_order {
            let node = &self.graph.nodes[id.idx()];
            if !node.has_specs {
                continue;
            }
            push_node_run(graph, node, id, &mut stack, Some(&mut authors_clips));
        }
        (stack, authors_clips)
    }

    /// Whether the memoized spec stack and clip flag are what a from-scratch
    /// build composes — the spec-tier splice's self-check, asserted in debug
    /// builds by `IndexStore::splice_spec_stacks`, the seam that holds both
    /// halves of the contract. Every spec-tier edit in the test suite validates
    /// the splice there, not only the shapes a test thought to construct.
    ///
    /// Offsets compare by bit pattern: the entries the splice keeps carry the
    /// offset an earlier build folded, so agreement with a fresh fold is the
    /// property under test, and an authored NaN reproduced exactly is agreement
    /// rather than the divergence float equality would report.
    ///
    /// What it proves is bounded by what the rebuild reads: both sides gate on
    /// the `has_specs` flags the refresh just wrote, so this settles where each
    /// node's entries landed and whether the clip flag survived, not whether a
    /// flag is itself current. The flag transitions are covered by
    /// [`refresh_has_specs_at`](Self::refresh_has_specs_at)'s rebuild rules.
    pub(super) fn spec_stack_matches_rebuild(&self, graph: &LayerGraph) -> bool {
        let (rebuilt, authors_clips) = self.build_spec_stack(graph);
        self.authors_clips == authors_clips
            && self.spec_stack.len() == rebuilt.len()
            && self
                .spec_stack
                .iter()
                .zip(&rebuilt)
                .all(|(a, b)| a.node == b.node && a.layer == b.layer && a.offset.to_bits() == b.offset.to_bits())
    }

    /// Whether this prim authors clip metadata, so a value-clip set can be
    /// anchored here.
    ///
    /// Only the local half of the question value resolution asks — a set on an
    /// ancestor sources this prim's attributes too, which
    /// [`CompositionContext::may_have_clips`] answers.
    pub(crate) fn authors_clips(&self) -> bool {
        self.authors_clips
    }

    /// Builds [`path_order`](Self::path_order) from the finalized arena: arena
    /// handles sorted by their node's path, so the nodes at any path form a
    /// contiguous, binary-searchable run. The sort is stable, so equal-path nodes
    /// keep their arena order. Run once per composition alongside
    /// [`finalize_spec_stack`](Self::finalize_spec_stack); the spec-tier refresh
    /// changes only flags, so it reuses this projection unchanged.
    ///
    /// TODO(perf): built eagerly per composition (like `strength_order` and the
    /// spec stack), so a read-only stage that never runs a spec-tier refresh — and
    /// the common single-node prim — still pays the `Vec<NodeId>` and the sort. It
    /// could build lazily on the first
    /// [`refresh_has_specs_at`](Self::refresh_has_specs_at) (an empty order on a
    /// node-bearing index signals "not yet built"), or skip the projection for
    /// arenas small enough that a linear scan over the arena wins.
    fn build_path_order(&mut self) {
        let nodes = &self.graph.nodes;
        let mut order: Vec<NodeId> = (0..nodes.len() as u32).map(NodeId).collect();
        order.sort_by(|&a, &b| nodes[a.idx()].path.cmp(&nodes[b.idx()].path));
        self.path_order = order;
    }

    /// Classifies each node as instance-local (`true`) or shared (`false`) for an
    /// enclosing instance at `instance_depth` (spec 11.3.3), indexed by
    /// [`NodeId`] arena position. The shared nodes are the prototype subtree; the
    /// instance-local nodes are the opinions authored at the instance's own
    /// namespace, which an instance's child names, descendants, and instance key
    /// must drop.
    ///
    /// `prim_depth` is the namespace depth of the prim this index composes, which
    /// is `instance_depth` for the instance prim's own index and deeper for a
    /// descendant composed inside the instance. Both are needed because a node
    /// records how far below its arc's introduction its site sits, not the
    /// absolute level the arc was introduced at; the level follows from the two.
    ///
    /// This is the C++ `!PcpNodeRef::HasTransitiveDirectDependency` partition.
    /// Instance-local = the local root plus every node whose arc was introduced
    /// strictly above the instance and whose parent is instance-local too: the
    /// ancestral arcs of every kind (references, payloads, inherits,
    /// specializes, variants) the instance prim is nested under. A node whose arc
    /// was introduced at the instance's own depth or below is shared, and so is
    /// its whole subtree, ancestral opinions it pulled in included — as C++ marks
    /// a node added while indexing the prim as a direct dependency and
    /// propagates the mark down its subtree, while every node the prim index
    /// inherits from its parent's starts out as not direct.
    ///
    /// The parent check is what keeps a direct arc's subtree shared. An implied
    /// class an ancestral arc derived is instance-local like that arc: its path
    /// is the instance's own namespace under the class, so it names the instance
    /// and contributes nothing the prototype can share.
    ///
    /// The arena is append-only with each node's parent preceding it, so one
    /// forward pass propagates locality parent→child.
    pub(crate) fn instance_local_nodes(&self, prim_depth: u16, instance_depth: u16) -> Vec<bool> {
        // An arc introduced at the instance or below leaves this many namespace
        // levels between its introduction and the prim being composed; anything
        // deeper below its introduction was introduced above the instance.
        let below_instance = prim_depth.saturating_sub(instance_depth);
        let nodes = &self.graph.nodes;
        let mut local = vec![false; nodes.len()];
        for (i, node) in nodes.iter().enumerate() {
            // The single forward pass only reads an already-computed parent
            // entry; a parent inserted after its child would be read as a stale
            // `false`, silently leaking an instance-local arc into the prototype.
            debug_assert!(
                node.parent.is_none_or(|p| p.idx() < i),
                "instance partition requires every node's parent to precede it in the arena"
            );
            local[i] = match node.arc {
                // The local site (and the synthetic root) is always instance-local.
                ArcType::Root => true,
                _ => {
                    self.graph.depth_below_introduction(NodeId(i as u32)) > below_instance
                        && node.parent.is_some_and(|p| local[p.idx()])
                }
            };
        }
        local
    }

    /// Classifies each node as instanceable (`true`) or not for an instance prim
    /// at `instance_depth` whose index this is (C++
    /// `Pcp_ChildNodeIsInstanceable`), indexed by [`NodeId`] arena position. An
    /// instanceable node is shared
    /// ([`instance_local_nodes`](Self::instance_local_nodes)), able to
    /// contribute opinions, and authors a spec at its site: the nodes that bring
    /// a prototype its content.
    pub(crate) fn instanceable_nodes(&self, instance_depth: u16) -> Vec<bool> {
        let local = self.instance_local_nodes(instance_depth, instance_depth);
        self.graph
            .nodes
            .iter()
            .zip(local)
            .map(|(node, local)| !local && !node.is_inert() && !node.is_culled() && node.has_specs())
            .collect()
    }

    /// Whether this index, composing a prim at `depth`, has any instanceable
    /// node ([`instanceable_nodes`](Self::instanceable_nodes)). The structural
    /// half of C++ `Pcp_PrimIndexIsInstanceable`: a prim whose only arcs are
    /// ancestral, or bring no opinions, has nothing a prototype could share.
    pub(crate) fn has_instanceable_node(&self, depth: u16) -> bool {
        self.instanceable_nodes(depth).contains(&true)
    }

    /// Inerts the instance-namespace opinions on a prim composed inside an
    /// instance (spec 11.3.3), so value resolution sees only the shared subtree
    /// the instance brings in. `prim_depth` is the namespace depth of the prim
    /// this index composes and `instance_depth` the nearest enclosing instance
    /// prim's; the partition is
    /// [`instance_local_nodes`](Self::instance_local_nodes).
    ///
    /// Each node is inerted individually, not its subtree: a direct arc nested
    /// under a dropped ancestral one is a child in the graph yet stays shared.
    /// (The local root is also inerted earlier by the indexer via
    /// [`CompositionContext::within_instance`](super::prim_index::CompositionContext::within_instance).)
    pub(crate) fn mark_instance_local_inert(&mut self, prim_depth: u16, instance_depth: u16) {
        let local = self.instance_local_nodes(prim_depth, instance_depth);
        for (node, &is_local) in self.graph.nodes.iter_mut().zip(local.iter()) {
            if is_local {
                node.flags |= NodeFlags::INERT;
            }
        }
    }

    /// Re-anchors this index's composed (root) namespace from `from` to `to`,
    /// used when a prototype is materialized from a canonical instance's subtree
    /// onto its `/__Prototype_N` root (spec 11.3.3): every node's `map_to_root` /
    /// `map_to_parent` has its composed-namespace target side moved from `from`
    /// to `to`, so target translation lands in the prototype namespace rather
    /// than the seeding instance's.
    ///
    /// `node.path` is deliberately left untouched — it is the site path in the
    /// node's own *layer* namespace, where value resolution reads specs (see
    /// [`PrimIndex::opinions`]). A contributing node whose spec lives beneath the
    /// instance's path (e.g. a selected variant at `/A{v=x}`) must keep that path
    /// so the lookup hits the real spec; rewriting it to `/__Prototype_N{v=x}`
    /// would query a layer location that does not exist.
    ///
    /// Only map targets change; node paths, arc types, namespace depths, origins,
    /// and sibling numbers are untouched, so the strength-order projection stays
    /// valid without re-finalizing.
    pub(crate) fn rebase_root(&mut self, from: &Path, to: &Path) {
        for node in &mut self.graph.nodes {
            node.map_to_root = node.map_to_root.rebase_target(from, to);
            node.map_to_parent = node.map_to_parent.rebase_target(from, to);
        }
    }

    /// Returns the node behind a handle.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.graph.nodes[id.idx()]
    }

    /// Returns the structural parent of a node, or `None` for a root.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.node(id).parent
    }

    /// Returns the structural children of a node, in strength order.
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        &self.node(id).children
    }

    /// Renders the composition tree for debugging (C++ `PcpPrimIndex::DumpToString`).
    ///
    /// Walks depth-first from the synthetic root, four spaces of indent per
    /// depth, with children in strength order. Each line carries the arc type,
    /// layer index, node path, strength rank, and any non-identity time offset,
    /// origin, or flags. Layers are shown by index (the index owns no layer
    /// identifiers); the output is deterministic, which makes it a useful
    /// structural harness. The graph is a single rooted tree: the inert
    /// synthetic root is the sole parent-less node, and every contributing node
    /// descends from it.
    pub fn dump_to_string(&self) -> String {
        use std::fmt::Write as _;

        let mut rank = vec![0usize; self.graph.nodes.len()];
        for (r, id) in self.graph.strength_order.iter().enumerate() {
            rank[id.idx()] = r;
        }

        let mut out = String::new();
        let mut stack: Vec<(NodeId, usize)> = self
            .graph
            .strength_order
            .iter()
            .rev()
            .filter(|id| self.node(**id).parent.is_none())
            .map(|&id| (id, 0))
            .collect();

        while let Some((id, depth)) = stack.pop() {
            let node = self.node(id);
            let _ = write!(
                out,
                "{:indent$}{:?} [{:?}] {} #{}",
                "",
                node.arc,
                node.layer_id(),
                node.path,
                rank[id.idx()],
                indent = depth * 4
            );
            let offset = node.map_to_root.time_offset();
            if !offset.is_identity() {
                let _ = write!(out, " offset=({},{})", offset.offset, offset.scale);
            }
            // Show origin only when it differs from the structural parent —
            // i.e. for implied classes and grafts. A direct arc always origins
            // on its parent, so printing it there is redundant noise.
            if let Some(origin) = node.origin
                && Some(origin) != node.parent
            {
                let _ = write!(out, " origin={}", origin.0);
            }
            if !node.flags.is_empty() {
                let _ = write!(out, " {:?}", node.flags);
            }
            out.push('\n');

            // Push children in reverse so the strongest sibling pops first.
            for &child in node.children.iter().rev() {
                stack.push((child, depth + 1));
            }
        }
        out
    }

    /// Appends a node to the end of the composition graph, weakest in strength.
    ///
    /// Test-only scaffolding for assembling synthetic indices; production
    /// composition appends through [`PrimIndexGraph::add_child`] or the
    /// relocate grafts so structural links are populated.
    #[cfg(test)]
    pub(crate) fn push_node(&mut self, node: Node) {
        let id = NodeId(self.graph.nodes.len() as u32);
        // Keep `path_order` a valid sorted projection so a synthetic index built
        // through this helper drives `nodes_at` and the spec-tier refresh the same
        // way a composed one does. The new handle is the highest arena index, so it
        // sorts after any equal-path node, matching the stable `build_path_order`.
        let at = self
            .path_order
            .partition_point(|&nid| self.graph.nodes[nid.idx()].path <= node.path);
        self.graph.nodes.push(node);
        self.graph.strength_order.push(id);
        self.path_order.insert(at, id);
    }

    /// Builds a prim index for a root prim with no cached ancestors (a test
    /// convenience over [`build_with_cache`](Self::build_with_cache)). A child
    /// prim must instead be built through a cache holding its ancestors, since
    /// the indexer seeds a child from its cached parent.
    #[cfg(test)]
    pub(crate) fn build_with_context(path: &Path, stack: &LayerGraph, ctx: &CompositionContext) -> BuildResult<Self> {
        Self::build_with_cache(path, stack, ctx, &sdf::PathTable::new(), true)
            .map(|(index, _errors, _pending, _deps)| index)
    }

    /// Like [`build_with_context`](Self::build_with_context) but with access to
    /// previously-composed prim indices. Cached indices are checked before
    /// building from scratch, ensuring inherit/specialize targets use the
    /// fully-composed result (including ancestor-propagated specs).
    ///
    /// `load_payloads` is the per-path payload-inclusion decision for `path`
    /// itself (`IndexCache::is_loaded`) — a pure function of `path`
    /// and the stage's `pcp::LoadRules`, not something `ctx` carries, since a
    /// sibling prim can resolve differently.
    ///
    /// The third tuple element is the [`Demand`]s a reference/payload arc raised
    /// for a target that is not yet loaded; non-empty means the returned index
    /// is incomplete and must not be cached, so the caller loads those layers
    /// and recomposes. The fourth is the per-stack expression-variable names the
    /// build's `${VAR}` evaluations read
    /// ([`BuildOutput::expr_var_deps`](super::prim_indexer::BuildOutput::expr_var_deps)),
    /// which the caller registers with the cached prim's dependencies.
    pub(crate) fn build_with_cache(
        path: &Path,
        stack: &LayerGraph,
        ctx: &CompositionContext,
        cached_indices: &sdf::PathTable<PrimEntry>,
        load_payloads: bool,
    ) -> BuildResult<(Self, Diagnostics, Vec<Demand>, ExprVarDeps)> {
        Self::build_with_cache_in(path, stack, ctx, cached_indices, LayerStackId::ROOT, load_payloads)
    }

    /// Builds a prim index whose root `L` site scans the given `ambient` layer
    /// stack rather than the stage's root layer stack.
    ///
    /// `ambient` is the layer stack the prim is composed in: the root layer
    /// stack for a stage prim, or a referenced asset's sublayer stack for an
    /// arc target reached within that reference. When `ambient` is the stage
    /// root layer stack ([`LayerStackId::ROOT`]) the shared `cached_indices`
    /// (keyed by stage path) apply; an arc-target sublayer stack is composed
    /// fresh.
    pub(crate) fn build_with_cache_in(
        path: &Path,
        stack: &LayerGraph,
        ctx: &CompositionContext,
        cached_indices: &sdf::PathTable<PrimEntry>,
        ambient: LayerStackId,
        load_payloads: bool,
    ) -> BuildResult<(Self, Diagnostics, Vec<Demand>, ExprVarDeps)> {
        if ambient == LayerStackId::ROOT
            && let Some(cached) = cached_indices.get(path)
        {
            // A cache hit reports no variable dependencies: the cached
            // entry's own registration already carries them, and stays
            // authoritative because `IndexCache::build_index` never reaches
            // this hit (`ensure_index` checks `is_indexed` first, and
            // `build_index` debug-asserts it), so the empty map is never
            // re-registered over it.
            return Ok((
                cached.index.clone(),
                Diagnostics::default(),
                Vec::new(),
                ExprVarDeps::default(),
            ));
        }
        // The task-queue indexer is the sole composition path. A genuine cycle
        // surfaces as `CompositionDiagnostic::ArcCycle`; an unresolvable arc is recorded in the
        // returned errors and skipped. A `None` graph means an unestablished seed
        // or the runaway nesting backstop, which composes to an empty prim index.
        let indexer = super::prim_indexer::Indexer::new(stack, ctx, cached_indices, ambient, load_payloads);
        let super::prim_indexer::BuildOutput {
            graph,
            errors,
            pending_loads,
            expr_var_deps,
            // A cycle only steers the sub-build that hit it; at the top level
            // the dropped arc is already recorded in `errors`.
            hit_cycle: _,
        } = indexer.build(path)?;
        let mut index = PrimIndex {
            graph: graph.unwrap_or_default(),
            spec_stack: Vec::new(),
            authors_clips: false,
            path_order: Vec::new(),
        };
        // Build the memoized spec stack and the path-order site index here, the
        // single seam every freshly composed index passes through, so value
        // resolution and the spec-tier refresh read them without a separate
        // finalize step. The later permission / instance-local inerting only flips
        // flags (which consumers filter live) and `rebase_root` retargets maps
        // without moving node paths, so both projections stay valid; a
        // materialized prototype clones an index that already carries them.
        index.finalize_spec_stack(stack);
        index.build_path_order();
        Ok((index, errors, pending_loads, expr_var_deps))
    }

    /// Returns the composition context derived from this prim's index, together
    /// with the per-stack variable names the selection resolution's `${VAR}`
    /// expressions read — an expression selection authored here for a set
    /// declared only on a descendant is evaluated solely by this pass, so the
    /// caching caller merges the reads into this prim's registered
    /// dependencies. A re-derivation pass (prototype materialization, the test
    /// ancestor walk) drops them; its source prim's registration already
    /// stands.
    ///
    /// Child prims use this context to inherit ancestor arc mappings and
    /// variant selections without recomputing them.
    pub(crate) fn context_for_children(
        &self,
        stack: &LayerGraph,
        parent_ctx: &CompositionContext,
    ) -> (CompositionContext, ExprVarDeps) {
        // Gather variant selections from this prim's nodes; ancestor selections
        // outrank this prim's local fallbacks.
        let mut expr_var_deps = ExprVarDeps::default();
        let selections = resolve_variant_selections_in(
            self.nodes(),
            stack,
            &parent_ctx.variant_fallbacks,
            &parent_ctx.selections,
            &mut expr_var_deps,
        );

        // Merge parent's selections (weaker) with this prim's (stronger).
        let mut merged_selections = parent_ctx.selections.clone();
        for (k, v) in selections {
            merged_selections.entry(k).or_insert(v);
        }

        let context = CompositionContext {
            selections: merged_selections,
            variant_fallbacks: parent_ctx.variant_fallbacks.clone(),
            may_have_clips: parent_ctx.may_have_clips || self.authors_clips,
            // Inherited from the parent; the cache additionally sets this when
            // the current prim itself resolves as an instance.
            instance_depth: parent_ctx.instance_depth,
        };
        (context, expr_var_deps)
    }

    /// The variant selections composed onto this prim, as `(set, selection)`
    /// pairs sorted by set name. Collected from every node whose site path is a
    /// variant selection path (`/Prim{set=sel}`), strongest first, mirroring the
    /// C++ `testPcpCompositionResults` dump (which walks the node graph and
    /// records `node.path.GetVariantSelection()` for each
    /// `IsPrimVariantSelectionPath` node). This is purely structural — whatever
    /// variant branches the build grafted in, regardless of whether the
    /// selection was authored, a fallback, or a default — so it stays consistent
    /// with the variant sites shown in the prim stack.
    pub(crate) fn variant_selections(&self) -> Vec<(String, String)> {
        let mut selections: HashMap<String, String> = HashMap::new();
        for node in self.all_nodes() {
            if !node.path.is_prim_variant_selection_path() {
                continue;
            }
            if let Some(sdf::PathElement::Variant { set, selection }) = node.path.last_element() {
                selections
                    .entry(set.to_string())
                    .or_insert_with(|| selection.to_string());
            }
        }
        let mut out: Vec<(String, String)> = selections.into_iter().collect();
        out.sort();
        out
    }
}

// ---------------------------------------------------------------------------
// Composition context: flows from parent to child prim
// ---------------------------------------------------------------------------

/// Composition context carried from parent prims to children.
///
/// Contains accumulated variant selections, arc mappings, and variant
/// fallbacks that enable single-pass composition without cross-prim
/// post-processing.
#[derive(Debug, Clone)]
pub(crate) struct CompositionContext {
    /// Variant selections accumulated from all ancestor compositions.
    /// First-opinion-wins: strongest ancestor's selection takes priority.
    pub selections: HashMap<String, String>,
    /// Variant fallback selections for sets without authored opinions.
    /// Propagated unchanged from the stage configuration.
    pub variant_fallbacks: VariantFallbackMap,
    /// Whether this prim or an ancestor authors clip metadata, so value
    /// resolution has to consult value clips here (C++
    /// `Usd_PrimData::MayHaveOpinionsInClips`, which likewise combines a prim's
    /// own clips with its parent's answer).
    ///
    /// Accumulated down the namespace, so the context composed *at* a prim is
    /// already the answer *for* it. False lets a read skip the clip tier
    /// outright, along with the wider site walk ([`SiteScope::EveryLayer`])
    /// consulting it needs.
    pub may_have_clips: bool,
    /// Namespace depth of the nearest enclosing instance prim (spec 11.3.3),
    /// or `None` when this prim is not inside an instance. Set by the cache once
    /// an ancestor resolves as an instance and inherited by every deeper prim; a
    /// nested instance re-arms it to its own (deeper) depth. Opinions authored at
    /// the instance's own namespace — its local root and the ancestral
    /// references introduced above it (at a shallower namespace depth) — are
    /// discarded, so the subtree composes only from the arcs the instance brings
    /// in (the instanceable arc and below, plus its implied classes).
    pub instance_depth: Option<u16>,
}

impl Default for CompositionContext {
    fn default() -> Self {
        Self {
            selections: HashMap::new(),
            variant_fallbacks: VariantFallbackMap::new(),
            may_have_clips: false,
            instance_depth: None,
        }
    }
}

impl CompositionContext {
    /// `true` when this prim is composed inside an instance (spec 11.3.3), so
    /// its local opinions are discarded. Equivalent to `instance_depth.is_some()`.
    pub fn within_instance(&self) -> bool {
        self.instance_depth.is_some()
    }
}

// ---------------------------------------------------------------------------
// Shared helpers (used by the `Indexer` and Stage)
// ---------------------------------------------------------------------------

/// Appends the spec-stack entries `node` contributes: one per layer of its
/// stack that authors a spec at the node's path, in the stack's order, each
/// carrying the member's sublayer offset folded onto the node's arc offset.
/// Where `clips` is given, raises it for the first of those layers that also
/// authors clip metadata at the path, reading each layer once for both
/// questions.
///
/// The single definition of a node's run, shared by the from-scratch build and
/// by the spec-tier refresh, so the two cannot drift on ordering or on the fold.
///
/// Blind to [`Node::has_specs`](super::prim_graph::Node): the refresh calls it
/// to *compute* that flag, and a gate here would hand back an empty run for a
/// node whose flag has yet to be raised — leaving it false forever. Callers that
/// already know the flag apply the gate themselves, to skip probes a node with
/// no spec anywhere cannot need.
///
/// This is [`stack_has_spec`] unrolled: `out` grows iff that predicate holds,
/// so the flag the refresh derives from it agrees with the one the indexer
/// computes by asking directly.
fn push_node_run(graph: &LayerGraph, node: &Node, id: NodeId, out: &mut Vec<SpecSite>, mut clips: Option<&mut bool>) {
    let arc_offset = node.map_to_root.time_offset();
    for &(layer, sub) in graph.layer_stack(node.layer_stack).iter() {
        let data = graph.layer(layer).data();
        if !data.has_spec(&node.path) {
            continue;
        }
        out.push(SpecSite {
            node: id,
            layer,
            offset: arc_offset.concatenate(&sub),
        });
        if let Some(authors_clips) = clips.as_deref_mut()
            && !*authors_clips
        {
            *authors_clips = super::clip::CLIP_FIELDS
                .iter()
                .any(|key| data.has_field(&node.path, key.as_str()));
        }
    }
}

/// Whether `node`'s site belongs to its prim's dependency set: it contributes
/// opinions, or it is an inert relocation source whose site an edit must still
/// recompose the relocated prim through.
fn tracks_dependency(node: &Node) -> bool {
    !node.is_inert() || node.is_relocate_source()
}

/// Whether `node` is one the reverse dependency map records a *site* for.
///
/// [`tracks_dependency`] minus the self-Root edge — the node whose site is the
/// prim's own path, which the site map skips to stay compact (C++
/// `PcpDependencyTypeRoot`) while the layer map still counts it. Shared by the
/// registration walk and the lookup, so a site can never be re-found that was
/// never registered.
pub(super) fn registers_site(node: &Node, prim_path: &Path) -> bool {
    tracks_dependency(node) && !(node.arc == ArcType::Root && node.path == *prim_path)
}

/// Whether any layer in `stack` authors a spec at `path` (C++
/// `PcpNode::HasSpecs`). The canonical definition of a node's `has_specs`, which
/// the indexer asks directly while building a node.
///
/// Short-circuits on the first member that answers yes, which is all its callers
/// want.
pub(super) fn stack_has_spec(graph: &LayerGraph, stack: LayerStackId, path: &Path) -> bool {
    graph
        .layer_stack(stack)
        .iter()
        .any(|&(li, _)| graph.layer(li).data().has_spec(path))
}

/// Resolves variant selections across a prim's composition nodes.
///
/// Precedence: `seed` selections inherited from the composition context win
/// first — a selection authored on a referencing prim is stronger than the
/// referenced layer's own opinion (spec 12.2), so it beats both an explicit
/// selection authored on a node here and the target's own default. Each set the
/// seed did not fix then takes its explicit node selection, nodes ordered by arc
/// type; any still-unselected set defaults to its fallback, then to its first
/// variant.
///
/// TODO: two approximations remain in the node ordering and the seed.
/// - Nodes are ordered by `ArcType` alone, not the full node-strength
///   comparator (arc type plus ancestry / origin / namespace depth). When two
///   nodes in different subtrees author the same set, arc type can pick the
///   wrong one. The full comparator needs `NodeId`/graph access and the
///   strength projection, which is not finalized while the build still calls
///   this, so the arc-type order is the build-time approximation.
/// - The seed accumulates selections by set name down the whole namespace, so a
///   namespace ancestor's selection for its *own* same-named variant set leaks
///   onto a descendant prim that has an independent set of that name,
///   overriding the descendant's local selection. Distinguishing an arc seed
///   from a namespace-ancestor seed would fix it.
fn resolve_variant_selections_in<'a>(
    nodes: impl Iterator<Item = &'a Node> + Clone,
    graph: &LayerGraph,
    variant_fallbacks: &VariantFallbackMap,
    seed: &HashMap<String, String>,
    expr_var_deps: &mut ExprVarDeps,
) -> HashMap<String, String> {
    let mut selections: HashMap<String, String> = HashMap::new();

    // Seed selections come from the composition context — a selection already
    // resolved on a stronger site (a referencing prim, or a namespace ancestor)
    // that this build is weaker than. They rank above this site's own opinions:
    // a `complexity=high` authored on the referencing layer stack must beat the
    // `complexity=low` the referenced layer authored locally (spec 12.2, the
    // referencing arc is stronger than the referenced opinion).
    for (set_name, selection) in seed {
        selections.entry(set_name.clone()).or_insert_with(|| selection.clone());
    }

    // Order nodes by arc strength so an explicit selection authored on a
    // stronger arc wins (spec 12.2): a selection on an inherited class beats
    // one on the referenced prim it is inherited into. `sort_by_key` is stable,
    // so nodes of equal arc strength keep their composition order. The arena's
    // strength projection is not finalized during the build, so order here by
    // the arc type directly.
    let mut ordered: Vec<&Node> = nodes.collect();
    ordered.sort_by_key(|n| n.arc);

    // Gather explicit selections for sets the seed did not already fix. Each
    // node fans out into its layer stack, strongest sublayer first. An
    // expression-valued opinion evaluates against the node's own stack
    // variables; an unevaluable one is skipped so the next-weaker opinion can
    // fill the set, while one evaluating to `None` records the empty
    // selection, blocking weaker opinions like an authored empty selection
    // (C++ `PcpComposeSiteVariantSelections` erases only errored entries).
    // The indexing-time site (`Indexer::compose_variant_selection`) is the
    // sole diagnostic emitter, so no error is recorded here.
    for node in &ordered {
        for &(layer, _) in graph.layer_stack(node.layer_stack_id()).iter() {
            if let Ok(value) = graph
                .layer(layer)
                .data()
                .get_field(&node.path, FieldKey::VariantSelection.as_str())
                && let Value::VariantSelectionMap(map) = value.into_owned()
            {
                for (set_name, selection) in map {
                    // A set the seed or a stronger opinion already fixed
                    // ignores this value; skip before paying for
                    // evaluation.
                    let Entry::Vacant(entry) = selections.entry(set_name) else {
                        continue;
                    };
                    let selection = if expr::is_expression(&selection) {
                        let vars = graph.stack_expression_variables(node.layer_stack_id());
                        let mut used_vars = HashSet::new();
                        let evaluated = evaluate_expression(
                            &selection,
                            vars,
                            ExpressionContext::Variant,
                            graph.identifier(layer),
                            &node.path,
                            None,
                            Some(&mut used_vars),
                        );
                        expr_var_deps.record(node.layer_stack_id(), used_vars);
                        match evaluated.into_selection() {
                            Some(selection) => selection,
                            None => continue,
                        }
                    } else {
                        selection
                    };
                    entry.insert(selection);
                }
            }
        }
    }

    // For variant sets whose selection is absent or empty, apply a configured
    // fallback if one names an existing variant — an empty selection, whether
    // authored or the accepted expression-language `None`, defers to the
    // fallback exactly as the indexer's authored-variant task does. With no
    // applicable fallback the set stays unselected (C++
    // `_EvalNodeFallbackVariant`); there is no implicit first-variant default,
    // matching the indexer.
    for node in &ordered {
        for &(layer, _) in graph.layer_stack(node.layer_stack_id()).iter() {
            let data = graph.layer(layer).data();
            let Ok(value) = data.get_field(&node.path, ChildrenKey::VariantSetChildren.as_str()) else {
                continue;
            };
            let Value::TokenVec(set_names) = value.into_owned() else {
                continue;
            };
            for set_name in set_names {
                let set_name = String::from(set_name);
                if selections.get(&set_name).is_some_and(|sel| !sel.is_empty()) {
                    continue;
                }
                // An invalid authored set name cannot address variant
                // storage, so it offers no fallback.
                let Ok(set_path) = node.path.append_variant_selection(&set_name, "") else {
                    continue;
                };
                let Ok(val) = data.get_field(&set_path, ChildrenKey::VariantChildren.as_str()) else {
                    continue;
                };
                let Value::TokenVec(variants) = val.into_owned() else {
                    continue;
                };
                // Use the first configured fallback that exists in this set.
                let fallbacks = variant_fallbacks.get(&set_name);
                if let Some(fb) = fallbacks.iter().find(|fb| variants.iter().any(|v| v == fb.as_str())) {
                    selections.insert(set_name, fb.clone());
                }
            }
        }
    }

    selections
}

// ---------------------------------------------------------------------------
// Tests
// ---------------------------------------------------------------------------

#[cfg(test)]
impl PrimIndex {
    /// [`push_node`](Self::push_node) but strongest rather than weakest, so a
    /// synthetic index can make its strength order disagree with its arena
    /// order — which `push_node` alone cannot, since it appends each new handle
    /// to both.
    pub(crate) fn push_node_strongest(&mut self, node: Node) {
        self.push_node(node);
        let id = self.graph.strength_order.pop().expect("just pushed");
        self.graph.strength_order.insert(0, id);
    }

    /// Records `layer` as one whose `defaultPrim` this index's composition
    /// consulted, so a test can set the dependency up without a real build.
    pub(crate) fn record_default_prim(&mut self, layer: LayerId) {
        self.graph.non_site_deps_mut().default_prim.push(layer);
    }
}
