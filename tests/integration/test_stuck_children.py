"""Git and supervisors that are stopped or hang: the driver does not wait for ever, says which it was, and ends them."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from tests.acceptance.cli_user import SCRIPTED, make_user, step_text, wait_for

from drumline.core.ids import Commit, DriverId, RunId, StepId
from drumline.errors import GitStuck
from drumline.ports.processes import Ended, Job
from drumline.processes import census
from drumline.processes.kill import sweep
from drumline.processes.supervised import SupervisedProcesses
from drumline.workspace.locks import hold
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

pytestmark = pytest.mark.skipif(not census.LINUX, reason="processes are looked up in /proc")

STEP = StepId("step-1")
REAL_GIT = shutil.which("git") or "git"
PATIENCE = 60.0

# A git that is stopped, one that hangs, and one that has ended while a helper of it keeps its output open.
STOPS = "kill -STOP $$"
HANGS = "sleep 1000"
LEAVES_HELPER = "sleep 1000 & exit 0"


def git(where: Path, *args: str) -> str:
    return subprocess.run([REAL_GIT, *args], cwd=where, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    git(made, "init", "-q")
    git(made, "-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "-q", "--allow-empty", "-m", "start")
    return made


def put_shim(folder: Path, command: str, act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one subcommand of git act like this, whenever it is called."""
    shim = folder / "bin" / "git"
    shim.parent.mkdir()
    lines = f'for word in "$@"; do if [[ "$word" == {command} ]]; then {act}; exit 1; fi; done; exec {REAL_GIT} "$@"'
    shim.write_text(f"#!/bin/bash\necho $$ >> {folder}/pids\n{lines}\n", encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("act", [STOPS, HANGS, LEAVES_HELPER])
def test_a_git_that_does_not_end_is_killed_with_its_helpers_and_named(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    base = Commit(git(top, "rev-parse", "HEAD"))
    repository = find_repository(top)
    spaces = GitWorkspaces(repository, run=RunId("r"), branch="b", root=tmp_path / "work", git_limit=2.0)

    async def work() -> None:
        await spaces.start(base)
        await spaces.prepare(STEP, base)
        put_shim(tmp_path, "add", act, monkeypatch)
        with pytest.raises(GitStuck, match=r"git add did not end within 2 s"):
            await spaces.snapshot(STEP, base=base)
        # Whoever comes next finds the step's lock free: nothing of that git has kept it.
        lock = next((tmp_path / "work").glob("r.aside/*.lock"))
        async with hold(lock, patience=5.0):
            pass

    anyio.run(work)

    groups = set((tmp_path / "pids").read_text().split())

    def find_left() -> list[list[str]]:
        return [stat for stat in read_stats() if stat[2] in groups and stat[0] != "Z"]

    # One that init has inherited may still be dying: nobody else can wait for it.
    wait_for(lambda: not find_left(), "a killed process lives")


def read_stats() -> list[list[str]]:
    """State, parent, group and more of every process."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            found.append(file.read_text().rpartition(")")[2].split())
    return found


def test_a_supervisor_that_is_stopped_is_killed_with_its_command_and_named(tmp_path: Path) -> None:
    driver = DriverId(f"d-{os.getpid()}-stuck")
    line = "echo $PPID > supervisor; kill -STOP $PPID; sleep 1000"
    job = Job(argv=("bash", "-c", line), cwd=tmp_path, log=tmp_path / "job.log", timeout=0.5)
    processes = SupervisedProcesses(tmp_path / "driver", driver, report_wait=1.0)

    async def work() -> Ended:
        with anyio.fail_after(PATIENCE):
            return await processes.run(job)

    ended = anyio.run(work)

    assert ended.exit_code is None
    assert "did not end with it (it was stopped, or hangs) and was killed" in ended.message
    assert not Path(f"/proc/{(tmp_path / 'supervisor').read_text().strip()}").exists()
    assert sweep(driver) == []


def test_a_check_that_is_stopped_ends_with_its_time(tmp_path: Path) -> None:
    job = Job(argv=("bash", "-c", "kill -STOP $$"), cwd=tmp_path, log=tmp_path / "job.log", timeout=0.5)
    processes = SupervisedProcesses(tmp_path / "driver", DriverId(f"d-{os.getpid()}-check"))

    ended = anyio.run(processes.run, job)

    assert ended.timed_out


def test_a_git_that_hangs_is_the_reason_of_its_step_and_a_resume_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    path = os.environ["PATH"]
    put_shim(tmp_path, "add", STOPS, monkeypatch)

    stuck = user.run(env={"DRUMLINE_GIT_TIMEOUT": "1s", "PATH": os.environ["PATH"]})
    groups = set((tmp_path / "pids").read_text().split())
    left = [stat for stat in read_stats() if stat[2] in groups and stat[0] != "Z"]
    resumed = user.drumline("resume", env={"PATH": path})

    assert stuck.code == 2, stuck.text
    assert "git add did not end within 1 s (it was stopped, or hangs) and was killed" in stuck.text
    assert "Traceback" not in stuck.text
    assert left == []
    assert resumed.code == 0, resumed.text
    assert user.landed("step-1.txt") == "1"


@pytest.mark.parametrize("again", [("resume",), ("run", "plans/p", "--agent", SCRIPTED, "--new")])
def test_a_git_that_outlives_its_driver_over_the_run_branch_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: tuple[str, ...]
) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    path = os.environ["PATH"]
    put_shim(tmp_path, "update-ref", f"touch {tmp_path}/stopped; {STOPS}", monkeypatch)
    driver = user.start("run", "plans/p", "--agent", SCRIPTED, env={"PATH": os.environ["PATH"]})
    wait_for((tmp_path / "stopped").exists, "no git has been stopped")
    groups = set((tmp_path / "pids").read_text().split())
    driver.kill()
    driver.communicate()
    outlived = [stat for stat in read_stats() if stat[2] in groups and stat[0] != "Z"]

    resumed = user.drumline(*again, env={"PATH": path})

    assert outlived
    assert resumed.code == 0, resumed.text
    assert [stat for stat in read_stats() if stat[2] in groups and stat[0] != "Z"] == []
    assert user.landed("step-1.txt") == "1"


@pytest.mark.parametrize("command", ["land*", "commit-tree"])
def test_a_git_that_outlives_its_driver_is_ended_before_its_step_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    path = os.environ["PATH"]
    put_shim(tmp_path, command, f"touch {tmp_path}/stopped; {STOPS}", monkeypatch)
    driver = user.start("run", "plans/p", "--agent", SCRIPTED, env={"PATH": os.environ["PATH"]})
    wait_for((tmp_path / "stopped").exists, "no git has been stopped")
    groups = set((tmp_path / "pids").read_text().split())
    driver.kill()
    driver.communicate()
    outlived = [stat for stat in read_stats() if stat[2] in groups and stat[0] != "Z"]

    resumed = user.drumline("resume", env={"PATH": path})

    assert outlived
    assert resumed.code == 0, resumed.text
    assert [stat for stat in read_stats() if stat[2] in groups and stat[0] != "Z"] == []
    assert user.landed("step-1.txt") == "1"
