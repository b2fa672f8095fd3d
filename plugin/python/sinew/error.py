"""Failures of the library as exceptions, with its text and its code."""

from __future__ import annotations

from . import _abi


class SinewError(Exception):
    """Something failed. The text says what, where, and what to do."""

    #: The number of the failure; 0 when it did not come from the library.
    code: int = 0
    #: Its name, as `SINEW_BAD_SETUP`.
    name: str = ""


class BadInput(SinewError):
    """The scene, its curves or an argument are not what they must be."""


class BadSetup(SinewError):
    """The set-up is not what it must be, or does not fit the scene."""


class FileError(SinewError, OSError):
    """The system would not read or write a file."""


class Cancelled(SinewError):
    """A progress function asked to stop. Nothing was written."""


class HandleError(SinewError):
    """An object that was closed, or that another thread is using."""


_KINDS = {
    _abi.INVALID_ARGUMENT: BadInput,
    _abi.BAD_INPUT: BadInput,
    _abi.OUT_OF_RANGE: BadInput,
    _abi.IO: FileError,
    _abi.BAD_SETUP: BadSetup,
    _abi.CANCELLED: Cancelled,
    _abi.BAD_HANDLE: HandleError,
    _abi.BUSY: HandleError,
    _abi.POISONED: HandleError,
}


def of_code(code: int, name: str, text: str) -> SinewError:
    """The exception for a failed call."""
    error = _KINDS.get(code, SinewError)(text)
    error.code = code
    error.name = name
    return error
