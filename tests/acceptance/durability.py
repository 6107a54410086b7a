"""A repository with a plan, and the real command line at work in it, to be killed, frozen, interrupted and resumed.

Everything a world starts carries the world's name in its environment, so that what is left over can be found and ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import yaml
from tests.acceptance.cli_user import standing_in
from tests.warm import RIGGED, Command, Started, run_warm, start_warm

from drumline.app.catalog import read_run
from drumline.core.events import StepClaimed
from drumline.core.ids import DriverId, RunId, StepId
from drumline.core.plan import RUN_WALKS
from drumline.core.recorded import Recorded
from drumline.processes import census
from drumline.store.sqlite import SqliteStore
from drumline.views.states import run_state
from drumline.wiring import open_project

HARNESS = "ACCEPTANCE_WORLD"
PLAN = "plans/p"
SCRIPT = "agent.yaml"
DEADLINE = 120.0
# Orphans of a command in every disguise: a grandchild, a daemon of its own session, one that was forked twice.
DAEMONS = (
    "sleep 600 >/dev/null 2>&1 & "
    "setsid sleep 601 >/dev/null 2>&1 & "
    "(setsid bash -c 'setsid sleep 602 & sleep 603' >/dev/null 2>&1 &) ; "
)

T = TypeVar("T")
Rule = Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanStep:
    """One step of a plan to be written; `checks` are shell commands."""

    id: str
    needs: Sequence[str] = ()
    checks: Sequence[str] = ("true",)


@dataclass(frozen=True, kw_only=True)
class Harness:
    """One repository, and every process started for it."""

    repo: Path
    env: Mapping[str, str]
    name: str
    started: list[Started] = field(default_factory=list)

    def start(self, *args: str, **env: str) -> Started:
        """Start `drumline ARGS` in the repository, its words going into files beside it."""
        return self.launch(Command(argv=args, cwd=str(self.repo), env={**self.env, **env}, session=True))

    def start_rigged(self, *args: str, **env: str) -> Started:
        """Start the driver program that has a fault built in or a protection taken out."""
        return self.launch(Command(argv=args, cwd=str(self.repo), env={**self.env, **env}, session=True, module=RIGGED))

    def launch(self, command: Command) -> Started:
        """Start a program of this world, with a process group of its own as a shell would give it."""
        said = self.repo.parent / f"said-{len(self.started)}"
        with said.open("w") as file:
            child = start_warm(command, said=file.fileno())
        self.started.append(child)
        return child

    def said(self, child: Started) -> str:
        """What a program has said so far."""
        return (self.repo.parent / f"said-{self.started.index(child)}").read_text(errors="replace")

    def call(self, *args: str, **env: str) -> tuple[int, str]:
        """Run `drumline ARGS` to its end; its exit code and what it said."""
        ended = run_warm(Command(argv=args, cwd=str(self.repo), env={**self.env, **env}), timeout=DEADLINE)
        return ended.code, ended.out + ended.err

    def wait(self, child: Started, *, patience: float = DEADLINE) -> int:
        """The exit code of a program that ends in time; a program that does not is a failure with its words."""
        try:
            return child.wait(patience)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{child.args!r} does not end; it said: {self.said(child)}") from None

    def run_args(self, *more: str) -> list[str]:
        """The arguments that begin or join the run of the plan."""
        return ["run", PLAN, "--agent", f"scripted:{SCRIPT}", "--mode", "parallel", "--autonomy", "autopilot", *more]

    def git(self, *args: str) -> str:
        """What git says in the user's checkout."""
        done = subprocess.run(
            ["git", *args], cwd=self.repo, env=self.env, capture_output=True, text=True, check=True, timeout=DEADLINE
        )
        return done.stdout.strip()

    # --- what the run says ----------------------------------------------------------------------------------------

    def read_runs(self) -> list[dict[str, str]]:
        """The runs by `drumline runs --json`, newest first; none while there is no store."""
        code, said = self.call("runs", "--json")
        assert code == 0, said
        runs: list[dict[str, str]] = json.loads(said)["runs"]
        return runs

    def state(self) -> str:
        """How the newest run is; empty if there is none."""
        with standing_in(self.repo, self.env):
            project = open_project()
            if not project.has_store():
                return ""
            store = project.open_store(read_only=True)
            try:
                runs = store.runs()
                if not runs:
                    return ""
                return run_state(project.watcher(store, read_run(store, runs[-1])).look(time.time()))
            finally:
                store.close()

    @property
    def store(self) -> Path:
        """The journal's file."""
        return self.repo / ".git" / "drumline" / "state.db"

    def journal(self) -> list[Recorded]:
        """Every event of the newest run, in order."""
        with open_journal(self.store) as store:
            runs = store.runs()
            return list(store.tail(runs[-1])) if runs else []

    def list_claims(self) -> dict[str, DriverId]:
        """The steps claimed at this moment, and by whom."""
        with open_journal(self.store) as store:
            runs = store.runs()
            return {step: claim.driver for step, claim in store.list_claims(runs[-1]).items()} if runs else {}

    def kinds(self, step: str) -> list[str]:
        """The names of a step's events, in order."""
        return [type(r.event).__name__ for r in self.journal() if r.stream.step == step]

    def count(self, kind: str) -> Counter[str]:
        """How often an event of this kind is about each step."""
        found = [r for r in self.journal() if type(r.event).__name__ == kind]
        about = (StepId(getattr(r.event, "step", r.stream.step)) for r in found)
        return Counter(str(step) for step in about if step not in RUN_WALKS)

    def tokens(self) -> list[int]:
        """The token of every claim the journal knows."""
        claims = [r for r in self.journal() if isinstance(r.event, StepClaimed) and r.stream.step not in RUN_WALKS]
        return [r.event.token for r in claims if isinstance(r.event, StepClaimed)]

    def run_id(self) -> RunId:
        """The newest run's id."""
        with open_journal(self.store) as store:
            return store.runs()[-1]

    # --- what the repository says ---------------------------------------------------------------------------------

    @property
    def branch(self) -> str:
        """The run branch."""
        return f"drumline/p-{self.run_id()}"

    def landed(self) -> Counter[str]:
        """How many commits on the run branch carry each step's trailer."""
        said = self.git("log", "--format=%(trailers:key=Drumline-Step,valueonly)", f"HEAD..{self.branch}")
        return Counter(said.split())

    def tree(self) -> str:
        """The tree the run branch ends with."""
        return self.git("rev-parse", f"{self.branch}^{{tree}}")

    def worktrees(self) -> list[str]:
        """Worktrees git knows besides the user's checkout."""
        return [line for line in self.git("worktree", "list", "--porcelain").splitlines() if "worktree " in line][1:]

    def checkout(self) -> tuple[str, str]:
        """HEAD and git's status of the user's checkout without the plan's own files."""
        return self.git("rev-parse", "HEAD"), self.git("status", "--porcelain", "--", ".", f":!{PLAN}")

    def statuses(self) -> dict[str, str]:
        """The `status` line of every step's file."""
        found = {}
        for path in (self.repo / PLAN).glob("step-*.md"):
            status = re.search(r"^status: *(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            found[path.stem] = status[1] if status else ""
        return found

    # --- processes ------------------------------------------------------------------------------------------------

    def processes(self) -> list[int]:
        """Every live process of this world."""
        return find_processes(f"{HARNESS}={self.name}")

    def agents(self) -> list[int]:
        """Live processes of this world that some driver started for an agent or a check."""
        return find_processes(f"{HARNESS}={self.name}", f"{census.MARK}=")

    def supervisors(self) -> list[int]:
        """Live supervisors of this world; a child that one has forked and that is nothing else yet is none."""
        found = {pid for pid in self.processes() if "processes.supervisor" in read_command(pid)}
        return [pid for pid in sorted(found) if read_parent(pid) not in found]

    def wait_alone(self) -> list[int]:
        """Wait until no process of this world is left; return those that will not go."""
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not self.processes(), "every process to be gone")
        return self.processes()

    def kill_everything(self) -> None:
        """End whatever a failed test left."""
        while left := self.processes():
            for pid in left:
                send(pid, signal.SIGKILL)
            for child in self.started:
                child.poll()
            time.sleep(0.01)
        for child in self.started:
            child.wait()


