"""Writes whole plans in the native format: for conversions, and as a template to begin with.

Texts that come from elsewhere are quoted, so that none of their words becomes a heading, a check or a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drumline.core.kinds import FIELDS
from drumline.core.plan import NO_ESTIMATE, Check, Marks, Plan, Status, Step
from drumline.core.vocabulary import CheckKind
from drumline.planfiles.correction import code_span, escape_heading, quote, yaml_list, yaml_text
from drumline.record import Record
from drumline.views.graph import mermaid


class Page(Record):
    """One file of a plan: its name in the plan's folder and its text."""

    name: str
    text: str


def file_name(step: Step) -> str:
    """What the step's file is called."""
    return f"{step.id}.md" if step.id.startswith("step-") else f"step-{step.id}.md"


def render_plan(plan: Plan, texts: Sequence[str], marks: Sequence[Marks], *, date: str) -> list[Page]:
    """All files of the plan; `texts` and `marks` go with the steps, in their order."""
    pages = [Page(name="root.md", text=_root(plan, marks, date=date))]
    for step, text, mark in zip(plan.steps, texts, marks, strict=True):
        pages.append(Page(name=file_name(step), text=render_step(step, text, mark)))
    return pages


def render_step(step: Step, text: str, marks: Marks) -> str:
    """A step's file; `text` is what its agent is told beyond the title."""
    verified = [check for check in step.checks if check.kind is CheckKind.OWN]
    lines = [
        "---",
        *_head(step, marks),
        "---",
        "",
        f"# {step.id}: {escape_heading(step.title)}",
        "",
        "## Overview",
        "",
        quote(text),
        "",
        "### Success Criteria:",
        "",
        "#### Automated Verification:",
        "",
        *(f"- [ ] {code_span(check.command)}" for check in verified if "\n" not in check.command),
        *(f"- [ ] {escape_heading(item)}" for item in step.not_run),
        "",
        "#### Automated QA:",
        "",
        *(f"- [ ] {escape_heading(item)}" for item in step.qa),
        "#### Manual Verification:",
        "",
        *(f"- [ ] {escape_heading(item)}" for item in step.manual),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(step: Step, marks: Marks) -> Iterable[str]:
    yield f"id: {yaml_text(step.id)}"
    yield f"name: {yaml_text(escape_heading(step.title))}"
    yield f"depends_on: {yaml_list(step.needs)}"
    if step.files:
        yield f"files: {yaml_list(step.files)}"
    yield from _tell_kinds(step.checks)
    own = (check for check in step.checks if check.kind is CheckKind.OWN)
    hidden = tuple(check.command for check in own if "\n" in check.command)
    if hidden:
        yield f"checks: {yaml_list(hidden)}"
    red_first = tuple(check.command for check in step.checks if check.red_first)
    if red_first:
        yield f"red_first: {yaml_list(red_first)}"
    tier = "" if step.tier == "standard" and not step.role else step.tier
    named = {"tier": tier, "agent": step.agent, "review": step.review, "role": step.role, "flow": step.flow}
    named["require"] = step.require
    for key, value in named.items():
        if value:
            yield f"{key}: {yaml_text(value)}"
    if step.alone:
        yield "alone: true"
    if step.tests:
        yield "tests: true"
    if step.ordered and step.needs:
        yield "ordered: true"
    if step.estimate != NO_ESTIMATE:
        yield f"estimate: {step.estimate:g}"
    yield f"status: {marks.status.value}"
    for key, value in (("assignee", marks.assignee), ("claimed_at", marks.claimed_at), ("reason", marks.reason)):
        if value:
            yield f"{key}: {yaml_text(value)}"


def _root(plan: Plan, marks: Sequence[Marks], *, date: str) -> str:
    done = all(mark.status is Status.DONE for mark in marks)
    rows = [
        f"| {step.id} | {_cell(step.title)} | {', '.join(step.needs) or '-'} | {mark.status.value} | "
        f"[{file_name(step)}](./{file_name(step)}) |"
        for step, mark in zip(plan.steps, marks, strict=True)
    ]
    return "\n".join(
        [
            "---",
            f"date: {date}",
            "plan_type: dag",
            f"status: {'completed' if done else 'in-progress'}",
            *([f"autonomy: {plan.autonomy}"] if plan.autonomy else []),
            *([f"flow: {yaml_text(plan.flow)}"] if plan.flow else []),
            *([f"require: {plan.require}"] if plan.require else []),
            *_tell_kinds(plan.kinds),
            "---",
            "",
            f"# {escape_heading(plan.title or plan.name)}",
            "",
            "## DAG",
            "",
            "```mermaid",
            mermaid(plan, {}).rstrip("\n"),
            "```",
            "",
            "## Steps",
            "",
            "| ID | Name | Depends on | Status | File |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _tell_kinds(checks: Iterable[Check]) -> Iterable[str]:
    """The fields that name commands for kinds of checks."""
    return (f"{FIELDS[check.kind]}: {yaml_text(check.command)}" for check in checks if check.kind in FIELDS)


def _cell(text: str) -> str:
    return escape_heading(text).replace("|", "\\|")
