"""A process of its own that bakes one file after another: lines of JSON to it and from it.

To it: the arguments of `bake`, and after each stage and frame whether to go on. From it: stages and frames, warnings, and in
the end a report or an error. Whoever started it may die: then what it is at is cancelled, and it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
from typing import Any, Dict

from .bake import bake
from .callbacks import Progress
from .error import SinewError, of_code

GO, STOP = "true\n", "false\n"
#: What it runs: this very package, wherever it is, and under whatever name.
_MAIN = "import sys; sys.path.insert(0, sys.argv[1]); import sinew.worker; sinew.worker.main()"


class Worker:
    """Such a process, from outside. One thread at a time."""

    def __init__(self) -> None:
        folder = str(pathlib.Path(__file__).resolve().parent.parent)
        command = [sys.executable, "-c", _MAIN, folder]
        # Ctrl+C is for whoever started it, who then says so.
        apart: Any = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", **apart
        )
        self._is_busy = False

    @property
    def is_free(self) -> bool:
        """Whether it can be given more to do."""
        return not self._is_busy and self._process.poll() is None

    def bake(self, *, progress: Any = None, warning: Any = None, **arguments: Any) -> Dict[str, Any]:
        """As `sinew.bake`, there."""
        scene = os.fspath(arguments["scene"])
        try:
            line = json.dumps(arguments, default=os.fspath) + "\n"
        except TypeError as error:
            raise TypeError(f"{scene}: {error}, and it goes to another process; give plain values") from error
        self._is_busy = True
        self._say(line)
        out = self._process.stdout
        assert out is not None
        for line in out:
            said = json.loads(line)
            self._is_busy = "at" in said or "warning" in said
            if "report" in said:
                report = said["report"]
                assert isinstance(report, dict)
                return report
            if "error" in said:
                raise of_code(*said["error"])
            if "raised" in said:
                raise TypeError(f"{scene}: {said['raised']}")
            if "warning" in said and warning is not None:
                warning(said["warning"])
            if "at" in said:
                goes_on = progress is None or progress(Progress(*said["at"])) is not False
                self._say(GO if goes_on else STOP)
        code = self._process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        raise SinewError(f"{scene}: the process that baked it ended {how}, and nothing was written; bake it by itself")

    def close(self) -> None:
        """Lets it end; what it is at is cancelled."""
        with contextlib.suppress(OSError):
            # Closes its end of the line, and listens until it has hung up.
            self._process.communicate()

    def _say(self, line: str) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(line)
            stream.flush()
        except OSError:
            # It has ended: what it said last says how.
            pass


def main() -> None:
    """The process."""
    # What else writes to the standard output must not get between the lines.
    out, sys.stdout = sys.stdout, sys.stderr

    def say(**said: Any) -> None:
        # Whoever listened may be gone: then no answer comes, either.
        with contextlib.suppress(OSError):
            out.write(json.dumps(said) + "\n")
            out.flush()

    def going(at: Progress) -> bool:
        say(at=list(at))
        return sys.stdin.readline() == GO

    while line := sys.stdin.readline():
        try:
            say(report=bake(**json.loads(line), progress=going, warning=lambda text: say(warning=text)))
        except SinewError as error:
            say(error=[error.code, error.name, str(error)])
        except (TypeError, ValueError) as error:
            say(raised=str(error))
