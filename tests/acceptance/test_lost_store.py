"""The journal is deleted while a run is under way: the driver stops and says why, and ends what it had started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, step_text, wait_for


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        made = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
        wait = f"touch '{tmp_path}/at-work'; until [ -e '{tmp_path}/go' ]; do sleep 0.05; done; echo 1 > step-1.txt"
        made.play({"match": {"step": "step-1"}, "run": wait})
        yield made


def test_a_driver_whose_store_is_removed_stops_with_the_reason(user: User) -> None:
    driver = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot")
    wait_for((user.folder / "at-work").exists, "the agent is at work")

    (user.repo / ".git" / "drumline" / "state.db").unlink()

    _, err = driver.communicate(timeout=60)
    assert driver.returncode == 1
    assert "state.db' was removed while it was in use" in err
    assert "Traceback" not in err
    assert err.count("was removed") == 1


def test_a_run_whose_log_is_deleted_goes_on_after_resume(user: User) -> None:
    driver = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot")
    wait_for((user.folder / "at-work").exists, "the agent is at work")

    (user.repo / ".git" / "drumline" / "state.db-wal").unlink()

    _, err = driver.communicate(timeout=60)
    assert driver.returncode == 1
    assert "state.db-wal' of the store was deleted" in err
    assert "next: drumline resume" in err
    (user.folder / "go").touch()
    ran = user.drumline("resume")
    assert ran.code == 0, ran.text
    assert user.landed("step-2.txt") == "2"
