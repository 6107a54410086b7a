"""The temporary folders of agents: short, outside the repository, and gone after the work, a kill and a resume."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, flow_user
from tests.acceptance.cli_user import User, leaving_nothing, make_user, step_text, wait_for

from drumline.isolation.scratch import name_temp

NODES = {
    "work": {"type": "agent", "agent": "anybody", "prompt": "go", "next": "end"},
    "end": {"type": "end", "output": "done"},
}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


def write_agent(user: User) -> str:
    """An agent that leaves a file in its temporary folder, says where that was, and waits until it may go on."""
    home = user.folder / "home"
    (home / "granted").mkdir()
    (user.repo / ".drumline").mkdir()
    (user.repo / ".drumline" / "config.toml").write_text(f'[agents.command]\nfolders = ["{home}/granted"]\n')
    wait = f"while [ ! -e {home}/go ]; do sleep 0.05; done"
    found = f"git -C $TMPDIR rev-parse --git-dir 2>&1 | head -n 1 >> {home}/granted/git"
    noted = f"{found}; echo $TMPDIR >> {home}/granted/temp"
    return f"command:ls $TMPDIR; touch $TMPDIR/left; {noted}; {wait}; touch step-1.txt"


def read_temps(user: User) -> list[Path]:
    """Where the agent had its temporary folders, one per start."""
    told = user.folder / "home" / "granted" / "temp"
    return [Path(line) for line in told.read_text().splitlines()] if told.exists() else []


def kill_at_work(user: User, *args: str) -> Path:
    """Kill a driver while its agent works; from then on agents do not wait. Return the folder that is left."""
    driver = user.start(*args)
    wait_for(lambda: read_temps(user), "no agent has begun")
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    (user.folder / "home" / "go").touch()
    (temp,) = read_temps(user)
    assert [path.name for path in temp.iterdir()] == ["left"]
    return temp


def leave_scratch(user: User) -> list[Path]:
    """What work that nobody takes up again left beside the logs that there are."""
    (log,) = (path for path in (user.repo / ".git" / "drumline" / "runs").rglob("*.log") if path.is_file())
    scratch = log.with_name("another.log.tmp")
    left = [scratch, name_temp(scratch)]
    for folder in left:
        folder.mkdir(mode=0o700)
        (folder / "raw").touch()
    return left


def test_an_agent_has_a_short_folder_outside_the_repository_that_goes_with_it(user: User) -> None:
    agent = write_agent(user)
    (user.folder / "home" / "go").touch()

    ran = user.run(agent=agent)

    assert ran.code == 0, ran.text
    (temp,) = read_temps(user)
    assert len(temp.name) == len("drumline-") + 12
    assert not temp.is_relative_to(user.folder)
    assert not temp.exists()
    assert "not a git repository" in (user.folder / "home" / "granted" / "git").read_text()


def test_after_a_kill_a_resume_of_a_plan_leaves_no_temporary_folder(user: User) -> None:
    temp = kill_at_work(user, "run", "plans/p", "--agent", write_agent(user), "--autonomy", "autopilot")
    left = leave_scratch(user)

    ran = user.drumline("resume")

    assert ran.code == 0, ran.text
    assert read_temps(user) == [temp, temp]
    assert "left" not in user.drumline("logs", "step-1").out.split()
    assert [path.exists() for path in (temp, *left)] == [False, False, False]


def test_after_a_kill_a_resume_of_a_flow_leaves_no_temporary_folder(tmp_path: Path) -> None:
    with flow_user(tmp_path, {"f.yaml": flow_text("work", NODES)}) as user:
        temp = kill_at_work(user, "flow", "run", "f.yaml", "--agent", write_agent(user))
        left = leave_scratch(user)

        ran = user.drumline("resume")

        assert ran.code == 0, ran.text
        assert read_temps(user)[0] == temp
        assert [path.exists() for path in (*read_temps(user), *left)] == [False] * 4
