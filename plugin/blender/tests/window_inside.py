"""Runs inside Blender's window: installs the add-on and answers the questions of window.py, on a timer."""

import json
import os
import pathlib
import sys
import time

import addon_utils
import bpy

ARCHIVE, FOLDER = sys.argv[sys.argv.index("--") + 1 :][:2]
FOLDER = pathlib.Path(FOLDER)

bpy.ops.preferences.addon_install(filepath=ARCHIVE, overwrite=True)
addon_utils.enable("sinew_blender")
from sinew_blender import (  # noqa: E402, F401  (some are asked for)
    chain_panel, gizmos, joint_panel, live, overlay, panel, record, simulate, state,
)  # fmt: skip

COUNTS = {"drawn": 0, "pressed": 0, "chains": 0, "joints": 0}


# Blender looks at how many parameters these have, so each is written out.
_draw, _invoke = panel.SINEW_PT_simulate.draw, simulate.SINEW_OT_simulate.invoke
_escape = simulate.SINEW_OT_simulate._escape
_draw_chains, _draw_joints = chain_panel.SINEW_PT_chains.draw, joint_panel.SINEW_PT_joints.draw


def draw(self, context):
    COUNTS["drawn"] += 1
    return _draw(self, context)


def invoke(self, context, event):
    COUNTS["pressed"] += 1
    return _invoke(self, context, event)


def escape(self, context):
    ESCAPES.append((len(state.ticks), state.running.simulated, len(state.running.capture.frames)))
    return _escape(self, context)


# These are counted once nothing went wrong in them: Blender only notes what did.
def draw_chains(self, context):
    _draw_chains(self, context)
    COUNTS["chains"] += 1


def draw_joints(self, context):
    _draw_joints(self, context)
    COUNTS["joints"] += 1


chain_panel.SINEW_PT_chains.draw, joint_panel.SINEW_PT_joints.draw = draw_chains, draw_joints
panel.SINEW_PT_simulate.draw, simulate.SINEW_OT_simulate.invoke = draw, invoke
simulate.SINEW_OT_simulate._escape = escape
#: At every ESC: ticks until then, frames simulated, frames in all.
ESCAPES = []


def escaped():
    """Ticks since the last ESC, and how many frames were simulated then, of how many."""
    ticks, frames, of = ESCAPES[-1]
    return len(state.ticks) - ticks, frames, of


def drawn(what="drawn"):
    return COUNTS[what]


def presses():
    return COUNTS["pressed"]


def actions():
    return sorted(a.name for a in bpy.data.actions)


def shown_actions():
    """The actions that objects have."""
    return sorted(o.animation_data.action.name for o in bpy.data.objects if o.animation_data and o.animation_data.action)


def sidebar():
    """Place and size of the sidebar; opens it."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.spaces[0].show_region_ui = True
                region = next(r for r in area.regions if r.type == "UI")
                return region.x, region.y, region.width, region.height
    raise LookupError("no viewport")


def look(place, distance):
    """Turns no view, only moves it."""
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    view = area.spaces[0].region_3d
    view.view_location, view.view_distance = place, distance
    view.update()
    area.tag_redraw()
    return tuple(view.view_location), view.view_distance


def on_screen(place):
    """A place in the viewport in pixels of the window, from its lower left corner."""
    from bpy_extras import view3d_utils

    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "WINDOW")
    x, y = view3d_utils.location_3d_to_region_2d(region, area.spaces[0].region_3d, place)
    return region.x + x, region.y + y


def place_of(obj, bone):
    """Where the middle of a bone is, as it is shown."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    found = bpy.data.objects[obj].evaluated_get(depsgraph)
    bone = found.pose.bones[bone]
    return tuple(found.matrix_world @ ((bone.head + bone.tail) / 2))


def pulled():
    """Whether a hand holds on to something, or did: a slow machine may come to the last frame meanwhile."""
    return state.held is not None or isinstance(live.session.run.job, record.Recording)


def weaken(rig, strength):
    """Gives all bones of a rig a share of their strength."""
    for bone in bpy.data.objects[rig].pose.bones:
        bone.sinew.strength = strength


