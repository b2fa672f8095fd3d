#include "stage.h"

#include "pxr/usd/ar/defaultResolver.h"
#include "pxr/usd/ar/defaultResolverContext.h"
#include "pxr/usd/ar/packageUtils.h"
#include "pxr/usd/ar/resolver.h"
#include "pxr/usd/ar/resolverContextBinder.h"
#include "pxr/usd/sdf/layerUtils.h"
#include "pxr/usd/sdf/schema.h"
#include "pxr/usd/usdUtils/stageCache.h"
#include "sinew-openusd/src/bridge.rs.h"

#include <cmath>
#include <filesystem>
#include <set>
#include <typeinfo>
#include <vector>

PXR_NAMESPACE_USING_DIRECTIVE

namespace sinew {

rust::String version() {
    return std::to_string(PXR_MINOR_VERSION) + "." + std::to_string(PXR_PATCH_VERSION);
}

Heard::Heard() { TfDiagnosticMgr::GetInstance().AddDelegate(this); }

Heard::~Heard() { TfDiagnosticMgr::GetInstance().RemoveDelegate(this); }

void Heard::IssueError(const TfError& error) {
    std::lock_guard<std::mutex> lock(_mutex);
    _lines.insert(error.GetCommentary());
}

void Heard::IssueWarning(const TfWarning& warning) {
    std::lock_guard<std::mutex> lock(_mutex);
    _lines.insert(warning.GetCommentary());
}

void Heard::IssueFatalError(const TfCallContext&, const std::string& text) {
    std::fprintf(stderr, "OpenUSD: %s\n", text.c_str());
}

rust::Vec<rust::String> Heard::lines() const {
    std::lock_guard<std::mutex> lock(_mutex);
    rust::Vec<rust::String> out;
    for (std::string line : _lines) {
        for (char& c : line) {
            if (c == '\n') c = ' ';
        }
        out.push_back(rust::String::lossy(line));
    }
    return out;
}

void Heard::fail(const std::string& what) const {
    std::lock_guard<std::mutex> lock(_mutex);
    throw std::runtime_error(_lines.empty() ? what : what + ": " + *_lines.begin());
}

bool is_fenced() {
    static const bool fenced = typeid(ArGetUnderlyingResolver()) == typeid(ArDefaultResolver);
    return fenced;
}

ArResolverContext context_of(const Source& source) {
    if (is_fenced()) {
        std::vector<std::string> folders;
        for (const auto& folder : source.search) folders.push_back(std::string(folder));
        return ArResolverContext(ArDefaultResolverContext(folders));
    }
    return ArGetResolver().CreateDefaultContextForAsset(std::string(source.file));
}

std::string file_of(const std::string& resolved) {
    return ArIsPackageRelativePath(resolved) ? ArSplitPackageRelativePathOuter(resolved).first : resolved;
}

// The clock of a layer; OpenUSD scales time by it and does not end where it is 0.
static void check_clock(const SdfLayerRefPtr& layer) {
    for (const TfToken& field : {SdfFieldKeys->TimeCodesPerSecond, SdfFieldKeys->FramesPerSecond}) {
        const VtValue value = layer->GetField(SdfPath::AbsoluteRootPath(), field);
        if (!value.IsHolding<double>()) continue;
        const double rate = value.UncheckedGet<double>();
        if (!(rate > 0.0) || !std::isfinite(rate)) {
            throw std::runtime_error("`" + field.GetString() + "` of @" + layer->GetIdentifier() +
                                     "@ is not a number above 0; correct it");
        }
    }
}

// Adds the assets that a value names, at any depth of a dictionary.
static void add_assets(const VtValue& value, std::set<std::string>* assets) {
    if (value.IsHolding<SdfAssetPath>()) {
        assets->insert(value.UncheckedGet<SdfAssetPath>().GetAssetPath());
    } else if (value.IsHolding<VtArray<SdfAssetPath>>()) {
        for (const SdfAssetPath& asset : value.UncheckedGet<VtArray<SdfAssetPath>>()) {
            assets->insert(asset.GetAssetPath());
        }
    } else if (value.IsHolding<VtDictionary>()) {
        for (const auto& entry : value.UncheckedGet<VtDictionary>()) add_assets(entry.second, assets);
    }
}

// All that a layer composes, value clips included, which OpenUSD opens when values are asked for.
static std::set<std::string> dependencies_of(const SdfLayerRefPtr& layer) {
    std::set<std::string> assets = layer->GetCompositionAssetDependencies();
    layer->Traverse(SdfPath::AbsoluteRootPath(), [&](const SdfPath& path) {
        if (path.IsPrimOrPrimVariantSelectionPath()) {
            add_assets(layer->GetField(path, TfToken("clips")), &assets);
        }
    });
    assets.erase("");
    return assets;
}

// Opens a layer and all that it refers to, each after it was permitted.
static void gather(const SdfLayerRefPtr& root, const Asker& asker, Opened* opened) {
    std::vector<SdfLayerRefPtr> waiting{root};
    opened->held.insert(root);
    while (!waiting.empty()) {
        const SdfLayerRefPtr layer = waiting.back();
        waiting.pop_back();
        check_clock(layer);
        std::error_code none;
        const std::uintmax_t size = std::filesystem::file_size(file_of(layer->GetRealPath()), none);
        if (!none) opened->bytes += size;
        for (const std::string& asset : dependencies_of(layer)) {
            const std::string name = SdfComputeAssetPathRelativeToLayer(layer, asset);
            // The package alone: to resolve what is in one is to open it.
            const std::string resolved = ArGetResolver().Resolve(file_of(name));
            if (resolved.empty()) continue;
            if (is_fenced() && !asker.permits(asset, resolved)) {
                throw std::runtime_error("@" + asset + "@ may not be read");
            }
            const SdfLayerRefPtr next = SdfLayer::FindOrOpen(name);
            if (next && opened->held.insert(next).second) waiting.push_back(next);
        }
    }
}

UsdStageRefPtr find(const Source& source) {
    const UsdStageCache::Id id = UsdStageCache::Id::FromLongInt(static_cast<long>(source.stage));
    const UsdStageRefPtr stage = UsdUtilsStageCache::Get().Find(id);
    if (!stage) {
        throw std::runtime_error("there is no stage " + std::to_string(source.stage) +
                                 " in the cache of UsdUtils; insert it there, and give the number that it got");
    }
    return stage;
}

SdfLayerRefPtr layer_of(const UsdStageRefPtr& stage) {
    for (const std::string& name : stage->GetSessionLayer()->GetSubLayerPaths()) {
        const SdfLayerRefPtr layer = SdfLayer::Find(name);
        if (layer && layer->IsAnonymous() && layer->GetDisplayName() == LAYER_NAME) return layer;
    }
    return nullptr;
}

Opened open(const Source& source, const Asker& asker, const SdfLayerRefPtr& session, const Heard& heard) {
    Opened opened;
    if (source.is_live) {
        const UsdStageRefPtr stage = find(source);
        const SdfLayerRefPtr own = layer_of(stage);
        if (!own && !session) {
            opened.stage = stage;
            return opened;
        }
        // The same stage as the host has it, but for our own layer, and with the edits.
        const SdfLayerRefPtr copy = SdfLayer::CreateAnonymous();
        copy->TransferContent(stage->GetSessionLayer());
        if (own) copy->GetSubLayerPaths().Remove(own->GetIdentifier());
        if (session) {
            copy->InsertSubLayerPath(session->GetIdentifier(), 0);
            if (session->HasStartTimeCode()) copy->SetStartTimeCode(session->GetStartTimeCode());
            if (session->HasEndTimeCode()) copy->SetEndTimeCode(session->GetEndTimeCode());
        }
        opened.held.insert(copy);
        opened.stage = UsdStage::OpenMasked(stage->GetRootLayer(), copy, stage->GetPathResolverContext(),
                                            stage->GetPopulationMask());
        if (!opened.stage) heard.fail("OpenUSD cannot open the stage again");
        opened.stage->SetLoadRules(stage->GetLoadRules());
        opened.stage->MuteAndUnmuteLayers(stage->GetMutedLayers(), {});
        return opened;
    }
    const ArResolverContext context = context_of(source);
    ArResolverContextBinder bound(context);
    const SdfLayerRefPtr root = SdfLayer::FindOrOpen(std::string(source.file));
    if (!root) heard.fail("OpenUSD cannot open it");
    gather(root, asker, &opened);
    const std::uint64_t most = source.most_prims + opened.bytes / std::max<std::uint64_t>(source.bytes_per_prim, 1);
    // What several layers say of one prim counts for each of them.
    if (census(root) / 4 > most) {
        throw std::runtime_error("there are far more than " + std::to_string(most) +
                                 " prims, out of proportion to its files; are references repeated? Flatten the "
                                 "stage if that is meant");
    }
    opened.stage = session ? UsdStage::Open(root, session, context) : UsdStage::Open(root, context);
    if (!opened.stage) heard.fail("OpenUSD cannot open it");
    // Names that are made of variables are known only now, and so are value clips.
    for (const SdfLayerHandle& layer : opened.stage->GetUsedLayers()) {
        const std::string path = layer->GetRealPath();
        if (path.empty() || opened.held.count(layer) || layer == session) continue;
        if (is_fenced() && !asker.permits(layer->GetIdentifier(), file_of(path))) {
            throw std::runtime_error("@" + layer->GetIdentifier() + "@ may not be read");
        }
    }
    return opened;
}

}  // namespace sinew
