"""One way to look at any run, whether it works through a plan or walks a flow: the commands do not tell them apart."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from drumline.app.catalog import read_run
from drumline.app.flowlook import FlowWatcher
from drumline.app.look import Watcher
from drumline.core.ids import RunId
from drumline.core.recorded import Recorded
from drumline.store.sqlite import SqliteStore
from drumline.views.board import board_segments
from drumline.views.cells import Row
from drumline.views.flowboard import flow_segments
from drumline.views.flowprogress import FlowProgress
from drumline.views.flowsnapshot import FlowSnapshot
from drumline.views.flowstatus import flow_status_json, flow_summary_lines
from drumline.views.progress import Progress
from drumline.views.snapshot import Snapshot
from drumline.views.states import run_state
from drumline.views.status import status_json
from drumline.views.summary import summary, summary_lines
from drumline.wiring import Site


class Sight(Protocol):
    """A run seen from outside. `look` comes first; everything else speaks of the moment of the last look."""

    def look(self) -> str:
        """Look again; the run's state."""
        ...

    def tell(self, entries: Sequence[Recorded]) -> list[str]:
        """What happened, for people."""
        ...

    def draw(self, width: int, height: int, tick: int) -> list[Row]:
        """The board."""
        ...

    def report(self) -> dict[str, object]:
        """The status for programs."""
        ...

    def conclude(self) -> list[str]:
        """What a run leaves its user with."""
        ...


@dataclass(kw_only=True)
class PlanSight:
    """A run that works through a plan."""

    watcher: Watcher
    _progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self._seen: Snapshot

    def look(self) -> str:
        """Look again; the run's state."""
        self._seen = self.watcher.look(time.time())
        return run_state(self._seen)

    def tell(self, entries: Sequence[Recorded]) -> list[str]:
        """What happened, for people."""
        return [line.text for line in self._progress.feed(entries, self._seen.run)]

    def draw(self, width: int, height: int, tick: int) -> list[Row]:
        """The board."""
        return board_segments(self._seen, width=width, height=height, tick=tick)

    def report(self) -> dict[str, object]:
        """The status for programs."""
        return status_json(self._seen)

    def conclude(self) -> list[str]:
        """What a run leaves its user with."""
        return summary_lines(summary(self._seen))


@dataclass(kw_only=True)
class FlowSight:
    """A run that walks a flow."""

    watcher: FlowWatcher
    _progress: FlowProgress = field(default_factory=FlowProgress)

    def __post_init__(self) -> None:
        self._seen: FlowSnapshot

    def look(self) -> str:
        """Look again; the run's state."""
        self._seen = self.watcher.look(time.time())
        return run_state(self._seen)

    def tell(self, entries: Sequence[Recorded]) -> list[str]:
        """What happened, for people."""
        return [line.text for entry in entries for line in self._progress.feed((entry.event,), at=entry.at)]

    def draw(self, width: int, height: int, tick: int) -> list[Row]:
        """The board."""
        return flow_segments(self._seen, width=width, height=height, tick=tick)

    def report(self) -> dict[str, object]:
        """The status for programs."""
        return flow_status_json(self._seen)

    def conclude(self) -> list[str]:
        """What a run leaves its user with, the output of its end included."""
        output = self._seen.end.output.splitlines() if self._seen.end else []
        return [*flow_summary_lines(self._seen), *output]


def open_sight(site: Site, store: SqliteStore, run: RunId) -> Sight:
    """Look at a run, whatever it does; nothing is read before the first look."""
    state = read_run(store, run)
    if state.flow is not None:
        return FlowSight(watcher=site.flow_watcher(store, run))
    return PlanSight(watcher=site.watcher(store, state))
