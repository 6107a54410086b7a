"""The native format's `root.md`: title, autonomy, and the table and drawing that show the steps to people.

The steps' frontmatter is the truth: where table or drawing say otherwise, that is a warning and nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from drumline.core.ids import StepId
from drumline.core.kinds import FIELDS, PLAN, name_kinds
from drumline.core.plaintext import name_some
from drumline.core.plan import Check, Marks, Problem, Severity, Status, Step
from drumline.core.vocabulary import CheckKind
from drumline.planfiles.correction import corrects, newline_of
from drumline.planfiles.drawing import Drawing, read_drawing
from drumline.planfiles.frontmatter import Frontmatter, read_frontmatter
from drumline.planfiles.markdown import BY_HAND, Body, Bucket, Item, find_title, read_body
from drumline.planfiles.overall import tick_items
from drumline.planfiles.source import BOM, line_starts
from drumline.planfiles.stepfile import (
    REQUIRED,
    STATUSES,
    list_final,
    list_manual,
    list_not_run,
    name_command,
    not_run,
    replace_spans,
)
from drumline.ports.planfiles import Correction
from drumline.record import Record, field

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

AUTONOMY = ("autopilot", "critical", "verbose")
MOST_ASKED = AUTONOMY[-1]
_COLUMNS = {
    "id": "id",
    "step": "id",
    "step id": "id",
    "name": "name",
    "title": "name",
    "depends on": "needs",
    "depends_on": "needs",
    "dependencies": "needs",
    "status": "status",
    "file": "file",
}
_PREFLIGHT = dict.fromkeys(
    (f"{name}{ending}" for name in ("pre-flight", "preflight") for ending in ("", " verification", " checks")),
    Bucket.VERIFICATION,
)
"""Headings of the commands that must succeed before the first step."""
_FINAL = {"global verification": Bucket.VERIFICATION, "global verification checks": Bucket.VERIFICATION}
"""Headings of the commands that must succeed after the last step."""
_NOTHING = frozenset({"", "-", "–", "—", "none", "n/a"})


class Row(Record):
    """A row of the steps table: its line and what its cells say; None where the table has no such column."""

    line: int
    id: str
    needs: tuple[str, ...] | None
    status: Status | None


class Table(Record):
    """The steps table: the line of its header, its columns from left to right, and its rows."""

    line: int
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


class RootFile(Record):
    """What one root file says."""

    title: str = ""
    autonomy: str = ""
    flow: str = ""
    require: str = ""
    preflight: tuple[Check, ...] = ()
    kinds: tuple[Check, ...] = ()
    final: tuple[Check, ...] = ()
    not_run: tuple[str, ...] = ()
    manual: tuple[Item, ...] = ()
    table: Table | None = None
    drawing: Drawing | None = None
    problems: tuple[Problem, ...] = field(default=())


@lru_cache(maxsize=8)
def read_root(text: str, path: str) -> RootFile:
    """The root file's words; remembered, since a plan is read many times and its root seldom changes."""
    front = read_frontmatter(text, path)
    if isinstance(front, Problem):
        start, first, problems = len(BOM) if text.startswith(BOM) else 0, 0, _milder(front)
        autonomy = flow = require = ""
        kinds: tuple[Check, ...] = ()
    else:
        start, first = front.body, front.body_line
        problems = list(front.problems)
        autonomy = _read_autonomy(front, path, problems)
        flow = (front.text("flow") or "").strip()
        require = _read_require(front, path, problems)
        problems += _list_misnamed(front, path)
        kinds = name_kinds({key: front.text(key) for key in FIELDS.values()}, PLAN, FIELDS)
    tokens = _blocks().parse(text[start:])
    body = read_body(text, start, first, buckets=_PREFLIGHT, fenced=True)
    final = read_body(text, start, first, buckets=_FINAL, inner=BY_HAND, fenced=True)
    return RootFile(
        title=find_title(tokens),
        autonomy=autonomy,
        flow=flow,
        require=require,
        preflight=tuple(Check(command=item.command, source="plan") for item in body.items if item.command),
        kinds=kinds,
        final=list_final(final),
        not_run=list_not_run(body, final),
        manual=tuple(list_manual(final)),
        table=next(_tables(tokens, first), None),
        drawing=read_drawing(tokens, first),
        problems=(*problems, *not_run(body, path), *not_run(final, path)),
    )


def _list_misnamed(front: Frontmatter, path: str) -> Iterator[Problem]:
    """Fields that look like commands for a kind of check: `test` for `test_cmd`. A `format` is that of the plan."""
    for key in front.entries:
        meant = name_command(key) if key.casefold() != CheckKind.FORMAT else ""
        if meant and meant not in front.entries:
            message = f"{key!r} is not a field of a plan, so it does not count; did you mean {meant!r}?"
            yield _warning("misspelt_field", message, path, front.line(key))


def read_final(text: str) -> Body:
    """What the file says must hold after the last step."""
    front = read_frontmatter(text, "")
    start, first = (0, 0) if isinstance(front, Problem) else (front.body, front.body_line)
    return read_body(text, start, first, buckets=_FINAL, inner=BY_HAND, fenced=True)


def tick_root(text: str, items: Sequence[str]) -> str:
    """The root file's text with the boxes of these manual items ticked."""
    return replace_spans(text, list(tick_items(text, read_final(text), items))) if items else text


def compare(root: RootFile, path: str, steps: Sequence[Step], marks: Mapping[StepId, Marks]) -> Iterator[Problem]:
    """Where the table and the drawing do not agree with the steps' own files."""
    if root.table is not None:
        yield from _compare_table(root.table, path, steps, marks)
    if root.drawing is not None and (message := root.drawing.differs(steps)):
        yield _warning("drawing_differs", message, path, root.drawing.line)


