"""The processes of one machine by what they do. Reads /proc only, and never fails because a process is gone."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from tools.soak.planwriting import AGENT

DRIVER, SUPERVISOR, AGENT_ROLE, CHECK, GIT, OTHER = "driver", "supervisor", "agent", "check", "git", "other"
MARK = "DRUMLINE_MARK="


def find_processes(folder: Path) -> dict[str, list[int]]:
    """The live processes of the machine in this folder, by role; ours excepted."""
    found: dict[str, list[int]] = {}
    for pid in sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        if pid == os.getpid() or read_state(pid) in ("", "Z"):
            continue
        command, environ = _read(pid, "cmdline"), _read(pid, "environ")
        if _belongs(pid, command, environ, str(folder)):
            found.setdefault(tell_role(command, environ), []).append(pid)
    return found


def tell_role(command: str, environ: str) -> str:
    """What a process does, by its command line and its environment."""
    words = command.split("\0")
    if "drumline.processes.supervisor" in command:
        return SUPERVISOR
    if "-m\0drumline\0" in command:
        return DRIVER
    if AGENT in command:
        return AGENT_ROLE
    if any(Path(word).name == "git" for word in words[:2]):
        # Before the mark is looked for: a git of ours carries its driver's.
        return GIT
    return CHECK if MARK in environ else OTHER


def read_state(pid: int) -> str:
    """The letter of the process's state; empty if it is gone."""
    return next(iter(_read(pid, "stat").rpartition(")")[2].split()), "")


def read_group(pid: int) -> int:
    """The process group; 0 if the process is gone."""
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return int(fields[2]) if len(fields) > 2 else 0


def read_parent(pid: int) -> int:
    """The parent of the process; 0 if the process is gone."""
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def send(pids: list[int], number: signal.Signals) -> None:
    """Signal processes that may be gone."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def end_all(folder: Path, *, patience: float = 30.0) -> None:
    """Kill whatever is left of the machine in this folder."""
    deadline = time.monotonic() + patience
    while (left := find_processes(folder)) and time.monotonic() < deadline:
        for pids in left.values():
            send(pids, signal.SIGKILL)
        time.sleep(0.02)


def _belongs(pid: int, command: str, environ: str, folder: str) -> bool:
    if f"{folder}/" in command or f"={folder}/" in environ:
        return True
    with suppress(OSError):
        place = str(Path(f"/proc/{pid}/cwd").readlink())
        return place == folder or place.startswith(f"{folder}/")
    return False


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
