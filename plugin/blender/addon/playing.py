"""Going to a frame, to see what is there."""

import bpy


def is_drawn(scene):
    """Whether a change of frame must be told, and so be drawn: scripts wait for it, or another scene is shown."""
    handlers = bpy.app.handlers
    return bool(handlers.frame_change_pre or handlers.frame_change_post) or scene != bpy.context.scene


def go_to(scene, frame, subframe=0.0):
    """Evaluates a frame without drawing it: drawing every frame that is read would hold up the window.

    Setting frames in bulk tells nobody, and evaluating the view layer notices by itself that the time is another.
    """
    if is_drawn(scene):
        scene.frame_set(frame, subframe=subframe)
        return
    scenes = bpy.data.scenes
    place = scenes.find(scene.name)
    for name, value in (("frame_current", frame), ("frame_subframe", subframe)):
        values = [getattr(other, name) for other in scenes]
        values[place] = value
        scenes.foreach_set(name, values)
    bpy.context.view_layer.update()
