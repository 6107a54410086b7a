"""Drives a run from a terminal or a script: shows progress, asks gates where a person is there, ends with a summary."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from drumline.app.catalog import read_run
from drumline.app.drive import INTERRUPTED, drive
from drumline.app.look import Watcher
from drumline.app.say import name_person
from drumline.app.say import say as leave_message
from drumline.cli.output import is_terminal, print_json, print_lines, problem_json, say
from drumline.cli.trusting import open_trust
from drumline.core import gates
from drumline.core.events import GateOpened
from drumline.core.ids import RunId, Stream
from drumline.core.plan import Problem
from drumline.core.recorded import Recorded
from drumline.core.state import Gate, RunState, fold_run
from drumline.engine.driver import Driver
from drumline.errors import InvalidInput
from drumline.ports.journal import Message
from drumline.store.sqlite import SqliteStore
from drumline.views.progress import Progress
from drumline.views.report import report_json, report_lines, step_report
from drumline.views.snapshot import Snapshot
from drumline.views.states import EXIT_CODES, run_state
from drumline.views.status import status_json
from drumline.views.summary import summary, summary_json, summary_lines
from drumline.wiring import Site

if TYPE_CHECKING:
    from drumline.app.recording import PlanRecorder

FRAME = 0.25
"""Seconds between two frames of the board."""


@dataclass(kw_only=True)
class Session:
    """One process at one run."""

    site: Site
    store: SqliteStore
    run: RunId
    as_json: bool = False
    fresh: bool = False
    recorder: PlanRecorder | None = None
    joined: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        own = self.store.read(Stream(self.run))
        # What is pinned at the beginning never changes: one reading is enough for every driver of this process.
        self._begun = fold_run(RunState(id=self.run), [recorded.event for recorded in own])
        self._started_at = own[0].at
        self.watcher: Watcher = self.site.watcher(self.store, self._begun)
        newest = [own[-1], *self.store.tail(self.run, after=own[-1].seq)][-1]
        self._progress = Progress(after=0 if self.fresh else newest.seq)
        self._board_say: Callable[[str], None] = say
        self._last_line = ""
        self._driver: Driver | None = None

    def drive(self, *, resuming: bool) -> int:
        """Drive to the end, asking gates where somebody can answer; return the exit code."""
        while True:
            state = self._drive_once(resuming=resuming)
            if not (state.parked and self._ask_patiently(state)):
                break
            resuming = True
        snapshot = self.look()
        self._conclude(snapshot)
        return self._exit_code(snapshot)

    def wind_up(self) -> None:
        """Bring a run that was cancelled while nobody drove it to its end, the plan's files included."""
        self._drive_once(resuming=True)

    def look(self) -> Snapshot:
        """The run as it is now."""
        return self.watcher.look(time.time())

    def _exit_code(self, snapshot: Snapshot) -> int:
        if self._driver is not None and self._driver.stopping:
            return INTERRUPTED
        return EXIT_CODES[run_state(snapshot)]

    def _drive_once(self, *, resuming: bool) -> RunState:
        trust = open_trust(self.site, as_json=self.as_json, tell=lambda text: self._board_say(text))
        kit = self.site.kit(self.store, self._begun, started_at=self._started_at, trust=trust)
        self._driver = Driver(
            kit=kit,
            run_id=self.run,
            jobs=self.site.settings.jobs,
            observe=self._observe,
            complain=self._complain,
            wait_told=self._tell_waiting,
            joined=self.joined,
        )
        with ExitStack() as stack:
            if self._shows_board():
                return anyio.run(self._drive_with_board, self._driver, resuming, stack)
            return anyio.run(self._drive_plainly, self._driver, resuming)

    def _shows_board(self) -> bool:
        return is_terminal() and not self.as_json and os.environ.get("TERM", "dumb") != "dumb"

    async def _drive_plainly(self, driver: Driver, resuming: bool) -> RunState:
        await driver.kit.workspaces.start(self._begun.begun.base)
        work = partial(drive, driver, resuming=resuming)
        return await (self.recorder.accompany(work) if self.recorder else work())

    async def _drive_with_board(self, driver: Driver, resuming: bool, stack: ExitStack) -> RunState:
        from drumline.cli.live import LiveBoard

        board = stack.enter_context(LiveBoard())
        self._board_say = board.say
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._animate, board.draw)
            state = await self._drive_plainly(driver, resuming)
            tasks.cancel_scope.cancel()
        self._board_say = say
        return state

    async def _animate(self, draw: Callable[[Callable[[], Snapshot]], None]) -> None:
        while True:
            if self.site.roster.drivers(self.run):  # before the driver is there, the run would look interrupted
                draw(self.look)
            await anyio.sleep(FRAME)

    def _observe(self, recorded: Sequence[Recorded]) -> None:
        """Tell what happened; the driver has it folded in already."""
        if self._driver is None:
            return
        for line in self._progress.feed(recorded, self._driver.run):
            if self.as_json:
                print_json({"schema_version": 1, **line.data})
            else:
                self._last_line = line.text
                self._board_say(line.text)

    def _tell_waiting(self, reason: str) -> None:
        """Nothing can be done here for now; a person who looks on should know what for, and reads it once."""
        if self.as_json:
            print_json({"schema_version": 1, "event": "waiting", "run": self.run, "reason": reason})
        elif not self._last_line.endswith(reason):
            self._board_say(f"waiting: {reason}")

    def _complain(self, problems: Sequence[Problem]) -> None:
        """An edit of the plan that cannot be used: the run goes on with the plan as it was."""
        if self.as_json:
            found = [problem_json(problem) for problem in problems]
            print_json({"schema_version": 1, "event": "plan_invalid", "run": self.run, "problems": found})
            return
        self._board_say("the plan was edited and is not valid; going on with the plan as it was:")
        for problem in problems[:5]:
            self._board_say(f"  {problem.where}: {problem.message}")

    def _ask_patiently(self, state: RunState) -> bool:
        """Ask; whoever is interrupted over it is told how to answer later."""
        try:
            return self._ask(state)
        except (click.Abort, KeyboardInterrupt):
            say("")
            self._conclude(self.look())
            raise

    def _ask(self, state: RunState) -> bool:
        """Ask the open gates at the terminal; whether one was answered."""
        if self.as_json or not is_terminal():
            self._notify(state)
            return False
        answered = [self._ask_one(gate) for gate in state.open_gates]
        return any(answered)

    def _ask_one(self, gate: Gate) -> bool:
        if gate.opened.free:
            return self._ask_freely(gate.opened)
        say("")
        say(click.style(gate.opened.question, bold=True))
        options = [*gate.opened.options, "later"]
        choice = click.prompt("Answer", type=click.Choice(options), default="later", err=True)
        if choice == "later":
            return False
        asks = choice != options[0] or gate.opened.kind == gates.WAVE
        comment = click.prompt("Comment", default="", show_default=False, err=True) if asks else ""
        message = Message(
            kind="answer",
            subject=gate.opened.gate,
            value=choice,
            comment=comment,
            by=name_person(),
            channel="terminal",
        )
        anyio.run(leave_message, self.store, self.site.roster, self.run, message)
        return True

    def _ask_freely(self, opened: GateOpened) -> bool:
        """Ask what any text answers, an agent's question; whether it was answered, here or elsewhere."""
        from drumline.cli.gateprompt import ask_comment, ask_gate

        reply = ask_gate(opened, lambda: opened.gate in read_run(self.store, self.run).unanswered)
        if reply.kind != "typed":
            return reply.kind == "settled"
        who, comment = name_person(), ask_comment(opened, reply.text)
        message = Message(
            kind="answer", subject=opened.gate, value=reply.text, comment=comment, by=who, channel="terminal"
        )
        try:
            anyio.run(leave_message, self.store, self.site.roster, self.run, message)
        except InvalidInput as error:  # somebody else was faster: their answer counts
            say(str(error))
        return True

    def _notify(self, state: RunState) -> None:
        """Tell somebody through the configured command that the run waits for an answer."""
        if self.site.settings.notify and state.open_gates:
            from drumline.cli.notify import notify

            notify(self.site, state)

    def _conclude(self, snapshot: Snapshot) -> None:
        chosen = snapshot.run.begun.selection
        single = chosen[0] if chosen is not None and len(chosen) == 1 else None
        found = summary(snapshot)
        if self.as_json:
            if single is not None:
                print_json({"schema_version": 1, "event": "report", **report_json(step_report(snapshot, single))})
            print_json({"schema_version": 1, "event": "summary", **summary_json(found)})
            print_json(status_json(snapshot))
        elif single is not None:
            print_lines(report_lines(step_report(self.watcher.look(time.time(), also=single), single)))
        else:
            print_lines(summary_lines(found))
