"""Press, look, change something, press again: from the animator's keys every time, and none of them is ever lost."""

import os
import unittest

import bpy
import numpy as np
import scenes
from harness import FOLDER, addon, played, run_whole, simulate, snapshot


def names():
    return sorted(a.name for a in bpy.data.actions)


def keys(found):
    """All keys of an action, with their handles."""
    curves = found.fcurves if hasattr(found, "fcurves") else [
        c for layer in found.layers for strip in layer.strips for bag in strip.channelbags for c in bag.fcurves]
    return {(c.data_path, c.array_index): [(tuple(k.co), tuple(k.handle_left), k.interpolation) for k in c.keyframe_points]
            for c in curves}


def reopened(name="again.blend"):
    path = os.path.join(FOLDER, name)
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)


class Again(unittest.TestCase):
    """The second press is as good as the first."""

    def test_a_muted_track_with_the_same_action_is_no_layer(self):
        obj = scenes.cube()
        # As Stash and Blender's import of glTF leave it.
        track = obj.animation_data.nla_tracks.new()
        track.strips.new("CubeAction", 1, obj.animation_data.action)
        track.mute = True
        first = simulate().ways[0].copy()
        second = simulate().ways[0]
        self.assertGreater(np.ptp(second, axis=0).max(), 2.0, "it stands still")
        np.testing.assert_allclose(second, first, atol=1e-5)
        self.assertEqual(len(obj.animation_data.nla_tracks), 1)

    def test_after_renaming_everything(self):
        obj = scenes.cube()
        first = simulate().ways[0].copy()
        bpy.data.actions["CubeAction"].name = "Walk"
        obj.name = "Hero"
        np.testing.assert_allclose(simulate().ways[0], first, atol=1e-9)
        self.assertEqual(names(), ["Walk", "Walk (Sinew)"])

    def test_after_saving_and_opening(self):
        scenes.cube()
        first = simulate().ways[0].copy()
        reopened()
        scenes.select(bpy.data.objects["Cube"])
        np.testing.assert_allclose(simulate().ways[0], first, atol=1e-6)

    def test_names_do_not_pile_up(self):
        obj = scenes.cube()
        for _ in range(6):
            simulate()
        self.assertEqual(names(), ["CubeAction", "CubeAction (Sinew)"])
        # Nor from a duplicate of a result.
        obj.animation_data.action = obj.animation_data.action.copy()
        simulate()
        self.assertNotIn("(Sinew).001 (Sinew)", " ".join(names()))
        self.assertEqual(obj.animation_data.action.name.count("(Sinew)"), 1)

    def test_what_had_no_action_has_a_plain_name(self):
        scenes.falling()
        simulate()
        simulate()
        self.assertEqual(names(), ["Ball (Sinew)", "BatAction", "BatAction (Sinew)"])

    def test_a_result_that_was_changed_by_hand_is_kept(self):
        obj = scenes.cube()
        simulate()
        obj.location = (9, 9, 9)
        obj.keyframe_insert("location", frame=10)
        simulate()
        reopened()
        self.assertEqual(names(), ["CubeAction", "CubeAction (Sinew)", "CubeAction (Sinew) retouched"])
        kept = keys(bpy.data.actions["CubeAction (Sinew) retouched"])
        self.assertIn((10.0, 9.0), [k[0] for k in kept[("location", 0)]])

    def test_a_slider_that_is_keyed_on_a_result_belongs_to_the_keys(self):
        for kind in ("action", "layer"):
            obj = scenes.cube()
            bpy.context.scene.sinew.result = kind
            simulate()
            for frame, value in ((1, 1.0), (40, 0.0)):
                obj.sinew.blend = value
                obj.keyframe_insert("sinew.blend", frame=frame)
            simulate()
            wanted = [(1.0, 1.0), (40.0, 0.0)]
            got = keys(bpy.data.actions["CubeAction"]).get(("sinew.blend", 0), ())
            self.assertEqual([k[0] for k in got], wanted, kind)
            bpy.ops.sinew.restore()
            self.assertEqual(obj.animation_data.action.name, "CubeAction")
            self.assertEqual(len(keys(obj.animation_data.action)), 7)

    def test_where_the_motion_goes_can_be_changed(self):
        first = {}
        for kind in ("bones", "controls", "copy"):
            scenes.control_rig(30)
            bpy.context.scene.sinew.preset = "limp"
            bpy.context.scene.sinew.skeleton = kind
            simulate()
            first[kind] = self.rig_state()
        for one in first:
            for other in first:
                scenes.control_rig(30)
                settings = bpy.context.scene.sinew
                settings.preset, settings.skeleton = "limp", one
                simulate()
                settings.skeleton = other
                settings.result = "layer"
                scenes.select(bpy.data.objects["Rig"])
                simulate()
                settings.result = "action"
                simulate()
                state = self.rig_state()
                self.assertEqual(state[:-1], first[other][:-1], f"{one}, then {other}")
                # Layers are played, in single precision.
                np.testing.assert_allclose(state[-1], first[other][-1], atol=2e-3, err_msg=f"{one}, then {other}")

    def rig_state(self):
        rig, skin = bpy.data.objects["Rig"], bpy.data.objects["Skin"]
        mutes = [c.mute for b in rig.pose.bones for c in b.constraints]
        tracks = [t.name for t in rig.animation_data.nla_tracks]
        objects = sorted(o.name for o in bpy.data.objects)
        shown = skin.modifiers["Armature"].object
        return names(), objects, mutes, tracks, shown.name, played(shown, "wrist")

    def test_a_source_that_was_deleted_is_named(self):
        obj = scenes.cube()
        simulate()
        bpy.data.actions.remove(bpy.data.actions["CubeAction"])
        before = played(obj)
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.sinew.restore()
        self.assertIn("deleted", str(caught.exception))
        np.testing.assert_allclose(played(obj), before)
        simulate()
        self.assertTrue(any("deleted" in w.text for w in addon("state").warnings))


