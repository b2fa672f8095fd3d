"""Joints that an animator makes in the panel: what is set of each. They are on the object that is joined, and saved in the file."""

import math

import bpy
from bpy.props import (
    BoolProperty, CollectionProperty, EnumProperty, FloatVectorProperty, IntProperty, PointerProperty, StringProperty,
)  # fmt: skip

from .properties import changed, number

KINDS = [
    ("universal", "Ball", "Turns every way about one point: a shoulder, a lamp on a cord"),
    ("pin", "Hinge", "Turns about its axis: a door, a wheel, a lid"),
    ("prismatic", "Slider", "Slides along its axis: a drawer, a lift"),
    ("cylindrical", "Piston", "Slides along its axis, and turns about it"),
    ("ball_socket", "Ball on a rail", "Turns every way, and slides along its axis: a bead on a rod"),
    ("fixed", "Fixed", "Moves as one with the other, until it breaks"),
    ("distance", "Rod", "Stays as far from the other as it is at the first frame"),
    ("rope", "Rope", "Free until the rope is taut: then it is pulled along"),
    ("screw", "Screw", "Turns about its axis, and is carried along it by as much as it turns"),
    ("plane", "Plane", "Slides in the plane across its axis, and turns about the axis"),
    ("smooth_contact", "Point on a plane", "Stays on the plane across its axis, and is free otherwise"),
    ("inside_sphere", "Inside a ball", "Free within a ball around the other: a dog on a leash that does not pull"),
    ("inside_box", "Inside a box", "Free within a box around the joint"),
]
AXES = [(axis, axis, f"The {axis} axis of what it is at") for axis in "XYZ"]
DRIVES = [
    ("free", "Free", "Nothing pulls it back"),
    ("spring", "Spring", "A spring pulls it to where it rests: it sways, and comes back"),
    ("held", "Driven", "Held exactly where it rests, as long as that is not too hard. Key the rest, and it is a motor"),
]
#: Kinds that have a length, and so two ends; that slide, turn and tilt; that hold rotations, which can give way.
LONG = ("distance", "rope", "inside_sphere")
SLIDING = ("prismatic", "cylindrical", "ball_socket", "screw")
TURNING = ("universal", "pin", "cylindrical", "ball_socket", "screw", "plane")
TILTING = ("universal", "ball_socket")
HOLDING_TURNS = ("pin", "prismatic", "cylindrical", "fixed", "screw", "plane")
#: Kinds that look the same from all sides.
ROUND = ("fixed", "distance", "rope", "inside_sphere")


def _switch(name, description, default=False):
    return BoolProperty(name=name, description=description, default=default, update=changed)


def _link(name, description):
    return PointerProperty(type=bpy.types.Object, name=name, description=description, update=changed)


