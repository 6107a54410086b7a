"""Controls: damage done on purpose to a finished scenario, so that it shows that no zero in the table is idle.

The rule: a control is the smallest damage of its kind, done with git, SQLite or the file system alone.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.soak.belongings import Belongings, take_stock
from tools.soak.journal import read_records
from tools.soak.machine import TRACEBACK as TRACEBACK_WORDS
from tools.soak.machine import Machine, Started, make_machine
from tools.soak.oracle import judge
from tools.soak.person import Person
from tools.soak.processlist import end_all
from tools.soak.scenario import Scenario, Work
from tools.soak.strikes import write_shim
from tools.soak.verdict import BROKEN, CLASSES, DOUBLED, LEFTOVER, LOST, STALLED, TRACEBACK, WRONG, Outcome

SCENARIO = Scenario(
    seed=1,
    number=0,
    theme="none",
    format="dag",
    steps=(Work(id="step-1", seconds=0.0), Work(id="step-2", needs=("step-1",), seconds=0.0, wrong=1)),
    mode="sequential",
    autonomy="autopilot",
    jobs=1,
    agent="scripted",
    tracked=True,
    drivers=1,
    apart=0.0,
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
        self.machine.git("update-ref", f"refs/heads/{self.branch}", made)

    def execute(self, statement: str) -> None:
        """Change the journal by hand."""
        connection = sqlite3.connect(self.machine.store)
        with connection:
            connection.execute(statement)
        connection.close()

    def copy(self, folder: Path) -> Ending:
        """The same in another folder, to be damaged."""
        old = self.machine.folder.parent
        shutil.copytree(old, folder, symlinks=True)
        machine = Machine(folder=folder / "machine", notes=folder / "notes", scenario=SCENARIO, agent="")
        for pointer in (machine.folder / "desk/.git", machine.repo / ".git/worktrees/desk/gitdir"):
            pointer.write_text(pointer.read_text().replace(str(old), str(folder)), encoding="utf-8")
        return Ending(machine=machine, belongings=replace(self.belongings))


Damage = Callable[[Ending], None]


def finish_scenario(folder: Path) -> Ending:
    """Play a scenario without faults to its end."""
    machine = make_machine(folder / "machine", folder / "notes", SCENARIO)
    write_shim(machine)
    belongings = Belongings(commits={machine.ask_git("rev-parse", "HEAD")})
    take_stock(machine, belongings)
    person = Person(machine=machine, outcome=Outcome(name="1/0", theme="none"))
    person.begin()
    person.bring_to_end()
    return Ending(machine=machine, belongings=belongings)


def pretend_driver(machine: Machine, program: str, words: str = "") -> Started:
    """A driver that is a program of Python and has said these words."""
    process = subprocess.Popen([sys.executable, "-c", program], cwd=machine.repo)
    path = machine.notes / "pretended.txt"
    path.write_text(words, encoding="utf-8")
    started = Started(argv=("resume",), process=process, words=path)
    machine.started.append(started)
    return started


def set_back(ending: Ending) -> None:
    """Set the run branch back by one landing."""
    ending.machine.git("update-ref", f"refs/heads/{ending.branch}", f"{ending.branch}~1")


def delete_branch(ending: Ending) -> None:
    """Delete the run branch and what keeps it."""
    ending.machine.git("branch", "-D", ending.branch)
    ending.machine.git("update-ref", "-d", f"refs/drumline/{read_records(ending.machine.store)[0].run}/@head")


def empty_a_landing(ending: Ending) -> None:
    """Take the work back by a commit on top."""
    ending.commit(ending.branch, f"{ending.branch}~2^{{tree}}", "Take it all back")


def remove_a_file(ending: Ending) -> None:
    """Remove a file of the user's."""
    (ending.machine.repo / "untracked").unlink()


def change_a_file(ending: Ending) -> None:
    """Change a file in a worktree of the user's."""
    (ending.machine.folder / "desk/note").write_text("something else\n", encoding="utf-8")


def drop_a_commit(ending: Ending) -> None:
    """A commit of the user's that is not there."""
    ending.belongings.commits = {*ending.belongings.commits, "f" * 40}


def unstage(ending: Ending) -> None:
    """Take out of the index what the user has staged."""
    ending.machine.git("rm", "--cached", "-q", "staged")


def forget_a_note(ending: Ending) -> None:
    """A sentence of the user's that is not in the plan."""
    ending.belongings.notes = ["a sentence that the user wrote"]


def unmark(ending: Ending) -> None:
    """Take back the mark of a step that is done."""
    file = ending.machine.plan / "step-1.md"
    file.write_text(file.read_text().replace("status: done", "status: ready"), encoding="utf-8")


def forget_the_run(ending: Ending) -> None:
    """Empty the journal."""
    ending.execute("DELETE FROM events")


def land_twice(ending: Ending) -> None:
    """A second commit of the same step."""
    message = ending.machine.ask_git("log", "-1", "--format=%B", ending.branch)
    ending.commit(ending.branch, f"{ending.branch}^{{tree}}", message)


