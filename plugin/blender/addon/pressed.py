"""Soft skins that were pressed in, as shape keys: a few shapes of the mesh, and how much of each at every moment."""

import bpy
import numpy as np

from . import action

NAME = "Sinew press"
#: Before 4.2, at the first frame Blender's own simulation measures a body's mesh on one thread while another evaluates it,
#: and crashes now and then where shape keys are keyed; only of a hull it waits for the mesh.
ORDERLY, IS_DISORDERLY = "CONVEX_HULL", bpy.app.version < (4, 2, 0)


def is_own(block):
    """Whether a shape key was made here."""
    return block.name.startswith(NAME)


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
    if obj.data.users > 1:
        # Others that show the same mesh are not pressed.
        obj.data = obj.data.copy()
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis", from_mix=False)
    for block in [b for b in obj.data.shape_keys.key_blocks if is_own(b)]:
        obj.shape_key_remove(block)
    keys = obj.data.shape_keys
    places = np.empty(3 * len(obj.data.vertices), dtype=np.float32)
    keys.reference_key.data.foreach_get("co", places)
    channels = action.Channels(_with_action(keys, f"{obj.name} pressed (Sinew)"))
    frames = capture.first + np.asarray(pressed.times) * capture.rate
    for i, moved in enumerate(np.asarray(pressed.targets)):
        weights = np.asarray(pressed.weights)[:, i]
        # Blender keeps the value of a shape within a range.
        most = float(np.abs(weights).max()) or 1.0
        block = obj.shape_key_add(name=f"{NAME} {i + 1}", from_mix=False)
        block.data.foreach_set("co", places + (most * moved).astype(np.float32).ravel())
        block.slider_min, block.value = -1.0, 0.0
        path = f'key_blocks["{bpy.utils.escape_identifier(block.name)}"].value'
        action.write(channels, path, 0, frames, weights / most, group=NAME)
    if IS_DISORDERLY:
        _make_orderly(obj)
    # Setting in bulk tells nobody.
    obj.data.update()
    obj.update_tag(refresh={"DATA"})
    return keys.animation_data.action.name


def _make_orderly(obj):
    """The next run takes the shape from before for its own: see `physics`."""
    rigid = obj.rigid_body
    if rigid is not None and rigid.collision_shape not in (ORDERLY, "MESH", "COMPOUND"):
        obj.sinew.was_shape, rigid.collision_shape = rigid.collision_shape, ORDERLY


def _with_action(keys, name):
    """Shape keys with an action of their own: a copy of what they had, if they had one."""
    data = action.ensure(keys)
    old = data.action
    fresh = old.copy() if old is not None else bpy.data.actions.new(name)
    fresh.name = name
    handle = action.slot_handle(keys)
    data.action = fresh
    if action.HAS_SLOTS:
        slot = next((s for s in fresh.slots if s.handle == handle), None)
        data.action_slot = slot or fresh.slots.new(id_type="KEY", name=keys.name)
    return keys
