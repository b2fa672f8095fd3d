"""Meshes and skins as arrays, read in bulk."""

import bpy
import numpy as np

from . import pressed

#: So many vertices are looked at in one go: a few milliseconds' worth.
VERTICES = 2_000


def triangles_of(obj, depsgraph):
    """Vertices (single precision) and triangles of an object as it is shown, without its armature's bending.

    Of a mesh that bones bend, the vertices at rest: the skin's weights say how they move.
    """
    # As it is, where nothing changes it.
    is_own = armature_of(obj) is not None or _is_unchanged(obj)
    source = obj if is_own else obj.evaluated_get(depsgraph)
    mesh = obj.data if is_own else source.to_mesh()
    if mesh is None or not len(mesh.vertices):
        return None
    try:
        positions = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        mesh.vertices.foreach_get("co", positions)
        mesh.calc_loop_triangles()
        corners = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
        mesh.loop_triangles.foreach_get("vertices", corners)
        return positions.reshape(-1, 3), corners.astype(np.uint32).reshape(-1, 3)
    finally:
        if not is_own:
            source.to_mesh_clear()


def _is_unchanged(obj):
    """Whether a mesh is shown as it is stored."""
    if obj.type != "MESH" or len(obj.modifiers) or obj.mode != "OBJECT":
        return False
    keys = obj.data.shape_keys
    # Where an earlier result pressed it in does not count.
    return keys is None or all(pressed.is_own(b) for b in keys.key_blocks if b != keys.reference_key)


def armature_of(obj):
    """The armature whose bones bend an object, if any."""
    if obj.type != "MESH":
        return None
    for modifier in obj.modifiers:
        if modifier.type == "ARMATURE" and modifier.object is not None and modifier.show_viewport:
            return modifier.object
    return None


def weights_of(owner, bones):
    """Vertices, places of bones in `bones`, and weights: of all vertex groups that are deforming bones.

    Blender gives weights vertex by vertex only, so this yields now and then, and looks its object up again after that.
    """
    place = {name: i for i, name in enumerate(bones)}
    found = [(np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))]
    count, begin = len(bpy.data.objects[owner].data.vertices), 0
    while begin < count:
        obj = bpy.data.objects[owner]
        of_group = {group.index: place[group.name] for group in obj.vertex_groups if group.name in place}
        vertices, joints, weights = [], [], []
        for vertex in obj.data.vertices[begin : begin + VERTICES]:
            for pull in vertex.groups:
                joint = of_group.get(pull.group)
                if joint is not None and pull.weight > 0.0:
                    vertices.append(vertex.index)
                    joints.append(joint)
                    weights.append(pull.weight)
        found.append((np.array(vertices, np.uint32), np.array(joints, np.uint32), np.array(weights, float)))
        begin += VERTICES
        yield
    return tuple(np.concatenate(part) for part in zip(*found))
