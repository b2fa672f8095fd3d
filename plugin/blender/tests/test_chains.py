"""Chains of bones: found by the library, made by hand, what their sliders do, and that they stay as they were set."""

import json
import os
import unittest

import bpy
import numpy as np
import scenes
from harness import FOLDER, addon, run_whole, simulate

TAIL = [f"tail{i}" for i in range(1, 7)]


def pose_mode(rig, *bones):
    """In pose mode with some bones selected."""
    if rig.mode != "POSE":
        bpy.ops.object.mode_set(mode="POSE")
    for bone in rig.pose.bones:
        (bone if bpy.app.version >= (5, 0, 0) else bone.bone).select = bone.name in bones
    rig.data.bones.active = rig.data.bones[bones[0]]


def selected(rig):
    return [b.name for b in rig.pose.bones if (b if bpy.app.version >= (5, 0, 0) else b.bone).select]


def tip(rig, frame, bone="tail6"):
    bpy.context.scene.frame_set(frame)
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array(shown.matrix_world @ shown.pose.bones[bone].tail)


def swing(rig, bone="tail6"):
    """How far the end of a bone is from its keys at most, in metres."""
    keys = np.array([tip(rig, f, bone) for f in range(1, 41, 3)])
    simulate()
    found = np.array([tip(rig, f, bone) for f in range(1, 41, 3)])
    bpy.ops.ed.undo()
    return np.linalg.norm(found - keys, axis=1).max()


def setup():
    run = addon("run").Run(bpy.context)
    for _ in run.reading():
        pass
    return run.setup


class Found(unittest.TestCase):
    """Chains that the library finds."""

    def test_they_are_listed_with_their_bones(self):
        rig = scenes.figure(40)
        self.assertEqual(bpy.ops.sinew.find_chains(), {"FINISHED"})
        names = [item.name for item in rig.sinew_chains]
        # As the library has them in its set-up, the root as well.
        with addon("sinew").Setup.automatic(self.scene()) as automatic:
            groups = [group["name"] for group in json.loads(automatic.to_json())["groups"]]
        self.assertEqual(names, groups)
        self.assertIn("tail", names)
        self.assertIn("root", names)
        rig.sinew_chain_index = names.index("tail")
        pose_mode(rig, "head")
        bpy.ops.sinew.select_chain()
        self.assertEqual(selected(rig), TAIL)
        # Asked again, nothing is there twice, and nothing that was set is lost.
        rig.sinew_chains["tail"].strength = 0.5
        bpy.ops.sinew.find_chains()
        self.assertEqual([item.name for item in rig.sinew_chains], names)
        self.assertEqual(rig.sinew_chains["tail"].strength, 0.5)
        self.assertFalse(rig.sinew_chains["root"].is_property_set("strength"))

    def scene(self):
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        return run.scene

    def test_a_run_lists_them_too(self):
        rig = scenes.figure(20)
        simulate()
        self.assertIn("tail", rig.sinew_chains)

    def test_a_factor_multiplies_what_the_library_has(self):
        rig = scenes.figure(40)
        before = setup()
        bpy.ops.sinew.find_chains()
        self.assertEqual(setup(), before, "what is only listed changes nothing")
        rig.sinew_chains["tail"].strength = 0.25
        found = setup()
        groups = {group["name"]: group for group in found["groups"]}
        was = {group["name"]: group for group in before["groups"]}
        self.assertEqual(groups["tail"], was["tail"])
        self.assertEqual(groups["Blender chain: Figure/tail"], {"name": "Blender chain: Figure/tail", "strength": 0.25})
        inside = [b["node"] for b in found["bodies"] if "Blender chain: Figure/tail" in b.get("groups", ())]
        self.assertEqual(inside, TAIL)

    def test_less_strength_swings_further_and_no_physics_is_the_keys(self):
        rig = scenes.figure(40)
        bpy.ops.sinew.find_chains()
        bpy.context.scene.sinew.keys = "every_frame"
        bpy.ops.ed.undo_push(message="before")
        usual = swing(rig)
        rig = bpy.data.objects["Figure"]
        rig.sinew_chains["tail"].strength = 0.1
        bpy.ops.ed.undo_push(message="softer")
        soft = swing(rig)
        self.assertGreater(soft, 1.5 * usual)
        rig = bpy.data.objects["Figure"]
        for chain in rig.sinew_chains:
            chain.property_unset("strength")
            chain.blend = 0.0
        bpy.ops.ed.undo_push(message="keys")
        self.assertLess(swing(rig), 1e-3)

    def test_keyed_factors_are_keys(self):
        rig = scenes.figure(40)
        bpy.ops.sinew.find_chains()
        item = rig.sinew_chains["tail"]
        for frame, value in ((1, 1.0), (20, 0.0)):
            item.blend = value
            item.keyframe_insert("blend", frame=frame)
        group = next(g for g in setup()["groups"] if g["name"] == "Blender chain: Figure/tail")
        keys = group["blend"]["keys"]
        self.assertEqual((keys[0], keys[-1][1]), ([0.0, 1.0], 0.0))
        # Another is forgotten: the keys stay with theirs.
        index = rig.sinew_chains.find("tail")
        rig.sinew_chain_index = 0
        self.assertNotEqual(index, 0)
        bpy.ops.sinew.remove_chain()
        self.assertEqual(rig.sinew_chains.find("tail"), index - 1)
        again = next(g for g in setup()["groups"] if g["name"] == "Blender chain: Figure/tail")
        self.assertEqual(again, group)

    def test_live_follows_the_slider(self):
        rig = scenes.figure(40)
        bpy.ops.sinew.live()
        live = addon("live")
        try:
            first = [way.copy() for way in addon("state").result.ways]
            rig.sinew_chains["tail"].strength = 0.1
            self.assertIsNotNone(live.session.changed_at)
            live.session.again()
            self.assertEqual(live.session.error, "")
            moved = max(np.abs(a - b).max() for a, b in zip(first, addon("state").result.ways))
            self.assertGreater(moved, 1e-3)
        finally:
            live.stop()


