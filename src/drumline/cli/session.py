"""Drives a run from a terminal or a script: shows progress, asks gates where a person is there, ends with a summary."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from drumline.app.catalog import read_run
from drumline.app.drive import INTERRUPTED, drive
from drumline.app.inbox import name_person, send
from drumline.app.leftovers import clear_before_start
from drumline.cli.debugging import is_debugging, keep_debug_log
from drumline.cli.merging import is_merge_due, merge
from drumline.cli.output import is_terminal, print_json, print_lines, print_text, problem_json, say
from drumline.cli.recordings import record_run
from drumline.cli.trusting import ask_again, open_trust
from drumline.core.events import GateOpened
from drumline.core.ids import GateId, RunId, Stream
from drumline.core.plan import Problem
from drumline.core.recorded import Recorded
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.core.vocabulary import STUCK
from drumline.engine.driver import Driver
from drumline.engine.outbox import REFUSED
from drumline.engine.upkeep import Upkeep
from drumline.errors import InvalidInput
from drumline.ports.journal import Message
from drumline.settingrows import PRESETS
from drumline.store.sqlite import SqliteStore
from drumline.views.cells import flatten
from drumline.views.progress import Progress
from drumline.views.report import report_json, report_lines, step_report
from drumline.views.snapshot import Snapshot
from drumline.views.states import EXIT_CODES, run_state
from drumline.views.status import status_json
from drumline.views.summary import output_lines, summary, summary_json, summary_lines, warn_of_end
from drumline.views.told import Line
from drumline.wiring import Project
from drumline.wiring.services import open_services

if TYPE_CHECKING:
    from drumline.app.recorder import Recorder

log = logging.getLogger(__name__)
FRAME = 0.25
"""Seconds between two frames of the board."""
KEY_POLL = 0.05
"""Seconds until a key is noticed."""


@dataclass(kw_only=True)
class Session:
    """One process at one run; `record` is the file it is recorded to, if it is not recorded already."""

    project: Project
    store: SqliteStore
    run: RunId
    as_json: bool = False
    fresh: bool = False
    joined: Callable[[], None] = lambda: None
    record: Path | None = None

    def __post_init__(self) -> None:
        keep_debug_log(self.project.logs(self.run), self.project.redaction)
        own = self.store.read(Stream(self.run))
        # What is pinned at the beginning never changes: one reading is enough for every driver of this process.
        self._begun = fold_run(RunState(id=self.run), [recorded.event for recorded in own])
        self._started_at, last = own[0].at, own[-1].seq
        newest = next((entry.seq for entry in reversed(self.store.tail(self.run, after=last))), last)
        self._progress = Progress(after=0 if self.fresh else newest)
        self.watcher = self.project.watcher(self.store, self._begun)
        self._warned: set[str] = set()
        self._last_reason: object = ""
        self._board_say: Callable[[str], None] = say
        self._driver: Driver | None = None
        self._recorder: Recorder | None = None

    def look(self) -> Snapshot:
        """The run as it is now."""
        return self.watcher.look(time.time())

    def ask_trust(self) -> None:
        """Ask about commands that came since the run began."""
        ask_again(self.project, read_run(self.store, self.run), as_json=self.as_json)

    def drive(self, *, resuming: bool) -> int:
        """Drive to the end, record and merge if that was asked for; return the exit code."""
        with record_run(self.project, self.store, self._begun, self.record) as self._recorder:
            code = self._drive_on(resuming=resuming)
            run = read_run(self.store, self.run)
            if code == 0 and is_merge_due(self.project, run):
                merge(self.project, run, as_json=self.as_json)
            elif code == 0 and run.begun.merge:
                say(f"nothing to merge: {run.begun.merge} has all of it")
        return code

    def _drive_on(self, *, resuming: bool) -> int:
        """Drive, asking gates where somebody can answer, until there is nothing left to drive or to ask."""
        while True:
            state = self._drive_once(resuming=resuming)
            asking = state.parked or any(gate.opened.kind in STUCK for gate in state.open_gates)
            if not (asking and state.pause is None and self._ask_patiently(state)):
                break
            resuming = True
        self._conclude()
        seen = self.look()
        if seen.run.ended is not None:
            self._notify(seen.run)
        if self._driver is not None and self._driver.stopping and seen.run.ended is None:
            return INTERRUPTED  # a signal that came after the end has stopped nothing
        return EXIT_CODES[run_state(seen)]

    def wind_up(self) -> None:
        """Bring a run that was cancelled while nobody drove it to its end, the plan's files included."""
        self._drive_once(resuming=True)

    def _drive_once(self, *, resuming: bool) -> RunState:
        driver = self._driver = self._open_driver()
        with ExitStack() as stack:
            if is_terminal() and not (self.as_json or is_debugging()) and os.environ.get("TERM", "dumb") != "dumb":
                return anyio.run(self._drive_with_board, driver, resuming, stack)
            return anyio.run(self._clear_and_work, driver, resuming)

    async def _clear_and_work(self, driver: Driver, resuming: bool) -> RunState:
        """Work, after what dead processes of ours left in this repository was removed."""
        for leftover in await clear_before_start(self.project.cleanup(self.store)):
            if leftover.note:
                self._board_say(f"{leftover.deed} {leftover.path}; {leftover.note}")
        work = partial(drive, driver, resuming=resuming)
        return await (self._recorder.accompany(work) if self._recorder else work())

    def _open_driver(self) -> Driver:
        trust = open_trust(self.project, as_json=self.as_json, tell=lambda text: self._board_say(text))
        services = open_services(self.project, self.store, self._begun, started_at=self._started_at, trust=trust)
        driver = Driver(
            upkeep=Upkeep(
                services=services if self._recorder is None else self._recorder.attach(services),
                complain=self._complain,
                warn=self._warn,
            ),
            run_id=self._begun.id,
            jobs=self.project.settings.jobs,
            observe=lambda recorded: self._observe(recorded, driver.run),
            wait_told=self._tell_waiting,
            joined=self.joined,
        )
        return driver

    def _observe(self, recorded: Sequence[Recorded], run: RunState) -> None:
        """Tell what happened; the driver has it folded in already."""
        for entry in recorded if is_debugging() else ():
            facts = {"seq": entry.seq, "step": entry.stream.step or "-", "version": entry.version}
            log.debug("recorded %s", type(entry.event).__name__, extra=facts)
        for line in self._progress.feed(recorded, run):
            self._show(line)

    def _complain(self, problems: Sequence[Problem]) -> None:
        """An edit of the plan that cannot be used (the run keeps the plan as it was), or a mark that is refused."""
        for problem in problems:
            if problem.code == REFUSED:
                self._warn(problem.message)
        problems = [problem for problem in problems if problem.code != REFUSED]
        if not problems:
            return
        said = "the plan was edited and is not valid; continuing with the plan as it was:"
        self._tell("plan_invalid", said, problems=[problem_json(problem) for problem in problems])
        for problem in problems[:5] if not self.as_json else ():
            self._board_say(f"  {problem.where}: {problem.message}")

    def _warn(self, text: str) -> None:
        """Say once what had to be guessed."""
        if text not in self._warned:
            self._warned.add(text)
            self._tell("warning", f"warning: {text}", message=text)

    def _conclude(self) -> None:
        """Say what the run leaves its user with; of a flow, stdout has what its end put out and nothing else."""
        snapshot, changed = self.look(), self.project.repository.uncommitted()
        if snapshot.flow_walk is not None and (text := warn_of_end(snapshot.flow_walk)):
            self._warn(text)
        chosen = snapshot.run.begun.selection
        single = chosen[0] if chosen is not None and len(chosen) == 1 else None
        if self.as_json:
            if single is not None:
                print_json({"schema_version": 1, "event": "report", **report_json(step_report(snapshot, single))})
            print_json({"schema_version": 1, "event": "summary", **summary_json(summary(snapshot, changed=changed))})
            print_json(status_json(snapshot))
        elif single is not None:
            print_text(report_lines(step_report(self.watcher.look(time.time(), also=single), single)))
        elif snapshot.flow_walk is None:
            print_text(summary_lines(summary(snapshot, changed=changed)))
        else:
            for line in summary_lines(summary(snapshot, changed=changed)):
                say(line)
            print_lines(output_lines(snapshot))

    async def _drive_with_board(self, driver: Driver, resuming: bool, stack: ExitStack) -> RunState:
        from drumline.cli.desk import open_desk
        from drumline.cli.keys import Keyboard
        from drumline.cli.live import LiveBoard

        keyboard, board = stack.enter_context(Keyboard()), LiveBoard()
        shown = stack.enter_context(ExitStack())
        shown.enter_context(board)
        self._board_say = board.say
        desk = open_desk(
            self.project, self.store, self.watcher, inbox=lambda: nullcontext(self.store), keys=keyboard.listens
        )

        async def animate() -> None:
            drawn = 0.0
            while not desk.quitted:
                keys = keyboard.read()
                if self.project.roster.drivers(self.run):  # before the driver is there, the run would look interrupted
                    for key in keys:
                        desk.press(key, self.look())
                    if keys or time.monotonic() - drawn >= FRAME:
                        drawn = time.monotonic()
                        board.draw_rows(partial(desk.draw, self.look()))
                await anyio.sleep(KEY_POLL)
            self._board_say = say
            shown.close()
            say(f"no longer showing the board; run {self.run} goes on here, Ctrl-C stops it")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(animate)
            state = await self._clear_and_work(driver, resuming)
            tasks.cancel_scope.cancel()
        self._board_say = say
        return state

    def _show(self, line: Line) -> None:
        """Say what happened."""
        if self.as_json:
            print_json({"schema_version": 1, **line.data})
        else:
            self._last_reason = line.data.get("reason")
            # At a terminal a question is asked in full, or the board has it.
            self._board_say(line.text.partition("\n")[0] if is_terminal() else line.text)

    def _tell_waiting(self, reason: str) -> None:
        """Nothing can be done here for now; a person who looks on should know what for, and reads it once."""
        if self.as_json or self._last_reason != reason:
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
        alone = self.as_json or not is_terminal()
        if state.open_gates and (alone or self.project.settings.notify in PRESETS):
            self._notify(state)
        if alone:
            return False
        answered = [self._ask_one(gate.opened) for gate in state.open_gates]
        now = read_run(self.store, self.run)
        return now.ended is None and (any(answered) or not now.parked)

    def _notify(self, state: RunState) -> None:
        if self.project.settings.notify:
            from drumline.cli.notify import notify

            notify(self.project, state)

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
            anyio.run(send, self.store, self.project.roster, self.run, message)
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
        return self._seen.is_asking(self.gate)

    def tell(self) -> str:
        """What settled the question, for the person who was about to answer it."""
        run = self._seen or read_run(self.store, self.run)
        found = run.gates.get(self.gate)
        if found is None or found.answer is None:
            return f"{self.gate} is not asked any more"
        who = f" by {flatten(found.answer.by)}" if found.answer.by else ""
        return f"{self.gate} was answered {flatten(found.answer.choice)!r}{who} meanwhile"