class Back(unittest.TestCase):
    """Restore Keys."""

    def check(self, make, **settings):
        make()
        before = snapshot()
        kept = {a.name: keys(a) for a in bpy.data.actions}
        for name, value in settings.items():
            setattr(bpy.context.scene.sinew, name, value)
        simulate()
        simulate()
        chosen = [o.name for o in bpy.context.selected_objects]
        reopened()
        scenes.select(*[bpy.data.objects[name] for name in chosen])
        self.assertEqual(bpy.ops.sinew.restore("EXEC_DEFAULT", True), {"FINISHED"})
        bpy.context.scene.frame_set(before["frame"])
        self.assertEqual(snapshot(), before)
        self.assertEqual({a.name: keys(a) for a in bpy.data.actions}, kept)
        self.assertFalse(any(a.use_fake_user for a in bpy.data.actions))
        self.assertFalse(bpy.ops.sinew.restore.poll())

    def test_of_objects(self):
        self.check(scenes.props)
        self.check(scenes.props, result="layer")

    def test_of_rigid_bodies(self):
        self.check(scenes.falling)

    def test_of_rigs(self):
        for kind in ("bones", "controls", "copy"):
            self.check(scenes.arm_with_ik, skeleton=kind)
        self.check(scenes.arm_with_ik, result="layer")

    def test_after_renaming(self):
        rig = scenes.arm_with_ik()
        simulate()
        self.assertTrue(rig.pose.bones["lower"].constraints[0].mute)
        before = keys(bpy.data.actions["ArmAction"])
        bpy.data.actions["ArmAction"].name = "Reach"
        rig.name = rig.data.name = "Hero"
        rig.animation_data.action.name = "Something"
        bpy.ops.sinew.restore()
        self.assertEqual(rig.animation_data.action.name, "Reach")
        self.assertEqual(keys(rig.animation_data.action), before)
        self.assertFalse(rig.pose.bones["lower"].constraints[0].mute)
        self.assertEqual(names(), ["Reach"])

    def test_after_renaming_bones(self):
        rig = scenes.arm_with_ik()
        simulate()
        first = played(rig, "lower")
        own = keys(bpy.data.actions["ArmAction"])
        for old, new in (("goal", 'goal "1"'), ("lower", "lower1")):
            rig.data.bones[old].name = new
        simulate()
        np.testing.assert_allclose(played(rig, "lower1"), first, atol=1e-5)
        bpy.ops.sinew.restore()
        self.assertFalse(rig.pose.bones["lower1"].constraints[0].mute)
        after = keys(rig.animation_data.action)
        self.assertEqual(list(after.values()), list(own.values()))
        self.assertEqual({path for path, _ in after}, {'pose.bones["goal \\"1\\""].location'})
        self.assertEqual(names(), ["ArmAction"])

    def test_one_action_on_two_objects(self):
        obj = scenes.cube()
        other = obj.copy()
        bpy.context.scene.collection.objects.link(other)
        other.location.y = 5
        scenes.select(obj, other)
        simulate()
        bpy.ops.sinew.restore()
        self.assertEqual(obj.animation_data.action, other.animation_data.action)
        self.assertEqual((names(), obj.animation_data.action.use_fake_user), (["CubeAction"], False))

    def test_a_fake_user_of_the_animators_stays(self):
        obj = scenes.cube()
        obj.animation_data.action.use_fake_user = True
        simulate()
        bpy.ops.sinew.restore()
        self.assertTrue(obj.animation_data.action.use_fake_user)


