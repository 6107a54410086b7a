"""The live board on a terminal: draws what the boards of the views say, a few times a second, on stderr."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from drumline.views.cells import Row

Rows = Callable[[int, int, int], list[Row]]
"""The rows of a board for a width, a height and a tick."""

STYLES = {
    "title": "bold",
    "dim": "dim",
    "bar": "cyan",
    "notice": "yellow",
    "running": "cyan",
    "parked": "bold magenta",
    "done": "green",
    "blocked": "bold red",
    "failed": "bold red",
    "rejected": "bold red",
    "skipped": "dim",
    "ready": "white",
    "waiting": "dim",
    "interrupted": "yellow",
    "cancelled": "yellow",
}


class LiveBoard:
    """Draws snapshots while it is open; lines said meanwhile scroll by above it."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False, no_color=bool(os.environ.get("NO_COLOR")))
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._began = time.monotonic()

    def __enter__(self) -> LiveBoard:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def draw_rows(self, rows: Rows) -> None:
        """Show whatever rows there are for the terminal as it is now."""
        width, height = self.console.size
        tick = int((time.monotonic() - self._began) * 4)
        drawn = rows(width - 1, max(8, height - 2), tick)
        text = Text("\n").join(Text.assemble(*[(part, STYLES.get(style, "")) for part, style in row]) for row in drawn)
        self._live.update(text, refresh=True)

    def say(self, line: str) -> None:
        """A line above the board."""
        self.console.print(Text(line))
