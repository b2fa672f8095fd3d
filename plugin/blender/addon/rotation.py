"""Quaternions of a job as the channels of an object: quaternion, Euler angles in its order, or axis and angle."""

import math

import numpy as np
from mathutils import Quaternion

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
#: An angle that changes by more than this from frame to frame is looked at more closely.
STEP_MAX = math.pi / 2
TURN = 2.0 * math.pi


def as_euler(quaternions, order, before):
    """Angles without jumps, the first nearest to `before`. Frames are the last axis but one: many objects at once, in one
    order, take little longer than one."""
    both = _both(quaternions, order)
    firsts = [nearest(angles[..., 0, :], np.asarray(before)) for angles in both]
    aways = [np.abs(first - before).sum(axis=-1) for first in firsts]
    best = np.asarray(aways[1] < aways[0])
    first = np.where(best[..., None], firsts[1], firsts[0])
    found = np.where(best[..., None, None], both[1], both[0])
    found = _unwound(found + (first - found[..., 0, :])[..., None, :])
    steps = np.abs(np.diff(found, axis=-2)).max(axis=(-2, -1), initial=0.0)
    for at in map(tuple, np.argwhere(steps >= STEP_MAX)):
        # It passes near the pole of its order, where one triple of angles takes over from the other.
        found[at] = _unwound(_followed([angles[at] for angles in both], int(best[at]), first[at]))
    return found


def _unwound(angles):
    """The same angles without whole turns between frames."""
    steps = np.diff(angles, axis=-2)
    if np.abs(steps).max(initial=0.0) >= STEP_MAX:
        angles[..., 1:, :] -= TURN * np.cumsum(np.round(steps / TURN), axis=-2)
    return angles


def _followed(both, best, first):
    """Frame after frame, of two triples of angles the one that is nearer to that of the frame before."""
    aways = [[_away(to[1:] - angles[:-1]).tolist() for to in both] for angles in both]
    chosen = [best]
    for frame in range(len(both[0]) - 1):
        stays, changes = (aways[best][which][frame] for which in (best, 1 - best))
        best = best if stays <= changes else 1 - best
        chosen.append(best)
    found = np.where(np.array(chosen)[:, None] == 0, *both)
    found[0] = first
    return found


def _away(steps):
    """How far angles are from each other, whole turns aside."""
    return np.abs(steps - TURN * np.round(steps / TURN)).sum(axis=1)


def euler_near(quaternions, order, angles):
    """The angles of each quaternion that are nearest to given ones."""
    one, other = (nearest(found, angles) for found in _both(quaternions, order))
    away = [np.abs(found - angles).sum(axis=1, keepdims=True) for found in (one, other)]
    return np.where(away[0] <= away[1], one, other)


def nearest(angles, wanted):
    """The same angles, by whole turns nearest to others."""
    return angles + TURN * np.round((wanted - angles) / TURN)


def _both(quaternions, order):
    """The two triples of angles that each rotation has, whole turns aside."""
    i, j, k, is_odd = ORDERS[order]
    parts = np.moveaxis(quaternions, -1, 0)
    along, across = _entry(parts, i, i), _entry(parts, j, i)
    flat = np.hypot(along, across)
    one = np.empty(quaternions.shape[:-1] + (3,))
    one[..., i] = np.arctan2(_entry(parts, k, j), _entry(parts, k, k))
    one[..., j] = np.arctan2(-_entry(parts, k, i), flat)
    one[..., k] = np.arctan2(across, along)
    other = one + np.pi
    other[..., j] = np.pi - one[..., j]
    pole = flat < 1e-6
    if pole.any():
        # Two of its axes are one: all of the turn about that goes to the first.
        one[pole, i] = np.arctan2(-_entry(parts, j, k), _entry(parts, j, j))[pole]
        one[pole, k] = 0.0
        other[pole] = one[pole]
    return (-one, -other) if is_odd else (one, other)


def _entry(parts, row, column):
    """One number of the rotation matrices of unit quaternions, given part by part."""
    w = parts[3]
    if row == column:
        a, b = parts[(row + 1) % 3], parts[(row + 2) % 3]
        return 1.0 - 2.0 * (a * a + b * b)
    turn = w * parts[3 - row - column]
    product = parts[row] * parts[column]
    return 2.0 * (product - turn if (column - row) % 3 == 1 else product + turn)


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
