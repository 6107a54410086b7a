"""The tools of a model on real files and commands: what they do, and that nothing outside the folder is reached."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from tests.supervision import supervise

from drumline.errors import InvalidInput
from drumline.models.filetools import ANSWER, ENTRIES, FileTools, fits
from drumline.models.shelltools import ShellTools
from drumline.models.toolbox import LEGAL, build_skill_tool, build_tools, choose_tools


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src/deep").mkdir(parents=True)
    (folder / "src/a.py").write_text("one\ntwo\nthree\n")
    (folder / "src/deep/b.py").write_text("import a\nTWO\n")
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("[secret of git: two]\n")
    (tmp_path / "outside.txt").write_text("two outside\n")
    (folder / "out").symlink_to(tmp_path / "outside.txt")
    (folder / "up").symlink_to(tmp_path)
    (folder / "gitlink").symlink_to(".git")
    return folder


def call(work: Path, name: str, /, **args: object) -> str:
    """Call a tool as a model would."""
    processes = supervise(work.parent)
    shell = ShellTools(workspace=work, processes=processes, log=work.parent / "logs/ask.log")
    tool = build_tools(LEGAL, FileTools(workspace=work), shell)[name]

    async def use() -> str:
        return await tool(**args)

    return anyio.run(use)


def test_a_file_is_read_by_lines_with_numbers_on_request(work: Path) -> None:
    whole = call(work, "fs_cat", path="src/a.py")
    part = call(work, "fs_cat", path="./src/a.py", offset=2, limit=1, numbers=True)

    assert whole == "one\ntwo\nthree\n"
    assert part == "2\ttwo\n\n[1 more lines; continue with offset=3]"


def test_a_long_file_is_answered_in_parts_that_join_to_the_whole(work: Path) -> None:
    lines = [f"line {number} {'x' * 50}\n" for number in range(3000)]
    (work / "long.txt").write_text("".join(lines))

    first = call(work, "fs_cat", path="long.txt", limit=10_000)
    body, _, told = first.rpartition("\n[")
    rest = call(work, "fs_cat", path="long.txt", limit=10_000, offset=body.count("\n") + 1)

    assert len(first) < ANSWER + 100
    assert f"offset={body.count(chr(10)) + 1}" in told
    assert (body + rest).startswith("".join(lines)[: len(body) + 1000])


def test_one_endless_line_is_cut(work: Path) -> None:
    (work / "line.txt").write_text("x" * 1_000_000)

    assert len(call(work, "fs_cat", path="line.txt")) <= ANSWER + 100


def test_a_folder_is_listed_without_gits(work: Path) -> None:
    listed = call(work, "fs_ls").splitlines()

    assert [line.split(" ")[0] for line in listed] == ["gitlink", "out", "src/", "up"]
    assert call(work, "fs_ls", path="src") == "a.py (14)\ndeep/"


def test_a_big_folder_says_how_much_is_left_out(work: Path) -> None:
    (work / "many").mkdir()
    for number in range(ENTRIES + 7):
        (work / "many" / f"{number:04}").touch()

    assert call(work, "fs_ls", path="many").endswith("\n[7 more]")


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("**/*.py", ".", "src/a.py\nsrc/deep/b.py"),
        ("src/*.py", ".", "src/a.py"),
        ("*.py", "src", "src/a.py"),
        ("**", "src/deep", "src/deep/b.py"),
        ("**/config", ".", "[nothing fits]"),
        ("../*", ".", "[nothing fits]"),
        ("up/*", ".", "[nothing fits]"),
    ],
)
def test_files_are_found_by_pattern(work: Path, pattern: str, path: str, found: str) -> None:
    assert call(work, "fs_glob", pattern=pattern, path=path) == found


def test_a_pattern_of_many_stars_is_no_work() -> None:
    assert not fits(("a",) * 40, ("**", "a") * 30 + ("b",))
    assert fits(("a",) * 40, ("**", "a") * 30)


def test_text_is_found_in_the_workspace_only(work: Path) -> None:
    found = call(work, "fs_grep", pattern="^t(wo|en)$")
    both = call(work, "fs_grep", pattern="^two$", path="src", ignore_case=True)

    assert found.replace("./", "") == "src/a.py:2:two"
    assert sorted(both.splitlines()) == ["src/a.py:2:two", "src/deep/b.py:2:TWO"]
    assert call(work, "fs_grep", pattern="nowhere to be seen") == "[nothing fits]"
    assert "nmatched" in call(work, "fs_grep", pattern="(")


def test_a_pattern_that_looks_like_an_option_is_a_pattern(work: Path) -> None:
    (work / "options.txt").write_text("--help me\n")

    assert "options.txt:1:--help me" in call(work, "fs_grep", pattern="--help")


def test_a_file_is_written_patched_and_removed(work: Path) -> None:
    call(work, "fs_write", path="new/dir/c.txt", contents="alpha beta ü\r\n")
    call(work, "fs_patch", path="new/dir/c.txt", search="beta", replace="gamma")

    assert (work / "new/dir/c.txt").read_bytes() == "alpha gamma ü\r\n".encode()

    call(work, "fs_rm", path="new/dir/c.txt")
    call(work, "fs_rm", path="new/dir")
    call(work, "fs_mkdir", path="new/other/deep")

    assert [path.name for path in (work / "new").iterdir()] == ["other"]


@pytest.mark.parametrize(("search", "count"), [("nowhere", 0), ("e", 3), ("", 0)])
def test_a_patch_must_fit_exactly_once(work: Path, search: str, count: int) -> None:
    said = call(work, "fs_patch", path="src/a.py", search=search, replace="x")

    assert f"occurs {count} times" in said
    assert (work / "src/a.py").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    "path", ["../outside.txt", "out", "up/outside.txt", ".git/config", "gitlink/config", ".GIT/config", "src/../.git/x"]
)
def test_nothing_outside_and_nothing_of_gits_is_reached(work: Path, path: str) -> None:
    said = [
        call(work, "fs_cat", path=path),
        call(work, "fs_write", path=path, contents="hacked"),
        call(work, "fs_patch", path=path, search="two", replace="hacked"),
        call(work, "fs_ls", path=path),
        call(work, "fs_grep", pattern="two", path=path),
    ]

    assert [line for line in said if "leaves the workspace" not in line and "belongs to git" not in line] == []
    assert (work.parent / "outside.txt").read_text() == "two outside\n"
    assert (work / ".git/config").read_text() == "[secret of git: two]\n"


def test_an_absolute_path_must_be_inside(work: Path) -> None:
    assert call(work, "fs_cat", path=str(work / "src/a.py")).startswith("one")
    assert "leaves the workspace" in call(work, "fs_cat", path="/etc/hostname")


def test_a_link_itself_may_be_removed_not_what_it_leads_to(work: Path) -> None:
    call(work, "fs_rm", path="out")

    assert not (work / "out").is_symlink()
    assert (work.parent / "outside.txt").exists()


def test_what_cannot_be_done_is_told_as_text(work: Path) -> None:
    os.mkfifo(work / "pipe")
    (work / "data.bin").write_bytes(b"\0\1")
    (work / "latin.txt").write_bytes(b"caf\xe9 two")

    assert call(work, "fs_cat", path="gone.txt") == "error: No such file or directory"
    assert call(work, "fs_cat", path="") == "error: '' is not a path"
    assert "is not a file" in call(work, "fs_cat", path="pipe")
    assert "is not a file" in call(work, "fs_cat", path="src")
    assert "not a text file" in call(work, "fs_cat", path="data.bin")
    assert "not UTF-8" in call(work, "fs_patch", path="latin.txt", search="two", replace="2")
    assert call(work, "fs_rm", path="src").startswith("error: ")
    assert "leaves the workspace" in call(work, "fs_rm", path=".")


def test_a_command_runs_in_the_workspace_and_tells_its_exit_code(work: Path) -> None:
    said = call(work, "execute_command", command="basename $PWD; echo no >&2; exit 3")

    assert said == "exit code 3\nwork\nno\n"


def test_a_command_ends_in_time(work: Path) -> None:
    said = call(work, "execute_command", command="echo begun; sleep 60", timeout=1)

    assert said.startswith("timed out after 1 s\nbegun")


def test_much_output_keeps_its_beginning_and_its_end(work: Path) -> None:
    said = call(work, "execute_command", command="echo first; yes | head -c 3000000; echo last")

    assert said.startswith("exit code 0\nfirst\n")
    assert said.rstrip().endswith("last")
    assert len(said) < ANSWER + 100


def test_a_command_sees_only_harmless_variables(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:word@here")
    monkeypatch.setenv("LANG", "C")

    said = call(work, "execute_command", command='echo "[$OPENAI_API_KEY|$DATABASE_URL|$LANG]"')

    assert said == "exit code 0\n[||C]\n"


def test_names_come_with_or_without_a_suffix_and_ours_stand_for_them() -> None:
    chosen = choose_tools(("fs_cat.sh", "read", "search", "mcp:docs", "exec", "execute_command"))

    assert chosen == ["fs_cat", "fs_grep", "fs_glob", "execute_command"]
    assert choose_tools(()) == []


def test_every_unknown_name_is_told_with_the_legal_ones() -> None:
    with pytest.raises(InvalidInput) as caught:
        choose_tools(("fs_cat", "web", "fs_cat.py"))

    assert str(caught.value).startswith("unknown tool 'web', 'fs_cat.py' (legal: fs_cat, fs_ls, ")


def test_a_skill_is_loaded_by_its_name_and_an_unknown_one_is_told() -> None:
    tools = build_skill_tool({"code-review": "Look twice.", "handoff": "Leave notes."})

    async def load(name: str) -> str:
        return await tools["skill_load"](name=name)

    assert anyio.run(load, "code-review") == "Look twice."
    assert anyio.run(load, "magic") == "error: there is no skill 'magic' (there are: code-review, handoff)"
    assert build_skill_tool({}) == {}
    assert choose_tools(["skill_load", "fs_cat.sh"]) == ["fs_cat"]
