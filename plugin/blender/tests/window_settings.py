"""Runs of window.py: warnings that are clicked, joints and chains of the panel."""

import time

from window import HEIGHT, check, coloured, yellow

#: The colour of joints of the panel.
VIOLET = "rgb(217,115,255)"


def warned_run(window, pictures):
    """What overlaps is told while a run goes on, and a click on it selects."""
    window.open_tab()
    window.ask("free('Ball', 'Crate', 'Chest')")
    window.press_simulate()
    window.wait("state.running is not None and state.warnings")
    check(window.ask("state.warnings[0].title") == "2 objects overlap at frame 1: Ball, Crate", "it is told at once")
    if pictures:
        window.picture(pictures / "blender-warned.png", "230x190+828+80")
    x, y, width, height = window.ask("sidebar()")
    for down in range(60, 220, 8):
        window.click(x + 0.3 * (width - 25), HEIGHT - (y + height) + down)
        time.sleep(0.2)
        if window.ask("selected()") == ["Ball", "Crate"]:
            break
    check(window.ask("selected()") == ["Ball", "Crate"], "a click selects what overlaps")
    check(window.ask("state.running is not None"), "and the run goes on")
    window.over_viewport()
    window.hand("key", "Escape")
    window.wait("state.running is None")
    print("told of overlaps, and selected them, while it ran")


def joined_run(window, pictures):
    """A joint of the panel: made, drawn, its limits pulled at, simulated."""
    window.open_tab()
    window.ask("look((0.4, 0.2, 2.75), 3.2)")
    shot = window.folder / "joined.png"
    window.picture(shot, "820x640+0+80")
    before = coloured(shot, VIOLET)
    window.ask("join()")
    window.ask("overlay.refresh(bpy.context)")
    window.over_viewport()
    window.picture(shot, "820x640+0+80")
    check(coloured(shot, VIOLET) > before + 50, f"the joint is drawn: {before:.0f} to {coloured(shot, VIOLET):.0f} pixels")
    check(yellow(shot) > 100, "and its limits have dials")
    window.ask("show_alone(joint_panel.SINEW_PT_joints)")
    x, y, width, height = window.ask("sidebar()")
    time.sleep(1.0)
    # It is closed at first.
    window.click(x + 60, HEIGHT - (y + height) + 16)
    window.wait("drawn('joints')")
    window.over_viewport()
    if pictures:
        window.picture(pictures / "blender-joined.png", "1057x640+0+80")
    window.ask("set_joint(kind='prismatic', slide_limited=True, slide_max=0.6)")
    window.ask("overlay.refresh(bpy.context)")
    time.sleep(1.5)
    # Along the pivot's Y; the arrow is where the limit was set to, and not where it was first.
    window.pull(window.at((0.3, 0.7, 3.0)), window.at((0.3, 1.1, 3.0)))
    window.hand("mouseup", 1)
    window.wait("bpy.context.object.sinew_joints[0].slide_max > 0.8")
    window.ask("set_joint(kind='pin', slide_limited=False)")
    window.ask("bpy.ops.sinew.simulate() and 0")
    lowest = window.ask("float(min(state.result.ways[0][:, 2]))")
    check(lowest < 2.8, f"the lamp fell on its hinge: {lowest}")
    print("a joint of the panel")


def chains_run(window, pictures):
    """The chains of a figure, found by the button and listed in the panel."""
    window.open_tab()
    window.ask("bpy.ops.sinew.find_chains() and 0")
    names = window.ask("[item.name for item in bpy.context.object.sinew_chains]")
    check("tail" in names, f"the tail is a chain: {names}")
    window.ask("setattr(bpy.context.object.sinew_chains['tail'], 'strength', 0.25)")
    window.ask(f"setattr(bpy.context.object, 'sinew_chain_index', {names.index('tail')})")
    window.ask("show_alone(chain_panel.SINEW_PT_chains)")
    window.over_viewport()
    shot = window.folder / "chains.png"
    window.picture(pictures / "blender-chains.png" if pictures else shot, "230x320+828+80")
    check(window.ask("drawn('chains')") > 0, "the panel of chains is drawn")
    print("chains of a figure")
