"""The add-on in a real Blender without a window: 3.4 as a program, 4.2 and later as a module.

    blender -b --factory-startup --python-exit-code 7 --python suite.py -- ZIP SINEW FOLDER
    python suite.py ZIP SINEW FOLDER                                             (with bpy installed)

ZIP is the built add-on, SINEW the command, FOLDER a place to write to. Prints "passed" at the end.
"""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import traceback
import unittest

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
import scenes  # noqa: E402
from mathutils import Euler, Matrix  # noqa: E402

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


class Shown(unittest.TestCase):
    """What Blender plays afterwards is what was simulated."""

    def exact(self, far=2e-5, turned=2e-3):
        bpy.context.scene.sinew.keys = "every_frame"
        run, result, _ = run_whole()
        worst = shown(result)
        # The angle of nearly equal turns in single precision is no better than a thousandth.
        self.assertLess(worst[0], far)
        self.assertLess(worst[1], turned)
        return run, result

    def test_objects_with_euler_and_quaternion_keys_and_sheared_parents(self):
        scenes.props()
        run, _ = self.exact()
        self.assertEqual(len(run.job.body_nodes), 4)
        # It was simulated: not as keyed.
        self.assertGreater(max(b["max_distance"] for b in run.report["bodies"]), 0.01)

    def test_skeletons(self):
        scenes.figure(60)
        run, result = self.exact()
        self.assertGreater(len(result.places), 18)

    def test_skeletons_moved_by_inverse_kinematics(self):
        rig = scenes.arm_with_ik()
        run, result = self.exact()
        self.assertTrue(rig.pose.bones["lower"].constraints[0].mute)
        self.assertEqual(result.muted, ["lower: IK"])
        keyed = {node.bone: node for node in run.capture.nodes if node.bone}
        # Read as evaluated: the hand was where the goal was.
        tail = keyed["lower"].world @ np.array(TURN.inverted()) @ np.array([0, rig.pose.bones["lower"].length, 0, 1])
        self.assertLess(np.abs(tail - keyed["goal"].world[:, :, 3]).max(), 1e-3)

    def test_bones_that_do_not_turn_with_their_parents(self):
        rig = scenes.figure(40)
        rig.data.bones["forearm.L"].use_inherit_rotation = False
        rig.data.bones["head"].inherit_scale = "NONE"
        rig.data.bones["tail2"].use_local_location = False
        self.exact()

    def test_rigid_bodies_of_blender_are_free(self):
        scenes.falling()
        run, result = self.exact()
        behaviours = {b["node"]: b["behaviour"] for b in run.setup["bodies"]}
        self.assertEqual(behaviours, {"Ball": "free", "Bat": "guided", "Table": "static"})
        ball = result.ways[result.names.index("Ball")]
        self.assertLess(abs(ball[20][2] - 0.2), 0.01, "it fell on the table")
        self.assertGreater(ball[-1][0], 0.5, "and the bat pushed it")
        self.assertTrue(bpy.context.scene.rigidbody_world.enabled)

    def test_chains_of_rigid_body_constraints_hold_together(self):
        scenes.chain(9, 60)
        run, result = self.exact()
        opening = max(j["max_opening"] for j in run.report["joints"])
        self.assertLess(opening, 1e-6)
        self.assertEqual(len(run.setup["joints"]), 9)

    def test_fitted_keys_are_few_and_within_the_tolerance(self):
        scenes.props()
        settings = bpy.context.scene.sinew
        settings.tolerance, settings.tolerance_deg = 0.002, 0.1
        _, result, _ = run_whole()
        far, turned = shown(result)
        self.assertLess(far, 0.002 * 2.3, "per channel, and the rider on a carrier twice as long")
        self.assertLess(turned, np.radians(0.1) * 1.8)
        keys = [len(c.keyframe_points) for c in addon("action").curves(bpy.data.objects["Turner"])]
        self.assertLess(max(keys), 30)

    def test_pushed_onto_a_layer(self):
        scenes.props()
        bpy.context.scene.sinew.result = "layer"
        run, result = self.exact()
        data = bpy.data.objects["Turner"].animation_data
        self.assertEqual([t.name for t in data.nla_tracks], ["Keys"])
        self.assertEqual(data.nla_tracks[0].strips[0].action.name, "TurnerAction")

    def test_a_clean_copy_leaves_the_rig_alone(self):
        rig = scenes.arm_with_ik()
        before = snapshot()
        bpy.context.scene.sinew.skeleton = "copy"
        run, writer = addon("run").whole(bpy.context)
        addon("state").keep(run, writer)
        after = snapshot()
        self.assertEqual(after["Arm"], before["Arm"])
        copy = bpy.data.objects[writer.copies["Arm"]]
        self.assertEqual(len(copy.pose.bones["lower"].constraints), 0)
        result = with_places(run)
        result.places = [(i, copy.name, bone) for i, _, bone in result.places]
        bpy.context.scene.sinew.keys = "every_frame"
        far, _ = shown(result)
        self.assertLess(far, 2e-3, "within the tolerance of fitted keys")
        self.assertFalse(rig.pose.bones["lower"].constraints[0].mute)


