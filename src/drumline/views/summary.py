"""What a run leaves its user with: what landed and how well it is proved, what did not and why, where to look next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from drumline.core.acceptance import tell_red
from drumline.core.claims import tell_claims
from drumline.core.events import StepFinished
from drumline.core.flow.ends import warn_of_status
from drumline.core.flow.model import EndNode
from drumline.core.ids import NO_STEP, Commit, RunId, StepId
from drumline.core.needs import is_skipped
from drumline.core.plaintext import name_some
from drumline.core.products import tell_ignored
from drumline.core.proof import Level, Proof
from drumline.core.state import RunState
from drumline.core.tally import Tally
from drumline.core.vocabulary import RunStanding, StepEnd, StepStanding
from drumline.core.waves import list_verified, manual_items
from drumline.record import Record
from drumline.views.activity import attempts, checks, fixes, lost
from drumline.views.causes import SHORT_COMMIT, explain_doubt
from drumline.views.cells import count, flatten, join_reason, list_under
from drumline.views.cost import describe_usage, spending_lines, usage_json
from drumline.views.duration import duration
from drumline.views.findings import tell_review, tell_whole
from drumline.views.flakes import checks_json, list_flaky_checks, list_not_run
from drumline.views.gates import tell_choices
from drumline.views.landings import list_coming
from drumline.views.learned import Learned, describe_learned, learned_json, learned_lines
from drumline.views.leavings import (
    Leavings,
    describe_leavings,
    elsewhere_lines,
    leavings_json,
    leavings_lines,
    list_uncommitted,
)
from drumline.views.mutants import tell_survivors
from drumline.views.onward import list_next
from drumline.views.proofs import proof_json
from drumline.views.remarks import Remark, list_remarks, remark_json, remark_line
from drumline.views.snapshot import Snapshot, Walk
from drumline.views.states import elapsed, run_state, step_state
from drumline.views.status import run_reason, step_reason
from drumline.views.usage import sum_agents, sum_run
from drumline.views.walked import Walked, measure, walk_json

_ALSO_TOLD = (Level.KEPT.value, Level.UNPROVED.value, Level.DECLARED.value)
"""Levels that are counted for people beside what is proved."""


class Landed(Record):
    """A step whose commit is on the run branch."""

    step: StepId
    title: str
    commit: Commit | None
    proof: Proof | None
    note: str

    @property
    def proved(self) -> bool:
        """Whether its checks prove it."""
        return self.proof is not None and self.proof.is_proved


class Unfinished(Record):
    """A step that is not done, and why; `said` is what a person said who rejected it."""

    step: StepId
    state: str
    reason: str
    said: str = ""


class Summary(Record):
    """The run in figures; `walked` of a run of a flow. No figure counts the `run_walks`, those of the run itself.

    `cause` is the step for whose reason the run is not done.
    """

    run: RunId
    state: str
    reason: str
    total: int
    landed: tuple[Landed, ...]
    declared: int
    skipped: int
    unfinished: tuple[Unfinished, ...]
    manual: tuple[tuple[StepId, str], ...]
    remarks: tuple[Remark, ...]
    elsewhere: tuple[tuple[StepId, str], ...]
    attempts: int
    fixes: int
    lost: int
    checks_passed: int
    checks_total: int
    seconds: float
    usage: Mapping[str, float]
    agents: Mapping[str, Mapping[str, float]]
    branch: str
    next: tuple[str, ...]
    told: tuple[str, ...]
    walked: Walked | None = None
    run_walks: tuple[Unfinished, ...] = ()
    cause: StepId = NO_STEP
    learned: Learned
    left: Leavings
    flaky: tuple[tuple[str, Tally], ...] = ()
    not_run: tuple[tuple[StepId, str], ...] = ()
    whole: tuple[str, ...] = ()
    coming: tuple[str, ...] = ()

    @property
    def proved(self) -> int:
        """How many landed steps are proved."""
        return sum(1 for step in self.landed if step.proved)

    @property
    def levels(self) -> dict[str, int]:
        """How many steps that are done have each level; those of which there is none are left out."""
        counts = Counter(step.proof.level for step in self.landed if step.proof is not None)
        counts[Level.DECLARED] += self.declared
        return {level.value: counts[level] for level in Level if counts[level]}


def summary(snapshot: Snapshot, *, changed: Collection[str] | None = None) -> Summary:
    """The run as it is now, usually at its end; `changed` are the files of the checkout that are not committed."""
    run = snapshot.run
    steps = run.selected()
    states = {step.id: step_state(snapshot, step.id) for step in steps}
    over = [run.finished[step.id] for step in steps if step.id in run.finished]
    judged = [checks(snapshot, step) for step in steps if _is_judged(snapshot, step.id)]
    landed = tuple(_landed(f, run) for f in over if f.state is StepEnd.DONE)
    return Summary(
        run=run.id,
        state=run_state(snapshot),
        reason=run_reason(snapshot),
        total=len(steps),
        landed=landed,
        declared=sum(1 for step in steps if step.id in run.declared),
        skipped=sum(1 for state in states.values() if state is StepStanding.SKIPPED),
        unfinished=tuple(_unfinished(snapshot, s) for s, state in states.items() if state not in _SETTLED),
        manual=_to_verify(run),
        remarks=list_remarks(run),
        elsewhere=tuple((step.id, step.elsewhere) for step in run.plan.steps if step.elsewhere),
        attempts=sum(attempts(snapshot, step.id) for step in steps),
        fixes=sum(fixes(snapshot, step.id) for step in steps),
        lost=sum(lost(snapshot, step.id) for step in steps),
        checks_passed=sum(passed for passed, _ in judged),
        checks_total=sum(total for _, total in judged),
        seconds=elapsed(snapshot),
        usage=sum_run(snapshot),
        agents=sum_agents(snapshot),
        branch=run.begun.branch,
        next=(following := list_next(snapshot, anything_landed=bool(landed))),
        told=tuple(tell_choices(run, command) for command in following),
        walked=measure(snapshot.flow_walk) if snapshot.flow_walk is not None else None,
        cause=run.ended.step if run.ended is not None else NO_STEP,
        run_walks=tuple(_unfinished(snapshot, step.id, idle="") for step in run.list_own_walks()),
        learned=describe_learned(run),
        left=describe_leavings(run, changed=changed),
        flaky=list_flaky_checks(run),
        not_run=list_not_run(run),
        whole=tell_whole(run),
        coming=list_coming(run),
    )


_SETTLED = (StepStanding.DONE, StepStanding.SKIPPED)


def summary_lines(found: Summary) -> list[str]:
    """The summary for people."""
    listed = any(one.step == found.cause for one in (*found.unfinished, *found.run_walks))
    if found.walked is not None:
        lines = _walk_lines(found, found.walked)
    else:
        why = f": {flatten(found.reason)}" if found.reason and not listed else ""
        lines = [
            f"run {found.run} {found.state}{why}",
            _figures(found),
            _effort(found),
            *spending_lines(found.usage, found.agents),
        ]
        lines += leavings_lines(found.left)
        lines += list_under("landed", [_landed_line(step, dict(found.left.files)) for step in found.landed])
        stuck = [*found.unfinished, *(one for one in found.run_walks if one.state not in _SETTLED)]
        lines += list_under("not done", [_tell_unfinished(one) for one in stuck])
    lines += elsewhere_lines(found.left, found.elsewhere)
    lines += list_under("verify by hand", [f"{step}: {flatten(item)}" for step, item in found.manual])
    lines += list_under("flaky checks", [f"{flatten(command)} ({tally.in_words()})" for command, tally in found.flaky])
    lines += list_under("not run", [f"{step}: {flatten(item)}" for step, item in found.not_run])
    lines += list_under("conflicts foreseen", found.coming)
    lines += list_under("review of the whole", found.whole)
    lines += list_under("lessons", learned_lines(found.learned))
    lines += list_under("said at gates", [remark_line(said) for said in found.remarks])
    lines += list_under("next", found.told)
    return lines


def _walk_lines(found: Summary, walked: Walked) -> list[str]:
    where = f" at {walked.end}" if walked.end else ""
    status = f" ({walked.status})" if walked.status and walked.status != found.state else ""
    why = f": {flatten(found.reason)}" if found.reason and found.reason != walked.status else ""
    used = [describe_usage(found.usage)] if found.usage else []
    took = ", ".join([count(walked.visits, "visit"), duration(found.seconds), *used])
    lines = [f"run {found.run} {found.state}{status}{where}{why}", f"  {took}"]
    lines += [f"  changed no file: {name_some(walked.unchanged)}"] if walked.unchanged else []
    return lines + ([f"  branch {found.branch}"] if found.branch and found.state == RunStanding.DONE else [])


def output_lines(snapshot: Snapshot) -> list[str]:
    """What the end of a flow put out."""
    end = snapshot.flow_walk.end if snapshot.flow_walk is not None else None
    return end.output.removesuffix("\n").split("\n") if end is not None and end.output else []


def warn_of_end(walk: Walk) -> str:
    """Where the status of a walk's end was read from a word, if it was."""
    root = walk.root
    node = root.chart.nodes.get(root.ended.node) if root and root.ended else None
    return warn_of_status(node, root.ended.status) if root and root.ended and isinstance(node, EndNode) else ""


