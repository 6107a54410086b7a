"""`run-state.json` and `.branch` beside an implement.md in a folder of specs: what its other tools know a run by.

The rule: only a folder that those tools name (`.ai/specs/ID-SLUG`) gets them. A state that somebody else has written is
named before it is replaced, and ours goes when the plan is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from drumline.core.plaintext import count_noun
from drumline.core.plan import Problem, Severity
from drumline.core.vocabulary import RunStanding, StepStanding
from drumline.planfiles.drafts import put_file
from drumline.planfiles.source import read_bytes
from drumline.ports.planfiles import ProgressReport
from drumline.walltimes import parse_iso

STATE, BRANCH = "run-state.json", ".branch"
OTHER_RUN = "run_state"
"""The code of a warning about a run of another tool that may still be at work."""
OLD_OTHER_RUN = "old_run_state"
"""The code of one about a run that those tools would drop, too."""
SKILL = "drumline"
FEATURE = "feature/"
"""How those tools name the branch of a ticket, before the name of its folder."""
FRESH = 2 * 3600.0
"""Seconds after which those tools begin anew."""
MOST_FILES = 200
SPEC = re.compile(r"([0-9]+|[A-Za-z][A-Za-z0-9]*-[0-9]+)-.+")


def is_spec(folder: Path) -> bool:
    """Whether the folder is one of a ticket, as those tools make them."""
    return (
        folder.parent.name == "specs" and folder.parent.parent.name == ".ai" and SPEC.fullmatch(folder.name) is not None
    )


def write_state(folder: Path, progress: ProgressReport) -> None:
    """Bring both files up to date; a plan that is done has no state any more. The caller holds the plan's lock."""
    if progress.branch:
        _put(folder / BRANCH, f"{progress.branch}\n")
    if progress.state == RunStanding.DONE:
        if _read(folder).get("skill") == SKILL:
            (folder / STATE).unlink(missing_ok=True)
        return
    ticket = SPEC.fullmatch(folder.name)
    done = [step.step for step in progress.steps if step.state == StepStanding.DONE]
    working = [step.step for step in progress.steps if step.state == StepStanding.RUNNING]
    files = sorted({path for step in progress.steps for path in (*step.created, *step.modified, *step.deleted)})
    began = min((step.started for step in progress.steps if step.started), default=progress.now)
    state = {
        "skill": SKILL,
        "ticket": ticket[1] if ticket else "",
        "started": began,
        "phase": "step-all",
        "step": working[0] if working else None,
        "completed_phases": done,
        "last_action": f"run {progress.run} {progress.state}",
        "files_modified": files[:MOST_FILES],
    }
    _put(folder / STATE, json.dumps(state, ensure_ascii=False, indent=2) + "\n")


def find_foreign(folder: Path, path: str, now: float) -> Problem | None:
    """A warning about a run of another tool that the state tells of."""
    state = _read(folder)
    if not state or state.get("skill") == SKILL:
        return None
    began = parse_iso(str(state.get("started", "")))
    who = f"{state.get('skill') or 'another tool'} began this plan"
    at = f" at step {state['step']}" if state.get("step") else ""
    if began is not None and 0 <= now - began < FRESH:
        ago = count_noun(int((now - began) // 60), "minute")
        told = f"{who} {ago} ago{at} and may still be at work; a run begins from the marks in the plan"
        return _warning(OTHER_RUN, told, path)
    told = f"{who}{at} more than two hours ago; a run begins from the marks in the plan and replaces its state"
    return _warning(OLD_OTHER_RUN, told, path)


def _warning(code: str, message: str, path: str) -> Problem:
    return Problem(code=code, message=message, where=f"{path}/{STATE}", severity=Severity.WARNING)


def _put(file: Path, text: str) -> None:
    data = text.encode("utf-8")
    before = file.read_bytes() if file.is_file() and not file.is_symlink() else None
    if before != data:
        put_file(file, data, before=before)


def _read(folder: Path) -> Mapping[str, object]:
    data = read_bytes(folder / STATE, STATE) if (folder / STATE).exists() else b""
    try:
        found = json.loads(data) if isinstance(data, bytes) and data else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
