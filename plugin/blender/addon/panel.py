"""The *Sinew* tab of the sidebar."""

import bpy

from . import live, physics, state
from .properties import SinewBody


#: Warnings that are shown below the button.
TOLD = 3
#: Everything that an animator sets.
SETTINGS = [name for name in SinewBody.__annotations__ if not name.startswith("was_")]
#: What others get of it: not whose chain it is in.
COPIED = [name for name in SETTINGS if name != "chain"]


def active(context):
    """The object's or the bone's properties that the panel shows, and its name."""
    bone = context.active_pose_bone if context.mode == "POSE" else None
    if bone is not None:
        return bone.sinew, bone.name
    return (context.object.sinew, context.object.name) if context.object else (None, "")


class SINEW_OT_copy(bpy.types.Operator):
    """Give the other selected objects or bones the settings of the active one"""

    bl_idname = "sinew.copy"
    bl_label = "Copy to selected"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return active(context)[0] is not None

    def execute(self, context):
        own, _ = active(context)
        others = context.selected_pose_bones if context.mode == "POSE" else context.selected_objects
        count = 0
        for other in others:
            if other.sinew == own:
                continue
            for name in COPIED:
                if own.is_property_set(name):
                    setattr(other.sinew, name, getattr(own, name))
                else:
                    other.sinew.property_unset(name)
            count += 1
        live.mark(context)
        self.report({"INFO"}, f"{count} have its settings now")
        return {"FINISHED"}


class SINEW_OT_reset(bpy.types.Operator):
    """Leave everything about the selected objects or bones to Sinew again"""

    bl_idname = "sinew.reset"
    bl_label = "Automatic again"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return active(context)[0] is not None

    def execute(self, context):
        for other in context.selected_pose_bones if context.mode == "POSE" else context.selected_objects:
            for name in SETTINGS:
                other.sinew.property_unset(name)
        live.mark(context)
        return {"FINISHED"}


class SINEW_OT_strained(bpy.types.Operator):
    """Go to where strength was not enough"""

    bl_idname = "sinew.strained"
    bl_label = "Go to strain"

    forward: bpy.props.BoolProperty(options={"HIDDEN", "SKIP_SAVE"})

    @classmethod
    def poll(cls, _context):
        return state.result is not None and bool(state.result.strained)

    def execute(self, context):
        all_frames = {frame for _, _, frames in state.result.strained for frame in frames}
        # Where it begins, of every stretch.
        begins = sorted(frame for frame in all_frames if frame - 1 not in all_frames)
        now = context.scene.frame_current
        if self.forward:
            found = next((frame for frame in begins if frame > now), begins[0])
        else:
            found = next((frame for frame in reversed(begins) if frame < now), begins[-1])
        context.scene.frame_set(found)
        return {"FINISHED"}


class _Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Sinew"


