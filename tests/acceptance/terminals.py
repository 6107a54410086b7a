"""A real terminal, made with tmux, in which a user types commands and answers questions."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.cli_user import User, leaving_nothing, standing_in, wait_for

from drumline.cli.main import main


def _write_line(args: tuple[str, ...], before: str = "") -> str:
    command = before + shlex.join([sys.executable, "-m", "drumline", *args])
    return f"trap : INT; {command}; echo exit=$?; sleep 600"


@dataclass(frozen=True, kw_only=True, slots=True)
class Terminal:
    """A window, of 100 × 30 characters if nothing else is said, in which one command runs; its exit code appears as
    `exit=N`.
    """

    user: User
    socket: str
    size: tuple[int, int] = (100, 30)

    def tmux(self, *args: str) -> str:
        """Ask the server of this terminal."""
        told = subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", self.socket, *args],
            env=self.user.env,
            check=False,
            capture_output=True,
            text=True,
        )
        return told.stdout

    def type_command(self, *args: str, before: str = "") -> None:
        """Run a Drumline command as if it were typed; `before` stands in front of it."""
        line = _write_line(args, before)
        wide, high = map(str, self.size)
        self.tmux("new-session", "-d", "-x", wide, "-y", high, "-c", str(self.user.repo), "sh", "-c", line)

    def type_another(self, *args: str) -> None:
        """Run another command in the same window, with nothing of the first one on it.

        A server that is stopped and started again could still be ending when it is asked for the new window.
        """
        line = _write_line(args)
        self.tmux("respawn-pane", "-k", "-c", str(self.user.repo), "sh", "-c", line, ";", "clear-history")

    def press(self, *keys: str) -> None:
        """Press keys, named as tmux names them."""
        self.tmux("send-keys", *keys)

    def screen(self) -> str:
        """What is to be seen now, and what has scrolled away."""
        return self.tmux("capture-pane", "-p", "-S", "-")

    def shown(self) -> str:
        """What is to be seen now, without what has scrolled away."""
        return self.tmux("capture-pane", "-p")

    def await_text(self, text: str) -> str:
        """The screen once it shows this text."""
        seen = [""]

        def shows() -> bool:
            seen.append(self.screen())
            return text in seen[-1] or "exit=" in seen[-1]

        wait_for(shows, f"{text!r} did not appear")
        assert text in seen[-1], seen[-1]
        return seen[-1]


@contextmanager
def open_terminal(user: User) -> Iterator[Terminal]:
    """A terminal of this user's; what runs in it is gone afterwards."""
    # A socket's path must be short, shorter than the folders of tests are.
    short = Path(tempfile.mkdtemp(prefix="drumline-"))
    made = Terminal(user=user, socket=str(short / "s"))
    with leaving_nothing(user.folder):
        yield made
        (user.folder / "home" / "go").touch()
        made.tmux("kill-server")
        shutil.rmtree(short)


def accept_commands(user: User, place: str) -> None:
    """Accept what a plan or a flow brings, as somebody who has run it before."""
    with standing_in(user.repo, user.env):
        assert main(["trust", place, "--accept"]) == 0
