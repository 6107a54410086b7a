"""The table at the end: per kind of fault how often it was injected and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tools.soak.scenario import KINDS
from tools.soak.verdict import CLASSES, Outcome

HEADS = ("fault", "scenarios", "injected", *CLASSES, "needed a person")


def count_kinds(outcomes: Sequence[Outcome]) -> dict[str, Counter[str]]:
    """The figures of each kind of fault. What a mixture led to counts for every kind that was injected in it."""
    rows: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for kind, times in outcome.injected.items():
            row = rows.setdefault(kind, Counter())
            row["scenarios"] += 1
            row["injected"] += times
            row.update(finding.kind for finding in outcome.findings)
            row["needed a person"] += bool(outcome.needed)
    return rows


def count_all(outcomes: Sequence[Outcome]) -> Counter[str]:
    """The figures of all scenarios together, each finding once."""
    total: Counter[str] = Counter(finding.kind for outcome in outcomes for finding in outcome.findings)
    total["scenarios"] = len(outcomes)
    total["injected"] = sum(sum(outcome.injected.values()) for outcome in outcomes)
    total["needed a person"] = sum(bool(outcome.needed) for outcome in outcomes)
    return total


def group_needs(outcomes: Sequence[Outcome]) -> Counter[str]:
    """Why a person was needed, and how often."""
    return sum((outcome.needed for outcome in outcomes), Counter())


def render_table(outcomes: Sequence[Outcome]) -> str:
    """The table for people, the reasons why a person was needed, and every finding with what repeats it."""
    rows = count_kinds(outcomes)
    kinds = [kind for kind in KINDS if kind in rows]
    body = [[kind, *(str(rows[kind][head]) for head in HEADS[1:])] for kind in kinds]
    body.append(["all", *(str(count_all(outcomes)[head]) for head in HEADS[1:])])
    lines = [_render_row(HEADS), _render_row(["---"] * len(HEADS)), *map(_render_row, body), ""]
    needs = group_needs(outcomes)
    lines += [f"Resumed by hand: {sum(outcome.resumes for outcome in outcomes)} times."]
    lines += ["Needed a person for:" if needs else "Needed a person for nothing."]
    lines += [f"  {times:4} × {reason}" for reason, times in needs.most_common()]
    for outcome in outcomes:
        lines += [f"FOUND {f.kind}: {f.text} (scenario {outcome.name}, {outcome.folder})" for f in outcome.findings]
    return "\n".join(lines)


def _render_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def describe_all(outcomes: Sequence[Outcome], *, seed: int, disks: str) -> dict[str, object]:
    """The same for scripts."""
    rows = count_kinds(outcomes)
    found = [
        {"scenario": outcome.name, "kind": finding.kind, "text": finding.text, "folder": outcome.folder}
        for outcome in outcomes
        for finding in outcome.findings
    ]
    return {
        "schema_version": 1,
        "seed": seed,
        "disks": disks,
        "all": _row(count_all(outcomes)),
        "kinds": {kind: _row(rows[kind]) for kind in KINDS if kind in rows},
        "resumes": sum(outcome.resumes for outcome in outcomes),
        "needed": dict(group_needs(outcomes).most_common()),
        "found": found,
    }


def _row(figures: Counter[str]) -> dict[str, int]:
    return {head: figures[head] for head in HEADS[1:]}
