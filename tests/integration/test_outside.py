"""What changes outside a workspace that no sandbox holds is told, whatever wrote it: here always a plain shell."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.supervision import supervise

from drumline.agents.command import CommandAgent
from drumline.core.ids import RunId, StepId
from drumline.isolation.watched import mark_file
from drumline.models.providers import PydanticModels
from drumline.ports.agents import Around, Assignment
from drumline.ports.models import Question
from drumline.record import replace

Tell = Callable[..., tuple[str, ...]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, a checkout with ignored folders, a worktree of a person, and workspaces of two steps."""
    home = tmp_path / "home"
    for name in (".ssh", ".local/state/drumline/repo-1", ".config/systemd/user"):
        (home / name).mkdir(parents=True)
    (home / ".bashrc").write_text("# mine\n")
    (home / ".local/state/drumline/repo-1/trust.json").write_text("{}")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    checkout = tmp_path / "checkout"
    git(tmp_path, "init", "-q", "-b", "main", str(checkout))
    (checkout / ".gitignore").write_text(".venv/\n.env\n")
    (checkout / "plans").mkdir()
    (checkout / "plans" / "step-1.md").write_text("ready\n")
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").write_text("#!/bin/sh\n")
    git(checkout, "add", "-A")
    git(checkout, "-c", "user.name=K", "-c", "user.email=k@example.org", "commit", "-q", "-m", "start")
    git(checkout, "worktree", "add", "-q", str(tmp_path / "mine"))
    for step in ("one", "two"):
        git(checkout, "worktree", "add", "-q", "--detach", str(tmp_path / "trees" / "run" / step))
    records = checkout / ".git" / "drumline" / "runs" / "r1"
    (records / "one").mkdir(parents=True)
    (records / "one" / "step-ab12.md").write_text("its text\n")
    return tmp_path


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})


def assign(place: Path, list_idle: Callable[[], Sequence[Path]] = list) -> Assignment:
    return Assignment(
        run=RunId("r1"),
        step=StepId("one"),
        node="implement",
        attempt=1,
        prompt="x",
        prompt_file=place / "prompt.md",
        workspace=place / "trees" / "run" / "one",
        log=place / "logs" / "attempt-1.log",
        around=Around(ours=("plans/*.md",), list_idle=list_idle),
    )


def work(place: Path, command: str, assignment: Assignment | None = None) -> list[str]:
    """What is told after a shell command of an agent that no sandbox holds, as paths below the place."""
    (place / "logs").mkdir(exist_ok=True)
    agent = CommandAgent(command=f"cd {place}; {command}", processes=supervise(place))
    outcome = anyio.run(agent.work, assignment or assign(place))
    assert not outcome.failure, outcome.message
    told = " changed while it worked, outside its workspace"
    return [notice.removesuffix(told).removeprefix(f"{place}/") for notice in outcome.notices]


@pytest.mark.parametrize(
    "path",
    [
        "home/.bashrc",
        "home/.profile",
        "home/.ssh/authorized_keys",
        "home/.config/systemd/user/evil.service",
        "home/.config/drumline/config.toml",
        "home/.local/state/drumline/repo-1/trust.json",
        "home/.claude/settings.json",
        "checkout/.git/hooks/pre-commit",
        "checkout/.git/config",
        "checkout/.git/info/attributes",
        "checkout/.git/drumline/runs/r1/one/step-ab12.md",
        "checkout/stray.txt",
        "checkout/plans/deeper/stray.md",
        "checkout/.env",
        "checkout/.venv/bin/python",
        "mine/stray.txt",
    ],
)
def test_a_shell_that_writes_where_it_matters_is_told(path: str, place: Path) -> None:
    told = work(place, f"mkdir -p $(dirname {path}); echo >> {path}")

    assert told == [path]


@pytest.mark.parametrize(
    "command",
    [
        "echo x > trees/run/one/own.txt",
        "echo x > checkout/plans/step-1.md",
        "echo x > home/.ssh/known_hosts",
        "cat home/.bashrc checkout/.git/config > trees/run/one/copy.txt",
        "git -C trees/run/one -c user.name=K -c user.email=k@example.org commit -q --allow-empty -m own",
        "mkdir -p checkout/.git/drumline/runs/r1/two; echo > checkout/.git/drumline/runs/r1/two/step-cd34.md",
    ],
)
def test_what_is_its_own_or_ours_is_not_told(command: str, place: Path) -> None:
    assert work(place, command) == []


def test_a_branch_that_moves_is_told_and_those_of_runs_are_not(place: Path) -> None:
    moved = "c=$(git -C trees/run/one commit-tree -m x HEAD^{tree} </dev/null); "
    who = "export GIT_AUTHOR_NAME=K GIT_AUTHOR_EMAIL=k@e GIT_COMMITTER_NAME=K GIT_COMMITTER_EMAIL=k@e; "

    told = work(place, who + moved + "for b in spare drumline/p-r1; do git -C trees/run/one branch $b $c; done")

    assert told == ["checkout/.git/refs/heads/spare"]


def test_a_time_that_is_set_back_does_not_hide_a_change(place: Path) -> None:
    bashrc = place / "home" / ".bashrc"
    before = mark_file(bashrc)

    told = work(place, "t=$(stat -c %y home/.bashrc); printf '# evil' > home/.bashrc; touch -d \"$t\" home/.bashrc")

    assert told == ["home/.bashrc"]
    assert mark_file(bashrc) != before


def test_a_link_is_followed_and_what_is_removed_is_told(place: Path) -> None:
    (place / "dotfiles").mkdir()
    (place / "dotfiles" / "zshrc").write_text("# mine\n")
    (place / "home" / ".zshrc").symlink_to(place / "dotfiles" / "zshrc")

    told = work(place, "echo evil >> dotfiles/zshrc; rm home/.bashrc")

    assert told == ["home/.bashrc", "home/.zshrc"]


def test_another_workspace_is_watched_while_nobody_works_there(place: Path) -> None:
    two = place / "trees" / "run" / "two"
    idle, looks = [two], iter([[two], []])

    parked = work(place, f"echo x > {two}/a.txt", assign(place, lambda: idle))
    busy = work(place, f"echo x > {two}/b.txt", assign(place, lambda: next(looks)))

    assert parked == ["trees/run/two/a.txt"]
    assert busy == []


def test_commands_of_a_model_in_a_flow_are_watched_too(place: Path) -> None:
    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        command = f"echo evil >> {place}/home/.bashrc; echo x > {place}/checkout/.git/hooks/post-commit"
        return ModelResponse(parts=[ToolCallPart("execute_command", {"command": command})])

    question = Question(
        run=RunId("r1"),
        node="ask",
        prompt="x",
        workspace=place / "checkout",
        log=place / "ask.log",
        tools=("exec",),
    )
    models = PydanticModels(processes=supervise(place), find_model=lambda _name: FunctionModel(answer))

    watched = anyio.run(models.ask, replace(question, model="x:y"))
    without = anyio.run(models.ask, replace(question, model="x:y", tools=("read",)))

    assert watched.text == "done"
    assert watched.notices == tuple(
        f"{place}/{path} changed while it worked, outside its workspace"
        for path in ("checkout/.git/hooks/post-commit", "home/.bashrc")
    )
    assert without.notices == ()


def test_a_monitor_that_was_set_for_git_meanwhile_is_not_started(place: Path) -> None:
    told = work(place, f"git -C checkout config core.fsmonitor 'touch {place}/started; false'")

    assert told == ["checkout/.git/config"]
    assert not (place / "started").exists()
