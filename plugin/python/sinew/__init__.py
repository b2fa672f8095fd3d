"""Sinew gives keyed animation weight. This is its Python package: the C interface, typed, and nothing else.

From file to file:

    sinew.bake("shot.glb", "out.glb", preset="reactive", progress=print)
    sinew.batch(["a.glb", "b.glb"], workers=4)

In memory:

    >>> import sinew
    >>> scene = sinew.Scene.create("shot", frames_per_second=24)
    >>> ball = scene.add_node("Ball")
    >>> hop = scene.add_clip("Hop")
    >>> scene.add_curve(hop, ball, "translation", [0, 0.5, 1], [[0, 0, 0], [1, 1, 0], [2, 0, 0]])
    >>> setup = sinew.Setup.automatic(scene)
    >>> setup["bodies/Ball/actuator/preset"] = "limp"
    >>> job = sinew.Job.run(scene, setup)
    >>> [(c.property, c.interpolation) for c in job.curves]
    [('translation', 'cubic')]

Live:

    >>> with sinew.Session(scene, setup) as session:
    ...     session.step_frame()
    ...     session.time == 1 / 24
    True

The library is found inside the package, or where `SINEW_LIBRARY` says. Every function of the C interface is in
`sinew.abi()`, as ctypes has it.
"""

from __future__ import annotations

import ctypes

from . import error
from .bake import Report, bake
from .batch import Baked, batch
from .callbacks import Progress, Watch
from .contact import Contact, Strike
from .curve import Curve
from .error import BadInput, BadSetup, Cancelled, FileError, HandleError, SinewError
from .job import Deformation, Job
from .library import abi_version, version
from .limits import set_limits
from .scene import Scene
from .session import Drag, Session
from .setup import Setup

__all__ = [
    "BadInput",
    "BadSetup",
    "Baked",
    "Cancelled",
    "Contact",
    "Curve",
    "Deformation",
    "Drag",
    "FileError",
    "HandleError",
    "Job",
    "Progress",
    "Report",
    "Scene",
    "Session",
    "Setup",
    "SinewError",
    "Strike",
    "Watch",
    "abi",
    "abi_version",
    "bake",
    "batch",
    "error",
    "set_limits",
    "version",
]


def abi() -> ctypes.CDLL:
    """The library itself: every function of the header, with its types declared.

    >>> abi().sinew_abi_check(0x10000)
    0
    """
    from . import library

    return library.load()
