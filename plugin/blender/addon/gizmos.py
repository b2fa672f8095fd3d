"""Handles in the viewport: sizes of shapes, and limits of joints.

Shown for the active object or bone whose shape has sizes, and for an empty with a rigid-body constraint or an object with a
joint of the panel.
"""

import bpy
from mathutils import Matrix, Vector

from . import joint_lines, joint_panel, joint_properties, joints, panel, physics

SHAPE_COLOUR, LIMIT_COLOUR, BRIGHT = (0.35, 0.75, 1.0), (1.0, 0.8, 0.2), (1.0, 1.0, 1.0)
#: Turns that take Z to an axis.
TO_AXIS = {
    0: Matrix.Rotation(1.5707963267948966, 4, "Y"),
    1: Matrix.Rotation(-1.5707963267948966, 4, "X"),
    2: Matrix.Identity(4),
}


def frame_of(context):
    """Where the active object or bone is, without its scale; and half its extents about its origin."""
    bone = context.active_pose_bone if context.mode == "POSE" else None
    if bone is not None:
        place = bone.id_data.matrix_world @ bone.matrix
        reach = Vector((0.1 * bone.length, bone.length, 0.1 * bone.length))
    else:
        place = context.object.matrix_world
        corners = [Vector(c) for c in context.object.bound_box]
        reach = Vector(max(abs(c[axis]) for c in corners) or 0.5 for axis in range(3))
    scale = place.to_scale()
    reach = Vector(abs(r * s) for r, s in zip(reach, scale))
    return Matrix.LocRotScale(place.to_translation(), place.to_quaternion(), Vector((1.0, 1.0, 1.0))), reach


def along_of(context):
    """The axis that lengths are along: of objects Z, of bones Y."""
    return 1 if context.mode == "POSE" and context.active_pose_bone is not None else 2


def handles(own):
    """The handles that a shape has: names of sizes, and which of a box's."""
    if own.shape == "box":
        return [("size", axis) for axis in range(3)]
    if own.shape == "sphere":
        return [("radius", 0)]
    return [("radius", 0), ("length", 0)] if own.shape in physics.ROUND else []


def half(context, name, axis):
    """How far a handle is from the origin: what was set, else what fits."""
    own, _ = panel.active(context)
    _, reach = frame_of(context)
    along = along_of(context)
    across = [reach[a] for a in range(3) if a != along]
    if name == "size":
        return own.size[axis] / 2 if own.is_property_set("size") else reach[axis]
    if name == "radius":
        fitted = max(reach) if own.shape == "sphere" else max(across)
        return own.radius if own.is_property_set("radius") else fitted
    shorter = max(across) if own.shape == "capsule" else 0.0
    return own.length / 2 if own.is_property_set("length") else max(1e-3, reach[along] - shorter)


def set_half(context, name, axis, value):
    """Moves a handle. The other sizes of the shape become what they are shown as, so that nothing else changes."""
    own, _ = panel.active(context)
    value = max(1e-4, value)
    if name == "size":
        size = [2 * half(context, "size", a) for a in range(3)]
        size[axis] = 2 * value
        own.size = size
        return
    others = [other for other, _ in handles(own) if other != name and not own.is_property_set(other)]
    for other in others:
        setattr(own, other, half(context, other, 0) * (2.0 if other == "length" else 1.0))
    setattr(own, name, value * (2.0 if name == "length" else 1.0))


class _Group:
    bl_space_type = "VIEW_3D"
    bl_region_type = "WINDOW"
    bl_options = {"3D", "PERSISTENT", "SHOW_MODAL_ALL"}

    def _arrow(self, colour):
        made = self.gizmos.new("GIZMO_GT_arrow_3d")
        made.draw_style = "BOX"
        made.color, made.color_highlight = colour, BRIGHT
        made.alpha = made.alpha_highlight = 1.0
        made.line_width, made.scale_basis = 2.0, 0.6
        made.use_draw_modal = True
        return made

    def _follow(self, made, get, put):
        """Blender asks for the value of a handle once: here it is told where that changed elsewhere, in the panel for example."""
        value, seen = get(), self._seen.get(made)
        if not made.is_modal and value != seen:
            self._seen[made] = value
            made.target_set_handler("offset", get=get, set=put)

    def _dial(self, colour):
        made = self.gizmos.new("GIZMO_GT_dial_3d")
        made.draw_options = {"ANGLE_START_Y", "ANGLE_VALUE"}
        made.color, made.color_highlight = colour, BRIGHT
        made.alpha, made.alpha_highlight = 0.7, 1.0
        made.line_width, made.scale_basis = 2.0, 0.9
        made.use_draw_value = True
        return made


class SINEW_GGT_shape(_Group, bpy.types.GizmoGroup):
    """Pull at the sizes of a shape"""

    bl_idname = "SINEW_GGT_shape"
    bl_label = "Sinew: sizes of shapes"

    @classmethod
    def poll(cls, context):
        if context.mode not in {"OBJECT", "POSE"} or context.object is None or not context.object.select_get():
            return False
        own, _ = panel.active(context)
        return own is not None and own.is_property_set("shape") and bool(handles(own))

    def setup(self, context):
        self._seen = {}
        self._made = [(self._arrow(SHAPE_COLOUR), _getter(place), _setter(place)) for place in range(3)]
        self.refresh(context)

    def refresh(self, context):
        self.draw_prepare(context)

    def draw_prepare(self, context):
        own, _ = panel.active(context)
        if own is None:
            return
        place, _ = frame_of(context)
        along = along_of(context)
        shown = handles(own)
        for i, (arrow, get, put) in enumerate(self._made):
            self._follow(arrow, get, put)
            arrow.hide = i >= len(shown)
            if not arrow.hide:
                name, axis = shown[i]
                arrow.matrix_basis = place @ TO_AXIS[along if name == "length" else axis]


