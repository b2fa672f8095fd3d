"""Jobs: a scene simulated from the first frame to the last, and baked to curves."""

from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from . import _abi, arrays, contact, curve as curves, library
from .callbacks import Callbacks, OnProgress, OnWarning, Watch
from .contact import Contact, Strike
from .curve import Curve, number_of
from .handle import Handle
from .scene import Scene
from .setup import PRESETS, Setup

LAYERS = ("none", "full", "additive", "both")
STATUSES = ("done", "fell_short")


def fill(struct: Any, options: Dict[str, Any]) -> None:
    """Puts Python's words for what a job or a bake is to do into the interface's struct."""
    flags = struct.flags
    for name, flag in [("every_frame", _abi.EVERY_FRAME), ("single", _abi.SINGLE), ("loop", _abi.LOOP)]:
        flags |= flag if options.get(name) else 0
    if options.get("frames") is not None:
        flags |= _abi.FRAMES
        struct.first_frame, struct.last_frame = options["frames"]
    if options.get("hold_frame") is not None:
        flags |= _abi.HOLD
        struct.hold_frame = options["hold_frame"]
    if options.get("looseness") is not None:
        flags |= _abi.LOOSENESS
        struct.looseness = options["looseness"]
    struct.flags = flags
    struct.preset = number_of(PRESETS, options.get("preset") or "none", "preset")
    struct.layer = number_of(LAYERS, options.get("layer") or "none", "layer")
    struct.tolerance = options.get("tolerance") or 0.0
    struct.tolerance_deg = options.get("tolerance_deg") or 0.0
    every = options.get("every") or 0
    if not 0 <= every < 2**32:
        raise ValueError(f"every is {every}; give 1, 2, 3 ..., or 0 for what the set-up says")
    struct.every = every
    # One name is not its letters.
    only: Optional[Sequence[str]] = options.get("only")
    only = [only] if isinstance(only, str) else only
    texts = {"clip": options.get("clip"), "name": options.get("name"), "only": "\n".join(only) if only else None}
    for field, text in texts.items():
        set_text(struct, field, text)


def set_text(struct: Any, field: str, text: Optional[str]) -> None:
    """Sets a text and its length, or leaves both at nothing."""
    if text is not None:
        data, length = library.utf8(text)
        setattr(struct, field, data)
        setattr(struct, field + "_length", length)


class Deformation(NamedTuple):
    """Shapes that are added to a mesh: displacements in its own axes, and their weights over time."""

    node: int
    #: Targets x vertices x 3, scene units of the mesh.
    targets: Any
    #: Seconds.
    times: Any
    #: Keys x targets, straight in between.
    weights: Any


