"""Marks and corrective steps into an implement.md, in the words and the variant the document already uses.

Variant A has a line `**Status:** word` below `### Step N: Title`, variant B a tag `[word]` at the end of
`## Step N: Title`. Where a step has both, both are kept alike; where it has neither, it gets what its level calls for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from drumline.core.plan import Check, Marks, Status
from drumline.errors import InvalidInput
from drumline.planfiles.correction import code_span, list_single, newline_of, quote, require_legal
from drumline.planfiles.implement_sections import Section
from drumline.planfiles.implement_steps import StepPart
from drumline.planfiles.implement_vocabulary import WRITES
from drumline.planfiles.jsonfile import encodable
from drumline.planfiles.source import NEWLINE
from drumline.ports.planfiles import Correction
from drumline.record import replace

Span = tuple[int, int, str]
_TAG_LEVEL = 2
COMPILE = "compile check only"
"""How a step says that nothing but the build judges it."""


def shown(marks: Marks) -> Marks:
    """What the document itself can say: four of the statuses, `skipped`, and the reason of a blocked step on a line."""
    status = Status.BLOCKED if marks.status is Status.FAILED else marks.status
    reason = one_line(marks.reason) if status is Status.BLOCKED else ""
    return Marks(status=status, reason=reason)


def one_line(text: str) -> str:
    """The text as a field's value can hold it."""
    return " ".join(encodable(text).replace("\0", "\ufffd").split())


def mark_spans(text: str, part: StepPart, marks: Marks, *, lined: bool) -> list[Span]:
    """The replacements that give the step these marks; `lined` says whether other steps have status lines."""
    if part.marks == marks:
        return []
    spans, added = _status_spans(part, marks, lined=lined)
    blocked, line = part.blocked, f"**Blocked:** {marks.reason}" if marks.reason else ""
    if blocked is not None and line:
        gap = "" if text[blocked.start - 1 : blocked.start].isspace() else " "
        spans.append((blocked.start, blocked.end, f"{gap}{marks.reason}"))
    elif blocked is not None:
        spans.append((blocked.first, blocked.last, ""))
    elif line:
        added.append(line)
    return spans + _added_lines(text, part, added)


def box_spans(part: StepPart, then: Sequence[Check], ticked: Sequence[int]) -> Iterator[Span]:
    """Lines are the step's as it was read: the n-th check with the same command is the one that is meant."""
    boxes = {item.line: item.box for found in part.section.fields for item in found.items}
    here = dict(_numbered(part.step.checks))
    for name, line in _numbered(then):
        box = boxes.get(here.get(name, 0))
        if line in ticked and box is not None:
            yield box, box + 1, "x"


def new_step(text: str, correction: Correction, helped: StepPart, after: Section) -> Span:
    """The insertion of a corrective step behind the section `after`, in the variant of the step it helps."""
    require_legal(correction)
    if NEWLINE.search(correction.test.strip()):
        message = f"the test of {correction.id!r} has several lines; an implement.md holds a command on one"
        raise InvalidInput(message, hint="drumline validate PATH/TO/PLAN")
    newline = newline_of(text)
    before, behind = text[after.start : after.end], text[after.end :]
    ended = before.endswith(("\n", "\r"))
    blank = ended and (NEWLINE.split(before)[-2:-1] or ["x"])[0].strip() == ""
    lead = "" if blank else "\n" if ended else "\n\n"
    tail = "\n" if behind else ""
    block = lead + "\n".join(_step_lines(correction, helped)) + "\n" + tail
    return after.end, after.end, encodable(block).replace("\n", newline)


def _status_spans(part: StepPart, marks: Marks, *, lined: bool) -> tuple[list[Span], list[str]]:
    """Replacements in place, and a line to add if there is none."""
    word, words = WRITES[marks.status], part.section.words
    spans: list[Span] = []
    if marks.status is part.marks.status:
        return spans, []
    if part.tag is not None:
        spans.append((words + part.tag.inner, words + part.tag.end - 1, word))
    if part.line is not None:
        end = part.line.start + part.line_word.end if part.line_word else part.line.end
        spans.append((part.line.start, end, word if part.line.value else f" {word}"))
    if spans:
        return spans, []
    if part.section.level == _TAG_LEVEL and not lined and part.section.heading is not None:
        end = words + part.section.heading.end
        return [(end, end, f" [{word}]")], []
    return [], [f"**Status:** {word}"]


def _added_lines(text: str, part: StepPart, lines: Sequence[str]) -> list[Span]:
    """New field lines below the status line, or below the heading: apart from what would otherwise swallow them."""
    if not lines:
        return []
    newline = newline_of(text)
    if part.line is not None:
        at = part.line.last
        prefix = text[part.line.first : part.line.end].partition("**")[0]
        lines, apart = [prefix + line for line in lines], ""
    else:
        at = part.section.below
        apart = "" if part.section.open_below else newline
    if not text[:at].endswith(("\n", "\r")):
        return [(at, at, newline + newline.join(lines))]
    return [(at, at, newline.join(lines) + newline + apart)]


def _numbered(checks: Sequence[Check]) -> Iterator[tuple[tuple[str, int], int]]:
    seen: Counter[str] = Counter()
    for check in checks:
        yield (check.command, seen[check.command]), check.line
        seen[check.command] += 1


def _step_lines(correction: Correction, helped: StepPart) -> Iterator[str]:
    level = helped.section.level
    tagged = helped.tag is not None and helped.line is None
    title = one_line(correction.title).rstrip("#* ")
    # A title's last bracket would be taken for a tag.
    title = f"{title}." if title.endswith("]") else title
    yield f"{'#' * level} Step {correction.id}: {title}{' [pending]' if tagged else ''}"
    if tagged:
        yield ""
    else:
        yield "**Status:** pending"
    files = [code_span(one_line(path)) for path in correction.files]
    if files and tagged:
        yield "**Files:**"
        yield from (f"- Modify: {path}" for path in files)
        yield ""
    elif files:
        yield f"**Files:** {', '.join(files)}"
    yield from _said("What", correction.what)
    yield from _said("Why", correction.why)
    yield from _verified("Verification" if tagged else "Test", correction, compiles=helped.step.compiles)


def _verified(name: str, correction: Correction, *, compiles: bool) -> Iterator[str]:
    """What judges it: one thing on the line of the field, several as a list below it."""
    carried = [command for command in list_single(replace(correction, test="")) if one_line(command) == command]
    commands = dict.fromkeys([*filter(None, [one_line(correction.test)]), *carried])
    found = [*map(code_span, commands), *([COMPILE] if compiles else [])]
    if len(found) == 1:
        yield f"**{name}:** {found[0]}"
    elif found:
        yield from (f"**{name}:**", "", *(f"- {item}" for item in found))


def _said(name: str, text: str) -> Iterator[str]:
    """What an agent says, so that no word of it counts: on one line, or as a quotation."""
    # Other readers take this marker for a status wherever it stands.
    said = text.replace("**Status:**", "Status:").strip()
    if not NEWLINE.search(said):
        yield f"**{name}:** {one_line(said)}"
        return
    yield from (f"**{name}:**", "", *quote(said).split("\n"), "")
