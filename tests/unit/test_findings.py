"""Findings: how reviewers' words are read, which of them are the same, and what becomes of each."""

from __future__ import annotations

import pytest
from tests.unit.builders import TREE, run_started, step_of

from drumline.core import events as ev
from drumline.core.findings import read_findings, read_severity, tell_findings
from drumline.core.flow.model import Json
from drumline.core.ids import StepId, Tree
from drumline.core.life import Phase
from drumline.core.reviewing import (
    CONFIRMED,
    NAMED,
    choose_reasons,
    describe_review,
    is_reviewed,
    list_due,
    list_left,
    list_misnamed,
    read_review,
    read_verdicts,
    settle_all,
    tell_due,
    tell_left,
)
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import Review, Settlement, Severity
from drumline.record import replace

A = StepId("a")
STEPS = ("a", "b")
BLOCKER: dict[str, Json] = {
    "severity": "blocker",
    "file": "src/a.py",
    "line": 3,
    "title": "Loses data",
    "detail": "The file is cut.",
}


def begin(**changes: object) -> RunState:
    """A run with two steps that has begun."""
    pinned = ev.PlanPinned(format="dag", title="", steps=(step_of("a"), step_of("b")), digests={})
    started = replace(run_started(), rigor="standard", **changes)
    return fold_run(RunState(id=started.plan), [started, pinned])  # type: ignore[arg-type]


def work() -> StepState:
    """A step that an agent has worked on."""
    return StepState(phase=Phase.WORKED)


def hear(state: StepState, answer: dict[str, Json], by: str = "reviewer") -> list[ev.Event]:
    """Record what an answer about step a means."""
    verdicts = "confirmed" in answer or "refuted" in answer
    confirmed = read_verdicts(answer, state, by=by) if verdicts else []
    events = confirmed or read_review(answer, state, step=A, steps=STEPS, by=by)
    fold_step(state, events)
    return events


@pytest.mark.parametrize(
    ("word", "severity"),
    [
        ("🔴", "blocker"),
        ("🔴 CRITICAL", "blocker"),
        ("Critical", "blocker"),
        ("Major", "blocker"),
        ("🟡", "concern"),
        ("Minor", "concern"),
        ("🟢 SUGGESTION", "nit"),
        ("💡", "nit"),
        ("**nit**", "nit"),
        ("severe, whatever that is", "concern"),
        ("", "concern"),
    ],
)
def test_the_words_of_all_reviewers_mean_one_of_three_severities(word: str, severity: str) -> None:
    assert read_severity(word) is Severity(severity)


def test_the_same_finding_is_kept_once_and_one_without_a_title_not_at_all() -> None:
    again: dict[str, Json] = {**BLOCKER, "title": "loses  DATA", "detail": "in other words"}

    found = read_findings([BLOCKER, again, {"severity": "nit"}, "text"], steps=STEPS, own=A, by="r")

    assert [(one.id, one.severity, one.place) for one in found] == [("a-F1", Severity.BLOCKER, "src/a.py:3")]


def test_a_finding_about_a_step_that_there_is_not_is_kept_without_one() -> None:
    found = read_findings([{**BLOCKER, "step": "b"}, {**BLOCKER, "step": "z9"}], steps=STEPS, own=A, by="r")

    assert [(one.step, one.named) for one in found] == [("b", ""), ("", "z9")]


def test_what_a_finding_says_is_cut_and_cannot_move_a_cursor() -> None:
    found = read_findings([{"title": "\x1b[2Jx" + "y" * 900, "line": True}], steps=STEPS, own=A, by="r")

    assert found[0].title.startswith("xyy")
    assert len(found[0].title) == 200
    assert found[0].line == 0


@pytest.mark.parametrize(
    ("file", "line", "place"),
    [
        ("src/a.py", 3, "src/a.py:3"),
        ("./src//a.py", 3, "src/a.py:3"),
        ("/w/work@1/src/a.py", 3, "src/a.py:3"),
        ("src/a.py:3", 3, "src/a.py:3"),
        ("src/a.py:3-9", 0, "src/a.py:3"),
        ("src/a.py:4", 3, "src/a.py:4:3"),
        ("/etc/passwd", 0, "/etc/passwd"),
        ("", 3, ""),
    ],
)
def test_a_file_is_called_as_the_repository_calls_it_so_that_the_same_finding_is_known_again(
    file: str, line: int, place: str
) -> None:
    found = read_findings([{**BLOCKER, "file": file, "line": line}], steps=STEPS, own=A, by="r", top="/w/work@1")

    assert [one.place for one in found] == [place]


