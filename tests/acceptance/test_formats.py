"""The whole way of a run, in every format: run, kill, why, resume, and the status in the plan's own words."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, make_user, wait_for

CONFIG = """checks = ["ls *.txt"]

[agents.command]
env = ["HOLD", "WORD"]
"""
SLOW = (
    'command:test -f ready-$DRUMLINE_STEP || sleep 0.2; echo good > $DRUMLINE_STEP.txt; test ! -f "$HOLD" || sleep 300'
)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A small plan as one format writes it: three steps, each needs the one before."""

    name: str
    plan: str
    files: Mapping[str, str]
    ids: Sequence[str]
    done: Callable[[Path], bool]
    blocked: Callable[[Path], bool]


def phased_step(number: int, needs: str) -> str:
    return (
        f"---\nstep: {number}\ntitle: Do thing {number}\ndepends_on: [{needs}]\nstatus: pending\n---\n\n"
        f"## Objective\n\nWrite the file.\n\n## Test commands\n\n- `grep -q good 0{number}.txt`\n"
    )


def implement_step(number: int) -> str:
    return (
        f"### Step {number}: Do thing {number}\n**Status:** pending\n**Files:** `{number}.txt`\n**What:** Write it.\n"
        f"**Why:** It is wanted.\n**Test:** `grep -q good {number}.txt`\n\n"
    )


def phase(number: int, status: str = "") -> dict[str, object]:
    found: dict[str, object] = {
        "id": number,
        "name": f"Do thing {number}",
        "agent": "coder",
        "parallel": False,
        "blocked_by": [number - 1] if number > 1 else [],
        "files": [f"{number}.txt"],
    }
    return found | ({"status": status} if status else {})


STATE = {
    "session_id": "2026-01-01-demo",
    "task": "demo",
    "created": "2026-01-01T00:00:00Z",
    "updated": "2026-01-01T00:00:00Z",
    "status": "in_progress",
    "workflow_mode": "standard",
    "current_phase": 1,
    "total_phases": 3,
    "execution_mode": None,
    "current_batch": None,
    "task_complexity": "simple",
    "token_usage": {"total_input": 0, "total_output": 0, "total_cached": 0, "by_agent": {}},
    "phases": [
        phase(n, "pending")
        | {"agents": ["coder"], "started": None, "completed": None, "files_created": [], "files_modified": []}
        | {"files_deleted": [], "errors": [], "retry_count": 0}
        for n in (1, 2, 3)
    ],
}
WAVES = {
    "description": "Three things",
    "plan": "Do them.",
    "testsRequired": False,
    "waves": [
        [{"id": f"c{n}", "scope": f"Write c{n}.txt", "files": [f"c{n}.txt"], "model": "sonnet"}] for n in (1, 2, 3)
    ],
}


def marks_beside(path: str) -> Callable[[Path], Mapping[str, object]]:
    def read(repo: Path) -> Mapping[str, object]:
        found: Mapping[str, object] = json.loads((repo / f"{path}.drumline.json").read_text())
        return found

    return read


def says(path: str, *words: str) -> Callable[[Path], bool]:
    """Whether the file holds all of the words."""
    return lambda repo: all(word in (repo / path).read_text() for word in words)


def beside(path: str, word: str, times: int) -> Callable[[Path], bool]:
    """Whether the file beside the plan gives that status so many times."""
    return lambda repo: json.dumps(marks_beside(path)(repo)).count(f'"{word}"') == times


FORMATS = [
    Format(
        name="phased",
        plan="plans",
        files={f"plans/steps/0{n}-thing.md": phased_step(n, str(n - 1) if n > 1 else "") for n in (1, 2, 3)},
        ids=["01", "02", "03"],
        done=lambda repo: all(says(f"plans/steps/0{n}-thing.md", "status: complete")(repo) for n in (1, 2, 3)),
        blocked=says("plans/steps/02-thing.md", "reason:"),
    ),
    Format(
        name="implement",
        plan=".ai/specs/77-demo/implement.md",
        files={
            ".ai/specs/77-demo/implement.md": "# Implementation Plan: Demo\n\n## Steps\n\n"
            + "".join(map(implement_step, (1, 2, 3)))
        },
        ids=["1", "2", "3"],
        done=lambda repo: (repo / ".ai/specs/77-demo/implement.md").read_text().count("**Status:** done") == 3,
        blocked=says(".ai/specs/77-demo/implement.md", "**Status:** blocked", "**Blocked:**"),
    ),
    Format(
        name="maestro",
        plan="docs/maestro/state/active-session.md",
        files={"docs/maestro/state/active-session.md": f"---\n{json.dumps(STATE, indent=2)}\n---\n# Log\n"},
        ids=["1", "2", "3"],
        done=says(
            "docs/maestro/state/active-session.md", '"status": "completed"', '"execution_mode": "sequential"', "1.txt"
        ),
        blocked=says("docs/maestro/state/active-session.md", '"errors"'),
    ),
    Format(
        name="waves",
        plan="chunks.json",
        files={"chunks.json": json.dumps(WAVES, indent=2)},
        ids=["c1", "c2", "c3"],
        done=beside("chunks.json", "done", 3),
        blocked=beside("chunks.json", "blocked", 1),
    ),
]


