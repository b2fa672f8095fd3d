"""Scenes made by script, for tests, timings and pictures. Needs bpy, not the add-on."""

import math

import bpy
from mathutils import Euler, Matrix, Quaternion, Vector  # noqa: F401  (some for the timings)


def empty_file(frames=49):
    """Nothing at all, 24 frames a second."""
    if bpy.app.version < (4, 5, 0) and bpy.context.scene.rigidbody_world is not None:
        # Blender frees joints before the bodies that still point to them, and then may crash: see docs/blender.md.
        bpy.ops.rigidbody.world_remove()
    # Factory settings would switch the add-on off; the factory's start file does not.
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, frames
    scene.render.fps, scene.render.fps_base = 24, 1.0
    return scene


def box(name, size=(1.0, 1.0, 1.0), place=(0.0, 0.0, 0.0)):
    x, y, z = (s / 2 for s in size)
    corners = [(i * x, j * y, k * z) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], sides)
    return add(name, mesh, place)


def add(name, data, place=(0.0, 0.0, 0.0)):
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    obj.location = place
    return obj


def key(owner, path, values):
    """Keys: a dictionary from frames to values."""
    for frame, value in values.items():
        setattr(owner, path, value)
        owner.keyframe_insert(path, frame=frame)


def select(*objects):
    # Links that are new would lose the selection otherwise.
    bpy.context.view_layer.update()
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0]
    bpy.context.view_layer.update()


def cube(scale=(1.0, 1.0, 1.0)):
    """A keyed cube."""
    empty_file(40)
    obj = box("Cube", place=(0, 0, 1))
    obj.scale = scale
    key(obj, "location", {1: (0, 0, 1), 20: (2, 0.5, 1.5), 40: (3, 0, 1)})
    key(obj, "rotation_euler", {1: (0, 0, 0), 40: (0.3, 0.2, 0.8)})
    select(obj)
    return obj


def props(plain=False):
    """Objects with Euler and quaternion keys, a parent with non-uniform scale, and one more channel that must stay.

    What hangs on the parent is sheared by it; `plain` leaves that out, for formats that cannot say it.
    """
    scene = empty_file()
    turner = box("Turner", (1.0, 0.6, 0.4), (0, 0, 3))
    turner.rotation_mode = "XZY"
    key(turner, "rotation_euler", {1: (0, 0, 0), 25: (0.4, 2.5, 0.2), 49: (0.2, 5.5, -0.4)})
    key(turner, "location", {1: (0, 0, 3), 25: (2, 1, 3.5), 49: (4, 0, 3)})
    turner["heat"] = 0.0
    _key_custom(turner)
    spinner = box("Spinner", (0.5, 0.8, 0.3), (0, -3, 3))
    spinner.rotation_mode = "QUATERNION"
    turns = {1: Quaternion(), 20: Quaternion((0, 0, 1), 2.0), 49: Quaternion((1, 1, 0), -1.5)}
    key(spinner, "rotation_quaternion", turns)
    carrier = box("Carrier", (1.0, 1.0, 0.2), (0, 4, 3))
    carrier.scale = (1.0, 2.0, 0.5)
    carrier.rotation_euler = (0.0, 0.0, 0.5)
    key(carrier, "location", {1: (0, 4, 3), 30: (3, 4, 3), 49: (3, 4, 4)})
    rider = box("Rider", (0.3, 0.3, 0.3))
    rider.parent = carrier
    if plain:
        key(rider, "location", {1: (0, 0, 1.5), 25: (0, 0.3, 1.9), 49: (0.2, 0, 1.5)})
        key(rider, "rotation_euler", {1: (0, 0, 0), 49: (0.0, 0.0, 1.0)})
    else:
        bpy.context.view_layer.update()
        rider.matrix_parent_inverse = carrier.matrix_world.inverted()
        key(rider, "location", {1: (0, 4, 3.5), 25: (0, 4.5, 3.7), 49: (0.2, 4, 3.5)})
        key(rider, "rotation_euler", {1: (0, 0, 0), 49: (0.0, 0.0, 1.0)})
    select(turner, spinner, carrier, rider)
    return scene


