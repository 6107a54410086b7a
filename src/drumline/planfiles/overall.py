"""What a person verifies about a plan as a whole: it is asked about with the last step.

The rule: the items join those of the last step that is not a corrective one, so that they are asked about once all
others are done. Their lines are below zero if they stand in another file than the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from drumline.core.graph import depths
from drumline.core.plan import Step
from drumline.planfiles.correction import corrects
from drumline.planfiles.markdown import Body, Item
from drumline.planfiles.source import digest
from drumline.planfiles.stepfile import list_manual
from drumline.record import replace

Span = tuple[int, int, str]


def assign_overall(steps: Sequence[Step], items: Sequence[Item], *, beside: bool = False) -> tuple[Step, ...]:
    """The steps, of which the last has these items, too; `beside` if they stand in another file."""
    last = _find_last(steps) if items else None
    if last is None:
        return tuple(steps)
    found = {item.text: -item.line if beside else item.line for item in items if item.text not in last.manual}
    changed = replace(
        last,
        manual=(*last.manual, *found),
        manual_lines=(*(last.manual_lines or [0] * len(last.manual)), *found.values()),
        text_digest=digest("\0".join([last.text_digest, *found]).encode("utf-8", "replace")),
    )
    return tuple(changed if step is last else step for step in steps)


def has_others(step: Step) -> bool:
    """Whether a step has items of another file."""
    return any(line < 0 for line in step.manual_lines)


def list_ticked(step: Step, ticked: Iterable[int]) -> tuple[str, ...]:
    """The manual items of a step at the given lines; none of a step whose items have no lines."""
    lines = {line for line in ticked if line}
    return tuple(text for line, text in zip(step.manual_lines, step.manual, strict=False) if line in lines)


def tick_items(text: str, body: Body, items: Iterable[str]) -> Iterator[Span]:
    """The replacements that tick the boxes of these manual items, wherever they stand by now."""
    wanted = {*items}
    for item in list_manual(body) if wanted else ():
        box = body.boxes.get(item.line)
        if item.text in wanted and box is not None and text[box] == " ":
            yield box, box + 1, "x"


def _find_last(steps: Sequence[Step]) -> Step | None:
    """The last of the deepest steps of this repository; corrective ones, which come and go, do not count."""
    helpers = {need for step in steps for need in step.needs if corrects(need, step.id)}
    ordinary = [step for step in steps if step.id not in helpers]
    depth = depths([replace(s, needs=tuple(n for n in s.needs if n not in helpers)) for s in ordinary])
    here = [step for step in ordinary if not step.elsewhere]
    return max(reversed(here), key=lambda step: depth.get(step.id, 0), default=None)
