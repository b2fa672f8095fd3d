"""What the tests of the add-on share: where things are, how to press the button, how to see what changed."""


import contextlib
import io
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
ARGUMENTS = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
ZIP, SINEW, FOLDER = ARGUMENTS[:3]
# Add-ons are installed there, and the user's own settings are left alone. Before bpy, which reads it.
os.environ["BLENDER_USER_RESOURCES"] = str(pathlib.Path(FOLDER) / "user")
os.environ["BLENDER_USER_SCRIPTS"] = str(pathlib.Path(FOLDER) / "user/scripts")

import bpy  # noqa: E402
import addon_utils  # noqa: E402  (there only once bpy is)
import numpy as np  # noqa: E402
from mathutils import Matrix  # noqa: E402

#: 4.2 and later take the zip for an extension, earlier ones for an add-on.
IS_EXTENSION = bpy.app.version >= (4, 2, 0)
MODULE = "bl_ext.user_default.sinew" if IS_EXTENSION else "sinew_blender"
TURN = Matrix(((1, 0, 0, 0), (0, 0, 1, 0), (0, -1, 0, 0), (0, 0, 0, 1)))
if not hasattr(np, "bool"):
    np.bool = bool  # Blender 3.4's glTF exporter was written for an older numpy.


def addon(name):
    """A module of the add-on."""
    return sys.modules[f"{MODULE}.{name}"]


def simulate():
    """Presses the button, without a window: one operator, one step to undo."""
    with contextlib.redirect_stdout(io.StringIO()):
        done = bpy.ops.sinew.simulate("EXEC_DEFAULT", True)
    assert done == {"FINISHED"}, done
    return addon("state").result


def snapshot():
    """Everything that a run could change, as numbers and names."""
    action = addon("action")
    found = {"frame": bpy.context.scene.frame_current}
    for obj in bpy.data.objects:
        data = obj.animation_data
        curves = action.curves(obj) if data is not None and data.action is not None else None
        keys = {}
        for curve in curves or ():
            keys[(curve.data_path, curve.array_index)] = [tuple(k.co) for k in curve.keyframe_points]
        constraints = [c.mute for c in obj.constraints]
        constraints.append(obj.rigid_body.kinematic if obj.rigid_body is not None else None)
        if obj.type == "ARMATURE":
            constraints += [c.mute for b in obj.pose.bones for c in b.constraints]
        name = data.action.name if data is not None and data.action is not None else None
        found[obj.name] = (name, keys, constraints, len(data.nla_tracks) if data is not None else 0)
    found["actions"] = sorted(a.name for a in bpy.data.actions)
    world = bpy.context.scene.rigidbody_world
    found["rigid"] = world.enabled if world is not None else None
    return found


def shown(result, frames=None):
    """How far what Blender plays is from what was simulated: units, and radians."""
    run = result.job
    nodes = {n: i for i, n in enumerate(run.body_nodes)}
    poses = run.poses
    scene = bpy.context.scene
    far, turned = 0.0, 0.0
    for frame in frames or range(result.first, result.last + 1):
        scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for index, owner, bone in result.places:
            obj = bpy.data.objects[owner].evaluated_get(depsgraph)
            matrix = obj.matrix_world if bone is None else obj.matrix_world @ obj.pose.bones[bone].matrix
            *place, x, y, z, w = poses[frame - result.first, nodes[index]]
            far = max(far, max(abs(a - b) for a, b in zip(matrix.translation, place)))
            # A sheared frame has no rotation to compare.
            if result.rigid[index]:
                # Nodes of bones are turned, as those in glTF are.
                q = (matrix if bone is None else matrix @ TURN).to_quaternion()
                dot = min(1.0, abs(q.x * x + q.y * y + q.z * z + q.w * w))
                turned = max(turned, 2.0 * np.arccos(dot))
    return far, turned


def played(obj, bone=None):
    """Where an object, or a bone of it, is shown at all frames."""
    scene, found = bpy.context.scene, []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
        found.append(np.array(shown.matrix_world if bone is None else shown.matrix_world @ shown.pose.bones[bone].matrix))
    return np.array(found)


def with_places(run):
    """The result of a run with what `shown` needs."""
    result = addon("state").result
    simulated = set(run.job.body_nodes)
    nodes = [n for n in run.capture.nodes if n.index in simulated and n.simulated]
    result.places = [(n.index, n.owner, n.bone) for n in nodes]
    from_world = {n.index: addon("matrix").decompose(n.world[:1])[3] for n in nodes}
    result.rigid = {i: shear < 1e-5 for i, shear in from_world.items()}
    return result


def run_whole():
    """As the button does, with what was read at hand."""
    run, writer = addon("run").whole(bpy.context)
    addon("state").keep(run, writer)
    return run, with_places(run), writer


def install():
    """As an animator does: from the zip."""
    if IS_EXTENSION:
        addon_utils.enable("bl_pkg", default_set=True)
        bpy.ops.extensions.package_install_files(repo="user_default", filepath=ZIP, enable_on_install=True)
    else:
        bpy.ops.preferences.addon_install(filepath=ZIP, overwrite=True)
        addon_utils.modules_refresh()
        addon_utils.enable(MODULE, default_set=True)
    assert hasattr(bpy.types.Scene, "sinew"), "the add-on cannot be enabled"
