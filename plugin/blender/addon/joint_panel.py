"""*Joints* in the sidebar: what the active object is joined to, and the buttons that join and part."""

import bpy

from . import keyed, live, overlay, state
from . import joint_properties as having
from .own_joints import name_of


def active(context):
    """The joint that the panel shows, with its object; None for none."""
    obj = context.object
    if obj is None or not 0 <= obj.sinew_joint_index < len(obj.sinew_joints):
        return obj, None
    return obj, obj.sinew_joints[obj.sinew_joint_index]


def chosen(context):
    """What is selected beside the active object or bone: pairs of an object and a bone's name or nothing; and the active."""
    if context.mode != "POSE":
        return [(o, "") for o in context.selected_objects if o != context.object], (context.object, "")
    bone = context.active_pose_bone
    found = [(b.id_data, b.name) for b in context.selected_pose_bones or () if b != bone]
    found += [(o, "") for o in context.selected_objects if o.type != "ARMATURE"]
    return found, (context.object, bone.name if bone is not None else "")


def add(owner, bone, kind, other, other_bone=""):
    """A new joint at the end of an object's list, which the panel shows from then on."""
    item = owner.sinew_joints.add()
    item.kind, item.bone, item.other, item.other_bone = kind, bone, other, other_bone
    item.name = _free_name(owner, item)
    owner.sinew_joint_index = len(owner.sinew_joints) - 1
    return item


def _free_name(owner, item):
    taken = {other.name for other in owner.sinew_joints}
    name, count = name_of(owner, item), 1
    while name in taken:
        count += 1
        name = f"{name_of(owner, item)} {count}"
    return name


def remove(owner, index):
    """Takes a joint away, with its keys."""
    owner.sinew_joints.remove(index)
    owner.sinew_joint_index = max(0, min(owner.sinew_joint_index, len(owner.sinew_joints) - 1))
    keyed.close_gap(owner, "sinew_joints", index)


class SINEW_OT_join(bpy.types.Operator):
    """Join what is selected to the active object or bone. What has no keys then hangs on it; what has them still chases them"""

    bl_idname = "sinew.join"
    bl_label = "Join to active"
    bl_options = {"REGISTER", "UNDO"}

    kind: bpy.props.EnumProperty(name="Type", items=having.KINDS, default="universal")

    @classmethod
    def poll(cls, context):
        if context.object is None or context.mode not in {"OBJECT", "POSE"} or state.running is not None:
            return False
        return bool(chosen(context)[0])

    def execute(self, context):
        found, (other, other_bone) = chosen(context)
        linked = [o.name for o, _ in found if o.library is not None]
        for owner, bone in found:
            if owner.library is None:
                add(owner, bone, self.kind, other, other_bone)
        live.mark(context)
        overlay.refresh(context)
        name = other_bone or other.name
        if linked:
            self.report({"WARNING"}, f"{', '.join(linked)}: linked from another file; make an override of it to join it")
        else:
            self.report({"INFO"}, f"{len(found)} joined to {name}")
        return {"FINISHED"}


class SINEW_OT_join_world(bpy.types.Operator):
    """Join the selected objects to the world, which does not move"""

    bl_idname = "sinew.join_world"
    bl_label = "Join to the world"
    bl_options = {"REGISTER", "UNDO"}

    kind: bpy.props.EnumProperty(name="Type", items=having.KINDS, default="universal")

    @classmethod
    def poll(cls, context):
        return context.mode == "OBJECT" and bool(context.selected_objects) and state.running is None

    def execute(self, context):
        for owner in context.selected_objects:
            if owner.library is None and owner.type != "ARMATURE":
                add(owner, "", self.kind, None)
        live.mark(context)
        overlay.refresh(context)
        return {"FINISHED"}


class SINEW_OT_part(bpy.types.Operator):
    """Remove this joint"""

    bl_idname = "sinew.part"
    bl_label = "Remove joint"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return active(context)[1] is not None

    def execute(self, context):
        remove(context.object, context.object.sinew_joint_index)
        live.mark(context)
        overlay.refresh(context)
        return {"FINISHED"}


class SINEW_OT_copy_joint(bpy.types.Operator):
    """Give the joints of the other selected objects the type and the settings of this one. Whom they join, and where, stays"""

    bl_idname = "sinew.copy_joint"
    bl_label = "Copy to selected"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return active(context)[1] is not None

    def execute(self, context):
        owner, own = active(context)
        count = 0
        for other in context.selected_objects:
            for item in other.sinew_joints if other != owner else ():
                for name in having.SETTINGS:
                    if own.is_property_set(name):
                        setattr(item, name, getattr(own, name))
                    else:
                        item.property_unset(name)
                count += 1
        live.mark(context)
        overlay.refresh(context)
        self.report({"INFO"}, f"{count} joints have its settings now")
        return {"FINISHED"}


