"""The questions Drumline asks people, with their ids, options and what only a person may answer."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from drumline.core.events import GateOpened
from drumline.core.flow.lengths import parse_length_rule
from drumline.core.gateevents import Doubt, ManualItem
from drumline.core.ids import GateId, StepId
from drumline.core.money import compare_dollars
from drumline.core.plan import Marks, Step
from drumline.core.trust import Brought, digest_all
from drumline.core.vocabulary import OF_AGENTS, STUCK, GateKind
from drumline.errors import InvalidInput

YES, NO = "yes", "no"
BY_HAND = "by_hand"
"""At a gate of a flow: a person has worked on the step's files; what is there counts."""
APPROVE, REVISE, REJECT = "approve", "revise", "reject"
CONTINUE, STOP = "continue", "stop"
NOT_GOOD = "not-good"
TAKE, LEAVE = "take", "leave"
RESTART = "restart"
AGAIN, KEEP = "again", "keep"
TAKEN_BACK = "taken back"
"""What an answer counts as once its giver wants something else."""
ALLOW, UNDO = "allow", "undo"
ALREADY_DONE, RETRY, SKIP = "already-done", "retry", "skip"
ADAPT, GO_ON = "adapt", "proceed"
LAND = "land"
PASSED = "passed its checks"
SHORT = 9
"""Digits of a commit that a question names."""
MOST_DOUBTS = 20
"""How many steps the question names whether they are accepted; the gate has all of them."""
TYPO = 0.75
"""How alike a word and an option have to be for the word to be a slip."""


def name_gate(kind: GateKind, step: StepId, asked: int = 0) -> GateId:
    """The name of a question about a step of which `asked` of its kind were asked before: the second has a number."""
    return GateId(f"{kind}-{step}" if asked == 0 else f"{kind}-{step}.{asked + 1}")


def read_reply(opened: GateOpened, text: str, comment: str) -> tuple[str, str]:
    """The choice and the comment that an answer comes to: at an approval, any text of one's own is a revision."""
    if read_items(opened, text):
        return NOT_GOOD, comment
    if opened.kind is not GateKind.APPROVE:
        return text, comment
    word = text.strip().casefold()
    if word in opened.options:
        return word, comment
    return REVISE, "\n\n".join(part for part in (text.strip(), comment.strip()) if part)


def needs_words(opened: GateOpened, text: str) -> bool:
    """Whether an answer says nothing without a comment: what to change, to do differently, or what is not good."""
    word = text.strip().casefold()
    if opened.kind is GateKind.APPROVE:
        return word == REVISE
    return (word == ADAPT and opened.kind in STUCK) or word.partition(":")[0] == NOT_GOOD


def check_reply(opened: GateOpened, text: str, comment: str | None = None) -> None:
    """Refuse an answer that is not an option, or too long or short where any text is one: it has to be asked again.

    A revision needs words; whether they are there is looked at only if a comment is given, be it empty.
    """
    if opened.kind is GateKind.APPROVE:
        _check_revision(opened, text, comment)
    elif read_items(opened, text):
        if comment is not None and not comment.strip():
            message = f"{NOT_GOOD!r} at gate {opened.gate!r} needs a text that says what is wrong"
            raise InvalidInput(message, hint=f"drumline answer {quote(opened.gate)} {quote(text)} --comment TEXT")
    elif opened.free:
        said = text or opened.default
        if not said.strip() and (opened.kind in OF_AGENTS or (opened.rule and not said)):
            _check_blank(opened)
        if opened.rule and not parse_length_rule(opened.rule).holds(said):
            size = len(said.encode("utf-8", "surrogatepass"))
            message = f"the answer to {opened.gate!r} has {size} bytes; legal is {opened.rule.strip()}"
            raise InvalidInput(message, hint=f"drumline answer {quote(opened.gate)} TEXT")
    elif text == ADAPT and comment is not None and not comment.strip() and opened.kind in STUCK:
        raise InvalidInput(
            f"{ADAPT!r} at gate {opened.gate!r} needs a text that says what is to be done differently",
            hint=f"drumline answer {quote(opened.gate)} {ADAPT} --comment TEXT",
        )
    elif text not in opened.options:
        raise InvalidInput(
            f"{text!r} is not an option of gate {opened.gate!r} (legal: {', '.join(opened.options)})",
            hint=f"drumline answer {quote(opened.gate)} CHOICE",
        )


