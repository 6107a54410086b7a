"""The report of a run: its data, its schema, and the documents that are made of it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.builders import Scene, attempt, attempted, checked, finish, gate_for, prepared, record, step_of
from tools.docs.reportschema import render_schema, report_schema

import drumline
from drumline.core import events as ev
from drumline.core.findings import Finding, Found
from drumline.core.flow.events import FlowStarted, NodeEnded, NodeStarted
from drumline.core.flow.model import NodeId
from drumline.core.ids import NO_STEP, GateId, StepId
from drumline.core.mutants import Mutation, Survivor
from drumline.core.recorded import Recorded
from drumline.core.vocabulary import RunEnd, Settlement, Severity
from drumline.record import replace, to_plain
from drumline.schemas.checking import JsonSchemas
from drumline.views.graphsvg import Box, graph_svg
from drumline.views.reporthtml import report_html
from drumline.views.reportmd import report_md
from drumline.views.runreport import History, run_report
from drumline.views.spans import list_spans
from drumline.views.timelinesvg import KINDS

SHIPPED = Path(drumline.__file__).parent / "schemas" / "report.schema.json"
NASTY = "</style></title></svg><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[2J|`"


def make(title: str = "Lay the foundation", diff: tuple[str, ...] = ()) -> dict[str, Any]:
    """A run of three steps: one landed with a fix, one was skipped, one is blocked."""
    scene = Scene(
        steps=[step_of("a", title=title), step_of("b", "a", title="Raise"), step_of("c", title=title)],
        events=[
            gate_for("approve-a", "a", question=f"Land it? {title}"),
            ev.GateAnswered(gate=GateId("approve-a"), choice="approve", by="ann", comment=title),
            finish(
                "a", files=("src/a.py", "tests/test_a.py"), created=("tests/test_a.py",), new_tests=("tests/test_a.py",)
            ),
            finish("b", "skipped", reason="by hand"),
            finish("c", "blocked", reason=title),
        ],
        live=(),
        title=title,
    )
    walked = [
        FlowStarted(flow="step", digest="d", path="p", scope="", values={}, variables={}),
        NodeStarted(node=NodeId("implement"), visit=1),
        NodeEnded(node=NodeId("implement"), visit=1),
    ]
    streams = {StepId("a"): record(walked, step="a")}
    history = History(own=record(scene.history()), streams=streams, diffs={StepId("a"): diff})
    return to_plain(run_report(scene.snapshot(), history))


def test_the_report_has_figures_steps_and_gates_and_fits_the_schema_that_is_shipped() -> None:
    report = make()

    step = report["steps"][0]
    assert JsonSchemas().find_faults(report, report_schema()) == []
    assert (report["filesChanged"], report["skipped"], report["clean"]) == (
        ["src/a.py", "tests/test_a.py"],
        ["b"],
        False,
    )
    assert (report["unresolvedBlockers"], report["concerns"], report["hitReviewCap"]) == ([], [], False)
    assert (step["state"], step["tests_added"], step["critical"]) == ("done", ["tests/test_a.py"], True)
    assert [(one["node"], one["ended"] - one["began"]) for one in step["spans"]] == [("implement", 1.0)]
    assert step["waits"][0]["kind"] == "gate"
    assert (report["gates"][0]["choice"], report["perChunk"][2]["status"]) == ("approve", "blocked")


def test_a_blocker_that_nobody_could_confirm_is_unresolved_and_one_that_is_wrong_is_gone() -> None:
    open_one = Found(finding=Finding(id="c-F1", severity=Severity.BLOCKER, step=NO_STEP, title="Lost", named="c9"))
    wrong = Found(finding=replace(open_one.finding, id="c-F2"), settled=Settlement.WRONG)
    blocked = finish("c", "blocked", findings=(open_one, wrong))
    scene = Scene(steps=[step_of("c")], events=[blocked], live=())

    report = to_plain(run_report(scene.snapshot(), History(own=(), streams={}, diffs={})))

    told = [(one["id"], one["step"], one["chunkId"], one["confirmed"]) for one in report["unresolvedBlockers"]]
    assert told == [("c-F1", "", "c9", None)]
    assert report["unassigned"][0]["id"] == "c-F1"
    assert "- c9: blocker open: Lost" in report_md(report)


@pytest.mark.parametrize("step", ["c", "@final"])
def test_what_a_step_is_asked_about_is_in_the_report_before_the_step_ends(step: str) -> None:
    blocker = Finding(id=f"{step}-F1", severity=Severity.BLOCKER, step=StepId(step), title="Lost")
    found = [ev.FindingRecorded(finding=blocker), ev.FindingConfirmed(finding=blocker.id, by="other")]
    again = [one for n in (2, 3) for one in (replace(attempt(n), reviewed=True), attempted(n)[-1])]
    before = [finish("c")] if step == "@final" else []
    streams = {step: [*prepared(), *attempted(1), *found, *again]}
    scene = Scene(steps=[step_of("c")], events=[*before, ev.StepStarted(step=StepId(step))], streams=streams, live=())

    report = to_plain(run_report(scene.snapshot(), History(own=(), streams={}, diffs={})))

    assert [(one["id"], one["confirmed"]) for one in report["unresolvedBlockers"]] == [(blocker.id, "other")]
    assert (report["clean"], report["hitReviewCap"]) == (False, step == "c")


def test_a_step_that_its_corrective_step_landed_for_has_the_checks_of_that_and_no_findings_of_its_own() -> None:
    blocker = Found(finding=Finding(id="c-F1", severity=Severity.BLOCKER, step=StepId("c"), title="Lost"))
    red = [*prepared(), *attempted(1, message="Wrong."), *checked(exit_code=1)]
    green = [*prepared(), *attempted(1, message="Right."), *checked()]
    healed = finish("c", landed_by=StepId("ch"), findings=(blocker,))
    scene = Scene(steps=[step_of("ch"), step_of("c", "ch")], events=[finish("ch"), healed], live=())
    streams = {StepId("c"): record(red, step="c"), StepId("ch"): record(green, step="ch")}

    report = to_plain(run_report(scene.snapshot(), History(own=(), streams=streams, diffs={})))

    told = [(one["chunkId"], one["ok"], one["testsPassed"]) for one in report["perChunk"]]
    assert told == [("ch", True, True), ("c", True, True)]
    assert [one["summary"] for one in report["perChunk"]] == ["Right.", "Right."]
    assert [check["verdict"] for check in report["steps"][1]["checks"]] == ["passed"]
    assert (report["unresolvedBlockers"], report["clean"]) == ([], True)


def test_a_corrective_step_that_was_taken_out_of_the_plan_is_still_what_landed() -> None:
    healed, gone = finish("c", landed_by=StepId("ch")), ev.PlanChanged(removed=(StepId("ch"),), order=(StepId("c"),))
    scene = Scene(steps=[step_of("ch"), step_of("c")], events=[finish("ch"), healed, gone], live=())
    green = record([*prepared(), *attempted(1, message="Right."), *checked()], step="ch")
    streams = {StepId("c"): record(prepared(), step="c"), StepId("ch"): green}

    report = to_plain(run_report(scene.snapshot(), History(own=(), streams=streams, diffs={})))

    assert [(one["chunkId"], one["summary"], one["testsPassed"]) for one in report["perChunk"]] == [
        ("c", "Right.", True)
    ]


def test_a_finding_that_somebody_accepted_names_who_did() -> None:
    finding = Finding(id="c-F1", severity=Severity.CONCERN, step=StepId("c"), title="Slow")
    accepted = Found(finding=finding, settled=Settlement.ACCEPTED, settled_by="kim", why="it is rare")
    scene = Scene(steps=[step_of("c")], events=[finish("c", findings=(accepted,))], live=())

    report = to_plain(run_report(scene.snapshot(), History(own=(), streams={}, diffs={})))

    assert [(one["settled"], one["settled_by"], one["why"]) for one in report["concerns"]] == [
        ("accepted", "kim", "it is rare")
    ]


@pytest.mark.parametrize(("reads", "model"), [(False, "opus"), (True, "haiku"), (False, "")])
def test_a_chunk_is_told_with_the_model_of_its_last_attempt_that_worked(reads: bool, model: str) -> None:
    first, last = replace(attempt(1), tier="fast"), replace(attempt(2), tier="strong", reads=reads)
    ends = [replace(attempted(1)[-1], model="haiku"), replace(attempted(2)[-1], model="opus" if reads else model)]
    streams = {StepId("a"): record([*prepared(), first, ends[0], last, ends[1]], step="a")}
    scene = Scene(steps=[step_of("a")], events=[finish("a")], live=())

    report = to_plain(run_report(scene.snapshot(), History(own=(), streams=streams, diffs={})))

    assert report["perChunk"][0]["model"] == report["steps"][0]["model"] == (model or None)
    assert report["steps"][0]["tier"] == ("fast" if reads else "strong")


def test_nodes_that_gave_no_usable_answer_are_named_in_every_report_and_the_run_is_not_clean() -> None:
    def ask(number: int, node: str, failure: str) -> list[ev.Event]:
        begun = replace(attempt(number), node=node, reads=True, by_visit=True, scope="approach#1", visit=1)
        ended = replace(attempted(number, failure=failure)[-1], node=node, scope="approach#1", visit=1)
        return [begun, ended]

    asked = [*ask(1, "orient", "validation"), *ask(2, "inspect", "validation"), *ask(3, "inspect", "")]
    last = [ev.StepStarted(step=StepId("@final")), finish("@final", commit=None, unreviewed="no answer")]
    scene = Scene(steps=[step_of("a")], events=[finish("a"), *last, ev.RunEnded(state=RunEnd.DONE)], live=())
    streams = {StepId("a"): record([*prepared(), *asked, *attempted(4), *checked()], step="a")}

    report = to_plain(run_report(scene.snapshot(), History(own=(), streams=streams, diffs={})))

    assert (report["steps"][0]["unread"], report["clean"]) == (["orient"], False)
    assert report["review_of_the_whole"] == ["not reviewed: its reviewer gave no usable answer"]
    lines = report_md(report).splitlines()
    assert "- a: no usable answer of orient" in lines
    assert "- the whole: not reviewed: its reviewer gave no usable answer" in lines
    page = report_html(report)
    assert "no usable answer of orient" in page
    assert "not reviewed: its reviewer gave no usable answer" in page


def test_mutants_that_no_check_noticed_are_in_every_report_with_their_places() -> None:
    survivor = Survivor(path="src/a.py", line=3, before="a < b", after="a <= b")
    found = Mutation(tried=7, survivors=(survivor,))
    scene = Scene(steps=[step_of("a")], events=[finish("a", mutants=found)], live=())

    report = to_plain(run_report(scene.snapshot(), History(own=(), streams={}, diffs={})))

    survivors = [{"path": "src/a.py", "line": 3, "before": "a < b", "after": "a <= b"}]
    assert report["steps"][0]["mutants"] == {"tried": 7, "survivors": survivors}
    lines = report_md(report).splitlines()
    at = lines.index("- a: 1 mutant of 7 not noticed by its checks")
    assert lines[at + 1] == r"  - src/a.py:3: \`a \< b\` could as well be \`a \<= b\`"
    assert "src/a.py:3" in report_html(report)
    assert "`a &lt; b` could as well be `a &lt;= b`" in report_html(report)


def test_what_the_plan_declares_is_matched_with_landings_and_the_rest_is_named() -> None:
    named = {"files": ("src/a.py", "gone.py"), "manual": ("it looks right",), "not_run": ("it is fast",)}
    step = replace(step_of("a"), **named)
    scene = Scene(steps=[step, step_of("b")], events=[finish("a", files=("src/a.py",))], live=())
    text = "# A\n\n## Acceptance criteria\n\n- [ ] The list is sorted\n\n```\n- not one\n```\n\n## Else\n\n- nor this\n"
    history = History(own=(), streams={}, diffs={}, texts={StepId("a"): text})

    report = to_plain(run_report(scene.snapshot(), history))

    told = [(one["step"], one["kind"], one["text"], one["why"]) for one in report["declared"]]
    check = step.checks[0].command
    assert told == [
        ("a", "file", "src/a.py", ""),
        ("a", "file", "gone.py", "no landing changed it"),
        ("a", "check", check, ""),
        ("a", "criterion", "it is fast", "no command checks it"),
        ("a", "criterion", "The list is sorted", ""),
        ("a", "manual", "it looks right", "for a person to verify"),
        ("b", "check", check, "its step has not landed"),
    ]
    assert [bool(one["commit"]) for one in report["declared"]] == [not why for *_, why in told]


def test_files_of_a_step_that_is_not_done_are_its_progress_and_not_changed_by_the_run() -> None:
    scene = Scene(steps=[step_of("a")], events=[finish("a", "blocked", reason="no", files=("src/a.py",))], live=())

    report = to_plain(run_report(scene.snapshot(), History(own=(), streams={}, diffs={})))

    assert (report["filesChanged"], report["steps"][0]["files"]) == ([], ["src/a.py"])
    assert "0 of 1 step done" in report_md(report)
    assert "- a (not landed): src/a.py" in report_md(report)


def test_the_report_as_markdown_says_what_was_used_and_names_no_plan_where_there_is_none() -> None:
    used = {"input": 1200, "output": 30, "cached": 0, "cost_usd": 0.5, "attempts": 2, "unpriced": 1, "replayed": 0}

    told = report_md({**make(), "plan": "", "usage": used})

    assert "Run `r1`, 1 of 3 steps done" in told
    assert "Used: 1,200 input and 30 output tokens, $0.50 and 1 attempt unpriced." in told


def test_the_schema_that_is_shipped_is_the_one_of_the_records() -> None:
    """When this fails: write render_schema() of tools.docs.reportschema into the file."""
    assert SHIPPED.read_text(encoding="utf-8") == render_schema()
    assert JsonSchemas().find_faults({**make(), "steps": 3}, report_schema()) != []


def test_the_report_as_markdown() -> None:
    assert report_md(make()).splitlines() == [
        "# Lay the foundation: interrupted",
        "",
        "Run `r1` of `plan`, 1 of 3 steps done in 1m 00s, 2 files changed, 0 fixes. Branch `drumline/demo-r1`.",
        "",
        "no driver is running",
        "",
        "## Steps",
        "",
        "| step | title | state | proof | checks | fixes | commit |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| a | Lay the foundation | done | proved | 0/1 | 0 | `012345678` |",
        "| b | Raise | skipped: by hand |  | 0/0 | 0 |  |",
        "| c | Lay the foundation | blocked: Lay the foundation |  | 0/0 | 0 |  |",
        "",
        "## Gates",
        "",
        "| gate | question | answer | by |",
        "| --- | --- | --- | --- |",
        "| approve-a | Land it? Lay the foundation | approve | ann |",
        "",
        "## Files",
        "",
        "- a: src/a.py, tests/test\\_a.py (tests added: tests/test\\_a.py)",
        "- b (not landed): src/a.py",
        "- c (not landed): src/a.py",
        "",
        "## Declared",
        "",
        "1 of 3 declared files, checks and criteria have a landing.",
        "",
        "- b: check 1: its step has not landed",
        "- c: check 1: its step has not landed",
    ]


class Seen(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("render", [report_html, lambda report: graph_svg([box(NASTY)])], ids=["page", "graph"])
def test_no_text_of_a_plan_or_an_agent_becomes_markup(render: Any) -> None:
    page = render(make(NASTY, diff=(f"+{NASTY}", f"-{NASTY}", f" {NASTY}")))

    seen = Seen()
    seen.feed(page)

    names = {tag for tag, _ in seen.tags}
    assert not names & {"script", "img", "iframe", "object", "link", "a", "form", "foreignobject"}
    assert not [attrs for _, attrs in seen.tags if any(name.startswith("on") for name in attrs)]
    assert "alert(1)</script>" not in page
    assert "\x1b" not in page


def box(title: str) -> Box:
    return Box(id=title, title=title, state=title, needs=())


def test_the_page_needs_nothing_from_elsewhere_and_has_all_parts() -> None:
    page = report_html(make(diff=("diff --git a/x b/x", "+new")))

    assert page.count("<svg") == 2
    assert [
        part for part in ("Steps", "Timeline", "Plan", "Findings", "Gates", "Changes") if f"<h2>{part}" not in page
    ] == []
    assert "default-src 'none'" in page
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page
    assert not [word for word in ("http://", "https://", "src=", "url(", "@import") if word in page]
    assert '<span class="add">+new</span>' in page


def test_markdown_takes_no_text_for_syntax() -> None:
    rows = [line for line in report_md(make("a | `b` <b>*c*")).splitlines() if line.startswith("| a |")]

    assert rows[0].startswith("| a | a \\| \\`b\\` \\<b\\>\\*c\\* | done")


def test_visits_are_spans_and_one_that_is_not_over_has_no_end() -> None:
    events = [NodeStarted(node=NodeId("checks"), visit=1)]
    entries: list[Recorded] = record(events, step="a")

    assert [(span.node, span.ended) for span in list_spans(entries)] == [("checks", None)]


def test_the_report_is_json() -> None:
    assert json.loads(json.dumps(make()))["schema_version"] == 1


def test_the_timeline_knows_every_node_of_a_step_at_which_an_agent_works() -> None:
    flows = Path(drumline.__file__).parent / "flows"
    texts = [(flows / name / "graph.yaml").read_text(encoding="utf-8") for name in ("step", "approach", "step-sweep")]
    asking = [node for text in texts for node, told in yaml.safe_load(text)["nodes"].items() if told["type"] == "agent"]

    assert "diagnose" in asking
    assert {KINDS.get(node) for node in asking} == {"implement"}
