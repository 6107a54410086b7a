"""What is learned from fixes: signatures, remedies, and what came of a try."""

from __future__ import annotations

import pytest
from tests.unit.builders import BASE, DRIVER, TREE, TREE_2

from drumline.core import events as ev
from drumline.core.ids import Token, Tree
from drumline.core.learned import Fix, Lesson
from drumline.core.lessons import find_program, match, name_lesson, read_remedy, sign, tell_lessons, weigh
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState

READY = Tree("r" * 40)


def ended(
    tree: Tree, *, code: int, output: str = "", command: str = "pytest -q", after: Tree | None = None
) -> ev.Event:
    return ev.CheckEnded(
        check=0, command=command, tree=tree, tree_after=after or tree, exit_code=code, output=output, failure=""
    )


def attempt(number: int, tree: Tree, said: str = "", **more: object) -> list[ev.Event]:
    started = ev.AttemptStarted(node="implement", attempt=number, **more)  # type: ignore[arg-type]
    return [started, ev.AttemptEnded(node="implement", attempt=number, tree=tree, message=said)]


def check(tree: Tree, *, code: int, output: str = "", command: str = "pytest -q") -> list[ev.Event]:
    started = ev.CheckStarted(check=0, command=command, tree=tree)
    return [started, ended(tree, code=code, output=output, command=command)]


def walk(*parts: list[ev.Event]) -> StepState:
    opening: list[ev.Event] = [
        ev.StepClaimed(driver=DRIVER, token=Token(1)),
        ev.WorkspaceAssigned(path="w", base=BASE),
        ev.WorkspaceReady(tree=READY),
    ]
    return fold_step(StepState(), [*opening, *(event for part in parts for event in part)])


WRONG = "tests/test_a.py:12: AssertionError: expected 4, got 5"


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("pytest -q", "pytest"),
        ("cd api && uv run --frozen pytest", "pytest"),
        ("CI=1 python3.11 -m unittest -v", "unittest"),
        ("npx vitest run", "vitest"),
        ("timeout 60 make test", "make"),
        ("npm test", "npm"),
        ("poetry run mypy src", "mypy"),
        ("./scripts/check.sh", "check.sh"),
        ("", ""),
    ],
)
def test_the_program_of_a_check_is_found_behind_what_runs_it(command: str, program: str) -> None:
    assert find_program(command) == program


def test_a_signature_has_no_numbers_paths_or_hashes() -> None:
    one = ev.CheckEnded(
        check=0,
        command="pytest",
        tree=TREE,
        tree_after=TREE,
        exit_code=1,
        output="src/a.py:3: error at 0xdeadbeef, 12 left",
    )
    other = ev.CheckEnded(
        check=0,
        command="uv run pytest -x",
        tree=TREE,
        tree_after=TREE,
        exit_code=1,
        output="lib/deep/b.py:77: error at 0x1234abcd, 5 left",
    )

    assert sign(one) == sign(other)
    assert sign(one).startswith("pytest | fails | PATH:#: error at #")


@pytest.mark.parametrize(
    ("message", "report", "remedy"),
    [
        (
            "Done.\n\nFix: Convert the total to cents before rounding.",
            {},
            "Convert the total to cents before rounding.",
        ),
        ("whatever", {"fix": "Use the module's own clock"}, "Use the module's own clock"),
        ("# Result\n\nI added the missing import.\n\nMore.", {}, "I added the missing import."),
        ("**Fix:** `cents` takes the place of `total`", {}, "`cents` takes the place of `total`"),
        ("done", {}, ""),
        ("", {}, ""),
    ],
)
def test_the_remedy_is_what_the_agent_says_in_one_line(message: str, report: dict[str, str], remedy: str) -> None:
    assert read_remedy(message, report) == remedy


def test_a_fix_whose_check_passes_afterwards_is_a_success() -> None:
    state = walk(
        attempt(1, TREE),
        check(TREE, code=1, output=WRONG),
        attempt(2, TREE_2, "Fix: Add the tax before the discount."),
        check(TREE_2, code=0),
    )

    (fix,) = state.settle_fix()
    assert (fix.success, fix.remedy) == (True, "Add the tax before the discount.")
    assert fix.signature == "pytest | fails | PATH:#: AssertionError: expected #, got #"


def test_a_fix_after_which_the_check_still_fails_is_a_failure_and_the_next_one_counts_for_itself() -> None:
    third = Tree("v" * 40)
    state = walk(
        attempt(1, TREE),
        check(TREE, code=1, output=WRONG),
        attempt(2, TREE_2, "Fix: Round the total down first."),
        check(TREE_2, code=1, output=WRONG),
        attempt(3, third, "Fix: Add the tax before the discount."),
        check(third, code=0),
    )

    told = [(fix.success, fix.remedy) for fix in (*state.learned, *state.settle_fix())]
    assert told == [(False, "Round the total down first."), (True, "Add the tax before the discount.")]


def test_an_attempt_that_is_not_a_fix_teaches_nothing() -> None:
    state = walk(attempt(1, TREE, "Fix: nothing was wrong here"), check(TREE, code=0))

    assert state.settle_fix() == ()


def test_a_held_out_check_leaves_no_trace() -> None:
    name = "held-out check 1"
    state = walk(
        attempt(1, TREE),
        check(TREE, code=1, output="secret", command=name),
        attempt(2, TREE_2, "Fix: Add the tax before the discount."),
        check(TREE_2, code=0, command=name),
    )

    assert state.settle_fix() == ()


def test_the_lesson_that_an_agent_was_given_is_named_with_what_came_of_it() -> None:
    failing = ended(TREE, code=1, output=WRONG)
    assert isinstance(failing, ev.CheckEnded)
    state = walk(
        attempt(1, TREE),
        check(TREE, code=1, output=WRONG),
        attempt(2, TREE_2, "Fix: Add the tax before the discount.", lessons={sign(failing): "tax"}),
        check(TREE_2, code=0),
    )

    assert [fix.lesson for fix in state.settle_fix()] == ["tax"]


def test_only_lessons_about_this_failure_are_told_the_best_first() -> None:
    failing = ended(TREE, code=1, output=WRONG)
    assert isinstance(failing, ev.CheckEnded)
    same = sign(failing)
    lessons = [
        Lesson(name="a", signature=same, remedy="one way to do it", helped=1),
        Lesson(name="b", signature=same, remedy="a better way to do it", helped=4),
        Lesson(name="c", signature="make | fails | other", remedy="something else"),
    ]

    found = match(lessons, [failing])

    assert [lesson.name for lesson in found.values()] == ["b"]
    assert "> a better way to do it" in tell_lessons([*found.values()])
    assert "something else" not in tell_lessons([*found.values()])


def test_evidence_is_counted_by_failure_and_remedy() -> None:
    def fix(remedy: str, *, success: bool = True, signature: str = "s | fails | x") -> Fix:
        return Fix(check="s", failure="", signature=signature, remedy=remedy, success=success)

    found = weigh(
        [
            fix("pin the old version of it"),
            fix("pin the old version"),
            fix("write a test instead", success=False),
            fix("pin the old version", signature="t | fails | y"),
        ]
    )

    assert [(one.signature, one.successes, one.failures) for one in found] == [
        ("s | fails | x", 2, 0),
        ("s | fails | x", 0, 1),
        ("t | fails | y", 1, 0),
    ]
    assert name_lesson(found[0], ["s-pin-the-old-version"]) == "s-pin-the-old-version-2"
