"""The judge of a step: the files that decide whether its work passes, told from the work by tables of names.

Tests with their fixtures and snapshots, the configuration of test runners, and the scripts and targets that a check
names. The rule: a file that may be both is work, unless the part of it that judges has changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from posixpath import basename, normpath

from drumline.core.judgeparts import has_parts, list_parts
from drumline.core.ownership import owns
from drumline.core.shellwords import Part, find_scripts, list_goals, split_command
from drumline.core.targets import cut_targets
from drumline.patterns import compile_late
from drumline.record import Record

CREATED, MODIFIED, DELETED = "created", "modified", "deleted"


class JudgeKind(Enum):
    """What a file of the judge is."""

    TEST = "test"
    CONFIG = "config"
    SCRIPT = "script"


class Touched(Record):
    """A file of the judge that the work has `created`, `modified` or `deleted`.

    `work` says that it is a test, and that tests are part of the step's task. `reaches` says that it is a new one that
    may change more than it adds, because it replaces what it imports.
    """

    path: str
    kind: JudgeKind
    change: str
    work: bool = False
    reaches: bool = False


_TESTS = compile_late(
    r"test_[^/]*\.py|[^/]*_test\.(?:py|go|exs|rb|dart)|tests?\.py|[^/]*_spec\.rb"
    r"|[^/]*\.(?:test|spec)\.[cm]?[jt]sx?|[^/]*\.snap|[^/]*(?:Test|Tests|IT|Spec)\.(?:java|kt|scala|cs)"
)
_CALLED = compile_late(
    r"(?:(?:.*[_-])?tests?|test[_-].*)\.(?:(?:ba|z|k)?sh|[cm]?[jt]sx?|c|cc|cpp|cxx|rs|lua|pl|php|zig|swift|jl|hs)"
    r"|.*\.bats|.*_spec\.(?:lua|cr)|.*Tests?\.(?:swift|php|groovy|cpp)"
)
"""Names that people give to tests where no runner looks for them: a target, a script or a loop names them."""
_GOLDEN = compile_late(
    r"(?:.*[._-])?(?:expected|golden|snapshot)(?:[._-].*)?\.(?:txt|json|ya?ml|toml|csv|tsv|xml|html?|out|md|sql|svg|dat|bin)"
    r"|.*\.(?:expected|golden|approved)(?:\.\w+)?"
)
"""Names of files that have what is expected."""
_TEST_FOLDERS = frozenset(
    {"tests", "test", "__tests__", "__snapshots__", "__fixtures__", "testdata", "fixtures", "golden", "goldens"}
)
_SPEC_FOLDERS = frozenset({"spec", "specs"})
"""Folders of test runners, and of documents that say what is wanted."""
_CODE = (".rb", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".exs")
_CONFIGS = compile_late(
    r"conftest\.py|\.?pytest\.(?:ini|toml)|tox\.(?:ini|toml)|setup\.cfg|noxfile\.py|\.coveragerc|sitecustomize\.py"
    r"|usercustomize\.py|[^/]*\.pth|\.mocharc[^/]*|\.?(?:jest|vitest|karma|playwright|cypress|ava|nyc)[.-](?:config|conf|setup|workspace|preset)"
    r"\.[^/]*|setup-?[Tt]ests?\.[cm]?[jt]sx?|\.babelrc[^/]*|babel\.config\.[^/]*|\.nycrc[^/]*|\.rspec|phpunit\.xml[^/]*|\.npmrc|\.yarnrc(?:\.yml)?|\.?bunfig\.toml|maven\.config"
)
_CONFIG_PATHS = compile_late(
    r"(?:.*/)?(?:\.mvn/.*|__mocks__/.*|\.cargo/config(?:\.toml)?|\.config/nextest\.toml)|.*\.runsettings"
)
"""Files of runners that are known by their folder, or by their ending."""
_STAND_INS = frozenset(
    {
        *("unittest", "pytest", "_pytest", "pluggy", "iniconfig", "xdist", "coverage", "nose", "nose2", "tox", "nox"),
        *("argparse", "ast", "collections", "contextlib", "copy", "dataclasses", "difflib", "dis", "enum", "fnmatch"),
        *("functools", "gettext", "heapq", "importlib", "inspect", "itertools", "keyword", "linecache", "operator"),
        *(
            "pprint",
            "re",
            "reprlib",
            "signal",
            "textwrap",
            "token",
            "tokenize",
            "traceback",
            "types",
            "warnings",
            "weakref",
        ),
    }
)
"""Modules of Python's test runners, and what they import: a file of this name at the top is loaded in their place."""
_MODULES = ("py", "pyc", "so", "pyd")
_RUNNERS: Mapping[str, re.Pattern[str]] = {
    "make": compile_late(r"GNUmakefile|[Mm]akefile|[^/]*\.mk"),
    "gmake": compile_late(r"GNUmakefile|[Mm]akefile|[^/]*\.mk"),
    "just": compile_late(r"\.?[Jj]ustfile|[^/]*\.just"),
    "task": compile_late(r"[Tt]askfile\.ya?ml"),
    "rake": compile_late(r"[Rr]akefile"),
    "tox": compile_late(r"tox\.ini"),
}
"""The scripts that a program takes its targets from."""
_SAYS_JUDGE = compile_late(
    r"(?:^|[._-]|^run)(?:check|test|spec|verif|valid|lint|ci|suite|smoke|e2e|assert)|(?:test|check)s?\."
)
_SCRIPT_FOLDERS = frozenset({"scripts", "script", "tools", "ci", ".ci", "hack", "dev"})
_RUNS = compile_late(r".*\.(?:ba)?sh$|(?:run|runner|all)[._-]")
_MAKES_WORK = compile_late(r"(?:^|[._-])(?:build|compile|gen|install|setup|deploy|start|serve|release|pack|format|fmt)")
_JUDGING = compile_late(rf"{_SAYS_JUDGE.pattern}|\.(?:ba|z|k)?sh$")
"""Names of scripts that judge, whatever is done with what they print."""


