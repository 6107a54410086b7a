"""The person at the keyboard: drives the run on, answers what is asked and does what messages say, up to a bound.

The rule: waiting is bounded by progress, not by time: a driver that is alive stalls only if neither its journal nor its
processes change for a long while.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.soak.journal import count_events, read_records
from tools.soak.machine import Machine
from tools.soak.planwriting import write_plan
from tools.soak.processlist import DRIVER, SUPERVISOR, find_processes, send
from tools.soak.scenario import TASK
from tools.soak.verdict import STALLED, Finding, Outcome, group_reason

MOST_ROUNDS = 30
STILLNESS = 180.0
"""Seconds without any change after which a driver that is alive counts as stalled."""
LOOK = 0.1
OWN_GATES = frozenset({"approve", "wave"})
"""Kinds of gates that the plan and the autonomy ask for; every other one needs a person because of what happened."""
CHOICES = {"approve": "approve", "wave": "continue", "claim": "take", "edit": "restart", "redo": "keep"}


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody who wants the run to be done; what they had to do is written into the outcome."""

    machine: Machine
    outcome: Outcome

    def begin(self) -> None:
        """Start the run, with as many drivers at once as the scenario has."""
        for place in range(self.machine.scenario.drivers):
            time.sleep(self.machine.scenario.apart if place else 0.0)
            self.machine.start(*self.machine.run_args())

    def drive_on(self) -> None:
        """Start a driver if none is alive: of the run there is, or of a new one if its start was killed."""
        if self.machine.drivers:
            return
        seen = self.look()
        if not seen.get("run"):
            self.machine.start(*self.machine.run_args())
        elif not self.is_over(seen):
            self.outcome.resumes += 1
            self.machine.start("resume")

    def is_over(self, seen: Mapping[str, object]) -> bool:
        """Whether the run is done, and merged if that was asked for."""
        return seen.get("state") == "done" and (self.machine.scenario.format != TASK or is_merged(self.machine))

    def look(self) -> Mapping[str, object]:
        """The run as `status` shows it; empty if there is none."""
        said = self.machine.call("status", "--json")
        found = said.read_json()
        return found if said.code == 0 else {}

    def bring_to_end(self) -> str:
        """Do what has to be done until the run is done; the state it is in then."""
        state = ""
        for _ in range(MOST_ROUNDS):
            if not self.wait_drivers():
                return STALLED
            seen = self.look()
            state = str(seen.get("state", ""))
            if self.is_over(seen):
                self.tidy_after_kill()
                return state
            self.settle(seen)
        self._find_stalled(f"after {MOST_ROUNDS} rounds the run is {state!r}")
        return state

    def tidy_after_kill(self) -> None:
        """Clean up if the last driver was killed after it had ended the run: it could not do so itself."""
        last = self.machine.started[-1].process.returncode
        if last is not None and last < 0 and self.machine.call("gc").code != 0:
            self.machine.call("doctor")

    def settle(self, seen: Mapping[str, object]) -> None:
        """One round: answer what is asked, retry what is blocked, drive on."""
        machine = self.machine
        self.restore_plan()
        if not seen.get("run"):
            if machine.call("doctor").code not in (0, 1):
                machine.note("doctor refused")
            machine.start(*machine.run_args())
            return
        answered = self.answer_gates(seen)
        if not answered and seen.get("state") in ("blocked", "failed"):
            self.retry_steps(seen)
        self.outcome.resumes += 1
        machine.start("resume")

    def restore_plan(self) -> None:
        """Put the plan back where the user's own cleaning has taken it."""
        if self.machine.scenario.format != TASK and not self.machine.plan.exists():
            self.outcome.needed["the plan is gone: the user puts it back"] += 1
            write_plan(self.machine.repo, self.machine.scenario)

    def answer_gates(self, seen: Mapping[str, object]) -> bool:
        """Answer every open gate; whether there was one."""
        gates = [gate for gate in list_rows(seen, "gates") if not gate.get("answered")]
        for gate in gates:
            kind = str(gate.get("kind"))
            self.machine.call("answer", str(gate["id"]), choose_answer(gate), "--comment", "by the soak")
            if kind not in OWN_GATES:
                question = str(gate.get("question", "")).partition("\n")[0]
                self.outcome.needed[f"gate {kind}: {group_reason(question)}"] += 1
        return bool(gates)

    def retry_steps(self, seen: Mapping[str, object]) -> None:
        """Retry what is blocked or failed, as the message of such a step says."""
        stuck = [step for step in list_rows(seen, "steps") if step.get("state") in ("blocked", "failed")]
        for step in stuck:
            self.outcome.needed[f"step {step['state']}: {group_reason(str(step.get('reason')))}"] += 1
            self.machine.call("retry", str(step["id"]))
        if not stuck:
            self.outcome.needed[f"run {seen.get('state')}: {group_reason(str(seen.get('reason')))}"] += 1

    def wait_drivers(self) -> bool:
        """Wait until no driver is alive; False if they stall, and then they are killed."""
        since, before = time.monotonic(), self._watch()
        while self.machine.drivers:
            time.sleep(LOOK)
            if (now := self._watch()) != before:
                since, before = time.monotonic(), now
            elif time.monotonic() - since > STILLNESS:
                words = self.machine.drivers[0].read()[-400:]
                self._find_stalled(f"nothing has changed for {STILLNESS:g} s; the driver said: {words}")
                self._kill_drivers()
                return False
        return True

    def _watch(self) -> tuple[int, tuple[int, ...]]:
        """What changes while a run goes on: its journal, and the processes it starts."""
        found = find_processes(self.machine.folder)
        pids = sorted(pid for pids in found.values() for pid in pids)
        return count_events(self.machine.store), tuple(pids)

    def _kill_drivers(self) -> None:
        found = find_processes(self.machine.folder)
        send([*found.get(DRIVER, []), *found.get(SUPERVISOR, [])], signal.SIGKILL)
        for started in self.machine.drivers:
            started.process.wait()

    def _find_stalled(self, text: str) -> None:
        self.outcome.findings.append(Finding(kind=STALLED, text=text))


def is_merged(machine: Machine) -> bool:
    """Whether the user's branch has what a task landed."""
    commits = [finish.commit for record in read_records(machine.store) for finish in record.finished.values()]
    return any(commit and machine.git("merge-base", "--is-ancestor", commit, "HEAD").code == 0 for commit in commits)


def choose_answer(gate: Mapping[str, object]) -> str:
    """What the person answers: always what keeps everybody's work."""
    options = [str(option) for option in _list(gate.get("options"))]
    kind = str(gate.get("kind"))
    if kind == "branch":
        lost = "Missing on it" in str(gate.get("question"))
        return "restore" if lost and "restore" in options else "keep"
    chosen = CHOICES.get(kind, "")
    return chosen if chosen in options or not options else options[0]


def list_rows(seen: Mapping[str, object], key: str) -> Sequence[Mapping[str, object]]:
    """The objects in a list of a JSON document."""
    return [row for row in _list(seen.get(key)) if isinstance(row, dict)]


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []
