"""What validation finds in a plan, without any files."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest

from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Plan, Severity, Status, Step
from drumline.core.validation import drop_settled, legal_id, normal_path, validate
from drumline.record import replace


def step(
    step_id: str,
    *needs: str,
    tier: str = "standard",
    estimate: float = 1.0,
    files: tuple[str, ...] = (),
    checks: tuple[Check, ...] = (Check(command="true"),),
) -> Step:
    return Step(
        id=StepId(step_id),
        title=step_id,
        needs=tuple(StepId(n) for n in needs),
        files=files,
        checks=checks,
        tier=tier,
        estimate=estimate,
        path=f"plan/{step_id}.md",
        line=2,
    )


def plan(*steps: Step) -> Plan:
    return Plan(name="plan", path="plan", steps=steps)


def codes(*steps: Step) -> list[str]:
    return [problem.code for problem in validate(plan(*steps))]


def test_a_sound_plan_has_no_problems() -> None:
    assert codes(step("a"), step("b", "a"), step("c", "b")) == []


def test_a_plan_without_steps_is_a_problem() -> None:
    assert codes() == ["no_steps"]


def test_a_cycle_is_named_from_need_to_step() -> None:
    found = validate(plan(step("root"), step("a", "c"), step("b", "a"), step("c", "b")))

    assert [p.code for p in found] == ["cycle"]
    circle = found[0].message.split(": ")[1].split(" → ")
    assert circle[0] == circle[-1]
    edges = {("a", "b"), ("b", "c"), ("c", "a")}
    assert set(itertools.pairwise(circle)) == edges


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([step("a"), step("b", "x")], ["unknown_need"]),
        ([step("a"), step("b", "b")], ["self_need"]),
        ([step("a"), step("a")], ["duplicate_id"]),
        ([step("a", "b"), step("b", "a")], ["cycle", "no_root_step"]),
        ([step("a"), step("b", "a", "a")], ["redundant_need"]),
        ([step("a"), step("b", "a"), step("c", "a", "b")], ["redundant_need"]),
        ([step("a"), step("b", "a"), step("c", "b"), step("d", "a", "c")], ["redundant_need"]),
        ([step("a"), step("b"), step("c", "a", "b")], []),
        ([step("a", tier="huge")], ["bad_tier"]),
        ([step("a", estimate=0.0)], ["bad_estimate"]),
        ([step("a", estimate=float("inf"))], ["bad_estimate"]),
        ([step("a", files=("src/a.py", "../b", "/etc/passwd"))], ["path_escape", "path_escape"]),
        ([step("a", checks=())], ["no_checks"]),
        ([replace(step("a", checks=()), compiles=True)], []),
        ([step("../a")], ["bad_id"]),
    ],
)
def test_each_fault_has_its_code(steps: list[Step], expected: list[str]) -> None:
    assert codes(*steps) == expected


def test_doubtful_things_warn_and_wrong_things_are_errors() -> None:
    found = validate(plan(step("a", checks=()), step("b", "a"), step("c", "a", "b"), step("d", "x")))

    severities = {problem.code: problem.severity for problem in found}

    assert severities == {
        "no_checks": Severity.WARNING,
        "redundant_need": Severity.WARNING,
        "unknown_need": Severity.ERROR,
    }


@pytest.mark.parametrize(
    ("status", "left"),
    [
        (Status.DONE, ["b"]),
        (Status.SKIPPED, ["b"]),
        (Status.READY, ["a", "b"]),
        (Status.CLAIMED, ["a", "b"]),
        (Status.BLOCKED, ["a", "b"]),
        (Status.FAILED, ["a", "b"]),
    ],
)
def test_a_missing_check_matters_until_the_step_is_over(status: Status, left: list[str]) -> None:
    # A document of one line has all steps at one place.
    whole = plan(*(replace(step(name, checks=()), path="plan.json") for name in ("a", "b")), step("c", tier="huge"))
    marks = {StepId("a"): Marks(status=status), StepId("c"): Marks(status=status)}

    found = drop_settled(validate(whole), whole, marks)

    assert [problem.code for problem in found] == ["no_checks"] * len(left) + ["bad_tier"]
    assert [name for name in ("a", "b") if any(f"step {name!r}" in problem.message for problem in found)] == left


def test_a_problem_stands_where_the_locator_says() -> None:
    found = validate(plan(step("a"), step("b", "x")), locate=lambda _step, name: {"needs": 7}.get(name, 1))

    assert [problem.where for problem in found] == ["plan/b.md:7"]


def test_needing_a_step_whose_file_could_not_be_read_is_not_a_second_problem() -> None:
    assert validate(plan(step("b", "a"), step("c")), unread={StepId("a")}) == []


@pytest.mark.parametrize("text", ["a", "step-1", "3h2", "A.b_c-d", "x" * 64])
def test_ids_that_git_and_files_can_carry_are_legal(text: str) -> None:
    assert legal_id(text)


@pytest.mark.parametrize(
    "text", ["", "-a", ".a", "a..b", "a.", "a.lock", "a/b", "../a", "a b", "a\n", "é", "x" * 65, "a~1", "a:b", "@"]
)
def test_ids_that_could_escape_or_break_a_ref_are_not(text: str) -> None:
    assert not legal_id(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("./a", "a"),
        ("a//b/./c", "a/b/c"),
        ("src/", "src/"),
        ("**/*.py", "**/*.py"),
        ("..a/b", "..a/b"),
        ("/a", None),
        ("a/../../b", None),
        ("..", None),
        ("..\\b", None),
        ("C:\\b", None),
        ("~/b", None),
        (".git/hooks/x", None),
        (".", None),
        ("", None),
        ("a\nb", None),
    ],
)
def test_paths_are_normalised_or_refused(text: str, expected: str | None) -> None:
    assert normal_path(text) == expected


def chain(length: int) -> list[Step]:
    return [step("s0"), *(step(f"s{n}", f"s{n - 1}") for n in range(1, length))]


def wide(length: int) -> list[Step]:
    return [*(step(f"s{n}") for n in range(20)), *(step(f"s{n}", *_some(n)) for n in range(20, length))]


def _some(number: int) -> list[str]:
    return [f"s{number // 20 * 20 - offset}" for offset in range(1, 6)]


@pytest.mark.long
@pytest.mark.parametrize("shape", [chain, wide])
def test_ten_times_the_steps_cost_about_ten_times_the_time(shape: Callable[[int], list[Step]]) -> None:
    small, large = plan(*shape(1_000)), plan(*shape(10_000))
    validate(small)

    ratio = min(_cost(large) for _ in range(3)) / min(_cost(small) for _ in range(5))

    assert ratio < 40


def _cost(found: Plan) -> float:
    start = time.process_time()
    validate(found)
    return time.process_time() - start
