"""Commands run for a step, contained: whatever they start ends with them, and with us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from drumline.record import Record, field

# How many bytes of its stdout a command may hand over through `Job.printed`.
PRINTED_LIMIT = 8 * 1024 * 1024
HARMLESS = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "XDG_*",
    "SSL_CERT_*",
    "NODE_EXTRA_CA_CERTS",
    "*_PROXY",
    "*_proxy",
)
"""What of our environment every agent, and what it starts, may see; all others may be secrets."""
HANDED = 100
"""The number of the first descriptor on which a command finds what `Job.handed` holds."""


class Job(Record):
    """One command: an argv (never a shell line built from plan text), where it runs, and where its output goes.

    `env` is added to our own environment, from which the names in `unset` are taken first; with `keep`, only the names
    in it are left (`XDG_*` stands for all that begin so). `printed` is for programs that read what a command says:
    where given, stdout alone is written there as it comes, byte for byte, up to `printed_limit` bytes.

    `handed` is data that the command can read from open descriptors, the first from number HANDED. `scoped` asks the
    kernel to keep it from abstract sockets of others; a kernel that cannot do that is not a failure.
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
    handed: Sequence[bytes] = ()
    scoped: bool = False


class Ended(Record):
    """How it ended: `exit_code` as a shell would say it (128+n for a signal), None if it could not be started.

    `output` is the tail of the log. `cut` and `errors` are for jobs with `printed`: whether that file lacks something
    of what the command said, and the tail of stderr alone.

    `killed` says that it did not end by itself: a signal that was sent to it (`core/signals.py`) ended the command that
    was started, or its supervisor is gone. A crash of its own, a signal that a shell tells as its exit code and a time
    that ran out are not that. `left` names processes of the job that could not be ended: those of another user, or in
    the hands of the kernel.
    """

    exit_code: int | None
    seconds: float
    timed_out: bool = False
    output: str = ""
    message: str = ""
    cut: bool = False
    errors: str = ""
    killed: bool = False
    left: str = ""


class Conversation(Protocol):
    """What is said to a command and by it while it runs: bytes, in whatever pieces they come.

    `left` names processes of it that could not be ended, once that was tried: after the block of `Processes.open`.
    """

    left: str

    async def send(self, data: bytes) -> None:
        """Write to its stdin; BrokenPipeError if it does not listen any more."""
        ...

    async def receive(self) -> bytes:
        """What came next from its stdout, waiting for it; nothing once stdout is closed."""
        ...

    def hang_up(self) -> None:
        """Close its stdin, by which most programs understand that they are to end."""
        ...

    async def wait(self) -> Ended:
        """How it ended, waiting for that. `errors` is the tail of its stderr."""
        ...


class Processes(Protocol):
    """Runs commands under a supervisor."""

    async def run(self, job: Job) -> Ended:
        """Run to the end. When this returns, is cancelled, or our process dies, no process of the job is left.

        Output (stdout and stderr together) is written to `job.log`, bounded; `output` is its tail. With `job.printed`
        the first `printed_limit` bytes of stdout are in that file too, which is there in any case and never has more;
        the two streams then come through pipes of their own, so that their order in the log is only roughly kept.
        """
        ...

    def open(self, job: Job) -> AbstractAsyncContextManager[Conversation]:
        """Run a command to talk with. Once the block is left or our process dies, no process of the job is left.

        A command that cannot be started says nothing, and `wait` tells why. Only stderr is written to `job.log`;
        `stdin` and `printed` of the job do not count. OSError if there is no supervisor to be had.
        """
        ...
