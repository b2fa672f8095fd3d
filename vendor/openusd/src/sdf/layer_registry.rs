//! Layer loading and the format registry.
//!
//! [`LayerRegistry`] owns the [`ar::Resolver`] and load policy a stage opens
//! layers with, and dispatches through the built-in format set
//! ([`find_by_extension`](LayerRegistry::find_by_extension) /
//! [`find_by_id`](LayerRegistry::find_by_id)) to the
//! [`FileFormat`](super::FileFormat) claiming each layer's extension. It is the
//! Rust seam for C++ `Sdf_LayerRegistry` and `SdfFileFormat::FindByExtension`:
//! a future `find_or_open` cache (the registry will own loaded layers and dedup
//! them) and custom format registration grow here.
//!
//! References and payloads are not followed here. Composition opens each
//! reference/payload target layer on demand when it reaches the arc (see
//! [`crate::pcp`]), so an un-visited subtree never loads its layers. Only the
//! sublayer stack is opened eagerly, since a layer's sublayers contribute
//! opinions to its own namespace and so must be present whenever the layer is
//! (spec 10.3.1.1).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use crate::ar;
use crate::sdf::{self, expr};
use crate::tf;
use crate::usda::UsdaFileFormat;
use crate::usdc::UsdcFileFormat;
use crate::usdz::UsdzFileFormat;

static USDA: UsdaFileFormat = UsdaFileFormat;
static USDC: UsdcFileFormat = UsdcFileFormat;
static USDZ: UsdzFileFormat = UsdzFileFormat;

/// The built-in formats, in lookup order — the Rust analog of C++
/// `SdfFileFormat`'s static plugin set. Custom formats will register alongside
/// these on a [`LayerRegistry`] in the future; today the set is fixed.
static DEFAULT_FORMATS: &[&dyn sdf::FileFormat] = &[&USDA, &USDC, &USDZ];

/// An error encountered while opening a layer's sublayer stack that may be
/// recoverable.
///
/// A missing sublayer can be tolerated so loading continues; the `on_error`
/// callback passed to [`LayerRegistry::open_stack`] configures that policy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// A sublayer asset path could not be resolved to a physical location.
    #[error("failed to resolve sublayer asset: {asset_path} (referenced by {referencing_layer})")]
    UnresolvedAsset {
        /// The sublayer asset path that could not be resolved.
        asset_path: String,
        /// The layer that declared the sublayer.
        referencing_layer: String,
    },

    /// A sublayer resolved to a physical location but could not be read or
    /// parsed. Only the bad sublayer is dropped; the layer that declared it (and
    /// the rest of the stack) still loads, matching C++ `SdfLayer`, which opens
    /// the parent and reports the unreadable sublayer.
    #[error("failed to read sublayer asset: {asset_path} (referenced by {referencing_layer}): {reason}")]
    UnreadableAsset {
        /// The sublayer asset path that resolved but could not be read.
        asset_path: String,
        /// The layer that declared the sublayer.
        referencing_layer: String,
        /// The underlying read or parse error.
        reason: String,
    },

    /// An expression-valued (`${VAR}`) sublayer path failed to evaluate, so the
    /// entry selects nothing and only this sublayer is dropped. Converts to the
    /// same composition diagnostic the layer graph regenerates for the entry on
    /// each stack rebuild, so the two report one failure identically.
    #[error("invalid sublayer expression {expression} in {referencing_layer}: {reason}")]
    InvalidExpression {
        /// The raw, unevaluated backtick expression.
        expression: String,
        /// The layer that declared the sublayer.
        referencing_layer: String,
        /// The evaluator's errors, joined.
        reason: String,
    },
}

