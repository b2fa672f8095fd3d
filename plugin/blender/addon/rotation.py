"""Quaternions of a job as the channels of an object: quaternion, Euler angles in its order, or axis and angle."""

import math

import numpy as np
from mathutils import Euler, Quaternion

#: Seconds are divided by the frame rate before this is used: a thousandth of a frame tells a slope.
SLOPE_FRAMES = 1e-3


#: Axes in the order that they are turned about, and whether that is an odd order: as Blender has them.
ORDERS = {
    "XYZ": (0, 1, 2, False),
    "XZY": (0, 2, 1, True),
    "YXZ": (1, 0, 2, True),
    "YZX": (1, 2, 0, False),
    "ZXY": (2, 0, 1, False),
    "ZYX": (2, 1, 0, True),
}
#: An angle that changes by more than this from frame to frame is looked at one by one.
STEP_MAX = math.pi / 2


def as_euler(quaternions, order, before):
    """Angles without jumps, the first nearest to `before`."""
    both = _both(quaternions, order)
    first = [nearest(angles[:1], np.asarray(before)[None])[0] for angles in both]
    aways = [np.abs(angles - before).sum() for angles in first]
    best = int(np.argmin(aways))
    found = both[best] + (first[best] - both[best][0])
    steps = np.diff(found, axis=0)
    if np.abs(steps).max(initial=0.0) >= STEP_MAX:
        turns = np.round(steps / (2.0 * np.pi))
        found[1:] -= 2.0 * np.pi * np.cumsum(turns, axis=0)
        steps -= 2.0 * np.pi * turns
    if np.abs(steps).max(initial=0.0) < STEP_MAX:
        return found
    # It passes near the pole of its order, where one pair of angles takes over from the other.
    last, angles = Euler(before, order), []
    for x, y, z, w in quaternions.tolist():
        last = Quaternion((w, x, y, z)).to_euler(order, last)
        angles.append(last[:])
    return np.array(angles)


def euler_near(quaternions, order, angles):
    """The angles of each quaternion that are nearest to given ones."""
    one, other = (nearest(found, angles) for found in _both(quaternions, order))
    away = [np.abs(found - angles).sum(axis=1, keepdims=True) for found in (one, other)]
    return np.where(away[0] <= away[1], one, other)


def nearest(angles, wanted):
    """The same angles, by whole turns nearest to others."""
    return angles + 2.0 * np.pi * np.round((wanted - angles) / (2.0 * np.pi))


def _both(quaternions, order):
    """The two triples of angles that each rotation has."""
    i, j, k, is_odd = ORDERS[order]
    m = matrices(quaternions)
    flat = np.hypot(m[:, i, i], m[:, j, i])
    pole = flat < 1e-6
    one, other = np.empty((len(m), 3)), np.empty((len(m), 3))
    one[:, i] = np.where(pole, np.arctan2(-m[:, j, k], m[:, j, j]), np.arctan2(m[:, k, j], m[:, k, k]))
    one[:, j] = np.arctan2(-m[:, k, i], flat)
    one[:, k] = np.where(pole, 0.0, np.arctan2(m[:, j, i], m[:, i, i]))
    other[:, i] = np.arctan2(-m[:, k, j], -m[:, k, k])
    other[:, j] = np.arctan2(-m[:, k, i], -flat)
    other[:, k] = np.arctan2(-m[:, j, i], -m[:, i, i])
    other[pole] = one[pole]
    return (-one, -other) if is_odd else (one, other)


def matrices(quaternions):
    """Rotation matrices of unit quaternions."""
    x, y, z, w = quaternions.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.array(rows).transpose(2, 0, 1)


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
