"""The button: reads and simulates while the window stays alive, ESC cancels, one step to undo."""

import time

import bpy
from bpy.props import BoolProperty, IntProperty

from . import live, overlay, run, state

#: Events that go on to Blender while a job runs: looking around. Everything else waits, undo above all.
NAVIGATION = {
    "MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE", "WHEELINMOUSE", "WHEELOUTMOUSE", "MOUSEMOVE",
    "TRACKPADPAN", "TRACKPADZOOM", "NDOF_MOTION", "NUMPAD_0", "NUMPAD_1", "NUMPAD_3", "NUMPAD_5", "NUMPAD_7",
    "NUMPAD_PERIOD", "TIMER_REPORT", "WINDOW_DEACTIVATE", "INBETWEEN_MOUSEMOVE",
}  # fmt: skip
#: Seconds between ticks, and how much of a tick reading may take at least and at most.
TICK, BUSY, BUSY_MAX = 1 / 50, 0.015, 0.2
#: Seconds between changes of the words, and between drawings of the panel, which may mean drawing the viewport under it.
WORDS, PANEL = 0.25, 1.0


class SINEW_OT_simulate(bpy.types.Operator):
    """Simulate what is selected and put the motion into a new action. ESC cancels"""

    bl_idname = "sinew.simulate"
    bl_label = "Simulate"
    bl_options = {"REGISTER", "UNDO"}

    use_range: BoolProperty(name="Own range", default=False, description="Other frames than the scene's", options=set())
    first: IntProperty(name="First", default=1, options=set())
    last: IntProperty(name="Last", default=250, options=set())

    @classmethod
    def poll(cls, context):
        is_free = live.session is None and context.mode in {"OBJECT", "POSE"}
        return is_free and (context.selected_objects or context.mode == "POSE")

    def _frames(self):
        return (self.first, self.last) if self.use_range else None

    def execute(self, context):
        try:
            done, writer = run.whole(context, self._frames())
        except (ValueError, run.SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return self._finish(context, done, writer)

    def invoke(self, context, _event):
        if state.running is not None:
            self.report({"ERROR"}, "A simulation is under way; ESC over the viewport cancels it")
            return {"CANCELLED"}
        try:
            self._run = run.Run(context, self._frames())
        except (ValueError, run.SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        state.running = self._run
        state.ticks = []
        self._reading = self._run.reading()
        self._left_at = self._words_at = self._panel_at = 0.0
        manager = context.window_manager
        manager.progress_begin(0, 100)
        self._timer = manager.event_timer_add(TICK, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and event.value == "PRESS":
            self._end(context)
            self.report({"INFO"}, "Cancelled; nothing was changed")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"} if event.type in NAVIGATION else {"RUNNING_MODAL"}
        state.ticks.append((time.perf_counter(), self._run.stage))
        try:
            return self._tick(context)
        except (ValueError, ReferenceError, KeyError, run.SinewError) as error:
            self._end(context)
            self.report({"ERROR"}, _words(error))
            return {"CANCELLED"}

    def _tick(self, context):
        current = self._run
        if current is not state.running:
            # Another file was opened.
            self._end(context)
            return {"CANCELLED"}
        if self._reading is not None:
            now = time.perf_counter()
            until = now + BUSY
            if current.capture.is_drawn and self._left_at:
                # Where drawing is slow, as much time goes into reading.
                until = now + min(BUSY_MAX, max(BUSY, now - self._left_at))
            while time.perf_counter() < until:
                if next(self._reading, None) is None:
                    self._reading = None
                    current.start()
                    break
        elif current.is_done:
            self._end(context)
            if current.error is not None:
                raise current.error if isinstance(current.error, run.SinewError) else ValueError(str(current.error))
            return self._finish(context, current, current.write())
        self._left_at = time.perf_counter()
        if self._left_at - self._words_at > WORDS:
            self._words_at = self._left_at
            self._show(context, current)
        return {"RUNNING_MODAL"}

    def _show(self, context, current):
        count = len(current.capture.frames)
        if current.stage == "read":
            text = f"Sinew: reading frame {current.read} of {count}"
        else:
            text = f"Sinew: simulating frame {current.simulated} of {count}"
        context.workspace.status_text_set(f"{text}    ESC: cancel")
        context.window_manager.progress_update(int(100 * current.share))
        state.progress = (current.share, text)
        if self._words_at - self._panel_at < PANEL:
            return
        self._panel_at = self._words_at
        for area in context.screen.areas:
            if area.type == "VIEW_3D":
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()

    def _end(self, context):
        if self._reading is not None:
            self._reading.close()
            self._reading = None
        self._run.cancel()
        context.window_manager.progress_end()
        context.window_manager.event_timer_remove(self._timer)
        context.workspace.status_text_set(None)
        state.running = None
        state.progress = None

    def cancel(self, context):
        """Blender ends the operator: the window closes, or another file is opened."""
        self._end(context)

    def _finish(self, context, done, writer):
        state.keep(done, writer)
        overlay.refresh(context)
        if not writer.actions:
            self.report({"WARNING"}, state.result.warnings[-1])
            return {"CANCELLED"}
        report = done.report
        text = f"{len(report['bodies'])} bodies, {report['frames']} frames, {report['keys']} keys"
        if done.warnings:
            self.report({"WARNING"}, f"{text}; {len(done.warnings)} warnings, in the Sinew panel")
        else:
            self.report({"INFO"}, text)
        return {"FINISHED"}


class SINEW_OT_check(bpy.types.Operator):
    """Look for what would go wrong, such as objects that overlap at the first frame, without changing anything"""

    bl_idname = "sinew.check"
    bl_label = "Check"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context):
        return SINEW_OT_simulate.poll(context)

    def execute(self, context):
        first, last = run.frame_range(context.scene)
        try:
            found = run.Run(context, (first, last))
            for _ in found.reading():
                pass
            found.simulate(frames=(0, 1))
        except (ValueError, run.SinewError) as error:
            state.complain([str(error)], [])
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        warnings = found.warnings + found.report["warnings"]
        state.complain(warnings, found.capture.nodes)
        state.look_at(found)
        overlay.refresh(context)
        self.report({"WARNING" if warnings else "INFO"}, f"{len(warnings) or 'no'} warnings")
        return {"FINISHED"}


class SINEW_OT_select(bpy.types.Operator):
    """Select the objects that this warning names"""

    bl_idname = "sinew.select"
    bl_label = "Select"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context):
        named = state.warnings[self.index].objects if self.index < len(state.warnings) else []
        found = [o for o in (context.view_layer.objects.get(n) for n in named) if o is not None]
        if not found:
            self.report({"INFO"}, "It names no object of this view layer")
            return {"CANCELLED"}
        for obj in context.view_layer.objects:
            obj.select_set(obj in found)
        context.view_layer.objects.active = found[0]
        return {"FINISHED"}


def _words(error):
    if isinstance(error, (ReferenceError, KeyError)):
        return f"something that is simulated is gone ({error}); nothing was changed"
    return str(error)


CLASSES = (SINEW_OT_simulate, SINEW_OT_check, SINEW_OT_select)
