"""The set-up of a captured scene: what Sinew makes of the keys, Blender's rigid bodies, and what the animator set."""

import json

import bpy
import numpy as np

from . import chains, joints, keyed, origin, own_joints, pressed
from .sinew import Setup

#: Blender's rigid-body shapes and ours. A compound's children touch by themselves.
SHAPES = {
    "BOX": "box",
    "SPHERE": "sphere",
    "CAPSULE": "capsule",
    "CYLINDER": "cylinder",
    "CONE": "cone",
    "CONVEX_HULL": "hull",
    "MESH": "parts",
}
#: Shapes with a radius and a length.
ROUND = ("capsule", "cylinder", "cone")
#: Properties that are factors of a group, and so can be keyed.
FACTORS = chains.FACTORS


def automatic(scene):
    """The set-up that the library makes of a scene by itself, as text: it stays the same while settings change."""
    with Setup.automatic(scene) as setup:
        return setup.to_json()


def read_automatic(scene):
    """The same as a dictionary."""
    return json.loads(automatic(scene))


def build(capture, found):
    """The set-up as a dictionary, from the automatic one, and warnings about what was not understood."""
    warnings = []
    settings = bpy.data.scenes[capture.scene_name].sinew
    if settings.setup_file:
        return Setup.open(bpy.path.abspath(settings.setup_file)).to_dict(), warnings
    setup = json.loads(found)
    # There is one clip, and in a file that is exported it has another name.
    setup.pop("clip", None)
    setup.setdefault("bodies", [])
    world = setup.setdefault("world", {})
    world["gravity"] = joints.y_up(capture.gravity)
    if not capture.guesses_unit:
        world["metres_per_unit"] = capture.unit
    elif world.get("metres_per_unit", 1.0) != 1.0:
        warnings.append(
            f"by the size of the figure, a unit is taken for {world['metres_per_unit']} m; "
            "if it is not, choose the scene's unit under World"
        )
    world["frames_per_second"] = capture.rate
    if settings.is_property_set("substeps"):
        world["substeps"] = settings.substeps
    if settings.use_floor:
        world["floor"] = settings.floor
    bodies = {body["node"]: body for body in setup["bodies"]}
    known = chains.found(capture, setup)
    _leave_out_others(capture, setup, bodies)
    for node in capture.nodes:
        _fill_in(capture, node, setup, bodies)
    chains.build(capture, known, setup, bodies)
    # What only turns is where what carries it is: a joint would hold it there once more.
    turning = {name for name, body in bodies.items() if body is not None and body.get("simulate") == "orientation"}
    setup["joints"] = [j for j in setup.get("joints", []) if j["between"][1] not in turning]
    own = own_joints.build(capture, warnings)
    setup["joints"] += own + joints.build(capture, own, warnings)
    setup["bodies"] = [b for b in bodies.values() if b is not None]
    return setup, warnings


def _leave_out_others(capture, setup, bodies):
    """What is not selected is not simulated: its objects move as keyed, its bones only carry their skin.

    Nor are controls and helpers of a rig: bones that no skin follows.
    """
    gone = set()
    for node in capture.nodes:
        reference = capture.reference(node)
        is_helper = node.bone is not None and not node.deforms
        if node.simulated and not is_helper or reference not in bodies:
            continue
        if node.bone is not None:
            del bodies[reference]
            gone.add(reference)
        elif bodies[reference].get("behaviour", "guided") == "guided":
            bodies[reference] = {"node": reference, "behaviour": "animated"}
    if gone:
        setup["joints"] = [j for j in setup.get("joints", []) if not gone.intersection(j["between"])]


def _fill_in(capture, node, setup, bodies):
    reference = capture.reference(node)
    body = bodies.get(reference)
    owner = bpy.data.objects[node.owner]
    source = owner if node.bone is None else owner.pose.bones[node.bone]
    own = source.sinew
    behaviour = own.behaviour
    rigid = owner.rigid_body if node.bone is None else None
    if behaviour == "automatic":
        behaviour = _automatic(capture, node, body, rigid)
        if behaviour is None and node.bone is not None and node.simulated and own.chain:
            # Whoever makes a chain of bones that Sinew leaves alone wants to see them swing.
            behaviour = "guided"
    elif not node.simulated and behaviour in ("guided", "free"):
        behaviour = "animated" if node.moves else "static"
    if behaviour is None:
        return
    if body is None:
        body = bodies[reference] = {"node": reference}
        if node.bone is not None:
            body["simulate"] = "orientation"
            body["guide"] = {"space": "parent"}
    body["behaviour"] = behaviour
    if rigid is not None:
        _from_rigid_body(body, rigid, own)
        released = _released(capture, owner)
        if released is not None and behaviour in ("free", "guided"):
            body["release"] = {"frame": released}
    _from_properties(body, own, node.bone is not None)
    if behaviour == "guided":
        _factors(capture, node, body, own, setup)


