"""Set-ups: what is simulated, how it is guided, how strong."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from . import arrays, library
from .curve import INTERPOLATIONS, number_of
from .handle import Handle, made
from .scene import Path, Scene


PRESETS = ("none", "subtle", "reactive", "limp", "ragdoll", "weighty", "loose")


class Setup(Handle):
    """The animator's physics, edited by place: `bodies/Ball/actuator/alpha` (a slash in a name is written `~1`).

    >>> setup = Setup()
    >>> setup.add_body("Ball")
    >>> setup["bodies/Ball/actuator/preset"] = "limp"
    >>> setup["world/gravity_scale"] = 0.16
    >>> setup["bodies/Ball/actuator"]["preset"], setup["world/gravity_scale"]
    ('limp', 0.16)
    """

    _free = "sinew_setup_free"
    _what = "set-up"

    def __init__(self, number: Optional[int] = None) -> None:
        super().__init__(made("sinew_setup_create") if number is None else number)

    @classmethod
    def open(cls, path: Path) -> Setup:
        """Reads a set-up file."""
        return cls(made("sinew_setup_open", *library.utf8(os.fspath(path))))

    @classmethod
    def from_json(cls, text: Union[str, Mapping[str, Any]]) -> Setup:
        """Reads the text of a set-up file, or what it says as a dictionary."""
        text = text if isinstance(text, str) else json.dumps(text)
        return cls(made("sinew_setup_from_json", *library.utf8(text)))

    @classmethod
    def automatic(cls, scene: Scene, clip: str = "") -> Setup:
        """Makes one from the physics in a scene's file, or else from its keys."""
        return cls(made("sinew_setup_automatic", scene, *library.utf8(clip)))

    def to_json(self) -> str:
        """The text of a set-up file."""
        return library.text("sinew_setup_to_json", self)

    def to_dict(self) -> Dict[str, Any]:
        """The same as a dictionary."""
        found = json.loads(self.to_json())
        assert isinstance(found, dict)
        return found

    def save(self, path: Path) -> None:
        """Writes a set-up file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def add_body(self, node: str) -> None:
        """Adds a guided body on the node of that name (or `#index`)."""
        library.call("sinew_setup_add_body", self, *library.utf8(node))

    def set_keys(self, place: str, times: Sequence[float], values: Sequence[float], between: str = "linear") -> None:
        """Sets keys over time, in seconds, at a place that is keyable; `between` is `linear` or `step`."""
        seconds, count, kept = arrays.given(times)
        numbers, same, kept_numbers = arrays.given(values)
        if same != count:
            raise ValueError(f"{count} times and {same} values")
        interpolation = number_of(INTERPOLATIONS, between, "way between keys")
        library.call("sinew_setup_set_keys", self, *library.utf8(place), interpolation, seconds, numbers, count)
        del kept, kept_numbers

    def use_preset(self, preset: str) -> None:
        """Makes every body chase its keys as a preset has it, as a job with that preset does.

        >>> setup = Setup()
        >>> setup.add_body("Ball")
        >>> setup.use_preset("limp")
        >>> setup["bodies/Ball/actuator/preset"]
        'limp'
        """
        library.call("sinew_setup_use_preset", self, number_of(PRESETS, preset, "preset"))

    def __setitem__(self, place: str, value: Any) -> None:
        """Sets a number, numbers, a word, or anything that JSON has."""
        where = library.utf8(place)
        if isinstance(value, str):
            library.call("sinew_setup_set_text", self, *where, *library.utf8(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            library.call("sinew_setup_set_number", self, *where, float(value))
        elif isinstance(value, (list, tuple)) and value and all(type(v) in (int, float) for v in value):
            numbers = arrays.doubles(len(value))
            numbers[:] = value
            library.call("sinew_setup_set_numbers", self, *where, numbers, len(value))
        else:
            library.call("sinew_setup_set_json", self, *where, *library.utf8(json.dumps(value)))

    def __getitem__(self, place: str) -> Any:
        """What is at a place."""
        return json.loads(library.text("sinew_setup_get_json", self, *library.utf8(place)))

    def __delitem__(self, place: str) -> None:
        """Removes what is at a place; a value then has its default."""
        library.call("sinew_setup_remove", self, *library.utf8(place))
