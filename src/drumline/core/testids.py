"""Which tests a check ran, by the ids that its test runner gives them. The rule: where a runner has told about its
tests once, silence means that they did not run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from drumline.patterns import compile_late
from drumline.record import Record

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_PARAMETERS = compile_late(r"\[.*\]\Z", re.DOTALL)
_FILE = "(file) "
_STAND_INS = ("unittest.loader._FailedTest.", _FILE)
"""What stands where a file of tests cannot be read, or has none."""
MOST_NAMED = 20
"""How many ids the journal keeps of a difference."""


class Cut(Record):
    """A `program` of a check, such as a script of tests, that was ended by a file of the project; empty if unknown."""

    program: str
    file: str = ""


class Report(Record):
    """What the test runners of a check told: how many tests ran, failed and were skipped, and a digest of their ids.

    `complete` says that each of them came to its end; `patched` are functions of theirs that were replaced meanwhile.
    `cut` are programs that judge, and did not come to their end.
    """

    ran: int = 0
    failed: int = 0
    skipped: int = 0
    digest: str = ""
    complete: bool = True
    patched: tuple[str, ...] = ()
    cut: tuple[Cut, ...] = ()


class Difference(Record):
    """How the tests of a check differ from those on another tree: `lost` ran there and do not run here, `broken` fail
    here and did not fail there, `fewer` is how many less run here. Of many the first are named, all are counted."""

    lost: tuple[str, ...] = ()
    lost_total: int = 0
    fewer: int = 0
    broken: tuple[str, ...] = ()
    broken_total: int = 0

    def tell_lost(self) -> str:
        """The tests that do not run here; where none may be named, how many."""
        more = self.lost_total - len(self.lost)
        if not self.lost:
            return f"{more} of them"
        return ", ".join(self.lost) + (f" and {more} more" if more > 0 else "")


class Gained(Record):
    """How many tests pass with the work that fail without it, and how many that are missing without it."""

    failed: int = 0
    missing: int = 0


def sum_up(
    outcomes: Mapping[str, str], *, complete: bool, patched: tuple[str, ...] = (), cut: tuple[Cut, ...] = ()
) -> Report:
    """The report of tests with their outcomes."""
    listed = "\n".join(sorted(outcomes))
    counts = {word: sum(1 for outcome in outcomes.values() if outcome == word) for word in (PASSED, FAILED, SKIPPED)}
    return Report(
        ran=counts[PASSED] + counts[FAILED],
        failed=counts[FAILED],
        skipped=counts[SKIPPED],
        digest=hashlib.sha256(listed.encode("utf-8", "replace")).hexdigest()[:16],
        complete=complete,
        patched=patched,
        cut=cut,
    )


def compare(there: Mapping[str, str], here: Mapping[str, str]) -> Difference:
    """What became of the tests of another tree here."""
    running, ran = _list_running(here), _list_running(there)
    lost = sorted(ran - running)
    broken = sorted(name for name, outcome in here.items() if outcome == FAILED and there.get(name) != FAILED)
    return Difference(
        lost=tuple(lost[:MOST_NAMED]),
        lost_total=len(lost),
        fewer=max(0, len(ran) - len(running)),
        broken=tuple(broken[:MOST_NAMED]),
        broken_total=len(broken),
    )


def count_gained(there: Mapping[str, str], here: Mapping[str, str]) -> Gained:
    """The tests that show that the work did something: they pass here, and not on the tree without it."""
    passed = [name for name, outcome in here.items() if outcome == PASSED and not name.startswith(_STAND_INS)]
    return Gained(
        failed=sum(1 for name in passed if there.get(name) == FAILED),
        missing=sum(1 for name in passed if name not in there),
    )


def name_file(path: str) -> str:
    """The id that stands for a file of tests that could not be read, or has none."""
    return f"{_FILE}{path}"


def _list_running(tests: Mapping[str, str]) -> set[str]:
    """The tests that were not skipped, without what stands in for files."""
    running = {_cut(name) for name, outcome in tests.items() if outcome != SKIPPED}
    return {name for name in running if not name.startswith(_STAND_INS)}


def _cut(name: str) -> str:
    """The id of a test without its parameters, which may come from the work."""
    return _PARAMETERS.sub("", name)
