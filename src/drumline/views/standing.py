"""Why a place of a walk, or the whole run of a flow, is as it is, and the command to type next.

Every visit that is not over has a driver that acts for it, a question, or others of its round to wait for; one of them
is always named.
"""

from __future__ import annotations

from shlex import quote
from typing import assert_never

from drumline.core.flow.edges import edges_of
from drumline.core.flow.model import EndNode, MapNode
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import FlowState, Key
from drumline.core.ids import DriverId, GateId, StepId
from drumline.core.mutants import Mutation
from drumline.core.plaintext import name_some
from drumline.core.proof import Proof
from drumline.core.state import RunState
from drumline.core.vocabulary import RunStanding
from drumline.record import Record, replace
from drumline.views.attempts import UNCHANGED
from drumline.views.causes import BLOCKER, FINISHED, OWNER, TIMER
from drumline.views.cells import flatten
from drumline.views.duration import duration
from drumline.views.evidence import Evidence
from drumline.views.gates import answer_command, ask_shortly, retry_command
from drumline.views.places import (
    NEVER,
    Timer,
    describe_node,
    find_callee,
    find_flow_of,
    find_gate,
    find_others,
    find_place,
    is_driven,
    is_lost,
    list_due,
    list_round,
    list_timers,
    measure_map,
    visit_name,
)
from drumline.views.snapshot import Trace, Walk
from drumline.views.states import run_state
from drumline.views.status import tell_timer, tell_wait

LONGEST = 400


class Why(Record):
    """The answer: one sentence about a step, a place of a walk or the run, its kind, and the command to type next.

    `chain` leads from a step through unmet needs to the one everything hangs on. `notes` are what else is known of the
    work on it, `checks` what each of its checks said, `mutants` those of it that were tried, `worktree` is where it is
    worked on until it is done.
    """

    name: str
    state: str
    text: str
    kind: str = BLOCKER
    hint: str = "drumline status"
    step: StepId | None = None
    gate: GateId | None = None
    owner: DriverId | None = None
    since: float | None = None
    until: float | None = None
    chain: tuple[StepId, ...] = ()
    notes: tuple[str, ...] = ()
    proof: Proof | None = None
    checks: tuple[Evidence, ...] = ()
    mutants: Mutation = Mutation()
    worktree: str = ""

    @property
    def sentence(self) -> str:
        """The answer for people."""
        return f"{self.name} is {self.state}" + (f": {self.text}" if self.text else "")


def explain_place(walk: Walk, name: str) -> Why:
    """Why a node or a visit is as it is; InvalidInput if there is nothing of that name."""
    key = find_place(walk, name)
    if walk.run.ended is not None:  # nobody acts or asks any more
        return _explain_past(walk, key)
    found = (
        _explain_acting(walk, key)
        or _explain_asking(walk, key)
        or _explain_resting(walk, key)
        or _explain_map(walk, key)
        or _explain_waiting(walk, key)
        or _explain_held(walk, key)
        or _explain_over(walk, key)
    )
    return found or _explain_unreached(walk, key)


# --- the whole run of a flow --------------------------------------------------------------------------------------


def explain_walk(walk: Walk, reason: str) -> Why:
    """Why the run of a flow is as it is; `reason` is why the run does not run or has ended."""
    run, state = walk.run, run_state(walk)
    said = Why(name=f"run {run.id}", state=state, text=flatten(reason, LONGEST))
    match state:
        case RunStanding.RUNNING:
            return _explain_running(walk, said)
        case RunStanding.PARKED if run.unanswered:
            gate = next(iter(run.unanswered))
            return replace(said, text=_ask(walk, gate), gate=gate, hint=_how_to_answer(walk, gate))
        case RunStanding.PARKED if list_timers(walk):
            rest = list_timers(walk)[0]
            return replace(said, kind=TIMER, until=rest.until, hint=_go_on_early(walk, rest))
        case RunStanding.PARKED | RunStanding.INTERRUPTED:
            left = [visit_name(key) for key in walk.began if is_lost(walk, key)]
            verbs = "was at work and is" if len(left) == 1 else "were at work and are"
            lost = f"; {name_some(left)} {verbs} begun again" if left else ""
            return replace(said, text=f"no driver is running{lost}", hint=f"drumline resume {run.id}")
        case RunStanding.DONE | RunStanding.FAILED | RunStanding.REJECTED | RunStanding.BLOCKED | RunStanding.CANCELLED:
            return _explain_end(walk, said)
        case _:
            assert_never(state)


