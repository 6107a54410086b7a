"""A jail of the kernel's: a program reads most of the machine and writes only where it may; nothing of it stays behind.

The rule: bubblewrap is tried, not looked for. Where it does not work, writes outside are detected, not prevented.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from drumline.agents.hidden import find_areas, find_configuring, find_git_configs, find_hidden, find_needed
from drumline.agents.mounts import Layout, write_words
from drumline.agents.seccomp import build_filter
from drumline.agents.sockets import find_sockets
from drumline.core.secretlines import leave_out_secrets
from drumline.isolation.homes import find_homes
from drumline.ports.jail import Bounds
from drumline.ports.processes import HANDED, Job
from drumline.profiles import Grant
from drumline.record import Record, replace

PROGRAM = "bwrap"
TRIAL = 10.0
KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")
"""Settings of the kernel, which root could write to even without capabilities."""
GROUND = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    *(word for place in KERNEL for word in ("--ro-bind-try", place, place)),
)
APART = (
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
)
"""What holds wherever bubblewrap works. That privileges cannot be gained, bubblewrap sees to by itself."""
USERS = (("--unshare-user", "--disable-userns"), ("--unshare-user",), ())
"""Ways to a user namespace, the best first: one in which no other can be made, any, none."""

UNOWNED = {"TAR_OPTIONS": "--no-same-owner"}
"""For root: without capabilities it cannot give files away, which tar would try."""


class Jail(Record):
    """Bubblewrap at a place where it was seen to work, with the `users` that work here.

    `scopes` says that the command may give up gaining privileges before bubblewrap starts, which one that is setuid
    would not survive. `hide` are paths, with `~` and `$NAME`, that it does not show beside those that none shows.
    Without `network` the command reaches no other machine and no server on this one.
    """

    program: str
    users: tuple[str, ...] = ()
    scopes: bool = True
    hide: tuple[str, ...] = ()
    network: bool = True

    def wrap(self, job: Job, bounds: Bounds) -> Job:
        """The job in namespaces of its own, without capabilities, within the bounds; see `ports.jail`."""
        calls = [data for data in (build_filter(),) if data]
        words, data = write_words(self._lay_out(job, bounds).list_mounts(), first=HANDED + len(calls))
        argv = [
            self.program,
            *GROUND,
            *words,
            *APART,
            *self.users,
            *(() if self.network else ("--unshare-net",)),
            *(("--seccomp", str(HANDED)) if calls else ()),
            "--chdir",
            os.path.realpath(job.cwd),
            "--",
            *job.argv,
        ]
        env = {**(UNOWNED if os.geteuid() == 0 else {}), **job.env}
        return replace(job, argv=argv, env=env, handed=(*calls, *data), scoped=self.scopes)

    def list_words(self) -> tuple[str, ...]:
        """The words of a jail that shows the whole machine to be read."""
        return (self.program, *GROUND, *APART, *self.users)

    def _lay_out(self, job: Job, bounds: Bounds) -> Layout:
        layout = Layout()
        layout.empty(find_areas())
        for place, source in bounds.layers.items():
            layout.layer(place, source)
        layout.write(bounds.writable)
        for place, source in bounds.places.items():
            layout.place(place, source)
        for place, source in bounds.provided.items():
            layout.show(place, source)
        shown = [*bounds.readable, *find_needed(job), job.cwd]
        layout.read(shown)
        visible = set(shown)
        for path in find_git_configs(job.cwd):
            _leave_out(layout, path)
        layout.seal(bounds.sealed)
        layout.hide([*find_homes(self.hide), *(path for path in find_hidden() if path not in visible), *find_sockets()])
        layout.hide(path for path in bounds.hidden if not layout.is_granted_at(path))
        for path in find_configuring():
            _leave_out(layout, path)
        # Again: a variable or a word may name one file in a folder that is hidden by now.
        layout.read(shown)
        return layout


def _leave_out(layout: Layout, path: Path) -> None:
    """Show a file without its secrets, or not at all if it cannot be read as a text."""
    try:
        raw = path.read_bytes() if path.is_file() else b""
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        layout.hide([path])
        return
    left = leave_out_secrets(text).encode()
    if left != raw:
        layout.replace(path, left)


def tighten(jail: Jail | None, grant: Grant) -> Jail | None:
    """The jail with what a profile takes away."""
    # A slash at the end would have a folder made that is missing.
    return jail and replace(jail, hide=tuple(path.rstrip("/") for path in grant.hide), network=grant.network)


@lru_cache(maxsize=1)
def find_jail() -> Jail | None:
    """The jail, if it works here; tried once per process."""
    program = shutil.which(PROGRAM)
    if program is None:
        return None
    for users in USERS:
        jail = Jail(program=program, users=users, scopes=not _is_setuid(program))
        if _works([*jail.list_words(), "--", "true"]):
            return jail
    return None


def _works(argv: Sequence[str]) -> bool:
    try:
        tried = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=TRIAL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def _is_setuid(program: str) -> bool:
    return bool(Path(program).stat().st_mode & stat.S_ISUID)
