"""A step that writes one file in a large repository, against doing the same by hand with git."""

from __future__ import annotations

import subprocess
from functools import partial
from itertools import count
from pathlib import Path

from bench.figures import Figure, clock, take_turns
from bench.planruns import Task, drive, write_project
from bench.plans import make_repository, write_files

MORE = 4
"""Further steps of a run, whose share is that of a step for which a worktree is there."""
TARGET, WARM = 1.5, 0.5
GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost")


def measure_one_file(folder: Path, *, files: int, rounds: int) -> list[Figure]:
    """Seconds of a run of one step, and of each further step, beside the four commands of git."""
    numbers = count()
    whole, five, hand = take_turns(
        rounds,
        partial(_drive, folder, numbers, files, 1),
        partial(_drive, folder, numbers, files, 1 + MORE),
        partial(_do_by_hand, folder, numbers, files),
    )
    name, reference = f"a step that writes one file among {files:,}", "git worktree add, add, commit, merge --ff-only"
    return [
        Figure(
            name=f"{name}: the whole command",
            unit="s",
            values=whole,
            reference=reference,
            references=hand,
            target=TARGET,
            note="from `drumline run` to its end",
        ),
        Figure(
            name=f"{name}: a further step",
            unit="s",
            values=[(many - one) / MORE for many, one in zip(five, whole, strict=True)],
            reference=reference,
            references=hand,
            target=WARM,
            note=f"a run of {1 + MORE} steps less one of 1, by {MORE}",
        ),
    ]


def _make(folder: Path, numbers: count[int], files: int) -> Path:
    top = make_repository(folder / f"{next(numbers)}" / "repo")
    write_files(top, files)
    return top


def _drive(folder: Path, numbers: count[int], files: int, steps: int) -> float:
    tasks = [Task(name=f"step-{n}", seconds=0.0, needs=(f"step-{n - 1}",) if n else ()) for n in range(steps)]
    return drive(write_project(_make(folder, numbers, files), tasks), jobs=1, check_jobs=1, mode="sequential")


def _do_by_hand(folder: Path, numbers: count[int], files: int) -> float:
    top = write_project(_make(folder, numbers, files), [Task(name="step-0", seconds=0.0)])
    return clock(partial(_work, top, top.parent / "worktree"))


def _work(top: Path, worktree: Path) -> None:
    def run(*words: str, cwd: Path) -> None:
        subprocess.run([*GIT, *words], cwd=cwd, check=True, capture_output=True)

    run("worktree", "add", "-q", "-b", "work", str(worktree), cwd=top)
    (worktree / "part-step-0.txt").write_text("step-0\n", encoding="utf-8")
    run("add", "part-step-0.txt", cwd=worktree)
    run("commit", "-q", "-m", "work", cwd=worktree)
    run("merge", "-q", "--ff-only", "work", cwd=top)
