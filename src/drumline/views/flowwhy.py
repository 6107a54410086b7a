"""`drumline why [NODE]` for a run that walks a flow: what a place waits for, and the command to type next.

Every visit that is not over has a driver that acts for it, a question, or others of its round to wait for; one of them
is always named.
"""

from __future__ import annotations

from shlex import quote

from drumline.core.flow.edges import edges_of
from drumline.core.flow.model import EndNode, MapNode
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import FlowState, Key
from drumline.core.ids import DriverId, GateId
from drumline.record import Record, replace
from drumline.views.attempts import UNCHANGED
from drumline.views.causes import BLOCKER, FINISHED, OWNER, TIMER, name_some
from drumline.views.cells import flatten
from drumline.views.duration import duration
from drumline.views.flowplaces import (
    Rest,
    describe_node,
    find_callee,
    find_gate,
    find_others,
    is_driven,
    is_lost,
    list_due,
    list_rests,
    list_round,
    measure_map,
)
from drumline.views.flowsnapshot import FlowSnapshot, Trace
from drumline.views.flowstatus import begin_after_login, flow_reason, resume_after_login, tell_rest
from drumline.views.flowvisits import NEVER, find_flow_of, find_place, visit_name
from drumline.views.gates import answer_command, list_choices, retry_command
from drumline.views.states import run_state

LONGEST = 400


class FlowWhy(Record):
    """The answer: one sentence about a place or the whole run, its kind, and the command to type next."""

    name: str
    state: str
    text: str
    kind: str = BLOCKER
    hint: str = "drumline status"
    gate: GateId | None = None
    owner: DriverId | None = None
    since: float | None = None
    until: float | None = None

    @property
    def sentence(self) -> str:
        """The answer for people."""
        return f"{self.name} is {self.state}: {self.text}"


def flow_why(snapshot: FlowSnapshot, name: str = "") -> FlowWhy:
    """Why a node, a visit or the whole run is as it is; InvalidInput if there is nothing of that name."""
    if not name:
        return _explain_run(snapshot)
    key = find_place(snapshot, name)
    if snapshot.run.ended is not None:  # nobody acts or asks any more
        return _explain_past(snapshot, key)
    found = (
        _explain_acting(snapshot, key)
        or _explain_asking(snapshot, key)
        or _explain_resting(snapshot, key)
        or _explain_map(snapshot, key)
        or _explain_waiting(snapshot, key)
        or _explain_held(snapshot, key)
        or _explain_over(snapshot, key)
    )
    return found or _explain_unreached(snapshot, key)


def flow_why_json(snapshot: FlowSnapshot, found: FlowWhy) -> dict[str, object]:
    """The answer for programs."""
    return {
        "schema_version": 1,
        "run": snapshot.run.id,
        "visit": found.name,
        "state": found.state,
        "kind": found.kind,
        "sentence": found.sentence,
        "owner": found.owner,
        "gate": found.gate,
        "since": found.since,
        "until": found.until,
        "hint": found.hint,
    }


# --- the whole run ----------------------------------------------------------------------------------------------


def _explain_run(snapshot: FlowSnapshot) -> FlowWhy:
    run, state = snapshot.run, run_state(snapshot)
    said = FlowWhy(name=f"run {run.id}", state=state, text=flatten(flow_reason(snapshot), LONGEST))
    match state:
        case "running":
            return _explain_running(snapshot, said)
        case "parked" if run.unanswered:
            gate = next(iter(run.unanswered))
            return replace(said, text=_ask(snapshot, gate), gate=gate, hint=_how_to_answer(snapshot, gate))
        case "parked" if list_rests(snapshot):
            rest = list_rests(snapshot)[0]
            return replace(said, kind=TIMER, until=rest.until, hint=_go_on_early(snapshot, rest))
        case "parked" | "interrupted":
            left = [visit_name(key) for key in snapshot.began if is_lost(snapshot, key)]
            verbs = "was at work and is" if len(left) == 1 else "were at work and are"
            lost = f"; {name_some(left)} {verbs} begun again" if left else ""
            return replace(said, text=f"no driver is running{lost}", hint=f"drumline resume {run.id}")
        case _:
            return _explain_end(snapshot, said)


