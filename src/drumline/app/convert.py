"""Turns a plan of any format into the native one, and begins new ones from a template."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Plan, Reading, Status, Step
from drumline.errors import InvalidInput
from drumline.planfiles.native import Page, render_plan
from drumline.ports.planfiles import PlanFiles


def convert(planfiles: PlanFiles, reading: Reading, *, date: str) -> list[Page]:
    """The plan's files in the native format. Steps of other repositories become skipped ones that say so."""
    steps = reading.plan.steps
    texts = [_own_words(planfiles.text(step)) for step in steps]
    marks = [_marks(step, reading.marks.get(step.id, Marks())) for step in steps]
    return render_plan(reading.plan, texts, marks, date=date)


def template(name: str, *, date: str) -> list[Page]:
    """A plan of three steps to begin with; it validates as it is."""
    plan = Plan(name=name, path=name, title=name.replace("-", " ").capitalize(), steps=tuple(_template_steps()))
    texts = [
        "Say what this step delivers, which files it touches and how one sees that it works.\n\n"
        "A step is done when every command under Automated Verification exits with 0."
        for _ in plan.steps
    ]
    return render_plan(plan, texts, [Marks() for _ in plan.steps], date=date)


def write_pages(folder: Path, pages: Sequence[Page]) -> None:
    """Write a plan into a new or empty folder; nothing is ever overwritten."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        message = f"{str(folder)!r} exists and is not an empty folder"
        raise InvalidInput(message, hint="name a folder that does not exist yet")
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        with (folder / page.name).open("x", encoding="utf-8", newline="") as out:
            out.write(page.text)


def _marks(step: Step, marks: Marks) -> Marks:
    if not step.elsewhere:
        return marks
    return Marks(status=Status.SKIPPED, reason=f"to be done in the repository {step.elsewhere}")


def _template_steps() -> list[Step]:
    checks = (Check(command="true"),)
    first = StepId("step-1")
    return [
        Step(id=first, title="First thing", checks=checks),
        Step(id=StepId("step-2"), title="Second thing", needs=(first,), checks=checks),
        Step(id=StepId("step-3"), title="Third thing", needs=(first,), checks=checks, manual=("Look at it",)),
    ]


def _own_words(text: str) -> str:
    """A step's text without the frontmatter it may begin with: those fields are written anew."""
    lines = text.split("\n")
    if lines[0].strip() != "---":
        return text
    closing = next((n for n, line in enumerate(lines[1:], start=1) if line.strip() == "---"), 0)
    return "\n".join(lines[closing + 1 :]).strip("\n")
