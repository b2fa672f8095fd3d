"""Live: a slider changes, the simulation runs again, and the viewport shows it. *Bake* keeps it, *Discard* leaves no trace.

The keys are read once, when it begins. Every change makes the set-up anew and simulates all frames; the motion is shown
as an action of its own, which takes the place of the animator's until then and remembers it as a result does. So whatever
becomes of the session, undo above all, the way back is in the file. Keys that are set meanwhile are the animator's: *Bake* and
saving bring them into the action that they belong to.

Blender evaluates what changed before it draws, and lets scripts change more just then. What takes but an instant is
simulated there: it is drawn together with the slider that changed it. What takes longer runs on a thread.
"""

import math
import threading
import time

import bpy
import numpy as np
from bpy.app.handlers import persistent

from . import action, back, chains, edits, origin, overlay, record, run, state, write
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
        #: When a setting changed last, and the first time since what is simulated now; None for not at all.
        self.changed_at = self.changed_first = None
        self.is_running = False
        #: Seconds from the change to the action, and those that the library had of it, the last time.
        self.took = self.needed = 0.0
        self.error = ""
        #: Channels that have live keys already: (object, path, index).
        self.channels = set()
        #: Whether a hand moves keys one by one, which are not the animator's then.
        self.is_played = False

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
        if not self.is_played:
            hold()
        self.is_played = True
        FrameWriter(self, recording, frame).write()

    def _show(self):
        if not self.is_played:
            hold()
        writer = LiveWriter(self)
        writer.write()
        writer.note()
        self.is_played = False
        self.run.warnings += self.run.report["warnings"] + writer.warnings
        state.keep(self.run, writer)

    def take_over(self, obj, bones):
        """Puts the live action in the place of the object's own, once; gives it.

        Once is by the action itself and not by the object: undo may have put the animator's back, which is never written to.
        """
        old = origin.own_action(obj)
        if origin.is_live(old):
            return old
        had_data, handle = obj.animation_data is not None, action.slot_handle(obj)
        rested = origin.channels_of(obj, bones)
        fresh = action.new_like(obj, f"{NAME}: {obj.name}")
        origin.remember(fresh, old, had_data, handle, rested)
        fresh.sinew_origin.is_live = True
        origin.seal(obj, fresh, ())
        for copy in back.copies(obj):
            back.follow(copy, obj)
        self.channels = {c for c in self.channels if c[0] != obj.name}
        return fresh

    def leave(self, keeps):
        """Back to what was there before, with or without the keys that were set meanwhile; whether some of them move
        anything."""
        is_moved = False
        for obj in shown():
            is_moved |= _leave(obj, keeps, self.is_played)
        _purge()
        self.channels = set()
        scene = bpy.data.scenes.get(self.run.scene_name)
        if scene is not None:
            scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        return is_moved


def shown():
    """All objects that show live motion."""
    return [o for o in bpy.data.objects if o.library is None and origin.is_live(origin.own_action(o))]


def hold():
    """Notes keys that were set, before what has them is written over."""
    for obj in shown():
        edits.hold(obj, origin.own_action(obj))


def _leave(obj, keeps, is_played=False):
    live = origin.own_action(obj)
    keys = edits.keys_set(obj, live, is_played) if keeps else []
    words = back.step(obj, carries=keeps)
    if words:
        # What it showed is all that there is.
        live.sinew_origin.is_live = False
    edits.give(obj, keys)
    return bool(keys)


def _purge():
    if back.is_undoing:
        return
    for found in [a for a in bpy.data.actions if origin.is_live(a) and not a.users]:
        bpy.data.actions.remove(found)


class LiveWriter(write.Writer):
    """Writes into the live actions instead of new ones, always on the bones themselves."""

    def __init__(self, live):
        super().__init__(live.run, bpy.data.scenes[live.run.scene_name].sinew)
        self._live = live
        #: Values by object and name of a curve.
        self._values = {}

    def note(self):
        """Notes what was written: other keys are the animator's."""
        for owner, values in self._values.items():
            found = origin.own_action(bpy.data.objects[owner])
            origin.note(found, written=sorted({*origin.notes(found).get("written", ()), *values}))
            edits.note_shown(found, self.capture.frames, values)

    def _make_way(self, _obj):
        # What was there before comes back when it is over.
        pass

    def _target(self, obj, _on_bones):
        return obj

    def _write_controls(self, obj, target, simulated):
        # Looking at whether controls reach it would play all frames: that is for the bake.
        yield from self._write_bones(obj, target, simulated)

    def _press(self, _job):
        # Shape keys are for the bake.
        pass

    def _new_action(self, obj):
        bones = [b for b in self._bones_of.get(obj.name, ()) if b is not None and b in obj.pose.bones]
        self.actions.append(self._live.take_over(obj, bones).name)
        self._open = None

    def _set(self, channels, path, index, frames, values, arriving, leaving, group):
        if arriving is None and len(values) == len(self.capture.frames):
            self._values.setdefault(channels.owner, {})[f"{path}\n{index}"] = values
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


def stop(keeps=False):
    """Ends the session: without a trace, or with the keys that were set in it; whether some of those move anything."""
    global session
    if session is None:
        return False
    ending, session = session, None
    ending.run.cancel()
    is_moved = ending.leave(keeps)
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)
    return is_moved


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
    """Keep what live shows, with keys as the settings say, and the keys that were set meanwhile"""

    bl_idname = "sinew.live_bake"
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, _context):
        return session is not None and not state.dragging

    def execute(self, context):
        done, objects = session.run, shown()
        is_moved = stop(keeps=True)
        try:
            is_played = isinstance(done.job, record.Recording)
            if not done.is_there() or is_moved and not is_played:
                # Names or keys are others than those that were read.
                done = run.again(context, objects, done)
            # What was played by hand is kept as it is.
            elif not is_played:
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
    """Go back to how it was before Live; keys that were set meanwhile go, too"""

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
    if session is not None and shown():
        # A setting went back.
        mark(None)
        return
    if session is not None:
        # It is all as before already.
        session.run.cancel()
        session = None
    back.is_undoing = True
    try:
        _tidy()
    finally:
        back.is_undoing = False
    if state.result is not None and any(name not in bpy.data.actions for name in state.result.actions):
        state.result = None


@persistent
def _tidy(*_arguments):
    """Where undo, or a file that was saved by itself, brings back what a session showed that is over: the animator's keys."""
    for obj in shown():
        _leave(obj, False)
    _purge()
    for found in bpy.data.actions:
        if origin.is_result(found):
            origin.keep(found.sinew_origin.source)


@persistent
def _before_saving(*_arguments):
    # A file has what the animator made, not what is only shown.
    stop(keeps=True)


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
    (bpy.app.handlers.load_post, _tidy),
    (bpy.app.handlers.undo_post, _after_undo),
    (bpy.app.handlers.redo_post, _after_undo),
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
