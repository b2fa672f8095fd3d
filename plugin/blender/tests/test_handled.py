"""By hand: dragging in live mode, and the handles of shapes and joints."""

import unittest

import bpy
import numpy as np
import scenes
from harness import addon, simulate, snapshot


def head_at(frame):
    """Where the head of the figure is shown."""
    bpy.context.scene.frame_set(frame)
    rig = bpy.data.objects["Figure"].evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array((rig.matrix_world @ rig.pose.bones["head"].matrix).translation)


class Dragged(unittest.TestCase):
    """A hand pulls at a figure in live mode."""

    def setUp(self):
        scenes.figure(40)
        self.before = snapshot()
        bpy.ops.sinew.live()
        self.session = addon("live").session

    def tearDown(self):
        addon("live").stop()

    def drag(self, frames=12, away=(0.0, 0.25, -0.1)):
        hand = addon("drag").Hand(self.session, 10)
        body = hand.bodies[("Figure", "head")]
        self.began = np.array(hand.session.poses[body, :3])
        self.target = self.began + away
        hand.hold("Figure", "head", self.began)
        for _ in range(frames):
            hand.pull(self.target)
            hand.step()
            hand.show_frame()
        self.reached = np.array(hand.session.poses[body, :3])
        return hand

    def test_it_follows_and_every_frame_is_shown(self):
        hand = self.drag()
        way = np.linalg.norm(self.target - self.began)
        self.assertLess(np.linalg.norm(self.target - self.reached), 0.5 * way)
        # What is shown while the hand pulls, and what is there once it lets go.
        np.testing.assert_allclose(head_at(22), self.reached, atol=1e-5)
        hand.release()
        hand.show()
        np.testing.assert_allclose(head_at(22), self.reached, atol=1e-5)
        end = hand.recording.poses[-1, hand.bodies[("Figure", "head")], :3]
        np.testing.assert_allclose(head_at(40), end, atol=1e-5)
        hand.close()

    def test_before_it_is_taken_hold_of_nothing_is_different(self):
        before = head_at(8)
        hand = self.drag()
        hand.release()
        hand.show()
        np.testing.assert_allclose(head_at(8), before, atol=1e-6)
        hand.close()

    def test_bake_keeps_it_and_discard_does_not(self):
        hand = self.drag()
        hand.release()
        hand.show()
        hand.close()
        bpy.ops.sinew.live_discard()
        bpy.context.scene.frame_set(self.before["frame"])
        self.assertEqual(snapshot(), self.before)
        bpy.ops.sinew.live()
        self.session = addon("live").session
        hand = self.drag()
        hand.release()
        hand.show()
        hand.close()
        reached = self.reached
        bpy.ops.sinew.live_bake()
        np.testing.assert_allclose(head_at(22), reached, atol=1e-5)
        self.assertIn("FigureAction (Sinew)", bpy.data.actions)

    def test_few_keys_are_baked_within_the_tolerance(self):
        places = {}
        for keys in ("every_frame", "fitted"):
            addon("live").stop()
            scenes.figure(100)
            settings = bpy.context.scene.sinew
            settings.keys, settings.tolerance, settings.tolerance_deg = keys, 0.002, 0.2
            bpy.ops.sinew.live()
            self.session = addon("live").session
            hand = self.drag(30)
            hand.release()
            hand.show()
            hand.close()
            bpy.ops.sinew.live_bake()
            curves = addon("action").curves(bpy.data.objects["Figure"])
            counts = [len(c.keyframe_points) for c in curves]
            places[keys] = np.array([head_at(frame) for frame in range(1, 101)]), sum(counts)
        # Of four bones above each other, each within its own tolerance.
        self.assertLess(np.abs(places["fitted"][0] - places["every_frame"][0]).max(), 0.01)
        self.assertLess(places["fitted"][1], 0.5 * places["every_frame"][1])
        print(f"  keys of what was dragged: {places['fitted'][1]} instead of {places['every_frame'][1]}")

    def test_a_slider_simulates_anew(self):
        hand = self.drag()
        hand.release()
        hand.show()
        hand.close()
        pulled = head_at(22)
        bpy.data.objects["Figure"].pose.bones["head"].sinew.strength = 0.9
        self.session.again()
        self.assertGreater(np.linalg.norm(head_at(22) - pulled), 0.05)


