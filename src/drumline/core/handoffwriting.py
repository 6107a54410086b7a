"""The handoff that an agent writes: when one is asked for it, what its answer means, and what is wrong with it. Pure.

The rule: no field is for the evidence, or for anything else that the engine knows. Words with faults are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.events import Event, HandoffWritten, StepRestarted
from drumline.core.flow.model import Json
from drumline.core.handoffwords import MOST_WORDS, HandoffWords
from drumline.core.plaintext import count_noun, strip_controls
from drumline.core.plan import RUN_WALKS, Step
from drumline.core.proselines import read_lines
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.taskreport import says_nothing
from drumline.core.vocabulary import FULL

FIELDS: Mapping[str, str] = {
    "summary": "Summary",
    "completed": "Completed",
    "not_completed": "Not completed",
    "deviations": "Deviations",
    "downstream_updates": "Downstream plan updates",
    "edge_cases": "Edge cases discovered",
    "notes": "Notes for next step",
}
"""The fields of an answer, and the sections that they are for; the evidence is the engine's."""
FOR_OTHERS = ("Downstream plan updates", "Notes for next step")
"""The sections that whoever works on the next steps is told."""
NEVER_EMPTY = ("Summary", "Completed")
"""What cannot be nothing about work that is about to land."""


def is_due(run: RunState, step: Step, state: StepState) -> bool:
    """Whether an agent is to write the handoff of the work as it is now: with rigor full."""
    if step.id in RUN_WALKS or run.begun.rigor != FULL:
        return False
    return state.handed is None or state.handed.tree != state.tree


def read_words(answer: Json, *, by: str, tries: int) -> HandoffWords:
    """What an answer says, with all that is wrong with it."""
    said = answer if isinstance(answer, Mapping) else {}
    texts = {section: _read(said.get(field)) for field, section in FIELDS.items()}
    faults = [fault for section, text in texts.items() for fault in _find_faults(section, text)]
    kept = {section: text[:MOST_WORDS] for section, text in texts.items()}
    return HandoffWords(by=by, sections=kept, faults=tuple(faults), tries=tries)


def describe_words(words: HandoffWords) -> Mapping[str, Json]:
    """The fields of `handoff` for the conditions and texts of a flow."""
    listed = "\n".join(f"- {fault}" for fault in words.faults)
    told = f"## What was wrong with the answer before\n\n{listed}" if listed else ""
    return {"faults": len(words.faults), "tries": words.tries, "listed": listed, "told": told}


def find_notes(told: Sequence[Event]) -> str:
    """What was written for the next steps about the work that was done last; empty without such words."""
    last: HandoffWords | None = None
    for event in told:
        if isinstance(event, StepRestarted):
            last = None
        elif isinstance(event, HandoffWritten):
            last = event.words
    if last is None or not last.usable:
        return ""
    parts = (last.sections.get(section, "") for section in FOR_OTHERS)
    return "\n\n".join(part for part in parts if not says_nothing(part))


def _find_faults(section: str, text: str) -> list[str]:
    found = []
    if section in NEVER_EMPTY and says_nothing(text):
        told = f"says {text!r}" if text else "is empty"
        found.append(f"{section!r} {told}, and there is work that is about to land")
    elif not text:
        found.append(f"{section!r} is empty; write None if there is nothing to say")
    if len(text) > MOST_WORDS:
        found.append(f"{section!r} has {count_noun(len(text), 'character')}; {MOST_WORDS:,} are allowed")
    headings = [line.text.strip() for line in read_lines(text) if line.paragraph < 0]
    found += [f"{section!r} has the heading {heading[:80]!r}; write lists and paragraphs" for heading in headings[:1]]
    return found


def _read(value: Json) -> str:
    return strip_controls(value).strip() if isinstance(value, str) else ""
