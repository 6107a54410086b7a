"""What changed between two trees, as a script can play it again.

The rule: a patch holds everything exactly. Only a file with a secret in it is told otherwise: as its new text without
the secret, or, where it is not a text, not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from drumline.core.ids import Tree
from drumline.core.redaction import Redaction
from drumline.record import Record, field
from drumline.workspace.git import Git
from drumline.workspace.repository import exclude_path

PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
FULL = ("-p", "--binary", "--full-index", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/")
FILES = ("100644", "100755")
LINKS = "120000"


class Edits(Record):
    """Changes to files. `withheld` are paths whose content could not be told without its secrets."""

    patch: bytes = b""
    write: Mapping[str, str] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


class _Change(Record):
    """One path; an object's name is empty where there is no file."""

    path: str
    mode: str
    before: str
    after: str


async def read_edits(git: Git, before: Tree, after: Tree, *, redaction: Redaction, folder: str = "") -> Edits:
    """What leads from one tree to the other; with a `folder`, only what is below it, and named from there."""
    if before == after:
        return Edits()
    relative = (f"--relative={folder}",) if folder else ()
    raw = await git.run(
        "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", *relative, *PLAIN, before, after
    )
    changes = list(_parse(raw.items))
    contents = await _read_contents(git, [name for change in changes for name in (change.before, change.after) if name])
    told = [change for change in changes if _is_revealing(change, contents, redaction)]
    spared = [exclude_path(f"{folder}/{change.path}" if folder else change.path) for change in told]
    pathspec = ("--", ":(top)", *spared) if spared else ()
    patch = await git.run("diff-tree", "-r", *FULL, *relative, *PLAIN, before, after, *pathspec)
    return _tell(told, contents, redaction, patch.out)


def _parse(items: Sequence[str]) -> Iterator[_Change]:
    for head, path in zip(items[::2], items[1::2], strict=True):
        old_mode, mode, before, after, _ = head.removeprefix(":").split(" ")
        modes = (old_mode, mode)
        known = [
            name if kept in FILES or kept == LINKS else "" for kept, name in zip(modes, (before, after), strict=True)
        ]
        yield _Change(path=path, mode=mode, before=known[0], after=known[1])


async def _read_contents(git: Git, names: Sequence[str]) -> dict[str, bytes]:
    """The content of objects by their names."""
    wanted = list(dict.fromkeys(names))
    answered = (await git.run("cat-file", "--batch", text="".join(f"{name}\n" for name in wanted).encode())).out
    found: dict[str, bytes] = {}
    place = 0
    for name in wanted:
        end = answered.index(b"\n", place)
        size = int(answered[place:end].split(b" ")[2])
        found[name] = answered[end + 1 : end + 1 + size]
        place = end + size + 2
    return found


def _is_revealing(change: _Change, contents: Mapping[str, bytes], redaction: Redaction) -> bool:
    texts = [os.fsencode(change.path), *(contents[name] for name in (change.before, change.after) if name)]
    return any(redaction.is_revealing(text) for text in texts)


def _tell(told: Sequence[_Change], contents: Mapping[str, bytes], redaction: Redaction, patch: bytes) -> Edits:
    write: dict[str, str] = {}
    withheld: list[str] = []
    delete: list[str] = []
    for change in told:
        text = _read_text(contents.get(change.after, b""))
        if redaction.hide(change.path) != change.path or not change.path.isprintable():
            withheld.append(redaction.hide(change.path))
        elif not change.after:
            delete.append(change.path)
        elif text is None or change.mode not in FILES:
            withheld.append(change.path)
        else:
            write[change.path] = redaction.hide(text)
    return Edits(patch=patch, write=write, delete=tuple(delete), withheld=tuple(withheld))


def _read_text(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
