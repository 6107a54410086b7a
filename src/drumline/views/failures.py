"""Every failure in a run and what came of it. The rule: one that nothing was done about yet is said to be open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drumline.core import events as ev
from drumline.core.acceptance import find_yes, list_red, list_red_steps, tell_red
from drumline.core.ids import FINAL, StepId
from drumline.core.recorded import Recorded
from drumline.core.routing import spell_agent
from drumline.core.state import RunState
from drumline.core.vocabulary import GateKind
from drumline.record import Record
from drumline.views.cells import flatten

LONGEST = 300
OPEN = "open"


class Failed(Record):
    """One failure: who failed at what, when, its class, what it said, and what came of it."""

    at: float
    step: StepId
    agent: str
    what: str
    failure: str
    message: str
    resolution: str


def list_failures(run: RunState, step: StepId, entries: Sequence[Recorded]) -> list[Failed]:
    """The failures that a step's stream tells of, oldest first."""
    found: list[Failed] = []
    agent = ""
    for place, entry in enumerate(entries):
        event = entry.event
        if isinstance(event, ev.AttemptStarted):
            agent = spell_agent(run, event.agent or event.who)
        told = _describe(event)
        if told is not None:
            what, failure, message = told
            came = _resolve(run, step, event, [later.event for later in entries[place + 1 :]])
            words = flatten(message, LONGEST)
            found.append(
                Failed(at=entry.at, step=step, agent=agent, what=what, failure=failure, message=words, resolution=came)
            )
    return found


def failure_lines(failed: Failed, clock: Callable[[float], str]) -> list[str]:
    """A failure for people."""
    head = f"{clock(failed.at)}  {failed.step}  {failed.what}  {failed.failure}"
    told = [f"  {failed.message}"] if failed.message else []
    return [f"{head}  ({flatten(failed.agent)})" if failed.agent else head, *told, f"  → {failed.resolution}"]


def failure_json(failed: Failed) -> dict[str, object]:
    """A failure for programs."""
    return {
        "at": failed.at,
        "step": failed.step,
        "agent": failed.agent or None,
        "what": failed.what,
        "class": failed.failure,
        "message": failed.message,
        "resolution": failed.resolution,
    }


def _describe(event: ev.Event) -> tuple[str, str, str] | None:
    """What failed, its class and its message."""
    match event:
        case ev.AttemptEnded() if event.failure:
            return f"attempt {event.attempt}", event.failure, event.message
        case ev.CheckEnded() if event.failed:
            why = event.evidence or event.output.rstrip().rpartition("\n")[2]
            return f"check {flatten(event.command, 80)}", event.failure or "failed", why
        case ev.WorkspaceFailed():
            return "workspace", "setup", event.reason
        case ev.LandingRefused() if not event.retry and event.behind is None:
            return "landing", "refused", event.reason
        case ev.WorkLost():
            return "attempt", "lost", "it was cut short with its driver, or killed"
    return None


def _resolve(run: RunState, step: StepId, event: ev.Event, after: Sequence[ev.Event]) -> str:
    """What came of a failure: the check passed later, another attempt was made, or how the step ended."""
    if isinstance(event, ev.CheckEnded):
        again = [later for later in after if isinstance(later, ev.CheckEnded) and later.check == event.check]
        if again and not again[-1].failed:
            return _tell_next(run, after, "passed later")
        if step == FINAL and (accepted := _tell_red(run, event.command)):
            return accepted
    return _tell_next(run, after, _tell_end(run, step))


def _tell_red(run: RunState, command: str) -> str:
    """Whose check fails on the head of the run branch, and who accepted that; empty if it is no step's own."""
    red = [step for step in list_red_steps(run) if command in list_red(run, step)]
    if not red:
        return ""
    yes = find_yes(run, red[0])
    asked = next((gate.opened.gate for gate in run.open_gates if gate.opened.kind is GateKind.ACCEPT), "")
    came = f"accepted by {flatten(yes.by)} at gate {yes.gate}" if yes else f"gate {asked} asks" if asked else OPEN
    return f"{'; '.join(f'{step.id}: {tell_red(run, step)}' for step in red)}; {came}"


def _tell_end(run: RunState, step: StepId) -> str:
    finished = run.finished.get(step)
    if finished is None:
        return OPEN
    return f"landed by {finished.landed_by}" if finished.landed_by else f"the step is {finished.state.value}"


def _tell_next(run: RunState, after: Sequence[ev.Event], ended: str) -> str:
    for later in after:
        if isinstance(later, ev.AttemptStarted):
            done = later.node if later.reads else f"attempt {later.attempt}"
            return f"{flatten(done)} by {flatten(spell_agent(run, later.agent or later.who))}; {ended}"
    return ended