class SINEW_UL_joints(bpy.types.UIList):
    """Joints of an object"""

    def draw_item(self, _context, layout, _data, item, _icon, _active_data, _active_property):
        layout.prop(item, "name", text="", emboss=False)
        kind = next(k[1] for k in having.KINDS if k[0] == item.kind)
        right = layout.row()
        right.ui_units_x = 3.0
        right.label(text=kind)


class SINEW_PT_joints(bpy.types.Panel):
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Sinew"
    bl_label = "Joints"
    bl_idname = "SINEW_PT_joints"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return context.object is not None

    def draw(self, context):
        layout = self.layout
        row = layout.row(align=True)
        row.operator_menu_enum("sinew.join", "kind", icon="LINKED")
        row.operator_menu_enum("sinew.join_world", "kind", text="", icon="WORLD")
        obj, item = active(context)
        if not len(obj.sinew_joints):
            return
        row = layout.row()
        row.template_list("SINEW_UL_joints", "", obj, "sinew_joints", obj, "sinew_joint_index", rows=2)
        row.operator("sinew.part", text="", icon="X")
        if item is None:
            return
        layout.use_property_split = True
        layout.use_property_decorate = False
        self._ends(layout, obj, item)
        self._motion(layout, item)
        self._hold(layout, item)
        layout.operator("sinew.copy_joint", icon="COPYDOWN")

    @staticmethod
    def _ends(layout, obj, item):
        layout.prop(item, "kind")
        if obj.type == "ARMATURE":
            layout.prop_search(item, "bone", obj.pose, "bones")
        layout.prop(item, "other")
        if item.other is not None and item.other.type == "ARMATURE":
            layout.prop_search(item, "other_bone", item.other.pose, "bones")
        layout.prop(item, "pivot")
        layout.prop(item, "other_pivot")
        if item.kind not in (*having.ROUND, "inside_box"):
            row = layout.row()
            row.prop(item, "axis", expand=True)
        if item.kind in having.LONG:
            _touchable(layout, item, "length")
        elif item.kind == "screw":
            layout.prop(item, "pitch")
        elif item.kind == "inside_box":
            layout.prop(item, "size")

    @staticmethod
    def _motion(layout, item):
        for name, kinds in (("turn", having.TURNING), ("slide", having.SLIDING)):
            if item.kind not in kinds:
                continue
            column = layout.column(align=True)
            is_screw = item.kind == "screw"
            if not (is_screw and name == "turn"):
                column.prop(item, f"{name}_limited")
                if getattr(item, f"{name}_limited"):
                    column.prop(item, f"{name}_min")
                    column.prop(item, f"{name}_max")
            if is_screw and name == "slide":
                continue
            column.prop(item, f"{name}_drive")
            drive = getattr(item, f"{name}_drive")
            if drive == "free":
                continue
            _keyable(column, item, f"{name}_rest")
            if drive == "spring":
                _keyable(column, item, f"{name}_stiffness")
                _keyable(column, item, f"{name}_damping")
            _touchable(column, item, f"{name}_strength")
        if item.kind in having.TILTING:
            column = layout.column(align=True)
            column.prop(item, "tilt_limited")
            if item.tilt_limited:
                column.prop(item, "tilt_max")
            column.prop(item, "tilt_spring")
            if item.tilt_spring:
                _keyable(column, item, "tilt_stiffness")
                _keyable(column, item, "tilt_damping")

    @staticmethod
    def _hold(layout, item):
        column = layout.column(align=True)
        column.prop(item, "gives")
        if item.gives:
            _keyable(column, item, "give_stiffness")
            _keyable(column, item, "give_damping")
            if item.kind in having.HOLDING_TURNS:
                _touchable(column, item, "give_turn_stiffness")
                _touchable(column, item, "give_turn_damping")
        column.prop(item, "breaks")
        if item.breaks:
            column.prop(item, "break_force")
            _touchable(column, item, "break_torque")
        column.prop(item, "collide")
        _keyable(column, item, "holds")
        if item.kind not in (*having.LONG, "inside_box"):
            column.prop(item, "grab")


def _keyable(layout, item, name):
    row = layout.row()
    row.use_property_decorate = True
    row.prop(item, name)


def _touchable(layout, item, name):
    """What was never touched is automatic, and looks it."""
    row = layout.row()
    row.active = item.is_property_set(name)
    row.prop(item, name)


CLASSES = (
    SINEW_OT_join,
    SINEW_OT_join_world,
    SINEW_OT_part,
    SINEW_OT_copy_joint,
    SINEW_UL_joints,
    SINEW_PT_joints,
)
