"""The report of a run as Markdown, made of what `report --json` prints. No text of it becomes syntax."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from drumline.core.kinds import is_landers
from drumline.core.plaintext import count_noun
from drumline.core.spending import ATTEMPTS, COST, REPLAYED, UNPRICED
from drumline.views.cells import flatten, join_reason
from drumline.views.cost import describe_usage
from drumline.views.duration import duration
from drumline.views.findings import tell_unread
from drumline.views.landings import tell_landings
from drumline.views.mutants import describe_change
from drumline.views.remarks import WITHDRAWN

_SYNTAX = re.compile(r"([\\`*_{}\[\]<>#|~])")
SHORT = 9


def report_md(report: Mapping[str, Any]) -> str:
    """The document."""
    steps = report["steps"]
    done = sum(step["state"] == "done" for step in steps)
    parts = [
        f"# {plain(report['title'])}: {report['state']}",
        f"Run `{report['run']}`{_name_plan(report['plan'])}, {done} of {count_noun(len(steps), 'step')} done in "
        f"{duration(report['seconds'])}, {count_noun(len(report['filesChanged']), 'file')} changed, "
        f"{count_noun(sum(step['fixes'] for step in steps), 'fix', 'es')}"
        + _tell_rounds(sum(step["reviews"] for step in steps))
        + (f" Branch `{report['branch']}`." if report["branch"] else "")
        + _tell_use(report["usage"]),
        *([plain(report["reason"])] if report["reason"] else []),
        "## Steps",
        _table(
            ("step", "title", "state", "proof", "checks", "fixes", "commit"),
            [_step(step) for step in steps],
        ),
        *filter(None, [tell_landings(report["landings"])]),
        *_review(report),
        *_survivors(steps),
        *_gates(report["gates"]),
        *_files(steps),
        *_declared(report["declared"]),
    ]
    return "\n\n".join(parts) + "\n"


def _name_plan(path: str) -> str:
    """Where the plan is; a task typed at the prompt has no file."""
    return f" of `{path}`" if path else ""


def _tell_use(used: Mapping[str, Any]) -> str:
    if not used["attempts"]:
        return ""
    return f" Used: {describe_usage({'input': used['input'], 'output': used['output'], **_price(used)})}."


def _price(used: Mapping[str, Any]) -> dict[str, float]:
    counted = {ATTEMPTS: used["attempts"], UNPRICED: used["unpriced"], REPLAYED: used["replayed"]}
    return counted if used["cost_usd"] is None else {**counted, COST: used["cost_usd"]}


def _tell_rounds(rounds: int) -> str:
    return f", {count_noun(rounds, 'round')} after reviews." if rounds else "."


def plain(value: object) -> str:
    """A text that no renderer takes for syntax."""
    return _SYNTAX.sub(r"\\\1", flatten(str(value)))


def count_passed(step: Mapping[str, Any]) -> str:
    """How many of its checks a step passed; nothing where another step has landed for it, which has the count."""
    done = step["state"] == "done"  # what landed is proved by its own checks; those of other steps have let it pass
    own = [check for check in step["checks"] if not (done and is_landers(check["source"]))]
    passed = sum(check["verdict"] == "passed" for check in own)
    return "" if step["landed_by"] else f"{passed}/{len(own)}"


def _step(step: Mapping[str, Any]) -> tuple[str, ...]:
    proof = " ".join(
        [step["level"] or "", f"({', '.join(step['reasons']).replace('_', ' ')})" if step["reasons"] else ""]
    ).strip()
    state = join_reason(step["state"], plain(step["reason"])) if step["reason"] else step["state"]
    commit = f"`{step['commit'][:SHORT]}`" if step["commit"] else ""
    count = count_passed(step)
    return plain(step["id"]), plain(step["title"]), state, proof.replace("_", " "), count, str(step["fixes"]), commit


def _review(report: Mapping[str, Any]) -> list[str]:
    """What reviews found and left, and which did not come about."""
    lines = [f"- {plain(s['id'])}: not reviewed: {plain(s['unreviewed'])}" for s in report["steps"] if s["unreviewed"]]
    lines += [f"- {plain(s['id'])}: {plain(tell_unread(s['unread']))}" for s in report["steps"] if s["unread"]]
    lines += [f"- the whole: {plain(told)}" for told in report["review_of_the_whole"]]
    for name in ("unresolvedBlockers", "concerns", "nits"):
        lines += [
            f"- {plain(one['chunkId'])}: {one['severity']} {one['settled'] or 'open'}: {plain(one['title'])}"
            + (f" ({plain(one['file'])}:{one['line'] or 1})" if one["file"] else "")
            for one in report[name]
        ]
    return ["## Review", "\n".join(lines)] if lines else []


def _survivors(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """Changes of the work that its checks do not notice, each with its place."""
    lines = []
    for step in steps:
        found = step["mutants"]["survivors"]
        told = f"{count_noun(len(found), 'mutant')} of {step['mutants']['tried']} not noticed by its checks"
        lines += [f"- {plain(step['id'])}: {told}"] if found else []
        lines += [
            f"  - {plain(one['path'])}:{one['line']}: {plain(describe_change(one['before'], one['after']))}"
            for one in found
        ]
    return ["## Mutants", "\n".join(lines)] if lines else []


def _gates(gates: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [(plain(gate["id"]), plain(gate["question"]), plain(tell_choice(gate)), plain(gate["by"])) for gate in gates]
    return ["## Gates", _table(("gate", "question", "answer", "by"), rows)] if rows else []


def tell_choice(gate: Mapping[str, Any]) -> str:
    """What was answered, and that it no longer counts where its run was resumed since."""
    return f"{gate['choice'] or 'open'}{WITHDRAWN if gate['withdrawn'] else ''}"


def _files(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """The files by step, and which of them are new tests; those of a step that is not done are in no commit."""
    lines = [
        f"- {plain(step['id'])}{'' if step['commit'] or step['landed_by'] else ' (not landed)'}: "
        + ", ".join(map(plain, step["files"]))
        + (f" (tests added: {', '.join(map(plain, step['tests_added']))})" if step["tests_added"] else "")
        for step in steps
        if step["files"]
    ]
    return ["## Files", "\n".join(lines)] if lines else []


def _declared(declared: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the plan declares and nothing shows."""
    lines = [f"- {plain(one['step'])}: {plain(one['text'])}: {one['why']}" for one in declared if one["open"]]
    shown = f"{len(declared) - len(lines)} of {len(declared)} declared files, checks and criteria have a landing."
    return ["## Declared", "\n".join([shown, "", *lines] if lines else [shown])] if declared else []


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
