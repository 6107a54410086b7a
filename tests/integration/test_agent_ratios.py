"""What it costs to start an agent our way, at a size fit for a test suite: measured in turns with the bare command."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.agents import measure_stand_in


@pytest.mark.long
def test_an_agent_connects_nearly_as_soon_as_the_bare_command(tmp_path: Path) -> None:
    figure = measure_stand_in(tmp_path, rounds=6)

    assert figure.target is not None
    assert min(figure.ratios) <= figure.target
