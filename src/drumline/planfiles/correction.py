"""Corrective steps in files with frontmatter: the new file's text, and the one line that makes a step wait for it.

What a corrective step says comes from agents, so it is quoted: no word of it can become a heading, a check or a key.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.kinds import FIELDS
from drumline.core.plan import Problem, Step
from drumline.core.validation import legal_id
from drumline.datatext import write_quoted
from drumline.errors import InvalidInput
from drumline.planfiles.frontmatter import Entry, Frontmatter, read_frontmatter
from drumline.planfiles.source import NEWLINE
from drumline.planfiles.stepfile import replace_spans
from drumline.ports.planfiles import Correction

NOTHING = frozenset({"", "-", "none", "null", "n/a"})
"""Words that people write where a step needs nothing."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def require_legal(correction: Correction) -> None:
    """Refuse an id that cannot name a step, and with it a file."""
    if not legal_id(correction.id):
        raise InvalidInput(f"{correction.id!r} cannot name a corrective step", hint="drumline validate PATH/TO/PLAN")


def inherited(helps: Step) -> tuple[StepId, ...]:
    """The needs a corrective step takes over: all but earlier corrective steps, which did not help."""
    return tuple(need for need in helps.needs if not corrects(need, helps.id))


def corrects(need: str, step: str) -> bool:
    """Whether `need` is by its id a corrective step for `step`: `3h`, `3h2` and `3m` for 3, `R1` and `R1b` for any."""
    return bool(re.fullmatch(rf"{re.escape(step)}[hm][0-9]*|(?:step-)?R[0-9]+[a-z]?", need))


def native_file(correction: Correction, helps: Step, *, newline: str = "\n") -> str:
    """The corrective step as a file of the native format."""
    listed = "".join(f"- [ ] {code_span(command)}\n" for command in list_single(correction))
    red_first = tuple(check.command for check in correction.checks if check.red_first)
    head = [
        f"id: {yaml_text(correction.id)}",
        f"name: {yaml_text(' '.join(correction.title.split()))}",
        f"depends_on: {yaml_list(inherited(helps))}",
        *([f"files: {yaml_list(correction.files)}"] if correction.files else []),
        *check_fields(correction),
        *([f"red_first: {yaml_list(red_first)}"] if red_first else []),
        "status: ready",
    ]
    body = (
        f"# {correction.id}: {escape_heading(correction.title)}\n\n## Overview\n\n{quote(correction.what)}\n\n"
        f"Why:\n\n{quote(correction.why)}\n\n#### Automated Verification:\n\n{listed}"
    )
    text = "\n".join(["---", *head, "---", "", body])
    return text.replace("\n", newline)


def list_single(correction: Correction) -> list[str]:
    """Its commands of one line, its own first: those that can stand in an item of a list."""
    commands = [command for command in (correction.test.strip(), *correction.carried) if command]
    return [command for command in commands if not NEWLINE.search(command)]


def check_fields(correction: Correction) -> list[str]:
    """The lines of a frontmatter for the commands that a list does not hold: those of several lines, and of a kind."""
    single = list_single(correction)
    longer = tuple(text for text in (correction.test.strip(), *correction.carried) if text and text not in single)
    kinds = {check.kind: check.command for check in reversed(correction.checks) if check.kind in FIELDS}
    named = [f"{name}: {yaml_text(kinds[kind])}" for kind, name in FIELDS.items() if kind in kinds]
    return [*([f"checks: {yaml_list(longer)}"] if longer else []), *named]


def escape_heading(text: str) -> str:
    """The text on one line, as it can stand in a heading."""
    return " ".join(text.split())


def quote(text: str) -> str:
    """The text as a markdown quotation, in which nothing counts as structure."""
    lines = NEWLINE.sub("\n", text).strip().split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def code_span(command: str) -> str:
    """The one-line command as a code span that reads back exactly."""
    longest = max((len(run) for run in re.findall(r"`+", command)), default=0)
    fence = "`" * (longest + 1)
    padded = command.startswith(("`", " ")) or command.endswith(("`", " "))
    return f"{fence} {command} {fence}" if padded else f"{fence}{command}{fence}"


def yaml_text(value: str) -> str:
    """The value as YAML on one line, quoted unless it is a plain word."""
    if _PLAIN.fullmatch(value) and not _is_number(value):
        return value
    return write_quoted(value)


def yaml_list(values: tuple[str, ...]) -> str:
    """The values as a YAML list on one line."""
    return f"[{', '.join(yaml_text(value) for value in values)}]"


def split_needs(text: str) -> tuple[str, ...]:
    """Needs written as one text: parted by commas, or a word for none."""
    parts = (part.strip() for part in text.split(","))
    return tuple(part for part in parts if part.casefold() not in NOTHING)


def newline_of(text: str) -> str:
    """How the text ends its lines."""
    found = NEWLINE.search(text)
    return found[0] if found else "\n"


def add_need(text: str, path: str, need: StepId, *, key: str = "depends_on") -> str:
    """The file's text with `need` added to the list of needs; InvalidInput if the list cannot take it."""
    front = read_frontmatter(text, path)
    if isinstance(front, Problem):
        raise _refusal(path, front.message)
    entry = front.entries.get(key)
    if entry is not None and isinstance(entry.value, tuple) and need in entry.value:
        return text
    changed = replace_spans(text, [_need_span(text, front, entry, need=need, key=key)])
    if _needs(changed, path, key) != (*_needs(text, path, key), need):
        raise _refusal(path, f"its {key!r} is written in a way that cannot take another step")
    return changed


def _is_number(value: str) -> bool:
    return value.replace(".", "").replace("_", "").isdigit()


def _needs(text: str, path: str, key: str) -> tuple[str, ...]:
    front = read_frontmatter(text, path)
    if isinstance(front, Problem):
        raise _refusal(path, front.message)
    entry = front.entries.get(key)
    if entry is None or entry.value is None:
        return ()
    return entry.value if isinstance(entry.value, tuple) else split_needs(entry.value)


def _need_span(text: str, front: Frontmatter, entry: Entry | None, *, need: StepId, key: str) -> tuple[int, int, str]:
    if entry is None:
        return front.end, front.end, f"{front.indent}{key}: [{need}]{front.newline}"
    value = text[entry.start : entry.end]
    if value.startswith("-"):
        line = text.rfind("\n", 0, entry.start) + 1 if "\n" in front.newline else text.rfind("\r", 0, entry.start) + 1
        return entry.last, entry.last, f"{text[line : entry.start]}- {need}{front.newline}"
    if value.startswith("["):
        inner = value[1:-1].rstrip()
        comma = "" if not inner or inner.endswith(",") else ", "
        at = entry.start + 1 + len(inner) if "#" not in inner else entry.end - 1
        return at, at, f"{comma or (' ' if inner else '')}{need}"
    kept = f"{value}, " if split_needs(value) else ""
    space = "" if text[entry.start - 1].isspace() else " "
    return entry.start, entry.end, f"{space}[{kept}{need}]"


def _refusal(path: str, message: str) -> InvalidInput:
    return InvalidInput(
        f"{path}:1: {message}; nothing was written", hint=f"drumline validate {shlex.quote(str(Path(path).parent))}"
    )
