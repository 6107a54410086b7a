"""The live board of a flow: a function from a snapshot and a size to lines, never more than there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from drumline.core.flow.state import Key
from drumline.views.board import LEAST_HEIGHT, LEAST_WIDTH, SPINNER, SYMBOLS
from drumline.views.causes import name_some
from drumline.views.cells import Row, cut, fit, flatten, width
from drumline.views.cost import describe_cost
from drumline.views.duration import duration
from drumline.views.flowplaces import describe_node, is_driven, is_lost, list_due, list_held, list_maps, list_rests
from drumline.views.flowsnapshot import FlowSnapshot, Trace
from drumline.views.flowvisits import list_path, visit_name
from drumline.views.gates import gate_rows
from drumline.views.states import elapsed, run_state

OUTPUT_LINES = 5
_LOST = "!"
_ARROW = " → "


class Item(NamedTuple):
    """One line about one place: its symbol, its style, its name, and what is going on there."""

    symbol: str
    style: str
    name: str
    text: str


_WAITING = Item(SYMBOLS["waiting"], "waiting", "", "")


def flow_segments(snapshot: FlowSnapshot, *, width: int, height: int, tick: int) -> list[Row]:
    """The board as rows of (text, style), in the styles of the board of plans."""
    wide, high = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    frame = [*_header(snapshot, wide), _path(snapshot, wide)]
    footer = _footer(snapshot, wide)
    room = high - len(frame) - 1
    ending = _ending(snapshot, wide)[:room]
    room -= len(ending)
    asked = gate_rows(snapshot, wide, room=max(2, room // 2))[:room]
    room -= len(asked)
    work = _shorten(_list_work(snapshot, tick), room)
    past = [_recall(trace) for trace in snapshot.recent]
    past = past[max(0, len(past) - (room - len(work))) :]
    names = min(max((_width_of(item) for item in (*past, *work)), default=0), wide // 2)
    places = [_draw(item, names=names, wide=wide) for item in (*past, *work)]
    return [*frame, *places, *asked, *ending, footer]


# --- frame ------------------------------------------------------------------------------------------------------


def _header(snapshot: FlowSnapshot, wide: int) -> list[Row]:
    state = run_state(snapshot)
    right = f"{state} {duration(elapsed(snapshot))}"
    title = fit(flatten(snapshot.pinned.flow), wide - width(right) - 1)
    facts = f"run {snapshot.run.id} · {flatten(snapshot.run.begun.plan)} · in {flatten(snapshot.pinned.folder)}"
    return [[(title, "title"), (" ", ""), (right, state)], [(cut(facts, wide), "dim")]]


def _path(snapshot: FlowSnapshot, wide: int) -> Row:
    """The last nodes that were walked; what came before them is an ellipsis."""
    shown: list[str] = []
    left = wide - 2
    for name in list_path(snapshot):
        left -= width(name) + len(_ARROW)
        if left < 0:
            shown.append("…")
            break
        shown.append(name)
    return [(cut(_ARROW.join(reversed(shown)) or _begin_path(snapshot), wide), "dim")]


def _begin_path(snapshot: FlowSnapshot) -> str:
    """What is told of the way before the first visit is over."""
    first = next((visit_name(key) for key in snapshot.traces), "")
    return f"{first} is the first, and not over yet" if first else "nothing has been visited yet"


def _footer(snapshot: FlowSnapshot, wide: int) -> Row:
    count = len(snapshot.walked)
    words = ["1 visit over" if count == 1 else f"{count:,} visits over"]
    if is_driven(snapshot):
        words.append(f"{len(snapshot.began):,} at work")
    if snapshot.run.unanswered and snapshot.run.ended is None:
        words.append(f"{len(snapshot.run.unanswered):,} to answer")
    words += [cost] if (cost := describe_cost(snapshot.usage)) else []
    idle = run_state(snapshot) == "interrupted" or (snapshot.run.parked and not snapshot.run.unanswered)
    more = f"drumline resume {snapshot.run.id}" if idle and not list_rests(snapshot) else "drumline logs, drumline why"
    return [(cut(" · ".join([*words, more]), wide), "dim")]


def _ending(snapshot: FlowSnapshot, wide: int) -> list[Row]:
    rows: list[Row] = []
    if snapshot.problem:
        rows.append([(cut(f"! the flow cannot be shown: {flatten(snapshot.problem)}", wide), "notice")])
    ended, end = snapshot.run.ended, snapshot.end
    if ended is None:
        return rows
    where = f" at {end.node}" if end and end.node else ""
    reason = f": {flatten(ended.reason)}" if ended.reason else ""
    rows.append([(cut(f"{end.status if end else ended.state}{where}{reason}", wide), ended.state)])
    lines = [flatten(line) for line in end.output.splitlines() if line.strip()] if end else []
    rows += [[(cut(f"  {line}", wide), "")] for line in lines[:OUTPUT_LINES]]
    if len(lines) > OUTPUT_LINES:
        rows.append([(cut(f"  … and {len(lines) - OUTPUT_LINES:,} more lines of output", wide), "dim")])
    return rows


# --- gates ------------------------------------------------------------------------------------------------------


# --- places -----------------------------------------------------------------------------------------------------


def _list_work(snapshot: FlowSnapshot, tick: int) -> list[Item]:
    """What is at work, then maps, then what waits; without a driver what was begun is lost, unless it only waits."""
    if snapshot.run.ended is not None:
        return []
    look = _look(snapshot, tick)
    items = [_act(snapshot, key, since, look) for key, since in snapshot.began.items()]
    for found in list_maps(snapshot):
        progress = f"{found.done:,}/{found.total:,} items, {found.running:,} at work"
        items.append(look._replace(name=found.name, text=progress))
    for key in list_due(snapshot):
        items.append(Item(SYMBOLS["ready"], "ready", visit_name(key), "due"))
    for rest in list_rests(snapshot):
        left = duration(max(0.0, rest.until - snapshot.now))
        text = f"goes on in {left}: {flatten(rest.reason)}"
        items.append(Item(SYMBOLS["parked"], "parked", visit_name(rest.key), text))
    for held in list_held(snapshot):
        items.append(Item(SYMBOLS["waiting"], "waiting", visit_name(held.key), f"waits for {name_some(held.others)}"))
    return items


def _look(snapshot: FlowSnapshot, tick: int) -> Item:
    """How a place that was begun is drawn: at work, lost, or, in a run that is parked, waiting."""
    if is_driven(snapshot):
        return Item(SPINNER[tick % len(SPINNER)], "running", "", "")
    return _WAITING if run_state(snapshot) == "parked" else Item(_LOST, "interrupted", "", "")


def _act(snapshot: FlowSnapshot, key: Key, since: float, look: Item) -> Item:
    doing = describe_node(snapshot, key)
    if is_lost(snapshot, key):
        return look._replace(name=visit_name(key), text="lost with its driver; drumline resume begins it again")
    if not is_driven(snapshot):
        return _WAITING._replace(name=visit_name(key), text=doing)
    return look._replace(name=visit_name(key), text=f"{doing} {duration(snapshot.now - since)}".strip())


def _recall(trace: Trace) -> Item:
    took = f" {duration(trace.seconds)}" if trace.seconds is not None else ""
    name = visit_name(trace.key)
    if trace.failure:
        return Item(SYMBOLS["failed"], "failed", name, f"{flatten(trace.failure)}{took}")
    leads = f"→ {', '.join(trace.next)}" if trace.next else ""
    why = f", it fell back: {flatten(trace.fell_back)}" if trace.fell_back else ""
    why += ", it changed no file" if trace.unchanged else ""
    return Item(SYMBOLS["done"], "done", name, f"{leads}{took}{why}".strip())


def _shorten(items: Sequence[Item], room: int) -> list[Item]:
    """As many as there is room for; the rest is counted."""
    if len(items) <= room:
        return list(items)
    shown = max(0, room - 1)
    return [*items[:shown], Item("…", "waiting", f"and {len(items) - shown:,} more", "")][: max(0, room)]


def _width_of(item: Item) -> int:
    return width(item.name)


def _draw(item: Item, *, names: int, wide: int) -> Row:
    return [
        (f"{item.symbol} ", item.style),
        (fit(item.name, names), "" if item.style == "done" else item.style),
        (" ", ""),
        (cut(item.text, wide - names - 3), "dim" if item.style == "done" else item.style),
    ]
