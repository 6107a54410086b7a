"""What follows work that changes files of others. Pure.

The rule: who owns what is said by the plan, what was changed by git. The agent hears of it once, then a person decides;
what nobody allowed does not land.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from drumline.core import gates
from drumline.core.asking import ask, is_asked
from drumline.core.commands import Finish, Park, Undo
from drumline.core.events import GateAnswered
from drumline.core.examination import Verdict
from drumline.core.ids import StepId
from drumline.core.namings import list_ruled_out
from drumline.core.needs import satisfied
from drumline.core.orders import Orders
from drumline.core.ownership import SHARED, names, stands_above, take_apart
from drumline.core.plan import Step
from drumline.core.rounds import reject
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.strays import MOST_NAMED, NOTHING, Foreign, Strayed, tell_strayed
from drumline.core.vocabulary import GateKind, Ownership
from drumline.record import Record, replace


class _Owners(Record):
    """Who owns which entry of the plan, for lookups by path."""

    plain: dict[str, list[Step]]
    globs: list[tuple[str, Step]]
    folders: dict[str, list[Step]]

    @classmethod
    def of(cls, steps: Iterable[Step]) -> _Owners:
        found = cls(plain={}, globs=[], folders={})
        for step in steps:
            for entry in step.files:
                text = entry.removeprefix("./")
                for folder in list(_ways(take_apart(entry).begins.rpartition("/")[0])):
                    found.folders.setdefault(folder, []).append(step)
                if re.search(r"[*?\[]", text):
                    found.globs.append((text, step))
                else:
                    found.plain.setdefault(text.rstrip("/"), []).append(step)
        return found

    def find(self, path: str) -> Step | None:
        """The first owner of a file, one whose list is a promise before any other."""
        known = (step for way in _ways(path) for step in self.plain.get(way, ()))
        # A step that puts a file or link where a folder of theirs is to be keeps them from making it.
        found = [*known, *self.folders.get(path, ()), *(step for entry, step in self.globs if names(entry, path))]
        return min(found, key=lambda step: not step.binding, default=None)


def _ways(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def compare_change(run: RunState, step: Step, text: str, changed: Iterable[str]) -> Strayed:
    """What the work on a step changes beside its own files; `text` is what the step says."""
    own = [entry for one in (step, *_list_helped(run, step)) for entry in one.files]
    common = (*SHARED, *run.begun.shared)
    left = [path for path in sorted(changed) if not _is_named(path, own) and not _is_named(path, common)]
    if not left or not (step.files or any(other.files for other in run.plan.steps) or "`" in text):
        return NOTHING
    owners = _Owners.of(_list_rivals(run, step))
    mine = {path: owners.find(path) for path in left}
    ruled = list_ruled_out(text)
    banned = tuple(path for path in left if mine[path] is None and _is_named(path, ruled))
    loose = tuple(path for path in left if mine[path] is None and path not in banned)
    theirs = [(Foreign(path=path, owner=other.id), other.binding) for path, other in mine.items() if other is not None]
    found = Strayed(
        foreign=tuple(file for file, binding in theirs if binding),
        out_of_scope=banned,
        noted=tuple(file for file, binding in theirs if not binding),
        unowned=loose[:MOST_NAMED] if step.files else (),
        total=len(loose) if step.files else 0,
    )
    return _weigh(run.begun.ownership, step, found, loose)


def _weigh(ownership: Ownership, step: Step, found: Strayed, loose: tuple[str, ...]) -> Strayed:
    """The same as the setting sees it: all of it only told, or what nobody owns refused as well."""
    match ownership:
        case Ownership.WARN:
            banned = (Foreign(path=path) for path in found.out_of_scope)
            return replace(found, foreign=(), out_of_scope=(), noted=(*found.foreign, *banned, *found.noted))
        case Ownership.STRICT if step.files and step.binding:
            return replace(found, outside=loose, unowned=(), total=0)
        case _:
            return found


def _list_helped(run: RunState, step: Step) -> Iterator[Step]:
    """The steps whose work a corrective step does."""
    planned = run.corrections.get(step.id)
    while planned is not None and planned.helps in run.plan.by_id:
        yield run.plan.by_id[planned.helps]
        planned = run.corrections.get(planned.helps)


def _list_rivals(run: RunState, step: Step) -> list[Step]:
    """The other steps of the plan that are not done, corrective ones for this step left out."""
    spared = {step.id, *(one.id for one in _list_helped(run, step))}
    spared |= {name for name, planned in run.corrections.items() if planned.helps in spared}
    return [one for one in run.plan.steps if one.id not in spared and not one.elsewhere and not satisfied(run, one.id)]


def _is_named(path: str, entries: Sequence[str]) -> bool:
    return any(names(entry, path) for entry in entries)


def find_stray(orders: Orders, state: StepState, run: RunState) -> Strayed:
    """What of the work still needs somebody's yes: its owner is not done by now, and nobody has allowed it."""
    if not orders.lands or not state.strayed.refused:
        return NOTHING
    allowed = _list_allowed(run, orders.step.id)
    return Strayed(
        foreign=tuple(
            file for file in state.strayed.foreign if file.path not in allowed and not satisfied(run, file.owner)
        ),
        out_of_scope=tuple(path for path in state.strayed.out_of_scope if path not in allowed),
        outside=tuple(path for path in state.strayed.outside if path not in allowed),
    )


