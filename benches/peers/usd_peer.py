"""OpenUSD's own Python on the shot of `cargo bench --bench usd`: the same reads and the same writes.

usage: python usd_peer.py SHOT.usdc OUT.usdc REPETITIONS
prints: {"read": s, "read by layer": s, "write": s, "write by layer": s, "values": how many}, the least of the repetitions

By stage: attributes of prims, as scripts do it. By layer: the layer's own samples, which is the least that Python can do; it
knows nothing of what composes them.
"""

import json
import os
import sys
import time

from pxr import Gf, Sdf, Usd, UsdGeom

shot, out, repetitions = sys.argv[1], sys.argv[2], int(sys.argv[3])


def least(what):
    best = float("inf")
    for _ in range(repetitions):
        began = time.perf_counter()
        result = what()
        best = min(best, time.perf_counter() - began)
    return best, result


def read():
    stage = Usd.Stage.Open(Sdf.Layer.OpenAsAnonymous(shot))
    found = {}
    for prim in stage.Traverse():
        for op in UsdGeom.Xformable(prim).GetOrderedXformOps() if prim.IsA(UsdGeom.Xformable) else []:
            attribute = op.GetAttr()
            found[str(attribute.GetPath())] = [(t, attribute.Get(t)) for t in attribute.GetTimeSamples()]
    return found


def read_layer():
    layer = Sdf.Layer.OpenAsAnonymous(shot)
    found = {}

    def visit(path):
        if path.IsPropertyPath() and path.name.startswith("xformOp:"):
            found[str(path)] = [(t, layer.QueryTimeSample(path, t)) for t in layer.ListTimeSamplesForPath(path)]

    layer.Traverse(Sdf.Path.absoluteRootPath, visit)
    return found


def header(layer):
    layer.subLayerPaths.append("./" + os.path.basename(shot))
    layer.startTimeCode, layer.endTimeCode, layer.timeCodesPerSecond = 0, 999, 24


def write(values):
    layer = Sdf.Layer.CreateAnonymous(".usdc")
    header(layer)
    stage = Usd.Stage.Open(layer)
    for path, samples in values.items():
        path = Sdf.Path(path)
        prim = stage.OverridePrim(path.GetPrimPath())
        kind = Sdf.ValueTypeNames.Double3 if isinstance(samples[0][1], Gf.Vec3d) else Sdf.ValueTypeNames.Quatd
        attribute = prim.CreateAttribute(path.name, kind, False)
        for at, value in samples:
            attribute.Set(value, at)
    layer.Export(out)


def write_layer(values):
    layer = Sdf.Layer.CreateAnonymous(".usdc")
    header(layer)
    with Sdf.ChangeBlock():
        for path, samples in values.items():
            path = Sdf.Path(path)
            prim = Sdf.CreatePrimInLayer(layer, path.GetPrimPath())
            kind = Sdf.ValueTypeNames.Double3 if isinstance(samples[0][1], Gf.Vec3d) else Sdf.ValueTypeNames.Quatd
            Sdf.AttributeSpec(prim, path.name, kind)
            for at, value in samples:
                layer.SetTimeSample(path, at, value)
    layer.Export(out)


by_stage, values = least(read)
by_layer, same = least(read_layer)
assert values == same and values, "two ways to read, two answers"
print(
    json.dumps(
        {
            "read": by_stage,
            "read by layer": by_layer,
            "write": least(lambda: write(values))[0],
            "write by layer": least(lambda: write_layer(values))[0],
            "values": sum(len(samples) for samples in values.values()),
        }
    )
)
