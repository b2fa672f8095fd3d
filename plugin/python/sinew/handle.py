"""What the library gives out, and takes back when it is closed, left, or forgotten."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, TypeVar

from . import library
from .error import HandleError

Self = TypeVar("Self", bound="Handle")


class Handle:
    """A context manager: leaving it gives the object back. Forgetting it does so, too."""

    _free = ""
    _what = "object"

    def __init__(self, number: int) -> None:
        self._number: Optional[int] = number

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        if self._number is None:
            raise HandleError(f"this {self._what} is closed; make a new one")
        return ctypes.c_void_p(self._number)

    @property
    def is_open(self) -> bool:
        """Whether it was not closed yet."""
        return self._number is not None

    def close(self) -> None:
        """Gives it back. Closing twice is fine."""
        number, self._number = self._number, None
        if number is not None:
            library.call(self._free, ctypes.c_void_p(number))

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # At the end of the interpreter there is nobody left to tell.
            pass


def made(name: str, *arguments: Any) -> int:
    """Calls a function whose last parameter is a place for a handle."""
    number = library.number(name, ctypes.c_void_p, *arguments)
    return int(number)