def _key_custom(obj):
    for frame, value in ((1, 0.0), (49, 1.0)):
        obj["heat"] = value
        obj.keyframe_insert('["heat"]', frame=frame)


def falling():
    """A bat that is keyed and a free ball on a table, as rigid bodies of Blender."""
    scene = empty_file()
    table = box("Table", (6.0, 6.0, 0.2), (0, 0, -0.1))
    ball = box("Ball", (0.4, 0.4, 0.4), (0, 0, 1.2))
    bat = box("Bat", (0.2, 1.0, 1.0), (-2.5, 0, 0.6))
    key(bat, "location", {1: (-2.5, 0, 0.6), 20: (-2.0, 0, 0.6), 34: (1.0, 0, 0.6), 49: (1.0, 0, 0.6)})
    select(ball, bat)
    bpy.ops.rigidbody.world_add()
    for obj, kind in ((table, "PASSIVE"), (ball, "ACTIVE")):
        select(obj)
        bpy.ops.rigidbody.object_add(type=kind)
    ball.rigid_body.mass = 2.0
    ball.rigid_body.collision_shape = "BOX"
    select(ball, bat)
    return scene


def chain(links=9, frames=250, length=0.5):
    """The hanging chain: a head keyed to and fro by 2 m, links on point constraints, a floor."""
    scene = empty_file(frames)
    scene.frame_end = frames
    bpy.ops.rigidbody.world_add()
    collection = bpy.data.collections.new("Bodies")
    scene.collection.children.link(collection)
    scene.rigidbody_world.collection = collection
    scene.rigidbody_world.constraints = bpy.data.collections.new("Joints")
    scene.rigidbody_world.point_cache.frame_end = frames
    top = length * links + 1.0
    head = box("Head", (0.2, 0.2, 0.2), (0, 0, top))
    steps = {f: (2.0 * math.sin((f - 1) / 12.0), 0.0, top) for f in range(1, frames + 1, 6)}
    key(head, "location", steps)
    floor = box("Floor", (60.0, 60.0, 0.2), (0, 0, -0.1))
    bodies = [box(f"Link{i:03}", (0.1, 0.1, 0.9 * length), (0, 0, top - length * (i + 0.5))) for i in range(links)]
    for obj in (head, floor, *bodies):
        collection.objects.link(obj)
        obj.rigid_body.type = "ACTIVE" if obj in bodies else "PASSIVE"
        obj.rigid_body.mass = 1.0
    head.rigid_body.kinematic = True
    for i, body in enumerate(bodies):
        above = bodies[i - 1] if i else head
        joint = add(f"Joint{i:03}", None, (0, 0, top - length * i))
        scene.rigidbody_world.constraints.objects.link(joint)
        joint.rigid_body_constraint.type = "POINT"
        joint.rigid_body_constraint.object1, joint.rigid_body_constraint.object2 = above, body
    select(*bodies, head)
    return scene


def crowded(links=60, frames=2500):
    """The chain, which takes its time, and beside it a ball in a crate, and a chest that is in nobody's way."""
    scene = chain(links, frames)
    chosen = list(bpy.context.selected_objects)
    for name, size, x in (("Ball", 0.4, 20.0), ("Crate", 1.0, 20.5), ("Chest", 1.0, 29.0)):
        obj = box(name, (size, size, size), (x, 0, 2))
        if hasattr(obj, "sinew"):
            obj.sinew.behaviour = "free"
        chosen.append(obj)
    select(*chosen)
    return scene


def lamp():
    """A hand that is keyed to and fro, and a lamp beside it that nothing holds yet, with an empty between them."""
    scene = empty_file()
    hand = box("Hand", (0.3, 0.3, 0.3), (0, 0, 3))
    key(hand, "location", {1: (0, 0, 3), 25: (0, 1, 3), 49: (0, 0, 3)})
    hung = box("Lamp", (0.6, 0.25, 0.25), (0.9, 0, 3))
    add("Pivot", None, (0.3, 0, 3)).empty_display_size = 0.15
    select(hand, hung)
    return scene


