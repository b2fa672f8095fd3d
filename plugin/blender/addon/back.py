"""The way back from a result to the animator's keys: for good, or for a while, to read them."""

import contextlib

import bpy

from . import action, edits, origin, pressed

#: A result that an animator went on to change by hand is kept under this name.
RETOUCHED = " retouched"


def has_result(obj):
    """Whether an object shows anything of Sinew's."""
    is_moved = origin.is_result(origin.own_action(obj)) or pressed.is_pressed(obj)
    return is_moved or bool(copies(obj)) or bool(_leads(obj))


def restore(obj):
    """Puts the animator's keys, and all that was changed for results, back into place; gives words about what could not be,
    or nothing."""
    for copy in copies(obj):
        _remove_copy(obj, copy)
    for lead in _leads(obj):
        restore(lead)
    pressed.undo(obj)
    while origin.is_result(origin.own_action(obj)):
        words = step(obj)
        if words:
            return words
    return ""


def _leads(obj):
    """Other objects that were keyed to lead a rig."""
    if obj.type != "ARMATURE":
        return []
    results = ((o, origin.own_action(o)) for o in bpy.data.objects if o.library is None)
    return [o for o, found in results if origin.is_result(found) and found.sinew_origin.rig == obj]


def step(obj, carries=True):
    """From a result, or from what live mode shows, to what was there before it; `carries` takes along settings that were keyed
    meanwhile. Gives words about what is gone, or nothing."""
    origin.follow_renamed(obj)
    data = obj.animation_data
    result = data.action
    own = result.sinew_origin
    if own.had_source and own.source is None:
        return f'the action that "{obj.name}" was keyed with has been deleted; its result is left as it is'
    found = edits.Edits(obj, result)
    if carries:
        found.carry()
    noted, source = origin.notes(result), own.source
    if data.use_tweak_mode:
        data.use_tweak_mode = False
    _unmute(obj, noted.get("muted", ()))
    track = _track(obj, own)
    if track is not None:
        data.nla_tracks.remove(track)
    action.assign(obj, source, own.handle)
    for copy in copies(obj) if own.is_live else ():
        # Live mode had shown the motion on the rig itself.
        follow(obj, copy)
    _rest(obj, noted.get("rested", {}))
    if "kinematic" in noted and obj.rigid_body is not None:
        obj.rigid_body.kinematic = noted["kinematic"]
        obj.sinew.property_unset("was_active")
    had_data, was_kept, is_live = own.had_data, own.was_kept, own.is_live
    _drop(result, is_live, found.is_retouched)
    origin.let_go(source, was_kept)
    if not had_data and not len(data.nla_tracks) and not len(data.drivers):
        obj.animation_data_clear()
    return ""


#: While Blender undoes or redoes. Data that is removed then is still known to its other steps, and crashes it later (4.2): it
#: stays, without a user, until the next press or until the file is saved.
is_undoing = False


def _drop(result, is_live, is_retouched):
    """What nobody uses any more goes, unless somebody's work is in it."""
    if result.library is not None or result.users or is_undoing:
        return
    if is_live or not is_retouched:
        bpy.data.actions.remove(result)
    else:
        result.name = action.free_name(result.name + RETOUCHED)
        result.use_fake_user = True


@contextlib.contextmanager
def originals(scene):
    """Puts the animator's keys and constraints back in their places for a while, where results are."""
    again = []
    try:
        for obj in scene.objects:
            again += _for_a_while(obj)
        if again:
            bpy.context.view_layer.update()
        yield
    finally:
        for do in reversed(again):
            # Whatever was deleted meanwhile needs nothing more.
            with contextlib.suppress(ReferenceError):
                do()


def _for_a_while(obj):
    """Puts the animator's keys back; gives what does the opposite, to be done in the opposite order."""
    if obj.library is not None:
        return []
    again = []
    for copy in copies(obj):
        for mesh in follow(copy, obj):
            again.append(lambda mesh=mesh, copy=copy: _aim(mesh, obj, copy))
    origin.follow_renamed(obj)
    results = origin.chain(origin.own_action(obj))
    last = results[-1].sinew_origin if results else None
    if last is None or last.had_source and last.source is None:
        return again
    data = obj.animation_data
    for result in results:
        muted = [pair for pair in origin.notes(result).get("muted", ()) if any(c.mute for c in _constraints(obj, [pair]))]
        _unmute(obj, muted)
        again.append(lambda muted=muted: _unmute(obj, muted, True))
    track = _track(obj, last)
    if track is not None and not track.mute:
        track.mute = True
        name = track.name
        again.append(lambda: setattr(data.nla_tracks[name], "mute", False) if name in data.nla_tracks else None)
    result, handle = data.action, action.slot_handle(obj)
    again.append(lambda: action.assign(obj, result, handle))
    action.assign(obj, last.source, last.handle)
    # What nothing keyed is where it was, and not where the result has it at this frame.
    _rest(obj, origin.notes(results[-1]).get("rested", {}))
    return again


def _rest(obj, rested):
    for name, values in rested.items():
        holder = obj if not name else obj.pose.bones.get(name) if obj.type == "ARMATURE" else None
        for channel, value in zip(origin.CHANNELS, values) if holder is not None else ():
            setattr(holder, channel, value)


def _unmute(obj, pairs, mute=False):
    for constraint in _constraints(obj, pairs):
        constraint.mute = mute


def _constraints(obj, pairs):
    for bone, name in pairs:
        holder = obj if not bone else obj.pose.bones.get(bone) if obj.type == "ARMATURE" else None
        found = holder.constraints.get(name) if holder is not None else None
        if found is not None:
            yield found


def _track(obj, own):
    """The NLA track that the animator's action was pushed down to for a result; None where it was not."""
    if not own.track:
        return None
    tracks = [t for t in obj.animation_data.nla_tracks if any(s.action == own.source for s in t.strips)]
    # Renamed, it is the topmost that plays; a muted one of another name is the animator's.
    playing = [t for t in tracks if not t.mute]
    return next((t for t in tracks if t.name == own.track), playing[-1] if playing else None)


# Clean copies --------------------------------------------------------------------------------------------------------


def copies(obj):
    """Clean copies of a skeleton that results were put on."""
    if obj.type != "ARMATURE":
        return []
    return [o for o in obj.children if is_copy(o)]


def is_copy(obj):
    """Whether an object is a clean copy of its parent's skeleton."""
    if obj.type != "ARMATURE" or obj.parent is None or obj.parent.data != obj.data:
        return False
    return origin.is_result(origin.own_action(obj)) and origin.own_action(obj).sinew_origin.is_copy


def follow(old, new):
    """Makes all meshes that follow one skeleton follow another; gives them."""
    return [o for o in bpy.data.objects if o.library is None and _aim(o, old, new)]


def _aim(mesh, old, new):
    found = [m for m in mesh.modifiers if m.type == "ARMATURE" and m.object == old]
    for modifier in found:
        modifier.object = new
    return bool(found)


def _remove_copy(obj, copy):
    follow(copy, obj)
    result = copy.animation_data.action
    is_retouched = edits.Edits(copy, result).is_retouched
    bpy.data.objects.remove(copy)
    _drop(result, False, is_retouched)
