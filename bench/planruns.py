"""Runs of plans by the command line whose agents and checks sleep: what is left is what the engine adds.

The plan's text says what its agents do; the journal says when it was done.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from bench.figures import clock
from bench.plans import make_repository
from drumline.core.recorded import Recorded
from drumline.record import Record
from drumline.store.sqlite import SqliteStore

PLAN = "plans/p"
_ROOT = "---\nplan_type: dag\nstatus: in-progress\n---\n# A plan to be measured\n"
_STEP = """---
id: {name}
name: Make {name}
depends_on: [{needs}]
estimate: {estimate:.6f}
status: ready
---
# {name}: Make {name}

## Overview

Make the part.

### Success Criteria:

#### Automated Verification:

- [ ] it holds: `{check}`
"""


class Task(Record):
    """A step: its agent sleeps for so many `seconds` and writes a file of its own, `more` is a shell command then.

    `again` is the command of the attempts that follow the first one. Unless it is `compared`, it has an item that is
    not a command: such a step can never be proved, and nothing is run on its base.
    """

    name: str
    seconds: float
    needs: tuple[str, ...] = ()
    check: str = ""
    more: str = ""
    again: str = ""
    compared: bool = True

    @property
    def file(self) -> str:
        """The file that it makes."""
        return f"part-{self.name}.txt"


def write_project(top: Path, tasks: Sequence[Task]) -> Path:
    """A repository with the plan and with the script of its agents, committed; returns its folder."""
    if not top.exists():
        make_repository(top)
    plan = top / PLAN
    plan.mkdir(parents=True)
    (plan / "root.md").write_text(_ROOT, encoding="utf-8")
    rules = []
    for task in tasks:
        check = task.check or f"test -f {task.file}"
        hours = max(task.seconds, 1.0) / 3600
        text = _STEP.format(name=task.name, needs=", ".join(task.needs), estimate=hours, check=check)
        item = "" if task.compared else "- [ ] it looks right\n"
        (plan / f"{task.name}.md").write_text(text + item, encoding="utf-8")
        work = f"sleep {task.seconds:g}; echo {task.name} > {task.file}" + (f"; {task.more}" if task.more else "")
        rules.append(f"- match: {{step: {task.name}, attempt: 1}}\n  run: {work!r}\n")
        rules.append(f"- match: {{step: {task.name}}}\n  run: {(task.again or 'true')!r}\n")
    (top / "agent.yaml").write_text("rules:\n" + "".join(rules), encoding="utf-8")
    for words in (("add", "--all"), ("-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "plan")):
        subprocess.run(["git", *words], cwd=top, check=True, capture_output=True)
    return top


def drive(top: Path, *, jobs: int, check_jobs: int, mode: str = "parallel") -> float:
    """Seconds that a run of the plan takes, from the command to its end; RuntimeError if it does not end well."""
    env = {
        **os.environ,
        "HOME": str(top.parent),
        "XDG_STATE_HOME": str(top.parent / "state"),
        "DRUMLINE_REQUIRE": "none",
        "DRUMLINE_REVIEW": "none",
        "DRUMLINE_CHECK_JOBS": str(check_jobs),
    }
    words = ("run", PLAN, "--agent", "scripted:agent.yaml", "--mode", mode, "--jobs", str(jobs))
    return clock(partial(_run, [sys.executable, "-m", "drumline", *words, "--autonomy", "autopilot"], top, env))


def _run(argv: Sequence[str], top: Path, env: dict[str, str]) -> None:
    ended = subprocess.run(argv, cwd=top, env=env, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stdout + ended.stderr)


def read_journal(top: Path) -> Sequence[Recorded]:
    """Everything that the run recorded, in its order."""
    with closing(SqliteStore.open(top / ".git" / "drumline" / "state.db")) as store:
        return store.tail(store.runs()[-1])
