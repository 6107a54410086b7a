"""The report a single step ends with: its result, and everything a person wants to check about it."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.ids import Commit, GateId, RunId, StepId
from drumline.core.plan import Status
from drumline.core.proof import Level, Proof
from drumline.record import Record
from drumline.views.activity import attempts, checks
from drumline.views.causes import SHORT_COMMIT
from drumline.views.cells import flatten
from drumline.views.cost import describe_usage, usage_json
from drumline.views.gates import tell_choices
from drumline.views.proofs import describe_proof, find_proof, proof_json
from drumline.views.snapshot import Snapshot
from drumline.views.states import step_state
from drumline.views.status import step_reason
from drumline.views.usage import sum_step
from drumline.views.why import why


class StepReport(Record):
    """What came of one step in one run; `files` of a step that is not done are its progress so far.

    `claimed` of its `claims` hold by the word of its agent; `mark` is the status in its file: the last that the run
    gave it, or the one that the run found there.
    """

    run: RunId
    step: StepId
    title: str
    result: str
    proof: Proof | None
    files: tuple[str, ...]
    checks_passed: int
    checks_total: int
    claimed: int
    claims: int
    manual: tuple[str, ...]
    attempts: int
    usage: Mapping[str, float]
    commit: Commit | None
    reason: str
    hint: str
    told: str
    mark: str = ""
    gate: GateId | None = None


def step_report(snapshot: Snapshot, step: StepId) -> StepReport:
    """The report of one step; InvalidInput if the plan has no such step."""
    answer = why(snapshot, step)
    definition = snapshot.run.plan.by_id[step]
    finished = snapshot.run.finished.get(step)
    passed, total = checks(snapshot, definition)
    written, proof = snapshot.run.mirrored.get(step), find_proof(snapshot.run, step)
    found = Status.DONE.value if proof and proof.level is Level.DECLARED else ""
    return StepReport(
        run=snapshot.run.id,
        step=step,
        title=definition.title,
        result=step_state(snapshot, step),
        proof=proof,
        files=finished.files if finished else (),
        checks_passed=passed,
        checks_total=total,
        claimed=finished.claimed if finished else 0,
        claims=len(definition.qa),
        manual=definition.manual,
        attempts=attempts(snapshot, step),
        usage=sum_step(snapshot, step),
        commit=finished.commit if finished else None,
        reason=step_reason(snapshot, step),
        hint=answer.hint,
        told=tell_choices(snapshot.run, answer.hint),
        mark=written.marks.status.value if written else found,
        gate=answer.gate,
    )


def report_lines(report: StepReport) -> list[str]:
    """The report for people."""
    proof = f" ({describe_proof(report.proof)})" if report.proof else ""
    lines = [f"{report.step}: {flatten(report.title)}", f"  result    {report.result}{proof}"]
    if report.reason:
        lines.append(f"  reason    {flatten(report.reason)}")
    if report.commit:
        lines.append(f"  commit    {report.commit[:SHORT_COMMIT]}")
    lines.append(f"  checks    {report.checks_passed}/{report.checks_total} passed")
    if report.claims:
        lines.append(f"  qa        {report.claimed}/{report.claims}, says its agent")
    lines.append(f"  attempts  {report.attempts}")
    if report.usage:
        lines.append(f"  used      {describe_usage(report.usage)}")
    lines += _listed("files", report.files)
    lines += _listed("by hand", report.manual)
    if report.result != "done" or report.gate:
        lines.append(f"  next      {report.told}")
    return lines


def report_json(report: StepReport) -> dict[str, object]:
    """The report for programs."""
    return {
        "schema_version": 1,
        "run": report.run,
        "step": report.step,
        "title": report.title,
        "result": report.result,
        "proved": report.proof is not None and report.proof.is_proved,
        "proof": proof_json(report.proof),
        "declared": report.proof is not None and report.proof.level is Level.DECLARED,
        "files": list(report.files),
        "checks": {"passed": report.checks_passed, "total": report.checks_total},
        "qa": {"claimed": report.claimed, "total": report.claims},
        "manual": list(report.manual),
        "attempts": report.attempts,
        "usage": usage_json(report.usage),
        "commit": report.commit,
        "mark": report.mark or None,
        "reason": report.reason or None,
        "hint": report.hint,
    }


def _listed(name: str, items: tuple[str, ...]) -> list[str]:
    """One line per item, the name before the first."""
    return [f"  {name if number == 0 else '':<8}  {flatten(item)}" for number, item in enumerate(items)]
