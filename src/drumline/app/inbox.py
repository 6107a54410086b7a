"""What people send to a run: answers, cancel, pause, retry, skip, mode. A driver folds it in from the inbox."""

from __future__ import annotations

import os
from collections.abc import Callable
from getpass import getuser
from shlex import quote

from drumline.app.catalog import read_run
from drumline.app.naming import find_step
from drumline.core.gateevents import GateOpened
from drumline.core.gates import check_reply
from drumline.core.ids import GateId, RunId, StepId, Stream
from drumline.core.nearest import did_you_mean
from drumline.core.plan import RUN_WALKS
from drumline.core.runfold import fold_run
from drumline.core.runlife import check_events
from drumline.core.state import Gate, RunState
from drumline.core.task import is_task
from drumline.core.vocabulary import RunEnd, StepEnd
from drumline.engine.figures import complete
from drumline.engine.messages import outcome_of
from drumline.errors import Conflict, InvalidInput
from drumline.ports.journal import Addition, Message, Store
from drumline.ports.roster import Roster
from drumline.views.gates import ANY_TEXT, answer_command
from drumline.views.snapshot import Snapshot

TRIES = 20


def name_person() -> str:
    """Who speaks at this terminal, by the name they are logged in with; empty if nobody knows."""
    try:
        return os.environ.get("USER") or getuser()
    except (KeyError, OSError):  # no variable says it, and the machine has no such user
        return ""


def check_speaker(around: RunId | None, *, jailed: bool = False) -> None:
    """Refuse to hear what a run has started: an agent or a check of the run `around` does not speak for a person.

    Neither does what is `jailed`, from which all runs are hidden.
    """
    if around is not None or jailed:
        who = f"run {around}" if around is not None else "a run"
        raise InvalidInput(
            f"what {who} has started (an agent, a check) cannot start, answer or change runs; a person has to say this",
            hint=f"drumline status {around}" if around is not None else "end with a question, and a person answers",
        )


def check_answer(run: RunState, gate: str, choice: str, comment: str | None = None) -> None:
    """Refuse an answer to a gate that does not exist, has been answered, or does not take this one."""
    found = run.gates.get(GateId(gate))
    if found is None:
        known = ", ".join(run.unanswered) or "none is open"
        raise InvalidInput(f"run {run.id} has no gate {gate!r} (open: {known})", hint="drumline status")
    if found.answer is not None:
        raise _refuse_second(run, found)
    _check_filled(found.opened, choice, comment or "")
    check_reply(found.opened, choice, comment)


def _refuse_second(run: RunState, gate: Gate) -> InvalidInput:
    """That a gate has an answer; where that was withdrawn, with the command for the gate that asks again."""
    given = gate.given or gate.answer
    who = f" by {given.by}" if given and given.by else ""
    told = f"gate {gate.opened.gate!r} was answered {given.choice if given else ''!r}{who} already"
    again = [other.opened for other in run.open_gates if other.opened.kind is gate.opened.kind]
    if gate.withdrawn is None or not again:
        return InvalidInput(told, hint="drumline status")
    return InvalidInput(f"{told}; since then {again[0].gate} asks again", hint=answer_command(again[0], driven=False))


def _check_filled(opened: GateOpened, choice: str, comment: str) -> None:
    """Refuse the word that stands for a person's own words in a command: it was copied as it is shown."""
    if choice.strip() == ANY_TEXT and ANY_TEXT not in opened.options:
        own = "'your own words'"
    elif comment.strip() == ANY_TEXT:
        own = f"{quote(choice)} --comment 'your own words'"
    else:
        return
    message = f"{ANY_TEXT} stands for what you want to say to gate {opened.gate!r}; say that instead"
    raise InvalidInput(message, hint=f"drumline answer {quote(opened.gate)} {own}")


