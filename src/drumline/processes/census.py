"""Who is running: parents, descendants, start times, marks. Reads only, and never fails because a process is gone.

Linux answers from /proc. Elsewhere `ps` is asked, which is slower and cannot see processes that hide their environment.
Only the standard library, without pathlib and dataclasses: every supervisor imports this at its start.
"""

from __future__ import annotations

import os
import sys

LINUX = sys.platform.startswith("linux")
MARK = "DRUMLINE_MARK"


def descendants(root: int) -> list[int]:
    """Children of `root` and theirs, parents before children. One that forks meanwhile may be missing: ask again."""
    children: dict[int, list[int]] = {}
    for pid, parent in read_parents().items():
        children.setdefault(parent, []).append(pid)
    found = [root]
    for pid in found:
        found.extend(children.get(pid, ()))
    return found[1:]


def ancestors(pid: int) -> list[int]:
    """The parent of a process and the parents of that, nearest first, as far as they can be seen."""
    parents = read_parents()
    found: list[int] = []
    while (pid := parents.get(pid, 0)) and pid not in found:
        found.append(pid)
    return found


def read_parents() -> dict[int, int]:
    """Every process of the machine with its parent."""
    if not LINUX:
        pairs = (line.split() for line in _ask("ps", "-axo", "pid=,ppid=").splitlines())
        return {int(pid): int(parent) for pid, parent in pairs}
    found: dict[int, int] = {}
    for pid in _pids():
        fields = _read_stat(pid)
        if fields:
            found[pid] = int(fields[1])
    return found


def read_start(pid: int) -> str:
    """When the process started, in words that differ for another process of the same number; empty if it is gone."""
    if not LINUX:
        return _ask("ps", "-o", "lstart=", "-p", str(pid)).strip()
    fields = _read_stat(pid)
    # A zombie can do nothing any more; counting it as there would make its killer wait for its parent.
    return fields[19].decode() if fields and fields[0] != b"Z" else ""


def read_boot() -> str:
    """A name for the time since the machine was switched on."""
    if not LINUX:
        return _ask("sysctl", "-n", "kern.bootsessionuuid").strip()
    return _read("/proc/sys/kernel/random/boot_id").decode().strip()


def marked(mark: str) -> list[int]:
    """Processes other than ours that were started with this mark, or with any mark of the driver of this name.

    On Linux also those that have cleaned their environment.
    """
    wanted = f"{MARK}={mark}".encode()
    if not LINUX:
        lines = (line.split() for line in _ask("ps", "-axEww", "-o", "pid=,command=").splitlines())
        found = [int(words[0]) for words in lines if _carries([word.encode() for word in words], wanted)]
    else:
        from drumline.processes import inherited  # hashes: a supervisor, which never asks this, starts without them

        found = [
            pid
            for pid in _pids()
            if _carries_among(_read(f"/proc/{pid}/environ"), wanted)
            or (inherited.carries(_read(f"/proc/{pid}/limits"), mark) and read_start(pid))
        ]
    return [pid for pid in found if pid != os.getpid()]


def inherits(pid: int, driver: str) -> bool:
    """Whether a process has inherited the limit that is the mark of this driver; never where there is no such limit."""
    if not LINUX:
        return False
    from drumline.processes import inherited

    return inherited.carries(_read(f"/proc/{pid}/limits"), driver)


def name_processes(pids: list[int]) -> str:
    """Processes as people know them: `sleep (pid 12)`; on Linux with the names of their programs."""
    names = [(_read(f"/proc/{pid}/comm").decode("utf-8", "replace").strip() if LINUX else "", pid) for pid in pids]
    return ", ".join(f"{name} (pid {pid})" if name else f"pid {pid}" for name, pid in names)


def _carries_among(environment: bytes, wanted: bytes) -> bool:
    # Nearly no process has the mark, so nearly no environment is taken apart.
    return wanted in environment and _carries(environment.split(b"\0"), wanted)


def _carries(entries: list[bytes], wanted: bytes) -> bool:
    return any(entry == wanted or entry.startswith(wanted + b"/") for entry in entries)


def _pids() -> list[int]:
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit()]


def _read_stat(pid: int) -> list[bytes]:
    """The fields after the program's name, which may itself hold blanks and brackets: state, parent, …"""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return b"".join(iter(lambda: os.read(fd, 1 << 16), b""))
    except OSError:
        return b""
    finally:
        os.close(fd)


def _ask(*argv: str) -> str:
    import subprocess  # only where there is no /proc: it would double a supervisor's start-up time

    return subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False).stdout
