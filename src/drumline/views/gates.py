"""Gates as faces show them, of every run: the words, the rows of a board, and commands that are safe to paste."""

from __future__ import annotations

import re
from collections.abc import Mapping
from shlex import quote
from types import MappingProxyType

from drumline.core.events import GateOpened
from drumline.core.gates import NO, RETRY, UNDO, needs_words
from drumline.core.state import Gate, RunState
from drumline.core.vocabulary import OF_AGENTS, GateKind, RunEnd
from drumline.record import replace
from drumline.views.cells import Row, cut, flatten, split_lines, width
from drumline.views.snapshot import RunSnapshot

ANY_TEXT = "TEXT"
CAREFUL: Mapping[str, str] = MappingProxyType(
    {
        GateKind.JUDGE: UNDO,
        GateKind.OWNERSHIP: UNDO,
        GateKind.UNCHANGED: RETRY,
        GateKind.DENIED: RETRY,
        GateKind.ACCEPT: NO,
    }
)
"""The answers that let no doubtful work pass."""
LONGEST = 400
"""Characters of a question in a line of progress."""
SHORT_QUESTION = 120
"""Characters of a question that is told in one line, however it was written."""
_STOPS = (".", ":", ";", "?", "!", ",", "…")
_PARAGRAPHS = re.compile(r"\n\n+")


def answer_command(opened: GateOpened, *, driven: bool) -> str:
    """The command that answers with an option, or with any text; without a driver it also drives on.

    It may be pasted without a look, so that it is never the answer which lets doubtful work pass.
    """
    word = order_options(opened)[0] if opened.options else ""
    choice = quote(word) if word else ANY_TEXT
    comment = f" --comment {ANY_TEXT}" if word and needs_words(opened, word) else ""
    return f"drumline answer {quote(opened.gate)} {choice}{comment}" + ("" if driven else " --resume")


def order_options(opened: GateOpened) -> list[str]:
    """The options, the careful one first where the question is about doubtful work."""
    careful = CAREFUL.get(opened.kind, "")
    return sorted(opened.options, key=lambda option: option != careful)


def tell_choices(run: RunState, command: str) -> str:
    """A command for people: beside an answer to a question about doubtful work stand all answers."""
    for opened in (gate.opened for gate in run.open_gates if gate.opened.kind in CAREFUL):
        if command in (answer_command(opened, driven=True), answer_command(opened, driven=False)):
            return f"{command}  ({list_choices(replace(opened, options=tuple(order_options(opened))))})"
    return command


def list_asking(run: RunState) -> list[Gate]:
    """The gates that somebody may still answer; a run that is blocked has those about what blocks it."""
    return [gate for gate in run.open_gates if run.is_asking(gate.opened.gate)]


def merge_command(run: RunState) -> str:
    """What brings what a run has landed into the checkout: our own command takes runs that are done."""
    done = run.ended is not None and run.ended.state == RunEnd.DONE
    return f"drumline merge {run.id}" if done else f"git merge {run.begun.branch}"


def retry_command(place: str) -> str:
    """The command that lets a step or a visit go on before its time, in a run that nobody drives."""
    return f"drumline retry {quote(place)} --resume"


def list_choices(opened: GateOpened) -> str:
    """What may be answered, in words."""
    words = [flatten(option) for option in opened.options]
    if opened.free and opened.options:
        words.append("any text")
    elif opened.free:
        ruled = opened.rule and opened.kind not in OF_AGENTS
        words.append(f"any text with {flatten(opened.rule)}" if ruled else "any text")
    return ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + "".join(words[-1:])


def split_question(opened: GateOpened) -> tuple[str, list[str]]:
    """What a question is about in one line, and the other lines: what there is to judge by.

    The first line says it; of a text that a flow's author wrote, the last paragraph that asks. A short text is whole.
    """
    whole = _join_lines(opened)
    if len(whole) <= SHORT_QUESTION:
        return whole, []
    own = opened.kind in (GateKind.APPROVAL, GateKind.INPUT)
    parts = [part for part in _PARAGRAPHS.split(opened.question) if part.strip()] if own else []
    asking = next((part for part in reversed(parts) if "?" in part), "")
    if asking:
        parts.remove(asking)
        return flatten(asking, LONGEST), split_lines("\n".join(parts))
    first, *more = (line.rstrip(";") for line in split_lines(opened.question))
    return flatten(first, LONGEST), more


