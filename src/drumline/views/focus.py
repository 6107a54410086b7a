"""What a person has chosen on a board: a row, rows that are open, a panel of text over it, or an answer being typed.

The rule: keys change it through the functions here; it knows no terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.ids import GateId, StepId
from drumline.record import Record, replace
from drumline.views.cells import Row, cut, fit, flatten, fold, width

KEYS = "↑↓ choose · enter open · a answer · d diff · l logs · w why · p pause · q quit"
PANEL_KEYS = "↑↓ space scroll · q back"
ENTRY_KEYS = "enter sends · esc leaves it for later"
LEAST_FOR_KEYS = 12
"""Lines of a board that has a line to spare for the keys."""
_INKS = {"+": "done", "-": "failed", "@": "running"}


class Panel(Record):
    """Text over the board, from a line on."""

    title: str
    lines: tuple[str, ...]
    top: int = 0


class Entry(Record):
    """An answer that is being typed; once the answer is legal, perhaps a comment to it."""

    gate: GateId
    question: tuple[str, ...]
    prompt: str = "Answer"
    typed: str = ""
    answer: str = ""
    complaint: str = ""


class Focus(Record):
    """What is chosen, open and typed."""

    keys: bool = False
    selected: StepId | None = None
    opened: frozenset[StepId] = frozenset()
    panel: Panel | None = None
    entry: Entry | None = None
    note: str = ""


NO_FOCUS = Focus()


def move(focus: Focus, steps: Sequence[StepId], by: int) -> Focus:
    """Choose another row; the first or the last if there is none that far."""
    if not steps:
        return focus
    place = steps.index(focus.selected) if focus.selected in steps else (-1 if by > 0 else len(steps))
    return replace(focus, selected=steps[min(max(0, place + by), len(steps) - 1)], note="")


def toggle(focus: Focus) -> Focus:
    """Open the chosen row, or close it."""
    if focus.selected is None:
        return replace(focus, note="choose a step first: ↑ ↓")
    return replace(focus, opened=focus.opened ^ {focus.selected}, note="")


def scroll(focus: Focus, by: int) -> Focus:
    """Move the text of the panel."""
    if focus.panel is None:
        return focus
    top = min(max(0, focus.panel.top + by), max(0, len(focus.panel.lines) - 1))
    return replace(focus, panel=replace(focus.panel, top=top))


def count_shown(panel: Panel, wide: int, high: int) -> int:
    """How many lines of the text are shown."""
    return len(_fit_lines(panel, wide, high - 2))


def panel_rows(panel: Panel, wide: int, high: int) -> list[Row]:
    """The whole board while a panel is open."""
    room = high - 2
    fitting = _fit_lines(panel, wide, room)
    shown: list[Row] = [[(part, _INKS.get(line[:1], ""))] for line, parts in fitting for part in parts]
    place = f"{panel.top + 1}-{panel.top + len(fitting)} of {len(panel.lines)}"
    title = fit(flatten(panel.title), wide - width(place) - 1)
    blank: Row = [("", "")]
    body = [*shown[:room], *[blank] * (room - len(shown))]
    return [[(title, "title"), (" ", ""), (place, "dim")], *body, [(cut(PANEL_KEYS, wide), "dim")]]


def _fit_lines(panel: Panel, wide: int, room: int) -> list[tuple[str, list[str]]]:
    """The lines from the top that fit, and always one, each with the parts that it is folded into."""
    found: list[tuple[str, list[str]]] = []
    for line in panel.lines[panel.top : panel.top + room]:
        parts = fold(line.expandtabs(4), wide)
        room -= len(parts)
        if found and room < 0:
            break
        found.append((line, parts))
    return found


def entry_rows(entry: Entry, wide: int, room: int) -> list[Row]:
    """The question in so many lines, what is wrong with what was typed, and the line that is typed."""
    first, *others = entry.question or ("",)
    head = fold(f"? {first}", wide)[: max(1, room - 2)]
    more = [part for line in others for part in fold(f"  {line}", wide)]
    room -= len(head) - 1
    shown = more if len(more) < room else [*more[: max(0, room - 3)], "  … drumline why shows the rest", *more[-1:]]
    rows: list[Row] = [*([(line, "parked")] for line in head), *([(cut(line, wide), "")] for line in shown)]
    if entry.complaint:
        rows.append([(cut(f"  {flatten(entry.complaint)}", wide), "notice")])
    room = wide - width(entry.prompt) - 4
    return [*rows, [(f"{entry.prompt}: ", "title"), (entry.typed[-room:] if room > 0 else "", ""), ("▏", "running")]]


def key_row(focus: Focus, wide: int) -> Row:
    """The last line of a board that listens to keys."""
    if focus.note:
        return [(cut(flatten(focus.note), wide), "notice")]
    return [(cut(ENTRY_KEYS if focus.entry is not None else KEYS, wide), "dim")]
