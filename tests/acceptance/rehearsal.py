"""What the warm interpreter does once before it forks commands.

The rule: it leaves nothing but what a process makes with its first use: compiled patterns, parsers, readers of events.
No test relies on it; `test_start_up.py` starts commands that have not rehearsed.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

from tests.acceptance.cli_user import PLAN, SCRIPTED, fill_folder, step_text


def rehearse() -> None:
    """Run a plan of one step in this process and look at it."""
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        user = fill_folder(Path(folder), step_text("step-1"))
        (user.folder / "home").mkdir()
        ran = user.type("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot")
        looked = user.type("status", "--json")
    assert (ran.code, looked.code) == (0, 0), ran.text + looked.text
    assert threading.active_count() == 1, threading.enumerate()  # a thread would be missing in what is forked
