"""The report of a run: its outcome, its steps with proof, times and cost, its gates and its findings.

The rule: it is data, whole and typed. Pages for people are made of it and of nothing else. Keys are only ever added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from drumline.core import events as ev
from drumline.core.acceptance import list_red
from drumline.core.codec import FLOW_KINDS
from drumline.core.corrections import count_corrections
from drumline.core.deliverables import Declared, find_criteria, match_declared
from drumline.core.finalreview import count_rounds
from drumline.core.ids import StepId
from drumline.core.mutants import Mutation
from drumline.core.plan import Step
from drumline.core.recorded import Recorded
from drumline.core.routing import name_agent, spell_agent
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.sweeping import tell_cases, tell_updates
from drumline.core.vocabulary import Settlement, Severity, StepEnd, StepStanding
from drumline.record import Record, field
from drumline.views.activity import attempts, fixes, lost
from drumline.views.chunks import WAVES, Chunk, find_model, find_tier, name_tier, summarise
from drumline.views.cost import usage_json
from drumline.views.evidence import evidence_lines, list_evidence
from drumline.views.findings import Finding, choose, hits_cap, list_findings, tell_whole, whole_unreviewed
from drumline.views.landings import Landings, measure_landings
from drumline.views.proofs import find_proof
from drumline.views.snapshot import Snapshot
from drumline.views.spans import Span, list_spans
from drumline.views.states import EXIT_CODES, elapsed, run_state, step_state
from drumline.views.status import run_reason, step_reason
from drumline.views.usage import sum_agents, sum_run, sum_step

SCHEMA_VERSION = 1


class Used(Record):
    """Tokens and dollars; `cost_usd` is null where nothing is priced."""

    input: int
    output: int
    cached: int
    cost_usd: float | None
    attempts: int
    unpriced: int
    replayed: int


class Waited(Record):
    """Time in which a step could not go on: at a `gate`, or for a `quota`."""

    kind: str
    name: str
    began: float
    ended: float | None


class CheckMade(Record):
    """A check and what it said; `evidence` has a line for each tree that it was executed on."""

    command: str
    source: str
    verdict: str
    exit_code: int | None
    seconds: float
    log: str | None
    evidence: tuple[str, ...]


class Question(Record):
    """A gate, and its answer if there is one; one that is `withdrawn` no longer counts, as its run was resumed."""

    id: str
    kind: str
    step: str | None
    question: str
    choice: str | None
    withdrawn: bool
    comment: str
    by: str
    asked_at: float | None
    answered_at: float | None


Questions = Sequence[Question]


class StepMade(Record):
    """A step of the run; `critical` ones are on the chain that the run took longest for.

    `fails_on_head` are those of its checks that fail on the head of the run branch.
    """

    id: str
    title: str
    state: str
    level: str | None
    reasons: tuple[str, ...]
    reason: str | None
    needs: tuple[str, ...]
    attempts: int
    fixes: int
    heals: int
    lost: int
    files: tuple[str, ...]
    tests_added: tuple[str, ...]
    commit: str | None
    landed_by: str | None
    fails_on_head: tuple[str, ...]
    agent: str
    tier: str | None
    model: str | None
    summary: str
    usage: Used
    waits: tuple[Waited, ...]
    spans: tuple[Span, ...]
    checks: tuple[CheckMade, ...]
    notices: tuple[str, ...]
    critical: bool
    diff: tuple[str, ...]
    reviews: int
    reviewed: str | None
    unreviewed: str | None
    unread: tuple[str, ...]
    mutants: Mutation
    edge_cases: tuple[str, ...]
    downstream: tuple[str, ...]


_NAMES = {
    "hit_review_cap": "hitReviewCap",
    "per_chunk": "perChunk",
    "files_changed": "filesChanged",
    "unresolved_blockers": "unresolvedBlockers",
}


class RunReport(Record, rename=_NAMES):
    """A run as it is now, usually at its end. Times are in seconds since 1970.

    `filesChanged` are those that landed; `files` of a step that is not done are its progress so far.
    `iterations` are fixes after checks and after reviews; `hitReviewCap` says that blockers are left although they
    went back as often as they may. `unresolvedBlockers` are those that are not settled, `confirmed` or not, and those
    that a person accepted as they are. `concerns` and `nits` are those that are neither fixed nor wrong, `deferred`
    what was put off, `unassigned` what names a step that there is not. It is `clean` without blockers and concerns,
    where every agent that was asked gave an answer that could be used.
    `declared` are the files, checks and criteria of the plan, each with the commit of its landing, or with why it is
    `open`. `landings` are figures of the landing queue.
    """

    schema_version: int
    run: str
    state: str
    exit_code: int
    reason: str | None
    plan: str
    title: str
    branch: str | None
    base: str
    agent: str
    mode: str
    started_at: float
    ended_at: float
    seconds: float
    iterations: int
    hit_review_cap: bool
    per_chunk: tuple[Chunk, ...]
    files_changed: tuple[str, ...]
    clean: bool
    unresolved_blockers: tuple[Finding, ...]
    concerns: tuple[Finding, ...]
    nits: tuple[Finding, ...]
    review_of_the_whole: tuple[str, ...]
    skipped: tuple[str, ...]
    unassigned: tuple[Finding, ...]
    deferred: tuple[Finding, ...]
    usage: Used
    agents: dict[str, Used]
    steps: tuple[StepMade, ...]
    gates: tuple[Question, ...]
    declared: tuple[Declared, ...]
    landings: Landings


class History(Record):
    """What a report is made of beside the snapshot: the streams with their times, the diffs and the texts of steps."""

    own: Sequence[Recorded]
    streams: Mapping[StepId, Sequence[Recorded]]
    diffs: Mapping[StepId, Sequence[str]]
    texts: Mapping[StepId, str] = field(default_factory=dict)


def run_report(snapshot: Snapshot, history: History) -> RunReport:
    """The report of a run."""
    run, begun = snapshot.run, snapshot.run.begun
    gates = _list_gates(run, history.own)
    critical = find_critical(run, history.own)
    steps = tuple(_make_step(snapshot, step, history, gates, critical) for step in run.selected())
    found = list_findings(snapshot)
    blockers, concerns = choose(found, Severity.BLOCKER), choose(found, Severity.CONCERN)
    return RunReport(
        schema_version=SCHEMA_VERSION,
        run=run.id,
        state=run_state(snapshot).value,
        exit_code=EXIT_CODES[run_state(snapshot)],
        reason=run_reason(snapshot) or None,
        plan=begun.plan,
        title=run.plan.title or begun.plan_name,
        branch=begun.branch or None,
        base=begun.base,
        agent=begun.agent,
        mode=run.mode.value,
        started_at=snapshot.started_at,
        ended_at=snapshot.last_at if run.ended is not None or run.parked else snapshot.now,
        seconds=round(elapsed(snapshot), 3),
        iterations=sum(step.fixes + step.reviews for step in steps) + count_rounds(run),
        hit_review_cap=hits_cap(snapshot),
        per_chunk=tuple(_tell_chunk(step, run.plan.format) for step in steps),
        files_changed=tuple(sorted({file for step in steps if step.state == StepStanding.DONE for file in step.files})),
        clean=not (blockers or concerns or whole_unreviewed(run)) and all(map(_is_clean, steps)),
        unresolved_blockers=blockers,
        concerns=concerns,
        nits=choose(found, Severity.NIT),
        review_of_the_whole=tell_whole(run),
        skipped=tuple(step.id for step in steps if step.state == StepStanding.SKIPPED),
        unassigned=tuple(one for one in found if not one.step),
        deferred=tuple(one for one in found if one.settled == Settlement.DEFERRED.value),
        usage=_use(sum_run(snapshot)),
        agents={name: _use(usage) for name, usage in sum_agents(snapshot).items()},
        steps=steps,
        gates=gates,
        declared=match_declared(run, {step: find_criteria(text) for step, text in history.texts.items()}),
        landings=measure_landings(history.own, history.streams),
    )


def find_critical(run: RunState, own: Sequence[Recorded]) -> frozenset[StepId]:
    """The chain of needs that ended last: from the last step that is done, always to its need that was done last."""
    over = {
        entry.event.step: entry.at
        for entry in own
        if isinstance(entry.event, ev.StepFinished) and entry.event.state is StepEnd.DONE
    }
    found: list[StepId] = []
    left = [step.id for step in run.selected() if step.id in over]
    while left:
        found.append(max(left, key=lambda step: over[step]))
        left = [need for need in run.plan.by_id[found[-1]].needs if need in over and need not in found]
    return frozenset(found)


def _is_clean(step: StepMade) -> bool:
    """Whether it is done or skipped, and everybody who was asked about it gave a usable answer."""
    return step.state in (StepStanding.DONE, StepStanding.SKIPPED) and not (step.unread or step.unreviewed)


def _make_step(snapshot: Snapshot, step: Step, history: History, gates: Questions, critical: Set[StepId]) -> StepMade:
    run, finished, proof = snapshot.run, snapshot.run.finished.get(step.id), find_proof(snapshot.run, step.id)
    entries, state, judged, worked = _read_work(run, step, history)
    return StepMade(
        id=step.id,
        title=step.title,
        state=step_state(snapshot, step.id).value,
        level=proof.level.value if proof else None,
        reasons=tuple(reason.value for reason in proof.why) if proof else (),
        reason=step_reason(snapshot, step.id) or None,
        needs=tuple(step.needs),
        attempts=attempts(snapshot, step.id),
        fixes=fixes(snapshot, step.id),
        heals=count_corrections(run, step.id),
        lost=lost(snapshot, step.id),
        files=finished.files if finished else (),
        tests_added=finished.new_tests if finished else (),
        commit=finished.commit if finished else None,
        landed_by=(finished.landed_by or None) if finished else None,
        fails_on_head=list_red(run, step),
        agent=spell_agent(run, state.agent if state.asked is not None else name_agent(step, run.begun.profiles)),
        tier=find_tier(entries),
        model=find_model(worked.last),
        summary=summarise(worked.last),
        usage=_use(sum_step(snapshot, step.id)),
        waits=_list_waits(step.id, gates, history.own),
        spans=list_spans(entries),
        checks=tuple(_list_checks(run, judged, worked)) if entries else (),
        notices=finished.notices if finished else (),
        critical=step.id in critical,
        diff=tuple(history.diffs.get(step.id, ())),
        reviews=finished.reviews if finished else state.reviews,
        reviewed=finished.reviewed or None if finished else None,
        unreviewed=finished.unreviewed or None if finished else None,
        unread=state.list_unread(),
        mutants=finished.mutants if finished else Mutation(),
        edge_cases=tuple(tell_cases(finished.swept)) if finished and finished.swept else (),
        downstream=tuple(tell_updates(finished.swept)) if finished and finished.swept else (),
    )


def _list_waits(step: StepId, gates: Questions, own: Sequence[Recorded]) -> tuple[Waited, ...]:
    asked = [
        Waited(kind="gate", name=gate.id, began=gate.asked_at, ended=gate.answered_at)
        for gate in gates
        if gate.step == step and gate.asked_at is not None
    ]
    timers = [
        Waited(kind="quota", name=entry.event.reason, began=entry.at, ended=entry.event.until)
        for entry in own
        if isinstance(entry.event, ev.StepDeferred) and entry.event.step == step and entry.event.until is not None
    ]
    return (*asked, *timers)


def _read_work(run: RunState, step: Step, history: History) -> tuple[Sequence[Recorded], StepState, Step, StepState]:
    """What a step's stream has, what it comes to, and whose checks and words say what became of the step."""
    entries = history.streams.get(step.id, ())
    state = _fold(run, entries)
    return (entries, state, *_find_judged(run, step, state, history))


