"""What people said at gates that others should read again. The rule: an answer is shown in the words of who gave it."""

from __future__ import annotations

from drumline.core.events import GateAnswered, GateOpened
from drumline.core.gates import NO, STOP
from drumline.core.ids import GateId
from drumline.core.state import RunState
from drumline.core.vocabulary import GateKind
from drumline.record import Record
from drumline.views.cells import flatten

WITHDRAWN = " (withdrawn by a resume)"


class Remark(Record):
    """An answer that a person should see again; one that is `withdrawn` no longer counts, as its run was resumed."""

    gate: GateId
    choice: str
    comment: str
    by: str
    withdrawn: bool


def list_remarks(run: RunState) -> tuple[Remark, ...]:
    """What people said in words of their own, and their word against the run: that it stops, or is not accepted."""
    told = ((gate, gate.given) for gate in run.gates.values())
    return tuple(
        Remark(
            gate=given.gate,
            choice=given.choice,
            comment=given.comment,
            by=given.by,
            withdrawn=gate.withdrawn is not None,
        )
        for gate, given in told
        if given is not None and _is_told(gate.opened, given)
    )


def remark_line(said: Remark) -> str:
    """An answer with what the person said."""
    who = f" by {flatten(said.by)}" if said.by else ""
    comment = f": {flatten(said.comment)}" if said.comment else ""
    return f"{said.gate} {flatten(said.choice)}{who}{comment}{WITHDRAWN if said.withdrawn else ''}"


def remark_json(said: Remark) -> dict[str, object]:
    """The same for programs."""
    told = {"gate": said.gate, "choice": said.choice, "comment": said.comment, "by": said.by}
    return {**told, "withdrawn": said.withdrawn}


def _is_told(opened: GateOpened, given: GateAnswered) -> bool:
    against = given.choice == STOP or (given.choice == NO and opened.kind is GateKind.ACCEPT)
    return bool(given.comment) or against or (opened.free and given.choice not in opened.options)
