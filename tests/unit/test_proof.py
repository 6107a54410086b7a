"""The level of a step that has landed, and its reasons."""

from __future__ import annotations

import pytest

from drumline.core import codec
from drumline.core.events import StepFinished
from drumline.core.ids import StepId
from drumline.core.proof import Colour, Facts, Level, Proof, Reason, Require, settle
from drumline.core.vocabulary import StepEnd
from drumline.record import replace

G, R, U = Colour.GREEN, Colour.RED, Colour.UNKNOWN
GREEN = Facts(total=2, passed=2, same_tree=True, before=(G, R))


@pytest.mark.parametrize(
    ("facts", "level", "why"),
    [
        (GREEN, Level.PROVED, ()),
        (replace(GREEN, before=(G, G)), Level.KEPT, (Reason.GREEN_BEFORE,)),
        (replace(GREEN, before=(G, U)), Level.KEPT, (Reason.GREEN_BEFORE, Reason.BASE_UNKNOWN)),
        (replace(GREEN, before=()), Level.KEPT, (Reason.BASE_UNKNOWN,)),
        (replace(GREEN, red_first=(R,)), Level.PROVED, ()),
        (replace(GREEN, red_first=(R, G)), Level.KEPT, (Reason.GREEN_BEFORE,)),
        (replace(GREEN, tests_changed=True), Level.KEPT, (Reason.TESTS_CHANGED,)),
        (replace(GREEN, passed=1, inherited=1), Level.KEPT, (Reason.RED_BEFORE,)),
        (Facts(total=0, passed=0, same_tree=True), Level.UNPROVED, (Reason.NO_CHECKS,)),
        (Facts(total=2, passed=1, same_tree=True), Level.UNPROVED, (Reason.NOT_RUN,)),
        (Facts(total=2, passed=2, same_tree=False), Level.UNPROVED, (Reason.NOT_RUN,)),
        (Facts(total=2, passed=2, same_tree=True, unchanged=True), Level.UNPROVED, (Reason.UNCHANGED,)),
        (Facts(total=2, passed=2, same_tree=True, hidden=True), Level.UNPROVED, (Reason.IGNORED,)),
        (Facts(total=0, passed=0, same_tree=True, unchanged=True, read_only=True), Level.READ_ONLY, ()),
    ],
    ids=[
        "red before",
        "green before",
        "one unknown",
        "nobody looked",
        "red first",
        "expected red and was green",
        "tests changed",
        "inherited",
        "no checks",
        "one could not be run",
        "another tree",
        "unchanged",
        "ignored",
        "may only read",
    ],
)
def test_a_level_follows_from_what_was_seen(facts: Facts, level: Level, why: tuple[Reason, ...]) -> None:
    proof = settle(facts)

    assert (proof.level, proof.why) == (level, why)


def test_a_level_is_read_back_from_the_journal() -> None:
    finished = StepFinished(step=StepId("a"), state=StepEnd.DONE, level=Level.UNPROVED, why=(Reason.NOT_RUN,))

    read = codec.decode("StepFinished", 1, codec.encode(finished))

    assert read == finished


@pytest.mark.parametrize(
    ("body", "proof"),
    [
        ('{"step":"a","state":"done","proved":true,"checks_passed":1,"checks_total":1}', Proof(level=Level.PROVED)),
        ('{"step":"a","state":"done","checks_passed":1,"checks_total":1,"unchanged":true}', "unchanged"),
        ('{"step":"a","state":"done"}', "no_checks"),
        ('{"step":"a","state":"done","checks_passed":1,"checks_total":1}', "not_run"),
        ('{"step":"a","state":"blocked"}', None),
    ],
    ids=["proved", "unchanged", "no checks", "another tree", "not done"],
)
def test_journals_of_earlier_versions_tell_their_levels(body: str, proof: Proof | str | None) -> None:
    read = codec.decode("StepFinished", 1, body)

    assert isinstance(read, StepFinished)
    expected = Proof(level=Level.UNPROVED, why=(Reason(proof),)) if isinstance(proof, str) else proof
    assert read.proof == expected


def test_a_level_that_this_version_does_not_know_stops_the_reader() -> None:
    with pytest.raises(Exception, match="does not know"):
        codec.decode("StepFinished", 1, '{"step":"a","state":"done","level":"certain"}')


@pytest.mark.parametrize(
    ("level", "why", "enough"),
    [
        (Level.PROVED, (), "none kept proved"),
        (Level.KEPT, (Reason.GREEN_BEFORE,), "none kept"),
        (Level.UNPROVED, (Reason.NO_CHECKS,), "none"),
        (Level.DECLARED, (), "none kept proved"),
        (Level.READ_ONLY, (), "none kept proved"),
    ],
)
def test_a_level_is_enough_for_what_asks_for_no_more(level: Level, why: tuple[Reason, ...], enough: str) -> None:
    proof = Proof(level=level, why=why)

    assert [require.value for require in Require if proof.is_enough(require)] == enough.split()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Proof(level=Level.KEPT, why=(Reason.TESTS_CHANGED,)), Proof(level=Level.PROVED)),
        (
            Proof(level=Level.KEPT, why=(Reason.GREEN_BEFORE, Reason.TESTS_CHANGED)),
            Proof(level=Level.KEPT, why=(Reason.GREEN_BEFORE,)),
        ),
        (Proof(level=Level.KEPT, why=(Reason.RED_BEFORE,)), Proof(level=Level.KEPT, why=(Reason.RED_BEFORE,))),
        (Proof(level=Level.UNPROVED, why=(Reason.NO_CHECKS,)), Proof(level=Level.UNPROVED, why=(Reason.NO_CHECKS,))),
    ],
)
def test_a_yes_of_a_person_settles_changed_tests_and_nothing_else(before: Proof, after: Proof) -> None:
    assert before.after_review() == after
