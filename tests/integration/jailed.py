"""A jail as one user has it, for tests: a home, a workspace, and commands; as root and as one without rights."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
USERS = ("root", "unprivileged")
ORDINARY = Path("/srv") if os.geteuid() == 0 else Path.home()
"""Where a home may be that is not below the folder for temporary files."""
BECOME = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """Where one user works: below `folder` are `home`, `work` (writable in the jail) and `outside` (not)."""

    folder: Path
    user: str

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    @property
    def env(self) -> dict[str, str]:
        """What the user's own programs see."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        # The Python that may be used instead of ours has none of our packages.
        paths = os.pathsep.join([str(ROOT), *(path for path in sys.path if path.startswith(str(ROOT)))])
        return {**kept, "HOME": str(self.home), "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}

    def own(self) -> None:
        """Give the user whatever is there by now."""
        if self.user == "unprivileged" and os.geteuid() == 0:
            for parent, folders, files in os.walk(self.folder):
                for name in (".", *folders, *files):
                    os.chown(Path(parent, name), NOBODY, NOBODY, follow_symlinks=False)

    def become(self) -> list[str]:
        """Words before a command that make it one of the user's."""
        if self.user == "root" or os.geteuid() != 0:
            return []
        return list(BECOME)

    def start(self, *argv: str) -> dict[str, Any]:
        """Run a command in the jail."""
        return self.start_within({}, *argv)

    def start_within(self, bounds: dict[str, Any], *argv: str, env: dict[str, str] | None = None) -> dict[str, Any]:
        """Run a command in a jail with these bounds."""
        self.own()
        request = json.dumps({"argv": argv, "folder": str(self.folder), "bounds": bounds})
        done = subprocess.run(
            [*self.become(), find_python(self.user), "-m", "tests.integration.jailtrial"],
            input=request,
            env={**self.env, **(env or {})},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        if "skip" in said:
            pytest.skip(said["skip"])
        return said

    def shell(self, line: str, **bounds: Any) -> str:
        """What a shell line prints in the jail."""
        ended = self.start_within(bounds, "bash", "-c", line)
        assert ended["code"] is not None, ended["message"]
        return str(ended["output"])


@cache
def find_python(user: str) -> str:
    """A Python that the user can start: ours may lie in a home that only root can enter."""
    if user == "root" or os.geteuid() != 0:
        return sys.executable
    can = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, *(f"{folder}/python3" for folder in os.defpath.split(os.pathsep))):
        # With env, or setpriv would start it with the rights to look for it that root had.
        tried = subprocess.run([*BECOME, "env", python, "-c", can], capture_output=True, check=False)
        if tried.returncode == 0:
            return python
    pytest.skip("no Python of at least 3.11 can be started by a user without rights")


@contextmanager
def open_cell(user: str, base: Path | None = None) -> Iterator[Cell]:
    """A place outside the tests' own folder, which only root could enter; below `base`, or among temporary files."""
    if user == "root" and os.geteuid() != 0:
        pytest.skip("only root can try what root can do")
    if user == "unprivileged" and os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv to become another user with")
    with tempfile.TemporaryDirectory(prefix="drumline-cell-", dir=base) as place:
        cell = Cell(folder=Path(place).resolve(), user=user)
        for folder in (cell.home, cell.work, cell.outside):
            folder.mkdir()
        cell.folder.chmod(0o755)
        cell.own()
        yield cell
