"""The button: reads and simulates while the window stays alive, ESC cancels, one step to undo."""

import time

import bpy
from bpy.props import BoolProperty, IntProperty

from . import chains, live, overlay, run, state, trouble

#: Events that go on to Blender while a job runs: looking around. Everything else waits, undo above all.
NAVIGATION = {
    "MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE", "WHEELINMOUSE", "WHEELOUTMOUSE", "MOUSEMOVE",
    "TRACKPADPAN", "TRACKPADZOOM", "NDOF_MOTION", "NUMPAD_0", "NUMPAD_1", "NUMPAD_3", "NUMPAD_5", "NUMPAD_7",
    "NUMPAD_PERIOD", "TIMER_REPORT", "WINDOW_DEACTIVATE", "INBETWEEN_MOUSEMOVE",
}  # fmt: skip
#: Seconds between ticks, and how much of one reading and writing may take; where every frame that is read is drawn, as
#: much as drawing does, up to the last. Only what cannot be cut up takes longer: a frame of a heavy scene.
TICK, BUSY, BUSY_DRAWN = 1 / 50, 0.015, 0.03
#: Seconds between changes of the words and of the panel, and the share of the time that drawing them may take: where a
#: processor draws, that would hold up everything else.
WORDS, DRAWING = 0.25, 0.1


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
        # Those of the run before may not be true any more.
        state.complain([], "this run")
        self._has_told = False
        #: What is done in pieces at the moment: reading, then writing; None while a thread simulates.
        self._pieces = self._run.pieces = self._run.reading()
        self._left_at = self._words_at = 0.0
        self._words_every, self._was_drawn = WORDS, False
        manager = context.window_manager
        manager.progress_begin(0, 100)
        self._timer = manager.event_timer_add(TICK, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and event.value == "PRESS":
            return self._escape(context)
        if event.type != "TIMER":
            is_let_through = event.type in NAVIGATION or self._is_click_on_panel(context, event)
            return {"PASS_THROUGH"} if is_let_through else {"RUNNING_MODAL"}
        began, stage = time.perf_counter(), self._run.stage
        try:
            return self._tick(context)
        except (ValueError, ReferenceError, KeyError, run.SinewError) as error:
            self._end(context)
            is_written = self._run.stage in ("write", "look")
            what_now = "undo takes back what was written" if is_written else "nothing was changed"
            self.report({"ERROR"}, _words(error, what_now))
            return {"FINISHED"} if is_written else {"CANCELLED"}
        finally:
            state.ticks.append((began, stage, time.perf_counter() - began))

    def _is_click_on_panel(self, context, event):
        """Warnings are there to be clicked while a thread simulates; frames that are played to be read would be disturbed."""
        if event.type != "LEFTMOUSE" or self._run.stage != "simulate":
            return False
        bars = (r for a in context.screen.areas if a.type == "VIEW_3D" for r in a.regions if r.type == "UI")
        x, y = event.mouse_x, event.mouse_y
        return any(r.x <= x < r.x + r.width and r.y <= y < r.y + r.height for r in bars)

    def _escape(self, context):
        current = self._run
        if current.stage == "write":
            # It is over in a moment, and half of it is worth nothing.
            return {"RUNNING_MODAL"}
        self._end(context)
        if current.stage == "look":
            return self._finish(context, current, current.written())
        self.report({"INFO"}, "Cancelled; nothing was changed")
        return {"CANCELLED"}

    def _tick(self, context):
        current = self._run
        if current is not state.running:
            # Another file was opened.
            self._end(context)
            return {"CANCELLED"}
        outside = time.perf_counter() - self._left_at if self._left_at else 0.0
        if self._was_drawn:
            self._words_every = max(WORDS, (outside - TICK) / DRAWING)
        if self._pieces is None and current.is_done:
            if current.error is not None:
                raise current.error if isinstance(current.error, run.SinewError) else ValueError(str(current.error))
            self._pieces = current.pieces = current.writing()
            current.stage = "write"
        if self._pieces is not None and self._work(outside):
            self._pieces = None
            if current.stage == "look":
                self._end(context)
                return self._finish(context, current, current.written())
            current.start()
        if self._pieces is None:
            self._tell(current)
        self._left_at = time.perf_counter()
        self._was_drawn = self._left_at - self._words_at > self._words_every
        if self._was_drawn:
            self._words_at = self._left_at
            self._show(context, current)
        return {"RUNNING_MODAL"}

    def _tell(self, current):
        """What is wrong at the first frame, as soon as it is known: the panel has it while the run goes on."""
        current.look_early()
        if current.early is not None and not self._has_told:
            self._has_told, self._words_at = True, 0.0
            state.complain(current.warnings + current.early, "this run", current)

    def _work(self, outside):
        """Does some pieces, as many as a tick has room for, which Blender left alone for so long; whether they were the
        last."""
        now = time.perf_counter()
        busy = BUSY
        if self._run.stage == "write":
            # Blender draws new keys after every tick: no more time goes into that than into writing.
            busy = max(BUSY, outside)
        elif self._run.capture.is_drawn:
            busy = min(BUSY_DRAWN, max(BUSY, outside))
        until = now + busy
        while True:
            if next(self._pieces, self) is self:
                return True
            before, now = now, time.perf_counter()
            # Another one that takes as long must fit in.
            if now + (now - before) > until:
                return False

    def _show(self, context, current):
        count = len(current.capture.frames)
        text, hint = {
            "read": (f"reading frame {current.read} of {count}", "ESC: cancel"),
            "simulate": (f"simulating frame {current.simulated} of {count}", "ESC: cancel"),
            "write": ("writing", ""),
            "look": (f"looking at frame {current.looked} of {count}", "ESC: keep it without"),
        }[current.stage]
        warned = trouble.summary(state.warnings)
        context.workspace.status_text_set(f"Sinew: {text}    {hint}" + (f"    {warned} (see Result)" if warned else ""))
        context.window_manager.progress_update(int(100 * current.share))
        state.progress = (current.share, text, hint)
        for area in context.screen.areas:
            if area.type == "VIEW_3D":
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()

    def _end(self, context):
        self._pieces = None
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
        chains.note(done.chains)
        overlay.refresh(context)
        if not writer.actions:
            self.report({"WARNING"}, state.result.warnings[-1])
            return {"CANCELLED"}
        self.report({"WARNING" if state.warnings else "INFO"}, words(done.report))
        return {"FINISHED"}


class SINEW_OT_check(bpy.types.Operator):
    """Look for what would go wrong, such as objects that overlap at the first frame, without changing anything"""

    bl_idname = "sinew.check"
    bl_label = "Check"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context):
        return state.running is None and SINEW_OT_simulate.poll(context)

    def execute(self, context):
        try:
            found = run.Run(context)
            for _ in found.reading():
                pass
            warnings = found.warnings + found.check()
        except (ValueError, run.SinewError) as error:
            state.complain([str(error)], "the last check")
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        state.complain(warnings, "the last check", found)
        state.look_at(found)
        overlay.refresh(context)
        self.report({"WARNING" if warnings else "INFO"}, trouble.summary(state.warnings) or "no warnings")
        return {"FINISHED"}


class SINEW_OT_select(bpy.types.Operator):
    """Select the objects that this warning names"""

    bl_idname = "sinew.select"
    bl_label = "Select"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(options={"HIDDEN", "SKIP_SAVE"})

    @classmethod
    def description(cls, _context, properties):
        """All the words of the warning: a line of the panel has room for some."""
        if properties.index >= len(state.warnings):
            return cls.__doc__
        return f"{state.warnings[properties.index].text}. Click to select what it names"

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


def words(report):
    """What a finished run says of itself: what was done, and what is wrong."""
    bodies = len(report["bodies"])
    text = f"Simulated {report['frames']} frames: {bodies} {'body' if bodies == 1 else 'bodies'}, {report['keys']} keys"
    warned = trouble.summary(state.warnings)
    return f"{text}; {warned} (see Result)" if warned else text


def _words(error, what_now):
    if isinstance(error, (ReferenceError, KeyError)):
        return f"something that is simulated is gone ({error}); {what_now}"
    return str(error)


CLASSES = (SINEW_OT_simulate, SINEW_OT_check, SINEW_OT_select)
