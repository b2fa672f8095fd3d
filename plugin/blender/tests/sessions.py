"""Random sessions: an animator who presses everything in any order, and whose keys are the same ever after.

A model beside Blender knows which keys the session itself has set, over undo and redo, too. After every action the animator's
own curves are compared with it: every key, handle, interpolation and modifier.
"""

import contextlib
import copy
import io
import os
import random

import bpy
import scenes

ACTIONS = 100
#: What the objects with keys are called at first, and what they have in `who` ever after.
ANIMATED = scenes.ANIMATED


def described(curve):
    """Everything of a curve that an animator could miss."""
    keys = [(tuple(k.co), tuple(k.handle_left), tuple(k.handle_right), k.interpolation, k.handle_left_type,
             k.handle_right_type, k.easing, k.back, k.amplitude, k.period, k.type) for k in curve.keyframe_points]  # fmt: skip
    modifiers = []
    for modifier in curve.modifiers:
        fields = (p.identifier for p in modifier.bl_rna.properties if p.identifier not in ("rna_type", "active"))
        modifiers.append([(f, str(getattr(modifier, f))) for f in fields])
    return keys, modifiers, curve.extrapolation, curve.mute


#: Blender 4.2.0 as a module crashes by itself in one of two sessions with undo, at the update after it, wherever data was removed
#: before: sessions go without undo there. 3.4, 4.5 and 5.0 do not.
UNDOES = bpy.app.version[:2] != (4, 2)


