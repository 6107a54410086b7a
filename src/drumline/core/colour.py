"""The colour of a check on a tree that the work is compared with.

The rule: red counts only through the work: by a test that passes with it and fails or is missing without it, or by a
file, a module or a program that is missing there and that the work creates. Whatever else makes a check fail leaves its
colour unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from posixpath import basename, splitext

from drumline.core.checkfailure import CheckFailure, is_work
from drumline.core.proof import Colour
from drumline.core.testids import FAILED, count_gained
from drumline.patterns import compile_late
from drumline.record import Record

PACKAGE = CheckFailure.PACKAGE.value
TIMED_OUT = 124
"""The exit code of a check that took too long, as the program `timeout` has it."""
_ELSEWHERE = compile_late(
    r"address already in use|\bEADDRINUSE\b|no space left on device|\bENOSPC\b|too many open files|\bEMFILE\b",
    re.IGNORECASE,
)
_MISSING = compile_late(
    r"No module named '(?P<module>[^']+)'"
    r"|Cannot find (?:module|package) '(?P<script>[^']+)'"
    r"|Failed to (?:resolve import|load url) \"?(?P<url>[^\s\"]+)"
    r"|(?:^|[\s'\"`:])(?P<file>[^\s'\"`:]+)['\"`]?: No such file or directory"
    r"|No such file or directory: '(?P<python>[^']+)'"
    r"|can't open file '(?P<main>[^']+)'",
    re.MULTILINE,
)


class Shown(Record):
    """How a check failed or passed on another tree: `failure` is the class of its failure.

    `there` are its tests on that tree, `here` those of the work, each with its outcome; None if nothing is known of
    them. `explains` says that the check passes with the work, and is to show that it does so through it.
    """

    exit_code: int | None
    failure: str
    output: str
    there: Mapping[str, str] | None = None
    here: Mapping[str, str] | None = None
    explains: bool = True


def paint(shown: Shown, created: Collection[str] = ()) -> tuple[Colour, str]:
    """The colour of a check, and the line that leaves it unknown. `created` are the files that the work creates."""
    if shown.exit_code == 0:
        return Colour.GREEN, ""
    if not shown.explains and shown.exit_code != TIMED_OUT and FAILED in (shown.there or {}).values():
        return Colour.RED, ""  # a test says so, whatever the code under test prints
    if shown.exit_code is None or not (is_work(shown.failure) or _misses_work(shown, created)):
        return Colour.UNKNOWN, shown.failure
    if shown.exit_code == TIMED_OUT:
        return Colour.UNKNOWN, "it took too long"
    found = next((line for line in shown.output.splitlines() if _ELSEWHERE.search(line)), None)
    if found is not None:
        return Colour.UNKNOWN, found.strip()
    return _paint_work(shown, created) if shown.explains else (Colour.RED, "")


def names_missing(output: str) -> bool:
    """Whether a check says that something is missing, so that it counts what the work creates."""
    return _MISSING.search(output) is not None


def _misses_work(shown: Shown, created: Collection[str]) -> bool:
    """Whether the packages that are missing are the work's own: it creates them all."""
    missing = list(_MISSING.finditer(shown.output))
    return shown.failure == PACKAGE and bool(missing) and all(_is_created(found, created) for found in missing)


def _paint_work(shown: Shown, created: Collection[str]) -> tuple[Colour, str]:
    missing = list(_MISSING.finditer(shown.output))
    made = any(_is_created(found, created) for found in missing)
    absent = missing[0][0].strip() if missing and not made else ""
    if not shown.here:
        return (Colour.UNKNOWN, absent) if absent else (Colour.RED, "")
    gained = count_gained(shown.there or {}, shown.here)
    if gained.failed or made or (gained.missing and not absent):
        return Colour.RED, ""
    return Colour.UNKNOWN, absent or "it fails, but each test that passes with the work passes without it as well"


def _is_created(found: re.Match[str], created: Collection[str]) -> bool:
    """Whether the work creates what is missing: a name may be spelled with or without its folder and ending."""
    named = next(filter(None, found.groupdict().values()))
    words = named.split(".") if found["module"] else [splitext(basename(named.rstrip("/")))[0]]
    return any(words[-1] in _list_names(path) for path in created)


def _list_names(path: str) -> set[str]:
    *folders, name = path.split("/")
    return {*folders, name, splitext(name)[0]}
