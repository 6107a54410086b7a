"""Takes a snapshot of a run that walks a flow: reads the journal, the drivers and the inbox, and only what is new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowStarted
from drumline.core.flow.model import Flow
from drumline.core.ids import GateId, RunId
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.ports.journal import Store
from drumline.ports.roster import Roster
from drumline.views.flowhistory import FlowHistory
from drumline.views.flowsnapshot import FlowSnapshot


@dataclass(kw_only=True)
class FlowWatcher:
    """Looks at one run again and again. `recall` gives a flow by its path and digest, as the run first saw it."""

    store: Store
    roster: Roster
    recall: Callable[[str, str], Flow]
    run: RunId

    def __post_init__(self) -> None:
        self._charts: dict[str, Chart] = {}
        self._seen = 0
        self._history = FlowHistory(run=RunState(id=self.run), find_chart=self.find_chart)

    def look(self, now: float) -> FlowSnapshot:
        """The run at this moment; InvalidInput if there is none."""
        for entry in self.store.tail(self.run, after=self._seen):
            self._seen = entry.seq
            self._history.add(entry)
        if self._seen == 0:
            raise InvalidInput(f"there is no run {self.run!r}", hint="drumline runs")
        unread = self.store.unread(self.run)
        return self._history.view(
            now=now,
            live=tuple(self.roster.drivers(self.run)),
            answers={GateId(message.subject): message.value for _, message in unread if message.kind == "answer"},
        )

    def find_chart(self, started: FlowStarted) -> Chart:
        """The flow that was started, as it was then; read once."""
        if started.digest not in self._charts:
            self._charts[started.digest] = Chart(self.recall(started.path, started.digest))
        return self._charts[started.digest]
