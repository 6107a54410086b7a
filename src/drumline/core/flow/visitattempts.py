"""The agents of one visit: who was asked, who cannot go on, what a person was asked, and who is next.

The rule: a visit is over when an agent has done the work, or when nobody can. A question, a quota with a time, a
failure that passes by itself and an agent that another can stand in for only suspend it.
"""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.attempts import Again, Attempts, Ending, Timer, follow_up
from drumline.core.events import AttemptEnded, AttemptStarted
from drumline.core.flow.model import AgentNode, LlmNode
from drumline.core.flow.outcome import Outcome
from drumline.core.routing import Candidate, choose, plan_timer
from drumline.core.taxonomy import Failure, hands_over, waits
from drumline.record import replace

LOST = "The process that drove it ended."


class VisitAttempts(Attempts):
    """The attempts of a visit.

    `asked` is the attempt under way or the last. `questions` are those put to people, of which the last is open while
    `asks`; `permissions` are what that asks permission for.
    """

    asked: AttemptStarted | None = None
    attempts: int = 0
    questions: int = 0
    asks: str = ""
    permissions: tuple[str, ...] = ()

    @property
    def is_held(self) -> bool:
        """Whether an answer or a time has to come before anybody is asked again."""
        return bool(self.asks) or self.until is not None


def begin_attempt(attempts: VisitAttempts, event: AttemptStarted) -> None:
    """An agent is asked."""
    attempts.begin(event.agent)
    attempts.asked, attempts.asks = event, ""


def name_session(attempts: VisitAttempts, session: str) -> None:
    """The agent at work has said what its session is called."""
    if attempts.asked is not None:
        attempts.asked = replace(attempts.asked, new_session=session)


def lose_attempt(attempts: VisitAttempts) -> None:
    """An attempt was lost with its driver: whoever is asked next is told, as what it had done is still there."""
    attempts.cut_short = LOST


def end_attempt(attempts: VisitAttempts, event: AttemptEnded) -> None:
    """An agent concluded without ending the visit."""
    failure = find_failure(event.failure)
    attempts.attempts += 1
    attempts.asks, attempts.permissions = event.question, event.permissions
    attempts.questions += bool(event.question)
    attempts.conclude(
        Ending(
            failure=failure,
            message=event.message,
            session=event.session,
            resets_at=event.resets_at,
            ran_dry=event.ran_dry,
        )
    )
    if event.until is not None and failure is not None and hands_over(failure):
        attempts.set_timer(event.until)
    attempts.until = event.until


def suspend(
    candidates: Sequence[Candidate], attempts: VisitAttempts, ended: AttemptEnded, *, now: float
) -> AttemptEnded | None:
    """What to record of an attempt after which the visit goes on, with the time it waits for; None if it is over."""
    if ended.question or ended.ran_dry:
        return replace(ended, waits=True)
    failure = find_failure(ended.failure)
    if failure is None:
        return None
    if failure is Failure.QUOTA:
        ended = replace(ended, resets_at=plan_timer(ended.resets_at, timers=attempts.timers, now=now))
    after = replace(attempts, exhausted=dict(attempts.exhausted))
    end_attempt(after, ended)
    match follow_up(candidates, after, failure):
        case Again(delay=delay):
            return replace(ended, waits=True, until=now + delay if delay else None)
        case Timer(until=until):
            return replace(ended, waits=True, until=until)
        case _:
            return None


def choose_agent(candidates: Sequence[Candidate], attempts: VisitAttempts | None) -> Candidate:
    """Who is asked next: the first of all, and then as for the steps of a plan."""
    if attempts is None or attempts.asked is None:
        return candidates[0]
    rested = replace(attempts)
    rested.come_due()
    return choose(candidates, rested)


def find_block(node: AgentNode | LlmNode, outcome: Outcome) -> Failure | None:
    """The failure of a visit that is over without being done or judged: a person has to see to something first.

    Where the node has a `fallback`, that is what follows. A model that was busy has failed: its node says how often it
    is asked.
    """
    failure = find_failure(outcome.failure_class)
    if failure is None or not outcome.failure or outcome.waits or node.fallback is not None:
        return None
    return failure if hands_over(failure) or (isinstance(node, AgentNode) and waits(failure)) else None


def find_failure(name: str) -> Failure | None:
    """A class of the taxonomy; None for no failure, and for one that no rule knows."""
    return next((failure for failure in Failure if failure.value == name), None)
