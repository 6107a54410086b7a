"""Reports of agents, read into fields wherever they stand in the last message."""

from __future__ import annotations

import pytest

from drumline.core.taskreport import DOWNSTREAM, MOST_FACT, MOST_TEXT, list_facts, read_report, read_words

REPORT = """\
I am done.

{mark} Task Report

- **Status**: success
- **Files Created**: src/a.py
- Validation: pass
- Decisions Made:
  - sessions are cookies

{mark} Downstream Context

- Key Interfaces: `load()` of src/a.py

{mark} Blockers

None
"""
FIELDS = {
    "status": "success",
    "files created": "src/a.py",
    "validation": "pass",
    "decisions made": "- sessions are cookies",
    DOWNSTREAM: "- Key Interfaces: `load()` of src/a.py",
}


@pytest.mark.parametrize("mark", ["#", "##", "####"])
@pytest.mark.parametrize(
    "wrap", ["{}", "Here:\n\n```markdown\n{}```\n", "> said\n\n{}\nBye.", "````\n{}\n```\nStatus: failed\n```\n````\n"]
)
def test_a_report_is_read_at_any_level_and_wrapped(mark: str, wrap: str) -> None:
    assert dict(read_report(wrap.format(REPORT.format(mark=mark)))) == FIELDS


def test_a_report_may_begin_with_a_bold_line_or_a_numbered_heading() -> None:
    assert read_report("**Task Report**\n\n- Status: success\n") == {"status": "success"}
    assert read_report("## 2. Task Report\n\n- Status: success\n") == {"status": "success"}


def test_fields_may_be_headings_of_their_own() -> None:
    message = "# Task Report\n\n## Status\n\nsuccess\n\n## Files Created\n\n- a\n- b\n"

    assert dict(read_report(message)) == {"status": "success", "files created": "- a\n- b"}


@pytest.mark.parametrize(
    "message", ["done", "# Task Report\n\nAll is well.\n", "Task Report: done", "# Report\n\nStatus: success\n"]
)
def test_what_is_not_a_report_is_none(message: str) -> None:
    assert read_report(message) == {}


def test_a_field_without_end_is_cut() -> None:
    found = read_report("# Task Report\n\nStatus: success\nErrors: " + "x" * 10_000)

    assert len(found["errors"]) == MOST_TEXT


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("- **Objective Achieved:** **It is there.**", "It is there."),
        ("- Objective Achieved: `a()` calls `b()`", "`a()` calls `b()`"),
        ("- Objective Achieved: it has __init__", "it has __init__"),
        ("**Objective Achieved**: `a.py`", "a.py"),
    ],
)
def test_marks_within_a_value_stay_and_those_around_it_go(said: str, value: str) -> None:
    report = read_report(f"# Task Report\n\n- Status: success\n{said}\n")

    assert report["objective achieved"] == value


def test_durable_facts_are_read_one_per_line_and_words_for_nothing_are_none() -> None:
    said = "# Task Report\n\n- Status: success\n- Durable Facts: None.\n  - Times are in\tUTC\n  - times are in UTC\n"
    long = f"# Task Report\n\n- Status: success\n- Durable Facts: {'x' * 900}\n"

    assert list_facts(read_report(said)) == ("Times are in UTC", "times are in UTC")
    assert list_facts(read_report("# Task Report\n\n- Status: success\n")) == ()
    assert [len(fact) for fact in list_facts(read_report(long))] == [MOST_FACT]


@pytest.mark.parametrize(
    ("items", "facts"),
    [
        (
            "  - The cache is keyed\n    by tenant\n  - Dates are UTC\n",
            ("The cache is keyed by tenant", "Dates are UTC"),
        ),
        ("  1. One\n     goes on\n  2) Two\n", ("One goes on", "Two")),
        ("\n\nOne\nTwo\n", ("One", "Two")),
        ("- None.\n- n/a\n", ()),
        (
            "- The port is 4711.\n- `a - b` is kept, 1) first\n- It takes 3. Not 4\n",
            ("The port is 4711.", "`a - b` is kept, 1) first", "It takes 3. Not 4"),
        ),
    ],
)
def test_an_item_that_is_wrapped_is_one_fact(items: str, facts: tuple[str, ...]) -> None:
    said = f"# Task Report\n\n- Status: success\n\n## Durable Facts\n\n{items}"

    assert list_facts(read_report(said)) == facts


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("It is there.", "It is there."),
        ("It is there.\n\n# Task Report\n\n- Status: success\n\n# Downstream Context\n\nNothing.\n", "It is there."),
        ("Well.\n\n# Task Report\n\n- Status: success\n- Objective Achieved: `a` is there\n", "`a` is there"),
        ("Well.\n\n# Task Report\n\n- Status: success\n- Objective Achieved: n/a\n", "Well."),
        ("# Task Report\n\n- Status: success\n", ""),
    ],
)
def test_what_an_agent_says_of_its_work_is_no_form(message: str, words: str) -> None:
    assert read_words(message, read_report(message)) == words
