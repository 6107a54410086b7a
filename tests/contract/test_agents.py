"""What every agent promises: one body of tests, and for each agent its own way to say what it shall do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from tests.agents.agent_fixture import make_checkout
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.agents.command import CommandAgent
from drumline.agents.jail import find_jail
from drumline.core.ids import RunId, StepId
from drumline.core.selfreport import find_denial
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.isolation.outside import UNJAILED
from drumline.ports.agents import Agent, Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.profiles import Grant
from drumline.record import replace
from drumline.testing.processes import FakeProcesses

JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")

# What the agent is asked to be, in its own language: an act of a script, or a shell command.
BEHAVIOURS: dict[str, tuple[dict[str, object], str]] = {
    "writes": ({"write": {"src/out.txt": "ü\n"}}, "mkdir -p src && printf 'ü\\n' > src/out.txt"),
    "speaks": ({"say": "all done"}, "echo all done"),
    "is busy": ({"fail": {"class": "transient", "message": "429 later"}}, "echo 429 later; exit 75"),
    "works badly": ({"run": "echo broken; exit 3"}, "echo broken; exit 3"),
    "takes long": ({"sleep": 60}, "exec sleep 60"),
    "marks its workspace": (
        {"run": 'echo "$DRUMLINE_STEP" > who.txt; sleep 0.2; grep -qx "$DRUMLINE_STEP" who.txt'},
        'echo "$DRUMLINE_STEP" > who.txt; sleep 0.2; grep -qx "$DRUMLINE_STEP" who.txt',
    ),
}

MakeAgent = Callable[[str], Agent]


@pytest.fixture
def processes(tmp_path: Path) -> FakeProcesses:
    """Real commands, with every job kept to look at."""
    (tmp_path / "driver").mkdir()
    return FakeProcesses(supervise(tmp_path).run)


@pytest.fixture(params=["command", "scripted"])
def make_agent(request: pytest.FixtureRequest, tmp_path: Path, processes: FakeProcesses) -> MakeAgent:
    """Opens the agent under test with one of the behaviours."""

    def make(behaviour: str) -> Agent:
        act, command = BEHAVIOURS[behaviour]
        (tmp_path / "play.yaml").write_text(json.dumps({"default": act}))
        spec = {"scripted": "scripted:play.yaml", "command": f"command:{command}"}[request.param]
        return open_agent(spec, processes=processes, base=tmp_path)

    return make


def assign(folder: Path, *, step: str = "step-1", attempt: int = 1, timeout: float | None = None) -> Assignment:
    """An assignment with a workspace of its own."""
    workspace = folder / step
    workspace.mkdir()
    prompt_file = folder / f"{step}.prompt"
    prompt_file.write_text("do it")
    return Assignment(
        run=RunId("r1"),
        step=StepId(step),
        node="implement",
        attempt=attempt,
        prompt="do it",
        prompt_file=prompt_file,
        workspace=workspace,
        log=folder / f"{step}.log",
        timeout=timeout,
    )


def test_work_appears_in_the_workspace(make_agent: MakeAgent, tmp_path: Path) -> None:
    assignment = assign(tmp_path)

    outcome = anyio.run(make_agent("writes").work, assignment)

    assert outcome.failure == ""
    assert (assignment.workspace / "src/out.txt").read_bytes() == "ü\n".encode()


def test_what_it_says_is_the_message_and_in_the_transcript(make_agent: MakeAgent, tmp_path: Path) -> None:
    assignment = assign(tmp_path)

    outcome = anyio.run(make_agent("speaks").work, assignment)

    assert outcome == Outcome(message="all done")
    assert "all done" in assignment.log.read_text()


@pytest.mark.parametrize(
    ("behaviour", "failure", "said"),
    [("is busy", Failure.TRANSIENT, "429 later"), ("works badly", Failure.VALIDATION, "broken")],
)
def test_a_failure_has_its_class_and_says_why(
    make_agent: MakeAgent, tmp_path: Path, behaviour: str, failure: Failure, said: str
) -> None:
    assignment = assign(tmp_path)

    outcome = anyio.run(make_agent(behaviour).work, assignment)

    assert outcome.failure == failure.value
    assert said in outcome.message
    assert said in assignment.log.read_text()


def test_work_that_takes_too_long_has_run_out_of_time(make_agent: MakeAgent, tmp_path: Path) -> None:
    assignment = assign(tmp_path, timeout=0.2)

    outcome = anyio.run(make_agent("takes long").work, assignment)

    assert outcome.failure == "timeout"
    assert outcome.message.startswith("timed out after 0.2 s")


def test_cancellation_gets_through(make_agent: MakeAgent, tmp_path: Path) -> None:
    async def cancel_soon() -> bool:
        with anyio.move_on_after(0.2) as scope:
            await make_agent("takes long").work(assign(tmp_path))
        return scope.cancelled_caught

    assert anyio.run(cancel_soon)


def test_assignments_may_overlap(make_agent: MakeAgent, tmp_path: Path) -> None:
    agent = make_agent("marks its workspace")
    outcomes: dict[str, Outcome] = {}

    async def work(step: str) -> None:
        outcomes[step] = await agent.work(assign(tmp_path, step=step))

    async def work_on_all() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(work, f"step-{number}")

    anyio.run(work_on_all)

    assert {step: outcome.failure for step, outcome in outcomes.items()} == {f"step-{n}": "" for n in range(4)}


@pytest.mark.parametrize("spec", ["", "scripted", "command:", "command:  ", "scripted:", "robot:x", ":x", "Command:ls"])
def test_a_spec_that_names_no_agent_is_answered_with_the_legal_ones(
    spec: str, tmp_path: Path, processes: FakeProcesses
) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_agent(spec, processes=processes, base=tmp_path)

    assert repr(spec) in str(caught.value)
    assert "scripted:FILE, command:CMD" in str(caught.value)
    assert "--agent" in caught.value.hint


def test_a_command_is_told_its_assignment_by_stdin_and_variables(tmp_path: Path, processes: FakeProcesses) -> None:
    names = "RUN STEP NODE ATTEMPT WORKSPACE TIER PROMPT_FILE"
    command = f'cat; for n in {names}; do v=DRUMLINE_$n; echo "|${{!v}}"; done; pwd'
    agent = open_agent(f"command:{command}", processes=processes, base=tmp_path)
    assignment = assign(tmp_path, attempt=2, timeout=30)

    outcome = anyio.run(agent.work, assignment)

    told = [
        "do it|r1",
        "|step-1",
        "|implement",
        "|2",
        f"|{assignment.workspace}",
        "|standard",
        f"|{assignment.prompt_file}",
    ]
    assert outcome.message.splitlines() == [*told, str(assignment.workspace)]
    assert tuple(processes.jobs[0].argv[-3:]) == ("bash", "-c", command)
    assert (processes.jobs[0].log, processes.jobs[0].timeout) == (assignment.log, 30)


@pytest.mark.parametrize(
    ("ended", "failure", "said"),
    [
        (Ended(exit_code=None, seconds=0, message="no such folder"), "permanent", "no such folder"),
        (Ended(exit_code=127, seconds=0, output="bash: claud: command not found"), "permanent", "command not found"),
        (Ended(exit_code=126, seconds=0), "permanent", "exit code 126"),
        (Ended(exit_code=75, seconds=0), "transient", "exit code 75"),
        (Ended(exit_code=1, seconds=0, output="x" * 9000 + "END"), "validation", "END"),
        (Ended(exit_code=143, seconds=0, timed_out=True), "timeout", "timed out"),
        (Ended(exit_code=None, seconds=0, timed_out=True), "timeout", "timed out"),
        (Ended(exit_code=137, seconds=0, killed=True), "killed", "killed by signal 9"),
        (Ended(exit_code=None, seconds=0, killed=True), "killed", "supervisor was killed"),
    ],
)
def test_a_commands_end_decides_its_class(ended: Ended, failure: str, said: str, tmp_path: Path) -> None:
    agent = open_agent("command:x", processes=FakeProcesses(lambda _job: ended), base=tmp_path)

    outcome = anyio.run(agent.work, assign(tmp_path))

    assert outcome.failure == failure
    assert said in outcome.message


def test_the_137_of_a_shell_that_no_sandbox_holds_is_the_commands_own(tmp_path: Path) -> None:
    processes = FakeProcesses(lambda _job: Ended(exit_code=137, seconds=0))
    agent = open_agent("command:x", processes=processes, base=tmp_path, sandbox="off")

    outcome = anyio.run(agent.work, assign(tmp_path))

    assert (outcome.failure, outcome.message) == ("validation", "exit code 137")
    assert len(outcome.message) < 5000


def test_a_long_last_word_of_a_command_is_heard_as_a_whole(tmp_path: Path) -> None:
    said = json.dumps({"status": "blocked", "blocker": "no key", "summary": "x" * 5000})
    ended = Ended(exit_code=0, seconds=0, output=f"working\n{said}\n")
    agent = open_agent("command:x", processes=FakeProcesses(lambda _job: ended), base=tmp_path)

    outcome = anyio.run(agent.work, assign(tmp_path))

    denial = find_denial(outcome.message)
    assert denial is not None
    assert "no key" in denial.text


def test_a_command_sees_harmless_variables_keys_of_models_and_what_it_is_granted(
    tmp_path: Path, processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DATABASE_PASSWORD", "OPENAI_API_KEY", "OURS_TOKEN"):
        monkeypatch.setenv(name, name.lower())
    command = 'command:echo "$DATABASE_PASSWORD|$OPENAI_API_KEY|$OURS_TOKEN|${HOME:+home}"'

    plain = anyio.run(open_agent(command, processes=processes, base=tmp_path).work, assign(tmp_path))
    granted = open_agent(command, processes=processes, base=tmp_path, grant=Grant(env=("OURS_*",)))
    outcome = anyio.run(granted.work, assign(tmp_path, step="step-2"))

    assert plain.message == "|openai_api_key||home"
    assert outcome.message == "|openai_api_key|ours_token|home"


@JAILED
def test_in_a_jail_a_command_writes_only_where_it_may(tmp_path: Path, processes: FakeProcesses) -> None:
    # The jail has a temporary folder of its own: a write beside the workspace there succeeds and comes to nothing.
    granted, outside, elsewhere = tmp_path / "granted", tmp_path / "outside.txt", Path("/drumline-outside.txt")
    writes = "".join(f"echo x > {place}; " for place in ("inside", "$TMPDIR/t", granted / "file", outside, elsewhere))
    command = f"{writes}test -e inside"
    grant = Grant(folders=(f"{granted}/",))
    agent = open_agent(f"command:{command}", processes=processes, base=tmp_path, grant=grant)
    assignment = assign(tmp_path)

    outcome = anyio.run(agent.work, assignment)

    assert outcome.failure == ""
    assert len(re.findall(f"{elsewhere}: (Read-only|Permission)", outcome.message)) == 1
    assert not elsewhere.exists()
    assert (assignment.workspace / "inside").exists()
    assert (granted / "file").exists()
    assert not outside.exists()
    assert not list(tmp_path.glob("*.tmp"))


@JAILED
def test_in_a_jail_a_command_that_may_only_read_cannot_write(tmp_path: Path, processes: FakeProcesses) -> None:
    assignment = replace(assign(tmp_path), read_only=True)
    # Not even where a folder around it is granted.
    grant = Grant(folders=(str(tmp_path),))
    command = "touch ../beside $TMPDIR/temporary && touch inside"
    agent = open_agent(f"command:{command}", processes=processes, base=tmp_path, grant=grant)

    # Logs may be inside the workspace, in git's own folder, and what is temporary is beside them.
    outcome = anyio.run(agent.work, replace(assignment, log=assignment.workspace / "log"))

    assert outcome.failure == "validation"
    assert "cannot touch 'inside': Read-only file system" in outcome.message
    assert (tmp_path / "beside").exists()


def test_without_a_jail_it_is_told_what_a_command_changed_in_the_checkout(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    checkout, workspace = tmp_path / "checkout", tmp_path / "trees" / "one"
    make_checkout(checkout, workspace)
    told: list[Happening] = []

    async def note(happening: Happening) -> None:
        told.append(happening)

    agent = CommandAgent(command=f"echo x > {checkout}/stray.txt; echo x > own.txt", processes=processes)

    outcome = anyio.run(agent.work, replace(assign(tmp_path), workspace=workspace, report=note))

    assert outcome.notices == (f"{checkout}/stray.txt changed while it worked, outside its workspace",)
    assert [happening.text for happening in told] == [UNJAILED]


def test_a_command_that_says_nothing_for_too_long_is_stopped(tmp_path: Path, processes: FakeProcesses) -> None:
    assignment = replace(assign(tmp_path), idle=0.5)
    agent = open_agent("command:echo begun; exec sleep 60", processes=processes, base=tmp_path)

    outcome = anyio.run(agent.work, assignment)

    assert (outcome.failure, outcome.message) == ("crash", "said nothing for 0.5 s and was stopped")
    assert "begun" in assignment.log.read_text()


def test_a_command_that_goes_on_talking_is_not_stopped_for_silence(tmp_path: Path, processes: FakeProcesses) -> None:
    assignment = replace(assign(tmp_path), idle=3.0)
    # Its log is full long before the end: what is not kept any more is no silence either.
    talk = "head -c 12000000 /dev/zero | tr '\\0' x; for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.6; done"
    agent = open_agent(f"command:{talk}", processes=processes, base=tmp_path)

    outcome = anyio.run(agent.work, assignment)

    assert (outcome.failure, outcome.message.splitlines()[-1]) == ("", "8")


def test_what_a_command_says_cannot_move_a_cursor(tmp_path: Path, processes: FakeProcesses) -> None:
    agent = open_agent("command:printf '\\033[2Jplain'", processes=processes, base=tmp_path)

    outcome = anyio.run(agent.work, assign(tmp_path))

    assert outcome.message == "plain"
