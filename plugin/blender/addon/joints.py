"""Rigid-body constraints of Blender as joints.

| Blender | joint |
|---|---|
| Fixed, Point, Hinge, Slider, Piston | fixed, universal, pin about Z, prismatic along X, cylindrical along X |
| Generic, all but one direction held | pin or prismatic, with its limits |
| Generic, places held | universal: the limits about X are of its turn, those about Y and Z the cone of its tilt |
| Generic Spring | the same with springs; where places have springs, too, what it holds gives way |
| Motor | what drives the hinge, piston or slider between the same two |
"""

import math

import bpy
import numpy as np

from . import own_joints

#: Blender's springs about an axis are in N m/rad, as ours.
DEGREES = math.degrees(1.0)
AXES = "xyz"


def y_up(vector):
    """Vectors in a set-up have Y up."""
    x, y, z = vector
    return [x, z, -y]


def build(capture, own, warnings):
    """The joints of all constraints, and words about those that have no counterpart. `own` are joints of the panel, which win
    where they connect the same two."""
    made, motors = {}, []
    for name in capture.joints:
        found = bpy.data.objects[name].rigid_body_constraint
        if found.type == "MOTOR":
            motors.append((name, found))
            continue
        joint = _joint(capture, name, found, warnings)
        if joint is not None:
            made[name] = joint
    kept = own_joints.win(own, made.values(), warnings)
    for name, motor in motors:
        _drive(capture, name, motor, [*own, *kept], warnings)
    return kept


def _between(capture, found):
    ends = (found.object1, found.object2)
    return ["world" if end is None else capture.reference(capture.by_source[(end.name, None)]) for end in ends]


def _joint(capture, name, found, warnings):
    node = capture.by_source[(name, None)]
    joint = {"name": name, "between": _between(capture, found), "at": capture.reference(node)}
    if found.type.startswith("GENERIC"):
        directions = {kind + axis: _Direction(found, kind, axis) for kind in ("lin", "ang") for axis in AXES}
        trouble = _generic(directions, joint)
        if trouble:
            warnings.append(f'"{name}": {trouble}; it is left out')
            return None
    elif found.type in PLAIN:
        kind, axis, parts = PLAIN[found.type]
        joint["kind"] = kind
        if axis is not None:
            joint["axis"] = axis
        for field, which in parts:
            direction = _Direction(found, which, AXES[axis]).words()
            if direction:
                joint[field] = direction
    else:
        warnings.append(f'"{name}": constraints of type {found.type.title()} are not read; use another type')
        return None
    if "axis" in joint:
        axis = node.world[0][:3, joint["axis"]]
        joint["axis"] = y_up(float(v) for v in axis / np.linalg.norm(axis))
    if not found.disable_collisions:
        joint["collide"] = True
    if found.use_breaking:
        # An impulse in one of Blender's steps; ours is a force.
        world = bpy.data.scenes[capture.scene_name].rigidbody_world
        steps = getattr(world, "substeps_per_frame", 10) * capture.rate
        joint["break_force"] = found.breaking_threshold * steps
    return joint


#: Kind, main axis, and which directions it leaves free, by Blender's word.
PLAIN = {
    "FIXED": ("fixed", None, ()),
    "POINT": ("universal", None, ()),
    "HINGE": ("pin", 2, (("turn_deg", "ang"),)),
    "SLIDER": ("prismatic", 0, (("slide", "lin"),)),
    "PISTON": ("cylindrical", 0, (("slide", "lin"), ("turn_deg", "ang"))),
}


class _Direction:
    """One of the six directions of a constraint: what it may do, and what pulls it back."""

    def __init__(self, found, kind, axis):
        self.is_turn = kind == "ang"
        scale = DEGREES if self.is_turn else 1.0
        low, high = (getattr(found, f"limit_{kind}_{axis}_{end}") for end in ("lower", "upper"))
        # The other way round, Bullet takes a range for none.
        self.limits = (low * scale, high * scale) if getattr(found, f"use_limit_{kind}_{axis}") and low <= high else None
        self.is_held = self.limits is not None and low == high == 0.0
        self.spring = None
        name = f"ang_{axis}" if self.is_turn else axis
        if found.type == "GENERIC_SPRING" and getattr(found, f"use_spring_{name}") and not self.is_held:
            self.spring = tuple(getattr(found, f"spring_{what}_{name}") for what in ("stiffness", "damping"))

    def words(self):
        """As a set-up says it; empty for free."""
        found = {}
        if self.limits is not None:
            found["limits"] = list(self.limits)
        if self.spring is not None:
            found |= {"rest": 0.0, "stiffness": self.spring[0], "damping": self.spring[1]}
        return found


