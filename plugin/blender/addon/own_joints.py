"""Joints that were made in the panel, as joints of a set-up. `joint_properties` says what is set of each, `joint_import` goes the
other way."""

import math

import bpy
import numpy as np

from . import joint_properties as having
from . import keyed, matrix

DEGREES = math.degrees(1.0)
#: Names of a direction's settings, and in a set-up; whether they are angles.
DIRECTIONS = (("turn", "turn_deg", DEGREES), ("slide", "slide", 1.0))


def name_of(owner, item):
    """What messages call a joint."""
    if item.name:
        return item.name
    other = "the world" if item.other is None else item.other_bone or item.other.name
    return f"{item.bone or owner.name} to {other}"


def involved(owner):
    """Of every joint of an object: the objects at its ends, and those that say where it is."""
    for item in owner.sinew_joints:
        yield [o for o in (owner, item.other) if o is not None], [o for o in (item.pivot, item.other_pivot) if o is not None]


def build(capture, warnings):
    """The joints of a captured scene as they are set now, and words about those that cannot be."""
    made = []
    for node in capture.nodes:
        owner = bpy.data.objects.get(node.owner) if node.bone is None else None
        if owner is None:
            continue
        for index, (ends, places) in enumerate(involved(owner)):
            item = owner.sinew_joints[index]
            try:
                _check_read(capture, (*ends, *places))
                if any(capture.by_source[(o.name, None)].simulated for o in ends):
                    made.append(_joint(capture, owner, index, item))
            except ValueError as trouble:
                warnings.append(f'the joint "{name_of(owner, item)}" of "{owner.name}" {trouble}; it is left out')
    return made


def _check_read(capture, objects):
    """Live mode reads once: what is chosen afterwards is not known to it. And what was deleted lives on in what points to it."""
    gone = [o.name for o in objects if (o.name, None) not in capture.by_source]
    if gone:
        shown = bpy.context.view_layer.objects
        why = "show it, or choose another" if any(n not in shown for n in gone) else "end Live and begin again to read it"
        raise ValueError(f"needs {', '.join(gone)}, which was not read; {why}")


def win(own, others, warnings):
    """Takes joints of rigid-body constraints away where one of the panel connects the same two, and says so."""
    pairs = {frozenset(joint["between"]): joint["name"] for joint in own}
    kept = []
    for joint in others:
        winner = pairs.get(frozenset(joint["between"]))
        if winner is None:
            kept.append(joint)
        else:
            warnings.append(
                f'"{joint["name"]}": the rigid-body constraint is left out, since the joint "{winner}" connects the same '
                "two; remove one of them"
            )
    return kept


def _joint(capture, owner, index, item):
    own = _node(capture, owner, item.bone)
    other = None if item.other is None else _node(capture, item.other, item.other_bone)
    if own is other:
        raise ValueError("joins something to itself; choose another object under To")
    at = own if item.pivot is None else capture.by_source[(item.pivot.name, None)]
    joint = {
        "name": name_of(owner, item),
        "kind": item.kind,
        "between": ["world" if other is None else capture.reference(other), capture.reference(own)],
        "at": _places(capture, item, at, other),
    }
    if item.kind not in (*having.ROUND, "inside_box"):
        joint["axis"] = world_axis(at, item.axis)
    _sizes(joint, item)
    values = _Values(capture, owner, index, item)
    for name, field, scale in DIRECTIONS:
        words = _direction(values, item, name, scale)
        if words:
            joint[field] = words
    if item.kind in having.TILTING:
        tilts = {"cone": [math.degrees(item.tilt_max)] * 2} if item.tilt_limited else {}
        if item.tilt_spring:
            tilts |= {what: values.of(f"tilt_{what}") for what in ("stiffness", "damping")}
        if tilts:
            joint["swing_deg"] = tilts
    if item.gives:
        joint["give"] = {what: values.of(f"give_{what}") for what in ("stiffness", "damping")}
        if item.kind in having.HOLDING_TURNS and item.is_property_set("give_turn_stiffness"):
            joint["give"] |= {f"turn_{what}": values.of(f"give_turn_{what}") for what in ("stiffness", "damping")}
    _hold(joint, item, values)
    return joint


