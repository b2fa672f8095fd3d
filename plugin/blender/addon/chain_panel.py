"""*Chains* in the sidebar: the chains of the active armature, with a slider for each."""

import bpy

from . import capture as capturing
from . import back, chains, keyed, live, physics, run, state
from .sinew import SinewError


def active(context):
    """The active armature and the chain that the panel shows; None for none."""
    obj = context.object
    if obj is None or obj.type != "ARMATURE":
        return None, None
    index = obj.sinew_chain_index
    return obj, obj.sinew_chains[index] if 0 <= index < len(obj.sinew_chains) else None


def members(armature, chain):
    """The names of a chain's bones; None where that is not known before something was read."""
    return chains.made(armature).get(chain) or state.chains.get(armature.name, {}).get(chain)


def read(context, armature):
    """Asks the library for the chains of one armature, whatever is selected; the set-up that it made, too."""
    scene = context.scene
    with context.temp_override(selected_objects=[armature], object=armature, active_object=armature):
        with back.originals(scene):
            found = capturing.Capture(bpy.context, *run.frame_range(scene), selected_only=True)
            for _ in found.steps():
                pass
        for _ in found.building():
            pass
    setup = physics.read_automatic(found.scene)
    return chains.found(found, setup), setup


class SINEW_OT_find_chains(bpy.types.Operator):
    """Ask Sinew which chains this armature has: tails, ears, hair, arms. Nothing is simulated"""

    bl_idname = "sinew.find_chains"
    bl_label = "Find chains"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        is_free = state.running is None and live.session is None
        return is_free and active(context)[0] is not None and context.mode in {"OBJECT", "POSE"}

    def execute(self, context):
        armature = context.object
        try:
            found, _ = read(context, armature)
        except (ValueError, SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        state.chains.update(found)
        chains.note(found)
        count = len(found.get(armature.name, ()))
        self.report({"INFO"} if count else {"WARNING"}, f"{count or 'no'} chains in {armature.name}")
        return {"FINISHED"}


class SINEW_OT_make_chain(bpy.types.Operator):
    """Make a chain of the selected bones, with one slider for all of them. Bones that Sinew left alone are simulated, too"""

    bl_idname = "sinew.make_chain"
    bl_label = "Chain of selected bones"
    bl_options = {"REGISTER", "UNDO"}

    name: bpy.props.StringProperty(name="Name", description="Empty: the name of the first bone", options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context):
        return context.mode == "POSE" and bool(context.selected_pose_bones) and state.running is None

    def execute(self, context):
        armature = context.object
        bones = [bone for bone in context.selected_pose_bones if bone.id_data == armature]
        if not bones:
            self.report({"ERROR"}, f"no bone of {armature.name} is selected; select some")
            return {"CANCELLED"}
        taken = set(state.chains.get(armature.name, ())) | set(chains.made(armature))
        name = base = self.name or f"{bones[0].name} chain"
        count = 1
        while name in taken:
            count += 1
            name = f"{base} {count}"
        for bone in bones:
            bone.sinew.chain = name
        chains.item_of(armature, name)
        armature.sinew_chain_index = armature.sinew_chains.find(name)
        live.mark(context)
        self.report({"INFO"}, f"{len(bones)} bones in {name}")
        return {"FINISHED"}


class SINEW_OT_remove_chain(bpy.types.Operator):
    """Forget the settings of this chain. Bones that were made a chain are as Sinew finds them again"""

    bl_idname = "sinew.remove_chain"
    bl_label = "Forget chain"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return active(context)[1] is not None

    def execute(self, context):
        armature, item = active(context)
        for bone in armature.pose.bones:
            if bone.sinew.chain == item.name:
                bone.sinew.property_unset("chain")
        index = armature.sinew_chain_index
        armature.sinew_chains.remove(index)
        keyed.close_gap(armature, "sinew_chains", index)
        armature.sinew_chain_index = max(0, min(index, len(armature.sinew_chains) - 1))
        live.mark(context)
        return {"FINISHED"}


class SINEW_OT_select_chain(bpy.types.Operator):
    """Select the bones of this chain"""

    bl_idname = "sinew.select_chain"
    bl_label = "Select bones"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        armature, item = active(context)
        return item is not None and bool(members(armature, item.name))

    def execute(self, context):
        armature, item = active(context)
        wanted = set(members(armature, item.name))
        for bone in armature.pose.bones:
            # Where 5.0 has it.
            holder = bone if bpy.app.version >= (5, 0, 0) else bone.bone
            holder.select = bone.name in wanted
        first = next((b for b in armature.data.bones if b.name in wanted), None)
        if first is not None:
            armature.data.bones.active = first
        return {"FINISHED"}


class SINEW_OT_copy_chain(bpy.types.Operator):
    """Give the chains of the same names in other selected armatures the settings of these"""

    bl_idname = "sinew.copy_chains"
    bl_label = "Copy to selected"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return active(context)[1] is not None

    def execute(self, context):
        armature, _ = active(context)
        count = 0
        for other in context.selected_objects:
            if other.type != "ARMATURE" or other == armature or other.library is not None:
                continue
            for own in armature.sinew_chains:
                item = chains.item_of(other, own.name)
                for name in chains.FACTORS:
                    if own.is_property_set(name):
                        setattr(item, name, getattr(own, name))
                    else:
                        item.property_unset(name)
            for name, bones in chains.made(armature).items():
                for bone in (other.pose.bones.get(b) for b in bones):
                    if bone is not None:
                        bone.sinew.chain = name
            count += 1
        live.mark(context)
        self.report({"INFO"}, f"{count} armatures have its chains now")
        return {"FINISHED"}


class SINEW_UL_chains(bpy.types.UIList):
    """Chains of an armature"""

    def draw_item(self, _context, layout, data, item, _icon, _active_data, _active_property):
        row = layout.row()
        # Only for those that were made are all bones looked at.
        bones = state.chains.get(data.name, {}).get(item.name) or members(data, item.name)
        row.label(text=item.name if bones is None else f"{item.name} ({len(bones)})")
        right = row.row()
        right.ui_units_x = 2.6
        right.active = item.is_property_set("strength")
        right.prop(item, "strength", text="", emboss=False)


class SINEW_PT_chains(bpy.types.Panel):
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Sinew"
    bl_label = "Chains"
    bl_idname = "SINEW_PT_chains"

    @classmethod
    def poll(cls, context):
        return active(context)[0] is not None

    def draw(self, context):
        layout = self.layout
        armature, item = active(context)
        column = layout.column(align=True)
        column.operator("sinew.find_chains", icon="VIEWZOOM")
        if context.mode == "POSE":
            column.operator("sinew.make_chain", icon="ADD")
        if not len(armature.sinew_chains):
            return
        row = layout.row()
        row.template_list("SINEW_UL_chains", "", armature, "sinew_chains", armature, "sinew_chain_index", rows=4)
        row.operator("sinew.remove_chain", text="", icon="X")
        if item is None:
            return
        column = layout.column()
        column.use_property_split = True
        for name in chains.FACTORS:
            row = column.row()
            # What was never touched is as Sinew has it, and looks it.
            row.active = item.is_property_set(name)
            row.prop(item, name)
        column = layout.column(align=True)
        column.operator("sinew.select_chain", icon="RESTRICT_SELECT_OFF")
        column.operator("sinew.copy_chains", icon="COPYDOWN")


CLASSES = (
    SINEW_OT_find_chains,
    SINEW_OT_make_chain,
    SINEW_OT_remove_chain,
    SINEW_OT_select_chain,
    SINEW_OT_copy_chain,
    SINEW_UL_chains,
    SINEW_PT_chains,
)
