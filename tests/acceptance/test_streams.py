"""Closed standard streams, and locales without UTF-8: a run works as without a terminal, and says what it can."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PATIENCE, SCRIPTED, Ran, User, leaving_nothing, make_user, states_of, step_text
from tests.acceptance.terminals import open_terminal

PLAN = "pläne/größe"
FILE = "grün-🎉.txt"
STEP = step_text("step-1", checks=[f"test -f {FILE}", "echo geprüft 🎉"]).replace("Make step-1", "Grüße 🎉 bauen")
LOCALES: list[dict[str, str]] = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    {"PYTHONIOENCODING": "latin-1"},
]
CLOSED = ["<&-", ">&-", "<&- >&- 2>&-"]


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


@pytest.fixture
def traveller(tmp_path: Path) -> Iterator[User]:
    """A user whose plan, files and agent have letters beyond ASCII."""
    with leaving_nothing(tmp_path):
        made = make_user(tmp_path)
        folder = made.repo / PLAN
        folder.mkdir(parents=True)
        root = "---\nplan_type: dag\nstatus: in-progress\n---\n# Größer 🎉\n"
        (folder / "root.md").write_text(root, encoding="utf-8")
        (folder / "step-1.md").write_text(STEP, encoding="utf-8")
        made.play({"write": {FILE: "grün\n"}, "run": "echo fertig: ü🎉; ls", "say": "alles grün 🎉"})
        made.commit_all("größer")
        yield made


def shell(user: User, *args: str, closed: str = "", env: Mapping[str, str] | None = None) -> Ran:
    """Type a command into a shell that closes streams of it."""
    line = f"exec {shlex.join([sys.executable, '-m', 'drumline', *args])} {closed}"
    unset = {key: value for key, value in user.env.items() if key not in ("LANG", "LC_ALL", "PYTHONUTF8")}
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=user.repo,
        env=unset | dict(env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )
    return Ran(
        code=done.returncode, out=done.stdout.decode("utf-8", "replace"), err=done.stderr.decode("utf-8", "replace")
    )


@pytest.mark.parametrize("closed", CLOSED)
def test_a_run_works_with_closed_streams(user: User, closed: str) -> None:
    ran = shell(user, "run", "plans/p", "--agent", SCRIPTED, closed=closed)

    assert ran.code == 0, ran.text
    assert "Traceback" not in ran.text
    assert "Exception ignored" not in ran.text
    assert states_of(user.status()) == {"step-1": "done"}
    assert user.landed("step-1.txt") == "1"


def test_a_question_parks_a_run_with_closed_streams_and_an_answer_continues_it(user: User) -> None:
    closed = "<&- >&-"
    parked = shell(user, "run", "plans/p", "--agent", SCRIPTED, "--autonomy", "verbose", closed=closed)
    gate = user.status()["gates"][0]["id"]  # type: ignore[index]  # a list of objects

    answered = shell(user, "answer", gate, "approve", "--resume", closed=closed)

    assert (parked.code, answered.code) == (2, 0), parked.text + answered.text
    assert "Traceback" not in parked.text + answered.text
    assert states_of(user.status()) == {"step-1": "done"}


def test_commands_that_only_tell_end_quietly_with_closed_streams(user: User) -> None:
    user.run()

    told = [shell(user, *words, closed="<&- >&-") for words in (("status",), ("runs", "--json"))]

    assert [(ran.code, ran.err) for ran in told] == [(0, "")] * 2


@pytest.mark.parametrize("env", [LOCALES[0], *(pytest.param(env, marks=pytest.mark.long) for env in LOCALES[1:])])
def test_titles_names_and_output_beyond_ascii_work_in_every_locale(traveller: User, env: dict[str, str]) -> None:
    words = (["run", PLAN, "--agent", SCRIPTED], ["status"], ["logs", "step-1"])

    told = [shell(traveller, *line, env=env) for line in words]
    listed = shell(traveller, "status", "--json", env=env)

    for ran in (*told, listed):
        assert ran.code == 0, ran.text
        assert "Traceback" not in ran.text
        assert "UnicodeEncodeError" not in ran.text
    assert traveller.landed(FILE) == "grün"
    assert listed.json["title"] == "Größer 🎉"
    step = (traveller.repo / PLAN / "step-1.md").read_text(encoding="utf-8")
    assert "status: done" in step
    assert "Grüße 🎉 bauen" in step
    log = next((traveller.repo / ".git" / "drumline" / "runs").glob("*/step-1/attempt-1.log"))
    assert "fertig: ü🎉" in log.read_text(encoding="utf-8")


def test_signs_that_a_stream_cannot_show_have_plain_ones_in_their_place(user: User) -> None:
    told = shell(user, "doctor", env={"PYTHONIOENCODING": "ascii"})

    assert "+ python: " in told.out
    assert told.out.isascii()


def test_the_board_is_drawn_where_the_terminal_knows_only_ascii(traveller: User) -> None:
    before = "env -u LANG LC_ALL=POSIX PYTHONUTF8=0 PYTHONIOENCODING=ascii "
    traveller.type("trust", PLAN, "--accept")
    with open_terminal(traveller) as terminal:
        terminal.type_command(
            "run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--mode", "sequential", before=before
        )
        screen = terminal.await_text("exit=")

    assert "exit=0" in screen, screen
    assert "Traceback" not in screen


def test_a_plan_whose_name_is_not_utf8_is_refused(user: User) -> None:
    named = os.fsdecode(b"plans/b\xe9")
    (user.repo / "plans" / "p").rename(user.repo / named)

    refused = shell(user, "run", named, "--agent", SCRIPTED)

    assert refused.code == 3
    assert "is not UTF-8" in refused.err
    assert "Traceback" not in refused.text
