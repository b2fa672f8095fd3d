"""The add-on in a real window: clicks, keys and screenshots, on a display of its own.

    python3 window.py ZIP FOLDER [--pictures FOLDER] [NAME...]

Blender runs `window_inside.py`, which answers questions; everything that a user does is done with the mouse and the
keyboard. With --pictures, the screenshots of the documentation are written. Names choose some of the runs in `main`.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
WIDTH, HEIGHT = 1280, 800
#: Seconds until something must have happened. Generous: software rendering on a busy machine.
PATIENCE = 60.0


class Window:
    """Blender in a window."""

    def __init__(self, archive, folder, scene):
        self.folder = pathlib.Path(folder)
        self.environment = {
            **os.environ,
            # A Blender that uses the system's Python must find that one first, and not the one that runs this.
            "PATH": os.path.dirname(shutil.which("blender") or "") + os.pathsep + os.environ.get("PATH", ""),
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "BLENDER_USER_RESOURCES": str(self.folder / "user"),
            "BLENDER_USER_SCRIPTS": str(self.folder / "user/scripts"),
        }
        self._processes = []
        read, write = os.pipe()
        screen = f"{WIDTH}x{HEIGHT}x24"
        self._start(["Xvfb", "-displayfd", str(write), "-screen", "0", screen, "-nolisten", "tcp"], pass_fds=[write])
        os.close(write)
        self.environment["DISPLAY"] = ":" + os.read(read, 16).decode().strip()
        file = self.folder / f"{scene}.blend"
        make = f"import sys; sys.path.insert(0, {str(HERE)!r}); import bpy, scenes; scenes.{scene}; " \
            f"bpy.ops.wm.save_as_mainfile(filepath={str(file)!r})"
        background = ["blender", "-b", "--factory-startup", "--python-exit-code", "7", "--python-expr", make]
        subprocess.run(background, check=True, env=self.environment, stdout=subprocess.DEVNULL)
        self._log = open(self.folder / "blender.log", "w")
        geometry = ["--window-geometry", "0", "0", str(WIDTH), str(HEIGHT)]
        inside = ["--python", str(HERE / "window_inside.py"), "--", str(archive), str(folder)]
        self._start(["blender", "--factory-startup", *geometry, str(file), *inside], stdout=self._log, stderr=self._log)
        try:
            self.wait("True")
        except BaseException:
            self.close()
            raise

    def _start(self, command, **options):
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
        self._processes.append(subprocess.Popen(command, env=self.environment, **options))

    def close(self):
        for process in reversed(self._processes):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            if process.poll() is None:
                process.kill()
        self._processes.clear()

    def ask(self, expression):
        """What an expression is inside Blender."""
        question, answer = self.folder / "question", self.folder / "answer"
        draft = self.folder / "question.new"
        draft.write_text(expression)
        draft.rename(question)
        until = time.monotonic() + PATIENCE
        while not answer.exists():
            if time.monotonic() > until or self._processes[-1].poll() is not None:
                log = (self.folder / "blender.log").read_text()
                raise AssertionError(f"Blender does not answer {expression!r}:\n{log[-3000:]}")
            time.sleep(0.005)
        found = json.loads(answer.read_text())
        answer.unlink()
        if "error" in found:
            raise AssertionError(f"{expression}: {found['error']}")
        return found["value"]

    def wait(self, expression):
        """Until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not (found := self.ask(expression)):
            if time.monotonic() > until:
                raise AssertionError(f"it never became true: {expression}")
            time.sleep(0.02)
        return found

    def hand(self, *words):
        subprocess.run(["xdotool", *map(str, words)], check=True, env=self.environment)

    def click(self, x, y):
        self.hand("mousemove", x, y)
        time.sleep(0.1)
        self.hand("click", 1)

    def at(self, place):
        """A place in the viewport, for the mouse."""
        x, y = self.ask(f"on_screen({tuple(place)})")
        return round(x), round(HEIGHT - y)

    def pull(self, begin, end, steps=12):
        """Presses, pulls and stays, without letting go."""
        self.hand("mousemove", *begin)
        time.sleep(0.2)
        self.hand("mousedown", 1)
        for i in range(1, steps + 1):
            self.hand("mousemove", *(round(a + (b - a) * i / steps) for a, b in zip(begin, end)))
            time.sleep(0.05)

    def over_viewport(self):
        """Keys go to what the mouse is over."""
        self.hand("mousemove", 400, 600)
        time.sleep(0.1)

    def picture(self, path, region=None):
        # Until it is drawn, by a processor.
        time.sleep(2.0)
        crop = ["-crop", region, "+repage"] if region else []
        command = ["import", "-window", "root", *crop, "-depth", "8", "+dither", "-colors", "128", "-strip", str(path)]
        subprocess.run(command, check=True, env=self.environment)

    def open_tab(self):
        """Clicks down the sidebar's tabs until ours draws its panel, if it does not yet."""
        if self.ask("drawn() > 0"):
            return
        x, y, width, height = self.ask("sidebar()")
        for down in range(20, int(height), 25):
            self.click(x + width - 12, HEIGHT - (y + height) + down)
            time.sleep(0.3)
            if self.ask("drawn() > 0"):
                return
        raise AssertionError("no tab shows the panel")

    def press(self, happened, across=0.25, rows=range(30, 80, 8)):
        """A button of the panel, in its first row unless told, so far across it; until an expression says that it was pressed."""
        x, y, width, height = self.ask("sidebar()")
        for down in rows:
            self.click(x + across * (width - 25), HEIGHT - (y + height) + down)
            time.sleep(0.25)
            if self.ask(happened):
                self.over_viewport()
                return
        raise AssertionError(f"no click reaches the button: {happened}")

    def press_simulate(self):
        self.press(f"presses() > {self.ask('presses()')}")


