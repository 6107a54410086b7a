"""Start-up: whole processes against a bare interpreter that imports what any durable tool needs."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.figures import Figure, take_turns
from bench.plans import make_repository, read_plan, record_run, write_plan
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
    drumline = [sys.executable, "-m", "drumline"]
    words = (("--version",), ("--help",), ("status",), ("why",))
    argvs = [*([*drumline, *typed] for typed in words), [sys.executable, "-c", BARE]]
    works = [partial(_run, argv, repo) for argv in argvs]
    for work in works:
        work()
    *taken, bare = take_turns(rounds, *works)
    reference = f'python -c "{BARE}"'
    return [
        Figure(
            name=f"drumline {' '.join(typed)}",
            unit="CPU ms",
            values=values,
            reference=reference,
            references=bare,
            target=2.5,
        )
        for typed, values in zip(words, taken, strict=True)
    ]


def _run(argv: Sequence[str], cwd: Path) -> float:
    """Milliseconds of processor time from start to end."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONWARNINGS": ""}
    before = _spent()
    subprocess.run(argv, cwd=cwd, env=env, check=True, capture_output=True)
    return (_spent() - before) * 1000


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
