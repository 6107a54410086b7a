"""How wide the terminal is. The rule: as `shutil.get_terminal_size` says it, which takes longer to import."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def find_columns(otherwise: int, stream: TextIO | None = sys.__stdout__) -> int:
    """How many letters a line has: what `COLUMNS` says, else the terminal behind the stream."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size(stream.fileno() if stream else 1).columns or otherwise
    except (OSError, ValueError):
        return otherwise
