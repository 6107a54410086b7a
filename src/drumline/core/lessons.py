"""What is learned from fixes: which change put which failure right, and when that is worth telling again. Pure.

The rule: the engine's checks say whether a fix worked, never the agent. A lesson is promoted after three successes
without a failure; one failure demotes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from posixpath import basename
from typing import Protocol

from drumline.core.firstlines import find_first
from drumline.core.heldout import is_named
from drumline.core.learned import Fix, Lesson
from drumline.core.plaintext import strip_controls, strip_marks
from drumline.core.proselines import read_lines
from drumline.core.selfreport import find_field
from drumline.core.shellwords import drop_assignments, split_command
from drumline.patterns import compile_late
from drumline.record import Record

ENOUGH = 3
"""Successes that make a lesson."""
MOST_REMEDY = 600
MOST_LINE = 160
MOST_SIGNATURE = 300
MOST_TOLD = 3
"""Lessons that one prompt gets."""
ALIKE = 0.6
"""The share of common words above which two remedies are the same one."""
FEWEST_WORDS = 3
"""A remedy with fewer words tells nobody what to do."""
UNUSED_DAYS = 180
"""After so many days without use a lesson expires."""
_PREAMBLE = ("cd", "export", "set", "source", ".", "umask", "ulimit")
_WRAPPERS = ("env", "time", "nice", "timeout", "stdbuf", "xvfb-run", "sudo", "exec", "command")
_RUNNERS = ("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "pnpm", "yarn", "npm", "bun")
_PYTHON = compile_late(r"python[\d.]*")
_NOISE = (
    (compile_late(r"\x1b\[[0-9;]*m"), ""),
    (compile_late(r"0x[0-9a-fA-F]+|\b[0-9a-f]{7,}\b"), "#"),
    (compile_late(r"(?:[\w.~@-]*/)+[\w.@-]*"), "PATH"),
    (compile_late(r"\d+(?:[.:,]\d+)*"), "#"),
    (compile_late(r"\s+"), " "),
)
_WORD = compile_late(r"[a-z_]{2,}")
FIELDS = ("fix", "fix applied", "summary", "objective achieved")
"""Fields of a report that say what was done, the best first."""
ASK = "Add a line `Fix: …` to your last message that says in one sentence what you changed to put this right."


class Failing(Protocol):
    """A check that failed."""

    @property
    def command(self) -> str: ...
    @property
    def failure(self) -> str: ...
    @property
    def output(self) -> str: ...


class Tried(Protocol):
    """A line of the ledger, as far as promotion looks at it."""

    @property
    def signature(self) -> str: ...
    @property
    def remedy(self) -> str: ...
    @property
    def success(self) -> bool: ...


class Evidence(Record):
    """What the ledger says about one remedy of one failure."""

    signature: str
    remedy: str
    successes: int
    failures: int


def clean_line(text: str, most: int) -> str:
    """Somebody's words as one line that can be shown and encoded, cut to its length."""
    shown = strip_controls(text.encode("utf-8", "replace").decode("utf-8"))
    return " ".join(shown.split())[:most]


def find_program(command: str) -> str:
    """The program that a check is about: behind `cd`, variables, wrappers and runners of environments."""
    parts = [drop_assignments(part.words) for part in split_command(command)]
    words = next((part for part in parts if part and part[0] not in _PREAMBLE), [])
    while words:
        head, rest = basename(words[0]), words[1:]
        if head in _RUNNERS and rest and rest[0] in ("run", "exec", "x"):
            words = [word for word in rest[1:] if not word.startswith("-")]
        elif head in ("npx", "bunx", "uvx") or head in _WRAPPERS:
            words = [word for word in rest if not word.startswith("-") and not word[:1].isdigit()]
        elif _PYTHON.fullmatch(head) and "-m" in rest[:-1]:
            return rest[rest.index("-m") + 1]
        else:
            return head
    return ""


def sign(failing: Failing) -> str:
    """What makes two failures the same: program, class and first error line without numbers, paths and hashes."""
    first = next(iter(find_first(failing.output)), "")
    for pattern, other in _NOISE:
        first = pattern.sub(other, first)
    kind = failing.failure or "fails"
    return f"{find_program(failing.command)} | {kind} | {first.strip()[:MOST_LINE]}"


