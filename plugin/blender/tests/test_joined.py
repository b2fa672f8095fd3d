"""Joints that are made in the panel: what they do to the motion, and that they stay as they were set."""

import json
import math
import os
import unittest

import bpy
import numpy as np
import scenes
from harness import FOLDER, addon, run_whole, simulate, snapshot
from mathutils import Vector


def hanging(kind="universal", places=((0, 0, 3), (0.5, 0, 3)), **settings):
    """A lamp that is joined to a hand, which keys move; neither is a rigid body of Blender."""
    scenes.empty_file()
    hand = scenes.box("Hand", (0.2, 0.2, 0.2), places[0])
    lamp = scenes.box("Lamp", (0.2, 0.2, 0.4), places[1])
    place = Vector(places[0])
    scenes.key(hand, "location", {1: place, 25: place + Vector((0, 1, 0)), 49: place})
    # The active one is the first.
    scenes.select(hand, lamp)
    assert bpy.ops.sinew.join(kind=kind) == {"FINISHED"}
    scenes.select(lamp, hand)
    item = lamp.sinew_joints[0]
    for name, value in settings.items():
        setattr(item, name, value)
    return hand, lamp, item


def pivot(place, turn=(0.0, 0.0, 0.0)):
    empty = scenes.add("Pivot", None, place)
    empty.rotation_euler = turn
    bpy.context.view_layer.update()
    return empty


def way(result, name):
    return result.ways[result.names.index(name)]


def worlds(frame, *names):
    bpy.context.scene.frame_set(frame)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return [bpy.data.objects[name].evaluated_get(depsgraph).matrix_world.copy() for name in names]


