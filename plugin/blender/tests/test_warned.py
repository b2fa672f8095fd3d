"""What is wrong is said when Simulate is pressed: before a long run is over, and in words that name what to select."""

import time
import unittest
from types import SimpleNamespace

import bpy
import scenes
from harness import addon, simulate, snapshot


def torn():
    """A box that two points hold at places which are further apart in the box than in the world."""
    scenes.empty_file()
    bpy.ops.rigidbody.world_add()
    bpy.context.scene.rigidbody_world.constraints = bpy.data.collections.new("Joints")
    left, right = (scenes.box(name, (0.1, 0.1, 0.1), (x, 0, 3)) for name, x in (("Left", -1.0), ("Right", 1.0)))
    bar = scenes.box("Bar", (2.0, 0.1, 0.1), (0, 0, 3))
    scenes.key(right, "location", {1: (1, 0, 3), 10: (1.5, 0, 3), 49: (1.5, 0, 3)})
    for obj in (left, right, bar):
        scenes.select(obj)
        bpy.ops.rigidbody.object_add(type="ACTIVE" if obj == bar else "PASSIVE")
    for name, end in (("Pin left", left), ("Pin right", right)):
        empty = scenes.add(name, None, end.location)
        bpy.context.scene.rigidbody_world.constraints.objects.link(empty)
        empty.rigid_body_constraint.type = "POINT"
        empty.rigid_body_constraint.object1, empty.rigid_body_constraint.object2 = end, bar
    scenes.select(bar)


class Said(unittest.TestCase):
    """Warnings as the panel has them."""

    def test_what_overlaps_is_one_line_with_all_its_objects(self):
        scenes.crowded(1, 49)
        said = addon("simulate").words(simulate().job.report)
        found = addon("state").warnings[0]
        self.assertEqual(found.title, "2 objects overlap at frame 1: Ball, Crate")
        self.assertEqual(set(found.objects), {"Ball", "Crate"})
        self.assertIn("Ball and Crate by 0.", found.text)
        self.assertIn("Simulated 49 frames", said)
        self.assertIn("2 objects overlap at frame 1: Ball, Crate", said)
        self.assertIn("(see Result)", said)
        operator = addon("simulate").SINEW_OT_select
        self.assertIn(found.text, operator.description(bpy.context, SimpleNamespace(index=0)))
        self.assertEqual(operator.description(bpy.context, SimpleNamespace(index=99)), operator.__doc__)
        bpy.ops.sinew.select(index=0)
        self.assertEqual({o.name for o in bpy.context.selected_objects}, {"Ball", "Crate"})

    def test_the_frame_is_the_range_s_own(self):
        scenes.crowded(1, 49)
        bpy.context.scene.frame_start = 7
        bpy.ops.sinew.check()
        self.assertIn("at frame 7", addon("state").warnings[0].title)
        self.assertEqual(addon("state").asked, "the last check")

    def test_many_pairs_are_counted(self):
        trouble = addon("trouble")
        pairs = [f'"A{i}" and "B{i}" overlap at the first frame by 0.{i}00 and pass through' for i in range(8)]
        found = trouble.gathered([*pairs, "3 more pairs overlap at the first frame and pass through each other"])
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0].title, "more than 16 objects overlap at frame 1: A0, B0, A1 and 13 more")
        self.assertIn("3 more pairs", found[0].text)
        floor = trouble.gathered(['"Ball" and the floor overlap at the first frame by 0.200 and pass through'])
        self.assertEqual(floor[0].title, "1 object overlaps the floor at frame 1: Ball")
        self.assertEqual(trouble.summary([]), "")

    def test_joints_that_stay_open_select_what_they_join(self):
        torn()
        simulate()
        found = next(w for w in addon("state").warnings if "open" in w.title)
        self.assertIn("Pin", found.title)
        self.assertIn("Bar", found.objects)
        # What matters comes first, whatever else there is.
        self.assertLess(addon("state").warnings.index(found), 2)


class Early(unittest.TestCase):
    """A run that takes long."""

    def test_it_is_known_while_the_run_goes_on(self):
        scenes.crowded(60, 2500)
        before = snapshot()
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        run.start()
        while run.early is None and not run.is_done:
            run.look_early()
            time.sleep(0.001)
        self.assertFalse(run.is_done, "the simulation goes on")
        self.assertTrue(any("Ball" in text and "overlap" in text for text in run.early), run.early)
        frames = run.simulated
        run.cancel()
        self.assertLess(frames, 2500)
        self.assertEqual(snapshot(), before)

    def test_a_short_one_is_not_simulated_twice(self):
        scenes.crowded(1, 49)
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        run.start()
        while not run.is_done:
            run.look_early()
        self.assertIsNone(run.early)
        self.assertTrue(any("overlap" in text for text in run.report["warnings"]))

    def test_a_cycle_is_not_looked_at_as_two_frames(self):
        scenes.crowded(1, 49)
        bpy.context.scene.sinew.loop = True
        bpy.ops.sinew.check()
        self.assertFalse([w.text for w in addon("state").warnings if "come back" in w.text or "repeat" in w.text])