class Reading(unittest.TestCase):
    """What keys alone move is read from the curves, and is what playing shows."""

    def both(self):
        worlds = []
        for handlers in ([], [lambda *_: None]):
            bpy.app.handlers.frame_change_post.extend(handlers)
            try:
                run = addon("run").Run(bpy.context)
                for _ in run.reading():
                    pass
            finally:
                for handler in handlers:
                    bpy.app.handlers.frame_change_post.remove(handler)
            self.assertEqual(run.capture.is_plain, not handlers)
            worlds.append(np.array([n.world for n in run.capture.nodes]))
        return float(np.abs(worlds[0] - worlds[1]).max())

    def test_from_curves_and_played(self):
        scenes.props()
        turner = bpy.data.objects["Turner"]
        turner.delta_location, turner.delta_rotation_euler = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)
        turner.delta_scale = (1.0, 2.0, 1.0)
        spinner = bpy.data.objects["Spinner"]
        spinner.delta_rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
        carrier = bpy.data.objects["Carrier"]
        carrier.rotation_mode, carrier.rotation_axis_angle = "AXIS_ANGLE", (0.7, 0.0, 0.6, 0.8)
        scenes.key(carrier, "rotation_axis_angle", {1: (0.7, 0.0, 0.6, 0.8), 40: (2.0, 0.0, 1.0, 0.0)})
        self.assertLess(self.both(), 2e-6)

    def test_deltas_are_taken_off_again(self):
        scenes.props()
        turner, spinner = bpy.data.objects["Turner"], bpy.data.objects["Spinner"]
        turner.delta_location, turner.delta_rotation_euler = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)
        spinner.delta_rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
        Shown.exact(self)

    def test_turns_about_an_axis(self):
        scenes.props()
        carrier = bpy.data.objects["Carrier"]
        carrier.rotation_mode = "AXIS_ANGLE"
        scenes.key(carrier, "rotation_axis_angle", {1: (0.1, 0.0, 0.6, 0.8), 40: (2.0, 0.0, 1.0, 0.0)})
        Shown.exact(self)


