"""The picture of docs/bench.md: speed and accuracy of each engine on four of its scenes, as SVG on standard output.

    python3 benches/peers/chart.py docs/bench.md > docs/pictures/peers.svg

Left is faster and down is more accurate; both scales are logarithmic. Every number is one of the page's.
"""

import math
import sys

# Section of the page, its scene, the columns of speed and error, and what the picture calls them.
PANELS = [
    ("Chains released, per step of 1/240 s", "100 hinges", "ms", "last link off after 0.5 s",
     "Chain of 100 hinges, let go", "last link off after 0.5 s"),
    ("Nets shaken for ten seconds, per step of 1/60 s", "261 scalars", "ms", "joints open",
     "Net of 56 bodies, shaken", "joints open"),
    ("A figure of 22 bodies that moves and falls, ten seconds", "1/240 s", "ms per step", "deepest in the floor",
     "Character that falls, 240 steps per second", "deepest in the floor"),
    ("A pile of 1500, per step of 1/60 s", "1000 balls, 500 cubes", "ms, settled", "deepest, settled",
     "Pile of 1500, settled", "deepest overlap"),
]
COLOURS = {"Sinew": "#0072b2", "MuJoCo": "#d55e00", "Rapier": "#009e73", "Bullet": "#b0569a"}
UNITS = {"m": 1.0, "mm": 1e-3, "um": 1e-6, "nm": 1e-9}
WIDTH, PANEL_WIDTH, PANEL_HEIGHT, LEFT, TOP, GAP_X, GAP_Y = 900, 360, 150, 70, 74, 90, 86
STYLE = (
    "text{font-family:'Helvetica Neue',Arial,'Liberation Sans',sans-serif;fill:#333}"
    ".title{font-size:15px;font-weight:bold;fill:#111}.head{font-size:13px;font-weight:bold;fill:#333}"
    ".tick{font-size:11px;fill:#666}.name{font-size:11px}.across{text-anchor:middle}.up{text-anchor:end}"
    ".grid{stroke:#e4e4e4;stroke-width:1}.box{fill:none;stroke:#999;stroke-width:1}"
)


def tables(page):
    """The page's tables by their headings: lists of rows, each a dictionary by column."""
    found, heading, columns, scene = {}, None, None, ""
    for line in page.splitlines():
        if line.startswith("### "):
            heading, columns = line[4:], None
        elif heading and line.startswith("|"):
            cells = [cell.strip().strip("*") for cell in line.strip("|").split("|")]
            if columns is None:
                columns = cells
            elif not set(line) <= set("|-: "):
                row = dict(zip(columns, cells))
                scene = row["scene"] = row["scene"] or scene
                found.setdefault(heading, []).append(row)
    return found


def metres(text):
    """A length in metres; None where an engine flew apart."""
    if text == "flies apart":
        return None
    number, unit = (text.split(" ") + ["m"])[:2]
    return float(number) * UNITS[unit]


def length(x):
    for unit, factor in UNITS.items():
        if x >= 0.999 * factor:
            return f"{x / factor:g} {unit}"
    return f"{x:g} m"


def place_names(points, edge):
    """Names beside their points, (x, y, text, colour), off other points and names, none left of the edge."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y, _, _ in points]
    placed = []
    for x, y, text, colour in sorted(points, key=lambda p: (p[1], p[0])):
        wide = 6 * len(text)
        beside, left = x + 9, x - 9 - wide
        places = [(beside, y + 4), (left, y + 4)] + [(x, y + 4 + down) for x in (beside, left) for down in (-13, 13, -20, 20)]
        places = [place for place in places if place[0] >= edge]
        free = [
            (left, base) for left, base in places
            if not any(left < r and l < left + wide and base - 9 < b and t < base + 2 for l, t, r, b in taken)
        ]
        left, base = (free or places)[0]
        taken.append((left, base - 9, left + wide, base + 2))
        placed.append((left, base, text, colour))
    return placed


def panel(left, top, rows, speed, error, title, what):
    """One scene: a point for each engine and its settings."""
    points = [(float(row[speed]), metres(row[error]), row["engine"]) for row in rows]
    errors = [e for _, e, _ in points if e]
    x = [math.floor(4 * math.log10(min(p[0] for p in points)) - 1.0) / 4, math.log10(max(p[0] for p in points)) + 0.75]
    y = [math.floor(math.log10(min(errors)) - 0.2), math.ceil(math.log10(max(errors)) + 0.05)]

    def across(ms):
        return left + PANEL_WIDTH * (math.log10(ms) - x[0]) / (x[1] - x[0])

    def down(e):
        return top + PANEL_HEIGHT * (y[1] - math.log10(e)) / (y[1] - y[0])

    out = [f'<text class="head" x="{left}" y="{top - 24}">{title}</text>',
           f'<text class="tick" x="{left}" y="{top - 9}">{what}, over milliseconds per step</text>']
    for power in range(y[0], y[1] + 1):
        at = down(10.0 ** power)
        out.append(f'<line class="grid" x1="{left}" y1="{at:.1f}" x2="{left + PANEL_WIDTH}" y2="{at:.1f}"/>')
        if (power - y[0]) % (2 if y[1] - y[0] > 4 else 1) == 0:
            out.append(f'<text class="tick up" x="{left - 7}" y="{at + 4:.1f}">{length(10.0 ** power)}</text>')
    for power in range(math.floor(x[0]), math.ceil(x[1]) + 1):
        for factor in (1, 2, 5):
            ms = factor * 10.0 ** power
            if x[0] <= math.log10(ms) <= x[1]:
                at = across(ms)
                out.append(f'<line class="grid" x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{top + PANEL_HEIGHT}"/>')
                out.append(f'<text class="tick across" x="{at:.1f}" y="{top + PANEL_HEIGHT + 15}">{ms:g}</text>')
    out.append(f'<rect class="box" x="{left}" y="{top}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}"/>')
    names = []
    for ms, e, engine in points:
        colour = COLOURS[engine.split(",")[0].split(" ")[0]]
        at = (across(ms), down(e) if e else top + 8)
        radius = 6 if engine == "Sinew" else 4
        if e:
            out.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}" fill="{colour}"/>')
        else:
            cross = f"M{at[0] - 4:.1f} {at[1] - 4:.1f}l8 8m0 -8l-8 8"
            out.append(f'<path d="{cross}" stroke="{colour}" stroke-width="2"/>')
        name = engine.replace(" iterations", " it.") + ("" if e else ": flies apart")
        names.append((at[0], at[1], name, colour))
    for at_x, at_y, text, colour in place_names(names, left):
        out.append(f'<text class="name" x="{at_x:.1f}" y="{at_y:.1f}" style="fill:{colour}">{text}</text>')
    return out


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        found = tables(file.read())
    height = TOP + 2 * PANEL_HEIGHT + GAP_Y + 34
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
           f"<style>{STYLE}</style>", f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           '<text class="title" x="20" y="26">Speed and error beside other engines: left is faster, down is better</text>']
    for i, (section, scene, speed, error, title, what) in enumerate(PANELS):
        left = LEFT + (i % 2) * (PANEL_WIDTH + GAP_X)
        top = TOP + (i // 2) * (PANEL_HEIGHT + GAP_Y)
        rows = [row for row in found[section] if row["scene"] == scene]
        out += panel(left, top, rows, speed, error, title, what)
    print("\n".join(out + ["</svg>"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
