"""What OpenUSD itself finds in a file.

usage: python usd.py < request.json
request: {"ask": "worlds", "file": F, "times": [...]}
           -> {"prims": {path: [[16 numbers] per time]}, "joints": {path of skeleton + joint: the same},
               "units": metersPerUnit, "z_up": bool}
         {"ask": "stages", "stages": [{"file": F, "flat": G}, ...], "times": [...]}
           -> [{the same as for worlds, of F, and "differs": [what G has otherwise: prims, types, places]}, ...]
         {"ask": "validate", "files": [F, ...], "original": G or null}
           -> {"fresh": ["file: validator prim: text", ...]}, the errors that the files have and G has not
         {"ask": "changes", "file": F, "original": G}
           -> {"changed": [paths of attributes, relationships and prims that say anything else, "/" for the stage],
               "missing": [...]}
         {"ask": "kept", "pairs": [{"file": F, "original": G, "flat": bool}, ...], "moved": path}
           -> [[what F does not say as G does, but for the prim that moved and the range], ...]: of the root layers every
              field of every spec, of what is flat the composed stages
         {"ask": "joints", "file": F}
           -> [{"path", "name", "bodies": [path, path], "rotations": [xyzw, xyzw], "limits": {rotX: [low, high], ...},
                "drives": {rotX: the word of its schema, ...}}]
         {"ask": "values", "file": F, "attributes": [path, ...], "times": [...]}
           -> {path: [value per time]}
         {"ask": "knots", "file": F}
           -> {path of an attribute with a spline: how many keys}
         {"ask": "export", "file": F, "to": G}
           -> {}, the layer F written as G, in the format that its ending says
"""

import json
import re
import sys

from pxr import Gf, Sdf, Usd, UsdGeom, UsdSkel


def matrix(m):
    return [m[r][c] for r in range(4) for c in range(4)]


def joint_worlds(prim, query, cache, time):
    """Joints of a skeleton in the world; it may be one inside of an instance, which shares its query. OpenUSD leaves quaternions between samples a little short of length 1, and with them the
    matrices it makes of them: here they are made whole first."""
    order, topology = query.GetJointOrder(), query.GetTopology()
    local = list(query.ComputeJointLocalTransforms(time))
    animation = query.GetAnimQuery()
    if animation:
        parts = zip(animation.GetJointOrder(), *animation.ComputeJointLocalTransformComponents(time))
        for name, place, turn, size in parts:
            turned = Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Quatd(turn).GetNormalized()))
            moved = Gf.Matrix4d().SetTranslate(Gf.Vec3d(place))
            local[list(order).index(name)] = Gf.Matrix4d().SetScale(Gf.Vec3d(size)) * turned * moved
    base = cache.GetLocalToWorldTransform(prim)
    world = []
    for i, matrix_of_joint in enumerate(local):
        parent = topology.GetParent(i)
        world.append(matrix_of_joint * (world[parent] if parent >= 0 else base))
    return zip(order, world)


def worlds(request):
    stage = Usd.Stage.Open(request["file"])
    cache = UsdGeom.XformCache()
    prims, joints = {}, {}
    found = [p for p in Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Xformable)]
    skeletons = [p for p in found if p.IsA(UsdSkel.Skeleton)]
    skel_cache = UsdSkel.Cache()
    for root in (p for p in found if p.IsA(UsdSkel.Root)):
        skel_cache.Populate(UsdSkel.Root(root), Usd.PrimDefaultPredicate)
    for time in request["times"]:
        cache.SetTime(time)
        for prim in found:
            prims.setdefault(str(prim.GetPath()), []).append(matrix(cache.GetLocalToWorldTransform(prim)))
        for prim in skeletons:
            query = skel_cache.GetSkelQuery(UsdSkel.Skeleton(prim))
            if not query:
                continue
            for name, place in joint_worlds(prim, query, cache, time):
                joints.setdefault(f"{prim.GetPath()}/{name}", []).append(matrix(place))
    return {
        "prims": prims,
        "joints": joints,
        "units": UsdGeom.GetStageMetersPerUnit(stage),
        "z_up": UsdGeom.GetStageUpAxis(stage) == "Z",
    }


def populated(stage):
    """Prims that are there, those inside of instances too, and their types."""
    found = Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies())
    return {str(p.GetPath()): str(p.GetTypeName()) for p in found if not p.IsPseudoRoot()}


