"""Running git. Every call is an argv list in a clean environment; nothing the user or an agent set steers it.

Hooks, signing, prompts, background maintenance and file system monitors are off, objects and refs are flushed to disk
before git returns, and no `GIT_*` variable of the caller reaches it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process

from drumline.errors import GitError, GitKilled, GitStuck, InvalidInput
from drumline.record import Record, field, replace

NEEDED = (2, 38)
_INSTALL = "install git 2.38 or newer"

LIMIT = 600.0
"""How many seconds one git may take: far more than any needs, so that one that is stopped or hangs is noticed."""
_KILL_WAIT = 10.0

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    # A change that keeps size and time must still be seen: trees are evidence.
    "core.trustctime": "true",
    "core.checkStat": "default",
    "core.ignoreStat": "false",
    "core.sparseCheckout": "false",
    "core.safecrlf": "false",
    "core.fsync": "committed",
    "core.fsyncMethod": "batch",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "worktree.useRelativePaths": "false",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
}
_OPTIONS = tuple(word for key, value in _SETTINGS.items() for word in ("-c", f"{key}={value}"))
UNASKED = "--ignore-submodules=dirty"
"""For `status`: no git is started in a submodule, where it would obey a configuration that an agent wrote."""


class Result(Record):
    """What git answered."""

    code: int
    out: bytes
    err: str

    @property
    def line(self) -> str:
        """The output as one line of text."""
        return os.fsdecode(self.out).removesuffix("\n")

    @property
    def items(self) -> list[str]:
        """The output of a `-z` command as a list of names."""
        return [os.fsdecode(item) for item in self.out.split(b"\0") if item]


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment git runs in: the caller's without any `GIT_*`, then `extra`."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    fixed = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    return {**clean, **fixed, **extra}


async def run_git(
    *args: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    text: bytes = b"",
    accept: Collection[int] = (0,),
    keep_open: Sequence[int] = (),
    limit: float = LIMIT,
) -> Result:
    """Run git to its end, with `text` on its input; raise GitError unless its exit code is in `accept`.

    When cancelled, or after `limit` seconds, git and what it started are killed and waited for.

    Descriptors in `keep_open` are inherited, so that a lock held
    on one of them lasts as long as git runs, even if this process dies first.
    """
    with tempfile.TemporaryFile() as stdin:
        stdin.write(text)
        stdin.seek(0)
        try:
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    ["git", *_OPTIONS, *args],
                    stdin=stdin,
                    cwd=cwd,
                    env=environment(env or {}),
                    start_new_session=True,  # a Ctrl-C at the terminal must not end git in the middle of a write
                    pass_fds=keep_open,
                )
        except OSError as error:
            raise _explain_start(error, cwd) from error
        done = await _wait_for(process, args, limit)
    return _judge(args, done, accept)


async def _wait_for(process: Process, args: Sequence[str], limit: float) -> subprocess.CompletedProcess[bytes]:
    """Everything git says until it ends; GitStuck if that takes too long."""
    out, err = bytearray(), bytearray()
    ended = False
    try:
        with anyio.move_on_after(limit):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_collect, process.stdout, out)
                tasks.start_soon(_collect, process.stderr, err)
            await process.wait()
            ended = True
    finally:
        if not ended:
            await _end(process)
    if not ended:
        raise _report_stuck(args, limit)
    await process.aclose()
    return subprocess.CompletedProcess(args, process.returncode or 0, bytes(out), bytes(err))


async def _collect(stream: ByteReceiveStream | None, into: bytearray) -> None:
    if stream is not None:
        async for piece in stream:
            into += piece


async def _end(process: Process) -> None:
    """Kill git and what it has started, which would keep our locks; one in the kernel's hands is not waited for."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(_KILL_WAIT, shield=True):
        await process.wait()
    if process.returncode is not None:
        with anyio.CancelScope(shield=True):
            await process.aclose()


