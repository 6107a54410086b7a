"""Looks in a workspace for the work that does not land. The rule: if it cannot be listed, nothing fails for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.judge import DELETED
from drumline.core.ownership import take_apart
from drumline.core.plan import Step
from drumline.core.products import MOST_IGNORED, choose_products, find_hidden, find_unmet, find_unwritten
from drumline.core.stepstate import StepState
from drumline.errors import GitError
from drumline.ports.workspaces import Workspaces
from drumline.record import Record, field

MOST_HIDDEN = 10_000
"""How many ignored files are set aside while checks run without the work."""


class Present(Record):
    """Ignored files that were there before the work; `fingerprints` of those that the plan names, as they were then."""

    names: Sequence[str] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)


def find_present(state: StepState) -> Present:
    """What was there before the work of a step."""
    return Present(names=state.ignored, fingerprints=state.fingerprints)


async def look_for_ignored(workspaces: Workspaces, step: StepId, wanted: Sequence[str]) -> Mapping[str, str]:
    """The ignored files of a workspace with their fingerprints, as the journal can hold them."""
    with suppress(GitError, OSError):
        found = await workspaces.list_ignored(step, wanted=wanted)
        return {spell_path(path): fingerprint for path, fingerprint in found.items()}
    return {}


async def list_ignored(
    workspaces: Workspaces, step: Step, *, present: Present, most: int = MOST_IGNORED
) -> tuple[str, ...]:
    """Work in a workspace that does not land because git ignores it, first what the plan asks for.

    Of what was `present` before, only what was written since or the plan names itself is listed.
    """
    now = await look_for_ignored(workspaces, step.id, step.files)
    before = find_unwritten(present.names, present.fingerprints, now)
    return choose_products(now, before=before, wanted=step.files, most=most)


class Missing(Record):
    """Files that the plan asks for and that did not land: git ignores some, and others only a check makes."""

    ignored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def hidden(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.ignored, *self.removed)


async def find_missing(workspaces: Workspaces, step: Step, state: StepState, changed: Mapping[str, str]) -> Missing:
    """What the plan asks for and did not land: as it is by now, after all checks, or as the last attempt left it."""
    unmet = find_unmet(step.files, changed)
    if not unmet:
        return Missing()
    now = await look_for_ignored(workspaces, step.id, unmet)
    before = find_unwritten(state.ignored, state.fingerprints, now)
    made = choose_products(now, before=before, wanted=unmet, most=MOST_HIDDEN)
    left = state.last.ignored if state.last else ()
    ignored = tuple(dict.fromkeys(find_hidden(unmet, (*left, *made))))
    created = [name for verdict in state.verdicts.values() for name in verdict.ended.created]
    exact = {take_apart(entry).text for entry in unmet}
    removed = tuple(dict.fromkeys(name for name in created if name in exact and name not in ignored))
    return Missing(ignored=ignored[:MOST_IGNORED], removed=removed[:MOST_IGNORED])


def find_links_out(workspace: Path, changed: Mapping[str, str]) -> tuple[str, ...]:
    """Links of the work to files outside of its workspace: the checks saw the files, and only the links landed."""
    links = [path for path, kind in changed.items() if kind != DELETED and (workspace / path).is_symlink()]
    if not links:
        return ()
    top = workspace.resolve()
    leading = [path for path in links if (top / path).exists() and not (top / path).resolve().is_relative_to(top)]
    return tuple(spell_path(path) for path in leading[:MOST_IGNORED])


def spell_path(path: str) -> str:
    """A path as the journal can hold it: bytes that are no UTF-8 are shown as replacement characters."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
