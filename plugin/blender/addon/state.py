"""What the last run found, for the panel and the overlay: numbers and names, nothing that Blender can free."""

from . import trouble

#: The run under way, or None.
running = None
#: Its share, its words and what ESC does, for the panel.
progress = None
#: When its timer ticked, in seconds, at which stage, and how long that took: what the test of the window counts.
ticks = []
#: The last result, or None.
result = None
#: Whether live mode waits for a hand, and what one holds: where that is, and where it is pulled to.
dragging = False
held = None
#: Chains of bones that the library found: by armature and name, the names of the bones.
chains = {}
_looked = _shapes = _limits = None
_is_stale = False
#: Warnings of the last run or check, and which it was: see `trouble`.
warnings = []
asked = ""


class Result:
    """Paths of keys and simulation in the world, strain, and the job for its contacts."""

    def __init__(self, run, writer):
        capture = run.capture
        by_index = {node.index: node for node in capture.nodes}
        nodes = [by_index.get(index) for index in run.job.body_nodes]
        poses = run.job.poses
        self.scene_name = run.scene_name
        self.first, self.last = capture.first, capture.last
        self.job = run.job
        self.actions = list(writer.actions)
        self.muted = list(writer.muted)
        self.warnings = list(run.warnings)
        wanted = [(i, n) for i, n in enumerate(nodes) if n is not None and n.simulated]
        self.names = [n.name for _, n in wanted]
        self.owners = [n.owner for _, n in wanted]
        self.keys = [n.world[:, :3, 3] for _, n in wanted]
        self.ways = [poses[:, i, :3] for i, _ in wanted]
        # Of a skeleton, the ways of its tips say enough.
        inner = {id(n.parent) for _, n in wanted if n.bone is not None}
        self.drawn = [k for k, (_, n) in enumerate(wanted) if n.bone is None or id(n) not in inner]
        #: Names, and the frames at which their strength was not enough.
        saturated = run.job.saturated
        frames = capture.frames[: len(saturated)]
        found = [(n, frames[saturated[:, i] != 0]) for i, n in wanted]
        self.strained = [(n.name, n.owner, [int(f) for f in at]) for n, at in found if len(at)]


def look_at(run):
    """Remembers what was read, for its shapes and limits."""
    global _looked, _shapes, _limits, _is_stale
    _looked, _shapes, _limits, _is_stale = run, None, None, False
    chains.update(run.chains)


def reshape():
    """Settings changed: shapes and limits are made anew from what was read, when they are asked for."""
    global _shapes, _limits, _is_stale
    _shapes, _limits, _is_stale = None, None, True


def shapes():
    """The shapes of what was read last, made when they are asked for; None before anything was."""
    global _shapes
    _renew()
    if _shapes is None and _looked is not None:
        from .shapes import Shapes

        _shapes = Shapes(_looked)
    return _shapes


def limits():
    """The same of how far bones can turn."""
    global _limits
    _renew()
    if _limits is None and _looked is not None:
        from .limits import Limits

        _limits = Limits(_looked)
    return _limits


def _renew():
    global _is_stale
    if _is_stale and _looked is not None:
        _is_stale = False
        _looked.set_up()


def keep(run, writer):
    """Remembers a finished run."""
    global result
    result = Result(run, writer)
    look_at(run)
    complain(run.warnings, "the last run", run)


def complain(texts, of, run=None):
    """Remembers warnings, with the objects of a run that they name, and what they are of."""
    global warnings, asked
    asked = of
    if run is None:
        warnings = trouble.gathered(texts)
    else:
        capture = run.capture
        warnings = trouble.gathered(texts, capture.nodes, run.setup.get("joints", ()), capture.first)


def forget():
    """Another file is opened, or the add-on is switched off."""
    global running, progress, result, warnings, asked, ticks, dragging, held, _looked, _shapes, _limits
    chains.clear()
    if running is not None:
        running.cancel()
    running = progress = result = _looked = _shapes = _limits = None
    warnings, asked, ticks, dragging, held = [], "", [], False, None
