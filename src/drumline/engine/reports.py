"""Reads what the test runners of a check wrote about their tests, and keeps it beside the check's log.

The rule: the report lies outside of the workspace, and a check runs the same if nobody can write one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from drumline.core.judge import names_judge
from drumline.core.products import is_installed
from drumline.core.testids import FAILED, PASSED, SKIPPED, Cut, name_file
from drumline.engine.products import spell_path
from drumline.isolation.contained import read_start
from drumline.ports.jail import Outside
from drumline.record import Record, field

MOST_BYTES = 64_000_000
LINES = "lines"
WATCHED = "DRUMLINE_LINES"
OUTSIDE = "outside"
LOADED = "DRUMLINE_OUTSIDE"
MOST_STRAYED = 20
"""How many files of the checkout the journal keeps."""
MOST_PATCHED = 10
"""How many functions of a runner are named."""
_WORST = {PASSED: 0, SKIPPED: 1, FAILED: 2}


class Outcomes(Record):
    """The tests of one check with their outcomes; not `complete` if a runner did not come to its end.

    `patched` are functions of the runner that were replaced while it worked, `cut` programs that were ended early.
    """

    tests: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    patched: tuple[str, ...] = ()
    cut: tuple[Cut, ...] = ()


class Strayed(Record):
    """What a check found outside of the tree that it judges: first-party files of the checkout that it loaded.

    `linked` says that an installed package leads there. `patched` are assertions that were replaced.
    """

    loaded: tuple[str, ...] = ()
    linked: bool = False
    patched: tuple[str, ...] = ()


def read_outcomes(folder: Path) -> Outcomes | None:
    """What the runners told, and which programs were ended early; None if nothing tells."""
    files, cut = sorted(folder.glob("*.jsonl")), _read_cuts(folder)
    if not files and not cut:
        return None
    tests: dict[str, str] = {}
    patched: set[str] = set()
    complete = True
    for file in files:
        complete = _read(file, tests, patched) and complete
    return Outcomes(tests=tests, complete=complete, patched=tuple(sorted(patched))[:MOST_PATCHED], cut=cut)


def _read_cuts(folder: Path) -> tuple[Cut, ...]:
    """The programs that judge, and that something else ended which does not."""
    told: list[str] = []
    for file in sorted(folder.glob("*.cut")):
        with suppress(OSError):
            told += read_start(file, MOST_BYTES).decode("utf-8", "replace").splitlines()
    lines = [line[1:] for line in _parse(told) if len(line) == 3]
    found = (
        Cut(program=spell_path(program), file=spell_path(file)) for program, file in lines if _counts(program, file)
    )
    return tuple(dict.fromkeys(found))[:MOST_PATCHED]


def _counts(program: str, file: str) -> bool:
    """Whether a program judges, and what ended it does not."""
    return (program.startswith("<") or names_judge(program)) and not (file and names_judge(file))


def keep_outcomes(log: Path, outcomes: Outcomes) -> None:
    """Keep the list of the tests beside the log of their check."""
    _name(log).write_text(json.dumps(dict(outcomes.tests), sort_keys=True), encoding="utf-8")


def find_outcomes(log: Path) -> Mapping[str, str] | None:
    """The list that was kept beside a log; None if there is none."""
    try:
        found = json.loads(_name(log).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def watch_lines(folder: Path, files: Sequence[str]) -> dict[str, str]:
    """The variables by which Python tells which lines of these files it executes; none if nobody asks."""
    if not files:
        return {}
    place = folder / LINES
    place.mkdir()
    (place / "files").write_text("\n".join(files), encoding="utf-8")
    return {WATCHED: str(place)}


def read_lines(folder: Path, files: Sequence[str]) -> dict[str, list[int]]:
    """What was executed of the files that were asked about."""
    told: list[str] = []
    for file in sorted((folder / LINES).glob("*.lines")) if files else ():
        with suppress(OSError):
            told += read_start(file, MOST_BYTES).decode("utf-8", "surrogateescape").splitlines()
    found: dict[str, set[int]] = {}
    for line in told:
        path, _, number = line.rpartition(":")
        if path in files and number.isdecimal():
            found.setdefault(path, set()).add(int(number))
    return {path: sorted(lines) for path, lines in found.items()}


def watch_outside(folder: Path, outside: Outside | None) -> dict[str, str]:
    """The variables by which runtimes tell which code of the checkout they load; none if that is judged itself."""
    if outside is None:
        return {}
    place = folder / OUTSIDE
    place.mkdir()
    (place / "checkout").write_bytes(os.fsencode(outside.checkout))
    return {LOADED: str(place)}


def read_outside(folder: Path, outside: Outside | None) -> Strayed:
    """What was loaded from the checkout, but for packages of others in it and for what is granted."""
    found: dict[str, list[str]] = {"loaded": [], "linked": [], "patched": []}
    for file in sorted((folder / OUTSIDE).glob("*.code")) if outside is not None else ():
        with suppress(OSError):
            for line in os.fsdecode(read_start(file, MOST_BYTES)).splitlines():
                word, _, path = line.partition(" ")
                found.setdefault(word, []).append(path)
    loaded = [_cut(path, outside) for path in found["loaded"]] if outside is not None else []
    own = sorted({path for path in loaded if path and not is_installed(path)})
    return Strayed(
        loaded=tuple(own[:MOST_STRAYED]), linked=bool(found["linked"]), patched=tuple(found["patched"][:MOST_PATCHED])
    )


def _cut(path: str, outside: Outside) -> str:
    """The path in the checkout; empty if it is elsewhere, or granted."""
    place = Path(path)
    if not place.is_relative_to(outside.checkout) or any(place.is_relative_to(one) for one in outside.granted):
        return ""
    return spell_path(str(place.relative_to(outside.checkout)))


def _name(log: Path) -> Path:
    return log.with_name(f"ids-{log.name}")


def _read(file: Path, tests: dict[str, str], patched: set[str]) -> bool:
    """Add the tests of one runner, and what of it was replaced; whether it came to its end."""
    try:
        text = read_start(file, MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    ended = False
    for line in _parse(text.splitlines()):
        if line[0] in ("test", "file") and len(line) == 3:
            name = line[1] if line[0] == "test" else name_file(line[1])
            outcome = line[2] if line[2] in _WORST else FAILED
            tests[name] = max(tests.get(name, PASSED), outcome, key=lambda word: _WORST[word])
        if line[0] == "patched" and len(line) == 2:
            patched.add(line[1])
        ended = ended or line[0] == "end"
    return ended


def _parse(lines: Iterable[str]) -> Iterable[list[str]]:
    for line in lines:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, list) and found and all(isinstance(word, str) for word in found):
            yield found
