"""Why a check failed, and what follows: a table of classes, and one of the evidence for them.

Only a failure of the work goes back to the agent. The others say something about this machine: the check is repeated
once, then the step is blocked with the class and what to do. The rule: evidence of another class must be explicit; a
missing file of the work tree, and everything unknown, is the work's.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType

from drumline.patterns import compile_late
from drumline.record import Record

CANNOT_RUN = frozenset({126, 127})
"""Exit codes by which a shell says that a program could not be run or found."""
LONGEST_EVIDENCE = 300


class CheckFailure(Enum):
    """Whose failure it is."""

    WORK = "work"
    TOOL = "tool"
    PACKAGE = "package"
    NETWORK = "network"
    PORT = "port"
    DISK = "disk"
    TIMEOUT = "timeout"
    KILLED = "killed"
    FLAKY = "flaky"


class CheckReaction(Enum):
    """What the engine does about it."""

    FIX = "back to the agent"
    REPEAT = "repeated once, then blocked until a person acts"


class CheckRule(Record):
    """One row of the classes. `delay` is how many seconds pass before the check is repeated.

    With `sets_up` the setup command is run again first, if there is one.
    """

    reaction: CheckReaction
    means: str
    advice: str = ""
    delay: float = 0.0
    sets_up: bool = False


CHECK_RULES: Mapping[CheckFailure, CheckRule] = MappingProxyType(
    {
        CheckFailure.WORK: CheckRule(reaction=CheckReaction.FIX, means="the work is not right yet"),
        CheckFailure.TOOL: CheckRule(
            reaction=CheckReaction.REPEAT,
            means="a program that the check needs cannot be run here",
            advice="install it, or configure a setup command that does",
            sets_up=True,
        ),
        CheckFailure.PACKAGE: CheckRule(
            reaction=CheckReaction.REPEAT,
            means="a package that the project needs is not installed here",
            advice="configure a setup command that installs it",
            sets_up=True,
        ),
        CheckFailure.NETWORK: CheckRule(
            reaction=CheckReaction.REPEAT,
            means="the check could not reach the network",
            advice="look at the connection",
            delay=2.0,
        ),
        CheckFailure.PORT: CheckRule(
            reaction=CheckReaction.REPEAT,
            means="a port that the check needs is taken",
            advice="end what listens there; for checks that share a port set check_jobs = 1",
            delay=2.0,
        ),
        CheckFailure.DISK: CheckRule(
            reaction=CheckReaction.REPEAT,
            means="the disk is full",
            advice="free some space, for example with: drumline gc",
            delay=2.0,
        ),
        CheckFailure.TIMEOUT: CheckRule(
            reaction=CheckReaction.REPEAT,
            means="the check took too long",
            advice="look at its log; raise check_timeout if it needs the time",
        ),
        CheckFailure.KILLED: CheckRule(
            reaction=CheckReaction.REPEAT,
            means="the check was killed from outside",
            advice="look whether memory ran out",
            delay=2.0,
        ),
        CheckFailure.FLAKY: CheckRule(
            reaction=CheckReaction.REPEAT,
            means="the check failed twice on a tree on which it had passed",
            advice="let it come to the same verdict each time, or take it out; then drumline resume",
        ),
    }
)


class FailedCheck(Record):
    """A check that did not pass: `exit_code` is None if it could not be started, `output` the end of what it printed.

    `folder` is where it ran. `names` are files that the work is to create, which a check may call by name alone.
    `killed` says that it did not end by itself, `timed_out` that its time was over. `uninstalled` is the line about a
    package that is missing and not the work's to bring; empty if there is none.
    """

    command: str
    exit_code: int | None
    output: str
    folder: str
    names: tuple[str, ...] = ()
    killed: bool = False
    timed_out: bool = False
    uninstalled: str = ""


class Cause(Record):
    """The class of a failure, and the line of the output that shows it."""

    failure: CheckFailure
    evidence: str = ""


def classify(check: FailedCheck) -> Cause:
    """The first row of the evidence that fits."""
    for row in _EVIDENCE:
        if row.exit_codes is None or check.exit_code in row.exit_codes:
            line = row.find(check)
            if line is not None:
                return Cause(failure=row.failure, evidence=line.strip()[:LONGEST_EVIDENCE])
    return Cause(failure=CheckFailure.WORK)


def is_work(failure: str) -> bool:
    """Whether a failure of this class goes back to the agent; one without a class does."""
    return not failure or CHECK_RULES[CheckFailure(failure)].reaction is CheckReaction.FIX


def explain(failure: str, *, command: str, evidence: str) -> str:
    """The reason that a step is blocked with: what could not be done, what shows it, what to do."""
    rule = CHECK_RULES[CheckFailure(failure)]
    shown = f" ({evidence})" if evidence else ""
    if failure == CheckFailure.FLAKY.value:
        return f"check is flaky: {command}: {rule.means}{shown}; {rule.advice}"
    return f"check could not be run, twice ({failure}): {command}: {rule.means}{shown}; {rule.advice}"


# --- the evidence -----------------------------------------------------------------------------------------------


class _Row(Record):
    """What shows a class: `find` returns the line that does, None if nothing does. No exit codes means any."""

    failure: CheckFailure
    find: Callable[[FailedCheck], str | None]
    exit_codes: frozenset[int | None] | None = None


_CANNOT = (
    "command not found|not found|No such file|Permission denied|Is a directory|"
    "cannot execute|bad interpreter|required file not found"
)
_THING = compile_late(rf"(?:^|[:\s])[`'\"‘“]?(?P<thing>[^\s:`'\"‘’“”]+)[`'\"’”]?: (?P<why>{_CANNOT})")
_OTHERWISE = compile_late(r"command not found: (?P<thing>\S+)|\b[Cc]an(?:not|'t) open (?P<file>[^\s:]+)")
_SHELL = compile_late(r"^(?:\S*/)?(?:ba|da|k|z)?sh: ")
_PARTS = compile_late(r"\s*(?:&&|\|\||[;|&\n])\s*")


def _find_own_file(check: FailedCheck) -> str | None:
    """The line that names a file of the work tree as the one that cannot be run."""
    named = _find_thing(check.output)
    if named is None:
        heads = [part.split(None, 1)[0] for part in _PARTS.split(check.command.strip()) if part.strip()]
        return "" if any(_is_own(head, check) for head in heads) else None
    line, thing, is_file = named
    return line if _is_own(thing, check, is_file=is_file) else None


def _find_thing(output: str) -> tuple[str, str, bool] | None:
    """The last line that says what cannot be run, what that is, and whether it was looked for as a file."""
    for line in reversed(output.splitlines()):
        found = _THING.search(line)
        if found:
            return line, found["thing"], found["why"] == "No such file" and bool(_SHELL.match(line))
        spelled = _OTHERWISE.search(line)
        if spelled:
            return line, spelled["thing"] or spelled["file"], bool(spelled["file"])
    return None


def _is_own(thing: str, check: FailedCheck, *, is_file: bool = False) -> bool:
    if thing in check.names or posixpath.basename(thing) in check.names:
        return True
    if "/" not in thing and not is_file:
        return False
    place = posixpath.normpath(posixpath.join(check.folder, thing))
    return place.startswith(check.folder.rstrip("/") + "/")


def _find_unrunnable(check: FailedCheck) -> str | None:
    named = _find_thing(check.output)
    return named[0] if named else ""


def _find_start_error(check: FailedCheck) -> str | None:
    lines = check.output.strip().splitlines()
    return lines[-1] if lines else ""


_ASSERTION = compile_late(
    r"\bAssertionError\b|\bERR_ASSERTION\b|^E +assert |\bexpect\(received\)|\bassertion\b.*\bfailed\b",
    re.MULTILINE | re.IGNORECASE,
)
_OFFLINE = compile_late(
    r"could not resolve (?:host|hostname|proxy)\b"
    r"|temporary failure in name resolution|name or service not known|nodename nor servname provided"
    r"|failed to lookup address information|temporary failure resolving"
    r"|\bgetaddrinfo (?:ENOTFOUND|EAI_AGAIN)\b|\bE(?:NET|HOST)UNREACH\b"
    r"|\bnpm (?:ERR!|error) (?:code |errno )?(?:ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|ENETUNREACH)\b"
    r"|network is unreachable|no route to host"
    r"|dial tcp: lookup .*(?:no such host|server misbehaving|i/o timeout)|TLS handshake timeout",
    re.IGNORECASE,
)
# Names that a test uses because nobody answers to them, or because the answer comes from this machine (RFC 2606, 6761).
_NOT_OUTSIDE = compile_late(
    r"\blocalhost\b|\b127\.\d+\.\d+\.\d+\b|\[?::1\b|\b0\.0\.0\.0\b"
    r"|\.(?:invalid|test|example|localhost|local)\b|\bexample\.(?:com|net|org)\b",
    re.IGNORECASE,
)


def _find_assertion(check: FailedCheck) -> str | None:
    found = _ASSERTION.search(check.output)
    return found[0] if found else None


def _find_offline(check: FailedCheck) -> str | None:
    lines = check.output.splitlines()
    return next((line for line in lines if _OFFLINE.search(line) and not _NOT_OUTSIDE.search(line)), None)


UNRESOLVED = frozenset({5, 6})
"""Exit codes by which curl says that it could not find a proxy or a host."""
_JOINED = compile_late(r"[;|&\n]")


def _find_silent_curl(check: FailedCheck) -> str | None:
    """With `-s`, curl says by its exit code alone what went wrong."""
    command = check.command.strip()
    alone = command.startswith("curl ") and not _JOINED.search(command) and not check.output.strip()
    return f"exit code {check.exit_code} of curl" if alone and not _NOT_OUTSIDE.search(command) else None


_FULL = compile_late(r"no space left on device|\bENOSPC\b|disk quota exceeded|\bEDQUOT\b", re.IGNORECASE)
_TAKEN = compile_late(
    r"address already in use|\bEADDRINUSE\b|only one usage of each socket address"
    r"|\bport \d+ is already (?:in use|allocated)",
    re.IGNORECASE,
)


def _find_line(pattern: re.Pattern[str]) -> Callable[[FailedCheck], str | None]:
    def find(check: FailedCheck) -> str | None:
        return next((line for line in check.output.splitlines() if pattern.search(line)), None)

    return find


def _find_uninstalled(check: FailedCheck) -> str | None:
    return check.uninstalled or None


def _find_timeout(check: FailedCheck) -> str | None:
    return "" if check.timed_out else None


def _find_kill(check: FailedCheck) -> str | None:
    return "" if check.killed else None


_EVIDENCE = (
    _Row(failure=CheckFailure.KILLED, find=_find_kill),
    _Row(failure=CheckFailure.TIMEOUT, find=_find_timeout),
    _Row(failure=CheckFailure.TOOL, find=_find_start_error, exit_codes=frozenset({None})),
    _Row(failure=CheckFailure.WORK, find=_find_own_file, exit_codes=frozenset(CANNOT_RUN)),
    _Row(failure=CheckFailure.TOOL, find=_find_unrunnable, exit_codes=frozenset(CANNOT_RUN)),
    _Row(failure=CheckFailure.WORK, find=_find_assertion),
    _Row(failure=CheckFailure.PACKAGE, find=_find_uninstalled),
    _Row(failure=CheckFailure.DISK, find=_find_line(_FULL)),
    _Row(failure=CheckFailure.PORT, find=_find_line(_TAKEN)),
    _Row(failure=CheckFailure.NETWORK, find=_find_offline),
    _Row(failure=CheckFailure.NETWORK, find=_find_silent_curl, exit_codes=UNRESOLVED),
)
