"""Set-up files: the physics of what is selected, to be edited, versioned, or baked elsewhere; and back again."""

import json
import pathlib

import bpy
from bpy.props import StringProperty

from . import run
from .sinew import Setup


class SINEW_OT_export_setup(bpy.types.Operator):
    """Write the set-up of what is selected, as Simulate would use it, to a file"""

    bl_idname = "sinew.export_setup"
    bl_label = "Export set-up"

    filepath: StringProperty(subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def invoke(self, context, _event):
        name = pathlib.Path(bpy.data.filepath or "scene").stem
        self.filepath = self.filepath or f"{name}.sinew.json"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        try:
            found = run.Run(context)
            for _ in found.reading():
                pass
            # Through the library, which refuses what it would not read.
            Setup.from_json(found.setup).save(bpy.path.abspath(self.filepath))
        except (ValueError, OSError, run.SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, f"{len(found.setup['bodies'])} bodies to {self.filepath}")
        return {"FINISHED"}


class SINEW_OT_import_setup(bpy.types.Operator):
    """Read a set-up file into the settings of the objects and bones that it names"""

    bl_idname = "sinew.import_setup"
    bl_label = "Import set-up"
    bl_options = {"REGISTER", "UNDO"}

    filepath: StringProperty(subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def invoke(self, context, _event):
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        try:
            with Setup.open(bpy.path.abspath(self.filepath)) as setup:
                found = json.loads(setup.to_json())
        except (OSError, run.SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        groups = {g["name"]: g for g in found.get("groups", [])}
        count, missing = 0, []
        for body in found.get("bodies", []):
            owner = _owner(context, body["node"])
            if owner is None:
                missing.append(body["node"])
                continue
            _apply(owner.sinew, body, groups)
            count += 1
        world = found.get("world", {})
        settings = context.scene.sinew
        if world.get("floor") is not None:
            settings.use_floor, settings.floor = True, world["floor"]
        if "substeps" in world:
            settings.substeps = world["substeps"]
        text = f"{count} bodies"
        if missing:
            text += f"; not in this scene: {', '.join(missing)}"
        self.report({"WARNING" if missing else "INFO"}, text)
        return {"FINISHED"}


class SINEW_OT_export_gltf(bpy.types.Operator):
    """Write the scene as glTF and the set-up of what is selected beside it, for `sinew bake` on a farm"""

    bl_idname = "sinew.export_gltf"
    bl_label = "Export glTF with set-up"

    filepath: StringProperty(subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.glb", options={"HIDDEN"})

    def invoke(self, context, _event):
        self.filepath = self.filepath or f"{pathlib.Path(bpy.data.filepath or 'scene').stem}.glb"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        path = pathlib.Path(bpy.path.abspath(self.filepath)).with_suffix(".glb")
        beside = path.with_suffix(".sinew.json")
        # One clip of everything, every frame as it is.
        options = {"export_format": "GLB", "export_force_sampling": True, "export_optimize_animation_size": False}
        if bpy.app.version >= (4, 0, 0):
            options |= {"export_animation_mode": "SCENE", "export_anim_scene_split_object": False}
        else:
            options |= {"export_nla_strips": False}
        try:
            bpy.ops.export_scene.gltf(filepath=str(path), **options)
        except RuntimeError as error:
            self.report({"ERROR"}, f"Blender's glTF export failed: {error}")
            return {"CANCELLED"}
        if bpy.ops.sinew.export_setup(filepath=str(beside)) != {"FINISHED"}:
            return {"CANCELLED"}
        self.report({"INFO"}, f"{path.name} and {beside.name}; bake with: sinew bake {path.name}")
        return {"FINISHED"}


def _owner(context, name):
    """The object or the bone of that name."""
    obj = context.scene.objects.get(name)
    if obj is not None:
        return obj
    for armature in context.scene.objects:
        if armature.type == "ARMATURE" and name in armature.pose.bones:
            return armature.pose.bones[name]
    return None


def _apply(own, body, groups):
    """What the panel has a slider for; the rest of a set-up is used through the set-up file itself."""
    own.behaviour = body.get("behaviour", "guided")
    for name in ("density", "mass", "simulate"):
        if body.get(name) is not None:
            setattr(own, name, body[name])
    kind = body.get("shape", {}).get("kind")
    if kind in {item.identifier for item in own.bl_rna.properties["shape"].enum_items}:
        own.shape = kind
    contact = body.get("contact", {})
    for name in ("friction", "bounce", "collide"):
        if contact.get(name) is not None:
            setattr(own, name, contact[name])
    coating = contact.get("coating")
    if coating is not None:
        own.coating = True
        for name in ("thickness", "stiffness"):
            if coating.get(name) is not None:
                setattr(own, "coating_" + name, coating[name])
    guide = body.get("guide", {})
    if guide.get("timing") in ("timed", "path"):
        own.timing = guide["timing"]
    if isinstance(guide.get("base_distance"), (int, float)):
        own.distance = guide["base_distance"]
    preset = body.get("actuator", {}).get("preset")
    if preset is not None:
        own.preset = preset
    for group in (groups[g] for g in body.get("groups", []) if g in groups):
        if group["name"].startswith("Blender: "):
            for name in ("strength", "damping", "blend"):
                if isinstance(group.get(name), (int, float)):
                    setattr(own, name, group[name])


CLASSES = (SINEW_OT_export_setup, SINEW_OT_import_setup, SINEW_OT_export_gltf)
