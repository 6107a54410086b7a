"""`drumline flow validate` and `drumline flow graph`, as people and scripts type them. No repository is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_user import User

GOOD = """\
name: loop
start: work
nodes:
  work: {type: agent, agent: coder, prompt: Go., next: prove}
  prove: {type: check, checks: ["make test"], on_pass: done, on_fail: choose}
  choose: {type: route, cases: [{when: 'tries < "3]"', to: work}], otherwise: lost}
  done: {type: end, output: ok}
  lost: {type: end, status: failed}
"""
BAD = """\
name: broken
start: a
nodes:
  a: {type: llm, promt: p, next: b}
  b: {type: set, values: {}, next: a}
  c: {type: rag, documents: [x]}
  d: {type: end}
"""


@pytest.fixture
def user(tmp_path: Path) -> User:
    """Somebody with two flow files in a folder that is not a repository."""
    found = User(folder=tmp_path, repo=tmp_path / "flows")
    found.repo.mkdir()
    (tmp_path / "home").mkdir()
    (found.repo / "good.yaml").write_text(GOOD, encoding="utf-8")
    (found.repo / "bad.yaml").write_text(BAD, encoding="utf-8")
    return found


def test_a_valid_flow_is_called_valid(user: User) -> None:
    ran = user.drumline("flow", "validate", "good.yaml")

    assert ran.code == 0
    assert ran.out.splitlines() == [
        "good.yaml: valid (0 errors, 0 warnings)",
        "loop: 5 nodes, starts at work",
        "calls coder (shipped): valid (0 errors, 0 warnings)",
    ]
    assert "drumline flow run good.yaml" in ran.err


def test_a_flow_is_checked_and_drawn_by_its_folder_or_its_name_as_it_is_run(user: User) -> None:
    (user.repo / "inside").mkdir()
    (user.repo / "inside" / "graph.yaml").write_text(GOOD, encoding="utf-8")

    by_folder = user.drumline("flow", "validate", "inside")
    by_name = user.drumline("flow", "validate", "code-reviewer")
    drawn = user.drumline("flow", "graph", "code-reviewer")

    assert (by_folder.code, by_folder.out.splitlines()[1]) == (0, "loop: 5 nodes, starts at work")
    assert (by_name.code, by_name.out.splitlines()[1].split(":")[0]) == (0, "code-reviewer")
    assert (drawn.code, drawn.out.startswith("flowchart")) == (0, True)


def test_names_that_mean_nobody_and_nothing_are_told_before_a_run(user: User) -> None:
    lines = ["name: n", "start: a", "global_tools: [fs_cat]", "nodes:", "  e: {type: end}"]
    lines += ["  a: {type: agent, agent: oracle, prompt: p, next: b}"]
    lines += ["  b: {type: llm, prompt: p, model: nonsense, tools: [fs_ls], next: e}"]
    (user.repo / "names.yaml").write_text("\n".join(lines), encoding="utf-8")

    ran = user.drumline("flow", "validate", "names.yaml")

    assert ran.code == 3
    assert [line.rpartition("[")[2] for line in ran.err.splitlines() if line.endswith("]")] == [
        "unknown_agent]",
        "tool_not_listed]",
        "unknown_model]",
    ]


def test_an_invalid_flow_is_refused_with_everything_that_is_wrong(user: User) -> None:
    ran = user.drumline("flow", "validate", "bad.yaml")

    assert ran.code == 3
    assert "bad.yaml: not valid (2 errors, 6 warnings)" in ran.out
    assert "bad.yaml:4: warning: node 'a' has the unknown key 'promt'" in ran.err
    assert "bad.yaml:4: error: node 'a' (llm) lacks `prompt`" in ran.err
    assert "bad.yaml:6: warning: node 'c': documents are not indexed here: the node finds nothing" in ran.err
    assert "a → b → a" in ran.err
    assert "[illegal_cycle]" in ran.err
    assert "drumline flow validate bad.yaml" in ran.err


def test_one_error_and_one_warning_are_counted_in_the_singular(user: User) -> None:
    lone = "name: one\nstart: a\nnodes:\n  a: {type: llm, promt: x, next: b}\n  b: {type: end, output: ok}\n"
    (user.repo / "one.yaml").write_text(lone, encoding="utf-8")

    ran = user.drumline("flow", "validate", "one.yaml")

    assert "one.yaml: not valid (1 error, 1 warning)" in ran.out, ran.text


def lay_out_kit(folder: Path, *, coder: str) -> None:
    """A graph with the agents, the skills and the servers it was written for, laid out as its installation has them."""
    files = {
        "agents/runner/graph.yaml": """\
name: runner
start: look
skills_enabled: true
enabled_skills: [tidy]
nodes:
  look:
    type: llm
    prompt: p
    tools: [fs_cat, web_search, mcp:ddg-search]
    next: implement
  implement: {type: agent, agent: coder, prompt: p, next: end_success}
  end_success: {type: end, output: STEP_COMPLETE}
