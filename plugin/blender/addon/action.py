"""Actions of Blender 3.4 to 5: curves are in the action itself, or (4.4 and later) in the bag of a slot."""

import bpy
import numpy as np

HAS_SLOTS = bpy.app.version >= (4, 4, 0)
#: Before, setting them in bulk did nothing, and said nothing.
SETS_HANDLE_TYPES = bpy.app.version >= (4, 0, 0)

#: Numbers of Blender's enums, for bulk writing: in bytes, as Blender keeps them, they are copied as they are.
LINEAR = 1
FREE, ALIGNED = 0, 3


def ensure(owner):
    """The animation data of an object."""
    return owner.animation_data or owner.animation_data_create()


def curves(owner, action=None, create=False, handle=None):
    """The curves of an owner's action, or of another action in the slot of that handle, else in the owner's; None when it has
    none."""
    data = owner.animation_data
    action = action or (data and data.action)
    if action is None:
        return None
    if not HAS_SLOTS:
        return action.fcurves
    bag = _bag(owner, action, create, handle)
    return None if bag is None else bag.fcurves


def curves_and_groups(owner, action, handle=None):
    """The curves of an action, and their groups, to add to."""
    bag = _bag(owner, action, True, handle) if HAS_SLOTS else action
    return bag.fcurves, bag.groups


def _bag(owner, action, create, handle=None):
    data = owner.animation_data
    slot = next((s for s in action.slots if s.handle == handle), None)
    if slot is None:
        slot = data.action_slot if data is not None and data.action == action else None
    if slot is None:
        slot = _fitting(owner, action)
    if slot is None:
        if not create:
            return None
        slot = action.slots.new(id_type=owner.id_type, name=owner.name)
    for layer in action.layers:
        for strip in layer.strips:
            bag = strip.channelbag(slot)
            if bag is not None:
                return bag
    if not create:
        return None
    layer = action.layers[0] if len(action.layers) else action.layers.new("Layer")
    strip = layer.strips[0] if len(layer.strips) else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)


def assign(owner, action, like=None):
    """Makes an action the owner's; in slots, the one that corresponds to `like`."""
    data = ensure(owner)
    data.action = action
    if not HAS_SLOTS or action is None:
        return
    slot = next((s for s in action.slots if like is not None and s.handle == like), None)
    if slot is None:
        slot = _fitting(owner, action)
    if slot is None:
        slot = action.slots.new(id_type=owner.id_type, name=owner.name)
    data.action_slot = slot


def _fitting(owner, action):
    """The first slot that the owner could have; None without any."""
    return next((s for s in action.slots if s.target_id_type in (owner.id_type, "UNSPECIFIED")), None)


def slot_handle(owner):
    """What tells the owner's slot from others; None without slots."""
    data = owner.animation_data
    slot = data.action_slot if HAS_SLOTS and data is not None else None
    return None if slot is None else slot.handle


def remove_curve(found, path, index):
    """Removes a curve; whether there was one."""
    curve = found.find(path, index=index)
    if curve is not None:
        found.remove(curve)
    return curve is not None


class Channels:
    """The channels of an owner's action, to write many: looked up once."""

    def __init__(self, owner):
        self.owner = owner.name
        action = owner.animation_data.action
        bag = _bag(owner, action, True) if HAS_SLOTS else action
        self.curves, self._groups = bag.fcurves, bag.groups

    def is_locked(self, path, index):
        """Whether the animator locked a curve in the editors of animation."""
        old = self.curves.find(path, index=index)
        return old is not None and (old.lock or bool(old.group) and old.group.lock)

    def new(self, path, index, group):
        """An empty curve in place of what is there, in its group or else in one of the given name; hidden like it."""
        old = self.curves.find(path, index=index)
        is_hidden = old is not None and old.hide
        if old is not None:
            group = old.group.name if old.group else group
            self.curves.remove(old)
        if not HAS_SLOTS:
            curve = self.curves.new(path, index=index, action_group=group)
        else:
            curve = self.curves.new(path, index=index)
            if group:
                curve.group = self._groups.get(group) or self._groups.new(group)
        curve.hide = is_hidden
        return curve


def write(channels, path, index, frames, values, arriving=None, leaving=None, group=""):
    """Puts keys in place of what an action has there: curved with tangents per frame, else straight."""
    curve = channels.new(path, index, group)
    count = len(frames)
    points = curve.keyframe_points
    points.add(count)
    co = _set(points, frames, values)
    straight = arriving is None
    if straight:
        # New ones are curved.
        points.foreach_set("interpolation", np.full(count, LINEAR, dtype=np.int8))
    else:
        _handles(points, co.astype(float), arriving, leaving)
    # Finds handles for straight keys, too, for whoever bends them later.
    curve.update()
    return curve


def rewrite(curve, frames, values):
    """New values for straight keys that `write` made; whether there are as many."""
    if len(curve.keyframe_points) != len(frames):
        return False
    _set(curve.keyframe_points, frames, values)
    curve.update()
    return True


def _set(points, frames, values):
    co = np.empty((len(frames), 2), dtype=np.float32)
    co[:, 0], co[:, 1] = frames, values
    points.foreach_set("co", co.ravel())
    return co


def _handles(points, co, arriving, leaving):
    # A third of the way: then time runs evenly, and the curve is the Hermite cubic of these tangents.
    spans = np.diff(co[:, 0]) / 3.0
    before = np.concatenate([spans[:1], spans]) if len(spans) else np.array([1.0 / 3.0])
    after = np.concatenate([spans, spans[-1:]]) if len(spans) else before
    left = co - np.stack([before, before * arriving], axis=1)
    right = co + np.stack([after, after * leaving], axis=1)
    smooth = np.abs(arriving - leaving) <= 1e-5 * (1.0 + np.abs(leaving))
    kinds = np.where(smooth, ALIGNED, FREE).astype(np.int32)
    if SETS_HANDLE_TYPES:
        points.foreach_set("handle_left_type", kinds)
        points.foreach_set("handle_right_type", kinds)
    else:
        for point, is_smooth in zip(points, smooth.tolist()):
            point.handle_left_type = point.handle_right_type = "ALIGNED" if is_smooth else "FREE"
    points.foreach_set("handle_left", left.astype(np.float32).ravel())
    points.foreach_set("handle_right", right.astype(np.float32).ravel())


def free_name(name):
    """A name that no other action has: Blender may give an old one another name to make room for a new one."""
    found, number = name, 0
    while found in bpy.data.actions:
        number += 1
        found = f"{name}.{number:03}"
    return found


def new_like(owner, name):
    """A copy of the owner's action under a new name, made the owner's, or an empty one."""
    old, handle, name = ensure(owner).action, slot_handle(owner), free_name(name)
    # A copy of a linked one is of this file.
    fresh = old.copy() if old is not None else bpy.data.actions.new(name)
    fresh.name = name
    fresh.use_fake_user = False
    assign(owner, fresh, handle)
    return fresh


def push_down(owner, action, handle, name):
    """Makes an action a strip of its own track, below what comes later; gives the track."""
    data = ensure(owner)
    track = data.nla_tracks.new()
    track.name = name
    start = int(round(action.frame_range[0]))
    strip = track.strips.new(action.name, start, action)
    if HAS_SLOTS and handle is not None:
        slot = next((s for s in action.slots if s.handle == handle), None)
        if slot is not None:
            strip.action_slot = slot
    strip.extrapolation = "HOLD"
    strip.blend_type = "REPLACE"
    return track
