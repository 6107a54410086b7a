"""`drumline --debug`: what a process does, on stderr and in the run's folder, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, step_text

from drumline.cli.debugging import LineFormatter
from drumline.core.redaction import read_redaction


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1", checks=["test -f step-1.txt"]))


def test_a_run_is_logged_on_stderr_and_in_its_folder(user: User) -> None:
    ran = user.drumline("--debug", "run", PLAN, "--agent", SCRIPTED)
    quiet = user.drumline("status")

    run = str(user.status()["run"])
    log = (user.repo / ".git" / "drumline" / "runs" / run / "debug.log").read_text(encoding="utf-8")
    assert ran.code == 0, ran.err
    for line in (
        "recorded StepLanded seq=",
        "drumline.workspace.git: git commit-tree",
        "drumline.processes.supervised: ",
    ):
        assert line in log
        assert line in ran.err
    assert (quiet.code, quiet.err) == (0, "")


def test_a_refusal_is_logged_with_where_it_was_raised(user: User) -> None:
    ran = user.drumline("--debug", "why", "nothing")

    assert ran.code == 3
    assert "Traceback" in ran.err
    assert "drumline.errors.InvalidInput" in ran.err


def test_a_line_has_its_facts_and_no_secrets() -> None:
    facts = {"seconds": 0.5, "url": "https://kim:hunter2secret@example.org"}
    record = logging.makeLogRecord({"name": "drumline.x", "msg": "said %s", "args": ("hunter2secret",), **facts})

    line = LineFormatter(read_redaction({"MY_TOKEN": "hunter2secret"})).format(record)

    assert line.endswith("drumline.x: said [secret] seconds=0.5 url=https://kim:[secret]@example.org")
