"""Verdicts about trees that outlast a driver: which of them are kept, and which are believed.

The rule: only what was found in a place of its own, with nothing from the person's checkout in it, and never what a
held-out check says. What passes on the work is what the next step begins with.
"""

from __future__ import annotations

from typing import Protocol

from drumline.core.events import CheckEnded
from drumline.core.ids import Tree
from drumline.engine.basecache import CacheKey, Kept
from drumline.engine.identity import digest_environment
from drumline.engine.nodes.ground import has_stage
from drumline.engine.nodes.stepwork import StepWork
from drumline.engine.reports import Outcomes
from drumline.ports.processes import Job


class Checked(Protocol):
    """How a check ended, as far as it is kept."""

    @property
    def exit_code(self) -> int | None: ...

    @property
    def output(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    @property
    def outcomes(self) -> Outcomes | None: ...


def find_kept(work: StepWork, tree: Tree, number: int) -> Kept | None:
    """What an earlier driver or run found out; None if nobody did."""
    cache, key = work.tools.bases.cache, _name(work, tree, number)
    return cache.find(key) if cache is not None and key is not None else None


def keep_base(work: StepWork, tree: Tree, number: int, found: Checked) -> None:
    """Keep what a check says about a tree without work."""
    cache, key = work.tools.bases.cache, _name(work, tree, number)
    if cache is None or key is None or found.exit_code is None:
        return
    told = found.outcomes
    kept = Kept(exit_code=found.exit_code, output=found.output, seconds=round(found.seconds, 3))
    if told is not None:
        kept = Kept(
            exit_code=kept.exit_code,
            output=kept.output,
            seconds=kept.seconds,
            tests=told.tests,
            complete=told.complete,
            patched=told.patched,
            cut=told.cut,
        )
    cache.keep(key, kept)


def keep_passed(work: StepWork, ended: CheckEnded, found: Checked) -> None:
    """Keep that a check passes on the work: if it lands, others begin there."""
    if ended.exit_code == 0 and not ended.is_void and not ended.flaky and ended.tree == ended.tree_after:
        keep_base(work, ended.tree, ended.check, found)


def _name(work: StepWork, tree: Tree, number: int) -> CacheKey | None:
    """What a verdict is known by; None if none may be kept of this check."""
    orders, hold = work.orders, work.tools.checks
    if not has_stage(work) or work.setup.paths or orders.find_held_out(number):
        return None
    place = work.services.workspaces.path(orders.step.id)
    job = Job(argv=["bash"], cwd=place, log=place)
    environment = digest_environment(hold.strip(job), held=hold.links())
    return CacheKey(tree=tree, command=orders.spell(number), setup=work.setup.name({}), environment=environment)
