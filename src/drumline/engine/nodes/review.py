"""Reviews of work: what a reviewer is shown, and what is recorded of its answer.

The rule: facts come from the engine and from git. An answer means what its fields say; no prose of it is searched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core import events as ev
from drumline.core.finalreview import count_rounds, list_final_reasons, list_flagged
from drumline.core.findings import tell_findings
from drumline.core.flow.model import AgentNode, Json, SettleNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.templates import render_lenient
from drumline.core.ids import FINAL, Commit, Tree
from drumline.core.judge import list_edited
from drumline.core.reviewers import REVIEWER, Reviewer, choose_reviewer
from drumline.core.reviewing import (
    NAMED,
    choose_reasons,
    describe_review,
    is_reviewed,
    is_wanted,
    list_misnamed,
    read_review,
    read_verdicts,
    settle_all,
    tell_unseen,
)
from drumline.core.risk import Change, is_documentation, list_reasons
from drumline.core.roles import find_role
from drumline.core.routing import spell_agent
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import Severity
from drumline.engine.nodes.evidence import list_checks, list_proofs
from drumline.engine.nodes.stepwork import StepWork, known
from drumline.engine.nodes.visit import Visit
from drumline.record import replace

FINDINGS = "findings"
MOST_DIFF = 60_000
"""Characters of a diff that a prompt has; the rest is in the workspace."""
MOST_TASK, LEAST_TEXT = 40_000, 600
"""Characters that the texts of all steps have together in a prompt, and that each may have in any case."""
MOST_LINES = 20_000
"""Added lines that are searched for boundaries."""
LANDED_REVIEWER = "reviewer"
"""How roles end that review what has landed."""
GUIDES = ("AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", ".editorconfig")


async def find_reasons(work: StepWork, state: StepState) -> tuple[str, ...]:
    """Why the work is reviewed before it lands; empty if it is not, or was already."""
    run, step = work.run, work.orders.step
    if not is_wanted(run) or state.base is None or state.tree is None or is_reviewed(state):
        return ()
    if not work.orders.lands:
        return list_final_reasons(run) if step.id == FINAL else ()
    files = tuple(await work.services.workspaces.changed(state.base, state.tree))
    lines = () if is_documentation(files) else await _read_added(work, state.base, state.tree)
    change = Change(
        files=files,
        lines=lines,
        flag=step.review,
        judges=tuple(list_edited(state.touched)),
        survivors=len(state.mutants.survivors) if state.mutants else 0,
        foreign=tuple(one.path for one in (*state.strayed.foreign, *state.strayed.noted) if one.owner),
    )
    return choose_reasons(run, list_reasons(change))


async def describe_change(work: StepWork, state: StepState, reasons: Sequence[str]) -> Mapping[str, Json]:
    """The value `change` for the prompts of a review."""
    base, tree = find_range(work, state)
    spaces, step = work.services.workspaces, work.orders.step.id
    changed = await spaces.changed(base, tree)
    diff = await spaces.diff(base, tree)
    known_ones = [one for one in state.findings.values() if one.is_open]
    guides = [name for name in GUIDES if (spaces.path(step) / name).is_file()]
    return {
        "reasons": "\n".join(f"- {reason}" for reason in reasons) or "- somebody asks for it",
        "base": base,
        "tree": tree,
        "files": "\n".join(f"- `{path}` ({kind})" for path, kind in changed.items()) or "none",
        "diff": cut_diff(diff),
        "checks": "\n".join(list_checks(work, state) if work.orders.lands else list_proofs(work.run)),
        "where": _tell_where(work, base),
        "findings": tell_findings(known_ones) or "none",
        "conventions": ", ".join(f"`{name}`" for name in guides) or "no file of its own",
    }


def cut_diff(diff: str) -> str:
    """As much of a diff as a prompt has."""
    return diff if len(diff) <= MOST_DIFF else f"{diff[:MOST_DIFF]}\n… (cut; the current directory has the rest)"


def write_whole_task(work: StepWork) -> str:
    """What the steps that have landed were to do, for who looks at all of them together."""
    run, read = work.run, work.services.read_pinned
    ended = (run.finished.get(step.id) for step in run.selected())
    steps = [run.plan.by_id[one.step] for one in ended if one is not None and one.commit is not None]
    most = max(LEAST_TEXT, MOST_TASK // max(1, len(steps)))
    texts = [_cut(read(step).strip(), most) for step in steps]
    told = [f"## {step.id}: {step.title}\n\n{text}" for step, text in zip(steps, texts, strict=True)]
    return _cut("\n\n".join([f"# {run.plan.title}", *filter(None, (run.plan.preamble.strip(),)), *told]), 2 * MOST_TASK)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} … (cut)"


def find_range(work: StepWork, state: StepState) -> tuple[Commit, Tree]:
    """What is reviewed: the work on a step, or everything that the run has landed."""
    base = known(state.base) if work.orders.lands else work.run.begun.base
    return base, known(state.tree)


def record_answer(
    node: AgentNode, outcome: Outcome, work: StepWork, state: StepState, *, reasons: tuple[str, ...]
) -> Outcome:
    """The outcome of a visit with what the run records of it, and with `review` for the flow."""
    if outcome.waits or outcome.blocked or outcome.leaves is not None:
        return outcome
    who = name_reader(node, work, state)
    looked = ev.WorkReviewed(
        tree=known(state.tree), by=who.name, chosen=who.chosen, reasons=reasons, failure=outcome.failure
    )
    seen: list[ev.Event] = [looked] if node.records == FINDINGS else []
    if outcome.failure:
        fold_step(state, seen)
        effects = (*outcome.effects, *seen)
        if not (unseen := tell_unseen(state)):
            return replace(outcome, effects=effects)
        # A look that failed says nothing about blockers that are open: the flow continues with those.
        silent = {"findings": [], "fixed": [], "review": _describe(work, state)}
        notices = (*outcome.notices, unseen)
        return replace(outcome, output=silent, failure="", failure_class="", effects=effects, notices=notices)
    if node.records == FINDINGS:
        step, top = work.orders.step.id, work.services.workspaces.path(work.orders.step.id)
        steps = work.run.plan.by_id
        found = read_review(outcome.output, state, step=step, steps=steps, by=who.name, top=top.as_posix())
    else:
        found = read_verdicts(outcome.output, state, by=who.name)
    fold_step(state, [*seen, *found])
    told = {**_as_mapping(outcome.output), "review": _describe(work, state)}
    return replace(outcome, output=told, effects=(*outcome.effects, *seen, *found))


def settle_findings(node: SettleNode, visit: Visit, work: StepWork, state: StepState) -> Outcome:
    """Record what becomes of findings, and what is left."""
    why, severity = render_lenient(node.why, visit.values), Severity(node.severity)
    wrong = list_misnamed(state, severity, why) if node.how == NAMED else []
    misnamed = f"Not accepted: {', '.join(wrong)} is not among them." if wrong else ""
    events = settle_all(state, severity, how=node.how, why=why)
    fold_step(state, events)
    accepted = any(isinstance(event, ev.FindingSettled) for event in events)
    told = {**_describe(work, state), "accepted": accepted, "misnamed": misnamed}
    return Outcome(output=told, effects=tuple(events))


def _describe(work: StepWork, state: StepState) -> Mapping[str, Json]:
    """The fields of `review`, with how a person who works on the files puts something right."""
    lands, run = work.orders.lands, work.run
    folder = f"fix them by hand in {work.services.workspaces.path(work.orders.step.id)}"
    by_hand = folder if lands else f"commit a fix of your own to {run.begun.branch}"
    return {**describe_review(state, rounds=None if lands else count_rounds(run)), "by_hand": by_hand}


def _tell_where(work: StepWork, base: Commit) -> str:
    """What a reviewer finds in the current directory."""
    if work.orders.lands:
        return f"The current directory has the work, uncommitted, on commit {base}."
    flagged = list_flagged(work.run)
    together = f" The plan flags {', '.join(flagged)}: look at those together, and longest." if flagged else ""
    return (
        f"The current directory has everything that the steps of a run have landed since commit {base}; each of them "
        f"was judged by itself.{together} Look above all for what only shows in the whole. Name the `step` that a "
        "finding is about, by its id."
    )


def name_reader(node: AgentNode, work: StepWork, state: StepState) -> Reviewer:
    """Who answered a visit: the agent that the node names, or the one that took over from it."""
    took_over = state.asked.agent if state.asked and state.asked.by_visit else ""
    if took_over:
        return Reviewer(name=took_over, tier="", chosen="it took over")
    if node.agent == REVIEWER:
        return choose_reviewer(work.run, work.orders.agents, strong=not work.orders.lands)
    name = spell_agent(work.run, work.orders.agents[0].name)
    return Reviewer(name=f"{name}, asked anew", tier="", chosen="a fresh session")


async def _read_added(work: StepWork, base: Commit, tree: Tree) -> tuple[str, ...]:
    diff = await work.services.workspaces.diff(base, tree)
    added = (line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++ "))
    return tuple(line for line, _ in zip(added, range(MOST_LINES), strict=False))


def _as_mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


async def describe_reviewed(work: StepWork, state: StepState) -> str:
    """Base, head and diff of what the run has landed so far, for a step whose role is to review it; else empty."""
    role = find_role(work.orders.step.role)
    if role is None or not role.name.endswith(LANDED_REVIEWER) or not work.orders.lands:
        return ""
    base, head = work.run.begun.base, known(state.base)
    changed = await work.services.workspaces.changed(base, known(state.tree))
    if not changed:
        return f"Nothing has landed yet: base and head are {base}."
    diff = cut_diff(await work.services.workspaces.diff(base, known(state.tree)))
    files = "\n".join(f"- `{path}` ({kind})" for path, kind in changed.items())
    return f"Base: {base}\nHead: {head}\n\n{files}\n\n```diff\n{diff}\n```"
