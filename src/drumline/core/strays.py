"""What work changes beside the files of its step: records, and how they are told."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.ids import NO_STEP, StepId
from drumline.core.plaintext import name_some
from drumline.record import Record

MOST_NAMED = 20
"""How many files a sentence names."""


class Foreign(Record):
    """A file that the work changes, and the step that owns it; no step if the work's own step rules it out."""

    path: str
    owner: StepId = NO_STEP


class Strayed(Record):
    """What work changes that is not its step's own.

    Nobody lands these unless a person allows it: `foreign` files of other steps, those that the step's text calls
    `out_of_scope`, and those `outside` its own list where only that is allowed. The rest is told: `noted` are files
    that others own by a list which is not a promise, `unowned` the first of those that no step owns (`total` in all).
    """

    foreign: tuple[Foreign, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    noted: tuple[Foreign, ...] = ()
    unowned: tuple[str, ...] = ()
    total: int = 0

    @property
    def refused(self) -> tuple[str, ...]:
        """The paths that do not land by themselves."""
        return (*(file.path for file in self.foreign), *self.out_of_scope, *self.outside)

    @property
    def told(self) -> tuple[str, ...]:
        """What is remarkable about it and keeps nothing from landing."""
        noted = f"changes files that others own: {tell_files(self.noted)}" if self.noted else ""
        unowned = name_some(self.unowned, MOST_NAMED, total=self.total)
        loose = f"changes files that no unfinished step owns: {unowned}" if self.unowned else ""
        return tuple(filter(None, (noted, loose)))


NOTHING = Strayed()


def tell_strayed(strayed: Strayed) -> str:
    """What of the work may not land by itself, in words; empty if there is nothing."""
    parts = [
        f"files of other steps: {tell_files(strayed.foreign)}" if strayed.foreign else "",
        f"what the step calls out of scope: {name_some(strayed.out_of_scope, MOST_NAMED)}"
        if strayed.out_of_scope
        else "",
        f"files that are not its own: {name_some(strayed.outside, MOST_NAMED)}" if strayed.outside else "",
    ]
    return "; ".join(part for part in parts if part)


def tell_coming(coming: Sequence[Foreign]) -> list[str]:
    """A sentence for each step that is worked on beside it and that it will conflict with."""
    found: dict[StepId, list[str]] = {}
    for file in coming:
        found.setdefault(file.owner, []).append(file.path)
    return [
        f"a conflict is coming: {step}, which is in work, changes the same lines of {name_some(paths, MOST_NAMED)}"
        for step, paths in found.items()
    ]


def tell_files(files: Sequence[Foreign]) -> str:
    """Files with their owners."""
    return name_some([f"{file.path} ({file.owner or 'out of scope'})" for file in files], MOST_NAMED)
