"""A mark that a process cannot lose with its environment: the value of a resource limit that nothing uses.

Linux hands limits on to every child, whatever it forks, executes or cleans, and shows them to everybody. The limit of
realtime CPU time counts microseconds; the values here are thousands of years, so that they limit nothing.
"""

from __future__ import annotations

import hashlib

NAMED = b"Max realtime timeout"
"""How `/proc/PID/limits` calls it."""
BASE = 1 << 61
DRIVER_BITS, NUMBER_BITS = 42, 18


def number_mark(mark: str) -> int:
    """The value for a mark of the form `driver/number`; that of a driver alone has the number 0."""
    driver, _, number = mark.partition("/")
    digest = int.from_bytes(hashlib.blake2b(driver.encode(), digest_size=8).digest(), "big")
    low = int(number or 0) & ((1 << NUMBER_BITS) - 1)
    return BASE | (digest & ((1 << DRIVER_BITS) - 1)) << NUMBER_BITS | low


def carries(limits: bytes, mark: str) -> bool:
    """Whether a process with this text in `/proc/PID/limits` was started under the mark, or under any of the driver."""
    line = next((line for line in limits.splitlines() if line.startswith(NAMED)), b"")
    words = line.removeprefix(NAMED).split()
    value = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    wanted = number_mark(mark)
    return value == wanted if "/" in mark else value >> NUMBER_BITS == wanted >> NUMBER_BITS