def _getter(place):
    def get():
        shown = handles(panel.active(bpy.context)[0])
        return half(bpy.context, *shown[place]) if place < len(shown) else 0.0

    return get


def _setter(place):
    def put(value):
        shown = handles(panel.active(bpy.context)[0])
        if place < len(shown):
            set_half(bpy.context, *shown[place], value)

    return put


class SINEW_GGT_joint(_Group, bpy.types.GizmoGroup):
    """Pull at the limits of a joint: turns by dials, slides by arrows"""

    bl_idname = "SINEW_GGT_joint"
    bl_label = "Sinew: limits of joints"

    @classmethod
    def poll(cls, context):
        obj = context.object
        return context.mode == "OBJECT" and obj is not None and obj.select_get() and bool(limits(obj))

    def setup(self, context):
        self._dials, self._arrows = [], []
        for _ in range(6):
            self._dials.append(self._dial(LIMIT_COLOUR))
            self._arrows.append(self._arrow(LIMIT_COLOUR))
        self._of = None
        self.refresh(context)

    def refresh(self, context):
        obj = context.object
        found = limits(obj) if obj is not None else []
        key = (obj.name if obj else "", tuple(found))
        if key == self._of:
            return
        self._of = key
        turns = [path for kind, _, path in found if kind == "ang"]
        slides = [path for kind, _, path in found if kind == "lin"]
        for made, wanted in ((self._dials, turns), (self._arrows, slides)):
            for i, gizmo in enumerate(made):
                gizmo.hide = i >= len(wanted)
                if not gizmo.hide:
                    gizmo.target_set_prop("offset", obj.rigid_body_constraint, wanted[i])
        self.draw_prepare(context)

    def draw_prepare(self, context):
        obj = context.object
        if obj is None or obj.rigid_body_constraint is None:
            return
        place = obj.matrix_world.normalized()
        found = limits(obj)
        for made, kind in ((self._dials, "ang"), (self._arrows, "lin")):
            for gizmo, (_, axis, path) in zip(made, [f for f in found if f[0] == kind]):
                gizmo.matrix_basis = place @ TO_AXIS[axis]
                if kind == "ang":
                    # The inner one is the lower limit.
                    gizmo.scale_basis = 0.9 if path.endswith("upper") else 0.7


def limits(obj):
    """The limits that a joint has: turn or slide, axis, and the property of its constraint."""
    found = obj.rigid_body_constraint
    if found is None:
        return []
    if found.type.startswith("GENERIC"):
        free = [(kind, axis) for kind in ("lin", "ang") for axis in range(3)]
    else:
        _, axis, parts = joints.PLAIN.get(found.type, ("", None, ()))
        free = [(kind, axis) for _, kind in parts]
    return [
        (kind, axis, f"limit_{kind}_{'xyz'[axis]}_{end}")
        for kind, axis in free
        if getattr(found, f"use_limit_{kind}_{'xyz'[axis]}")
        for end in ("lower", "upper")
    ]


class SINEW_GGT_own_joint(_Group, bpy.types.GizmoGroup):
    """Pull at the limits of the joint that the panel shows: turns by dials, slides by arrows"""

    bl_idname = "SINEW_GGT_own_joint"
    bl_label = "Sinew: limits of joints of the panel"

    @classmethod
    def poll(cls, context):
        obj = context.object
        return context.mode == "OBJECT" and obj is not None and obj.select_get() and bool(own_limits(obj))

    def setup(self, context):
        # Joints of a list move in memory as others come and go: these look for theirs every time.
        self._seen, self._made = {}, {}
        for end, size in (("min", 0.7), ("max", 0.9)):
            self._made[f"turn_{end}"] = dial = self._dial(LIMIT_COLOUR)
            dial.scale_basis = size
            self._made[f"slide_{end}"] = self._arrow(LIMIT_COLOUR)
        self._ways = {name: (_limit_getter(name), _limit_setter(name)) for name in self._made}
        self.refresh(context)

    def refresh(self, context):
        self.draw_prepare(context)

    def draw_prepare(self, context):
        obj, item = joint_panel.active(context)
        shown = own_limits(obj) if obj is not None else []
        for name, made in self._made.items():
            self._follow(made, *self._ways[name])
            made.hide = name not in shown
            if not made.hide:
                made.matrix_basis = joint_lines.place(obj, item) @ TO_AXIS["XYZ".index(item.axis)]


def own_limits(obj):
    """The limits that the joint of an object has which the panel shows: names of its settings."""
    if not 0 <= obj.sinew_joint_index < len(obj.sinew_joints):
        return []
    item, found = obj.sinew_joints[obj.sinew_joint_index], []
    for name, kinds in (("turn", joint_properties.TURNING), ("slide", joint_properties.SLIDING)):
        is_screw = item.kind == "screw" and name == "turn"
        if item.kind in kinds and getattr(item, f"{name}_limited") and not is_screw:
            found += [f"{name}_min", f"{name}_max"]
    return found


def _limit_getter(name):
    def get():
        item = joint_panel.active(bpy.context)[1]
        return 0.0 if item is None else getattr(item, name)

    return get


def _limit_setter(name):
    def put(value):
        item = joint_panel.active(bpy.context)[1]
        if item is not None:
            setattr(item, name, value)

    return put


CLASSES = (SINEW_GGT_shape, SINEW_GGT_joint, SINEW_GGT_own_joint)
