"""Drives a run from a terminal or a script: shows progress, asks gates where a person is there, ends with a summary.

What is the same for every run is here; what a run of a plan and one of a flow have of their own is in `plansession.py`
and `flowsession.py`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import anyio
import click

from drumline.app.catalog import read_run
from drumline.app.drive import INTERRUPTED
from drumline.app.leftovers import clear_before_start
from drumline.app.say import name_person
from drumline.app.say import say as leave_message
from drumline.cli.output import is_terminal, print_json, say
from drumline.core.events import GateOpened
from drumline.core.ids import GateId, RunId, Stream
from drumline.core.state import RunState, fold_run
from drumline.engine.driver import Driver
from drumline.errors import InvalidInput
from drumline.ports.journal import Message
from drumline.store.sqlite import SqliteStore
from drumline.views.cells import Row, flatten
from drumline.views.progress import Line
from drumline.views.snapshot import RunSnapshot
from drumline.views.states import EXIT_CODES, run_state
from drumline.wiring import Site

FRAME = 0.25
"""Seconds between two frames of the board."""
OVER = frozenset({"done", "failed", "cancelled"})
"""States in which a signal that came at the last moment has stopped nothing."""


@dataclass(kw_only=True)
class Session(ABC):
    """One process at one run."""

    site: Site
    store: SqliteStore
    run: RunId
    as_json: bool = False
    fresh: bool = False
    joined: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        own = self.store.read(Stream(self.run))
        # What is pinned at the beginning never changes: one reading is enough for every driver of this process.
        self._begun = fold_run(RunState(id=self.run), [recorded.event for recorded in own])
        self._started_at, last = own[0].at, own[-1].seq
        newest = next((entry.seq for entry in reversed(self.store.tail(self.run, after=last))), last)
        self._told = 0 if self.fresh else newest
        self._last_line = ""
        self._board_say: Callable[[str], None] = say
        self._driver: Driver | None = None

    @abstractmethod
    def look(self) -> RunSnapshot:
        """The run as it is now."""

    @abstractmethod
    def ask_trust(self) -> None:
        """Ask about commands that came since the run began."""

    @abstractmethod
    def _open_driver(self) -> Driver:
        """A driver for this process, which tells this session what it does."""

    @abstractmethod
    async def _work(self, driver: Driver, *, resuming: bool) -> RunState:
        """Drive until the run ends or parks, or a signal stops the driver."""

    @abstractmethod
    def _draw(self, width: int, height: int, tick: int) -> list[Row]:
        """The board as it is now."""

    @abstractmethod
    def _conclude(self) -> None:
        """Say what the run leaves its user with."""

    def drive(self, *, resuming: bool) -> int:
        """Drive to the end, asking gates where somebody can answer; return the exit code."""
        while True:
            state = self._drive_once(resuming=resuming)
            if not (state.parked and self._ask_patiently(state)):
                break
            resuming = True
        self._conclude()
        ended = run_state(self.look())
        if self._driver is not None and self._driver.stopping and ended not in OVER:
            return INTERRUPTED
        return EXIT_CODES[ended]

    def wind_up(self) -> None:
        """Bring a run that was cancelled while nobody drove it to its end, the plan's files included."""
        self._drive_once(resuming=True)

    def _drive_once(self, *, resuming: bool) -> RunState:
        driver = self._driver = self._open_driver()
        with ExitStack() as stack:
            if is_terminal() and not self.as_json and os.environ.get("TERM", "dumb") != "dumb":
                return anyio.run(self._drive_with_board, driver, resuming, stack)
            return anyio.run(self._clear_and_work, driver, resuming)

    async def _clear_and_work(self, driver: Driver, resuming: bool) -> RunState:
        """Work, after what dead processes of ours left in this repository was removed."""
        for leftover in await clear_before_start(self.site.cleanup(self.store)):
            if leftover.note:
                self._board_say(f"removed {leftover.path}; {leftover.note}")
        return await self._work(driver, resuming=resuming)

    async def _drive_with_board(self, driver: Driver, resuming: bool, stack: ExitStack) -> RunState:
        from drumline.cli.live import LiveBoard

        board = stack.enter_context(LiveBoard())
        self._board_say = board.say

        async def animate() -> None:
            while True:
                if self.site.roster.drivers(self.run):  # before the driver is there, the run would look interrupted
                    board.draw_rows(self._draw)
                await anyio.sleep(FRAME)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(animate)
            state = await self._clear_and_work(driver, resuming)
            tasks.cancel_scope.cancel()
        self._board_say = say
        return state

    def _show(self, line: Line) -> None:
        """Say what happened."""
        if self.as_json:
            print_json({"schema_version": 1, "run": self.run, **line.data})
        else:
            self._last_line = line.text
            self._board_say(line.text)

    def _tell_waiting(self, reason: str) -> None:
        """Nothing can be done here for now; a person who looks on should know what for, and reads it once."""
        if self.as_json or not self._last_line.endswith(reason):
            self._tell("waiting", f"waiting: {reason}", reason=reason)

    def _tell(self, event: str, text: str, **data: object) -> None:
        """Say something that is not in the journal."""
        if self.as_json:
            print_json({"schema_version": 1, "event": event, "run": self.run, **data})
        else:
            self._board_say(text)

    # --- gates --------------------------------------------------------------------------------------------------

    def _ask_patiently(self, state: RunState) -> bool:
        """Ask; whoever is interrupted over it is told how to answer later."""
        try:
            return self._ask(state)
        except (click.Abort, KeyboardInterrupt):
            say("")
            self._conclude()
            raise

    def _ask(self, state: RunState) -> bool:
        """Ask the open gates at the terminal; whether one was answered, here or elsewhere."""
        if self.as_json or not is_terminal():
            if self.site.settings.notify and state.open_gates:
                from drumline.cli.notify import notify

                notify(self.site, state)
            return False
        answered = [self._ask_one(gate.opened) for gate in state.open_gates]
        now = read_run(self.store, self.run)
        return now.ended is None and (any(answered) or not now.parked)

    def _ask_one(self, opened: GateOpened) -> bool:
        """Ask one gate; whether it was answered, here or elsewhere."""
        from drumline.cli.gateprompt import ask_comment, ask_gate

        lookout = _Lookout(store=self.store, run=self.run, gate=opened.gate)
        reply = ask_gate(opened, lookout.is_open)
        if reply.kind == "settled":
            say(lookout.tell())
        if reply.kind != "typed":
            return reply.kind == "settled"
        message = Message(
            kind="answer",
            subject=opened.gate,
            value=reply.text,
            comment=ask_comment(opened, reply.text),
            by=name_person(),
            channel="terminal",
        )
        try:
            anyio.run(leave_message, self.store, self.site.roster, self.run, message)
        except InvalidInput as error:  # somebody else was faster: their answer counts
            say(str(error))
        return True


@dataclass(kw_only=True)
class _Lookout:
    """Whether a question is still to be answered; reads the run only when something was written."""

    store: SqliteStore
    run: RunId
    gate: GateId
    _position: int = -1
    _seen: RunState | None = None

    def is_open(self) -> bool:
        """Look again."""
        position = self.store.position()
        if self._seen is None or position != self._position:
            self._position, self._seen = position, read_run(self.store, self.run)
        return self._seen.ended is None and self.gate in self._seen.unanswered

    def tell(self) -> str:
        """What settled the question, for the person who was about to answer it."""
        run = self._seen or read_run(self.store, self.run)
        found = run.gates.get(self.gate)
        if found is None or found.answer is None:
            return f"{self.gate} is not asked any more"
        who = f" by {flatten(found.answer.by)}" if found.answer.by else ""
        return f"{self.gate} was answered {flatten(found.answer.choice)!r}{who} meanwhile"
