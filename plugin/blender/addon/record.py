"""What was played by hand, in the place of a job: poses frame by frame, as the writer and the overlay want them."""

import numpy as np

from . import hermite, matrix, rotation
from .sinew import Curve


class Recording:
    """A job's motion, with other frames in place of some of its own."""

    def __init__(self, capture, job):
        self.capture = capture
        self.body_nodes = list(job.body_nodes)
        self.poses = np.array(job.poses)
        self.saturated = np.array(job.saturated)
        #: Of every body, which properties have curves.
        self.wanted = {(curve.node, curve.property) for curve in job.curves}
        self._contacts = {frame: job.contacts(frame) for frame in range(len(self.poses))}
        by_index = {node.index: node for node in capture.nodes}
        self._bodies = [by_index.get(index) for index in self.body_nodes]

    #: Nobody looked at soft skins while it was played.
    deformations = ()

    def take(self, frame, session):
        """Keeps where everything is in a session, as a frame counted from the first."""
        self.poses[frame] = session.poses
        self.saturated[frame] = session.forces[1]
        self._contacts[frame] = session.contacts

    def contacts(self, frame):
        """As a job's."""
        return self._contacts[frame]

    @property
    def curves(self):
        """As a job's: a key on every frame, relative to what is above each node."""
        times = (self.capture.frames - self.capture.first) / self.capture.rate
        found = self.channels(slice(None))
        made = []
        for node, (t, q) in found.items():
            parts = {"translation": t, "rotation": matrix.continuous(q)}
            for name, values in parts.items():
                if (node.index, name) in self.wanted:
                    made.append(Curve(node.index, name, "linear", times, values))
        return made

    def few_curves(self, tolerance, tolerance_rad):
        """The same with few keys: Hermite cubics within a tolerance at every frame. Without a tolerance for places, a
        thousandth of how far each moves."""
        made = []
        for curve in self.curves:
            is_turn = curve.property == "rotation"
            # Half the angle is what quaternions have.
            allowed = tolerance_rad / 2 if is_turn else tolerance or 1e-3 * float(np.ptp(curve.values, axis=0).max())
            slopes = np.gradient(curve.values, curve.times, axis=0)
            per_frame = slopes / self.capture.rate
            kept = hermite.few_keys(curve.values, per_frame, per_frame, (), max(allowed, 1e-9))
            parts = (part[kept] for part in (curve.times, curve.values, slopes, slopes))
            made.append(Curve(curve.node, curve.property, "cubic", *parts))
        return made

    def channels(self, frames):
        """Translations and quaternions of every body's node at some frames, relative to what is above it."""
        worlds, found = {}, {}
        bodies = {node: k for k, node in enumerate(self._bodies) if node is not None}
        for node in self.capture.nodes:
            above = np.eye(4) if node.parent is None else worlds[node.parent]
            above = above if node.offset is None else above @ node.offset
            t, q, s = (part[frames] for part in node.local)
            if node not in bodies:
                worlds[node] = above @ _matrices(t, q, s)
                continue
            pose = self.poses[frames, bodies[node]]
            # Bodies are rigid: their size is that of their keys.
            size = np.linalg.norm(node.world[frames, :3, :3], axis=1)
            worlds[node] = _matrices(pose[:, :3], pose[:, 3:], size)
            local = np.linalg.solve(np.broadcast_to(above, worlds[node].shape), worlds[node])
            place, turn, _, _ = matrix.decompose_each(local)
            found[node] = (place, turn)
        return found


def _matrices(places, turns, sizes):
    found = np.zeros((len(places), 4, 4))
    found[:, :3, :3] = rotation.matrices(np.asarray(turns)) * np.asarray(sizes)[:, None, :]
    found[:, :3, 3], found[:, 3, 3] = places, 1.0
    return found
