"""What an animator sets: on objects, on pose bones and on the scene. Saved in the file.

A property that was never touched is automatic: Sinew, or Blender's rigid-body settings, say what it is.
"""

import bpy
from bpy.props import (
    BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty, IntProperty, PointerProperty, StringProperty,
)  # fmt: skip

BEHAVIOURS = [
    ("automatic", "Automatic", "Keyed objects are guided, rigid bodies are free, the rest is in the way"),
    ("animated", "Animated", "Follows its keys exactly and pushes what it touches"),
    ("guided", "Guided", "Chases its keys with a muscle of limited strength: gives way, overshoots, has weight"),
    ("free", "Free", "Only gravity, joints and contact; starts with the motion that its keys have"),
    ("static", "Static", "An obstacle that stands where it is at the first frame"),
]
# By numbers, which saved files have: those that came later stand where they belong.
PRESETS = [
    ("automatic", "Automatic", "Reactive for objects; as strong as its clip needs for a character", 0),
    ("subtle", "Subtle", "Stays on the keys and takes off the corners", 1),
    ("reactive", "Reactive", "Follows with weight, and gives way when pushed", 2),
    ("weighty", "Weighty", "Follows with more weight: drags, overshoots and settles", 5),
    ("loose", "Loose", "Relaxed: swings freely and comes back late", 6),
    ("limp", "Limp", "Barely holds itself up, and swings past its keys", 3),
    ("ragdoll", "Ragdoll", "No strength at all: falls as its joints let it", 4),
    ("custom", "Custom", "Wherever the looseness is, between the named ones", 7),
]
#: Where presets are on the slider of looseness, and how near to one of them it has its name: what the slider shows is the same.
POINTS = {"subtle": 0.1, "reactive": 0.3, "weighty": 0.45, "loose": 0.6, "limp": 0.8, "ragdoll": 1.0}
NEAR = 0.005
TIMINGS = [
    ("timed", "Timed", "The keys' own times: the animator rules the timing"),
    ("path", "Path", "Only the way counts, not when: physics finds the timing"),
]
SHAPES = [
    ("auto", "Automatic", "The mesh itself where it is closed, else the tightest simple shape"),
    ("box", "Box", "A box around the mesh: cheapest to stack"),
    ("sphere", "Sphere", "A ball around the mesh: rolls evenly"),
    ("capsule", "Capsule", "A rod with round ends along the longest axis"),
    ("cylinder", "Cylinder", "Rolls on its side, stands on its ends"),
    ("cone", "Cone", "Fitted with its tip where the mesh has it"),
    ("hull", "Hull", "The mesh as if wrapped in foil"),
    ("parts", "Parts", "The mesh cut into convex parts: holes and hollows stay open"),
    ("mesh", "Mesh", "The mesh itself; it must be closed"),
]
PARTS = [
    ("both", "Both", "Place and turn are simulated"),
    ("position", "Place", "Only the place is simulated; turns stay as keyed"),
    ("orientation", "Turn", "Only turns are simulated, as for a bone; the place stays as keyed"),
]


def changed(_self, context):
    from . import live

    live.mark(context)


def _preset_chosen(self, context):
    """The slider goes where the preset is."""
    if self.preset == "automatic":
        self.property_unset("looseness")
    elif self.preset in POINTS and abs(self.looseness - POINTS[self.preset]) > NEAR:
        self.looseness = POINTS[self.preset]
    changed(self, context)


def _loosened(self, context):
    """The preset is the one that the slider is at."""
    name = next((name for name, at in POINTS.items() if abs(self.looseness - at) <= NEAR), "custom")
    if self.preset != name:
        self.preset = name
    changed(self, context)


def _looked(_self, context):
    from . import overlay

    overlay.refresh(context)


def number(name, description, default, low, high, soft=None, **more):
    """A slider that simulates anew in live mode."""
    return FloatProperty(
        name=name, description=description, default=default, min=low, max=high,
        soft_max=high if soft is None else soft, update=changed, **more,
    )  # fmt: skip


def looseness():
    """The slider on which presets are named points."""
    return FloatProperty(
        name="Looseness", default=0.3, min=0.0, max=1.0, precision=2, subtype="FACTOR", update=_loosened,
        options=set(), description="From the keys exactly (0) to a ragdoll without any strength (1)",
    )  # fmt: skip


