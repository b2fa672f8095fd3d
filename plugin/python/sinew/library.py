"""Finds and loads libsinew: the one that `SINEW_LIBRARY` names, else the one inside the package."""

from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import threading
from typing import Any, Optional

from . import _abi
from .error import SinewError, of_code

#: What the library is called on this platform.
FILE_NAME = {"win32": "sinew.dll", "darwin": "libsinew.dylib"}.get(sys.platform, "libsinew.so")

_loaded: Optional[ctypes.CDLL] = None
_lock = threading.Lock()


def path() -> pathlib.Path:
    """Where the library is looked for."""
    named = os.environ.get("SINEW_LIBRARY")
    return pathlib.Path(named) if named else pathlib.Path(__file__).with_name("lib") / FILE_NAME


def load() -> ctypes.CDLL:
    """The library, with the types of every function declared. Loaded once; any thread."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _open(path())
        return _loaded


def _open(file: pathlib.Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(file))
    except OSError as error:
        raise SinewError(
            f"libsinew cannot be loaded from {file}: {error}; install the wheel for this platform, "
            "or set SINEW_LIBRARY to the library's file"
        ) from error
    for name, (returns, takes) in _abi.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError as error:
            raise SinewError(f"{file} has no {name}: it is older than this package; install them together") from error
        function.restype = returns
        function.argtypes = takes
    _check(library, library.sinew_abi_check(_abi.ABI_VERSION))
    return library


def _check(library: ctypes.CDLL, code: int) -> None:
    if code == _abi.OK:
        return
    length = library.sinew_last_error(None, 0)
    text = ctypes.create_string_buffer(length + 1)
    library.sinew_last_error(text, len(text))
    name = library.sinew_result_name(code).decode()
    raise of_code(code, name, text.value.decode("utf-8", "replace"))


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a code; raises with the library's own words when it fails."""
    library = load()
    # Here and not by ctypes, which would wrap what a closed handle raises.
    given = [getattr(argument, "_as_parameter_", argument) for argument in arguments]
    _check(library, getattr(library, name)(*given))


def number(name: str, kind: Any, *arguments: Any) -> Any:
    """Calls a function whose last parameter is a place for one number, and gives that number."""
    out = kind()
    call(name, *arguments, ctypes.byref(out))
    return out.value


def text(name: str, *arguments: Any) -> str:
    """Calls a function that copies a text: once for its length, once for itself."""
    length = ctypes.c_size_t()
    call(name, *arguments, None, 0, ctypes.byref(length))
    buffer = ctypes.create_string_buffer(length.value + 1)
    call(name, *arguments, buffer, len(buffer), None)
    return buffer.raw[: length.value].decode()


def utf8(value: str) -> tuple[bytes, int]:
    """A text as the interface takes it: bytes and their count."""
    data = value.encode()
    return data, len(data)


def version() -> str:
    """The version of the program.

    >>> version().count(".")
    2
    """
    library = load()
    buffer = ctypes.create_string_buffer(library.sinew_version(None, 0) + 1)
    library.sinew_version(buffer, len(buffer))
    return buffer.value.decode()


def abi_version() -> tuple[int, int]:
    """Major and minor version of the library's interface.

    >>> abi_version() >= (1, 5)
    True
    """
    number_ = load().sinew_abi_version()
    return number_ >> 16, number_ & 0xFFFF
