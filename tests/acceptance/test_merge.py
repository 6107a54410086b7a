"""`drumline merge`: what a run landed comes onto the user's branch when they ask for it, all of it or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, step_text

FORGE = """#!/bin/sh
printf '%s\\n' "$@" > "$0.typed"
echo https://forge.example.org/a/b/pulls/1
"""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        made = make_user(tmp_path, step_text("step-1"), step_text("step-2"))
        made.git("config", "user.name", "kim")
        made.git("config", "user.email", "kim@example.org")
        made.play(
            {"match": {"step": "step-1"}, "write": {"step-1.txt": "x\n", "both.txt": "ours\n"}},
            {"match": {"step": "step-2"}, "write": {"step-2.txt": "x\n"}},
        )
        yield made


def test_a_run_that_is_done_is_merged_with_the_marks_of_its_plan_once(user: User) -> None:
    user.run()
    before = user.git("rev-parse", "HEAD")

    merged, marked = user.drumline("merge"), user.drumline("merge", "--plan-files")
    again = user.drumline("merge", "--json")

    assert (merged.code, marked.code, again.code) == (0, 0, 0), merged.text
    told = ["merged into main", f"not committed: the marks in 2 files of {PLAN}"]
    assert merged.out.splitlines() == [*told, f"  next: drumline merge {user.status()['run']} --plan-files"]
    assert marked.out.splitlines() == ["main has all of it already", f"committed the files of {PLAN}"]
    assert again.json["how"] == "already"
    assert user.git("rev-parse", "HEAD^") == user.git("rev-parse", user.branch()) != before
    assert user.git("status", "--porcelain") == "M agent.yaml"  # it is not the plan's
    assert "status: done" in user.git("show", f"HEAD:{PLAN}/step-1.md")
    assert set(user.git("diff", "--name-only", "HEAD^", "HEAD").split()) >= {f"{PLAN}/step-1.md"}


def test_a_plan_that_was_never_committed_is_named_with_the_command_that_commits_it(user: User) -> None:
    user.git("rm", "-r", "-q", "--cached", "plans")
    user.git("commit", "-qm", "no plan")
    user.run()

    merged, marked = user.drumline("merge"), user.drumline("merge", "--plan-files")

    assert f"not committed: the marks in 2 files of {PLAN}" in merged.out
    assert f"committed the files of {PLAN}" in marked.out
    assert "status: done" in user.git("show", f"HEAD:{PLAN}/step-1.md")


def test_a_branch_that_moved_gets_a_merge_commit_and_one_that_conflicts_stays_as_it_is(user: User) -> None:
    user.run()
    (user.repo / "other.txt").write_text("mine\n")
    user.git("add", "other.txt")
    user.git("commit", "-qm", "mine")
    mine = user.git("rev-parse", "HEAD")

    merged = user.drumline("merge")
    parents = user.git("rev-list", "--parents", "-1", "HEAD").split()[1:]
    user.git("reset", "-q", "--hard", mine)
    (user.repo / "both.txt").write_text("theirs\n")
    user.git("add", "both.txt")
    user.git("commit", "-qm", "conflict")
    conflicting = user.git("rev-parse", "HEAD")
    refused = user.drumline("merge")

    assert merged.code == 0, merged.text
    assert "main had moved, so no check has seen this tree" in merged.out
    assert parents == [mine, user.git("rev-parse", user.branch())]
    assert refused.code == 2
    assert f"both main and {user.branch()} changed both.txt" in refused.err
    assert f"git merge {user.branch()}" in refused.err
    assert user.git("rev-parse", "HEAD") == conflicting
    assert (user.repo / "both.txt").read_text() == "theirs\n"
    assert user.git("status", "--porcelain", "both.txt", "step-1.txt") == ""


@pytest.mark.parametrize("path", ["step-1.txt", "both.txt"], ids=["unknown to git", "tracked"])
def test_uncommitted_changes_in_the_way_are_named_with_a_command_that_works(user: User, path: str) -> None:
    (user.repo / "both.txt").write_text("base\n", encoding="utf-8")
    user.git("add", "both.txt")
    user.git("commit", "-qm", "more")
    user.run()
    (user.repo / path).write_text("mine\n", encoding="utf-8")

    refused = user.drumline("merge")
    command = refused.err.partition("next: ")[2].partition(", then: ")[0]
    stash, _, again = command.partition(" && ")
    user.git(*stash.split()[1:])
    merged = user.drumline(*again.split()[1:])

    told = "not merged into main: your checkout has uncommitted changes in what the run changed"
    assert (refused.code, f"{told} ({path}); commit them, or put them aside\n" in refused.err) == (2, True), refused.err
    assert command == f"git stash push -u -- {path} && drumline merge {user.status()['run']}"
    assert merged.code == 0, merged.text
    assert (user.repo / "both.txt").read_text(encoding="utf-8") == "ours\n"
    assert "mine" in user.git("stash", "show", "-p", "--include-untracked")


def test_a_run_that_is_not_done_is_not_merged(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "write": {"wrong.txt": "x\n"}})
    user.run("--retries", "0")
    before = user.git("rev-parse", "HEAD")

    refused = user.drumline("merge")

    assert refused.code == 2
    assert "is blocked" in refused.err
    assert user.git("rev-parse", "HEAD") == before


def test_a_pull_request_is_opened_with_the_program_of_the_forge(user: User) -> None:
    user.git("init", "-q", "--bare", str(user.folder / "remote.git"))
    user.git("remote", "add", "origin", "https://github.com/a/b.git")
    user.git("config", f"url.{user.folder / 'remote.git'}.pushInsteadOf", "https://github.com/a/b.git")
    programs = user.folder / "bin"
    programs.mkdir()
    (programs / "gh").write_text(FORGE)
    (programs / "gh").chmod(0o755)
    user.run()

    opened = user.drumline("merge", "--pr", "--json", env={"PATH": f"{programs}:{user.env['PATH']}"})

    assert opened.code == 0, opened.text
    told = json.loads(opened.out)
    assert (told["how"], told["address"]) == ("pull_request", "https://forge.example.org/a/b/pulls/1")
    typed = (programs / "gh.typed").read_text()
    assert typed.startswith(f"pr\ncreate\n--head\n{user.branch()}\n--base\nmain\n--title\n")
    assert "- step-1: " in typed
    assert user.git("rev-parse", user.branch()) == user.git(
        "--git-dir", str(user.folder / "remote.git"), "rev-parse", user.branch()
    )


BOTH = """#!/bin/sh
case "$1" in
  issue*) echo '{"title": "Broken login", "body": "b", "description": "b", "index": 7, "iid": 7}';;
  *) printf '%s\\n' "$@" > "$0.typed"; echo https://forge.example.org/a/b/pulls/1;;