class Touched(unittest.TestCase):
    """Only what was simulated changes."""

    def test_other_channels_stay(self):
        scenes.props()
        simulate()
        action = addon("action")
        curves = action.curves(bpy.data.objects["Turner"])
        heat = curves.find('["heat"]')
        self.assertEqual([tuple(k.co) for k in heat.keyframe_points], [(1.0, 0.0), (49.0, 1.0)])
        self.assertIsNotNone(bpy.data.actions.get("TurnerAction"), "the animator's own action is kept")
        self.assertEqual(len(bpy.data.actions["TurnerAction"].frame_range), 2)

    def test_locked_channels_stay_and_are_named(self):
        scenes.props()
        turner = bpy.data.objects["Turner"]
        turner.lock_location[1] = True
        before = [tuple(k.co) for k in addon("action").curves(turner).find("location", index=1).keyframe_points]
        simulate()
        after = [tuple(k.co) for k in addon("action").curves(turner).find("location", index=1).keyframe_points]
        self.assertEqual(before, after)
        self.assertTrue(any("Turner location Y" in w.text for w in addon("state").warnings))

    def test_euler_angles_do_not_jump(self):
        scenes.props()
        bpy.context.scene.sinew.keys = "every_frame"
        simulate()
        for axis in range(3):
            curve = addon("action").curves(bpy.data.objects["Turner"]).find("rotation_euler", index=axis)
            values = [k.co[1] for k in curve.keyframe_points]
            self.assertLess(max(abs(a - b) for a, b in zip(values, values[1:])), 1.0)
        self.assertGreater(values[-1] if axis == 1 else 1.0, 0.5)

    def test_angles_are_blenders_own_in_every_order(self):
        rotation = addon("rotation")
        turns = np.random.default_rng(7).normal(size=(200, 4))
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        slow = np.stack([np.sin(np.linspace(0, 9, 200)), np.cos(np.linspace(0, 5, 200)), np.ones(200), np.ones(200)], 1)
        slow /= np.linalg.norm(slow, axis=1, keepdims=True)
        for order in rotation.ORDERS:
            for quaternions in (turns, slow):
                for angles in (
                    rotation.as_euler(quaternions, order, (0.3, -0.2, 7.0)),
                    rotation.euler_near(quaternions, order, np.zeros((200, 3))),
                ):
                    for (x, y, z, w), euler in zip(quaternions, angles):
                        back = Euler(euler, order).to_quaternion()
                        dot = abs(back.x * x + back.y * y + back.z * z + back.w * w)
                        self.assertLess(1.0 - dot, 1e-6)
            self.assertLess(np.abs(np.diff(rotation.as_euler(slow, order, (0, 0, 0)), axis=0)).max(), 3.2)

    def test_undo_and_redo_are_one_step(self):
        scenes.props()
        bpy.ops.ed.undo_push(message="before")
        before = snapshot()
        simulate()
        after = snapshot()
        self.assertNotEqual(before, after)
        bpy.ops.ed.undo()
        self.assertEqual(snapshot(), before)
        bpy.ops.ed.redo()
        self.assertEqual(snapshot(), after)

    def test_cancelled_at_a_third_nothing_changes(self):
        scenes.chain(40, 250)
        bpy.context.scene.frame_set(17)
        before = snapshot()
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        run.start()
        while run.simulated < 0.3 * 250 and not run.is_done:
            pass
        run.cancel()
        self.assertTrue(run.is_done)
        self.assertIsNone(run.job)
        self.assertIsNone(run.error)
        self.assertLess(run.simulated, 250)
        self.assertEqual(snapshot(), before)

    def test_cancelled_while_reading_nothing_changes(self):
        # Bones are played, and with a world that must not be on meanwhile.
        scenes.arm_with_ik()
        bpy.ops.rigidbody.world_add()
        bpy.context.scene.frame_set(9)
        before = snapshot()
        run = addon("run").Run(bpy.context)
        reading = run.reading()
        for _ in range(15):
            next(reading)
        self.assertFalse(bpy.context.scene.rigidbody_world.enabled)
        reading.close()
        run.cancel()
        self.assertEqual(snapshot(), before)

    def test_an_object_deleted_during_a_run_is_named_and_the_rest_is_baked(self):
        scenes.props()
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        run.start()
        bpy.data.objects.remove(bpy.data.objects["Spinner"])
        while not run.is_done:
            pass
        writer = run.write()
        self.assertTrue(any("Spinner" in w for w in run.warnings))
        self.assertIn("TurnerAction (Sinew)", writer.actions)

    def test_another_file_opened_during_a_run_is_not_baked(self):
        scenes.chain(40, 250)
        state = addon("state")
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        state.running = run
        run.start()
        scenes.empty_file()
        self.assertIsNone(state.running)
        self.assertTrue(run.is_done)
        self.assertEqual(len(bpy.data.actions), 0)


