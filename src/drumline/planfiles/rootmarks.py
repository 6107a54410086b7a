"""What the native root file says of the steps' statuses, kept true in the words it has: table, status, last_updated.

The rule: only words that are known are replaced, by words of the same kind; whatever else a person wrote stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from drumline.core.plan import Marks, Problem, Status, Step
from drumline.patterns import compile_late
from drumline.planfiles.frontmatter import Entry, Frontmatter, read_frontmatter
from drumline.planfiles.rootfile import RootFile, Table, read_root
from drumline.planfiles.source import line_starts
from drumline.planfiles.stepfile import STATUSES, replace_spans

Span = tuple[int, int, str]

_OTHERS = {Status.READY: "pending", Status.CLAIMED: "in-progress", Status.DONE: "completed"}
"""The second family of words that tables use."""
_NOT_BEGUN = frozenset({"draft", "ready", "pending", "planned", "todo", "not-started"})
_BEGUN = frozenset({"in-progress", "in_progress", "active"})
_OVER = frozenset({"completed", "complete", "done"})
_AUTHOR = "drumline"
_CELL = compile_late(r"(?:\\.|[^|\\])*")


def show_marks(text: str, step: Step, marks: Marks, *, finished: Callable[[], bool], now: datetime | None) -> str:
    """The root file's text once the step has these marks; `finished` says whether all steps are over.

    `now` is the time of a change of the step's file, None if that has not changed.
    """
    root = read_root(text, "")
    spans = list(_cell_span(text, root.table, step, marks.status))
    front = read_frontmatter(text, "")
    if isinstance(front, Frontmatter):
        spans += _status_span(text, front, marks.status, finished)
        if now is not None or spans:
            spans += _time_spans(text, front, now)
    changed = replace_spans(text, spans)
    return changed if changed != text and _reads_back(root, changed) else text


def _cell_span(text: str, table: Table | None, step: Step, status: Status) -> Iterator[Span]:
    """The word in the step's row, if the table has a column for it and the word is known and wrong."""
    rows = [row for row in table.rows if row.id == step.id] if table is not None else []
    if table is None or "status" not in table.columns or len(rows) != 1 or rows[0].status in (None, status):
        return
    starts = line_starts(text)
    column = table.columns.index("status")
    cells = [_find_cell(text, starts[row.line - 1], column) for row in table.rows]
    begin, end = cells[table.rows.index(rows[0])]
    old = text[begin:end]
    seen = [_bare(text[first:last]) for first, last in cells]
    new = _spell(status, [word for word in seen if word.casefold() in STATUSES])
    word = _bare(old)
    changed = old.replace(word, new, 1)
    if old.endswith("  "):  # a cell that is filled up stays as wide as it can
        changed = f"{changed.rstrip(' ')} ".ljust(len(old))
    yield begin, end, changed


def _find_cell(text: str, start: int, column: int) -> tuple[int, int]:
    """Where the cell of this column begins and ends in the row that starts there; empty if the row is too short."""
    line_end = min((text.find(mark, start) for mark in "\r\n" if text.find(mark, start) >= 0), default=len(text))
    line = text[start:line_end]
    place = len(line) - len(line.lstrip())
    place += line[place : place + 1] == "|"
    for _ in range(column):
        found = _CELL.match(line, place)
        place = (found.end() if found else len(line)) + 1
    cell = _CELL.match(line, min(place, len(line)))
    return start + min(place, len(line)), start + (cell.end() if cell else len(line))


def _bare(cell: str) -> str:
    return cell.strip("*_`\t ")


def _spell(status: Status, seen: Sequence[str]) -> str:
    """The word for a status as this table would write it."""
    same = next((word for word in seen if STATUSES[word.casefold()] is status), None)
    if same is not None:
        return same
    others = any(word.casefold() in _OTHERS.values() for word in seen)
    return _like(seen[0] if seen else "", _OTHERS.get(status, status.value) if others else status.value)


def _like(model: str, word: str) -> str:
    """The word in capitals if the model is."""
    if model.isupper():
        return word.upper()
    return word.capitalize() if model[:1].isupper() else word


def _status_span(text: str, front: Frontmatter, status: Status, finished: Callable[[], bool]) -> Iterator[Span]:
    entry = front.entries.get("status")
    word = entry.value if entry is not None and isinstance(entry.value, str) else ""
    known = word.casefold()
    over = status in (Status.DONE, Status.SKIPPED) and known in _NOT_BEGUN | _BEGUN | _OVER and finished()
    if entry is None or (over and known in _OVER):
        return
    if over:
        yield _value_span(text, entry, _like(word, "completed"))
    elif known in _OVER or (known in _NOT_BEGUN and status is not Status.READY):
        yield _value_span(text, entry, _like(word, "in-progress"))


def _time_spans(text: str, front: Frontmatter, now: datetime | None) -> Iterator[Span]:
    entry = front.entries.get("last_updated")
    author = front.entries.get("last_updated_by")
    said = entry.value if entry is not None and isinstance(entry.value, str) else ""
    new = _write_time(said, now) if now is not None else ""
    if entry is None or not new:
        return
    yield _value_span(text, entry, new)
    if author is not None and isinstance(author.value, str) and author.value != _AUTHOR:
        yield _value_span(text, author, _AUTHOR)


def _write_time(said: str, now: datetime) -> str:
    """The time in the shape of the one that was said; empty if that is not a time."""
    try:
        before = datetime.fromisoformat(said)
    except ValueError:
        return ""
    here = now.astimezone(before.tzinfo) if before.tzinfo is not None else now.replace(tzinfo=None)
    if len(said) <= len("2026-01-31"):
        return here.strftime("%Y-%m-%d")
    precision = "seconds" if said[16:17] == ":" else "minutes"
    written = here.isoformat(sep=said[10], timespec=precision)
    return written.removesuffix("+00:00") + "Z" if said.endswith("Z") else written


def _value_span(text: str, entry: Entry, value: str) -> Span:
    """The value in the quotes that the old one has."""
    mark = text[entry.start : entry.start + 1]
    return entry.start, entry.end, f"{mark}{value}{mark}" if mark in ("'", '"') else value


def _reads_back(before: RootFile, text: str) -> bool:
    """Whether the changed file still says the same about everything but statuses."""
    after = read_root(text, "")
    rows = [[(row.id, row.needs) for row in root.table.rows] if root.table else [] for root in (before, after)]
    front = read_frontmatter(text, "")
    broken = isinstance(front, Problem) and front.code != "no_frontmatter"
    return rows[0] == rows[1] and before.title == after.title and before.autonomy == after.autonomy and not broken
