"""Dragging by hand in live mode: press on something that is simulated, pull, and physics answers while time goes on.

What is pulled is recorded into the live motion, from the frame at which it was taken hold of to the last.
"""

import time

import bpy
import numpy as np
from bpy_extras import view3d_utils

from . import live, matrix, overlay, record, run, simulate, state
from .sinew import Session

#: A hand pulls with as much as this many times the weight of everything that it might have to lift.
STRONG = 20.0
GRAVITY = 9.81
#: How near to an object's origin or to a bone a press must be where the ray meets no mesh, in pixels.
NEAR = 60.0
#: A bone that only turns is held no nearer to its head than this share of its length; nearer, it is held by its tail.
ARM = 0.2
#: A frame is not played faster than it can be shown, but a window that is slow does not slow down physics further.
FRAMES_PER_TICK = 4


class Hand:
    """A session that is played from the current frame, with a hand in it."""

    def __init__(self, current, frame):
        self.live = current
        run_ = current.run
        self.capture = run_.capture
        self.frame = int(np.clip(frame - self.capture.first, 0, len(self.capture.frames) - 1))
        with run_.made() as setup:
            self.session = Session(run_.scene, setup)
        self.session.seek(self.session.range[0] + self.frame / self.capture.rate)
        job = run_.job
        self.recording = job if isinstance(job, record.Recording) else record.Recording(self.capture, job)
        self.recording.take(self.frame, self.session)
        self.drag = self.body = self._grabbed = None
        self.bodies = {}
        #: Those that only turn.
        self.turning = set()
        parts = {body["node"]: body.get("simulate") for body in run_.setup["bodies"]}
        by_index = {node.index: node for node in self.capture.nodes}
        for body, index in enumerate(self.session.body_nodes):
            node = by_index.get(index)
            if node is not None:
                self.bodies[(node.owner, node.bone)] = body
                if parts.get(self.capture.reference(node)) == "orientation":
                    self.turning.add(body)

    @property
    def last(self):
        """The frame that is played last, counted from the first."""
        return len(self.capture.frames) - 1

    def hold(self, owner, bone, point):
        """Takes hold of an object or bone at a point of the world; gives the point, which is the tail of a bone that only
        turns and was to be held by its head. Raises where nothing could be pulled."""
        report = self.live.run.report
        weight = sum(body["mass_kg"] for body in report["bodies"]) * GRAVITY
        self.body = self.bodies[(owner, bone)]
        head, tail = self.ends(owner, bone)
        if self.body in self.turning and np.linalg.norm(point - head) < ARM * np.linalg.norm(tail - head):
            point = tail
        self.drag = self.session.drag(self.body, tuple(point), strength=STRONG * weight, in_world=True)
        turn = matrix.conjugate(self.session.poses[self.body, 3:])
        self._grabbed = matrix.rotate(turn, (np.asarray(point) - head)[None])
        return tuple(float(p) for p in point)

    def ends(self, owner, bone):
        """Where a bone begins and ends; of an object, its origin twice."""
        pose = self.session.poses[self.bodies[(owner, bone)]]
        length = 0.0
        if bone is not None:
            obj = bpy.data.objects[owner]
            length = obj.pose.bones[bone].length * obj.matrix_world.to_scale()[1]
        # The frame of a bone's node is turned, so that Z is along it.
        return pose[:3], pose[:3] + matrix.rotate(pose[3:], np.array([[0.0, 0.0, length]]))[0]

    @property
    def grabbed(self):
        """Where the point is now that was taken hold of."""
        pose = self.session.poses[self.body]
        return tuple((pose[:3] + matrix.rotate(pose[3:], self._grabbed)[0]).tolist())

    def pull(self, point):
        """Where the hand is to be at the next frame."""
        if self.drag is not None:
            self.drag.move(point)

    def step(self):
        """Plays one frame; whether there are more."""
        if self.frame >= self.last:
            return False
        self.session.step_frame()
        self.frame += 1
        self.recording.take(self.frame, self.session)
        return self.frame < self.last

    def release(self):
        """Lets go, and plays on to the end."""
        if self.drag is not None:
            self.drag.end()
            self.drag = None
        while self.step():
            pass

    def show(self):
        """Gives the live action what was recorded."""
        self.live.show(self.recording)

    def show_frame(self):
        """The same of the current frame alone, which costs little."""
        self.live.show_frame(self.recording, self.frame)

    def close(self):
        self.session.close()


def picked(context, hand, region, coordinates):
    """What a press on the viewport takes hold of: (object, bone), and the point; None for nothing."""
    view = context.space_data.region_3d if context.space_data else region.data
    origin = view3d_utils.region_2d_to_origin_3d(region, view, coordinates)
    towards = view3d_utils.region_2d_to_vector_3d(region, view, coordinates)
    depsgraph = context.evaluated_depsgraph_get()
    hit, point, _, _, obj, _ = context.scene.ray_cast(depsgraph, origin, towards)
    if hit:
        found = _body_of(hand, obj, point)
        if found is not None:
            return found, tuple(point)
    return _nearest_on_screen(hand, region, view, coordinates)


def _body_of(hand, obj, point):
    """The body that a mesh belongs to: itself, what it hangs on, or the nearest bone that bends it."""
    armature = hand.capture.skins.get(obj.name)
    if armature is not None:
        bones = [key for key in hand.bodies if key[0] == armature and key[1] is not None]
        return min(bones, key=lambda key: _nearest(*hand.ends(*key), np.asarray(point))[1], default=None)
    node = hand.capture.by_source.get((obj.name, None))
    while node is not None:
        if (node.owner, node.bone) in hand.bodies:
            return node.owner, node.bone
        node = node.parent
    return None