class Live(unittest.TestCase):
    """Undo at any moment leaves the file as it was, and keys that are set stay."""

    def begin(self):
        obj = scenes.cube()
        bpy.ops.ed.undo_push(message="before")
        before, own = snapshot(), keys(bpy.data.actions["CubeAction"])
        bpy.ops.sinew.live("EXEC_DEFAULT", True)
        self.assertGreater(bpy.data.actions["CubeAction"].users, 0)
        return obj, before, own

    def check(self, before, own):
        self.assertEqual(snapshot(), before)
        reopened()
        self.assertEqual(names(), ["CubeAction"])
        self.assertEqual(keys(bpy.data.actions["CubeAction"]), own)
        self.assertEqual(bpy.data.objects["Cube"].animation_data.action.name, "CubeAction")

    def test_undone_after_bake(self):
        _, before, own = self.begin()
        bpy.ops.sinew.live_bake("EXEC_DEFAULT", True)
        baked = snapshot()
        bpy.ops.ed.undo()
        self.assertIsNone(addon("live").session)
        self.assertEqual(snapshot(), before)
        bpy.ops.ed.redo()
        self.assertEqual(snapshot(), baked)
        bpy.ops.ed.undo()
        bpy.ops.ed.undo()
        self.check(before, own)

    def test_undone_after_discard(self):
        _, before, own = self.begin()
        bpy.ops.sinew.live_discard("EXEC_DEFAULT", True)
        bpy.ops.ed.undo()
        self.check(before, own)

    def test_redone(self):
        _, before, own = self.begin()
        bpy.ops.ed.undo()
        self.assertEqual(snapshot(), before)
        bpy.ops.ed.redo()
        self.check(before, own)

    def test_a_file_that_was_left_in_it(self):
        # As Blender saves by itself, without telling anybody.
        _, before, own = self.begin()
        handlers = bpy.app.handlers.save_pre
        kept = list(handlers)
        handlers.clear()
        path = os.path.join(FOLDER, "autosave.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        handlers.extend(kept)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.check(before, own)

    def set_keys(self, obj):
        """A slider that fades, and a place."""
        for frame, value in ((1, 1.0), (30, 1.0), (40, 0.0)):
            obj.sinew.blend = value
            obj.keyframe_insert("sinew.blend", frame=frame)
        bpy.context.scene.frame_set(10)
        obj.location.y = 4.0
        obj.keyframe_insert("location", frame=10)

    def check_keys(self, found):
        found = keys(found)
        self.assertEqual([k[0] for k in found[("sinew.blend", 0)]], [(1.0, 1.0), (30.0, 1.0), (40.0, 0.0)])
        self.assertEqual([k[0][0] for k in found[("location", 0)]], [1.0, 10.0, 20.0, 40.0])
        self.assertEqual(found[("location", 1)][1][0], (10.0, 4.0))
        self.assertEqual([k[0][0] for k in found[("rotation_euler", 0)]], [1.0, 40.0])

    def test_keys_set_in_it_survive_bake(self):
        obj, _, _ = self.begin()
        self.set_keys(obj)
        # A setting changes after that, and all is simulated again.
        addon("live").session.again()
        obj.sinew.strength = 0.9
        addon("live").session.again()
        self.assertEqual(bpy.ops.sinew.live_bake(), {"FINISHED"})
        self.check_keys(bpy.data.actions["CubeAction"])
        self.assertEqual(obj.animation_data.action.name, "CubeAction (Sinew)")
        self.assertIn(("sinew.blend", 0), keys(obj.animation_data.action))
        # It fades to the keys, and chases the new one.
        np.testing.assert_allclose(played(obj)[39, :3, 3], (3, 0, 1), atol=1e-3)
        self.assertGreater(played(obj)[8:14, 1, 3].max(), 2.0)

    def test_keys_set_in_it_survive_saving(self):
        obj, _, _ = self.begin()
        self.set_keys(obj)
        reopened()
        self.assertEqual(names(), ["CubeAction"])
        self.check_keys(bpy.data.actions["CubeAction"])

    def test_keys_set_in_it_on_a_result_survive_bake(self):
        obj = scenes.cube()
        simulate()
        bpy.ops.sinew.live("EXEC_DEFAULT", True)
        self.set_keys(obj)
        bpy.ops.sinew.live_bake()
        self.check_keys(bpy.data.actions["CubeAction"])
        self.assertEqual(names(), ["CubeAction", "CubeAction (Sinew)"])

    def test_a_slider_keyed_where_there_was_no_action(self):
        scenes.falling()
        ball = bpy.data.objects["Ball"]
        bpy.ops.sinew.live()
        ball.sinew.blend = 0.5
        ball.keyframe_insert("sinew.blend", frame=5)
        bpy.ops.sinew.live_bake()
        bpy.ops.sinew.restore()
        self.assertEqual(list(keys(ball.animation_data.action)), [("sinew.blend", 0)])

    def test_over_a_clean_copy_it_is_seen(self):
        rig = scenes.control_rig(20)
        settings, modifier = bpy.context.scene.sinew, bpy.data.objects["Skin"].modifiers["Armature"]
        settings.skeleton = "copy"
        simulate()
        copy = modifier.object
        self.assertNotEqual(copy, rig)
        scenes.select(rig)
        bpy.ops.sinew.live()
        self.assertEqual(modifier.object, rig)
        bpy.ops.sinew.live_discard()
        self.assertEqual(modifier.object, copy)

    def test_renamed_meanwhile(self):
        obj, _, own = self.begin()
        first = played(obj)
        obj.name, bpy.data.actions["CubeAction"].name = "Hero", "Walk"
        bpy.data.objects["Hero"].select_set(False)
        self.assertEqual(bpy.ops.sinew.live_bake(), {"FINISHED"})
        self.assertEqual(names(), ["Walk", "Walk (Sinew)"])
        np.testing.assert_allclose(played(obj), first, atol=5e-3)
        self.assertEqual(keys(bpy.data.actions["Walk"]), own)


class Led(unittest.TestCase):
    """A rig whose controls are objects of their own: inverse kinematics to an empty."""

    def rig(self):
        rig = scenes.arm_with_ik(30)
        goal = scenes.add("Goal", None, (0.8, 0.1, 1.2))
        stand = scenes.box("Stand", (0.1, 0.1, 0.1), (0, 5, 0))
        stand.rotation_euler.z = 0.5
        goal.parent = stand
        bpy.context.view_layer.update()
        goal.matrix_parent_inverse = stand.matrix_world.inverted()
        scenes.key(goal, "location", {1: (0.8, 0.1, 1.2), 12: (0.3, 0.5, 1.5), 22: (0.9, -0.3, 1.0), 30: (0.8, 0, 1.2)})
        ik = rig.pose.bones["lower"].constraints[0]
        ik.target, ik.subtarget = goal, ""
        rig.animation_data_clear()
        bpy.data.actions.remove(bpy.data.actions["ArmAction"])
        scenes.select(rig)
        bpy.context.scene.sinew.preset = "loose"
        bpy.context.scene.sinew.skeleton = "controls"
        return rig, goal

    def bodies(self, result):
        """Names of all bodies, in their order."""
        by_index = {node.index: node.name for node in self.run_.capture.nodes}
        return [by_index.get(index) for index in result.job.body_nodes]

    def test_the_empty_leads_the_tip_and_goes_back(self):
        rig, goal = self.rig()
        before, own = snapshot(), keys(goal.animation_data.action)
        keyed = played(rig, "lower")
        self.run_, result, _ = run_whole()
        tip = played(rig, "lower") @ np.array([0.0, rig.pose.bones["lower"].length, 0.0, 1.0])
        led = played(goal)[:, :, 3]
        self.assertLess(np.abs(tip - led).max(), 2e-3, "the tip is at the empty")
        self.assertGreater(np.abs(played(rig, "lower") - keyed).max(), 0.02, "and not where it was keyed")
        at = result.names.index("lower")
        poses = result.job.poses[:, [i for i, name in enumerate(self.bodies(result)) if name == "lower"][0]]
        # Nodes of bones have Z along them.
        along = np.array([[0.0, 0.0, rig.pose.bones["lower"].length]])
        wanted = result.ways[at] + np.array([addon("matrix").rotate(pose[3:], along)[0] for pose in poses])
        self.assertLess(np.abs(tip[:, :3] - wanted).max(), 2e-3, "and where it was simulated")
        self.assertFalse(rig.pose.bones["lower"].constraints[0].mute)
        # Another destination, and back.
        bpy.context.scene.sinew.skeleton = "bones"
        simulate()
        self.assertEqual(goal.animation_data.action.name, "GoalAction")
        bpy.context.scene.sinew.skeleton = "controls"
        simulate()
        reopened()
        scenes.select(bpy.data.objects["Arm"])
        bpy.ops.sinew.restore()
        bpy.context.scene.frame_set(before["frame"])
        self.assertEqual(snapshot(), before)
        self.assertEqual(keys(bpy.data.actions["GoalAction"]), own)
