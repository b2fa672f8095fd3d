"""Joints of a set-up file into the panel: the other way round than `own_joints`.

Where the file has a joint at a place that no object is at, or about an axis that none has, an empty is made there.
"""

import math

import bpy
from mathutils import Matrix, Quaternion, Vector

from . import joint_panel, keyed
from . import joint_properties as having
from .own_joints import DIRECTIONS

#: Directions whose cosine is closer to 1 than this, and places closer than this, in units, are the same.
SAME_AXIS, SAME_PLACE = 1e-6, 1e-4
KINDS = {kind for kind, *_ in having.KINDS}


def apply(scene, joints, find):
    """Sets up all joints of a file; `find` gives the object or bone of a name. How many, and words about the others.

    The places and axes of a file are those of the first frame: whoever calls has gone there.
    """
    count, missing = 0, []
    for said in joints:
        ends = [None if name == "world" else find(name) for name in said["between"]]
        named = said.get("name") or " to ".join(said["between"])
        lost = [name for name, end in zip(said["between"], ends) if end is None and name != "world"]
        if lost:
            missing.append(f"the joint {named} ({', '.join(lost)})")
        elif _is_there(said, ends):
            continue
        elif said["kind"] not in KINDS or ends == [None, None]:
            missing.append(f"the joint {named} ({said['kind']}, which the panel has not)")
        else:
            _Joint(scene, said, ends, find).make(named)
            count += 1
    return count, missing


def _is_there(said, ends):
    """Whether it is one that comes by itself: between bones of a figure, or of a rigid-body constraint."""
    bones = [isinstance(end, bpy.types.PoseBone) for end in ends]
    if all(bones) and ends[0].id_data == ends[1].id_data and "at" not in said:
        return True
    empty = bpy.data.objects.get(said.get("name") or "")
    return empty is not None and empty.rigid_body_constraint is not None


