"""The rows of a board that a walk takes: its way, its latest visits, what is at work in it, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from drumline.core.flow.state import Key
from drumline.core.plaintext import name_some
from drumline.core.vocabulary import RunStanding, StepStanding
from drumline.views.cells import Row, count, cut, fit, flatten, width
from drumline.views.duration import duration
from drumline.views.places import (
    describe_node,
    is_driven,
    is_lost,
    list_due,
    list_held,
    list_maps,
    list_path,
    list_timers,
    visit_name,
)
from drumline.views.snapshot import Trace, Walk
from drumline.views.states import SPINNER, SYMBOLS, run_state

OUTPUT_LINES = 5
_LOST = "!"
_ARROW = " → "


class Item(NamedTuple):
    """One line about one place: its symbol, its style, its name, and what is going on there."""

    symbol: str
    style: str
    name: str
    text: str


_WAITING = Item(SYMBOLS[StepStanding.WAITING], "waiting", "", "")


def place_rows(walk: Walk, wide: int, *, room: int, tick: int) -> list[Row]:
    """What the walk did last and does now, a row each; the latest visits fill the room that is left."""
    work = _shorten(_list_work(walk, tick), room)
    past = [_recall(trace) for trace in walk.recent]
    past = past[max(0, len(past) - (room - len(work))) :]
    names = min(max((_width_of(item) for item in (*past, *work)), default=0), wide // 2)
    return [_draw(item, names=names, wide=wide) for item in (*past, *work)]


def path_row(walk: Walk, wide: int) -> Row:
    """The last nodes that were walked; what came before them is an ellipsis."""
    shown: list[str] = []
    left = wide - 2
    for name in list_path(walk):
        left -= width(name) + len(_ARROW)
        if left < 0:
            shown.append("…")
            break
        shown.append(name)
    return [(cut(_ARROW.join(reversed(shown)) or _begin_path(walk), wide), "dim")]


def _begin_path(walk: Walk) -> str:
    """What is told of the way before the first visit is over."""
    first = next((visit_name(key) for key in walk.traces), "")
    return f"{first} is the first, and not over yet" if first else "nothing has been visited yet"


def count_words(walk: Walk) -> list[str]:
    """How much of a walk is over, at work and asked, for the footer."""
    words = [f"{count(len(walk.walked), 'visit')} over"]
    if is_driven(walk):
        words.append(f"{len(walk.began):,} at work")
    if walk.run.unanswered and walk.run.ended is None:
        words.append(f"{len(walk.run.unanswered):,} to answer")
    return words


def next_words(walk: Walk) -> str:
    """The command that the footer ends with."""
    idle = run_state(walk) == RunStanding.INTERRUPTED or (walk.run.parked and not walk.run.unanswered)
    return f"drumline resume {walk.run.id}" if idle and not list_timers(walk) else "drumline logs, drumline why"


def ending_rows(walk: Walk, wide: int) -> list[Row]:
    rows: list[Row] = []
    if walk.problem:
        rows.append([(cut(f"! the flow cannot be shown: {flatten(walk.problem)}", wide), "notice")])
    ended, end = walk.run.ended, walk.end
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


def _list_work(walk: Walk, tick: int) -> list[Item]:
    """What is at work, then maps, then what waits; without a driver what was begun is lost, unless it only waits."""
    if walk.run.ended is not None:
        return []
    look = _look(walk, tick)
    items = [_act(walk, key, since, look) for key, since in walk.began.items()]
    for found in list_maps(walk):
        progress = f"{found.done:,}/{found.total:,} items, {found.running:,} at work"
        items.append(look._replace(name=found.name, text=progress))
    for key in list_due(walk):
        items.append(Item(SYMBOLS[StepStanding.READY], "ready", visit_name(key), "due"))
    for timer in list_timers(walk):
        left = duration(max(0.0, timer.until - walk.now))
        text = f"goes on in {left}: {flatten(timer.reason)}"
        items.append(Item(SYMBOLS[StepStanding.PARKED], "parked", visit_name(timer.key), text))
    for held in list_held(walk):
        items.append(
            Item(SYMBOLS[StepStanding.WAITING], "waiting", visit_name(held.key), f"waits for {name_some(held.others)}")
        )
    return items


def _look(walk: Walk, tick: int) -> Item:
    """How a place that was begun is drawn: at work, lost, or, in a run that is parked, waiting."""
    if is_driven(walk):
        return Item(SPINNER[tick % len(SPINNER)], "running", "", "")
    return _WAITING if run_state(walk) == RunStanding.PARKED else Item(_LOST, "interrupted", "", "")


def _act(walk: Walk, key: Key, since: float, look: Item) -> Item:
    doing = describe_node(walk, key)
    if is_lost(walk, key):
        return look._replace(name=visit_name(key), text="lost with its driver; drumline resume begins it again")
    if not is_driven(walk):
        return _WAITING._replace(name=visit_name(key), text=doing)
    return look._replace(name=visit_name(key), text=f"{doing} {duration(walk.now - since)}".strip())


def _recall(trace: Trace) -> Item:
    took = f" {duration(trace.seconds)}" if trace.seconds is not None else ""
    name = visit_name(trace.key)
    if trace.failure:
        return Item(SYMBOLS[StepStanding.FAILED], "failed", name, f"{flatten(trace.failure)}{took}")
    leads = f"→ {', '.join(trace.next)}" if trace.next else ""
    why = f", it fell back: {flatten(trace.fell_back)}" if trace.fell_back else ""
    why += ", it changed no file" if trace.unchanged else ""
    return Item(SYMBOLS[StepStanding.DONE], "done", name, f"{leads}{took}{why}".strip())


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
