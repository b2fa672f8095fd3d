"""How alive Blender's window is while Sinew works: see bench.py, which is how to run it."""

import pathlib

from window import Window, slide


def main(archive, folder):
    archive, folder = pathlib.Path(archive).resolve(), pathlib.Path(folder).resolve()
    for name, scene, measure in (
        ("long", "chain(60, 2500)", simulated),
        ("played", "figure(400, smooth=3)", played),
        ("live", "figure(100)", live),
    ):
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        window = Window(archive, place, scene)
        try:
            window.open_tab()
            measure(window)
        finally:
            window.close()


def simulated(window):
    run(window, "a chain is simulated", "simulate")


def played(window):
    run(window, "a rig is played", "read")


def run(window, what, stage):
    """The timer of a whole run, at one stage of it."""
    window.press_simulate()
    window.wait("state.running is None and state.result is not None")
    rate, gap, usual, longest = window.ask(f"ticks('{stage}')")
    print(f"ticks while {what}: {rate:.1f} per second, {1000 * gap:.0f} ms between two at most; {1000 * usual:.0f} ms "
          f"each, {1000 * longest:.0f} at most")  # fmt: skip


def live(window):
    """A slider: from its change to the action, and until that is drawn."""
    window.press("live.session is not None", across=0.75)
    window.wait("state.result is not None and not live.session.is_running")
    took, drawn, bare = (1000 * min(column) for column in zip(*slide(window)))
    print(f"live: {took:.0f} ms from a slider to the action, {drawn:.0f} ms until it is drawn by the processor, which takes "
          f"{bare:.0f} ms to draw what has not changed")  # fmt: skip