class _Joint:
    """One joint on its way from a file to an object."""

    def __init__(self, scene, said, ends, find):
        self.scene, self.said, self.find = scene, said, find
        # The second is the one that is joined, unless it is the world.
        self.is_swapped = ends[1] is None
        self.other, self.own = reversed(ends) if self.is_swapped else ends

    def make(self, named):
        owner, bone = _parts(self.own)
        other, other_bone = _parts(self.other)
        item = owner.sinew_joints.get(named)
        if item is None:
            item = joint_panel.add(owner, bone, self.said["kind"], other, other_bone)
        for name in having.SETTINGS:
            item.property_unset(name)
        item.name, item.kind = named, self.said["kind"]
        item.bone, item.other, item.other_bone = bone, other, other_bone
        self._place(item)
        self._settings(item)

    # Where ------------------------------------------------------------------------------------------------------------

    def _place(self, item):
        item.pivot = item.other_pivot = None
        if "frames" in self.said:
            frames = [_framed(end, frame) for end, frame in zip(self._ends(), self.said["frames"])]
            there, here = reversed(frames) if self.is_swapped else frames
            item.axis = "X"
            item.pivot = self._empty(f"{item.name} pivot", here, self.own)
            if (there.translation - here.translation).length > SAME_PLACE:
                item.other_pivot = self._empty(f"{item.name} other side", there, self.other)
            return
        at = self.said.get("at")
        there, here = at if isinstance(at, list) else (None, at)
        if self.is_swapped and there is not None:
            there, here = here, there
        holder = self.own if here is None else self.find(here) or self.own
        item.pivot = self._pivot(holder, self.own, f"{item.name} pivot")
        if there is not None:
            found = self.find(there) or self.other
            if not (found == self.other and item.kind in having.LONG):
                item.other_pivot = self._pivot(found, None, f"{item.name} other side")
        if item.kind not in (*having.ROUND, "inside_box"):
            self._axis(item, holder if item.pivot is None else item.pivot)

    def _ends(self):
        return [self.own, self.other] if self.is_swapped else [self.other, self.own]

    def _pivot(self, found, own, name):
        """The object that something is at; nothing for the object itself; an empty for a bone that is another."""
        if found is None or found == own:
            return None
        return self._empty(name, _world(found), found) if isinstance(found, bpy.types.PoseBone) else found

    def _axis(self, item, holder):
        wanted = self.said.get("axis")
        if wanted is None:
            item.axis = "X"
            return
        wanted = _z_up(wanted).normalized()
        world = _world(holder)
        for i, letter in enumerate("XYZ"):
            if world.col[i].to_3d().dot(wanted) > 1.0 - SAME_AXIS:
                item.axis = letter
                return
        turn = Vector((1.0, 0.0, 0.0)).rotation_difference(wanted).to_matrix().to_4x4()
        item.axis = "X"
        item.pivot = self._empty(f"{item.name} pivot", Matrix.Translation(world.translation) @ turn, self.own)

    def _empty(self, name, place, on):
        """An empty at a place, which moves along with an object or a bone."""
        empty = bpy.data.objects.new(name, None)
        empty.empty_display_size = 0.2
        self.scene.collection.objects.link(empty)
        if on is not None:
            owner, bone = _parts(on)
            empty.parent = owner
            if bone:
                empty.parent_type, empty.parent_bone = "BONE", bone
            bpy.context.view_layer.update()
        empty.matrix_world = place
        return empty

    # What -------------------------------------------------------------------------------------------------------------

    def _settings(self, item):
        said, sign = self.said, -1.0 if self.is_swapped else 1.0
        for name in ("length", "pitch", "break_force", "break_torque"):
            if said.get(name) is not None:
                setattr(item, name, said[name])
        item.breaks = said.get("break_force") is not None or said.get("break_torque") is not None
        if said.get("size") is not None:
            x, y, z = said["size"]
            item.size = (x, z, y)
        item.collide, item.grab = bool(said.get("collide")), bool(said.get("grab"))
        if said.get("on") is not None:
            self._put(item, "holds", said["on"] if isinstance(said["on"], dict) else said["on"] > 0.5)
        for name, field, scale in DIRECTIONS:
            self._direction(item, name, said.get(field) or {}, scale * sign)
        swing = said.get("swing_deg") or {}
        if swing.get("cone") is not None:
            # A cone of the panel is round.
            item.tilt_limited, item.tilt_max = True, math.radians(max(swing["cone"]))
        item.tilt_spring = swing.get("stiffness") is not None
        self._some(item, "tilt_", swing, ("stiffness", "damping"))
        give = said.get("give") or {}
        item.gives = bool(give)
        self._some(item, "give_", give, ("stiffness", "damping", "turn_stiffness", "turn_damping"))

    def _direction(self, item, name, words, scale):
        if words.get("limits") is not None:
            low, high = sorted(limit / scale for limit in words["limits"])
            setattr(item, f"{name}_limited", True)
            setattr(item, f"{name}_min", low)
            setattr(item, f"{name}_max", high)
        drive = "spring" if words.get("stiffness") is not None else "held" if words.get("rest") is not None else "free"
        setattr(item, f"{name}_drive", drive)
        if words.get("rest") is not None:
            self._put(item, f"{name}_rest", words["rest"], scale)
        self._some(item, f"{name}_", words, ("stiffness", "damping", "strength"))

    def _some(self, item, begin, words, names):
        for name in names:
            if words.get(name) is not None:
                self._put(item, begin + name, words[name])

    def _put(self, item, name, said, scale=1.0):
        keyed.put(item, name, said, self.scene, scale)


def _parts(end):
    """The object, and the name of the bone or nothing."""
    if end is None:
        return None, ""
    return (end.id_data, end.name) if isinstance(end, bpy.types.PoseBone) else (end, "")


def _world(end):
    """Where an object or a bone is, without its scale."""
    place = end.id_data.matrix_world @ end.matrix if isinstance(end, bpy.types.PoseBone) else end.matrix_world
    return place.normalized()


def _z_up(vector):
    """Y is up in a set-up."""
    x, y, z = vector
    return Vector((x, -z, y))


def _framed(end, frame):
    """A frame of a file, in the space of what it is on, in the world; its axes turned as those of objects are: an empty there
    has the joint's main axis for its X."""
    x, y, z, w = frame.get("rotation", (0.0, 0.0, 0.0, 1.0))
    turn = Quaternion((w, x, y, z)).to_matrix()
    # The frames of bones are Blender's own; those of objects, and the world's, have Y up.
    back = Vector if isinstance(end, bpy.types.PoseBone) else _z_up
    columns = [back(turn.col[i]) for i in (0, 2, 1)]
    local = Matrix((columns[0], -columns[1], columns[2])).transposed().to_4x4()
    local.translation = back(frame.get("position", (0.0, 0.0, 0.0)))
    return local if end is None else _world(end) @ local
