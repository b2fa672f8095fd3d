"""Live: a slider changes, the simulation runs again, and the viewport shows it. *Bake* keeps it, *Discard* leaves no trace.

The keys are read once, when it begins. Every change makes the set-up anew and simulates all frames; the motion is shown
as an action of its own, which takes the place of the animator's until then.

Blender evaluates what changed before it draws, and lets scripts change more just then. What takes but an instant is
simulated there: it is drawn together with the slider that changed it. What takes longer runs on a thread.
"""

import math
import threading
import time

import bpy
import numpy as np
from bpy.app.handlers import persistent

from . import action, chains, overlay, record, run, state, write
from .sinew import Curve

#: What takes longer begins when changes have come to rest for so long: a slider that is dragged does not queue up.
DEBOUNCE = 0.02
#: Seconds that are an instant.
AT_ONCE = 0.15
NAME = "Sinew live"

#: The session under way, or None.
session = None


class Live:
    """One live session: what was read, and how to go back."""

    def __init__(self, context):
        self.run = run.Run(context)
        for _ in self.run.reading():
            pass
        self.before = {}
        #: When a setting changed last, and the first time since what is simulated now; None for not at all.
        self.changed_at = self.changed_first = None
        self.is_running = False
        #: Seconds from the change to the action, and those that the library had of it, the last time.
        self.took = self.needed = 0.0
        self.error = ""
        self._made = set()
        #: Channels that have live keys already: (object, path, index).
        self.channels = set()

    def again(self):
        """Simulates with what the settings are now, here and now, and shows it."""
        self.begin()
        self.run.wait()
        self.end()

    def begin(self):
        """Begins to simulate with what the settings are now, on a thread; what ran before is given up."""
        self._began = self.changed_first or time.perf_counter()
        self.changed_at = self.changed_first = None
        self.run.cancel()
        try:
            self.run.set_up()
        except (ValueError, KeyError, run.SinewError) as error:
            self.error, self.is_running = str(error), False
            return
        self.run.start(every_frame=True)
        self.is_running = True

    def end(self):
        """Shows what came of it; keeps the last motion when it failed."""
        if not self.is_running:
            return
        self.is_running = False
        self.error = "" if self.run.error is None else str(self.run.error)
        if self.run.is_whole:
            self._show()
            self.took = time.perf_counter() - self._began
            self.needed = sum(self.run.report["timings"].values())

    def show(self, recording):
        """Shows what was played by hand instead; the next change of a setting simulates anew."""
        self.run.job, self.run.curves = recording, recording.curves
        self._show()

    def show_frame(self, recording, frame):
        """The same at one frame, counted from the first."""
        FrameWriter(self, recording, frame).write()

    def _show(self):
        writer = LiveWriter(self)
        writer.write()
        self.run.warnings += self.run.report["warnings"] + writer.warnings
        state.keep(self.run, writer)

    def take_over(self, obj):
        """Puts the live action in the place of the object's own, once; gives it.

        Once is by the action itself and not by the object: undo may have put the animator's back, which is never written to.
        """
        data = obj.animation_data
        if data is None or data.action is None or data.action.name not in self._made:
            had = data is not None
            old = data.action if had else None
            muted = [(c.name, None) for c in obj.constraints if not c.mute]
            if obj.type == "ARMATURE":
                muted += [(c.name, b.name) for b in obj.pose.bones for c in b.constraints if not c.mute]
            rigid = obj.rigid_body
            active = rigid is not None and rigid.type == "ACTIVE" and not rigid.kinematic
            self.before[obj.name] = (had, None if old is None else old.name, action.slot_handle(obj), muted, active)
            fresh = old.copy() if old is not None else bpy.data.actions.new(NAME)
            fresh.name = f"{NAME}: {obj.name}"
            action.assign(obj, fresh, action.slot_handle(obj))
            self._made.add(fresh.name)
            self.channels = {c for c in self.channels if c[0] != obj.name}
        return obj.animation_data.action

    def is_shown(self):
        """Whether any object still has a live action: undo takes them away."""
        found = (bpy.data.objects.get(name) for name in self.before)
        actions = (o.animation_data.action for o in found if o is not None and o.animation_data is not None)
        return any(a is not None and a.name in self._made for a in actions)

    def discard(self):
        """Everything as it was before."""
        for name, (had, old, handle, unmuted, active) in self.before.items():
            obj = bpy.data.objects.get(name)
            if obj is None:
                continue
            previous = bpy.data.actions.get(old) if old is not None else None
            if not had:
                obj.animation_data_clear()
            else:
                action.assign(obj, previous, handle)
            if active and obj.rigid_body is not None:
                obj.rigid_body.kinematic = False
                obj.sinew.property_unset("was_active")
            for constraint, bone in unmuted:
                holder = obj if bone is None else obj.pose.bones.get(bone)
                found = holder.constraints.get(constraint) if holder is not None else None
                if found is not None:
                    found.mute = False
        for made in self._made:
            leftover = bpy.data.actions.get(made)
            if leftover is not None:
                bpy.data.actions.remove(leftover)
        self.before, self._made, self.channels = {}, set(), set()
        scene = bpy.data.scenes.get(self.run.scene_name)
        if scene is not None:
            scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)


