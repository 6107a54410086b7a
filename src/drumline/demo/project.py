"""The demo's repository, made from the files in `material`. Nothing outside the given folder is touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from drumline.errors import DrumlineError
from drumline.record import Record

MATERIAL = Path(__file__).parent / "material"
PLAN = "plans/tally"
AGENT = "agent.yaml"
CONFIG = """\
# Settings of this repository; drumline init writes such a file with all of them.
agent = "scripted:{agent}"
mode = "parallel"
worktrees = "../worktrees"
"""
# Identity and hooks of whoever runs the demo do not matter for its first commit.
OWN_GIT = ("-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false")


class Project(Record):
    """The repository, and the folder around it that also holds its workspaces."""

    folder: Path

    @property
    def top(self) -> Path:
        """The checkout."""
        return self.folder / "tally"

    def start(self, *arguments: str) -> list[str]:
        """The command line of Drumline with these arguments, for `subprocess`."""
        return [sys.executable, "-m", "drumline", *arguments]


def make_project(folder: Path) -> Project:
    """Make the repository with its plan, its agent's script and one commit."""
    project = Project(folder=folder)
    top = project.top
    for path, text in _read_start().items():
        _write(top / path, text)
    _write(top / ".drumline" / "config.toml", CONFIG.format(agent=AGENT))
    shutil.copytree(MATERIAL / "plan", top / PLAN)
    shutil.copyfile(MATERIAL / AGENT, top / AGENT)
    _git(top, ["init", "--quiet", "--template=", "--initial-branch=main"])
    _git(top, ["add", "--all"])
    _git(top, [*OWN_GIT, "commit", "--quiet", "--no-verify", "--message=A plan and its tests"])
    return project


def clean_environment() -> dict[str, str]:
    """The environment without settings and repositories of whoever runs the demo, and with our Python first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRUMLINE_", "GIT_DIR"))}
    for name in ("GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"):
        kept.pop(name, None)
    bin_folder = str(Path(sys.executable).parent)
    # The demo writes the repository itself: there is no stranger's command to be asked about.
    return {**kept, "PATH": os.pathsep.join([bin_folder, kept.get("PATH", os.defpath)]), "DRUMLINE_TRUST": "off"}


def _read_start() -> Mapping[str, str]:
    text = (MATERIAL / "start.yaml").read_text(encoding="utf-8")
    found: Mapping[str, str] = yaml.safe_load(text)
    return found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _git(top: Path, arguments: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=top, env=clean_environment(), capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise DrumlineError("git is not installed; the demo needs it", hint="drumline doctor") from error
    if done.returncode:
        raise DrumlineError(f"git {arguments[0]} failed: {done.stderr.strip()}", hint="drumline doctor")
