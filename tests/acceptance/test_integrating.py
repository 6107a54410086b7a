"""Steps that are worked on at the same time: what lands is judged together with what landed meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_user import PLAN, Rule, User, leaving_nothing, make_user, states_of, step_text

MEET = "touch $HOME/$DRUMLINE_STEP; for i in $(seq 1200); do [ -e $HOME/{} ] && exit 0; sleep 0.05; done; exit 1"
"""Works until the other step is at work, too."""
BOTH = "! test -e one.txt -a -e two.txt || test -e both.txt"
"""Passes with either file alone; with both of them something else is needed."""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2"))


def play_both(user: User, one: Mapping[str, str], two: Mapping[str, str], *rules: Rule) -> None:
    """Two steps whose first attempts work at the same time and write these files; further rules come before."""
    first = {"attempt": 1}
    user.play(
        *rules,
        {"match": {"step": "step-1", **first}, "write": one, "run": MEET.format("step-2")},
        {"match": {"step": "step-2", **first}, "write": two, "run": MEET.format("step-1")},
    )


def set_checks(user: User, **checks: str) -> None:
    """Give each step this check."""
    for name, command in checks.items():
        step = name.replace("_", "-")
        user.edit(step, f"`test -f {step}.txt`", f"`{command}`")


def find_late(user: User) -> str:
    """The step that landed, or tried to, after the other."""
    return next(step for step, found in look(user).items() if found["attempts"] > 1)


def look(user: User) -> dict[str, Any]:
    """The steps of the run as scripts see them."""
    steps: Any = user.status()["steps"]
    return {step["id"]: step for step in steps}


def find_other(step: str) -> str:
    """The one beside it."""
    return {"step-1": "step-2", "step-2": "step-1"}[step]


def test_steps_that_landed_side_by_side_are_proved_on_the_tree_that_landed(user: User) -> None:
    play_both(user, {"step-1.txt": "1\n"}, {"step-2.txt": "2\n"})

    ran = user.run("--mode", "parallel")

    found = {step: told["proof"]["level"] for step, told in look(user).items()}
    assert ran.code == 0
    assert found == {"step-1": "proved", "step-2": "proved"}


def test_steps_that_pass_alone_and_fail_together_go_back_to_the_agent_of_the_later_one(user: User) -> None:
    set_checks(user, step_1=f"test -e one.txt && {{ {BOTH}; }}", step_2=f"test -e two.txt && {{ {BOTH}; }}")
    play_both(user, {"one.txt": "1\n"}, {"two.txt": "2\n"}, {"match": {"attempt": 2}, "write": {"both.txt": "!\n"}})

    ran = user.run("--mode", "parallel")

    late = find_late(user)
    prompt = user.prompt(late, 2)
    status = look(user)
    assert ran.code == 0
    assert "## Other steps landed while you worked" in prompt
    assert f"- {find_other(late)}:" in prompt
    assert BOTH in prompt
    assert status[late]["fixes"] == 0
    assert {step["proof"]["level"] for step in status.values()} == {"proved"}
    assert {"one.txt", "two.txt", "both.txt"} <= {*user.git("ls-tree", "--name-only", user.branch()).splitlines()}


def test_steps_that_never_pass_together_do_not_end_well(user: User) -> None:
    set_checks(user, step_1=f"test -e one.txt && {{ {BOTH}; }}", step_2=f"test -e two.txt && {{ {BOTH}; }}")
    play_both(user, {"one.txt": "1\n"}, {"two.txt": "2\n"})

    ran = user.run("--mode", "parallel")

    late = find_late(user)
    status = look(user)
    why = user.drumline("why", late).out
    assert ran.code == 2
    assert (status[late]["state"], status[late]["attempts"], status[late]["fixes"]) == ("blocked", 3, 0)
    assert f"2 attempts to let it pass with what landed since its base ({find_other(late)})" in why
    assert len(user.git("log", "--format=%s", f"main..{user.branch()}").splitlines()) == 1


def test_a_conflict_goes_back_to_the_agent_with_both_sides_and_the_rest_goes_on(user: User) -> None:
    (user.repo / PLAN / "step-3.md").write_text(step_text("step-3"), encoding="utf-8")
    set_checks(user, step_1="test -f README.md", step_2="test -f README.md")
    seen = "cat README.md > $HOME/seen"
    solved = {"match": {"attempt": 2}, "run": f"{seen}; printf 'one\\ntwo\\n' > README.md"}
    play_both(user, {"README.md": "one\n"}, {"README.md": "two\n"}, solved)

    ran = user.run("--mode", "parallel")

    late = find_late(user)
    prompt = user.prompt(late, 2)
    both = (user.folder / "home" / "seen").read_text(encoding="utf-8")
    coming = f"a conflict is coming: {late}, which is in work, changes the same lines of README.md"
    assert coming in user.drumline("why", find_other(late)).out
    assert coming in ran.text
    assert "conflicts foreseen:\n  step-1 and step-2: README.md" in ran.out
    assert ran.code == 0
    assert set(states_of(user.status()).values()) == {"done"}
    assert "- `README.md`" in prompt
    assert "`README.md`, line 1:\n\n```\n<<<<<<< " in prompt
    assert "<<<<<<<" in both
    assert {"one", "two"} <= {*both.split()}
    assert user.git("show", f"{user.branch()}:README.md") == "one\ntwo"


@pytest.mark.parametrize("choice", ["retry", pytest.param("reject", marks=pytest.mark.long)])
def test_a_person_is_asked_about_a_conflict_first_if_that_is_set(user: User, choice: str) -> None:
    set_checks(user, step_1="test -f README.md", step_2="test -f README.md")
    solved = {"match": {"attempt": 2}, "write": {"README.md": "one\ntwo\n"}}
    play_both(user, {"README.md": "one\n"}, {"README.md": "two\n"}, solved)

    ran = user.run("--mode", "parallel", "--autonomy", "critical", env={"DRUMLINE_ON_CONFLICT": "ask"})
    late = next(step for step, state in states_of(user.status()).items() if state != "done")
    early, why = find_other(late), user.drumline("why", late).out
    answered = user.drumline("answer", f"conflict-{late}", choice, "--resume")

    assert ran.code == 2, ran.text
    assert f"its changes conflict with what landed since its base ({early}) in README.md" in why
    assert str(look(user)[early]["commit"])[:9] in why
    assert look(user)[late]["state"] == ("done" if choice == "retry" else "rejected")
    assert answered.code == (0 if choice == "retry" else 1), answered.text
    if choice == "retry":
        assert user.git("show", f"{user.branch()}:README.md") == "one\ntwo"


def test_markers_that_an_agent_leaves_never_land(user: User) -> None:
    set_checks(user, step_1="test -f README.md", step_2="test -f README.md")
    play_both(user, {"README.md": "one\n"}, {"README.md": "two\n"}, {"match": {"attempt": 2}, "write": {"more": "x"}})

    ran = user.run("--mode", "parallel")

    late = find_late(user)
    status = look(user)
    assert ran.code == 2
    assert (status[late]["state"], status[late]["attempts"]) == ("blocked", 3)
    left = f"conflicts with what landed since its base ({find_other(late)}) are left in README.md"
    assert left in user.drumline("why", late).out
    assert "<<<<<<<" not in user.git("show", f"{user.branch()}:README.md")


def test_markers_that_an_agent_writes_where_nothing_else_has_landed_are_told_as_such(tmp_path: Path) -> None:
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, step_text("step-1"))
        user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n"}})

        ran = user.run()

    assert ran.code == 2, ran.text
    assert "step-1 blocked: conflict markers are left in step-1.txt" in ran.text
    assert "step-1.txt" not in user.git("ls-tree", "-r", "--name-only", user.branch())


def test_of_steps_that_end_together_each_is_judged_on_a_new_head_once(tmp_path: Path) -> None:
    names = [f"step-{number}" for number in range(1, 6)]
    meet = "touch $HOME/$DRUMLINE_STEP; until [ $(ls $HOME | grep -c ^step-) = 5 ]; do sleep 0.05; done"
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, *(step_text(name, checks=["sleep 0.2", f"test -f {name}.txt"]) for name in names))
        user.play(*({"match": {"step": name}, "write": {f"{name}.txt": "1\n"}, "run": meet} for name in names))

        ran = user.run("--mode", "parallel", "--jobs", "5")

    with closing(sqlite3.connect(user.repo / ".git/drumline/state.db")) as journal:
        rebased = journal.execute("SELECT step, count(*) FROM events WHERE kind = 'WorkRebased' GROUP BY step")
        again = dict(rebased.fetchall())
    assert ran.code == 0, ran.text
    assert set(again.values()) == {1}
    assert len(again) == len(names) - 1


@pytest.mark.long
def test_work_that_breaks_a_check_of_a_step_that_landed_meanwhile_in_the_same_file_goes_back(user: User) -> None:
    lines = "".join(f"{number}\n" for number in range(20))
    (user.repo / "list.txt").write_text(lines, encoding="utf-8")
    set_checks(user, step_1="grep -q one list.txt && { ! grep -q two list.txt || test -e both.txt; }")
    set_checks(user, step_2="grep -q two list.txt")
    user.commit_all()
    landed = "git for-each-ref --format='%(subject)' refs/heads/drumline | grep -q 'step-1'"
    waits = f"( {MEET.format('step-1')} ); for i in $(seq 1200); do {landed} && exit 0; sleep 0.05; done; exit 1"
    user.play(
        {"match": {"attempt": 2}, "write": {"both.txt": "!\n"}},
        {"match": {"step": "step-1"}, "write": {"list.txt": f"one\n{lines}"}, "run": MEET.format("step-2")},
        {"match": {"step": "step-2"}, "write": {"list.txt": f"{lines}two\n"}, "run": waits},
    )

    ran = user.run("--mode", "parallel")

    status, prompt = look(user), user.prompt("step-2", 2)
    assert ran.code == 0
    assert (status["step-2"]["attempts"], status["step-2"]["fixes"]) == (2, 0)
    assert "- step-1:" in prompt
    assert "! grep -q two list.txt" in prompt
    assert user.git("show", f"{user.branch()}:both.txt") == "!"


def test_a_check_of_a_landed_step_that_blocks_another_is_counted_the_same_everywhere(user: User) -> None:
    set_checks(user, step_1="grep -q one list.txt", step_2="grep -q two list.txt")
    user.play(
        {"match": {"step": "step-1"}, "write": {"list.txt": "one\n"}},
        {"match": {"step": "step-2"}, "write": {"list.txt": "two\n"}},
    )

    ran = user.run("--mode", "sequential", "--retries", "0")

    table = user.drumline("report").out
    assert ran.code == 2, ran.text
    assert "checks 2/3," in ran.text
    assert look(user)["step-2"]["checks"] == {"passed": 1, "total": 2}
    assert [line.split("|")[5].strip() for line in table.splitlines() if line.startswith("| step-")] == ["1/1", "1/2"]
