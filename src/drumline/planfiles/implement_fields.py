"""Fields of a step in implement.md as values: checks and files. What strays from the format is told, not guessed at."""

from __future__ import annotations

import re
from collections.abc import Iterator

from drumline.core.plan import Check, Problem, Severity
from drumline.core.validation import normal_path
from drumline.planfiles.correction import code_span
from drumline.planfiles.criterion import read_criterion
from drumline.planfiles.implement_sections import Field, Section
from drumline.planfiles.markdown import list_commands
from drumline.planfiles.spans import code_spans

NOTHING = frozenset({"", "-", "—", "–", "none", "n/a", "na", "no", "not applicable", "tbd"})
"""What people write where there is nothing to write."""

COMPILES = re.compile(r"compil(?:e|ation)(?: check)? only|(?:only )?(?:a )?compile check(?: only)?", re.IGNORECASE)
"""How a plan says that nothing but the build judges a step."""
_TESTS = ("test", "verification")
_SHELLS = ("", "sh", "bash", "shell", "console", "zsh", "shell-session")
_KIND = re.compile(r"(?:modify|create|test|delete|rename|update|add|new|edit)\s*:\s*", re.IGNORECASE)
_PATH = re.compile(r"[\w.@+~*?{}\[\]/,$#%!-]+")
_LINE_NUMBER = re.compile(r":[0-9]+(?:-[0-9]+)?$")


class Notes:
    """Gathers what strays from the format."""

    def __init__(self, path: str, line: int) -> None:
        self._path = path
        self._line = line
        self.found: list[Problem] = []

    def warn(self, code: str, message: str, line: int = 0) -> None:
        """Note a warning, at the step's line unless another is given."""
        where = f"{self._path}:{line or self._line}"
        self.found.append(Problem(code=code, message=message, where=where, severity=Severity.WARNING))

    def refuse(self, code: str, message: str, line: int) -> None:
        """Note an error."""
        self.found.append(Problem(code=code, message=message, where=f"{self._path}:{line}"))


def read_checks(section: Section, notes: Notes) -> tuple[list[Check], list[str]]:
    """The items that are commands; anything else is named and not run."""
    checks: list[Check] = []
    not_run: list[str] = []
    for field in section.fields:
        if field.name not in _TESTS:
            continue
        for line, text, verbatim in _criteria(field):
            if COMPILES.fullmatch(text.strip(" .*_`")):
                continue
            found = read_criterion(text)
            if found.command:
                checks.append(Check(command=verbatim or found.command, line=line))
                continue
            not_run.append(text)
            notes.warn("check_not_command", f"{text[:80]!r} is not run: {found.fault}", line)
    return checks, not_run


def only_compiles(section: Section) -> bool:
    """Whether a step only has to compile: its plan says so in place of a test."""
    told = (text for field in section.fields if field.name in _TESTS for _, text, _ in _criteria(field))
    return any(COMPILES.fullmatch(text.strip(" .*_`")) for text in told)


def _criteria(found: Field) -> Iterator[tuple[int, str, str]]:
    """The items of a field, each with its line and, if it stands in a code block, the command as it is there."""
    own = " ".join([found.value, *found.more]).strip()
    if own and not (found.items and not code_spans(own)):
        yield found.line, own, ""
    for item in found.items:
        yield item.line, item.text, ""
    for block in found.blocks:
        if block.language.casefold() in _SHELLS:
            commands = list_commands(block.text.split("\n"))
            yield from ((block.line + number, code_span(command), command) for number, command in commands)
        elif not own and not found.items:
            yield found.line, "a code block", ""


def read_files(section: Section, notes: Notes) -> list[str]:
    """The paths that a list of files names; harvested from prose, so what is not a path is reported and left out."""
    found: dict[str, None] = {}
    for line, word in _file_words(section):
        path = normal_path(_LINE_NUMBER.sub("", word.strip()))
        if path is None or not _PATH.fullmatch(path):
            notes.warn("file_not_used", f"{word[:80]!r} is not a path inside the repository", line)
        else:
            found[path] = None
    return list(found)


def _file_words(section: Section) -> Iterator[tuple[int, str]]:
    for found in section.fields:
        for text in texts(found) if found.name == "files" else ():
            yield from ((found.line, word) for word in code_spans(text) or _plain_words(text))


def _plain_words(text: str) -> Iterator[str]:
    kind = _KIND.match(text)
    for part in text[kind.end() if kind else 0 :].split(","):
        words = part.strip().rstrip(".;").split(None, 1)
        if words and words[0].casefold() not in NOTHING and ("/" in words[0] or "." in words[0]):
            yield words[0]


def texts(found: Field | None) -> list[str]:
    """The field's own text and that of its list items."""
    if found is None:
        return []
    own = " ".join([found.value, *found.more]).strip()
    return [*([own] if own else []), *(item.text for item in found.items)]
