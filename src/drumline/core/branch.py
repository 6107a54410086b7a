"""The run branch beside what was landed on it, and what follows if somebody else has moved it.

The rule: no landing is lost silently, and no commit of somebody else is thrown away. Where restoring the branch loses
nothing it is restored; a person's commits become its head; everything else is a question.
"""

from __future__ import annotations

from drumline.core.commands import Ask, Command, EndRun, ParkRun, SettleBranch, Wait
from drumline.core.events import GateOpened
from drumline.core.gates import STOP
from drumline.core.gitdeeds import tell_culprit
from drumline.core.ids import NO_STEP, Commit, GateId, StepId, Tree
from drumline.core.state import RunState
from drumline.core.vocabulary import GateKind, Resettled, RunEnd
from drumline.record import Record

RESTORE, KEEP = "restore", "keep"
SHORT = 10


class Branch(Record):
    """The run branch as it is: its `tip`, None if it is gone, and `written`, where we left it.

    `missing` are landings that the tip does not contain, `foreign` commits above `written` that we did not make, each
    with its subject and author; `unknown` are landings that git knows and the journal does not, with their steps.
    It was `set_back` if the tip does not contain where we left it.
    """

    tip: Commit | None
    written: Commit | None
    missing: tuple[Commit, ...] = ()
    foreign: tuple[tuple[Commit, str], ...] = ()
    unknown: tuple[tuple[StepId, Commit, Tree], ...] = ()
    set_back: bool = False

    @property
    def is_sound(self) -> bool:
        """Whether the branch is where we left it."""
        return self.tip is not None and not self.missing and not self.foreign and not self.set_back


def landings(run: RunState) -> list[Commit]:
    """The commits that the journal says are on the branch, oldest first."""
    return [finished.commit for finished in run.finished.values() if finished.commit is not None]


def settle(run: RunState, branch: Branch, *, by_person: bool, busy: bool) -> Command:
    """What to do about a branch that is not where we left it.

    `by_person` says that nothing of ours was at work when it was moved; `busy` that steps are in work now.
    """
    if branch.tip is None and branch.written is None:
        return EndRun(
            state=RunEnd.BLOCKED, reason=f"the run branch {run.begun.branch} is gone, and so is what landed on it"
        )
    if branch.written is not None and not branch.foreign:
        return _restore(run, branch, branch.written)
    if branch.tip is not None and not branch.missing and not branch.set_back and by_person:
        return _keep(run, branch, branch.tip)
    return _ask(run, branch, busy=busy)


def _restore(run: RunState, branch: Branch, to: Commit) -> SettleBranch:
    return _settle(run, branch, Resettled.RESTORED, to, steps=name_steps(run, branch.missing))


def _keep(run: RunState, branch: Branch, to: Commit) -> SettleBranch:
    return _settle(run, branch, Resettled.KEPT, to)


def _settle(run: RunState, branch: Branch, how: Resettled, to: Commit, steps: tuple[StepId, ...] = ()) -> SettleBranch:
    found = run.misplaced
    return SettleBranch(
        how=how,
        to=to,
        steps=steps,
        commits=_name_commits(branch),
        culprit=found.step if found else NO_STEP,
        beside=found.beside if found else (),
    )


def _ask(run: RunState, branch: Branch, *, busy: bool) -> Command:
    gate = open_gate(run, branch)
    found = run.gates.get(gate.gate)
    if found is None:
        return Ask(opens=gate)
    if found.answer is None:
        waits = ParkRun(gates=tuple(open_.opened.gate for open_ in run.open_gates))
        return Wait(reason="steps are in work") if busy else waits
    if found.answer.choice == RESTORE and branch.written is not None:
        return _restore(run, branch, branch.written)
    if found.answer.choice == KEEP and branch.tip is not None:
        return _keep(run, branch, branch.tip)
    return EndRun(state=RunEnd.BLOCKED, reason=f"stopped by a person at gate {gate.gate}")


def open_gate(run: RunState, branch: Branch) -> GateOpened:
    """The question; one for each state of the branch."""
    name, written = run.begun.branch, branch.written
    lost = ", ".join(name_steps(run, branch.missing))
    says = [f"The run branch {name} is not where Drumline left it."]
    says += [tell_culprit(run.misplaced.step, run.misplaced.beside)] if run.misplaced else []
    says += [f"Missing on it: {lost}."] if lost else []
    says += ["Commits that no step landed:", *(f"  {line}" for line in _name_commits(branch))]
    says += [f"{RESTORE}: go back to {written[:SHORT]}; those commits stay reachable by a ref."] if written else []
    says += [f"{KEEP}: continue on the branch as it is." + (" The missing steps count as done." if lost else "")]
    options = (*((RESTORE,) if written else ()), KEEP, STOP)
    gate = GateId(f"{GateKind.BRANCH}-{(branch.tip or '')[:8]}")
    return GateOpened(gate=gate, kind=GateKind.BRANCH, question="\n".join(says), options=options, person_only=True)


def name_steps(run: RunState, commits: tuple[Commit, ...]) -> tuple[StepId, ...]:
    """The steps that these landings belong to."""
    lost = set(commits)
    return tuple(step for step, finished in run.finished.items() if finished.commit in lost)


def _name_commits(branch: Branch) -> tuple[str, ...]:
    return tuple(f"{commit[:SHORT]} {said}" for commit, said in branch.foreign)