class Joined(unittest.TestCase):
    """What joints do."""

    def test_every_selected_one_to_the_active_and_what_has_no_keys_hangs(self):
        scenes.empty_file()
        hand = scenes.box("Hand", (0.2, 0.2, 0.2), (0, 0, 3))
        scenes.key(hand, "location", {1: (0, 0, 3), 25: (0, 1, 3), 49: (0, 0, 3)})
        lamps = [scenes.box(name, (0.2, 0.2, 0.2), (x, 0, 3)) for name, x in (("Left", -0.5), ("Right", 0.5))]
        scenes.select(hand, *lamps)
        bpy.ops.sinew.join(kind="fixed")
        for lamp in lamps:
            item = lamp.sinew_joints[0]
            self.assertEqual((item.kind, item.other, item.name), ("fixed", hand, f"{lamp.name} to Hand"))
        self.assertEqual(len(hand.sinew_joints), 0)
        scenes.select(*lamps)
        result = simulate()
        # The hand is not selected: it moves as keyed, and takes them along.
        self.assertEqual(set(result.names), {"Left", "Right"})
        for frame in (1, 13, 25, 49):
            left, right, middle = worlds(frame, "Left", "Right", "Hand")
            self.assertLess(((left.translation + right.translation) / 2 - middle.translation).length, 1e-3)

    def test_a_ball_stays_at_its_pivot(self):
        _, lamp, item = hanging()
        item.pivot = pivot((0.0, 0.0, 3.0))
        bpy.context.scene.sinew.keys = "every_frame"
        scenes.select(lamp)
        simulate()
        for frame in range(1, 50, 6):
            hand, shown = worlds(frame, "Hand", "Lamp")
            self.assertLess((shown @ Vector((-0.5, 0, 0)) - hand.translation).length, 1e-4)
        # It fell from where it was held out to.
        self.assertLess(min(way(addon("state").result, "Lamp")[:, 2]), 2.6)

    def test_a_hinge_turns_about_its_axis_within_its_limits(self):
        limit = math.radians(30)
        _, lamp, item = hanging("pin", axis="Y", turn_limited=True, turn_min=-limit, turn_max=limit)
        item.pivot = pivot((0.0, 0.0, 3.0))
        bpy.context.scene.sinew.keys = "every_frame"
        scenes.select(lamp)
        simulate()
        angles = []
        for frame in range(1, 50):
            (shown,) = worlds(frame, "Lamp")
            self.assertLess(abs(shown.col[1].to_3d().normalized().dot(Vector((0, 1, 0))) - 1.0), 1e-5)
            angles.append(math.asin(-shown.col[0].to_3d().normalized().z))
        self.assertAlmostEqual(max(map(abs, angles)), limit, delta=0.01)

    def test_the_axis_is_of_the_pivot(self):
        _, lamp, item = hanging("pin", axis="Z")
        item.pivot = pivot((0.0, 0.0, 3.0), (math.pi / 2, 0.0, 0.0))
        scenes.select(lamp)
        joint = run_whole()[0].setup["joints"][0]
        # The empty's Z is Blender's -Y, which is Z in a set-up.
        np.testing.assert_allclose(joint["axis"], [0, 0, 1], atol=1e-6)
        self.assertEqual((joint["between"], joint["at"]), (["Hand", "Lamp"], "Pivot"))

    def test_a_slider_on_a_spring_sags(self):
        """On 400 N/m, a kilogram hangs 24.5 mm lower."""
        _, lamp, item = hanging("prismatic", axis="Z", slide_drive="spring", slide_stiffness=400.0, slide_damping=40.0)
        lamp.sinew.mass = 1.0
        scenes.select(lamp)
        result = simulate()
        sunk = 3.0 - way(result, "Lamp")[:, 2]
        self.assertAlmostEqual(float(sunk[-1]), 9.81 / 400.0, delta=1e-3)

    def test_a_keyed_rest_is_a_motor(self):
        _, lamp, item = hanging("pin", axis="Z", turn_drive="held")
        for frame, angle in ((1, 0.0), (25, 1.0), (49, 2.0)):
            item.turn_rest = angle
            item.keyframe_insert("turn_rest", frame=frame)
        for curve in addon("action").curves(lamp):
            for key in curve.keyframe_points:
                key.interpolation = "LINEAR"
        scenes.select(lamp)
        simulate()
        first, last = worlds(1, "Lamp")[0], worlds(49, "Lamp")[0]
        turned = (first.inverted() @ last).to_euler().z
        self.assertAlmostEqual(turned, 2.0, delta=0.01)

    def test_let_go_at_a_frame_it_falls(self):
        _, lamp, item = hanging("fixed")
        for frame, value in ((1, True), (20, False)):
            item.holds = value
            item.keyframe_insert("holds", frame=frame)
        scenes.select(lamp)
        result = simulate()
        heights = way(result, "Lamp")[:, 2]
        self.assertLess(abs(float(heights[18]) - 3.0), 1e-3)
        self.assertLess(float(heights[-1]), 0.0)

    def test_it_breaks(self):
        _, lamp, item = hanging("fixed", breaks=True, break_force=5.0)
        lamp.sinew.mass = 1.0
        scenes.select(lamp)
        result = simulate()
        self.assertLess(float(way(result, "Lamp")[-1, 2]), 0.0)
        self.assertTrue(any("Lamp to Hand" in w.text and "broke" in w.text for w in addon("state").warnings))

    def test_a_rope_is_as_long_as_at_the_first_frame_or_as_set(self):
        for length in (None, 1.5):
            _, lamp, item = hanging("rope")
            if length is not None:
                item.length = length
            bpy.context.scene.sinew.keys = "every_frame"
            scenes.select(lamp)
            simulate()
            apart = [(a.translation - b.translation).length for a, b in (worlds(f, "Hand", "Lamp") for f in range(1, 50))]
            self.assertAlmostEqual(max(apart), length or 0.5, delta=2e-3)

    def test_what_is_joined_touches_only_where_that_is_asked_for(self):
        lowest = []
        for collide in (False, True):
            # Above the hand's edge: it falls onto it, or through it.
            _, lamp, item = hanging("prismatic", ((0, 0, 3), (0, 0, 3.6)), axis="Z", collide=collide)
            scenes.select(lamp)
            lowest.append(float(way(simulate(), "Lamp")[:, 2].min()))
        self.assertLess(lowest[0], 2.0)
        self.assertAlmostEqual(lowest[1], 3.3, delta=0.01)

    def test_to_the_world_and_to_a_bone(self):
        scenes.empty_file()
        box = scenes.box("Sign", (0.5, 0.1, 0.5), (0, 0, 2))
        scenes.select(box)
        bpy.ops.sinew.join_world(kind="pin")
        self.assertEqual(run_whole()[0].setup["joints"][0]["between"], ["world", "Sign"])
        rig = scenes.figure(20)
        sword = scenes.box("Sword", (0.1, 0.1, 0.6), (0.85, -0.02, 1.38))
        scenes.select(rig, sword)
        bpy.ops.object.mode_set(mode="POSE")
        rig.data.bones.active = rig.data.bones["hand.L"]
        for bone in rig.pose.bones if bpy.app.version >= (5, 0, 0) else rig.data.bones:
            bone.select = bone.name == "hand.L"
        bpy.ops.sinew.join(kind="fixed")
        self.assertEqual((sword.sinew_joints[0].other, sword.sinew_joints[0].other_bone), (rig, "hand.L"))
        bpy.ops.object.mode_set(mode="OBJECT")
        scenes.select(rig, sword)
        run = run_whole()[0]
        joint = next(j for j in run.setup["joints"] if j.get("name") == "Sword to hand.L")
        self.assertEqual(joint["between"], ["hand.L", "Sword"])

    def test_against_a_rigid_body_constraint_it_wins_and_says_so(self):
        scenes.chain(2, 20)
        link, head = bpy.data.objects["Link000"], bpy.data.objects["Head"]
        scenes.select(head, link)
        bpy.ops.sinew.join(kind="fixed")
        scenes.select(link, bpy.data.objects["Link001"], head)
        run = run_whole()[0]
        kinds = {joint["name"]: joint["kind"] for joint in run.setup["joints"]}
        self.assertEqual(kinds, {"Link000 to Head": "fixed", "Joint001": "universal"})
        self.assertTrue(any('"Joint000"' in w and "Link000 to Head" in w for w in run.warnings), run.warnings)

    def test_what_makes_no_sense_is_left_out_and_named(self):
        hand, lamp, item = hanging("rope")
        item.other = None
        limp = lamp.sinew_joints.add()
        limp.name, limp.kind, limp.other = "Backwards", "pin", hand
        limp.turn_limited, limp.turn_min, limp.turn_max = True, 1.0, -1.0
        run = run_whole()[0]
        self.assertEqual(run.setup.get("joints", []), [])
        self.assertTrue(any("Lamp to Hand" in w and "other end" in w for w in run.warnings), run.warnings)
        self.assertTrue(any("Backwards" in w and "exchange" in w for w in run.warnings), run.warnings)

    def test_one_whose_other_was_deleted_is_left_out_and_named(self):
        hand, lamp, item = hanging("fixed")
        scenes.select(lamp)
        bpy.context.scene.collection.objects.unlink(hand)
        lamp.sinew.behaviour = "free"
        run = run_whole()[0]
        self.assertEqual(run.setup.get("joints", []), [])
        self.assertTrue(any("Lamp to Hand" in w and "needs Hand" in w and "show it" in w for w in run.warnings), run.warnings)

    def test_live_follows_its_settings(self):
        _, lamp, item = hanging("prismatic", axis="Z", slide_drive="spring", slide_stiffness=400.0, slide_damping=40.0)
        scenes.select(lamp)
        before = snapshot()
        bpy.ops.sinew.live()
        live = addon("live")
        try:
            first = way(addon("state").result, "Lamp").copy()
            item.slide_stiffness = 100.0
            self.assertIsNotNone(live.session.changed_at)
            live.session.again()
            self.assertEqual(live.session.error, "")
            self.assertGreater(np.abs(way(addon("state").result, "Lamp") - first).max(), 1e-3)
        finally:
            bpy.ops.sinew.live_discard()
        self.assertEqual(snapshot(), before)


    def test_live_follows_joints_that_come_and_go(self):
        hand, lamp, item = hanging("fixed")
        live = addon("live")
        bpy.ops.sinew.live()
        try:
            held = float(way(addon("state").result, "Lamp")[-1, 2])
            bpy.ops.sinew.part()
            live.session.again()
            self.assertEqual(live.session.error, "")
            # Nothing holds it any more; and without a joint it is in the way again, where it stands.
            lamp.sinew.behaviour = "free"
            live.session.again()
            self.assertLess(float(way(addon("state").result, "Lamp")[-1, 2]), 0.0)
            scenes.select(hand, lamp)
            bpy.ops.sinew.join(kind="fixed")
            live.session.again()
            self.assertEqual(live.session.error, "")
            self.assertAlmostEqual(float(way(addon("state").result, "Lamp")[-1, 2]), held, delta=1e-3)
            # An empty that was not there when it was read.
            lamp.sinew_joints[0].pivot = pivot((0.0, 0.0, 3.0))
            live.session.again()
            self.assertEqual(live.session.error, "")
            self.assertTrue(any("needs Pivot" in w.text and "begin again" in w.text for w in addon("state").warnings))
        finally:
            live.stop()


