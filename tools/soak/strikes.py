"""Kills and stops: signals to processes chosen by their role, and a git that is struck in the middle of its work.

Git lives for milliseconds. So a program named `git` stands before the real one on PATH: while a trap is set, it leaves
behind a process that strikes after a while, and becomes the real one.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from tools.soak.machine import GIT, Machine
from tools.soak.processlist import (
    AGENT_ROLE,
    CHECK,
    DRIVER,
    SUPERVISOR,
    find_processes,
    read_group,
    read_parent,
    send,
)
from tools.soak.processlist import GIT as GIT_ROLE
from tools.soak.scenario import Fault

ROLES = {"driver": DRIVER, "supervisor": SUPERVISOR, "agent": AGENT_ROLE, "check": CHECK, "git": GIT_ROLE}
LOOK = 0.03
PATIENCE = 4.0
"""Seconds to wait for a process of the chosen role; after that the fault has missed."""
BEYOND_LEASE = 3.5
WAKES = 0.5
"""How many of the stopped gits that have lost their driver wake up later; the others stay stopped until ended."""
MOMENTS = (0.0, 0.001, 0.002, 0.004, 0.008, 0.015, 0.03)
"""Seconds between the start of a git and the strike."""
COMMANDS = ("update-ref", "commit-tree", "add", "write-tree", "worktree", "read-tree", "merge-tree", "rev-parse", "")
"""Subcommands of git that a trap waits for; the empty one is any."""
AIMED = {
    "kill-both-in-update-ref": "update-ref",
    "kill-both-in-worktree": "read-tree --reset",
    "kill-both-in-merge": "merge --ff-only",
}
"""Faults whose trap waits for one subcommand: it moves refs, fills a worktree, or changes the user's checkout."""
ACTS = {
    "kill-git": "kill",
    "kill-git-and-driver": "both",
    **dict.fromkeys(AIMED, "both"),
    "stop-git": "stop",
    "stop-git-kill-driver": "orphan",
}
"""What the trap of a fault does: to git, to git and the driver above it, or to each of them something else."""

SHIM = r"""#!/bin/bash
# The real git. If a trap is set for this call, a process stays behind that strikes it, or the driver, or both.
trap_file={folder}/git-trap
if [ -e {folder}/git-refused ] && [[ " $* " =~ \ (add|write-tree|commit-tree|update-ref|hash-object|worktree)\  ]]; then
  touch {folder}/git-was-refused
  echo "fatal: $(cat {folder}/git-refused)" >&2
  exit 128
fi
if [ -e "$trap_file" ]; then
  read -r act moment wanted < "$trap_file"
  if [ -z "$wanted" ] || [[ " $* " == *" $wanted "* ]]; then
    if mv "$trap_file" "$trap_file.$$" 2>/dev/null; then
      (
        exec < /dev/null > /dev/null 2>&1
        sleep "$moment"
        case $act in
          stop) kill -STOP $$ ;;
          orphan) kill -STOP $$ && kill -9 $PPID ;;
          both) kill -9 $PPID $$ ;;
          *) kill -9 $$ ;;
        esac && hit=struck || hit=missed
        echo "$hit $act $moment $*" >> {folder}/git-struck
      ) &
    fi
  fi
fi
exec {git} "$@"
"""


def write_shim(machine: Machine) -> None:
    """Put the program that can be trapped before the real git."""
    path = machine.folder / "bin" / "git"
    path.write_text(SHIM.format(folder=machine.folder, git=GIT), encoding="utf-8")
    path.chmod(0o755)


def kill_role(machine: Machine, fault: Fault) -> bool:
    """Kill one process of the role, or, for every fourth, all of them."""
    role = ROLES[fault.kind.partition("-")[2]]
    pids = wait_role(machine.folder, role)
    if not pids:
        return False
    time.sleep(fault.choice * 0.2)
    chosen = pids if fault.choice > 0.75 else [pids[int(fault.choice / 0.75 * len(pids)) % len(pids)]]
    machine.note(f"{fault.kind}: {chosen}")
    send(chosen, signal.SIGKILL)
    return True