@contextmanager
def make_harness(folder: Path, steps: Sequence[PlanStep], rules: Sequence[Rule]) -> Iterator[Harness]:
    """A fresh repository with a plan and an agent's script, committed; whatever is left running is ended at the end."""
    name = f"{folder.name}-{secrets.token_hex(8)}"
    harness = Harness(repo=make_repo(folder / "repo", steps, rules), env=_environment(folder, name), name=name)
    _commit_all(harness)
    try:
        yield harness
    finally:
        harness.kill_everything()


def make_repo(repo: Path, steps: Sequence[PlanStep], rules: Sequence[Rule]) -> Path:
    """Write the files of a repository: the plan, the agent's script, and something of the user's own."""
    plan = repo / PLAN
    plan.mkdir(parents=True)
    (plan / "root.md").write_text("---\nplan_type: dag\nstatus: in-progress\n---\n# A plan\n", encoding="utf-8")
    for step in steps:
        (plan / f"{step.id}.md").write_text(_step_text(step), encoding="utf-8")
    (repo / SCRIPT).write_text(yaml.safe_dump({"rules": list(rules)}, sort_keys=False), encoding="utf-8")
    (repo / "README").write_text("the user's own\n", encoding="utf-8")
    return repo


def _step_text(step: PlanStep) -> str:
    checks = "".join(f"- [ ] it holds: `{check}`\n" for check in step.checks)
    return (
        f"---\nid: {step.id}\nname: Work of {step.id}\ndepends_on: [{', '.join(step.needs)}]\nstatus: ready\n---\n"
        f"# {step.id}: Work of {step.id}\n\n### Success Criteria:\n\n#### Automated Verification:\n\n{checks}"
    )