def hinge():
    """A hinge with limits between the bat and the ball, selected."""
    empty = bpy.data.objects.new("Hinge", None)
    bpy.context.scene.collection.objects.link(empty)
    empty.location = (-0.5, 0.0, 1.0)
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj == empty)
    bpy.context.view_layer.objects.active = empty
    bpy.ops.rigidbody.constraint_add(type="HINGE")
    joint = empty.rigid_body_constraint
    joint.object1, joint.object2 = bpy.data.objects["Bat"], bpy.data.objects["Ball"]
    joint.use_limit_ang_z, joint.limit_ang_z_lower, joint.limit_ang_z_upper = True, -0.6, 1.2


def free(*names):
    """Lets go of some objects: a file that was made without the add-on has none of its settings."""
    for name in names:
        bpy.data.objects[name].sinew.behaviour = "free"


def selected():
    return sorted(obj.name for obj in bpy.context.selected_objects)


def join():
    """Joins the lamp to the hand by a hinge with limits, and selects it."""
    bpy.ops.sinew.join(kind="pin")
    lamp = bpy.data.objects["Lamp"]
    item = lamp.sinew_joints[0]
    item.pivot, item.axis = bpy.data.objects["Pivot"], "Y"
    item.turn_limited, item.turn_min, item.turn_max = True, -0.6, 1.2
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj == lamp)
    bpy.context.view_layer.objects.active = lamp


def set_joint(**settings):
    """Settings of the lamp's joint."""
    for name, value in settings.items():
        setattr(bpy.data.objects["Lamp"].sinew_joints[0], name, value)


def show_alone(cls):
    """Leaves one of our panels in the sidebar: the others would push it out of a picture."""
    for other in (*panel.CLASSES, *chain_panel.CLASSES, *joint_panel.CLASSES, *panel.LAST):
        if issubclass(other, bpy.types.Panel) and other.is_registered:
            bpy.utils.unregister_class(other)
    bpy.utils.register_class(cls)


def count_ticks(stage):
    """How often the timer of the last run ticked while it was at this."""
    return sum(its == stage for _, its, _ in state.ticks)


def ticks(stage):
    """Of one stage of the last run: ticks per second, the longest time between two, and the usual and the longest tick."""
    found = [(at, took) for at, its, took in state.ticks if its == stage]
    times, lengths = [at for at, _ in found], sorted(took for _, took in found)
    gaps = [b - a for a, b in zip(times, times[1:])]
    return len(gaps) / sum(gaps), max(gaps), lengths[len(lengths) // 2], lengths[-1]


#: When the viewport was drawn, and whether what live mode had last was in it: since `redraw` or `slide`.
DRAWN, ASKED = [], {"at": 0.0, "result": None}


def watch():
    """Notes every drawing of the viewport from now on."""

    def after():
        DRAWN.append((time.perf_counter(), state.result is not ASKED["result"] and live.session.changed_at is None))

    bpy.types.SpaceView3D.draw_handler_add(after, (), "WINDOW", "POST_PIXEL")


def redraw():
    """Draws the viewport again, as it is."""
    DRAWN.clear()
    ASKED.update(at=time.perf_counter(), result=state.result)
    overlay.refresh(bpy.context)


def slide(rig, strength):
    """Changes a setting of all bones, and notes when."""
    DRAWN.clear()
    ASKED.update(at=time.perf_counter(), result=state.result)
    weaken(rig, strength)


def drawn_after():
    """Seconds until the viewport was drawn; nothing before it is."""
    return DRAWN[0][0] - ASKED["at"] if DRAWN else None


def is_new_when_drawn():
    """Whether the first drawing has what came of the change."""
    return DRAWN[0][1]


def begin_session(seed):
    """A random session in the scene that is open."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    from sessions import Session

    SESSION.append(Session(seed, lambda name: sys.modules[f"sinew_blender.{name}"], str(FOLDER)))


def step_session(count):
    """Goes on with it, as far as to where a file is opened: what comes after that is for the next question."""
    for _ in range(count):
        SESSION[-1].step()
        if SESSION[-1].done[-1] == "do_reload":
            break
    return len(SESSION[-1].done)


SESSION = []


def answer():
    question = FOLDER / "question"
    if question.exists():
        text = question.read_text()
        question.unlink()
        try:
            found = {"value": eval(text, globals())}
            draft = json.dumps(found, default=str)
        except Exception as error:
            draft = json.dumps({"error": f"{type(error).__name__}: {error}"})
        file = FOLDER / "answer.new"
        file.write_text(draft)
        os.replace(file, FOLDER / "answer")
    return 0.01


def begin():
    sidebar()
    bpy.app.timers.register(answer, persistent=True)


# Once there is a window to ask about.
bpy.app.timers.register(begin, first_interval=1.0)
