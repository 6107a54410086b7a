"""One scenario from its beginning to its verdict: the chaos, then what the person does, then the oracle."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.soak.belongings import Belongings, take_stock
from tools.soak.disks import close_disk, fill_disk, mount_disk, unmount_disk
from tools.soak.journal import read_records
from tools.soak.machine import Machine, make_machine
from tools.soak.oracle import judge
from tools.soak.person import Person, choose_answer, list_rows
from tools.soak.processlist import DRIVER, end_all, find_processes, send
from tools.soak.scenario import Fault, Scenario
from tools.soak.strikes import (
    kill_group,
    kill_role,
    release_stopped,
    stop_role,
    trap_git,
    wait_role,
    wait_until,
    write_shim,
)
from tools.soak.useractions import ACTIONS, User
from tools.soak.verdict import TRACEBACK, Finding, Outcome

RESUMED = 0.3
"""How many of the requests also drive the run on."""

Inject = Callable[[Machine, Fault], bool]


def interrupt(machine: Machine, fault: Fault) -> bool:
    """Ctrl-C, or the signal of a shutdown, to one driver."""
    pids = wait_role(machine.folder, DRIVER)
    send(pids[:1], signal.SIGINT if fault.choice < 0.5 else signal.SIGTERM)
    return bool(pids)


def wish(machine: Machine, fault: Fault) -> bool:
    """Retry or skip some step, or cancel the run."""
    if not wait_until(lambda: bool(read_records(machine.store))):
        return False
    finished = read_records(machine.store)[-1].finished
    steps = [step.id for step in machine.scenario.steps if fault.kind != "skip" or step.id not in finished]
    if not steps:
        return False
    step = steps[int(fault.choice * len(steps))]
    words = {"retry": ("retry", step), "skip": ("skip", step, "--reason", "not now"), "cancel": ("cancel",)}
    if fault.kind != "cancel" and fault.choice * 10 % 1 < RESUMED:
        machine.start(*words[fault.kind], "--resume")
        return True
    return machine.call(*words[fault.kind]).code == 0


def answer(machine: Machine, fault: Fault) -> bool:
    """Answer whatever is open, twice at the same moment, and drive on with one of them."""
    seen = machine.call("status", "--json").read_json()
    gates = [gate for gate in list_rows(seen, "gates") if not gate.get("answered")]
    for gate in gates:
        words = ("answer", str(gate["id"]), choose_answer(gate), "--comment", "by the soak")
        machine.start(*words, "--resume")
        machine.call(*words)
    return bool(gates)


def join(machine: Machine, fault: Fault) -> bool:
    """Another driver, by either of the two ways to start one."""
    machine.start(*(machine.run_args() if fault.choice < 0.5 and machine.scenario.is_plan else ["resume"]))
    return True


INJECTORS: Mapping[str, Inject] = {
    "kill-driver": kill_role,
    "kill-supervisor": kill_role,
    "kill-agent": kill_role,
    "kill-check": kill_role,
    "kill-git": trap_git,
    "kill-git-and-driver": trap_git,
    "kill-both-in-update-ref": trap_git,
    "kill-both-in-worktree": trap_git,
    "kill-both-in-merge": trap_git,
    "power-cut": kill_group,
    "stop-driver": stop_role,
    "stop-supervisor": stop_role,
    "stop-agent": stop_role,
    "stop-git": trap_git,
    "stop-git-kill-driver": trap_git,
    "full-disk": fill_disk,
    "read-only-disk": close_disk,
    "two-starts": join,
    "join": join,
    "answer": answer,
    "retry": wish,
    "skip": wish,
    "cancel": wish,
    "interrupt": interrupt,
}


def play_scenario(scenario: Scenario, folder: Path) -> Outcome:
    """Play it in this folder, which keeps what is needed for a post-mortem if anything is found."""
    began = time.monotonic()
    outcome = Outcome(name=scenario.name, theme=scenario.theme, folder=str(folder))
    place = folder / "machine"
    if scenario.needs_mount:
        mount_disk(place)
    machine = make_machine(place, folder / "notes", scenario)
    machine.note(repr(scenario))
    write_shim(machine)
    try:
        outcome.findings += _play(machine, outcome)
    except Exception as error:  # one scenario that cannot be played must not end the others, nor pass
        machine.note(traceback.format_exc())
        outcome.findings.append(Finding(kind=TRACEBACK, text=f"of the soak itself: {error!r}"))
    finally:
        end_all(place)
        for started in machine.started:
            started.process.wait()
        if scenario.needs_mount:
            _copy_off(place, folder / "copy", wanted=bool(outcome.findings))
    outcome.seconds = time.monotonic() - began
    machine.note("".join(f"FOUND {finding.kind}: {finding.text}\n" for finding in outcome.findings) or "sound")
    return outcome


def _play(machine: Machine, outcome: Outcome) -> list[Finding]:
    """The chaos, the person, the oracle."""
    belongings = Belongings(commits={machine.ask_git("rev-parse", "HEAD")})
    take_stock(machine, belongings)
    person = Person(machine=machine, outcome=outcome)
    user = User(machine=machine, belongings=belongings, outcome=outcome)
    person.begin()
    if machine.scenario.drivers > 1:
        outcome.injected["two-starts"] += 1
    for fault in machine.scenario.faults:
        _inject(person, user, fault)
    release_stopped(machine.folder)
    outcome.state = person.bring_to_end()
    return judge(machine, belongings, outcome.injected)


def _inject(person: Person, user: User, fault: Fault) -> None:
    """Wait for the moment, then inject one fault, if the run is still at work."""
    machine = person.machine
    person.drive_on()
    time.sleep(fault.after)
    if not machine.drivers and not find_processes(machine.folder):
        # Ended or parked meanwhile: the person answers, so that there is something to strike.
        seen = person.look()
        if person.is_over(seen):
            return
        person.settle(seen)
        time.sleep(random.Random(fault.choice).uniform(0.3, 1.0))
    machine.note(f"{time.monotonic():.2f} {fault}")
    act = ACTIONS.get(fault.kind)
    if act(user, fault) if act else INJECTORS[fault.kind](machine, fault):
        person.outcome.injected[fault.kind] += 1
        machine.note(f"{time.monotonic():.2f} injected")


def _copy_off(place: Path, copy: Path, *, wanted: bool) -> None:
    """Unmount the disk of a scenario; keep a copy for a post-mortem."""
    if wanted and os.path.ismount(place):
        shutil.copytree(place, copy, symlinks=True, ignore_dangling_symlinks=True)
    unmount_disk(place)
