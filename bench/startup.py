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

SMALL, LARGE = 6, 500
BARE = "import asyncio, sqlite3"


def measure_startup(folder: Path, *, rounds: int) -> list[Figure]:
    """`--version`, `--help`, `status` and `why` of small and large runs: processor time, which others hardly change."""
    small, large = (_begin(folder / str(steps), steps) for steps in (SMALL, LARGE))
    working, crowded = _mark_one(small, SMALL), _mark_one(large, LARGE)
    looks = ("status", "why")
    typed = [(word, small, word) for word in ("--version", "--help", *looks)]
    typed += [(word, working, f"{word}, a step in work") for word in looks]
    typed += [(word, crowded, f"{word}, a step of {LARGE} in work") for word in looks]
    works = [partial(_run, [sys.executable, "-m", "drumline", word], repo) for word, repo, _ in typed]
    works.append(partial(_run, [sys.executable, "-c", BARE], small))
    for work in works:
        work()
    *taken, bare = take_turns(rounds, *works)
    reference = f'python -c "{BARE}"'
    return [
        Figure(
            name=f"drumline {name}",
            unit="CPU ms",
            values=values,
            reference=reference,
            references=bare,
            target=2.5,
        )
        for (_, _, name), values in zip(typed, taken, strict=True)
    ]


def _begin(repo: Path, steps: int) -> Path:
    """A repository with a run of so many steps, of which all but two are done."""
    make_repository(repo)
    write_plan(repo, steps, done=steps - 2)
    store = open_project(repo).open_store()
    record_run(store, read_plan(repo), done=steps - 2)
    store.close()
    return repo


def _mark_one(repo: Path, last: int) -> Path:
    """The same run with its last step in work: that file has marks that the journal's reading does not know."""
    working = shutil.copytree(repo, repo.with_name(f"{last}-working"))
    step = working / PLAN / f"step-{last}.md"
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
