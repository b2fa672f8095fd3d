"""What changes and what does not: undo, cancel, settings, live mode, files."""

import os
import time
import unittest

import addon_utils
import bpy
import numpy as np
import scenes
from harness import FOLDER, MODULE, addon, run_whole, simulate, snapshot
from mathutils import Euler


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

    def test_locked_and_hidden_curves_stay_so(self):
        scenes.props()
        turner, spinner = bpy.data.objects["Turner"], bpy.data.objects["Spinner"]
        find = lambda obj, path, index: addon("action").curves(obj).find(path, index=index)  # noqa: E731
        find(turner, "location", 0).lock = True
        find(turner, "location", 2).hide = True
        find(spinner, "rotation_quaternion", 2).lock = True
        before = snapshot()
        simulate()
        after = snapshot()
        self.assertEqual(before["Turner"][1][("location", 0)], after["Turner"][1][("location", 0)])
        self.assertNotEqual(before["Turner"][1][("location", 1)], after["Turner"][1][("location", 1)])
        self.assertEqual(before["Spinner"][1][("rotation_quaternion", 3)], after["Spinner"][1][("rotation_quaternion", 3)])
        self.assertTrue(find(turner, "location", 0).lock and find(turner, "location", 2).hide)
        self.assertFalse(find(turner, "location", 1).hide)
        text = next(w.text for w in addon("state").warnings if w.text.startswith("locked"))
        self.assertIn("Turner location X", text)
        self.assertIn("Spinner rotation", text)

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

    def test_pressed_again_it_simulates_from_the_keys(self):
        for make in (scenes.props, scenes.arm_with_ik, scenes.falling):
            for kind in ("action", "layer"):
                make()
                bpy.context.scene.sinew.result = kind
                first = run_whole()[1].ways
                before = snapshot()
                second = run_whole()[1]
                apart = max(float(np.abs(a - b).max()) for a, b in zip(first, second.ways))
                # Layers are played, in single precision.
                self.assertLess(apart, 1e-9 if kind == "action" else 1e-5, f"{make.__name__}, {kind}")
                after = snapshot()
                for name in before if kind == "action" else ():
                    if name not in ("actions", "frame", "rigid"):
                        self.assertEqual(before[name][1:], after[name][1:], f"{make.__name__}, {kind}: {name}")
                bpy.context.scene.sinew.begin = "shown"
                third = run_whole()[1].ways
                apart = max(float(np.abs(a - b).max()) for a, b in zip(first, third))
                self.assertGreater(apart, 1e-4, f"{make.__name__}, {kind}: from what is shown it is another motion")

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

    def test_another_file_with_the_same_names_opened_while_reading_keeps_its_keys(self):
        path = os.path.join(FOLDER, "same.blend")
        scenes.arm_with_ik()
        bpy.ops.wm.save_as_mainfile(filepath=path)
        simulate()
        state = addon("state")
        run = state.running = addon("run").Run(bpy.context)
        pieces = run.pieces = run.reading()
        for _ in range(10):
            next(pieces)
        bpy.ops.wm.open_mainfile(filepath=path)
        # As the operator does at its next tick.
        pieces.close()
        self.assertEqual(bpy.data.objects["Arm"].animation_data.action.name, "ArmAction")
        self.assertFalse(bpy.data.objects["Arm"].pose.bones["lower"].constraints[0].mute)
        self.assertIsNone(state.running)


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

    def test_a_figure_s_set_up_goes_out_and_comes_back(self):
        rig = scenes.figure(40)
        rig.pose.bones["ear"].sinew.preset = "limp"
        path = os.path.join(FOLDER, "figure.sinew.json")
        before = [way.copy() for way in simulate().ways]
        bpy.ops.sinew.export_setup(filepath=path)
        rig.pose.bones["ear"].sinew.property_unset("preset")
        bpy.ops.sinew.import_setup(filepath=path)
        self.assertEqual(rig.pose.bones["ear"].sinew.preset, "limp")
        for a, b in zip(before, simulate().ways):
            np.testing.assert_allclose(a, b, atol=1e-4)

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

    def test_a_slider_that_moves_on_gives_up_what_runs(self):
        # Long enough not to be done in an instant.
        scenes.chain(100, 1000)
        bpy.ops.sinew.live()
        live, state = addon("live"), addon("state")
        first = state.result
        for strength in (0.5, 1.0, 2.0):
            bpy.context.scene.gravity.z = -9.81 * strength
            live.mark(bpy.context)
            live.session.changed_at -= 1.0
            live.tick()
            self.assertTrue(live.session.is_running)
        while live.session.is_running:
            time.sleep(0.01)
            live.tick()
        self.assertEqual(live.session.error, "")
        self.assertIsNot(state.result, first)
        bpy.ops.sinew.live_discard()
        self.assertEqual([a.name for a in bpy.data.actions], ["HeadAction"])
        self.assertFalse(bpy.data.objects["Link000"].rigid_body.kinematic)

    def test_undo_ends_it_and_the_animators_keys_are_never_written_to(self):
        scenes.arm_with_ik()
        bpy.ops.ed.undo_push(message="before")
        before = snapshot()
        bpy.ops.sinew.live("EXEC_DEFAULT", True)
        live = addon("live")
        kept = live.session
        self.assertNotEqual(snapshot(), before)
        bpy.ops.ed.undo()
        self.assertEqual(snapshot(), before)
        self.assertIsNone(live.session)
        # Even if it went on: it makes a new action.
        keys = snapshot()["Arm"][1]
        kept.again()
        self.assertEqual(bpy.data.objects["Arm"].animation_data.action.name, "Sinew live: Arm")
        kept.leave(False)
        self.assertEqual(snapshot()["Arm"][1], keys)

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
