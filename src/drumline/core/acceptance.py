"""Which landed steps are below the level that they must reach, and what a person's yes to them counts for.

The rule: a yes counts for what was shown when it was given: this landing, or what was known before the run began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from drumline.core import gates
from drumline.core.events import StepFinished
from drumline.core.findings import Finding, Found
from drumline.core.gateevents import Doubt, GateAnswered
from drumline.core.ids import FINAL, StepId
from drumline.core.plaintext import name_some
from drumline.core.plan import Step
from drumline.core.proof import Level, Proof, Reason, Require
from drumline.core.sharing import ENGINE
from drumline.core.state import Gate, RunState
from drumline.core.vocabulary import GateKind, Settlement, Severity, StepEnd


def find_required(run: RunState, step: Step) -> Require:
    """The level that a step of a run must reach."""
    return Require(step.require or run.begun.require)


def list_doubts(run: RunState) -> tuple[Doubt, ...]:
    """The steps that landed below their level, or whose checks fail on the head, and that nobody has accepted.

    In plan order. A run that lands nothing has none.
    """
    if not run.lands:
        return ()
    accepted = _collect_accepted(run)
    found = []
    for step in run.selected():
        finished = run.finished.get(step.id)
        proof = finished.proof if finished else None
        if finished is None or proof is None:
            continue
        low = not proof.is_enough(find_required(run, step)) and not _is_covered(finished, proof, accepted)
        red = is_superseded(run, step) and find_yes(run, step) is None
        if low or red:
            why = (*(proof.why if low else ()), *((Reason.SUPERSEDED,) if red else ()))
            by = run.landed_since(finished.commit) if red and finished.commit else ()
            found.append(Doubt(step=step.id, level=proof.level, why=why, commit=finished.commit, by=by))
    return tuple(found)


def is_superseded(run: RunState, step: Step) -> bool:
    """Whether one of its checks fails on the head of the run branch, and that matters."""
    return find_required(run, step) is not Require.NONE and bool(list_red(run, step))


def list_red(run: RunState, step: Step) -> tuple[str, ...]:
    """The checks of a step that is done which fail on the head of the run branch, whatever level it must reach."""
    final, finished = run.finished.get(FINAL), run.finished.get(step.id)
    if final is None or finished is None or finished.state is not StepEnd.DONE:
        return ()
    return tuple(check.command for check in step.checks if check.command in final.superseded)


def list_red_steps(run: RunState) -> tuple[Step, ...]:
    """The steps with such checks, in plan order."""
    return tuple(step for step in run.selected() if list_red(run, step))


def tell_red(run: RunState, step: Step) -> str:
    """That such a check fails, and after which steps; empty if none does."""
    return f"its check fails {_tell_where(run, step)}" if list_red(run, step) else ""


def find_yes(run: RunState, step: Step) -> GateAnswered | None:
    """The answer by which a person accepted that such a check fails."""
    finished = run.finished.get(step.id)
    return next((one for one in _list_yes(run) if finished and _covers_red(run, one, finished)), None)


def find_red(run: RunState) -> tuple[Found, ...]:
    """The same as findings, but for what the step that broke a check has said itself."""
    known = {(one.step, one.command) for finished in run.finished.values() for one in finished.supersedes}
    found = []
    for step in list_red_steps(run):
        yes = find_yes(run, step)
        for number, command in enumerate(list_red(run, step), 1):
            if (step.id, command) in known:
                continue
            title = f"the check {command} fails {_tell_where(run, step)}"
            finding = Finding(
                id=f"{step.id}-H{number}", severity=Severity.CONCERN, step=step.id, title=title, by=ENGINE
            )
            settled = Settlement.ACCEPTED if yes else None
            found.append(Found(finding=finding, settled=settled, settled_by=yes.by if yes else ""))
    return tuple(found)


def list_breaking(run: RunState, step: Step) -> tuple[StepId, ...]:
    """The steps that landed after one: it is one of them through which its check fails."""
    finished = run.finished[step.id]
    landed = run.finished.get(finished.landed_by, finished).commit
    return run.landed_since(landed) if landed else ()


def _tell_where(run: RunState, step: Step) -> str:
    by = list_breaking(run, step)
    return "on the head of the run branch" + (f", after {name_some(by)}" if by else "")


def _list_yes(run: RunState) -> list[GateAnswered]:
    answers = [gate.answer for gate in _list_gates(run) if gate.answer is not None]
    return [answer for answer in answers if answer.choice == gates.YES]


def _covers_red(run: RunState, yes: GateAnswered, finished: StepFinished) -> bool:
    doubts = run.gates[yes.gate].opened.doubts
    return any(
        one.step == finished.step and one.commit == finished.commit and Reason.SUPERSEDED in one.why for one in doubts
    )


def is_accepted(run: RunState, step: StepId) -> bool:
    """Whether a person has said yes to a step as it landed."""
    finished = run.finished.get(step)
    proof = finished.proof if finished else None
    return finished is not None and proof is not None and _is_covered(finished, proof, _collect_accepted(run))


def find_question(run: RunState) -> Gate | None:
    """The last question whether steps are accepted."""
    return next(reversed(_list_gates(run)), None)


def foresee(steps: Iterable[Step], configured: Sequence[str], *, require: str) -> tuple[Doubt, ...]:
    """The steps that cannot reach their level, whatever comes of them: not all that should judge them can be run."""
    found = []
    for step in steps:
        why = Reason.NOT_RUN if step.not_run else None if step.checks or configured else Reason.NO_CHECKS
        proof = Proof(level=Level.UNPROVED, why=(why,)) if why else Proof(level=Level.PROVED)
        if not proof.is_enough(Require(step.require or require)):
            found.append(Doubt(step=step.id, level=proof.level, why=proof.why))
    return tuple(found)


def _list_gates(run: RunState) -> list[Gate]:
    return [gate for gate in run.gates.values() if gate.opened.kind is GateKind.ACCEPT]


def _collect_accepted(run: RunState) -> dict[StepId, list[Doubt]]:
    """What people said yes to, by step."""
    found: dict[StepId, list[Doubt]] = {}
    for gate in _list_gates(run):
        for doubt in gate.opened.doubts if run.answer(gate.opened.gate) == gates.YES else ():
            found.setdefault(doubt.step, []).append(doubt)
    return found


def _is_covered(finished: StepFinished, proof: Proof, accepted: Mapping[StepId, Sequence[Doubt]]) -> bool:
    """Whether a yes holds for a step as it landed: for this landing, or for all that it lacks."""
    for doubt in accepted.get(finished.step, ()):
        if doubt.commit is not None and doubt.commit == finished.commit:
            return True
        if doubt.commit is None and doubt.level is proof.level and set(proof.why) <= set(doubt.why):
            return True
    return False
