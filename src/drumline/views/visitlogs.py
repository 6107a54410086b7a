"""What `drumline logs` tells of the visits of a flow: what each wrote, and the state after it.

Nothing is kept twice: states are worked out by folding the journal up to the end of a visit.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from drumline.core.events import AttemptStarted, CheckStarted, ComparisonStarted, Event, WorkspaceAssigned
from drumline.core.flow.events import FlowEnded, NodeEnded, NodeStarted
from drumline.core.flow.fold import fold_flows
from drumline.core.flow.model import Json, NodeId
from drumline.core.flow.scopes import call_scope, parent_scope, split_item
from drumline.core.flow.state import FlowState, Key
from drumline.record import Record, field
from drumline.views.cells import flatten
from drumline.views.duration import duration
from drumline.views.snapshot import Trace, Walk
from drumline.views.status import trace_json
from drumline.views.walks import FindChart

LONGEST_TEXT = 500
"""Characters of a text in a state that is shown to people."""
LONGEST_VALUE = 100
"""Characters of a value in the header of a visit."""


WORKED, PROMPT, SETUP = "attempt", "prompt", "setup"
"""How the names of transcripts, of prompts and of the log of the setup command begin."""
CHECKED = ("check", "base", "base_source", "base_judge", "work")
"""How the names of the logs of checks begin: on the work, and on trees it is compared with."""
NUMBERED = re.compile(r"[-.]")
NO_NUMBERS: Mapping[str, Key] = MappingProxyType({})


class Moment(Record):
    """The end of one visit: what it wrote, and the values then, or None where its flow keeps no states.

    What a visit of a fan-out wrote is in the values once its whole round is over.
    """

    key: Key
    flow: str
    writes: Mapping[str, Json] = field(default_factory=dict)
    values: Mapping[str, Json] | None = None


def replay(events: Iterable[Event], wanted: Collection[Key], find_chart: FindChart) -> Iterator[Moment]:
    """The ends of the wanted visits, in order."""
    flows: dict[str, FlowState] = {}
    for event in events:
        fold_flows(flows, (event,), find_chart=find_chart)
        if not isinstance(event, NodeEnded | FlowEnded):
            continue
        key = Key(event.scope, event.node, event.visit if isinstance(event, NodeEnded) else 1)
        if key in wanted:
            state = flows[key.scope if key.scope in flows else parent_scope(key.scope)]
            yield _stop_at(key, event, state)
        if isinstance(event, FlowEnded) and event.scope:
            del flows[event.scope]


def match_logs(
    names: Iterable[str], keys: Sequence[Key], *, prompts: bool, numbered: Mapping[str, Key] = NO_NUMBERS
) -> dict[Key, list[str]]:
    """The log files of each visit, in the order they are given; prompts only if they are wanted.

    `numbered` has the visits of logs that are called by the number of an attempt at a step.
    """
    stems = {call_scope(*key).replace("/", "~"): key for key in keys}
    found: dict[Key, list[str]] = {key: [] for key in keys}
    for name in names:
        stem, kind = split_log(name)
        key = stems.get(stem) or numbered.get("-".join(NUMBERED.split(name, maxsplit=2)[:2]))
        if key in found and (prompts or not _is_prompt(kind if stem in stems else name)):
            found[key].append(name)
    return found


def number_logs(events: Iterable[Event]) -> dict[str, Key]:
    """The visits of a step's logs, by how their names begin: `attempt-2`, `check-2`, `base-2`, `setup-log`.

    Checks are called by the attempt whose work they judge.
    """
    found: dict[str, Key] = {}
    visit, attempt = Key("", NodeId(""), 0), 0
    for event in events:
        match event:
            case NodeStarted():
                visit = Key(event.scope, event.node, event.visit)
            case WorkspaceAssigned():
                found[f"{SETUP}-log"] = visit
            case AttemptStarted():
                attempt, key = event.attempt, Key(event.scope, NodeId(event.node), event.visit)
                found |= {f"{kind}-{attempt}": key for kind in (WORKED, PROMPT)}
            case CheckStarted() | ComparisonStarted():
                found |= {f"{kind}-{attempt}": visit for kind in CHECKED}
    return found


def _is_prompt(kind: str) -> bool:
    """Agents are given `prompt-1.md`; what a model was asked is beside its answer, as `model-1.log.prompt`."""
    return kind.startswith(PROMPT) or kind.endswith(".prompt")


def split_log(name: str) -> tuple[str, str]:
    """The visit and the kind in a log's name: `fix#2~ask#1.agent-1.log`. A node's id may have points in it."""
    visit, sign, number_and_kind = name.rpartition("#")
    number, _, kind = number_and_kind.partition(".")
    return f"{visit}{sign}{number}", kind


def head_lines(walk: Walk, trace: Trace, moment: Moment | None) -> list[str]:
    """A visit in a few lines: its name and how it ended, then what it wrote."""
    lines = [f"{call_scope(*trace.key)}: {_outcome(walk, trace)}"]
    if moment is None or moment.values is None:
        return lines + ([f"  wrote {', '.join(trace.wrote)}"] if trace.wrote else [])
    return [*lines, *(f"  wrote {flatten(key)}: {_brief(value)}" for key, value in moment.writes.items())]


def state_lines(moment: Moment) -> list[str]:
    """The state after a visit, readable; a sentence if its flow keeps none."""
    if moment.values is None:
        return [f"  flow {flatten(moment.flow)} keeps no states (log_state_snapshots: false)"]
    text = json.dumps(_shorten(moment.values), indent=2, ensure_ascii=False)
    return ["  state:", *(f"  {_clean(line)}" for line in text.splitlines())]


def visit_json(
    trace: Trace, moment: Moment | None, logs: Sequence[Mapping[str, object]], *, state: bool
) -> dict[str, object]:
    """A visit with its logs for programs; with `state` also the values after it, whole."""
    data: dict[str, object] = {**trace_json(trace), "logs": list(logs)}
    if state:
        data["state"] = dict(moment.values) if moment is not None and moment.values is not None else None
    return data


def _stop_at(key: Key, event: NodeEnded | FlowEnded, state: FlowState) -> Moment:
    flow = state.chart.flow
    kept = dict(state.values) if flow.settings.log_state_snapshots else None
    return Moment(key=key, flow=flow.name, writes=event.writes or _collected(event), values=kept)


def _collected(event: NodeEnded | FlowEnded) -> Mapping[str, Json]:
    """An item of a map writes nothing: what it came to is collected."""
    return {"output": event.output} if isinstance(event, NodeEnded) and split_item(event.scope) else {}


def _outcome(walk: Walk, trace: Trace) -> str:
    if trace.ended is None:
        return _standing(walk, trace)
    took = f" after {duration(trace.seconds)}" if trace.seconds is not None else ""
    if trace.failure:
        return f"failed{took}: {flatten(trace.failure, LONGEST_TEXT)}"
    leads = f" → {', '.join(trace.next)}" if trace.next else ""
    if trace.fell_back:
        return f"fell back{leads}{took}: {flatten(trace.fell_back, LONGEST_TEXT)}"
    return f"ended{leads}{took}"


def _standing(walk: Walk, trace: Trace) -> str:
    """How a visit stands that is not over."""
    if trace.began is not None:
        at_work = f"at work for {duration(walk.now - trace.began)}"
        return at_work if walk.live else "at work when its driver went"
    if trace.blocked:
        return f"blocked: {flatten(trace.blocked, LONGEST_TEXT)}"
    if trace.waits:
        return f"waits for {flatten(trace.waits, LONGEST_TEXT)}"
    return "lost with its driver; it starts again"


def _brief(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(_shorten(value), ensure_ascii=False)
    return flatten(text, LONGEST_VALUE) or "(nothing)"


def _shorten(value: Json) -> Json:
    """The same value with long texts cut, and their length said."""
    match value:
        case str() if len(value) > LONGEST_TEXT:
            return f"{value[:LONGEST_TEXT]}… ({len(value):,} characters)"
        case str():
            return value
        case Mapping():
            return {key: _shorten(inner) for key, inner in value.items()}
        case Sequence():
            return [_shorten(inner) for inner in value]
        case _:
            return value


def _clean(line: str) -> str:
    """A line without signs that a terminal would obey; its spaces stay."""
    return "".join(sign for sign in line if not unicodedata.category(sign).startswith("C"))