def _check_revision(opened: GateOpened, text: str, comment: str | None) -> None:
    """Refuse nothing, a slip of the pen, and the request for a change that is not named."""
    from difflib import get_close_matches  # who only looks at gates does without it

    word = text.strip().casefold()
    near = [] if word in opened.options else get_close_matches(word, opened.options, n=1, cutoff=TYPO)
    if not word or near:
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise InvalidInput(
            f"{text!r} does not answer gate {opened.gate!r}{meant}: use one of {', '.join(opened.options)}, "
            "or say in your own words what to change",
            hint=f"drumline answer {quote(opened.gate)} {quote(near[0] if near else opened.options[0])}",
        )
    if word == REVISE and comment is not None and not comment.strip():
        message = f"{REVISE!r} at gate {opened.gate!r} needs a text that says what to change"
        raise InvalidInput(message, hint=f"drumline answer {quote(opened.gate)} {REVISE} --comment TEXT")


def _check_blank(opened: GateOpened) -> None:
    """Refuse nothing but spaces where an agent asks, and nothing at all where the rule of a node asks for more."""
    if opened.kind in OF_AGENTS or not parse_length_rule(opened.rule).holds(""):
        message = f"an answer must not be empty; gate {opened.gate!r} takes any other text"
        raise InvalidInput(message, hint=f"drumline answer {quote(opened.gate)} TEXT")


def proceed_id(step: StepId) -> GateId:
    """Asked once per step."""
    return GateId(f"proceed-{step}")


def proceed(step: Step, unmet: Sequence[StepId]) -> GateOpened:
    """A step asked for by name whose needs are not done."""
    return GateOpened(
        gate=proceed_id(step.id),
        kind=GateKind.PROCEED,
        question=f"{step.id} needs {', '.join(unmet)}, not done yet. Proceed anyway?",
        options=(YES, NO),
        step=step.id,
        person_only=True,
    )


def approval(step: Step, attempt: int, *, asked: int = 0, verdict: str = PASSED) -> GateOpened:
    """Verbose autonomy: a person looks at each step before it lands, and again after a revision."""
    manual = "".join(f"\n  - {item}" for item in step.manual)
    return GateOpened(
        gate=name_gate(GateKind.APPROVE, step.id, asked),
        kind=GateKind.APPROVE,
        question=f"{step.id} ({step.title}) {verdict}. Land it?"
        + (f" Please verify by hand:{manual}" if manual else ""),
        options=(APPROVE, REVISE, REJECT),
        step=step.id,
        free=True,
        about=attempt,
    )


def judge(step: Step, attempt: int, *, foul: str) -> GateOpened:
    """Work that passes its checks only because it changed what judges it."""
    return GateOpened(
        gate=name_gate(GateKind.JUDGE, step.id),
        kind=GateKind.JUDGE,
        question=f"{step.id} ({step.title}): {foul} Allow that, let the agent undo it, or reject the step?",
        options=(ALLOW, UNDO, REJECT),
        step=step.id,
        person_only=True,
        about=attempt,
    )


def ownership(step: Step, attempt: int, *, told: str, paths: Sequence[str]) -> GateOpened:
    """Work that changes files of others, although its agent was told once."""
    return GateOpened(
        gate=name_gate(GateKind.OWNERSHIP, step.id),
        kind=GateKind.OWNERSHIP,
        question=f"{step.id} ({step.title}): {told}. Allow that, undo these changes, or reject the step?",
        options=(ALLOW, UNDO, REJECT),
        step=step.id,
        person_only=True,
        about=attempt,
        paths=tuple(paths),
    )


def unchanged(step: Step, attempt: int, *, told: str) -> GateOpened:
    """An agent that is done and has changed nothing; `told` is what is known about that."""
    return GateOpened(
        gate=name_gate(GateKind.UNCHANGED, step.id),
        kind=GateKind.UNCHANGED,
        question=f"{step.id} ({step.title}) {told}. Was it already done, shall the agent try again, or is the step to "
        "be skipped?",
        options=(ALREADY_DONE, RETRY, SKIP),
        step=step.id,
        person_only=True,
        about=attempt,
    )


