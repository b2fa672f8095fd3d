"""Joints of the panel over the viewport: from what is joined to where the joint is and on to the other, and its axis."""

import numpy as np
from mathutils import Vector

from . import joint_properties as having

#: Half the length of an axis, and of the cross at a joint, as shares of the size of what is joined.
AXIS, CROSS = 0.6, 0.12


def place(owner, item):
    """Where a joint is shown, without a scale: at its pivot, else at what is joined."""
    if item.pivot is not None:
        return item.pivot.matrix_world.normalized()
    bone = owner.pose.bones.get(item.bone) if owner.type == "ARMATURE" else None
    return (owner.matrix_world if bone is None else owner.matrix_world @ bone.matrix).normalized()


def _origin(obj, bone):
    found = obj.pose.bones.get(bone) if obj.type == "ARMATURE" and bone else None
    return obj.matrix_world.translation if found is None else obj.matrix_world @ found.matrix.translation


def of(owner, item):
    """Ends of lines in the world, two after each other."""
    frame = place(owner, item)
    at = frame.translation
    size = max(owner.dimensions) / 2 or 0.5
    ends = [_origin(owner, item.bone), at]
    if item.other is not None or item.other_pivot is not None:
        there = item.other_pivot.matrix_world.translation if item.other_pivot is not None else at
        if item.other_pivot is None and item.kind in having.LONG:
            there = _origin(item.other, item.other_bone)
        ends += [at, there]
        if item.other is not None:
            ends += [there, _origin(item.other, item.other_bone)]
    if item.kind not in (*having.ROUND, "inside_box"):
        along = frame.col["XYZ".index(item.axis)].to_3d() * size * AXIS
        ends += [at - along, at + along]
    for axis in range(3):
        across = Vector((0.0, 0.0, 0.0))
        across[axis] = size * CROSS
        ends += [at - across, at + across]
    return ends


def drawn(context):
    """All that are shown: of what is selected, or is joined to that, and of the others. Two arrays of ends of lines."""
    chosen = set(context.selected_objects)
    bright, dim = [], []
    for owner in context.view_layer.objects:
        if not len(owner.sinew_joints) or not owner.visible_get():
            continue
        for item in owner.sinew_joints:
            is_chosen = owner in chosen or item.other in chosen or item.pivot in chosen
            (bright if is_chosen else dim).extend(of(owner, item))
    return [np.array([tuple(end) for end in ends], dtype=np.float32).reshape(-1, 3) for ends in (bright, dim)]
