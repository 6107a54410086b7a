"""A plan drawn: as a mermaid flowchart, in DOT, or as a tree for a terminal. No title can break out of its label."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.graph import topological
from drumline.core.ids import StepId
from drumline.core.plan import Plan, Step
from drumline.core.vocabulary import StepStanding

LONGEST_LABEL = 100

COLOURS: Mapping[str, tuple[str, str]] = {
    "waiting": ("#f6f8fa", "#8c959f"),
    "ready": ("#ddf4ff", "#0969da"),
    "running": ("#fff8c5", "#bf8700"),
    "parked": ("#fbefff", "#8250df"),
    "done": ("#dafbe1", "#1a7f37"),
    "blocked": ("#ffebe9", "#cf222e"),
    "failed": ("#ffcecb", "#82071e"),
    "rejected": ("#ffcecb", "#82071e"),
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


def dot(plan: Plan, states: Mapping[StepId, str]) -> str:
    """The plan in the language of Graphviz, coloured by state."""
    lines = ["digraph plan {", '  node [shape=box, style="rounded,filled", fillcolor=white];']
    for step in plan.by_id.values():
        fill, stroke = COLOURS.get(states.get(step.id, ""), ("white", "black"))
        label = _quoted(_words(step))
        lines.append(f'  {_quoted(step.id)} [label={label}, fillcolor="{fill}", color="{stroke}"];')
    for step in plan.by_id.values():
        needs = [need for need in dict.fromkeys(step.needs) if need in plan.by_id]
        lines += [f"  {_quoted(need)} -> {_quoted(step.id)};" for need in needs]
    return "\n".join([*lines, "}", ""])


def tree(plan: Plan, states: Mapping[StepId, StepStanding]) -> list[tuple[str, StepStanding]]:
    """The plan as lines with the state of each: a step stands below the need that comes last, others are named."""
    order = {step_id: place for place, step_id in enumerate(topological(plan.steps))}
    below: dict[StepId | None, list[Step]] = {}
    for step in sorted((s for s in plan.by_id.values() if s.id in order), key=lambda s: order[s.id]):
        needs = [need for need in step.needs if need in order]
        below.setdefault(max(needs, key=lambda n: order[n], default=None), []).append(step)
    lines: list[tuple[str, StepStanding]] = []
    waiting: list[tuple[Step, str, str]] = [(step, "", "") for step in reversed(below.get(None, []))]
    while waiting:
        step, indent, branch = waiting.pop()
        lines.append((f"{indent}{branch}{_leaf(step, order)}", states.get(step.id, StepStanding.WAITING)))
        deeper = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        children = below.get(step.id, [])
        branches = ["├─ "] * (len(children) - 1) + ["└─ "]
        waiting += reversed([(child, deeper, mark) for child, mark in zip(children, branches, strict=False)])
    return lines


def _leaf(step: Step, order: Mapping[StepId, int]) -> str:
    needs = sorted((n for n in dict.fromkeys(step.needs) if n in order), key=lambda n: order[n])
    others = f" (needs {', '.join(needs[:-1])} too)" if len(needs) > 1 else ""
    return f"{_words(step)}{others}"


def _words(step: Step) -> str:
    text = step.id if step.title in ("", step.id) else f"{step.id}: {step.title}"
    flat = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return flat if len(flat) <= LONGEST_LABEL else flat[: LONGEST_LABEL - 1] + "…"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


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
