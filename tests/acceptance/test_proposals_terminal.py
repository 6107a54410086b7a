"""At a real terminal: checks are proposed for a plan that names none, and kept beside it on a yes only."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_tasks import make_repository, script
from tests.acceptance.terminals import Terminal, open_terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="a terminal is made with tmux, which is missing")

PROPOSED = "Keep them beside the plan and run them"
ACCEPTED = "Accept that and start"
TRUSTED = "Execute them in this run and later ones"
FILES = {
    "Makefile": "test:\n\ttest -f a.txt\n",
    "TODO.md": "# A list\n\n- [ ] Write a file\n",
    "tasks.md": "# Another list\n\n- [ ] Write it again\n",
}


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with open_terminal(make_repository(tmp_path, FILES)) as made:
        yield made


def test_proposed_checks_are_kept_on_a_yes_and_nothing_is_written_on_a_no(terminal: Terminal) -> None:
    user = terminal.user
    agent = script(user, {"run": "echo 1 >> a.txt"})
    options = ("--agent", agent, "--autonomy", "autopilot")

    terminal.type_command("run", "TODO.md", *options)
    refused = terminal.await_text(PROPOSED)
    terminal.press("Enter")
    doubtful = terminal.await_text(ACCEPTED)
    terminal.press("y", "Enter")
    without = terminal.await_text("exit=0")
    unproved = user.step("write-a-file")
    terminal.type_another("run", "tasks.md", *options)
    terminal.await_text(PROPOSED)
    terminal.press("y", "Enter")
    asked = terminal.await_text(TRUSTED)
    terminal.press("Enter")
    kept = terminal.await_text("exit=0")

    assert "would be proved: 0 of 1" in refused
    assert "proposed for every step without a check: make test (from Makefile)" in refused
    assert "write-a-file: unproved (no checks)" in doubtful
    assert "1 of 1 step landed, 0 proved" in without
    assert not (user.repo / "TODO.md.drumline.json").exists()
    assert unproved["proved"] is False
    assert "wrote tasks.md.drumline.json" in asked
    assert "check: make test" in asked
    assert "1 of 1 step landed, 1 proved" in kept
    sidecar = json.loads((user.repo / "tasks.md.drumline.json").read_text(encoding="utf-8"))
    assert sidecar["checks"] == {"*": ["make test"]}
