"""What Blender plays afterwards is what was simulated, and what the command makes of the same scene."""

import contextlib
import io
import json
import os
import subprocess
import sys
import unittest

import bpy
import numpy as np
import scenes
from harness import ARGUMENTS, FOLDER, MODULE, SINEW, TURN, addon, run_whole, shown, snapshot, with_places
from mathutils import Matrix, Quaternion, Vector


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


class Controls(unittest.TestCase):
    """Motion goes onto the controls, constraints stay alive, and bones are where they were simulated."""

    def test_bones_that_copy_their_controls(self):
        scenes.control_rig()
        bpy.context.scene.sinew.skeleton, bpy.context.scene.sinew.keys = "controls", "every_frame"
        before = snapshot()["Rig"]
        run, result, writer = run_whole()
        self.assertEqual({bone for _, _, bone in result.places}, {"upper", "lower", "wrist"})
        self.assertEqual([w for w in run.warnings if "off what was simulated" in w], [])
        far, turned = shown(result)
        self.assertLess(far, 2e-5)
        self.assertLess(turned, 2e-3)
        after = snapshot()["Rig"]
        self.assertEqual(after[2], before[2], "no constraint is muted")
        paths = {path for path, _ in after[1]}
        self.assertFalse(any('"upper"' in p or '"wrist"' in p for p in paths), "deforming bones have no keys")
        self.assertIn('pose.bones["ctrl_wrist"].rotation_euler', paths)
        self.assertNotIn('pose.bones["ctrl_wrist"].location', paths, "its place is not what its bone follows")
        self.assertGreater(max(b["max_angle_deg"] for b in run.report["bodies"]), 1.0)

    def test_a_locked_control_is_left_alone_and_what_it_misses_is_named(self):
        rig = scenes.control_rig()
        rig.pose.bones["ctrl_lower"].lock_rotation = (True, True, True)
        # Limp enough that there is something to miss.
        bpy.context.scene.sinew.skeleton, bpy.context.scene.sinew.preset = "controls", "limp"
        run, _, _ = run_whole()
        self.assertTrue(any("ctrl_lower rotation X" in w for w in run.warnings))
        self.assertTrue(any('bone "lower"' in w and "degrees off" in w for w in run.warnings), run.warnings)

    def test_a_goal_of_inverse_kinematics_leads_the_tip(self):
        rig = scenes.arm_with_ik()
        bpy.context.scene.sinew.skeleton = "controls"
        run, result, _ = run_whole()
        self.assertFalse(rig.pose.bones["lower"].constraints[0].mute)
        nodes = {node.bone: i for i, n in enumerate(run.job.body_nodes) for node in run.capture.nodes if node.index == n}
        length, worst = rig.pose.bones["lower"].length, 0.0
        turn = Matrix(TURN).to_quaternion().inverted()
        for frame in range(1, 50):
            bpy.context.scene.frame_set(frame)
            *place, x, y, z, w = run.job.poses[frame - 1, nodes["lower"]]
            tip = Vector(place) + (Quaternion((w, x, y, z)) @ turn) @ Vector((0, length, 0))
            worst = max(worst, (rig.pose.bones["lower"].tail - tip).length)
        # Blender's own solver stops there.
        self.assertLess(worst, 3e-3)


    def test_a_pole_leads_the_knee(self):
        rig = scenes.arm_with_pole()
        bpy.context.scene.sinew.skeleton, bpy.context.scene.sinew.preset = "controls", "limp"
        run, result, _ = run_whole()
        self.assertEqual({bone for _, _, bone in result.places}, {"thigh", "shin"})
        self.assertFalse(rig.pose.bones["shin"].constraints[0].mute)
        paths = {path for path, _ in snapshot()["Leg"][1]}
        self.assertIn('pose.bones["pole"].location', paths)

        def knees():
            """How far the knee is from where it was simulated, seen from the hip, where the leg is bent."""
            nodes = {n.bone: run.job.body_nodes.index(n.index) for n in run.capture.nodes if n.bone in ("thigh", "shin")}
            for frame in range(1, 50):
                bpy.context.scene.frame_set(frame)
                wanted = run.job.poses[frame - 1, nodes["shin"], :3] - run.job.poses[frame - 1, nodes["thigh"], :3]
                shin, thigh = rig.pose.bones["shin"], rig.pose.bones["thigh"]
                if (shin.tail - thigh.head).length < 0.93:
                    yield float(np.linalg.norm(np.array(shin.head - thigh.head) - wanted))

        solved = max(knees())
        curves = addon("action").curves(rig)
        for axis in range(3):
            curves.remove(curves.find('pose.bones["pole"].location', index=axis))
        rig.pose.bones["pole"].location = (0, 0, 0)
        # The hip moves, too, which no control of this leg does.
        self.assertLess(solved, 0.02)
        self.assertGreater(max(knees()), 0.06, "without its pole it would point elsewhere")

    def test_what_a_bone_points_at_is_ahead_of_it(self):
        for kind in ("DAMPED_TRACK", "TRACK_TO"):
            with self.subTest(kind=kind):
                rig = scenes.aimed(kind)
                bpy.context.scene.sinew.skeleton, bpy.context.scene.sinew.preset = "controls", "limp"
                run, result, _ = run_whole()
                self.assertFalse(rig.pose.bones["neck"].constraints[0].mute)
                self.assertGreater(max(b["max_angle_deg"] for b in run.report["bodies"]), 0.5)
                poses = run.job.poses[:, 0]
                turn = Matrix(TURN).to_quaternion().inverted()
                for frame in (12, 26, 40):
                    bpy.context.scene.frame_set(frame)
                    x, y, z, w = poses[frame - 1, 3:]
                    wanted = (Quaternion((w, x, y, z)) @ turn) @ Vector((0, 1, 0))
                    bone = rig.pose.bones["neck"]
                    self.assertLess(wanted.angle((bone.tail - bone.head).normalized()), 2e-3)

    def test_limits_leave_a_bone_to_its_control(self):
        rig = scenes.control_rig()
        bpy.context.scene.sinew.skeleton, bpy.context.scene.sinew.keys = "controls", "every_frame"
        limit = rig.pose.bones["wrist"].constraints.new("LIMIT_SCALE")
        limit.use_min_x, limit.min_x = True, 0.5
        run, result, _ = run_whole()
        self.assertFalse(any("no control is solved" in w for w in run.warnings), run.warnings)
        self.assertLess(shown(result)[0], 2e-5)

    def test_the_child_of_a_bone_is_keyed_relative_to_it(self):
        rig = scenes.control_rig()
        bpy.context.scene.sinew.skeleton, bpy.context.scene.sinew.keys = "controls", "every_frame"
        wrist = rig.pose.bones["wrist"]
        wrist.constraints.remove(wrist.constraints[0])
        child = wrist.constraints.new("CHILD_OF")
        child.target, child.subtarget = rig, "ctrl_upper"
        child.use_scale_x = child.use_scale_y = child.use_scale_z = False
        run, result, _ = run_whole()
        self.assertFalse(child.mute)
        far, turned = shown(result)
        self.assertLess(turned, 5e-3)
        self.assertEqual([w for w in run.warnings if "off what was simulated" in w], [])


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

    def test_a_rig_is_the_same_whether_frames_are_drawn_or_not(self):
        """Where no script waits for a change of frame, frames are evaluated without telling anybody."""
        seen = []
        for handlers in ([], [lambda *_: None]):
            scenes.arm_with_ik()
            bpy.context.scene.frame_set(7, subframe=0.25)
            bpy.app.handlers.frame_change_post.extend(handlers)
            try:
                run = addon("run").Run(bpy.context)
                for _ in run.reading():
                    pass
            finally:
                for handler in handlers:
                    bpy.app.handlers.frame_change_post.remove(handler)
            self.assertEqual(run.capture.is_drawn, bool(handlers))
            scene = bpy.context.scene
            self.assertEqual((scene.frame_current, scene.frame_subframe), (7, 0.25))
            seen.append(np.array([node.world for node in run.capture.nodes]))
        np.testing.assert_array_equal(*seen)
        self.assertGreater(np.ptp(seen[0], axis=1).max(), 0.1)

    def test_a_pose_that_was_changed_and_not_keyed_does_not_count(self):
        seen = []
        for is_changed in (False, True):
            rig = scenes.figure(20)
            bpy.context.scene.frame_set(1)
            if is_changed:
                rig.pose.bones["forearm.L"].rotation_quaternion = (0.6, 0.0, 0.0, 0.8)
                bpy.context.view_layer.update()
            run = addon("run").Run(bpy.context)
            for _ in run.reading():
                pass
            seen.append(np.array([node.world for node in run.capture.nodes]))
        np.testing.assert_allclose(*seen, atol=1e-6)

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


    def test_a_rigid_body_that_is_let_go(self):
        scenes.falling()
        ball = bpy.data.objects["Ball"]
        for frame, is_held in ((1, True), (20, False)):
            ball.rigid_body.kinematic = is_held
            ball.keyframe_insert("rigid_body.kinematic", frame=frame)
        bpy.context.scene.sinew.keys = "every_frame"
        run, result, _ = run_whole()
        way = result.ways[result.names.index("Ball")]
        self.assertEqual(float(np.ptp(way[:19], axis=0).max()), 0.0, "held until then")
        self.assertLess(way[30][2], 1.0, "and falls")
        self.assertLess(shown(result)[0], 2e-5)
        again, _, _ = run_whole()
        self.assertEqual([b["behaviour"] for b in again.setup["bodies"] if b["node"] == "Ball"], ["free"])

    def test_selected_bones_only(self):
        rig = scenes.figure(40)
        bpy.ops.object.mode_set(mode="POSE")
        # Since 5.0 it is the pose's bones that are selected.
        for bone in rig.pose.bones if bpy.app.version >= (5, 0, 0) else rig.data.bones:
            bone.select = bone.name.startswith("tail")
        bpy.context.scene.sinew.selected_bones = True
        run, _, writer = run_whole()
        bpy.ops.object.mode_set(mode="OBJECT")
        self.assertEqual({bone for _, bone in writer.curves}, {f"tail{i}" for i in range(1, 7)})
        self.assertGreater(len(run.job.body_nodes), 18)


