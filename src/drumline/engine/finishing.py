"""Writes the end of a step: what landed, which files that are, and how much is known about it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core import gates
from drumline.core.baseline import SHARED, list_counting, list_inherited, look_up
from drumline.core.checklist import list_own
from drumline.core.claims import count_claimed
from drumline.core.decide import UNFINISHED
from drumline.core.documents import digest_document
from drumline.core.flow.events import FlowEnded, NodeEnded
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import Key
from drumline.core.foul import changes_tests
from drumline.core.handoffdoc import FILED, find_document_faults, find_staleness, write_handoff
from drumline.core.heldout import SHOWN
from drumline.core.ids import StepId, Stream
from drumline.core.judge import list_edited, list_new_tests
from drumline.core.kinds import find_lander, judges
from drumline.core.mutants import Mutation
from drumline.core.orders import Orders, orders_for
from drumline.core.plan import Step
from drumline.core.products import is_productless
from drumline.core.proof import Colour, Facts, Proof, settle
from drumline.core.roles import only_reads
from drumline.core.sharing import name_superseded
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.taskreport import list_facts
from drumline.core.vocabulary import DocumentKind, GateKind, StepEnd, WalkEnd
from drumline.engine.agent_call import MOST_MESSAGE
from drumline.engine.flow.stack import Halt
from drumline.engine.nodes.stepwork import StepWork
from drumline.engine.products import Missing, find_links_out, find_missing, spell_path
from drumline.engine.services import Services
from drumline.errors import GitError
from drumline.ports.workspaces import Workspaces
from drumline.record import replace


async def write_end(
    command: cmd.Finish, state: StepState, orders: Orders, *, run: RunState, workspaces: Workspaces
) -> ev.StepFinished:
    """The event that a step finishes with, but for its figures."""
    files, unchanged = await _list_changes(state, workspaces)
    landed = state.landed if command.state is StepEnd.DONE else None
    missing = await find_missing(workspaces, orders.step, state, files) if landed else Missing()
    links = find_links_out(workspaces.path(orders.step.id), files) if landed else ()
    facts = replace(_gather(state, orders, run, unchanged=unchanged), hidden=bool(missing.hidden or links))
    proof = settle(facts) if landed else None
    passed, total = (facts.passed, facts.total) if landed else _count_all(state, orders, facts)
    return ev.StepFinished(
        step=orders.step.id,
        state=command.state,
        reason=command.reason[:MOST_MESSAGE],
        rejected=command.rejected,
        commit=landed.commit if landed else None,
        tree=landed.tree if landed else None,
        base=state.base if landed else None,
        level=proof.level if proof else None,
        why=proof.why if proof else (),
        checks_passed=passed,
        checks_total=total,
        claims=len(orders.step.qa),
        claimed=count_claimed(state.last.message, len(orders.step.qa)) if state.last else 0,
        files=tuple(files),
        created=tuple(path for path, kind in files.items() if kind == "created"),
        deleted=tuple(path for path, kind in files.items() if kind == "deleted"),
        failure=command.failure,
        login=command.login,
        unchanged=bool(landed and unchanged),
        void=tuple(ended.command for ended in state.void() if not ended.outside),
        outside=tuple(ended.command for ended in state.void() if ended.outside),
        hidden=missing.hidden,
        removed=missing.removed,
        links=links,
        ignored=state.last.ignored if state.last and landed else (),
        tests=tuple(spell_path(path) for path in list_edited(state.touched)) if landed else (),
        new_tests=tuple(spell_path(path) for path in list_new_tests(state.touched)) if landed else (),
        mutants=state.mutants or Mutation(),
        learned=(*state.learned, *state.settle_fix()),
        supersedes=name_superseded(orders, state, run) if landed else (),
        failing=() if landed else tuple(ended.command for ended in state.faults()),
    )


def foresee(state: StepState, orders: Orders, run: RunState) -> Proof:
    """How much would be known about the step if its work landed as it is."""
    facts = _gather(state, orders, run, unchanged=state.tree == state.ready)
    return settle(replace(facts, same_tree=True))


def add_handoff(work: StepWork, state: StepState, finished: ev.StepFinished) -> list[ev.Event]:
    """The end of a step, with its handoff and its notes where it is done and the plan's files have a place for them."""
    if not work.orders.lands or finished.state is not StepEnd.DONE:
        return [finished]
    text = make_handoff(work, state, finished) if work.run.plan.format in FILED else ""
    faults = find_document_faults(text, finished)
    documents = [] if faults else [_place(work, DocumentKind.HANDOFF, text)]
    facts = list_facts(state.last.report) if state.last else ()
    notes = "".join(f"- {fact} (step {work.orders.step.id}, run {work.run.id})\n" for fact in facts)
    documents += [_place(work, DocumentKind.NOTES, notes)] if notes else []
    return [finished, *(document for document in documents if document.path)]


