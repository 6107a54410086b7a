"""Status: the states of runs and steps, the reasons beside them, and the contract that scripts read."""

from __future__ import annotations

import json
from typing import cast

import pytest
from tests.unit.builders import (
    COMMIT,
    DRIVER,
    Scene,
    attempt,
    attempted,
    check_started,
    checked,
    finish,
    gate_for,
    prepared,
    run_started,
    step_of,
)

from drumline.core import events as ev
from drumline.core.ids import GateId, StepId
from drumline.core.plan import Marks, Problem, Status
from drumline.core.vocabulary import RunEnd, RunStanding, StepStanding
from drumline.views.states import EXIT_CODES, elapsed
from drumline.views.status import run_state, status_json, step_state

ONE = [step_of("step-1")]
TWO = [step_of("step-1"), step_of("step-2", "step-1")]
BY_HAND = [step_of("step-1", manual=["look"]), step_of("step-2", "step-1")]


def steps_of(status: dict[str, object]) -> dict[str, dict[str, object]]:
    """The status's steps by id."""
    return {str(step["id"]): step for step in cast("list[dict[str, object]]", status["steps"])}


@pytest.mark.parametrize("state", RunEnd)
def test_an_ended_run_is_in_the_state_it_ended_in(state: RunEnd) -> None:
    scene = Scene(steps=ONE, events=[ev.RunEnded(state=state)], live=[])

    assert run_state(scene.snapshot()).value == state.value


def test_an_open_run_with_a_driver_is_running() -> None:
    assert run_state(Scene(steps=ONE).snapshot()) == "running"


def test_an_open_run_without_a_driver_is_interrupted() -> None:
    assert run_state(Scene(steps=ONE, live=[]).snapshot()) == "interrupted"


def test_a_parked_run_is_parked_without_a_driver() -> None:
    events = [gate_for("wave-1"), ev.RunParked(gates=(GateId("wave-1"),))]

    assert run_state(Scene(steps=ONE, events=events, live=[]).snapshot()) == "parked"


def test_every_run_state_has_an_exit_code() -> None:
    assert set(EXIT_CODES) == set(RunStanding)
    assert {EXIT_CODES[state] for state in (RunStanding.PARKED, RunStanding.BLOCKED)} == {2}
    assert EXIT_CODES[RunStanding.INTERRUPTED] == 130


@pytest.mark.parametrize("state", ["done", "failed", "blocked", "skipped"])
def test_a_finished_step_is_in_the_state_it_finished_in(state: str) -> None:
    scene = Scene(steps=ONE, events=[finish("step-1", state)])

    assert step_state(scene.snapshot(), StepId("step-1")) == state


@pytest.mark.parametrize(
    ("scene", "state"),
    [
        (Scene(steps=TWO), "waiting"),
        (Scene(steps=TWO, events=[finish("step-1")]), "ready"),
        (Scene(steps=TWO, events=[finish("step-1", "skipped")]), "ready"),
        (Scene(steps=TWO, events=[ev.StepsDeclared(steps=(StepId("step-1"),))]), "ready"),
        (Scene(steps=TWO, events=[finish("step-1")], owners={"step-2": "d1"}), "running"),
        (Scene(steps=TWO, events=[finish("step-1"), gate_for("g", "step-2")]), "parked"),
        (Scene(steps=BY_HAND, events=[finish("step-1"), gate_for("wave-1")]), "waiting"),
        (Scene(steps=TWO, events=[ev.StepsDeclared(steps=(StepId("step-2"),))]), "done"),
        (Scene(steps=TWO, started=run_started(selection=["step-1"])), "waiting"),
        (Scene(steps=TWO, events=[finish("step-1")], marks={"step-2": Marks(status=Status.BLOCKED)}), "blocked"),
        (Scene(steps=TWO, events=[finish("step-1")], marks={"step-2": Marks(status=Status.CLAIMED)}), "waiting"),
    ],
)
def test_an_unfinished_step_is_in_the_state_that_its_surroundings_say(scene: Scene, state: str) -> None:
    assert step_state(scene.snapshot(), StepId("step-2")) == state
    assert state in tuple(StepStanding)


def test_a_step_given_back_by_a_dead_driver_is_ready_again() -> None:
    streams = {"step-1": [*prepared(), attempt(1)]}
    scene = Scene(steps=ONE, events=[ev.StepStarted(step=StepId("step-1"))], streams=streams, live=[])

    status = status_json(scene.snapshot())

    assert steps_of(status)["step-1"]["state"] == "ready"
    assert steps_of(status)["step-1"]["attempts"] == 1
    assert steps_of(status)["step-1"]["node"] is None


