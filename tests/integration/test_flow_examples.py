"""The commands that the example flows show in their first lines, typed as they are: each comes to its end."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_user, work_files, write_files
from tests.acceptance.cli_user import Ran, User

import drumline

EXAMPLES = Path(drumline.__file__).parents[2] / "examples" / "flows"
NAMES = ("fix-until-green", "release-notes", "review-each-file")


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """Somebody with the examples in their repository."""
    shutil.copytree(EXAMPLES, tmp_path / "repo" / "examples" / "flows")
    with flow_user(tmp_path) as user:
        yield user


def read_commands(name: str) -> list[list[str]]:
    """The commands in an example's first comment, each as its words after `drumline`."""
    text = (EXAMPLES / name / "graph.yaml").read_text(encoding="utf-8")
    comment = "\n".join(line[1:] for line in text.partition("\nname:")[0].splitlines())
    shown = re.findall(r"^ +drumline (.*)$", comment.replace("\\\n", ""), re.MULTILINE)
    return [shlex.split(command) for command in shown]


def type_commands(user: User, name: str) -> list[Ran]:
    """Type every command that an example shows."""
    return [user.drumline(*command) for command in read_commands(name)]


def test_every_example_is_tested() -> None:
    assert sorted(path.parent.name for path in EXAMPLES.glob("*/graph.yaml")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_valid_and_shows_how_to_run_it(user: User, name: str) -> None:
    ran = user.drumline("flow", "validate", f"examples/flows/{name}/graph.yaml")

    assert ran.code == 0
    assert "valid (0 errors, 0 warnings)" in ran.out
    assert read_commands(name)[0][:3] == ["flow", "run", f"examples/flows/{name}/graph.yaml"]


def test_the_checks_pass_at_the_second_try(user: User) -> None:
    (ran,) = type_commands(user, "fix-until-green")

    assert (ran.code, ran.out) == (0, "The checks pass after 2 tries.\n"), ran.err
    assert work_files(user)["answer.txt"] == "42\n"


def test_a_run_of_a_flow_with_an_agent_is_reported(user: User) -> None:
    (ran,) = type_commands(user, "fix-until-green")
    assert ran.code == 0, ran.err

    data = user.drumline("report", "--json").json
    told = user.drumline("report", "--md")
    page = user.drumline("report", "--html", "-o", "report.html")

    steps = data["steps"]
    assert isinstance(steps, list)
    assert (data["state"], steps[0]["id"], steps[0]["level"]) == ("done", "flow", "unproved")
    assert [span["node"] for span in steps[0]["spans"]] == ["work", "prove", "work", "prove"]
    assert "# fix-until-green: done" in told.out, told.err
    assert page.code == 0, page.err


def test_release_notes_are_saved_once_somebody_has_read_them(user: User) -> None:
    asked, saved = type_commands(user, "release-notes")

    assert (asked.code, asked.out) == (2, ""), asked.err
    assert "The window remembers its size." in asked.err
    assert (saved.code, saved.out) == (0, "notes-1.2.md is written.\n"), saved.err
    assert "The window remembers its size." in work_files(user)["notes-1.2.md"]


def test_every_changed_file_is_reviewed_and_a_critical_finding_fails_the_run(user: User) -> None:
    write_files(user, {"a.py": "pass\n", "b.py": "pass\n", "c.py": "pass\n"})

    (ran,) = type_commands(user, "review-each-file")

    assert (ran.code, ran.out) == (1, "1 critical findings. One file deletes what it should keep.\n"), ran.err
    assert "each#1[2]" in ran.err


def test_without_changed_files_there_is_nothing_to_review(user: User) -> None:
    (ran,) = type_commands(user, "review-each-file")

    assert (ran.code, ran.out) == (0, "No file has changed.\n"), ran.err