def _environment(folder: Path, name: str) -> dict[str, str]:
    """The caller's environment without anything that would steer git or Drumline, and homes below `folder`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "DRUMLINE_", "XDG_")) and k != "CI"}
    homes = {"HOME": "home", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}
    for place in homes.values():
        (folder / place).mkdir()
    own = {key: str(folder / place) for key, place in homes.items()}
    return {**kept, **own, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", HARNESS: name}


def _commit_all(harness: Harness) -> None:
    """Commit everything, then leave some work of the user's uncommitted: staged, changed and untracked."""
    harness.git("init", "--quiet", "--initial-branch=main")
    harness.git("config", "user.name", "A Person")
    harness.git("config", "user.email", "person@example.org")
    harness.git("add", "--all")
    harness.git("commit", "--quiet", "--message=base")
    (harness.repo / "README").write_text("the user's own, changed\n", encoding="utf-8")
    (harness.repo / "staged").write_text("staged\n", encoding="utf-8")
    harness.git("add", "staged")
    (harness.repo / "untracked").write_text("untracked\n", encoding="utf-8")


@contextmanager
def open_journal(path: Path) -> Iterator[SqliteStore]:
    """The store, for reading."""
    store = SqliteStore.open(path, read_only=True)
    try:
        yield store
    finally:
        store.close()


def wait_until(true: Callable[[], T], what: str, *, seconds: float = DEADLINE) -> T:
    """Look until something is true and return it; give up loudly. At most half of the time is spent looking."""
    deadline = (began := time.monotonic()) + seconds
    while not (found := true()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(max(0.02, time.monotonic() - began))
        began = time.monotonic()
    return found


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def find_processes(entry: str, beginning: str = "") -> list[int]:
    """Every live process with this entry in its environment, ours excepted; also with one that begins like this."""
    pids = [int(path.name) for path in os.scandir("/proc") if path.name.isdigit()]
    environs = {pid: read_environ(pid) for pid in pids if pid != os.getpid()}
    wanted = f"\0{entry}\0".encode(), f"\0{beginning}".encode()
    return [pid for pid, environ in environs.items() if all(part in environ for part in wanted)]


def read_environ(pid: int) -> bytes:
    """A process's environment, each entry between two zero bytes; empty if the process is gone."""
    try:
        return b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:
        return b""


def read_command(pid: int) -> str:
    """A process's command line; empty if it is gone."""
    return _read_proc(pid, "cmdline")


def is_stopped(pid: int) -> bool:
    """Whether the process is frozen by a signal."""
    return _read_stat(pid)[:1] == ["T"]


def read_parent(pid: int) -> int:
    """The process that started this one; 0 if it is gone."""
    return int(next(iter(_read_stat(pid)[1:2]), "0"))


def _read_stat(pid: int) -> list[str]:
    """What follows the name: the state, the parent, and more."""
    return _read_proc(pid, "stat").rpartition(")")[2].split()


def _read_proc(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
