"""A graph of steps as SVG: layers from left to right by depth, an edge for every need. No text can leave its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from drumline.core.plaintext import strip_controls
from drumline.record import Record

WIDE, HIGH, GAP_X, GAP_Y, PAD = 190, 44, 46, 14, 12
LONGEST = 26
"""Characters of a line in a box."""


class Box(Record):
    """A step to draw."""

    id: str
    title: str
    state: str
    needs: tuple[str, ...]
    critical: bool = False


def graph_svg(boxes: Sequence[Box], *, standalone: bool = True) -> str:
    """The graph; with `standalone` it has its own colours, light and dark, else those of the page around it."""
    depth = _find_depths(boxes)
    columns: dict[int, list[Box]] = {}
    for box in boxes:
        columns.setdefault(depth[box.id], []).append(box)
    places = {
        box.id: (PAD + column * (WIDE + GAP_X), PAD + row * (HIGH + GAP_Y))
        for column, members in columns.items()
        for row, box in enumerate(members)
    }
    width = 2 * PAD + (max(columns, default=0) + 1) * (WIDE + GAP_X) - GAP_X
    height = 2 * PAD + max(map(len, columns.values()), default=0) * (HIGH + GAP_Y) - GAP_Y
    known = {box.id: box for box in boxes}
    edges = [
        _edge(places[need], places[box.id], hot=box.critical and known[need].critical)
        for box in boxes
        for need in dict.fromkeys(box.needs)
        if need in known and depth[need] < depth[box.id]
    ]
    drawn = [*edges, *(_box(box, places[box.id]) for box in boxes)]
    style, space = (f"<style>{STYLE}</style>", ' xmlns="http://www.w3.org/2000/svg"') if standalone else ("", "")
    head = f'<svg{space} viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'{head} role="img" class="dag">{style}{"".join(drawn)}</svg>\n'


def _find_depths(boxes: Sequence[Box]) -> Mapping[str, int]:
    """How many needs there are one after the other before each; in a circle everything is at the beginning."""
    known = {box.id: box for box in boxes}
    depth = dict.fromkeys(known, 0)
    for _ in boxes:
        deeper = {
            box.id: max((depth[need] + 1 for need in box.needs if need in known and need != box.id), default=0)
            for box in boxes
        }
        if deeper == depth:
            break
        depth = {name: min(value, len(known)) for name, value in deeper.items()}
    return depth


def _edge(start: tuple[int, int], end: tuple[int, int], *, hot: bool) -> str:
    x1, y1, x2, y2 = start[0] + WIDE, start[1] + HIGH // 2, end[0], end[1] + HIGH // 2
    half = (x1 + x2) // 2
    return f'<path class="edge{" hot" if hot else ""}" d="M{x1} {y1} C{half} {y1} {half} {y2} {x2} {y2}"/>'


def _box(box: Box, place: tuple[int, int]) -> str:
    x, y = place
    title = "" if box.title in ("", box.id) else box.title
    name = f'<text x="{x + 10}" y="{y + (18 if title else 27)}" class="name">{clean(box.id)}</text>'
    more = f'<text x="{x + 10}" y="{y + 34}" class="title">{clean(title)}</text>' if title else ""
    told = f"<title>{clean(f'{box.id}: {box.title} ({box.state})', 300)}</title>"
    look = f"box s-{box.state if box.state.isalpha() else 'waiting'}{' hot' if box.critical else ''}"
    return f'<g><rect class="{look}" x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6"/>{told}{name}{more}</g>'


def clean(text: str, most: int = LONGEST) -> str:
    """A text for a page: one line without controls, cut, and with everything escaped that is syntax there."""
    flat = " ".join(strip_controls(text.replace("\n", " ").replace("\t", " ")).split())
    return escape(flat if len(flat) <= most else flat[: most - 1] + "…", quote=True)


_LIGHT = (
    "--ink:#1f2328;--soft:#59636e;--line:#8c959f;--page:#ffffff;--hot:#bc4c00;--done:#dafbe1;--done-line:#1a7f37;"
    "--running:#fff8c5;--running-line:#9a6700;--parked:#fbefff;--parked-line:#8250df;--blocked:#ffebe9;"
    "--blocked-line:#cf222e;--waiting:#f6f8fa;--waiting-line:#8c959f;--ready:#ddf4ff;--ready-line:#0969da"
)
_DARK = (
    "--ink:#e6edf3;--soft:#9198a1;--line:#656c76;--page:#0d1117;--hot:#f0883e;--done:#12261e;--done-line:#3fb950;"
    "--running:#272115;--running-line:#d29922;--parked:#241b35;--parked-line:#a371f7;--blocked:#2d1316;"
    "--blocked-line:#f85149;--waiting:#151b23;--waiting-line:#656c76;--ready:#0c2135;--ready-line:#4493f8"
)
COLOURS = f":root{{{_LIGHT}}}@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}@media print{{:root{{{_LIGHT}}}}}"
"""Colours for light, dark and paper."""
_SHAPES = (
    "svg text{font:13px system-ui,sans-serif;fill:var(--ink)}svg .name{font-weight:600}svg .title{fill:var(--soft);"
    "font-size:12px}svg .edge{fill:none;stroke:var(--line);stroke-width:1.5}svg .edge.hot{stroke:var(--hot);"
    "stroke-width:2.5}svg .box{stroke-width:1.5;fill:var(--waiting);stroke:var(--waiting-line)}"
)
_STATES = "".join(
    f"svg .s-{name}{{fill:var(--{colour});stroke:var(--{colour}-line)}}"
    for name, colour in (
        ("done", "done"),
        ("running", "running"),
        ("parked", "parked"),
        ("blocked", "blocked"),
        ("failed", "blocked"),
        ("rejected", "blocked"),
        ("ready", "ready"),
    )
)
STYLE = f"{COLOURS}{_SHAPES}{_STATES}svg .box.hot{{stroke-width:3}}"
