"""Agents in flows as people meet them: they ask, others take over, quotas are waited for, sessions are gone on with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import Strike, flow_text, flow_user, read_journal, run_flow, walk_to_end, write_files
from tests.acceptance.cli_user import User, gates_of

from drumline.core.events import AttemptStarted
from drumline.core.flow.events import NodeEnded

ASKING = flow_text(
    "before",
    {
        "before": {"type": "script", "script": "before.sh", "next": "work"},
        "work": {
            "type": "agent",
            "agent": "default",
            "prompt": "Paint it.",
            "state_updates": {"said": "{{output}}"},
            "next": "done",
        },
        "done": {"type": "end", "output": "{{said}}"},
    },
)
LOOP = flow_text(
    "work",
    {
        "work": {"type": "agent", "agent": "default", "prompt": "Go.", "session": "work", "next": "prove"},
        "prove": {"type": "check", "checks": ["test -e second"], "on_pass": "done", "on_fail": "work"},
        "done": {"type": "end", "output": "done"},
    },
)
TWICE = flow_text(
    "work",
    {
        "work": {"type": "agent", "agent": "default", "prompt": "Go.", "next": "more"},
        "more": {"type": "agent", "agent": "default", "prompt": "Go on.", "next": "done"},
        "done": {"type": "end", "output": "done"},
    },
)
FILES = {
    "ask.yaml": ASKING,
    "loop.yaml": LOOP,
    "before.sh": "echo once >> before.log\necho '{}'\n",
    "play.yaml": json.dumps(
        {
            "rules": [
                {"match": {"node": "work", "attempt": 1}, "ask": "Which colour?", "write": {"half.txt": "half\n"}},
                {"match": {"node": "work", "attempt": 2}, "write": {"all.txt": "all\n"}, "say": "painted"},
            ]
        }
    ),
}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with flow_user(tmp_path, FILES) as user:
        yield user


def play(user: User, *rules: object, file: str = "play.yaml") -> None:
    """Write what a scripted agent does."""
    write_files(user, {file: json.dumps({"rules": list(rules)})})


def test_a_question_of_an_agent_is_answered_later_and_the_visit_goes_on(user: User) -> None:
    parked = run_flow(user, "ask.yaml")
    status = user.status()
    why = user.drumline("why", "work")

    answered = user.drumline("answer", "work", "blue", "--resume")

    assert parked.code == 2
    assert gates_of(status) == ["work"]
    assert "The agent at work asks: Which colour?" in why.out
    assert (answered.code, answered.out) == (0, "painted\n"), answered.err
    assert (user.repo / "before.log").read_text() == "once\n"
    assert (user.repo / "half.txt").exists()
    logs = user.repo / ".git" / "drumline" / "runs"
    assert [path for path in logs.rglob("*.prompt-2.md") if "The answer: blue" in path.read_text()]


def test_an_agent_asks_by_the_last_line_of_what_it_says(user: User) -> None:
    play(
        user,
        {"match": {"attempt": 1}, "say": 'I looked around.\n{"blocked": "Which table?", "options": ["a", "b"]}'},
        {"match": {"attempt": 2}, "say": "table a it is"},
    )

    parked = run_flow(user, "ask.yaml")
    answered = user.drumline("answer", "work", "a", "--resume")

    assert parked.code == 2
    assert "Which table?" in parked.err
    assert (answered.code, answered.out) == (0, "table a it is\n"), answered.err


@pytest.mark.parametrize(("nth", "when"), [(3, "before"), (3, "after"), (4, "after"), (5, "before"), (6, "before")])
def test_a_question_survives_a_kill(user: User, nth: int, when: str) -> None:
    begin = ("flow", "run", "ask.yaml", "--agent", "scripted:play.yaml")

    walk = walk_to_end(user, begin, {"work": "blue"}, Strike(nth=nth, when=when))

    journal = read_journal(user)
    assert walk.kills == 1
    assert walk.ran[-1].out == "painted\n"
    assert journal.count(NodeEnded, "work") == 1
    assert (user.repo / "before.log").read_text().count("once") <= 2
    assert journal.run is not None
    assert list(journal.run.gates) == ["work"]


def test_another_agent_takes_over_where_one_is_not_let_in(user: User) -> None:
    play(user, {"match": {"node": "work"}, "fail": {"class": "auth", "message": "who are you"}})
    play(user, {"match": {"node": "work"}, "say": "the spare did it"}, file="spare.yaml")
    config = 'fallback = ["spare"]\n[agents.spare]\nagent = "scripted:spare.yaml"\n'
    write_files(user, {".drumline/config.toml": config})

    ran = run_flow(user, "ask.yaml")

    assert (ran.code, ran.out) == (0, "the spare did it\n"), ran.err
    assert "spare takes over at work" in ran.err


def test_a_quota_that_is_far_away_parks_the_flow_and_says_until_when(user: User) -> None:
    play(user, {"match": {"node": "work"}, "fail": {"class": "quota", "message": "come back", "resets_in": 5000}})

    ran = run_flow(user, "ask.yaml")

    status = user.status()
    assert ran.code == 2
    assert status["state"] == "parked"
    assert isinstance(status["parked_until"], float)
    assert "come back" in str(status["reason"])
    assert "work is parked: goes on in 1h" in user.drumline("why", "work").out
    assert user.drumline("resume").code == 2


def test_a_flow_that_waits_for_a_quota_goes_on_at_once_after_a_retry(user: User) -> None:
    play(user, {"match": {"node": "work"}, "fail": {"class": "quota", "message": "come back", "resets_in": 5000}})
    run_flow(user, "ask.yaml")
    play(user, {"match": {"node": "work"}, "say": "painted"})

    refused = user.drumline("retry", "before")
    ran = user.drumline("retry", "work", "--resume")

    assert refused.code == 3
    assert "only a visit that is blocked or waits for a quota can be retried" in refused.err
    assert (ran.code, ran.out) == (0, "painted\n"), ran.err


def test_a_node_of_a_loop_goes_on_with_its_session_where_it_asks_for_that(user: User) -> None:
    play(
        user,
        {"match": {"node": "work", "visit": 1}, "say": "tried", "session": "s-1"},
        {"match": {"node": "work", "visit": 2}, "write": {"second": ""}, "say": "mended", "session": "s-1"},
    )

    ran = run_flow(user, "loop.yaml")

    asked = [event for event in read_journal(user).events if isinstance(event, AttemptStarted)]
    assert ran.code == 0, ran.err
    assert [event.session for event in asked] == ["", "s-1"]
    assert asked[0].new_session
    assert "work#2 continues with session s-1" in ran.err


def test_a_person_is_asked_before_more_than_the_budget_is_spent(user: User) -> None:
    play(user, {"match": {}, "say": "painted", "usage": {"cost_usd": 3.0}, "write": {"second": "x"}})
    write_files(user, {"twice.yaml": TWICE})
    parked = run_flow(user, "twice.yaml", env={"DRUMLINE_BUDGET": "3"})
    asked = gates_of(user.status())

    answered = user.drumline("answer", "budget-1", "yes", "--resume")

    assert parked.code == 2, parked.err
    assert asked == ["budget-1"]
    assert "The run has spent $3.00 of the $3.00 it may" in parked.err
    assert (answered.code, answered.out) == (0, "done\n"), answered.err
