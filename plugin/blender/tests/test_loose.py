"""Looseness: one slider from the keys to a ragdoll, and presets as named points on it."""

import os
import unittest

import bpy
import numpy as np
import scenes
from harness import FOLDER, addon, simulate


class Loose(unittest.TestCase):
    """Presets are named points on the slider of looseness."""

    def test_one_moves_the_other(self):
        scenes.cube()
        for own in (bpy.context.scene.sinew, bpy.context.object.sinew):
            for name, at in addon("properties").POINTS.items():
                own.preset = name
                self.assertAlmostEqual(own.looseness, at, places=6)
                own.looseness = 0.52
                self.assertEqual(own.preset, "custom")
                own.looseness = at
                self.assertEqual(own.preset, name)
            own.preset = "automatic"
            self.assertFalse(own.is_property_set("looseness"))
            self.assertEqual(own.preset, "automatic")

    def test_the_words_and_points_are_those_of_the_command(self):
        sinew = addon("sinew")
        made = sinew.setup.PRESETS
        for name in addon("properties").POINTS:
            self.assertIn(name, made)

    def test_it_reaches_the_job(self):
        obj = scenes.cube()
        still = {}
        for at in (0.0, 0.2, 0.5, 0.7, 0.9):
            bpy.context.scene.sinew.looseness = at
            result = simulate()
            still[at] = float(np.abs(result.ways[0] - result.keys[0]).max())
        far = list(still.values())
        self.assertLess(far[0], 0.02)
        self.assertEqual(far, sorted(far), still)
        self.assertGreater(far[-1], 10 * far[1], still)
        # Of one body.
        bpy.context.scene.sinew.preset = "automatic"
        obj.sinew.looseness = 0.7
        result = simulate()
        own = float(np.abs(result.ways[0] - result.keys[0]).max())
        self.assertAlmostEqual(own, still[0.7], places=3)

    def test_by_hand_it_is_the_same(self):
        scenes.cube()
        bpy.context.scene.sinew.looseness = 0.7
        bpy.ops.sinew.live()
        live = addon("live")
        before = live.session.run.job.poses.copy()
        hand = addon("drag").Hand(live.session, 1)
        hand.release()
        np.testing.assert_allclose(hand.recording.poses, before, atol=1e-3)
        hand.close()
        live.stop()

    def test_out_and_in_again(self):
        scenes.cube()
        path = os.path.join(FOLDER, "loose.sinew.json")
        bpy.context.scene.sinew.looseness = 0.7
        first = simulate().ways[0].copy()
        bpy.ops.sinew.export_setup(filepath=path)
        bpy.context.scene.sinew.preset = "automatic"
        bpy.ops.sinew.import_setup(filepath=path)
        self.assertAlmostEqual(bpy.context.scene.sinew.looseness, 0.7, places=6)
        np.testing.assert_allclose(simulate().ways[0], first, atol=1e-6)
