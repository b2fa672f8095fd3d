"""Reading without playing: where nothing but keys moves objects, their curves say it all.

Setting a frame evaluates and draws everything, which costs more than all the rest. What has constraints, drivers, an NLA,
bones or scripts in it is played; see `Capture`.
"""

import bpy
import numpy as np
from mathutils import Euler, Quaternion

from . import action

#: Channels that move an object, and how many numbers they have.
CHANNELS = {
    "location": 3,
    "delta_location": 3,
    "rotation_euler": 3,
    "delta_rotation_euler": 3,
    "rotation_quaternion": 4,
    "delta_rotation_quaternion": 4,
    "rotation_axis_angle": 4,
    "scale": 3,
    "delta_scale": 3,
}


def is_plain(objects):
    """Whether keys alone move all of these and what they hang on."""
    handlers = bpy.app.handlers
    if handlers.frame_change_pre or handlers.frame_change_post:
        return False
    seen = set()
    for obj in objects:
        while obj is not None and obj.name not in seen:
            if not _is_plain(obj):
                return False
            seen.add(obj.name)
            obj = obj.parent
    return True


def _is_plain(obj):
    if obj.type == "ARMATURE" or obj.parent is not None and obj.parent_type != "OBJECT":
        return False
    # A camera that follows, a curve that is followed: whatever is not plainly below its parent is played.
    if any(not c.mute for c in obj.constraints):
        return False
    data = obj.animation_data
    if data is None:
        return True
    if len(data.nla_tracks) or len(data.drivers) or data.use_tweak_mode:
        return False
    if data.action is not None and (data.action_influence != 1.0 or data.action_blend_type != "REPLACE"):
        return False
    return not any(c.data_path in ("rotation_mode", "parent") for c in action.curves(obj) or ())


def worlds(obj, frames, found):
    """World matrices of an object at these frames; `found` keeps those of others by name."""
    if obj.name in found:
        return found[obj.name]
    local = _basis(obj, frames)
    if obj.parent is not None:
        above = worlds(obj.parent, frames, found)
        local = above @ np.array(obj.matrix_parent_inverse, dtype=float) @ local
    found[obj.name] = local
    return local


def euler_at(obj, frame):
    """The angles that an object is keyed to have at a frame, whichever is shown."""
    angles = list(obj.rotation_euler)
    for curve in action.curves(obj) or ():
        if curve.data_path == "rotation_euler" and not curve.mute and len(curve.keyframe_points):
            angles[curve.array_index] = curve.evaluate(frame)
    return tuple(angles)


def _basis(obj, frames):
    curves = {}
    for curve in action.curves(obj) or ():
        if curve.data_path in CHANNELS and not curve.mute and len(curve.keyframe_points):
            curves[(curve.data_path, curve.array_index)] = curve
    if not curves:
        return np.broadcast_to(np.array(obj.matrix_basis, dtype=float), (len(frames), 4, 4))
    values = {name: _values(obj, name, frames, curves) for name in CHANNELS}
    turn = _turns(obj.rotation_mode, values)
    size = values["scale"] * values["delta_scale"]
    found = np.zeros((len(frames), 4, 4))
    found[:, :3, :3] = turn * size[:, None, :]
    found[:, :3, 3] = values["location"] + values["delta_location"]
    found[:, 3, 3] = 1.0
    return found


def _values(obj, name, frames, curves):
    now = getattr(obj, name)
    found = np.tile(np.array(now, dtype=float), (len(frames), 1))
    for axis in range(CHANNELS[name]):
        curve = curves.get((name, axis))
        if curve is not None:
            evaluate = curve.evaluate
            # In single precision, as Blender keeps it.
            found[:, axis] = np.fromiter((evaluate(f) for f in frames.tolist()), np.float32, len(frames))
    return found


def _turns(mode, values):
    """Rotation matrices, delta first."""
    if mode == "QUATERNION":
        turns = _quaternions(values["rotation_quaternion"])
        delta = _quaternions(values["delta_rotation_quaternion"])
    elif mode == "AXIS_ANGLE":
        rows = values["rotation_axis_angle"]
        turns = np.array([np.array(Quaternion(row[1:], row[0]).to_matrix()) for row in rows.tolist()])
        delta = _quaternions(values["delta_rotation_quaternion"])
    else:
        turns = _eulers(values["rotation_euler"], mode)
        delta = _eulers(values["delta_rotation_euler"], mode)
    return delta @ turns


def _quaternions(wxyz):
    if np.ptp(wxyz, axis=0).max() == 0.0:
        one = np.array(Quaternion(wxyz[0]).normalized().to_matrix(), dtype=float)
        return np.broadcast_to(one, (len(wxyz), 3, 3))
    from .rotation import matrices

    unit = wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True)
    return matrices(unit[:, [1, 2, 3, 0]])


def _eulers(angles, order):
    if np.ptp(angles, axis=0).max() == 0.0:
        one = np.array(Euler(angles[0], order).to_matrix(), dtype=float)
        return np.broadcast_to(one, (len(angles), 3, 3))
    found = None
    for letter in order:
        axis = "XYZ".index(letter)
        j, k = (axis + 1) % 3, (axis + 2) % 3
        c, s = np.cos(angles[:, axis]), np.sin(angles[:, axis])
        turn = np.zeros((len(angles), 3, 3))
        turn[:, axis, axis] = 1.0
        turn[:, j, j], turn[:, j, k], turn[:, k, j], turn[:, k, k] = c, -s, s, c
        found = turn if found is None else turn @ found
    return found
