"""Proves a run again: the journal beside its seals, commits beside git, logs beside their digests, checks run again.

The rule: nothing is changed, no agent is asked, and it stops at the first difference.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

from drumline.core.ids import StepId, Stream
from drumline.core.state import RunState
from drumline.core.verification import (
    Difference,
    Landed,
    SeenCommit,
    collect_landed,
    compare_commit,
    compare_log,
    compare_seal,
    find_seal,
    list_landed,
)
from drumline.engine.identity import digest_log
from drumline.engine.verifying import Rerun
from drumline.errors import InvalidInput
from drumline.ports.journal import Journal
from drumline.record import Record
from drumline.workspace.absorbed import is_absorbed
from drumline.workspace.landing import name_head
from drumline.workspace.repository import Repository
from drumline.workspace.seencommits import has_tree, is_below, see_commit

RunAgain = Callable[[Landed], AsyncIterator[Rerun]]


class Compared(Record):
    """What was compared of a landed step; `difference` is the first that was found, `left` what was not compared."""

    step: StepId
    logs: int = 0
    checks: tuple[Rerun, ...] = ()
    difference: Difference | None = None
    left: tuple[str, ...] = ()


class Verification(Record):
    """What is verified, and with what. Without `run_again` no command is executed."""

    store: Journal
    run: RunState
    repository: Repository
    logs: Path
    run_again: RunAgain | None = None

    def list_steps(self, only: StepId | None = None) -> list[Landed]:
        """The landed steps in order, or the one; InvalidInput if there is none."""
        found = [step for step in list_landed(self.run) if only in (None, step.step)]
        if not found:
            what = f"step {only!r}" if only else "step"
            raise InvalidInput(f"no {what} of run {self.run.id} has landed", hint=f"drumline status {self.run.id}")
        return [collect_landed(step, self.store.read(Stream(self.run.id, step.step))) for step in found]

    async def compare(self, landed: Landed) -> Compared:
        """A landed step, until something differs."""
        seen = see_commit(self.repository.top, landed.commit)
        left = self._tell_squashed(seen)
        differs = None if left and seen is None else compare_commit(landed, seen, run=self.run.id)
        differs = differs or (None if left else self._compare_branch(landed))
        if not differs and seen is not None:
            differs, unsealed = self._compare_seal(landed, seen)
            left += unsealed
        logs = [check for check in landed.checks.values() if check.log_digest]
        for check in logs:
            differs = differs or compare_log(landed, check, digest_log(self.logs / landed.step / check.log))
        if differs or self.run_again is None or seen is None:
            return Compared(step=landed.step, logs=len(logs), difference=differs, left=left)
        checks: list[Rerun] = []
        async for rerun in self.run_again(landed):
            checks.append(rerun)
            if rerun.difference is not None:
                break
        left += tuple(f"{one.command or 'checks'}: {one.left}" for one in checks if one.left)
        differs = checks[-1].difference if checks else None
        return Compared(step=landed.step, logs=len(logs), checks=tuple(checks), difference=differs, left=left)

    def _tell_squashed(self, seen: SeenCommit | None) -> tuple[str, ...]:
        """What cannot be compared where the branch was removed and its work reached another one by other commits."""
        top, landed = self.repository.top, list_landed(self.run)
        last = landed[-1].commit if landed else None
        if last is None or self._find_tip() is not None or self.repository.is_on_a_branch(last):
            return ()
        there = self.repository.find_commit(last)
        known = is_absorbed(last, into="HEAD", cwd=top) if there else has_tree(top, str(landed[-1].tree))
        if not known:
            return ()
        gone = () if seen is not None else ("the commit and its checks: it is not in the repository any more",)
        return (f"branch {self.run.begun.branch}: it was removed, its work is there by other commits", *gone)

    def _find_tip(self) -> str | None:
        """The run branch; where it was removed, what we wrote last."""
        tips = [f"refs/heads/{self.run.begun.branch}", name_head(self.run.id)]
        return next((tip for tip in tips if self.repository.find_commit(tip)), None)

    def _compare_branch(self, landed: Landed) -> Difference | None:
        """Whether the run branch has the commit; where it was removed, what we wrote last, or a branch of the user."""
        top, branch, tip = self.repository.top, self.run.begun.branch, self._find_tip()
        if tip is not None and is_below(top, landed.commit, tip):
            return None
        if tip is None and self.repository.is_on_a_branch(landed.commit):
            return None
        found = "neither the branch nor what was written last" if tip is None else "a branch without it"
        return Difference(step=landed.step, what=f"branch {branch}", said=landed.commit[:12], found=found)

    def _compare_seal(self, landed: Landed, seen: SeenCommit) -> tuple[Difference | None, tuple[str, ...]]:
        sealed = find_seal(seen)
        if sealed is None:
            return None, ("the journal: the commit has no seal of it",)
        return compare_seal(landed, sealed, self.store.seal(self.run.id, upto=sealed.seq)), ()
