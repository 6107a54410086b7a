"""Sets a repository up: the tracked folder `.drumline/` with a configuration that explains itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol


class Row(Protocol):
    """A row of the settings table."""

    @property
    def key(self) -> str:
        """Its name in the file."""
        ...

    @property
    def default(self) -> str:
        """Its default as people write it."""
        ...

    @property
    def help(self) -> str:
        """What it does, in a sentence."""
        ...


def write_config(top: Path, rows: Iterable[Row]) -> Path | None:
    """Write `.drumline/config.toml` with every setting commented out; None if there is one, which stays as it is."""
    path = top / ".drumline" / "config.toml"
    if path.exists():
        return None
    path.parent.mkdir(exist_ok=True)
    lines = ["# Settings of Drumline for this repository. A flag or a DRUMLINE_* variable overrules them.", ""]
    for row in rows:
        lines += [f"# {row.help}", f"# {row.key} = {_toml(row)}", ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _toml(row: Row) -> str:
    if row.key == "checks":
        return "[]"
    return row.default if row.default.isdigit() else f'"{row.default}"'
