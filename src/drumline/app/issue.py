"""An issue of the repository's forge, read through the program that people have for it.

The rule: the program is started with a list of arguments and answers in JSON; what it prints is somebody else's text.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from drumline.errors import InvalidInput
from drumline.record import Record

PATIENCE = 60.0
"""Seconds until a program that does not answer is given up."""
MOST_SAID = 300
OTHERWISE = "drumline do @FILE, with the issue's text in the file"
QUIET = {"NO_COLOR": "1", "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "GLAB_CHECK_UPDATE": "false"}
_SCP = re.compile(r"(?:[^/@:]+@)?([A-Za-z0-9.-]+):(?!/)")


class Forge(Record):
    """A kind of forge: words in the names of its hosts, how its program shows an issue and lets people in."""

    hosts: Sequence[str]
    show: Sequence[str]
    login: str


FORGES: Mapping[str, Forge] = MappingProxyType(
    {
        "gh": Forge(hosts=("github",), show=("issue", "view", "{}", "--json", "title,body"), login="gh auth login"),
        "glab": Forge(hosts=("gitlab",), show=("issue", "view", "{}", "--output", "json"), login="glab auth login"),
        "tea": Forge(
            hosts=("codeberg.org", "gitea", "forgejo"), show=("issues", "--output", "json", "{}"), login="tea login add"
        ),
    }
)
"""Programs by name."""


class Issue(Record):
    """What somebody wrote."""

    number: int
    title: str
    body: str


def find_host(url: str) -> str:
    """The host in the address of a remote; empty for a path."""
    if "://" not in url:
        found = _SCP.match(url)
        return found[1] if found else ""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def choose_program(host: str, is_installed: Callable[[str], bool]) -> str:
    """The program for a host: by its name, else the only one that is installed; empty if there is none."""
    if not host:
        return ""
    named = _name_program(host)
    if named:
        return named if is_installed(named) else ""
    installed = [name for name in FORGES if is_installed(name)]
    return installed[0] if len(installed) == 1 else ""


def read_issue(number: int, *, url: str, top: Path, is_installed: Callable[[str], bool]) -> Issue:
    """The issue of this number in the repository whose remote has this address."""
    host = find_host(url)
    program = choose_program(host, is_installed)
    if not program:
        raise _refuse(number, host)
    forge = FORGES[program]
    argv = [program, *(str(number) if word == "{}" else word for word in forge.show)]
    try:
        done = subprocess.run(
            argv,
            cwd=top,
            env={**os.environ, **QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidInput(f"{program} could not show issue {number}: {error}", hint=" ".join(argv)) from error
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:MOST_SAID] or f"exit code {done.returncode}"
        message = f"{program} could not show issue {number}: {said}"
        raise InvalidInput(message, hint=f"{' '.join(argv)}, or: {forge.login}")
    return _parse(number, done.stdout, argv)


def _parse(number: int, told: bytes, argv: Sequence[str]) -> Issue:
    try:
        data = json.loads(told)
    except (ValueError, RecursionError) as error:
        message = f"{' '.join(argv)!r} did not print JSON, which old versions of {argv[0]} cannot: {error}"
        raise InvalidInput(message, hint=f"update {argv[0]}, or: {OTHERWISE}") from error
    fields = data if isinstance(data, Mapping) else {}
    title, body = fields.get("title"), fields.get("body") or fields.get("description") or ""
    if not isinstance(title, str) or not isinstance(body, str):
        raise InvalidInput(f"{argv[0]} printed issue {number} without a title", hint=" ".join(argv))
    return Issue(number=number, title=title, body=body)


def _name_program(host: str) -> str:
    return next((name for name, forge in FORGES.items() if any(word in host.lower() for word in forge.hosts)), "")


def _refuse(number: int, host: str) -> InvalidInput:
    if not host:
        return InvalidInput(
            f"issue {number} cannot be looked up: the repository has no remote on a host", hint=OTHERWISE
        )
    named = _name_program(host)
    if named:
        message = f"issue {number} is on {host}, which needs {named}; it is not installed"
        return InvalidInput(message, hint=f"install {named}, then: {FORGES[named].login}; or: {OTHERWISE}")
    legal = ", ".join(FORGES)
    return InvalidInput(f"issue {number} is on {host}; exactly one of {legal} has to be installed", hint=OTHERWISE)
