"""Sinew in Blender: a button that gives keys weight.

`capture` reads the scene, `physics` makes the set-up (its joints `joints`, from rigid-body constraints, and `own_joints`, from
the panel; factors of `chains`), `run` simulates, `write` makes actions; `simulate`, `live`, `drag` and `exchange` are operators,
`panel`, `joint_panel`, `chain_panel`, `overlay` and `gizmos` what one sees. `origin` remembers where a
result came from, `back` and `restore` go back there, `edits` takes along what was keyed meanwhile. `kept` brings the settings of
linked characters through a file. The native library is in the package `sinew`, which is the one for Python; nothing here knows
more of it than that.
"""

bl_info = {
    "name": "Sinew",
    "author": "The Sinew contributors",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "3D Viewport > Sidebar > Sinew",
    "description": "Gives keyed animation weight: every object chases its keys with a muscle of limited strength",
    "category": "Animation",
}

import bpy

from . import (
    chain_panel, chains, drag, exchange, gizmos, joint_panel, joint_properties, kept, live, origin, overlay, panel,
    properties, restore, simulate, state,
)  # fmt: skip

CLASSES = (*simulate.CLASSES, *restore.CLASSES, *live.CLASSES, *drag.CLASSES, *exchange.CLASSES, *panel.CLASSES, *chain_panel.CLASSES,
           *joint_panel.CLASSES, *panel.LAST, *gizmos.CLASSES)  # fmt: skip


def register():
    origin.register()
    properties.register()
    joint_properties.register()
    chains.register()
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_object_animation.append(panel.menu)
    overlay.register()
    live.register()
    # After live mode, which goes back to what the animator made before a file is saved.
    kept.register()


def unregister():
    kept.unregister()
    live.unregister()
    overlay.unregister()
    bpy.types.VIEW3D_MT_object_animation.remove(panel.menu)
    state.forget()
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
    chains.unregister()
    joint_properties.unregister()
    properties.unregister()
    origin.unregister()
