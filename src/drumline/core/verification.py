"""What a run says that it proved, piece by piece, and the first piece that is not so.

The rule: what is compared with the journal comes from elsewhere: from git, from logs, from checks that run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drumline.core.events import CheckEnded
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.recorded import Recorded
from drumline.core.runevents import StepFinished
from drumline.core.seal import TRAILER, Seal, read_seal
from drumline.core.state import RunState
from drumline.record import Record, field


class Difference(Record):
    """A piece that is not as the journal says."""

    what: str
    said: str
    found: str
    step: StepId | None = None

    def __str__(self) -> str:
        where = f"{self.step}: " if self.step else ""
        return f"{where}{self.what}: the journal says {self.said}, found {self.found}"


class Landed(Record):
    """A step that landed, and its checks on the tree that did, by their numbers."""

    step: StepId
    commit: Commit
    tree: Tree
    base: Commit | None
    checks: Mapping[int, CheckEnded] = field(default_factory=dict)


class SeenCommit(Record):
    """A commit as git has it; its trailers by name."""

    tree: str
    parents: tuple[str, ...]
    trailers: Mapping[str, str]


def list_landed(run: RunState) -> list[StepFinished]:
    """The steps of a run that have a commit of their own, in the order in which they were finished."""
    return [finished for finished in run.finished.values() if finished.commit is not None and finished.tree is not None]


def collect_landed(finished: StepFinished, recorded: Iterable[Recorded]) -> Landed:
    """What the stream of a step says about the tree that landed: of each check, how it ended there last."""
    commit, tree = finished.commit, finished.tree
    if commit is None or tree is None:
        raise AssertionError("a step that has landed has a commit and a tree")
    ended = [one.event for one in recorded if isinstance(one.event, CheckEnded) and one.event.tree == tree]
    checks = {event.check: event for event in ended}
    return Landed(step=finished.step, commit=commit, tree=tree, base=finished.base, checks=checks)


def compare_commit(landed: Landed, seen: SeenCommit | None, *, run: str) -> Difference | None:
    """What git has of a landed commit beside what the journal says."""

    def differ(what: str, said: str, found: str) -> Difference:
        return Difference(step=landed.step, what=what, said=said, found=found)

    if seen is None:
        return differ("commit", landed.commit[:12], "no such commit")
    if seen.tree != landed.tree:
        return differ("tree of the commit", landed.tree[:12], seen.tree[:12])
    if landed.base is not None and seen.parents != (landed.base,):
        return differ("parent of the commit", landed.base[:12], ", ".join(p[:12] for p in seen.parents) or "none")
    for name, said in (("Drumline-Run", run), ("Drumline-Step", str(landed.step))):
        if seen.trailers.get(name) != said:
            return differ(f"trailer {name}", said, seen.trailers.get(name) or "none")
    return None


def find_seal(seen: SeenCommit) -> Seal | None:
    """The seal in a commit; None if it is older than seals, or has none that can be read."""
    return read_seal(seen.trailers.get(TRAILER, ""))


def compare_seal(landed: Landed, sealed: Seal, computed: Seal) -> Difference | None:
    """The seal in a commit beside that over the journal as it is now."""
    if sealed == computed:
        return None
    said = f"{computed.seq}:{computed.digest[:12]}"
    what = f"journal up to event {sealed.seq}"
    return Difference(step=landed.step, what=what, said=said, found=f"{sealed.seq}:{sealed.digest[:12]} in the commit")


def compare_log(landed: Landed, check: CheckEnded, digest: str) -> Difference | None:
    """The log of a check beside its digest; logs of earlier versions have none."""
    if not check.log_digest or check.log_digest == digest:
        return None
    return Difference(
        step=landed.step, what=f"log of {check.command!r}", said=check.log_digest, found=digest or "no log"
    )
