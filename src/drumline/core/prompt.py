"""The prompt an agent gets, built from data. What the engine enforces is not asked for here; it is only announced."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.blocked import OFFER
from drumline.core.events import CheckEnded
from drumline.core.plan import Check, Step
from drumline.record import Record

MOST_OUTPUT = 6_000
"""Characters of a failing check's output that go back to the agent."""


class Brief(Record):
    """Everything a prompt is made of.

    `answers` are questions of agents with what a person said, `cut_short` how the attempt before ended if something
    else than its work ended it, `remarks` what people said when they let the run go on. Without `offers`
    whoever uses the text offers to ask a person.
    """

    step: Step
    text: str
    plan_title: str
    checks: Sequence[Check]
    attempt: int
    context: str = ""
    feedback: Sequence[CheckEnded] = ()
    complaint: str = ""
    comment: str = ""
    role: str = ""
    fresh: bool = False
    answers: Sequence[tuple[str, str]] = ()
    cut_short: str = ""
    remarks: Sequence[str] = ()
    offers: bool = True


def write_prompt(brief: Brief) -> str:
    """The whole prompt: task, bounds, how it will be judged, and what went wrong before."""
    return "\n\n".join(part for part in (write_task(brief), write_history(brief)) if part) + "\n"


def write_task(brief: Brief) -> str:
    """What is to be done, within which bounds, and how it will be judged."""
    parts = [
        f"# Task: {brief.step.title} ({brief.step.id})",
        f"You are working on one step of the plan “{brief.plan_title}”. The current directory is a git worktree made "
        "for this step alone. Do this step and nothing else. Leave your changes in the work tree; they are committed "
        "for you. Files of the plan and `.drumline/` are managed for you: changes to them are dropped.",
        f"## The step\n\n{brief.text.strip()}",
        _section("Your role", brief.role),
        _bounds(brief.step),
        _judgement(brief.checks),
        _section("If a person has to decide", OFFER if brief.offers else ""),
        _section("Context from the person who started the run", brief.context),
        _section("What a person said about the steps before", "\n\n".join(brief.remarks)),
    ]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text.strip()}" if text.strip() else ""


def _bounds(step: Step) -> str:
    if not step.files:
        return ""
    return "## Files that belong to this step\n\n" + "\n".join(f"- `{path}`" for path in step.files)


def _judgement(checks: Sequence[Check]) -> str:
    if not checks:
        return ""
    listed = "\n".join(f"- `{check.command}`" for check in checks)
    return f"## How it will be judged\n\nThese commands are run after you finish; each must exit with 0.\n\n{listed}"


def write_history(brief: Brief) -> str:
    """What people said to the attempts before, and what went wrong with them; empty at first."""
    parts: list[str] = []
    if brief.comment:
        parts.append(_section("A person looked at your work and asks for this change", brief.comment))
    for asked, answer in brief.answers:
        parts.append(_section("A person answered a question", f"{asked.strip()}\n\nThe answer: {answer.strip()}"))
    if brief.complaint:
        parts.append(_section("Your last attempt failed", brief.complaint))
    if brief.cut_short and not brief.fresh:
        left = "What it had changed is still in the work tree: look at it, and go on from there."
        parts.append(_section("An attempt before this one was cut short", f"{brief.cut_short.strip()}\n\n{left}"))
    rest = "You begin again in a fresh work tree." if brief.fresh else "Your changes are still in the work tree."
    return "\n\n".join([*parts, *([write_feedback(brief.feedback, rest)] if brief.feedback else [])])


def write_feedback(failing: Sequence[CheckEnded], rest: str = "Your changes are still in the work tree.") -> str:
    """What an agent is told about checks that fail; empty if none does."""
    parts: list[str] = []
    for failed in failing:
        output = failed.output[-MOST_OUTPUT:].strip() or "(no output)"
        title = f"An earlier attempt failed this check: `{failed.command}` (exit code {failed.exit_code})"
        changed = f"The check itself changed {', '.join(failed.altered)}; that was undone. " if failed.altered else ""
        parts.append(f"## {title}\n\n{_fence(output)}\n\n{changed}{rest} Fix the cause.")
    return "\n\n".join(parts)


def _fence(text: str) -> str:
    """The text in a code fence longer than any it contains."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}\n{text}\n{ticks}"
