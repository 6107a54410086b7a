"""A user's machine in a folder: a home, a repository with a plan, and the real command line at work in it.

The rule: everything it starts has the folder in its environment, so that what is left over can be found and ended.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.soak.planwriting import find_plan, write_agent, write_check, write_plan
from tools.soak.scenario import FLOW, TASK, Scenario

GIT = shutil.which("git") or "git"
LEASE = "3s"
EMAIL = "kim@example.org"
PERSON = ("-c", "user.name=Kim", "-c", f"user.email={EMAIL}")
PATIENCE = 300.0
"""Seconds for a command that only looks or records; the machine may be busy."""
TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A command that has ended: its exit code and its words."""

    argv: tuple[str, ...]
    code: int
    out: str
    err: str

    def read_json(self) -> dict[str, object]:
        """The last line of stdout as JSON; empty if it is not any."""
        lines = self.out.strip().splitlines()
        try:
            found = json.loads(lines[-1]) if lines else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(kw_only=True, slots=True)
class Started:
    """A driver that was started: its process, the file of its words, and when it was first seen ended."""

    argv: tuple[str, ...]
    process: subprocess.Popen[bytes]
    words: Path
    ended: float = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        alive = self.process.poll() is None
        if not alive and not self.ended:
            self.ended = time.monotonic()
        return alive

    @property
    def was_refused(self) -> bool:
        """Whether it ended with an error before it drove anything, for example because there was no run yet."""
        return self.process.poll() in (1, 3) and self.read().startswith("drumline: ")

    def read(self) -> str:
        """What it has said so far."""
        try:
            return self.words.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One repository, and every driver started for it. Words go to `notes`, which is on another disk."""

    folder: Path
    notes: Path
    scenario: Scenario
    agent: str
    started: list[Started] = field(default_factory=list)
    calls: list[Said] = field(default_factory=list)

    @property
    def repo(self) -> Path:
        """Where the user types."""
        return self.folder / "repo"

    @property
    def store(self) -> Path:
        """The journal's file."""
        return self.repo / ".git" / "drumline" / "state.db"

    @property
    def plan(self) -> Path:
        """The plan's file or folder."""
        return self.repo / find_plan(self.scenario)

    @property
    def env(self) -> dict[str, str]:
        """An environment that knows nothing of this machine but its programs; git is the one that can be trapped."""
        found = {key: os.environ[key] for key in ("LANG", "LC_ALL") if key in os.environ}
        path = (str(self.folder / "bin"), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
        more = {
            "PATH": os.pathsep.join(path),
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "XDG_STATE_HOME": str(self.folder / "home" / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "home" / "config"),
            "XDG_CACHE_HOME": str(self.folder / "home" / "cache"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "DRUMLINE_LEASE": LEASE,
            "USER": "kim",
            "TERM": "dumb",
        }
        return found | more

    def run_args(self) -> list[str]:
        """What begins or joins the run of the plan."""
        chosen = self.scenario
        if chosen.format == FLOW:
            return ["flow", "run", find_plan(chosen), "--worktree", "--agent", self.agent]
        if chosen.format == TASK:
            (step,) = chosen.steps
            judged = ["--check", write_check(step), "--autonomy", chosen.autonomy]
            return ["do", f"Work of {step.id}", "--merge", *judged, "--agent", self.agent]
        flags = ["--mode", chosen.mode, "--autonomy", chosen.autonomy, "--jobs", str(chosen.jobs)]
        return ["run", find_plan(chosen), "--agent", self.agent, *flags]

    def start(self, *args: str) -> Started:
        """Start `drumline ARGS` in a session of its own and do not wait."""
        words = self.notes / f"{len(self.started):03}-{args[0]}.txt"
        with words.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "drumline", *args],
                cwd=self.repo,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started = Started(argv=args, process=process, words=words)
        self.started.append(started)
        return started

    def call(self, *args: str) -> Said:
        """Run `drumline ARGS` that only looks or records, to its end."""
        said = self._run([sys.executable, "-m", "drumline", *args], self.env, self.repo)
        self.calls.append(said)
        with (self.notes / "calls.txt").open("a", encoding="utf-8") as file:
            told = "" if "--json" in args else said.out
            file.write(f"$ drumline {' '.join(args)}\n{told}{said.err}exit code {said.code}\n\n")
        return said

    def git(self, *args: str, cwd: Path | None = None, **env: str) -> Said:
        """Run the real git as the user does, whatever comes of it."""
        return self._run([GIT, *PERSON, *args], {**self.env, **env}, cwd or self.repo)

    def ask_git(self, *args: str, cwd: Path | None = None) -> str:
        """What git prints; empty if it refuses."""
        said = self.git(*args, cwd=cwd)
        return said.out.strip() if said.code == 0 else ""

    def note(self, line: str) -> None:
        """Write down what happened, for a post-mortem."""
        with (self.notes / "story.txt").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    @property
    def drivers(self) -> list[Started]:
        """The drivers that have not ended."""
        return [started for started in self.started if started.is_alive]

    def _run(self, argv: Sequence[str], env: dict[str, str], cwd: Path) -> Said:
        try:
            done = subprocess.run(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired as late:
            return Said(argv=tuple(argv), code=-1, out=_decode(late.stdout), err=_decode(late.stderr))
        return Said(argv=tuple(argv), code=done.returncode, out=_decode(done.stdout), err=_decode(done.stderr))


def _decode(said: bytes | None) -> str:
    return (said or b"").decode(errors="replace")


def make_machine(folder: Path, notes: Path, scenario: Scenario) -> Machine:
    """A repository with a plan, committed or not, and some uncommitted work of the user's own."""
    for name in ("bin", "home", "tmp", "repo"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    notes.mkdir(parents=True, exist_ok=True)
    machine = Machine(folder=folder, notes=notes, scenario=scenario, agent=write_agent(folder, scenario))
    repo = machine.repo
    machine.git("init", "--quiet", "--initial-branch=main")
    for key, value in (("user.name", "Kim"), ("user.email", EMAIL), ("gc.auto", "0")):
        machine.git("config", key, value)
    (repo / "README").write_text("the user's own\n", encoding="utf-8")
    (repo / ".gitignore").write_text("ignored/\n", encoding="utf-8")
    if scenario.tracked:
        write_plan(repo, scenario)
    machine.git("add", "--all")
    machine.git("commit", "--quiet", "--message=base")
    write_plan(repo, scenario)
    _leave_work(machine)
    return machine


def _leave_work(machine: Machine) -> None:
    """Work of the user's that is staged, changed, untracked and ignored, and a worktree of their own.

    Nothing is merged into a checkout with changes, so where that is to happen there are none.
    """
    repo = machine.repo
    if machine.scenario.format != TASK:
        (repo / "README").write_text("the user's own, changed\n", encoding="utf-8")
        (repo / "staged").write_text("staged\n", encoding="utf-8")
        machine.git("add", "staged")
    (repo / "untracked").write_text("untracked\n", encoding="utf-8")
    (repo / "ignored").mkdir()
    (repo / "ignored" / "data").write_bytes(bytes(range(256)))
    machine.git("worktree", "add", "--quiet", "-b", "desk", str(machine.folder / "desk"))
    (machine.folder / "desk" / "note").write_text("on the desk\n", encoding="utf-8")
