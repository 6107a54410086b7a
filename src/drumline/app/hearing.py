"""What an agent at work told last, read from the end of its file. The rule: what cannot be read was not told."""

from __future__ import annotations

import os
from pathlib import Path

from drumline.isolation.transcripts import HAPPENINGS
from drumline.views.transcript import SPOKEN, Happened, read_happened

ENDING = 32 * 1024
"""Bytes of the end that are looked through."""


def hear_last(folder: Path) -> Happened | None:
    """The last thing that the agent at work in this folder of logs told; None if it told nothing yet."""
    try:
        with os.scandir(folder) as entries:
            files = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith(HAPPENINGS)]
        return _read_last(Path(max(files)[1])) if files else None
    except OSError:
        return None


def _read_last(file: Path) -> Happened | None:
    with file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - ENDING))
        lines = opened.read().decode("utf-8", "replace").split("\n")
    told = [one for one in read_happened(lines) if one.kind in SPOKEN]
    return told[-1] if told else None
