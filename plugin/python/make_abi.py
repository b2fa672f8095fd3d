#!/usr/bin/env python3
"""Writes sinew/_abi.py from the header: every constant, struct and function, so that none is missing.

    plugin/python/make_abi.py            writes it
    plugin/python/make_abi.py --check    fails when the committed one is another
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parent.parent / "ffi/include/sinew.h"
TARGET = HERE / "sinew/_abi.py"

HEAD = '''"""The C interface: constants, structs and functions. Made from the header by make_abi.py: do not edit.

`FUNCTIONS` has, for each function, the type that it returns and those that it takes. Handles are plain numbers
(`c_void_p`): the library looks them up and refuses what it did not give out.
"""

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Tuple

NUL_TERMINATED = c_size_t(-1).value
NONE = 0xFFFFFFFF

'''

PLAIN = {
    "uint32_t": "c_uint32",
    "int32_t": "c_int32",
    "uint64_t": "c_uint64",
    "int64_t": "c_int64",
    "size_t": "c_size_t",
    "double": "c_double",
    "sinew_result": "c_int32",
    "sinew_progress_fn": "progress_fn",
    "sinew_log_fn": "log_fn",
}
POINTERS = {
    "char": "c_char_p",
    "void": "c_void_p",
    "uint8_t": "POINTER(c_uint8)",
    "float": "POINTER(c_float)",
    "double": "POINTER(c_double)",
    "uint32_t": "POINTER(c_uint32)",
    "int32_t": "POINTER(c_int32)",
    "uint64_t": "POINTER(c_uint64)",
    "size_t": "POINTER(c_size_t)",
}


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


class Header:
    """What the header declares."""

    def __init__(self, text: str) -> None:
        text = without_comments(text)
        self.constants = re.findall(r"^#define SINEW_(\w+) (-?\d+)$", text, flags=re.M)
        self.structs = re.findall(r"typedef struct (sinew_\w+) \{(.*?)\} \1;", text, flags=re.S)
        names = {name for name, _ in self.structs}
        self.handles = set(re.findall(r"typedef struct (sinew_\w+) \1;", text)) - names
        self.struct_names = names
        body = text[text.index('extern "C" {') :]
        self.functions = re.findall(r"([\w ]+?\*?)\s*\b(sinew_\w+)\(([^)]*)\);", body)

    def type_of(self, declaration: str) -> str:
        """The ctypes type of `const struct sinew_curve *curve` and the like."""
        words = re.sub(r"\b(const|struct)\b", "", declaration)
        stars = words.count("*")
        name = words.replace("*", " ").split()[0]
        if stars == 0:
            return PLAIN[name]
        if name in self.handles:
            return "c_void_p" if stars == 1 else "POINTER(c_void_p)"
        if name in self.struct_names:
            return f"POINTER({name[6:]})"
        return POINTERS[name]

    def field(self, line: str) -> str:
        declaration, array = re.match(r"(.*?)(?:\[(\d+)\])?$", line).groups()
        name = re.split(r"[\s*]+", declaration)[-1]
        kind = self.type_of(declaration[: -len(name)] + "x")
        return f'("{name}", {kind}{f" * {array}" if array else ""}),'

    def python(self) -> str:
        out = [HEAD]
        out += [f"{name} = {value}" for name, value in self.constants]
        for name, body in self.structs:
            fields = [self.field(" ".join(f.split())) for f in body.split(";") if f.strip()]
            out += ["", "", f"class {name[6:]}(ctypes.Structure):", "    _fields_ = ["]
            out += [f"        {field}" for field in fields] + ["    ]"]
            if name == "sinew_progress":
                out += ["", "", "progress_fn = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(progress))"]
                out += ["log_fn = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_void_p, c_size_t)"]
        names = ", ".join(f'"{name}": {name[6:]}' for name, _ in self.structs)
        out += ["", "", f"STRUCTS: Dict[str, Any] = {{{names}}}", ""]
        out += ["FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {"]
        for returns, name, parameters in self.functions:
            listed = [p for p in (q.strip() for q in parameters.split(",")) if p and p != "void"]
            types = ", ".join(self.type_of(p) for p in listed)
            back = self.type_of(returns + " x")
            out.append(f'    "{name}": ({back}, [{types}]),')
        return "\n".join(out + ["}", ""])


def main() -> int:
    made = Header(HEADER.read_text(encoding="utf-8")).python()
    if "--check" not in sys.argv:
        TARGET.write_text(made, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != made:
        print("sinew/_abi.py is not what the header says; run plugin/python/make_abi.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
