"""Start-up: whole processes against a bare interpreter that imports what any durable tool needs."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.figures import Figure, take_turns
from bench.idle import RUN
from bench.plans import PLAN, make_repository, read_plan, record_run, write_plan
from drumline.wiring import open_project

SMALL = 6
BARE = "import asyncio, sqlite3"


def measure_startup(folder: Path, *, rounds: int) -> list[Figure]:
    """`--version`, `--help`, `status` and `why` of a small run: processor time, which others hardly change."""
    repo = make_repository(folder / "small")
    write_plan(repo, SMALL, done=SMALL - 2)
    store = open_project(repo).open_store()
    record_run(store, read_plan(repo), done=SMALL - 2)
    store.close()
    working = _mark_one(folder, repo)
    drumline = [sys.executable, "-m", "drumline"]
    words = ("--version", "--help", "status", "why")
    works = [partial(_run, [*drumline, typed], repo) for typed in words]
    works += [partial(_run, [*drumline, typed], working) for typed in words[-2:]]
    works.append(partial(_run, [sys.executable, "-c", BARE], repo))
    for work in works:
        work()
    *taken, bare = take_turns(rounds, *works)
    reference = f'python -c "{BARE}"'
    return [
        Figure(
            name=f"drumline {typed}",
            unit="CPU ms",
            values=values,
            reference=reference,
            references=bare,
            target=2.5,
        )
        for typed, values in zip((*words, *(f"{typed}, a step in work" for typed in words[-2:])), taken, strict=True)
    ]


def _mark_one(folder: Path, repo: Path) -> Path:
    """The same run with a step in work: its file has marks that the journal's reading of the plan does not know."""
    working = shutil.copytree(repo, folder / "working")
    step = working / PLAN / f"step-{SMALL}.md"
    step.write_text(step.read_text().replace("status: ready", "status: claimed\nassignee: drumline/bench"))
    open_project(working).logs(RUN).mkdir(parents=True)  # as a driver does before an agent works
    return working


def _run(argv: Sequence[str], cwd: Path) -> float:
    """Milliseconds of processor time from start to end."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONWARNINGS": ""}
    before = _spent()
    subprocess.run(argv, cwd=cwd, env=env, check=True, capture_output=True)
    return (_spent() - before) * 1000


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
