"""The questions Drumline asks people, with their ids, options and what only a person may answer."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from drumline.core.events import GateOpened
from drumline.core.flow.lengths import parse_length_rule
from drumline.core.ids import GateId, StepId
from drumline.core.money import compare_dollars
from drumline.core.plan import Marks, Step
from drumline.errors import InvalidInput

YES, NO = "yes", "no"
APPROVE, REVISE, REJECT = "approve", "revise", "reject"
CONTINUE, STOP = "continue", "stop"
TAKE, LEAVE = "take", "leave"
RESTART = "restart"
TAKEN_BACK = "taken back"
"""What an answer counts as once its giver wants something else."""
BUDGET, QUESTION = "budget", "question"
"""Kinds of gates that agents lead to."""


def check_reply(opened: GateOpened, text: str) -> None:
    """Refuse an answer that is no option, or too long or short where any text is one: it has to be asked again."""
    if opened.free:
        said = text or opened.default
        if not said.strip() and (opened.kind == QUESTION or (opened.rule and not said)):
            _check_blank(opened)
        if opened.rule and not parse_length_rule(opened.rule).holds(said):
            size = len(said.encode("utf-8", "surrogatepass"))
            message = f"the answer to {opened.gate!r} has {size} bytes; legal is {opened.rule.strip()}"
            raise InvalidInput(message, hint=f"drumline answer {quote(opened.gate)} TEXT")
    elif text not in opened.options:
        raise InvalidInput(
            f"{text!r} is no option of gate {opened.gate!r} (legal: {', '.join(opened.options)})",
            hint=f"drumline answer {quote(opened.gate)} {quote(opened.options[0])}",
        )


def _check_blank(opened: GateOpened) -> None:
    """Refuse nothing but spaces where an agent asks, and nothing at all where the rule of a node asks for more."""
    if opened.kind == QUESTION or not parse_length_rule(opened.rule).holds(""):
        message = f"an answer must not be empty; gate {opened.gate!r} takes any other text"
        raise InvalidInput(message, hint=f"drumline answer {quote(opened.gate)} TEXT")


def proceed_id(step: StepId) -> GateId:
    """Asked once per step."""
    return GateId(f"proceed-{step}")


def proceed(step: Step, unmet: Sequence[StepId]) -> GateOpened:
    """A step asked for by name whose needs are not done."""
    return GateOpened(
        gate=proceed_id(step.id),
        kind="proceed",
        question=f"{step.id} needs {', '.join(unmet)}, not done yet. Proceed anyway?",
        options=(YES, NO),
        step=step.id,
        person_only=True,
    )


def approval_id(step: StepId, attempt: int) -> GateId:
    """One question per state of the work: a revised step is asked about again."""
    return GateId(f"approve-{step}" if attempt <= 1 else f"approve-{step}.{attempt}")


def approval(step: Step, attempt: int) -> GateOpened:
    """Verbose autonomy: a person looks at each step before it lands."""
    manual = "".join(f"\n  - {item}" for item in step.manual)
    return GateOpened(
        gate=approval_id(step.id, attempt),
        kind="approve",
        question=f"{step.id} ({step.title}) passed its checks. Land it?"
        + (f" Please verify by hand:{manual}" if manual else ""),
        options=(APPROVE, REVISE, REJECT),
        step=step.id,
    )


def wave_id(depth: int) -> GateId:
    """One question per wave; waves count from 1."""
    return GateId(f"wave-{depth + 1}")


def wave_depth(gate: GateId) -> int:
    """The depth a wave gate asks about."""
    return int(gate.removeprefix("wave-")) - 1


def wave(depth: int, manual: Sequence[tuple[StepId, str]]) -> GateOpened:
    """Critical autonomy: after a depth of the plan that left items only a person can verify."""
    items = "".join(f"\n  - {step}: {item}" for step, item in manual)
    return GateOpened(
        gate=wave_id(depth),
        kind="wave",
        question=f"Wave {depth + 1} has landed. Please verify by hand, then go on:{items}",
        options=(CONTINUE, STOP),
    )


def claim_id(step: StepId) -> GateId:
    """Asked once per step."""
    return GateId(f"claim-{step}")


def claim(step: Step, marks: Marks) -> GateOpened:
    """A step marked as in progress by nobody knows whom, or nobody knows when."""
    who = marks.assignee or "nobody named"
    return GateOpened(
        gate=claim_id(step.id),
        kind="claim",
        question=f"{step.path} says {step.id} is in progress ({who}, no time given). Take it over?",
        options=(TAKE, LEAVE),
        step=step.id,
    )


def edit_id(step: Step) -> GateId:
    """One question per text: a further edit is a further question."""
    return GateId(f"edit-{step.id}.{step.text_digest[:8]}")


def edit(step: Step) -> GateOpened:
    """A step was edited while it is in work."""
    return GateOpened(
        gate=edit_id(step),
        kind="edit",
        question=f"{step.path} was edited while {step.id} is in work. Restart the step with the new text, "
        "or continue with the old one?",
        options=(RESTART, CONTINUE),
        step=step.id,
    )


def question_id(step: StepId, attempt: int) -> GateId:
    """One question per attempt: an agent that asks again is answered again."""
    return GateId(f"question-{step}" if attempt <= 1 else f"question-{step}.{attempt}")


def introduce(step: Step) -> str:
    """The words before the question of an agent at a step."""
    return f"The agent at {step.id} ({step.title}) asks: "


def question(step: Step, attempt: int, text: str) -> GateOpened:
    """An agent cannot go on before a person has told it something."""
    return GateOpened(
        gate=question_id(step.id, attempt),
        kind=QUESTION,
        question=f"{introduce(step)}{text}",
        options=(),
        step=step.id,
        free=True,
        rule="len(input) > 0",
    )


def budget(number: int, *, spent: float, allowed: float) -> GateOpened:
    """The run has spent its money; each yes allows as much again as the budget says, from what is spent by then."""
    used, given = compare_dollars(spent, allowed)
    return GateOpened(
        gate=GateId(f"{BUDGET}-{number}"),
        kind=BUDGET,
        question=f"The run has spent {used} of the {given} it may. Proceed anyway?",
        options=(YES, NO),
        person_only=True,
        spent=spent,
    )
