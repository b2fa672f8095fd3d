"""Soft skins that were pressed in, as shape keys: a few shapes of the mesh, and how much of each at every moment."""

import bpy
import numpy as np

from . import action, edits, fcurve, origin

NAME = "Sinew press"
#: Before 4.2, at the first frame Blender's own simulation measures a body's mesh on one thread while another evaluates it,
#: and crashes now and then where shape keys are keyed; only of a hull it waits for the mesh.
ORDERLY, IS_DISORDERLY = "CONVEX_HULL", bpy.app.version < (4, 2, 0)


def is_own(block):
    """Whether a shape key was made here."""
    return block.name.startswith(NAME)


def is_pressed(obj):
    """Whether an object's mesh has shape keys of an earlier result."""
    keys = obj.data.shape_keys if obj.type == "MESH" else None
    return keys is not None and origin.is_result(origin.own_action(keys))


def undo(obj):
    """Takes them away: the mesh is as it was, and so is the action of its shape keys."""
    if not is_pressed(obj):
        return
    keys = obj.data.shape_keys
    result = origin.own_action(keys)
    own = result.sinew_origin
    edits.Edits(keys, result).carry()
    mesh, source, was_kept, had_keys, had_data = own.mesh, own.source, own.was_kept, own.had_keys, own.had_data
    for block in [b for b in keys.key_blocks if is_own(b)]:
        obj.shape_key_remove(block)
    action.assign(keys, source, own.handle)
    if not had_data and source is None:
        keys.animation_data_clear()
    if not had_keys and len(keys.key_blocks) == 1 and source is None:
        obj.shape_key_clear()
    if mesh is not None:
        copied, obj.data = obj.data, mesh
        if not copied.users:
            bpy.data.meshes.remove(copied)
    if not result.users:
        bpy.data.actions.remove(result)
    origin.let_go(source, was_kept)
    if obj.rigid_body is not None and obj.sinew.was_shape:
        obj.rigid_body.collision_shape = obj.sinew.was_shape
        obj.sinew.property_unset("was_shape")


def write(capture, job):
    """Gives meshes their shape keys; gives the names of new actions, and words about what was left out."""
    actions, warnings = [], []
    by_index = {node.index: node for node in capture.nodes}
    for pressed in job.deformations:
        obj = bpy.data.objects.get(by_index[pressed.node].owner)
        if obj is None or obj.type != "MESH":
            continue
        if len(obj.data.vertices) != pressed.targets.shape[1]:
            warnings.append(
                f'"{obj.name}": its soft skin is pressed in, but modifiers change its vertices, so no shape key can say '
                "how; apply the modifiers to have it"
            )
            continue
        actions.append(_write(capture, obj, pressed))
    return actions, warnings


def _write(capture, obj, pressed):
    undo(obj)
    mesh, had_keys = None, obj.data.shape_keys is not None
    if obj.data.users > 1 or obj.data.library is not None:
        # Others that show the same mesh are not pressed.
        mesh, obj.data = obj.data, obj.data.copy()
    if not had_keys:
        obj.shape_key_add(name="Basis", from_mix=False)
    keys = obj.data.shape_keys
    places = np.empty(3 * len(obj.data.vertices), dtype=np.float32)
    keys.reference_key.data.foreach_get("co", places)
    fresh = _new_action(keys, f"{obj.name} pressed (Sinew)")
    fresh.sinew_origin.mesh, fresh.sinew_origin.had_keys = mesh, had_keys
    channels, written = action.Channels(keys), []
    frames = capture.first + np.asarray(pressed.times) * capture.rate
    for i, moved in enumerate(np.asarray(pressed.targets)):
        weights = np.asarray(pressed.weights)[:, i]
        # Blender keeps the value of a shape within a range.
        most = float(np.abs(weights).max()) or 1.0
        block = obj.shape_key_add(name=f"{NAME} {i + 1}", from_mix=False)
        block.data.foreach_set("co", places + (most * moved).astype(np.float32).ravel())
        block.slider_min, block.value = -1.0, 0.0
        path = f'key_blocks["{bpy.utils.escape_identifier(block.name)}"].value'
        written.append(fcurve.name(action.write(channels, path, 0, frames, weights / most, group=NAME)))
    origin.seal(keys, fresh, written)
    if IS_DISORDERLY:
        _make_orderly(obj)
    # Setting in bulk tells nobody.
    obj.data.update()
    obj.update_tag(refresh={"DATA"})
    return fresh.name


def _make_orderly(obj):
    """The next run takes the shape from before for its own: see `physics`."""
    rigid = obj.rigid_body
    if rigid is not None and rigid.collision_shape not in (ORDERLY, "MESH", "COMPOUND"):
        obj.sinew.was_shape, rigid.collision_shape = rigid.collision_shape, ORDERLY


def _new_action(keys, name):
    """Gives shape keys an action of their own: a copy of what they had, if they had one."""
    had_data, old, handle = keys.animation_data is not None, origin.own_action(keys), action.slot_handle(keys)
    fresh = action.new_like(keys, name)
    origin.remember(fresh, old, had_data, handle, {})
    return fresh
