"""The shapes that things touch with, as the library has them: lines in the frame of each object or bone."""

import bpy
import numpy as np

from . import matrix
from .sinew import Session, Setup, SinewError


class Shapes:
    """Of one reading of the scene with its set-up."""

    def __init__(self, run):
        self.scene_name = run.scene_name
        #: By (object, bone or None): ends of lines, two after each other.
        self.lines = {}
        try:
            with Setup.from_json(run.setup) as setup, Session(run.scene, setup) as session:
                for node in run.capture.nodes:
                    ends = session.outline(node.index)
                    if len(ends):
                        self.lines[(node.owner, node.bone)] = _within(node, ends.reshape(-1, 3))
        except SinewError:
            # Nothing that is simulated: then nothing touches.
            self.lines = {}

    def drawn(self, context):
        """All of them in the world, where things are shown now."""
        found = []
        depsgraph = context.evaluated_depsgraph_get()
        for (owner, bone), ends in self.lines.items():
            obj = bpy.data.objects.get(owner)
            if obj is None or not obj.visible_get():
                continue
            shown = obj.evaluated_get(depsgraph)
            place = shown.matrix_world
            if bone is not None:
                posed = shown.pose.bones.get(bone)
                if posed is None:
                    continue
                place = place @ posed.matrix
            place = np.array(place.normalized(), dtype=float)
            found.append(ends @ place[:3, :3].T + place[:3, 3])
        return np.concatenate(found) if found else np.empty((0, 3))


def _within(node, points):
    """Points of the world at the first frame in the frame of an object or bone, which has no scale here."""
    world = node.world[0] if node.bone is None else node.world[0] @ matrix.BONE.T
    turn = world[:3, :3] / np.linalg.norm(world[:3, :3], axis=0)
    return (points - world[:3, 3]) @ turn
