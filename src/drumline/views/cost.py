"""What agents used, in words and as data. Work whose cost nobody knows is called unpriced, never free."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.money import dollars
from drumline.core.spending import ATTEMPTS, COST, REPLAYED, UNPRICED
from drumline.views.cells import flatten

TOKENS = ("input", "output", "cached")


def describe_cost(usage: Mapping[str, float]) -> str:
    """`$1.23`, `$1.23 and 2 attempts unpriced`, or `unpriced`; empty if nobody counted anything."""
    if not usage:
        return ""
    if COST not in usage:
        return "unpriced"
    unpriced = int(usage.get(UNPRICED, 0))
    rest = f" and {unpriced} attempt{'' if unpriced == 1 else 's'} unpriced" if unpriced else ""
    return f"{dollars(usage[COST])}{_mark_replay(usage)}{rest}"


def _mark_replay(usage: Mapping[str, float]) -> str:
    """What of it was paid earlier, when a recording was made that is played here."""
    replayed, attempts = int(usage.get(REPLAYED, 0)), int(usage.get(ATTEMPTS, 1))
    if not replayed:
        return ""
    return " (replayed)" if replayed >= attempts else f" ({replayed} of {attempts} attempts replayed)"


def describe_usage(usage: Mapping[str, float]) -> str:
    """The tokens and the cost in a few words; empty if nobody counted anything."""
    counted = [f"{int(usage[name]):,} {name}" for name in ("input", "output") if usage.get(name)]
    tokens = f"{' and '.join(counted)} tokens" if counted else ""
    return ", ".join(part for part in (tokens, describe_cost(usage)) if part)


def usage_json(usage: Mapping[str, float]) -> dict[str, object]:
    """The usage for programs: `cost_usd` is null where nothing is priced, `unpriced` counts such attempts."""
    return {
        **{name: int(usage.get(name, 0)) for name in TOKENS},
        "cost_usd": round(usage[COST], 6) if COST in usage else None,
        "attempts": int(usage.get(ATTEMPTS, 0)),
        "unpriced": int(usage.get(UNPRICED, 0)),
        "replayed": int(usage.get(REPLAYED, 0)),
    }


def spending_lines(usage: Mapping[str, float], agents: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What a run cost, by agent where there were several; nothing if nobody counted."""
    if not usage:
        return []
    total = f"  {describe_usage(usage)}"
    if len(agents) < 2:
        return [total]
    return [total, *(f"    {flatten(name)}: {describe_usage(used)}" for name, used in agents.items())]
