"""Folders for the time of one piece of work. The rule: whoever begins finds it empty, also after a kill."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drumline.engine.transcripts import OWN


@contextmanager
def open_scratch(folder: Path) -> Iterator[Path]:
    """A folder for us alone, gone afterwards; what work that was killed left there goes first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=OWN, parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