def _explain_running(walk: Walk, said: Why) -> Why:
    inner = [key for key in walk.began if find_callee(walk, key) is None]
    acting = name_some(f"{visit_name(key)} ({_since(walk, key)})" for key in inner)
    asking = name_some(walk.run.unanswered)
    words = [f"at work: {acting}"] if acting else []
    words += [f"waiting for an answer to {asking}"] if asking else []
    words += [tell_timer(rest, walk.now) for rest in list_timers(walk)[:1]]
    text = "; ".join(words) or f"driver {walk.live[0]} is about to go on"
    return replace(said, text=text, kind=OWNER, owner=walk.live[0])


def _explain_end(walk: Walk, said: Why) -> Why:
    end = walk.end
    if end is None and said.state == RunStanding.BLOCKED:
        return replace(said, hint=resume_after_login(walk.run))
    where = f"the walk came to {end.node}" if end and end.node else "the walk could not go on"
    status = f" and is {end.status}" if end and end.status != said.state else ""
    text = f"{where}{status}" + (f": {said.text}" if said.text else "")
    hint = begin_after_login(walk.run) or f"drumline logs --run {walk.run.id}"
    return replace(said, text=text, kind=FINISHED, hint=hint)


# --- a place that is not over -----------------------------------------------------------------------------------


def _explain_acting(walk: Walk, key: Key) -> Why | None:
    since = walk.began.get(key)
    if since is None:
        return None
    name = visit_name(key)
    if not is_driven(walk):
        return _lost(walk, key) if is_lost(walk, key) else _calling(walk, key)
    owner = walk.live[0]
    text = f"driver {owner} has it: {describe_node(walk, key) or 'acting'}, for {_since(walk, key)}"
    called = find_callee(walk, key)
    inside = [one for one in walk.began if called is not None and _is_in(one, called)]
    if inside:
        text += f"; there {name_some(visit_name(one) for one in inside)} acts"
    hint = f"drumline logs {quote(call_scope(*key))}"
    return Why(name=name, state="running", text=text, kind=OWNER, owner=owner, since=since, hint=hint)


def _explain_asking(walk: Walk, key: Key) -> Why | None:
    gate = find_gate(walk, key)
    if gate is None:
        return None
    since = walk.asked.get(gate)
    hint = _how_to_answer(walk, gate)
    return Why(name=visit_name(key), state="parked", text=_ask(walk, gate), gate=gate, since=since, hint=hint)


def _explain_resting(walk: Walk, key: Key) -> Why | None:
    """An agent that waits for a time: nobody has to do anything but, in a run that is parked, let it go on."""
    rest = next((rest for rest in list_timers(walk) if rest.key == key), None)
    if rest is None:
        return None
    text = tell_wait(rest, walk.now)
    hint = "drumline status" if walk.live else _go_on_early(walk, rest)
    return Why(name=visit_name(key), state="parked", text=text, kind=TIMER, until=rest.until, hint=hint)


def _explain_map(walk: Walk, key: Key) -> Why | None:
    state = find_flow_of(walk, key)
    scope = call_scope(*key)
    map_progress = state.maps.get(scope) if state else None
    if map_progress is None:
        return None
    found = measure_map(scope, map_progress)
    if state is not None and state.ended is not None:
        text = f"{found.done:,} of {found.total:,} items had been collected when its flow ended"
        hint = f"drumline logs {quote(call_scope(*key))}"
        return Why(name=found.name, state=state.ended.status, text=text, kind=FINISHED, hint=hint)
    text = f"{found.done:,} of {found.total:,} items are over, {found.running:,} at work"
    running = is_driven(walk)
    return Why(
        name=found.name,
        state="running" if running else "waiting",
        text=text if running else f"{text}; {_nobody(walk)}",
        kind=OWNER if running else BLOCKER,
        hint=f"drumline logs {quote(found.name)}" if running else _go_on(walk),
    )


