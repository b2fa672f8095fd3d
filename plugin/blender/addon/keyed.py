"""Settings that are keyed, as keys over time in a set-up."""

import numpy as np

from . import action, origin


def keys(capture, owner, *paths, least=None, scale=1.0, is_switch=False):
    """The keys of the first of these paths that has a curve in the action of an object, or in the keys that it came from, one
    per frame where it bends; None where none has. Values are at least `least`, and then times `scale`; a switch has no in between."""
    curve = next((c for c in (origin.find(owner, path) for path in paths) if c is not None), None)
    if curve is None:
        return None
    values = np.array([curve.evaluate(frame) for frame in capture.frames])
    values = (values if least is None else np.maximum(values, least)) * scale
    times = (capture.frames - capture.first) / capture.rate
    if is_switch:
        values = np.round(values)
        kept = np.concatenate([[True], np.diff(values) != 0.0])
    else:
        # Where it is straight, the ends say it all.
        kept = np.concatenate([[True], np.abs(np.diff(values, 2)) > 1e-9, [True]])
    said = {"keys": [[float(t), float(v)] for t, v in zip(times[kept], values[kept])]}
    return {**said, "between": "step"} if is_switch else said


def close_gap(owner, collection, index):
    """After an item of a collection was removed: its keys go, and those of the items behind it move up with them."""
    curves = action.curves(owner)
    for curve in list(curves or ()):
        begin, _, rest = curve.data_path.partition("].")
        place = begin.partition(f"{collection}[")[2]
        if not place.isdigit() or int(place) < index:
            continue
        if int(place) == index:
            curves.remove(curve)
        else:
            curve.data_path = f"{collection}[{int(place) - 1}].{rest}"


def put(holder, name, said, scene, scale=1.0):
    """Sets a property to what a set-up says, a number or keys, over `scale`; keys go into the action."""
    if not isinstance(said, dict):
        setattr(holder, name, said / scale if scale != 1.0 else said)
        return
    rate = scene.render.fps / scene.render.fps_base
    frames = []
    for seconds, value in said["keys"]:
        frames.append(scene.frame_start + seconds * rate)
        setattr(holder, name, type(getattr(holder, name))(value / scale))
        holder.keyframe_insert(name, frame=frames[-1])
    curves = action.curves(holder.id_data)
    curve = curves.find(holder.path_from_id(name)) if curves is not None else None
    for key in curve.keyframe_points if curve is not None else ():
        if any(abs(key.co[0] - frame) < 1e-3 for frame in frames):
            key.interpolation = "CONSTANT" if said.get("between") == "step" else "LINEAR"
