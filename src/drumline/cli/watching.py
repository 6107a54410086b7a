"""Watching a run from outside: one cheap poll of the store, and a picture or lines when something changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drumline.cli.output import say
from drumline.cli.sights import Sight
from drumline.core.ids import RunId
from drumline.store.sqlite import SqliteStore

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
    sight: Sight
    tell: Callable[[str], None] | None = None
    board: LiveBoard | None = None

    def __post_init__(self) -> None:
        self._seen = 0
        self._idle_since: float | None = None

    def follow(self, limit: float | None = None) -> bool:
        """Watch until nobody drives the run any more; False if the time ran out first."""
        began = time.monotonic()
        while limit is None or time.monotonic() - began < limit:
            state = self.sight.look()
            self._tell()
            if self._is_over(state):
                return True
            time.sleep(POLL)
        return False

    def _tell(self) -> None:
        if self.tell is not None:
            recorded = self.store.tail(self.run, after=self._seen)
            self._seen = recorded[-1].seq if recorded else self._seen
            for line in self.sight.tell(recorded):
                self.tell(line)
        if self.board is not None:
            self.board.draw_rows(self.sight.draw)

    def _is_over(self, state: str) -> bool:
        if state == "running":
            self._idle_since = None
            return False
        self._idle_since = self._idle_since or time.monotonic()
        return state != "interrupted" or time.monotonic() - self._idle_since > GRACE


def watch(store: SqliteStore, run: RunId, sight: Sight, *, draw: bool) -> None:
    """Watch with a board or with lines until nobody drives the run any more."""
    if not draw:
        Watch(store=store, run=run, sight=sight, tell=say).follow()
        return
    from drumline.cli.live import LiveBoard

    with LiveBoard() as board:
        Watch(store=store, run=run, sight=sight, tell=board.say, board=board).follow()
