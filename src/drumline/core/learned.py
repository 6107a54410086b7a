"""What events carry of fixes and lessons; `lessons.py` has the rules."""

from __future__ import annotations

from drumline.record import Record


class Fix(Record):
    """One try to put a failing check right. `lesson` is the name of the one that its agent was given for it."""

    check: str
    failure: str
    signature: str
    remedy: str
    success: bool
    lesson: str = ""


class Lesson(Record):
    """A remedy that helped before. `by` is the run that promoted it; times are ISO dates."""

    name: str
    signature: str
    remedy: str
    successes: int = 0
    helped: int = 0
    promoted: str = ""
    used: str = ""
    by: str = ""
    state: str = "active"
