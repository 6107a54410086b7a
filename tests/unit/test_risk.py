"""Why work on a step is reviewed: facts about its files, its lines and its plan."""

from __future__ import annotations

import pytest

from drumline.core.risk import Change, list_reasons


@pytest.mark.parametrize(
    ("path", "boundary"),
    [
        ("src/auth/tokens.py", "authentication"),
        ("src/loginForm.ts", "authentication"),
        ("lib/crypto.rs", "cryptography"),
        ("shop/billing/total.go", "payments"),
        ("db/migrations/0002_names.py", "migrations"),
        ("schema/users.sql", "migrations"),
        ("proto/v1.proto", "public API"),
        ("src/api/routes.py", "public API"),
    ],
)
def test_a_path_at_a_boundary_is_a_reason(path: str, boundary: str) -> None:
    assert list_reasons(Change(files=(path,))) == (f"it touches {boundary} ({path})",)


@pytest.mark.parametrize(
    ("line", "boundary"),
    [
        ("    with threading.Lock():", "concurrency"),
        ("ALTER TABLE users ADD name text", "migrations"),
        ("digest = hmac.new(key, b'')", "cryptography"),
        ("if authenticate_user(name):", "authentication"),
    ],
)
def test_an_added_line_at_a_boundary_is_a_reason(line: str, boundary: str) -> None:
    reasons = list_reasons(Change(files=("src/a.py",), lines=(line,)))

    assert [reason.split(" (")[0] for reason in reasons] == [f"it touches {boundary}"]


@pytest.mark.parametrize("path", ["src/author.py", "src/capital.py", "tests/apiary.py", "src/escheduled.py"])
def test_words_that_only_contain_such_a_name_are_not(path: str) -> None:
    assert list_reasons(Change(files=(path,), lines=("author = 1", "a lock on the door"))) == ()


def test_five_files_are_many_and_documentation_does_not_count() -> None:
    files = tuple(f"src/m{number}.py" for number in range(5))

    assert list_reasons(Change(files=files)) == ("it changes 5 files",)
    assert list_reasons(Change(files=(*files[:4], "docs/a.md", "docs/b.md"))) == ()


def test_documentation_is_reviewed_only_if_its_plan_flags_it() -> None:
    files = tuple(f"docs/auth/{number}.md" for number in range(9))

    assert list_reasons(Change(files=files, judges=("x",))) == ()
    assert list_reasons(Change(files=files, flag="opus")) == ("its plan asks for a review (opus)",)


def test_a_changed_judge_and_surviving_mutants_are_reasons() -> None:
    found = Change(files=("src/a.py",), judges=("tests/test_a.py",), survivors=2, foreign=("src/b.py",))

    assert list_reasons(found) == (
        "it changes what judges it (tests/test_a.py)",
        "its tests do not notice 2 mutants",
        "it changes files of other steps (src/b.py)",
    )
