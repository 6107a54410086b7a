"""A step that changes files of another one: its agent hears of it, a person decides, and the other step knows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, gates_of, leaving_nothing, make_user, step_of, step_text

BOTH = {"one.txt": "one\n", "two.txt": "taken\n", "LOOSE.md": "more\n"}
OTHER: Mapping[str, object] = {"match": {"step": "step-2"}, "write": {"two.txt": "two\n"}}


def owned(name: str, file: str) -> str:
    word = file.partition(".")[0]
    return step_text(name, checks=(f"grep -q {word} {file}",)).replace("status:", f"files: [{file}]\nstatus:")


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, owned("step-1", "one.txt"), owned("step-2", "two.txt"))


def test_an_agent_that_changes_a_file_of_another_step_hears_of_it_and_puts_it_back(user: User) -> None:
    first = {"match": {"step": "step-1", "attempt": 1}, "write": BOTH}
    user.play(first, {"match": {"step": "step-1", "attempt": 2}, "delete": ["two.txt"]}, OTHER)

    ran = user.run()

    assert ran.code == 0, ran.text
    step = user.step("step-1")
    assert (step["attempts"], step["fixes"]) == (2, 0)
    assert "two.txt (step-2)" in user.prompt("step-1", attempt=2)
    assert "changes files that no unfinished step owns: LOOSE.md" in user.drumline("why", "step-1").out


@pytest.mark.parametrize(("choice", "landed"), [("allow", "LOOSE.md one.txt two.txt"), ("undo", "LOOSE.md one.txt")])
def test_a_person_decides_about_a_file_of_another_step_that_stays_changed(user: User, choice: str, landed: str) -> None:
    user.play({"match": {"step": "step-1"}, "write": BOTH}, OTHER)

    stopped = user.run("--mode", "sequential", "--step", "step-1")
    asked, victim = gates_of(user.status()), user.drumline("why", "step-2").out
    answered = user.drumline("answer", "ownership-step-1", choice, "--resume")

    assert (stopped.code, asked) == (2, ["ownership-step-1"]), stopped.text
    assert "step-1 wants to change its two.txt: gate ownership-step-1 asks whether it may" in victim
    assert answered.code == 0, answered.text
    commit = str(user.step("step-1")["commit"])
    assert " ".join(user.git("show", "--format=", "--name-only", commit).split()) == landed
    if choice == "allow":
        assert f"step-1 has changed its two.txt (git show {commit[:9]})" in user.drumline("why", "step-2").out


def test_with_autopilot_the_step_is_blocked_by_name_and_strict_refuses_what_nobody_owns(user: User) -> None:
    (user.repo / ".drumline").mkdir(exist_ok=True)
    with (user.repo / ".drumline" / "config.toml").open("a", encoding="utf-8") as config:
        config.write('ownership = "strict"\n')
    user.commit_all()
    user.play({"match": {"step": "step-1"}, "write": {"one.txt": "one\n", "LOOSE.md": "more\n"}}, OTHER)

    ran = user.run("--autonomy", "autopilot")

    assert ran.code == 2, ran.text
    assert step_of(user.status(), "step-1")["reason"] == "the work changes files that are not its own: LOOSE.md"
    assert step_of(user.status(), "step-2")["state"] == "done"


def test_renames_deletions_modes_links_and_submodules_are_changes_of_another_steps_files(tmp_path: Path) -> None:
    names = ["renamed.txt", "deleted.txt", "mode.sh", "link.txt", "module"]
    commit = "git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m"
    deeds = (
        "git mv renamed.txt other.txt; rm deleted.txt; chmod +x mode.sh; ln -sf one.txt link.txt;"
        f" (cd module && {commit} another); echo one > one.txt"
    )
    with leaving_nothing(tmp_path):
        kim = make_user(
            tmp_path,
            owned("step-1", "one.txt"),
            step_text("step-2").replace("status:", f"files: [{', '.join(names)}]\nstatus:"),
        )
        for name in names[:-1]:
            (kim.repo / name).write_text(f"{name}\n", encoding="utf-8")
        kim.git("init", "-q", "module")
        kim.git("-C", "module", *commit.split()[1:], "first")
        kim.commit_all()
        kim.play({"match": {"step": "step-1"}, "run": f"git init -q module 2>/dev/null; {deeds}"})

        stopped = kim.run("--mode", "sequential", "--step", "step-1")

    told = kim.prompt("step-1", attempt=2)
    assert stopped.code == 2, stopped.text
    assert [name for name in names if f"{name} (step-2)" in told] == names
