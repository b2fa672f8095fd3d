"""What a run or a check warns of, as the panel has it: a line that says what it is, all the words, and what it names.

The library has a warning for every pair that overlaps; an animator wants to know which objects do. So those are one here.
"""

import re

#: What the library says of two things that overlap at the first frame, and of those that it does not name any more.
OVERLAP = re.compile(r'^(?P<a>".+?"|the floor) and (?P<b>".+?"|the floor) overlap at the first frame by (?P<depth>[\d.]+)')
MORE = re.compile(r"^(?P<count>\d+) more pairs overlap at the first frame")
#: And of joints that do not close.
OPEN = re.compile(r'^joints stay open: (?P<list>.+); they contradict')
#: So many names are in a line.
NAMED = 3


class Trouble:
    """A warning: its line, its words, and the objects that it names."""

    def __init__(self, title, text, objects):
        self.title, self.text, self.objects = title, text, objects


def gathered(texts, nodes=(), joints=(), first=1):
    """Warnings in the order in which they matter: what overlaps at the first frame (its number), joints that do not close,
    the others. `nodes` are those that were read, `joints` those of the set-up: they say whose names are in the words."""
    owners = {}
    for node in nodes:
        owners.setdefault(node.name, node.owner)
    ends = {joint.get("name"): joint["between"] for joint in joints}
    pairs, more, opened, others = [], 0, [], []
    for text in texts:
        pair, rest, is_open = OVERLAP.match(text), MORE.match(text), OPEN.match(text)
        if pair:
            pairs.append((pair["a"].strip('"'), pair["b"].strip('"'), float(pair["depth"])))
        elif rest:
            more += int(rest["count"])
        elif is_open:
            opened.append(_open(is_open, text, owners, ends))
        else:
            others.append(Trouble(text, text, _named(text, owners)))
    found = [_overlap(pairs, more, owners, first)] if pairs else []
    return found + opened + others


def summary(troubles):
    """The line about what matters most, and how many others there are; empty for no trouble."""
    if not troubles:
        return ""
    serious = [t.title for t in troubles if t.title != t.text]
    rest = len(troubles) - len(serious)
    words = serious + ([f"{rest} {'more ' if serious else ''}warning{'s' if rest > 1 else ''}"] if rest else [])
    return "; ".join(words)


def _overlap(pairs, more, owners, first):
    names = list(dict.fromkeys(name for a, b, _ in pairs for name in (a, b) if name != "the floor"))
    count = f"{len(names)} objects" if len(names) > 1 else "1 object"
    verb = "overlap" if len(names) > 1 else "overlaps the floor"
    # The library names the first pairs only.
    title = f"{'more than ' if more else ''}{count} {verb} at frame {first}: {_some(names)}"
    words = [f"{a} and {b} by {depth:.3g}" for a, b, depth in pairs]
    if more:
        words.append(f"{more} more pairs")
    text = (
        f"{title}. {', '.join(words)}. They pass through each other until they have come apart; "
        "move them apart, or switch off Touches where that is meant"
    )
    return Trouble(title, text, list(dict.fromkeys(owners[name] for name in names if name in owners)))


def _open(found, text, owners, ends):
    names = re.findall(r'"([^"]+)" by ', found["list"])
    title = f"{len(names)} joint{'s stay' if len(names) > 1 else ' stays'} open: {_some(names)}"
    named = [owners[n] for name in names for n in (name, *ends.get(name, ())) if n in owners]
    named += [o for o in _named(found["list"], owners) if o not in named]
    return Trouble(title, text[0].upper() + text[1:], list(dict.fromkeys(named)))


def _some(names):
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _named(text, owners):
    """The objects whose names, or whose bones' names, are in a text: between quotes first."""
    named = [owners[name] for name in re.findall(r'"([^"]+)"', text) if name in owners]
    named += [o for n, o in owners.items() if o not in named and re.search(rf"(?<!\w){re.escape(n)}(?!\w)", text)]
    return list(dict.fromkeys(named))
