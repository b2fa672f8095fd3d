"""Renders what a baked figure looks like beside its keys, for the documentation, with Workbench.

    blender -b --factory-startup --python plugin/blender/tests/pictures.py -- ZIP FILE.png
"""

import math
import os
import pathlib
import subprocess
import sys
import tempfile

ARGUMENTS = sys.argv[sys.argv.index("--") + 1 :]
FOLDER = tempfile.TemporaryDirectory()
os.environ["BLENDER_USER_RESOURCES"] = FOLDER.name
os.environ["BLENDER_USER_SCRIPTS"] = str(pathlib.Path(FOLDER.name) / "scripts")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import addon_utils  # noqa: E402
import bpy  # noqa: E402
import scenes  # noqa: E402

FRAMES = (20, 28, 36, 44)


def stage():
    """Camera, colours and size."""
    scene = bpy.context.scene
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.display.shading.light = "STUDIO"
    scene.display.shading.color_type = "OBJECT"
    scene.display.shading.show_shadows = True
    scene.render.resolution_x, scene.render.resolution_y = 220, 260
    scene.world = bpy.data.worlds.new("Sky")
    scene.world.color = (0.9, 0.9, 0.9)
    camera = scenes.add("Camera", bpy.data.cameras.new("Camera"), (4.2, -2.4, 1.6))
    camera.rotation_euler = (math.radians(83), 0.0, math.radians(61))
    camera.data.lens = 58
    scene.camera = camera


def render(folder, label):
    files = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        file = os.path.join(folder, f"{label}{frame}.png")
        bpy.context.scene.render.filepath = file
        bpy.ops.render.render(write_still=True)
        files.append(file)
    return files


def main():
    bpy.ops.preferences.addon_install(filepath=ARGUMENTS[0], overwrite=True)
    addon_utils.enable("sinew_blender")
    rig = scenes.figure(60)
    stage()
    skin = bpy.data.objects["Skin"]
    skin.color = (0.45, 0.55, 0.65, 1.0)
    scenes.select(rig)
    with tempfile.TemporaryDirectory() as folder:
        files = render(folder, "keys")
        bpy.context.scene.frame_set(1)
        bpy.context.scene.sinew.preset = "limp"
        bpy.ops.sinew.simulate()
        skin.color = (1.0, 0.55, 0.1, 1.0)
        files += render(folder, "sinew")
        tiles = ["montage", *files, "-tile", f"{len(FRAMES)}x2", "-geometry", "+2+2", "-background", "white"]
        subprocess.run([*tiles, "+dither", "-colors", "96", "-strip", ARGUMENTS[1]], check=True)
    sys.stdout.flush()
    FOLDER.cleanup()
    os._exit(0)


main()