esac
"""


@pytest.mark.parametrize(
    ("program", "remote", "first"),
    [
        ("gh", "https://github.com/a/b.git", ["pr", "create"]),
        ("glab", "https://gitlab.example.org/a/b.git", ["mr", "create"]),
        ("tea", "https://codeberg.org/a/b.git", ["pulls", "create"]),
    ],
)
def test_a_pull_request_for_an_issue_closes_it(user: User, program: str, remote: str, first: list[str]) -> None:
    user.git("init", "-q", "--bare", str(user.folder / "remote.git"))
    user.git("remote", "add", "origin", remote)
    user.git("config", f"url.{user.folder / 'remote.git'}.pushInsteadOf", remote)
    programs = user.folder / "bin"
    programs.mkdir()
    (programs / program).write_text(BOTH)
    (programs / program).chmod(0o755)
    env = {"PATH": f"{programs}:{user.env['PATH']}"}
    user.play({"write": {"a.txt": "1\n"}})
    before = user.git("rev-parse", "main")

    done = user.drumline(
        *("do", "--issue", "7", "--check", "test -f a.txt", "--agent", "scripted:agent.yaml"),
        *("--autonomy", "autopilot"),
        env=env,
    )
    opened = user.drumline("merge", "--pr", env=env)

    typed = (programs / f"{program}.typed").read_text().splitlines()
    assert (done.code, opened.code) == (0, 0), done.text + opened.text
    assert "https://forge.example.org/a/b/pulls/1" in opened.out
    assert typed[:2] == first
    assert {"Closes #7", user.branch(), "main"} <= {*typed}
    assert user.git("rev-parse", "main") == before


def test_an_agent_cannot_merge(user: User) -> None:
    user.play({"run": "drumline merge > merged.txt 2>&1; echo $? >> merged.txt; touch step-1.txt step-2.txt"})

    user.run()

    assert user.git("rev-parse", "main") != user.git("rev-parse", user.branch())
    said = user.git("show", f"{user.branch()}:merged.txt")
    assert said.splitlines()[-1] == "3"