class Kept(unittest.TestCase):
    """Joints as settings: removed, copied, saved, out and in again."""

    def test_removed_with_its_keys_and_the_others_keep_theirs(self):
        hand, lamp, first = hanging("fixed")
        scenes.select(hand, lamp)
        bpy.ops.sinew.join(kind="pin")
        scenes.select(lamp, hand)
        self.assertEqual([i.name for i in lamp.sinew_joints], ["Lamp to Hand", "Lamp to Hand 2"])
        for item, rests in ((lamp.sinew_joints[0], (0.0, 1.0)), (lamp.sinew_joints[1], (0.0, 2.0))):
            for frame, rest in zip((1, 20), rests):
                item.turn_rest = rest
                item.keyframe_insert("turn_rest", frame=frame)
        lamp.sinew_joint_index = 0
        bpy.ops.sinew.part()
        self.assertEqual([i.name for i in lamp.sinew_joints], ["Lamp to Hand 2"])
        curves = list(addon("action").curves(lamp))
        self.assertEqual([c.data_path for c in curves], ["sinew_joints[0].turn_rest"])
        self.assertEqual(curves[0].evaluate(20), 2.0)

    def test_copied_to_the_joints_of_others(self):
        hand, lamp, item = hanging("pin", turn_limited=True, turn_max=0.25, break_force=7.0)
        bell = scenes.box("Bell", (0.2, 0.2, 0.2), (-0.5, 0, 3))
        scenes.select(hand, bell)
        bpy.ops.sinew.join(kind="rope")
        scenes.select(lamp, bell)
        bpy.ops.sinew.copy_joint()
        copied = bell.sinew_joints[0]
        self.assertEqual((copied.kind, copied.turn_limited, copied.turn_max), ("pin", True, 0.25))
        self.assertEqual((copied.name, copied.other), ("Bell to Hand", hand))
        self.assertFalse(copied.is_property_set("turn_strength"))

    def test_saved_and_opened_and_on_an_override(self):
        library, shot = (os.path.join(FOLDER, name) for name in ("joined-library.blend", "joined.blend"))
        scenes.empty_file()
        collection = bpy.data.collections.new("Props")
        bpy.context.scene.collection.children.link(collection)
        for name, x in (("Hand", 0.0), ("Lamp", 0.5)):
            obj = scenes.box(name, (0.2, 0.2, 0.2), (x, 0, 3))
            bpy.context.scene.collection.objects.unlink(obj)
            collection.objects.link(obj)
        bpy.ops.wm.save_as_mainfile(filepath=library)
        scenes.empty_file()
        with bpy.data.libraries.load(library, link=True) as (_, into):
            into.collections = ["Props"]
        bpy.context.scene.collection.children.link(into.collections[0])
        into.collections[0].override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        own = lambda n: next(o for o in bpy.data.objects if o.name == n and o.override_library is not None)  # noqa: E731
        scenes.select(own("Hand"), own("Lamp"))
        bpy.ops.sinew.join(kind="pin")
        item = own("Lamp").sinew_joints[0]
        item.turn_limited, item.turn_max, item.pivot = True, 0.25, scenes.add("Pivot", None, (0.25, 0, 3))
        bpy.ops.wm.save_as_mainfile(filepath=shot)
        bpy.ops.wm.open_mainfile(filepath=shot)
        (item,) = own("Lamp").sinew_joints
        self.assertEqual((item.kind, item.turn_limited, item.turn_max), ("pin", True, 0.25))
        self.assertEqual((item.other, item.pivot), (own("Hand"), bpy.data.objects["Pivot"]))
        self.assertFalse(item.is_property_set("turn_min"))

    def exchanged(self, *names):
        """Out and in again, into objects that have no joints any more."""
        path = os.path.join(FOLDER, "joined.sinew.json")
        before = simulate().ways
        before = [w.copy() for w in before]
        self.assertEqual(bpy.ops.sinew.export_setup(filepath=path), {"FINISHED"})
        for name in names:
            bpy.data.objects[name].sinew_joints.clear()
        self.assertEqual(bpy.ops.sinew.import_setup(filepath=path), {"FINISHED"})
        after = simulate().ways
        for a, b in zip(before, after):
            np.testing.assert_allclose(a, b, atol=1e-5)
        with open(path) as file:
            return json.load(file)

    def test_out_and_in_again_every_setting_stays(self):
        settings = dict(
            axis="Y", turn_limited=True, turn_min=-0.5, turn_max=0.25, turn_drive="spring", turn_rest=0.125,
            turn_stiffness=20.0, turn_damping=2.0, turn_strength=50.0, slide_limited=True, slide_min=-0.25, slide_max=0.5,
            slide_drive="held", slide_rest=0.0625, gives=True, give_stiffness=5000.0, give_damping=20.0,
            give_turn_stiffness=300.0, breaks=True, break_force=1e6, break_torque=2e6, collide=True, grab=True,
        )  # fmt: skip
        _, lamp, item = hanging("cylindrical", **settings)
        item.pivot = pivot((0.25, 0.0, 3.0))
        for frame, value in ((1, True), (30, False)):
            item.holds = value
            item.keyframe_insert("holds", frame=frame)
        scenes.select(lamp)
        self.exchanged("Lamp")
        (item,) = lamp.sinew_joints
        self.assertEqual((item.name, item.kind, item.other.name), ("Lamp to Hand", "cylindrical", "Hand"))
        self.assertEqual(item.pivot, bpy.data.objects["Pivot"])
        for name, value in settings.items():
            if isinstance(value, float):
                self.assertAlmostEqual(getattr(item, name), value, delta=1e-5 * max(1.0, value), msg=name)
            else:
                self.assertEqual(getattr(item, name), value, name)
        curve = addon("action").curves(lamp).find("sinew_joints[0].holds")
        self.assertEqual([curve.evaluate(f) for f in (1, 29, 30, 49)], [1.0, 1.0, 0.0, 0.0])

    def test_out_and_in_again_every_kind_moves_the_same(self):
        for kind, *_ in addon("joint_properties").KINDS:
            with self.subTest(kind=kind):
                _, lamp, item = hanging(kind, axis="X")
                item.tilt_limited, item.tilt_max = kind == "universal", 0.5
                if kind == "inside_box":
                    item.size = (1.0, 2.0, 3.0)
                scenes.select(lamp)
                found = self.exchanged("Lamp")
                self.assertEqual([j["kind"] for j in found["joints"]], [kind])
                self.assertEqual(lamp.sinew_joints[0].kind, kind)
                if kind == "inside_box":
                    self.assertEqual(tuple(lamp.sinew_joints[0].size), (1.0, 2.0, 3.0))

    def test_frames_and_odd_axes_come_in_as_empties(self):
        hand, lamp, item = hanging("pin")
        lamp.sinew_joints.clear()
        scenes.select(lamp, hand)
        path = os.path.join(FOLDER, "framed.sinew.json")
        # On the hand, 30 degrees about its Y (up): half way to the lamp. The lamp hangs there by a point of its own.
        half = math.radians(15)
        frames = [
            {"position": [0.25, 0.0, 0.0], "rotation": [0.0, math.sin(half), 0.0, math.cos(half)]},
            {"position": [-0.25, 0.0, 0.0], "rotation": [0.0, math.sin(half), 0.0, math.cos(half)]},
        ]
        bodies = [{"node": "Lamp", "behaviour": "free"}, {"node": "Hand", "behaviour": "animated"}]
        skewed = {"kind": "pin", "between": ["Hand", "Lamp"], "name": "Skewed", "axis": [1.0, 1.0, 0.0]}
        framed = {"kind": "pin", "between": ["Hand", "Lamp"], "name": "Framed", "frames": frames}
        # Low, long along the hand's Y and short along its X, as the frame is turned: it falls, and slides to the sides.
        boxed = {**framed, "kind": "inside_box", "name": "Boxed", "size": [0.1, 0.4, 2.0]}
        for joint in (framed, skewed, boxed):
            with open(path, "w") as file:
                json.dump({"sinew": 1, "bodies": bodies, "joints": [joint]}, file)
            lamp.sinew_joints.clear()
            bpy.context.scene.sinew.setup_file = path
            wanted = way(simulate(), "Lamp").copy()
            bpy.context.scene.sinew.setup_file = ""
            bpy.ops.sinew.import_setup(filepath=path)
            found = lamp.sinew_joints[joint["name"]]
            self.assertEqual(found.pivot.type, "EMPTY")
            np.testing.assert_allclose(way(simulate(), "Lamp"), wanted, atol=1e-4)