def armature(name, bones):
    """An armature of bones: name -> (parent, head, tail)."""
    data = bpy.data.armatures.new(name)
    obj = add(name, data)
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone, (parent, head, tail) in bones.items():
        made = data.edit_bones.new(bone)
        made.head, made.tail = head, tail
        if parent:
            made.parent = data.edit_bones[parent]
            made.use_connect = (made.head - made.parent.tail).length < 1e-6
    bpy.ops.object.mode_set(mode="OBJECT")
    return obj


#: A figure of 25 bones: spine, head, tail, arms, legs; metres, Z up.
FIGURE = {
    "hips": (None, (0, 0, 1.0), (0, 0, 1.15)),
    "spine": ("hips", (0, 0, 1.15), (0, 0, 1.3)),
    "chest": ("spine", (0, 0, 1.3), (0, 0, 1.5)),
    "neck": ("chest", (0, 0, 1.5), (0, 0, 1.6)),
    "head": ("neck", (0, 0, 1.6), (0, 0, 1.85)),
    "tail1": ("hips", (0, 0.12, 1.0), (0, 0.35, 0.95)),
    "tail2": ("tail1", (0, 0.35, 0.95), (0, 0.55, 0.9)),
    "tail3": ("tail2", (0, 0.55, 0.9), (0, 0.75, 0.85)),
    "tail4": ("tail3", (0, 0.75, 0.85), (0, 0.95, 0.8)),
    "tail5": ("tail4", (0, 0.95, 0.8), (0, 1.15, 0.75)),
    "tail6": ("tail5", (0, 1.15, 0.75), (0, 1.3, 0.7)),
    "ear": ("head", (0, 0.05, 1.85), (0, 0.1, 2.05)),
}
for _side, _x in (("L", 1), ("R", -1)):
    FIGURE |= {
        f"upperarm.{_side}": ("chest", (0.18 * _x, 0, 1.45), (0.45 * _x, 0, 1.4)),
        f"forearm.{_side}": (f"upperarm.{_side}", (0.45 * _x, 0, 1.4), (0.7 * _x, -0.02, 1.38)),
        f"hand.{_side}": (f"forearm.{_side}", (0.7 * _x, -0.02, 1.38), (0.85 * _x, -0.02, 1.38)),
        f"thigh.{_side}": ("hips", (0.1 * _x, 0, 0.95), (0.1 * _x, -0.02, 0.5)),
        f"shin.{_side}": (f"thigh.{_side}", (0.1 * _x, -0.02, 0.5), (0.1 * _x, 0, 0.1)),
        f"foot.{_side}": (f"shin.{_side}", (0.1 * _x, 0, 0.1), (0.1 * _x, -0.18, 0.02)),
    }
FIGURE["chest.weight"] = ("chest", (0, -0.1, 1.4), (0, -0.2, 1.4))


def figure(frames=100, skinned=True, smooth=0):
    """A figure that waves, turns and swishes its tail, and a skin that follows it; the smoother, the longer a frame of
    it takes Blender."""
    empty_file(frames)
    rig = armature("Figure", FIGURE)
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
    for frame in range(1, frames + 1, 8):
        t = frame / 24.0
        turns = {
            "hips": ((0, 1, 0), 0.25 * math.sin(3 * t)),
            "chest": ((0, 1, 0), 0.3 * math.sin(3 * t + 1)),
            "upperarm.L": ((1, 0, 0), 0.8 * math.sin(4 * t)),
            "forearm.L": ((0, 0, 1), 0.5 + 0.5 * math.sin(5 * t)),
            "upperarm.R": ((1, 0, 0), -0.6 * math.sin(4 * t)),
            "tail1": ((0, 0, 1), 0.5 * math.sin(4 * t)),
            "thigh.L": ((1, 0, 0), 0.4 * math.sin(4 * t)),
            "thigh.R": ((1, 0, 0), -0.4 * math.sin(4 * t)),
            "shin.L": ((1, 0, 0), 0.4 - 0.3 * math.sin(4 * t)),
            "shin.R": ((1, 0, 0), 0.4 + 0.3 * math.sin(4 * t)),
        }
        for name, (axis, angle) in turns.items():
            bone = rig.pose.bones[name]
            bone.rotation_quaternion = Quaternion(axis, angle)
            bone.keyframe_insert("rotation_quaternion", frame=frame, group=name)
    if skinned:
        found = skin(rig)
        if smooth:
            found.modifiers.new("Finer", "SUBSURF").levels = smooth
            # On the processor: alone, a finer mesh is made where it is drawn.
            found.modifiers.new("Smooth", "SMOOTH").iterations = 4
    select(rig)
    return rig


