"""Every command as a shell starts it. The other tests fork it from an interpreter that has imported it already."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, step_text

from drumline.cli.main import COMMANDS

INTERRUPTS = """
import atexit, os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

moment, sys.argv = sys.argv[1], ["drumline", "--version"]
if moment == "importing":
    sys.meta_path.insert(0, Interrupting())
else:
    atexit.register(os.kill, os.getpid(), signal.SIGINT)

from drumline.__main__ import start
sys.exit(start())
"""
"""Starts the command line, which a Ctrl-C meets while it imports its modules, or when its work is over."""

SLOW = {"markdown_it", "yaml", "anyio", "asyncio", "logging", "subprocess", "tempfile", "difflib"}
"""What a look does without: readers of plans, what drives, and libraries for what is rare."""
DECIDES = {"drumline.core.decide", "drumline.core.steprules", "drumline.engine.messages"}
"""So does it without what decides: each of them brings a dozen modules."""
LOOKS = (("status",), ("why", "step-1"), ("logs", "step-1"), ("validate", PLAN))


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    folder = tmp_path_factory.mktemp("cold")
    with leaving_nothing(folder):
        yield make_user(folder, step_text("step-1"))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_starts_and_explains_itself(user: User, command: str) -> None:
    helped = user.drumline_cold(command, "--help")

    assert (helped.code, helped.err) == (0, "")
    assert helped.out.startswith(f"Usage: drumline {command} ")


def test_a_plan_is_run_and_looked_at_by_commands_as_a_shell_starts_them(user: User) -> None:
    ran = user.drumline_cold("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--json")
    cold = [user.drumline_cold(*words) for words in LOOKS]

    warm = [user.drumline(*words) for words in LOOKS]
    assert ran.code == 0
    assert ran.lines[-1]["state"] == "done"
    assert [found.code for found in cold] == [0] * len(LOOKS)
    assert [found.out for found in cold] == [found.out for found in warm]


TABLE = "\n| Step | Status |\n|---|---|\n| step-1 | ready |\n| step-2 | ready |\n"


@pytest.mark.parametrize("table", ["", TABLE], ids=["plain", "with a table that Drumline keeps true"])
def test_looking_again_at_a_run_that_waits_imports_no_library_that_reads_or_drives(tmp_path: Path, table: str) -> None:
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, step_text("step-1", manual="look"), step_text("step-2", ["step-1"]))
        root = user.repo / PLAN / "root.md"
        root.write_text(root.read_text() + table)
        ran = user.drumline("run", PLAN, "--agent", SCRIPTED)
        user.drumline("status")

        told = [user.drumline_cold(command, env={"PYTHONPROFILEIMPORTTIME": "1"}) for command in ("status", "why")]

    assert ran.code == 2
    for found in told:
        imported = {line.rpartition("|")[2].strip() for line in found.err.splitlines()}
        assert found.code == 0
        assert "drumline.planfiles.rootfile" in imported
        assert {name.partition(".")[0] for name in imported} & SLOW == set()
        assert imported & DECIDES == set()


@pytest.mark.parametrize(("moment", "code"), [("importing", -signal.SIGINT), ("over", 0)])
def test_an_interrupt_before_or_after_the_command_shows_no_traceback(moment: str, code: int) -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTS, moment], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (code, "")
