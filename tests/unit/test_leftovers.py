"""What a check leaves behind, in words."""

from __future__ import annotations

from drumline.core.leftovers import MOST_KEPT, Leftovers, find_droppings, sort_changes, tell_altered, tell_created


def test_created_files_of_one_tool_are_one_name_and_changes_are_told_apart() -> None:
    found = sort_changes(
        [
            ("src/__pycache__/a.pyc", "created"),
            ("src/__pycache__/b.pyc", "created"),
            (".coverage", "created"),
            (".pytest_cache/v/x", "created"),
            ("a.py", "modified"),
            ("b.py", "deleted"),
        ]
    )

    assert found == Leftovers(created=("src/__pycache__/", ".coverage", ".pytest_cache/"), altered=("a.py", "b.py"))


def test_names_beyond_a_few_are_counted() -> None:
    many = sort_changes((f"f{n}.txt", "created") for n in range(80)).created

    assert len(many) == MOST_KEPT
    assert tell_created("make", many).endswith("f4.txt and 45 more; add what belongs to no commit to .gitignore")
    assert tell_altered("make", ["a.py"]) == (
        "the check `make` changes the tree, so it proves nothing; files restored: a.py; "
        "if it formats, name it as format_cmd in the plan or as format in [commands]"
    )


def test_only_what_tools_for_tests_drop_is_left_out_of_a_tree() -> None:
    paths = [
        "a/__pycache__/x.pyc",
        "a/__pycache__/y.pyc",
        ".coverage",
        "b/.coverage.host.1",
        "coverage.py",
        "old.pyc",
        "c/d",
        "src/calc.egg-info/PKG-INFO",
        ".eggs/a/b",
        "egg-info/c",
    ]

    assert find_droppings(paths) == [*paths[:4], "old.pyc", *paths[7:9]]