def skin(rig, thick=0.07):
    """A box around every bone, bound to it, all one mesh."""
    corners, sides, groups = [], [], {}
    for bone in rig.data.bones:
        start = len(corners)
        for end in (0.08, 0.92):
            for x, z in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corners.append(bone.matrix_local @ Matrix.Translation((x * thick, end * bone.length, z * thick)).translation)
        ring = [(i, (i + 1) % 4, 4 + (i + 1) % 4, 4 + i) for i in range(4)]
        for side in [(3, 2, 1, 0), (4, 5, 6, 7), *ring]:
            sides.append([start + i for i in side])
        groups[bone.name] = range(start, start + 8)
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata(corners, [], sides)
    obj = add("Skin", mesh)
    for name, vertices in groups.items():
        obj.vertex_groups.new(name=name).add(list(vertices), 1.0, "REPLACE")
    obj.parent = rig
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    return obj


def arm_with_ik(frames=49):
    """An arm whose hand chases a keyed target by inverse kinematics, and a tail that only hangs on."""
    empty_file(frames)
    rig = armature("Arm", {
        "root": (None, (0, 0, 0), (0, 0, 0.3)),
        "upper": ("root", (0, 0, 0.3), (0, 0, 1.0)),
        "lower": ("upper", (0, 0, 1.0), (0.1, 0, 1.7)),
        "goal": (None, (0.8, 0, 1.2), (0.8, 0.2, 1.2)),
    })  # fmt: skip
    ik = rig.pose.bones["lower"].constraints.new("IK")
    ik.target, ik.subtarget, ik.chain_count = rig, "goal", 2
    goal = rig.pose.bones["goal"]
    key(goal, "location", {1: (0, 0, 0), 20: (-0.5, 0.3, 0.4), 34: (0.1, -0.4, -0.3), 49: (0, 0, 0)})
    select(rig)
    return rig


def arm_with_pole(frames=49):
    """A leg whose foot chases a goal, and whose knee points at a pole; both are keyed."""
    empty_file(frames)
    rig = armature("Leg", {
        "thigh": (None, (0, 0, 1.0), (0, -0.05, 0.5)),
        "shin": ("thigh", (0, -0.05, 0.5), (0, 0, 0.05)),
        "goal": (None, (0, 0, 0.05), (0, 0.2, 0.05)),
        "pole": (None, (0, -1.0, 0.5), (0, -1.2, 0.5)),
    })  # fmt: skip
    ik = rig.pose.bones["shin"].constraints.new("IK")
    ik.target, ik.subtarget, ik.chain_count = rig, "goal", 2
    ik.pole_target, ik.pole_subtarget, ik.pole_angle = rig, "pole", math.radians(-90)
    for name in ("goal", "pole"):
        rig.data.bones[name].use_deform = False
    key(rig.pose.bones["goal"], "location", {1: (0, 0, 0), 20: (0.1, 0.4, 0.2), 34: (-0.1, 0.3, -0.2), 49: (0, 0.2, 0)})
    key(rig.pose.bones["pole"], "location", {1: (0, 0, 0), 25: (0.6, 0, 0), 49: (-0.6, 0, 0)})
    mesh = skin(rig)
    for name in ("goal", "pole"):
        mesh.vertex_groups.remove(mesh.vertex_groups[name])
    select(rig)
    return rig