def make_handoff(work: StepWork, state: StepState, finished: ev.StepFinished) -> str:
    """The handoff of a step that ends so."""
    stream = Stream(work.run.id, work.orders.step.id)
    told = (entry.event for entry in work.services.store.read(stream, kinds=(NodeEnded.__name__,)))
    return write_handoff(work.run, work.orders, state, finished, staleness=find_staleness(told))


def _place(work: StepWork, kind: DocumentKind, text: str) -> ev.DocumentWritten:
    return _place_of(work.services, work.orders.step, kind, text)


def _place_of(services: Services, step: Step, kind: DocumentKind, text: str) -> ev.DocumentWritten:
    path = services.planfiles.place(kind, step)
    return ev.DocumentWritten(step=step.id, kind=kind, text=text, digest=digest_document(text), path=path)


def hand_over_healed(services: Services, run: RunState, finished: ev.StepFinished) -> list[ev.Event]:
    """The handoff of a step that its corrective step landed for, where the plan's files have a place for it."""
    if run.plan.format not in FILED:
        return []
    step = run.plan.by_id[finished.step]
    told = [entry.event for entry in services.store.read(Stream(run.id, finished.landed_by))]
    state = fold_step(StepState(), told)
    text = write_handoff(run, orders_for(run, step), state, finished, staleness=find_staleness(told))
    document = _place_of(services, step, DocumentKind.HANDOFF, text)
    return [document] if document.path and not find_document_faults(text, finished) else []


def write_closed(command: cmd.Close, run: RunState) -> ev.StepFinished:
    """The end of a step that no driver works on; of one that has ended before, what is known of its work stays."""
    known = run.finished.get(command.step) or ev.StepFinished(step=command.step, state=command.state)
    return replace(
        known,
        state=command.state,
        reason=command.reason[:MOST_MESSAGE],
        rejected=command.rejected,
        tried=command.tried or known.tried,
    )


def write_healed(command: cmd.Heal, run: RunState) -> ev.StepFinished:
    """The end of a step whose corrective step did its work: as well proved as that one is."""
    by = run.finished[command.by]
    checks = len(list_own(run, run.plan.by_id[command.step]))
    return ev.StepFinished(
        step=command.step,
        state=StepEnd.DONE,
        reason=f"landed by {command.by}",
        level=by.level,
        why=by.why,
        checks_passed=checks,
        checks_total=checks,
        landed_by=command.by,
    )


def write_run_end(command: cmd.Finish, state: StepState, orders: Orders) -> ev.StepFinished:
    """The end of a walk of the run itself: nothing lands, so that there is nothing to prove."""
    return ev.StepFinished(
        step=orders.step.id,
        state=command.state,
        reason=command.reason[:MOST_MESSAGE],
        rejected=command.rejected,
        failure=command.failure,
        login=command.login,
        checks_passed=sum(1 for number in state.verdicts if state.proves(number)),
        checks_total=len(state.verdicts),
        superseded=_list_superseded(state, orders) if command.state is StepEnd.DONE else (),
    )


def _list_superseded(state: StepState, orders: Orders) -> tuple[str, ...]:
    """The steps' own checks that fail on what the run leaves behind."""
    own = (
        check for number, check in enumerate(orders.checks) if check.source not in SHARED and number in state.verdicts
    )
    failing = {ended.command for ended in state.failing()}
    return tuple(check.command for check in own if check.command in failing)


