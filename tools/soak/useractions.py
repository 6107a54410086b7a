"""What users do to their own repository while a run is at work in it.

The rule: each action says what of the user's it changed or removed itself, and only that is taken off their belongings.
An action that git refuses because of something of ours is a finding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.soak.belongings import Belongings, read_files, take_stock
from tools.soak.journal import Record, read_records
from tools.soak.machine import Machine, Said
from tools.soak.scenario import Fault
from tools.soak.strikes import wait_until
from tools.soak.verdict import BROKEN, Finding, Outcome

BUSY = ("Unable to create", "cannot lock ref", "could not lock", "File exists", "gc is already running")
"""What git says while another git is at work: a user types the command again."""
TRIES = 5
POPS = 10
PATIENCE = 6.0
"""Seconds to wait until there is something on the run branch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    """Somebody who works in the repository, what belongs to them, and where is noted what git refused them."""

    machine: Machine
    belongings: Belongings
    outcome: Outcome

    def git(self, *args: str, cwd: Path | None = None, **env: str) -> Said:
        """Type a git command that has to work, again if another git is in the way."""
        for _ in range(TRIES):
            said = self.machine.git(*args, cwd=cwd, **env)
            if said.code == 0 or not any(word in said.err for word in BUSY):
                break
            time.sleep(1.0)
        if said.code != 0:
            self.note_broken(args, said)
        return said

    def note_broken(self, args: Sequence[str], said: Said) -> None:
        """Note that git refused what has to work."""
        words = f"git {' '.join(args)}: {(said.err or said.out).strip()[:300]}"
        self.outcome.findings.append(Finding(kind=BROKEN, text=words))

    def find_run(self) -> Record | None:
        """The run, once something has landed on its branch; None if that takes too long."""
        found: list[Record] = []

        def has_landed() -> bool:
            found[:] = [run for run in read_records(self.machine.store) if self.find_tip(run) not in ("", run.base)]
            return bool(found) or not self.machine.drivers

        wait_until(has_landed, patience=PATIENCE)
        return found[-1] if found else None

    def find_tip(self, record: Record) -> str:
        """The commit that the run branch is at; empty if there is none."""
        return self.machine.ask_git("rev-parse", "--verify", "--quiet", f"refs/heads/{record.branch}^{{commit}}")

    def keep_commit(self, name: str, cwd: Path | None = None) -> None:
        """From here on this commit is theirs."""
        self.belongings.commits.add(self.machine.ask_git("rev-parse", name, cwd=cwd))


def commit(user: User, fault: Fault) -> bool:
    """Commit a new file; what is staged stays staged."""
    name = f"user-{int(fault.choice * 10**9)}.txt"
    (user.machine.repo / name).write_text(f"{fault.choice}\n", encoding="utf-8")
    user.git("add", name)
    user.git("commit", "--quiet", "--message=of the user", "--", name)
    user.keep_commit("HEAD")
    take_stock(user.machine, user.belongings)
    return True


def switch(user: User, fault: Fault) -> bool:
    """Switch back to the branch before, if git allows it; else make a branch and switch to it."""
    back = fault.choice < 0.5 and user.machine.git("switch", "--quiet", "-").code == 0
    if not back:
        user.git("switch", "--quiet", "--create", f"topic-{int(fault.choice * 10**9)}")
    take_stock(user.machine, user.belongings)
    return True