def summary_json(found: Summary) -> dict[str, object]:
    """The summary for programs."""
    return {
        "schema_version": 1,
        "run": found.run,
        "state": found.state,
        "reason": found.reason or None,
        "total": found.total,
        "landed": [_landed_json(step) for step in found.landed],
        "proved": found.proved,
        "levels": found.levels,
        "declared": found.declared,
        "skipped": found.skipped,
        "unfinished": [{"step": u.step, "state": u.state, "reason": u.reason} for u in found.unfinished],
        "run_walks": [{"step": w.step, "state": w.state, "reason": w.reason or None} for w in found.run_walks],
        "manual": [{"step": step, "item": item} for step, item in found.manual],
        "remarks": [remark_json(said) for said in found.remarks],
        "elsewhere": [{"step": step, "repository": repo} for step, repo in found.elsewhere],
        "attempts": found.attempts,
        "fixes": found.fixes,
        "lost": found.lost,
        "commits": sum(1 for s in found.landed if s.commit),
        "checks": checks_json(found.checks_passed, found.checks_total, found.flaky, found.not_run),
        "lessons": learned_json(found.learned),
        "review_of_the_whole": list(found.whole),
        "conflicts_foreseen": list(found.coming),
        **leavings_json(found.left),
        "seconds": round(found.seconds, 3),
        "usage": usage_json(found.usage),
        "agents": {name: usage_json(usage) for name, usage in found.agents.items()},
        "branch": found.branch,
        "next": list(found.next),
        **walk_json(found.walked),
    }


