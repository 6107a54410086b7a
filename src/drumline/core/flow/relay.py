"""The agents of one visit: who was asked, who cannot go on, what a person was asked, and who is next.

The rule: a visit is over when an agent has done the work, or when nobody can. A question, a quota with a time, a
failure that passes by itself and an agent that another can stand in for only suspend it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

from drumline.core.flow.events import AgentAsked, NodeSuspended
from drumline.core.routing import Candidate, choose, find_rest, has_other, plan_rest
from drumline.core.taxonomy import MOST_CRASHES, RULES, WAITS, Failure, hands_over, waits
from drumline.record import replace

LOST = "The process that drove it ended."


@dataclass(kw_only=True, slots=True)
class Relay:
    """What the attempts of a visit came to; only the fold of its flow changes it.

    `asked` is the attempt under way or the last, `session` one that its agent can go on with. `questions` are those put
    to people, of which the last is open while `asks`; `until` is the time that is waited for. `exhausted` are agents
    that cannot go on, with the time from which they can where that is known. `cut_short` says how the last attempt
    ended, if something else than its work ended it.
    """

    asked: AgentAsked | None = None
    session: str = ""
    attempts: int = 0
    questions: int = 0
    asks: str = ""
    until: float | None = None
    exhausted: dict[str, float | None] = field(default_factory=dict)
    crashes: int = 0
    waits: int = 0
    rests: int = 0
    cut_short: str = ""

    @property
    def agent(self) -> str:
        """Who was asked last."""
        return self.asked.agent if self.asked else ""

    @property
    def is_held(self) -> bool:
        """Whether an answer or a time has to come before anybody is asked again."""
        return bool(self.asks) or self.until is not None


def begin_attempt(relay: Relay, event: AgentAsked) -> None:
    """An agent is asked: whatever was waited for has come. If this is lost, its session is not gone on with."""
    if event.agent != relay.agent:
        relay.waits = relay.crashes = 0
    if relay.until is not None:
        due = relay.until
        relay.exhausted = {name: time for name, time in relay.exhausted.items() if time is None or time > due}
    relay.asked, relay.session, relay.asks, relay.until = event, "", "", None


def name_session(relay: Relay, session: str) -> None:
    """The agent at work has said what its session is called."""
    if relay.asked is not None:
        relay.asked = replace(relay.asked, new_session=session)


def lose_attempt(relay: Relay) -> None:
    """An attempt was lost with its driver: whoever is asked next is told, as what it had done is still there."""
    relay.cut_short = LOST


def end_attempt(relay: Relay, event: NodeSuspended) -> None:
    """An agent concluded without ending the visit."""
    failure = find_failure(event.failure)
    relay.attempts += 1
    relay.asks, relay.until = event.question, event.until
    relay.questions += bool(event.question)
    relay.session = event.session if failure is not Failure.CRASH else ""
    relay.crashes = relay.crashes + 1 if failure is Failure.CRASH else 0
    relay.waits = relay.waits + 1 if failure and waits(failure) else 0
    relay.cut_short = (event.message or RULES[failure].means) if failure else ""
    if failure is None or not hands_over(failure):
        relay.rests = 0
    elif event.until is not None:
        relay.rests += 1
    if failure and (hands_over(failure) or relay.crashes >= MOST_CRASHES):
        relay.exhausted[relay.agent] = event.resets_at


def suspend(candidates: Sequence[Candidate], relay: Relay, ended: NodeSuspended, *, now: float) -> NodeSuspended | None:
    """What to record of an attempt after which the visit goes on, with the time it waits for; None if it is over."""
    if ended.question:
        return ended
    failure = find_failure(ended.failure)
    if failure is None:
        return None
    if failure is Failure.QUOTA:
        ended = replace(ended, resets_at=plan_rest(ended.resets_at, rests=relay.rests, now=now))
    after = dataclasses.replace(relay, exhausted=dict(relay.exhausted))
    end_attempt(after, ended)
    gives_up = hands_over(failure) or after.crashes >= MOST_CRASHES
    if gives_up and has_other(candidates, after):
        return ended
    if waits(failure) and relay.waits < len(WAITS):
        return replace(ended, until=now + WAITS[relay.waits])
    until = find_rest(candidates, after) if gives_up else None
    return None if until is None else replace(ended, until=until)


def choose_agent(candidates: Sequence[Candidate], relay: Relay | None) -> Candidate:
    """Who is asked next: the first of all, and then as for the steps of a plan."""
    if relay is None or relay.asked is None:
        return candidates[0]
    if relay.until is None:
        return choose(candidates, relay)
    due = relay.until
    rested = {name: time for name, time in relay.exhausted.items() if time is None or time > due}
    return choose(candidates, dataclasses.replace(relay, exhausted=rested))


def find_failure(name: str) -> Failure | None:
    """A class of the taxonomy; None for no failure, and for one that no rule knows."""
    return next((failure for failure in Failure if failure.value == name), None)
