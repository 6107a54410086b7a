"""Mutants of what a step changed: those that its checks do not notice are named, and lower its level where asked."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    PLAN,
    User,
    leaving_nothing,
    make_user,
    processes_of,
    step_of,
    step_text,
    wait_for,
    write_plan,
)
from tests.acceptance.liescenes import FILES, RIGHT, UNSEEN, act

from drumline.core.events import Event, MutantsTried, StepFinished, StepStarted
from drumline.store.sqlite import SqliteStore

LINES = {"hard-coded input": "calc.py:2", "always-equal object": "tests/test_calc.py:8"}
LINES["assertions patched"] = LINES["always-equal object"]
HANGS = 'test -z "$DRUMLINE_LINES" || sleep 60; make test'
"""Takes long only where it is asked which lines it executes: before the first mutant."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with leaving_nothing(tmp_path):
        yield tmp_path


def configure(mutants: str) -> dict[str, str]:
    return {**FILES, ".drumline/config.toml": f'mutants = "{mutants}"\n'}


def events_of(user: User) -> list[Event]:
    store = SqliteStore.open(user.repo / ".git" / "drumline" / "state.db", read_only=True)
    try:
        return [entry.event for entry in store.tail(store.runs()[-1])]
    finally:
        store.close()


def list_left(user: User) -> list[str]:
    """Worktrees and scratches."""
    state = user.folder / "home" / "state" / "drumline"
    scratches = [*(user.repo / ".git" / "drumline" / "runs").glob("*/*/*.tmp")]
    worktrees = [path for path in state.glob("*/worktrees/*/*") if path.is_dir() and path.parent.suffix != ".aside"]
    return [str(path) for path in (*worktrees, *scratches)]


@pytest.mark.parametrize("lie", UNSEEN)
def test_work_that_knows_what_its_tests_ask_is_named_with_the_line(folder: Path, lie: str) -> None:
    deed, check = UNSEEN[lie]

    user = act(folder, deed, check=check, files=configure("show"))

    step = step_of(user.status(), "step-1")
    mutants = step["mutants"]
    assert isinstance(mutants, dict)
    named = [f"{survivor['path']}:{survivor['line']}" for survivor in mutants["survivors"]]
    assert LINES[lie] in named
    assert LINES[lie] in user.type("why", "step-1").out
    assert user.status()["state"] == "done"


@pytest.mark.parametrize("lie", UNSEEN)
def test_where_mutants_are_a_gate_it_is_kept_and_nobody_is_asked(folder: Path, lie: str) -> None:
    deed, check = UNSEEN[lie]

    user = act(folder, deed, check=check, files=configure("gate"))

    assert step_of(user.status(), "step-1")["proof"] == {"level": "kept", "why": ["survivors"]}
    assert user.status()["state"] == "done"


@pytest.mark.long
def test_a_step_that_its_file_flags_for_review_is_looked_at_before_it_lands(folder: Path) -> None:
    deed, check = UNSEEN["hard-coded input"]

    user = act(folder, deed, check=check, files=configure("show"), name="`review: strong`")

    assert step_of(user.status(), "step-1")["proof"] == {"level": "kept", "why": ["survivors"]}


def test_honest_work_is_proved_with_mutants_as_a_gate(folder: Path) -> None:
    user = act(folder, {"write": {"calc.py": RIGHT}}, files=configure("gate"))

    step = step_of(user.status(), "step-1")
    assert (step["proved"], step["mutants"] is not None) == (True, True), step


def test_without_mutants_none_is_tried(folder: Path) -> None:
    user = act(folder, {"write": {"calc.py": RIGHT}}, files=configure("off"))

    step = step_of(user.status(), "step-1")
    assert (step["proved"], step["mutants"]) == (True, None), step


def test_the_next_step_does_not_wait_for_mutants_and_the_summary_tells_of_them(folder: Path) -> None:
    deed, check = UNSEEN["hard-coded input"]
    user = prepare(folder, check, deed)

    ran = user.run("--mode", "sequential")

    events = [event for event in events_of(user) if isinstance(event, StepFinished | StepStarted | MutantsTried)]
    told = [f"{type(event).__name__} {event.step}" for event in events]
    assert ran.code == 0, ran.text
    assert told.index("StepStarted step-2") < told.index("MutantsTried step-1")
    assert "calc.py:2 (`==` could as well be `>=`)" in ran.out
    assert "calc.py:2 (`==` could as well be `>=`)" in ran.err
    assert list_left(user) == []


@pytest.mark.parametrize("mutants", ["show", "gate"])
def test_a_driver_killed_over_mutants_leaves_nothing_and_the_run_goes_on(folder: Path, mutants: str) -> None:
    user = prepare(folder, f"sleep 1; {HANGS}", {"write": {"calc.py": RIGHT}}, mutants=mutants)
    started = user.start("run", PLAN, "--agent", "scripted:agent.yaml", "--autonomy", "autopilot")
    wait_for(lambda: b"DRUMLINE_LINES" in read_environments(user), "no mutant is tried")

    started.send_signal(signal.SIGKILL)
    started.communicate()
    wait_for(lambda: not processes_of(folder), "processes are left")
    (user.repo / ".drumline" / "config.toml").write_text('mutants = "off"\n', encoding="utf-8")
    resumed = user.drumline("resume", "--config", "new")

    assert resumed.code == 0, resumed.text
    assert step_of(user.status(), "step-1")["proved"] is True
    assert list_left(user) == []


def prepare(folder: Path, check: str, deed: dict[str, object] | object, *, mutants: str = "show") -> User:
    """A plan of two steps, the first of which is worked on as said."""
    user = make_user(folder)
    for path, text in configure(mutants).items():
        (user.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (user.repo / path).write_text(text, encoding="utf-8")
    write_plan(user.repo / PLAN, step_text("step-1", checks=(check,)), step_text("step-2", ["step-1"]))
    assert isinstance(deed, dict)
    user.play({"match": {"step": "step-1"}, **deed})
    user.commit_all("project")
    return user


def read_environments(user: User) -> bytes:
    """What the processes of a user were started with."""
    found = b""
    for pid in processes_of(user.folder):
        try:
            found += Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
    return found
