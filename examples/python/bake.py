"""Bakes scenes in a batch with the package `sinew`, all cores at once.

    cargo build --release -p sinew-ffi
    export SINEW_LIBRARY=target/release/libsinew.so PYTHONPATH=plugin/python
    python3 examples/python/bake.py examples/scenes/ball.gltf target/ball.glb examples/scenes/crane.gltf target/crane.glb

Arguments are scenes and outputs by turns. Where the wheel is installed, the first two lines are not needed. A scene that
fails stops no other; Ctrl+C cancels what is not done, and what is cancelled writes nothing.
"""

import sys

import sinew


def tell(done, of, baked):
    """One line for each scene, as it is done."""
    said = baked.error or "{frames} frames, {keys} keys, {status}".format(**baked.report)
    print(f"{done} of {of}: {baked.scene}: {said}", file=sys.stderr if baked.error else sys.stdout)


def main(arguments):
    if not arguments or len(arguments) % 2:
        print(__doc__, file=sys.stderr)
        return 2
    baked = sinew.batch(zip(arguments[::2], arguments[1::2]), progress=tell)
    return 1 if any(one.error for one in baked) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
