"""Who answers a question, in which order, and what an agent in the place of a model may not do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import anyio
import pytest
from pydantic_ai.models import KnownModelName
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.core.ids import RunId
from drumline.core.routing import TIERS
from drumline.errors import InvalidInput
from drumline.models import ChosenModels, open_models
from drumline.models.tiers import PROVIDERS
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.models import Answer, Question
from drumline.record import replace


class Recorder:
    """An agent that keeps its assignments and does something in the workspace."""

    def __init__(self, act: Callable[[Path], object] = lambda _folder: None) -> None:
        self.assignments: list[Assignment] = []
        self._act = act

    async def work(self, assignment: Assignment) -> Outcome:
        self.assignments.append(assignment)
        self._act(assignment.workspace)
        return Outcome(message="looked", usage={"input": 3})


def choose(folder: Path, opened: Agent | None = None, /, **given: object) -> ChosenModels:
    """Models that open the given agent for any spec but scripts, and know no key unless told so."""
    processes = supervise(folder)

    def open_one(spec: str) -> Agent:
        if opened is not None and not spec.startswith("scripted:"):
            return opened
        return open_agent(spec, processes=processes, base=folder)

    fields: dict[str, object] = {"open_agent": open_one, "processes": processes, "environ": {}}
    return open_models(**(fields | given))  # type: ignore[arg-type]  # a test's own fields


def build(folder: Path, **given: object) -> Question:
    (folder / "work").mkdir(exist_ok=True)
    question = Question(run=RunId("r1"), node="ask", prompt="p", workspace=folder / "work", log=folder / "ask.log")
    return replace(question, **given)


def ask(models: ChosenModels, question: Question) -> Answer:
    return anyio.run(models.ask, question)


@pytest.mark.parametrize(
    ("model", "given", "resolved"),
    [
        ("openai:x", {"default": "google:y", "agent": "command:z"}, "openai:x"),
        ("scripted:f", {"default": "google:y"}, "scripted:f"),
        ("agent:command:x", {"default": "google:y"}, "agent:command:x"),
        ("", {"default": "google:y", "environ": {"OPENAI_API_KEY": "k"}}, "google:y"),
        ("", {"default": "fast", "environ": {"OPENAI_API_KEY": "k"}}, "openai:gpt-6-luna"),
        ("", {"environ": {"OPENAI_API_KEY": "k"}, "agent": "command:z"}, "openai:gpt-6.1-terra"),
        ("", {"environ": {"OPENAI_API_KEY": ""}, "agent": "command:z"}, "agent:command:z"),
        ("", {"agent": "scripted:f"}, "scripted:f"),
        ("", {}, ""),
        ("strong", {"environ": {"GEMINI_API_KEY": "k"}}, "google:gemini-4-argon"),
        ("strong", {"environ": {"GEMINI_API_KEY": "k"}, "tiers": {"strong": "openai:big"}}, "openai:big"),
        ("strong", {"agent": "command:z"}, "agent:command:z"),
        ("fast", {"environ": {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}}, "anthropic:claude-haiku-5-5"),
    ],
)
def test_the_nearest_name_wins_then_a_key_then_the_agent(
    tmp_path: Path, model: str, given: dict[str, object], resolved: str
) -> None:
    assert choose(tmp_path, **given).resolve(model) == resolved


def test_every_default_model_is_one_that_its_provider_has() -> None:
    known = get_args(KnownModelName.__value__)

    defaults = [f"{provider.name}:{model}" for provider in PROVIDERS for model in provider.models]

    assert len(defaults) == len(PROVIDERS) * len(TIERS)
    assert set(defaults) <= set(known)


def test_with_nobody_to_ask_the_failure_says_what_to_configure(tmp_path: Path) -> None:
    question = build(tmp_path)

    answer = ask(choose(tmp_path), question)

    assert answer.failure == "auth"
    for remedy in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "--model", "--agent"):
        assert remedy in answer.message
    assert answer.message in question.log.read_text()


@pytest.mark.parametrize("model", ["gpt", ":x", "openai:", "Fast"])
def test_a_name_that_means_nothing_is_answered_with_the_legal_ones(tmp_path: Path, model: str) -> None:
    models = choose(tmp_path)

    answer = ask(models, build(tmp_path, model=model))

    assert answer.failure == "permanent"
    assert f"{model!r} does not name a model (legal: provider:model, fast, " in answer.message
    with pytest.raises(InvalidInput, match="does not name a model"):
        models.check(model)


def test_a_script_is_played_by_node_scope_and_visit(tmp_path: Path) -> None:
    (tmp_path / "play.yaml").write_text("""
rules:
  - {match: {step: flow, node: ask, attempt: 3}, say: third}
  - {match: {node: ask, scope: "sub#1"}, say: below, usage: {input: 7}}
