"""Motion onto the controls of a rig: where controls must be for the constraints, left alive, to move bones as simulated.

| constraint on a simulated bone | its target gets |
|---|---|
| Copy Transforms | the bone's place and turn |
| Copy Rotation | its turn |
| Copy Location | its place |
| IK | the place of the chain's tip; its pole, the direction in which the chain bends |
| Damped Track, Locked Track, Track To, along the bone | a place ahead of the bone, as far as it was keyed |

A target may be a bone of the same rig or another object, an empty above all. A bone with a Child Of keeps its own channels, relative to what it is the child of; limits leave a bone its own channels,
too. What all this cannot reach (limits, partial influence) is found out by playing the result, and named.
"""

import bpy
import numpy as np
from mathutils import Matrix

from . import matrix
from .playing import go_to

#: What Blender may show beside what was simulated before it is worth a word: units, and degrees.
FAR, TURNED_DEG = 1e-3, 0.5

PARTS = {
    "COPY_TRANSFORMS": "both", "COPY_ROTATION": "turn", "COPY_LOCATION": "place", "IK": "tip",
    "DAMPED_TRACK": "ahead", "LOCKED_TRACK": "ahead", "TRACK_TO": "ahead",
}  # fmt: skip
#: Parts that are about a control's place alone.
PLACES = {"both", "place", "tip", "ahead", "pole"}
#: Constraints that leave a bone its own channels.
OWN = {"LIMIT_LOCATION", "LIMIT_ROTATION", "LIMIT_SCALE", "LIMIT_DISTANCE", "MAINTAIN_VOLUME", "CHILD_OF"}


class Outside(str):
    """The name of an object, in the place of a bone's: a control that is not of the rig."""

    __slots__ = ()
    # Not the bone of that name.
    __hash__ = str.__hash__

    def __eq__(self, other):
        return isinstance(other, Outside) and str.__eq__(self, other)


def outside(rig):
    """Objects that constraints of a rig's bones follow, and that could be keyed to lead them."""
    found = []
    for constraint in (c for bone in rig.pose.bones for c in bone.constraints if not c.mute and c.type in PARTS):
        for target in (constraint.target, getattr(constraint, "pole_target", None)):
            if target is not None and target.type != "ARMATURE" and target.library is None and target not in found:
                found.append(target)
    # What something else moves could not be led.
    return [target for target in found if all(c.mute for c in target.constraints)]


def plan(obj, simulated, others=()):
    """For every control: what it gets of which bone. And the bones that nothing drives, which are keyed themselves. `others` are
    names of objects that may be keyed, too."""
    wanted, found, driven, unsolved = set(simulated), {}, set(), []
    for bone in obj.pose.bones:
        for constraint in bone.constraints:
            if constraint.mute or constraint.influence == 0.0 or constraint.type in OWN:
                continue
            moved = _moved(bone, constraint)
            hit = wanted.intersection(moved)
            if not hit:
                continue
            control = _control(obj, constraint, others)
            if control is None or control in wanted:
                unsolved.append(f"{bone.name}: {constraint.name}")
            else:
                found.setdefault(control, {})[PARTS[constraint.type]] = bone.name
                pole = _pole(obj, constraint, others)
                if pole is not None and pole not in wanted:
                    found.setdefault(pole, {})["pole"] = (bone.name, constraint.name)
            driven |= hit
    return found, [name for name in simulated if name not in driven], unsolved


def _moved(bone, constraint):
    if constraint.type not in ("IK", "SPLINE_IK"):
        return [bone.name]
    uses_tip = constraint.type == "SPLINE_IK" or constraint.use_tail
    chain = ([bone] if uses_tip else []) + list(bone.parent_recursive)
    return [b.name for b in chain[: constraint.chain_count or len(chain)]]


def _pole(obj, constraint, others):
    """What an IK chain bends towards, if it can be keyed."""
    if constraint.type != "IK":
        return None
    return _target(obj, constraint.pole_target, constraint.pole_subtarget, others)


def _target(obj, target, bone, others):
    """A bone of the same rig, or another object; None for anything else."""
    if target == obj:
        return bone or None
    return Outside(target.name) if target is not None and target.name in others else None


