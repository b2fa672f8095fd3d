"""Quaternions of a job as the channels of an object: quaternion, Euler angles in its order, or axis and angle."""

import math

import numpy as np
from mathutils import Euler, Quaternion

#: Seconds are divided by the frame rate before this is used: a thousandth of a frame tells a slope.
SLOPE_FRAMES = 1e-3


def as_euler(quaternions, order, before):
    """Angles without jumps, the first nearest to `before`."""
    found = np.empty((len(quaternions), 3))
    last = Euler(before, order)
    for i, (x, y, z, w) in enumerate(quaternions.tolist()):
        last = Quaternion((w, x, y, z)).to_euler(order, last)
        found[i] = last
    return found


def as_axis_angle(quaternions):
    """Angle and axis, without jumps."""
    found = np.empty((len(quaternions), 4))
    before = None
    for i, (x, y, z, w) in enumerate(quaternions.tolist()):
        axis, angle = Quaternion((w, x, y, z)).to_axis_angle()
        if before is not None:
            # The other way round about the opposite axis, or a whole turn more: whichever is nearest.
            if axis.dot(before[0]) < 0.0:
                axis, angle = -axis, -angle
            angle += 2.0 * math.pi * round((before[1] - angle) / (2.0 * math.pi))
        before = (axis, angle)
        found[i] = (angle, *axis)
    return found
