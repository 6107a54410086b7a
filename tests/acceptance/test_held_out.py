"""Checks outside of the repository: agents neither see nor hear what they ask for, and work has to pass them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, gates_of, make_user, step_of, step_text, write_plan
from tests.acceptance.liescenes import ASKS as HELD_OUT
from tests.acceptance.liescenes import FILES, RIGHT, UNSEEN

from drumline.agents.jail import find_jail

JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
ASKS = HELD_OUT.replace("\n", "\necho 'asks for the sum of 20 and 22'\n", 1)
HARD_CODED = UNSEEN["hard-coded input"][0]["write"]


def prepare(tmp_path: Path, *, check: str = "make test", script: str = ASKS) -> tuple[User, Path]:
    """A user with one step and one check that is held out."""
    user = make_user(tmp_path)
    for path, text in FILES.items():
        (user.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (user.repo / path).write_text(text, encoding="utf-8")
    write_plan(user.repo / PLAN, step_text("step-1", checks=(check,)))
    user.commit_all("project")
    folder = user.folder / "home" / "held"
    folder.mkdir(parents=True)
    (folder / "sums.sh").write_text(script, encoding="utf-8")
    (folder / "sums.sh").chmod(0o755)
    (folder / "notes.txt").write_text("not executed", encoding="utf-8")
    return user, folder


def env_of(folder: Path, **more: str) -> dict[str, str]:
    return {"DRUMLINE_HELD_OUT": str(folder), "DRUMLINE_MUTANTS": "off", **more}


def read_prompts(user: User) -> str:
    found = (user.repo / ".git" / "drumline" / "runs").glob("*/step-1/prompt-*")
    return "\n".join(path.read_text(encoding="utf-8") for path in found)


def agent_that_writes(user: User, text: str, folder: Path) -> str:
    """A program in the jail that looks for what is held out, keeps its prompt, and writes the file."""
    (user.folder / "home" / "work.py").write_text(text, encoding="utf-8")
    look = f"cat > prompt-$(date +%s%N).txt; cat {folder}/sums.sh > stolen.txt 2>/dev/null || echo nothing > stolen.txt"
    return f"command:bash -c '{look}; cp {user.folder}/home/work.py calc.py'"


@JAILED
def test_hard_coded_answers_fail_a_check_that_the_agent_does_not_see(tmp_path: Path) -> None:
    user, folder = prepare(tmp_path)
    assert isinstance(HARD_CODED, dict)
    lie = HARD_CODED["calc.py"]

    ran = user.run("--retries", "1", agent=agent_that_writes(user, lie, folder), env=env_of(folder))

    step = step_of(user.status(), "step-1")
    assert (ran.code, step["state"], step["proved"]) == (2, "blocked", False), ran.text
    assert "held-out check 1" in str(step["reason"])
    told = read_prompts(user)
    assert "20 and 22" not in told + ran.text + user.file("step-1")
    assert "sums.sh" not in told
    assert "a check that is not shown to you" in told
    assert "20 and 22" in user.type("logs", "step-1").out


@JAILED
def test_honest_work_is_proved_and_the_folder_is_not_there_for_agents_and_other_checks(tmp_path: Path) -> None:
    user, folder = prepare(tmp_path, check=f"test ! -e {tmp_path}/home/held/sums.sh && make test")

    ran = user.run(agent=agent_that_writes(user, RIGHT, folder), env=env_of(folder))

    checks = user.type("why", "step-1", "--json").json["checks"]
    assert ran.code == 0, ran.text
    assert step_of(user.status(), "step-1")["proved"] is True
    assert user.landed("stolen.txt").strip() == "nothing"
    assert isinstance(checks, list)
    assert [check["source"] for check in checks] == ["step", "held_out"]
    assert all(check[field] for check in checks for field in ("tree", "environment", "log_digest"))
    assert checks[0]["judge"]
    assert checks[0]["tests"]["ids"]


@JAILED
def test_without_own_checks_what_is_held_out_proves_the_work(tmp_path: Path) -> None:
    user, folder = prepare(tmp_path)
    write_plan(user.repo / PLAN, step_text("step-1").replace("- [ ] it holds: `test -f step-1.txt`", ""))
    user.commit_all()

    ran = user.run(agent=agent_that_writes(user, RIGHT, folder), env=env_of(folder))

    assert ran.code == 0, ran.text
    assert step_of(user.status(), "step-1")["proved"] is True


def test_where_an_agent_could_read_it_nothing_is_raised_by_it(tmp_path: Path) -> None:
    user, folder = prepare(tmp_path)
    write_plan(user.repo / PLAN, step_text("step-1").replace("- [ ] it holds: `test -f step-1.txt`", ""))
    user.play({"match": {"step": "step-1"}, "write": {"calc.py": RIGHT}})
    user.commit_all()

    user.run(env=env_of(folder))

    assert step_of(user.status(), "step-1")["proof"] == {"level": "unproved", "why": ["no_checks"]}
    assert "held out, not hidden from its agents" in user.type("why", "step-1").out
    assert gates_of(user.status()) == ["accept"]


def test_work_that_fails_it_does_not_land_there_either(tmp_path: Path) -> None:
    user, folder = prepare(tmp_path)
    user.play({"match": {"step": "step-1"}, "write": HARD_CODED})
    user.commit_all()

    ran = user.run("--retries", "0", env=env_of(folder))

    assert (ran.code, step_of(user.status(), "step-1")["state"]) == (2, "blocked"), ran.text


def test_it_may_fail_until_the_last_step_and_then_it_has_to_pass(tmp_path: Path) -> None:
    user, folder = prepare(tmp_path)
    write_plan(user.repo / PLAN, step_text("step-1"), step_text("step-2", ["step-1"]))
    user.play({"match": {"step": "step-2"}, "write": {"calc.py": RIGHT, "step-2.txt": "x"}})
    user.commit_all()

    ran = user.run(env=env_of(folder))

    assert ran.code == 0, ran.text
    assert step_of(user.status(), "step-1")["proof"] == {"level": "kept", "why": ["red_before"]}
    assert step_of(user.status(), "step-2")["proved"] is True


@pytest.mark.parametrize(("inside", "words"), [("repo/held", "can be seen by agents"), ("home/none", "not a folder")])
def test_a_folder_that_agents_are_given_is_refused(tmp_path: Path, inside: str, words: str) -> None:
    user, _ = prepare(tmp_path)
    (user.repo / "held").mkdir()

    ran = user.run(env=env_of(user.folder / inside))

    assert (ran.code, words in ran.err) == (3, True), ran.text
