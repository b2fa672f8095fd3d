"""Baking from file to file."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Dict, Optional, Sequence

from . import _abi, library
from .callbacks import Callbacks, OnProgress, OnWarning
from .handle import Handle
from .job import STATUSES, fill, set_text
from .scene import Path


class Report(Handle):
    """What a bake from file to file did."""

    _free = "sinew_report_free"
    _what = "report"

    @property
    def status(self) -> str:
        """`done` or `fell_short`."""
        return STATUSES[library.number("sinew_report_status", ctypes.c_int32, self)]

    def to_dict(self) -> Dict[str, Any]:
        """What `sinew bake --json` prints."""
        found = json.loads(library.text("sinew_report_json", self))
        assert isinstance(found, dict)
        return found


def bake(
    scene: Path,
    output: Optional[Path] = None,
    *,
    setup: Optional[Path] = None,
    automatic: bool = False,
    mass: Optional[float] = None,
    height: Optional[float] = None,
    preset: Optional[str] = None,
    looseness: Optional[float] = None,
    frames: Optional[tuple[float, float]] = None,
    every_frame: bool = False,
    loop: bool = False,
    tolerance: Optional[float] = None,
    tolerance_deg: Optional[float] = None,
    clip: Optional[str] = None,
    name: Optional[str] = None,
    only: Optional[Sequence[str]] = None,
    layer: Optional[str] = None,
    every: int = 0,
    hold_frame: Optional[float] = None,
    replace: bool = False,
    in_place: bool = False,
    compare_steps: bool = False,
    flatten: bool = False,
    openusd: bool = False,
    splines: bool = False,
    asset_root: Optional[Path] = None,
    plot: Optional[Path] = None,
    contacts: Optional[Path] = None,
    progress: Optional[OnProgress] = None,
    warning: Optional[OnWarning] = None,
) -> Dict[str, Any]:
    """Does what `sinew bake SCENE -o OUTPUT` does, and gives the report. Options are those of the command.

    A call that fails or is cancelled writes nothing.

    >>> import sinew
    >>> sinew.bake("missing.glb")
    Traceback (most recent call last):
    ...
    sinew.error.FileError: ...
    """
    request = _abi.bake_request(struct_size=ctypes.sizeof(_abi.bake_request))
    switches = [
        (replace, _abi.REPLACE),
        (in_place, _abi.IN_PLACE),
        (automatic, _abi.AUTOMATIC),
        (compare_steps, _abi.COMPARE_STEPS),
        (flatten, _abi.FLATTEN),
        (openusd, _abi.OPENUSD),
        (splines, _abi.SPLINES),
    ]
    request.flags = sum(flag for is_on, flag in switches if is_on)
    fill(
        request,
        dict(
            preset=preset, looseness=looseness, frames=frames, every_frame=every_frame, loop=loop, tolerance=tolerance,
            tolerance_deg=tolerance_deg, clip=clip, name=name, only=only, layer=layer, every=every,
            hold_frame=hold_frame,
        ),
    )  # fmt: skip
    request.mass = mass or 0.0
    request.height = height or 0.0
    paths = dict(scene=scene, output=output, setup=setup, asset_root=asset_root, plot=plot, contacts=contacts)
    for field, path in paths.items():
        set_text(request, field, None if path is None else os.fspath(path))
    with Report(Callbacks(progress, warning).run("sinew_bake_file", ctypes.byref(request))) as report:
        return report.to_dict()
