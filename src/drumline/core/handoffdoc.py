"""The handoff of a step as a document, made of what the journal knows: an agent wrote for it, or its report stands in.

The rule: every section is there, with "None" where nothing is to be said. Evidence comes from checks that the engine
ran; the words of an agent are quoted as such.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from drumline.core.acceptance import list_red, tell_red
from drumline.core.documents import find_faults
from drumline.core.events import CheckEnded, StepFinished
from drumline.core.flow.events import NodeEnded
from drumline.core.handoffwords import MOST_WORDS, HandoffWords
from drumline.core.orders import Orders
from drumline.core.plaintext import count_noun, strip_controls
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.sweeping import tell_cases, tell_updates
from drumline.core.taskreport import DOWNSTREAM, read_words, says_nothing
from drumline.core.vocabulary import Settlement, StepEnd

SECTIONS = (
    "Summary",
    "Completed",
    "Not completed",
    "Deviations",
    "Downstream plan updates",
    "Edge cases discovered",
    "Evidence",
    "Notes for next step",
)
NONE = "None"
STALENESS = "staleness_report"
"""The value in which a flow keeps what of a step does not fit the code."""
MOST_QUOTED = 2_000
"""Characters of an agent's words that are quoted."""
MOST_LINES = 5
"""Lines of a check's output that are shown."""
COMPLETE, PARTIAL, BLOCKED = "complete", "partial", "blocked"
MOST_SECTION = 4_000
"""Characters that the engine writes into one section, so that a handoff is never too long to be kept."""
MOST_BYTES = 262_144
"""Bytes of a handoff."""
FILED = ("phased",)
"""Formats in which a handoff that says complete is what makes a step satisfied, for other tools, too."""


def find_staleness(told: Iterable[object]) -> str:
    """What did not fit the code any more before the work began, as the last who compared them said it."""
    writes = [one.writes for one in told if isinstance(one, NodeEnded) and STALENESS in one.writes]
    said = writes[-1][STALENESS] if writes else ""
    return said.strip() if isinstance(said, str) else ""


def write_handoff(
    run: RunState, orders: Orders, state: StepState, finished: StepFinished, *, staleness: str = ""
) -> str:
    """The whole document: frontmatter, and the eight sections.

    Of a step that its corrective step landed for, `state` is that of the corrective step: what is there is its work.
    """
    step, landed = orders.step, run.finished.get(finished.landed_by, finished)
    bodies = (
        _summarise(state, finished, landed, red=tell_red(run, step)),
        _list(f"`{path}`" for path in landed.files) if finished.state is StepEnd.DONE else "",
        _list(_list_undone(run, orders, finished, landed)),
        _list(_list_deviations(run, orders, state, finished, staleness)),
        _list(tell_updates(landed.swept)) if landed.swept else "",
        _list(_list_edges(landed)),
        "\n\n".join(_show(state.verdicts[number].ended) for number in sorted(state.verdicts)),
        _quote(_field(state, DOWNSTREAM)),
    )
    number = json.dumps(int(step.id) if step.id.isdecimal() else step.id)
    title = json.dumps(step.title, ensure_ascii=False)
    front = f"---\nstep: {number}\ntitle: {title}\nresult: {name_result(finished)}\n---\n"
    written = _find_words(state)
    parts = [
        f"## {name}\n\n{_add_words(body, written.get(name, '')) or NONE}"
        for name, body in zip(SECTIONS, bodies, strict=True)
    ]
    return "\n\n".join([front.rstrip(), *parts]) + "\n"


def find_document_faults(text: str, finished: StepFinished) -> list[str]:
    """What is wrong with a handoff: its frontmatter, a section, or its size."""
    wanted = f"\nresult: {name_result(finished)}\n---\n"
    head, end, _ = text.partition("\n---\n")
    sound = head.startswith("---\nstep: ") and wanted in head + end
    found = [] if sound else ["its frontmatter is not as it has to be"]
    return [*found, *find_faults(text, sections=SECTIONS, most_bytes=MOST_BYTES)]


def _find_words(state: StepState) -> Mapping[str, str]:
    """What an agent wrote for each section, if it wrote without faults; nobody writes the evidence."""
    words = state.handed.words if state.handed else HandoffWords(failure="nobody was asked")
    return words.sections if words.usable else {}


def _add_words(body: str, words: str) -> str:
    """What the engine knows, and what an agent says beside it."""
    said = "" if says_nothing(words) else _quote(words, most=MOST_WORDS)
    return "\n\n".join(part for part in (_cut_lines(body), said) if part)