/// Operational failure that aborts a registry load.
///
/// Recoverable per-sublayer problems are reported as [`Error`] values through
/// the caller's `on_error` handler and never travel through this type.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The asset did not resolve to a physical location.
    #[error("failed to resolve asset path: {asset_path}")]
    Unresolved {
        /// The asset path that did not resolve.
        asset_path: String,
    },

    /// No registered file format claims the resolved location.
    #[error("no file format registered for {resolved}")]
    UnsupportedFormat {
        /// The resolved location.
        resolved: String,
    },

    /// The chosen format failed to read the asset.
    #[error(transparent)]
    Format(#[from] sdf::FormatError),

    /// Reading a field out of an opened layer's data failed.
    #[error(transparent)]
    Data(#[from] sdf::DataError),

    /// The caller's `on_error` handler declined to recover from a sublayer
    /// load failure, aborting the load with it.
    #[error(transparent)]
    Rejected(#[from] Error),
}

/// Projects a load failure onto the public [`crate::Error`]: resolution and
/// format-dispatch failures map to the root variants that name them, layer
/// read failures convert transparently, and a rejected sublayer failure rides
/// whole — Display and typed source intact — as a decode failure of the stack
/// being loaded.
impl From<LoadError> for crate::Error {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Unresolved { asset_path } => crate::Error::UnresolvedAsset(asset_path),
            LoadError::UnsupportedFormat { resolved } => crate::Error::UnsupportedFormat(resolved),
            LoadError::Format(error) => error.into(),
            LoadError::Data(error) => error.into(),
            LoadError::Rejected(error) => crate::Error::Format(sdf::FormatError::Decode(Box::new(error))),
        }
    }
}

/// Owns layer loading for a stage: the [`ar::Resolver`] that finds and opens
/// layers, the built-in format set, and whether payload arcs are expanded.
///
/// The `pcp::LayerGraph` holds one and opens reference and payload targets on
/// demand through it. The resolver is private — every path that resolves and
/// reads a layer is a method here, so no caller juggles the resolver itself. This is the Rust analog of C++ `Sdf_LayerRegistry`; it will
/// grow a ref-counted loaded-layer cache (`find_or_open` dedup) and custom
/// format registration.
pub struct LayerRegistry {
    resolver: Rc<dyn ar::Resolver>,
}

/// A layer as [`LayerRegistry::open`] reads it: its canonical identifier,
/// the location it resolved to, and its parsed data, ahead of the
/// [`sdf::Layer`] or sublayer walk built from it.
pub(crate) struct PreparedLayer {
    /// The layer's canonical identifier.
    pub identifier: String,
    /// Where the layer was found.
    pub resolved: ar::ResolvedPath,
    /// The layer's data.
    pub data: sdf::LayerData,
}

impl Default for LayerRegistry {
    /// A registry over the filesystem [`DefaultResolver`](ar::DefaultResolver)
    /// and the built-in formats — what [`Stage::builder`](crate::usd::Stage)
    /// uses unless a registry is configured.
    fn default() -> Self {
        Self::new(Box::new(ar::DefaultResolver::new()))
    }
}

impl LayerRegistry {
    /// A registry resolving asset paths through `resolver`.
    pub fn new(resolver: Box<dyn ar::Resolver>) -> Self {
        Self {
            resolver: Rc::from(resolver),
        }
    }

    /// Canonicalizes `asset_path` into a stable identifier, anchoring a relative
    /// path against `anchor`. Every canonical-identifier computation — interning a
    /// layer as it loads, anchoring an authored sublayer/arc path for lookup,
    /// keying the muted set — flows through here, so the underlying
    /// [`ar::Resolver`] stays private and the rules below apply uniformly.
    ///
    /// An anonymous layer identifier is its own canonical id: it names no
    /// asset-resolvable location, so it passes through unchanged (C++
    /// `SdfLayer::_GetCanonicalLayerId` / `ArResolver::CreateIdentifier`).
    /// Anchoring it against a layer would corrupt it into a bogus path that no
    /// interned layer matches.
    pub(crate) fn create_identifier(&self, asset_path: &str, anchor: Option<&ar::ResolvedPath>) -> String {
        if sdf::Layer::is_anonymous_identifier(asset_path) {
            return asset_path.to_string();
        }
        self.resolver.create_identifier(asset_path, anchor)
    }

    /// Resolves `asset_path` against `anchor_location` — the resolved real path
    /// of the layer it is authored in (its
    /// [`real_path`](sdf::Layer::real_path), which for a package is the
    /// package-relative default layer, not the bare package identifier) —
    /// yielding the canonical identifier of the targeted layer. The convenience
    /// over [`create_identifier`](Self::create_identifier) for the common case
    /// of anchoring against another layer's location string rather than a
    /// pre-resolved [`ar::ResolvedPath`].
    ///
    /// TODO(perf): the resolver canonicalizes via the filesystem, so each call
    /// runs a `canonicalize`. Cache resolved identifiers per
    /// `(anchor_location, asset_path)`.
    pub(crate) fn create_identifier_anchored(&self, asset_path: &str, anchor_location: &str) -> String {
        self.create_identifier(asset_path, Some(&ar::ResolvedPath::new(PathBuf::from(anchor_location))))
    }

