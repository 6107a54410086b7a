"""Lessons kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from drumline.core.learned import Lesson
from drumline.core.lessons import is_alike, is_promoted, name_lesson, weigh
from drumline.ports.lessons import Change, FixRow, RunRow
from drumline.record import replace

DEMOTED = "demoted"


@dataclass(kw_only=True)
class MemoryLessons:
    """Promotes and demotes as the files do, and forgets everything when it goes."""

    rows: dict[tuple[str, str, int], FixRow] = field(default_factory=dict)
    runs: dict[tuple[str, str, int, int], RunRow] = field(default_factory=dict)
    lessons: dict[str, Lesson] = field(default_factory=dict)

    def load(self, now: float) -> tuple[Lesson, ...]:
        """Those that never failed; nothing expires here."""
        return tuple(lesson for lesson in self.lessons.values() if lesson.state != DEMOTED)

    def note(self, rows: Sequence[FixRow]) -> Change:
        """Keep each row once, and weigh all of them."""
        self.rows = {(row.run, row.step, row.number): row for row in rows} | self.rows
        run = rows[0].run if rows else ""
        for found in weigh(self.rows.values()):
            self._settle(found.signature, found.remedy, run, promoted=is_promoted(found), failed=found.failures > 0)
        mine = [lesson for lesson in self.lessons.values() if lesson.by == run]
        return Change(
            promoted=tuple(lesson.name for lesson in mine if lesson.state != DEMOTED),
            demoted=tuple(lesson.name for lesson in mine if lesson.state == DEMOTED),
        )

    def _settle(self, signature: str, remedy: str, run: str, *, promoted: bool, failed: bool) -> None:
        known = [one for one in self.lessons.values() if one.signature == signature and is_alike(one.remedy, remedy)]
        if promoted and not known:
            found = next(e for e in weigh(self.rows.values()) if e.signature == signature and e.remedy == remedy)
            name = name_lesson(found, self.lessons)
            self.lessons[name] = Lesson(
                name=name, signature=signature, remedy=remedy, successes=found.successes, by=run
            )
        for lesson in known if failed else ():
            if lesson.state != DEMOTED:
                self.lessons[lesson.name] = replace(lesson, state=DEMOTED, by=run)

    def note_run(self, row: RunRow) -> None:
        """Keep it once."""
        self.runs.setdefault((row.run, row.state, row.steps_completed, row.total_steps), row)
