"""With a setup command, checks run in places in which nobody works; what is installed there is what files say."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    SCRIPTED,
    Ran,
    User,
    leaving_nothing,
    make_user,
    processes_of,
    step_of,
    step_text,
    wait_for,
    write_plan,
)

INSTALL = "mkdir -p node_modules && cp requirements.txt node_modules/installed"
IN_PLACE = 'basename "$PWD" | grep -q ^verify@'


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path)


def drive(user: User, steps: Sequence[str], *, setup: str = INSTALL, **env: str) -> Ran:
    """Run a plan of these steps, one after the other."""
    (user.repo / ".gitignore").write_text("node_modules/\n*.log\n", encoding="utf-8")
    (user.repo / "requirements.txt").write_text("1\n", encoding="utf-8")
    write_plan(user.repo / "plans/p", *steps)
    user.commit_all("plan")
    told = {"DRUMLINE_SETUP": setup, **env}
    return user.drumline("run", "plans/p", "--agent", SCRIPTED, "--autonomy", "autopilot", env=told)


def worktrees(user: User) -> list[str]:
    return user.git("worktree", "list").splitlines()


def test_checks_run_where_nobody_works_and_nothing_is_left(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "run": "basename $PWD > step-1.txt; echo x >> node_modules/installed"})
    checks = (IN_PLACE, "grep -q ^work@ step-1.txt && grep -qx 1 node_modules/installed && ! grep x node_modules/*")

    ran = drive(user, [step_text("step-1", checks=checks)])

    assert ran.code == 0, ran.text
    assert step_of(user.status(), "step-1")["proved"] is True
    assert len(worktrees(user)) == 1


def test_setup_runs_once_for_each_place_and_again_when_a_lock_file_has_changed(user: User, tmp_path: Path) -> None:
    user.play({"match": {"step": "step-3"}, "run": "echo 2 > requirements.txt; touch step-3.txt"})
    steps = [
        step_text("step-1", checks=("test -f step-1.txt && cmp requirements.txt node_modules/installed",)),
        step_text("step-2", ["step-1"], checks=("test -f step-2.txt && cmp requirements.txt node_modules/installed",)),
        step_text("step-3", ["step-2"], checks=("test -f step-3.txt && cmp requirements.txt node_modules/installed",)),
        step_text("step-4", ["step-3"], checks=("test -f step-4.txt && cmp requirements.txt node_modules/installed",)),
    ]
    note = f'echo "$(basename $PWD) $(cat requirements.txt)" >> {tmp_path}/setups || true'

    ran = drive(user, steps, setup=f"{note}; {INSTALL}", DRUMLINE_SANDBOX="off")

    assert ran.code == 0, ran.text
    told = (tmp_path / "setups").read_text().splitlines()
    own = [line for line in told if line.startswith(("work@", "verify@"))]
    assert sorted(set(own)) == ["verify@1 1", "verify@1 2", "work@1 1", "work@1 2"], told
    assert len([line for line in own if line.startswith("work@")]) == 2, told
    assert all(step_of(user.status(), f"step-{number}")["proved"] for number in range(1, 5))


def test_setup_that_fails_with_what_the_work_asks_for_goes_back_to_the_agent(user: User) -> None:
    user.play(
        {"match": {"step": "step-1", "attempt": 1}, "run": "echo bad > requirements.txt; touch step-1.txt"},
        {"match": {"step": "step-1"}, "run": "echo 3 > requirements.txt"},
    )

    ran = drive(user, [step_text("step-1")], setup="grep -v bad requirements.txt && mkdir -p node_modules")

    assert ran.code == 0, ran.text
    assert "the setup command failed where checks run" in user.prompt("step-1", 2)
    assert user.landed("requirements.txt") == "3"


def test_setup_that_fails_only_where_checks_run_is_told_with_its_reason_and_no_check_is_blamed(user: User) -> None:
    setup = "case $PWD in *verify*) echo 'error: no such host' >&2; exit 1;; esac"

    ran = drive(user, [step_text("step-1")], setup=setup)

    reported = user.type("report", "--json").json["steps"]
    assert isinstance(reported, list)
    assert ran.code == 2, ran.text
    assert f"the setup command failed: {setup}: error: no such host" in ran.text
    assert reported[0]["notices"] == []


def test_what_setup_makes_outside_of_known_folders_is_there_for_every_check(user: User) -> None:
    steps = [step_text(f"step-{n}", checks=(f"test -f step-{n}.txt && grep 1 made.log", IN_PLACE)) for n in (1, 2)]

    ran = drive(user, steps, setup="cp requirements.txt made.log")

    assert ran.code == 0, ran.text
    assert [step_of(user.status(), f"step-{n}")["proved"] for n in (1, 2)] == [True, True]


def test_a_driver_that_is_killed_in_a_check_leaves_its_place_to_the_next_one(user: User) -> None:
    mark = user.folder / "mark"
    steps = [step_text("step-1", checks=(f"{IN_PLACE} && test -f step-1.txt && {{ test -f {mark} || sleep 60; }}",))]
    (user.repo / ".gitignore").write_text("node_modules/\n", encoding="utf-8")
    (user.repo / "requirements.txt").write_text("1\n", encoding="utf-8")
    user.play()
    env = {"DRUMLINE_SETUP": INSTALL, "DRUMLINE_SANDBOX": "off"}  # else the check could not see the mark
    write_plan(user.repo / "plans/p", *steps)
    user.commit_all("plan")
    driver = user.start("run", "plans/p", "--agent", SCRIPTED, env=env)
    wait_for(lambda: "sleep 60" in processes(user), "the check")

    driver.kill()
    driver.communicate()
    mark.touch()
    resumed = user.drumline("resume", env=env)

    assert resumed.code == 0, resumed.text
    assert step_of(user.status(), "step-1")["proved"] is True
    assert len(worktrees(user)) == 1


def processes(user: User) -> str:
    """The command lines of what runs in the user's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            found.append(words.replace(b"\0", b" ").decode("utf-8", "replace"))
    return "\n".join(line for line in found if str(user.folder) in line)


