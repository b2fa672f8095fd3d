"""Cubic curves of a job, evaluated at many moments at once, and few keys for what Blender interpolates otherwise."""

import numpy as np


def evaluate(curve, times):
    """Values of one of Sinew's curves at times in seconds; rotations come as unit quaternions."""
    keys, values = np.asarray(curve.times), np.asarray(curve.values)
    times = np.clip(times, keys[0], keys[-1])
    if len(keys) == 1:
        found = np.repeat(values, len(times), axis=0)
    else:
        at = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, len(keys) - 2)
        span = (keys[at + 1] - keys[at])[:, None]
        u = (times[:, None] - keys[at][:, None]) / span
        a, b = values[at], values[at + 1]
        if curve.interpolation == "cubic":
            out, into = np.asarray(curve.leaving)[at] * span, np.asarray(curve.arriving)[at + 1] * span
            u2, u3 = u * u, u * u * u
            found = (2 * u3 - 3 * u2 + 1) * a + (u3 - 2 * u2 + u) * out + (3 * u2 - 2 * u3) * b + (u3 - u2) * into
        else:
            if curve.property == "rotation":
                b = np.where(np.sum(a * b, axis=1, keepdims=True) < 0.0, -b, b)
            found = a + u * (b - a)
    if curve.property == "rotation":
        found = found / np.linalg.norm(found, axis=1, keepdims=True)
    return found


def few_keys(samples, arriving, leaving, wanted, tolerance):
    """Frames (indices) whose Hermite keys stay within `tolerance` of the samples at every frame.

    Starts from `wanted` and adds the worst frame of every stretch until it holds.
    """
    count = len(samples)
    keys = sorted({0, count - 1, *(int(k) for k in wanted if 0 <= k < count)})
    waiting = list(zip(keys[:-1], keys[1:]))
    kept = set(keys)
    while waiting:
        a, b = waiting.pop()
        if b - a < 2:
            continue
        span = float(b - a)
        u = (np.arange(a + 1, b) - a)[:, None] / span
        u2, u3 = u * u, u * u * u
        shown = (
            (2 * u3 - 3 * u2 + 1) * samples[a]
            + (u3 - 2 * u2 + u) * leaving[a] * span
            + (3 * u2 - 2 * u3) * samples[b]
            + (u3 - u2) * arriving[b] * span
        )
        errors = np.abs(shown - samples[a + 1 : b]).max(axis=1)
        worst = int(np.argmax(errors))
        if errors[worst] > tolerance:
            middle = a + 1 + worst
            kept.add(middle)
            waiting += [(a, middle), (middle, b)]
    return np.array(sorted(kept))
