"""Where a result came from: pressing the button again simulates from the animator's keys, not from the last result.

A new action remembers the one that it took the place of, and the constraints that were muted for it.
"""

import contextlib
import json

import bpy

from . import action

SOURCE, MUTED, RESTED = "sinew_source", "sinew_muted", "sinew_rested"
#: Channels that a result moves.
CHANNELS = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle")


def channels_of(obj, bones):
    """What an object and some of its bones have in their channels, where no key says it."""
    holders = {"": obj, **{name: obj.pose.bones[name] for name in bones}}
    return {name: [list(getattr(holder, c)) for c in CHANNELS] for name, holder in holders.items()}


def remember(fresh, old, muted, rested):
    """Notes on a new action what was there before: `muted` are pairs of a bone's name (or nothing) and a constraint's,
    `rested` is what `channels_of` gave."""
    again = is_result(old)
    fresh[RESTED] = old.get(RESTED, "{}") if again else json.dumps(rested)
    fresh[SOURCE] = old[SOURCE] if again else old.name if old is not None else ""
    before = json.loads(old.get(MUTED, "[]")) if again else []
    fresh[MUTED] = json.dumps(before + [list(pair) for pair in muted])


def is_result(found):
    """Whether an action was made by the button."""
    return found is not None and SOURCE in found


@contextlib.contextmanager
def originals(scene):
    """Puts the animator's keys and constraints back in their places for a while, where results are."""
    changed = []
    try:
        for obj in scene.objects:
            data = obj.animation_data
            if data is not None and is_result(data.action):
                changed.append((obj.name, data.action.name, action.slot_handle(obj), _put_back(obj)))
        if changed:
            bpy.context.view_layer.update()
        yield
    finally:
        for name, result, handle, unmuted in changed:
            obj = bpy.data.objects.get(name)
            if obj is None:
                continue
            action.assign(obj, bpy.data.actions.get(result), handle)
            for constraint in _constraints(obj, unmuted):
                constraint.mute = True


def _put_back(obj):
    result = obj.animation_data.action
    handle = action.slot_handle(obj)
    muted = json.loads(result.get(MUTED, "[]"))
    for constraint in _constraints(obj, muted):
        constraint.mute = False
    is_layer = any(s.action is not None and s.action.name == result[SOURCE]
                   for track in obj.animation_data.nla_tracks for s in track.strips)  # fmt: skip
    action.assign(obj, None if is_layer else bpy.data.actions.get(result[SOURCE]), handle)
    # What nothing keyed is where it was, and not where the result has it at this frame.
    for name, values in json.loads(result.get(RESTED, "{}")).items():
        holder = obj if not name else obj.pose.bones.get(name) if obj.type == "ARMATURE" else None
        for channel, value in zip(CHANNELS, values) if holder is not None else ():
            setattr(holder, channel, value)
    return muted


def _constraints(obj, pairs):
    for bone, name in pairs:
        holder = obj if not bone else obj.pose.bones.get(bone) if obj.type == "ARMATURE" else None
        found = holder.constraints.get(name) if holder is not None else None
        if found is not None:
            yield found