class Characters(unittest.TestCase):
    """glTF characters, imported. SINEW_CHARACTERS has their files, a line each; the suite in Rust sees to that."""

    def test_characters(self):
        paths = os.environ.get("SINEW_CHARACTERS", "").split()
        if not paths:
            self.skipTest("SINEW_CHARACTERS names no files")
        for path in paths:
            name = os.path.basename(path)
            scenes.empty_file(40)
            with contextlib.redirect_stdout(io.StringIO()):
                bpy.ops.import_scene.gltf(filepath=path)
            rig = next(o for o in bpy.data.objects if o.type == "ARMATURE")
            scenes.select(rig)
            bpy.context.scene.sinew.keys = "every_frame"
            run, result, _ = run_whole()
            size = max(float(np.ptp(np.concatenate(result.keys), axis=0).max()), 1e-3)
            far, _ = shown(result)
            print(f"  {name}: {len(result.places)} bodies, played to {far / size:.1e} of its size")
            self.assertLess(far, 1e-5 * size)
            self.assertGreater(len(result.places), 10)


class Command(unittest.TestCase):
    """The command, on what Blender exports, moves things as the button does."""

    def compare(self, owners):
        path, out = os.path.join(FOLDER, "scene.glb"), os.path.join(FOLDER, "out.glb")
        from_frame_zero()
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(bpy.ops.sinew.export_gltf(filepath=path), {"FINISHED"})
        bpy.context.scene.sinew.keys = "every_frame"
        result = run_whole()[1]
        # It finds the set-up beside the scene.
        command = [SINEW, "bake", path, "-o", out, "--every-frame", "--json"]
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

    def test_joints_of_the_panel(self):
        scenes.lamp()
        bpy.ops.sinew.join(kind="pin")
        lamp = bpy.data.objects["Lamp"]
        item = lamp.sinew_joints[0]
        item.pivot, item.axis, item.turn_limited = bpy.data.objects["Pivot"], "Y", True
        scenes.select(lamp)
        worst = self.compare(["Lamp"])
        print(f"  joints of the panel: {worst:.1e} from the command")
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
