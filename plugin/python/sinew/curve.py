"""Curves: keys of one property of one node."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

from . import _abi, arrays, library

PROPERTIES = ("translation", "rotation", "scale", "weights")
INTERPOLATIONS = ("step", "linear", "cubic")


class Curve(NamedTuple):
    """Keys as arrays: `times` in seconds, `values` with one row per key, tangents per second for cubic ones."""

    node: int
    #: `translation`, `rotation` (quaternion xyzw), `scale` or `weights`.
    property: str
    #: `step`, `linear` or `cubic` (as glTF's CUBICSPLINE).
    interpolation: str
    times: Any
    values: Any
    arriving: Optional[Any] = None
    leaving: Optional[Any] = None


def number_of(names: tuple[str, ...], name: str, what: str) -> int:
    """The number of a word, or an error that lists the words.

    >>> number_of(PROPERTIES, "rotation", "property")
    1
    """
    if name not in names:
        raise ValueError(f'"{name}" is no {what}; use {", ".join(names)}')
    return names.index(name)


def read(noun: str, *place: Any) -> Curve:
    """The curve at a place of a scene or job."""
    info = _abi.curve_info(struct_size=ctypes.sizeof(_abi.curve_info))
    library.call(f"{noun}_info", *place, ctypes.byref(info))
    keys, width = info.key_count, info.width
    times = arrays.doubles(keys)
    # Only cubic ones have tangents.
    numbers = [arrays.doubles(keys * width) for _ in range(3 if info.interpolation == _abi.CUBIC else 1)]
    library.call(f"{noun}_read", *place, keys, times, *numbers, *[None] * (3 - len(numbers)))
    return Curve(
        info.node,
        PROPERTIES[info.property],
        INTERPOLATIONS[info.interpolation],
        arrays.view(times, keys),
        *(arrays.view(n, keys, width) for n in numbers),
    )


def add(scene: Any, clip: int, curve: Curve) -> None:
    """Adds a curve to a clip of a scene in memory."""
    times, count, kept = arrays.given(curve.times)
    struct = _abi.curve(
        struct_size=ctypes.sizeof(_abi.curve),
        node=curve.node,
        property=number_of(PROPERTIES, curve.property, "property"),
        interpolation=number_of(INTERPOLATIONS, curve.interpolation, "interpolation"),
        key_count=count,
        times=times,
    )
    alive = [kept]
    width = None
    for name in ("values", "arriving", "leaving"):
        numbers = getattr(curve, name)
        if numbers is None:
            continue
        pointer, total, kept = arrays.given(numbers)
        if count == 0 or total % count or (width is not None and total != width * count):
            raise ValueError(f"{total} numbers in {name} do not fit {count} keys")
        width = total // count
        setattr(struct, name, pointer)
        alive.append(kept)
    struct.width = width or 0
    library.call("sinew_scene_add_curve", scene, clip, ctypes.byref(struct))
