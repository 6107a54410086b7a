"""What tokens cost, from a maintained table of prices. The rule: a model that is not in it has no price, not a zero."""

from __future__ import annotations

from collections.abc import Mapping


def find_price(model: str, usage: Mapping[str, float]) -> float | None:
    """Dollars for `input`, `output` and `cached` tokens with a model, `cached` being part of `input`; None if unknown.

    The model may have its provider before it: `provider:model` or `provider/model`. The table is loaded here, which
    takes the better part of a second the first time.
    """
    from genai_prices import Usage, calc_price

    counted = Usage(
        input_tokens=int(usage.get("input", 0)),
        output_tokens=int(usage.get("output", 0)),
        cache_read_tokens=int(usage.get("cached", 0)),
    )
    provider, _, name = model.replace("/", ":", 1).rpartition(":")
    try:
        return float(calc_price(counted, name, provider_id=provider or None).total_price)
    except (LookupError, ValueError):
        return None
