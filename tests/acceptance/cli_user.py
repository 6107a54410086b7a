"""A user's machine in a folder: a home, a repository with a plan, an agent that plays a file, the real command line.

The rule: nothing outside the folder is read or written, and what was started in it is gone when the test is over.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from tests.warm import RIGGED, Command, Started, keep_environment, run_warm, start_warm

from drumline.app.catalog import find_run, read_run
from drumline.cli.main import main
from drumline.views.status import status_json
from drumline.wiring import open_project

PATIENCE = 120.0
"""Seconds until a thing that should happen counts as not happening; the machine may be busy."""
PLAN = "plans/p"
SCRIPTED = "scripted:agent.yaml"

Rule = Mapping[str, object]
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


NO_RUN: dict[str, object] = {"ok": False}
"""What is seen before there is a run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """A command line that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        """The only line of stdout, as JSON."""
        found: dict[str, object] = json.loads(self.out)
        return found

    @property
    def lines(self) -> list[dict[str, object]]:
        """Every line of stdout, each a JSON object."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def text(self) -> str:
        """Everything it said, for searching."""
        return self.out + self.err


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    """Somebody with a folder of their own; `repo` is where they type."""

    folder: Path
    repo: Path

    @property
    def env(self) -> dict[str, str]:
        """An environment that knows nothing of the machine but its programs."""
        home = self.folder / "home"
        more = {
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "USER": "kim",
            "TERM": "xterm",
        }
        return keep_environment() | more

    def drumline(self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
        """Type a command and wait for its end: a process of its own, forked from one that has imported everything."""
        if env and "PYTHONPATH" in env:
            return self.drumline_cold(*args, cwd=cwd, env=env)
        command = Command(argv=args, cwd=str(cwd or self.repo), env=self.env | dict(env or {}))
        ended = run_warm(command, timeout=PATIENCE)
        return Ran(code=ended.code, out=ended.out, err=ended.err)

    def rigged(self, *args: str, env: Mapping[str, str]) -> Ran:
        """Type a command whose process is struck at one of its writes to the journal, as the variables say."""
        told = {"TALLY": str(self.folder / "tally"), **env}
        command = Command(argv=["cli", *args], cwd=str(self.repo), env=self.env | told, module=RIGGED)
        ended = run_warm(command, timeout=PATIENCE)
        return Ran(code=ended.code, out=ended.out, err=ended.err)

    def drumline_cold(self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
        """Type a command as a shell starts it, for tests of the start itself; wait for its end."""
        process = subprocess.run(
            [sys.executable, "-m", "drumline", *args],
            cwd=cwd or self.repo,
            env=self.env | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return Ran(code=process.returncode, out=process.stdout, err=process.stderr)

    def type(self, *args: str, env: Mapping[str, str] | None = None) -> Ran:
        """Type a command that this process plays itself: the same code and texts, without starting Python for it."""
        out, err = io.StringIO(), io.StringIO()
        with standing_in(self.repo, self.env | dict(env or {})), redirect_stdout(out), redirect_stderr(err):
            code = main(list(args))
        return Ran(code=code, out=out.getvalue(), err=err.getvalue())

    def start(self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Started:
        """Type a command and do not wait: a process of its own, forked like that of `drumline`."""
        return start_warm(Command(argv=args, cwd=str(cwd or self.repo), env=self.env | dict(env or {})))

    def run(self, *args: str, agent: str = SCRIPTED, env: Mapping[str, str] | None = None) -> Ran:
        """Run the plan without ever being asked, unless the arguments say otherwise."""
        autonomy = () if "--autonomy" in args else ("--autonomy", "autopilot")
        return self.drumline("run", PLAN, "--agent", agent, *autonomy, *args, env=env)

    def status(self, run: str = "") -> dict[str, object]:
        """The run as scripts see it: what `status --json` does, without a process, since tests look so often."""
        with standing_in(self.repo, self.env):
            project = open_project()
            if not project.has_store():
                return NO_RUN
            store = project.open_store(read_only=True)
            try:
                if not store.runs():
                    return NO_RUN
                snapshot = project.watcher(store, read_run(store, find_run(store, run))).look(time.time())
                found: dict[str, object] = json.loads(json.dumps(status_json(snapshot)))
            finally:
                store.close()
        return found

    def step(self, name: str) -> dict[str, object]:
        """One step of the newest run as scripts see it."""
        return step_of(self.status(), name)

    def git(self, *args: str, cwd: Path | None = None) -> str:
        """Ask git."""
        told = subprocess.run(
            ["git", *args], cwd=cwd or self.repo, env=self.env, check=True, capture_output=True, text=True
        )
        return told.stdout.strip()

    def commit_all(self, message: str = "more") -> None:
        """Commit whatever is there."""
        self.git("add", "-A")
        self.git("-c", "user.name=Kim", "-c", "user.email=kim@example.org", "commit", "-q", "-m", message)

    def branch(self) -> str:
        """The run branch of the newest run."""
        return str(self.status()["branch"])

    def landed(self, path: str) -> str:
        """A file's content on the newest run branch."""
        return self.git("show", f"{self.branch()}:{path}")

    def file(self, step: str) -> str:
        """A step's file as it is now."""
        return self.path(step).read_text(encoding="utf-8")

    def path(self, step: str) -> Path:
        """Where a step's file is."""
        return self.repo / PLAN / f"{step}.md"

    def edit(self, step: str, old: str, new: str) -> None:
        """Change a step's file by hand, in one stroke as editors do."""
        text = self.file(step)
        assert old in text
        replacement = self.path(step).with_suffix(".new")
        replacement.write_text(text.replace(old, new), encoding="utf-8")
        replacement.replace(self.path(step))

    def play(self, *rules: Rule, default: Rule | None = None) -> None:
        """Give the scripted agent its script."""
        write_script(self.repo / "agent.yaml", rules, default=default)

    def prompt(self, step: str, attempt: int = 1) -> str:
        """The prompt an attempt got, as `logs` shows it."""
        return self.drumline("logs", step, "--prompt", "--attempt", str(attempt)).out


def step_text(name: str, needs: Sequence[str] = (), *, checks: Sequence[str] = (), manual: str = "") -> str:
    """A step's file."""
    listed = "".join(f"- [ ] it holds: `{check}`\n" for check in checks or (f"test -f {name}.txt",))
    by_hand = f"\n#### Manual Verification:\n\n- [ ] {manual}\n" if manual else ""
    return (
        f"---\nid: {name}\nname: Make {name}\ndepends_on: [{', '.join(needs)}]\nstatus: ready\n---\n"
        f"# {name}: Make {name}\n\n## Overview\n\nWrite the file of {name}.\n\n"
        f"### Success Criteria:\n\n#### Automated Verification:\n\n{listed}{by_hand}"
    )


def write_plan(folder: Path, *steps: str) -> None:
    """A plan's directory; the name of each file is the id in its text."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "root.md").write_text("---\nplan_type: dag\nstatus: in-progress\n---\n# A small plan\n", encoding="utf-8")
    for text in steps:
        name = text.partition("id: ")[2].partition("\n")[0]
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def write_script(path: Path, rules: Sequence[Rule], *, default: Rule | None = None) -> None:
    """A script for the scripted agent: the given rules first, then each step writes its own file."""
    own = [{"match": {"step": f"step-{n}"}, "write": {f"step-{n}.txt": f"{n}\n"}} for n in range(1, 10)]
    script: dict[str, object] = {"rules": [*rules, *own]}
    if default is not None:
        script["default"] = default
    path.write_text(yaml.dump(script, Dumper=_DUMPER, sort_keys=False), encoding="utf-8")


def init_repository(user: User) -> None:
    """An empty repository, without the fourteen example hooks that git would copy into each."""
    user.git("init", "-q", "--template=", "-b", "main")
    for name in ("hooks", "info"):
        (user.repo / ".git" / name).mkdir()


def make_user(folder: Path, *steps: str) -> User:
    """A user with a repository that holds a plan, committed, and a script that makes every step succeed."""
    (folder / "home").mkdir()
    shutil.copytree(_make_repository(steps), folder / "repo", copy_function=shutil.copyfile)
    return User(folder=folder, repo=folder / "repo")


@cache
def _make_repository(steps: tuple[str, ...]) -> Path:
    """Such a repository, made once and copied for every test of this process that wants the same."""
    folder = Path(tempfile.mkdtemp(prefix="user-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return fill_folder(folder, *steps).repo


def fill_folder(folder: Path, *steps: str) -> User:
    """A user with such a repository, made by git."""
    user = User(folder=folder, repo=folder / "repo")
    user.repo.mkdir()
    init_repository(user)
    (user.repo / "README.md").write_text("hello\n", encoding="utf-8")
    if steps:
        write_plan(user.repo / PLAN, *steps)
    user.play()
    user.commit_all("start")
    return user


@contextmanager
def standing_in(folder: Path, env: Mapping[str, str]) -> Iterator[None]:
    """This process is, for a moment, one that was started in this folder with this environment and no other."""
    before = dict(os.environ)
    with chdir(folder):
        replace_environment(env)
        try:
            yield
        finally:
            replace_environment(before)


def replace_environment(env: Mapping[str, str]) -> None:
    """Make this the environment of our process."""
    os.environ.clear()
    os.environ.update(env)


@contextmanager
def leaving_nothing(folder: Path) -> Iterator[None]:
    """Afterwards no process may be left that was started with this folder's home; those that are fail it, and end."""
    try:
        yield
        wait_for(lambda: not processes_of(folder), f"processes left: {processes_of(folder)}", patience=20.0)
    finally:
        for pid in processes_of(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes_of(folder: Path) -> list[int]:
    """Processes started with this folder's home in their environment."""
    wanted = f"HOME={folder / 'home'}".encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in environ:
            found.append(int(entry.name))
    return found


def wait_for(holds: Callable[[], object], what: str, *, patience: float = PATIENCE) -> None:
    """Look again and again until something holds, at most half of the time."""
    deadline = (began := time.monotonic()) + patience
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(max(0.05, time.monotonic() - began))
        began = time.monotonic()


def step_of(status: Mapping[str, object], name: str) -> dict[str, object]:
    """One step in a status."""
    steps = status["steps"]
    assert isinstance(steps, list)
    found: dict[str, object] = next(step for step in steps if step["id"] == name)
    return found


def states_of(status: Mapping[str, object]) -> dict[str, object]:
    """The state of every step in a status."""
    steps = status["steps"]
    assert isinstance(steps, list)
    return {step["id"]: step["state"] for step in steps}


def gates_of(status: Mapping[str, object]) -> list[str]:
    """The ids of the open gates in a status."""
    gates = status["gates"]
    assert isinstance(gates, list)
    return [gate["id"] for gate in gates]


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, links as their target."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.fsencode(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name + "/"] = b""
    return found