def _explain_running(snapshot: FlowSnapshot, said: FlowWhy) -> FlowWhy:
    inner = [key for key in snapshot.began if find_callee(snapshot, key) is None]
    acting = name_some(f"{visit_name(key)} ({_since(snapshot, key)})" for key in inner)
    asking = name_some(snapshot.run.unanswered)
    words = [f"at work: {acting}"] if acting else []
    words += [f"waiting for an answer to {asking}"] if asking else []
    words += [tell_rest(snapshot, rest) for rest in list_rests(snapshot)[:1]]
    text = "; ".join(words) or f"driver {snapshot.live[0]} is about to go on"
    return replace(said, text=text, kind=OWNER, owner=snapshot.live[0])


def _explain_end(snapshot: FlowSnapshot, said: FlowWhy) -> FlowWhy:
    end = snapshot.end
    if end is None and said.state == "blocked":
        return replace(said, hint=resume_after_login(snapshot))
    where = f"the walk came to {end.node}" if end and end.node else "the walk could not go on"
    status = f" and is {end.status}" if end and end.status != said.state else ""
    text = f"{where}{status}" + (f": {said.text}" if said.text else "")
    hint = begin_after_login(snapshot) or f"drumline logs --run {snapshot.run.id}"
    return replace(said, text=text, kind=FINISHED, hint=hint)


# --- a place that is not over -----------------------------------------------------------------------------------


def _explain_acting(snapshot: FlowSnapshot, key: Key) -> FlowWhy | None:
    since = snapshot.began.get(key)
    if since is None:
        return None
    name = visit_name(key)
    if not is_driven(snapshot):
        return _lost(snapshot, key) if is_lost(snapshot, key) else _calling(snapshot, key)
    owner = snapshot.live[0]
    text = f"driver {owner} has it: {describe_node(snapshot, key) or 'acting'}, for {_since(snapshot, key)}"
    called = find_callee(snapshot, key)
    inside = [one for one in snapshot.began if called is not None and _is_in(one, called)]
    if inside:
        text += f"; there {name_some(visit_name(one) for one in inside)} acts"
    hint = f"drumline logs {quote(call_scope(*key))}"
    return FlowWhy(name=name, state="running", text=text, kind=OWNER, owner=owner, since=since, hint=hint)


def _explain_asking(snapshot: FlowSnapshot, key: Key) -> FlowWhy | None:
    gate = find_gate(snapshot, key)
    if gate is None:
        return None
    since = snapshot.asked.get(gate)
    hint = _how_to_answer(snapshot, gate)
    return FlowWhy(name=visit_name(key), state="parked", text=_ask(snapshot, gate), gate=gate, since=since, hint=hint)


def _explain_resting(snapshot: FlowSnapshot, key: Key) -> FlowWhy | None:
    """An agent that waits for a time: nobody has to do anything but, in a run that is parked, let it go on."""
    rest = next((rest for rest in list_rests(snapshot) if rest.key == key), None)
    if rest is None:
        return None
    text = tell_rest(snapshot, rest).removeprefix(f"{visit_name(key)} ")
    hint = "drumline status" if snapshot.live else _go_on_early(snapshot, rest)
    return FlowWhy(name=visit_name(key), state="parked", text=text, kind=TIMER, until=rest.until, hint=hint)


def _explain_map(snapshot: FlowSnapshot, key: Key) -> FlowWhy | None:
    state = find_flow_of(snapshot, key)
    scope = call_scope(*key)
    gathering = state.maps.get(scope) if state else None
    if gathering is None:
        return None
    found = measure_map(scope, gathering)
    if state is not None and state.ended is not None:
        text = f"{found.done:,} of {found.total:,} items had been collected when its flow ended"
        hint = f"drumline logs {quote(call_scope(*key))}"
        return FlowWhy(name=found.name, state=state.ended.status, text=text, kind=FINISHED, hint=hint)
    text = f"{found.done:,} of {found.total:,} items are over, {found.running:,} at work"
    running = is_driven(snapshot)
    return FlowWhy(
        name=found.name,
        state="running" if running else "waiting",
        text=text if running else f"{text}; {_nobody(snapshot)}",
        kind=OWNER if running else BLOCKER,
        hint=f"drumline logs {quote(found.name)}" if running else _go_on(snapshot),
    )