default: {say: other, write: {made.txt: x}}
""")
    models = choose(tmp_path, default="scripted:play.yaml")

    third = ask(models, build(tmp_path, visit=2, attempt=2))
    below = ask(models, build(tmp_path, scope="sub#1"))
    other = ask(models, build(tmp_path))

    assert [third.text, below.text, other.text] == ["third", "below", "other"]
    assert below.usage == {"input": 7}
    assert (tmp_path / "work/made.txt").exists()


def test_a_script_that_cannot_be_played_is_refused_before_a_run_and_fails_in_one(tmp_path: Path) -> None:
    (tmp_path / "play.yaml").write_text("rulez: []")
    models = choose(tmp_path, default="scripted:play.yaml")

    answer = ask(models, build(tmp_path))

    assert (answer.failure, "rulez" in answer.message) == ("permanent", True)
    with pytest.raises(InvalidInput, match="rulez"):
        models.check("")


def test_an_agent_is_asked_to_look_only_with_instructions_before_the_prompt(tmp_path: Path) -> None:
    agent = Recorder()
    question = build(tmp_path, model="strong", instructions="be brief", scope="sub#1", visit=2, attempt=3)

    answer = ask(choose(tmp_path, agent, agent="command:x"), question)

    (given,) = agent.assignments
    assert (answer.text, answer.usage) == ("looked", {"input": 3})
    assert (given.read_only, given.tier, given.step, given.node) == (True, "strong", "flow", "ask")
    assert (given.scope, given.visit, given.attempt) == ("sub#1", 2, 3)
    assert given.prompt == given.prompt_file.read_text() == "be brief\n\np"


def test_an_agent_cannot_stand_in_where_tools_write(tmp_path: Path) -> None:
    agent = Recorder()

    answer = ask(choose(tmp_path, agent, agent="command:x"), build(tmp_path, tools=("fs_cat", "write")))

    assert answer.failure == "auth"
    assert "fs_write, fs_mkdir" in answer.message
    assert agent.assignments == []


def git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    return subprocess.run(
        ["git", *identity, *args], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def make_repository(folder: Path) -> Path:
    """A work tree with a clean, a changed and an untracked file."""
    work = folder / "work"
    work.mkdir()
    git(work, "init", "-q")
    for name in ("clean.txt", "changed.txt"):
        (work / name).write_text("1")
    git(work, "add", ".")
    git(work, "commit", "-qm", "first")
    (work / "changed.txt").write_text("2")
    (work / "untracked ü.txt").write_text("3")
    return work


def look_at(work: Path) -> tuple[str, str, dict[str, str]]:
    """Commit, status and contents, to see whether anything was undone."""
    files = {path.name: path.read_text() for path in work.iterdir() if path.is_file()}
    return git(work, "rev-parse", "HEAD"), git(work, "status", "--porcelain"), files


def commit_all(work: Path) -> None:
    git(work, "add", ".")
    git(work, "commit", "-qm", "by the agent")


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda work: (work / "clean.txt").write_text("x"), "clean.txt"),
        (lambda work: (work / "changed.txt").write_text("x"), "changed.txt"),
        (lambda work: (work / "untracked ü.txt").write_text("x"), "untracked ü.txt"),
        (lambda work: (work / "new.txt").write_text("x"), "new.txt"),
        (lambda work: (work / "clean.txt").unlink(), "clean.txt"),
        (lambda work: git(work, "add", "changed.txt"), "changed.txt"),
        (commit_all, "HEAD, changed.txt"),
    ],
)
def test_an_agent_that_touches_the_work_tree_fails_and_nothing_is_undone(
    tmp_path: Path, act: Callable[[Path], object], named: str
) -> None:
    work = make_repository(tmp_path)
    before = look_at(work)
    touched = before

    def touch(folder: Path) -> None:
        nonlocal touched
        act(folder)
        touched = look_at(folder)

    answer = ask(choose(tmp_path, Recorder(touch), agent="command:x"), build(tmp_path))

    assert (answer.text, answer.failure) == ("", "validation")
    assert answer.message.startswith("the workspace was changed while the agent was to look only: ")
    assert named in answer.message
    assert touched != before
    assert look_at(work) == touched


def test_an_agent_that_only_looks_at_a_dirty_work_tree_is_believed(tmp_path: Path) -> None:
    work = make_repository(tmp_path)
    before = (work / ".git/index").read_bytes()

    answer = ask(choose(tmp_path, Recorder(), agent="command:x"), build(tmp_path))

    assert (answer.text, answer.failure) == ("looked", "")
    assert (work / ".git/index").read_bytes() == before


def test_the_library_of_providers_is_not_imported_until_one_is_asked() -> None:
    program = "import sys, drumline.models, drumline.testing.models; print('pydantic_ai' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "False"
