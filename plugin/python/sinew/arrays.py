"""Numbers to and from the library: numpy arrays where numpy is, else plain memory views.

    >>> [float(number) for number in view(doubles(4), 4)]
    [0.0, 0.0, 0.0, 0.0]
"""

from __future__ import annotations

import array
import ctypes
from typing import Any, Dict, Optional, Sequence, Union

try:
    import numpy
except ImportError:  # Everything works without it.
    numpy = None  # type: ignore[assignment]

#: A sequence of numbers, an array of numbers, or anything with a buffer of numbers.
Numbers = Union[Sequence[Any], Any]

_KINDS: Dict[str, Any] = {"d": ctypes.c_double, "f": ctypes.c_float, "I": ctypes.c_uint32}
_DTYPES = {"d": "float64", "f": "float32", "I": "uint32"}


def given(numbers: Numbers, kind: str = "d") -> tuple[Any, int, Any]:
    """A pointer to the numbers, how many they are, and what must stay alive during the call.

    >>> given([1, 2.5])[1], given([[1, 2], [3, 4]])[1]
    (2, 4)
    """
    if numpy is not None:
        data = numpy.ascontiguousarray(numbers, dtype=_DTYPES[kind])
        return data.ctypes.data_as(ctypes.POINTER(_KINDS[kind])), data.size, data
    flat = array.array(kind, _flat(numbers))
    address, count = flat.buffer_info()
    return ctypes.cast(address, ctypes.POINTER(_KINDS[kind])), count, flat


def _flat(numbers: Numbers) -> Any:
    for item in numbers:
        if hasattr(item, "__iter__"):
            yield from _flat(item)
        else:
            yield item


def doubles(count: int) -> Any:
    """Room for that many numbers, for the library to write to."""
    return (ctypes.c_double * count)()


def numbers32(count: int) -> Any:
    """The same for whole numbers."""
    return (ctypes.c_uint32 * count)()


def view(memory: Any, *shape: int) -> Any:
    """What the library wrote, without a copy: a numpy array of that shape, or a memory view."""
    if numpy is not None:
        return numpy.frombuffer(memory, dtype=_DTYPES[memory._type_._type_]).reshape(shape)
    flat = memoryview(memory).cast("B")
    if 0 in shape:  # A view of several dimensions cannot be empty.
        return flat.cast(memory._type_._type_)
    return flat.cast(memory._type_._type_, list(shape))


def pointer(memory: Optional[Any]) -> Any:
    """A pointer to the first of such numbers."""
    return None if memory is None else ctypes.cast(memory, ctypes.POINTER(memory._type_))
