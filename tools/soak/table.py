"""The table at the end: per kind of fault how often it was injected and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from string import ascii_lowercase

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
    needs = group_needs(outcomes)
    letters = {reason: _name(place) for place, (reason, _) in enumerate(needs.most_common())}
    body = [
        [kind, *(str(rows[kind][head]) for head in HEADS[1:-1]), _render_needs(outcomes, kind, letters)]
        for kind in KINDS
        if kind in rows
    ]
    body.append(["all", *(str(count_all(outcomes)[head]) for head in HEADS[1:])])
    lines = [_render_row(HEADS), _render_row(["---"] * len(HEADS)), *map(_render_row, body), ""]
    missing = [kind for kind in KINDS if kind not in rows]
    lines += [f"Not injected: {', '.join(missing)}."] if missing else ["Every kind of fault was injected."]
    lines += [f"Resumed by hand: {sum(outcome.resumes for outcome in outcomes)} times."]
    lines += ["Needed a person for:" if needs else "Needed a person for nothing."]
    lines += [f"  {letters[reason]}: {times} × {reason}" for reason, times in needs.most_common()]
    for outcome in outcomes:
        lines += [f"FOUND {f.kind}: {f.text} (scenario {outcome.name}, {outcome.folder})" for f in outcome.findings]
    return "\n".join(lines)


def _render_needs(outcomes: Sequence[Outcome], kind: str, letters: Mapping[str, str]) -> str:
    """In how many scenarios with this fault a person was needed, and the letters of the reasons."""
    needed = [outcome.needed for outcome in outcomes if kind in outcome.injected and outcome.needed]
    reasons = sorted({letters[reason] for found in needed for reason in found}, key=lambda name: (len(name), name))
    return f"{len(needed)} ({', '.join(reasons)})" if needed else "0"


def _name(place: int) -> str:
    """The letter of a reason: a to z, then aa, ab and so on."""
    first, second = divmod(place, len(ascii_lowercase))
    return (ascii_lowercase[first - 1] if first else "") + ascii_lowercase[second]


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
