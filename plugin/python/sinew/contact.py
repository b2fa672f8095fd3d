"""What touches: points that bear, and strikes."""

from __future__ import annotations

import ctypes
from typing import Any, List, NamedTuple, Tuple

from . import _abi, library

Vector = Tuple[float, float, float]


class Contact(NamedTuple):
    """A point at which one thing bears on another, in the scene's axes and units; forces in newtons."""

    node_a: int
    node_b: int
    point: Vector
    normal: Vector
    load: float
    friction: Vector


class Strike(NamedTuple):
    """Two things began to touch: when (seconds, frames), where, and how hard (newton seconds)."""

    node_a: int
    node_b: int
    time: float
    frame: float
    point: Vector
    normal: Vector
    impulse: Vector
    speed: float


def _all(kind: Any, struct: Any, noun: str, *handle: Any) -> List[Any]:
    count = library.number(f"{noun}_count", ctypes.c_uint32, *handle)
    found = []
    for index in range(count):
        item = struct(struct_size=ctypes.sizeof(struct))
        library.call(f"{noun}_info", *handle, index, ctypes.byref(item))
        values = (getattr(item, field) for field in kind._fields)
        found.append(kind(*(tuple(v) if isinstance(v, ctypes.Array) else v for v in values)))
    return found


def contacts(noun: str, *handle: Any) -> List[Contact]:
    return _all(Contact, _abi.contact, f"{noun}_contact", *handle)


def strikes(noun: str, *handle: Any) -> List[Strike]:
    return _all(Strike, _abi.strike, f"{noun}_strike", *handle)
