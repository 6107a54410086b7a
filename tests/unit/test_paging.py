"""The pager: which one is used, and when none is; and how somebody is told that a run waits or is over."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from types import SimpleNamespace

import pytest
from tests.unit.builders import Scene, gate_for, step_of

from drumline.cli import notify as told
from drumline.cli import paging
from drumline.core import events as ev
from drumline.core.vocabulary import RunEnd

PRINT = "from drumline.cli.paging import page_lines; page_lines(['one', 'two'])"


class Terminal:
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(paging, "sys", SimpleNamespace(stdout=Terminal(), stdin=Terminal()))
    for name, value in {"TERM": "xterm", "PAGER": "more -s"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DRUMLINE_PAGER", raising=False)
    return monkeypatch


def test_the_pager_is_ours_then_everybodys_then_less(at_terminal: pytest.MonkeyPatch) -> None:
    found = [paging.find_pager()]
    at_terminal.setenv("DRUMLINE_PAGER", "most")
    found.append(paging.find_pager())
    at_terminal.delenv("DRUMLINE_PAGER")
    at_terminal.delenv("PAGER")
    found.append(paging.find_pager())

    assert found == [["more", "-s"], ["most"], ["less"]]


@pytest.mark.parametrize(
    ("name", "value"), [("DRUMLINE_PAGER", ""), ("PAGER", "cat"), ("TERM", "dumb"), ("PAGER", "'")]
)
def test_there_are_ways_to_have_none(at_terminal: pytest.MonkeyPatch, name: str, value: str) -> None:
    at_terminal.setenv(name, value)

    assert paging.find_pager() == []


def test_a_pipe_has_no_pager() -> None:
    assert paging.find_pager() == []


def test_at_a_terminal_the_pager_gets_the_lines_and_a_missing_one_is_done_without() -> None:
    assert read_at_terminal("sed s/^/paged:/") == "paged:one\npaged:two\n"
    assert read_at_terminal("no-such-pager-here") == "one\ntwo\n"


def read_at_terminal(pager: str) -> str:
    main, side = pty.openpty()
    env = {**os.environ, "DRUMLINE_PAGER": pager, "TERM": "xterm"}
    subprocess.run([sys.executable, "-c", PRINT], stdin=side, stdout=side, env=env, check=True, timeout=60)
    os.close(side)
    said = b""
    while True:
        try:
            said += os.read(main, 4096)
        except OSError:
            break
    os.close(main)
    return said.decode().replace("\r\n", "\n")


def test_a_notice_says_what_a_run_waits_for_or_why_it_ended() -> None:
    asking = Scene(steps=[step_of("a")], events=[gate_for("g", "a", question="Land\x1b[2J it?")])
    over = Scene(steps=[step_of("a")], events=[ev.RunEnded(state=RunEnd.BLOCKED, reason="a: no")])

    assert told._describe(asking.run()) == "Land[2J it?"
    assert told._describe(over.run()) == "a: no"
