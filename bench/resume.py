"""Taking up a large run that is nearly done: time until the first decision, memory, and how many files were parsed.

Every measurement is a process of its own, so that its peak of memory is its own. What it imports is not counted.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from bench.figures import Figure, take_turns
from bench.plans import PLAN, make_repository, read_plan, record_run, step_text, write_plan
from drumline.app.catalog import find_run, read_run
from drumline.core.commands import ClaimStep
from drumline.core.decide import decide
from drumline.core.edits import compare
from drumline.core.schedule import Surroundings
from drumline.engine.outbox import Outbox
from drumline.planfiles import dag, stepfile
from drumline.wiring import open_project
from drumline.wiring.services import open_services

ROOT = Path(__file__).resolve().parent.parent
LEFT = 10
"""Steps that are not done yet."""
EDITED = 3
"""Steps among them that somebody edited since the run was interrupted."""


def measure_resume(folder: Path, *, rounds: int, count: int) -> list[Figure]:
    """Build the state once, then let fresh processes find the first decision in it."""
    repo = make_repository(folder / "repo")
    build_state(repo, count)
    ours: list[Mapping[str, float]] = []
    theirs: list[Mapping[str, float]] = []

    def resume() -> float:
        ours.append(_in_process("resume", repo))
        return ours[-1]["seconds"]

    def reread() -> float:
        theirs.append(_in_process("reread", repo))
        return theirs[-1]["seconds"]

    values, references = take_turns(rounds, resume, reread)
    edit_some(repo, count)
    parsed = count_parsed_files(repo)
    reference = f"stat and read of {count + 1:,} files"
    return [
        Figure(
            name=f"resume of {count:,} steps, {count - LEFT:,} done",
            unit="s",
            values=values,
            reference=reference,
            references=references,
            target=3.0,
            note=f"after {EDITED} edits {parsed} files parsed",
        ),
        Figure(
            name="of it, reading the plan's files",
            unit="s",
            values=[found["files"] for found in ours],
            reference=reference,
            references=references,
        ),
        Figure(
            name="its peak of memory",
            unit="MB",
            values=[found["megabytes"] for found in ours],
            reference=reference,
            references=[found["megabytes"] for found in theirs],
        ),
    ]


def build_state(repo: Path, count: int) -> None:
    """A plan of `count` steps and the journal of a run that landed all but a few of them."""
    write_plan(repo, count, done=count - LEFT)
    store = open_project(repo).open_store()
    try:
        record_run(store, read_plan(repo), done=count - LEFT)
    finally:
        store.close()


def edit_some(repo: Path, count: int) -> None:
    """What a person may do while a run is interrupted."""
    for number in range(count - EDITED + 1, count + 1):
        edited = step_text(number).replace("Build part", "Build the part")
        (repo / PLAN / f"step-{number}.md").write_text(edited, encoding="utf-8")


def find_first_decision(repo: Path) -> float:
    """What a driver does before its first command: wiring, reading the run and the plan, deciding.

    Returns the seconds of it that went into reading the plan's files.
    """
    project = open_project(repo)
    store = project.open_store()
    run = read_run(store, find_run(store))
    services = open_services(project, store, run, started_at=0.0)
    known = run.reading()
    held = store.list_claims(run.id)
    Outbox(services=services).overdue(run, known.marks, held)
    began = time.perf_counter()
    reading = services.planfiles.read(known)
    spent = time.perf_counter() - began
    edits = compare(run, reading)
    around = Surroundings(
        claimed=frozenset(held),
        marks=reading.marks,
        now=services.clock.now(),
        stale_after=services.stale_claim,
        claim_times={},
    )
    commands = decide(run, around, slots=4)
    store.close()
    if not edits.events and not any(isinstance(command, ClaimStep) for command in commands):
        raise AssertionError(f"a step should be claimed now, not {commands}")
    return spent


def reread(repo: Path) -> float:
    """The reference: look at every file of the plan and read it; returns the bytes read."""
    total = 0.0
    for name in sorted(os.listdir(repo / PLAN)):  # noqa: PTH208 - the cheapest way is the reference
        path = f"{repo}/{PLAN}/{name}"
        size = os.stat(path).st_size  # noqa: PTH116 - the same
        with open(path, "rb") as file:  # noqa: PTH123 - the same
            total += len(file.read(size))
    return total


def count_parsed_files(repo: Path) -> int:
    """How many step files are parsed on the way to the first decision, found in a process of its own."""
    return int(_in_process("count", repo)["parsed"])


def _count_parsed(repo: Path) -> int:
    paths: list[str] = []
    parse = stepfile.parse_step

    def counting(text: str, path: str) -> object:
        paths.append(path)
        return parse(text, path)

    setattr(dag, "parse_step", counting)  # noqa: B010 - a counter around the real thing, in a process of its own
    find_first_decision(repo)
    return len(paths)


def _in_process(what: str, repo: Path) -> Mapping[str, float]:
    argv = [sys.executable, "-m", "bench.resume", what, str(repo)]
    ended = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(ended.stdout)
    return found


def main(what: str, repo: Path) -> None:
    """Measure one thing in this process and print it as JSON."""
    if what == "count":
        print(json.dumps({"parsed": _count_parsed(repo)}))
        return
    began = time.perf_counter()
    files = find_first_decision(repo) if what == "resume" else reread(repo)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "files": files, "megabytes": peak_megabytes()}))


def peak_megabytes() -> float:
    """The most memory this process had; Linux's `ru_maxrss` would count what its parent had when it forked."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
