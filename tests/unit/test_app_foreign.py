"""Settings of other tools: read for plans of their formats only, and only where they can count."""

from __future__ import annotations

import pytest

from drumline.app.foreign import foreign_jobs, foreign_settings, state_file
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
