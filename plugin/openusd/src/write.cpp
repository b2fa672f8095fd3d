#include "stage.h"

#include "pxr/usd/ar/resolverContextBinder.h"
#include "pxr/usd/sdf/attributeSpec.h"
#include "pxr/usd/sdf/changeBlock.h"
#include "pxr/usd/sdf/listOp.h"
#include "pxr/usd/sdf/primSpec.h"
#include "pxr/usd/sdf/relationshipSpec.h"
#include "pxr/usd/sdf/schema.h"
#include "pxr/usd/usd/editContext.h"
#include "pxr/usd/usdUtils/dependencies.h"
#include "pxr/usd/usdUtils/usdzPackage.h"
#include "sinew-openusd/src/bridge.rs.h"

#include <vector>

PXR_NAMESPACE_USING_DIRECTIVE

namespace sinew {

// Puts a prim's specifier, type and schemas over those that a layer has.
static void merge_prim(const SdfLayerRefPtr& edits, const SdfPath& path, const SdfLayerRefPtr& into) {
    static const TfToken schemas("apiSchemas");
    const SdfPrimSpecHandle from = edits->GetPrimAtPath(path), to = SdfCreatePrimInLayer(into, path);
    if (!to) throw std::runtime_error("<" + path.GetString() + "> cannot be written into the layer");
    if (from->GetSpecifier() == SdfSpecifierDef) {
        to->SetSpecifier(SdfSpecifierDef);
        to->SetTypeName(from->GetTypeName().GetString());
    }
    SdfTokenListOp over;
    if (!edits->HasField(path, schemas, &over)) return;
    SdfTokenListOp under;
    into->HasField(path, schemas, &under);
    if (const auto both = over.ApplyOperations(under)) {
        into->SetField(path, schemas, *both);
    } else {
        into->SetField(path, schemas, over);
    }
}

// Puts an attribute's values over those that a layer has. Values of one kind take the place of those of another that
// would hide them.
static void merge_attribute(const SdfLayerRefPtr& edits, const SdfPath& path, const SdfLayerRefPtr& into) {
    static const TfToken spline("spline");
    const SdfAttributeSpecHandle from = edits->GetAttributeAtPath(path);
    if (!into->GetAttributeAtPath(path)) {
        const SdfPrimSpecHandle prim = SdfCreatePrimInLayer(into, path.GetPrimPath());
        SdfAttributeSpec::New(prim, path.GetName(), from->GetTypeName(), from->GetVariability(), from->IsCustom());
    }
    const auto erase = [&](const TfToken& field) { into->EraseField(path, field); };
    for (const TfToken& field : edits->ListFields(path)) {
        if (field == SdfFieldKeys->TypeName || field == SdfFieldKeys->Variability || field == SdfFieldKeys->Custom) continue;
        if (field == SdfFieldKeys->Default) {
            erase(SdfFieldKeys->TimeSamples);
            erase(spline);
        } else if (field == SdfFieldKeys->TimeSamples) {
            erase(spline);
        } else if (field == spline) {
            erase(SdfFieldKeys->TimeSamples);
        }
        into->SetField(path, field, edits->GetField(path, field));
    }
}

static void merge_relationship(const SdfLayerRefPtr& edits, const SdfPath& path, const SdfLayerRefPtr& into) {
    const SdfRelationshipSpecHandle from = edits->GetRelationshipAtPath(path);
    SdfRelationshipSpecHandle to = into->GetRelationshipAtPath(path);
    if (!to) {
        const SdfPrimSpecHandle prim = SdfCreatePrimInLayer(into, path.GetPrimPath());
        to = SdfRelationshipSpec::New(prim, path.GetName(), from->IsCustom(), from->GetVariability());
    }
    to->GetTargetPathList().ClearEditsAndMakeExplicit();
    for (const SdfPath& target : from->GetTargetPathList().GetAppliedItems()) to->GetTargetPathList().Add(target);
}

// Puts what a layer says over what another says.
static void merge(const SdfLayerRefPtr& edits, const SdfLayerRefPtr& into) {
    std::vector<SdfPath> paths;
    edits->Traverse(SdfPath::AbsoluteRootPath(), [&](const SdfPath& path) { paths.push_back(path); });
    // Parents first.
    std::sort(paths.begin(), paths.end());
    const SdfPath root = SdfPath::AbsoluteRootPath();
    for (const TfToken& field : {SdfFieldKeys->StartTimeCode, SdfFieldKeys->EndTimeCode}) {
        if (edits->HasField(root, field)) into->SetField(root, field, edits->GetField(root, field));
    }
    for (const SdfPath& path : paths) {
        if (path.IsPrimPath()) merge_prim(edits, path, into);
        else if (edits->GetAttributeAtPath(path)) merge_attribute(edits, path, into);
        else if (edits->GetRelationshipAtPath(path)) merge_relationship(edits, path, into);
    }
}

// Puts the edits on the host's stage, in a layer of our own below its session layer, in place of what was in it.
static std::string put(const UsdStageRefPtr& stage, const SdfLayerRefPtr& edits) {
    SdfLayerRefPtr layer = layer_of(stage);
    if (!layer) {
        layer = SdfLayer::CreateAnonymous(LAYER_NAME);
        stage->GetSessionLayer()->InsertSubLayerPath(layer->GetIdentifier(), 0);
    }
    layer->TransferContent(edits);
    // Only the root and the session layer itself say how long a stage is.
    const UsdEditContext session(stage, stage->GetSessionLayer());
    if (edits->HasStartTimeCode() && edits->GetStartTimeCode() < stage->GetStartTimeCode()) {
        stage->SetStartTimeCode(edits->GetStartTimeCode());
    }
    if (edits->HasEndTimeCode() && edits->GetEndTimeCode() > stage->GetEndTimeCode()) {
        stage->SetEndTimeCode(edits->GetEndTimeCode());
    }
    return layer->GetIdentifier();
}

static void pack(const Source& source, const Asker& asker, const std::string& edits, const std::string& into,
                 const Heard& heard) {
    ArResolverContextBinder bound(context_of(source));
    std::vector<SdfLayerRefPtr> layers;
    std::vector<std::string> assets, missing;
    UsdUtilsComputeAllDependencies(SdfAssetPath(edits), &layers, &assets, &missing);
    for (const std::string& asset : assets) {
        if (is_fenced() && !asker.permits(asset, file_of(asset))) throw std::runtime_error("@" + asset + "@ may not be read");
    }
    if (!UsdUtilsCreateNewUsdzPackage(SdfAssetPath(edits), into)) heard.fail("OpenUSD cannot pack it");
}

Reply write(const Source& source, const Asker& asker, rust::Str edits_file, Way way, rust::Str into_file) {
    Heard heard;
    const std::string file(edits_file), into(into_file);
    Reply reply;
    const SdfLayerRefPtr edits = SdfLayer::OpenAsAnonymous(file);
    if (!edits) heard.fail("OpenUSD cannot read what is to be written");
    const auto save = [&](const SdfLayerRefPtr& layer) {
        if (!layer || !layer->Export(into)) heard.fail("OpenUSD cannot write it");
    };
    switch (way) {
    case Way::Layer: save(edits); break;
    case Way::Flat: {
        Opened opened = open(source, asker, edits, heard);
        opened.held.insert(edits);
        refuse_splines(opened.held, false);
        save(opened.stage->Flatten(false));
        break;
    }
    case Way::InPlace: {
        ArResolverContextBinder bound(context_of(source));
        const SdfLayerRefPtr root = SdfLayer::OpenAsAnonymous(std::string(source.file));
        if (!root) heard.fail("OpenUSD cannot open it");
        merge(edits, root);
        save(root);
        break;
    }
    case Way::Package: pack(source, asker, file, into, heard); break;
    case Way::Live: reply.layer = put(find(source), edits); break;
    }
    reply.warnings = heard.lines();
    return reply;
}

}  // namespace sinew