def repeat_a_line(ending: Ending) -> None:
    """Work of an attempt that is there twice."""
    machine, index = ending.machine, str(ending.machine.folder / "index")
    file = machine.folder / "twice"
    file.write_text(machine.ask_git("show", f"{ending.branch}:out/step-1.txt") + "\nok step-1 attempt 1 once more\n")
    blob = machine.ask_git("hash-object", "-w", str(file))
    machine.git("read-tree", ending.branch, GIT_INDEX_FILE=index)
    machine.git("update-index", "--cacheinfo", f"100644,{blob},out/step-1.txt", GIT_INDEX_FILE=index)
    tree = machine.git("write-tree", GIT_INDEX_FILE=index).out.strip()
    ending.commit(ending.branch, tree, "Write it twice")


def start_another_run(ending: Ending) -> None:
    """A second run of the same plan."""
    ending.execute(
        "INSERT INTO events (run, step, version, kind, v, at, body) "
        "SELECT 'other', step, version, kind, v, at, coalesce(body, '{}') FROM events WHERE kind = 'RunStarted'"
    )


def land_what_is_not_done(ending: Ending) -> None:
    """A landing that the journal does not know."""
    ending.execute("DELETE FROM events WHERE kind = 'StepFinished' AND body LIKE '%step-2%'")


def end_nowhere(ending: Ending) -> None:
    """A run whose end was never recorded."""
    ending.execute("DELETE FROM events WHERE kind = 'RunEnded'")


def leave_half_a_record(ending: Ending) -> None:
    """The record of a worktree as a git leaves it that is killed in mid-write."""
    record = ending.machine.repo / ".git/worktrees/step-9"
    record.mkdir()
    (record / "commondir").touch()
    (record / "gitdir").write_text("/nowhere/.git\n", encoding="utf-8")
    (record / "HEAD").write_text("", encoding="utf-8")


def leave_a_lock(ending: Ending) -> None:
    """The lock file of a ref."""
    (ending.machine.repo / ".git/refs/heads/main.lock").touch()


def break_an_object(ending: Ending) -> None:
    """An object that git cannot read."""
    commit = ending.machine.ask_git("rev-parse", "main")
    path = ending.machine.repo / ".git/objects" / commit[:2] / commit[2:]
    for found in [path] if path.exists() else list((ending.machine.repo / ".git/objects/pack").glob("*.pack")):
        found.chmod(0o644)
        found.write_bytes(b"nothing")


def leave_a_worktree(ending: Ending) -> None:
    """A worktree that is not the user's."""
    ending.machine.git("worktree", "add", "--quiet", "--detach", str(ending.machine.folder / "forgotten"))


def leave_a_temporary_file(ending: Ending) -> None:
    """A file in the folder for temporary files."""
    (ending.machine.folder / "tmp/left").touch()


def leave_a_dead_driver(ending: Ending) -> None:
    """The folder of a driver that is dead."""
    (ending.machine.repo / ".git/drumline/drivers/d-1-beef").mkdir()


def leave_a_draft(ending: Ending) -> None:
    """A half-written file beside the plan."""
    (ending.machine.plan / ".step-1.md.tmp").touch()


def end_with_a_wrong_code(ending: Ending) -> None:
    """A driver that says by its exit code what is not so."""
    pretend_driver(ending.machine, "raise SystemExit(2)").process.wait()


def end_with_an_unknown_code(ending: Ending) -> None:
    """A driver with an exit code that no page knows."""
    pretend_driver(ending.machine, "raise SystemExit(77)").process.wait()


def end_with_a_traceback(ending: Ending) -> None:
    """A driver that shows where it broke."""
    pretend_driver(ending.machine, "", f"{TRACEBACK_WORDS}:\nValueError: a bug").process.wait()


CONTROLS: Mapping[str, Sequence[Damage]] = {
    LOST: (
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
    ),
    DOUBLED: (land_twice, repeat_a_line, start_another_run, land_what_is_not_done),
    STALLED: (end_nowhere,),
    BROKEN: (leave_half_a_record, leave_a_lock, break_an_object),
    TRACEBACK: (end_with_a_traceback,),
    LEFTOVER: (leave_a_worktree, leave_a_temporary_file, leave_a_dead_driver, leave_a_draft),
    WRONG: (end_with_a_wrong_code, end_with_an_unknown_code),
}
"""What is done on purpose, by the class of finding that it has to lead to; the first of each is tried by every soak."""


def try_controls(folder: Path) -> list[str]:
    """The classes that the oracle does not notice although the damage is there, or sees where there is none."""
    sound = finish_scenario(folder / "sound")
    found = sound.findings()
    if found:
        return [f"a run without faults is found {', '.join(found)}"]
    missed = []
    for kind in CLASSES:
        ending = sound.copy(folder / kind.replace(" ", "-"))
        CONTROLS[kind][0](ending)
        if not ending.findings()[kind]:
            missed.append(kind)
        end_all(ending.machine.folder)
    shutil.rmtree(folder, ignore_errors=True)
    return missed