def list_runs(user: User) -> list[str]:
    file = user.folder / "runs"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def test_checks_run_on_the_base_while_the_agent_works_and_once_for_all_steps(user: User) -> None:
    seen = f'for n in $(seq 400); do test -s "{user.folder}/runs" && break; sleep 0.05; done'
    user.play(*({"match": {"step": s}, "run": f"{seen}; cp {user.folder}/runs {s}.txt"} for s in ("step-1", "step-2")))
    check = f"ls step-*.txt | wc -l >> {user.folder}/runs; test -f step-1.txt -o -f step-2.txt"

    ran = drive(user, [step_text(f"step-{n}", checks=(check,)) for n in (1, 2)], DRUMLINE_SANDBOX="off")

    assert ran.code == 0, ran.text
    assert user.landed("step-1.txt").startswith("0")  # the check had run before its agent was done
    assert list_runs(user).count("0") == 1


def test_a_check_runs_with_the_judge_of_the_base_beside_its_run_on_the_work(user: User, tmp_path: Path) -> None:
    """The check on the work waits until the one with the old judge has begun."""
    began = f"test -e conftest.py || touch {tmp_path}/began"
    waits = f"for n in $(seq 100); do test -e {tmp_path}/began && break; sleep 0.05; done; test -e {tmp_path}/began"
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n", "conftest.py": ""}})

    ran = drive(
        user,
        [step_text("step-1", checks=(f"test -f step-1.txt && {{ {began}; {waits}; }}",))],
        DRUMLINE_SANDBOX="off",
        DRUMLINE_REVIEW="none",
    )

    assert ran.code == 0, ran.text
    assert step_of(user.status(), "step-1")["proved"] is True