def _explain_waiting(walk: Walk, key: Key) -> Why | None:
    if key not in list_due(walk):
        return None
    state = find_flow_of(walk, key)
    trace = walk.traces.get(key)
    if trace is not None and trace.lost and not is_driven(walk):
        return _lost(walk, key)
    said = Why(name=visit_name(key), state="waiting", text="")
    if state is not None and state.reason:
        return replace(said, text=f"nothing new begins after a failure: {flatten(state.reason, LONGEST)}")
    if not is_driven(walk):
        return replace(said, text=f"it is due; {_nobody(walk)}", hint=_go_on(walk))
    busy = name_some(state.running) if state else ""
    text = f"it is due and waits for a free place: {busy} at work" if busy else "it is about to begin"
    return replace(said, text=text)


def _explain_held(walk: Walk, key: Key) -> Why | None:
    state = walk.flows.get(key.scope)
    if state is None or key.node not in state.held or state.ended is not None:
        return None
    others = find_others(state, key.node)
    text = f"it waits for other branches of its round: {name_some(others)}"
    name = visit_name(Key(key.scope, key.node, state.visits.get(key.node, 0) + 1))
    said = Why(name=name, state="waiting", text=text)
    first = call_scope(key.scope, others[0], 0).removesuffix("#0") if others else ""
    return replace(said, hint=f"drumline why {quote(first)}") if first else said


# --- a place that is over, or was never reached -----------------------------------------------------------------


def _explain_past(walk: Walk, key: Key) -> Why:
    return (
        _explain_unasked(walk, key)
        or _explain_blocked(walk, key)
        or _explain_map(walk, key)
        or _explain_over(walk, key)
        or _explain_unreached(walk, key)
    )


def _explain_unasked(walk: Walk, key: Key) -> Why | None:
    """A question that nobody had answered when the run ended."""
    gate = find_gate(walk, key)
    if gate is None:
        return None
    state = run_state(walk)
    text = f"the run ended as {state} before gate {gate} was answered"
    hint = f"drumline logs --run {walk.run.id}"
    return Why(name=visit_name(key), state=state, text=text, kind=FINISHED, hint=hint)


def _explain_blocked(walk: Walk, key: Key) -> Why | None:
    """A visit that this machine could not do."""
    trace = walk.traces.get(key)
    if trace is None or not trace.blocked:
        return None
    return Why(name=visit_name(key), state="blocked", text=flatten(trace.blocked, LONGEST), hint=_go_on(walk))


def _explain_over(walk: Walk, key: Key) -> Why | None:
    trace = walk.traces.get(key)
    if trace is None or trace.ended is None:
        return None
    name = visit_name(key)
    hint = f"drumline logs {quote(call_scope(*key))}"
    if trace.failure:
        text = flatten(trace.failure, LONGEST)
        return Why(name=name, state="failed", text=text, kind=FINISHED, hint=hint, since=trace.ended)
    idle = f"; {UNCHANGED}" if trace.unchanged else ""
    text = f"{_count_visits(walk, key)}, {_how_it_ended(walk, trace)}{idle}"
    return Why(name=name, state="over", text=text, kind=FINISHED, hint=hint, since=trace.ended)


def _how_it_ended(walk: Walk, trace: Trace) -> str:
    state = walk.flows.get(trace.key.scope)
    if state is not None and isinstance(state.chart.nodes[trace.key.node], EndNode):
        return "and the flow ended here"
    leads = f"it led to {', '.join(trace.next)}" if trace.next else "its result was collected"
    took = f" after {duration(trace.seconds)}" if trace.seconds is not None else ""
    if trace.fell_back:
        return f"it fell back to {', '.join(trace.next)}{took}: {flatten(trace.fell_back, LONGEST)}"
    open_round = state is not None and any(result.node == trace.key.node for result in state.results)
    if state is None or not open_round or state.ended is not None:
        return leads + took
    return f"{leads}{took}, once {name_some(list_round(state)) or 'its round'} is over, too"


