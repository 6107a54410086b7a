"""Something of a step is killed from outside: its work is lost and done again, and uses up no budget."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, make_user, step_of, step_text, write_plan
from tests.integration.harness import RUN, Harness, WritingAgent, judge, small_plan, step

from drumline.agents.command import judge as judge_command
from drumline.core import events as ev
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.plan import RUN_WALKS
from drumline.core.state import RunState
from drumline.core.taxonomy import MOST_KILLS
from drumline.errors import GitKilled
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.processes import Ended, Job
from drumline.ports.workspaces import Landing
from drumline.record import replace
from drumline.testing.workspaces import FakeWorkspaces

A = StepId("a")
KILLED = Outcome(failure="killed", message="it was killed by signal 9", usage={"output_tokens": 5.0})


class MortalAgent(WritingAgent):
    """Is killed in its first `times` tries, after it has written something."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def work(self, assignment: Assignment) -> Outcome:
        done = await super().work(assignment)
        return KILLED if len(self.assignments) <= self.times else done


class MortalGit(FakeWorkspaces):
    """Git is killed in the first `times` calls of one kind for step a."""

    call, times = "", 0

    async def prepare(self, step: StepId, base: Commit, *, setup: str = "") -> Tree:
        """Killed if that is the call."""
        self._kill("prepare", step)
        return await super().prepare(step, base, setup=setup)

    async def snapshot(self, step: StepId, *, base: Commit, tidy: bool = False) -> Tree:
        """Killed if that is the call."""
        self._kill("snapshot", step)
        return await super().snapshot(step, base=base, tidy=tidy)

    async def clean(self, step: StepId, tree: Tree, *, base: Commit) -> dict[str, str]:
        """Killed if that is the call."""
        self._kill("clean", step)
        return dict(await super().clean(step, tree, base=base))

    async def commit(self, step: StepId, tree: Tree, *, base: Commit, message: str, journal: str = "") -> Commit:
        """Killed if that is the call."""
        self._kill("commit", step)
        return await super().commit(step, tree, base=base, message=message, journal=journal)

    async def land(self, step: StepId, commit: Commit, *, head: Commit) -> Landing:
        """Killed after it has moved the branch, if that is the call."""
        landed = await super().land(step, commit, head=head)
        self._kill("land", step)
        return landed

    def _kill(self, call: str, step: StepId) -> None:
        if call == self.call and step == A and self.times:
            self.times -= 1
            raise GitKilled(f"git {call} was killed by signal 9", hint="drumline resume")


def harness_of(folder: Path, *, agent: WritingAgent | None = None, script: Callable[[Job], Ended] = judge) -> Harness:
    plan = small_plan(step("a"), step("b"))
    return Harness(folder=folder, plan=plan, agent=agent or WritingAgent(), script=script, mode="sequential")


def killing(times: int) -> Callable[[Job], Ended]:
    """Checks of step a are killed so often."""
    left = [times]

    def script(job: Job) -> Ended:
        if job.argv[-1].endswith(" a") and left[0]:
            left[0] -= 1
            return Ended(exit_code=137, seconds=0.0, killed=True)
        return judge(job)

    return script


def states(run: RunState) -> dict[str, str]:
    return {str(name): f.state for name, f in run.finished.items() if name not in RUN_WALKS}


def lost(harness: Harness) -> list[str]:
    return [r.event.killed for r in harness.store.tail(RUN) if isinstance(r.event, ev.WorkLost)]


def test_an_attempt_whose_agent_is_killed_is_lost_and_made_again(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent=MortalAgent(MOST_KILLS - 1))

    run = harness.drive()

    assert states(run) == {"a": "done", "b": "done"}
    found = run.finished[A]
    assert (found.attempts, found.fixes, found.lost) == (1, 0, 2)
    assert found.usage["output_tokens"] == 10.0
    assert lost(harness) == ["the agent: it was killed by signal 9"] * 2
    assert [label for _, label in harness.workspaces.kept if label.startswith("lost-")] != []