class SinewBody(bpy.types.PropertyGroup):
    """Physics of one object or one bone."""

    behaviour: EnumProperty(
        name="Behaviour", items=BEHAVIOURS, default="automatic", update=changed,
        description="Who rules its motion: the keys, or physics",
    )  # fmt: skip
    preset: EnumProperty(
        name="Preset", items=PRESETS, default="automatic", update=_preset_chosen,
        description="How it follows its keys, as a named point of looseness; the sliders below multiply it",
    )  # fmt: skip
    looseness: looseness()
    strength: number(
        "Strength", "Factor on how hard it pulls towards its keys. Less comes late and cuts corners; "
        "0 lets go. Can be keyed", 1.0, 0.0, 1000.0, 4.0,
    )  # fmt: skip
    damping: number(
        "Damping", "Factor on damping. Less swings past the keys and wobbles; more creeps towards them. Can be keyed",
        1.0, 0.0, 100.0, 4.0,
    )  # fmt: skip
    blend: number(
        "Physics", "How much of the physics is shown: 0 is the keys, 1 is the simulation. Can be keyed", 1.0, 0.0, 1.0
    )
    timing: EnumProperty(
        name="Timing", items=TIMINGS, default="timed", update=changed,
        description="Whether the keys' times count, or only their way",
    )  # fmt: skip
    distance: number(
        "Distance", "How far ahead the keys may pull. On a path: small is precise, large cuts corners and goes "
        "faster. Timed: how far it may be held back before its keys wait for it", 0.5, 1e-6, 1e6, 10.0,
        unit="LENGTH",
    )  # fmt: skip
    simulate: EnumProperty(
        name="Simulate", items=PARTS, default="both", update=changed, description="Which channels physics moves"
    )
    density: number(
        "Density", "Mass by volume, kg/m^3. Heavier things push lighter ones about; water has 1000",
        1000.0, 1e-3, 1e6, 10000.0,
    )  # fmt: skip
    mass: number("Mass", "Kilograms; counts instead of the density once it is set", 1.0, 1e-6, 1e9, 1000.0)
    shape: EnumProperty(
        name="Shape", items=SHAPES, default="auto", update=changed, description="What others touch, and what is weighed"
    )
    size: FloatVectorProperty(
        name="Size", size=3, default=(1.0, 1.0, 1.0), min=1e-6, soft_max=100.0, subtype="XYZ", unit="LENGTH",
        update=changed, description="Edges of the box about the origin; untouched, the box fits the mesh",
    )  # fmt: skip
    radius: number(
        "Radius", "Radius about the origin; untouched, the shape fits the mesh", 0.5, 1e-6, 1e6, 100.0, unit="LENGTH"
    )
    length: number(
        "Length", "Length along Z, of a bone along the bone; of a capsule between the centres of its ends. "
        "Counts together with the radius", 1.0, 1e-6, 1e6, 100.0, unit="LENGTH",
    )  # fmt: skip
    collide: BoolProperty(
        name="Touches", default=True, update=changed, description="Off, everything passes through it"
    )
    friction: number("Friction", "Holds on slopes: 0 slides like ice, 0.5 holds up to 27 degrees", 0.5, 0.0, 10.0, 2.0)
    bounce: number(
        "Bounce", "Share of the speed that a hit gives back: 0 lands dead, 1 jumps as high as it fell", 0.0, 0.0, 1.0
    )
    coating: BoolProperty(
        name="Soft skin", default=False, update=changed, description="Presses in where it touches, and springs back"
    )
    coating_thickness: number(
        "Thickness", "How deep the soft skin can be pressed in", 0.05, 1e-6, 1e4, 1.0, unit="LENGTH"
    )
    coating_stiffness: number(
        "Stiffness", "Pressure per depth, Pa/m. Low sinks in and rebounds slowly; high is nearly hard",
        1e5, 1.0, 1e12, 1e7,
    )  # fmt: skip
    touched: BoolProperty(
        name="Until touched", default=False, update=changed,
        description="Follows its keys exactly until something that physics moves touches it",
    )  # fmt: skip
    chain: StringProperty(
        name="Chain", update=changed,
        description="The chain that this bone was made part of; empty: whatever Sinew finds. It then is simulated in any case",
    )  # fmt: skip
    was_active: BoolProperty(
        default=False, options={"HIDDEN"},
        description="Blender's own simulation moved it before it was baked",
    )  # fmt: skip
    was_shape: StringProperty(options={"HIDDEN"}, description="The shape that its rigid body had before it was pressed in")


