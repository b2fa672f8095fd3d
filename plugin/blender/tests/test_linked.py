"""Characters that are linked from another file and overridden, as studios have them."""

import hashlib
import os
import pathlib
import unittest

import bpy
import numpy as np
import scenes
from harness import FOLDER, addon, simulate, snapshot

LIBRARY, SHOT = (os.path.join(FOLDER, name) for name in ("library.blend", "shot.blend"))
#: What is set on the override: of the object, and of a bone.
ON_OBJECT = {"friction": 0.25, "preset": "limp"}
ON_BONE = {"strength": 0.125, "behaviour": "guided", "size": (0.5, 0.25, 0.125), "touched": True}


def digest():
    return hashlib.sha256(pathlib.Path(LIBRARY).read_bytes()).hexdigest()


def own(name):
    """The override of that name: the linked original has the same."""
    return next(o for o in bpy.data.objects if o.name == name and o.override_library is not None)


def original(name):
    return next(o for o in bpy.data.objects if o.name == name and o.library is not None)


def shown(frame):
    """Where all bones of the override are shown."""
    bpy.context.scene.frame_set(frame)
    rig = own("Figure").evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([rig.matrix_world @ bone.matrix for bone in rig.pose.bones])


def settings(holder, wanted):
    return {name: tuple(v) if hasattr(v := getattr(holder.sinew, name), "__len__") and not isinstance(v, str) else v
            for name in wanted}  # fmt: skip


class Overridden(unittest.TestCase):
    """A figure with its skin, linked as a collection; `has_settings` says whether its own file has some already."""

    def link(self, has_settings=False):
        rig = scenes.figure(40)
        if has_settings:
            rig.sinew.bounce = rig.pose.bones["tail1"].sinew.bounce = 0.5
        character = bpy.data.collections.new("Character")
        bpy.context.scene.collection.children.link(character)
        for obj in list(bpy.context.scene.collection.objects):
            character.objects.link(obj)
            bpy.context.scene.collection.objects.unlink(obj)
        bpy.ops.wm.save_as_mainfile(filepath=LIBRARY)
        self.digest = digest()
        scenes.empty_file(40)
        with bpy.data.libraries.load(LIBRARY, link=True) as (_, into):
            into.collections = ["Character"]
        bpy.context.scene.collection.children.link(into.collections[0])
        into.collections[0].override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        rig = own("Figure")
        for holder, wanted in ((rig, ON_OBJECT), (rig.pose.bones["tail1"], ON_BONE)):
            for name, value in wanted.items():
                setattr(holder.sinew, name, value)
        scenes.select(rig)
        return rig

    def save_and_open(self):
        bpy.ops.wm.save_as_mainfile(filepath=SHOT)
        bpy.ops.wm.open_mainfile(filepath=SHOT)

    def check_settings(self):
        rig = own("Figure")
        self.assertEqual(settings(rig, ON_OBJECT), ON_OBJECT)
        self.assertEqual(settings(rig.pose.bones["tail1"], ON_BONE), ON_BONE)
        # What was not touched is automatic, and so is the original.
        self.assertFalse(rig.sinew.is_property_set("density"))
        self.assertFalse(rig.pose.bones["tail2"].sinew.is_property_set("strength"))
        for name in ON_OBJECT:
            self.assertFalse(original("Figure").sinew.is_property_set(name))

    def test_settings_and_result_are_in_the_shot_and_the_library_is_as_it_was(self):
        for has_settings in (False, True):
            with self.subTest(has_settings=has_settings):
                self.link(has_settings)
                simulate()
                rig = own("Figure")
                self.assertEqual(rig.animation_data.action.name, "FigureAction (Sinew)")
                self.assertIsNone(rig.animation_data.action.library)
                self.assertEqual(original("Figure").animation_data.action.name, "FigureAction")
                before, poses = snapshot(), shown(30)
                self.save_and_open()
                self.check_settings()
                bpy.context.scene.frame_set(before["frame"])
                self.assertEqual(snapshot(), before)
                np.testing.assert_allclose(shown(30), poses, atol=1e-6)
                self.assertEqual(digest(), self.digest)

    def test_opened_again_it_simulates_the_same_from_its_keys(self):
        self.link()
        simulate()
        poses = shown(30)
        self.save_and_open()
        scenes.select(own("Figure"))
        simulate()
        np.testing.assert_allclose(shown(30), poses, atol=1e-5)
        # And once more saved, with what changed meanwhile.
        own("Figure").pose.bones["tail1"].sinew.strength = 0.5
        own("Figure").sinew.property_unset("friction")
        self.save_and_open()
        self.assertEqual(own("Figure").pose.bones["tail1"].sinew.strength, 0.5)
        self.assertFalse(own("Figure").sinew.is_property_set("friction"))

    def test_restored_it_has_the_linked_keys_or_those_with_what_was_keyed_since(self):
        for is_keyed in (False, True):
            self.link()
            keyed = shown(30)
            simulate()
            if is_keyed:
                own("Figure").sinew.bounce = 0.5
                own("Figure").keyframe_insert("sinew.bounce", frame=3)
            self.save_and_open()
            scenes.select(own("Figure"))
            bpy.ops.sinew.restore()
            np.testing.assert_allclose(shown(30), keyed, atol=1e-6)
            found = own("Figure").animation_data.action
            if is_keyed:
                self.assertIsNone(found.library)
                self.assertIsNotNone(addon("action").curves(own("Figure")).find("sinew.bounce"))
            else:
                self.assertEqual(found, original("Figure").animation_data.action)
            self.assertEqual(digest(), self.digest)

    def test_live_and_undo(self):
        self.link()
        before = snapshot()
        bpy.ops.sinew.live()
        own("Figure").pose.bones["tail2"].sinew.strength = 0.5
        addon("live").session.again()
        self.assertEqual(addon("live").session.error, "")
        # Live mode takes the animator's action away, but not in the file.
        self.save_and_open()
        self.check_bone("tail2", 0.5)
        self.check_settings_of_saved(before)

    def check_bone(self, bone, strength):
        self.assertEqual(own("Figure").pose.bones[bone].sinew.strength, strength)

    def check_settings_of_saved(self, before):
        after = snapshot()
        self.assertEqual(after["Figure"], before["Figure"])
        self.assertEqual(after["actions"], before["actions"])


class Plain(unittest.TestCase):
    """Linked and not overridden: what cannot be written is said."""

    def test_linked_and_not_overridden(self):
        scenes.cube()
        path = os.path.join(FOLDER, "linked.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        scenes.empty_file(40)
        with bpy.data.libraries.load(path, link=True) as (_, into):
            into.objects = ["Cube"]
        bpy.context.scene.collection.objects.link(into.objects[0])
        scenes.select(into.objects[0])
        before = snapshot()
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.sinew.simulate()
        self.assertIn("linked from linked.blend", str(caught.exception))
        self.assertIn("library override", str(caught.exception))
        self.assertEqual(snapshot(), before)
        # Beside something that can be, it is in the way, and a warning says so.
        own = scenes.box("Own", place=(0, 5, 1))
        scenes.key(own, "location", {1: (0, 5, 1), 40: (3, 5, 1)})
        scenes.select(own, into.objects[0])
        simulate()
        self.assertTrue(any("linked from" in w.text for w in addon("state").warnings))
        self.assertEqual(sorted(a.name for a in bpy.data.actions), ["CubeAction", "OwnAction", "OwnAction (Sinew)"])
