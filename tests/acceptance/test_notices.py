"""What was remarkable about an attempt is told where people look: in the run's lines, by `why` and by `status`."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, step_text

STRAY = "command:echo 1 > step-1.txt; echo stray > '{}/stray.txt'"
STUCK = "command:echo half > half.txt; sleep 60"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


def forbid_jails(user: User) -> Mapping[str, str]:
    """An environment in which bubblewrap is there but does not work."""
    folder = user.folder / "bin"
    folder.mkdir()
    (folder / "bwrap").write_text("#!/bin/bash\nexit 1\n")
    (folder / "bwrap").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{user.env['PATH']}"}


def test_a_change_of_the_checkout_is_told_while_it_runs_and_afterwards(user: User) -> None:
    told = f"{user.repo}/stray.txt changed while it worked, outside its workspace"

    ran = user.run(agent=STRAY.format(user.repo), env=forbid_jails(user))

    assert ran.code == 0, ran.text
    assert f"step-1: {told}" in ran.text
    assert told in user.drumline("why", "step-1").out
    assert user.step("step-1")["notices"] == [told]


def test_what_a_stopped_attempt_had_changed_is_told_with_the_command_that_shows_it(user: User) -> None:
    ran = user.run("--retries", "0", agent=STUCK, env={"DRUMLINE_AGENT_TIMEOUT": "2"})

    found = re.search(r"what attempt 1 had changed is kept: git show (\w+)", ran.text)
    assert ran.code != 0
    assert found is not None, ran.text
    assert found[0] in user.drumline("why", "step-1").out
    shown = subprocess.run(["git", "show", found[1]], cwd=user.repo, capture_output=True, text=True, check=True)
    assert "+half" in shown.stdout