class Turned(unittest.TestCase):
    """A hand pulls at a bone that only turns."""

    def setUp(self):
        rig = scenes.figure(40)
        rig.pose.bones["ear"].sinew.simulate = "orientation"
        bpy.ops.sinew.live()
        self.hand = addon("drag").Hand(addon("live").session, 10)

    def tearDown(self):
        self.hand.close()
        addon("live").stop()

    def test_it_turns_towards_the_hand_and_stays_on_its_parent(self):
        hand, key = self.hand, ("Figure", "ear")
        head, tail = hand.ends(*key)
        length = np.linalg.norm(tail - head)
        # By its head: then by its tail.
        held = hand.hold(*key, tuple(head))
        np.testing.assert_allclose(held, tail, atol=1e-6)
        away = np.array((length, 0.0, 0.0))
        for _ in range(15):
            head, tail = hand.ends(*key)
            hand.pull(tuple(head + away))
            hand.step()
            hand.show_frame()
        head, tail = hand.ends(*key)
        angle = np.degrees(np.arccos(np.dot(tail - head, away) / length**2))
        self.assertLess(angle, 15.0)
        np.testing.assert_allclose(hand.grabbed, tail, atol=1e-6)
        direction = (tail - head) / length
        for _ in range(2):
            shown, at = self.ear(25)
            # While the hand pulls, and what is there once it lets go.
            np.testing.assert_allclose(shown[1] - shown[0], direction * length, atol=1e-5)
            np.testing.assert_allclose(shown[0], at, atol=1e-5)
            hand.release()
            hand.show()

    def ear(self, frame):
        """Head and tail of the ear as they are shown, and where its parent has its head."""
        bpy.context.scene.frame_set(frame)
        rig = bpy.data.objects["Figure"].evaluated_get(bpy.context.evaluated_depsgraph_get())
        bone, above, rest = rig.pose.bones["ear"], rig.pose.bones["head"], rig.data.bones
        place = above.matrix @ rest["head"].matrix_local.inverted() @ rest["ear"].head_local
        return [np.array(rig.matrix_world @ end) for end in (bone.head, bone.tail)], np.array(rig.matrix_world @ place)

    def test_a_press_beside_the_skin_finds_bones_along_all_their_length(self):
        rig, drag = bpy.data.objects["Figure"], addon("drag")
        bpy.data.objects["Skin"].hide_set(True)
        window = bpy.context.window_manager.windows[0]
        area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
        region = next(r for r in area.regions if r.type == "WINDOW")
        view = area.spaces[0].region_3d
        for key in (("Figure", "ear"), ("Figure", "forearm.L"), ("Figure", "shin.R")):
            head, tail = self.hand.ends(*key)
            self.assertAlmostEqual(float(np.linalg.norm(tail - head)), rig.pose.bones[key[1]].length, places=5)
            wanted = head + 0.7 * (tail - head)
            at = drag.view3d_utils.location_3d_to_region_2d(region, view, wanted)
            with bpy.context.temp_override(window=window, area=area, region=region, space_data=area.spaces[0]):
                found, point = drag.picked(bpy.context, self.hand, region, at)
            self.assertEqual(found, key)
            np.testing.assert_allclose(point, wanted, atol=0.01)


class Handles(unittest.TestCase):
    """What a handle in the viewport shows and sets."""

    def test_sizes_of_a_box(self):
        scenes.empty_file()
        obj = scenes.box("Crate", (1.0, 2.0, 3.0))
        scenes.select(obj)
        obj.sinew.shape = "box"
        gizmos = addon("gizmos")
        self.assertEqual([h[0] for h in gizmos.handles(obj.sinew)], ["size"] * 3)
        np.testing.assert_allclose([gizmos.half(bpy.context, "size", a) for a in range(3)], [0.5, 1.0, 1.5])
        gizmos.set_half(bpy.context, "size", 2, 2.0)
        np.testing.assert_allclose(obj.sinew.size, [1.0, 2.0, 4.0])
        shape = addon("physics")._shape(obj.sinew, False)
        # Y is up in a set-up.
        np.testing.assert_allclose(shape["size"], [1.0, 4.0, 2.0])

    def test_a_capsule_has_both_sizes_or_none(self):
        scenes.empty_file()
        obj = scenes.box("Pill", (0.4, 0.4, 2.0))
        scenes.select(obj)
        obj.sinew.shape = "capsule"
        gizmos = addon("gizmos")
        self.assertEqual(addon("physics")._shape(obj.sinew, False), {"kind": "capsule"})
        gizmos.set_half(bpy.context, "radius", 0, 0.3)
        self.assertTrue(obj.sinew.is_property_set("length"))
        self.assertAlmostEqual(obj.sinew.length, 1.6, places=5)

    def test_limits_of_a_hinge(self):
        scenes.chain(2, 10)
        empty = bpy.data.objects["Joint000"]
        joint = empty.rigid_body_constraint
        joint.type = "HINGE"
        limits = addon("gizmos").limits
        self.assertEqual(limits(empty), [])
        joint.use_limit_ang_z = True
        self.assertEqual(limits(empty), [("ang", 2, "limit_ang_z_lower"), ("ang", 2, "limit_ang_z_upper")])


class Strain(unittest.TestCase):
    """The strip in the panel, and going to where strength was not enough."""

    def test_bars_and_jumps(self):
        rig = scenes.figure(100)
        for bone in rig.pose.bones:
            bone.sinew.strength = 0.03
        simulate()
        result = addon("state").result
        frames = sorted({f for _, _, found in result.strained for f in found})
        self.assertGreater(len(frames), 2)
        strip = addon("panel").strip(result, 100)
        bars = addon("panel").BARS
        self.assertEqual([i + 1 for i, bar in enumerate(strip) if bar != bars[0]], frames)
        self.assertEqual(len(addon("panel").strip(result, 20)), 20)
        bpy.context.scene.frame_set(1)
        bpy.ops.sinew.strained(forward=True)
        self.assertEqual(bpy.context.scene.frame_current, next(f for f in frames if f > 1))
        bpy.ops.sinew.strained(forward=False)
        self.assertIn(bpy.context.scene.frame_current, frames)