def rebase(user: User, fault: Fault) -> bool:
    """Rewrite the newest commit; git stashes what is changed meanwhile, marks in the plan included."""
    commit(user, fault)
    machine = user.machine
    before, stashes = machine.ask_git("rev-parse", "HEAD"), count_stashes(machine)
    when = f"{1_700_000_000 + int(fault.choice * 10**6)} +0000"
    words = ("rebase", "--quiet", "--autostash", "--force-rebase", "HEAD~1")
    for _ in range(TRIES):
        said = machine.git(*words, GIT_COMMITTER_DATE=when)
        if said.code == 0 or "You have unstaged changes" not in said.err:
            break
        # A mark was written after git had put the changes aside. Git keeps them, and gives them back here.
        user.outcome.needed["git rebase --autostash meets a mark that is written at that moment: rebase --abort"] += 1
        user.git("rebase", "--abort")
        if count_stashes(machine) > stashes:
            pop_stash(user)
    if said.code != 0:
        user.note_broken(words, said)
    user.belongings.commits.discard(before)
    user.keep_commit("HEAD")
    if count_stashes(machine) > stashes:
        pop_stash(user)
    take_stock_of_index(user)
    return True


def collect_garbage(user: User, fault: Fault) -> bool:
    """Throw away everything that no ref reaches, at once."""
    user.git("reflog", "expire", "--expire=now", "--all")
    user.git("gc", "--quiet", "--prune=now")
    return True


def clean(user: User, fault: Fault) -> bool:
    """Remove everything that git does not track, a plan that is not committed included; the user wants that."""
    user.git("clean", "-fdxq")
    if not user.machine.plan.exists():
        user.belongings.notes.clear()
    gone = [name for name in user.belongings.files if not (user.machine.folder / name).exists()]
    for name in gone:
        if name in ("repo/untracked", "repo/ignored/data"):
            del user.belongings.files[name]
    return True


def stash(user: User, fault: Fault) -> bool:
    """Put everything aside for a while, untracked files included, then get it back."""
    machine, stashes = user.machine, count_stashes(user.machine)
    user.git("stash", "push", "--include-untracked", "--quiet")
    time.sleep(fault.amount)
    if count_stashes(machine) > stashes:
        pop_stash(user)
    take_stock_of_index(user)
    return True


def count_stashes(machine: Machine) -> int:
    """How many stashes there are."""
    return len(machine.ask_git("stash", "list").splitlines())


def pop_stash(user: User) -> None:
    """Get back what was put aside; where marks were written meanwhile, the stashed plan counts."""
    machine = user.machine
    if machine.git("stash", "pop", "--quiet").code == 0:
        return
    user.outcome.needed["git stash pop meets marks that were written meanwhile: the user settles it"] += 1
    if read_files(machine).items() >= user.belongings.files.items():
        # Git has restored everything but an untracked file that is there again: a sidecar of ours.
        user.git("stash", "drop", "--quiet")
        return
    for _ in range(POPS):
        _clear_for_pop(machine)
        said = machine.git("stash", "pop", "--quiet")
        if said.code == 0:
            return
    user.note_broken(("stash", "pop"), said)


def _clear_for_pop(machine: Machine) -> None:
    """Give up the marks written meanwhile; a driver may write the next one before the stash is back."""
    machine.git("checkout", "--quiet", "HEAD", "--", "plans")
    # Git has restored untracked files before it refused the rest, and does not write over them.
    for name in machine.ask_git("ls-tree", "-r", "--name-only", "stash@{0}^3").splitlines():
        (machine.repo / name).unlink(missing_ok=True)
    for sidecar in (machine.repo / "plans").glob("*.drumline.json"):
        sidecar.unlink(missing_ok=True)


def take_stock_of_index(user: User) -> None:
    """After a stash nothing is staged any more; that is git's way."""
    before = dict(user.belongings.files)
    take_stock(user.machine, user.belongings)
    user.belongings.files = before


def edit_plan(user: User, fault: Fault) -> bool:
    """Add a sentence to the root of the plan, in one stroke as editors do."""
    root = user.machine.plan / "root.md"
    if not root.exists():
        return False
    note = f"A sentence {int(fault.choice * 10**9)} of the user."
    fresh = root.with_name("root.md~")
    fresh.write_text(root.read_text(encoding="utf-8") + f"\n{note}\n", encoding="utf-8")
    fresh.replace(root)
    user.belongings.notes.append(note)
    return True


