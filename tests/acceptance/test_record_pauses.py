"""A run that is recorded stays so when it pauses, is killed and is driven on: its recording plays to the same tree."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from tests.acceptance.cli_flows import flow_text, flow_user, work_files
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, step_text, wait_for
from tests.acceptance.test_record import move_to_a_fresh_clone, tree_of

from drumline.app.edits import Edits
from drumline.app.recording import Concluded, Recording
from drumline.core.ids import RunId
from drumline.core.redaction import read_redaction

ASKING: tuple[dict[str, object], ...] = (
    {"match": {"step": "step-1", "attempt": 1}, "write": {"half.txt": "half\n"}, "ask": "Which colour?"},
    {"match": {"step": "step-1", "attempt": 2}, "run": "ln -s README.md link; rm half.txt", "say": "blue it is"},
    {"match": {"step": "step-2"}, "write": {"step-2.txt": "right\n"}},
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        folder = tmp_path / "one"
        folder.mkdir()
        first = step_text("step-1", checks=("test -L link",))
        yield make_user(folder, first, step_text("step-2", ["step-1"], checks=("grep -q right step-2.txt",)))


def attempts_in(record: Path) -> list[tuple[str, int]]:
    """Which attempts a recording has rules for."""
    rules = yaml.safe_load(record.read_text())["rules"]
    return [(rule["match"]["step"], rule["match"]["attempt"]) for rule in rules]


def test_a_question_is_played_as_one_and_its_answer_leads_to_the_same_tree(user: User, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    user.play(*ASKING)
    parked = user.run("--record", str(record))
    answered = user.drumline("answer", "question-step-1", "blue", "--resume")
    other = move_to_a_fresh_clone(user, tmp_path / "two")

    played = other.run(agent=f"scripted:{record}")
    went_on = other.drumline("answer", "question-step-1", "blue", "--resume")

    assert (parked.code, answered.code) == (2, 0), parked.text + answered.text
    assert f"recorded in {record}" in answered.err
    assert (played.code, went_on.code) == (2, 0), played.text + went_on.text
    assert "Which colour?" in played.text
    assert tree_of(other) == tree_of(user)
    assert attempts_in(record) == [("step-1", 1), ("step-1", 2), ("step-2", 1)]


def test_a_run_killed_at_work_is_recorded_on_by_whoever_resumes_it(user: User, tmp_path: Path) -> None:
    record, mark, begun = tmp_path / "record.yaml", tmp_path / "go", tmp_path / "begun"
    lost = f"echo x > lost.txt; touch {shlex.quote(str(begun))}; sleep 600"
    hanging = f"test -e {shlex.quote(str(mark))} || {{ {lost}; }}; echo right > step-2.txt"
    user.play(ASKING[1] | {"match": {"step": "step-1"}, "run": "ln -s README.md link"}, {"run": hanging, "say": "ok"})
    driver = user.start("run", PLAN, "--agent", "scripted:agent.yaml", "--record", str(record))
    wait_for(begun.exists, "the second step did not begin")
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    mark.touch()
    resumed = user.drumline("resume")
    other = move_to_a_fresh_clone(user, tmp_path / "two")

    played = other.run(agent=f"scripted:{record}")

    assert (resumed.code, played.code) == (0, 0), resumed.text + played.text
    assert tree_of(other) == tree_of(user)
    assert attempts_in(record) == [("step-1", 1), ("step-2", 1)]


def test_a_recording_asked_for_in_the_middle_has_what_was_done_before(user: User, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    user.play(*ASKING)
    user.run()
    user.drumline("answer", "question-step-1", "blue")

    resumed = user.drumline("resume", "--record", str(record))

    assert resumed.code == 0, resumed.text
    assert attempts_in(record) == [("step-1", 1), ("step-1", 2), ("step-2", 1)]


def test_a_secret_stays_out_when_the_next_driver_does_not_know_it(user: User, tmp_path: Path) -> None:
    record, secret = tmp_path / "record.yaml", "correct-horse-battery"
    user.play(ASKING[0] | {"write": {"settings.ini": f"token = {secret}\n"}}, *ASKING[1:])
    user.edit("step-1", "test -L link", "true")
    user.commit_all()
    user.run("--record", str(record), env={"DEPLOY_TOKEN": secret})

    user.drumline("answer", "question-step-1", "blue", "--resume")

    assert ("step-1", 2) in attempts_in(record)
    assert secret not in record.read_text()


def test_a_file_that_holds_another_run_by_now_is_left_alone(user: User, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    user.play(*ASKING)
    user.run("--record", str(record))
    foreign = "# Recorded by Drumline from run other; play it\nrules: []\n"
    record.write_text(foreign)

    answered = user.drumline("answer", "question-step-1", "blue", "--resume")

    assert answered.code == 0, answered.text
    assert f"{record} is a recording of run other by now" in answered.err
    assert record.read_text() == foreign


def open_recording(record: Path) -> Recording:
    return Recording(record, run=RunId("r"), redaction=read_redaction({}))


@pytest.mark.parametrize("failure", ["auth", "quota"])
def test_a_takeover_after_a_kill_is_told_in_the_rule_that_was_there(tmp_path: Path, failure: str) -> None:
    record = tmp_path / "record.yaml"
    match: dict[str, str | int] = {"step": "step-1", "node": "implement", "attempt": 1}
    patch = b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+- match: {}\n"
    said = "no:\n  patch: |\n- way"
    failed = Concluded(match=match, failure=failure, said=said, edits=Edits(patch=patch))
    first = open_recording(record)
    first.add(failed)
    first.write()

    for _ in range(2):
        taken_up = open_recording(record)
        taken_up.relieve(match, failure)
        taken_up.write()

    (rule,) = yaml.safe_load(record.read_text())["rules"]
    assert rule["fail"] == {"class": "quota", "message": f"{failure}: {said}", "resets_in": 0}
    assert rule["patch"].encode() == patch


# --- flows that pause -------------------------------------------------------------------------------------------

PAUSING = flow_text(
    "before",
    {
        "before": {"type": "script", "script": "before.sh", "next": "work"},
        "work": {"type": "agent", "agent": "default", "prompt": "Paint.", "next": "more"},
        "more": {"type": "agent", "agent": "default", "prompt": "Go on.", "next": "done"},
        "done": {"type": "end", "output": "done"},
    },
)
BEFORE = "echo once >> before.log\necho '{}'\n"


def play_in_a_clone(user: User, folder: Path, answers: Sequence[str]) -> User:
    """Play `r.yaml`, which was recorded outside of the repository, and answer what is asked."""
    other = move_to_a_fresh_clone(user, folder)
    played = other.drumline("flow", "run", "flow.yaml", "--agent", f"scripted:{user.folder / 'r.yaml'}")
    for answer in answers:
        assert played.code == 2, played.text
        played = other.drumline("answer", "work", answer, "--resume")
    assert (played.code, played.out) == (0, "done\n"), played.text
    return other


def test_a_question_in_a_flow_is_played_as_one(tmp_path: Path) -> None:
    play = (
        "rules:\n"
        "  - {match: {node: work, attempt: 1}, write: {half.txt: half}, ask: 'Which colour?'}\n"
        "  - {match: {node: work, attempt: 2}, write: {all.txt: all}, delete: [half.txt], say: painted}\n"
        "  - {match: {node: more}, write: {more.txt: more}, say: ok}\n"
    )
    (tmp_path / "one").mkdir()
    with flow_user(tmp_path / "one", {"flow.yaml": PAUSING, "play.yaml": play, "before.sh": BEFORE}) as user:
        user.drumline("flow", "run", "flow.yaml", "--agent", "scripted:play.yaml", "--record", "../r.yaml")
        answered = user.drumline("answer", "work", "blue", "--resume")

        other = play_in_a_clone(user, tmp_path / "two", ["blue"])

        assert answered.code == 0, answered.text
        assert "not complete" not in answered.err
        assert work_files(other) == work_files(user)
        assert attempts_in(user.folder / "r.yaml") == [("flow", 1), ("flow", 2), ("flow", 1)]
        assert not list(user.repo.glob(".git/drumline/runs/*/.recording/seen"))


def test_what_a_killed_agent_left_in_the_folder_of_a_flow_is_recorded_with_the_work_done_again(tmp_path: Path) -> None:
    mark = tmp_path / "go"
    hanging = f"test -e {mark} || {{ echo half > half.txt; echo changed > before.log; sleep 600; }}; echo all > all.txt"
    play = (
        "rules:\n"
        f"  - {{match: {{node: work}}, run: {json.dumps(hanging)}, say: painted}}\n"
        "  - {match: {node: more}, write: {more.txt: more}, say: ok}\n"
    )
    (tmp_path / "one").mkdir()
    with flow_user(tmp_path / "one", {"flow.yaml": PAUSING, "play.yaml": play, "before.sh": BEFORE}) as user:
        driver = user.start("flow", "run", "flow.yaml", "--agent", "scripted:play.yaml", "--record", "../r.yaml")
        changed = user.repo / "before.log"
        wait_for(lambda: changed.exists() and "changed" in changed.read_text(), "the agent did not begin")
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        mark.touch()
        resumed = user.drumline("resume")

        other = play_in_a_clone(user, tmp_path / "two", [])

        assert resumed.code == 0, resumed.text
        assert work_files(other) == work_files(user)
        assert (other.repo / "half.txt").exists()


def test_a_flow_recorded_from_its_middle_says_that_something_is_missing(tmp_path: Path) -> None:
    play = "rules:\n  - {match: {node: work, attempt: 1}, ask: 'Which colour?'}\ndefault: {say: ok}\n"
    with flow_user(tmp_path, {"flow.yaml": PAUSING, "play.yaml": play, "before.sh": BEFORE}) as user:
        user.drumline("flow", "run", "flow.yaml", "--agent", "scripted:play.yaml")
        user.drumline("answer", "work", "blue")

        resumed = user.drumline("resume", "--record", "../r.yaml")

        assert resumed.code == 0, resumed.text
        assert "what the run did before it was recorded is not in it" in resumed.err
