"""The package against the header, the committed layout, and the library. Run by tests/suites/python.rs.

    SINEW_LIBRARY=... python3 plugin/python/test_package.py SCENE FOLDER
"""

from __future__ import annotations

import ctypes
import doctest
import gc
import importlib
import pathlib
import pkgutil
import re
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import sinew  # noqa: E402
from sinew import _abi, arrays, library, worker  # noqa: E402

SCENE, FOLDER = "", pathlib.Path()


SIDES = [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]


def cube(low: float, high: float) -> tuple[list[list[float]], list[int]]:
    """Corners and triangles."""
    ends = (low, high)
    return [[x, y, z] for x in ends for y in ends for z in ends], SIDES


def hop(seconds: float = 2.0) -> sinew.Scene:
    """A box that hops, in memory."""
    scene = sinew.Scene.create("hop", z_up=True, metres_per_unit=1.0, frames_per_second=24)
    box = scene.add_node("Box")
    scene.set_mesh(box, *cube(0.0, 1.0))
    clip = scene.add_clip("Hop")
    scene.add_curve(clip, box, "translation", [0, seconds / 2, seconds], [[0, 0, 0], [2, 0, 2], [4, 0, 0]])
    return scene


class Interface(unittest.TestCase):
    def test_every_function_of_the_header_is_there(self) -> None:
        symbols = (ROOT / "ffi/abi/symbols.txt").read_text().split()
        self.assertEqual(sorted(_abi.FUNCTIONS), sorted(symbols))
        for name in symbols:
            self.assertIsNotNone(getattr(sinew.abi(), name).argtypes, name)

    def test_every_function_is_called_by_a_module(self) -> None:
        """By name, or by a noun and a verb that are put together."""
        text = "".join(p.read_text() for p in (HERE / "sinew").glob("*.py") if p.name != "_abi.py")
        nouns = re.findall(r'"(sinew_(?:scene|job|session)(?:_curve)?)"', text)
        parts = ["curve_info", "curve_read", "contact_count", "contact_info", "strike_count", "strike_info"]
        made = {f"{noun}_{part}" for noun in nouns for part in parts}
        made |= {f"{noun}_{verb}" for noun in nouns for verb in ("info", "read")}
        # Structs are zeros with their size, which is what these do; numbers are set by name.
        covered = {name for name in _abi.FUNCTIONS if name.endswith("_init")} | {"sinew_session_set"}
        missing = [n for n in _abi.FUNCTIONS if not re.search(rf"\b{n}\b", text) and n not in made | covered]
        self.assertEqual(missing, [])

    def test_structs_are_laid_out_as_committed(self) -> None:
        seen = 0
        for line in (ROOT / "ffi/abi/layout.txt").read_text().splitlines():
            name, *numbers = line.split()
            if numbers[0] == "size":
                self.assertEqual(ctypes.sizeof(_abi.STRUCTS[name]), int(numbers[1]), line)
            else:
                struct, field = name.split(".")
                self.assertEqual(getattr(_abi.STRUCTS[struct], field).offset, int(numbers[0]), line)
            seen += 1
        self.assertGreater(seen, 100)

    def test_zeros_are_the_defaults_that_the_library_fills_in(self) -> None:
        for name, struct in _abi.STRUCTS.items():
            init = getattr(sinew.abi(), f"{name}_init", None)
            if init is None:
                continue
            size = ctypes.sizeof(struct)
            filled = struct()
            ctypes.memset(ctypes.byref(filled), 0xFF, size)
            self.assertEqual(init(ctypes.byref(filled), size), 0)
            self.assertEqual(bytes(filled), bytes(struct(struct_size=size)), name)

    def test_constants_are_those_of_the_header(self) -> None:
        header = (ROOT / "ffi/include/sinew.h").read_text()
        for name, value in re.findall(r"^#define SINEW_(\w+) (\d+)$", header, flags=re.M):
            self.assertEqual(getattr(_abi, name), int(value))