class SinewJoint(bpy.types.PropertyGroup):
    """A joint of an object, or of one of its bones, with another."""

    name: StringProperty(name="Name", description="What messages call it", update=changed)
    kind: EnumProperty(
        name="Type", items=KINDS, default="universal", update=changed, description="What it holds, and what it leaves free"
    )
    bone: StringProperty(name="Bone", update=changed, description="The bone of this armature that is joined")
    other: _link("To", "What it is joined to; empty: the world, which does not move")
    other_bone: StringProperty(name="Bone", update=changed, description="The bone that it is joined to")
    pivot: _link("At", "Where the joint is, an empty for example; empty: the origin of what is joined")
    other_pivot: _link(
        "Other end", "Where the joint is on the other; the two are brought together before the first frame. "
        "Of a rod or rope its other end; empty: the origin of the other",
    )  # fmt: skip
    axis: EnumProperty(
        name="Axis", items=AXES, default="Z", update=changed,
        description="The axis of what it is at that it turns about or slides along, as it is at the first frame",
    )  # fmt: skip
    length: number(
        "Length", "Of the rod or rope, or the radius of the ball; untouched: how far the two ends are apart at the first "
        "frame", 1.0, 1e-6, 1e6, 100.0, unit="LENGTH",
    )  # fmt: skip
    pitch: number(
        "Pitch", "How far one turn carries it; less than 0 for a left-handed thread", 0.01, -1e6, 1e6, 1.0, unit="LENGTH"
    )
    size: FloatVectorProperty(
        name="Size", size=3, default=(1.0, 1.0, 1.0), min=1e-6, soft_max=100.0, subtype="XYZ", unit="LENGTH",
        update=changed, description="Sides of the box: along its axis, and across",
    )  # fmt: skip
    turn_limited: _switch("Limit turns", "It turns no further than this, and stops there without a bounce")
    turn_min: number("Least", "How far it turns backwards", -math.pi / 4, -2 * math.pi, 2 * math.pi, subtype="ANGLE")
    turn_max: number("Most", "How far it turns forwards", math.pi / 4, -2 * math.pi, 2 * math.pi, subtype="ANGLE")
    turn_drive: EnumProperty(
        name="Turning", items=DRIVES, default="free", update=changed, description="What pulls at its turns"
    )
    turn_rest: number(
        "Rest", "The turn that it is pulled to, from where it is at the first frame. Key it to drive it", 0.0, -1e4, 1e4,
        2 * math.pi, subtype="ANGLE",
    )  # fmt: skip
    turn_stiffness: number("Stiffness", "Of the spring, N m/rad: more swings faster", 10.0, 0.0, 1e9, 1e3)
    turn_damping: number("Damping", "Of the spring, N m s/rad: more comes to rest sooner", 1.0, 0.0, 1e9, 1e2)
    turn_strength: number("Strength", "The most that it turns with, N m; untouched: as much as it takes", 10.0, 1e-6, 1e9, 1e3)
    slide_limited: _switch("Limit slides", "It slides no further than this, and stops there without a bounce")
    slide_min: number("Least", "How far it slides backwards", -1.0, -1e6, 1e6, 100.0, unit="LENGTH")
    slide_max: number("Most", "How far it slides forwards", 1.0, -1e6, 1e6, 100.0, unit="LENGTH")
    slide_drive: EnumProperty(
        name="Sliding", items=DRIVES, default="free", update=changed, description="What pulls at its slides"
    )
    slide_rest: number(
        "Rest", "The place that it is pulled to, from where it is at the first frame. Key it to drive it", 0.0, -1e6, 1e6,
        100.0, unit="LENGTH",
    )  # fmt: skip
    slide_stiffness: number("Stiffness", "Of the spring, N/m: more swings faster, and sags less", 100.0, 0.0, 1e9, 1e4)
    slide_damping: number("Damping", "Of the spring, N s/m: more comes to rest sooner", 10.0, 0.0, 1e9, 1e3)
    slide_strength: number("Strength", "The most that it pulls with, N; untouched: as much as it takes", 100.0, 1e-6, 1e9, 1e4)
    tilt_limited: _switch("Limit tilts", "Its axis tilts no further than this")
    tilt_max: number(
        "Cone", "Half the opening of the cone that its axis stays in", math.pi / 4, 1e-3, math.radians(179), subtype="ANGLE"
    )
    tilt_spring: _switch("Tilts spring back", "A spring brings its axis back to where it is at the first frame")
    tilt_stiffness: number("Stiffness", "Of that spring, N m/rad: more swings faster", 10.0, 0.0, 1e9, 1e3)
    tilt_damping: number("Damping", "Of that spring, N m s/rad: more comes to rest sooner", 1.0, 0.0, 1e9, 1e2)
    gives: _switch("Gives way", "What it holds gives way like rubber, instead of not at all")
    give_stiffness: number("Stiffness", "How hard it pulls back to its place, N/m", 1e3, 0.0, 1e12, 1e5)
    give_damping: number("Damping", "How soon that comes to rest, N s/m", 10.0, 0.0, 1e12, 1e4)
    give_turn_stiffness: number(
        "Turn stiffness", "How hard it pulls back the turns that it holds, N m/rad; untouched, those stay firm",
        100.0, 0.0, 1e12, 1e4,
    )  # fmt: skip
    give_turn_damping: number("Turn damping", "How soon that comes to rest, N m s/rad", 1.0, 0.0, 1e12, 1e3)
    breaks: _switch("Breaks", "It lets go for good where it bears more than this")
    break_force: number("Force", "It breaks under more than this, N; a kilogram weighs 10", 100.0, 1e-6, 1e12, 1e5)
    break_torque: number(
        "Torque", "It breaks under a harder twist than this, N m; untouched, no twist does", 100.0, 1e-6, 1e12, 1e5
    )
    collide: _switch("Collide", "The two touch each other, too; off, they pass through each other")
    holds: _switch("Holds", "Off, it lets go. Can be keyed: let go at one frame, or take hold", True)
    grab: _switch("Grabs", "When it takes hold again, it holds the two as they are then, instead of pulling them together")


CLASSES = (SinewJoint,)
#: What is copied from one joint to others: all but whom it joins.
SETTINGS = [n for n in SinewJoint.__annotations__ if n not in ("name", "bone", "other", "other_bone", "pivot", "other_pivot")]

# Linked characters are joined, too.
for _property in SinewJoint.__annotations__.values():
    _property.keywords["override"] = {"LIBRARY_OVERRIDABLE"}


def register():
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Object.sinew_joints = CollectionProperty(type=SinewJoint, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"})
    bpy.types.Object.sinew_joint_index = IntProperty(options={"HIDDEN"}, override={"LIBRARY_OVERRIDABLE"})


def unregister():
    del bpy.types.Object.sinew_joint_index
    del bpy.types.Object.sinew_joints
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