def read_remedy(message: str, report: Mapping[str, str]) -> str:
    """What the agent says that it changed, in one line; empty if it says nothing that helps somebody else."""
    said = next((report[name] for name in FIELDS[:2] if report.get(name)), "") or _find_line(message)
    said = said or next((report[name] for name in FIELDS[2:] if report.get(name)), "") or _find_first_line(message)
    line = clean_line(said, MOST_REMEDY)
    return line if len(_list_words(line)) >= FEWEST_WORDS else ""


def _find_line(message: str) -> str:
    fields = (find_field(line) for line in read_lines(message))
    return next((strip_marks(field[1]) for field in fields if field is not None and field[0] in FIELDS[:2]), "")


def _find_first_line(message: str) -> str:
    return next((line.text.strip() for line in read_lines(message) if line.paragraph >= 0 and line.text.strip()), "")


def settle(fixed: Sequence[Failing], passed: Mapping[str, bool], remedy: str, lessons: Mapping[str, str]) -> list[Fix]:
    """What came of a try to put these checks right, as far as they were judged since.

    `passed` says it by command; `lessons` are the names of those that the agent was given, by signature. Checks that
    are held out leave no trace.
    """
    known = [ended for ended in fixed if ended.command in passed and not is_named(ended.command)]
    return [
        Fix(
            check=ended.command,
            failure=ended.failure,
            signature=sign(ended),
            remedy=remedy,
            success=passed[ended.command],
            lesson=lessons.get(sign(ended), ""),
        )
        for ended in known
    ]


def match(lessons: Iterable[Lesson], failing: Sequence[Failing]) -> dict[str, Lesson]:
    """The lessons about these very failures, by their signatures: of several, the one that helped most."""
    signatures = list(dict.fromkeys(sign(ended) for ended in failing if not is_named(ended.command)))[:MOST_TOLD]
    best = sorted(lessons, key=lambda lesson: (lesson.helped, lesson.successes, lesson.name))
    found = {lesson.signature: lesson for lesson in best}
    return {signature: found[signature] for signature in signatures if signature in found}


def weigh(tried: Iterable[Tried]) -> list[Evidence]:
    """The remedies of the ledger, each with its successes and failures; those that say the same count as one."""
    groups: list[list[Tried]] = []
    for row in tried:
        if not row.remedy or not row.signature:
            continue
        home = next((g for g in groups if g[0].signature == row.signature and is_alike(g[0].remedy, row.remedy)), None)
        if home is None:
            groups.append([row])
        else:
            home.append(row)
    return [
        Evidence(
            signature=group[0].signature,
            remedy=group[-1].remedy,
            successes=sum(row.success for row in group),
            failures=sum(not row.success for row in group),
        )
        for group in groups
    ]


def is_alike(one: str, other: str) -> bool:
    """Whether two remedies say the same in nearly the same words."""
    left, right = _list_words(one), _list_words(other)
    if not left or not right:
        return one == other
    return len(left & right) / len(left | right) >= ALIKE


def is_promoted(found: Evidence) -> bool:
    """Whether it helped often enough, and always."""
    return found.successes >= ENOUGH and found.failures == 0


def name_lesson(found: Evidence, taken: Iterable[str]) -> str:
    """A name for files and people: the program and the first words of the remedy."""
    program = found.signature.partition(" | ")[0]
    words = re.findall(r"[a-z0-9]+", f"{program} {found.remedy}".lower())[:7]
    stem = "-".join(words)[:60].strip("-") or "lesson"
    others = set(taken)
    return next(name for name in (stem, *(f"{stem}-{n}" for n in range(2, len(others) + 3))) if name not in others)


def tell_lessons(lessons: Sequence[Lesson]) -> str:
    """What an agent reads of them: somebody else's words, quoted."""
    if not lessons:
        return ""
    told = [f"- after `{lesson.signature.rpartition(' | ')[2]}`:\n  > {lesson.remedy}" for lesson in lessons]
    return "The same failure was put right in this repository before. A hint, in the words of those agents:\n\n" + (
        "\n".join(told)
    )


def _list_words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
