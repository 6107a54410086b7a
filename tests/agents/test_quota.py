"""A real program that is out of quota: its step waits until the time it names, or until a person wants it at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, states_of, step_text
from tests.agents.test_end_to_end import equip, list_landed, write_file
from tests.modelserver import ModelServer, Refuse, Scenario, Turn

HOURS = 2.5 * 3600
EXHAUSTED = Refuse(status=429, message="Rate limit reached for this model. Please try again in 2h 30m.")


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


@pytest.mark.parametrize("name", ["gemini", "goose"])
def test_a_step_parks_until_the_time_the_program_names_and_a_retry_starts_it_at_once(name: str, user: User) -> None:
    with ModelServer([Scenario(turns=(Turn(fault=EXHAUSTED),))]) as server:
        env = equip(user, name, server)
        ran = user.drumline("run", PLAN, "--agent", name, "--autonomy", "autopilot", env=env)
    until = user.status()["parked_until"]
    why = user.drumline("why", "step-1").out

    with ModelServer([write_file("", "step-1.txt", "one\n")], port=int(server.url.rpartition(":")[2])):
        again = user.drumline("retry", "step-1", "--resume", env=env)

    assert ran.code == 2, ran.text
    assert isinstance(until, float)
    assert HOURS - 600 < until - time.time() <= HOURS
    assert "the agent's quota is used up" in why
    assert again.code == 0, again.text
    assert states_of(user.status()) == {"step-1": "done"}
    assert list_landed(user) == ["step-1"]


def test_a_refused_key_is_told_with_its_variable(user: User) -> None:
    refused = Refuse(status=401, message="invalid x-api-key")
    with ModelServer([Scenario(turns=(Turn(fault=refused),))]) as server:
        env = equip(user, "claude", server)
        ran = user.drumline("run", PLAN, "--agent", "claude", "--autonomy", "autopilot", env=env)

    (key,) = [name for name in env if name.endswith(("API_KEY", "AUTH_TOKEN"))]
    assert ran.code == 2, ran.text
    assert states_of(user.status()) == {"step-1": "blocked"}
    assert f"the API key in {key} was refused: set another one" in ran.text
    assert env[key] not in ran.text
