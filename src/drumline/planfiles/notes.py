"""Notes that people and agents keep beside a plan: the newest of them in prompts, and what steps add to them."""

from __future__ import annotations

import re
from pathlib import Path

from drumline.core.documents import digest_document
from drumline.core.plan import Problem
from drumline.errors import InvalidInput
from drumline.planfiles.drafts import put_file
from drumline.planfiles.source import BOM, NEWLINE, decode, read_bytes

NOTES = "NOTES.md"
_FROM = re.compile(r"\s*\(step [^()\s]+, run [^()\s]+\)$")
MAX_NOTES = 8_000
"""Characters of the notes in a prompt: about 2,000 tokens."""


def append_notes(file: Path, text: str) -> str:
    """Add the lines of the text that the notes do not have yet, wherever they come from; the digest of the text.

    What is there stays, byte for byte. The caller holds the plan's lock.
    """
    if file.is_symlink() or (file.exists() and not file.is_file()):
        raise InvalidInput(f"{file.name} is not a file of the plan", hint="make it a file, then: drumline resume")
    before = file.read_bytes() if file.exists() else None
    known = (before or b"").decode("utf-8", "surrogateescape")
    there = {_normalise(line) for line in known.splitlines()}
    new = [line for line in text.splitlines() if _normalise(line) not in there]
    if new:
        newline = "\r\n" if "\r\n" in known else "\n"
        gap = newline if known and not known.endswith("\n") else ""
        data = known + gap + "".join(f"{line}{newline}" for line in new)
        put_file(file, data.encode("utf-8", "surrogateescape"), before=before)
    return digest_document(text)


def _normalise(line: str) -> str:
    """A note without its mark, where it comes from, and how it is spaced."""
    return " ".join(_FROM.sub("", line.strip().lstrip("-*+ ")).casefold().split()).rstrip(".")


def tell_notes(text: str | None) -> str:
    """What a prompt says of the notes; nothing without any."""
    notes = NEWLINE.sub("\n", text or "").removeprefix(BOM).strip()
    if not notes:
        return ""
    cut = len(notes) - MAX_NOTES
    left_out = f"(the first {cut} characters of {NOTES} are left out here)\n\n" if cut > 0 else ""
    return f"\n\n# Notes of the plan ({NOTES})\n\n{left_out}{notes[-MAX_NOTES:]}\n"


def find_notes(plan: Path, *, repo: Path) -> Path | None:
    """Where the notes beside a plan of one file are; at the top of the repository they are not the plan's."""
    return None if plan.parent == repo else plan.with_name(NOTES)


def read_notes(plan: Path, *, repo: Path) -> str:
    """What a prompt says of the notes beside a plan of one file.

    Notes at the top of the repository are about all of it, so they are not the plan's.
    """
    place = find_notes(plan, repo=repo)
    if place is None:
        return ""
    data = read_bytes(place, NOTES)
    text = data if isinstance(data, Problem) else decode(data, NOTES)
    return "" if isinstance(text, Problem) else tell_notes(text)
