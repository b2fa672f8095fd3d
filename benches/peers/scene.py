"""Neutral scenes for the Python peers: reading, rotations (quaternions w x y z), openings, times, rows of results."""
import json
import math
import os
import sys
import time

import numpy as np

LINKS = (10, 20, 100, 300, 1000)
SCALARS = (108, 261, 759)
EARLY_S = 0.25  # when shaken scenes are compared, before chaos has its way
PATIENCE_S = 8.0  # repetitions stop after so many seconds of one scene, but there are always two
MOST_REPETITIONS = 7
now = time.thread_time  # the time that this thread computes


def load(name):
    with open(os.path.join(sys.argv[1], name + ".json")) as file:
        return json.load(file)


def chosen(word):
    """Whether the command line asks for it; if it asks for nothing, it wants everything."""
    return len(sys.argv) < 4 or word in sys.argv[3:]


class Rows:
    """Results; written to the file that the command line names after every row."""

    def __init__(self):
        self.rows = []

    def add(self, scene, peer, **numbers):
        plain = {k: v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v for k, v in numbers.items()}
        self.rows.append(dict(scene=scene, peer=peer, **plain))
        with open(sys.argv[2], "w") as file:
            json.dump(self.rows, file)


def least(parts, begin, part, look=lambda done, world: None):
    """The least seconds of each part over several runs; `look` sees the first run."""
    seconds, began = np.full(parts, np.inf), now()
    for repetition in range(MOST_REPETITIONS):
        world = begin()
        for k in range(parts):
            start = now()
            part(world, k)
            seconds[k] = min(seconds[k], now() - start)
            if repetition == 0:
                look(k + 1, world)
        if repetition > 0 and now() - began > PATIENCE_S:
            break
    return seconds


def pile(rows, peer, scene, begin, step, places):
    """A pile dropped. `places` tells the positions and quaternions; they are left beside the results."""
    frames = []
    note = lambda done, world: frames.append(np.hstack(places(world)))
    seconds = least(scene["frames"], begin, lambda world, _: step(world), note)
    name = "%s_%s.poses" % (peer.split(",")[0].lower(), scene["name"])
    np.array(frames, "<f8").tofile(os.path.join(os.path.dirname(sys.argv[2]), name))
    mean = lambda span: seconds[span[0]:span[1]].mean() * 1e3
    rows.add(scene["name"], peer, ms=mean(scene["settled"]), falling_ms=mean(scene["falling"]),
             worst_ms=seconds.max() * 1e3, poses=name)


def best(run, repetitions=7):
    """The least seconds of a run."""
    seconds, began = math.inf, now()
    for repetition in range(repetitions):
        start = now()
        run()
        seconds = min(seconds, now() - start)
        if repetition > 0 and now() - began > PATIENCE_S:
            break
    return seconds


def shaken(scene, t):
    """Where body 0 is at a time (s), and its acceleration."""
    s = scene["shake"]
    amplitude, hertz, phase = (np.array(s[k]) for k in ("amplitude", "hertz", "phase"))
    speed = 2 * math.pi * hertz
    sine = np.sin(speed * t + phase)
    moved = amplitude * (sine - np.sin(phase))
    return np.array(scene["bodies"][0]["pos"]) + moved, -amplitude * speed**2 * sine


def times(a, b):
    w, x, y, z = a
    W, X, Y, Z = b
    return np.array([w*W - x*X - y*Y - z*Z, w*X + x*W + y*Z - z*Y, w*Y - x*Z + y*W + z*X, w*Z + x*Y - y*X + z*W])


def back(q):
    return np.array([q[0], -q[1], -q[2], -q[3]])


def turn(q, v):
    u, v = np.asarray(q[1:]), np.asarray(v, float)
    t = 2 * np.cross(u, v)
    return v + q[0] * t + np.cross(u, t)


def exp(v):
    """The rotation of a rotation vector (rad)."""
    v = np.asarray(v, float)
    angle = np.linalg.norm(v)
    share = 0.5 if angle < 1e-12 else math.sin(angle / 2) / angle
    return np.array([math.cos(angle / 2), *(share * v)])


def matrices(q):
    """Rotation matrices of an array of quaternions."""
    w, x, y, z = np.moveaxis(np.asarray(q), -1, 0)
    rows = [[1 - 2*(y*y + z*z), 2*(x*y - w*z), 2*(x*z + w*y)],
            [2*(x*y + w*z), 1 - 2*(x*x + z*z), 2*(y*z - w*x)],
            [2*(x*z - w*y), 2*(y*z + w*x), 1 - 2*(x*x + y*y)]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def opening(scene, positions, quaternions):
    """The largest distance between the two ends of a joint, m."""
    turns, positions = matrices(quaternions), np.asarray(positions)
    largest = 0.0
    for j in scene["joints"]:
        a, b = j["a"], j["b"]
        first = np.array(j["anchor_a"]) if a < 0 else positions[a] + turns[a] @ j["anchor_a"]
        largest = max(largest, float(np.linalg.norm(first - positions[b] - turns[b] @ j["anchor_b"])))
    return largest