class Shapes(unittest.TestCase):
    """The overlay draws what the library touches with."""

    def test_drawn_where_things_are(self):
        scenes.falling()
        ball = bpy.data.objects["Ball"]
        bpy.ops.sinew.check()
        shapes = addon("state").shapes()
        self.assertEqual(set(k[0] for k in shapes.lines), {"Ball", "Bat", "Table"})
        lines = shapes.lines[("Ball", None)]
        np.testing.assert_allclose(np.abs(lines).max(axis=0), [0.2, 0.2, 0.2], atol=1e-6)
        ball.location.x += 5.0
        bpy.context.view_layer.update()
        drawn = shapes.drawn(bpy.context)
        self.assertAlmostEqual(float(drawn[:, 0].max()), 5.2, places=5)

    def test_they_follow_the_sizes(self):
        scenes.falling()
        ball = bpy.data.objects["Ball"]
        bpy.ops.sinew.check()
        addon("state").shapes()
        ball.sinew.shape, ball.sinew.size = "box", (1.0, 0.6, 0.8)
        lines = addon("state").shapes().lines[("Ball", None)]
        np.testing.assert_allclose(np.abs(lines).max(axis=0), [0.5, 0.3, 0.4], atol=1e-6)

    def test_bones_have_them_too(self):
        scenes.figure(10)
        bpy.ops.sinew.check()
        lines = addon("state").shapes().lines[("Figure", "upperarm.L")]
        length = bpy.data.objects["Figure"].pose.bones["upperarm.L"].length
        # Along the bone.
        self.assertGreater(lines[:, 1].max(), 0.7 * length)
        self.assertLess(lines[:, 1].max(), 1.2 * length)
        self.assertLess(np.abs(lines[:, [0, 2]]).max(), 0.15)


class Limits(unittest.TestCase):
    """The overlay draws how far bones can turn, as the library holds them."""

    def used(self, frames):
        """The most that joints use of their room over some frames, by bone."""
        found = {}
        limits = addon("state").limits()
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            for joint, _, a, b, _ in limits.placed(bpy.context):
                found[joint.bone] = max(found.get(joint.bone, 0.0), joint.used(a, b)[0])
        return found

    def test_the_clip_is_within(self):
        rig = scenes.figure(40)
        bpy.ops.sinew.check()
        found = self.used(range(1, 41, 3))
        self.assertEqual(len(found), len(addon("state").limits().joints))
        self.assertGreater(len(found), 15)
        self.assertLess(max(found.values()), 0.98)
        # Some of the room is used, so it is not that everything seems to be at rest.
        self.assertGreater(max(found.values()), 0.3)
        self.assertEqual(rig.mode, "OBJECT")

    def test_a_limp_figure_comes_to_their_ends_and_not_beyond(self):
        rig = scenes.figure(60)
        for bone in rig.pose.bones:
            bone.sinew.strength = 0.0
        bpy.context.scene.sinew.keys = "every_frame"
        simulate()
        found = self.used(range(1, 61))
        # As simulated, to what single precision and the keys of a frame leave of it.
        self.assertLess(max(found.values()), 1.02, found)
        self.assertGreater(sum(share > 0.98 for share in found.values()), 2, found)

    def test_only_what_is_selected_and_red_at_its_end(self):
        rig = scenes.figure(20)
        bpy.ops.sinew.check()
        limits = addon("state").limits()
        free, full = limits.drawn(bpy.context)
        self.assertGreater(len(free), 1000)
        self.assertEqual(len(full), 0)
        bpy.ops.object.mode_set(mode="POSE")
        for bone in rig.pose.bones if bpy.app.version >= (5, 0, 0) else rig.data.bones:
            bone.select = bone.name == "forearm.L"
        self.assertEqual([joint.bone for joint in limits.shown(bpy.context)], ["forearm.L"])
        length = rig.pose.bones["forearm.L"].length
        head = np.array(rig.pose.bones["forearm.L"].head)
        free, full = limits.drawn(bpy.context)
        self.assertLess(np.linalg.norm(free - head, axis=1).max(), length)
        # Turned about itself by half a turn, it is past all that it may.
        rig.pose.bones["forearm.L"].rotation_quaternion = (0.0, 0.0, 1.0, 0.0)
        bpy.context.view_layer.update()
        free, full = limits.drawn(bpy.context)
        self.assertEqual(len(free), 0)
        self.assertGreater(len(full), 100)
        bpy.ops.object.mode_set(mode="OBJECT")
        scenes.select(bpy.data.objects["Skin"])
        self.assertEqual(limits.shown(bpy.context), [])
