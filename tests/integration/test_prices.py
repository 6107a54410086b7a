"""Prices of tokens come from a table; what is not in it has no price."""

from __future__ import annotations

import subprocess
import sys

import pytest

from drumline.models.prices import find_price

USAGE = {"input": 1_000_000.0, "output": 1_000_000.0}


@pytest.mark.parametrize("model", ["gpt-4o", "openai:gpt-4o", "openai/gpt-4o"])
def test_a_known_model_has_a_price_with_or_without_its_provider(model: str) -> None:
    found = find_price(model, USAGE)

    assert found is not None
    assert found == find_price("gpt-4o", USAGE)
    assert found > 0


def test_cached_tokens_are_part_of_the_input_and_cheaper() -> None:
    full, cached = find_price("gpt-4o", USAGE), find_price("gpt-4o", USAGE | {"cached": 500_000.0})

    assert full is not None
    assert cached is not None
    assert 0 < cached < full


@pytest.mark.parametrize("model", ["no-such-model", "nobody:gpt-4o", ":", "a:b:c"])
def test_an_unknown_model_has_no_price(model: str) -> None:
    assert find_price(model, USAGE) is None


def test_the_table_is_not_loaded_by_those_who_do_not_ask() -> None:
    code = "import sys, drumline.wiring; sys.exit('genai_prices' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
