"""Puts what a job baked into new actions: only the channels that were simulated, nothing else is touched."""

import math
import re

import bpy
import numpy as np
from mathutils import Matrix

from . import action, back, controls, fcurve, hermite, matrix, origin, pressed, rotation

SUFFIX = " (Sinew)"
#: The same at the end of a name, with the number that Blender may have given it.
NUMBERED = re.compile(r" \(Sinew\)(\.\d+)?$")
#: So many rotations are turned into angles at once: a few milliseconds' worth.
TURNS = 10_000


class Writer:
    """Writes one job. Everything is looked up by name: what is gone is named in `warnings`, and left out."""

    def __init__(self, run, settings):
        self.capture, self.job, self.settings = run.capture, run.job, settings
        self.every_frame = settings.keys == "every_frame"
        self.warnings = []
        self.actions = []
        self.muted = []
        #: Names of new actions by the object that has them, and of the curves that were written in each.
        self._fresh, self._written = {}, {}
        #: Controls that were solved for, and the bones that follow them.
        self._solved = []
        self.copies = {}
        self.locked = []
        self._kept = {}
        #: Euler angles that were found for many objects at once, at every frame.
        self._angles = {}
        #: The channels that are written to.
        self._open = None
        self.curves = self._collected(run.curves)
        #: The same by object: its bones that have some, None for the object itself.
        self._bones_of = {}
        for owner, bone in self.curves:
            self._bones_of.setdefault(owner, []).append(bone)

    def _collected(self, curves):
        """The job's curves, by whose they are: (object, bone or None), then property."""
        by_index = {node.index: node for node in self.capture.nodes}
        found = {}
        for curve in curves:
            node = by_index.get(curve.node)
            if node is not None and curve.property in ("translation", "rotation"):
                found.setdefault((node.owner, node.bone), {})[curve.property] = curve
        return found

    def write(self):
        """All of it; gives the names of the new actions."""
        for step in (self.writing, self.looking):
            for _ in step():
                pass
        return self.actions

    def writing(self):
        """Writes object by object and bone by bone; yields after each."""
        yield from self._turn_all()
        for owner, bones in self._bones_of.items():
            obj = bpy.data.objects.get(owner)
            if obj is None:
                self.warnings.append(f'"{owner}" is gone; its motion was not written')
                continue
            for _ in self._write_object(obj, bones):
                self._open = None
                yield
        self._press(self.job)
        for owner, fresh in self._fresh.items():
            obj, found = bpy.data.objects.get(owner), bpy.data.actions.get(fresh)
            if obj is not None and found is not None and origin.own_action(obj) == found:
                origin.seal(obj, found, self._written.get(owner, ()))
        if self.locked:
            self.warnings.append(f"locked, so left as they were: {', '.join(self.locked)}")

    def _turn_all(self):
        """Finds the Euler angles of objects that have a key at every frame, many at a time; yields after each lot."""
        alike = {}
        for (owner, bone), found in self.curves.items():
            obj, curve = bpy.data.objects.get(owner), found.get("rotation")
            if bone is not None or obj is None or curve is None or curve.interpolation == "cubic":
                continue
            if obj.rotation_mode in rotation.ORDERS and not any(obj.delta_rotation_euler):
                alike.setdefault((obj.rotation_mode, len(curve.times)), []).append((owner, curve))
        for (order, count), all_of_them in alike.items():
            at_once = max(1, TURNS // count)
            for i in range(0, len(all_of_them), at_once):
                lot = all_of_them[i : i + at_once]
                before = [self.capture.eulers.get((owner, None), (0.0, 0.0, 0.0)) for owner, _ in lot]
                turns = np.stack([np.asarray(curve.values) for _, curve in lot])
                angles = rotation.as_euler(turns, order, np.array(before))
                self._angles |= {owner: found for (owner, _), found in zip(lot, angles)}
                yield

    def looking(self):
        """Plays what was written onto controls, to name the bones that those cannot bring there; yields how many frames
        were played. May be left off: everything is written."""
        for solved, simulated in self._solved:
            missed = yield from solved.missed(simulated)
            for name, (far, turned) in missed.items():
                self.warnings.append(
                    f'bone "{name}" of "{solved.owner}" is up to {far:.4f} units and {turned:.1f} degrees off what was '
                    "simulated: its controls cannot reach that. Choose its bones or a clean copy to have it exactly"
                )

    def _press(self, job):
        made, warnings = pressed.write(self.capture, job)
        self.actions += made
        self.warnings += warnings

    def _write_object(self, obj, bones):
        capture = self.capture
        on_bones = [b for b in bones if b is not None]
        self._make_way(obj)
        target = self._target(obj, on_bones)
        if None in bones or on_bones:
            self._new_action(target if on_bones else obj)
            origin.own_action(target).sinew_origin.is_copy = target is not obj
        if None in bones:
            if on_bones and target is not obj:
                self._new_action(obj)
            self._mute(obj, obj.constraints)
            self._let_keys_rule(obj)
            self._channels(obj, capture.by_source[(obj.name, None)], obj, "", obj.name)
        if on_bones:
            write = self._write_controls if self.settings.skeleton == "controls" else self._write_bones
            yield from write(obj, target, on_bones)
        else:
            yield

    def _write_bones(self, obj, target, simulated):
        followers = self._free_bones(target, simulated) if target is obj else self.capture.bones[obj.name]
        owner, name_of_target = obj.name, target.name
        for name in dict.fromkeys([*simulated, *followers]):
            # Looked up anew: what is between two yields may take anything away.
            target = bpy.data.objects.get(name_of_target)
            bone = target.pose.bones.get(name) if target is not None else None
            if bone is None or target.animation_data is None or target.animation_data.action is None:
                self.warnings.append(f'bone "{name}" of "{owner}" is gone; its motion was not written')
                continue
            path = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
            self._channels(target, self.capture.by_source[(owner, name)], bone, path, name)
            yield

    def _write_controls(self, obj, _target, simulated):
        """Keys for the controls that constraints follow, and for bones that follow nothing; constraints stay alive."""
        others = {o.name for o in controls.outside(obj)} & self._leadable(obj)
        found, own, unsolved = controls.plan(obj, simulated, others)
        solved = controls.Solved(self.capture, obj, self._world, found)
        frames = self.capture.frames.astype(float)
        for name in [*found, *own]:
            parts, outside = found.get(name, {"both": name}), isinstance(name, controls.Outside)
            holder = bpy.data.objects[name] if outside else obj.pose.bones[name]
            path = "" if outside else f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
            node = self.capture.by_source[(str(name), None) if outside else (obj.name, name)]
            basis = self._lead(holder, obj, node, solved.world(name)) if outside else solved.basis(name)
            owner = holder if outside else obj
            t, q, _, _ = matrix.decompose(basis, matrix.signs(holder.scale))
            if controls.PLACES.intersection(parts):
                self._write_location(owner, holder, path, name, (frames, t, None, None), True)
            if {"both", "turn"}.intersection(parts):
                self._write_rotation(owner, node, holder, path, name, (frames, q, None, None))
        self._solved.append((solved, simulated))
        if unsolved:
            self.warnings.append(f"constraints that no control is solved for, left alive: {', '.join(unsolved)}")
        yield

    def _leadable(self, obj):
        """Names of objects that were read and are nobody's: neither simulated nor led by another rig."""
        read = {owner for (owner, bone), node in self.capture.by_source.items() if bone is None and not node.simulated}
        return read - set(self._fresh) - {obj.name}

    def _lead(self, control, rig, node, worlds):
        """Gives an object that leads a rig an action of its own; gives its channels for these places in the world."""
        self._make_way(control)
        self._new_action(control)
        origin.own_action(control).sinew_origin.rig = rig
        above = np.eye(4) if node.parent is None else self._world(node.parent)
        return np.linalg.solve(above if node.offset is None else above @ node.offset, worlds)

    def _target(self, obj, on_bones):
        """Where the motion of an object's bones goes."""
        return self._copy(obj) if on_bones and self.settings.skeleton == "copy" else obj

    def _make_way(self, obj):
        """What an earlier run made of an object goes, so that a result is the same whatever was there before."""
        words = back.restore(obj)
        if words:
            self.warnings.append(words)

    def _new_action(self, obj):
        had_data, handle = obj.animation_data is not None, action.slot_handle(obj)
        data = action.ensure(obj)
        if data.use_tweak_mode:
            data.use_tweak_mode = False
        old, track = data.action, ""
        name = NUMBERED.sub("", obj.name if old is None else old.name) + SUFFIX
        if self.settings.result == "layer" and old is not None and not origin.is_result(old):
            data.action = None
            track = action.push_down(obj, old, handle, "Keys").name
            fresh = bpy.data.actions.new(action.free_name(name))
            action.assign(obj, fresh)
        else:
            fresh = action.new_like(obj, name)
        bones = [b for b in self._bones_of.get(obj.name, ()) if b is not None and b in obj.pose.bones]
        origin.remember(fresh, old, had_data, handle, origin.channels_of(obj, bones), track)
        self._fresh[obj.name] = fresh.name
        self._open = None
        self.actions.append(fresh.name)

    def _copy(self, obj):
        """A skeleton of its own where the rig is: carried by it, without constraints, every bone keyed."""
        fresh = bpy.data.objects.new(obj.name + SUFFIX, obj.data)
        for collection in obj.users_collection or [bpy.context.scene.collection]:
            collection.objects.link(fresh)
        fresh.parent = obj
        bpy.context.view_layer.update()
        for bone in fresh.pose.bones:
            bone.rotation_mode = "QUATERNION"
        for skin, armature in self.capture.skins.items():
            mesh = bpy.data.objects.get(skin)
            for modifier in mesh.modifiers if mesh is not None and armature == obj.name else ():
                if modifier.type == "ARMATURE" and modifier.object == obj:
                    modifier.object = fresh
        self.copies[obj.name] = fresh.name
        return fresh

    def _mute(self, obj, constraints, bone=""):
        for constraint in constraints:
            if not constraint.mute:
                constraint.mute = True
                self.muted.append(f"{bone or obj.name}: {constraint.name}")
                origin.mute(origin.own_action(obj), bone, constraint.name)

    def _let_keys_rule(self, obj):
        """Blender's own simulation would go on to move an active rigid body, whatever its keys are."""
        rigid = obj.rigid_body
        if rigid is None or rigid.type != "ACTIVE":
            return
        found = action.curves(obj)
        # Keyed to be let go: in the new action it is not.
        was_keyed = found is not None and action.remove_curve(found, "rigid_body.kinematic", 0)
        if was_keyed or not rigid.kinematic:
            origin.note(origin.own_action(obj), kinematic=rigid.kinematic)
            rigid.kinematic = True
            obj.sinew.was_active = True

    def _free_bones(self, obj, simulated):
        """Mutes constraints that move simulated bones; gives other bones that those moved, to be keyed as they were."""
        wanted, followers = set(simulated), set()
        for bone in obj.pose.bones:
            for constraint in bone.constraints:
                moved = [bone]
                if constraint.type in ("IK", "SPLINE_IK"):
                    count = constraint.chain_count or 1000
                    uses_tip = constraint.type == "SPLINE_IK" or constraint.use_tail
                    chain = ([bone] if uses_tip else []) + list(bone.parent_recursive)
                    moved = chain[:count]
                if constraint.mute or not wanted.intersection(b.name for b in moved):
                    continue
                self._mute(obj, [constraint], bone.name)
                followers.update(b.name for b in moved)
        return followers - wanted

    def _put(self, owner, path, index, frames, values, arriving=None, leaving=None, group=""):
        """One channel's keys; a curve that is locked stays as it is."""
        channels = self._channels_of(owner)
        if channels.is_locked(path, index):
            axis = "AXYZ"[index] if path.endswith("axis_angle") else "XYZ"[index]
            self.locked.append(f"{group} {path.rpartition('.')[2].partition('_')[0]} {axis}")
            return
        self._set(channels, path, index, frames, values, arriving, leaving, group)

    def _set(self, channels, path, index, frames, values, arriving, leaving, group):
        made = action.write(channels, path, index, frames, values, arriving, leaving, group)
        self._written.setdefault(channels.owner, []).append(fcurve.name(made))

    def _channels_of(self, owner):
        if self._open is None or self._open.owner != owner.name:
            self._open = action.Channels(owner)
        return self._open

    # Channels --------------------------------------------------------------------------------------------------------

    def _channels(self, owner, node, source, path, label):
        found = self.curves.get((node.owner, node.bone), {})
        is_bone = node.bone is not None
        for name in ("translation", "rotation"):
            curve = found.get(name)
            if curve is None and not is_bone:
                continue
            if is_bone and is_special(source.bone):
                keys = self._special_basis(node, source, name)
            else:
                keys = self._keys(curve, node, name)
                if keys is None:
                    continue
                keys = self._to_basis(keys, node, source, name) if is_bone else keys
            if name == "translation":
                self._write_location(owner, source, path, label, keys, curve is not None)
            else:
                self._write_rotation(owner, node, source, path, label, keys)

    def _keys(self, curve, node, name):
        """Frames, values, tangents per frame (or None), relative to what is above; None to leave them alone."""
        capture = self.capture
        if curve is None:
            values = node.local[0 if name == "translation" else 1]
            return capture.frames.astype(float), values, None, None
        frames = capture.first + np.asarray(curve.times) * capture.rate
        values = np.asarray(curve.values)
        if curve.interpolation != "cubic":
            return frames, values, None, None
        return frames, values, np.asarray(curve.arriving) / capture.rate, np.asarray(curve.leaving) / capture.rate

    def _to_basis(self, keys, node, bone, name):
        """Bones keep their channels relative to how they rest: a constant turn and shift, so keys stay keys."""
        frames, values, *tangents = keys
        turn, shift, whole = self._rest(node, bone)
        if name == "translation":
            turned = [None if v is None else v @ turn.T for v in tangents]
            return (frames, values @ turn.T - shift, *turned)
        turned = [None if v is None else v @ whole.T for v in tangents]
        return (frames, values @ whole.T, *turned)

    def _rest(self, node, bone):
        """How a bone's channels come from its node: the turn and the shift of places, and the matrix for quaternions."""
        key = (node.owner, node.bone)
        found = self.capture.rests.get(key)
        if found is None:
            rest = bone.bone.matrix_local
            is_root = bone.parent is None
            if not is_root:
                rest = bone.parent.bone.matrix_local.inverted() @ rest
            t, q, _, _ = matrix.decompose(np.array(rest, dtype=float)[None])
            back = matrix.conjugate(q[0])
            # The frames of bones' nodes are turned: see matrix.BONE.
            left = back if is_root else matrix.product(back, matrix.BONE_TURN)
            turn = rotation.matrices(left[None])[0]
            shift = matrix.rotate(back, t[0])
            found = (turn, shift, matrix.between(left, matrix.conjugate(matrix.BONE_TURN)))
            self.capture.rests[key] = found
        return found

    def _special_basis(self, node, bone, name):
        """Bones that do not take everything over from their parents: Blender itself says what to key, frame by frame."""
        rest = bone.bone.matrix_local
        above = self.capture.by_source[(node.owner, None)]
        to_armature = np.linalg.inv(self._world(above))
        poses = to_armature @ self._world(node) @ matrix.BONE.T
        parents = to_armature @ self._world(node.parent) @ matrix.BONE.T if bone.parent is not None else None
        found = np.empty_like(poses)
        for i, pose in enumerate(poses):
            more = {}
            if parents is not None:
                more = {"parent_matrix": Matrix(parents[i]), "parent_matrix_local": bone.parent.bone.matrix_local}
            found[i] = bone.bone.convert_local_to_pose(Matrix(pose), rest, invert=True, **more)
        t, q, _, _ = matrix.decompose(found, matrix.signs(bone.scale))
        return self.capture.frames.astype(float), t if name == "translation" else q, None, None

    def _world(self, node):
        """Where a node is at every frame of the result."""
        key = (node.owner, node.bone)
        if key in self._kept:
            return self._kept[key]
        count = len(self.capture.frames)
        found = np.zeros((count, 4, 4))
        t, q, s = node.local
        times = (self.capture.frames - self.capture.first) / self.capture.rate
        curves = self.curves.get(key, {})
        t = hermite.evaluate(curves["translation"], times) if "translation" in curves else t
        q = hermite.evaluate(curves["rotation"], times) if "rotation" in curves else q
        for axis in range(3):
            unit = np.zeros((count, 3))
            unit[:, axis] = s[:, axis]
            found[:, :3, axis] = matrix.rotate(q, unit)
        found[:, :3, 3], found[:, 3, 3] = t, 1.0
        if node.offset is not None:
            found = node.offset @ found
        if node.parent is not None:
            found = self._world(node.parent) @ found
        self._kept[key] = found
        return found

    def _write_location(self, owner, source, path, label, keys, simulated):
        frames, values, arriving, leaving = keys
        if not simulated and np.abs(values).max() < 1e-6:
            return
        delta = getattr(source, "delta_location", None)
        if delta is not None:
            values = values - np.array(delta)
        for axis in range(3):
            if source.lock_location[axis]:
                self.locked.append(f"{label} location {'XYZ'[axis]}")
                continue
            slopes = (None, None) if arriving is None else (arriving[:, axis], leaving[:, axis])
            self._put(owner, path + "location", axis, frames, values[:, axis], *slopes, group=label)

    def _write_rotation(self, owner, node, source, path, label, keys):
        frames, values, arriving, leaving = keys
        mode = source.rotation_mode
        back = None
        if node.bone is None:
            # What is keyed is turned once more by the delta, if there is one.
            x, y, z = source.delta_rotation_euler
            w = source.delta_rotation_quaternion
            if mode == "QUATERNION" and tuple(w) != (1.0, 0.0, 0.0, 0.0):
                back = matrix.conjugate((w.x, w.y, w.z, w.w))
            elif mode not in ("QUATERNION", "AXIS_ANGLE") and (x, y, z) != (0.0, 0.0, 0.0):
                d = source.delta_rotation_euler.to_quaternion()
                back = matrix.conjugate((d.x, d.y, d.z, d.w))
        if back is not None:
            values = matrix.product(back, values)
            if arriving is not None:
                arriving, leaving = matrix.product(back, arriving), matrix.product(back, leaving)
        keys = (frames, values, arriving, leaving)
        if mode == "QUATERNION":
            self._write_quaternion(owner, source, path, label, keys)
        elif mode == "AXIS_ANGLE":
            self._write_axis_angle(owner, path, label, keys)
        else:
            self._write_euler(owner, node, source, path, label, keys)

    def _write_quaternion(self, owner, source, path, label, keys):
        frames, values, arriving, leaving = keys
        name, channels = path + "rotation_quaternion", self._channels_of(owner)
        # Some of the four without the others would be another turn.
        is_locked = any(channels.is_locked(name, part) for part in range(4))
        if is_locked or any(source.lock_rotation) or (source.lock_rotations_4d and source.lock_rotation_w):
            self.locked.append(f"{label} rotation")
            return
        if arriving is None:
            values = matrix.continuous(values)
        for part, axis in enumerate((3, 0, 1, 2)):
            slopes = (None, None) if arriving is None else (arriving[:, axis], leaving[:, axis])
            self._put(owner, name, part, frames, values[:, axis], *slopes, group=label)

    def _write_axis_angle(self, owner, path, label, keys):
        frames, values = self._every_frame(keys)
        found = rotation.as_axis_angle(values)
        for part in range(4):
            self._put(owner, path + "rotation_axis_angle", part, frames, found[:, part], group=label)

    def _write_euler(self, owner, node, source, path, label, keys):
        order = source.rotation_mode
        before = self.capture.eulers.get((node.owner, node.bone), (0.0, 0.0, 0.0))
        frames, values = self._every_frame(keys)
        found = self._angles.get(node.owner) if node.bone is None and keys[2] is None else None
        angles = rotation.as_euler(values, order, before) if found is None or len(found) != len(values) else found
        arriving = leaving = None
        if keys[2] is not None and len(frames) > 2:
            # Slopes from just before and just after every frame, so that hits stay sharp.
            step = rotation.SLOPE_FRAMES
            near = [self._at(keys, np.clip(frames + d, frames[0], frames[-1])) for d in (-step, step)]
            early, late = (rotation.euler_near(n, order, angles) for n in near)
            arriving, leaving = (angles - early) / step, (late - angles) / step
            arriving[0], leaving[-1] = leaving[0], arriving[-1]
            tolerance = math.radians(self.settings.tolerance_deg)
            wanted = np.rint(keys[0] - frames[0])
            kept = hermite.few_keys(angles, arriving, leaving, wanted, tolerance)
            frames, angles = frames[kept], angles[kept]
            arriving, leaving = arriving[kept], leaving[kept]
        for axis in range(3):
            if source.lock_rotation[axis]:
                self.locked.append(f"{label} rotation {'XYZ'[axis]}")
                continue
            slopes = (None, None) if arriving is None else (arriving[:, axis], leaving[:, axis])
            self._put(owner, path + "rotation_euler", axis, frames, angles[:, axis], *slopes, group=label)

    def _every_frame(self, keys):
        """The rotation at every whole frame that the keys span."""
        frames = np.arange(math.floor(keys[0][0] + 0.5), math.floor(keys[0][-1] + 0.5) + 1, dtype=float)
        if keys[2] is None and len(frames) == len(keys[0]):
            return frames, keys[1]
        return frames, self._at(keys, frames)

    @staticmethod
    def _at(keys, frames):
        from .sinew import Curve

        kind = "linear" if keys[2] is None else "cubic"
        return hermite.evaluate(Curve(0, "rotation", kind, *keys), frames)


def is_special(bone):
    """Whether a bone's channels are not simply relative to its parent."""
    if bone.parent is None:
        return False
    return not bone.use_inherit_rotation or not bone.use_local_location or bone.inherit_scale != "FULL"
