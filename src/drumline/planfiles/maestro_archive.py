"""Moves the state file of a finished session, and its documents, to where Maestro keeps finished ones.

The rule: nothing is overwritten and nothing else is moved. The state file goes last, so that a session whose move was
cut short is moved by the next run of it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from drumline.datatext import Data, Node, read_data
from drumline.planfiles.dataedit import Editor
from drumline.planfiles.drafts import put_file
from drumline.planfiles.maestro_data import Region
from drumline.planfiles.maestro_phases import find_phases
from drumline.planfiles.stepfile import replace_spans

STATE = "active-session.md"
ARCHIVE = "archive"
DOCUMENTS = ("design_document", "implementation_plan")
OVER = frozenset({"completed", "skipped"})
SESSION = re.compile(r"[A-Za-z0-9_-]{1,128}")
MOST_NAMES = 1_000


def is_over(root: Node) -> bool:
    """Whether every phase of a session is completed or skipped."""
    phases = find_phases(root)
    return phases is not None and bool(phases.items) and all(one.text("status") in OVER for one in phases.items)


def archive_session(file: Path, text: str, region: Region, *, repo: Path, beside: Sequence[Path]) -> str:
    """Move a session that is over; returns what people are told of it. `beside` are files that go with the state file.

    The caller holds the plan's lock. A file whose name is taken in the archive gets a number.
    """
    data = read_data(text, region.start, region.end)
    if not isinstance(data, Data) or not is_over(data.root):
        return ""
    session, open_ones = data.root.text("session_id"), _find_unreconciled(data.root)
    if not SESSION.fullmatch(session):
        return f"the session is not archived: its session_id {session!r} is not made of letters, digits, '_' and '-'"
    if open_ones:
        return (
            f"the session is not archived: {', '.join(open_ones)} still has to be reconciled (requires_reconciliation)"
        )
    editor, plans = Editor(text, data.root), file.parent.parent / "plans"
    for key in DOCUMENTS:
        found = _find_document(data.root.text(key), plans, repo)
        if found is not None:
            editor.set(data.root, key, _spell(_move(found, plans / ARCHIVE), data.root.text(key), repo))
    put_file(file, replace_spans(text, editor.spans).encode(), before=text.encode())
    (file.parent / f"{session}.design-gate.json").unlink(missing_ok=True)
    moved = _move(file, file.parent / ARCHIVE, name=f"{session}.md")
    for other in beside:
        if other.is_file():
            _move(other, moved.parent, name=moved.name + other.name.removeprefix(file.name))
    return f"the session is over and was moved to {moved.relative_to(repo).as_posix()}"


def _find_unreconciled(root: Node) -> list[str]:
    phases = find_phases(root)
    items = phases.items if phases is not None else ()
    flags = ((one, one.get("requires_reconciliation")) for one in items)
    return [f"phase {one.text('name') or '?'}" for one, flag in flags if flag is not None and flag.value is True]


def _find_document(named: str, plans: Path, repo: Path) -> Path | None:
    """A document that the session names, if it is a file that lies in its plans and not in the archive of these."""
    if not named or "\0" in named:
        return None
    for place in (repo / named, plans / Path(named).name):
        with contextlib.suppress(OSError, ValueError):
            inside = place.resolve().parent == plans.resolve() and plans.resolve().is_relative_to(repo)
            if inside and place.is_file() and not place.is_symlink():
                return place
    return None


def _spell(moved: Path, before: str, repo: Path) -> str:
    """The new place as the old one was spelled: from the root, or from the repository."""
    return str(moved) if Path(before).is_absolute() else moved.relative_to(repo).as_posix()


def _move(file: Path, folder: Path, *, name: str = "") -> Path:
    """Move a file into the folder under a name that is free; a link to it is made first, which overwrites nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    stem, dot, ending = (name or file.name).partition(".")
    for number in range(1, MOST_NAMES):
        target = folder / f"{stem}{f'-{number}' if number > 1 else ''}{dot}{ending}"
        with contextlib.suppress(FileExistsError):
            os.link(file, target, follow_symlinks=False)
            file.unlink()
            return target
    raise FileExistsError(f"{folder / (name or file.name)} and {MOST_NAMES} names like it are taken")