def _explain_waiting(snapshot: FlowSnapshot, key: Key) -> FlowWhy | None:
    if key not in list_due(snapshot):
        return None
    state = find_flow_of(snapshot, key)
    trace = snapshot.traces.get(key)
    if trace is not None and trace.lost and not is_driven(snapshot):
        return _lost(snapshot, key)
    said = FlowWhy(name=visit_name(key), state="waiting", text="")
    if state is not None and state.reason:
        return replace(said, text=f"nothing new begins after a failure: {flatten(state.reason, LONGEST)}")
    if not is_driven(snapshot):
        return replace(said, text=f"it is due; {_nobody(snapshot)}", hint=_go_on(snapshot))
    busy = name_some(state.running) if state else ""
    text = f"it is due and waits for a free place: {busy} at work" if busy else "it is about to begin"
    return replace(said, text=text)


def _explain_held(snapshot: FlowSnapshot, key: Key) -> FlowWhy | None:
    state = snapshot.flows.get(key.scope)
    if state is None or key.node not in state.held or state.ended is not None:
        return None
    others = find_others(state, key.node)
    text = f"it waits for other branches of its round: {name_some(others)}"
    name = visit_name(Key(key.scope, key.node, state.visits.get(key.node, 0) + 1))
    said = FlowWhy(name=name, state="waiting", text=text)
    first = call_scope(key.scope, others[0], 0).removesuffix("#0") if others else ""
    return replace(said, hint=f"drumline why {quote(first)}") if first else said


# --- a place that is over, or was never reached -----------------------------------------------------------------


def _explain_past(snapshot: FlowSnapshot, key: Key) -> FlowWhy:
    return (
        _explain_unasked(snapshot, key)
        or _explain_blocked(snapshot, key)
        or _explain_map(snapshot, key)
        or _explain_over(snapshot, key)
        or _explain_unreached(snapshot, key)
    )


def _explain_unasked(snapshot: FlowSnapshot, key: Key) -> FlowWhy | None:
    """A question that nobody had answered when the run ended."""
    gate = find_gate(snapshot, key)
    if gate is None:
        return None
    state = run_state(snapshot)
    text = f"the run ended as {state} before gate {gate} was answered"
    hint = f"drumline logs --run {snapshot.run.id}"
    return FlowWhy(name=visit_name(key), state=state, text=text, kind=FINISHED, hint=hint)


def _explain_blocked(snapshot: FlowSnapshot, key: Key) -> FlowWhy | None:
    """A visit that this machine could not do."""
    trace = snapshot.traces.get(key)
    if trace is None or not trace.blocked:
        return None
    return FlowWhy(name=visit_name(key), state="blocked", text=flatten(trace.blocked, LONGEST), hint=_go_on(snapshot))


def _explain_over(snapshot: FlowSnapshot, key: Key) -> FlowWhy | None:
    trace = snapshot.traces.get(key)
    if trace is None or trace.ended is None:
        return None
    name = visit_name(key)
    hint = f"drumline logs {quote(call_scope(*key))}"
    if trace.failure:
        text = flatten(trace.failure, LONGEST)
        return FlowWhy(name=name, state="failed", text=text, kind=FINISHED, hint=hint, since=trace.ended)
    idle = f"; {UNCHANGED}" if trace.unchanged else ""
    text = f"{_count_visits(snapshot, key)}, {_how_it_ended(snapshot, trace)}{idle}"
    return FlowWhy(name=name, state="over", text=text, kind=FINISHED, hint=hint, since=trace.ended)


def _how_it_ended(snapshot: FlowSnapshot, trace: Trace) -> str:
    state = snapshot.flows.get(trace.key.scope)
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