def stages(request):
    out = []
    for pair in request["stages"]:
        answer = worlds({"file": pair["file"], "times": request["times"]})
        answer["types"] = populated(Usd.Stage.Open(pair["file"]))
        differs = []
        if pair.get("flat"):
            flat, types = answer["types"], populated(Usd.Stage.Open(pair["flat"]))
            for path in sorted(flat.keys() | types.keys()):
                if flat.get(path) != types.get(path):
                    differs.append(f"<{path}> is {flat.get(path)!r}, flattened {types.get(path)!r}")
            other = worlds({"file": pair["flat"], "times": request["times"]})
            for kind in ("prims", "joints"):
                for path, places in answer[kind].items():
                    for time, one, two in zip(request["times"], places, other[kind].get(path, [])):
                        size = max(1.0, *map(abs, one))
                        if not all(abs(a - b) <= 1e-6 * size for a, b in zip(one, two)):
                            differs.append(f"<{path}> at {time} is {one}, flattened {two}")
        answer["differs"] = differs
        out.append(answer)
    return out


def errors(file):
    from pxr import UsdValidation

    registry = UsdValidation.ValidationRegistry()
    validators = registry.GetOrLoadAllValidators()
    context = UsdValidation.ValidationContext(validators)
    stage = Usd.Stage.Open(file)
    found = []
    for error in context.Validate(stage):
        if error.GetType() == UsdValidation.ValidationErrorType.Error:
            sites = sorted(str(s.GetPrim().GetPath()) if s.IsPrim() else "" for s in error.GetSites())
            found.append((error.GetName(), ",".join(sites), error.GetMessage()))
    return found


def validate(request):
    accepted = {(n, s) for n, s, _ in errors(request["original"])} if request.get("original") else set()
    fresh = []
    for file in request["files"]:
        own = errors(file)
        fresh += [f"{file}: {name} {site}: {text}" for name, site, text in own if (name, site) not in accepted]
    return {"fresh": fresh}


# What says how a prim is composed: flattened, it has nothing of it.
COMPOSITION = {"references", "payload", "inheritPaths", "specializes", "variantSetNames", "variantSelection", "variantSets", "instanceable", "clips", "clipSets", "relocates"}


def told(value):
    """A value in full; a zero has no sign, which text of USD does not keep, and an asset no folder, which packing changes."""
    text = re.sub(r"Sdf\.AssetPath\(authoredPath='(?:[^']*/)?([^'/]*)'[^)]*\)", r"asset \1", repr(value))
    return re.sub(r"-0\.0(?![0-9e])", "0.0", text)


def plain_metadata(thing, without=()):
    return {k: told(v) for k, v in thing.GetAllAuthoredMetadata().items() if k not in without}


def attribute_key(attribute):
    """All that an attribute says, without the time between its samples."""
    times = attribute.GetTimeSamples()
    return (
        str(attribute.GetTypeName()),
        told(attribute.Get()),
        [(t, told(attribute.Get(t))) for t in times],
        [str(path) for path in attribute.GetConnections()],
        plain_metadata(attribute),
    )


def prim_key(prim):
    return (prim.GetTypeName(), prim.GetSpecifier(), list(prim.GetAppliedSchemas()), plain_metadata(prim, COMPOSITION | {"apiSchemas", "specifier", "typeName"}))


def stage_key(stage):
    """What a stage is in, be it said or not: flattened, OpenUSD says what it had by default. Its range may grow."""
    return (
        UsdGeom.GetStageMetersPerUnit(stage),
        str(UsdGeom.GetStageUpAxis(stage)),
        stage.GetMetadata("kilogramsPerUnit"),
        stage.GetTimeCodesPerSecond(),
        stage.GetFramesPerSecond(),
        str(stage.GetDefaultPrim().GetPath()) if stage.GetDefaultPrim() else None,
    )


def changes(request):
    new, old = Usd.Stage.Open(request["file"]), Usd.Stage.Open(request["original"])
    changed, missing = [], []
    if stage_key(old) != stage_key(new):
        changed.append("/")
    for prim in Usd.PrimRange(old.GetPseudoRoot(), Usd.PrimAllPrimsPredicate):
        if prim.IsPseudoRoot():
            continue
        other = new.GetPrimAtPath(prim.GetPath())
        if not other:
            missing.append(str(prim.GetPath()))
            continue
        if prim_key(prim) != prim_key(other):
            changed.append(str(prim.GetPath()))
        for prop in prim.GetAuthoredProperties():
            twin = other.GetProperty(prop.GetName())
            if not twin:
                missing.append(str(prop.GetPath()))
            elif isinstance(prop, Usd.Attribute):
                if attribute_key(prop) != attribute_key(twin):
                    changed.append(str(prop.GetPath()))
            elif (prop.GetTargets(), plain_metadata(prop)) != (twin.GetTargets(), plain_metadata(twin)):
                changed.append(str(prop.GetPath()))
    return {"changed": changed, "missing": missing}