    /// The identifier an in-memory layer is interned under when `asset_path`
    /// names it, by the resolver's
    /// [`in_memory_identifier`](ar::Resolver::in_memory_identifier). An
    /// anonymous layer identifier is its own, as it is for
    /// [`create_identifier`](Self::create_identifier).
    pub(crate) fn in_memory_identifier<'a>(&self, asset_path: &'a str) -> Cow<'a, str> {
        if sdf::Layer::is_anonymous_identifier(asset_path) {
            return Cow::Borrowed(asset_path);
        }
        self.resolver.in_memory_identifier(asset_path)
    }

    /// Whether the resolver calls `asset_path`
    /// [context dependent](ar::Resolver::is_context_dependent_path). An
    /// anonymous layer identifier never is: it names the one layer.
    pub(crate) fn is_context_dependent_path(&self, asset_path: &str) -> bool {
        !sdf::Layer::is_anonymous_identifier(asset_path) && self.resolver.is_context_dependent_path(asset_path)
    }

    /// Resolves an asset identifier to a physical location, or `None` if it does
    /// not exist.
    pub(crate) fn resolve(&self, identifier: &str) -> Option<ar::ResolvedPath> {
        self.resolver.resolve(identifier)
    }

    /// Opens the asset at a [`resolve`](Self::resolve)d location for reading.
    pub(crate) fn open_asset(&self, resolved: &ar::ResolvedPath) -> io::Result<Box<dyn ar::Asset>> {
        self.resolver.open_asset(resolved)
    }

    /// Resolves the layer the composition graph should open at `identifier`.
    ///
    /// This is [`resolve`](Self::resolve) deferred to the selected format's
    /// [`resolve_layer`](sdf::FileFormat::resolve_layer): a package
    /// (`pkg.usdz`) resolves to its default — first — packaged layer
    /// (`pkg.usdz[root.usd]`), so it composes as an ordinary layer stack and
    /// the sublayers and references authored inside it anchor in-package, while
    /// an ordinary format keeps the resolved location. Generic
    /// [`resolve`](Self::resolve) stays package-agnostic for asset-value
    /// resolution and the resolvability probe, which want the package path
    /// itself rather than a layer inside it. A resolved location no registered
    /// format claims passes through unchanged, so [`read`](Self::read) reports
    /// the missing format.
    ///
    /// The format is chosen by extension alone — unlike [`read`](Self::read),
    /// which content-sniffs the ambiguous `.usd`. That is sound because every
    /// `.usd` claimant keeps the identity default, so which one is picked does
    /// not change the real path; a future `.usd` format with a non-identity
    /// `resolve_layer` would need the content sniff here too.
    pub(crate) fn resolve_layer(&self, identifier: &str) -> Option<ar::ResolvedPath> {
        let resolved = self.resolver.resolve(identifier)?;
        match Self::find_by_extension(&resolved.extension()) {
            Some(format) => format.resolve_layer(self.resolver.as_ref(), &resolved),
            None => Some(resolved),
        }
    }

    /// The resolver's [`identity`](ar::Resolver::identity) token — the
    /// configuration the stack's asset paths resolve under.
    pub(crate) fn identity(&self) -> String {
        self.resolver.identity()
    }

    /// Decodes `bytes` as a layer, choosing the registered format whose
    /// [`matches_content`](sdf::FileFormat::matches_content) claims what they
    /// begin with (C++ `SdfFileFormat::CanRead`).
    ///
    /// This is the door for layer bytes that never came from an asset — a layer
    /// compiled into a program, or one a host hands over — where there is no
    /// extension to dispatch on. Content is therefore the only evidence, and
    /// bytes no format recognizes are
    /// [`Unrecognized`](sdf::FormatError::Unrecognized) rather than guessed at.
    /// A package has no content signature, so a `.usdz` is read from its asset
    /// rather than from bytes. `source_name` names their origin, for
    /// diagnostics that quote a location.
    pub fn read_bytes(bytes: ar::AssetBuffer, source_name: &str) -> Result<sdf::LayerData, sdf::FormatError> {
        DEFAULT_FORMATS
            .iter()
            .copied()
            .find(|format| format.matches_content(&bytes))
            .ok_or_else(|| sdf::FormatError::Unrecognized(source_name.into()))?
            .read_bytes(bytes, source_name)
    }

    /// Find the format claiming `ext` (without the leading dot, case-insensitive),
    /// e.g. `"usda"` or `"usd"`. C++ `SdfFileFormat::FindByExtension`.
    pub fn find_by_extension(ext: &str) -> Option<&'static dyn sdf::FileFormat> {
        DEFAULT_FORMATS
            .iter()
            .copied()
            .find(|f| f.extensions().iter().any(|e| e.eq_ignore_ascii_case(ext)))
    }

    /// The format that writes a layer at `filename`, chosen by its extension:
    /// [`find_by_extension`](Self::find_by_extension) narrowed to a format
    /// that can write, with the error an export reports otherwise.
    pub(crate) fn export_format(filename: &str) -> Result<&'static dyn sdf::FileFormat, sdf::ExportError> {
        let ext = ar::extension(filename);
        let format = Self::find_by_extension(ext).ok_or_else(|| match ext {
            "" => sdf::ExportError::NoExtension {
                filename: filename.to_owned(),
            },
            other => sdf::ExportError::UnsupportedExtension {
                extension: other.to_owned(),
            },
        })?;
        if !format.caps().can_write() {
            return Err(sdf::ExportError::NotWritable {
                format: format.format_id(),
            });
        }
        Ok(format)
    }

    /// Find the format with the given [`format_id`](sdf::FileFormat::format_id),
    /// e.g. `"usdc"`. C++ `SdfFileFormat::FindById`.
    pub fn find_by_id(id: &str) -> Option<&'static dyn sdf::FileFormat> {
        DEFAULT_FORMATS.iter().copied().find(|f| f.format_id() == id)
    }

    /// Resolves `identifier` and reads the layer there in its file format, or
    /// `None` when it does not resolve: the one resolve-and-read step every
    /// open builds on. Value-clip and manifest layers, which compose outside
    /// the layer graph (spec 12.3.4), use it directly.
    ///
    /// The resolved location comes back with the data because it is what anchors
    /// the relative asset paths the layer authors, and it is not always the
    /// identifier: a package resolves to its package-relative default layer.
    /// [`open_layer`](Self::open_layer) builds the [`sdf::Layer`] that keeps
    /// it.
    pub(crate) fn open(&self, identifier: &str) -> Result<Option<PreparedLayer>, LoadError> {
        let _scope = ar::CacheScope::begin();
        let Some(resolved) = self.resolve_layer(identifier) else {
            return Ok(None);
        };
        let data = self.read(&resolved)?;
        Ok(Some(PreparedLayer {
            identifier: identifier.to_owned(),
            resolved,
            data,
        }))
    }

    /// Opens the layer at `identifier` as an [`sdf::Layer`] anchored at the
    /// location it resolved to, which for a package is its default packaged
    /// layer, or `None` when it does not resolve.
    pub(crate) fn open_layer(&self, identifier: &str) -> Result<Option<sdf::Layer>, LoadError> {
        Ok(self
            .open(identifier)?
            .map(|layer| sdf::Layer::new_resolved(identifier, &layer.resolved, layer.data, Rc::clone(&self.resolver))))
    }

    /// Reads the single layer at `asset_path` (anchored against `anchor`)
    /// without opening its sublayers: the shallow read the stage root stack
    /// needs to compose its root and session layers' own expression variables
    /// into one context before either region's sublayer subtree is collected.
    /// The read is then handed to
    /// [`open_prepared_stack`](Self::open_prepared_stack), so the layer is
    /// parsed once at open. A path that does not resolve, the empty path
    /// among them, is [`Unresolved`](LoadError::Unresolved); a read failure
    /// propagates.
    pub(crate) fn prepare_root(
        &self,
        asset_path: &str,
        anchor: Option<&ar::ResolvedPath>,
    ) -> Result<PreparedLayer, LoadError> {
        let identifier = self.create_identifier(asset_path, anchor);
        let unresolved = || LoadError::Unresolved {
            asset_path: asset_path.to_owned(),
        };
        if identifier.is_empty() {
            return Err(unresolved());
        }
        self.open(&identifier)?.ok_or_else(unresolved)
    }

    /// Opens the layer at `identifier` — a canonical identifier, as
    /// [`create_identifier`](Self::create_identifier) produces — together with
    /// its sublayer stack, root (strongest) layer first. Taking the identifier
    /// rather than an asset path keeps a search-path identifier (`lib/x.usda`,
    /// resolved through the search directories) from being re-anchored here.
    ///
    /// Following stops at references and payloads: composition opens those target
    /// layers on demand when it reaches the arc, so an un-visited subtree never
    /// loads them. Only `subLayers` edges are walked, since a layer's sublayer
    /// stack contributes opinions to its own namespace and so must be present
    /// whenever the layer is (spec 10.3.1.1). `already_present` reports whether a
    /// layer (by canonical identifier) is already loaded, so a sublayer shared
    /// with the graph is neither re-read nor re-emitted.
    ///
    /// A root that does not resolve returns `Ok(None)`; one that resolves but
    /// cannot be read propagates as `Err` — the caller decides how to frame
    /// each. A sublayer that fails to resolve, or that resolves but cannot be
    /// read, is routed to `on_error` and skipped, so one bad sublayer never
    /// fails the whole stack (C++ `SdfLayer` opens the root and reports the bad
    /// sublayer).
    ///
    /// `ancestor_expr_vars` are the overrides the stack that brought the layer
    /// in supplies (the session root's own variables for the stage root stack, a
    /// reference/payload arc's composed set for a target). They overlay the root
    /// layer's own `expressionVariables` — the overrides win — to form the one
    /// context the whole stack resolves its expression-valued `subLayers` paths
    /// against (C++ `PcpExpressionVariables`). Sublayers of the root contribute no
    /// variables, so the context is fixed for the whole walk.
    ///
    /// With `reload`, an already-interned root and its already-present
    /// sublayers are re-read and re-walked (but not re-emitted). A re-open
    /// under a new expression-variable context then loads the `${VAR}`
    /// sublayers that context resolves, including ones nested below a literal
    /// sublayer, which a first, variable-free open left unresolved. The caller
    /// only reloads for that case.
    ///
    /// This is a pure loader: it reports every load failure raw (a missing or
    /// unreadable sublayer, at whatever site reaches it) and knows nothing of
    /// muting. Whether such a failure is a stage diagnostic depends on composition
    /// reachability — a failure under a muted branch contributes nothing — which the
    /// composition layer decides once the muted-aware graph exists (see
    /// [`StageBuilder::make_stage`](crate::usd::Stage)). Keeping the muted policy out
    /// of the load walk avoids attributing a diagnostic to whichever branch happened
    /// to reach a shared layer first.
    pub(crate) fn open_stack(
        &self,
        identifier: &str,
        ancestor_expr_vars: &HashMap<String, sdf::Value>,
        reload: bool,
        on_error: &dyn Fn(Error) -> Result<(), Error>,
        already_present: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Vec<sdf::Layer>>, LoadError> {
        if identifier.is_empty() {
            return Ok(None);
        }
        self.open(identifier)?
            .map(|root| self.open_prepared_stack(root, ancestor_expr_vars, reload, on_error, already_present))
            .transpose()
    }

    /// [`open_stack`](Self::open_stack) from a root layer already read by
    /// [`prepare_root`](Self::prepare_root).
    pub(crate) fn open_prepared_stack(
        &self,
        root: PreparedLayer,
        ancestor_expr_vars: &HashMap<String, sdf::Value>,
        reload: bool,
        on_error: &dyn Fn(Error) -> Result<(), Error>,
        already_present: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<sdf::Layer>, LoadError> {
        let mut layers = Vec::new();
        let mut visited = HashSet::from([root.identifier.clone()]);

        // The whole stack resolves its `${VAR}` sublayers against one context (C++
        // `PcpExpressionVariables`): the root layer's own `expressionVariables`
        // overlaid by the inherited overrides. Sublayers contribute nothing, so it
        // is fixed for the walk.
        let stack_vars = expr::stack_expression_variables(root.data.as_ref(), ancestor_expr_vars)?;

        self.open_sublayers(
            root,
            &stack_vars,
            reload,
            on_error,
            already_present,
            &mut visited,
            &mut layers,
        )?;
        Ok(layers)
    }

    /// Opens the layer at `identifier` — the canonical identifier a composed
    /// stack's `subLayers` entry resolved to — together with its own sublayer
    /// subtree, strongest first, for a layer joining an already-composed stack
    /// on demand (a `SublayerDemand` in [`crate::pcp`]).
    ///
    /// Unlike [`open_stack`](Self::open_stack), which treats its asset as a new
    /// stack root and composes that layer's own `expressionVariables` into the
    /// context, the subtree opened here joins the enclosing stack, so
    /// `stack_vars` — that stack's composed variables — resolve the whole walk
    /// unchanged: a sublayer contributes no variables (C++
    /// `PcpExpressionVariables`).
    ///
    /// Like [`open_stack`](Self::open_stack), this is a pure loader that knows
    /// nothing of who demanded the layer: a root that does not resolve returns
    /// `Ok(None)` and one that resolves but cannot be read propagates as
    /// `Err`, leaving the caller — who knows the referring layer and authored
    /// entry — to frame the diagnostic. A failure nested inside the subtree is
    /// skipped; it surfaces once the tree is wired into its stack, whose
    /// recompose re-derives the failing entry as its own demand.
    pub(crate) fn open_sublayer_tree(
        &self,
        identifier: &str,
        stack_vars: &HashMap<String, sdf::Value>,
        already_present: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Vec<sdf::Layer>>, LoadError> {
        let Some(layer) = self.open(identifier)? else {
            return Ok(None);
        };
        let mut layers = Vec::new();
        let mut visited = HashSet::from([identifier.to_string()]);
        self.open_sublayers(
            layer,
            stack_vars,
            false,
            &|_| Ok(()),
            already_present,
            &mut visited,
            &mut layers,
        )?;
        Ok(Some(layers))
    }

    /// Opens the layer at `resolved`, dispatching to the registered format for
    /// its extension. The `.usd` extension is the one ambiguous case — binary
    /// crate or text — so it reads the bytes once and lets
    /// [`read_bytes`](Self::read_bytes) choose by content.
    /// C++ `SdfFileFormat::FindByExtension` + `CanRead`.
    fn read(&self, resolved: &ar::ResolvedPath) -> Result<sdf::LayerData, LoadError> {
        let ext = resolved.extension();
        if ext.eq_ignore_ascii_case("usd") {
            let bytes = self
                .resolver
                .open_asset(resolved)
                .and_then(|asset| asset.into_buffer())
                .map_err(sdf::FormatError::from)?;
            return Ok(Self::read_bytes(bytes, &resolved.to_string())?);
        }
        Ok(Self::find_by_extension(&ext)
            .ok_or_else(|| LoadError::UnsupportedFormat {
                resolved: resolved.to_string(),
            })?
            .read(self.resolver.as_ref(), resolved)?)
    }

    /// Emits an already-read layer and recursively opens its sublayers.
    ///
    /// `layer` is read by the caller (the root in
    /// [`open_prepared_stack`](Self::open_prepared_stack), each sublayer in
    /// the loop below) so a sublayer's read failure is routed to `on_error`
    /// while the root's propagates.
    ///
    /// `stack_vars` is the one context the whole stack resolves against (the root
    /// layer's own `expressionVariables` overlaid by the inherited overrides,
    /// computed once in [`open_prepared_stack`](Self::open_prepared_stack)).
    /// This layer's own `expressionVariables` do not contribute — only the
    /// stack root's do (C++ `PcpExpressionVariables`) — so it is passed down
    /// unchanged.
    #[allow(clippy::too_many_arguments)]
    fn open_sublayers(
        &self,
        layer: PreparedLayer,
        stack_vars: &HashMap<String, sdf::Value>,
        reload: bool,
        on_error: &dyn Fn(Error) -> Result<(), Error>,
        already_present: &dyn Fn(&str) -> bool,
        visited: &mut HashSet<String>,
        layers: &mut Vec<sdf::Layer>,
    ) -> Result<(), LoadError> {
        let PreparedLayer {
            identifier,
            resolved,
            data,
        } = layer;
        let sub_paths = Self::sublayer_paths(data.as_ref());

        // Emit this layer ahead of its sublayers so the collected stack is
        // strongest-first: a layer overrides the layers it sublayers, and earlier
        // entries in a `subLayers` list override later ones (spec 10.3.1.1). In a
        // reload pass an already-interned layer is re-walked (to reach a `${VAR}`
        // sublayer the new context now resolves) but not re-emitted.
        if !already_present(&identifier) {
            layers.push(sdf::Layer::new_resolved(
                identifier.clone(),
                &resolved,
                data,
                Rc::clone(&self.resolver),
            ));
        }

        // Failed sublayer identifiers already reported for *this* layer, so a layer
        // that authors the same missing/unreadable sublayer twice reports it once.
        // Kept per referrer (not shared with the pass-wide `visited`) so a failure
        // suppressed here never hides the same sublayer's diagnostic at another,
        // active referrer.
        let mut failed: HashSet<String> = HashSet::new();

        // Sublayers (and references) reached from inside a `.usdz` resolve
        // in-package: a package root is anchored to its first layer, so this
        // layer's `resolved` is already package-relative and its sublayer paths
        // anchor against it the same way any other layer's do.
        //
        // TODO(rayon): each sublayer's resolve and read is independent of its
        // siblings'; only the emission order and the `visited` / `failed`
        // bookkeeping are sequential.
        for sub_path in sub_paths {
            // Evaluate an expression-valued sublayer path. An unevaluable
            // expression drops only this sublayer — like an unresolved or
            // unreadable one — rather than failing the whole stack open. It has no
            // resolved identifier to key on, so it deduplicates per referrer by its
            // authored path, keeping the three load-failure branches consistent. An
            // expression evaluating to `None` contributes no sublayer and no error
            // (C++ skips it silently).
            let sub_asset = if expr::is_expression(&sub_path) {
                let evaluated = expr::evaluate_string(&sub_path, stack_vars);
                match evaluated.value {
                    Some(evaluated) => evaluated,
                    None if evaluated.errors.is_empty() => continue,
                    None => {
                        if failed.insert(sub_path.clone()) {
                            on_error(Error::InvalidExpression {
                                expression: sub_path,
                                referencing_layer: identifier.clone(),
                                reason: evaluated.errors.join("; "),
                            })?;
                        }
                        continue;
                    }
                }
            } else {
                sub_path
            };

            let sub_id = self.create_identifier(&sub_asset, Some(&resolved));
            // A sublayer already opened this pass is skipped. One already in the
            // graph is skipped too — except in a reload pass, where it is re-walked
            // to reach the `${VAR}` sublayers the new context now resolves below it
            // (it is not re-emitted; see the push above). A failure this layer
            // already reported is skipped too. An empty/degenerate identifier falls
            // through to the resolve below as `UnresolvedAsset`.
            if visited.contains(&sub_id) || failed.contains(&sub_id) || (already_present(&sub_id) && !reload) {
                continue;
            }
            // Resolve the sublayer; a missing one is a raw load failure reported at
            // this referencing site. It is a leaf (no subtree to walk), so it is not
            // added to the pass-wide `visited`: each referencing layer records its own
            // edge, so a shared missing layer reached from several layers is reported
            // once per referrer and the composition layer can suppress by referrer.
            let Some(sub_resolved) = self.resolve_layer(&sub_id) else {
                on_error(Error::UnresolvedAsset {
                    asset_path: sub_asset,
                    referencing_layer: identifier.clone(),
                })?;
                failed.insert(sub_id);
                continue;
            };
            // Read the sublayer; a resolved-but-unreadable one is a raw load failure
            // like a missing one — reported at this referencing site and, being a
            // leaf, left out of `visited` (dropping only this layer; the root's read
            // failure propagated from `open_stack`).
            let sub_data = match self.read(&sub_resolved) {
                Ok(data) => data,
                Err(reason) => {
                    on_error(Error::UnreadableAsset {
                        asset_path: sub_asset,
                        referencing_layer: identifier.clone(),
                        reason: tf::error_chain(&reason),
                    })?;
                    failed.insert(sub_id);
                    continue;
                }
            };
            // A readable layer is interned and its subtree walked once; claim it in
            // `visited` before recursing so a diamond or cycle does not re-emit it.
            visited.insert(sub_id.clone());

            self.open_sublayers(
                PreparedLayer {
                    identifier: sub_id,
                    resolved: sub_resolved,
                    data: sub_data,
                },
                stack_vars,
                reload,
                on_error,
                already_present,
                visited,
                layers,
            )?;
        }

        Ok(())
    }

    /// A layer's `subLayers` asset paths (empty when it declares none).
    pub(crate) fn sublayer_paths(data: &dyn sdf::AbstractData) -> Vec<String> {
        sdf::PseudoRootSpecRef::get(data)
            .and_then(|root| root.sublayers())
            .unwrap_or_default()
    }
}
