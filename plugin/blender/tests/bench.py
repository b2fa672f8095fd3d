"""How long the add-on takes, beside Blender's own bake. Speed is measured here, not in the tests.

    blender -b --factory-startup --python plugin/blender/tests/bench.py -- ZIP [FILE.json]
    python plugin/blender/tests/bench.py ZIP [FILE.json]                         (with bpy installed)
    python3 plugin/blender/tests/bench.py --window ZIP FOLDER                    (Blender in a window of its own)

ZIP must hold a release build. The last one measures how alive the window is while Sinew works.
"""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import traceback

ARGUMENTS = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
FOLDER = tempfile.TemporaryDirectory()
os.environ["BLENDER_USER_RESOURCES"] = FOLDER.name
os.environ["BLENDER_USER_SCRIPTS"] = str(pathlib.Path(FOLDER.name) / "scripts")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

if ARGUMENTS[:1] == ["--window"]:
    import bench_window

    bench_window.main(*ARGUMENTS[1:])
    sys.exit()

import bpy  # noqa: E402
import addon_utils  # noqa: E402
import numpy as np  # noqa: E402
import scenes  # noqa: E402

MODULE = "sinew_blender"
FOUND = {"blender": bpy.app.version_string}


def addon(name):
    return sys.modules[f"{MODULE}.{name}"]


def best(make, work, times=3):
    """The least of several times, each on a fresh scene."""
    least = float("inf")
    for _ in range(times):
        make()
        began = time.perf_counter()
        found = work()
        least = min(least, time.perf_counter() - began)
    return least, found


def reading_and_writing():
    """100 objects, 250 frames: everything but the simulation."""

    def make():
        scenes.empty_file(250)
        objects = []
        for i in range(100):
            obj = scenes.box(f"Box{i:03}", (0.4, 0.4, 0.4), (i % 10, i // 10, 0))
            for frame in range(1, 251, 24):
                obj.location.z, obj.rotation_euler.x = np.sin(frame + i), 0.1 * frame
                obj.keyframe_insert("location", frame=frame)
                obj.keyframe_insert("rotation_euler", frame=frame)
            objects.append(obj)
        scenes.select(*objects)
        bpy.context.scene.sinew.keys = "every_frame"

    def work():
        began = time.perf_counter()
        run = addon("run").Run(bpy.context)
        for _ in run.reading():
            pass
        read = time.perf_counter()
        run.simulate()
        simulated = time.perf_counter()
        run.write()
        return read - began, simulated - read, time.perf_counter() - simulated

    least = None
    for _ in range(3):
        make()
        took = work()
        if least is None or took[0] + took[2] < least[0] + least[2]:
            least = took
    curves = sum(len(addon("action").curves(o)) for o in bpy.data.objects if o.animation_data)
    FOUND["read_write"] = {"read_s": least[0], "simulate_s": least[1], "write_s": least[2], "curves": curves}
    print(f"read {least[0]:.3f} s, simulate {least[1]:.3f} s, write {least[2]:.3f} s ({curves} curves)")


def openings():
    """How far joints are open in what Blender plays, at worst, in units."""
    scene, worst = bpy.context.scene, 0.0
    rests = {}
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for empty in scene.objects:
            joint = empty.rigid_body_constraint
            if joint is None:
                continue
            ends = [o.evaluated_get(depsgraph).matrix_world for o in (joint.object1, joint.object2)]
            if empty.name not in rests:
                rests[empty.name] = [m.inverted() @ empty.matrix_world.translation for m in ends]
            a, b = (m @ p for m, p in zip(ends, rests[empty.name]))
            worst = max(worst, (a - b).length)
    return worst


def chain():
    """The hanging chain of 100 links, from the button to an action that plays."""

    def press():
        with contextlib.redirect_stdout(io.StringIO()):
            return bpy.ops.sinew.simulate("EXEC_DEFAULT", True)

    def make():
        scenes.chain(100, 250)
        bpy.context.scene.sinew.keys = "every_frame"
        # Whoever presses a button looks at the scene already.
        bpy.context.view_layer.update()

    ours, _ = best(make, press, 5)
    open_ours = openings()
    report = addon("state").result.job.report
    simulated, inside = max(j["max_opening"] for j in report["joints"]), report["timings"]["simulate_s"]
    scenes.chain(100, 250)
    names = sorted(o.name for o in bpy.context.selected_objects if o.name.startswith("Link"))
    scenes.select(*(bpy.data.objects[n] for n in names))
    bpy.context.scene.rigidbody_world.time_scale = 1.0
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "WINDOW")
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), bpy.context.temp_override(window=window, area=area, region=region):
        bpy.ops.rigidbody.bake_to_keyframes(frame_start=1, frame_end=250)
    theirs = time.perf_counter() - began
    open_theirs = gaps_between_links(names)
    FOUND["chain"] = {
        "ours_s": ours, "simulate_s": inside, "theirs_s": theirs, "times": theirs / ours, "open_ours": open_ours,
        "open_simulated": simulated, "open_theirs": open_theirs,
    }  # fmt: skip
    print(f"chain: {ours:.3f} s, of which {inside:.3f} simulating, Blender {theirs:.2f} s: {theirs / ours:.0f} times; joints open {1e6 * open_ours:.3f} um "
          f"as played in single precision, {1e6 * simulated:.6f} um as simulated, Blender {1e3 * open_theirs:.2f} mm")  # fmt: skip