def ask_git(
    *args: str, cwd: Path, accept: Collection[int] = (0,), given: bytes = b"", keep_open: Sequence[int] = ()
) -> Result:
    """Put a short question to git, blocking: for start-up, before there is an event loop. `given` is its input.

    With descriptors in `keep_open`, which git inherits, it is out of reach of a Ctrl-C at the terminal.
    """
    try:
        done = subprocess.run(
            ["git", *_OPTIONS, *args],
            input=given,
            capture_output=True,
            check=False,
            cwd=cwd,
            env=environment({}),
            timeout=LIMIT,
            pass_fds=keep_open,
            start_new_session=bool(keep_open),
        )
    except OSError as error:
        raise _explain_start(error, cwd) from error
    except subprocess.TimeoutExpired as error:
        raise _report_stuck(args, LIMIT) from error
    return _judge(args, done, accept)


def git_version() -> tuple[int, ...]:
    """The version of the git on PATH."""
    found = re.search(r"(\d+(?:\.\d+)+)", ask_git("version", cwd=Path("/")).line)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def require_git() -> None:
    """Refuse a git that cannot merge trees without a checkout."""
    version = git_version()
    if version < NEEDED:
        text = ".".join(map(str, version)) or "of unknown version"
        raise InvalidInput(f"git {text} is too old: 2.38 or newer is needed to merge trees", hint=_INSTALL)


def _judge(args: Sequence[str], done: subprocess.CompletedProcess[bytes], accept: Collection[int]) -> Result:
    err = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode < 0:
        raise GitKilled(f"git {args[0]} was killed by signal {-done.returncode}", hint="drumline resume")
    if done.returncode not in accept:
        said = err or f"exit code {done.returncode}"
        raise GitError(f"git {args[0]} failed: {said}", hint="drumline doctor")
    return Result(code=done.returncode, out=done.stdout, err=err)


def _report_stuck(args: Sequence[str], limit: float) -> GitStuck:
    return GitStuck(
        f"git {args[0]} did not end within {limit:g} s (it was stopped, or hangs) and was killed",
        hint="see what keeps git from ending, then: drumline resume",
    )


def _explain_start(error: OSError, cwd: Path) -> GitError:
    if not cwd.is_dir():
        return GitError(f"git cannot run in {str(cwd)!r}: there is no such folder", hint="drumline resume")
    return GitError(f"git cannot be started: {error}", hint=_INSTALL)


class Git(Record):
    """The git of one repository, addressed by its common directory: no checkout, index or HEAD matters by default."""

    common_dir: Path
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    keep_open: tuple[int, ...] = ()
    limit: float = LIMIT
    facts: dict[tuple[str, str], Any] = field(default_factory=dict)
    """What cannot change, such as the content of a commit id, or need not be asked twice; of one process."""

    def at(self, work_tree: Path, *, index: Path) -> Git:
        """The same git on a folder, through an index of ours: whatever `.git` says in there is not asked."""
        env = {**self.env, "GIT_WORK_TREE": str(work_tree), "GIT_INDEX_FILE": str(index)}
        return replace(self, cwd=work_tree, env=env)

    def holding(self, lock: int) -> Git:
        """The same git, whose processes keep `lock` held until they end."""
        return replace(self, keep_open=(*self.keep_open, lock))

    async def run(
        self,
        *args: str,
        env: Mapping[str, str] | None = None,
        text: bytes = b"",
        accept: Collection[int] = (0,),
    ) -> Result:
        """Run a command on the repository."""
        return await run_git(
            *args,
            cwd=self.cwd or self.common_dir,
            env={"GIT_DIR": str(self.common_dir), **self.env, **(env or {})},
            text=text,
            accept=accept,
            keep_open=self.keep_open,
            limit=self.limit,
        )

    async def find_commit(self, ref: str) -> str:
        """The commit a ref points at, or nothing."""
        return (await self.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", accept=(0, 1))).line
