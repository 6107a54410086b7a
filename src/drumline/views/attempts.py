"""What came of each attempt at a step: who worked, what it used and who counted that, what it left behind.

The rule: an attempt that changed nothing, or that nobody can price, is said to be so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drumline.core import events as ev
from drumline.core.claims import tell_claims
from drumline.core.ids import StepId
from drumline.core.plaintext import count_noun
from drumline.core.routing import spell_agent
from drumline.core.spending import count_attempt
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import StepEnd
from drumline.record import Record, field, replace
from drumline.views.cells import flatten
from drumline.views.clashes import list_clashes, note_clash
from drumline.views.cost import describe_usage, usage_json
from drumline.views.duration import duration
from drumline.views.mutants import tell_survivors

UNCHANGED = "it called itself done and had changed no file"
MOST_NOTICES = 5


class Attempt(Record):
    """One attempt that has ended; `source` says who counted its usage."""

    number: int
    agent: str
    seconds: float = 0.0
    failure: str = ""
    unchanged: bool = False
    clash: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    notices: tuple[str, ...] = ()
    lost: bool = False


def list_attempts(run: RunState, events: Iterable[ev.Event]) -> dict[int, Attempt]:
    """The attempts that a step's stream tells of, by number."""
    found: dict[int, Attempt] = {}
    agent = ""
    events = tuple(events)
    clashes = list_clashes(events)
    for event in events:
        if isinstance(event, ev.AttemptStarted):
            agent = spell_agent(run, event.agent or event.who)
        elif isinstance(event, ev.AttemptEnded):
            ended = _describe_end(event, agent)
            found[event.attempt] = replace(ended, clash=clashes.get(event.attempt, ""))
    return found


def list_lost(run: RunState, events: Iterable[ev.Event]) -> dict[tuple[int, int], Attempt]:
    """The attempts that were cut short, by the number they had and by which of that number they were, from 1."""
    found: dict[tuple[int, int], Attempt] = {}
    begun: ev.AttemptStarted | None = None
    used = ev.AttemptUsed(usage={})
    for event in events:
        match event:
            case ev.AttemptStarted():
                begun, used = event, ev.AttemptUsed(usage={})
            case ev.AttemptUsed():
                used = event
            case ev.AttemptEnded():
                begun = None
            case ev.WorkLost() if begun is not None:
                number = begun.attempt
                place = number, 1 + sum(1 for known, _ in found if known == number)
                agent = spell_agent(run, begun.agent or begun.who)
                found[place] = Attempt(number=number, agent=agent, seconds=used.seconds, usage=used.usage, lost=True)
                begun = None
    return found


def _describe_end(event: ev.AttemptEnded, agent: str) -> Attempt:
    return Attempt(
        number=event.attempt,
        agent=agent,
        seconds=event.seconds,
        failure=event.failure,
        unchanged=event.unchanged,
        usage=event.usage,
        source=event.source,
        notices=event.told,
    )


def attempt_lines(attempt: Attempt) -> list[str]:
    """The attempt for people: a line with what it used, then what is remarkable about it."""
    used = describe_usage(attempt.usage)
    counted = f", counted by {attempt.source}" if used and attempt.source else ""
    failed = f"failed ({attempt.failure}) after" if attempt.failure else "worked"
    how = "was cut short; what is known of it was used in" if attempt.lost else failed
    told = [f"{flatten(attempt.agent)} {how} {duration(attempt.seconds)}{f'; {used}{counted}' if used else ''}"]
    told += [f"begun again: {attempt.clash}"] if attempt.clash else []
    told += [UNCHANGED] if attempt.unchanged else []
    return told + [flatten(notice) for notice in attempt.notices[:MOST_NOTICES]]


def attempt_json(attempt: Attempt) -> dict[str, object]:
    """The attempt for programs."""
    return {
        "attempt": attempt.number,
        "agent": attempt.agent,
        "seconds": attempt.seconds,
        "failure": attempt.failure or None,
        "lost": attempt.lost,
        "unchanged": attempt.unchanged,
        "usage": usage_json(count_attempt(attempt.usage)),
        "source": attempt.source or None,
        "notices": list(attempt.notices),
    }


def note_step(run: RunState, step: StepId, state: StepState | None) -> tuple[str, ...]:
    """What is worth knowing of a step beside its cause: what its agents used, and what was remarkable about them."""
    used = run.usage.get(step, {})
    told = [f"{flatten(spell_agent(run, name))} used {words}" for name in used if (words := describe_usage(used[name]))]
    finished = run.finished.get(step)
    if state is not None and (finished is None or finished.state is not StepEnd.DONE):
        told += [*_note_idle(state), *note_clash(state)]
    if finished is not None and finished.mutants.tried:
        noticed = f"{count_noun(finished.mutants.tried, 'mutant')} tried, all noticed by its checks"
        told.append(tell_survivors(finished.mutants) or noticed)
    if finished is not None and finished.claims:
        told.append(tell_claims(finished.claimed, finished.claims))
    return (*told, *map(flatten, list_notices(run, step, state)[-MOST_NOTICES:]))


def _note_idle(state: StepState) -> list[str]:
    """That the last attempt changed nothing, if so; of work that attempts before it changed, that this is theirs."""
    last = state.last
    if last is None or not last.unchanged:
        return []
    if state.ready is None or state.tree in (None, state.ready):
        return [f"after attempt {last.attempt} {UNCHANGED}"]
    return [f"attempt {last.attempt} called itself done and added nothing; the work is that of the attempts before it"]


def list_notices(run: RunState, step: StepId, state: StepState | None) -> tuple[str, ...]:
    """What was remarkable about the attempts at a step, as far as its stream was read or it is finished."""
    finished = run.finished.get(step)
    if state is not None:
        return state.notices
    return finished.notices if finished is not None else ()
