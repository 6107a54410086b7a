"""Two real programs on one step: Claude Code writes it, Codex reviews it, and one confirmed blocker is fixed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, states_of, step_text
from tests.agents.test_end_to_end import equip, write_file
from tests.modelserver import Answer, ModelServer, Scenario, Turn

from drumline.core.flow.model import Json

BLOCKER: Json = {
    "severity": "blocker",
    "file": "src/auth/login.py",
    "line": 1,
    "title": "Everybody is let in",
    "detail": "check() is always true.",
    "step": "step-1",
}
OPEN, SHUT = "def check():\n    return True\n", "def check(name):\n    return name == 'kim'\n"
DUE = "these findings stand. Put right what they name"


def answer(name: str, when: str, value: Json) -> Scenario:
    """What a model answers with fields."""
    return Scenario(name=name, when=when, turns=(Turn(answer=Answer(value=value)),))


WORK = (
    write_file(DUE, "src/auth/login.py", SHUT),
    answer(
        "holds", "findings of a reviewer hold", {"confirmed": [{"id": "step-1-F1", "why": "line 1"}], "refuted": []}
    ),
    answer("fixed", "- step-1-F1 [blocker]", {"findings": [], "fixed": ["step-1-F1"]}),
    answer("finds", "You are asked to review work", {"findings": [BLOCKER], "fixed": []}),
    write_file("Task: Make step-1 (step-1)", "src/auth/login.py", OPEN),
)
CONFIG = '[agents.reviewer]\nagent = "codex"\n'


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1", checks=("test -s src/auth/login.py",)))


def equip_both(user: User, server: ModelServer) -> Mapping[str, str]:
    """An environment in which both programs are found and talk to the server."""
    one, other = equip(user, "claude", server), equip(user, "codex", server)
    paths = [env["PATH"].partition(os.pathsep)[0] for env in (one, other)]
    return {**one, **other, "PATH": os.pathsep.join([*paths, user.env["PATH"]])}


def test_codex_finds_a_blocker_in_the_work_of_claude_code_which_fixes_it(user: User) -> None:
    write_files(user, {".drumline/config.toml": CONFIG})
    with ModelServer(WORK) as server:
        env = equip_both(user, server)
        ran = user.drumline("run", PLAN, "--agent", "claude", "--autonomy", "autopilot", env=env)

    report: Any = user.drumline("report", "--json").json
    assert ran.code == 0, ran.text
    assert states_of(user.status()) == {"step-1": "done"}
    assert "name == 'kim'" in user.landed("src/auth/login.py")
    step = report["steps"][0]
    assert step["reviewed"] == "reviewer (the configured reviewer)"
    assert (step["attempts"], step["fixes"], step["reviews"]) == (2, 0, 1)
    assert (report["iterations"], report["clean"], report["unresolvedBlockers"]) == (1, True, [])
    homes = {path.name for path in (user.repo / ".git/drumline/runs").glob("*/step-1/sessions/*")}
    assert {"claude", "codex"} <= homes
