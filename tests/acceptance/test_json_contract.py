"""What scripts rely on: keys and types of the JSON that commands print, and exit codes that say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, Ran, User, gates_of, leaving_nothing, make_user, step_of, step_text

STEP_STATES = {"waiting", "ready", "running", "parked", "done", "blocked", "failed", "skipped"}


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """One run for all tests of this file: step-1 lands, step-2 is fixed once, step-3 is blocked, step-4 waits."""
    folder = tmp_path_factory.mktemp("contract")
    made = make_user(
        folder,
        step_text("step-1", manual="look at it"),
        step_text("step-2", ["step-1"]),
        step_text("step-3"),
        step_text("step-4", ["step-3"]),
    )
    made.play(
        {"match": {"step": "step-2", "attempt": 1}, "say": "forgot it"},
        {"match": {"step": "step-3"}, "say": "no idea"},
    )
    with leaving_nothing(folder):
        yield made


@pytest.fixture(scope="module")
def ran(user: User) -> Ran:
    return user.run("--json", "--mode", "sequential")


def test_validate_prints_the_promised_keys(user: User) -> None:
    told = user.drumline("validate", PLAN, "--json").json

    assert {"schema_version", "ok", "format", "steps", "problems", "profile"} <= told.keys()
    assert (told["schema_version"], told["ok"], told["format"]) == (1, True, "dag")
    second = step_of(told, "step-2")
    assert {"id", "title", "needs", "files", "status"} <= second.keys()
    assert (second["title"], second["needs"], second["files"]) == ("Make step-2", ["step-1"], [])
    assert isinstance(told["profile"], dict)
    assert isinstance(told["problems"], list)
    assert all(problem["severity"] == "warning" for problem in told["problems"])


def test_validate_lists_problems_with_code_severity_place_and_message(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", ["step-9"]))

    told = user.drumline("validate", PLAN, "--json")

    problems = told.json["problems"]
    assert told.code == 3
    assert told.json["ok"] is False
    assert isinstance(problems, list)
    assert problems[0].keys() == {"code", "severity", "where", "message"}
    assert problems[0]["severity"] == "error"
    assert problems[0]["where"] == "plans/p/step-1.md:4"


def test_every_line_of_a_run_is_json_and_carries_its_version(ran: Ran) -> None:
    lines = ran.lines

    assert ran.code == 2
    assert all(line["schema_version"] == 1 for line in lines)
    assert all(isinstance(line["event"], str) and line["run"] for line in lines[:-1] if line["event"] != "summary")


def test_a_run_tells_the_named_events(ran: Ran) -> None:
    events = {str(line["event"]): line for line in reversed(ran.lines[:-1])}

    assert {"start", "step_done", "fix", "blocked", "summary"} <= events.keys()
    assert (events["start"]["steps"], events["start"]["pending"]) == (4, 4)
    assert str(events["start"]["branch"]).startswith("drumline/p-")
    assert (events["step_done"]["step"], events["step_done"]["done"], events["step_done"]["total"]) == ("step-1", 1, 4)
    assert (events["fix"]["step"], events["fix"]["fix"], events["fix"]["of"]) == ("step-2", 1, 2)
    assert events["blocked"]["step"] == "step-3"


def test_the_last_line_of_a_run_is_its_status(ran: Ran, user: User) -> None:
    last = ran.lines[-1]
    now = user.status()

    assert {key: value for key, value in last.items() if key != "drivers"} == {
        key: value for key, value in now.items() if key != "drivers"
    }
    assert last["drivers"] == []


def test_status_has_the_promised_keys_and_types(ran: Ran, user: User) -> None:
    told = user.status()

    assert told["schema_version"] == 1
    assert told["state"] == "blocked"
    assert isinstance(told["run"], str)
    assert gates_of(told) == ["failure-step-3"]
    for name in ("step-1", "step-2", "step-3", "step-4"):
        _assert_step(step_of(told, name))


def _assert_step(step: Mapping[str, object]) -> None:
    assert {"id", "title", "state", "attempts", "owner", "commit", "reason", "proved"} <= step.keys()
    assert step["state"] in STEP_STATES
    assert isinstance(step["attempts"], int)
    assert isinstance(step["proved"], bool)
    assert step["owner"] is None


def test_status_says_what_happened_to_each_step(ran: Ran, user: User) -> None:
    told = user.status()

    first, second, third, fourth = (step_of(told, f"step-{n}") for n in range(1, 5))
    assert (first["state"], first["attempts"], first["proved"], first["reason"]) == ("done", 1, True, None)
    assert (second["state"], second["attempts"]) == ("done", 2)
    assert (third["state"], third["attempts"], third["commit"]) == ("blocked", 3, None)
    assert "test -f step-3.txt" in str(third["reason"])
    assert fourth["state"] == "waiting"
    assert "step-3" in str(fourth["reason"])
    assert user.git("cat-file", "-t", str(second["commit"])) == "commit"


def test_gates_carry_id_question_options_and_step(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    ran = user.run("--json", "--autonomy", "verbose")

    gates = ran.lines[-1]["gates"]

    assert ran.code == 2
    assert isinstance(gates, list)
    gate = gates[0]
    assert {"id", "question", "options", "step"} <= gate.keys()
    assert (gate["id"], gate["step"]) == ("approve-step-1", "step-1")
    assert gate["options"] == ["approve", "revise", "reject"]


@pytest.mark.parametrize("command", [("runs",), ("why", "step-3"), ("logs", "step-3"), ("wait",), ("doctor",)])
def test_reading_commands_print_one_object_with_a_version(ran: Ran, user: User, command: tuple[str, ...]) -> None:
    told = user.drumline(*command, "--json")

    assert told.json["schema_version"] == 1


def test_wait_exits_as_the_run_did_and_prints_its_status(ran: Ran, user: User) -> None:
    waited = user.drumline("wait", "--json")

    assert waited.code == 2
    assert waited.json["state"] == "blocked"


def test_why_in_json_names_kind_and_hint(ran: Ran, user: User) -> None:
    told = user.drumline("why", "step-3", "--json").json

    assert told["kind"] == "blocker"
    assert told["hint"] == "drumline answer failure-step-3 adapt --comment TEXT --resume"


def test_commands_that_say_something_answer_in_json(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    user.run("--autonomy", "verbose")

    answered = user.drumline("answer", "approve-step-1", "approve", "--json")
    again = user.drumline("answer", "approve-step-1", "reject", "--json")

    assert answered.json["ok"] is True
    assert again.code == 3
    assert again.json["ok"] is False
    error = again.json["error"]
    assert isinstance(error, dict)
    assert "approve" in error["message"]
    assert error["hint"]
