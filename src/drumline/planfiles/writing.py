"""Marks and boxes into a step's file. Every byte that does not hold one of them stays as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from drumline.core.plan import Check, Marks, Problem, Step
from drumline.datatext import reads_plain, write_quoted
from drumline.errors import InvalidInput
from drumline.planfiles.frontmatter import Frontmatter, read_frontmatter
from drumline.planfiles.markdown import Body
from drumline.planfiles.stepfile import (
    ENGINE_KEYS,
    NATIVE,
    Form,
    manual_items,
    manual_lines,
    neutral_digest,
    parse_marks,
    replace_spans,
    step_checks,
)

Span = tuple[int, int, str]


def set_marks(text: str, step: Step, marks: Marks, ticked: Sequence[int] = (), *, form: Form = NATIVE) -> str:
    """The file's text with these marks and with the boxes of the checks and manual items that `step` has at the
    given lines ticked.

    Raises InvalidInput if the text cannot be read, or if its frontmatter is written in a way that cannot carry
    the marks; the result always reads back as asked.
    """
    found = parse_marks(text, step.path, form)
    if isinstance(found, Problem):
        raise InvalidInput(
            f"{found.where}: {found.message}", hint=f"drumline validate {quote(str(Path(step.path).parent))}"
        )
    front, current = found
    wanted = clean(marks)
    spans = list(_mark_spans(text, front, _values(current, form), _values(wanted, form)))
    if ticked:
        spans += _box_spans(text, front, form.read_body(text, front), step=step, ticked=ticked)
    changed = replace_spans(text, spans)
    if changed != text:
        _assure(text, changed, step, wanted=wanted, form=form)
    return changed


def clean(marks: Marks) -> Marks:
    """The marks as a file can hold them: what UTF-8 cannot encode becomes a question mark."""
    return Marks(
        status=marks.status,
        assignee=_encodable(marks.assignee),
        claimed_at=_encodable(marks.claimed_at),
        reason=_encodable(marks.reason),
    )


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _mark_spans(text: str, front: Frontmatter, current: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[Span]:
    status = front.entries.get("status")
    anchor = status.last if status else front.end
    added = ""
    for key in ENGINE_KEYS:
        old, new = current[key], wanted[key]
        entry = front.entries.get(key)
        if old == new:
            continue
        if entry is None:
            added += f"{front.indent}{key}: {_scalar(new)}{front.newline}"
        elif new:
            space = "" if text[entry.start - 1].isspace() else " "
            yield entry.start, entry.end, space + _scalar(new)
        else:
            yield entry.first, entry.last, ""
    if added:
        yield anchor, anchor, added


def _values(marks: Marks, form: Form) -> Mapping[str, str]:
    return {key: form.writes[marks.status] if key == "status" else str(getattr(marks, key)) for key in ENGINE_KEYS}


def _scalar(value: str) -> str:
    """The value as YAML on one line, quoted only if it would otherwise be read as something else."""
    if value == value.strip() and value.isprintable() and reads_plain(value, times=True):
        return value
    return write_quoted(value)


def _box_spans(text: str, front: Frontmatter, body: Body, *, step: Step, ticked: Sequence[int]) -> Iterator[Span]:
    """Lines are the step's as it was read: marks written since have moved them, so checks are matched, not lines."""
    now = step_checks(body)
    if neutral_digest(text, front, body) == step.text_digest:
        known = [check for check in step.checks if check.line]
        lines = {then.line: here.line for then, here in zip(known, now, strict=False)}
    else:
        lines = match_checks(step.checks, now)
    here = dict(zip(manual_items(body), manual_lines(body), strict=False))
    lines |= {line: here[item] for line, item in zip(step.manual_lines, step.manual, strict=False) if item in here}
    for line in dict.fromkeys(ticked):
        box = body.boxes.get(lines.get(line, 0))
        if box is not None and text[box] == " ":
            yield box, box + 1, "x"


def match_checks(then: Sequence[Check], now: Sequence[Check]) -> dict[int, int]:
    """Old line to new line of the n-th check with the same command."""
    here = dict(_numbered(now))
    return {line: here[name] for name, line in _numbered(then) if line and name in here}


def _numbered(checks: Sequence[Check]) -> Iterator[tuple[tuple[str, int], int]]:
    seen: Counter[str] = Counter()
    for check in checks:
        yield (check.command, seen[check.command]), check.line
        seen[check.command] += 1


def _assure(before: str, after: str, step: Step, *, wanted: Marks, form: Form) -> None:
    """Refuse a result that would not read back as asked, or that would change what people wrote."""
    found = parse_marks(after, step.path, form)
    if not isinstance(found, Problem) and found[1] == wanted and _neutral(before, form) == _neutral(after, form):
        return
    raise InvalidInput(
        f"{step.path}:1: its frontmatter is written in a way that cannot carry the marks; nothing was written",
        hint=f"write one 'key: value' per line, then: drumline validate {quote(str(Path(step.path).parent))}",
    )


def _neutral(text: str, form: Form) -> str:
    front = read_frontmatter(text, "")
    return "" if isinstance(front, Problem) else neutral_digest(text, front, form.read_body(text, front))