def _control(obj, constraint, others):
    """What a constraint follows as it is; None where it does more than that."""
    target = _target(obj, constraint.target, constraint.subtarget, others) if constraint.type in PARTS else None
    if target is None or constraint.influence != 1.0:
        return None
    if constraint.type == "IK":
        return target if constraint.use_tail and not constraint.use_rotation else None
    if PARTS[constraint.type] == "ahead":
        is_along = constraint.track_axis == "TRACK_Y"
        return target if is_along and constraint.head_tail == 0.0 else None
    if constraint.owner_space != constraint.target_space or constraint.owner_space not in ("WORLD", "POSE"):
        return None
    if constraint.type == "COPY_TRANSFORMS":
        is_whole = constraint.mix_mode == "REPLACE"
    else:
        is_whole = all((constraint.use_x, constraint.use_y, constraint.use_z)) and not any(
            (constraint.invert_x, constraint.invert_y, constraint.invert_z)
        )
        if constraint.type == "COPY_ROTATION":
            is_whole = is_whole and constraint.mix_mode == "REPLACE"
        else:
            is_whole = is_whole and not constraint.use_offset and constraint.head_tail == 0.0
    return target if is_whole else None


def _unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


class Solved:
    """Poses of all bones of a rig over all frames, in the armature's space: simulated, controls, and what hangs on them."""

    def __init__(self, capture, obj, result, found):
        self.capture, self.obj, self.owner = capture, obj, obj.name
        above = capture.by_source[(obj.name, None)]
        keyed_to, result_to = np.linalg.inv(above.world), np.linalg.inv(result(above))
        self.poses, self._keyed = {}, {}
        keyed = self._keyed
        for bone in sorted(obj.pose.bones, key=lambda b: len(b.parent_recursive)):
            node = capture.by_source[(obj.name, bone.name)]
            keyed[bone.name] = keyed_to @ node.world @ matrix.BONE.T
            # Where it was simulated, or is carried by what was.
            self.poses[bone.name] = result_to @ result(node) @ matrix.BONE.T
        for bone in sorted(obj.pose.bones, key=lambda b: len(b.parent_recursive)):
            if bone.name in found:
                self.poses[bone.name] = self._wanted(bone.name, found[bone.name], keyed[bone.name])
            elif bone.parent is not None and bone.parent.name in found:
                local = np.linalg.solve(keyed[bone.parent.name], keyed[bone.name])
                self.poses[bone.name] = self.poses[bone.parent.name] @ local
        for name in (n for n in found if isinstance(n, Outside)):
            keyed[name] = self.poses[name] = keyed_to @ capture.by_source[(str(name), None)].world
            self.poses[name] = self._wanted(name, found[name], keyed[name])
        self._to_world = result(above)

    def _wanted(self, own, parts, keyed):
        pose = self.poses[own].copy()
        if "both" in parts:
            return self.poses[parts["both"]]
        if "turn" in parts:
            pose[:, :3, :3] = self.poses[parts["turn"]][:, :3, :3]
        if "place" in parts:
            pose[:, :3, 3] = self.poses[parts["place"]][:, :3, 3]
        elif "pole" in parts:
            pose[:, :3, 3] = self._pole(keyed, *parts["pole"])
        elif "ahead" in parts:
            name = parts["ahead"]
            # As far ahead of the bone as it was keyed.
            far = np.linalg.norm(keyed[:, :3, 3] - self._keyed[name][:, :3, 3], axis=1)
            aim = self.poses[name]
            pose[:, :3, 3] = aim[:, :3, 3] + far[:, None] * aim[:, :3, 1]
        elif "tip" in parts:
            length = self.obj.pose.bones[parts["tip"]].length
            pose[:, :3, 3] = (self.poses[parts["tip"]] @ np.array([0.0, length, 0.0, 1.0]))[:, :3]
        else:
            pose[:, :3, 3] = keyed[:, :3, 3]
        return pose

    def _pole(self, keyed, name, constraint):
        """Where a pole must be for the chain to bend as simulated. Blender turns a chain about the line from its start to
        its tip until it faces the pole; how far from the knee that is stays as it was keyed."""
        found = self.obj.pose.bones[name].constraints[constraint]
        last = self.obj.pose.bones[name]
        chain = ([last] if found.use_tail else []) + list(last.parent_recursive)
        chain = chain[: found.chain_count or len(chain)]
        first, second = chain[-1].name, chain[-2].name if len(chain) > 1 else None
        tip = np.array([0.0, last.length if found.use_tail else 0.0, 0.0, 1.0])

        def across(vectors, along):
            return vectors - np.sum(vectors * along, axis=1, keepdims=True) * along

        def frame(poses):
            """Start of the chain, its direction, and two directions across: to the knee, and square to that."""
            root = poses[first]
            along = _unit((poses[name] @ tip)[:, :3] - root[:, :3, 3])
            knee = across(poses[second][:, :3, 3] - root[:, :3, 3], along) if second else np.zeros_like(along)
            # A straight chain has none: then the first bone's own X says where it is.
            straight = np.linalg.norm(knee, axis=1, keepdims=True) < 1e-4 * last.length
            knee = _unit(np.where(straight, across(root[:, :3, 0], along), knee))
            return root[:, :3, 3], along, knee, np.cross(along, knee)

        start, along, knee, side = frame(self._keyed)
        away = keyed[:, :3, 3] - start
        parts = [np.sum(away * direction, axis=1, keepdims=True) for direction in (along, knee, side)]
        start, *directions = frame(self.poses)
        return start + sum(part * direction for part, direction in zip(parts, directions))

    def world(self, name):
        """Where a control is to be in the world, frame by frame."""
        return self._to_world @ self.poses[name]

    def basis(self, name):
        """What to key: matrices of a bone's own channels, frame by frame, as Blender itself finds them."""
        bone = self.obj.pose.bones[name]
        found = np.empty((len(self.capture.frames), 4, 4))
        for i, pose in enumerate(self._before_constraints(bone)):
            more = {}
            if bone.parent is not None:
                more["parent_matrix"] = Matrix(self.poses[bone.parent.name][i])
                more["parent_matrix_local"] = bone.parent.bone.matrix_local
            found[i] = bone.bone.convert_local_to_pose(Matrix(pose), bone.bone.matrix_local, invert=True, **more)
        return found

    def _before_constraints(self, bone):
        """Poses of a bone as its own channels must have it: a Child Of comes on top of them."""
        poses = self.poses[bone.name]
        for constraint in reversed(bone.constraints):
            if constraint.type != "CHILD_OF" or constraint.mute or constraint.influence != 1.0:
                continue
            if constraint.target != self.obj or constraint.subtarget not in self.poses:
                continue
            above = self.poses[constraint.subtarget] @ np.array(constraint.inverse_matrix, dtype=float)
            poses = np.linalg.solve(above, poses)
        return poses

    def missed(self, names):
        """Plays the result, and yields how many frames are played; gives the bones that are not where they were
        simulated, with how far off they are."""
        self.obj = None
        scene = bpy.data.scenes[self.capture.scene_name]
        before = (scene.frame_current, scene.frame_subframe)
        worst = {}
        try:
            for i, frame in enumerate(self.capture.frames):
                go_to(scene, int(frame))
                pose = bpy.data.objects[self.owner].evaluated_get(bpy.context.evaluated_depsgraph_get()).pose
                for name in names:
                    far, turned = _apart(np.array(pose.bones[name].matrix), self.poses[name][i])
                    old = worst.get(name, (0.0, 0.0))
                    worst[name] = (max(old[0], far), max(old[1], turned))
                yield i + 1
        finally:
            scene = bpy.data.scenes.get(self.capture.scene_name)
            if scene is not None:
                go_to(scene, *before)
        return {n: w for n, w in worst.items() if w[0] > FAR or w[1] > TURNED_DEG}


def _apart(shown, wanted):
    """Units and degrees between two poses."""
    cosine = (np.trace(shown[:3, :3].T @ wanted[:3, :3]) - 1.0) / 2.0
    turned = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    return float(np.abs(shown[:3, 3] - wanted[:3, 3]).max()), float(turned)
