"""Where Blender has the objects and bones of a USD file, frame by frame, after its own importer.

usage: python blender_usd.py FRAME... < FILES, with Blender as a module; FILES: a JSON list
prints: answer {file: {"objects": {name: [matrix per frame]}, "bones": {armature/bone: the same}}}, of the world, row by row
"""

import json
import os
import sys

import bpy



def rows_of(matrix):
    return [matrix[r][c] for r in range(4) for c in range(4)]


frames = [int(frame) for frame in sys.argv[1:]]
answer = {}
for file in json.load(sys.stdin):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.usd_import(filepath=file, merge_parent_xform=False, import_materials=False, set_frame_range=True)
    scene, found = bpy.context.scene, {"objects": {}, "bones": {}}
    for frame in frames:
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for thing in scene.objects:
            thing = thing.evaluated_get(graph)
            # What bones deform is where they take it: as in UsdSkel, its own place does not count.
            if not any(modifier.type == "ARMATURE" for modifier in thing.modifiers):
                found["objects"].setdefault(thing.name, []).append(rows_of(thing.matrix_world))
            for bone in thing.pose.bones if thing.pose else []:
                found["bones"].setdefault(f"{thing.name}/{bone.name}", []).append(rows_of(thing.matrix_world @ bone.matrix))
    answer[file] = found
# Blender says what it does on the same stream; and it may crash when Python ends.
print("\nanswer " + json.dumps(answer), flush=True)
os._exit(0)
