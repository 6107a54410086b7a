"""What a forked process does before it becomes the command: it takes data over, and asks the kernel to hold it.

Only the standard library: every supervisor imports this at its start.
"""

from __future__ import annotations

import _ctypes
import os
from _struct import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PR_SET_NO_NEW_PRIVS = 38
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
"""Numbers of system calls, the same on every machine. No C library has functions for them."""
LANDLOCK_CREATE_RULESET_VERSION = 1
SCOPES_SINCE = 6
ABSTRACT_SOCKETS, SIGNALS = 1, 2


def call_libc(name: str, *words: int | bytes | None) -> int:
    """Call a function of the C library. By the half of `ctypes` that is written in C: the other takes milliseconds."""
    return int(_ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 0), name), words))  # type: ignore[arg-type]


def take_over(handed: Sequence[bytes], first: int) -> None:
    """Put each piece of data behind a descriptor that the command inherits, the first behind the number `first`."""
    for number, data in enumerate(handed, first):
        fd = os.memfd_create("handed")
        left = memoryview(data)
        while left:
            left = left[os.write(fd, left) :]
        os.lseek(fd, 0, os.SEEK_SET)
        os.dup2(fd, number)
        os.close(fd)


def read_abi() -> int:
    """How much of Landlock the kernel has; below one if nothing."""
    return call_libc("syscall", LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)


def enter_scope() -> bool:
    """Give up abstract sockets and processes outside for good; False where the kernel (before 6.12) cannot do that."""
    if read_abi() < SCOPES_SINCE:
        return False
    # No files and no ports are handled: mounts could not be changed any more, which bubblewrap has to do.
    wish = pack("=QQQ", 0, 0, ABSTRACT_SOCKETS | SIGNALS)
    rules = call_libc("syscall", LANDLOCK_CREATE_RULESET, wish, len(wish), 0)
    if rules < 0 or call_libc("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    held = call_libc("syscall", LANDLOCK_RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return held
