"""What it costs to know that a step did something: runs on bases and with the base's judge, against a run without them.

The suite and the agents sleep: what is measured is whether such runs find room beside the work.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

from bench.figures import Figure, clock, take_turns
from bench.plans import make_repository

SLOTS = 4
TARGET = 1.15
JUDGES = 4
"""Every how manyth step changes the script that judges it."""

_ROOT = "---\nplan_type: dag\nstatus: in-progress\n---\n# A plan to be measured\n"
_STEP = """---
id: step-{number}
name: Make part {number}
depends_on: []
status: ready
---
# step-{number}: Make part {number}

## Overview

Make the part.

### Success Criteria:

#### Automated Verification:

- [ ] it holds: `sh check-{number}.sh`
"""


def measure_proving(folder: Path, *, steps: int, suite: float) -> list[Figure]:
    """Seconds that a run takes with everything that proves its steps, and without; agents take twice the suite."""
    agent = 2 * suite
    drive = partial(_drive, folder, count(), steps=steps, suite=suite, agent=agent)
    proved, plain = take_turns(1, partial(drive, proving=True), partial(drive, proving=False))
    return [
        Figure(
            name=f"a run of {steps} steps, agents {agent:g} s, checks {suite:g} s, {SLOTS} slots",
            unit="s",
            values=proved,
            reference="without runs on bases and with the base's judge",
            references=plain,
            target=TARGET,
            note=f"every {JUDGES}th step changes its judge",
        )
    ]


def _drive(folder: Path, numbers: Iterator[int], *, steps: int, suite: float, agent: float, proving: bool) -> float:
    place = folder / f"run-{next(numbers)}"
    top = make_repository(place / "repo")
    plan = top / "plans" / "p"
    plan.mkdir(parents=True)
    (plan / "root.md").write_text(_ROOT, encoding="utf-8")
    rules = []
    for number in range(1, steps + 1):
        # An item that is not a command can never be proved: nothing is compared then.
        item = "" if proving else "- [ ] it looks right\n"
        (plan / f"step-{number}.md").write_text(_STEP.format(number=number) + item, encoding="utf-8")
        check = f"sleep {suite:g}; test -f part-{number}.txt\n"
        (top / f"check-{number}.sh").write_text(check, encoding="utf-8")
        more = f"; echo '# more' >> check-{number}.sh" if proving and number % JUDGES == 0 else ""
        work = f"sleep {agent:g}; echo {number} > part-{number}.txt{more}"
        rules.append(f"- match: {{step: step-{number}}}\n  run: {work!r}\n")
    (top / "agent.yaml").write_text("rules:\n" + "".join(rules), encoding="utf-8")
    for words in (("add", "--all"), ("-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "plan")):
        subprocess.run(["git", *words], cwd=top, check=True, capture_output=True)
    return clock(partial(_run, top, place))


def _run(top: Path, place: Path) -> None:
    env = {
        **os.environ,
        "HOME": str(place),
        "XDG_STATE_HOME": str(place / "state"),
        "DRUMLINE_SETUP": "true",
        "DRUMLINE_REQUIRE": "none",
        "DRUMLINE_REVIEW": "none",
        "DRUMLINE_CHECK_JOBS": str(SLOTS),
    }
    words = ("run", "plans/p", "--agent", "scripted:agent.yaml", "--mode", "parallel", "--jobs", str(SLOTS))
    argv = [sys.executable, "-m", "drumline", *words, "--autonomy", "autopilot"]
    ended = subprocess.run(argv, cwd=top, env=env, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stdout + ended.stderr)