class Made(unittest.TestCase):
    """Chains that are made of selected bones."""

    def make(self, *bones, name=""):
        rig = scenes.figure(40)
        pose_mode(rig, *bones)
        self.assertEqual(bpy.ops.sinew.make_chain(name=name), {"FINISHED"})
        return rig

    def test_it_has_a_slider_and_its_bones(self):
        rig = self.make("neck", "head", name="nod")
        self.assertEqual([b.name for b in rig.pose.bones if b.sinew.chain == "nod"], ["neck", "head"])
        rig.sinew_chains["nod"].damping = 0.5
        found = setup()
        inside = [b["node"] for b in found["bodies"] if "Blender chain: Figure/nod" in b.get("groups", ())]
        self.assertEqual(inside, ["neck", "head"])
        bpy.ops.sinew.remove_chain()
        self.assertEqual(addon("chains").made(rig), {})
        self.assertNotIn("nod", rig.sinew_chains)

    def test_a_name_that_is_taken_gets_a_number(self):
        rig = self.make("neck", name="nod")
        pose_mode(rig, "ear")
        bpy.ops.sinew.make_chain(name="nod")
        self.assertEqual(rig.pose.bones["ear"].sinew.chain, "nod 2")
        bpy.ops.sinew.find_chains()
        pose_mode(rig, "chest")
        bpy.ops.sinew.make_chain(name="tail")
        self.assertEqual(rig.pose.bones["chest"].sinew.chain, "tail 2")

    def test_bones_that_sinew_leaves_alone_are_simulated(self):
        rig = scenes.figure(40)
        rig.data.bones["chest.weight"].use_deform = False
        skin = bpy.data.objects["Skin"]
        skin.vertex_groups.remove(skin.vertex_groups["chest.weight"])
        self.assertNotIn("chest.weight", [b["node"] for b in setup()["bodies"]])
        pose_mode(rig, "chest.weight")
        bpy.ops.sinew.make_chain(name="medal")
        body = next(b for b in setup()["bodies"] if b["node"] == "chest.weight")
        self.assertEqual((body["behaviour"], body["simulate"]), ("guided", "orientation"))
        self.assertIn("Blender chain: Figure/medal", body["groups"])
        run_whole()

    def test_automatic_again_takes_a_bone_out_and_copying_does_not_put_one_in(self):
        rig = self.make("neck", "head", name="nod")
        pose_mode(rig, "neck", "ear")
        rig.pose.bones["neck"].sinew.strength = 0.5
        bpy.ops.sinew.copy()
        self.assertEqual((rig.pose.bones["ear"].sinew.strength, rig.pose.bones["ear"].sinew.chain), (0.5, ""))
        bpy.ops.sinew.reset()
        self.assertEqual(addon("chains").made(rig), {"nod": ["head"]})


