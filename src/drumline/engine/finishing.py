"""Writes the end of a step: what landed, which files that are, and how much is known about it."""

from __future__ import annotations

import contextlib

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core import gates
from drumline.core.baseline import list_counting, list_inherited, list_overruled, look_up
from drumline.core.orders import Orders
from drumline.core.plan import Step
from drumline.core.products import is_productless
from drumline.core.proof import Colour, Facts, settle
from drumline.core.roles import find_role
from drumline.core.state import RunState
from drumline.core.stepstate import StepState, list_silenced
from drumline.engine.agent_call import MOST_MESSAGE
from drumline.engine.products import Missing, find_missing, spell_path
from drumline.errors import GitError
from drumline.ports.workspaces import Workspaces
from drumline.record import replace


async def write_end(
    command: cmd.Finish, state: StepState, orders: Orders, *, run: RunState, workspaces: Workspaces
) -> ev.StepFinished:
    """The event that a step finishes with, but for its figures."""
    files, unchanged = await _list_changes(state, workspaces)
    landed = state.landed if command.state == "done" else None
    ignored = state.last.ignored if state.last and landed else ()
    missing = await find_missing(workspaces, orders.step, state, files) if landed else Missing()
    hidden = (*missing.ignored, *missing.removed)
    facts = replace(_gather(state, orders, run, unchanged=unchanged), hidden=bool(hidden))
    proof = settle(facts) if landed else None
    return ev.StepFinished(
        step=orders.step.id,
        state=command.state,
        reason=command.reason[:MOST_MESSAGE],
        rejected=command.rejected,
        commit=landed.commit if landed else None,
        tree=landed.tree if landed else None,
        level=proof.level if proof else None,
        why=proof.why if proof else (),
        checks_passed=facts.passed,
        checks_total=facts.total,
        files=tuple(files),
        created=tuple(path for path, kind in files.items() if kind == "created"),
        deleted=tuple(path for path, kind in files.items() if kind == "deleted"),
        failure=command.failure,
        unchanged=bool(landed and unchanged),
        void=tuple(ended.command for ended in state.void()),
        hidden=hidden,
        removed=missing.removed,
        ignored=ignored,
    )


def _gather(state: StepState, orders: Orders, run: RunState, *, unchanged: bool) -> Facts:
    checks = orders.checks
    before = [look_up(number, check, state, run) or Colour.UNKNOWN for number, check in enumerate(checks)]
    return Facts(
        total=len(checks) + len(orders.step.not_run),
        passed=sum(1 for number in range(len(checks)) if state.proves(number)),
        inherited=len(list_inherited(checks, state)),
        same_tree=state.landed is not None and state.landed.tree == state.tree,
        unchanged=unchanged,
        read_only=_is_read_only(orders.step),
        tests_changed=bool(list_overruled(state) or list_silenced(state)) and not _is_reviewed(state, orders.step, run),
        before=tuple(before[number] for number in list_counting(checks)),
        red_first=tuple(colour for colour, check in zip(before, checks, strict=True) if check.red_first),
    )


def _is_reviewed(state: StepState, step: Step, run: RunState) -> bool:
    """Whether a person has said yes to the work with the tests it changed."""
    asked = [run.find_gate(kind, step.id, state.attempts) for kind in (gates.APPROVAL, gates.JUDGE)]
    given = [gate.answer.choice for gate in asked if gate is not None and gate.answer is not None]
    return gates.APPROVE in given or gates.ALLOW in given


def _is_read_only(step: Step) -> bool:
    """Whether the step's role may change no file."""
    role = find_role(step.role)
    return role is not None and not role.capability.writes


async def _list_changes(state: StepState, workspaces: Workspaces) -> tuple[dict[str, str], bool]:
    """The files that the step changed, and whether it is known that none is a product of its own."""
    if state.base is None or state.tree is None:
        return {}, False
    with contextlib.suppress(GitError):  # for lack of a list of files no landed step becomes a blocked one
        changed = await workspaces.changed(state.base, state.tree)
        productless = is_productless(changed, tree=state.tree, ready=state.ready)
        return {spell_path(path): kind for path, kind in changed.items()}, productless
    return {}, False