def test_every_line_of_a_detail_stands_below_its_finding() -> None:
    said = {**BLOCKER, "detail": "It is cut.\n\n## What to answer\n\nNothing."}
    state = work()

    hear(state, {"findings": [said]})

    told = tell_findings([*state.findings.values()])
    assert told == "- a-F1 [blocker] Loses data (src/a.py:3)\n  It is cut.\n  ## What to answer\n  Nothing."


def test_a_blocker_holds_up_its_step_once_it_is_confirmed() -> None:
    state = work()

    hear(state, {"findings": [BLOCKER]})
    alone = tell_left(state)
    hear(state, {"confirmed": [{"id": "a-F1", "why": "seen"}]}, by="another")

    assert alone == ""
    assert tell_left(state) == "1 confirmed blocker of its review is left: a-F1 Loses data"
    assert state.findings["a-F1"].confirmed == "another"


def test_a_refuted_blocker_is_settled_as_wrong_and_is_not_found_again() -> None:
    state = work()

    hear(state, {"findings": [BLOCKER]})
    hear(state, {"refuted": [{"id": "a-F1", "why": "the file is not cut"}]}, by="another")
    repeated = hear(state, {"findings": [BLOCKER]})

    assert state.findings["a-F1"].settled is Settlement.WRONG
    assert repeated == []
    assert not list_left(state)


def test_only_who_looks_again_says_that_a_finding_is_fixed_and_not_while_it_repeats_it() -> None:
    state = work()
    hear(state, {"findings": [BLOCKER]})
    hear(state, {"confirmed": ["a-F1"]}, by="another")

    hear(state, {"findings": [BLOCKER], "fixed": ["a-F1"]})
    still = len(list_due(state))
    hear(state, {"findings": [], "fixed": ["a-F1", "made-up"]})

    assert still == 1
    assert list_due(state) == []
    assert state.findings["a-F1"].settled is Settlement.FIXED


def test_a_finding_that_comes_back_after_it_was_fixed_is_a_new_one() -> None:
    state = work()
    hear(state, {"findings": [BLOCKER]})
    hear(state, {"fixed": ["a-F1"]})

    hear(state, {"findings": [BLOCKER]})

    assert [name for name, one in state.findings.items() if one.is_open] == ["a-F2"]


def test_findings_of_an_earlier_round_hold_up_nothing() -> None:
    state = work()
    hear(state, {"findings": [BLOCKER]})
    hear(state, {"confirmed": ["a-F1"]})

    fold_step(state, [ev.StepRestarted(round=1)])
    state.phase = Phase.WORKED

    assert not list_left(state)
    assert [event.finding.id for event in hear(state, {"findings": [BLOCKER]})] == ["a-F2"]  # type: ignore[attr-defined]


def test_a_person_accepts_defers_or_wants_findings_put_right() -> None:
    state = work()
    hear(state, {"findings": [BLOCKER, {**BLOCKER, "severity": "concern"}, {**BLOCKER, "severity": "nit"}]})

    fold_step(state, settle_all(state, Severity.CONCERN, how=CONFIRMED, why=""))
    fold_step(state, settle_all(state, Severity.BLOCKER, how="accepted", why="known"))

    assert [one.finding.id for one in list_due(state)] == ["a-F2"]
    assert state.findings["a-F1"].settled is Settlement.ACCEPTED
    assert state.findings["a-F3"].is_open


