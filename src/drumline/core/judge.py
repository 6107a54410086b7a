"""The judge of a step: the files that decide whether its work passes, told from the work by tables of names.

Tests with their fixtures and snapshots, the configuration of test runners, and the scripts and targets that a check
names. The rule: a file that may be both is work, unless the part of it that judges has changed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from posixpath import basename, normpath
from typing import Any

from drumline.core.ownership import owns
from drumline.core.shellwords import Part, find_scripts, list_goals, split_command
from drumline.core.targets import cut_targets
from drumline.record import Record

CREATED, MODIFIED, DELETED = "created", "modified", "deleted"


class JudgeKind(Enum):
    """What a file of the judge is."""

    TEST = "test"
    CONFIG = "config"
    SCRIPT = "script"


class Touched(Record):
    """A file of the judge that the work has `created`, `modified` or `deleted`.

    `work` says that it is a test, and that tests are part of the step's task.
    """

    path: str
    kind: JudgeKind
    change: str
    work: bool = False


_TESTS = re.compile(
    r"test_[^/]*\.py|[^/]*_test\.(?:py|go|exs|rb|dart)|tests?\.py|[^/]*_spec\.rb"
    r"|[^/]*\.(?:test|spec)\.[cm]?[jt]sx?|[^/]*\.snap|[^/]*(?:Test|Tests|IT|Spec)\.(?:java|kt|scala|cs)"
)
_CALLED = re.compile(
    r"(?:(?:.*[_-])?tests?|test[_-].*)\.(?:(?:ba|z|k)?sh|[cm]?[jt]sx?|c|cc|cpp|cxx|rs|lua|pl|php|zig|swift|jl|hs)"
    r"|.*\.bats|.*_spec\.(?:lua|cr)|.*Tests?\.(?:swift|php|groovy|cpp)"
)
"""Names that people give to tests where no runner looks for them: a target, a script or a loop names them."""
_TEST_FOLDERS = frozenset({"tests", "test", "__tests__", "__snapshots__", "testdata", "fixtures"})
_SPEC_FOLDERS = frozenset({"spec", "specs"})
"""Folders of test runners, and of documents that say what is wanted."""
_CODE = (".rb", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".exs")
_CONFIGS = re.compile(
    r"conftest\.py|\.?pytest\.(?:ini|toml)|tox\.(?:ini|toml)|setup\.cfg|noxfile\.py|\.coveragerc|sitecustomize\.py"
    r"|usercustomize\.py|[^/]*\.pth|\.mocharc[^/]*|\.?(?:jest|vitest|karma|playwright|cypress|ava|nyc)\.(?:config|conf|setup)"
    r"\.[^/]*|\.nycrc[^/]*|\.rspec|phpunit\.xml[^/]*|\.npmrc|\.yarnrc(?:\.yml)?|\.?bunfig\.toml|maven\.config"
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
    "Cargo.toml": (("test",), ("lib", "test"), ("lib", "harness"), ("package", "autotests")),
    "package.json": (("scripts",), ("jest",), ("vitest",), ("mocha",), ("ava",), ("nyc",)),
}
"""Files that are work but for these parts."""


_SAYS_JUDGE = re.compile(
    r"(?:^|[._-])(?:check|test|spec|verif|valid|lint|ci|suite|smoke|e2e|assert)|(?:test|check)s?\."
)
_JUDGING = re.compile(rf"{_SAYS_JUDGE.pattern}|\.(?:ba|z|k)?sh$")
"""Names of scripts that judge, whatever is done with what they print."""


def configures(name: str) -> bool:
    """Whether a file of this name configures test runners, as a whole or in a part of it."""
    return _CONFIGS.fullmatch(name) is not None or name in _PARTS


def is_mixed(path: str, commands: Sequence[str]) -> bool:
    """Whether only a part of a file judges, so that its text has to be looked at."""
    name = basename(path)
    return name in _PARTS or (_RUNNERS["make"].fullmatch(name) is not None and bool(list_goals(path, commands)))


def find_touched(
    changed: Mapping[str, str],
    commands: Sequence[str],
    parts: Mapping[str, str],
    files: Sequence[str] = (),
    *,
    executed: Sequence[str] = (),
    more: Sequence[str] = (),
    standing_in: Collection[str] = (),
    sourced: Collection[str] = (),
) -> tuple[Touched, ...]:
    """The files of the judge among those that the work changed, in order.

    `parts` says of mixed files how the part that judges has changed, empty if it has not; `files` are those that the
    step is about; `executed` are lines that the commands execute through a target or a script of a package, `more`
    globs of files that are tests, too. `standing_in` take the place of a target or of the file that has it, `sourced`
    are read by scripts that the commands execute.
    """
    parts_of = [part for command in commands for part in split_command(command)]
    runners = [_RUNNERS[basename(word)] for part in parts_of for word in part.words if basename(word) in _RUNNERS]
    named = {script for part in parts_of for script in _find_judges(part, files)}
    called = {script for line in executed for part in split_command(line) for script in find_scripts(part.words)}
    found = []
    for path, change in sorted(changed.items()):
        how = parts.get(path, change)
        kind = JudgeKind.CONFIG if path in standing_in else _classify(path, named, runners)
        if kind is None and any(owns(entry, path) for entry in more):
            kind = JudgeKind.TEST
        if kind is None and (path in sourced or (path in called and may_judge(path))):
            kind = JudgeKind.SCRIPT
        if kind is None and how and basename(path) in _PARTS and path in parts:
            kind = JudgeKind.CONFIG
        if kind is not None and how:
            found.append(Touched(path=path, kind=kind, change=how))
    return tuple(found)


def may_judge(path: str) -> bool:
    """Whether the name of a script says that it judges; only such a one does where a target executes it."""
    return _SAYS_JUDGE.search(basename(path)) is not None


def compare_judges(path: str, before: str | None, after: str | None, commands: Sequence[str]) -> str:
    """How the part of a mixed file that judges has changed; empty if it has not. What cannot be read has changed."""
    if basename(path) in _PARTS:
        return _compare_parts(path, before, after)
    changes = {_compare_targets(before, after, goals) for goals in list_goals(path, commands)} - {""}
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


def list_judging(touched: Sequence[Touched]) -> list[str]:
    """What judges: a program that a check executes and that is new is the work itself."""
    return [file.path for file in touched if not (file.kind is JudgeKind.SCRIPT and file.change == CREATED)]


def list_reverted(touched: Sequence[Touched]) -> list[str]:
    """What belongs to the judge alone: tests that are part of the task are work as well."""
    return list_judging([file for file in touched if not file.work])


def is_doubtful(touched: Sequence[Touched]) -> bool:
    """Whether the judge of the base has to be asked: new tests and new scripts take nothing away from it."""
    return bool(_list_changed(touched))


def is_grave(touched: Sequence[Touched]) -> bool:
    """Whether more than the text of tests has changed: then checks that fail with the old judge go back."""
    changed = [file for file in _list_changed(touched) if not _is_program(file)]
    return any(file.kind is not JudgeKind.TEST or file.change == DELETED for file in changed)


def is_program_changed(touched: Sequence[Touched]) -> bool:
    """Whether a program has changed that a check executes and whose name does not say that it judges."""
    return any(map(_is_program, _list_changed(touched)))


def has_edited_work(touched: Sequence[Touched]) -> bool:
    """Whether tests that are part of the task were changed or removed, and not only added."""
    return any(file.work and file.change != CREATED for file in touched)


def list_edited(touched: Sequence[Touched]) -> list[str]:
    """What of the judge was there before and is another one now."""
    return [file.path for file in touched if file.change != CREATED]


def has_tests(touched: Sequence[Touched]) -> bool:
    """Whether the work adds or changes a test."""
    return any(file.kind is JudgeKind.TEST and file.change != DELETED for file in touched)


def _list_changed(touched: Sequence[Touched]) -> list[Touched]:
    """What may take something away from the judge of the base; tests that are part of the task do not."""
    return [file for file in touched if not file.work and (file.change != CREATED or file.kind is JudgeKind.CONFIG)]


def _is_program(file: Touched) -> bool:
    name = basename(file.path)
    ruled = _JUDGING.search(name) or any(runner.fullmatch(name) for runner in _RUNNERS.values())
    return file.kind is JudgeKind.SCRIPT and not ruled


def names_new_test(command: str, touched: Sequence[Touched]) -> bool:
    """Whether a command names a test that was not there before: without it, it cannot run."""
    named = {normpath(word) for part in split_command(command) for word in part.words}
    new = [file.path for file in touched if file.change == CREATED and file.kind is not JudgeKind.CONFIG]
    return any(normpath(path) in named for path in new)


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
    return JudgeKind.TEST if _CALLED.fullmatch(name) else None


def _find_judges(part: Part, files: Sequence[str]) -> list[str]:
    """The scripts whose verdict is that of a command.

    A program of which only the output is looked at, or that the step is to write, is work, unless its name says that
    it judges.
    """
    own = {normpath(file) for file in files}
    return [
        script
        for script in find_scripts(part.words)
        if _JUDGING.search(basename(script)) or not (part.piped or script in own)
    ]


def _read(path: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    read = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
    return read if isinstance(read, dict) else {}


def _pick(data: object, part: tuple[str, ...]) -> object:
    for key in part:
        data = data.get(key) if isinstance(data, dict) else None
    return data