def _automatic(capture, node, body, rigid):
    """Who rules a node that the animator said nothing about; None for not simulated and not in the way."""
    if node.owner in capture.joints and body is None:
        return None
    if rigid is not None and rigid.enabled and node.simulated:
        if rigid.type == "ACTIVE":
            # One that was baked before is free again: see Writer.
            owner = bpy.data.objects[node.owner]
            is_keyed = rigid.kinematic and not owner.sinew.was_active and _released(capture, owner) is None
            return "animated" if is_keyed else "free"
        return "animated" if node.moves else "static"
    is_joined = node.bone is None and node.owner not in capture.bones and len(bpy.data.objects[node.owner].sinew_joints) > 0
    if is_joined and node.simulated and not node.moves and not node.keyed:
        # Whoever joins something that has no keys wants to see it hang.
        return "free"
    if body is not None:
        return body.get("behaviour", "guided")
    armature = capture.skins.get(node.owner)
    if armature is not None:
        # The skin of what is simulated is its bones' shapes; that of others is in the way as it deforms.
        return None if capture.by_source[(armature, None)].simulated else "animated"
    if node.has_mesh and not _hangs_on_bone(node):
        return "animated" if node.moves else "static"
    return None


def _hangs_on_bone(node):
    while node is not None:
        if node.bone is not None:
            return True
        node = node.parent
    return False


def _from_rigid_body(body, rigid, own):
    body.setdefault("mass", rigid.mass)
    contact = body.setdefault("contact", {})
    contact.setdefault("friction", rigid.friction)
    contact.setdefault("bounce", min(1.0, rigid.restitution))
    shape = rigid.collision_shape
    if shape == pressed.ORDERLY and own.was_shape:
        shape = own.was_shape
    if shape in SHAPES:
        body.setdefault("shape", {"kind": SHAPES[shape]})


def _released(capture, owner):
    """The frame, counted from the first, at which a rigid body keyed as Animated is let go; None where it is not."""
    curve = origin.find(owner, "rigid_body.kinematic")
    if curve is None:
        return None
    held = np.array([curve.evaluate(frame) >= 0.5 for frame in capture.frames])
    if not held[0] or held.all():
        return None
    return int(np.argmin(held))


def _shape(own, is_bone):
    """The shape that was chosen, with its sizes where they were touched."""
    shape, is_set = {"kind": own.shape}, own.is_property_set
    if own.shape == "box" and is_set("size"):
        x, y, z = own.size
        # Bones have Y along them in a set-up, too; the frames of objects are turned.
        shape["size"] = [x, y, z] if is_bone else [x, z, y]
    elif own.shape == "sphere" and is_set("radius"):
        shape["radius"] = own.radius
    elif own.shape in ROUND and is_set("radius") and is_set("length"):
        shape["radius"], shape["length"] = own.radius, own.length
    return shape


def _from_properties(body, own, is_bone):
    """What was touched wins; what was not stays as it is."""
    is_set = own.is_property_set
    contact = body.setdefault("contact", {})
    guide = body.setdefault("guide", {})
    if is_set("density"):
        body.pop("mass", None)
        body["density"] = own.density
    if is_set("mass"):
        body["mass"] = own.mass
    if is_set("shape"):
        body["shape"] = _shape(own, is_bone)
    if is_set("simulate"):
        body["simulate"] = own.simulate
    for name in ("friction", "bounce", "collide"):
        if is_set(name):
            contact[name] = getattr(own, name)
    if own.coating:
        coating = contact.setdefault("coating", {})
        for name in ("thickness", "stiffness"):
            if is_set("coating_" + name):
                coating[name] = getattr(own, "coating_" + name)
    if is_set("timing"):
        guide["timing"] = own.timing
    if is_set("distance"):
        guide["base_distance"] = own.distance
    if own.touched and body["behaviour"] in ("guided", "free"):
        body["release"] = {"touched": True}
    if own.preset == "custom":
        body["actuator"] = {"looseness": own.looseness}
    elif own.preset != "automatic":
        body["actuator"] = {"preset": own.preset}
    for name in ("contact", "guide"):
        if not body[name]:
            del body[name]


def _factors(capture, node, body, own, setup):
    """Strength, damping and blend as a group of the body's own: they multiply whatever the muscle has."""
    group = {}
    for name in FACTORS:
        keys = _keys(capture, node, name)
        if keys is not None:
            group[name] = keys
        elif own.is_property_set(name):
            group[name] = getattr(own, name)
    if not group:
        return
    group["name"] = f"Blender: {node.owner}{'/' + node.bone if node.bone else ''}"
    setup.setdefault("groups", []).append(group)
    body["groups"] = [*body.get("groups", []), group["name"]]


def _keys(capture, node, name):
    """A keyed property as keys over time."""
    path = f"sinew.{name}"
    if node.bone is not None:
        path = f'pose.bones["{bpy.utils.escape_identifier(node.bone)}"].{path}'
    return keyed.keys(capture, bpy.data.objects[node.owner], path, least=0.0)


def job_options(settings):
    """What the scene's settings ask of a job."""
    return {
        "preset": None if settings.preset in ("automatic", "custom") else settings.preset,
        "looseness": settings.looseness if settings.preset == "custom" else None,
        "every_frame": settings.keys == "every_frame",
        "single": True,
        "loop": settings.loop,
        "tolerance": settings.tolerance or None,
        "tolerance_deg": settings.tolerance_deg,
    }
