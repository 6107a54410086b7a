"""Tries mutants of a change against a check, in a copy of the workspace that is thrown away.

The rule: only lines that the check executes are changed, the sample takes at most eight times as long as the check and
never more than a minute, and whatever goes wrong leaves a mutant untried: no mutant fails a step.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import anyio.to_thread

from drumline.core.checkfailure import is_work
from drumline.core.mutants import Mutant, Mutation, Survivor, list_mutants, spread
from drumline.engine.nodes.check import Checked, run_check
from drumline.isolation.containment import contain
from drumline.isolation.scratch import open_scratch
from drumline.ports.processes import Processes
from drumline.record import Record, replace

LONGEST = 60.0
MOST_TIMES = 8
"""How much longer than the check itself all of its mutants may take, and how many seconds at most."""
LINES = "DRUMLINE_LINES"
MUTABLE = ".py"
"""The files of which there are mutants."""


class Sample(Record):
    """A check that passed on the tree in `folder`, in so many `seconds`, and the lines that the work changed.

    `changed` has paths relative to the folder. `log` is where the check's output goes; a folder beside it takes the
    copy.
    """

    command: str
    folder: Path
    seconds: float
    changed: Mapping[str, Collection[int]]
    log: Path
    files: tuple[str, ...] = ()
    longest: float = LONGEST


async def try_mutants(sample: Sample, processes: Processes) -> Mutation:
    """Which mutants of the change the check does not notice."""
    changed = {path: lines for path, lines in sample.changed.items() if path.endswith(MUTABLE)}
    if not changed:
        return Mutation()
    with open_scratch(sample.log.with_name(f"{sample.log.stem}-mutants.tmp")) as scratch:
        place = scratch / "place"
        await anyio.to_thread.run_sync(_copy, sample.folder, place)
        trial = _Trial(sample=replace(sample, changed=changed), processes=processes, scratch=scratch, place=place)
        return await trial.run()


def _copy(folder: Path, place: Path) -> None:
    """A copy without git, so that nothing in it reaches the repository."""
    shutil.copytree(folder, place, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))


class _Trial(Record):
    """One sample in its copy."""

    sample: Sample
    processes: Processes
    scratch: Path
    place: Path

    async def run(self) -> Mutation:
        ends = time.monotonic() + min(self.sample.longest, MOST_TIMES * self.sample.seconds)
        executed = await self._record_lines(ends)
        texts = {path: text for path in executed if (text := _read(self.place / path)) is not None}
        found = {path: list_mutants(text, executed[path]) for path, text in texts.items()}
        tried, survivors = 0, []
        for path, mutant in spread(found):
            if time.monotonic() >= ends:
                break
            checked = await self._try(path, mutant, texts[path], ends)
            if checked.cause is not None and not is_work(checked.cause.failure.value):
                break
            tried += 1
            if checked.exit_code == 0:
                survivors.append(Survivor(path=path, line=mutant.line, before=mutant.before, after=mutant.after))
        return Mutation(tried=tried, survivors=tuple(survivors))

    async def _record_lines(self, ends: float) -> dict[str, set[int]]:
        """The changed lines that the check executes; none if it does not pass here."""
        folder = self.scratch / "lines"
        folder.mkdir()
        real = {str(contain(self.place, path)): path for path in self.sample.changed}
        (folder / "files").write_text("\n".join(real), encoding="utf-8")
        checked = await self._check("lines", ends, {LINES: str(folder)})
        found: dict[str, set[int]] = {}
        if checked.exit_code != 0:
            return found
        for file in sorted(folder.glob("*.lines")):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                path, _, number = line.rpartition(":")
                if path in real and number.isdigit() and int(number) in self.sample.changed[real[path]]:
                    found.setdefault(real[path], set()).add(int(number))
        return found

    async def _try(self, path: str, mutant: Mutant, text: str, ends: float) -> Checked:
        file = self.place / path
        file.write_text(mutant.source, encoding="utf-8", newline="")
        try:
            return await self._check(f"{mutant.line}-{mutant.kind.value}", ends, {})
        finally:
            file.write_text(text, encoding="utf-8", newline="")

    async def _check(self, name: str, ends: float, env: Mapping[str, str]) -> Checked:
        """Run the check in the copy; what Python compiled of another mutant is not found."""
        own = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(self.scratch / "compiled")}
        return await run_check(
            self.sample.command,
            self.processes,
            folder=self.place,
            log=self.scratch / f"{name}.log",
            timeout=max(0.1, ends - time.monotonic()),
            files=self.sample.files,
            env={**own, **env},
        )


def _read(file: Path) -> str | None:
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError):
        return None
