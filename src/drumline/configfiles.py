"""The files that hold settings: the repository's `.drumline/config.toml`, and a person's own.

The rule: the repository's file is tracked and may be a stranger's; a person's own lies outside every repository.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from drumline.errors import InvalidInput
from drumline.late import import_late

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = import_late("tomllib")

CONFIG = Path(".drumline", "config.toml")
FLOWS = Path(".drumline", "flows")


def read_config(start: Path, top: Path) -> tuple[Mapping[str, object], Path | None]:
    """The nearest `.drumline/config.toml` from `start` up to `top`, with its path; empty and None if there is none."""
    here, last = start.resolve(), top.resolve()
    folders = [f for f in (here, *here.parents) if f.is_relative_to(last)] or [last]
    for folder in folders:
        path = folder / CONFIG
        if path.is_file():
            return _read_toml(path), path
    return {}, None


def has_own_flow(name: str, *, top: Path) -> bool:
    """Whether the repository has a flow of this name among its own."""
    files = (
        f"{name}/graph.yaml",
        f"{name}/graph.yml",
        f"{name}/flow.yaml",
        f"{name}/flow.yml",
        f"{name}.yaml",
        f"{name}.yml",
    )
    return any((top / FLOWS / file).is_file() for file in files)


def find_own_config(environ: Mapping[str, str]) -> Path:
    """Where a person's own settings are, for all repositories: `$XDG_CONFIG_HOME/drumline/config.toml`."""
    stated = Path(environ.get("XDG_CONFIG_HOME", ""))
    folder = stated if stated.is_absolute() else Path.home() / ".config"
    return folder / "drumline" / "config.toml"


def read_own_config(environ: Mapping[str, str]) -> Mapping[str, object]:
    """A person's own settings; empty if there are none."""
    path = find_own_config(environ)
    return _read_toml(path) if path.is_file() else {}


def _read_toml(path: Path) -> Mapping[str, object]:
    hint = f"correct {path} and try again"
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    try:
        return tomllib.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{path}:{line}: not UTF-8 text", hint=hint) from error
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else raw.count(b"\n") + 1
        raise InvalidInput(f"{path}:{line}: not TOML: {error}", hint=hint) from error
    except RecursionError as error:
        raise InvalidInput(f"{path}:1: nested too deeply", hint=hint) from error
