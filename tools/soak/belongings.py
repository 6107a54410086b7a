"""What belongs to the user, and whether it is all there: files byte for byte, commits, branches, the index.

The rule: what the user's own action removes or changes is taken off the list at that moment, nothing else ever is.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.soak.machine import Machine

PLAN_NOTE = "note of the user"


@dataclass(kw_only=True, slots=True)
class Belongings:
    """Everything of the user's: files of the checkout and of the desk, commits, the branch they are on, the index."""

    files: dict[str, bytes] = field(default_factory=dict)
    commits: set[str] = field(default_factory=set)
    head: str = ""
    index: str = ""
    notes: list[str] = field(default_factory=list)
    """Sentences the user has written into the plan."""
    branch_given_up: bool = False
    """The user removed or moved the run branch after the run had ended."""


def take_stock(machine: Machine, belongings: Belongings) -> None:
    """Write down what there is now."""
    belongings.files = read_files(machine)
    belongings.head = machine.ask_git("symbolic-ref", "HEAD")
    belongings.index = read_index(machine)


def read_files(machine: Machine) -> dict[str, bytes]:
    """The files of the user's checkout and of the desk without git's and the plan's."""
    found: dict[str, bytes] = {}
    for top in (machine.repo, machine.folder / "desk"):
        for folder, inner, names in os.walk(top):
            inner[:] = [name for name in inner if name != ".git" and Path(folder, name) != top / "plans"]
            for name in set(names) - {".git"}:
                path = Path(folder, name)
                with suppress(FileNotFoundError):
                    found[path.relative_to(machine.folder).as_posix()] = path.read_bytes()
    return found


def read_index(machine: Machine) -> str:
    """What is staged, without the plan."""
    return machine.ask_git("diff", "--cached", "--raw", "--no-abbrev", "HEAD", "--", ".", ":!plans")


def find_losses(machine: Machine, belongings: Belongings) -> list[str]:
    """Everything of the user's that is not as it was, as sentences."""
    losses = []
    now = read_files(machine)
    for name, content in belongings.files.items():
        if name not in now:
            losses.append(f"the user's file {name} is gone")
        elif now[name] != content:
            losses.append(f"the user's file {name} has changed")
    losses += [f"the file {name} appeared in the user's checkout" for name in sorted(now.keys() - belongings.files)]
    if (head := machine.ask_git("symbolic-ref", "HEAD")) != belongings.head:
        losses.append(f"the user was on {belongings.head!r} and is on {head!r}")
    if read_index(machine) != belongings.index:
        losses.append("the user's index has changed")
    reachable = set(machine.ask_git("rev-list", "--all").split())
    losses += [f"the user's commit {commit} is not reachable" for commit in sorted(belongings.commits - reachable)]
    return losses + _find_lost_notes(machine.plan, belongings)


def take_merge(machine: Machine, belongings: Belongings, commit: str) -> None:
    """The user asked for this commit to be merged: its files are theirs now, byte for byte."""
    for name in machine.ask_git("ls-tree", "-r", "--name-only", commit).splitlines():
        path = (machine.repo / name).relative_to(machine.folder).as_posix()
        belongings.files[path] = machine.git("cat-file", "blob", f"{commit}:{name}").out.encode()


def _find_lost_notes(plan: Path, belongings: Belongings) -> list[str]:
    """Sentences of the user's that are not in the plan any more."""
    if not plan.exists():
        return []
    files = [plan] if plan.is_file() else sorted(path for path in plan.rglob("*") if path.is_file())
    text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
    return [f"the plan does not say {note!r} any more" for note in (PLAN_NOTE, *belongings.notes) if note not in text]