def _list_allowed(run: RunState, step: StepId) -> set[str]:
    asked = [g for g in run.gates.values() if g.opened.kind is GateKind.OWNERSHIP and g.opened.step == step]
    return {path for g in asked if g.answer is not None and g.answer.choice == gates.ALLOW for path in g.opened.paths}


def tell_stray(orders: Orders, state: StepState, run: RunState) -> str:
    """What of the work may not land, in words; empty if all of it may."""
    told = tell_strayed(find_stray(orders, state, run))
    return f"the work changes {told}" if told else ""


def complain(orders: Orders, state: StepState, run: RunState) -> str:
    """What the agent hears of it once; empty if there is nothing, or it has heard it."""
    told = "" if state.overstepped else tell_strayed(find_stray(orders, state, run))
    if not told:
        return ""
    return (
        f"Your work changes {told}. These files are not part of this step: put them back as they were, and do the "
        "step without them. If it cannot be done so, leave them as they are and say why; a person decides then."
    )


def follow_stray(orders: Orders, state: StepState, run: RunState) -> Park | Finish | Undo | Verdict | None:
    """What follows work that changes files of others; None if it may be judged."""
    stray, step = find_stray(orders, state, run), orders.step
    if not stray.refused:
        return None
    told = f"the work changes {tell_strayed(stray)}"
    opens = gates.ownership(step, state.about, told=told, paths=stray.refused)
    if not state.overstepped and not is_asked(run, opens):
        return Verdict.FOREIGN
    match ask(orders, run, opens, blocks=told):
        case GateAnswered(choice=gates.UNDO):
            return Undo(paths=stray.refused)
        case GateAnswered(comment=comment):
            return reject(comment)
        case waits:
            return waits


def _is_hit(path: str, victim: Step) -> bool:
    """Whether a change of the path concerns what a step owns."""
    return _is_named(path, victim.files) or any(stands_above(path, entry) for entry in victim.files)


class Culprit(Record):
    """A step that changed files of another one; `commit` if that has landed, `gate` if a person is asked about it."""

    step: StepId
    paths: tuple[str, ...]
    commit: str = ""
    gate: str = ""


def list_culprits(run: RunState, victim: Step) -> list[Culprit]:
    """The steps that changed files of this one although they do not own them, as far as the run's stream tells."""
    found = []
    for finished in run.finished.values():
        doer = run.plan.by_id.get(finished.step)
        if doer is None or doer.id == victim.id or finished.commit is None:
            continue
        own = [*SHARED, *run.begun.shared, *(entry for one in (doer, *_list_helped(run, doer)) for entry in one.files)]
        paths = tuple(path for path in finished.files if _is_hit(path, victim) and not _is_named(path, own))
        if paths:
            found.append(Culprit(step=doer.id, paths=paths, commit=finished.commit))
    for gate in run.unanswered.values():
        opened = gate.opened
        paths = tuple(path for path in opened.paths if _is_hit(path, victim))
        if opened.kind is GateKind.OWNERSHIP and opened.step != victim.id and paths:
            found.append(Culprit(step=opened.step, paths=paths, gate=opened.gate))
    return found
