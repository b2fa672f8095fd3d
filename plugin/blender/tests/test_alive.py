"""Blender stays alive: no piece of a run holds it up, and a slider's motion is there when the slider is drawn."""

import unittest

import bpy
import numpy as np
import scenes
from harness import addon, snapshot


class Pieces(unittest.TestCase):
    """Reading and writing are cut up; how long they take is measured in the window."""

    def test_a_long_clip_of_a_figure(self):
        scenes.figure(2000)
        run = addon("run").Run(bpy.context)
        self.assertGreater(sum(1 for _ in run.reading()), 2000)
        run.simulate()
        self.assertGreater(sum(1 for _ in run.writing()), 20)

    def test_a_skin_of_many_vertices(self):
        scenes.figure(10)
        pieces = sum(1 for _ in addon("run").Run(bpy.context).reading())
        skin = bpy.data.objects["Skin"]
        skin.modifiers.new("Finer", "SUBSURF").levels = 5
        bpy.context.view_layer.objects.active = skin
        bpy.ops.object.modifier_apply(modifier="Finer")
        self.assertGreater(len(skin.data.vertices), 100_000)
        # Blender gives a mesh as a whole; its weights, which take longest, are cut up.
        finer = sum(1 for _ in addon("run").Run(bpy.context).reading())
        print(f"  {pieces} pieces, and {finer} of a skin of {len(skin.data.vertices)} vertices")
        self.assertGreater(finer, 2 * pieces)

    def test_controls_are_looked_at_frame_by_frame_and_that_can_be_left_off(self):
        rig = scenes.control_rig(200)
        rig.pose.bones["ctrl_lower"].lock_rotation = (True, True, True)
        bpy.context.scene.sinew.skeleton = "controls"
        bpy.context.scene.frame_set(7)
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        run.simulate()
        writing = run.writing()
        while run.stage != "look":
            next(writing)
        while run.looked < 50:
            next(writing)
        before = snapshot()
        writing.close()
        self.assertEqual(bpy.context.scene.frame_current, 7, "the frame is where it was")
        before["frame"] = 7
        self.assertEqual(snapshot(), before)
        self.assertEqual(len(run.written().actions), 1)

    def test_what_is_gone_between_two_pieces_is_named(self):
        scenes.props()
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        run.simulate()
        writing = run.writing()
        next(writing)
        bpy.data.objects.remove(bpy.data.objects["Rider"])
        for _ in writing:
            pass
        self.assertTrue(any("Rider" in w and "gone" in w for w in run.written().warnings))


class Drawn(unittest.TestCase):
    """In live mode, what a slider does is evaluated together with the slider, before anything is drawn."""

    def tail(self):
        rig = bpy.data.objects["Figure"].evaluated_get(bpy.context.evaluated_depsgraph_get())
        return np.array(rig.pose.bones["tail6"].matrix)

    def test_the_evaluation_that_sees_the_slider_sees_the_motion(self):
        scenes.figure(60)
        bpy.context.scene.frame_set(30)
        bpy.ops.sinew.live()
        live = addon("live")
        try:
            # However slow the machine is.
            live.session.needed = 0.0
            was, live.AT_ONCE = live.AT_ONCE, 60.0
            before, shown = self.tail(), addon("state").result
            bpy.data.objects["Figure"].pose.bones["tail1"].sinew.strength = 0.3
            bpy.data.objects["Figure"].pose.bones["tail2"].sinew.strength = 0.3
            self.assertIs(addon("state").result, shown, "not while settings are still being set")
            bpy.context.view_layer.update()
            self.assertIsNot(addon("state").result, shown)
            self.assertIsNone(live.session.changed_at)
            self.assertGreater(np.abs(self.tail() - before).max(), 1e-3)
            # Longer ones are the timer's.
            live.AT_ONCE = 0.0
            shown = addon("state").result
            bpy.data.objects["Figure"].pose.bones["tail1"].sinew.strength = 0.6
            bpy.context.view_layer.update()
            self.assertIs(addon("state").result, shown)
            self.assertIsNotNone(live.session.changed_at)
        finally:
            live.AT_ONCE = was
            live.stop()