def _generic(directions, joint):
    """Fills in what a generic constraint is; gives what is wrong with it, or nothing."""
    free = [name for name, direction in directions.items() if not direction.is_held]
    turns = [name for name in free if name.startswith("ang")]
    slides = [name for name in free if name.startswith("lin")]
    if not free:
        joint["kind"] = "fixed"
    elif len(free) == 1:
        name = free[0]
        joint["kind"] = "pin" if turns else "prismatic"
        joint["axis"] = AXES.index(name[3])
        _set(joint, "turn_deg" if turns else "slide", directions[name].words())
    elif not slides and len(turns) == 3:
        joint["kind"] = "universal"
        _tilts(directions, joint)
    elif len(free) == 2 and slides and turns and slides[0][3] == turns[0][3]:
        joint["kind"], joint["axis"] = "cylindrical", AXES.index(turns[0][3])
        _set(joint, "slide", directions[slides[0]].words())
        _set(joint, "turn_deg", directions[turns[0]].words())
    elif len(slides) == 3 and all(directions[n].spring for n in slides) and len(turns) in (0, 3):
        # Held by springs on all sides: a joint that gives way.
        joint["kind"] = "universal" if turns else "fixed"
        stiffness, damping = np.mean([directions[n].spring for n in slides], axis=0)
        joint["give"] = {"stiffness": float(stiffness), "damping": float(damping)}
        if turns:
            _tilts(directions, joint)
    else:
        words = ", ".join(f"{'turn' if n.startswith('ang') else 'slide'} {n[3].upper()}" for n in free)
        return f"no joint leaves just {words} free; hold more of them, or use a point, hinge, slider or piston"
    return None


def _tilts(directions, joint):
    """Limits and springs of a joint that turns every way: about X it turns, about Y and Z it tilts."""
    joint["axis"] = 0
    _set(joint, "turn_deg", directions["angx"].words())
    tilts = [directions["angy"], directions["angz"]]
    swing = {}
    if any(t.limits is not None for t in tilts):
        # A cone is as wide to either side; the wider counts.
        widths = [180.0 if t.limits is None else max(map(abs, t.limits)) for t in tilts]
        swing["cone"] = [min(179.0, max(0.01, w)) for w in widths]
    springs = [t.spring for t in tilts if t.spring is not None]
    if springs:
        swing["stiffness"], swing["damping"] = (float(v) for v in np.mean(springs, axis=0))
    _set(joint, "swing_deg", swing)


def _set(joint, field, words):
    if words:
        joint[field] = words


def _drive(capture, name, motor, made, warnings):
    """A motor runs what is between the same two: its rest moves ahead of it at the motor's speed."""
    between = _between(capture, motor)
    seconds = float(capture.frames[-1] - capture.frames[0]) / capture.rate
    for kind, field, kinds in (("lin", "slide", ("prismatic", "cylindrical")), ("ang", "turn_deg", ("pin", "cylindrical"))):
        if not getattr(motor, f"use_motor_{kind}"):
            continue
        joint = next((j for j in made if sorted(j["between"]) == sorted(between) and j["kind"] in kinds), None)
        if joint is None:
            what = "a hinge or piston" if kind == "ang" else "a slider or piston"
            warnings.append(f'"{name}": its motor has nothing to run; add {what} between the same two objects')
            continue
        way = getattr(motor, f"motor_{kind}_target_velocity") * seconds * (DEGREES if kind == "ang" else 1.0)
        if joint["between"] != between:
            way = -way
        words = joint.setdefault(field, {})
        words |= {"rest": {"keys": [[0.0, 0.0], [seconds, way]]}, "strength": getattr(motor, f"motor_{kind}_max_impulse")}
