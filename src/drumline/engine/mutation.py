"""Tries mutants of a change against checks, in the workspace that has the change.

The rule: only lines that the checks execute are changed, the sample takes at most eight times as long as the checks, or
some seconds, and never more than a minute, and whatever goes wrong leaves a mutant untried: no mutant fails a step. The
workspace has its files again afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from drumline.core.checkfailure import CheckFailure, is_work
from drumline.core.mutants import Mutant, Mutation, Survivor, choose_mutants, list_expectations, list_mutants
from drumline.engine.checkslots import CheckSlots, Urgency
from drumline.engine.nodes.check import Checked, run_check
from drumline.errors import InvalidInput
from drumline.isolation.contained import fill_contained
from drumline.isolation.containment import contain
from drumline.ports.jail import NO_HOLD, Hold
from drumline.ports.processes import Processes
from drumline.record import Record, field

LONGEST, SHORTEST = 60.0, 5.0
MOST_TIMES = 8
"""How much longer than the checks all of their mutants may take; how many seconds at most, and in any case."""
SLOWER = 3.0
"""How many times as long as a check its run with a mutant may take: one that takes longer loops, and is noticed."""
LEAST = 1.0
"""Seconds that such a run is given in any case."""
MUTABLE = ".py"
"""The files of which there are mutants."""
MOST_BYTES = 1_000_000
"""How large a file may be of which there are mutants."""


class Sample(Record):
    """Checks that passed on the tree in `folder`, each with the seconds it took, and the lines that the work changed.

    `changed` and `tests`, files with tests that ran, have paths relative to the folder. `log` is where the output
    of a run goes. `files` are those that the work is about.
    """

    checks: Mapping[str, float]
    folder: Path
    changed: Mapping[str, Collection[int]]
    log: Path
    tests: Sequence[str] = ()
    files: Sequence[str] = ()
    longest: float = LONGEST
    hold: Hold = NO_HOLD
    slots: CheckSlots = field(default_factory=CheckSlots)


class Trial:
    """One sample; what is known by now can be asked for at any time."""

    def __init__(self, sample: Sample, processes: Processes) -> None:
        self._sample, self._processes = sample, processes
        self._tried = 0
        self._survivors: list[Survivor] = []
        self._ends = 0.0

    @property
    def result(self) -> Mutation:
        """How many mutants were tried, and which the checks did not notice."""
        return Mutation(tried=self._tried, survivors=tuple(self._survivors))

    async def run(self) -> Mutation:
        """Try the mutants of the sample."""
        sample = self._sample
        total = sum(sample.checks.values())
        paths = [path for path in sample.changed if path.endswith(MUTABLE)]
        if not paths or not sample.checks or total > sample.longest:
            return self.result
        self._ends = time.monotonic() + min(sample.longest, max(SHORTEST, MOST_TIMES * total))
        executed = await self._record_lines([*paths, *(path for path in sample.tests if path not in paths)])
        for path, mutant in choose_mutants(*self._list(paths, executed)):
            if time.monotonic() >= self._ends or not await self._try(path, mutant):
                break
        return self.result

    def _list(
        self, paths: Sequence[str], executed: Mapping[str, Collection[int]]
    ) -> tuple[dict[str, list[Mutant]], dict[str, list[Mutant]]]:
        """The mutants of changed lines, and those of what tests expect; none if no changed line is executed."""
        sample = self._sample
        lines = {path: {*executed.get(path, ())} & {*sample.changed[path]} for path in paths}
        if not any(lines.values()):
            return {}, {}
        texts = {path: text for path in executed if (text := _read(sample.folder, path)) is not None}
        changed = {path: list_mutants(texts[path], lines[path]) for path in paths if path in texts}
        tests = [path for path in sample.tests if path in texts]
        return changed, {path: list_expectations(texts[path], executed[path]) for path in tests}

    async def _record_lines(self, paths: Sequence[str]) -> dict[str, set[int]]:
        """The lines that the checks execute; none of a check that does not pass here."""
        real = {str(place): path for path in paths if (place := _find(self._sample.folder, path)) is not None}
        found: dict[str, set[int]] = {}
        for command in self._sample.checks:
            checked = await self._check(command, lines=[*real], limit=None)
            if checked is None or checked.exit_code != 0:
                return {}
            for name, lines in checked.lines.items():
                found.setdefault(real[name], set()).update(lines)
        return found

    async def _try(self, path: str, mutant: Mutant) -> bool:
        """Try one mutant; whether others are worth trying."""
        with _write(self._sample.folder, path, mutant, number=self._tried + 1) as written:
            if not written:
                return True
            for command, seconds in self._sample.checks.items():
                checked = await self._check(command, limit=max(LEAST, SLOWER * seconds))
                if checked is None:
                    return False
                cause = checked.cause
                if cause is not None and cause.failure is not CheckFailure.TIMEOUT and not is_work(cause.failure.value):
                    return False
                if checked.exit_code != 0:
                    self._tried += 1
                    return True
        self._tried += 1
        self._survivors.append(Survivor(path=path, line=mutant.line, before=mutant.before, after=mutant.after))
        return True

    async def _check(self, command: str, *, limit: float | None, lines: Sequence[str] = ()) -> Checked | None:
        """Run a check where a slot is free, within the time that is left; None if there is none."""
        sample = self._sample
        async with sample.slots.take(Urgency.MUTANT):
            left = self._ends - time.monotonic()
            if left <= 0:
                return None
            return await run_check(
                command,
                self._processes,
                folder=sample.folder,
                log=sample.log,
                timeout=min(one for one in (left, limit) if one is not None),
                files=sample.files,
                env={"PYTHONDONTWRITEBYTECODE": "1"},
                hold=sample.hold,
                lines=lines,
            )


@contextmanager
def _write(folder: Path, path: str, mutant: Mutant, *, number: int) -> Iterator[bool]:
    """The file with the mutant in it, for the time of the block; whether that can be.

    Its time is none that the file has had before: else Python would take what it compiled of it then.
    """
    place = _find(folder, path)
    if place is None:
        yield False
        return
    before, raw = place.stat(), place.read_bytes()
    root = folder.resolve()
    name = str(place.relative_to(root))
    read, changed = before.st_atime_ns, before.st_mtime_ns
    try:
        fill_contained(root, name, mutant.source.encode("utf-8"), times=(read, changed - 10**10 * number))
        yield True
    finally:
        # What has run meanwhile may have put a link in its place.
        fill_contained(root, name, raw, times=(read, changed))


def _find(folder: Path, path: str) -> Path | None:
    """Where a file is; None for a link, and for what leads out of the folder."""
    try:
        place = contain(folder, path)
    except InvalidInput:
        return None
    return place if place == folder.resolve() / path and place.is_file() else None


def _read(folder: Path, path: str) -> str | None:
    place = _find(folder, path)
    try:
        if place is None or place.stat().st_size > MOST_BYTES:
            return None
        return place.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
