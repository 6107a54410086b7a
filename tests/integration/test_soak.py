"""The soak can fail: its oracle notices each damage that is done on purpose to a finished scenario."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tools.soak import person as soak_person
from tools.soak.belongings import Belongings, take_stock
from tools.soak.journal import read_records
from tools.soak.machine import Machine, Started, make_machine
from tools.soak.oracle import judge
from tools.soak.person import Person, choose_answer
from tools.soak.processlist import end_all
from tools.soak.scenario import KINDS, Scenario, Work, draw_scenario
from tools.soak.strikes import write_shim
from tools.soak.table import count_all, describe_all, render_table
from tools.soak.verdict import Finding, Outcome, group_reason

from drumline.processes import census

pytestmark = pytest.mark.skipif(not census.LINUX, reason="looks for processes in /proc")

SCENARIO = Scenario(
    seed=1,
    number=0,
    theme="kill-driver",
    format="dag",
    steps=(Work(id="step-1", seconds=0.0), Work(id="step-2", needs=("step-1",), seconds=0.0, wrong=1)),
    mode="sequential",
    autonomy="autopilot",
    jobs=1,
    agent="scripted",
    tracked=True,
    drivers=1,
    faults=(),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """A scenario whose run is done, and what belongs to its user."""

    machine: Machine
    belongings: Belongings

    def findings(self) -> Counter[str]:
        """How many findings of each kind the oracle has."""
        return Counter(finding.kind for finding in judge(self.machine, self.belongings))

    @property
    def branch(self) -> str:
        """The run branch."""
        return read_records(self.machine.store)[0].branch

    def commit(self, parent: str, tree: str, message: str) -> None:
        """Put a commit on the run branch."""
        made = self.machine.ask_git("commit-tree", "-p", parent, "-m", message, tree)
        assert made
        assert self.machine.git("update-ref", f"refs/heads/{self.branch}", made).code == 0

    def execute(self, statement: str) -> None:
        """Change the journal by hand."""
        connection = sqlite3.connect(self.machine.store)
        with connection:
            connection.execute(statement)
        connection.close()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Belongings]]:
    folder = tmp_path_factory.mktemp("soak")
    machine = make_machine(folder / "machine", folder / "notes", SCENARIO)
    write_shim(machine)
    belongings = Belongings(commits={machine.ask_git("rev-parse", "HEAD")})
    take_stock(machine, belongings)
    person = Person(machine=machine, outcome=Outcome(name="1/0", theme="none"))
    try:
        person.begin()
        assert person.bring_to_end() == "done", machine.started[0].read()
        assert judge(machine, belongings) == []
        yield folder, belongings
    finally:
        end_all(machine.folder)


@pytest.fixture
def ending(finished: tuple[Path, Belongings], tmp_path: Path) -> Iterator[Ending]:
    """A copy of the finished scenario, to be damaged."""
    folder, belongings = finished
    shutil.copytree(folder, tmp_path / "copy", symlinks=True)
    machine = Machine(folder=tmp_path / "copy/machine", notes=tmp_path / "copy/notes", scenario=SCENARIO, agent="")
    for pointer in (machine.folder / "desk/.git", machine.repo / ".git/worktrees/desk/gitdir"):
        pointer.write_text(pointer.read_text().replace(str(folder), str(tmp_path / "copy")))
    yield Ending(machine=machine, belongings=replace(belongings))
    end_all(machine.folder)


def pretend_driver(machine: Machine, program: str, words: str = "") -> Started:
    """A driver that is a program of Python and has said these words."""
    process = subprocess.Popen([sys.executable, "-c", program], cwd=machine.repo)
    path = machine.notes / "pretended.txt"
    path.write_text(words, encoding="utf-8")
    return Started(argv=("resume",), process=process, words=path)


def test_a_copy_of_a_finished_scenario_is_sound(ending: Ending) -> None:
    assert ending.findings() == {}


def set_back(ending: Ending) -> None:
    ending.machine.git("update-ref", f"refs/heads/{ending.branch}", f"{ending.branch}~1")


def delete_branch(ending: Ending) -> None:
    ending.machine.git("branch", "-D", ending.branch)
    ending.machine.git("update-ref", "-d", f"refs/drumline/{read_records(ending.machine.store)[0].run}/@head")


def empty_a_landing(ending: Ending) -> None:
    ending.commit(ending.branch, f"{ending.branch}~2^{{tree}}", "Take it all back")


def remove_a_file(ending: Ending) -> None:
    (ending.machine.repo / "untracked").unlink()


def change_a_file(ending: Ending) -> None:
    (ending.machine.folder / "desk/note").write_text("something else\n", encoding="utf-8")


def drop_a_commit(ending: Ending) -> None:
    ending.belongings.commits = {*ending.belongings.commits, "f" * 40}


def unstage(ending: Ending) -> None:
    ending.machine.git("rm", "--cached", "-q", "staged")


def forget_a_note(ending: Ending) -> None:
    ending.belongings.notes = ["a sentence that the user wrote"]


def unmark(ending: Ending) -> None:
    file = ending.machine.plan / "step-1.md"
    file.write_text(file.read_text().replace("status: done", "status: ready"), encoding="utf-8")


def forget_the_run(ending: Ending) -> None:
    ending.execute("DELETE FROM events")


LOSSES = (
    set_back,
    delete_branch,
    empty_a_landing,
    remove_a_file,
    change_a_file,
    drop_a_commit,
    unstage,
    forget_a_note,
    unmark,
    forget_the_run,
)


@pytest.mark.parametrize("damage", LOSSES)
def test_what_is_lost_is_noticed(ending: Ending, damage: Callable[[Ending], None]) -> None:
    damage(ending)

    assert ending.findings()["lost"] > 0


def land_twice(ending: Ending) -> None:
    message = ending.machine.ask_git("log", "-1", "--format=%B", ending.branch)
    ending.commit(ending.branch, f"{ending.branch}^{{tree}}", message)


def repeat_a_line(ending: Ending) -> None:
    machine, index = ending.machine, str(ending.machine.folder / "index")
    file = machine.folder / "twice"
    file.write_text(machine.ask_git("show", f"{ending.branch}:out/step-1.txt") + "\nok step-1 attempt 1 once more\n")
    blob = machine.ask_git("hash-object", "-w", str(file))
    machine.git("read-tree", ending.branch, GIT_INDEX_FILE=index)
    machine.git("update-index", "--cacheinfo", f"100644,{blob},out/step-1.txt", GIT_INDEX_FILE=index)
    tree = machine.git("write-tree", GIT_INDEX_FILE=index).out.strip()
    ending.commit(ending.branch, tree, "Write it twice")


def start_another_run(ending: Ending) -> None:
    ending.execute(
        "INSERT INTO events (run, step, version, kind, v, at, body) "
        "SELECT 'other', step, version, kind, v, at, coalesce(body, '{}') FROM events WHERE kind = 'RunStarted'"
    )


def land_what_is_not_done(ending: Ending) -> None:
    ending.execute("DELETE FROM events WHERE kind = 'StepFinished' AND body LIKE '%step-2%'")


@pytest.mark.parametrize("damage", [land_twice, repeat_a_line, start_another_run, land_what_is_not_done])
def test_what_is_doubled_is_noticed(ending: Ending, damage: Callable[[Ending], None]) -> None:
    damage(ending)

    assert ending.findings()["doubled"] > 0


def leave_half_a_record(ending: Ending) -> None:
    record = ending.machine.repo / ".git/worktrees/step-9"
    record.mkdir()
    (record / "commondir").touch()
    (record / "gitdir").write_text("/nowhere/.git\n", encoding="utf-8")
    (record / "HEAD").write_text("", encoding="utf-8")


def leave_a_lock(ending: Ending) -> None:
    (ending.machine.repo / ".git/refs/heads/main.lock").touch()


def break_an_object(ending: Ending) -> None:
    commit = ending.machine.ask_git("rev-parse", "main")
    path = ending.machine.repo / ".git/objects" / commit[:2] / commit[2:]
    for found in [path] if path.exists() else list((ending.machine.repo / ".git/objects/pack").glob("*.pack")):
        found.chmod(0o644)
        found.write_bytes(b"nothing")


@pytest.mark.parametrize("damage", [leave_half_a_record, leave_a_lock, break_an_object])
def test_a_broken_git_is_noticed(ending: Ending, damage: Callable[[Ending], None]) -> None:
    damage(ending)

    assert ending.findings()["broken git"] > 0


def leave_a_worktree(ending: Ending) -> None:
    ending.machine.git("worktree", "add", "--quiet", "--detach", str(ending.machine.folder / "forgotten"))


def leave_a_temporary_file(ending: Ending) -> None:
    (ending.machine.folder / "tmp/left").touch()


def leave_a_dead_driver(ending: Ending) -> None:
    (ending.machine.repo / ".git/drumline/drivers/d-1-beef").mkdir()


def leave_a_draft(ending: Ending) -> None:
    (ending.machine.plan / ".step-1.md.tmp").touch()


@pytest.mark.parametrize("damage", [leave_a_worktree, leave_a_temporary_file, leave_a_dead_driver, leave_a_draft])
def test_what_is_left_over_is_noticed(ending: Ending, damage: Callable[[Ending], None]) -> None:
    damage(ending)

    assert ending.findings()["leftover"] > 0


def test_a_process_that_is_left_is_noticed(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.soak.oracle.GONE_WITHIN", 0.1)
    left = pretend_driver(ending.machine, "import time; time.sleep(60)")

    found = ending.findings()

    left.process.kill()
    left.process.wait()
    assert found["leftover"] == 1


def test_a_run_without_an_end_is_noticed(ending: Ending) -> None:
    ending.execute("DELETE FROM events WHERE kind = 'RunEnded'")

    assert ending.findings()["stalled"] == 1


def test_a_driver_that_gets_nowhere_is_noticed_and_ended(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_person, "STILLNESS", 0.5)
    monkeypatch.setattr(soak_person.Person, "_kill_drivers", lambda self: end_all(self.machine.folder))
    outcome = Outcome(name="1/0", theme="none")
    ending.machine.started.append(pretend_driver(ending.machine, "import time; time.sleep(600)"))

    state = Person(machine=ending.machine, outcome=outcome).bring_to_end()

    ending.machine.started[0].process.wait()
    assert state == "stalled"
    assert [finding.kind for finding in outcome.findings] == ["stalled"]


@pytest.mark.parametrize(
    ("program", "words", "kind"),
    [
        ("raise SystemExit(2)", "", "wrong code"),
        ("raise SystemExit(77)", "", "wrong code"),
        ("", "Traceback (most recent call last):\nValueError: a bug", "traceback"),
    ],
)
def test_how_a_driver_ends_is_noticed(ending: Ending, program: str, words: str, kind: str) -> None:
    ending.machine.started.append(pretend_driver(ending.machine, program, words))
    ending.machine.started[0].process.wait()

    assert ending.findings()[kind] > 0


def test_a_scenario_is_the_same_for_the_same_seed_and_number() -> None:
    first = [draw_scenario(7, number) for number in range(60)]

    assert first == [draw_scenario(7, number) for number in range(60)]
    assert first != [draw_scenario(8, number) for number in range(60)]
    assert {scenario.theme for scenario in first} >= set(KINDS)
    assert all(3 <= len(scenario.steps) <= 12 for scenario in first)


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
    assert "1 × gate branch: it moved" in text
    assert count_all([sound, bad])["lost"] == 1
    assert json.loads(json.dumps(data))["kinds"]["cancel"]["lost"] == 1


def test_reasons_are_grouped_without_places_and_numbers() -> None:
    assert group_reason("git add in /tmp/x/y\nfailed with 128") == "git add in PATH failed with N"


def test_a_slow_driver_that_still_starts_processes_has_not_stalled(
    ending: Ending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_person, "STILLNESS", 0.5)
    outcome = Outcome(name="1/0", theme="none")
    busy = "import subprocess\nfor _ in range(6): subprocess.run(['sleep', '0.2'])"
    ending.machine.started.append(pretend_driver(ending.machine, busy))
    began = time.monotonic()

    ended = Person(machine=ending.machine, outcome=outcome).wait_drivers()

    assert ended
    assert time.monotonic() - began > 1.0
    assert outcome.findings == []
