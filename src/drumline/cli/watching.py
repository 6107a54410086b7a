"""Watching a run from outside: one cheap poll of the store, and a picture or lines when something changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drumline.app.look import Watcher
from drumline.cli.output import say
from drumline.core.ids import RunId
from drumline.store.sqlite import SqliteStore
from drumline.views.board import board_segments
from drumline.views.progress import Progress
from drumline.views.snapshot import Snapshot
from drumline.views.states import run_state

if TYPE_CHECKING:
    from drumline.cli.live import LiveBoard

POLL = 0.25
GRACE = 3.0
"""Seconds a run may be without a live driver before watching it ends: one may just be starting."""


@dataclass(kw_only=True)
class Watch:
    """One look after the other at a run that others drive."""

    store: SqliteStore
    run: RunId
    watcher: Watcher
    tell: Callable[[str], None] | None = None
    tell_data: Callable[[Mapping[str, object]], None] | None = None
    board: LiveBoard | None = None

    def __post_init__(self) -> None:
        self._seen = 0
        self._progress = Progress()
        self._idle_since: float | None = None

    def follow(self, limit: float | None = None) -> bool:
        """Watch until nobody drives the run any more; False if the time ran out first."""
        began = time.monotonic()
        while limit is None or time.monotonic() - began < limit:
            self.last = self.watcher.look(time.time())
            self._tell(self.last)
            if self._is_over(run_state(self.last)):
                return True
            time.sleep(POLL)
        return False

    def is_over(self) -> bool:
        """Whether nobody drives the run any more, at this moment; nothing is told."""
        return self._is_over(run_state(self.watcher.look(time.time())))

    def _tell(self, seen: Snapshot) -> None:
        if self.tell is not None or self.tell_data is not None:
            recorded = self.store.tail(self.run, after=self._seen)
            self._seen = recorded[-1].seq if recorded else self._seen
            for line in self._progress.feed(recorded, seen.run):
                if self.tell is not None:
                    self.tell(line.text)
                if self.tell_data is not None:
                    self.tell_data(line.data)
        if self.board is not None:
            self.board.draw_rows(lambda wide, high, tick: board_segments(seen, width=wide, height=high, tick=tick))

    def _is_over(self, state: str) -> bool:
        if state == "running":
            self._idle_since = None
            return False
        self._idle_since = self._idle_since or time.monotonic()
        return state != "interrupted" or time.monotonic() - self._idle_since > GRACE


def watch(watched: Watch, *, draw: bool, quiet: bool = False) -> None:
    """Watch with a board or with lines until nobody drives the run any more; quietly, people are told nothing."""
    if not draw:
        watched.tell = None if quiet else say
        watched.follow()
        return
    from drumline.cli.live import LiveBoard

    with LiveBoard() as watched.board:
        watched.tell = watched.board.say
        watched.follow()
