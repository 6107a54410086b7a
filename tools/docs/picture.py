"""The board as a picture. It is drawn by the real board from the sample run, so it cannot show what is not there."""

from __future__ import annotations

import io

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text
from tools.docs.sample import sample_snapshot

from drumline.cli.live import STYLES
from drumline.core.ids import StepId
from drumline.record import replace
from drumline.views.board import board_segments
from drumline.views.focus import Focus
from drumline.views.transcript import Happened

WIDTH, HEIGHT = 100, 20
EDITS = Happened(at=0.0, kind="edit", text="tally/count.py")
"""What the agent of the step in work did last."""
# The exporter's own frame asks another host for its font; this one takes what the reader's machine has.
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>The board of a run</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px; \
line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def board_svg() -> str:
    """The board of the sample run in colour."""
    console = Console(
        file=io.StringIO(), record=True, width=WIDTH, height=HEIGHT, force_terminal=True, color_system="truecolor",
        legacy_windows=False, highlight=False, _environ={},
    )  # fmt: skip
    sample = sample_snapshot()
    seen = replace(sample, happened={StepId("step-4"): replace(EDITS, at=sample.now)})
    for row in board_segments(seen, width=WIDTH, height=HEIGHT, tick=0, focus=Focus(keys=True)):
        console.print(Text.assemble(*[(part, STYLES.get(style, "")) for part, style in row]), soft_wrap=True)
    drawn = console.export_svg(title="drumline", theme=SVG_EXPORT_THEME, code_format=FRAME, unique_id="board")
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"