class SinewScene(bpy.types.PropertyGroup):
    """How the scene is simulated, and what is written."""

    preset: EnumProperty(
        name="Preset", items=PRESETS, default="automatic", update=_preset_chosen,
        description="A named point of looseness, for everything that is simulated, whatever its own preset",
    )  # fmt: skip
    looseness: looseness()
    keys: EnumProperty(
        name="Keys", default="fitted",
        items=[
            ("fitted", "Few", "Few Bezier keys that an animator can edit, within the tolerance"),
            ("every_frame", "Every frame", "One key on every frame, straight in between"),
        ],
        description="What the new action has",
    )  # fmt: skip
    tolerance: number(
        "Tolerance", "How far the keys may be from the simulation. 0: a thousandth of each object's width",
        0.0, 0.0, 1e6, 1.0, unit="LENGTH", precision=5,
    )  # fmt: skip
    tolerance_deg: number("Angle (\u00b0)", "The same for turns, degrees", 0.05, 1e-4, 45.0, 5.0, precision=3)
    begin: EnumProperty(
        name="From", default="keys",
        items=[
            ("keys", "The keys", "Where there is a result already, simulate from the keys that it came from"),
            ("shown", "What is shown", "Simulate from whatever plays now, earlier results included"),
        ],
        description="What is chased",
    )  # fmt: skip
    result: EnumProperty(
        name="Result", default="action",
        items=[
            ("action", "New action", "A new action takes the place of the old one, which is kept"),
            ("layer", "NLA layer", "The keys go down to a track of their own, the simulation on top of them"),
        ],
        description="Where the motion goes",
    )  # fmt: skip
    skeleton: EnumProperty(
        name="Skeleton", default="bones",
        items=[
            ("bones", "Its bones", "Keys on the bones themselves; constraints that move them are muted"),
            ("controls", "Its controls", "Keys on the controls that bones follow; constraints stay alive. "
             "What controls cannot reach is named"),
            ("copy", "A clean copy", "A copy of the skeleton without constraints; the rig stays as it is"),
        ],
        description="Where the motion of an armature goes",
    )  # fmt: skip
    selected_bones: BoolProperty(
        name="Selected bones only", default=False,
        description="All bones are simulated, but only those selected in pose mode get the motion",
    )  # fmt: skip
    obstacles: BoolProperty(
        name="Everything in the way", default=True,
        description="All visible meshes are in the way of what is simulated; off, only what is selected",
    )  # fmt: skip
    use_floor: BoolProperty(name="Floor", default=False, update=changed, description="A floor without end")
    floor: number("Height", "Height of the floor", 0.0, -1e6, 1e6, 10.0, unit="LENGTH")
    unit: EnumProperty(
        name="Unit", default="automatic", update=changed,
        items=[
            ("automatic", "Automatic", "The scene's unit; by the size of the figure where that was never set"),
            ("scene", "Scene", "The scene's unit scale, whatever size a figure has"),
        ],
        description="How long a unit is: large things fall slowly, small ones quickly",
    )  # fmt: skip
    substeps: IntProperty(
        name="Substeps", default=4, min=1, max=1000, update=changed,
        description="Steps per frame: finer contact; the motion hardly changes",
    )  # fmt: skip
    loop: BoolProperty(name="Loop", default=False, description="The range is one turn of a cycle: so is the result")
    setup_file: StringProperty(
        name="Set-up file", subtype="FILE_PATH", description="A set-up that takes the place of all settings here"
    )
    show_paths: BoolProperty(name="Paths", default=True, description="Draw the way of the keys and of the simulation")
    show_shapes: BoolProperty(
        name="Shapes", default=False, update=_looked,
        description="Draw the shapes that things touch with, as of the last run or check",
    )  # fmt: skip
    show_limits: BoolProperty(
        name="Limits", default=False, update=_looked,
        description="Draw how far the selected bones can turn, as of the last run or check; red at the end of it",
    )  # fmt: skip
    show_joints: BoolProperty(
        name="Joints", default=True, update=_looked,
        description="Draw the joints that were made here: whom they join, where, and about which axis",
    )  # fmt: skip
    show_targets: BoolProperty(
        name="Targets", default=False, description="Draw how far things are from where their keys pull them"
    )
    show_contacts: BoolProperty(name="Contacts", default=True, description="Draw where things bear on each other")
    show_strain: BoolProperty(name="Strain", default=True, description="Mark objects whose strength was not enough")


CLASSES = (SinewBody, SinewScene)

# Linked characters are set up, too: what is set on an override stays with it.
for _property in SinewBody.__annotations__.values():
    _property.keywords["override"] = {"LIBRARY_OVERRIDABLE"}


def register():
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    options = {"LIBRARY_OVERRIDABLE"}
    bpy.types.Object.sinew = PointerProperty(type=SinewBody, override=options)
    bpy.types.PoseBone.sinew = PointerProperty(type=SinewBody, override=options)
    bpy.types.Scene.sinew = PointerProperty(type=SinewScene)


def unregister():
    del bpy.types.Scene.sinew
    del bpy.types.PoseBone.sinew
    del bpy.types.Object.sinew
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
