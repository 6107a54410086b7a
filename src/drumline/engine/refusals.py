"""What the machine refuses: a file or folder that is gone, full, read-only or not ours. It has a reason and an advice.

The rule: it is the reason of the step it happened in, or of the run; it is never a traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from drumline.errors import SystemRefused

_ADVICE = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EROFS: "mount it writable",
    errno.EACCES: "look at its permissions",
    errno.EPERM: "look at its permissions",
    errno.ENOENT: "something removed it",
    errno.ENOTDIR: "something replaced it",
    errno.EEXIST: "something replaced it",
    errno.EMFILE: "raise the limit of open files",
    errno.ENFILE: "raise the limit of open files",
    errno.ENOMEM: "free some memory",
}


MACHINE = frozenset(_ADVICE) - {errno.ENOENT} | {errno.EIO, errno.EFBIG, errno.ESTALE}
"""What only the machine can be blamed for; a file that is missing may as well be a bug."""


def explain_refusal(error: OSError) -> str:
    """What was refused, and what to do about it."""
    why = error.strerror or str(error) or type(error).__name__
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{why}; {_ADVICE.get(error.errno or 0, 'look at the file system')}"


def explain_stuck(drivers: Sequence[str]) -> str:
    """Why a run does not proceed although its drivers are dead; empty if none of them stands in its way."""
    if not drivers:
        return ""
    return (
        f"driver {drivers[0]} is dead, but what it started still runs and could not be ended; drumline doctor names it"
    )


def find_refusal(error: BaseException) -> OSError | None:
    """The first refusal in what was raised, if there is nothing else in it; a task group may have wrapped it."""
    if isinstance(error, OSError):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    found = [find_refusal(inner) for inner in error.exceptions]
    return found[0] if all(found) else None


def find_sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error in a group, so that callers can tell what it is; the group itself if there are more."""
    inner = group.exceptions[0]
    if len(group.exceptions) > 1:
        return group
    return find_sole(inner) if isinstance(inner, BaseExceptionGroup) else inner


@contextmanager
def telling_refusals(hint: str) -> Iterator[None]:
    """Raise SystemRefused instead of what the machine refuses in this block."""
    try:
        yield
    except (OSError, BaseExceptionGroup) as error:
        refusal = find_refusal(error)
        if refusal is None:
            raise
        raise SystemRefused(explain_refusal(refusal), hint=hint) from error
