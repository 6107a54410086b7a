"""Checks of a node in a flow: commands, or names of them, judged by their exit codes as those of steps are.

What cannot run here has neither passed nor failed: it is repeated once, or until it was killed from outside three times
in a row; then the run is blocked. A failure that speaks of time or of the machine is repeated once, too.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping

from drumline.core.checkfailure import CHECK_RULES, Cause, CheckFailure, explain, is_work
from drumline.core.flaky import is_unsteady
from drumline.core.flow.model import CheckNode, Json
from drumline.core.flow.outcome import Outcome
from drumline.core.leftovers import tell_left, tell_outside
from drumline.core.steprules import explain_kills
from drumline.core.taxonomy import MOST_KILLS
from drumline.engine.checkslots import CheckSlots, Urgency
from drumline.engine.kills import KILL_WAIT
from drumline.engine.nodes.check import Checked, run_check
from drumline.engine.nodes.leftovers import find_leftovers
from drumline.engine.nodes.visit import Visit
from drumline.ports.jail import NO_HOLD, Hold
from drumline.ports.processes import Processes
from drumline.record import Record, field

LEAST_TIME = 0.1
"""Seconds that a check is given at least, however little is left to its node."""

Sleep = Callable[[float], Awaitable[None]]


class Scene(Record):
    """What checks are run with: commands by name, how long one may take and how it is held, a clock, whom to warn.

    `limits` are those of commands that have a name of their own for it, as kinds of checks have.
    """

    sleep: Sleep
    commands: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    hold: Hold = NO_HOLD
    slots: CheckSlots = field(default_factory=CheckSlots)
    warn: Callable[[str], None] = lambda text: None


async def run_checks(node: CheckNode, visit: Visit, processes: Processes, scene: Scene) -> Outcome:
    """Run the checks in order; the first that does not pass ends it, and the others are reported as not run.

    A check is a command, or the name of one.
    """
    runner = _Runner(visit, processes, scene)
    watch = visit.watch
    await watch.begin()
    results: list[Json] = []
    failed: dict[str, Json] | None = None
    for number, name in enumerate(node.checks, 1):
        command = scene.commands.get(name, name)
        if failed is not None:
            results.append({"check": name, "command": command, "state": "not run", "exit_code": None, "output": ""})
            continue
        found = await runner.run(command, number, scene.limits.get(name, scene.timeout))
        left = await find_leftovers(watch, command, scene.warn)
        cause = found.cause
        if found.outside:
            scene.warn(tell_outside(command, found.outside))
            results.append(_describe(name, command, found) | {"state": "not run", "changed": list(left.altered)})
            continue
        if cause is not None and not is_work(cause.failure.value):
            reason = _explain(cause, command)
            return Outcome(blocked=reason, failure_class=cause.failure.value, notices=tuple(runner.notices))
        result = _describe(name, command, found) | {"changed": list(left.altered)}
        if cause is None and left.altered and watch.ours:
            result["state"] = "void"
        results.append(result)
        failed = result if cause is not None else None
    return Outcome(
        output={
            "passed": failed is None,
            "results": results,
            "failed": failed["check"] if failed else None,
            "output": failed["output"] if failed else "",
        },
        notices=tuple(runner.notices),
    )


class _Runner:
    """Runs the checks of one visit within its time."""

    def __init__(self, visit: Visit, processes: Processes, scene: Scene) -> None:
        self._visit = visit
        self._processes = processes
        self._sleep = scene.sleep
        self._hold = scene.hold
        self._slots = scene.slots
        self._began = time.monotonic()
        self._longest: float | None = None
        self.notices: list[str] = []

    async def run(self, command: str, number: int, longest: float | None) -> Checked:
        """Run one check for `longest` seconds at most, and again if this machine could not run it."""
        self._longest = longest
        found = await self._run_once(command, f"check-{number}")
        for _ in range(MOST_KILLS - 1):
            if not _is_killed(found):
                break
            await self._sleep(KILL_WAIT)
            found = await self._run_once(command, f"check-{number}-again")
        if found.cause is None or _is_killed(found):
            return found
        if is_work(found.cause.failure.value):
            return await self._repeat_unsteady(command, number, found)
        await self._sleep(CHECK_RULES[found.cause.failure].delay)
        return await self._run_once(command, f"check-{number}-again")

    async def _repeat_unsteady(self, command: str, number: int, found: Checked) -> Checked:
        """A check that fails, once more if what it printed speaks of time or of the machine."""
        if found.outside or not is_unsteady(found.output):
            return found
        again = await self._run_once(command, f"check-{number}-again")
        if again.cause is None:
            self.notices.append(f"{command} failed and then passed on the same files: it is flaky")
        return again

    async def _run_once(self, command: str, kind: str) -> Checked:
        async with self._slots.take(Urgency.STEP):
            limit = self._visit.timeout
            left = None if limit is None else max(LEAST_TIME, limit - (time.monotonic() - self._began))
            found = await run_check(
                command,
                self._processes,
                folder=self._visit.folder,
                log=self._visit.log(kind),
                timeout=min((one for one in (left, self._longest) if one is not None), default=None),
                hold=self._hold,
            )
        self.notices += [tell_left(found.left)] if found.left else []
        return found


def _is_killed(found: Checked) -> bool:
    return found.cause is not None and found.cause.failure is CheckFailure.KILLED


def _explain(cause: Cause, command: str) -> str:
    """Why a check could not be run."""
    if cause.failure is CheckFailure.KILLED:
        return explain_kills(MOST_KILLS, f"the check {command}")
    return explain(cause.failure.value, command=command, evidence=cause.evidence)


def _describe(name: str, command: str, found: Checked) -> dict[str, Json]:
    return {
        "check": name,
        "command": command,
        "state": "passed" if found.cause is None else "failed",
        "exit_code": found.exit_code,
        "output": found.output,
    }
