"""A process that ends at one of its changes to files: work is done in a fork, and an audit hook ends it.

The rule: the code under test is not touched; what it opens, names or removes is seen where Python tells of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

CHANGES = ("os.link", "os.remove", "os.rename", "os.mkdir")
"""What changes a folder, as Python's audit events call it."""
OPENS = ("open", *CHANGES)
MOST = 200
_DIED, _DONE, _FAILED = 9, 0, 3


def die_at(number: int, work: Callable[[], object], *, acts: tuple[str, ...] = CHANGES) -> bool:
    """Do the work in a process of its own that ends before its act of that number; returns whether it died of it."""
    pid = os.fork()
    if pid == 0:
        _work(number, work, acts)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert ended in (_DIED, _DONE), f"the work ended with {ended}"
    return ended == _DIED


def _work(number: int, work: Callable[[], object], acts: tuple[str, ...]) -> None:
    count = 0

    def watch(event: str, _: object) -> None:
        nonlocal count
        count += event in acts
        if event in acts and count == number:
            os._exit(_DIED)

    try:
        sys.addaudithook(watch)
        work()
    except BaseException:  # whatever it is, the fork must not go on as the test
        os._exit(_FAILED)
    os._exit(_DONE)
