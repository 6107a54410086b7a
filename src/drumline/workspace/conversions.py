"""Files that git converts on their way in and out: `ident`, an encoding, ends of lines.

What lies in a workspace may then differ from what a checkout of its tree gives. The rule: checks see what a checkout
gives. Filters of programs, such as those of Git LFS, are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from drumline.patterns import compile_late
from drumline.workspace.git import Git

ATTRIBUTES = ".gitattributes"
ENCODING = "working-tree-encoding"
_CONVERTS = compile_late(r"\b(?:ident|working-tree-encoding|eol|crlf|text)\b")
_NAMES = ("ident", ENCODING, "eol", "crlf", "text")
_UNSET = ("unspecified", "unset")


async def restore_converted(git: Git, root: Path, changed: Iterable[str]) -> None:
    """Give those of the changed files that git converts the content that a checkout gives them.

    The index has the tree that is meant.
    """
    paths = [path for path in changed if _may_be_converted(root, path)]
    if not paths:
        return
    words = (await git.run("check-attr", "-z", "--stdin", *_NAMES, text=_join(paths))).items
    converted = {path for path, value in zip(words[::3], words[2::3], strict=True) if value not in _UNSET}
    there = [path for path in paths if path in converted and (root / path).is_file()]
    if not there:
        return
    for path in there:
        (root / path).unlink()  # else git takes a file that looks unchanged for one that is right
    await git.run("checkout-index", "--force", "--index", "-z", "--stdin", text=_join(there))


def _may_be_converted(root: Path, path: str) -> bool:
    """Whether attributes above a file speak of a conversion, and it has something to be converted."""
    folders = [root / folder for folder in PurePosixPath(path).parents]
    spoken = {
        word for folder in folders for word in _CONVERTS.findall(_read(folder / ATTRIBUTES).decode("utf-8", "replace"))
    }
    if not spoken or ENCODING in spoken:
        return bool(spoken)
    content = _read(root / path)
    return b"\r\n" in content or b"$Id" in content


def _read(file: Path) -> bytes:
    with suppress(OSError):
        return file.read_bytes()
    return b""


def _join(paths: Sequence[str]) -> bytes:
    return "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
