"""Objects and bones whose scale is below 0: results keep their mirror."""

import unittest

import bpy
import numpy as np
import scenes
from harness import addon, played, simulate


class Mirrored(unittest.TestCase):
    """What has a scale below 0 keeps its mirror."""

    def test_along_every_axis(self):
        for scale in ((-1, 1, 1), (1, -1, 1), (-1, -1, 1), (1, 2, -0.5), (-1, -1, -1)):
            for rotates in (True, False):
                obj = scenes.cube(scale)
                child = scenes.box("Child", (0.3, 0.3, 0.3))
                child.parent = obj
                scenes.key(child, "location", {1: (1, 1, 0), 40: (1.5, 1, 0.2)})
                if not rotates:
                    obj.rotation_mode = "QUATERNION"
                scenes.select(obj, child)
                before = [played(obj), played(child)]
                bpy.context.scene.sinew.preset = "subtle"
                simulate()
                for was, now in zip(before, (played(obj), played(child))):
                    # Near its keys, and turned as they are: all of the matrix, its mirror, too.
                    self.assertLess(np.abs(was - now).max(), 0.25, f"{scale}")

    def test_dragged_and_live(self):
        obj = scenes.cube((-1, 1, 1))
        before = played(obj)
        bpy.context.scene.sinew.preset = "subtle"
        bpy.ops.sinew.live()
        live = addon("live")
        self.assertLess(np.abs(before - played(obj)).max(), 0.25)
        hand = addon("drag").Hand(live.session, 5)
        hand.release()
        hand.show()
        hand.close()
        self.assertLess(np.abs(before - played(obj)).max(), 0.25)
        bpy.ops.sinew.live_discard()

    def test_bones(self):
        rig = scenes.figure(30)
        rig.pose.bones["forearm.L"].scale = (-1, 1, 1)
        before = played(rig, "hand.L")
        bpy.context.scene.sinew.preset = "subtle"
        simulate()
        self.assertLess(np.abs(before - played(rig, "hand.L")).max(), 0.25)
