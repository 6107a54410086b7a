"""Frontmatter in which lines that are not YAML are hidden from the parser, so that the others can be read.

Nothing moves: a hidden value is replaced by as many letters as it has, so that every offset stays what it is.
"""

from __future__ import annotations

import re

from drumline.core.plan import Problem, Severity
from drumline.record import State, field

MOST_MASKED = 20
"""How many lines of one frontmatter may be hidden: what has more is not frontmatter."""
MOST_SHOWN = 60
"""Letters of a value that a warning shows."""
_KEYED = re.compile(r"(?P<lead>[ ]*(?:- +)?(?:[A-Za-z_][\w-]*:[ ]+)?)(?P<value>\S.*?)\s*", re.DOTALL)


class Mask(State):
    """The text as the parser sees it; `hidden` has the real values by their offset."""

    text: str
    path: str
    hidden: dict[int, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _tried: set[int] = field(default_factory=set)
    _tabbed: set[int] = field(default_factory=set)

    def hide(self, line: int, start: int, end: int) -> bool:
        """Hide what is wrong with a line: its tabs, its value, or all of it; whether something was left to try."""
        written = self.text[start:end]
        spaced = written.replace("\t", " ")
        if spaced != written:
            self._replace(start, spaced)
            self._tabbed.add(line)
            self._warn(line, "has tabs, which YAML does not allow here; read as spaces")
            return True
        if line in self._tried:
            return self._leave_out(line, start, written)
        self._tried.add(line)
        found = _KEYED.fullmatch(written)
        if found is None or not found["lead"].strip():
            return self._leave_out(line, start, written)
        value, place = found["value"], start + found.start("value")
        self.hidden[place] = value
        self._replace(place, "x" * len(value))
        self._warn(line, f"is not YAML; its value is read as the text {_shorten(value)!r}: put it in quotes")
        return True

    def _leave_out(self, line: int, start: int, written: str) -> bool:
        """Make the line a comment; one that is a comment already cannot be what is wrong."""
        if written.startswith("#") or not written.strip():
            return False
        self.hidden = {
            place: value for place, value in self.hidden.items() if not start <= place < start + len(written)
        }
        self.problems = [problem for problem in self.problems if not problem.where.endswith(f":{line}")]
        self._replace(start, "#")
        tabs = (
            "has tabs, which YAML does not allow here; with spaces in their place it " if line in self._tabbed else ""
        )
        self._warn(line, f"{tabs}is not YAML and is left out{': take the tabs out' if tabs else ''}")
        return True

    def _replace(self, start: int, letters: str) -> None:
        self.text = self.text[:start] + letters + self.text[start + len(letters) :]

    def _warn(self, line: int, message: str) -> None:
        where = f"{self.path}:{line}"
        self.problems.append(
            Problem(code="not_yaml", message=f"the line {message}", where=where, severity=Severity.WARNING)
        )


def _shorten(value: str) -> str:
    return value if len(value) <= MOST_SHOWN else value[: MOST_SHOWN - 1] + "…"
