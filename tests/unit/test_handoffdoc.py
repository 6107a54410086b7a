"""The handoff as a document: it is kept however much there is to say."""

from __future__ import annotations

from tests.unit.builders import TREE, Scene, finish, step_of

from drumline.core import events as ev
from drumline.core.handoffdoc import MOST_SECTION, find_document_faults, write_handoff
from drumline.core.handoffwords import MOST_WORDS, HandoffWords
from drumline.core.handoffwriting import FIELDS
from drumline.core.ids import StepId
from drumline.core.orders import orders_for
from drumline.core.stepstate import CheckResult, StepState


def write(finished: ev.StepFinished, state: StepState) -> str:
    """The handoff of a step that ends so."""
    run = Scene(steps=[step_of("a")], events=[]).run()
    return write_handoff(run, orders_for(run, run.plan.steps[0]), state, finished)


def check(number: int) -> CheckResult:
    """A check that says much on each line."""
    said = "\n".join("ü" * 400 for _ in range(9))
    ended = ev.CheckEnded(check=number, command=f"c{number}", tree=TREE, tree_after=TREE, exit_code=0, output=said)
    return CheckResult(ended=ended)


def test_a_handoff_is_never_too_long_to_be_kept() -> None:
    files = tuple(f"src/a/folder/with/a/long/name/file-{number}.py" for number in range(5_000))
    finished = finish("a", files=files)
    words = HandoffWords(sections=dict.fromkeys(FIELDS.values(), "ü" * MOST_WORDS))
    state = StepState(verdicts={n: check(n) for n in range(60)}, handed=ev.HandoffWritten(words=words))

    text = write(finished, state)

    completed = text.partition("## Completed\n\n")[2].partition("\n\n> ")[0]
    listed = completed.count("\n- ") + 1
    assert find_document_faults(text, finished) == []
    assert len(completed) < MOST_SECTION + 50
    assert completed.endswith(f"… and {5_000 - listed} more lines")
    assert "- `c0`: exit code 0" in text


def test_what_is_short_is_there_as_a_whole() -> None:
    text = write(finish("a", files=("src/a.py",)), StepState())

    assert "## Completed\n\n- `src/a.py`\n\n## Not completed\n\nNone\n" in text
    assert "more line" not in text


def test_the_summary_has_what_the_agent_says_and_not_the_form_of_its_report() -> None:
    message = "It is there.\n\n# Task Report\n\n- Status: success\n"
    ended = ev.AttemptEnded(node="implement", visit=1, attempt=1, message=message, report={"status": "success"})

    text = write(finish("a"), StepState(last=ended))

    assert "> It is there.\n\n## Completed" in text
    assert "Task Report" not in text


def test_a_step_that_was_skipped_says_so() -> None:
    assert "## Summary\n\nSkipped: no time.\n" in write(finish("a", "skipped", reason="no time"), StepState())


def test_a_corrective_step_that_was_taken_out_of_the_plan_is_named_without_a_title() -> None:
    healed = finish("a", landed_by=StepId("ah"))
    gone = ev.PlanChanged(removed=(StepId("ah"),), order=(StepId("a"),))
    run = Scene(steps=[step_of("a"), step_of("ah")], events=[finish("ah", files=("b.txt",)), healed, gone]).run()

    text = write_handoff(run, orders_for(run, run.plan.steps[0]), StepState(), healed)

    assert "ah did it in another way\n" in text
    assert "## Completed\n\n- `b.txt`\n" in text