class LiveWriter(write.Writer):
    """Writes into the live actions instead of new ones, always on the bones themselves."""

    def __init__(self, live):
        super().__init__(live.run, bpy.data.scenes[live.run.scene_name].sinew)
        self._live = live

    def _target(self, obj, _on_bones):
        return obj

    def _write_controls(self, obj, target, simulated):
        # Looking at whether controls reach it would play all frames: that is for the bake.
        yield from self._write_bones(obj, target, simulated)

    def _press(self, _job):
        # Shape keys are for the bake.
        pass

    def _new_action(self, obj):
        self.actions.append(self._live.take_over(obj).name)
        self._open = None

    def _set(self, channels, path, index, frames, values, arriving, leaving, group):
        # Keys that are there already only move.
        channel = (channels.owner, path, index)
        if channel in self._live.channels and arriving is None:
            curve = channels.curves.find(path, index=index)
            if curve is not None and action.rewrite(curve, frames, values):
                return
        super()._set(channels, path, index, frames, values, arriving, leaving, group)
        self._live.channels.add(channel)


class FrameWriter(LiveWriter):
    """Moves the keys of one frame, while a hand plays."""

    def __init__(self, live, recording, frame):
        self._recording, self._frame = recording, frame
        super().__init__(live)

    def _collected(self, _curves):
        now = np.array([self._frame / self.capture.rate])
        found = {}
        for node, (t, q) in self._recording.channels(slice(self._frame, self._frame + 1)).items():
            for name, values in (("translation", t), ("rotation", q)):
                if (node.index, name) in self._recording.wanted:
                    curve = Curve(node.index, name, "linear", now, values)
                    found.setdefault((node.owner, node.bone), {})[name] = curve
        return found

    def _write_bones(self, obj, target, simulated):
        for name in simulated:
            bone = target.pose.bones.get(name)
            # Those that do not take everything over from their parents wait until the hand lets go.
            if bone is not None and not write.is_special(bone.bone):
                path = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
                self._channels(target, self.capture.by_source[(obj.name, name)], bone, path, name)
        yield

    def _keys(self, curve, node, name):
        return None if curve is None else super()._keys(curve, node, name)

    def _set(self, channels, path, index, frames, values, arriving, leaving, group):
        curve = channels.curves.find(path, index=index)
        if curve is not None and self._frame < len(curve.keyframe_points):
            curve.keyframe_points[self._frame].co = (frames[0], values[0])


def mark(_context):
    """A setting changed: simulate again soon."""
    if session is not None:
        session.changed_at = time.perf_counter()
        session.changed_first = session.changed_first or session.changed_at
    elif state.running is None:
        state.reshape()


