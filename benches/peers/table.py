"""Markdown of the results: table.py RESULTS [PAGE.md]. With a page, also puts it between the page's two markers;
sections without results stay there as they are."""
import glob
import json
import math
import os
import sys

rows = []
for name in sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))):
    with open(name) as file:
        rows += json.load(file)


def of(scene):
    """Rows of a scene, Sinew's first, then by time."""
    found = [r for r in rows if r["scene"] == scene and r["peer"] != "reference"]
    return sorted(found, key=lambda r: (r["peer"] != "Sinew", r.get("ms", 0.0)))


def short(x):
    """Three digits."""
    if x is None or not math.isfinite(x):
        return "-"
    return "%.3g" % x if abs(x) < 1000 else "%.0f" % x


def length(metres):
    """A length with a unit that suits it."""
    if metres is None or not math.isfinite(metres) or metres > 100:
        return "-"
    for least, unit, factor in ((1, "m", 1), (1e-4, "mm", 1e3), (1e-7, "um", 1e6)):
        if metres >= least:
            return "%s %s" % (short(metres * factor), unit)
    return "0" if metres < 1e-12 else "%s nm" % short(metres * 1e9)


def ratio(row, scene, key="ms"):
    own = [r for r in rows if r["scene"] == scene and r["peer"] == "Sinew"]
    return short(row[key] / own[0][key]) if own and row is not own[0] else ""


def off(row):
    """How far the last link is from the reference."""
    true = [r for r in rows if r["scene"] == row["scene"] and r["peer"] == "reference"]
    if not true or not row.get("tip"):
        return "flies apart" if row.get("blew_up") else "-"
    return length(max(math.dist(row["tip"], true[0]["tip"]), true[0]["uncertain"]))


def apart(row, scene):
    """How far the last body is from Sinew's, early on."""
    own = [r for r in rows if r["scene"] == scene and r["peer"] == "Sinew"]
    known = own and row is not own[0] and row.get("early") and own[0].get("early")
    return length(math.dist(row["early"], own[0]["early"])) if known else ""


def open_or_apart(row):
    return "flies apart" if row.get("blew_up") or row.get("opening", 0) > 1 else length(row.get("opening"))


sections = {}  # by title; None: no results


def table(title, scenes, columns):
    """Columns: head and function of a row and its scene."""
    if not any(of(scene) for scene, _ in scenes):
        sections[title] = None
        return
    lines = ["### " + title, ""]
    lines.append("| scene | engine | " + " | ".join(head for head, _ in columns) + " |")
    lines.append("|---|---|" + "--:|" * len(columns))
    for scene, label in scenes:
        for row in of(scene):
            name = "**Sinew**" if row["peer"] == "Sinew" else row["peer"]
            lines.append("| %s | %s | " % (label, name) + " | ".join(f(row, scene) for _, f in columns) + " |")
            label = ""
    sections[title] = "\n".join(lines) + "\n"


ms = ("ms", lambda r, s: short(r["ms"]))
worst = ("worst ms", lambda r, s: short(r.get("worst_ms")))
times = ("times Sinew's", ratio)
early = ("last body from Sinew's after 0.25 s", apart)
gap = ("joints open", lambda r, s: open_or_apart(r))

table("Chains released, per step of 1/240 s",
      [("chain_%s_%d" % (k, n), "%d %ss" % (n, k)) for k in ("hinge", "ball") for n in (10, 20, 100, 300, 1000)],
      [ms, times, gap, ("last link off after 0.5 s", lambda r, s: off(r))])
table("Energy of ten ball-jointed links over ten seconds at 1/240 s", [("energy", "10 balls")],
      [("largest change", lambda r, s: "%.2f %%" % (100 * r["drift"])),
       ("change at the end", lambda r, s: "%.2f %%" % (100 * r["drift_end"]))])
table("Nets put together to a micrometre", [("assemble_net_%d" % n, "%d scalars" % n) for n in (108, 261, 759)],
      [ms, times, ("rounds", lambda r, s: str(r["rounds"])), gap,
       ("analysis before, ms", lambda r, s: short(r.get("analysis_ms")))])
table("Nets shaken for ten seconds, per step of 1/60 s",
      [("shake_net_%d" % n, "%d scalars" % n) for n in (108, 261, 759)],
      [ms, worst, times, gap, early])
table("Chains swung, per frame of 1/24 s", [("swung_%d" % n, "%d links" % n) for n in (9, 100)],
      [ms, worst, times, gap, early])

deep = lambda key: lambda r, s: "%d lost" % r["lost"] if r.get("lost") else length(r.get(key))
piled = [("ms, settled", ms[1]), times, ("ms, falling", lambda r, s: short(r["falling_ms"])),
         ("times Sinew's", lambda r, s: ratio(r, s, "falling_ms")), worst,
         ("deepest, settled", deep("deepest_settled")), ("deepest of all", deep("deepest_run")),
         ("still moves, settled, m/s", lambda r, s: short(r.get("rms_speed")))]
table("A pile of 1500, per step of 1/60 s", [("pile", "1000 balls, 500 cubes")], piled)
table("64 heaps of 20 cubes, per step of 1/60 s", [("islands", "1280 cubes")], piled)

angle = lambda r, s: short(r.get("tracking"))
for copies, title in ((1, "A figure of 22 bodies"), (16, "16 figures"), (64, "64 figures")):
    table(title + " that moves and falls, ten seconds" if copies == 1 else title + " that move and fall, ten seconds",
          [("figure_%d_%d" % (copies, rate), "1/%d s" % rate)
           for rate in ((1920,) if copies == 1 else ()) + (240, 120, 60) + ((50, 40) if copies == 1 else ()) + (30,) + ((24, 20, 16, 15, 14, 12, 10) if copies == 1 else ())],
          [("ms per step", ms[1]), ("ms per second and figure", lambda r, s: short(r["second_ms"])), times, gap,
           ("deepest in the floor", lambda r, s: "-" if r.get("blew_up") else length(r.get("deepest_run"))),
           ("off its aims, rad", angle), ("pelvis after 1 s, m", lambda r, s: short(r.get("pelvis")))])

print("\n".join(text for text in sections.values() if text))
if len(sys.argv) > 2:
    begin, end = "<!-- figures -->\n", "<!-- end of figures -->\n"
    with open(sys.argv[2]) as file:
        page = file.read()
    before, rest = page.split(begin)
    figures, after = rest.split(end)
    old = {part.split("\n")[0]: "### " + part.rstrip("\n") + "\n" for part in figures.split("### ")[1:]}
    kept = [text or old.get(title) for title, text in sections.items()]
    with open(sys.argv[2], "w") as file:
        file.write(before + begin + "\n" + "\n".join(text for text in kept if text) + "\n" + end + after)
