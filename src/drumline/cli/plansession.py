"""Drives a run of a plan from a terminal or a script."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from drumline.app.catalog import read_run
from drumline.app.drive import drive
from drumline.app.look import Watcher
from drumline.cli.merging import is_merge_due, merge
from drumline.cli.output import print_json, print_lines, problem_json
from drumline.cli.session import Session
from drumline.cli.trusting import ask_again, open_trust
from drumline.core.plan import Problem
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.engine.driver import Driver
from drumline.engine.planupkeep import open_plan_driver
from drumline.views.board import board_segments
from drumline.views.cells import Row
from drumline.views.progress import Progress
from drumline.views.report import report_json, report_lines, step_report
from drumline.views.snapshot import Snapshot
from drumline.views.status import status_json
from drumline.views.summary import summary, summary_json, summary_lines
from drumline.wiring.kits import open_kit

if TYPE_CHECKING:
    from drumline.app.recording import PlanRecorder


@dataclass(kw_only=True)
class PlanSession(Session):
    """One process at one run of a plan."""

    recorder: PlanRecorder | None = None

    def __post_init__(self) -> None:
        Session.__post_init__(self)
        self.watcher: Watcher = self.site.watcher(self.store, self._begun)
        self._progress = Progress(after=self._told)

    def drive(self, *, resuming: bool) -> int:
        """Drive to the end, and merge the result of a task where that was asked for; return the exit code."""
        code = Session.drive(self, resuming=resuming)
        run = read_run(self.store, self.run)
        if code == 0 and is_merge_due(self.site, run):
            merge(self.site, run, as_json=self.as_json)
        return code

    def look(self) -> Snapshot:
        """The run as it is now."""
        return self.watcher.look(time.time())

    def ask_trust(self) -> None:
        """Ask about the configuration, and about the steps as their files are now."""
        ask_again(self.site, read_run(self.store, self.run), as_json=self.as_json)

    def _open_driver(self) -> Driver:
        trust = open_trust(self.site, as_json=self.as_json, tell=lambda text: self._board_say(text))
        kit = open_kit(self.site, self.store, self._begun, started_at=self._started_at, trust=trust)
        driver = open_plan_driver(
            kit,
            self.run,
            jobs=self.site.settings.jobs,
            observe=lambda recorded: self._observe(recorded, driver.run),
            complain=self._complain,
            wait_told=self._tell_waiting,
            joined=self.joined,
        )
        return driver

    async def _work(self, driver: Driver, *, resuming: bool) -> RunState:
        work = partial(drive, driver, resuming=resuming)
        return await (self.recorder.accompany(work) if self.recorder else work())

    def _draw(self, width: int, height: int, tick: int) -> list[Row]:
        return board_segments(self.look(), width=width, height=height, tick=tick)

    def _observe(self, recorded: Sequence[Recorded], run: RunState) -> None:
        """Tell what happened; the driver has it folded in already."""
        for line in self._progress.feed(recorded, run):
            self._show(line)

    def _complain(self, problems: Sequence[Problem]) -> None:
        """An edit of the plan that cannot be used: the run keeps the plan as it was."""
        said = "the plan was edited and is not valid; going on with the plan as it was:"
        self._tell("plan_invalid", said, problems=[problem_json(problem) for problem in problems])
        for problem in problems[:5] if not self.as_json else ():
            self._board_say(f"  {problem.where}: {problem.message}")

    def _conclude(self) -> None:
        snapshot = self.look()
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
