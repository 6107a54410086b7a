"""Opens a pull request with the program that people have for their forge.

The rule: the branch is pushed and the program started with lists of arguments, with the user's own configuration.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from drumline.app.issue import FORGES, MOST_SAID, PATIENCE, QUIET, choose_program, find_host
from drumline.errors import InvalidInput, NeedsPerson
from drumline.record import Record

REQUESTS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "gh": ("pr", "create", "--head", "{head}", "--base", "{base}", "--title", "{title}", "--body", "{body}"),
        "glab": (
            *("mr", "create", "--yes", "--source-branch", "{head}", "--target-branch", "{base}"),
            *("--title", "{title}", "--description", "{body}"),
        ),
        "tea": (
            *("pulls", "create", "--head", "{head}", "--base", "{base}"),
            *("--title", "{title}", "--description", "{body}"),
        ),
    }
)
"""How each program opens one."""


class PullRequest(Record):
    """What is asked of the people who own `base`."""

    head: str
    base: str
    title: str
    body: str


def choose_forge(url: str, is_installed: Callable[[str], bool]) -> str:
    """The program for the remote at this address; InvalidInput if there is none."""
    host = find_host(url)
    program = choose_program(host, is_installed)
    if program:
        return program
    if not host:
        raise InvalidInput("a pull request needs a remote on a host, and there is none", hint="git remote -v")
    names = ", ".join(FORGES)
    raise InvalidInput(f"a pull request on {host} needs one of {names}, and it is not installed", hint="git push")


def push(top: Path, remote: str, branch: str) -> None:
    """Push a branch as the user would, with their hooks, keys and questions."""
    done = subprocess.run(["git", "push", remote, f"refs/heads/{branch}"], cwd=top, check=False)
    if done.returncode:
        raise NeedsPerson(f"git could not push {branch} to {remote}", hint=f"git push {remote} {branch}")


def open_request(program: str, wanted: PullRequest, *, top: Path) -> str:
    """Open it; the last line that the program prints, which is its address."""
    fields = {f"{{{key}}}": getattr(wanted, key) for key in ("head", "base", "title", "body")}
    argv = [program, *(fields.get(word, word) for word in REQUESTS[program])]
    env = {**os.environ, **QUIET}
    try:
        done = subprocess.run(
            argv, cwd=top, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NeedsPerson(f"{program} could not open a pull request: {error}", hint=FORGES[program].login) from error
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode:
        why = " ".join(done.stderr.decode("utf-8", "replace").split())[:MOST_SAID] or f"exit code {done.returncode}"
        raise NeedsPerson(f"{program} could not open a pull request: {why}", hint=FORGES[program].login)
    return said.splitlines()[-1] if said else ""
