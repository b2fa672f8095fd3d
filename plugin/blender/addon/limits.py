"""How far bones can turn on the bones above them, as the set-up has it: what Sinew learnt from the clip, or what was written.

Of every joint, a cone of the directions that the bone may have, and about the bone an arc of the turns about itself.
"""

import bpy
import numpy as np

from . import matrix, rotation

#: Lengths and radii of what is drawn, as shares of the bone's length.
CONE, ARC, RADIUS = 0.7, 0.45, 0.12
#: Lines around a cone, and how many of its corners are joined to its tip.
CORNERS, SIDES = 32, 8
#: A joint that uses more than this share of its room is at its end.
FULL = 0.99


class Joint:
    """One joint: the bones, its frames in them (x is the main axis), and its room in radians, None for all there is."""

    def __init__(self, owner, above, bone, frames, swing, turn):
        self.owner, self.above, self.bone = owner, above, bone
        self.frames = [rotation.matrices(np.array([f["rotation"]], dtype=float))[0] for f in frames]
        self.swing, self.turn = swing, turn
        #: The rim of the cone about x, for a tip at the origin and a length of one.
        self.rim = np.empty((0, 3))
        if swing is not None:
            around = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
            tilts = np.stack([np.zeros(CORNERS), swing[0] * np.cos(around), swing[1] * np.sin(around)], axis=1)
            self.rim = _turned(tilts)[:, :, 0]

    def used(self, a, b):
        """How much of its room it uses with its frames turned like this, 1 for all; and the turn about the bone."""
        tilt = a.T @ _tilt(a[:, 0], b[:, 0])
        share = 0.0 if self.swing is None else float(np.hypot(tilt[1] / self.swing[0], tilt[2] / self.swing[1]))
        # As the library has it: see core/src/joint/angles.rs.
        turn = float(np.arctan2(a[:, 2] @ b[:, 1] - a[:, 1] @ b[:, 2], a[:, 1] @ b[:, 1] + a[:, 2] @ b[:, 2]))
        if self.turn is not None:
            least, most = self.turn
            turn += 2.0 * np.pi * round((0.5 * (least + most) - turn) / (2.0 * np.pi))
            share = max(share, abs(turn - 0.5 * (least + most)) / max(0.5 * (most - least), 1e-9))
        return share, turn

    def lines(self, place, a, b, length):
        """Ends of lines, two after each other, at a place with the frames turned like this."""
        found = []
        if len(self.rim):
            corners = place + CONE * length * self.rim @ a.T
            found.append(np.stack([corners, np.roll(corners, -1, axis=0)], axis=1))
            sides = corners[:: CORNERS // SIDES]
            found.append(np.stack([np.broadcast_to(place, sides.shape), sides], axis=1))
        axis = b[:, 0]
        middle = place + ARC * length * axis
        found.append(np.array([[place, place + CONE * length * axis]]))
        if self.turn is not None:
            # Where the bone's own y would be without any turn about itself.
            zero = _turned(_tilt(a[:, 0], axis)[None])[0] @ a[:, 1]
            angles = np.linspace(*self.turn, CORNERS)
            across = np.outer(np.cos(angles), zero) + np.outer(np.sin(angles), np.cross(axis, zero))
            arc = middle + RADIUS * length * across
            found.append(np.stack([arc[:-1], arc[1:]], axis=1))
            ends = np.array([arc[0], arc[-1], middle + RADIUS * length * b[:, 1]])
            found.append(np.stack([np.broadcast_to(middle, ends.shape), ends], axis=1))
        return np.concatenate(found).reshape(-1, 3)


class Limits:
    """Of one reading of the scene with its set-up."""

    def __init__(self, run):
        self.scene_name = run.scene_name
        nodes = {run.capture.reference(node): node for node in run.capture.nodes}
        #: What was drawn last, and of what.
        self._seen, self._lines = None, []
        #: By (object, bone): every bone hangs on one other.
        self.joints = {}
        for joint in run.setup.get("joints", []):
            above, own = (nodes.get(name) for name in joint["between"])
            frames = joint.get("frames")
            if above is None or own is None or frames is None or above.bone is None or own.bone is None:
                continue
            swing, turn = joint.get("swing_deg", {}).get("cone"), joint.get("turn_deg", {}).get("limits")
            if above.owner == own.owner and (swing is not None or turn is not None):
                room = (None if part is None else np.radians(part) for part in (swing, turn))
                self.joints[(own.owner, own.bone)] = Joint(own.owner, above.bone, own.bone, frames, *room)

    def shown(self, context):
        """The joints to draw: of selected bones in pose mode, else of selected armatures."""
        if context.mode == "POSE":
            chosen = {(bone.id_data.name, bone.name) for bone in context.selected_pose_bones or ()}
            return [joint for key, joint in self.joints.items() if key in chosen]
        owners = {obj.name for obj in context.selected_objects}
        return [joint for joint in self.joints.values() if joint.owner in owners]

    def placed(self, context):
        """Every joint that is drawn, with where it is, its frames in the world, and the length of its bone."""
        joints, matrices, lengths = self._read(context)
        if not joints:
            return
        turns = rotation.matrices(matrix.decompose_each(matrices)[1])
        sizes = np.linalg.norm(matrices[:, :3, 1], axis=1)
        for i, joint in enumerate(joints):
            a, b = (turns[2 * i + end] @ frame for end, frame in enumerate(joint.frames))
            yield joint, matrices[2 * i + 1, :3, 3], a, b, lengths[i] * sizes[2 * i + 1]

    def _read(self, context):
        """The joints that are drawn, matrices of both bones of each, and lengths of those that hang on the others."""
        depsgraph = context.evaluated_depsgraph_get()
        owners, joints, matrices, lengths = {}, [], [], []
        for joint in self.shown(context):
            if joint.owner not in owners:
                obj = bpy.data.objects.get(joint.owner)
                is_there = obj is not None and obj.visible_get()
                owners[joint.owner] = obj.evaluated_get(depsgraph) if is_there else None
            shown = owners[joint.owner]
            ends = [] if shown is None else [shown.pose.bones.get(name) for name in (joint.above, joint.bone)]
            if ends and all(bone is not None for bone in ends):
                joints.append(joint)
                lengths.append(ends[1].length)
                matrices += [shown.matrix_world @ bone.matrix for bone in ends]
        return joints, np.array(matrices, dtype=float), lengths

    def drawn(self, context):
        """Ends of lines in the world: of joints with room left, and of those at their end."""
        joints, matrices, _ = self._read(context)
        seen = ([joint.bone for joint in joints], matrices.tobytes())
        # Most drawings are of a view that turns, and not of a figure that moves.
        if seen != self._seen:
            free, full = [], []
            for joint, place, a, b, length in self.placed(context):
                (full if joint.used(a, b)[0] > FULL else free).append(joint.lines(place, a, b, length))
            self._lines = [np.concatenate(part) if part else np.empty((0, 3)) for part in (free, full)]
            self._seen = seen
        return self._lines


def _tilt(a, b):
    """The smallest turn from one direction to another, as a vector."""
    across = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(across)), float(a @ b)
    return across * (np.arctan2(sine, cosine) / sine) if sine > 1e-12 else np.zeros(3)


def _turned(vectors):
    """The rotation matrices of turns as vectors."""
    angles = np.linalg.norm(vectors, axis=1, keepdims=True)
    halves = np.sinc(0.5 * angles / np.pi) * 0.5 * vectors
    return rotation.matrices(np.concatenate([halves, np.cos(0.5 * angles)], axis=1))