def _count_all(state: StepState, orders: Orders, facts: Facts) -> tuple[int, int]:
    """How many checks passed, of how many, with those of landed steps: they prove nothing, but may be what fails."""
    theirs = [n for n, check in enumerate(orders.checks) if find_lander(check) and n in state.verdicts]
    return facts.passed + sum(1 for number in theirs if state.proves(number)), facts.total + len(theirs)


def _gather(state: StepState, orders: Orders, run: RunState, *, unchanged: bool) -> Facts:
    checks = orders.checks
    kept_red = {*list_inherited(checks, state, last=orders.last)}
    judging = [n for n, check in enumerate(checks) if (judges(check) or n in kept_red) and not find_lander(check)]
    shown = sum(1 for check in checks if check.source == SHOWN)
    before = [look_up(number, check, state, run) or Colour.UNKNOWN for number, check in enumerate(checks)]
    return Facts(
        total=len(orders.step.not_run) + (len(judging) if len(judging) > shown else 0),
        passed=sum(1 for number in judging if state.proves(number)),
        inherited=len({*judging} & kept_red),
        same_tree=state.landed is not None and state.landed.tree == state.tree,
        unchanged=unchanged,
        read_only=only_reads(orders.step.role),
        declared=_is_declared(state, orders.step, run),
        tests_changed=changes_tests(state.judged) and not _is_reviewed(state, orders.step, run),
        survivors=state.mutants is not None and bool(state.mutants.survivors),
        before=tuple(before[number] for number in list_counting(checks)),
        red_first=tuple(colour for colour, check in zip(before, checks, strict=True) if check.red_first),
    )


def _is_reviewed(state: StepState, step: Step, run: RunState) -> bool:
    """Whether a person has said yes to the work with the tests it changed."""
    asked = [run.find_gate(kind, step.id, state.about) for kind in (GateKind.APPROVE, GateKind.JUDGE)]
    given = [gate.answer.choice for gate in asked if gate is not None and gate.answer is not None]
    return gates.APPROVE in given or gates.ALLOW in given


def _is_declared(state: StepState, step: Step, run: RunState) -> bool:
    """Whether a person has said that there was nothing left to do."""
    asked = run.find_gate(GateKind.UNCHANGED, step.id, state.about)
    return asked is not None and asked.answer is not None and asked.answer.choice == gates.ALREADY_DONE


async def _list_changes(state: StepState, workspaces: Workspaces) -> tuple[dict[str, str], bool]:
    """The files that the step changed, and whether it is known that none is a product of its own."""
    if state.base is None or state.tree is None:
        return {}, False
    with contextlib.suppress(GitError):  # for lack of a list of files no landed step becomes a blocked one
        changed = await workspaces.changed(state.base, state.tree)
        productless = is_productless(changed, tree=state.tree, ready=state.ready)
        return {spell_path(path): kind for path, kind in changed.items()}, productless
    return {}, False


def finish_walk(step: StepId, ended: FlowEnded, usage: Mapping[str, float]) -> ev.StepFinished:
    """The end of the step: a rejected flow has failed, and says that it was rejected."""
    rejected = ended.status is WalkEnd.REJECTED
    return ev.StepFinished(
        step=step,
        state=ended.status.of_step,
        reason=ended.reason or ("rejected" if rejected else ""),
        rejected=rejected,
        usage=usage,
        login=ended.login,
    )


def block_walk(step: StepId, blocked: Mapping[Key, Halt], usage: Mapping[str, float]) -> ev.StepFinished:
    """The end of a step whose walk is not over, but whose due visits cannot be done here."""
    if not blocked:
        raise AssertionError("nothing is due in a flow that has not ended")
    key, halt = next(iter(blocked.items()))
    others = len(blocked) - 1
    more = f" (and {others:,} more)" if others else ""
    told = f"{call_scope(*key)}: {halt.reason}{more}"
    return ev.StepFinished(
        step=step, state=StepEnd.BLOCKED, reason=told, failure=UNFINISHED, usage=usage, login=halt.login
    )
