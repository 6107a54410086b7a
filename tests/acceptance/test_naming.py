"""What people may type for a plan and for a step."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, make_user, step_text

LINEAR = "# Words\n\n" + "".join(
    f"## Phase {n}: Part {n}\n\n### Success Criteria:\n\n#### Automated Verification:\n\n- [ ] `test -f {n}.txt`\n\n"
    for n in (1, 2)
)
PHASED = "---\nstep: 1\ntitle: One\ndepends_on: []\nstatus: pending\n---\n\n## Test commands\n\n- `true`\n"


@pytest.fixture
def user(tmp_path: Path) -> User:
    user = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
    for name, text in {
        "thoughts/kim/plans/2026-01-02-words.md": LINEAR,
        "thoughts/kim/plans/2026-01-03-more/root.md": "# More\n",
        "thoughts/kim/plans/2026-01-03-more/step-1.md": step_text("step-1"),
        "other/steps/01-one.md": PHASED,
    }.items():
        (user.repo / name).parent.mkdir(parents=True, exist_ok=True)
        (user.repo / name).write_text(text, encoding="utf-8")
    user.commit_all("plans")
    return user


@pytest.mark.parametrize(
    ("typed", "plan"),
    [
        ("p", PLAN),
        ("words", "thoughts/kim/plans/2026-01-02-words.md"),
        ("2026-01-02-words", "thoughts/kim/plans/2026-01-02-words.md"),
        ("more", "thoughts/kim/plans/2026-01-03-more"),
        (f"{PLAN}/step-2.md", PLAN),
        ("other/steps/01-one.md", "other"),
    ],
)
def test_a_plan_is_found_by_its_name_and_by_the_file_of_a_step(user: User, typed: str, plan: str) -> None:
    told = user.type("validate", typed, "--json")

    assert told.json["plan"] == plan, told.text


def test_a_drawing_is_also_nodes_and_edges(user: User) -> None:
    drawn = user.type("graph", "p", "--json").json

    assert drawn["edges"] == [{"from": "step-1", "to": "step-2"}]
    assert drawn["nodes"] == [
        {"id": "step-1", "title": "Make step-1", "state": "waiting"},
        {"id": "step-2", "title": "Make step-2", "state": "waiting"},
    ]


def test_a_name_that_no_plan_has_says_where_was_looked(user: User) -> None:
    told = user.type("validate", "nothing")

    assert told.code == 3
    assert (
        "there is no plan at 'nothing', and none of that name in plans, docs/plans, thoughts/*/plans or .ai/specs"
        in told.err
    )


@pytest.mark.parametrize(
    ("args", "title"),
    [
        ((PLAN, "--step", "2"), "step-2: Make step-2"),
        ((f"{PLAN}/step-2.md",), "step-2: Make step-2"),
        (("words", "--step", "2"), "phase-2: Part 2"),
        (("other/steps/01-one.md",), "01: One"),
    ],
)
def test_a_step_is_found_by_its_number_and_by_its_file(user: User, args: tuple[str, ...], title: str) -> None:
    told = user.type("run", *args, "--dry-run")

    assert told.code == 0, told.text
    assert "1 step to do" in told.out
    assert title in told.out


def test_what_was_typed_beside_the_file_of_a_step_counts(user: User) -> None:
    told = user.type("run", f"{PLAN}/step-2.md", "--only", "1", "--dry-run")

    assert "step-1: Make step-1" in told.out
    assert "1 step to do" in told.out