def check_retry(run: RunState, name: str, look: Callable[[], Snapshot]) -> str:
    """Return the step or visit of this name; refuse to retry what is done, in work or unknown. One that rests is not
    in work. `look` shows where walks are.
    """
    from drumline.views.places import split_place

    step, place = split_place(run, name) or (None, "")
    if step is not None and place:
        return _check_timer(look(), step, place)
    step = check_step(run, name)
    finished = run.finished.get(step)
    if finished is not None and finished.state == StepEnd.DONE and step in RUN_WALKS:
        raise InvalidInput(f"{step} is done; it is walked again once a step has begun", hint=f"drumline why {step}")
    if finished is not None and finished.state == StepEnd.DONE:
        raise InvalidInput(f"{step} has landed as {finished.commit}; it is not done twice", hint=f"drumline why {step}")
    if step in run.declared:
        path = run.plan.by_id[step].path
        raise InvalidInput(f"{path} declares {step} done", hint=f"set its status to ready in {path}")
    if finished is None and step in run.working and step not in run.deferred:
        _check_unasked(run, step)
        raise InvalidInput(f"{step} is in work and will be tried again by itself", hint=f"drumline why {step}")
    return step


def check_heal(run: RunState, name: str, look: Callable[[], Snapshot]) -> str:
    """Return the step of this name; refuse to diagnose one that is not blocked by its checks, or a corrective one."""
    step = StepId(check_retry(run, name, look))
    finished, planned = run.finished.get(step), run.corrections.get(step)
    if planned is not None:
        raise InvalidInput(
            f"{step} is a corrective step for {planned.helps}, and is not healed itself",
            hint=f"drumline heal {planned.helps}",
        )
    if finished is None or not finished.failing:
        why = f"it is {finished.state.value}" if finished is not None else "it has not ended"
        raise InvalidInput(
            f"{step} has no work that fails its checks ({why}); only such work can be diagnosed",
            hint=f"drumline retry {step}",
        )
    return step


def _check_unasked(run: RunState, step: StepId) -> None:
    """Refuse to retry a step in work that waits for an answer: only that lets it go on."""
    gate = next((gate.opened for gate in run.open_gates if gate.opened.step == step), None)
    if gate is not None:
        message = f"{step} waits for an answer to gate {gate.gate} and continues once it is given"
        raise InvalidInput(message, hint=answer_command(gate, driven=not run.parked))


def check_skip(run: RunState, name: str) -> StepId:
    """Return the step of this name; refuse to skip what is done or unknown."""
    step = check_step(run, name)
    if not run.lands:
        raise InvalidInput(f"{step!r} is the whole run and cannot be skipped", hint=f"drumline cancel {run.id}")
    if step in RUN_WALKS:
        flow = RUN_WALKS[step].flow
        raise InvalidInput(
            f"{step} is not a step and cannot be skipped; what it does stands in the flow {flow!r}",
            hint=f"drumline resume {run.id}",
        )
    finished = run.finished.get(step)
    if finished is not None and finished.state in (StepEnd.DONE, StepEnd.SKIPPED):
        raise InvalidInput(f"{step} is {finished.state} already", hint=f"drumline why {step}")
    if step in run.declared:
        path = run.plan.by_id[step].path
        raise InvalidInput(f"{path} declares {step} done already", hint=f"drumline why {step}")
    return step


def check_cancel(run: RunState) -> None:
    """Refuse to cancel what is over. A run that is blocked or failed can be given up."""
    if run.ended is not None and not run.is_stuck:
        raise InvalidInput(
            f"run {run.id} has ended as {run.ended.state}; nothing is left to stop",
            hint=_begin_again(run),
        )


def check_pause(run: RunState, *, driven: bool) -> None:
    """Refuse to pause what does not go on anyway."""
    if run.ended is not None or run.cancel is not None:
        state = run.ended.state if run.ended is not None else "being cancelled"
        raise InvalidInput(f"run {run.id} is {state}; only a run that goes on can be paused", hint="drumline status")
    if run.pause is not None or run.parked or not driven:
        state = "paused" if run.pause is not None else "parked" if run.parked else "interrupted"
        raise InvalidInput(f"run {run.id} is {state} already; nothing of it runs", hint=f"drumline resume {run.id}")


def check_mode(run: RunState, mode: str) -> None:
    """Refuse to let an express plan's steps run side by side."""
    if run.plan.express and mode != "sequential":
        message = f"the plan of run {run.id} is an express plan, which is always sequential"
        raise InvalidInput(message, hint=f"drumline resume {run.id}")


