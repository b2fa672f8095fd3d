#include "stage.h"

#include "pxr/usd/sdf/assetPath.h"
#include "pxr/usd/sdf/listOp.h"
#include "pxr/usd/sdf/primSpec.h"
#include "pxr/usd/sdf/schema.h"
#include "pxr/usd/usd/primRange.h"
#include "sinew-openusd/src/bridge.rs.h"

#include <vector>

PXR_NAMESPACE_USING_DIRECTIVE

namespace sinew {

// Schemas that a prim has because its type or the studio's plugins say so are nowhere in the layer: said there, whoever
// reads it has them.
static void say_schemas(const UsdStageRefPtr& stage, const SdfLayerRefPtr& flat) {
    static const TfToken field("apiSchemas");
    for (const UsdPrim& prim : stage->TraverseAll()) {
        const SdfPrimSpecHandle spec = flat->GetPrimAtPath(prim.GetPath());
        if (!spec) continue;
        const TfTokenVector all = prim.GetAppliedSchemas();
        SdfTokenListOp list;
        if (!all.empty()) list = flat->GetFieldAs<SdfTokenListOp>(prim.GetPath(), field);
        TfTokenVector said;
        list.ApplyOperations(&said);
        if (said.size() == all.size()) continue;
        flat->SetField(prim.GetPath(), field, SdfTokenListOp::CreateExplicit(all));
    }
}

// Empty lists of words count as none for who reads this, and its reader of crate files does not know them.
static void drop_empty_words(const SdfLayerRefPtr& flat) {
    std::vector<SdfPath> paths;
    flat->Traverse(SdfPath::AbsoluteRootPath(), [&](const SdfPath& path) {
        if (!path.IsPropertyPath()) return;
        const VtValue value = flat->GetField(path, SdfFieldKeys->Default);
        if ((value.IsHolding<VtStringArray>() || value.IsHolding<VtArray<SdfAssetPath>>()) && value.GetArraySize() == 0) {
            paths.push_back(path);
        }
    });
    for (const SdfPath& path : paths) flat->EraseField(path, SdfFieldKeys->Default);
}

Reply read(const Source& source, const Asker& asker, rust::Str into) {
    Heard heard;
    const Opened opened = open(source, asker, nullptr, heard);
    const SdfLayerRefPtr flat = opened.stage->Flatten(false);
    if (!flat) heard.fail("OpenUSD cannot flatten it");
    say_schemas(opened.stage, flat);
    sample_splines(flat);
    drop_empty_words(flat);
    if (!flat->Export(std::string(into))) heard.fail("OpenUSD cannot write it");
    Reply reply;
    reply.warnings = heard.lines();
    reply.bytes = opened.bytes;
    reply.layer = opened.stage->GetRootLayer()->GetIdentifier();
    return reply;
}

}  // namespace sinew
