"""A USD host without a file: its stage, living in its memory, baked by Sinew and played.

usage: python stage.py PENDULUM.usda FOLDER
"""

import os
import sys
import threading

import sinew
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdUtils

pendulum, folder = sys.argv[1:3]


def swing(stage, first=0, last=48):
    """Where the bar points at every frame."""
    bar = UsdGeom.Xformable(stage.GetPrimAtPath("/World/Bar"))
    out = []
    for frame in range(first, last + 1):
        out.append(bar.ComputeLocalToWorldTransform(frame).TransformDir(Gf.Vec3d(1, 0, 0)))
    return out


def apart(a, b):
    return max((x - y).GetLength() for x, y in zip(a, b))


# The stage that the host works on has no file: what is in it was copied into memory, and changed since.
stage = Usd.Stage.CreateInMemory("shot.usda")
stage.GetRootLayer().TransferContent(Sdf.Layer.FindOrOpen(pendulum))
bar = stage.GetPrimAtPath("/World/Bar")
bar.GetAttribute("physics:mass").Set(3.5)
still = swing(stage)
root = stage.GetRootLayer().ExportToString()

scene = sinew.Scene.open_stage(stage)
scene.add_job(sinew.Job.run(scene, every_frame=True))
assert swing(stage) == still, "nothing is on the stage before it is put there"
told = []
listener = Tf.Notice.Register(Usd.Notice.ObjectsChanged, lambda *_: told.append(threading.get_ident()), stage)
scene.put_on_stage()
listener.Revoke()
assert told and set(told) == {threading.get_ident()}, "listeners hear of it on another thread than the host's"
moved = swing(stage)
assert apart(still, moved) > 0.2, f"it does not swing: {apart(still, moved)}"
assert stage.GetRootLayer().ExportToString() == root, "the host's own layer was touched"
own = [Sdf.Layer.Find(path) for path in stage.GetSessionLayer().subLayerPaths]
assert len(own) == 1 and own[0].anonymous, own

# Baked once more, it is baked from what the host has and not from the bake, and takes its place.
again = sinew.Scene.open_stage(stage)
again.add_job(sinew.Job.run(again, every_frame=True))
again.put_on_stage()
assert apart(swing(stage), moved) < 1e-12, "a second bake is another one"
assert len(stage.GetSessionLayer().subLayerPaths) == 1

# The same through a file of the same content.
copy = os.path.join(folder, "shot.usda")
stage.GetRootLayer().Export(copy)
sinew.bake(copy, os.path.join(folder, "baked.usda"), openusd=True)
baked = Usd.Stage.Open(os.path.join(folder, "baked.usda"))
assert apart(swing(baked), moved) < 1e-6, apart(swing(baked), moved)

# And saved: everything in one layer, since the stage has no file to be a layer over.
again.save(os.path.join(folder, "saved.usda"))
saved = Usd.Stage.Open(os.path.join(folder, "saved.usda"))
assert not saved.GetRootLayer().subLayerPaths
assert apart(swing(saved), moved) < 1e-6

# A stage whose root layer is a file: what is saved is a layer over that file, which it never takes the place of.
filed = Usd.Stage.Open(copy)
before = open(copy).read()
over = sinew.Scene.open_stage(filed)
over.add_job(sinew.Job.run(over, every_frame=True))
over.save(os.path.join(folder, "over.usda"))
layer = Usd.Stage.Open(os.path.join(folder, "over.usda"))
assert list(layer.GetRootLayer().subLayerPaths) == ["./shot.usda"], layer.GetRootLayer().subLayerPaths
assert apart(swing(layer), moved) < 1e-6
try:
    over.save(copy)
except sinew.SinewError as error:
    assert "another name" in str(error), error
else:
    raise AssertionError("the host's own file was written over")
assert open(copy).read() == before

# A number that no stage has.
try:
    sinew.Scene.open_stage(987654321)
except sinew.SinewError as error:
    assert "987654321" in str(error), error
else:
    raise AssertionError("a stage that is not there was opened")
UsdUtils.StageCache.Get().Clear()
print(f"  the living stage swings by up to {apart(still, moved):.2f}")
