"""What an animator changed in an action that Sinew made, and how it comes into the animator's own: sliders that are keyed
while a result is shown belong to the keys, and no key is lost.
"""

import base64
import json

import bpy
import numpy as np

from . import action, fcurve, origin


class Edits:
    """What differs in an action of Sinew's from what Sinew made it."""

    def __init__(self, owner, found):
        self.owner, self.found = owner, found
        noted = origin.notes(found)
        base, written = noted.get("curves", {}), set(noted.get("written", ()))
        now = {fcurve.name(c): c for c in action.curves(owner, found) or ()}
        own = {name for name in base if name not in written}
        #: Curves of Sinew's that were changed by hand, or keys of motion beside them.
        self.is_retouched = any(name not in now or fcurve.digest(now[name]) != base.get(name) for name in written)
        #: Names of others that were changed or made, and of those that were taken away.
        self.changed, self.removed = [], []
        for name, one in now.items():
            if name in written or fcurve.digest(one) == base.get(name):
                continue
            if name not in base and origin.is_channel(one.data_path):
                self.is_retouched = True
            else:
                self.changed.append(name)
        if not found.sinew_origin.track:
            self.removed = [name for name in own if name not in now]
        self._base = base

    def __bool__(self):
        return bool(self.changed or self.removed)

    def carry(self):
        """Brings them into the action that it came from, which is made if there is none. Where that was changed
        meanwhile, too, it stays as it is, and what was made counts as retouched."""
        if not self:
            return
        own = self.found.sinew_origin
        target = _writable(self.owner, own)
        curves, groups = action.curves_and_groups(self.owner, target, own.handle)
        below = bool(own.track)
        mine = action.curves(self.owner, self.found)
        for name in self.changed:
            path, index = fcurve.place(name)
            one, there = mine.find(path, index=index), curves.find(path, index=index)
            is_same = there is not None and fcurve.digest(there) == fcurve.digest(one)
            if there is not None and below:
                fcurve.merge(one, there)
            elif (None if there is None else fcurve.digest(there)) == self._base.get(name):
                fcurve.copy(one, curves, groups)
            elif not is_same:
                self.is_retouched = True
        for name in self.removed:
            path, index = fcurve.place(name)
            there = curves.find(path, index=index)
            if there is not None and fcurve.digest(there) == self._base[name]:
                curves.remove(there)


def _writable(owner, own):
    """The action that a result came from, to be written to: a new one, or a local one, where it must be."""
    if own.source is None:
        own.source, own.had_source, own.had_data = bpy.data.actions.new(f"{owner.name}Action"), True, True
        origin.keep(own.source)
    elif own.source.library is not None:
        own.source = own.source.copy()
        origin.keep(own.source)
    return own.source


# Live ----------------------------------------------------------------------------------------------------------------


def note_shown(found, frames, values):
    """Notes what live mode has written: values by names of curves, at the same frames."""
    kept = json.loads(found.sinew_origin.shown or "{}").get("keys", [])
    said = {name: base64.b64encode(np.asarray(v, dtype=np.float32).tobytes()).decode() for name, v in values.items()}
    found.sinew_origin.shown = json.dumps({"first": int(frames[0]), "curves": said, "keys": kept})


def keys_set(owner, found, is_played=False):
    """Keys of motion that an animator set while live mode showed an action: [path, index, frame, value]. While a hand plays,
    only those that were noted before it took hold."""
    noted = json.loads(found.sinew_origin.shown or "{}")
    keys = {(path, index, frame): value for path, index, frame, value in noted.get("keys", [])}
    curves = action.curves(owner, found)
    at = {}
    for name, text in noted.get("curves", {}).items() if not is_played else ():
        path, index = fcurve.place(name)
        one = curves.find(path, index=index)
        if one is None:
            continue
        wanted = np.frombuffer(base64.b64decode(text), dtype=np.float32)
        co = np.empty((len(one.keyframe_points), 2), dtype=np.float32)
        one.keyframe_points.foreach_get("co", co.ravel())
        places = co[:, 0] - noted["first"]
        slots = np.clip(np.rint(places).astype(int), 0, len(wanted) - 1)
        own = (np.abs(places - slots) < 1e-3) & (co[:, 1] == wanted[slots])
        for frame in co[~own, 0].tolist():
            at.setdefault(path, set()).add(round(frame, 4))
    for path, frames in at.items():
        for index in range(4):
            one = curves.find(path, index=index)
            for key in one.keyframe_points if one is not None else ():
                frame = round(key.co[0], 4)
                # A place is three numbers, whichever of them was changed.
                if frame in frames:
                    keys[(path, index, frame)] = key.co[1]
    return [[*where, value] for where, value in sorted(keys.items())]


def hold(owner, found):
    """Notes such keys before live mode writes over them."""
    keys = keys_set(owner, found)
    if keys:
        noted = json.loads(found.sinew_origin.shown)
        found.sinew_origin.shown = json.dumps({**noted, "keys": keys})


def give(owner, keys):
    """Puts such keys into the animator's own action behind what an object shows, which is made if there is none."""
    if not keys:
        return
    shown = origin.own_action(owner)
    results = origin.chain(shown)
    if results:
        own = results[-1].sinew_origin
        target, handle = _writable(owner, own), own.handle
    else:
        if shown is None or shown.library is not None:
            fresh = bpy.data.actions.new(f"{owner.name}Action") if shown is None else shown.copy()
            action.assign(owner, fresh, action.slot_handle(owner))
        target, handle = owner.animation_data.action, action.slot_handle(owner)
    curves, _ = action.curves_and_groups(owner, target, handle)
    for path, index, frame, value in keys:
        one = curves.find(path, index=index) or curves.new(path, index=index)
        one.keyframe_points.insert(frame, value)
        one.update()