def _count_visits(walk: Walk, key: Key) -> str:
    count = sum(1 for one in walk.walked if one.scope == key.scope and one.node == key.node)
    return "it ended once" if count == 1 else f"visit {key.visit} of {count:,} that ended"


def _explain_unreached(walk: Walk, key: Key) -> Why:
    state = walk.flows.get(key.scope)
    name = call_scope(key.scope, key.node, 0).removesuffix("#0") if key.visit == NEVER else visit_name(key)
    if state is not None and key.visit != NEVER and isinstance(state.chart.nodes[key.node], MapNode):
        return Why(name=name, state="over", text="all its items were collected", kind=FINISHED)
    if key in walk.traces:
        text = "it was at work when its flow ended, and was cut short"
        return Why(name=name, state="lost", text=text, kind=FINISHED, hint=f"drumline logs {quote(name)}")
    over = walk.run.ended is not None
    text = "the walk never came here" if over else "the walk has not come here yet"
    before = _list_before(state, key) if state is not None else []
    if before:
        text += f"; it is reached from {name_some(before)}"
    hint = f"drumline logs --run {walk.run.id}" if over else "drumline why"
    return Why(name=name, state="not reached", text=text, kind=FINISHED if over else BLOCKER, hint=hint)


def _list_before(state: FlowState, key: Key) -> list[str]:
    return [name for name, node in state.chart.nodes.items() if any(edge.target == key.node for edge in edges_of(node))]


# --- clauses ----------------------------------------------------------------------------------------------------


def _lost(walk: Walk, key: Key) -> Why:
    text = f"its driver is gone; it is begun again and costs no visit ({_nobody(walk)})"
    return Why(name=visit_name(key), state="lost", text=text, hint=_go_on(walk))


def _calling(walk: Walk, key: Key) -> Why:
    """A visit that called a flow is as that flow is: a question there is what it waits for."""
    text = f"{describe_node(walk, key)}, which is not over; {_nobody(walk)}"
    inside = f"{call_scope(*key)}/"
    gate = next((gate for gate in walk.run.unanswered if gate.startswith(inside)), None)
    hint = _go_on(walk) if gate is None else _how_to_answer(walk, gate)
    return Why(name=visit_name(key), state="waiting", text=text, gate=gate, hint=hint)


def _ask(walk: Walk, gate: GateId) -> str:
    opened = walk.run.gates[gate].opened
    given = walk.answers.get(gate)
    if given is not None:
        return f"gate {gate} is answered with {flatten(given, 80)!r}, which counts as soon as a driver looks"
    return f"gate {gate} asks: {ask_shortly(opened)}"


def _how_to_answer(walk: Walk, gate: GateId) -> str:
    if gate in walk.answers:
        return "drumline status" if walk.live else _go_on(walk)
    return answer_command(walk.run.gates[gate].opened, driven=bool(walk.live))


def _nobody(walk: Walk) -> str:
    return "the run is parked" if walk.run.parked else "no driver is running"


def _go_on(walk: Walk) -> str:
    return f"drumline resume {walk.run.id}"


def _go_on_early(walk: Walk, rest: Timer) -> str:
    """Before its time only a retry lets a visit go on: a driver that is started would park again."""
    return retry_command(visit_name(rest.key)) if rest.until > walk.now else _go_on(walk)


def _since(walk: Walk, key: Key) -> str:
    return duration(walk.now - walk.began[key])


def _is_in(key: Key, called: FlowState) -> bool:
    return key.scope == called.scope or key.scope.startswith(f"{called.scope}/")


def resume_after_login(run: RunState) -> str:
    """The command that resumes a blocked run, after the login that it is blocked for."""
    login = _find_login(run)
    return f"{login} && drumline resume {run.id}" if login else f"drumline resume {run.id}"


def begin_after_login(run: RunState) -> str:
    """The command that begins a flow again which failed for want of a login; empty where that is not why."""
    login = _find_login(run)
    return f"{login} && drumline flow run {quote(run.begun.plan)}" if login else ""


def _find_login(run: RunState) -> str:
    """What to type before the run goes on, if that is why it ended."""
    finished = run.finished.get(run.ended.step) if run.ended else None
    return finished.login if finished is not None else ""