class Kept(unittest.TestCase):
    """Out and in again, copied, and saved."""

    def chained(self):
        rig = scenes.figure(40)
        bpy.ops.sinew.find_chains()
        rig.sinew_chains["tail"].strength, rig.sinew_chains["left arm"].blend = 0.25, 0.5
        pose_mode(rig, "neck", "head")
        bpy.ops.sinew.make_chain(name="nod")
        rig.sinew_chains["nod"].damping = 0.5
        bpy.ops.object.mode_set(mode="OBJECT")
        return rig

    def forget(self, rig):
        rig.sinew_chains.clear()
        for bone in rig.pose.bones:
            bone.sinew.property_unset("chain")

    def check(self, rig):
        self.assertEqual(addon("chains").made(rig), {"nod": ["neck", "head"]})
        touched = {(i.name, n): getattr(i, n) for i in rig.sinew_chains for n in addon("chains").FACTORS
                   if i.is_property_set(n)}  # fmt: skip
        self.assertEqual(touched, {("tail", "strength"): 0.25, ("left arm", "blend"): 0.5, ("nod", "damping"): 0.5})

    def test_out_and_in_again(self):
        rig = self.chained()
        item = rig.sinew_chains["root"]
        for frame, value in ((1, 1.0), (25, 0.5)):
            item.strength = value
            item.keyframe_insert("strength", frame=frame)
        path = os.path.join(FOLDER, "chained.sinew.json")
        before = [way.copy() for way in simulate().ways]
        bpy.ops.sinew.export_setup(filepath=path)
        self.forget(rig)
        curves = addon("action").curves(rig)
        for curve in [c for c in curves if c.data_path.startswith("sinew_chains")]:
            curves.remove(curve)
        self.assertEqual(bpy.ops.sinew.import_setup(filepath=path), {"FINISHED"})
        index = rig.sinew_chains.find("root")
        curve = addon("action").curves(rig).find(f"sinew_chains[{index}].strength")
        self.assertAlmostEqual(curve.evaluate(25), 0.5, places=5)
        for a, b in zip(before, simulate().ways):
            np.testing.assert_allclose(a, b, atol=1e-5)
        rig.sinew_chains["root"].property_unset("strength")
        self.check(rig)

    def test_a_group_that_was_changed_in_the_file_is_a_factor(self):
        rig = scenes.figure(40)
        path = os.path.join(FOLDER, "edited.sinew.json")
        bpy.ops.sinew.export_setup(filepath=path)
        with open(path) as file:
            found = json.load(file)
        tail = next(g for g in found["groups"] if g["name"] == "tail")
        tail["strength"] = 0.25 * tail.get("strength", 1.0)
        found["groups"].append({"name": "nod", "damping": 0.5})
        for body in found["bodies"]:
            if body["node"] in ("neck", "head"):
                body["groups"].append("nod")
        with open(path, "w") as file:
            json.dump(found, file)
        bpy.ops.sinew.import_setup(filepath=path)
        self.assertAlmostEqual(rig.sinew_chains["tail"].strength, 0.25, places=6)
        self.assertEqual(rig.sinew_chains["nod"].damping, 0.5)
        self.assertEqual(addon("chains").made(rig), {"nod": ["neck", "head"]})
        self.assertNotIn("spine", [i.name for i in rig.sinew_chains if i.is_property_set("strength")])

    def test_copied_to_another_armature(self):
        rig = self.chained()
        other = rig.copy()
        bpy.context.scene.collection.objects.link(other)
        self.forget(other)
        scenes.select(rig, other)
        bpy.ops.sinew.copy_chains()
        self.check(other)

    def test_saved_and_opened(self):
        self.chained()
        path = os.path.join(FOLDER, "chained.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.check(bpy.data.objects["Figure"])

    def test_on_an_override_of_a_linked_figure(self):
        library, shot = (os.path.join(FOLDER, name) for name in ("chain-library.blend", "chain-shot.blend"))
        scenes.figure(20)
        character = bpy.data.collections.new("Character")
        bpy.context.scene.collection.children.link(character)
        for obj in list(bpy.context.scene.collection.objects):
            character.objects.link(obj)
            bpy.context.scene.collection.objects.unlink(obj)
        bpy.ops.wm.save_as_mainfile(filepath=library)
        scenes.empty_file(20)
        with bpy.data.libraries.load(library, link=True) as (_, into):
            into.collections = ["Character"]
        bpy.context.scene.collection.children.link(into.collections[0])
        into.collections[0].override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        own = lambda: next(o for o in bpy.data.objects if o.name == "Figure" and o.override_library is not None)  # noqa: E731
        scenes.select(own())
        bpy.ops.sinew.find_chains()
        own().sinew_chains["tail"].strength, own().sinew_chains["left arm"].blend = 0.25, 0.5
        for bone in ("neck", "head"):
            own().pose.bones[bone].sinew.chain = "nod"
        addon("chains").item_of(own(), "nod").damping = 0.5
        bpy.ops.wm.save_as_mainfile(filepath=shot)
        bpy.ops.wm.open_mainfile(filepath=shot)
        self.check(own())
