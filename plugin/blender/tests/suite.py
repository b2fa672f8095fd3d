"""The add-on in a real Blender without a window: 3.4 as a program, 4.2 and later as a module.

    blender -b --factory-startup --python-exit-code 7 --python suite.py -- ZIP SINEW FOLDER
    python suite.py ZIP SINEW FOLDER                                             (with bpy installed)

ZIP is the built add-on, SINEW the command, FOLDER a place to write to; names of tests (test_motion.Shown) may follow.
Prints "passed" at the end.
"""

import os
import pathlib
import sys
import time
import traceback
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402  (sets where settings are before Blender reads them)
import bpy  # noqa: E402

#: Seconds.
SLOW = 3.0
#: Random sessions come first: they open many files.
MODULES = (
    "test_sessions", "test_again", "test_loose", "test_mirrored", "test_motion", "test_editing", "test_linked", "test_alive",
    "test_handled", "test_physics", "test_warned", "test_joined", "test_chains",
)  # fmt: skip


class Timed(unittest.TextTestResult):
    """Says which tests take long."""

    def startTest(self, test):
        self._began = time.perf_counter()
        super().startTest(test)

    def stopTest(self, test):
        took = time.perf_counter() - self._began
        if took > SLOW:
            self.stream.writeln(f"  {took:.1f} s: {test.id()}")
        super().stopTest(test)


def main():
    print(f"Blender {bpy.app.version_string}")
    harness.install()
    wanted = [a for a in harness.ARGUMENTS[3:] if not a.startswith("--")]
    suite = unittest.defaultTestLoader.loadTestsFromNames(wanted or MODULES)
    done = unittest.TextTestRunner(stream=sys.stdout, verbosity=1, resultclass=Timed).run(suite)
    print("passed" if done.wasSuccessful() else "failed", done.testsRun)
    return 0 if done.wasSuccessful() else 1


if __name__ == "__main__":
    try:
        status = main()
    except BaseException:
        traceback.print_exc()
        status = 2
    sys.stdout.flush()
    sys.stderr.flush()
    # Blender as a module may crash while Python ends, when all is done.
    os._exit(status)
