"""The soak can fail: its oracle notices each damage that is done on purpose to a finished scenario."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.soak import person as soak_person
from tools.soak.controls import CONTROLS, Damage, Ending, finish_scenario, pretend_driver, try_controls
from tools.soak.person import Person, choose_answer
from tools.soak.play import INJECTORS
from tools.soak.processlist import GIT, end_all, find_processes, read_state
from tools.soak.scenario import CROWD, FLOW, KINDS, MIXED, SHORT, TASK, Fault, draw_scenario
from tools.soak.strikes import release_stopped, trap_git, write_shim
from tools.soak.table import count_all, describe_all, render_table
from tools.soak.useractions import ACTIONS
from tools.soak.verdict import CLASSES, Finding, Outcome, group_reason

from drumline.processes import census

pytestmark = pytest.mark.skipif(not census.LINUX, reason="looks for processes in /proc")

UPDATE_REF = 0.6445
"""The choice of a fault whose trap is for `update-ref` and springs at once; a git that it stops is not woken."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ending]:
    ending = finish_scenario(tmp_path_factory.mktemp("soak"))
    assert ending.findings() == {}, ending.machine.started[0].read()
    yield ending
    end_all(ending.machine.folder)


@pytest.fixture
def ending(finished: Ending, tmp_path: Path) -> Iterator[Ending]:
    """A copy of the finished scenario, to be damaged."""
    copy = finished.copy(tmp_path / "copy")
    yield copy
    end_all(copy.machine.folder)


def test_a_copy_of_a_finished_scenario_is_sound(ending: Ending) -> None:
    assert ending.findings() == {}


def list_damages() -> list[object]:
    """Every kind of damage. All are long but the first of each class."""
    found = [(kind, damage, at == 0) for kind in CLASSES for at, damage in enumerate(CONTROLS[kind])]
    return [pytest.param(kind, damage, marks=() if first else pytest.mark.long) for kind, damage, first in found]


@pytest.mark.parametrize(("kind", "damage"), list_damages())
def test_damage_that_is_done_on_purpose_is_noticed(ending: Ending, kind: str, damage: Damage) -> None:
    damage(ending)

    assert ending.findings()[kind] > 0