class Job(Handle):
    """A finished simulation. Never changes.

    >>> scene = Scene.create(frames_per_second=24)
    >>> ball = scene.add_node("Ball")
    >>> scene.add_curve(scene.add_clip("Roll"), ball, "translation", [0, 1], [[0, 0, 0], [2, 0, 0]])
    >>> job = Job.run(scene, preset="limp", every_frame=True)
    >>> job.status, job.frame_count, len(job.curves[0].times)
    ('done', 25, 25)
    """

    _free = "sinew_job_free"
    _what = "job"

    @classmethod
    def run(
        cls,
        scene: Scene,
        setup: Optional[Setup] = None,
        *,
        preset: Optional[str] = None,
        looseness: Optional[float] = None,
        frames: Optional[tuple[float, float]] = None,
        every_frame: bool = False,
        single: bool = False,
        loop: bool = False,
        tolerance: Optional[float] = None,
        tolerance_deg: Optional[float] = None,
        clip: Optional[str] = None,
        name: Optional[str] = None,
        only: Optional[Sequence[str]] = None,
        layer: Optional[str] = None,
        every: int = 0,
        hold_frame: Optional[float] = None,
        progress: Optional[OnProgress] = None,
        warning: Optional[OnWarning] = None,
        watch: Optional[Watch] = None,
    ) -> Job:
        """Simulates and bakes. `setup` None makes one from the keys; the other options win over the set-up.

        Python's other threads go on meanwhile. `progress` that returns False raises `Cancelled`; `watch` instead is for
        other threads to look at and to cancel with.
        """
        options = _abi.job_options(struct_size=ctypes.sizeof(_abi.job_options))
        fill(
            options,
            dict(
                preset=preset, looseness=looseness, frames=frames, every_frame=every_frame, single=single, loop=loop,
                tolerance=tolerance, tolerance_deg=tolerance_deg, clip=clip, name=name, only=only,
                layer=layer, every=every, hold_frame=hold_frame,
            ),
        )  # fmt: skip
        told = Callbacks(progress, warning, watch)
        return cls(told.run("sinew_job_run", scene, setup, ctypes.byref(options)))

    @property
    def status(self) -> str:
        """`done`, or `fell_short`: then the report's warnings say of what."""
        return STATUSES[library.number("sinew_job_status", ctypes.c_int32, self)]

    @property
    def report(self) -> Dict[str, Any]:
        """What `sinew bake --json` prints."""
        found = json.loads(library.text("sinew_job_report", self))
        assert isinstance(found, dict)
        return found

    @property
    def curves(self) -> List[Curve]:
        """The baked curves, relative to each node's parent."""
        count = library.number("sinew_job_curve_count", ctypes.c_uint32, self)
        return [curves.read("sinew_job_curve", self, index) for index in range(count)]

    @property
    def frame_count(self) -> int:
        """Frames simulated."""
        return int(library.number("sinew_job_frame_count", ctypes.c_size_t, self))

    @property
    def body_nodes(self) -> List[int]:
        """The node of every body, parents before children."""
        count = library.number("sinew_job_body_count", ctypes.c_uint32, self)
        return [library.number("sinew_job_body_node", ctypes.c_uint32, self, body) for body in range(count)]

    @property
    def times(self) -> Any:
        """Times of the frames, in seconds."""
        times = arrays.doubles(self.frame_count)
        library.call("sinew_job_times", self, times, len(times))
        return arrays.view(times, len(times))

    @property
    def poses(self) -> Any:
        """Where bodies are in the world: frames x bodies x 7 (position xyz, quaternion xyzw)."""
        frames, bodies = self.frame_count, len(self.body_nodes)
        poses = arrays.doubles(frames * bodies * 7)
        library.call("sinew_job_poses", self, poses, len(poses))
        return arrays.view(poses, frames, bodies, 7)

    @property
    def saturated(self) -> Any:
        """Where strength was not enough: frames x bodies, 1 where an actuator was at its limit."""
        frames, bodies = self.frame_count, len(self.body_nodes)
        flags = arrays.numbers32(frames * bodies)
        library.call("sinew_job_saturated", self, flags, len(flags))
        return arrays.view(flags, frames, bodies)

    @property
    def deformations(self) -> List[Deformation]:
        """How soft skins are pressed in: shapes of meshes, and how much of each at which time."""
        count = library.number("sinew_job_deformation_count", ctypes.c_uint32, self)
        return [self._deformation(index) for index in range(count)]

    def _deformation(self, index: int) -> Deformation:
        info = _abi.deformation_info(struct_size=ctypes.sizeof(_abi.deformation_info))
        library.call("sinew_job_deformation_info", self, index, ctypes.byref(info))
        shape = (info.target_count, info.vertex_count, 3)
        targets = arrays.doubles(shape[0] * shape[1] * 3)
        times = arrays.doubles(info.key_count)
        weights = arrays.doubles(info.key_count * info.target_count)
        places = [part for numbers in (targets, times, weights) for part in (numbers, len(numbers))]
        library.call("sinew_job_deformation_read", self, index, *places)
        keys = info.key_count
        return Deformation(
            info.node,
            arrays.view(targets, *shape),
            arrays.view(times, keys),
            arrays.view(weights, keys, info.target_count),
        )

    def contacts(self, frame: int) -> List[Contact]:
        """Points at which something bears on something else, at a frame counted from the first."""
        return contact.contacts("sinew_job", self, frame)

    @property
    def strikes(self) -> List[Strike]:
        """Everything that began to touch, in the order of time."""
        return contact.strikes("sinew_job", self)
