"""Walks a flow from a terminal or a script: shows the nodes, asks where a person is there, prints the end's output."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from drumline.app.catalog import read_run
from drumline.app.drive import INTERRUPTED, drive
from drumline.app.flowlook import FlowWatcher
from drumline.app.say import name_person
from drumline.app.say import say as leave_message
from drumline.cli.output import is_terminal, print_json, say
from drumline.cli.trusting import ask_flow_trust, open_trust
from drumline.core.events import Event, GateOpened
from drumline.core.flow.ends import warn_of_status
from drumline.core.flow.model import EndNode
from drumline.core.ids import GateId, RunId, Stream
from drumline.core.state import RunState, fold_run
from drumline.engine.flow.driver import FlowDriver
from drumline.errors import InvalidInput, NotAllowed
from drumline.flowwiring import list_flows, open_flow_kit, open_library
from drumline.ports.journal import Message
from drumline.store.sqlite import SqliteStore
from drumline.views.cells import flatten
from drumline.views.flowboard import flow_segments
from drumline.views.flowprogress import FlowProgress
from drumline.views.flowsnapshot import FlowSnapshot
from drumline.views.flowstatus import flow_status_json, flow_summary_lines
from drumline.views.states import EXIT_CODES, run_state
from drumline.wiring import Site

if TYPE_CHECKING:
    from drumline.app.flowrecording import FlowRecorder
    from drumline.cli.live import LiveBoard

REFUSALS = 20
"""How often a claim may be refused although nobody is seen to drive."""
FRAME = 0.25
"""Seconds between two frames of the board."""


@dataclass(kw_only=True)
class FlowSession:
    """One process at one flow run."""

    site: Site
    store: SqliteStore
    run: RunId
    as_json: bool = False
    recorder: FlowRecorder | None = None

    def __post_init__(self) -> None:
        own = self.store.read(Stream(self.run))
        self._begun = fold_run(RunState(id=self.run), [recorded.event for recorded in own])
        trust = open_trust(self.site, as_json=self.as_json, tell=self._warn)
        self._kit = open_flow_kit(self.site, self.store, self._begun, started_at=own[0].at, trust=trust)
        self.watcher = FlowWatcher(
            store=self.store, roster=self.site.roster, recall=self._kit.library.recall, run=self.run
        )
        self._progress = FlowProgress()
        self._warned: set[str] = set()
        self._board_say: Callable[[str], None] = say
        self._driver: FlowDriver | None = None

    def drive(self, *, resuming: bool) -> int:
        """Walk to the end, asking where somebody can answer; print the output and return the exit code."""
        while True:
            state = self._drive_or_look_on(resuming=resuming)
            if not (state.parked and self._ask_patiently(state)):
                break
            resuming = True
        snapshot = self.look()
        self._conclude(snapshot)
        if self._driver is not None and self._driver.stopping:
            return INTERRUPTED
        return EXIT_CODES[run_state(snapshot)]

    def ask_trust(self) -> None:
        """Ask about what came since the run began: flows are as they were, their scripts as they are now."""
        pinned = self._begun.flow
        if pinned is not None:
            library = open_library(self.site, self.site.logs(self.run) / "flows", override=pinned.agent)
            flows = list_flows(library, library.recall(pinned.path, pinned.digest))
            ask_flow_trust(self.site, flows, agent=pinned.agent, model=pinned.model, as_json=self.as_json)

    def wind_up(self) -> None:
        """Bring a run that was cancelled while nobody drove it to its end."""
        self._drive_once(resuming=True)

    def look(self) -> FlowSnapshot:
        """The run as it is now."""
        return self.watcher.look(time.time())

    def _drive_or_look_on(self, *, resuming: bool) -> RunState:
        """Drive; while another process does, wait for what it comes to."""
        for refused in itertools.count(1):
            try:
                return self._drive_once(resuming=resuming)
            except (NotAllowed, BaseExceptionGroup) as error:
                # The other may have left since: then it is our turn, unless we are refused for another reason.
                gone = not self.site.roster.drivers(self.run)
                if not _is_refusal(error) or (gone and refused > REFUSALS):
                    raise
                if gone:
                    time.sleep(FRAME)
                    continue
            say(f"run {self.run} is driven by another process; waiting for it (Ctrl-C stops waiting, not the run)")
            while self.site.roster.drivers(self.run):
                time.sleep(FRAME)
            state = read_run(self.store, self.run)
            if state.parked or state.ended:
                return state
            resuming = True
        raise AssertionError("counting has no end")

    def _drive_once(self, *, resuming: bool) -> RunState:
        kit = self.recorder.attach(self._kit) if self.recorder else self._kit
        self._driver = FlowDriver(kit=kit, run_id=self.run, observe=self._observe, warn=self._warn)
        with ExitStack() as stack:
            if is_terminal() and not self.as_json and os.environ.get("TERM", "dumb") != "dumb":
                return anyio.run(self._drive_with_board, self._driver, resuming, stack)
            return anyio.run(self._drive_plainly, self._driver, resuming)

    async def _drive_plainly(self, driver: FlowDriver, resuming: bool) -> RunState:
        return await drive(driver, resuming=resuming)

    async def _drive_with_board(self, driver: FlowDriver, resuming: bool, stack: ExitStack) -> RunState:
        from drumline.cli.live import LiveBoard

        board = stack.enter_context(LiveBoard())
        self._board_say = board.say
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._animate, board)
            state = await self._drive_plainly(driver, resuming)
            tasks.cancel_scope.cancel()
        self._board_say = say
        return state

    async def _animate(self, board: LiveBoard) -> None:
        while True:
            if self.site.roster.drivers(self.run):  # before the driver is there, the run would look interrupted
                board.draw_rows(
                    lambda width, height, tick: flow_segments(self.look(), width=width, height=height, tick=tick)
                )
            await anyio.sleep(FRAME)

    def _observe(self, events: Sequence[Event]) -> None:
        for line in self._progress.feed(events, at=time.time()):
            if self.as_json:
                print_json({"schema_version": 1, "run": self.run, **line.data})
            else:
                self._board_say(line.text)

    def _warn(self, text: str) -> None:
        """Say once what had to be guessed."""
        if text in self._warned:
            return
        self._warned.add(text)
        if self.as_json:
            print_json({"schema_version": 1, "run": self.run, "event": "warning", "message": text})
        else:
            self._board_say(f"warning: {text}")

    def _ask_patiently(self, state: RunState) -> bool:
        """Ask; whoever is interrupted over it is told how to answer later."""
        try:
            return self._ask(state)
        except KeyboardInterrupt:
            say("")
            self._conclude(self.look())
            raise

    def _ask(self, state: RunState) -> bool:
        """Ask the open questions at the terminal; whether there is something to go on with, whoever answered."""
        if self.as_json or not is_terminal():
            if self.site.settings.notify:
                from drumline.cli.notify import notify

                notify(self.site, state)
            return False
        answered = [self._ask_one(gate.opened) for gate in state.open_gates]
        now = read_run(self.store, self.run)
        return now.ended is None and (any(answered) or not now.parked)

    def _ask_one(self, opened: GateOpened) -> bool:
        from drumline.cli.gateprompt import ask_gate

        lookout = _Lookout(store=self.store, run=self.run, gate=opened.gate)
        reply = ask_gate(opened, lookout.is_open)
        if reply.kind == "settled":
            say(lookout.tell())
        if reply.kind != "typed":
            return reply.kind == "settled"
        who = name_person()
        message = Message(kind="answer", subject=opened.gate, value=reply.text, by=who, channel="terminal")
        try:
            anyio.run(leave_message, self.store, self.site.roster, self.run, message)
        except InvalidInput as error:  # somebody else was faster: their answer counts
            say(str(error))
        return True

    def _conclude(self, snapshot: FlowSnapshot) -> None:
        self._warn_of_status(snapshot)
        if self.as_json:
            print_json(flow_status_json(snapshot))
            return
        root = snapshot.flows.get("")
        ended = root.ended if root else None
        for line in flow_summary_lines(snapshot):
            say(line)
        if ended is not None and ended.output:
            sys.stdout.write(ended.output if ended.output.endswith("\n") else ended.output + "\n")
            sys.stdout.flush()

    def _warn_of_status(self, snapshot: FlowSnapshot) -> None:
        """Say where the status of the run's end was read from a word."""
        root = snapshot.flows.get("")
        node = root.chart.nodes.get(root.ended.node) if root and root.ended else None
        if root and root.ended and isinstance(node, EndNode) and (text := warn_of_status(node, root.ended.status)):
            self._warn(text)


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
        """What settled the question, for whoever was about to answer it."""
        run = self._seen or read_run(self.store, self.run)
        found = run.gates.get(self.gate)
        if found is None or found.answer is None:
            return f"{self.gate} is not asked any more"
        who = f" by {flatten(found.answer.by)}" if found.answer.by else ""
        return f"{self.gate} was answered {flatten(found.answer.choice)!r}{who} meanwhile"


def _is_refusal(error: BaseException) -> bool:
    """Whether this says that the run may not be driven now; task groups wrap what is raised in them."""
    if isinstance(error, BaseExceptionGroup):
        return len(error.exceptions) == 1 and _is_refusal(error.exceptions[0])
    return isinstance(error, NotAllowed)
