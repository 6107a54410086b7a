"""Sets a repository up: the tracked folder `.drumline/` with a configuration that explains itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from drumline.settings import Setting


def write_config(top: Path, rows: Iterable[Setting]) -> Path | None:
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


def _toml(row: Setting) -> str:
    if row.key == "checks":
        return "[]"
    return row.default if row.default.isdigit() else f'"{row.default}"'
