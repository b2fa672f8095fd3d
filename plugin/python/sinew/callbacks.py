"""Progress and warnings of long calls, as Python functions."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, NamedTuple, Optional

from . import _abi, library
from .error import Cancelled

#: Names of the stages, by number.
STAGES = ("open", "compile", "simulate", "bake", "save")


class Progress(NamedTuple):
    """How far a job is.

    >>> Progress("simulate", 12, 48).share
    0.25
    """

    #: `open`, `compile`, `simulate`, `bake` or `save`.
    stage: str
    #: Frames done; 0 or 1 in stages other than `simulate`.
    done: int
    #: Frames in all.
    of: int

    @property
    def share(self) -> float:
        """Of this stage, 0 to 1."""
        return self.done / self.of if self.of else 0.0


#: Called at every stage and frame, on the calling thread. Return False to cancel; anything else goes on.
OnProgress = Callable[[Progress], Any]
#: Called with every warning.
OnWarning = Callable[[str], Any]


class Watch:
    """How far a call on another thread is, and a way to cancel it, without Python's lock: nothing has to wait for it.

    >>> watch = Watch()
    >>> watch.progress
    Progress(stage='open', done=0, of=0)
    """

    def __init__(self) -> None:
        self.struct = _abi.watch(struct_size=ctypes.sizeof(_abi.watch))

    @property
    def progress(self) -> Progress:
        """As of the last step."""
        return Progress(_stage(self.struct.stage), self.struct.done, self.struct.of)

    def cancel(self) -> None:
        """At the next step; the call raises `Cancelled` on its thread."""
        self.struct.cancel = 1


def _stage(number: int) -> str:
    return STAGES[number] if 0 <= number < len(STAGES) else str(number)


class Callbacks:
    """Keeps Python functions alive while the library calls them, and what they raised."""

    def __init__(
        self, progress: Optional[OnProgress], warning: Optional[OnWarning], watch: Optional[Watch] = None
    ) -> None:
        self.raised: Optional[BaseException] = None
        self._progress, self._warning = progress, warning
        self.struct = _abi.callbacks(struct_size=ctypes.sizeof(_abi.callbacks))
        if progress is not None and watch is not None:
            raise ValueError("give either progress or watch")
        if progress is not None:
            self.struct.progress = _abi.progress_fn(self._on_progress)
        self._watch = watch
        if watch is not None:
            self.struct.progress = ctypes.cast(library.load().sinew_watch_progress, _abi.progress_fn)
            self.struct.user = ctypes.addressof(watch.struct)
        if warning is not None:
            self.struct.log = _abi.log_fn(self._on_log)

    def _on_progress(self, _user: Any, at: Any) -> int:
        state = at.contents
        try:
            assert self._progress is not None
            return int(self._progress(Progress(_stage(state.stage), state.done, state.of)) is False)
        except BaseException as error:  # Ctrl+C, too: nothing may cross the library.
            self.raised = error
            return 1

    def _on_log(self, _user: Any, _level: int, text: int, length: int) -> None:
        try:
            assert self._warning is not None
            self._warning(ctypes.string_at(text, length).decode("utf-8", "replace"))
        except BaseException as error:
            self.raised = error

    def run(self, name: str, *arguments: Any) -> int:
        """Calls a function that takes callbacks and a place for a handle last; raises what a callback raised."""
        out = ctypes.c_void_p()
        try:
            library.call(name, *arguments, ctypes.byref(self.struct), ctypes.byref(out))
        except Cancelled as error:
            if self.raised is not None:
                raise self.raised from error
            raise
        return int(out.value or 0)
