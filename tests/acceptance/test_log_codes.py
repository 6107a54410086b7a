"""`drumline logs` shows what agents printed, and nothing in it reaches a terminal as a command, nor a pipe."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, flow_user
from tests.acceptance.cli_user import PATIENCE, User, leaving_nothing, make_user, step_text

# Titles, the clipboard, colours, bells, two codes of one character, and a link whose address never ends.
CODES = r"\033]0;owned\007\033]52;c;AAAA\033\\\033[2J\033[31mred\007\302\233\302\2353J plain\n\033]8;;no end\nafter\n"
NASTY = f"printf '{CODES}'"
SHOWN = "red3J plain"
NODES = {
    "work": {"type": "agent", "agent": "anybody", "prompt": "go", "next": "end"},
    "end": {"type": "end", "output": "done"},
}


def type_at_terminal(user: User, *args: str) -> bytes:
    """Everything that a command sends to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "drumline", *args],
        cwd=user.repo,
        env={**user.env, "DRUMLINE_PAGER": "cat"},  # less sends codes of its own
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = bytearray()
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline and (piece := read_piece(ours)) is not None:
            written += piece
        assert process.wait(timeout=PATIENCE) == 0
        return bytes(written)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_piece(terminal: int) -> bytes | None:
    """What is there to read; None once the last process has left the terminal."""
    ready, _, _ = select.select([terminal], [], [], 0.5)
    try:
        return (os.read(terminal, 65536) or None) if ready else b""
    except OSError:
        return None


def drop_styles(written: bytes) -> str:
    """The text without the styles of our own titles: bold, dim and back."""
    for style in (b"\x1b[1m", b"\x1b[2m", b"\x1b[0m"):
        written = written.replace(style, b"")
    return written.decode().replace("\r\n", "\n")


def assert_tame(text: str) -> None:
    """The words are there, and no control character but ends of lines."""
    lines = text.splitlines()
    assert SHOWN in lines
    assert "after" in lines
    assert [c for c in text if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)] == []


def test_logs_of_a_step_send_no_codes_to_a_terminal_or_a_pipe(tmp_path: Path) -> None:
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, step_text("step-1", checks=(f"{NASTY}; test -f made",)))
        ran = user.run(agent=f"command:{NASTY}; touch made")
        assert ran.code == 0, ran.text

        seen = drop_styles(type_at_terminal(user, "logs", "step-1"))
        piped = user.drumline("logs", "step-1").out

        assert_tame(seen)
        assert_tame(piped)
        # From the agent, from its check, and from the check on the tree without the work.
        assert piped.splitlines().count(SHOWN) == 3


def test_logs_of_a_flow_send_no_codes_to_a_terminal_or_a_pipe(tmp_path: Path) -> None:
    with flow_user(tmp_path, {"f.yaml": flow_text("work", NODES)}) as user:
        ran = user.drumline("flow", "run", "f.yaml", "--agent", f"command:{NASTY}")
        assert ran.code == 0, ran.text

        seen = drop_styles(type_at_terminal(user, "logs"))
        piped = user.drumline("logs").out

        assert_tame(seen)
        assert_tame(piped)


@pytest.mark.parametrize("folder", ["attempt-2.log.tmp", "attempt-2.log.asked"])
def test_logs_are_shown_while_an_agent_has_a_folder_beside_them(folder: str, tmp_path: Path) -> None:
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, step_text("step-1"))
        assert user.run().code == 0
        (log,) = (user.repo / ".git" / "drumline").rglob("attempt-1.log")
        (log.parent / folder).mkdir()

        ran = user.drumline("logs", "step-1")

        assert ran.code == 0, ran.text
        assert folder not in ran.out
