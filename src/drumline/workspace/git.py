"""Running git. Every call is an argv list in a clean environment; nothing the user or an agent set steers it.

Hooks, signing, prompts, background maintenance and file system monitors are off, objects and refs are flushed to disk
before git returns, and no `GIT_*` variable of the caller reaches it.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from drumline.errors import GitError, GitKilled, GitStuck, InvalidInput
from drumline.late import import_late
from drumline.record import Record, field, replace

if TYPE_CHECKING:
    import logging
    import subprocess
    import tempfile

    import anyio
else:
    anyio = import_late("anyio")
    logging = import_late("logging")
    subprocess = import_late("subprocess")
    tempfile = import_late("tempfile")

NEEDED = (2, 38)
_INSTALL = "install git 2.38 or newer"

OURS = "DRUMLINE_GIT"
"""A variable that every git of ours has: the processes of others do not."""
LIMIT = 600.0
"""How many seconds one git may take: far more than any needs, so that one that is stopped or hangs is noticed."""
SLOW = 2.0
"""Seconds after which git may be waiting for something: to look for it every time would cost more than git itself."""
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
_FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    # Commits and trees are what their ids say, whatever somebody shows in their place.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": f"{os.devnull}/none",
    "LC_ALL": "C",
    OURS: "1",
}
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
    return {**clean, **_FIXED, **extra}


async def run_git(
    *args: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    text: bytes = b"",
    accept: Collection[int] = (0,),
    keep_open: Sequence[int] = (),
    limit: float = LIMIT,
    look: Callable[[], None] | None = None,
) -> Result:
    """Run git to its end, with `text` on its input; raise GitError unless its exit code is in `accept`.

    When cancelled, or after `limit` seconds, git and what it started are killed and waited for. If git takes long, it
    is killed if `look`, called in a thread, raises GitError.

    Descriptors in `keep_open` are inherited, so that a lock held
    on one of them lasts as long as git runs, even if this process dies first.
    """
    began = time.monotonic()
    with _open_buffer(text) as given, _open_buffer() as out, _open_buffer() as err:
        running = _start(args, (given, out, err), cwd=cwd, env=environment(env or {}), keep_open=keep_open)
        try:
            await _wait_for(running, args, limit, look)
        finally:
            os.close(running.alive)
        done = subprocess.CompletedProcess(args, running.process.returncode, _read_buffer(out), _read_buffer(err))
    log = logging.getLogger(__name__)
    if log.isEnabledFor(logging.DEBUG):
        facts = {"exit_code": done.returncode, "seconds": f"{time.monotonic() - began:.3f}", "cwd": cwd}
        log.debug("git %s", shlex.join(args), extra=facts)
    return _judge(args, done, accept)


class _Running(NamedTuple):
    """A git, and a descriptor at whose end git and everything it started has ended: they hold the other side."""

    process: subprocess.Popen[bytes]
    alive: int


def _start(
    args: Sequence[str],
    streams: tuple[int, int, int],
    *,
    cwd: Path,
    env: Mapping[str, str],
    keep_open: Sequence[int],
) -> _Running:
    given, out, err = streams
    alive, life = os.pipe()
    try:
        process = subprocess.Popen(
            ["git", *_OPTIONS, *args],
            stdin=given,
            stdout=out,
            stderr=err,
            cwd=cwd,
            env=env,
            start_new_session=True,  # a Ctrl-C at the terminal must not end git in the middle of a write
            pass_fds=(*keep_open, life),
        )
    except OSError as error:
        os.close(alive)
        raise _explain_start(error, cwd) from error
    finally:
        os.close(life)
    return _Running(process, alive)


@contextmanager
def _open_buffer(text: bytes = b"") -> Iterator[int]:
    """A file without a name: git reads or writes it whole, and nobody has to look after it meanwhile."""
    make = getattr(os, "memfd_create", None)
    with tempfile.TemporaryFile(buffering=0) if make is None else os.fdopen(make("git"), "w+b", 0) as file:
        if text:
            file.write(text)
            file.seek(0)
        yield file.fileno()


def _read_buffer(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


async def _wait_for(running: _Running, args: Sequence[str], limit: float, look: Callable[[], None] | None) -> None:
    """Wait until git ends; GitStuck if that takes too long. What `look` raises, if git is slow, ends it, too."""
    ended = False
    try:
        with anyio.move_on_after(limit):
            if look is not None and not await _wait_shortly(running):
                await anyio.to_thread.run_sync(look)
            await _wait_end(running)
            ended = True
    finally:
        if not ended:
            await _end(running)
    if not ended:
        raise _report_stuck(args, limit)


async def _wait_shortly(running: _Running) -> bool:
    with anyio.move_on_after(SLOW) as scope:
        await _wait_end(running)
    return not scope.cancelled_caught


async def _wait_end(running: _Running) -> None:
    """Wait until a git and what it has started have ended: what stays would keep our locks."""
    await anyio.wait_readable(running.alive)
    if running.process.poll() is None:  # it is about to end
        await anyio.to_thread.run_sync(running.process.wait, abandon_on_cancel=True)


async def _end(running: _Running) -> None:
    """Kill git and what it has started, which would keep our locks; one in the kernel's hands is not waited for."""
    with suppress(ProcessLookupError):
        os.killpg(running.process.pid, signal.SIGKILL)
    with anyio.move_on_after(_KILL_WAIT, shield=True):
        await _wait_end(running)


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
        look: Callable[[], None] | None = None,
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
            look=look,
        )

    async def find_commit(self, ref: str) -> str:
        """The commit a ref points at, or nothing."""
        return (await self.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", accept=(0, 1))).line