def boxes(path: str, text: str, ids: Sequence[str], name: str) -> Format:
    """A plan of three boxes in one file, which are ticked when their steps are done."""
    return Format(
        name=name,
        plan=path,
        files={path: text},
        ids=ids,
        done=lambda repo: (repo / path).read_text() == text.replace("[ ]", "[x]"),
        blocked=beside(path, "blocked", 1),
    )


TASKS = {
    "master": {
        "tasks": [
            {"id": n, "title": f"Do thing {n}", "status": "pending", "dependencies": [n - 1] if n > 1 else []}
            for n in (1, 2, 3)
        ]
    }
}
LISTS = [
    boxes(
        "specs/001-demo/tasks.md",
        "# Tasks: Demo\n\n## Phase 1: Setup\n\n" + "".join(f"- [ ] T00{n} Do thing {n}\n" for n in (1, 2, 3)),
        ["T001", "T002", "T003"],
        "speckit",
    ),
    boxes(
        ".kiro/specs/demo/tasks.md",
        "# Plan\n\n- [ ] 1. All\n" + "".join(f"  - [ ] 1.{n} Do thing {n}\n" for n in (1, 2, 3)),
        ["1.1", "1.2", "1.3"],
        "kiro",
    ),
    boxes(
        "openspec/changes/demo/tasks.md",
        "## 1. All\n\n" + "".join(f"- [ ] 1.{n} Do thing {n}\n" for n in (1, 2, 3)),
        ["1.1", "1.2", "1.3"],
        "openspec",
    ),
    boxes(
        "docs/superpowers/plans/demo.md",
        "# Demo\n\n" + "".join(f"### Task {n}: Do thing {n}\n\n- [ ] Write it\n- [ ] Look\n\n" for n in (1, 2, 3)),
        ["1", "2", "3"],
        "superpowers",
    ),
    boxes(
        "TODO.md",
        "# Demo\n\n- [ ] Do one\n- [ ] Do two\n- [ ] Do three\n",
        ["do-one", "do-two", "do-three"],
        "checklist",
    ),
    Format(
        name="taskmaster",
        plan=".taskmaster/tasks/tasks.json",
        files={".taskmaster/tasks/tasks.json": json.dumps(TASKS, indent=2)},
        ids=["1", "2", "3"],
        done=lambda repo: (repo / ".taskmaster/tasks/tasks.json").read_text().count('"done"') == 3,
        blocked=says(".taskmaster/tasks/tasks.json", '"blocked"'),
    ),
]
EVERY = [*FORMATS, LISTS[0], *(pytest.param(form, marks=pytest.mark.long) for form in LISTS[1:])]


def name_form(value: object) -> str:
    return value.name if isinstance(value, Format) else ""


def column(found: Mapping[str, object], key: str) -> list[object]:
    """One value of every step; none where there are no steps to speak of."""
    steps = found.get("steps", [])
    return [step[key] for step in steps] if isinstance(steps, list) else []


def setup(folder: Path, form: Format) -> User:
    user = make_user(folder)
    for name, text in form.files.items():
        path = user.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (user.repo / ".drumline").mkdir()
    (user.repo / ".drumline" / "config.toml").write_text(CONFIG)
    user.commit_all("plan")
    return user


@pytest.mark.parametrize("form", EVERY, ids=name_form)
def test_a_run_is_killed_explained_and_resumed_in_every_format(tmp_path: Path, form: Format) -> None:
    user = setup(tmp_path, form)
    hold = tmp_path / "hold"
    hold.touch()
    env = {"HOLD": str(hold), "MAESTRO_AUTO_ARCHIVE": "false"}
    untouched = {name: (user.repo / name).read_bytes() for name in form.files if form.name == "waves"}

    process = user.start("run", form.plan, "--agent", SLOW, "--autonomy", "autopilot", env=env)
    wait_for(lambda: "running" in column(user.status(), "state"), "a step at work")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    why = user.drumline("why", form.ids[0])
    hold.unlink()
    resumed = user.drumline("resume", env=env)

    assert "drumline resume" in why.text
    assert resumed.code == 0, resumed.text
    status = user.status()
    assert column(status, "state") == ["done"] * 3
    assert column(status, "id") == form.ids
    assert form.done(user.repo)
    assert {name: (user.repo / name).read_bytes() for name in untouched} == untouched
    assert user.git("rev-list", "--count", f"main..{user.branch()}") == "3"
    assert user.drumline("validate", form.plan).code == 0


@pytest.mark.parametrize("form", EVERY, ids=name_form)
def test_a_step_that_stays_wrong_is_blocked_in_the_plans_own_words(tmp_path: Path, form: Format) -> None:
    user = setup(tmp_path, form)
    (user.repo / ".drumline" / "config.toml").write_text(f'checks = ["test ! -f {form.ids[1]}.txt"]\n')
    agent = "command:echo good > $DRUMLINE_STEP.txt"

    ended = user.drumline("run", form.plan, "--agent", agent, "--autonomy", "autopilot", "--retries", "0")

    assert ended.code == 2, ended.text
    assert form.blocked(user.repo)
    assert column(user.status(), "state") == ["done", "blocked", "waiting"]


