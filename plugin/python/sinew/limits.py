"""What jobs may use, in this process."""

from __future__ import annotations

from . import library


def set_limits(seconds: float = 0.0, samples: int = 0) -> None:
    """Bounds every job that begins from now on: its time, and its frames times its bodies.

    0 is no limit of time, and the usual one of samples. A job that is late raises `Cancelled`; one of too many samples, or for
    which there is not enough memory, `BadSetup`.

    >>> import sinew
    >>> sinew.set_limits(seconds=600)
    >>> sinew.set_limits()
    """
    library.call("sinew_set_limits", float(seconds), int(samples))
