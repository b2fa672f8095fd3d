"""Runs of window.py: what becomes of the animator's keys, by clicks, undo and random sessions."""

import os

from window import check

OWN = ["ArmAction", "CubeAction", "MirrorAction"]
#: Random sessions in the window, the first of them, and how many things are done between two looks at the window.
SESSIONS, FIRST, AT_ONCE = int(os.environ.get("SINEW_SESSIONS", "1")), int(os.environ.get("SINEW_SEED", "1")), 5


def kept_run(window, pictures):
    """Live, Bake, undo, redo, undo; Simulate, Restore Keys, undo: what is shown is the animator's, or a result of it."""
    window.open_tab()
    check(window.ask("actions()") == OWN, "the scene has its own actions only")
    for across, what in ((0.25, "Bake"), (0.75, "Discard")):
        window.press("live.session is not None", across=0.75)
        window.wait("state.result is not None and not live.session.is_running")
        window.press("live.session is None", across=across)
        baked = window.ask("shown_actions()")
        window.over_viewport()
        window.hand("key", "ctrl+z")
        window.wait(f"shown_actions() == {OWN} and actions() == {OWN}")
        window.hand("key", "ctrl+shift+z")
        window.wait(f"shown_actions() == {baked}")
        window.hand("key", "ctrl+z")
        window.wait(f"shown_actions() == {OWN}")
        window.hand("key", "ctrl+z")
        window.wait(f"shown_actions() == {OWN} and actions() == {OWN}")
        print(f"{what}, undone and redone")
    window.press_simulate()
    window.wait("state.running is None and state.result is not None")
    made = window.ask("shown_actions()")
    check(made != OWN, f"results are shown: {made}")
    if pictures:
        window.picture(pictures / "blender-panel.png", "230x640+828+80")
    # Below the two large ones.
    window.press(f"shown_actions() == {OWN}", rows=range(78, 110, 6))
    check(window.ask("actions()") == OWN, "nothing is left over")
    window.over_viewport()
    window.hand("key", "ctrl+z")
    window.wait(f"shown_actions() == {made}")
    window.hand("key", "ctrl+z")
    window.wait(f"shown_actions() == {OWN}")
    print("Restore Keys, undone")


def sessions_run(window, _pictures):
    """The random sessions of sessions.py, with Blender's own undo and with all that a window does in between."""
    for seed in range(FIRST, FIRST + SESSIONS):
        if seed != FIRST:
            window.ask(f"bpy.ops.wm.open_mainfile(filepath={str(window.folder / 'animated().blend')!r}) and 0")
        window.ask(f"begin_session({seed})")
        while (done := window.ask(f"step_session({AT_ONCE})")) < 100:
            pass
        window.ask("live.stop()")
        print(f"session {seed}: {done} things done, and no key lost")