KEPT = ("id", "title", "needs", "status")


@pytest.mark.parametrize("form", EVERY, ids=name_form)
def test_every_format_converts_to_a_native_plan_that_says_the_same(tmp_path: Path, form: Format) -> None:
    user = setup(tmp_path, form)

    converted = user.drumline("convert", form.plan, "native")
    before = user.drumline("validate", form.plan, "--json").json
    after = user.drumline("validate", "native", "--json").json

    assert converted.code == 0, converted.text
    assert before["format"] == form.name
    assert (after["format"], after["ok"]) == ("dag", True)
    # A native plan lists its files by name; what comes after what is in `needs`.
    essence = [sorted(zip(*(column(said, key) for key in KEPT), strict=True)) for said in (before, after)]
    assert essence[1] == essence[0]


@pytest.mark.parametrize("form", EVERY, ids=name_form)
def test_validate_explains_every_format_on_one_screen(tmp_path: Path, form: Format) -> None:
    user = setup(tmp_path, form)

    told = user.drumline("validate", form.plan)
    drawn = [user.drumline("graph", form.plan, "--as", shape) for shape in ("mermaid", "dot", "tree")]

    assert told.code == 0, told.text
    assert f"format: {form.name}" in told.out
    assert len(told.out.splitlines()) <= 24
    assert all(picture.code == 0 and form.ids[2] in picture.out for picture in drawn)


def test_a_plan_is_found_by_ticket_by_slug_and_as_the_newest_unfinished_one(tmp_path: Path) -> None:
    user = setup(tmp_path, FORMATS[1])

    by_ticket = user.drumline("validate", "77", "--json").json
    by_slug = user.drumline("validate", "demo", "--json").json
    unnamed = user.drumline("validate", "--json")
    drawn = user.drumline("graph", "--json")
    ran = user.drumline("run", "--agent", "command:echo good > $DRUMLINE_STEP.txt", "--autonomy", "autopilot")

    assert by_ticket == by_slug == unnamed.json
    assert by_slug["plan"] == drawn.json["plan"]
    assert "the newest unfinished plan is" in unnamed.err
    assert "the newest unfinished plan is .ai/specs/77-demo/implement.md" in ran.err
    assert ran.code == 0, ran.text
    assert user.git("log", "-1", "--format=%s", user.branch()) == "#77 [3] Do thing 3"


def test_the_file_beside_a_plan_is_no_change_of_the_users(tmp_path: Path) -> None:
    user = setup(tmp_path, FORMATS[3])
    agent = ("--agent", "command:echo good > $DRUMLINE_STEP.txt")

    first = user.drumline("run", "chunks.json", *agent, "--only", "c1")
    second = user.drumline("run", "chunks.json", *agent, "--new")

    assert (first.code, second.code) == (0, 0), second.text
    assert (user.repo / "chunks.json.drumline.json").exists()
    assert "uncommitted" not in second.err


def test_a_phased_step_may_be_named_without_its_zero(tmp_path: Path) -> None:
    user = setup(tmp_path, FORMATS[0])
    agent = ("--agent", "command:echo $WORD > $DRUMLINE_STEP.txt", "--autonomy", "autopilot", "--retries", "0")

    blocked = user.drumline("run", "plans", *agent, "--step", "1", env={"WORD": "bad"})
    why = user.drumline("why", "1", "--json").json
    logs = user.drumline("logs", "1", "--json").json
    retried = user.drumline("retry", "1", "--resume", env={"WORD": "good"})

    assert blocked.code == 2, blocked.text
    assert why["step"] == logs["step"] == "01"
    assert logs["logs"]
    assert retried.code == 0, retried.text
    assert column(user.status(), "state")[:1] == ["done"]


def test_what_a_list_defers_is_skipped_with_its_reason_and_not_ticked(tmp_path: Path) -> None:
    text = "# Demo\n\n- [ ] Do one\n\n## Out of scope\n\n- [~] Do two\n\n## Release\n\n- [ ] Do three\n"
    user = setup(tmp_path, boxes("TODO.md", text, ["do-one", "do-two", "do-three"], "checklist"))

    ran = user.drumline(
        "run", "TODO.md", "--agent", "command:echo good > $DRUMLINE_STEP.txt", "--autonomy", "autopilot"
    )
    why = user.type("why", "do-two")

    assert ran.code == 0, ran.text
    assert (
        "TODO.md:7: warning: 1 task is not run: below 'Out of scope' (do-two) [deferred]"
        in user.type("validate", "TODO.md").err
    )
    assert column(user.status(), "state") == ["done", "skipped", "done"]
    assert "do-two is skipped: below 'Out of scope'" in why.out
    done = text.replace("[ ] Do one", "[x] Do one").replace("[ ] Do three", "[x] Do three")
    assert (user.repo / "TODO.md").read_text() == done
