"""What reviewers find: a finding as a record, how answers of models are read, and which findings are the same.

The rule: a word for a severity that nobody knows is a concern, and never a blocker or nothing. What a finding says is
text of a model: it is cut, and cannot move a cursor.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence

from drumline.core.flow.model import Json
from drumline.core.ids import NO_STEP, StepId
from drumline.core.plaintext import strip_controls
from drumline.core.vocabulary import Settlement, Severity
from drumline.patterns import compile_late
from drumline.record import Record, replace

MOST_FINDINGS, MOST_READ = 50, 500
"""How many findings of one answer are kept, those that matter most first, and how many are looked at."""
MOST_TITLE, MOST_DETAIL, MOST_PATH = 200, 2_000, 500
"""Characters of the parts of one finding."""
_DUE = (
    "A reviewer looked at your work, and these findings stand. Put right what they name and nothing else; "
    "a reviewer looks again afterwards."
)
"""What the prompt of the step's agent says before the findings that it has to put right."""

_BEHIND = compile_late(r"(.+?):([0-9]{1,7})(?:[:-][0-9]{1,7})?")
_WORDS: Mapping[str, Severity] = {
    **dict.fromkeys(("blocker", "blocking", "critical", "major", "important", "high", "🔴"), Severity.BLOCKER),
    **dict.fromkeys(("concern", "warning", "medium", "minor", "friction", "🟡"), Severity.CONCERN),
    **dict.fromkeys(("nit", "nitpick", "suggestion", "low", "info", "🟢", "💡"), Severity.NIT),
}


class Finding(Record):
    """One thing that somebody found about the work on a step; `step` is empty if it names one that there is not.

    `named` is what it called the step in that case. `line` is 0 where it names none.
    """

    id: str
    severity: Severity
    step: StepId
    title: str
    file: str = ""
    line: int = 0
    detail: str = ""
    by: str = ""
    named: str = ""

    @property
    def place(self) -> str:
        """Where it is, for people; empty if it names no file."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """What makes two findings the same."""
        return self.step or self.named, self.severity.value, self.file, self.line, " ".join(self.title.lower().split())


class Found(Record):
    """A finding as a walk knows it: who confirmed it, and what became of it."""

    finding: Finding
    confirmed: str = ""
    settled: Settlement | None = None
    settled_by: str = ""
    why: str = ""

    @property
    def is_open(self) -> bool:
        """Whether nothing has become of it yet."""
        return self.settled is None

    @property
    def holds_up(self) -> bool:
        """Whether it is a blocker that somebody else has confirmed and that is not settled."""
        return self.is_open and bool(self.confirmed) and self.finding.severity is Severity.BLOCKER


class Superseded(Record):
    """A check of a step that fails since another one landed which needs that step."""

    step: StepId
    command: str


def read_severity(word: str) -> Severity:
    """What a reviewer's word, or sign, for a severity means."""
    for part in (word.strip().casefold(), *word.casefold().replace("*", " ").split()):
        if part in _WORDS:
            return _WORDS[part]
    return Severity.CONCERN


def read_findings(
    answer: Json,
    *,
    steps: Collection[str],
    own: StepId,
    by: str,
    taken: Iterable[Finding] = (),
    used: int = 0,
    top: str = "",
) -> list[Finding]:
    """The findings of an answer that are new; each once. `own` is the step of those that name none.

    `taken` are those that are known, and `used` is the last number that one has. `top` is where the reviewer looked:
    paths below it are those of the repository.
    """
    seen, number = {finding.key for finding in taken}, used
    found: list[Finding] = []
    read = [_read(entry, steps=steps, own=own, by=by, top=top) for entry in _list(answer)[:MOST_READ]]
    ranks = list(Severity)
    for finding in sorted((one for one in read if one is not None), key=lambda one: ranks.index(one.severity)):
        if finding.key in seen or len(found) >= MOST_FINDINGS:
            continue
        seen.add(finding.key)
        number += 1
        found.append(replace(finding, id=f"{own}-F{number}"))
    return found


def read_ids(answer: Json, known: Collection[str]) -> dict[str, str]:
    """The ids of findings that an answer names, each with the reason it gives; unknown ones are left out."""
    named: dict[str, str] = {}
    for entry in _list(answer):
        if isinstance(entry, Mapping):
            named[_text(entry.get("id"), MOST_TITLE)] = _text(entry.get("why"), MOST_DETAIL)
        elif isinstance(entry, str):
            named[_text(entry, MOST_TITLE)] = ""
    return {name: why for name, why in named.items() if name in known}


def introduce(found: str, *, reviewed: bool) -> str:
    """What is wrong with the work, for the prompt of its agent; with what to do about it, if a reviewer found it."""
    return f"{_DUE}\n\n{found}" if reviewed else found


def tell_findings(found: Sequence[Found]) -> str:
    """Findings as a list for prompts and questions."""
    lines = []
    for one in found:
        finding = one.finding
        place = f" ({finding.place})" if finding.place else ""
        detail = "".join(f"\n  {line}" for line in finding.detail.splitlines() if line.strip())
        lines.append(f"- {finding.id} [{finding.severity.value}] {finding.title}{place}{detail}")
    return "\n".join(lines)


def _read(entry: Json, *, steps: Collection[str], own: StepId, by: str, top: str) -> Finding | None:
    if not isinstance(entry, Mapping):
        return None
    title = _text(entry.get("title"), MOST_TITLE) or _text(entry.get("detail"), MOST_TITLE)
    if not title:
        return None
    named = _text(entry.get("step"), MOST_TITLE)
    file, line = _read_place(entry, top)
    known = not named or named in steps or named == own
    return Finding(
        id="",
        severity=read_severity(str(entry.get("severity", ""))),
        step=StepId(named or own) if known else NO_STEP,
        title=" ".join(title.split()),
        file=file,
        line=line,
        detail=_text(entry.get("detail"), MOST_DETAIL),
        by=by,
        named="" if known else named,
    )


def _read_place(entry: Mapping[str, Json], top: str) -> tuple[str, int]:
    """The file as the repository calls it, and the line, also one that stands behind the file."""
    file, line = _text(entry.get("file"), MOST_PATH), entry.get("line")
    number = line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else 0
    behind = _BEHIND.fullmatch(file)
    if behind is not None and number in (0, int(behind[2])):
        file, number = behind[1], int(behind[2])
    file = file.removeprefix(f"{top.rstrip('/')}/") if top else file
    return posixpath.normpath(file) if file else "", number


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()


def _text(value: Json, most: int) -> str:
    text = strip_controls(value).strip() if isinstance(value, str) else ""
    return text if len(text) <= most else f"{text[: most - 1]}…"