def test_a_process_that_is_left_is_noticed(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.soak.oracle.GONE_WITHIN", 0.1)
    left = pretend_driver(ending.machine, "import time; time.sleep(60)")

    found = ending.findings()

    left.process.kill()
    left.process.wait()
    assert found["leftover"] == 1


def test_a_driver_that_gets_nowhere_is_noticed_and_ended(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_person, "STILLNESS", 0.5)
    monkeypatch.setattr(soak_person.Person, "_kill_drivers", lambda self: end_all(self.machine.folder))
    outcome = Outcome(name="1/0", theme="none")
    pretend_driver(ending.machine, "import time; time.sleep(600)")

    state = Person(machine=ending.machine, outcome=outcome).bring_to_end()

    ending.machine.started[0].process.wait()
    assert state == "stalled"
    assert [finding.kind for finding in outcome.findings] == ["stalled"]


@pytest.mark.long
def test_every_class_has_a_control_that_a_soak_tries_itself(tmp_path: Path) -> None:
    assert try_controls(tmp_path) == []


@pytest.mark.parametrize(
    ("kind", "command", "left"),
    [
        ("kill-both-in-update-ref", "update-ref --stdin", set()),
        ("kill-both-in-worktree", "read-tree --reset", set()),
        ("stop-git-kill-driver", "update-ref --stdin", {"T"}),
    ],
)
def test_git_is_struck_together_with_its_driver(ending: Ending, kind: str, command: str, left: set[str]) -> None:
    machine = ending.machine
    write_shim(machine)
    pretended = pretend_driver(machine, "import time; time.sleep(60)")
    program = ["bash", "-c", f"while :; do sleep 0.2 | git {command}; done"]
    driver = subprocess.Popen(program, cwd=machine.repo, env=machine.env, stderr=subprocess.DEVNULL)

    hit = trap_git(machine, Fault(kind=kind, after=0.0, amount=0.1, choice=UPDATE_REF))

    code = driver.wait(timeout=20)
    release_stopped(machine.folder)
    states = {read_state(pid) for pid in find_processes(machine.folder).get(GIT, [])}
    pretended.process.kill()
    pretended.process.wait()
    assert hit
    assert code == -signal.SIGKILL
    assert states == left


def test_a_scenario_is_the_same_for_the_same_seed_and_number() -> None:
    first = [draw_scenario(7, number) for number in range(60)]

    assert first == [draw_scenario(7, number) for number in range(60)]
    assert first != [draw_scenario(8, number) for number in range(60)]
    assert {scenario.theme for scenario in first} >= set(KINDS)
    assert all(3 <= len(scenario.steps) <= 12 for scenario in first if scenario.is_plan)
    assert {scenario.format for scenario in first} >= {TASK, FLOW, "dag"}
    assert {*INJECTORS, *ACTIONS} == set(KINDS)


def test_a_crowd_is_several_drivers_and_people_who_want_everything_at_once() -> None:
    crowds = [draw_scenario(7, number, themes=(CROWD,)) for number in range(20)]
    wanted = Counter(fault.kind for scenario in crowds for fault in scenario.faults)

    assert {scenario.drivers for scenario in crowds} == {2, 3}
    assert wanted.keys() >= {"join", "answer", "retry", "skip", "cancel", "interrupt", "kill-driver"}


def test_the_short_soak_plays_starts_at_once_and_drivers_that_join() -> None:
    line = next(
        line for line in Path("Makefile").read_text().splitlines() if "tools.soak" in line and "--scenarios" in line
    )
    words = line.split()
    seed, many = (int(words[words.index(word) + 1]) for word in ("--seed", "--scenarios"))

    played = [draw_scenario(seed, number, themes=SHORT) for number in range(many)]

    first = played[:2]
    kinds = {fault.kind for scenario in played for fault in scenario.faults}
    assert all(scenario.drivers > 1 for scenario in first)
    assert any(fault.kind == "join" for fault in first[0].faults)
    assert kinds >= {"join", "two-starts", "stop-git-kill-driver", "cancel", "skip", "retry", "answer"}
    assert MIXED in SHORT


@pytest.mark.parametrize(
    ("question", "answer"), [("Missing on it: step-1.", "restore"), ("Commits that no step landed:", "keep")]
)
def test_the_person_answers_so_that_nothing_is_thrown_away(question: str, answer: str) -> None:
    gate = {"kind": "branch", "question": question, "options": ["restore", "keep", "stop"]}

    assert choose_answer(gate) == answer


def test_the_table_counts_each_fault_and_names_what_was_found_and_needed() -> None:
    sound = Outcome(name="1/0", theme="kill-git", injected=Counter({"kill-git": 2}), resumes=3)
    bad = Outcome(name="1/1", theme="mixed", injected=Counter({"kill-git": 1, "cancel": 1}), folder="/kept")
    bad.findings.append(Finding(kind="lost", text="step-1 is gone"))
    bad.needed["gate branch: it moved"] += 1

    text, data = render_table([sound, bad]), describe_all([sound, bad], seed=1, disks="tmpfs")

    assert "| kill-git | 2 | 3 | 1 |" in text
    assert "| all | 2 | 4 | 1 |" in text
    assert "FOUND lost: step-1 is gone (scenario 1/1, /kept)" in text
    assert "| cancel | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 1 (a) |" in text
    assert "a: 1 × gate branch: it moved" in text
    assert "Not injected: kill-driver, " in text
    assert count_all([sound, bad])["lost"] == 1
    assert json.loads(json.dumps(data))["kinds"]["cancel"]["lost"] == 1


def test_reasons_are_grouped_without_places_and_numbers() -> None:
    assert group_reason("git add in /tmp/x/y\nfailed with 128") == "git add in PATH failed with N"


def test_a_slow_driver_that_still_starts_processes_has_not_stalled(
    ending: Ending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_person, "STILLNESS", 4.0)
    outcome = Outcome(name="1/0", theme="none")
    busy = "import subprocess\nfor _ in range(11): subprocess.run(['sleep', '0.4'])"
    pretend_driver(ending.machine, busy)
    began = time.monotonic()

    ended = Person(machine=ending.machine, outcome=outcome).wait_drivers()

    assert ended
    assert time.monotonic() - began > soak_person.STILLNESS
    assert outcome.findings == []
