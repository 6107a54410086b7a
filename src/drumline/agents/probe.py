"""Tries to break out of a jail from inside, as a program: prints a JSON object with what came of each attempt.

The rule: an attempt does no harm where nothing holds it. Only the standard library: it runs with nothing else.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import socket
import sys
from collections.abc import Callable

MS_REMOUNT_BIND = 32 | 4096
CLONE_NEWUSER = 0x10000000
KEYCTL = {"x86_64": 250, "aarch64": 219}
OPEN = "open"
"""What is said of an attempt that was not refused; of others, the word for the error."""


def remount() -> str:
    """Mount the root of the machine writable; it already is where nothing holds us."""
    return _judge(_libc().mount(b"none", b"/", b"", MS_REMOUNT_BIND, None))


def write(folder: str) -> str:
    """Make a file in a folder that may only be read."""
    os.close(os.open(os.path.join(folder, "planted"), os.O_WRONLY | os.O_CREAT, 0o600))  # noqa: PTH118 - no pathlib
    return OPEN


def connect(name: str) -> str:
    """Connect to a socket of a program outside; a name that begins with @ is an abstract one."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + name[1:] if name.startswith("@") else name)
    return OPEN


def signal(pid: str) -> str:
    """Signal a process outside, with the signal that does nothing."""
    os.kill(int(pid), 0)
    return OPEN


def read(path: str) -> str:
    """Read a file that is hidden."""
    with open(path, "rb") as file:  # noqa: PTH123 - no pathlib
        return OPEN if file.read() else "EMPTY"


def enter_namespace() -> str:
    """Make a user namespace, in which capabilities could be had."""
    return _judge(_libc().unshare(CLONE_NEWUSER))


def ask_keys() -> str:
    """Ask the kernel for the keys of the session."""
    number = KEYCTL.get(platform.machine())
    return "ENOSYS" if number is None else _judge(_libc().syscall(number, 0, -3, 0))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _judge(result: int) -> str:
    return OPEN if result >= 0 else errno.errorcode.get(ctypes.get_errno(), "refused")


def try_all(aims: dict[str, str]) -> dict[str, str]:
    """What came of each attempt, by its name."""
    attempts: dict[str, Callable[[], str]] = {
        "remount": remount,
        "write": lambda: write(aims["folder"]),
        "socket": lambda: connect(aims["socket"]),
        "abstract-socket": lambda: connect(aims["abstract"]),
        "signal": lambda: signal(aims["pid"]),
        "hidden-file": lambda: read(aims["hidden"]),
        "keys": ask_keys,
        # The last one: in a namespace of our own the others would fail for another reason.
        "namespace": enter_namespace,
    }
    found: dict[str, str] = {}
    for name, attempt in attempts.items():
        try:
            found[name] = attempt()
        except OSError as error:
            found[name] = errno.errorcode.get(error.errno or 0, "refused")
    return found


if __name__ == "__main__":
    print(json.dumps(try_all(json.loads(sys.argv[1]))))
