"""The way back for everything that is selected: one button, one step to undo."""

import bpy

from . import back, live, overlay, state


class SINEW_OT_restore(bpy.types.Operator):
    """Put your own keys back in the place of Sinew's results, with all constraints that were muted for them, on everything that is
    selected"""

    bl_idname = "sinew.restore"
    bl_label = "Restore Keys"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        is_free = state.running is None and live.session is None and context.mode in {"OBJECT", "POSE"}
        return is_free and any(back.has_result(obj) for obj in chosen(context))

    def execute(self, context):
        found = [obj for obj in chosen(context) if back.has_result(obj)]
        words = [text for text in map(back.restore, found) if text]
        context.scene.frame_set(context.scene.frame_current, subframe=context.scene.frame_subframe)
        state.result = None
        state.complain(words, "Restore Keys")
        overlay.refresh(context)
        count = len(found) - len(words)
        if words:
            self.report({"WARNING" if count else "ERROR"}, "; ".join(words))
        if count:
            self.report({"INFO"}, f"{count} {'object has its' if count == 1 else 'objects have their'} own keys again")
        return {"FINISHED"} if count else {"CANCELLED"}


def chosen(context):
    """What is selected and what is posed, and the skeletons that meshes among them follow; of a clean copy, what it is of."""
    found = list(context.selected_objects)
    if context.object is not None and context.mode == "POSE":
        found.append(context.object)
    found += [m.object for o in found if o.type == "MESH" for m in o.modifiers if m.type == "ARMATURE" and m.object]
    found = [o.parent if back.is_copy(o) else o for o in found]
    return list({obj.name_full: obj for obj in found if obj.library is None}.values())


CLASSES = (SINEW_OT_restore,)