def _count_visits(snapshot: FlowSnapshot, key: Key) -> str:
    count = sum(1 for one in snapshot.walked if one.scope == key.scope and one.node == key.node)
    return "it ended once" if count == 1 else f"visit {key.visit} of {count:,} that ended"


def _explain_unreached(snapshot: FlowSnapshot, key: Key) -> FlowWhy:
    state = snapshot.flows.get(key.scope)
    name = call_scope(key.scope, key.node, 0).removesuffix("#0") if key.visit == NEVER else visit_name(key)
    if state is not None and key.visit != NEVER and isinstance(state.chart.nodes[key.node], MapNode):
        return FlowWhy(name=name, state="over", text="all its items were collected", kind=FINISHED)
    if key in snapshot.traces:
        text = "it was at work when its flow ended, and was cut short"
        return FlowWhy(name=name, state="lost", text=text, kind=FINISHED, hint=f"drumline logs {quote(name)}")
    over = snapshot.run.ended is not None
    text = "the walk never came here" if over else "the walk has not come here yet"
    before = _list_before(state, key) if state is not None else []
    if before:
        text += f"; it is reached from {name_some(before)}"
    hint = f"drumline logs --run {snapshot.run.id}" if over else "drumline why"
    return FlowWhy(name=name, state="not reached", text=text, kind=FINISHED if over else BLOCKER, hint=hint)


def _list_before(state: FlowState, key: Key) -> list[str]:
    return [name for name, node in state.chart.nodes.items() if any(edge.target == key.node for edge in edges_of(node))]


# --- clauses ----------------------------------------------------------------------------------------------------


def _lost(snapshot: FlowSnapshot, key: Key) -> FlowWhy:
    text = f"its driver is gone; it is begun again and costs no visit ({_nobody(snapshot)})"
    return FlowWhy(name=visit_name(key), state="lost", text=text, hint=_go_on(snapshot))


def _calling(snapshot: FlowSnapshot, key: Key) -> FlowWhy:
    """A visit that called a flow is as that flow is: a question there is what it waits for."""
    text = f"{describe_node(snapshot, key)}, which is not over; {_nobody(snapshot)}"
    inside = f"{call_scope(*key)}/"
    gate = next((gate for gate in snapshot.run.unanswered if gate.startswith(inside)), None)
    hint = _go_on(snapshot) if gate is None else _how_to_answer(snapshot, gate)
    return FlowWhy(name=visit_name(key), state="waiting", text=text, gate=gate, hint=hint)


def _ask(snapshot: FlowSnapshot, gate: GateId) -> str:
    opened = snapshot.run.gates[gate].opened
    given = snapshot.answers.get(gate)
    if given is not None:
        return f"gate {gate} is answered with {flatten(given, 80)!r}, which counts as soon as a driver looks"
    return f"gate {gate} asks: {flatten(opened.question, LONGEST)} ({list_choices(opened)})"


def _how_to_answer(snapshot: FlowSnapshot, gate: GateId) -> str:
    if gate in snapshot.answers:
        return "drumline status" if snapshot.live else _go_on(snapshot)
    return answer_command(snapshot.run.gates[gate].opened, driven=bool(snapshot.live))


def _nobody(snapshot: FlowSnapshot) -> str:
    return "the run is parked" if snapshot.run.parked else "no driver is running"


def _go_on(snapshot: FlowSnapshot) -> str:
    return f"drumline resume {snapshot.run.id}"


def _go_on_early(snapshot: FlowSnapshot, rest: Rest) -> str:
    """Before its time only a retry lets a visit go on: a driver that is started would park again."""
    return retry_command(visit_name(rest.key)) if rest.until > snapshot.now else _go_on(snapshot)


def _since(snapshot: FlowSnapshot, key: Key) -> str:
    return duration(snapshot.now - snapshot.began[key])


def _is_in(key: Key, called: FlowState) -> bool:
    return key.scope == called.scope or key.scope.startswith(f"{called.scope}/")
