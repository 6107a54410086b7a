"""A jail of the kernel's: a program sees the whole machine, writes only where it may, and nothing of it stays behind.

The rule: bubblewrap is tried, not looked for. Where it does not work, writes outside are detected, not prevented.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PROGRAM = "bwrap"
TRIAL = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Jail:
    """Bubblewrap at a place where it was seen to work."""

    program: str

    def wrap(
        self, argv: Sequence[str], *, cwd: Path, writable: Sequence[Path], sealed: Sequence[Path] = ()
    ) -> list[str]:
        """The command in a pid namespace of its own, on a machine that it can only read but for `writable`.

        `sealed` folders are only to be read, too, even where a folder around them may be written to; one inside them
        that may be written to still may.
        """
        binds = [*(("--bind", path) for path in writable), *(("--ro-bind", path) for path in sealed)]
        # What is mounted later lies over what is there, so the outermost come first.
        binds.sort(key=lambda bind: len(bind[1].parts))
        return [
            self.program,
            *_GROUND,
            *(part for how, path in dict.fromkeys(binds) for part in (how, str(path), str(path))),
            "--unshare-pid",
            "--die-with-parent",
            "--chdir",
            str(cwd),
            "--",
            *argv,
        ]


_GROUND = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")


@lru_cache(maxsize=1)
def find_jail() -> Jail | None:
    """The jail, if it works here; tried once per process."""
    program = shutil.which(PROGRAM)
    if program is None:
        return None
    try:
        tried = subprocess.run(
            [program, *_GROUND, "--unshare-pid", "--die-with-parent", "--", "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Jail(program=program) if tried.returncode == 0 else None
