"""What a visit costs the interpreter does not grow with the visits before it nor with the state it does not touch."""

from __future__ import annotations

from pathlib import Path

from bench.flow import CHAIN, MEGABYTE, VISITS, make_chain, measure_flow, walk_chain


def test_a_visit_costs_the_same_after_a_thousand_others_and_beside_a_megabyte(tmp_path: Path) -> None:
    _, many, heavy = measure_flow(tmp_path, rounds=5)

    assert min(many.ratios) <= 1.3
    assert min(heavy.ratios) <= 1.3


def test_the_walks_that_are_measured_make_all_their_visits() -> None:
    state = walk_chain(make_chain(MEGABYTE), VISITS)

    assert sum(state.visits.values()) == VISITS + 1
    assert max(state.visits.values()) == VISITS // CHAIN
    assert state.ended is not None
    assert state.ended.status == "done"
    assert state.values["big"] is MEGABYTE["big"]