def test_the_contract_has_its_keys_and_no_others_take_their_place() -> None:
    scene = Scene(steps=ONE, events=[gate_for("g", "step-1")])

    status = status_json(scene.snapshot())

    assert {"schema_version", "run", "state", "steps", "gates"} <= set(status)
    keys = {"id", "title", "state", "attempts", "owner", "commit", "reason", "proved"}
    assert keys <= set(steps_of(status)["step-1"])
    gate = cast("list[dict[str, object]]", status["gates"])[0]
    assert {"id": "g", "question": "Go on?", "options": ["yes", "no"], "step": "step-1"}.items() <= gate.items()
    assert json.loads(json.dumps(status)) == status
    assert status["schema_version"] == 1


def test_a_landed_step_shows_commit_proof_files_and_checks() -> None:
    scene = Scene(steps=ONE, events=[finish("step-1")])

    step = steps_of(status_json(scene.snapshot()))["step-1"]

    assert step["commit"] == COMMIT
    assert step["proved"] is True
    assert step["proof"] == {"level": "proved", "why": []}
    assert step["reason"] is None
    assert step["files"] == ["src/a.py"]
    assert step["checks"] == {"passed": 1, "total": 1}


def test_a_step_that_landed_with_another_tree_is_not_proved_and_says_why() -> None:
    scene = Scene(steps=ONE, events=[finish("step-1", proved=False)])

    step = steps_of(status_json(scene.snapshot()))["step-1"]

    assert step["proved"] is False
    assert step["reason"] == "landed with another tree than the one that its checks ran on"


def test_a_declared_step_is_done_but_not_proved() -> None:
    scene = Scene(steps=ONE, events=[ev.StepsDeclared(steps=(StepId("step-1"),))])

    step = steps_of(status_json(scene.snapshot()))["step-1"]

    assert (step["state"], step["proved"], step["declared"], step["commit"]) == ("done", False, True, None)


def test_a_running_step_shows_its_owner_and_what_is_being_done() -> None:
    streams = {"step-1": [*prepared(), *attempted(1), *checked(0), check_started(1)]}
    scene = Scene(steps=[step_of("step-1", checks=3)], streams=streams, owners={"step-1": DRIVER})

    step = steps_of(status_json(scene.snapshot()))["step-1"]

    assert (step["owner"], step["node"], step["attempts"], step["reason"]) == (DRIVER, "check", 1, None)
    assert step["doing"] == "check 2 of 3: check 2"
    assert step["checks"] == {"passed": 1, "total": 3}


def test_the_attempt_under_way_counts() -> None:
    streams = {"step-1": [*prepared(), *attempted(1), *checked(0, exit_code=1), attempt(2)]}
    scene = Scene(steps=ONE, streams=streams, owners={"step-1": DRIVER})

    step = steps_of(status_json(scene.snapshot()))["step-1"]

    assert step["attempts"] == 2
    assert step["doing"] == "attempt 2 (fix 1 of 2)"


def test_a_step_outside_the_selection_says_so() -> None:
    scene = Scene(steps=TWO, started=run_started(selection=["step-1"]))

    step = steps_of(status_json(scene.snapshot()))["step-2"]

    assert (step["state"], step["reason"]) == ("waiting", "not part of this run")


def test_an_answer_not_folded_in_yet_is_shown_at_its_gate() -> None:
    scene = Scene(steps=ONE, events=[gate_for("wave-1")], answers={"wave-1": "continue"})

    gate = cast("list[dict[str, object]]", status_json(scene.snapshot())["gates"])[0]

    assert (gate["answered"], gate["step"]) == ("continue", None)


def test_the_problems_of_an_edited_plan_are_listed() -> None:
    problem = Problem(code="cycle", message="a needs b needs a", where="plan/a.md:3")
    scene = Scene(steps=ONE, problems=[problem])

    status = status_json(scene.snapshot())

    assert status["problems"] == [
        {"code": "cycle", "severity": "error", "where": "plan/a.md:3", "message": "a needs b needs a"}
    ]


def test_the_run_says_why_it_is_not_running() -> None:
    parked = Scene(steps=ONE, events=[gate_for("wave-1"), ev.RunParked(gates=(GateId("wave-1"),))], live=[])
    ended = Scene(steps=ONE, events=[ev.RunEnded(state=RunEnd.BLOCKED, reason="step-1: no")], live=[])

    assert status_json(parked.snapshot())["reason"] == "waiting for an answer to wave-1"
    assert status_json(ended.snapshot())["reason"] == "step-1: no"
    assert status_json(Scene(steps=ONE, live=[]).snapshot())["reason"] == "no driver is running"
    assert status_json(Scene(steps=ONE).snapshot())["reason"] is None


def test_time_stops_when_nobody_drives() -> None:
    assert elapsed(Scene(steps=ONE).snapshot()) == 100
    assert elapsed(Scene(steps=ONE, live=[]).snapshot()) == 60
