"""Walks a flow from a terminal or a script: shows the nodes and prints the end's output."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drumline.app.drive import drive
from drumline.cli.output import print_json, say
from drumline.cli.session import Session
from drumline.cli.trusting import ask_flow_trust, open_trust
from drumline.core.flow.ends import warn_of_status
from drumline.core.flow.model import EndNode
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.engine.driver import Driver
from drumline.engine.flow.upkeep import open_flow_driver
from drumline.views.cells import Row
from drumline.views.flowboard import flow_segments
from drumline.views.flowprogress import FlowProgress
from drumline.views.flowsnapshot import FlowSnapshot
from drumline.views.flowstatus import flow_status_json, flow_summary_lines
from drumline.wiring.flows import list_flows, open_library
from drumline.wiring.kits import open_kit

if TYPE_CHECKING:
    from drumline.app.flowrecording import FlowRecorder


@dataclass(kw_only=True)
class FlowSession(Session):
    """One process at one run of a flow."""

    recorder: FlowRecorder | None = None

    def __post_init__(self) -> None:
        Session.__post_init__(self)
        trust = open_trust(self.site, as_json=self.as_json, tell=self._warn)
        self._kit = open_kit(self.site, self.store, self._begun, started_at=self._started_at, trust=trust)
        self.watcher = self.site.flow_watcher(self.store, self.run)
        self._progress = FlowProgress()
        self._warned: set[str] = set()

    def look(self) -> FlowSnapshot:
        """The run as it is now."""
        return self.watcher.look(time.time())

    def ask_trust(self) -> None:
        """Ask about what came since the run began: flows are as they were, their scripts as they are now."""
        pinned = self._begun.flow
        if pinned is not None:
            library = open_library(self.site, self.site.logs(self.run) / "flows", override=pinned.agent)
            flows = list_flows(library, library.recall(pinned.path, pinned.digest))
            ask_flow_trust(self.site, flows, agent=pinned.agent, model=pinned.model, as_json=self.as_json)

    def _open_driver(self) -> Driver:
        kit = self.recorder.attach(self._kit) if self.recorder else self._kit
        return open_flow_driver(
            kit, self.run, observe=self._observe, warn=self._warn, wait_told=self._tell_waiting, joined=self.joined
        )

    async def _work(self, driver: Driver, *, resuming: bool) -> RunState:
        return await drive(driver, resuming=resuming)

    def _draw(self, width: int, height: int, tick: int) -> list[Row]:
        return flow_segments(self.look(), width=width, height=height, tick=tick)

    def _observe(self, recorded: Sequence[Recorded]) -> None:
        """Tell what happened since this session was opened."""
        for entry in recorded:
            if entry.seq > self._told:
                self._told = entry.seq
                for line in self._progress.feed([entry.event], at=entry.at):
                    self._show(line)

    def _warn(self, text: str) -> None:
        """Say once what had to be guessed."""
        if text not in self._warned:
            self._warned.add(text)
            self._tell("warning", f"warning: {text}", message=text)

    def _conclude(self) -> None:
        snapshot = self.look()
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