def _nearest(begin, end, point):
    """How far along a line the nearest of its points is, 0 to 1, and how far away that is."""
    along = end - begin
    share = np.clip(np.dot(point - begin, along) / max(float(np.dot(along, along)), 1e-12), 0.0, 1.0)
    return share, float(np.linalg.norm(begin + share * along - point))


def _nearest_on_screen(hand, region, view, coordinates):
    best, away = None, NEAR
    for key in hand.bodies:
        ends = hand.ends(*key)
        shown = [view3d_utils.location_3d_to_region_2d(region, view, end) for end in ends]
        if any(place is None for place in shown):
            continue
        share, far = _nearest(*(np.array(place) for place in shown), np.asarray(coordinates))
        if far < away:
            best, away = (key, tuple(ends[0] + share * (ends[1] - ends[0]))), far
    return best


class SINEW_OT_live_drag(bpy.types.Operator):
    """Pull at what is simulated with the mouse, from the current frame on, and record it. ESC ends"""

    bl_idname = "sinew.live_drag"
    bl_label = "Drag"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, _context):
        return live.session is not None and not live.session.is_running and not state.dragging

    def invoke(self, context, _event):
        self._hand = None
        state.dragging = True
        self._timer = context.window_manager.event_timer_add(1 / live.session.run.capture.rate, window=context.window)
        context.workspace.status_text_set("Sinew: press on something and pull; physics plays on.    ESC, Enter: done")
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if live.session is None:
            # Undone, discarded, or another file.
            self._end(context, False)
            return {"CANCELLED"}
        if event.type in {"ESC", "RET", "NUMPAD_ENTER"} and event.value == "PRESS":
            self._end(context)
            return {"FINISHED"}
        try:
            if event.type == "LEFTMOUSE" and event.value == "PRESS":
                return self._press(context, event)
            if event.type == "LEFTMOUSE" and event.value == "RELEASE" and self._hand is not None:
                self._let_go(context)
            elif event.type in {"MOUSEMOVE", "INBETWEEN_MOUSEMOVE"} and self._hand is not None:
                self._to = self._point(event)
            elif event.type == "TIMER" and self._hand is not None:
                self._tick(context)
            else:
                return {"PASS_THROUGH"} if event.type in simulate.NAVIGATION else {"RUNNING_MODAL"}
        except (ValueError, KeyError, run.SinewError) as error:
            self._end(context, False)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"RUNNING_MODAL"}

    def _press(self, context, event):
        area, region = _under(context, event)
        if region is None:
            # The panel: its buttons work as ever.
            return {"PASS_THROUGH"}
        hand = Hand(live.session, context.scene.frame_current)
        coordinates = (event.mouse_x - region.x, event.mouse_y - region.y)
        with context.temp_override(area=area, region=region, space_data=area.spaces.active):
            found = picked(bpy.context, hand, region, coordinates)
        if found is None:
            hand.close()
            self.report({"INFO"}, "nothing that is simulated is there")
            return {"RUNNING_MODAL"}
        (owner, bone), point = found
        try:
            point = hand.hold(owner, bone, point)
        except run.SinewError as error:
            hand.close()
            self.report({"WARNING"}, str(error))
            return {"RUNNING_MODAL"}
        self._hand, self._region, self._view, self._held = hand, region, area.spaces.active.region_3d, point
        # The mouse may have been beside it, or at the other end of a bone: what counts is how far it moves.
        self._beside = np.zeros(3)
        self._beside = np.asarray(point) - self._point(event)
        self._to, self._from = point, time.perf_counter() - hand.frame / hand.capture.rate
        state.held = (point, point)
        return {"RUNNING_MODAL"}

    def _point(self, event):
        """Where the hand is for the mouse, as deep in the view as what was taken hold of."""
        at = (event.mouse_x - self._region.x, event.mouse_y - self._region.y)
        place = view3d_utils.region_2d_to_location_3d(self._region, self._view, at, self._held)
        return tuple((np.array(place) + self._beside).tolist())

    def _tick(self, context):
        hand = self._hand
        hand.pull(self._to)
        due = (time.perf_counter() - self._from) * hand.capture.rate
        played = 0
        while hand.frame < due and played < FRAMES_PER_TICK:
            if not hand.step():
                self._let_go(context)
                return
            played += 1
        if played:
            # What could not be played in time is not caught up with.
            self._from = max(self._from, time.perf_counter() - (hand.frame + 1) / hand.capture.rate)
            hand.show_frame()
            state.held = (hand.grabbed, self._to)
            context.scene.frame_set(hand.capture.first + hand.frame)

    def _let_go(self, context):
        hand, self._hand = self._hand, None
        at = hand.frame
        hand.release()
        hand.show()
        hand.close()
        state.held = None
        context.scene.frame_set(hand.capture.first + at)
        overlay.refresh(context)

    def _end(self, context, keep=True):
        if self._hand is not None:
            if keep:
                self._let_go(context)
            else:
                self._hand.close()
                self._hand = None
        context.window_manager.event_timer_remove(self._timer)
        context.workspace.status_text_set(None)
        state.dragging, state.held = False, None
        overlay.refresh(context)

    def cancel(self, context):
        """Blender ends the operator: the window closes, or another file is opened."""
        self._end(context, False)


def _under(context, event):
    """The viewport under the mouse, and its region; None over anything else."""
    for area in context.screen.areas:
        if area.type != "VIEW_3D":
            continue
        inside = None
        for region in area.regions:
            x, y = event.mouse_x - region.x, event.mouse_y - region.y
            if 0 <= x < region.width and 0 <= y < region.height and region.width > 1:
                if region.type != "WINDOW":
                    # A sidebar over the view.
                    return area, None
                inside = region
        if inside is not None:
            return area, inside
    return None, None


CLASSES = (SINEW_OT_live_drag,)
