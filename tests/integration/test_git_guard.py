"""Git's ways in a checkout that a jailed agent works in: they cannot be changed, or are put back afterwards."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio
import pytest
from tests.integration.test_cli_agent import assign
from tests.supervision import supervise

from drumline.agents.command import CommandAgent
from drumline.agents.jail import find_jail
from drumline.models.confined import confine
from drumline.ports.agents import Outcome
from drumline.ports.processes import Job

pytestmark = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
HOOK = "printf '#!/bin/sh\\ntouch {trace}\\n' > {file} && chmod +x {file}"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout as `git init --template=` makes it: without hooks and info."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    top = tmp_path / "work"
    git(tmp_path, "init", "-q", "--template=", str(top))
    return top


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=u", "-c", "user.email=u@example.org")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def work(folder: Path, command: str) -> Outcome:
    agent = CommandAgent(command=command, processes=supervise(folder), jail=find_jail())
    return anyio.run(agent.work, assign(folder, "x"))


@pytest.mark.parametrize("folder", ["hooks", "info", "modules", "worktrees"])
def test_a_folder_of_git_that_is_missing_cannot_be_made(checkout: Path, folder: str) -> None:
    plant = HOOK.format(trace=checkout.parent / "trace", file=f".git/{folder}/post-commit")

    outcome = work(checkout.parent, f"mkdir -p .git/{folder} && {plant}")

    assert outcome.failure
    assert not (checkout / ".git" / folder / "post-commit").exists()
    git(checkout, "commit", "-q", "--allow-empty", "-m", "x")
    assert not (checkout.parent / "trace").exists()


def test_git_is_not_led_to_another_configuration(checkout: Path) -> None:
    lead = "git init -q --bare other && git -C other config core.bare false && git -C other config alias.evil '!id'"

    outcome = work(checkout.parent, f"{lead} && echo ../other > .git/commondir && echo '[x]' > .git/config.worktree")

    assert not outcome.failure, outcome.message
    assert not (checkout / ".git" / "commondir").exists()
    assert not (checkout / ".git" / "config.worktree").exists()
    assert "alias" not in git(checkout, "config", "--list", "--local")


def test_a_link_to_hooks_leads_where_it_led(checkout: Path) -> None:
    hooks = checkout.parent / "hooks"
    hooks.mkdir()
    (checkout / ".git" / "hooks").symlink_to(hooks)
    plant = HOOK.format(trace=checkout.parent / "trace", file=".git/hooks/post-commit")

    outcome = work(checkout.parent, f"rm .git/hooks && mkdir .git/hooks && {plant}")

    assert not outcome.failure, outcome.message
    assert (checkout / ".git" / "hooks").readlink() == hooks


def test_a_link_to_the_repository_leads_where_it_led(checkout: Path) -> None:
    store = checkout.parent / "store"
    (checkout / ".git").rename(store)
    (checkout / ".git").symlink_to("../store")

    outcome = work(checkout.parent, "rm .git && git init -q && git config alias.evil '!id'")

    assert not outcome.failure, outcome.message
    assert str((checkout / ".git").readlink()) == "../store"


def test_a_submodule_leads_to_its_own_repository(checkout: Path) -> None:
    other = checkout.parent / "other"
    git(checkout.parent, "init", "-q", str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    git(checkout, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "deep/lib")
    git(checkout, "commit", "-q", "-m", "x")
    trace = checkout.parent / "trace"
    fake = "git init -q lib2 && git -C lib2 config core.fsmonitor $PWD/spy && rm -rf deep/lib/.git"
    plant = HOOK.format(trace=trace, file="spy")

    replaced = work(checkout.parent, f"{plant} && {fake} && mv lib2/.git deep/lib/.git")
    moved = work(checkout.parent, "mv deep gone && mkdir -p deep/lib")
    at_work = work(checkout.parent, "echo 1 > deep/lib/new && git -C deep/lib status --short")

    assert replaced.failure
    assert moved.failure
    assert (at_work.failure, at_work.message) == ("", "?? new")
    git(checkout, "status")
    assert not trace.exists()


def test_what_a_model_starts_does_not_lead_git_elsewhere_either(checkout: Path) -> None:
    log = checkout.parent / "model.log"

    async def run() -> int | None:
        with confine(supervise(checkout.parent), jail=find_jail(), workspace=checkout, log=log) as processes:
            job = Job(argv=["bash", "-c", "echo ../other > .git/commondir"], cwd=checkout, log=log)
            return (await processes.run(job)).exit_code

    assert anyio.run(run) == 0
    assert not (checkout / ".git" / "commondir").exists()


def test_an_agent_still_commits_in_a_checkout(checkout: Path) -> None:
    who = "git -c user.name=u -c user.email=u@example.org"

    outcome = work(checkout.parent, f"echo 1 > new && git add new && {who} commit -qm new")

    assert not outcome.failure, outcome.message
    assert git(checkout, "log", "--format=%s") == "new"