""",
        "agents/coder/graph.yaml": coder,
        "skills/tidy/SKILL.md": "---\ndescription: How to tidy: slowly\n---\nTidy.\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_a_graph_beside_its_coder_and_skills_is_valid_and_told_what_it_does_without(user: User) -> None:
    lay_out_kit(user.repo, coder="name: coder\nstart: end\nnodes: {end: {type: end}}\n")

    ran = user.drumline("flow", "validate", "agents/runner/graph.yaml")

    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1] == "calls coder (agents/coder/graph.yaml): valid (0 errors, 0 warnings)"
    assert "no tool is called 'web_search' (known: " in ran.err
    assert "no MCP server is called 'ddg-search' (configured: none); the model works without its tools" in ran.err


def test_a_mistake_in_a_called_flow_is_told_with_its_own_file(user: User) -> None:
    lay_out_kit(user.repo, coder="name: coder\nstart: ask\nnodes: {ask: {type: llm, next: ask}}\n")

    ran = user.drumline("flow", "validate", "agents/runner/graph.yaml")
    told = user.drumline("flow", "validate", "agents/runner/graph.yaml", "--json")

    assert ran.code == 3
    assert "agents/coder/graph.yaml:3: error: node 'ask' (llm) lacks `prompt`" in ran.err
    assert "calls coder (agents/coder/graph.yaml): not valid (" in ran.out
    assert (told.code, told.json["ok"]) == (3, False)
    assert told.json["calls"] == [{"name": "coder", "path": "agents/coder/graph.yaml", "ok": False}]


def test_a_skill_that_was_found_and_cannot_be_used_is_named_with_its_file(user: User) -> None:
    lay_out_kit(user.repo, coder="name: coder\nstart: end\nnodes: {end: {type: end}}\n")
    (user.repo / "skills/tidy/SKILL.md").write_text("Just a text.\n", encoding="utf-8")

    ran = user.drumline("flow", "validate", "agents/runner/graph.yaml")

    assert ran.code == 3
    assert f"{user.repo}/skills/tidy/SKILL.md cannot be used: SKILL.md does not begin with a `---` line" in ran.err


def test_a_condition_that_reaches_for_more_than_values_is_refused(user: User) -> None:
    (user.repo / "sly.yaml").write_text(GOOD.replace("""'tries < "3]"'""", "\"__import__('os')\""), encoding="utf-8")

    ran = user.drumline("flow", "validate", "sly.yaml")

    assert ran.code == 3
    assert "sly.yaml:6: error: node 'choose': the condition" in ran.err
    assert "[bad_expression]" in ran.err


def test_scripts_get_one_object_with_the_shape_and_the_problems(user: User) -> None:
    good = user.drumline("flow", "validate", "good.yaml", "--json")
    bad = user.drumline("flow", "validate", "bad.yaml", "--json")

    assert (good.code, good.err, good.json["schema_version"], good.json["ok"]) == (0, "", 1, True)
    assert good.json["problems"] == []
    flow = good.json["flow"]
    assert isinstance(flow, dict)
    assert (flow["name"], flow["start"], len(flow["nodes"])) == ("loop", "work", 5)
    assert {"from": "prove", "to": "choose", "kind": "failed", "label": "failed"} in flow["edges"]
    assert (bad.code, bad.json["ok"]) == (3, False)
    assert {problem["code"] for problem in bad.json["problems"]} >= {"rag_not_run", "illegal_cycle"}  # type: ignore[attr-defined]


def test_a_file_that_is_not_there_is_one_problem(user: User) -> None:
    ran = user.drumline("flow", "validate", "gone.yaml", "--json")

    assert ran.code == 3
    assert ran.json["flow"] is None
    assert [(p["where"], p["code"]) for p in ran.json["problems"]] == [("gone.yaml:1", "missing_file")]  # type: ignore[attr-defined]


def test_a_flow_is_drawn_in_mermaid(user: User) -> None:
    ran = user.drumline("flow", "graph", "good.yaml")

    assert ran.code == 0
    assert ran.out.splitlines() == [
        "flowchart TD",
        '    n0[["work: agent"]]:::start',
        '    n1{"prove: check"}',
        '    n2{"choose: route"}',
        '    n3(("done: end"))',
        '    n4(("lost: end #40;failed#41;"))',
        "    n0 --> n1",
        '    n1 -->|"passed"| n3',
        '    n1 -->|"failed"| n2',
        '    n2 -->|"tries #60; #34;3#93;#34;"| n0',
        '    n2 -->|"otherwise"| n4',
        "    classDef start stroke-width:3px",
    ]


def test_a_flow_is_drawn_in_dot(user: User) -> None:
    ran = user.drumline("flow", "graph", "good.yaml", "--as", "dot")

    assert ran.code == 0
    assert ran.out.startswith("digraph flow {\n")
    assert '  "work" [label="work: agent", shape=component, penwidth=3];' in ran.out
    assert '  "choose" -> "work" [label="tries < \\"3]\\""];' in ran.out


def test_a_flow_that_cannot_be_read_is_not_drawn(user: User) -> None:
    ran = user.drumline("flow", "graph", "bad.yaml")

    assert ran.code == 3
    assert ran.out == ""
    assert "bad.yaml cannot be drawn" in ran.err
    assert "next: drumline flow validate bad.yaml" in ran.err
