"""Settings of other tools that count where ours are silent, for plans of their formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from drumline.core.plan import Problem, Reading, Status
from drumline.core.roles import find_role
from drumline.core.vocabulary import FULL, OnConflict, Review
from drumline.record import replace

DISABLED = "MAESTRO_DISABLED_AGENTS"
REQUIRED = {"strict": "proved", "normal": "kept", "lenient": "none"}
"""The level that steps must reach, by the word for how strict validation is; other words are passed on."""
OVER = (Status.DONE, Status.SKIPPED)


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
    strictness = environ.get("MAESTRO_VALIDATION_STRICTNESS", "")
    given = {
        "on_conflict": OnConflict.ASK.value,
        "mode": environ.get("MAESTRO_EXECUTION_MODE", ""),
        "retries": environ.get("MAESTRO_MAX_RETRIES", ""),
        "jobs": environ.get("MAESTRO_MAX_CONCURRENT", ""),
        "require": REQUIRED.get(strictness.strip().casefold(), strictness),
    }
    return {key: value for key, value in given.items() if value}


def foreign_jobs(format: str, environ: Mapping[str, str]) -> dict[str, object]:
    """The part of those settings that a run does not pin when it begins: how much one process works on at once."""
    return {key: value for key, value in foreign_settings(format, environ).items() if key == "jobs"}


def refuse_disabled(reading: Reading, environ: Mapping[str, str]) -> Reading:
    """The reading with a problem for each phase that is still to do and whose agent the environment switches off."""
    if reading.plan.format != "maestro":
        return reading
    off = {_canonical(name) for name in environ.get(DISABLED, "").split(",") if name.strip()}
    found = [
        step
        for step in reading.plan.steps
        if _canonical(step.role) in off and (step.id not in reading.marks or reading.marks[step.id].status not in OVER)
    ]
    problems = tuple(
        Problem(
            code="disabled_agent",
            message=f"the agent {step.role!r} of {step.id} is switched off by {DISABLED}",
            where=f"{step.path}:{step.line}",
        )
        for step in found
    )
    return replace(reading, problems=(*reading.problems, *problems)) if problems else reading


def archives_sessions(environ: Mapping[str, str]) -> bool:
    """Whether a session is archived once all of its phases are over; the environment can ask for leaving it."""
    return environ.get("MAESTRO_AUTO_ARCHIVE", "").strip().casefold() != "false"


def _canonical(name: str) -> str:
    role = find_role(name)
    return role.name if role else name.strip().casefold()


def state_file(environ: Mapping[str, str]) -> str:
    """Where the environment says that the state file is, relative to the repository; empty if it does not."""
    folder = environ.get("MAESTRO_STATE_DIR", "")
    path = PurePosixPath(folder)
    if not folder or path.is_absolute() or ".." in path.parts:
        return ""
    return str(path / "state" / "active-session.md")
