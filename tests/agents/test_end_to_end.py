"""A whole plan with real agent programs on the real command line: fixed, killed, taken up again, recorded, replayed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, states_of, step_of, step_text, wait_for
from tests.acceptance.test_record import move_to_a_fresh_clone, tree_of
from tests.agents.agent_fixture import count_processes, make_nap
from tests.agents.programs import LAUNCHES, AgentFixture, find_entry
from tests.modelserver import ModelServer, Run, Scenario, Turn, Write

NAMES = ("claude", "codex")
FIXED = "An earlier attempt failed this check"


def write_file(when: str, path: str, content: str) -> Scenario:
    """The model writes one file for prompts with these words."""
    calls = (Write(path=path, content=content),)
    return Scenario(name=when, when=when, turns=(Turn(text="I begin.", calls=calls), Turn(text="All done.")))


WORK = (
    write_file(FIXED, "step-2.txt", "right\n"),
    write_file("(step-1)", "step-1.txt", "one\n"),
    write_file("(step-2)", "two.txt", "wrong\n"),
    write_file("(step-3)", "step-3.txt", "three\n"),
)
STEPS = (
    step_text("step-1"),
    step_text("step-2", ["step-1"], checks=("grep -q right step-2.txt",)),
    step_text("step-3", ["step-2"]),
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, *STEPS)


def equip(user: User, name: str, server: ModelServer) -> Mapping[str, str]:
    """An environment in which the program is found and talks to the server."""
    entry = find_entry(name)
    assert entry is not None
    agent_home = AgentFixture(home=user.folder / "home", work=user.repo, temp=user.folder, url=server.url)
    return {**LAUNCHES[name](agent_home).env, "PATH": f"{entry.parent}{os.pathsep}{user.env['PATH']}"}


def list_landed(user: User) -> list[str]:
    """The step of every commit on the run branch, oldest first."""
    told = "--format=%(trailers:key=Drumline-Step,valueonly,separator=%x2C)"
    return user.git("log", "--reverse", told, f"main..{user.branch()}").split()


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_killed_while_the_agent_works_and_still_every_step_lands_once(name: str, user: User) -> None:
    nap = make_nap()
    calls = (Write(path="half.txt", content="half\n"), Run(command=f"setsid {nap} & {nap}"))
    stuck = Scenario(name="stuck", when="(step-3)", turns=(Turn(calls=calls[:1]), Turn(calls=calls[1:])))
    with ModelServer([stuck, *WORK]) as server:
        env = equip(user, name, server)
        driver = user.start("run", PLAN, "--agent", name, "--autonomy", "autopilot", env=env)
        wait_for(lambda: count_processes(nap) >= 2, "the agent does not come to its last step")
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        wait_for(lambda: count_processes(nap) == 0, "a command of the agent outlived its driver")

    with ModelServer(WORK, port=int(server.url.rpartition(":")[2])) as server:
        ran = user.drumline("resume", env=env)

    status = user.status()
    assert ran.code == 0, ran.text
    assert states_of(status) == {"step-1": "done", "step-2": "done", "step-3": "done"}
    assert list_landed(user) == ["step-1", "step-2", "step-3"]
    assert [user.landed(f"step-{number}.txt") for number in (1, 2, 3)] == ["one", "right", "three"]
    assert [step_of(status, f"step-{number}")["attempts"] for number in (1, 2, 3)] == [1, 2, 1]
    assert "half.txt" not in user.git("ls-tree", "--name-only", user.branch())
    assert count_processes(nap) == 0


@pytest.mark.parametrize("name", NAMES)
def test_what_a_real_program_did_can_be_played_without_it(name: str, user: User, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    with ModelServer(WORK) as server:
        ran = user.run("--record", str(record), agent=name, env=equip(user, name, server))
    other = move_to_a_fresh_clone(user, tmp_path / "two")

    played = other.run(agent=f"scripted:{record}")

    assert (ran.code, played.code) == (0, 0), ran.text + played.text
    assert tree_of(other) == tree_of(user)
    assert "sk-not-for-the-records" not in record.read_text()
