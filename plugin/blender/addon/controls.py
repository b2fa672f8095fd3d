"""Motion onto the controls of a rig: where controls must be for the constraints, left alive, to move bones as simulated.

| constraint on a simulated bone | its target gets |
|---|---|
| Copy Transforms | the bone's place and turn |
| Copy Rotation | its turn |
| Copy Location | its place |
| IK | the place of the chain's tip |

What this cannot reach (poles, limits, partial influence) is found out by playing the result, and named.
"""

import bpy
import numpy as np
from mathutils import Matrix

from . import matrix

#: What Blender may show beside what was simulated before it is worth a word: units, and degrees.
FAR, TURNED_DEG = 1e-3, 0.5

PARTS = {"COPY_TRANSFORMS": "both", "COPY_ROTATION": "turn", "COPY_LOCATION": "place", "IK": "tip"}


def plan(obj, simulated):
    """For every control: what it gets of which bone. And the bones that nothing drives, which are keyed themselves."""
    wanted, found, driven, unsolved = set(simulated), {}, set(), []
    for bone in obj.pose.bones:
        for constraint in bone.constraints:
            if constraint.mute or constraint.influence == 0.0:
                continue
            moved = _moved(bone, constraint)
            hit = wanted.intersection(moved)
            if not hit:
                continue
            control = _control(obj, bone, constraint)
            if control is None or control in wanted:
                unsolved.append(f"{bone.name}: {constraint.name}")
            else:
                found.setdefault(control, {})[PARTS[constraint.type]] = bone.name
            driven |= hit
    return found, [name for name in simulated if name not in driven], unsolved


def _moved(bone, constraint):
    if constraint.type not in ("IK", "SPLINE_IK"):
        return [bone.name]
    uses_tip = constraint.type == "SPLINE_IK" or constraint.use_tail
    chain = ([bone] if uses_tip else []) + list(bone.parent_recursive)
    return [b.name for b in chain[: constraint.chain_count or len(chain)]]


def _control(obj, bone, constraint):
    """The bone of the same rig that a constraint follows as it is; None where it does more than that."""
    if constraint.type not in PARTS or constraint.target != obj or not constraint.subtarget:
        return None
    if constraint.influence != 1.0:
        return None
    if constraint.type == "IK":
        return constraint.subtarget if constraint.use_tail and not constraint.use_rotation else None
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
    return constraint.subtarget if is_whole else None


class Solved:
    """Poses of all bones of a rig over all frames, in the armature's space: simulated, controls, and what hangs on them."""

    def __init__(self, capture, obj, result, found):
        self.capture, self.obj = capture, obj
        above = capture.by_source[(obj.name, None)]
        keyed_to, result_to = np.linalg.inv(above.world), np.linalg.inv(result(above))
        self.poses, keyed = {}, {}
        for bone in sorted(obj.pose.bones, key=lambda b: len(b.parent_recursive)):
            node = capture.by_source[(obj.name, bone.name)]
            keyed[bone.name] = keyed_to @ node.world @ matrix.BONE.T
            # Where it was simulated, or is carried by what was.
            self.poses[bone.name] = result_to @ result(node) @ matrix.BONE.T
        for bone in sorted(obj.pose.bones, key=lambda b: len(b.parent_recursive)):
            if bone.name in found:
                self.poses[bone.name] = self._wanted(bone, found[bone.name], keyed[bone.name])
            elif bone.parent is not None and bone.parent.name in found:
                local = np.linalg.solve(keyed[bone.parent.name], keyed[bone.name])
                self.poses[bone.name] = self.poses[bone.parent.name] @ local

    def _wanted(self, bone, parts, keyed):
        pose = self.poses[bone.name].copy()
        if "both" in parts:
            return self.poses[parts["both"]]
        if "turn" in parts:
            pose[:, :3, :3] = self.poses[parts["turn"]][:, :3, :3]
        if "place" in parts:
            pose[:, :3, 3] = self.poses[parts["place"]][:, :3, 3]
        elif "tip" in parts:
            length = self.obj.pose.bones[parts["tip"]].length
            pose[:, :3, 3] = (self.poses[parts["tip"]] @ np.array([0.0, length, 0.0, 1.0]))[:, :3]
        else:
            pose[:, :3, 3] = keyed[:, :3, 3]
        return pose

    def basis(self, name):
        """What to key: matrices of a bone's own channels, frame by frame, as Blender itself finds them."""
        bone = self.obj.pose.bones[name]
        found = np.empty((len(self.capture.frames), 4, 4))
        for i, pose in enumerate(self.poses[name]):
            more = {}
            if bone.parent is not None:
                more["parent_matrix"] = Matrix(self.poses[bone.parent.name][i])
                more["parent_matrix_local"] = bone.parent.bone.matrix_local
            found[i] = bone.bone.convert_local_to_pose(Matrix(pose), bone.bone.matrix_local, invert=True, **more)
        return found

    def missed(self, names):
        """Plays the result; gives the bones that are not where they were simulated, with how far off they are."""
        scene = bpy.data.scenes[self.capture.scene_name]
        before = (scene.frame_current, scene.frame_subframe)
        worst = {}
        for i, frame in enumerate(self.capture.frames):
            scene.frame_set(int(frame))
            pose = self.obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose
            for name in names:
                shown, wanted = np.array(pose.bones[name].matrix), self.poses[name][i]
                far = float(np.abs(shown[:3, 3] - wanted[:3, 3]).max())
                cosine = (np.trace(shown[:3, :3].T @ wanted[:3, :3]) - 1.0) / 2.0
                turned = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
                old = worst.get(name, (0.0, 0.0))
                worst[name] = (max(old[0], far), max(old[1], turned))
        scene.frame_set(before[0], subframe=before[1])
        return {n: w for n, w in worst.items() if w[0] > FAR or w[1] > TURNED_DEG}
