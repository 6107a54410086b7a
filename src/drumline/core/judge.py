"""The judge of a step: the files that decide whether its work passes, told from the work by tables of names.

Tests with their fixtures and snapshots, the configuration of test runners, and the scripts and targets that a check
names. The rule: a file that may be both is work, unless the part of it that judges has changed.
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

from drumline.core.targets import cut_targets
from drumline.record import Record

CREATED, MODIFIED, DELETED = "created", "modified", "deleted"


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
_TEST_FOLDERS = frozenset({"tests", "test", "__tests__", "__snapshots__", "testdata", "fixtures"})
_SPEC_FOLDERS = frozenset({"spec", "specs"})
"""Folders of test runners, and of documents that say what is wanted."""
_CODE = (".rb", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".exs")
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


_MAKES = ("make", "gmake")
_JUDGING = re.compile(
    r"(?:^|[._-])(?:check|test|spec|verif|valid|lint|ci|suite|smoke|e2e|assert)|(?:test|check)s?\.|\.(?:ba|z|k)?sh$"
)
"""Names of scripts that judge, whatever is done with what they print."""


class _Part(Record):
    """One command of a command line; `piped` says that what it prints goes to the next one."""

    words: tuple[str, ...]
    piped: bool = False


def is_mixed(path: str, commands: Sequence[str]) -> bool:
    """Whether only a part of a file judges, so that its text has to be looked at."""
    name = basename(path)
    return name in _PARTS or (_RUNNERS["make"].fullmatch(name) is not None and bool(_list_goals(path, commands)))


def find_touched(
    changed: Mapping[str, str], commands: Sequence[str], parts: Mapping[str, str], files: Sequence[str] = ()
) -> tuple[Touched, ...]:
    """The files of the judge among those that the work changed, in order.

    `parts` says of mixed files how the part that judges has changed, empty if it has not; `files` are those that the
    step is about.
    """
    parts_of = [part for command in commands for part in _split(command)]
    runners = [_RUNNERS[basename(word)] for part in parts_of for word in part.words if basename(word) in _RUNNERS]
    named = {script for part in parts_of for script in _find_judges(part, files)}
    found = []
    for path, change in sorted(changed.items()):
        how = parts.get(path, change)
        kind = _classify(path, named, runners)
        if kind is None and how and basename(path) in _PARTS and path in parts:
            kind = JudgeKind.CONFIG
        if kind is not None and how:
            found.append(Touched(path=path, kind=kind, change=how))
    return tuple(found)


def compare_judges(path: str, before: str | None, after: str | None, commands: Sequence[str]) -> str:
    """How the part of a mixed file that judges has changed; empty if it has not. What cannot be read has changed."""
    if basename(path) in _PARTS:
        return _compare_parts(path, before, after)
    changes = {_compare_targets(before, after, goals) for goals in _list_goals(path, commands)} - {""}
    return changes.pop() if len(changes) == 1 else MODIFIED if changes else ""


def _compare_parts(path: str, before: str | None, after: str | None) -> str:
    try:
        old, new = (_read(path, text) for text in (before, after))
    except ValueError:
        return "" if before == after else MODIFIED
    names = _PARTS[basename(path)]
    return _name_change([_pick(old, part) for part in names], [_pick(new, part) for part in names])


def _compare_targets(before: str | None, after: str | None, goals: Sequence[str]) -> str:
    old, new = (None if text is None else cut_targets(text, goals) for text in (before, after))
    return _name_change([old], [new])


def _name_change(old: Sequence[object], new: Sequence[object]) -> str:
    if old == new:
        return ""
    if all(part is None for part in old):
        return CREATED
    return DELETED if all(part is None for part in new) else MODIFIED


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
    named = {normpath(word) for part in _split(command) for word in part.words}
    return any(normpath(file.path) in named for file in touched if file.change == CREATED)


def _classify(path: str, named: set[str], scripts: Sequence[re.Pattern[str]]) -> JudgeKind | None:
    name = basename(path)
    if _CONFIGS.fullmatch(name):
        return JudgeKind.CONFIG
    folders = path.split("/")[:-1]
    if _TESTS.fullmatch(name) or not _TEST_FOLDERS.isdisjoint(folders):
        return JudgeKind.TEST
    if name.endswith(_CODE) and not _SPEC_FOLDERS.isdisjoint(folders):
        return JudgeKind.TEST
    if path in named or any(script.fullmatch(name) for script in scripts):
        return JudgeKind.SCRIPT
    return None


def _split(command: str) -> list[_Part]:
    """The commands that stand between shell operators; of the node ids of pytest only the file."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        words = command.split()
    parts: list[_Part] = []
    here: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= set("();<>|&"):
            parts += [_Part(words=tuple(here), piped=word in ("|", "|&"))] if here else []
            here = []
        else:
            here.append(word.partition("::")[0])
    return parts


def _find_judges(part: _Part, files: Sequence[str]) -> list[str]:
    """The scripts whose verdict is that of a command.

    A program of which only the output is looked at, or that the step is to write, is work, unless its name says that
    it judges.
    """
    own = {normpath(file) for file in files}
    return [
        script
        for script in _find_scripts(part.words)
        if _JUDGING.search(basename(script)) or not (part.piped or script in own)
    ]


def _find_scripts(part: Sequence[str]) -> list[str]:
    """The files that a command executes: itself, or the first argument of an interpreter that is not an option."""
    words = _drop_assignments(part)
    if not words:
        return []
    if not _INTERPRETER.fullmatch(basename(words[0])):
        return [normpath(words[0])]
    return [normpath(word) for word in words[1:] if not word.startswith("-")][:1]


def _list_goals(path: str, commands: Sequence[str]) -> list[list[str]]:
    """What each call of make in the commands makes, if it is known that it reads this file; none if one is unclear."""
    found: list[list[str]] = []
    for words in (_drop_assignments(part.words) for command in commands for part in _split(command)):
        calls = [place for place, word in enumerate(words) if basename(word) in _MAKES]
        if calls and (calls[0] or not _is_plain(words[1:]) or "/" in path or path.endswith(".mk")):
            return []
        found += [[word for word in words[1:] if word[0] != "-" and "=" not in word]] if calls else []
    return found


def _is_plain(options: Sequence[str]) -> bool:
    """Whether none of the options of make takes it to another file or folder."""
    return all(
        word and not re.match(r"-[a-zA-Z]*[CfIW]|--(?:dir|file|makefile|eval|include)", word) for word in options
    )


def _drop_assignments(words: Sequence[str]) -> list[str]:
    return [word for word in words if not _ASSIGNMENT.match(word)]


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
