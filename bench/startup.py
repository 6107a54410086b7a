"""Start-up: whole processes against a bare interpreter that imports what any durable tool needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.figures import Figure, clock, take_turns
from bench.plans import make_repository, read_plan, record_run, write_plan
from drumline.wiring import open_site

SMALL = 6
BARE = "import asyncio, sqlite3"


def measure_startup(folder: Path, *, rounds: int) -> list[Figure]:
    """`drumline --version` and `drumline status` of a small run."""
    repo = make_repository(folder / "small")
    write_plan(repo, SMALL, done=SMALL - 2)
    store = open_site(repo).open_store()
    record_run(store, read_plan(repo), done=SMALL - 2)
    store.close()
    drumline = [sys.executable, "-m", "drumline"]
    argvs = [[*drumline, "--version"], [*drumline, "status"], [sys.executable, "-c", BARE]]
    works = [partial(_run, argv, repo) for argv in argvs]
    for work in works:
        work()
    version, status, bare = take_turns(rounds, *works)
    reference = f'python -c "{BARE}"'
    return [
        Figure(name="drumline --version", unit="ms", values=version, reference=reference, references=bare, target=2.5),
        Figure(name="drumline status, small run", unit="ms", values=status, reference=reference, references=bare),
    ]


def _run(argv: Sequence[str], cwd: Path) -> float:
    """Milliseconds from start to end."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONWARNINGS": ""}
    return clock(lambda: subprocess.run(argv, cwd=cwd, env=env, check=True, capture_output=True)) * 1000
