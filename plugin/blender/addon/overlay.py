"""What a run did, over the viewport: the way of the keys, the way of the simulation, contacts, strain."""

import bpy
import numpy as np

from . import joint_lines, state
from .sinew import SinewError

KEYS, MOTION = (0.45, 0.55, 0.65, 0.8), (1.0, 0.55, 0.1, 1.0)
SHAPES, TARGETS, LIMITS = (0.35, 0.75, 1.0, 0.8), (0.9, 0.9, 0.3, 0.9), (1.0, 0.8, 0.2, 0.9)
CONTACT, STRAIN = (0.2, 0.9, 0.4, 1.0), (1.0, 0.15, 0.1, 1.0)
HAND = (1.0, 1.0, 1.0, 0.9)
JOINTS, DIM = (0.85, 0.45, 1.0, 1.0), (0.6, 0.4, 0.75, 0.5)

_handler = None
#: Batches are made once per result: (id of the result) -> list of (batch, colour, width).
_batches = (None, [])


def refresh(context):
    """Redraws all viewports."""
    for window in context.window_manager.windows if context.window_manager else ():
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def _shader():
    import gpu

    return gpu.shader.from_builtin("UNIFORM_COLOR" if bpy.app.version >= (4, 0, 0) else "3D_UNIFORM_COLOR")


def _draw_batch(shader, batch, colour):
    shader.bind()
    shader.uniform_float("color", colour)
    batch.draw(shader)


def _paths(shader, result):
    global _batches
    if _batches[0] is result:
        return _batches[1]
    from gpu_extras.batch import batch_for_shader

    found = []
    for ways, colour, width in ((result.keys, KEYS, 1.5), (result.ways, MOTION, 2.5)):
        for way in (ways[k] for k in result.drawn):
            if np.ptp(way, axis=0).max() > 1e-5:
                points = [tuple(p) for p in way.tolist()]
                found.append((batch_for_shader(shader, "LINE_STRIP", {"pos": points}), colour, width))
    _batches = (result, found)
    return found


def draw():
    """Called by Blender for every viewport."""
    result = state.result
    context = bpy.context
    if context.scene.sinew.show_shapes:
        _draw_lines(context, state.shapes, lambda shapes: [(shapes.drawn(context), SHAPES)])
    if context.scene.sinew.show_limits:
        _draw_lines(context, state.limits, lambda limits: zip(limits.drawn(context), (LIMITS, STRAIN)))
    if context.scene.sinew.show_joints:
        _draw_all(zip(joint_lines.drawn(context), (JOINTS, DIM)))
    if result is None or context.scene.name != result.scene_name:
        return
    # Undone: then it is not there any more.
    if not any(name in bpy.data.actions for name in result.actions):
        return
    import gpu
    from gpu_extras.batch import batch_for_shader

    settings = context.scene.sinew
    shader = _shader()
    gpu.state.blend_set("ALPHA")
    try:
        if settings.show_paths:
            for batch, colour, width in _paths(shader, result):
                gpu.state.line_width_set(width)
                _draw_batch(shader, batch, colour)
        frame = context.scene.frame_current - result.first
        inside = 0 <= frame <= result.last - result.first
        gpu.state.point_size_set(9.0)
        if settings.show_contacts and inside:
            found = result.job.contacts(frame)
            if found:
                points = [c.point for c in found]
                _draw_batch(shader, batch_for_shader(shader, "POINTS", {"pos": points}), CONTACT)
                lines = [p for c in found for p in (c.point, _along(c))]
                gpu.state.line_width_set(2.0)
                _draw_batch(shader, batch_for_shader(shader, "LINES", {"pos": lines}), CONTACT)
        if settings.show_targets and inside:
            ends = [tuple(way[frame]) for pair in zip(result.ways, result.keys) for way in pair]
            gpu.state.line_width_set(1.5)
            _draw_batch(shader, batch_for_shader(shader, "LINES", {"pos": ends}), TARGETS)
            gpu.state.point_size_set(6.0)
            _draw_batch(shader, batch_for_shader(shader, "POINTS", {"pos": ends[1::2]}), TARGETS)
            gpu.state.point_size_set(9.0)
        if settings.show_strain and inside:
            places = dict(zip(result.names, result.ways))
            now = context.scene.frame_current
            points = [tuple(places[name][frame]) for name, _, frames in result.strained if now in frames]
            if points:
                gpu.state.point_size_set(14.0)
                _draw_batch(shader, batch_for_shader(shader, "POINTS", {"pos": points}), STRAIN)
        if state.held is not None:
            gpu.state.line_width_set(3.0)
            _draw_batch(shader, batch_for_shader(shader, "LINES", {"pos": list(state.held)}), HAND)
    finally:
        gpu.state.blend_set("NONE")
        gpu.state.line_width_set(1.0)
        gpu.state.point_size_set(1.0)


def _draw_lines(context, ask, lines):
    """What was found out about the scene, `ask`, as lines: ends two after each other, and a colour."""
    try:
        found = ask()
    except (ValueError, KeyError, ReferenceError, SinewError):
        # What was read is gone, or a setting makes no sense: the next check says so.
        return
    if found is None or context.scene.name != found.scene_name:
        return
    _draw_all(lines(found))


def _draw_all(lines):
    """Lines as they are: ends two after each other, and a colour."""
    import gpu
    from gpu_extras.batch import batch_for_shader

    lines = [(ends, colour) for ends, colour in lines if len(ends)]
    if not lines:
        return
    shader = _shader()
    gpu.state.blend_set("ALPHA")
    gpu.state.line_width_set(1.5)
    for ends, colour in lines:
        _draw_batch(shader, batch_for_shader(shader, "LINES", {"pos": ends.astype(np.float32)}), colour)
    gpu.state.line_width_set(1.0)
    gpu.state.blend_set("NONE")


def _along(contact):
    """The end of a mark along the normal, longer the harder it bears: half a unit for 100 N."""
    length = 0.15 + 0.05 * float(np.log1p(max(0.0, contact.load)))
    return tuple(p + length * n for p, n in zip(contact.point, contact.normal))


def register():
    global _handler
    if not bpy.app.background and _handler is None:
        _handler = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_VIEW")


def unregister():
    global _handler, _batches
    if _handler is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handler, "WINDOW")
        _handler = None
    _batches = (None, [])
