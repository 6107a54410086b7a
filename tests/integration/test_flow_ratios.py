"""What a node of a flow costs, at sizes fit for a test suite: ratios of things measured in turns, never times.

The best of several rounds is judged, because a busy machine only ever makes a round look worse. Other engines are
measured by `make bench` alone; here they are not installed.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest
from bench.beside import measure_beside
from bench.durableflow import measure_durable_flow
from bench.figures import Figure
from bench.flow import CHAIN, MEGABYTE, VISITS, make_chain, measure_flow, walk_chain
from bench.flowruns import FlowRuns
from bench.peers.asking import invite


@pytest.mark.long
def test_a_visit_costs_the_same_after_a_thousand_others_and_beside_a_megabyte(tmp_path: Path) -> None:
    _, many, heavy = measure_flow(tmp_path, rounds=5)

    assert min(many.ratios) <= 1.3
    assert min(heavy.ratios) <= 1.3


@pytest.mark.long
def test_a_durable_visit_costs_little_more_than_an_append_however_many_there_were(tmp_path: Path) -> None:
    append, _, many, _ = measure_durable_flow(tmp_path, rounds=4, turns=6, visits=20 * CHAIN)

    assert min(append.ratios) <= 1.9  # 1.5 on a quiet machine, as `make bench` shows; here other tests run beside it
    assert min(many.ratios) <= 1.4


def test_the_walks_that_are_measured_make_all_their_visits() -> None:
    state = walk_chain(make_chain(MEGABYTE), VISITS)

    assert sum(state.visits.values()) == VISITS + 1
    assert max(state.visits.values()) == VISITS // CHAIN
    assert state.ended is not None
    assert state.ended.status == "done"
    assert state.values["big"] is MEGABYTE["big"]


def test_a_megabyte_that_no_node_touches_is_not_kept_again_by_every_node(tmp_path: Path) -> None:
    runs = FlowRuns(tmp_path / "flows.db")
    try:
        bare, loaded = runs.grow(""), runs.grow("x" * 1_000_000)
    finally:
        runs.close()

    assert 1_000_000 <= loaded - bare <= 2_100_000  # in the run's stream and in the flow's, each once


def test_an_engine_that_is_not_installed_is_left_out_and_said_so(tmp_path: Path) -> None:
    figures = measure_beside(tmp_path, rounds=1, python=tmp_path / "none")

    assert {figure.note for figure in figures if figure.least_gain} == {
        "LangGraph: its packages are not installed; `make bench` installs them",
        "DBOS: its packages are not installed; `make bench` installs them",
    }
    assert all(figure.met is None for figure in figures)


def test_an_engine_that_does_not_start_is_left_out_with_its_last_words(tmp_path: Path) -> None:
    with invite(tmp_path, python=Path(sys.executable)) as company:
        absent = dict(company.absent)

    assert absent == {
        "LangGraph": "its process ended: ModuleNotFoundError: No module named 'langgraph'",
        "DBOS": "its process ended: ModuleNotFoundError: No module named 'dbos'",
    }


def test_a_gain_is_judged_by_how_many_times_cheaper_it_is() -> None:
    figure = Figure(name="f", unit="s", values=[1.0, 1.0], reference="r", references=[4.0, 5.0], least_gain=4.5)

    assert figure.gains == [4.0, 5.0]
    assert figure.met
    assert not dataclasses.replace(figure, least_gain=5.0).met
