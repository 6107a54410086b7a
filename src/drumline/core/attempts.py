"""What agents came to at one piece of work, and what follows: at a step of a plan as at a visit in a flow.

The rule: an agent keeps the work as long as it can go on. Where it cannot, another takes over; a failure that passes by
itself is waited for, 2 s, then 4 s; a quota is waited for where its time is known. What the work itself is worth is not
decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.routing import Candidate, find_timer, has_other
from drumline.core.taxonomy import MOST_CRASHES, RULES, WAITS, Failure, consumes_fix, hands_over, waits
from drumline.record import Record, State, field


def count_for_agent(readings: Mapping[int, str], attempt: int, *, node: str) -> int:
    """The number under which an agent knows an attempt at a step: the journal counts those that only read, too.

    Who works on the step counts the attempts at the work; who only reads counts the readings of its node. So a script,
    or a program that looks at the number, does the same with any `rigor`. `readings` are nodes by those numbers.
    """
    if attempt in readings:
        return sum(1 for number, name in readings.items() if name == node and number <= attempt)
    return attempt - sum(1 for number in readings if number < attempt)


class Attempts(State):
    """What became of the agents of one piece of work; only a fold changes it.

    `agent` was asked last, `session` is one that it can continue. `exhausted` are agents that cannot go on, with the
    time from which they can where that is known. `crashes` and `waits` count failures in a row of this agent, `timers`
    how often in a row a quota was waited for; `until` is the time that is waited for. `cut_short` says how the last
    attempt ended, if something else than its work ended it.
    """

    agent: str = ""
    session: str = ""
    exhausted: dict[str, float | None] = field(default_factory=dict)
    crashes: int = 0
    waits: int = 0
    timers: int = 0
    until: float | None = None
    cut_short: str = ""

    def begin(self, agent: str) -> None:
        """An agent is asked: whatever was waited for has come. If this is lost, its session is not continued."""
        if agent != self.agent:
            self.waits = self.crashes = 0
        self.come_due()
        self.agent, self.session = agent, ""

    def come_due(self) -> None:
        """The time that was waited for has come: agents whose time it was can go on."""
        if self.until is not None:
            due, self.until = self.until, None
            self.exhausted = {name: time for name, time in self.exhausted.items() if time is None or time > due}

    def refresh(self) -> None:
        """An agent that could not continue is tried again, as often as at first."""
        self.crashes = self.waits = self.timers = 0
        self.exhausted, self.until = {}, None

    def conclude(self, ended: Ending) -> None:
        """An agent concluded."""
        failure = ended.failure
        self.session = ended.session if failure is not Failure.CRASH else ""
        self.crashes = self.crashes + 1 if failure is Failure.CRASH else 0
        self.waits = self.waits + 1 if failure and waits(failure) else 0
        told = failure is not None and not consumes_fix(failure)
        self.cut_short = (ended.message or RULES[failure].means) if failure and told else ""
        if failure is None or not hands_over(failure):
            self.timers = 0
        if failure and not ended.ran_dry and self.gives_up(failure):
            self.exhausted[self.agent] = ended.resets_at

    def set_timer(self, until: float) -> None:
        """A quota is waited for."""
        self.until = until
        self.timers += 1

    def gives_up(self, failure: Failure) -> bool:
        """Whether the agent that failed so cannot go on."""
        return hands_over(failure) or self.crashes >= MOST_CRASHES


class Ending(Record):
    """How an attempt ended. `ran_dry` says that it had spent the money it was given: it could continue with more."""

    failure: Failure | None = None
    message: str = ""
    session: str = ""
    resets_at: float | None = None
    ran_dry: bool = False


class Again(Record):
    """An agent is asked again, after a delay: the same, or another that takes over."""

    delay: float = 0.0


class Timer(Record):
    """Nobody can go on before this time."""

    until: float


class Over(Record):
    """Nothing is left to try: what follows depends on the failure."""


def follow_up(candidates: Sequence[Candidate], tried: Attempts, failure: Failure) -> Again | Timer | Over:
    """What follows an attempt that failed so, and is concluded already."""
    gives_up = tried.gives_up(failure)
    if gives_up and has_other(candidates, tried):
        return Again()
    if waits(failure) and tried.waits <= len(WAITS):
        return Again(delay=WAITS[tried.waits - 1])
    until = find_timer(candidates, tried) if gives_up else None
    return Over() if until is None else Timer(until=until)
