"""A process reads the file of a flow once, however often it looks at it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, make_user, standing_in, step_text
from tests.integration.playing import make_repository

from drumline.cli.main import main
from drumline.flowfiles import reading
from drumline.flowfiles.tree import parse_tree

TWO_NODES = """
name: two
start: one
nodes:
  one: {type: set, values: {x: 1}, next: two}
  two: {type: check, checks: ["true"], on_pass: end, on_fail: end}
  end: {type: end, output: "ok", status: done}
"""


def test_a_run_of_a_flow_parses_its_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "two.yaml").write_text(TWO_NODES, encoding="utf-8")
    make_repository(repo)
    monkeypatch.chdir(repo)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    parsed: list[str] = []

    def count(text: str) -> object:
        parsed.append(text)
        return parse_tree(text)

    monkeypatch.setattr(reading, "parse_tree", count)

    code = main(["flow", "run", "two.yaml"])

    assert code == 0
    assert len(parsed) == 1


def test_a_run_of_a_plan_parses_each_of_its_flows_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user(tmp_path, *(step_text(f"step-{number}") for number in range(1, 4)))
    parsed: list[str] = []

    def count(text: str) -> object:
        parsed.append(text)
        return parse_tree(text)

    monkeypatch.setattr(reading, "parse_tree", count)

    with standing_in(user.repo, user.env):
        code = main(["run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot"])

    assert code == 0
    assert "name: step" in "".join(parsed)
    assert len(parsed) == len(set(parsed))
