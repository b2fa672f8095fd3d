#include "stage.h"

#include "pxr/usd/sdf/layerUtils.h"
#include "pxr/usd/sdf/payload.h"
#include "pxr/usd/sdf/primSpec.h"
#include "pxr/usd/sdf/reference.h"
#include "pxr/usd/sdf/variantSetSpec.h"
#include "pxr/usd/sdf/variantSpec.h"

#include <algorithm>
#include <map>
#include <utility>

PXR_NAMESPACE_USING_DIRECTIVE

namespace sinew {

namespace {

// More than anybody has; sums stay below what overflows.
constexpr std::uint64_t ENDLESS = 1ull << 50;

// Counts prims by what specs say: a prim is one, what is below it, and what it refers to, each counted once and
// remembered. Circles count for nothing: composition refuses them.
class Census {
public:
    std::uint64_t layer(const SdfLayerHandle& layer) {
        if (!_layers.insert(layer->GetIdentifier()).second) return 0;
        std::uint64_t sum = 0;
        for (const SdfPrimSpecHandle& prim : layer->GetRootPrims()) sum = add(sum, prim_of(prim));
        for (const std::string& name : layer->GetSubLayerPaths()) {
            if (const SdfLayerRefPtr below = SdfLayer::FindRelativeToLayer(layer, name)) {
                sum = add(sum, this->layer(below));
            }
        }
        return sum;
    }

private:
    static std::uint64_t add(std::uint64_t a, std::uint64_t b) { return std::min(a + b, ENDLESS); }

    std::uint64_t at(const SdfLayerHandle& layer, const SdfPath& path) {
        const SdfPrimSpecHandle prim = layer ? layer->GetPrimAtPath(path) : SdfPrimSpecHandle();
        return prim ? prim_of(prim) : 0;
    }

    std::uint64_t prim_of(const SdfPrimSpecHandle& prim) {
        const auto key = std::make_pair(prim->GetLayer()->GetIdentifier(), prim->GetPath());
        const auto known = _known.find(key);
        if (known != _known.end()) return known->second;
        _known[key] = 0;
        std::uint64_t sum = 1;
        for (const SdfPrimSpecHandle& child : prim->GetNameChildren()) sum = add(sum, prim_of(child));
        for (const auto& set : prim->GetVariantSets()) {
            std::uint64_t most = 0;
            const SdfVariantSetSpecHandle variants = set.second;
            for (const SdfVariantSpecHandle& variant : variants->GetVariantList()) {
                most = std::max(most, prim_of(variant->GetPrimSpec()));
            }
            sum = add(sum, most);
        }
        const SdfLayerHandle own = prim->GetLayer();
        const auto arc = [&](const std::string& asset, const SdfPath& path) {
            const SdfLayerHandle layer =
                asset.empty() ? own : SdfLayerHandle(SdfLayer::FindRelativeToLayer(own, asset));
            if (!layer) return;
            sum = add(sum, at(layer, path.IsEmpty() ? layer->GetDefaultPrimAsPath() : path));
        };
        for (const SdfReference& r : prim->GetReferenceList().GetAppliedItems()) arc(r.GetAssetPath(), r.GetPrimPath());
        for (const SdfPayload& p : prim->GetPayloadList().GetAppliedItems()) arc(p.GetAssetPath(), p.GetPrimPath());
        for (const SdfPath& p : prim->GetInheritPathList().GetAppliedItems()) arc("", p);
        for (const SdfPath& p : prim->GetSpecializesList().GetAppliedItems()) arc("", p);
        return _known[key] = sum;
    }

    std::set<std::string> _layers;
    std::map<std::pair<std::string, SdfPath>, std::uint64_t> _known;
};

}  // namespace

std::uint64_t census(const SdfLayerRefPtr& root) { return Census().layer(root); }

}  // namespace sinew