def configures(name: str) -> bool:
    """Whether a file of this name configures test runners, as a whole or in a part of it."""
    return _CONFIGS.fullmatch(name) is not None or has_parts(name)


def is_mixed(path: str, commands: Sequence[str]) -> bool:
    """Whether only a part of a file judges, so that its text has to be looked at."""
    name = basename(path)
    return has_parts(name) or (_RUNNERS["make"].fullmatch(name) is not None and bool(list_goals(path, commands)))


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
    using: Collection[str] = (),
) -> tuple[Touched, ...]:
    """The files of the judge among those that the work changed, in order.

    `parts` says of mixed files how the part that judges has changed, empty if it has not; `files` are those that the
    step is about; `executed` are lines that the commands execute through a target or a script of a package, `more`
    globs of files that are tests, too. `standing_in` take the place of a target or of the file that has it, `sourced`
    are read by scripts that the commands execute, `using` use a test runner.
    """
    parts_of = [part for command in commands for part in split_command(command)]
    runners = [_RUNNERS[basename(word)] for part in parts_of for word in part.words if basename(word) in _RUNNERS]
    named = {script for part in parts_of for script in _find_judges(part, files)}
    called = {script for line in executed for part in split_command(line) for script in find_scripts(part.words)}
    passed = {*filter(_may_run_tests, called)} if _asks_tests(parts_of) else set()
    found = []
    for path, change in sorted(changed.items()):
        listed = any(owns(entry, path) for entry in more)
        how = change if listed else parts.get(path, change)
        stands_in = path in standing_in or (change == CREATED and _takes_place(path))
        kind = JudgeKind.CONFIG if stands_in else _classify(path, named, runners)
        if kind is None and (path in sourced or (path in called and may_judge(path))):
            kind = JudgeKind.SCRIPT
        if kind is None and (path in passed or path in using or listed):
            kind = JudgeKind.TEST
        if kind is None and how and has_parts(path) and path in parts:
            kind = JudgeKind.CONFIG
        if kind is not None and how:
            found.append(Touched(path=path, kind=kind, change=how))
    return tuple(found)


def names_judge(path: str) -> bool:
    """Whether a file judges by its name alone, or that of its folder."""
    return _classify(path, set(), ()) is not None or _JUDGING.search(basename(path)) is not None


def _takes_place(path: str) -> bool:
    """Whether a new file is a module that Python finds before that of a test runner."""
    top, _, rest = path.partition("/")
    name, _, ending = top.partition(".")
    return name in _STAND_INS and (rest.startswith("__init__.") or (not rest and ending.endswith(_MODULES)))


def may_judge(path: str) -> bool:
    """Whether the name of a script says that it judges; only such a one does where a target executes it."""
    return _SAYS_JUDGE.search(basename(path)) is not None


def _asks_tests(parts: Sequence[Part]) -> bool:
    """Whether a command says by a word of it, such as a target, that it judges."""
    return any(_SAYS_JUDGE.search(word) for part in parts for word in part.words)


def _may_run_tests(path: str) -> bool:
    """Whether a script may run the tests of the target that executes it, though its name does not say so."""
    *folders, name = path.split("/")
    scripted = "." not in name or _RUNS.match(name) is not None or not _SCRIPT_FOLDERS.isdisjoint(folders)
    return scripted and not _MAKES_WORK.search(name)


def compare_judges(path: str, before: str | None, after: str | None, commands: Sequence[str]) -> str:
    """How the part of a mixed file that judges has changed; empty if it has not. What cannot be read has changed."""
    if has_parts(path):
        return _compare_parts(path, before, after)
    changes = {_compare_targets(before, after, goals) for goals in list_goals(path, commands)} - {""}
    return changes.pop() if len(changes) == 1 else MODIFIED if changes else ""


def _compare_parts(path: str, before: str | None, after: str | None) -> str:
    try:
        return _name_change(list_parts(path, before), list_parts(path, after))
    except ValueError:
        return "" if before == after else MODIFIED


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


def list_new_tests(touched: Sequence[Touched]) -> list[str]:
    """The files with tests that the work has added."""
    return [file.path for file in touched if file.change == CREATED and file.kind is JudgeKind.TEST]


def has_tests(touched: Sequence[Touched]) -> bool:
    """Whether the work adds or changes a test."""
    return any(file.kind is JudgeKind.TEST and file.change != DELETED for file in touched)


def _list_changed(touched: Sequence[Touched]) -> list[Touched]:
    """What may take something away from the judge of the base; tests that are part of the task do not."""
    takes = [file for file in touched if file.change != CREATED or file.kind is JudgeKind.CONFIG or file.reaches]
    return [file for file in takes if not file.work]


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
    if _CONFIGS.fullmatch(name) or _CONFIG_PATHS.fullmatch(path):
        return JudgeKind.CONFIG
    folders = path.split("/")[:-1]
    if _TESTS.fullmatch(name) or not _TEST_FOLDERS.isdisjoint(folders):
        return JudgeKind.TEST
    if name.endswith(_CODE) and not _SPEC_FOLDERS.isdisjoint(folders):
        return JudgeKind.TEST
    if path in named or any(script.fullmatch(name) for script in scripts):
        return JudgeKind.SCRIPT
    return JudgeKind.TEST if _CALLED.fullmatch(name) or _GOLDEN.fullmatch(name) else None


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
