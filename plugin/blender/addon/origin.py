"""Where a result came from. Every action that Sinew makes remembers the animator's own, which it took the place of, and
everything else that was changed for it; `back` goes back by that.

The animator's action is remembered by itself and not by its name: it may be renamed, and it has a user for as long as the
result is there. Where no result needs it any more, it is as it was.
"""

import json
import re

import bpy
from bpy.props import BoolProperty, IntProperty, PointerProperty, StringProperty

from . import action, fcurve

SOURCE, MESH, RIG = "sinew_source", "sinew_mesh", "sinew_rig"
#: The beginning of the path of a bone's channel, with its name as Blender writes it.
BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]')
#: Channels that a result moves.
CHANNELS = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle")


class SinewOrigin(bpy.types.PropertyGroup):
    """What an action of Sinew's remembers."""

    is_result: BoolProperty(options={"HIDDEN"}, description="Sinew made this action")
    is_live: BoolProperty(options={"HIDDEN"}, description="Live mode shows it; it is never kept")
    had_source: BoolProperty(options={"HIDDEN"}, description="There was such an action")
    had_data: BoolProperty(options={"HIDDEN"}, description="The object had animation data")
    was_kept: BoolProperty(options={"HIDDEN"}, description="The animator's action had a fake user of its own")
    handle: IntProperty(default=-1, options={"HIDDEN"}, description="The slot of the animator's action")
    track: StringProperty(options={"HIDDEN"}, description="The NLA track that the animator's action was pushed down to")
    is_copy: BoolProperty(options={"HIDDEN"}, description="It moves a clean copy of a skeleton")
    had_keys: BoolProperty(options={"HIDDEN"}, description="The mesh had shape keys")
    notes: StringProperty(options={"HIDDEN"}, description="What was muted, where things were, and what was written")
    shown: StringProperty(options={"HIDDEN"}, description="What live mode wrote last, and keys that were set in it")

    @property
    def source(self):
        """The animator's action that it came from; None where it was deleted, or there was none."""
        return self.id_data.get(SOURCE)

    @source.setter
    def source(self, found):
        _point(self.id_data, SOURCE, found)

    @property
    def mesh(self):
        """The mesh of which a pressed one is a copy, or None."""
        return self.id_data.get(MESH)

    @mesh.setter
    def mesh(self, found):
        _point(self.id_data, MESH, found)

    @property
    def rig(self):
        """The rig whose bones follow what this action moves, or None: one goes with the other."""
        return self.id_data.get(RIG)

    @rig.setter
    def rig(self, found):
        _point(self.id_data, RIG, found)


def _point(found, name, to):
    """Plain properties point to other data: of those that are registered for actions, Blender 5.0 does not see it when what they
    point to is deleted."""
    if to is not None:
        found[name] = to
    elif name in found:
        del found[name]


def is_result(found):
    """Whether Sinew made an action."""
    return found is not None and found.sinew_origin.is_result


def is_live(found):
    """Whether live mode shows an action."""
    return is_result(found) and found.sinew_origin.is_live


def own_action(obj):
    """The action that an object shows, or None."""
    return obj.animation_data.action if obj.animation_data is not None else None


def chain(found):
    """The actions of Sinew's from the one that is shown down to the first; the animator's own comes after the last."""
    seen = []
    while is_result(found) and found not in seen:
        seen.append(found)
        found = found.sinew_origin.source
    return seen


def keys_of(found):
    """The animator's own action behind one that is shown; None where there is none."""
    last = chain(found)
    return last[-1].sinew_origin.source if last else found


def notes(found):
    """What an action noted: `muted`, `rested`, `kinematic`, `curves`, `written`."""
    return json.loads(found.sinew_origin.notes or "{}")


def note(found, **more):
    """Notes more."""
    found.sinew_origin.notes = json.dumps({**notes(found), **more})


def channels_of(obj, bones):
    """What an object and some of its bones have in their channels, where no key says it."""
    holders = {"": obj, **{name: obj.pose.bones[name] for name in bones}}
    return {name: [list(getattr(holder, c)) for c in CHANNELS] for name, holder in holders.items()}


