"""How often a check ran and how often it changed its verdict on one tree; a check is known by its command."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

from drumline.record import Record


class Tally(Record):
    """The figures of one check, which is known by a digest: `runs` that came to a verdict, and those that `changed` it.

    A run changes the verdict if the one before it came to another on the same tree.
    """

    check: str
    runs: int = 0
    changed: int = 0

    def plus(self, *, runs: int, changed: int) -> Tally:
        """With these as well."""
        return Tally(check=self.check, runs=self.runs + runs, changed=self.changed + changed)

    def in_words(self) -> str:
        """The figures for people."""
        ran = "1 run" if self.runs == 1 else f"{self.runs} runs"
        return f"flaky: {self.changed} of {ran} changed the verdict on the same tree"


@lru_cache(maxsize=1024)
def digest_command(command: str) -> str:
    """What a check is known by from run to run."""
    return hashlib.blake2b(command.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def add_tallies(tallies: Iterable[Tally]) -> Mapping[str, Tally]:
    """The figures of each check, by its digest."""
    found: dict[str, Tally] = {}
    for one in tallies:
        found[one.check] = found.get(one.check, Tally(check=one.check)).plus(runs=one.runs, changed=one.changed)
    return found
