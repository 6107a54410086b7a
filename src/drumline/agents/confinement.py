"""How an agent program is held: where it may write, what it may see, and a folder of its own for the time it works.

The rule: every program of ours is started through here, so that none can be held less than the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from drumline.agents.jail import Jail
from drumline.isolation.gitguard import guard_git
from drumline.isolation.homes import LOGINS, find_homes, find_named, find_records, find_repository
from drumline.isolation.owngit import take_seat
from drumline.isolation.privatehome import NONE, PrivateHomes
from drumline.isolation.scratch import LINK, open_scratch, open_temp
from drumline.ports.agents import Assignment
from drumline.ports.jail import Bounds
from drumline.ports.processes import HARMLESS, Job
from drumline.record import Record


class Confinement(Record):
    """What one assignment's program is held by. Without a `jail` its writes are not bounded by the kernel.

    `keep` are variables of ours that it may see beside harmless ones, `folders` those that it may write to, with `~`
    and `$NAME`. `scratch` is its own folder, from `make_scratch`, and `homes` are its private ones. `words` are those
    of commands that it starts: the files that they name stay visible. It may start `anybody` if it is not known which
    agent programs it starts; then the logins of all of them are visible.
    """

    assignment: Assignment
    scratch: Path
    jail: Jail | None = None
    keep: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    homes: PrivateHomes = NONE
    words: tuple[str, ...] = ()
    anybody: bool = False

    def write_job(self, argv: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None) -> Job:
        """The job that runs a command in the assignment's workspace."""
        temp = (self.scratch / LINK).readlink()
        job = Job(
            argv=argv,
            cwd=self.assignment.workspace,
            log=log,
            env={"TMPDIR": str(temp), "TERM": "dumb", "NO_COLOR": "1", **(env or {}), **self.homes.env},
            keep=(*HARMLESS, *self.keep),
        )
        return self.jail.wrap(job, self._bound(argv, temp)) if self.jail else job

    def _bound(self, argv: Sequence[str], temp: Path) -> Bounds:
        workspace = self.assignment.workspace
        seat = take_seat(workspace, read_only=self.assignment.read_only)
        return Bounds(
            writable=[*seat.writable, self.scratch, temp, *find_homes(self.folders), *self.assignment.writable],
            sealed=[*seat.sealed, *self.assignment.sealed, *self.homes.sealed],
            places=self.homes.places,
            provided=seat.provided,
            readable=[*find_repository(workspace), self.assignment.prompt_file, *find_named((*argv, *self.words))],
            hidden=[*find_records(workspace), *(() if self.anybody else find_homes(LOGINS))],
        )


@contextmanager
def make_scratch(assignment: Assignment, jail: Jail | None) -> Iterator[Path]:
    """A folder beside the transcript, and one for temporary files; both gone with all that is in them afterwards.

    With a jail git's ways in the workspace are then as they were, too.
    """
    folder = assignment.log.with_name(assignment.log.name + ".tmp").absolute()
    guard = guard_git(assignment.workspace) if jail else nullcontext()
    with guard, open_scratch(folder) as scratch, open_temp(scratch):
        yield scratch
