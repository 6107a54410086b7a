"""Agents as a person configures them: one per step, others that take over, quotas, questions and money."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, gates_of, leaving_nothing, make_user, states_of, step_text, write_script

OTHER = "other.yaml"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2"))


def configure(user: User, text: str) -> None:
    """Write the configuration."""
    place = user.repo / ".drumline" / "config.toml"
    place.parent.mkdir(exist_ok=True)
    place.write_text(text, encoding="utf-8")


def doing(step: str, **usage: float) -> dict[str, object]:
    """A rule by which the step is done, for so much."""
    return {"match": {"step": step}, "write": {f"{step}.txt": "x\n"}, "usage": usage}


def usage_of(place: Mapping[str, object]) -> dict[str, object]:
    """The usage in a status."""
    found = place["usage"]
    assert isinstance(found, dict)
    return found


def test_another_agent_takes_over_and_the_costs_are_told_apart(user: User) -> None:
    broke = {"fail": {"class": "billing", "message": "no credit"}, "usage": {"input": 10}}
    user.play({"match": {"step": "step-1"}, **broke}, doing("step-2", cost_usd=0.25))
    write_script(user.repo / OTHER, [doing("step-1", input=5, cost_usd=0.5)])
    configure(user, f'fallback = ["spare"]\n[agents.spare]\nagent = "scripted:{OTHER}"\ntier = "strong"\n')

    ran = user.run("--mode", "sequential")

    assert ran.code == 0
    assert "spare takes over with attempt 2" in ran.text
    assert "$0.75 and 1 attempt unpriced" in ran.text
    status = user.status()
    assert usage_of(status)["cost_usd"] == 0.75
    assert usage_of(user.step("step-1")) == {
        "input": 15,
        "output": 0,
        "cached": 0,
        "cost_usd": 0.5,
        "attempts": 2,
        "unpriced": 1,
        "replayed": 0,
    }
    assert isinstance(status["agents"], dict)
    assert "spare" in status["agents"]


def test_a_quota_that_is_far_away_parks_the_run_and_says_until_when(user: User) -> None:
    gone = {"class": "quota", "message": "come back later", "resets_in": 5000}
    user.play({"match": {"step": "step-1"}, "fail": gone})

    ran = user.run("--mode", "sequential")

    assert ran.code == 2
    assert states_of(user.status()) == {"step-1": "parked", "step-2": "done"}
    assert "come back later" in user.drumline("why", "step-1").out
    assert user.step("step-1")["until"] == user.status()["parked_until"] is not None
    assert user.drumline("resume").code == 2


def test_a_quota_that_is_near_is_waited_for(user: User) -> None:
    gone = {"class": "quota", "message": "in a moment", "resets_in": 1}
    user.play({"match": {"step": "step-1", "attempt": 1}, "fail": gone})

    assert user.run("--mode", "sequential").code == 0


def test_an_agent_s_question_is_answered_in_one_s_own_words(user: User) -> None:
    asking = {"match": {"step": "step-1", "attempt": 1}, "ask": "Tabs or spaces?", "session": "s-1"}
    user.play(asking)

    ran = user.run("--mode", "sequential")

    assert ran.code == 2
    assert gates_of(user.status()) == ["question-step-1"]
    assert "Tabs or spaces?" in user.drumline("why", "step-1").out
    assert user.drumline("answer", "question-step-1", "two spaces", "--resume").code == 0
    assert "two spaces" in user.prompt("step-1", 2)


def test_a_spent_budget_asks_a_person(user: User) -> None:
    user.play(doing("step-1", cost_usd=2))
    configure(user, "budget = 1.5\n")

    ran = user.run("--mode", "sequential")

    assert ran.code == 2
    assert "$2.00 of the $1.50" in ran.text
    assert user.drumline("answer", "budget-1", "yes", "--resume").code == 0


def test_an_attempt_that_changed_nothing_and_what_it_used_are_shown(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "usage": {"input": 1200, "output": 30}, "write": {}})

    user.run("--mode", "sequential")

    why, logs = user.drumline("why", "step-1").out, user.drumline("logs", "step-1").out
    tried = json.loads(user.drumline("logs", "step-1", "--json").out)["attempts"]
    assert "after attempt 3 it called itself done and had changed no file" in why
    assert (
        "used 7,200 input and 180 output tokens, unpriced" in why
    )  # its diagnosis was asked for a valid answer twice more
    assert "it called itself done and had changed no file" in logs
    *worked, diagnosed = [(a["attempt"], a["unchanged"], a["usage"]["unpriced"]) for a in tried]
    assert worked == [(n, True, 1) for n in (1, 2, 3)]
    assert diagnosed == (4, False, 1)  # who may only read is not blamed for having changed nothing


def test_what_a_diagnosis_costs_is_counted_beside_the_attempts_and_against_the_budget(user: User) -> None:
    wrong = {"match": {"step": "step-1"}, "usage": {"cost_usd": 1.0}, "write": {}}
    said = json.dumps({"verdict": "plan", "cause": "it is wrong", "evidence": "", "title": "", "approach": ""})
    diagnosis = {"match": {"step": "step-1", "node": "diagnose"}, "usage": {"cost_usd": 0.5}, "say": said}
    user.play(diagnosis, wrong)
    configure(user, "budget = 3.25\n")

    ran = user.run("--mode", "sequential")

    asked = user.status()["usage"]
    answered = user.drumline("answer", "budget-1", "yes", "--resume")
    used = json.loads(user.drumline("report", "--json").out)["usage"]
    assert (asked["cost_usd"], asked["attempts"]) == (3.5, 4), ran.text  # type: ignore[index]
    assert "$3.50 of the $3.25" in ran.text
    assert answered.code == 2  # the step stays blocked
    assert (used["cost_usd"], used["attempts"]) == (3.5, 4)


def test_what_another_agent_diagnoses_is_counted_under_its_name(user: User) -> None:
    said = json.dumps({"verdict": "plan", "cause": "it is wrong", "evidence": "", "title": "", "approach": ""})
    user.play({"match": {"step": "step-1"}, "usage": {"cost_usd": 1.0}, "write": {}}, doing("step-2", cost_usd=0.25))
    write_script(user.repo / OTHER, [{"match": {"node": "diagnose"}, "usage": {"cost_usd": 0.5}, "say": said}])
    configure(user, f'fallback = ["spare"]\n[agents.spare]\nagent = "scripted:{OTHER}"\n')

    ran = user.run("--mode", "sequential")

    used = {name: usage["cost_usd"] for name, usage in user.status()["agents"].items()}  # type: ignore[attr-defined]
    assert ran.code == 2
    assert used == {"scripted:agent.yaml": 3.25, "spare": 0.5}, ran.text
    assert "\n  spare worked " in user.drumline("logs", "step-1").out
    assert "→ diagnose by spare; " in user.drumline("logs", "--errors").out


def test_agents_that_do_not_exist_are_refused_before_anything_begins(user: User) -> None:
    user.edit("step-2", "status: ready\n", "status: ready\nagent: nobody\n")
    configure(user, 'fallback = ["nowhere"]\n')

    ran = user.run()

    assert ran.code == 3
    assert "'nowhere' does not name an agent" in ran.text
    assert "'nobody' does not name an agent" in ran.text
