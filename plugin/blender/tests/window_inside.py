"""Runs inside Blender's window: installs the add-on and answers the questions of window.py, on a timer."""

import json
import os
import pathlib
import sys

import addon_utils
import bpy

ARCHIVE, FOLDER = sys.argv[sys.argv.index("--") + 1 :][:2]
FOLDER = pathlib.Path(FOLDER)

bpy.ops.preferences.addon_install(filepath=ARCHIVE, overwrite=True)
addon_utils.enable("sinew_blender")
from sinew_blender import live, overlay, panel, simulate, state  # noqa: E402, F401  (some are asked for)

COUNTS = {"drawn": 0, "pressed": 0}


# Blender looks at how many parameters these have, so each is written out.
_draw, _invoke = panel.SINEW_PT_simulate.draw, simulate.SINEW_OT_simulate.invoke


def draw(self, context):
    COUNTS["drawn"] += 1
    return _draw(self, context)


def invoke(self, context, event):
    COUNTS["pressed"] += 1
    return _invoke(self, context, event)


panel.SINEW_PT_simulate.draw, simulate.SINEW_OT_simulate.invoke = draw, invoke


def drawn():
    return COUNTS["drawn"]


def presses():
    return COUNTS["pressed"]


def actions():
    return sorted(a.name for a in bpy.data.actions)


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


def ticks():
    """Ticks per second of the last run, and the longest time between two."""
    gaps = [b - a for a, b in zip(state.ticks, state.ticks[1:])]
    return len(gaps) / sum(gaps), max(gaps)


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