def check(is_so, words):
    if not is_so:
        raise AssertionError(words)


def short_run(window, pictures):
    """The button, the result, the overlay, undo and redo."""
    window.open_tab()
    check(window.ask("actions()") == ["BatAction"], "the scene has its own action only")
    window.press_simulate()
    window.wait("state.running is None and state.result is not None")
    made = window.ask("actions()")
    check(made == ["Ball (Sinew)", "BatAction", "BatAction (Sinew)"], f"new actions: {made}")
    window.ask("bpy.context.scene.frame_set(36)")
    window.ask("overlay.refresh(bpy.context)")
    if pictures:
        window.ask("look((0.6, 1.2, 0.0), 11.0)")
        window.picture(pictures / "blender-simulated.png", "1057x640+0+80")
    shot = window.folder / "overlay.png"
    window.picture(shot)
    check(coloured(shot) > 200, "the way of the simulation is drawn over the viewport")
    window.over_viewport()
    window.hand("key", "ctrl+z")
    window.wait("actions() == ['BatAction']")
    window.hand("key", "ctrl+shift+z")
    window.wait(f"actions() == {made}")
    print("button, overlay, undo, redo")


def yellow(file):
    """Pixels in the colour of limits, which is half transparent."""
    return coloured(file, "rgb(205,167,62)")


def coloured(file, colour="rgb(255,140,26)"):
    """Pixels in a colour: the overlay's orange unless told."""
    command = ["convert", str(file), "-fill", "white", "-fuzz", "12%", "+opaque", colour, "-fill", "black",
               "-opaque", colour, "-format", "%[fx:w*h*(1-mean)]", "info:"]  # fmt: skip
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def long_run(window, pictures):
    """Progress, keys that must wait, ESC; then a run to its end with ticks counted; then another file under a run."""
    window.open_tab()
    before = window.ask("actions()")
    window.press_simulate()
    window.wait("state.running is not None and state.running.simulated > 10")
    if pictures:
        window.picture(pictures / "blender-progress.png", f"{WIDTH}x{HEIGHT}+0+0")
    window.hand("key", "ctrl+z")
    window.hand("key", "x")
    time.sleep(0.3)
    check(window.ask("state.running is not None"), "undo and delete wait until it is over")
    window.hand("key", "Escape")
    window.wait("state.running is None")
    check(window.ask("actions()") == before, "ESC leaves everything as it was")
    after, frames, of = window.ask("escaped()")
    check(after == 0, f"ESC ends it in its own event, not after {after} more ticks")
    check(10 < frames < of, f"in the middle of it: frame {frames} of {of}")
    check(window.ask("len(bpy.data.objects)") > 20, "nothing was deleted")
    print("progress, ESC")

    window.press_simulate()
    window.wait("state.running is None and state.result is not None")
    check_ticks(window, "a chain is simulated", "simulate")
    check(window.ask("len(actions())") > 20, "every link has its action")

    window.press_simulate()
    window.wait("state.running is not None and state.running.simulated > 5")
    window.ask("bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True) and 0")
    window.wait("state.running is None")
    check(window.ask("actions()") == [], "nothing of the old file is baked into the new one")
    print("another file under a run")


def check_ticks(window, what, stage):
    """It was done in pieces, and Blender had its turn between them; how often a second is measured by bench.py."""
    count = window.ask(f"count_ticks('{stage}')")
    check(count >= 10, f"it goes on in ticks while {what}: {count}")
    print(f"{count} ticks while {what}")


