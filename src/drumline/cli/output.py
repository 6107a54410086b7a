"""How commands speak: JSON on stdout for scripts, sentences on stderr for people, errors with the next step."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, cast

import click

from drumline.cli.columns import find_columns
from drumline.core.plan import Problem, Severity
from drumline.engine.refusals import MACHINE, explain_refusal, find_refusal
from drumline.errors import DrumlineError, InvalidFlow, InvalidPlan, SystemRefused

SCHEMA_VERSION = 1
MOST_PROBLEMS = 50
LEAST_WIDTH = 40
"""Letters of a line that is never broken."""
MOST_PLACES = 3
"""How many places are named of warnings that say the same."""
EACH_ALONE = frozenset({"drift"})
"""Warnings that are never taken together: each names something that a person wants to look at."""
_NAMES = re.compile(r"(?:(?:'[^']*'|\([^()]*\)|\b[\w./-]*[0-9][\w./-]*)(?:, | and )?)+")


def say(text: str = "") -> None:
    """A line for people."""
    click.echo(break_line(text, sys.stderr), err=True)


def break_line(text: str, stream: TextIO) -> str:
    """On a terminal a long line is broken between words; one with a command stays whole, so that it can be copied."""
    if len(text) < LEAST_WIDTH or "drumline " in text or "\x1b" in text or not stream.isatty():
        return text
    from textwrap import wrap

    columns = max(LEAST_WIDTH, find_columns(80, stream))
    indent = " " * (len(text) - len(text.lstrip()))
    return "\n".join(wrap(text, columns, subsequent_indent=f"{indent}  ", break_on_hyphens=False)) or text


@contextmanager
def outlive_readers() -> Iterator[None]:
    """In this block a reader that stops reading does not stop us: what a closed pipe does not take is dropped.

    For commands that drive a run. One that only tells something ends when nobody listens, as usual.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Tolerant(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = before


class _Tolerant:
    """A stream whose other end may go away."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._hush()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._hush()

    def _hush(self) -> None:
        """Say the rest to nobody, also what the stream still holds back."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def print_json(data: object) -> None:
    """One JSON document on one line of stdout; letters that the stream cannot write are escaped."""
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(data, ensure_ascii=not is_utf8, separators=(",", ":")))
    sys.stdout.flush()


def print_text(lines: Iterable[str]) -> None:
    """Sentences on stdout; on a terminal broken between words, as those of `say`."""
    for line in lines:
        click.echo(break_line(line, sys.stdout))


def print_lines(lines: Iterable[str]) -> None:
    """Text as data."""
    for line in lines:
        click.echo(line)


def is_terminal() -> bool:
    """Whether a person is there to look and to answer."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not os.environ.get("CI")


def show_error(error: Exception, *, typed: Sequence[str]) -> int:
    """Show a deliberate error, or what the machine refused, and return its exit code; a bug keeps its traceback."""
    found = _deliberate(error) or _refused(error, typed)
    if found is None:
        raise error
    import logging  # who is refused nothing does without it

    logging.getLogger(__name__).debug("refused", exc_info=error)
    as_json = "--json" in typed
    problems = found.problems if isinstance(found, InvalidPlan | InvalidFlow) else ()
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "ok": False,
                "error": {"message": str(found), "hint": found.hint, "exit_code": found.exit_code},
                "problems": [problem_json(p) for p in problems],
            }
        )
    show_problems(problems)
    say(click.style("drumline: ", fg="red") + str(found))
    if found.hint:
        say(f"  next: {found.hint}")
    return found.exit_code


def _refused(error: Exception, typed: Sequence[str]) -> DrumlineError | None:
    """What the machine refused to a command, which can be typed again; None if that is not what was raised."""
    refusal = find_refusal(error)
    if refusal is None or refusal.errno not in MACHINE:
        return None
    return SystemRefused(explain_refusal(refusal), hint=f"drumline {shlex.join(typed)}")


def show_problems(problems: Sequence[Problem]) -> None:
    """Problems for people, most important first as they come; equal warnings are one line."""
    groups = group_problems(problems)
    for group in groups[:MOST_PROBLEMS]:
        first = group[0]
        colour = "red" if first.severity is Severity.ERROR else "yellow"
        severity = click.style(first.severity.value, fg=colour)
        say(f"{first.where}: {severity}: {first.message} [{first.code}]{_also(group)}")
    left = sum(len(group) for group in groups[MOST_PROBLEMS:])
    if left:
        say(f"… and {left} more")


def group_problems(problems: Sequence[Problem]) -> list[list[Problem]]:
    """Warnings that say the same of different places together, where the first of them stands; errors each alone.

    Two say the same if they differ at most in the names and figures in them.
    """
    groups: dict[object, list[Problem]] = {}
    for number, problem in enumerate(problems):
        alone = problem.severity is Severity.ERROR or problem.code in EACH_ALONE
        key: object = number if alone else (problem.code, _NAMES.sub("", problem.message))
        groups.setdefault(key, []).append(problem)
    return list(groups.values())


def _also(group: Sequence[Problem]) -> str:
    """How many more there are, and where the first of them are."""
    first = group[0].where
    others = [
        _shorten_place(where, first) for where in dict.fromkeys(problem.where for problem in group) if where != first
    ]
    named = ": " + ", ".join(others[:MOST_PLACES]) + (", …" if len(others) > MOST_PLACES else "") if others else ""
    return f" (and {len(group) - 1} more like it{named})" if len(group) > 1 else ""


def _shorten_place(where: str, first: str) -> str:
    """A place in the file of the first one as its line only."""
    file, _, line = where.rpartition(":")
    return f"line {line}" if file == first.rpartition(":")[0] and line.isdigit() else where


def count_problems(problems: Sequence[Problem]) -> str:
    """How many errors and warnings there are: `1 error, 0 warnings`."""
    warnings = sum(problem.severity is Severity.WARNING for problem in problems)
    counts = {"error": len(problems) - warnings, "warning": warnings}
    return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items())


def problem_json(problem: Problem) -> dict[str, str]:
    """A problem as scripts read it."""
    return {
        "code": problem.code,
        "severity": problem.severity.value,
        "where": problem.where,
        "message": problem.message,
    }


def _deliberate(error: BaseException) -> DrumlineError | None:
    """The deliberate error in what was raised; a task group may have wrapped it, with the same from other tasks."""
    if isinstance(error, DrumlineError):
        return error
    if isinstance(error, BaseExceptionGroup):
        found = [_deliberate(inner) for inner in error.exceptions]
        return None if None in found else found[0]
    return None