def test_a_driver_that_is_killed_in_a_run_on_the_base_leaves_nothing(user: User) -> None:
    mark = user.folder / "mark"
    check = f"test -f {mark} || sleep 60; test -f step-1.txt"
    (user.repo / ".gitignore").write_text("node_modules/\n", encoding="utf-8")
    (user.repo / "requirements.txt").write_text("1\n", encoding="utf-8")
    wait = f'for n in $(seq 400); do test -e "{mark}" && break; sleep 0.05; done'
    user.play({"match": {"step": "step-1"}, "run": f"{wait}; touch step-1.txt"})
    env = {"DRUMLINE_SETUP": INSTALL, "DRUMLINE_SANDBOX": "off"}
    write_plan(user.repo / "plans/p", step_text("step-1", checks=(check,)))
    user.commit_all("plan")
    driver = user.start("run", "plans/p", "--agent", SCRIPTED, env=env)
    wait_for(lambda: "sleep 60" in processes(user), "the check on the base")

    driver.kill()
    driver.communicate()
    mark.touch()
    resumed = user.drumline("resume", env=env)

    assert resumed.code == 0, resumed.text
    assert step_of(user.status(), "step-1")["proved"] is True
    assert len(worktrees(user)) == 1


def test_what_a_check_changes_among_dependencies_serves_no_other_step(user: User) -> None:
    spoils = "echo forged > node_modules/installed; test -f step-1.txt"
    steps = [
        step_text("step-1", checks=(spoils,)),
        step_text("step-2", ["step-1"], checks=("test -f step-2.txt && cmp requirements.txt node_modules/installed",)),
    ]

    drive(user, steps)

    assert step_of(user.status(), "step-2")["proved"] is True


def test_what_a_check_said_about_a_tree_is_known_to_the_next_run(user: User, tmp_path: Path) -> None:
    """The first run proves what it lands; the second begins there, and does not run the check without its work."""
    check = f"{{ ls step-*.txt 2>/dev/null | wc -l; }} >> {tmp_path}/ran; test -f step-1.txt"
    write_plan(user.repo / "plans/q", step_text("step-2", checks=(check,)))
    env = {"DRUMLINE_SANDBOX": "off", "DRUMLINE_MUTANTS": "off"}

    first = drive(user, [step_text("step-1", checks=(check,))], **env)
    user.git("merge", "-q", "--ff-only", user.branch())
    told = {"DRUMLINE_SETUP": INSTALL, **env}
    second = user.drumline("run", "plans/q", "--agent", SCRIPTED, "--autonomy", "autopilot", env=told)

    assert (first.code, second.code) == (0, 0), second.text
    assert sorted((tmp_path / "ran").read_text().split()) == ["0", "1", "2"]
    assert "without the work: passes" in user.drumline("why", "step-2").text


@pytest.mark.long
@pytest.mark.parametrize(("missing", "kind"), [("step-1.txt", "base"), ("conftest.py", "judge")])
@pytest.mark.parametrize("setup", [INSTALL, ""], ids=["place", "workspace"])
def test_a_driver_killed_over_a_check_on_another_tree_leaves_nothing_and_the_run_goes_on(
    user: User, tmp_path: Path, missing: str, kind: str, setup: str
) -> None:
    hangs = f"test -e {missing} || test -e {tmp_path}/go || exec sleep 97"
    write_plan(user.repo / "plans/p", step_text("step-1", checks=(f"{hangs}; test -f step-1.txt",)))
    (user.repo / ".gitignore").write_text("node_modules/\n", encoding="utf-8")
    (user.repo / "requirements.txt").write_text("1\n", encoding="utf-8")
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n", "conftest.py": ""}})
    user.commit_all("plan")
    env = {"DRUMLINE_SETUP": setup, "DRUMLINE_SANDBOX": "off", "DRUMLINE_MUTANTS": "off"}
    started = user.start("run", "plans/p", "--agent", SCRIPTED, "--autonomy", "autopilot", env=env)
    wait_for(lambda: b"sleep\x0097" in read_commands(user), f"no check hangs on the {kind}")

    started.send_signal(signal.SIGKILL)
    started.communicate()
    wait_for(lambda: not processes_of(tmp_path), "processes are left")
    (tmp_path / "go").touch()
    resumed = user.drumline("resume", env=env)

    assert resumed.code == 0, resumed.text
    assert step_of(user.status(), "step-1")["state"] == "done"
    assert len(worktrees(user)) == 1
    assert [*(user.repo / ".git/drumline/runs").glob("*/*/*.tmp")] == []


def read_commands(user: User) -> bytes:
    """What the processes of a user execute."""
    found = b""
    for pid in processes_of(user.folder):
        with suppress(OSError):
            found += Path(f"/proc/{pid}/cmdline").read_bytes()
    return found
