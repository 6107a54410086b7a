"""The judge of a step: the files that decide whether its work passes, told from the work by tables of names.

Tests with their fixtures and snapshots, the configuration of test runners, and the scripts that a check names. The
rule: a file that may be both is work, unless the part of it that judges has changed.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from enum import Enum
from posixpath import basename, normpath
from typing import Any

from drumline.record import Record

CREATED, DELETED = "created", "deleted"


class JudgeKind(Enum):
    """What a file of the judge is."""

    TEST = "test"
    CONFIG = "config"
    SCRIPT = "script"


class Touched(Record):
    """A file of the judge that the work has `created`, `modified` or `deleted`."""

    path: str
    kind: JudgeKind
    change: str


_TESTS = re.compile(
    r"test_[^/]*\.py|[^/]*_test\.(?:py|go|exs|rb|dart)|tests?\.py|[^/]*_spec\.rb"
    r"|[^/]*\.(?:test|spec)\.[cm]?[jt]sx?|[^/]*\.snap|[^/]*(?:Test|Tests|IT|Spec)\.(?:java|kt|scala|cs)"
)
_TEST_FOLDERS = frozenset({"tests", "test", "spec", "specs", "__tests__", "__snapshots__", "testdata", "fixtures"})
_CONFIGS = re.compile(
    r"conftest\.py|pytest\.ini|\.pytest\.ini|tox\.ini|setup\.cfg|noxfile\.py|\.coveragerc|sitecustomize\.py"
    r"|usercustomize\.py|[^/]*\.pth|\.mocharc[^/]*|\.?(?:jest|vitest|karma|playwright|cypress|ava|nyc)\.(?:config|conf|setup)"
    r"\.[^/]*|\.nycrc[^/]*|\.rspec|phpunit\.xml[^/]*"
)
_RUNNERS: Mapping[str, re.Pattern[str]] = {
    "make": re.compile(r"GNUmakefile|[Mm]akefile|[^/]*\.mk"),
    "gmake": re.compile(r"GNUmakefile|[Mm]akefile|[^/]*\.mk"),
    "just": re.compile(r"\.?[Jj]ustfile|[^/]*\.just"),
    "task": re.compile(r"[Tt]askfile\.ya?ml"),
    "rake": re.compile(r"[Rr]akefile"),
    "tox": re.compile(r"tox\.ini"),
}
"""The scripts that a program takes its targets from."""
_PARTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "pyproject.toml": (("tool", "pytest"), ("tool", "coverage"), ("tool", "tox"), ("tool", "hatch", "envs")),
    "package.json": (("scripts",), ("jest",), ("vitest",), ("mocha",), ("ava",), ("nyc",)),
}
"""Files that are work but for these parts."""


def is_mixed(path: str) -> bool:
    """Whether only a part of a file judges, so that its text has to be looked at."""
    return basename(path) in _PARTS


def find_touched(changed: Mapping[str, str], commands: Sequence[str], parts: Mapping[str, bool]) -> tuple[Touched, ...]:
    """The files of the judge among those that the work changed, in order.

    `parts` says of mixed files whether the part that judges has changed.
    """
    parts_of = [part for command in commands for part in _split(command)]
    scripts = [_RUNNERS[basename(word)] for part in parts_of for word in part if basename(word) in _RUNNERS]
    named = {script for part in parts_of for script in _find_scripts(part)}
    found = []
    for path, change in sorted(changed.items()):
        kind = _classify(path, named, scripts) or (JudgeKind.CONFIG if parts.get(path) else None)
        if kind is not None:
            found.append(Touched(path=path, kind=kind, change=change))
    return tuple(found)


def judges_differ(path: str, before: str | None, after: str | None) -> bool:
    """Whether the part of a mixed file that judges differs between two texts; a text that cannot be read differs."""
    try:
        old, new = (_read(path, text) for text in (before, after))
    except ValueError:
        return before != after
    return any(_pick(old, part) != _pick(new, part) for part in _PARTS[basename(path)])


def list_reverted(touched: Sequence[Touched]) -> list[str]:
    """What belongs to the judge alone: a program that a check executes and that is new is the work itself."""
    return [file.path for file in touched if not (file.kind is JudgeKind.SCRIPT and file.change == CREATED)]


def is_doubtful(touched: Sequence[Touched]) -> bool:
    """Whether the judge of the base has to be asked: new tests and new scripts take nothing away from it."""
    return any(file.change != CREATED or file.kind is JudgeKind.CONFIG for file in touched)


def is_grave(touched: Sequence[Touched]) -> bool:
    """Whether more than the text of tests has changed: then checks that fail with the old judge go back."""
    changed = [file for file in touched if file.change != CREATED or file.kind is JudgeKind.CONFIG]
    return any(file.kind is not JudgeKind.TEST or file.change == DELETED for file in changed)


def names_new_test(command: str, touched: Sequence[Touched]) -> bool:
    """Whether a command names a test that was not there before: without it, it cannot run."""
    named = {normpath(word) for part in _split(command) for word in part}
    return any(normpath(file.path) in named for file in touched if file.change == CREATED)


def _classify(path: str, named: set[str], scripts: Sequence[re.Pattern[str]]) -> JudgeKind | None:
    name = basename(path)
    if _CONFIGS.fullmatch(name):
        return JudgeKind.CONFIG
    if _TESTS.fullmatch(name) or not _TEST_FOLDERS.isdisjoint(path.split("/")[:-1]):
        return JudgeKind.TEST
    if path in named or any(script.fullmatch(name) for script in scripts):
        return JudgeKind.SCRIPT
    return None


def _split(command: str) -> list[list[str]]:
    """The words of each command that stands between shell operators; of the node ids of pytest only the file."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        words = command.split()
    parts: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set("();<>|&"):
            parts.append([])
        else:
            parts[-1].append(word.partition("::")[0])
    return [part for part in parts if part]


def _find_scripts(part: Sequence[str]) -> list[str]:
    """The files that a command executes: itself, or the first argument of an interpreter that is no option."""
    words = [word for word in part if not _ASSIGNMENT.match(word)]
    if not words:
        return []
    if not _INTERPRETER.fullmatch(basename(words[0])):
        return [normpath(words[0])]
    return [normpath(word) for word in words[1:] if not word.startswith("-")][:1]


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_INTERPRETER = re.compile(r"(?:ba|da|k|z)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|env|timeout|nice|source|\.")


def _read(path: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    read = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
    return read if isinstance(read, dict) else {}


def _pick(data: object, part: tuple[str, ...]) -> object:
    for key in part:
        data = data.get(key) if isinstance(data, dict) else None
    return data
