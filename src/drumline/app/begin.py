"""Begins a run: pins everything it depends on and records it, before anything is done."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

from drumline.app.catalog import RunBrief, read_run
from drumline.app.naming import find_step
from drumline.app.pins import Present, pin_timeouts
from drumline.core.events import Doubt, Event, GateAnswered, PlanPinned, RunStarted
from drumline.core.gates import YES, accept
from drumline.core.ids import Commit, RunId, StepId, Stream
from drumline.core.learned import Lesson
from drumline.core.nearest import did_you_mean
from drumline.core.plan import Check, Marks, Plan, Reading, Status, Step
from drumline.core.proof import Require
from drumline.core.schedule import next_step
from drumline.core.vocabulary import Mode, Mutants, OnConflict, Ownership, Review
from drumline.errors import InvalidInput
from drumline.ports.journal import Addition, Journal
from drumline.ports.roster import Roster
from drumline.record import Record, field

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"


class Choice(Record):
    """Which steps a run is about: none named means all; `named` ones may be asked to proceed without their needs."""

    step: str = ""
    only: tuple[str, ...] = ()
    start: str = ""


class Terms(Record):
    """How the run is driven; pinned for its whole life."""

    agent: str
    mode: Mode
    autonomy: str
    retries: int
    checks: tuple[str, ...] = ()
    setup: str = ""
    provide: tuple[str, ...] = ()
    subject: str = ""
    context: str = ""
    fallback: tuple[str, ...] = ()
    profiles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    budget: float | None = None
    rigor: str = ""
    timeouts: Mapping[str, float] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    typed: tuple[str, ...] = ()
    flow: str = ""
    require: str = Require.KEPT.value
    judge: tuple[str, ...] = ()
    mutants: Mutants = Mutants.SHOW
    ownership: Ownership = Ownership.FOREIGN
    shared: tuple[str, ...] = ()
    review: Review = Review.RISK
    on_conflict: OnConflict | None = None
    held_out: tuple[str, ...] = ()
    jailed: tuple[str, ...] = ()
    kinds: tuple[Check, ...] = ()


def pin_terms(present: Present, *, mode: str, typed: Iterable[str], context: str = "") -> Terms:
    """The terms of a run that begins with these settings; `typed` are those that the configuration does not say."""
    settings = present.settings
    return Terms(
        agent=present.agent,
        mode=Mode(mode),
        autonomy=settings.autonomy,
        retries=settings.retries,
        checks=settings.checks,
        setup=settings.setup,
        provide=settings.provide,
        subject=settings.subject,
        context=context,
        fallback=settings.fallback,
        profiles=present.profiles,
        budget=settings.budget,
        rigor=settings.rigor,
        flow=settings.flow,
        require=settings.require,
        judge=settings.judge,
        mutants=Mutants(settings.mutants),
        ownership=Ownership(settings.ownership),
        shared=settings.shared,
        review=Review(settings.review),
        on_conflict=OnConflict(settings.on_conflict),
        held_out=present.held_out,
        jailed=present.jailed,
        kinds=settings.kinds,
        timeouts=pin_timeouts(settings),
        commands=present.commands,
        typed=tuple(sorted(typed)),
    )


def pin_flow_terms(present: Present, *, agent: str, typed: Iterable[str]) -> Terms:
    """The terms of a run of a flow, whose nodes say what they need; `agent` is named if it does all the work."""
    settings = present.settings
    return Terms(
        agent=agent,
        mode=Mode.SEQUENTIAL,
        autonomy="critical",
        retries=0,
        fallback=settings.fallback,
        profiles=present.profiles if settings.fallback else {},
        budget=settings.budget,
        timeouts=pin_timeouts(settings),
        commands=present.commands,
        typed=tuple(sorted(typed)),
    )


def new_run_id(now: float) -> RunId:
    """A readable id that sorts by time, to the second."""
    stamp = time.strftime("%y%m%d-%H%M%S", time.localtime(now))
    return RunId(f"{stamp}-{''.join(secrets.choice(ALPHABET) for _ in range(3))}")


def choose_steps(reading: Reading, choice: Choice, live: frozenset[StepId]) -> tuple[StepId, ...] | None:
    """The ids the choice names, in plan order; None for all. InvalidInput names what does not exist."""
    steps = reading.plan.steps
    if choice.step == "next":
        found = next_step([step for step in steps if not step.elsewhere], reading.marks, live)
        if found is None:
            raise InvalidInput("no step is left: none is in progress or pending", hint="drumline status")
        return (found,)
    named, only, start = (
        [_named(reading.plan, name) for name in names if name]
        for names in ((choice.step,), choice.only, (choice.start,))
    )
    _assert_here(reading, [*named, *only])
    if named:
        return tuple(named)
    if only:
        return tuple(step.id for step in steps if step.id in only)
    if start:
        return _from(steps, start[0])
    return None


def list_todo(reading: Reading, selection: Sequence[StepId] | None) -> list[Step]:
    """The steps that a run of this selection works on: those that are here and neither done nor skipped."""
    over = {step for step, marks in reading.marks.items() if marks.status in (Status.DONE, Status.SKIPPED)}
    chosen = {step.id for step in reading.plan.steps} if selection is None else set(selection)
    return [step for step in reading.plan.steps if step.id in chosen - over and not step.elsewhere]


class Merge(Record):
    """That the result is wanted on a branch; with `asks` a person has to look first, for others wrote the text."""

    branch: str
    asks: bool = False


class Accepted(Record):
    """The steps of which it is known that they cannot be proved, and the person at the terminal who accepts that."""

    doubts: tuple[Doubt, ...]
    by: str


class Scope(Record):
    """What a run starts from and is about, and where its result goes.

    `flaky` are the checks that changed their verdict on one tree in earlier runs, by their digests,
    `lessons` what was learned in them, `durations` the seconds that steps took there. `branch` is the run branch,
    one with a name of its own if empty; `checkout` is the folder in which steps are worked on, on that branch.
    """

    run: RunId
    base: Commit
    selection: tuple[StepId, ...] | None = None
    inherited: tuple[StepId, ...] = ()
    merge: Merge | None = None
    issue: int = 0
    accepted: Accepted | None = None
    flaky: tuple[str, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    durations: Mapping[str, float] = field(default_factory=dict)
    branch: str = ""
    checkout: str = ""


async def begin_run(store: Journal, reading: Reading, terms: Terms, scope: Scope) -> RunStarted:
    """Record `RunStarted` and the pinned plan; nothing else has happened yet when this returns."""
    plan = reading.plan
    started = RunStarted(
        plan=plan.path,
        plan_name=plan.name,
        plan_digest=digest_of(reading.digests),
        branch=scope.branch or f"drumline/{plan.name}-{scope.run}",
        base=scope.base,
        selection=scope.selection,
        named=scope.selection is not None,
        merge=scope.merge.branch if scope.merge else "",
        merge_asks=scope.merge is not None and scope.merge.asks,
        issue=scope.issue,
        flaky=scope.flaky,
        lessons=scope.lessons,
        durations=scope.durations,
        checkout=scope.checkout,
        **{name: getattr(terms, name) for name in terms.__struct_fields__},
    )
    pinned = PlanPinned(
        format=plan.format,
        title=plan.title,
        steps=plan.steps,
        digests=reading.digests,
        marks={step: marks for step, marks in reading.marks.items() if marks != Marks()},
        inherited=scope.inherited,
        ticket=plan.ticket,
        complexity=plan.complexity,
        express=plan.express,
        preamble=plan.preamble,
        preflight=plan.preflight,
        final=plan.final,
        not_run=plan.not_run,
        repositories=plan.repositories,
    )
    events = [started, pinned, *_tell_accepted(scope.accepted)]
    await store.append({Stream(scope.run): Addition(events=events, expected=0)})
    return started


def _tell_accepted(accepted: Accepted | None) -> list[Event]:
    """The question that a person answered before the run began."""
    if accepted is None:
        return []
    asked = accept(accepted.doubts)
    return [asked, GateAnswered(gate=asked.gate, choice=YES, by=accepted.by, channel="terminal")]


def find_inherited(store: Journal, roster: Roster, reading: Reading, earlier: Sequence[RunBrief]) -> tuple[StepId, ...]:
    """Steps whose unfinished marks were left by runs of ours that nobody drives any more."""
    suspects = {
        step: marks
        for step, marks in reading.marks.items()
        if marks.status in (Status.CLAIMED, Status.BLOCKED, Status.FAILED)
    }
    found: set[StepId] = set()
    for brief in reversed(earlier):
        if not suspects.keys() - found:
            break
        if roster.drivers(brief.run):
            continue
        written = read_run(store, brief.run).mirrored
        for step, marks in suspects.items():
            ours = step in written and written[step].marks == marks
            if ours or marks.assignee == f"drumline/{brief.run}":
                found.add(step)
    return tuple(step.id for step in reading.plan.steps if step.id in found)


def digest_of(digests: Mapping[str, str]) -> str:
    """One digest for all files of the plan."""
    text = "\n".join(f"{path} {digest}" for path, digest in sorted(digests.items()))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _named(plan: Plan, name: str) -> StepId:
    found = find_step(plan, name)
    if found is None:
        legal = ", ".join(step.id for step in plan.steps[:10])
        meant = did_you_mean(name, plan.by_id)
        raise InvalidInput(f"the plan has no step {name!r} (it has {legal}){meant}", hint="drumline validate PLAN")
    return found


def _assert_here(reading: Reading, ids: Sequence[StepId]) -> None:
    """Steps asked for by name are refused if another repository has to do them: a run of none would look done."""
    for step in (reading.plan.by_id[step_id] for step_id in ids):
        if step.elsewhere:
            message = f"{step.id} is for the repository {step.elsewhere!r} and is not run here"
            raise InvalidInput(message, hint=f"drumline validate {quote(reading.plan.path)}")


def _from(steps: Sequence[Step], start: StepId) -> tuple[StepId, ...]:
    ids = [step.id for step in steps]
    return tuple(ids[ids.index(start) :])
