"""Watching a run from outside: one cheap poll of the store, and a picture or lines when something changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from drumline.app.look import Watcher
from drumline.cli.output import say
from drumline.core.ids import RunId
from drumline.core.vocabulary import RunStanding
from drumline.store.sqlite import SqliteStore
from drumline.views.board import board_segments
from drumline.views.cells import Row
from drumline.views.progress import Progress
from drumline.views.snapshot import Snapshot
from drumline.views.states import run_state

if TYPE_CHECKING:
    from drumline.cli.keys import Keyboard
    from drumline.cli.live import LiveBoard

POLL = 0.25
GRACE = 3.0
"""Seconds a run may be without a live driver before watching it ends: one may just be starting."""


class Listener(Protocol):
    """What draws a board and hears keys."""

    quitted: bool

    def draw(self, snapshot: Snapshot, width: int, height: int, tick: int) -> list[Row]:
        """The rows of the board."""
        ...

    def press(self, key: str, snapshot: Snapshot) -> None:
        """Do what a key is for."""
        ...


@dataclass(kw_only=True)
class Watch:
    """One look after the other at a run that others drive."""

    store: SqliteStore
    run: RunId
    watcher: Watcher
    tell: Callable[[str], None] | None = None
    tell_data: Callable[[Mapping[str, object]], None] | None = None
    board: LiveBoard | None = None
    desk: Listener | None = None
    keyboard: Keyboard | None = None

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
            self._rest()
        return False

    def _rest(self) -> None:
        """Wait for the next look, or for a key."""
        if self.desk is None or self.keyboard is None or not self.keyboard.listens:
            time.sleep(POLL)
            return
        for key in self.keyboard.read(POLL):
            self.desk.press(key, self.last)
        if self.desk.quitted:
            raise KeyboardInterrupt

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
            draw = partial(board_segments, seen) if self.desk is None else partial(self.desk.draw, seen)
            self.board.draw_rows(lambda wide, high, tick: draw(width=wide, height=high, tick=tick))

    def _is_over(self, state: str) -> bool:
        if state == RunStanding.RUNNING:
            self._idle_since = None
            return False
        self._idle_since = self._idle_since or time.monotonic()
        return state != RunStanding.INTERRUPTED or time.monotonic() - self._idle_since > GRACE


def watch(watched: Watch, open_desk: Callable[[bool], Listener], *, draw: bool, quiet: bool = False) -> None:
    """Watch with a board or with lines until nobody drives the run any more; quietly, people are told nothing.

    `open_desk` gives what draws the board and hears keys, if there are any.
    """
    if not draw:
        watched.tell = None if quiet else say
        watched.follow()
        return
    from drumline.cli.keys import Keyboard
    from drumline.cli.live import LiveBoard

    with Keyboard() as watched.keyboard, LiveBoard() as watched.board:
        board = watched.board
        watched.tell = lambda text: board.say(text.partition("\n")[0])  # the board shows the rest of a question
        watched.desk = open_desk(watched.keyboard.listens)
        watched.follow()
