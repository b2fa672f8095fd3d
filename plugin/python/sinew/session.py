"""Live sessions: set, step, seek, drag, look."""

from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Sequence

from . import _abi, arrays, contact, library
from .contact import Contact, Strike
from .curve import number_of
from .handle import Handle, made
from .scene import Scene
from .setup import Setup

TIERS = ("direct", "iterative", "pairwise")


class Session(Handle):
    """A simulation that goes on as long as it is open.

    >>> scene = Scene.create(frames_per_second=24)
    >>> ball = scene.add_node("Ball")
    >>> scene.add_curve(scene.add_clip("Roll"), ball, "translation", [0, 1], [[0, 0, 0], [2, 0, 0]])
    >>> with Session(scene) as session:
    ...     session.set(0, "alpha", 1.0)
    ...     session.seek(0.5)
    ...     round(session.time, 3), len(session.poses)
    (0.5, 1)
    """

    _free = "sinew_session_free"
    _what = "session"

    def __init__(self, scene: Scene, setup: Optional[Setup] = None) -> None:
        super().__init__(made("sinew_session_create", scene, setup))

    def set(self, body: int, setting: str, value: float) -> None:
        """Changes a setting of a body from now on, by its name in a set-up file: `alpha`, `damping`, `blend`."""
        library.call("sinew_session_set_named", self, body, *library.utf8(setting), value)

    def set_solver(
        self, tier: str = "direct", rounds: int = 0, iterations: int = 0, microseconds: float = 0.0
    ) -> None:
        """Changes how joints are solved; zeros for as much as it takes."""
        solver = _abi.solver(
            struct_size=ctypes.sizeof(_abi.solver),
            tier=number_of(TIERS, tier, "tier"),
            rounds=rounds,
            iterations=iterations,
            microseconds=microseconds,
        )
        library.call("sinew_session_set_solver", self, ctypes.byref(solver))

    def step(self, seconds: float) -> None:
        """Advances by a time, in one step."""
        library.call("sinew_session_step", self, seconds)

    def step_frame(self) -> None:
        """Advances by one frame: the same bits as a job has there."""
        library.call("sinew_session_step_frame", self)

    def seek(self, time: float) -> None:
        """Goes to a time in seconds; the same bits whichever way one came."""
        library.call("sinew_session_seek", self, time)

    @property
    def time(self) -> float:
        """Seconds."""
        return float(library.number("sinew_session_time", ctypes.c_double, self))

    @property
    def range(self) -> tuple[float, float, float]:
        """Times of the first and the last frame, and frames per second."""
        numbers = [ctypes.c_double() for _ in range(3)]
        library.call("sinew_session_range", self, *(ctypes.byref(n) for n in numbers))
        return numbers[0].value, numbers[1].value, numbers[2].value

    @property
    def body_nodes(self) -> List[int]:
        """The node of every body, parents before children."""
        count = self._bodies()
        return [library.number("sinew_session_body_node", ctypes.c_uint32, self, body) for body in range(count)]

    def body_of(self, node: int) -> int:
        """The body on a node."""
        return int(library.number("sinew_session_body_of_node", ctypes.c_uint32, self, node))

    def _bodies(self) -> int:
        return int(library.number("sinew_session_body_count", ctypes.c_uint32, self))

    @property
    def poses(self) -> Any:
        """Where bodies are in the world: bodies x 7 (position xyz, quaternion xyzw)."""
        bodies = self._bodies()
        poses = arrays.doubles(7 * bodies)
        library.call("sinew_session_poses", self, poses, len(poses))
        return arrays.view(poses, bodies, 7)

    @property
    def targets(self) -> tuple[Any, Any]:
        """Where targets are: bodies x 7, and per body which parts have one (1 position, 2 orientation)."""
        bodies = self._bodies()
        targets, flags = arrays.doubles(7 * bodies), arrays.numbers32(bodies)
        library.call("sinew_session_targets", self, targets, len(targets), flags, bodies)
        return arrays.view(targets, bodies, 7), arrays.view(flags, bodies)

    @property
    def forces(self) -> tuple[Any, Any]:
        """How hard actuators pulled: bodies x 6 (newtons, newton metres), and per body 1 where at the limit."""
        bodies = self._bodies()
        forces, saturated = arrays.doubles(6 * bodies), arrays.numbers32(bodies)
        library.call("sinew_session_forces", self, forces, len(forces), saturated, bodies)
        return arrays.view(forces, bodies, 6), arrays.view(saturated, bodies)

    @property
    def contacts(self) -> List[Contact]:
        """Points at which something bears on something else now."""
        return contact.contacts("sinew_session", self)

    @property
    def strikes(self) -> List[Strike]:
        """What began to touch in the frame that led to now."""
        return contact.strikes("sinew_session", self)

    def outline(self, node: int) -> Any:
        """Lines that show what a node touches with, in the world as it is now: lines x 2 ends x 3."""
        length = ctypes.c_size_t()
        library.call("sinew_session_outline", self, node, None, 0, ctypes.byref(length))
        lines = arrays.doubles(length.value)
        library.call("sinew_session_outline", self, node, lines, len(lines), None)
        return arrays.view(lines, length.value // 6, 2, 3)

    def drag(
        self,
        body: int,
        at: Sequence[float] = (0, 0, 0),
        *,
        strength: float = 0.0,
        in_world: bool = False,
        turning: bool = False,
    ) -> Drag:
        """Takes hold of a body where it is. `strength` in newtons; 0 goes where it is told, whatever it takes."""
        flags = (_abi.GRIP_ORIENTATION if turning else 0) | (_abi.GRIP_WORLD if in_world else 0)
        grip = _abi.grip(struct_size=ctypes.sizeof(_abi.grip), flags=flags, strength=strength)
        grip.at[:] = list(at)
        return Drag(self, library.number("sinew_session_drag_begin", ctypes.c_uint64, self, body, ctypes.byref(grip)))


class Drag:
    """A hand that holds on to a body until it is ended, or the session seeks. A context manager."""

    def __init__(self, session: Session, number: int) -> None:
        self._session, self._number = session, number

    def move(self, target: Sequence[float]) -> None:
        """Where the hand is to be by the next frame: a point, or a point and a quaternion xyzw."""
        numbers, count, kept = arrays.given(target)
        library.call("sinew_session_drag_move", self._session, self._number, numbers, count)
        del kept

    def pose(self, target: Sequence[float], microseconds: float = 5000.0) -> float:
        """Puts the hand there at once and pulls the pose after it; gives how far off the hand is."""
        numbers, count, kept = arrays.given(target)
        away = ctypes.c_double()
        call = (self._session, self._number, numbers, count, microseconds, ctypes.byref(away))
        library.call("sinew_session_drag_pose", *call)
        del kept
        return away.value

    def end(self) -> None:
        """Lets go."""
        library.call("sinew_session_drag_end", self._session, self._number)

    def __enter__(self) -> Drag:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.end()