def tick():
    """Blender's timer: simulates when changes have come to rest."""
    if session is None:
        return None
    if state.dragging:
        return DEBOUNCE
    if session.changed_at is not None and time.perf_counter() - session.changed_at >= DEBOUNCE:
        session.begin()
    if session.is_running and session.run.is_done:
        session.end()
        overlay.refresh(bpy.context)
    return DEBOUNCE / 2


@persistent
def _before_drawing(*_arguments):
    """Blender has evaluated what changed, and evaluates once more what is changed here."""
    current = session
    is_main = threading.current_thread() is threading.main_thread()
    if current is None or current.changed_at is None or state.dragging or not is_main:
        return
    if current.is_running or current.needed > AT_ONCE:
        # The timer sees to it.
        return
    current.begin()
    if current.is_running:
        current.run.wait(AT_ONCE)
        if current.run.is_done:
            current.end()


def stop():
    """Ends the session without a trace."""
    global session
    if session is None:
        return
    ending, session = session, None
    ending.run.cancel()
    ending.discard()
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)


class SINEW_OT_live(bpy.types.Operator):
    """Simulate again at every change of a slider, until Bake or Discard"""

    bl_idname = "sinew.live"
    bl_label = "Live"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        is_free = session is None and state.running is None
        return is_free and context.mode in {"OBJECT", "POSE"} and (context.selected_objects or context.mode == "POSE")

    def execute(self, context):
        global session
        try:
            fresh = Live(context)
        except (ValueError, run.SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        session = fresh
        session.again()
        if session.error:
            self.report({"ERROR"}, session.error)
            stop()
            return {"CANCELLED"}
        chains.note(session.run.chains)
        if not bpy.app.timers.is_registered(tick):
            bpy.app.timers.register(tick, first_interval=DEBOUNCE)
        return {"FINISHED"}


class SINEW_OT_live_bake(bpy.types.Operator):
    """Keep what live shows, with keys as the settings say"""

    bl_idname = "sinew.live_bake"
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, _context):
        return session is not None and not state.dragging

    def execute(self, context):
        done = session.run
        stop()
        try:
            # What was played by hand is kept as it is.
            if not isinstance(done.job, record.Recording):
                done.set_up()
                done.simulate()
            elif context.scene.sinew.keys == "fitted":
                settings = context.scene.sinew
                done.curves = done.job.few_curves(settings.tolerance, math.radians(settings.tolerance_deg))
            writer = done.write()
        except (ValueError, KeyError, run.SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        state.keep(done, writer)
        overlay.refresh(context)
        return {"FINISHED"}


class SINEW_OT_live_discard(bpy.types.Operator):
    """Go back to how it was before Live"""

    bl_idname = "sinew.live_discard"
    bl_label = "Discard"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, _context):
        return session is not None

    def execute(self, context):
        stop()
        state.result = None
        overlay.refresh(context)
        return {"FINISHED"}


@persistent
def _after_undo(*_arguments):
    global session
    if session is None:
        return
    if session.is_shown():
        # A setting went back.
        mark(None)
        return
    # It is all as before already.
    session.run.cancel()
    session = None


@persistent
def _before_saving(*_arguments):
    # A file has what the animator made, not what is only shown.
    stop()


@persistent
def _before_loading(*_arguments):
    global session
    if session is not None:
        session.run.cancel()
    session = None
    state.forget()


CLASSES = (SINEW_OT_live, SINEW_OT_live_bake, SINEW_OT_live_discard)


HANDLERS = (
    (bpy.app.handlers.save_pre, _before_saving),
    (bpy.app.handlers.load_pre, _before_loading),
    (bpy.app.handlers.undo_post, _after_undo),
    (bpy.app.handlers.depsgraph_update_post, _before_drawing),
)


def register():
    for handlers, own in HANDLERS:
        handlers.append(own)


def unregister():
    stop()
    for handlers, own in HANDLERS:
        if own in handlers:
            handlers.remove(own)
