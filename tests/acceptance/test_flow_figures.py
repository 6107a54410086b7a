"""What the agents of a flow used when it was interrupted, killed or cancelled: it counts, and the next adds to it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.acceptance.cli_flows import flow_text, flow_user
from tests.acceptance.cli_user import User, wait_for

HOLD = "touch $HOME/started; while [ ! -e $HOME/go ]; do sleep 0.05; done"
USED = {"input": 1200, "output": 300, "cost_usd": 0.25}
FLOW = flow_text(
    "work",
    {
        "work": {"type": "agent", "agent": "default", "prompt": "Paint the house.", "next": "done"},
        "done": {"type": "end", "output": "painted"},
    },
)
PLAY = yaml.safe_dump({"rules": [{"run": HOLD, "say": "done", "usage": USED}]})


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with flow_user(tmp_path, {"flow.yaml": FLOW, "play.yaml": PLAY}) as made:
        yield made
        (made.folder / "home" / "go").touch()


def cost(user: User) -> object:
    """What the run has cost so far."""
    usage = user.status()["usage"]
    assert isinstance(usage, dict)
    return usage["cost_usd"]


@pytest.mark.parametrize("how", ["interrupt", "kill", "cancel"])
def test_a_visit_that_is_cut_short_has_its_cost_and_the_run_goes_on(how: str, user: User) -> None:
    process = user.start("flow", "run", "flow.yaml", "--agent", "scripted:play.yaml")
    wait_for((user.folder / "home" / "started").exists, "the agent did not start")
    if how == "cancel":
        user.drumline("cancel")
    else:
        os.kill(process.pid, signal.SIGINT if how == "interrupt" else signal.SIGKILL)
    process.communicate(timeout=60)
    stopped = cost(user)
    (user.folder / "home" / "go").touch()
    resumed = user.drumline("resume")

    assert stopped == 0.25
    assert resumed.code == 0, resumed.text
    assert cost(user) == 0.5
    assert "2,400 input and 600 output tokens, $0.50" in resumed.err
