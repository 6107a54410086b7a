"""The first line of a step's commit, from a template that people may set."""

from __future__ import annotations

from drumline.core.plan import Plan, Step

PLAIN = "[{step}] {title}"
TICKETED = "#{ticket} [{step}] {title}"
WITHOUT_STEP = "{title}"
PLACES = ("ticket", "step", "title", "plan")


def write_subject(template: str, plan: Plan, step: Step) -> str:
    """The subject on one line; without a template, one that names the step, and the ticket where there is one."""
    text = template or (TICKETED if plan.ticket else PLAIN)
    values = {"ticket": plan.ticket, "step": step.id, "title": step.title, "plan": plan.name}
    parts: list[str] = []
    rest = text
    # Each place is filled once, from the left: braces in a title are text.
    while rest:
        before, brace, after = rest.partition("{")
        name, closing, behind = after.partition("}")
        parts.append(before)
        if brace and closing and name in values:
            parts.append(values[name])
            rest = behind
        else:
            parts.append(brace)
            rest = after
    return " ".join("".join(parts).split())
