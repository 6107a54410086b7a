"""Commands run for a step, contained: whatever they start ends with them, and with us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

# How many bytes of its stdout a command may hand over through `Job.printed`.
PRINTED_LIMIT = 8 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One command: an argv (never a shell line built from plan text), where it runs, and where its output goes.

    `env` is added to our own environment, from which the names in `unset` are taken first; with `keep`, only the names
    in it are left (`XDG_*` stands for all that begin so). `printed` is for programs that read what a command says:
    where given, stdout alone is written there as it comes, byte for byte, up to `printed_limit` bytes.
    """

    argv: Sequence[str]
    cwd: Path
    log: Path
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    printed: Path | None = None
    printed_limit: int = PRINTED_LIMIT
    unset: Sequence[str] = ()
    keep: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How it ended: `exit_code` as a shell would say it (128+n for a signal), None if it could not be started.

    `output` is the tail of the log. `cut` and `errors` are for jobs with `printed`: whether that file lacks something
    of what the command said, and the tail of stderr alone.
    """

    exit_code: int | None
    seconds: float
    timed_out: bool = False
    output: str = ""
    message: str = ""
    cut: bool = False
    errors: str = ""


class Processes(Protocol):
    """Runs commands under a supervisor."""

    async def run(self, job: Job) -> Ended:
        """Run to the end. When this returns, is cancelled, or our process dies, no process of the job is left.

        Output (stdout and stderr together) is written to `job.log`, bounded; `output` is its tail. With `job.printed`
        the first `printed_limit` bytes of stdout are in that file too, which is there in any case and never has more;
        the two streams then come through pipes of their own, so that their order in the log is only roughly kept.
        """
        ...
