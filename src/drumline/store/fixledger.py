"""Ledgers of fixes and runs: one JSON object per line, only ever appended to.

The rule: a line is known by its key and is there once. The line that a dead process has cut off counts as not written.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from drumline.core.ids import RunId, StepId
from drumline.core.learned import Fix
from drumline.core.lessons import MOST_REMEDY, MOST_SIGNATURE, clean_line
from drumline.isolation.transcripts import OWN
from drumline.ports.lessons import FixRow, RunRow

SUCCESS, FAILED, FORGOTTEN = "success", "failed", "forgotten"
MOST_ROWS = 20_000
"""Lines that are looked at, the newest."""
FOREIGN = RunId("")
"""The run of a line that another tool has written."""
Raw = Mapping[str, object]
Key = tuple[str, ...]


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Let one process at a time write below the folder."""
    folder.mkdir(mode=OWN, parents=True, exist_ok=True)
    with (folder / "lock").open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def read_lines(file: Path) -> list[Raw]:
    """The objects in a ledger; a line that is not one is passed over."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [raw for line in text.splitlines()[-MOST_ROWS:] if (raw := _parse(line)) is not None]


def _parse(line: str) -> Raw | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def append_lines(file: Path, rows: Iterable[Raw], key: Callable[[Raw], Key]) -> None:
    """Append the rows whose key is not there yet, and return once that would survive a power cut."""
    known = {key(raw) for raw in read_lines(file)}
    new = [row for row in rows if key(row) not in known]
    if not new:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(file, flags, 0o600), "ab+") as out:
        cut = out.seek(0, os.SEEK_END) > 0 and not _ends_line(file)
        told = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in new)
        out.write((("\n" if cut else "") + told).encode("utf-8", "replace"))
        out.flush()
        os.fsync(out.fileno())


def _ends_line(file: Path) -> bool:
    with file.open("rb") as found:
        found.seek(-1, os.SEEK_END)
        return found.read(1) == b"\n"


def spell_fix(row: FixRow) -> Raw:
    """A line of `fixes.jsonl`."""
    fix = row.fix
    return {
        "timestamp": row.at,
        "ticket": row.ticket,
        "step": row.step,
        "error_type": fix.signature,
        "fix_description": fix.remedy,
        "result": SUCCESS if fix.success else FAILED,
        "run": row.run,
        "n": row.number,
        "check": fix.check,
        "class": fix.failure,
        "lesson": fix.lesson,
    }


def spell_run(row: RunRow, flow: str) -> Raw:
    """A line of `runs.jsonl`."""
    return {
        "timestamp": row.at,
        "ticket": row.ticket,
        "flow": flow,
        "total_steps": row.total_steps,
        "steps_completed": row.steps_completed,
        "fix_attempts": {"succeeded": row.fixes[0], "failed": row.fixes[1]},
        "heal_cycles": {"succeeded": row.heals[0], "failed": row.heals[1]},
        "step_titles": list(row.step_titles),
        "run": row.run,
        "state": row.state,
    }


def key_fix(raw: Raw) -> Key:
    """What a line of `fixes.jsonl` is known by."""
    return str(raw.get("run", "")), str(raw.get("step", "")), str(raw.get("n", "")), str(raw.get("result") == FORGOTTEN)


def key_run(raw: Raw) -> Key:
    """What a line of `runs.jsonl` is known by: a run that ends once more with another result gets another."""
    return tuple(str(raw.get(name, "")) for name in ("run", "state", "steps_completed", "total_steps"))


def read_fix(raw: Raw) -> FixRow | None:
    """The line as a row; None if it says nothing about a fix, be it another tool's."""
    said = raw.get("result")
    signature, remedy = raw.get("error_type"), raw.get("fix_description")
    if said not in (SUCCESS, FAILED) or not isinstance(signature, str) or not isinstance(remedy, str):
        return None
    number = raw.get("n")
    return FixRow(
        run=RunId(str(raw.get("run", FOREIGN))),
        step=StepId(str(raw.get("step", ""))),
        number=number if isinstance(number, int) else 0,
        ticket=str(raw.get("ticket", "")),
        at=str(raw.get("timestamp", "")),
        fix=Fix(
            check=str(raw.get("check", "")),
            failure=str(raw.get("class", "")),
            signature=clean_line(signature, MOST_SIGNATURE),
            remedy=clean_line(remedy, MOST_REMEDY),
            success=said == SUCCESS,
            lesson=str(raw.get("lesson", "")),
        ),
    )
