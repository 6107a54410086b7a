"""What a walk records: events of its step's stream and of the run's, in one commit, under the token of its claim.

The rule: one append at a time, in the order in which things were said. What is kept is appended with whatever comes
next, and before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from drumline.core import events as ev
from drumline.core import spending
from drumline.core.flow.metering import FlowMeter
from drumline.core.ids import StepId, Stream, Token
from drumline.core.runlife import check_events
from drumline.core.state import RunState
from drumline.engine.nodes.stepwork import Note
from drumline.ports.journal import Addition, Store
from drumline.record import replace


@dataclass(kw_only=True)
class WalkJournal:
    """The stream of one step, as the driver that holds it sees it. `meter` adds up what its visits used.

    `spent` is what the step's own attempts by an agent have used, empty for the run's: the run counts both as one.
    """

    store: Store
    run: RunState
    step: StepId
    token: Token
    version: int = 0
    meter: FlowMeter = field(default_factory=FlowMeter)
    spent: Callable[[str], spending.Usage] = lambda agent: {}
    _kept: Note = field(default_factory=Note)
    _writing: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))

    @property
    def stream(self) -> Stream:
        """The step's stream."""
        return Stream(self.run.id, self.step)

    def read(self) -> list[ev.Event]:
        """Everything that is recorded of the step; what is appended from here on follows it."""
        events = [entry.event for entry in self.store.read(self.stream)]
        self.version, self.meter = len(events), FlowMeter()
        return events

    def keep(self, note: Note) -> None:
        """Append with whatever is appended next, and before anything else is done."""
        self._kept = self._kept.then(note)

    async def record(self, note: Note, settled: Sequence[int] = ()) -> None:
        """Append now, together with what was kept. Nobody could tell whether an append that was cut off counts.

        Most are written at once. Only others need a scope that keeps a stop from being heard, which costs as much.
        """
        batch = None
        if not self._writing.locked():
            batch = self._collect(note, settled)
            if self._write_now(batch, settled):
                return
        with anyio.CancelScope(shield=True):
            async with self._writing:
                batch = self._collect(note, settled) if batch is None else batch
                if batch:
                    await self.store.append(batch, token=self.token, settles=settled)
                self._count(batch)

    def _write_now(self, batch: Mapping[Stream, Addition], settled: Sequence[int]) -> bool:
        """Whether there was nothing to write, or all of it could be written without waiting for anybody."""
        written = not batch or (not settled and self.store.append_now(batch, token=self.token) is not None)
        if written:
            self._count(batch)
        return written

    def _count(self, batch: Mapping[Stream, Addition]) -> None:
        self.version += len(batch[self.stream].events) if self.stream in batch else 0

    def _collect(self, note: Note, settled: Sequence[int]) -> Mapping[Stream, Addition]:
        """What is appended now: what was kept, the note, and what the visits have used by then."""
        kept, self._kept = self._kept, Note()
        note = kept.then(note)
        before = self.meter.by_agent
        for event in note.step:
            self.meter.note(event)
        counted: list[ev.UsageCounted] = []
        if self.meter.by_agent is not before:
            known = self._name_used(before)
            counted = [
                event
                for agent, used in self._name_used(self.meter.by_agent).items()
                if used != known.get(agent)
                for event in spending.count_usage(self.step, agent, spending.add_up((self.spent(agent), used)))
            ]
        said = [self._join(event) for event in note.run]
        batch = {self.stream: Addition(events=note.step, expected=self.version)} if note.step else {}
        if said or counted or settled:
            check_events(self.run, said)
            batch[Stream(self.run.id)] = Addition(events=[*counted, *said])
        return batch

    def _join(self, event: ev.Event) -> ev.Event:
        """An event of the run; what the step's attempts have used has beside it what the visits used."""
        if not isinstance(event, ev.UsageCounted) or not self.meter.total:
            return event
        beside = self._name_used(self.meter.by_agent).get(event.agent, {})
        return replace(event, usage=spending.add_up((event.usage, beside)))

    def _name_used(self, by_agent: Mapping[str, spending.Usage]) -> dict[str, dict[str, float]]:
        """What the visits have used by agent, as the run names them: its own has an empty name."""
        found: dict[str, dict[str, float]] = {}
        for agent, used in by_agent.items():
            name = "" if agent == self.run.begun.agent else agent
            found[name] = spending.add_up((found.get(name, {}), used))
        return found