class Errors(unittest.TestCase):
    def test_a_missing_file_says_which(self) -> None:
        with self.assertRaises(sinew.FileError) as caught:
            sinew.bake(FOLDER / "nowhere.glb")
        self.assertIn("nowhere.glb", str(caught.exception))
        self.assertEqual(caught.exception.name, "SINEW_IO")
        self.assertIsInstance(caught.exception, OSError)

    def test_a_slip_in_a_set_up_is_named(self) -> None:
        with self.assertRaises(sinew.BadSetup) as caught:
            sinew.Setup.from_json({"sinew": 1, "bodies": [{"node": "Box", "behavior": "free"}]})
        self.assertIn("behaviour", str(caught.exception))
        self.assertEqual(caught.exception.code, _abi.BAD_SETUP)

    def test_a_closed_scene_is_refused(self) -> None:
        scene = hop()
        scene.close()
        scene.close()
        with self.assertRaises(sinew.HandleError):
            scene.node_count

    def test_what_progress_raises_comes_out(self) -> None:
        def fail(_at: object) -> None:
            raise ZeroDivisionError("of the caller")

        with self.assertRaises(ZeroDivisionError):
            sinew.Job.run(hop(), progress=fail)


class Work(unittest.TestCase):
    def test_a_bake_is_what_the_command_writes(self) -> None:
        out = FOLDER / "package.glb"
        stages = []
        report = sinew.bake(SCENE, out, preset="reactive", progress=lambda at: stages.append(at.stage))
        self.assertEqual(report["status"], "done")
        self.assertEqual(list(dict.fromkeys(stages)), ["open", "compile", "simulate", "bake", "save"])
        with sinew.Scene.open(out) as scene:
            self.assertEqual(len(scene.clips), 2)
            self.assertGreater(len(scene.curves(1)), 0)
        self.assertEqual(sinew.Scene.from_bytes(out.read_bytes(), "copy").clips[1], report["name"])

    def test_a_scene_from_a_file_takes_a_job(self) -> None:
        scene = sinew.Scene.open(SCENE)
        job = sinew.Job.run(scene, name="Fresh")
        index = scene.add_job(job)
        self.assertEqual(scene.clips[index], "Fresh")
        scene.save(FOLDER / "fresh.glb")
        self.assertEqual(sinew.Scene.open(FOLDER / "fresh.glb").clip("Fresh"), index)
        self.assertEqual(scene.parent(0), None)
        self.assertEqual(len(scene.transform(0)), 10)
        self.assertGreater(scene.clip_range(0)[1], 0.0)
        for name in filter(None, scene.nodes):
            self.assertEqual(scene.nodes[scene.node(name)], name)
        self.assertIsInstance(scene.warnings, list)

    def test_one_name_is_not_its_letters_and_no_frame_is_below_none(self) -> None:
        self.assertEqual(len(sinew.Job.run(hop(), only="Box").curves), len(sinew.Job.run(hop(), only=["Box"]).curves))
        with self.assertRaisesRegex(ValueError, "every is -1"):
            sinew.Job.run(hop(), every=-1)

    def test_a_job_is_cancelled_and_writes_nothing(self) -> None:
        out = FOLDER / "cancelled.glb"
        with self.assertRaises(sinew.Cancelled):
            sinew.bake(SCENE, out, progress=lambda at: at.share < 0.3)
        self.assertFalse(out.exists())

    def test_a_batch_is_in_order_and_one_failure_stops_no_other(self) -> None:
        for processes in (False, True):
            with self.subTest(processes=processes):
                items = [(SCENE, FOLDER / f"batch{i}-{processes}.glb") for i in range(4)]
                items.insert(2, (FOLDER / "nowhere.glb", FOLDER / "never.glb"))
                seen = []
                done = sinew.batch(
                    items, workers=3, processes=processes, preset="limp",
                    progress=lambda d, of, b: seen.append((d, of)),
                )  # fmt: skip
                self.assertEqual([b.error is None for b in done], [True, True, False, True, True])
                self.assertEqual(seen, [(i, 5) for i in range(1, 6)])
                self.assertEqual([b.scene for b in done], [str(scene) for scene, _ in items])
                self.assertIsInstance(done[2].error, sinew.FileError)
                self.assertIn("nowhere.glb", str(done[2].error))
                self.assertEqual(done[0].report["output"], str(items[0][1]))
        # Threads and processes write the same bits.
        self.assertEqual(len({p.read_bytes() for p in FOLDER.glob("batch*.glb")}), 1)
        self.assertEqual(len(list(FOLDER.glob("batch*.glb"))), 8)

    def test_a_batch_is_cancelled_halfway_and_what_is_left_writes_nothing(self) -> None:
        for processes in (False, True):
            with self.subTest(processes=processes):
                items = [(SCENE, FOLDER / f"left{i}-{processes}.glb") for i in range(4)]
                done = sinew.batch(items, workers=1, processes=processes, progress=lambda d, of, b: d < 2)
                self.assertEqual([b.error is None for b in done], [True, True, False, False])
                self.assertTrue(all(isinstance(b.error, sinew.Cancelled) for b in done[2:]))
                self.assertIn(str(SCENE), str(done[3].error))
                self.assertEqual([out.exists() for _, out in items], [True, True, False, False])
                # One in the middle of its frames.
                out = FOLDER / f"middle-{processes}.glb"
                stopped = sinew.batch([(SCENE, out)], processes=processes, on_frame=lambda scene, at: at.share < 0.3)
                self.assertIsInstance(stopped[0].error, sinew.Cancelled)
                self.assertFalse(out.exists())

    def test_a_process_that_dies_takes_no_other_file_with_it(self) -> None:
        started: list[worker.Worker] = []

        class Noted(worker.Worker):
            def __init__(self) -> None:
                super().__init__()
                started.append(self)

        def kill(scene: str, at: sinew.Progress) -> None:
            if len(started) == 1:
                started[0]._process.kill()

        items = [(SCENE, FOLDER / f"killed{i}.glb") for i in range(3)]
        ours, worker.Worker = worker.Worker, Noted
        try:
            done = sinew.batch(items, workers=1, processes=True, on_frame=kill)
        finally:
            worker.Worker = ours
        self.assertEqual([b.error is None for b in done], [False, True, True])
        self.assertRegex(str(done[0].error), f"{re.escape(str(SCENE))}.*signal 9")
        self.assertEqual([out.exists() for _, out in items], [False, True, True])
        # A new one for the second file, which the third had, too; and none is left behind.
        self.assertEqual(len(started), 2)
        self.assertTrue(all(one._process.poll() is not None for one in started))

    def test_a_job_leaves_other_threads_of_python_running(self) -> None:
        scene = hop(2000.0)
        ticks = []
        stop = threading.Event()

        def tick() -> None:
            while not stop.wait(0.001):
                ticks.append(time.perf_counter())

        thread = threading.Thread(target=tick)
        thread.start()
        sinew.Job.run(scene, every_frame=True)
        stop.set()
        thread.join()
        self.assertGreater(len(ticks), 1)

    def test_a_session_has_the_poses_of_a_job(self) -> None:
        scene = hop()
        setup = sinew.Setup.automatic(scene)
        setup["bodies/Box/actuator/preset"] = "limp"
        setup.set_keys("bodies/Box/actuator/blend", [0, 1], [1, 0.5])
        self.assertEqual(setup["bodies/Box/actuator/blend"]["keys"], [[0, 1], [1, 0.5]])
        job = sinew.Job.run(scene, setup, frames=(0, 30))
        self.assertEqual(len(job.times), 31)
        with sinew.Session(scene, setup) as session:
            for frame in range(31):
                session.seek(frame / 24)
                self.assertEqual(list(session.poses[0]), list(job.poses[frame][0]))
            self.assertEqual(session.body_of(0), 0)
            self.assertEqual(session.body_nodes, job.body_nodes)
            self.assertEqual(session.range[2], 24)
            session.set(0, "damping", 2.0)
            session.set_solver("iterative", rounds=3)
            session.step(0.01)
            targets, flags = session.targets
            forces, saturated = session.forces
            self.assertEqual((len(targets), len(flags), len(forces), len(saturated)), (1, 1, 1, 1))
            with session.drag(0, strength=500.0) as hand:
                hand.move([5, 5, 5])
                session.step_frame()
                self.assertGreaterEqual(hand.pose([0, 0, 0]), 0.0)
            self.assertEqual((session.contacts, session.strikes), ([], []))

    def test_what_falls_strikes_the_floor(self) -> None:
        scene = hop()
        setup = sinew.Setup()
        setup.add_body("Box")
        setup["bodies/Box/behaviour"] = "free"
        setup["world/floor"] = -1.0
        del setup["bodies/Box/actuator"]
        job = sinew.Job.run(scene, setup, frames=(0, 60), single=True)
        self.assertGreater(len(job.strikes), 0)
        self.assertLess(abs(job.strikes[0].point[2] + 1.0), 1e-3)
        self.assertGreater(len(job.contacts(60)), 0)
        self.assertEqual(job.report["frames"], 61)

    def test_frames_of_strain_are_those_of_the_report(self) -> None:
        scene = hop(0.5)
        setup = sinew.Setup.automatic(scene)
        setup["bodies/Box/actuator"] = {"preset": "limp", "max_force": {"weights": 1.1}}
        job = sinew.Job.run(scene, setup)
        strained = sum(int(frame[0]) for frame in job.saturated)
        self.assertGreater(strained, 3)
        self.assertEqual(strained, job.report["bodies"][0]["saturated_frames"])

    def test_weights_give_bones_their_shape(self) -> None:
        scene = sinew.Scene.create(z_up=True, metres_per_unit=1.0, frames_per_second=24)
        bone = scene.add_node("Bone")
        mesh = scene.add_node("Skin")
        scene.set_mesh(mesh, [[x, y, z] for x in (0, 0.4) for y in (0, 0.4) for z in (0, 2)], [])
        scene.set_skin(mesh, [bone])
        with self.assertRaises(sinew.BadInput):
            scene.set_weights(mesh, [9], [0], [1.0])
        scene.set_frame_rate(30)

    def test_a_watch_sees_and_cancels_from_another_thread(self) -> None:
        scene = hop(4000.0)
        watch, raised = sinew.Watch(), []

        def work() -> None:
            try:
                sinew.Job.run(scene, watch=watch)
            except sinew.Cancelled as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        while watch.progress.stage != "simulate" or watch.progress.done < 5:
            self.assertTrue(thread.is_alive())
        watch.cancel()
        thread.join(10.0)
        self.assertEqual(len(raised), 1)
        self.assertLess(watch.progress.done, watch.progress.of)
        done = sinew.Watch()
        sinew.Job.run(hop(0.5), watch=done)
        self.assertEqual(done.progress.stage, "bake")
        with self.assertRaises(ValueError):
            sinew.Job.run(scene, watch=watch, progress=print)

    def test_a_preset_for_everything_is_that_of_a_job(self) -> None:
        scene = hop(0.5)
        setup = sinew.Setup.automatic(scene)
        setup.use_preset("limp")
        one, other = sinew.Job.run(scene, setup), sinew.Job.run(scene, preset="limp")
        self.assertEqual(one.poses.tolist(), other.poses.tolist())
        with self.assertRaises(ValueError):
            setup.use_preset("drowsy")

    def test_lines_show_what_touches(self) -> None:
        scene = hop(0.5)
        scene.set_mesh(0, *cube(-0.25, 0.25))
        with sinew.Session(scene) as session:
            lines = session.outline(0)
            self.assertEqual(len(lines), 12)
            heights = [end[2] for line in lines.tolist() for end in line]
            self.assertAlmostEqual(max(heights) - min(heights), 0.5)
            self.assertEqual(len(session.outline(99)), 0)

    def test_physics_goes_into_a_file_and_comes_out_again(self) -> None:
        with sinew.Scene.open(SCENE) as scene:
            setup = sinew.Setup.automatic(scene)
            node = setup["bodies"][0]["node"]
            setup[f"bodies/{node}/contact/friction"] = 0.125
            for ending, family in (("glb", "khr"), ("glb", "omi"), ("usda", "khr")):
                path = FOLDER / f"physics-{family}.{ending}"
                scene.save_physics(path, setup, family)
                with sinew.Scene.open(path) as again:
                    found = sinew.Setup.automatic(again)["bodies"][0]
                    self.assertEqual(found["contact"]["friction"], 0.125, path.name)
        with self.assertRaises(sinew.SinewError):
            hop(0.5).save_physics(FOLDER / "memory.glb", setup)

    def test_a_soft_skin_is_pressed_in(self) -> None:
        scene = sinew.Scene.create(z_up=True, metres_per_unit=1.0, frames_per_second=24)
        ball = scene.add_node("Ball", translation=(0, 0, 0.6))
        scene.set_mesh(ball, *cube(-0.25, 0.25))
        scene.add_curve(scene.add_clip("Rest"), ball, "translation", [0, 1], [[0, 0, 0.6]] * 2)
        body = {"node": "Ball", "behaviour": "free", "contact": {"coating": {"thickness": 0.1, "stiffness": 1e5}}}
        setup = sinew.Setup.from_json({"sinew": 1, "world": {"floor": 0.0}, "bodies": [body]})
        pressed = sinew.Job.run(scene, setup, frames=(0, 24)).deformations
        self.assertEqual([found.node for found in pressed], [ball])
        self.assertEqual(pressed[0].targets.shape[1:], (8, 3))
        self.assertEqual(pressed[0].weights.shape, (len(pressed[0].times), len(pressed[0].targets)))
        self.assertEqual(sinew.Job.run(hop(0.5)).deformations, [])

    def test_nothing_is_left_behind(self) -> None:
        for _ in range(50):
            sinew.Job.run(hop(0.5))
        gc.collect()