def test_an_agent_that_is_killed_every_time_blocks_its_step_and_a_resume_tries_again(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent=MortalAgent(MOST_KILLS))

    first = harness.drive()
    resumed = harness.drive()

    blocked = next(r.event for r in harness.store.tail(RUN) if isinstance(r.event, ev.StepFinished))
    assert states(first) == {"a": "blocked", "b": "done"}
    assert blocked.reason.startswith("killed from outside 3 times in a row: the agent")
    assert "drumline resume" in blocked.reason
    assert (blocked.fixes, blocked.failure) == (0, "killed")
    assert states(resumed) == {"a": "done", "b": "done"}


def test_a_check_that_is_killed_runs_again_without_a_fix(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, script=killing(MOST_KILLS - 1))

    run = harness.drive()

    assert states(run) == {"a": "done", "b": "done"}
    assert (run.finished[A].attempts, run.finished[A].fixes, run.finished[A].is_proved) == (1, 0, True)
    assert lost(harness) == ["the check check a"] * 2


def test_a_resume_after_killed_checks_keeps_the_work_and_only_checks(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, script=killing(MOST_KILLS))

    first, resumed = harness.drive(), harness.drive()

    assert states(first) == {"a": "blocked", "b": "done"}
    assert states(resumed) == {"a": "done", "b": "done"}
    assert isinstance(harness.agent, WritingAgent)
    assert [a.step for a in harness.agent.assignments] == ["a", "b"]


def test_a_check_that_fails_between_two_kills_ends_the_row(tmp_path: Path) -> None:
    ends = [Ended(exit_code=137, seconds=0.0, killed=True)] * 2
    queue = [*ends, Ended(exit_code=1, seconds=0.0), *ends]
    harness = harness_of(tmp_path, script=lambda job: queue.pop(0) if queue else judge(job))

    run = harness.drive()

    assert states(run) == {"a": "done", "b": "done"}
    assert run.finished[A].fixes == 1


def test_an_exit_code_of_137_that_a_shell_tells_is_the_works_failure(tmp_path: Path) -> None:
    queue = [Ended(exit_code=137, seconds=0.0), Ended(exit_code=139, seconds=0.0)]
    harness = harness_of(tmp_path, script=lambda job: queue.pop(0) if queue else judge(job))

    run = harness.drive()

    assert run.finished[A].fixes == 2
    assert lost(harness) == []


@pytest.mark.parametrize("call", ["prepare", "snapshot", "clean", "commit", "land"])
def test_a_git_that_is_killed_is_called_again(tmp_path: Path, call: str) -> None:
    harness = harness_of(tmp_path)
    harness.workspaces = git = MortalGit(tmp_path / "git", files={"README": "hello\n"}, plan_paths=["plan"])
    git.call, git.times = call, MOST_KILLS - 1

    run = harness.drive()

    assert states(run) == {"a": "done", "b": "done"}
    assert (run.finished[A].attempts, run.finished[A].fixes) == (1, 0)
    assert [name for _, name in git.log()] == ["a", "b"]


@pytest.mark.parametrize("call", ["prepare", "commit"])
def test_a_git_that_is_killed_every_time_blocks_its_step_and_a_resume_tries_again(tmp_path: Path, call: str) -> None:
    harness = harness_of(tmp_path)
    harness.workspaces = git = MortalGit(tmp_path / "git", files={"README": "hello\n"}, plan_paths=["plan"])
    git.call, git.times = call, MOST_KILLS

    first = harness.drive()
    reason = first.finished[A].reason
    resumed = harness.drive()

    assert f"killed from outside 3 times in a row: git {call} was killed by signal 9" in reason
    assert states(resumed) == {"a": "done", "b": "done"}


# --- real processes ---------------------------------------------------------------------------------------------

ONCE = "mkdir {marker} 2>/dev/null && kill -{number} {pid} && sleep 100"
SHIM = """#!/bin/bash
case " $* " in *" write-tree "*) mkdir {folder}/used 2>/dev/null && kill -9 $$;; esac
exec {git} "$@"
"""


def put_shim(user: User) -> str:
    """A git that is killed the first time it writes a tree; returns the PATH on which it is found first."""
    shim = user.folder / "shim"
    shim.mkdir()
    (shim / "git").write_text(SHIM.format(folder=shim, git=shutil.which("git")))
    (shim / "git").chmod(0o755)
    return f"{shim}:{user.env['PATH']}"