def played_run(window, _pictures):
    """A rig that must be played to be read: the window goes on while it is, and nothing is drawn in between."""
    window.open_tab()
    window.press_simulate()
    window.wait("state.running is None and state.result is not None")
    check_ticks(window, "a rig is played", "read")
    check(window.ask("bpy.context.scene.frame_current") == 1, "the frame is where it was")


def live_run(window, pictures):
    """Live: the button, a setting that changes, the timer that follows it, and Discard."""
    window.open_tab()
    before = window.ask("actions()")
    window.press("live.session is not None", across=0.75)
    window.wait("state.result is not None and not live.session.is_running")
    first = window.ask("id(state.result)")
    # As a slider does it.
    window.ask("setattr(bpy.context.scene.sinew, 'preset', 'limp')")
    window.wait(f"id(state.result) != {first} and not live.session.is_running")
    window.ask("bpy.context.scene.frame_set(30)")
    window.ask("look((0.0, 0.9, 0.9), 5.0)")
    if pictures:
        window.picture(pictures / "blender-live.png", "1057x640+0+80")
    window.ask("setattr(bpy.context.scene.sinew, 'preset', 'automatic')")
    window.wait("live.session.changed_at is None and not live.session.is_running")
    slide(window)
    window.ask("setattr(bpy.context.scene.sinew, 'preset', 'limp')")
    window.wait("live.session.changed_at is None and not live.session.is_running")
    drag_run(window, pictures)
    window.press("live.session is None", across=0.75)
    check(window.ask("actions()") == before, "Discard leaves no trace")
    strain_run(window, pictures)
    # Another file while a hand pulls.
    window.press("live.session is not None", across=0.75)
    window.wait("state.result is not None and not live.session.is_running")
    window.ask("bpy.ops.sinew.live_drag('INVOKE_DEFAULT') and 0")
    begin = window.at(window.ask("place_of('Figure', 'head')"))
    window.pull(begin, (begin[0] + 60, begin[1]))
    window.wait("pulled()")
    window.ask("bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True) and 0")
    window.hand("mouseup", 1)
    check(window.ask("(live.session is None, state.dragging, state.held)") == [True, False, None], "nothing goes on")
    check(window.ask("actions()") == [], "nothing of the old file is in the new one")


def slide(window):
    """Moves a slider a few times: of each, seconds until its motion was in the action, until that was drawn, and until what
    had not changed was drawn."""
    window.ask("watch()")
    # However busy the machine is.
    window.ask("setattr(live, 'AT_ONCE', 10.0)")
    times = []
    for i in range(5):
        window.ask("redraw()")
        bare = window.wait("drawn_after()")
        window.ask(f"slide('Figure', {0.9 - 0.1 * i})")
        drawn = window.wait("drawn_after()")
        check(window.ask("is_new_when_drawn()"), "the first drawing after a slider shows what it did")
        times.append((window.ask("live.session.took"), drawn, bare))
    return times