class SINEW_PT_simulate(_Panel, bpy.types.Panel):
    bl_label = "Simulate"
    bl_idname = "SINEW_PT_simulate"

    def draw(self, context):
        layout, settings = self.layout, context.scene.sinew
        if state.progress is not None:
            share, text, hint = state.progress
            box = layout.box()
            box.label(text=text.capitalize())
            box.label(text=f"{round(100 * share)} %    {hint}")
            self._warn(layout, context)
            return
        if live.session is None:
            row = layout.row(align=True)
            row.scale_y = 1.5
            row.operator("sinew.simulate", icon="PLAY")
            row.operator("sinew.live", icon="RADIOBUT_ON")
            column = layout.column(align=True)
            column.operator("sinew.restore", icon="LOOP_BACK")
            column.operator("sinew.check", icon="VIEWZOOM")
        else:
            row = layout.row(align=True)
            row.scale_y = 1.5
            row.operator("sinew.live_bake", icon="CHECKMARK")
            row.operator("sinew.live_discard", icon="X")
            layout.operator("sinew.live_drag", icon="VIEW_PAN")
            layout.label(text=live.session.error or f"Simulated in {1000 * live.session.needed:.0f} ms")
        self._warn(layout, context)
        column = layout.column()
        column.use_property_split = True
        column.use_property_decorate = False
        column.prop(settings, "preset")
        row = column.row()
        row.active = settings.preset != "automatic"
        row.prop(settings, "looseness", slider=True)
        column.prop(settings, "begin")
        column.prop(settings, "keys")
        if settings.keys == "fitted":
            column.prop(settings, "tolerance")
            column.prop(settings, "tolerance_deg")
        column.prop(settings, "result")
        column.prop(settings, "skeleton")
        if context.mode == "POSE":
            column.prop(settings, "selected_bones")
        column.prop(settings, "loop")

    @staticmethod
    def _warn(layout, context):
        """What is wrong, right below the button: in short, and a click selects what it names; all words are under Result."""
        if not state.warnings:
            return
        column = layout.box().column(align=True)
        column.label(text=f"Of {state.asked}:", icon="ERROR")
        for i, found in enumerate(state.warnings[:TOLD]):
            for line in wrapped(found.title, max(24, context.region.width // 8)):
                row = column.row()
                row.alignment = "LEFT"
                if found.objects:
                    row.operator("sinew.select", text=line, emboss=False).index = i
                else:
                    row.label(text=line)
        if len(state.warnings) > TOLD:
            column.label(text=f"and {len(state.warnings) - TOLD} more, under Result")


class SINEW_PT_world(_Panel, bpy.types.Panel):
    bl_label = "World"
    bl_idname = "SINEW_PT_world"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, settings = self.layout, context.scene.sinew
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(settings, "obstacles")
        row = layout.row(heading="Floor")
        row.prop(settings, "use_floor", text="")
        row.prop(settings, "floor", text="")
        layout.prop(settings, "unit")
        layout.prop(settings, "substeps")
        layout.prop(context.scene, "gravity")
        layout.separator()
        layout.prop(settings, "setup_file")
        column = layout.column(align=True)
        column.operator("sinew.export_setup", icon="EXPORT")
        column.operator("sinew.import_setup", icon="IMPORT")
        column.operator("sinew.export_gltf", icon="EXPORT")
        column.operator("sinew.export_physics", icon="EXPORT")


class SINEW_PT_body(_Panel, bpy.types.Panel):
    bl_label = "Physics"
    bl_idname = "SINEW_PT_body"

    @classmethod
    def poll(cls, context):
        return active(context)[0] is not None

    def draw(self, context):
        own, name = active(context)
        layout = self.layout
        layout.label(text=name, icon="BONE_DATA" if context.mode == "POSE" else "OBJECT_DATA")
        layout.use_property_split = True
        for name in self._shown(own):
            row = layout.row()
            # Only these can be keyed; others have more room without the dot.
            row.use_property_decorate = name in physics.FACTORS
            # What was never touched is automatic, and looks it.
            row.active = own.is_property_set(name)
            row.prop(own, name, slider=name in ("looseness", "blend"))
        column = layout.column(align=True)
        column.operator("sinew.copy", icon="COPYDOWN")
        column.operator("sinew.reset", icon="LOOP_BACK")

    @staticmethod
    def _shown(own):
        yield "behaviour"
        if own.behaviour in ("automatic", "guided"):
            yield from ("preset", "looseness", "strength", "damping", "blend", "timing", "distance", "simulate")
        if own.behaviour != "static":
            yield from ("touched", "density", "mass")
        yield "shape"
        if own.shape == "box":
            yield "size"
        elif own.shape in ("sphere", *physics.ROUND):
            yield "radius"
            if own.shape != "sphere":
                yield "length"
        yield "collide"
        if own.collide:
            yield from ("friction", "bounce", "coating")
            if own.coating:
                yield from ("coating_thickness", "coating_stiffness")


class SINEW_PT_result(_Panel, bpy.types.Panel):
    bl_label = "Result"
    bl_idname = "SINEW_PT_result"

    def draw(self, context):
        layout, settings = self.layout, context.scene.sinew
        row = layout.row(align=True)
        row.prop(settings, "show_paths", toggle=True)
        row.prop(settings, "show_contacts", toggle=True)
        row.prop(settings, "show_strain", toggle=True)
        row = layout.row(align=True)
        row.prop(settings, "show_shapes", toggle=True)
        row.prop(settings, "show_limits", toggle=True)
        row.prop(settings, "show_joints", toggle=True)
        row.prop(settings, "show_targets", toggle=True)
        result = state.result
        if result is not None and result.strained:
            box = layout.box()
            row = box.row(align=True)
            row.label(text="At full strength:", icon="FORCE_FORCE")
            row.operator("sinew.strained", text="", icon="PREV_KEYFRAME").forward = False
            row.operator("sinew.strained", text="", icon="NEXT_KEYFRAME").forward = True
            box.label(text=strip(result, max(12, context.region.width // 12)))
            for name, _, frames in result.strained[:8]:
                box.label(text=f"{name}: {spans(frames)}")
            if len(result.strained) > 8:
                box.label(text=f"and {len(result.strained) - 8} more")
        if result is not None and result.muted:
            layout.label(text=f"{len(result.muted)} constraints muted", icon="CONSTRAINT")
        for i, warning in enumerate(state.warnings[:12]):
            box = layout.box().column(align=True)
            for line in wrapped(warning.text, max(24, context.region.width // 8)):
                box.label(text=line)
            if warning.objects:
                box.operator("sinew.select", text=f"Select {', '.join(warning.objects[:3])}").index = i
        if len(state.warnings) > 12:
            layout.label(text=f"and {len(state.warnings) - 12} more warnings")


#: From nothing to everything.
BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def strip(result, width):
    """The range as a row of bars: the more bodies are at the end of their strength, the higher."""
    count = result.last - result.first + 1
    width = min(width, count)
    found = [0] * width
    for _, _, frames in result.strained:
        for place in {(frame - result.first) * width // count for frame in frames}:
            found[place] += 1
    most = max(found, default=0) or 1
    # Even the least is seen beside nothing.
    return "".join(BARS[0 if not n else 2 + round(n / most * (len(BARS) - 3))] for n in found)


def spans(frames):
    """Frames in words: 3, 5 to 9."""
    found = []
    for frame in frames:
        if found and frame == found[-1][1] + 1:
            found[-1][1] = frame
        else:
            found.append([frame, frame])
    words = [str(a) if a == b else f"{a} to {b}" for a, b in found[:6]]
    return ", ".join(words) + (", ..." if len(found) > 6 else "")


def wrapped(text, width):
    """Lines that fit the panel."""
    line, lines = "", []
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


def menu(self, _context):
    """In Object or Pose > Animation, where the search finds it, too."""
    self.layout.separator()
    for name, label in (("simulate", "Simulate"), ("live", "Live"), ("restore", "Restore Keys")):
        self.layout.operator(f"sinew.{name}", text=f"Sinew: {label}")


CLASSES = (
    SINEW_OT_copy,
    SINEW_OT_reset,
    SINEW_OT_strained,
    SINEW_PT_simulate,
    SINEW_PT_world,
    SINEW_PT_body,
)
#: Below the panels of joints.
LAST = (SINEW_PT_result,)
