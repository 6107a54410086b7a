"""Files that decide though no command names them: in a target's place, as a part of a script, by a runner's rules."""

from __future__ import annotations

import pytest

from drumline.core.events import CheckEnded
from drumline.core.ids import Tree
from drumline.core.judge import JudgeKind, compare_judges, find_touched, names_new_test
from drumline.core.proof import Colour, Compared
from drumline.core.recipes import list_sourced, list_standing_in
from drumline.core.silence import tell_silence
from drumline.core.testids import Report

MAKEFILE = "all check: deps\n\tsh check.sh\nVERSION := 1\ndeps:\n\ttrue\n"
TREE = Tree("t")


@pytest.mark.parametrize(
    ("path", "found"),
    [("check", True), ("deps", True), ("GNUmakefile", True), ("makefile", True), ("VERSION", False), ("notes", False)],
)
def test_a_new_file_in_the_place_of_a_target_decides(path: str, found: bool) -> None:
    listed = list_standing_in({path: "created"}, ["make check"], {"Makefile": MAKEFILE})

    assert listed == ([path] if found else [])


@pytest.mark.parametrize(
    ("changed", "command", "texts"),
    [
        ({"check": "modified"}, "make check", {"Makefile": MAKEFILE}),
        ({"check": "created"}, "sh check.sh", {"Makefile": MAKEFILE}),
        ({"Makefile": "created"}, "make check", {}),
        ({"Makefile": "created"}, "make check", {"GNUmakefile": MAKEFILE}),
    ],
)
def test_what_make_does_not_look_at_or_nobody_had_before_does_not(
    changed: dict[str, str], command: str, texts: dict[str, str]
) -> None:
    assert list_standing_in(changed, [command], texts) == []


def test_what_stands_in_is_configuration_and_no_new_test_of_the_command() -> None:
    touched = find_touched({"check": "created"}, ["make check"], {}, standing_in=["check"])

    assert [file.kind for file in touched] == [JudgeKind.CONFIG]
    assert not names_new_test("make check", touched)


@pytest.mark.parametrize(
    "text",
    [". lib.sh\n", "set -e\nsource 'scripts/lib.sh'\n", 'true; . "$(dirname $0)/lib.sh"\n', "then . ./lib.sh; fi"],
)
def test_parts_of_scripts_are_found(text: str) -> None:
    assert list_sourced(text, ["scripts/lib.sh", "other.sh"]) == ["scripts/lib.sh"]


@pytest.mark.parametrize("text", ["# see lib.sh\n", "echo . lib.sh\n", "sh lib.sh\n"])
def test_what_is_only_named_is_no_part(text: str) -> None:
    assert list_sourced(text, ["lib.sh"]) == []


@pytest.mark.parametrize("path", ["pytest.toml", ".pytest.toml", ".npmrc", ".yarnrc.yml", "bunfig.toml"])
def test_what_leads_a_runner_is_configuration(path: str) -> None:
    assert [file.kind for file in find_touched({path: "created"}, ["x"], {})] == [JudgeKind.CONFIG]


@pytest.mark.parametrize(
    ("after", "change"),
    [
        ('[package]\nname = "a"\n[dependencies]\nb = "1"\n', ""),
        ('[package]\nname = "a"\nautotests = false\n', "created"),
        ('[package]\nname = "a"\n[lib]\ntest = false\n', "created"),
    ],
)
def test_of_a_cargo_file_only_what_keeps_tests_from_running_judges(after: str, change: str) -> None:
    assert compare_judges("Cargo.toml", '[package]\nname = "a"\n', after, ["cargo test"]) == change


@pytest.mark.parametrize(
    ("colour", "before", "now", "told"),
    [
        (Colour.UNKNOWN, Report(ran=2, failed=1), Report(ran=2, failed=1), True),
        (Colour.RED, Report(ran=2, failed=1), Report(ran=2, failed=1), True),
        (Colour.GREEN, Report(ran=2, failed=1), Report(ran=2, failed=1), False),
        (Colour.RED, Report(ran=2, failed=1), Report(ran=2), False),
        (Colour.RED, Report(ran=2), Report(ran=2, failed=1), False),
    ],
)
def test_tests_that_fail_as_before_and_an_exit_code_of_0_do_not_go_together(
    colour: Colour, before: Report, now: Report, told: bool
) -> None:
    ended = CheckEnded(check=0, command="t", tree=TREE, tree_after=TREE, exit_code=0, report=now)
    there = Compared(check=0, command="t", colour=colour, report=before)

    assert ("exit code is 0" in tell_silence(ended, [there], touched=False)) is told
