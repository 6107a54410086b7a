"""What was done to the git of a worktree: commits of its own, another history, trailers of ours, a `.git` that is gone.

Git is asked only where its HEAD is not where we put it.
"""

from __future__ import annotations

from pathlib import Path

from drumline.core.gitdeeds import NO_DEEDS, GitDeeds, list_trailers
from drumline.core.ids import Commit
from drumline.errors import GitError, GitKilled, GitStuck
from drumline.isolation.owngit import lend_objects, read_tip
from drumline.record import replace
from drumline.workspace.commits import read_commits
from drumline.workspace.desk import Desk
from drumline.workspace.git import Git
from drumline.workspace.worktrees import find_record, has_tables

MOST = 50
"""Commits that are looked at."""
PATIENCE = 60.0
"""Seconds that reading what an agent left may take: it may hold a git of ours, as a pipe does that nobody writes to."""


async def find_deeds(desk: Desk, base: Commit) -> GitDeeds:
    """What was done in a worktree that was prepared at `base`."""
    if not desk.path.is_dir() or desk.path.is_symlink():
        return NO_DEEDS  # a workspace that is gone is told by whoever reads its files
    record = find_record(desk.git, desk.path)
    if record is None:
        return GitDeeds(no_git=True)
    own = read_tip(record)
    if own is not None and own != base:
        # Another store of objects, which may say anything: only what is told of the agent is read from it.
        lent = {**desk.git.env, **lend_objects(record)}
        try:
            borrowing = replace(desk.git, env=lent, limit=min(PATIENCE, desk.git.limit))
            return await compare_history(borrowing, own, base)
        except GitError as error:
            if isinstance(error, GitKilled) and not isinstance(error, GitStuck):
                raise
            return GitDeeds(rewrote=True)  # what it stands on cannot be read
    if not has_tables(desk.git.common_dir) and (record / "HEAD").read_text(encoding="utf-8").strip() == base:
        return NO_DEEDS
    return await compare_history(desk.git, await _find_tip(desk.git, record), base)


async def compare_history(git: Git, tip: str, base: Commit) -> GitDeeds:
    """What was made on a base, or in place of it."""
    if tip == base:
        return NO_DEEDS
    if not tip:
        return GitDeeds(rewrote=True)
    made = await read_commits(git, tip, f"^{base}", f"--max-count={MOST}")
    above = (await git.run("merge-base", "--is-ancestor", base, tip, accept=(0, 1, 128))).code == 0
    trailers = list_trailers([commit.message for commit in made])
    return GitDeeds(commits=len(made), rewrote=not above, trailers=trailers)


async def _find_tip(git: Git, record: Path) -> str:
    """The commit that a worktree stands on; empty if there is none."""
    words, env = ("rev-parse", "--verify", "-q", "HEAD^{commit}"), {"GIT_DIR": str(record)}
    try:
        return (await git.run(*words, env=env, accept=(0, 1))).line
    except GitError:
        return ""