def _find_judged(run: RunState, step: Step, state: StepState, history: History) -> tuple[Step, StepState]:
    """Whose checks and words say what became of a step: its own, or those of the corrective step that landed for it."""
    finished = run.finished.get(step.id)
    if finished is None or finished.landed_by not in history.streams:
        return step, state
    return run.find_step(finished.landed_by) or step, _fold(run, history.streams[finished.landed_by])


def _fold(run: RunState, entries: Sequence[Recorded]) -> StepState:
    if not run.lands:  # a flow by itself has no work that proofs are about
        return StepState()
    return fold_step(StepState(), [one.event for one in entries if type(one.event).__name__ not in FLOW_KINDS])


def _list_checks(run: RunState, step: Step, state: StepState) -> list[CheckMade]:
    return [
        CheckMade(
            command=found.command,
            source=found.source,
            verdict=("passed" if found.exit_code == 0 else "failed")
            if found.was_run and not found.outside
            else "not run",
            exit_code=found.exit_code,
            seconds=round(found.seconds, 3),
            log=found.log or None,
            evidence=tuple(evidence_lines(found)[1:]),
        )
        for found in list_evidence(run, step, state)
    ]


def _list_gates(run: RunState, own: Sequence[Recorded]) -> tuple[Question, ...]:
    asked = {entry.event.gate: entry.at for entry in own if isinstance(entry.event, ev.GateOpened)}
    answered = {entry.event.gate: entry.at for entry in own if isinstance(entry.event, ev.GateAnswered)}
    return tuple(
        Question(
            id=name,
            kind=gate.opened.kind.value,
            step=gate.opened.step or None,
            question=gate.opened.question,
            choice=gate.given.choice if gate.given else None,
            comment=gate.given.comment if gate.given else "",
            by=gate.given.by if gate.given else "",
            withdrawn=gate.withdrawn is not None,
            asked_at=asked.get(name),
            answered_at=answered.get(name),
        )
        for name, gate in run.gates.items()
    )


def _tell_chunk(step: StepMade, plan_format: str) -> Chunk:
    ran = [check.verdict == "passed" for check in step.checks if check.verdict != "not run"]
    return Chunk(
        chunk=step.id,
        chunk_id=step.id,
        status=step.state,
        iterations=step.fixes,
        files=step.files,
        commit=step.commit,
        ok=step.state == StepEnd.DONE.value,
        attempts=step.attempts,
        model=name_tier(step.tier) if plan_format == WAVES else step.model,
        summary=step.summary,
        tests_passed=all(ran) and not step.fails_on_head if ran else None,
    )


def _use(usage: Mapping[str, float]) -> Used:
    return Used(**usage_json(usage))  # type: ignore[arg-type]
