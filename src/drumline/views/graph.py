"""A plan drawn as a mermaid flowchart. No title can break out of its label."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.ids import StepId
from drumline.core.plan import Plan, Step

LONGEST_LABEL = 100

COLOURS: Mapping[str, tuple[str, str]] = {
    "waiting": ("#f6f8fa", "#8c959f"),
    "ready": ("#ddf4ff", "#0969da"),
    "running": ("#fff8c5", "#bf8700"),
    "parked": ("#fbefff", "#8250df"),
    "done": ("#dafbe1", "#1a7f37"),
    "blocked": ("#ffebe9", "#cf222e"),
    "failed": ("#ffcecb", "#82071e"),
    "skipped": ("#eaeef2", "#57606a"),
}
"""Fill and stroke of each step state."""


def mermaid(plan: Plan, states: Mapping[StepId, str]) -> str:
    """The plan as a flowchart from needs to the steps that need them, coloured by state."""
    names: dict[StepId, str] = {}
    for step in plan.steps:
        names.setdefault(step.id, f"s{len(names)}")
    lines = ["flowchart TD"]
    lines += [_node(plan.by_id[step_id], name, states.get(step_id, "")) for step_id, name in names.items()]
    for step_id, name in names.items():
        needs = dict.fromkeys(plan.by_id[step_id].needs)
        lines += [f"    {names[need]} --> {name}" for need in needs if need in names]
    used = {states.get(step_id, "") for step_id in names}
    for state, (fill, stroke) in COLOURS.items():
        if state in used:
            lines.append(f"    classDef {state} fill:{fill},stroke:{stroke},color:#1f2328")
    return "\n".join(lines) + "\n"


def _node(step: Step, name: str, state: str) -> str:
    words = step.id if step.title in ("", step.id) else f"{step.id}: {step.title}"
    css = f":::{state}" if state in COLOURS else ""
    return f'    {name}["{_escape(words)}"]{css}'


def _escape(text: str) -> str:
    """Letters, digits and plain punctuation stay; anything mermaid could read as syntax becomes a character code."""
    words = " ".join(text.split())
    if len(words) > LONGEST_LABEL:
        words = words[: LONGEST_LABEL - 1] + "…"
    return "".join(c if c.isalnum() or c in " _.,:/-…" else f"#{ord(c)};" for c in words)
