"""Bakes scenes in a batch, with nothing but Python's standard library and libsinew.

    SINEW_LIB=target/release/libsinew.so python3 examples/python/bake.py SCENE OUT [SCENE OUT ...]

Ctrl+C cancels: the scene at hand writes nothing, and those before it are done.
"""

import ctypes
import json
import os
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

ABI_VERSION = 0x00010000
OK, CANCELLED = 0, 5
STAGES = ["reading", "compiling", "simulating", "fitting keys", "writing"]


class Progress(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("stage", c_int32), ("done", c_uint64), ("of", c_uint64)]


ProgressFunction = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Progress))


class Callbacks(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("progress", ProgressFunction),
        ("log", c_void_p),
        ("user", c_void_p),
    ]


class BakeRequest(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("preset", c_int32),
        ("reserved", c_uint32),
        ("first_frame", c_double),
        ("last_frame", c_double),
        ("tolerance", c_double),
    ] + [
        field
        for name in ["scene", "output", "setup", "clip", "name", "asset_root", "plot"]
        for field in [(name, c_char_p), (name + "_length", c_size_t)]
    ]

    def set(self, name, text):
        """Sets a text and its length in bytes."""
        data = text.encode()
        setattr(self, name, data)
        setattr(self, name + "_length", len(data))


class Sinew:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.sinew_last_error.restype = c_size_t
        self.library.sinew_last_error.argtypes = [c_char_p, c_size_t]
        self.library.sinew_abi_check.argtypes = [c_uint32]
        self.library.sinew_bake_file.argtypes = [POINTER(BakeRequest), POINTER(Callbacks), POINTER(c_void_p)]
        self.library.sinew_report_json.argtypes = [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)]
        self.library.sinew_report_free.argtypes = [c_void_p]
        self.check(self.library.sinew_abi_check(ABI_VERSION))

    def check(self, result):
        if result == CANCELLED:
            raise KeyboardInterrupt
        if result != OK:
            text = ctypes.create_string_buffer(self.library.sinew_last_error(None, 0) + 1)
            self.library.sinew_last_error(text, len(text))
            raise RuntimeError(text.value.decode())

    def bake(self, scene, output, on_progress):
        """Bakes a file and returns the report. `on_progress(stage, done, of)` runs on this thread."""

        def progress(_user, at):
            try:
                on_progress(STAGES[at.contents.stage], at.contents.done, at.contents.of)
                return 0
            except KeyboardInterrupt:
                return 1

        request = BakeRequest(struct_size=ctypes.sizeof(BakeRequest))
        request.set("scene", scene)
        request.set("output", output)
        callbacks = Callbacks(struct_size=ctypes.sizeof(Callbacks), progress=ProgressFunction(progress))
        report = c_void_p()
        self.check(self.library.sinew_bake_file(byref(request), byref(callbacks), byref(report)))
        try:
            length = c_size_t()
            self.check(self.library.sinew_report_json(report, None, 0, byref(length)))
            text = ctypes.create_string_buffer(length.value + 1)
            self.check(self.library.sinew_report_json(report, text, len(text), None))
            return json.loads(text.value)
        finally:
            self.library.sinew_report_free(report)


def main(arguments):
    if not arguments or len(arguments) % 2:
        print(__doc__, file=sys.stderr)
        return 2
    sinew = Sinew(os.environ.get("SINEW_LIB", "libsinew.so"))

    def show(stage, done, of):
        if sys.stderr.isatty():
            print(f"\r{stage} {done} of {of}\033[K", end="", file=sys.stderr)

    for scene, output in zip(arguments[::2], arguments[1::2]):
        try:
            report = sinew.bake(scene, output, show)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
        print(f"{scene}: {report['frames']} frames, {report['keys']} keys, {report['status']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
