"""Settings of other tools that count where ours are silent, for plans of their formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from drumline.core.vocabulary import FULL, OnConflict, Review


def foreign_settings(format: str, environ: Mapping[str, str]) -> dict[str, object]:
    """What a format stands for, and what the environment says in another tool's words.

    What that tool would not accept is passed on as it is.
    """
    if format == "phased":
        return {"rigor": FULL}
    if format == "waves":
        return {"review": Review.ALL.value}
    if format != "maestro":
        return {}
    given = {
        "on_conflict": OnConflict.ASK.value,
        "mode": environ.get("MAESTRO_EXECUTION_MODE", ""),
        "retries": environ.get("MAESTRO_MAX_RETRIES", ""),
        "jobs": environ.get("MAESTRO_MAX_CONCURRENT", ""),
    }
    return {key: value for key, value in given.items() if value}


def foreign_jobs(format: str, environ: Mapping[str, str]) -> dict[str, object]:
    """The part of those settings that a run does not pin when it begins: how much one process works on at once."""
    return {key: value for key, value in foreign_settings(format, environ).items() if key == "jobs"}


def state_file(environ: Mapping[str, str]) -> str:
    """Where the environment says that the state file is, relative to the repository; empty if it does not."""
    folder = environ.get("MAESTRO_STATE_DIR", "")
    path = PurePosixPath(folder)
    if not folder or path.is_absolute() or ".." in path.parts:
        return ""
    return str(path / "state" / "active-session.md")
