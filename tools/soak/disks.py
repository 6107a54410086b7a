"""A disk that is full or read-only for a while: real ones where we may mount, else a git that is refused.

The rule: mounts are made in a mount namespace of the soak's own, so that they are gone with it whatever happens.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.soak.machine import Machine
from tools.soak.scenario import Fault
from tools.soak.strikes import wait_until

SIZE = "96m"
INSIDE = "SOAK_MOUNTS"
REAL, SHIMMED = "tmpfs and read-only mounts", "a git that is told so"
CHUNK = 1 << 20
READ_ONLY = (".git", ".git/objects", ".git/refs", "plans", "worktrees")
"""What becomes read-only: a part of the repository, or the folder of the workspaces."""


def enter_namespace(argv: Sequence[str]) -> None:
    """Begin again in a mount namespace of our own, if we may make one."""
    program = shutil.which("unshare")
    if os.environ.get(INSIDE) or program is None or os.geteuid() != 0:
        return
    probe = ["unshare", "--mount", "--propagation", "private", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        return
    command = [program, "--mount", "--propagation", "private", sys.executable, "-m", "tools.soak", *argv]
    os.execve(program, command, {**os.environ, INSIDE: "1"})  # noqa: S606 - no shell


def describe_disks() -> str:
    """Which kind of full and read-only disk is injected here."""
    return REAL if os.environ.get(INSIDE) else SHIMMED


def mount_disk(folder: Path) -> None:
    """A small disk for a scenario, where we may mount."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.environ.get(INSIDE):
        _mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder))


def unmount_disk(folder: Path) -> None:
    """Take the disk away with all that is on it; what is needed for a post-mortem is copied first."""
    if os.environ.get(INSIDE) and os.path.ismount(folder):
        subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)


def fill_disk(machine: Machine, fault: Fault) -> bool:
    """Fill the disk to its last byte, wait, and make room again."""
    if not os.path.ismount(machine.folder):
        return refuse_git(machine, fault, "No space left on device")
    filler = machine.folder / "filler"
    try:
        _write_until_full(filler)
        machine.note(f"full for {fault.amount:.1f} s")
        time.sleep(fault.amount)
    finally:
        filler.unlink(missing_ok=True)
    return True


def _write_until_full(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file:
        for size in (CHUNK, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


def close_disk(machine: Machine, fault: Fault) -> bool:
    """Make a part of the disk read-only for whatever is opened from now on, wait, and open it again."""
    if not os.path.ismount(machine.folder):
        return refuse_git(machine, fault, "Read-only file system")
    name = READ_ONLY[int(fault.choice * len(READ_ONLY))]
    place = machine.folder / "home" / "state" if name == "worktrees" else machine.repo / name
    if not place.is_dir():
        return False
    _mount("--bind", str(place), str(place))
    try:
        if not wait_until(lambda: _try_to_mount("-o", "remount,bind,ro", str(place))):
            return False  # files that are open for writing were in the way all the time
        machine.note(f"{place} is read-only for {fault.amount:.1f} s")
        time.sleep(fault.amount)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], capture_output=True, check=False)
    return True


def refuse_git(machine: Machine, fault: Fault, reason: str) -> bool:
    """Let every git that writes be refused for a while, where we cannot mount."""
    refused = machine.folder / "git-refused"
    refused.write_text(reason, encoding="utf-8")
    hit = wait_until(lambda: (machine.folder / "git-was-refused").exists() or not machine.drivers)
    time.sleep(fault.amount)
    refused.unlink()
    (machine.folder / "git-was-refused").unlink(missing_ok=True)
    return hit


def _try_to_mount(*args: str) -> bool:
    return not subprocess.run(["mount", *args], capture_output=True, check=False).returncode


def _mount(*args: str) -> None:
    subprocess.run(["mount", *args], capture_output=True, check=True)