def test_supervisor_check_and_git_may_be_killed_without_costing_an_attempt(tmp_path: Path) -> None:
    check = ONCE.format(marker=tmp_path / "check-killed", number="TERM", pid="$$")
    user = make_user(tmp_path, step_text("step-1", checks=[f"{check}; test -f step-1.txt"]))
    agent = ONCE.format(marker=tmp_path / "agent-killed", number="KILL", pid="$PPID")
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "run": f"{agent}; true"})

    ran = user.run("--json", env={"PATH": put_shim(user), "DRUMLINE_CHECK_FOLDERS": str(tmp_path)})

    assert ran.code == 0, ran.text
    killed = [line["killed"] for line in ran.lines if line.get("event") == "lost"]
    assert len(killed) == 2, ran.out
    assert "supervisor" in str(killed[0])
    assert "the check" in str(killed[1])
    assert (tmp_path / "shim" / "used").exists()  # while the workspace was cleaned up: nothing was open, nothing lost
    assert [line["event"] for line in ran.lines if line.get("event") in ("fix", "check_failed", "retry_wait")] == []


UNTIL = "test -e {folder}/shown/spared || kill -KILL {pid}; test -e {folder}/shown/spared || sleep 100"
"""Kills until the file `spared` is there."""
KILLED_GIT = """#!/bin/bash
case " $* " in *" write-tree "*) {until};; esac
exec {git} "$@"
"""


def endanger(user: User, victim: str) -> dict[str, str]:
    """Let this be killed whenever it is at work for the step; returns the environment of the run."""
    own, parent = (UNTIL.format(folder=user.folder, pid=pid) for pid in ("$$", "$PPID"))
    deed = {"agent": own, "supervisor": parent}.get(victim, "true")
    check = {"check": own}.get(victim, "true")
    write_plan(user.repo / PLAN, step_text("step-1", checks=[f"{check}; test -f step-1.txt"]))
    user.commit_all("plan")
    user.play({"match": {"step": "step-1"}, "run": f"{deed}; echo 1 > step-1.txt"})
    path = user.env["PATH"]
    if victim == "git":
        shim = user.folder / "shim"
        shim.mkdir()
        (shim / "git").write_text(KILLED_GIT.format(until=own, git=shutil.which("git")), encoding="utf-8")
        (shim / "git").chmod(0o755)
        path = f"{shim}:{path}"
    (user.folder / "shown").mkdir()
    return {"PATH": path, "DRUMLINE_CHECK_FOLDERS": str(user.folder / "shown")}


@pytest.mark.parametrize("victim", ["git", "supervisor", "agent", "check"])
def test_what_is_killed_three_times_blocks_its_step_and_a_resume_takes_it_up(tmp_path: Path, victim: str) -> None:
    user = make_user(tmp_path)
    env = endanger(user, victim)

    ran = user.run("--json", env=env)
    blocked = step_of(user.status(), "step-1")
    (tmp_path / "shown" / "spared").touch()
    resumed = user.drumline("resume", env=env)

    assert ran.code == 2, ran.text
    assert blocked["state"] == "blocked", ran.text
    assert f"killed from outside {MOST_KILLS} times in a row" in str(blocked["reason"])
    assert victim in str(blocked["reason"])
    assert [line["event"] for line in ran.lines if line.get("event") in ("fix", "check_failed")] == []
    assert resumed.code == 0, resumed.text
    assert user.git("log", "--format=%s", f"main..{user.branch()}").count("\n") == 0  # one landing
    done = step_of(user.status(), "step-1")
    assert (done["state"], done["fixes"]) == ("done", 0)


def test_what_a_check_started_and_could_not_be_ended_is_named_in_the_steps_notices(tmp_path: Path) -> None:
    def leave(job: Job) -> Ended:
        return replace(judge(job), left="sleep (pid 12)")

    run = harness_of(tmp_path, script=leave).drive()

    assert states(run) == {"a": "done", "b": "done"}
    assert run.finished[A].notices == ("what it started could not be ended and may still be at work: sleep (pid 12)",)


def test_what_an_agent_started_and_could_not_be_ended_is_a_notice() -> None:
    ended = Ended(exit_code=0, seconds=0.1, output="done", left="sleep (pid 12)")

    outcome = judge_command(ended)

    assert (outcome.failure, outcome.notices) == (
        "",
        ("what it started could not be ended and may still be at work: sleep (pid 12)",),
    )
