"""What a setup is known by: its command, and the files that say what is to be installed."""

from __future__ import annotations

import pytest

from drumline.core.products import stays
from drumline.core.setups import Setup, is_manifest, read_setup
from drumline.engine.nodes.workspace import count_left
from drumline.settingvalues import parse_provided


@pytest.mark.parametrize(
    "path",
    ["uv.lock", "app/package.json", "requirements.txt", "requirements/dev.txt", "dev-requirements.txt", "go.sum"],
)
def test_files_that_name_dependencies_are_known_in_any_folder(path: str) -> None:
    assert is_manifest(path)


@pytest.mark.parametrize("path", ["src/a.py", "README.md", "notes/requirements.md", "package.json.bak", "lock"])
def test_other_files_are_not(path: str) -> None:
    assert not is_manifest(path)


def test_a_setup_is_another_one_with_another_command_or_lock_file_and_not_with_other_code() -> None:
    setup = Setup(command="npm ci")
    before = setup.name({"package-lock.json": "1", "a.js": "1"})

    assert setup.name({"a.js": "2", "package-lock.json": "1"}) == before
    assert setup.name({"package-lock.json": "2", "a.js": "1"}) != before
    assert setup.name({"app/package-lock.json": "1", "a.js": "1"}) != before
    assert Setup(command="npm i").name({"package-lock.json": "1"}) != before
    assert Setup(command="npm ci", paths=("data",)).name({"package-lock.json": "1"}) != before


def test_what_is_provided_are_paths_and_commands_which_run_before_setup() -> None:
    assert read_setup("npm ci", []) == Setup(command="npm ci")
    assert read_setup("", ["node_modules", "$ make deps"]) == Setup(command="make deps", paths=("node_modules",))
    assert read_setup("npm ci # all", ["$ make a"]).command == "{ make a\n} && { npm ci # all\n}"
    assert not read_setup("", [])


@pytest.mark.parametrize("value", [["../x"], ["/etc"], ["."], [".git/config"], [""" "a\0b" """], 3])
def test_paths_outside_of_the_repository_cannot_be_provided(value: object) -> None:
    with pytest.raises(ValueError, match="not legal"):
        parse_provided(value)


def test_paths_are_spelled_as_git_does() -> None:
    assert parse_provided("./node_modules/\n$ make  deps\n") == ("node_modules", "$ make  deps")


def test_what_a_setup_makes_stays_if_it_is_in_folders_of_tools() -> None:
    assert stays(["node_modules/a/b.js", ".venv/bin/python", "src/__pycache__/a.pyc"])
    assert not stays(["node_modules/a/b.js", "build/made.js"])
    assert not stays(["made.log"])


def test_what_a_setup_leaves_is_named_by_its_folder_and_a_lone_file_by_itself() -> None:
    paths = ["src/pkg/_version.py", "build/a.o", "build/b.o", "ready"]

    assert count_left(paths) == {"src/pkg/_version.py": 1, "build": 2, "ready": 1}
