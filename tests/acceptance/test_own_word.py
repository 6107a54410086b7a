"""An agent's own word against its work is heard, in plans and in flows; work that changed nothing proves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.acceptance.cli_flows import flow_text, write_files
from tests.acceptance.cli_user import User, gates_of, leaving_nothing, make_user, step_of, step_text

BLOCKED = "Half of it is there.\n\n# Task Report\n\n- **Status**: partial\n\n## Blockers\n\n- BLOCKER: Which port?\n"
FAILED = "Status: failed\nStep: step-1\nReason: the database cannot be reached\n"
DONE = "# Task Report\n\n- **Status**: success\n- **Validation**: pass\n\n## Blockers\n\nNone\n"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1", checks=("true",)))


def write_play(user: User, *says: str, write: bool = True) -> str:
    """An agent that says one text after the other, attempt by attempt."""
    work = {"write": {"step-1.txt": "x\n"}} if write else {}
    rules = [{"match": {"attempt": number}, "say": said, **work} for number, said in enumerate(says, 1)]
    play = user.folder / "play.yaml"
    play.write_text(yaml.safe_dump({"rules": rules}), encoding="utf-8")
    return f"scripted:{play}"


@pytest.mark.parametrize(("autonomy", "state"), [("critical", "parked"), ("autopilot", "blocked")])
def test_a_step_whose_agent_names_a_blocker_waits_for_a_person_although_its_checks_would_pass(
    user: User, autonomy: str, state: str
) -> None:
    agent = write_play(user, BLOCKED, DONE)

    stopped = user.run("--autonomy", autonomy, agent=agent)
    before = user.status()
    answered = user.drumline("answer", "blocked-step-1", "8080", "--resume")

    assert (stopped.code, gates_of(before)) == (2, ["blocked-step-1"]), stopped.text
    assert step_of(before, "step-1")["state"] == state
    assert "Which port?" in str(before["gates"])
    assert answered.code == 0, answered.text
    assert (step_of(user.status(), "step-1")["attempts"], step_of(user.status(), "step-1")["fixes"]) == (2, 0)
    assert step_of(user.status(), "step-1")["proof"] == {"level": "kept", "why": ["green_before"]}
    assert "8080" in user.prompt("step-1", attempt=2)


WRONG = '{"status": "blocked", "class": "plan", "blocker": "step-0 does it already", "evidence": "src/a.py:3"}'


def test_an_agent_that_finds_the_plan_wrong_uses_up_nothing_and_a_person_decides(user: User) -> None:
    agent = write_play(user, WRONG, DONE)

    stopped = user.run(agent=agent)
    before = user.status()
    answered = user.drumline("answer", "plan-step-1", "proceed", "--resume")

    assert (stopped.code, gates_of(before)) == (2, ["plan-step-1"]), stopped.text
    assert isinstance(before["gates"], list)
    assert before["gates"][0]["options"] == ["adapt", "proceed", "skip", "stop"]
    assert "the plan may be wrong, says its agent: step-0 does it already" in before["gates"][0]["question"]
    assert "src/a.py:3" in before["gates"][0]["question"]
    assert "adds to the plan" not in stopped.text
    assert answered.code == 0, answered.text
    assert (step_of(user.status(), "step-1")["attempts"], step_of(user.status(), "step-1")["fixes"]) == (2, 0)
    assert "A person wants the step done as it is planned" in user.prompt("step-1", attempt=2)


def test_an_agent_that_reports_a_failure_while_its_checks_pass_is_asked_once_with_its_own_words(user: User) -> None:
    agent = write_play(user, FAILED, DONE)

    ran = user.run(agent=agent)

    assert ran.code == 0, ran.text
    step = step_of(user.status(), "step-1")
    assert (step["attempts"], step["fixes"]) == (2, 0)
    assert "the database cannot be reached" in user.prompt("step-1", attempt=2)
    assert "The checks of the step pass." in user.prompt("step-1", attempt=2)


@pytest.mark.long
def test_an_agent_that_reports_a_failure_while_its_checks_fail_gets_an_ordinary_fix(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=("grep -q two step-1.txt",)))
    rules = [{"match": {"attempt": 1}, "write": {"step-1.txt": "one\n"}, "say": FAILED}]
    user.play(*rules, {"match": {"attempt": 2}, "write": {"step-1.txt": "two\n"}, "say": DONE})

    ran = user.run()

    assert ran.code == 0, ran.text
    step = step_of(user.status(), "step-1")
    assert (step["attempts"], step["fixes"]) == (2, 1)
    assert "the database cannot be reached" in user.prompt("step-1", attempt=2)
    assert "An earlier attempt failed this check: `grep -q two step-1.txt`" in user.prompt("step-1", attempt=2)


@pytest.mark.parametrize(
    ("choice", "code", "state"), [("land", 0, "done"), ("skip", 0, "skipped"), ("retry", 0, "done")]
)
def test_of_an_agent_that_keeps_its_word_while_its_checks_pass_a_person_decides(
    user: User, choice: str, code: int, state: str
) -> None:
    agent = write_play(user, FAILED, FAILED, DONE)

    parked = user.run("--autonomy", "critical", agent=agent)
    before = user.status()
    answered = user.type("answer", "denied-step-1", choice, "--comment", "go on", "--resume")

    assert (parked.code, gates_of(before)) == (2, ["denied-step-1"]), parked.text
    assert "although its checks pass: (land, retry or skip)" in parked.err
    assert answered.code == code, answered.text
    step = step_of(user.status(), "step-1")
    assert (step["state"], step["fixes"]) == (state, 0)
    assert step["attempts"] == (3 if choice == "retry" else 2)


def test_an_agent_that_never_takes_its_word_back_leaves_the_step_blocked(user: User) -> None:
    agent = write_play(user, FAILED, FAILED, FAILED)

    ran = user.run(agent=agent)

    assert ran.code == 2, ran.text
    step = step_of(user.status(), "step-1")
    assert (step["state"], step["commit"]) == ("blocked", None)
    assert "the agent itself reports that the work is not done" in str(step["reason"])
    assert "the database cannot be reached" in str(step["reason"])


@pytest.mark.parametrize(
    ("choice", "state", "proof", "told"),
    [
        (
            "already-done",
            "done",
            {"level": "declared", "why": ["unchanged"]},
            "its work changed no file; a person said that it was done already",
        ),
        ("skip", "skipped", None, "its agent said that it was done, but no file had changed"),
    ],
)
def test_of_an_attempt_that_changed_nothing_a_person_says_what_it_means(
    user: User, choice: str, state: str, proof: object, told: str
) -> None:
    agent = write_play(user, DONE, write=False)

    asked = user.run("--autonomy", "critical", agent=agent)
    waiting = user.status()
    answered = user.type("answer", "unchanged-step-1", choice, "--resume")

    assert (asked.code, gates_of(waiting)) == (2, ["unchanged-step-1"]), asked.text
    assert step_of(waiting, "step-1")["state"] == "parked"
    assert answered.code == 0, answered.text
    step = step_of(user.status(), "step-1")
    assert (step["state"], step["proof"], step["attempts"]) == (state, proof, 1)
    assert told in user.type("why", "step-1").out


def test_with_autopilot_a_step_that_changed_nothing_is_blocked_until_the_agent_tries_again(user: User) -> None:
    agent = write_play(user, DONE, DONE, write=False)

    blocked = user.run(agent=agent)
    before = step_of(user.status(), "step-1")
    again = user.type("answer", "unchanged-step-1", "retry", "--comment", "look in src", "--resume")

    assert (blocked.code, before["state"], again.code) == (2, "blocked", 2), blocked.text
    assert "no file had changed" in str(before["reason"])
    step = step_of(user.status(), "step-1")
    assert (step["state"], step["attempts"], step["fixes"]) == ("blocked", 2, 0)
    assert "no file had changed" in user.prompt("step-1", attempt=2)
    assert "look in src" in user.prompt("step-1", attempt=2)
    assert gates_of(user.status()) == ["unchanged-step-1.2"]


# --- flows ----------------------------------------------------------------------------------------------------------

WORK = {"type": "agent", "agent": "default", "prompt": "Work.", "next": "done"}
ENDS = {"done": {"type": "end", "output": "done"}, "lost": {"type": "end", "output": "lost", "status": "failed"}}


def walk(user: User, agent: str, **nodes: object) -> tuple[int, str]:
    write_files(user, {"flow.yaml": flow_text("work", {**ENDS, **nodes})})
    ran = user.drumline("flow", "run", "flow.yaml", "--agent", agent)
    return ran.code, ran.out


def test_a_node_whose_agent_reports_a_failure_has_failed(user: User) -> None:
    agent = write_play(user, FAILED)

    assert walk(user, agent, work=WORK) == (1, "")
    assert "the database cannot be reached" in str(user.status()["reason"])


def test_its_fallback_is_followed(user: User) -> None:
    agent = write_play(user, FAILED)

    assert walk(user, agent, work={**WORK, "fallback": "lost"}) == (1, "lost\n")


def test_a_node_whose_agent_names_a_blocker_asks_and_goes_on_with_the_answer(user: User) -> None:
    agent = write_play(user, BLOCKED, DONE)

    parked = walk(user, agent, work=WORK)
    gates = user.status()["gates"]
    answered = user.drumline("answer", "work", "8080", "--resume")

    assert parked == (2, "")
    assert "Which port?" in str(gates)
    assert (answered.code, answered.out) == (0, "done\n")


def test_a_flow_that_hands_the_words_to_somebody_who_decides_judges_them_itself(user: User) -> None:
    agent = write_play(user, "CODER_REJECTED\nThe plan is wrong.\n")
    work = {**WORK, "state_updates": {"said": "{{output}}"}, "next": "judge"}
    judge = {"type": "route", "cases": [{"when": "'CODER_REJECTED' in said", "to": "lost"}], "otherwise": "done"}

    assert walk(user, agent, work=work, judge=judge) == (1, "lost\n")


def test_a_reviewer_speaks_of_the_work_of_others(user: User) -> None:
    agent = write_play(user, "## Blockers\n\n- the change leaks a file handle\n", write=False)

    assert walk(user, agent, work={**WORK, "read_only": True}) == (0, "done\n")


def test_the_shipped_coder_tells_its_caller_what_the_agent_says_of_itself(user: User) -> None:
    agent = write_play(user, "I gave up.\n\nStatus: failure\n")

    ran = user.drumline("flow", "run", "coder", "--agent", agent, "--prompt", "Do it.")

    assert ran.code == 1, ran.err
    assert ran.out.splitlines()[0] == "CODER_FAILED"


def test_a_visit_that_changed_nothing_is_named_by_status_why_and_summary(user: User) -> None:
    agent = write_play(user, DONE, write=False)
    write_files(user, {"flow.yaml": flow_text("work", {**ENDS, "work": WORK})})

    ran = user.drumline("flow", "run", "flow.yaml", "--agent", agent)

    assert ran.code == 0, ran.err
    assert "  changed no file: work\n" in ran.err
    assert user.status()["unchanged"] == ["work"]
    assert "it changed no file" in user.drumline("status").out
    assert "it called itself done and had changed no file" in user.drumline("why", "work").out


def test_a_visit_that_changed_something_is_not(user: User) -> None:
    agent = write_play(user, DONE)

    assert walk(user, agent, work=WORK) == (0, "done\n")
    assert user.status()["unchanged"] == []
