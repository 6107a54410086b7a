"""Git's index read from its file: the same as git says, or nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from drumline.workspace.indexfile import MOST, list_extras, read_index

NAMES = [
    "plain",
    "a.b/c",
    "a/b",
    "with space",
    "line\nend",
    "u\u00fcber/\u2713",
    "x" * 200,
    *(f"n{'y' * n}" for n in range(9)),
]


def git(top: Path, *words: str, text: str = "") -> str:
    done = subprocess.run(["git", *words], cwd=top, input=text, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(params=["sha1", "sha256"])
def top(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    git(tmp_path, "init", "-q", f"--object-format={request.param}")
    for number, name in enumerate(NAMES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{number}\n")
    (tmp_path / "plain").chmod(0o755)
    (tmp_path / "link").symlink_to("nowhere")
    git(tmp_path, "add", "--all")
    return tmp_path


def index_of(top: Path) -> Path:
    return top / ".git" / "index"


def test_an_index_is_read_as_git_reads_it(top: Path) -> None:
    listed = [line.split("\t", 1) for line in git(top, "ls-files", "--stage", "-z").split("\0") if line]

    found = read_index(index_of(top))

    assert found == {path: (int(words.split()[0], 8), words.split()[1]) for words, path in listed}
    assert len(found) == len(NAMES) + 1


def test_a_name_that_is_no_text_is_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    name = os.fsdecode(b"\xff\xfe")
    (tmp_path / name).write_text("x")
    git(tmp_path, "add", "--all")

    assert read_index(index_of(tmp_path)).keys() == {name}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "words",
    [
        ("update-index", "--index-version", "4"),
        ("update-index", "--split-index"),
        ("update-index", "--skip-worktree", "plain"),
        ("rm", "--cached", "-q", "plain"),
    ],
)
def test_an_index_of_another_kind_is_not_known(top: Path, words: tuple[str, ...]) -> None:
    git(top, *words)
    if words[0] == "rm":
        git(top, "add", "--intent-to-add", "plain")

    assert read_index(index_of(top)) is None


def test_an_index_in_the_middle_of_a_merge_is_not_known(top: Path) -> None:
    content = git(top, "rev-parse", ":a/b").strip()
    git(top, "update-index", "--index-info", text=f"100644 {content} 2\tclash\n")

    assert read_index(index_of(top)) is None


def test_a_damaged_a_missing_and_a_huge_index_are_not_known(top: Path) -> None:
    data = bytearray(index_of(top).read_bytes())
    data[60] ^= 1
    damaged, missing = top / "damaged", top / "missing"
    damaged.write_bytes(data)
    content = git(top, "rev-parse", ":a/b").strip()
    git(top, "update-index", "--index-info", text="".join(f"100644 {content} 0\tf{n}\n" for n in range(MOST)))

    assert read_index(damaged) is None
    assert read_index(missing) is None
    assert read_index(index_of(top)) is None


def test_what_is_not_in_the_index_is_found(top: Path) -> None:
    for name in ("a/new", "other/deep/file", "nested/.git/HEAD", "nested/x", "u\u00fcber/.git/y"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x")
    (top / "plain").unlink()

    found = list_extras(top, read_index(index_of(top)) or {})

    assert sorted(found or ()) == [
        "a/new",
        "nested/",
        "nested/.git/",
        "nested/x",
        "other/",
        "other/deep/",
        "other/deep/file",
        "u\u00fcber/.git/",
    ]


def test_a_clean_work_tree_has_no_extras_and_one_with_a_pipe_is_not_known(top: Path) -> None:
    known = read_index(index_of(top)) or {}

    clean = list_extras(top, known)
    (top / "a" / "sub").mkdir()
    os.mkfifo(top / "a" / "sub" / ".gitignore")

    assert clean == []
    assert list_extras(top, known) is None
    assert list_extras(top / "gone", known) is None