def specs_of(file):
    """Every field of every spec of a file's root layer, as text."""
    layer = Sdf.Layer.FindOrOpen(file)
    found = {}

    def visit(path):
        spec = layer.GetObjectAtPath(path)
        if spec and path != Sdf.Path.absoluteRootPath:
            found[str(path)] = {key: told(spec.GetInfo(key)) for key in spec.ListInfoKeys()}

    layer.Traverse(Sdf.Path.absoluteRootPath, visit)
    keys = [key for key in layer.pseudoRoot.ListInfoKeys() if key != "subLayerOffsets"]
    found["/"] = {key: told(layer.pseudoRoot.GetInfo(key)) for key in keys}
    found["/"]["subLayerOffsets"] = told(list(layer.subLayerOffsets))
    return found


def kept(request):
    moved, out = request["moved"], []

    def is_moved(path):
        return path == moved or path.startswith(moved + ".")

    for pair in request["pairs"]:
        try:
            if pair["flat"]:
                answer = changes(pair)
                lost = [p for p in answer["changed"] + answer["missing"] if not is_moved(p)]
            else:
                old, new = specs_of(pair["original"]), specs_of(pair["file"])
                lost = []
                for path in sorted(old.keys() | new.keys()):
                    one, two = old.get(path), new.get(path)
                    for time in ("startTimeCode", "endTimeCode") if path == "/" else ():
                        one.pop(time, None)
                        two.pop(time, None)
                    if one != two and not is_moved(path):
                        lost.append(f"{path}: {one} became {two}")
            out.append(lost)
        except Exception as error:
            out.append([f"OpenUSD refuses it: {str(error)[-400:]}"])
    return out


def joints(request):
    """Joints as UsdPhysics has them, their limits by direction, degrees."""
    from pxr import UsdPhysics

    stage = Usd.Stage.Open(request["file"])
    out = []
    for prim in stage.Traverse():
        if not prim.IsA(UsdPhysics.Joint):
            continue
        joint = UsdPhysics.Joint(prim)
        limits, drives = {}, {}
        for way in ("rotX", "rotY", "rotZ"):
            limit = UsdPhysics.LimitAPI.Get(prim, way)
            if prim.HasAPI(UsdPhysics.DriveAPI, way):
                drives[way] = way
            if prim.HasAPI(UsdPhysics.LimitAPI, way):
                limits[way] = [limit.GetLowAttr().Get(), limit.GetHighAttr().Get()]
        if prim.IsA(UsdPhysics.RevoluteJoint):
            hinge = UsdPhysics.RevoluteJoint(prim)
            way = "rot" + hinge.GetAxisAttr().Get()
            limits[way] = [hinge.GetLowerLimitAttr().Get(), hinge.GetUpperLimitAttr().Get()]
            if prim.HasAPI(UsdPhysics.DriveAPI, "angular"):
                drives[way] = "angular"
        if prim.IsA(UsdPhysics.FixedJoint):
            limits = {way: [1, -1] for way in ("rotX", "rotY", "rotZ")}
        out.append(
            {
                "path": str(prim.GetPath()),
                "name": prim.GetName(),
                "drives": drives,
                "bodies": [str(r.GetTargets()[0]) for r in (joint.GetBody0Rel(), joint.GetBody1Rel())],
                "rotations": [plain(a.Get()) for a in (joint.GetLocalRot0Attr(), joint.GetLocalRot1Attr())],
                "limits": limits,
            }
        )
    return out


def plain(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "GetReal"):
        return [*value.GetImaginary(), value.GetReal()]
    try:
        return [plain(v) for v in value]
    except TypeError:
        return str(value)


def values(request):
    stage = Usd.Stage.Open(request["file"])
    out = {}
    for path in request["attributes"]:
        attribute = stage.GetAttributeAtPath(Sdf.Path(path))
        out[path] = [plain(attribute.Get(t)) for t in request["times"]]
    return out


def export(request):
    Sdf.Layer.FindOrOpen(request["file"]).Export(request["to"])
    return {}


def knots(request):
    stage = Usd.Stage.Open(request["file"])
    found = (a for prim in stage.TraverseAll() for a in prim.GetAttributes() if a.HasSpline())
    return {str(a.GetPath()): len(a.GetSpline().GetKnots()) for a in found}


answers = {"knots": knots, "export": export, "worlds": worlds, "stages": stages, "validate": validate, "changes": changes, "kept": kept, "joints": joints, "values": values}
request = json.load(sys.stdin)
print(json.dumps(answers[request["ask"]](request)))
