"""Drags a star of jointed bodies about by one arm, with nothing but Python's standard library and libsinew.

    SINEW_LIB=target/release/libsinew.so python3 examples/python/drag.py examples/scenes/drag.gltf

First in motion, with a hand of limited strength; then in a still pose, as a posing tool would.
"""

import ctypes
import math
import os
import pathlib
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

ABI_VERSION = 0x00010001


class Grip(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("at", c_double * 3), ("strength", c_double)]


class Solver(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("tier", c_int32),
        ("rounds", c_uint32),
        ("iterations", c_uint32),
        ("microseconds", c_double),
    ]


# Every function that is called here, with what it takes.
FUNCTIONS = {
    "sinew_abi_check": [c_uint32],
    "sinew_scene_open": [c_char_p, c_size_t, c_void_p, POINTER(c_void_p)],
    "sinew_scene_free": [c_void_p],
    "sinew_scene_node_find": [c_void_p, c_char_p, c_size_t, POINTER(c_uint32)],
    "sinew_setup_from_json": [c_char_p, c_size_t, POINTER(c_void_p)],
    "sinew_setup_free": [c_void_p],
    "sinew_session_create": [c_void_p, c_void_p, POINTER(c_void_p)],
    "sinew_session_free": [c_void_p],
    "sinew_session_body_count": [c_void_p, POINTER(c_uint32)],
    "sinew_session_body_of_node": [c_void_p, c_uint32, POINTER(c_uint32)],
    "sinew_session_poses": [c_void_p, POINTER(c_double), c_size_t],
    "sinew_session_step_frame": [c_void_p],
    "sinew_session_set_solver": [c_void_p, POINTER(Solver)],
    "sinew_session_drag_begin": [c_void_p, c_uint32, POINTER(Grip), POINTER(c_uint64)],
    "sinew_session_drag_move": [c_void_p, c_uint64, POINTER(c_double), c_size_t],
    "sinew_session_drag_pose": [
        c_void_p, c_uint64, POINTER(c_double), c_size_t, c_double, POINTER(c_double),
    ],
    "sinew_session_drag_end": [c_void_p, c_uint64],
}


class Sinew:
    """The library; calls that fail raise with its own words."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.sinew_last_error.restype = c_size_t
        self.library.sinew_last_error.argtypes = [c_char_p, c_size_t]
        for name, takes in FUNCTIONS.items():
            getattr(self.library, name).argtypes = takes
        self.call("abi_check", ABI_VERSION)

    def call(self, name, *arguments):
        if getattr(self.library, "sinew_" + name)(*arguments) != 0:
            text = ctypes.create_string_buffer(self.library.sinew_last_error(None, 0) + 1)
            self.library.sinew_last_error(text, len(text))
            raise RuntimeError(text.value.decode())

    def get(self, kind, name, *arguments):
        """A call whose last argument is the answer."""
        answer = kind()
        self.call(name, *arguments, byref(answer))
        return answer


def position(sinew, session, bodies, body):
    poses = (c_double * (7 * bodies))()
    sinew.call("session_poses", session, poses, len(poses))
    return poses[7 * body : 7 * body + 3]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    sinew = Sinew(os.environ.get("SINEW_LIB", "libsinew.so"))
    path = arguments[0].encode()
    setup_text = pathlib.Path(arguments[0]).with_suffix(".sinew.json").read_bytes()
    scene = sinew.get(c_void_p, "scene_open", path, len(path), None)
    setup = sinew.get(c_void_p, "setup_from_json", setup_text, len(setup_text))
    session = sinew.get(c_void_p, "session_create", scene, setup)
    bodies = sinew.get(c_uint32, "session_body_count", session).value
    name = b"Arm 3 link 11"
    node = sinew.get(c_uint32, "scene_node_find", scene, name, len(name))
    body = sinew.get(c_uint32, "session_body_of_node", session, node).value

    # Steps that take at most 2 ms each leave a viewport time to draw.
    sinew.call("session_set_solver", session, byref(Solver(ctypes.sizeof(Solver), microseconds=2000)))
    grip = Grip(ctypes.sizeof(Grip), strength=2000)
    drag = sinew.get(c_uint64, "session_drag_begin", session, body, byref(grip))
    start = position(sinew, session, bodies, body)
    for frame in range(1, 49):
        angle = frame / 48 * 2 * math.pi
        target = (c_double * 3)(start[0], start[1] + 0.3 * (1 - math.cos(angle)), start[2] + 0.3 * math.sin(angle))
        sinew.call("session_drag_move", session, drag, target, 3)
        sinew.call("session_step_frame", session)
    off = math.dist(position(sinew, session, bodies, body), target)
    print(f"held: {bodies} bodies, the hand is {off:.4f} from what it holds")

    target = (c_double * 3)(start[0], start[1] + 0.2, start[2])
    off = sinew.get(c_double, "session_drag_pose", session, drag, target, 3, 5000.0).value
    print(f"posed: the hand is {off:.4f} from what it holds")
    sinew.call("session_drag_end", session, drag)
    sinew.call("session_free", session)
    sinew.call("setup_free", setup)
    sinew.call("scene_free", scene)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