def gaps_between_links(names, length=0.5):
    """The same between the links alone, from the keys: constraints without bodies would crash Blender at a frame."""
    channels = {}
    for name in names:
        found = addon("action").curves(bpy.data.objects[name])
        wanted = [(path, axis) for path in ("location", "rotation_euler") for axis in range(3)]
        channels[name] = [found.find(path, index=axis) for path, axis in wanted]
    worst = 0.0
    for frame in range(1, 251):
        ends = []
        for name in names:
            x, y, z, *angles = (curve.evaluate(frame) for curve in channels[name])
            turn, place = scenes.Euler(angles).to_matrix(), scenes.Vector((x, y, z))
            ends.append([place + turn @ scenes.Vector((0, 0, side * length / 2)) for side in (1, -1)])
        worst = max(worst, *((above[1] - below[0]).length for above, below in zip(ends, ends[1:])))
    return worst


def live():
    """A slider on a figure of 25 bones: from the change to 100 frames simulated again and evaluated, ready to be drawn."""
    scenes.figure(100)
    assert len(bpy.data.objects["Figure"].pose.bones) == 25
    bpy.ops.sinew.live()
    session = addon("live").session
    # However busy the machine is.
    addon("live").AT_ONCE = 10.0
    least = float("inf")
    for i in range(8):
        bpy.data.objects["Figure"].pose.bones["tail1"].sinew.strength = 0.5 + 0.1 * i
        began = time.perf_counter()
        bpy.context.view_layer.update()
        least = min(least, time.perf_counter() - began)
        assert session.changed_at is None, "it was not simulated at once"
    timings = session.run.report["timings"]
    FOUND["live"] = {"again_s": least, "simulate_s": timings["simulate_s"], "bake_s": timings["bake_s"]}
    print(f"live: {1000 * least:.0f} ms, of which simulating {1000 * timings['simulate_s']:.0f}, "
          f"compiling {1000 * timings['compile_s']:.0f}, curves {1000 * timings['bake_s']:.0f}")  # fmt: skip
    bpy.ops.sinew.live_discard()


def overlays():
    """What is worked out for every drawing of the viewport where shapes and limits are shown."""
    scenes.figure(100)
    with contextlib.redirect_stdout(io.StringIO()):
        bpy.ops.sinew.check()
    state, times, frames = addon("state"), {}, iter(range(2, 100))
    for name, found in (("shapes", state.shapes()), ("limits", state.limits())):
        draw = lambda found=found: found.drawn(bpy.context)  # noqa: E731
        times[name], _ = best(lambda: bpy.context.scene.frame_set(next(frames)), draw, 20)
        times[f"{name}_still"], _ = best(lambda: None, draw, 20)
    FOUND["overlays"] = {f"{name}_s": took for name, took in times.items()}
    print("overlays, for every drawing: " + ", ".join(f"{name} {1000 * took:.2f} ms" for name, took in times.items()))


def main():
    with contextlib.redirect_stdout(io.StringIO()):
        bpy.ops.preferences.addon_install(filepath=ARGUMENTS[0], overwrite=True)
        addon_utils.enable(MODULE)
    print(f"Blender {bpy.app.version_string}")
    reading_and_writing()
    live()
    overlays()
    chain()
    if len(ARGUMENTS) > 1:
        pathlib.Path(ARGUMENTS[1]).write_text(json.dumps(FOUND, indent=2))


if __name__ == "__main__":
    try:
        main()
        status = 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    FOLDER.cleanup()
    os._exit(status)
