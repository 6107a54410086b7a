"""The adapter on the page about adding agents: it is as short as the page says, and it works."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, step_text

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-an-agent.md"
PARROT = f"""\
#!{sys.executable}
import json, os, pathlib, sys

def say(**event):
    print(json.dumps(event), flush=True)

if sys.argv[1] == "--version":
    sys.exit(print("parrot 1.2.3"))
prompt = sys.stdin.read()
say(type="start", session="p-1")
if "PARROT_API_KEY" not in os.environ:
    say(type="error", message="401: you are not logged in")
elif "(step-1)" in prompt:
    pathlib.Path("step-1.txt").write_text(" ".join(sys.argv[1:]))
    say(type="edited", path="step-1.txt")
    say(type="end", text="squawk", tokens={{"in": 12, "out": 3}})
"""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


def read_adapter() -> str:
    """The code on the page."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def install(user: User) -> Mapping[str, str]:
    """An environment with the package as the page describes it, and the program it is for."""
    packages, programs = user.folder / "packages", user.folder / "programs"
    info = packages / "drumline_parrot-1.0.dist-info"
    info.mkdir(parents=True)
    programs.mkdir()
    point = re.search(r"```toml\n\[project.entry-points.\"(.*?)\"\]\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert point is not None
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: drumline-parrot\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{point[1]}]\n{point[2].replace(chr(34), '')}")
    (packages / "drumline_parrot.py").write_text(read_adapter())
    (programs / "parrot").write_text(PARROT)
    (programs / "parrot").chmod(0o755)
    paths = {"PYTHONPATH": packages, "PATH": programs}
    return {name: os.pathsep.join([str(path), user.env.get(name, "")]).rstrip(":") for name, path in paths.items()}


def test_it_has_at_most_sixty_lines_of_code() -> None:
    lines = [line for line in read_adapter().splitlines() if line.strip()]

    assert len(lines) <= 60


def test_a_plan_is_run_with_it(user: User) -> None:
    ran = user.run(agent="parrot", env={**install(user), "PARROT_API_KEY": "k"})

    assert ran.code == 0, ran.text
    assert user.landed("step-1.txt").startswith("--json --model parrot-1 ")
    usage = user.step("step-1")["usage"]
    assert isinstance(usage, dict)
    assert (usage["input"], usage["output"]) == (12, 3)


def test_what_it_says_of_a_failure_is_understood(user: User) -> None:
    ran = user.run(agent="parrot", env=install(user))

    assert ran.code == 2, ran.text
    assert "not logged in" in user.drumline("why", "step-1").out


def test_it_is_listed_with_its_version(user: User) -> None:
    told = user.drumline("agents", "--json", env=install(user)).json

    agents = told["agents"]
    assert isinstance(agents, list)
    parrot = next(agent for agent in agents if agent["name"] == "parrot")
    assert (parrot["version"], parrot["origin"]) == ("1.2.3", "another package")
