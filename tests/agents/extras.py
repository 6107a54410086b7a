"""Which programs are extra, and how much of them is tried each time.

The rule: an extra program is tried with the tests of MINIMUM, and with what no other program shows. The rest of it is
long, wherever in this folder it stands, so that one more program adds six tests to every run and not thirty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

EXTRAS = ("qwen", "goose", "copilot")
MINIMUM: Mapping[str, Mapping[str, object]] = {
    "test_edits_land_commands_run_and_all_of_it_is_told": {"jailed": True},
    "test_tokens_are_those_of_this_assignment": {},
    "test_an_answer_that_fits_its_schema_comes_as_a_value": {},
    "test_a_failure_has_its_class": {"failure": "auth"},
    "test_cancelled_in_mid_command_it_leaves_no_process": {"jailed": True},
    "test_in_a_jail_nothing_can_be_written_outside": {},
}
"""Tests of the conformance suite by their name, and the parameters with which they are tried."""


def mark_extras(items: Iterable[pytest.Item]) -> None:
    """Mark as long what is left out of an extra program."""
    found = [item for item in items if isinstance(item, pytest.Function)]
    shown = {item.function for item in found if find_agent(item) not in EXTRAS and not item.get_closest_marker("long")}
    for item in found:
        if find_agent(item) in EXTRAS and item.function in shown and not is_minimum(item):
            item.add_marker(pytest.mark.long)


def find_agent(item: pytest.Item) -> str:
    """The agent that a test is about, named by its parameter `name`, or nothing."""
    return str(find_parameters(item).get("name", ""))


def find_parameters(item: pytest.Item) -> Mapping[str, object]:
    """What a test is tried with."""
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec else {}


def is_minimum(item: pytest.Function) -> bool:
    """Whether a test is tried with every agent each time."""
    wanted = MINIMUM.get(item.originalname)
    return wanted is not None and wanted.items() <= find_parameters(item).items()
