"""The mermaid drawing of a plan."""

from __future__ import annotations

import re

import pytest

from drumline.core.ids import StepId
from drumline.core.plan import Plan, Step
from drumline.views.graph import COLOURS, mermaid

NODE = re.compile(r'    s\d+\["[\w .,:/…#;-]*"\](:::[a-z]+)?')
EDGE = re.compile(r"    s\d+ --> s\d+")
CLASS = re.compile(r"    classDef [a-z]+ fill:#[0-9a-f]{6},stroke:#[0-9a-f]{6},color:#[0-9a-f]{6}")


def plan(*titles: str) -> Plan:
    made = [Step(id=StepId(f"step-{n}"), title=title) for n, title in enumerate(titles, 1)]
    return Plan(name="p", path="p", steps=tuple(made))


def test_edges_go_from_need_to_step() -> None:
    first, second = StepId("a"), StepId("b")
    steps = (Step(id=second, title="B", needs=(first, StepId("gone"))), Step(id=first, title="A"))

    drawing = mermaid(Plan(name="p", path="p", steps=steps), {})

    assert drawing == 'flowchart TD\n    s0["b: B"]\n    s1["a: A"]\n    s1 --> s0\n'


@pytest.mark.parametrize(
    "title",
    [
        'say "hi"',
        "a]b[c",
        "end",
        "x\ny --> z",
        "<script>alert(1)</script>",
        "`**md**`",
        "a;b%%c",
        "#quot;",
        "{{x}}",
        "é",
    ],
)
def test_no_title_breaks_out_of_its_label(title: str) -> None:
    lines = mermaid(plan(title), {StepId("step-1"): "done"}).splitlines()

    assert lines[0] == "flowchart TD"
    assert len(lines) == 3
    assert NODE.fullmatch(lines[1])
    assert CLASS.fullmatch(lines[2])


def test_an_escaped_label_reads_as_the_title() -> None:
    label = mermaid(plan('a "b" [c]'), {}).split('["')[1].split('"]')[0]

    shown = re.sub(r"#(\d+);", lambda m: chr(int(m[1])), label)

    assert shown == 'step-1: a "b" [c]'


@pytest.mark.parametrize("state", list(COLOURS))
def test_each_state_has_its_colours(state: str) -> None:
    drawing = mermaid(plan("a"), {StepId("step-1"): state})

    assert f":::{state}\n" in drawing
    assert f"classDef {state} " in drawing


def test_an_unknown_state_is_drawn_plain() -> None:
    assert ":::" not in mermaid(plan("a"), {StepId("step-1"): "x;evil"})


def test_a_long_title_is_cut() -> None:
    assert len(mermaid(plan("word " * 100), {}).splitlines()[1]) < 130


def test_a_large_plan_has_one_node_per_step_and_one_edge_per_need() -> None:
    steps = [Step(id=StepId(f"s-{n}"), title="", needs=(StepId(f"s-{n - 1}"),) if n else ()) for n in range(500)]

    lines = mermaid(Plan(name="p", path="p", steps=tuple(steps)), {}).splitlines()

    assert sum(bool(NODE.fullmatch(line)) for line in lines) == 500
    assert sum(bool(EDGE.fullmatch(line)) for line in lines) == 499
