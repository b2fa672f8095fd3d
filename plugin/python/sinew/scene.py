"""Scenes: from a file, from bytes, or out of memory."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Union

from . import _abi, arrays, curve as curves, library
from .callbacks import Callbacks
from .curve import Curve, number_of
from .handle import Handle, made

if TYPE_CHECKING:
    from .job import Job
    from .setup import Setup

EXTENSIONS = ("khr", "omi")
Path = Union[str, "os.PathLike[str]"]


class Scene(Handle):
    """Nodes, meshes and clips.

    >>> scene = Scene.create("shot", frames_per_second=24)
    >>> ball = scene.add_node("Ball", translation=(0, 1, 0))
    >>> scene.add_curve(scene.add_clip("Hop"), ball, "translation", [0, 1], [[0, 1, 0], [1, 1, 0]])
    >>> scene.nodes, scene.clips
    (['Ball'], ['Hop'])
    """

    _free = "sinew_scene_free"
    _what = "scene"

    @classmethod
    def open(cls, path: Path, asset_root: Optional[Path] = None, openusd: bool = False) -> Scene:
        """Opens a glTF or USD file. Buffers and layers may come from its folder, and from `asset_root`.

        With `openusd`, USD is composed and written by the studio's own OpenUSD, over its bridge.
        """
        options = _abi.open_options(struct_size=ctypes.sizeof(_abi.open_options))
        if asset_root is not None:
            options.asset_root, options.asset_root_length = library.utf8(os.fspath(asset_root))
        options.flags = _abi.OPENUSD if openusd else 0
        return cls(made("sinew_scene_open", *library.utf8(os.fspath(path)), ctypes.byref(options)))

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "") -> Scene:
        """Opens glTF or USD from memory; `name` is what messages call it."""
        buffer = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        return cls(made("sinew_scene_open_memory", buffer, len(data), *library.utf8(name)))

    @classmethod
    def open_stage(cls, stage: Any) -> Scene:
        """Opens a stage that is in memory: a `pxr.Usd.Stage`, or its number in the cache of `pxr.UsdUtils`.

        Needs the bridge to the OpenUSD that `pxr` is of. The stage stays in that cache.
        """
        if not isinstance(stage, int):
            from pxr import UsdUtils

            stage = UsdUtils.StageCache.Get().Insert(stage).ToLongInt()
        return cls(made("sinew_scene_open_stage", stage, None))

    def put_on_stage(self) -> None:
        """Puts what was added since `open_stage` on that stage, as a layer below its session layer."""
        library.call("sinew_scene_put_on_stage", self)

    @classmethod
    def create(
        cls,
        name: str = "",
        *,
        z_up: bool = False,
        metres_per_unit: Optional[float] = None,
        frames_per_second: Optional[float] = None,
    ) -> Scene:
        """Makes an empty scene. With `z_up`, everything in and out is in axes whose Z is up, as in Blender."""
        options = _abi.scene_options(
            struct_size=ctypes.sizeof(_abi.scene_options),
            up_axis=_abi.UP_Z if z_up else _abi.UP_Y,
            metres_per_unit=metres_per_unit or 0.0,
            frames_per_second=frames_per_second or 0.0,
        )
        return cls(made("sinew_scene_create", *library.utf8(name), ctypes.byref(options)))

    def set_frame_rate(self, frames_per_second: float) -> None:
        """Sets the frames per second that the host plays at."""
        library.call("sinew_scene_set_frame_rate", self, frames_per_second)

    def add_node(
        self,
        name: str,
        parent: Optional[int] = None,
        translation: Sequence[float] = (0, 0, 0),
        rotation: Sequence[float] = (0, 0, 0, 1),
        scale: Sequence[float] = (1, 1, 1),
    ) -> int:
        """Adds a node relative to its parent; gives its index. Rotations are quaternions xyzw."""
        numbers = arrays.doubles(10)
        numbers[:] = [*translation, *rotation, *scale]
        above = _abi.NONE if parent is None else parent
        place = arrays.pointer(numbers)
        return int(library.number("sinew_scene_add_node", ctypes.c_uint32, self, *library.utf8(name), above, place))

    def set_mesh(self, node: int, positions: arrays.Numbers, triangles: arrays.Numbers = ()) -> None:
        """Gives a node a mesh: three numbers per vertex, three vertices per triangle.

        Without triangles only the extent counts. Numpy arrays of single precision are passed as they are.
        """
        single = getattr(getattr(positions, "dtype", None), "str", "").endswith("f4")
        points, count, kept = arrays.given(positions, "f" if single else "d")
        sides, corners, kept_sides = arrays.given(triangles, "I")
        if count % 3 or corners % 3:
            raise ValueError(f"{count} coordinates and {corners} corners: both come in threes")
        name = "sinew_scene_set_mesh_f32" if single else "sinew_scene_set_mesh"
        library.call(name, self, node, points, count // 3, sides, corners // 3)
        del kept, kept_sides

    def set_skin(self, node: int, joints: Sequence[int]) -> None:
        """Says that a node's mesh is deformed by bones, by their node indices."""
        bones, count, kept = arrays.given(joints, "I")
        library.call("sinew_scene_set_skin", self, node, bones, count)
        del kept

    def set_weights(
        self,
        node: int,
        vertices: arrays.Numbers,
        joints: arrays.Numbers,
        weights: arrays.Numbers,
        bind: Optional[arrays.Numbers] = None,
    ) -> None:
        """Says how hard bones pull at vertices: vertex, place of the bone in the skin's list, weight.

        `bind` has sixteen numbers per bone, column after column: from the mesh's space to the bone's.
        """
        given = [arrays.given(vertices, "I"), arrays.given(joints, "I"), arrays.given(weights)]
        counts = {count for _, count, _ in given}
        if len(counts) != 1:
            raise ValueError(f"vertices, joints and weights must be as many: {sorted(counts)}")
        matrices, _, kept = (None, 0, None) if bind is None else arrays.given(bind)
        pointers = [pointer for pointer, _, _ in given]
        library.call("sinew_scene_set_weights", self, node, *pointers, counts.pop(), matrices)
        del kept

    def add_clip(self, name: str) -> int:
        """Adds an empty clip; gives its index."""
        return int(library.number("sinew_scene_add_clip", ctypes.c_uint32, self, *library.utf8(name)))

    def add_curve(
        self,
        clip: int,
        node: int,
        property: str,
        times: arrays.Numbers,
        values: arrays.Numbers,
        interpolation: str = "linear",
        arriving: Optional[arrays.Numbers] = None,
        leaving: Optional[arrays.Numbers] = None,
    ) -> None:
        """Adds keys: seconds, and a row of numbers each; tangents per second for `cubic`."""
        curves.add(self, clip, Curve(node, property, interpolation, times, values, arriving, leaving))

    @property
    def warnings(self) -> List[str]:
        """What was amiss in the file."""
        return library.text("sinew_scene_warnings", self).splitlines()

    @property
    def nodes(self) -> List[str]:
        """Names of the nodes, by index."""
        return [library.text("sinew_scene_node_name", self, node) for node in range(self.node_count)]

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return int(library.number("sinew_scene_node_count", ctypes.c_uint32, self))

    def node(self, name: str) -> int:
        """The index of the node of that name."""
        return int(library.number("sinew_scene_node_find", ctypes.c_uint32, self, *library.utf8(name)))

    def parent(self, node: int) -> Optional[int]:
        """The index of a node's parent."""
        parent = int(library.number("sinew_scene_node_parent", ctypes.c_uint32, self, node))
        return None if parent == _abi.NONE else parent

    def transform(self, node: int) -> Any:
        """A node at rest relative to its parent: translation xyz, rotation xyzw, scale xyz."""
        numbers = arrays.doubles(10)
        library.call("sinew_scene_node_transform", self, node, numbers, 10)
        return arrays.view(numbers, 10)

    @property
    def clips(self) -> List[str]:
        """Names of the clips, by index."""
        count = library.number("sinew_scene_clip_count", ctypes.c_uint32, self)
        return [library.text("sinew_scene_clip_name", self, clip) for clip in range(count)]

    def clip(self, name: str) -> int:
        """The index of the clip of that name."""
        return int(library.number("sinew_scene_clip_find", ctypes.c_uint32, self, *library.utf8(name)))

    def clip_range(self, clip: int) -> tuple[float, float]:
        """Times of a clip's first and last key, in seconds."""
        first, last = ctypes.c_double(), ctypes.c_double()
        library.call("sinew_scene_clip_range", self, clip, ctypes.byref(first), ctypes.byref(last))
        return first.value, last.value

    def curves(self, clip: int) -> List[Curve]:
        """All curves of a clip."""
        count = library.number("sinew_scene_curve_count", ctypes.c_uint32, self, clip)
        return [curves.read("sinew_scene_curve", self, clip, index) for index in range(count)]

    def add_job(self, job: Job, name: str = "", replace: bool = False) -> int:
        """Puts a job's curves into a scene from a file as a clip; gives its index."""
        name_, length = library.utf8(name)
        return int(library.number("sinew_scene_add_job", ctypes.c_uint32, self, job, name_, length, int(replace)))

    def save(self, path: Path) -> None:
        """Saves to a `.gltf`, `.glb`, `.usda`, `.usdc`, `.usd` or `.usdz` file, whole or not at all."""
        library.call("sinew_scene_save", self, *library.utf8(os.fspath(path)))

    def save_physics(self, path: Path, setup: Setup, extensions: str = "khr") -> List[str]:
        """The same with a set-up in the file as its physics: UsdPhysics, or in glTF the extensions of `khr` or `omi`.

        Gives what the format cannot express.
        """
        warnings: List[str] = []
        told = Callbacks(None, warnings.append)
        family = number_of(EXTENSIONS, extensions, "family of extensions")
        place = library.utf8(os.fspath(path))
        library.call("sinew_scene_save_physics", self, setup, family, *place, ctypes.byref(told.struct))
        return warnings