class Settings(unittest.TestCase):
    def test_what_is_set_reaches_the_set_up(self):
        scenes.props()
        turner = bpy.data.objects["Turner"].sinew
        turner.behaviour, turner.preset, turner.strength, turner.density = "guided", "limp", 0.5, 300.0
        turner.friction, turner.bounce, turner.coating, turner.coating_thickness = 0.9, 0.3, True, 0.02
        turner.timing, turner.distance, turner.shape, turner.touched = "path", 0.4, "box", True
        bpy.data.objects["Spinner"].sinew.behaviour = "free"
        # Keyed: how much physics shows.
        for frame, value in ((1, 1.0), (25, 0.0)):
            bpy.data.objects["Carrier"].sinew.blend = value
            bpy.data.objects["Carrier"].keyframe_insert("sinew.blend", frame=frame)
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        bodies = {b["node"]: b for b in run.setup["bodies"]}
        body = bodies["Turner"]
        self.assertEqual(body["actuator"], {"preset": "limp"})
        self.assertAlmostEqual(body["contact"]["friction"], 0.9, 5)
        self.assertAlmostEqual(body["contact"]["coating"]["thickness"], 0.02, 5)
        self.assertEqual((body["guide"]["timing"], body["shape"], body["density"]), ("path", {"kind": "box"}, 300.0))
        self.assertEqual(body["release"], {"touched": True})
        self.assertEqual(bodies["Spinner"]["behaviour"], "free")
        groups = {g["name"]: g for g in run.setup["groups"]}
        self.assertAlmostEqual(groups["Blender: Turner"]["strength"], 0.5)
        keys = groups["Blender: Carrier"]["blend"]["keys"]
        self.assertEqual((keys[0], keys[-1][1]), ([0.0, 1.0], 0.0))
        self.assertGreater(len(keys), 5)
        run.simulate()
        self.assertEqual(run.job.frame_count, 49)

    def test_what_is_not_selected_stays_as_keyed(self):
        scenes.props()
        scenes.select(bpy.data.objects["Turner"])
        before = snapshot()
        result = simulate()
        after = snapshot()
        self.assertEqual(result.names, ["Turner"])
        for name in ("Spinner", "Carrier", "Rider"):
            self.assertEqual(before[name], after[name])

    def test_copied_to_selected_and_back_to_automatic(self):
        scenes.props()
        turner, spinner = bpy.data.objects["Turner"].sinew, bpy.data.objects["Spinner"].sinew
        spinner.density = 50.0
        turner.preset, turner.strength = "limp", 0.25
        bpy.ops.sinew.copy()
        self.assertEqual((spinner.preset, spinner.strength), ("limp", 0.25))
        self.assertFalse(spinner.is_property_set("density"))
        bpy.ops.sinew.reset()
        self.assertFalse(spinner.is_property_set("preset"))

    def test_a_set_up_goes_out_and_comes_back(self):
        scenes.props()
        turner = bpy.data.objects["Turner"].sinew
        turner.preset, turner.strength, turner.friction = "limp", 0.25, 0.75
        path = os.path.join(FOLDER, "props.sinew.json")
        self.assertEqual(bpy.ops.sinew.export_setup(filepath=path), {"FINISHED"})
        bpy.ops.sinew.reset()
        self.assertEqual(bpy.ops.sinew.import_setup(filepath=path), {"FINISHED"})
        self.assertEqual((turner.preset, turner.strength, turner.friction), ("limp", 0.25, 0.75))
        first = simulate().ways[0]
        bpy.ops.ed.undo_push(message="file")
        scenes.props()
        bpy.context.scene.sinew.setup_file = path
        self.assertLess(np.abs(simulate().ways[0] - first).max(), 1e-12)

    def test_a_figure_of_a_hundred_units_is_not_a_hundred_metres(self):
        rig = scenes.figure(40)
        rig.scale = (100.0, 100.0, 100.0)
        run = run_whole()[0]
        self.assertEqual(run.setup["world"]["metres_per_unit"], 0.01)
        self.assertTrue(any("0.01 m" in w for w in run.warnings))
        bpy.context.scene.sinew.unit = "scene"
        self.assertEqual(run_whole()[0].setup["world"]["metres_per_unit"], 1.0)

    def test_errors_say_what_to_do(self):
        scenes.empty_file()
        scenes.box("Alone")
        bpy.context.scene.frame_end = bpy.context.scene.frame_start
        scenes.select(bpy.data.objects["Alone"])
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.sinew.simulate()
        self.assertIn("no range", str(caught.exception))

    def test_a_check_names_what_overlaps_and_changes_nothing(self):
        scenes.falling()
        bpy.data.objects["Ball"].location.z = 0.0
        before = snapshot()
        bpy.ops.sinew.check()
        self.assertEqual(snapshot(), before)
        texts = [w for w in addon("state").warnings if "Ball" in w.text]
        self.assertTrue(texts)
        self.assertIn("Ball", texts[0].objects)
        bpy.ops.sinew.select(index=addon("state").warnings.index(texts[0]))
        self.assertTrue(bpy.data.objects["Ball"].select_get())