class Session:
    """One animator, in the scene `animated` of scenes.py; `addon` gives a module of the add-on."""

    def __init__(self, seed, addon, folder):
        self.random, self.addon = random.Random(seed), addon
        self.file = os.path.join(folder, "session.blend")
        self.seed, self.done = seed, []
        bpy.context.preferences.edit.undo_steps = 256
        bpy.ops.ed.undo_push(message="begin")
        model = {"curves": {who: self.curves(who) for who in ANIMATED}, "set": {who: {} for who in ANIMATED}, "live": None}
        #: What the animator's keys must be at every step that undo goes back to.
        self.models, self.at = [model], 0

    # What is there ---------------------------------------------------------------------------------------------------

    def obj(self, who):
        return next(o for o in bpy.data.objects if o.get("who") == who and o.parent is None)

    def own(self, who):
        """The animator's own action, wherever it is."""
        found = self.obj(who).animation_data
        found = found.action if found is not None else None
        while found is not None and found.sinew_origin.is_result:
            assert found.sinew_origin.source is not None, f"{found.name} does not know where it came from"
            found = found.sinew_origin.source
        return found

    def curves(self, who):
        found = self.own(who)
        return {(c.data_path, c.array_index): described(c) for c in self.all_curves(found)} if found else {}

    @staticmethod
    def all_curves(found):
        if hasattr(found, "fcurves"):
            return list(found.fcurves)
        return [c for layer in found.layers for strip in layer.strips for bag in strip.channelbags for c in bag.fcurves]

    @property
    def model(self):
        return self.models[self.at]

    @property
    def is_live(self):
        return self.addon("live").session is not None

    def check(self):
        for who in ANIMATED:
            own = self.own(who)
            assert own is not None, f"{who} has lost its action"
            assert own.users > 0, f"nobody holds on to {own.name}"
            now, wanted, keyed = self.curves(who), self.model["curves"][who], self.model["set"][who]
            for where, curve in wanted.items():
                if where[0] not in {path for path, _ in keyed}:
                    assert now.get(where) == curve, f"{who}, {where}: {curve} became {now.get(where)}"
            unknown = [where for where in now if where not in wanted and where[0] not in {path for path, _ in keyed}]
            assert not unknown, f"{who}: curves that nobody made: {unknown}"
            if not self.is_live:
                self.check_set(who, now, wanted, keyed)
        for found in bpy.data.actions:
            assert found.name.count("(Sinew)") <= 1, f"names pile up: {found.name}"
            assert self.is_live or not found.sinew_origin.is_live, f"{found.name} is left over"
        muted = self.obj("Arm").pose.bones["lower"].constraints[0].mute
        shown = self.obj("Arm").animation_data.action
        assert not muted or shown.sinew_origin.is_result, "a constraint is still muted"

    def check_set(self, who, now, wanted, keyed):
        """Keys that the session set are there, in the animator's action or in the result, with those that were there before."""
        shown = {(c.data_path, c.array_index): described(c) for c in self.all_curves(self.obj(who).animation_data.action)}
        for (path, frame), value in keyed.items():
            for curves in (now, shown):
                found = [k[0][1] for k in curves.get((path, 0), [[]])[0] if abs(k[0][0] - frame) < 1e-3]
                if any(abs(v - value) < 1e-4 for v in found):
                    break
            else:
                raise AssertionError(f"{who}: the key of {path} at {frame} ({value}) is lost")
        for where, (keys, *_) in wanted.items():
            frames = {round(k[0][0], 3) for k in now.get(where, [[]])[0]}
            assert {round(k[0][0], 3) for k in keys} <= frames, f"{who}: keys of {where} are lost"

    # What is done ----------------------------------------------------------------------------------------------------

    def play(self):
        """All of it; what is wrong is said with everything that was done before."""
        for _ in range(ACTIONS):
            self.step()
        self.addon("live").stop()

    def step(self):
        """Does one thing, and looks at the keys."""
        name = self.random.choice(sorted(n for n in dir(self) if n.startswith("do_")))
        self.done.append(name)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                is_done = getattr(self, name)()
            if is_done is None:
                self.push(name)
            self.check()
        except Exception as error:
            said = ", ".join(n[3:] for n in self.done)
            raise AssertionError(f"session {self.seed}, after {said}: {error}") from error

    def push(self, name, keeps=True):
        """One step to undo, in Blender and in the model. Where live mode is over by it, keys that were set in it are there,
        or not."""
        # In a window Blender itself begins anew with a file that was opened, and lets nobody else until it is shown.
        if bpy.ops.ed.undo_push.poll():
            bpy.ops.ed.undo_push(message=name)
        del self.models[self.at + 1 :]
        fresh = copy.deepcopy(self.model)
        if not self.is_live and fresh["live"] is not None:
            fresh["set"], fresh["live"] = fresh["set"] if keeps else fresh["live"], None
        self.models.append(fresh)
        self.at += 1

    def pick(self):
        """Selects some, or all."""
        chosen = self.random.sample(ANIMATED, self.random.randint(1, len(ANIMATED)))
        scenes.select(*[self.obj(who) for who in chosen])

    def do_simulate(self):
        if self.is_live:
            return False
        self.pick()
        bpy.ops.sinew.simulate("EXEC_DEFAULT", False)

    do_simulate_again = do_simulate

    def do_live(self):
        if self.is_live:
            return False
        self.pick()
        if bpy.ops.sinew.live("EXEC_DEFAULT", False) == {"FINISHED"}:
            self.push("live")
            self.models[self.at]["live"] = copy.deepcopy(self.model["set"])
        return False

    def do_bake(self):
        if not self.is_live:
            return False
        bpy.ops.sinew.live_bake("EXEC_DEFAULT", False)

    def do_discard(self):
        if not self.is_live:
            return False
        bpy.ops.sinew.live_discard("EXEC_DEFAULT", False)
        self.push("discard", keeps=False)
        return False

    def do_restore(self):
        if self.is_live:
            return False
        self.pick()
        if not bpy.ops.sinew.restore.poll():
            return False
        bpy.ops.sinew.restore("EXEC_DEFAULT", False)

    def do_undo(self):
        if self.at == 0 or not UNDOES:
            return False
        bpy.ops.ed.undo()
        self.at -= 1
        return self.has_moved()

    do_undo_again = do_undo

    def do_redo(self):
        if self.at + 1 >= len(self.models) or not UNDOES:
            return False
        bpy.ops.ed.redo()
        self.at += 1
        return self.has_moved()

    def has_moved(self):
        """Where undo comes back to what live mode showed, and that is over, it is as before live mode."""
        if not self.is_live and self.model["live"] is not None:
            self.model["set"] = copy.deepcopy(self.model["live"])
        return False

    def do_rename_object(self):
        self.obj(self.random.choice(ANIMATED)).name = self.random.choice(("Hero", "Box", "Thing", "Cube", "Arm"))

    def do_rename_armature(self):
        self.obj("Arm").data.name = self.random.choice(("Rig", "Bones", "Arm"))

    def do_rename_action(self):
        self.own(self.random.choice(ANIMATED)).name = self.random.choice(("Walk", "Jump", "Idle (Sinew)", "CubeAction"))

    def do_rename_result(self):
        self.obj(self.random.choice(ANIMATED)).animation_data.action.name = self.random.choice(("Mine", "Walk", "Take"))

    def do_change_a_setting(self):
        settings, own = bpy.context.scene.sinew, self.obj(self.random.choice(ANIMATED)).sinew
        choice = self.random.randint(0, 3)
        if choice == 0:
            settings.looseness = self.random.uniform(0.1, 0.8)
        elif choice == 1:
            settings.preset = self.random.choice(("automatic", "subtle", "weighty", "limp"))
        elif choice == 2:
            settings.keys = self.random.choice(("fitted", "every_frame"))
        else:
            own.strength = self.random.uniform(0.3, 2.0)
        if self.is_live:
            self.addon("live").session.again()

    def do_change_where_it_goes(self):
        settings = bpy.context.scene.sinew
        settings.result = self.random.choice(("action", "layer"))
        settings.skeleton = self.random.choice(("bones", "controls", "copy"))

    def do_key_a_slider(self):
        who, frame, value = self.random.choice(ANIMATED), self.random.randint(1, 20), self.random.uniform(0.2, 1.0)
        obj = self.obj(who)
        obj.sinew.blend = value
        obj.keyframe_insert("sinew.blend", frame=frame)
        return self.has_keyed(who, "sinew.blend", frame, value)

    def do_key_a_place(self):
        who, frame, value = self.random.choice(ANIMATED[:2]), self.random.randint(2, 19), self.random.uniform(-1, 1)
        obj = self.obj(who)
        found = obj.animation_data.action.sinew_origin
        if found.is_result and not found.is_live:
            # Motion that is keyed on a result is the result's.
            return False
        bpy.context.scene.frame_set(frame)
        obj.location.x = value
        obj.keyframe_insert("location", frame=frame)
        return self.has_keyed(who, "location", frame, value)

    def has_keyed(self, who, path, frame, value):
        self.push("key")
        self.model["set"][who][(path, frame)] = value
        if self.model["live"] is not None and not self.obj(who).animation_data.action.sinew_origin.is_live:
            # What live mode does not show keeps its keys whatever becomes of it.
            self.model["live"][who][(path, frame)] = value
        return False

    def do_save(self):
        bpy.ops.wm.save_as_mainfile(filepath=self.file)
        return False if self.model["live"] is None else None

    def do_reload(self):
        bpy.ops.wm.save_as_mainfile(filepath=self.file)
        bpy.ops.wm.open_mainfile(filepath=self.file)
        self.push("opened")
        # What was done before cannot be undone any more.
        self.models, self.at = [self.model], 0
        return False