def strain_run(window, pictures):
    """A figure with little strength: the panel shows where it was not enough."""
    window.ask("setattr(bpy.context.scene.sinew, 'preset', 'automatic')")
    window.ask("weaken('Figure', 0.12)")
    window.press_simulate()
    window.wait("state.running is None and state.result is not None")
    strained = window.ask("[len(frames) for _, _, frames in state.result.strained]")
    print(f"strained: {strained}")
    if pictures:
        x, y, width, height = window.ask("sidebar()")
        window.hand("mousemove", x + width // 2, HEIGHT - y - height // 2)
        for _ in range(40):
            window.hand("click", 5)
        window.picture(pictures / "blender-strain.png", "230x640+828+80")
        for _ in range(40):
            window.hand("click", 4)
    window.over_viewport()
    window.hand("key", "ctrl+z")
    time.sleep(1.0)


def drag_run(window, pictures):
    """In live mode: a figure is taken by its head and pulled aside, and what was pulled is recorded."""
    window.ask("bpy.context.scene.frame_set(5)")
    window.ask("bpy.ops.sinew.live_drag('INVOKE_DEFAULT') and 0")
    window.wait("state.dragging")
    before = window.ask("place_of('Figure', 'head')")
    begin = window.at(before)
    end = (begin[0] + 170, begin[1] - 30)
    window.pull(begin, end)
    window.wait("pulled()")
    window.wait("bpy.context.scene.frame_current > 26")
    if pictures:
        window.picture(pictures / "blender-drag.png", "1057x640+0+80")
    window.hand("mouseup", 1)
    window.wait("state.held is None")
    window.hand("key", "Escape")
    window.wait("not state.dragging")
    frame = window.ask("bpy.context.scene.frame_current")
    after = window.at(window.ask("place_of('Figure', 'head')"))
    check(after[0] - begin[0] > 60, f"the head went after the hand: {begin} to {after} at frame {frame}")
    check(window.ask("type(live.session.run.job).__name__") == "Recording", "what was pulled is recorded")
    print(f"dragged to frame {frame}")


def gizmo_run(window, pictures):
    """Shapes are drawn, and a handle of one is pulled with the mouse; the limits of a joint have dials."""
    window.ask("bpy.context.scene.frame_set(1)")
    window.ask("setattr(bpy.context.scene.sinew, 'show_paths', False)")
    window.ask("look((0.0, 0.0, 0.6), 6.0)")
    window.ask("setattr(bpy.context.object.sinew, 'shape', 'box')")
    window.ask("bpy.ops.sinew.check() and 0")
    window.ask("setattr(bpy.context.scene.sinew, 'show_shapes', True)")
    time.sleep(1.0)
    half = window.ask("gizmos.half(bpy.context, 'size', 2)")
    centre = window.ask("tuple(bpy.context.object.matrix_world.translation)")
    begin = window.at((centre[0], centre[1], centre[2] + half))
    end = window.at((centre[0], centre[1], centre[2] + half + 0.8))
    window.pull(begin, end)
    if pictures:
        window.picture(pictures / "blender-shape.png", "1057x640+0+80")
    window.hand("mouseup", 1)
    window.wait("bpy.context.object.sinew.is_property_set('size')")
    size = window.ask("tuple(bpy.context.object.sinew.size)")
    check(size[2] > 2 * half + 0.4, f"the box is higher, as the handle was pulled: {size}, {half}")
    check(abs(size[0] - 0.4) < 1e-3, f"and as wide as before: {size}")
    print(f"handle of a shape: {2 * half:.2f} to {size[2]:.2f}")
    window.ask("hinge()")
    time.sleep(1.5)
    window.over_viewport()
    shot = window.folder / "joint.png"
    window.picture(pictures / "blender-joint.png" if pictures else shot, "1057x640+0+80")
    check(yellow(pictures / "blender-joint.png" if pictures else shot) > 100, "the limits of a joint are drawn")
    print("limits of a joint")


def limits_run(window, pictures):
    """How far bones can turn is drawn over the viewport, of the selected figure."""
    window.open_tab()
    window.ask("bpy.context.scene.frame_set(12)")
    window.ask("setattr(bpy.context.scene.sinew, 'show_paths', False)")
    window.ask("look((0.0, 0.4, 1.0), 3.2)")
    window.ask("bpy.data.objects['Skin'].hide_set(True)")
    window.ask("bpy.ops.sinew.check() and 0")
    shot = window.folder / "limits.png"
    window.picture(shot, "1057x640+0+80")
    before = coloured(shot, "rgb(236,191,58)")
    window.ask("setattr(bpy.context.scene.sinew, 'show_limits', True)")
    shot = pictures / "blender-limits.png" if pictures else shot
    window.picture(shot, "1057x640+0+80")
    after = coloured(shot, "rgb(236,191,58)")
    check(after > before + 500, f"the limits of bones are drawn: {before:.0f} to {after:.0f} pixels")
    print("limits of bones")


def main():
    import window_kept
    import window_settings

    archive, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    pictures = pathlib.Path(sys.argv[4]).resolve() if sys.argv[3:4] == ["--pictures"] else None
    wanted = sys.argv[5 if pictures else 3 :]
    runs = [
        ("short", "falling()", short_run, gizmo_run),
        ("long", "chain(60, 2500)", long_run),
        ("played", "figure(400, smooth=3)", played_run),
        ("live", "figure(100)", live_run),
        ("limits", "figure(40)", limits_run),
        ("warned", "crowded(60, 8000)", window_settings.warned_run),
        ("joined", "lamp()", window_settings.joined_run),
        ("chains", "figure(40)", window_settings.chains_run),
        ("kept", "animated()", window_kept.kept_run, window_kept.sessions_run),
    ]
    for name, scene, *drives in runs:
        if wanted and name not in wanted:
            continue
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        window = Window(archive, place, scene)
        try:
            for drive in drives:
                drive(window, pictures)
        except BaseException:
            with contextlib.suppress(Exception):
                window.picture(folder / "failed.png")
            print((place / "blender.log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            window.close()
    print("passed")


if __name__ == "__main__":
    main()
