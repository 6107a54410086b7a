"""Watching a run from outside: one cheap poll of the store, and a picture or lines when something changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drumline.app.look import Watcher
from drumline.cli.output import say
from drumline.store.sqlite import SqliteStore
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
    watcher: Watcher
    tell: Callable[[str], None] | None = None
    board: LiveBoard | None = None

    def __post_init__(self) -> None:
        self._progress = Progress()
        self._seen = 0
        self._idle_since: float | None = None

    def follow(self, limit: float | None = None) -> bool:
        """Watch until nobody drives the run any more; False if the time ran out first."""
        began = time.monotonic()
        while limit is None or time.monotonic() - began < limit:
            snapshot = self.watcher.look(time.time())
            self._tell(snapshot)
            if self._is_over(run_state(snapshot)):
                return True
            time.sleep(POLL)
        return False

    def _tell(self, snapshot: Snapshot) -> None:
        recorded = self.store.tail(self.watcher.run, after=self._seen)
        self._seen = recorded[-1].seq if recorded else self._seen
        for line in self._progress.feed(recorded, snapshot.run):
            if self.tell is not None:
                self.tell(line.text)
        if self.board is not None:
            self.board.draw(lambda: snapshot)

    def _is_over(self, state: str) -> bool:
        if state == "running":
            self._idle_since = None
            return False
        self._idle_since = self._idle_since or time.monotonic()
        return state != "interrupted" or time.monotonic() - self._idle_since > GRACE


def watch(store: SqliteStore, watcher: Watcher, *, draw: bool) -> None:
    """Watch with a board or with lines until nobody drives the run any more."""
    if not draw:
        Watch(store=store, watcher=watcher, tell=say).follow()
        return
    from drumline.cli.live import LiveBoard

    with LiveBoard() as board:
        Watch(store=store, watcher=watcher, tell=board.say, board=board).follow()
