"""Moves the state file of a finished session, and its documents, to where Maestro keeps finished ones.

The rule: nothing is overwritten and nothing else is moved. A file gets its second name before it loses its first, and
the state file loses its own last. So the next run of a session whose move was cut short finishes it: two names of one
file say what is moved already.
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
    kept: list[Path] = []
    for key in DOCUMENTS:
        found = _find_document(data.root.text(key), plans, repo)
        if found is not None:
            kept.append(_name_again(found, plans / ARCHIVE))
            editor.set(data.root, key, _spell(kept[-1], data.root.text(key), repo))
    after = replace_spans(text, editor.spans)
    if after != text:
        put_file(file, after.encode(), before=text.encode())
    for document in kept:
        _drop_twins(document, plans)
    (file.parent / f"{session}.design-gate.json").unlink(missing_ok=True)
    moved = _name_again(file, file.parent / ARCHIVE, name=f"{session}.md")
    for other in beside:
        if other.is_file():
            _name_again(other, moved.parent, name=moved.name + other.name.removeprefix(file.name))
            other.unlink()
    file.unlink()
    return f"the session is over and was moved to {moved.relative_to(repo).as_posix()}"


def _find_unreconciled(root: Node) -> list[str]:
    phases = find_phases(root)
    items = phases.items if phases is not None else ()
    flags = ((one, one.get("requires_reconciliation")) for one in items)
    return [f"phase {one.text('name') or '?'}" for one, flag in flags if flag is not None and flag.value is True]


def _find_document(named: str, plans: Path, repo: Path) -> Path | None:
    """A document that the session names, if it is a file that lies in its plans or in the archive of these."""
    if not named or "\0" in named:
        return None
    folders = (plans, plans / ARCHIVE)
    for place in (repo / named, plans / Path(named).name):
        with contextlib.suppress(OSError, ValueError):
            inside = place.resolve().parent in [folder.resolve() for folder in folders]
            if inside and plans.resolve().is_relative_to(repo) and place.is_file() and not place.is_symlink():
                return place
    return None


def _spell(moved: Path, before: str, repo: Path) -> str:
    """The new place as the old one was spelled: from the root, or from the repository."""
    return str(moved) if Path(before).is_absolute() else moved.relative_to(repo).as_posix()


def _name_again(file: Path, folder: Path, *, name: str = "") -> Path:
    """Give the file a second name in the folder, one that is free; the name that it has there already is the one."""
    folder.mkdir(parents=True, exist_ok=True)
    stem, dot, ending = (name or file.name).partition(".")
    for number in range(1, MOST_NAMES):
        target = folder / f"{stem}{f'-{number}' if number > 1 else ''}{dot}{ending}"
        if target.exists() and target.samefile(file):
            return target
        with contextlib.suppress(FileExistsError):
            os.link(file, target, follow_symlinks=False)
            return target
    raise FileExistsError(f"{folder / (name or file.name)} and {MOST_NAMES} names like it are taken")


def _drop_twins(document: Path, plans: Path) -> None:
    """Remove the first names of a document that has its second one."""
    for other in plans.iterdir():
        if other.is_file() and not other.is_symlink() and other.samefile(document):
            other.unlink()