def check_open(run: RunState) -> None:
    """Refuse to talk to a run that is over for good."""
    if run.ended is not None and run.ended.state in (RunEnd.DONE, RunEnd.CANCELLED):
        raise InvalidInput(f"run {run.id} is {run.ended.state}", hint=_begin_again(run))


async def send(store: Store, roster: Roster, run: RunId, message: Message) -> bool:
    """Leave a message for the run; True if it has taken effect already, because nobody was driving.

    InvalidInput if the gate was answered by somebody else first, or does not take this answer: there is room for one,
    and an answer that leads nowhere would keep out the one that does.
    """
    earlier = _put(store, run, message)
    driven = bool(roster.drivers(run))
    if not driven:
        # Also for a message that came too late: whoever left the first may have died before it took effect.
        await settle(store, run)
    _check_first(message, earlier, hint="drumline status" if driven else f"drumline resume {run}")
    return not driven


def put_message(store: Store, run: RunId, message: Message) -> None:
    """Leave a message for a run that is driven; InvalidInput as above."""
    _check_first(message, _put(store, run, message), hint="drumline status")


def _put(store: Store, run: RunId, message: Message) -> Message | None:
    if message.kind == "answer":
        check_answer(read_run(store, run), message.subject, message.value, message.comment)
    return store.put(run, message)


def _check_first(message: Message, earlier: Message | None, *, hint: str) -> None:
    if earlier is None:
        return
    who = f" by {earlier.by}" if earlier.by else ""
    said = f"gate {message.subject!r} was answered {earlier.value!r}{who} first; {message.value!r} does not count"
    raise InvalidInput(said, hint=hint)


async def settle(store: Store, run: RunId) -> None:
    """Fold the inbox in without a driver; a driver that comes up meanwhile simply wins the race."""
    state = read_run(store, run)
    for number, message in store.unread(run):
        for _ in range(TRIES):
            held = store.list_claims(run)
            events = outcome_of(state, message, held.keys())
            if events is None:
                break
            events = complete(store, run, events)
            check_events(state, events)
            try:
                addition = Addition(events=events, expected=state.version)
                await store.append({Stream(run): addition}, settles=[number])
            except Conflict:
                state = read_run(store, run)
                continue
            fold_run(state, events)
            break


def check_step(run: RunState, name: str) -> StepId:
    """Return the step of this name, or the walk of the run itself; refuse one that the run does not have."""
    if StepId(name) in RUN_WALKS and run.has_begun(StepId(name)):
        return StepId(name)
    step = find_step(run.plan, name)
    if step is None:
        legal = ", ".join(s.id for s in run.plan.steps[:10])
        meant = did_you_mean(name, run.plan.by_id)
        raise InvalidInput(f"run {run.id} has no step {name!r} (it has {legal}){meant}", hint="drumline status")
    return step


def _begin_again(run: RunState) -> str:
    """The command that starts the same work again, or continues it if it was only cancelled."""
    if run.ended is not None and run.ended.state == RunEnd.CANCELLED:
        return f"drumline resume {run.id}"
    if is_task(run.plan):
        return "drumline do TEXT"
    place = quote(run.begun.plan)
    return f"drumline flow run {place}" if not run.lands else f"drumline run {place} --new"


def _check_timer(snapshot: Snapshot, step: StepId, place: str) -> str:
    """Return the visit of this name if it waits for a time or is blocked; refuse any other with what it waits for."""
    from drumline.views.places import find_place, list_due, list_timers, visit_name
    from drumline.views.why import why

    found = why(snapshot, f"{step}/{place}")
    walk = snapshot.walks[step]
    key = find_place(walk, place)
    ended = snapshot.run.ended
    blocked = ended is not None and ended.state == RunEnd.BLOCKED and key in list_due(walk)
    if blocked or any(rest.key == key for rest in list_timers(walk)):
        return visit_name(key)
    raise InvalidInput(
        f"in a flow, only a visit that is blocked or waits for a quota can be retried; {found.sentence}",
        hint=found.hint,
    )