def move_branch(user: User, fault: Fault) -> bool:
    """Put a commit of one's own on the run branch."""
    run = user.find_run()
    if run is None:
        return False
    tip = user.find_tip(run)
    made = user.machine.ask_git("commit-tree", "-p", tip, "-m", f"of the user {fault.choice}", f"{tip}^{{tree}}")
    if user.machine.git("update-ref", f"refs/heads/{run.branch}", made, tip).code != 0:
        return False
    user.belongings.commits.add(made)
    return True


def reset_branch(user: User, fault: Fault) -> bool:
    """Set the run branch back to where it began, or by one commit."""
    run = user.find_run()
    if run is None:
        return False
    back = run.base if fault.choice < 0.5 else f"{run.branch}~1"
    done = user.machine.git("branch", "--force", run.branch, back).code == 0
    _give_up(user, run)
    return done


def delete_branch(user: User, fault: Fault) -> bool:
    """Delete the run branch."""
    run = user.find_run()
    if run is None:
        return False
    done = user.machine.git("branch", "-D", run.branch).code == 0
    _give_up(user, run)
    return done


def squash_branch(user: User, fault: Fault) -> bool:
    """Merge the run branch by squashing it, in a worktree of one's own, then delete it."""
    run = user.find_run()
    if run is None:
        return False
    desk = user.machine.folder / "desk"
    if not user.machine.ask_git("diff", "--name-only", "HEAD", run.branch, cwd=desk):
        return False
    user.git("merge", "--squash", "--quiet", "-X", "theirs", run.branch, cwd=desk)
    user.git("commit", "--quiet", "--message=squashed", cwd=desk)
    user.keep_commit("HEAD", cwd=desk)
    done = user.machine.git("branch", "-D", run.branch).code == 0
    _give_up(user, run)
    take_stock(user.machine, user.belongings)
    return done


def rebase_branch(user: User, fault: Fault) -> bool:
    """Rewrite every commit of the run branch, in a worktree of one's own; a landing in mid-rebase ends it."""
    run = user.find_run()
    desk = user.machine.folder / "desk"
    if run is None or user.machine.git("switch", "--quiet", run.branch, cwd=desk).code != 0:
        return False
    when = f"{1_700_000_000 + int(fault.choice * 10**6)} +0000"
    words = ("rebase", "--quiet", "--force-rebase", run.base)
    done = user.machine.git(*words, cwd=desk, GIT_COMMITTER_DATE=when).code == 0
    if done:
        user.keep_commit("HEAD", cwd=desk)
    else:
        user.git("rebase", "--abort", cwd=desk)
    _give_up(user, run)
    user.git("switch", "--quiet", "desk", cwd=desk)
    return done


def check_out_branch(user: User, fault: Fault) -> bool:
    """Look at the run branch for a while, in a worktree of one's own."""
    run = user.find_run()
    desk = user.machine.folder / "desk"
    if run is None or user.machine.git("switch", "--quiet", run.branch, cwd=desk).code != 0:
        return False
    time.sleep(fault.amount)
    user.git("switch", "--quiet", "desk", cwd=desk)
    return True


def _give_up(user: User, run: Record) -> None:
    """What is done to the branch of a run that has ended is the user's own affair, as are commits that go with it."""
    user.belongings.commits &= set(user.machine.ask_git("rev-list", "--all").split())
    now = read_records(user.machine.store)[-1]
    if now.state == "done" and now.run == run.run:
        user.belongings.branch_given_up = True


ACTIONS: Mapping[str, Callable[[User, Fault], bool]] = {
    "user-commit": commit,
    "user-switch": switch,
    "user-rebase": rebase,
    "user-gc": collect_garbage,
    "user-clean": clean,
    "user-stash": stash,
    "user-edit": edit_plan,
    "branch-moved": move_branch,
    "branch-reset": reset_branch,
    "branch-deleted": delete_branch,
    "branch-squashed": squash_branch,
    "branch-rebased": rebase_branch,
    "branch-checked-out": check_out_branch,
}