def stuck(kind: GateKind, step: Step, current: int, *, asked: int, reason: str) -> GateOpened:
    """A step that is blocked: its work fails, or its diagnosis says that the plan is wrong; `current` is its round."""
    wrong = kind is GateKind.PLAN
    lead = "may not be right as it is planned" if wrong else "did not get through"
    anyway = "proceed as it is planned" if wrong else "retry it"
    return GateOpened(
        gate=name_gate(kind, step.id, asked),
        kind=kind,
        question=f"{step.id} ({step.title}) {lead}: {reason}\nAdapt it (your comment goes to its agent), {anyway}, "
        "skip it, or stop the run?",
        options=(ADAPT, GO_ON if wrong else RETRY, SKIP, STOP),
        step=step.id,
        person_only=True,
        about=current,
        asks=reason,
    )


def denied(step: Step, attempt: int, *, denial: str) -> GateOpened:
    """An agent says twice that its work is not done, although the checks pass."""
    return GateOpened(
        gate=name_gate(GateKind.DENIED, step.id),
        kind=GateKind.DENIED,
        question=f"The agent at {step.id} ({step.title}) says that its work is not done, although its checks pass:\n"
        f"{denial}\nLand it, let the agent try again, or skip the step?",
        options=(LAND, RETRY, SKIP),
        step=step.id,
        person_only=True,
        about=attempt,
    )


def blocked(step: Step, attempt: int, text: str) -> GateOpened:
    """An agent says that it cannot go on; the answer goes to the next attempt."""
    return GateOpened(
        gate=name_gate(GateKind.BLOCKED, step.id),
        kind=GateKind.BLOCKED,
        question=f"The agent at {step.id} ({step.title}) reports that it is blocked:\n{text}\nWhat shall it do?",
        asks=text,
        options=(),
        step=step.id,
        free=True,
        rule="len(input) > 0",
        about=attempt,
    )


def accept(doubts: Sequence[Doubt], *, asked: int = 0) -> GateOpened:
    """Steps below the level that they must reach, at the end of a run or before it begins."""
    lines = [f"\n  - {tell_doubt(doubt)}" for doubt in doubts[:MOST_DOUBTS]]
    left = len(doubts) - MOST_DOUBTS
    more = f"\n  … and {left:,} more" if left > 0 else ""
    which = "1 step needs" if len(doubts) == 1 else f"{len(doubts):,} steps need"
    return GateOpened(
        gate=GateId(GateKind.ACCEPT if asked == 0 else f"{GateKind.ACCEPT}.{asked + 1}"),
        kind=GateKind.ACCEPT,
        question=f"{which} a person's yes (see the setting `require`):{''.join(lines)}{more}\nAccept that?",
        options=(YES, NO),
        person_only=True,
        doubts=tuple(doubts),
    )


def tell_doubt(doubt: Doubt) -> str:
    """A step with its level and reasons."""
    why = f" ({', '.join(reason.words for reason in doubt.why)})" if doubt.why else ""
    by = f": its check fails after {', '.join(doubt.by)}" if doubt.by else ""
    return f"{doubt.step}: {doubt.level.value}{why}{by}"


def wave_id(depth: int, asked: int = 0) -> GateId:
    """One question per wave, and another if something was sent back; waves count from 1."""
    return GateId(f"wave-{depth + 1}" if asked == 0 else f"wave-{depth + 1}.{asked + 1}")


def wave(depth: int, manual: Sequence[ManualItem], *, asked: int = 0, again: bool = False) -> GateOpened:
    """Critical autonomy: after a depth of the plan, or steps sent back, that left items only a person can verify."""
    what = "What was sent back" if again else f"Wave {depth + 1}"
    items = "".join(f"\n  {number}. {_tell_item(item)}" for number, item in enumerate(manual, 1))
    which = f"{NOT_GOOD}:NUMBER" if len(manual) > 1 else NOT_GOOD
    return GateOpened(
        gate=wave_id(depth, asked),
        kind=GateKind.WAVE,
        question=f"{what} has landed. Please verify by hand, then go on:{items}\n"
        f"({which} with a comment sends the step back)",
        options=(CONTINUE, NOT_GOOD, STOP),
        items=tuple(manual),
    )