def add_row(text: str, path: str, correction: Correction, *, helps: Step, file: str) -> str:
    """The root file's text with a row for the corrective step below that of the step it helps."""
    table = read_root(text, path).table
    if table is None or any(row.id == correction.id for row in table.rows):
        return text
    needs = ", ".join(need for need in helps.needs if not corrects(need, helps.id)) or "-"
    title = " ".join(correction.title.split()).replace("|", "\\|")
    cells = {"id": correction.id, "name": title, "needs": needs, "status": Status.READY.value, "file": file}
    row = f"| {' | '.join(cells.get(column, '') for column in table.columns)} |"
    last = table.rows[-1].line if table.rows else table.line + 1
    above = next((row.line for row in table.rows if row.id == helps.id), last)
    starts = line_starts(text)
    newline = newline_of(text)
    if above >= len(starts):
        return f"{text}{newline}{row}"
    return f"{text[: starts[above]]}{row}{newline}{text[starts[above] :]}"


def _read_autonomy(front: Frontmatter, path: str, problems: list[Problem]) -> str:
    autonomy = front.text("autonomy")
    if autonomy is not None and autonomy in ("", *AUTONOMY):
        return autonomy
    message = f"the autonomy {autonomy!r} is not one of {', '.join(AUTONOMY)}; read as {MOST_ASKED}, which asks most"
    where = f"{path}:{front.line('autonomy')}"
    problems.append(Problem(code="bad_autonomy", message=message, where=where, severity=Severity.WARNING))
    return MOST_ASKED


def _read_require(front: Frontmatter, path: str, problems: list[Problem]) -> str:
    require = front.text("require")
    if require is not None and require.strip() in ("", *REQUIRED):
        return require.strip()
    message = f"the level {require!r} is not one of {', '.join(REQUIRED)}; read as {REQUIRED[-1]}, which asks most"
    where = f"{path}:{front.line('require')}"
    problems.append(Problem(code="bad_require", message=message, where=where, severity=Severity.WARNING))
    return REQUIRED[-1]


def _milder(problem: Problem) -> list[Problem]:
    """A root file may do without frontmatter."""
    return [] if problem.code == "no_frontmatter" else [problem]


def _tables(tokens: Sequence[Token], first_line: int) -> Iterator[Table]:
    """Every table whose header names ids and needs or status."""
    for number, token in enumerate(tokens):
        if token.type != "table_open" or token.map is None or token.level:
            continue
        lines = list(_rows(tokens, number, first_line))
        columns = tuple(_COLUMNS.get(" ".join(cell.strip("*` ").casefold().split()), "") for cell in lines[0][1])
        if "id" in columns and {"needs", "status"} & set(columns):
            rows = tuple(_row(line, dict(zip(columns, cells, strict=False))) for line, cells in lines[1:])
            yield Table(line=lines[0][0], columns=columns, rows=rows)


def _rows(tokens: Sequence[Token], number: int, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """Each row of the table that opens at `number`: its line and the text of its cells."""
    line, cells = 0, list[str]()
    for token in tokens[number + 1 :]:
        if token.type == "tr_open" and token.map is not None:
            line, cells = first_line + token.map[0] + 1, []
        elif token.type == "inline":
            cells.append(token.content)
        elif token.type == "tr_close":
            yield line, cells
        elif token.type == "table_close":
            return


def _row(line: int, cells: Mapping[str, str]) -> Row:
    needs = cells.get("needs")
    status = cells.get("status")
    return Row(
        line=line,
        id=_word(cells.get("id", "")),
        needs=None if needs is None else _words(needs),
        status=None if status is None else STATUSES.get(_word(status).casefold()),
    )


def _words(cell: str) -> tuple[str, ...]:
    words = (_word(part) for part in cell.split(","))
    return tuple(word for word in words if word.casefold() not in _NOTHING)


def _word(cell: str) -> str:
    """What a cell says without emphasis, code marks and link target."""
    bare = cell.strip("*_`\t ")
    return bare[1:].partition("]")[0].strip("*_` ") if bare.startswith("[") and "]" in bare else bare


def _compare_table(table: Table, path: str, steps: Sequence[Step], marks: Mapping[StepId, Marks]) -> Iterator[Problem]:
    by_id = {step.id: step for step in steps}
    wrong: list[Row] = []
    for row in table.rows:
        step = by_id.pop(StepId(row.id), None)
        if step is None:
            message = f"the table lists {row.id!r}, which has no file of its own"
            yield _warning("table_unknown_step", message, path, row.line)
            continue
        if row.needs is not None and (message := _needs_differ(row.needs, step)):
            yield _warning("table_needs", message, path, row.line)
        if row.status is not None and row.status is not marks[step.id].status:
            wrong.append(row)
    if wrong:
        named = name_some([row.id for row in wrong])
        message = f"the table shows another status than the files of {named}; what the files say counts"
        yield _warning("table_status", message, path, wrong[0].line)
    if by_id:
        yield _warning("table_missing_step", f"the table does not list {name_some(list(by_id))}", path, table.line)


def _needs_differ(shown: Sequence[str], step: Step) -> str:
    needs = [need for need in step.needs if need in shown or not corrects(need, step.id)]
    if set(shown) == set(needs):
        return ""
    said = ", ".join(shown) or "nothing"
    return f"the table says that {step.id!r} needs {said}; what its file says counts: {', '.join(needs) or 'nothing'}"


def _warning(code: str, message: str, path: str, line: int) -> Problem:
    return Problem(code=code, message=message, where=f"{path}:{line}", severity=Severity.WARNING)


@cache
def _blocks() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])
