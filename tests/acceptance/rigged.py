"""A driver program like `drumline resume`, with a protection taken out or a fault put in. Only for tests.

It shows what a protection is worth: what holds with the real program must break without that protection.
`rigged.py cli ARGS` is `drumline ARGS` itself, struck at one of its writes to the journal.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import anyio

from drumline import wiring
from drumline.app.catalog import find_run, read_run
from drumline.app.drive import INTERRUPTED, drive
from drumline.cli.main import main as run_cli
from drumline.core.events import Event
from drumline.core.ids import Commit, RunId, StepId, Stream, Token
from drumline.core.state import RunState
from drumline.core.steprules import recover
from drumline.engine.driver import Driver
from drumline.engine.services import Services
from drumline.engine.upkeep import Upkeep
from drumline.errors import StaleToken, StoreError
from drumline.ports.journal import Addition, Message
from drumline.ports.workspaces import Landing
from drumline.record import replace
from drumline.store.requests import Request
from drumline.store.sqlite import SqliteStore
from drumline.wiring import STORE, Project, open_project
from drumline.wiring.services import open_services
from drumline.workspace.workspaces import GitWorkspaces


class RiggedStore(SqliteStore):
    """A store that can freeze its process inside a transaction, and that can forget to fence."""

    fencing = True
    strike_at = 0
    judged = 0

    def _write_alone(self, batch: Mapping[Stream, Addition], token: Token) -> int | None:
        """Everything goes the long way, past the rigged places."""
        return None

    def _judge(self, request: Request) -> int | StoreError:
        outcome = super()._judge(request)
        self.judged += 1
        if self.judged == self.strike_at:
            # Between BEGIN and COMMIT: a process that is frozen here keeps the write lock.
            strike("in a transaction")
        return outcome

    def _fence(self, token: Token, streams: Iterable[Stream]) -> None:
        try:
            super()._fence(token, streams)
        except StaleToken as refusal:
            say(f"stale: {refusal}")
            if self.fencing:
                raise


class StruckStore(SqliteStore):
    """A store whose process is struck at one write of all that its processes make, before it or after it.

    TALLY is the file in which they count together, STRIKE_NTH the write that is meant and STRIKE_WHEN the side of it.
    STRIKE_EVENT names an event instead, after whose first write the process is struck.
    """

    async def append(
        self, batch: Mapping[Stream, Addition], *, token: Token | None = None, settles: Sequence[int] = ()
    ) -> int:
        """Append, if it comes to that."""
        nth = count_write()
        strike_when("before", nth)
        last = None if settles or token is None else super().append_now(batch, token=token)
        if last is None:
            last = await super().append(batch, token=token, settles=settles)
        strike_when("after", nth)
        strike_event(event for addition in batch.values() for event in addition.events)
        return last

    def append_now(self, batch: Mapping[Stream, Addition], *, token: Token) -> int | None:
        """Nothing is written here: every write is to be counted, and `append` does that."""
        return None

    def put(self, run: RunId, message: Message) -> Message | None:
        """Keep a message, if it comes to that."""
        nth = count_write()
        strike_when("before", nth)
        earlier = super().put(run, message)
        strike_when("after", nth)
        return earlier


def count_write() -> int:
    """The number of the write that is about to be made, in all processes that keep this tally."""
    with Path(os.environ["TALLY"]).open("ab") as file:
        file.write(b".")
        return file.tell()


def strike_when(when: str, nth: int) -> None:
    """Strike if this is the write, and the side of it, that the test chose."""
    if (when, str(nth)) == (os.environ.get("STRIKE_WHEN"), os.environ.get("STRIKE_NTH")):
        strike(f"{when} write {nth}")


def strike_event(events: Iterable[Event]) -> None:
    """Strike if one of these events, which are written, is the one that the test chose."""
    chosen = os.environ.get("STRIKE_EVENT")
    if chosen in {type(event).__name__ for event in events}:
        strike(f"after {chosen}")


class RiggedWorkspaces(GitWorkspaces):
    """Workspaces whose process is struck when the branch is about to be moved, or a workspace about to be released."""

    at = ""

    async def land(self, step: StepId, commit: Commit, *, head: Commit) -> Landing:
        """Land, if it comes to that."""
        if self.at == "landing":
            strike("before a landing")
        return await super().land(step, commit, head=head)

    async def release(self, step: StepId) -> None:
        """Release, if it comes to that."""
        if self.at == "release":
            strike("before a release")
        await super().release(step)


def say(text: str) -> None:
    """Tell the test."""
    print(text, file=sys.stderr, flush=True)


def strike(where: str) -> None:
    """Send this process the signal that the test chose: one that freezes all its threads, or one that ends it."""
    say(f"struck {where}")
    os.kill(os.getpid(), signal.Signals[os.environ.get("STRIKE", "SIGSTOP")])


def rig(services: Services, at: str) -> Services:
    """The services with the asked-for fault in it."""
    if not at or not isinstance(services.workspaces, GitWorkspaces):
        return services
    workspaces = RiggedWorkspaces.__new__(RiggedWorkspaces)
    workspaces.__dict__.update(vars(services.workspaces))
    workspaces.at = at
    return replace(services, workspaces=workspaces)


async def drive_rigged(project: Project, store: SqliteStore, rigging: argparse.Namespace) -> RunState:
    """Drive the newest run as `drumline resume` does, but rigged; `interrupted` stands for exit 130."""
    run = read_run(store, find_run(store))
    started_at = store.read(Stream(run.id), kinds=("RunStarted",))[0].at
    services = rig(open_services(project, store, run, started_at=started_at), rigging.strike_at)
    driver = Driver(
        upkeep=Upkeep(services=services, recover=(lambda state, owner: []) if rigging.no_recovery else recover),
        run_id=run.id,
        jobs=rigging.jobs,
    )
    ended = await drive(driver, resuming=not project.roster.drivers(run.id))
    if driver.stopping:
        sys.exit(INTERRUPTED)
    return ended


def main(argv: Sequence[str]) -> int:
    """Drive the newest run of the repository around the current folder; 0 if it is done at the end."""
    if argv[:1] == ["cli"]:
        vars(wiring.project)["SqliteStore"] = StruckStore
        return run_cli(argv[1:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-recovery", action="store_true")
    parser.add_argument("--no-fencing", action="store_true")
    parser.add_argument("--strike-at-append", type=int, default=0)
    parser.add_argument("--strike-at", choices=("landing", "release"), default="")
    parser.add_argument("--jobs", type=int, default=2)
    rigging = parser.parse_args(argv)
    project = open_project()
    store = RiggedStore.open(project.state_dir / STORE, on_busy=project.roster.evict_frozen)
    store.fencing = not rigging.no_fencing
    store.strike_at = rigging.strike_at_append
    run = anyio.run(drive_rigged, project, store, rigging)
    store.close()
    return 0 if run.ended is not None and run.ended.state == "done" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