def _landed_json(step: Landed) -> dict[str, object]:
    told = {"step": step.step, "title": step.title, "commit": step.commit, "proved": step.proved}
    return {**told, "proof": proof_json(step.proof), "note": step.note or None}


def _landed(finished: StepFinished, run: RunState) -> Landed:
    step = run.plan.by_id[finished.step]
    ignored = tell_ignored(map(flatten, finished.ignored)) if finished.ignored else ""
    healed = f"landed by {finished.landed_by}" if finished.landed_by else ""
    return Landed(
        step=finished.step,
        title=step.title,
        commit=finished.commit,
        proof=finished.proof,
        note="; ".join(
            filter(None, (tell_red(run, step), explain_doubt(finished) or ignored, healed, *_tell_more(finished)))
        ),
    )


def _tell_more(finished: StepFinished) -> tuple[str, str, str]:
    return tell_review(finished), tell_survivors(finished.mutants), tell_claims(finished.claimed, finished.claims)


def _tell_unfinished(found: Unfinished) -> str:
    return f"{found.step} {join_reason(found.state, flatten(found.said or found.reason))}"


def _unfinished(snapshot: Snapshot, step: StepId, *, idle: str = "in work") -> Unfinished:
    finished, reason = snapshot.run.finished.get(step), step_reason(snapshot, step) or idle
    said = finished.said if finished is not None else ""
    return Unfinished(step=step, state=step_state(snapshot, step), reason=reason, said=said)


def _is_judged(snapshot: Snapshot, step: StepId) -> bool:
    """Whether the step's checks belong to the sum: somebody has worked on it, and it was not left out."""
    return attempts(snapshot, step) > 0 and not is_skipped(snapshot.run, step)


def _to_verify(run: RunState) -> tuple[tuple[StepId, str], ...]:
    """Manual items of landed steps that no person has passed at a gate."""
    items = ((step.id, item) for step in run.selected() for item in manual_items(run, step))
    return tuple((step, item) for step, item in items if item not in list_verified(run, step))


def _figures(found: Summary) -> str:
    steps = "step" if found.total == 1 else "steps"
    words = [f"{len(found.landed):,} of {found.total:,} {steps} landed", f"{found.proved:,} proved"]
    words += [f"{number:,} {level}" for level, number in found.levels.items() if level in _ALSO_TOLD]
    words += [f"{found.skipped:,} skipped"] if found.skipped else []
    words += [f"{len(found.unfinished):,} not done"] if found.unfinished else []
    return "  " + ", ".join(words)


def _effort(found: Summary) -> str:
    fixes = f", {found.fixes} of them fixes" if found.fixes else ""
    lost = f", {found.lost} cut short" if found.lost else ""
    judged = f"checks {found.checks_passed:,}/{found.checks_total:,}" if found.checks_total else "no checks"
    commits = count(sum(1 for step in found.landed if step.commit), "commit")
    where = f" on {found.branch}" if found.branch and found.landed else ""
    whole = "" if list_uncommitted(found.left) or not where else " (nothing uncommitted)"
    clean = ", clean run" if found.learned.clean and found.attempts and found.state is RunStanding.DONE else ""
    tried = f"{count(found.attempts, 'attempt')}{fixes}{lost}{clean}"
    return f"  {commits}{where}{whole}, {judged}, {tried}, {duration(found.seconds)}"


def _landed_line(step: Landed, files: Mapping[StepId, tuple[str, ...]]) -> str:
    commit = step.commit[:SHORT_COMMIT] if step.commit else "-" * SHORT_COMMIT
    changed = f": {flatten(name_some(files[step.step]))}" if step.step in files else ""
    return f"{commit} {step.step} {flatten(step.title)}{changed}" + (f" ({step.note})" if step.note else "")