def kill_group(machine: Machine, fault: Fault) -> bool:
    """End everything at once, as a power cut does; or, for every third, one driver's whole process group."""
    found = find_processes(machine.folder)
    pids = [pid for role in found.values() for pid in role]
    if fault.choice > 0.66 and found.get(DRIVER):
        group = read_group(found[DRIVER][0])
        pids = [pid for pid in pids if read_group(pid) == group]
    if not pids:
        return False
    machine.note(f"{fault.kind}: {len(pids)} processes")
    send(pids, signal.SIGSTOP)
    send(pids, signal.SIGKILL)
    return True


def trap_git(machine: Machine, fault: Fault) -> bool:
    """Set a trap for the next git of a chosen kind, again if that has ended too soon, and wait until one is struck."""
    act = ACTS[fault.kind]
    moment = MOMENTS[int(fault.choice * 1000) % len(MOMENTS)]
    command = AIMED.get(fault.kind) or COMMANDS[int(fault.choice * 7919) % len(COMMANDS)]
    for sooner in (moment, moment / 4, 0.0):
        said = _spring_trap(machine, f"{act} {sooner} {command}")
        machine.note(f"{fault.kind}: {said or 'no such git'}")
        if not said.startswith("missed"):
            break
    if act == "stop":
        time.sleep(fault.amount)
        release_stopped(machine.folder)
    if act == "orphan" and fault.choice < WAKES:
        # Somebody resumes; the git that is left wakes up while the other driver is at work.
        machine.start("resume")
        time.sleep(fault.amount)
        release_stopped(machine.folder, orphans=True)
    return said.startswith("struck")


def _spring_trap(machine: Machine, words: str) -> str:
    """Set a trap once; what it says of the git that came into it, or nothing if none came."""
    trap, struck = machine.folder / "git-trap", machine.folder / "git-struck"
    before = _read(struck)
    fresh = trap.with_name("git-trap.new")
    fresh.write_text(f"{words}\n", encoding="utf-8")
    fresh.replace(trap)
    wait_until(lambda: _read(struck) != before or not machine.drivers)
    trap.unlink(missing_ok=True)
    return _read(struck)[len(before) :].strip()


def stop_role(machine: Machine, fault: Fault) -> bool:
    """Stop one process of the role for longer than the lease, then let it go on."""
    role = ROLES[fault.kind.partition("-")[2]]
    pids = wait_role(machine.folder, role)
    if not pids:
        return False
    chosen = pids[int(fault.choice * len(pids)) % len(pids)]
    machine.note(f"{fault.kind}: {chosen} for {BEYOND_LEASE + fault.amount:.1f} s")
    send([chosen], signal.SIGSTOP)
    if role == DRIVER and fault.choice > 0.3:
        # Somebody wonders why nothing happens and starts another driver.
        machine.start("resume")
    time.sleep(BEYOND_LEASE + fault.amount)
    send([chosen], signal.SIGCONT)
    return True


def release_stopped(folder: Path, *, orphans: bool = False) -> None:
    """Let everything go on that is stopped; a git without a driver only on request, since nobody would wake it."""
    found = find_processes(folder)
    known = {pid for pids in found.values() for pid in pids}
    for role, pids in found.items():
        send([pid for pid in pids if orphans or role != GIT_ROLE or read_parent(pid) in known], signal.SIGCONT)


def wait_role(folder: Path, role: str) -> list[int]:
    """The processes of a role, waited for a while."""
    wait_until(lambda: role in find_processes(folder))
    return find_processes(folder).get(role, [])


def wait_until(holds: Callable[[], bool], *, patience: float = PATIENCE) -> bool:
    """Look until something holds or patience is at its end; whether it holds."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK)
    return True


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