def aimed(kind, frames=49):
    """A bone that points at a keyed control, by a constraint of that kind."""
    empty_file(frames)
    rig = armature("Aim", {
        "neck": (None, (0, 0, 0), (0, 0, 0.5)),
        "eye": (None, (0, 0, 3.0), (0, 0.2, 3.0)),
    })  # fmt: skip
    follow = rig.pose.bones["neck"].constraints.new(kind)
    follow.target, follow.subtarget = rig, "eye"
    follow.track_axis = "TRACK_Y"
    if kind == "TRACK_TO":
        follow.up_axis = "UP_Z"
    rig.data.bones["eye"].use_deform = False
    key(rig.pose.bones["eye"], "location", {1: (0, 0, 0), 20: (2, 0, 0), 34: (-1, 0, 1), 49: (0, 0, 0)})
    mesh = skin(rig)
    mesh.vertex_groups.remove(mesh.vertex_groups["eye"])
    select(rig)
    return rig


def control_rig(frames=49):
    """An arm of deforming bones that copy controls: two whole, one by its turn alone, all keyed on the controls."""
    empty_file(frames)
    places = {
        "upper": (None, (0, 0, 0.3), (0, 0, 1.0)),
        "lower": ("upper", (0, 0, 1.0), (0.1, 0, 1.7)),
        "wrist": ("lower", (0.1, 0, 1.7), (0.1, 0, 2.0)),
    }
    bones = {}
    for name, (parent, head, tail) in places.items():
        bones[f"ctrl_{name}"] = (parent and f"ctrl_{parent}", head, tail)
        bones[name] = (parent, head, tail)
    rig = armature("Rig", bones)
    for name in places:
        kind = "COPY_ROTATION" if name == "wrist" else "COPY_TRANSFORMS"
        follow = rig.pose.bones[name].constraints.new(kind)
        follow.target, follow.subtarget = rig, f"ctrl_{name}"
        rig.data.bones[f"ctrl_{name}"].use_deform = False
        control = rig.pose.bones[f"ctrl_{name}"]
        control.rotation_mode = "XYZ"
        key(control, "rotation_euler", {1: (0, 0, 0), 20: (0.5, 0.2, 0.1), 34: (-0.4, 0.1, 0.3), 49: (0, 0, 0)})
    mesh = skin(rig)
    for name in places:
        mesh.vertex_groups.remove(mesh.vertex_groups[f"ctrl_{name}"])
    select(rig)
    return rig


#: Those of `animated` that have keys.
ANIMATED = ("Cube", "Mirror", "Arm")


def animated():
    """For random sessions: a cube with a stashed action, a mirrored one with modifiers on its curves, and an arm with inverse
    kinematics; `who` tells them apart, whatever they are called."""
    rig = arm_with_ik(20)
    curves = {}
    for name, scale, y in (("Cube", (1, 1, 1), 3), ("Mirror", (-1, 1, 1), 6)):
        obj = box(name, (0.5, 0.5, 0.5), (0, y, 1))
        obj.scale = scale
        key(obj, "location", {1: (0, y, 1), 10: (1, y, 1.5), 20: (2, y, 1)})
        found = obj.animation_data.action
        curves[name] = found.fcurves if hasattr(found, "fcurves") else found.layers[0].strips[0].channelbags[0].fcurves
    stash = bpy.data.objects["Cube"].animation_data
    track = stash.nla_tracks.new()
    track.strips.new("Stash", 1, stash.action)
    track.mute = True
    curves["Mirror"].find("location", index=0).modifiers.new("CYCLES")
    curves["Mirror"].find("location", index=2).modifiers.new("NOISE").strength = 0.05
    for point in curves["Cube"].find("location", index=1).keyframe_points:
        point.interpolation = "BACK"
    for name in ANIMATED:
        bpy.data.objects[name]["who"] = name
    select(rig, bpy.data.objects["Cube"], bpy.data.objects["Mirror"])
