"""Repositories that know nothing of Drumline, and agents that play rules from outside of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.acceptance.cli_user import User


def make_repository(folder: Path, files: Mapping[str, str]) -> User:
    """A user with a repository of these files and nothing of ours in it."""
    user = User(folder=folder, repo=folder / "repo")
    (folder / "home").mkdir()
    user.repo.mkdir()
    user.git("init", "-q", "-b", "main")
    for name, text in files.items():
        path = user.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if files:
        user.commit_all("start")
    return user


def script(user: User, *rules: Mapping[str, object]) -> str:
    """The spec of an agent that plays these rules from a file outside the repository."""
    path = user.folder / "agent.yaml"
    path.write_text(json.dumps({"rules": rules}), encoding="utf-8")
    return f"scripted:{path}"
