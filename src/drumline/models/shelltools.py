"""Tools that run a command in a workspace. The rule: a command runs supervised, ends in time, and sees no secret."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from drumline.errors import InvalidInput
from drumline.isolation.containment import contain
from drumline.models.filetools import ANSWER
from drumline.ports.processes import HARMLESS, Ended, Job, Processes
from drumline.record import Record, field

LONGEST = 600.0
USUAL = 120.0
SEARCH = 30.0
LINE = 400
NOTHING_FOUND = 1
"""Grep's exit code for it."""


class ShellTools(Record):
    """Runs commands below one folder; `log` names the files that take their output."""

    workspace: Path
    processes: Processes
    log: Path
    numbers: count[int] = field(default_factory=lambda: count(1))

    async def execute(self, command: str, timeout: float = USUAL) -> str:
        """Run a command with bash in the workspace, for at most `timeout` seconds; its exit code and output follow."""
        limit = min(max(timeout, 1.0), LONGEST)
        ended, output = await self._run(("bash", "-c", command), limit)
        if ended.timed_out:
            return f"timed out after {limit:g} s\n{output}"
        if ended.exit_code is None:
            raise InvalidInput(f"could not be started: {ended.message}")
        return f"exit code {ended.exit_code}\n{output}"

    async def search(self, pattern: str, path: str = ".", ignore_case: bool = False) -> str:
        """Find the lines that fit an extended regular expression, in the text files at or below `path`."""
        place = contain(self.workspace, path, top=True).relative_to(self.workspace.resolve()).as_posix()
        # Grep, not our own engine: an expression that explodes costs a child its time limit, not us the event loop.
        options = ("-rnIE", "-m", "100", "--exclude-dir=.git", *(("-i",) if ignore_case else ()))
        ended, output = await self._run(("grep", *options, "-e", pattern, "--", place), SEARCH)
        if ended.exit_code == NOTHING_FOUND and not output:
            return "[nothing fits]"
        if ended.exit_code is None or ended.timed_out:
            raise InvalidInput(ended.message or f"timed out after {SEARCH:g} s")
        return "\n".join(line[:LINE] for line in output.splitlines())

    async def _run(self, argv: Sequence[str], timeout: float) -> tuple[Ended, str]:
        log = self.log.with_name(f"{self.log.name}.run-{next(self.numbers)}")
        job = Job(argv=argv, cwd=self.workspace, log=log, timeout=timeout, keep=HARMLESS)
        ended = await self.processes.run(job)
        return ended, _read_ends(log, ended)


def _read_ends(log: Path, ended: Ended) -> str:
    """The output of a command; of a long one the beginning and the end."""
    try:
        with log.open("rb") as file:
            text = file.read(ANSWER + 1).decode("utf-8", "replace")
    except OSError:
        return ended.output
    if len(text) <= ANSWER:
        return text
    return f"{text[: ANSWER // 2]}\n[…]\n{ended.output}"