class Shown(unittest.TestCase):
    """Lines over the viewport, and handles."""

    def test_lines_go_from_one_to_the_other(self):
        hand, lamp, item = hanging("pin", axis="Y")
        item.pivot = pivot((0.0, 0.0, 3.0))
        bright, dim = addon("joint_lines").drawn(bpy.context)
        np.testing.assert_allclose(bright[0], lamp.matrix_world.translation, atol=1e-6)
        np.testing.assert_allclose(bright[1], (0, 0, 3), atol=1e-6)
        self.assertEqual(len(dim), 0)
        scenes.select(scenes.box("Other"))
        bright, dim = addon("joint_lines").drawn(bpy.context)
        self.assertEqual(len(bright), 0)
        self.assertGreater(len(dim), 8)

    def test_handles_of_its_limits(self):
        _, lamp, item = hanging("cylindrical", axis="X")
        gizmos = addon("gizmos")
        self.assertEqual(gizmos.own_limits(lamp), [])
        item.turn_limited = item.slide_limited = True
        self.assertEqual(gizmos.own_limits(lamp), ["turn_min", "turn_max", "slide_min", "slide_max"])
        item.kind = "screw"
        self.assertEqual(gizmos.own_limits(lamp), ["slide_min", "slide_max"])
        gizmos._limit_setter("slide_max")(0.75)
        self.assertEqual((item.slide_max, gizmos._limit_getter("slide_max")()), (0.75, 0.75))
        np.testing.assert_allclose(addon("joint_lines").place(lamp, item).translation, lamp.location, atol=1e-6)
