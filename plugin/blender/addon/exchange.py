"""Set-up files, and scenes of glTF and USD with physics in them: to be edited, versioned, or baked elsewhere; and back."""

import json
import pathlib
import re
import tempfile

import bpy
from bpy.props import EnumProperty, StringProperty

from . import chain_import, joint_import, keyed, run, state
from .sinew import Scene, Setup

#: Endings of files that carry physics themselves.
SCENES = (".glb", ".gltf", ".usda", ".usdc", ".usd", ".usdz")


class SINEW_OT_export_setup(bpy.types.Operator):
    """Write the set-up of what is selected, as Simulate would use it, to a file"""

    bl_idname = "sinew.export_setup"
    bl_label = "Export set-up"

    filepath: StringProperty(subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    @classmethod
    def poll(cls, _context):
        # What is being read by a run is not read once more meanwhile.
        return state.running is None

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
            found.made().save(bpy.path.abspath(self.filepath))
        except (ValueError, OSError, run.SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, f"{len(found.setup['bodies'])} bodies to {self.filepath}")
        return {"FINISHED"}


class SINEW_OT_import_setup(bpy.types.Operator):
    """Read a set-up file, or the physics in a file of glTF or USD, into the settings of what it names"""

    bl_idname = "sinew.import_setup"
    bl_label = "Import set-up"
    bl_options = {"REGISTER", "UNDO"}

    filepath: StringProperty(subtype="FILE_PATH")
    filter_glob: StringProperty(default=";".join(["*.json", *(f"*{e}" for e in SCENES)]), options={"HIDDEN"})

    def invoke(self, context, _event):
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        try:
            with _opened(bpy.path.abspath(self.filepath)) as setup:
                found = json.loads(setup.to_json())
        except (OSError, run.SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        groups = {g["name"]: g for g in found.get("groups", [])}
        missing = chain_import.apply(context, found, lambda name: _owner(context, name))
        count = 0
        for body in found.get("bodies", []):
            owner = _owner(context, body["node"])
            if owner is None:
                missing.append(body["node"])
                continue
            _apply(owner.sinew, body, groups, context.scene)
            count += 1
        world = found.get("world", {})
        settings = context.scene.sinew
        if world.get("floor") is not None:
            settings.use_floor, settings.floor = True, world["floor"]
        if "substeps" in world:
            settings.substeps = world["substeps"]
        if found.get("looseness") is not None:
            settings.looseness = found["looseness"]
        joined, lost = _joints(context.scene, found.get("joints", []), lambda name: _owner(context, name))
        missing += lost
        text = f"{count} bodies" + (f", {joined} joints" if joined else "")
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

    @classmethod
    def poll(cls, _context):
        return state.running is None

    def invoke(self, context, _event):
        self.filepath = self.filepath or f"{pathlib.Path(bpy.data.filepath or 'scene').stem}.glb"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        path = pathlib.Path(bpy.path.abspath(self.filepath)).with_suffix(".glb")
        beside = path.with_suffix(".sinew.json")
        try:
            _export_gltf(path)
        except RuntimeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if bpy.ops.sinew.export_setup(filepath=str(beside)) != {"FINISHED"}:
            return {"CANCELLED"}
        self.report({"INFO"}, f"{path.name} and {beside.name}; bake with: sinew bake {path.name}")
        return {"FINISHED"}


class SINEW_OT_export_physics(bpy.types.Operator):
    """Write the scene as glTF or USD with the physics of what is selected in it, for other programs and for `sinew bake`"""

    bl_idname = "sinew.export_physics"
    bl_label = "Export with physics"

    filepath: StringProperty(subtype="FILE_PATH")
    filter_glob: StringProperty(default=";".join(f"*{e}" for e in SCENES), options={"HIDDEN"})
    extensions: EnumProperty(
        name="In glTF", default="khr",
        items=[
            ("khr", "Khronos", "KHR_physics_rigid_bodies and KHR_implicit_shapes"),
            ("omi", "OMI", "OMI_physics_body, shape, joint and gravity, as Godot reads them"),
        ],
        description="The extensions that a file of glTF gets",
    )  # fmt: skip

    @classmethod
    def poll(cls, _context):
        return state.running is None

    def invoke(self, context, _event):
        self.filepath = self.filepath or f"{pathlib.Path(bpy.data.filepath or 'scene').stem}.usda"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        path = pathlib.Path(bpy.path.abspath(self.filepath))
        if path.suffix.lower() not in SCENES:
            self.report({"ERROR"}, f"{path.name}: end it with one of {', '.join(SCENES)}, which says the format")
            return {"CANCELLED"}
        try:
            found = run.Run(context)
            for _ in found.reading():
                pass
            # Blender writes what is shown; the library adds physics, and knows USD where Blender does not.
            with tempfile.TemporaryDirectory() as folder:
                plain = pathlib.Path(folder) / "scene.glb"
                _export_gltf(plain)
                with Scene.open(plain) as scene, found.made() as setup:
                    warnings = scene.save_physics(path, setup, self.extensions)
        except (ValueError, OSError, RuntimeError, run.SinewError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        warnings = found.warnings + warnings
        state.complain(warnings, "the export", found)
        text = f"{len(found.setup['bodies'])} bodies to {path.name}"
        if warnings:
            many = "1 warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
            self.report({"WARNING"}, f"{text}; {many}, in the Sinew panel")
        else:
            self.report({"INFO"}, text)
        return {"FINISHED"}


def _export_gltf(path):
    """Blender's own export: one clip of everything, every frame as it is."""
    options = {"export_format": "GLB", "export_force_sampling": True, "export_optimize_animation_size": False}
    if bpy.app.version >= (4, 0, 0):
        options |= {"export_animation_mode": "SCENE", "export_anim_scene_split_object": False}
    else:
        options |= {"export_nla_strips": False}
    world = bpy.context.scene.rigidbody_world
    # Blender's own simulation would be exported as keys.
    was_on = world is not None and world.enabled
    if was_on:
        world.enabled = False
    try:
        bpy.ops.export_scene.gltf(filepath=str(path), **options)
    except RuntimeError as error:
        raise RuntimeError(f"Blender's glTF export failed: {error}") from error
    finally:
        if was_on:
            world.enabled = True


def _opened(path):
    """A set-up file, or the physics in a scene."""
    if not path.lower().endswith(SCENES):
        return Setup.open(path)
    with Scene.open(path) as scene:
        return Setup.automatic(scene)


def _joints(scene, joints, find):
    """Sets up the joints of a file, which are where things are at the first frame; how many, and words about the others."""
    if not joints:
        return 0, []
    before = (scene.frame_current, scene.frame_subframe)
    scene.frame_set(scene.frame_start)
    try:
        return joint_import.apply(scene, joints, find)
    finally:
        scene.frame_set(before[0], subframe=before[1])


def _owner(context, name):
    """The object or the bone that a set-up names: by its name, or by the path of a prim, which has fewer letters."""
    last = name.rpartition("/")[2]
    for wanted, same in ((name, str), (last, str), (last, _as_prim)):
        for obj in context.scene.objects:
            if same(obj.name) == wanted:
                return obj
        for armature in (o for o in context.scene.objects if o.type == "ARMATURE"):
            for bone in armature.pose.bones:
                if same(bone.name) == wanted:
                    return bone
    return None


def _as_prim(name):
    """A name as USD has it: letters, digits and lines only."""
    return re.sub(r"\W", "_", name)


def _apply(own, body, groups, scene):
    """What the panel has a slider for; the rest of a set-up is used through the set-up file itself."""
    own.behaviour = body.get("behaviour", "guided")
    for name in ("density", "mass", "simulate"):
        if body.get(name) is not None:
            setattr(own, name, body[name])
    kind = body.get("shape", {}).get("kind")
    if kind in {item.identifier for item in own.bl_rna.properties["shape"].enum_items}:
        own.shape = kind
        _apply_sizes(own, body["shape"])
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
    muscle = body.get("actuator", {})
    # A figure's muscles are more than the preset that they start from, and found again: choosing it would take that away.
    if muscle.get("preset") is not None and not (muscle["preset"] == "reactive" and len(muscle) > 1):
        own.preset = muscle["preset"]
    if muscle.get("looseness") is not None:
        own.looseness = muscle["looseness"]
    for group in (groups[g] for g in body.get("groups", []) if g in groups):
        if group["name"].startswith("Blender: "):
            for name in ("strength", "damping", "blend"):
                if group.get(name) is not None:
                    keyed.put(own, name, group[name], scene)


def _apply_sizes(own, shape):
    size = shape.get("size")
    if shape["kind"] == "box" and size is not None:
        x, y, z = size
        is_bone = own.path_from_id().startswith("pose.")
        own.size = (x, y, z) if is_bone else (x, z, y)
    for name in ("radius", "length"):
        if isinstance(shape.get(name), (int, float)):
            setattr(own, name, shape[name])


CLASSES = (SINEW_OT_export_setup, SINEW_OT_import_setup, SINEW_OT_export_gltf, SINEW_OT_export_physics)
