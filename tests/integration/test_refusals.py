"""What the machine refuses is a reason, never a traceback; a plan may vanish and come back."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from tests.acceptance.cli_user import PLAN, User, make_user, states_of, step_text
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step

from drumline.core import events as ev
from drumline.core.branch import Branch
from drumline.core.ids import Commit, StepId
from drumline.core.plan import RUN_WALKS, Marks, Plan, Problem, Reading, Status, Step
from drumline.core.state import RunState
from drumline.core.trust import Brought
from drumline.engine import wakeup
from drumline.engine.driver import Driver
from drumline.engine.upkeep import Upkeep
from drumline.errors import InvalidInput, SystemRefused
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.workspaces import Meant
from drumline.store.trustfile import FileTrust
from drumline.testing.planfiles import FakePlanFiles
from drumline.testing.workspaces import FakeWorkspaces

A, B = StepId("a"), StepId("b")
FULL = OSError(errno.ENOSPC, "No space left on device", "/logs/a.log")


@pytest.fixture(autouse=True)
def _without_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeup, "POLL", 0.01)
    monkeypatch.setattr(wakeup, "LOOK_ROUND", 0.05)


class ActingAgent(WritingAgent):
    """Does something to the world in its first attempt at step a."""

    def __init__(self, act: object) -> None:
        super().__init__()
        self.act = act

    async def work(self, assignment: Assignment) -> Outcome:
        if assignment.step == A and not self.assignments and callable(self.act):
            await super().work(assignment)
            self.act()
            return Outcome()
        return await super().work(assignment)


class FickleFiles(FakePlanFiles):
    """A plan whose files may be gone, or closed to us."""

    gone, closed = False, frozenset[StepId]()

    def read(self, known: Reading | None = None) -> Reading:
        """Nothing while they are gone."""
        if self.gone:
            missing = Problem(code="missing_file", message="does not exist", where="plan/root.md:1")
            return Reading(plan=Plan(name="demo", path="plan", steps=()), marks={}, digests={}, problems=(missing,))
        return super().read(known)

    def marks(self, step: Step) -> Marks:
        """Refused while they are gone."""
        if self.gone:
            raise InvalidInput(f"{step.path} does not exist")
        return super().marks(step)

    def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
        """Refused where it is closed; nobody writes what is gone."""
        assert not self.gone
        if step.id in self.closed:
            raise PermissionError(errno.EACCES, "Permission denied", step.path)
        return super().write(step, marks, ticked=ticked, unless=unless)


def harness_of(folder: Path, act: object = None) -> tuple[Harness, FickleFiles]:
    plan = small_plan(step("a"), step("b"))
    harness = Harness(folder=folder, plan=plan, agent=ActingAgent(act), mode="sequential")
    harness.planfiles = files = FickleFiles(plan)
    return harness, files


def states(run: RunState) -> dict[str, str]:
    return {str(name): f.state for name, f in run.finished.items() if name not in RUN_WALKS}


def refuse(error: BaseException) -> object:
    def act() -> None:
        raise error

    return act


@pytest.mark.parametrize("error", [FULL, BaseExceptionGroup("tasks", [FULL]), ExceptionGroup("two", [FULL, FULL])])
def test_what_the_machine_refuses_in_a_step_is_its_reason_and_the_rest_goes_on(
    tmp_path: Path, error: BaseException
) -> None:
    harness, _ = harness_of(tmp_path, refuse(error))

    run = harness.drive()

    assert states(run) == {"a": "blocked", "b": "done"}
    assert run.finished[A].reason == ("/logs/a.log: No space left on device; free some space")
    assert not harness.store.list_claims(RUN)


def test_a_bug_in_a_step_keeps_its_traceback(tmp_path: Path) -> None:
    harness, _ = harness_of(tmp_path, refuse(ExceptionGroup("tasks", [FULL, ValueError("a bug")])))

    with pytest.raises(BaseExceptionGroup):
        harness.drive()


def test_logs_that_cannot_be_written_block_the_step(tmp_path: Path) -> None:
    harness, _ = harness_of(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a").write_text("not a folder")

    run = harness.drive()

    assert states(run) == {"a": "blocked", "b": "done"}
    assert "logs/a" in run.finished[A].reason


def test_a_step_whose_file_cannot_be_marked_is_blocked_and_the_rest_goes_on(tmp_path: Path) -> None:
    harness, files = harness_of(tmp_path)
    files.closed = frozenset({A})

    run = harness.drive()

    assert states(run) == {"a": "blocked", "b": "done"}
    assert "its file cannot be marked: plan/a.md: Permission denied; look at its permissions" in run.finished[A].reason
    assert not harness.store.list_claims(RUN)


def test_a_mark_that_cannot_be_written_is_told_once_and_written_when_it_can(tmp_path: Path) -> None:
    harness, files = harness_of(tmp_path)
    harness.agent = ActingAgent(lambda: setattr(files, "closed", frozenset({A})))
    told: list[Problem] = []

    async def session() -> RunState:
        await harness.begin()
        return await Driver(upkeep=Upkeep(services=harness.services(), complain=told.extend), run_id=RUN).drive()

    run = anyio.run(session)
    files.closed = frozenset()
    for driver in harness.joined:
        harness.roster.die(driver)
    harness.drive()

    assert states(run) == {"a": "done", "b": "done"}
    assert [problem.where for problem in told] == ["plan/a.md"]
    assert files.read().marks[A].status is Status.DONE


def test_a_plan_that_vanishes_parks_the_run_with_that_reason_and_is_not_written_to(tmp_path: Path) -> None:
    harness, files = harness_of(tmp_path)
    harness.agent = ActingAgent(lambda: setattr(files, "gone", True))

    harness.drive()
    files.gone = False
    resumed = harness.drive()

    parked, ended = [r.event for r in harness.store.tail(RUN) if isinstance(r.event, ev.RunParked | ev.RunEnded)]
    assert isinstance(parked, ev.RunParked)
    assert "the plan plan is gone: restore it" in parked.reason
    assert isinstance(ended, ev.RunEnded)
    assert states(resumed) == {"a": "done", "b": "done"}
    assert {files.read().marks[name].status for name in (A, B)} == {Status.DONE}


def test_a_claim_that_git_took_back_is_written_over_when_the_step_is_done(tmp_path: Path) -> None:
    harness, files = harness_of(tmp_path)
    harness.agent = ActingAgent(lambda: files.write(harness.plan.by_id[A], Marks()))

    run = harness.drive()

    assert states(run) == {"a": "done", "b": "done"}
    assert files.read().marks[A].status is Status.DONE


def test_what_the_machine_refuses_to_the_driver_itself_is_an_error_with_a_next_command(tmp_path: Path) -> None:
    class Refusing(FakeWorkspaces):
        async def look(
            self, landed: Sequence[Commit], left: Commit | None = None, meant: Meant | None = None
        ) -> Branch:
            raise OSError(errno.EROFS, "Read-only file system", "/repo/.git")

    harness, _ = harness_of(tmp_path)
    harness.workspaces = Refusing(tmp_path / "git", files={"README": "hello\n"}, plan_paths=["plan"])

    with pytest.raises(SystemRefused, match=r"/repo/\.git: Read-only file system; mount it writable") as caught:
        harness.drive()

    assert caught.value.hint == "drumline resume"


# --- real files -------------------------------------------------------------------------------------------------


def test_a_stashed_plan_stops_the_run_and_comes_back_with_it(tmp_path: Path) -> None:
    user: User = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
    plan = user.repo / PLAN
    stash = f"git -C {user.repo} -c user.name=K -c user.email=k@example.org stash push -q -u -- {PLAN}"
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "run": stash})
    user.git("rm", "-rq", "--cached", PLAN)
    user.git("-c", "user.name=K", "-c", "user.email=k@example.org", "commit", "-qm", "the plan is not tracked")

    gone = user.run()
    seen = user.status()
    why = user.type("why", "step-2")
    written = plan.exists()
    user.git("stash", "pop", "-q")
    back = user.drumline("resume")

    assert gone.code == 2, gone.text
    assert "is gone: restore it" in gone.text
    assert "drumline resume" in gone.out.split("Next")[-1]
    assert (seen["state"], "is gone: restore it" in str(seen["reason"])) == ("parked", True)
    assert "is gone: restore it" in why.text
    assert not written
    assert back.code == 0, back.text
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}
    assert "status: done" in (plan / "step-1.md").read_text(encoding="utf-8")


def test_logs_that_are_deleted_in_mid_run_are_the_reason_of_the_step(tmp_path: Path) -> None:
    user: User = make_user(tmp_path, step_text("step-1"), step_text("step-2"))
    user.play(
        {
            "match": {"step": "step-1"},
            "write": {"step-1.txt": "1\n"},
            "run": f"mkdir {tmp_path}/once && rm -rf {user.repo}/.git/drumline/runs; true",
        }
    )

    ran = user.run("--mode", "sequential")
    retried = user.drumline("retry", "step-1", "--resume")

    assert ran.code == 2, ran.text
    assert "Traceback" not in ran.text
    assert "No such file or directory; something removed it" in ran.text
    assert retried.code == 0, retried.text
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}


def test_a_claim_that_is_checked_out_in_mid_run_is_written_over_in_the_end(tmp_path: Path) -> None:
    user: User = make_user(tmp_path, step_text("step-1"))
    undo = f"git -C {user.repo} checkout -q -- {PLAN}"
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "run": undo})

    ran = user.run()

    assert ran.code == 0, ran.text
    assert "status: done" in (user.repo / PLAN / "step-1.md").read_text(encoding="utf-8")


def is_protectable(file: Path) -> bool:
    """Whether this machine lets us protect a file from everybody."""
    protect = ("chattr", "+i", str(file))
    return (
        shutil.which("chattr") is not None and not subprocess.run(protect, capture_output=True, check=False).returncode
    )


def test_a_mark_that_is_refused_until_the_run_ends_is_told_once_and_written_by_a_resume(tmp_path: Path) -> None:
    user: User = make_user(tmp_path, step_text("step-1"), step_text("step-2"))
    file = user.repo / PLAN / "step-1.md"
    if not is_protectable(file):
        pytest.skip("chattr +i needs root and a file system that knows it")
    subprocess.run(["chattr", "-i", file], check=True)
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "run": f"chattr +i {file}"})

    try:
        ran = user.run("--mode", "sequential")
    finally:
        subprocess.run(["chattr", "-i", file], check=True)
    resumed = user.drumline("resume")
    again = user.drumline("resume")

    assert ran.code == 0, ran.text
    assert ran.text.count("a mark cannot be written") == 1
    assert f"{file}: Operation not permitted" in ran.text
    assert "is not valid" not in ran.text
    assert resumed.code == 0, resumed.text
    assert "status: done" in file.read_text(encoding="utf-8")
    assert "nothing is left to do" in again.text


def test_what_the_machine_refuses_at_the_start_is_an_error_with_a_next_command(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    (user.repo / ".git/drumline").write_text("not a folder", encoding="utf-8")

    ran = user.type("run", PLAN, "--agent", "scripted:agent.yaml")

    assert ran.code == 1
    assert "something replaced it" in ran.err
    assert f"next: drumline run {PLAN} --agent scripted:agent.yaml" in ran.err


def test_words_about_commands_that_cannot_be_written_leave_no_draft(tmp_path: Path) -> None:
    trust = FileTrust(path=tmp_path / "trust.json", repository="here")
    (tmp_path / f"trust.{os.getpid()}").symlink_to("/dev/full")

    with pytest.raises(OSError, match="No space left"):
        trust.refuse([Brought(kind="check", text="make", place="plan")])

    assert [path.name for path in tmp_path.iterdir()] == ["trust.lock"]
