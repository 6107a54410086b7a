"""What agents, models and commands say is kept without secrets, in files as well; also if they are interrupted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from tests.supervision import supervise

from drumline.core.ids import RunId, StepId
from drumline.core.redaction import HIDDEN, Redaction, Secrets
from drumline.engine.redacted import RedactedAgent, RedactedModels, RedactedProcesses
from drumline.isolation.transcripts import SMALL, list_logs, redact_file
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.models import Answer, Question
from drumline.ports.processes import Job

HUNTER = "hunter2-hunter2"
KEY = "ghp_" + "a1" * 18
REDACTION = Redaction(secrets=Secrets(values=(HUNTER,)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Gossip:
    """Says the secret in every way there is; then it works on for `seconds`."""

    seconds: float = 0.0

    async def work(self, assignment: Assignment) -> Outcome:
        assignment.log.write_text(f"raw {HUNTER}\n", encoding="utf-8")
        assignment.log.with_name(f"{assignment.log.name}.stderr").write_text(KEY, encoding="utf-8")
        await anyio.sleep(self.seconds)
        return Outcome(
            message=f"m {HUNTER}",
            question=f"q {KEY}",
            structured={"s": [HUNTER]},
            notices=(f"n {HUNTER}",),
            session="s-1",
        )

    async def ask(self, question: Question) -> Answer:
        question.log.write_text(KEY, encoding="utf-8")
        return Answer(text=f"t {KEY}", message=f"m {HUNTER}")


def assign(folder: Path) -> Assignment:
    return Assignment(
        run=RunId("r"),
        step=StepId("s"),
        node="implement",
        attempt=1,
        prompt="go",
        prompt_file=folder / "prompt.md",
        workspace=folder,
        log=folder / "attempt-1.log",
    )


def read_all(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file())


def test_an_agents_outcome_and_every_file_of_its_attempt_are_redacted(tmp_path: Path) -> None:
    agent = RedactedAgent(agent=Gossip(), redaction=REDACTION)

    outcome = anyio.run(agent.work, assign(tmp_path))

    assert (outcome.message, outcome.question) == (f"m {HIDDEN}", f"q {HIDDEN}")
    assert (outcome.structured, outcome.notices, outcome.session) == ({"s": [HIDDEN]}, (f"n {HIDDEN}",), "s-1")
    assert read_all(tmp_path) == f"raw {HIDDEN}\n{HIDDEN}"


def test_the_files_of_an_attempt_that_is_stopped_are_redacted_too(tmp_path: Path) -> None:
    async def stop() -> None:
        with anyio.move_on_after(0.05):
            await RedactedAgent(agent=Gossip(seconds=60.0), redaction=REDACTION).work(assign(tmp_path))

    anyio.run(stop)

    assert read_all(tmp_path) == f"raw {HIDDEN}\n{HIDDEN}"


def test_a_models_answer_and_transcript_are_redacted(tmp_path: Path) -> None:
    question = Question(run=RunId("r"), node="ask", prompt="go", workspace=tmp_path, log=tmp_path / "model-1.log")

    answer = anyio.run(RedactedModels(models=Gossip(), redaction=REDACTION).ask, question)

    assert answer == Answer(text=f"t {HIDDEN}", message=f"m {HIDDEN}")
    assert read_all(tmp_path) == HIDDEN


@pytest.mark.parametrize("filler", [0, 20_000, 2 * SMALL])
def test_a_commands_log_and_tail_are_redacted_but_not_what_a_program_reads(tmp_path: Path, filler: int) -> None:
    supervised = supervise(tmp_path)
    command = f"echo {HUNTER}; printf '%*s' {filler} ''; echo {HUNTER}; echo {HUNTER} >&2; exit 3"
    job = Job(argv=["bash", "-c", command], cwd=tmp_path, log=tmp_path / "check.log", printed=tmp_path / "printed")

    ended = anyio.run(RedactedProcesses(processes=supervised, redaction=REDACTION).run, job)

    assert (ended.exit_code, ended.errors) == (3, f"{HIDDEN}\n")
    assert HUNTER not in ended.output
    assert HIDDEN in ended.output
    log = job.log.read_text(encoding="utf-8")
    assert HUNTER not in log
    assert log.count(HIDDEN) == 3
    assert (tmp_path / "printed").read_text(encoding="utf-8").count(HUNTER) == 2


def test_a_tail_that_begins_inside_a_secret_shows_no_rest_of_it(tmp_path: Path) -> None:
    supervised = supervise(tmp_path)
    # The tail is the last 8,192 bytes, so that it begins five characters into the secret.
    filler = 8192 - len(HUNTER) + 5
    job = Job(argv=["bash", "-c", f"printf '%s%*s' {HUNTER} {filler} ''"], cwd=tmp_path, log=tmp_path / "check.log")

    ended = anyio.run(RedactedProcesses(processes=supervised, redaction=REDACTION).run, job)

    assert ended.output.strip() == HIDDEN


def test_a_conversations_log_is_redacted_when_it_is_over(tmp_path: Path) -> None:
    supervised = supervise(tmp_path)
    job = Job(argv=["bash", "-c", f"echo {HUNTER} >&2; cat"], cwd=tmp_path, log=tmp_path / "talk.stderr")

    async def talk() -> bytes:
        async with RedactedProcesses(processes=supervised, redaction=REDACTION).open(job) as conversation:
            await conversation.send(HUNTER.encode())
            conversation.hang_up()
            heard = await conversation.receive()
            await conversation.wait()
            return heard

    heard = anyio.run(talk)

    assert heard.decode() == HUNTER
    assert job.log.read_text(encoding="utf-8") == f"{HIDDEN}\n"


def test_a_redacted_file_is_for_its_owner_alone_and_keeps_its_other_bytes(tmp_path: Path) -> None:
    log = tmp_path / "attempt-1.log"
    log.write_bytes(b"\xff\x00 " + HUNTER.encode() + b" \xc3\xa9")

    found = redact_file(log, REDACTION)

    assert found
    assert log.read_bytes() == b"\xff\x00 " + HIDDEN.encode() + b" \xc3\xa9"
    assert log.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [log.name]


def test_a_log_that_cannot_be_rewritten_is_removed(tmp_path: Path) -> None:
    log = tmp_path / "attempt-1.log"
    log.write_text(HUNTER, encoding="utf-8")
    (tmp_path / "attempt-1.log.clean").mkdir()

    redact_file(log, REDACTION)

    assert not log.exists()


def test_a_file_without_secrets_is_not_touched(tmp_path: Path) -> None:
    log = tmp_path / "attempt-1.log"
    log.write_text("nothing", encoding="utf-8")
    before = log.stat().st_ino

    assert not redact_file(log, REDACTION)
    assert log.stat().st_ino == before
    assert not redact_file(tmp_path / "missing.log", REDACTION)


def test_logs_are_told_from_prompts_and_from_those_of_other_attempts(tmp_path: Path) -> None:
    for name in ("attempt-1.log", "attempt-1.log.run", "attempt-10.log", "check-1-1.lost-1.log", "prompt-1.md"):
        (tmp_path / name).touch()

    assert [path.name for path in list_logs(tmp_path, "attempt-1.log")] == ["attempt-1.log", "attempt-1.log.run"]
    assert len(list_logs(tmp_path)) == 4
    assert list_logs(tmp_path / "missing") == []
