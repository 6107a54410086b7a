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
FOLDER, DRAFT, POINTER, OBJECTS = "agent", "agent.new", "agent.git", "objects"
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
                _make(own, record, workspace)
            (record / POINTER).write_text(f"{GITDIR}{own}\n", encoding="utf-8")
            return Seat(writable=(workspace, own), provided={workspace / ".git": record / POINTER})
    return Seat(writable=(workspace,), sealed=tuple(find_sealed(workspace)))


def is_of_agent(common_dir: Path) -> bool:
    """Whether a repository is one that was made for an agent."""
    record = common_dir.parent
    return (common_dir.name, record.parent.name) == (FOLDER, "worktrees") and record.name.startswith(OURS)


def lend_objects(record: Path) -> dict[str, str]:
    """Lets a git read the objects that an agent has made in a worktree, too; they may be anything."""
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quote(record / FOLDER / OBJECTS)}  # a colon would part it


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


def _make(own: Path, record: Path, workspace: Path) -> None:
    """Make the agent's git: aside, so that nothing an agent left in its place is written through, and all at once."""
    shutil.rmtree(own, ignore_errors=True)
    made = own.with_name(DRAFT)
    shutil.rmtree(made, ignore_errors=True)
    common = record.parent.parent
    (made / OBJECTS / "info").mkdir(parents=True)
    (made / OBJECTS / "info" / "alternates").write_text(f"{common / OBJECTS}\n", encoding="utf-8")
    _copy_refs(common, made)
    with suppress(FileNotFoundError):
        shutil.copytree(common / "info", made / "info", ignore=shutil.ignore_patterns("sparse-checkout", "grafts"))
    for name in LINKED:
        place = record / name if name == "modules" else common / name
        if place.is_dir():
            (made / name).symlink_to(place)
    config = (common / "config").read_text(encoding="utf-8", errors="surrogateescape")
    told = _INCLUDED.sub(lambda found: f"{found[0]}{common}/", leave_out_secrets(config))
    (made / "config").write_text(f"{told}\n{_describe(workspace)}", encoding="utf-8", errors="surrogateescape")
    with suppress(FileNotFoundError):
        shutil.copy2(record / "index", made / "index")
    shutil.copyfile(record / "HEAD", made / "HEAD")
    made.rename(own)


def _describe(workspace: Path) -> str:
    """What git takes no notice of in a linked worktree, which this is not: `bare`, and another place of the files."""
    return f"[core]\n\tbare = false\n\tworktree = {_quote(workspace)}\n"


def _quote(path: Path) -> str:
    """A path as git reads it in quotation marks."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _copy_refs(common: Path, made: Path) -> None:
    (made / "refs").mkdir()
    for name in COPIED:
        with suppress(FileNotFoundError):
            shutil.copyfile(common / name, made / name)
    for ref in _list_refs(common):
        (made / ref).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # packed, or gone, since it was listed
            shutil.copyfile(common / ref, made / ref)


def _list_refs(common: Path) -> Iterator[str]:
    """The files of the person's refs, by their names."""
    walked = (entry for kind in REFS for entry in os.walk(common / "refs" / kind))
    files = (Path(folder, name) for folder, _names, names in walked for name in names)
    return (str(file.relative_to(common)) for file in islice(files, MOST_REFS))
