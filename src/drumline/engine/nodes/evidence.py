"""What a person is shown before work lands: its files, its checks, its cost, and what its agent says of it.

The rule: what the engine knows comes first; the words of an agent are quoted as such.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from drumline.core.baseline import look_up
from drumline.core.claims import count_claimed, tell_claims
from drumline.core.money import dollars
from drumline.core.plaintext import strip_controls
from drumline.core.proof import Colour
from drumline.core.spending import COST
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.sweeping import tell_cases, tell_updates
from drumline.core.taskreport import OBJECTIVE, read_prose, says_nothing
from drumline.engine.finishing import foresee
from drumline.engine.nodes.stepwork import StepWork, known

MOST_LINES = 20
MOST_SENTENCES = 3
MOST_FIELDS = 3
MOST_CHARACTERS = 800
FIELDS = (OBJECTIVE, "scope deviations", "errors", "decisions made")
"""Fields of a report that a person is shown, those that matter most first."""
SHORT = 12
_BEFORE = {Colour.RED: "failed without the work", Colour.GREEN: "passes without the work, too"}


async def tell_work(work: StepWork, state: StepState) -> str:
    """Lines about work that may land, each with a line break before it."""
    base, tree, step = known(state.base), known(state.tree), work.orders.step.id
    lines = await work.services.workspaces.count_lines(base, tree)
    kept = await work.services.workspaces.keep(step, str(state.attempts), tree, base=base)
    told = [
        _tell_message(state),
        f"It changes {_count(len(lines), 'file')} ({_sum(lines)}): git show {kept[:SHORT]}",
        *_list_files(lines),
        *list_checks(work, state),
        _tell_claims(work, state),
        *_list_findings(state),
        *_list_swept(state),
        f"{state.fixes} of {_count(work.orders.retries, 'fix', 'es')} used, {_tell_cost(state)}.",
    ]
    return "".join(f"\n{line}" for line in told if line)


def _count(number: int, noun: str, ending: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else ending}"


def _sum(lines: Mapping[str, tuple[int, int] | None]) -> str:
    counted = [found for found in lines.values() if found is not None]
    return f"+{sum(added for added, _ in counted)} -{sum(removed for _, removed in counted)}"


def _list_files(lines: Mapping[str, tuple[int, int] | None]) -> list[str]:
    return _cut(
        [
            f"  {strip_controls(path)} {f'+{found[0]} -{found[1]}' if found else 'binary'}"
            for path, found in lines.items()
        ]
    )


def _cut(lines: list[str]) -> list[str]:
    """The first lines; the others are counted."""
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], f"  and {len(lines) - MOST_LINES} more"]


def list_checks(work: StepWork, state: StepState) -> list[str]:
    """Each check with its verdict, and the level that the step would land with."""
    told = []
    for number, check in enumerate(work.orders.checks):
        verdict = state.verdicts.get(number)
        passed = verdict is not None and verdict.ended.exit_code == 0
        before = _BEFORE.get(look_up(number, check, state, work.run) or Colour.UNKNOWN, "")
        told.append(f"  {check.command}: {'passes' if passed else 'fails'}{f', {before}' if before else ''}")
    proof = foresee(state, work.orders, work.run)
    why = f" ({', '.join(reason.words for reason in proof.why)})" if proof.why else ""
    return [f"Its checks; it would land as {proof.level.value}{why}:", *told] if told else ["It has no checks."]


def _tell_claims(work: StepWork, state: StepState) -> str:
    """What the agent claims about the scenarios that it was to play."""
    items = len(work.orders.step.qa)
    told = tell_claims(count_claimed(state.last.message if state.last else "", items), items)
    return f"{told}." if told else ""


def _list_findings(state: StepState) -> list[str]:
    """What reviewers found, and what became of it."""
    told = [
        f"  [{one.finding.severity.value}] {one.finding.title}: {one.settled.value if one.settled else 'open'}"
        f"{f' ({one.finding.place})' if one.finding.place else ''}"
        for one in state.findings.values()
    ]
    return _cut([f"Its review has {_count(len(told), 'finding')}:", *told]) if told else []


def _list_swept(state: StepState) -> list[str]:
    """Edge cases, and what is proposed for later steps."""
    if state.swept is None:
        return []
    found = (("Edge cases", tell_cases(state.swept.sweep)), ("For later steps", tell_updates(state.swept.sweep)))
    return [line for title, told in found if told for line in _cut([f"{title}:", *(f"  {one}" for one in told)])]


def list_proofs(run: RunState) -> list[str]:
    """How much is known about each step that has landed, for who looks at all of them together."""
    ended = (run.finished.get(step.id) for step in run.selected())
    return [
        f"- {one.step}: {one.proof.level.value}, {one.checks_passed} of {_count(one.checks_total, 'check')} passed"
        for one in ended
        if one is not None and one.proof is not None
    ]


def _tell_cost(state: StepState) -> str:
    cost = state.usage.get(COST)
    return f"{dollars(cost)} spent" if cost else "its cost is not known"


def _tell_message(state: StepState) -> str:
    """The first sentences of what the agent said last, and what its report says."""
    if state.last is None:
        return ""
    report = state.last.report
    sentences = _split(read_prose(state.last.message) if report else state.last.message)[:MOST_SENTENCES]
    fields = [
        f"{name.capitalize()}: {_join(report[name])}" for name in FIELDS if not says_nothing(report.get(name, ""))
    ]
    text = " ".join([*sentences, *(field if field[-1] in ".!?" else f"{field}." for field in fields[:MOST_FIELDS])])
    text = text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
    return f"Its agent says: {text}" if text else ""


def _split(text: str) -> list[str]:
    joined = _join(text)
    return re.split(r"(?<=[.!?]) ", joined) if joined else []


def _join(text: str) -> str:
    return " ".join(strip_controls(text).split())
