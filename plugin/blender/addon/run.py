"""One run from button to action: read, simulate on a thread, write. The operator, its test and the live mode drive it."""

import contextlib
import json
import threading
import time

import bpy

from . import capture as capturing
from . import back, chains, physics, write
from .sinew import Cancelled, Job, Setup, SinewError, Watch


#: Seconds between looks at a thread.
SHORT = 0.002
#: A simulation that takes longer than this, in seconds, is looked at meanwhile for what is wrong at its first frame; what is
#: shorter tells it with its result as soon.
LONG = 0.25


class Run:
    """A simulation under way. Holds names and numbers only, so that the file may change under it."""

    def __init__(self, context, frames=None):
        scene = context.scene
        settings = scene.sinew
        first, last = frames or frame_range(scene)
        self.scene_name = scene.name
        self.from_keys = settings.begin == "keys"
        with self._sources():
            self.capture = capturing.Capture(context, first, last, selected_only=not settings.obstacles)
        self.only = None
        if settings.selected_bones and context.mode == "POSE":
            chosen = context.selected_pose_bones or []
            self.only = [(bone.id_data.name, bone.name) for bone in chosen]
            if not self.only:
                raise ValueError("no bone is selected; select some, or switch off Selected bones only")
        self.warnings = []
        #: What was simulated, and its curves.
        self.job = self.curves = None
        self.report = None
        self.error = None
        self.stage = "read"
        #: What the library warns of before anything has moved, once that is known; None until then.
        self.early = None
        self._watch = Watch()
        self._thread = self._look = None
        self._is_whole = False

    @property
    def share(self):
        """How much is done, 0 to 1. Reading counts for a third."""
        count = len(self.capture.frames)
        if self.stage == "read":
            return self.read / count / 3.0
        return (1.0 + 2.0 * self.simulated / count) / 3.0 if self.stage == "simulate" else 1.0

    read = 0
    #: What reads or writes it in pieces, for whoever cancels it.
    pieces = None

    def reading(self):
        """Reads frame by frame, then makes scene and set-up; yields after each frame, and often after that: whoever
        drives it decides how much is done at a time."""
        with self._sources():
            steps = self.capture.steps()
            try:
                for self.read in steps:
                    yield self.read
            finally:
                # When left halfway, the frame goes back to where it was.
                steps.close()
        for _ in self.capture.building():
            yield self.read
        yield from self._automatic()
        self.set_up()
        yield self.read

    def _automatic(self):
        """What the library makes of the scene by itself, on a thread: large meshes take their time."""
        self.scene = self.capture.scene
        found = []

        def work():
            try:
                found.append(physics.automatic(self.scene))
            except Exception as error:  # Raised below, where there is somebody to tell.
                found.append(error)

        thread = threading.Thread(target=work, name="Sinew", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(SHORT)
            yield self.read
        if isinstance(found[0], Exception):
            raise found[0]
        self._found = found[0]
        self.chains = chains.found(self.capture, json.loads(self._found))

    def _sources(self):
        """The animator's keys in the place of earlier results, if they are what counts."""
        return back.originals(bpy.data.scenes[self.scene_name]) if self.from_keys else contextlib.nullcontext()

    def set_up(self):
        """Makes the set-up anew, from what the properties are now."""
        self.setup, warnings = physics.build(self.capture, self._found)
        self.warnings = self.capture.warnings + warnings
        self.options = physics.job_options(bpy.data.scenes[self.scene_name].sinew)
        if self.only is not None:
            nodes = [self.capture.by_source[key] for key in self.only]
            self.options["only"] = [self.capture.reference(node) for node in nodes]
        self.stage = "simulate"

    def made(self):
        """The set-up with the preset or the looseness of the scene in it."""
        said, looseness = self.setup, self.options["looseness"]
        if looseness is not None:
            # As a job does it: for every body, whatever its own is.
            muscles = [{k: v for k, v in b.get("actuator", {}).items() if k != "looseness"} for b in said["bodies"]]
            bodies = [{**body, "actuator": muscle} for body, muscle in zip(said["bodies"], muscles)]
            said = {**said, "looseness": looseness, "bodies": bodies}
        setup = Setup.from_json(said)
        if self.options["preset"]:
            setup.use_preset(self.options["preset"])
        return setup

    def simulate(self, **options):
        """Simulates here and now. Raises what went wrong."""
        setup = Setup.from_json(self.setup)
        frames = (0, len(self.capture.frames) - 1)
        chosen = {**self.options, "frames": frames, **options}
        self.job = Job.run(self.scene, setup, watch=self._watch, **chosen)
        self.report = self.job.report
        # Here, where nobody waits for them.
        self.curves = self.job.curves

    def start(self, **options):
        """Simulates on a thread; `is_done` tells when it is over. May be called again then."""
        self.error, self._is_whole, self._watch = None, False, Watch()

        def work():
            try:
                self.simulate(**options)
                self._is_whole = True
            except Cancelled:
                pass
            except Exception as error:  # Told by the main thread, where there is somebody to tell.
                self.error = error

        self._began = time.perf_counter()
        self._thread = threading.Thread(target=work, name="Sinew", daemon=True)
        self._thread.start()

    def check(self, watch=None):
        """What the library warns of at the first frame: what overlaps, joints that do not close. Raises what went wrong."""
        # Two frames have no turn of a cycle in them.
        options = {**self.options, "frames": (0, 1), "loop": False, "every_frame": True}
        with Setup.from_json(self.setup) as setup, Job.run(self.scene, setup, watch=watch, **options) as job:
            return list(job.report["warnings"])

    def look_early(self):
        """Finds `early` on a thread of its own, while a long simulation goes on; called now and then."""
        is_long = self._watch.progress.stage == "simulate" and time.perf_counter() - self._began > LONG
        if self._look is not None or not is_long:
            return

        def work():
            # What goes wrong is told by the simulation itself, and so is that it was cancelled.
            with contextlib.suppress(SinewError):
                self.early = self.check(self._look_watch)

        self._look_watch = Watch()
        self._look = threading.Thread(target=work, name="Sinew check", daemon=True)
        self._look.start()

    @property
    def simulated(self):
        """Frames that are simulated, as of now."""
        at = self._watch.progress
        return at.done if at.stage == "simulate" else len(self.capture.frames) if at.stage in ("bake", "save") else 0

    @property
    def is_whole(self):
        """Whether it came to its end: not cancelled, and nothing went wrong."""
        return self.is_done and self._is_whole

    @property
    def is_done(self):
        return self._thread is not None and not self._thread.is_alive()

    def wait(self, seconds=None):
        """Until it is over, or for so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def cancel(self):
        """Stops at the next frame and waits for that; nothing was written."""
        self._watch.cancel()
        if self.pieces is not None:
            # What was put elsewhere for reading goes back now, and not into a file that is opened next.
            self.pieces.close()
            self.pieces = None
        if self._look is not None:
            self._look_watch.cancel()
            self._look.join()
        self.wait()
        # What is simulated after this is not cancelled.
        self._watch = Watch()

    def writing(self):
        """Puts the result into actions, piece by piece; yields after each. The scene must still be there."""
        scene = bpy.data.scenes.get(self.scene_name)
        if scene is None:
            raise ValueError(f'the scene "{self.scene_name}" is gone; nothing was written')
        self.stage = "write"
        self.writer = write.Writer(self, scene.sinew)
        yield from self.writer.writing()
        self.stage = "look"
        for self.looked in self.writer.looking():
            yield

    def written(self):
        """The writer, once nothing more is written; its warnings are the run's, too."""
        self.warnings += self.report["warnings"] + self.writer.warnings
        if not self.writer.actions:
            self.warnings.append("nothing was simulated; select objects with keys, or set their behaviour")
        return self.writer

    looked = 0

    def is_there(self):
        """Whether everything that was read still has its name."""
        objects, bones = bpy.data.objects, self.capture.bones
        if self.scene_name not in bpy.data.scenes or any(node.owner not in objects for node in self.capture.nodes):
            return False
        return all(name in objects[owner].pose.bones for owner, names in bones.items() for name in names)

    def write(self):
        """All of it at once."""
        for _ in self.writing():
            pass
        return self.written()


def frame_range(scene):
    """The preview range where there is one, else the scene's."""
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end


def again(context, objects, before):
    """The same objects over the same frames as a run before, read and simulated anew, whatever is selected now."""
    with context.temp_override(selected_objects=objects):
        run = Run(bpy.context, (before.capture.first, before.capture.last))
        for _ in run.reading():
            pass
    run.simulate()
    return run


def whole(context, frames=None):
    """Everything at once: what a script without a window does."""
    run = Run(context, frames)
    for _ in run.reading():
        pass
    run.simulate()
    return run, run.write()


__all__ = ["Run", "SinewError", "again", "frame_range", "whole"]