def _join_lines(opened: GateOpened) -> str:
    """The question in one line; what a list or our own last sentence parts by lines, a sign parts there, too."""
    lines = [flatten(line) for line in opened.question.splitlines() if line.strip()]
    own = opened.kind not in (GateKind.APPROVAL, GateKind.INPUT)
    ours = bool(own and lines and lines[-1] not in opened.asks and lines[-1][:1].isupper())
    joined = ""
    for number, line in enumerate(lines, 1):
        item = own and line.startswith("- ")
        sign = ";" if item else "." if ours and number == len(lines) else ""
        sign = "" if joined.endswith(_STOPS) else sign
        joined = f"{joined}{sign} {line.removeprefix('- ') if item else line}" if joined else line
    return joined


def ask_shortly(opened: GateOpened) -> str:
    """The question in one line, with its answers."""
    return f"{split_question(opened)[0]} ({list_choices(opened)})"


def name_asking(opened: GateOpened) -> str:
    """Who asks, before the question: the gate, unless the question says itself which agent does."""
    return f"gate {opened.gate}:" if opened.kind in OF_AGENTS and opened.asks else f"gate {opened.gate} asks:"


def tell_gate(opened: GateOpened) -> tuple[str, dict[str, object]]:
    """That a gate was opened, for people and for programs; a driver is there, or it would not have been opened."""
    hint = answer_command(opened, driven=True)
    first = f"{name_asking(opened)} {ask_shortly(opened)} → {hint}"
    text = "\n".join([first, *(f"  {line}" for line in split_question(opened)[1])])
    data: dict[str, object] = {
        "gate": opened.gate,
        "kind": opened.kind,
        "question": opened.question,
        "options": list(opened.options),
    }
    items = _list_items(opened)
    return text, {**data, "step": opened.step or None, "person_only": opened.person_only, "items": items, "hint": hint}


def gate_json(snapshot: RunSnapshot, gate: Gate) -> dict[str, object]:
    """A gate for programs."""
    opened = gate.opened
    return {
        "id": opened.gate,
        "question": opened.question,
        "options": list(opened.options),
        "step": opened.step or None,
        "kind": opened.kind,
        "person_only": opened.person_only,
        "items": _list_items(opened),
        "free": opened.free,
        "rule": opened.rule or None,
        "default": opened.default or None,
        "asked_at": snapshot.asked.get(opened.gate),
        "answered": snapshot.answers.get(opened.gate),
        "hint": answer_command(opened, driven=bool(snapshot.live)),
    }


def _list_items(opened: GateOpened) -> list[dict[str, object]]:
    """What the question is about, for programs: things to verify by hand, or steps to accept."""
    by_hand: list[dict[str, object]] = [
        {"number": number, "step": item.step, "text": item.text, "commit": item.commit}
        for number, item in enumerate(opened.items, 1)
    ]
    return by_hand + [
        {"step": doubt.step, "level": doubt.level.value, "why": [reason.value for reason in doubt.why]}
        for doubt in opened.doubts
    ]


def gate_rows(snapshot: RunSnapshot, wide: int, *, room: int) -> list[Row]:
    """Two rows of a board per gate: the question and how to answer it. What does not fit is counted."""
    gates = list_asking(snapshot.run)
    shown = gates if 2 * len(gates) <= room else gates[: max(1, (room - 1) // 2)]
    rows = [row for gate in shown for row in _draw(snapshot, gate, wide)]
    more = len(gates) - len(shown)
    if more and len(rows) < room:
        rows.append([(cut(f"… and {more:,} more gates: drumline status", wide), "parked")])
    return rows


def _draw(snapshot: RunSnapshot, gate: Gate, wide: int) -> list[Row]:
    opened = gate.opened
    given = snapshot.answers.get(opened.gate)
    how = answer_command(opened, driven=bool(snapshot.live))
    choices = f"({list_choices(opened)})"
    fits = width(f"  {how}  {choices}") <= wide
    if given is not None:
        how = f"answered: {flatten(given)}"
    elif fits:
        how = f"{how}  {choices}"
    named = f"{opened.gate} {choices}"
    named = opened.gate if fits or 3 * width(named) > 2 * wide else named  # the question matters more
    # The name of the gate says which agent asks.
    own = replace(opened, question=opened.asks) if opened.kind in OF_AGENTS and opened.asks else opened
    question = f"? {named}: {split_question(own)[0]}"
    return [[(cut(question, wide), "parked")], [(cut(f"  {how}", wide), "dim")]]
