"""Settings of other tools: read for plans of their formats only, and only where they can count."""

from __future__ import annotations

import pytest
from tests.unit.builders import step_of

from drumline.app.foreign import archives_sessions, foreign_jobs, foreign_settings, refuse_disabled, state_file
from drumline.core.ids import StepId
from drumline.core.plan import Marks, Plan, Reading, Status
from drumline.record import replace
from drumline.settings import resolve

MAESTRO = {"MAESTRO_EXECUTION_MODE": "parallel", "MAESTRO_MAX_RETRIES": "5", "MAESTRO_MAX_CONCURRENT": "2"}


def test_maestro_variables_count_for_maestro_plans_only() -> None:
    assert foreign_settings("maestro", MAESTRO) == {
        "on_conflict": "ask",
        "mode": "parallel",
        "retries": "5",
        "jobs": "2",
    }
    assert foreign_settings("dag", MAESTRO) == {}


def test_phased_plans_are_run_in_full_where_nothing_else_is_set() -> None:
    assert foreign_settings("phased", MAESTRO) == {"rigor": "full"}
    assert resolve({}, {}, {}, {}, foreign={"rigor": "full"}).rigor == "full"
    assert resolve({}, {}, {}, {"rigor": "quick"}, foreign={"rigor": "full"}).rigor == "quick"


def test_no_limit_of_concurrency_means_as_many_as_there_are() -> None:
    assert foreign_settings("maestro", {"MAESTRO_MAX_CONCURRENT": "0"}) == {"on_conflict": "ask", "jobs": "0"}


def test_a_resumed_run_takes_only_what_it_has_not_pinned() -> None:
    assert foreign_jobs("maestro", MAESTRO) == {"jobs": "2"}
    assert foreign_jobs("waves", MAESTRO) == {}


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("docs/x", "docs/x/state/active-session.md"), ("", ""), ("/etc", ""), ("../out", "")],
)
def test_the_state_folder_stays_in_the_repository(folder: str, expected: str) -> None:
    assert state_file({"MAESTRO_STATE_DIR": folder}) == expected


@pytest.mark.parametrize(("word", "level"), [("strict", "proved"), ("Normal", "kept"), ("lenient", "none")])
def test_how_strict_validation_is_says_which_level_steps_must_reach(word: str, level: str) -> None:
    assert foreign_settings("maestro", {"MAESTRO_VALIDATION_STRICTNESS": word})["require"] == level
    assert resolve({}, {}, {}, {"require": "proved"}, foreign={"require": level}).require == "proved"


def test_phases_still_to_do_of_agents_that_are_switched_off_are_named() -> None:
    steps = [replace(step_of(name), role=role) for name, role in (("1", "coder"), ("2", "tester"), ("3", "tester"))]
    plan = Plan(name="x", path="x.md", format="maestro", steps=tuple(steps))
    reading = Reading(plan=plan, marks={StepId("2"): Marks(status=Status.DONE)}, digests={})

    found = refuse_disabled(reading, {"MAESTRO_DISABLED_AGENTS": "Tester, design_system_engineer"}).problems

    assert [(one.code, "'tester' of 3" in one.message) for one in found] == [("disabled_agent", True)]
    assert refuse_disabled(reading, {"MAESTRO_DISABLED_AGENTS": ""}) is reading
    other = replace(reading, plan=replace(plan, format="dag"))
    assert refuse_disabled(other, {"MAESTRO_DISABLED_AGENTS": "tester"}) is other


@pytest.mark.parametrize(("word", "archives"), [("", True), ("true", True), ("False", False)])
def test_only_the_word_false_keeps_a_session_where_it_is(word: str, archives: bool) -> None:
    assert archives_sessions({"MAESTRO_AUTO_ARCHIVE": word}) is archives