class Documentation(unittest.TestCase):
    def test_examples_in_the_documentation(self) -> None:
        ran = 0
        for module in pkgutil.walk_packages(sinew.__path__, "sinew."):
            found = doctest.testmod(importlib.import_module(module.name), optionflags=doctest.ELLIPSIS)
            self.assertEqual(found.failed, 0, module.name)
            ran += found.attempted
        found = doctest.testmod(sinew, optionflags=doctest.ELLIPSIS)
        guide = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
        self.assertEqual((found.failed, guide.failed), (0, 0))
        print(f"{ran + found.attempted} examples in the package, {guide.attempted} in the guide")

    def test_everything_works_without_numpy(self) -> None:
        kept, arrays.numpy = arrays.numpy, None
        try:
            scene = hop()
            job = sinew.Job.run(scene)
            curve = job.curves[0]
            self.assertEqual(len(curve.values), len(curve.times))
            self.assertEqual(len(curve.values.tolist()[0]), 3)
            self.assertEqual(job.poses.shape[1:], (1, 7))
            self.assertEqual(list(job.poses[-1][0]), job.poses.tolist()[-1][0])
            self.assertEqual(job.poses[3, 0, 6], job.poses[3][0][6])
            with self.assertRaises(IndexError):
                job.poses[len(job.times)]
            with sinew.Session(scene) as session:
                self.assertEqual(len(session.poses[0]), 7)
            scene.set_mesh(0, [[0, 0, 0], [1, 1, 1]])
        finally:
            arrays.numpy = kept


if __name__ == "__main__":
    SCENE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
    print(f"Sinew {sinew.version()}, numpy {'yes' if arrays.numpy else 'no'}, {library.path()}")
    unittest.main(argv=sys.argv[:1])
