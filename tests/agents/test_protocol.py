"""The protocol of a step with real programs: in parallel, killed, fixed, asked about, healed, and landed once each."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, gates_of, leaving_nothing, make_user, states_of, step_text, wait_for
from tests.acceptance.test_healing import steps_of
from tests.agents.agent_fixture import count_processes, make_nap
from tests.agents.test_end_to_end import NAMES, equip, list_landed, write_file
from tests.modelserver import Answer, ModelServer, Run, Scenario, Turn, Write

FAILED = "An earlier attempt failed this check: `grep -q right {}.txt`"
QUESTION = '{"blocked": "Which colour?", "options": ["blue", "green"]}'
DIAGNOSIS = {
    "verdict": "heal",
    "cause": "the word is wrong",
    "evidence": "step-4.txt:1",
    "title": "Write the right word",
    "approach": "Write the word right into step-4.txt.",
}
WORK = (
    Scenario(name="diagnosis", when="You are asked for a diagnosis", turns=(Turn(answer=Answer(value=DIAGNOSIS)),)),
    write_file("Task: Write the right word (step-4h)", "step-4.txt", "right\n"),
    write_file(FAILED.format("step-2"), "step-2.txt", "right\n"),
    write_file(FAILED.format("step-4"), "step-4.txt", "wrong again\n"),
    write_file("The answer: blue", "step-3.txt", "blue\n"),
    write_file("Task: Make step-1 (step-1)", "step-1.txt", "one\n"),
    write_file("Task: Make step-2 (step-2)", "step-2.txt", "wrong\n"),
    Scenario(name="asks", when="Task: Make step-3 (step-3)", turns=(Turn(text=f"It is not said.\n\n{QUESTION}"),)),
    write_file("Task: Make step-4 (step-4)", "step-4.txt", "wrong\n"),
)
STEPS = (
    step_text("step-1"),
    step_text("step-2", checks=("grep -q right step-2.txt",)),
    step_text("step-3", ["step-1", "step-2"], checks=("grep -q blue step-3.txt",)),
    step_text("step-4", ["step-3"], checks=("grep -q right step-4.txt",)),
)
DONE = ("step-1", "step-2", "step-3", "step-4", "step-4h")


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, *STEPS)


def nap_at(step: str, command: str) -> Scenario:
    """The model leaves half of the work, then starts a command that does not end."""
    half = Turn(text="I begin.", calls=(Write(path=f"half-{step}.txt", content="half\n"),))
    naps = Turn(calls=(Run(command=f"setsid {command} & {command}"),))  # Claude Code refuses to sleep and no more
    return Scenario(name=f"naps at {step}", when=f"Task: Make {step} ({step})", turns=(half, naps))


@pytest.mark.parametrize("name", NAMES)
def test_four_steps_with_a_kill_a_fix_a_question_and_a_heal_land_once_each_and_are_proved(
    name: str, user: User
) -> None:
    naps = [make_nap(), make_nap()]
    begun = [nap_at(f"step-{number}", nap) for number, nap in enumerate(naps, 1)]
    with ModelServer([*begun, *WORK]) as server:
        env = equip(user, name, server)
        options = ("--agent", name, "--autonomy", "autopilot", "--mode", "parallel", "--jobs", "2")
        driver = user.start("run", PLAN, *options, env=env)
        wait_for(lambda: all(count_processes(nap) for nap in naps), "the two steps are not worked on side by side")
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        wait_for(lambda: not any(count_processes(nap) for nap in naps), "a command of an agent outlived its driver")

    with ModelServer(WORK, port=int(server.url.rpartition(":")[2])):
        parked = user.drumline("resume", env=env)
        asked = gates_of(user.status())
        done = user.drumline("answer", "question-step-3", "blue", "--resume", env=env)

    assert (parked.code, asked) == (2, ["question-step-3"]), parked.text
    assert done.code == 0, done.text
    assert states_of(user.status()) == dict.fromkeys(DONE, "done")
    assert sorted(list_landed(user)) == ["step-1", "step-2", "step-3", "step-4h"]
    steps = steps_of(user)
    assert all(steps[step]["proved"] for step in DONE)
    assert {step: steps[step]["fixes"] for step in DONE} == {**dict.fromkeys(DONE, 0), "step-2": 1, "step-4": 2}
    assert steps["step-4"]["landed_by"] == "step-4h"
    assert [user.landed(f"step-{number}.txt") for number in (1, 2, 3, 4)] == ["one", "right", "blue", "right"]
    assert not [path for path in user.git("ls-tree", "--name-only", user.branch()).split() if path.startswith("half")]