class Live(unittest.TestCase):
    def test_a_slider_moves_it_and_discard_leaves_no_trace(self):
        scenes.figure(60)
        before = snapshot()
        self.assertEqual(bpy.ops.sinew.live(), {"FINISHED"})
        live = addon("live")
        first = addon("state").result.ways[5].copy()
        bpy.context.scene.sinew.preset = "limp"
        self.assertIsNotNone(live.session.changed_at)
        live.session.again()
        self.assertGreater(np.abs(addon("state").result.ways[5] - first).max(), 1e-3)
        bpy.ops.sinew.live_discard()
        bpy.context.scene.sinew.property_unset("preset")
        self.assertEqual(snapshot(), before)
        self.assertIsNone(live.session)

    def test_bake_keeps_what_is_shown(self):
        scenes.arm_with_ik()
        bpy.ops.sinew.live()
        shown_ = addon("state").result.ways[0].copy()
        self.assertEqual(bpy.ops.sinew.live_bake(), {"FINISHED"})
        self.assertLess(np.abs(addon("state").result.ways[0] - shown_).max(), 1e-12)
        self.assertEqual(sorted(a.name for a in bpy.data.actions), ["ArmAction", "ArmAction (Sinew)"])

    def test_saving_keeps_only_what_the_animator_made(self):
        scenes.arm_with_ik()
        names = sorted(a.name for a in bpy.data.actions)
        bpy.ops.sinew.live()
        path = os.path.join(FOLDER, "live.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.assertEqual(sorted(a.name for a in bpy.data.actions), names)


class Files(unittest.TestCase):
    def test_saved_and_opened_again(self):
        scenes.props()
        bpy.data.objects["Turner"].sinew.strength = 0.25
        simulate()
        before = snapshot()
        path = os.path.join(FOLDER, "saved.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.assertEqual(snapshot(), before)
        self.assertEqual(bpy.data.objects["Turner"].sinew.strength, 0.25)

    def test_registered_ten_times(self):
        for _ in range(10):
            addon_utils.disable(MODULE)
            self.assertFalse(hasattr(bpy.types.Scene, "sinew"))
            addon_utils.enable(MODULE)
        scenes.props()
        simulate()

    def test_a_file_made_without_it(self):
        addon_utils.disable(MODULE)
        path = os.path.join(FOLDER, "without.blend")
        scenes.props()
        bpy.ops.wm.save_as_mainfile(filepath=path)
        addon_utils.enable(MODULE)
        bpy.ops.wm.open_mainfile(filepath=path)
        scenes.select(bpy.data.objects["Turner"])
        simulate()

    def test_a_file_saved_with_it_opened_without_it(self):
        path = os.path.join(FOLDER, "with.blend")
        scenes.props()
        bpy.data.objects["Turner"].sinew.preset = "limp"
        simulate()
        keys = snapshot()["Turner"][1]
        bpy.ops.wm.save_as_mainfile(filepath=path)
        addon_utils.disable(MODULE)
        bpy.ops.wm.open_mainfile(filepath=path)
        names = [a.name for a in bpy.data.actions]
        self.assertIn("TurnerAction (Sinew)", names)
        bpy.ops.wm.save_as_mainfile(filepath=path)
        addon_utils.enable(MODULE)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.assertEqual(snapshot()["Turner"][1], keys)
        self.assertEqual(bpy.data.objects["Turner"].sinew.preset, "limp")


class Command(unittest.TestCase):
    """The command, on what Blender exports, moves things as the button does."""

    def export(self, path):
        options = {"filepath": path, "export_format": "GLB", "export_force_sampling": True}
        # Every frame as it is: keys that are nearly straight would be left out.
        options["export_optimize_animation_size"] = False
        if bpy.app.version >= (4, 0, 0):
            options |= {"export_animation_mode": "SCENE", "export_anim_scene_split_object": False}
        else:
            options |= {"export_nla_strips": False}
        with contextlib.redirect_stdout(io.StringIO()):
            bpy.ops.export_scene.gltf(**options)

    def compare(self, owners):
        path, setup = os.path.join(FOLDER, "scene.glb"), os.path.join(FOLDER, "scene.json")
        out = os.path.join(FOLDER, "out.glb")
        from_frame_zero()
        bpy.ops.sinew.export_setup(filepath=setup)
        self.export(path)
        bpy.context.scene.sinew.keys = "every_frame"
        result = run_whole()[1]
        command = [SINEW, "bake", path, "--setup", setup, "-o", out, "--every-frame", "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        report = json.loads(done.stdout)
        worst = 0.0
        for owner in owners:
            ours = result.ways[result.names.index(owner)]
            theirs = baked_world(out, report["name"], owner, len(ours), report["first_frame"], 24.0)
            apart = np.abs(ours - theirs).max(axis=1)
            if "--trace" in ARGUMENTS:
                print(owner, [f"{a:.0e}" for a in apart])
            worst = max(worst, float(apart.max()))
        return worst

    def test_objects(self):
        scenes.props(plain=True)
        worst = self.compare(["Turner", "Spinner", "Carrier", "Rider"])
        print(f"  objects: {worst:.1e} from the command")
        self.assertLess(worst, 1e-5)

    def test_rigid_bodies(self):
        scenes.falling()
        worst = self.compare(["Ball", "Bat"])
        print(f"  rigid bodies: {worst:.1e} from the command")
        self.assertLess(worst, 1e-5)

    def test_a_skeleton(self):
        # To a key: files end there.
        scenes.figure(41)
        worst = self.compare(["hips", "head", "tail6", "hand.L", "foot.R"])
        print(f"  a figure: {worst:.1e} from the command")
        self.assertLess(worst, 1e-5)


def from_frame_zero():
    """Keys and range one frame earlier: glTF's single precision has no exact time for frame 1."""
    scene = bpy.context.scene
    for obj in bpy.data.objects:
        for curve in addon("action").curves(obj) or ():
            for point in curve.keyframe_points:
                point.co.x -= 1.0
                point.handle_left.x -= 1.0
                point.handle_right.x -= 1.0
            curve.update()
    scene.frame_start, scene.frame_end = scene.frame_start - 1, scene.frame_end - 1


def baked_world(path, clip, name, count, first, rate):
    """Where a node of a baked file is, frame by frame, with Z up."""
    sinew = sys.modules[f"{MODULE}.sinew"]
    matrix, hermite = addon("matrix"), addon("hermite")
    scene = sinew.Scene.open(path)
    curves = {}
    for curve in scene.curves(scene.clip(clip)):
        curves.setdefault(curve.node, {})[curve.property] = curve
    times = (first + np.arange(count)) / rate
    node, place = scene.node(name), np.zeros((count, 3))
    while node is not None:
        rest = scene.transform(node)
        own = curves.get(node, {})
        parts = []
        for prop, values in (("translation", rest[:3]), ("rotation", rest[3:7]), ("scale", rest[7:])):
            constant = np.tile(np.asarray(values), (count, 1))
            parts.append(hermite.evaluate(own[prop], times) if prop in own else constant)
        place = parts[0] + matrix.rotate(parts[1], parts[2] * place)
        node = scene.parent(node)
    return place @ np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]], dtype=float)


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


def main():
    print(f"Blender {bpy.app.version_string}, numpy {np.__version__}")
    install()
    wanted = [a for a in ARGUMENTS[3:] if not a.startswith("--")]
    loader = unittest.defaultTestLoader
    module = sys.modules[__name__]
    suite = loader.loadTestsFromNames(wanted, module) if wanted else loader.loadTestsFromModule(module)
    done = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    print("passed" if done.wasSuccessful() else "failed", done.testsRun)
    return 0 if done.wasSuccessful() else 1


if __name__ == "__main__":
    try:
        status = main()
    except BaseException:
        traceback.print_exc()
        status = 2
    sys.stdout.flush()
    sys.stderr.flush()
    # Blender as a module may crash while Python ends, when all is done.
    os._exit(status)
