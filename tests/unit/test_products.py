"""What of a step's work is its product, and what of it does not land."""

from __future__ import annotations

import pytest

from drumline.core.products import MOST_IGNORED, choose_products, find_hidden, find_unmet, sort_present, tell_ignored


@pytest.mark.parametrize(
    "path",
    [
        "node_modules/a/b.js",
        "pkg/node_modules/a.js",
        ".venv/lib/a.py",
        "target/debug/a",
        "src/__pycache__/a.pyc",
        "a.egg-info/PKG-INFO",
        "a-1.dist-info/RECORD",
        ".coverage",
        "npm-debug.log",
    ],
)
def test_what_tools_leave_is_not_a_product(path: str) -> None:
    assert choose_products([path, "build/out.js"]) == ("build/out.js",)


def test_what_was_there_before_is_not_a_product_and_the_list_is_bounded() -> None:
    many = [f"build/{number}.js" for number in range(MOST_IGNORED + 5)]

    assert choose_products(["a", "b"], before={"a"}) == ("b",)
    assert len(choose_products(many)) == MOST_IGNORED


@pytest.mark.parametrize(
    ("entry", "path", "chosen"),
    [
        ("target/report.json", "target/report.json", True),
        ("./out.log", "out.log", True),
        ("*.log", "out.log", True),
        ("target/*.json", "target/report.json", True),
        ("target", "target/report.json", True),
        ("coverage/", "coverage/x.html", True),
        ("src/", "src/debug.log", False),
        ("src/", "src/__pycache__/a.pyc", False),
        ("src/", "src/node_modules/a.js", False),
        ("*.js", "node_modules/a.js", False),
        ("**/*.json", "target/report.json", False),
        ("target/*.json", "target/debug.txt", False),
        ("**/target/x.json", "a/target/x.json", True),
        ("**/target/x.json", "node_modules/a/target/x.json", False),
        ("**/*.egg-info/PKG-INFO", "a/b.egg-info/PKG-INFO", True),
        ("out.*", "out.log", True),
        ("out/x.json", "out", False),
    ],
)
def test_a_file_that_tools_may_have_left_counts_if_the_plan_names_it(entry: str, path: str, chosen: bool) -> None:
    many = [f"build/{number}.js" for number in range(MOST_IGNORED)]

    assert (path in choose_products([*many, path], wanted=[entry])) is chosen


def test_a_file_that_was_there_before_counts_only_if_the_plan_names_exactly_it() -> None:
    there = ["out/a.js"]

    assert choose_products(there, before=there, wanted=["out/a.js"]) == ("out/a.js",)
    assert choose_products(there, before=there, wanted=["out/"]) == ()


@pytest.mark.parametrize(
    ("files", "changed", "hidden"),
    [
        (("build/out.js",), ("a.txt",), ("build/out.js",)),
        (("build/",), ("a.txt",), ("build/out.js",)),
        (("build/",), ("build/index.js",), ()),
        (("build/*.js",), ("a.txt",), ("build/out.js",)),
        (("*.js",), ("src/main.js",), ()),
        (("src/",), ("src/main.py",), ()),
        ((), ("a.txt",), ()),
    ],
)
def test_an_ignored_file_is_hidden_if_the_plan_asks_for_it_and_got_nothing_else(
    files: tuple[str, ...], changed: tuple[str, ...], hidden: tuple[str, ...]
) -> None:
    unmet = find_unmet(files, dict.fromkeys(changed, "created"))

    assert find_hidden(unmet, ["build/out.js"]) == hidden


def test_each_entry_of_the_plan_is_heard_before_the_list_is_cut() -> None:
    many = [f"gen/{number}" for number in range(MOST_IGNORED * 2)]

    assert choose_products([*many, "out.log"], wanted=["gen/", "out.log"])[:2] == ("gen/0", "out.log")


def test_a_file_that_was_deleted_has_not_landed() -> None:
    assert find_unmet(["out.json", "a.txt"], {"out.json": "deleted", "a.txt": "created"}) == ("out.json",)


def test_what_an_attempt_left_in_a_worktree_is_not_what_setup_made_there() -> None:
    earlier = {"work": "1", "cache": "1", "again": "1"}
    now = {"work": "1", "cache": "1", "again": "2", "new": "1"}

    assert sort_present(earlier, now, {"cache": "0", "again": "0"}) == {"cache": "0", "again": "2", "new": "1"}


def test_a_few_ignored_files_are_named() -> None:
    assert tell_ignored(["a", "b", "c", "d", "e", "f"]) == "not landed because git ignores it: a, b, c, d, e and 1 more"
