"""The live board: a function from a snapshot and a size to lines. It never draws more than it was given room for.

Lines are made of segments, a text and the word for its style, so that a face can colour them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import assert_never

from drumline.core.acceptance import list_breaking, list_red, list_red_steps
from drumline.core.corrections import find_sent_back
from drumline.core.events import StepFinished
from drumline.core.ids import FINAL, PREFLIGHT, StepId
from drumline.core.plaintext import name_some
from drumline.core.plan import RUN_WALKS, Step
from drumline.core.proof import Level
from drumline.core.state import RunState
from drumline.core.vocabulary import RunStanding, StepStanding
from drumline.views.activity import checks
from drumline.views.causes import SHORT_COMMIT, cause
from drumline.views.cells import Row, cut, fit, flatten, width
from drumline.views.cost import describe_cost, describe_usage
from drumline.views.doing import describe_doing, sum_so_far
from drumline.views.duration import duration
from drumline.views.focus import LEAST_FOR_KEYS, NO_FOCUS, Focus, entry_rows, key_row, panel_rows
from drumline.views.gates import gate_rows
from drumline.views.proofs import describe_proof, find_proof
from drumline.views.snapshot import Snapshot
from drumline.views.states import SPINNER, SYMBOLS, elapsed, run_state, step_state
from drumline.views.status import step_reason
from drumline.views.usage import sum_run
from drumline.views.walkrows import count_words, ending_rows, next_words, path_row, place_rows

LEAST_WIDTH, LEAST_HEIGHT = 40, 8
_LOOKS: Mapping[Level, tuple[str, str]] = {
    Level.PROVED: ("✓", "done"),
    Level.KEPT: ("✓", "notice"),
    Level.UNPROVED: ("?", "notice"),
    Level.DECLARED: ("✓", "dim"),
    Level.READ_ONLY: ("✓", "dim"),
}
"""The symbol and the style of a step that is done."""
_PRESSING = (
    StepStanding.RUNNING,
    StepStanding.PARKED,
    StepStanding.FAILED,
    StepStanding.REJECTED,
    StepStanding.BLOCKED,
)
MOST_OPENED = 6
"""Lines below a row that a person opened."""
_FRAME = 4
"""Lines for the two of the header, the bar and the footer."""


def board_segments(snapshot: Snapshot, *, width: int, height: int, tick: int, focus: Focus = NO_FOCUS) -> list[Row]:
    """The board as rows of (text, style); styles are state names, `title`, `dim`, `bar`, `notice` or nothing.

    A row is a step, and one that walks a flow is opened to its visits. A run of a flow is one open row: its own line
    is the header. `focus` is what a person has chosen on it.
    """
    wide, high = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    if focus.panel is not None:
        return panel_rows(focus.panel, wide, high)
    below = [key_row(focus, wide)] if focus.keys and high >= LEAST_FOR_KEYS else []
    typed = entry_rows(focus.entry, wide, high // 2) if focus.entry is not None else []
    rows = _draw_rows(snapshot, wide, high - len(below) - len(typed), tick=tick, focus=focus)
    return [*rows[:-1], *typed, rows[-1], *below]


def _draw_rows(snapshot: Snapshot, wide: int, high: int, *, tick: int, focus: Focus) -> list[Row]:
    states = {step.id: step_state(snapshot, step.id) for step in snapshot.run.selected()}
    flow_walk = snapshot.flow_walk
    last = ending_rows(flow_walk, wide)[: high - _FRAME] if flow_walk is not None else _notices(snapshot, wide)
    room = high - _FRAME - len(last)
    asked = gate_rows(snapshot, wide, room=max(2, room // 2))[: max(0, room)]
    room -= len(asked)
    return [
        *_header(snapshot, wide),
        _bar(states, wide) if flow_walk is None else path_row(flow_walk, wide),
        *(
            _step_rows(snapshot, states, wide, room=room, tick=tick, focus=focus)
            if flow_walk is None
            else place_rows(flow_walk, wide, room=room, tick=tick)
        ),
        *asked,
        *last,
        _footer(snapshot, states, wide),
    ]


# --- frame ------------------------------------------------------------------------------------------------------


def _header(snapshot: Snapshot, wide: int) -> list[Row]:
    run = snapshot.run
    state = run_state(snapshot)
    right = f"{state} {duration(elapsed(snapshot))}"
    title = fit(flatten(run.plan.title or run.begun.plan_name), wide - width(right) - 1)
    facts = [fact for fact in (f"run {run.id}", run.mode, flatten(run.begun.agent)) if fact]
    if run.folder:
        facts = [facts[0], flatten(run.begun.plan), f"in {flatten(run.folder)}"]
    return [[(title, "title"), (" ", ""), (right, state)], [(cut(" · ".join(facts), wide), "dim")]]


def _bar(states: Mapping[StepId, StepStanding], wide: int) -> Row:
    total = len(states)
    done, skipped = (
        sum(1 for state in states.values() if state is word) for word in (StepStanding.DONE, StepStanding.SKIPPED)
    )
    label = f" {done:,}/{total:,}{f', {skipped:,} skipped' if skipped else ''}"
    cells = wide - len(label)
    filled = cells * (done + skipped) // total if total else cells
    return [("█" * filled, "done"), ("░" * (cells - filled), "bar"), (label, "")]


def _footer(snapshot: Snapshot, states: Mapping[StepId, StepStanding], wide: int) -> Row:
    cost = describe_cost(sum_run(snapshot))
    costs = [cost] if cost else []
    if (walk := snapshot.flow_walk) is not None:
        return [(cut(" · ".join([*count_words(walk), *costs, next_words(walk)]), wide), "dim")]
    counts = Counter(states.values())
    branch = flatten(snapshot.run.begun.branch)
    there = [state for state in reversed(StepStanding) if counts[state]]
    last = [branch] if branch else []
    words = " · ".join([*(f"{counts[state]:,} {state}" for state in there), *costs, *last])
    if width(words) > wide:
        words = " ".join([*(f"{SYMBOLS[state]}{counts[state]:,}" for state in there), *last])
    if run_state(snapshot) is RunStanding.INTERRUPTED:
        words = f"drumline resume {snapshot.run.id} · {words}"
    return [(cut(words, wide), "dim")]


def _notices(snapshot: Snapshot, wide: int) -> list[Row]:
    run = snapshot.run
    if run.pause is not None and not run.parked and run.ended is None:
        text = f"! pausing: what is at work ends its node; drumline resume {run.id} drives on after that"
        return [[(cut(text, wide), "notice")]]
    if not snapshot.problems:
        return []
    first = snapshot.problems[0]
    count = len(snapshot.problems)
    text = f"! the edited plan does not count yet ({count:,}): {first.where}: {flatten(first.message)}"
    return [[(cut(flatten(text), wide), "notice")]]


# --- steps ------------------------------------------------------------------------------------------------------


def _step_rows(
    snapshot: Snapshot, states: Mapping[StepId, StepStanding], wide: int, *, room: int, tick: int, focus: Focus
) -> list[Row]:
    own = {step.id: step_state(snapshot, step.id) for step in snapshot.run.list_own_walks()}
    room -= len(own)
    opened = {step: _open_by_hand(snapshot, step, wide) for step in sorted(focus.opened) if step in states}
    room -= sum(map(len, opened.values()))
    shown = list(states) if len(states) <= room else _pick(snapshot, states, room - 1, focus)
    more = len(states) - len(shown)
    left = room - len(shown) - bool(more)
    shown = [step for step in (PREFLIGHT, *shown, FINAL) if step in states or step in own]
    names = min(max((width(step) for step in shown), default=0), wide // 3)
    states = {**states, **own}
    rows: list[Row] = []
    for step in shown:
        mark = "▸" if step == focus.selected else " "
        definition = snapshot.run.define(step)
        rows.append(_step(snapshot, definition, states[step], names=names, wide=wide, tick=tick, mark=mark))
        inner = _open(snapshot, step, wide, room=left, tick=tick) if states[step] in _PRESSING else []
        rows += [*opened.get(step, ()), *inner]
        left -= len(inner)
    return [*rows, [(f"… and {more:,} more", "dim")]] if more else rows


def _pick(snapshot: Snapshot, states: Mapping[StepId, StepStanding], room: int, focus: Focus) -> list[StepId]:
    """What matters most; once a row is chosen, those around it in the plan's order."""
    steps = list(states)
    if focus.selected is None or focus.selected not in states:
        return _choose(snapshot, states, room)
    first = min(max(0, steps.index(focus.selected) - room // 2), max(0, len(steps) - room))
    return steps[first : first + max(1, room)]


def _open_by_hand(snapshot: Snapshot, step: StepId, wide: int) -> list[Row]:
    """A row that a person opened: what it waits for or came to, and what it has used."""
    from drumline.views.why import why  # only what is opened is explained

    found = why(snapshot, step)
    used, counts = describe_usage(sum_so_far(snapshot, step)), snapshot.run.usage.get(step, {})
    known = len(counts) == 1 and describe_usage(*counts.values()) == used  # the notes say it of its agent
    told = [
        found.sentence,
        *found.notes,
        *([f"used {used}"] if used and not known else []),
    ]
    shown = [*told[: MOST_OPENED - 1], f"next: {found.hint}"]
    return [[(cut(f"    {flatten(line)}", wide), "dim")] for line in shown]


def _open(snapshot: Snapshot, step: StepId, wide: int, *, room: int, tick: int) -> list[Row]:
    """The visits of a step that walks a flow, below its row, as far as there is room."""
    walk = snapshot.walks.get(step)
    return [] if walk is None else [[("  ", ""), *row] for row in place_rows(walk, wide - 2, room=room, tick=tick)]


def _choose(snapshot: Snapshot, states: Mapping[StepId, StepStanding], room: int) -> list[StepId]:
    """What matters most: in work or in trouble, then the latest done, then what comes next."""
    pressing = [step for state in _PRESSING for step in states if states[step] is state][: max(0, room)]
    left = max(0, room - len(pressing))
    done = [
        step
        for step in reversed(snapshot.run.finished)
        if states.get(step) in (StepStanding.DONE, StepStanding.SKIPPED)
    ]
    coming = [step for state in (StepStanding.READY, StepStanding.WAITING) for step in states if states[step] is state]
    recent = done[: max(left // 3, left - len(coming))]
    return [*pressing, *reversed(recent), *coming[: left - len(recent)]]


def _step(
    snapshot: Snapshot, step: Step, state: StepStanding, *, names: int, wide: int, tick: int, mark: str = " "
) -> Row:
    symbol, style = _look(snapshot, step, state, tick=tick)
    space = wide - names - 4
    part = space * 3 // (4 if state is StepStanding.RUNNING else 5) if step.title else space
    doing = cut(_doing(snapshot, step, state, part), part)
    title = fit(flatten(step.title), space - width(doing))
    return [
        (f"{symbol}{mark}", style),
        (fit(step.id, names), state if state in _PRESSING else ""),
        (" ", ""),
        (title, "dim" if state in (StepStanding.WAITING, StepStanding.SKIPPED) else ""),
        (" ", ""),
        (doing, style),
    ]


def _doing(snapshot: Snapshot, step: Step, state: StepStanding, room: int) -> str:
    """The few words at the end of a step's line."""
    match state:
        case StepStanding.RUNNING:
            return describe_doing(snapshot, step.id, room)
        case StepStanding.DONE:
            return _result(snapshot, step)
        case StepStanding.READY:
            return ""
        case StepStanding.PARKED:
            return _parked(snapshot, step)
        case (
            StepStanding.WAITING
            | StepStanding.BLOCKED
            | StepStanding.FAILED
            | StepStanding.REJECTED
            | StepStanding.SKIPPED
        ):
            return flatten(step_reason(snapshot, step.id))
        case _:
            assert_never(state)


def _parked(snapshot: Snapshot, step: Step) -> str:
    found = cause(snapshot, step)
    if found.until is not None:
        return f"quota in {duration(found.until - snapshot.now)}"
    return f"gate {found.gate}" if found.gate is not None else flatten(step_reason(snapshot, step.id))


def _result(snapshot: Snapshot, step: Step) -> str:
    finished = snapshot.run.finished.get(step.id)
    if finished is None:
        return "declared"
    passed, total = checks(snapshot, step)
    if step.id in RUN_WALKS:
        red = ", ".join(red.id for red in list_red_steps(snapshot.run)) if step.id == FINAL else ""
        return (f"red for {red} " if red else "") + (f"{passed}/{total}" if total else "")
    commit = finished.commit[:SHORT_COMMIT] if finished.commit else "no commit"
    back = find_sent_back(snapshot.run, step.id)
    sent_back = f"not good, see {back} " if back is not None else ""
    return f"{_tell_red(snapshot.run, step) or sent_back or _doubt(finished)}{passed}/{total} {commit}"


def _tell_red(run: RunState, step: Step) -> str:
    if not list_red(run, step):
        return ""
    by = list_breaking(run, step)
    return f"fails on the head, after {name_some(by)} " if by else "fails on the head "


def _doubt(finished: StepFinished) -> str:
    proof = finished.proof
    if proof is None or proof.is_proved:
        return ""
    return "changed nothing " if finished.unchanged else f"{describe_proof(proof)} "


def _look(snapshot: Snapshot, step: Step, state: StepStanding, *, tick: int) -> tuple[str, str]:
    """The symbol of a step and the word for its style: for one that is done, its level decides."""
    if state is StepStanding.RUNNING:
        return SPINNER[tick % len(SPINNER)], state
    if list_red(snapshot.run, step) or (step.id == FINAL and list_red_steps(snapshot.run)):
        return "!", "notice"
    proof = find_proof(snapshot.run, step.id)
    return _LOOKS[proof.level] if proof else (SYMBOLS[state], state)