def _cut_lines(body: str) -> str:
    """As many whole lines as a section has room for, and how many are left out."""
    if len(body) <= MOST_SECTION:
        return body
    kept = body[:MOST_SECTION].rsplit("\n", 1)[0]
    left = body.count("\n") - kept.count("\n")
    told = f"… and {count_noun(left, 'more line')}" if left else "… (cut)"
    return f"{kept}\n\n{told}"


def name_result(finished: StepFinished) -> str:
    """The word for how far a step came: partial if it left work that did not land and that nobody refused."""
    if finished.state is StepEnd.DONE:
        return COMPLETE
    return PARTIAL if finished.files and not finished.rejected else BLOCKED


def _summarise(state: StepState, finished: StepFinished, landed: StepFinished, *, red: str) -> str:
    by = f" by its corrective step {landed.step}" if landed is not finished else ""
    reason = f"Skipped: {finished.reason}" if finished.state is StepEnd.SKIPPED else finished.reason
    end = f"Landed as {landed.commit}{by}." if landed.commit else reason or finished.state.value
    level = f" It is {finished.level.value}{f', but {red}' if red else ''}." if finished.level else ""
    reported = read_words(state.last.message, state.last.report) if state.last else ""
    said = "" if _find_words(state) else _quote(reported)
    told = f"{strip_controls(end)}{level}".rstrip()
    ended = told if told.endswith((".", "!", "?")) or not told else f"{told}."
    return ended + (f" Its agent says:\n\n{said}" if said else "")


def _list_undone(run: RunState, orders: Orders, finished: StepFinished, landed: StepFinished) -> Iterable[str]:
    yield from (f"fails: `{command}`" for command in finished.failing)
    yield from (f"fails on the head of the run branch: `{command}`" for command in list_red(run, orders.step))
    yield from (f"not run: {item}" for item in orders.step.not_run)
    left = [one.finding for one in landed.findings if one.holds_up]
    yield from (f"blocker of its review: {finding.title}" for finding in left)


def _list_deviations(
    run: RunState, orders: Orders, state: StepState, finished: StepFinished, staleness: str
) -> Iterable[str]:
    if staleness:
        yield f"before the work, who compared the step with the code said: {staleness[:MOST_QUOTED]}"
    if finished.fixes:
        yield f"{count_noun(finished.fixes, 'fix', 'es')} after the first attempt"
    landed = run.finished.get(finished.landed_by, finished)
    if landed is not finished:
        helper = run.find_step(landed.step)  # a person may have taken it out of the plan since
        title = f": {helper.title}" if helper is not None else ""
        yield f"its own work failed its checks and is not there; {landed.step} did it in another way{title}"
    fixed = [one.finding.title for one in landed.findings if one.settled is Settlement.FIXED]
    yield from (f"put right after its review: {title}" for title in fixed)
    for gate in run.gates.values():
        if gate.opened.step == orders.step.id and gate.given is not None:
            comment = f": {gate.given.comment}" if gate.given.comment else ""
            yield f"gate {gate.opened.gate}: {gate.given.choice}{comment}"
    accepted = [one for one in landed.findings if one.settled is Settlement.ACCEPTED]
    yield from (f"accepted as it is: {one.finding.title}" for one in accepted)
    if said := _field(state, "scope deviations"):
        yield f"its agent says: {' '.join(said.split())}"
    if state.handed is not None and not state.handed.words.usable:
        words = state.handed.words
        yield f"this handoff is made from the report of its agent: {words.failure or '; '.join(words.faults)}"


def _list_edges(finished: StepFinished) -> Iterable[str]:
    yield from tell_cases(finished.swept) if finished.swept else ()
    deferred = [one.finding for one in finished.findings if one.settled is Settlement.DEFERRED]
    yield from (f"deferred: {one.title}" + (f" ({one.place})" if one.place else "") for one in deferred)


def _show(ended: CheckEnded) -> str:
    """A command, its exit code, the tree that it judged, and the last lines that it said."""
    code = "not run" if ended.exit_code is None else f"exit code {ended.exit_code}"
    said = [line for line in strip_controls(ended.output).splitlines() if line.strip()][-MOST_LINES:]
    told = f"- `{strip_controls(ended.command)}`: {code}, on tree {ended.tree[:12]}"
    return "\n".join([told, *(f"  > {line}" for line in said)])


def _field(state: StepState, name: str) -> str:
    return state.last.report.get(name, "") if state.last else ""


def _quote(text: str, *, most: int = MOST_QUOTED) -> str:
    """An agent's words: nothing of them can be a heading of the document."""
    kept = strip_controls(text).strip()
    kept = kept if len(kept) <= most else f"{kept[:most].rstrip()} … (cut)"
    return "\n".join(f"> {line}".rstrip() for line in kept.splitlines())


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {' '.join(strip_controls(item).split())}" for item in items)