def _node(capture, owner, bone):
    """The node of an object, or of its bone."""
    if owner.type == "ARMATURE" and not bone:
        raise ValueError(f'does not say which bone of "{owner.name}" it joins; choose one')
    found = capture.by_source.get((owner.name, bone or None))
    if found is None:
        raise ValueError(f'names a bone "{bone}" that "{owner.name}" does not have; choose one of its bones')
    return found


def _places(capture, item, at, other):
    """The node that it is at, or one for each side."""
    there = at
    if item.other_pivot is not None:
        there = capture.by_source[(item.other_pivot.name, None)]
    elif item.kind in having.LONG:
        if other is None:
            raise ValueError("has no other end; choose an empty under Other end, or an object under To")
        there = other
    own = capture.reference(at)
    return own if there is at else [capture.reference(there), own]


def world_axis(node, letter):
    """The axis of a node's object or bone at the first frame; Y is up in a set-up."""
    world = node.world[0] if node.bone is None else node.world[0] @ matrix.BONE.T
    x, y, z = world[:3, "XYZ".index(letter)] / np.linalg.norm(world[:3, "XYZ".index(letter)])
    return [float(x), float(z), float(-y)]


def _sizes(joint, item):
    if item.kind in having.LONG and item.is_property_set("length"):
        joint["length"] = item.length
    elif item.kind == "screw":
        joint["pitch"] = item.pitch
    elif item.kind == "inside_box":
        # Along the axes of what it is at, which are turned in a set-up.
        x, y, z = item.size
        joint["size"] = [x, z, y]


class _Values:
    """Settings of one joint: numbers, or keys."""

    def __init__(self, capture, owner, index, item):
        self._capture, self._owner, self._item = capture, owner, item
        # Blender writes either, by its version and by who inserted the key.
        quoted = bpy.utils.escape_identifier(item.name)
        self._at = (f"sinew_joints[{index}].", f'sinew_joints["{quoted}"].')

    def of(self, name, scale=1.0, least=None, is_switch=False):
        paths = (at + name for at in self._at)
        found = keyed.keys(self._capture, self._owner, *paths, least=least, scale=scale, is_switch=is_switch)
        return found if found is not None else getattr(self._item, name) * scale


def _direction(values, item, name, scale):
    """What a joint does along or about its axis; empty for free."""
    kinds = having.TURNING if name == "turn" else having.SLIDING
    is_screw = item.kind == "screw"
    if item.kind not in kinds:
        return {}
    words = {}
    # A screw turns many times, and slides as it turns.
    if getattr(item, f"{name}_limited") and not (is_screw and name == "turn"):
        limits = [getattr(item, f"{name}_{end}") * scale for end in ("min", "max")]
        if limits[0] > limits[1]:
            raise ValueError(f"has a least {name} of {limits[0]:.4g} and a most of {limits[1]:.4g}; exchange them")
        words["limits"] = limits
    drive = getattr(item, f"{name}_drive")
    if drive == "free" or is_screw and name == "slide":
        return words
    words["rest"] = values.of(f"{name}_rest", scale)
    if drive == "spring":
        words |= {what: values.of(f"{name}_{what}", least=0.0) for what in ("stiffness", "damping")}
    if item.is_property_set(f"{name}_strength"):
        words["strength"] = getattr(item, f"{name}_strength")
    return words


def _hold(joint, item, values):
    """Whether it holds, until when, and what else the two do."""
    if item.breaks:
        joint["break_force"] = item.break_force
        if item.is_property_set("break_torque"):
            joint["break_torque"] = item.break_torque
    if item.collide:
        joint["collide"] = True
    holds = values.of("holds", is_switch=True)
    if not isinstance(holds, dict):
        holds = float(holds)
    if holds != 1.0:
        joint["on"] = holds
    if item.grab and item.kind not in (*having.LONG, "inside_box"):
        joint["grab"] = True
