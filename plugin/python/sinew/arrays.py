"""Numbers to and from the library: numpy arrays where numpy is, else views that are asked the same way.

    >>> [float(number) for number in view(doubles(4), 4)]
    [0.0, 0.0, 0.0, 0.0]
"""

from __future__ import annotations

import array
import ctypes
import math
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


class Grid(Sequence[Any]):
    """Numbers in rows and columns without numpy: Python's own memory views know no rows of several dimensions.

    >>> grid = Grid(memoryview(array.array("d", range(6))), (3, 2))
    >>> len(grid), list(grid[1]), grid[2, 0], grid[-1][1], grid[1:].tolist()
    (3, [2.0, 3.0], 4.0, 5.0, [[2.0, 3.0], [4.0, 5.0]])
    """

    def __init__(self, flat: memoryview, shape: tuple[int, ...]) -> None:
        self._flat, self.shape = flat, shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            inside = self[index[0]]
            return inside[index[1:] if len(index) > 2 else index[1]] if len(index) > 1 else inside
        rest = self.shape[1:]
        size = math.prod(rest)
        if isinstance(index, slice):
            first, end, step = index.indices(len(self))
            if step != 1:
                return [self[row] for row in range(first, end, step)]
            return Grid(self._flat[first * size : max(first, end) * size], (max(end - first, 0), *rest))
        row = range(len(self))[index]  # IndexError for what is beyond, from the end below zero
        inside = self._flat[row * size : (row + 1) * size]
        return inside if len(rest) == 1 else Grid(inside, rest)

    def tolist(self) -> list[Any]:
        """The numbers as lists of lists."""
        return [row.tolist() for row in self]


def view(memory: Any, *shape: int) -> Any:
    """What the library wrote, without a copy: a numpy array of that shape, or the same as a memory view or a grid."""
    if numpy is not None:
        return numpy.frombuffer(memory, dtype=_DTYPES[memory._type_._type_]).reshape(shape)
    flat = memoryview(memory).cast("B").cast(memory._type_._type_)
    return flat if len(shape) == 1 else Grid(flat, shape)


def pointer(memory: Optional[Any]) -> Any:
    """A pointer to the first of such numbers."""
    return None if memory is None else ctypes.cast(memory, ctypes.POINTER(memory._type_))