@pytest.mark.parametrize(
    ("said", "accepted", "misnamed", "confirmed"),
    [
        ("accept a-F1", {"a-F1": ""}, [], []),
        ("Accept a-F1, a-F2\n\nknown, ticket 7", {"a-F1": "known, ticket 7", "a-F2": "known, ticket 7"}, [], []),
        ("accept a-F1 a-F9", {}, ["a-F9"], []),
        ("accept a-F3", {}, ["a-F3"], []),  # a concern, and the question is about blockers
        ("accept no names at all", {}, [], ["a-F1", "a-F2"]),
        ("use parameters", {}, [], ["a-F1", "a-F2"]),
    ],
)
def test_blockers_are_accepted_by_name_and_a_name_that_is_wrong_settles_nothing(
    said: str, accepted: dict[str, str], misnamed: list[str], confirmed: list[str]
) -> None:
    state = work()
    other: dict[str, Json] = {**BLOCKER, "title": "Another"}
    hear(state, {"findings": [BLOCKER, other, {**BLOCKER, "severity": "concern"}]})

    events = settle_all(state, Severity.BLOCKER, how=NAMED, why=said)

    assert {e.finding: e.why for e in events if isinstance(e, ev.FindingSettled)} == accepted
    assert [e.finding for e in events if isinstance(e, ev.FindingConfirmed)] == confirmed
    assert list_misnamed(state, Severity.BLOCKER, said) == misnamed


def test_a_flow_is_told_how_many_of_each_there_are() -> None:
    state = work()
    hear(state, {"findings": [BLOCKER, {**BLOCKER, "severity": "🟡"}]})
    state.reviews = 2

    told = describe_review(state)

    assert (told["unconfirmed"], told["blockers"], told["concerns"], told["again"]) == (1, 0, 1, False)
    assert "a-F1 [blocker] Loses data (src/a.py:3)" in str(told["doubtful"])


@pytest.mark.parametrize(
    ("rigor", "review", "found", "reasons"),
    [
        ("standard", Review.RISK, ("x",), ("x",)),
        ("standard", Review.RISK, (), ()),
        ("standard", Review.ALL, (), ("every step is reviewed (review = all)",)),
        ("standard", Review.NONE, ("x",), ()),
        ("quick", Review.ALL, ("x",), ()),
    ],
)
def test_the_setting_and_the_rigor_say_whether_there_is_a_review(
    rigor: str, review: Review, found: tuple[str, ...], reasons: tuple[str, ...]
) -> None:
    run = begin(review=review)
    run.started = replace(run.begun, rigor=rigor)

    assert choose_reasons(run, found) == reasons


def test_work_is_reviewed_again_only_if_it_is_another_tree_or_something_is_left() -> None:
    state = work()
    fold_step(state, [ev.WorkReviewed(tree=Tree("t1"))])
    state.tree = Tree("t1")
    same = is_reviewed(state)
    hear(state, {"findings": [BLOCKER]})
    hear(state, {"confirmed": ["a-F1"]})
    left = is_reviewed(state)
    state.tree, state.findings = Tree("t2"), {}

    assert (same, left, is_reviewed(state)) == (True, False, False)


def test_who_confirms_cannot_call_anything_fixed_and_who_finds_cannot_confirm() -> None:
    state = work()
    other: dict[str, Json] = {**BLOCKER, "title": "Leaks keys"}
    hear(state, {"findings": [BLOCKER, other]})
    hear(state, {"confirmed": ["a-F1"]}, by="another")

    fold_step(state, read_verdicts({"refuted": ["a-F2"], "fixed": ["a-F1"]}, state, by="another"))
    own = read_review({"findings": [], "fixed": [], "confirmed": ["a-F2"]}, state, step=A, steps=STEPS, by="reviewer")

    assert [one.finding.id for one in list_left(state)] == ["a-F1"]
    assert own == []


def test_an_open_blocker_is_looked_at_again_even_if_nothing_was_changed() -> None:
    state = work()
    state.tree = TREE
    fold_step(state, [ev.WorkReviewed(tree=TREE, by="reviewer")])
    hear(state, {"findings": [BLOCKER]})

    assert not is_reviewed(state)


def test_what_a_person_says_about_findings_reaches_the_agent() -> None:
    state = work()
    hear(state, {"findings": [BLOCKER]})
    hear(state, {"confirmed": ["a-F1"]}, by="another")

    fold_step(state, settle_all(state, Severity.BLOCKER, how="confirmed", why="use parameters"))

    assert "A person said about it: use parameters" in tell_due(state)


def test_of_many_findings_those_that_matter_most_are_kept() -> None:
    nits: list[Json] = [{**BLOCKER, "severity": "nit", "title": f"nit {number}"} for number in range(60)]

    found = read_findings([*nits, BLOCKER], steps=STEPS, own=A, by="r")

    assert len(found) == 50
    assert found[0].severity is Severity.BLOCKER
