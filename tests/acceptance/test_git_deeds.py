"""What an agent does to git beside changing files: each is caught, told with the step's name, and lands nowhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, gates_of, leaving_nothing, make_user, step_text

from drumline.agents.jail import find_jail

COMMIT = "git -c user.name=Ann -c user.email=ann@example.org commit -q"
REF = "ref=$(git for-each-ref --format='%(refname)' refs/heads/drumline)"
NOTE = "note=$(git for-each-ref --format='%(refname)' 'refs/drumline/*/@head')"
MADE = "made=$(git -c user.name=Ann -c user.email=ann@example.org commit-tree -m Sneaked"
WORK = "echo 1 > step-1.txt"
FOREIGN = f"{WORK} && {REF} && {NOTE} && {MADE} -p $ref $ref^{{tree}}) && git update-ref $ref $made"
UNRELATED = f"{WORK} && {REF} && {NOTE} && {MADE} $ref^{{tree}}) && git update-ref $ref $made"
BOTH = "&& git update-ref $note $made"

IN_WORKTREE = {
    "commits": (f"{WORK} && git add -A && {COMMIT} -m mine", "made 1 commit of its own; they become part of"),
    "amends": (f"{WORK} && git add -A && {COMMIT} --amend -m mine", "rewrote or left the history that it began on"),
    "resets": ("git reset -q --hard HEAD~1 && git checkout -q @{1} -- . && " + WORK, "rewrote or left the history"),
    "plants": (f"{WORK} && git add -A && {COMMIT} -m x -m 'Drumline-Step: step-9'", "(Drumline-Step: step-9)"),
    "deletes": (f"{WORK} && rm -rf .git", "removed or changed the .git of its worktree"),
}


@pytest.mark.parametrize("deed", IN_WORKTREE)
def test_what_an_agent_does_to_git_in_its_worktree_is_named_and_does_not_land(tmp_path: Path, deed: str) -> None:
    command, told = IN_WORKTREE[deed]
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"))
        (kim.repo / "more.txt").write_text("more\n", encoding="utf-8")
        kim.commit_all("more")
        kim.play({"match": {"step": "step-1"}, "run": command})

        ran = kim.run()

    base = kim.git("rev-parse", "main")
    assert ran.code == 0, ran.text
    assert told in " ".join(ran.text.split()), ran.text
    assert told in " ".join(kim.drumline("why", "step-1").out.split())
    assert kim.git("rev-parse", f"{kim.branch()}~1") == base
    assert kim.git("diff", "--name-only", base, kim.branch()).split() == ["step-1.txt"]
    assert "step-9" not in kim.git("log", "-1", "--format=%B", kim.branch())


@pytest.mark.parametrize("deed", [FOREIGN, FOREIGN + BOTH, UNRELATED, UNRELATED + BOTH], ids=["a", "b", "c", "d"])
def test_an_agent_that_moves_the_run_branch_is_named_and_a_person_decides(tmp_path: Path, deed: str) -> None:
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
        kim.play({"match": {"step": "step-1", "attempt": 1}, "run": deed})

        asked = kim.run()
        sneaked = kim.git("rev-parse", kim.branch())
        (gate,) = gates_of(kim.status())
        answered = kim.drumline("answer", gate, "restore", "--resume")

    assert asked.code == 2, asked.text
    assert gate.startswith("branch-")
    assert "It was moved while the agent of step-1 was at work." in asked.text
    assert f"{sneaked[:10]} Sneaked (Ann)" in asked.text
    assert answered.code == 0, answered.text
    assert sneaked not in kim.git("rev-list", kim.branch())
    assert kim.git("for-each-ref", "--contains", sneaked)
    assert kim.git("log", "--format=%s", f"main..{kim.branch()}").splitlines() == [
        "[step-2] Make step-2",
        "[step-1] Make step-1",
    ]


PLANTED = (
    f"{WORK}; test -e ../once && exit 0; touch ../once; {REF} && {NOTE} && {MADE} -p $ref $ref^{{tree}})"
    " && git update-ref ${note%@head}step-2/landed-$made $made"
    " && git update-ref $ref $made && git update-ref $note $made"
)


def test_a_commit_that_is_planted_as_a_landing_of_another_step_is_not_taken_for_one(tmp_path: Path) -> None:
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
        kim.play({"match": {"step": "step-1"}, "run": PLANTED})

        asked = kim.run()
        (gate,) = gates_of(kim.status())
        answered = kim.drumline("answer", gate, "restore", "--resume")

    assert asked.code == 2, asked.text
    assert "Sneaked (Ann)" in asked.text
    assert answered.code == 0, answered.text
    assert kim.landed("step-2.txt") == "2"


@pytest.mark.parametrize("deed", ["git update-ref $ref HEAD~1", "git symbolic-ref $ref refs/heads/main"])
def test_a_run_branch_that_is_set_back_or_made_symbolic_is_restored_and_the_step_is_named(
    tmp_path: Path, deed: str
) -> None:
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"))
        (kim.repo / "more.txt").write_text("more\n", encoding="utf-8")
        kim.commit_all("more")
        kim.play({"match": {"step": "step-1"}, "run": f"{WORK} && {REF} && {deed}"})
        base = kim.git("rev-parse", "main")

        ran = kim.run()

    assert ran.code == 0, ran.text
    assert "it is back at" in ran.text
    assert "It was moved while the agent of step-1 was at work." in ran.text
    assert kim.git("rev-parse", f"{kim.branch()}~1") == kim.git("rev-parse", "main") == base


def test_a_hard_reset_in_the_checkout_is_named_and_the_branch_is_restored(tmp_path: Path) -> None:
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"))
        kim.git("switch", "-q", "-c", "mine")
        command = f"git reset -q --hard HEAD~1; echo more > more.txt; {WORK}"
        kim.play({"match": {"step": "step-1"}, "run": command})
        kim.commit_all("play")
        (kim.repo / "more.txt").write_text("more\n", encoding="utf-8")
        kim.commit_all("more")
        before = kim.git("rev-parse", "HEAD")

        ran = kim.run(env={"DRUMLINE_WORK_IN": "inplace"})

    assert "rewrote or left the history that it began on" in ran.text
    assert "It was moved while the agent of step-1 was at work." in ran.text
    assert ran.code == 0, ran.text
    assert kim.git("rev-parse", "mine~1") == before
    assert kim.git("diff", "--name-only", before, "mine").split() == ["step-1.txt"]


JAILED = r"""
echo "stands on $(git log -1 --format=%s)"
echo $DRUMLINE_ATTEMPT > step-1.txt
git switch -q -c side-$DRUMLINE_ATTEMPT && git add -A && git stash -q && git stash pop -q
git -c user.name=Ann -c user.email=ann@example.org commit -q -a -m "try $DRUMLINE_ATTEMPT" && echo committed
for ref in $(git for-each-ref --format="%(refname)" refs/heads); do git update-ref $ref HEAD; done
"""


@pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
def test_an_agent_in_the_jail_has_a_git_of_its_own_in_which_it_commits_stashes_and_branches(tmp_path: Path) -> None:
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1", checks=["grep -q 2 step-1.txt"]))
        main = kim.git("rev-parse", "main")

        ran = kim.run(agent=f"command:{JAILED}")

    told = [kim.drumline("logs", "step-1", "--attempt", str(number)).out for number in (1, 2)]
    assert ran.code == 0, ran.text
    assert "step-1: made 1 commit of its own; they become part of the step's commit" in ran.text
    assert all("committed" in log for log in told), told
    assert "stands on start" in told[0]
    assert "stands on try 1" in told[1]
    assert kim.landed("step-1.txt") == "2"
    assert kim.git("log", "--format=%s", f"main..{kim.branch()}") == "[step-1] Make step-1"
    assert kim.git("rev-parse", "main") == main
    assert "try" not in kim.git("log", "--all", "--format=%s")
    assert "side" not in kim.git("for-each-ref")


def move_behind_colon(user: User) -> User:
    return replace(user, repo=user.repo.rename(user.folder / 'a:b "c"'))


def link_to_bare(user: User) -> User:
    user.git("clone", "-q", "--bare", str(user.repo), str(user.folder / "bare.git"))
    user.git("worktree", "add", "-q", str(user.folder / "linked"), "main", cwd=user.folder / "bare.git")
    return replace(user, repo=user.folder / "linked")


def put_into_other(user: User) -> User:
    outer = user.folder / "outer"
    user.git("init", "-q", str(outer))
    user.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(user.repo), "inner", cwd=outer)
    return replace(user, repo=outer / "inner")


@pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
@pytest.mark.parametrize("make", [move_behind_colon, link_to_bare, put_into_other])
def test_an_agent_in_the_jail_commits_whatever_kind_of_repository_it_is(
    tmp_path: Path, make: Callable[[User], User]
) -> None:
    command = f"{WORK} && git add -A && {COMMIT} -m mine && git status --short && echo committed"
    with leaving_nothing(tmp_path):
        kim = make(make_user(tmp_path, step_text("step-1")))

        ran = kim.run(agent=f"command:{command}")

    assert ran.code == 0, ran.text
    assert "committed" in kim.drumline("logs", "step-1").out
    assert "step-1: made 1 commit of its own; they become part of the step's commit" in ran.text
    assert kim.landed("step-1.txt") == "1"
