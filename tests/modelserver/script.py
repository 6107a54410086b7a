"""Which turn answers which question. It depends on the conversation, and only for faults on what was asked before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from threading import Lock

from tests.modelserver.conversation import Ask, Entry
from tests.modelserver.scenario import Fault, Scenario, Turn

from drumline.errors import InvalidInput
from drumline.record import Record

# Programs also ask for a title of the session, or what to remember of it: in the user's words, but not for the user.
ASIDES = ("You are a title generator", "Generate a short title", "You are now acting as the managed memory extraction")


class Cue(Record):
    """The turn to play: the `number`th of its scenario, counted from 0, for the conversation `thread`."""

    scenario: Scenario
    number: int
    thread: str

    @property
    def turn(self) -> Turn:
        """The turn of that number; the last one serves all that come after it."""
        return self.scenario.turns[min(self.number, len(self.scenario.turns) - 1)]


class Script:
    """The scenarios of a server, and how often each fault has been played."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._scenarios = tuple(scenarios)
        self._played: dict[tuple[int, int, str], int] = {}
        self._lock = Lock()

    def cue(self, ask: Ask) -> Cue:
        """The turn for this question: as many turns in as the model has spoken since it was prompted."""
        scenario, place = self._find(ask.entries)
        later = ask.entries[place + 1 :]
        # Neighbouring pieces of the model are one turn: text and calls are separate items in some dialects.
        spoken = sum(1 for kind, _ in groupby(later, key=lambda entry: entry.kind) if kind == "assistant")
        return Cue(scenario=scenario, number=spoken, thread=ask.entries[place].text if ask.entries else "")

    def take_fault(self, cue: Cue) -> Fault | None:
        """The fault to play now, counting it; None once it has been played often enough."""
        fault = cue.turn.fault
        if fault is None:
            return None
        key = (id(cue.scenario), cue.number, cue.thread)
        with self._lock:
            self._played[key] = self._played.get(key, 0) + 1
            return fault if not fault.times or self._played[key] <= fault.times else None

    def _find(self, entries: Sequence[Entry]) -> tuple[Scenario, int]:
        newest_first = list(reversed(list(enumerate(entries))))
        for kind in ("user", "note"):
            for place, entry in (pair for pair in newest_first if pair[1].kind == kind):
                if scenario := self._match(entry.text):
                    return scenario, place
        for scenario in self._scenarios:
            if not scenario.when:
                return scenario, next((place for place, entry in newest_first if entry.kind == "user"), 0)
        marks = ", ".join(repr(scenario.when) for scenario in self._scenarios) or "none"
        raise InvalidInput(f"no scenario is for this prompt (there are: {marks})")

    def _match(self, text: str) -> Scenario | None:
        return next((s for s in self._scenarios if s.when and s.when in text), None)


def is_aside(ask: Ask) -> bool:
    """Whether the program asks for itself, such as for a title of the session."""
    return ask.system.startswith(ASIDES)
