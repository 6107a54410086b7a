"""The git of a jailed agent in a worktree: a repository of its own that reads the objects of the person's.

The rule: it may do there what it likes, and nothing of it reaches the repository. Where it stands is read as text: no
git of ours ever runs by the configuration in there.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from drumline.core.secretlines import leave_out_secrets
from drumline.isolation.contained import read_contained
from drumline.isolation.homes import GITDIR, find_sealed
from drumline.patterns import compile_late
from drumline.record import Record, field

OURS = "drumline-"
"""How the names of git's records of our worktrees begin."""
FOLDER, POINTER, OBJECTS = "agent", "agent.git", "objects"
"""In such a record, which is emptied or goes together with the worktree."""
COPIED = ("packed-refs", "shallow")
REFS = ("heads", "tags", "remotes", "notes")
LINKED = ("hooks", "lfs", "modules")
"""What is only read: of the repository, or of the worktree."""
MOST_REFS = 20_000
"""Files of refs that are copied; a repository with more has packed them."""
LARGEST = 1 << 24
_ID = compile_late(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_INCLUDED = compile_late(r"^[ \t]*path[ \t]*=[ \t]*(?![\"~/%\s])", re.IGNORECASE | re.MULTILINE)
"""Before the path of a file that a configuration includes, relative to its own place."""


class Seat(Record):
    """What a program in a workspace writes to, what it may not write to, and what it finds in place of other paths."""

    writable: tuple[Path, ...] = ()
    sealed: tuple[Path, ...] = ()
    provided: dict[Path, Path] = field(default_factory=dict)


NO_SEAT = Seat()


def take_seat(workspace: Path, *, read_only: bool = False) -> Seat:
    """The seat of a program that a jail will hold. In a worktree of ours it has a git of its own, made if need be."""
    if read_only:
        return Seat(sealed=(workspace,))
    record = _find_record(workspace)
    if record is not None:
        with suppress(OSError):
            own = record / FOLDER
            if not (own / "HEAD").is_file():
                _make(own, record)
            (record / POINTER).write_text(f"{GITDIR}{own}\n", encoding="utf-8")
            return Seat(writable=(workspace, own), provided={workspace / ".git": record / POINTER})
    return Seat(writable=(workspace,), sealed=tuple(find_sealed(workspace)))


def is_of_agent(common_dir: Path) -> bool:
    """Whether a repository is one that was made for an agent."""
    record = common_dir.parent
    return (common_dir.name, record.parent.name) == (FOLDER, "worktrees") and record.name.startswith(OURS)


def find_objects(record: Path) -> Path:
    """The objects that an agent has made in a worktree; they may be anything."""
    return record / FOLDER / OBJECTS


def read_tip(record: Path) -> str | None:
    """The commit that the agent's own git stands on; empty if that cannot be told, None if it has no such git."""
    own = record / FOLDER
    if own.is_symlink() or not own.is_dir():
        return None
    said = _read(own, "HEAD").strip()
    if said.startswith("ref: "):
        ref = said.removeprefix("ref: ").strip()
        packed = dict(line.split(" ", 1)[::-1] for line in _read(own, "packed-refs").splitlines() if " " in line)
        # A name like `..` would lead out of the folder.
        said = (_read(own, ref) if ref.startswith("refs/") and ".." not in ref else "") or packed.get(ref, "")
    return said.strip() if _ID.fullmatch(said.strip()) else ""


def _read(own: Path, name: str) -> str:
    return (read_contained(own, name, limit=LARGEST) or b"").decode("utf-8", "replace")


def _find_record(workspace: Path) -> Path | None:
    """The record of a worktree of ours; None where refs are in tables, since only git can read its `HEAD` there."""
    try:
        text = (workspace / ".git").read_text(encoding="utf-8", errors="surrogateescape")
        record = Path(text.removeprefix(GITDIR).strip())
        named = (record / "gitdir").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return None
    ours = record.name.startswith(OURS) and record.parent.name == "worktrees"
    return record if ours and Path(named) == workspace / ".git" and not (record / "reftable").exists() else None


def _make(own: Path, record: Path) -> None:
    """Make the agent's git; its `HEAD` comes last, so that one that was not completed is made again."""
    shutil.rmtree(own, ignore_errors=True)
    common = record.parent.parent
    (own / OBJECTS / "info").mkdir(parents=True)
    (own / OBJECTS / "info" / "alternates").write_text(f"{common / OBJECTS}\n", encoding="utf-8")
    (own / "refs").mkdir()
    for name in COPIED:
        with suppress(FileNotFoundError):
            shutil.copyfile(common / name, own / name)
    for ref in _list_refs(common):
        (own / ref).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # packed, or gone, since it was listed
            shutil.copyfile(common / ref, own / ref)
    with suppress(FileNotFoundError):
        shutil.copytree(common / "info", own / "info", ignore=shutil.ignore_patterns("sparse-checkout", "grafts"))
    for name in LINKED:
        place = record / name if name == "modules" else common / name
        if place.is_dir():
            (own / name).symlink_to(place)
    config = (common / "config").read_text(encoding="utf-8", errors="surrogateescape")
    told = _INCLUDED.sub(lambda found: f"{found[0]}{common}/", leave_out_secrets(config))
    (own / "config").write_text(told, encoding="utf-8", errors="surrogateescape")
    with suppress(FileNotFoundError):
        shutil.copy2(record / "index", own / "index")
    shutil.copyfile(record / "HEAD", own / "HEAD")


def _list_refs(common: Path) -> Iterator[str]:
    """The files of the person's refs, by their names."""
    walked = (entry for kind in REFS for entry in os.walk(common / "refs" / kind))
    files = (Path(folder, name) for folder, _names, names in walked for name in names)
    return (str(file.relative_to(common)) for file in islice(files, MOST_REFS))
