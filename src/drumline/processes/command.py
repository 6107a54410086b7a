"""Starting the one command of a supervisor: in its own session, dying with the supervisor, or refused with a reason.

Only the standard library, and only for a program with one thread: it forks.
"""

from __future__ import annotations

import os
import resource

from drumline.processes.census import LINUX
from drumline.processes.scope import call_libc, enter_scope, take_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
else:
    # The half of `signal` that is written in C: the other builds enumerations, which takes as long as Python starts.
    import _signal as signal

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
FAILED_EXEC = 127
HANDED = 100
"""As in the port, which a supervisor does not import: dataclasses would double the time of its start."""


class NotStarted(Exception):
    """The command could not be started; the message says why."""


class Command:
    """A started command: its pid, the pipe to its stdin and the pipes with its output.

    `output` has both streams, or stderr alone where stdout has the pipe `printed` of its own. Of a command that
    somebody else talks with there is neither `stdin` nor `printed`.
    """

    def __init__(self, pid: int, *, stdin: int | None, output: int, printed: int | None) -> None:
        self.pid = pid
        self.stdin = stdin
        self.output = output
        self.printed = printed
        for pipe in self.pipes:
            os.set_blocking(pipe, False)

    @property
    def pipes(self) -> tuple[int, ...]:
        """Every pipe that is ours to serve."""
        return self.outputs if self.stdin is None else (self.stdin, *self.outputs)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Every pipe that output comes from; stdout first, so that what complains of it stands behind it in a log."""
        return (self.output,) if self.printed is None else (self.printed, self.output)


class Beforehand:
    """What happens in the process of a command before the command: data is taken over, and the kernel is to hold it.

    `limit` is the mark that it cannot lose with its environment.
    """

    def __init__(self, handed: Sequence[bytes] = (), *, scoped: bool = False, limit: int = 0) -> None:
        if handed and not LINUX:
            raise NotStarted("data can be handed to a command on Linux only")
        self._handed = handed
        self._scoped = scoped
        self._limit = limit

    def apply(self) -> None:
        """Do it to this very process."""
        if self._limit and LINUX:
            try:  # noqa: SIM105 - contextlib is not free either
                resource.setrlimit(resource.RLIMIT_RTTIME, (self._limit, self._limit))
            except (OSError, ValueError):
                pass  # somebody has set a lower limit: then only the environment has the mark
        take_over(self._handed, HANDED)
        if self._scoped and LINUX:
            enter_scope()


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, where the system knows such a thing."""
    if LINUX:
        call_libc("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def start(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    apart: bool = False,
    talk: tuple[int, int] | None = None,
    beforehand: Beforehand | None = None,
) -> Command:
    """Start the command, with its stdout kept apart from its stderr if so wanted, or raise NotStarted.

    `talk` are pipes for its stdin and stdout whose other ends somebody else has; they are closed here. Returns once
    the program itself runs, so that a refusal is never mistaken for an exit code of the command.
    """
    ready = _Prepared(argv, cwd=cwd, env=env, beforehand=beforehand)
    output_out, output_in = os.pipe()
    if talk is not None:
        (stdin_out, printed_in), stdin_in, printed_out = talk, None, None
    else:
        stdin_out, stdin_in = os.pipe()
        printed_out, printed_in = os.pipe() if apart else (None, output_in)
    trouble_out, trouble_in = os.pipe()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        ready.become(supervisor, stdio=(stdin_out, printed_in, output_in), trouble=trouble_in)
    for fd in {stdin_out, printed_in, output_in, trouble_in}:
        os.close(fd)
    # The pipe closes by itself when the program is executed; text in it means that it was not.
    trouble = b"".join(iter(lambda: os.read(trouble_out, 4096), b""))
    os.close(trouble_out)
    started = Command(pid, stdin=stdin_in, output=output_out, printed=printed_out)
    if trouble:
        for fd in started.pipes:
            os.close(fd)
        os.waitpid(pid, 0)
        raise NotStarted(trouble.decode("utf-8", "replace"))
    return started


class _Prepared:
    """Everything that can be refused before forking, as bytes."""

    def __init__(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], beforehand: Beforehand | None = None
    ) -> None:
        self._beforehand = beforehand or Beforehand()
        try:
            self._argv = [_encode(word) for word in argv]
            self._cwd = _encode(cwd)
            self._env = {_encode(name): _encode(value) for name, value in env.items()}
        except UnicodeEncodeError as error:
            raise NotStarted(f"cannot start {argv!r}: {error}") from error
        if not self._argv:
            raise NotStarted("cannot start an empty command")

    def become(self, supervisor: int, *, stdio: tuple[int, int, int], trouble: int) -> None:
        """Turn this forked process into the command; never returns."""
        said = f"cannot enter the folder {self._cwd.decode('utf-8', 'replace')!r}"
        try:
            os.setsid()  # so that `kill 0` in a script does not reach the supervisor
            _die_with(supervisor)
            _restore_signals()
            os.chdir(self._cwd)
            said = f"cannot start {self._argv[0].decode('utf-8', 'replace')!r}"
            for target, fd in enumerate(stdio):
                os.dup2(fd, target)
            self._beforehand.apply()
            os.execvpe(self._argv[0], self._argv, self._env)  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(trouble, f"{said}: {error.strerror}".encode())
        except ValueError as error:
            os.write(trouble, f"{said}: {error}".encode())
        finally:
            os._exit(FAILED_EXEC)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _die_with(supervisor: int) -> None:
    if not LINUX:
        return
    call_libc("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != supervisor:
        os._exit(FAILED_EXEC)  # it died before the request was read


def _restore_signals() -> None:
    # Python ignores SIGPIPE; a program that inherits this never ends when its reader does.
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
