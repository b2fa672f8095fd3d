"""Drags a star of 56 jointed bodies about by the tip of one arm, as a viewport would with the mouse.

    cargo build --release -p sinew-ffi
    export SINEW_LIBRARY=target/release/libsinew.so PYTHONPATH=plugin/python
    python3 examples/python/drag.py examples/scenes/drag.gltf

First in motion, with a hand of limited strength; then in a still pose, as a posing tool would. Where the wheel is installed,
the first two lines are not needed.
"""

import math
import pathlib
import sys

import sinew

HELD = "Arm 3 link 11"
FRAMES = 48
# Newtons: enough to lead the star through water, and not enough to tear it.
STRENGTH = 2000
# No limit that could bind: what it finds is then the same on every run. A viewport would give 5000.
MICROSECONDS = 60e6


def circle(start, share):
    """Where the hand is after a share of its way round: a circle 60 cm wide, back to where it began."""
    angle = share * 2 * math.pi
    return (start[0], start[1] + 0.3 * (1 - math.cos(angle)), start[2] + 0.3 * math.sin(angle))


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    file = pathlib.Path(arguments[0])
    scene = sinew.Scene.open(file)
    setup = sinew.Setup.open(file.with_suffix(".sinew.json"))
    # The scene has a keyed hand on another arm, which leads the star away; here ours is the only one.
    setup["joints"] = [joint for joint in setup["joints"] if "Hand" not in joint["between"]]

    with sinew.Session(scene, setup) as session:
        body = session.body_of(scene.node(HELD))
        start = [float(x) for x in session.poses[body][:3]]
        farthest = 0.0
        with session.drag(body, strength=STRENGTH) as drag:
            for frame in range(1, FRAMES + 1):
                target = circle(start, frame / FRAMES)
                drag.move(target)
                session.step_frame()
                farthest = max(farthest, math.dist(session.poses[body][:3], target))
            print(f"held: {len(session.poses)} bodies, {HELD} at most {1000 * farthest:.3f} mm from the hand")

            off = drag.pose((start[0], start[1] + 0.2, start[2]), MICROSECONDS)
            print(f"posed: {HELD} is {1000 * off:.3f} mm from the hand")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
