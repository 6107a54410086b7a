"""A flow as a table for terminals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import drumline
from drumline.core.flow.model import EndNode, Flow
from drumline.flowfiles import read_flow
from drumline.views.cells import width
from drumline.views.flowtable import flow_table

SHIPPED = Path(drumline.__file__).parent / "flows"
LINES = 24
COLUMNS = 80


def shipped(name: str) -> Flow:
    flow = read_flow(SHIPPED / name / "graph.yaml").flow
    assert flow is not None
    return flow


@pytest.mark.parametrize("name", ["step", "approach", "preflight", "final"])
def test_the_flows_of_steps_fit_the_smallest_screen(name: str) -> None:
    lines = flow_table(shipped(name), columns=COLUMNS).splitlines()

    assert len(lines) < LINES  # the prompt of the shell has a line, too
    assert all(width(line) <= COLUMNS for line in lines)


def test_every_node_is_there_with_where_it_leads() -> None:
    flow = shipped("step")

    lines = flow_table(flow, columns=120).splitlines()

    inner = [node.id for node in flow.nodes.values() if not isinstance(node, EndNode)]
    assert [line.split()[0] for line in lines[1 : len(inner) + 1]] == inner
    told = {line.split()[0]: line.split(maxsplit=2)[2] for line in lines[1 : len(inner) + 1]}
    assert told["workspace"] == "→ begin"
    assert told["heal"] == "fails → stuck, → healing"
    assert told["look"] == 'step.autonomy == "verbose" → show, else → land'
    assert lines[-1].startswith("ends as done: done; blocked: held, ")
    assert lines[-1].endswith("; rejected: rejected")


def test_ends_that_do_not_fit_on_a_line_have_another_one() -> None:
    flow = shipped("step")

    lines = flow_table(flow, columns=COLUMNS).splitlines()

    assert lines[-2].startswith("ends as done: done; blocked: held, ")
    assert lines[-1].startswith("  ")
    told = f"{lines[-2]} {lines[-1].strip()}"
    assert told.endswith("; rejected: rejected")
    assert {node.id for node in flow.nodes.values() if isinstance(node, EndNode)} <= set(re.findall(r"\w+", told))


def test_conditions_are_cut_before_the_nodes_that_they_lead_to() -> None:
    lines = flow_table(shipped("step"), columns=COLUMNS).splitlines()

    assert next(line for line in lines if line.startswith("begun ")).endswith("→ rejected, held, checks, implement")
