#include "stage.h"

#include "pxr/usd/sdf/assetPath.h"
#include "pxr/usd/sdf/attributeSpec.h"
#include "pxr/usd/sdf/listOp.h"
#include "pxr/usd/sdf/primSpec.h"
#include "pxr/usd/sdf/schema.h"
#include "pxr/usd/usd/attribute.h"
#include "pxr/usd/usd/primRange.h"
#include "pxr/usd/usd/primTypeInfo.h"
#include "pxr/usd/usd/schemaRegistry.h"
#include "sinew-openusd/src/bridge.rs.h"

#include <set>
#include <string>
#include <vector>

PXR_NAMESPACE_USING_DIRECTIVE

namespace sinew {

// Types that the reader of the flattened stage knows; others are to it what they are derived from.
static const std::set<std::string>& known_types() {
    static const std::set<std::string> types{
        "Mesh", "Cube", "Sphere", "Capsule", "Cylinder", "Cone", "Plane", "Xform", "Scope", "Camera",
        "SkelRoot", "Skeleton", "SkelAnimation", "Material", "Shader", "NodeGraph", "GeomSubset",
        "PhysicsScene", "PhysicsCollisionGroup", "PhysicsJoint", "PhysicsFixedJoint", "PhysicsRevoluteJoint",
        "PhysicsPrismaticJoint", "PhysicsSphericalJoint", "PhysicsDistanceJoint",
    };
    return types;
}

// The nearest type that is known, of a type and those that it is derived from; empty without.
static TfToken known_type(const TfType& type) {
    if (!type) return TfToken();
    const TfToken name = UsdSchemaRegistry::GetConcreteSchemaTypeName(type);
    if (known_types().count(name.GetString())) return name;
    for (const TfType& base : type.GetBaseTypes()) {
        const TfToken found = known_type(base);
        if (!found.IsEmpty()) return found;
    }
    return TfToken();
}

// What a schema says where the layers say nothing.
static void say_fallbacks(const UsdPrim& prim, const SdfLayerRefPtr& flat) {
    for (const UsdAttribute& attribute : prim.GetAttributes()) {
        VtValue value;
        if (attribute.HasAuthoredValue() || !attribute.Get(&value)) continue;
        const SdfPath path = attribute.GetPath();
        if (!SdfJustCreatePrimAttributeInLayer(flat, path, attribute.GetTypeName(), attribute.GetVariability())) continue;
        flat->SetField(path, SdfFieldKeys->Default, value);
    }
}

// What prims are and have because their type or the studio's plugins say so is nowhere in the layer: said there, whoever
// reads it has it.
static void say_schemas(const UsdStageRefPtr& stage, const SdfLayerRefPtr& flat) {
    static const TfToken field("apiSchemas");
    for (const UsdPrim& prim : stage->TraverseAll()) {
        const SdfPrimSpecHandle spec = flat->GetPrimAtPath(prim.GetPath());
        if (!spec) continue;
        bool is_changed = false;
        const TfToken type = known_type(prim.GetPrimTypeInfo().GetSchemaType());
        if (!type.IsEmpty() && type != prim.GetTypeName()) {
            spec->SetTypeName(type.GetString());
            is_changed = true;
        }
        const TfTokenVector all = prim.GetAppliedSchemas();
        SdfTokenListOp list;
        if (!all.empty()) list = flat->GetFieldAs<SdfTokenListOp>(prim.GetPath(), field);
        TfTokenVector said;
        list.ApplyOperations(&said);
        if (said.size() != all.size()) {
            flat->SetField(prim.GetPath(), field, SdfTokenListOp::CreateExplicit(all));
            is_changed = true;
        }
        if (is_changed) say_fallbacks(prim, flat);
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
    refuse_splines(opened.held, true);
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