def _tell_item(item: ManualItem) -> str:
    return f"{item.step}{f' ({item.commit[:SHORT]})' if item.commit else ''}: {item.text}"


def read_items(opened: GateOpened, text: str) -> tuple[int, ...]:
    """The numbers of the items that an answer calls not good: `not-good:1,3`, or `not-good` where there is one."""
    word, _, numbers = text.strip().casefold().partition(":")
    if word != NOT_GOOD or opened.kind is not GateKind.WAVE:
        return ()
    if not numbers and len(opened.items) == 1:
        return (1,)
    found = [part.strip() for part in numbers.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= len(opened.items) for part in found):
        raise InvalidInput(
            f"{text!r} does not say which items of gate {opened.gate!r} are not good "
            f"(legal: {NOT_GOOD}:NUMBER, with numbers from 1 to {len(opened.items)}, parted by commas)",
            hint=f"drumline answer {quote(opened.gate)} {NOT_GOOD}:1 --comment TEXT",
        )
    return tuple(dict.fromkeys(int(part) for part in found))


def claim_id(step: StepId) -> GateId:
    """Asked once per step."""
    return GateId(f"claim-{step}")


def claim(step: Step, marks: Marks) -> GateOpened:
    """A step marked as in progress by nobody knows whom, or nobody knows when."""
    who = marks.assignee or "nobody named"
    return GateOpened(
        gate=claim_id(step.id),
        kind=GateKind.CLAIM,
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
        kind=GateKind.EDIT,
        question=f"{step.path} was edited while {step.id} is in work. Restart the step with the new text, "
        "or continue with the old one?",
        options=(RESTART, CONTINUE),
        step=step.id,
    )


def redo(step: Step, current: int, *, asked: int, commit: str) -> GateOpened:
    """The file of a step that has landed was set back to ready; `current` is the round that landed."""
    landed = f"has landed as {commit[:10]}" if commit else "is done"
    return GateOpened(
        gate=name_gate(GateKind.REDO, step.id, asked),
        kind=GateKind.REDO,
        question=f"{step.path} says that {step.id} is ready, but it {landed}. Do it again, or keep it as it is?",
        options=(AGAIN, KEEP),
        step=step.id,
        about=current,
    )


def trust_id(step: Step, commands: Sequence[Brought]) -> GateId:
    """One question per set of commands: others are another question."""
    return GateId(f"{GateKind.TRUST}-{step.id}.{digest_all(commands)[:8]}")


def trust(step: Step, commands: Sequence[Brought]) -> GateOpened:
    """A step brings commands that nobody accepted, for example by an edit in mid-run."""
    listed = "".join(f"\n  - {item.kind}: {item.shown}" for item in commands)
    return GateOpened(
        gate=trust_id(step, commands),
        kind=GateKind.TRUST,
        question=f"{step.path or step.id} brings commands that nobody has accepted yet. Execute them?{listed}",
        options=(YES, NO),
        step=step.id,
        person_only=True,
    )


def question(step: Step, attempt: int, text: str, *, permissions: tuple[str, ...] = ()) -> GateOpened:
    """An agent cannot go on before a person has told it something; one that asks again is answered again."""
    return GateOpened(
        gate=name_gate(GateKind.QUESTION, step.id),
        kind=GateKind.QUESTION,
        question=f"The agent at {step.id} ({step.title}) asks: {text}",
        asks=text,
        permissions=permissions,
        options=(),
        step=step.id,
        free=True,
        rule="len(input) > 0",
        about=attempt,
    )


def budget(number: int, *, spent: float, allowed: float) -> GateOpened:
    """The run has spent its money; each yes allows as much again as the budget says, from what is spent by then."""
    used, given = compare_dollars(spent, allowed)
    return GateOpened(
        gate=GateId(f"{GateKind.BUDGET}-{number}"),
        kind=GateKind.BUDGET,
        question=f"The run has spent {used} of the {given} it may. Proceed anyway?",
        options=(YES, NO),
        person_only=True,
        spent=spent,
    )
