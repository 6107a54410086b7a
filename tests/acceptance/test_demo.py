"""`python -m drumline.demo` as somebody runs it: from any folder, without a git identity, on a terminal and off it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

PATIENCE = 240.0
DEMO = (sys.executable, "-m", "drumline.demo")


def surroundings(tmp_path: Path) -> dict[str, str]:
    """An environment whose home, state and temporary files are all below one folder, and that git knows nobody in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRUMLINE_", "GIT_", "CI"))}
    folders = {name: tmp_path / name.lower() for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "TMPDIR")}
    for folder in folders.values():
        folder.mkdir()
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "TERM": "xterm-256color", "COLUMNS": "100"}
    return {**kept, **own, **{name: str(folder) for name, folder in folders.items()}}


def perform_at_terminal(command: tuple[str, ...], cwd: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a command with a terminal for its three streams; its exit code and everything it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = bytearray()
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([ours], [], [], 0.5)
            piece = read_piece(ours) if ready else None
            if piece == b"":
                break
            written += piece or b""
        return process.wait(timeout=PATIENCE), written.decode("utf-8", "replace")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_piece(terminal: int) -> bytes:
    """What is there to read; nothing once the last process has left the terminal."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def find_left_over(folder: Path) -> list[str]:
    """Processes that still have something to do with a folder."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in told and process.name != str(os.getpid()):
            found.append(process.name)
    return found


def ask_git(top: Path, *arguments: str) -> str:
    """What git answers."""
    return subprocess.run(["git", *arguments], cwd=top, check=True, capture_output=True, text=True).stdout


@pytest.mark.long  # `.ci/run` does `make demo`
def test_the_demo_shows_a_fix_a_heal_and_a_manual_item_and_says_where_to_look(tmp_path: Path) -> None:
    environment = surroundings(tmp_path)

    played = subprocess.run(
        DEMO,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )

    said = played.stdout
    assert played.returncode == 0, said
    assert "step-4: fix 1 of 2" in said
    assert "parked: nothing can go on until wave-4 is answered" in said
    assert "step-3 adds to the plan (heal): step-3h" in said
    assert "(landed by step-3h" in said
    assert "step-5: The table reads well on a terminal" in said
    assert "7 of 7 steps landed" in said
    (folder,) = (tmp_path / "tmpdir").iterdir()
    assert (
        f"Look around (the folder is kept; make demo makes a new one each time):\n\n  cd {folder / 'tally'}\n" in said
    )
    branch = ask_git(folder / "tally", "for-each-ref", "--format=%(refname:short)", "refs/heads/drumline").strip()
    assert len(ask_git(folder / "tally", "log", "--format=%h", f"main..{branch}").split()) == 6
    assert {p.name for p in folder.joinpath("tally/plans/tally").glob("step-*") if "status: done" in p.read_text()} == {
        f"step-{number}.md" for number in (1, 2, 3, "3h", 4, 5, 6)
    }
    assert list((tmp_path / "home").iterdir()) == []
    assert find_left_over(folder) == []


@pytest.mark.long  # the board on a terminal is in test_terminal, the demo itself above
def test_on_a_terminal_the_demo_shows_the_board_and_cleans_up_if_asked(tmp_path: Path) -> None:
    environment = surroundings(tmp_path)

    code, shown = perform_at_terminal((*DEMO, "--clean"), tmp_path, environment)

    assert code == 0, shown
    assert "Tally: a word counter" in shown
    assert "█" in shown
    assert "7 of 7 steps landed" in shown
    assert "Look around" not in shown
    assert list((tmp_path / "tmpdir").iterdir()) == []
    assert find_left_over(tmp_path) == []
