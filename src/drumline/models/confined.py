"""What a model starts, commands and servers, held like an agent. The rule: it writes where it may, sees no secret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from pathlib import Path

from drumline.isolation.gitguard import guard_git
from drumline.isolation.homes import LOGINS, find_homes, find_named, find_records, find_repository
from drumline.isolation.owngit import NO_SEAT, Seat, take_seat
from drumline.isolation.scratch import open_scratch, open_temp
from drumline.ports.jail import Bounds, Wrapper
from drumline.ports.processes import HARMLESS, Conversation, Ended, Job, Processes
from drumline.profiles import NOTHING, Grant
from drumline.record import Record, replace


class ConfinedProcesses(Record):
    """Runs commands that may write to `writable` only, where there is a jail; `temp` takes their temporary files.

    `keep` are variables of ours that they may see beside harmless ones, `seat` is theirs in the workspace, `sealed`
    what stays as it is beside that.
    """

    processes: Processes
    jail: Wrapper | None
    writable: tuple[Path, ...]
    temp: Path
    keep: tuple[str, ...] = ()
    seat: Seat = NO_SEAT
    sealed: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    async def run(self, job: Job) -> Ended:
        """Run to the end, as the port promises."""
        return await self.processes.run(self._confine(job))

    def open(self, job: Job) -> AbstractAsyncContextManager[Conversation]:
        """Run a command to talk with, as the port promises: a server, which a person has configured."""
        return self.processes.open(self._confine(job, named=find_named(job.argv)))

    def _confine(self, job: Job, *, named: Sequence[Path] = ()) -> Job:
        held = replace(job, env={**job.env, "TMPDIR": str(self.temp)}, keep=(*HARMLESS, *self.keep))
        if self.jail is None:
            return held
        bounds = Bounds(
            writable=(*self.writable, *self.seat.writable, self.temp),
            sealed=(*self.seat.sealed, *self.sealed),
            provided=self.seat.provided,
            readable=(*self.readable, *named),
            hidden=self.hidden,
        )
        return self.jail.wrap(held, bounds)


@contextmanager
def confine(
    processes: Processes,
    *,
    jail: Wrapper | None,
    workspace: Path,
    log: Path,
    grant: Grant = NOTHING,
    writable: Sequence[Path] = (),
    sealed: Sequence[Path] = (),
    read_only: bool = False,
) -> Iterator[ConfinedProcesses]:
    """Processes that are held to a workspace; what they leave in their temporary folder goes when this is left."""
    seat = take_seat(workspace, read_only=read_only) if jail else NO_SEAT
    # After a kill the scratch tells whoever clears up that there is a temporary folder, too.
    folder = log.with_name(log.name + ".tmp").absolute()
    guard = guard_git(workspace) if jail else nullcontext()
    with guard, open_scratch(folder) as scratch, open_temp(scratch) as temp:
        yield ConfinedProcesses(
            processes=processes,
            jail=jail,
            writable=(*find_homes(grant.folders), *writable),
            seat=seat,
            sealed=tuple(sealed),
            readable=tuple(find_repository(workspace)),
            hidden=(*find_records(workspace), *find_homes(LOGINS)),
            temp=temp,
            keep=grant.env,
        )