def remember(fresh, old, had_data, handle, rested, track=""):
    """Notes on a new action what was there before it: `rested` is what `channels_of` gave."""
    own = fresh.sinew_origin
    own.is_result, own.is_live, own.is_copy, own.mesh, own.rig, own.shown = True, False, False, None, None, ""
    own.source, own.had_source, own.had_data = old, old is not None, had_data
    own.handle, own.track = -1 if handle is None else handle, track
    own.was_kept = old is not None and old.use_fake_user
    if own.was_kept:
        # The fake user may be ours already, for another object that has the same action.
        others = (a.sinew_origin for a in bpy.data.actions if a != fresh and is_result(a))
        own.was_kept = all(other.was_kept for other in others if other.source == old)
    own.notes = json.dumps({"rested": rested, "muted": []})
    keep(old)


def note_bones(found, obj):
    """Notes what the bones are called, in their order."""
    if obj.type == "ARMATURE":
        note(found, bones=[bone.name for bone in obj.data.bones])


def keep(found):
    """Gives the animator's action a user that nobody takes away by accident."""
    if found is not None and found.library is None:
        found.use_fake_user = True


def let_go(found, was_kept):
    """Takes that user away again, unless it was the animator's or another result still needs it."""
    if found is None or found.library is not None or was_kept:
        return
    # One user is the object that has it back, and one is the fake one.
    if found.users <= 2 or not any(is_result(a) and a.sinew_origin.source == found for a in bpy.data.actions):
        found.use_fake_user = False


def mute(found, bone, constraint):
    """Notes a constraint that was muted for a result."""
    note(found, muted=[*notes(found).get("muted", []), [bone, constraint]])


def follow_renamed(obj):
    """Where bones were renamed while a result was shown, renames the channels of the animator's action, and what was noted:
    Blender does so for actions that play, and only for those."""
    if obj.type != "ARMATURE":
        return
    now = [bone.name for bone in obj.data.bones]
    for result in chain(own_action(obj)):
        noted, own = notes(result), result.sinew_origin
        was = noted.get("bones", now)
        if was == now or len(was) != len(now):
            continue
        new = {a: b for a, b in zip(was, now) if a != b}

        def path(old, new=new):
            begin = BONE.match(old)
            name = bpy.utils.unescape_identifier(begin[1]) if begin else None
            if name not in new or name in now:
                return old
            return f'pose.bones["{bpy.utils.escape_identifier(new[name])}"]{old[begin.end():]}'

        if own.source is not None and own.source.library is None and not is_result(own.source):
            for curve in action.curves(obj, own.source, handle=own.handle) or ():
                curve.data_path = path(curve.data_path)
        note(
            result, bones=now,
            muted=[[new.get(bone, bone), name] for bone, name in noted.get("muted", ())],
            rested={new.get(bone, bone): values for bone, values in noted.get("rested", {}).items()},
            curves={path(name): text for name, text in noted.get("curves", {}).items()},
            written=[path(name) for name in noted.get("written", ())],
        )  # fmt: skip


def seal(owner, found, written):
    """Notes what all curves are like once everything is written, and which of them were: what differs from it later, an
    animator changed."""
    curves = action.curves(owner, found) or ()
    if found.sinew_origin.track:
        # Its own curves are in the action below.
        below = action.curves(owner, found.sinew_origin.source, handle=found.sinew_origin.handle) or ()
        base = {fcurve.name(c): fcurve.digest(c) for c in below if not is_channel(c.data_path)}
    else:
        base = {}
    base |= {fcurve.name(c): fcurve.digest(c) for c in curves}
    note(found, curves=base, written=sorted(written))
    if isinstance(owner, bpy.types.Object):
        note_bones(found, owner)


def is_channel(path):
    """Whether a path is one of those that results move."""
    return path.rpartition(".")[2] in CHANNELS


def find(owner, path):
    """The curve of a setting in the action that is shown, else in the one that it came from; None for neither."""
    shown = own_action(owner)
    curves = action.curves(owner)
    found = curves.find(path) if curves is not None else None
    for result in chain(shown) if found is None else ():
        own = result.sinew_origin
        curves = action.curves(owner, own.source, handle=own.handle) if own.source is not None else None
        found = curves.find(path) if curves is not None else None
        if found is not None:
            break
    return found


def register():
    bpy.utils.register_class(SinewOrigin)
    bpy.types.Action.sinew_origin = PointerProperty(type=SinewOrigin)


def unregister():
    del bpy.types.Action.sinew_origin
    bpy.utils.unregister_class(SinewOrigin)
