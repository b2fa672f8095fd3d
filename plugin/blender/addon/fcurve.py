"""One curve of an action: what it is like, and copies of it."""

import hashlib

import numpy as np

#: What a key has beside its place.
KEY = ("interpolation", "easing", "type", "handle_left_type", "handle_right_type", "amplitude", "back", "period")
#: What a curve has beside its keys and modifiers.
CURVE = ("extrapolation", "mute", "lock", "hide", "color_mode", "auto_smoothing")


def name(curve):
    """A text that tells it from all others of its action."""
    return f"{curve.data_path}\n{curve.array_index}"


def place(text):
    """Path and index of such a text."""
    path, _, index = text.rpartition("\n")
    return path, int(index)


def digest(curve):
    """A short text that is another one when anything of its motion is changed."""
    found = hashlib.blake2b(digest_size=8)
    points = curve.keyframe_points
    for field in ("co", "handle_left", "handle_right"):
        values = np.empty(2 * len(points), dtype=np.float32)
        points.foreach_get(field, values)
        found.update(values.tobytes())
    kinds = np.empty(len(points), dtype=np.int32)
    points.foreach_get("interpolation", kinds)
    found.update(kinds.tobytes())
    found.update(repr((curve.extrapolation, curve.mute, [_settings(m) for m in curve.modifiers])).encode())
    return found.hexdigest()


def copy(curve, curves, groups=None):
    """Makes a curve like this one in another action, in place of what is there."""
    old = curves.find(curve.data_path, index=curve.array_index)
    if old is not None:
        curves.remove(old)
    fresh = curves.new(curve.data_path, index=curve.array_index)
    if groups is not None and curve.group is not None:
        fresh.group = groups.get(curve.group.name) or groups.new(curve.group.name)
    fresh.keyframe_points.add(len(curve.keyframe_points))
    for key, own in zip(fresh.keyframe_points, curve.keyframe_points):
        _copy_key(key, own)
    for field in CURVE:
        setattr(fresh, field, getattr(curve, field))
    for modifier in curve.modifiers:
        _copy_modifier(fresh, modifier)
    return fresh


def merge(curve, into):
    """Gives another curve the keys of this one, over its own."""
    for key in curve.keyframe_points:
        put(into, key)
    into.update()


def put(into, key):
    """Gives a curve a key like this one."""
    _copy_key(into.keyframe_points.insert(key.co[0], key.co[1], options={"FAST"}), key)


def _copy_key(key, own):
    for field in KEY:
        setattr(key, field, getattr(own, field))
    key.co, key.handle_left, key.handle_right = own.co, own.handle_left, own.handle_right


def _settings(modifier):
    """All that one can set of a modifier."""
    found = {"type": modifier.type}
    for field in modifier.bl_rna.properties:
        if not field.is_readonly and field.identifier not in ("rna_type", "name"):
            value = getattr(modifier, field.identifier)
            found[field.identifier] = tuple(value) if hasattr(value, "__len__") and not isinstance(value, str) else value
    if modifier.type == "ENVELOPE":
        found["points"] = [(p.frame, p.min, p.max) for p in modifier.control_points]
    return found


def _copy_modifier(curve, own):
    fresh = curve.modifiers.new(own.type)
    said = _settings(own)
    points, order = said.pop("points", ()), said.pop("poly_order", None)
    del said["type"]
    if order is not None:
        # Makes room for its coefficients.
        fresh.poly_order = order
    for field, value in said.items():
        setattr(fresh, field, value)
    for frame, least, most in points:
        point = fresh.control_points.add(frame)
        point.min, point.max = least, most
