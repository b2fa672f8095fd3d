"""Settings on overrides of linked characters, kept as text beside them.

Blender 5.0 forgets a group of settings on an override when the original has none of that group, but not a plain text. It
is written before the file is saved, and read where the group came back empty.
"""

import json

import bpy
from bpy.app.handlers import persistent
from bpy.props import StringProperty

IS_NEEDED = bpy.app.version >= (5, 0, 0)
NAME = "sinew_kept"


def _holders():
    """All overrides and their bones."""
    for obj in bpy.data.objects:
        if obj.override_library is not None:
            yield obj
            yield from obj.pose.bones if obj.type == "ARMATURE" else ()


def _touched(own):
    names = (p.identifier for p in own.bl_rna.properties if not p.is_readonly and own.is_property_set(p.identifier))
    values = ((name, getattr(own, name)) for name in names if name != "name")
    return {name: value if isinstance(value, (bool, int, float, str)) else list(value) for name, value in values}


@persistent
def _before_saving(*_arguments):
    for holder in _holders():
        found = _touched(holder.sinew)
        text = json.dumps(found, sort_keys=True) if found else ""
        if getattr(holder, NAME) != text:
            setattr(holder, NAME, text)


@persistent
def _after_loading(*_arguments):
    for holder in _holders():
        text = getattr(holder, NAME)
        if not text or _touched(holder.sinew):
            continue
        try:
            found = json.loads(text)
        except ValueError:
            continue
        for name, value in found.items() if isinstance(found, dict) else ():
            try:
                setattr(holder.sinew, name, value)
            except (AttributeError, TypeError):
                # Of a version that had other settings.
                pass


HANDLERS = ((bpy.app.handlers.save_pre, _before_saving), (bpy.app.handlers.load_post, _after_loading))


def register():
    if not IS_NEEDED:
        return
    for cls in (bpy.types.Object, bpy.types.PoseBone):
        setattr(cls, NAME, StringProperty(options={"HIDDEN"}, override={"LIBRARY_OVERRIDABLE"}))
    for handlers, own in HANDLERS:
        handlers.append(own)


def unregister():
    if not IS_NEEDED:
        return
    for handlers, own in HANDLERS:
        if own in handlers:
            handlers.remove(own)
    for cls in (bpy.types.Object, bpy.types.PoseBone):
        delattr(cls, NAME)
